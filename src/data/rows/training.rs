//! Training rows with their labels, readable repeatedly by row group.
//!
//! Rows come in the order of the prepared file. Within a row group they are cut into blocks: the
//! training rows among 1,024 consecutive prepared rows. Blocks do not depend on the size of row
//! groups, so a sum that uses f64 inside a block and fixed point over blocks is the same for any
//! threads and any batch size. Rows that an experiment adds come after them, in blocks by the rows
//! that they were made from.

use std::ops::Range;
#[cfg(test)]
use std::sync::LazyLock;
use std::sync::OnceLock;

use crate::data::FeatureRows;
use crate::data::rows::row_draw::RowDraw;
use crate::data::rows::split::RolesReader;
use crate::data::rows::{Projection, RowsReader};
use crate::error::{Fault, Result};
use crate::exec::accumulator::PieceLoop;
#[cfg(test)]
use crate::exec::pieces::{StageWatch, WorkerPool};
use crate::table::file::BLOCK_ROWS;

/// The training rows of one row group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrainingBatch {
    /// Number of the row group, from 0, counting on through added rows.
    pub number: usize,
    /// Their features.
    pub rows: FeatureRows,
    /// Their labels: true = positive.
    pub labels: Vec<bool>,
    /// The weight of each row: how many people it represents.
    ///
    /// Empty where the job names no weight: then each row counts 1.
    pub weights: Vec<f64>,
    /// The key of the person whose row it is. Empty where each row is a person, and in memory.
    pub persons: Vec<u64>,
    /// Consecutive ranges of `rows`, one for each block that is not empty.
    pub blocks: Vec<Range<usize>>,
}

impl TrainingBatch {
    /// Rows in memory, with blocks of their own.
    pub fn in_memory(rows: FeatureRows, labels: Vec<bool>, weights: Vec<f64>) -> Self {
        let origin: Vec<usize> = (0..rows.n).collect();
        TrainingBatch::from_origin(rows, labels, weights, &origin)
    }

    /// Rows of a row group of prepared rows, or made from them.
    ///
    /// `origin` holds for each its position there, ascending, which determines its block.
    pub fn from_origin(
        rows: FeatureRows,
        labels: Vec<bool>,
        weights: Vec<f64>,
        origin: &[usize],
    ) -> Self {
        let mut blocks = Vec::new();
        let mut start = 0;
        while start < origin.len() {
            let block = origin[start] / BLOCK_ROWS;
            let end =
                start + origin[start..].iter().take_while(|&&i| i / BLOCK_ROWS == block).count();
            blocks.push(start..end);
            start = end;
        }
        TrainingBatch { number: 0, rows, labels, weights, persons: Vec::new(), blocks }
    }

    /// The weight of row `i`.
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.get(i).copied().unwrap_or(1.0)
    }
}

/// Reads one row group of training rows, drawn again if that is asked for; on any thread.
type ReadTrainingBatch<'a> =
    dyn Fn(usize, Option<DrawnTraining>) -> Result<TrainingBatch> + Sync + 'a;

/// The training rows of a model or a fold.
pub struct TrainingRows<'a> {
    pieces: PieceLoop<'a>,
    read: Box<ReadTrainingBatch<'a>>,
    /// Whether the rows have weights of their own.
    weighted: bool,
    draw: Option<DrawnTraining>,
    /// The first row group once it was read: small data have no other, and training passes over
    /// them often.
    first: OnceLock<TrainingBatch>,
}

/// Rows that are added to the training rows, read by row group in every pass of a model.
pub struct AddedTraining<'a> {
    /// Number of row groups.
    pub n_groups: usize,
    /// Reads one row group; may be called on any thread.
    pub read: Box<dyn Fn(usize) -> Result<TrainingBatch> + Sync + 'a>,
}

/// How training rows are drawn again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrawnTraining {
    /// The draw.
    pub draw: RowDraw,
    /// Whether a row comes as often as it was drawn, instead of with that weight: for programs,
    /// which may read no weights.
    pub copied: bool,
}

