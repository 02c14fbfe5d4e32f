//! External counterfactuals: the rows of a keyed file, as features of the layout.
//!
//! The file has the key of a counterfactual ([`crate::data::exchange::keyed`]), features under
//! their names in the source view ([`crate::data::source_view`]), and optionally `valid` (false:
//! the row counts in no metric). A feature without a column keeps the value of the person. Columns
//! that follow from the group or from other features are computed here for every strategy, so those
//! of the file are not read; the column of the attribute itself must agree with `to_group`.
//! Choice: all rows of one attribute are held in memory, because rows of the file may be in any
//! order; how much that takes is known, and checked, before they are read.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::data::canonical::canonical_text;
use crate::data::exchange::keyed::{KeyedFile, ScoreEntry, ScoreKey};
use crate::data::exchange::to_score::{CHANGED, VALID};
use crate::data::source::list_words;
use crate::data::source_form::SourceValue;
use crate::data::values::{SourceValues, ValueClass};
use crate::data::{
    Feature, FeatureColumn, FeatureKind, FeatureRows, Layout, MISSING, MISSING_GROUP, MISSING_LEVEL,
};
use crate::error::{Fault, Result};

/// The columns of the key, that of the verdict, and that of what changed.
const KEYS: [&str; 7] =
    ["row_id", "sensitive", "from_group", "to_group", "cf_index", VALID, CHANGED];

/// The most levels that a message lists.
const LEVELS_SHOWN: usize = 10;

/// One counterfactual of the file, in the order in which people are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ExternalKey {
    /// The row, the target group and the number.
    pub key: ScoreKey,
    /// The row's own group, as the file has it; [`MISSING_GROUP`] where it does not say.
    pub from_group: u16,
    /// Position of its values.
    at: u32,
    /// Its row in the file, from 0.
    pub file_row: u64,
}

/// Facts about the file in addition to the layout.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExternalRules<'a> {
    /// Positions of the features that are set with the attribute.
    pub set_with: &'a [usize],
    /// Columns that are not features and may be in the file anyway.
    pub ignored: &'a [&'a str],
    /// Whether a continuous, an ordinal and a nominal feature may be missing.
    pub may_lack: [bool; 3],
    /// Bytes that the rows may take.
    pub memory: u64,
}

/// All counterfactuals of one attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalRows {
    /// Ascending.
    keys: Vec<ExternalKey>,
    /// The features of the file, in the order of the file, each with what a missing value is.
    columns: Vec<(usize, FeatureColumn, MissingLevels)>,
    /// Whether each is valid, in the order of the file; empty where the file does not say.
    valid: Vec<bool>,
}

impl ExternalRows {
    /// Reads the counterfactuals of the attribute that the file was opened for.
    ///
    /// # Errors
    /// The file is damaged; a key is malformed or occurs twice; a column is not a feature, or a
    /// value is none of its feature: each with its row. The rows do not fit into memory.
    pub(crate) fn read(
        file: &KeyedFile,
        layout: &Layout,
        rules: ExternalRules<'_>,
    ) -> Result<Self> {
        let known = columns_of(file, layout, rules)?;
        check_memory(file, &known, rules.memory)?;
        let values = known.iter().filter(|(_, what)| *what == ColumnUse::Value);
        let columns = values.map(|&(f, _)| {
            let feature = &layout.features[f];
            (f, feature.no_values(), MissingLevels::of(feature))
        });
        let mut rows =
            ExternalRows { keys: Vec::new(), columns: columns.collect(), valid: Vec::new() };
        for group in 0..file.n_groups() {
            rows.take_group(file, layout, (&known, rules), group)?;
        }
        rows.keys.sort_unstable();
        if let Some(twice) = rows.keys.windows(2).find(|pair| pair[0].key == pair[1].key) {
            let (first, second) = (twice[0].file_row, twice[1].file_row);
            let fault = Fault::new("duplicate-key", "a counterfactual occurs twice".to_owned())
                .in_file(&file.path)
                .at_row(format!("{} and row {second}", file.describe_row(first)));
            let hint = "several counterfactuals of a person in a group differ in `cf_index`";
            return fault.fail(hint);
        }
        Ok(rows)
    }

