//! The unit of work: a value with fields. The text of a stage's id is computed from it and read
//! back for `--force`.
//!
//! A kind of unit names the fields that distinguish its stages; all others stay empty. The text is
//! the kind, then the fields that are set: `score/model=live/set=flip/attribute=sex`.

use std::fmt;

use crate::param::worded_enum;

worded_enum! {
    /// The kinds of stages that `--until` and `--force` take, in the order of a run.
    StageKind {
        /// Rows as numbers.
        Prepare = "prepare",
        /// Which rows train and which are audited.
        Split = "split",
        /// Causal graphs.
        Discover = "discover",
        /// Models.
        Train = "train",
        /// What strategies learn.
        Fit = "fit",
        /// Counterfactuals.
        Generate = "generate",
        /// Scores of rows and counterfactuals.
        Score = "score",
        /// Evidence.
        Count = "count",
        /// Tables of metrics.
        Measure = "measure",
        /// Everything of experiments.
        Augment = "augment",
        /// What people would have to change.
        Recourse = "recourse",
        /// Who switches.
        Why = "why",
        /// Verdicts.
        Gate = "gate",
        /// The output folder.
        Report = "report",
    }
}

/// Writes the kinds of units, each with its word and the kind of its stage in the plain audit.
macro_rules! unit_kinds {
    ($($(#[$means:meta])* $kind:ident = $word:literal in $stage:ident,)+) => {
        worded_enum! {
            /// What a unit does: the first part of its text.
            UnitKind { $($(#[$means])* $kind = $word,)+ }
        }

        impl UnitKind {
            /// The kind of stage in the plain audit.
            const fn stage_kind(self) -> StageKind {
                match self { $(UnitKind::$kind => StageKind::$stage,)+ }
            }
        }
    };
}

unit_kinds! {
    /// Rows that are not Parquet, as Parquet.
    Source = "source" in Prepare,
    /// Rows of a reference in a separate file.
    Reference = "reference" in Prepare,
    /// The rows of a shard as numbers, and the values that occur in them.
    Survey = "survey" in Prepare,
    /// Rows as numbers.
    Prepare = "prepare" in Prepare,
    /// Roles of the rows; of an experiment also fold by fold.
    Split = "split" in Split,
    /// In which state each row of the source is, by group.
    Population = "population" in Split,
    /// Labels and decisions by group, if the rows show them.
    Labels = "labels" in Split,
    /// The reference rows by group and value.
    Support = "support" in Split,
    /// The graphs of all scenarios of a set.
    Discover = "discover" in Discover,
    /// A model; of an experiment that of an arm and fold, or those of inner folds.
    Train = "train" in Train,
    /// What a strategy learnt.
    Fit = "fit" in Fit,
    /// What a program says that people would be in other groups.
    External = "external" in Generate,
    /// Counterfactuals of audited rows; with a fold of the training rows for it.
    Generate = "generate" in Generate,
    /// The counterfactuals of a set in the user's own ids and values.
    Kept = "kept" in Generate,
    /// Which rows a file of scores answers.
    Request = "request" in Score,
    /// What a model gets and gives.
    Contract = "contract" in Score,
    /// Values of audited rows that a model does not know.
    Levels = "levels" in Score,
    /// A fitted threshold.
    Threshold = "threshold" in Score,
    /// Scores of rows, or of the counterfactuals of a set.
    Score = "score" in Score,
    /// Scores of a graph-uncertain set in every world.
    Worlds = "worlds" in Score,
    /// Rows that are scored a second time.
    Recheck = "recheck" in Score,
    /// Scores next to those that a model is known to give.
    Expect = "expect" in Score,
    /// The rows that are to be scored elsewhere.
    ToScore = "to-score" in Score,
    /// Evidence of a set with shuffled group names.
    Placebo = "placebo" in Count,
    /// Evidence of a set that is fitted again on rows drawn again.
    Doubt = "doubt" in Count,
    /// Evidence of an audit; of an experiment that of an arm.
    Count = "count" in Count,
    /// Evidence of two models on the same rows; of an experiment of an arm and the base.
    Pair = "pair" in Count,
    /// The flip test.
    Flips = "flips" in Count,
    /// Outcomes row by row.
    Outcomes = "outcomes" in Count,
    /// People who switch, for the page.
    Cases = "cases" in Count,
    /// Quality of counterfactuals.
    Quality = "quality" in Measure,
    /// The tables; of an experiment its own.
    Measure = "measure" in Measure,
    /// The rows that arms added.
    Selected = "selected" in Augment,
    /// The tables of the audit and of all experiments.
    Tables = "tables" in Augment,
    /// Subgroups and what they would have to change.
    Recourse = "recourse" in Recourse,
    /// Who switches, of a block of the job.
    Why = "why" in Why,
    /// What a hidden cause could do to what a model says across graphs.
    Hidden = "hidden" in Gate,
    /// What a model says across graphs without each statement about them.
    Needed = "needed" in Gate,
    /// The comparison with an earlier run.
    Baseline = "baseline" in Gate,
    /// Verdicts.
    Gate = "gate" in Gate,
    /// The output folder.
    Report = "report" in Report,
}

/// A field of a unit as text; the empty text is the field that is not set.
trait FieldText: Sized {
    fn text(&self) -> String;
    fn parse(text: &str) -> Option<Self>;
}

impl FieldText for String {
    fn text(&self) -> String {
        self.clone()
    }

    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl FieldText for Option<usize> {
    fn text(&self) -> String {
        self.map_or_else(String::new, |number| number.to_string())
    }

    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
    }
}

/// Writes the struct and the list of its fields: a new field is one row.
macro_rules! audit_fields {
    ($($field:ident: $type:ty = $value:ident $word:literal, $means:literal;)+) => {
        /// What is audited. A field that is not set is empty.
        #[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) struct AuditUnit { $(#[doc = $means] pub $field: $type,)+ }

        worded_enum! {
            /// A field of a unit, in the order of its text.
            UnitField { $(#[doc = $means] $value = $word,)+ }
        }

        impl AuditUnit {
            fn get(&self, field: UnitField) -> String {
                match field { $(UnitField::$value => self.$field.text(),)+ }
            }

            fn set(&mut self, field: UnitField, text: &str) -> Option<()> {
                match field { $(UnitField::$value => self.$field = FieldText::parse(text)?,)+ }
                Some(())
            }
        }
    };
}

audit_fields! {
    model: String = Model "model", "Name of the model.";
    set: String = Set "set", "Counterfactual set, with its scenario; none: the rows as they are.";
    attribute: String = Attribute "attribute", "Sensitive attribute.";
    experiment: String = Experiment "experiment", "Name of the experiment; none: the plain audit.";
    arm: String = Arm "arm", "Arm of the experiment.";
    fold: Option<usize> = Fold "fold", "Fold of the experiment; none: all.";
    predictions: String = Predictions "predictions", "The model whose predictions of training rows \
        are used.";
    repeat: Option<usize> = Repeat "repeat", "Which further training of the model, from 0; none: \
        the audited one.";
    block: String = Block "block", "Block of the job, where no other field names it.";
}

impl AuditUnit {
    /// A model on the rows as they are.
    pub(crate) fn of_model(model: &str) -> Self {
        AuditUnit { model: model.to_owned(), ..AuditUnit::default() }
    }

    /// This unit on the unchanged rows.
    #[must_use]
    pub(crate) fn factual(&self) -> Self {
        AuditUnit { set: String::new(), attribute: String::new(), ..self.clone() }
    }
}

/// The identity of a stage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StageUnit {
    kind: UnitKind,
    fields: AuditUnit,
}

impl StageUnit {
    /// The unit of a kind with those fields that distinguish stages of that kind.
    pub(crate) fn cut_to(kind: UnitKind, told_apart: &[UnitField], unit: &AuditUnit) -> Self {
        let mut fields = AuditUnit::default();
        for &field in told_apart {
            fields.set(field, &unit.get(field));
        }
        StageUnit { kind, fields }
    }

    /// What it does.
    pub(crate) fn kind(&self) -> UnitKind {
        self.kind
    }

    /// Its fields.
    pub(crate) fn fields(&self) -> &AuditUnit {
        &self.fields
    }

    /// The kind of its stage: everything of an experiment is `augment`.
    pub(crate) fn stage_kind(&self) -> StageKind {
        match self.fields.experiment.as_str() {
            "" => self.kind.stage_kind(),
            _ => StageKind::Augment,
        }
    }

    /// Reads its text back.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let UnitPattern { word, fields } = UnitPattern::parse(text)?;
        let mut unit = StageUnit { kind: word?.parse().ok()?, fields: AuditUnit::default() };
        for (field, text) in fields {
            unit.fields.set(field, &text)?;
        }
        Some(unit)
    }
}

/// A name as it is in an id: what would divide the id, or break its line, is written as `%` and
/// the code point in hexadecimal digits: two, and of line and paragraph separators four.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '\u{2028}' | '\u{2029}' => text.push_str(&format!("%u{:04x}", u32::from(c))),
            '%' | '/' => text.push_str(&format!("%{:02x}", u32::from(c))),
            // Control characters are below 256.
            c if c.is_control() => text.push_str(&format!("%{:02x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text
}

/// The name behind [`escaped`]; other texts stay as they are.
fn unescaped(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let (before, code) = rest.split_at(at);
        let (digits, len) = match code.strip_prefix("%u") {
            Some(digits) => (digits.get(..4), 6),
            None => (code.get(1..3), 3),
        };
        let found = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        name.push_str(before);
        match found.and_then(char::from_u32) {
            Some(c) => name.push(c),
            None => name.push('%'),
        }
        rest = &code[if found.and_then(char::from_u32).is_some() { len } else { 1 }..];
    }
    name.push_str(rest);
    name
}

/// `count/model=own/set=flip/attribute=sex`; a slash or a line break in a name divides nothing.
impl fmt::Display for StageUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.word())?;
        for &field in UnitField::ALL {
            let text = self.fields.get(field);
            if !text.is_empty() {
                write!(f, "/{}={}", field.word(), escaped(&text))?;
            }
        }
        Ok(())
    }
}

/// Part of a unit's text: a kind of stage or unit, fields, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnitPattern<'t> {
    word: Option<&'t str>,
    fields: Vec<(UnitField, String)>,
}

impl<'t> UnitPattern<'t> {
    /// Reads a pattern; none for a text that is not part of any unit's.
    pub(crate) fn parse(text: &'t str) -> Option<Self> {
        let mut pattern = UnitPattern { word: None, fields: Vec::new() };
        for (i, part) in text.split('/').enumerate() {
            match part.split_once('=') {
                None if i == 0 => pattern.word = Some(part),
                None => return None,
                Some((field, text)) => {
                    pattern.fields.push((field.parse().ok()?, unescaped(text)));
                }
            }
        }
        Some(pattern)
    }

    /// Whether a unit has all that is named.
    pub(crate) fn takes(&self, unit: &StageUnit) -> bool {
        let has = |(field, text): &(UnitField, String)| unit.fields.get(*field) == *text;
        let is = |word: &str| word == unit.kind.word() || word == unit.stage_kind().word();
        self.word.is_none_or(is) && self.fields.iter().all(has)
    }
}

/// Whether the text after `--force` takes the stage of this id.
pub(crate) fn is_forced(force: &str, id: &str) -> bool {
    let unit = StageUnit::parse(id);
    unit.zip(UnitPattern::parse(force)).is_some_and(|(unit, pattern)| pattern.takes(&unit))
}

#[cfg(test)]
mod tests {
    use super::{AuditUnit, StageKind, StageUnit, UnitField, UnitKind, UnitPattern};

    fn unit(experiment: &str) -> StageUnit {
        let fields = AuditUnit {
            set: "found/none".to_owned(),
            attribute: "a%2f=b".to_owned(),
            experiment: experiment.to_owned(),
            fold: Some(3),
            ..AuditUnit::of_model("live")
        };
        StageUnit::cut_to(UnitKind::Score, UnitField::ALL, &fields)
    }

    #[test]
    fn the_text_of_a_unit_is_computed_and_read_back() {
        for unit in [unit(""), unit("more")] {
            assert_eq!(StageUnit::parse(&unit.to_string()), Some(unit));
        }
        let text = "score/model=live/set=found%2fnone/attribute=a%252f=b/fold=3";
        assert_eq!(unit("").to_string(), text);
        for wrong in ["", "poem", "score/live", "score/poem=1", "score/fold=x", "model=live"] {
            assert_eq!(StageUnit::parse(wrong), None, "{wrong}");
        }
        for &kind in UnitKind::ALL {
            let bare = StageUnit::cut_to(kind, &[], &AuditUnit::of_model("live"));
            assert_eq!(bare.to_string(), kind.word());
            assert_eq!(StageUnit::parse(kind.word()), Some(bare));
        }
    }

    /// Ids are printed in logs and tables of one line each, whatever a column is called.
    #[test]
    fn a_line_break_in_a_name_does_not_break_the_id() {
        for name in ["a\nb", "a\r\n", "\u{85}\u{2028}/%", "100 %", "%zz%0", "caf\u{e9}"] {
            let fields = AuditUnit { attribute: name.to_owned(), ..AuditUnit::default() };
            let unit = StageUnit::cut_to(UnitKind::Count, UnitField::ALL, &fields);
            let text = unit.to_string();
            assert!(!text.contains(|c: char| c.is_control() || c == '\u{2028}'), "{text}");
            assert_eq!(StageUnit::parse(&text), Some(unit), "{text}");
        }
        let fields = AuditUnit { attribute: "a\nb".to_owned(), ..AuditUnit::default() };
        let unit = StageUnit::cut_to(UnitKind::Count, UnitField::ALL, &fields);
        assert_eq!(unit.to_string(), "count/attribute=a%0ab");
    }

    #[test]
    fn any_part_of_a_text_takes_the_unit() {
        let takes =
            |text: &str, unit: &StageUnit| UnitPattern::parse(text).is_some_and(|p| p.takes(unit));
        let (plain, of_arm) = (unit(""), unit("more"));
        for text in ["score", "model=live", "fold=3/model=live", "score/set=found%2fnone"] {
            assert!(takes(text, &plain) && takes(text, &of_arm), "{text}");
        }
        assert!(takes("augment", &of_arm) && !takes("augment", &plain));
        assert!(takes("experiment=more", &of_arm) && !takes("experiment=more", &plain));
        for text in ["count", "score/model=other", "score/live", "poem=1", "fold=4"] {
            assert!(!takes(text, &plain), "{text}");
        }
        assert_eq!(
            [plain.stage_kind(), of_arm.stage_kind()],
            [StageKind::Score, StageKind::Augment]
        );
    }
}
