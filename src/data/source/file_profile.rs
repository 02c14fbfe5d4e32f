//! Profiles a file without a job: its columns, their kinds and their values, in one pass.
//!
//! Choice: at most [`MAX_LISTED`] distinct values of a column are listed; beyond that, only the
//! fact that there are more is kept. Whether the values of a column are unique is known exactly, by
//! their hashes. Columns are compared on a sample of rows, drawn by the hash of their numbers. In a
//! text file a numeric column may contain words that usually mean missing, such as `NA`; where one
//! does, these words are missing in all columns. A text file that is not valid UTF-8 is read as
//! Windows-1252, and the notation of its numbers is the one in which most columns hold nothing but
//! numbers.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault};
use std::path::{Path, PathBuf};

use crate::data::source::ParquetSource;
use crate::data::source::csv_import::CsvBlock;
use crate::data::source::csv_records::{CsvDialect, CsvReader, CsvRecord, TextEncoding};
use crate::data::source::found_files::find_files;
use crate::data::source::notation::NumberNotation;
use crate::data::spelling::{self, Spelling};
use crate::data::values::{ValueClass, float_text};
use crate::error::{Error, Fault, Result};
use crate::num::hash::FastHasher;
use crate::param::Word;
use crate::table::file::{BATCH_ROWS, FileOwner, ParquetFile};

/// Largest number of distinct values of a column that are listed.
pub const MAX_LISTED: usize = 1000;

/// Smallest size of the sample; at most twice as many, or all rows of a shorter file.
const SAMPLE_ROWS: usize = 20_000;

/// Separators that a text file may have, the most common first.
const DELIMITERS: [char; 4] = [',', ';', '\t', '|'];

/// Words that mean missing where the other values of a column are numbers.
const NULL_WORDS: [&str; 17] = [
    "NA",
    "N/A",
    "n/a",
    "na",
    "NaN",
    "nan",
    "NULL",
    "null",
    "None",
    "none",
    "?",
    "-",
    "n.a.",
    "N.A.",
    "k.A.",
    "k. A.",
    "keine Angabe",
];

/// For each value of a column the number of its rows with a wanted value of another column.
///
/// The second number counts all its rows.
pub type LevelShares = BTreeMap<String, (u64, u64)>;

/// The profile of a file.
#[derive(Debug, Clone)]
pub struct FileProfile {
    /// The Parquet file, folder or glob, or the text file with the form that was found.
    pub rows_in: ProfiledRows,
    /// Number of rows.
    pub rows: u64,
    /// The columns in their order.
    pub columns: Vec<ColumnProfile>,
    /// Columns of types that cannot be read.
    pub unreadable: Vec<String>,
}

/// What was profiled.
#[derive(Debug, Clone)]
pub enum ProfiledRows {
    /// A Parquet file, folder or glob.
    Parquet(String),
    /// A text file, as a job is to name it.
    Csv(CsvBlock),
}

