//! Folders in the formats of other tools.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value as Json;

use crate::frame::TableRecord;
use crate::work::{Ran, Says, Work};

#[test]
fn folders_become_files_of_other_tools() {
    let work = Work::with_jobs();
    let ran = work.run(
        1,
        "jobs/gate-demo.yaml",
        "--set data.rows.synthetic.rows=2000 --set exports=[junit,prometheus]",
    );
    let (summary, before) = (ran.summary(), work.results());
    let exported = |to: &str| work.cfaudit(0, &format!("export out --to {to}")).stdout;
    let junit = exported("junit");
    junit.says(&["failures=\"1\"", "<failure type=\"fail\""]);
    let metrics = work.table("metrics");
    // Gates and headline, unless the job names metrics.
    let prometheus = exported("prometheus");
    let gauges = |text: &str, name: &str| {
        text.lines().filter(|line| line.starts_with(&format!("{name}{{"))).count()
    };
    let wanted = [("sr", "total"), ("demp_difference", "worst_case"), ("demp_difference", "pair")];
    let wanted = wanted.into_iter().chain([("acc", "total")]).collect::<Vec<_>>();
    let is_headline = |row: &TableRecord<'_>| {
        wanted.contains(&(row.text("metric"), row.text("scope")))
            && row.is_some("value")
            && ["arm", "slice", "class"].iter().all(|name| row.text(name).is_empty())
    };
    let of_headline = metrics.records().filter(is_headline).count();
    assert_eq!(gauges(&prometheus, "cfaudit_metric"), of_headline);
    for value in summary["headline"].as_object().unwrap().values() {
        let value = format!("}} {}", value.as_f64().unwrap());
        assert!(prometheus.lines().any(|line| line.ends_with(&value)), "{value}: {prometheus}");
    }
    let gates = work.table("gates");
    let decide = gates.of("decides=1").count();
    assert_eq!(gauges(&prometheus, "cfaudit_gate"), 4 * decide);
    let names: BTreeSet<&str> = prometheus
        .lines()
        .filter_map(|line| line.strip_prefix("cfaudit_metric{")?.split("} ").next())
        .collect();
    assert_eq!(names.len(), of_headline, "two values have the same labels");
    work.cfaudit(0, "export out --to prometheus --file cfaudit.prom");
    assert_eq!(work.read("cfaudit.prom"), prometheus);
    for (file, text) in [("junit.xml", &junit), ("cfaudit.prom", &prometheus)] {
        assert!(
            before[&format!("exports/{file}")] == text.as_bytes(),
            "{file} is not what `export` prints"
        );
    }
    assert!(before == work.results(), "an export changes the folder");
    work.cfaudit(5, "export nowhere --to junit").says(&["`nowhere`"]);
    work.cfaudit(5, "export out --to junit --file nowhere/x.xml").says(&["nowhere/x"]);
    for removed in ["paper", "csv", "mlflow"] {
        work.cfaudit(2, &format!("export out --to {removed}"));
    }
    // Metrics of the user's choice, in `exports/` and by `export` alike.
    let job = work.read("jobs/gate-demo.yaml");
    let exports = "\nexports: [{prometheus: {metrics: [nsr, psr], gates: false}}]\n";
    work.write("jobs/chosen.yaml", &(job + exports));
    work.cfaudit(1, "run jobs/chosen.yaml --set data.rows.synthetic.rows=2000 --out chosen");
    let chosen = work.cfaudit(0, "export chosen --to prometheus").stdout;
    assert_eq!(work.read("chosen/exports/cfaudit.prom"), chosen);
    let is_chosen = |row: &TableRecord<'_>| ["nsr", "psr"].contains(&row.text("metric"));
    let wanted = metrics.records().filter(|row| row.is_some("value") && is_chosen(row)).count();
    assert!(wanted > 2 && gauges(&chosen, "cfaudit_metric") == wanted, "{chosen}");
    assert_eq!(gauges(&chosen, "cfaudit_gate"), 0);
}

/// With the real dvc, where `CFAUDIT_DVC` names it (`make dvc`).
#[test]
#[ignore = "slow, `make test-slow` and `make dvc` run it: the real dvc"]
fn dvc_reads_the_summary() {
    let Some(dvc) = std::env::var_os("CFAUDIT_DVC") else {
        crate::work::skip("CFAUDIT_DVC names no dvc; `make dvc` does");
        return;
    };
    let work = Work::with_jobs();
    let few = "--set data.rows.synthetic.rows=2000";
    work.run(0, "jobs/demo.yaml", few);
    fs::write(work.path("dvc.yaml"), "metrics: [out/summary.json]\n").unwrap();
    let call = |program: &std::ffi::OsStr, args: &str| {
        let mut command = Command::new(program);
        command
            .current_dir(work.path(""))
            .args(args.split_whitespace())
            .env("HOME", work.path(""))
            .env("DVC_NO_ANALYTICS", "1");
        Ran::of(&mut command, 0)
    };
    let git = |args: &str| {
        call("git".as_ref(), &format!("-c user.name=x -c user.email=x@example.org {args}"))
    };
    git("init -q");
    call(&dvc, "init -q");
    git("add -A");
    git("commit -q -m first");
    work.run(0, "jobs/demo.yaml", &format!("{few} --set models.scorecard.logistic.omit=[sex]"));
    let changes: Json = serde_json::from_str(&call(&dvc, "metrics diff --json").stdout).unwrap();
    let sr = &changes["out/summary.json"]["headline.scorecard.flip.sex.sr"];
    assert!(
        sr["new"] == 0.0
            && sr["old"].as_f64().unwrap() > 0.05
            && sr["diff"].as_f64().unwrap() < -0.05,
        "{changes}"
    );
}
