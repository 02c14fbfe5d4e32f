//! How often nominal 95 % intervals hold the true value, simulated from a seed, where people are
//! few and rates are rare.
//!
//! The head of [`interval`](crate::metric::interval) states what `CFAUDIT_TRIALS=20000`
//! gives, printed with `--nocapture`; fewer samples must agree.
//! Intervals of scores, of people with weights, of two models and of several classes are simulated
//! next to their engines.
//!
//! [`METHODS`] says which test draws which method.

use super::*;
use crate::metric::catalog::ccm::{nsr, psr};
use crate::metric::estimate::curve::CellFunction;
use crate::metric::evidence::units::{UnitKind, UnitSums, alone};
use crate::metric::interval::METHODS;
use crate::metric::tests::{katz, rate};
use crate::num::binomial_draws::binomial;

/// The share of intervals that hold, and the share of samples with an interval.
pub(in crate::metric) type IntervalCoverage = (f64, f64);

/// What a simulation gave: the share of samples with an interval, and the share of these in which
/// it held the true value.
#[derive(Default)]
pub(in crate::metric) struct CoverageCount {
    samples: u64,
    given: u64,
    held: u64,
    methods: BTreeSet<IntervalProcedure>,
}

impl CoverageCount {
    pub(in crate::metric) fn add(&mut self, interval: Option<ValueInterval>, truth: f64) {
        self.samples += 1;
        self.given += u64::from(interval.is_some());
        self.methods.extend(interval.map(|interval| interval.method));
        self.held += u64::from(
            interval.is_some_and(|interval| (interval.lo..=interval.hi).contains(&truth)),
        );
    }

    /// How many intervals were given.
    pub(in crate::metric) fn given(&self) -> u64 {
        self.given
    }

    /// The share of the intervals given that held.
    pub(in crate::metric) fn share_held(&self) -> f64 {
        self.held as f64 / self.given.max(1) as f64
    }

    /// What is wrong with what is stated, within four standard errors and the half of a last digit.
    pub(in crate::metric) fn check(&self, what: &str, stated: IntervalCoverage) -> Option<String> {
        let shares = [(self.held, self.given, stated.0), (self.given, self.samples, stated.1)];
        let [held, given] = shares
            .map(|(part, whole, _)| if whole == 0 { 0.0 } else { part as f64 / whole as f64 });
        println!("{what}: held {held:.4}, given {given:.4}");
        // Without any interval there is nothing to be held.
        let far = shares.iter().filter(|(_, whole, _)| *whole > 0).any(|&(part, whole, stated)| {
            let error = (stated * (1.0 - stated) / whole as f64).sqrt();
            (part as f64 / whole as f64 - stated).abs() > 4.0 * error + 0.005
        });
        far.then(|| format!("{what}: {held}, {given} instead of {stated:?}"))
    }
}

/// Fails where a method that names this test is in none of what the test drew.
pub(in crate::metric) fn assert_all_drawn<'a>(
    test: &str,
    held: impl IntoIterator<Item = &'a CoverageCount>,
) {
    let drawn: BTreeSet<_> = held.into_iter().flat_map(|held| &held.methods).copied().collect();
    let named = METHODS.iter().filter(|(_, of)| *of == test);
    assert!(named.clone().count() > 0, "no method names {test}");
    for (method, _) in named {
        assert!(drawn.contains(method), "{test} draws no interval {method:?}");
    }
}

pub(in crate::metric) fn trials(default: u64) -> u64 {
    std::env::var("CFAUDIT_TRIALS").map_or(default, |n| n.parse().unwrap())
}

/// A rate of n people drawn where it is p.
fn drawn(stream: &mut RandomStream, n: u64, p: f64) -> Rate {
    rate(binomial(stream, n, p), n)
}

/// People, the true rate of all groups; Wilson's interval of a rate, Newcombe's of a difference of
/// two such groups, Katz's of their ratio: the share held of those given, and the share given.
const FORMULAS: [(u64, f64, [IntervalCoverage; 3]); 9] = [
    (10, 0.5, [(0.98, 1.0), (0.959, 1.0), (0.985, 0.998)]),
    (10, 0.1, [(0.932, 1.0), (0.991, 1.0), (1.0, 0.426)]),
    (10, 0.02, [(0.984, 1.0), (1.0, 1.0), (1.0, 0.032)]),
    (30, 0.5, [(0.958, 1.0), (0.948, 1.0), (0.948, 1.0)]),
    (30, 0.1, [(0.973, 1.0), (0.974, 1.0), (0.997, 0.919)]),
    (30, 0.02, [(0.978, 1.0), (1.0, 1.0), (1.0, 0.207)]),
    (300, 0.5, [(0.943, 1.0), (0.945, 1.0), (0.954, 1.0)]),
    (300, 0.1, [(0.958, 1.0), (0.953, 1.0), (0.954, 1.0)]),
    (300, 0.02, [(0.942, 1.0), (0.958, 1.0), (0.974, 0.996)]),
];

