//! A value as a function of the people by cell, with the interval that a formula gives it: what the
//! table of metrics has, computed again for other people.

use crate::gate::evidence::SureRate;
use crate::gate::people::confusion_of;
use crate::metric::catalog::ccm::switch_rate_by;
use crate::metric::evidence::person::{ECCM_CELLS, Eccm};
use crate::metric::interval::{IntervalProcedure, katz_of};
use crate::metric::rate::Rate;
use crate::metric::value::group_reading::{ComputedGap, computed};
use crate::metric::value::settings::FavourableClass;
use crate::metric::{GapTransform, GroupValue, Metric, Reads};

/// A value with its interval, if a formula gives one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Computed {
    pub(super) value: f64,
    pub(super) ends: Option<(f64, f64)>,
}

/// A value of one side, or of two that are compared: of a group and the rest where the metric is
/// the distance to all. The cells are states of rows for a metric of groups, else those of an
/// extended matrix.
pub(super) struct ValueOfCells {
    pub(super) metric: &'static Metric,
    pub(super) favourable: FavourableClass,
    /// By side, independent people who would be as precise as one row in the denominator of the
    /// rate; none where it is not known.
    pub(super) precision: Vec<Option<f64>>,
    /// Standard deviations on either side of the interval.
    pub(super) z: f64,
}

/// Numbers by cell.
type Cells = [u64; ECCM_CELLS];

/// The people of each side by cell: rows, and what they weigh in whole units.
#[derive(Debug, Clone)]
pub(super) struct CellsOfSides {
    pub(super) rows: Vec<Cells>,
    pub(super) weights: Vec<Cells>,
}

/// A rate behind a value: its side, and the rate of rows and that of their weights.
struct RateBehind {
    side: usize,
    rows: Rate,
    weights: Rate,
}

/// The fewest independent people who could be as precise as these: those who are known, with their
/// weights and rows in the numerator and the denominator of a share and the precision of this many
/// people, and the others, one unit with the value of the share and one without, with their weights.
///
/// The variance of a share p is the sum of the squares of w (y - p) over the square of all weights,
/// times n / (n - 1) for n units. Of those who are known the sum is S s (1 - s) at their own share
/// s, and the sum of w^2 is S, or less. At p it is larger by (p - s)^2 S, and by what the side that p
/// is nearer to lacks in squares, which are at least those of equal weights. Weights never make a
/// share surer than Kish says.
pub(super) fn people_with_others(
    [part, known]: [f64; 2],
    [rows, all_rows]: [f64; 2],
    people: f64,
    [yes, no]: [f64; 2],
) -> f64 {
    if yes + no <= 0.0 {
        return people;
    }
    let all = known + yes + no;
    let (share, squares) =
        if known > 0.0 { (part / known, known * known / people) } else { (0.0, 0.0) };
    let kish = all * all / (squares + yes * yes + no * no);
    let p = (part + yes) / all;
    let spread = p * (1.0 - p);
    if spread <= 0.0 {
        return kish;
    }
    let (near, weight, rows) =
        if p > share { (share, part, rows) } else { (1.0 - share, known - part, all_rows - rows) };
    let least = if rows > 0.0 { weight * weight / rows } else { 0.0 };
    let heavier = (squares * near - least).max(0.0) * (1.0 / near - 1.0).min(1.0);
    let moved = (p - share).abs();
    let of_known = squares * (moved * moved + share * (1.0 - share)) + 2.0 * moved * heavier;
    let squares = of_known + (yes * (1.0 - p)).powi(2) + (no * p).powi(2);
    let units = people + [yes, no].iter().filter(|weight| **weight > 0.0).count() as f64;
    kish.min(spread * all * all / squares * (units - 1.0) / units)
}

/// The interval of the ratio of two shares; where Katz's has no end, by the ends of both.
fn ratio_ends(a: SureRate, b: SureRate, z: f64) -> (f64, f64) {
    if a.rate > 0.0 && b.rate > 0.0 {
        let procedure = IntervalProcedure::Katz;
        let katz = katz_of((a.rate, b.rate), (a.people, b.people), 0.0, z, procedure);
        if a.rate < 1.0 && b.rate < 1.0 {
            return (katz.lo, katz.hi);
        }
        // Katz's takes a rate of 1 as certain.
        let (lo, hi) = a.over(b, z);
        return (katz.lo.min(lo), katz.hi.max(hi));
    }
    let [above, below] = [a, b].map(|rate| rate.ends(z));
    let over = |x: f64, y: f64| if y > 0.0 { x / y } else { f64::INFINITY };
    (over(above.0, below.1), over(above.1, below.0))
}

