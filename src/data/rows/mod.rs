//! Reads the prepared rows into plain vectors; writes feature columns for other stages.

pub(crate) mod aligned;
pub(crate) mod column_moments;
pub(crate) mod content;
pub(crate) mod ids;
pub(crate) mod profile;
pub(crate) mod reference;
pub(crate) mod role_counts;
pub(crate) mod row_draw;
pub(crate) mod split;
pub(crate) mod stored;
pub mod training;

use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Int64Array, PrimitiveArray, RecordBatch,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, Field, Float64Type, Int64Type, Schema, SchemaRef, UInt8Type, UInt32Type, UInt64Type,
};

use crate::data::exchange::raw;
use crate::data::rows::ids::key_of_integer;
use crate::data::rows::role_counts::RoleCounts;
use crate::data::rows::stored::{
    CLASS, LABEL, ROLE, STORED, STRATUM, StoredRows, feature_name, group_name, level_name,
    slice_name, source_name,
};
use crate::data::values::{SourceValues, ValueClass};
use crate::data::{
    Feature, FeatureColumn, FeatureRows, Layout, MISSING, MISSING_CLASS, MISSING_GROUP, RowIdKind,
    SourceCells,
};
use crate::error::{Error, FOLDER_CHANGED_HINT, Result};
use crate::exec::files;
use crate::table::field_marks::{cached, direct, sampled};
use crate::table::file::{FileOwner, ParquetFile};

/// The column of persons.
const PERSON: &str = "person";

/// The column of weights.
const WEIGHT: &str = "weight";

/// `rows.parquet` with its layout, open for reading from any thread.
#[derive(Debug, Clone)]
pub struct RowsReader {
    file: ParquetFile,
    layout: Layout,
    stored: StoredRows,
    /// The groups of the attribute at a position, where they are not those of the file.
    renamed: Option<(usize, Arc<RowGroupLabels>)>,
}

/// The groups of all rows, by row group.
pub(crate) type RowGroupLabels = Vec<Vec<u16>>;

/// One row group of the prepared rows.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedBatch {
    /// Positions in the source before `keep`.
    pub row: Vec<u64>,
    /// The row number, the integer row id or the hash of the text row id. Empty if they were not
    /// requested.
    pub row_key: Vec<u64>,
    /// The key of the person whose row it is. Empty where each row is a person: see
    /// [`PreparedBatch::person_keys`].
    pub person: Vec<u64>,
    /// The label; `None` = missing. Empty where the job has no label.
    pub label: Vec<Option<bool>>,
    /// The class of a label with more than two; [`MISSING_CLASS`] = missing. Otherwise empty.
    pub class: Vec<u8>,
    /// The weight of each row: how many people it represents, finite and 0 or more.
    ///
    /// Empty where the job names no weight: then each row counts 1.
    pub weight: Vec<f64>,
    /// For each attribute the group; [`MISSING_GROUP`] = missing or not declared.
    pub groups: Vec<Vec<u16>>,
    /// The features; without columns if they were not requested.
    pub rows: FeatureRows,
    /// For each carried column its numbers; NaN = missing.
    pub carried: Vec<Vec<f64>>,
    /// The position of the stratum; [`MISSING`] = none. Empty where the job names no strata.
    pub strata: Vec<u32>,
    /// For each column of slices the position of the level; [`MISSING`] = none.
    pub slices: Vec<Vec<u32>>,
}

/// The parts of a row group that are read in addition to row numbers, persons and groups.
#[derive(Debug, Clone, Copy)]
pub struct Projection {
    /// Row keys.
    pub keys: bool,
    /// Features.
    pub features: bool,
    /// Labels, weights, strata and slices.
    pub outcomes: bool,
    /// Carried columns.
    pub carried: bool,
}

impl Projection {
    /// All columns.
    pub const ALL: Projection =
        Projection { keys: true, features: true, outcomes: true, carried: true };

    /// All columns except features.
    pub const NO_FEATURES: Projection = Projection { features: false, ..Projection::ALL };

    /// Only the keys.
    pub const KEYS: Projection =
        Projection { keys: true, features: false, outcomes: false, carried: false };

