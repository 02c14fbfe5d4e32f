//! The limits of the brief: each gate as a question, with one verdict and a bullet chart for each
//! of its parts.

use std::collections::BTreeMap;

use crate::gate::reason::{GateCount, GateFindings};
use crate::metric::GapTransform;
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::find;
use crate::report::brief::digits::{counts_text, ends_text, value_text};
use crate::report::brief::harm::HarmResult;
use crate::report::brief::limit_notes::{LimitNeed, no_threshold};
pub(crate) use crate::report::brief::limit_part::{LimitBound, LimitPart};
use crate::report::brief::voice::{AuditVoice, capital};
use crate::report::draw::plot::{AxisUnit, ForbiddenSide, PlotPoint, PlotScale, SwitchSide};
use crate::report::draw::plot::{axis, bullet};
use crate::report::page::number::NumberFormat;
use crate::report::page::plots::{PlotBody, PlotLine, PlotRow, PlotTable, VerdictBadge};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::{RichText, short};
use crate::report::read::audit::AuditFolder;
use crate::report::read::judged::JudgedValue;
use crate::report::read::words::LARGEST_BY_CHANCE;
use crate::table::deciding_range::DecidingRange;
use crate::table::needed::deciding_need;
use crate::table::recourse::UNFAIR_SUBGROUPS;
use crate::table::why::CONFIRMED_PATTERNS;

/// Rows of values that the first printed page has room for; further limits that are kept become one
/// line.
const PARTS_AT_MOST: usize = 14;

/// A gate.
#[derive(Debug, Clone)]
pub(crate) struct AuditLimit {
    /// Its name.
    pub(crate) name: String,
    /// `pass`, `fail`, `inconclusive`, `skipped`.
    pub(crate) verdict: String,
    /// Whether it only warns.
    pub(crate) warns: bool,
    /// Experiment and arm; empty for the plain audit.
    pub(crate) arm: String,
    /// The class; empty = all.
    pub(crate) class: String,
    /// The limit.
    pub(crate) limit: f64,
    /// On which side of it values must lie.
    pub(crate) bound: LimitBound,
    /// What decides: interval, estimate, worlds, ...
    pub(crate) decides: String,
    /// Why, in words, without those of tables.
    pub(crate) reason: String,
    /// Whether it is based on so few repeats that another seed may change the verdict.
    is_of_few_repeats: bool,
    /// What a gate on a table of its own counts.
    counted: Option<GateCount>,
    /// What the job says about it.
    pub(crate) note: Option<String>,
    /// The part that decides, then the other part of a gate on harm about the same two groups.
    pub(crate) parts: Vec<LimitPart>,
    /// Every value that it judges; empty where it judges changes.
    judged: Vec<JudgedValue>,
    /// Whether it asks about harm to a group.
    pub(crate) of_harm: bool,
    /// Of one that is not decided, how many people would decide it; none where no number would.
    needed: Option<LimitNeed>,
    /// Of one that is broken, that no threshold nearby keeps it; none where one does.
    no_threshold: Option<String>,
}

/// All gates, worst first: broken, then undecided, kept, not checked; those that stop the pipeline
/// before those that warn, those about harm before others, and then by how far beyond the limit.
pub(crate) fn all(audit: &AuditFolder) -> Vec<AuditLimit> {
    let mut limits: Vec<AuditLimit> = Vec::new();
    let counts_all = audit.manifest.person.is_none() && audit.manifest.weight.is_none();
    for row in audit.gates.iter().filter(|row| row.decides == 1) {
        let own = || audit.rows_of_gate(row.gate.as_str()).iter();
        let of_harm = HARM.iter().all(|metric| own().any(|r| r.metric.as_str() == *metric));
        let first = LimitPart::of(row);
        let mut parts = vec![first.clone()];
        if of_harm {
            parts.extend(own().filter(|r| r.decides != 1).map(LimitPart::of).filter(|other| {
                other.key.attribute == first.key.attribute
                    && (&other.key.from, &other.key.to) == (&first.key.to, &first.key.from)
            }));
        }
        let (bound, decides) = row.rule_words();
        let findings = GateFindings::of_row(row);
        let mut limit = AuditLimit {
            name: row.gate.as_str().to_owned(),
            verdict: row.verdict.as_str().to_owned(),
            warns: row.level.as_str() == "warn",
            arm: row.arm.as_str().to_owned(),
            class: row.class.as_str().to_owned(),
            limit: row.limit,
            bound: match bound {
                "at_least" => LimitBound::AtLeast,
                "rise_at_most" => LimitBound::RiseAtMost,
                "fall_at_most" => LimitBound::FallAtMost,
                _ => LimitBound::AtMost,
            },
            decides: decides.to_owned(),
            reason: findings
                .as_ref()
                .map_or_else(|| row.reason.to_string(), GateFindings::plain_words),
            is_of_few_repeats: findings.as_ref().is_some_and(GateFindings::is_of_few_repeats),
            counted: findings.and_then(|of| of.counted).filter(|_| row.value.is_some()),
            note: audit.manifest.words.gate_notes.get(row.gate.as_str()).cloned(),
            parts,
            judged: own().filter_map(JudgedValue::of_gate).collect(),
            of_harm,
            needed: deciding_need(own()).and_then(|row| LimitNeed::of(row, !counts_all)),
            no_threshold: None,
        };
        // Curves count rows: where a person has several, they do not tell at which steps there are
        // enough persons.
        let is_broken = limit.verdict == "fail"
            && limit.arm.is_empty()
            && limit.class.is_empty()
            && audit.manifest.person.is_none();
        if is_broken && let Some(part) = limit.parts.first() {
            limit.no_threshold = no_threshold(audit, part, (limit.bound, limit.limit), row.enough);
        }
        limits.push(limit);
    }
    limits.sort_by(|a, b| {
        a.rank().cmp(&b.rank()).then(b.excess().total_cmp(&a.excess())).then(a.name.cmp(&b.name))
    });
    limits
}

