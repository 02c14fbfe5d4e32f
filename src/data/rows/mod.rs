//! Reads the prepared rows into plain vectors; writes feature columns for other stages.

pub(crate) mod aligned;
pub(crate) mod column_moments;
pub(crate) mod content;
pub(crate) mod ids;
pub(crate) mod number_file;
pub(crate) mod profile;
pub(crate) mod reference;
pub(crate) mod role_counts;
pub(crate) mod row_draw;
pub(crate) mod split;
pub(crate) mod stored;
pub mod training;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Int64Array, PrimitiveArray, RecordBatch,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, Field, Float64Type, Int64Type, UInt8Type, UInt32Type, UInt64Type,
};

use crate::data::exchange::raw;
use crate::data::rows::ids::key_of_integer;
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

/// The columns of row numbers, keys of text ids and row ids.
const ROW: &str = "row";
const ROW_KEY: &str = "row_key";
const ROW_ID: &str = "row_id";

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

    /// Nothing else.
    pub(crate) const GROUPS: Projection = Projection { keys: false, ..Projection::KEYS };

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

    /// Whether these are the rows of one shard of a plan.
    pub(crate) fn are_of_shard(&self) -> bool {
        self.stored.is_shard
    }

    /// Whether the rows hold their roles: a column or their hashes split them.
    pub(crate) fn hold_roles(&self) -> bool {
        self.stored.tables.contains_key(ROLE) || self.has_role_column()
    }

    /// Whether the file has a column of roles, which the hash of each row drew.
    fn has_role_column(&self) -> bool {
        self.file.schema().index_of(ROLE).is_ok()
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
        fn asked<T>(all: &[T], are: bool) -> &[T] {
            if are { all } else { &[] }
        }
        let layout = &self.layout;
        let carried = asked(&layout.carried, of.carried);
        let features = asked(&layout.features, of.features);
        let slices = asked(&layout.slices, of.outcomes);
        let single = [
            (layout.person.is_some(), PERSON),
            (of.outcomes && layout.weight.is_some(), WEIGHT),
            (of.outcomes && layout.label.is_some(), LABEL),
            (of.outcomes && layout.n_classes() > 0, CLASS),
            (of.outcomes && layout.strata.is_some(), STRATUM),
        ];
        let mut names = self.key_columns(of.keys);
        names.extend(single.iter().filter(|(asked, _)| *asked).map(|(_, name)| (*name).to_owned()));
        names.extend(carried.iter().map(carried_name));
        names.extend(layout.attributes.iter().map(group_name));
        names.extend(features.iter().map(feature_name));
        names.extend(features.iter().filter(|of| of.source.several).map(source_name));
        names.extend(slices.iter().map(slice_name));
        let mut columns = self.columns(group, names)?;

        let row = if self.stored.rows_follow {
            let first = self.stored.first_row + self.first_row(group) as u64;
            (first..first + self.file.group_rows(group) as u64).collect()
        } else {
            columns.values::<UInt64Type>(ROW, 0)?
        };
        let row_key = match self.layout.row_id {
            RowIdKind::RowNumber if of.keys => row.clone(),
            RowIdKind::Integer => {
                let ids = columns.values::<Int64Type>(ROW_ID, 0)?;
                ids.into_iter().map(key_of_integer).collect()
            }
            RowIdKind::RowNumber | RowIdKind::Text => columns.values::<UInt64Type>(ROW_KEY, 0)?,
        };
        let numbers = |name: &String| columns.values::<Float64Type>(&carried_name(name), f64::NAN);
        let carried = carried.iter().map(numbers).collect::<Result<_>>()?;
        let features_of = features.iter().map(|of| columns.feature(of)).collect::<Result<_>>()?;
        let mut rows = FeatureRows { n: row.len(), columns: features_of, source: Vec::new() };
        for (feature, of) in features.iter().enumerate().filter(|(_, of)| of.source.several) {
            let (was, holds) = (rows.columns[feature].clone(), columns.held(of)?);
            rows.source.push(SourceCells { feature, was, holds });
        }
        let groups = layout.attributes.iter().enumerate().map(|(at, attribute)| {
            let renamed = self.renamed.as_ref().filter(|(renamed, _)| *renamed == at);
            match renamed {
                Some((_, groups)) => Ok(groups[group].clone()),
                None => columns.codes(&group_name(attribute), |code| {
                    u16::try_from(code).unwrap_or(MISSING_GROUP)
                }),
            }
        });
        let slices = slices.iter().map(|of| columns.codes(&slice_name(of), |code| code));
        Ok(PreparedBatch {
            groups: groups.collect::<Result<_>>()?,
            slices: slices.collect::<Result<_>>()?,
            label: columns.codes(LABEL, |code| (code != MISSING).then_some(code == 1))?,
            class: columns.codes(CLASS, |code| u8::try_from(code).unwrap_or(MISSING_CLASS))?,
            strata: columns.codes(STRATUM, |code| code)?,
            person: columns.values::<UInt64Type>(PERSON, 0)?,
            weight: columns.values::<Float64Type>(WEIGHT, f64::NAN)?,
            row,
            row_key,
            rows,
            carried,
        })
    }

    /// What the source holds of the rows of a row group, where their prepared values do not
    /// determine it.
    ///
    /// # Errors
    /// A damaged file.
    pub(crate) fn read_source(&self, group: usize) -> Result<Vec<SourceCells>> {
        let several = self.layout.features.iter().enumerate().filter(|(_, of)| of.source.several);
        let names = several.clone().flat_map(|(_, of)| [feature_name(of), source_name(of)]);
        let mut columns = self.columns(group, names)?;
        let cells = several.map(|(feature, of)| {
            Ok(SourceCells { feature, was: columns.feature(of)?, holds: columns.held(of)? })
        });
        cells.collect()
    }

    /// The columns of row numbers and keys that the file holds; without `keys` of numbers alone.
    fn key_columns(&self, keys: bool) -> Vec<String> {
        let row = (!self.stored.rows_follow).then_some(ROW);
        let key = match self.layout.row_id {
            RowIdKind::RowNumber => None,
            RowIdKind::Integer => Some(ROW_ID),
            RowIdKind::Text => Some(ROW_KEY),
        };
        row.into_iter().chain(key.filter(|_| keys)).map(str::to_owned).collect()
    }

    /// The levels of one attribute in a row group, by its position, declared as groups or not;
    /// [`MISSING`] = no value.
    ///
    /// # Errors
    /// A damaged file.
    pub(crate) fn read_levels(&self, group: usize, attribute: usize) -> Result<Vec<u32>> {
        let name = level_name(&self.layout.attributes[attribute]);
        self.columns(group, [name.clone()])?.codes(&name, |code| code)
    }

    /// The numbers of one carried column in a row group, by its position; NaN = missing.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read_carried(&self, group: usize, column: usize) -> Result<Vec<f64>> {
        let name = carried_name(&self.layout.carried[column]);
        self.columns(group, [name.clone()])?.values::<Float64Type>(&name, f64::NAN)
    }

    /// The row ids of a row group; row numbers without `row_id` in the job.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read_ids(&self, group: usize) -> Result<SourceValues> {
        if self.layout.row_id == RowIdKind::Text {
            let ids = self.columns(group, [ROW_ID.to_owned()])?.columns.remove(ROW_ID);
            let ids = ids.and_then(|ids| SourceValues::new(&ids).ok());
            return ids.ok_or_else(|| self.unexpected(ROW_ID));
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
        let mut columns = self.columns(group, [ROLE.to_owned()])?;
        match self.has_role_column() {
            true => columns.values::<UInt8Type>(ROLE, split::NEITHER),
            false => columns.codes(ROLE, |code| u8::try_from(code).unwrap_or(split::NEITHER)),
        }
    }

    /// Some columns of a row group: those of the file, and of names with codes those that hold
    /// them.
    fn columns(
        &self,
        group: usize,
        asked: impl IntoIterator<Item = String>,
    ) -> Result<BatchColumns<'_>> {
        self.check_here()?;
        let asked: HashSet<String> = asked.into_iter().collect();
        let of_file = asked.iter().map(|name| match self.stored.tables.get(name) {
            Some(table) => table.column.as_str(),
            None => name.as_str(),
        });
        let names: BTreeSet<&str> = of_file.collect();
        let columns = match names.is_empty() {
            true => HashMap::new(),
            false => {
                let names: Vec<&str> = names.into_iter().collect();
                by_name(self.file.read_group(group, Some(&names))?)
            }
        };
        Ok(BatchColumns { rows: self, asked, columns })
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

