//! Codes and arguments of gates in English: the one place that makes the column `reason`, and what
//! pages say in its place.

use super::{
    ComparedPlace, CountedUnit, EmptySearch, GateBoundSide, GateCaution, GateCount, GateFindings,
    GateReason, GateRemark, IntervalLack, Judged, Lack, LowerSide, MissingRow, OwnValue,
    RoundedPlace, UncertaintySource, UnseenPart, UnshownChange, WithoutRounding, WorstOf,
};
use crate::metric::noise::repeats::MIN_REPEATS_FOR_TAILS;
use crate::metric::value::settings::NEGATIVE_PART;
use crate::metric::value::worlds::ENOUGH_BOOTSTRAPS;
use crate::table::deciding_range::DecidingRange;
use crate::table::digits::{decimals_apart, end_pairs, fixed_digits, interval_digits};

/// Why a value says nothing of a model that was shown no change.
const UNTESTED: &str = "counterfactuals differ from their rows only in `to_group`, and no measured \
    value changed";

/// For whom a reason is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Register {
    /// Readers of the table, with its words.
    Table,
    /// Readers of a page, without them.
    Page,
}

/// `one` of a single thing, else `many`.
fn plural<'a>(n: u64, one: &'a str, many: &'a str) -> &'a str {
    if n == 1 { one } else { many }
}

/// A share in per cent.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A list with `and` before its last part.
fn and(parts: &[String]) -> String {
    match parts.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// `people, graphs and refits and 20 fits`.
pub(crate) fn sources(of: &[UncertaintySource]) -> String {
    let words = |source: &UncertaintySource| match source {
        UncertaintySource::People => "people".to_owned(),
        UncertaintySource::Graphs => "graphs and refits".to_owned(),
        UncertaintySource::Fits(n) => format!("{n} fits"),
        UncertaintySource::Trainings(n) => format!("{n} trainings"),
    };
    and(&of.iter().map(words).collect::<Vec<_>>())
}

impl ComparedPlace {
    /// What was compared, after `the`, and what follows the verb.
    fn parts(&self) -> (String, String) {
        let (what, mut after) = match &self.judged {
            Judged::Value => ("value".to_owned(), String::new()),
            Judged::Change => ("change".to_owned(), String::new()),
            Judged::Interval => ("interval".to_owned(), String::new()),
            Judged::Holm { level, place, of } => (
                "interval".to_owned(),
                format!(" at {} % (Holm, {place} of {of})", (level * 1e4).round() / 1e2),
            ),
            Judged::Graphs { level } => {
                let level =
                    level.map_or_else(String::new, |of| format!("{} % ", (of * 1e8).round() / 1e6));
                (format!("{level}interval over graphs and refits"), String::new())
            }
            Judged::Range(over) => (format!("range over {}", sources(over)), String::new()),
        };
        let is_value = matches!(self.judged, Judged::Value | Judged::Change);
        let changed = if is_value { "it" } else { "its ends" };
        for caution in &self.cautions {
            after.push_str(&caution.words(changed));
        }
        (what, after)
    }

    /// `the whole interval keeps the limit at 97.5 % (Holm, 1 of 2)`.
    fn one_side(&self, verb: &str, but: &str) -> String {
        let (what, after) = self.parts();
        let whole = match self.judged {
            Judged::Value | Judged::Change => "",
            _ => "whole ",
        };
        let pair = self.pair.as_ref().map_or_else(String::new, |[a, b]| {
            format!(
                "the furthest group is too small for a conclusion, but the interval of {a} and {b} \
                 {verb} the limit: "
            )
        });
        format!("{pair}the {whole}{what} {verb} the limit{but}{after}")
    }
}

impl GateCaution {
    /// `changed` is what another seed may change.
    fn words(&self, changed: &str) -> String {
        let few = |few: String, enough: usize, greatly: &str| {
            format!(
                "; it is based on {few}, fewer than {enough}, so another seed may change \
                 {changed}{greatly}"
            )
        };
        match self {
            GateCaution::FewRepeats(of) => few(sources(of), MIN_REPEATS_FOR_TAILS, ""),
            GateCaution::FewBootstraps(n) => few(
                format!("{n} {}", plural(*n, "bootstrap", "bootstraps")),
                ENOUGH_BOOTSTRAPS,
                " greatly",
            ),
            GateCaution::NoBootstraps => "; it is based on the training rows without bootstraps, \
                                          and does not show which graphs other rows would give"
                .to_owned(),
            GateCaution::MeanOutside => "; the mean over graphs lies outside it, because a few \
                                         graphs differ greatly from the others"
                .to_owned(),
        }
    }
}

impl UnshownChange {
    fn words(&self) -> String {
        match &self.direction {
            None => format!("`{}`", self.attribute),
            Some([from, to]) => format!("`{}` from `{from}` to `{to}`", self.attribute),
        }
    }
}

/// The first letter in lower case.
fn lower(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_lowercase);
    first.chain(letters.as_str().chars()).collect()
}