/// The limit whose deciding part is this value; of several the worst.
fn deciding<'a>(limits: &'a [AuditLimit], value: &JudgedValue) -> Option<&'a AuditLimit> {
    limits.iter().find(|limit| {
        !limit.is_of_change() && limit.parts.iter().any(|part| limit.value_of(part) == *value)
    })
}

/// The limit that judges exactly this result.
pub(crate) fn of_result<'a>(
    limits: &'a [AuditLimit],
    result: &HarmResult,
) -> Option<&'a AuditLimit> {
    deciding(limits, &JudgedValue::plain(&result.key, result.metric))
}

/// The limit that holds for all of these values alike, and so may be drawn across them; none where
/// one has no limit or another one.
pub(crate) fn common(
    limits: &[AuditLimit],
    values: impl Iterator<Item = JudgedValue>,
) -> Option<&AuditLimit> {
    let mut found = values.map(|value| deciding(limits, &value));
    let first = found.next().flatten()?;
    let alike = |limit: Option<&AuditLimit>| {
        limit.is_some_and(|limit| (limit.bound, limit.limit) == (first.bound, first.limit))
    };
    found.all(alike).then_some(first)
}

impl AuditLimit {
    /// Whether it judges a value: also one that does not decide.
    pub(crate) fn judges(&self, value: &JudgedValue) -> bool {
        self.judged.contains(value)
    }

    /// What a part of it is about.
    pub(crate) fn value_of(&self, part: &LimitPart) -> JudgedValue {
        JudgedValue {
            class: self.class.clone(),
            ..JudgedValue::plain(&part.key, &part.metric).of_arm(&self.arm)
        }
    }

    fn rank(&self) -> (usize, bool, bool) {
        let order = ["fail", "inconclusive", "pass", "skipped"];
        let place = order.iter().position(|verdict| *verdict == self.verdict);
        (place.unwrap_or(order.len()), self.warns, !self.of_harm)
    }

    /// How far the value lies beyond the limit; below 0 where it keeps it.
    fn excess(&self) -> f64 {
        let Some(value) = self.parts.first().and_then(|part| part.value) else {
            return f64::NEG_INFINITY;
        };
        match self.bound {
            LimitBound::AtLeast => self.limit - value,
            LimitBound::FallAtMost => -value - self.limit,
            LimitBound::AtMost | LimitBound::RiseAtMost => value - self.limit,
        }
    }

    /// Whether a part of it breaks the limit by what decides: its value alone, or its whole
    /// interval.
    pub(crate) fn breaks(&self, part: &LimitPart) -> bool {
        let Some(value) = part.value else { return false };
        let (lo, hi) = match (self.decides.as_str(), part.interval) {
            ("estimate", _) => (value, value),
            (_, Some(ends)) => ends,
            (_, None) => return false,
        };
        match self.bound {
            LimitBound::AtMost => lo > self.limit,
            LimitBound::AtLeast => hi < self.limit,
            LimitBound::RiseAtMost | LimitBound::FallAtMost => false,
        }
    }

    /// Its verdict.
    pub(crate) fn badge(&self) -> VerdictBadge {
        match self.verdict.as_str() {
            "fail" => VerdictBadge::Fail,
            "pass" => VerdictBadge::Pass,
            "skipped" => VerdictBadge::NotChecked,
            _ => VerdictBadge::CannotTell,
        }
    }

