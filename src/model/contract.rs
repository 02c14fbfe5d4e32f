//! The contract with a model that the run does not train: its columns and their order, the class of
//! its score, the value for missing values, and the levels that it knows.
//!
//! A file describes itself ([`ModelSignature`]), a job adds what the file leaves open
//! ([`ContractTerms`]), and [`ModelContract::settle`] makes one contract of both: the same for
//! every kind of model. A term is read from the file, from the job, or from a documented
//! convention; a term that none of them gives is a [`ContractGap`], never a guess.
//!
//! Conventions: an input without names that takes all columns gets them in the order of
//! `data.sensitive` and `data.features`; a single number a row is the score of the positive class;
//! the columns of a table of probabilities whose classes the file does not name are the classes 0,
//! 1, ..., and count as such only where the label has as many values and no others, or the job
//! names the class.

use indexmap::{IndexMap, IndexSet};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::canonical::canonical_text;
use crate::data::exchange::row_stream::ClassPosition;
use crate::data::source::list_words;
use crate::data::{Feature, LabelDefinition};
use crate::param::{ColumnName, Word};

/// Names that a message lists.
const NAMED: usize = 20;

/// The most classes of a model that does not state their number.
const MOST_CLASSES: usize = 10_000;

/// The source of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TermSource {
    /// The model's own file.
    File,
    /// The job.
    Job,
    /// A convention of the documents.
    Convention,
}

/// What values an input takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    /// Numbers.
    Number,
    /// Whole numbers.
    Integer,
    /// Truth values.
    Boolean,
    /// Text.
    Text,
    /// Whatever the source holds.
    Source,
}

/// What a missing value becomes for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingAs {
    /// NaN.
    Nan,
    /// Null.
    Null,
    /// An empty field of a line.
    EmptyField,
    /// What pandas makes of it.
    Pandas,
    /// This text.
    Text(String),
    /// Nothing: a row with a missing value is an error.
    Refused,
}

impl MissingAs {
    /// How tables call it.
    pub(crate) fn words(&self) -> String {
        match self {
            MissingAs::Nan => "NaN".to_owned(),
            MissingAs::Null => "null".to_owned(),
            MissingAs::EmptyField => "empty field".to_owned(),
            MissingAs::Pandas => "as pandas reads it".to_owned(),
            MissingAs::Text(text) if text.is_empty() => "empty text".to_owned(),
            MissingAs::Text(text) => format!("text `{text}`"),
            MissingAs::Refused => "error".to_owned(),
        }
    }
}

/// How an input identifies its columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputColumns {
    /// Whatever it gets, by name.
    Any,
    /// These, by name.
    Named(Vec<String>),
    /// A table with this number of columns without names; none where the number is open.
    Unnamed(Option<usize>),
}

/// An input of a model as its file describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelInput {
    /// Its name; empty for the one table that a model takes.
    pub name: String,
    /// Its columns.
    pub columns: InputColumns,
    /// What they hold.
    pub kind: InputKind,
    /// What a missing value becomes.
    pub missing: MissingAs,
    /// By position, the levels that the model knows; none if it does not name them. Null among them
    /// means that it knows missing values.
    pub levels: Vec<Option<Vec<Value>>>,
}

impl ModelInput {
    /// The one table of a model that takes what it gets, by name.
    pub(crate) fn any(missing: MissingAs) -> Self {
        let (name, levels) = (String::new(), Vec::new());
        ModelInput { name, columns: InputColumns::Any, kind: InputKind::Source, missing, levels }
    }
}

/// The output of a model for a row, as its file describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoreOutput {
    /// One number.
    Single,
    /// The probability of the second of two classes, which the file knows as 0 and 1 whatever they
    /// were called in training.
    SecondOfTwo,
    /// A probability for each of these classes.
    Classes(Vec<Value>),
    /// A probability for each of this number of classes, which the file does not name; none if the
    /// number is open, and may be one.
    Unnamed(Option<usize>),
}

/// The description of a model in its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelSignature {
    /// Its inputs, in order; none for scores that are computed elsewhere.
    pub inputs: Vec<ModelInput>,
    /// What it gives for a row.
    pub output: ScoreOutput,
}

impl ModelSignature {
    /// One table of all columns by name, and one number a row.
    pub(crate) fn by_name(missing: MissingAs, output: ScoreOutput) -> Self {
        ModelSignature { inputs: vec![ModelInput::any(missing)], output }
    }
}