    /// Keys and features.
    pub(crate) const PEOPLE: Projection = Projection { features: true, ..Projection::KEYS };
}

impl PreparedBatch {
    /// The key of the person whose row each is: what blocks, splits and folds are cut by. Empty
    /// where neither persons nor row keys were read.
    pub fn person_keys(&self) -> &[u64] {
        if self.person.is_empty() { &self.row_key } else { &self.person }
    }

    /// The key of the person of a row, where a person may have several rows. Else 0 for all rows:
    /// only for evidence that does not count persons.
    pub(crate) fn shared_key(&self, i: usize) -> u64 {
        self.person.get(i).copied().unwrap_or(0)
    }
}

impl RowsReader {
    /// Opens `rows.parquet`, `codes.json` and `layout.json` of a folder.
    ///
    /// # Errors
    /// One of them is absent or damaged.
    pub fn open(folder: &Path) -> Result<Self> {
        Ok(RowsReader {
            file: ParquetFile::open(&folder.join("rows.parquet"), FileOwner::Program)?,
            layout: read_json(&folder.join("layout.json"))?,
            stored: read_json(&folder.join(STORED))?,
            renamed: None,
        })
    }

    /// These rows with other groups of an attribute, by its position.
    pub(crate) fn renamed(&self, attribute: usize, groups: RowGroupLabels) -> Self {
        RowsReader { renamed: Some((attribute, Arc::new(groups))), ..self.clone() }
    }

    /// The meaning of the columns.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The Parquet file.
    pub fn file(&self) -> &ParquetFile {
        &self.file
    }

    /// Number of row groups.
    ///
    /// Rows that are elsewhere count as one group, which cannot be read: no pass takes them for an
    /// empty set.
    pub fn n_groups(&self) -> usize {
        if self.stored.elsewhere { 1 } else { self.file.n_groups() }
    }

    /// Whether the rows are in the shards of a plan, and none of them here.
    pub(crate) fn are_elsewhere(&self) -> bool {
        self.stored.elsewhere
    }

    /// Whether these are the rows of one shard of a plan.
    pub(crate) fn are_of_shard(&self) -> bool {
        self.stored.is_shard
    }

    /// The roles of the rows of all shards, where each row has its own; else all are audited.
    pub(crate) fn role_counts(&self) -> RoleCounts {
        self.stored.roles
    }

    /// Whether the rows hold their roles: a column or their hashes split them.
    pub(crate) fn hold_roles(&self) -> bool {
        self.stored.role_column || self.stored.tables.contains_key(ROLE)
    }

    /// Fails where the rows are elsewhere.
    fn check_here(&self) -> Result<()> {
        if !self.stored.elsewhere {
            return Ok(());
        }
        let cause = "the rows are in the shards of a plan, and a stage wants to read them here";
        let hint = "this is a bug in cfaudit; without shards the job runs as it is";
        Err(Error::operator("read", self.file.path(), cause, hint))
    }

    /// Position of the first row of a row group.
    ///
    /// All groups but the last have the same number of rows.
    pub fn first_row(&self, group: usize) -> usize {
        if group == 0 { 0 } else { group * self.file.group_rows(0) }
    }

    /// What is asked for of a row group.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read(&self, group: usize, of: Projection) -> Result<PreparedBatch> {
        let Projection { keys, features, outcomes, carried } = of;
        let layout = &self.layout;
        let label = layout.label.as_ref().filter(|_| outcomes);
        let weight = layout.weight.as_ref().filter(|_| outcomes);
        let strata = layout.strata.as_ref().filter(|_| outcomes);
        let carried = if carried { layout.carried.as_slice() } else { &[] };
        let slices = if outcomes { layout.slices.as_slice() } else { &[] };
        let has_classes = label.is_some_and(|label| !label.classes.is_empty());
        let features = if features { layout.features.as_slice() } else { &[] };
        let mut names = self.key_columns(keys);
        let fixed = [
            (layout.person.is_some(), PERSON),
            (weight.is_some(), WEIGHT),
            (label.is_some(), LABEL),
            (has_classes, CLASS),
            (strata.is_some(), STRATUM),
        ];
        names.extend(fixed.iter().filter(|(have, _)| *have).map(|&(_, name)| name.to_owned()));
        names.extend(carried.iter().map(carried_name));
        names.extend(layout.attributes.iter().map(group_name));
        names.extend(features.iter().map(feature_name));
        names.extend(features.iter().filter(|f| f.source.several).map(source_name));
        names.extend(slices.iter().map(slice_name));
        let mut columns = self.columns(group, &names)?;