impl GateReason {
    fn words(&self, register: Register) -> String {
        match self {
            GateReason::InvertedScores { text } | GateReason::NotRepeatable { text } => {
                format!("{}: {text}", self.code().word())
            }
            GateReason::LimitBroken(of) => of.one_side("breaks", ""),
            GateReason::LimitKept(of) => of.one_side("keeps", ""),
            GateReason::UnclearInFamily(of) => {
                of.one_side("breaks", ", but a clearer comparison does not")
            }
            GateReason::LimitInside(of) => {
                let (what, after) = of.parts();
                format!("the limit lies inside the {what}{after}")
            }
            GateReason::OtherSide { kept, range } => {
                let [all, one] = if *kept { ["keeps", "breaks"] } else { ["breaks", "keeps"] };
                range.one_side(all, &format!(", but the value itself {one} it"))
            }
            GateReason::NegativePart => format!(
                "{NEGATIVE_PART}: a ratio with a negative part does not say how many times as much \
                 one is; judge the difference"
            ),
            GateReason::NoBaseline => "no baseline was given".to_owned(),
            GateReason::NoInterval { why: IntervalLack::NoRefit } => {
                "no refit of the coefficients was measured: add `bootstraps` to the set; 100 is \
                 usual"
                    .to_owned()
            }
            GateReason::NoInterval { why: IntervalLack::Table(why) } => {
                format!("there is no interval: {why}")
            }
            GateReason::NotComparable { definitions } => {
                format!("not comparable with the baseline: another {definitions}")
            }
            GateReason::NotMeasured { row } => match row {
                MissingRow::Metrics => "the table of metrics has no such row".to_owned(),
                MissingRow::Changes => {
                    "neither this run nor the baseline has such a row".to_owned()
                }
                MissingRow::AnyOtherGroup => "it measures whether a change to any other group \
                                              switches a prediction, which needs three groups or \
                                              more"
                    .to_owned(),
            },
            GateReason::NothingLookedAt { search } => match search {
                EmptySearch::Arm(arm) => format!(
                    "nothing was looked at: the arm `{arm}` added no rows, so its model is the one \
                     before"
                ),
                EmptySearch::Subgroups(n) => {
                    let people = match n {
                        1 => "an affected person".to_owned(),
                        n => format!("{n} affected people"),
                    };
                    format!(
                        "nothing was looked at: no subgroup has an action, and {people} in both \
                         groups"
                    )
                }
            },
            GateReason::OnlyInOneRun { new: true } => "the baseline has no such value".to_owned(),
            GateReason::OnlyInOneRun { new: false } => {
                "the baseline has such a value, the run does not".to_owned()
            }
            GateReason::HiddenCause { turns_at, undefined, withstands } => match turns_at {
                Some(at) => format!(
                    "a hidden cause that explains {} of what is left of the attribute and of the \
                     score overturns the pass, and the gate asks to withstand {}",
                    percent(*at),
                    percent(*withstands),
                ),
                None if undefined.is_empty() => "the table `hidden_cause` does not say what a \
                     hidden cause could do: its verdict is open without one"
                    .to_owned(),
                None => format!("what a hidden cause could do is not known: `{undefined}`"),
            },
            GateReason::RateOfOne { ends } => {
                let why = match ends {
                    Some(ends) => {
                        let [lo, hi] = ends.map(|end| end.unwrap_or(f64::INFINITY));
                        format!(
                            "with the doubt about that rate (MOVER-R) it reaches from {lo:.4} to \
                             {hi:.4}"
                        )
                    }
                    None => "how sure that rate is, the tables do not tell".to_owned(),
                };
                format!("Katz's interval takes a rate of 1 as certain: {why}")
            }
            GateReason::Refitted { why } => why.clone(),
            GateReason::RoundingAtThreshold { behind, rounded, switches, without } => {
                let behind = match behind {
                    RoundedPlace::Value => "the value",
                    RoundedPlace::Change => "the two values of the change",
                    RoundedPlace::OtherComparisons => "other comparisons of the gate",
                };
                format!(
                    "{rounded} of the {switches} switches behind {behind} are between two scores \
                     that agree to single precision and stand on the two sides of the threshold; \
                     without them {}: score rows and counterfactuals by one program in one \
                     precision",
                    without.words()
                )
            }
            GateReason::SelectiveLabels => {
                "labels are missing for some people more often than for others".to_owned()
            }
            GateReason::SmallGroup { flags } => {
                let word = |flag: &String| match (register, flag.as_str()) {
                    (Register::Page, "small_group") => "a group has too few people".to_owned(),
                    (Register::Page, "small_denominator") => {
                        "too few people count in a rate".to_owned()
                    }
                    (_, flag) => flag.to_owned(),
                };
                let between = if register == Register::Page { ", " } else { "," };
                let all: Vec<String> = flags.iter().map(word).collect();
                format!("too few for a conclusion: {}", all.join(between))
            }
            GateReason::TooFew { n, of: CountedUnit::PeopleOfAHalf, required } => {
                let people = plural(n.unsigned_abs(), "person who counts", "people who count");
                format!(
                    "the value is undefined: a half has {n} {people}; the gate needs {required}"
                )
            }
            GateReason::TooFew { n, of, required } => {
                let of = match of {
                    CountedUnit::Cases => "cases",
                    CountedUnit::PersonsBelow => "persons below the rate",
                    CountedUnit::WeightedBelow => "people of weight above 0 below the rate",
                    CountedUnit::Persons => "persons",
                    CountedUnit::People | CountedUnit::PeopleOfAHalf => "people",
                };
                format!("{n} {of}, {required} are required")
            }
            GateReason::Undefined { undefined, of_change: true, .. } => {
                format!("the change is undefined: {undefined}")
            }
            GateReason::Undefined { undefined, meaning, .. } => {
                match (register, meaning.as_str()) {
                    (Register::Page, "") => format!("there is no value: {}", lower(undefined)),
                    (Register::Page, meaning) => format!("there is no value: {}", lower(meaning)),
                    (Register::Table, "") => format!("the value is undefined: {undefined}"),
                    (Register::Table, of) => format!("the value is undefined: {undefined}: {of}"),
                }
            }
            GateReason::UnknownLevels { attribute, group, people, audited } => format!(
                "unknown-levels: {people} of {audited} people of `{attribute}` `{group}` have \
                 values that the model does not know"
            ),
            GateReason::UnmeasuredGroups { n, groups } => {
                let names: Vec<String> = groups.iter().map(|name| format!("`{name}`")).collect();
                let which = if names.is_empty() {
                    String::new()
                } else {
                    format!(": {}", names.join(", "))
                };
                let (have, were) =
                    if *n == 1 { ("group has", "was") } else { ("groups have", "were") };
                format!("{n} {have} no value and {were} not measured{which}")
            }
            GateReason::UnmeasuredPeople { lacking, enough, worst, end } => {
                unmeasured(lacking, *enough, *worst, *end)
            }
            GateReason::UnseenChange { part: UnseenPart::Change(unshown) } => {
                format!("no row that was scored shows {}: {UNTESTED}", unshown.words())
            }
            GateReason::UnseenChange { part: UnseenPart::Directions(all) } => {
                let names: Vec<String> =
                    all.iter().map(|[from, to]| format!("`{from}` to `{to}`")).collect();
                let what = plural(names.len() as u64, "direction was", "directions were");
                format!("{} {what} not measured: {}: {UNTESTED}", names.len(), names.join(", "))
            }
            GateReason::UnsupportedPeople { value, of, alone } => {
                let value = value.map_or_else(String::new, |value| {
                    let of = of.map_or_else(String::new, |n| format!(" of {n}"));
                    format!(", {value:.4}{of},")
                });
                format!(
                    "among the people whose counterfactuals the reference rows support{value} {}: \
                     the table `support` lists what they hardly hold",
                    alone.words()
                )
            }
            GateReason::WaitsForScores => {
                "the run waits for scores, and judges it when they have arrived".to_owned()
            }
        }
    }
}

