//! The limits of the brief: each gate as a question, with one verdict and a bullet chart for each
//! of its parts. Facts only; the sentences are in `limit.html` and `limits.html`.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::gate::reason::{GateCount, GateFindings, GateRemark};
use crate::metric::GapTransform;
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::find;
use crate::report::brief::harm::{HarmResult, side_of};
use crate::report::brief::limit_notes::{need, no_threshold};
use crate::report::brief::limit_part::{LimitBound, LimitPart};
use crate::report::brief::voice::{AuditVoice, CalledGroup, CalledModel, CalledRate};
use crate::report::draw::plot::{AxisUnit, ForbiddenSide, PlotPoint, PlotScale};
use crate::report::page::PageSection;
use crate::report::page::number::{NumberFormat, ends_text, value_text};
use crate::report::page::terms;
use crate::report::read::audit::AuditFolder;
use crate::report::read::judged::JudgedValue;
use crate::report::read::panel::KeyedRow;
use crate::table::GateRow;
use crate::table::deciding_range::DecidingRange;
use crate::table::people_needed::deciding_need;
use crate::table::recourse::UNFAIR_SUBGROUPS;
use crate::table::why::CONFIRMED_PATTERNS;
use crate::text::fact;

/// Rows of values that the first printed page has room for; further limits that are kept become one
/// line.
const PARTS_AT_MOST: usize = 14;

/// A gate.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct AuditLimit {
    /// Its name.
    pub(crate) name: String,
    /// `pass`, `fail`, `inconclusive`, `skipped`.
    pub(crate) verdict: String,
    /// Whether it only warns.
    pub(crate) warns: bool,
    /// Experiment and arm; empty for the plain audit.
    #[serde(skip)]
    pub(crate) arm: String,
    /// Only the arm.
    arm_name: Option<String>,
    /// The class; empty = all.
    pub(crate) class: String,
    /// The limit.
    pub(crate) limit: f64,
    /// The same as it is printed: `10 %`, `1 point`, `0.80`.
    pub(crate) amount: String,
    /// The same as it is drawn: that of a fall is a negative change.
    pub(crate) drawn: f64,
    /// On which side of it values must lie.
    bound: LimitBound,
    /// The side of it on which they must not lie.
    pub(crate) forbidden: ForbiddenSide,
    /// What decides: interval, estimate, worlds, ...
    pub(crate) decides: String,
    /// The same where it is a range over something else than people.
    pub(crate) range: Option<DecidingRange>,
    /// Why, in words, without those of tables.
    reason: String,
    /// Whether it is based on so few repeats that another seed may change the verdict.
    few_repeats: bool,
    /// Which subgroups a gate on recourse counts; none of other gates, and of one without a count.
    #[serde(skip)]
    pub(crate) counted: Option<GateCount>,
    counted_words: Option<String>,
    counted_size: Option<String>,
    /// What the job says about it.
    note: Option<String>,
    /// The model.
    model: CalledModel,
    /// The name of its metric.
    metric: String,
    /// For a change, what the metric measures, and whether it is the gap of that; none where it has
    /// only its name.
    measured: Option<(CalledRate, bool)>,
    /// The group whose harm it asks about; none of other limits.
    harmed: Option<CalledGroup>,
    /// Of how many pairs of groups it shows the worst.
    compared: usize,
    /// The part that decides, then the other part of a gate on harm about the same two groups.
    pub(crate) parts: Vec<LimitPart>,
    /// Every value that it judges; empty where it judges changes.
    #[serde(skip)]
    judged: Vec<JudgedValue>,
    /// Whether it judges the change from an earlier run.
    pub(crate) of_change: bool,
    /// Whether it is about the groups that are furthest apart.
    worst_case: bool,
    /// How its values are printed, and the unit of its axis.
    pub(crate) kind: NumberFormat,
    pub(crate) unit: AxisUnit,
    /// Its axis, which limits of one unit and limit share.
    scale: PlotScale,
    /// For a gap of rates, which group is ahead.
    ahead: Option<Value>,
    /// For one that is kept, what it does not see, where `ahead` does not say it.
    other_side: Option<Value>,
    /// For one that is not decided, how many people would decide it; none where no number would.
    needed: Option<Value>,
    /// For one that is broken, thresholds between which none keeps it; none where one does.
    no_threshold: Option<[String; 2]>,
    /// Whether its interval is that of a change, and the run trained the model again: what these
    /// trainings give is then no part of the interval.
    leaves_out_trainings: bool,
}

