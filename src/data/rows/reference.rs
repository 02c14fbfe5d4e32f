//! Reference rows, from which a strategy learns distributions; readable repeatedly by row group.
//!
//! As [`crate::data::rows::training`], with the groups of every attribute, and with rows whose
//! class is missing, which a strategy that conditions on nothing counts too. Rows come in the order
//! of their file. A reference in a separate file is prepared as the rows are, with its own
//! positions of levels: [`LayoutRecoding`] converts them to those of the rows.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::data::rows::content::ContentHash;
use crate::data::values::ValueClass;
use crate::data::{FeatureColumn, FeatureKind, FeatureRows, Layout, MISSING};
use crate::error::{Fault, Result};
use crate::exec::accumulator::{Accumulator, PieceLoop};

/// The reference rows of one row group.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceBatch {
    /// Their keys: row numbers, integer row ids or hashes of text ids.
    pub keys: Vec<u64>,
    /// Their features.
    pub rows: FeatureRows,
    /// For each attribute their groups; [`crate::data::MISSING_GROUP`] = none.
    pub groups: Vec<Vec<u16>>,
    /// Their classes; `None` = missing.
    pub classes: Vec<Option<u32>>,
}

impl ReferenceBatch {
    /// The rows at these positions, in this order.
    #[must_use]
    pub fn take(&self, positions: &[usize]) -> ReferenceBatch {
        fn at<T: Copy>(values: &[T], positions: &[usize]) -> Vec<T> {
            positions.iter().map(|&i| values[i]).collect()
        }
        ReferenceBatch {
            keys: at(&self.keys, positions),
            rows: self.rows.take(positions),
            groups: self.groups.iter().map(|groups| at(groups, positions)).collect(),
            classes: at(&self.classes, positions),
        }
    }
}

/// Reads one row group of the reference.
pub(crate) type ReadReferenceBatch<'a> = dyn Fn(usize) -> Result<ReferenceBatch> + Sync + 'a;

/// The hash of what is learnt from some reference rows.
pub(crate) type HashReferenceBatch<'a> = dyn Fn(&ReferenceBatch) -> ContentHash + Sync + 'a;

/// The reference of a strategy.
pub struct ReferenceRows<'a> {
    pieces: PieceLoop<'a>,
    read: Box<ReadReferenceBatch<'a>>,
    hashed: Option<HashedPass<'a>>,
}

/// The hash of all rows, taken while they are read for the first time.
struct HashedPass<'a> {
    hash: Box<HashReferenceBatch<'a>>,
    passes: AtomicUsize,
    content: Mutex<ContentHash>,
}

impl<'a> ReferenceRows<'a> {
    /// Row groups, each read by `read`.
    pub fn of_groups(pieces: PieceLoop<'a>, read: Box<ReadReferenceBatch<'a>>) -> Self {
        ReferenceRows { pieces, read, hashed: None }
    }

    /// Rows in memory.
    #[cfg(test)]
    pub(crate) fn in_memory(groups: Vec<ReferenceBatch>) -> Self {
        let pieces = PieceLoop::one_thread(groups.len());
        ReferenceRows::of_groups(pieces, Box::new(move |g| Ok(groups[g].clone())))
    }

    /// These rows, hashed in the first pass over them.
    #[must_use]
    pub fn hashed(self, hash: Box<HashReferenceBatch<'a>>) -> Self {
        let (passes, content) = (AtomicUsize::new(0), Mutex::default());
        ReferenceRows { hashed: Some(HashedPass { hash, passes, content }), ..self }
    }

    /// The hash of the rows, once there was a pass over them.
    pub fn content(&self) -> ContentHash {
        let content = self
            .hashed
            .as_ref()
            .map(|hashed| *hashed.content.lock().unwrap_or_else(PoisonError::into_inner));
        content.unwrap_or_default()
    }

