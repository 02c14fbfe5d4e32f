//! The whole pipeline against values that other programs computed from the same scores of real
//! people (COMPAS, German credit).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::compute::{cast, concat};
use arrow::datatypes::DataType;
use cfaudit::metric::catalog::catalog;
use cfaudit::metric::evidence::person::CELLS;
use serde_json::{Map, Value as Json};

use crate::batches::read;
use crate::frame::{TableFrame, TableRecord, read_frame};
use crate::work::{Work, array, column, shared};

fn of(batch: &RecordBatch, name: &str, kind: &DataType) -> ArrayRef {
    cast(batch.column_by_name(name).unwrap(), kind).unwrap()
}

fn object(value: &Json) -> &Map<String, Json> {
    value.as_object().unwrap()
}

/// Runs an audit of the scores of one model; the tables of metrics and counts.
fn audit(folder: &Path, model: &str, expected: &Json) -> (TableFrame, TableFrame) {
    let work = Work::new();
    let rows = read(&folder.join(format!("scores_{model}.parquet")));
    let mut columns = vec![
        ("id", of(&rows, "row_id", &DataType::Int64)),
        ("y", of(&rows, "y", &DataType::Int64)),
        ("score", of(&rows, "score", &DataType::Float64)),
    ];
    let mut sensitive = String::new();
    let mut moved: [Vec<ArrayRef>; 5] = Default::default();
    let mut changed = Vec::new();
    for (attribute, classic) in object(&expected["classic"]) {
        // Groups in byte order, so that the pairs are those of the oracle.
        let mut groups: Vec<String> =
            object(&classic["groups"]).keys().map(|group| format!("{group:?}")).collect();
        groups.sort();
        sensitive += &format!(
            "    {attribute}: {{groups: [{}], reference: {}}}\n",
            groups.join(", "),
            groups[0]
        );
        columns.push((attribute, of(&rows, attribute, &DataType::Utf8)));
        let file = folder.join(format!("cf_{attribute}_{model}.parquet"));
        if file.exists() {
            let cf = read(&file);
            let n = cf.num_rows();
            changed.push(attribute.clone());
            moved[0].push(of(&cf, "row_id", &DataType::Int64));
            moved[1].push(column(std::iter::repeat_n(attribute.as_str(), n)));
            moved[2].push(of(&cf, "target", &DataType::Utf8));
            moved[3].push(array(Int64Array::from_value(0, n)));
            moved[4].push(of(&cf, "score_cf", &DataType::Float64));
        }
    }
    work.parquet("rows.parquet", columns);
    let joined = moved
        .each_ref()
        .map(|parts| concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>()).unwrap());
    work.parquet(
        "flip.parquet",
        ["row_id", "sensitive", "to_group", "cf_index", "score"].into_iter().zip(joined).collect(),
    );
    let job = format!(
        "cfaudit: 1\nname: oracle\ndata:\n  rows: {{parquet: rows.parquet}}\n  row_id: id\n  \
         label: {{column: y, positive: [1], favourable: {}}}\n  sensitive:\n\
         {sensitive}counterfactuals: {{flip: {{naive: {{}}, sensitive: [{}]}}}}\n\
         models: {{m: {{scores: {{factual: {{column: score}}, counterfactual: {{parquet: \
         \"{{counterfactual}}.parquet\", column: score}}}}}}}}\n\
         metrics: {{bootstrap: {{samples: 50}}}}\n",
        expected["favourable_prediction"].as_str().map_or("positive", |p| if p == "positive" {
            "positive"
        } else {
            "negative"
        }),
        changed.join(", ")
    );
    work.write("job.yaml", &job);
    assert_eq!(work.run(0, "job.yaml", "").summary()["rows"], expected["n_rows"]);
    let tables = work.path("out/tables");
    (read_frame(&tables, "metrics"), read_frame(&tables, "counts"))
}