/// The terms of a contract in the job.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ContractTerms<'a> {
    /// The columns of the only input, in order; empty where the job names none.
    pub columns: &'a [ColumnName],
    /// The columns of each of several inputs.
    pub inputs: Option<&'a IndexMap<String, Vec<ColumnName>>>,
    /// The class whose probability is the score.
    pub class: Option<&'a Word>,
    /// For each class of a label of several what the model calls it; none of two sides.
    pub classes: Option<&'a IndexMap<Word, Word>>,
    /// Columns that the model does not see.
    pub omit: &'a [ColumnName],
}

impl<'a> ContractTerms<'a> {
    /// The contract of a model with one input.
    pub(crate) fn new(
        columns: &'a [ColumnName],
        class: Option<&'a Word>,
        omit: &'a [ColumnName],
    ) -> Self {
        ContractTerms { columns, inputs: None, class, classes: None, omit }
    }
}

/// A term that neither the file nor the job states, or that they state differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContractGap {
    /// The code of the problem: that of columns or that of classes.
    pub code: &'static str,
    /// The key of the block that it is about.
    pub key: &'static str,
    /// What is open.
    pub what: String,
    /// What to write.
    pub hint: String,
}

impl ContractGap {
    fn columns(what: impl Into<String>, hint: impl Into<String>) -> Self {
        ContractGap { code: "model-columns", key: "columns", what: what.into(), hint: hint.into() }
    }

    fn class(what: impl Into<String>, hint: impl Into<String>) -> Self {
        ContractGap { code: "model-class", key: "class", what: what.into(), hint: hint.into() }
    }
}

/// A column that a model gets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ContractColumn {
    /// The input; empty for the one table that a model takes.
    pub input: String,
    /// Its position in the input, from 0.
    pub position: usize,
    /// The column of the job.
    pub column: String,
    /// What the model takes.
    pub kind: InputKind,
    /// What a missing value becomes.
    pub missing: MissingAs,
    /// The levels that the model knows; none where it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<Value>>,
    /// Where the place of the column is from.
    pub source: TermSource,
}

/// Which class the score is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ScoreTerm {
    /// The class, as the model writes it; none for one number per row, which is the score of the
    /// positive class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Its position among the classes of the model, from 0; none for one number a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// The classes of the model in its order; empty where the file names none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// Of a label of several classes, for each in its order what the model calls it and its
    /// position among the classes of the model: each has a score.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub by_class: IndexMap<String, (String, usize)>,
    /// Where the term is from.
    pub source: TermSource,
}

impl ScoreTerm {
    /// One number a row.
    fn single() -> Self {
        let (classes, by_class) = (Vec::new(), IndexMap::new());
        ScoreTerm { class: None, position: None, classes, by_class, source: TermSource::Convention }
    }

    /// The names by which the scores of a row are known; none for one number a row.
    pub(crate) fn names(&self) -> Option<Vec<&str>> {
        match &self.class {
            Some(class) => Some(vec![class]),
            None => (!self.by_class.is_empty())
                .then(|| self.by_class.values().map(|(name, _)| name.as_str()).collect()),
        }
    }

    /// Where a row of this many numbers has the scores; none where these are of other classes.
    pub(crate) fn places(&self, width: usize) -> Option<Vec<usize>> {
        if self.by_class.is_empty() {
            return ClassPosition::in_row(self.position(), width).map(|at| vec![at]);
        }
        let places = || self.by_class.values().map(|(_, at)| *at).collect();
        (width == self.by_class.len()).then(places)
    }

    /// The position of the score in a row of several numbers; none if it is unknown. If the job
    /// names
    ///
    /// the class, the model may have more classes than are known.
    pub(crate) fn position(&self) -> Option<ClassPosition> {
        let among = (self.source != TermSource::Job).then_some(self.classes.len());
        self.position.map(|at| ClassPosition { at, among })
    }
}

/// The contract with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelContract {
    /// What it gets, input by input and in order; empty for scores that are computed elsewhere.
    pub columns: Vec<ContractColumn>,
    /// What its score is about.
    pub score: ScoreTerm,
    /// SHA-256 over the files of a model that a registry holds; none for any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// The columns of the job that a model may see, and how a file spells them.
struct VisibleColumns<'a>(Vec<&'a str>);