impl DrawnTraining {
    /// The positions of rows, each as often as the row comes, and their weights; none where each
    /// counts 1. `key` is that of the person at a position, `weight` the row's own, if rows have
    /// weights.
    pub(crate) fn rows(
        drawn: Option<Self>,
        rows: impl Iterator<Item = usize>,
        key: impl Fn(usize) -> u64,
        weight: Option<impl Fn(usize) -> f64>,
    ) -> (Vec<usize>, Vec<f64>) {
        let times = |i: usize, copied: bool| {
            drawn.filter(|of| of.copied == copied).map_or(1.0, |of| of.draw.times(key(i)))
        };
        let rows: Vec<usize> =
            rows.flat_map(|i| std::iter::repeat_n(i, times(i, true) as usize)).collect();
        let own = |i: usize| weight.as_ref().map_or(1.0, |weight| weight(i));
        let weighted = drawn.is_some_and(|of| !of.copied) || weight.is_some();
        let weights = rows.iter().map(|&i| own(i) * times(i, false));
        let weights = if weighted { weights.collect() } else { Vec::new() };
        (rows, weights)
    }
}

impl<'a> TrainingRows<'a> {
    /// The rows of a prepared file that train for a fold and have a label, followed by the added
    /// rows; read by the loop over some pieces.
    pub fn of_fold(
        reader: &'a RowsReader,
        roles: &'a RolesReader,
        fold: u8,
        pieces: PieceLoop<'a>,
        added: Vec<AddedTraining<'a>>,
    ) -> Self {
        // Row groups are numbered across all parts.
        let n = reader.n_groups() + added.iter().map(|part| part.n_groups).sum::<usize>();
        let read = move |mut g: usize, draw| {
            if g < reader.n_groups() {
                return read_group(reader, (roles, fold), draw, g);
            }
            g -= reader.n_groups();
            for part in &added {
                match g.checked_sub(part.n_groups) {
                    None => return (part.read)(g),
                    Some(later) => g = later,
                }
            }
            Ok(TrainingBatch::default())
        };
        let (pieces, weighted) = (PieceLoop { n, ..pieces }, reader.layout().weight.is_some());
        TrainingRows { pieces, read: Box::new(read), weighted, draw: None, first: OnceLock::new() }
    }

    /// Rows in memory in several groups, read by the loop over as many pieces.
    pub fn of_groups(groups: Vec<TrainingBatch>, pieces: PieceLoop<'a>) -> Self {
        let weighted = groups.iter().any(|group| !group.weights.is_empty());
        let read = move |g: usize, _| Ok(groups[g].clone());
        TrainingRows { pieces, read: Box::new(read), weighted, draw: None, first: OnceLock::new() }
    }

    /// These rows; those of a prepared file are drawn again if that is asked for. Added rows stay
    /// as they are.
    #[must_use]
    pub(crate) fn drawn(self, draw: Option<DrawnTraining>) -> Self {
        TrainingRows { draw, first: OnceLock::new(), ..self }
    }

    /// One pass: `visit` gets every row group, on several threads; `merge` gets the results in
    /// order.
    ///
    /// # Errors
    /// The rows cannot be read, or the run is stopped.
    pub fn fold<T: Send>(
        &self,
        visit: impl Fn(&TrainingBatch) -> T + Sync,
        mut merge: impl FnMut(T),
    ) -> Result<()> {
        self.try_fold(
            |group| Ok(visit(group)),
            |part| {
                merge(part);
                Ok(())
            },
        )
    }

    /// As [`TrainingRows::fold`], with `visit` and `merge` that may fail.
    ///
    /// # Errors
    /// As [`TrainingRows::fold`], and the errors of `visit` and `merge`.
    pub fn try_fold<T: Send>(
        &self,
        visit: impl Fn(&TrainingBatch) -> Result<T> + Sync,
        mut merge: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let read = |g: usize| -> Result<TrainingBatch> {
            Ok(TrainingBatch { number: g, ..(self.read)(g, self.draw)? })
        };
        self.pieces.in_order(
            |g| {
                let held;
                let group = match self.first.get() {
                    _ if g > 0 => {
                        held = read(g)?;
                        &held
                    }
                    Some(first) => first,
                    None => {
                        let first = read(g)?;
                        self.first.get_or_init(|| first)
                    }
                };
                Ok((group.rows.n as u64, visit(group)?))
            },
            |_, part| merge(part),
        )
    }

    /// The largest weight; 1 where the rows have none.
    ///
    /// # Errors
    /// As [`TrainingRows::fold`].
    pub fn largest_weight(&self) -> Result<f64> {
        let weighted = self.weighted || self.draw.is_some_and(|of| !of.copied);
        if !weighted {
            return Ok(1.0);
        }
        let mut largest = 0.0;
        self.fold(
            |group| group.weights.iter().copied().fold(0.0, f64::max),
            |part| largest = f64::max(largest, part),
        )?;
        Ok(largest)
    }