        let (row, row_key) = self.keys_of(group, &mut columns, keys)?;
        let person = match layout.person {
            None => Vec::new(),
            Some(_) => self.values::<UInt64Type>(&mut columns, PERSON, 0)?,
        };
        let weight = match weight {
            None => Vec::new(),
            Some(_) => self.values::<Float64Type>(&mut columns, WEIGHT, f64::NAN)?,
        };
        let carried = carried
            .iter()
            .map(|name| self.values::<Float64Type>(&mut columns, &carried_name(name), f64::NAN))
            .collect::<Result<_>>()?;
        let mut rows = FeatureRows {
            n: row.len(),
            columns: features
                .iter()
                .map(|feature| self.feature(&mut columns, feature))
                .collect::<Result<_>>()?,
            source: Vec::new(),
        };
        rows.source = self.cells(features, &mut columns, |_, f| Ok(rows.columns[f].clone()))?;
        let is_positive = |code: u32| (code != MISSING).then_some(code == 1);
        let class = |code| u8::try_from(code).unwrap_or(MISSING_CLASS);
        let groups = 0..layout.attributes.len();
        let slices = slices.iter().map(slice_name);
        Ok(PreparedBatch {
            row,
            row_key,
            person,
            label: self.codes_if(label.is_some(), &columns, LABEL, is_positive)?,
            class: self.codes_if(has_classes, &columns, CLASS, class)?,
            weight,
            groups: groups
                .map(|attribute| self.own_groups(&columns, (group, attribute)))
                .collect::<Result<_>>()?,
            rows,
            carried,
            strata: self.codes_if(strata.is_some(), &columns, STRATUM, |code| code)?,
            slices: slices
                .map(|name| self.codes(&columns, &name, |code| code))
                .collect::<Result<_>>()?,
        })
    }

    /// A feature as prepared.
    fn feature(&self, columns: &mut BatchColumns, feature: &Feature) -> Result<FeatureColumn> {
        let name = feature_name(feature);
        if feature.kind.is_coded() {
            return self.codes(columns, &name, |code| code).map(FeatureColumn::Code);
        }
        numbers_of(columns, feature, &name).ok_or_else(|| self.unexpected(&name))
    }

    /// What the source holds of features, where their prepared values, which `was` gives by
    /// position, do not determine it.
    fn cells(
        &self,
        features: &[Feature],
        columns: &mut BatchColumns,
        was: impl Fn(&mut BatchColumns, usize) -> Result<FeatureColumn>,
    ) -> Result<Vec<SourceCells>> {
        let several = features.iter().enumerate().filter(|(_, f)| f.source.several);
        let cells = several.map(|(position, feature)| {
            let name = source_name(feature);
            let was = was(columns, position)?;
            let holds = match feature.kind.is_coded() {
                true => FeatureColumn::Code(self.codes(columns, &name, |word| word)?),
                false => {
                    FeatureColumn::Number(self.values::<Float64Type>(columns, &name, f64::NAN)?)
                }
            };
            Ok(SourceCells { feature: position, was, holds })
        });
        cells.collect()
    }

    /// What the source holds of the rows of a row group, where their prepared values do not
    /// determine it.
    ///
    /// # Errors
    /// A damaged file.
    pub(crate) fn read_source(&self, group: usize) -> Result<Vec<SourceCells>> {
        let features = self.layout.features.as_slice();
        let several = features.iter().filter(|f| f.source.several);
        let names: Vec<String> = several.flat_map(|f| [feature_name(f), source_name(f)]).collect();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let mut columns = self.columns(group, &names)?;
        self.cells(features, &mut columns, |columns, f| self.feature(columns, &features[f]))
    }

    /// The columns of row numbers and keys that the file holds; without `keys` of numbers alone.
    fn key_columns(&self, keys: bool) -> Vec<String> {
        let row = (!self.stored.rows_follow).then_some("row");
        let key = match self.layout.row_id {
            RowIdKind::RowNumber => None,
            RowIdKind::Integer => Some("row_id"),
            RowIdKind::Text => Some("row_key"),
        };
        row.into_iter().chain(key.filter(|_| keys)).map(str::to_owned).collect()
    }

    /// Row numbers and, where asked for, keys.
    fn keys_of(
        &self,
        group: usize,
        columns: &mut BatchColumns,
        keys: bool,
    ) -> Result<(Vec<u64>, Vec<u64>)> {
        let row = if self.stored.rows_follow {
            let first = self.stored.first_row + self.first_row(group) as u64;
            (first..first + self.file.group_rows(group) as u64).collect()
        } else {
            self.values::<UInt64Type>(columns, "row", 0)?
        };
        let row_key = match self.layout.row_id {
            _ if !keys => Vec::new(),
            RowIdKind::RowNumber => row.clone(),
            RowIdKind::Integer => {
                let ids = self.values::<Int64Type>(columns, "row_id", 0)?;
                ids.into_iter().map(key_of_integer).collect()
            }
            RowIdKind::Text => self.values::<UInt64Type>(columns, "row_key", 0)?,
        };
        Ok((row, row_key))
    }

    /// The groups of one attribute in a row group, by its position.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read_own_groups(&self, group: usize, attribute: usize) -> Result<Vec<u16>> {
        let name = group_name(&self.layout.attributes[attribute]);
        self.own_groups(&self.columns(group, &[name])?, (group, attribute))
    }

    /// The groups of one attribute in some columns of a row group.
    fn own_groups(
        &self,
        columns: &BatchColumns,
        (group, attribute): (usize, usize),
    ) -> Result<Vec<u16>> {
        match &self.renamed {
            Some((renamed, groups)) if *renamed == attribute => Ok(groups[group].clone()),
            _ => self.codes(columns, &group_name(&self.layout.attributes[attribute]), group_code),
        }
    }

    /// The levels of one attribute in a row group, by its position, declared as groups or not;
    /// [`MISSING`] = no value.
    ///
    /// # Errors
    /// A damaged file.
    pub(crate) fn read_levels(&self, group: usize, attribute: usize) -> Result<Vec<u32>> {
        self.one_coded(group, &level_name(&self.layout.attributes[attribute]), |code| code)
    }

    /// The numbers of one carried column in a row group, by its position; NaN = missing.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read_carried(&self, group: usize, column: usize) -> Result<Vec<f64>> {
        self.one::<Float64Type>(group, &carried_name(&self.layout.carried[column]), f64::NAN)
    }

    /// The row ids of a row group; row numbers without `row_id` in the job.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read_ids(&self, group: usize) -> Result<SourceValues> {
        self.check_here()?;
        if self.layout.row_id == RowIdKind::Text {
            let batch = self.file.read_group(group, Some(&["row_id"]))?;
            return SourceValues::new(batch.column(0)).map_err(|_| self.unexpected("row_id"));
        }
        // The key of an integer is the integer itself.
        let keys = self.read(group, Projection::KEYS)?.row_key.into_iter().map(u64::cast_signed);
        Ok(SourceValues::Int(Int64Array::from_iter_values(keys)))
    }

    /// The roles of a row group, where a column of the source or hashes split the rows.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read_roles(&self, group: usize) -> Result<Vec<u8>> {
        if self.stored.role_column {
            return self.one::<UInt8Type>(group, ROLE, split::NEITHER);
        }
        self.one_coded(group, ROLE, |code| u8::try_from(code).unwrap_or(split::NEITHER))
    }

    /// One column of a row group as it is in the file.
    fn one<T: ArrowPrimitiveType>(
        &self,
        group: usize,
        name: &str,
        missing: T::Native,
    ) -> Result<Vec<T::Native>> {
        self.values::<T>(&mut self.columns(group, &[name.to_owned()])?, name, missing)
    }

    /// What the codes of one column of a row group mean under a name.
    fn one_coded<T: Copy>(
        &self,
        group: usize,
        name: &str,
        meaning: impl Fn(u32) -> T,
    ) -> Result<Vec<T>> {
        self.codes(&self.columns(group, &[name.to_owned()])?, name, meaning)
    }

    /// Some columns of a row group: those of the file, and of names with codes those that hold
    /// them.
    fn columns(&self, group: usize, wanted: &[String]) -> Result<BatchColumns> {
        self.check_here()?;
        let mut names: Vec<&str> = Vec::with_capacity(wanted.len());
        for name in wanted {
            let name = self.stored.tables.get(name).map_or(name, |table| &table.column);
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        if names.is_empty() {
            return Ok(BatchColumns::default());
        }
        self.file.read_group(group, Some(&names)).map(BatchColumns::of)
    }

    /// What the codes of a column mean under a name.
    fn codes<T: Copy>(
        &self,
        columns: &BatchColumns,
        name: &str,
        meaning: impl Fn(u32) -> T,
    ) -> Result<Vec<T>> {
        let unexpected = || self.unexpected(name);
        let table = self.stored.tables.get(name).ok_or_else(unexpected)?;
        let codes = columns.codes(&table.column).ok_or_else(unexpected)?;
        let meanings: Vec<T> = table.codes.iter().map(|&code| meaning(code)).collect();
        let most = codes.iter().fold(0, |most, &code| code.max(most));
        if most as usize >= meanings.len() && !codes.is_empty() {
            return Err(unexpected());
        }
        let mut found = Vec::with_capacity(codes.len());
        for &code in codes {
            found.push(meanings[code as usize]);
        }
        Ok(found)
    }

    /// As [`RowsReader::codes`]; nothing where the rows have none.
    fn codes_if<T: Copy>(
        &self,
        have: bool,
        columns: &BatchColumns,
        name: &str,
        meaning: impl Fn(u32) -> T,
    ) -> Result<Vec<T>> {
        if have { self.codes(columns, name, meaning) } else { Ok(Vec::new()) }
    }

    fn values<T: ArrowPrimitiveType>(
        &self,
        columns: &mut BatchColumns,
        name: &str,
        missing: T::Native,
    ) -> Result<Vec<T::Native>> {
        let values = columns.take(name).ok_or_else(|| self.unexpected(name))?;
        Ok(values_or::<T>(values, missing))
    }

    fn unexpected(&self, column: &str) -> Error {
        Error::operator(
            "read",
            self.file.path(),
            format!("column `{column}` is missing or has another type than `layout.json` says"),
            FOLDER_CHANGED_HINT,
        )
    }
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = files::read_text(path)?;
    serde_json::from_str(&text).map_err(|e| Error::io("read", path, &e.into()))
}

