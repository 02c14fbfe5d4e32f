//! What a column is other than a feature, by its values and its name: the id of rows, the person
//! whose row it is, a weight, a date, free text, or a code in whole numbers.
//!
//! Choice: values are nearly unique where at least 98 of 100 differ. Whole numbers are ids where
//! all differ and they rise, are many or are called so; as floats they also need to be dense,
//! because amounts are often whole. A person has at least 20 different values of 1.2 rows each, and
//! is called so; or it is not called a count, and the sensitive columns and one other column that
//! is not the label are constant within it. A weight is positive, and called so; or its fractions
//! are fine, and it adds up to a whole number of at least 1,000. A code has 3 to 30 values, and is
//! called so, or has every whole number from 0 or 1 on; a count does too, so columns called after
//! one, and columns whose larger values are always rarer, are no codes.

use std::collections::{HashMap, HashSet};

use crate::data::column::codes::missing_codes;
use crate::data::column::profile::ColumnProfile;
use crate::data::values::ValueClass;

/// Share of values that differ from which on they are nearly unique.
const NEARLY_UNIQUE: f64 = 0.98;

/// Rows that a column must have before its values say anything.
pub(crate) const ROWS_AT_LEAST: usize = 20;

/// Rows from which on whole numbers that are all different are ids.
const ID_ROWS_AT_LEAST: usize = 300;

/// Different persons that a column has at least, and the rows of each on average.
const PERSONS_AT_LEAST: f64 = 20.0;
const ROWS_PER_PERSON: std::ops::RangeInclusive<f64> = 1.2..=50.0;

/// Share of the persons with several rows within whose rows another column is constant.
const CONSTANT_WITHIN: f64 = 0.98;

/// Smallest sum of weights that give numbers of people.
const POPULATION_AT_LEAST: f64 = 1000.0;

/// Numbers of different codes.
const CODES: std::ops::RangeInclusive<usize> = 3..=30;

/// Words in the names of ids, and ends of such words.
const ID_WORDS: [&str; 6] = ["id", "key", "no", "account", "customer", "hash"];
const ID_ENDINGS: [&str; 2] = ["nr", "number"];

/// Words in the names of columns that say whose row it is.
const PERSON_WORDS: [&str; 7] =
    ["patient", "person", "customer", "client", "member", "applicant", "user"];

/// Words in the names of weights, and words that make a measure of them.
const WEIGHT_WORDS: [&str; 8] =
    ["weight", "weights", "wgt", "fnlwgt", "pweight", "sampleweight", "pwgtp", "perwt"];
const MEASURE_WORDS: [&str; 8] = ["kg", "lb", "lbs", "g", "grams", "pounds", "body", "birth"];

/// Words in the names of codes.
const CODE_WORDS: [&str; 8] =
    ["code", "codes", "type", "cat", "category", "class", "region", "kind"];

/// Words in the names of counts and of ordered numbers.
const COUNT_WORDS: [&str; 18] = [
    "n", "num", "number", "count", "counts", "no", "years", "months", "weeks", "days", "hours",
    "age", "size", "rank", "grade", "level", "times", "total",
];

/// What a column is other than a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SuspectedRole {
    /// It distinguishes rows.
    RowId,
    /// It says whose row it is.
    Person,
    /// It says how many people a row represents.
    Weight,
    /// It holds dates.
    Date,
    /// It holds long texts that mostly differ.
    FreeText,
}

impl SuspectedRole {
    /// Why the column is no feature.
    pub(crate) fn why(self) -> &'static str {
        match self {
            SuspectedRole::RowId => "it identifies rows",
            SuspectedRole::Person => "it says whose row it is",
            SuspectedRole::Weight => "it looks like the weight of a row",
            SuspectedRole::Date => "it holds dates",
            SuspectedRole::FreeText => "free text",
        }
    }
}

