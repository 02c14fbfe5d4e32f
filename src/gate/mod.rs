//! Gates: one question each about one metric, with a limit; judged from the table of metrics alone.
//!
//! With `decide_by: interval` (or `worlds`, where the interval is the one over causal graphs and refits of their coefficients) and `at_most L`: *pass* where the whole
//! interval is at or below L, *fail* where all of it is above, else *inconclusive*; mirrored for `at_least`. With `decide_by: estimate`
//! the value alone decides. Fewer cases than `enough` below a rate, an undefined value or a missing interval are inconclusive, never a
//! pass; so is a gap or a distance that rests on a small group or on a small denominator, as the table of metrics flags it. With `family_error: holm` the comparisons of a gate are judged together, see
//! [`holm`]. Gates on recourse are counted in [`recourse`]. `run`, `gate`, `diff` and the report share this code.
//!
//! A gate on harm ([`Scope::HarmTo`]) has two parts for each other group, and the worst of them decides. No gate passes on people that it did
//! not see: groups without a value, counterfactuals of which none is valid, changes that nobody who scores was shown.
//!
//! A gate against a baseline judges the change of a value by the interval of the change, from the table of changes. Without a baseline it
//! is skipped, which is neither a pass nor a failure; where the two runs define the value differently it is inconclusive.

mod audited;
mod holm;
pub mod recourse;
mod unseen;

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::metric::ccm::HARM;
use crate::metric::labels::SELECTIVE_LABELS;
use crate::metric::turn::Turn;
use crate::metric::worlds::{ENOUGH_BOOTSTRAPS, is_outside};
use crate::metric::{Family, Reads, Undefined, find};
use crate::table::manifest::{GateTally, WorstGate};
use crate::table::{Cell, Frame, GATES, Record};
use unseen::{UNTESTED, unseen, untested};

/// What decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecideBy {
    /// The interval.
    Interval,
    /// The interval over causal graphs and refits of their coefficients.
    Worlds,
    /// The value alone.
    Estimate,
}

/// The limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// The value must not be above.
    AtMost(f64),
    /// The value must not be below.
    AtLeast(f64),
}

impl Limit {
    fn number(self) -> f64 {
        match self {
            Limit::AtMost(limit) | Limit::AtLeast(limit) => limit,
        }
    }

    fn kept_by(self, value: f64) -> bool {
        match self {
            Limit::AtMost(limit) => value <= limit,
            Limit::AtLeast(limit) => value >= limit,
        }
    }

    /// How far the value is on the wrong side; negative where the limit is kept.
    fn excess(self, value: f64) -> f64 {
        match self {
            Limit::AtMost(limit) => value - limit,
            Limit::AtLeast(limit) => limit - value,
        }
    }
}

/// Which rows of the table of metrics a gate is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All groups together.
    Total,
    /// One group.
    Group(String),
    /// From the first group to the second.
    Direction(String, String),
    /// Every direction; the worst decides.
    AnyDirection,
    /// Harm to a group, against each other group: who of it is denied what others would get, and who of these is favoured.
    HarmTo(String),
    /// The first group against the second: difference first - second, ratio first / second; empty = all others.
    Pair(String, String),
    /// The groups that are furthest apart.
    WorstCase,
}

/// What a gate asks of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// Its value.
    Value,
    /// Its change from the baseline, new minus old.
    Change,
}

/// An earlier run to judge against.
#[derive(Debug, Clone)]
pub struct Baseline<'a> {
    /// The table of changes.
    pub changes: &'a Frame,
    /// The definitions that differ, in words; empty where none does.
    pub differs: String,
}

