//! Whether the band of a hidden cause holds what a hidden cause did, in generated audits: something
//! that no column holds is a cause of the group and of features, and the effect of the group itself
//! is known.
//!
//! Age and the hidden cause decide by a threshold who is in group b. Three features follow from the
//! group, from age and from one another, with random coefficients. The graphs are those of
//! bootstraps in the order of time, without the edges that do not improve BIC, or those that the
//! program finds. A band is that of the target *any* at the planted strength, over graphs and
//! refits, from the push down to the push up; it should hold the share of group a that would switch
//! as members of b. Independent simulations in numpy, of other seeds, found the figures from which
//! the tests may be off by four audits of a hundred.

use std::fmt::Write;
use std::ops::{Range, RangeInclusive};

use crate::frame::TableRecord;
use crate::planted::Draws;
use crate::work::{Work, files};

const SEEDS: u64 = 100;
const PEOPLE: usize = 5000;
const TRAINING: usize = 4000;
const BOOTSTRAPS: usize = 60;
const PENALTY: f64 = 2.0;

/// Age, whether in group b, three features, the hidden cause.
type Person = [f64; 6];

/// Covariances of a person's numbers.
type Covariances = [Person; 6];

const NAMES: [&str; 5] = ["age", "sex", "d1", "d2", "d3"];
const AGE: usize = 0;
const GROUP: usize = 1;
const HIDDEN: usize = 5;
const FEATURES: Range<usize> = 2..5;

const BAG: &str = "{bag: bag.json}";
const BOSS: &str = "{boss: {penalty: 2, starts: 3}}";

/// A hidden cause.
#[derive(Debug, Clone, Copy)]
struct Planted {
    /// Its coefficient for what decides the group, which has the variance 1.
    group: f64,
    /// Its coefficients for the features, signs at random; the rest of each has the variance 1.
    features: [f64; 3],
    discovery: &'static str,
}

/// An audit.
struct Audit {
    people: Vec<Person>,
    /// What membership in b adds to each feature.
    effects: [f64; 3],
    bag: String,
    labels: Vec<bool>,
}

/// The model: log odds.
struct Score {
    intercept: f64,
    weights: Person,
}

