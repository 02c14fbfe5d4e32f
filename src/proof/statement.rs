//! The in-toto statement of an archive: which verdict was reached on which files, ready to be
//! signed.
//!
//! The predicate is test-result v0.1. It has three results: our `warn` and `inconclusive` are both
//! `WARNED`, and the annotations of `summary.json` keep our words.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::report::export::deciding;
use crate::table::GateRow;

/// The text of the statement, on one line; none where a verdict of the run is not the result of a
/// test (`done`: no gate was judged; `waiting`).
///
/// `files` are the names in the archive with their SHA-256, `verdict` that of the run.
pub(super) fn text(files: &[(String, &str)], verdict: &str, gates: &[GateRow]) -> Option<String> {
    let result = match verdict {
        "pass" => "PASSED",
        "warn" | "inconclusive" => "WARNED",
        "fail" => "FAILED",
        _ => return None,
    };
    let words: BTreeMap<&str, &str> =
        deciding(gates).map(|row| (row.gate.as_str(), row.verdict.as_str())).collect();
    let tests = |outcomes: &[&str]| -> Vec<&str> {
        let counts = |row: &&GateRow| outcomes.contains(&row.counts_as());
        deciding(gates).filter(counts).map(|row| row.gate.as_str()).collect()
    };
    let file = |(name, sha256): &(String, &str)| {
        let mut file = json!({"name": name, "digest": {"sha256": sha256}});
        if name == "audit/summary.json" {
            file["annotations"] = json!({"verdict": verdict, "gates": words});
        }
        file
    };
    let configuration = files.iter().filter(|(name, _)| name == "audit/job.resolved.yaml");
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": files.iter().map(file).collect::<Vec<Value>>(),
        "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
        "predicate": {
            "result": result,
            "configuration": configuration.map(file).collect::<Vec<Value>>(),
            "passedTests": tests(&["pass"]),
            "warnedTests": tests(&["warn", "inconclusive"]),
            "failedTests": tests(&["fail"]),
        },
    });
    Some(format!("{statement}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::TextRow;

    #[test]
    fn a_verdict_is_one_of_three_results_or_none() {
        let gate = |gate: &str, verdict: &str, level: &str| {
            GateRow::of(&format!("gate={gate}, verdict={verdict}, level={level}, decides=1"))
        };
        let gates = [
            gate("a", "pass", "fail"),
            gate("b", "fail", "warn"),
            gate("c", "fail", "fail"),
            gate("d", "inconclusive", "fail"),
            gate("e", "skipped", "fail"),
        ];
        let files =
            ["audit/job.resolved.yaml", "audit/summary.json"].map(|name| (name.to_owned(), "00ff"));
        let statement = |verdict: &str| -> Option<Value> {
            text(&files, verdict, &gates).map(|text| serde_json::from_str(&text).unwrap())
        };
        let results = ["pass", "warn", "inconclusive", "fail", "done", "waiting"]
            .map(|verdict| statement(verdict).map(|found| found["predicate"]["result"].clone()));
        let expected = [json!("PASSED"), json!("WARNED"), json!("WARNED"), json!("FAILED")];
        assert_eq!(results[..4], expected.map(Some));
        assert_eq!(results[4..], [None, None]);
        let found = statement("fail").unwrap();
        let lists = ["passedTests", "warnedTests", "failedTests"];
        let lists = lists.map(|list| found["predicate"][list].clone());
        assert_eq!(lists, [json!(["a"]), json!(["b", "d"]), json!(["c"])]);
        assert_eq!(found["predicate"]["configuration"][0]["digest"]["sha256"], "00ff");
        let annotations = &found["subject"][1]["annotations"];
        assert_eq!([&annotations["verdict"], &annotations["gates"]["d"]], ["fail", "inconclusive"]);
    }
}
