//! The job's own words: what groups, attributes, models, sets and the two decisions are called.
//!
//! Here they are facts, resolved once, so that no template looks anything up; `page/voice.html`
//! words them. Rust code that needs such words asks [`AuditVoice`], which calls the same macros.

use std::collections::BTreeSet;

use minijinja::Environment;
use minijinja::value::Value;
use serde::Serialize;

use crate::folder::manifest::{AmountWords, Manifest, SetWords};
use crate::metric::GapTransform;
use crate::metric::catalog::find;
use crate::report::draw::plot::SwitchSide;
use crate::report::page::render::vocabulary;
use crate::report::read::audit::AuditFolder;
use crate::report::section::graphs::values::{ValueKnobs, ValuesInShort};
use crate::table::MetricRow;
use crate::text::{fact, said};

/// Names of models that say something else in front of `model`: which of several models is meant,
/// or how good it is.
const READS_AS_ENGLISH: &str = include_str!("english.txt");

/// How the two decisions are called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum DecisionVoice {
    /// In the job's words: `granted`, `refused`, `the loan`.
    Named { favourable: String, unfavourable: String, object: Option<String> },
    /// The job says which side people want, and gives no words.
    Favourable,
    /// The job does not say which side people want, or the label has several classes. Where one of
    /// them is the positive side its name, and whether people want all others.
    Predicted { class: Option<String>, unwanted: bool },
    /// Outcomes are amounts: the words for the better and the worse one, and from which per cent or
    /// number on a change matters; neither where every change does.
    Amounts {
        better: &'static str,
        worse: &'static str,
        percent: Option<String>,
        number: Option<String>,
    },
}

/// What every sentence may depend on.
#[derive(Debug, Clone, Serialize)]
struct VoiceFacts {
    decision: DecisionVoice,
    /// Whether a person may have several rows, so that counts are rows.
    of_rows: bool,
    /// Whether some set of causal graphs makes rows.
    makes_rows: bool,
    /// The sets in which a person has several counterfactuals as a member of another group, so
    /// that their counts are counterfactuals.
    several: BTreeSet<String>,
    /// Whether shares are weighted.
    weighted: bool,
    /// Whether there is an annex to lead to.
    annex: bool,
}

/// A group; none of the words of a job that gives none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct CalledGroup {
    pub(crate) name: String,
    pub(crate) words: Option<String>,
}

/// An attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CalledAttribute {
    pub(crate) name: String,
    called: Option<String>,
    /// Whether people have more than one other group, so that each has more than one decision as a
    /// member of another group.
    pub(super) several: bool,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CalledModel {
    pub(crate) name: String,
    /// Whether its name reads as another statement in front of `model`.
    ambiguous: bool,
}

/// What a set changes: sets with the same change read alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum SetChange {
    Entry,
    Features { paired: bool, n: usize },
    AllFeatures,
    PairedPeople,
    Graphs { scenario: Option<String>, levels: String, are_rows: bool },
    Elsewhere { name: String },
}

/// A set of counterfactuals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CalledSet {
    pub(crate) name: String,
    /// None of a set that the manifest does not know.
    strategy: Option<String>,
    change: SetChange,
    /// Whether it changes nothing but the entry.
    pub(crate) only_entry: bool,
    /// Whether those it is compared with are similar people: nothing is known of rows that the job
    /// brings, and little of those that are only paired.
    similar: bool,
    /// Whether a person has several counterfactuals as a member of another group.
    pub(crate) several: bool,
    /// The features that it may move; none where it may move all.
    pub(crate) moved: Option<Vec<String>>,
    /// Whether another set reads alike, so that its name must be added.
    ambiguous: bool,
    /// For a set of causal graphs, what its values are.
    pub(crate) values: Option<ValuesInShort>,
}

impl CalledSet {
    /// Whether it follows causal graphs.
    pub(crate) fn is_of_graphs(&self) -> bool {
        self.values.is_some()
    }

    /// Whether the labels of two sets are the same words.
    pub(crate) fn reads_as(&self, other: &CalledSet) -> bool {
        self.change == other.change
            && (self.name == other.name || !self.ambiguous && !other.ambiguous)
    }
}