    /// Whether it judges the change from an earlier run.
    pub(crate) fn is_of_change(&self) -> bool {
        matches!(self.bound, LimitBound::RiseAtMost | LimitBound::FallAtMost)
    }

    /// How its values are printed.
    pub(crate) fn kind(&self) -> NumberFormat {
        let Some(first) = self.parts.first() else { return NumberFormat::Plain };
        let kind = terms::kind(&first.metric, &first.key.scope);
        if self.is_of_change() { kind.of_change() } else { kind }
    }

    /// The unit of its axis.
    pub(crate) fn unit(&self) -> AxisUnit {
        match self.kind() {
            NumberFormat::Share => AxisUnit::Percent,
            NumberFormat::Points | NumberFormat::Distance => AxisUnit::Points,
            _ => AxisUnit::Number,
        }
    }

    /// The limit as it is drawn: that of a fall is a negative change.
    pub(crate) fn drawn(&self) -> f64 {
        if self.bound == LimitBound::FallAtMost { -self.limit } else { self.limit }
    }

    /// The side of the limit on which values must not lie.
    pub(crate) fn forbidden(&self) -> ForbiddenSide {
        match self.bound {
            LimitBound::AtMost | LimitBound::RiseAtMost => ForbiddenSide::Above,
            LimitBound::AtLeast | LimitBound::FallAtMost => ForbiddenSide::Below,
        }
    }

    /// `10 %`, `1 point`, `0.80`.
    pub(crate) fn limit_text(&self) -> String {
        let sign = if self.is_of_change() && self.limit > 0.0 {
            if self.bound == LimitBound::FallAtMost { "\u{2212}" } else { "+" }
        } else {
            ""
        };
        match self.unit() {
            AxisUnit::Percent => AxisUnit::Percent.label_with_unit(self.limit),
            AxisUnit::Points => {
                let label = AxisUnit::Points.label(self.limit);
                format!("{sign}{label} {}", if label == "1" { "point" } else { "points" })
            }
            AxisUnit::Number if self.is_count() => format!("{}", self.limit),
            AxisUnit::Number => format!("{sign}{:.2}", self.limit),
        }
    }

    /// Whether its values are numbers of things.
    pub(crate) fn is_count(&self) -> bool {
        let counts = [UNFAIR_SUBGROUPS, CONFIRMED_PATTERNS];
        self.parts.first().is_some_and(|part| counts.contains(&part.metric.as_str()))
    }

    /// Which subgroups a gate on recourse counts; none of other gates, and of one without a count.
    pub(crate) fn counted_subgroups(&self) -> Option<&GateCount> {
        self.counted.as_ref().filter(|of| matches!(of, GateCount::Subgroups { .. }))
    }

    /// The group that a gate on harm protects.
    pub(crate) fn protected(&self) -> Option<&str> {
        let part = self.parts.first().filter(|_| self.of_harm)?;
        Some(if part.metric == HARM[0] { &part.key.from } else { &part.key.to })
    }