/// One gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Its name.
    pub name: String,
    /// The metric's id; with [`Scope::HarmTo`] the first of its two.
    pub metric: String,
    /// Experiment and arm; empty for the plain audit.
    pub arm: String,
    /// The model.
    pub model: String,
    /// The counterfactual set; empty where none is involved.
    pub counterfactual: String,
    /// The class that stands against all others; empty for all classes together, and for a label of two sides.
    pub class: String,
    /// The attributes it is asked about; the worst decides.
    pub attributes: Vec<String>,
    /// What the rows to score do not show: they differ from their originals in `to_group` alone. Where no score moves either, nothing was
    /// tested.
    pub unshown: Vec<Unshown>,
    /// Whether its set gives no counterfactual to people without a label, because it conditions on the label.
    pub by_label: bool,
    /// Why it cannot be judged whatever the tables hold; empty where it can.
    pub refused: String,
    /// Which rows.
    pub scope: Scope,
    /// What is asked.
    pub asks: Asks,
    /// The limit. Of a change, [`Limit::AtMost`] bounds its rise, and [`Limit::AtLeast`] of a negated number its fall.
    pub limit: Limit,
    /// What decides.
    pub decide_by: DecideBy,
    /// Bootstraps that an interval over graphs rests on; 0 = its set has no graphs.
    pub bootstraps: u64,
    /// Whether its comparisons are judged together by Holm's method.
    pub holm: bool,
    /// Cases needed below a rate.
    pub enough: u64,
    /// Whether a failure is shown only.
    pub warn_only: bool,
    /// Line in the job file; 0 = not known.
    pub line: u64,
}

/// A change that the rows to score do not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unshown {
    /// The attribute.
    pub attribute: String,
    /// From which group to which; none: whatever the groups are.
    pub direction: Option<[String; 2]>,
}

impl Unshown {
    fn words(&self) -> String {
        match &self.direction {
            None => format!("`{}`", self.attribute),
            Some([from, to]) => format!("`{}` from `{from}` to `{to}`", self.attribute),
        }
    }
}

impl Question {
    /// The number of the limit as the job states it.
    fn stated(&self) -> f64 {
        match (self.asks, self.limit) {
            // Not `-fall`: that would make a zero negative.
            (Asks::Change, Limit::AtLeast(fall)) => 0.0 - fall,
            (_, limit) => limit.number(),
        }
    }
}

/// How a gate, or all of them, came out; ordered from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It was not asked, for want of a baseline.
    Skipped,
    /// The limit is kept.
    Pass,
    /// It cannot be told.
    Inconclusive,
    /// The limit is broken.
    Fail,
}

impl Verdict {
    /// The word in tables and summaries.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Skipped => "skipped",
            Verdict::Pass => "pass",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Fail => "fail",
        }
    }
}

/// All gates judged.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The table `gates`.
    pub table: Frame,
    /// The worst verdict of the gates that count; none where no gate counts.
    pub verdict: Option<Verdict>,
    /// Number of gates by verdict.
    pub tally: GateTally,
    /// The worst gate.
    pub worst: Option<WorstGate>,
}

/// A value with its interval, seen from the gate's side.
#[derive(Debug, Clone, Default)]
struct Seen {
    metric: String,
    sensitive: String,
    from: String,
    to: String,
    value: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
    /// Level of the interval.
    level: Option<f64>,
    /// How it was made.
    interval: String,
    numerator: Option<i64>,
    denominator: Option<i64>,
    scope: String,
    n_rows: i64,
    flags: String,
    undefined: String,
    why_no_interval: String,
    is_change: bool,
    /// Value of the baseline, of a change.
    baseline: Option<f64>,
    /// Why it cannot be judged whatever its value is; empty where it can.
    refused: String,
}

struct Ruling {
    seen: Seen,
    verdict: Verdict,
    reason: String,
}

