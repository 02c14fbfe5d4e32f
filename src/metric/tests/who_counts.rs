//! Who counts, selective labels, and intervals of rates of 0 or 1, against values that another
//! program computed.

use super::oracle::{
    OracleColumns, check_confusion, check_eccm, check_gap, check_values, id, is_metric,
    metrics_folder, near, near_interval, object, parquet, tolerance,
};
use super::*;
use crate::metric::catalog::clarify::generalized_entropy;
use crate::metric::evidence::labels::{MissingLabels, shares_differ};
use crate::metric::interval::wilson_of_share;

/// Units of weight in 1: all weights of the files are multiples of a quarter.
const UNITS: f64 = 4.0;

/// The people of a case.
struct CountingCase {
    people: WeightedPeople,
    weighed: bool,
    /// By person.
    strata: Vec<Option<u32>>,
    n_strata: usize,
    /// By person; empty where the case has none.
    features: Vec<Vec<f64>>,
    groups: usize,
}

fn case(
    rows: &OracleColumns,
    name: &str,
    groups: &[&str],
    predict: &dyn Fn(f64) -> bool,
) -> CountingCase {
    let here = |i: &usize| rows.texts["case"][*i].as_deref() == Some(name);
    let of: Vec<usize> = (0..rows.texts["case"].len()).filter(here).collect();
    let number = |column: &str, i: usize| rows.numbers.get(column).and_then(|values| values[i]);
    let features: Vec<&String> = rows.numbers.keys().filter(|column| is_feature(column)).collect();
    let features: Vec<&String> = features
        .into_iter()
        .filter(|column| of.iter().any(|&i| number(column, i).is_some()))
        .collect();
    let mut case = CountingCase {
        people: Vec::new(),
        weighed: of.iter().any(|&i| number("weight", i).is_some()),
        strata: Vec::new(),
        n_strata: 0,
        features: Vec::new(),
        groups: groups.len(),
    };
    // A column that is empty throughout represents no counterfactual.
    let steps = [(1, "score_cf"), (2, "score_cf_2"), (3, "score_cf_3"), (4, "score_cf_4")];
    let steps: Vec<(usize, &str)> = steps
        .into_iter()
        .filter(|(step, column)| *step == 1 || of.iter().any(|&i| number(column, i).is_some()))
        .collect();
    let mut strata: Vec<&String> = Vec::new();
    for i in of {
        // Rows without a group belong to nobody.
        let Some(group) =
            groups.iter().position(|group| rows.texts["group"][i].as_deref() == Some(group))
        else {
            continue;
        };
        let counterfactual = |&(step, column): &(usize, &str)| {
            let score = number(column, i);
            let to = (group + step) % groups.len();
            ScoredCounterfactual::to(to, score.map(predict), score)
        };
        let moved = steps.iter().map(counterfactual);
        let score = number("score", i);
        let weight = if case.weighed { number("weight", i).unwrap() * UNITS } else { 1.0 };
        assert_eq!(weight.fract(), 0.0);
        let label = number("y", i).map(|y| y == 1.0);
        let person = ScoredPerson {
            weight: weight as u64,
            ..ScoredPerson::of(group, label, score.map(predict), score)
        };
        case.people.push((i as u64, person, moved.collect()));
        case.strata.push(rows.texts.get("stratum").and_then(|all| all[i].as_ref()).map(
            |stratum| {
                let place = strata.iter().position(|known| *known == stratum);
                place.unwrap_or_else(|| {
                    strata.push(stratum);
                    strata.len() - 1
                }) as u32
            },
        ));
        case.features
            .push(features.iter().map(|column| number(column, i).unwrap_or(f64::NAN)).collect());
    }
    case.n_strata = strata.len();
    if features.is_empty() {
        case.features.clear();
    }
    case
}

fn is_feature(column: &str) -> bool {
    column.strip_prefix('f').is_some_and(|number| number.parse::<u8>().is_ok())
}

