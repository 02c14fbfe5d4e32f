//! Files aligned with the prepared rows, row group by row group: counterfactuals, and scores.
//!
//! Group g of `counterfactuals.parquet` holds the counterfactuals of the audited rows of group g of
//! `rows.parquet`: `parent`, the position in that group, `to_group`, `cf_index`, the results of
//! filters and checks (`valid`, counters, `plausibility`) where the strategy has any, and the
//! features where a model reads them. Invalid counterfactuals stay in the file, but only readers
//! that ask for all get them: no stage after generation has to handle them. `scores.parquet` holds
//! one `score` per row or per valid counterfactual, null where there is none, and
//! `support.parquet` the unsupported values of each valid counterfactual.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, UInt16Array, UInt32Array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Float64Type, UInt16Type, UInt32Type, UInt64Type};

use serde::{Deserialize, Serialize};

use crate::data::rows::number_file::{self, NumberFile, NumberReader, unexpected};
use crate::data::rows::split::{RolesReader, RowRoles};
use crate::data::rows::{
    PreparedBatch, Projection, RowsReader, feature_arrays, feature_fields, feature_rows,
    number_array, read_json,
};
use crate::data::{Feature, FeatureColumn, FeatureRows, Layout};
use crate::error::{Error, Result};
use crate::exec::files;
use crate::num::float_precision::FloatPrecision;
use crate::table::field_marks::direct;
use crate::table::file::{EncodedGroup, FileOwner, GroupEncoder, GroupWriter, ParquetFile};

const COUNTERFACTUALS: &str = "counterfactuals.parquet";
const NAIVE_KEYS: &str = "naive.json";
const CARRIED_SCORES: &str = "carried.json";
const PRECISION: &str = "precision.json";
const KEYS: [&str; 3] = ["parent", "to_group", "cf_index"];
const VALID: &str = "valid";
const COUNTERS: [&str; 5] = ["n_changed", "n_impossible", "n_clamped", "n_fallback", "n_kept"];
const PLAUSIBILITY: &str = "plausibility";

/// The keys of the counterfactuals of one row group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CounterfactualKeys {
    /// Position of the row in its row group.
    pub parent: Vec<u32>,
    /// Position of the target group.
    pub to_group: Vec<u16>,
    /// Its number among the counterfactuals of the row and group.
    pub cf_index: Vec<u16>,
}

impl CounterfactualKeys {
    /// The positions of their rows.
    fn parents(&self) -> Vec<usize> {
        self.parent.iter().map(|&row| row as usize).collect()
    }
}

/// The results of filters and checks for the counterfactuals of one row group.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CounterfactualVerdicts {
    /// Whether each passed all filters and checks.
    pub valid: Vec<bool>,
    /// Numbers of variables of each: changed, impossible, clamped, fallen back, kept.
    pub counters: [Vec<u32>; 5],
    /// The plausibility: the distance to the centroid of the target section; NaN = no verdict.
    pub plausibility: Vec<f64>,
}

/// One score per row or per valid counterfactual, null where there is none.
pub(crate) const SCORES: NumberFile<Float64Type> =
    NumberFile { file: "scores.parquet", column: "score", missing: f64::NAN };

/// Which of the counterfactuals of a key each world of a set has: of each row group key by key,
/// then world by world, the `cf_index` of the row, or [`NO_ROW`].
pub(crate) const WORLD_ROWS: NumberFile<UInt16Type> =
    NumberFile { file: "world-rows.parquet", column: KEYS[2], missing: NO_ROW };

/// In [`WORLD_ROWS`]: a world in which a key has no row.
pub(crate) const NO_ROW: u16 = u16::MAX;

/// Which values of the counterfactuals are unsupported: of each row group, for each valid
/// counterfactual, of a set with causal graphs for each person and target group, a bit for each
/// unsupported value; 0 = all are supported.
pub(crate) const SUPPORT: NumberFile<UInt64Type> =
    NumberFile { file: "support.parquet", column: "unsupported", missing: 0 };

/// Reads [`WORLD_ROWS`].
pub(crate) type WorldRowReader = NumberReader<UInt16Type>;

/// Reads [`SUPPORT`].
pub(crate) type SupportReader = NumberReader<UInt64Type>;

