//! The flip test: does the majority of a person's nearest neighbours in the favoured facet have
//! another prediction than the person, who is of the disfavoured facet?
//!
//! Source: Amazon SageMaker Clarify, post-training bias metrics, FT. For every person of facet d
//! the k nearest people of facet a are found, by Euclidean distance over the numeric features, and
//! the majority of their predictions is compared with the person's prediction: F+ are people with
//! an unfavourable prediction and a favourable vote, F- the reverse, FT = (F+ - F-) / n_d. The
//! library (smclarify 0.5) returns the opposite sign; its result also changes with the order of the
//! rows, because it leaves ties to chance.
//!
//! Choice: among neighbours at the same distance the earlier row comes first. k is the requested
//! number if facet a has at least twice as many people, else 1 (the library's rule for k = 5).
//! People who lack a value of some feature have no distance: they are left out and counted. With
//! more than [`FlipTestSettings::max_people`] people a sample is drawn over all groups together:
//! the people with the lowest hashes of their keys. Neighbours have one vote each, regardless of
//! their weights; people of facet d count with their weights.
//!
//! The interval covers the sampling of the people of facet d while their neighbours are fixed: it
//! does not include that another sample of facet a could have other votes.
//!
//! Cost: equal rows are looked up once. A million distinct rows of five features take about 25
//! seconds of one processor.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::exec::accumulator::Accumulator;
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::person_sums::PersonCells;
use crate::metric::evidence::units::{UnitKind, UnitSums, WeightSums, distinct};
use crate::metric::scope::{GroupSelection, MetricScope};
use crate::num::additive::Additive;
use crate::num::neighbours::{NearestPoints, NeighbourTree, PointMatrix};
use crate::num::seed::{h, named_seed};
use crate::param::{Count, Seed};

/// How the test is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FlipTestSettings {
    /// The number of neighbours that vote; odd.
    pub neighbours: Count,
    /// Whether every feature is divided by its standard deviation.
    pub standardise: bool,
    /// The largest number of people.
    pub max_people: Count,
}

/// One person as scored.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct FlipTestPerson {
    /// The position in the source: of equal distances the lower position comes first.
    pub row: u64,
    /// The key of the person; all rows of a person have the same.
    pub key: u64,
    /// The group, in reference order.
    pub group: usize,
    /// The prediction.
    pub predicted: bool,
    /// The weight in whole units; 1 without weights.
    pub weight: u64,
}

/// People with their features, at most twice as many as the sample may have; mergeable.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FlipTestSample {
    width: usize,
    max_people: usize,
    sample_seed: u64,
    people: Vec<FlipTestPerson>,
    coordinates: Vec<f64>,
    eligible: u64,
    missing: u64,
}

impl FlipTestSample {
    /// An empty sample of people with `width` features.
    pub(crate) fn new(width: usize, settings: &FlipTestSettings, seed: Seed) -> Self {
        FlipTestSample {
            width,
            max_people: usize::try_from(settings.max_people.get()).unwrap_or(usize::MAX),
            sample_seed: named_seed(seed.0, "flip-test/sample"),
            people: Vec::new(),
            coordinates: Vec::new(),
            eligible: 0,
            missing: 0,
        }
    }

    /// Adds a person with their features, NaN where one is missing.
    ///
    /// # Panics
    /// If the number of features differs: a bug of the caller.
    pub(crate) fn add(&mut self, person: FlipTestPerson, features: &[f64]) {
        assert_eq!(features.len(), self.width, "features of a person");
        if features.iter().any(|x| !x.is_finite()) {
            self.missing += 1;
            return;
        }
        self.eligible += 1;
        self.people.push(person);
        self.coordinates.extend(features);
        if self.people.len() / 2 >= self.max_people {
            self.subsample();
        }
    }

