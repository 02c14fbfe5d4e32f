//! Profiles a file without a job: its columns, their kinds and their values, in one pass.
//!
//! Choice: columns are compared on a sample of rows, drawn by the hash of their numbers. A text
//! file that is not valid UTF-8 is read as Windows-1252, and the notation of its numbers is the one
//! in which most columns hold nothing but numbers. A column that cannot be read in its own type is
//! read as text if its values have one, and else listed.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, BuildHasherDefault};
use std::path::{Path, PathBuf};

use crate::data::column::declared::{
    DeclaredColumn, DeclaredColumns, DeclaredType, without_percent,
};
use crate::data::column::profile::{ColumnProfile, SeenValue};
use crate::data::source::ParquetSource;
use crate::data::source::csv_import::CsvBlock;
use crate::data::source::csv_records::{CsvDialect, CsvRecord, CsvTable, TextEncoding};
use crate::data::source::found_files::find_files;
use crate::data::source::notation::{FieldClass, NumberNotation};
use crate::data::spelling::Spelling;
use crate::data::values::{ValueClass, type_in_words};
use crate::error::{Error, Result};
use crate::num::hash::FastHasher;
use crate::param::Word;
use crate::table::file::folder_keys::hive_keys;
use crate::table::file::{FileOwner, ParquetFile, ROW_GROUP_ROWS};

/// Smallest size of the sample; at most twice as many, or all rows of a shorter file.
const SAMPLE_ROWS: usize = 20_000;

/// Separators that a text file may have, the most common first.
const DELIMITERS: [char; 4] = [',', ';', '\t', '|'];

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
    /// Columns that cannot be read, each with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// What was profiled.
#[derive(Debug, Clone)]
pub enum ProfiledRows {
    /// A Parquet file, folder or glob.
    Parquet(String),
    /// A text file, as a job is to name it.
    Csv(CsvBlock),
}

/// Draws rows by the hash of their numbers, independently of the order and the size of the file.
struct RowSampler {
    /// Rows with a hash up to this one are in the sample.
    limit: u64,
    hashes: Vec<u64>,
}

