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
use super::people::cell_of;
use super::verdict::decide;
use crate::folder::manifest::RoundedSwitches;
use crate::gate::question::{GateObservation, GateQuestion, GateRuling};
use crate::gate::reason::{GateBoundSide, GateReason, GateStatus, RoundedPart, WithoutRounding};
use crate::metric::Reads;
use crate::metric::catalog::ccm::switch_rate_by;
use crate::metric::catalog::find;
use crate::metric::evidence::person::{ECCM_CELLS, Eccm};
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
    let [arm, model, counterfactual, sensitive] =
        [&key.arm, &key.model, &key.counterfactual, &key.sensitive].map(ToString::to_string);
    let [scope, from_group, to_group] = key.scope_and_groups().map(str::to_owned);
    let (mut cells, mut switches, mut rounded) = (vec![[0; 2]; ECCM_CELLS], 0, 0);
    for row in rows {
        let is_known = !row.predicted.is_empty() && !row.predicted_cf.is_empty();
        let cell = &mut cells[cell_of("", row).filter(|_| is_known)?];
        let n_rounded = row.n_rounded.unwrap_or(0).unsigned_abs();
        let counted = match row.weight {
            Some(weight) => [weight, row.weight_rounded.unwrap_or(0.0)].map(units),
            None => [row.n.unsigned_abs(), n_rounded],
        };
        cell[0] += counted[0];
        if row.predicted != row.predicted_cf {
            cell[1] += counted[1];
            rounded += n_rounded;
            switches += row.n.unsigned_abs();
        }
    }
    let weighted = rows.iter().any(|row| row.weight.is_some());
    Some(RoundedSwitches {
        arm,
        model,
        counterfactual,
        sensitive,
        scope,
        from_group,
        to_group,
        switches,
        rounded,
        weighted,
        cells,
    })
}

/// All counterfactuals of a scope, and the same as if those of rounding did not switch.
fn with_and_without(switches: &RoundedSwitches) -> [Eccm; 2] {
    let [mut with, mut without] = [Eccm::default(); 2];
    for (at, &[cases, rounded]) in switches.cells.iter().enumerate().take(ECCM_CELLS) {
        with.0[at] = cases;
        without.0[at] += cases.saturating_sub(rounded);
        // The cell of the same person without the switch.
        without.0[at ^ 1] += rounded.min(cases);
    }
    [with, without]
}

