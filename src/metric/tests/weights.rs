//! People with weights against people who occur several times, and against people without;
//! partitions; coverage of the intervals.

use super::coverage::{CoverageCount, IntervalCoverage};
use super::*;

fn keyed(people: TestPeople, weight: impl Fn(u64) -> u64) -> WeightedPeople {
    (0..)
        .zip(people)
        .map(|(key, (person, cfs))| {
            (key * 7919, ScoredPerson { weight: weight(key), ..person }, cfs)
        })
        .collect()
}

/// Everybody as often as they weigh, under their own key, with weight 1.
fn repeated(people: &WeightedPeople) -> WeightedPeople {
    let copies = people.iter().flat_map(|one| (0..one.1.weight).map(move |_| one));
    copies
        .map(|(key, person, cfs)| (*key, ScoredPerson { weight: 1, ..*person }, cfs.clone()))
        .collect()
}

/// Evidence and values of people with weights, gathered in `parts` batches and merged last first.
fn gather(
    people: &WeightedPeople,
    groups: usize,
    parts: usize,
    settings: &MeasureSettings,
) -> TestEvidence {
    gather_by(people, groups, CountingUnit::WEIGHT, parts, settings)
}

fn unweighed(
    people: &WeightedPeople,
    groups: usize,
    settings: &MeasureSettings,
) -> Vec<MeasuredValue> {
    let all = super::gather(
        &people.iter().map(|(_, person, cfs)| (*person, cfs.clone())).collect(),
        groups,
        true,
        1,
        settings,
    )
    .measured;
    // Neighbours have one vote each, regardless of their weights: the flip test has tests of its
    // own.
    all.into_iter().filter(|m| !matches!(m.metric.reads, Reads::Flips)).collect()
}

const PLACES: [(usize, usize, usize); 4] = [(2, 1, 700), (2, 3, 300), (3, 1, 600), (4, 2, 400)];

/// A person who weighs 3 counts as three people in every value. The smoothed divergence is the one
/// that counts people too.
#[test]
fn a_weight_is_so_many_people() {
    let plain = MeasureSettings { level: None, ..settings() };
    for (groups, per_target, n) in PLACES {
        let people = keyed(people(groups, per_target, n), |i| i * i % 5);
        let (by_weight, by_number) = (
            gather(&people, groups, 1, &plain).measured,
            unweighed(&repeated(&people), groups, &plain),
        );
        assert_eq!(by_weight.len(), by_number.len());
        // Those of weight 0 are not there.
        let some: WeightedPeople = people.iter().filter(|of| of.1.weight > 0).cloned().collect();
        let once = unweighed(&some, groups, &plain);
        let mut compared = BTreeSet::new();
        for (w, p) in by_weight.iter().zip(&by_number) {
            assert_eq!((w.metric.id, w.scope, w.impaired), (p.metric.id, p.scope, p.impaired));
            if w.metric.id != "kld_hist_smoothed" {
                assert_eq!(w.value, p.value, "{} in {:?}", w.metric.id, w.scope);
                compared.extend(w.value.map(|_| w.metric.id));
            }
            assert_eq!(
                w.weights,
                p.numerator.zip(p.denominator),
                "{} in {:?}",
                w.metric.id,
                w.scope
            );
            let counted = one(&once, w.metric.id, w.scope);
            assert_eq!(
                (w.n_rows, w.numerator, w.denominator),
                (counted.n_rows, counted.numerator, counted.denominator)
            );
            // The groups that are furthest apart are others by weight.
            if w.scope != MetricScope::WorstCase {
                let mut small = counted.flags.iter().filter(|flag| flag.starts_with("small_"));
                let holds = |flag| w.flags.contains(flag);
                assert!(small.all(holds), "{} in {:?}", w.metric.id, w.scope);
            }
        }
        assert!(compared.len() > 60, "{}", compared.len());
    }
}

/// Whatever everybody weighs alike, values are those of people without weights, and people are
/// counted as people.
#[test]
fn equal_weights_change_no_value() {
    let plain = MeasureSettings { level: None, ..settings() };
    for (groups, per_target, n) in PLACES {
        let people = keyed(people(groups, per_target, n), |_| 1);
        let without = unweighed(&people, groups, &plain);
        for m in gather(&people, groups, 1, &plain).measured {
            let other = one(&without, m.metric.id, m.scope);
            assert_eq!(
                (m.value, m.numerator, m.denominator, m.n_rows),
                (other.value, other.numerator, other.denominator, other.n_rows)
            );
            let weights = other.numerator.zip(other.denominator);
            assert_eq!((m.impaired, &m.flags, m.weights), (other.impaired, &other.flags, weights));
        }
        // Powers of two leave every rounding as it is, also that of the smoothed divergence.
        let heavy = people
            .iter()
            .map(|(key, person, cfs)| {
                (*key, ScoredPerson { weight: 1 << 20, ..*person }, cfs.clone())
            })
            .collect();
        for m in gather(&heavy, groups, 1, &plain).measured {
            assert_eq!(
                m.value,
                one(&without, m.metric.id, m.scope).value,
                "{} in {:?}",
                m.metric.id,
                m.scope
            );
        }
    }
}

