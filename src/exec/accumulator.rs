//! Sums over rows, and the loop that gathers them.
//!
//! A pass adds row groups to a state, in any order and on any number of threads, and merges the
//! states of the threads; [`PieceLoop`] is that loop, which also stops on a signal and reports
//! progress. A state is the same for any partition of the rows, and can be written and read, so
//! that parts may be gathered separately ([`Accumulator`]). The list of all states is in
//! `stage::pass`.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::pieces::{StageWatch, WorkerPool};
use crate::error::Result;

/// Name and version of a state in its file; a type gets them in the list of `stage::pass`.
pub trait StateType {
    /// The name in the file.
    const NAME: &'static str;
    /// Raised whenever older files would be read wrongly.
    const VERSION: u32;
}

/// A sum over rows: merging is associative and commutative, and an empty sum changes nothing.
pub trait Accumulator: StateType + Serialize + DeserializeOwned + Send {
    /// Adds what other rows gave.
    fn merge(&mut self, other: Self);

    /// Puts it into the form that does not depend on the order of merging. An implementation that
    /// keeps an unordered list until it is read sorts it here.
    fn settle(&mut self) {}
}

/// Numbered pieces of rows, mostly row groups, and the threads that do them.
#[derive(Debug, Clone, Copy)]
pub struct PieceLoop<'a> {
    /// The threads.
    pub workers: &'a WorkerPool,
    /// Stop and progress.
    pub watch: StageWatch<'a>,
    /// Number of pieces.
    pub n: usize,
}

impl PieceLoop<'_> {
    /// Does `work` for every piece and hands the results to `sink` in the order of the pieces.
    /// `work` returns how many rows are done, for the progress, and its result.
    ///
    /// # Errors
    /// The failure of the piece with the lowest number, or the run is to stop.
    pub fn in_order<T: Send>(
        &self,
        work: impl Fn(usize) -> Result<(u64, T)> + Sync,
        sink: impl FnMut(usize, T) -> Result<()>,
    ) -> Result<()> {
        let watched = |i| {
            (self.watch.check)()?;
            let (rows, made) = work(i)?;
            (self.watch.progress)(rows);
            Ok(made)
        };
        self.workers.map(self.n, watched, sink)
    }

    /// As [`PieceLoop::in_order`], if handling a result cannot fail and does not depend on its
    /// number.
    ///
    /// # Errors
    /// As [`PieceLoop::in_order`].
    pub fn in_turn<T: Send>(
        &self,
        work: impl Fn(usize) -> Result<(u64, T)> + Sync,
        mut take: impl FnMut(T),
    ) -> Result<()> {
        self.in_order(work, |_, made| {
            take(made);
            Ok(())
        })
    }

    /// Adds every piece to states that start `empty`, in any order, and merges these. `add` returns
    /// how many rows are done, for the progress.
    ///
    /// There are never more states than threads.
    ///
    /// # Errors
    /// The failure of the piece with the lowest number, or the run is to stop.
    pub fn gather<S: Accumulator>(
        &self,
        empty: impl Fn() -> S + Sync,
        add: impl Fn(&mut S, usize) -> Result<u64> + Sync,
    ) -> Result<S> {
        let mut state = self.fold(empty, add, Accumulator::merge)?;
        state.settle();
        Ok(state)
    }

    /// As [`PieceLoop::gather`], for sums that are not a single state, such as one state for each
    /// fold or slice.
    ///
    /// # Errors
    /// As [`PieceLoop::gather`].
    pub fn fold<T: Send>(
        &self,
        empty: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, usize) -> Result<u64> + Sync,
        merge: impl Fn(&mut T, T),
    ) -> Result<T> {
        let watched = |sum: &mut T, i| {
            (self.watch.check)()?;
            let rows = add(sum, i)?;
            (self.watch.progress)(rows);
            Ok(())
        };
        self.workers.fold(self.n, empty, watched, merge)
    }
}

/// Merges states one by one, such as those of folds.
#[expect(clippy::ptr_arg, reason = "the fold hands a state on by what it is: a vector")]
pub(crate) fn merge_each<S: Accumulator>(whole: &mut Vec<S>, part: Vec<S>) {
    whole.iter_mut().zip(part).for_each(|(whole, part)| whole.merge(part));
}

