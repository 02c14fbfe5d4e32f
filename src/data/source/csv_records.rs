//! A strict reader of comma separated values (RFC 4180) that knows the line of every record.
//!
//! Strict, because a lenient reader turns a lost quote into shifted columns. Blank lines and a byte
//! order mark are skipped. Separator, quote and encoding are those of a [`CsvDialect`].

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Fault, Result};
use crate::exec::files::{self, File};

/// Largest size of a record in bytes; a longer one surely lacks a closing quote.
const MAX_RECORD: usize = 1 << 24;

/// File formats that begin with fixed bytes, with their names in messages.
const PACKED: [(&[u8], &str); 7] = [
    (b"\x1f\x8b", "a gzip file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ\0", "an xz file"),
    (b"PK\x03\x04", "a zip file or a workbook (xlsx)"),
    (b"\xd0\xcf\x11\xe0", "a workbook (xls)"),
    (b"PAR1", "a Parquet file"),
];

fn unpack_hint(form: &str) -> &'static str {
    match form {
        "a Parquet file" => "read it by `rows: {parquet: PATH}`",
        "a zip file or a workbook (xlsx)" | "a workbook (xls)" => {
            "unpack it first, or save the sheet as CSV, and name that file"
        }
        _ => {
            "unpack it first (`gunzip`, `zstd -d`, `bunzip2`, `unxz`), and name the unpacked \
             file"
        }
    }
}

/// How the characters of a text file are stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TextEncoding {
    /// UTF-8.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// ISO 8859-1: each byte is the character of that number.
    #[serde(rename = "latin-1")]
    Latin1,
    /// Latin-1 as Windows has it, with the euro sign and curly quotes.
    #[serde(rename = "windows-1252")]
    Windows1252,
}

/// What separates and encloses the fields of a text file, and how its characters are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CsvDialect {
    /// The separator of fields.
    pub(crate) delimiter: u8,
    /// The sign around a field that holds separators, quotes or line ends.
    pub(crate) quote: u8,
    /// The encoding.
    pub(crate) encoding: TextEncoding,
}

impl CsvDialect {
    /// UTF-8 with double quotes.
    pub(crate) fn of_delimiter(delimiter: u8) -> Self {
        CsvDialect { delimiter, quote: b'"', encoding: TextEncoding::Utf8 }
    }
}

/// One record: its fields are stored end to end in one text.
#[derive(Debug, Default)]
pub(crate) struct CsvRecord {
    text: String,
    /// End of each field.
    ends: Vec<usize>,
    /// The line on which it begins, from 1.
    pub(crate) line: u64,
}

impl CsvRecord {
    /// Number of fields.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A field; empty where there is none.
    pub(crate) fn field(&self, i: usize) -> &str {
        let start = if i == 0 { 0 } else { self.ends.get(i - 1).copied().unwrap_or(0) };
        self.ends.get(i).map_or("", |&end| &self.text[start..end])
    }

    /// All fields.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|i| self.field(i))
    }
}

/// The position of the reader in a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CsvState {
    FieldStart,
    Bare,
    Quoted,
    /// After a quote inside a quoted field: it closes the field, or is half of a doubled quote.
    Quote,
    /// After a closed quote and a carriage return: only the line end may follow.
    Return,
}

/// A text file whose rows have as many fields as its first line.
pub(crate) struct CsvTable<R = BufReader<File>> {
    /// The names of the columns.
    pub(crate) names: Vec<String>,
    reader: CsvReader<R>,
    record: CsvRecord,
    header: bool,
    /// Whether the record is a row that has not been returned yet.
    waits: bool,
}

impl CsvTable {
    /// Opens the file. Its first line is a header, or its columns are `column_1`, `column_2`, ...
    pub(crate) fn open(path: &Path, dialect: CsvDialect, header: bool) -> Result<Self> {
        let input = BufReader::with_capacity(1 << 18, files::open(path)?);
        CsvTable::new(path, input, dialect, header)
    }
}

impl<R: BufRead> CsvTable<R> {
    /// Reads from `input`, which messages call `path`.
    pub(crate) fn new(path: &Path, input: R, dialect: CsvDialect, header: bool) -> Result<Self> {
        let (mut reader, mut record) =
            (CsvReader::new(path, input, dialect)?, CsvRecord::default());
        if !reader.read(&mut record)? {
            let what = format!("`{}` has no line", path.display());
            let hint = "write the rows there, or name another file";
            return Fault::new("empty-file", what).in_file(path).fail(hint);
        }
        let names = match header {
            true => record.fields().map(str::to_owned).collect(),
            false => (1..=record.len()).map(|i| format!("column_{i}")).collect(),
        };
        Ok(CsvTable { names, reader, record, header, waits: !header })
    }

