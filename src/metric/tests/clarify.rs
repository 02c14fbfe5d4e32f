//! Clarify's metrics against its worked examples, its library and a reference; groups against the
//! rest; worst cases; facets by hand.

use super::oracle::{OracleColumns, metrics_folder, near, object, parquet};
use super::*;
use crate::metric::catalog::clarify::SAMPLED;

/// Groups with these confusions.
fn counts(groups: &[Confusion]) -> FactualCounts {
    let mut counts = FactualCounts::new(groups.len());
    for (group, c) in groups.iter().enumerate() {
        for (n, label, predicted) in
            [(c.tp, true, true), (c.fp, false, true), (c.fn_, true, false), (c.tn, false, false)]
        {
            (0..n).for_each(|_| counts.add((group, 0, 1), Some(label), Some(predicted), false));
        }
    }
    counts
}

fn plain() -> MeasureSettings {
    MeasureSettings { families: vec![MetricFamily::Clarify], level: None, ..settings() }
}

fn confusion(of: &Json) -> Confusion {
    let count = |name: &str| of[name].as_u64().unwrap_or(0);
    Confusion::labelled(count("TP"), count("FP"), count("FN"), count("TN"))
}

/// The worked examples of the document.
#[test]
fn worked_examples() {
    let folder = metrics_folder();
    let examples = json(folder.join("clarify_doc_examples.json"));
    let mut compared = 0;
    for example in examples["examples"].as_array().unwrap() {
        let (name, given) = (example["metric"].as_str().unwrap(), &example["given"]);
        let number = |key: &str| given[key].as_f64().unwrap();
        let tenths = |q: f64| Confusion {
            tp: (q * 10.0).round() as u64,
            tn: (10.0 - q * 10.0).round() as u64,
            ..Confusion::default()
        };
        // Of DCAcc and DCR only labels and predictions of one side are given: so many of them that
        // both fit.
        let (labels, predictions) = if name == "DCAcc" { ("1", "pred") } else { ("0", "pred") };
        let side = |facet: &str| {
            let (n, p) = (
                number(&format!("n_{facet}{labels}")),
                number(&format!("n{predictions}_{facet}{labels}")),
            );
            let (n, p) = (n as u64, p as u64);
            let c = Confusion::labelled(n.min(p), p - n.min(p), n - n.min(p), 7);
            if name == "DCAcc" { c } else { c.swap_classes() }
        };
        let groups = match name {
            "DPPL" | "DI" => vec![tenths(number("q_a")), tenths(number("q_d"))],
            "DCAcc" | "DCR" => vec![side("a"), side("d")],
            "GE" => vec![confusion(given), Confusion::default()],
            _ => vec![confusion(&given["a"]), confusion(&given["d"])],
        };
        let measured = measure_factual(&counts(&groups), None, &plain());
        let id = catalog().find(|metric| metric.symbol() == name).unwrap().id;
        near(
            one(
                &measured,
                id,
                if name == "GE" { MetricScope::Total } else { MetricScope::Pair(0, 1) },
            ),
            &example["value"],
            1e-12,
        );
        compared += 1;
    }
    assert_eq!(compared, 15);
}

