//! The job's own words: what groups, attributes, models, sets and the two decisions are called in
//! sentences.

use crate::folder::manifest::{AmountWords, AttributeWords, Manifest, SetWords};
use crate::metric::GapTransform;
use crate::metric::catalog::find;
use crate::report::draw::plot::SwitchSide;
use crate::report::page::words::short;
use crate::report::section::graphs::values::ValueKnobs;

/// Features of a set that are named, but the last.
const NAMES_AT_MOST: usize = 6;

/// Names of models that say something else in front of `model`: which of several models is meant,
/// or how good it is.
const READS_AS_ENGLISH: &str = "audited bad best better biased correct different earlier fair \
                                final first good last later latest main new next old only \
                                original other previous right same second third true unbiased \
                                unfair usual worse worst wrong";

/// How the two decisions are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DecisionVoice {
    /// In the job's words: `granted`, `refused`, `the loan`.
    Named { favourable: String, unfavourable: String, object: String },
    /// The job says which side people want, and gives no words.
    Favourable,
    /// The job does not say which side people want.
    Predicted,
    /// Outcomes are amounts: `an amount at least 5 % lower`, for the better and the worse.
    Amounts { better: String, worse: String },
}

/// What the audit says its sentences in.
#[derive(Debug, Clone)]
pub(crate) struct AuditVoice<'a> {
    manifest: &'a Manifest,
    /// The two decisions.
    pub(crate) decision: DecisionVoice,
}

/// How the amounts of a job are called.
fn amount_voice(told: &AmountWords) -> DecisionVoice {
    let amount = |side: &str| match told.matters_from.strip_suffix('%') {
        _ if told.changes_always_matter() => format!("a {side} amount"),
        Some(percent) => format!("an amount at least {percent}\u{a0}% {side}"),
        None => format!("an amount at least {} {side}", told.matters_from),
    };
    let (better, worse) =
        if told.better_is_lower { ("lower", "higher") } else { ("higher", "lower") };
    DecisionVoice::Amounts { better: amount(better), worse: amount(worse) }
}

/// The first letter as a capital.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters.as_str().chars()).collect()
}

/// What is decided about people as a verb: `would be granted`, of `not flagged` with the word in
/// its place: `would not be flagged`.
fn would_be(decided: &str) -> String {
    match decided.strip_prefix("not ") {
        Some(rest) => format!("would not be {rest}"),
        None => format!("would be {decided}"),
    }
}

impl<'a> AuditVoice<'a> {
    /// The words of an audit; of `classes` nobody says which is better.
    pub(crate) fn new(manifest: &'a Manifest, classes: bool) -> Self {
        let words = manifest.label.as_ref().and_then(|label| label.words.as_ref());
        let decision = match (manifest.favourable_is_positive(), words) {
            (None, _) => DecisionVoice::Predicted,
            _ if classes => DecisionVoice::Predicted,
            (Some(_), Some(words)) => DecisionVoice::Named {
                favourable: words.favourable.trim().to_owned(),
                unfavourable: words.unfavourable.trim().to_owned(),
                object: words.object.as_deref().unwrap_or_default().trim().to_owned(),
            },
            (Some(_), None) => DecisionVoice::Favourable,
        };
        let decision = manifest.amounts().map_or(decision, amount_voice);
        AuditVoice { manifest, decision }
    }