fn group_code(code: u32) -> u16 {
    u16::try_from(code).unwrap_or(MISSING_GROUP)
}

fn carried_name(column: &String) -> String {
    format!("carry.{column}")
}

/// The columns of a batch, each to be taken once but for codes.
///
/// A column without other references becomes a vector without a copy.
struct BatchColumns {
    schema: SchemaRef,
    arrays: Vec<Option<ArrayRef>>,
}

impl Default for BatchColumns {
    fn default() -> Self {
        BatchColumns { schema: Arc::new(Schema::empty()), arrays: Vec::new() }
    }
}

impl BatchColumns {
    fn of(batch: RecordBatch) -> Self {
        let (schema, arrays, _) = batch.into_parts();
        BatchColumns { schema, arrays: arrays.into_iter().map(Some).collect() }
    }

    fn take<T: ArrowPrimitiveType>(&mut self, name: &str) -> Option<PrimitiveArray<T>> {
        let array = self.arrays[self.schema.index_of(name).ok()?].take()?;
        array.as_primitive_opt::<T>().cloned()
    }

    fn codes(&self, name: &str) -> Option<&[u32]> {
        let array = self.arrays[self.schema.index_of(name).ok()?].as_ref()?;
        Some(array.as_primitive_opt::<UInt32Type>()?.values())
    }
}

