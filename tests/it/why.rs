//! Who switches and through which features: the tables, gates on them, the page, and what `check`
//! says.

use crate::frame::TableFrame;
use crate::python::interpreter;
use crate::work::{Rows, Says, Work, documented};

const FEW: &str = "--set data.rows.synthetic.rows=6000";

/// The blocks of the guide on the demo.
fn job() -> String {
    let blocks = documented("why.md", "");
    format!("cfaudit: 1\nname: why\ninclude: [jobs/demo.yaml]\n{blocks}")
}

#[test]
fn patterns_are_found_on_one_half_and_confirmed_on_the_other() {
    let work = Work::with_jobs();
    work.write("why.yaml", &job());
    work.run(0, "why.yaml", FEW);
    let patterns = work.table("switch_patterns");
    let of =
        |why: &'static str, half: &'static str| patterns.of(&format!("why={why}, half={half}"));
    // Both halves together are the people of the metric, each counted once.
    let metrics = work.table("metrics");
    let denied =
        metrics.at("metric=denied_by_group, model=scorecard, scope=direction, from_group=Female");
    let everybody = |half| of("refused-women", half).find(|row| row.text("pattern").is_empty());
    let [first, second] = ["first", "second"].map(|half| everybody(half).unwrap());
    for (column, all) in [("n", "denominator"), ("k", "numerator")] {
        let sum = first.int(column).unwrap() + second.int(column).unwrap();
        assert_eq!(Some(sum), denied.int(all), "{column}");
    }
    // Whoever is near the cut-off switches, and income decides how near.
    let confirmed: Vec<_> =
        of("refused-women", "second").filter(|row| row.int("confirmed") == Some(1)).collect();
    assert!(confirmed.iter().any(|row| row.text("pattern").contains("income = ")), "none");
    for row in &confirmed {
        assert!(row.real("p_holm").unwrap() <= 0.05 && row.real("difference").unwrap() > 0.0);
        assert_eq!(row.int("n").unwrap() + row.int("n_others").unwrap(), second.int("n").unwrap());
    }
    assert!(of("refused-women", "first").all(|row| row.int("confirmed").is_none()));
    // Wrong predictions need no set.
    let wrong = of("wrongly-granted", "second").find(|row| row.text("pattern").is_empty()).unwrap();
    wrong.holds("counterfactual=, metric=fpr");

    features_add_up(&work, &work.table("switch_features"));

    let gates = work.table("gates");
    let gate = gates.at("gate=no-pattern");
    gate.holds("verdict=fail, metric=confirmed_patterns");
    assert_eq!(gate.real("value"), Some(confirmed.len() as f64));
    gate.holds("needed_how=by_estimate");
    work.read("out/report.html").says(&[
        "Who switches more often than the others?",
        " of refused women would be granted the loan as men (",
        "all refused women, this half",
        " of the others.",
        "confirmed on the other half",
        "Of the switches, ",
        " alone stayed the same (",
        "Through what ",
    ]);
    // Judged again only from the folder, nothing changes.
    let summary = work.json("out/summary.json");
    work.cfaudit(0, "gate out");
    assert_eq!(work.json("out/summary.json"), summary);
}

/// In the block on a set that moves features, the values of those who switch add up to what happens
/// to them; the set that changes only the attribute has none.
fn features_add_up(work: &Work, features: &TableFrame) {
    assert!(!features.has("why!=refused-typical-women"));
    let of = |people: &'static str| features.of(&format!("people={people}"));
    let names: Vec<&str> = of("switched").map(|row| row.text("feature")).collect();
    assert_eq!(names, ["debt", "income", "sex"], "what the set may move");
    let sum = |people, column| of(people).map(|row| row.real(column).unwrap()).sum::<f64>();
    assert!((sum("switched", "decision") - 1.0).abs() < 1e-12);
    assert!(sum("stayed", "decision").abs() < 1e-12);
    // Everybody who switches is explained: their scores move as the outcomes say.
    let outcomes = work.table("outcomes");
    let moved: Vec<f64> = outcomes.of("model=scorecard, counterfactual=typical, from_group=Female, predicted=0, predicted_cf=1")
        .map(|row| row.real("score_cf").unwrap() - row.real("score").unwrap())
        .collect();
    let switched = of("switched").next().unwrap();
    assert_eq!(switched.int("n"), Some(moved.len() as i64));
    assert_eq!(switched.int("of"), switched.int("n"));
    let mean = moved.iter().sum::<f64>() / moved.len() as f64;
    assert!((sum("switched", "score") - mean).abs() < 1e-12, "{mean}");
    for row in of("switched") {
        let (n, undone) = (row.int("n").unwrap() as f64, row.int("undone").unwrap() as f64);
        assert!((row.real("undone_rate").unwrap() - undone / n).abs() < 1e-15);
        let ends = ["score_lo", "score", "score_hi"].map(|end| row.real(end).unwrap());
        assert!(ends.is_sorted(), "{ends:?}");
    }
    assert!(of("stayed").all(|row| row.int("undone").is_none()));
}