    /// The question in plain words.
    pub(crate) fn question(
        &self,
        voice: &AuditVoice<'_>,
        glossary: &mut PageGlossary<'_>,
    ) -> String {
        let Some(part) = self.parts.first() else { return self.name.clone() };
        let (key, attribute) = (&part.key, part.key.attribute.as_str());
        let model = match self.arm.split_once('/') {
            Some((_, arm)) => format!("{}, retrained (arm {arm}),", voice.model(&key.model)),
            None => voice.model(&key.model),
        };
        let clause = || voice.set_clause(&key.set, attribute);
        if self.is_of_change() {
            let what = voice.measured(&part.metric);
            let what = what.unwrap_or_else(|| glossary.show(&part.metric).name);
            return format!("Is {model} worse than in the earlier run, by the {what}?");
        }
        if let Some(group) = self.protected() {
            let people = voice.people(attribute, group);
            let class = if self.class.is_empty() {
                String::new()
            } else {
                format!(" (class {})", self.class)
            };
            return if voice.is_of_the_entry(&key.set) {
                format!("Does {model} treat {people} worse {}{class}?", clause())
            } else {
                format!(
                    "Compared with similar people, are {people} worse off by {model} {}{class}?",
                    clause()
                )
            };
        }
        if let Some(question) = self
            .of_rates_by_label(part, voice, &model)
            .or_else(|| self.of_decisions(part, voice, &model))
        {
            return question;
        }
        match part.metric.as_str() {
            "sr" if !key.set.is_empty() => {
                let of = if key.from.is_empty() {
                    String::new()
                } else {
                    format!(
                        "about {} {} ",
                        voice.people(attribute, &key.from),
                        voice.as_group(attribute, &key.to)
                    )
                };
                format!("Does {model} decide differently {of}{}?", clause())
            }
            "denied_by_group" | "favoured_by_group"
                if !key.from.is_empty() && !self.class.is_empty() =>
            {
                let (people, other) =
                    (voice.people(attribute, &key.from), voice.as_group(attribute, &key.to));
                let class = &self.class;
                let switch = if self.enters_class(part, voice) {
                    format!("{people} with another class would have class {class} {other}")
                } else {
                    format!("{people} with class {class} would have another class {other}")
                };
                format!("How many {switch} by {model} {}?", clause())
            }
            "denied_by_group" | "favoured_by_group" if !key.from.is_empty() => {
                let side =
                    if part.metric == HARM[0] { SwitchSide::Gained } else { SwitchSide::Lost };
                format!(
                    "How many {} {} {} by {model} {}?",
                    voice.switchable(side, attribute, &key.from),
                    voice.would(side),
                    voice.as_group(attribute, &key.to),
                    clause()
                )
            }
            // The second group is on top.
            "di" if !key.from.is_empty() && !key.to.is_empty() => format!(
                "By {model}, is the share of {} who {} {} {} times that of {}?",
                voice.people(attribute, &key.to),
                voice.get_it(),
                if self.bound == LimitBound::AtLeast { "at least" } else { "at most" },
                self.limit_text(),
                voice.people(attribute, &key.from)
            ),
            "h_ga" => match key.set.split_once('/') {
                Some((_, scenario)) => {
                    format!("Do the possible causal graphs agree (scenario {})?", short(scenario))
                }
                None => "Do the possible causal graphs agree?".to_owned(),
            },
            CONFIRMED_PATTERNS => "How many traits go with more switches?".to_owned(),
            UNFAIR_SUBGROUPS => {
                let [a, b] = [&key.from, &key.to].map(|group| voice.people(attribute, group));
                format!(
                    "In how many subgroups is it harder for {a} than for {b}, or for {b} than for \
                     {a}, to get the favourable decision?"
                )
            }
            metric => {
                let name = capital(&glossary.show(metric).name);
                let of = if key.model.is_empty() { String::new() } else { format!(" of {model}") };
                let between = match (key.from.is_empty(), key.to.is_empty()) {
                    (false, false) => format!(
                        ", {} and {}",
                        voice.group(attribute, &key.from),
                        voice.group(attribute, &key.to)
                    ),
                    (false, true) => format!(", {}", voice.group(attribute, &key.from)),
                    _ if key.scope == "worst_case" => ", groups furthest apart".to_owned(),
                    _ => String::new(),
                };
                let class = if self.class.is_empty() {
                    String::new()
                } else {
                    format!(", class {}", self.class)
                };
                let bound = if self.bound == LimitBound::AtLeast { "at least" } else { "at most" };
                format!("{name}{of}{between}{class}: {bound} {}?", self.limit_text())
            }
        }
    }

    /// Whether a rate of harm on one class counts people who would enter the class, else people
    /// who would leave it.
    fn enters_class(&self, part: &LimitPart, voice: &AuditVoice<'_>) -> bool {
        voice.wants_class(&self.class) == (part.metric == HARM[0])
    }

    /// The question about a rate of a confusion matrix, or about its gap between two groups: `Are
    /// women wrongly refused by the scorecard model at most 5 points more often than men?`
    fn of_rates_by_label(
        &self,
        part: &LimitPart,
        voice: &AuditVoice<'_>,
        model: &str,
    ) -> Option<String> {
        let (key, attribute) = (&part.key, part.key.attribute.as_str());
        let (done, _) = self.by_label(part, voice)?;
        let bound = if self.bound == LimitBound::AtLeast { "at least" } else { "at most" };
        let limit = self.limit_text();
        let from = voice.people(attribute, &key.from);
        Some(match key.scope.as_str() {
            "pair" => {
                let to = voice.people(attribute, &key.to);
                format!("Are {from} {done} by {model} {bound} {limit} more often than {to}?")
            }
            "group" => format!("Are {bound} {limit} of {from} {done} by {model}?"),
            _ => format!("Are {bound} {limit} of the {} {done} by {model}?", voice.counted()),
        })
    }

