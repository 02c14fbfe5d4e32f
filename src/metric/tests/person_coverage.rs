//! How often nominal 95 % intervals hold the true value where a person has several rows, simulated
//! from a seed, next to intervals that take rows for people, and for shares, differences and ratios
//! next to what another program simulated (`tests/expected/persons/coverage.json`).
//!
//! Rows of a person are beta-binomial: every person has a rate of their own, drawn around the true
//! rate so that two rows of a person have the stated correlation; in a separate simulation they
//! have one of two rates. Persons are drawn by kind (how many of their rows are cases), which gives
//! the same samples and costs a binomial draw a kind.
//!
//! A few hundred samples by default; `make test-slow` draws 20,000, prints the table of
//! `docs/metrics.md` with `--nocapture`, and compares more closely.

use super::coverage::{CoverageCount, assert_all_drawn, trials};
use super::*;

/// Samples of the slow test, as many as the other program drew.
const ALL_SAMPLES: u64 = 20_000;

/// How likely it is that a person has so many cases.
struct PersonKinds {
    /// Rows of a person.
    rows: u64,
    /// By cases.
    weights: Vec<u64>,
}

impl PersonKinds {
    /// From the logarithm of the probability of each sequence of rows with so many cases.
    fn of(rows: u64, ln_likely: impl Fn(f64, f64) -> f64) -> Self {
        let ln_choose = |n: u64, k: u64| {
            let gamma = |x: u64| libm::lgamma(x as f64 + 1.0);
            gamma(n) - gamma(k) - gamma(n - k)
        };
        let weight = |k: u64| {
            let ln = ln_choose(rows, k) + ln_likely(k as f64, (rows - k) as f64);
            (libm::exp(ln) * (1_u64 << 52) as f64) as u64
        };
        PersonKinds { rows, weights: (0..=rows).map(weight).collect() }
    }

    /// The rates of persons are of a beta distribution.
    fn beta_binomial(rows: u64, p: f64, correlation: f64) -> Self {
        if correlation == 0.0 {
            return Self::of(rows, |k, others| k * libm::log(p) + others * libm::log1p(-p));
        }
        let ln_beta = |a: f64, b: f64| libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
        let sum = (1.0 - correlation) / correlation;
        let (a, b) = (p * sum, (1.0 - p) * sum);
        Self::of(rows, |k, others| ln_beta(a + k, b + others) - ln_beta(a, b))
    }

    /// Of a share p of the persons most rows are cases, of the others few.
    fn two_kinds(rows: u64, p: f64, correlation: f64) -> Self {
        let own = (1.0 - correlation.sqrt()) * p;
        let kinds = [(p, correlation.sqrt() + own), (1.0 - p, own)];
        Self::of(rows, |k, others| {
            let likely = |(share, rate): (f64, f64)| {
                share * libm::exp(k * libm::log(rate) + others * libm::log1p(-rate))
            };
            libm::log(kinds.map(likely).iter().sum())
        })
    }

    /// The rate of so many persons.
    fn draw(&self, stream: &mut RandomStream, persons: u64, side: u64) -> (Rate, Share) {
        let mut each: Vec<(u64, Rate)> = Vec::new();
        multinomial(stream, persons, &self.weights, |cases, times| {
            for _ in 0..times {
                let key = side * persons + each.len() as u64;
                each.push((key, rate(cases as u64, self.rows)));
            }
        });
        let cases = each.iter().map(|(_, own)| own.numerator).sum();
        let all = rate(cases, persons * self.rows);
        (all, share_of_persons(all, each.into_iter()))
    }
}