/// The id that the oracle's name represents; none where it is a count, an interval or a variant
/// that the papers do not use.
fn id(name: &str) -> Option<&'static str> {
    match name {
        "JSD_hist_bits" => Some("jsd_hist"),
        "KLD_hist_nats" => Some("kld_hist"),
        "KLD_hist_smoothed_nats" => Some("kld_hist_smoothed"),
        _ => catalog().find(|metric| metric.symbol() == name).map(|metric| metric.id),
    }
}

/// Key columns of `metrics`: attribute, scope, groups, metric.
type Key<'a> = [&'a str; 5];

/// Compares the table of metrics with the oracle and counts what it compared.
struct Comparison<'a> {
    records: BTreeMap<(Key<'a>, &'a str), TableRecord<'a>>,
    compared: usize,
}

impl<'a> Comparison<'a> {
    fn new(metrics: &'a TableFrame) -> Self {
        let key = |r: &TableRecord<'a>| {
            ["sensitive", "scope", "from_group", "to_group", "metric"].map(|column| r.text(column))
        };
        Comparison {
            records: metrics.records().map(|r| ((key(&r), r.text("counterfactual")), r)).collect(),
            compared: 0,
        }
    }

    /// The value at a key, and where `interval` is given its ends.
    fn value(&mut self, key: Key<'_>, set: &str, expected: &Json, interval: Option<&Json>) {
        let record = self
            .records
            .get(&(key, set))
            .unwrap_or_else(|| panic!("{key:?} {set} is not in the table"));
        let (found, lo, hi) = (record.real("value"), record.real("lo"), record.real("hi"));
        // An infinite or huge ratio has a relative tolerance.
        let near =
            |found: Option<f64>, expected: &Json, within: f64| match (found, expected.as_f64()) {
                (None, None) => true,
                (Some(found), Some(expected)) => {
                    (found - expected).abs() <= within * expected.abs().max(1.0)
                }
                _ => false,
            };
        let within = match key[4] {
            "kld" => 2e-9,
            "jscd" => 2e-8,
            _ => 2e-12,
        };
        assert!(near(found, expected, within), "{key:?} {set}: {found:?} instead of {expected}");
        assert_eq!(
            found.is_none(),
            !record.text("undefined").is_empty(),
            "{key:?} {set}: a value or the reason why there is none"
        );
        if let Some(expected) = interval {
            assert!(
                near(lo, &expected[0], 1e-9) && near(hi, &expected[1], 1e-9),
                "{key:?} {set}: {lo:?} to {hi:?} instead of {expected}"
            );
        }
        self.compared += 1;
    }

    /// All metrics of one block of the oracle.
    fn block(
        &mut self,
        [attribute, scope, from, to]: [&str; 4],
        set: &str,
        expected: &Json,
        intervals: bool,
    ) {
        for (name, value) in object(expected) {
            // A name of the oracle that is a count of this block is the symbol of no metric.
            let Some(id) = id(name) else { continue };
            let interval =
                expected.get("ci95_wilson").filter(|_| intervals).and_then(|ci| ci.get(name));
            self.value([attribute, scope, from, to, id], set, value, interval);
        }
    }
}

/// The cells of the extended matrix in the table of counts.
fn assert_cells(counts: &TableFrame, [attribute, scope, from, to]: [&str; 4], expected: &Json) {
    let bit = |value: bool| if value { "1" } else { "0" };
    for cell in CELLS.iter().filter(|cell| cell.label.is_some()) {
        let wanted = [
            attribute,
            scope,
            from,
            to,
            bit(cell.label == Some(true)),
            bit(cell.predicted),
            bit(cell.predicted_cf),
        ];
        let columns =
            ["sensitive", "scope", "from_group", "to_group", "label", "predicted", "predicted_cf"];
        let found = counts.records().find(|r| {
            columns.map(|column| r.text(column)) == wanted && r.text("counterfactual") == "flip"
        });
        assert_eq!(
            found.map_or(0, |r| r.int("n").unwrap()),
            expected[cell.name].as_i64().unwrap(),
            "{} of {wanted:?}",
            cell.name
        );
    }
}

