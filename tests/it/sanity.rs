//! Scores and decisions that go against the labels, and one decision for everybody: issues, gates
//! that stay undecided because of them, what the job accepts, and what `check` says before the run.

use std::fmt::Write as _;

use crate::work::{Says, Work};

/// 400 people of whom every other one repays, with a decision that mostly goes with that, and a
/// score that does.
fn people() -> Work {
    let work = Work::new();
    let mut rows = "sex,y,decision,score,low,mid,high,level\n".to_owned();
    for i in 0..400 {
        let (repays, wrong) = (i / 2 % 2, i % 9 == 0);
        let granted = (repays == 1) != wrong;
        let score = f64::from(i * 37 % 400) / 1000.0 + if granted { 0.5 } else { 0.1 };
        let level = ["low", "mid", "high"][i as usize % 3];
        // The scores of the outer classes are exchanged.
        let of = |class: &str| if class == level { 0.8 } else { 0.1 };
        let word = if granted { "yes" } else { "no" };
        writeln!(
            rows,
            "{},{repays},{word},{score:.3},{},{},{},{level}",
            if i % 2 == 0 { "f" } else { "m" },
            of("high"),
            of("mid"),
            of("low"),
        )
        .unwrap();
    }
    work.write("people.csv", &rows);
    work
}

fn job(label: &str, model: &str, gate: &str) -> String {
    format!(
        "cfaudit: 1\nname: sane\ndata:\n  rows: {{csv: {{path: people.csv}}}}\n  label: \
         {{{label}}}\n  sensitive: {{sex: {{groups: [f, m], reference: m}}}}\nmodels:\n  m: \
         {{{model}}}\nmetrics: {{families: [group]}}\ngates:\n  gap: {{{gate}}}\n\
         on_inconclusive: warn\n"
    )
}

const LABEL: &str = "column: y, positive: [1], favourable: positive";
const GAP: &str = "metric: demp_difference, model: m, between: worst_case, at_most: 0.3";

/// Verdict, code and reason of the gate, and the codes of issues about the model.
fn judged(work: &Work) -> ([String; 3], Vec<String>) {
    let gates = work.table("gates");
    let gate = gates.at("decides=1");
    let issues = work.table("issues");
    let codes = issues.of("where=m");
    let codes = codes.map(|row| row.text("code").to_owned()).collect();
    (["verdict", "reason_code", "reason"].map(|column| gate.text(column).to_owned()), codes)
}

#[test]
fn decisions_against_the_labels_leave_gates_undecided() {
    let work = people();
    let decision = |positive: &str, more: &str| {
        let model = format!("decision: {{column: decision, positive: {positive}}}{more}");
        work.write("job.yaml", &job(LABEL, &model, GAP));
    };
    decision("[yes]", "");
    work.run(0, "job.yaml", "");
    assert_eq!((judged(&work).0[0].as_str(), judged(&work).1.len()), ("pass", 0));
    decision("[no]", "");
    let stdout = work.cfaudit(0, "check job.yaml").stdout;
    stdout.says(&["warning[inverted-scores]: ", "positive decisions of `m`"]);
    work.run(0, "job.yaml", "").says(&["inverted-scores: positive decisions of `m` are rarer"]);
    let ([verdict, code, reason], codes) = judged(&work);
    assert_eq!([verdict.as_str(), &code], ["inconclusive", "inverted-scores"]);
    assert!(reason.starts_with("inverted-scores: positive decisions of `m` are rarer"), "{reason}");
    assert_eq!(codes, ["inverted-scores"]);
    work.read("out/report.html").says(&["Scores or decisions go against the labels."]);
    // The folder alone says so, too.
    assert_eq!(work.cfaudit(0, "gate out").summary()["gates"]["inconclusive"], 1);
    decision("[no]", ", accept: [inverted-scores]");
    work.run(0, "job.yaml", "");
    let ([verdict, ..], codes) = judged(&work);
    assert_eq!((verdict.as_str(), codes), ("pass", vec!["inverted-scores".to_owned()]));
}

#[test]
fn one_decision_for_everybody_is_said_first() {
    let work = people();
    for model in [
        "decision: {column: decision, positive: [yes, no]}",
        "scores: {factual: {column: score}}, threshold: 0.05",
    ] {
        work.write("job.yaml", &job(LABEL, model, GAP));
        let stdout = work.cfaudit(0, "check job.yaml").stdout;
        let one = "the prediction of `m` is positive for every person, all 400 people";
        stdout.says(&["warning[one-decision]: ", one]);
        work.run(0, "job.yaml", "");
        assert_eq!(judged(&work).1, ["one-decision"]);
        work.read("out/report.html").says(&["One decision for everybody."]);
    }
}

