//! Rates of people who switch, if an unrecorded cause of a given strength moves every score.
//!
//! In a linear world all people of a group move by the same number h in units of the score. A
//! person with the margin m, the score minus the threshold, is positive if m + h is above 0 (or at
//! 0, by the rule of the threshold); so a rate is a search in sorted margins. A hidden cause of
//! strength s puts h anywhere in [min(h, h_reg) - g unit, max(h, h_reg) + g unit], g(s) = s /
//! sqrt(1 - s), see `causal::hidden_cause`; at s = 0 it is only h. Its sign is unknown: *up* takes
//! the highest h in every world, *down* the lowest. The rate of all switches is not monotone in h:
//! up takes the highest rate in the range and down the lowest, at the point nearest to 0. So every
//! rate is monotone in s, and a verdict on rates turns at most once for each push.
//!
//! The interval over people is that of a mean over worlds: each graph is one more row of a person.
//! Choice: a turning point is searched below s = 0.99. Cost: a search per world; for the interval a
//! pass over people in order of their margins, or over persons with several rows. Expected values
//! in the tests come from a numpy program.

use std::collections::BTreeMap;

use crate::metric::catalog::ccm::{HARM, switch_rate_by};
use crate::metric::catalog::find;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::person::{Eccm, cell_index};
use crate::metric::evidence::units::{WeightSums, alone};
use crate::metric::rate::Rate;
use crate::metric::value::settings::FavourableClass;
use crate::num::summary::{SampleSpread, WeightedValue};

/// Strengths from here on are not examined.
pub(crate) const STRONGEST: f64 = 0.99;

/// The metrics of directions that are rates of switches.
pub(crate) const HIDDEN_RATES: [&str; 5] = ["psr", "nsr", "sr", HARM[0], HARM[1]];

/// The people of one group whose switches a rate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SwitchingSide {
    /// People predicted positive.
    Positive,
    /// People predicted negative.
    Negative,
    /// All people.
    Both,
}

/// The direction in which a hidden cause pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HiddenPush {
    /// To the highest score; for the rate of all switches to the highest rate.
    Highest,
    /// To the lowest.
    Lowest,
}

impl SwitchingSide {
    /// The side of one of [`HIDDEN_RATES`] with this favourable prediction; none for other metrics.
    pub(crate) fn of_metric(metric: &str, favourable: FavourableClass) -> Option<Self> {
        let metric = find(metric).filter(|metric| HIDDEN_RATES.contains(&metric.id))?;
        let rate = switch_rate_by(metric, Some(favourable))?;
        let counts =
            |predicted| rate(&Eccm(alone(cell_index(None, predicted, !predicted)))).numerator > 0;
        Some(match [true, false].map(counts) {
            [true, true] => SwitchingSide::Both,
            [true, false] => SwitchingSide::Positive,
            _ => SwitchingSide::Negative,
        })
    }
}

impl HiddenPush {
    /// Both directions.
    pub(crate) const ALL: [HiddenPush; 2] = [HiddenPush::Highest, HiddenPush::Lowest];

    /// The word in tables.
    pub(crate) fn word(self) -> &'static str {
        match self {
            HiddenPush::Highest => "up",
            HiddenPush::Lowest => "down",
        }
    }
}

/// How strong the cause is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum HiddenStrength {
    /// No hidden cause.
    None,
    /// The share s of both, from 0 to below 1: just above 0 only the regression has an effect.
    Share(f64),
}

/// How one world moves the people of a direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MovingWorld {
    /// The number of its graphs.
    pub copies: u64,
    /// The movement h by the graph.
    pub movement: f64,
    /// The movement h_reg by the regression.
    pub regression: f64,
    /// Bias at g = 1, 0 or above.
    pub unit: f64,
}

impl MovingWorld {
    /// The lowest and the highest movement that a cause of this strength can bring about.
    fn ends(&self, strength: HiddenStrength) -> (f64, f64) {
        match strength {
            HiddenStrength::None => (self.movement, self.movement),
            HiddenStrength::Share(s) => {
                let bias = s / (1.0 - s).sqrt() * self.unit;
                (
                    self.movement.min(self.regression - bias),
                    self.movement.max(self.regression + bias),
                )
            }
        }
    }
}

/// The margins of one side, ascending, with the keys of persons if a person may have several rows.
#[derive(Debug, Clone, Default, PartialEq)]
struct SideMargins {
    margins: Vec<f64>,
    persons: Vec<u64>,
}