/// All gates, worst first: broken, then undecided, kept, not checked; those that stop the pipeline
/// before those that warn, those about harm before others, and then by how far beyond the limit.
pub(crate) fn all(audit: &AuditFolder, voice: &AuditVoice<'_>) -> Vec<AuditLimit> {
    let deciding = audit.gates.iter().filter(|row| row.decides == 1);
    let limit = |row| (GateRow::excess(row), GateShape::of(audit, voice, row).limit());
    let mut limits: Vec<(f64, AuditLimit)> = deciding.map(limit).collect();
    limits.sort_by(|(x, a), (y, b)| {
        a.rank().cmp(&b.rank()).then(y.total_cmp(x)).then(a.name.cmp(&b.name))
    });
    let mut limits: Vec<AuditLimit> = limits.into_iter().map(|(_, limit)| limit).collect();
    set_scales(&mut limits);
    limits
}

/// The limit whose deciding part is this value; of several the worst.
fn deciding<'a>(limits: &'a [AuditLimit], value: &JudgedValue) -> Option<&'a AuditLimit> {
    let mut values = limits.iter().filter(|limit| !limit.of_change);
    values.find(|limit| limit.parts.iter().any(|part| part.judged == *value))
}

/// The limit that judges exactly this result.
pub(crate) fn of_result<'a>(
    limits: &'a [AuditLimit],
    result: &HarmResult,
) -> Option<&'a AuditLimit> {
    deciding(limits, &result.judged())
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

    fn rank(&self) -> (usize, bool, bool) {
        let order = ["fail", "inconclusive", "pass", "skipped"];
        let place = order.iter().position(|verdict| *verdict == self.verdict);
        (place.unwrap_or(order.len()), self.warns, self.harmed.is_none())
    }
}

/// A gate and what its question and its parts depend on.
struct GateShape<'a> {
    audit: &'a AuditFolder,
    voice: &'a AuditVoice<'a>,
    row: &'a GateRow,
    bound: LimitBound,
    decides: &'a str,
    of_harm: bool,
    of_change: bool,
    is_count: bool,
    kind: NumberFormat,
}

/// Whether a row is about two groups.
fn is_pair(row: &GateRow) -> bool {
    !row.from_group.is_empty() && !row.to_group.is_empty()
}

/// Whether a metric is the value of one group minus that of another, and of what.
fn difference_of(metric: &str) -> Option<&'static str> {
    let gap = find(metric)?.gap_of.filter(|gap| gap.1 == GapTransform::Difference)?;
    Some(gap.0)
}

/// The verdict of a gate; a row with another word has none.
fn verdict(row: &GateRow) -> &str {
    let known = ["fail", "pass", "skipped"].contains(&row.verdict.as_str());
    if known { row.verdict.as_str() } else { "inconclusive" }
}

impl<'a> GateShape<'a> {
    fn of(audit: &'a AuditFolder, voice: &'a AuditVoice<'a>, row: &'a GateRow) -> Self {
        let (bound, decides) = row.rule_words();
        let bound = match bound {
            "at_least" => LimitBound::AtLeast,
            "rise_at_most" => LimitBound::RiseAtMost,
            "fall_at_most" => LimitBound::FallAtMost,
            _ => LimitBound::AtMost,
        };
        let own = || audit.rows_of_gate(row.gate.as_str()).iter();
        let of_change = row.is_of_change();
        let kind = terms::kind(&row.metric, &row.scope);
        GateShape {
            audit,
            voice,
            row,
            bound,
            decides,
            of_harm: HARM.iter().all(|metric| own().any(|r| r.metric.as_str() == *metric)),
            of_change,
            is_count: [UNFAIR_SUBGROUPS, CONFIRMED_PATTERNS].contains(&row.metric.as_str()),
            kind: if of_change { kind.of_change() } else { kind },
        }
    }

