//! Rates of people who switch, where an unrecorded cause of a given strength moves every score.
//!
//! In a linear world everybody of a group moves by one number h in units of the score. A person
//! with the margin m, the score less the threshold, is positive if m + h is above 0 (at or above,
//! by the rule of the threshold); so a rate is a search in sorted margins. A hidden cause of
//! strength s puts h anywhere in [min(h, h_reg) - g unit, max(h, h_reg) + g unit], g(s) = s /
//! sqrt(1 - s), see `causal::hidden_cause`; at s = 0 it is only h. Its sign is unknown: *up* takes
//! the highest h in every world, *down* the lowest. For the rate of all switches, which is no
//! monotone function of h, up takes the highest rate in the range and down the lowest, at the point
//! nearest to 0. So every rate is monotone in s, and what is decided by rates turns at most once
//! for each push.
//!
//! The interval over people is that of a mean over worlds: each graph is one more row of a person.
//! Choice: a turning point is searched below s = 0.99. Cost: a search per world; the interval a
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

/// Strengths from here on are not asked about.
pub(crate) const STRONGEST: f64 = 0.99;

/// The metrics of directions that are such rates.
pub(crate) const HIDDEN_RATES: [&str; 5] = ["psr", "nsr", "sr", HARM[0], HARM[1]];

/// Whose switches a rate counts, of the people of one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SwitchingSide {
    /// Of those who are positive.
    Positive,
    /// Of those who are negative.
    Negative,
    /// Of all.
    Both,
}

/// The direction in which a hidden cause pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HiddenPush {
    /// To the highest score, of all switches to the highest rate.
    Highest,
    /// To the lowest.
    Lowest,
}

impl SwitchingSide {
    /// The side of one of [`HIDDEN_RATES`] where this prediction is wanted; none for other metrics.
    pub(crate) fn of_metric(metric: &str, favourable: FavourableClass) -> Option<Self> {
        let metric = find(metric).filter(|of| HIDDEN_RATES.contains(&of.id))?;
        let rate = switch_rate_by(metric, Some(favourable))?;
        let counts = |own| rate(&Eccm(alone(cell_index(None, own, !own)))).numerator > 0;
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
    /// There is none.
    None,
    /// The share s of both, from 0 to below 1: just above 0 only the regression has an effect.
    Share(f64),
}

/// How one world moves the people of a direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MovingWorld {
    /// Its graphs.
    pub copies: u64,
    /// By the graph, h.
    pub movement: f64,
    /// By the regression, h_reg.
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

/// The margins of one side, ascending, with whose they are where a person may have several.
#[derive(Debug, Clone, Default, PartialEq)]
struct SideMargins {
    margins: Vec<f64>,
    persons: Vec<u64>,
}

/// The people of a group: how far each is from the threshold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GroupMargins {
    /// Whether a margin of 0 is positive.
    at_threshold: bool,
    /// Negative people, then positive ones.
    sides: [SideMargins; 2],
}

impl GroupMargins {
    /// From (prediction, margin, person) in any order; persons are kept where they `repeat`.
    pub(crate) fn new(
        at_threshold: bool,
        repeat: bool,
        people: impl Iterator<Item = (bool, f64, u64)>,
    ) -> Self {
        let mut all: [Vec<(f64, u64)>; 2] = [Vec::new(), Vec::new()];
        people.for_each(|(positive, margin, of)| all[usize::from(positive)].push((margin, of)));
        let sides = all.map(|mut side| {
            side.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let persons = if repeat { side.iter().map(|of| of.1).collect() } else { Vec::new() };
            SideMargins { margins: side.iter().map(|of| of.0).collect(), persons }
        });
        GroupMargins { at_threshold, sides }
    }

    /// People below a rate.
    pub(crate) fn people(&self, of: SwitchingSide) -> u64 {
        self.sides_of(of).map(|(_, side)| side.margins.len() as u64).sum()
    }

    fn sides_of(&self, of: SwitchingSide) -> impl Iterator<Item = (bool, &SideMargins)> {
        let [negative, positive] = &self.sides;
        let both =
            [(SwitchingSide::Positive, false, negative), (SwitchingSide::Negative, true, positive)];
        both.into_iter().filter(move |(not, ..)| *not != of).map(|(_, is, side)| (is, side))
    }

    /// How many margins, in order, are negative after a movement.
    fn negative_after(&self, side: &SideMargins, movement: f64) -> usize {
        side.margins.partition_point(|&margin| {
            let moved = margin + movement;
            if self.at_threshold { moved < 0.0 } else { moved <= 0.0 }
        })
    }

    /// How many of a side switch, those of the lowest margins if they are positive.
    fn switched_of(&self, (positive, side): (bool, &SideMargins), movement: f64) -> usize {
        let negative = self.negative_after(side, movement);
        if positive { negative } else { side.margins.len() - negative }
    }