    fn take_group(
        &mut self,
        file: &KeyedFile,
        layout: &Layout,
        (known, rules): (&[(usize, ColumnUse)], ExternalRules<'_>),
        group: usize,
    ) -> Result<()> {
        let entries: Vec<ScoreEntry> = file.read(group)?.iter().collect();
        let first = file.first_rows[group];
        let place = |file_row: u64| usize::try_from(file_row - first).unwrap_or(usize::MAX);
        let start = self.keys.len();
        for (at, entry) in (start..).zip(&entries) {
            self.keys.push(ExternalKey {
                key: entry.key,
                from_group: entry.from_group.unwrap_or(MISSING_GROUP),
                at: u32::try_from(at).unwrap_or(u32::MAX),
                file_row: entry.file_row,
            });
        }
        let mut value = self.columns.iter_mut();
        for &(f, what) in known {
            let feature = &layout.features[f];
            let values = file.values(group, &feature.name)?;
            let complain = |i: usize, what: String, hint: String| {
                file.fault(what, &feature.name, entries[i].file_row).hint(hint)
            };
            if what == ColumnUse::Group {
                let of = file.attribute.as_ref();
                let level = |i: usize| {
                    let to = usize::from(entries[i].key.to_group);
                    of.and_then(|of| feature.levels.get(of.level_of_group[to] as usize))
                };
                let reader = ValueReader::new(feature, rules);
                let other = (0..entries.len()).find(|&i| {
                    let found = reader.code(&values, place(entries[i].file_row)).ok();
                    found.is_none_or(|found| feature.levels.get(found as usize) != level(i))
                });
                if let Some(i) = other {
                    let word = values.word(place(entries[i].file_row)).unwrap_or_default();
                    let what = format!("the row is set to another group, and here stands `{word}`");
                    let hint = format!(
                        "write `{}`, the value of the group in `to_group`, or leave the column out",
                        level(i).map_or("", String::as_str)
                    );
                    return Err(complain(i, what, hint).into());
                }
                continue;
            }
            let Some((_, column, _)) = value.next() else { continue };
            let reader = ValueReader::new(feature, rules);
            for (i, entry) in entries.iter().enumerate() {
                let at = place(entry.file_row);
                let told = match column {
                    FeatureColumn::Number(numbers) => {
                        reader.number(&values, at).map(|number| numbers.push(number))
                    }
                    FeatureColumn::Code(codes) => {
                        reader.code(&values, at).map(|code| codes.push(code))
                    }
                };
                told.map_err(|(what, hint)| complain(i, what, hint))?;
            }
        }
        if let Some(valid) = file.flags(group, VALID)? {
            self.valid.extend(entries.iter().map(|entry| valid[place(entry.file_row)]));
        }
        Ok(())
    }

    /// All of them.
    pub(crate) fn keys(&self) -> &[ExternalKey] {
        &self.keys
    }

    /// The positions among [`ExternalRows::keys`] of those of a row.
    pub(crate) fn of_row(&self, row_key: u64) -> std::ops::Range<usize> {
        let start = self.keys.partition_point(|of| of.key.row_key < row_key);
        let n = self.keys[start..].partition_point(|of| of.key.row_key == row_key);
        start..start + n
    }

    /// The keys of a row in a group.
    pub(crate) fn of(&self, row_key: u64, to: usize) -> &[ExternalKey] {
        let of_row = &self.keys[self.of_row(row_key)];
        let start = of_row.partition_point(|of| usize::from(of.key.to_group) < to);
        let n = of_row[start..].partition_point(|of| usize::from(of.key.to_group) == to);
        &of_row[start..start + n]
    }

    /// Writes the values of counterfactuals over those of their people. A missing value leaves what
    /// the source writes as one.
    pub(crate) fn write(&self, keys: &[ExternalKey], rows: &mut FeatureRows) {
        for (feature, values, missing) in &self.columns {
            match (&mut rows.columns[*feature], values) {
                (FeatureColumn::Number(to), FeatureColumn::Number(from)) => {
                    to.iter_mut().zip(keys).for_each(|(to, key)| *to = from[key.at as usize])
                }
                (FeatureColumn::Code(to), FeatureColumn::Code(from)) => {
                    for (to, key) in to.iter_mut().zip(keys) {
                        match from[key.at as usize] {
                            NO_VALUE if missing.contains(*to) => {}
                            NO_VALUE => *to = missing.level,
                            level => *to = level,
                        }
                    }
                }
                // A column of the file has the kind of its feature.
                _ => {}
            }
        }
    }

    /// Whether the file says that a counterfactual is valid, or nothing.
    pub(crate) fn is_valid(&self, key: &ExternalKey) -> bool {
        self.valid.get(key.at as usize).copied().unwrap_or(true)
    }
}

/// The code of a missing value of the file until it is known whose it is.
const NO_VALUE: u32 = MISSING - 1;

/// The levels of a feature that the source writes as a missing value.
#[derive(Debug, Clone, PartialEq)]
struct MissingLevels {
    /// What a missing value becomes: the level that represents missing values, or another level
    /// that the source writes as missing, or [`MISSING`].
    level: u32,
    /// By level whether it is one.
    is_missing: Vec<bool>,
}

impl MissingLevels {
    fn of(feature: &Feature) -> Self {
        let is_missing = |level: u32| {
            let word = feature.spelling_of(level);
            word.is_none_or(|word| feature.source_value(word) == SourceValue::Null)
        };
        let is_missing: Vec<bool> = (0..feature.levels.len() as u32).map(is_missing).collect();
        let made = feature.levels.iter().position(|level| level == MISSING_LEVEL);
        let level = made.or_else(|| is_missing.iter().position(|is_missing| *is_missing));
        MissingLevels { level: level.map_or(MISSING, |level| level as u32), is_missing }
    }