    fn limit(&self) -> AuditLimit {
        let (audit, voice, row) = (self.audit, self.voice, self.row);
        let own = || audit.rows_of_gate(row.gate.as_str()).iter();
        let is_other = |other: &&GateRow| {
            other.decides != 1
                && other.sensitive == row.sensitive
                && (&other.from_group, &other.to_group) == (&row.to_group, &row.from_group)
        };
        let others = own().filter(|other| self.of_harm && is_other(other));
        let parts: Vec<LimitPart> =
            std::iter::once(row).chain(others).map(|row| self.part(row)).collect();
        let findings = GateFindings::of_row(row);
        let reason =
            findings.as_ref().map_or_else(|| row.reason.to_string(), GateFindings::plain_words);
        let few_repeats = findings.as_ref().is_some_and(GateFindings::is_of_few_repeats);
        let ahead = self.ahead();
        let other_side = findings.as_ref().filter(|_| ahead.is_none());
        let other_side = other_side.and_then(|of| self.other_side(of));
        let counted = findings
            .and_then(|of| of.counted)
            .filter(|of| row.value.is_some() && matches!(of, GateCount::Subgroups { .. }));
        let of_rows = audit.manifest.person.is_some();
        // Curves count rows: where a person has several, they do not show at which steps there are
        // enough persons.
        let is_broken =
            row.verdict == "fail" && row.arm.is_empty() && row.class.is_empty() && !of_rows;
        let no_threshold = is_broken.then(|| {
            let value = (&row.key(), row.metric.as_str());
            no_threshold(audit, value, (self.bound, row.limit), row.enough)
        });
        let drawn = if self.bound == LimitBound::FallAtMost { -row.limit } else { row.limit };
        let has_interval = row.lo.is_some() && row.hi.is_some();
        let note = audit.manifest.words.gate_notes.get(row.gate.as_str());
        let harmed = if row.metric == HARM[0] { &row.from_group } else { &row.to_group };
        let pair = |of: &'_ GateRow| [of.from_group.to_string(), of.to_group.to_string()];
        let mut pairs: Vec<[String; 2]> = own().map(pair).collect();
        pairs.iter_mut().for_each(|pair| pair.sort());
        pairs.sort();
        pairs.dedup();
        AuditLimit {
            name: row.gate.as_str().to_owned(),
            verdict: verdict(row).to_owned(),
            warns: row.level.as_str() == "warn",
            arm: row.arm.as_str().to_owned(),
            arm_name: row.arm.as_str().split_once('/').map(|(_, arm)| arm.to_owned()),
            class: row.class.as_str().to_owned(),
            limit: row.limit,
            amount: self.amount(),
            drawn,
            bound: self.bound,
            forbidden: match self.bound {
                LimitBound::AtMost | LimitBound::RiseAtMost => ForbiddenSide::Above,
                LimitBound::AtLeast | LimitBound::FallAtMost => ForbiddenSide::Below,
            },
            decides: self.decides.to_owned(),
            range: DecidingRange::of(self.decides),
            reason,
            few_repeats,
            counted_words: counted.as_ref().map(GateCount::words),
            counted_size: counted.as_ref().and_then(GateCount::size),
            counted,
            note: note.map(|note| note.trim().trim_end_matches('.').to_owned()),
            model: voice.called_model(&row.model),
            metric: terms::name(&row.metric),
            measured: voice.measured_rate(&row.metric).filter(|_| self.of_change),
            harmed: self.of_harm.then(|| voice.called_group(&row.sensitive, harmed)),
            compared: if self.of_harm { pairs.len() } else { 1 },
            judged: own().filter_map(JudgedValue::of_gate).collect(),
            of_change: self.of_change,
            worst_case: row.scope == "worst_case",
            kind: self.kind,
            unit: self.unit(),
            scale: PlotScale::new(0.0, 1.0),
            ahead,
            other_side,
            needed: deciding_need(own()).and_then(|row| {
                // A person may have several counterfactuals below a rate, too.
                let measure = audit.measure(&row.key(), &row.metric);
                let repeats = measure.is_some_and(|of| of.denominator_persons.is_some());
                need(row, voice, of_rows || audit.manifest.weight.is_some() || repeats)
            }),
            no_threshold: no_threshold.flatten(),
            leaves_out_trainings: self.of_change
                && self.decides != "estimate"
                && has_interval
                && audit
                    .measure(&row.key(), &row.metric)
                    .is_some_and(|measure| measure.training_repeats.is_some()),
            parts,
        }
    }