/// A side of a decision or of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CalledSide {
    Favourable,
    Unfavourable,
    Positive,
    Negative,
}

/// What a rate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum CalledRate {
    /// Decisions that change.
    Switches,
    /// People judged correctly.
    Correct,
    /// Decisions of one side.
    Decided { gets: CalledSide },
    /// Predictions that the label confirms or does not.
    ByLabel { right: bool, gets: CalledSide, label: CalledSide },
}

/// The vocabulary of the sentences of an audit.
#[derive(Debug, Clone)]
pub(crate) struct AuditVoice<'a> {
    manifest: &'a Manifest,
    facts: VoiceFacts,
    vocabulary: Environment<'static>,
}

/// How the amounts of a job are called.
fn amount_voice(told: &AmountWords) -> DecisionVoice {
    let (better, worse) =
        if told.better_is_lower { ("lower", "higher") } else { ("higher", "lower") };
    let from = told.matters_from.as_str();
    let (percent, number) = match from.strip_suffix('%') {
        _ if told.changes_always_matter() => (None, None),
        Some(percent) => (Some(percent.to_owned()), None),
        None => (None, Some(from.to_owned())),
    };
    DecisionVoice::Amounts { better, worse, percent, number }
}

/// The features that a set may move; none where it may move all.
fn moved(set: &SetWords) -> Option<Vec<String>> {
    Some(
        set.knob("move")?
            .as_array()?
            .iter()
            .filter_map(|name| Some(name.as_str()?.to_owned()))
            .collect(),
    )
}

impl<'a> AuditVoice<'a> {
    /// The words of an audit; for `classes` it is not known which is better.
    pub(crate) fn new(manifest: &'a Manifest, classes: bool) -> Self {
        let label = manifest.label.as_ref();
        let words = label.and_then(|label| label.words.as_ref());
        let decision = match (manifest.favourable_is_positive(), words) {
            (is_positive, _) if classes || is_positive.is_none() => DecisionVoice::Predicted {
                class: label
                    .filter(|of| classes && of.positive.len() == 1)
                    .map(|of| of.positive[0].clone()),
                unwanted: classes && is_positive == Some(false),
            },
            (_, Some(words)) => DecisionVoice::Named {
                favourable: words.favourable.trim().to_owned(),
                unfavourable: words.unfavourable.trim().to_owned(),
                object: words
                    .object
                    .as_deref()
                    .map(|object| object.trim().to_owned())
                    .filter(|object| !object.is_empty()),
            },
            (_, None) => DecisionVoice::Favourable,
        };
        let decision = manifest.amounts().map_or(decision, amount_voice);
        let makes_rows = manifest.counterfactuals.iter().any(|set| {
            set.strategy == "graph-uncertain" && ValueKnobs::of(manifest, &set.name).are_rows()
        });
        let facts = VoiceFacts {
            decision,
            of_rows: manifest.person.is_some(),
            makes_rows,
            several: BTreeSet::new(),
            weighted: manifest.weight.is_some(),
            annex: !manifest.words.without_annex,
        };
        let vocabulary = vocabulary(fact(&facts));
        AuditVoice { manifest, facts, vocabulary }
    }

    /// The words of an audit with its tables.
    pub(crate) fn of_audit(audit: &'a AuditFolder) -> Self {
        let rows = audit.measures().flat_map(|(_, values)| values.values());
        AuditVoice::new(&audit.manifest, audit.classes.are_there()).with_counts(rows)
    }