    /// The hash that every batch of the first pass is added to.
    fn begin(&self) -> impl Fn(&ReferenceBatch) + Sync + '_ {
        let first =
            self.hashed.as_ref().filter(|of| of.passes.fetch_add(1, Ordering::Relaxed) == 0);
        move |batch| {
            if let Some(first) = first {
                let hash = (first.hash)(batch);
                first.content.lock().unwrap_or_else(PoisonError::into_inner).merge(hash);
            }
        }
    }

    /// The features of the first rows, `n` at most.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn first_rows(&self, n: usize) -> Result<Vec<FeatureRows>> {
        let (mut parts, mut missing) = (Vec::new(), n);
        for g in 0..self.pieces.n {
            if missing == 0 {
                break;
            }
            let rows = (self.read)(g)?.rows;
            let part = rows.take(&(0..rows.n.min(missing)).collect::<Vec<_>>());
            missing -= part.n;
            parts.push(part);
        }
        Ok(parts)
    }

    /// One pass into accumulators, one for each thread at most, that are merged in any order.
    ///
    /// # Errors
    /// The rows cannot be read, or the run is stopped.
    pub fn gather<T: Send>(
        &self,
        empty: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, &ReferenceBatch) + Sync,
        merge: impl Fn(&mut T, T),
    ) -> Result<T> {
        let show = self.begin();
        let add = |sum: &mut T, g: usize| {
            let group = (self.read)(g)?;
            show(&group);
            add(sum, &group);
            Ok(group.rows.n as u64)
        };
        self.pieces.fold(empty, add, merge)
    }

    /// One pass: `visit` gets every row group, on several threads; `merge` gets the results in
    /// order.
    ///
    /// # Errors
    /// The rows cannot be read, or the run is stopped.
    pub fn fold<T: Send>(
        &self,
        visit: impl Fn(&ReferenceBatch) -> T + Sync,
        merge: impl FnMut(T),
    ) -> Result<()> {
        let show = self.begin();
        self.pieces.in_turn(
            |g| {
                let group = (self.read)(g)?;
                show(&group);
                Ok((group.rows.n as u64, visit(&group)))
            },
            merge,
        )
    }

    /// Runs `n` independent tasks on the threads of the rows; results in order.
    ///
    /// # Errors
    /// A task fails, or the run is stopped.
    pub fn spread<T: Send>(
        &self,
        n: usize,
        task: &(dyn Fn(usize) -> Result<T> + Sync),
    ) -> Result<Vec<T>> {
        let mut results = Vec::with_capacity(n);
        PieceLoop { n, ..self.pieces }
            .in_turn(|k| Ok((0, task(k)?)), |result| results.push(result))?;
        Ok(results)
    }
}

/// Converts rows of one layout to the features of another: their order, and positions of levels.
#[derive(Debug, Clone)]
pub(crate) struct LayoutRecoding {
    /// For each feature its column in the old layout, and the new positions of its levels.
    ///
    /// Numbers have no positions of levels.
    columns: Vec<(usize, Option<Vec<u32>>)>,
}

impl LayoutRecoding {
    /// The recoding from the layout of the reference to that of the rows.
    ///
    /// Levels that the rows lack have no position.
    ///
    /// # Errors
    /// The reference lacks a feature, or a column has different types in the two; names both.
    pub(crate) fn new(from: &Layout, to: &Layout) -> Result<Self> {
        let column = |target: &crate::data::Feature| {
            let Some(at) = from.feature(&target.name) else {
                let what = format!(
                    "the rows have the column `{}`, but the reference does not",
                    target.name
                );
                let fault = Fault::new("missing-column", what).in_column(&target.name);
                return fault.fail("add it to `data.reference`");
            };
            let feature = &from.features[at];
            let (there, here) = (feature.class, target.class);
            // Whole numbers are the same numbers in either type.
            let whole = there == ValueClass::Float
                && feature.kind == FeatureKind::Continuous { integer: true };
            let numbers = here == ValueClass::Float && there == ValueClass::Int
                || here == ValueClass::Int && whole;
            let fits =
                there == here || there == ValueClass::Empty || here == ValueClass::Empty || numbers;
            // A number is compared as a number; text that is a level on both sides is compared as
            // text.
            if !fits || feature.kind.is_coded() != target.kind.is_coded() {
                let what = format!(
                    "column `{}` holds {} in the reference and {} in the rows",
                    target.name,
                    there.name(),
                    here.name()
                );
                let hint = "write both with the same type: values must mean the same \
                            in both";
                return Fault::new("reference-type", what).in_column(&target.name).fail(hint);
            }
            if !target.kind.is_coded() {
                return Ok((at, None));
            }
            let known: HashMap<&str, u32> =
                target.levels.iter().map(String::as_str).zip(0..).collect();
            let position = |level: &String| known.get(level.as_str()).copied().unwrap_or(MISSING);
            Ok((at, Some(feature.levels.iter().map(position).collect())))
        };
        Ok(LayoutRecoding { columns: to.features.iter().map(column).collect::<Result<_>>()? })
    }

