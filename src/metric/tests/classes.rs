//! Several classes: values that other programs computed, two classes against the metrics of two,
//! weights against people who occur several times, partitions, coverage.

use super::oracle::{check_confusion, check_eccm, check_values, near, object, parquet};
use super::*;
use crate::metric::evidence::class_counts::{ClassCounterfactual, ClassPerson};
use crate::metric::value::classes::{FactualClassCounts, SwitchClassCounts, most_likely_class};

/// A person by key, with counterfactuals; scores are next to, so that they can be lent out.
#[derive(Clone, Default)]
pub(super) struct ClassTestPerson {
    pub(super) key: u64,
    pub(super) group: usize,
    pub(super) label: Option<usize>,
    pub(super) predicted: Option<usize>,
    pub(super) scores: Vec<Option<f64>>,
    pub(super) weight: u64,
    pub(super) moved: Vec<(usize, Option<usize>, Vec<Option<f64>>)>,
}

impl ClassTestPerson {
    fn add(&self, all: &mut ClassTestEvidence) {
        let ClassTestPerson { key, group, label, predicted, ref scores, weight, ref moved } = *self;
        let person = ClassPerson { group, label, predicted, score: scores, weight };
        let moved: Vec<ClassCounterfactual> = moved
            .iter()
            .map(|(to, predicted, scores)| ClassCounterfactual {
                to: *to,
                predicted: *predicted,
                score: scores,
                rounded: false,
                unsupported: 0,
            })
            .collect();
        all.factual.add((key, key), &person, None);
        all.switches.add(key, &person, &moved);
        for (class, counts) in all.switches_one_vs_rest.iter_mut().enumerate() {
            let moved: Vec<_> = moved.iter().map(|cf| cf.one_vs_rest(class)).collect();
            counts.add_person(key, &person.one_vs_rest(class), &moved);
            counts.settle();
        }
    }
}

#[derive(Clone)]
pub(super) struct ClassTestEvidence {
    pub(super) factual: FactualClassCounts,
    pub(super) switches: SwitchClassCounts,
    /// Each class against all others.
    switches_one_vs_rest: Vec<CounterfactualCounts>,
}

impl ClassTestEvidence {
    fn new([classes, groups]: [usize; 2], unit: CountingUnit) -> Self {
        let one_vs_rest = CounterfactualCounts::new(groups).counted_by(unit);
        ClassTestEvidence {
            factual: FactualClassCounts::new(classes, &FactualCounts::new(groups).counted_by(unit)),
            switches: SwitchClassCounts::new(classes, groups).counted_by(unit),
            switches_one_vs_rest: vec![one_vs_rest; classes],
        }
    }

    fn merge(&mut self, other: Self) {
        self.factual.merge(other.factual);
        self.switches.merge(other.switches);
        let each = self.switches_one_vs_rest.iter_mut().zip(other.switches_one_vs_rest);
        each.for_each(|(mine, theirs)| mine.merge(theirs));
    }
}

/// Evidence of people in as many batches as `batch` names, merged last first.
pub(super) fn gather(
    people: &[ClassTestPerson],
    sizes: [usize; 2],
    unit: CountingUnit,
    batch: impl Fn(usize) -> usize,
) -> ClassTestEvidence {
    let parts = (0..people.len()).map(&batch).max().map_or(1, |last| last + 1);
    let mut parts = vec![ClassTestEvidence::new(sizes, unit); parts];
    people.iter().enumerate().for_each(|(i, someone)| someone.add(&mut parts[batch(i)]));
    let mut all = parts.pop().unwrap();
    parts.into_iter().rev().for_each(|part| all.merge(part));
    all
}

