//! Tests of preparing, from a source to split rows: real data, independence of partitions, hostile
//! inputs.

mod catalog;
mod download;
mod hostile;
mod import;
mod prepare;
mod roles;
mod split;
mod stand_in;
mod synthetic;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use indexmap::IndexMap;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::data::prepare::params::KeepStep;
use crate::data::prepare::params::{PrepareParams, SensitiveParams, SidesParams};
use crate::data::prepare::{PrepareFindings, prepare};
use crate::data::rows::{PreparedBatch, Projection, RowsReader};
use crate::data::source::ParquetSource;
use crate::error::{Error, Fault, Result};
use crate::exec::pieces::{StageWatch, WorkerPool};
use crate::param::{ColumnName, Word};

pub(super) const BATCH: usize = 4096;

pub(super) fn workers(threads: usize) -> WorkerPool {
    WorkerPool::new(threads).unwrap()
}

pub(super) fn column(name: &str) -> ColumnName {
    ColumnName::new(name).unwrap()
}

pub(super) fn columns(names: &[&str]) -> Vec<ColumnName> {
    names.iter().map(|n| column(n)).collect()
}

pub(super) fn words(texts: &[&str]) -> Vec<Word> {
    texts.iter().map(|t| Word((*t).to_owned())).collect()
}

pub(super) fn label(name: &str, positive: &[&str]) -> Option<SidesParams> {
    Some(SidesParams {
        column: column(name),
        positive: words(positive),
        negative: None,
        classes: Vec::new(),
    })
}

pub(super) fn sensitive(name: &str, groups: &[&str]) -> SensitiveParams {
    SensitiveParams {
        name: column(name),
        column: column(name),
        groups: words(groups),
        reference: Word(groups[0].to_owned()),
    }
}

/// A `keep` filter, written as in a job.
pub(super) fn keep(json: &str) -> KeepStep {
    serde_json::from_str(json).unwrap()
}

/// Writes a Parquet file with row groups of `group_rows`.
pub(super) fn parquet(path: &Path, columns: Vec<(&str, ArrayRef)>, group_rows: usize) {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap();
    write(path, &batch, group_rows);
}

pub(super) fn write(path: &Path, batch: &RecordBatch, group_rows: usize) {
    let properties =
        WriterProperties::builder().set_max_row_group_row_count(Some(group_rows)).build();
    let mut writer = ArrowWriter::try_new(
        std::fs::File::create(path).unwrap(),
        batch.schema(),
        Some(properties),
    )
    .unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

pub(super) fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(arrow::array::StringArray::from(values.to_vec()))
}

pub(super) fn numbers(values: &[f64]) -> ArrayRef {
    Arc::new(arrow::array::Float64Array::from(values.to_vec()))
}

pub(super) fn integers(values: &[i64]) -> ArrayRef {
    Arc::new(arrow::array::Int64Array::from(values.to_vec()))
}

/// Prepares Parquet at `pattern` into `out`.
pub(super) fn prepare_parquet(
    pattern: &Path,
    params: &PrepareParams,
    out: &Path,
    batch_rows: usize,
    threads: usize,
) -> Result<PrepareFindings> {
    let source =
        ParquetSource::parquet(pattern.to_str().unwrap(), &params.columns(), &params.declared)?;
    prepare(&source, params, out, batch_rows, &workers(threads), StageWatch::SILENT)
}

/// In a temporary folder: the rows, prepared in batches of five.
pub(super) fn prepared(
    rows: Vec<(&str, ArrayRef)>,
    params: &PrepareParams,
) -> (tempfile::TempDir, Result<PrepareFindings>) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("source.parquet");
    parquet(&file, rows, 3);
    let result = prepare_parquet(&file, params, dir.path(), 5, 2);
    (dir, result)
}

pub(super) fn fault<T: std::fmt::Debug>(result: Result<T>) -> Fault {
    match result {
        Err(Error::Data(fault)) => *fault,
        other => panic!("expected a fault, got {other:?}"),
    }
}

/// All prepared rows of a folder.
pub(super) fn batches(folder: &Path) -> Vec<PreparedBatch> {
    let reader = RowsReader::open(folder).unwrap();
    (0..reader.n_groups()).map(|g| reader.read(g, Projection::ALL).unwrap()).collect()
}

/// Counts of (group, label) over all rows: label 2 = missing, group `u16::MAX` = none.
pub(super) fn counts(folder: &Path, attribute: usize) -> BTreeMap<(u16, u8), u64> {
    let mut counts = BTreeMap::new();
    for batch in batches(folder) {
        for (i, group) in batch.groups[attribute].iter().enumerate() {
            let label = batch.label.get(i).map_or(2, |l| l.map_or(2, u8::from));
            *counts.entry((*group, label)).or_insert(0) += 1;
        }
    }
    counts
}

/// A map of `IndexMap` from pairs.
pub(super) fn index<K: std::hash::Hash + Eq, V, const N: usize>(
    pairs: [(K, V); N],
) -> IndexMap<K, V> {
    pairs.into_iter().collect()
}