    /// The same words where some values count more cases than rows in a direction.
    pub(crate) fn with_counts<'m>(self, values: impl Iterator<Item = &'m MetricRow>) -> Self {
        let repeats = |row: &&MetricRow| {
            row.key.scope == "direction"
                && row.denominator.is_some_and(|n| (1..n).contains(&row.n_rows))
        };
        let several = values.filter(repeats).map(|row| row.key.counterfactual.to_string());
        let facts = VoiceFacts { several: several.collect(), ..self.facts };
        AuditVoice { vocabulary: vocabulary(fact(&facts)), facts, ..self }
    }

    /// The two decisions.
    pub(crate) fn decision(&self) -> &DecisionVoice {
        &self.facts.decision
    }

    /// Of a label of several classes the only one that is the positive side; else empty.
    pub(crate) fn positive_class(&self) -> &str {
        match self.decision() {
            DecisionVoice::Predicted { class: Some(class), .. } => class,
            _ => "",
        }
    }

    /// What the templates of a page get as `voice`.
    pub(crate) fn facts(&self) -> Value {
        fact(&self.facts)
    }

    /// What a macro of the vocabulary says, or of another template that has only plain words.
    pub(crate) fn say(&self, (template, name): (&str, &str), arguments: &[Value]) -> String {
        said(&self.vocabulary, template, name, arguments)
    }

    /// What a macro of `voice.html` says.
    fn word(&self, name: &str, arguments: &[Value]) -> String {
        self.say(("voice.html", name), arguments)
    }

    /// A group.
    pub(crate) fn called_group(&self, attribute: &str, group: &str) -> CalledGroup {
        let words = self.manifest.attribute(attribute).and_then(|of| of.words.get(group));
        CalledGroup { name: group.to_owned(), words: words.cloned() }
    }

    /// An attribute.
    pub(crate) fn called_attribute(&self, name: &str) -> CalledAttribute {
        CalledAttribute {
            name: name.to_owned(),
            called: self.manifest.attribute(name).and_then(|of| of.called.clone()),
            several: self.has_several_others(name),
        }
    }

    /// A model.
    pub(crate) fn called_model(&self, name: &str) -> CalledModel {
        let ambiguous = READS_AS_ENGLISH.split_whitespace().any(|word| word == name.to_lowercase());
        CalledModel { name: name.to_owned(), ambiguous }
    }

    fn change(&self, set: &SetWords) -> SetChange {
        match (set.strategy.as_str(), moved(set)) {
            ("naive", _) => SetChange::Entry,
            (strategy @ ("plausible" | "transport"), Some(names)) => {
                SetChange::Features { paired: strategy == "transport", n: names.len() }
            }
            ("greedy", _) => SetChange::AllFeatures,
            ("transport", None) => SetChange::PairedPeople,
            ("graph-uncertain", _) => {
                let knobs = ValueKnobs::of(self.manifest, &set.name);
                SetChange::Graphs {
                    scenario: set.name.split_once('/').map(|(_, name)| name.to_owned()),
                    levels: knobs.levels().to_owned(),
                    are_rows: knobs.are_rows(),
                }
            }
            _ => SetChange::Elsewhere { name: set.name.clone() },
        }
    }

    /// A set. Where two would read alike, each is followed by its name; if sets change the entries
    /// of different attributes, the groups next to the label show which is meant.
    pub(crate) fn called_set(&self, name: &str) -> CalledSet {
        let set = self.set(name);
        let elsewhere = || SetChange::Elsewhere { name: name.to_owned() };
        let change = set.map_or_else(elsewhere, |set| self.change(set));
        let is_apart = |set: &SetWords, other: &SetWords| {
            set.strategy == "naive" && !set.attributes.iter().any(|a| other.attributes.contains(a))
        };
        let ambiguous = set.is_some_and(|set| {
            self.manifest.counterfactuals.iter().any(|other| {
                other.name != set.name && self.change(other) == change && !is_apart(set, other)
            })
        });
        let is_of = |strategy: &str| set.is_some_and(|set| set.strategy == strategy);
        CalledSet {
            name: name.to_owned(),
            strategy: set.map(|set| set.strategy.clone()),
            change,
            only_entry: is_of("naive"),
            similar: set.is_some()
                && !["naive", "external", "transport"].iter().any(|of| is_of(of)),
            several: self.facts.several.contains(name),
            moved: set.and_then(moved),
            ambiguous,
            values: is_of("graph-uncertain")
                .then(|| ValueKnobs::of(self.manifest, name).in_short()),
        }
    }

    fn side_of(&self, positive: bool) -> CalledSide {
        let wanted = self.manifest.favourable_is_positive() == Some(positive);
        let named =
            matches!(self.decision(), DecisionVoice::Named { .. } | DecisionVoice::Favourable);
        match (named, if named { wanted } else { positive }) {
            (true, true) => CalledSide::Favourable,
            (true, false) => CalledSide::Unfavourable,
            (false, true) => CalledSide::Positive,
            (false, false) => CalledSide::Negative,
        }
    }

    /// What one of the four rates of a confusion matrix counts; none of other metrics.
    pub(crate) fn by_label(&self, metric: &str) -> Option<CalledRate> {
        let (label, predicted) = match metric {
            "tpr" => (true, true),
            "fnr" => (true, false),
            "fpr" => (false, true),
            "tnr" => (false, false),
            _ => return None,
        };
        Some(CalledRate::ByLabel {
            right: label == predicted,
            gets: self.side_of(predicted),
            label: self.side_of(label),
        })
    }

    /// What a higher rate means for its people. None of metrics other than the share of positive
    /// decisions and the four rates of a confusion matrix.
    pub(crate) fn rate(&self, metric: &str) -> Option<CalledRate> {
        match (metric, self.decision()) {
            ("pprev", DecisionVoice::Amounts { .. }) => None,
            ("pprev", _) => Some(CalledRate::Decided { gets: self.side_of(true) }),
            _ => self.by_label(metric),
        }
    }

    /// What a metric measures, and whether it is the gap of that. None where only its own name
    /// tells it.
    pub(crate) fn measured_rate(&self, metric: &str) -> Option<(CalledRate, bool)> {
        match metric {
            "sr" => return Some((CalledRate::Switches, false)),
            "acc" => return Some((CalledRate::Correct, false)),
            "pprev" if matches!(self.decision(), DecisionVoice::Predicted { .. }) => return None,
            _ => {}
        }
        if let Some(rate) = self.rate(metric) {
            return Some((rate, false));
        }
        let (base, _) = find(metric)?.gap_of.filter(|gap| gap.1 == GapTransform::Difference)?;
        self.measured_rate(base).map(|(rate, _)| (rate, true))
    }

    /// As [`Self::measured_rate`], for any gap what the metric of which it is a gap measures.
    pub(crate) fn rate_behind(&self, metric: &str) -> Option<CalledRate> {
        let base = find(metric).and_then(|of| of.gap_of).map_or(metric, |(base, _)| base);
        self.measured_rate(base).map(|(rate, _)| rate)
    }

    /// The people of a group: `women`, or `people in group Female`.
    pub(crate) fn people(&self, attribute: &str, group: &str) -> String {
        self.word("people", &[fact(&self.called_group(attribute, group))])
    }

    /// A group as a label: `women`, or `Female`.
    pub(crate) fn group(&self, attribute: &str, group: &str) -> String {
        self.word("group", &[fact(&self.called_group(attribute, group))])
    }

    /// The groups of an attribute in declared order; none of an unknown one.
    pub(crate) fn groups(&self, attribute: &str) -> &'a [String] {
        self.manifest.attribute(attribute).map_or(&[], |words| &words.groups)
    }

    /// Whether people want a class of a label of several.
    pub(crate) fn wants_class(&self, class: &str) -> bool {
        self.manifest.label.as_ref().is_some_and(|label| {
            label.positive.iter().any(|value| value == class) == label.favourable_is_positive
        })
    }

    /// A switch as a short label: `granted men, refused as women`.
    pub(crate) fn switch_label(
        &self,
        side: SwitchSide,
        attribute: &str,
        (from, to): (&str, &str),
    ) -> String {
        let [from, to] = [from, to].map(|of| fact(&self.called_group(attribute, of)));
        self.word("switch_label", &[fact(&side), from, to])
    }

    /// What a metric measures, in plain words: `share wrongly refused`, `gap in the share judged
    /// correctly`. None where only its own name tells it.
    pub(crate) fn measured(&self, metric: &str) -> Option<String> {
        let (rate, is_gap) = self.measured_rate(metric)?;
        Some(self.word("measured_as", &[fact(&rate), Value::from(is_gap)]))
    }

    /// A set of the job by its name.
    pub(crate) fn set(&self, name: &str) -> Option<&'a SetWords> {
        self.manifest.set(name)
    }

    /// Whether a set changes nothing but the entry.
    pub(crate) fn is_of_the_entry(&self, set: &str) -> bool {
        self.set(set).is_some_and(|set| set.strategy == "naive")
    }

    /// Whether people of an attribute have more than one other group, so that each has more than
    /// one decision as a member of another group.
    pub(crate) fn has_several_others(&self, attribute: &str) -> bool {
        self.groups(attribute).len() > 2
    }

    /// What a set changes, as a label: `entry only`, `4 features follow`.
    pub(crate) fn set_label(&self, name: &str) -> String {
        self.word("set_label", &[fact(&self.called_set(name))])
    }
}

