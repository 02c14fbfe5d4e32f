//! Two models compared: against the values of each by itself, in both orders, in partitions,
//! against values computed by hand and by another program, and how often the interval holds the
//! truth.

use super::coverage::{CoverageCount, IntervalCoverage};
use super::*;
use crate::metric::difference;
use crate::metric::evidence::person::cell_index;
use crate::metric::value::compare::compare_switches;

/// The same people under another model: a third of them at another score.
fn another(people: &TestPeople, groups: usize) -> TestPeople {
    let mut stream = RandomStream::new(77, &format!("another/{groups}"));
    let mut moved = |predicted: Option<bool>| {
        if stream.u01() < 0.3 { predicted.map(|p| !p) } else { predicted }
    };
    let one = |(person, cfs): &(ScoredPerson, Vec<ScoredCounterfactual>)| {
        let person = ScoredPerson { predicted: moved(person.predicted), ..*person };
        (
            person,
            cfs.iter()
                .map(|cf| ScoredCounterfactual { predicted: moved(cf.predicted), ..*cf })
                .collect(),
        )
    };
    people.iter().map(one).collect()
}

/// What people weigh by their number; none where all count alike.
type Weights = Option<fn(u64) -> u64>;

/// The evidence of one model alone.
fn alone(
    people: &TestPeople,
    groups: usize,
    weights: Weights,
) -> (FactualCounts, CounterfactualCounts) {
    let unit = CountingUnit { weighted: weights.is_some(), persons: false };
    let mut factual = FactualCounts::new(groups).counted_by(unit);
    let mut counts = CounterfactualCounts::new(groups).counted_by(unit);
    for (i, (person, cfs)) in (0..).zip(people) {
        let person = ScoredPerson { weight: weights.map_or(1, |weight| weight(i)), ..*person };
        let row = (person.group, i, person.weight);
        factual.add(row, person.label, person.predicted, false);
        counts.add_person(i, &person, cfs);
    }
    counts.settle();
    (factual, counts)
}

/// What both models say, of rows and of counterfactuals, gathered in `parts` batches and merged
/// last first. The second has only the first of these people, where it has fewer.
fn gather(
    [first, second]: [&TestPeople; 2],
    groups: usize,
    parts: usize,
    weights: Weights,
) -> [PairedCounts; 2] {
    let unit = CountingUnit { weighted: weights.is_some(), persons: false };
    let of = |i: usize| (i as u64, weights.map_or(1, |weight| weight(i as u64)));
    let said = |of: &ScoredPerson| Some(confusion_cell(of.label, of.predicted?));
    let moved = |of: &ScoredPerson, cf: &ScoredCounterfactual| {
        Some(cell_index(of.label, of.predicted?, cf.predicted?))
    };
    let empty = || PairedCounts::new(groups, unit);
    let rows = merged(empty(), parts, first, |rows, i, (person, _)| {
        let cells = [said(person), second.get(i).and_then(|(other, _)| said(other))];
        rows.add(of(i), [PairedCell { place: person.group, cells }]);
    });
    let moves = merged(empty(), parts, first, |moves, i, (person, cfs)| {
        let cell = |(n, cf): (usize, &ScoredCounterfactual)| PairedCell {
            place: person.group * groups + cf.to,
            cells: [
                moved(person, cf),
                second.get(i).and_then(|(other, cfs)| moved(other, &cfs[n])),
            ],
        };
        moves.add(of(i), cfs.iter().enumerate().map(cell));
    });
    [rows, moves]
}

fn compared([rows, moves]: &[PairedCounts; 2]) -> Vec<ComparedValue> {
    let mut all = compare_rows(rows, &settings());
    all.extend(compare_switches(moves, &settings()));
    all
}

fn of<'a>(all: &'a [ComparedValue], id: &str, scope: MetricScope) -> &'a ComparedValue {
    all.iter().find(|c| c.metric.id == id && c.scope == scope).unwrap()
}