    /// The next row; none at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<&CsvRecord>> {
        if !std::mem::take(&mut self.waits) && !self.reader.read(&mut self.record)? {
            return Ok(None);
        }
        let (found, wanted) = (self.record.len(), self.names.len());
        if found != wanted {
            let first = if self.header { "header" } else { "first row" };
            let what = format!("the row has {found} fields, the {first} has {wanted}");
            let hint = "a field that contains the delimiter must be quoted";
            return self.reader.fault("ragged-row", &what, self.record.line).fail(hint);
        }
        Ok(Some(&self.record))
    }
}

/// The records of a file.
struct CsvReader<R> {
    path: PathBuf,
    input: R,
    dialect: CsvDialect,
    /// The line that is read next, from 1.
    line: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> CsvReader<R> {
    /// Reads from `input`, which messages call `path`.
    fn new(path: &Path, mut input: R, dialect: CsvDialect) -> Result<Self> {
        let start = input.fill_buf().map_err(|e| Error::io("open", path, &e))?;
        let refused = |code, what: &str, hint: &str| {
            let what = format!("`{}` {what}", path.display());
            Fault::new(code, what).in_file(path).fail(hint)
        };
        if let Some((_, form)) = PACKED.iter().find(|(magic, _)| start.starts_with(magic)) {
            let what = format!("is not a text file: it begins like {form}");
            return refused("unreadable-file", &what, unpack_hint(form));
        }
        if start.contains(&b'\r') && !start.contains(&b'\n') {
            let hint =
                "convert the file to LF or CRLF, for example by `tr '\\r' '\\n' < OLD > NEW`";
            return refused("unreadable-file", "ends its lines by CR alone", hint);
        }
        let one_byte = dialect.encoding != TextEncoding::Utf8;
        if one_byte && start.contains(&0) {
            let hint = "convert the file, for example by `iconv -f utf-16 -t utf-8`";
            return refused("bad-encoding", "stores characters in several bytes", hint);
        }
        if start.starts_with(b"\xEF\xBB\xBF") {
            if one_byte {
                let hint = "remove `encoding`: UTF-8 is read without it";
                return refused("bad-encoding", "begins with the mark of UTF-8", hint);
            }
            input.consume(3);
        }
        Ok(CsvReader { path: path.to_path_buf(), input, dialect, line: 1, bytes: Vec::new() })
    }

    /// Reads the next record; `false` at the end of the file.
    fn read(&mut self, record: &mut CsvRecord) -> Result<bool> {
        self.bytes = std::mem::take(&mut record.text).into_bytes();
        self.bytes.clear();
        record.ends.clear();
        record.line = self.line;
        let mut at = CsvState::FieldStart;
        let CsvDialect { delimiter, quote, .. } = self.dialect;
        loop {
            let buffer = self.input.fill_buf().map_err(|e| Error::io("read", &self.path, &e))?;
            if buffer.is_empty() {
                return self.end_of_file(record, at);
            }
            let mut used = 0;
            let mut ended = false;
            for &byte in buffer {
                used += 1;
                match (at, byte) {
                    (CsvState::FieldStart, _) if byte == quote => at = CsvState::Quoted,
                    (
                        CsvState::FieldStart | CsvState::Bare | CsvState::Quote | CsvState::Return,
                        b'\n',
                    ) => {
                        self.line += 1;
                        // A record that consists of a line end is a blank line.
                        if record.ends.is_empty()
                            && matches!(at, CsvState::FieldStart | CsvState::Bare)
                            && (self.bytes.is_empty() || self.bytes == b"\r")
                        {
                            self.bytes.clear();
                            record.line = self.line;
                            at = CsvState::FieldStart;
                            continue;
                        }
                        if at == CsvState::Bare && self.bytes.last() == Some(&b'\r') {
                            self.bytes.pop();
                        }
                        ended = true;
                        break;
                    }
                    (CsvState::FieldStart | CsvState::Bare | CsvState::Quote, _)
                        if byte == delimiter =>
                    {
                        record.ends.push(self.bytes.len());
                        at = CsvState::FieldStart;
                    }
                    (CsvState::Quoted, _) if byte == quote => at = CsvState::Quote,
                    (CsvState::Quoted, _) => {
                        self.line += u64::from(byte == b'\n');
                        self.bytes.push(byte);
                    }
                    (CsvState::Quote, _) if byte == quote => {
                        self.bytes.push(quote);
                        at = CsvState::Quoted;
                    }
                    (CsvState::Quote, b'\r') => at = CsvState::Return,
                    (CsvState::Quote | CsvState::Return, _) => {
                        return Err(self.bad("there is text behind a closing quote"));
                    }
                    (CsvState::Bare, _) if byte == quote => {
                        return Err(self
                            .bad("there is a quote inside a field that does not begin with one"));
                    }
                    (CsvState::FieldStart | CsvState::Bare, _) => {
                        self.bytes.push(byte);
                        at = CsvState::Bare;
                    }
                }
            }
            self.input.consume(used);
            if self.bytes.len().max(record.ends.len()) > MAX_RECORD {
                let what =
                    format!("the record that begins here is longer than {} MiB", MAX_RECORD >> 20);
                return self
                    .fault("bad-quoting", &what, record.line)
                    .fail("a quote was probably never closed");
            }
            if ended {
                return self.finish(record);
            }
        }
    }

    fn end_of_file(&mut self, record: &mut CsvRecord, at: CsvState) -> Result<bool> {
        match at {
            CsvState::Quoted => {
                let fault = self.fault(
                    "bad-quoting",
                    "a quote of the record that begins here is never closed",
                    record.line,
                );
                let q = char::from(self.dialect.quote);
                let hint = format!(
                    "close it, or double the quotes inside the field: `{q}say {q}{q}hi{q}{q}{q}`"
                );
                fault.fail(hint)
            }
            CsvState::FieldStart if record.ends.is_empty() => Ok(false),
            CsvState::FieldStart | CsvState::Bare | CsvState::Quote | CsvState::Return => {
                if at == CsvState::Bare && self.bytes.last() == Some(&b'\r') {
                    self.bytes.pop();
                }
                self.finish(record)
            }
        }
    }

    fn finish(&mut self, record: &mut CsvRecord) -> Result<bool> {
        record.ends.push(self.bytes.len());
        let bytes = std::mem::take(&mut self.bytes);
        if self.dialect.encoding != TextEncoding::Utf8 && !bytes.is_ascii() {
            record.text = self.decode(&bytes, &mut record.ends);
            return Ok(true);
        }
        let invalid = match std::str::from_utf8(&bytes) {
            // Two halves of a character in neighbouring fields join to a valid text.
            Ok(text) => record.ends.iter().copied().find(|&end| !text.is_char_boundary(end)),
            Err(e) => Some(e.valid_up_to()),
        };
        match (invalid, String::from_utf8(bytes)) {
            (None, Ok(text)) => {
                record.text = text;
                Ok(true)
            }
            (invalid, text) => {
                let column = record.ends.partition_point(|&end| end <= invalid.unwrap_or(0)) + 1;
                let fault = self.fault(
                    "bad-encoding",
                    &format!("field {column} is not valid UTF-8"),
                    record.line,
                );
                // Every second byte of plain text in UTF-16 is 0.
                let bytes = text.map_or_else(|e| e.into_bytes(), String::into_bytes);
                fault.fail(match bytes.contains(&0) {
                    true => "convert the file, for example by `iconv -f utf-16 -t utf-8`",
                    false => {
                        "specify how the file stores characters, such as `csv: {path: ..., \
                             encoding: windows-1252}` (or `latin-1`)"
                    }
                })
            }
        }
    }

    /// The text of a record of one byte a character; moves the ends of the fields along.
    fn decode(&self, bytes: &[u8], ends: &mut [usize]) -> String {
        let (mut text, mut start) = (String::with_capacity(bytes.len() + 16), 0);
        for end in ends {
            let field = &bytes[start..*end];
            text.push_str(&match self.dialect.encoding {
                TextEncoding::Windows1252 => {
                    encoding_rs::WINDOWS_1252.decode_without_bom_handling(field).0
                }
                TextEncoding::Utf8 | TextEncoding::Latin1 => encoding_rs::mem::decode_latin1(field),
            });
            (start, *end) = (*end, text.len());
        }
        text
    }

    fn bad(&self, what: &str) -> Error {
        let q = char::from(self.dialect.quote);
        let hint = format!(
            "quote the whole field and double the quotes inside it: `{q}say {q}{q}hi{q}{q}{q}`; \
             if another character encloses fields, name it by `quote`"
        );
        self.fault("bad-quoting", what, self.line).hint(hint).into()
    }

    fn fault(&self, code: &'static str, what: &str, line: u64) -> Fault {
        Fault::new(code, what).in_file(&self.path).at_row(format!("line {line}"))
    }
}