/// Judges every gate: those on metrics by their table, those against a baseline by the table of changes, those on recourse by what was counted
/// for them. `groups`, the table of groups, tells whom a value that keeps its limit left out.
pub fn judge(
    questions: &[Question],
    (metrics, groups): (&Frame, &Frame),
    baseline: Option<&Baseline<'_>>,
    recourse: &[recourse::Counted],
) -> Judged {
    let mut table = Frame::new(&GATES);
    let mut tally = GateTally::default();
    let mut verdict: Option<Verdict> = None;
    let mut worst: Option<((bool, bool), Verdict, f64, WorstGate)> = None;
    let looked_up = |question: &Question| match (question.asks, baseline) {
        (Asks::Value, _) => seen(question, metrics),
        (Asks::Change, Some(baseline)) => changes(question, baseline),
        (Asks::Change, None) => Vec::new(),
    };
    let of_metrics = questions.iter().map(|question| (question, looked_up(question), ""));
    let of_recourse = recourse.iter().map(|counted| (&counted.question, counted.seen.clone(), counted.about.as_str()));
    for (question, mut seen, about) in of_metrics.chain(of_recourse) {
        seen.iter_mut().for_each(|seen| {
            if let Some(what) = untested(question, seen, metrics) {
                seen.refused = format!("no row that was scored shows {what}: {UNTESTED}");
            }
        });
        if !question.refused.is_empty() {
            seen.iter_mut().for_each(|seen| seen.refused.clone_from(&question.refused));
        }
        let mut rulings: Vec<Ruling> =
            if question.holm { holm::rule(question, seen) } else { seen.into_iter().map(|s| rule(question, s)).collect() };
        if question.asks == Asks::Value && question.scope == Scope::WorstCase && question.decide_by == DecideBy::Interval {
            rulings.iter_mut().for_each(|ruling| by_pairs(question, ruling, metrics));
        }
        for ruling in rulings.iter_mut().filter(|ruling| ruling.verdict == Verdict::Pass) {
            if let Some(unseen) = unseen(question, &ruling.seen, (metrics, groups)) {
                ruling.verdict = Verdict::Inconclusive;
                ruling.reason = format!("{}, but {unseen}", ruling.reason);
            }
        }
        if rulings.is_empty() {
            rulings.push(absent(question, baseline));
        }
        if let Some(own) = audited::judged(question, (metrics, groups), baseline) {
            rulings.iter_mut().for_each(|ruling| {
                ruling.reason = format!("{}; {}", ruling.reason, audited::in_words(question, &ruling.seen, &own));
            });
        }
        if !about.is_empty() {
            rulings.iter_mut().for_each(|ruling| ruling.reason = format!("{about}: {}", ruling.reason));
        }
        // The first of the worst decides; rows come in the order of the table of metrics.
        let mut decider = 0;
        for (i, ruling) in rulings.iter().enumerate().skip(1) {
            if severity(question, ruling, &rulings[decider]) == Ordering::Greater {
                decider = i;
            }
        }
        let decided = rulings[decider].verdict;
        match (question.warn_only, decided) {
            (_, Verdict::Skipped) => tally.skipped += 1,
            (_, Verdict::Pass) => tally.pass += 1,
            (true, _) => tally.warn += 1,
            (false, Verdict::Fail) => tally.fail += 1,
            (false, Verdict::Inconclusive) => tally.inconclusive += 1,
        }
        if !question.warn_only && decided != Verdict::Skipped {
            verdict = Some(verdict.map_or(decided, |v| v.max(decided)));
        }
        let ruling = &rulings[decider];
        let excess = ruling.seen.value.map_or(f64::NEG_INFINITY, |v| question.limit.excess(v));
        // A gate that only warns and does not pass is worse than one that passes.
        let rank = ((decided != Verdict::Pass, !question.warn_only), decided, excess);
        if decided != Verdict::Skipped
            && worst.as_ref().is_none_or(|w| (rank.0, rank.1).cmp(&(w.0, w.1)).then(rank.2.total_cmp(&w.2)).is_gt())
        {
            worst = Some((rank.0, rank.1, rank.2, worst_gate(question, ruling)));
        }
        for (i, ruling) in rulings.iter().enumerate() {
            table.push(row(question, ruling, i == decider));
        }
    }
    table.sort();
    Judged { table, verdict, tally, worst: worst.map(|w| w.3) }
}

