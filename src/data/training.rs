//! Training rows that can be read again and again, a row group at a time, with their labels.
//!
//! Rows come in the order of the prepared file. Within a row group they are cut into blocks: the training rows among 1,024 consecutive
//! prepared rows. Blocks do not depend on the size of row groups, so a sum that runs in f64 inside a block and in fixed point over
//! blocks is the same for any threads and any batch size.

use std::ops::Range;

use crate::data::Rows;
use crate::data::rows::RowsReader;
use crate::data::split::RolesReader;
use crate::error::{Error, Result};
use crate::table::io::BLOCK_ROWS;
use crate::table::ordered::{Watch, Workers};

/// The training rows of one row group.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingGroup {
    /// Their features.
    pub rows: Rows,
    /// Their labels: true = positive.
    pub labels: Vec<bool>,
    /// How many people each stands for. Empty where the job names no weight: then each stands for one.
    pub weights: Vec<f64>,
    /// Consecutive ranges of `rows`, one per block that holds any.
    pub blocks: Vec<Range<usize>>,
}

impl TrainingGroup {
    /// How many people row `i` stands for.
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.get(i).copied().unwrap_or(1.0)
    }
}

/// The training rows of a model or a fold.
pub struct TrainingRows<'a> {
    source: Source<'a>,
}

enum Source<'a> {
    Memory(Box<TrainingGroup>),
    Files { reader: &'a RowsReader, roles: &'a RolesReader, fold: u8, workers: &'a Workers, watch: Watch<'a> },
}

impl<'a> TrainingRows<'a> {
    /// The rows of a prepared file that train for a fold and have a label.
    pub fn of_fold(reader: &'a RowsReader, roles: &'a RolesReader, fold: u8, workers: &'a Workers, watch: Watch<'a>) -> Self {
        TrainingRows { source: Source::Files { reader, roles, fold, workers, watch } }
    }

    /// Rows at hand, each standing for one person.
    pub fn in_memory(rows: Rows, labels: Vec<bool>) -> Self {
        TrainingRows::weighted(rows, labels, Vec::new())
    }

    /// Rows at hand with the number of people that each stands for; no weights: one each.
    pub fn weighted(rows: Rows, labels: Vec<bool>, weights: Vec<f64>) -> Self {
        let blocks = (0..rows.n).step_by(BLOCK_ROWS).map(|start| start..(start + BLOCK_ROWS).min(rows.n)).collect();
        TrainingRows { source: Source::Memory(Box::new(TrainingGroup { rows, labels, weights, blocks })) }
    }

    /// One pass: `visit` sees every row group, on several threads; `merge` gets the results in order.
    ///
    /// # Errors
    /// The rows cannot be read, or the run is to stop.
    pub fn fold<T: Send>(&self, visit: impl Fn(&TrainingGroup) -> T + Sync, mut merge: impl FnMut(T)) -> Result<()> {
        match &self.source {
            Source::Memory(group) => merge(visit(group)),
            Source::Files { reader, roles, fold, workers, watch } => workers.map(
                reader.n_groups(),
                |g| {
                    (watch.check)()?;
                    let group = read_group(reader, roles, *fold, g)?;
                    (watch.progress)(group.rows.n as u64);
                    Ok::<_, Error>(visit(&group))
                },
                |_, part| {
                    merge(part);
                    Ok(())
                },
            )?,
        }
        Ok(())
    }

    /// The largest weight; 1 where the rows have none.
    ///
    /// # Errors
    /// As [`TrainingRows::fold`].
    pub fn largest_weight(&self) -> Result<f64> {
        let weighted = match &self.source {
            Source::Memory(group) => !group.weights.is_empty(),
            Source::Files { reader, .. } => reader.layout().weight.is_some(),
        };
        if !weighted {
            return Ok(1.0);
        }
        let mut largest = 0.0;
        self.fold(|group| group.weights.iter().copied().fold(0.0, f64::max), |part| largest = f64::max(largest, part))?;
        Ok(largest)
    }

    /// Number of positive rows, and of all rows. A row of weight 0 stands for nobody and is not counted.
    ///
    /// # Errors
    /// As [`TrainingRows::fold`].
    pub fn count(&self) -> Result<(u64, u64)> {
        let mut counts = (0, 0);
        self.fold(
            |group| {
                let there = |&i: &usize| group.weight(i) > 0.0;
                let n = (0..group.labels.len()).filter(there).count() as u64;
                ((0..group.labels.len()).filter(there).filter(|&i| group.labels[i]).count() as u64, n)
            },
            |(positive, n)| {
                counts.0 += positive;
                counts.1 += n;
            },
        )?;
        Ok(counts)
    }
}

fn read_group(reader: &RowsReader, roles: &RolesReader, fold: u8, g: usize) -> Result<TrainingGroup> {
    let batch = reader.read(g)?;
    let roles = roles.read(g)?;
    let trains: Vec<usize> =
        (0..batch.rows.n).filter(|&i| roles.trains(i, fold) && batch.label.get(i).is_some_and(Option::is_some)).collect();
    let labels = trains.iter().map(|&i| batch.label[i] == Some(true)).collect();
    let weights = if batch.weight.is_empty() { Vec::new() } else { trains.iter().map(|&i| batch.weight[i]).collect() };
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < trains.len() {
        let block = trains[start] / BLOCK_ROWS;
        let end = start + trains[start..].iter().take_while(|&&i| i / BLOCK_ROWS == block).count();
        blocks.push(start..end);
        start = end;
    }
    Ok(TrainingGroup { rows: batch.rows.take(&trains), labels, weights, blocks })
}
