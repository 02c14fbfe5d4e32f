//! Published figures, and values that other programs computed from real and from awkward data.
//!
//! Clarify's metrics, one group against the rest and worst cases are in [`super::clarify`],
//! several classes in [`super::classes`].

use std::path::PathBuf;

use serde_json::Map;

use super::*;
use crate::metric::catalog;
use crate::metric::evidence::person::CELLS;
use crate::tests::json_frame;

pub(super) fn metrics_folder() -> PathBuf {
    expected("metrics")
}

pub(super) fn object(value: &Json) -> &Map<String, Json> {
    value.as_object().unwrap()
}

/// Weights of the oracles have two decimals.
const WEIGHT_UNITS: f64 = 100.0;

/// The columns of a small file: numbers (NaN as missing) or texts.
#[derive(Default)]
pub(super) struct OracleColumns {
    pub(super) numbers: BTreeMap<String, Vec<Option<f64>>>,
    pub(super) texts: BTreeMap<String, Vec<Option<String>>>,
}

impl OracleColumns {
    /// The rows of a case, with the names of its groups and what counts as a person.
    pub(super) fn of_case(&self, case: &Json) -> (Vec<String>, Vec<usize>, CountingUnit) {
        let name = case["case"].as_str().unwrap();
        let groups = object(&case["groups"]).keys().cloned().collect();
        let cases = self.texts["case"].iter().enumerate();
        let here: Vec<usize> =
            cases.filter(|(_, of)| of.as_deref() == Some(name)).map(|(i, _)| i).collect();
        let has = |column: &str| here.iter().any(|&i| self.numbers[column][i].is_some());
        let basis = CountingUnit { weighted: has("weight"), persons: has("person") };
        (groups, here, basis)
    }

    /// The position of the group of a row among those of its case.
    pub(super) fn group(&self, groups: &[String], i: usize) -> usize {
        let of = self.texts["group"][i].as_ref().unwrap();
        groups.iter().position(|group| group == of).unwrap()
    }

    /// What a row weighs in hundredths, the unit of the oracle; 1 where nobody weighs.
    pub(super) fn weight(&self, i: usize) -> u64 {
        self.numbers["weight"][i].map_or(1, |weight| (weight * WEIGHT_UNITS).round() as u64)
    }
}

pub(super) fn parquet(path: PathBuf) -> OracleColumns {
    let mut columns = OracleColumns::default();
    for (name, values) in json_frame::read(&path) {
        // Infinite numbers are texts there.
        let infinite = |text: &Json| text.as_str().and_then(|text| text.parse::<f64>().ok());
        if values.iter().any(|value| value.is_string() && infinite(value).is_none()) {
            let texts = values.iter().map(|text| text.as_str().map(str::to_owned)).collect();
            columns.texts.insert(name, texts);
        } else {
            let numbers = values.iter().map(|value| value.as_f64().or_else(|| infinite(value)));
            columns.numbers.insert(name, numbers.collect());
        }
    }
    columns
}

/// The id that the oracle's name represents.
pub(super) fn id(name: &str) -> String {
    match name {
        "JSD_hist_bits" => "jsd_hist".to_owned(),
        "KLD_hist_nats" => "kld_hist".to_owned(),
        "KLD_hist_smoothed_nats" => "kld_hist_smoothed".to_owned(),
        _ => catalog()
            .find(|metric| metric.symbol() == name)
            .unwrap_or_else(|| panic!("no symbol `{name}`"))
            .id
            .to_owned(),
    }
}

/// Names of the oracle that are not metrics: counts, intervals, and variants that the papers do not
/// use.
pub(super) fn is_metric(name: &str) -> bool {
    let count = name.len() <= 3 && CELLS.iter().any(|cell| cell.name == name)
        || ["N", "TP", "FP", "FN", "TN", "CP", "SN", "SP", "CN"].contains(&name);
    !(count
        || name.starts_with("ci95")
        || ["n_pairs", "JSD_vec_nats", "JSD_hist_nats_sqrt"].contains(&name))
}