fn severity(question: &Question, a: &Ruling, b: &Ruling) -> Ordering {
    let excess = |r: &Ruling| r.seen.value.map_or(f64::NEG_INFINITY, |v| question.limit.excess(v));
    a.verdict.cmp(&b.verdict).then(excess(a).total_cmp(&excess(b)))
}

const NOT_MEASURED: &str = "not measured";

/// The rows of the table of metrics that the question is about, turned to its orientation.
fn seen(question: &Question, metrics: &Frame) -> Vec<Seen> {
    let mut rows: Vec<Record<'_>> = metrics.records().filter(|row| matches(question, row)).collect();
    // A pair that stands in both orders is one comparison, and needs no turning.
    let is_direct =
        |row: &Record<'_>| matches!(&question.scope, Scope::Pair(a, b) if row.text("from_group") == a && row.text("to_group") == b);
    if rows.iter().any(is_direct) {
        rows.retain(is_direct);
    }
    both_parts(question, rows.iter().map(|row| oriented(question, row)).collect())
}

/// Of a gate on harm also the part that no row tells, where one of the two of a group is missing: it cannot be judged, so neither can the gate.
fn both_parts(question: &Question, mut seen: Vec<Seen>) -> Vec<Seen> {
    let Scope::HarmTo(group) = &question.scope else { return seen };
    let is_part = |seen: &Seen, (metric, from, to): (&str, &str, &str)| {
        (seen.metric.as_str(), seen.from.as_str(), seen.to.as_str()) == (metric, from, to)
    };
    let others: BTreeSet<(String, String)> =
        seen.iter().map(|s| (s.sensitive.clone(), if s.from == *group { s.to.clone() } else { s.from.clone() })).collect();
    for (sensitive, other) in others {
        for (metric, from, to) in [(HARM[0], group, &other), (HARM[1], &other, group)] {
            if !seen.iter().any(|s| s.sensitive == sensitive && is_part(s, (metric, from, to))) {
                let missing =
                    Seen { metric: metric.to_owned(), sensitive: sensitive.clone(), from: from.clone(), to: to.clone(), ..Seen::default() };
                seen.push(Seen { scope: "direction".to_owned(), undefined: NOT_MEASURED.to_owned(), ..missing });
            }
        }
    }
    seen
}

/// The rows of the table of changes that the question is about, turned to its orientation.
fn changes(question: &Question, baseline: &Baseline<'_>) -> Vec<Seen> {
    let rows = baseline.changes.records().filter(|row| matches(question, row));
    let seen = rows.map(|row| {
        let refused = match row.text("status") {
            "only_new" => "the baseline has no such value".to_owned(),
            "only_old" => "the run has no such value, the baseline has one".to_owned(),
            // The words of a change that is not judged say why, and what helps.
            "refitted" => row.text("ci_method").trim_start_matches("none: ").to_owned(),
            "not_comparable" => format!("not comparable with the baseline: another {}", baseline.differs),
            _ => String::new(),
        };
        let fewer = |of: &str| row.int(&format!("old_{of}")).zip(row.int(&format!("new_{of}"))).map(|(old, new)| old.min(new));
        let change = Seen {
            metric: row.text("metric").to_owned(),
            sensitive: row.text("sensitive").to_owned(),
            from: row.text("from_group").to_owned(),
            to: row.text("to_group").to_owned(),
            value: row.real("difference"),
            lo: row.real("lo"),
            hi: row.real("hi"),
            level: row.real("level"),
            interval: row.text("interval").to_owned(),
            denominator: fewer("denominator"),
            scope: row.text("scope").to_owned(),
            n_rows: fewer("rows").unwrap_or(0),
            flags: row.text("flags").to_owned(),
            undefined: row.text("undefined").to_owned(),
            why_no_interval: row.text("ci_method").to_owned(),
            is_change: true,
            baseline: row.real("old_value"),
            refused,
            ..Seen::default()
        };
        turned(question, &row, change)
    });
    both_parts(question, seen.collect())
}