/// `80 people have no group and 3 people no score; 12 of them would be enough to break the limit`.
fn unmeasured(lacking: &[(Lack, u64)], enough: u64, worst: WorstOf, end: Option<f64>) -> String {
    let shown = end.map_or_else(|| "inf".to_owned(), |end| format!("{end:.4}"));
    if lacking.is_empty() {
        return format!(
            "people whom the earlier run did not measure could break the limit; at worst the end \
             would be {shown}"
        );
    }
    let each = lacking.iter().map(|(lack, n)| {
        let what = match lack {
            Lack::Group => "group",
            Lack::Score => "score",
            Lack::Counterfactual => "valid counterfactual with a score",
        };
        format!("{n} {} no {what}", plural(*n, "person has", "people have"))
    });
    let all: u64 = lacking.iter().map(|(_, n)| n).sum();
    let who = match (enough, all) {
        (1, 1) => "that person".to_owned(),
        (enough, all) if enough == all => format!("all {all} of them"),
        (enough, _) => format!("{enough} of them"),
    };
    let worst = match worst {
        WorstOf::Value => "the value",
        WorstOf::Change => "the change",
        WorstOf::Interval => "the end of the interval",
    };
    let bound = if end.is_some() { format!("be {shown}") } else { "have no bound".to_owned() };
    format!(
        "{}; {who} would be enough to break the limit; at worst {worst} would {bound}",
        each.collect::<Vec<_>>().join(", and ")
    )
}

