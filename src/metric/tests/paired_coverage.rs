//! How often nominal 95 % intervals of differences of two models, and of changes between two runs,
//! hold the true value, simulated from a seed.
//!
//! A row is predicted positive by the first model with probability p, where a normal number is
//! small. The second model repeats nine of ten decisions of the first; the others it draws again
//! with its own probability, so that the true difference of the shares is a tenth of that of both
//! probabilities. Normal numbers of the rows of a person have the correlation c. Weights are
//! lognormal. Two runs share some of their rows.
//!
//! A few hundred samples by default; `make test-slow` draws [`MANY_SAMPLES`] of more settings and
//! prints the figures with `--nocapture`.

use super::coverage::{CoverageCount, assert_all_drawn, trials};
use super::*;
use crate::num::summary::normal_quantile;

/// Samples of the slow tests.
const MANY_SAMPLES: u64 = 4000;

/// What is drawn.
#[derive(Debug, Clone, Copy)]
struct PairedDesign {
    persons: u64,
    /// Rows of each.
    rows: u64,
    /// Correlation of the normal numbers of the rows of a person.
    correlation: f64,
    /// Standard deviation of the logarithm of weights; 0 without weights.
    sigma: f64,
    /// Probability of a positive prediction under both models.
    rates: [f64; 2],
    /// Of the rows of each run the share that is in both.
    shared: f64,
}

impl PairedDesign {
    const ROWS: PairedDesign = PairedDesign {
        persons: 100,
        rows: 1,
        correlation: 0.0,
        sigma: 0.0,
        rates: [0.5, 0.5],
        shared: 1.0,
    };

    /// Whether both predict a row of a person positive.
    fn said(&self, of_person: [f64; 2], stream: &mut RandomStream) -> [bool; 2] {
        let (shared, own) = (self.correlation.sqrt(), (1.0 - self.correlation).sqrt());
        let [first, again] = [0, 1].map(|of| {
            let number = shared * of_person[of] + own * stream.normal();
            number < normal_quantile(self.rates[of])
        });
        [first, if stream.u01() < 0.9 { first } else { again }]
    }

    /// The rows of one sample.
    fn draw(&self, stream: &mut RandomStream) -> PairedCounts {
        let unit = CountingUnit { weighted: self.sigma > 0.0, persons: self.rows > 1 };
        let mut counts = PairedCounts::new(1, unit);
        // As many are in the first run only as in the second only.
        let both = (self.shared * self.persons as f64).round() as u64;
        for person in 0..2 * self.persons - both {
            let is_in = [person < self.persons, person < both || person >= self.persons];
            let of_person = [stream.normal(), stream.normal()];
            for _ in 0..self.rows {
                let said = self.said(of_person, stream);
                let cell = |of: usize| is_in[of].then(|| confusion_cell(Some(true), said[of]));
                let weight = match unit.weighted {
                    true => (1000.0 * libm::exp(self.sigma * stream.normal())).ceil() as u64,
                    false => 1,
                };
                counts.add((person, weight), [PairedCell { place: 0, cells: [cell(0), cell(1)] }]);
            }
        }
        counts
    }

    /// How often the difference of the shares is held.
    fn cover(&self, samples: u64) -> CoverageCount {
        let asked = of_families(&[MetricFamily::Performance]);
        let truth = 0.1 * (self.rates[0] - self.rates[1]);
        let mut held = CoverageCount::default();
        for sample in 0..samples {
            let mut stream = RandomStream::new(sample, &format!("coverage/paired/{self:?}"));
            let all = compare_rows(&self.draw(&mut stream), &asked);
            let is = |metric: &str| metric == "pprev";
            let found = all.iter().find(|c| is(c.metric.id) && c.scope == MetricScope::Total);
            held.add(found.unwrap().interval, truth);
        }
        held
    }
}

/// Draws every design so often, with either difference and rates; each must hold the true value in
/// nearly as many samples as is claimed.
fn check(samples: u64, designs: &[PairedDesign], least: f64) -> Vec<CoverageCount> {
    let rates = [[0.5, 0.5], [0.1, 0.1], [0.5, 0.1]];
    let cells =
        designs.iter().flat_map(|design| rates.map(|rates| PairedDesign { rates, ..*design }));
    let (mut wrong, mut all) = (Vec::new(), Vec::new());
    for cell in cells {
        let held = cell.cover(samples);
        println!("{cell:?}: {:.4}, given {}", held.share_held(), held.given());
        let error = (least * (1.0 - least) / samples as f64).sqrt();
        let is_given = held.given() == samples;
        if !is_given || held.share_held() < least - 3.0 * error {
            wrong.push(format!("{cell:?}: {}, given {}", held.share_held(), held.given()));
        }
        all.push(held);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    all
}

/// People, with weights and without.
fn of_people(sizes: &[u64]) -> Vec<PairedDesign> {
    let of =
        |&persons| [0.0, 1.0].map(|sigma| PairedDesign { persons, sigma, ..PairedDesign::ROWS });
    sizes.iter().flat_map(of).collect()
}

/// Persons with several rows, with weights and without.
fn of_persons(designs: &[(u64, u64)]) -> Vec<PairedDesign> {
    let with = |(persons, rows), correlation, sigma| PairedDesign {
        persons,
        rows,
        correlation,
        sigma,
        ..PairedDesign::ROWS
    };
    let of =
        |&design| [(0.0, 0.0), (0.6, 0.0), (0.6, 0.5)].map(|(c, sigma)| with(design, c, sigma));
    designs.iter().flat_map(of).collect()
}

/// Two runs that share some of their rows.
fn of_runs(sizes: &[u64]) -> Vec<PairedDesign> {
    let of = |&persons| {
        [0.1, 0.5, 0.9].map(|shared| PairedDesign { persons, shared, ..PairedDesign::ROWS })
    };
    sizes.iter().flat_map(of).collect()
}

#[test]
fn two_models() {
    let mut held = check(trials(150), &of_people(&[10, 100]), TWO_MODELS);
    held.extend(check(trials(100), &of_persons(&[(30, 10)]), TWO_MODELS));
    assert_all_drawn("tests::paired_coverage::two_models", &held);
}

#[test]
fn two_runs() {
    check(trials(150), &of_runs(&[100]), TWO_RUNS);
}

/// What intervals of two models hold at least.
const TWO_MODELS: f64 = 0.94;

/// What intervals of two runs hold at least.
const TWO_RUNS: f64 = 0.93;

#[test]
#[ignore = "slow, `make test-slow` runs it: 4,000 samples of each of 57 settings"]
fn two_models_in_4_000_samples() {
    check(trials(MANY_SAMPLES), &of_people(&[10, 30, 100, 300, 3000]), TWO_MODELS);
    check(trials(MANY_SAMPLES), &of_persons(&[(500, 3), (30, 10), (10, 20)]), TWO_MODELS);
}

#[test]
#[ignore = "slow, `make test-slow` runs it: 4,000 samples of each of 27 settings"]
fn two_runs_in_4_000_samples() {
    check(trials(MANY_SAMPLES), &of_runs(&[30, 300, 3000]), TWO_RUNS);
}