#[cfg(test)]
mod tests {
    use minijinja::value::{Serde, Value};

    use super::{AuditVoice, DecisionVoice, vocabulary};
    use crate::folder::manifest::{
        AttributeWords, DecisionNames, LabelWords, Manifest, SetKnob, SetWords,
    };
    use crate::report::draw::plot::SwitchSide;
    use crate::tests::Says;

    fn among(voice: &AuditVoice<'_>, metric: &str) -> String {
        voice.word("among", &[Value::from(Serde(&voice.by_label(metric)))])
    }

    /// What a macro says about a side, and about a group of the attribute `sex2`.
    fn sided(voice: &AuditVoice<'_>, name: &str, side: SwitchSide, group: Option<&str>) -> String {
        let group = group.map(|group| Value::from(Serde(&voice.called_group("sex2", group))));
        let side = Value::from(Serde(&side));
        voice.word(name, &[side].into_iter().chain(group).collect::<Vec<_>>())
    }

    fn done(voice: &AuditVoice<'_>, metric: &str) -> String {
        voice.word("done", &[Value::from(Serde(&voice.by_label(metric)))])
    }

    fn model(voice: &AuditVoice<'_>, name: &str) -> String {
        voice.word("model", &[Value::from(Serde(&voice.called_model(name)))])
    }