impl WithoutRounding {
    fn words(&self) -> String {
        let what = if self.of_change { "change" } else { "value" };
        let Some(value) = self.value else { return format!("there would be no {what}") };
        if self.by_holm && !self.moves {
            return "Holm's method would decide otherwise".to_owned();
        }
        // What rounds to 0 has no sign.
        let shown = (value * 1e4).round() / 1e4 + 0.0;
        let bound = match self.bound {
            None => "",
            Some(GateBoundSide::AtMost) => "at most ",
            Some(GateBoundSide::AtLeast) => "at least ",
        };
        let holm = if self.by_holm { ", and Holm's method would decide otherwise" } else { "" };
        format!("the {what} would be {bound}{shown:.4}{holm}")
    }
}

impl OwnValue {
    /// What the audited model itself does.
    fn words(&self, model: &str, of_change: bool) -> String {
        let why = self.findings.words();
        let Some(value) = self.value else {
            return format!("the audited {model} itself cannot be judged: {why}");
        };
        let judged = Some((value, self.limit));
        let decimals = decimals_apart(&end_pairs(self.ends).chain(judged).collect::<Vec<_>>());
        let over = DecidingRange::before_ends(&self.decides);
        let ends = self.ends.map_or_else(String::new, |(lo, hi)| {
            format!(" ({over}{})", interval_digits(lo, hi, decimals))
        });
        let what = if of_change { "a change of " } else { "" };
        let value = format!("{what}{}{ends}", fixed_digits(value, decimals));
        match self.verdict.as_str() {
            "pass" => format!("the audited {model} itself keeps the limit: {value}"),
            "fail" => format!("the audited {model} itself breaks the limit: {value}"),
            _ => format!("the audited {model} itself is at {value}: {why}"),
        }
    }
}