fn matches(question: &Question, row: &Record<'_>) -> bool {
    let same = row.text("model") == question.model
        && row.text("counterfactual") == question.counterfactual
        && row.text("class") == question.class
        && row.text("arm") == question.arm
        && row.text("slice").is_empty()
        && question.attributes.iter().any(|a| a == row.text("sensitive"));
    let (scope, from, to) = (row.text("scope"), row.text("from_group"), row.text("to_group"));
    let metric = row.text("metric");
    let is_metric = match &question.scope {
        Scope::HarmTo(group) => [(HARM[0], from), (HARM[1], to)].contains(&(metric, group.as_str())),
        _ => metric == question.metric,
    };
    same && is_metric
        && match &question.scope {
            Scope::Total => scope == "total",
            Scope::Group(group) => scope == "group" && from == group,
            Scope::Direction(a, b) => scope == "direction" && from == a && to == b,
            Scope::AnyDirection | Scope::HarmTo(_) => scope == "direction",
            Scope::Pair(a, b) => {
                let compared = matches!(scope, "pair" | "difference" | "one_vs_rest");
                // Facets do not change places: other neighbours vote, other strata have no share.
                let may_turn = row.text("family") != Family::Clarify.as_str();
                compared && ((from == a && to == b) || (may_turn && from == b && to == a))
            }
            Scope::WorstCase => scope == "worst_case",
        }
}

fn oriented(question: &Question, row: &Record<'_>) -> Seen {
    let worlds = question.decide_by == DecideBy::Worlds;
    let (lo, hi, level) = if worlds { ("world_lo", "world_hi", "world_level") } else { ("lo", "hi", "level") };
    let seen = Seen {
        metric: row.text("metric").to_owned(),
        sensitive: row.text("sensitive").to_owned(),
        from: row.text("from_group").to_owned(),
        to: row.text("to_group").to_owned(),
        value: row.real("value"),
        lo: row.real(lo),
        hi: row.real(hi),
        level: row.real(level),
        interval: row.text("interval").to_owned(),
        numerator: row.int("numerator"),
        denominator: row.int("denominator"),
        scope: row.text("scope").to_owned(),
        n_rows: row.int("n_rows").unwrap_or(0),
        flags: row.text("flags").to_owned(),
        undefined: row.text("undefined").to_owned(),
        why_no_interval: if worlds { "fewer than two graphs give a value".to_owned() } else { row.text("ci_method").to_owned() },
        ..Seen::default()
    };
    turned(question, row, seen)
}

/// The same with the groups in the order of the question.
fn turned(question: &Question, row: &Record<'_>, mut seen: Seen) -> Seen {
    let Scope::Pair(first, second) = &question.scope else { return seen };
    let scope_difference = row.text("scope") == "difference";
    // The difference between two directions changes its sign whatever the metric is.
    let (turn, second_over_first) = match find(question.metric.as_str()) {
        Some(metric) if !scope_difference => (Turn::of(metric), Turn::second_over_first(metric)),
        _ => (Turn::Negated, false),
    };
    let listed_first = if second_over_first { row.text("to_group") } else { row.text("from_group") };
    if listed_first != first {
        if seen.is_change && turn == Turn::Reciprocal && seen.refused.is_empty() {
            // The change of a reciprocal does not follow from the change of a ratio.
            let name = |group: &str| if group.is_empty() { "rest".to_owned() } else { group.to_owned() };
            let (first, second) = (name(first), name(second));
            seen.refused = format!("the change of a ratio is judged as it is measured: write `between` with {second} before {first}");
            (seen.value, seen.lo, seen.hi) = (None, None, None);
        }
        let value = seen.value;
        seen.value = value.and_then(|v| turn.apply(v));
        seen.baseline = seen.baseline.and_then(|v| turn.apply(v));
        if value.is_some() && seen.value.is_none() {
            "zero_reference_rate".clone_into(&mut seen.undefined);
        }
        let (lo, hi) = (seen.lo.and_then(|v| turn.apply(v)), seen.hi.and_then(|v| turn.apply(v)));
        (seen.lo, seen.hi) = if turn == Turn::Same { (lo, hi) } else { (hi, lo) };
    }
    seen.from.clone_from(first);
    seen.to.clone_from(second);
    seen
}