#[test]
fn differences_are_those_of_the_values_of_each() {
    for (groups, per_target, weight) in
        [(2, 1, None), (3, 2, None), (3, 1, Some((|i| 1 + i % 7) as fn(u64) -> u64))]
    {
        let people = people(groups, per_target, 600);
        let other = another(&people, groups);
        let plain = MeasureSettings { level: None, ..settings() };
        let measured = [&people, &other].map(|people| {
            let (factual, counts) = alone(people, groups, weight);
            let mut all = measure_factual(&factual, None, &plain);
            all.extend(measure_counterfactual(&counts, None, None, &plain));
            all
        });
        let found = compared(&gather([&people, &other], groups, 1, weight));
        let wanted = measured[0].iter().filter(|m| {
            let family = [
                MetricFamily::Performance,
                MetricFamily::Group,
                MetricFamily::Ccm,
                MetricFamily::Eccm,
            ]
            .contains(&m.metric.family);
            family
                && !matches!(m.metric.reads, Reads::AnySwitch(_))
                && !matches!(m.scope, MetricScope::WorstCase | MetricScope::Difference(..))
        });
        assert_eq!(found.len(), wanted.count(), "every value of each model is compared");
        let (mut intervals, mut clear) = (0, 0);
        for c in &found {
            let [x, y] = measured.each_ref().map(|all| {
                all.iter().find(|m| m.metric.id == c.metric.id && m.scope == c.scope).unwrap()
            });
            assert_eq!(
                (c.first, c.second, c.difference),
                (x.value, y.value, difference(x.value, y.value)),
                "{} {:?}",
                c.metric.id,
                c.scope
            );
            assert_eq!(c.n_rows, x.n_rows.min(y.n_rows));
            intervals += usize::from(c.interval.is_some());
            clear += usize::from(
                c.interval.is_some_and(|interval| interval.lo > 0.0 || interval.hi < 0.0),
            );
        }
        assert!(
            intervals * 10 > found.len() * 9 && clear > 20 && clear < intervals,
            "{clear} of {intervals} of {}",
            found.len()
        );
    }
}

/// One group: label and both predictions of 25 people. Ends are those of a program of its own,
/// which sums over people one by one and takes its quantiles from scipy.
#[test]
fn by_hand() {
    let kinds: [([bool; 3], u64); 8] = [
        ([true, true, true], 6),
        ([true, true, false], 3),
        ([true, false, true], 1),
        ([true, false, false], 2),
        ([false, true, true], 2),
        ([false, true, false], 2),
        ([false, false, true], 1),
        ([false, false, false], 8),
    ];
    let gathered = |scored_by_both: u64| {
        let mut rows = PairedCounts::new(1, CountingUnit::ROW);
        let people = kinds.iter().flat_map(|(kind, n)| (0..*n).map(move |_| kind));
        for (key, [label, first, second]) in (0..).zip(people) {
            let second = Some(confusion_cell(Some(*label), *second));
            let cells = [
                Some(confusion_cell(Some(*label), *first)),
                second.filter(|_| key < scored_by_both),
            ];
            rows.add((key, 1), [PairedCell { place: 0, cells }]);
        }
        compare_rows(&rows, &settings())
    };
    let check = |found: &ComparedValue, value: f64, ends: [f64; 2], method: &str| {
        let interval = found.interval.unwrap();
        let is_near = |x: f64, y: f64| assert!((x - y).abs() < 1e-9, "{found:?}");
        is_near(found.difference.unwrap(), value);
        is_near(interval.lo, ends[0]);
        is_near(interval.hi, ends[1]);
        assert_eq!(interval.method.as_str(), method);
    };
    let all = gathered(25);
    let total = |id: &str| of(&all, id, MetricScope::Total);
    // 13 against 10 of 25 are predicted positive, and 8 differ.
    let ends = [-0.099_842_281_466_816, 0.339_842_281_466_816];
    check(total("pprev"), 0.12, ends, "paired");
    let ends = [-0.185_077_354_806_799, 0.265_077_354_806_799];
    check(total("acc"), 0.04, ends, "paired");
    // 9 of 13 against 7 of 10; 8 people are in both.
    let ends = [-0.270_302_117_161_083, 0.278_711_807_597_481];
    check(total("ppv"), 9.0 / 13.0 - 0.7, ends, "mover");
    // The last three are not scored by the second.
    let fewer = gathered(22);
    let pprev = of(&fewer, "pprev", MetricScope::Total);
    let ends = [-0.163_207_392_997_647, 0.282_682_994_818_029];
    check(pprev, 13.0 / 25.0 - 10.0 / 22.0, ends, "mover");
    assert_eq!(pprev.n_rows, 22);
}

