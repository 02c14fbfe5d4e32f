//! Bootstraps of persons: with one row each they equal those of rows, repeated rows change nothing,
//! and the spread of refits is that of persons.

use crate::causal::bootstrap_draws::BootstrapDraws;
use crate::causal::encoding::{GraphEncoding, GraphVariable, MissingRows, TrainingBlocks};
use crate::causal::moments::EncodedMoments;
use crate::causal::nodes::NodeSet;
use crate::causal::person_units::PersonUnits;
use crate::causal::score::GraphScore;
use crate::data::rows::training::{TrainingBatch, TrainingRows};
use crate::data::{FeatureColumn, FeatureRows};
use crate::num::seed::RandomStream;
use crate::num::summary::quantile;

/// A group of two levels, and two numbers that follow from it.
fn variables() -> Vec<GraphVariable> {
    let variable = |(feature, levels): (usize, Option<Vec<u32>>)| GraphVariable {
        name: format!("v{feature}"),
        feature,
        levels,
    };
    [Some(vec![0, 1]), None, None].into_iter().enumerate().map(variable).collect()
}

struct PersonTraining {
    encoding: GraphEncoding,
    blocks: TrainingBlocks,
    rows: TrainingRows<'static>,
}

impl PersonTraining {
    /// Rows of these persons; `strata` names a variable whose shares bootstraps keep.
    fn new(rows: FeatureRows, persons: Vec<u64>, strata: Option<usize>) -> Self {
        let labels = vec![true; rows.n];
        let batch = TrainingBatch::in_memory(rows, labels, Vec::new());
        let rows = TrainingRows::in_groups(vec![TrainingBatch { persons, ..batch }]);
        let (encoding, blocks) =
            GraphEncoding::fit(&variables(), &rows, MissingRows::Error, strata).unwrap();
        PersonTraining { encoding, blocks, rows }
    }

    fn by_person(&self, replicates: usize) -> BootstrapDraws {
        let persons = PersonUnits::read(&self.encoding, &self.blocks, &self.rows).unwrap();
        BootstrapDraws::by_person(7, replicates, persons.unwrap()).with_all_rows()
    }

    fn by_row(&self, replicates: usize) -> BootstrapDraws {
        BootstrapDraws::seeded(7, replicates, &self.blocks.sizes).with_all_rows()
    }

    fn moments(&self, draws: &BootstrapDraws) -> Vec<EncodedMoments> {
        EncodedMoments::for_replicates(&self.encoding, &self.blocks, &self.rows, draws).unwrap()
    }
}

/// `rows` rows of each of `persons` persons, far apart; the rows of a person share the part `alike`
/// of their noise, and the group moves the first number by 1.
fn drawn(persons: usize, rows: usize, alike: f64, stream: &mut RandomStream) -> FeatureRows {
    let common: Vec<f64> = (0..persons).map(|_| stream.normal()).collect();
    let (mut group, mut first, mut second) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rows {
        for (person, common) in common.iter().enumerate() {
            let own = (person % 2) as u32;
            let noise = alike.sqrt() * common + (1.0 - alike).sqrt() * stream.normal();
            let x = f64::from(own) + noise;
            group.push(own);
            first.push(x);
            second.push(0.5 * x + stream.normal());
        }
    }
    let columns = vec![
        FeatureColumn::Code(group),
        FeatureColumn::Number(first),
        FeatureColumn::Number(second),
    ];
    FeatureRows::of(columns)
}

#[test]
fn persons_of_one_row_are_rows() {
    let mut stream = RandomStream::new(1, "persons of one row");
    let rows = drawn(3_000, 1, 0.0, &mut stream);
    for strata in [None, Some(0)] {
        let keys = (0..3_000).map(|i| i * 7919).collect();
        let training = PersonTraining::new(rows.clone(), keys, strata);
        let (of_persons, of_rows) = (training.by_person(6), training.by_row(6));
        let moments = training.moments(&of_persons);
        assert!(moments == training.moments(&of_rows), "{strata:?}");
        for (b, moments) in moments.iter().enumerate() {
            assert_eq!(of_persons.effective_rows(b), Some(moments.n_draws()));
        }
        assert_eq!(of_rows.effective_rows(0), None);
    }
}