/// Scores of counterfactuals on another scale than those of the rows.
#[test]
fn counterfactuals_on_another_scale_leave_gates_undecided() {
    use crate::work::Rows;
    let work = people();
    let gate = "metric: denied_by_group, counterfactual: flip, direction: {sex: [f, m]}, model: m, \
                at_most: 0.05";
    let scores = "scores: {factual: {column: score}, counterfactual: {parquet: cf.parquet, column: \
                  score}}, threshold: 0.5";
    let set = "counterfactuals: {flip: {naive: {}}}\nmodels:\n  m: ";
    let with = |more: &str, divisor: f64| {
        let text = job(LABEL, &format!("{scores}{more}"), gate).replace("models:\n  m: ", set);
        work.write("job.yaml", &text.replace("families: [group]", "families: [group, ccm]"));
        let score = |i: i64| {
            let granted = (i / 2 % 2 == 1) != (i % 9 == 0);
            let score = (i * 37 % 400) as f64 / 1000.0 + if granted { 0.5 } else { 0.1 };
            score / divisor
        };
        Rows::of(0..400_i64)
            .with("row_id", |i| i)
            .with("sensitive", |_| "sex")
            .with("to_group", |i| ["m", "f"][i as usize % 2])
            .with("score", score)
            .write(&work, "cf.parquet");
        work.run(0, "job.yaml", "");
        judged(&work)
    };
    assert_eq!(with("", 1.0).0[0], "pass");
    let ([verdict, code, reason], codes) = with("", 100.0);
    assert_eq!([verdict.as_str(), &code], ["inconclusive", "one-counterfactual-decision"]);
    reason.says(&["model `m` decides negative for all 400 counterfactuals of `flip` (`sex`)"]);
    work.read("out/report.html").says(&["One decision for all counterfactuals."]);
    assert!(codes.contains(&"one-counterfactual-decision".to_owned()), "{codes:?}");
    let accepted = with(", accept: [one-counterfactual-decision]", 100.0);
    assert_ne!(accepted.0[1], "one-counterfactual-decision");
}

/// Whoever scored the counterfactuals looked the features of the rows up by their keys.
#[test]
fn scores_that_no_moved_feature_changes_leave_gates_undecided() {
    use crate::work::Rows;
    let drawn = |i: i64| i * 37 % 400;
    let score = |i: i64| drawn(i) as f64 / 400.0;
    let row = |i: i64| {
        let (sex, income) = (["m", "f"][i as usize % 2], drawn(i) + 100 * (i % 2));
        format!("{sex},{},{},{income}\n", i64::from(drawn(i) > 150), score(i))
    };
    let rows = (0..400).map(row).collect::<String>();
    let gate = "metric: sr, counterfactual: world, model: m, at_most: 0.5";
    let scores = "scores: {factual: {column: score}, counterfactual: {parquet: cf.parquet, column: \
                  score}}, threshold: 0.5";
    let with = |strategy: &str, move_by: f64, more: &str| {
        let work = Work::new();
        work.write("people.csv", &format!("sex,y,score,income\n{rows}"));
        let sets = format!(
            "  features: {{continuous: [income]}}\ncounterfactuals: {{world: {strategy}}}\nmodels:\n"
        );
        let text = job(LABEL, &format!("{scores}{more}"), gate).replace("models:\n", &sets);
        work.write("job.yaml", &text.replace("metrics: {families: [group]}\n", ""));
        Rows::of(0..400_i64)
            .with("row_id", |i| i)
            .with("to_group", |i| ["f", "m"][i as usize % 2])
            .with("score", |i| score(i) * (1.0 - move_by))
            .write(&work, "cf.parquet");
        work.run(0, "job.yaml", "");
        let ([verdict, code, _], codes) = judged(&work);
        let is_told = codes.contains(&"unmoved-scores".to_owned());
        assert_eq!(work.read("out/report.html").contains("No score of a"), is_told);
        // The folder alone says so, too.
        let open = work.cfaudit(0, "gate out").summary()["gates"]["inconclusive"].clone();
        assert_eq!(open, i32::from(verdict == "inconclusive"));
        (verdict + " " + &code, is_told)
    };
    let moved = "{plausible: {move: [income], condition_on: none}}";
    let of = |code: &str, is_told: bool| (code.to_owned(), is_told);
    assert_eq!(with(moved, 0.0, ""), of("inconclusive unmoved-scores", true));
    assert_eq!(with(moved, 0.0, ", accept: [unmoved-scores]"), of("pass limit-kept", true));
    assert_eq!(with(moved, 0.01, ""), of("pass limit-kept", false));
    // A model need not read the attribute.
    assert_eq!(with("naive", 0.0, ""), of("pass limit-kept", false));
}

