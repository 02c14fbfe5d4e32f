//! How many people a gate needs to be decided: in the table, on the page, and by the verb `power`,
//! before a run and after it.

use serde_json::Value as Json;

use crate::work::{Says, Work, root};

const FEW: &str = "--set data.rows.synthetic.rows=2500";

/// The demo with limits that few people do not decide.
const OPEN: &str = "\
cfaudit: 1
name: open
include: [jobs/demo.yaml]
gates:
  no-harm-to-women: {at_most: 0.32}
  four-fifths: {decide_by: interval, at_least: 0.9}
  gap:
    metric: demp_difference
    model: blind
    between: {sex: [Male, Female]}
    at_most: 0.1
    level: warn
  distance:
    metric: macd
    model: scorecard
    counterfactual: flip
    at_most: 0.054
    level: warn
";

fn listed(text: &str) -> Vec<Json> {
    serde_json::from_str(text).unwrap()
}

#[test]
fn gates_tell_how_many_people_would_decide_them() {
    let work = Work::with_jobs();
    work.write("open.yaml", OPEN);
    work.run(0, "open.yaml", FEW);
    let table = work.table("gates");
    let printed = listed(&work.cfaudit(0, "power out --json").stdout);
    assert_eq!(printed.len(), table.rows.len());
    let mut hows = Vec::new();
    for (row, printed) in table.records().zip(&printed) {
        let (how, verdict) = (row.text("needed_how"), row.text("verdict"));
        assert_eq!(printed["how"], how);
        assert_eq!(printed["n_needed_80"].as_i64(), row.int("n_needed_80"));
        match (verdict, how) {
            ("inconclusive", "exact" | "normal" | "interval") => {
                let [n80, n95, p80, p95] =
                    ["n_needed_80", "n_needed_95", "people_needed_80", "people_needed_95"]
                        .map(|column| row.int(column).unwrap());
                assert!(n80 <= n95 && n80 <= p80 && p80 <= p95, "{n80} {n95} {p80} {p95}");
            }
            (_, how) => {
                assert!(["decided", "on_the_limit"].contains(&how), "{verdict}: {how}");
                row.holds("n_needed_80=");
            }
        }
        assert!(row.real("detectable").is_some_and(|excess| excess > 0.0), "{how}");
        hows.push((row.text("metric").to_owned(), verdict.to_owned(), how.to_owned()));
    }
    let has = |metric: &str, how: &str| {
        let is = |(m, v, h): &&(String, String, String)| {
            (m.as_str(), v.as_str(), h.as_str()) == (metric, "inconclusive", how)
        };
        assert!(hows.iter().any(|row| is(&row)), "{metric} {how}: {hows:?}");
    };
    has("denied_by_group", "exact");
    has("di", "exact");
    has("demp_difference", "exact");
    has("macd", "interval");
    work.read("out/report.html").says(&[
        "the question would be decided in 4 of 5 cases.",
        " more refused women the question would be decided",
        " people in both groups together ",
    ]);
}

/// Assumed numbers give, before a run, what a run would say about the same numbers.
#[test]
fn power_is_told_before_a_run() {
    let work = Work::with_jobs();
    let before = |args: &str| listed(&work.cfaudit(0, &format!("power {args} --json")).stdout);
    let job = "jobs/demo.yaml --cache cache --gate few-switches";
    let one = before(&format!("{job} --assume 0.03"));
    assert_eq!((one.len(), &one[0]["how"]), (1, &Json::from("exact")));
    assert_eq!(one[0]["n"], 8000, "all who are audited");
    let (n80, n95) = (&one[0]["n_needed_80"], &one[0]["n_needed_95"]);
    assert!(n80.as_u64() < n95.as_u64() && n80.as_u64() > Some(1500), "{n80} {n95}");
    let half = before(&format!("{job} --assume 0.03 --share 0.5"));
    assert_eq!((&half[0]["n"], &half[0]["n_needed_80"]), (&Json::from(4000), n80));
    assert_eq!(half[0]["people_needed_80"].as_u64().unwrap(), 2 * n80.as_u64().unwrap());
    let rateless = before(job);
    assert_eq!(
        (&rateless[0]["how"], &rateless[0]["n_needed_80"]),
        (&"no_rate".into(), &Json::Null)
    );
    assert!(rateless[0]["detectable"].as_f64() > Some(0.0));
    let estimate = before("jobs/demo.yaml --cache cache --gate four-fifths --assume 0.3,0.2");
    assert_eq!(estimate[0]["how"], "by_estimate");
    let harm = before("jobs/demo.yaml --cache cache --gate no-harm-to-women --assume 0.1");
    let metrics: Vec<&Json> = harm.iter().map(|row| &row["metric"]).collect();
    assert_eq!(metrics, ["denied_by_group", "favoured_by_group"]);
    let refused = work.cfaudit(2, "power jobs/demo.yaml --cache cache --gate nobody");
    refused.says(&["error[no-such-gate]: no gate is called `nobody`", "`few-switches`"]);
    let two = format!("power {job} --assume 0.3,0.2");
    work.cfaudit(2, &two).says(&["error[rates-do-not-fit]: gate `few-switches` is about one rate"]);
    work.cfaudit(2, "power jobs/demo.yaml --assume 3").says(&["`3` is no rate"]);
}

/// The commands of the guide, on the folder that its first command would leave.
#[test]
fn the_commands_of_the_guide_run() {
    let work = Work::with_jobs();
    let run = "run jobs/demo.yaml --out outputs/demo --cache cache";
    work.cfaudit(0, &format!("{run} {FEW}"));
    let guide = std::fs::read_to_string(root().join("docs/operate.md")).unwrap();
    let commands: Vec<&str> = guide
        .lines()
        .filter_map(|line| line.strip_prefix("$ cfaudit power "))
        .filter_map(|line| line.split('#').next())
        .collect();
    assert_eq!(commands.len(), 3);
    for command in commands {
        let stdout = work.cfaudit(0, &format!("power {} --cache cache", command.trim())).stdout;
        assert!(stdout.starts_with("gate ") && stdout.contains("detectable"), "{stdout}");
    }
}
