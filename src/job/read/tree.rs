//! Reads YAML text into a small tree that knows the raw text, the quoting, the line and the column
//! of every key and value.
//!
//! The tree is built from parser events, so places are exact in block and flow style alike. YAML
//! 1.2 core rules: `yes`, `no`, `on` and `off` are text. Duplicate keys, tags, merge keys (`<<`),
//! several documents and keys that are not plain text are refused.
//! An alias is a copy of what it names; a budget of nodes and of depth stops documents that are
//! built to grow.

use std::collections::BTreeMap;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StructureStyle};

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
    /// Where it begins; an alias stands where it is written, what is inside it stands where it was
    /// defined.
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

    /// In words, for messages: the scalar in backticks, `a list`, `a map` or `nothing`.
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

/// The dotted path of messages, such as `gates.four-fifths.metric`, with one more key; a key with a dot, a space, a bracket or a quote is written in
/// quotes.
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
    let mut builder = YamlBuilder {
        file,
        open: Vec::new(),
        anchors: BTreeMap::new(),
        nodes: 0,
        root: None,
        problems: Vec::new(),
    };
    let options =
        granit_parser::options! { flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
    for next in Parser::new_from_str_with_options(source, options) {
        let step = match next {
            Ok((event, span)) => builder.event(event, span),
            Err(error) => Err(Box::new(builder.syntax(source, &error))),
        };
        if let Err(problem) = step {
            builder.problems.push(*problem);
            return Err(builder.problems);
        }
    }
    if !builder.problems.is_empty() {
        return Err(builder.problems);
    }
    let empty = || YamlNode {
        value: YamlValue::Scalar(YamlScalar { text: String::new(), quoted: false }),
        place: place(file, 1, 0),
    };
    Ok(builder.root.unwrap_or_else(empty))
}

fn place(file: &str, line: usize, column: usize) -> FilePlace {
    FilePlace { file: file.to_owned(), line: line as u64, column: column as u64 + 1 }
}

/// A collection whose end has not been read.
struct OpenCollection {
    node: YamlNode,
    /// The key that waits for its value.
    key: Option<YamlMapKey>,
    anchor: usize,
    /// Nodes read before this one.
    before: usize,
    /// Whether it is written in brackets or braces.
    brackets: bool,
    /// The keys of a map so far, with their lines.
    seen: BTreeMap<String, u64>,
}

struct YamlBuilder<'a> {
    file: &'a str,
    open: Vec<OpenCollection>,
    /// Finished nodes that an alias may copy, with their number of nodes and their depth.
    anchors: BTreeMap<usize, (YamlNode, usize, usize)>,
    nodes: usize,
    root: Option<YamlNode>,
    problems: Vec<JobProblem>,
}

type YamlResult = Result<(), Box<JobProblem>>;

