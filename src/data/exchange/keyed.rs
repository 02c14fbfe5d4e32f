//! Reads keyed files: Parquet files of scores or of external counterfactuals that identify rows and
//! counterfactuals by key columns.
//!
//! A row is identified by `row_id`, a counterfactual also by `sensitive`, `to_group` and
//! `cf_index`. This file turns text into keys and adds file, row and value to faults;
//! `stage::score::score_file` joins the scores, [`crate::data::exchange::external`] reads the
//! features. `sensitive` may be left out where the job has one attribute, `cf_index` where every
//! row has one counterfactual a group (it is 0 then); where `sensitive` is present it must name
//! attributes of the job. A column `from_group`, if present, must name the row's own group.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::DataType;

use crate::data::exchange::to_score::{REQUEST, REQUEST_NOTE};
use crate::data::rows::ids::keys_of;
use crate::data::source::list_words;
use crate::data::values::{self, SourceValues, ValueClass, as_decimals};
use crate::data::{Attribute, DecisionColumn, MISSING_GROUP, RowIdKind};
use crate::error::{Fault, Result};
use crate::exec::object;
use crate::num::float_precision::FloatPrecision;
use crate::num::score_scale::ScoreScale;
use crate::table::file::{FileOwner, ParquetFile};

/// What identifies an entry of a score file. `to_group` and `cf_index` are 0 for factual scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScoreKey {
    /// The row's key, see [`crate::data`].
    pub row_key: u64,
    /// Position of the target group.
    pub to_group: u16,
    /// Its number among the counterfactuals of the row and group.
    pub cf_index: u16,
}

/// One entry of a keyed file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreEntry {
    /// The row or counterfactual with this score.
    pub key: ScoreKey,
    /// The score, of the scale of the file; NaN where it is missing, or the file holds no scores.
    pub score: f64,
    /// The row's own group, where the file has it.
    pub from_group: Option<u16>,
    /// Its row in the file, from 0.
    pub file_row: u64,
}

/// The entries of one row group of a keyed file, aligned.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScoreColumns {
    /// The key of the row.
    pub row_key: Vec<u64>,
    /// Position of the target group; empty for factual scores.
    pub to_group: Vec<u16>,
    /// Its number among the counterfactuals of the row and group; empty where all are 0.
    pub cf_index: Vec<u16>,
    /// The row's own group; empty where the file does not name it, [`MISSING_GROUP`] where a row
    /// does not.
    pub from_group: Vec<u16>,
    /// The scores, NaN where missing.
    pub score: Vec<f64>,
    /// The row of the file that the row group begins with.
    first_row: u64,
    /// Their rows from there on; empty where none is left out.
    rows: Vec<usize>,
}

impl ScoreColumns {
    /// One of the entries.
    pub fn get(&self, i: usize) -> Option<ScoreEntry> {
        Some(ScoreEntry {
            key: self.key(i)?,
            score: self.score[i],
            from_group: self.stated_group(i),
            file_row: self.first_row + self.rows.get(i).copied().unwrap_or(i) as u64,
        })
    }

    /// The entries one by one.
    pub fn iter(&self) -> impl Iterator<Item = ScoreEntry> {
        (0..).map_while(|i| self.get(i))
    }

    /// The key of one of the entries.
    #[inline]
    pub fn key(&self, i: usize) -> Option<ScoreKey> {
        let at = |column: &[u16]| column.get(i).copied().unwrap_or(0);
        let (to_group, cf_index) = (at(&self.to_group), at(&self.cf_index));
        Some(ScoreKey { row_key: *self.row_key.get(i)?, to_group, cf_index })
    }

    /// The row's own group by one of the entries, where the file has it.
    #[inline]
    pub fn stated_group(&self, i: usize) -> Option<u16> {
        self.from_group.get(i).copied().filter(|&group| group != MISSING_GROUP)
    }

