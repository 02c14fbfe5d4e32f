//! The sentences of findings on switches: a closed set of templates, each with counts, interval and
//! a link to its row.

use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms;
use crate::report::page::words::RichText;
use crate::report::read::panel::{AuditPanel, ReportedValue};
use crate::report::read::words::DecisionWords;
use crate::report::section::graphs;

/// A value of one direction that a sentence may be about.
pub(super) struct FindingCandidate<'a> {
    pub(super) panel: &'a AuditPanel,
    pub(super) direction: usize,
    pub(super) metric: &'static str,
    pub(super) measure: &'a ReportedValue,
    /// How many people are harmed at least.
    pub(super) harmed: f64,
    /// Whether a person may be behind several counterfactuals of this direction.
    pub(super) several: bool,
    /// Whether some counterfactuals of this direction were discarded, so that their people are not
    /// counted.
    pub(super) discards: bool,
    /// Whether people of the group do not count, for another reason or one that no table tells.
    pub(super) leaves_out: bool,
    /// How many counterfactuals of this direction were made where none of them is valid.
    pub(super) none_valid: Option<i64>,
    /// Moved features that ended farther from the target group, and where the page shows them.
    pub(super) farther: usize,
    pub(super) quality_id: Option<usize>,
    /// Why no group is named: what the graphs of the set say contradicts what people know.
    pub(super) caution: Option<RichText>,
}

impl FindingCandidate<'_> {
    /// "122 people in group Female with the favourable decision", or "244 counterfactuals of people
    /// in ..." where one person has several; and that only valid counterfactuals count, where some
    /// are not.
    pub(super) fn who(&self, n: i64, who: &str) -> RichText {
        let people = match (self.several, n) {
            (false, 1) => "1 person in group ".to_owned(),
            (false, n) => format!("{} people in group ", number::count(n)),
            (true, n) => format!(
                "{} of people in group ",
                number::count_of(n, "counterfactual", "counterfactuals")
            ),
        };
        let valid = match (self.discards, self.several) {
            (false, false) if self.leaves_out => " (those who count)",
            (false, _) => "",
            (true, false) => " (those with a valid counterfactual)",
            (true, true) => " (the valid ones)",
        };
        RichText::new()
            .text(people)
            .name(&self.panel.directions[self.direction].from)
            .text(format!(" {who}{valid}"))
    }

    /// What noise gives; none for sets that draw on no sample.
    pub(super) fn noise(&self) -> Option<(f64, f64)> {
        self.measure.placebo.filter(|(lo, hi)| lo < hi)
    }

    /// Whether noise gives as much.
    pub(super) fn may_be_noise(&self) -> bool {
        self.noise()
            .zip(self.measure.value)
            .is_some_and(|((lo, hi), value)| lo <= value && value <= hi)
    }
}

/// The sentence that fits the metric of a candidate.
pub(super) fn finding_sentence(
    c: &FindingCandidate<'_>,
    sides: &DecisionWords,
) -> Option<RichText> {
    match c.metric {
        metric if metric == sides.loss => lost(c, sides),
        metric if metric == sides.gain => gained(c, sides),
        "sr" => otherwise(c, sides),
        _ => rightful(c, sides),
    }
}

/// Whether a set changes only the entry, so that what switches hangs on it. Of others nothing is
/// known but how people fare compared with others.
pub(super) fn is_of_the_entry(panel: &AuditPanel) -> bool {
    terms::sets_attribute_only(&panel.strategy)
}

/// How a sentence on a candidate begins: of sets that move more than the entry with the compared
/// people.
pub(super) fn opening(c: &FindingCandidate<'_>, also: bool) -> RichText {
    match (is_of_the_entry(c.panel), also) {
        (true, false) => "Of ".into(),
        (true, true) => " Also, of ".into(),
        (false, also) => RichText::new()
            .text(if also {
                " Also, compared with similar people in group "
            } else {
                "Compared with similar people in group "
            })
            .name(&c.panel.directions[c.direction].to)
            .text(", of "),
    }
}

/// "if the record said Male" for naive sets, with the columns where the attribute is derived from
/// several or mapped; nothing for those that move more, whose sentences begin with the compared
/// people.
pub(super) fn supposition(panel: &AuditPanel, from: &str, to: &str) -> RichText {
    match panel.written_in(from, to) {
        _ if !is_of_the_entry(panel) => RichText::new(),
        None => RichText::new().text(" if the record said ").name(to),
        Some(written) => {
            RichText::new().text(" if the record said ").name(to).text(" by ").and(written)
        }
    }
}

pub(super) fn row(c: &FindingCandidate<'_>) -> RichText {
    RichText::new().text(" ").link(
        "See the row",
        &c.panel.anchor(c.direction, c.metric),
        "Who switches",
    )
}

