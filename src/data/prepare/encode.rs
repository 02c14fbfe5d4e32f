//! The columns of `rows.parquet`: numbers as they are, words as codes in the order in which they
//! occur.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, Float64Array, Int64Array, StringArray, UInt8Array, UInt64Array,
};
use arrow::datatypes::{DataType, Field, Schema, UInt32Type};

use crate::data::prepare::params::carried_decision;
use crate::data::prepare::plan::{FeaturePlan, PreparePlan, SidesPlan};
use crate::data::prepare::remaining_rows::KeptSlice;
use crate::data::prepare::row_id::IdRun;
use crate::data::prepare::tally::ColumnCodes;
use crate::data::rows::ids::keys_of;
use crate::data::rows::number_array;
use crate::data::rows::split::TRAIN;
use crate::data::rows::stored::ROLE;
use crate::data::values::{SourceValues, ValueClass};
use crate::num::float_precision::FloatPrecision;
use crate::table::field_marks::{cached, direct, sampled};

/// The name of the codes of a source column.
pub(crate) fn code_column(plan: &PreparePlan<'_>, column: usize) -> String {
    format!("code.{}", plan.name(column))
}

/// The columns of `rows.parquet`: those that are written unchanged, then the codes.
pub(crate) fn schema(plan: &PreparePlan<'_>) -> Schema {
    let mut fields = Vec::new();
    if !plan.losses().is_empty() {
        fields.push(direct(Field::new("row", DataType::UInt64, false)));
    }
    match plan.row_id.map(|column| plan.view.columns[column].class) {
        None => {}
        Some(ValueClass::Int) => {
            fields.push(direct(Field::new("row_id", DataType::Int64, false)));
        }
        Some(_) => {
            fields.push(direct(Field::new("row_key", DataType::UInt64, false)));
            fields.push(Field::new("row_id", DataType::Utf8, false));
        }
    }
    fields.extend(plan.person.map(|_| Field::new("person", DataType::UInt64, false)));
    fields.extend(plan.params.hash_split.map(|_| direct(Field::new(ROLE, DataType::UInt8, false))));
    fields.extend(plan.weight.map(|_| Field::new("weight", DataType::Float64, false)));
    for feature in plan.features.iter().filter(|feature| !feature.kind.is_coded()) {
        let name = format!("x.{}", feature.name);
        fields.push(match plan.class_of(feature) {
            ValueClass::Int => direct(Field::new(name, DataType::Int64, true)),
            _ => sampled(Field::new(name, DataType::Float64, true)),
        });
    }
    for feature in kept_numbers(plan) {
        let name = format!("source.{}", feature.name);
        fields.push(sampled(Field::new(name, DataType::Float64, true)));
    }
    fields.extend(plan.carry.iter().map(|&column| {
        direct(Field::new(format!("carry.{}", plan.name(column)), DataType::Float64, true))
    }));
    fields.extend(plan.decisions.iter().map(|decision| {
        let name = carried_decision(plan.name(decision.column));
        direct(Field::new(format!("carry.{name}"), DataType::Float64, true))
    }));
    fields.extend(
        plan.coded
            .iter()
            .map(|&column| direct(Field::new(code_column(plan, column), DataType::UInt32, false))),
    );
    Schema::new(fields.into_iter().map(cached).collect::<Vec<_>>())
}

/// The features whose numbers the job may take for missing: the file holds those of the source too.
fn kept_numbers<'p>(plan: &'p PreparePlan<'_>) -> impl Iterator<Item = &'p FeaturePlan> {
    let is_number = |feature: &&FeaturePlan| !feature.kind.is_coded();
    plan.features
        .iter()
        .filter(is_number)
        .filter(|f| plan.view.null_words(f.column).next().is_some())
}

/// Kept rows on their way into the file.
pub(crate) struct RowChunk {
    /// Number of rows.
    pub(crate) n: usize,
    /// The columns before the codes.
    plain: Vec<ArrayRef>,
    /// The codes of each coded column.
    codes: Vec<ColumnCodes>,
    /// The row ids; without them those of no row.
    pub(crate) ids: IdRun,
    /// How many of the rows the hash split audits; 0 without one.
    pub(crate) drawn: u64,
}