/// What was counted and measured.
struct CountingResult {
    /// Everybody, also those of weight 0, whom the program leaves out.
    factual: FactualCounts,
    counts: CounterfactualCounts,
    /// By what they weigh, where they have weights.
    weighed: FactualCounts,
    flips: Option<FlipTestResult>,
    measured: Vec<MeasuredValue>,
    /// The same of everybody without weights.
    of_everybody: Vec<MeasuredValue>,
}

fn measure(case: &CountingCase, settings: &MeasureSettings) -> CountingResult {
    let width = case.features.first().map_or(0, Vec::len);
    let knobs = flip_knobs(1 << 20);
    let mut sample = FlipTestSample::new(width, &knobs, Seed(42));
    for (i, (key, person, _)) in case.people.iter().enumerate() {
        if let (Some(predicted), Some(features)) = (person.predicted, case.features.get(i)) {
            let ScoredPerson { group, weight, .. } = *person;
            sample.add(FlipTestPerson { row: *key, key: *key, group, predicted, weight }, features);
        }
    }
    let flips = voted(sample, case.groups, &settings.favoured, &knobs);
    let flips = (width > 0).then_some(flips);
    let counted = |weighted: bool| {
        let unit = CountingUnit { weighted, persons: false };
        let mut factual = FactualCounts::new(case.groups).counted_by(unit);
        let mut counts = CounterfactualCounts::new(case.groups).counted_by(unit);
        if case.n_strata > 0 {
            factual = factual.with_strata(Strata::new(case.n_strata, case.groups, weighted));
        }
        for ((key, person, cfs), stratum) in case.people.iter().zip(&case.strata) {
            let weight = if weighted { person.weight } else { 1 };
            let row = (person.group, *key, weight);
            factual.add(row, person.label, person.predicted, person.score == Some(0.5));
            factual.add_stratum(person.group, (*key, weight), person.predicted, *stratum);
            counts.add(person, cfs);
        }
        let mut measured = measure_factual(&factual, flips.as_ref(), settings);
        let people = case.people.iter().map(|(_, person, cfs)| (*person, cfs.clone())).collect();
        let evidence = second(&people, &counts, 1, settings);
        measured.extend(measure_counterfactual(&counts, Some(&evidence), None, settings));
        (factual, counts, measured)
    };
    let (weighed, _, measured) = counted(case.weighed);
    let (factual, counts, of_everybody) = counted(false);
    CountingResult { factual, counts, weighed, flips, measured, of_everybody }
}

