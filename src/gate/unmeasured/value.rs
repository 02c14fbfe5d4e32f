//! A value as a function of the people by cell, with the interval that a formula gives it: what the
//! table of metrics has, computed again for other people.

use crate::gate::evidence::{ratio_of_doubtful, wilson_of};
use crate::gate::people::{Cells, confusion_of};
use crate::metric::catalog::ccm::switch_rate_by;
use crate::metric::evidence::person::Eccm;
use crate::metric::interval::{IntervalProcedure, ValueInterval, katz_of, newcombe_of};
use crate::metric::rate::{MetricValue, Rate};
use crate::metric::value::group_reading::computed;
use crate::metric::value::settings::FavourableClass;
use crate::metric::{GapTransform, GroupValue, Metric, Reads};

/// A value as a function of cells.
#[derive(Debug, Clone, Copy)]
pub(super) enum ValueForm {
    /// Of one group, or of all.
    Own,
    /// Of two groups; whether the second one is first.
    Gap { favourable: FavourableClass, swapped: bool },
    /// The distance of a group to all, from the group and the rest.
    ToTotal,
    /// Of one direction, or of all.
    Switch,
    /// Of two directions, the first minus the second.
    SwitchGap,
}

/// A value with its interval, if a formula gives one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Computed {
    pub(super) value: f64,
    pub(super) ends: Option<(f64, f64)>,
}

/// A value of one or two sides.
pub(super) struct ValueOfCells {
    pub(super) metric: &'static Metric,
    pub(super) form: ValueForm,
    pub(super) favourable: FavourableClass,
    /// By side, independent people who would be as precise as one row in the denominator of the
    /// rate; none where it is not known.
    pub(super) effective: Vec<Option<f64>>,
    /// Standard deviations on either side of the interval.
    pub(super) z: f64,
}

/// People by side and cell: rows, and what they weigh in whole units; rows where nobody has a
/// weight.
#[derive(Debug, Clone)]
pub(super) struct CellsOfSides {
    pub(super) rows: Vec<Cells>,
    pub(super) weights: Vec<Cells>,
}

/// A rate of rows, and the same of their weights.
#[derive(Debug, Clone, Copy)]
struct WeightedRate {
    rows: Rate,
    weights: Rate,
}

fn ends_of(interval: ValueInterval) -> (f64, f64) {
    (interval.lo, interval.hi)
}

/// The ends of the interval of a share.
pub(super) fn share_ends(share: (f64, f64), z: f64) -> (f64, f64) {
    ends_of(wilson_of(share, z))
}

