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

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{Float64Type, Int64Type};
use indexmap::IndexMap;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use serde::Deserialize;

use crate::data::column::declared::DeclaredColumns;
use crate::data::prepare::derive::{CrossPart, Derivation};
use crate::data::prepare::params::{
    KeepStep, MissingBlock, OrdinalOrder, PrepareParams, SensitiveParams, SidesParams, SplitColumn,
};
use crate::data::prepare::{PrepareFindings, prepare};
use crate::data::rows::split::{RolesReader, RowRoles, TRAIN, write_note};
use crate::data::rows::{PreparedBatch, Projection, RowsReader};
use crate::data::source::ParquetSource;
use crate::data::source::catalog::download::{DataSetAccess, obtain};
use crate::data::source::catalog::{DataSetOrigin, PublicDataSet, data_set};
use crate::data::{FeatureKind, MISSING_GROUP};
use crate::error::{Error, Fault, Result};
use crate::exec::pieces::{RowBatching, StageWatch, WorkerPool};
use crate::num::seed::{h, u01};
use crate::param::{ColumnName, Fraction, Word};
use crate::table::file::{FileOwner, ParquetFile};
use crate::tests::{Says, shared};

pub(super) const BATCH: usize = 4096;

pub(super) fn workers(threads: usize) -> WorkerPool {
    WorkerPool::new(threads).unwrap()
}

pub(super) fn column(name: &str) -> ColumnName {
    ColumnName::new(name).unwrap()
}

pub(super) fn words(texts: &[&str]) -> Vec<Word> {
    texts.iter().map(|t| Word((*t).to_owned())).collect()
}

/// Parameters as a test writes them, nearly as a job does; what is absent stays.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ParamsText {
    derive: Option<IndexMap<ColumnName, Derivation>>,
    row_id: Option<ColumnName>,
    person: Option<ColumnName>,
    weight: Option<ColumnName>,
    keep: Option<Vec<KeepStep>>,
    label: Option<SidesText>,
    /// The groups of each attribute, the reference first.
    sensitive: Option<IndexMap<ColumnName, Vec<Word>>>,
    continuous: Option<Vec<ColumnName>>,
    ordinal: Option<IndexMap<ColumnName, OrdinalOrder>>,
    nominal: Option<Vec<ColumnName>>,
    onehot: Option<IndexMap<ColumnName, Vec<ColumnName>>>,
    integer: Option<BTreeMap<String, bool>>,
    missing: Option<MissingBlock>,
    drop_duplicates: Option<Vec<ColumnName>>,
    carry: Option<Vec<ColumnName>>,
    split: Option<SplitText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SidesText {
    column: ColumnName,
    positive: Vec<Word>,
    negative: Option<Vec<Word>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SplitText {
    column: ColumnName,
    train: Vec<Word>,
    audit: Vec<Word>,
}

impl PrepareParams {
    /// Parameters as text: `label: {column: y, positive: [1]}, sensitive: {g: [a, b]}`. A cross
    /// takes its parts unchanged.
    #[track_caller]
    pub(crate) fn of(text: &str) -> Self {
        Self::default().with(text)
    }

    /// The same with others.
    #[track_caller]
    pub(crate) fn with(mut self, text: &str) -> Self {
        let text: ParamsText = serde_yaml::from_str(&format!("{{{text}}}")).unwrap();
        macro_rules! take {
            ($($key:ident)*) => {
                $(if let Some(value) = text.$key { self.$key = value.into_iter().collect(); })*
            };
        }
        take!(keep continuous ordinal nominal onehot integer carry);
        self.row_id = text.row_id.or(self.row_id);
        self.person = text.person.or(self.person);
        self.weight = text.weight.or(self.weight);
        self.missing = text.missing.unwrap_or(self.missing);
        self.drop_duplicates = text.drop_duplicates.or(self.drop_duplicates);
        let part = |column: &ColumnName| CrossPart { column: column.clone(), groups: None };
        let recipe = |(name, of): (_, Derivation)| (name, of.recipe(part).unwrap());
        self.derive = text.derive.map_or(self.derive, |all| all.into_iter().map(recipe).collect());
        let sides = |SidesText { column, positive, negative }| SidesParams {
            column,
            positive,
            negative,
            classes: Vec::new(),
        };
        self.label = text.label.map(sides).or(self.label);
        let attribute = |(name, groups): (ColumnName, Vec<Word>)| SensitiveParams {
            column: name.clone(),
            name,
            reference: groups[0].clone(),
            groups,
        };
        let attributes = |all: IndexMap<_, _>| all.into_iter().map(attribute).collect();
        self.sensitive = text.sensitive.map_or(self.sensitive, attributes);
        let split = |SplitText { column, train, audit }| SplitColumn { column, train, audit };
        self.split = text.split.map(split).or(self.split);
        self
    }
}

/// Writes a Parquet file with row groups of `group_rows`.
pub(crate) fn parquet(path: &Path, columns: Vec<(&str, ArrayRef)>, group_rows: usize) {
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

pub(crate) fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(arrow::array::StringArray::from(values.to_vec()))
}

pub(super) fn numbers(values: &[f64]) -> ArrayRef {
    Arc::new(arrow::array::Float64Array::from(values.to_vec()))
}

pub(crate) fn integers(values: &[i64]) -> ArrayRef {
    Arc::new(arrow::array::Int64Array::from(values.to_vec()))
}

/// Prepares Parquet at `pattern` into `out`.
pub(crate) fn prepare_parquet(
    pattern: &Path,
    params: &PrepareParams,
    out: &Path,
    batch_rows: usize,
    threads: usize,
) -> Result<PrepareFindings> {
    let source =
        ParquetSource::parquet(pattern.to_str().unwrap(), &params.columns(), &params.declared)?;
    prepare(&source, params, out, silent(batch_rows, &workers(threads)))
}

/// Reads and writes rows without a listener.
pub(super) fn silent(batch_rows: usize, workers: &WorkerPool) -> RowBatching<'_> {
    RowBatching { batch_rows, workers, watch: StageWatch::SILENT }
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

/// What all prepared rows of a folder hold.
pub(super) fn all<T>(folder: &Path, of: impl Fn(PreparedBatch) -> Vec<T>) -> Vec<T> {
    batches(folder).into_iter().flat_map(of).collect()
}