fn values_or<T: ArrowPrimitiveType>(
    array: PrimitiveArray<T>,
    missing: T::Native,
) -> Vec<T::Native> {
    let (_, values, nulls) = array.into_parts();
    let mut values = Vec::from(values);
    if let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) {
        values
            .iter_mut()
            .zip(&nulls)
            .filter(|(_, known)| !known)
            .for_each(|(value, _)| *value = missing);
    }
    values
}

/// The fields `x.<feature>` of a layout.
///
/// Whole numbers and positions of levels are stored as such, which is the fastest to write and
/// read.
pub fn feature_fields(layout: &Layout) -> Vec<Field> {
    let field = |feature: &Feature, data_type| Field::new(feature_name(feature), data_type, true);
    let of = |feature: &Feature| match () {
        () if feature.kind.is_coded() => direct(field(feature, DataType::UInt32)),
        () if is_whole(feature) => direct(field(feature, DataType::Int64)),
        () => sampled(field(feature, DataType::Float64)),
    };
    layout.features.iter().map(of).map(cached).collect()
}

/// Whether every number of a feature is whole.
///
/// Learnt values that are not whole are refused, generated ones are rounded.
fn is_whole(feature: &Feature) -> bool {
    feature.class == ValueClass::Int && !feature.kind.is_coded()
}