/// The profile of a column.
#[derive(Debug, Clone)]
pub struct ColumnProfile {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub class: ValueClass,
    /// Rows without a value.
    pub missing: u64,
    /// Those of them with a word that means missing.
    pub null_words: u64,
    /// Its values and how often each occurs; empty where there are more than [`MAX_LISTED`].
    pub levels: BTreeMap<String, u64>,
    /// Whether there are more than [`MAX_LISTED`].
    pub has_more_levels: bool,
    /// Whether no value occurs twice.
    pub is_unique: bool,
    /// Smallest and largest number; `None` where it holds none.
    pub range: Option<(f64, f64)>,
    /// Whether every number is above the one before.
    pub is_ascending: bool,
    /// Mean number of letters of a value.
    pub mean_letters: f64,
    /// Mean number of blanks of a value.
    pub mean_blanks: f64,
    /// Its values in the rows of the sample, the same rows for all columns.
    pub sample: Vec<Option<SampledValue>>,
    /// The spelling in which texts that differ only by case or blanks are one value. Levels and
    /// sample have it.
    pub spelling: Spelling,
    /// The values of the file that it joins.
    pub joined: Vec<Vec<String>>,
    last: f64,
    seen: Option<HashSet<u64, BuildHasherDefault<FastHasher>>>,
    /// How often each of [`NULL_WORDS`] occurs.
    nulls: [u64; NULL_WORDS.len()],
    /// Which of [`NumberNotation::OTHERS`] no value excludes.
    notations: [bool; NumberNotation::OTHERS.len()],
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

/// Draws rows by the hash of their numbers, independently of the order and the size of the file.
struct RowSampler {
    /// Rows with a hash up to this one are in the sample.
    limit: u64,
    hashes: Vec<u64>,
}

impl RowSampler {
    /// Whether row `row` is in the sample; a full sample drops half of its rows.
    fn accepts(&mut self, row: u64, columns: &mut [ColumnProfile]) -> bool {
        let hash = BuildHasherDefault::<FastHasher>::default().hash_one(row);
        if hash <= self.limit && self.hashes.len() == 2 * SAMPLE_ROWS {
            self.limit /= 2;
            for look in columns {
                let mut hashes = self.hashes.iter();
                look.sample.retain(|_| hashes.next().is_some_and(|hash| *hash <= self.limit));
            }
            self.hashes.retain(|hash| *hash <= self.limit);
        }
        let takes = hash <= self.limit;
        if takes {
            self.hashes.push(hash);
        }
        takes
    }
}

impl ColumnProfile {
    fn new(name: &str, class: ValueClass) -> Self {
        ColumnProfile {
            name: name.to_owned(),
            class,
            missing: 0,
            null_words: 0,
            levels: BTreeMap::new(),
            has_more_levels: false,
            is_unique: true,
            range: None,
            is_ascending: true,
            mean_letters: 0.0,
            mean_blanks: 0.0,
            sample: Vec::new(),
            spelling: Spelling::default(),
            joined: Vec::new(),
            last: f64::NEG_INFINITY,
            seen: Some(HashSet::default()),
            nulls: [0; NULL_WORDS.len()],
            notations: [true; NumberNotation::OTHERS.len()],
        }
    }

    /// The profile of a column that was read already, by its values in a sample of the rows. A
    /// number represents its text; `levels` are the texts of a column of codes.
    pub(crate) fn of_sample(name: &str, class: ValueClass, values: &SampleColumn<'_>) -> Self {
        let mut look = ColumnProfile::new(name, class);
        let mut rows = 0;
        let mut add = |word: Option<&str>, value: Option<f64>| {
            rows += 1;
            look.add(word, value, true);
        };
        match values {
            SampleColumn::Numbers(values) => values.iter().for_each(|&value| {
                let text = (!value.is_nan()).then(|| float_text(value));
                add(text.as_deref(), Some(value));
            }),
            SampleColumn::Codes(codes, levels) => codes.iter().for_each(|&code| {
                add(levels.get(code as usize).map(String::as_str), None);
            }),
        }
        look.finish(rows);
        look
    }

