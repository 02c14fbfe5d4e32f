//! A gate as a question to tables, what it observes there, and its answer.

use std::path::Path;

use crate::error::Result;
use crate::folder::manifest::{GateTally, RoundedSwitches, WorstGate};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::reason::{
    GateCount, GateFindings, GateReason, GateStatus, IntervalLack, UncertaintySource, UnshownChange,
};
use crate::metric::MetricFamily;
use crate::metric::catalog::find;
use crate::metric::interval::z_of_level;
use crate::metric::value::settings::FavourableClass;
use crate::param::{Level, key_word};
use crate::table::file::read_rows;
use crate::table::{
    ArmRow, AuditKey, CfQualityRow, ChangeRow, CountRow, GateRow, GroupRow, HiddenCauseRow,
    IssueRow, KnowledgeFitRow, MetricRow, MetricTable, PopulationRow, SupportRow, UnknownLevelRow,
};

/// The limit; 0 at most where none is stated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum GateLimit {
    /// The value must not be above.
    AtMost(f64),
    /// The value must not be below.
    AtLeast(f64),
}

impl Default for GateLimit {
    fn default() -> Self {
        GateLimit::AtMost(0.0)
    }
}

impl GateLimit {
    /// The limit itself.
    pub(crate) fn number(self) -> f64 {
        match self {
            GateLimit::AtMost(limit) | GateLimit::AtLeast(limit) => limit,
        }
    }

    /// Whether a value keeps it; one at the limit does.
    pub(crate) fn kept_by(self, value: f64) -> bool {
        self.excess(value) <= 0.0
    }

    /// The end of a range that breaks it first.
    pub(crate) fn facing(self, (lo, hi): (f64, f64)) -> f64 {
        match self {
            GateLimit::AtMost(_) => hi,
            GateLimit::AtLeast(_) => lo,
        }
    }

    /// The one of two values that breaks it first.
    pub(crate) fn worse(self, a: f64, b: f64) -> f64 {
        self.facing((a.min(b), a.max(b)))
    }

    /// Whether part of a range breaks it.
    pub(crate) fn is_broken_within(self, ends: (f64, f64)) -> bool {
        !self.kept_by(self.facing(ends))
    }

    /// How far the value is on the wrong side; not above 0 where the limit is kept.
    pub(crate) fn excess(self, value: f64) -> f64 {
        match self {
            GateLimit::AtMost(limit) => value - limit,
            GateLimit::AtLeast(limit) => limit - value,
        }
    }
}

/// Which rows of the table of metrics a gate is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum GateSubject {
    /// All groups together.
    #[default]
    Total,
    /// One group.
    Group(String),
    /// From the first group to the second.
    Direction(String, String),
    /// Every direction; the worst decides.
    AnyDirection,
    /// Harm to a group, against each other group: who of it is denied what others would get, and
    /// who of these is favoured.
    HarmTo(String),
    /// The first group against the second: difference first - second, ratio first / second; empty =
    /// all others.
    Pair(String, String),
    /// The groups that are furthest apart.
    WorstCase,
}

/// What a gate asks of a metric.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum GateQuantity {
    /// Its value.
    #[default]
    Value,
    /// Its change from the baseline, new minus old.
    Change,
}

/// The tables of a run that gates are judged by: those that its folder holds, so that a finished
/// folder is judged as the run was.
#[derive(Debug, Clone, Default)]
pub(crate) struct GateTables {
    /// Every value, of all people.
    pub metrics: Vec<MetricRow>,
    /// The values of only the supported people.
    pub supported: Vec<MetricRow>,
    /// The people of each group.
    pub groups: Vec<GroupRow>,
    /// Everybody: who lacks what.
    pub population: Vec<PopulationRow>,
    /// The counts of people: the rates behind a gap, from which follow the number of people who
    /// would decide about it, and what those who were not measured could change.
    pub counts: Vec<CountRow>,
    /// What arms of experiments added to their training rows.
    pub arms: Vec<ArmRow>,
    /// The issues, some of which leave gates on a model undecided, see [`crate::gate::objection`].
    pub issues: Vec<IssueRow>,
    /// Audited people with values that models do not know.
    pub unknown: Vec<UnknownLevelRow>,
    /// What hidden causes could do.
    pub hidden: Vec<HiddenCauseRow>,
    /// How good the counterfactuals of sets are.
    pub quality: Vec<CfQualityRow>,
    /// How well the statements of scenarios fit the rows.
    pub knowledge_fit: Vec<KnowledgeFitRow>,
    /// Values of counterfactuals that the reference rows hardly hold.
    pub support: Vec<SupportRow>,
}