impl GateRemark {
    fn words(&self) -> String {
        match self {
            GateRemark::AttributeFollows => "in the graphs of the set the attribute is an effect \
                                             of other variables, which may contradict domain \
                                             knowledge"
                .to_owned(),
            GateRemark::TrainingsLeftOut => "the interval of a change does not include the other \
                                             trainings of the model"
                .to_owned(),
            GateRemark::OtherOrder { groups: [first, second], value, group, side } => {
                let name = |group: &str| match group {
                    "" => "all others".to_owned(),
                    group => format!("`{group}`"),
                };
                let side = match side {
                    LowerSide::Behind => "is behind",
                    LowerSide::LowerValue => "has the lower value",
                };
                format!(
                    "the limit does not see the other order: {} over {} is {value:.4}, and {} \
                     {side}",
                    name(second),
                    name(first),
                    name(group)
                )
            }
            GateRemark::AuditedModel { of_set, of_change, own } => {
                let model = if *of_set { "set" } else { "model" };
                let table = if *of_change { "changes" } else { "metrics" };
                match own {
                    Some(own) => own.words(model, *of_change),
                    None => format!(
                        "the audited {model} itself cannot be judged: the table of {table} has no \
                         such row"
                    ),
                }
            }
        }
    }
}

impl GateCount {
    /// Which subgroups count: `with at least 20 affected people in the smaller group`; none of
    /// patterns.
    pub(crate) fn size(&self) -> Option<String> {
        match self {
            GateCount::Subgroups { min_affected: n, .. } if *n > 1 => {
                Some(format!("with at least {n} affected people in the smaller group"))
            }
            GateCount::Subgroups { .. } => Some("of any size".to_owned()),
            GateCount::Patterns { .. } => None,
        }
    }

    /// What the number counts.
    pub(crate) fn words(&self) -> String {
        match self {
            GateCount::Subgroups { definition, parameter, view, score_at_least, .. } => {
                let score = score_at_least.map_or_else(
                    || "with any score above 0".to_owned(),
                    |least| format!("with a score of at least {least}"),
                );
                let parameter =
                    if parameter.is_empty() { String::new() } else { format!(" {parameter}") };
                format!(
                    "subgroups {} that are unfair to either group by {}{parameter}, {view} view, \
                     {score}",
                    self.size().unwrap_or_default(),
                    definition.replace('-', " ")
                )
            }
            GateCount::Patterns { metric, why } => {
                let metric = metric.as_deref().unwrap_or("the metric");
                format!("confirmed patterns of who switches by {metric}, of `why.{why}`")
            }
        }
    }
}

impl GateFindings {
    fn said(&self, register: Register) -> String {
        let mut words = self.reason.words(register);
        for reason in &self.further {
            words = format!("{words}; {}", reason.words(register));
        }
        for objection in &self.objections {
            words = format!("{words}, but {}", objection.words(register));
        }
        for remark in &self.remarks {
            words = format!("{words}; {}", remark.words());
        }
        words
    }

    /// What is counted before other words.
    fn after_count(&self, words: String) -> String {
        self.counted.as_ref().map_or_else(|| words.clone(), |of| format!("{}: {words}", of.words()))
    }

    /// The column `reason`.
    pub(crate) fn words(&self) -> String {
        self.after_count(self.words_of_verdict())
    }

    /// The same without what is counted.
    pub(crate) fn words_of_verdict(&self) -> String {
        self.said(Register::Table)
    }

    /// The same for a page, without the words of tables.
    pub(crate) fn plain_words(&self) -> String {
        self.after_count(self.said(Register::Page).trim_end_matches('.').to_owned())
    }
}
