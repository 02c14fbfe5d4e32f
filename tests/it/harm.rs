//! Gates that see harm: both parts of it are judged, and a gate that looks the other way is told of before and after the run.

use cfaudit::table::io::read_frame;
use cfaudit::table::{Frame, GATES, ISSUES};

use crate::work::Work;

const FEW: &str = "--set data.rows.synthetic.rows=6000";

/// The demo, whose limits on the model that sees sex ask for approvals that women would lose as men.
const BLIND: &str = "\
cfaudit: 1
name: looks-away
include: [jobs/demo.yaml]
gates:
  no-harm-to-women: {model: blind}
  few-switches: {model: blind}
  women-keep-approvals:
    metric: nsr
    model: scorecard
    counterfactual: flip
    direction: {sex: [Female, Male]}
    at_most: 0.02
    level: warn
";

fn gates(work: &Work) -> Frame {
    read_frame(&work.path("out/tables"), &GATES).unwrap()
}

/// A model that is hard on women keeps the limit of a gate that looks away; `harm_to` fails it, with both parts and their counts.
#[test]
fn a_gate_on_harm_fails_where_one_that_looks_away_passes() {
    let work = Work::with_jobs();
    work.write("away.yaml", BLIND);
    let told = work.cfaudit(0, &format!("check away.yaml {FEW}")).stdout;
    for words in [
        "warning[blind-gate]: line 7: the gate `women-keep-approvals` asks `nsr` of `sex` from `Female` to `Male`, which tells of harm to `Male`",
        "harm to `Female`, the group with the lowest share of favourable labels (",
        "write `harm_to: {sex: Female}`",
    ] {
        assert!(told.contains(words), "{told}");
    }
    work.run(0, "away.yaml", FEW).says(&["warning: blind-gate: ", "favourable decisions"]);
    let issues = read_frame(&work.path("out/tables"), &ISSUES).unwrap();
    assert!(issues.records().any(|row| row.text("code") == "blind-gate" && row.text("where") == "gates.women-keep-approvals"));
    let away = gates(&work);
    let verdict = |name: &str| away.records().find(|row| row.text("gate") == name).unwrap().text("verdict").to_owned();
    assert_eq!(verdict("women-keep-approvals"), "pass");

    let work = Work::with_jobs();
    assert!(!work.cfaudit(0, &format!("check jobs/demo.yaml {FEW}")).stdout.contains("warning["));
    let summary = work.run(1, "jobs/demo.yaml", &format!("{FEW} --set gates.no-harm-to-women.level=fail")).summary();
    assert_eq!([&summary["worst"]["gate"], &summary["worst"]["verdict"]], ["no-harm-to-women", "fail"]);
    let harm = gates(&work);
    let parts: Vec<_> = harm.records().filter(|row| row.text("gate") == "no-harm-to-women").collect();
    let told = |row: &cfaudit::table::Record<'_>| ["metric", "from_group", "to_group", "verdict"].map(|column| row.text(column).to_owned());
    assert_eq!(
        parts.iter().map(told).collect::<Vec<_>>(),
        [["denied_by_group", "Female", "Male", "fail"], ["favoured_by_group", "Male", "Female", "fail"]]
    );
    for part in &parts {
        let (value, n, all) = (part.real("value").unwrap(), part.int("numerator").unwrap(), part.int("denominator").unwrap());
        assert!(n > 20 && value == n as f64 / all as f64);
    }
    let issues = read_frame(&work.path("out/tables"), &ISSUES).unwrap();
    assert!(issues.records().all(|row| row.text("code") != "blind-gate"));
}