#[track_caller]
pub(super) fn near(m: &MeasuredValue, expected: &Json, within: f64) {
    let what =
        || format!("`{}` in {:?}: {:?} instead of {expected}", m.metric.id, m.scope, m.value);
    match expected.as_f64() {
        None => assert!(m.value.is_err(), "{}", what()),
        Some(expected) => {
            let found = m.value.unwrap_or_else(|_| panic!("{}", what()));
            let squares =
                m.metric.id == "jscd" && (found * found - expected * expected).abs() < 1e-12;
            assert!((found - expected).abs() <= within || squares, "{}", what());
        }
    }
}

/// The interval, where the oracle has one.
#[track_caller]
pub(super) fn near_interval(m: &MeasuredValue, expected: Option<&Json>) {
    let Some(expected) = expected else { return };
    let what =
        || format!("`{}` in {:?}: {:?} instead of {expected}", m.metric.id, m.scope, m.interval);
    match expected.as_array() {
        None => assert!(m.interval.is_none(), "{}", what()),
        Some(ends) => {
            let found = m.interval.unwrap_or_else(|| panic!("{}", what()));
            let (lo, hi) = (ends[0].as_f64().unwrap(), ends[1].as_f64().unwrap());
            // The ends of a ratio may be large: its tolerance is relative there.
            assert!(
                (found.lo - lo).abs() <= 1e-9 * lo.abs().max(1.0)
                    && (found.hi - hi).abs() <= 1e-9 * hi.abs().max(1.0),
                "{}",
                what()
            );
        }
    }
}

pub(super) fn tolerance(name: &str) -> f64 {
    match name {
        "KLD" => 1e-9,
        "JSCD" => 1e-8,
        _ => 1e-12,
    }
}

pub(super) fn check_confusion(c: &Confusion, expected: &Json) {
    let count = |name: &str| expected[name].as_u64().unwrap();
    assert_eq!([c.n(), c.tp, c.fp, c.fn_, c.tn], ["N", "TP", "FP", "FN", "TN"].map(count));
}

pub(super) fn check_eccm(e: &Eccm, expected: &Json) {
    for (i, cell) in CELLS[..8].iter().enumerate() {
        assert_eq!(Some(e.0[i]), expected[cell.name].as_u64(), "{}", cell.name);
    }
    if !expected["N"].is_null() {
        assert_eq!(
            ["CP", "SN", "SP", "CN", "N"].map(|name| expected[name].as_u64().unwrap()),
            [e.cp(), e.sn(), e.sp(), e.cn(), e.n()]
        );
    }
}

/// Values and intervals of one scope: the number of values compared.
pub(super) fn check_values(
    measured: &[MeasuredValue],
    scope: MetricScope,
    expected: &Json,
    intervals: bool,
) -> usize {
    let names: Vec<&String> = object(expected).keys().filter(|name| is_metric(name)).collect();
    for &name in &names {
        let m = one(measured, &id(name), scope);
        near(m, &expected[name], tolerance(name));
        if intervals {
            near_interval(m, expected.get("ci95_wilson").and_then(|ci| ci.get(name)));
        }
    }
    names.len()
}

/// Differences and ratios of one pair of scopes, with intervals.
pub(super) fn check_gap(m: &MeasuredValue, expected: &Json, what: &str, within: f64) {
    near(m, &expected[what], within);
    near_interval(m, expected.get(format!("{what}_ci95")));
}

