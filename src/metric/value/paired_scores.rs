//! Differences of score metrics between two runs that share people, and their intervals.
//!
//! The influences of a person on the values of both runs are subtracted (see
//! [`shift_influence`](crate::metric::evidence::shift_influence)); people in only one run have an
//! influence only there. The variance of the difference is the sum of the squares over people, with
//! Student's interval.

use std::collections::BTreeMap;

use crate::metric::catalog::shift::METRICS;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::shift::ScoreShift;
use crate::metric::evidence::shift_influence::{Influences, PowerSums, influence_of};
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::metric::rate::MetricValue;
use crate::metric::scope::MetricScope;
use crate::metric::value::compare::ComparedValue;
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{MetricFamily, Reads, difference};

/// One of the two runs: both passes over the same people, with influences by key.
pub(crate) type ShiftRun<'a> = (&'a ShiftPass, &'a CounterfactualCounts);

/// The scores and influences of a run, by scope.
struct RunShifts {
    shifts: Vec<ScoreShift>,
    people: Vec<u64>,
    units: Vec<Vec<(u64, Influences)>>,
}

impl RunShifts {
    fn new((second, counts): ShiftRun<'_>) -> Option<Self> {
        let (sums, profiles) = (counts.shifts_by_scope(), counts.cell_profiles());
        let units = second.of_units(&sums)?;
        let shift = |(place, sums)| second.at(place).score_shift(sums);
        Some(RunShifts {
            shifts: sums.iter().enumerate().map(shift).collect(),
            people: (0..sums.len()).map(|place| profiles[place].n_rows(|_| true)).collect(),
            units,
        })
    }
}

/// The differences between two runs in every scope, the first minus the second. Both have the same
/// groups. Empty if a run has no influences by key.
pub(crate) fn changes(
    first: ShiftRun<'_>,
    second: ShiftRun<'_>,
    settings: &MeasureSettings,
) -> Vec<ComparedValue> {
    let places = first.1.scope_index();
    let Some((first, second)) = RunShifts::new(first).zip(RunShifts::new(second)) else {
        return Vec::new();
    };
    let runs = [first, second];
    let ask = MeasureContext::new(settings);
    let level = ask.level();
    let mut out = Vec::new();
    // A scope, or one direction minus the opposite direction.
    let mut compare = |scope: MetricScope, place: usize, back: Option<usize>| {
        let mut units = BTreeMap::<u64, Influences>::new();
        let back_sign = back.map(|back| (back, -1.0));
        for (place, sign) in [(place, 1.0)].into_iter().chain(back_sign) {
            for (run, sign) in runs.iter().zip([sign, -sign]) {
                for (key, influences) in &run.units[place] {
                    let sums = units.entry(*key).or_default();
                    sums.iter_mut().zip(influences).for_each(|(sum, x)| *sum += sign * x);
                }
            }
        }
        let powers = PowerSums::of_units(units.values());
        for metric in METRICS {
            let Reads::Shift(value) = metric.reads else { continue };
            let [first, second] = runs.each_ref().map(|run| {
                let at = |place: usize| value(&run.shifts[place]);
                back.map_or_else(|| at(place), |back| difference(at(place), at(back)))
            });
            let people = runs.iter().map(|run| run.people[place]).min().unwrap_or(0);
            let basis = |change: MetricValue| {
                // A difference of two directions has a range of twice the width.
                let sides = if back.is_some() { 2.0 } else { 1.0 };
                let width = (metric.range.1 - metric.range.0) * sides;
                let spread = powers.spread(influence_of(metric)?, change.unwrap_or_default());
                spread.interval(false, (-width, width), level)
            };
            out.push(ComparedValue::new(&ask, (metric, scope), [first, second], people, basis));
        }
    };
    if settings.families.contains(&MetricFamily::Shift) {
        places.scopes().for_each(|(place, scope)| compare(scope, place, None));
        for (a, b) in places.directions().filter(|(a, b)| a < b) {
            let (forth, back) = (places.direction(a, b), places.direction(b, a));
            compare(MetricScope::Difference(a, b), forth, Some(back));
        }
    }
    out
}