/// The same tables on any number of threads.
#[test]
fn threads_do_not_change_patterns_and_features() {
    let work = Work::with_jobs();
    work.write("why.yaml", &job());
    let tables = |threads: usize| {
        let out = format!("out-{threads}");
        let flags = format!("--out {out} --cache cache-{threads} --threads {threads}");
        work.cfaudit(0, &format!("run why.yaml {flags} --set data.rows.synthetic.rows=2500"));
        ["switch_patterns", "switch_features"]
            .map(|name| std::fs::read(work.path(&format!("{out}/tables/{name}.parquet"))).unwrap())
    };
    let one = tables(1);
    assert!([2, 7].into_iter().all(|threads| tables(threads) == one));
}

/// A score that is a sum: each feature adds its own part, and one that the model does not read
/// nothing.
const SUM: &str = "
def score(rows):
    with open('asked', 'a') as log:
        log.write(f'{len(rows)}\\n')
    column = lambda name: [x.as_py() if hasattr(x, 'as_py') else x for x in rows[name]]
    return [0.1 + 0.005 * x + 0.2 * (s == 'm') for x, s in zip(column('income'), column('sex'))]
";

/// What a job about [`people_of_two_groups`] says of them, and of a set that moves them.
const PEOPLE: &str = "-  row_id
~  sensitive: {sex: {groups: [m, f], reference: m}}
~  features: {continuous: [income, debt]}";
const WORLD: &str =
    "~counterfactuals: {world: {plausible: {move: [income, debt], condition_on: none}}}";

/// 400 people: those of one group earn and owe more.
fn people_of_two_groups(work: &Work) {
    let rows = || 0..400_i64;
    let sex = |i: i64| ["f", "m"][i as usize % 2];
    let income = |i: i64| ((i * 37 % 61) + 12 * (i % 2)) as f64;
    let repaid = |i: i64| i64::from(i * 29 % 83 > 40);
    Rows::of(rows())
        .with("sex", sex)
        .with("income", income)
        .with("debt", |i| (i * 7 % 31 + 3 * (i % 2)) as f64)
        .with("repaid", repaid)
        .write(work, "people.parquet");
}

/// A Python model is asked about mixtures, each different row once and no more than the job allows.
#[test]
fn a_model_from_outside_is_asked_about_each_row_once() {
    let Some(python) = interpreter("pyarrow") else { return };
    let work = Work::new();
    people_of_two_groups(&work);
    work.write("scoring.py", SUM);
    let write_job = |more: &str| {
        let steps = format!(
            "{PEOPLE}
-  split
{WORLD}
~  live: {{python: {{call: 'scoring:score', with: {python}, omit: [debt]}}}}
~metrics: {{families: [ccm], bootstrap: {{samples: 50}}}}
+why:
+  why: {{model: live, counterfactual: world, direction: {{sex: [f, m]}}, metric: \
             denied_by_group{more}}}"
        );
        work.job("trained", &steps, "");
    };
    let asked =
        || work.read("asked").lines().map(|line| line.parse().unwrap()).collect::<Vec<usize>>();
    write_job("");
    work.run(0, "job.yaml", "");
    let features = work.table("switch_features");
    let switched = || features.of("people=switched").collect::<Vec<_>>();
    let of = |name: &str| switched().into_iter().find(|row| row.text("feature") == name).unwrap();
    let [sex, debt] = ["sex", "debt"].map(of);
    assert!((sex.real("score").unwrap() - 0.2).abs() < 1e-12);
    assert!((debt.real("score").unwrap()).abs() < 1e-12 && debt.int("moved").unwrap() > 0);
    sex.holds("flags=score_boundary");
    // Three features differ, so 6 mixtures of each person are unknown; by what the model reads most
    // are the same row.
    let n: i64 = ["switched", "stayed"]
        .map(|of| features.at(&format!("people={of}")))
        .map(|row| row.int("n").unwrap())
        .iter()
        .sum();
    let calls = asked();
    let mixtures = *calls.last().unwrap();
    assert!(n > 20 && mixtures < 3 * n as usize, "{mixtures} rows for {n} people");
    // No more than this: fewer people are explained, and the table says so.
    write_job(", asks_at_most: 60");
    work.run(0, "job.yaml", "--replace");
    let fewer = work.table("switch_features");
    let row = fewer.at("people=switched");
    row.text("flags").says(&["asks_at_most"]);
    assert!(row.int("n") < row.int("of") && row.int("n") > Some(0));
    assert!(asked()[calls.len()..].iter().all(|rows| *rows <= 60), "{:?}", asked());
    // One row is not enough for anybody, and the page does not pass over it.
    write_job(", asks_at_most: 1");
    work.run(0, "job.yaml", "--replace");
    work.read("out/report.html").says(&["Nobody could be explained by features: that would ask"]);
}