/// The words of a column's name, small: `LoanDefault` has two, as `loan_default` has.
pub(crate) fn parts(name: &str) -> Vec<String> {
    let (mut words, mut after_small) = (String::new(), false);
    for c in name.chars() {
        if after_small && c.is_uppercase() {
            words.push(' ');
        }
        after_small = c.is_lowercase();
        words.extend(c.to_lowercase());
    }
    words.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect()
}

/// Whether a word of a column's name is one of these.
pub(crate) fn is_called(profile: &ColumnProfile, words: &[&str]) -> bool {
    parts(&profile.name).iter().any(|part| words.contains(&part.as_str()))
}

/// All columns, those of the attributes, and that of the label, if it is among them.
type KnownColumns<'a> = (&'a [ColumnProfile], &'a [&'a str], Option<&'a str>);

/// What a column is other than a feature.
pub(crate) fn suspected_role(
    profile: &ColumnProfile,
    known: KnownColumns<'_>,
) -> Option<SuspectedRole> {
    match () {
        () if profile.are_dates => Some(SuspectedRole::Date),
        () if is_free_text(profile) => Some(SuspectedRole::FreeText),
        () if is_row_id(profile) => Some(SuspectedRole::RowId),
        () if is_person(profile, known) => Some(SuspectedRole::Person),
        () if is_weight(profile) => Some(SuspectedRole::Weight),
        () => None,
    }
}

/// Whether a column is called an id.
pub(crate) fn is_called_id(profile: &ColumnProfile) -> bool {
    let parts = parts(&profile.name);
    let ends = |part: &String| ID_ENDINGS.iter().any(|end| part.ends_with(end));
    is_called(profile, &ID_WORDS) || parts.iter().any(ends)
}

fn is_nearly_unique(profile: &ColumnProfile) -> bool {
    profile.present() >= ROWS_AT_LEAST as u64 && profile.rows_per_value * NEARLY_UNIQUE <= 1.0
}

/// Whether the values distinguish rows.
pub(crate) fn is_row_id(profile: &ColumnProfile) -> bool {
    let is_called = is_called_id(profile);
    let rises = profile.is_ascending || is_called;
    match profile.class {
        ValueClass::Text => profile.is_unique || is_nearly_unique(profile),
        ValueClass::Int => {
            let are_many = profile.sample.len() >= ID_ROWS_AT_LEAST;
            profile.is_unique && (rises || are_many) || is_nearly_unique(profile) && is_called
        }
        ValueClass::Float => {
            let is_dense =
                profile.range.is_some_and(|(lo, hi)| hi - lo <= 2.0 * profile.n_distinct);
            profile.is_whole && is_nearly_unique(profile) && (rises || is_dense)
        }
        ValueClass::Bool | ValueClass::Empty => false,
    }
}

/// Whether the values say whose row it is.
pub(crate) fn is_person(profile: &ColumnProfile, known: KnownColumns<'_>) -> bool {
    let may_be = match profile.class {
        ValueClass::Int | ValueClass::Text => true,
        ValueClass::Float => profile.is_whole,
        ValueClass::Bool | ValueClass::Empty => false,
    };
    let repeats =
        profile.n_distinct >= PERSONS_AT_LEAST && ROWS_PER_PERSON.contains(&profile.rows_per_value);
    let is_count = is_called(profile, &COUNT_WORDS) && !is_called_id(profile);
    may_be
        && repeats
        && (is_called(profile, &PERSON_WORDS) || !is_count && is_constant_within(profile, known))
}

/// Whether all sensitive columns and one other, which is not the label, are constant within the
/// values of a column.
fn is_constant_within(
    profile: &ColumnProfile,
    (columns, sensitive, label): KnownColumns<'_>,
) -> bool {
    let is_label = |other: &ColumnProfile| label == Some(other.name.as_str());
    let varies = |other: &&ColumnProfile| {
        other.name != profile.name && other.n_distinct >= 2.0 && !is_row_id(other)
    };
    let is_constant = |other: &ColumnProfile| constant_share(profile, other) >= CONSTANT_WITHIN;
    let is_sensitive = |other: &&ColumnProfile| sensitive.contains(&other.name.as_str());
    let mut attributes = columns.iter().filter(varies).filter(is_sensitive).peekable();
    attributes.peek().is_some()
        && attributes.all(is_constant)
        && columns
            .iter()
            .filter(varies)
            .any(|other| !is_sensitive(&other) && !is_label(other) && is_constant(other))
}