fn carried_name(column: &String) -> String {
    format!("carry.{column}")
}

/// Columns of a row group, each to be taken once but for codes. What was not asked for is empty.
struct BatchColumns<'a> {
    rows: &'a RowsReader,
    /// The names that were asked for.
    asked: HashSet<String>,
    /// By the names in the file.
    columns: HashMap<String, ArrayRef>,
}

impl BatchColumns<'_> {
    /// What the codes of a column mean under a name.
    fn codes<T: Copy>(&self, name: &str, meaning: impl Fn(u32) -> T) -> Result<Vec<T>> {
        if !self.asked.contains(name) {
            return Ok(Vec::new());
        }
        let unexpected = || self.rows.unexpected(name);
        let table = self.rows.stored.tables.get(name).ok_or_else(unexpected)?;
        let codes = self.columns.get(&table.column);
        let codes = codes.and_then(|codes| codes.as_primitive_opt::<UInt32Type>());
        let codes = codes.ok_or_else(unexpected)?.values();
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

    /// The values of a column of the file.
    fn values<T: ArrowPrimitiveType>(
        &mut self,
        name: &str,
        missing: T::Native,
    ) -> Result<Vec<T::Native>> {
        if !self.asked.contains(name) {
            return Ok(Vec::new());
        }
        let values = self.columns.remove(name).and_then(|of| values_of::<T>(of, missing));
        values.ok_or_else(|| self.rows.unexpected(name))
    }

    /// A feature as prepared.
    fn feature(&mut self, feature: &Feature) -> Result<FeatureColumn> {
        let name = feature_name(feature);
        if feature.kind.is_coded() {
            return self.codes(&name, |code| code).map(FeatureColumn::Code);
        }
        let numbers = self.columns.remove(&name).and_then(|of| numbers_of(of, feature));
        numbers.ok_or_else(|| self.rows.unexpected(&name))
    }

    /// What the source holds of a feature.
    fn held(&mut self, feature: &Feature) -> Result<FeatureColumn> {
        let name = source_name(feature);
        match feature.kind.is_coded() {
            true => self.codes(&name, |word| word).map(FeatureColumn::Code),
            false => self.values::<Float64Type>(&name, f64::NAN).map(FeatureColumn::Number),
        }
    }
}