impl<'a> VisibleColumns<'a> {
    /// The column that a name in a file refers to: the column of that name, or the only column with
    /// that name after blanks are replaced by `_`, as LightGBM writes it.
    ///
    /// Errs where several are.
    fn find(&self, name: &str) -> Result<Option<&'a str>, ContractGap> {
        if let Some(found) = self.0.iter().find(|column| **column == name) {
            return Ok(Some(*found));
        }
        let written = |column: &&&str| column.replace(char::is_whitespace, "_") == name;
        let mut found = self.0.iter().filter(written);
        match (found.next(), found.next()) {
            (Some(one), Some(other)) => Err(ContractGap::columns(
                format!("its column `{name}` may be `{one}` or `{other}`"),
                "list the model's columns in order under `columns`",
            )),
            (found, _) => Ok(found.copied()),
        }
    }

    /// A line of the job with all of them, to be put in order.
    fn line(&self) -> String {
        format!("columns: [{}]", listed(&self.0))
    }
}

/// Names as a list of a job holds them.
fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let quoted = |name: &T| {
        let name = name.as_ref();
        let is_plain = |c: char| c.is_alphanumeric() || c == '_';
        let plain = name.chars().all(is_plain) && name.starts_with(char::is_alphabetic);
        if plain { name.to_owned() } else { Value::from(name).to_string() }
    };
    names.iter().map(quoted).collect::<Vec<_>>().join(", ")
}

/// The key that names a class, for each of these; the job holds a number without quotes.
fn class_keys(classes: &[String]) -> String {
    let key = |class: &String| match class.parse::<f64>() {
        Ok(_) => format!("`class: {class}`"),
        Err(_) => format!("`class: {}`", listed(&[class])),
    };
    classes.iter().map(key).collect::<Vec<_>>().join(" or ")
}

/// Names in a message.
fn named<T: AsRef<str>>(names: &[T]) -> String {
    list_words(names.iter().map(|name| format!("`{}`", name.as_ref())), NAMED)
}

impl ModelContract {
    /// Makes the contract from the file and the job.
    ///
    /// `columns` are those of the job that models read, in its order; `label` is that of the rows.
    ///
    /// # Errors
    /// A term is open, or file and job contradict each other.
    pub(crate) fn settle(
        signature: &ModelSignature,
        terms: &ContractTerms<'_>,
        columns: &[&str],
        label: Option<&LabelDefinition>,
    ) -> Result<Self, ContractGap> {
        let is_omitted = |column: &&str| terms.omit.iter().any(|omit| omit.as_str() == *column);
        let visible: Vec<&str> =
            columns.iter().copied().filter(|column| !is_omitted(column)).collect();
        let visible = VisibleColumns(visible);
        let mut settled = Vec::new();
        let inputs = &signature.inputs;
        let known: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        let mut asked = terms.inputs.into_iter().flat_map(|inputs| inputs.keys());
        if let Some(unknown) = asked.find(|name| !known.contains(&name.as_str())) {
            let gap = ContractGap::columns(
                format!("the model has no input `{unknown}`"),
                format!("its inputs are: {}", named(&known)),
            );
            return Err(ContractGap { key: "inputs", ..gap });
        }
        if !terms.columns.is_empty() && inputs.len() > 1 {
            return Err(ContractGap::columns(
                format!("the model has {} inputs: {}", inputs.len(), named(&known)),
                "`columns` orders the columns of a single input: name those of each input under \
                 `inputs`, or leave inputs with the names of columns out",
            ));
        }
        for input in inputs {
            settle_input(input, inputs.len() == 1, terms, &visible, &mut settled)?;
        }
        let score = match terms.classes {
            None => settle_score(&signature.output, terms.class, label)?,
            Some(named) => settle_classes(&signature.output, named, label)?,
        };
        Ok(ModelContract { columns: settled, score, sha256: None })
    }

    /// The positions of the columns of an input among the features of the rows.
    ///
    /// # Errors
    /// The rows lack one of them; in words.
    pub(crate) fn features(&self, input: &str, features: &[Feature]) -> Result<Vec<usize>, String> {
        let position = |column: &ContractColumn| {
            let found = features.iter().position(|feature| feature.name == column.column);
            found.ok_or_else(|| format!("the rows have no column `{}`", column.column))
        };
        self.columns.iter().filter(|column| column.input == input).map(position).collect()
    }

    /// The columns that the model gets, each once, in the order in which it first gets them.
    pub(crate) fn column_names(&self) -> Vec<&str> {
        let names: IndexSet<&str> = self.columns.iter().map(|column| &*column.column).collect();
        names.into_iter().collect()
    }
}