/// Why a value cannot be judged.
fn obstacle(question: &Question, seen: &Seen) -> Option<String> {
    if !seen.refused.is_empty() {
        return Some(seen.refused.clone());
    }
    if seen.value.is_none() && seen.is_change {
        return Some(format!("the change is undefined: {}", seen.undefined));
    }
    if seen.value.is_none() {
        let reason = Undefined::ALL.iter().find(|reason| reason.code() == seen.undefined);
        let meaning = reason.map_or_else(String::new, |reason| format!(": {}", reason.meaning().trim_end_matches('.')));
        return Some(format!("the value is undefined: {}{meaning}", seen.undefined));
    }
    if seen.flags.split(',').any(|flag| flag == SELECTIVE_LABELS) {
        return Some(format!("{SELECTIVE_LABELS}: labels are missing for some people more often than for others"));
    }
    if let Some(cases) = seen.denominator
        && u64::try_from(cases).unwrap_or(0) < question.enough
    {
        return Some(format!("{cases} cases, {} are asked for", question.enough));
    }
    // A gap or a distance has no denominator of its own: its people must be enough, and no group or rate behind it may be small.
    if seen.denominator.is_none() && u64::try_from(seen.n_rows).unwrap_or(0) < question.enough {
        return Some(format!("{} people, {} are asked for", seen.n_rows, question.enough));
    }
    if let Some(small) = small(seen) {
        return Some(format!("too few to tell: {small}"));
    }
    (question.decide_by != DecideBy::Estimate && (seen.lo.is_none() || seen.hi.is_none()))
        .then(|| format!("there is no interval: {}", seen.why_no_interval))
}

/// What is small below a value without a denominator of its own, as the table flags it.
fn small(seen: &Seen) -> Option<String> {
    let flags: Vec<&str> = seen.flags.split(',').filter(|flag| flag.starts_with("small_")).collect();
    (seen.denominator.is_none() && !flags.is_empty()).then(|| flags.join(","))
}

fn rule(question: &Question, seen: Seen) -> Ruling {
    let limit = question.limit;
    if let Some(reason) = obstacle(question, &seen) {
        return Ruling { seen, verdict: Verdict::Inconclusive, reason };
    }
    match (question.decide_by, seen.value, seen.lo.zip(seen.hi)) {
        (DecideBy::Estimate, Some(value), _) => {
            let kept = limit.kept_by(value);
            let what = if seen.is_change { "change" } else { "value" };
            let reason = format!("the {what} {} the limit", if kept { "keeps" } else { "breaks" });
            Ruling { seen, verdict: if kept { Verdict::Pass } else { Verdict::Fail }, reason }
        }
        (_, _, Some((lo, hi))) => {
            let (interval, caution) = match question.decide_by {
                DecideBy::Worlds => over_graphs(question, &seen),
                _ => ("interval".to_owned(), String::new()),
            };
            let (verdict, reason) = match (limit.kept_by(lo), limit.kept_by(hi)) {
                (true, true) => (Verdict::Pass, format!("the whole {interval} keeps the limit{caution}")),
                (false, false) => (Verdict::Fail, format!("the whole {interval} breaks the limit{caution}")),
                _ => (Verdict::Inconclusive, format!("the limit lies inside the {interval}{caution}")),
            };
            Ruling { seen, verdict, reason }
        }
        // `obstacle` has said so.
        (_, _, None) => Ruling { seen, verdict: Verdict::Inconclusive, reason: "there is no interval".to_owned() },
    }
}