/// The columns of a batch by their names.
fn by_name(batch: RecordBatch) -> HashMap<String, ArrayRef> {
    let (schema, arrays, _) = batch.into_parts();
    schema.fields().iter().map(|field| field.name().clone()).zip(arrays).collect()
}

/// The values of an array, which are not copied where there is no other reference to it; none if
/// they have another type.
fn values_of<T: ArrowPrimitiveType>(array: ArrayRef, missing: T::Native) -> Option<Vec<T::Native>> {
    let typed = array.as_primitive_opt::<T>()?.clone();
    drop(array);
    let (_, values, nulls) = typed.into_parts();
    let mut values = Vec::from(values);
    if let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) {
        values
            .iter_mut()
            .zip(&nulls)
            .filter(|(_, known)| !known)
            .for_each(|(value, _)| *value = missing);
    }
    Some(values)
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
    let array = |(feature, column): (&Feature, FeatureColumn)| match column {
        FeatureColumn::Number(values) if is_whole(feature) => {
            raw::integers(feature, &values).map(|array| Arc::new(array) as ArrayRef)
        }
        FeatureColumn::Number(values) => Ok(number_array(values)),
        FeatureColumn::Code(codes) => Ok(nullable::<UInt32Type>(codes, |c| c != MISSING)),
    };
    features.iter().zip(rows.columns).map(array).collect()
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
    let mut columns = by_name(batch);
    let mut column = |feature: &Feature| {
        let name = feature_name(feature);
        let found = columns.remove(&name).and_then(|of| match feature.kind.is_coded() {
            true => values_of::<UInt32Type>(of, MISSING).map(FeatureColumn::Code),
            false => numbers_of(of, feature),
        });
        found.ok_or(name)
    };
    let columns = layout.features.iter().map(&mut column).collect::<Result<_, _>>()?;
    Ok(FeatureRows { n, columns, source: Vec::new() })
}

/// The numbers of a feature without levels.
fn numbers_of(array: ArrayRef, feature: &Feature) -> Option<FeatureColumn> {
    let number = |value: i64| value as f64;
    Some(FeatureColumn::Number(match is_whole(feature) {
        false => values_of::<Float64Type>(array, f64::NAN)?,
        true => match array.as_primitive_opt::<Int64Type>()? {
            whole if whole.null_count() == 0 => whole.values().iter().map(|&x| number(x)).collect(),
            whole => whole.iter().map(|value| value.map_or(f64::NAN, number)).collect(),
        },
    }))
}
