//! The profile of a column: how often each value occurs, the range of its numbers, and its values
//! in a sample of rows.
//!
//! Choice: values are counted by their canonical texts. At most [`MAX_LISTED`] of them are listed;
//! beyond that, only the fact that there are more is kept. Whether all differ is known exactly, by
//! their hashes; how many differ, and how often one occurs, is known of the values with the lowest
//! hashes, at most [`MAX_COUNTED`] of them. Words that mean missing are counted separately.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault};

use crate::data::canonical::{boolean, canonical_text, means_missing};
use crate::data::column::declared::{DeclaredType, iso_date};
use crate::data::spelling::{self, Spelling};
use crate::data::values::{ValueClass, float_text};
use crate::num::hash::FastHasher;

/// Largest number of distinct values of a column that are listed.
pub const MAX_LISTED: usize = 1000;

/// Largest number of distinct values whose rows are counted.
const MAX_COUNTED: usize = 8192;

/// The profile of a column.
#[derive(Debug, Clone, Default)]
pub struct ColumnProfile {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub class: ValueClass,
    /// The type that the job must say so that the values are read; none: their own.
    pub declared: Option<DeclaredType>,
    /// Whether its files hold values of different types.
    pub changes_type: bool,
    /// Rows without a value.
    pub missing: u64,
    /// The words that mean missing, as they are spelt, and the rows with each; they are among the
    /// missing ones.
    pub missing_words: BTreeMap<String, u64>,
    /// Its values and how often each occurs; empty where there are more than [`MAX_LISTED`].
    pub levels: BTreeMap<String, u64>,
    /// Whether there are more than [`MAX_LISTED`].
    pub has_more_levels: bool,
    /// Whether no value occurs twice.
    pub is_unique: bool,
    /// Rows for each distinct value, on average; 1 where all differ.
    pub rows_per_value: f64,
    /// Number of distinct values: exact up to [`MAX_COUNTED`], then estimated.
    pub n_distinct: f64,
    /// Smallest and largest finite number; `None` where it holds none.
    pub range: Option<(f64, f64)>,
    /// Rows with an infinite number, by its text.
    pub infinite: BTreeMap<String, u64>,
    /// Whether every number is above the one before.
    pub is_ascending: bool,
    /// Whether every value is a whole number.
    pub is_whole: bool,
    /// Sum of the numbers.
    pub sum: f64,
    /// Whether every value is a date.
    pub are_dates: bool,
    /// Mean number of letters of a value.
    pub mean_letters: f64,
    /// Mean number of blanks of a value.
    pub mean_blanks: f64,
    /// Its values in the rows of the sample, the same rows for all columns.
    pub sample: Vec<Option<SampledValue>>,
    /// The spelling in which texts that differ only by case are one value. Levels and sample have
    /// it.
    pub spelling: Spelling,
    /// The values of the file that it joins.
    pub joined: Vec<Vec<String>>,
    rows: u64,
    last: f64,
    seen: Option<HashSet<u64, BuildHasherDefault<FastHasher>>>,
    counted: CountedValues,
}

/// The values with the lowest hashes and the rows of each.
#[derive(Debug, Clone, Default)]
struct CountedValues {
    /// Values with a hash up to this one are counted.
    limit: u64,
    rows: HashMap<u64, u64, BuildHasherDefault<FastHasher>>,
}

impl CountedValues {
    fn add(&mut self, hash: u64) {
        // The hash of the hash: values with neighbouring hashes are counted independently.
        let place = BuildHasherDefault::<FastHasher>::default().hash_one(hash);
        if place > self.limit {
            return;
        }
        *self.rows.entry(place).or_default() += 1;
        while self.rows.len() > MAX_COUNTED {
            self.limit /= 2;
            let limit = self.limit;
            self.rows.retain(|place, _| *place <= limit);
        }
    }