fn check(data_set: &str) {
    let Some(folder) = shared(&format!("expected/metrics/{data_set}")) else { return };
    for model in ["lr", "lgbm"] {
        let expected: Json = serde_json::from_slice(
            &fs::read(folder.join(format!("expected_{model}.json"))).unwrap(),
        )
        .unwrap();
        let (metrics, counts) = audit(&folder, model, &expected);
        let mut all = Comparison::new(&metrics);
        for (attribute, classic) in object(&expected["classic"]) {
            let groups = object(&classic["groups"]);
            for (group, values) in groups {
                all.block([attribute, "group", group, ""], "", values, true);
            }
            all.block([attribute, "total", "", ""], "", &classic["total"], true);
            for pair in classic["pairs"].as_array().unwrap() {
                let (a, b) = (pair["a"].as_str().unwrap(), pair["b"].as_str().unwrap());
                let mut fairness = pair["fairness"].clone();
                if expected["favourable_prediction"] == "negative" {
                    // The oracle compares positive predictions, four-fifths favourable ones.
                    let shares = [a, b].map(|of| 1.0 - groups[of]["PPREV"].as_f64().unwrap());
                    let ratio = shares[0].min(shares[1]) / shares[0].max(shares[1]);
                    fairness["DemP_min_ratio"] = ratio.into();
                }
                all.block([attribute, "pair", a, b], "", &fairness, false);
                for (name, gap) in object(&pair["parity"]) {
                    for what in ["difference", "ratio"] {
                        let id = format!("{}_{what}", id(name).unwrap());
                        all.value(
                            [attribute, "pair", a, b, &id],
                            "",
                            &gap[what],
                            gap.get(format!("{what}_ci95")),
                        );
                    }
                }
            }
            let counterfactual = &expected["counterfactual"][attribute];
            if !counterfactual.is_object() {
                continue;
            }
            for (direction, values) in object(&counterfactual["directions"]) {
                let (from, to) = direction.split_once(" -> ").unwrap();
                assert_cells(&counts, [attribute, "direction", from, to], &values["ccm"]);
                all.block([attribute, "direction", from, to], "flip", &values["ccm"], true);
                all.block([attribute, "direction", from, to], "flip", &values["scores"], false);
            }
            let total = &counterfactual["total"];
            // With more than two groups people repeat, and Wilson does not hold for a total.
            all.block([attribute, "total", "", ""], "flip", &total["ccm"], groups.len() == 2);
            all.block([attribute, "total", "", ""], "flip", &total["scores"], false);
            for (group, values) in counterfactual["one_to_rest"].as_object().into_iter().flatten() {
                let scope = [attribute, "one_to_rest", group, ""];
                // The people of one group moved to several repeat.
                all.block(scope, "flip", &values["ccm"], false);
                all.block(scope, "flip", &values["scores"], false);
                all.block(scope, "flip", &values["any_switch"], false);
            }
            for (group, values) in counterfactual["rest_to_one"].as_object().into_iter().flatten() {
                let scope = [attribute, "rest_to_one", "", group];
                all.block(scope, "flip", &values["ccm"], true);
                all.block(scope, "flip", &values["scores"], false);
            }
            for pair in counterfactual["parity"].as_array().unwrap() {
                let (from, to) = pair["a"].as_str().unwrap().split_once(" -> ").unwrap();
                for (name, gap) in object(&pair["ccm"]).iter().chain(object(&pair["scores"])) {
                    let Some(id) = id(name) else { continue };
                    all.value(
                        [attribute, "difference", from, to, id],
                        "flip",
                        &gap["difference"],
                        gap.get("difference_ci95"),
                    );
                }
            }
        }
        assert!(all.compared > 400, "{data_set} {model}: {} values compared", all.compared);
    }
}

#[test]
fn compas() {
    check("compas");
}

#[test]
fn german() {
    check("german");
}
