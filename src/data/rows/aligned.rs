//! Files aligned with the prepared rows, row group by row group: counterfactuals, and scores.
//!
//! Group g of `counterfactuals.parquet` holds the counterfactuals of the audited rows of group g of
//! `rows.parquet`: `parent`, the position in that group, `to_group`, `cf_index`, the results of
//! filters and checks (`valid`, counters, `plausibility`) where the strategy has any, and the
//! features where a model reads them. Invalid counterfactuals stay in the file, but only readers
//! that ask for all get them: no stage after generation has to handle them. `scores.parquet` holds
//! one `score` per row or per valid counterfactual, null where there is none.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, UInt16Array, UInt32Array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Float64Type, Schema, SchemaRef, UInt16Type, UInt32Type};

use crate::data::rows::{feature_arrays, feature_fields, feature_rows, number_array};
use crate::data::{Feature, FeatureRows, Layout};
use crate::error::{Error, FOLDER_CHANGED_HINT, Result};
use crate::table::file::{
    EncodedGroup, FileOwner, GroupEncoder, GroupWriter, ParquetFile, cached, distinct, packed,
};

const COUNTERFACTUALS: &str = "counterfactuals.parquet";
const SCORES: &str = "scores.parquet";
const KEYS: [&str; 3] = ["parent", "to_group", "cf_index"];
const VALID: &str = "valid";
const COUNTERS: [&str; 5] = ["n_changed", "n_impossible", "n_clamped", "n_fallback", "n_kept"];
const PLAUSIBILITY: &str = "plausibility";

/// The keys of the counterfactuals of one row group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CounterfactualKeys {
    /// Position of the row in its row group.
    pub parent: Vec<u32>,
    /// Position of the target group.
    pub to_group: Vec<u16>,
    /// Its number among the counterfactuals of the row and group.
    pub cf_index: Vec<u16>,
}

/// The results of filters and checks for the counterfactuals of one row group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CounterfactualVerdicts {
    /// Whether each passed all filters and checks.
    pub valid: Vec<bool>,
    /// Numbers of variables of each: changed, impossible, clamped, fallen back, kept.
    pub counters: [Vec<u32>; 5],
    /// The plausibility: the distance to the centroid of the target section; NaN = no verdict.
    pub plausibility: Vec<f64>,
}

fn batch(folder: &Path, schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(|e| {
        Error::operator(
            "write",
            folder,
            e,
            "this is a bug in cfaudit: a column has another length or type than the file",
        )
    })
}

/// Encodes counterfactuals as row groups, on any thread.
pub struct CounterfactualEncoder {
    encoder: GroupEncoder,
    schema: SchemaRef,
    folder: std::path::PathBuf,
    /// The features in the file.
    features: Vec<Feature>,
}

/// Creates the file of counterfactuals in a folder.
///
/// With a layout it holds the features too, and the verdicts if `judged` is set.
///
/// # Errors
/// The file cannot be created.
pub fn create_counterfactuals(
    folder: &Path,
    features_of: Option<&Layout>,
    judged: bool,
) -> Result<(CounterfactualEncoder, GroupWriter)> {
    let mut fields = vec![
        distinct(Field::new(KEYS[0], DataType::UInt32, false)),
        packed(Field::new(KEYS[1], DataType::UInt16, false)),
        packed(Field::new(KEYS[2], DataType::UInt16, false)),
    ];
    if judged {
        fields.push(Field::new(VALID, DataType::Boolean, false));
        fields.extend(COUNTERS.map(|name| packed(Field::new(name, DataType::UInt32, false))));
        fields.push(distinct(Field::new(PLAUSIBILITY, DataType::Float64, true)));
    }
    if let Some(layout) = features_of {
        fields.extend(feature_fields(layout));
    }
    let schema = Arc::new(Schema::new(fields.into_iter().map(cached).collect::<Vec<_>>()));
    let (encoder, writer) = GroupWriter::create(&folder.join(COUNTERFACTUALS), &schema, &[])?;
    let features = features_of.map_or(Vec::new(), |layout| layout.features.clone());
    Ok((CounterfactualEncoder { encoder, schema, folder: folder.to_path_buf(), features }, writer))
}

impl CounterfactualEncoder {
    /// Encodes one row group.
    ///
    /// `rows` are written where the file holds features; `judged` must be given if the file was
    /// created with verdicts.
    ///
    /// # Errors
    /// Never for keys and rows of the same length.
    pub fn encode(
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
        self.encoder.encode(&batch(&self.folder, &self.schema, columns)?)
    }
}

/// Reads the file of counterfactuals.
#[derive(Debug)]
pub struct CounterfactualReader {
    file: ParquetFile,
}