/// Encodes counterfactuals as row groups, on any thread.
pub(crate) struct CounterfactualEncoder {
    encoder: GroupEncoder,
    /// The features in the file.
    features: Vec<Feature>,
}

/// Creates the file of counterfactuals in a folder.
///
/// With a layout it holds the features too, and the verdicts if `judged` is set.
///
/// # Errors
/// The file cannot be created.
pub(crate) fn create_counterfactuals(
    folder: &Path,
    features_of: Option<&Layout>,
    judged: bool,
) -> Result<(CounterfactualEncoder, GroupWriter)> {
    let mut fields = vec![
        direct(Field::new(KEYS[0], DataType::UInt32, false)),
        direct(Field::new(KEYS[1], DataType::UInt16, false)),
        direct(Field::new(KEYS[2], DataType::UInt16, false)),
    ];
    if judged {
        fields.push(Field::new(VALID, DataType::Boolean, false));
        fields.extend(COUNTERS.map(|name| direct(Field::new(name, DataType::UInt32, false))));
        fields.push(direct(Field::new(PLAUSIBILITY, DataType::Float64, true)));
    }
    if let Some(layout) = features_of {
        fields.extend(feature_fields(layout));
    }
    let (encoder, writer) = number_file::create(&folder.join(COUNTERFACTUALS), fields)?;
    let features = features_of.map_or(Vec::new(), |layout| layout.features.clone());
    Ok((CounterfactualEncoder { encoder, features }, writer))
}

impl CounterfactualEncoder {
    /// Encodes one row group.
    ///
    /// `rows` are written where the file holds features; `judged` must be given if the file was
    /// created with verdicts.
    ///
    /// # Errors
    /// Never for keys and rows of the same length.
    pub(crate) fn encode(
        &self,
        keys: CounterfactualKeys,
        judged: Option<CounterfactualVerdicts>,
        rows: FeatureRows,
    ) -> Result<EncodedGroup> {
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from(keys.parent)),
            Arc::new(UInt16Array::from(keys.to_group)),
            Arc::new(UInt16Array::from(keys.cf_index)),
        ];
        if let Some(CounterfactualVerdicts { valid, counters, plausibility }) = judged {
            columns.push(Arc::new(BooleanArray::from(valid)));
            columns.extend(counters.map(|counts| Arc::new(UInt32Array::from(counts)) as ArrayRef));
            columns.push(number_array(plausibility));
        }
        columns.extend(feature_arrays(&self.features, rows)?);
        self.encoder.encode_columns(columns)
    }
}

/// Counterfactuals that need no file: every audited row of a declared group in every other group,
/// once, the attribute set and nothing else changed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct NaiveKeys {
    /// Position of the attribute.
    pub attribute: usize,
    /// Number of counterfactuals.
    pub n_rows: u64,
    /// Whether they follow from the rows; else shards have made them, and there are none here.
    pub follows: bool,
}

impl NaiveKeys {
    /// The counterfactuals of an attribute.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(crate) fn count(rows: &RowsReader, roles: &RolesReader, attribute: usize) -> Result<Self> {
        let mut all = NaiveKeys { attribute, n_rows: 0, follows: true };
        let others = rows.layout().attributes[attribute].groups.len().saturating_sub(1);
        for group in 0..rows.n_groups() {
            let batch = rows.read(group, Projection::GROUPS)?;
            let people = roles.read(group)?.people(&batch.groups[attribute]).count();
            all.n_rows += (people * others) as u64;
        }
        Ok(all)
    }

    /// Writes in a folder that its counterfactuals are these.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn write(self, folder: &Path) -> Result<()> {
        files::write_json(&folder.join(NAIVE_KEYS), &self)
    }
}

/// The keys of the audited rows with a group in every other group, once each; `own` are the groups
/// of the rows.
pub(crate) fn keys_in_other_groups(
    n_groups: usize,
    roles: &RowRoles,
    own: &[u16],
) -> CounterfactualKeys {
    let n = own.len() * n_groups.saturating_sub(1);
    let mut keys = CounterfactualKeys {
        parent: Vec::with_capacity(n),
        to_group: Vec::with_capacity(n),
        cf_index: Vec::new(),
    };
    for (i, from, _) in roles.people(own) {
        for to in (0..n_groups as u16).filter(|&to| to != from) {
            keys.parent.push(i as u32);
            keys.to_group.push(to);
        }
    }
    keys.cf_index = vec![0; keys.parent.len()];
    keys
}