    fn add(&mut self, word: Option<&str>, value: Option<f64>, sampled: bool) {
        if sampled {
            self.sample.push(word.map(|word| SampledValue {
                word: hash_of(word),
                number: value.unwrap_or(f64::NAN),
            }));
        }
        let Some(word) = word else {
            self.missing += 1;
            self.seen = None;
            return;
        };
        if let Some(seen) = &mut self.seen
            && !seen.insert(hash_of(word))
        {
            self.seen = None;
        }
        self.mean_letters += word.chars().count() as f64;
        self.mean_blanks += word.matches(' ').count() as f64;
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.is_ascending &= value > self.last;
            self.last = value;
            self.range =
                Some(self.range.map_or((value, value), |(lo, hi)| (lo.min(value), hi.max(value))));
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

    /// Narrows the class to one that holds a field of a text file as well.
    fn widen(&mut self, field: &str, notation: NumberNotation) {
        let others = self.notations.iter_mut().zip(NumberNotation::OTHERS);
        for (possible, other) in others.filter(|(possible, _)| **possible) {
            *possible = other.number(field).is_some() && !other.is_code(field);
        }
        self.class = notation.widen(self.class, field);
    }

    /// Counts these words as missing.
    fn count_as_missing(&mut self, nulls: &[&str]) {
        for (word, n) in
            NULL_WORDS.iter().zip(self.nulls).filter(|(word, n)| *n > 0 && nulls.contains(word))
        {
            self.missing += n;
            self.null_words += n;
            self.levels.remove(*word);
            self.seen = None;
            let hash = hash_of(word);
            self.sample
                .iter_mut()
                .filter(|value| value.is_some_and(|value| value.word == hash))
                .for_each(|value| *value = None);
        }
    }

    /// Brings listed texts to one spelling where some differ only by case or blanks.
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
            let is_missing = spelling.trim && to.is_empty();
            spelt.insert(hash_of(word), (!is_missing).then(|| hash_of(&to)));
            if is_missing {
                self.missing += n;
            } else {
                *self.levels.entry(to.into_owned()).or_default() += n;
            }
        }
        for value in &mut self.sample {
            let to = value.and_then(|of| spelt.get(&of.word).copied());
            if let Some(to) = to {
                *value = to.map(|word| SampledValue { word, number: f64::NAN });
            }
        }
    }

    fn finish(&mut self, rows: u64) {
        self.respell();
        self.is_unique = rows > 0 && self.seen.take().is_some();
        self.is_ascending &= self.range.is_some();
        let there = rows.saturating_sub(self.missing).max(1) as f64;
        (self.mean_letters, self.mean_blanks) =
            (self.mean_letters / there, self.mean_blanks / there);
    }
}

impl FileProfile {
    /// For each value of the columns `of` how often rows hold a wanted value of another column.
    ///
    /// Rows without a value of either are not counted. Another pass over the file.
    ///
    /// # Errors
    /// The file can no longer be read.
    pub fn level_shares(
        &self,
        wanted: (&str, impl Fn(&str) -> bool),
        of: &[&str],
    ) -> Result<Vec<LevelShares>> {
        let spelling = |name: &str| {
            let look = self.columns.iter().find(|look| look.name == name);
            look.map_or_else(Spelling::default, |look| look.spelling)
        };
        let mut shares = vec![LevelShares::new(); of.len()];
        let mut add = |value: Option<&str>, others: &mut dyn Iterator<Item = Option<&str>>| {
            let Some(value) = value else { return };
            let value = spelling(wanted.0).of(value);
            for ((share, group), name) in shares.iter_mut().zip(others).zip(of) {
                let Some(group) = group else { continue };
                let group = &*spelling(name).of(group);
                if !share.contains_key(group) {
                    share.insert(group.to_owned(), (0, 0));
                }
                if let Some(counts) = share.get_mut(group) {
                    *counts = (counts.0 + u64::from(wanted.1(&value)), counts.1 + 1);
                }
            }
        };
        let place = |name: &str| self.columns.iter().position(|look| look.name == name);
        let path = match &self.rows_in {
            ProfiledRows::Parquet(path) => path,
            ProfiledRows::Csv(csv) => {
                let is_value = |field: &&str| {
                    !field.is_empty() && !csv.null_values.iter().any(|null| null.as_str() == *field)
                };
                let (dialect, _) = csv.dialect()?;
                for path in find_files(&csv.path, Some("csv"))? {
                    let mut reader = CsvReader::open(&path, dialect)?;
                    let mut record = CsvRecord::default();
                    reader.read(&mut record)?;
                    while reader.read(&mut record)? {
                        let field = |name: &str| record.fields().nth(place(name)?).filter(is_value);
                        add(field(wanted.0), &mut of.iter().map(|name| field(name)));
                    }
                }
                return Ok(shares);
            }
        };
        let needed: Vec<&str> = std::iter::once(wanted.0).chain(of.iter().copied()).collect();
        let source = ParquetSource::parquet(path, &needed)?;
        let at = |name: &str| source.columns().iter().position(|column| column.name == name);
        for piece in source.pieces() {
            source.read(piece, BATCH_ROWS, |slice| {
                for i in 0..slice.rows {
                    let word = |name: &str| slice.columns[at(name)?].word(i);
                    let others: Vec<_> = of.iter().map(|name| word(name)).collect();
                    add(word(wanted.0).as_deref(), &mut others.iter().map(|word| word.as_deref()));
                }
                Ok(())
            })?;
        }
        Ok(shares)
    }
}