impl YamlBuilder<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> YamlResult {
        let at = place(self.file, span.start.line(), span.start.col());
        if let Some(tag) = event.tag() {
            return Err(problem(at, m::tag_refused(tag)));
        }
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(problem(at, m::documents_many()))
            }
            Event::Scalar(text, style, anchor, _) => {
                // The parser calls nothing at all `~`.
                let nothing = style == ScalarStyle::Plain && span.start.index() == span.end.index();
                let text = if nothing { String::new() } else { text.into_owned() };
                let node = YamlNode {
                    value: YamlValue::Scalar(YamlScalar {
                        text,
                        quoted: style != ScalarStyle::Plain,
                    }),
                    place: at,
                };
                self.count(1, &node.place)?;
                self.remember_anchor(anchor, &node, 1, 0)?;
                self.place_node(node)
            }
            Event::SequenceStart(style, anchor, _) => {
                self.start(YamlValue::Seq(Vec::new()), style, anchor, at)
            }
            Event::MappingStart(style, anchor, _) => {
                self.start(YamlValue::Map(Vec::new()), style, anchor, at)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return Ok(()) };
                self.remember_anchor(
                    open.anchor,
                    &open.node,
                    self.nodes - open.before,
                    depth(&open.node),
                )?;
                self.place_node(open.node)
            }
            Event::Alias(id) => {
                let Some((node, size, depth)) = self.anchors.get(&id) else {
                    return Err(problem(at, m::alias_inside()));
                };
                let (node, size, depth) =
                    (YamlNode { value: node.value.clone(), place: at }, *size, *depth);
                self.count(size, &node.place)?;
                self.check_depth(depth, &node.place)?;
                self.place_node(node)
            }
            _ => Ok(()),
        }
    }

    fn start(
        &mut self,
        value: YamlValue,
        style: StructureStyle,
        anchor: usize,
        at: FilePlace,
    ) -> YamlResult {
        self.check_depth(1, &at)?;
        let before = self.nodes;
        self.count(1, &at)?;
        self.open.push(OpenCollection {
            node: YamlNode { value, place: at },
            key: None,
            anchor,
            before,
            brackets: style == StructureStyle::Flow,
            seen: BTreeMap::new(),
        });
        Ok(())
    }

    fn count(&mut self, more: usize, at: &FilePlace) -> YamlResult {
        self.nodes += more;
        if self.nodes <= MAX_NODES {
            return Ok(());
        }
        Err(problem(at.clone(), m::nodes_many(MAX_NODES)))
    }

    fn check_depth(&self, more: usize, at: &FilePlace) -> YamlResult {
        if self.open.len() + more <= MAX_DEPTH {
            return Ok(());
        }
        Err(problem(at.clone(), m::nested_deep(MAX_DEPTH)))
    }

    /// Remembers a finished node for aliases; the copy counts against the budget too.
    fn remember_anchor(
        &mut self,
        anchor: usize,
        node: &YamlNode,
        size: usize,
        depth: usize,
    ) -> YamlResult {
        if anchor != 0 {
            self.count(size, &node.place)?;
            self.anchors.insert(anchor, (node.clone(), size, depth));
        }
        Ok(())
    }

    /// Puts a finished node where it belongs: a key, the value of a key, an item, or the document.
    fn place_node(&mut self, mut node: YamlNode) -> YamlResult {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.node.value {
            YamlValue::Seq(items) => items.push(node),
            YamlValue::Map(entries) => match open.key.take() {
                Some(key) => {
                    if node.scalar().is_some_and(|s| s.text.is_empty() && !s.quoted) {
                        node.place = key.place.clone();
                    }
                    if let Some(line) = open.seen.get(&key.text) {
                        self.problems
                            .push(*problem(key.place, m::key_twice(shorten(&key.text), line)));
                    } else {
                        open.seen.insert(key.text.clone(), key.place.line);
                        entries.push((key, node));
                    }
                }
                None => match node.value {
                    YamlValue::Scalar(scalar) if scalar.text == "<<" && !scalar.quoted => {
                        return Err(problem(node.place, m::merge_key()));
                    }
                    YamlValue::Scalar(scalar) if scalar.text.is_empty() => {
                        return Err(problem(node.place, m::key_empty()));
                    }
                    YamlValue::Scalar(scalar) => {
                        open.key = Some(YamlMapKey { text: scalar.text, place: node.place })
                    }
                    _ => {
                        return Err(problem(node.place, m::key_no_text()));
                    }
                },
            },
            YamlValue::Scalar(_) => {}
        }
        Ok(())
    }

    /// A syntax error in words for the author of a job, with the two traps of the format named:
    /// `${...}` and `>50K` without quotes.
    fn syntax(&self, source: &str, error: &ScanError) -> JobProblem {
        let mark = error.marker();
        let at = |column| place(self.file, mark.line(), column);
        let line: Vec<char> =
            source.lines().nth(mark.line().saturating_sub(1)).unwrap_or("").chars().collect();
        if let Some((column, text)) = bare_variable(&line, mark.col()) {
            return *problem(at(column), m::quote_variable(text));
        }
        if let Some((column, text)) = bare_indicator(&line, mark.col(), error.kind()) {
            return *problem(at(column), m::quote_indicator(text, line[column]));
        }
        if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
            return *problem(at(mark.col()), m::nested_deep(MAX_DEPTH));
        }
        if let Some(open) = self
            .open
            .last()
            .filter(|open| open.brackets && open.node.place.line < mark.line() as u64)
        {
            let bracket = if matches!(open.node.value, YamlValue::Seq(_)) { '[' } else { '{' };
            return *problem(open.node.place.clone(), m::bracket_open(bracket, mark.line()));
        }
        let said = in_words(error.kind());
        *problem(at(mark.col()), said)
    }
}

fn problem(at: FilePlace, Said { code, what, hint, .. }: Said) -> Box<JobProblem> {
    Box::new(JobProblem { code, path: String::new(), place: Some(at), what, hint: Some(hint) })
}

/// Levels of lists and maps from here down, itself included.
fn depth(node: &YamlNode) -> usize {
    match &node.value {
        YamlValue::Seq(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        YamlValue::Map(entries) => {
            1 + entries.iter().map(|(_, node)| depth(node)).max().unwrap_or(0)
        }
        YamlValue::Scalar(_) => 0,
    }
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
        | ErrorKind::UnexpectedEofImplicitFlowMapping => m::yaml_brace_missing(),
        ErrorKind::ExpectedFlowSequenceSeparator | ErrorKind::UnexpectedEofFlowSequence => {
            m::yaml_bracket_missing()
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
