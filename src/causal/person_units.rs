//! The persons whose rows graphs are learnt from: what bootstraps draw where a person may have
//! several rows.
//!
//! Persons are numbered in the order of their first rows, and belong to the block and stratum of
//! that row. Only complete rows count, because graphs are learnt from these.

use std::collections::hash_map::Entry;

use crate::causal::encoding::{GraphEncoding, TrainingBlocks};
use crate::data::rows::training::{TrainingBatch, TrainingRows};
use crate::error::Result;
use crate::num::hash::FastMap;

/// Persons by block, and the person of each row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PersonUnits {
    /// The number of persons of each block in each stratum.
    pub(super) sizes: Vec<Vec<u64>>,
    /// The strata of the persons of each block, in the order of their numbers.
    pub(super) strata: Vec<Vec<usize>>,
    /// The number of the person of each row of each block.
    pub(super) of_rows: Vec<Vec<u32>>,
    /// The number of rows of each person.
    pub(super) rows_of: Vec<u32>,
}

impl PersonUnits {
    /// The persons of the used rows; none where each row is a person.
    ///
    /// # Errors
    /// The rows cannot be read, or the run is to stop.
    pub(crate) fn read(
        encoding: &GraphEncoding,
        blocks: &TrainingBlocks,
        rows: &TrainingRows<'_>,
    ) -> Result<Option<Self>> {
        let of_group = |group: &TrainingBatch| {
            let blocks = blocks.group_blocks(encoding, group).into_iter();
            let of_block = |(number, members, strata): (usize, Vec<usize>, Vec<usize>)| {
                let keys = members.iter().filter_map(|&i| group.persons.get(i).copied());
                (number, keys.zip(strata).collect::<Vec<(u64, usize)>>())
            };
            blocks.map(of_block).collect::<Vec<_>>()
        };
        let mut persons = PersonUnits {
            sizes: blocks.sizes.iter().map(|strata| vec![0; strata.len()]).collect(),
            strata: vec![Vec::new(); blocks.sizes.len()],
            of_rows: vec![Vec::new(); blocks.sizes.len()],
            rows_of: Vec::new(),
        };
        let mut numbers: FastMap<u64, u32> = FastMap::default();
        rows.fold(of_group, |part| {
            for (block, rows) in part {
                rows.into_iter().for_each(|row| persons.add(&mut numbers, block, row));
            }
        })?;
        Ok((!persons.rows_of.is_empty()).then_some(persons))
    }

    fn add(&mut self, numbers: &mut FastMap<u64, u32>, block: usize, (key, stratum): (u64, usize)) {
        let number = match numbers.entry(key) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let number = self.rows_of.len() as u32;
                self.rows_of.push(0);
                self.sizes[block][stratum] += 1;
                self.strata[block].push(stratum);
                *new.insert(number)
            }
        };
        self.rows_of[number as usize] += 1;
        self.of_rows[block].push(number);
    }

    /// Bytes that a number of bootstraps of these persons take.
    pub(crate) fn memory(&self, replicates: usize) -> u64 {
        let rows: usize = self.of_rows.iter().map(Vec::len).sum();
        let (rows, persons) = (rows as u64, self.rows_of.len() as u64);
        4 * (rows + persons.saturating_mul(replicates as u64))
    }
}