/// Profiles a Parquet file, folder or glob, or a text file.
///
/// # Errors
/// No such file, or one that cannot be read.
pub fn profile_file(path: &str) -> Result<FileProfile> {
    let is_text =
        [".csv", ".tsv", ".txt"].iter().any(|ending| path.to_ascii_lowercase().ends_with(ending));
    if is_text { profile_text(path) } else { profile_parquet(path) }
}

fn profile_parquet(pattern: &str) -> Result<FileProfile> {
    let files = find_files(pattern, Some("parquet"))?;
    let first = ParquetFile::open(
        files.first().map_or(Path::new(pattern), PathBuf::as_path),
        FileOwner::User,
    )?;
    let (mut names, mut unreadable) = (Vec::new(), Vec::new());
    for field in first.schema().fields() {
        match ValueClass::of(field.data_type()) {
            Some(_) => names.push(field.name().clone()),
            None => unreadable.push(field.name().clone()),
        }
    }
    let needed: Vec<&str> = names.iter().map(String::as_str).collect();
    let source = ParquetSource::parquet(pattern, &needed)?;
    let mut columns: Vec<ColumnProfile> = source
        .columns()
        .iter()
        .map(|column| ColumnProfile::new(&column.name, column.class))
        .collect();
    let mut sampler = RowSampler { limit: u64::MAX, hashes: Vec::new() };
    for piece in source.pieces() {
        source.read(piece, BATCH_ROWS, |slice| {
            for i in 0..slice.rows {
                let sampled = sampler.accepts(slice.first_row + i as u64, &mut columns);
                for (look, values) in columns.iter_mut().zip(&slice.columns) {
                    let value = look.class.is_number().then(|| values.number(i));
                    look.add(values.word(i).as_deref(), value, sampled);
                }
            }
            Ok(())
        })?;
    }
    columns.iter_mut().for_each(|look| look.finish(source.n_rows()));
    Ok(FileProfile {
        rows_in: ProfiledRows::Parquet(pattern.to_owned()),
        rows: source.n_rows(),
        columns,
        unreadable,
    })
}

fn profile_text(path: &str) -> Result<FileProfile> {
    match profile_encoded(path, TextEncoding::Utf8) {
        Err(Error::Data(fault)) if fault.code == "bad-encoding" => {
            // A file of two bytes a character is refused again, with its own hint.
            profile_encoded(path, TextEncoding::Windows1252)
        }
        found => found,
    }
}