    fn knob(name: &str, value: impl Into<serde_json::Value>) -> SetKnob {
        SetKnob { name: name.to_owned(), value: value.into() }
    }

    fn manifest(words: bool) -> Manifest {
        let group = |of: &str, words: &str| (of.to_owned(), words.to_owned());
        let set = |name: &str, strategy: &str, moved: &[&str]| SetWords {
            name: name.to_owned(),
            strategy: strategy.to_owned(),
            knobs: vec![knob("move", moved)],
            ..SetWords::default()
        };
        Manifest {
            label: Some(LabelWords {
                favourable_is_positive: true,
                words: words.then(|| DecisionNames {
                    favourable: "granted".to_owned(),
                    unfavourable: "refused".to_owned(),
                    object: Some("the loan".to_owned()),
                }),
                ..LabelWords::default()
            }),
            attributes: vec![AttributeWords {
                name: "sex2".to_owned(),
                called: words.then(|| "sex".to_owned()),
                words: if words {
                    [group("F", "women"), group("M", "men")].into()
                } else {
                    Default::default()
                },
                ..AttributeWords::default()
            }],
            counterfactuals: vec![
                set("flip", "naive", &[]),
                set("world", "plausible", &["a, b", "c", "d"]),
                set("near", "plausible", &["a, b", "c", "e"]),
                set("one", "plausible", &["d"]),
                set("pair", "transport", &["d"]),
                set("graph/low", "graph-uncertain", &[]),
            ],
            ..Manifest::default()
        }
    }

    fn heading(
        voice: &AuditVoice<'_>,
        side: SwitchSide,
        attribute: &str,
        (from, to): (&str, &str),
    ) -> String {
        let group = |name: &str| Value::from(Serde(&voice.called_group(attribute, name)));
        voice.word("switch_heading", &[Value::from(Serde(&side)), group(from), group(to)])
    }

