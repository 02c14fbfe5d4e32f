//! Slices: the same evidence as of everybody, inside each value of the columns that `metrics.by`
//! names, and where two of these meet.
//!
//! The pass that counts everybody counts all slices too; nothing is kept for slices that no row
//! belongs to.

use crate::data::rows::PreparedBatch;
use crate::data::{Layout, MISSING};
use crate::error::{Fault, Result};

/// A job may have this many slices.
const SLICES_AT_MOST: usize = 10_000;

/// One or two columns whose levels make slices.
struct SliceColumns {
    /// Positions among the columns of slices.
    columns: Vec<usize>,
    /// Number of the first slice.
    first: usize,
}

/// The slices of one attribute, numbered: level by level of each column, then pair by pair of
/// levels of each two columns.
pub(crate) struct AttributeSlices {
    column_sets: Vec<SliceColumns>,
    names: Vec<String>,
}

impl AttributeSlices {
    /// The slices of a layout. A column that the groups are derived from makes no slices for that
    /// attribute.
    ///
    /// # Errors
    /// There are too many.
    pub(crate) fn of(layout: &Layout, attribute: usize) -> Result<Self> {
        let own = &layout.features[layout.attributes[attribute].feature].name;
        let used: Vec<usize> =
            (0..layout.slices.len()).filter(|&c| layout.slices[c].column != *own).collect();
        let pairs = used
            .iter()
            .enumerate()
            .flat_map(|(i, &a)| used[i + 1..].iter().map(move |&b| vec![a, b]));
        let mut slices = AttributeSlices { column_sets: Vec::new(), names: Vec::new() };
        for columns in used.iter().map(|&c| vec![c]).chain(pairs) {
            let n: usize = columns.iter().map(|&c| layout.slices[c].levels.len()).product();
            let first = slices.names.len();
            if first + n > SLICES_AT_MOST {
                let what =
                    format!("the columns of `metrics.by` make more than {SLICES_AT_MOST} slices");
                let hint = "name fewer columns, or merge their values by `data.derive` with `map` \
                            or `bins`";
                return Fault::new("too-many-slices", what).fail(hint);
            }
            let word = |column: usize, level: usize| {
                level_name(&layout.slices[column].column, &layout.slices[column].levels[level])
            };
            slices.names.extend((0..n).map(|k| match *columns.as_slice() {
                [a, b] => {
                    let of_b = layout.slices[b].levels.len();
                    format!("{} & {}", word(a, k / of_b), word(b, k % of_b))
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

    /// Passes on the numbers of the slices that a row belongs to.
    pub(crate) fn each_of_row(
        &self,
        layout: &Layout,
        batch: &PreparedBatch,
        i: usize,
        mut each: impl FnMut(usize),
    ) {
        for cutting in &self.column_sets {
            let level = |column: usize| {
                Some(batch.slices[column][i])
                    .filter(|&level| level != MISSING)
                    .map(|level| level as usize)
            };
            let number = cutting.columns.iter().try_fold(0, |number, &column| {
                Some(number * layout.slices[column].levels.len() + level(column)?)
            });
            if let Some(number) = number {
                each(cutting.first + number);
            }
        }
    }

    /// Number of slices.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }
}

/// A value of a column as part of a slice's name. Where one of the two could be taken for more than
/// itself it is in quotation marks, as in JSON, so that no two slices have one name.
fn level_name(column: &str, level: &str) -> String {
    let plain = |word: &str| {
        let is_plain = !word.contains(['=', '"']) && !word.contains(" & ") && word.trim() == word;
        if is_plain { word.to_owned() } else { serde_json::Value::from(word).to_string() }
    };
    format!("{}={}", plain(column), plain(level))
}

/// What was counted inside each slice that has any rows, by its number.
pub(crate) type CountedSlices<S> = Vec<(usize, S)>;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::level_name;

    /// Names of slices of these columns and levels, alone and where two columns meet, are all
    /// different.
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
        let all = names.len();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), all, "{names:?}");
        assert_eq!(
            (level_name("region", "north"), level_name("region", "x & b=y")),
            ("region=north".into(), "region=\"x & b=y\"".into())
        );
    }
}
