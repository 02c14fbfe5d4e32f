//! Reads YAML text into a small tree that knows the raw text, the quoting, the line and the column
//! of every key and value.
//!
//! The tree is built from parser events, so places are exact in block and flow style alike. YAML
//! 1.2 core rules: `yes`, `no`, `on` and `off` are text. Duplicate keys, tags, merge keys (`<<`),
//! several documents and keys that are not plain text are refused.
//! An alias is a copy of what it names; a budget of nodes and of depth stops documents that are
//! built to grow.

use std::collections::BTreeMap;

use granit_parser::{
    ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StrInput, StructureStyle,
};

use crate::error::{FilePlace, JobProblem};
use crate::job::messages::{self as m, Said};

/// Most keys and values of one file, copies made by aliases included.
pub(crate) const MAX_NODES: usize = 250_000;

/// Deepest nesting of one file.
pub(crate) const MAX_DEPTH: usize = 64;

/// A value with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlNode {
    /// The value there.
    pub value: YamlValue,
    /// Where it begins; an alias has the place where it is written, its contents the place where
    /// they were defined.
    pub place: FilePlace,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum YamlValue {
    /// One word, number or text.
    Scalar(YamlScalar),
    /// A list.
    Seq(Vec<YamlNode>),
    /// A map, in the order of the file; keys are unique.
    Map(Vec<(YamlMapKey, YamlNode)>),
}

/// One word, number or text as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlScalar {
    /// The text, escapes resolved.
    pub text: String,
    /// Whether it is quoted (or a block text), and so is text regardless of its form.
    pub quoted: bool,
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlMapKey {
    /// Its text.
    pub text: String,
    /// Where it begins.
    pub place: FilePlace,
}

impl YamlScalar {
    /// Whether it is YAML's null: nothing at all, `~` or `null`, unquoted.
    pub fn is_null(&self) -> bool {
        !self.quoted && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }
}

impl YamlNode {
    /// Nothing at all.
    pub(crate) fn empty(place: FilePlace) -> Self {
        YamlNode::text("", false, place)
    }

    /// One word, number or text.
    pub(crate) fn text(text: &str, quoted: bool, place: FilePlace) -> Self {
        let value = YamlValue::Scalar(YamlScalar { text: text.to_owned(), quoted });
        YamlNode { value, place }
    }