/// The share of the values of a column with several rows within whose rows another is constant; 0
/// where fewer than [`PERSONS_AT_LEAST`] have several.
fn constant_share(profile: &ColumnProfile, other: &ColumnProfile) -> f64 {
    let mut of: HashMap<u64, (u64, u64, bool)> = HashMap::new();
    for (value, other) in profile.sample.iter().zip(&other.sample) {
        let Some(value) = value else { continue };
        let other = other.map_or(0, |other| other.word);
        let (first, n, constant) = of.entry(value.word).or_insert((other, 0, true));
        *n += 1;
        *constant &= *first == other;
    }
    let several: Vec<bool> =
        of.values().filter(|(_, n, _)| *n > 1).map(|(.., constant)| *constant).collect();
    if (several.len() as f64) < PERSONS_AT_LEAST {
        return 0.0;
    }
    several.iter().filter(|constant| **constant).count() as f64 / several.len() as f64
}

/// Whether the values look like the weights of rows.
pub(crate) fn is_weight(profile: &ColumnProfile) -> bool {
    let is_positive =
        profile.range.is_some_and(|(low, _)| low > 0.0) && profile.infinite.is_empty();
    if !profile.class.is_number() || !is_positive || profile.missing > 0 || profile.n_distinct < 3.0
    {
        return false;
    }
    // Amounts in hundredths add up to a whole number by chance.
    let is_fine = |x: f64| (x * 1e4 - (x * 1e4).round()).abs() > 1e-4;
    let fine = profile.numbers().filter(|x| is_fine(*x)).count();
    let adds_up = profile.sum >= POPULATION_AT_LEAST
        && (profile.sum - profile.sum.round()).abs() <= 1e-6
        && 2 * fine > profile.sample.len();
    is_called(profile, &WEIGHT_WORDS) && !is_called(profile, &MEASURE_WORDS)
        || profile.class == ValueClass::Float && adds_up
}

/// Long texts with blanks between the words, which mostly differ.
fn is_free_text(profile: &ColumnProfile) -> bool {
    let is_long = profile.mean_letters >= 25.0 && profile.mean_blanks >= 2.0;
    let values: Vec<u64> = profile.sample.iter().flatten().map(|value| value.word).collect();
    let differ = || values.iter().collect::<HashSet<_>>().len() * 2 > values.len();
    profile.class == ValueClass::Text && is_long && values.len() >= ROWS_AT_LEAST && differ()
}

/// Whether whole numbers may be codes of levels.
pub(crate) fn is_code(profile: &ColumnProfile) -> bool {
    if !profile.class.is_number() || !profile.is_whole || profile.has_more_levels {
        return false;
    }
    let missing = missing_codes(profile.numbers());
    let is_missing = |x: f64| missing.iter().any(|set| set.codes.contains(&x));
    let number = |(level, n): (&String, &u64)| Some((level.parse::<f64>().ok()?, *n));
    let mut values: Vec<(f64, u64)> = profile.levels.iter().filter_map(number).collect();
    values.retain(|(x, _)| !is_missing(*x));
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    if !CODES.contains(&values.len()) {
        return false;
    }
    let has_no_gap = values.windows(2).all(|two| two[1].0 - two[0].0 == 1.0);
    let from_the_start = has_no_gap && (0.0..=1.0).contains(&values[0].0);
    let falls = values.windows(2).all(|two| two[1].1 < two[0].1);
    is_called(profile, &CODE_WORDS) || from_the_start && !falls && !is_called(profile, &COUNT_WORDS)
}