/// Labels 6 of 10 and 4 of 10, predictions 8 and 3: the gap grows from 0.2 to 0.5, with Student's
/// interval of the differences of prediction and label, also where everybody weighs 3.
#[test]
fn predictions_add_to_the_difference_of_the_labels() {
    let groups = [Confusion::labelled(6, 2, 0, 2), Confusion::labelled(3, 0, 1, 6)];
    let settings = of_families(&[MetricFamily::Clarify]);
    let close = |found: f64, expected: f64| {
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}")
    };
    let check = |measured: &[MeasuredValue], (lo, hi): (f64, f64), method: &str| {
        let of = |id: &str| one(measured, id, MetricScope::Pair(0, 1));
        close(of("dpl").value.unwrap(), 0.2);
        close(of("dppl").value.unwrap(), 0.5);
        let change = of("bias_change");
        let interval = change.interval.unwrap();
        close(change.value.unwrap(), 0.3);
        close(interval.lo, lo);
        close(interval.hi, hi);
        assert_eq!((interval.method.as_str(), change.impaired, change.n_rows), (method, None, 20));
    };
    let plain = measure_factual(&counts(&groups), None, &settings);
    check(&plain, (-0.067_447_638_560_640_73, 0.667_447_638_560_640_8), "student");
    let dpl = one(&plain, "dpl", MetricScope::Pair(0, 1)).interval.unwrap();
    close(dpl.lo, -0.206_340_651_668_195_32);
    close(dpl.hi, 0.527_842_521_754_300_1);
    let mut weighed = FactualCounts::new(groups.len()).counted_by(CountingUnit::WEIGHT);
    let mut key = 0;
    for (group, c) in groups.iter().enumerate() {
        for (n, label, predicted) in
            [(c.tp, true, true), (c.fp, false, true), (c.fn_, true, false), (c.tn, false, false)]
        {
            for _ in 0..n {
                key += 1;
                weighed.add((group, key, 3), Some(label), Some(predicted), false);
            }
        }
    }
    let weighed = measure_factual(&weighed, None, &settings);
    check(&weighed, (-0.067_447_638_560_640_73, 0.667_447_638_560_640_8), "student");
    // Where the negative prediction is favourable, the same with the other sign.
    let turned = MeasureSettings { favourable: FavourableClass::Negative, ..settings.clone() };
    let turned = measure_factual(&counts(&groups), None, &turned);
    close(one(&turned, "bias_change", MetricScope::Pair(0, 1)).value.unwrap(), -0.3);
    let mut unlabelled = counts(&[groups[0], Confusion::default()]);
    (0..7).for_each(|i| unlabelled.add((1, 0, 1), None, Some(i < 4), false));
    let unlabelled = measure_factual(&unlabelled, None, &settings);
    for id in ["dpl", "bias_change"] {
        let m = one(&unlabelled, id, MetricScope::Pair(0, 1));
        assert_eq!(m.value, Err(Undefined::NoLabel), "{id}");
    }
}

/// Where the negative prediction is favourable, everything is as if the classes had each other's
/// names.
#[test]
fn a_favourable_negative_turns_both_classes() {
    let groups = [Confusion::labelled(30, 12, 7, 51), Confusion::labelled(22, 5, 16, 29)];
    let strata = |turn: bool| {
        let mut counts = counts(&groups.map(|c| if turn { c.swap_classes() } else { c }))
            .with_strata(Strata::new(3, 2, false));
        for (i, yes) in (0..200_u64).map(|i| (i, i % 5 < 2 + i / 120)) {
            counts.add_stratum((i % 2) as usize, (i, 1), Some(yes != turn), Some((i % 3) as u32));
        }
        counts
    };
    let with = |favourable| MeasureSettings { favourable, ..of_families(&[MetricFamily::Clarify]) };
    let (there, here) = (
        measure_factual(&strata(false), None, &with(FavourableClass::Negative)),
        measure_factual(&strata(true), None, &with(FavourableClass::Positive)),
    );
    let mut defined = 0;
    for (x, y) in there.iter().zip(&here) {
        assert_eq!(
            (x.metric.id, x.value, x.impaired, x.flags.clone()),
            (y.metric.id, y.value, y.impaired, y.flags.clone())
        );
        defined += usize::from(x.value.is_ok());
    }
    // Disparate impact in both orders; what labels and predictions say of the facets.
    assert_eq!(defined, 2 + 9 + 4 + 1 + 2);
    // Nobody is denied, said in the words of each naming.
    let all = measure_factual(
        &counts(&[Confusion { tp: 5, ..Confusion::default() }; 2])
            .with_strata(Strata::new(1, 2, false)),
        None,
        &plain(),
    );
    assert_eq!(one(&all, "cddpl", MetricScope::Pair(0, 1)).value, Err(Undefined::EmptyGroup));
    let alike = |favourable| {
        let mut counts = counts(&[Confusion { tp: 5, ..Confusion::default() }; 2])
            .with_strata(Strata::new(1, 2, false));
        (0..10).for_each(|i| counts.add_stratum(i % 2, (i as u64, 1), Some(true), Some(0)));
        one(&measure_factual(&counts, None, &with(favourable)), "cddpl", MetricScope::Pair(0, 1))
            .value
    };
    assert_eq!(alike(FavourableClass::Positive), Err(Undefined::NoPredictedNegative));
    assert_eq!(alike(FavourableClass::Negative), Err(Undefined::NoPredictedNegative));
}