    /// The scalar, if it is one.
    pub fn scalar(&self) -> Option<&YamlScalar> {
        match &self.value {
            YamlValue::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The entries, if it is a map; none for YAML's null.
    pub fn entries(&self) -> Option<&[(YamlMapKey, YamlNode)]> {
        match &self.value {
            YamlValue::Map(entries) => Some(entries),
            YamlValue::Scalar(scalar) if scalar.is_null() => Some(&[]),
            _ => None,
        }
    }

    /// The value of a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&YamlNode> {
        self.entries()?.iter().find(|(k, _)| k.text == key).map(|(_, node)| node)
    }

    /// The value in words, for messages: the scalar in backticks, `a list`, `a map` or `nothing`.
    pub fn describe(&self) -> String {
        match &self.value {
            YamlValue::Scalar(scalar) if scalar.is_null() => "nothing".to_owned(),
            YamlValue::Scalar(scalar) if scalar.quoted => {
                format!("the text `{}`", shorten(&scalar.text))
            }
            YamlValue::Scalar(scalar) => format!("`{}`", shorten(&scalar.text)),
            YamlValue::Seq(_) => "a list".to_owned(),
            YamlValue::Map(_) => "a map".to_owned(),
        }
    }
}

/// The dotted path of messages, such as `gates.four-fifths.metric`, with one more key; a key with a
/// dot, a space, a bracket or a quote is written in quotes.
pub(crate) fn join(path: &str, key: &str) -> String {
    let dot = if path.is_empty() { "" } else { "." };
    if key.is_empty() || key.contains(['.', '"', '[', ']', ' ', '=']) {
        format!("{path}{dot}\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        format!("{path}{dot}{key}")
    }
}

/// At most 60 characters of a text, on one line.
pub(crate) fn shorten(text: &str) -> String {
    let line = text.trim_end().replace(['\n', '\r', '\t'], " ");
    match line.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// Reads the one document of a file. `file` is the name for messages. An empty document is an empty
/// scalar.
///
/// # Errors
/// Everything that is wrong with the YAML itself; after a syntax error the rest cannot be read.
pub(crate) fn parse(file: &str, source: &str) -> Result<YamlNode, Vec<JobProblem>> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let options =
        granit_parser::options! { flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
    let mut reader = YamlReader {
        file,
        source,
        events: Parser::new_from_str_with_options(source, options),
        open: Vec::new(),
        anchors: BTreeMap::new(),
        nodes: 0,
        problems: Vec::new(),
    };
    let root = reader.document();
    let (root, fatal) = root.map_or_else(|fatal| (None, Some(*fatal)), |root| (root, None));
    reader.problems.extend(fatal);
    if reader.problems.is_empty() {
        Ok(root.unwrap_or_else(|| YamlNode::empty(place(file, 1, 0))))
    } else {
        Err(reader.problems)
    }
}

fn place(file: &str, line: usize, column: usize) -> FilePlace {
    FilePlace { file: file.to_owned(), line: line as u64, column: column as u64 + 1 }
}

struct YamlReader<'a> {
    file: &'a str,
    source: &'a str,
    events: Parser<'a, StrInput<'a>>,
    /// Where the lists and maps begin whose end has not been read, each with its bracket, if it is
    /// written in one.
    open: Vec<(FilePlace, Option<char>)>,
    /// Completed values that an alias may copy, with their number of nodes and their depth.
    anchors: BTreeMap<usize, (YamlValue, usize, usize)>,
    nodes: usize,
    problems: Vec<JobProblem>,
}

type YamlResult<T> = Result<T, Box<JobProblem>>;

impl<'a> YamlReader<'a> {
    fn document(&mut self) -> YamlResult<Option<YamlNode>> {
        let mut root = None;
        while let Some((event, span)) = self.next()? {
            if root.is_some() && matches!(event, Event::DocumentStart(..)) {
                return Err(problem(self.place(&span), m::documents_many()));
            }
            root = self.node(event, &span)?.or(root);
        }
        Ok(root)
    }

    fn place(&self, span: &Span) -> FilePlace {
        place(self.file, span.start.line(), span.start.col())
    }

    fn next(&mut self) -> YamlResult<Option<(Event<'a>, Span)>> {
        let Some(next) = self.events.next() else { return Ok(None) };
        let (event, span) = next.map_err(|error| self.syntax(&error))?;
        match event.tag() {
            Some(tag) => Err(problem(self.place(&span), m::tag_refused(tag))),
            None => Ok(Some((event, span))),
        }
    }

    /// The next event of a list or a map; none at its end.
    fn inner(&mut self) -> YamlResult<Option<(Event<'a>, Span)>> {
        let is_end = |event: &Event<'_>| matches!(event, Event::SequenceEnd | Event::MappingEnd);
        let next = self.next()?.filter(|(event, _)| !is_end(event));
        if next.is_none() {
            self.open.pop();
        }
        Ok(next)
    }

    /// The value that an event begins, with all that is inside it; none for an event that begins
    /// none.
    fn node(&mut self, event: Event<'a>, span: &Span) -> YamlResult<Option<YamlNode>> {
        let (at, before) = (self.place(span), self.nodes);
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                // The parser gives `~` for an empty value.
                let nothing = style == ScalarStyle::Plain && span.start.index() == span.end.index();
                let text = if nothing { String::new() } else { text.into_owned() };
                self.count(1, &at)?;
                let quoted = style != ScalarStyle::Plain;
                (YamlValue::Scalar(YamlScalar { text, quoted }), anchor)
            }
            Event::SequenceStart(style, anchor, _) => {
                self.start(style, '[', &at)?;
                let mut items = Vec::new();
                while let Some((event, span)) = self.inner()? {
                    items.extend(self.node(event, &span)?);
                }
                (YamlValue::Seq(items), anchor)
            }
            Event::MappingStart(style, anchor, _) => {
                self.start(style, '{', &at)?;
                (YamlValue::Map(self.entries()?), anchor)
            }
            Event::Alias(id) => {
                let Some((value, size, depth)) = self.anchors.get(&id).cloned() else {
                    return Err(problem(at, m::alias_inside()));
                };
                self.count(size, &at)?;
                self.check_depth(depth, &at)?;
                return Ok(Some(YamlNode { value, place: at }));
            }
            _ => return Ok(None),
        };
        if anchor != 0 {
            // The copy counts against the budget too.
            let size = self.nodes - before;
            self.count(size, &at)?;
            self.anchors.insert(anchor, (value.clone(), size, depth(&value)));
        }
        Ok(Some(YamlNode { value, place: at }))
    }