/// Random people with labels and scores of each class, some missing.
pub(super) fn people(
    classes: usize,
    groups: usize,
    per_target: usize,
    n: u64,
    weight: impl Fn(u64) -> u64,
) -> Vec<ClassTestPerson> {
    let mut stream = RandomStream::new(6, &format!("classes/{classes}/{groups}/{per_target}"));
    let mut below = |n: usize| ((stream.u01() * n as f64) as usize).min(n - 1);
    let mut scored = |near: &[Option<f64>]| -> Vec<Option<f64>> {
        let missing = below(20) == 0;
        let score = |class: usize| near.get(class).copied().flatten().unwrap_or(0.5) * 0.6;
        (0..classes)
            .map(|class| {
                (!missing).then(|| score(class)).map(|base| base + below(1000) as f64 / 2500.0)
            })
            .collect()
    };
    let mut all: Vec<ClassTestPerson> = (0..n)
        .map(|key| {
            let scores = scored(&[]);
            let moved = (0..groups * per_target).map(|to| (to % groups, scored(&scores)));
            let moved: Vec<_> =
                moved.map(|(to, scores)| (to, most_likely_class(&scores), scores)).collect();
            ClassTestPerson {
                key: key * 7919,
                predicted: most_likely_class(&scores),
                scores,
                weight: weight(key),
                moved,
                ..ClassTestPerson::default()
            }
        })
        .collect();
    for someone in &mut all {
        someone.group = below(groups);
        let label = if below(3) > 0 { someone.predicted } else { Some(below(classes)) };
        someone.label = label.filter(|_| below(15) > 0);
        let own = someone.group;
        someone.moved.retain(|(to, ..)| *to != own);
    }
    all
}

fn matrix(expected: &Json) -> Vec<Vec<u64>> {
    serde_json::from_value(expected.clone()).unwrap()
}

/// Predictions before (rows) and after (columns) of a direction, or of all counterfactuals, of the
/// people with one label, or of all.
fn moved(
    counts: &SwitchClassCounts,
    (direction, label): (Option<(usize, usize)>, Option<usize>),
    number: fn(WeightSums) -> u64,
) -> Vec<Vec<u64>> {
    let mut matrix = vec![vec![0; counts.classes()]; counts.classes()];
    for ([of, before, after], sums) in counts.cells(direction) {
        if label.is_none() || of == label {
            matrix[before.unwrap()][after.unwrap()] += number(sums);
        }
    }
    matrix
}

pub(super) fn transition(
    all: &[ClassTransition],
    scope: MetricScope,
    from: usize,
    to: usize,
) -> &ClassTransition {
    all.iter().find(|t| (t.measured.scope, t.classes) == (scope, [from, to])).unwrap()
}