    /// How many switch.
    fn switched(&self, of: SwitchingSide, movement: f64) -> u64 {
        self.sides_of(of).map(|side| self.switched_of(side, movement) as u64).sum()
    }

    /// The movement of a world under a push.
    fn pushed(
        &self,
        of: SwitchingSide,
        world: &MovingWorld,
        (strength, push): (HiddenStrength, HiddenPush),
    ) -> f64 {
        let (low, high) = world.ends(strength);
        match (of, push) {
            (SwitchingSide::Both, HiddenPush::Highest) => {
                if self.switched(of, low) > self.switched(of, high) { low } else { high }
            }
            (SwitchingSide::Both, HiddenPush::Lowest) => 0.0_f64.clamp(low, high),
            (_, HiddenPush::Highest) => high,
            (_, HiddenPush::Lowest) => low,
        }
    }

    /// The rate in one world; none without people.
    pub(crate) fn rate(
        &self,
        of: SwitchingSide,
        world: &MovingWorld,
        under: (HiddenStrength, HiddenPush),
    ) -> Option<f64> {
        let people = self.people(of);
        let movement = self.pushed(of, world, under);
        (people > 0).then(|| self.switched(of, movement) as f64 / people as f64)
    }

    /// The mean over graphs and their percentiles at a level; none without people.
    pub(crate) fn over_worlds(
        &self,
        of: SwitchingSide,
        worlds: &[MovingWorld],
        under: (HiddenStrength, HiddenPush),
        level: f64,
    ) -> Option<SampleSpread> {
        let value = |world: &MovingWorld| {
            let value = self.rate(of, world, under)?;
            Some(WeightedValue { value, copies: world.copies, weight: 1.0 })
        };
        SampleSpread::new(&worlds.iter().map(value).collect::<Option<Vec<_>>>()?, level)
    }

    /// The mean over graphs as a share of rows, each person having one for every graph; none
    /// without people.
    pub(crate) fn share(
        &self,
        of: SwitchingSide,
        worlds: &[MovingWorld],
        under: (HiddenStrength, HiddenPush),
    ) -> Option<Share> {
        let graphs: u64 = worlds.iter().map(|world| world.copies).sum();
        // The number of people by the number of graphs in which they switch, and the rows of each
        // person with several.
        let mut alike: BTreeMap<u64, u64> = BTreeMap::new();
        let mut persons: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let mut switches = 0;
        for (positive, side) in self.sides_of(of) {
            let n = side.margins.len();
            // In order of margins, positive people from the lowest on and others from the highest.
            let mut ends: Vec<(usize, u64)> = worlds
                .iter()
                .map(|world| {
                    let movement = self.pushed(of, world, under);
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
        let rows = self.people(of) * graphs;
        let below = WeightSums::ones(rows).into();
        let alike = alike.into_iter().map(|(switched, n)| (switched, (switched, graphs), n));
        let persons = persons.into_iter().map(|(key, counts)| (key, counts, 1));
        let units = alike
            .chain(persons)
            .map(|(key, (switched, all), n)| (key, Rate::of(switched, all), WeightSums::ones(n)));
        Share::of_units(Rate::of(switches, rows), below, units)
    }

    /// For each world the smallest strength at which its own rate leaves the side of a limit on
    /// which it `starts`; infinite where none below [`STRONGEST`] does.
    pub(crate) fn crossings(
        &self,
        of: SwitchingSide,
        worlds: &[MovingWorld],
        push: HiddenPush,
        starts: impl Fn(f64) -> bool,
    ) -> Vec<(f64, u64)> {
        let crossing = |world: &MovingWorld| {
            let stays = |strength| self.rate(of, world, (strength, push)).is_none_or(&starts);
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

/// The smallest strength below [`STRONGEST`] at which a verdict is another than `base`, to a
/// precision; 0 where it turns as soon as the regression has an effect, none where it never turns.
/// It turns at most once.
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
        // The two are neighbours.
        if middle <= stays || middle >= turned {
            break;
        }
        if turns(middle) { turned = middle } else { stays = middle }
    }
    Some(turned)
}

/// The middle 95 % of crossings of (strength, copies); none where 2.5 % or more never cross.
pub(crate) fn middle_of_crossings(crossings: &[(f64, u64)]) -> Option<(f64, f64)> {
    let all: u64 = crossings.iter().map(|of| of.1).sum();
    let never: u64 = crossings.iter().filter(|of| of.0.is_infinite()).map(|of| of.1).sum();
    if never as f64 >= 0.025 * all as f64 {
        return None;
    }
    let sample: Vec<WeightedValue> = crossings
        .iter()
        .filter(|of| of.0.is_finite())
        .map(|&(value, copies)| WeightedValue { value, copies, weight: 1.0 })
        .collect();
    let found = SampleSpread::new(&sample, 0.95)?;
    Some(found.spread.map_or((found.mean, found.mean), |around| (around.lo, around.hi)))
}