    fn start(&mut self, style: StructureStyle, bracket: char, at: &FilePlace) -> YamlResult<()> {
        self.check_depth(1, at)?;
        self.count(1, at)?;
        self.open.push((at.clone(), (style == StructureStyle::Flow).then_some(bracket)));
        Ok(())
    }

    /// The keys of a map and their values, each key once.
    fn entries(&mut self) -> YamlResult<Vec<(YamlMapKey, YamlNode)>> {
        let (mut entries, mut lines, mut waiting) = (Vec::new(), BTreeMap::new(), None);
        while let Some((event, span)) = self.inner()? {
            let Some(mut node) = self.node(event, &span)? else { continue };
            let Some(key) = waiting.take() else {
                waiting = Some(key_of(node)?);
                continue;
            };
            if node.scalar().is_some_and(|s| s.text.is_empty() && !s.quoted) {
                node.place.clone_from(&key.place);
            }
            if let Some(line) = lines.get(&key.text) {
                let said = m::key_twice(shorten(&key.text), line);
                self.problems.push(*problem(key.place, said));
            } else {
                lines.insert(key.text.clone(), key.place.line);
                entries.push((key, node));
            }
        }
        Ok(entries)
    }

    fn count(&mut self, more: usize, at: &FilePlace) -> YamlResult<()> {
        self.nodes += more;
        let is_within = self.nodes <= MAX_NODES;
        if is_within { Ok(()) } else { Err(problem(at.clone(), m::nodes_many(MAX_NODES))) }
    }

    fn check_depth(&self, more: usize, at: &FilePlace) -> YamlResult<()> {
        let is_within = self.open.len() + more <= MAX_DEPTH;
        if is_within { Ok(()) } else { Err(problem(at.clone(), m::nested_deep(MAX_DEPTH))) }
    }

    /// A syntax error in words for the author of a job, with the two traps of the format named:
    /// `${...}` and `>50K` without quotes.
    fn syntax(&self, error: &ScanError) -> Box<JobProblem> {
        let mark = error.marker();
        let at = |column| place(self.file, mark.line(), column);
        let line = self.source.lines().nth(mark.line().saturating_sub(1)).unwrap_or("");
        let line: Vec<char> = line.chars().collect();
        if let Some((column, text)) = bare_variable(&line, mark.col()) {
            return problem(at(column), m::quote_variable(text));
        }
        if let Some((column, text)) = bare_indicator(&line, mark.col(), error.kind()) {
            return problem(at(column), m::quote_indicator(text, line[column]));
        }
        if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
            return problem(at(mark.col()), m::nested_deep(MAX_DEPTH));
        }
        match self.open.last() {
            Some((open, Some(bracket))) if open.line < mark.line() as u64 => {
                problem(open.clone(), m::bracket_open(bracket, mark.line()))
            }
            _ => problem(at(mark.col()), in_words(error.kind())),
        }
    }
}

fn problem(at: FilePlace, Said { code, what, hint, .. }: Said) -> Box<JobProblem> {
    Box::new(JobProblem { code, path: String::new(), place: Some(at), what, hint: Some(hint) })
}

/// A value as a key of a map.
fn key_of(YamlNode { value, place }: YamlNode) -> YamlResult<YamlMapKey> {
    match value {
        YamlValue::Scalar(scalar) if scalar.text == "<<" && !scalar.quoted => {
            Err(problem(place, m::merge_key()))
        }
        YamlValue::Scalar(scalar) if scalar.text.is_empty() => Err(problem(place, m::key_empty())),
        YamlValue::Scalar(scalar) => Ok(YamlMapKey { text: scalar.text, place }),
        YamlValue::Seq(_) | YamlValue::Map(_) => Err(problem(place, m::key_no_text())),
    }
}

