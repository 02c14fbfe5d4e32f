//! Rows in the source view: one column per feature, with the words and types of the source.
//!
//! Programs and platforms of the user's score these rows, so they look like the rows that their
//! model was trained on ([`crate::data::source_view`]):
//!
//! | the source holds | the column is |
//! | --- | --- |
//! | integers, decimals without places | Int64; Float64 where any is missing |
//! | floats, other decimals | Float64; floats of 32 bits Float32 |
//! | booleans | Boolean |
//! | text, dates, times | Utf8: the text, dates and times in ISO form (times with a zone in UTC) |
//! | nothing but nulls | Float64 for a feature that is a number, else Utf8 |
//!
//! A missing value is null, never a level that the job makes of missing values. Neither the label
//! nor any other column that is not a feature is ever included. Where the rows are a text file, the
//! metadata `cfaudit.source` of the schema is `csv`: pandas has NaN for its missing texts. Where
//! Parquet files hold integers of another width, or categories, `cfaudit.types` says so in JSON:
//! `{"age": {"integer": "int32"}, "town": {"category": {"categories": [..], "ordered": false}}}`.
//! Python models and functions get these types.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, NullArray, StringArray,
    UInt32Array, make_array,
};
use arrow::datatypes::{DataType, Field, Schema};

use crate::data::source_form::{SourceKind, SourceValue, StoredType};
use crate::data::source_view::ViewedColumn;
use crate::data::values::SourceValues;
use crate::data::{Feature, FeatureRows, Layout, RowIdKind};
use crate::error::{Error, Fault, Result};

/// The metadata of a schema that says where its rows come from.
const SOURCE_NOTE: &str = "cfaudit.source";

/// The columns of the features that models read, in the order of the layout.
pub(crate) fn raw_schema(layout: &Layout) -> Schema {
    let features = layout.inputs().map(|f| &layout.features[f]);
    Schema::new(features.map(raw_field).collect::<Vec<_>>())
}

/// The column of a feature.
pub(crate) fn raw_field(feature: &Feature) -> Field {
    let data_type = match feature.source_kind() {
        SourceKind::Integer => DataType::Int64,
        SourceKind::Float => DataType::Float64,
        SourceKind::Single => DataType::Float32,
        SourceKind::Boolean => DataType::Boolean,
        SourceKind::Text => DataType::Utf8,
    };
    Field::new(&feature.name, data_type, true)
}

/// The metadata of a schema that holds the types of Parquet columns.
const TYPES_NOTE: &str = "cfaudit.types";

/// The metadata of rows with these features.
pub(crate) fn source_note(features: &[Feature]) -> HashMap<String, String> {
    let mut notes = HashMap::new();
    if features.iter().any(|feature| feature.source.read_csv) {
        notes.insert(SOURCE_NOTE.to_owned(), "csv".to_owned());
    }
    let stored = |feature: &Feature| Some((feature.name.clone(), feature.source.stored.clone()?));
    let types: BTreeMap<String, StoredType> = features.iter().filter_map(stored).collect();
    if !types.is_empty() {
        notes.insert(TYPES_NOTE.to_owned(), serde_json::to_string(&types).unwrap_or_default());
    }
    notes
}

/// The arrays for [`raw_schema`].
///
/// # Errors
/// A number of an integer column is not whole: a counterfactual that no source row could equal.
/// More than 2 GiB of text.
pub(crate) fn raw_arrays(layout: &Layout, rows: &FeatureRows) -> Result<Vec<ArrayRef>> {
    layout.inputs().map(|f| raw_array(&layout.features[f], f, rows)).collect()
}