/// Another program on generated rows, with weights and persons.
#[test]
fn ends_are_those_of_another_program() {
    let (mut paired, mut nobody) = (0, 0);
    for case in json(expected("inference/compare.json")).as_array().unwrap() {
        let number = |of: &serde_json::Value| of.as_u64().unwrap();
        let answer = |of: &serde_json::Value| of.as_u64().map(|answer| answer == 1);
        let groups = number(&case["groups"]) as usize;
        let persons = case["kind"].as_str().unwrap().starts_with("persons");
        let unit = CountingUnit { weighted: true, persons };
        let mut rows = PairedCounts::new(groups, unit);
        for row in case["rows"].as_array().unwrap() {
            // The other program leaves out who is not scored by both.
            let Some(second) = answer(&row["second"]) else { continue };
            let said = |predicted| Some(confusion_cell(answer(&row["label"]), predicted));
            let cells = [said(answer(&row["prediction"]).unwrap()), said(second)];
            let place = number(&row["group"]) as usize;
            rows.add((number(&row["unit"]), number(&row["weight"])), [PairedCell { place, cells }]);
        }
        let level = Level::new(case["level"].as_f64().unwrap());
        let found = compare_rows(&rows, &MeasureSettings { level, ..settings() });
        for wanted in case["expected"].as_array().unwrap() {
            let scope = match wanted["scope"].as_str().unwrap().strip_prefix("group ") {
                Some(group) => MetricScope::Group(group.parse().unwrap()),
                None => MetricScope::Total,
            };
            let id = wanted["metric"].as_str().unwrap().strip_prefix("compare ").unwrap();
            let c = of(&found, id, scope);
            let Some(value) = wanted["value"].as_f64() else {
                assert!(c.difference.is_err() && c.interval.is_none(), "{c:?}");
                continue;
            };
            let interval = c.interval.unwrap();
            let near = |found: f64, wanted: f64, within: f64| {
                assert!((found - wanted).abs() <= within * (1.0 + wanted.abs()), "{c:?} {wanted}");
            };
            near(c.difference.unwrap(), value, 1e-12);
            near(interval.lo, wanted["lo"].as_f64().unwrap(), 1e-9);
            near(interval.hi, wanted["hi"].as_f64().unwrap(), 1e-9);
            assert_eq!(Some(interval.method.as_str()), wanted["method"].as_str(), "{c:?}");
            paired += usize::from(interval.method.as_str() == "paired");
            nobody += usize::from(interval.method.as_str() == "paired-people");
        }
    }
    assert!(paired > 15 && nobody > 3, "{paired} {nobody}");
}

#[test]
fn who_is_scored_by_one_model_counts_for_that_one() {
    let people = people(2, 1, 400);
    let fewer: Vec<_> = people
        .iter()
        .enumerate()
        .map(|(i, (person, cfs))| {
            (
                ScoredPerson { predicted: person.predicted.filter(|_| i % 9 > 0), ..*person },
                cfs.clone(),
            )
        })
        .collect();
    let found = compared(&gather([&people, &fewer], 2, 1, None));
    for id in ["pprev", "acc", "tpr", "sr"] {
        let c = of(&found, id, MetricScope::Total);
        assert_eq!(c.interval.unwrap().method.as_str(), "mover");
        assert!(c.ci_method.ends_with("with the correlation that people in both give"), "{c:?}");
    }
}

#[test]
fn the_other_order_is_the_mirror() {
    let people = people(2, 1, 500);
    let other = another(&people, 2);
    let there = compared(&gather([&people, &other], 2, 1, None));
    let back = compared(&gather([&other, &people], 2, 1, None));
    for (x, y) in there.iter().zip(&back) {
        assert_eq!(
            (x.first, x.second, x.difference.map(|d| 0.0 - d)),
            (y.second, y.first, y.difference)
        );
        assert_eq!(x.interval.is_some(), y.interval.is_some());
        if let (Some(x), Some(y)) = (x.interval, y.interval) {
            assert!((x.lo + y.hi).abs() < 1e-12 && (x.hi + y.lo).abs() < 1e-12);
        }
    }
    // A model does not differ from itself, and no interval pretends otherwise.
    for same in compared(&gather([&people, &people], 2, 1, None)) {
        let around = same.interval.is_none_or(|i| i.lo <= 0.0 && i.hi >= 0.0);
        assert!(same.difference.is_err() || same.difference == Ok(0.0) && around, "{same:?}");
    }
}