/// Where nobody is explained, or nobody switches, the table says so in rows without people.
#[test]
fn nobody_to_explain_is_said() {
    for (threshold, flag, of_anybody) in
        [("0", "nobody_counted", false), ("1", "nobody_switches", true)]
    {
        let work = Work::with_jobs();
        work.write("why.yaml", &job());
        let flags = format!("--gates report {FEW} --set models.scorecard.threshold={threshold}");
        work.run(0, "why.yaml", &flags);
        let features = work.table("switch_features");
        let names: Vec<&str> = features.records().map(|row| row.text("feature")).collect();
        assert_eq!(names, ["debt", "income", "sex"]);
        for row in features.records() {
            row.holds("people=all, n=0");
            assert_eq!((row.text("flags"), row.int("of") > Some(0)), (flag, of_anybody));
            assert!(row.real("score").is_none() && row.real("decision").is_none());
        }
        // Of patterns the two halves of everybody say it.
        let patterns = work.table("switch_patterns");
        if of_anybody {
            assert!(patterns.of("why=refused-women").all(|row| row.int("n") > Some(0)));
        } else {
            assert_eq!(
                patterns.list("why=refused-women", "half n k flags"),
                ["first | 0 | 0 | nobody_counted", "second | 0 | 0 | nobody_counted"]
            );
        }
        let gates = work.table("gates");
        let gate = gates.at("gate=no-pattern");
        let verdict = if of_anybody { "pass" } else { "inconclusive" };
        gate.holds(&format!("verdict={verdict}"));
        let page = work.read("out/report.html");
        assert_eq!(page.contains("Nobody switches, so there is no switch to explain"), of_anybody);
        let nobody = "Nothing was looked at: too few people count among refused women to search \
                      one half of them and test the other.";
        assert_eq!(page.contains(nobody), !of_anybody);
    }
}

/// Given scores: the block has patterns, no features, and `check` says so.
#[test]
fn scores_have_no_features() {
    let work = Work::with_jobs();
    let set = "counterfactuals: {typical: {plausible: {move: [income], condition_on: label}}}";
    let models = "models: {bought: {scores: {factual: {column: income}, counterfactual: \
                  {parquet: 'made-{counterfactual}.parquet', column: score}}}}";
    let block = "why: {w: {model: bought, counterfactual: typical, sensitive: sex, metric: sr}}";
    let job = |block: &str| {
        format!("cfaudit: 1\nname: bought\ninclude: [jobs/demo.yaml]\n{set}\n{models}\n{block}\n")
    };
    work.write("bought.yaml", &job(block));
    let stdout = work.cfaudit(0, "check bought.yaml --no-data").stdout;
    stdout.says(&["patterns-only", "who switches, but not through which"]);
    for (more, code) in [("people: 1", "people"), ("permutations: 7", "permutations")] {
        work.write(
            "bought.yaml",
            &job(&block.replace("metric: sr", &format!("metric: sr, {more}"))),
        );
        work.cfaudit(2, "check bought.yaml --no-data").stderr.says(&["bad-value", code]);
    }
}