    /// The number of distinct values, and the rows of each on average.
    fn distinct(&self) -> (f64, f64) {
        let n = self.rows.len() as f64;
        let share = (self.limit as f64 + 1.0) / (u64::MAX as f64 + 1.0);
        let rows: u64 = self.rows.values().sum();
        (n / share, rows as f64 / n.max(1.0))
    }
}

/// A value in a row of the sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampledValue {
    /// [`hash_of`] its word.
    pub word: u64,
    /// Its number; NaN where it is none.
    pub number: f64,
}

/// The values of a column in a sample of rows.
pub(crate) enum SampleColumn<'a> {
    /// Numbers; NaN is missing.
    Numbers(&'a [f64]),
    /// Positions of texts; others are missing.
    Codes(&'a [u32], &'a [String]),
}

/// The hash by which the values of a sample are compared.
pub fn hash_of(word: &str) -> u64 {
    BuildHasherDefault::<FastHasher>::default().hash_one(word)
}

/// A value as it is added to a profile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeenValue<'a> {
    /// Its canonical text.
    pub(crate) word: &'a str,
    /// Its number, if it is one.
    pub(crate) number: Option<f64>,
}

impl ColumnProfile {
    pub(crate) fn new(name: &str, class: ValueClass) -> Self {
        ColumnProfile {
            name: name.to_owned(),
            class,
            is_unique: true,
            rows_per_value: 1.0,
            is_ascending: true,
            is_whole: true,
            are_dates: true,
            last: f64::NEG_INFINITY,
            seen: Some(HashSet::default()),
            counted: CountedValues { limit: u64::MAX, rows: HashMap::default() },
            ..ColumnProfile::default()
        }
    }

    /// The profile of a column that was read already, by its values in a sample of the rows. A
    /// number represents its text; `levels` are the texts of a column of codes.
    pub(crate) fn of_sample(name: &str, class: ValueClass, values: &SampleColumn<'_>) -> Self {
        let mut look = ColumnProfile::new(name, class);
        let mut add = |value: Option<SeenValue<'_>>| look.add(value, true);
        match values {
            SampleColumn::Numbers(values) => values.iter().for_each(|&value| {
                let text = float_text(value);
                let seen = SeenValue { word: &text, number: Some(value) };
                add((!value.is_nan()).then_some(seen));
            }),
            SampleColumn::Codes(codes, levels) => codes.iter().for_each(|&code| {
                let word = levels.get(code as usize).map(String::as_str);
                add(word.map(|word| SeenValue { word, number: None }));
            }),
        }
        look.finish();
        look
    }

    /// Adds the text of a field, unless it is a word that means missing; says whether it is one.
    pub(crate) fn add_missing_word(&mut self, field: &str, sampled: bool) -> bool {
        let is_word = means_missing(field);
        if is_word {
            *self.missing_words.entry(field.trim().to_owned()).or_default() += 1;
            self.add(None, sampled);
        }
        is_word
    }

    /// Adds the value of a row; none is missing.
    pub(crate) fn add(&mut self, value: Option<SeenValue<'_>>, sampled: bool) {
        self.rows += 1;
        if sampled {
            self.sample.push(value.map(|SeenValue { word, number }| SampledValue {
                word: hash_of(word),
                number: number.filter(|number| number.is_finite()).unwrap_or(f64::NAN),
            }));
        }
        let Some(SeenValue { word, number }) = value else {
            self.missing += 1;
            return;
        };
        let hash = hash_of(word);
        if let Some(seen) = &mut self.seen
            && !seen.insert(hash)
        {
            self.seen = None;
        }
        self.counted.add(hash);
        self.mean_letters += word.chars().count() as f64;
        self.mean_blanks += word.matches(' ').count() as f64;
        self.are_dates &= number.is_none() && iso_date(word).is_some();
        match number {
            Some(number) if number.is_finite() => {
                self.is_ascending &= number > self.last;
                self.is_whole &= number.fract() == 0.0;
                self.sum += number;
                self.last = number;
                let range = self
                    .range
                    .map_or((number, number), |(lo, hi)| (lo.min(number), hi.max(number)));
                self.range = Some(range);
            }
            Some(number) => *self.infinite.entry(float_text(number)).or_default() += 1,
            None => self.is_whole = false,
        }
        if self.has_more_levels {
            return;
        }
        if let Some(n) = self.levels.get_mut(word) {
            *n += 1;
        } else if self.levels.len() < MAX_LISTED {
            self.levels.insert(word.to_owned(), 1);
        } else {
            self.has_more_levels = true;
            self.levels.clear();
        }
    }