/// Reads counterfactuals: from their file, or, where they follow only from the rows, from these.
#[derive(Debug)]
pub(crate) struct CounterfactualReader {
    /// The rows that they were made of, and the roles of these.
    rows: Box<RowsReader>,
    roles: RolesReader,
    made: MadeCounterfactuals,
}

#[derive(Debug)]
enum MadeCounterfactuals {
    File(ParquetFile),
    Naive(NaiveKeys),
}

impl CounterfactualReader {
    /// Opens the counterfactuals of a folder; `rows` are those that they were made of.
    ///
    /// # Errors
    /// The file is damaged.
    pub(crate) fn open(folder: &Path, rows: &RowsReader, roles: &RolesReader) -> Result<Self> {
        let naive = folder.join(NAIVE_KEYS);
        let made = if naive.exists() {
            MadeCounterfactuals::Naive(read_json(&naive)?)
        } else if rows.stored.elsewhere {
            // Their number is not known yet either.
            MadeCounterfactuals::Naive(NaiveKeys { attribute: 0, n_rows: 0, follows: false })
        } else {
            let file = folder.join(COUNTERFACTUALS);
            MadeCounterfactuals::File(ParquetFile::open(&file, FileOwner::Program)?)
        };
        Ok(CounterfactualReader { rows: Box::new(rows.clone()), roles: roles.clone(), made })
    }