/// DPPL, RD, SD, DAR and AD are named gaps of the family group, with their intervals; `di` is
/// measured once.
#[test]
fn aliases_are_equal() {
    let groups = [Confusion::labelled(30, 12, 7, 51), Confusion::labelled(22, 5, 16, 29)];
    let measured = measure_factual(
        &counts(&groups),
        None,
        &of_families(&[MetricFamily::Group, MetricFamily::Clarify]),
    );
    let pair = |id: &str| one(&measured, id, MetricScope::Pair(0, 1));
    for (alias, of) in [
        ("dppl", "demp_difference"),
        ("rd", "eopp_difference"),
        ("sd", "pred_eq_difference"),
        ("dar", "pred_p_difference"),
        ("ad", "acc_difference"),
    ] {
        let (alias, of) = (pair(alias), pair(of));
        assert_eq!((alias.value, alias.interval), (of.value, of.interval), "{}", alias.metric.id);
        assert!(alias.interval.unwrap().method.as_str() == "newcombe");
    }
    assert_eq!(pair("di").value, Ok((27.0 / 72.0) / (42.0 / 100.0)));
    // Who is worse off is said by the sign.
    let contrary = [Confusion::labelled(10, 0, 10, 10), Confusion::labelled(10, 5, 0, 10)];
    let many = contrary.map(|c| Confusion::labelled(40 * c.tp, 40 * c.fp, 40 * c.fn_, 40 * c.tn));
    let signs = measure_factual(
        &counts(&many),
        None,
        &MeasureSettings { level: Some(Level::DEFAULT), ..plain() },
    );
    let impaired = |id: &str| one(&signs, id, MetricScope::Pair(0, 1)).impaired;
    assert!(
        measure_factual(&counts(&contrary), None, &plain()).iter().all(|m| m.impaired.is_none()),
        "without an interval"
    );
    assert_eq!(
        ["rd", "drr", "dcacc", "dar", "te", "sd"].map(impaired),
        [Some(0), Some(0), Some(0), Some(1), None, Some(0)]
    );
    assert_eq!(
        measured.iter().filter(|m| m.metric.id == "di").count(),
        3,
        "of the pair in both orders, and of the worst case"
    );
    let elsewhere = MeasureSettings {
        favoured: FavouredGroups::Groups(vec![1]),
        families: vec![MetricFamily::Group, MetricFamily::Clarify],
        ..settings()
    };
    let measured = measure_factual(&counts(&groups), None, &elsewhere);
    assert_eq!(
        one(&measured, "di", MetricScope::Pair(1, 0)).value,
        Ok((42.0 / 100.0) / (27.0 / 72.0))
    );
    assert!(measured.iter().any(|m| m.metric.id == "dppl" && m.scope == MetricScope::Pair(1, 0)));
}

/// What each comparison is derived from.
#[test]
fn the_rest_is_all_other_groups() {
    let groups = [
        Confusion::labelled(30, 12, 7, 51),
        Confusion::labelled(22, 5, 16, 29),
        Confusion::labelled(3, 4, 5, 6),
    ];
    let mut rest = groups[0];
    rest.merge(&groups[2]);
    let families = vec![MetricFamily::Group, MetricFamily::Clarify];
    let three = measure_factual(
        &counts(&groups),
        None,
        &MeasureSettings { favoured: FavouredGroups::Rest, ..of_families(&families) },
    );
    let two = measure_factual(&counts(&[rest, groups[1]]), None, &of_families(&families));
    let turned = measure_factual(&counts(&[groups[1], rest]), None, &of_families(&families));
    let mut compared = 0;
    for m in two.iter().filter(|m| m.scope == MetricScope::Pair(0, 1)) {
        let other = match m.metric.family {
            MetricFamily::Clarify => one(&three, m.metric.id, MetricScope::RestVsOne(1)),
            _ => one(&three, m.metric.id, MetricScope::OneVsRest(1)),
        };
        let m = if m.metric.family == MetricFamily::Clarify {
            m
        } else {
            one(&turned, m.metric.id, m.scope)
        };
        assert_eq!((m.value, m.n_rows), (other.value, other.n_rows), "{}", m.metric.id);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        match (m.interval, other.interval) {
            (Some(a), Some(b)) => {
                assert_eq!(a.method, b.method, "{}", m.metric.id);
                assert!(near(a.lo, b.lo) && near(a.hi, b.hi), "{}", m.metric.id);
            }
            (a, b) => assert_eq!(a, b, "{}", m.metric.id),
        }
        compared += 1;
    }
    assert_eq!(compared, 37 + 11, "a new metric of groups raises this number");
    assert_eq!(
        one(&three, "dppl", MetricScope::RestVsOne(2)).impaired,
        None,
        "18 people make nothing clear"
    );
    let many = groups.map(|c| Confusion::labelled(40 * c.tp, 40 * c.fp, 40 * c.fn_, 40 * c.tn));
    let rest =
        MeasureSettings { favoured: FavouredGroups::Rest, ..of_families(&[MetricFamily::Clarify]) };
    assert_eq!(
        one(&measure_factual(&counts(&many), None, &rest), "dppl", MetricScope::RestVsOne(1))
            .impaired,
        Some(1)
    );
    let pairs = |all: &[MeasuredValue], scope: &str| {
        all.iter().filter(|m| m.scope.as_str() == scope && m.metric.id == "dppl").count()
    };
    assert_eq!((pairs(&three, "one_vs_rest"), pairs(&three, "pair")), (3, 0));
    assert!(
        two.iter().all(|m| m.scope.as_str() != "one_vs_rest"),
        "of two groups the rest is the other"
    );
}

