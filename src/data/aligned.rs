//! Files that line up with the prepared rows, row group by row group: the counterfactuals of the rows, and scores of either.
//!
//! Group g of `counterfactuals.parquet` holds the counterfactuals of the audited rows of group g of `rows.parquet`: `parent`, the
//! position in that group, `to_group`, `cf_index`, and the features where a model reads them. `scores.parquet` holds one `score` per
//! row or per counterfactual, null where there is none.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch, UInt16Array, UInt32Array};
use arrow::datatypes::{DataType, Field, Float64Type, Schema, SchemaRef, UInt16Type, UInt32Type};

use crate::data::rows::{feature_arrays, feature_fields, feature_rows};
use crate::data::{Layout, Rows};
use crate::error::{Error, Result};
use crate::table::io::{EncodedGroup, GroupEncoder, GroupWriter, Owner, ParquetFile, distinct};

const COUNTERFACTUALS: &str = "counterfactuals.parquet";
const SCORES: &str = "scores.parquet";
const KEYS: [&str; 3] = ["parent", "to_group", "cf_index"];

/// The keys of the counterfactuals of one row group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CounterfactualKeys {
    /// Position of the row in its row group.
    pub parent: Vec<u32>,
    /// Position of the target group.
    pub to_group: Vec<u16>,
    /// Number among those of the row and group.
    pub cf_index: Vec<u16>,
}

fn batch(folder: &Path, schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(|e| Error::Operator {
        path: folder.to_path_buf(),
        doing: "write".to_owned(),
        cause: e.to_string(),
        hint: Some("this is a bug in cfaudit: a column has another length or type than the file".to_owned()),
    })
}

/// Turns counterfactuals into row groups, on any thread.
pub struct CounterfactualEncoder {
    encoder: GroupEncoder,
    schema: SchemaRef,
    folder: std::path::PathBuf,
}

/// Creates the file of counterfactuals in a folder; with a layout it holds the features too.
///
/// # Errors
/// The disk refuses.
pub fn create_counterfactuals(folder: &Path, features_of: Option<&Layout>) -> Result<(CounterfactualEncoder, GroupWriter)> {
    let mut fields = vec![
        distinct(Field::new(KEYS[0], DataType::UInt32, false)),
        Field::new(KEYS[1], DataType::UInt16, false),
        Field::new(KEYS[2], DataType::UInt16, false),
    ];
    if let Some(layout) = features_of {
        fields.extend(feature_fields(layout));
    }
    let schema = Arc::new(Schema::new(fields));
    let (encoder, writer) = GroupWriter::create(&folder.join(COUNTERFACTUALS), &schema, &[])?;
    Ok((CounterfactualEncoder { encoder, schema, folder: folder.to_path_buf() }, writer))
}

impl CounterfactualEncoder {
    /// One row group. `rows` are written where the file holds features.
    ///
    /// # Errors
    /// Never for keys and rows of the same length.
    pub fn encode(&self, keys: CounterfactualKeys, rows: &Rows) -> Result<EncodedGroup> {
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from(keys.parent)),
            Arc::new(UInt16Array::from(keys.to_group)),
            Arc::new(UInt16Array::from(keys.cf_index)),
        ];
        if self.schema.fields().len() > KEYS.len() {
            columns.extend(feature_arrays(rows));
        }
        self.encoder.encode(&batch(&self.folder, &self.schema, columns)?)
    }
}

/// Reads the file of counterfactuals.
#[derive(Debug)]
pub struct CounterfactualReader {
    file: ParquetFile,
}

impl CounterfactualReader {
    /// Opens it in its folder.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn open(folder: &Path) -> Result<Self> {
        ParquetFile::open(&folder.join(COUNTERFACTUALS), Owner::Ours).map(|file| CounterfactualReader { file })
    }

    /// Number of counterfactuals.
    pub fn n_rows(&self) -> u64 {
        self.file.n_rows()
    }

    /// The keys of one row group.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn keys(&self, group: usize) -> Result<CounterfactualKeys> {
        Ok(keys_of(&self.file.read_group(group, Some(&KEYS))?))
    }

    /// Keys and features of one row group.
    ///
    /// # Errors
    /// The file is damaged or was written without features.
    pub fn rows(&self, group: usize, layout: &Layout) -> Result<(CounterfactualKeys, Rows)> {
        let batch = self.file.read_group(group, None)?;
        let rows = feature_rows(&batch, layout).map_err(|column| Error::Operator {
            path: self.file.path().to_path_buf(),
            doing: "read".to_owned(),
            cause: format!("column `{column}` is missing or has another type"),
            hint: Some("the folder was changed after it was written; delete it and run again".to_owned()),
        })?;
        Ok((keys_of(&batch), rows))
    }
}

fn keys_of(batch: &RecordBatch) -> CounterfactualKeys {
    CounterfactualKeys {
        parent: batch.column(0).as_primitive::<UInt32Type>().values().to_vec(),
        to_group: batch.column(1).as_primitive::<UInt16Type>().values().to_vec(),
        cf_index: batch.column(2).as_primitive::<UInt16Type>().values().to_vec(),
    }
}

/// Turns scores into row groups, on any thread.
pub struct ScoreEncoder {
    encoder: GroupEncoder,
    schema: SchemaRef,
    folder: std::path::PathBuf,
}

/// Creates the file of scores in a folder.
///
/// # Errors
/// The disk refuses.
pub fn create_scores(folder: &Path) -> Result<(ScoreEncoder, GroupWriter)> {
    let schema = Arc::new(Schema::new(vec![distinct(Field::new("score", DataType::Float64, true))]));
    let (encoder, writer) = GroupWriter::create(&folder.join(SCORES), &schema, &[])?;
    Ok((ScoreEncoder { encoder, schema, folder: folder.to_path_buf() }, writer))
}

impl ScoreEncoder {
    /// One row group; NaN is written as null.
    ///
    /// # Errors
    /// Never for a disk that is there.
    pub fn encode(&self, scores: &[f64]) -> Result<EncodedGroup> {
        let array: Float64Array = scores.iter().map(|s| if s.is_nan() { None } else { Some(*s) }).collect();
        self.encoder.encode(&batch(&self.folder, &self.schema, vec![Arc::new(array)])?)
    }
}

/// Reads a file of scores.
#[derive(Debug)]
pub struct ScoreReader {
    file: ParquetFile,
}

impl ScoreReader {
    /// Opens it in its folder.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn open(folder: &Path) -> Result<Self> {
        ParquetFile::open(&folder.join(SCORES), Owner::Ours).map(|file| ScoreReader { file })
    }

    /// The scores of one row group; NaN where there is none.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn read(&self, group: usize) -> Result<Vec<f64>> {
        let batch = self.file.read_group(group, None)?;
        let array = batch.column(0).as_primitive::<Float64Type>();
        Ok((0..array.len()).map(|i| if array.is_null(i) { f64::NAN } else { array.value(i) }).collect())
    }
}