    /// The question about the gap in the share of positive decisions, by whom a higher share harms:
    /// `By the scorecard model, is the share of women who are refused at most 5 points above that
    /// of men?`
    fn of_decisions(
        &self,
        part: &LimitPart,
        voice: &AuditVoice<'_>,
        model: &str,
    ) -> Option<String> {
        let verb = self.rate_of_gap(part, voice).filter(|_| {
            find(&part.metric).is_some_and(|m| m.gap_of.is_some_and(|(base, _)| base == "pprev"))
        })?;
        let (key, attribute) = (&part.key, part.key.attribute.as_str());
        let [from, to] = [&key.from, &key.to].map(|group| voice.people(attribute, group));
        let bound = if self.bound == LimitBound::AtLeast { "at least" } else { "at most" };
        Some(format!(
            "By {model}, is the share of {from} who {verb} {bound} {} above that of {to}?",
            self.limit_text()
        ))
    }

    /// What a higher rate means for its people, of a difference of rates between two groups; none
    /// of other values.
    fn rate_of_gap(&self, part: &LimitPart, voice: &AuditVoice<'_>) -> Option<String> {
        let both = !part.key.from.is_empty() && !part.key.to.is_empty();
        let plain = part.key.scope == "pair" && both && self.class.is_empty();
        let (base, _) =
            find(&part.metric)?.gap_of.filter(|gap| gap.1 == GapTransform::Difference)?;
        voice.has_rate(base).filter(|_| plain && !self.is_of_change())
    }

    /// Which of two groups has the higher rate, in words: the sign of a gap does not say whom it
    /// harms. None of other values.
    pub(crate) fn who_is_ahead(&self, voice: &AuditVoice<'_>) -> Option<String> {
        let part = self.parts.first()?;
        let verb = self.rate_of_gap(part, voice)?;
        let value = part.value?;
        let (lo, hi) = part.interval.unwrap_or((value, value));
        let attribute = part.key.attribute.as_str();
        let [from, to] = [&part.key.from, &part.key.to].map(|group| voice.people(attribute, group));
        Some(if lo > 0.0 {
            format!("{} {verb} more often than {to}.", capital(&from))
        } else if hi < 0.0 {
            format!("{} {verb} more often than {from}.", capital(&to))
        } else {
            format!("The data cannot tell whether {from} or {to} {verb} more often.")
        })
    }

    /// What a rate of a confusion matrix, or its difference between two groups, counts, and
    /// among which people; none of other values.
    fn by_label(&self, part: &LimitPart, voice: &AuditVoice<'_>) -> Option<(String, String)> {
        let plain = self.class.is_empty() && !self.is_of_change();
        let metric = part.metric.as_str();
        let base = match part.key.scope.as_str() {
            "pair" => find(metric)?.gap_of.filter(|gap| gap.1 == GapTransform::Difference)?.0,
            "group" | "total" => metric,
            _ => return None,
        };
        voice.by_label(base).filter(|_| plain)
    }

    /// What is said next to the question: the note of the job, and why nothing was decided.
    fn say(&self, audit: &AuditFolder, voice: &AuditVoice<'_>) -> RichText {
        let mut words = RichText::new();
        if let Some(note) = &self.note {
            words = words.quote(capital(note.trim().trim_end_matches('.'))).text(". ");
        }
        if let Some(ahead) = self.who_is_ahead(voice) {
            words = words.quote(ahead).text(" ");
        }
        if self.parts.first().is_some_and(|part| part.key.scope == "worst_case") {
            words = words.text(LARGEST_BY_CHANCE).text(" ");
        }
        match self.verdict.as_str() {
            "inconclusive" | "skipped" => {
                words = words.quote(capital(&self.reason)).text(".");
                if let Some(needed) = &self.needed {
                    words = words.text(" ").quote(needed.sentence(voice));
                }
            }
            _ => {
                if let Some(no_threshold) = &self.no_threshold {
                    words = words.text(format!("{no_threshold} "));
                }
                if let Some(of) = self.counted_subgroups() {
                    words = words.quote(format!("Counted: {}. ", of.words()));
                }
                words = match (self.decides.as_str(), self.range()) {
                    ("estimate", _) => words.text("The value decides."),
                    ("all", _) => words.text("The intervals of all doubts decide together."),
                    ("worlds", Some(range)) => {
                        words.text(format!("The interval over {} decides.", range.over))
                    }
                    (_, Some(range)) => {
                        words.text(format!("The range over {} decides.", range.over))
                    }
                    (_, None) => words,
                };
                if self.leaves_out_trainings(audit) {
                    words = words.text(
                        "The interval of this change does not include the other trainings of the \
                         model.",
                    );
                }
                if self.range().is_some() && self.is_of_few_repeats {
                    words = words.text(
                        " It is based on few repeats: another seed may change its ends, and close \
                         to the limit the verdict.",
                    );
                }
            }
        }
        words
    }