#[test]
fn strata_that_are_the_groups_have_no_disparity() {
    let groups = [Confusion::labelled(30, 12, 7, 51); 2];
    let measured =
        measure_factual(&counts(&groups).with_strata(Strata::of_groups(2)), None, &plain());
    for id in ["cddpl", "cddpl_defined_strata_only", "undefined_strata", "undefined_strata_share"] {
        let m = one(&measured, id, MetricScope::Pair(0, 1));
        assert_eq!(
            (m.value, m.numerator, m.n_rows),
            (Err(Undefined::StratumIsGroup), None, 0),
            "{id}"
        );
    }
    let none = measure_factual(&counts(&groups), None, &plain());
    assert!(none.iter().all(|m| !matches!(
        m.metric.reads,
        Reads::Strata(_) | Reads::StrataRate(_) | Reads::Flips
    )));
}

/// One data set as scored by one model: counts with strata, and the flip test over the columns of a
/// file.
struct ClarifyFixture {
    counts: FactualCounts,
    order: Vec<String>,
    looked: Vec<FlipTestPerson>,
}

impl ClarifyFixture {
    fn place(&self, group: &Json) -> usize {
        self.order.iter().position(|name| Some(name.as_str()) == group.as_str()).unwrap()
    }
}

fn audited(rows: &OracleColumns, facet: &str, stratum: &str) -> ClarifyFixture {
    let texts = |column: &str| {
        rows.texts[column].iter().map(|text| text.clone().unwrap()).collect::<Vec<_>>()
    };
    let distinct = |column: &str| {
        let mut all = texts(column);
        all.sort();
        all.dedup();
        all
    };
    let (order, strata) = (distinct(facet), distinct(stratum));
    let mut counts =
        FactualCounts::new(order.len()).with_strata(Strata::new(strata.len(), order.len(), false));
    let mut looked = Vec::new();
    for (i, (group, stratum)) in texts(facet).iter().zip(texts(stratum)).enumerate() {
        let place = |all: &[String], of: &str| all.iter().position(|word| word == of).unwrap();
        let (group, label, predicted) = (
            place(&order, group),
            rows.numbers["y"][i].map(|y| y == 1.0),
            rows.numbers["score"][i].map(|score| score >= 0.5),
        );
        counts.add((group, 0, 1), label, predicted, false);
        counts.add_stratum(group, (i as u64, 1), predicted, Some(place(&strata, &stratum) as u32));
        looked.push(FlipTestPerson {
            row: i as u64,
            key: i as u64,
            group,
            predicted: predicted.unwrap(),
            weight: 1,
        });
    }
    ClarifyFixture { counts, order, looked }
}

fn audited_of(rows: &OracleColumns, facet: &Json, stratum: &Json) -> ClarifyFixture {
    audited(rows, facet.as_str().unwrap(), stratum.as_str().unwrap())
}

fn flips(audited: &ClarifyFixture, features: &OracleColumns, most: u64) -> FlipTestResult {
    let columns: Vec<&Vec<Option<f64>>> = features
        .numbers
        .iter()
        .filter(|(name, _)| *name != "row_id")
        .map(|(_, values)| values)
        .collect();
    let knobs = flip_knobs(most);
    let mut sample = FlipTestSample::new(columns.len(), &knobs, Seed(1));
    for (i, person) in audited.looked.iter().enumerate() {
        sample.add(*person, &columns.iter().map(|column| column[i].unwrap()).collect::<Vec<_>>());
    }
    voted(sample, audited.order.len(), &FavouredGroups::Rest, &knobs)
}