/// The interval over graphs and refits with its level, and what a reader must know of it: that it rests on few bootstraps, and that the
/// value lies outside of it.
fn over_graphs(question: &Question, seen: &Seen) -> (String, String) {
    let level = seen.level.map_or_else(String::new, |level| format!("{} % ", (level * 1e8).round() / 1e6));
    let mut caution = String::new();
    if (1..ENOUGH_BOOTSTRAPS as u64).contains(&question.bootstraps) {
        let n = question.bootstraps;
        let bootstraps = if n == 1 { "bootstrap" } else { "bootstraps" };
        caution = format!("; it rests on {n} {bootstraps}, fewer than {ENOUGH_BOOTSTRAPS}, so another seed may move its ends far");
    }
    let (value, lo, hi) = (seen.value.unwrap_or(0.0), seen.lo.unwrap_or(0.0), seen.hi.unwrap_or(0.0));
    if is_outside(value, (lo, hi)) {
        caution.push_str("; the mean over graphs lies outside of it, because a few graphs differ much from the others");
    }
    (format!("{level}interval over graphs and refits"), caution)
}

/// The gap of the furthest of several groups is wide by chance, and so is its interval: it breaks a limit for sure only where some pair of
/// groups does, judged among all pairs by Holm's method. Where it does, that a small group lies further still is no excuse, unless Holm's
/// method has more than these pairs to judge. That the gap keeps the limit is safe to say.
fn by_pairs(question: &Question, ruling: &mut Ruling, metrics: &Frame) {
    let too_few =
        ruling.verdict == Verdict::Inconclusive && ruling.seen.refused.is_empty() && small(&ruling.seen).is_some() && !question.holm;
    let Some(metric) = find(&question.metric).filter(|_| ruling.verdict == Verdict::Fail || too_few) else { return };
    if matches!(metric.reads, Reads::RateToTotal(_) | Reads::ScoreToTotal(_)) {
        of_all(ruling, metrics);
        return;
    }
    let asked = |a: &str, b: &str| Question {
        attributes: vec![ruling.seen.sensitive.clone()],
        scope: Scope::Pair(a.to_owned(), b.to_owned()),
        ..question.clone()
    };
    let is_pair = |row: &Record<'_>| {
        let (a, b) = (row.text("from_group"), row.text("to_group"));
        row.text("scope") == "pair" && matches(&asked(a, b), row) && metric.family.as_str() == row.text("family")
    };
    // As the worst case is told: a difference is not below 0, a ratio not above 1.
    let as_worst = |row: Record<'_>| {
        let (a, b) = (row.text("from_group"), row.text("to_group"));
        let one = oriented(&asked(a, b), &row);
        let is_told_so = match Turn::of(metric) {
            Turn::Negated => one.value.is_none_or(|value| value >= 0.0),
            Turn::Reciprocal => one.value.is_none_or(|value| value <= 1.0),
            Turn::Same => true,
        };
        if is_told_so { one } else { oriented(&asked(b, a), &row) }
    };
    let pairs: Vec<Seen> = metrics.records().filter(is_pair).map(as_worst).collect();
    let broken = holm::rule(question, pairs).into_iter().filter(|pair| pair.verdict == Verdict::Fail);
    // Of equals the first.
    let clear = broken.reduce(|a, b| if severity(question, &b, &a) == Ordering::Greater { b } else { a });
    match clear {
        Some(pair) if too_few => {
            ruling.verdict = Verdict::Fail;
            ruling.reason = format!(
                "the furthest group is too small to tell, but the interval of {} and {} breaks the limit: {}",
                pair.seen.from, pair.seen.to, pair.reason
            );
        }
        None if too_few => {}
        Some(pair) => ruling.reason = format!("{}; so it does of {} and {}: {}", ruling.reason, pair.seen.from, pair.seen.to, pair.reason),
        None => {
            ruling.verdict = Verdict::Inconclusive;
            "the whole interval breaks the limit, but that of no pair of groups does among all pairs (Holm): of several groups some are far apart \
             by chance"
                .clone_into(&mut ruling.reason);
        }
    }
}

