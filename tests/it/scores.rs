//! The family `scores`: values by hand, the words of the guide, gates, two models and two runs.

use std::fs;

use crate::frame::{TableFrame, TableRecord};
use crate::work::{Rows, Says, Work, documented, job_of};

const N: usize = 600;

/// A number in [0, 1) that looks random and is not.
fn draw(i: usize, k: f64) -> f64 {
    ((i + 1) as f64 * k.sqrt()).fract()
}

fn sex(i: usize) -> &'static str {
    if draw(i, 2.0) < 0.4 { "f" } else { "m" }
}

/// Known but for some, and more often positive where the score is high.
fn label(i: usize) -> Option<bool> {
    (i % 37 != 5).then(|| draw(i, 3.0) < 0.2 + 0.6 * draw(i, 5.0))
}

/// Two decimals, so that there are ties.
fn score(i: usize) -> Option<f64> {
    (i % 41 != 7).then(|| (100.0 * draw(i, 5.0)).round() / 100.0)
}

/// The same on a scale of 0 to 100.
fn percent(score: Option<f64>) -> Option<f64> {
    score.map(|score| 100.0 * score)
}

/// The scores of another model, closer to chance by `noise`.
fn other(i: usize, noise: f64) -> Option<f64> {
    (i % 43 != 2).then(|| (1.0 - noise) * draw(i, 5.0) + noise * draw(i, 7.0))
}

/// People with these scores; points do not depend on them.
fn scored_people(score_of: impl FnMut(usize) -> Option<f64>) -> Rows<usize> {
    Rows::of(0..N)
        .with("id", |i| i as i64)
        .with("sex", sex)
        .with("repaid", |i| label(i).map(i64::from))
        .with("score", score_of)
        .with("percent", |i| percent(score(i)))
}

fn work(noise: f64) -> Work {
    let work = Work::new();
    scored_people(score)
        .with("other", |i| other(i, noise))
        .with("weight", |i| (i % 4) as f64)
        .with("household", |i| (i / 3) as i64)
        .write(&work, "people.parquet");
    work
}

/// A job with the example of the guide.
fn job(more: &str) -> String {
    let example = documented("metrics.md", "## Scores as such");
    let more = if more.is_empty() { String::new() } else { format!("\n+{more}") };
    let steps = "~  label: {column: repaid, positive: [1], favourable: positive}\n-  \
                 favourable\n-counterfactuals";
    let models = "models:
  live: {scores: {factual: {column: score}}, threshold: 0.5}
  challenger: {scores: {factual: {column: other}}, threshold: 0.5}
";
    job_of("scored", &format!("{steps}{more}\n-models\n-gates")) + models + &example
}

#[track_caller]
fn row<'a>(frame: &'a TableFrame, model: &str, [metric, from, to]: [&str; 3]) -> TableRecord<'a> {
    frame.at(&format!("model={model}, metric={metric}, from_group={from}, to_group={to}"))
}

/// The AUC of the positives of one group over the negatives of another, pair by pair; both empty
/// for everybody.
fn auc(from: &str, to: &str, score: impl Fn(usize) -> Option<f64>) -> f64 {
    let of = |group: &str, positive: bool| -> Vec<f64> {
        let own = (0..N).filter(|&i| group.is_empty() || sex(i) == group);
        own.filter(|&i| label(i) == Some(positive)).filter_map(&score).collect()
    };
    let (above, below) = (of(from, true), of(to, false));
    let wins: f64 = above
        .iter()
        .flat_map(|x| {
            below
                .iter()
                .map(move |y| f64::from(u8::from(x > y)) + 0.5 * f64::from(u8::from(x == y)))
        })
        .sum();
    wins / (above.len() * below.len()) as f64
}