    fn contains(&self, code: u32) -> bool {
        code == self.level || self.is_missing.get(code as usize).copied().unwrap_or(true)
    }
}

/// What a column of a feature is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnUse {
    /// The values.
    Value,
    /// To see that it agrees with the group.
    Group,
}

/// The features that the file has columns of.
fn columns_of(
    file: &KeyedFile,
    layout: &Layout,
    rules: ExternalRules<'_>,
) -> Result<Vec<(usize, ColumnUse)>> {
    let mut known = Vec::new();
    for name in file.columns().filter(|name| !KEYS.contains(name)) {
        let feature = layout.feature(name).filter(|&f| layout.is_input(f));
        let Some(f) = feature else {
            if rules.ignored.contains(&name) || layout.feature(name).is_some() {
                continue;
            }
            let inputs = layout.inputs().map(|f| format!("`{}`", layout.features[f].name));
            let what = format!("no feature is called `{name}`");
            let hint = format!(
                "the features are {}; rename the column, or leave it out",
                list_words(inputs, 20)
            );
            let fault = Fault::new("bad-counterfactuals", what).in_file(&file.path);
            return fault.in_column(name).fail(hint);
        };
        let of_attribute = file.attribute.as_ref().is_some_and(|of| of.feature == f);
        if layout.derivation(f).is_some() {
            continue;
        }
        if of_attribute {
            known.push((f, ColumnUse::Group));
        } else if !rules.set_with.contains(&f) {
            known.push((f, ColumnUse::Value));
        }
    }
    known.sort_unstable_by_key(|&(f, _)| f);
    Ok(known)
}

fn check_memory(file: &KeyedFile, known: &[(usize, ColumnUse)], memory: u64) -> Result<()> {
    let of_row = size_of::<ExternalKey>() as u64 + 8 * known.len() as u64 + 1;
    let needed = file.n_rows().saturating_mul(of_row);
    if needed <= memory && file.n_rows() < u64::from(u32::MAX) {
        return Ok(());
    }
    let what = format!(
        "its {} rows would take {} MiB of memory, and the run may use {} MiB",
        file.n_rows(),
        needed >> 20,
        memory >> 20
    );
    let hint = "give the run more by `--memory`, or audit the groups in several runs";
    Fault::new("too-many-rows", what).in_file(&file.path).fail(hint)
}

/// Reads values of a feature.
struct ValueReader<'a> {
    feature: &'a Feature,
    may_lack: bool,
    /// Words of the source, and levels.
    levels: HashMap<Cow<'a, str>, u32>,
}

/// What is wrong with a value, and what to do.
type ValueProblem = (String, String);

impl<'a> ValueReader<'a> {
    fn new(feature: &'a Feature, rules: ExternalRules<'_>) -> Self {
        let [continuous, ordinal, nominal] = rules.may_lack;
        let may_lack = match feature.kind {
            FeatureKind::Continuous { .. } => continuous,
            FeatureKind::OrdinalNumber | FeatureKind::OrdinalLevel => ordinal,
            FeatureKind::Nominal | FeatureKind::Sensitive => nominal,
        };
        let may_lack = may_lack || MissingLevels::of(feature).level != MISSING;
        let mut levels = HashMap::new();
        for (word, level) in feature.known_words() {
            levels.entry(word).or_insert(level);
        }
        ValueReader { feature, may_lack, levels }
    }

    fn absent(&self) -> ValueProblem {
        let hint = "write a value, leave the column out to keep that of the person, or let \
                    `data.missing` allow it";
        ("a value is missing".to_owned(), hint.to_owned())
    }