    /// Keeps the people with the lowest hashes.
    fn subsample(&mut self) {
        let drawn = |i: u32| {
            (h(self.sample_seed, self.people[i as usize].key, 0), self.people[i as usize].row)
        };
        let mut kept: Vec<u32> = (0..self.people.len() as u32).collect();
        if kept.len() > self.max_people {
            kept.select_nth_unstable_by_key(self.max_people, |&i| drawn(i));
            kept.truncate(self.max_people);
        }
        kept.sort_unstable_by_key(|&i| self.people[i as usize].row);
        self.coordinates = kept
            .iter()
            .flat_map(|&i| &self.coordinates[i as usize * self.width..][..self.width])
            .copied()
            .collect();
        self.people = kept.iter().map(|&i| self.people[i as usize]).collect();
    }

    fn points(&self) -> PointMatrix<'_> {
        PointMatrix { coordinates: &self.coordinates, width: self.width }
    }

    /// Divides every feature by its standard deviation; a constant feature has no effect anyway.
    fn standardise(&mut self) {
        for axis in 0..self.width {
            let values = || self.coordinates.iter().skip(axis).step_by(self.width);
            let n = values().count() as f64;
            let mean = values().sum::<f64>() / n;
            let sd = (values().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt();
            if sd > 0.0 && sd.is_finite() {
                self.coordinates
                    .iter_mut()
                    .skip(axis)
                    .step_by(self.width)
                    .for_each(|x| *x = (*x - mean) / sd);
            }
        }
    }
}

impl Accumulator for FlipTestSample {
    fn merge(&mut self, other: Self) {
        self.eligible += other.eligible;
        self.missing += other.missing;
        self.people.extend(other.people);
        self.coordinates.extend(other.coordinates);
        if self.people.len() / 2 >= self.max_people {
            self.subsample();
        }
    }

    fn settle(&mut self) {
        self.subsample();
    }
}

/// The prepared test: its pieces can run in any order and on any thread.
#[derive(Debug)]
pub(crate) struct PreparedFlipTest {
    sample: FlipTestSample,
    /// By group.
    trees: Vec<NeighbourTree>,
    /// For each group its people sorted by their features, and the end of each run of equal people;
    /// empty if no comparison needs them.
    runs: Vec<(Vec<u32>, Vec<usize>)>,
    /// The comparison of each piece, and the runs of its disfavoured group.
    pieces: Vec<(usize, Range<usize>)>,
    /// The result without any votes.
    pub(crate) empty: FlipTestResult,
}

/// The number of runs in one piece.
const RUNS_PER_PIECE: usize = 512;

impl PreparedFlipTest {
    /// Builds the trees. `facets` are the comparisons, each of a group with another or with all
    /// others.
    pub(crate) fn new(
        mut sample: FlipTestSample,
        groups: usize,
        facets: &[MetricScope],
        settings: &FlipTestSettings,
        unit: CountingUnit,
    ) -> Self {
        sample.subsample();
        if settings.standardise {
            sample.standardise();
        }
        let points = sample.points();
        let neighbours = usize::try_from(settings.neighbours.get()).unwrap_or(usize::MAX);
        let all_people = || 0..sample.people.len() as u32;
        let members: Vec<Vec<u32>> = (0..groups)
            .map(|group| {
                all_people().filter(|&i| sample.people[i as usize].group == group).collect()
            })
            .collect();
        // The people of a group if a comparison has it on this side: facet a or facet d.
        let members_of_side = |side: usize, group: usize| {
            let is_used = facets.iter().any(|facet| facet.sides()[side].holds(group));
            if is_used { members[group].clone() } else { Vec::new() }
        };
        let trees = (0..groups)
            .map(|group| NeighbourTree::new(points, members_of_side(0, group), neighbours));
        let trees = trees.collect();
        let runs: Vec<_> =
            (0..groups).map(|group| points.runs(members_of_side(1, group))).collect();
        let mut empty = FlipTestResult {
            search: FlipSearch {
                eligible: sample.eligible,
                looked_at: sample.people.len() as u64,
                missing: sample.missing,
                neighbours: settings.neighbours.get(),
            },
            facets: Vec::new(),
            weighted: unit.weighted,
            persons: unit.persons.then(PersonCells::new),
        };
        let mut pieces = Vec::new();
        for (number, &scope) in facets.iter().enumerate() {
            let [a, d] = scope.sides();
            let keys = |selection: GroupSelection| {
                let people = selection.groups(groups).flat_map(|group| &members[group]);
                people.map(|&i| sample.people[i as usize].key)
            };
            let [n_a, n_d] = [a, d].map(|facet| keys(facet).count() as u64);
            let persons =
                || [distinct(keys(a)), distinct(keys(d)), distinct(keys(a).chain(keys(d)))];
            let requested = settings.neighbours.get();
            empty.facets.push(FacetFlips {
                scope,
                n_a,
                n_d,
                neighbours: if n_a >= requested.saturating_mul(2) { requested } else { 1 },
                votes: <[WeightSums; 3]>::default(),
                persons: unit.persons.then(persons),
            });
            if n_a > 0 {
                let n = d.groups(groups).map(|group| runs[group].1.len()).sum();
                pieces.extend(
                    (0..n)
                        .step_by(RUNS_PER_PIECE)
                        .map(|from| (number, from..n.min(from + RUNS_PER_PIECE))),
                );
            }
        }
        PreparedFlipTest { sample, trees, runs, pieces, empty }
    }