/// A distance to all has no pairs that could bear it out: of more than two groups the furthest is far by chance too, of two it is not chosen.
fn of_all(ruling: &mut Ruling, metrics: &Frame) {
    let of_group = |row: &Record<'_>| row.text("scope") == "group" && row.text("sensitive") == ruling.seen.sensitive;
    let groups: BTreeSet<&str> = metrics.records().filter(of_group).map(|row| row.text("from_group")).collect();
    if ruling.verdict == Verdict::Fail && groups.len() > 2 {
        ruling.verdict = Verdict::Inconclusive;
        "the whole interval breaks the limit, but the furthest of several groups is far by chance too, and a distance to all has no pairs to \
         bear it out: ask a group against all others by `between`"
            .clone_into(&mut ruling.reason);
    }
}

fn absent(question: &Question, baseline: Option<&Baseline<'_>>) -> Ruling {
    let (from, to) = match &question.scope {
        Scope::Group(group) | Scope::HarmTo(group) => (group.clone(), String::new()),
        Scope::Direction(a, b) | Scope::Pair(a, b) => (a.clone(), b.clone()),
        Scope::Total | Scope::AnyDirection | Scope::WorstCase => (String::new(), String::new()),
    };
    let seen = Seen {
        metric: question.metric.clone(),
        sensitive: question.attributes.first().cloned().unwrap_or_default(),
        from,
        to,
        undefined: NOT_MEASURED.to_owned(),
        is_change: question.asks == Asks::Change,
        ..Seen::default()
    };
    let of_any = find(&question.metric).is_some_and(|metric| matches!(metric.reads, Reads::AnySwitch(_)));
    let (verdict, reason) = match (question.asks, baseline) {
        (Asks::Value, _) if of_any => {
            (Verdict::Inconclusive, "it asks whether a move to any other group switches a prediction, which needs three groups or more")
        }
        (Asks::Value, _) => (Verdict::Inconclusive, "the table of metrics has no such row"),
        (Asks::Change, Some(_)) => (Verdict::Inconclusive, "neither this run nor the baseline has such a row"),
        (Asks::Change, None) => (Verdict::Skipped, "no baseline was given"),
    };
    Ruling { seen, verdict, reason: reason.to_owned() }
}

fn worst_gate(question: &Question, ruling: &Ruling) -> WorstGate {
    WorstGate {
        gate: question.name.clone(),
        metric: ruling.seen.metric.clone(),
        value: ruling.seen.value,
        lo: ruling.seen.lo,
        hi: ruling.seen.hi,
        n: ruling.seen.denominator,
        limit: question.stated(),
        verdict: ruling.verdict.word().to_owned(),
    }
}

fn row(question: &Question, ruling: &Ruling, decides: bool) -> Vec<Cell> {
    let seen = &ruling.seen;
    let rule = match (question.asks, question.limit) {
        (Asks::Value, Limit::AtMost(_)) => "at_most",
        (Asks::Value, Limit::AtLeast(_)) => "at_least",
        (Asks::Change, Limit::AtMost(_)) => "rise_at_most",
        (Asks::Change, Limit::AtLeast(_)) => "fall_at_most",
    };
    let by = match question.decide_by {
        DecideBy::Interval if question.holm => "interval, holm",
        DecideBy::Interval => "interval",
        DecideBy::Worlds => "worlds",
        DecideBy::Estimate => "estimate",
    };
    vec![
        question.name.as_str().into(),
        seen.sensitive.as_str().into(),
        seen.from.as_str().into(),
        seen.to.as_str().into(),
        seen.scope.as_str().into(),
        ruling.verdict.word().into(),
        (if question.warn_only { "warn" } else { "fail" }).into(),
        seen.metric.as_str().into(),
        question.arm.as_str().into(),
        question.model.as_str().into(),
        question.counterfactual.as_str().into(),
        question.class.as_str().into(),
        seen.value.into(),
        seen.lo.into(),
        seen.hi.into(),
        question.stated().into(),
        format!("{rule}, {by}").into(),
        seen.numerator.into(),
        seen.denominator.into(),
        question.enough.into(),
        seen.baseline.into(),
        ruling.reason.as_str().into(),
        question.line.into(),
        Cell::Int(i64::from(decides)),
    ]
}

#[cfg(test)]
mod tests;