impl GateTables {
    /// Those in the folders of the plain audit and of all people, which a finished folder has in
    /// one; the values only where somebody `reads_values`.
    ///
    /// # Errors
    /// A table cannot be read.
    pub(crate) fn read([plain, all]: [&Path; 2], reads_values: bool) -> Result<Self> {
        let values = reads_values.then(|| MetricTable::read(all)).transpose()?;
        let MetricTable { all: metrics, supported } = values.unwrap_or_default();
        Ok(GateTables {
            metrics,
            supported,
            groups: read_rows(plain)?,
            population: read_rows(plain)?,
            counts: read_rows(all)?,
            arms: read_rows(all)?,
            issues: read_rows(plain)?,
            unknown: read_rows(plain)?,
            hidden: read_rows(plain)?,
            quality: read_rows(plain)?,
            knowledge_fit: read_rows(plain)?,
            support: read_rows(plain)?,
        })
    }
}

/// An earlier run to compare with.
#[derive(Debug, Clone)]
pub(crate) struct GateBaseline<'a> {
    /// The table of changes.
    pub changes: &'a [ChangeRow],
    /// Its switches that may be nothing but rounding.
    pub rounded: &'a [RoundedSwitches],
    /// The definitions that differ, in words; empty where none does.
    pub differing_definitions: String,
}

/// One gate.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GateQuestion {
    /// Its name.
    pub name: String,
    /// The metric's id; with [`GateSubject::HarmTo`] the first of its two.
    pub metric: String,
    /// Experiment and arm; empty for the plain audit.
    pub arm: String,
    /// The model.
    pub model: String,
    /// The counterfactual set; empty where none is involved.
    pub counterfactual: String,
    /// The class that is compared with all others; empty for all classes together, and for a label
    /// of two sides.
    pub class: String,
    /// The attributes it is asked about; the worst decides.
    pub attributes: Vec<String>,
    /// Changes that the rows to score do not show: these differ from their originals only in
    /// `to_group`. If no score moves either, nothing was tested.
    pub unshown: Vec<UnshownChange>,
    /// Which prediction people want; none where the job does not say it, and of a model whose
    /// outcomes are amounts.
    pub favourable: Option<FavourableClass>,
    /// Why it cannot be judged regardless of the tables; empty where it can.
    pub objections: Vec<GateReason>,
    /// The codes of the objections to its model and its set that the job accepts.
    pub accepts: Vec<String>,
    /// Which rows.
    pub scope: GateSubject,
    /// What is asked.
    pub quantity: GateQuantity,
    /// The limit. For a change, [`GateLimit::AtMost`] bounds its rise, and [`GateLimit::AtLeast`]
    /// with a negated number its fall.
    pub limit: GateLimit,
    /// What decides.
    pub decide_by: GateDecideBy,
    /// Whether no pass holds that another measured range contradicts: the job does not say what
    /// decides.
    pub asks_all_doubts: bool,
    /// Bootstraps that its graphs depend on, 0 where these are of the training rows as they are;
    /// none where its set has no graphs.
    pub bootstraps: Option<u64>,
    /// Whether its comparisons are judged together by Holm's method.
    pub holm: bool,
    /// The strength of a hidden cause that a pass must withstand.
    pub withstands: Option<f64>,
    /// Cases needed below a rate.
    pub min_cases: u64,
    /// Whether a failure is only shown.
    pub warn_only: bool,
    /// Line in the job file; 0 = not known.
    pub line: u64,
    /// What it counts; none of a gate on a metric.
    pub counted: Option<GateCount>,
    /// What was counted for it: of recourse one value per pair of groups.
    pub observations: Vec<GateObservation>,
}

impl GateQuestion {
    /// The attribute that it is asked about, of several the first.
    pub(crate) fn first_attribute(&self) -> &str {
        self.attributes.first().map_or("", String::as_str)
    }

    /// Whether a row of `metrics` or `changes` belongs to the arm, model, set and class of the
    /// question, and to all people together.
    pub(crate) fn is_about(&self, audit: &AuditKey, class: &str) -> bool {
        audit.arm == self.arm
            && audit.model == self.model
            && audit.counterfactual == self.counterfactual
            && audit.slice.is_empty()
            && class == self.class
    }

    /// Whether it is about causal graphs themselves, not about people.
    pub(super) fn is_of_graphs(&self) -> bool {
        find(&self.metric).is_some_and(|metric| metric.family == MetricFamily::Graph)
    }

    /// Whether the job lets it decide in spite of an objection.
    pub(super) fn accepts(&self, objection: &GateReason) -> bool {
        self.accepts.contains(&objection.code())
    }