    /// Errs if the run is stopped; a long training that no longer reads rows calls it from time to
    /// time.
    ///
    /// # Errors
    /// The run is stopped.
    pub fn check_running(&self) -> Result<()> {
        (self.pieces.watch.check)()
    }

    /// The number of rows, after a check that both classes occur.
    ///
    /// # Errors
    /// There is no row, or one class only, and as [`TrainingRows::fold`].
    pub fn check_both_classes(&self) -> Result<u64> {
        let (n_positive, n) = self.count()?;
        if 0 < n_positive && n_positive < n {
            return Ok(n);
        }
        if self.draw.is_some() && n > 0 {
            let what = format!("all {n} training rows of a repeat, drawn again, have one label");
            let hint = "the rarer label has too few rows to be drawn again: leave `resample` out";
            return Fault::new("one-class", what).fail(hint);
        }
        Err(one_class(n).into())
    }

    /// Whether there is no row, counting rows of weight 0 too.
    ///
    /// # Errors
    /// As [`TrainingRows::fold`].
    pub fn is_empty(&self) -> Result<bool> {
        let mut empty = true;
        self.fold(|group| group.rows.n == 0, |none| empty &= none)?;
        Ok(empty)
    }

    /// Number of positive rows, and of all rows. Rows of weight 0 are not counted.
    ///
    /// # Errors
    /// As [`TrainingRows::fold`].
    pub fn count(&self) -> Result<(u64, u64)> {
        let mut counts = (0, 0);
        let counted = |group: &TrainingBatch| {
            let there = group.labels.iter().enumerate().filter(|(i, _)| group.weight(*i) > 0.0);
            there.fold((0, 0), |(p, n), (_, label)| (p + u64::from(*label), n + 1))
        };
        self.fold(counted, |(positive, n)| counts = (counts.0 + positive, counts.1 + n))?;
        Ok(counts)
    }
}

#[cfg(test)]
impl TrainingRows<'_> {
    /// Rows in memory, each with weight 1.
    pub(crate) fn in_memory(rows: FeatureRows, labels: Vec<bool>) -> Self {
        TrainingRows::weighted(rows, labels, Vec::new())
    }

    /// Rows in memory with their weights; an empty list means 1 each.
    pub(crate) fn weighted(rows: FeatureRows, labels: Vec<bool>, weights: Vec<f64>) -> Self {
        TrainingRows::in_groups(vec![TrainingBatch::in_memory(rows, labels, weights)])
    }

    /// Rows in memory in several groups.
    pub(crate) fn in_groups(groups: Vec<TrainingBatch>) -> Self {
        let pieces = PieceLoop::one_thread(groups.len());
        TrainingRows::of_groups(groups, pieces)
    }
}

#[cfg(test)]
impl PieceLoop<'static> {
    /// A number of pieces in memory, one after another.
    pub(crate) fn one_thread(n: usize) -> Self {
        static WORKERS: LazyLock<WorkerPool> =
            LazyLock::new(|| WorkerPool::new(1).expect("a thread"));
        PieceLoop { workers: &WORKERS, watch: StageWatch::SILENT, n }
    }
}

/// That no model can be trained on this number of rows, which do not hold both classes.
pub(crate) fn one_class(n: u64) -> Fault {
    let what = if n == 0 {
        "there are no training rows with a label".to_owned()
    } else {
        format!("all {n} training rows have the same label")
    };
    let hint = "check `data.split`, `data.keep` and `data.label.positive`: a model needs rows of \
                both classes to train on";
    Fault::new("one-class", what).hint(hint)
}

fn read_group(
    reader: &RowsReader,
    (roles, fold): (&RolesReader, u8),
    drawn: Option<DrawnTraining>,
    g: usize,
) -> Result<TrainingBatch> {
    let batch = reader.read(g, Projection::ALL)?;
    let roles = roles.read(g)?;
    let trains = (0..batch.rows.n)
        .filter(|&i| roles.trains(i, fold) && batch.label.get(i).is_some_and(Option::is_some));
    let keys = batch.person_keys();
    let weight = (!batch.weight.is_empty()).then_some(|i: usize| batch.weight[i]);
    let (trains, weights) = DrawnTraining::rows(drawn, trains, |i| keys[i], weight);
    let labels = trains.iter().map(|&i| batch.label[i] == Some(true)).collect();
    let persons = trains.iter().filter_map(|&i| batch.person.get(i).copied()).collect();
    let rows = batch.rows.take(&trains);
    Ok(TrainingBatch { persons, ..TrainingBatch::from_origin(rows, labels, weights, &trains) })
}
