//! Runs numbered pieces of work on all threads with results in order and bounded memory.
//!
//! Row groups are the pieces. At most `threads + 1` of them are in work or finished and waiting, so
//! peak memory is (threads + 1) pieces, however many there are. Results reach `sink` on the calling
//! thread in the order of their numbers, so what is written or summed there does not depend on the
//! number of threads. If several pieces fail, the failure of the lowest number is returned. Sums
//! that do not depend on the order need not wait: [`WorkerPool::fold`] keeps one accumulator per
//! thread.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};

use crate::error::Result as RunResult;

/// How a running stage is stopped and reports its progress.
#[derive(Clone, Copy)]
pub struct StageWatch<'a> {
    /// Errs when the run is stopped; called at least once per row group.
    pub check: &'a (dyn Fn() -> RunResult<()> + Sync),
    /// Called with the number of rows done since the last call.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl StageWatch<'_> {
    /// Never stops the work and ignores its progress.
    pub const SILENT: StageWatch<'static> = StageWatch { check: &|| Ok(()), progress: &|_| () };
}

impl std::fmt::Debug for StageWatch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}

/// Bytes of the block that is freed at the start; larger blocks are returned to the system when
/// they are freed.
const GIVEN_BACK: usize = 8 << 20;

/// Lets the allocator keep the memory of freed buffers for the next row group.
///
/// The allocator of glibc gives buffers of some hundred kilobytes back to the system, and asks for
/// them again, page by page, until a larger block was freed once: that raises the size from which
/// it does so (`M_MMAP_THRESHOLD` in mallopt(3)). A block that was never written to takes no
/// memory. In a run this only raises the peak by about a tenth, so it is used by workers of shards,
/// which free no such block where they find their rows in a cache.
pub(crate) fn keep_freed_memory() {
    let mut block: Vec<u8> = Vec::new();
    // Without such a block only time is lost.
    let _ = block.try_reserve_exact(GIVEN_BACK);
    drop(std::hint::black_box(block));
}

/// Runs `work(0..n)` on a limited number of separate threads, for work that mostly waits. Returns
/// the results in order, at least up to the first failure, after which no work is started.
pub(crate) fn at_once<T: Send + Sync, E: Send + Sync>(
    n: usize,
    most: usize,
    work: impl Fn(usize) -> RunResult<T, E> + Sync,
) -> Vec<RunResult<T, E>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Vec<OnceLock<RunResult<T, E>>> = (0..n).map(|_| OnceLock::new()).collect();
    // Pieces begin in order, so those before a failed one are done or running.
    let take = || {
        while !failed.load(Ordering::SeqCst) {
            let k = next.fetch_add(1, Ordering::SeqCst);
            let Some(place) = done.get(k) else { break };
            let result = work(k);
            failed.fetch_or(result.is_err(), Ordering::SeqCst);
            place.get_or_init(|| result);
        }
    };
    match most.min(n) {
        0 | 1 => take(),
        most => std::thread::scope(|scope| (0..most).for_each(|_| drop(scope.spawn(take)))),
    }
    done.into_iter().map_while(OnceLock::into_inner).collect()
}

/// How rows of any source are read and written.
#[derive(Debug, Clone, Copy)]
pub struct RowBatching<'a> {
    /// Rows of a batch, and of a row group that is written.
    pub batch_rows: usize,
    /// The threads.
    pub workers: &'a WorkerPool,
    /// Stop and progress.
    pub watch: StageWatch<'a>,
}

/// The threads of a run.
#[derive(Debug)]
pub struct WorkerPool {
    pool: rayon::ThreadPool,
    threads: usize,
}

