//! How far score metrics differ between two runs that share people, and how sure is that?
//!
//! How often a person, or a block of people, counts in a replicate follows only from the key,
//! the replicate and the seed. So two runs that are drawn with one seed draw the people they
//! share equally often, and the difference of their values in a replicate holds what one person
//! adds to both: the paired bootstrap. Who is in one run only counts for that one. Both are drawn
//! in the same way, people one by one or by blocks. Divergences of histograms are moved to the
//! difference as each of them is to its value (see [`redraw`](crate::metric::bootstrap::redraw)).
//!
//! Coverage is that of the percentiles of each run; see the tests for a mean, which they hold as
//! often as they promise.

use rayon::prelude::*;

use crate::metric::bootstrap::redraw::{ReplicateTile, ShiftBootstrap, centre};
use crate::metric::catalog::shift::{HISTOGRAM_METRICS, METRICS};
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::shift::ScoreShift;
use crate::metric::interval::{ReplicateSource, fewest, percentile};
use crate::metric::rate::MetricValue;
use crate::metric::scope::MetricScope;
use crate::metric::value::compare::ComparedValue;
use crate::metric::value::interval_choice::{IntervalBasis, MeasureContext};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{MetricFamily, Reads, difference};
use crate::param::Level;

/// One of the two runs: what is drawn, and the first pass over the same people.
pub(crate) type ShiftRun<'a> = (&'a ShiftBootstrap<'a>, &'a CounterfactualCounts);

/// The values of two runs in every scope, the first minus the second. Both hold the same groups and
/// are drawn with one seed and as many replicates; else no interval would mean anything, and there
/// is none.
pub(crate) fn changes(
    first: ShiftRun<'_>,
    second: ShiftRun<'_>,
    settings: &MeasureSettings,
) -> Vec<ComparedValue> {
    let ask = MeasureContext::new(settings);
    let (places, replicates) = (first.0.scope_index, first.0.replicates);
    let alike = second.0.seed == first.0.seed
        && second.0.replicates == replicates
        && second.0.units.replicates_per_tile() == first.0.units.replicates_per_tile();
    let method = first.0.units.method(false);
    let drawn = |run: &ShiftRun<'_>| {
        (0..run.0.n_tiles())
            .into_par_iter()
            .map(|number| run.0.tile(number))
            .collect::<Vec<ReplicateTile>>()
    };
    let tiles = if alike && settings.level.is_some() {
        [drawn(&first), drawn(&second)]
    } else {
        [Vec::new(), Vec::new()]
    };
    let shifts = [first, second].map(|(redraw, counts)| {
        let sums = counts.shifts_by_scope();
        let shift = |(place, sums)| redraw.second.at(place).score_shift(sums);
        (sums.iter().enumerate().map(shift).collect::<Vec<ScoreShift>>(), counts.cell_profiles())
    });
    let persons = [first, second].map(|(redraw, counts)| redraw.persons(counts));
    let persons_at = |place: usize| fewest(persons[0][place], persons[1][place]);
    let mut out = Vec::new();
    for (m, metric) in
        METRICS.iter().enumerate().filter(|_| settings.families.contains(&MetricFamily::Shift))
    {
        let Reads::Shift(value) = metric.reads else { continue };
        let centred = HISTOGRAM_METRICS.contains(&metric.id);
        // The value of a scope, or of one direction minus the way back, in one of the runs, and in
        // its replicates.
        let value_at = |run: usize, place: usize, back: Option<usize>| {
            let at = |place: usize| value(&shifts[run].0[place]);
            back.map_or_else(|| at(place), |back| difference(at(place), at(back)))
        };
        let replicates_at = |run: usize, place: usize, back: Option<usize>| -> Vec<MetricValue> {
            let at = |place: usize| tiles[run].iter().flat_map(move |tile| tile.values(place, m));
            back.map_or_else(
                || at(place).collect(),
                |back| at(place).zip(at(back)).map(|(x, y)| difference(x, y)).collect(),
            )
        };
        let mut compare = |scope: MetricScope, place: usize, back: Option<usize>| {
            let [one, other] = [0, 1].map(|run| value_at(run, place, back));
            let change = difference(one, other);
            // A difference of two directions has twice the width.
            let width = (metric.range.1 - metric.range.0) * if back.is_some() { 2.0 } else { 1.0 };
            let (interval, ci_method) = ask.interval(change, || {
                if !alike {
                    return IntervalBasis::NotDrawn;
                }
                let [one, other] = [0, 1].map(|run| replicates_at(run, place, back));
                let changes: Vec<MetricValue> =
                    one.into_iter().zip(other).map(|(x, y)| difference(x, y)).collect();
                let level = settings.level.unwrap_or(Level::DEFAULT).get();
                let source = ReplicateSource {
                    method: if centred { first.0.units.method(true) } else { method },
                    persons: fewest(persons_at(place), back.and_then(persons_at)),
                };
                let found = percentile(changes.iter().copied(), level, source);
                let moved = |(interval, undefined)| {
                    (
                        if centred {
                            centre(interval, &changes, change, (-width, width))
                        } else {
                            interval
                        },
                        undefined,
                    )
                };
                IntervalBasis::Replicates(found.map(moved), replicates as u64)
            });
            let n_rows =
                shifts.iter().map(|(_, spreads)| spreads.at(place).people()).min().unwrap_or(0);
            out.push(ComparedValue {
                scope,
                metric,
                first: one,
                second: other,
                difference: change,
                n_rows,
                interval,
                ci_method,
            });
        };
        places.scopes().for_each(|(place, scope)| compare(scope, place, None));
        for (a, b) in places.directions().filter(|(a, b)| a < b) {
            compare(
                MetricScope::Difference(a, b),
                places.direction(a, b),
                Some(places.direction(b, a)),
            );
        }
    }
    out
}