/// Adds the columns of an input.
fn settle_input(
    input: &ModelInput,
    is_only: bool,
    terms: &ContractTerms<'_>,
    visible: &VisibleColumns<'_>,
    settled: &mut Vec<ContractColumn>,
) -> Result<(), ContractGap> {
    let of_input = terms.inputs.and_then(|inputs| inputs.get(&input.name));
    let (key, listed_columns) = match of_input {
        Some(columns) => ("inputs", Some(columns.as_slice())),
        None if is_only && !terms.columns.is_empty() => ("columns", Some(terms.columns)),
        None => ("columns", None),
    };
    let at_key = |gap: ContractGap| ContractGap { key, ..gap };
    let asked: Option<Vec<&str>> =
        listed_columns.map(|columns| columns.iter().map(ColumnName::as_str).collect());
    if let Some(unseen) =
        asked.iter().flatten().find(|column| visible.0.iter().all(|name| name != *column))
    {
        return Err(at_key(ContractGap::columns(
            format!(
                "the model should get the column `{unseen}`, which is not a model column of the job"
            ),
            "name features and sensitive columns that are not omitted",
        )));
    }
    let whose = if input.name.is_empty() {
        "the model".to_owned()
    } else {
        format!("the input `{}` of the model", input.name)
    };
    let agrees = |width: usize, found: &[&str]| {
        if width == found.len() {
            return Ok(());
        }
        Err(at_key(ContractGap::columns(
            format!(
                "{whose} takes {width} columns and would get {}: {}",
                found.len(),
                named(found)
            ),
            format!("name {width} columns, in the order in which the model takes them"),
        )))
    };
    let (columns, source): (Vec<&str>, TermSource) = match (&input.columns, asked) {
        (InputColumns::Any, None) => (visible.0.clone(), TermSource::Convention),
        (InputColumns::Any, Some(asked)) => (asked, TermSource::Job),
        (InputColumns::Named(names), None) => {
            let find = |name: &String| {
                visible.find(name)?.ok_or_else(|| {
                    let way = if is_only && input.name.is_empty() {
                        "list the model's columns in order under `columns`".to_owned()
                    } else if is_only {
                        format!("name its columns in order: `{}`", visible.line())
                    } else {
                        format!("name its columns: `inputs: {{{}: [...]}}`", listed(&[&input.name]))
                    };
                    ContractGap::columns(
                        format!(
                            "the model takes a column `{name}`, and the job has none of that \
                             name"
                        ),
                        format!("declare it as a feature or a sensitive column, or {way}"),
                    )
                })
            };
            let found = names.iter().map(find).collect::<Result<_, ContractGap>>()?;
            (found, TermSource::File)
        }
        (InputColumns::Named(names), Some(asked)) => {
            agrees(names.len(), &asked)?;
            for (i, (name, column)) in names.iter().zip(&asked).enumerate() {
                if let Some(other) = visible.find(name)?.filter(|found| found != column) {
                    return Err(at_key(ContractGap::columns(
                        format!(
                            "column {} of {whose} is `{name}` by its file, and the job gives it \
                             `{column}`",
                            i + 1
                        ),
                        format!(
                            "a model that names its columns gets them by name: write `{other}` \
                             there, or remove `{key}`"
                        ),
                    )));
                }
            }
            (asked, TermSource::Job)
        }
        (InputColumns::Unnamed(width), None) => {
            let takes = match width {
                Some(width) => format!("{width} columns"),
                None => "columns".to_owned(),
            };
            let line = if is_only {
                visible.line()
            } else {
                format!("inputs: {{{}: [{}]}}", listed(&[&input.name]), listed(&visible.0))
            };
            return Err(ContractGap::columns(
                format!("{whose} takes {takes} by their order, and does not say which"),
                format!(
                    "write the columns into the block in the order of its training:\n    {line}"
                ),
            ));
        }
        (InputColumns::Unnamed(width), Some(asked)) => {
            width.map_or(Ok(()), |width| agrees(width, &asked))?;
            (asked, TermSource::Job)
        }
    };
    for (position, column) in columns.into_iter().enumerate() {
        settled.push(ContractColumn {
            input: input.name.clone(),
            position,
            column: column.to_owned(),
            kind: input.kind,
            missing: input.missing.clone(),
            levels: input.levels.get(position).cloned().flatten(),
            source,
        });
    }
    Ok(())
}

/// A class as messages and tables write it.
fn class_text(class: &Value) -> String {
    match class {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    }
}