impl RowChunk {
    /// The rows of a slice, whose words have been counted as `codes`.
    pub(crate) fn new(plan: &PreparePlan<'_>, slice: &KeptSlice, codes: Vec<ColumnCodes>) -> Self {
        let mut plain: Vec<ArrayRef> = Vec::new();
        if !plan.losses().is_empty() {
            plain.push(Arc::new(UInt64Array::from_iter_values(slice.row_numbers())));
        }
        let mut run = IdRun::default();
        match plan.row_id.map(|column| &slice.columns[column]) {
            None => {}
            Some(SourceValues::Int(ids)) => {
                run = IdRun::of(ids.values().iter().copied());
                // Every row has an id.
                plain.push(Arc::new(Int64Array::new(ids.values().clone(), None)));
            }
            Some(values) => {
                let id = |i: usize| values.word(i).unwrap_or_default();
                let hashes = keys_of(values, slice.n);
                run = IdRun::of((0..slice.n).map(id));
                plain.push(Arc::new(UInt64Array::from(hashes)));
                plain.push(match values {
                    SourceValues::Text(ids) => Arc::new(ids.clone()),
                    _ => Arc::new(StringArray::from_iter_values((0..slice.n).map(id))),
                });
            }
        }
        if let Some(column) = plan.person {
            plain.push(Arc::new(UInt64Array::from(keys_of(&slice.columns[column], slice.n))));
        }
        let mut drawn = 0;
        if let Some(split) = plan.params.hash_split {
            let keys = match plan.person.or(plan.row_id) {
                None => slice.row_numbers().collect(),
                Some(column) => keys_of(&slice.columns[column], slice.n),
            };
            let roles = keys.into_iter().map(|key| if split.audits(key) { 0 } else { TRAIN });
            let roles: Vec<u8> = roles.collect();
            drawn = roles.iter().filter(|&&role| role == 0).count() as u64;
            plain.push(Arc::new(UInt8Array::from(roles)));
        }
        if let Some(column) = plan.weight {
            plain.push(Arc::new(Float64Array::from(slice.columns[column].numbers())));
        }
        for feature in plan.features.iter().filter(|feature| !feature.kind.is_coded()) {
            plain.push(match (&slice.columns[feature.column], plan.class_of(feature)) {
                (SourceValues::Int(values), ValueClass::Int) => Arc::new(values.clone()),
                (values, _) => numbers(values),
            });
        }
        plain.extend(kept_numbers(plan).map(|feature| numbers(slice.as_read(feature.column))));
        let carried =
            |&column: &usize| carried(&slice.columns[column], plan.view.columns[column].precision);
        plain.extend(plan.carry.iter().map(carried));
        let decided = |of: &SidesPlan| {
            let column = &plan.view.columns[of.column];
            decisions(of, &column.canonical_values(&slice.columns[of.column]), slice.n)
        };
        plain.extend(plan.decisions.iter().map(decided));
        RowChunk { n: slice.n, plain, codes, ids: run, drawn }
    }

    /// The columns of the file, with codes of the piece replaced by those of all rows, given by
    /// column.
    pub(crate) fn columns(self, of_all: &[Vec<u32>]) -> Vec<ArrayRef> {
        let recoded = self.codes.iter().zip(of_all).map(|(codes, of_all)| -> ArrayRef {
            let table = codes.values().as_primitive::<UInt32Type>();
            let table = table.unary::<_, UInt32Type>(|code| of_all[code as usize]);
            Arc::new(codes.with_values(Arc::new(table)))
        });
        self.plain.into_iter().chain(recoded).collect()
    }
}

/// 1 where the decision is positive, 0 where it is not.
fn decisions(plan: &SidesPlan, values: &SourceValues, n: usize) -> ArrayRef {
    let number = |i: usize| Some(f64::from(u8::from(plan.positive.has(&values.word(i)?))));
    Arc::new((0..n).map(number).collect::<Float64Array>())
}

fn numbers(values: &SourceValues) -> ArrayRef {
    match values {
        SourceValues::Float(values) => Arc::new(values.clone()),
        _ => number_array(values.numbers()),
    }
}

/// Scores and thresholds, in the precision of the source.
fn carried(values: &SourceValues, precision: FloatPrecision) -> ArrayRef {
    match precision {
        FloatPrecision::Double => numbers(values),
        FloatPrecision::Single => {
            number_array(values.numbers().into_iter().map(|x| precision.round(x)).collect())
        }
    }
}