/// Merges sums of which some are absent because they have no people, such as those of slices.
pub(crate) fn merge_present<T>(
    whole: &mut [Option<T>],
    parts: impl IntoIterator<Item = Option<T>>,
    merge: impl Fn(&mut T, T),
) {
    for (whole, part) in whole.iter_mut().zip(parts) {
        match (whole, part) {
            (Some(whole), Some(part)) => merge(whole, part),
            (whole @ None, part) => *whole = part,
            (Some(_), None) => {}
        }
    }
}

/// The sum of all states; none if there are none.
pub(crate) fn merge_all<S: Accumulator>(states: impl IntoIterator<Item = S>) -> Option<S> {
    states.into_iter().reduce(|mut whole, part| {
        whole.merge(part);
        whole
    })
}

/// Writes a map as a list of pairs, because JSON has only maps with text keys: for
/// `#[serde(with = "map_as_list")]`.
pub(crate) mod map_as_list {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the pairs in order.
    ///
    /// # Errors
    /// The errors of the serializer.
    pub(crate) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    /// Reads them back.
    ///
    /// # Errors
    /// The errors of the deserializer.
    pub(crate) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Vec::<(K, V)>::deserialize(deserializer).map(|list| list.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};

    use serde::{Deserialize, Serialize};

    use super::{Accumulator, PieceLoop, StateType};
    use crate::error::{Error, StopSignal};
    use crate::exec::pieces::{StageWatch, WorkerPool};
    use crate::exec::tests::state_laws::{parse_state, state_text};
    use crate::tests::Says;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct NumberSum(u64);

    impl StateType for NumberSum {
        const NAME: &'static str = "number-sum";
        const VERSION: u32 = 3;
    }

    impl Accumulator for NumberSum {
        fn merge(&mut self, other: Self) {
            self.0 += other.0;
        }
    }

    #[test]
    fn a_loop_sums_counts_rows_and_stops() {
        let (workers, rows) = (WorkerPool::new(3).unwrap(), AtomicU64::new(0));
        let progress = |n| {
            rows.fetch_add(n, Ordering::Relaxed);
        };
        let watch = StageWatch { check: &|| Ok(()), progress: &progress };
        let pieces = PieceLoop { workers: &workers, watch, n: 40 };
        let add = |sum: &mut NumberSum, i: usize| {
            sum.0 += i as u64;
            Ok(2)
        };
        assert_eq!(pieces.gather(|| NumberSum(0), add).unwrap(), NumberSum(780));
        let mut order = Vec::new();
        pieces
            .in_order(
                |i| Ok((1, i)),
                |i, made| {
                    order.push((i, made));
                    Ok(())
                },
            )
            .unwrap();
        assert_eq!(order, (0..40).map(|i| (i, i)).collect::<Vec<_>>());
        assert_eq!(rows.load(Ordering::Relaxed), 2 * 40 + 40);

        let check = || Err(Error::Interrupted(StopSignal::Terminate));
        let stopped = PieceLoop { watch: StageWatch { check: &check, ..watch }, ..pieces };
        assert!(stopped.gather(|| NumberSum(0), |_, _| panic!("not asked")).is_err());
        assert!(
            stopped
                .in_order(
                    |_| -> crate::error::Result<(u64, ())> { panic!("not asked") },
                    |_, ()| Ok(())
                )
                .is_err()
        );
    }

    #[test]
    fn a_state_says_what_it_is() {
        let text = state_text(NumberSum(7)).unwrap();
        assert!(text.starts_with("cfaudit-state number-sum 3 "), "{text}");
        let read = |text: &str| parse_state::<NumberSum>(text, Path::new("part/state.json"));
        assert_eq!(read(&text).unwrap(), NumberSum(7));
        for wrong in [
            text.replace(" 3 ", " 2 "),
            text.replace("number-sum", "other"),
            text.replace("\n7", "\n8"),
            String::new(),
        ] {
            let refused = read(&wrong).unwrap_err().to_string();
            refused.says(&["part/state.json", "run again"]);
        }
    }
}