/// The ends of Newcombe's interval of the difference of two shares with this many people.
pub(super) fn difference_ends(a: (f64, f64), b: (f64, f64), z: f64) -> (f64, f64) {
    let own = (wilson_of(a, z), wilson_of(b, z));
    ends_of(newcombe_of((a.0, b.0), own, IntervalProcedure::Newcombe))
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

/// The interval of the ratio of two shares with this many people; where Katz's has no end, by the
/// ends of both.
fn ratio_ends((p, n): (f64, f64), (q, m): (f64, f64), z: f64) -> (f64, f64) {
    if p > 0.0 && q > 0.0 {
        let katz = katz_of((p, q), (n, m), 0.0, z, IntervalProcedure::Katz);
        if p < 1.0 && q < 1.0 {
            return ends_of(katz);
        }
        // Katz's takes a rate of 1 as certain.
        let wide = ratio_of_doubtful((p, n), (q, m), z);
        return (katz.lo.min(wide.lo), katz.hi.max(wide.hi));
    }
    let [of_p, of_q] = [(p, n), (q, m)].map(|share| wilson_of(share, z));
    let over = |x: f64, y: f64| if y > 0.0 { x / y } else { f64::INFINITY };
    (over(of_p.lo, of_q.hi), over(of_p.hi, of_q.lo))
}

/// The interval of the smaller of two shares with this many people over the larger.
fn smaller_over_larger(p: (f64, f64), q: (f64, f64), z: f64) -> (f64, f64) {
    let orders = [(p, q), (q, p)].into_iter().filter(|(_, below)| below.0 > 0.0);
    orders
        .map(|(over, below)| ratio_of_doubtful(over, below, z))
        .fold((1.0, 1.0), |(lo, hi), ratio| (f64::min(lo, ratio.lo), f64::min(hi, ratio.hi)))
}

impl ValueOfCells {
    /// Independent people who would be as precise as those in the denominator of a rate of a side.
    ///
    /// Where only some of them were measured, the others are one unit: nothing says that no person
    /// has all of their rows or weight.
    fn people(&self, side: usize, all: WeightedRate, known: Option<WeightedRate>) -> Option<f64> {
        let precision = self.effective[side]?;
        let people = |of: WeightedRate| precision * of.rows.denominator as f64;
        let Some(known) = known else { return Some(people(all)) };
        let [of_all, of_known] = [all, known]
            .map(|of| [of.weights.numerator, of.weights.denominator].map(|units| units as f64));
        let yes = of_all[0] - of_known[0];
        let others = [yes, of_all[1] - of_known[1] - yes];
        let rows = [known.rows.numerator, known.rows.denominator].map(|n| n as f64);
        Some(people_with_others(of_known, rows, people(known), others))
    }

    /// The value of these sides; none where it is undefined. `known` are those of them who were
    /// measured, where each of the others need not be one person of weight 1.
    pub(super) fn of(&self, all: &CellsOfSides, known: Option<&CellsOfSides>) -> Option<Computed> {
        let (z, weights) = (self.z, &all.weights);
        // A rate and the number of people who would be as precise.
        let part = |side: usize, rate: &dyn Fn(&Cells) -> Rate| -> Option<(f64, Option<f64>)> {
            let of = |cells: &CellsOfSides| WeightedRate {
                rows: rate(&cells.rows[side]),
                weights: rate(&cells.weights[side]),
            };
            let p = of(all).weights.value().ok()?;
            Some((p, self.people(side, of(all), known.map(of))))
        };
        let share = |(p, n): (f64, Option<f64>)| Computed {
            value: p,
            ends: n.map(|n| share_ends((p, n), z)),
        };
        let plain = |value: MetricValue| Some(Computed { value: value.ok()?, ends: None });
        let minus = |a: (f64, Option<f64>), b: (f64, Option<f64>)| {
            let ends = a.1.zip(b.1).map(|(n, m)| difference_ends((a.0, n), (b.0, m), z));
            Computed { value: a.0 - b.0, ends }
        };
        let switch = |side: usize| {
            let rate = switch_rate_by(self.metric, Some(self.favourable))?;
            part(side, &|cells| rate(&Eccm(*cells)))
        };
        match (self.form, self.metric.reads) {
            (ValueForm::Own, Reads::Group(GroupValue::Rate(rate), None)) => {
                Some(share(part(0, &|cells| rate(&confusion_of(cells)))?))
            }
            (ValueForm::Own, Reads::Group(of, None)) => plain(of.score(&confusion_of(&weights[0]))),
            (ValueForm::Gap { favourable, swapped }, _) => {
                let order = if swapped { [1, 0] } else { [0, 1] };
                let gap = |cells: &[Cells]| {
                    let [a, b] = order.map(|side| confusion_of(&cells[side]));
                    computed(self.metric, favourable, &a, &b)
                };
                let rates = |of: &CellsOfSides| {
                    let (rows, weights) = (gap(&of.rows)?.rates, gap(&of.weights)?.rates);
                    let each = rows.into_iter().flatten().zip(weights.into_iter().flatten());
                    let each = each.map(|(rows, weights)| WeightedRate { rows, weights });
                    Some(each.collect::<Vec<_>>())
                };
                let (by_weight, of_all) = (gap(weights)?, rates(all)?);
                let of_known = known.map(rates);
                let value = match by_weight.value {
                    Ok(value) => value,
                    // An empty denominator of a ratio is as far as it can be.
                    Err(_)
                        if self.is_ratio()
                            && by_weight.rates.iter().all(|of| of[1].denominator > 0) =>
                    {
                        f64::INFINITY
                    }
                    Err(_) => return None,
                };
                // The share of a favourable ratio on top is that of the second side.
                let transform = self.metric.transform();
                let [front, other] = match transform {
                    Some(GapTransform::Inverse) => [order[1], order[0]],
                    _ => order,
                };
                let people = |side: usize, k: usize| {
                    let known = of_known.as_ref().map(|of| Some(of.as_ref()?[k]));
                    self.people(side, of_all[k], known.flatten())
                };
                let mut widest: Option<(f64, f64)> = None;
                for (k, rates) in by_weight.rates.iter().enumerate() {
                    let [p, q] = [rates[0].value().ok()?, rates[1].value().ok()?];
                    let n = people(front, 2 * k).zip(people(other, 2 * k + 1));
                    let Some((n, m)) = n else { return Some(Computed { value, ends: None }) };
                    let ends = match transform {
                        Some(GapTransform::Ratio | GapTransform::Inverse) => {
                            ratio_ends((p, n), (q, m), z)
                        }
                        Some(GapTransform::SmallerOverLarger) => {
                            smaller_over_larger((p, n), (q, m), z)
                        }
                        Some(GapTransform::Widest) => distance(difference_ends((p, n), (q, m), z)),
                        _ => difference_ends((p, n), (q, m), z),
                    };
                    let wider = |of: (f64, f64)| (of.0.max(ends.0), of.1.max(ends.1));
                    widest = Some(widest.map_or(ends, wider));
                }
                Some(Computed { value, ends: widest })
            }
            (ValueForm::ToTotal, Reads::Group(GroupValue::Rate(rate), _)) => {
                let of_cells = |cells: &Cells| rate(&confusion_of(cells));
                let [a, b] = [part(0, &of_cells)?, part(1, &of_cells)?];
                let below = [0, 1].map(|side| of_cells(&weights[side]).denominator as f64);
                let rest = below[1] / (below[0] + below[1]);
                let apart = minus(a, b);
                let ends = apart.ends.map(distance).map(|(lo, hi)| (rest * lo, rest * hi));
                Some(Computed { value: rest * apart.value.abs(), ends })
            }
            (ValueForm::ToTotal, Reads::Group(of, _)) => {
                let mut all = confusion_of(&weights[0]);
                all.merge(&confusion_of(&weights[1]));
                let own = of.score(&confusion_of(&weights[0])).ok()?;
                let value = (own - of.score(&all).ok()?).abs();
                Some(Computed { value, ends: None })
            }
            (ValueForm::Switch, Reads::SwitchScore(score)) => plain(score(&Eccm(weights[0]))),
            (ValueForm::Switch, _) => Some(share(switch(0)?)),
            (ValueForm::SwitchGap, Reads::SwitchScore(score)) => {
                let [a, b] = [score(&Eccm(weights[0])).ok()?, score(&Eccm(weights[1])).ok()?];
                Some(Computed { value: a - b, ends: None })
            }
            (ValueForm::SwitchGap, Reads::SwitchRatio(_)) => {
                let [(p, n), (q, m)] = [switch(0)?, switch(1)?];
                let ends = n.zip(m).map(|(n, m)| ratio_ends((p, n), (q, m), z));
                Some(Computed { value: if q > 0.0 { p / q } else { f64::INFINITY }, ends })
            }
            (ValueForm::SwitchGap, _) => Some(minus(switch(0)?, switch(1)?)),
            _ => None,
        }
    }

    fn is_ratio(&self) -> bool {
        matches!(
            self.metric.reads,
            Reads::Group(
                GroupValue::Rate(_) | GroupValue::FavourableRate,
                Some(GapTransform::Ratio | GapTransform::Inverse)
            )
        )
    }
}

/// The distance from 0 of a difference, from its ends.
fn distance((lo, hi): (f64, f64)) -> (f64, f64) {
    let least = if lo <= 0.0 && hi >= 0.0 { 0.0 } else { lo.abs().min(hi.abs()) };
    (least, lo.abs().max(hi.abs()))
}

#[cfg(test)]
mod tests {
    use super::{
        CellsOfSides, ValueForm, ValueOfCells, difference_ends, people_with_others, share_ends,
    };
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
        let (lo, hi) = share_ends((80.0 / 460.0, people), 1.959_964);
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
                let n = people_with_others([part, all], [cases, rows], of_known.size, others);
                share_ends(((part + others[0]) / (all + more), n), z)
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
        let favourable = FavourableClass::Positive;
        let of = ValueOfCells {
            metric: find("demp_difference").unwrap(),
            form: ValueForm::Gap { favourable, swapped: false },
            favourable,
            effective: vec![Some(1.0), Some(0.25)],
            z: 2.0,
        };
        let mut cells = [0; ECCM_CELLS];
        (cells[0], cells[3]) = (30, 70);
        let sides = |cells| CellsOfSides { rows: vec![cells; 2], weights: vec![cells; 2] };
        let ends = of.of(&sides(cells), None).unwrap().ends;
        assert_eq!(ends, Some(difference_ends((0.3, 100.0), (0.3, 25.0), 2.0)));
        // 20 of the 70 refused rows are of people who were not measured, perhaps of one person: 80
        // rows as precise as 80 or 20 people, and one unit of 20, are no surer than Kish says.
        let mut known = cells;
        known[3] -= 20;
        let ends = of.of(&sides(cells), Some(&sides(known))).unwrap().ends.unwrap();
        let people = |of_known: f64| 100.0 * 100.0 / (80.0 * 80.0 / of_known + 20.0 * 20.0);
        let expected = difference_ends((0.3, people(80.0)), (0.3, people(20.0)), 2.0);
        assert!((ends.0 - expected.0).abs() < 1e-12 && (ends.1 - expected.1).abs() < 1e-12);
    }
}