impl WorkerPool {
    /// A pool of `threads` threads (at least one).
    ///
    /// # Errors
    /// The operating system gives no threads.
    pub fn new(threads: usize) -> Result<Self, String> {
        let threads = threads.max(1);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("cfaudit-{i}"))
            .build()
            .map_err(|e| e.to_string())?;
        Ok(WorkerPool { pool, threads })
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs parallel work inside the pool.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }

    /// Runs `work(0..n)` on the threads and hands each result to `sink` in order.
    ///
    /// # Errors
    /// The failure of the piece with the lowest number, from `work` or from `sink`; later pieces
    /// are not started.
    pub fn map<T, E, W, S>(&self, n: usize, work: W, mut sink: S) -> Result<(), E>
    where
        T: Send,
        E: Send,
        W: Fn(usize) -> Result<T, E> + Sync,
        S: FnMut(usize, T) -> Result<(), E>,
    {
        let (send, receive) = mpsc::channel();
        let work = &work;
        self.pool.in_place_scope(|scope| {
            let spawn = |i: usize| {
                let send = send.clone();
                scope.spawn(move |_| {
                    // A panic (a bug) must reach the caller, or it would wait for this piece
                    // forever.
                    let result = panic::catch_unwind(AssertUnwindSafe(|| work(i)));
                    // The receiver is gone only after an earlier piece failed; then this result is
                    // not needed.
                    let _ = send.send((i, result));
                });
            };
            let mut begun = n.min(self.threads + 1);
            (0..begun).for_each(&spawn);
            let mut waiting = BTreeMap::new();
            for next in 0..n {
                let result = loop {
                    if let Some(result) = waiting.remove(&next) {
                        break result;
                    }
                    match receive.recv() {
                        Ok((i, result)) => {
                            waiting.insert(i, result);
                        }
                        // Cannot happen while `send` lives; leaving is safer than panicking.
                        Err(_) => return Ok(()),
                    }
                };
                sink(next, result.unwrap_or_else(|bug| panic::resume_unwind(bug))?)?;
                if begun < n {
                    spawn(begun);
                    begun += 1;
                }
            }
            Ok(())
        })
    }

    /// Adds the pieces `0..n` to accumulators that start `empty`, in any order, and merges these.
    ///
    /// There are never more accumulators than threads, so a large one is neither made nor merged
    /// once per piece.
    ///
    /// # Errors
    /// The failure of the piece with the lowest number; later pieces are not started.
    pub fn fold<T, E>(
        &self,
        n: usize,
        empty: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, usize) -> Result<(), E> + Sync,
        merge: impl Fn(&mut T, T),
    ) -> Result<T, E>
    where
        T: Send,
        E: Send,
    {
        let idle = Mutex::new(Vec::new());
        // Nothing panics while it holds the lock.
        let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
        let work = |i| {
            let taken = lock().pop();
            let mut sum = taken.unwrap_or_else(&empty);
            add(&mut sum, i)?;
            lock().push(sum);
            Ok(())
        };
        self.map(n, work, |_, ()| Ok(()))?;
        let sums = std::mem::take(&mut *lock()).into_iter();
        let whole = sums.reduce(|mut whole, sum| {
            merge(&mut whole, sum);
            whole
        });
        Ok(whole.unwrap_or_else(empty))
    }
}

#[cfg(test)]
mod tests {
    use super::WorkerPool;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn results_arrive_in_order_on_any_number_of_threads() {
        for threads in [1, 2, 8] {
            let workers = WorkerPool::new(threads).expect("threads");
            let mut taken = Vec::new();
            let done: Result<(), String> = workers.map(
                100,
                |i| {
                    if i % 7 == 0 {
                        std::thread::yield_now();
                    }
                    Ok(i * i)
                },
                |i, square| {
                    assert_eq!(square, i * i);
                    taken.push(i);
                    Ok(())
                },
            );
            assert!(done.is_ok());
            assert_eq!(taken, (0..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_failure_with_the_lowest_number_wins() {
        let workers = WorkerPool::new(4).expect("threads");
        let result: Result<(), usize> =
            workers.map(50, |i| if i >= 17 { Err(i) } else { Ok(i) }, |_, _| Ok(()));
        assert_eq!(result, Err(17));
    }

    #[test]
    fn a_fold_adds_every_piece_once_and_keeps_a_sum_a_thread() {
        for threads in [1, 2, 8] {
            let workers = WorkerPool::new(threads).expect("threads");
            let made = AtomicUsize::new(0);
            let empty = || {
                made.fetch_add(1, Ordering::Relaxed);
                0
            };
            let add = |sum: &mut usize, i| {
                if i % 5 == 0 {
                    std::thread::yield_now();
                }
                *sum += i;
                Ok::<_, String>(())
            };
            assert_eq!(workers.fold(100, empty, add, |whole, sum| *whole += sum), Ok(4950));
            assert!((1..=threads).contains(&made.load(Ordering::Relaxed)));
        }
        let workers = WorkerPool::new(2).expect("threads");
        assert_eq!(workers.fold(0, || 7, |_, _| Err("none"), |_, _| ()), Ok(7));
        assert_eq!(
            workers.fold(50, || (), |(), i| if i >= 17 { Err(i) } else { Ok(()) }, |_, ()| ()),
            Err(17)
        );
    }
}