    /// What the column `rule` says: what the limit bounds, and what decides.
    pub(super) fn rule(&self) -> (&'static str, String) {
        let bounds = match (self.quantity, self.limit) {
            (GateQuantity::Value, GateLimit::AtMost(_)) => "at_most",
            (GateQuantity::Value, GateLimit::AtLeast(_)) => "at_least",
            (GateQuantity::Change, GateLimit::AtMost(_)) => "rise_at_most",
            (GateQuantity::Change, GateLimit::AtLeast(_)) => "fall_at_most",
        };
        let is_joint = self.holm && self.decide_by == GateDecideBy::Interval;
        let family = if is_joint { ", holm" } else { "" };
        (bounds, format!("{}{family}", key_word(&self.decide_by)))
    }

    /// The number of the limit as the job states it.
    pub(crate) fn stated_limit(&self) -> f64 {
        match (self.quantity, self.limit) {
            // Not `-fall`: that would make a zero negative.
            (GateQuantity::Change, GateLimit::AtLeast(fall)) => 0.0 - fall,
            (_, limit) => limit.number(),
        }
    }
}

/// All gates judged.
#[derive(Debug, Clone)]
pub(crate) struct GateResults {
    /// The table `gates`.
    pub table: Vec<GateRow>,
    /// Number of gates by verdict.
    pub tally: GateTally,
    /// The worst gate.
    pub worst: Option<WorstGate>,
}

impl GateResults {
    /// The verdict over these rows of `gates`, of which one decides each gate; the first of equal
    /// ones is the worst.
    pub(super) fn of(table: Vec<GateRow>) -> Self {
        let deciding = || table.iter().filter(|row| row.decides == 1);
        let n = |word: &str| deciding().filter(|row| row.counts_as() == word).count() as u32;
        let tally = GateTally {
            pass: n("pass"),
            fail: n("fail"),
            inconclusive: n("inconclusive"),
            warn: n("warn"),
            skipped: n("skipped"),
        };
        // One that only warns and does not pass is worse than one that passes.
        let rank = |row: &GateRow| {
            let status = row.verdict.parse().unwrap_or(GateStatus::Inconclusive);
            (status != GateStatus::Pass, row.level != "warn", status)
        };
        let asked = deciding().filter(|row| row.counts_as() != "skipped");
        let worst = asked.reduce(|a, b| {
            let order = rank(b).cmp(&rank(a)).then(b.excess().total_cmp(&a.excess()));
            if order.is_gt() { b } else { a }
        });
        let worst = worst.map(|row| WorstGate {
            gate: row.gate.to_string(),
            metric: row.metric.to_string(),
            value: row.value,
            lo: row.lo,
            hi: row.hi,
            n: row.denominator,
            limit: row.limit,
            verdict: row.verdict.to_string(),
        });
        GateResults { tally, worst, table }
    }

    /// The worst verdict of the gates that count, else a pass of those that only warn; none where
    /// there is neither.
    pub(crate) fn verdict(&self) -> Option<GateStatus> {
        use GateStatus::{Fail, Inconclusive, Pass};
        let GateTally { pass, fail, inconclusive, .. } = self.tally;
        let all = [(fail, Fail), (inconclusive, Inconclusive), (pass, Pass)];
        all.into_iter().find(|(n, _)| *n > 0).map(|(_, verdict)| verdict)
    }
}

/// A value with its interval, seen from the gate's side.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GateObservation {
    /// The row of the table of metrics, or a change in the form of one: with the groups of a
    /// difference in the order of the question, and the ends that decide.
    pub(crate) row: MetricRow,
    /// For recourse, the subgroups that are unfair to either group.
    pub(crate) unfair: Option<[i64; 2]>,
    /// What the interval is over.
    pub(crate) over: Vec<UncertaintySource>,
    /// Why there is none, where it has no ends.
    pub(crate) lack: IntervalLack,
    pub(crate) is_change: bool,
    /// Value of the baseline, of a change.
    pub(crate) baseline: Option<f64>,
    /// What that value could have been; none where this is not known.
    pub(crate) old: Option<PossibleValues>,
    /// Why it cannot be judged regardless of its value; empty where it can.
    pub(crate) objections: Vec<GateReason>,
}

/// What the value of a run could be if everybody had been measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct PossibleValues {
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// Those who were not measured and could change it.
    pub(crate) people: u64,
}

impl GateObservation {
    /// What is known of a value only from its metric, attribute, scope and groups.
    pub(super) fn about(metric: &str, sensitive: &str, place: [&str; 3]) -> Self {
        let [scope, from_group, to_group] = place.map(Into::into);
        let sensitive = sensitive.into();
        let key = AuditKey { sensitive, scope, from_group, to_group, ..AuditKey::default() };
        MetricRow { key, metric: metric.into(), ..MetricRow::default() }.into()
    }