fn favourable(word: &str) -> FavourableClass {
    if word == "negative" { FavourableClass::Negative } else { FavourableClass::Positive }
}

fn against_rest(favourable: FavourableClass) -> MeasureSettings {
    MeasureSettings {
        favoured: FavouredGroups::Rest,
        favourable,
        families: vec![MetricFamily::Clarify],
        ..settings()
    }
}

/// The library (smclarify 0.5) and an independent reference on COMPAS and German credit.
fn check_dataset(folder: &Path) {
    let library = json(folder.join("expected_smclarify.json"));
    let (raw, tie_free) = (
        parquet(folder.join("features.parquet")),
        parquet(folder.join("features_ft_tiefree.parquet")),
    );
    for model in ["lr", "lgbm"] {
        let rows = parquet(folder.join(format!("scores_{model}.parquet")));
        let expected = json(folder.join(format!("expected_{model}.json")));
        let mut compared = 0;
        for (key, favourable) in [
            ("clarify_reference", FavourableClass::Positive),
            ("clarify_reference_favourable_negative", FavourableClass::Negative),
        ] {
            for case in expected[key].as_array().into_iter().flatten() {
                let audited = audited_of(&rows, &case["facet"], &case["stratum"]);
                let d = audited.place(&case["d"]);
                let measured = measure_factual(&audited.counts, None, &against_rest(favourable));
                for (name, value) in object(&case["metrics"])
                    .iter()
                    .filter(|(name, _)| *name != "CDDPL_undefined_strata")
                {
                    let id = catalog().find(|metric| metric.symbol() == name).unwrap().id;
                    near(
                        one(
                            &measured,
                            id,
                            if id == "ge" { MetricScope::Total } else { MetricScope::RestVsOne(d) },
                        ),
                        value,
                        1e-12,
                    );
                    compared += 1;
                }
                let undefined = case["metrics"]["CDDPL_undefined_strata"].as_array().unwrap().len();
                assert_eq!(
                    one(&measured, "undefined_strata", MetricScope::RestVsOne(d)).value,
                    Ok(undefined as f64)
                );
                let interval = one(&measured, "cddpl", MetricScope::RestVsOne(d)).interval.unwrap();
                assert!(interval.hi - interval.lo < 0.5, "{interval:?}");
            }
        }
        for run in library["runs"].as_array().unwrap().iter().filter(|run| run["model"] == model) {
            let audited = audited_of(&rows, &run["facet"], &run["group_variable"]);
            let d = audited.place(&run["d"]);
            let settings = against_rest(favourable(run["favourable_prediction"].as_str().unwrap()));
            let scope = MetricScope::RestVsOne(d);
            for (features, of) in [
                (&tie_free, &run["FT_tiefree"]["reference"]),
                (&raw, &run["FT_raw_features"]["reference_ties_by_row_order"]),
            ] {
                let measured = measure_factual(
                    &audited.counts,
                    Some(&flips(&audited, features, 1_000_000)),
                    &settings,
                );
                near(one(&measured, "ft", scope), &of["FT_docs_sign"], 0.0);
                if features as *const _ == &raw {
                    for (name, value) in object(&run["values"]) {
                        let symbol = if name == "DCA" { "DCAcc" } else { name };
                        let id = catalog().find(|metric| metric.symbol() == symbol).unwrap().id;
                        near(
                            one(&measured, id, if id == "ge" { MetricScope::Total } else { scope }),
                            value,
                            1e-12,
                        );
                        compared += 1;
                    }
                }
            }
            let library = &run["FT_tiefree"]["library_value"];
            let measured = measure_factual(
                &audited.counts,
                Some(&flips(&audited, &tie_free, 1_000_000)),
                &settings,
            );
            // The library has the opposite sign to its documentation.
            let opposite = serde_json::json!(-library.as_f64().unwrap());
            near(one(&measured, "ft", scope), &opposite, 1e-12);
            // A sample says that it is one.
            let sampled =
                measure_factual(&audited.counts, Some(&flips(&audited, &tie_free, 500)), &settings);
            let m = one(&sampled, "ft", scope);
            assert!(
                m.flags.contains(&SAMPLED)
                    && m.flips.is_some_and(|of| {
                        (of.looked_at, of.eligible) == (500, audited.looked.len() as u64)
                    }),
                "{m:?}"
            );
        }
        assert!(compared >= 2 * 13 + 2 * 12, "{compared}");
    }
}