/// By how much a value of one run, of one direction or of two, changes without the switches of
/// rounding `behind` it, at least and at most; none where it becomes undefined. `own` is the value.
fn shift_of(
    question: &GateQuestion,
    observed: &GateObservation,
    behind: &[Option<&RoundedSwitches>],
    own: Option<f64>,
) -> Option<[f64; 2]> {
    let metric = find(&observed.row.metric)?;
    if let (Reads::AnySwitch(_), [Some(switches), ..]) = (metric.reads, behind) {
        // No table says which people switch by rounding in all of their directions: at most all.
        let most = match observed.row.denominator.filter(|_| !switches.weighted) {
            Some(n) if n > 0 => switches.rounded.min(n.unsigned_abs()) as f64 / n as f64,
            _ => 1.0,
        };
        return Some([-most.min(own?), 0.0]);
    }
    let value = |cells: Eccm| match metric.reads {
        Reads::SwitchScore(score) => score(&cells).ok(),
        _ => switch_rate_by(metric, question.favourable)?(&cells).value().ok(),
    };
    // A comparison without a switch by rounding stays as it is.
    let sides = behind.iter().map(|switches| {
        let Some(switches) = switches else { return Some([0.0; 2]) };
        let [with, without] = with_and_without(switches).map(value);
        Some([with?, without?])
    });
    let sides: Vec<[f64; 2]> = sides.collect::<Option<_>>()?;
    let shift = if let (Reads::SwitchRatio(_), [forth, back]) = (metric.reads, sides.as_slice()) {
        // Fewer switches leave a rate of 0 as it is.
        let factor = |[with, without]: [f64; 2]| if with > 0.0 { without / with } else { 1.0 };
        let below = Some(factor(*back)).filter(|below| *below > 0.0)?;
        own? * (factor(*forth) / below - 1.0)
    } else {
        sides.iter().map(|[with, without]| without - with).reduce(|forth, back| forth - back)?
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
    /// The switches of rounding behind a value; none where there are none, or they do not change
    /// it. `rounded` are those of the run and of the baseline.
    fn new(
        question: &GateQuestion,
        observed: &GateObservation,
        rounded: [&[RoundedSwitches]; 2],
    ) -> Option<Self> {
        let metric = find(&observed.row.metric)?;
        if !matches!(metric.reads, Reads::SwitchScore(_) | Reads::AnySwitch(_)) {
            switch_rate_by(metric, question.favourable)?;
        }
        // For a change the value of the baseline is subtracted.
        let (value, old) = (observed.row.value, observed.baseline);
        let new = old.zip(value).map(|(old, change)| old + change);
        let runs = match observed.is_change {
            false => vec![(rounded[0], value, 1.0)],
            true => vec![(rounded[0], new, 1.0), (rounded[1], old, -1.0)],
        };
        let mut shift = RoundingShift { ends: Some([0.0; 2]), rounded: 0, switches: 0 };
        for (of_run, own, sign) in runs {
            let at = |place: [&str; 3]| {
                let audit = [&question.arm, &question.model, &question.counterfactual];
                of_run.iter().find(|switches| {
                    [&switches.arm, &switches.model, &switches.counterfactual] == audit
                        && observed.row.key.sensitive == switches.sensitive
                        && [&switches.scope, &switches.from_group, &switches.to_group] == place
                })
            };
            let behind: Vec<_> = observed.sides().into_iter().map(at).collect();
            for switches in behind.iter().flatten() {
                shift.rounded += switches.rounded;
                shift.switches += switches.switches;
            }
            if behind.iter().any(Option::is_some) {
                let of_run = shift_of(question, observed, &behind, own);
                shift.ends = shift.ends.zip(of_run).map(|([lo, hi], of_run)| {
                    let [a, b] = of_run.map(|end| sign * end);
                    [lo + a.min(b), hi + a.max(b)]
                });
            }
        }
        (shift.ends != Some([0.0; 2])).then_some(shift)
    }

    /// The comparison at both ends of the change that the switches may cause.
    fn moved(&self, observed: &GateObservation) -> [GateObservation; 2] {
        [0, 1].map(|end| {
            let shift = self.ends.map(|ends| ends[end]);
            let by = |value: Option<f64>| Some(value? + shift?);
            let row = &observed.row;
            // The cases that Holm's method makes an interval of another level from.
            let numerator = row.numerator.zip(row.denominator).and_then(|(k, n)| {
                let moved = (k as f64 / n as f64 + shift?) * n as f64;
                Some((moved.round() as i64).clamp(0, n))
            });
            let (value, lo, hi) = (by(row.value), by(row.lo), by(row.hi));
            let row = MetricRow { value, lo, hi, numerator, ..row.clone() };
            GateObservation { row, ..observed.clone() }
        })
    }
}

/// Withdraws verdicts that depend only on switches by rounding. `all` are the comparisons as they
/// were before they were judged, `rounded` the switches of rounding of the run and of the baseline.
pub(super) fn reconsider(
    question: &GateQuestion,
    all: &[GateObservation],
    rulings: &mut [GateRuling],
    rounded: [&[RoundedSwitches]; 2],
) {
    let shift = |observed| RoundingShift::new(question, observed, rounded);
    let shifts: Vec<Option<RoundingShift>> = all.iter().map(shift).collect();
    if shifts.iter().all(Option::is_none) {
        return;
    }
    let moved = all
        .iter()
        .zip(&shifts)
        .map(|(observed, shift)| shift.iter().flat_map(|shift| shift.moved(observed)).collect());
    let moved: Vec<Vec<GateObservation>> = moved.collect();
    let joint = question.holm.then(|| JointExtremes::new(question, all, &moved));
    for (i, ruling) in rulings.iter_mut().enumerate().filter(|(_, ruling)| ruling.is_decided()) {
        let verdict = ruling.verdict();
        // Alone, a comparison depends on its own switches only.
        let alone = moved[i].iter().filter(|own| joint.is_none() || own.row.value.is_none());
        let alone = alone.map(|own| decide(question, own.clone()));
        let jointly = joint.iter().map(|joint| joint.least_favourable(question, i, verdict));
        let Some(other) = alone.chain(jointly).find(|other| other.verdict() != verdict) else {
            continue;
        };
        let (behind, counted) = match &shifts[i] {
            Some(own) if ruling.observation.is_change => (RoundedPart::Change, vec![own]),
            Some(own) => (RoundedPart::Value, vec![own]),
            None => (RoundedPart::OtherComparisons, shifts.iter().flatten().collect()),
        };
        let (own, value) = (&ruling.observation, other.observation.row.value);
        let rises = own.is_change && value > own.row.value;
        let side = if rises { GateBoundSide::AtMost } else { GateBoundSide::AtLeast };
        let without = WithoutRounding {
            of_change: own.is_change,
            value: value.and_then(finite),
            moves: value != own.row.value,
            // A share of people who switch to any group.
            bound: find(&own.row.metric)
                .filter(|metric| matches!(metric.reads, Reads::AnySwitch(_)))
                .map(|_| side),
            by_holm: question.holm,
        };
        ruling.object(GateReason::RoundingAtThreshold {
            behind,
            rounded: counted.iter().map(|shift| shift.rounded).sum(),
            switches: counted.iter().map(|shift| shift.switches).sum(),
            without,
        });
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
        all: &[GateObservation],
        moved: &[Vec<GateObservation>],
    ) -> Self {
        let pick = |sign: f64| {
            let clarity = |of: &_| holm::clarity(question, of).map(|clarity| sign * clarity);
            let extremes = all.iter().zip(moved).map(|(observed, moved)| {
                moved.iter().fold(observed, |best, other| match clarity(other).zip(clarity(best)) {
                    Some((found, known)) if found > known => other,
                    _ => best,
                })
            });
            extremes.cloned().collect()
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
        holm::decide_jointly(question, &corner).swap_remove(i)
    }
}