    /// Every audited row of a declared group in every other group: keys of these rows.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(crate) fn of_keys(
        rows: &RowsReader,
        roles: &RolesReader,
        attribute: usize,
    ) -> Result<Self> {
        let made = MadeCounterfactuals::Naive(NaiveKeys::count(rows, roles, attribute)?);
        Ok(CounterfactualReader { rows: Box::new(rows.clone()), roles: roles.clone(), made })
    }

    /// Number of counterfactuals, valid or not.
    pub(crate) fn n_rows(&self) -> u64 {
        match &self.made {
            MadeCounterfactuals::File(file) => file.n_rows(),
            MadeCounterfactuals::Naive(keys) => keys.n_rows,
        }
    }

    /// Whether each row is in every other group, with the attribute set and nothing else changed.
    pub(crate) fn is_naive_view(&self) -> bool {
        matches!(&self.made, MadeCounterfactuals::Naive(keys) if keys.follows)
    }

    /// The keys of the valid counterfactuals of one row group.
    ///
    /// # Errors
    /// The file is damaged.
    pub(crate) fn keys(&self, group: usize) -> Result<CounterfactualKeys> {
        match &self.made {
            MadeCounterfactuals::File(file) => {
                let verdict = is_judged(file).then_some(VALID);
                let columns: Vec<&str> = KEYS.into_iter().chain(verdict).collect();
                Ok(keys_of(&valid(file, file.read_group(group, Some(&columns))?)?))
            }
            MadeCounterfactuals::Naive(_) => {
                let batch = self.rows.read(group, Projection::GROUPS)?;
                self.keys_beside(group, (&batch, &self.roles.read(group)?))
            }
        }
    }

    /// The same of a row group of the rows that they were made of, which is read already.
    ///
    /// # Errors
    /// The file is damaged.
    pub(crate) fn keys_beside(
        &self,
        group: usize,
        (batch, roles): (&PreparedBatch, &RowRoles),
    ) -> Result<CounterfactualKeys> {
        match &self.made {
            MadeCounterfactuals::File(_) => self.keys(group),
            MadeCounterfactuals::Naive(NaiveKeys { attribute, .. }) => {
                let n_groups = self.rows.layout().attributes[*attribute].groups.len();
                Ok(keys_in_other_groups(n_groups, roles, &batch.groups[*attribute]))
            }
        }
    }

    /// Keys and features of the valid counterfactuals of one row group.
    ///
    /// # Errors
    /// The file is damaged or was written without features.
    pub(crate) fn rows(
        &self,
        group: usize,
        layout: &Layout,
    ) -> Result<(CounterfactualKeys, FeatureRows)> {
        let naive = match &self.made {
            MadeCounterfactuals::Naive(naive) => naive,
            MadeCounterfactuals::File(file) => {
                let batch = valid(file, file.read_group(group, None)?)?;
                let keys = keys_of(&batch);
                let rows = self.with_source(group, &keys, features(file, batch, layout)?)?;
                return Ok((keys, rows));
            }
        };
        let people = self.rows.read(group, Projection::PEOPLE)?;
        let keys = self.keys_beside(group, (&people, &self.roles.read(group)?))?;
        let mut made = people.rows.take(&keys.parents());
        let attribute = &self.rows.layout().attributes[naive.attribute];
        if let Some(column) = made.columns.get_mut(attribute.feature) {
            let level = |&to: &u16| attribute.level_of_group[usize::from(to)];
            *column = FeatureColumn::Code(keys.to_group.iter().map(level).collect());
        }
        Ok((keys, made))
    }

    /// The rows with what the source holds of those that they were made of.
    fn with_source(
        &self,
        group: usize,
        keys: &CounterfactualKeys,
        rows: FeatureRows,
    ) -> Result<FeatureRows> {
        let (cells, parents) = (self.rows.read_source(group)?, keys.parents());
        let source = cells.iter().map(|cells| cells.take(&parents)).collect();
        Ok(FeatureRows { source, ..rows })
    }

    /// All counterfactuals of one row group, and which of them are valid.
    ///
    /// # Errors
    /// The file is damaged or was written without features.
    pub(crate) fn all(
        &self,
        group: usize,
        layout: &Layout,
    ) -> Result<(CounterfactualKeys, Vec<bool>, FeatureRows)> {
        match &self.made {
            MadeCounterfactuals::File(file) if is_judged(file) => {
                let (keys, judged, rows) = self.judged(group, layout)?;
                let rows = self.with_source(group, &keys, rows)?;
                Ok((keys, judged.valid, rows))
            }
            _ => {
                let (keys, rows) = self.rows(group, layout)?;
                Ok((keys, vec![true; rows.n], rows))
            }
        }
    }

    /// All counterfactuals of one row group, with their verdicts.
    ///
    /// # Errors
    /// The file is damaged, or was written without features or verdicts.
    pub(crate) fn judged(
        &self,
        group: usize,
        layout: &Layout,
    ) -> Result<(CounterfactualKeys, CounterfactualVerdicts, FeatureRows)> {
        let MadeCounterfactuals::File(file) = &self.made else {
            return Err(Error::operator(
                "read",
                Path::new(NAIVE_KEYS),
                "these counterfactuals follow from the rows, without verdicts",
                "this is a bug in cfaudit: a stage asks for verdicts that it did not plan for",
            ));
        };
        let batch = file.read_group(group, None)?;
        let column = |name: &str| batch.column_by_name(name).ok_or_else(|| unexpected(file, name));
        let mut counters: [Vec<u32>; 5] = Default::default();
        for (counts, name) in counters.iter_mut().zip(COUNTERS) {
            *counts = column(name)?.as_primitive::<UInt32Type>().values().to_vec();
        }
        let plausibility = column(PLAUSIBILITY)?.as_primitive::<Float64Type>().iter();
        let judged = CounterfactualVerdicts {
            plausibility: plausibility.map(|p| p.unwrap_or(f64::NAN)).collect(),
            valid: column(VALID)?.as_boolean().iter().map(|valid| valid == Some(true)).collect(),
            counters,
        };
        Ok((keys_of(&batch), judged, features(file, batch, layout)?))
    }
}

/// Whether a file holds verdicts.
fn is_judged(file: &ParquetFile) -> bool {
    file.schema().field_with_name(VALID).is_ok()
}

/// The valid counterfactuals of a batch; all where it has no verdicts.
fn valid(file: &ParquetFile, batch: RecordBatch) -> Result<RecordBatch> {
    let Some(valid) = batch.column_by_name(VALID) else { return Ok(batch) };
    filter_record_batch(&batch, valid.as_boolean()).map_err(|_| unexpected(file, VALID))
}

fn features(file: &ParquetFile, batch: RecordBatch, layout: &Layout) -> Result<FeatureRows> {
    feature_rows(batch, layout).map_err(|column| unexpected(file, &column))
}

fn keys_of(batch: &RecordBatch) -> CounterfactualKeys {
    CounterfactualKeys {
        parent: batch.column(0).as_primitive::<UInt32Type>().values().to_vec(),
        to_group: batch.column(1).as_primitive::<UInt16Type>().values().to_vec(),
        cf_index: batch.column(2).as_primitive::<UInt16Type>().values().to_vec(),
    }
}