/// The array for [`raw_field`] of a feature at a position.
///
/// # Errors
/// As [`raw_arrays`].
pub(crate) fn raw_array(
    feature: &Feature,
    position: usize,
    rows: &FeatureRows,
) -> Result<ArrayRef> {
    let (kind, viewed) = (feature.source_kind(), ViewedColumn::new(feature, position, rows, None));
    if let (SourceKind::Integer, ViewedColumn::Numbers(values)) = (kind, &viewed) {
        return Ok(Arc::new(integers(feature, values)?));
    }
    let float = |value: &SourceValue<'_>| match value {
        SourceValue::Float(value) => Some(*value),
        _ => None,
    };
    Ok(match kind {
        SourceKind::Integer => Arc::new(Int64Array::from(viewed.map(|value| match value {
            SourceValue::Integer(value) => Some(*value),
            _ => None,
        }))),
        SourceKind::Float => Arc::new(Float64Array::from(viewed.map(float))),
        SourceKind::Single => {
            let single = |value: &SourceValue<'_>| float(value).map(|value| value as f32);
            Arc::new(Float32Array::from(viewed.map(single)))
        }
        SourceKind::Boolean => Arc::new(BooleanArray::from(viewed.map(|value| match value {
            SourceValue::Boolean(flag) => Some(*flag),
            _ => None,
        }))),
        SourceKind::Text => {
            let words = viewed.map(|value| match value {
                SourceValue::Text(word) => Some(*word),
                _ => None,
            });
            if words.iter().flatten().map(|word| word.len()).sum::<usize>() > i32::MAX as usize {
                let what = format!(
                    "{} rows of column `{}` hold more than 2 GiB of text",
                    words.len(),
                    feature.name
                );
                return Fault::new("too-much-text", what)
                    .in_column(&feature.name)
                    .fail("run with `--batch-rows 1024`");
            }
            Arc::new(StringArray::from(words))
        }
    })
}

/// The whole numbers of a feature; NaN is null.
///
/// # Errors
/// A number is not whole: a bug.
#[expect(
    clippy::cast_possible_truncation,
    reason = "whole; beyond 64 bits the nearest integer is taken, as reading it took the nearest \
              float"
)]
pub(crate) fn integers(feature: &Feature, values: &[f64]) -> Result<Int64Array> {
    let is_whole = |&value: &f64| value as i64 as f64 == value || value.fract() == 0.0;
    if values.iter().all(is_whole) {
        return Ok(values.iter().map(|&value| value as i64).collect::<Vec<_>>().into());
    }
    match values.iter().find(|value| !is_whole(value) && !value.is_nan()) {
        None => Ok(values.iter().map(|&value| (!value.is_nan()).then_some(value as i64)).collect()),
        Some(v) => Err(Error::operator(
            "pass on the column",
            &feature.name,
            format!("the source holds whole numbers, and a row has `{v}`"),
            "this is a bug in cfaudit: counterfactuals of such a column are whole numbers too",
        )),
    }
}

/// The key column `row_id`: integers (row numbers without `data.row_id`) or text.
pub(crate) fn row_id_field(layout: &Layout) -> Field {
    let data_type = if layout.row_id == RowIdKind::Text { DataType::Utf8 } else { DataType::Int64 };
    Field::new("row_id", data_type, false)
}

/// The array of [`row_id_field`] for the rows at these positions of a row group.
pub(crate) fn row_id_array(ids: &SourceValues, positions: impl Iterator<Item = usize>) -> ArrayRef {
    let ids = ids.at(&UInt32Array::from_iter_values(positions.map(|i| i as u32)));
    match ids.array() {
        Some(ids) => make_array(ids.to_data()),
        None => Arc::new(NullArray::new(ids.n_rows())),
    }
}