#[test]
fn scores_are_measured_judged_and_compared() {
    let work = work(0.5);
    work.write("job.yaml", &job(""));
    work.run(0, "job.yaml", "--threads 1");
    let metrics = work.table("metrics");
    let near = |found: Option<f64>, expected: f64| {
        assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?}, not {expected}");
    };
    for group in ["m", "f", ""] {
        near(row(&metrics, "live", ["auc", group, ""]).real("value"), auc(group, group, score));
    }
    let across = row(&metrics, "live", ["xauc", "f", "m"]);
    near(across.real("value"), auc("f", "m", score));
    across.holds("scope=direction");
    let gap = row(&metrics, "live", ["auc_difference", "m", "f"]);
    near(gap.real("value"), auc("m", "m", score) - auc("f", "f", score));
    gap.holds("scope=pair, interval=delong");
    let own = (0..N).filter(|&i| sex(i) == "f");
    let known: Vec<(f64, f64)> =
        own.filter_map(|i| Some((score(i)?, f64::from(u8::from(label(i)?))))).collect();
    let brier = known.iter().map(|(s, y)| (s - y) * (s - y)).sum::<f64>() / known.len() as f64;
    let found = row(&metrics, "live", ["brier", "f", ""]);
    near(found.real("value"), brier);
    assert_eq!(found.int("n_rows"), Some(known.len() as i64));
    let slope = row(&metrics, "live", ["calibration_slope", "f", ""]);
    assert!(slope.text("ci_method").contains("scores are cut") == known.iter().any(|k| k.0 == 0.0));
    assert_eq!(row(&metrics, "live", ["ecce_p", "", ""]).text("interval"), "");

    let bins = work.table("reliability");
    let own: Vec<_> = bins.of("model=live, group=f").collect();
    let n: i64 = own.iter().map(|row| row.int("n").unwrap()).sum();
    assert_eq!((own.len(), n), (10, known.len() as i64));
    let top = own.last().unwrap();
    let lowest = top.real("score_lo").unwrap();
    let above: Vec<f64> = known.iter().filter(|(s, _)| *s >= lowest).map(|(_, y)| *y).collect();
    near(top.real("observed"), above.iter().sum::<f64>() / above.len() as f64);
    assert!(top.real("lo") < top.real("observed") && top.real("observed") < top.real("hi"));

    let slope = row(&metrics, "challenger", ["calibration_slope", "f", ""]);
    assert!(slope.real("lo") < Some(0.2) && slope.real("hi") > Some(0.2));
    assert_eq!(
        work.table("gates").list("", "gate verdict"),
        ["means-what-it-says | inconclusive", "ranks-across | pass", "ranks-both-alike | pass"]
    );
    let compared = work.table("comparisons");
    let found = row(&compared, "challenger", ["auc", "f", ""]);
    let both = |i: usize| score(i).is_some() && other(i, 0.5).is_some();
    let first = auc("f", "f", |i| other(i, 0.5).filter(|_| both(i)));
    near(found.real("difference"), first - auc("f", "f", |i| score(i).filter(|_| both(i))));
    found.holds("interval=delong");

    work.same_bytes(0, "job.yaml", &["--threads 2", "--threads 7"]);
}

/// Several rows of a household, and weights; and what a second run changes.
#[test]
fn weights_persons_and_another_run() {
    let work = work(0.5);
    work.write("job.yaml", &job("  weight: weight"));
    work.run(0, "job.yaml", "--threads 2");
    let metrics = work.table("metrics");
    let found = row(&metrics, "live", ["calibration_intercept", "", ""]);
    found.holds("interval=wald");
    work.write("job.yaml", &job("  person: household"));
    work.run(0, "job.yaml", "--threads 2");
    let metrics = work.table("metrics");
    let found = row(&metrics, "live", ["auc", "", ""]);
    found.holds("interval=delong-logit");
    assert!(found.int("n_persons") < found.int("n_rows"));
    assert_eq!(row(&metrics, "live", ["ecce_p", "", ""]).text("undefined"), "persons");
    assert_eq!(row(&metrics, "live", ["brier_difference", "m", "f"]).text("interval"), "student");
    // Where a household has several rows, the notes speak of rows.
    let page = work.read("out/report.html");
    page.says(&["numbers of rows with a score", "bins of as many rows each"]);
    page.lacks(&["numbers of people with"]);

    fs::rename(work.path("out"), work.path("before")).unwrap();
    let again = self::work(0.9);
    fs::copy(again.path("people.parquet"), work.path("people.parquet")).unwrap();
    // Scores that are nearly noise break the limit of the slope.
    work.run(1, "job.yaml", "--threads 2");
    work.cfaudit(0, "diff before out --out page");
    let changes = work.table("page/changes");
    let change = row(&changes, "challenger", ["auc", "", ""]);
    let moved = change.real("difference").unwrap();
    assert!(moved < -0.01, "{moved}");
    row(&changes, "live", ["auc", "", ""]).holds("difference=0");
}