impl Audit {
    fn new(planted: Planted, seed: u64) -> Self {
        let mut draws = Draws(seed << 32);
        let mut coefficient = |from: f64, to: f64| {
            let size = from + (to - from) * draws.uniform();
            if draws.uniform() < 0.5 { -size } else { size }
        };
        let group = [coefficient(0.3, 0.3), coefficient(planted.group, planted.group)];
        // Of age, of the group, of the feature before, of the hidden cause.
        let features = planted.features.map(|hidden| {
            let [age, group] = [(); 2].map(|()| coefficient(0.2, 0.6));
            [age, group, coefficient(0.3, 0.7), coefficient(hidden, hidden)]
        });
        let label = [(); 4].map(|()| coefficient(0.3, 0.9));
        let rest = (1.0 - group[0] * group[0] - group[1] * group[1]).sqrt();
        let (mut people, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..PEOPLE {
            let [age, hidden] = [(); 2].map(|()| draws.normal());
            let latent = group[0] * age + group[1] * hidden + rest * draws.normal();
            let is_b = f64::from(u8::from(latent > 0.0));
            let mut before = 0.0;
            let [d1, d2, d3] = features.map(|of| {
                let of_others = of[0] * age + of[1] * is_b + of[2] * before + of[3] * hidden;
                before = of_others + draws.normal();
                before
            });
            let log_odds = label[0] * age + label[1] * d1 + label[2] * d2 + label[3] * d3;
            people.push([age, is_b, d1, d2, d3, hidden]);
            labels.push(draws.uniform() < 1.0 / (1.0 + (-log_odds).exp()));
        }
        let mut before = 0.0;
        let effects = features.map(|of| {
            before = of[1] + of[2] * before;
            before
        });
        let graphs: Vec<String> = (0..BOOTSTRAPS)
            .map(|_| {
                let any = || people[(draws.uniform() * TRAINING as f64) as usize];
                let drawn: Vec<Person> = std::iter::repeat_with(any).take(TRAINING).collect();
                format!("{{\"edges\":[{}]}}", edges(&covariances(&drawn)))
            })
            .collect();
        let bag = format!("{{\"graphs\":[{}]}}", graphs.join(","));
        Audit { people, effects, bag, labels }
    }

    fn rows(&self) -> String {
        let mut text = "id,part,age,sex,d1,d2,d3,paid\n".to_owned();
        for (id, ([age, is_b, d1, d2, d3, _], paid)) in
            self.people.iter().zip(&self.labels).enumerate()
        {
            let part = if id < TRAINING { "past" } else { "now" };
            let sex = if *is_b > 0.5 { "b" } else { "a" };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{id},{part},{age},{sex},{d1},{d2},{d3},{}", u8::from(*paid));
        }
        text
    }

    /// The strength of the hidden cause for a score: one share of both with the same bias.
    fn strength(&self, score: &Score) -> f64 {
        let all = covariances(&self.people);
        let along = |left: &Covariances, a: &Person, b: &Person| -> f64 {
            (0..6).flat_map(|i| (0..6).map(move |j| a[i] * left[i][j] * b[j])).sum()
        };
        let share = |given: &[usize], of: &Person| {
            let (left, mut hidden) = (left(&all, given), [0.0; 6]);
            hidden[HIDDEN] = 1.0;
            let both = along(&left, of, &hidden);
            both * both / (along(&left, of, of) * left[HIDDEN][HIDDEN])
        };
        let (mut group, mut features) = ([0.0; 6], score.weights);
        (group[GROUP], features[AGE]) = (1.0, 0.0);
        let (of_group, of_score) = (share(&[AGE], &group), share(&[AGE, GROUP], &features));
        let squared = of_score * of_group / (1.0 - of_group);
        0.5 * ((squared * squared + 4.0 * squared).sqrt() - squared)
    }

    /// The rate of the switches to b that the group makes, and its metric.
    fn truth(&self, score: &Score) -> (f64, &'static str) {
        let movement: f64 = FEATURES.map(|i| score.weights[i] * self.effects[i - 2]).sum();
        let positive = |log_odds: f64| log_odds > 0.0;
        let margin = |person: &Person| {
            score.intercept + person.iter().zip(&score.weights).map(|(x, w)| x * w).sum::<f64>()
        };
        let audited = self.people[TRAINING..].iter().filter(|person| person[GROUP] < 0.5);
        let side: Vec<f64> =
            audited.map(margin).filter(|x| positive(*x) != (movement > 0.0)).collect();
        let switched = side.iter().filter(|x| positive(**x + movement) == (movement > 0.0));
        let metric = if movement > 0.0 { "psr" } else { "nsr" };
        (switched.count() as f64 / side.len() as f64, metric)
    }
}

fn covariances(people: &[Person]) -> Covariances {
    let n = people.len() as f64;
    let mean: Person = std::array::from_fn(|i| people.iter().map(|x| x[i]).sum::<f64>() / n);
    let mut sums = [[0.0; 6]; 6];
    for x in people {
        let centred: Person = std::array::from_fn(|i| x[i] - mean[i]);
        for (sums, of_row) in sums.iter_mut().zip(centred) {
            sums.iter_mut().zip(centred).for_each(|(sum, of)| *sum += of_row * of / n);
        }
    }
    sums
}

/// What conditioning on these numbers leaves.
fn left(of: &Covariances, given: &[usize]) -> Covariances {
    let mut left = *of;
    for &g in given {
        let pivot = left[g];
        for row in &mut left {
            let factor = row[g] / pivot[g];
            row.iter_mut().zip(pivot).for_each(|(x, p)| *x -= factor * p);
        }
    }
    left
}

/// The edges of a graph in the order of time: each starts with edges from all earlier ones, and the
/// worst is removed as long as BIC falls.
fn edges(of: &Covariances) -> String {
    let mut edges = Vec::new();
    for v in FEATURES {
        let bic = |parents: &[usize]| {
            let n = TRAINING as f64;
            n * left(of, parents)[v][v].ln() + PENALTY * n.ln() * parents.len() as f64
        };
        let mut parents: Vec<usize> = (0..v).collect();
        loop {
            let without = |p: &usize| parents.iter().copied().filter(|q| q != p).collect();
            let fewer: Vec<Vec<usize>> = parents.iter().map(without).collect();
            match fewer.into_iter().min_by(|a, b| bic(a).total_cmp(&bic(b))) {
                Some(best) if bic(&best) < bic(&parents) => parents = best,
                _ => break,
            }
        }
        edges.extend(parents.iter().map(|&p| format!("[\"{}\",\"{}\"]", NAMES[p], NAMES[v])));
    }
    edges.join(",")
}

fn job(discovery: &str, strength: f64) -> String {
    format!(
        "cfaudit: 1
name: hidden
data:
  rows: {{csv: {{path: rows.csv}}}}
  row_id: id
  label: {{column: paid, positive: [1], favourable: positive}}
  sensitive: {{sex: {{groups: [a, b], reference: a}}}}
  features: {{continuous: [age, d1, d2, d3]}}
  split: {{column: part, train: [past], audit: [now]}}
counterfactuals:
  world:
    graph-uncertain:
      discovery: {discovery}
      bootstraps: {BOOTSTRAPS}
      variables: [age, sex, d1, d2, d3]
      sensitivity: {{hidden_cause: {{strengths: [{strength}], benchmark: false}}}}
      knowledge:
        time:
          tiers:
            - {{columns: [age, sex], edges_within: forbidden}}
            - {{columns: [d1]}}
            - {{columns: [d2]}}
            - {{columns: [d3]}}
models: {{score: {{logistic: {{l2: 1.0, omit: [sex]}}}}}}
metrics: {{families: [ccm]}}
"
    )
}

/// The model that the program trained.
fn score(work: &Work) -> Score {
    let cache = files(&work.path("cache"));
    let (_, model) = cache.iter().find(|(name, _)| name.ends_with("model-0.json")).unwrap();
    let model: serde_json::Value = serde_json::from_slice(model).unwrap();
    let mut score = Score { intercept: model["intercept"].as_f64().unwrap(), weights: [0.0; 6] };
    let forms = model["encoder"]["features"].as_array().unwrap().iter();
    for form in forms.filter_map(|form| form.as_object()?.values().next()) {
        let Some(at) = form["at"].as_u64() else { continue };
        let at = at as usize;
        let name = model["encoder"]["columns"][at].as_str().unwrap();
        let [mean, sd] = ["mean", "sd"].map(|of| form[of].as_f64().unwrap());
        let weight = model["coefficients"][at].as_f64().unwrap() / sd;
        score.weights[NAMES.iter().position(|of| *of == name).unwrap()] = weight;
        score.intercept -= weight * mean;
    }
    score
}

/// Whether the truth is within the band of the graphs as they are, and within that of the hidden
/// cause.
fn held(planted: Planted, seed: u64) -> [bool; 2] {
    let (work, audit) = (Work::new(), Audit::new(planted, seed));
    work.write("rows.csv", &audit.rows());
    work.write("bag.json", &audit.bag);
    work.write("job.yaml", &job(planted.discovery, 0.1));
    work.run(0, "job.yaml", "--quiet --until train");
    let score = score(&work);
    let strength = audit.strength(&score);
    work.write("job.yaml", &job(planted.discovery, strength));
    work.run(0, "job.yaml", "--quiet");
    let (truth, metric) = audit.truth(&score);
    let table = work.table("hidden_cause");
    [0.0, strength].map(|strength| {
        let is_asked = |row: &TableRecord<'_>| {
            ["from_group", "metric", "target"].map(|name| row.text(name)) == ["a", metric, "any"]
                && row.real("strength") == Some(strength)
        };
        let rows: Vec<_> = table.records().filter(is_asked).collect();
        assert_eq!(rows.len(), 2, "one row for each push");
        let lowest = rows.iter().map(|row| row.real("world_lo").unwrap()).fold(1.0, f64::min);
        let highest = rows.iter().map(|row| row.real("world_hi").unwrap()).fold(0.0, f64::max);
        (lowest - 1e-12..=highest + 1e-12).contains(&truth)
    })
}

