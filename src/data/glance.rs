//! Looks at a file that no job describes yet: which columns it has, of what kind, with which values. One pass.
//!
//! Choice: values are listed up to [`MOST`] different ones a column; beyond, it is only known that there are more. Whether a column tells
//! rows apart is known exactly, by the hash of its values. Of a text file a column of numbers may have words that usually mean missing, such as
//! `NA`; where one has, they are missing in all columns.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault};
use std::path::{Path, PathBuf};

use crate::data::csv::{Reader, Record};
use crate::data::source::{Source, find};
use crate::data::values::{Class, number};
use crate::error::{Fault, Result};
use crate::num::hash::Mixer;
use crate::table::io::{BATCH_ROWS, Owner, ParquetFile};

/// Different values of a column that are listed.
pub const MOST: usize = 1000;

/// Separators that a text file may have, the usual one first.
const DELIMITERS: [char; 4] = [',', ';', '\t', '|'];

/// Words that mean missing where the other values of a column are numbers.
const NULLS: [&str; 12] = ["NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "none", "?", "-"];

/// Of a column each value with the rows that hold a wanted value of another one, and the rows that hold any.
pub type Wanted = BTreeMap<String, (u64, u64)>;

/// What a file holds.
#[derive(Debug, Clone)]
pub struct Glance {
    /// The file, folder or glob.
    path: String,
    /// Number of rows.
    pub rows: u64,
    /// The separator of a text file; none for Parquet.
    pub delimiter: Option<char>,
    /// Words that mean missing, of a text file.
    pub nulls: Vec<&'static str>,
    /// The columns in their order.
    pub columns: Vec<Look>,
    /// Columns of types that cannot be read.
    pub unreadable: Vec<String>,
}

/// What a column holds.
#[derive(Debug, Clone)]
pub struct Look {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub class: Class,
    /// Rows without a value.
    pub missing: u64,
    /// Those among them that hold one of the words that mean missing.
    pub forgotten: u64,
    /// Its values and how often each occurs; empty where there are more than [`MOST`].
    pub levels: BTreeMap<String, u64>,
    /// Whether there are more than [`MOST`].
    pub many: bool,
    /// Whether every row has a value of its own.
    pub unique: bool,
    /// Smallest and largest number; none where it holds none.
    pub range: Option<(f64, f64)>,
    seen: Option<HashSet<u64, BuildHasherDefault<Mixer>>>,
    /// How often each of [`NULLS`] occurs.
    nulls: [u64; NULLS.len()],
}

impl Look {
    fn new(name: &str, class: Class) -> Self {
        Look {
            name: name.to_owned(),
            class,
            missing: 0,
            forgotten: 0,
            levels: BTreeMap::new(),
            many: false,
            unique: true,
            range: None,
            seen: Some(HashSet::default()),
            nulls: [0; NULLS.len()],
        }
    }

    fn add(&mut self, word: Option<&str>, value: Option<f64>) {
        let Some(word) = word else {
            self.missing += 1;
            self.seen = None;
            return;
        };
        if let Some(seen) = &mut self.seen
            && !seen.insert(BuildHasherDefault::<Mixer>::default().hash_one(word))
        {
            self.seen = None;
        }
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.range = Some(self.range.map_or((value, value), |(lo, hi)| (lo.min(value), hi.max(value))));
        }
        if self.many {
            return;
        }
        if let Some(n) = self.levels.get_mut(word) {
            *n += 1;
        } else if self.levels.len() < MOST {
            self.levels.insert(word.to_owned(), 1);
        } else {
            self.many = true;
            self.levels.clear();
        }
    }

    /// Takes words for missing.
    fn forget(&mut self, nulls: &[&str]) {
        for (word, n) in NULLS.iter().zip(self.nulls).filter(|(word, n)| *n > 0 && nulls.contains(word)) {
            self.missing += n;
            self.forgotten += n;
            self.levels.remove(*word);
            self.seen = None;
        }
    }

    fn finish(&mut self, rows: u64) {
        self.unique = rows > 0 && self.seen.take().is_some();
    }
}