/// The interval of the smaller of two shares over the larger.
fn smaller_over_larger(a: SureRate, b: SureRate, z: f64) -> (f64, f64) {
    let orders = [(a, b), (b, a)].into_iter().filter(|(_, below)| below.rate > 0.0);
    orders
        .map(|(above, below)| above.over(below, z))
        .fold((1.0, 1.0), |ends, ratio| (f64::min(ends.0, ratio.0), f64::min(ends.1, ratio.1)))
}

/// The distance from 0 of a difference, from its ends.
fn distance((lo, hi): (f64, f64)) -> (f64, f64) {
    let least = if lo <= 0.0 && hi >= 0.0 { 0.0 } else { lo.abs().min(hi.abs()) };
    (least, lo.abs().max(hi.abs()))
}

/// The share of all people that the second of two rates is of.
fn share_of_rest(behind: &[RateBehind]) -> f64 {
    let below = [0, 1].map(|i: usize| behind[i].weights.denominator as f64);
    below[1] / (below[0] + below[1])
}

impl ValueOfCells {
    /// The value of these sides; none where it is undefined. `known` are those of them who were
    /// measured, where each of the others need not be one person of weight 1.
    pub(super) fn of(&self, all: &CellsOfSides, known: Option<&CellsOfSides>) -> Option<Computed> {
        let (behind, known) = (self.behind(all), known.map(|known| self.behind(known)));
        let rates = behind.iter().map(|rate| rate.weights.value().ok());
        let rates = rates.collect::<Option<Vec<f64>>>()?;
        let sure = rates.iter().enumerate().map(|(i, &rate)| {
            let people = self.people(&behind[i], known.as_ref().map(|known| &known[i]))?;
            Some(SureRate { rate, people })
        });
        let sure = sure.collect::<Option<Vec<SureRate>>>();
        let value = self.value(&all.weights, &behind, &rates)?;
        Some(Computed { value, ends: sure.and_then(|sure| self.ends(&behind, &sure)) })
    }

    /// The rates behind the value; empty where it follows from none.
    fn behind(&self, sides: &CellsOfSides) -> Vec<RateBehind> {
        let both = self.rates(&sides.rows).into_iter().zip(self.rates(&sides.weights));
        both.map(|((side, rows), (_, weights))| RateBehind { side, rows, weights }).collect()
    }

    /// The rates behind the value of sides with these cells, each with its side.
    fn rates(&self, cells: &[Cells]) -> Vec<(usize, Rate)> {
        if let Some(gap) = self.gap(cells) {
            // The share of a favourable ratio on top is that of the second side.
            let is_turned = self.metric.transform() == Some(GapTransform::Inverse);
            let [first, second] = if is_turned { [1, 0] } else { [0, 1] };
            return gap.rates.into_iter().flat_map(|[x, y]| [(first, x), (second, y)]).collect();
        }
        let rate = |cells: &Cells| match self.metric.reads {
            Reads::Group(GroupValue::Rate(rate), _) => Some(rate(&confusion_of(cells))),
            _ => Some(switch_rate_by(self.metric, Some(self.favourable))?(&Eccm(*cells))),
        };
        let each = cells.iter().map(rate).enumerate();
        each.filter_map(|(side, rate)| Some((side, rate?))).collect()
    }

    /// The gap of two groups; none of another value.
    fn gap(&self, cells: &[Cells]) -> Option<ComputedGap> {
        let [a, b] = cells else { return None };
        computed(self.metric, self.favourable, &confusion_of(a), &confusion_of(b))
    }