    fn unit(&self) -> AxisUnit {
        match self.kind {
            NumberFormat::Share => AxisUnit::Percent,
            NumberFormat::Points | NumberFormat::Distance => AxisUnit::Points,
            _ => AxisUnit::Number,
        }
    }

    /// `10 %`, `1 point`, `0.80`.
    fn amount(&self) -> String {
        let limit = self.row.limit;
        let sign = match self.bound {
            LimitBound::FallAtMost if limit > 0.0 => "\u{2212}",
            LimitBound::RiseAtMost if limit > 0.0 => "+",
            _ => "",
        };
        match self.unit() {
            AxisUnit::Percent => AxisUnit::Percent.label_with_unit(limit),
            AxisUnit::Points => {
                let label = AxisUnit::Points.label(limit);
                format!("{sign}{label} {}", if label == "1" { "point" } else { "points" })
            }
            AxisUnit::Number if self.is_count => format!("{limit}"),
            AxisUnit::Number => format!("{sign}{limit:.2}"),
        }
    }

    /// What a higher rate means for its people, of a difference of rates between two groups; none
    /// of other values.
    fn rate_of_gap(&self, row: &GateRow) -> Option<CalledRate> {
        let plain = row.scope == "pair" && is_pair(row) && row.class.is_empty() && !self.of_change;
        self.voice.rate(difference_of(&row.metric)?).filter(|_| plain)
    }

    /// What a rate of a confusion matrix, or its difference between two groups, counts; none of
    /// other values.
    fn by_label(&self, row: &GateRow) -> Option<CalledRate> {
        let base = match row.scope.as_str() {
            "pair" => difference_of(&row.metric)?,
            "group" | "total" => row.metric.as_str(),
            _ => return None,
        };
        self.voice.by_label(base).filter(|_| row.class.is_empty() && !self.of_change)
    }

    /// Whether a rate of harm on one class counts people who would enter the class, else people
    /// who would leave it.
    fn enters_class(&self, row: &GateRow) -> bool {
        self.voice.wants_class(&row.class) == (row.metric.as_str() == HARM[0])
    }

    /// The kind of a value, on which its label and the question of the limit depend.
    fn subject(&self, row: &GateRow) -> Value {
        if let Some(rate) = self.by_label(row) {
            return context!(kind => "by_label", scope => &*row.scope, rate => fact(&rate));
        }
        let (both, pair) = (is_pair(row), row.scope == "pair");
        let kind = match row.metric.as_str() {
            metric if find(metric).is_some_and(|of| of.is_gap_in(&row.scope)) => "direction_gap",
            metric if HARM.contains(&metric) && both && !row.class.is_empty() => {
                return context!(kind => "class_switches", enters => self.enters_class(row));
            }
            metric if HARM.contains(&metric) && both => {
                return context!(kind => "side_switches", side => fact(&side_of(metric)));
            }
            metric @ ("h_g" | "h_ga") => {
                return context!(kind => "disagreement", below_attribute => metric == "h_ga");
            }
            metric if both && pair && difference_of(metric).is_some() => {
                return context!(kind => "difference", rate => fact(&self.rate_of_gap(row)));
            }
            "sr" => "switches",
            "di" if both => "ratio",
            UNFAIR_SUBGROUPS => "subgroups",
            CONFIRMED_PATTERNS => "patterns",
            _ if both && pair => "compared",
            _ => "value",
        };
        context!(kind)
    }