    /// Only the entries in these rows.
    fn only(&self, rows: Vec<usize>) -> Self {
        let of = |column: &[u16]| rows.iter().filter_map(|&i| column.get(i).copied()).collect();
        ScoreColumns {
            row_key: rows.iter().map(|&i| self.row_key[i]).collect(),
            to_group: of(&self.to_group),
            cf_index: of(&self.cf_index),
            from_group: of(&self.from_group),
            score: rows.iter().map(|&i| self.score[i]).collect(),
            first_row: self.first_row,
            rows,
        }
    }
}

/// What the values of a score file are.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerValues {
    /// Numbers of a scale.
    Scores(ScoreScale),
    /// Words of decisions, as in the rows.
    Decisions(DecisionColumn),
}

/// The number of a word that is neither the positive nor the negative decision.
const UNKNOWN_WORD: f64 = 2.0;

impl AnswerValues {
    #[inline]
    fn contains(&self, score: f64) -> bool {
        match self {
            AnswerValues::Scores(scale) => scale.contains(score),
            AnswerValues::Decisions(_) => score != UNKNOWN_WORD,
        }
    }
}

/// The words of messages about a keyed file.
#[derive(Debug)]
struct KeyedWords {
    /// The code of what is wrong with it.
    code: &'static str,
    /// What it is called.
    noun: &'static str,
    /// Whose keys it has.
    original: &'static str,
}

/// The words for a file of scores.
const SCORES: KeyedWords = KeyedWords {
    code: "bad-scores",
    noun: "score file",
    original: "the row that was to be scored",
};

/// The words for a file of counterfactuals.
const COUNTERFACTUALS: KeyedWords = KeyedWords {
    code: "bad-counterfactuals",
    noun: "file of counterfactuals",
    original: "the person",
};

/// In how many bits the parts with rows hold a column.
///
/// # Errors
/// Some of them hold it in 32 bits, and others do not.
fn precision_of(
    (path, parts): (&Path, &[ParquetFile]),
    code: &'static str,
    column: &str,
) -> Result<FloatPrecision> {
    let has_rows = |part: &&ParquetFile| (0..part.n_groups()).any(|g| part.group_rows(g) > 0);
    let is_single = |part: &&ParquetFile| {
        let field = part.schema().field_with_name(column);
        field.is_ok_and(|field| *field.data_type() == DataType::Float32)
    };
    let (singles, others): (Vec<_>, Vec<_>) = parts.iter().filter(has_rows).partition(is_single);
    let [Some(one), Some(other)] = [singles.first(), others.first()] else {
        return Ok(FloatPrecision::single_if(others.is_empty()));
    };
    let what = format!(
        "the numbers of `{}` have 32 bits and those of `{}` do not: what is equal to a threshold \
         or another number would depend on the file",
        one.path().display(),
        other.path().display()
    );
    Fault::new(code, what).in_file(path).in_column(column).fail("write all parts with one type")
}

/// A keyed file opened for reading from front to back; it may be a folder of parts, which follow
/// each other as the row groups of one file do.
#[derive(Debug)]
pub struct KeyedFile {
    /// As the job names it: the file, or the folder of its parts.
    pub(crate) path: PathBuf,
    /// The file itself, or its parts in their order; at least one.
    parts: Vec<ParquetFile>,
    /// By row group of all parts together the part, and the row group in it.
    groups: Vec<(usize, usize)>,
    words: &'static KeyedWords,
    /// The column of scores; none where it holds features.
    column: Option<String>,
    /// In how many bits the parts hold the scores.
    pub(crate) precision: FloatPrecision,
    row_id: RowIdKind,
    /// The attribute that it was opened for.
    pub(crate) attribute: Option<Attribute>,
    /// The names of all attributes of the job.
    attributes: Vec<String>,
    /// The number of the first row of each row group, and of all rows.
    pub(crate) first_rows: Vec<u64>,
    values: AnswerValues,
}

