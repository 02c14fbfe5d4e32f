//! Reads keyed files: Parquet files of scores or of external counterfactuals that identify rows and
//! counterfactuals by key columns.
//!
//! A row is identified by `row_id`, a counterfactual also by `sensitive`, `to_group` and
//! `cf_index`. This file turns text into keys and adds file, row and value to faults;
//! `stage::score::score_file` joins the scores, [`crate::data::exchange::external`] reads the
//! features. `sensitive` may be left out where the job has one attribute, `cf_index` where every
//! row has one counterfactual a group (it is 0 then); where `sensitive` is present it must name
//! attributes of the job. A column `from_group`, if present, must name the row's own group.

use std::path::{Path, PathBuf};

use arrow::array::{
    Array, ArrayRef, AsArray, DictionaryArray, Float64Array, RecordBatch, StringArray,
};
use arrow::buffer::ScalarBuffer;
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type};

use crate::data::exchange::to_score::{REQUEST, REQUEST_NOTE};
use crate::data::rows::ids::key_of_text;
use crate::data::source::list_words;
use crate::data::values::{self, SourceValues, ValueClass};
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
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreColumns {
    /// The key of the row; shares the memory of the decoded column where it holds numbers.
    pub row_key: ScalarBuffer<u64>,
    /// Position of the target group; empty for factual scores.
    pub to_group: Vec<u16>,
    /// Its number among the counterfactuals of the row and group; empty where all are 0.
    pub cf_index: Vec<u16>,
    /// The row's own group; empty where the file does not name it, [`MISSING_GROUP`] where a row
    /// does not.
    pub from_group: Vec<u16>,
    /// The scores, NaN where missing; share the memory of the decoded column where none is.
    pub score: ScalarBuffer<f64>,
    /// The row of the file that the row group begins with.
    first_row: u64,
    /// Their rows from there on; empty where none is left out.
    rows: Vec<usize>,
}

impl ScoreColumns {
    /// One of them.
    pub fn get(&self, i: usize) -> Option<ScoreEntry> {
        let at = |column: &[u16]| column.get(i).copied();
        Some(ScoreEntry {
            key: ScoreKey {
                row_key: *self.row_key.get(i)?,
                to_group: at(&self.to_group).unwrap_or(0),
                cf_index: at(&self.cf_index).unwrap_or(0),
            },
            score: self.score[i],
            from_group: at(&self.from_group).filter(|&group| group != MISSING_GROUP),
            file_row: self.first_row + self.rows.get(i).copied().unwrap_or(i) as u64,
        })
    }

    /// One by one.
    pub fn iter(&self) -> impl Iterator<Item = ScoreEntry> {
        (0..).map_while(|i| self.get(i))
    }