    /// The value as it is drawn: of the plain audit with the interval of people, and that over
    /// graphs or fits where there is one.
    fn point(&self, row: &GateRow, value: f64) -> PlotPoint {
        let interval = row.lo.zip(row.hi);
        let is_plain = self.row.arm.is_empty() && self.row.class.is_empty() && !self.of_change;
        let measure = self
            .audit
            .measure(&row.key(), &row.metric)
            .filter(|measure| measure.n_worlds.is_some() || measure.second().is_some());
        match measure.filter(|_| is_plain) {
            Some(measure) => PlotPoint {
                value,
                interval: measure.ends(),
                second: match self.decides {
                    // The deciding source is drawn, not the first of several doubts.
                    "fit" | "training" | "all" => interval,
                    _ => measure.second().map(|second| second.0),
                },
            },
            None => PlotPoint::new(value, interval),
        }
    }

    /// Whether a row breaks the limit by what decides.
    fn breaks(&self, row: &GateRow) -> bool {
        let Some(value) = row.value.filter(|value| value.is_finite()) else { return false };
        let ends =
            if self.decides == "estimate" { Some((value, value)) } else { row.lo.zip(row.hi) };
        ends.is_some_and(|(lo, hi)| match self.bound {
            LimitBound::AtMost => lo > self.row.limit,
            LimitBound::AtLeast => hi < self.row.limit,
            LimitBound::RiseAtMost | LimitBound::FallAtMost => false,
        })
    }

    fn part(&self, row: &GateRow) -> LimitPart {
        let (voice, attribute) = (self.voice, row.sensitive.as_str());
        let value = row.value.filter(|value| value.is_finite());
        let interval = row.lo.zip(row.hi);
        let shown = value.map(|value| {
            if self.is_count { format!("{value}") } else { value_text(self.kind, value, interval) }
        });
        let of_value = terms::kind(&row.metric, &row.scope);
        let breaks = self.breaks(row);
        LimitPart {
            judged: JudgedValue::of(row.key(), &row.metric),
            subject: self.subject(row),
            set: voice.called_set(&row.counterfactual),
            attribute: voice.called_attribute(attribute),
            from: voice.called_group(attribute, &row.from_group),
            to: voice.called_group(attribute, &row.to_group),
            value,
            shown: shown.unwrap_or_default(),
            interval,
            ends: interval.map(|ends| ends_text(self.kind, ends)).unwrap_or_default(),
            counts: row.numerator.zip(row.denominator),
            unfair: row.unfair_to_from.zip(row.unfair_to_to),
            whole: row.denominator,
            before: row.baseline_value.map(|before| value_text(of_value, before, interval)),
            point: value.map(|value| self.point(row, value)),
            breaks,
            said: value.is_some()
                && (row.decides == 1 || self.of_harm && breaks && self.row.verdict == "fail"),
        }
    }

    /// What a limit on one side of a comparison does not see.
    fn other_side(&self, findings: &GateFindings) -> Option<Value> {
        let side = findings.remarks.iter().find_map(|remark| match remark {
            GateRemark::OtherOrder { groups, value, .. } => {
                let called = |of: &String| self.voice.called_group(&self.row.sensitive, of);
                let value = value_text(self.kind, *value, None);
                Some(context!(groups => fact(&groups.each_ref().map(called)), value))
            }
            GateRemark::OtherSign { of_change, .. } => Some(context!(groups => (), of_change)),
            _ => None,
        });
        side.filter(|_| self.row.verdict == "pass")
    }

