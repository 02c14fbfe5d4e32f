//! Made-up rows for the laws of states, one per number.

use crate::data::rows::content::ContentHash;
use crate::data::{Feature, FeatureColumn, FeatureKind, FeatureRows};
use crate::exec::accumulator::Accumulator;
use crate::exec::tests::state_laws::SampleState;
use crate::folder::manifest::RecheckWords;
use crate::metric::evidence::class_counts::{ClassCounterfactual, ClassPerson};
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::flip_test::{FlipTestPerson, FlipTestSample, FlipTestSettings};
use crate::metric::evidence::labelled_scores::LabelledScores;
use crate::metric::evidence::paired_counts::{PairedCell, PairedCounts};
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::evidence::score_grid::ScoreGrid;
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::metric::evidence::strata::Strata;
use crate::metric::value::classes::{FactualClassCounts, SwitchClassCounts, most_likely_class};
use crate::metric::value::worlds::{GraphWorld, WorldCounts};
use crate::num::score_scale::ScoreScale;
use crate::num::seed::{h, u01};
use crate::param::{Count, Seed};
use crate::stage::count::switches::{CountedRow, SwitchPart};
use crate::stage::population::KeptPopulation;
use crate::stage::score::join::JoinedScores;

const GROUPS: usize = 3;
const CLASSES: usize = 3;
const SEED: Seed = Seed(11);

/// Rows belong to this many persons, where a person may have several.
const PERSONS: u64 = 5;

/// A share in [0, 1) that follows from a row and a place.
fn share(row: u64, place: u64) -> f64 {
    u01(h(7, row, place))
}

fn below(row: u64, place: u64, n: usize) -> usize {
    (share(row, place) * n as f64) as usize
}

/// One in eight is not known.
fn known<T>(row: u64, place: u64, value: T) -> Option<T> {
    (below(row, place, 8) > 0).then_some(value)
}

fn person(row: u64, groups: usize) -> ScoredPerson {
    let score = known(row, 1, (share(row, 2) * 20.0).floor() / 20.0);
    ScoredPerson {
        weight: 1 + below(row, 6, 5) as u64,
        ..ScoredPerson::of(
            below(row, 3, groups),
            known(row, 4, share(row, 5) < 0.4),
            score.map(|score| score >= 0.5),
            score,
        )
    }
}

fn grid(weighted: bool) -> ScoreGrid {
    ScoreGrid { scale: ScoreScale::default(), strict: false, weighted, threshold: Some(0.5) }
}

/// The counterfactuals in all other groups.
fn counterfactuals(row: u64, groups: usize) -> Vec<ScoredCounterfactual> {
    let own = person(row, groups).group;
    let moved = |to: usize| {
        let score = known(row, 20 + to as u64, share(row, 30 + to as u64));
        ScoredCounterfactual {
            rounded: below(row, 40 + to as u64, 4) == 0,
            unsupported: below(row, 60 + to as u64, 8) as u64 / 6,
            ..ScoredCounterfactual::to(to, score.map(|score| score >= 0.5), score)
        }
    };
    (0..groups).filter(|&to| to != own).map(moved).collect()
}

impl SampleState for JoinedScores {
    fn sample(_: u64) -> Self {
        JoinedScores::default()
    }

    fn add_sample(&mut self, row: u64) {
        let (rows, differ) = (row % 2, row % 3 / 2);
        let again = RecheckWords { rows, differ, largest: share(row, 1) };
        self.merge(JoinedScores { entries: 1 + row % 4, again });
    }
}

impl SampleState for FactualCounts {
    const VARIANTS: u64 = 6;

    /// Unweighted with strata, with persons, weighted with strata, both, with scores, with
    /// a grid.
    fn sample(variant: u64) -> Self {
        let empty = FactualCounts::new(GROUPS);
        match variant {
            0 => empty.with_strata(Strata::new(4, GROUPS, false)),
            1 => empty.counted_by(CountingUnit::PERSON),
            2 => empty.counted_by(CountingUnit::WEIGHT).with_strata(Strata::new(4, GROUPS, true)),
            3 => empty.counted_by(CountingUnit::WEIGHTED_PERSON),
            4 => empty.with_scores(LabelledScores::new(
                ScoreScale::default(),
                CountingUnit { weighted: true, persons: true },
            )),
            _ => empty.with_grid(grid(true)),
        }
    }