    /// The value of sides with these cells, and with the rates behind it.
    fn value(&self, cells: &[Cells], behind: &[RateBehind], rates: &[f64]) -> Option<f64> {
        if let Some(gap) = self.gap(cells) {
            // An empty denominator of a ratio is as far as it can be.
            let is_far = self.metric.has_order() && !rates.is_empty();
            return gap.value.ok().or(is_far.then_some(f64::INFINITY));
        }
        let score = |cells: &Cells| match self.metric.reads {
            Reads::Group(value, _) => value.score(&confusion_of(cells)).ok(),
            Reads::SwitchScore(score) => score(&Eccm(*cells)).ok(),
            _ => None,
        };
        match (self.metric.reads, rates, cells) {
            (_, [rate], _) => Some(*rate),
            (_, _, [one]) => score(one),
            (Reads::Group(..), [p, q], _) => Some(share_of_rest(behind) * (p - q).abs()),
            (Reads::Group(value, _), _, [own, rest]) => {
                let mut all = confusion_of(own);
                all.merge(&confusion_of(rest));
                Some((score(own)? - value.score(&all).ok()?).abs())
            }
            (Reads::SwitchRatio(_), [_, 0.0], _) => Some(f64::INFINITY),
            (Reads::SwitchRatio(_), [p, q], _) => Some(p / q),
            (_, [p, q], _) => Some(p - q),
            (_, _, [a, b]) => Some(score(a)? - score(b)?),
            _ => None,
        }
    }

    /// The ends of the interval of the value, from the rates behind it.
    fn ends(&self, behind: &[RateBehind], rates: &[SureRate]) -> Option<(f64, f64)> {
        let z = self.z;
        if let [rate] = rates {
            return Some(rate.ends(z));
        }
        let each = rates.as_chunks::<2>().0.iter().map(|&[a, b]| match self.metric.transform() {
            Some(GapTransform::Ratio | GapTransform::Inverse) => ratio_ends(a, b, z),
            Some(GapTransform::SmallerOverLarger) => smaller_over_larger(a, b, z),
            Some(GapTransform::Widest) => distance(a.minus(b, z)),
            Some(GapTransform::ToTotal) => {
                let (rest, (lo, hi)) = (share_of_rest(behind), distance(a.minus(b, z)));
                (rest * lo, rest * hi)
            }
            _ => a.minus(b, z),
        });
        each.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
    }

    /// Independent people who would be as precise as those in the denominator of a rate.
    ///
    /// Where only some of them were measured, the others are one unit: nothing says that no person
    /// has all of their rows or weight.
    fn people(&self, all: &RateBehind, known: Option<&RateBehind>) -> Option<f64> {
        let precision = self.precision[all.side]?;
        let people = |rate: &RateBehind| precision * rate.rows.denominator as f64;
        let Some(known) = known else { return Some(people(all)) };
        let parts = |rate: Rate| [rate.numerator, rate.denominator].map(|n| n as f64);
        let [of_all, of_known] = [all, known].map(|rate| parts(rate.weights));
        let yes = of_all[0] - of_known[0];
        let others = [yes, of_all[1] - of_known[1] - yes];
        Some(people_with_others(of_known, parts(known.rows), people(known), others))
    }
}

#[cfg(test)]
mod tests {
    use super::{CellsOfSides, SureRate, ValueOfCells, people_with_others};
    use crate::metric::catalog::find;
    use crate::metric::estimate::share::Share;
    use crate::metric::evidence::person::ECCM_CELLS;
    use crate::metric::evidence::units::WeightSums;
    use crate::metric::interval::z_of_level;
    use crate::metric::rate::Rate;
    use crate::metric::value::settings::FavourableClass;
    use crate::num::seed::h;

    /// 400 people of weight 1, 20 of them granted, and one of weight 60: the interval of the share
    /// is that of 12 people. The table of metrics, which knows the number of persons, has 0.0508 to
    /// 0.4530 once she is measured.
    #[test]
    fn one_heavy_person_counts_as_the_table_counts_her() {
        let people = people_with_others([20.0, 400.0], [20.0, 400.0], 400.0, [60.0, 0.0]);
        let (lo, hi) = SureRate { rate: 80.0 / 460.0, people }.ends(1.959_964);
        assert!((lo - 0.0508).abs() < 1e-3 && (hi - 0.4530).abs() < 1e-3, "{lo} {hi}");
        assert_eq!(people_with_others([20.0, 400.0], [20.0, 400.0], 400.0, [0.0, 0.0]), 400.0);
        assert_eq!(people_with_others([0.0, 0.0], [0.0, 0.0], 0.0, [0.0, 3.0]), 1.0);
    }