    fn ahead(&self) -> Option<Value> {
        let rate = self.rate_of_gap(self.row)?;
        let value = self.row.value.filter(|value| value.is_finite())?;
        let (lo, hi) = self.row.lo.zip(self.row.hi).unwrap_or((value, value));
        let first = (lo > 0.0 || hi < 0.0).then_some(lo > 0.0);
        Some(context!(rate => fact(&rate), first))
    }
}

/// The scale that limits of one unit and limit share: to the round number above twice the limit and
/// all ends; of changes from below 0 to above the limit.
fn set_scales(limits: &mut [AuditLimit]) {
    let shared = |limit: &AuditLimit| (limit.unit, limit.bound, limit.limit.to_bits());
    type OfScale = (AxisUnit, LimitBound, u64);
    let mut all: BTreeMap<OfScale, (bool, f64, Vec<f64>)> = BTreeMap::new();
    for limit in limits.iter() {
        let cap = match (limit.unit, limit.of_change) {
            (AxisUnit::Percent, false) => 1.0,
            _ => f64::INFINITY,
        };
        let below = limit.of_change || limit.kind == NumberFormat::Points;
        // For a ratio the limit need not be shown twice.
        let room = if limit.bound == LimitBound::AtLeast { 1.2 } else { 2.0 };
        let of = all.entry(shared(limit)).or_insert((below, cap, vec![room * limit.drawn]));
        of.2.extend(limit.parts.iter().filter_map(|part| part.point).flat_map(PlotPoint::extent));
    }
    for limit in limits {
        let Some((below, cap, ends)) = all.get(&shared(limit)) else { continue };
        let ends = || ends.iter().copied();
        limit.scale = if *below || ends().any(|end| end < 0.0) {
            PlotScale::around_zero(ends())
        } else {
            PlotScale::from_zero(ends(), *cap)
        };
    }
}

/// The section: the limits that the page has room for, worst first, and the kept ones that become
/// one line.
pub(crate) fn section(audit: &AuditFolder, limits: &[AuditLimit]) -> PageSection {
    let mut room = PARTS_AT_MOST;
    let fits = |limit: &&AuditLimit| {
        let size = limit.parts.iter().filter(|part| part.value.is_some()).count().max(1);
        let fits = size <= room || limit.verdict != "pass";
        room = if fits { room.saturating_sub(size) } else { room };
        fits
    };
    let (limits_shown, folded): (Vec<&AuditLimit>, Vec<&AuditLimit>) =
        limits.iter().partition(fits);
    let facts = context! {
        tally => tally(limits), arms => limits.iter().any(|limit| !limit.arm.is_empty()),
        folds => audit.manifest.experiments.iter().any(|of| of.folds.is_some()),
        limits => fact(&limits_shown), folded => fact(&folded),
    };
    PageSection::of_facts("limits", "limits.html", facts)
}

/// How many limits there are of each verdict and how many broken ones only warn, whether an undecided
/// one may stop the pipeline, and the verdict of the page.
pub(crate) fn tally(limits: &[AuditLimit]) -> Value {
    let n = |verdict: &str| limits.iter().filter(|limit| limit.verdict == verdict).count();
    let [broken, undecided, kept, unchecked] = ["fail", "inconclusive", "pass", "skipped"].map(n);
    let verdict = match (limits.len(), broken, undecided, kept) {
        (0, ..) => "no_limit",
        (_, 1.., ..) => "fail",
        (_, 0, 1.., _) => "inconclusive",
        (_, 0, 0, 1..) => "pass",
        _ => "skipped",
    };
    context! {
        all => limits.len(), broken, undecided, kept, unchecked, verdict,
        warned => limits.iter().filter(|of| of.verdict == "fail" && of.warns).count(),
        may_stop => limits.iter().any(|of| of.verdict == "inconclusive" && !of.warns),
    }
}