/// The distances of the people of a group from the threshold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GroupMargins {
    /// Whether a margin of 0 is positive.
    at_threshold: bool,
    /// Negative people, then positive ones.
    sides: [SideMargins; 2],
}

impl GroupMargins {
    /// From (prediction, margin, person) in any order; persons are kept if they may `repeat`.
    pub(crate) fn new(
        at_threshold: bool,
        repeat: bool,
        people: impl Iterator<Item = (bool, f64, u64)>,
    ) -> Self {
        let mut sides: [Vec<(f64, u64)>; 2] = [Vec::new(), Vec::new()];
        people.for_each(|(positive, margin, person)| {
            sides[usize::from(positive)].push((margin, person));
        });
        let sides = sides.map(|mut side| {
            side.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let persons = if repeat { side.iter().map(|x| x.1).collect() } else { Vec::new() };
            SideMargins { margins: side.iter().map(|x| x.0).collect(), persons }
        });
        GroupMargins { at_threshold, sides }
    }

    /// The number of people in the denominator of a rate.
    pub(crate) fn people(&self, counted: SwitchingSide) -> u64 {
        self.sides_of(counted).map(|(_, side)| side.margins.len() as u64).sum()
    }

    fn sides_of(&self, counted: SwitchingSide) -> impl Iterator<Item = (bool, &SideMargins)> {
        let [negative, positive] = &self.sides;
        let sides =
            [(SwitchingSide::Positive, false, negative), (SwitchingSide::Negative, true, positive)];
        sides
            .into_iter()
            .filter(move |(excluded, ..)| *excluded != counted)
            .map(|(_, is, side)| (is, side))
    }

    /// The number of margins that are negative after a movement; these are the first in order.
    fn negative_after(&self, side: &SideMargins, movement: f64) -> usize {
        side.margins.partition_point(|&margin| {
            let moved = margin + movement;
            if self.at_threshold { moved < 0.0 } else { moved <= 0.0 }
        })
    }

    /// The number of people of a side that switch; if they are positive, those with the lowest
    /// margins.
    fn switched_of(&self, (positive, side): (bool, &SideMargins), movement: f64) -> usize {
        let negative = self.negative_after(side, movement);
        if positive { negative } else { side.margins.len() - negative }
    }

    /// The number of people that switch.
    fn switched(&self, counted: SwitchingSide, movement: f64) -> u64 {
        self.sides_of(counted).map(|side| self.switched_of(side, movement) as u64).sum()
    }

    /// The movement of a world under a push.
    fn pushed(
        &self,
        counted: SwitchingSide,
        world: &MovingWorld,
        (strength, push): (HiddenStrength, HiddenPush),
    ) -> f64 {
        let (low, high) = world.ends(strength);
        match (counted, push) {
            (SwitchingSide::Both, HiddenPush::Highest) => {
                if self.switched(counted, low) > self.switched(counted, high) { low } else { high }
            }
            (SwitchingSide::Both, HiddenPush::Lowest) => 0.0_f64.clamp(low, high),
            (_, HiddenPush::Highest) => high,
            (_, HiddenPush::Lowest) => low,
        }
    }

    /// The rate in one world; none without people.
    pub(crate) fn rate(
        &self,
        counted: SwitchingSide,
        world: &MovingWorld,
        under: (HiddenStrength, HiddenPush),
    ) -> Option<f64> {
        let people = self.people(counted);
        let movement = self.pushed(counted, world, under);
        (people > 0).then(|| self.switched(counted, movement) as f64 / people as f64)
    }

    /// The mean over graphs and their percentiles at a level; none without people.
    pub(crate) fn over_worlds(
        &self,
        counted: SwitchingSide,
        worlds: &[MovingWorld],
        under: (HiddenStrength, HiddenPush),
        level: f64,
    ) -> Option<SampleSpread> {
        let value = |world: &MovingWorld| {
            let value = self.rate(counted, world, under)?;
            Some(WeightedValue { value, copies: world.copies, weight: 1.0 })
        };
        SampleSpread::new(&worlds.iter().map(value).collect::<Option<Vec<_>>>()?, level)
    }