    /// Rows with weights, and up to three that were not measured: however these are filled in, the
    /// interval of the table of metrics lies within that of the worst case.
    #[test]
    fn no_filling_is_less_sure_than_the_worst_case() {
        let z = z_of_level(0.95);
        let share = |rows: &[(u64, bool)]| {
            let sum = |of: &dyn Fn(&&(u64, bool)) -> bool| {
                rows.iter().filter(of).map(|row| row.0).sum::<u64>()
            };
            let mut below = WeightSums::default();
            rows.iter().for_each(|row| below += WeightSums::one(row.0));
            let units = (0_u64..).zip(rows).map(|(key, &(weight, yes))| {
                (key, Rate::of(u64::from(yes), 1), WeightSums::one(weight))
            });
            Share::of_units(Rate::of(sum(&|row| row.1), sum(&|_| true)), below.into(), units)
        };
        let mut widest = 0.0_f64;
        for job in 0..600 {
            let draw = |place: u64, n: u64| h(job, place, 0) % n;
            let weight = |place: u64, yes: bool| match job % 5 {
                0 => 1,
                1 => 10 + draw(place, 30),
                2 => 1 + 9 * u64::from(yes) + draw(place, 3),
                3 => 1 + 9 * u64::from(!yes) + draw(place, 3),
                _ => 1 + draw(place, 8).pow(3),
            };
            let known: Vec<(u64, bool)> = (0..4 + draw(1, 60))
                .map(|row| {
                    let yes = draw(10 + row, 20) < 1 + draw(2, 18);
                    (weight(1000 + row, yes), yes)
                })
                .collect();
            let others: Vec<u64> = (0..=draw(3, 3)).map(|row| weight(2000 + row, false)).collect();
            let of_known = share(&known).unwrap();
            let sum = |yes: bool| {
                let own = known.iter().filter(|row| row.1 || !yes);
                own.fold((0.0, 0.0), |(n, all), row| (n + 1.0, all + row.0 as f64))
            };
            let ((cases, part), (rows, all)) = (sum(true), sum(false));
            let more = others.iter().sum::<u64>() as f64;
            let at_worst = |others: [f64; 2]| {
                let people = people_with_others([part, all], [cases, rows], of_known.size, others);
                SureRate { rate: (part + others[0]) / (all + more), people }.ends(z)
            };
            let (least, most) = (at_worst([0.0, more]).0, at_worst([more, 0.0]).1);
            let mut filled = (1.0_f64, 0.0_f64);
            for state in 0..3_usize.pow(others.len() as u32) {
                let mut all = known.clone();
                for (i, &weight) in others.iter().enumerate() {
                    match state / 3_usize.pow(i as u32) % 3 {
                        0 => {}
                        state => all.push((weight, state == 2)),
                    }
                }
                let ends = share(&all).unwrap().wilson(z);
                filled = (filled.0.min(ends.lo), filled.1.max(ends.hi));
            }
            assert!(least <= filled.0 + 1e-9, "{job}: {least} {filled:?} {known:?} {others:?}");
            assert!(most >= filled.1 - 1e-9, "{job}: {most} {filled:?} {known:?} {others:?}");
            if others.len() == 1 && job % 5 < 2 {
                widest = widest.max(most - filled.1).max(filled.0 - least);
            }
        }
        // One person among people of about the same weight.
        assert!(widest < 0.05, "{widest}");
    }

    /// Two groups with the same rate: each is as sure as its own rows.
    #[test]
    fn equal_rates_are_as_sure_as_their_groups() {
        let value = ValueOfCells {
            metric: find("demp_difference").unwrap(),
            favourable: FavourableClass::Positive,
            precision: vec![Some(1.0), Some(0.25)],
            z: 2.0,
        };
        // 30 of 100 rows, without labels, are granted.
        let sides = |refused| {
            let mut cells = [0; ECCM_CELLS];
            (cells[2], cells[1]) = (30, refused);
            CellsOfSides { rows: vec![cells; 2], weights: vec![cells; 2] }
        };
        let difference = |people: [f64; 2]| {
            let [a, b] = people.map(|people| SureRate { rate: 0.3, people });
            a.minus(b, 2.0)
        };
        let ends = value.of(&sides(70), None).unwrap().ends;
        assert_eq!(ends, Some(difference([100.0, 25.0])));
        // 20 of the 70 refused rows are of people who were not measured, perhaps of one person: 80
        // rows as precise as 80 or 20 people, and one unit of 20, are no surer than Kish says.
        let ends = value.of(&sides(70), Some(&sides(50))).unwrap().ends.unwrap();
        let people = |of_known: f64| 100.0 * 100.0 / (80.0 * 80.0 / of_known + 20.0 * 20.0);
        let expected = difference([people(80.0), people(20.0)]);
        assert!((ends.0 - expected.0).abs() < 1e-12 && (ends.1 - expected.1).abs() < 1e-12);
    }
}