#[test]
fn any_partition_gives_the_same_values_and_intervals() {
    for (groups, per_target) in [(2, 1), (3, 2)] {
        // Weights that do not fit any number of bits evenly, up to the largest.
        let mut stream = RandomStream::new(4, "weights");
        let drawn: Vec<u64> =
            (0..600).map(|_| (stream.u01() * stream.u01() * 4e9) as u64).collect();
        let people = keyed(people(groups, per_target, 600), |i| drawn[i as usize]);
        let (whole, parts) =
            (gather(&people, groups, 1, &settings()), gather(&people, groups, 7, &settings()));
        assert!(whole.factual == parts.factual && whole.counts == parts.counts);
        for (a, b) in whole.measured.iter().zip(&parts.measured) {
            assert_eq!(format!("{a:?}"), format!("{b:?}"));
        }
        let text = serde_json::to_string(&whole.counts).unwrap();
        assert_eq!(serde_json::from_str::<CounterfactualCounts>(&text).unwrap(), whole.counts);
        let text = serde_json::to_string(&whole.factual).unwrap();
        assert_eq!(serde_json::from_str::<FactualCounts>(&text).unwrap(), whole.factual);
    }
}

/// People who all weigh the same have the intervals of people without weights.
#[test]
fn equal_weights_change_no_interval() {
    for (groups, per_target, n) in PLACES {
        let people = keyed(people(groups, per_target, n), |_| 4);
        let [weighed, plain] = [
            gather(&people, groups, 1, &settings()).measured,
            unweighed(&people, groups, &settings()),
        ];
        let mut some = 0;
        for m in weighed.iter().filter(|m| !matches!(m.metric.reads, Reads::Shift(_))) {
            let other = one(&plain, m.metric.id, m.scope);
            let what =
                format!("{} in {:?}: {} {}", m.metric.id, m.scope, m.ci_method, other.ci_method);
            let near = |x: f64, y: f64| (x - y).abs() <= 1e-12 * (1.0 + x.abs());
            match (m.interval, other.interval) {
                (Some(a), Some(b)) => {
                    assert_eq!(a.method, b.method, "{what}");
                    assert!(near(a.lo, b.lo) && near(a.hi, b.hi), "{what}: {a:?} {b:?}");
                    some += 1;
                }
                (a, b) => assert_eq!(a, b, "{what}"),
            }
        }
        assert!(some > 100, "{some}");
    }
}

/// People of weight 0 change no value and no interval, and make no group and no denominator large
/// enough. The smoothed divergence is the one that depends on the mean weight.
#[test]
fn people_of_weight_zero_carry_nothing() {
    for (groups, per_target, n) in PLACES {
        // Most people weigh nothing, so that what is left is small in some scopes.
        let all =
            keyed(people(groups, per_target, n), |key| if key % 9 == 0 { 1 + key % 4 } else { 0 });
        let some: WeightedPeople = all.iter().filter(|one| one.1.weight > 0).cloned().collect();
        let [all, some] = [&all, &some].map(|of| gather(of, groups, 2, &settings()).measured);
        assert_eq!(all.len(), some.len());
        let mut small = 0;
        for (a, b) in all.iter().zip(&some).filter(|(a, _)| a.metric.id != "kld_hist_smoothed") {
            let what = format!("{} in {:?}", a.metric.id, a.scope);
            assert_eq!(a.value.ok(), b.value.ok(), "{what}");
            // Terms of a score metric are rounded to a unit that depends on the number of people.
            let ends = |of: Option<ValueInterval>| of.map(|of| [of.lo, of.hi]);
            match (ends(a.interval), ends(b.interval)) {
                (Some(a), Some(b)) => {
                    let near = a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-10);
                    assert!(near, "{what}: {a:?} {b:?}");
                }
                (a, b) => assert_eq!(a, b, "{what}"),
            }
            assert_eq!((&a.flags, a.switched), (&b.flags, b.switched), "{what}");
            assert_eq!((a.persons, a.weights), (b.persons, b.weights), "{what}");
            assert!(a.persons.is_none_or(|of| of.n == b.n_rows), "{what}");
            let below = a.persons.and_then(|of| of.denominator);
            assert!(below.zip(b.denominator).is_none_or(|(n, rows)| n <= rows), "{what}");
            small += usize::from(!a.flags.is_empty());
        }
        assert!(small > 20, "{small}");
    }
}