/// Three classes of COMPAS: matrices, every class against all others, correlations, transitions.
#[test]
fn several_classes() {
    let Some(folder) = shared("expected/metrics/multiclass") else { return };
    let expected = json(folder.join("expected_multiclass.json"));
    let rows = parquet(folder.join("multiclass.parquet"));
    let classes: Vec<&str> = expected["labels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|label| label.as_str().unwrap())
        .collect();
    let groups = ["Male", "Female"];
    let place = |names: &[&str], column: &str, i: usize| {
        names.iter().position(|name| rows.texts[column][i].as_deref() == Some(name))
    };
    let someone = |i: usize| ClassTestPerson {
        key: i as u64,
        group: place(&groups, "sex", i).unwrap(),
        label: place(&classes, "y", i),
        predicted: place(&classes, "pred", i),
        weight: 1,
        moved: vec![(
            place(&groups, "target", i).unwrap(),
            place(&classes, "pred_cf", i),
            Vec::new(),
        )],
        ..ClassTestPerson::default()
    };
    let people: Vec<ClassTestPerson> = (0..rows.texts["y"].len()).map(someone).collect();
    let settings = of_families(&[MetricFamily::Performance, MetricFamily::Ccm, MetricFamily::Eccm]);
    // A weight of 1 changes nothing but the intervals.
    for weighed in [false, true] {
        let unit = CountingUnit { weighted: weighed, persons: false };
        let found = gather(&people, [3, 2], unit, |i| i % 3);
        let factual = measure_factual_classes(&found.factual, &settings);
        let (switches, transitions) = measure_switch_classes(&found.switches, &settings);
        let mut compared = 0;
        let mut check = |who: GroupSelection,
                         direction: Option<(usize, usize)>,
                         expected: &Json| {
            let (group, scope) = match direction {
                Some((from, to)) => (MetricScope::Group(from), MetricScope::Direction(from, to)),
                None => (MetricScope::Total, MetricScope::Total),
            };
            let rows = |number: fn(WeightSums) -> u64| -> Vec<Vec<u64>> {
                let units = found.factual.units()(who);
                let rows = units.rows().chunks_exact(classes.len());
                rows.map(|row| row.iter().map(|sums| number(*sums)).collect()).collect()
            };
            let of_label = |label: Option<usize>, number: fn(WeightSums) -> u64| {
                moved(&found.switches, (direction, label), number)
            };
            let all = of_label(None, WeightSums::people);
            assert_eq!(Some(all.iter().flatten().sum::<u64>()), expected["n"].as_u64());
            assert_eq!(all, matrix(&expected["ccm_rows_factual_cols_counterfactual"]));
            assert_eq!(
                rows(WeightSums::people),
                matrix(&expected["confusion_rows_label_cols_prediction"])
            );
            assert_eq!(of_label(None, WeightSums::sum), all);
            assert_eq!(rows(WeightSums::sum), rows(WeightSums::people));
            for (class, name) in classes.iter().enumerate() {
                let people = of_label(Some(class), WeightSums::people);
                assert_eq!(people, matrix(&expected["eccm_by_label"][name]));
                assert_eq!(of_label(Some(class), WeightSums::sum), people);
                let (classic, eccm) = (
                    &expected["one_vs_all"][name]["classic"],
                    &expected["one_vs_all"][name]["eccm"],
                );
                let (people, switched) =
                    (&found.factual.one_vs_rest[class], &found.switches_one_vs_rest[class]);
                check_confusion(&people.confusion(who), classic);
                compared +=
                    check_values(&measure_factual(people, None, &settings), group, classic, false);
                let of = direction.map(|(from, to)| MetricScope::Direction(from, to));
                check_eccm(&switched.eccm(of.unwrap_or(MetricScope::Total)).unwrap(), eccm);
                let values = measure_counterfactual(switched, None, None, &settings);
                compared += check_values(&values, scope, eccm, false);
                near(one(&values, "nsr", scope), &expected["switch_rate_from_class"][name], 1e-12);
            }
            for (name, of, scope) in [("ACC", &factual, group), ("MCC", &factual, group)] {
                near(one(of, &name.to_lowercase(), scope), &expected[name], 1e-12);
            }
            for name in ["CR", "SR", "CMCC"] {
                near(one(&switches, &name.to_lowercase(), scope), &expected[name], 1e-12);
            }
            for (name, rate) in object(&expected["transition_rate"]) {
                let (from, to) = name.split_once(" -> ").unwrap();
                let [from, to] =
                    [from, to].map(|name| classes.iter().position(|class| *class == name).unwrap());
                let found = transition(&transitions, scope, from, to).measured.value;
                assert!(
                    (found.unwrap() - rate.as_f64().unwrap()).abs() < 1e-12,
                    "{name}: {found:?} instead of {rate}"
                );
                compared += 1;
            }
        };
        check(GroupSelection::One(0), Some((0, 1)), &expected["directions"]["Male -> Female"]);
        check(GroupSelection::One(1), Some((1, 0)), &expected["directions"]["Female -> Male"]);
        check(GroupSelection::All, None, &expected["total"]);
        assert_eq!(compared, 3 * (3 * (14 + 18) + 6));
    }
}

/// Of two classes everything is what the metrics of two classes say, with the same intervals of
/// rates.
#[test]
fn two_classes() {
    let found = gather(&people(2, 3, 1, 900, |_| 1), [2, 3], CountingUnit::ROW, |_| 0);
    let factual = measure_factual_classes(&found.factual, &settings());
    let (switches, transitions) = measure_switch_classes(&found.switches, &settings());
    let binary = measure_factual(&found.factual.one_vs_rest[1], None, &settings());
    let moved = measure_counterfactual(&found.switches_one_vs_rest[1], None, None, &settings());
    let same = |ours: &MeasuredValue, all: &[MeasuredValue]| {
        let theirs = one(all, ours.metric.id, ours.scope);
        let near = |x: f64, y: f64| (x - y).abs() < 1e-12;
        assert!(near(ours.value.unwrap(), theirs.value.unwrap()), "{ours:?} {theirs:?}");
        assert_eq!(
            (ours.numerator, ours.denominator, ours.n_rows),
            (theirs.numerator, theirs.denominator, theirs.n_rows)
        );
        assert_eq!(
            (&ours.flags, ours.ideal, &ours.ci_method),
            (&theirs.flags, theirs.ideal, &theirs.ci_method)
        );
        let (mine, other) = (ours.interval.unwrap(), theirs.interval.unwrap());
        assert!(
            (mine.lo - other.lo).abs() <= 1e-12 && (mine.hi - other.hi).abs() <= 1e-12,
            "{ours:?} {theirs:?}"
        );
    };
    factual.iter().for_each(|m| same(m, &binary));
    switches.iter().for_each(|m| same(m, &moved));
    assert_eq!((factual.len(), switches.len()), (2 * (4 + 3), 3 * (6 + 3 + 3 + 3 + 1)));
    for (scope, from, to, id) in [
        (MetricScope::Direction(0, 2), 0, 1, "psr"),
        (MetricScope::Total, 1, 0, "nsr"),
        (MetricScope::OneToRest(1), 0, 1, "psr"),
    ] {
        let (t, m) = (transition(&transitions, scope, from, to), one(&moved, id, scope));
        let told = |of: &MeasuredValue| (of.value, of.numerator, of.denominator);
        assert_eq!(told(&t.measured), told(m));
    }
}

/// Scores of a class are those of the class against all others.
#[test]
fn scores_per_class() {
    let people = people(3, 2, 1, 400, |_| 1);
    let found = gather(&people, [3, 2], CountingUnit::ROW, |_| 0);
    for class in 0..3 {
        let pairs = people
            .iter()
            .filter(|p| p.group == 0)
            .filter_map(|p| Some((p.scores[class]?, p.moved[0].2[class]?)));
        let squares: Vec<f64> = pairs.map(|(s, c)| (c - s).powi(2)).collect();
        let shift = found.switches_one_vs_rest[class].shift(0, 1);
        assert_eq!(shift.n, squares.len() as u64);
        let mean = shift.squared.iter().map(|sum| sum.to_f64()).sum::<f64>() / squares.len() as f64;
        assert!((mean - squares.iter().sum::<f64>() / squares.len() as f64).abs() < 1e-12);
    }
    assert_eq!(most_likely_class(&[Some(0.2), Some(0.4), Some(0.4)]), Some(1));
    assert_eq!((most_likely_class(&[Some(0.2), None]), most_likely_class(&[])), (None, None));
}

/// Whoever weighs n counts as n people.
#[test]
fn weights_are_repeated_people() {
    for (groups, per_target) in [(2, 1), (3, 2)] {
        let people = people(4, groups, per_target, 300, |i| 1 + i % 4);
        let repeated: Vec<ClassTestPerson> = people
            .iter()
            .flat_map(|p| vec![ClassTestPerson { weight: 1, ..p.clone() }; p.weight as usize])
            .collect();
        let (by_weight, by_people) = (
            gather(&people, [4, groups], CountingUnit::WEIGHT, |i| i % 2),
            gather(&repeated, [4, groups], CountingUnit::ROW, |_| 0),
        );
        for place in [(None, None), (Some((1, 0)), Some(2))] {
            assert_eq!(
                moved(&by_weight.switches, place, WeightSums::sum),
                moved(&by_people.switches, place, WeightSums::people)
            );
        }
        let of = |found: &ClassTestEvidence| {
            let (mut values, transitions) = measure_switch_classes(&found.switches, &settings());
            values.extend(measure_factual_classes(&found.factual, &settings()));
            let cases = |of: &MeasuredValue| of.weights.map(|of| of.0).or(of.numerator);
            let transitions =
                transitions.into_iter().map(|t| (t.measured.value, cases(&t.measured)));
            (values, transitions.collect::<Vec<_>>())
        };
        let ((ours, transitions), (theirs, expected)) = (of(&by_weight), of(&by_people));
        assert_eq!(transitions, expected);
        assert_eq!(ours.len(), theirs.len());
        for (m, n) in ours.iter().zip(&theirs) {
            assert_eq!((m.metric.id, m.scope, m.value), (n.metric.id, n.scope, n.value));
            assert_eq!(m.weights, n.numerator.zip(n.denominator));
            let interval = m.interval.unwrap();
            assert!(interval.lo <= m.value.unwrap() && interval.hi >= m.value.unwrap(), "{m:?}");
        }
    }
}

/// Random partitions into batches give the same bytes of evidence and of values; so do reading and
/// writing.
#[test]
fn any_partition_gives_the_same() {
    let of = |weighed, persons| CountingUnit { weighted: weighed, persons };
    for unit in [of(false, false), of(true, false), of(false, true), of(true, true)] {
        let mut people = people(3, 3, 2, 300, |i| 1 + i % 5);
        people.iter_mut().for_each(|someone| someone.key %= 97);
        let text = |found: &ClassTestEvidence| {
            let evidence = serde_json::to_string(&found.factual).unwrap()
                + &serde_json::to_string(&found.switches).unwrap()
                + &serde_json::to_string(&found.switches_one_vs_rest).unwrap();
            let (values, transitions) = measure_switch_classes(&found.switches, &settings());
            (
                evidence,
                format!(
                    "{values:?} {transitions:?} {:?}",
                    measure_factual_classes(&found.factual, &settings())
                ),
            )
        };
        let whole = text(&gather(&people, [3, 3], unit, |_| 0));
        for trial in 0..6 {
            let mut stream = RandomStream::new(trial, "partition");
            let parts = 1 + (stream.u01() * 9.0) as usize;
            let batches: Vec<usize> =
                people.iter().map(|_| (stream.u01() * parts as f64) as usize).collect();
            let found = gather(&people, [3, 3], unit, |i| batches[i]);
            assert!(text(&found) == whole, "{parts} batches");
            let read: SwitchClassCounts =
                serde_json::from_str(&serde_json::to_string(&found.switches).unwrap()).unwrap();
            assert_eq!(read, found.switches);
        }
    }
}

#[test]
fn without_labels_or_people() {
    let mut found = ClassTestEvidence::new([3, 2], CountingUnit::ROW);
    for someone in people(3, 2, 1, 50, |_| 1) {
        ClassTestPerson { label: None, ..someone }.add(&mut found);
    }
    let ClassTestEvidence { factual, switches, .. } = found;
    let values = measure_factual_classes(&factual, &settings());
    assert!(values.iter().all(|m| m.value == Err(Undefined::NoLabel)) && values.len() == 8);
    let (values, _) = measure_switch_classes(&switches, &settings());
    assert!(values.iter().all(|m| m.value.is_ok()) && values.len() == 3 * 4);
    let (nobody, transitions) = measure_switch_classes(&SwitchClassCounts::new(3, 2), &settings());
    let empty = |value: MetricValue| value == Err(Undefined::EmptyGroup);
    assert!(
        nobody.iter().all(|m| empty(m.value))
            && transitions.iter().all(|t| empty(t.measured.value))
    );
    let none = measure_switch_classes(&switches, &of_families(&[MetricFamily::Shift]));
    assert!(none.0.is_empty() && none.1.is_empty());
}

/// How often a nominal 95 % interval of CMCC, of its difference and of a transition is given, and
/// holds the true value where it is given: as often as another program says ([`STATED`]).
/// `CFAUDIT_TRIALS=4000` draws more samples.
#[test]
#[ignore = "slow, `make test-slow` runs it: some 600 simulated samples"]
fn coverage() {
    let trials: u64 = std::env::var("CFAUDIT_TRIALS").map_or(200, |n| n.parse().unwrap());
    // Three classes of 0.5, 0.3, 0.2; one in five moves to the next.
    let truth = correlation(3, &[40, 10, 0, 0, 24, 6, 4, 0, 16]).unwrap();
    let mut wrong = Vec::new();
    for (n, stated) in STATED {
        let mut seen = [(0_u64, 0_u64); 3];
        for trial in 0..trials {
            let mut stream = RandomStream::new(trial, &format!("coverage/classes/{n}"));
            let mut switches = SwitchClassCounts::new(3, 2);
            for key in 0..2 * n {
                let (u, v) = (stream.u01(), stream.u01());
                let class = usize::from(u >= 0.5) + usize::from(u >= 0.8);
                let after = if v < 0.2 { (class + 1) % 3 } else { class };
                let group = (key % 2) as usize;
                let person = ClassPerson {
                    group,
                    label: None,
                    predicted: Some(class),
                    score: &[],
                    weight: 1,
                };
                switches.add(
                    key,
                    &person,
                    &[ClassCounterfactual {
                        to: 1 - group,
                        predicted: Some(after),
                        score: &[],
                        rounded: false,
                        unsupported: 0,
                    }],
                );
            }
            let settings = of_families(&[MetricFamily::Ccm]);
            let (values, transitions) = measure_switch_classes(&switches, &settings);
            let direction = MetricScope::Direction(0, 1);
            let found = [
                (one(&values, "cmcc", direction).interval, truth),
                (one(&values, "cmcc", MetricScope::Difference(0, 1)).interval, 0.0),
                (transition(&transitions, direction, 0, 1).measured.interval, 0.2),
            ];
            for ((given, held), (interval, truth)) in seen.iter_mut().zip(found) {
                let Some(interval) = interval else { continue };
                *given += 1;
                *held += u64::from((interval.lo..=interval.hi).contains(&truth));
            }
        }
        let what = ["CMCC", "difference", "transition"];
        for ((what, (given, held)), (stated_given, stated)) in what.iter().zip(seen).zip(stated) {
            let mut check = |what: &str, cases: u64, all: u64, stated: f64| {
                let share = cases as f64 / all as f64;
                println!("{n} people, {what}: {share:.4} of {all}");
                let error = (stated * (1.0 - stated) / all as f64).sqrt();
                if (share - stated).abs() > 4.0 * error + 0.005 {
                    wrong.push(format!("{n} people, {what}: {share} instead of {stated}"));
                }
            };
            check(&format!("{what}, given"), given, trials, stated_given);
            if given > 0 {
                check(what, held, given, stated);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// People of a direction; of CMCC, of the difference of two, of a transition the share of samples
/// with an interval, and the coverage of these: 200,000 samples, of 300 people 40,000.
const STATED: [(u64, [(f64, f64); 3]); 3] = [
    (10, [(0.002, 1.0), (0.0, 1.0), (0.999, 0.954)]),
    (30, [(0.657, 0.969), (0.432, 0.981), (1.0, 0.959)]),
    (300, [(1.0, 0.95), (1.0, 0.951), (1.0, 0.949)]),
];