    /// Those in these rows.
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

/// Those of a file of scores.
const SCORES: KeyedWords = KeyedWords {
    code: "bad-scores",
    noun: "score file",
    original: "the row that was to be scored",
};

/// Those of a file of counterfactuals.
const COUNTERFACTUALS: KeyedWords = KeyedWords {
    code: "bad-counterfactuals",
    noun: "file of counterfactuals",
    original: "the person",
};

/// What is wrong with the entry in a row of a batch.
type EntryFault<'f> = &'f dyn Fn(usize) -> Result<Fault>;

/// A keyed file opened for reading from front to back; it may be a folder of parts, which follow
/// each other as the row groups of one file do.
#[derive(Debug)]
pub struct KeyedFile {
    /// As the job names it.
    path: PathBuf,
    /// The file itself, or its parts in their order; at least one.
    parts: Vec<ParquetFile>,
    /// By row group of all parts together the part, and the row group in it.
    groups: Vec<(usize, usize)>,
    words: &'static KeyedWords,
    /// The column of scores; none where it holds features.
    column: Option<String>,
    row_id: RowIdKind,
    attribute: Option<Attribute>,
    /// The names of all attributes of the job.
    attributes: Vec<String>,
    first_rows: Vec<u64>,
    values: AnswerValues,
}

impl KeyedFile {
    /// Opens a file of factual scores (`attribute` is `None`) or of counterfactual scores, which
    /// the job calls `path` and which has these parts: itself, or those of a folder.
    ///
    /// The latter are for one of the job's attributes.
    ///
    /// # Errors
    /// A file is absent, unreadable, or lacks a column.
    pub fn open(
        (path, parts): (&Path, &[PathBuf]),
        column: &str,
        row_id: RowIdKind,
        attribute: Option<&Attribute>,
        attributes: &[Attribute],
        values: AnswerValues,
    ) -> Result<Self> {
        // An object was looked for before its parts were listed.
        if !object::is_address(path) && !path.exists() {
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
        let words = (&SCORES, Some((column, values)));
        KeyedFile::open_as((path, parts), words, row_id, attribute, attributes)
    }

    /// In how many bits all parts hold the scores.
    pub(crate) fn precision(&self) -> FloatPrecision {
        let Some(column) = &self.column else { return FloatPrecision::Double };
        let is_single = |part: &ParquetFile| {
            let field = part.schema().field_with_name(column);
            field.is_ok_and(|field| *field.data_type() == DataType::Float32)
        };
        FloatPrecision::single_if(self.parts.iter().all(is_single))
    }

    /// Opens a file of external counterfactuals, for one of the job's attributes.
    ///
    /// # Errors
    /// The file is unreadable, or lacks a column of the key.
    pub(crate) fn open_rows(
        path: &Path,
        row_id: RowIdKind,
        attribute: &Attribute,
        attributes: &[Attribute],
    ) -> Result<Self> {
        let parts = (path, [path.to_path_buf()]);
        let words = (&COUNTERFACTUALS, None);
        KeyedFile::open_as((parts.0, &parts.1), words, row_id, Some(attribute), attributes)
    }

    fn open_as(
        (path, parts): (&Path, &[PathBuf]),
        (words, scored): (&'static KeyedWords, Option<(&str, AnswerValues)>),
        row_id: RowIdKind,
        attribute: Option<&Attribute>,
        attributes: &[Attribute],
    ) -> Result<Self> {
        let (column, values) = scored.unzip();
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
        let names: &[&str] = if self.attribute.is_some() {
            &["row_id", "sensitive", "to_group", "cf_index"]
        } else {
            &["row_id"]
        };
        let there: Vec<&str> = names.iter().copied().filter(|n| self.has(n)).collect();
        let (part, own) = self.groups[group];
        let batch = self.parts[part].read_slice(own, Some(&there), Some((offset, 1))).ok()?;
        let words = there.iter().map(|name| {
            let texts = cast(batch.column_by_name(name)?, &DataType::Utf8).ok()?;
            Some(
                text(&texts, 0)
                    .map_or_else(|| format!("{name} null"), |value| format!("{name} `{value}`")),
            )
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

    /// The attribute that it was opened for.
    pub(crate) fn attribute(&self) -> Option<&Attribute> {
        self.attribute.as_ref()
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

    /// The number of the first row of a row group.
    pub(crate) fn first_row(&self, group: usize) -> u64 {
        self.first_rows[group]
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
        SourceValues::new(batch.column(0)).map_err(|why| {
            let what = format!("column `{name}` cannot be used: {why}");
            let fault = Fault::new(self.words.code, what).in_file(self.path()).in_column(name);
            fault.hint("write one number, text or boolean per row").into()
        })
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
                let fault = Fault::new(self.words.code, what).in_file(self.path()).in_column(name);
                fault.fail("write true where the row counts, or leave the column out")
            }
        }
    }

    /// The file, or the folder of its parts.
    pub fn path(&self) -> &Path {
        &self.path
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
            let fault = Fault::new("other-request", what).in_file(self.path());
            let hint = "remove the parts that answer the rows to score of another run";
            return fault.fail(hint);
        }
        if !self.has(REQUEST) {
            return Ok(found);
        }
        for group in 0..self.n_groups() {
            let batch = self.read_group(group, &[REQUEST])?;
            let Some(texts) = self.texts(&batch, REQUEST)? else { continue };
            for i in 0..batch.num_rows() {
                let here = texts.at(i);
                if group + i == 0 {
                    found = found.or(here.map(str::to_owned));
                }
                if here != found.as_deref() {
                    let here = here.unwrap_or("null");
                    let what =
                        format!("the scores answer several requests: this line has `{here}`");
                    let fault = Fault::new("other-request", what)
                        .in_file(self.path())
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
        let ids = self.column_as(batch, "row_id", self.id_type())?;
        let scores = self.numbers(batch)?;
        let sensitive = self.texts(batch, "sensitive")?;
        let (from, to) = (self.texts(batch, "from_group")?, self.texts(batch, "to_group")?);
        let index = self.optional(batch, "cf_index", DataType::Int64)?;
        let row_key: ScalarBuffer<u64> = match ids.as_string_opt::<i32>() {
            Some(texts) => texts.iter().map(|id| key_of_text(id.unwrap_or_default())).collect(),
            // The same 64 bits, read as unsigned numbers.
            None => ids.as_primitive::<Int64Type>().values().inner().clone().into(),
        };
        let numbered = self.row_id == RowIdKind::RowNumber;
        let is_no_number = |key: u64| numbered && key.cast_signed() < 0;
        let some_id = ids.null_count() > 0 || row_key.iter().any(|&key| is_no_number(key));
        let bad_id =
            (0..n).filter(|_| some_id).find(|&i| ids.is_null(i) || is_no_number(row_key[i]));
        let score: ScalarBuffer<f64> = match &scores {
            None => vec![f64::NAN; n].into(),
            Some(scores) if scores.null_count() == 0 => scores.values().clone(),
            Some(scores) => scores.iter().map(|score| score.unwrap_or(f64::NAN)).collect(),
        };
        let bad_score = score.iter().position(|&x| !x.is_nan() && !self.values.contains(x));
        let mut columns = ScoreColumns {
            row_key,
            score,
            to_group: Vec::new(),
            cf_index: Vec::new(),
            from_group: Vec::new(),
            first_row: self.first_rows[group],
            rows: Vec::new(),
        };
        let (mut is_left_out, mut bad) = (Vec::new(), [None; 4]);
        if let Some(attribute) = &self.attribute {
            let own = Some(attribute.name.as_str());
            if let Some(texts) = &sensitive {
                is_left_out = (0..n).map(|i| texts.at(i) != own).collect();
                bad[0] = (0..n).find(|&i| is_left_out[i] && !self.has_attribute(texts.at(i)));
            }
            let counts = |i: &usize| !is_left_out.get(*i).copied().unwrap_or(false);
            let groups = |texts: &TextColumn| groups_named(texts, attribute, n);
            columns.to_group = to.as_ref().map_or_else(|| vec![MISSING_GROUP; n], groups);
            columns.from_group = from.as_ref().map_or_else(Vec::new, groups);
            let lacks = |groups: &[u16]| {
                let may_lack = groups.contains(&MISSING_GROUP);
                (0..n).filter(move |_| may_lack).filter(counts)
            };
            bad[1] = lacks(&columns.to_group).find(|&i| columns.to_group[i] == MISSING_GROUP);
            let says = |i: usize| from.as_ref().is_some_and(|texts| texts.at(i).is_some());
            bad[2] = lacks(&columns.from_group)
                .find(|&i| columns.from_group[i] == MISSING_GROUP && says(i));
            let index = index.as_ref().and_then(|index| index.as_primitive_opt::<Int64Type>());
            let number = |i: Option<i64>| i.and_then(|i| u16::try_from(i).ok());
            let known: Vec<Option<u16>> = index.into_iter().flatten().map(number).collect();
            bad[3] = (0..known.len()).filter(counts).find(|&i| known[i].is_none());
            columns.cf_index = known.into_iter().map(Option::unwrap_or_default).collect();
        }
        let row = |i: usize| self.first_rows[group] + i as u64;
        let text = |texts: Option<&TextColumn>, i: usize| {
            texts.and_then(|texts| texts.at(i).map(str::to_owned))
        };
        let [bad_attribute, bad_to, bad_from, bad_index] = bad;
        let faults: [(Option<usize>, EntryFault<'_>); 6] = [
            (bad_id, &|i| Ok(self.id_fault(&ids, i, row(i)))),
            (bad_score, &|i| self.score_fault(batch, columns.score[i], i, row(i))),
            (bad_attribute, &|i| Ok(self.attribute_fault(text(sensitive.as_ref(), i), row(i)))),
            (bad_to, &|i| Ok(self.group_fault("to_group", text(to.as_ref(), i), row(i)))),
            (bad_from, &|i| Ok(self.group_fault("from_group", text(from.as_ref(), i), row(i)))),
            (bad_index, &|i| Ok(self.index_fault(row(i)))),
        ];
        let first = faults.iter().filter_map(|(at, fault)| Some(((*at)?, fault)));
        match first.min_by_key(|(at, _)| *at) {
            Some((i, fault)) => Err(fault(i)?.into()),
            None if is_left_out.contains(&true) => {
                Ok(columns.only((0..n).filter(|&i| !is_left_out[i]).collect()))
            }
            None => Ok(columns),
        }
    }

    fn column_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            std::iter::once("row_id").chain(self.column.as_deref()).collect();
        if self.attribute.is_some() {
            names.extend(
                ["sensitive", "from_group", "to_group", "cf_index"]
                    .into_iter()
                    .filter(|n| self.has(n)),
            );
        }
        names
    }

    fn id_type(&self) -> DataType {
        if self.row_id == RowIdKind::Text { DataType::Utf8 } else { DataType::Int64 }
    }

    /// A fault in a row of the file.
    pub(crate) fn fault(&self, what: String, column: &str, file_row: u64) -> Fault {
        Fault::new(self.words.code, what)
            .in_file(self.path())
            .at_row(self.describe_row(file_row))
            .in_column(column)
    }

    /// Whether a text of the column `sensitive` names an attribute of the job.
    fn has_attribute(&self, text: Option<&str>) -> bool {
        text.is_some_and(|text| self.attributes.iter().any(|attribute| attribute == text))
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

    fn column_as(&self, batch: &RecordBatch, name: &str, kind: DataType) -> Result<ArrayRef> {
        let (expected, mend) = match kind {
            DataType::Int64 => {
                ("whole numbers", "write them as 64-bit integers, as the rows to score have them")
            }
            DataType::Float64 => {
                ("numbers", "write one number per row and column, a probability, as Float64")
            }
            _ => ("text", "write them as text, as the rows to score have them"),
        };
        let fail = |why: String| {
            Fault::new(
                self.words.code,
                format!("column `{name}` of the {} cannot be used: {why}", self.words.noun),
            )
            .in_file(self.path())
            .in_column(name)
            .hint(mend)
        };
        let array = batch.column_by_name(name).ok_or_else(|| fail("it is missing".to_owned()))?;
        let class = ValueClass::of(array.data_type());
        let fits = match kind {
            DataType::Int64 => class == Some(ValueClass::Int),
            DataType::Float64 => class.is_some_and(ValueClass::is_number),
            _ => class == Some(ValueClass::Text),
        };
        if !fits && class != Some(ValueClass::Empty) {
            return Err(fail(format!(
                "it holds {}, expected {expected}",
                values::type_in_words(array.data_type())
            ))
            .into());
        }
        // Strict: a value that cannot be cast is a fault, not a missing value.
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        Ok(cast_with_options(array, &kind, &strict).map_err(|e| fail(e.to_string()))?)
    }

    /// A column of texts, if the file has it.
    fn texts(&self, batch: &RecordBatch, name: &str) -> Result<Option<TextColumn>> {
        let Some(array) = batch.column_by_name(name) else { return Ok(None) };
        if let Some(listed) = array.as_dictionary_opt::<Int32Type>()
            && let Some(list) = listed.values().as_string_opt::<i32>()
        {
            return Ok(Some(TextColumn::Listed(listed.clone(), list.clone())));
        }
        Ok(Some(TextColumn::Each(
            self.column_as(batch, name, DataType::Utf8)?.as_string::<i32>().clone(),
        )))
    }

    fn optional(
        &self,
        batch: &RecordBatch,
        name: &str,
        kind: DataType,
    ) -> Result<Option<ArrayRef>> {
        if batch.column_by_name(name).is_none() {
            return Ok(None);
        }
        self.column_as(batch, name, kind).map(Some)
    }

    fn id_fault(&self, ids: &ArrayRef, i: usize, file_row: u64) -> Fault {
        match ids.as_primitive_opt::<Int64Type>().filter(|ids| ids.is_valid(i)) {
            Some(ids) => self
                .fault(format!("`{}` is not a row number", ids.value(i)), "row_id", file_row)
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

    /// The scores of a batch, where the file holds such; of decisions 1 where they are positive, 0
    /// where they are not, [`UNKNOWN_WORD`] where they are neither.
    fn numbers(&self, batch: &RecordBatch) -> Result<Option<Float64Array>> {
        let Some(name) = self.column.as_deref() else { return Ok(None) };
        let AnswerValues::Decisions(known) = &self.values else {
            let scores = self.column_as(batch, name, DataType::Float64)?;
            return Ok(Some(scores.as_primitive::<Float64Type>().clone()));
        };
        let words = self.words(batch, name)?;
        let number = |i: usize| {
            let decided = known.decide(&words.word(i)?);
            Some(decided.map_or(UNKNOWN_WORD, |positive| f64::from(u8::from(positive))))
        };
        Ok(Some((0..batch.num_rows()).map(number).collect()))
    }

    /// The words of the column of decisions.
    fn words(&self, batch: &RecordBatch, name: &str) -> Result<SourceValues> {
        let array = batch.column_by_name(name).map_or_else(
            || Err("it is missing".to_owned()),
            |array| match array.as_dictionary_opt::<Int32Type>() {
                Some(_) => cast(array, &DataType::Utf8).map_err(|e| e.to_string()),
                None => Ok(array.clone()),
            },
        );
        array.and_then(|array| SourceValues::new(&array)).map_err(|why| {
            let what = format!("column `{name}` of the {} cannot be used: {why}", self.words.noun);
            let fault = Fault::new(self.words.code, what).in_file(self.path());
            fault.in_column(name).hint("write the decisions as the rows do").into()
        })
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

/// A column of texts.
enum TextColumn {
    /// One text per row.
    Each(StringArray),
    /// Positions in a list of texts (dictionary encoding).
    Listed(DictionaryArray<Int32Type>, StringArray),
}

impl TextColumn {
    /// The text of a row; `None` where it is null.
    fn at(&self, i: usize) -> Option<&str> {
        match self {
            TextColumn::Each(texts) => texts.is_valid(i).then(|| texts.value(i)),
            TextColumn::Listed(listed, list) => {
                listed.key(i).filter(|&k| list.is_valid(k)).map(|k| list.value(k))
            }
        }
    }
}

/// The groups of an attribute that texts name; [`MISSING_GROUP`] where one is missing or unknown.
///
/// Each text of a dictionary is looked up once, not in every row.
fn groups_named(texts: &TextColumn, of: &Attribute, n: usize) -> Vec<u16> {
    let group = |text: Option<&str>| text.and_then(|t| position(of, t)).unwrap_or(MISSING_GROUP);
    let TextColumn::Listed(listed, list) = texts else {
        return (0..n).map(|i| group(texts.at(i))).collect();
    };
    let known: Vec<u16> = list.iter().map(group).collect();
    let at = |key: i32| known.get(key as usize).copied().unwrap_or(MISSING_GROUP);
    match listed.keys().null_count() {
        0 => listed.keys().values().iter().map(|&key| at(key)).collect(),
        _ => listed.keys().iter().map(|key| key.map_or(MISSING_GROUP, at)).collect(),
    }
}

/// The position of a declared group.
fn position(of: &Attribute, group: &str) -> Option<u16> {
    of.groups
        .iter()
        .position(|declared| declared == group)
        .and_then(|position| u16::try_from(position).ok())
}

/// A text of an array of texts; `None` where it is null.
fn text(array: &ArrayRef, i: usize) -> Option<&str> {
    array.as_string_opt::<i32>().filter(|a| a.is_valid(i)).map(|a| a.value(i))
}
