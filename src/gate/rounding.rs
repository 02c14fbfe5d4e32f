//! Switches that may be nothing but rounding: two scores that agree to single precision, but are on
//! different sides of the threshold.
//!
//! A file of factual scores holds 0.1 in double precision, that of the counterfactuals in single
//! precision, and the threshold is 0.1: then everybody at the threshold switches without any
//! decision of the model. The table of counts says how many switches are of this kind. A gate
//! decides only if it decides alike without them: the value is computed again as if they did not
//! switch, and its interval moves by the same distance.

use std::collections::BTreeMap;

use super::holm;
use super::verdict::decide;
use crate::folder::manifest::RoundedSwitches;
use crate::gate::question::{GateObservation, GateQuestion, GateRuling};
use crate::gate::reason::{ComparedPart, GateBoundSide, GateReason, GateStatus, WithoutRounding};
use crate::metric::catalog::ccm::switch_rate_by;
use crate::metric::catalog::find;
use crate::metric::evidence::person::{ECCM_CELLS, Eccm, cell_index};
use crate::metric::{Metric, Reads};
use crate::table::{AuditKey, CountRow, MetricRow, finite};

/// Parts of the sum of weights that one unit of a cell represents: weights are real numbers.
const UNITS_OF_WEIGHT: f64 = (1_u64 << 40) as f64;

/// The scopes of a table of counts, outside of slices, that have switches of rounding.
pub(crate) fn rounded_switches(counts: &[CountRow]) -> Vec<RoundedSwitches> {
    let mut scopes: BTreeMap<&AuditKey, Vec<&CountRow>> = BTreeMap::new();
    for row in counts.iter().filter(|row| row.key.slice.is_empty() && row.n_rounded.is_some()) {
        scopes.entry(&row.key).or_default().push(row);
    }
    let is_rounded = |row: &&CountRow| row.n_rounded.is_some_and(|n| n > 0);
    scopes.retain(|_, rows| rows.iter().any(is_rounded));
    scopes.into_iter().filter_map(|(key, rows)| of_scope(key, &rows)).collect()
}

/// The cells of one scope; none where the table holds what is no cell.
fn of_scope(key: &AuditKey, rows: &[&CountRow]) -> Option<RoundedSwitches> {
    let total: f64 = rows.iter().filter_map(|row| row.weight).sum();
    let units = |weight: f64| (weight / total * UNITS_OF_WEIGHT).round() as u64;
    let side = |text: &str| match text {
        "1" => Some(Some(true)),
        "0" => Some(Some(false)),
        "" => Some(None),
        _ => None,
    };
    let [arm, model, counterfactual, sensitive] =
        [&key.arm, &key.model, &key.counterfactual, &key.sensitive].map(ToString::to_string);
    let [scope, from_group, to_group] = key.scope_and_groups().map(str::to_owned);
    let mut found = RoundedSwitches {
        arm,
        model,
        counterfactual,
        sensitive,
        scope,
        from_group,
        to_group,
        weighted: rows.iter().any(|row| row.weight.is_some()),
        cells: vec![[0; 2]; ECCM_CELLS],
        ..RoundedSwitches::default()
    };
    for row in rows {
        let (label, predicted) = (side(&row.label)?, side(&row.predicted)??);
        let predicted_cf = side(&row.predicted_cf)??;
        let at = cell_index(label, predicted, predicted_cf);
        let n_rounded = row.n_rounded.unwrap_or(0).unsigned_abs();
        let [cases, rounded] = match row.weight {
            Some(weight) => [weight, row.weight_rounded.unwrap_or(0.0)].map(units),
            None => [row.n.unsigned_abs(), n_rounded],
        };
        found.cells[at][0] += cases;
        if predicted != predicted_cf {
            found.cells[at][1] += rounded;
            found.rounded += n_rounded;
            found.switches += row.n.unsigned_abs();
        }
    }
    Some(found)
}

/// All counterfactuals of a scope, and the same as if those of rounding did not switch.
fn with_and_without(of: &RoundedSwitches) -> [Eccm; 2] {
    let [mut with, mut without] = [Eccm::default(); 2];
    for (at, &[cases, rounded]) in of.cells.iter().enumerate().take(ECCM_CELLS) {
        with.0[at] = cases;
        without.0[at] += cases.saturating_sub(rounded);
        // The cell of the same person without the switch.
        without.0[at ^ 1] += rounded.min(cases);
    }
    [with, without]
}

/// Whether the switches of rounding behind a value change it.
fn counts_switches(question: &GateQuestion, metric: &Metric) -> bool {
    matches!(metric.reads, Reads::SwitchScore(_) | Reads::AnySwitch(_))
        || switch_rate_by(metric, question.favourable).is_some()
}