/// Levels of lists and maps from here down, itself included.
fn depth(value: &YamlValue) -> usize {
    let deepest = match value {
        YamlValue::Seq(items) => items.iter().map(|item| depth(&item.value)).max(),
        YamlValue::Map(entries) => entries.iter().map(|(_, node)| depth(&node.value)).max(),
        YamlValue::Scalar(_) => return 0,
    };
    1 + deepest.unwrap_or(0)
}

/// The last bare `${...}` of a line that begins before the error.
fn bare_variable(line: &[char], column: usize) -> Option<(usize, String)> {
    let start = (0..line.len().saturating_sub(1))
        .rev()
        .find(|&i| line[i] == '$' && line[i + 1] == '{' && i <= column)?;
    let quoted = line[..start].iter().filter(|&&c| c == '"' || c == '\'').count() % 2 == 1;
    if quoted {
        return None;
    }
    let end = line[start..].iter().position(|&c| c == '}')?;
    // The whole word: a path such as lake/asof=${vars.asof}/x.parquet is quoted as one.
    let stop = |c: &char| c.is_whitespace() || matches!(c, ',' | ']' | '}' | '[' | '{');
    let head = line[..start].iter().rposition(&stop).map_or(0, |i| i + 1);
    let tail =
        line[start + end + 1..].iter().position(stop).map_or(line.len(), |i| start + end + 1 + i);
    Some((head, line[head..tail].iter().collect()))
}

/// A value that begins with a character that YAML keeps for itself: `>50K`, `@x`, `*`, `%x`.
fn bare_indicator(line: &[char], column: usize, kind: &ErrorKind) -> Option<(usize, String)> {
    let flow = |c: char| matches!(c, '>' | '|' | '@' | '`' | '%' | '*' | '&' | '!');
    let named = matches!(
        kind,
        ErrorKind::UnexpectedCharacter { .. }
            | ErrorKind::InvalidBlockScalarHeader
            | ErrorKind::MissingAnchorOrAliasName
            | ErrorKind::UnknownAnchor
            | ErrorKind::ExpectedNodeContent
    );
    if !named {
        return None;
    }
    let start = (0..=column.min(line.len().checked_sub(1)?)).rev().find(|&i| {
        let before = line[..i].iter().rev().find(|c| !c.is_whitespace());
        flow(line[i]) && matches!(before, None | Some('[' | '{' | ',' | ':' | '-'))
    })?;
    let end = line[start..]
        .iter()
        .position(|c| matches!(c, ',' | ']' | '}' | '#'))
        .map_or(line.len(), |i| start + i);
    let text: String = line[start..end].iter().collect();
    let text = text.trim_end().to_owned();
    (!text.is_empty()).then_some((start, text))
}

fn in_words(kind: &ErrorKind) -> Said {
    match kind {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => m::yaml_tab(),
        ErrorKind::UnclosedFlowCollection { open } => m::yaml_bracket_open(open),
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            m::yaml_bracket_other(open, close)
        }
        ErrorKind::MisplacedFlowCollectionEnd => m::yaml_bracket_none(),
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping => m::yaml_bracket_missing('}'),
        ErrorKind::ExpectedFlowSequenceSeparator | ErrorKind::UnexpectedEofFlowSequence => {
            m::yaml_bracket_missing(']')
        }
        ErrorKind::InvalidQuotedScalarIndent => m::yaml_quote_above(),
        ErrorKind::UnclosedQuotedScalar => m::yaml_quote_open(),
        ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar => m::yaml_quote_trailing(),
        ErrorKind::UnknownQuotedScalarEscape => m::yaml_backslash(),
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => m::yaml_colon(),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => m::yaml_colon_missing(),
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::InvalidIndentation
        | ErrorKind::BlockSequenceEntryNotAllowed
        | ErrorKind::MappingKeyNotAllowed
        | ErrorKind::ExpectedDocumentStart => m::yaml_lines(),
        ErrorKind::BlockEntryInFlowCollection => m::yaml_item_in_brackets(),
        ErrorKind::UnknownAnchor => m::yaml_alias_unknown(),
        ErrorKind::CommentNotSeparated => m::yaml_comment(),
        other => m::yaml_other(other),
    }
}