fn profile_encoded(path: &str, encoding: TextEncoding) -> Result<FileProfile> {
    let files = find_files(path, Some("csv"))?;
    let Some(first) = files.first() else {
        return Err(Fault::new("missing-file", "there is no such file").into());
    };
    let dialect = |delimiter: char| CsvDialect {
        encoding,
        ..CsvDialect::of_delimiter(u8::try_from(delimiter).unwrap_or(b','))
    };
    let header = |delimiter: char| -> Result<Vec<String>> {
        let mut record = CsvRecord::default();
        let found = CsvReader::open(first, dialect(delimiter))?.read(&mut record)?;
        Ok(if found { record.fields().map(str::to_owned).collect() } else { Vec::new() })
    };
    // The separator that gives most columns; ties go to the most common.
    let mut best = (DELIMITERS[0], header(DELIMITERS[0])?);
    for delimiter in &DELIMITERS[1..] {
        // A separator with which the header is malformed is not the separator.
        if let Ok(names) = header(*delimiter)
            && names.len() > best.1.len()
        {
            best = (*delimiter, names);
        }
    }
    let (delimiter, names) = best;
    if names.is_empty() {
        return Err(Fault::new("empty-file", format!("`{}` has no line", first.display()))
            .in_file(first)
            .into());
    }
    let text = TextFile { files: &files, dialect: dialect(delimiter), names: &names };
    let mut notation = NumberNotation::default();
    let (mut rows, mut columns) = text.profile(notation)?;
    if let Some(other) = notation_of(&columns) {
        notation = other;
        (rows, columns) = text.profile(notation)?;
    }
    let is_met =
        |i: &usize| columns.iter().any(|look| look.class.is_number() && look.nulls[*i] > 0);
    let nulls: Vec<&'static str> =
        (0..NULL_WORDS.len()).filter(is_met).map(|i| NULL_WORDS[i]).collect();
    for look in &mut columns {
        look.count_as_missing(&nulls);
        let is_level = |(null, n): (&&str, u64)| n > 0 && !nulls.contains(null);
        if look.class == ValueClass::Empty && NULL_WORDS.iter().zip(look.nulls).any(is_level) {
            look.class = ValueClass::Text;
        }
        look.finish(rows);
    }
    let csv = CsvBlock {
        delimiter,
        encoding,
        decimal: notation.decimal(),
        thousands: notation.thousands(),
        null_values: nulls.into_iter().map(|null| Word(null.to_owned())).collect(),
        ..CsvBlock::at(path)
    };
    Ok(FileProfile { rows_in: ProfiledRows::Csv(csv), rows, columns, unreadable: Vec::new() })
}

/// The notation other than the plain one in which most columns hold nothing but numbers; `None`
/// where the plain one does as well.
fn notation_of(columns: &[ColumnProfile]) -> Option<NumberNotation> {
    let has_values = |column: &&ColumnProfile| column.class != ValueClass::Empty;
    let n = |is_numeric: &dyn Fn(&ColumnProfile) -> bool| {
        columns.iter().filter(has_values).filter(|column| is_numeric(column)).count()
    };
    let plain = n(&|column| column.class.is_number());
    let (mut best, mut found) = (plain, None);
    for (i, notation) in NumberNotation::OTHERS.into_iter().enumerate() {
        let numeric = n(&|column| column.notations[i]);
        if numeric > best {
            (best, found) = (numeric, Some(notation));
        }
    }
    found
}

/// Text files of one header.
struct TextFile<'a> {
    files: &'a [PathBuf],
    dialect: CsvDialect,
    names: &'a [String],
}

impl TextFile<'_> {
    /// The number of rows, and the columns with numbers in a notation.
    fn profile(&self, notation: NumberNotation) -> Result<(u64, Vec<ColumnProfile>)> {
        let mut columns: Vec<ColumnProfile> =
            self.names.iter().map(|name| ColumnProfile::new(name, ValueClass::Empty)).collect();
        let mut rows = 0;
        let mut sampler = RowSampler { limit: u64::MAX, hashes: Vec::new() };
        for path in self.files {
            let mut reader = CsvReader::open(path, self.dialect)?;
            let mut record = CsvRecord::default();
            reader.read(&mut record)?;
            while reader.read(&mut record)? {
                if record.len() != self.names.len() {
                    let (found, wanted) = (record.len(), self.names.len());
                    let what = format!("a line has {found} fields, the header has {wanted}");
                    let fault = Fault::new("ragged-row", what)
                        .in_file(path)
                        .at_row(format!("line {}", record.line));
                    return Err(fault
                        .hint("correct the line, or quote the field that contains a separator")
                        .into());
                }
                let sampled = sampler.accepts(rows, &mut columns);
                rows += 1;
                for (look, field) in columns.iter_mut().zip(record.fields()) {
                    let word = Some(field).filter(|field| !field.is_empty());
                    look.add(word, word.and_then(|word| notation.number(word)), sampled);
                    let Some(word) = word else { continue };
                    match NULL_WORDS.iter().position(|null| *null == word) {
                        Some(null) => look.nulls[null] += 1,
                        None => look.widen(word, notation),
                    }
                }
            }
        }
        Ok((rows, columns))
    }
}