/// Writes next to the scores of a folder in how many bits the model gave them; 64 without.
///
/// # Errors
/// The disk refuses.
pub(crate) fn write_precision(folder: &Path, precision: FloatPrecision) -> Result<()> {
    match precision {
        FloatPrecision::Single => files::write_json(&folder.join(PRECISION), &precision),
        FloatPrecision::Double => Ok(()),
    }
}

fn read_precision(folder: &Path) -> Result<FloatPrecision> {
    let path = folder.join(PRECISION);
    if !path.exists() {
        return Ok(FloatPrecision::Double);
    }
    read_json(&path)
}

/// Scores that need no file: a carried column of the rows, for those that are audited.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct CarriedScores {
    /// Position of the column.
    pub carried: usize,
}

impl CarriedScores {
    /// Writes in a folder that its scores are these.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn write(self, folder: &Path) -> Result<()> {
        files::write_json(&folder.join(CARRIED_SCORES), &self)
    }

    /// The scores of one row group; NaN where there is none, and of rows that are not audited.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(crate) fn read(
        self,
        rows: &RowsReader,
        roles: &RolesReader,
        group: usize,
    ) -> Result<Vec<f64>> {
        let mut scores = rows.read_carried(group, self.carried)?;
        let roles = roles.read(group)?;
        for (i, score) in scores.iter_mut().enumerate() {
            if roles.audited(i).is_none() {
                *score = f64::NAN;
            }
        }
        Ok(scores)
    }
}

/// Reads scores: from a file, from several files that each hold the scores of other rows, or from a
/// column of the rows.
#[derive(Debug)]
pub(crate) struct ScoreReader {
    source: ScoreSource,
    precision: FloatPrecision,
}

#[derive(Debug)]
enum ScoreSource {
    Files(Vec<NumberReader<Float64Type>>),
    Carried(CarriedScores, Box<(RowsReader, RolesReader)>),
}

impl ScoreReader {
    /// Opens the scores of a folder; `rows` are those that they belong to.
    ///
    /// # Errors
    /// The file is damaged.
    pub(crate) fn open(folder: &Path, rows: &RowsReader, roles: &RolesReader) -> Result<Self> {
        if rows.stored.elsewhere {
            return ScoreReader::pooled(&[]);
        }
        let carried = folder.join(CARRIED_SCORES);
        if carried.exists() {
            let column: CarriedScores = read_json(&carried)?;
            let precision =
                rows.layout().precision_of_carried(&rows.layout().carried[column.carried]);
            let source = ScoreSource::Carried(column, Box::new((rows.clone(), roles.clone())));
            return Ok(ScoreReader { source, precision });
        }
        ScoreReader::pooled(&[folder])
    }

    /// Opens the files of several folders, such as those of folds.
    ///
    /// The score of a row is that of the file that has one.
    ///
    /// # Errors
    /// A file is damaged.
    pub(crate) fn pooled(folders: &[&Path]) -> Result<Self> {
        let files = folders.iter().map(|folder| SCORES.open(folder)).collect::<Result<_>>()?;
        let precisions: Vec<FloatPrecision> =
            folders.iter().map(|folder| read_precision(folder)).collect::<Result<_>>()?;
        let precision = FloatPrecision::finest(precisions);
        Ok(ScoreReader { source: ScoreSource::Files(files), precision })
    }

    /// In how many bits the model gave them.
    pub(crate) fn precision(&self) -> FloatPrecision {
        self.precision
    }

    /// The scores of one row group; NaN where there is none.
    ///
    /// # Errors
    /// A file is damaged.
    pub(crate) fn read(&self, group: usize) -> Result<Vec<f64>> {
        let files = match &self.source {
            ScoreSource::Files(files) => files,
            ScoreSource::Carried(column, of) => return column.read(&of.0, &of.1, group),
        };
        let mut all: Vec<f64> = Vec::new();
        for file in files {
            let scores = file.read(group)?;
            if all.is_empty() {
                all = scores;
                continue;
            }
            all.iter_mut().zip(scores).filter(|(_, x)| !x.is_nan()).for_each(|(all, x)| *all = x);
        }
        Ok(all)
    }
}
