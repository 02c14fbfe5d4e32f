//! Slices: the evidence of all people once more inside each value of the columns that `metrics.by`
//! names, and inside each pair of values of two such columns.
//!
//! The pass that counts all people counts the slices too; slices without rows take no memory.

use crate::data::rows::PreparedBatch;
use crate::data::{Layout, MISSING};
use crate::error::{Fault, Result};

/// The largest number of slices of a job.
const MAX_SLICES: usize = 10_000;

/// One or two columns whose levels make slices.
struct SliceColumns {
    /// Positions among the columns of slices.
    columns: Vec<usize>,
    /// Number of the first slice.
    first: usize,
}

/// The slices of one attribute and their numbers: first the levels of each column, then the pairs
/// of levels of each two columns.
pub(crate) struct AttributeSlices {
    column_sets: Vec<SliceColumns>,
    names: Vec<String>,
}

impl AttributeSlices {
    /// The slices of a layout. The column of the attribute's groups makes no slices.
    ///
    /// # Errors
    /// There are too many.
    pub(crate) fn of(layout: &Layout, attribute: usize) -> Result<Self> {
        let group_column = &layout.features[layout.attributes[attribute].feature].name;
        let used: Vec<usize> = (0..layout.slices.len())
            .filter(|&c| layout.slices[c].column != *group_column)
            .collect();
        let pairs = used
            .iter()
            .enumerate()
            .flat_map(|(i, &a)| used[i + 1..].iter().map(move |&b| vec![a, b]));
        let mut slices = AttributeSlices { column_sets: Vec::new(), names: Vec::new() };
        for columns in used.iter().map(|&c| vec![c]).chain(pairs) {
            let n: usize = columns.iter().map(|&c| layout.slices[c].levels.len()).product();
            let first = slices.names.len();
            if first + n > MAX_SLICES {
                let what =
                    format!("the columns of `metrics.by` make more than {MAX_SLICES} slices");
                let hint = "name fewer columns, or merge their values by `data.derive` with `map` \
                            or `bins`";
                return Fault::new("too-many-slices", what).fail(hint);
            }
            let word = |column: usize, level: usize| {
                level_name(&layout.slices[column].column, &layout.slices[column].levels[level])
            };
            slices.names.extend((0..n).map(|k| match *columns.as_slice() {
                [a, b] => {
                    let n_levels = layout.slices[b].levels.len();
                    format!("{} & {}", word(a, k / n_levels), word(b, k % n_levels))
                }
                _ => word(columns[0], k),
            }));
            slices.column_sets.push(SliceColumns { columns, first });
        }
        Ok(slices)
    }

    /// The name of a slice, as tables show it.
    pub(crate) fn name(&self, slice: usize) -> &str {
        &self.names[slice]
    }

    /// Calls `each` with the number of every slice that a row belongs to.
    pub(crate) fn each_of_row(
        &self,
        layout: &Layout,
        batch: &PreparedBatch,
        i: usize,
        mut each: impl FnMut(usize),
    ) {
        for set in &self.column_sets {
            let level = |column: usize| {
                Some(batch.slices[column][i])
                    .filter(|&level| level != MISSING)
                    .map(|level| level as usize)
            };
            let number = set.columns.iter().try_fold(0, |number, &column| {
                Some(number * layout.slices[column].levels.len() + level(column)?)
            });
            if let Some(number) = number {
                each(set.first + number);
            }
        }
    }

    /// Number of slices.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }
}

/// A value of a column as part of a slice's name. A column or value that contains a separator is in
/// quotation marks, as in JSON, so that no two slices have the same name.
fn level_name(column: &str, level: &str) -> String {
    let plain = |word: &str| {
        let is_plain = !word.contains(['=', '"']) && !word.contains(" & ") && word.trim() == word;
        if is_plain { word.to_owned() } else { serde_json::Value::from(word).to_string() }
    };
    format!("{}={}", plain(column), plain(level))
}

/// What was counted inside each slice that has rows, by the number of the slice.
pub(crate) type CountedSlices<S> = Vec<(usize, S)>;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::level_name;

    /// The names of slices of one column and of two columns are all different.
    #[test]
    fn no_two_slices_have_one_name() {
        let columns =
            [("a", ["x", "x & b=y", "b=y"]), ("b", ["y", "", " y"]), ("a=b", ["y", "\"", "y & c"])];
        let words: Vec<Vec<String>> = columns
            .iter()
            .map(|(column, levels)| levels.map(|level| level_name(column, level)).to_vec())
            .collect();
        let mut names: Vec<String> = words.iter().flatten().cloned().collect();
        for (i, first) in words.iter().enumerate() {
            for second in &words[i + 1..] {
                names.extend(
                    first.iter().flat_map(|a| second.iter().map(move |b| format!("{a} & {b}"))),
                );
            }
        }
        let n_names = names.len();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), n_names, "{names:?}");
        assert_eq!(
            (level_name("region", "north"), level_name("region", "x & b=y")),
            ("region=north".into(), "region=\"x & b=y\"".into())
        );
    }
}