    fn attribute_words(&self, attribute: &str) -> Option<&'a AttributeWords> {
        self.manifest.attributes.iter().find(|words| words.name == attribute)
    }

    fn group_words(&self, attribute: &str, group: &str) -> Option<&'a str> {
        self.attribute_words(attribute)?.words.get(group).map(String::as_str)
    }

    /// The people of a group: `women`, or `people in group Female`.
    pub(crate) fn people(&self, attribute: &str, group: &str) -> String {
        match self.group_words(attribute, group) {
            Some(words) => words.to_owned(),
            None => format!("people in group {}", short(group)),
        }
    }

    /// A group as a label: `women`, or `Female`.
    pub(crate) fn group(&self, attribute: &str, group: &str) -> String {
        match self.group_words(attribute, group) {
            Some(words) => words.to_owned(),
            None => short(group).into_owned(),
        }
    }

    /// A group at the start of a heading: `Women`, or `a0`, as the rows write it.
    pub(crate) fn group_heading(&self, attribute: &str, group: &str) -> String {
        self.group_words(attribute, group).map_or_else(|| short(group).into_owned(), capital)
    }

    /// `women are worse off`, or `group Female is worse off`.
    pub(crate) fn worse_off(&self, attribute: &str, group: &str) -> String {
        match self.group_words(attribute, group) {
            Some(words) => format!("{words} are worse off"),
            None => format!("group {} is worse off", short(group)),
        }
    }

    /// `as women`, or `as Female`.
    pub(crate) fn as_group(&self, attribute: &str, group: &str) -> String {
        format!("as {}", self.group(attribute, group))
    }

    /// What counts are of: people, or their rows where a person may have several.
    pub(crate) fn counted(&self) -> &'static str {
        if self.manifest.person.is_some() { "rows" } else { "people" }
    }

    /// What stands between a number of cases and the people whose cases they are: nothing where
    /// each person has one row.
    pub(crate) fn of_cases(&self) -> &'static str {
        if self.manifest.person.is_some() { "rows of " } else { "" }
    }

    /// What a test changes: decisions or amounts.
    pub(crate) fn outcome(&self) -> &'static str {
        match self.decision {
            DecisionVoice::Amounts { .. } => "amount",
            _ => "decision",
        }
    }

    /// That a share of switches is 0.
    pub(crate) fn nobody(&self) -> &'static str {
        match self.decision {
            DecisionVoice::Amounts { .. } => "nobody's amount changes in this way",
            _ => "nobody switches",
        }
    }

    /// What an attribute is called.
    pub(crate) fn attribute(&self, name: &str) -> String {
        let words = self.attribute_words(name);
        words.and_then(|a| a.called.clone()).unwrap_or_else(|| short(name).into_owned())
    }

    /// `the scorecard model`, and of a name that reads as another statement there `the model
    /// “other”`.
    pub(crate) fn model(&self, name: &str) -> String {
        let shown = short(name);
        if READS_AS_ENGLISH.split(' ').any(|word| word == name.to_lowercase()) {
            format!("the model \u{201c}{shown}\u{201d}")
        } else {
            format!("the {shown} model")
        }
    }

    /// ` the loan`, with its space; empty without an object.
    fn object(&self) -> String {
        match &self.decision {
            DecisionVoice::Named { object, .. } if !object.is_empty() => format!(" {object}"),
            _ => String::new(),
        }
    }

    /// Of a share: `granted the loan`, `with the favourable decision`.
    pub(crate) fn holding(&self) -> String {
        match &self.decision {
            DecisionVoice::Named { favourable, .. } => format!("{favourable}{}", self.object()),
            DecisionVoice::Favourable => "with the favourable decision".to_owned(),
            DecisionVoice::Predicted => "predicted positive".to_owned(),
            DecisionVoice::Amounts { .. } => "with an amount".to_owned(),
        }
    }

    /// The verb of a share: `are granted the loan`, `get the favourable decision`.
    pub(crate) fn get_it(&self) -> String {
        match &self.decision {
            DecisionVoice::Named { favourable, .. } => format!("are {favourable}{}", self.object()),
            DecisionVoice::Favourable => "get the favourable decision".to_owned(),
            DecisionVoice::Predicted => "are predicted positive".to_owned(),
            DecisionVoice::Amounts { .. } => "have an amount".to_owned(),
        }
    }

    /// The verb of those without it: `are refused`, `have the unfavourable decision`.
    pub(crate) fn lack_it(&self) -> String {
        match &self.decision {
            DecisionVoice::Named { unfavourable, .. } => format!("are {unfavourable}"),
            _ => "have the unfavourable decision".to_owned(),
        }
    }

    /// What a higher rate means for its people, as a verb: `are refused`, where the positive
    /// decision is the unfavourable one; `are wrongly granted`. None of metrics other than the
    /// share of positive decisions and the four rates of a confusion matrix.
    pub(crate) fn has_rate(&self, metric: &str) -> Option<String> {
        if metric != "pprev" {
            return self.by_label(metric).map(|(done, _)| format!("are {done}"));
        }
        match (&self.decision, self.manifest.favourable_is_positive()) {
            (DecisionVoice::Amounts { .. }, _) => None,
            (DecisionVoice::Predicted, _) | (_, None) => Some("are predicted positive".to_owned()),
            (_, Some(true)) => Some(self.get_it()),
            (_, Some(false)) => Some(self.lack_it()),
        }
    }

    /// Those who may switch: `men who are granted the loan`, `refused women`.
    pub(crate) fn switchable(&self, side: SwitchSide, attribute: &str, group: &str) -> String {
        let people = self.people(attribute, group);
        match (&self.decision, side) {
            (_, SwitchSide::Either) | (DecisionVoice::Amounts { .. }, _) => people,
            (DecisionVoice::Named { unfavourable, .. }, SwitchSide::Gained) => {
                format!("{unfavourable} {people}")
            }
            (DecisionVoice::Named { .. }, SwitchSide::Lost) => {
                format!("{people} who {}", self.get_it())
            }
            (DecisionVoice::Favourable, SwitchSide::Gained) => {
                format!("{people} without the favourable decision")
            }
            (DecisionVoice::Favourable, SwitchSide::Lost) => {
                format!("{people} with the favourable decision")
            }
            (DecisionVoice::Predicted, SwitchSide::Gained) => {
                format!("{people} predicted negative")
            }
            (DecisionVoice::Predicted, SwitchSide::Lost) => format!("{people} predicted positive"),
        }
    }

    /// What they would do: `would be refused`, `would be granted the loan`.
    pub(crate) fn would(&self, side: SwitchSide) -> String {
        match (&self.decision, side) {
            (_, SwitchSide::Either) => "would be predicted differently".to_owned(),
            (DecisionVoice::Amounts { better, .. }, SwitchSide::Gained) => {
                format!("would have {better}")
            }
            (DecisionVoice::Amounts { worse, .. }, SwitchSide::Lost) => {
                format!("would have {worse}")
            }
            (DecisionVoice::Named { favourable, .. }, SwitchSide::Gained) => {
                format!("{}{}", would_be(favourable), self.object())
            }
            (DecisionVoice::Named { unfavourable, .. }, SwitchSide::Lost) => would_be(unfavourable),
            (DecisionVoice::Favourable, SwitchSide::Gained) => "would get it".to_owned(),
            (DecisionVoice::Favourable, SwitchSide::Lost) => "would lose it".to_owned(),
            (DecisionVoice::Predicted, SwitchSide::Gained) => {
                "would be predicted positive".to_owned()
            }
            (DecisionVoice::Predicted, SwitchSide::Lost) => {
                "would be predicted negative".to_owned()
            }
        }
    }

    /// The groups of an attribute in declared order; none of an unknown one.
    pub(crate) fn groups(&self, attribute: &str) -> &'a [String] {
        self.attribute_words(attribute).map_or(&[], |words| &words.groups)
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
        let (people, other) = (self.group(attribute, from), self.as_group(attribute, to));
        match (&self.decision, side) {
            (_, SwitchSide::Either) => format!("{people}, another class {other}"),
            (DecisionVoice::Amounts { .. }, _) => {
                format!("{people} who {} {other}", self.would(side))
            }
            (DecisionVoice::Named { favourable, unfavourable, .. }, SwitchSide::Lost) => {
                format!("{favourable} {people}, {unfavourable} {other}")
            }
            (DecisionVoice::Named { favourable, unfavourable, .. }, SwitchSide::Gained) => {
                format!("{unfavourable} {people}, {favourable} {other}")
            }
            (DecisionVoice::Favourable, SwitchSide::Lost) => {
                format!("{people} who would lose it {other}")
            }
            (DecisionVoice::Favourable, SwitchSide::Gained) => {
                format!("{people} who would get it {other}")
            }
            (DecisionVoice::Predicted, SwitchSide::Lost) => {
                format!("{people} predicted positive, negative {other}")
            }
            (DecisionVoice::Predicted, SwitchSide::Gained) => {
                format!("{people} predicted negative, positive {other}")
            }
        }
    }

    /// A switch as a heading: `Granted men who would be refused as women`.
    pub(crate) fn switch_heading(
        &self,
        side: SwitchSide,
        attribute: &str,
        (from, to): (&str, &str),
    ) -> String {
        let other = self.as_group(attribute, to);
        let would = self.would(side);
        match (&self.decision, side) {
            (DecisionVoice::Named { favourable, .. }, SwitchSide::Lost) => capital(&format!(
                "{favourable} {} who {would} {other}",
                self.people(attribute, from)
            )),
            (DecisionVoice::Named { favourable, .. }, SwitchSide::Gained) => {
                let people = self.switchable(side, attribute, from);
                capital(&format!("{people} who {} {other}", would_be(favourable)))
            }
            _ => {
                capital(&format!("{} who {would} {other}", self.switchable(side, attribute, from)))
            }
        }
    }

    /// Predictions that the label confirms or does not, in the words of the decisions: `wrongly
    /// refused`, and the people they are a share of: `with the favourable label`. None of metrics
    /// other than the four rates of a confusion matrix.
    pub(crate) fn by_label(&self, metric: &str) -> Option<(String, String)> {
        let (label, predicted) = match metric {
            "tpr" => (true, true),
            "fnr" => (true, false),
            "fpr" => (false, true),
            "tnr" => (false, false),
            _ => return None,
        };
        let how = if label == predicted { "rightly" } else { "wrongly" };
        let better = self.manifest.favourable_is_positive();
        let favours = |positive: bool| better == Some(positive);
        let done = match &self.decision {
            DecisionVoice::Named { favourable, unfavourable, .. } => {
                (if favours(predicted) { favourable } else { unfavourable }).clone()
            }
            DecisionVoice::Favourable if favours(predicted) => {
                "given the favourable decision".to_owned()
            }
            DecisionVoice::Favourable => "denied the favourable decision".to_owned(),
            _ => format!("predicted {}", if predicted { "positive" } else { "negative" }),
        };
        let side = match (&self.decision, favours(label), label) {
            (DecisionVoice::Named { .. } | DecisionVoice::Favourable, true, _) => "favourable",
            (DecisionVoice::Named { .. } | DecisionVoice::Favourable, false, _) => "unfavourable",
            (_, _, true) => "positive",
            (_, _, false) => "negative",
        };
        Some((format!("{how} {done}"), format!("with the {side} label")))
    }

    /// What a metric measures, in plain words: `share wrongly refused`, `gap in the share judged
    /// correctly`. None where only its own name tells it.
    pub(crate) fn measured(&self, metric: &str) -> Option<String> {
        match metric {
            "sr" => return Some("share of decisions that change".to_owned()),
            "acc" => return Some("share judged correctly".to_owned()),
            "pprev" => {
                let better = self.manifest.favourable_is_positive();
                return match (&self.decision, better) {
                    (DecisionVoice::Named { .. } | DecisionVoice::Favourable, Some(true)) => {
                        Some(format!("share {}", self.holding()))
                    }
                    (DecisionVoice::Named { unfavourable, .. }, Some(false)) => {
                        Some(format!("share {unfavourable}"))
                    }
                    (DecisionVoice::Favourable, Some(false)) => {
                        Some("share with the unfavourable decision".to_owned())
                    }
                    _ => None,
                };
            }
            _ => {}
        }
        if let Some((done, _)) = self.by_label(metric) {
            return Some(format!("share {done}"));
        }
        let (base, transform) = find(metric)?.gap_of?;
        let of = self.measured(base).filter(|_| transform == GapTransform::Difference)?;
        Some(format!("gap in the {of}"))
    }

    /// A set of the job by its name.
    pub(crate) fn set(&self, name: &str) -> Option<&'a SetWords> {
        self.manifest.counterfactuals.iter().find(|set| set.name == name)
    }

    /// Whether a set changes nothing but the entry.
    pub(crate) fn is_of_the_entry(&self, set: &str) -> bool {
        self.set(set).is_some_and(|set| set.strategy == "naive")
    }

    /// The features that a set may move; none where it may move all.
    fn moved(set: &SetWords) -> Option<Vec<&str>> {
        let list = set.knobs.iter().find_map(|knob| knob.strip_prefix("move: "))?;
        let list = list.strip_prefix('[')?.strip_suffix(']')?;
        Some(list.split(", ").filter(|name| !name.is_empty()).collect())
    }

    fn features(set: &SetWords) -> String {
        match AuditVoice::moved(set).map(|names| names.len()) {
            Some(1) => "1 feature".to_owned(),
            Some(n) => format!("{n} features"),
            None => "the features that differ between the groups".to_owned(),
        }
    }

    /// The same by name; of many the first two.
    fn named_features(set: &SetWords) -> String {
        match AuditVoice::moved(set).as_deref() {
            Some([only]) => short(only).into_owned(),
            Some([others @ .., last]) if others.len() < NAMES_AT_MOST => {
                let others: Vec<_> = others.iter().map(|name| short(name)).collect();
                format!("{} and {}", others.join(", "), short(last))
            }
            Some([first, second, rest @ ..]) => {
                format!("{}, {} and {} more features", short(first), short(second), rest.len())
            }
            _ => AuditVoice::features(set),
        }
    }

    /// Whether people of an attribute have more than one other group, so that each has more than
    /// one decision as a member of another group.
    pub(crate) fn has_several_others(&self, attribute: &str) -> bool {
        self.groups(attribute).len() > 2
    }

    /// How a set of causal graphs chooses levels, where some set of the audit makes rows: `drawn`.
    fn levels(&self, set: &str) -> Option<String> {
        let knobs = |name: &str| ValueKnobs::of(self.manifest, name);
        let mut sets = self.manifest.counterfactuals.iter();
        sets.any(|of| of.strategy == "graph-uncertain" && knobs(&of.name).are_rows())
            .then(|| knobs(set).levels().to_owned())
    }

    /// What a set changes, as a label: `entry only`, `4 features follow`. Where two sets would read
    /// alike each has its name behind; of sets that change the entries of different attributes the
    /// groups next to the label tell which is meant.
    pub(crate) fn set_label(&self, name: &str) -> String {
        let plain = |set: &SetWords| match set.strategy.as_str() {
            "naive" => "entry only".to_owned(),
            "plausible" | "transport" if AuditVoice::moved(set).is_some() => {
                let paired = if set.strategy == "transport" { ", paired" } else { "" };
                format!("{} follow{paired}", AuditVoice::features(set))
            }
            "greedy" => "all features follow".to_owned(),
            "transport" => "paired people".to_owned(),
            "graph-uncertain" => {
                let scenario = set.name.split_once('/').map(|(_, name)| short(name).into_owned());
                let parts = [Some("causal graphs".to_owned()), scenario, self.levels(&set.name)];
                parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
            }
            _ => short(&set.name).into_owned(),
        };
        let Some(set) = self.set(name) else { return short(name).into_owned() };
        let label = plain(set);
        let is_apart = |other: &SetWords| {
            set.strategy == "naive" && !set.attributes.iter().any(|a| other.attributes.contains(a))
        };
        let alike =
            self.manifest.counterfactuals.iter().filter(|other| {
                other.name != set.name && plain(other) == label && !is_apart(other)
            });
        if alike.count() > 0 { format!("{label}, set {}", short(name)) } else { label }
    }

    /// What every scenario of causal graphs changes.
    pub(crate) fn effects_note(&self, attribute: &str) -> String {
        format!("all effects of {} in causal graphs change too", self.attribute(attribute))
    }

    /// What a set changes, as a clause: `when only the entry for sex changes`.
    pub(crate) fn set_clause(&self, name: &str, attribute: &str) -> String {
        let called = self.attribute(attribute);
        let Some(set) = self.set(name) else { return format!("in the set {}", short(name)) };
        match set.strategy.as_str() {
            "naive" => format!("when only the entry for {called} changes"),
            "transport" => {
                format!(
                    "when {} are replaced by those of a similar person",
                    AuditVoice::features(set)
                )
            }
            "graph-uncertain" => {
                let knobs = ValueKnobs::of(self.manifest, name);
                let rows = match knobs.are_rows() {
                    true => format!(", {} rows", knobs.levels()),
                    false => String::new(),
                };
                let scenario =
                    set.name.split_once('/').map_or_else(String::new, |(_, scenario)| {
                        format!(" (scenario {}{rows})", short(scenario))
                    });
                format!("when {}{scenario}", self.effects_note(attribute))
            }
            _ => format!("when {} change too", AuditVoice::features(set)),
        }
    }

    /// What a set changes, next to its label: `only the entry for sex changes`, `income and debt
    /// change too`.
    pub(crate) fn set_note(&self, name: &str, attribute: &str) -> String {
        match self.set(name) {
            Some(set) if set.strategy == "plausible" => {
                let one = AuditVoice::moved(set).is_some_and(|names| names.len() == 1);
                let verb = if one { "changes" } else { "change" };
                format!("{} {verb} too", AuditVoice::named_features(set))
            }
            _ => {
                let clause = self.set_clause(name, attribute);
                clause.strip_prefix("when ").unwrap_or(&clause).to_owned()
            }
        }
    }

    /// What a test changes, as sentences below the hero sentence.
    pub(crate) fn set_sentence(&self, name: &str, attribute: &str) -> String {
        let called = self.attribute(attribute);
        let Some(set) = self.set(name) else { return String::new() };
        match set.strategy.as_str() {
            "naive" => {
                format!(
                    "This test changes only the entry for {called} and scores each person again."
                )
            }
            "greedy" | "plausible" => format!(
                "This test also changes {} to the equivalent values of the other group (same \
                 quantile), and scores each person again.",
                AuditVoice::named_features(set)
            ),
            "transport" => format!(
                "This test gives each person {} of a similar person in the other group, and scores \
                 the person again.",
                AuditVoice::features(set)
            ),
            "graph-uncertain" => format!(
                "This test changes {called} and all its effects in each of many possible causal \
                 graphs, and averages the results. {}",
                ValueKnobs::of(self.manifest, name).in_short()
            ),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AuditVoice, capital};
    use crate::folder::manifest::{AttributeWords, DecisionNames, LabelWords, Manifest, SetWords};
    use crate::report::draw::plot::SwitchSide;

    fn manifest(words: bool) -> Manifest {
        let group = |of: &str, words: &str| (of.to_owned(), words.to_owned());
        let set = |name: &str, strategy: &str, knob: &str| SetWords {
            name: name.to_owned(),
            strategy: strategy.to_owned(),
            knobs: vec![knob.to_owned()],
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
                set("flip", "naive", ""),
                set("world", "plausible", "move: [a, b, c]"),
                set("near", "plausible", "move: [a, b, d]"),
                set("graph/low", "graph-uncertain", ""),
            ],
            ..Manifest::default()
        }
    }

    #[test]
    fn sentences_speak_in_the_words_of_the_job() {
        let manifest = manifest(true);
        let voice = AuditVoice::new(&manifest, false);
        let pair = ("M", "F");
        assert_eq!(
            voice.switch_heading(SwitchSide::Lost, "sex2", pair),
            "Granted men who would be refused as women"
        );
        assert_eq!(
            voice.switch_heading(SwitchSide::Gained, "sex2", ("F", "M")),
            "Refused women who would be granted as men"
        );
        assert_eq!(
            voice.switch_label(SwitchSide::Lost, "sex2", pair),
            "granted men, refused as women"
        );
        assert_eq!(voice.would(SwitchSide::Gained), "would be granted the loan");
        assert_eq!(voice.switchable(SwitchSide::Gained, "sex2", "F"), "refused women");
        assert_eq!(voice.set_clause("flip", "sex2"), "when only the entry for sex changes");
        assert_eq!(voice.set_clause("world", "sex2"), "when 3 features change too");
        assert_eq!(voice.set_note("world", "sex2"), "a, b and c change too");
        assert_eq!(voice.set_note("flip", "sex2"), "only the entry for sex changes");
        assert_eq!(voice.set_label("world"), "3 features follow, set world", "another reads alike");
        assert_eq!(voice.set_label("graph/low"), "causal graphs, low");
        assert_eq!(voice.set_label("flip"), "entry only");
        assert_eq!(voice.worse_off("sex2", "F"), "women are worse off");
        assert_eq!(voice.worse_off("sex2", "X"), "group X is worse off");
        let by_label = |metric| voice.by_label(metric).unwrap();
        let told = |done: &str, label: &str| (done.to_owned(), format!("with the {label} label"));
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
            knobs: vec!["levels: drawn".to_owned(), "clip: range".to_owned()],
            ..SetWords::default()
        };
        manifest.counterfactuals.push(rows);
        let voice = AuditVoice::new(&manifest, false);
        assert_eq!(voice.set_label("graph/low"), "causal graphs, low, expected");
        assert_eq!(voice.set_label("rows/low"), "causal graphs, low, drawn");
        assert!(voice.set_clause("graph/low", "sex2").ends_with("change too (scenario low)"));
        assert!(voice.set_clause("rows/low", "sex2").ends_with("(scenario low, drawn rows)"));
        let said = |set| voice.set_sentence(set, "sex2");
        assert!(said("graph/low").contains("as no real person has; numbers are not clipped"));
        assert!(said("rows/low").contains("one possible row in each graph; numbers are clipped"));
    }

    #[test]
    fn a_model_with_a_name_that_reads_as_english_is_marked() {
        let manifest = manifest(true);
        let voice = AuditVoice::new(&manifest, false);
        assert_eq!(voice.model("scorecard"), "the scorecard model");
        assert_eq!(voice.model("other"), "the model \u{201c}other\u{201d}");
        assert_eq!(voice.model("Best"), "the model \u{201c}Best\u{201d}");
        assert_eq!(voice.model("others"), "the others model");
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
        assert_eq!(voice.would(SwitchSide::Gained), "would not be flagged");
        assert_eq!(voice.would(SwitchSide::Lost), "would be flagged");
        assert_eq!(
            voice.switch_heading(SwitchSide::Gained, "sex2", ("F", "M")),
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
            let (done, among) = AuditVoice::new(manifest, false).by_label(metric).unwrap();
            format!("{done} {among}")
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
            voice.switch_heading(SwitchSide::Lost, "sex2", ("M", "F")),
            "People in group M with the favourable decision who would lose it as F"
        );
        let none = Manifest::default();
        let voice = AuditVoice::new(&none, false);
        assert_eq!(
            voice.switch_heading(SwitchSide::Gained, "race", ("A", "B")),
            "People in group A predicted negative who would be predicted positive as B"
        );
        assert_eq!(voice.set_clause("x", "race"), "in the set x");
        assert_eq!(capital("\u{e9}x"), "\u{c9}x");
        assert_eq!(capital(""), "");
    }
}