/// The number of drawn persons is the number of persons, also in each group with strata, and all
/// rows of a drawn person occur.
#[test]
fn persons_are_drawn_whole() {
    let mut stream = RandomStream::new(2, "persons drawn whole");
    let training = PersonTraining::new(
        drawn(1_500, 3, 0.5, &mut stream),
        (0..4_500).map(|i| i % 1_500).collect(),
        Some(0),
    );
    let draws = training.by_person(5);
    for b in 0..5 {
        let blocks = training.blocks.sizes.iter().enumerate();
        let times: Vec<u32> = blocks
            .flat_map(|(block, sizes)| {
                draws.multiplicities(b, block, &vec![0; sizes.iter().sum::<u64>() as usize])
            })
            .collect();
        assert_eq!(times.len(), 4_500);
        for i in 0..1_500 {
            assert!(times[i] == times[i + 1_500] && times[i] == times[i + 3_000], "{b} {i}");
        }
        let of_group = |group: usize| {
            times[..1_500].iter().skip(group).step_by(2).copied().map(u64::from).sum::<u64>()
        };
        assert_eq!([of_group(0), of_group(1)], [750, 750], "{b}");
        // A person drawn twice is two persons.
        assert_eq!(draws.effective_rows(b), Some(1_500.0));
    }
}

/// Rows written three times under their person have the same scores as each row once: the edges are
/// the same.
#[test]
fn the_same_rows_again_find_no_edges() {
    let mut stream = RandomStream::new(3, "rows again");
    let rows = drawn(400, 1, 0.0, &mut stream);
    let thrice: Vec<usize> = (0..1_200).map(|i| i % 400).collect();
    let once = PersonTraining::new(rows.clone(), (0..400).collect(), None);
    let keys = (0..1_200).map(|i| i % 400).collect();
    let again = PersonTraining::new(rows.take(&thrice), keys, None);
    let scores = [&once, &again].map(|training| {
        let draws = training.by_person(0);
        let moments = training.moments(&draws);
        let n = draws.effective_rows(0).unwrap();
        assert!((n - 400.0).abs() < 1e-9, "{n}");
        GraphScore::of_effective_rows(&training.encoding, &moments[0], 2.0, n)
    });
    let gain = |score: &GraphScore, x: usize, parents: NodeSet| {
        score.local_score(x, parents).score - score.local_score(x, NodeSet::EMPTY).score
    };
    for x in 0..3 {
        for parents in (0..3).filter(|&p| p != x).map(NodeSet::single) {
            let [a, b] = scores.each_ref().map(|score| gain(score, x, parents));
            assert!((a - b).abs() < 1e-6 * a.abs().max(1.0), "{x} {parents:?}: {a} {b}");
        }
    }
    // Rows taken for people are three times as sure.
    let as_rows = &again.moments(&again.by_row(0))[0];
    let as_rows = GraphScore::new(&again.encoding, as_rows, 2.0);
    let (own, other) = (NodeSet::single(1), &scores[0]);
    assert!(gain(&as_rows, 2, own) > 2.5 * gain(other, 2, own));
}

/// How often the percentiles of refits contain the true effect of the group, 1: with draws of
/// persons, and with draws of rows.
fn held(persons: usize, rows: usize, samples: u64) -> [f64; 2] {
    let mut held = [0; 2];
    for sample in 0..samples {
        let mut stream = RandomStream::new(sample, "coverage of refits");
        let rows_of_persons = drawn(persons, rows, 0.7, &mut stream);
        let keys = (0..persons * rows).map(|i| (i % persons) as u64).collect();
        let training = PersonTraining::new(rows_of_persons, keys, None);
        let sd = match training.encoding.variables[1].form {
            crate::causal::encoding::VariableForm::Number { sd, .. } => sd,
            crate::causal::encoding::VariableForm::Levels { .. } => unreachable!("a number"),
        };
        for (held, draws) in held.iter_mut().zip([training.by_person(200), training.by_row(200)]) {
            let effect =
                |moments: &EncodedMoments| sd * moments.covariance(0, 1) / moments.covariance(0, 0);
            let moments = training.moments(&draws);
            let mut effects: Vec<f64> = moments[..200].iter().map(effect).collect();
            effects.sort_unstable_by(f64::total_cmp);
            let ends = [0.025, 0.975].map(|q| quantile(&effects, q).unwrap());
            *held += u64::from((ends[0]..=ends[1]).contains(&1.0));
        }
    }
    held.map(|held| held as f64 / samples as f64)
}

#[test]
fn refits_vary_as_persons_do() {
    let [by_person, by_row] = held(60, 5, 60);
    println!("60 x 5: {by_person:.3} by person, {by_row:.3} by row");
    assert!(by_person > 0.85 && by_row < 0.8, "{by_person} {by_row}");
}

#[test]
#[ignore = "slow, `make test-slow` runs it: 1,000 samples of each of two settings"]
fn refits_vary_as_persons_do_in_1_000_samples() {
    for (persons, rows, least, most) in [(60, 5, 0.91, 0.75), (200, 3, 0.93, 0.85)] {
        let [by_person, by_row] = held(persons, rows, 1_000);
        println!("{persons} x {rows}: {by_person:.3} by person, {by_row:.3} by row");
        assert!(by_person > least && by_row < most, "{by_person} {by_row}");
    }
}