fn texts(of: &Json) -> Vec<&str> {
    of.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

#[derive(Default)]
struct CheckedCounts {
    values: usize,
    reasons: usize,
    people: usize,
}

impl CheckedCounts {
    /// A block of values of one scope, with the reasons of those that have none.
    fn block(&mut self, found: &CountingResult, scope: MetricScope, values: &Json, reasons: &Json) {
        self.values += check_values(&found.measured, scope, values, true);
        for (metric, reason) in
            reasons.as_object().into_iter().flatten().filter(|(metric, _)| is_metric(metric))
        {
            let value = one(&found.measured, &id(metric), scope).value.unwrap_err().code();
            // Who weighs nothing is not there, so that the reason is that of nobody.
            if reason != "zero_weight" {
                assert_eq!(value, reason.as_str().unwrap(), "{metric} in {scope:?}");
            }
            self.reasons += 1;
        }
    }

    /// How many people are behind a value.
    fn n_rows(
        &mut self,
        found: &CountingResult,
        metric: &str,
        scope: MetricScope,
        expected: &Json,
    ) {
        assert_eq!(
            Some(one(&found.of_everybody, metric, scope).n_rows),
            expected.as_u64(),
            "{metric} in {scope:?}"
        );
        self.people += 1;
    }

    /// Metrics without a label and with one, counterfactually.
    fn pairs(
        &mut self,
        found: &CountingResult,
        scope: MetricScope,
        eccm: &Eccm,
        sums: &Json,
        people: [&Json; 2],
    ) {
        let labelled = [
            eccm.tcp() + eccm.fcp(),
            eccm.tsn() + eccm.fsn(),
            eccm.fsp() + eccm.tsp(),
            eccm.fcn() + eccm.tcn(),
        ];
        assert_eq!(labelled.map(Some), ["CP", "SN", "SP", "CN"].map(|name| sums[name].as_u64()));
        ["sr", "cmcc", "rmscd"]
            .iter()
            .for_each(|metric| self.n_rows(found, metric, scope, people[0]));
        ["tpsr", "tsnr"].iter().for_each(|metric| self.n_rows(found, metric, scope, people[1]));
    }
}

/// Every case of the oracle under both rules of the threshold.
#[test]
fn each_metric_counts_everybody_it_can() {
    let folder = metrics_folder();
    let expected = json(folder.join("edge_who_counts.json"));
    let mut files: BTreeMap<String, OracleColumns> = BTreeMap::new();
    let (mut all, mut cases) = (CheckedCounts::default(), 0);
    for (name, expected) in object(&expected["cases"]) {
        let file = expected["file"].as_str().unwrap();
        let rows = files.entry(file.to_owned()).or_insert_with(|| parquet(folder.join(file)));
        let order = texts(&expected["declared_groups"]);
        let favourable = if expected["favourable"] == "positive" {
            FavourableClass::Positive
        } else {
            FavourableClass::Negative
        };
        for (rule, expected) in object(expected).iter().filter(|(key, _)| key.starts_with("rule")) {
            println!("{name} {rule}");
            let case = case(rows, name, &order, &|score| {
                if rule == "rule >=" { score >= 0.5 } else { score > 0.5 }
            });
            let plain = MeasureSettings { favourable, ..settings() };
            check(&mut all, &order, &measure(&case, &plain), expected, favourable);
            let rest = MeasureSettings {
                favoured: FavouredGroups::Rest,
                families: vec![MetricFamily::Clarify],
                ..plain
            };
            check_rest(&mut all, &order, &measure(&case, &rest), expected, favourable);
            cases += 1;
        }
    }
    assert_eq!(cases, 2 * 30);
    assert!(
        all.values > 9_000 && all.reasons > 600 && all.people > 1_000,
        "{} {} {}",
        all.values,
        all.reasons,
        all.people
    );
}

fn check(
    all: &mut CheckedCounts,
    order: &[&str],
    found: &CountingResult,
    expected: &Json,
    favourable: FavourableClass,
) {
    let place = |group: &Json| order.iter().position(|name| Some(*name) == group.as_str()).unwrap();
    let (single, n) = (expected["counterfactual"]["directions"].is_null(), order.len());
    let mut of = |scopes: [MetricScope; 2], c: Confusion, e: Eccm, expected: &Json| {
        check_confusion(&c, &expected["classic"]);
        check_eccm(&e, &expected["eccm"]);
        let who = &expected["who"];
        let counted = ["n_rows", "n_positive"].map(|key| who["prediction"][key].as_u64());
        assert_eq!([c.predicted(), c.predicted_as(true)].map(Some), counted);
        for (scope, part) in [(scopes[0], "classic"), (scopes[1], "eccm"), (scopes[1], "scores")] {
            all.block(found, scope, &expected[part], &expected["reasons"][part]);
        }
        all.n_rows(found, "pprev", scopes[0], &who["prediction"]["n_rows"]);
        ["acc", "tpr", "mcc"]
            .iter()
            .for_each(|metric| all.n_rows(found, metric, scopes[0], &who["label"]["n_rows"]));
        all.pairs(
            found,
            scopes[1],
            &e,
            &who["eccm"],
            [&who["ccm"]["n_people"], &who["eccm"]["n_people"]],
        );
        for (kind, of) in [("classic", "who"), ("eccm", "")] {
            let Some(weights) = expected["weights"][kind].as_object() else { continue };
            let rate = |metric: &str, scope| one(&found.measured, metric, scope).weights.unwrap();
            let units = |name: &str| (weights[name].as_f64().unwrap() * UNITS) as u64;
            if of.is_empty() {
                assert_eq!(rate("sr", scopes[1]), (units("SP") + units("SN"), units("N")));
            } else {
                assert_eq!(
                    rate("pprev", scopes[0]),
                    (units("predicted_positive"), units("predicted"))
                );
                assert_eq!(rate("prev", scopes[0]), (units("TP") + units("FN"), units("N")));
            }
        }
    };
    for (group, name) in order.iter().enumerate() {
        let (to, expected) = ((group + 1) % n, &expected["groups"][name]);
        let direction = found.counts.eccm(MetricScope::Direction(group, to)).unwrap();
        let confusion = found.factual.confusion(GroupSelection::One(group));
        of(
            [MetricScope::Group(group), MetricScope::Direction(group, to)],
            confusion,
            direction,
            expected,
        );
        let rows = &found.factual.groups[group];
        let excluded = |why: &str| expected["excluded"][why].as_u64().unwrap();
        assert_eq!(
            [rows.n_missing_label(), rows.n_missing_score()],
            ["missing_label", "missing_factual_score"].map(excluded)
        );
        assert!(
            !single
                || found.counts.n_missing_score(group) == excluded("missing_counterfactual_score")
        );
        assert_eq!(
            [rows.n(), rows.at_threshold].map(Some),
            ["rows", "n_scores_equal_threshold"].map(|key| expected[key].as_u64())
        );
    }
    of(
        [MetricScope::Total; 2],
        found.factual.confusion(GroupSelection::All),
        found.counts.eccm(MetricScope::Total).unwrap(),
        &expected["total"],
    );
    check_gaps(
        all,
        found,
        MetricScope::Pair(place(&expected["fairness"]["a"]), place(&expected["fairness"]["b"])),
        &expected["fairness"],
        &Json::Null,
    );
    for pair in expected["pairs"].as_array().into_iter().flatten() {
        let scope = MetricScope::Pair(place(&pair["a"]), place(&pair["b"]));
        check_gaps(all, found, scope, &pair["fairness"], &pair["fairness_ci95"]);
        for (metric, gap) in object(&pair["parity"]) {
            for what in ["difference", "ratio"] {
                let m = one(&found.measured, &format!("{}_{what}", id(metric)), scope);
                check_gap(m, gap, what, 1e-12 * m.value.map_or(1.0, |value| value.abs().max(1.0)));
                all.values += 1;
            }
        }
    }
    for rest in expected["one_vs_rest"].as_array().into_iter().flatten().filter(|_| n > 2) {
        let group = place(&rest["a"]);
        check_confusion(&found.factual.confusion(GroupSelection::Rest(group)), &rest["rest"]);
        check_gaps(
            all,
            found,
            MetricScope::OneVsRest(group),
            &rest["fairness"],
            &rest["fairness_ci95"],
        );
    }
    for (metric, worst) in expected["worst_case"].as_object().into_iter().flatten() {
        for (what, key) in [
            ("difference", "max_minus_min"),
            ("ratio", "min_over_max"),
            ("to_total", "max_abs_to_total"),
        ] {
            let m = one(&found.measured, &format!("{}_{what}", id(metric)), MetricScope::WorstCase);
            near(m, &worst[key], 1e-12);
            let furthest = m.furthest.unwrap();
            let undefined =
                worst["n_groups"].as_u64().unwrap() - worst["n_groups_defined"].as_u64().unwrap();
            assert_eq!(furthest.n_undefined, undefined, "{metric}");
            if what == "difference" {
                let holder = |key: &str| worst[key].as_str().map(|_| place(&worst[key]));
                assert_eq!(
                    [furthest.highest, furthest.lowest],
                    ["max_group", "min_group"].map(holder),
                    "{metric}"
                );
            }
            all.values += 1;
        }
    }
    let clarify = &expected["clarify"];
    let (a, d) = (place(&clarify["a"]), place(&clarify["d"]));
    let mut both = [GroupSelection::One(a), GroupSelection::One(d)].map(|who| cells(found, who));
    let other = both[1];
    both[0].merge(&other);
    check_clarify(
        all,
        found,
        MetricScope::Pair(a, d),
        [GroupSelection::One(a), GroupSelection::One(d)],
        clarify,
        &expected["clarify_ci95"],
    );
    let seen =
        if favourable == FavourableClass::Negative { both[0].swap_classes() } else { both[0] };
    let entropy = MeasuredValue {
        value: generalized_entropy(&seen),
        ..one(&found.measured, "ge", MetricScope::Total).clone()
    };
    near(&entropy, &clarify["GE"], 1e-12);
    check_counterfactual(all, order, found, &expected["counterfactual"]);
    check_selective(
        &MissingLabels::from_counts(&found.factual),
        order,
        &expected["selective_labels"],
    );
}

/// What people weigh, or themselves where nobody has a weight.
fn cells(found: &CountingResult, who: GroupSelection) -> Confusion {
    Confusion::from_cells(found.weighed.units(who).weight())
}

fn check_gaps(
    all: &mut CheckedCounts,
    found: &CountingResult,
    scope: MetricScope,
    expected: &Json,
    intervals: &Json,
) {
    for (name, value) in
        object(expected).iter().filter(|(name, _)| !["a", "b"].contains(&name.as_str()))
    {
        let m = one(&found.measured, &id(name), scope);
        all.values += 1;
        // The oracle counts positive predictions. Of favourable ones it is the ratio of disparate
        // impact that is not above 1.
        let di = one(&found.measured, "di", scope).value.map(|di| di.min(1.0 / di));
        if let ("demp_min_ratio", Ok(value), Ok(of)) = (m.metric.id, m.value, di) {
            assert!((value - of).abs() < 1e-12, "{scope:?}: {value} instead of {of}");
            continue;
        }
        near(m, value, 1e-12 * m.value.map_or(1.0, |value| value.abs().max(1.0)));
        near_interval(m, intervals.get(name));
    }
}

fn check_clarify(
    all: &mut CheckedCounts,
    found: &CountingResult,
    scope: MetricScope,
    facets: [GroupSelection; 2],
    expected: &Json,
    intervals: &Json,
) {
    let n = |key: &str| expected[key].as_u64().unwrap();
    for (name, value) in object(expected) {
        let of = |metric: &str| one(&found.measured, metric, scope);
        match name.as_str() {
            "a" | "d" | "GE" | "ci95" | "F_plus" | "F_minus" | "n_a" | "n_d"
            | "FT_library_sign" => {
                continue;
            }
            "CDDPL_rows" => assert_eq!(of("cddpl").n_rows, n(name)),
            "CDDPL_undefined_strata" => {
                let undefined = value.as_array().unwrap().len() as f64;
                assert!(
                    of("undefined_strata").value.is_err()
                        || of("undefined_strata").value == Ok(undefined)
                );
            }
            "CDDPL_missing_stratum" => {
                let strata = found.factual.strata.as_ref().unwrap();
                let groups =
                    facets.into_iter().flat_map(|who| who.groups(found.factual.groups.len()));
                assert_eq!(groups.map(|group| strata.n_missing(group)).sum::<u64>(), n(name));
            }
            "k" => {
                assert_eq!(of("ft").n_rows, n("n_a") + n("n_d"));
                assert_eq!(of("ft").flips.map(|of| of.neighbours), Some(n("k")));
            }
            "FT_missing_feature" => {
                assert_eq!(found.flips.as_ref().unwrap().search.missing, n(name))
            }
            _ => {
                let m = of(&id(name));
                near(m, value, 1e-12 * m.value.map_or(1.0, |value| value.abs().max(1.0)));
                near_interval(m, intervals.get(name));
                all.values += 1;
            }
        }
    }
}

/// Each group against all others, as Clarify compares them.
fn check_rest(
    all: &mut CheckedCounts,
    order: &[&str],
    found: &CountingResult,
    expected: &Json,
    favourable: FavourableClass,
) {
    for block in expected["clarify_one_vs_rest"].as_array().into_iter().flatten() {
        let d = order.iter().position(|name| Some(*name) == block["d"].as_str()).unwrap();
        check_clarify(
            all,
            found,
            MetricScope::RestVsOne(d),
            [GroupSelection::Rest(d), GroupSelection::One(d)],
            block,
            &block["ci95"],
        );
        near(one(&found.measured, "ge", MetricScope::Total), &block["GE"], 1e-12);
        let everybody = cells(found, GroupSelection::All);
        let seen = if favourable == FavourableClass::Negative {
            everybody.swap_classes()
        } else {
            everybody
        };
        let entropy = generalized_entropy(&seen);
        assert_eq!(entropy.is_ok(), one(&found.measured, "ge", MetricScope::Total).value.is_ok());
    }
}

fn check_counterfactual(
    all: &mut CheckedCounts,
    order: &[&str],
    found: &CountingResult,
    expected: &Json,
) {
    let place = |group: &str| order.iter().position(|name| *name == group).unwrap();
    let direction = |text: &Json| {
        text.as_str().unwrap().split_once(" -> ").map(|(a, b)| (place(a), place(b))).unwrap()
    };
    for kind in ["directions", "one_to_rest", "rest_to_one"] {
        for (name, block) in expected[kind].as_object().into_iter().flatten() {
            let scope = match kind {
                "directions" => {
                    let (from, to) = direction(&Json::from(name.as_str()));
                    MetricScope::Direction(from, to)
                }
                "one_to_rest" => MetricScope::OneToRest(place(name)),
                _ => MetricScope::RestToOne(place(name)),
            };
            let eccm = found.counts.eccm(scope).unwrap();
            check_eccm(&eccm, &block["ccm"]);
            all.block(found, scope, &block["ccm"], &block["reasons"]["ccm"]);
            all.block(found, scope, &block["scores"], &block["reasons"]["scores"]);
            let people = &block["n_people"];
            all.pairs(found, scope, &eccm, &block["eccm_sums"], [&people["ccm"], &people["eccm"]]);
            if kind == "one_to_rest" {
                check_any(all, found, scope, &block["any_switch"]);
            }
        }
    }
    if expected["any_switch"].is_object() {
        check_any(all, found, MetricScope::Total, &expected["any_switch"]);
    }
    for pair in expected["parity"].as_array().into_iter().flatten() {
        let (from, to) = direction(&pair["a"]);
        assert_eq!(direction(&pair["b"]), (to, from));
        for (metric, gap) in object(&pair["ccm"])
            .iter()
            .chain(object(&pair["scores"]))
            .filter(|(metric, _)| is_metric(metric))
        {
            check_gap(
                one(&found.measured, &id(metric), MetricScope::Difference(from, to)),
                gap,
                "difference",
                2.0 * tolerance(metric),
            );
            all.values += 1;
        }
    }
}

fn check_any(all: &mut CheckedCounts, found: &CountingResult, scope: MetricScope, expected: &Json) {
    for name in ["SR_any", "PSR_any", "NSR_any"] {
        let m = one(&found.measured, &id(name), scope);
        near(m, &expected[name], 1e-12);
        near_interval(m, expected["ci95_wilson"].get(name));
        all.n_rows(found, &id(name), scope, &expected["n_rows"]);
    }
}

fn rate_of(expected: &Json) -> Rate {
    Rate::of(expected["missing"].as_u64().unwrap(), expected["n"].as_u64().unwrap())
}

fn check_selective(found: &MissingLabels, order: &[&str], expected: &Json) {
    let groups: Vec<Rate> = order.iter().map(|name| rate_of(&expected["groups"][name])).collect();
    let decisions =
        ["negative", "positive"].map(|decision| rate_of(&expected["decisions"][decision]));
    assert_eq!((&found.groups, found.decisions), (&groups, decisions));
    let place = |group: &Json| order.iter().position(|name| Some(*name) == group.as_str()).unwrap();
    for pair in expected["group_pairs"].as_array().unwrap() {
        let (a, b) = (groups[place(&pair["a"])], groups[place(&pair["b"])]);
        assert_eq!(Some(shares_differ(a, b)), pair["flag"].as_bool());
        check_difference([a, b], pair);
    }
    check_difference(decisions, &expected["decisions"]);
    assert_eq!(Some(found.widest_groups().is_some()), expected["flag_groups"].as_bool());
    assert_eq!(Some(found.decisions_differ()), expected["flag_decisions"].as_bool());
    assert_eq!(Some(found.are_selective()), expected["flag"].as_bool());
}

fn check_difference([a, b]: [Rate; 2], expected: &Json) {
    let interval = newcombe(a, b, z_of_level(0.95));
    let Some(ends) = expected["ci95"].as_array() else { return assert!(interval.is_none()) };
    let interval = interval.unwrap();
    let ends: Vec<f64> = ends.iter().map(|end| end.as_f64().unwrap()).collect();
    assert!(
        (interval.lo - ends[0]).abs() < 1e-9 && (interval.hi - ends[1]).abs() < 1e-9,
        "{interval:?}"
    );
}

/// The rule of selective labels only on counts.
#[test]
fn one_point_is_compared_in_whole_numbers() {
    let folder = metrics_folder();
    let expected = json(folder.join("edge_who_counts.json"));
    let mut flagged = 0;
    for case in expected["selective_labels_counts"].as_array().unwrap() {
        let [a, b] = [0, 1].map(|i| {
            Rate::of(case["missing"][i].as_u64().unwrap(), case["n"][i].as_u64().unwrap())
        });
        assert_eq!(Some(shares_differ(a, b)), case["flag"].as_bool(), "{}", case["what"]);
        check_difference([a, b], case);
        flagged += usize::from(shares_differ(a, b));
    }
    assert!(flagged > 4, "{flagged}");
}

/// Rates of which no case counts, or all do, have an interval on people.
#[test]
fn rates_at_an_end_are_judged_by_people() {
    let folder = metrics_folder();
    let expected = json(folder.join("boundary_cases.json"));
    let rows = parquet(folder.join("edge/boundary_cases.parquet"));
    let mut methods: BTreeMap<String, usize> = BTreeMap::new();
    let mut exact = 0;
    for (name, expected) in object(&expected["cases"]) {
        println!("{name}");
        let order = texts(&expected["declared_groups"]);
        let found = measure(&case(&rows, name, &order, &|score| score >= 0.5), &settings());
        let place = |group: &str| order.iter().position(|name| *name == group).unwrap();
        let mut check = |scope: MetricScope, expected: &Json| {
            for (metric, expected) in object(expected) {
                let m = one(&found.measured, &id(metric), scope);
                near(m, &expected["value"], 1e-12);
                let method = expected["method"].as_str().unwrap();
                *methods.entry(method.to_owned()).or_default() += 1;
                let what =
                    || format!("{name}: {metric} in {scope:?}: {:?}, {}", m.interval, m.ci_method);
                match method {
                    "bootstrap" | "" => assert!(
                        m.interval.is_none_or(|interval| {
                            ["wilson", "wilson-eff"].contains(&interval.method.as_str())
                        }),
                        "{}",
                        what()
                    ),
                    // Units with unequal numbers of rows are as many as their effective number.
                    "wilson-people" => {
                        let interval = m.interval.unwrap_or_else(|| panic!("{}", what()));
                        let (z, n) = (z_of_level(0.95), expected["n"].as_f64().unwrap());
                        let size = m.effective.unwrap_or(n);
                        let [people, rows] =
                            ["n_people", "denominator"].map(|key| expected[key].as_f64().unwrap());
                        assert!(size <= people + 1e-9, "{} of {people} people", what());
                        // The expected sizes count a person once, ours by the rows that count.
                        if rows == people {
                            assert!((size - n).abs() < 1e-9 * n, "{} of {n}", what());
                            exact += 1;
                        }
                        let share = m.value.unwrap();
                        let of = wilson_of_share(share, size, z, interval.method);
                        let near = (interval.lo - of.lo).abs() + (interval.hi - of.hi).abs();
                        assert!(near < 1e-12, "{}", what());
                    }
                    _ => {
                        let interval = m.interval.unwrap_or_else(|| panic!("{}", what()));
                        let end = |key: &str| expected[key].as_f64().unwrap();
                        assert!(
                            (interval.lo - end("lo")).abs() < 1e-12
                                && (interval.hi - end("hi")).abs() < 1e-12,
                            "{}",
                            what()
                        );
                        assert_eq!(interval.method.as_str(), method, "{}", what());
                    }
                }
            }
        };
        check(MetricScope::Total, &expected["total"]);
        for (kind, block) in object(expected) {
            for (of, values) in block.as_object().into_iter().flatten() {
                match kind.as_str() {
                    "directions" => {
                        let (from, to) = of.split_once(" -> ").unwrap();
                        check(MetricScope::Direction(place(from), place(to)), values);
                    }
                    "one_to_rest" => check(MetricScope::OneToRest(place(of)), values),
                    "rest_to_one" => check(MetricScope::RestToOne(place(of)), values),
                    "any_switch" | "factual" if of == "total" => check(MetricScope::Total, values),
                    "any_switch" => check(MetricScope::OneToRest(place(of)), values),
                    "factual" => check(MetricScope::Group(place(of)), values),
                    _ => {}
                }
            }
        }
        for (metric, expected) in object(&expected["no_rates_of_the_total"]) {
            let m = one(&found.measured, &id(metric), MetricScope::Total);
            near(m, &expected["value"], 1e-12);
            let method = m.interval.map_or("", |interval| interval.method.as_str());
            assert!(["", "score", "katz-eff"].contains(&method), "{name}: {metric} {method}");
        }
    }
    assert!(methods["wilson-people"] > 300 && methods["wilson"] > 100, "{methods:?}");
    assert!(exact > 300, "{exact}");
    for case in expected["formula"].as_array().unwrap() {
        let number = |key: &str| case[key].as_f64().unwrap();
        let method = crate::metric::interval::IntervalProcedure::WilsonPeople;
        let z = z_of_level(number("level"));
        let share = f64::from(u8::from(number("k") > 0.0));
        let interval = crate::metric::interval::wilson_of_share(share, number("n"), z, method);
        assert!(
            (interval.lo - number("lo")).abs() < 1e-12
                && (interval.hi - number("hi")).abs() < 1e-12
        );
    }
}

/// Distances of a model that moves nobody have the upper end of the share of people who move.
#[test]
fn nobody_moves() {
    for weighed in [false, true] {
        let people: WeightedPeople = (0..40_u64)
            .map(|i| {
                let group = (i % 2) as usize;
                let score = Some(0.3 + 0.01 * i as f64);
                let person = ScoredPerson {
                    weight: if weighed { 1 + i % 3 } else { 1 },
                    ..ScoredPerson::of(group, None, Some(i > 20), score)
                };
                (i, person, vec![ScoredCounterfactual::to(1 - group, person.predicted, score)])
            })
            .collect();
        let effective = |of: &dyn Fn(&ScoredPerson) -> bool| {
            let weights: Vec<f64> = people
                .iter()
                .filter(|(_, person, _)| of(person))
                .map(|(_, person, _)| person.weight as f64)
                .collect();
            weights.iter().sum::<f64>().powi(2) / weights.iter().map(|w| w * w).sum::<f64>()
        };
        let case = |people: &WeightedPeople| CountingCase {
            strata: vec![None; people.len()],
            people: people.clone(),
            weighed,
            n_strata: 0,
            features: Vec::new(),
            groups: 2,
        };
        let found = measure(&case(&people), &settings()).measured;
        for (scope, n) in [
            (MetricScope::Total, effective(&|_| true)),
            (MetricScope::Direction(0, 1), effective(&|person| person.group == 0)),
        ] {
            moves_nobody(|metric| one(&found, metric, scope), n);
            for metric in ["kld", "jscd", "jsd_hist", "kld_hist"] {
                let m = one(&found, metric, scope);
                assert!(
                    m.interval.is_none() && !m.ci_method.is_empty(),
                    "{metric}: {}",
                    m.ci_method
                );
            }
            assert!(
                find("macd").is_some()
                    && one(&found, "macd", MetricScope::Difference(0, 1)).interval.is_none()
            );
        }
        // Where one score moves it is another one.
        let mut moved = people.clone();
        moved[7].2[0].score = Some(0.9);
        let found = measure(&case(&moved), &settings()).measured;
        assert_ne!(
            one(&found, "macd", MetricScope::Total).interval.unwrap().method.as_str(),
            "wilson-moved"
        );
    }
}