/// Who weighs nothing is not there: values are undefined as without these people, never 0.
#[test]
fn those_who_weigh_nothing_leave_no_value() {
    let person = |label, predicted, weight| ScoredPerson {
        weight,
        ..ScoredPerson::of(0, Some(label), Some(predicted), Some(0.25))
    };
    let cf = [ScoredCounterfactual::to(1, Some(false), Some(0.125))];
    let people: WeightedPeople = vec![
        (1, person(true, true, 0), cf.to_vec()),
        (2, person(false, true, 2), cf.to_vec()),
        (3, person(false, false, 3), cf.to_vec()),
    ];
    let plain = MeasureSettings { level: None, ..settings() };
    let all = gather(&people, 2, 1, &plain).measured;
    let value = |id: &str, scope| one(&all, id, scope).value;
    assert_eq!(value("tpr", MetricScope::Group(0)), Err(Undefined::NoActualPositive));
    assert_eq!(
        (
            one(&all, "tpr", MetricScope::Group(0)).denominator,
            one(&all, "tpr", MetricScope::Group(0)).weights
        ),
        (Some(0), Some((0, 0)))
    );
    assert_eq!(value("fpr", MetricScope::Group(0)), Ok(0.4));
    assert_eq!(value("tpr", MetricScope::Group(1)), Err(Undefined::EmptyGroup));
    assert_eq!(value("tpsr", MetricScope::Direction(0, 1)), Err(Undefined::NoTruePositive));
    assert_eq!(value("fnsr", MetricScope::Direction(0, 1)), Err(Undefined::NoFalseNegative));
    assert_eq!(value("bacc", MetricScope::Group(0)), Err(Undefined::OperandMissing));
    assert_eq!(value("rmscd", MetricScope::Direction(0, 1)), Ok(0.125));
    let nobody: WeightedPeople = people
        .iter()
        .map(|(key, person, cfs)| (*key, ScoredPerson { weight: 0, ..*person }, cfs.clone()))
        .collect();
    let none = gather(&nobody, 2, 1, &plain).measured;
    for m in &none {
        let scope = m.scope;
        assert!(m.value.is_err(), "{} in {scope:?}", m.metric.id);
        if matches!(scope, MetricScope::Direction(0, 1)) {
            let of_scores = matches!(m.metric.reads, Reads::Shift(_));
            let reason = if of_scores { Undefined::ZeroWeight } else { Undefined::EmptyGroup };
            assert_eq!(m.value, Err(reason), "{}", m.metric.id);
        }
        assert!(
            m.numerator.is_none_or(|n| n == 0) && m.weights.is_none_or(|weights| weights == (0, 0))
        );
    }
    assert_eq!(one(&none, "acc", MetricScope::Total).n_rows, 0);
}

/// People who all weigh the same are not surer than people without weights, even where a rate of
/// one side is 0, so that its replicates are all equal.
#[test]
fn a_gap_to_a_rate_of_zero_is_not_known_for_certain() {
    let someone = |group: usize, i: u64, share: u64| {
        let predicted = i < share;
        let person =
            ScoredPerson::of(group, Some(i.is_multiple_of(2)), Some(predicted), Some(0.25));
        // As many of the others switch.
        let switches = (share..2 * share).contains(&i);
        let cf = ScoredCounterfactual::to(1 - group, Some(predicted || switches), Some(0.25));
        (person, vec![cf])
    };
    let people: TestPeople =
        (0..1000).map(|i| someone(0, i, 40)).chain((0..40).map(|i| someone(1, i, 0))).collect();
    let people = keyed(people, |_| 1);
    let settings = settings();
    let (weighed, plain) =
        (gather(&people, 2, 1, &settings).measured, unweighed(&people, 2, &settings));
    for (id, scope) in [
        ("demp_difference", MetricScope::Pair(0, 1)),
        ("eodds", MetricScope::Pair(0, 1)),
        ("psr", MetricScope::Difference(0, 1)),
    ] {
        let [a, b] = [&weighed, &plain].map(|all| one(all, id, scope));
        assert_eq!(a.value, b.value, "{id}");
        let [x, y] = [a, b].map(|m| m.interval.unwrap_or_else(|| panic!("{id}: {}", m.ci_method)));
        assert_eq!(x, y, "{id}");
        assert!(x.lo <= 0.0 && y.lo <= 0.0, "{id}: {x:?} {y:?}");
        assert_eq!((a.impaired, b.impaired), (None, None), "{id}");
    }
}