    /// The level that a text of the user's names.
    pub(crate) fn level_of(&self, text: &str) -> String {
        let text = canonical_text(text);
        // Texts that spell out booleans match 1 and 0, as booleans do.
        let class = if self.spells_booleans() { ValueClass::Bool } else { self.class };
        let text = class.canonical(&text).unwrap_or_else(|| text.into_owned());
        self.spelling.of(&text).into_owned()
    }

    /// Rows with a value.
    pub(crate) fn present(&self) -> u64 {
        self.rows - self.missing
    }

    /// The finite numbers of the sample.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> {
        self.sample.iter().flatten().map(|value| value.number).filter(|x| !x.is_nan())
    }

    /// Whether a value of the sample is set, of a column that holds nothing but 0 and 1, or true
    /// and false, and both; none for other columns. A missing value is not set.
    pub(crate) fn bits(&self) -> Option<Vec<bool>> {
        let is_bit = |level: &String| matches!(level.as_str(), "0" | "1" | "true" | "false");
        let two = !self.has_more_levels && self.levels.len() == 2;
        let set = self.levels.keys().find(|level| *level == "1" || *level == "true")?;
        let set = hash_of(set);
        let is_set = |value: &Option<SampledValue>| value.is_some_and(|value| value.word == set);
        (two && self.levels.keys().all(is_bit)).then(|| self.sample.iter().map(is_set).collect())
    }

    /// Whether the values of a column with both truth values are texts or booleans, not numbers.
    pub(crate) fn spells_booleans(&self) -> bool {
        !self.levels.is_empty() && self.levels.keys().all(|level| boolean(level).is_some())
    }

    /// Brings listed texts to one spelling where some differ only by case.
    fn respell(&mut self) {
        if self.class != ValueClass::Text {
            return;
        }
        let listed = std::mem::take(&mut self.levels);
        let found = spelling::alike(listed.iter().map(|(word, n)| (word.as_str(), *n)));
        let Some((groups, spelling)) = found else {
            self.levels = listed;
            return;
        };
        let texts = |group: &Vec<(&str, u64)>| {
            group.iter().map(|(word, _)| (*word).to_owned()).collect::<Vec<String>>()
        };
        (self.spelling, self.joined) = (spelling, groups.iter().map(texts).collect());
        let mut spelt = HashMap::new();
        for (word, n) in &listed {
            let to = spelling.of(word);
            spelt.insert(hash_of(word), hash_of(&to));
            *self.levels.entry(to.into_owned()).or_default() += n;
        }
        for value in self.sample.iter_mut().flatten() {
            if let Some(&word) = spelt.get(&value.word) {
                *value = SampledValue { word, number: f64::NAN };
            }
        }
    }

    /// Ends the profile, once all rows are added.
    pub(crate) fn finish(&mut self) {
        self.respell();
        let present = self.present();
        self.is_unique = present > 0 && self.missing == 0 && self.seen.is_some();
        self.seen = None;
        (self.n_distinct, self.rows_per_value) = self.counted.distinct();
        self.counted.rows = HashMap::default();
        self.is_ascending &= self.range.is_some();
        self.is_whole &= self.range.is_some() && self.infinite.is_empty();
        self.are_dates &= present > 0;
        let there = present.max(1) as f64;
        (self.mean_letters, self.mean_blanks) =
            (self.mean_letters / there, self.mean_blanks / there);
    }
}