/// Asserts that the band of the hidden cause holds the truth in about this number of a hundred
/// audits, and that of the graphs as they are in a number within `graphs`.
#[track_caller]
fn assert_holds(planted: Planted, graphs: RangeInclusive<usize>, expected: usize) {
    let all: Vec<[bool; 2]> = (0..SEEDS).map(|seed| held(planted, seed)).collect();
    let [as_they_are, hidden] = [0, 1].map(|at| all.iter().filter(|of| of[at]).count());
    eprintln!("{planted:?}: {as_they_are} of {SEEDS}, with the hidden cause {hidden}");
    assert!(graphs.contains(&as_they_are), "{planted:?}: {as_they_are} of {SEEDS}");
    assert!(hidden.abs_diff(expected) <= 4, "{planted:?}: {hidden} of {SEEDS}, not {expected}");
}

/// It explains 10 % of the rest of the group and 9 % of that of the feature.
#[test]
#[ignore = "slow, `make test-slow` runs it: 200 runs"]
fn a_cause_of_the_second_feature_is_within_its_band() {
    let planted = Planted { group: 0.385, features: [0.0, 0.33, 0.0], discovery: BAG };
    assert_holds(planted, 0..=50, 98);
}

/// The same of the first feature, from which the others follow.
#[test]
#[ignore = "slow, `make test-slow` runs it: 200 runs"]
fn a_cause_of_the_first_feature_is_within_its_band() {
    let planted = Planted { group: 0.385, features: [0.33, 0.0, 0.0], discovery: BAG };
    assert_holds(planted, 0..=50, 98);
}

/// It explains 10 % of the rest of the group and on average 8 % of that of the score.
const OF_ALL: Planted = Planted { group: 0.385, features: [0.32; 3], discovery: BAG };

#[test]
#[ignore = "slow, `make test-slow` runs it: 200 runs"]
fn a_cause_of_all_features_is_within_its_band() {
    assert_holds(OF_ALL, 0..=50, 96);
}

#[test]
#[ignore = "slow, `make test-slow` runs it: 200 runs"]
fn a_cause_of_all_features_is_within_its_band_over_graphs_that_the_program_finds() {
    assert_holds(Planted { discovery: BOSS, ..OF_ALL }, 0..=50, 96);
}

/// It explains 20 % and on average 15 %.
#[test]
#[ignore = "slow, `make test-slow` runs it: 200 runs"]
fn a_strong_cause_of_all_features_is_within_its_band() {
    let planted = Planted { group: 0.544, features: [0.47; 3], discovery: BAG };
    assert_holds(planted, 0..=50, 100);
}

/// A cause that is not linked with the group changes nothing, however strong it is for features.
#[test]
#[ignore = "slow, `make test-slow` runs it: 200 runs"]
fn a_cause_of_features_alone_leaves_what_the_graphs_say() {
    let planted = Planted { group: 0.0, features: [0.62; 3], discovery: BAG };
    assert_holds(planted, 92..=100, 97);
}