/// What intervals of two groups hold, by method; `rule` are those by person, `plain` those that
/// take rows for people.
#[derive(Default)]
struct HeldByMethod(BTreeMap<&'static str, CoverageCount>);

impl HeldByMethod {
    fn add(&mut self, [(x, a), (y, b)]: [(Rate, Share); 2], p: f64) {
        let z = z_of_level(0.95);
        let mut add = |name, interval, truth| {
            self.0.entry(name).or_default().add(interval, truth);
        };
        add("wilson_rule", Some(a.wilson(z)), p);
        add("wilson_plain", wilson(x, z), p);
        let (a, b) = (Estimate::from(a), Estimate::from(b));
        add("newcombe_rule", a.minus(&b).interval(0.95).ok(), 0.0);
        add("newcombe_plain", newcombe(x, y, z), 0.0);
        let ratio = (b.value > 0.0).then(|| a.over(&b));
        add("katz_rule", ratio.and_then(|ratio| ratio.interval(0.95).ok()), 1.0);
        add("katz_plain", katz(x, y, 0.95), 1.0);
    }
}

/// Persons with so many rows each.
type PersonDesign = (u64, u64);

/// Lowest coverage of a design by method, and what the other program found at lowest.
type LowestCoverage = BTreeMap<(PersonDesign, &'static str), [f64; 2]>;

/// Every cell of the other program again, with so many samples; what is wrong, the lowest, and all.
fn of_independent_groups(samples: u64) -> (Vec<String>, LowestCoverage, Vec<CoverageCount>) {
    let (mut wrong, mut lowest, mut all) = (Vec::new(), LowestCoverage::new(), Vec::new());
    for cell in json(expected("persons/coverage.json")).as_array().unwrap() {
        let whole = |name: &str| cell[name].as_u64().unwrap();
        let real = |name: &str| cell[name].as_f64().unwrap();
        let (persons, rows, p, icc) = (whole("persons"), whole("rows"), real("rate"), real("icc"));
        let name = format!("{persons} x {rows}, rate {p}, correlation {icc}");
        let mut stream = RandomStream::new(1, &format!("coverage/persons/{name}"));
        let kinds = PersonKinds::beta_binomial(rows, p, icc);
        let mut held = HeldByMethod::default();
        for _ in 0..samples {
            held.add([0, 1].map(|side| kinds.draw(&mut stream, persons, side)), p);
        }
        for (method, held) in held.0 {
            let (found, told) = (held.share_held(), real(method));
            println!("{name}, {method}: {found:.4}, told {told:.4}");
            // Both programs drew samples; near 0 and 1 a few of them are all that differs. A ratio
            // has an interval only where both groups have a case.
            let near_end = told.clamp(5e-4, 1.0 - 5e-4) * (1.0 - told).max(5e-4);
            let theirs = match method.starts_with("katz") {
                true => real("katz_given") * ALL_SAMPLES as f64,
                false => ALL_SAMPLES as f64,
            };
            let error = (near_end / held.given() as f64 + near_end / theirs).sqrt();
            if (found - told).abs() > 4.0 * error + 1e-4 {
                wrong.push(format!("{name}, {method}: {found} instead of {told}"));
            }
            let least = lowest.entry(((persons, rows), method)).or_insert([1.0; 2]);
            *least = [least[0].min(found), least[1].min(told)];
            all.push(held);
        }
    }
    (wrong, lowest, all)
}

#[test]
fn coverage_of_persons() {
    let (wrong, lowest, all) = of_independent_groups(trials(400));
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_all_drawn("tests::person_coverage::coverage_of_persons", &all);
    // What rows taken for people claim is far from true.
    assert!(lowest[&((10, 20), "wilson_plain")][0] < 0.3, "{lowest:?}");
}

/// As many samples as the other program drew: the lowest coverage is that which is stated, and what
/// rows taken for people claim is as far from true.
#[test]
#[ignore = "slow, `make test-slow` runs it: 20,000 samples of each of 48 settings"]
fn coverage_of_persons_in_20_000_samples() {
    let (wrong, lowest, _) = of_independent_groups(ALL_SAMPLES);
    println!("lowest of 16 settings (ours, told)");
    for (((persons, rows), method), [found, told]) in &lowest {
        println!("{persons} x {rows} {method}: {found:.4} {told:.4}");
        assert!(!method.ends_with("rule") || *found > 0.943, "{persons} x {rows} {method}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let below = |design, method, share: f64| assert!(lowest[&(design, method)][0] < share);
    below((500, 3), "wilson_plain", 0.82);
    below((30, 10), "wilson_plain", 0.48);
    below((10, 20), "wilson_plain", 0.25);
}

/// Persons and the share of them whose rows mostly are cases; each has ten rows, and two rows of a
/// person have the correlation 0.6.
const TWO_KINDS: [(u64, f64); 10] = [
    (10, 0.2),
    (12, 0.2),
    (15, 0.2),
    (20, 0.2),
    (20, 0.1),
    (30, 0.1),
    (40, 0.1),
    (40, 0.05),
    (60, 0.05),
    (80, 0.05),
];

/// What an interval by person must hold of persons of two kinds, a share p of them of the rarer
/// one: what is claimed, or less where it is likely that nobody of the rarer kind is drawn. Then
/// nothing in the rows tells of that kind, and the interval misses; at the other end it may miss in
/// half of the samples in which it may miss at all.
pub(super) fn least_of_two_kinds(persons: u64, p: f64, claimed: f64) -> f64 {
    claimed.min((1.0 + claimed) / 2.0 - libm::pow(1.0 - p, persons as f64))
}

/// Wilson's interval of persons of two kinds, with so many samples.
fn of_two_kinds(samples: u64) {
    let z = z_of_level(0.95);
    for (persons, p) in TWO_KINDS {
        let name = format!("{persons} persons, {p} of them of the rarer kind");
        let mut stream = RandomStream::new(1, &format!("coverage/two kinds/{name}"));
        let kinds = PersonKinds::two_kinds(10, p, 0.6);
        let mut held = CoverageCount::default();
        (0..samples)
            .for_each(|_| held.add(Some(kinds.draw(&mut stream, persons, 0).1.wilson(z)), p));
        let least = least_of_two_kinds(persons, p, 0.946);
        let error = (least * (1.0 - least) / samples as f64).sqrt();
        println!("{name}: {:.4}, at least {least:.4}", held.share_held());
        assert!(held.share_held() > least - 4.0 * error, "{name}: {}", held.share_held());
    }
}

#[test]
fn coverage_of_persons_of_two_kinds() {
    of_two_kinds(trials(2000));
}

#[test]
#[ignore = "slow, `make test-slow` runs it: 20,000 samples of each of 10 settings"]
fn coverage_of_persons_of_two_kinds_in_20_000_samples() {
    of_two_kinds(ALL_SAMPLES);
}