/// Settles what the model calls each class of the label: the job names all of them, and the model
/// has no others.
fn settle_classes(
    output: &ScoreOutput,
    named: &IndexMap<Word, Word>,
    label: Option<&LabelDefinition>,
) -> Result<ScoreTerm, ContractGap> {
    let gap = |what: String| {
        let hint = "bring a model that gives a number for each class of the label, and write \
                    under `classes` what it calls each";
        ContractGap { key: "classes", ..ContractGap::class(what, hint) }
    };
    let mut found = ScoreTerm { source: TermSource::Job, ..ScoreTerm::single() };
    for class in label.iter().flat_map(|label| &label.classes) {
        let asked = named.get(&Word(class.clone()));
        let one = asked.map(|asked| settle_score(output, Some(asked), label)).transpose();
        let one = one.map_err(|of| gap(of.what))?;
        let Some((name, at, classes)) =
            one.and_then(|of| Some((of.class?, of.position?, of.classes)))
        else {
            return Err(gap(format!("the model gives no number for the class `{class}`")));
        };
        if found.by_class.values().any(|(_, other)| *other == at) {
            return Err(gap(format!(
                "two classes of the label are the class `{name}` of the model"
            )));
        }
        if classes.len() > found.classes.len() {
            found.classes = classes;
        }
        found.by_class.insert(class.clone(), (name, at));
    }
    let (n, own) = (found.by_class.len(), found.classes.len());
    if n != own {
        let what = format!(
            "the model has {own} classes ({}), and the label {n}",
            self::named(&found.classes)
        );
        return Err(gap(what));
    }
    Ok(found)
}

/// Settles which class the score is about.
fn settle_score(
    output: &ScoreOutput,
    asked: Option<&Word>,
    label: Option<&LabelDefinition>,
) -> Result<ScoreTerm, ContractGap> {
    let (classes, is_named): (Vec<String>, bool) = match output {
        ScoreOutput::Single => (Vec::new(), false),
        ScoreOutput::SecondOfTwo => (vec!["0".to_owned(), "1".to_owned()], false),
        ScoreOutput::Classes(classes) => (classes.iter().map(class_text).collect(), true),
        ScoreOutput::Unnamed(width) => {
            ((0..width.unwrap_or(2)).map(|class| class.to_string()).collect(), false)
        }
    };
    let list_of = |classes: &[String]| match is_named {
        true => format!("its classes are {}", named(classes)),
        false => format!(
            "its file names no classes, so that those of its columns are {}, in their order",
            named(classes)
        ),
    };
    // If the number of classes is open, the job may name any.
    let classes = match (output, asked.and_then(|asked| asked.as_str().parse::<usize>().ok())) {
        (ScoreOutput::Unnamed(None), Some(class)) if class < MOST_CLASSES => {
            (0..=class.max(1)).map(|class| class.to_string()).collect()
        }
        _ => classes,
    };
    let settled = |position: usize, source: TermSource| ScoreTerm {
        class: classes.get(position).cloned(),
        position: Some(position),
        classes: classes.clone(),
        source,
        ..ScoreTerm::single()
    };
    if let Some(asked) = asked {
        if *output == ScoreOutput::Single {
            return Err(ContractGap::class(
                "the model gives one number a row, which is the score of the positive class",
                "remove `class`",
            ));
        }
        // The class as the model writes it; else the one with the same meaning.
        let exact = classes.iter().position(|class| class == asked.as_str());
        let same = matching(&classes, |class| is_same_value(class, asked.as_str()));
        let position = exact.or(match same[..] {
            [one] => Some(one),
            _ => None,
        });
        return position.map(|position| settled(position, TermSource::Job)).ok_or_else(|| {
            ContractGap::class(
                format!("the model has no class `{asked}`; {}", list_of(&classes)),
                format!(
                    "write one of them, such as {}",
                    class_keys(&classes[..1.min(classes.len())])
                ),
            )
        });
    }
    let positive = label.map_or(&[][..], |label| label.positive.as_slice());
    let is_positive = |class: &str| positive.iter().any(|value| is_same_value(class, value));
    let is_class = |value: &String| classes.iter().any(|class| is_same_value(class, value));
    let known = match output {
        ScoreOutput::Single => return Ok(ScoreTerm::single()),
        ScoreOutput::Classes(_) => true,
        // Numbers of columns are classes of the label only if the label has the same number of
        // values and no others; of a label without negative rows only the positive values are
        // known.
        ScoreOutput::SecondOfTwo | ScoreOutput::Unnamed(_) => label.is_some_and(|label| {
            let values = || label.positive.iter().chain(&label.negative);
            let is_value = |class: &String| values().any(|value| is_same_value(class, value));
            values().all(is_class) && (classes.len() == 2 || classes.iter().all(is_value))
        }),
    };
    let found = if known { matching(&classes, is_positive) } else { Vec::new() };
    match (output, &found[..]) {
        (ScoreOutput::Classes(_), [position]) => Ok(settled(*position, TermSource::File)),
        (_, [position]) => Ok(settled(*position, TermSource::Convention)),
        (ScoreOutput::SecondOfTwo | ScoreOutput::Unnamed(None), _) => Ok(ScoreTerm::single()),
        (_, several) => {
            let value = match positive {
                values if !known && values.iter().any(is_class) => {
                    let negative = label.map_or(&[][..], |label| label.negative.as_slice());
                    format!("the label has other values: {}", named(&[values, negative].concat()))
                }
                [] => "the job has no label whose positive value would tell".to_owned(),
                [one] if several.is_empty() => {
                    format!("none of them is the positive label `{one}`")
                }
                values if several.is_empty() => {
                    format!("none of them is a positive label ({})", named(values))
                }
                values => {
                    format!("several of them are positive labels ({})", named(values))
                }
            };
            Err(ContractGap::class(
                format!(
                    "the model gives a probability for each of {} classes and the job does not say \
                     which is the score: {}, and {value}",
                    classes.len(),
                    list_of(&classes)
                ),
                format!(
                    "name the class whose probability is the score, as the model writes it: {}",
                    class_keys(&classes[..NAMED.min(classes.len())])
                ),
            ))
        }
    }
}