fn sentence(c: &FindingCandidate<'_>, start: RichText, who: &str, does: &str) -> Option<RichText> {
    let groups = &c.panel.directions[c.direction];
    let value = c.measure.value?;
    let (part, whole, mut share) = match c.measure.counts {
        Some((part, whole)) => {
            (number::count(part), whole, number::percent_text(value, c.measure.weights.is_some()))
        }
        None => (
            NumberFormat::Share.value(value),
            c.measure.across?.whole?,
            "mean over graphs".to_owned(),
        ),
    };
    if let (Some((lo, hi)), Some(level)) = (c.measure.interval, c.measure.level) {
        share.push_str(&format!(
            "; {} interval {}",
            number::level(level),
            NumberFormat::Share.interval(value, lo, hi)
        ));
    }
    if let Some((across, ends)) = c
        .measure
        .across
        .as_ref()
        .filter(|_| c.measure.counts.is_none())
        .and_then(|across| Some((across, across.ends?)))
    {
        let level =
            across.level.map_or_else(String::new, |level| format!("{} of ", number::level(level)));
        share.push_str(&format!(
            "; {level}{}",
            graphs::over_graphs(NumberFormat::Share, value, across, ends)
        ));
    }
    if let Some((lo, hi)) = c.noise() {
        share.push_str(&format!("; noise {}", terms::noise(NumberFormat::Share, value, lo, hi)));
    }
    let words = start
        .and(c.who(whole, who))
        .text(", ")
        .strong(part)
        .text(format!(" ({share}) {does}"))
        .and(supposition(c.panel, &groups.from, &groups.to))
        .text(" (")
        .and(terms::origin(c.panel))
        .text(if c.may_be_noise() {
            "). This is within the noise band and may be only noise."
        } else {
            ")."
        });
    Some(match (c.farther, c.quality_id) {
        (0, _) | (_, None) => words,
        (n, Some(world)) => words
            .text(if n == 1 { " 1 feature".to_owned() } else { format!(" {n} features") })
            .text(" of this world ended farther from group ")
            .name(&groups.to)
            .text(if n == 1 {
                " than it began, by 0.01 or more: "
            } else {
                " than they began, by 0.01 or more: "
            })
            .link(
                if n == 1 { "which" } else { "which ones" },
                &format!("w{world}"),
                "How plausible the counterfactuals are",
            )
            .text("."),
    })
}

pub(super) fn lost(c: &FindingCandidate<'_>, sides: &DecisionWords) -> Option<RichText> {
    Some(impaired(c, sentence(c, opening(c, false), sides.held, sides.loses)?).and(row(c)))
}

pub(super) fn gained(c: &FindingCandidate<'_>, sides: &DecisionWords) -> Option<RichText> {
    Some(impaired(c, sentence(c, opening(c, false), sides.lacked, sides.gains)?).and(row(c)))
}

/// The switch that harms the same group on the way back: who would lose the decision as its
/// members, or who of it would gain it.
pub(super) fn reverse_switch(c: &FindingCandidate<'_>, sides: &DecisionWords) -> Option<RichText> {
    let (who, would) = if c.metric == sides.loss {
        (sides.held, sides.loses)
    } else {
        (sides.lacked, sides.gains)
    };
    Some(sentence(c, opening(c, true), who, would)?.and(row(c)))
}

/// Consistency: any decision would change. Of switches both ways none says who
/// is at a disadvantage.
fn otherwise(c: &FindingCandidate<'_>, sides: &DecisionWords) -> Option<RichText> {
    let (who, would) = match sides.positive {
        Some(_) => ("with any decision", "would get the opposite decision"),
        None => ("with any prediction", "would get the opposite prediction"),
    };
    let words = sentence(c, opening(c, false), who, would)?;
    Some(
        c.caution
            .iter()
            .cloned()
            .fold(words, |words, caution| words.text(" ").and(caution))
            .and(row(c)),
    )
}

/// The truth: decisions that the label confirms are lost.
fn rightful(c: &FindingCandidate<'_>, sides: &DecisionWords) -> Option<RichText> {
    let words =
        sentence(c, opening(c, false), "who rightly got the favourable decision", sides.loses)?;
    Some(impaired(c, words).and(row(c)))
}

/// Adds the group that the metric shows at a disadvantage, where the tables name somebody and the
/// value is not within the band of noise; of a set whose graphs may contradict domain knowledge,
/// why no group is named.
fn impaired(c: &FindingCandidate<'_>, words: RichText) -> RichText {
    if let Some(caution) = &c.caution {
        return words.text(" ").and(caution.clone());
    }
    if c.measure.impaired.is_empty() || c.may_be_noise() {
        return words;
    }
    words
        .text(" By this measure the group at a disadvantage is ")
        .name(&c.measure.impaired)
        .text(".")
}