    fn add_sample(&mut self, row: u64) {
        let ScoredPerson { group, label, predicted, score, weight } = person(row, GROUPS);
        let labelled = (label, score.unwrap_or(f64::NAN));
        self.add_score(group, labelled, weight, (row % PERSONS, row));
        self.add((group, row % PERSONS, weight), label, predicted, score == Some(0.5));
        let stratum = known(row, 9, below(row, 10, 4) as u32);
        self.add_stratum(group, (row, weight), predicted, stratum);
        if row.is_multiple_of(5) {
            self.add_ungrouped(
                known(row, 11, (row % 3) as u32).unwrap_or(u32::MAX),
                row % 4,
                label,
                predicted,
            );
        }
        if row.is_multiple_of(7) {
            self.add((group, row, 0), None, None, false);
        }
    }
}

impl SampleState for PairedCounts {
    const VARIANTS: u64 = 2;

    /// Rows, and rows of persons by their weights.
    fn sample(variant: u64) -> Self {
        let both = variant > 0;
        PairedCounts::new(GROUPS, CountingUnit { weighted: both, persons: both })
    }

    fn add_sample(&mut self, row: u64) {
        let said = |to: usize, side: usize| {
            known(row, (50 + 10 * side + to) as u64, below(row, (70 + 10 * side + to) as u64, 12))
        };
        let cell = |to| PairedCell { place: to, cells: [said(to, 0), said(to, 1)] };
        self.add((row % PERSONS, 1 + row % 4), (0..1 + below(row, 12, GROUPS)).map(cell));
    }
}

impl SampleState for KeptPopulation {
    const VARIANTS: u64 = 2;

    fn sample(variant: u64) -> Self {
        KeptPopulation::new(2, variant == 1)
    }

    fn add_sample(&mut self, row: u64) {
        for attribute in 0..2 {
            let place = (attribute, below(row, attribute as u64, 6) as u32, (row % 2) as usize);
            self.add(place, (row % PERSONS, share(row, 3)), row.is_multiple_of(7));
        }
    }
}

impl SampleState for CounterfactualCounts {
    const VARIANTS: u64 = 8;

    /// Unweighted, with persons, weighted, both, with grids of people without weights and with,
    /// with bins of people without weights and with.
    fn sample(variant: u64) -> Self {
        let empty = CounterfactualCounts::new(GROUPS);
        match variant {
            0 => empty,
            1 => empty.counted_by(CountingUnit::PERSON),
            2 => empty.counted_by(CountingUnit::WEIGHT),
            3 => empty.counted_by(CountingUnit::WEIGHTED_PERSON),
            4 => empty.with_grid(grid(false)),
            5 => empty.with_grid(grid(true)),
            6 => empty.with_bins(),
            _ => empty.counted_by(CountingUnit::WEIGHT).with_bins(),
        }
    }

    fn add_sample(&mut self, row: u64) {
        let (person, cfs) = (person(row, GROUPS), counterfactuals(row, GROUPS));
        self.add_person(row % PERSONS, &person, &cfs);
    }
}

impl SampleState for ShiftPass {
    const VARIANTS: u64 = 4;

    /// Evidence for values only, and for intervals of rows, of rows with weights and of persons.
    fn sample(variant: u64) -> Self {
        let nobody = CounterfactualCounts::new(GROUPS);
        let mut first = match variant {
            2 => nobody.counted_by(CountingUnit::WEIGHT),
            3 => nobody.counted_by(CountingUnit::WEIGHTED_PERSON),
            _ => nobody,
        };
        (0..20).for_each(|row| first.add_sample(row));
        first.settle();
        if variant == 0 { first.second_pass() } else { first.influence_pass() }
    }

    fn add_sample(&mut self, row: u64) {
        self.add(row % PERSONS, &person(row, GROUPS), &counterfactuals(row, GROUPS));
    }
}

/// Scores of all classes, from a place on.
fn class_scores(row: u64, place: u64) -> Vec<Option<f64>> {
    (0..CLASSES as u64).map(|class| Some(share(row, place + class))).collect()
}

fn with_class_person(row: u64, work: impl FnOnce(&ClassPerson<'_>)) {
    let scores = class_scores(row, 40);
    work(&ClassPerson {
        group: below(row, 3, GROUPS),
        label: known(row, 4, below(row, 5, CLASSES)),
        predicted: most_likely_class(&scores),
        score: &scores,
        weight: 1 + below(row, 6, 5) as u64,
    });
}

/// As [`with_class_person`], with the counterfactuals in all other groups.
fn with_class_switches(row: u64, work: impl FnOnce(&ClassPerson<'_>, &[ClassCounterfactual<'_>])) {
    with_class_person(row, |person| {
        let scores: Vec<Vec<Option<f64>>> =
            (0..GROUPS as u64).map(|to| class_scores(row, 50 + 10 * to)).collect();
        let moved = |to: usize| ClassCounterfactual {
            to,
            predicted: most_likely_class(&scores[to]),
            score: &scores[to],
            rounded: false,
            unsupported: below(row, 80 + to as u64, 8) as u64 / 6,
        };
        let cfs: Vec<_> = (0..GROUPS).filter(|&to| to != person.group).map(moved).collect();
        work(person, &cfs);
    });
}