fn matching(classes: &[String], is: impl Fn(&str) -> bool) -> Vec<usize> {
    (0..classes.len()).filter(|&at| is(&classes[at])).collect()
}

/// Whether two texts are one value: by their canonical texts, where a truth value is also 1 or 0.
fn is_same_value(a: &str, b: &str) -> bool {
    let value = |text: &str| match canonical_text(text) {
        text if text == "true" => "1".to_owned(),
        text if text == "false" => "0".to_owned(),
        text => text.into_owned(),
    };
    value(a) == value(b)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tests::Says;

    const COLUMNS: [&str; 4] = ["sex", "age", "monthly income", "debt"];

    fn names(names: &[&str]) -> Vec<ColumnName> {
        names.iter().map(|&name| ColumnName::new(name).unwrap()).collect()
    }

    fn label(positive: &[&str], negative: &[&str]) -> LabelDefinition {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        LabelDefinition {
            column: "y".to_owned(),
            positive: owned(positive),
            negative: owned(negative),
            classes: Vec::new(),
        }
    }

    fn input(columns: InputColumns) -> ModelInput {
        ModelInput { columns, ..ModelInput::any(MissingAs::Nan) }
    }

    fn settled(columns: InputColumns, asked: &[&str]) -> Result<ModelContract, ContractGap> {
        let signature =
            ModelSignature { inputs: vec![input(columns)], output: ScoreOutput::Single };
        let columns = names(asked);
        let omit = names(&["debt"]);
        let terms = ContractTerms { columns: &columns, omit: &omit, ..ContractTerms::default() };
        ModelContract::settle(&signature, &terms, &COLUMNS, None)
    }

    fn named(list: &[&str]) -> InputColumns {
        InputColumns::Named(list.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn columns_are_found_by_name_or_named_by_the_job() {
        let found = |columns: InputColumns, asked: &[&str]| {
            let contract = settled(columns, asked).unwrap();
            let source = contract.columns[0].source;
            (contract.column_names().join(","), source)
        };
        let by_file = ("age,sex".to_owned(), TermSource::File);
        assert_eq!(found(named(&["age", "sex"]), &[]), by_file);
        // LightGBM writes blanks as `_`.
        let blanks = ("monthly income".to_owned(), TermSource::File);
        assert_eq!(found(named(&["monthly_income"]), &[]), blanks);
        let all = ("sex,age,monthly income".to_owned(), TermSource::Convention);
        assert_eq!(found(InputColumns::Any, &[]), all);
        let by_job = ("age,sex".to_owned(), TermSource::Job);
        assert_eq!(found(InputColumns::Any, &["age", "sex"]), by_job);
        assert_eq!(found(InputColumns::Unnamed(Some(2)), &["age", "sex"]), by_job);
        assert_eq!(found(InputColumns::Unnamed(None), &["age", "sex"]), by_job);
        // The job names the columns for names of the file that are not columns of the job.
        assert_eq!(found(named(&["x0", "sex"]), &["age", "sex"]), by_job);
    }

    #[test]
    fn what_is_open_about_columns_is_asked_for() {
        for (columns, asked, words) in [
            (InputColumns::Unnamed(Some(3)), &[][..], "columns: [sex, age, \"monthly income\"]"),
            (
                InputColumns::Unnamed(Some(3)),
                &["age", "sex"][..],
                "takes 3 columns and would get 2",
            ),
            (InputColumns::Any, &["debt"][..], "`debt`, which is not a model column"),
            (named(&["age", "sex"]), &["sex", "age"][..], "is `age` by its file"),
            (named(&["age", "sex"]), &["age"][..], "takes 2 columns"),
            (named(&["age", "debt"]), &[][..], "takes a column `debt`"),
        ] {
            let gap = settled(columns, asked).unwrap_err();
            let text = format!("{}; {}", gap.what, gap.hint);
            assert!(text.contains(words), "{text}");
            assert_eq!((gap.code, gap.key), ("model-columns", "columns"));
        }
    }

    #[test]
    fn each_of_several_inputs_has_its_columns() {
        let input_of = |name: &str, columns| ModelInput { name: name.to_owned(), ..input(columns) };
        let inputs = vec![
            input_of("age", named(&["age"])),
            input_of("rest", InputColumns::Unnamed(Some(2))),
        ];
        let signature = ModelSignature { inputs, output: ScoreOutput::Single };
        let settle = |inputs: &IndexMap<String, Vec<ColumnName>>| {
            let terms = ContractTerms { inputs: Some(inputs), ..ContractTerms::default() };
            ModelContract::settle(&signature, &terms, &COLUMNS, None)
        };
        let gap = settle(&IndexMap::new()).unwrap_err();
        gap.hint.says(&["inputs: {rest: [sex, age,"]);
        let inputs = IndexMap::from([("rest".to_owned(), names(&["debt", "sex"]))]);
        let contract = settle(&inputs).unwrap();
        assert_eq!(contract.column_names(), ["age", "debt", "sex"]);
        assert_eq!(contract.columns[2].position, 1);
        let inputs = IndexMap::from([("none".to_owned(), names(&["debt"]))]);
        assert_eq!(settle(&inputs).unwrap_err().key, "inputs");
    }

    fn class(
        output: &ScoreOutput,
        asked: Option<&str>,
        label: Option<&LabelDefinition>,
    ) -> Result<(Option<String>, Option<usize>), ContractGap> {
        let (asked, output) = (asked.map(|word| Word(word.to_owned())), output.clone());
        let signature = ModelSignature { inputs: Vec::new(), output };
        let terms = ContractTerms { class: asked.as_ref(), ..ContractTerms::default() };
        let contract = ModelContract::settle(&signature, &terms, &COLUMNS, label)?;
        Ok((contract.score.class, contract.score.position))
    }

    #[test]
    fn each_class_of_the_label_is_one_of_the_model() {
        let settle = |output: ScoreOutput, names: [&str; 3]| {
            let classes = ["low", "mid", "high"];
            let word = |text: &str| Word(text.to_owned());
            let named = classes.iter().zip(names).rev().map(|(of, name)| (word(of), word(name)));
            let named = named.collect();
            let terms = ContractTerms { classes: Some(&named), ..ContractTerms::default() };
            let classes = classes.map(str::to_owned).to_vec();
            let label = LabelDefinition { classes, ..label(&["low"], &["mid", "high"]) };
            let signature = ModelSignature { inputs: Vec::new(), output };
            ModelContract::settle(&signature, &terms, &COLUMNS, Some(&label))
        };
        let named = || ScoreOutput::Classes(vec![json!("c"), json!("a"), json!("b")]);
        let (unnamed, open) = (ScoreOutput::Unnamed(Some(3)), ScoreOutput::Unnamed(None));
        for (output, names, places) in [
            (named(), ["a", "b", "c"], [1, 2, 0]),
            (unnamed.clone(), ["2", "1.0", "0"], [2, 1, 0]),
            (open.clone(), ["0", "2", "1"], [0, 2, 1]),
        ] {
            let score = settle(output, names).unwrap().score;
            assert_eq!((score.by_class.len(), score.source), (3, TermSource::Job));
            assert_eq!(score.places(3), Some(places.to_vec()));
            assert_eq!([1, 2, 4].map(|width| score.places(width)), [None, None, None]);
        }
        for (output, names, what) in [
            (ScoreOutput::Single, ["0", "1", "2"], "gives one number a row"),
            (ScoreOutput::SecondOfTwo, ["0", "1", "2"], "has no class `2`"),
            (named(), ["a", "b", "d"], "has no class `d`"),
            (unnamed, ["0", "1", "1.0"], "two classes of the label are the class `1`"),
            (ScoreOutput::Unnamed(Some(4)), ["0", "1", "2"], "has 4 classes"),
            (open, ["0", "1", "3"], "has 4 classes"),
        ] {
            let gap = settle(output, names).unwrap_err();
            assert!(gap.what.contains(what), "{}", gap.what);
            assert_eq!((gap.code, gap.key), ("model-class", "classes"));
        }
    }

    #[test]
    fn the_class_of_the_score_is_the_positive_label_or_named() {
        let classes = |values: &[Value]| ScoreOutput::Classes(values.to_vec());
        let two = classes(&[json!(1), json!(2)]);
        let good = label(&["1"], &["2"]);
        let settled = |class: &str, at: usize| Ok((Some(class.to_owned()), Some(at)));
        assert_eq!(class(&two, None, Some(&good)), settled("1", 0));
        assert_eq!(class(&two, None, Some(&label(&["2.0"], &["1.0"]))), settled("2", 1));
        assert_eq!(class(&two, Some("2"), Some(&good)), settled("2", 1));
        let flags = classes(&[json!(false), json!(true)]);
        assert_eq!(class(&flags, None, Some(&label(&["1"], &["0"]))), settled("True", 1));
        assert_eq!(class(&flags, None, Some(&label(&["true"], &["false"]))), settled("True", 1));
        let words = classes(&[json!("lost"), json!("repaid")]);
        assert_eq!(class(&words, Some("lost"), Some(&good)), settled("lost", 0));
        for (output, asked, label, hint) in [
            (&words, None, Some(&good), "`class: lost` or `class: repaid`"),
            (&words, Some("returned"), Some(&good), "`class: lost`"),
            (&two, None, None, "`class: 1` or `class: 2`"),
            (&two, None, Some(&label(&["1", "2"], &["3"])), "`class: 1` or `class: 2`"),
        ] {
            let gap = class(output, asked, label).unwrap_err();
            assert!(gap.hint.contains(hint), "{}", gap.hint);
            assert_eq!((gap.code, gap.key), ("model-class", "class"));
        }
    }

    /// Numbers of columns are classes only of a label that holds nothing else.
    #[test]
    fn classes_without_names_are_never_guessed() {
        let settled = |class: &str, at: usize| Ok((Some(class.to_owned()), Some(at)));
        let single = Ok((None, None));
        let (zero_one, one_two) = (label(&["1"], &["0"]), label(&["1"], &["2"]));
        let two = ScoreOutput::Unnamed(Some(2));
        assert_eq!(class(&two, None, Some(&zero_one)), settled("1", 1));
        assert_eq!(class(&two, None, Some(&label(&["0"], &["1"]))), settled("0", 0));
        let other_values = |output: &ScoreOutput, of: &LabelDefinition, hint: &str| {
            let gap = class(output, None, Some(of)).unwrap_err();
            gap.what.says(&["the label has other values: `1`, `"]);
            gap.hint.says(&[hint]);
        };
        other_values(&two, &one_two, "`class: 0` or `class: 1`");
        // A table of three columns has three classes, not two.
        let three = ScoreOutput::Unnamed(Some(3));
        other_values(&three, &zero_one, "`class: 0` or `class: 1` or `class: 2`");
        assert_eq!(class(&three, Some("1"), Some(&zero_one)), settled("1", 1));
        assert_eq!(class(&three, None, Some(&label(&["1"], &["0", "2"]))), settled("1", 1));
        assert_eq!(class(&two, Some("1"), Some(&one_two)), settled("1", 1));
        let open = ScoreOutput::Unnamed(None);
        assert_eq!(class(&open, None, Some(&zero_one)), settled("1", 1));
        assert_eq!(class(&open, None, Some(&one_two)), single);
        assert_eq!(class(&open, Some("4"), Some(&one_two)), settled("4", 4));
        assert!(class(&open, Some("good"), Some(&one_two)).is_err());
        let boosted = ScoreOutput::SecondOfTwo;
        assert_eq!(class(&boosted, None, Some(&label(&["0"], &["1"]))), settled("0", 0));
        assert_eq!(class(&boosted, None, Some(&one_two)), single);
        assert_eq!(class(&boosted, Some("0"), None), settled("0", 0));
        assert_eq!(class(&ScoreOutput::Single, None, None), single);
        assert!(class(&ScoreOutput::Single, Some("1"), None).is_err());
    }

    #[test]
    fn one_value_however_spelt() {
        for (a, b) in [("1", "1.0"), (" 1", "1"), ("True", "1"), ("false", "0"), ("a ", "a")] {
            assert!(is_same_value(a, b), "{a} {b}");
        }
        for (a, b) in [("01", "1"), ("a", "A"), ("1", "2"), ("yes", "1"), ("nan", "NaN")] {
            assert!(!is_same_value(a, b), "{a} {b}");
        }
    }
}