impl KeyedFile {
    /// Opens a file of scores or decisions, `answers` being their column and what they are, or of
    /// external counterfactuals without; of the rows as they are without an `attribute`, else for
    /// one of the job's. The job calls it `path`, and it has these parts: itself, or those of a
    /// folder.
    ///
    /// # Errors
    /// A file is absent, unreadable, or lacks a column.
    pub fn open(
        (path, parts): (&Path, &[PathBuf]),
        answers: Option<(&str, AnswerValues)>,
        row_id: RowIdKind,
        attribute: Option<&Attribute>,
        attributes: &[Attribute],
    ) -> Result<Self> {
        let (column, values) = answers.unzip();
        // An object was looked for before its parts were listed.
        if column.is_some() && !object::is_address(path) && !path.exists() {
            return Fault::new(
                "missing-scores",
                format!("the score file `{}` does not exist", path.display()),
            )
            .in_file(path)
            .fail(
                "write the scores there, or correct the path in the job; relative paths are \
                 relative to the working directory",
            );
        }
        let words = if column.is_some() { &SCORES } else { &COUNTERFACTUALS };
        let opened = ParquetFile::open_all(parts, FileOwner::User)?;
        let parts =
            opened.into_iter().map(ParquetFile::with_coded_texts).collect::<Result<Vec<_>>>()?;
        let mut needed: Vec<&str> = std::iter::once("row_id").chain(column).collect();
        if attribute.is_some() {
            needed.push("to_group");
            if attributes.len() > 1 {
                needed.push("sensitive");
            }
        }
        // Where a part has an optional column, all have.
        let optional = [REQUEST, "sensitive", "from_group", "cf_index"].into_iter();
        let optional = optional.filter(|name| parts.iter().any(|part| has_column(part, name)));
        needed.extend(optional);
        for (name, part) in needed.iter().flat_map(|name| parts.iter().map(move |of| (*name, of))) {
            if !has_column(part, name) {
                let known: Vec<String> =
                    part.schema().fields().iter().map(|f| format!("`{}`", f.name())).collect();
                return Fault::new(
                    "missing-column",
                    format!("the {} has no column `{name}`", words.noun),
                )
                .in_file(part.path())
                .in_column(name)
                .fail(format!(
                    "its columns are {}; the key columns are called row_id, sensitive, \
                     to_group and cf_index",
                    known.join(", ")
                ));
            }
        }
        let precision = column.map(|column| precision_of((path, &parts), words.code, column));
        let precision = precision.transpose()?.unwrap_or_default();
        let groups_of =
            |(i, part): (usize, &ParquetFile)| (0..part.n_groups()).map(move |g| (i, g));
        let groups: Vec<(usize, usize)> = parts.iter().enumerate().flat_map(groups_of).collect();
        let mut first_rows = vec![0];
        for (next, &(part, own)) in (1..).zip(&groups) {
            first_rows.push(first_rows[next - 1] + parts[part].group_rows(own) as u64);
        }
        let attributes = attributes.iter().map(|a| a.name.clone()).collect();
        Ok(KeyedFile {
            path: path.to_path_buf(),
            parts,
            groups,
            words,
            column: column.map(str::to_owned),
            precision,
            row_id,
            attribute: attribute.cloned(),
            attributes,
            first_rows,
            values: values.unwrap_or(AnswerValues::Scores(ScoreScale::default())),
        })
    }

    /// A row of the file for messages: its number, and its key.
    pub fn describe_row(&self, file_row: u64) -> String {
        let group = self.group_of(file_row);
        let (row, of) = match group.map(|group| self.groups[group].0) {
            Some(part) if self.parts.len() > 1 => {
                let first = self.groups.partition_point(|group| group.0 < part);
                let name = self.parts[part].path().file_name().unwrap_or_default();
                let of = format!(" of the part `{}`", name.to_string_lossy());
                (file_row - self.first_rows[first], of)
            }
            _ => (file_row, String::new()),
        };
        match group.and_then(|group| self.describe_key(group, file_row)) {
            Some(key) => format!("row {row}{of} ({key})"),
            None => format!("row {row}{of}"),
        }
    }