#[test]
fn rates_differences_and_ratios() {
    let (z, mut wrong, mut all) = (z_of_level(0.95), Vec::new(), Vec::new());
    for (n, p, stated) in FORMULAS {
        let mut stream = RandomStream::new(1, &format!("coverage/formulas/{n}/{p}"));
        let mut held: [CoverageCount; 3] = Default::default();
        for _ in 0..trials(4000) {
            let (a, b) = (drawn(&mut stream, n, p), drawn(&mut stream, n, p));
            held[0].add(wilson(a, z), p);
            held[1].add(newcombe(a, b, z), 0.0);
            held[2].add(katz(a, b, 0.95), 1.0);
        }
        for ((held, name), stated) in held.iter().zip(["Wilson", "Newcombe", "Katz"]).zip(stated) {
            wrong.extend(held.check(&format!("{name}, {n} people, rate {p}"), stated));
        }
        all.extend(held);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_all_drawn("tests::coverage::rates_differences_and_ratios", &all);
}

/// People, the true share that switches; the score interval of CMCC, Katz's of P2NR and the hybrid
/// of a difference of two CMCC.
const COUNTS: [(u64, f64, [IntervalCoverage; 3]); 6] = [
    (10, 0.2, [(0.99, 0.077), (0.983, 0.413), (0.902, 0.007)]),
    (10, 0.02, [(0.988, 0.206), (0.994, 0.009), (1.0, 0.041)]),
    (30, 0.2, [(0.969, 1.0), (0.994, 0.92), (0.97, 1.0)]),
    (30, 0.02, [(0.98, 1.0), (1.0, 0.067), (0.999, 1.0)]),
    (300, 0.2, [(0.948, 1.0), (0.953, 1.0), (0.95, 1.0)]),
    (300, 0.02, [(0.959, 1.0), (0.997, 0.904), (0.987, 1.0)]),
];

#[test]
fn values_of_counts() {
    let score = |id: &str| match find(id).unwrap().reads {
        Reads::SwitchScore(score) => score,
        _ => unreachable!(),
    };
    let cmcc = score("cmcc");
    let (mut wrong, mut all) = (Vec::new(), Vec::new());
    for (n, share, stated) in COUNTS {
        // Half of the people are predicted positive, and of both halves as many switch: cells CN,
        // SP, SN, CP.
        let rare = (share * 500.0) as u64;
        let shares = [500 - rare, rare, rare, 500 - rare];
        let people = |stream: &mut RandomStream| {
            let mut cells = [0; 4];
            multinomial(stream, n, &shares, |cell, count| cells[cell] = count);
            cells
        };
        let eccm = |[cn, sp, sn, cp]: [u64; 4]| Eccm::labelled([cn, sp, sn, cp, 0, 0, 0, 0]);
        let truth = cmcc(&eccm(shares)).unwrap();
        let mut held: [CoverageCount; 3] = Default::default();
        for trial in 0..trials(1000) {
            let mut stream = RandomStream::new(trial, &format!("coverage/counts/{n}/{share}"));
            let samples = [people(&mut stream), people(&mut stream)];
            let units = [0, 1].map(|side: usize| {
                let kind = |cell: usize| UnitKind {
                    key: (4 * side + cell) as u64,
                    cells: vec![(cell, 1)],
                    sums: WeightSums::ones(samples[side][cell]),
                };
                let held = (0..4).filter(|cell| samples[side][*cell] > 0);
                UnitSums::new(4, false, held.map(kind).collect(), None)
            });
            let of_cmcc = |side: usize| {
                let value = cmcc(&eccm(samples[side])).ok()?;
                // CP, SP, SN, CN.
                let table = |cell: usize| Some([3, 1, 2, 0][cell]);
                Some(Estimate::of_cells(value, &units[side], table, CellFunction::Correlation))
            };
            let of_rate = |of: fn(&Eccm) -> Rate| {
                Share::new(&units[0], |cell| of(&eccm(alone(cell)))).map(Estimate::from)
            };
            let ratio = of_rate(psr).zip(of_rate(nsr)).filter(|(_, nsr)| nsr.value > 0.0);
            let gap = of_cmcc(0).zip(of_cmcc(1)).map(|(a, b)| a.minus(&b));
            let found = [of_cmcc(0), ratio.map(|(psr, nsr)| psr.over(&nsr)), gap];
            for ((held, found), truth) in held.iter_mut().zip(found).zip([truth, 1.0, 0.0]) {
                held.add(found.and_then(|found| found.interval(0.95).ok()), truth);
            }
        }
        for ((held, name), stated) in
            held.iter().zip(["CMCC", "P2NR", "difference of CMCC"]).zip(stated)
        {
            wrong.extend(held.check(&format!("{name}, {n} people, {share} switch"), stated));
        }
        all.extend(held);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_all_drawn("tests::coverage::values_of_counts", &all);
}