/// The key columns of a counterfactual after `row_id`.
///
/// They are `sensitive`, `from_group`, `to_group` (text) and `cf_index` (Int64).
pub(crate) fn counterfactual_key_fields() -> Vec<Field> {
    let text = |name| Field::new(name, DataType::Utf8, false);
    vec![
        text("sensitive"),
        text("from_group"),
        text("to_group"),
        Field::new("cf_index", DataType::Int64, false),
    ]
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::{DataType, Float64Type, Int64Type};

    use super::{raw_arrays, raw_schema, row_id_array, row_id_field};
    use crate::data::source_form::{SourceForm, SourceWord};
    use crate::data::values::{SourceValues, ValueClass};
    use crate::data::{
        Attribute, Feature, FeatureColumn, FeatureKind, FeatureRows, Layout, MISSING,
    };
    use crate::tests::Says;

    fn layout() -> Layout {
        Layout::of(
            vec![Attribute::of("sex", &["Male", "Female"], 0)],
            vec![
                Feature::typed("sex", FeatureKind::Sensitive, &["1", "2"], ValueClass::Int),
                Feature::typed("age", FeatureKind::WHOLE, &[], ValueClass::Int),
                Feature::of("income", FeatureKind::REAL, &[]),
                Feature {
                    source: SourceForm {
                        words: vec![SourceWord { text: "low".to_owned(), level: 0 }],
                        spelling: vec![0, MISSING],
                        ..SourceForm::default()
                    },
                    ..Feature::of("grade", FeatureKind::OrdinalLevel, &["low", "missing"])
                },
                Feature::typed(
                    "rate",
                    FeatureKind::Nominal,
                    &["0.5", "2", "missing"],
                    ValueClass::Float,
                ),
                Feature::typed(
                    "member",
                    FeatureKind::Nominal,
                    &["false", "true"],
                    ValueClass::Bool,
                ),
                Feature::typed("notes", FeatureKind::Nominal, &[], ValueClass::Empty),
            ],
        )
    }

    fn rows() -> FeatureRows {
        FeatureRows::of(vec![
            FeatureColumn::Code(vec![1, 0, MISSING]),
            FeatureColumn::Number(vec![40.0, -0.0, f64::NAN]),
            FeatureColumn::Number(vec![0.25, f64::NAN, 3.0]),
            FeatureColumn::Code(vec![0, 1, MISSING]),
            FeatureColumn::Code(vec![0, 1, 2]),
            FeatureColumn::Code(vec![1, 0, MISSING]),
            FeatureColumn::Code(vec![MISSING; 3]),
        ])
    }

    #[test]
    fn columns_have_the_types_and_words_of_the_source() {
        let schema = raw_schema(&layout());
        let types: Vec<_> = schema.fields().iter().map(|f| f.data_type().clone()).collect();
        let (int, real, text) = (DataType::Int64, DataType::Float64, DataType::Utf8);
        assert_eq!(
            types,
            [int.clone(), int, real.clone(), text.clone(), real, DataType::Boolean, text]
        );
        assert_eq!(schema.field(2).name(), "income");
        let arrays = raw_arrays(&layout(), &rows()).expect("whole numbers");
        assert!(
            arrays
                .iter()
                .zip(schema.fields())
                .all(|(a, f)| a.data_type() == f.data_type() && a.len() == 3)
        );
        let int = |i: usize| arrays[i].as_primitive::<Int64Type>().iter().collect::<Vec<_>>();
        let real = |i: usize| arrays[i].as_primitive::<Float64Type>().iter().collect::<Vec<_>>();
        assert_eq!(int(0), [Some(2), Some(1), None]);
        assert_eq!(int(1), [Some(40), Some(0), None]);
        assert_eq!(real(2), [Some(0.25), None, Some(3.0)]);
        assert_eq!(
            arrays[3].as_string::<i32>().iter().collect::<Vec<_>>(),
            [Some("low"), None, None]
        );
        // The level `missing` is not a number either: the program gets the values of the source.
        assert_eq!(real(4), [Some(0.5), Some(2.0), None]);
        assert_eq!(
            arrays[5].as_boolean().iter().collect::<Vec<_>>(),
            [Some(true), Some(false), None]
        );
        assert_eq!(arrays[6].null_count(), 3);
    }

    #[test]
    fn a_fraction_in_an_integer_column_is_never_handed_over() {
        let mut rows = rows();
        rows.columns[1] = FeatureColumn::Number(vec![1.0, 2.5, 3.0]);
        let error = raw_arrays(&layout(), &rows).expect_err("a fraction").to_string();
        error.says(&["`age`", "`2.5`"]);
    }

    #[test]
    fn keys_are_those_of_the_rows() {
        let layout = layout();
        let ids = row_id_array(&SourceValues::Int(vec![7, 8, 9].into()), [2, 0].into_iter());
        assert_eq!(ids.data_type(), row_id_field(&layout).data_type());
        assert_eq!(ids.as_primitive::<Int64Type>().values(), &[9, 7]);
    }
}