/// The models of an arm: those of the arm without rows are the audited one, and those of folds
/// explain the people whom the arm counts, each by the model that was trained without them.
#[test]
fn the_models_of_arms_are_explained_too() {
    let work = Work::with_jobs();
    let of = |more: &str| {
        format!("{{model: scorecard, counterfactual: typical, sensitive: sex, metric: sr{more}}}")
    };
    let arm = |name: &str| of(&format!(", arm: {name}"));
    let experiment =
        |more: &str| format!("{{model: scorecard, from: typical, arms: {{all: {{}}}}{more}}}");
    work.write(
        "arms.yaml",
        &format!(
            "cfaudit: 1\nname: arms\ninclude: [jobs/demo.yaml]\ncounterfactuals:\n  typical: \
             {{plausible: {{move: [income, debt], condition_on: label}}}}\nexperiments:\n  more: \
             {}\n  folded: {}\nwhy:\n  audited: {}\n  base: {}\n  all: {}\n  folded: {}\n\
             gates: {{patterns: {{why: folded, patterns_at_most: 0, level: warn}}}}\n",
            experiment(""),
            experiment(", folds: 3"),
            of(""),
            arm("more/base"),
            arm("more/all"),
            arm("folded/all"),
        ),
    );
    work.run(0, "arms.yaml", FEW);
    let [patterns, features] = ["switch_patterns", "switch_features"].map(|name| work.table(name));
    for (rows, key, value) in
        [(&patterns, "half pattern", "rate"), (&features, "people feature", "decision")]
    {
        let of = |why: &str| rows.list(&format!("why={why}"), &format!("{key} n {value}"));
        assert!(!of("audited").is_empty() && of("audited") == of("base"), "{value}");
        assert_ne!(of("audited"), of("all"), "{value}");
        assert!(rows.records().all(|r| r.text("arm").is_empty() == (r.text("why") == "audited")));
    }
    let metrics = work.table("metrics");
    for (why, arm) in [("all", "more/all"), ("folded", "folded/all")] {
        let counted =
            metrics.at(&format!("arm={arm}, metric=sr, scope=total, counterfactual=typical"));
        let halves = patterns.of(&format!("why={why}"));
        let halves: Vec<_> = halves.filter(|row| row.text("pattern").is_empty()).collect();
        for (column, all) in [("n", "denominator"), ("k", "numerator")] {
            let sum: i64 = halves.iter().filter_map(|row| row.int(column)).sum();
            assert_eq!(Some(sum), counted.int(all), "{why}: {column}");
        }
        // What the features add is what happens to those who switch, by the models of the arm.
        for from in ["Male", "Female"] {
            let switched = features.of(&format!("why={why}, people=switched, from_group={from}"));
            let sum: f64 = switched.filter_map(|row| row.real("decision")).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{why}, {from}: {sum}");
        }
    }
    work.read("out/report.html").says(&["(arm more&#x2f;all)"]);
    let gates = work.table("gates");
    let gate = gates.at("gate=patterns");
    gate.holds("arm=folded/all, model=scorecard");
    gate.text("reason").lacks(&["audited model"]);
}

/// A score to which the number of the fold and the group add, and which does not read `debt`.
const OF_A_FOLD: &str = "
import sys
import pyarrow as pa
by = 0.1 * (1 + int(open(sys.argv[1]).read()))
rows = pa.ipc.open_stream(sys.stdin.buffer).read_all()
people = zip(rows['income'].to_pylist(), rows['sex'].to_pylist())
scores = pa.array([by + 0.005 * x + by * (s == 'm') for x, s in people], pa.float64())
written = pa.table({'score': scores})
with pa.ipc.new_stream(sys.stdout.buffer, written.schema) as out:
    out.write_table(written)
";

/// The people of each fold of an arm are explained by the program that its training made: what no
/// program reads adds nothing.
#[test]
fn programs_that_arms_train_are_asked_fold_by_fold() {
    let Some(python) = interpreter("pyarrow") else { return };
    let work = Work::new();
    people_of_two_groups(&work);
    work.write("of_a_fold.py", OF_A_FOLD);
    let train = "cat > /dev/null; echo $1 > $0";
    let steps = format!(
        "{PEOPLE}
{WORLD}
~  live:
+    command:
+      train: [sh, -c, \"{train}\", '{{model}}', '{{fold}}']
+      score: [{python}, of_a_fold.py, '{{model}}']
~metrics: {{families: [ccm], bootstrap: {{samples: 50}}}}
+experiments: {{more: {{model: live, from: world, folds: 3, arms: {{all: {{}}}}}}}}
+why: {{w: {{model: live, arm: more/all, counterfactual: world, sensitive: sex, metric: sr}}}}"
    );
    work.job("trained", &steps, "");
    work.run(0, "job.yaml", "");
    let features = work.table("switch_features");
    let of = |name: &'static str| features.of(&format!("feature={name}"));
    assert!(of("debt").any(|row| row.int("moved") > Some(0)));
    assert!(of("debt").all(|row| row.real("score").unwrap().abs() < 1e-12));
    // Folds add 0.1, 0.2 and 0.3, so that the means over people of all folds lie between.
    let sex: Vec<f64> = of("sex").map(|row| row.real("score").unwrap().abs()).collect();
    assert!(sex.iter().all(|by| (0.1..0.3).contains(by)) && sex.len() > 2, "{sex:?}");
}