impl RowSampler {
    /// Whether row `row` is in the sample; a full sample drops half of its rows.
    fn accepts<'a>(
        &mut self,
        row: u64,
        columns: impl IntoIterator<Item = &'a mut ColumnProfile>,
    ) -> bool {
        let hash = BuildHasherDefault::<FastHasher>::default().hash_one(row);
        if hash <= self.limit && self.hashes.len() == 2 * SAMPLE_ROWS {
            self.limit /= 2;
            for profile in columns {
                let mut hashes = self.hashes.iter();
                profile.sample.retain(|_| hashes.next().is_some_and(|hash| *hash <= self.limit));
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
        let mut shares = vec![LevelShares::new(); of.len()];
        let names: Vec<&str> = std::iter::once(wanted.0).chain(of.iter().copied()).collect();
        self.each_row(&names, &mut |values| {
            let [Some(value), groups @ ..] = values else { return };
            for (share, group) in shares.iter_mut().zip(groups) {
                let Some(group) = group else { continue };
                if !share.contains_key(group) {
                    share.insert(group.clone(), (0, 0));
                }
                if let Some(counts) = share.get_mut(group) {
                    *counts = (counts.0 + u64::from(wanted.1(value)), counts.1 + 1);
                }
            }
        })?;
        Ok(shares)
    }

    /// Hands the values of some columns in each row to `each`, as the profile compared them.
    fn each_row(&self, names: &[&str], each: &mut dyn FnMut(&[Option<String>])) -> Result<()> {
        let profiles =
            names.iter().map(|name| self.columns.iter().find(|profile| profile.name == *name));
        let profiles: Vec<Option<&ColumnProfile>> = profiles.collect();
        let compared = |k: usize, text: &str, canonical: Cow<'_, str>| {
            let spelling = profiles[k].map_or_else(Spelling::default, |profile| profile.spelling);
            let is_null = profiles[k].is_some_and(|of| of.missing_words.contains_key(text.trim()));
            (!is_null).then(|| spelling.of(&canonical).into_owned())
        };
        let path = match &self.rows_in {
            ProfiledRows::Parquet(path) => path,
            ProfiledRows::Csv(csv) => {
                let (dialect, notation) = csv.dialect()?;
                let place =
                    |name: &str| self.columns.iter().position(|profile| profile.name == name);
                let places: Vec<Option<usize>> = names.iter().map(|name| place(name)).collect();
                let names: Vec<String> =
                    self.columns.iter().map(|profile| profile.name.clone()).collect();
                let files = find_files(&csv.path, Some("csv"))?;
                TextFile { files: &files, dialect, names: &names }.each_row(|record| {
                    let value = |k: usize| {
                        let field = record.field(places[k]?);
                        Some(field).filter(|field| !field.is_empty())?;
                        compared(k, field, notation.canonical(field))
                    };
                    each(&(0..places.len()).map(value).collect::<Vec<_>>());
                })?;
                return Ok(());
            }
        };
        let source = ParquetSource::parquet(path, names, &self.declared())?;
        for piece in source.pieces() {
            source.read(piece, ROW_GROUP_ROWS, |slice| {
                for i in 0..slice.rows {
                    let value = |k: usize| {
                        let word = slice.columns[k].word(i)?;
                        compared(k, &word, source.columns()[k].canonical(&word))
                    };
                    each(&(0..names.len()).map(value).collect::<Vec<_>>());
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The columns whose type the job must say.
    fn declared(&self) -> DeclaredColumns {
        let declared = |profile: &ColumnProfile| {
            let declared = DeclaredColumn { kind: profile.declared?, nulls: Vec::new() };
            Some((profile.name.clone(), declared))
        };
        self.columns.iter().filter_map(declared).collect()
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
            None => {
                let kind = type_in_words(field.data_type());
                unreadable.push((field.name().clone(), format!("it holds {kind}")));
            }
        }
    }
    // The keys of folders are columns as well.
    for (key, _) in files.iter().flat_map(|path| hive_keys(path)) {
        if !names.contains(&key) && unreadable.iter().all(|(name, _)| *name != key) {
            names.push(key);
        }
    }
    let (mut declared, mut changing) = (DeclaredColumns::new(), BTreeSet::new());
    loop {
        let (column, why) = match profile_columns(pattern, &names, &declared) {
            Err(Error::Data(fault))
                if ["unreadable-value", "type-changes"].contains(&fault.code)
                    && fault.column.is_some() =>
            {
                let column = fault.column.clone().unwrap_or_default();
                if fault.code == "type-changes" {
                    changing.insert(column.clone());
                }
                (column, fault.what.clone())
            }
            found => {
                let (rows, mut columns) = found?;
                for profile in &mut columns {
                    profile.changes_type = changing.contains(&profile.name);
                }
                let rows_in = ProfiledRows::Parquet(pattern.to_owned());
                return Ok(FileProfile { rows_in, rows, columns, unreadable });
            }
        };
        let as_text = DeclaredColumn { kind: DeclaredType::Text, nulls: Vec::new() };
        if declared.insert(column.clone(), as_text).is_some() {
            declared.remove(&column);
            names.retain(|name| *name != column);
            unreadable.push((column, why));
        }
    }
}

/// The number of rows, and the profiles of these columns.
fn profile_columns(
    pattern: &str,
    names: &[String],
    declared: &DeclaredColumns,
) -> Result<(u64, Vec<ColumnProfile>)> {
    let needed: Vec<&str> = names.iter().map(String::as_str).collect();
    let source = ParquetSource::parquet(pattern, &needed, declared)?;
    let profile = |name: &str, class| {
        let mut profile = ColumnProfile::new(name, class);
        profile.declared = declared.get(name).map(|of| of.kind);
        profile
    };
    let mut columns: Vec<ColumnProfile> =
        source.columns().iter().map(|column| profile(&column.name, column.class)).collect();
    let mut sampler = RowSampler { limit: u64::MAX, hashes: Vec::new() };
    for piece in source.pieces() {
        source.read(piece, ROW_GROUP_ROWS, |slice| {
            for i in 0..slice.rows {
                let sampled = sampler.accepts(slice.first_row + i as u64, &mut columns);
                for (at, (profile, values)) in columns.iter_mut().zip(&slice.columns).enumerate() {
                    let word = values.word(i);
                    let is_text = profile.class == ValueClass::Text;
                    if let Some(word) = word.as_deref().filter(|_| is_text)
                        && profile.add_missing_word(word, sampled)
                    {
                        continue;
                    }
                    let number = profile.class.is_number().then(|| values.number(i));
                    let word = word.as_deref().map(|word| source.columns()[at].canonical(word));
                    let seen = word.as_deref().map(|word| SeenValue { word, number });
                    profile.add(seen, sampled);
                }
            }
            Ok(())
        })?;
    }
    columns.iter_mut().for_each(ColumnProfile::finish);
    Ok((source.n_rows(), columns))
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
    let first = files.first().map_or(Path::new(path), PathBuf::as_path);
    let dialect = |delimiter: char| CsvDialect {
        encoding,
        ..CsvDialect::of_delimiter(u8::try_from(delimiter).unwrap_or(b','))
    };
    let header = |delimiter: char| -> Result<Vec<String>> {
        Ok(CsvTable::open(first, dialect(delimiter), true)?.names)
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
    let text = TextFile { files: &files, dialect: dialect(delimiter), names: &names };
    let mut notation = NumberNotation::default();
    let (mut rows, mut columns) = text.profile(notation)?;
    if let Some(other) = notation_of(&columns) {
        notation = other;
        (rows, columns) = text.profile(notation)?;
    }
    let mut columns: Vec<ColumnProfile> = columns.into_iter().map(FieldColumn::finish).collect();
    columns.iter_mut().for_each(ColumnProfile::finish);
    // Words among numbers: without them the column is one of numbers.
    let numeric = columns.iter().filter(|profile| profile.class.is_number());
    let nulls: BTreeSet<&String> =
        numeric.flat_map(|profile| profile.missing_words.keys()).collect();
    let csv = CsvBlock {
        delimiter,
        encoding,
        decimal: notation.decimal,
        thousands: notation.thousands,
        null_values: nulls.into_iter().map(|null| Word(null.clone())).collect(),
        ..CsvBlock::at(path)
    };
    Ok(FileProfile { rows_in: ProfiledRows::Csv(csv), rows, columns, unreadable: Vec::new() })
}

/// A column of a text file while it is read.
struct FieldColumn {
    profile: ColumnProfile,
    class: FieldClass,
    /// Which of [`NumberNotation::OTHERS`] no value excludes.
    notations: [bool; NumberNotation::OTHERS.len()],
    /// Whether every value is a number with a percent sign.
    are_percent: bool,
}

impl FieldColumn {
    fn new(name: &str) -> Self {
        FieldColumn {
            profile: ColumnProfile::new(name, ValueClass::Empty),
            class: FieldClass::EMPTY,
            notations: [true; NumberNotation::OTHERS.len()],
            are_percent: true,
        }
    }

    /// Adds a field of a row; the empty one is missing.
    fn add(&mut self, field: &str, notation: NumberNotation, sampled: bool) {
        if field.is_empty() {
            return self.profile.add(None, sampled);
        }
        if self.profile.add_missing_word(field, sampled) {
            return;
        }
        self.class.add(field, notation);
        let others = self.notations.iter_mut().zip(NumberNotation::OTHERS);
        for (possible, other) in others.filter(|(possible, _)| **possible) {
            *possible = other.number(field).is_some() && !other.is_code(field);
        }
        self.are_percent &= field.trim_end().ends_with('%');
        let number = notation.float(field).filter(|_| !notation.is_code(field));
        let percent = || notation.number(without_percent(field)).filter(|_| self.are_percent);
        let number = number.or_else(percent);
        self.are_percent &= number.is_some();
        let word = notation.canonical(field);
        self.profile.add(Some(SeenValue { word: &word, number }), sampled);
    }

    /// The profile with the class of the column.
    fn finish(self) -> ColumnProfile {
        let FieldColumn { mut profile, class, are_percent, .. } = self;
        let has_values = profile.present() > 0;
        profile.class = class.class();
        if are_percent && has_values {
            profile.class = ValueClass::Float;
            profile.declared = Some(DeclaredType::Percent);
        }
        profile
    }
}

/// The notation other than the plain one in which most columns hold nothing but numbers; `None`
/// where the plain one does as well.
fn notation_of(columns: &[FieldColumn]) -> Option<NumberNotation> {
    let has_values = |column: &&FieldColumn| column.profile.present() > 0;
    let n = |is_numeric: &dyn Fn(&FieldColumn) -> bool| {
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
    /// Hands every row of every file to `each`.
    fn each_row(&self, mut each: impl FnMut(&CsvRecord)) -> Result<()> {
        for path in self.files {
            let mut table = CsvTable::open(path, self.dialect, true)?;
            self.names.clone_into(&mut table.names);
            while let Some(record) = table.next()? {
                each(record);
            }
        }
        Ok(())
    }

    /// The number of rows, and the columns with numbers in a notation.
    fn profile(&self, notation: NumberNotation) -> Result<(u64, Vec<FieldColumn>)> {
        let mut columns: Vec<FieldColumn> =
            self.names.iter().map(|name| FieldColumn::new(name)).collect();
        let mut rows = 0;
        let mut sampler = RowSampler { limit: u64::MAX, hashes: Vec::new() };
        self.each_row(|record| {
            let profiles = columns.iter_mut().map(|column| &mut column.profile);
            let sampled = sampler.accepts(rows, profiles);
            rows += 1;
            for (column, field) in columns.iter_mut().zip(record.fields()) {
                column.add(field, notation, sampled);
            }
        })?;
        Ok((rows, columns))
    }
}