/// Rows that are people, that weigh, that belong to persons, and both.
fn class_unit(variant: u64) -> CountingUnit {
    CountingUnit { weighted: variant % 2 == 1, persons: variant > 1 }
}

impl SampleState for FactualClassCounts {
    const VARIANTS: u64 = 4;

    fn sample(variant: u64) -> Self {
        let nobody = FactualCounts::new(GROUPS).counted_by(class_unit(variant));
        FactualClassCounts::new(CLASSES, &nobody)
    }

    fn add_sample(&mut self, row: u64) {
        with_class_person(row, |person| {
            self.add((row % 11, row), person, None);
            if row.is_multiple_of(5) {
                self.add_ungrouped(u32::MAX, row % 4, person.label, person.predicted);
            }
        });
    }
}

impl SampleState for SwitchClassCounts {
    const VARIANTS: u64 = 4;

    fn sample(variant: u64) -> Self {
        SwitchClassCounts::new(CLASSES, GROUPS).counted_by(class_unit(variant))
    }

    fn add_sample(&mut self, row: u64) {
        with_class_switches(row, |person, cfs| self.add(row % 11, person, cfs));
    }
}

impl SampleState for SwitchPart {
    const VARIANTS: u64 = 6;

    /// Of several classes, the matrices in each form or made with the first person; of a label of
    /// two sides. Next to everybody one slice.
    fn sample(variant: u64) -> Self {
        let matrices = match variant {
            0..4 => vec![Some(SwitchClassCounts::sample(variant)); 2],
            4 => vec![None; 2],
            _ => Vec::new(),
        };
        SwitchPart::new(2 * CLASSES, matrices)
    }

    fn add_sample(&mut self, row: u64) {
        let nobody = (|_| CounterfactualCounts::new(GROUPS), || SwitchClassCounts::sample(3));
        let mut each = |counted: CountedRow<'_>| self.add(nobody, counted);
        let parts = if row.is_multiple_of(3) { &[0, 1][..] } else { &[0] };
        with_class_switches(row, |person, cfs| {
            CountedRow::of_classes(CLASSES, parts, (row % 11, person, cfs), &mut each);
        });
    }
}

impl SampleState for FlipTestSample {
    const VARIANTS: u64 = 2;

    /// Everybody, and fewer than there are.
    fn sample(variant: u64) -> Self {
        let most = if variant == 0 { 1000 } else { 7 };
        let settings = FlipTestSettings {
            neighbours: Count::new(5).unwrap(),
            standardise: false,
            max_people: Count::new(most).unwrap(),
        };
        FlipTestSample::new(2, &settings, SEED)
    }

    fn add_sample(&mut self, row: u64) {
        let ScoredPerson { group, predicted, weight, .. } = person(row, GROUPS);
        let person = FlipTestPerson {
            row,
            key: row,
            group,
            predicted: predicted.unwrap_or_default(),
            weight,
        };
        self.add(person, &[share(row, 60), known(row, 61, share(row, 62)).unwrap_or(f64::NAN)]);
    }
}

impl SampleState for WorldCounts {
    const VARIANTS: u64 = 2;

    fn sample(variant: u64) -> Self {
        let world = |bootstrap| GraphWorld { bootstrap, copies: 2, all_rows: 0 };
        let empty = WorldCounts::new((0..3).map(world).collect(), 2, Vec::new(), true);
        if variant == 0 { empty } else { empty.with_persons() }
    }

    fn add_sample(&mut self, row: u64) {
        let person = person(row, 2);
        let moved = |world: u64| {
            let score = known(row, 70, share(row, 71 + world));
            let to = 1 - person.group;
            ScoredCounterfactual {
                unsupported: below(row, 90, 4) as u64 / 3,
                ..ScoredCounterfactual::to(to, score.map(|score| score >= 0.5), score)
            }
        };
        let cfs: Vec<ScoredCounterfactual> = (0..4).map(moved).collect();
        self.add(row % 13, &person, &cfs);
    }
}

impl SampleState for ContentHash {
    fn sample(_: u64) -> Self {
        ContentHash::default()
    }

    fn add_sample(&mut self, row: u64) {
        let pay = Feature::of("pay", FeatureKind::REAL, &[]);
        let rows = FeatureRows::of(vec![FeatureColumn::Number(vec![share(row, 80)])]);
        self.merge(ContentHash::of(&[pay], &[0], &rows, |_| row));
    }
}