impl CounterfactualReader {
    /// Opens the file in its folder.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn open(folder: &Path) -> Result<Self> {
        ParquetFile::open(&folder.join(COUNTERFACTUALS), FileOwner::Program)
            .map(|file| CounterfactualReader { file })
    }

    /// Whether the file holds verdicts.
    fn is_judged(&self) -> bool {
        self.file.schema().field_with_name(VALID).is_ok()
    }

    /// Number of counterfactuals, valid or not.
    pub fn n_rows(&self) -> u64 {
        self.file.n_rows()
    }

    /// The keys of the valid counterfactuals of one row group.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn keys(&self, group: usize) -> Result<CounterfactualKeys> {
        if self.is_judged() {
            let [parent, to_group, cf_index] = KEYS;
            return Ok(keys_of(&self.valid(
                self.file.read_group(group, Some(&[parent, to_group, cf_index, VALID]))?,
            )?));
        }
        Ok(keys_of(&self.file.read_group(group, Some(&KEYS))?))
    }

    /// Keys and features of the valid counterfactuals of one row group.
    ///
    /// # Errors
    /// The file is damaged or was written without features.
    pub fn rows(&self, group: usize, layout: &Layout) -> Result<(CounterfactualKeys, FeatureRows)> {
        let batch = self.file.read_group(group, None)?;
        let batch = if self.is_judged() { self.valid(batch)? } else { batch };
        Ok((keys_of(&batch), self.features(batch, layout)?))
    }

    /// All counterfactuals of one row group, with their verdicts.
    ///
    /// # Errors
    /// The file is damaged, or was written without features or verdicts.
    pub fn judged(
        &self,
        group: usize,
        layout: &Layout,
    ) -> Result<(CounterfactualKeys, CounterfactualVerdicts, FeatureRows)> {
        let batch = self.file.read_group(group, None)?;
        let column = |name: &str| batch.column_by_name(name).ok_or_else(|| self.unexpected(name));
        let counters = |name: &str| {
            Ok::<_, Error>(column(name)?.as_primitive::<UInt32Type>().values().to_vec())
        };
        let plausibility = column(PLAUSIBILITY)?
            .as_primitive::<Float64Type>()
            .iter()
            .map(|p| p.unwrap_or(f64::NAN))
            .collect();
        let [changed, impossible, clamped, fallback, kept] = COUNTERS;
        let judged = CounterfactualVerdicts {
            valid: column(VALID)?.as_boolean().iter().map(|valid| valid == Some(true)).collect(),
            counters: [
                counters(changed)?,
                counters(impossible)?,
                counters(clamped)?,
                counters(fallback)?,
                counters(kept)?,
            ],
            plausibility,
        };
        Ok((keys_of(&batch), judged, self.features(batch, layout)?))
    }

    fn valid(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let valid = batch
            .column_by_name(VALID)
            .map(|column| column.as_boolean().clone())
            .ok_or_else(|| self.unexpected(VALID))?;
        filter_record_batch(&batch, &valid).map_err(|_| self.unexpected(VALID))
    }

    fn features(&self, batch: RecordBatch, layout: &Layout) -> Result<FeatureRows> {
        feature_rows(batch, layout).map_err(|column| self.unexpected(&column))
    }

    fn unexpected(&self, column: &str) -> Error {
        Error::operator(
            "read",
            self.file.path(),
            format!("column `{column}` is missing or has another type"),
            FOLDER_CHANGED_HINT,
        )
    }
}

fn keys_of(batch: &RecordBatch) -> CounterfactualKeys {
    CounterfactualKeys {
        parent: batch.column(0).as_primitive::<UInt32Type>().values().to_vec(),
        to_group: batch.column(1).as_primitive::<UInt16Type>().values().to_vec(),
        cf_index: batch.column(2).as_primitive::<UInt16Type>().values().to_vec(),
    }
}

/// Encodes scores as row groups, on any thread.
pub struct ScoreEncoder {
    encoder: GroupEncoder,
    schema: SchemaRef,
    folder: std::path::PathBuf,
}

/// Creates the file of scores in a folder.
///
/// # Errors
/// The file cannot be created.
pub fn create_scores(folder: &Path) -> Result<(ScoreEncoder, GroupWriter)> {
    let score = cached(distinct(Field::new("score", DataType::Float64, true)));
    let schema = Arc::new(Schema::new(vec![score]));
    let (encoder, writer) = GroupWriter::create(&folder.join(SCORES), &schema, &[])?;
    Ok((ScoreEncoder { encoder, schema, folder: folder.to_path_buf() }, writer))
}

impl ScoreEncoder {
    /// Encodes one row group; NaN is written as null.
    ///
    /// # Errors
    /// Never in practice.
    pub fn encode(&self, scores: &[f64]) -> Result<EncodedGroup> {
        self.encoder.encode(&batch(
            &self.folder,
            &self.schema,
            vec![number_array(scores.to_vec())],
        )?)
    }
}

/// Reads a file of scores, or several files that each hold the scores of other rows.
#[derive(Debug)]
pub struct ScoreReader {
    files: Vec<ParquetFile>,
}

impl ScoreReader {
    /// Opens the file in its folder.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn open(folder: &Path) -> Result<Self> {
        ScoreReader::pooled(&[folder])
    }

    /// Opens the files of several folders, such as those of folds.
    ///
    /// The score of a row is that of the file that has one.
    ///
    /// # Errors
    /// A file is damaged.
    pub fn pooled(folders: &[&Path]) -> Result<Self> {
        let files = folders
            .iter()
            .map(|folder| ParquetFile::open(&folder.join(SCORES), FileOwner::Program))
            .collect::<Result<_>>()?;
        Ok(ScoreReader { files })
    }

    /// The scores of one row group; NaN where there is none.
    ///
    /// # Errors
    /// A file is damaged.
    pub fn read(&self, group: usize) -> Result<Vec<f64>> {
        let mut scores = Vec::new();
        for file in &self.files {
            let batch = file.read_group(group, None)?;
            let array = batch.column(0).as_primitive::<Float64Type>();
            scores.resize(array.len(), f64::NAN);
            scores
                .iter_mut()
                .enumerate()
                .filter(|(i, _)| !array.is_null(*i))
                .for_each(|(i, score)| *score = array.value(i));
        }
        Ok(scores)
    }
}