impl Glance {
    /// Whether rows hold the wanted value of a column, by the values of others; rows without a value of either count nowhere. Another pass over
    /// the file.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn shares(&self, wanted: (&str, impl Fn(&str) -> bool), of: &[&str]) -> Result<Vec<Wanted>> {
        let mut shares = vec![Wanted::new(); of.len()];
        let mut add = |value: Option<&str>, others: &mut dyn Iterator<Item = Option<&str>>| {
            let Some(value) = value else { return };
            for (share, group) in shares.iter_mut().zip(others) {
                let Some(group) = group else { continue };
                if !share.contains_key(group) {
                    share.insert(group.to_owned(), (0, 0));
                }
                if let Some(counts) = share.get_mut(group) {
                    *counts = (counts.0 + u64::from(wanted.1(value)), counts.1 + 1);
                }
            }
        };
        let place = |name: &str| self.columns.iter().position(|look| look.name == name);
        if let Some(delimiter) = self.delimiter {
            let is_value = |field: &&str| !field.is_empty() && !self.nulls.contains(field);
            for path in find(&self.path, Some("csv"))? {
                let mut reader = Reader::open(&path, delimiter as u8)?;
                let mut record = Record::default();
                reader.read(&mut record)?;
                while reader.read(&mut record)? {
                    let field = |name: &str| record.fields().nth(place(name)?).filter(is_value);
                    add(field(wanted.0), &mut of.iter().map(|name| field(name)));
                }
            }
            return Ok(shares);
        }
        let needed: Vec<&str> = std::iter::once(wanted.0).chain(of.iter().copied()).collect();
        let source = Source::parquet(&self.path, &needed)?;
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

/// Looks at a Parquet file, folder or glob, or at a text file.
///
/// # Errors
/// No such file, or one that cannot be read.
pub fn glance(path: &str) -> Result<Glance> {
    let is_text = [".csv", ".tsv", ".txt"].iter().any(|ending| path.to_ascii_lowercase().ends_with(ending));
    if is_text { of_text(path) } else { of_parquet(path) }
}

fn of_parquet(pattern: &str) -> Result<Glance> {
    let files = find(pattern, Some("parquet"))?;
    let first = ParquetFile::open(files.first().map_or(Path::new(pattern), PathBuf::as_path), Owner::User)?;
    let (mut names, mut unreadable) = (Vec::new(), Vec::new());
    for field in first.schema().fields() {
        match Class::of(field.data_type()) {
            Some(_) => names.push(field.name().clone()),
            None => unreadable.push(field.name().clone()),
        }
    }
    let needed: Vec<&str> = names.iter().map(String::as_str).collect();
    let source = Source::parquet(pattern, &needed)?;
    let mut columns: Vec<Look> = source.columns().iter().map(|column| Look::new(&column.name, column.class)).collect();
    for piece in source.pieces() {
        source.read(piece, BATCH_ROWS, |slice| {
            for (look, values) in columns.iter_mut().zip(&slice.columns) {
                for i in 0..slice.rows {
                    let value = look.class.is_number().then(|| values.number(i));
                    look.add(values.word(i).as_deref(), value);
                }
            }
            Ok(())
        })?;
    }
    columns.iter_mut().for_each(|look| look.finish(source.n_rows()));
    Ok(Glance { path: pattern.to_owned(), rows: source.n_rows(), delimiter: None, nulls: Vec::new(), columns, unreadable })
}

fn of_text(path: &str) -> Result<Glance> {
    let (files, whole) = (find(path, Some("csv"))?, path.to_owned());
    let Some(first) = files.first() else { return Err(Fault::new("missing-file", "there is no such file").into()) };
    let header = |delimiter: char| -> Result<Vec<String>> {
        let mut record = Record::default();
        let found = Reader::open(first, delimiter as u8)?.read(&mut record)?;
        Ok(if found { record.fields().map(str::to_owned).collect() } else { Vec::new() })
    };
    // The separator that gives most columns; of equals the usual one.
    let mut best = (DELIMITERS[0], header(DELIMITERS[0])?);
    for delimiter in &DELIMITERS[1..] {
        // A header that another separator breaks is none with that separator.
        if let Ok(names) = header(*delimiter)
            && names.len() > best.1.len()
        {
            best = (*delimiter, names);
        }
    }
    let (delimiter, names) = best;
    if names.is_empty() {
        return Err(Fault::new("empty-file", format!("`{}` has no line", first.display())).in_file(first).into());
    }
    let mut columns: Vec<Look> = names.iter().map(|name| Look::new(name, Class::Empty)).collect();
    let mut rows = 0;
    for path in &files {
        let mut reader = Reader::open(path, delimiter as u8)?;
        let mut record = Record::default();
        reader.read(&mut record)?;
        while reader.read(&mut record)? {
            if record.len() != names.len() {
                let what = format!("a line has {} fields, the header has {}", record.len(), names.len());
                let fault = Fault::new("ragged-row", what).in_file(path).at_row(format!("line {}", record.line));
                return Err(fault.hint("mend the line, or quote the field that holds a separator").into());
            }
            rows += 1;
            for (look, field) in columns.iter_mut().zip(record.fields()) {
                let word = Some(field).filter(|field| !field.is_empty());
                look.add(word, word.and_then(number));
                if let Some(null) = word.and_then(|word| NULLS.iter().position(|null| *null == word)) {
                    look.nulls[null] += 1;
                } else if let Some(word) = word {
                    look.class = match look.class {
                        Class::Empty | Class::Int if word.trim().parse::<i64>().is_ok() => Class::Int,
                        Class::Empty | Class::Int | Class::Float if number(word).is_some() => Class::Float,
                        _ => Class::Text,
                    };
                }
            }
        }
    }
    let is_met = |i: &usize| columns.iter().any(|look| look.class.is_number() && look.nulls[*i] > 0);
    let nulls: Vec<&'static str> = (0..NULLS.len()).filter(is_met).map(|i| NULLS[i]).collect();
    for look in &mut columns {
        look.forget(&nulls);
        let is_level = |(null, n): (&&str, u64)| n > 0 && !nulls.contains(null);
        if look.class == Class::Empty && NULLS.iter().zip(look.nulls).any(is_level) {
            look.class = Class::Text;
        }
        look.finish(rows);
    }
    Ok(Glance { path: whole, rows, delimiter: Some(delimiter), nulls, columns, unreadable: Vec::new() })
}