#[test]
fn compas() {
    if let Some(folder) = shared("expected/metrics/compas") {
        check_dataset(&folder);
    }
}

#[test]
fn german() {
    if let Some(folder) = shared("expected/metrics/german") {
        check_dataset(&folder);
    }
}

/// One group against the rest, and the groups that are furthest apart, as the reference and
/// fairlearn 0.15 have them.
#[test]
fn rests_and_worst_cases() {
    let Some(folder) = shared("expected/metrics") else { return };
    let (mut rests, mut worst, mut fairlearn) = (0, 0, 0);
    for (dataset, stratum) in [("compas", "age_cat"), ("german", "housing")] {
        for model in ["lr", "lgbm"] {
            let rows = parquet(folder.join(format!("{dataset}/scores_{model}.parquet")));
            let expected = json(folder.join(format!("{dataset}/expected_{model}.json")));
            for (facet, classic) in object(&expected["classic"]) {
                let audited = audited(&rows, facet, stratum);
                let settings = of_families(&[MetricFamily::Group]);
                let measured = measure_factual(&audited.counts, None, &settings);
                let place = |group: &Json| audited.place(group);
                for case in classic["one_vs_rest"].as_array().into_iter().flatten() {
                    let a = place(&case["a"]);
                    let (rest, of) =
                        (audited.counts.confusion(GroupSelection::Rest(a)), &case["rest"]);
                    assert_eq!(
                        [rest.tp, rest.fp, rest.fn_, rest.tn].map(Some),
                        ["TP", "FP", "FN", "TN"].map(|name| of[name].as_u64())
                    );
                    for (name, value) in object(&case["fairness"]) {
                        let metric = catalog().find(|metric| metric.symbol() == name).unwrap();
                        // Of two groups the rest is the other.
                        if audited.order.len() > 2 {
                            near(
                                one(&measured, metric.id, MetricScope::OneVsRest(a)),
                                value,
                                1e-12,
                            );
                        }
                        rests += 1;
                    }
                }
                for (name, case) in object(&classic["worst_case"]) {
                    let of = |suffix: &str| {
                        one(
                            &measured,
                            &format!("{}_{suffix}", name.to_lowercase()),
                            MetricScope::WorstCase,
                        )
                    };
                    near(of("difference"), &case["max_minus_min"], 1e-12);
                    near(of("ratio"), &case["min_over_max"], 1e-12);
                    near(of("to_total"), &case["max_abs_to_total"], 1e-12);
                    let furthest = of("difference").furthest.unwrap();
                    assert_eq!(
                        (furthest.highest, furthest.lowest),
                        (Some(place(&case["max_group"])), Some(place(&case["min_group"])))
                    );
                    let groups =
                        ["n_groups", "n_groups_defined"].map(|key| case[key].as_u64().unwrap());
                    assert_eq!(furthest.n_undefined, groups[0] - groups[1]);
                    worst += 1;
                }
                let library = &expected["fairlearn"][facet];
                for (what, suffix) in [
                    ("difference_between_groups", "difference"),
                    ("ratio_between_groups", "ratio"),
                    ("difference_to_overall", "to_total"),
                ] {
                    for (name, value) in library[what].as_object().into_iter().flatten() {
                        near(
                            one(
                                &measured,
                                &format!("{}_{suffix}", name.to_lowercase()),
                                MetricScope::WorstCase,
                            ),
                            value,
                            1e-12,
                        );
                        fairlearn += 1;
                    }
                }
                for (name, id) in [
                    ("demographic_parity_difference", "demp_difference"),
                    ("demographic_parity_ratio", "demp_min_ratio"),
                    ("equalized_odds_difference", "eodds"),
                    ("equal_opportunity_difference", "eopp_difference"),
                ] {
                    if let Some(value) = library.get(name) {
                        near(one(&measured, id, MetricScope::WorstCase), value, 1e-12);
                        fairlearn += 1;
                    }
                }
            }
        }
    }
    assert!(rests > 200 && worst == 5 * 8 && fairlearn > 100, "{rests} {worst} {fairlearn}");
}