    /// What a macro says about a set and the attribute `sex2`.
    fn of_set(voice: &AuditVoice<'_>, name: &str, set: &str) -> String {
        let arguments = [
            Value::from(Serde(&voice.called_set(set))),
            Value::from(Serde(&voice.called_attribute("sex2"))),
        ];
        voice.word(name, &arguments)
    }

    #[test]
    fn amounts_matter_from_somewhere_on() {
        let manifest = manifest(true);
        let mut voice = AuditVoice::new(&manifest, false);
        let mut said = |percent: Option<&str>, number: Option<&str>| {
            voice.facts.decision = DecisionVoice::Amounts {
                better: "lower",
                worse: "higher",
                percent: percent.map(str::to_owned),
                number: number.map(str::to_owned),
            };
            voice.vocabulary = vocabulary(voice.facts());
            sided(&voice, "would", SwitchSide::Gained, None)
        };
        assert_eq!(said(Some("5"), None), "would have an amount at least 5\u{a0}% lower");
        assert_eq!(said(None, Some("20")), "would have an amount at least 20 lower");
        assert_eq!(said(None, None), "would have a lower amount");
    }

    #[test]
    fn sentences_speak_in_the_words_of_the_job() {
        let manifest = manifest(true);
        let voice = AuditVoice::new(&manifest, false);
        let pair = ("M", "F");
        assert_eq!(
            heading(&voice, SwitchSide::Lost, "sex2", pair),
            "Granted men who would be refused as women"
        );
        assert_eq!(
            heading(&voice, SwitchSide::Gained, "sex2", ("F", "M")),
            "Refused women who would be granted as men"
        );
        assert_eq!(
            voice.switch_label(SwitchSide::Lost, "sex2", pair),
            "granted men, refused as women"
        );
        assert_eq!(sided(&voice, "would", SwitchSide::Gained, None), "would be granted the loan");
        let refused = sided(&voice, "switchable", SwitchSide::Gained, Some("F"));
        assert_eq!(refused, "refused women");
        let set = |name, set| of_set(&voice, name, set);
        assert_eq!(set("set_clause", "flip"), "when only the entry for sex changes");
        assert_eq!(set("set_clause", "world"), "when 3 features change too");
        assert_eq!(set("set_note", "world"), "a, b, c and d change too");
        assert_eq!(set("set_note", "flip"), "only the entry for sex changes");
        assert_eq!(voice.set_label("world"), "3 features follow, set world", "another reads alike");
        assert_eq!(set("set_clause", "one"), "when 1 feature changes too");
        let paired = "when 1 feature is replaced by values of real people of the other group \
                      (optimal transport)";
        assert_eq!(set("set_clause", "pair"), paired);
        assert_eq!(voice.set_label("one"), "1 feature follows");
        assert_eq!(voice.set_label("pair"), "1 feature follows, paired");
        assert_eq!(voice.set_label("graph/low"), "causal graphs, low");
        assert_eq!(voice.set_label("flip"), "entry only");
        let worse_off = |group| {
            voice.word("worse_off", &[Value::from(Serde(&voice.called_group("sex2", group)))])
        };
        assert_eq!(worse_off("F"), "women are worse off");
        assert_eq!(worse_off("X"), "group X is worse off");
        let by_label = |metric| (done(&voice, metric), among(&voice, metric));
        let told = |how: &str, label: &str| (how.to_owned(), format!("with the {label} label"));
        assert_eq!(by_label("fnr"), told("wrongly refused", "favourable"));
        assert_eq!(by_label("fpr"), told("wrongly granted", "unfavourable"));
        assert_eq!(by_label("tpr"), told("rightly granted", "favourable"));
        let measured = |metric| voice.measured(metric).unwrap();
        assert_eq!(measured("fpr_difference"), "gap in the share wrongly granted");
        assert_eq!(measured("eopp_difference"), "gap in the share rightly granted");
        assert_eq!(measured("demp_difference"), "gap in the share granted the loan");
        assert_eq!(voice.measured("eodds"), None);
    }