/// A set that may change a feature of which no value changes says so, and a limit on the gap of two
/// directions is no question about one.
#[test]
fn what_a_set_leaves_as_it_is_is_said() {
    let work = Work::new();
    let row = |i: i64| {
        let woman = i % 2 == 1;
        // Men earn more; six in ten women and two in ten men work in care.
        let job = if i / 2 % 10 < if woman { 6 } else { 2 } { "care" } else { "tech" };
        let income = 100 + i * 37 % 100 + if woman { 0 } else { 20 };
        let paid = i64::from(income > 160);
        let part = if i % 4 < 2 { "fit" } else { "test" };
        format!("{},{income},{job},{paid},{part}\n", if woman { "f" } else { "m" })
    };
    let rows = (0..800).map(row).collect::<String>();
    work.write("people.csv", &format!("sex,income,job,paid,part\n{rows}"));
    let text = "cfaudit: 1
name: still
data:
  rows: {csv: {path: people.csv}}
  label: {column: paid, positive: [1], favourable: positive}
  sensitive: {sex: {groups: [m, f], reference: m}}
  features: {continuous: [income], nominal: [job]}
  split: {column: part, train: [fit], audit: [test]}
counterfactuals: {world: {plausible: {move: [income, job], condition_on: none}}}
models: {m: {logistic: {l2: 1.0, omit: [sex]}}}
gates: {gap: {metric: sr, model: m, counterfactual: world, between: {sex: [f, m]}, at_most: 0.5}}
";
    work.write("job.yaml", text);
    work.run(0, "job.yaml", "");
    let page = work.read("out/report.html");
    let leaves = "leaves job as it is for everybody";
    page.says(&[leaves, "of people in group f as m minus that of people in group m as f"]);
    page.lacks(&["decide differently about"]);
    // `check` says where the families leave it out.
    work.write("job.yaml", &format!("{text}metrics: {{families: [group, ccm]}}\n"));
    let told = work.cfaudit(0, "check job.yaml --no-data").stdout;
    told.says(&["warning[unmeasured-moves]: the families leave out `cf_quality`"]);
    let accepts = text.replace("none}}}", "none}, accept: [unmoved-features]}}");
    work.write("job.yaml", &format!("{accepts}metrics: {{families: [group, ccm]}}\n"));
    work.cfaudit(0, "check job.yaml --no-data").stdout.lacks(&["unmeasured-moves"]);
}

/// The score of a class is that of another one: of three classes those two are inverted.
#[test]
fn scores_of_exchanged_classes_are_found() {
    let work = people();
    let label = "column: level, classes: [low, mid, high], positive: [high], favourable: positive";
    let gate = "metric: demp_difference, class: high, model: m, between: worst_case, at_most: 0.3";
    let scores = |low: &str, high: &str| {
        let columns = format!("{{low: {low}, mid: mid, high: {high}}}");
        let model = format!("scores: {{factual: {{columns: {columns}}}}}");
        work.write("job.yaml", &job(label, &model, gate));
        work.run(0, "job.yaml", "");
        judged(&work)
    };
    assert_eq!(scores("high", "low").0[0], "pass");
    let ([verdict, code, reason], codes) = scores("low", "high");
    assert_eq!([verdict.as_str(), &code], ["inconclusive", "inverted-scores"]);
    assert_eq!(codes, ["inverted-scores"]);
    reason.says(&["the label `low`", "the label `high`"]);
    reason.lacks(&["the label `mid`"]);
}

/// What ends a run for a reason that labels and levels show is found before it, with its line.
#[test]
fn check_finds_labels_and_levels_that_a_run_lacks() {
    let work = people();
    let job = |rest: &str| {
        format!(
            "cfaudit: 1\nname: lacks\ndata:\n  rows: {{csv: {{path: people.csv}}}}\n  label: \
             {{{LABEL}}}\n  sensitive: {{sex: {{groups: [f, m], reference: m}}}}\n  features: \
             {{continuous: [score], nominal: [decision]}}\n  split: {{column: level, train: \
             [high], audit: [low, mid]}}\n{rest}"
        )
    };
    let models = "models: {m: {logistic: {l2: 1}}}\n";
    let one_class = format!("  keep: [{{sql: \"level <> 'high' OR y = 1\"}}]\n{models}");
    let not_to = format!(
        "  bins: {{score: [0.3, 0.6]}}\n{models}recourse:\n  sex:\n    model: m\n    subgroups: \
         {{support: 0.1}}\n    actions: {{support: 0.1}}\n    may_change: {{decision: {{any: \
         {{not_to: [maybe]}}}}}}\n"
    );
    for (rest, words) in [
        (one_class, ["error[one-class]: all 67 training rows have the same label", "job.yaml:8:"]),
        (not_to, ["error[unknown-level]: `not_to` names the level `maybe`", "job.yaml:16:"]),
    ] {
        work.write("job.yaml", &job(&rest));
        work.cfaudit(3, "check job.yaml").says(&words);
        work.run(3, "job.yaml", "").says(&words);
    }
}