    /// Number of pieces.
    pub(crate) fn n_pieces(&self) -> usize {
        self.pieces.len()
    }

    /// The result of the votes of one piece.
    pub(crate) fn votes(&self, number: usize) -> FlipVotes {
        let (facet, runs) = &self.pieces[number];
        let FacetFlips { scope, neighbours, .. } = self.empty.facets[*facet];
        let [a, d] = scope.sides();
        let mut nearest = NearestPoints::new(usize::try_from(neighbours).unwrap_or(usize::MAX));
        let mut piece = FlipVotes { facet: *facet, ..FlipVotes::default() };
        for group in d.groups(self.trees.len()) {
            let (numbers, ends) = &self.runs[group];
            for run in runs.clone() {
                let run = &numbers[if run == 0 { 0 } else { ends[run - 1] }..ends[run]];
                nearest.clear();
                let query = self.sample.points().at(run[0]);
                a.groups(self.trees.len())
                    .for_each(|group| self.trees[group].search(query, &mut nearest));
                let is_positive = |i: &u32| self.sample.people[*i as usize].predicted;
                let positive = nearest.numbers().filter(is_positive).count();
                let vote = 2 * positive > nearest.numbers().count();
                for person in run.iter().map(|&i| &self.sample.people[i as usize]) {
                    let to = vote_cell(person.predicted, vote);
                    piece.people += 1;
                    piece.cells[to] += WeightSums::one(person.weight);
                    if self.empty.persons.is_some() {
                        piece.persons.push((person.key, person.weight, to));
                    }
                }
            }
        }
        piece
    }
}

/// The cell of a vote: 0 from negative to positive, 1 from positive to negative, 2 no change.
fn vote_cell(predicted: bool, vote: bool) -> usize {
    match (predicted, vote) {
        (false, true) => 0,
        (true, false) => 1,
        _ => 2,
    }
}

/// The votes on some people of one comparison.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlipVotes {
    facet: usize,
    cells: [WeightSums; 3],
    /// Key, weight and cell of each row; only if a person may have several rows.
    persons: Vec<(u64, u64, usize)>,
    /// The number of rows with a vote.
    pub people: u64,
}

/// The result of the test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FlipTestResult {
    /// The people of the sample, and the requested number of neighbours.
    pub(crate) search: FlipSearch,
    /// By comparison.
    pub(crate) facets: Vec<FacetFlips>,
    /// Whether rows have weights.
    pub(crate) weighted: bool,
    /// Votes by person and comparison; none if each row is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<PersonCells<3>>,
}