    /// Whether its interval is that of a change, and the run trained the model again: what these
    /// trainings give is then no part of the interval.
    fn leaves_out_trainings(&self, audit: &AuditFolder) -> bool {
        let part = self.parts.first().filter(|part| {
            self.is_of_change() && self.decides != "estimate" && part.interval.is_some()
        });
        part.and_then(|part| audit.measure(&part.key, &part.metric))
            .is_some_and(|measure| measure.is_trained_again)
    }

    /// The range that decides instead of the interval over people.
    pub(crate) fn range(&self) -> Option<DecidingRange> {
        DecidingRange::of(&self.decides)
    }

    /// What a part of it is called.
    pub(crate) fn label(&self, part: &LimitPart, voice: &AuditVoice<'_>) -> String {
        let (key, attribute) = (&part.key, part.key.attribute.as_str());
        let pair = (key.from.as_str(), key.to.as_str());
        let both = !key.from.is_empty() && !key.to.is_empty();
        if let Some((_, among)) = self.by_label(part, voice) {
            return match (key.scope.as_str(), key.from.as_str()) {
                ("pair", _) => format!("difference among people {among}"),
                (_, "") => format!("of people {among}"),
                (_, group) => format!("of {} {among}", voice.group(attribute, group)),
            };
        }
        match part.metric.as_str() {
            "denied_by_group" | "favoured_by_group" if both && !self.class.is_empty() => {
                let (people, other) =
                    (voice.group(attribute, pair.0), voice.as_group(attribute, pair.1));
                if self.enters_class(part, voice) {
                    format!("{people} with another class, {} {other}", self.class)
                } else {
                    format!("{people} with class {}, another class {other}", self.class)
                }
            }
            "denied_by_group" if both => voice.switch_label(SwitchSide::Gained, attribute, pair),
            "favoured_by_group" if both => voice.switch_label(SwitchSide::Lost, attribute, pair),
            "sr" if both => format!(
                "{} decided otherwise {}",
                voice.group(attribute, &key.from),
                voice.as_group(attribute, &key.to)
            ),
            "sr" if voice.has_several_others(attribute) => {
                "different decisions as another group".to_owned()
            }
            "sr" => format!("{} with a different decision", voice.counted()),
            "h_g" | "h_ga" => "disagreement: 0 none, 1 most".to_owned(),
            "di" if both => format!(
                "share of {} over that of {}",
                voice.group(attribute, &key.to),
                voice.group(attribute, &key.from)
            ),
            UNFAIR_SUBGROUPS => "subgroups".to_owned(),
            CONFIRMED_PATTERNS => "confirmed patterns".to_owned(),
            _ if self.is_of_change() => "change from the earlier run".to_owned(),
            metric if both && key.scope == "pair" && is_difference(metric) => {
                match self.rate_of_gap(part, voice) {
                    Some(verb) => format!(
                        "share of {} who {verb} minus that of {}",
                        voice.people(attribute, &key.from),
                        voice.people(attribute, &key.to)
                    ),
                    None => format!(
                        "{} minus {}",
                        voice.group(attribute, &key.from),
                        voice.group(attribute, &key.to)
                    ),
                }
            }
            _ if both && key.scope == "pair" => format!(
                "{} compared with {}",
                voice.group(attribute, &key.from),
                voice.group(attribute, &key.to)
            ),
            _ => "value".to_owned(),
        }
    }

    /// The value as it is drawn: of the plain audit with the interval of people, and that over
    /// graphs or fits where there is one.
    fn point(&self, part: &LimitPart, audit: &AuditFolder) -> Option<PlotPoint> {
        let value = part.value?;
        let measure = audit
            .measure(&part.key, &part.metric)
            .filter(|_| self.arm.is_empty() && self.class.is_empty() && !self.is_of_change())
            .filter(|measure| measure.across.is_some() || measure.second().is_some());
        Some(match measure {
            Some(measure) => PlotPoint {
                value,
                interval: measure.interval,
                second: match self.decides.as_str() {
                    // What decides is drawn, and not the first of several doubts.
                    "fit" | "training" | "all" => part.interval,
                    _ => measure.second().map(|second| second.0),
                },
            },
            None => PlotPoint { value, interval: part.interval, second: None },
        })
    }