    /// Rows with the features of the other layout.
    #[must_use]
    pub(crate) fn apply(&self, mut rows: FeatureRows) -> FeatureRows {
        let mut recode = |(at, positions): &(usize, Option<Vec<u32>>)| match (
            std::mem::replace(&mut rows.columns[*at], FeatureColumn::Code(Vec::new())),
            positions,
        ) {
            (FeatureColumn::Code(codes), Some(positions)) => FeatureColumn::Code(
                codes
                    .iter()
                    .map(|&code| positions.get(code as usize).copied().unwrap_or(MISSING))
                    .collect(),
            ),
            (column, _) => column,
        };
        FeatureRows {
            n: rows.n,
            columns: self.columns.iter().map(&mut recode).collect(),
            source: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LayoutRecoding;
    use crate::data::values::ValueClass;
    use crate::data::{Feature, FeatureColumn, FeatureKind, FeatureRows, Layout, MISSING};

    fn layout(class: ValueClass, levels: &[&str]) -> Layout {
        let kind = if levels.is_empty() { FeatureKind::REAL } else { FeatureKind::Nominal };
        Layout::of(
            vec![],
            vec![
                Feature::typed("x", FeatureKind::REAL, &[], class),
                Feature::typed("town", kind, levels, ValueClass::Text),
            ],
        )
    }

    #[test]
    fn levels_take_the_positions_of_the_rows() {
        let recoding = LayoutRecoding::new(
            &layout(ValueClass::Int, &["b", "a", "c"]),
            &layout(ValueClass::Float, &["a", "b"]),
        )
        .unwrap();
        let rows = FeatureRows::of(vec![
            FeatureColumn::Number(vec![1.0; 4]),
            FeatureColumn::Code(vec![0, 1, 2, MISSING]),
        ]);
        let made = recoding.apply(rows);
        assert_eq!(
            made.columns,
            [
                FeatureColumn::Number(vec![1.0; 4]),
                FeatureColumn::Code(vec![1, 0, MISSING, MISSING])
            ]
        );
    }

    /// Features are found by name, at any position.
    #[test]
    fn features_take_the_order_of_the_rows() {
        let (from, mut to) =
            (layout(ValueClass::Int, &["b", "a"]), layout(ValueClass::Int, &["a", "b"]));
        to.features.reverse();
        let rows = FeatureRows::of(vec![
            FeatureColumn::Number(vec![1.0, 2.0]),
            FeatureColumn::Code(vec![0, 1]),
        ]);
        let made = LayoutRecoding::new(&from, &to).unwrap().apply(rows);
        assert_eq!(
            made.columns,
            [FeatureColumn::Code(vec![1, 0]), FeatureColumn::Number(vec![1.0, 2.0])]
        );

        to.features[0].name = "city".to_owned();
        let refused = LayoutRecoding::new(&from, &to).unwrap_err().to_string();
        assert!(
            refused.starts_with(
                "error[missing-column]: the rows have the column `city`, but the reference does not"
            ),
            "{refused}"
        );
    }

    #[test]
    fn types_that_differ_are_refused() {
        let of = |from: ValueClass, to: ValueClass| {
            LayoutRecoding::new(&layout(from, &["a"]), &layout(to, &["a"]))
                .map(|_| ())
                .map_err(|e| e.to_string())
        };
        assert!(
            of(ValueClass::Int, ValueClass::Float).is_ok()
                && of(ValueClass::Empty, ValueClass::Int).is_ok()
        );
        let refused = of(ValueClass::Float, ValueClass::Int).unwrap_err();
        assert!(refused.starts_with("error[reference-type]: column `x` holds"), "{refused}");
        assert!(of(ValueClass::Text, ValueClass::Float).is_err());
    }
}