    /// The row group of a row.
    fn group_of(&self, file_row: u64) -> Option<usize> {
        let group = self.first_rows.partition_point(|&first| first <= file_row).checked_sub(1)?;
        (group < self.groups.len()).then_some(group)
    }

    /// A row group, with some of its columns.
    fn read_group(&self, group: usize, columns: &[&str]) -> Result<RecordBatch> {
        let (part, own) = self.groups[group];
        self.parts[part].read_group(own, Some(columns))
    }

    /// Whether it has a column: then every part has it.
    fn has(&self, name: &str) -> bool {
        self.parts.first().is_some_and(|part| has_column(part, name))
    }

    /// The key of a row of the file for messages, if it can be read.
    fn describe_key(&self, group: usize, file_row: u64) -> Option<String> {
        let offset = usize::try_from(file_row - self.first_rows[group]).ok()?;
        let names = ["row_id", "sensitive", "to_group", "cf_index"].into_iter();
        let names = names.take(if self.attribute.is_some() { 4 } else { 1 });
        let there: Vec<&str> = names.filter(|name| self.has(name)).collect();
        let (part, own) = self.groups[group];
        let batch = self.parts[part].read_slice(own, Some(&there), Some((offset, 1))).ok()?;
        let words = there.iter().map(|name| {
            let values = SourceValues::new(batch.column_by_name(name)?).ok()?;
            let word = values.word(0).map(|value| format!("{name} `{value}`"));
            Some(word.unwrap_or_else(|| format!("{name} null")))
        });
        words.collect::<Option<Vec<String>>>().map(|words| words.join(", "))
    }

    /// The name of a group of the attribute; empty if there is none.
    pub fn group_name(&self, group: u16) -> &str {
        self.attribute
            .as_ref()
            .and_then(|attribute| attribute.groups.get(usize::from(group)))
            .map_or("", String::as_str)
    }