/// Two versions with outcomes: what a person adds to both AUCs goes together, by DeLong's
/// covariance as computed here from all pairs; gates on the change take that interval.
#[test]
fn changes_of_scores_are_paired_by_person() {
    let (work, job) = threshold_job("scale: {from: 0, to: 100}");
    let gate = "  ranks-as-well:\n    {metric: auc, model: live, against: baseline, \
                fall_at_most: 0.2, level: warn}\n";
    let job = job.replace("gates:\n", &format!("gates:\n{gate}"));
    work.write("job.yaml", &job);
    work.run(0, "job.yaml", "--threads 2");
    fs::rename(work.path("out"), work.path("before")).unwrap();
    // Every other score moves a little; points stay.
    let bumped =
        |i: usize| score(i).map(|s| if i.is_multiple_of(2) { s } else { (s + 0.04).min(1.0) });
    scored_people(bumped).write(&work, "people.parquet");
    work.run(0, "job.yaml", "--threads 2 --baseline before");
    work.cfaudit(0, "diff before out --out page");
    let changes = work.table("page/changes");
    // By hand: everybody with a label and a score is in both runs.
    let known: Vec<(bool, f64, f64)> =
        (0..N).filter_map(|i| Some((label(i)?, bumped(i)?, score(i)?))).collect();
    let placement = |of: &dyn Fn(&(bool, f64, f64)) -> f64| -> Vec<(bool, f64)> {
        let side = |positive: bool| known.iter().filter(move |k| k.0 == positive);
        let wins = |x: f64, y: f64| f64::from(u8::from(x > y)) + 0.5 * f64::from(u8::from(x == y));
        known
            .iter()
            .map(|k| {
                let others: Vec<f64> = side(!k.0).map(of).collect();
                let own = of(k);
                let won = |y: &f64| if k.0 { wins(own, *y) } else { wins(*y, own) };
                (k.0, others.iter().map(won).sum::<f64>() / others.len() as f64)
            })
            .collect()
    };
    let (new, old) = (placement(&|k| k.1), placement(&|k| k.2));
    let mut variance = 0.0;
    for positive in [true, false] {
        let own: Vec<f64> =
            new.iter().zip(&old).filter(|(a, _)| a.0 == positive).map(|(a, b)| a.1 - b.1).collect();
        let (n, mean) = (own.len() as f64, own.iter().sum::<f64>() / own.len() as f64);
        variance += own.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / (n - 1.0) / n;
    }
    let found = row(&changes, "live", ["auc", "", ""]);
    let half = 1.959_963_984_540_054 * variance.sqrt();
    let (lo, hi) = (found.real("lo").unwrap(), found.real("hi").unwrap());
    assert!((hi - lo - 2.0 * half).abs() < 1e-9, "{lo} to {hi}, half {half}");
    found.holds("interval=delong, paired=1");
    for metric in ["brier", "observed_expected", "calibration_slope", "calibration_intercept"] {
        row(&changes, "live", [metric, "f", ""]).holds("interval=student, paired=1");
    }
    for (metric, from, to) in [("auc_difference", "m", "f"), ("xauc", "f", "m")] {
        row(&changes, "live", [metric, from, to]).holds("interval=delong, paired=1");
    }
    row(&changes, "live", ["ecce", "", ""]).text("ci_method").says(&["ecce_p"]);
    // Nobody's points have changed.
    let same = row(&changes, "points", ["auc_difference", "m", "f"]);
    same.holds("interval=identical, hi=0");
    work.table("gates").at("gate=ranks-as-well").holds(&format!("lo={lo}, hi={hi}"));
    // Without outcomes the same change is less sure, and says so.
    fs::remove_file(work.path("before/rows/outcomes.parquet")).unwrap();
    work.cfaudit(0, "diff before out --out unpaired");
    let unpaired = work.table("unpaired/changes");
    let alone = row(&unpaired, "live", ["auc", "", ""]);
    alone.holds("interval=mover, paired=0");
    assert!(alone.real("hi").unwrap() - alone.real("lo").unwrap() > 2.0 * (hi - lo));
}