/// By how much a value of one run, of one direction or of two, changes without the switches of
/// rounding `behind` it, at least and at most; none where it becomes undefined. `own` is the value.
fn shift_of(
    question: &GateQuestion,
    seen: &GateObservation,
    behind: [Option<&RoundedSwitches>; 2],
    own: Option<f64>,
) -> Option<[f64; 2]> {
    let metric = find(&seen.row.metric)?;
    if let (Reads::AnySwitch(_), Some(of)) = (metric.reads, behind[0]) {
        // No table says which people switch by rounding in all of their directions: at most all.
        let most = match seen.row.denominator.filter(|_| !of.weighted) {
            Some(below) if below > 0 => of.rounded.min(below.unsigned_abs()) as f64 / below as f64,
            _ => 1.0,
        };
        return Some([-most.min(own?), 0.0]);
    }
    let value = |cells: Eccm| match metric.reads {
        Reads::SwitchScore(score) => score(&cells).ok(),
        _ => switch_rate_by(metric, question.favourable)?(&cells).value().ok(),
    };
    // A comparison without a switch by rounding stays as it is.
    let sides = behind.map(|of| {
        let Some(of) = of else { return Some([0.0; 2]) };
        let [with, without] = with_and_without(of).map(value);
        Some([with?, without?])
    });
    let [forth, back] = [sides[0]?, sides[1]?];
    let shift = if let Reads::SwitchRatio(_) = metric.reads {
        // Fewer switches leave a rate of 0 as it is.
        let factor = |[with, without]: [f64; 2]| if with > 0.0 { without / with } else { 1.0 };
        let below = Some(factor(back)).filter(|below| *below > 0.0)?;
        own? * (factor(forth) / below - 1.0)
    } else {
        (forth[1] - forth[0]) - (back[1] - back[0])
    };
    Some([shift; 2])
}

/// The ruling on a comparison without its switches by rounding.
struct RoundingShift {
    /// How much its value changes, at least and at most; none where it becomes undefined.
    ends: Option<[f64; 2]>,
    /// Switches of rounding behind it.
    rounded: u64,
    /// Switches behind it.
    switches: u64,
}

impl RoundingShift {
    /// The switches of rounding behind a value; none where there are none. `rounded` are those of
    /// the run and of the baseline.
    fn new(
        question: &GateQuestion,
        seen: &GateObservation,
        rounded: [&[RoundedSwitches]; 2],
    ) -> Option<Self> {
        let [scope, from, to] = seen.place();
        let [forth, back] = [["direction", from, to], ["direction", to, from]].map(Some);
        let scopes = match scope {
            "direction" => [forth, None],
            "total" => [Some(["total", "", ""]), None],
            "difference" | "pair" => [forth, back],
            _ => return None,
        };
        find(&seen.row.metric).filter(|metric| counts_switches(question, metric))?;
        // For a change the value of the baseline is subtracted.
        let runs = match (seen.is_change, seen.baseline) {
            (false, _) => vec![(rounded[0], seen.row.value, 1.0)],
            (true, old) => {
                let new = old.zip(seen.row.value).map(|(old, change)| old + change);
                vec![(rounded[0], new, 1.0), (rounded[1], old, -1.0)]
            }
        };
        let mut shift = RoundingShift { ends: Some([0.0; 2]), rounded: 0, switches: 0 };
        for (of_run, own, sign) in runs {
            let at = |scope: [&str; 3]| {
                let audit = [&question.arm, &question.model, &question.counterfactual];
                of_run.iter().find(|of| {
                    [&of.arm, &of.model, &of.counterfactual] == audit
                        && seen.row.key.sensitive == of.sensitive
                        && [&of.scope, &of.from_group, &of.to_group] == scope
                })
            };
            let behind = scopes.map(|scope| at(scope?));
            for of in behind.iter().flatten() {
                shift.rounded += of.rounded;
                shift.switches += of.switches;
            }
            if behind.iter().any(Option::is_some) {
                let of_run = shift_of(question, seen, behind, own);
                shift.ends = shift.ends.zip(of_run).map(|([lo, hi], of_run)| {
                    let [a, b] = of_run.map(|end| sign * end);
                    [lo + a.min(b), hi + a.max(b)]
                });
            }
        }
        (shift.ends != Some([0.0; 2])).then_some(shift)
    }

    /// The comparison at one end of the change that the switches may cause.
    fn moved(&self, seen: &GateObservation, end: usize) -> GateObservation {
        let shift = self.ends.map(|ends| ends[end]);
        let by = |value: Option<f64>| Some(value? + shift?);
        // The cases that Holm's method makes an interval of another level from.
        let numerator = seen.row.numerator.zip(seen.row.denominator).and_then(|(k, n)| {
            let moved = (k as f64 / n as f64 + shift?) * n as f64;
            Some((moved.round() as i64).clamp(0, n))
        });
        let (value, lo, hi) = (by(seen.row.value), by(seen.row.lo), by(seen.row.hi));
        let row = MetricRow { value, lo, hi, numerator, ..seen.row.clone() };
        GateObservation { row, ..seen.clone() }
    }
}