    #[test]
    fn sets_of_graphs_say_how_levels_are_chosen_where_rows_are_made() {
        let mut manifest = manifest(true);
        let rows = SetWords {
            name: "rows/low".to_owned(),
            strategy: "graph-uncertain".to_owned(),
            knobs: vec![knob("levels", "drawn"), knob("clip", "range")],
            ..SetWords::default()
        };
        manifest.counterfactuals.push(rows);
        let voice = AuditVoice::new(&manifest, false);
        assert_eq!(voice.set_label("graph/low"), "causal graphs, low, expected");
        assert_eq!(voice.set_label("rows/low"), "causal graphs, low, drawn");
        let clause = |set| of_set(&voice, "set_clause", set);
        assert!(clause("graph/low").ends_with("change too (scenario low)"));
        assert!(clause("rows/low").ends_with("(scenario low, drawn rows)"));
        let said = |set| of_set(&voice, "set_sentence", set);
        said("graph/low").says(&["as no real person has; numbers are not clipped"]);
        said("rows/low").says(&["one possible row in each graph; numbers are clipped"]);
    }

    #[test]
    fn a_model_with_a_name_that_reads_as_english_is_marked() {
        let manifest = manifest(true);
        let voice = AuditVoice::new(&manifest, false);
        assert_eq!(model(&voice, "scorecard"), "the scorecard model");
        assert_eq!(model(&voice, "other"), "the model \u{201c}other\u{201d}");
        assert_eq!(model(&voice, "Best"), "the model \u{201c}Best\u{201d}");
        assert_eq!(model(&voice, "others"), "the others model");
    }

    #[test]
    fn a_decision_that_says_not_is_a_verb_all_the_same() {
        let mut manifest = manifest(true);
        manifest.label.as_mut().unwrap().words = Some(DecisionNames {
            favourable: "not flagged".to_owned(),
            unfavourable: "flagged".to_owned(),
            object: None,
        });
        let voice = AuditVoice::new(&manifest, false);
        assert_eq!(sided(&voice, "would", SwitchSide::Gained, None), "would not be flagged");
        assert_eq!(sided(&voice, "would", SwitchSide::Lost, None), "would be flagged");
        assert_eq!(
            heading(&voice, SwitchSide::Gained, "sex2", ("F", "M")),
            "Flagged women who would not be flagged as men"
        );
    }

    #[test]
    fn errors_take_the_side_that_people_want() {
        let mut manifest = manifest(true);
        let label = manifest.label.as_mut().unwrap();
        label.favourable_is_positive = false;
        label.words = Some(DecisionNames {
            favourable: "not flagged".to_owned(),
            unfavourable: "flagged".to_owned(),
            object: None,
        });
        let said = |manifest: &Manifest, metric| {
            let voice = AuditVoice::new(manifest, false);
            format!("{} {}", done(&voice, metric), among(&voice, metric))
        };
        let flagged = "wrongly flagged with the favourable label";
        assert_eq!(said(&manifest, "fpr"), flagged);
        let missed = "wrongly not flagged with the unfavourable label";
        assert_eq!(said(&manifest, "fnr"), missed);
        manifest.label.as_mut().unwrap().words = None;
        let denied = "wrongly denied the favourable decision with the favourable label";
        assert_eq!(said(&manifest, "fpr"), denied);
        let plain = "wrongly predicted positive with the negative label";
        assert_eq!(said(&Manifest::default(), "fpr"), plain);
    }

    #[test]
    fn without_words_the_raw_values_stand() {
        let manifest = manifest(false);
        let voice = AuditVoice::new(&manifest, false);
        assert_eq!(
            heading(&voice, SwitchSide::Lost, "sex2", ("M", "F")),
            "People in group M with the favourable decision who would lose it as F"
        );
        let none = Manifest::default();
        let voice = AuditVoice::new(&none, false);
        assert_eq!(
            heading(&voice, SwitchSide::Gained, "race", ("A", "B")),
            "People in group A predicted negative who would be predicted positive as B"
        );
        assert_eq!(of_set(&voice, "set_clause", "x"), "in the set x");
    }
}