/// The arrays for [`feature_fields`].
///
/// # Errors
/// A number of an integer column is not whole: a bug.
pub fn feature_arrays(features: &[Feature], rows: FeatureRows) -> Result<Vec<ArrayRef>> {
    features
        .iter()
        .zip(rows.columns)
        .map(|(feature, column)| feature_array(feature, column))
        .collect()
}

/// The array of one of [`feature_fields`].
///
/// # Errors
/// As [`feature_arrays`].
fn feature_array(feature: &Feature, column: FeatureColumn) -> Result<ArrayRef> {
    match column {
        FeatureColumn::Number(values) if is_whole(feature) => {
            raw::integers(feature, &values).map(|array| Arc::new(array) as ArrayRef)
        }
        FeatureColumn::Number(values) => Ok(number_array(values)),
        FeatureColumn::Code(codes) => Ok(nullable::<UInt32Type>(codes, |c| c != MISSING)),
    }
}

/// Numbers as an array: NaN is null.
pub(crate) fn number_array(values: Vec<f64>) -> ArrayRef {
    nullable::<Float64Type>(values, |v| !v.is_nan())
}

fn nullable<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    is_known: impl Fn(T::Native) -> bool,
) -> ArrayRef {
    let nulls = (!values.iter().all(|&v| is_known(v)))
        .then(|| NullBuffer::from_iter(values.iter().map(|&v| is_known(v))));
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls))
}

/// The features of a batch that holds the fields of [`feature_fields`].
///
/// # Errors
/// The name of a column that is missing or has another type.
pub fn feature_rows(batch: RecordBatch, layout: &Layout) -> Result<FeatureRows, String> {
    let n = batch.num_rows();
    let mut columns = BatchColumns::of(batch);
    let mut column = |feature: &Feature| {
        let name = feature_name(feature);
        let found = match feature.kind.is_coded() {
            true => columns
                .take::<UInt32Type>(&name)
                .map(|codes| FeatureColumn::Code(values_or(codes, MISSING))),
            false => numbers_of(&mut columns, feature, &name),
        };
        found.ok_or(name)
    };
    let columns = layout.features.iter().map(&mut column).collect::<Result<_, _>>()?;
    Ok(FeatureRows { n, columns, source: Vec::new() })
}

/// The numbers of a feature without levels.
fn numbers_of(columns: &mut BatchColumns, feature: &Feature, name: &str) -> Option<FeatureColumn> {
    Some(FeatureColumn::Number(match is_whole(feature) {
        true => numbers(&columns.take::<Int64Type>(name)?),
        false => values_or(columns.take::<Float64Type>(name)?, f64::NAN),
    }))
}

fn numbers(array: &PrimitiveArray<Int64Type>) -> Vec<f64> {
    let number = |value: i64| value as f64;
    match array.null_count() {
        0 => array.values().iter().map(|&value| number(value)).collect(),
        _ => array.iter().map(|value| value.map_or(f64::NAN, number)).collect(),
    }
}