#[test]
fn published_matrices() {
    let folder = metrics_folder();
    let all = json(folder.join("published.json"));
    let (mut cases, mut exact, mut figures) = (0, 0, 0);
    for case in all["cases"].as_array().unwrap() {
        let groups: Vec<&String> =
            object(&case["cells"]).keys().filter(|group| *group != "Total").collect();
        let mut people = TestPeople::new();
        for (group, name) in groups.iter().enumerate() {
            for cell in &CELLS[..8] {
                let person = ScoredPerson::of(group, cell.label, Some(cell.predicted), None);
                let moved = ScoredCounterfactual::to(1 - group, Some(cell.predicted_cf), None);
                for _ in 0..case["cells"][name.as_str()][cell.name].as_u64().unwrap() {
                    people.push((person, vec![moved]));
                }
            }
        }
        let favourable = if case["favourable_prediction"] == "positive" {
            FavourableClass::Positive
        } else {
            FavourableClass::Negative
        };
        let families = vec![
            MetricFamily::Performance,
            MetricFamily::Group,
            MetricFamily::Ccm,
            MetricFamily::Eccm,
        ];
        let found =
            gather(&people, 2, true, 1, &MeasureSettings { favourable, families, ..settings() });
        let scopes = |name: &str| match groups.iter().position(|group| *group == name) {
            Some(group) => (MetricScope::Group(group), MetricScope::Direction(group, 1 - group)),
            None => (MetricScope::Total, MetricScope::Total),
        };
        let value = |name: &str, scope: &str| {
            let (group, direction) = scopes(scope);
            let performance = catalog::find(&id(name)).unwrap().family == MetricFamily::Performance;
            one(&found.measured, &id(name), if performance { group } else { direction })
        };
        for (scope, values) in object(&case["exact"]) {
            let of = match scopes(scope).1 {
                MetricScope::Direction(from, to) => MetricScope::Direction(from, to),
                _ => MetricScope::Total,
            };
            check_eccm(&found.counts.eccm(of).unwrap(), &case["cells"][scope]);
            for (name, expected) in object(values) {
                let m = value(name, scope);
                near(m, &expected["value"], 1e-12);
                if let (Some(n), Some(d), Some(num), Some(den)) =
                    (m.numerator, m.denominator, expected["num"].as_u64(), expected["den"].as_u64())
                {
                    assert_eq!(
                        u128::from(n) * u128::from(den),
                        u128::from(d) * u128::from(num),
                        "{name} {scope}"
                    );
                }
                if let (Some(reason), Err(undefined)) = (expected["reason"].as_str(), m.value) {
                    assert_eq!(undefined.code(), reason, "{name} {scope}");
                }
                exact += 1;
            }
        }
        for (name, expected) in case["parity"]["difference"].as_object().into_iter().flatten() {
            assert_eq!(case["parity"]["a"], groups[0].as_str());
            let difference = match catalog::find(&format!("{}_difference", id(name))) {
                Some(metric) => one(&found.measured, metric.id, MetricScope::Pair(0, 1)),
                None => one(&found.measured, &id(name), MetricScope::Difference(0, 1)),
            };
            near(difference, expected, 1e-12);
            let upside_down = case["parity"]["ratio_b_over_a"][name].as_f64();
            if let (Some(metric), Some(b_over_a)) =
                (catalog::find(&format!("{}_ratio", id(name))), upside_down)
            {
                let scope = match metric.family {
                    MetricFamily::Ccm | MetricFamily::Eccm => MetricScope::Difference(0, 1),
                    _ => MetricScope::Pair(0, 1),
                };
                let a_over_b = one(&found.measured, metric.id, scope).value;
                assert!(
                    a_over_b
                        .map_or(b_over_a == 0.0, |ratio| (ratio * b_over_a - 1.0).abs() < 1e-12),
                    "{name}"
                );
            }
        }
        for (scope, printed) in object(&case["published"]) {
            for (name, figure) in
                object(printed).iter().filter(|(_, figure)| figure["status"] == "consistent")
            {
                let m = if scope == "Diff" {
                    match catalog::find(&format!("{}_difference", id(name))) {
                        Some(metric) => one(&found.measured, metric.id, MetricScope::Pair(0, 1)),
                        None => one(&found.measured, &id(name), MetricScope::Difference(0, 1)),
                    }
                } else {
                    value(name, scope)
                };
                let scale = if figure["unit"] == "percent" { 100.0 } else { 1.0 };
                let half = 0.5
                    * 0.1_f64.powi(i32::try_from(figure["decimals"].as_i64().unwrap()).unwrap());
                match (m.value, figure["value"].as_f64()) {
                    (Ok(value), Some(printed)) => {
                        let off = value * scale - printed;
                        assert!(
                            off.abs() <= half + 1e-9,
                            "{} {scope} {name}: off by {off}",
                            case["id"]
                        );
                    }
                    (value, printed) => assert!(
                        value.is_err() && printed.is_none(),
                        "{} {scope} {name}",
                        case["id"]
                    ),
                }
                figures += 1;
            }
        }
        cases += 1;
    }
    assert_eq!((cases, exact, figures), (17, 17 * 3 * 31, 379 + 222 + 60));
}