#[test]
fn any_partition_gives_the_same() {
    let people = people(3, 2, 400);
    let other = another(&people, 3);
    let of = |parts: usize| {
        let counts = gather([&people, &other], 3, parts, None);
        let read = |counts: &PairedCounts| -> PairedCounts {
            serde_json::from_str(&serde_json::to_string(counts).unwrap()).unwrap()
        };
        assert_eq!(counts.each_ref().map(read), counts);
        format!("{:?}", compared(&counts))
    };
    assert!(of(1) == of(7));
}

/// How often a nominal 95 % interval of a difference of two models holds the true one, where the
/// models agree on nine of ten people; and that it is narrower than the one of two samples of
/// people. 4,000 samples drawn by another program give what is stated here; fewer must agree
/// (`CFAUDIT_TRIALS`, printed with `--nocapture`).
#[test]
fn coverage() {
    let trials: u64 = std::env::var("CFAUDIT_TRIALS").map_or(60, |n| n.parse().unwrap());
    let mut wrong = Vec::new();
    for (n, p, stated) in STATED {
        let (held, narrower) = simulate(trials, n, p);
        for ((held, what), stated) in held.iter().zip(["rate", "switch rate"]).zip(stated) {
            wrong.extend(held.check(&format!("{n} people, {p} positive, {what}"), stated));
        }
        assert!(n < 300 || p < 0.1 || narrower * 10 > trials * 9, "{narrower} of {trials}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// People, and the share of them predicted positive, two thirds of which is the share that
/// switches; of the difference of a rate and of a switch rate the share of intervals that hold, and
/// the share of samples with one.
const STATED: [(u64, f64, [IntervalCoverage; 2]); 4] = [
    (10, 0.3, [(0.9997, 1.0), (1.0, 1.0)]),
    (30, 0.3, [(0.9997, 1.0), (1.0, 1.0)]),
    (300, 0.03, [(0.998, 1.0), (0.9997, 1.0)]),
    (300, 0.3, [(0.957, 1.0), (0.964, 1.0)]),
];

/// How often the differences of a rate and of a switch rate are held, and how often the interval of
/// the first is narrower than unpaired.
fn simulate(trials: u64, n: u64, p: f64) -> ([CoverageCount; 2], u64) {
    let (mut held, mut narrower): ([CoverageCount; 2], u64) = Default::default();
    for trial in 0..trials {
        let mut stream = RandomStream::new(trial, "coverage/compare");
        let [mut rows, mut moves] = [(); 2].map(|()| PairedCounts::new(2, CountingUnit::ROW));
        for key in 0..n {
            let (group, u, agrees) = ((key % 2) as usize, stream.u01(), stream.u01() < 0.9);
            let switches = stream.u01() < p / 1.5;
            // Of either model as many are predicted positive, and as many switch.
            let second = if agrees { u } else { stream.u01() };
            let switches = [switches, if agrees { switches } else { stream.u01() < p / 1.5 }];
            let said = [u < p, second < p];
            let cells = said.map(|said| Some(confusion_cell(Some(true), said)));
            rows.add((key, 1), [PairedCell { place: group, cells }]);
            let moved = |m: usize| Some(cell_index(Some(true), said[m], said[m] != switches[m]));
            let place = group * 2 + 1 - group;
            moves.add((key, 1), [PairedCell { place, cells: [moved(0), moved(1)] }]);
        }
        let settings = of_families(&[MetricFamily::Performance, MetricFamily::Ccm]);
        let mut all = compare_rows(&rows, &settings);
        all.extend(compare_switches(&moves, &settings));
        for (held, id) in held.iter_mut().zip(["pprev", "sr"]) {
            let c = of(&all, id, MetricScope::Total);
            held.add(c.interval, 0.0);
            if let (Some(paired), "pprev") = (c.interval, id) {
                let [first, second] = [c.first, c.second]
                    .map(|value| rate((value.unwrap() * n as f64).round() as u64, n));
                let unpaired = newcombe(first, second, 1.96).unwrap();
                narrower +=
                    u64::from(2.0 * (paired.hi - paired.lo) < 1.5 * (unpaired.hi - unpaired.lo));
            }
        }
    }
    (held, narrower)
}

/// Who is in one run only counts for that run.
#[test]
fn runs_that_share_some_people_have_intervals() {
    let everybody = people(2, 1, 800);
    let other = another(&everybody, 2);
    let same = compared(&gather([&other, &everybody], 2, 1, None));
    // The last fifth is new: less of the change is the same people's, so it is less sure.
    let old = everybody[..640].to_vec();
    let shared = compared(&gather([&other, &old], 2, 1, None));
    let width = |all: &[ComparedValue]| {
        let acc = of(all, "acc", MetricScope::Total).interval.unwrap();
        acc.hi - acc.lo
    };
    let n = |all: &[ComparedValue]| all.iter().filter(|c| c.interval.is_some()).count();
    assert!(
        n(&shared) * 10 >= n(&same) * 9 && width(&shared) > 1.03 * width(&same),
        "{} {}",
        width(&shared),
        width(&same)
    );
}

/// The change of score metrics holds the change of a mean as the delta method gives it, and no
/// change is none.
#[test]
fn score_metrics_of_two_runs() {
    use crate::metric::value::paired_scores::changes;
    let mut stream = RandomStream::new(8, "runs");
    let n = 3000;
    let old: Vec<(f64, f64)> =
        (0..n).map(|_| (0.2 + 0.4 * stream.u01(), 0.2 + 0.4 * stream.u01())).collect();
    let new: Vec<(f64, f64)> =
        old.iter().map(|(s, c)| (*s, c + 0.01 + 0.1 * stream.u01())).collect();
    let gathered = |pairs: &[(f64, f64)]| {
        let mut counts = CounterfactualCounts::new(2);
        let person = |i: usize, score| ScoredPerson::of(i % 2, None, Some(true), Some(score));
        let moved = |i: usize, score| ScoredCounterfactual::to(1 - i % 2, Some(true), Some(score));
        pairs
            .iter()
            .enumerate()
            .for_each(|(i, (s, c))| counts.add(&person(i, *s), &[moved(i, *c)]));
        let sums = counts.shifts_by_scope();
        let mut second = counts.second_pass().with_influences(&sums, true);
        for (i, (s, c)) in pairs.iter().enumerate() {
            second.add(i as u64 * 31, &person(i, *s), &[moved(i, *c)]);
        }
        (counts, second.settled())
    };
    let [(old_counts, old_second), (new_counts, new_second)] = [gathered(&old), gathered(&new)];
    let wanted = of_families(&[MetricFamily::Shift]);
    let terms: Vec<f64> = old.iter().zip(&new).map(|((_, c), (_, d))| d - c).collect();
    let mean = terms.iter().sum::<f64>() / n as f64;
    let half = 1.96 * (terms.iter().map(|t| (t - mean).powi(2)).sum::<f64>()).sqrt() / n as f64;
    let found = changes((&new_second, &new_counts), (&old_second, &old_counts), &wanted);
    let mcd = found.iter().find(|c| c.metric.id == "mcd" && c.scope == MetricScope::Total).unwrap();
    assert!((mcd.difference.unwrap() - mean).abs() < 1e-9);
    let interval = mcd.interval.unwrap();
    assert!(
        (interval.lo - (mean - half)).abs() < 0.002 * half
            && (interval.hi - (mean + half)).abs() < 0.002 * half,
        "{interval:?}"
    );
    // Of histograms there is none.
    let given: std::collections::BTreeSet<&str> =
        found.iter().filter(|c| c.interval.is_some()).map(|c| c.metric.id).collect();
    assert_eq!(given, std::collections::BTreeSet::from(["jscd", "kld", "macd", "mcd", "rmscd"]));
    assert_eq!(found.iter().filter(|c| c.interval.is_some()).count(), 4 * 5);
    for still in changes((&old_second, &old_counts), (&old_second, &old_counts), &wanted) {
        assert!(still.difference == Ok(0.0) && still.interval.is_none(), "{still:?}");
    }
}

/// The difference to a rate of which nothing counts keeps its doubt.
#[test]
fn a_rate_at_an_end_keeps_its_doubt() {
    let model = |positive: usize| -> TestPeople {
        let person = |i: usize| ScoredPerson::of(i % 2, Some(true), Some(i < positive), None);
        (0..758).map(|i| (person(i), Vec::new())).collect()
    };
    for (positive, clear) in [(4, false), (80, true)] {
        let all = compared(&gather([&model(positive), &model(0)], 2, 1, None));
        let found = of(&all, "pprev", MetricScope::Total).interval.unwrap();
        assert_eq!((found.method.as_str(), found.lo > 0.0), ("paired", clear), "{found:?}");
    }
}
