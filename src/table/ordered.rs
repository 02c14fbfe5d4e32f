//! A map over numbered pieces of work on all threads whose results arrive in order, with bounded memory.
//!
//! Row groups are the pieces. At most `threads + 1` of them are in work or finished and waiting, so peak memory is
//! (threads + 1) pieces, however many there are. Results reach `sink` on the calling thread in the order of their numbers, so what
//! is written or summed there does not depend on the number of threads. Of several failures the one with the lowest number is
//! returned.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc;

use crate::error::Result as RunResult;

/// How a stage in work hears of the world: it may be stopped, and it tells how far it is.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Fails when the run is to stop; called at least once per row group.
    pub check: &'a (dyn Fn() -> RunResult<()> + Sync),
    /// Called with the number of rows done since the last call.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl Watch<'_> {
    /// Nobody stops the work and nobody asks.
    pub const SILENT: Watch<'static> = Watch { check: &|| Ok(()), progress: &|_| () };
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}

/// The threads of a run.
#[derive(Debug)]
pub struct Workers {
    pool: rayon::ThreadPool,
    threads: usize,
}

impl Workers {
    /// A pool of `threads` threads (at least one).
    ///
    /// # Errors
    /// Where the operating system gives no threads.
    pub fn new(threads: usize) -> Result<Self, String> {
        let threads = threads.max(1);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("cfaudit-{i}"))
            .build()
            .map_err(|e| e.to_string())?;
        Ok(Workers { pool, threads })
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs work on the threads that shares itself out among them.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }

    /// Runs `work(0..n)` on the threads and hands each result to `sink` in order.
    ///
    /// # Errors
    /// The failure of the piece with the lowest number, from `work` or from `sink`; pieces after it are not begun.
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
                    // A panic (a bug) must reach the caller, or it would wait for this piece for ever.
                    let result = panic::catch_unwind(AssertUnwindSafe(|| work(i)));
                    // The receiver is gone only after an earlier piece failed; then nobody wants this result.
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
}

#[cfg(test)]
mod tests {
    use super::Workers;

    #[test]
    fn results_arrive_in_order_on_any_number_of_threads() {
        for threads in [1, 2, 8] {
            let workers = Workers::new(threads).expect("threads");
            let mut seen = Vec::new();
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
                    seen.push(i);
                    Ok(())
                },
            );
            assert!(done.is_ok());
            assert_eq!(seen, (0..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_failure_with_the_lowest_number_wins() {
        let workers = Workers::new(4).expect("threads");
        let result: Result<(), usize> = workers.map(50, |i| if i >= 17 { Err(i) } else { Ok(i) }, |_, _| Ok(()));
        assert_eq!(result, Err(17));
    }
}