fn dataset(folder: &Path, model: &str, attribute: &str, order: &[String]) -> TestPeople {
    let factual = parquet(folder.join(format!("scores_{model}.parquet")));
    let moved = folder.join(format!("cf_{attribute}_{model}.parquet"));
    let group =
        |text: &Option<String>| order.iter().position(|name| Some(name) == text.as_ref()).unwrap();
    let mut people: BTreeMap<u64, (ScoredPerson, Vec<ScoredCounterfactual>)> = BTreeMap::new();
    for (i, row) in factual.numbers["row_id"].iter().enumerate() {
        let score = factual.numbers["score"][i];
        let label = factual.numbers["y"][i].map(|y| y == 1.0);
        let person = ScoredPerson::of(
            group(&factual.texts[attribute][i]),
            label,
            score.map(|s| s >= 0.5),
            score,
        );
        people.insert(row.unwrap() as u64, (person, Vec::new()));
    }
    if moved.exists() {
        let moved = parquet(moved);
        for (i, row) in moved.numbers["row_id"].iter().enumerate() {
            let score = moved.numbers["score_cf"][i];
            let (person, cfs) = people.get_mut(&(row.unwrap() as u64)).unwrap();
            assert_eq!(person.group, group(&moved.texts["source"][i]));
            cfs.push(ScoredCounterfactual::to(
                group(&moved.texts["target"][i]),
                score.map(|s| s >= 0.5),
                score,
            ));
        }
    }
    people.into_values().collect()
}