/// How a value of the test was computed: its arguments in the table of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FlipSearch {
    /// People of a declared group with a prediction and a value of every feature.
    pub(crate) eligible: u64,
    /// Those in the sample.
    pub(crate) looked_at: u64,
    /// People who lack a value of some feature.
    pub(crate) missing: u64,
    /// The number of neighbours that vote.
    pub(crate) neighbours: u64,
}

/// One comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FacetFlips {
    pub(crate) scope: MetricScope,
    pub(crate) n_a: u64,
    pub(crate) n_d: u64,
    pub(crate) neighbours: u64,
    /// Rows of facet d whose vote is positive instead of negative, negative instead of positive, or
    /// the same as their prediction.
    votes: [WeightSums; 3],
    /// The number of persons of facet a, of facet d, and of both together; none if each row is a
    /// person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) persons: Option<[u64; 3]>,
}

impl FlipTestResult {
    /// Adds the votes of a piece of the same test.
    pub(crate) fn add(&mut self, piece: &FlipVotes) {
        let facet = &mut self.facets[piece.facet];
        facet.votes.absorb(&piece.cells);
        if let Some(persons) = &mut self.persons {
            for &(key, weight, to) in &piece.persons {
                persons.at(key, piece.facet)[to] += weight;
            }
        }
    }

    /// The comparison of a scope, and the units of facet d by the votes of their neighbours.
    pub(crate) fn facet(&self, scope: MetricScope) -> Option<(FacetFlips, UnitSums)> {
        let number = self.facets.iter().position(|facet| facet.scope == scope)?;
        let facet = self.facets[number];
        let plain = |sums: WeightSums| WeightSums::ones(sums.people());
        let rows = if self.weighted { facet.votes } else { facet.votes.map(plain) };
        let persons = self.persons.as_ref();
        let persons = persons.map(|all| all.units(|place, cell| (place == number).then_some(cell)));
        let kinds = rows.into_iter().enumerate();
        let kinds = kinds.map(|(cell, sums)| UnitKind::one(cell as u64, cell, sums)).collect();
        Some((facet, UnitSums::new(3, self.weighted, kinds, persons)))
    }
}