    /// The mean over graphs as a share of rows, with one row per person and graph; none without
    /// people.
    pub(crate) fn share(
        &self,
        counted: SwitchingSide,
        worlds: &[MovingWorld],
        under: (HiddenStrength, HiddenPush),
    ) -> Option<Share> {
        let graphs: u64 = worlds.iter().map(|world| world.copies).sum();
        // The number of people by the number of graphs in which they switch, and the sums of each
        // person with several rows.
        let mut alike: BTreeMap<u64, u64> = BTreeMap::new();
        let mut persons: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let mut switches = 0;
        for (positive, side) in self.sides_of(counted) {
            let n = side.margins.len();
            // In order of margins: positive people from the lowest, others from the highest.
            let mut ends: Vec<(usize, u64)> = worlds
                .iter()
                .map(|world| {
                    let movement = self.pushed(counted, world, under);
                    (self.switched_of((positive, side), movement), world.copies)
                })
                .collect();
            ends.sort_unstable();
            let (mut left, mut from) = (graphs, 0);
            for (upto, copies) in ends.into_iter().chain([(n, 0)]) {
                switches += (upto - from) as u64 * left;
                match side.persons.is_empty() {
                    true => *alike.entry(left).or_default() += (upto - from) as u64,
                    false => (from..upto).for_each(|i| {
                        let at = if positive { i } else { n - 1 - i };
                        let person = persons.entry(side.persons[at]).or_default();
                        (person.0, person.1) = (person.0 + left, person.1 + graphs);
                    }),
                }
                (from, left) = (upto, left - copies);
            }
        }
        let rows = self.people(counted) * graphs;
        let below = WeightSums::ones(rows).into();
        let alike = alike.into_iter().map(|(switched, n)| (switched, (switched, graphs), n));
        let persons = persons.into_iter().map(|(key, counts)| (key, counts, 1));
        let units = alike.chain(persons).map(|(key, (switched, n_rows), n)| {
            (key, Rate::of(switched, n_rows), WeightSums::ones(n))
        });
        Share::of_units(Rate::of(switches, rows), below, units)
    }

    /// For each world the smallest strength at which its rate leaves the side of a limit on which
    /// it `starts`; infinite if there is none below [`STRONGEST`].
    pub(crate) fn crossings(
        &self,
        counted: SwitchingSide,
        worlds: &[MovingWorld],
        push: HiddenPush,
        starts: impl Fn(f64) -> bool,
    ) -> Vec<(f64, u64)> {
        let crossing = |world: &MovingWorld| {
            let stays = |strength| self.rate(counted, world, (strength, push)).is_none_or(&starts);
            let found = if stays(HiddenStrength::None) {
                turning_point(true, stays, 1e-12)
            } else {
                Some(0.0)
            };
            (found.unwrap_or(f64::INFINITY), world.copies)
        };
        worlds.iter().map(crossing).collect()
    }
}

/// The smallest strength below [`STRONGEST`] at which a verdict differs from `base`, to a
/// precision; 0 if it turns as soon as the regression has an effect, none if it never turns. It
/// turns at most once.
pub(crate) fn turning_point<V: PartialEq>(
    base: V,
    mut verdict: impl FnMut(HiddenStrength) -> V,
    precision: f64,
) -> Option<f64> {
    let mut turns = |s: f64| verdict(HiddenStrength::Share(s)) != base;
    if turns(0.0) {
        return Some(0.0);
    }
    if !turns(STRONGEST) {
        return None;
    }
    let (mut stays, mut turned) = (0.0, STRONGEST);
    while turned - stays > precision {
        let middle = f64::midpoint(stays, turned);
        // No number lies between the two.
        if middle <= stays || middle >= turned {
            break;
        }
        if turns(middle) { turned = middle } else { stays = middle }
    }
    Some(turned)
}

/// The middle 95 % of crossings of (strength, copies); none if 2.5 % or more never cross.
pub(crate) fn middle_of_crossings(crossings: &[(f64, u64)]) -> Option<(f64, f64)> {
    let total: u64 = crossings.iter().map(|(_, copies)| copies).sum();
    let without = crossings.iter().filter(|(strength, _)| strength.is_infinite());
    let never: u64 = without.map(|(_, copies)| copies).sum();
    if never as f64 >= 0.025 * total as f64 {
        return None;
    }
    let sample: Vec<WeightedValue> = crossings
        .iter()
        .filter(|(strength, _)| strength.is_finite())
        .map(|&(value, copies)| WeightedValue { value, copies, weight: 1.0 })
        .collect();
    let found = SampleSpread::new(&sample, 0.95)?;
    Some(found.spread.map_or((found.mean, found.mean), |around| (around.lo, around.hi)))
}
