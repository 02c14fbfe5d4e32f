//! Metadata of the fields of a file that says how its columns are written.

use std::collections::HashMap;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{Field, Float64Type};

/// Marks a field that is not written by the default rules; its value is the rule.
const WRITTEN: &str = "cfaudit.written";

/// No dictionary: whole numbers as differences in as few bits as they need, others as they are.
pub(super) const DIRECT: &str = "direct";

/// A dictionary in row groups whose first values repeat, else as [`DIRECT`].
pub(super) const SAMPLED: &str = "sampled";

/// Values of a row group that show whether a dictionary is worth trying.
const SAMPLE: usize = 1024;

/// Marks a field of a file between the stages.
pub(super) const CACHED: &str = "cfaudit.cached";

fn written(field: Field, how: &str) -> Field {
    field.with_metadata(HashMap::from([(WRITTEN.to_owned(), how.to_owned())]))
}

/// A column of a file between the stages: encoded in the way that costs the least time, not the
/// least space.
pub(crate) fn cached(field: Field) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(CACHED.to_owned(), String::new());
    field.with_metadata(metadata)
}

pub(super) fn is_written(field: &Field, how: &str) -> bool {
    field.metadata().get(WRITTEN).is_some_and(|found| found == how)
}

/// A column whose values hardly repeat, such as a row number or a score: no dictionary of its
/// values is tried, which would cost more than all the rest of writing it, and whole numbers are
/// written as differences. Also a column of whole numbers of which most are small, such as codes
/// and counts: a dictionary of them would save hardly any space and cost twice the time.
pub(crate) fn direct(field: Field) -> Field {
    written(field, DIRECT)
}

/// A column of numbers that may or may not repeat: in each row group the first ones decide whether
/// a dictionary is tried.
pub(crate) fn sampled(field: Field) -> Field {
    written(field, SAMPLED)
}

/// Whether at most half of the first numbers of a column are distinct.
pub(super) fn repeats(column: &ArrayRef) -> bool {
    let Some(numbers) = column.as_primitive_opt::<Float64Type>() else { return true };
    let mut sample: Vec<u64> = numbers.iter().flatten().take(SAMPLE).map(f64::to_bits).collect();
    let n = sample.len();
    sample.sort_unstable();
    sample.dedup();
    sample.len() <= n.div_ceil(2)
}