    /// The names of its columns.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        let fields = self.parts.iter().take(1).flat_map(|part| part.schema().fields());
        fields.map(|field| field.name().as_str())
    }

    /// Number of its rows.
    pub(crate) fn n_rows(&self) -> u64 {
        self.parts.iter().map(ParquetFile::n_rows).sum()
    }

    /// Whether its values are words of decisions.
    pub(crate) fn holds_decisions(&self) -> bool {
        matches!(self.values, AnswerValues::Decisions(_))
    }

    /// The values of a column in one row group.
    ///
    /// # Errors
    /// A damaged file; a type that holds no single values.
    pub(crate) fn values(&self, group: usize, name: &str) -> Result<SourceValues> {
        let batch = self.read_group(group, &[name])?;
        self.any_values(&batch, name, "write one number, text or boolean per row")
    }

    /// A column of booleans in one row group, if the file has it; a null is false.
    ///
    /// # Errors
    /// A damaged file; the column holds something else.
    pub(crate) fn flags(&self, group: usize, name: &str) -> Result<Option<Vec<bool>>> {
        if !self.has(name) {
            return Ok(None);
        }
        match self.values(group, name)? {
            SourceValues::Bool(flags) => {
                Ok(Some(flags.iter().map(|flag| flag == Some(true)).collect()))
            }
            _ => {
                let what = format!("column `{name}` holds no booleans");
                let fault = Fault::new(self.words.code, what).in_file(&self.path).in_column(name);
                fault.fail("write true where the row counts, or leave the column out")
            }
        }
    }

    /// The request that the file answers, by its metadata or its column; `None` if it names none.
    ///
    /// # Errors
    /// A damaged file, or one that names several requests.
    pub fn request(&self) -> Result<Option<String>> {
        let mut notes = self.parts.iter().map(|part| part.note(REQUEST_NOTE));
        let mut found = notes.next().flatten().map(str::to_owned);
        if notes.any(|note| note != found.as_deref()) {
            let what = "the parts of the scores answer several requests";
            let fault = Fault::new("other-request", what).in_file(&self.path);
            let hint = "remove the parts that answer the rows to score of another run";
            return fault.fail(hint);
        }
        if !self.has(REQUEST) {
            return Ok(found);
        }
        for group in 0..self.n_groups() {
            let batch = self.read_group(group, &[REQUEST])?;
            let texts = self.column(&batch, REQUEST, ValueClass::Text)?;
            for i in 0..batch.num_rows() {
                let here = texts.word(i);
                let here = here.as_deref();
                if group + i == 0 {
                    found = found.or(here.map(str::to_owned));
                }
                if here != found.as_deref() {
                    let here = here.unwrap_or("null");
                    let what =
                        format!("the scores answer several requests: this line has `{here}`");
                    let fault = Fault::new("other-request", what)
                        .in_file(&self.path)
                        .at_row(self.describe_row(self.first_rows[group] + i as u64));
                    return fault.in_column(REQUEST).fail(
                        "a file answers one request: every line has the `request` of the \
                         rows to score, unchanged",
                    );
                }
            }
        }
        Ok(found)
    }

    /// Number of row groups.
    pub fn n_groups(&self) -> usize {
        self.groups.len()
    }

    /// The entries of one row group; entries of other attributes are left out.
    ///
    /// # Errors
    /// A damaged file; a score outside of its scale; a missing or malformed key; an undeclared
    /// group or attribute: of several rows the first, and there what comes first in the key.
    pub fn read(&self, group: usize) -> Result<ScoreColumns> {
        let batch = &self.read_group(group, &self.column_names())?;
        let n = batch.num_rows();
        let is_text = self.row_id == RowIdKind::Text;
        let id_class = if is_text { ValueClass::Text } else { ValueClass::Int };
        let ids = self.column(batch, "row_id", id_class)?;
        let score = self.scores(batch)?;
        let optional = |name: &str, class| {
            batch.column_by_name(name).map(|_| self.column(batch, name, class)).transpose()
        };
        let [sensitive, from, to] =
            ["sensitive", "from_group", "to_group"].map(|name| optional(name, ValueClass::Text));
        let (sensitive, from, to) = (sensitive?, from?, to?);
        let index = optional("cf_index", ValueClass::Int)?;
        let mut columns = ScoreColumns {
            row_key: keys_of(&ids, n),
            score,
            first_row: self.first_rows[group],
            ..ScoreColumns::default()
        };
        let word = |texts: &Option<SourceValues>, i: usize| {
            texts.as_ref().and_then(|texts| texts.word(i).map(Cow::into_owned))
        };
        let number = |index: &SourceValues, i: usize| u16::try_from(index.integer(i)?).ok();
        let mut is_left_out = Vec::new();
        if let Some(attribute) = &self.attribute {
            let own = Some(attribute.name.as_str());
            let groups = |texts: &SourceValues| groups_named(texts, attribute);
            let others =
                sensitive.iter().flat_map(|texts| (0..n).map(|i| texts.word(i).as_deref() != own));
            is_left_out = others.collect();
            columns.to_group = to.as_ref().map_or_else(|| vec![MISSING_GROUP; n], groups);
            columns.from_group = from.as_ref().map_or_else(Vec::new, groups);
            let indices = index.iter().flat_map(|of| (0..n).map(|i| number(of, i).unwrap_or(0)));
            columns.cf_index = indices.collect();
        }
        let lacks = |groups: &[u16], i: usize| groups.get(i) == Some(&MISSING_GROUP);
        let (has_nulls, by_number) = (ids.has_nulls(), self.row_id == RowIdKind::RowNumber);
        // What is wrong with an entry, in the order of the parts of a key.
        let fault = |i: usize| -> Result<Option<Fault>> {
            let (row, score) = (columns.first_row + i as u64, columns.score[i]);
            let is_number = !by_number || columns.row_key[i].cast_signed() >= 0;
            Ok(Some(if (has_nulls && ids.is_null(i)) || !is_number {
                self.id_fault(&ids, i, row)
            } else if !score.is_nan() && !self.values.contains(score) {
                self.score_fault(batch, score, i, row)?
            } else if is_left_out.get(i) == Some(&true) {
                let of = word(&sensitive, i);
                if of.as_ref().is_some_and(|of| self.attributes.iter().any(|name| name == of)) {
                    return Ok(None);
                }
                self.attribute_fault(of, row)
            } else if lacks(&columns.to_group, i) {
                self.group_fault("to_group", word(&to, i), row)
            } else if lacks(&columns.from_group, i) && from.iter().any(|texts| !texts.is_null(i)) {
                self.group_fault("from_group", word(&from, i), row)
            } else if index.iter().any(|index| number(index, i).is_none()) {
                self.index_fault(row)
            } else {
                return Ok(None);
            }))
        };
        for i in 0..n {
            if let Some(fault) = fault(i)? {
                return Err(fault.into());
            }
        }
        if !is_left_out.contains(&true) {
            return Ok(columns);
        }
        Ok(columns.only((0..n).filter(|&i| !is_left_out[i]).collect()))
    }

    fn column_names(&self) -> Vec<&str> {
        let of_groups = ["sensitive", "from_group", "to_group", "cf_index"].into_iter();
        let of_groups = of_groups.filter(|name| self.attribute.is_some() && self.has(name));
        std::iter::once("row_id").chain(self.column.as_deref()).chain(of_groups).collect()
    }

    /// A fault in a row of the file.
    pub(crate) fn fault(&self, what: String, column: &str, file_row: u64) -> Fault {
        Fault::new(self.words.code, what)
            .in_file(&self.path)
            .at_row(self.describe_row(file_row))
            .in_column(column)
    }

    fn attribute_fault(&self, value: Option<String>, file_row: u64) -> Fault {
        let what = match value {
            Some(value) => format!("`{value}` is not a sensitive attribute of the job"),
            None => "the sensitive attribute is missing".to_owned(),
        };
        let known = list_words(self.attributes.iter().map(|a| format!("`{a}`")), 20);
        let fault = self.fault(what, "sensitive", file_row);
        fault.hint(format!("the attributes of the job are {known}"))
    }

    /// The fault of a column that cannot be read.
    fn unusable(&self, name: &str, why: &str, hint: &str) -> Fault {
        let what = format!("column `{name}` of the {} cannot be used: {why}", self.words.noun);
        Fault::new(self.words.code, what).in_file(&self.path).in_column(name).hint(hint)
    }

    /// The values of a column of whole numbers, of numbers or of texts. A value that is none of
    /// them is a fault, not a missing value.
    fn column(&self, batch: &RecordBatch, name: &str, class: ValueClass) -> Result<SourceValues> {
        let (expected, mend) = match class {
            ValueClass::Int => {
                ("whole numbers", "write them as 64-bit integers, as the rows to score have them")
            }
            ValueClass::Float => {
                ("numbers", "write one number per row and column, a probability, as Float64")
            }
            _ => ("text", "write them as text, as the rows to score have them"),
        };
        let read = |array: &ArrayRef| {
            let found = ValueClass::of(array.data_type());
            let widens = class == ValueClass::Float && found == Some(ValueClass::Int);
            if !widens && found != Some(class) && found != Some(ValueClass::Empty) {
                let found = values::type_in_words(array.data_type());
                return Err(format!("it holds {found}, expected {expected}"));
            }
            SourceValues::new(array)
        };
        let array = batch.column_by_name(name).ok_or_else(|| "it is missing".to_owned());
        Ok(array.and_then(read).map_err(|why| self.unusable(name, &why, mend))?)
    }

    fn id_fault(&self, ids: &SourceValues, i: usize, file_row: u64) -> Fault {
        match ids.integer(i) {
            Some(id) => self
                .fault(format!("`{id}` is not a row number"), "row_id", file_row)
                .hint("row numbers count from 0"),
            None => self
                .fault("the row id is missing".to_owned(), "row_id", file_row)
                .hint(format!("every line keeps the row_id of {}", self.words.original)),
        }
    }

    fn score_fault(
        &self,
        batch: &RecordBatch,
        score: f64,
        i: usize,
        file_row: u64,
    ) -> Result<Fault> {
        let name = self.column.as_deref().unwrap_or_default();
        let (what, hint) = match &self.values {
            AnswerValues::Scores(scale) => {
                (format!("the score `{score}` is not {}", scale.in_words()), scale.hint())
            }
            AnswerValues::Decisions(known) => {
                let word = self.words(batch, name)?.word(i).unwrap_or_default().into_owned();
                let all = known.positive.iter().chain(&known.negative);
                let all = list_words(all.map(|word| format!("`{word}`")), 20);
                (
                    format!("`{word}` is not a decision of the column `{}`", known.column),
                    format!("write counterfactual decisions in the same words: {all}"),
                )
            }
        };
        Ok(self.fault(what, name, file_row).hint(hint))
    }

    /// The scores of a batch, NaN where the file holds none; of decisions 1 where they are
    /// positive, 0 where they are not, [`UNKNOWN_WORD`] where they are neither.
    fn scores(&self, batch: &RecordBatch) -> Result<Vec<f64>> {
        let Some(name) = self.column.as_deref() else {
            return Ok(vec![f64::NAN; batch.num_rows()]);
        };
        let AnswerValues::Decisions(known) = &self.values else {
            return Ok(self.column(batch, name, ValueClass::Float)?.numbers());
        };
        let words = self.words(batch, name)?;
        let number = |i: usize| match words.word(i) {
            None => f64::NAN,
            Some(word) => known.decide(&word).map_or(UNKNOWN_WORD, |is| f64::from(u8::from(is))),
        };
        Ok((0..batch.num_rows()).map(number).collect())
    }

    /// The words of the column of decisions.
    fn words(&self, batch: &RecordBatch, name: &str) -> Result<SourceValues> {
        self.any_values(batch, name, "write the decisions as the rows do")
    }

    /// The values of a column of any type.
    fn any_values(&self, batch: &RecordBatch, name: &str, hint: &str) -> Result<SourceValues> {
        let array = batch.column_by_name(name).ok_or_else(|| "it is missing".to_owned());
        let values = array.and_then(|array| SourceValues::new(&as_decimals(array)));
        Ok(values.map_err(|why| self.unusable(name, &why, hint))?)
    }

    fn group_fault(&self, column: &str, value: Option<String>, file_row: u64) -> Fault {
        let attribute = self.attribute.as_ref();
        let (name, groups) =
            attribute.map_or(("", &[][..]), |of| (of.name.as_str(), of.groups.as_slice()));
        let what = match value {
            Some(value) => format!("`{value}` is not a group of `{name}`"),
            None => format!("the group of `{name}` is missing"),
        };
        let fault = self.fault(what, column, file_row);
        fault.hint(format!("the declared groups are {}", groups.join(", ")))
    }

    fn index_fault(&self, file_row: u64) -> Fault {
        let what = "`cf_index` is not a number from 0 to 65535".to_owned();
        self.fault(what, "cf_index", file_row).hint(match self.words.code {
            "bad-scores" => "every line must keep the cf_index of its row to score",
            _ => "number the counterfactuals of a person in a group from 0",
        })
    }
}

fn has_column(part: &ParquetFile, name: &str) -> bool {
    part.schema().index_of(name).is_ok()
}

/// The groups of an attribute that texts name; [`MISSING_GROUP`] where one is missing or unknown.
///
/// Each different text is looked up once, not in every row.
fn groups_named(texts: &SourceValues, of: &Attribute) -> Vec<u16> {
    let distinct = texts.distinct();
    let group = |text: Option<Cow<'_, str>>| {
        let position =
            of.groups.iter().position(|declared| Some(declared.as_str()) == text.as_deref());
        position.and_then(|position| u16::try_from(position).ok())
    };
    let table = distinct.table(|row| group(texts.word(row)).unwrap_or(MISSING_GROUP).into());
    let at = |id: u32| if id == 0 { MISSING_GROUP } else { table[id as usize] as u16 };
    distinct.ids.iter().map(|&id| at(id)).collect()
}