/// Values of people without weights do not know of any of this.
#[test]
fn without_weights_there_are_none() {
    let people = people(2, 1, 200);
    let gathered = super::gather(&people, 2, true, 1, &settings());
    assert!(
        gathered.measured.iter().all(|m| m.weights.is_none() && !m.ci_method.contains("blocks"))
    );
    assert!(
        gathered.factual.weight(GroupSelection::All).is_none() && !gathered.counts.is_weighted()
    );
    serde_json::to_string(&gathered.counts).unwrap().lacks(&["weighed"]);
    assert!(second(&people, &gathered.counts, 1, &settings()).spreads.is_some());
}

/// How often a nominal 95 % interval of a weighted rate and of a gap of two holds the true value,
/// where large weights are rare and go with the outcome. 20,000 samples drawn by another program
/// give what is stated; ours must agree (`CFAUDIT_TRIALS`, printed with `--nocapture`).
#[test]
#[ignore = "slow, `make test-slow` runs it: some 500 simulated samples"]
fn coverage() {
    let trials: u64 = std::env::var("CFAUDIT_TRIALS").map_or(100, |n| n.parse().unwrap());
    let mut wrong = Vec::new();
    for (n, p, stated) in STATED {
        // Outcomes and weights: those predicted positive weigh 2 to 11, others 1 to 10.
        let truth = p * 6.5 / (p * 6.5 + (1.0 - p) * 5.5);
        let mut held: [CoverageCount; 2] = Default::default();
        for trial in 0..trials {
            let mut stream = RandomStream::new(trial, &format!("coverage/{n}"));
            let mut counts = FactualCounts::new(2).counted_by(CountingUnit::WEIGHT);
            for key in 0..n {
                let (group, positive, weight) =
                    ((key % 2) as usize, stream.u01() < p, 1 + (stream.u01() * 10.0) as u64);
                let unit = (group, key, weight + u64::from(positive));
                counts.add(unit, Some(true), Some(positive), false);
            }
            let measured = measure_factual(&counts, None, &settings());
            held[0].add(one(&measured, "pprev", MetricScope::Total).interval, truth);
            held[1].add(one(&measured, "demp_difference", MetricScope::Pair(0, 1)).interval, 0.0);
        }
        for ((held, what), stated) in held.iter().zip(["rate", "gap"]).zip(stated) {
            wrong.extend(held.check(&format!("{n} people, {p} positive, {what}"), stated));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// People, and the share predicted positive; of a rate and of a gap the share of intervals that
/// hold, and the share of samples with one.
const STATED: [(u64, f64, [IntervalCoverage; 2]); 5] = [
    (10, 0.3, [(0.95, 1.0), (0.953, 1.0)]),
    (30, 0.3, [(0.951, 1.0), (0.952, 1.0)]),
    (300, 0.02, [(0.955, 1.0), (0.973, 1.0)]),
    (300, 0.3, [(0.953, 1.0), (0.95, 1.0)]),
    (3000, 0.3, [(0.95, 1.0), (0.95, 1.0)]),
];

/// The weights of groups and directions add up to those of all.
#[test]
fn weights_add_up() {
    let people = keyed(people(3, 2, 500), |i| 1 + i % 9);
    let gathered = gather(&people, 3, 1, &MeasureSettings { level: None, ..settings() });
    let (weights, mut cells) = (gathered.counts.cell_profiles(), Eccm::default());
    let places = gathered.counts.scope_index();
    for (from, to) in places.directions() {
        let own = Eccm(weights[places.direction(from, to)].weight());
        cells.0.iter_mut().zip(own.0).for_each(|(sum, own)| *sum += own);
    }
    assert_eq!(weights[places.total()].weight(), cells.0);
    let weights = |who| Confusion::from_cells(gathered.factual.units(who).weight());
    let (whole, mut parts) = (weights(GroupSelection::All), Confusion::default());
    (0..3).for_each(|group| parts.merge(&weights(GroupSelection::One(group))));
    assert_eq!(whole, parts);
    let all = people.iter().map(|(_, person, _)| person.weight).sum::<u64>();
    assert_eq!(gathered.factual.weight(GroupSelection::All), Some(all));
}

/// Every number of threads gives the same.
#[test]
fn threads_change_nothing() {
    let people = keyed(people(4, 2, 400), |i| 1 + i % 5);
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        format!("{:?}", pool.install(|| gather(&people, 4, 1, &settings()).measured))
    };
    assert!(of(1) == of(3));
}