    /// As [`Self::about`], for a value that is in no table.
    pub(super) fn unmeasured(metric: &str, sensitive: &str, place: [&str; 3]) -> Self {
        let row = GateObservation::about(metric, sensitive, place).row;
        MetricRow { undefined: "not_measured".into(), ..row }.into()
    }

    /// The level of its interval, or the usual one.
    pub(super) fn level(&self) -> f64 {
        self.row.level.unwrap_or(Level::DEFAULT.get())
    }

    /// Standard deviations on either side of its interval.
    pub(super) fn z(&self) -> f64 {
        z_of_level(self.level())
    }

    /// The ends that decide.
    pub(super) fn ends(&self) -> Option<(f64, f64)> {
        self.row.lo.zip(self.row.hi)
    }

    /// What it is about: metric, attribute, scope and groups.
    pub(super) fn key(&self) -> [&str; 5] {
        let [scope, from, to] = self.place();
        [&self.row.metric, &self.row.key.sensitive, scope, from, to]
    }

    /// Its scope and groups.
    pub(crate) fn place(&self) -> [&str; 3] {
        self.row.key.scope_and_groups()
    }

    /// The places of the rates behind it: of a gap of two groups or directions those of both.
    pub(super) fn sides(&self) -> Vec<[&str; 3]> {
        let [scope, from, to] = self.place();
        match scope {
            "group" | "direction" | "total" => vec![[scope, from, to]],
            "difference" => vec![["direction", from, to], ["direction", to, from]],
            _ => vec![["group", from, ""], ["group", to, ""]],
        }
    }
}

impl From<MetricRow> for GateObservation {
    fn from(row: MetricRow) -> Self {
        GateObservation { row, ..GateObservation::default() }
    }
}

/// What a question observes, and the tables that judge it.
#[derive(Clone, Copy)]
pub(super) struct GateCase<'a> {
    pub(super) question: &'a GateQuestion,
    pub(super) observed: &'a GateObservation,
    pub(super) tables: &'a GateTables,
}

impl<'a> GateCase<'a> {
    /// What is judged: the value, or the end of its interval that breaks the limit first.
    pub(super) fn end(self) -> Option<f64> {
        let by_ends = self.question.decide_by != GateDecideBy::Estimate;
        let ends = self.observed.ends().filter(|_| by_ends);
        ends.map(|ends| self.question.limit.facing(ends)).or(self.observed.row.value)
    }

    /// The rows of the table of metrics about the same people, model, set and attribute.
    pub(super) fn rows(self) -> impl Iterator<Item = &'a MetricRow> {
        self.among(&self.tables.metrics)
    }

    /// The same of some rows.
    pub(super) fn among(self, rows: &'a [MetricRow]) -> impl Iterator<Item = &'a MetricRow> {
        rows.iter().filter(move |row| {
            self.question.is_about(&row.key, &row.class)
                && row.key.sensitive == self.observed.row.key.sensitive
        })
    }

    /// The rows of the table of groups about the same people, model and attribute: of each group,
    /// and without a name of all.
    pub(super) fn groups(self) -> impl Iterator<Item = &'a GroupRow> + Clone {
        self.tables.groups.iter().filter(move |row| {
            row.model == self.question.model
                && row.sensitive == self.observed.row.key.sensitive
                && row.slice.is_empty()
        })
    }

    /// The row of a metric at a place: its scope and groups.
    pub(super) fn row(self, metric: &str, place: [&str; 3]) -> Option<&'a MetricRow> {
        self.rows().find(|row| row.metric == *metric && row.key.scope_and_groups() == place)
    }
}

/// What was observed, with what was found.
pub(crate) struct GateRuling {
    pub(crate) observation: GateObservation,
    pub(crate) findings: GateFindings,
}

impl GateRuling {
    /// The finding of the rule.
    pub(crate) fn new(observation: GateObservation, reason: GateReason) -> Self {
        GateRuling { observation, findings: GateFindings::new(reason) }
    }

    /// The verdict.
    pub(crate) fn verdict(&self) -> GateStatus {
        self.findings.status()
    }

    /// Whether the rule decided, and nothing was objected.
    pub(crate) fn is_decided(&self) -> bool {
        matches!(self.verdict(), GateStatus::Pass | GateStatus::Fail)
    }

    /// Withdraws the verdict: the gate cannot be decided.
    pub(crate) fn object(&mut self, objection: GateReason) {
        self.findings.object(objection);
    }
}