    fn rows(
        &self,
        audit: &AuditFolder,
        voice: &AuditVoice<'_>,
        scale: PlotScale,
        href: &dyn Fn(&str) -> String,
    ) -> Vec<PlotLine> {
        let mut lines = Vec::new();
        let (kind, side) = (self.kind(), self.forbidden());
        for part in &self.parts {
            let Some(point) = self.point(part, audit) else { continue };
            let label = self.label(part, voice);
            let text = if self.is_count() {
                format!("{}", point.value)
            } else {
                value_text(kind, point.value, part.interval)
            };
            let ends = part.interval.map_or_else(String::new, |ends| {
                let over = self.range().map_or_else(String::new, |of| format!("{} ", of.short));
                format!("{over}{}", ends_text(kind, ends))
            });
            let people = match (part.before, part.whole) {
                (Some(before), _) => {
                    let of_value = terms::kind(&part.metric, &part.key.scope);
                    format!("from {}", value_text(of_value, before, part.interval))
                }
                (None, Some(whole)) if part.metric != CONFIRMED_PATTERNS => {
                    counts_text(part.counts, point.value, whole)
                }
                _ => String::new(),
            };
            let title = format!(
                "{label}: {text}{}; limit {}",
                if ends.is_empty() { String::new() } else { format!(", interval {ends}") },
                self.limit_text()
            );
            lines.push(PlotLine::Row(Box::new(PlotRow {
                label: RichText::new().quote(label),
                inset: true,
                two: point.second.is_some(),
                people: people.into(),
                drawing: bullet(scale, point, (self.drawn(), side), &title),
                value: text,
                href: href(&format!("limit-{}", self.name)),
                ends,
                ..PlotRow::default()
            })));
        }
        if !lines.is_empty() {
            let label = format!("limit {}", self.limit_text());
            lines.push(PlotLine::Axis(axis(scale, self.unit(), Some((self.drawn(), &label)))));
        }
        lines
    }
}

/// Whether a metric is the value of one group minus that of another.
fn is_difference(metric: &str) -> bool {
    find(metric).is_some_and(|metric| {
        metric.gap_of.is_some_and(|(_, transform)| transform == GapTransform::Difference)
    })
}

/// The scale that limits of one unit and limit share: to the round number above twice the limit and
/// all ends; of changes from below 0 to above the limit.
fn scales(limits: &[AuditLimit], audit: &AuditFolder) -> BTreeMap<String, PlotScale> {
    let mut ends: BTreeMap<String, (bool, f64, Vec<f64>)> = BTreeMap::new();
    for limit in limits {
        let of = ends.entry(scale_of(limit)).or_insert_with(|| {
            let cap = match (limit.unit(), limit.is_of_change()) {
                (AxisUnit::Percent, false) => 1.0,
                _ => f64::INFINITY,
            };
            let below = limit.is_of_change() || limit.kind() == NumberFormat::Points;
            (below, cap, vec![2.0 * limit.drawn()])
        });
        for part in &limit.parts {
            of.2.extend(limit.point(part, audit).into_iter().flat_map(PlotPoint::extent));
        }
        if limit.bound == LimitBound::AtLeast {
            // Of a ratio the limit need not be shown twice.
            of.2[0] = limit.limit * 1.2;
        }
    }
    ends.into_iter()
        .map(|(of, (below, cap, ends))| {
            let is_below = below || ends.iter().any(|end| *end < 0.0);
            let scale = if is_below {
                PlotScale::around_zero(ends.into_iter())
            } else {
                PlotScale::from_zero(ends.into_iter(), cap)
            };
            (of, scale)
        })
        .collect()
}

fn scale_of(limit: &AuditLimit) -> String {
    format!("{:?} {:?} {}", limit.unit(), limit.bound, limit.limit)
}

/// The table of limits, worst first.
pub(crate) fn table(
    audit: &AuditFolder,
    limits: &[AuditLimit],
    voice: &AuditVoice<'_>,
    glossary: &mut PageGlossary<'_>,
    href: &dyn Fn(&str) -> String,
) -> PlotTable {
    let scales = scales(limits, audit);
    let mut table =
        PlotTable { label: "Limits, worst first".to_owned(), class: "gates", bodies: Vec::new() };
    let (mut room, mut folded) = (PARTS_AT_MOST, Vec::new());
    for limit in limits {
        let size = limit.parts.iter().filter(|part| part.value.is_some()).count().max(1);
        if size > room && limit.verdict == "pass" {
            folded.push(limit.question(voice, glossary));
            continue;
        }
        room = room.saturating_sub(size);
        let scale = scales.get(&scale_of(limit)).copied();
        let scale = scale.unwrap_or_else(|| PlotScale::new(0.0, 1.0));
        let question = RichText::new().quote(limit.question(voice, glossary));
        let mut lines =
            vec![PlotLine::Question(question, limit.say(audit, voice), limit.warns, limit.badge())];
        lines.extend(limit.rows(audit, voice, scale, href));
        table.bodies.push(PlotBody { block: true, lines });
    }
    if !folded.is_empty() {
        let n = folded.len();
        let words = if n == 1 {
            format!("1 further limit is kept: {}", folded[0])
        } else {
            format!("{n} further limits are kept; they are in the tables.")
        };
        let lines = vec![PlotLine::Fold(RichText::new().quote(words))];
        table.bodies.push(PlotBody { block: true, lines });
    }
    table
}