impl FacetFlips {
    /// The number of people by vote: to positive, to negative, no change.
    pub(crate) fn cells(&self) -> [u64; 3] {
        let [positive, negative, _] = self.votes.map(WeightSums::people);
        [positive, negative, self.n_d - positive - negative]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::seed::RandomStream;

    fn settings(neighbours: u64, max_people: u64) -> FlipTestSettings {
        FlipTestSettings {
            neighbours: Count::new(neighbours).unwrap(),
            standardise: false,
            max_people: Count::new(max_people).unwrap(),
        }
    }

    fn looked(row: u64, group: usize, predicted: bool) -> FlipTestPerson {
        FlipTestPerson { row, key: row * 31, group, predicted, weight: 1 + row % 3 }
    }

    fn done(
        sample: FlipTestSample,
        groups: usize,
        facets: &[MetricScope],
        settings: &FlipTestSettings,
        weighted: bool,
    ) -> FlipTestResult {
        let test = PreparedFlipTest::new(
            sample,
            groups,
            facets,
            settings,
            CountingUnit { weighted, persons: false },
        );
        let mut flips = test.empty.clone();
        (0..test.n_pieces()).rev().for_each(|piece| flips.add(&test.votes(piece)));
        flips
    }

    #[test]
    fn by_hand() {
        // Facet a on a line: rejected at 0, 1 and 2, accepted at 10, 11 and 12. Of facet d a
        // rejected one at 9, an accepted one at 3.
        let mut sample = FlipTestSample::new(1, &settings(3, 100), Seed(1));
        for (row, at) in [0.0, 1.0, 2.0, 10.0, 11.0, 12.0].into_iter().enumerate() {
            sample.add(looked(row as u64, 0, at > 5.0), &[at]);
        }
        for (row, (at, predicted)) in
            [(9.0, false), (3.0, true), (1.5, false), (11.5, true), (9.0, false)]
                .into_iter()
                .enumerate()
        {
            sample.add(looked(10 + row as u64, 1, predicted), &[at]);
        }
        sample.add(looked(20, 1, true), &[f64::NAN]);
        let flips = done(
            sample.clone(),
            2,
            &[MetricScope::Pair(0, 1), MetricScope::RestVsOne(1)],
            &settings(3, 100),
            true,
        );
        assert_eq!(
            (flips.search.eligible, flips.search.looked_at, flips.search.missing),
            (11, 11, 1)
        );
        for scope in [MetricScope::Pair(0, 1), MetricScope::RestVsOne(1)] {
            let (facet, units) = flips.facet(scope).unwrap();
            assert_eq!(
                (facet.n_a, facet.n_d, facet.neighbours, facet.cells()),
                (6, 5, 3, [2, 1, 2])
            );
            // Rows 10 and 14 weigh 2 and 3, row 11 weighs 3, rows 12 and 13 weigh 1 and 2.
            assert_eq!(units.weight(), [5, 3, 3]);
        }
        // With fewer than twice this many people in facet a, one neighbour decides: for 9 that is
        // 10, for 3 it is 2.
        let (facet, _) =
            done(sample.clone(), 2, &[MetricScope::Pair(0, 1)], &settings(5, 100), false)
                .facet(MetricScope::Pair(0, 1))
                .unwrap();
        assert_eq!((facet.neighbours, facet.cells()), (1, [2, 1, 2]));
        // An empty facet has no neighbours.
        let (facet, _) = done(sample, 3, &[MetricScope::Pair(2, 1)], &settings(1, 100), false)
            .facet(MetricScope::Pair(2, 1))
            .unwrap();
        assert_eq!((facet.n_a, facet.n_d, facet.cells()), (0, 5, [0, 0, 5]));
    }

    /// Any partition draws the same sample and has the same result. After scaling, a constant
    /// feature and the units of a feature have no effect.
    #[test]
    fn samples_do_not_depend_on_batches() {
        let mut stream = RandomStream::new(6, "sample");
        let people: Vec<(FlipTestPerson, [f64; 2])> = (0..900)
            .map(|row| {
                let (x, y, u) = (stream.u01(), (stream.u01() * 4.0).floor(), stream.u01());
                (looked(row, (u * 3.0) as usize, x + y / 4.0 > 1.0), [x, y])
            })
            .collect();
        let facets = [MetricScope::Pair(0, 1), MetricScope::RestVsOne(2), MetricScope::Pair(2, 0)];
        for max_people in [50, 300, 5000] {
            let settings_of_size = settings(5, max_people);
            let gathered = |parts: usize| {
                let mut parts_of = vec![FlipTestSample::new(2, &settings_of_size, Seed(3)); parts];
                people
                    .iter()
                    .enumerate()
                    .for_each(|(i, (person, x))| parts_of[i * i % parts].add(*person, x));
                let mut all = parts_of.pop().unwrap();
                parts_of.into_iter().rev().for_each(|part| all.merge(part));
                done(all, 3, &facets, &settings_of_size, true)
            };
            let whole = gathered(1);
            assert_eq!((whole.search.eligible, whole.search.looked_at), (900, max_people.min(900)));
            assert_eq!(gathered(2), whole);
            assert_eq!(gathered(7), whole);
        }
        let scaled = |unit: f64| {
            let scaled_settings = FlipTestSettings { standardise: true, ..settings(5, 900) };
            let mut sample = FlipTestSample::new(3, &scaled_settings, Seed(3));
            people.iter().for_each(|(person, [x, y])| sample.add(*person, &[*x, *y * unit, 7.0]));
            done(sample, 3, &facets, &scaled_settings, false).facets
        };
        assert_eq!(scaled(1.0), scaled(1024.0));
    }
}