/// What a job cannot ask for.
#[test]
fn scores_are_measured_where_the_job_asks() {
    let work = work(0.5);
    let job = job("");
    work.write("job.yaml", &job.replace("[performance, group, scores]", "[performance, group]"));
    work.cfaudit(2, "check job.yaml").says(&["error[not-measured]", "add `scores`"]);
    work.write("job.yaml", &job.replace("{sex: [m, f]}", "worst_case"));
    work.cfaudit(2, "check job.yaml").says(&["error[bad-scope]", "`auc_difference`"]);
    let decided = "challenger: {decision: {column: repaid, positive: [1]}}";
    let model = "challenger: {scores: {factual: {column: other}}, threshold: 0.5}";
    work.write("job.yaml", &job.replace(model, decided));
    work.cfaudit(2, "check job.yaml").says(&["error[needs-scores]", "`xauc`"]);
}

/// What has no interval, or none over trainings, cannot be decided by one.
#[test]
fn gates_on_scores_need_an_interval() {
    let work = work(0.5);
    let asked = |metric: &str, limit: &str, by: &str| {
        let job = job("").replace(
            "  live: {scores:",
            "  own: {forest: {trees: 3}, doubt: {training: 2}}\n  live: {scores:",
        );
        let job = job.replace(
            "  sensitive:",
            "  features: {continuous: [weight]}\n  split: {share: {train: 0.5, audit: 0.5}}\n  \
             sensitive:",
        );
        let gate = format!(
            "  new: {{metric: {metric}, model: own, group: {{sex: f}}, {limit}, decide_by: {by}}}"
        );
        work.write("job.yaml", &job.replace("gates:\n", &format!("gates:\n{gate}\n")));
        work.cfaudit(2, "check job.yaml")
    };
    for by in ["interval", "all"] {
        asked("ecce_p", "at_least: 0.05", by)
            .says(&["error[no-interval]", "`ecce_p` has no interval"]);
    }
    let ran = asked("auc", "at_least: 0.6", "training");
    ran.says(&["error[no-interval]", "`auc` is not measured for other trainings"]);
    let ran = asked("auc", "at_least: 0.6", "all");
    ran.says(&["error[no-interval]", "its value is not measured for other trainings"]);
}

/// The score of the counterfactual in the other group: men lose, women gain.
fn moved(i: usize) -> Option<f64> {
    let by = if sex(i) == "m" { -0.15 } else { 0.15 };
    score(i).filter(|_| i % 47 != 3).map(|score| (score + by).clamp(0.0, 1.0))
}

/// A job with a set and with points, whose gate no threshold nearby keeps.
fn threshold_job(scale: &str) -> (Work, String) {
    let work = work(0.5);
    let other = |i: usize| if sex(i) == "m" { "f" } else { "m" };
    Rows::of(0..N)
        .with("row_id", |i| i as i64)
        .with("to_group", other)
        .with("score", moved)
        .with("percent", |i| percent(moved(i)))
        .write(&work, "moved.parquet");
    let scores = |column: &str| {
        format!(
            "scores: {{factual: {{column: {column}}}, counterfactual: {{parquet: moved.parquet, column: \
             {column}}}}}"
        )
    };
    let models = format!(
        "models:\n  live: {{threshold: 0.5, {}}}\n  points: {{threshold: 50, {scale}, {}}}\n",
        scores("score"),
        scores("percent")
    );
    let steps = "~  label: {column: repaid, positive: [1], favourable: positive}\n-  \
                 favourable\n-models\n-gates\n-on_inconclusive";
    let gate = |name: &str, direction: &str, at_most: f64| {
        format!(
            "  {name}: {{metric: favoured_by_group, model: live, counterfactual: flip, direction: {{sex: \
             [{direction}]}}, at_most: {at_most}, level: warn}}\n"
        )
    };
    let job = job_of("scored", steps)
        + &models
        + "metrics: {families: [performance, group, ccm, scores], bootstrap: {samples: 50}}\ngates:\n"
        + &gate("lost", "m, f", 0.02)
        + &gate("kept", "f, m", 0.9);
    (work, job)
}