/// How many limits are broken and what that does, in a sentence.
pub(crate) fn tally(limits: &[AuditLimit]) -> String {
    let n = |verdict: &str| limits.iter().filter(|limit| limit.verdict == verdict).count();
    let all = limits.len();
    let (broken, undecided, kept, unchecked) =
        (n("fail"), n("inconclusive"), n("pass"), n("skipped"));
    let is = |n: usize| if n == 1 { "is" } else { "are" };
    let mut words = String::new();
    if all == 0 {
        return "The job sets no limit: this page only reports.".to_owned();
    }
    if broken > 0 {
        let warn = limits.iter().filter(|l| l.verdict == "fail" && l.warns).count();
        // A limit that cannot be decided may stop the pipeline too.
        let stops = limits.iter().any(|l| l.verdict == "inconclusive" && !l.warns);
        let so = if stops { "" } else { ", so the pipeline continues" };
        words += &match all {
            1 => "The only limit is broken".to_owned(),
            _ => format!("{broken} of {all} limits {} broken", is(broken)),
        };
        words += &match (warn, broken) {
            (0, _) => ".".to_owned(),
            (1, 1) => format!(". It is set as a warning{so}."),
            (w, b) if w == b => {
                let them = match b {
                    2 => "Both are".to_owned(),
                    b => format!("All {b} are"),
                };
                format!(". {them} set as warnings{so}.")
            }
            (w, b) => format!(
                "; {w} of these {b} {} set as {} only.",
                is(w),
                if w == 1 { "a warning" } else { "warnings" }
            ),
        };
    }
    if undecided > 0 {
        let space = if words.is_empty() { "" } else { " " };
        words += &match all {
            1 => "The only limit cannot be decided.".to_owned(),
            _ => format!("{space}{undecided} of {all} limits cannot be decided."),
        };
    }
    if words.is_empty() && kept > 0 {
        words = match (kept, all) {
            (1, 1) => "The only limit is kept.".to_owned(),
            (k, a) => format!("{k} of {a} limits {} kept.", is(k)),
        };
    }
    if unchecked > 0 {
        let space = if words.is_empty() { "" } else { " " };
        words += &match all {
            1 => "The only limit is not checked.".to_owned(),
            _ => format!("{space}{unchecked} of {all} {} not checked.", is(unchecked)),
        };
    }
    words
}

/// The verdict of the page.
pub(crate) fn page_badge(limits: &[AuditLimit]) -> VerdictBadge {
    let any = |verdict: &str| limits.iter().any(|limit| limit.verdict == verdict);
    if limits.is_empty() {
        VerdictBadge::NoLimit
    } else if any("fail") {
        VerdictBadge::Fail
    } else if any("inconclusive") {
        VerdictBadge::CannotTell
    } else if any("pass") {
        VerdictBadge::Pass
    } else {
        VerdictBadge::NotChecked
    }
}

/// Heading of the section.
pub(crate) fn heading(limits: &[AuditLimit]) -> String {
    let n = |verdict: &str| limits.iter().filter(|limit| limit.verdict == verdict).count();
    let (all, broken) = (limits.len(), n("fail"));
    match (broken, n("inconclusive"), n("pass")) {
        (0, 0, kept) if kept == all && all == 1 => "Limits: the only one is kept".to_owned(),
        (0, 0, kept) if kept == all && all == 2 => "Limits: both are kept".to_owned(),
        (0, 0, kept) if kept == all => format!("Limits: all {all} are kept"),
        (0, 0, _) => "Limits: none is broken".to_owned(),
        (0, 1, _) if all == 1 => "Limits: the only one cannot be decided".to_owned(),
        (0, open, _) => format!("Limits: {open} of {all} cannot be decided"),
        (1, ..) if all == 1 => "Limits: the only one is broken".to_owned(),
        (1, ..) => format!("Limits: 1 of {all} is broken"),
        _ => format!("Limits: {broken} of {all} are broken"),
    }
}