fn check_dataset(name: &str) {
    let Some(folder) = shared(&format!("expected/metrics/{name}")) else { return };
    for model in ["lr", "lgbm"] {
        let expected = json(folder.join(format!("expected_{model}.json")));
        for (attribute, classic) in object(&expected["classic"]) {
            let mut order: Vec<String> = object(&classic["groups"]).keys().cloned().collect();
            order.sort();
            let place = |group: &Json| {
                order.iter().position(|name| name == group.as_str().unwrap()).unwrap()
            };
            let people = dataset(&folder, model, attribute, &order);
            let found = gather(&people, order.len(), true, 3, &settings());
            let (mut compared, mut rests, all) = (0, 0, &found.measured);
            for (group, values) in object(&classic["groups"]) {
                let group = place(&Json::from(group.as_str()));
                check_confusion(&found.factual.confusion(GroupSelection::One(group)), values);
                compared += check_values(all, MetricScope::Group(group), values, true);
            }
            check_confusion(&found.factual.confusion(GroupSelection::All), &classic["total"]);
            compared += check_values(all, MetricScope::Total, &classic["total"], true);
            for pair in classic["pairs"].as_array().unwrap() {
                let scope = MetricScope::Pair(place(&pair["a"]), place(&pair["b"]));
                compared += check_values(all, scope, &pair["fairness"], false);
                for (metric, gap) in object(&pair["parity"]) {
                    check_gap(
                        one(all, &format!("{}_difference", id(metric)), scope),
                        gap,
                        "difference",
                        1e-12,
                    );
                    // Ratios may be large: their tolerance is relative there.
                    let ratio = one(all, &format!("{}_ratio", id(metric)), scope);
                    check_gap(
                        ratio,
                        gap,
                        "ratio",
                        1e-12 * ratio.value.map_or(1.0, |ratio| ratio.abs().max(1.0)),
                    );
                    compared += 2;
                }
            }
            let counterfactual = &expected["counterfactual"][attribute];
            for (direction, values) in
                counterfactual["directions"].as_object().into_iter().flatten()
            {
                let (from, to) = direction.split_once(" -> ").unwrap();
                let (from, to) = (place(&Json::from(from)), place(&Json::from(to)));
                let eccm = found.counts.eccm(MetricScope::Direction(from, to)).unwrap();
                check_eccm(&eccm, &values["ccm"]);
                compared +=
                    check_values(all, MetricScope::Direction(from, to), &values["ccm"], true);
                assert_eq!(
                    Some(found.counts.shift(from, to).n),
                    values["scores"]["n_pairs"].as_u64()
                );
                compared +=
                    check_values(all, MetricScope::Direction(from, to), &values["scores"], false);
            }
            if counterfactual.is_object() {
                let eccm = found.counts.eccm(MetricScope::Total).unwrap();
                check_eccm(&eccm, &counterfactual["total"]["ccm"]);
                // With more than two groups people repeat, and Wilson does not hold for a total.
                compared += check_values(
                    all,
                    MetricScope::Total,
                    &counterfactual["total"]["ccm"],
                    order.len() == 2,
                );
                compared += check_values(
                    all,
                    MetricScope::Total,
                    &counterfactual["total"]["scores"],
                    false,
                );
            }
            for (scope, blocks) in [
                ("one_to_rest", &counterfactual["one_to_rest"]),
                ("rest_to_one", &counterfactual["rest_to_one"]),
            ] {
                for (group, values) in blocks.as_object().into_iter().flatten() {
                    let group = place(&Json::from(group.as_str()));
                    let one_to_rest = scope == "one_to_rest";
                    let scope = if one_to_rest {
                        MetricScope::OneToRest(group)
                    } else {
                        MetricScope::RestToOne(group)
                    };
                    // People moved to several groups repeat.
                    compared += check_values(all, scope, &values["ccm"], !one_to_rest);
                    compared += check_values(all, scope, &values["scores"], false);
                    if one_to_rest {
                        let any = &values["any_switch"];
                        assert_eq!(Some(one(all, "sr_any", scope).n_rows), any["n_rows"].as_u64());
                        for name in ["SR_any", "PSR_any", "NSR_any"] {
                            near(one(all, &id(name), scope), &any[name], 1e-12);
                            rests += 1;
                        }
                    }
                }
            }
            for pair in counterfactual["parity"].as_array().into_iter().flatten() {
                let (a, b) = pair["a"].as_str().unwrap().split_once(" -> ").unwrap();
                let scope = MetricScope::Difference(place(&Json::from(a)), place(&Json::from(b)));
                for (metric, gap) in object(&pair["ccm"])
                    .iter()
                    .chain(object(&pair["scores"]))
                    .filter(|(metric, _)| is_metric(metric))
                {
                    check_gap(
                        one(all, &id(metric), scope),
                        gap,
                        "difference",
                        2.0 * tolerance(metric),
                    );
                    compared += 1;
                }
            }
            assert!(compared > 80, "{name} {model} {attribute}: {compared} values compared");
            assert_eq!(
                rests,
                if order.len() > 2 && counterfactual.is_object() { 3 * order.len() } else { 0 }
            );
        }
    }
}

#[test]
fn compas() {
    check_dataset("compas");
}

#[test]
fn german() {
    check_dataset("german");
}