    fn number(&self, values: &SourceValues, at: usize) -> Result<f64, ValueProblem> {
        let taken = |word: Cow<'_, str>| self.levels.contains_key(&word);
        if values.is_null(at) || !self.levels.is_empty() && values.word(at).is_some_and(taken) {
            return if self.may_lack { Ok(f64::NAN) } else { Err(self.absent()) };
        }
        let number = values.number(at);
        if !number.is_finite() {
            let word = values.word(at).unwrap_or_default();
            let (what, hint) = match values {
                SourceValues::Text(_) | SourceValues::Named(_) => {
                    let what = format!("the column holds texts, such as `{word}`");
                    (what, "write a column of numbers, as the rows have it")
                }
                _ => (format!("`{word}` is not a finite number"), "write finite numbers"),
            };
            return Err((what, hint.to_owned()));
        }
        let whole = matches!(self.feature.kind, FeatureKind::Continuous { integer: true })
            || self.feature.class == ValueClass::Int;
        if whole && number.fract() != 0.0 {
            let hint = format!(
                "round it where it is made; where fractions make sense, say so by `data.columns: \
                 {{{}: {{integer: false}}}}`",
                self.feature.name
            );
            return Err((format!("`{number}` is no whole number, as all rows have"), hint));
        }
        // A zero has no sign.
        Ok(number + 0.0)
    }

    fn code(&self, values: &SourceValues, at: usize) -> Result<u32, ValueProblem> {
        let known = |word: &str| match self.levels.get(word) {
            // A word that the job takes for missing.
            Some(&MISSING) => None,
            known => Some(known.copied()),
        };
        let word = values.word(at);
        let Some(known) = word.as_deref().and_then(known) else {
            return if self.may_lack { Ok(NO_VALUE) } else { Err(self.absent()) };
        };
        let level = word.as_deref().and_then(|w| self.levels.get(&*canonical_text(w)).copied());
        known.or(level).ok_or_else(|| {
            let word = word.unwrap_or_default();
            let levels = self.feature.levels.iter().map(|level| format!("`{level}`"));
            (
                format!("`{word}` is no level of `{}`", self.feature.name),
                format!("its levels are {}", list_words(levels, LEVELS_SHOWN)),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;

    use super::*;
    use crate::data::{Attribute, RowIdKind};
    use crate::tests::Says;

    fn layout() -> Layout {
        Layout {
            row_id: RowIdKind::Integer,
            ..Layout::of(
                vec![Attribute::of("sex", &["f", "m"], 0)],
                vec![
                    Feature::of("sex", FeatureKind::Sensitive, &["f", "m"]),
                    Feature::of("income", FeatureKind::REAL, &[]),
                ],
            )
        }
    }

    fn read(path: &Path, memory: u64) -> Result<ExternalRows> {
        let layout = layout();
        let of = &layout.attributes[0];
        let parts = (path, &[path.to_path_buf()][..]);
        let file = KeyedFile::open(parts, None, layout.row_id, Some(of), &layout.attributes)?;
        let rules = ExternalRules { set_with: &[0], ignored: &[], may_lack: [true; 3], memory };
        ExternalRows::read(&file, &layout, rules)
    }

    #[test]
    fn rows_are_found_by_their_key_and_fit_into_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.parquet");
        let columns: [(&str, ArrayRef); 4] = [
            ("row_id", Arc::new(Int64Array::from(vec![9, -2, 9, 4]))),
            ("to_group", Arc::new(StringArray::from(vec!["m", "f", "m", "m"]))),
            ("cf_index", Arc::new(Int64Array::from(vec![1, 0, 0, 0]))),
            ("income", Arc::new(Float64Array::from(vec![Some(1.5), Some(-0.0), Some(2.5), None]))),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .unwrap();
        let mut writer =
            ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();

        let rows = read(&path, 1 << 20).unwrap();
        let of = |id: i64, to: usize| rows.of(id.cast_unsigned(), to);
        let indices: Vec<u16> = of(9, 1).iter().map(|key| key.key.cf_index).collect();
        assert_eq!(indices, [0, 1]);
        assert_eq!((of(9, 0).len(), of(-2, 0).len(), of(5, 1).len()), (0, 1, 0));
        assert_eq!(rows.of_row(4).len(), 1);
        let keys = [of(9, 1), of(-2, 0), of(4, 1)].concat();
        let mut made = FeatureRows::of(vec![
            FeatureColumn::Code(vec![0; 4]),
            FeatureColumn::Number(vec![7.0; 4]),
        ]);
        rows.write(&keys, &mut made);
        let income = made.numbers(1);
        assert_eq!(income[..2], [2.5, 1.5]);
        assert!(income[2].is_sign_positive() && income[3].is_nan() && rows.is_valid(&keys[0]));

        let refused = read(&path, 100).unwrap_err().to_string();
        refused.says(&["too-many-rows", "--memory"]);
    }
}