#[test]
fn rates_are_measured_at_every_threshold() {
    let (work, job) = threshold_job("scale: {from: 0, to: 100}");
    work.write("job.yaml", &job);
    work.run(0, "job.yaml", "--threads 1");
    let (curves, metrics) = (work.table("curves"), work.table("metrics"));
    let of = |model: &str, metric: &str, from: &str, to: &str, step: i64| {
        let key = format!("model={model}, metric={metric}, from_group={from}, to_group={to}");
        curves.at(&format!("{key}, step={step}"))
    };
    // Three rates of two groups and all, and their ratio; five of two directions and all.
    let rows = curves.of("model=live").count();
    assert_eq!(rows, (3 * 3 + 1 + 5 * 3) * 1026);
    for (step, t) in [(512, 0.5), (256, 0.25), (1025, 0.5)] {
        let men = (0..N).filter(|&i| sex(i) == "m");
        let both: Vec<(f64, f64)> = men.filter_map(|i| Some((score(i)?, moved(i)?))).collect();
        let has = both.iter().filter(|(s, _)| *s >= t);
        let lost = has.clone().filter(|(_, c)| *c < t).count() as i64;
        let row = of("live", "favoured_by_group", "m", "f", step);
        row.holds(&format!("numerator={lost}"));
        assert_eq!(row.int("denominator"), Some(has.count() as i64));
        assert_eq!(row.real("threshold"), Some(t));
        // Points are the same people by other numbers.
        let points = of("points", "favoured_by_group", "m", "f", step);
        assert_eq!(points.real("threshold"), Some(100.0 * t));
        for column in ["value", "lo", "hi"] {
            assert_eq!(points.real(column), row.real(column), "{column}");
        }
    }
    for (metric, from, to) in
        [("tpr", "f", ""), ("di", "m", "f"), ("nsr", "f", "m"), ("sr", "", "")]
    {
        let (now, whole) =
            (of("live", metric, from, to, 1025), row(&metrics, "live", [metric, from, to]));
        for column in ["value", "lo", "hi"] {
            let (x, y) = (now.real(column).unwrap(), whole.real(column).unwrap());
            assert!((x - y).abs() < 1e-12, "{metric} {column}: {x}, not {y}");
        }
    }
    let page = work.read("out/report.html");
    assert_eq!(page.matches("No threshold between ").count(), 1, "{page}");
    page.says(&["Do scores rank people alike"]);
    // Points are ranked, and no more.
    let of_points = |metric: &str| row(&metrics, "points", [metric, "f", ""]);
    assert_eq!(
        of_points("auc").real("value"),
        row(&metrics, "live", ["auc", "f", ""]).real("value")
    );
    for metric in ["brier", "observed_expected", "calibration_slope", "ecce", "ecce_p"] {
        assert_eq!(of_points(metric).text("undefined"), "no_probability", "{metric}");
    }
    let has_bins = |work: &Work| work.table("reliability").has("model=points");
    assert!(!has_bins(&work) && page.contains("points, and the job does not say"), "{page}");
    work.same_bytes(0, "job.yaml", &["--threads 5"]);

    let gate =
        job.replace("  kept:", "  means: {metric: brier, model: points, at_most: 0.3}\n  kept:");
    work.write("gate.yaml", &gate);
    work.cfaudit(2, "check gate.yaml").says(&["error[needs-scores]", "write `probability: true`"]);

    let (again, job) = threshold_job("scale: {from: 0, to: 100}, probability: true");
    again.write("job.yaml", &job);
    again.run(0, "job.yaml", "--threads 2");
    let metrics = again.table("metrics");
    let brier = |model: &str| row(&metrics, model, ["brier", "f", ""]).real("value");
    assert!((brier("points").unwrap() - brier("live").unwrap()).abs() < 1e-12);
    assert!(has_bins(&again));
}