/// Withdraws verdicts that depend only on switches by rounding. `seen` are the comparisons as they
/// were before they were judged, `rounded` the switches of rounding of the run and of the baseline.
pub(super) fn reconsider(
    question: &GateQuestion,
    seen: &[GateObservation],
    rulings: &mut [GateRuling],
    rounded: [&[RoundedSwitches]; 2],
) {
    let shift = |seen| RoundingShift::new(question, seen, rounded);
    let shifts: Vec<Option<RoundingShift>> = seen.iter().map(shift).collect();
    if shifts.iter().all(Option::is_none) {
        return;
    }
    let moved: Vec<Vec<GateObservation>> = seen
        .iter()
        .zip(&shifts)
        .map(|(seen, shift)| {
            shift.iter().flat_map(|shift| [0, 1].map(|end| shift.moved(seen, end))).collect()
        })
        .collect();
    let joint = question.holm.then(|| JointExtremes::new(question, seen, &moved));
    for (i, ruling) in rulings.iter_mut().enumerate() {
        if !ruling.is_decided() {
            continue;
        }
        // Alone, a comparison depends on its own switches only.
        let mut others: Vec<GateRuling> = match &joint {
            Some(joint) => {
                let undefined = moved[i].iter().filter(|moved| moved.row.value.is_none());
                let undefined = undefined.map(|moved| decide(question, moved.clone()));
                undefined.chain([joint.least_favourable(question, i, ruling.verdict())]).collect()
            }
            None => moved[i].iter().map(|moved| decide(question, moved.clone())).collect(),
        };
        others.retain(|other| other.verdict() != ruling.verdict());
        let Some(other) = others.first() else { continue };
        let without = without_them(&ruling.observation, &other.observation, question.holm);
        let (behind, rounded, switches) = match &shifts[i] {
            Some(own) if ruling.observation.is_change => {
                (ComparedPart::Change, own.rounded, own.switches)
            }
            Some(own) => (ComparedPart::Value, own.rounded, own.switches),
            None => {
                let sum = |count: fn(&RoundingShift) -> u64| {
                    shifts.iter().flatten().map(count).sum::<u64>()
                };
                (ComparedPart::OtherComparisons, sum(|of| of.rounded), sum(|of| of.switches))
            }
        };
        ruling.object(GateReason::RoundingAtThreshold { behind, rounded, switches, without });
    }
}

/// What rounding may make of comparisons that are judged together: of each the way in which it
/// breaks the limit least, and that in which it does most. Any mixture of them is possible.
///
/// Holm's adjusted p-values never fall where a p-value rises. So a verdict `fail` is least
/// favourable where all comparisons break the limit least, one corner for all. The level at which a
/// comparison is judged depends on how many break the limit less than it does: the more these are,
/// the wider its interval. So a verdict `pass` is least favourable where the comparison itself
/// breaks the limit most and all others do least. No other mixture needs to be judged; the tests
/// enumerate them.
pub(super) struct JointExtremes {
    pub(super) least: Vec<GateObservation>,
    pub(super) most: Vec<GateObservation>,
}

impl JointExtremes {
    /// `moved` are the possible values of each under rounding, next to its own.
    pub(super) fn new(
        question: &GateQuestion,
        seen: &[GateObservation],
        moved: &[Vec<GateObservation>],
    ) -> Self {
        let pick = |sign: f64| {
            let of = |(seen, moved): (&GateObservation, &Vec<GateObservation>)| {
                let mut best = seen;
                for other in moved {
                    let found = holm::clarity(question, other);
                    let known = holm::clarity(question, best);
                    if found.zip(known).is_some_and(|(found, known)| sign * found > sign * known) {
                        best = other;
                    }
                }
                best.clone()
            };
            seen.iter().zip(moved).map(of).collect()
        };
        JointExtremes { least: pick(-1.0), most: pick(1.0) }
    }

    /// The ruling on a comparison where its verdict is least favourable.
    pub(super) fn least_favourable(
        &self,
        question: &GateQuestion,
        i: usize,
        verdict: GateStatus,
    ) -> GateRuling {
        let mut corner = self.least.clone();
        if verdict == GateStatus::Pass {
            corner[i] = self.most[i].clone();
        }
        holm::decide_jointly(question, corner).swap_remove(i)
    }
}

/// The value of a comparison without the switches by rounding.
fn without_them(seen: &GateObservation, moved: &GateObservation, by_holm: bool) -> WithoutRounding {
    let is_of_any =
        find(&seen.row.metric).is_some_and(|of| matches!(of.reads, Reads::AnySwitch(_)));
    let rises = seen.is_change && moved.row.value > seen.row.value;
    let side = if rises { GateBoundSide::AtMost } else { GateBoundSide::AtLeast };
    WithoutRounding {
        of_change: seen.is_change,
        value: moved.row.value.and_then(finite),
        moves: moved.row.value != seen.row.value,
        bound: is_of_any.then_some(side),
        by_holm,
    }
}
