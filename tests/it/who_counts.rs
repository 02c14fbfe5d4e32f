//! Who counts where labels are missing, and gates on rates of 0 or 1: from the user's file to
//! tables, gates and page.

use crate::frame::TableRecord;

use arrow::array::{ArrayRef, Float32Array, Float64Array};

use crate::work::{Draws, Rows, Says, Work, array, column};

/// An applicant; repayment is known of granted loans only.
struct Applicant {
    woman: bool,
    score: f64,
    score_cf: f64,
    repaid: Option<bool>,
}

fn applicants() -> Vec<Applicant> {
    let mut draw = Draws(20_231_107);
    let applicant = |i: u32| {
        let woman = draw.share() < 0.45;
        // Evenly spread, so that the shares are near those of the scale.
        let base = (f64::from(i) * 0.618_033_988_749_895).fract();
        let [score, score_cf] =
            [woman, !woman].map(|woman| (base * if woman { 0.805 } else { 1.25 }).min(1.0));
        let repays = draw.share() < 0.6 + 0.3 * score;
        Applicant { woman, score, score_cf, repaid: (score >= 0.5).then_some(repays) }
    };
    (0..5000).map(applicant).collect()
}

/// Writes one counterfactual of each of `n` people: the other group and the score there.
fn write_flips(work: &Work, n: i64, to: impl Fn(i64) -> &'static str, scores: ArrayRef) {
    Rows::of(0..n)
        .with("row_id", |i| i)
        .with("to_group", to)
        .column("score", scores)
        .write(work, "flip.parquet");
}

fn credit() -> (Work, Vec<Applicant>) {
    let (work, people) = (Work::new(), applicants());
    let woman = |i: usize| people[i].woman;
    let rows = Rows::of(0..people.len());
    rows.clone()
        .with("id", |i| i as i64)
        .with("sex", |i| if woman(i) { "f" } else { "m" })
        .with("repaid", |i| people[i].repaid.map(i64::from))
        .with("score", |i| people[i].score)
        .write(&work, "people.parquet");
    rows.with("row_id", |i| i as i64)
        .with("to_group", |i| if woman(i) { "m" } else { "f" })
        .with("score", |i| people[i].score_cf)
        .write(&work, "flip.parquet");
    let steps = "~  label: {column: repaid, positive: [1], favourable: positive}
-  favourable
@    scores
+metrics: {bootstrap: {samples: 100}}
~gates:
+  precision: {metric: ppv, model: live, at_least: 0.1}
+  right-grants-lost:
+    {metric: tpsr, model: live, counterfactual: flip, at_most: 0.9, decide_by: estimate}
+  impact: {metric: di, model: live, between: {sex: [f, m]}, at_least: 0.8}";
    work.job("scored", steps, "");
    (work, people)
}

/// A credit file with labels of granted people only: the ratio is that of the file, and the page
/// says plainly why label metrics say little.
#[test]
fn labels_of_granted_people_only() {
    let (work, people) = credit();
    let shares = |kind: &dyn Fn(&Applicant) -> bool| {
        let (mut granted, mut missing, mut n) = (0_u32, 0_u32, 0_u32);
        for p in people.iter().filter(|p| kind(p)) {
            granted += u32::from(p.score >= 0.5);
            missing += u32::from(p.repaid.is_none());
            n += 1;
        }
        (
            f64::from(granted) / f64::from(n),
            format!("{:.1} %", 100.0 * f64::from(missing) / f64::from(n)),
        )
    };
    let ((of_women, without), (of_men, without_men)) =
        (shares(&|p| p.woman), shares(&|p| !p.woman));
    let truth = of_women / of_men;
    assert!((truth - 0.63).abs() < 0.03, "{truth}");

    let issue_parts = [
        "selective".to_owned(),
        format!("{without} of the people of `f` and {without_men} of those of `m` have no label"),
        "100.0 % of the people with an unfavourable decision of `live` and 0.0 % of the people \
         with a favourable"
            .to_owned(),
    ];
    let parts: Vec<&str> = issue_parts.iter().map(String::as_str).collect();
    let check = work.cfaudit(0, "check job.yaml --cache cache");
    check.stdout.says(&parts);
    work.cfaudit(0, "data job.yaml --cache cache").stdout.says(&parts);

    work.run(1, "job.yaml", "");
    let issues = work.table("issues");
    let issue = issues.at("state=without_label");
    issue.holds("severity=warning, where=sex");
    issue.text("text").says(&parts[1..]);

    let page = work.read("out/report.html");
    let lead = page.find("Outcomes are known for some people only.").unwrap();
    assert!(lead < page.find("class=\"hero").unwrap());
    let line = &page[lead..lead + 1500];
    line.says(&[without.as_str(), &without_men, "100.0 %", "0.0 %"]);

    let metrics = work.table("metrics");
    let of = |metric: &str, scope: &str| metrics.at(&format!("metric={metric}, scope={scope}"));
    // The share of the second group over that of the first, in both orders.
    for (to_group, expected) in [("f", truth), ("m", 1.0 / truth)] {
        let is_impact = |r: &TableRecord<'_>| (r.text("metric"), r.text("scope")) == ("di", "pair");
        let mut impact = metrics.records().filter(is_impact);
        let found = impact.find(|r| r.text("to_group") == to_group).unwrap();
        assert!((found.real("value").unwrap() - expected).abs() < 1e-12, "{to_group}");
    }
    let granted = people.iter().filter(|p| p.score >= 0.5).count() as i64;
    let rows = [
        ("pprev", "total", 5000, false),
        ("ppv", "total", granted, true),
        ("di", "pair", 5000, false),
        ("sr", "total", 5000, false),
    ];
    for (metric, scope, n_rows, flagged) in rows
        .into_iter()
        .chain([("tpsr", "total", granted, true), ("eopp_difference", "pair", granted, true)])
    {
        assert_eq!(of(metric, scope).int("n_rows"), Some(n_rows), "{metric}");
        assert_eq!(
            of(metric, scope).text("flags").split(',').any(|flag| flag == "selective_labels"),
            flagged,
            "{metric}"
        );
    }
    let switched = people.iter().filter(|p| (p.score >= 0.5) != (p.score_cf >= 0.5)).count() as f64;
    assert!((of("sr", "total").real("value").unwrap() - switched / 5000.0).abs() < 1e-12);

    let gates = work.table("gates");
    let verdict = |name: &str| gates.at(&format!("gate={name}"));
    for name in ["precision", "right-grants-lost"] {
        assert_eq!(verdict(name).text("verdict"), "inconclusive", "{name}");
        assert_eq!(verdict(name).text("reason_code"), "selective-labels", "{name}");
    }
    verdict("impact").holds("verdict=fail");

    // The cells of people without a label are in the table of counts; all cells together are all
    // people.
    let counts = work.table("counts");
    let sum = |set: &str| {
        let rows = counts.of(&format!("scope=total, counterfactual={set}"));
        rows.map(|r| (r.text("label").is_empty(), r.int("n").unwrap()))
            .fold((0, 0), |(none, all), (empty, n)| (none + if empty { n } else { 0 }, all + n))
    };
    assert_eq!([sum(""), sum("flip")], [(5000 - granted, 5000); 2]);
    assert_eq!(work.table("groups").at("group=").int("n_missing_label"), Some(5000 - granted));
}

/// A model that never switches passes a gate over several counterfactuals a person, and one with
/// weights.
#[test]
fn a_model_that_never_switches_passes() {
    for weighed in [false, true] {
        let work = Work::new();
        let (groups, n) = (["a", "b", "c"], 600_i64);
        let score = |i: i64| Some((i % 97) as f64 / 97.0);
        let names = |of: &dyn Fn(i64) -> usize, n: i64| column((0..n).map(|i| groups[of(i)]));
        Rows::of(0..n)
            .with("id", |i| i)
            .column("g", names(&|i| (i % 3) as usize, n))
            .with("w", |i| 1 + i % 4)
            .with("score", score)
            .write(&work, "people.parquet");
        Rows::of(0..2 * n)
            .with("row_id", |i| i / 2)
            .with("sensitive", |_| "g")
            .column("to_group", names(&|i| ((i / 2 + 1 + i % 2) % 3) as usize, 2 * n))
            .with("score", |i| score(i / 2))
            .write(&work, "flip.parquet");
        let weight = if weighed { "\n+  weight: w" } else { "" };
        let steps = format!(
            "-  favourable{weight}
~  sensitive: {{g: {{groups: [a, b, c], reference: a}}}}
~gates:
+  switches: {{metric: sr, model: live, counterfactual: flip, at_most: 0.02}}
+  moves: {{metric: macd, model: live, counterfactual: flip, at_most: 0.02}}"
        );
        work.job("scored", &steps, "metrics: {bootstrap: {samples: 100}}\n");
        work.run(0, "job.yaml", "");
        let gates = work.table("gates");
        assert!(!gates.has("verdict!=pass") && gates.records().count() == 2);
        let metrics = work.table("metrics");
        for (metric, method) in [
            ("sr", "wilson-people"),
            ("cr", "wilson-people"),
            ("macd", "wilson-moved"),
            ("rmscd", "wilson-moved"),
        ] {
            let row = metrics.at(&format!("metric={metric}, scope=total"));
            row.holds(&format!("interval={method}"));
        }
        let sr = metrics.at("metric=sr, scope=total");
        // 600 people; those who weigh 1 to 4 are as good as 500.
        let n = if weighed { 500.0 } else { 600.0 };
        let squared = 3.841_458_820_694_124;
        assert!(
            (sr.real("hi").unwrap() - squared / (n + squared)).abs() < 1e-9,
            "{:?}",
            sr.real("hi")
        );
    }
}

/// A set that conditions on the label measures only people with one: its values carry the flag, an
/// issue names the others, no gate passes.
#[test]
fn people_without_a_label_have_no_counterfactual_in_a_set_by_label() {
    let (work, people) = (Work::new(), applicants());
    let people = &people[..1200];
    let audited = |i: usize| i % 2 == 1;
    // Everybody of the training rows has a label, so that the model and the set learn from all.
    let label = |(i, p): (usize, &Applicant)| {
        let repaid = p.repaid.unwrap_or(i % 4 == 0);
        (!audited(i) || p.repaid.is_some()).then_some(i64::from(repaid))
    };
    work.parquet(
        "people.parquet",
        vec![
            ("id", column(0..people.len() as i64)),
            ("sex", column(people.iter().map(|p| if p.woman { "f" } else { "m" }))),
            ("repaid", column(people.iter().enumerate().map(label))),
            ("income", column(people.iter().map(|p| p.score))),
            ("part", column((0..people.len()).map(|i| if audited(i) { "a" } else { "t" }))),
        ],
    );
    let missing =
        people.iter().enumerate().filter(|(i, p)| audited(*i) && p.repaid.is_none()).count();
    let steps = "~  sensitive: {sex: {groups: [m, f], reference: m}}
~  features: {continuous: [income]}
~  split: {column: part, train: [t], audit: [a]}
~counterfactuals:
+  by-label: {plausible: {move: [income], condition_on: label}}
+  of-all: {plausible: {move: [income], condition_on: none}}
~  live: {logistic: {l2: 1.0}, threshold: 0.5}";
    let gate = |name: &str, set: &str| {
        format!(
            "  {name}: {{metric: sr, model: live, counterfactual: {set}, at_most: 1.0, decide_by: \
             estimate}}\n"
        )
    };
    let gates = gate("labelled", "by-label") + &gate("everybody", "of-all");
    work.job("trained", steps, &format!("gates:\n{gates}on_inconclusive: warn\n"));
    let sentence = format!(
        "set `by-label` conditions on the label: {missing} people without one have no \
         counterfactual in it"
    );
    let check = work.cfaudit(0, "check job.yaml --cache cache").stdout;
    check.says(&[&sentence]);
    check.lacks(&["set `of-all` conditions"]);
    work.run(0, "job.yaml", "");
    let issues = work.table("issues");
    let issue = issues.at("code=unlabelled-people");
    assert_eq!((issue.text("where"), issue.int("n")), ("by-label", Some(missing as i64)));
    assert!(issue.text("text").starts_with(&sentence), "{}", issue.text("text"));
    let metrics = work.table("metrics");
    for row in metrics.records().filter(|row| ["ccm", "shift"].contains(&row.text("family"))) {
        let flagged = row.text("flags").split(',').any(|flag| flag == "selective_labels");
        assert_eq!(flagged, row.text("counterfactual") == "by-label", "{}", row.text("metric"));
    }
    let gates = work.table("gates");
    let verdict = |name: &str| gates.at(&format!("gate={name}"));
    verdict("everybody").holds("verdict=pass");
    verdict("labelled").holds("verdict=inconclusive, reason_code=selective-labels");
}

/// Two models compared: what needs labels is marked as in the table of metrics.
#[test]
fn comparisons_carry_selective_labels() {
    let (work, _) = credit();
    let job = work.read("job.yaml");
    let strict = "  strict:\n    threshold: 0.6\n    scores: {factual: {column: score}, \
                  counterfactual: {parquet: flip.parquet, column: score}}\n";
    let metrics = "metrics: {bootstrap: {samples: 100}";
    work.write(
        "job.yaml",
        &job.replace(metrics, &format!("{strict}{metrics}, compare: {{live: strict}}")),
    );
    work.run(1, "job.yaml", "");
    let comparisons = work.table("comparisons");
    let (of_models, of_one) = (&comparisons, work.table("metrics"));
    for (metric, flagged) in
        [("ppv", "selective_labels"), ("tpsr", "selective_labels"), ("pprev", ""), ("sr", "")]
    {
        let rows: Vec<_> = of_models.of(&format!("metric={metric}")).collect();
        assert!(
            !rows.is_empty() && rows.iter().all(|row| row.text("flags") == flagged),
            "{metric}"
        );
        let both = of_one.of(&format!("metric={metric}, scope=total"));
        assert!(
            both.map(|row| row.text("flags").contains("selective_labels"))
                .all(|is| is != flagged.is_empty()),
            "{metric}"
        );
    }
}

/// 49 of 146 women lose as women what they would get as men. Where exactly their scores, or those
/// of their counterfactuals, are missing, the others keep every limit: the gate does not pass, and
/// the run says whose scores are missing.
#[test]
fn missing_scores_hide_no_harm() {
    for (of_rows, of_counterfactuals, reason, warning) in [
        (
            true,
            true,
            ", but 49 people have no score; ",
            "49 people have no score of `live` (49 of `sex` `f`)",
        ),
        (
            false,
            true,
            ", but 49 people have no valid counterfactual with a score; ",
            "49 counterfactuals have no score of `live` (49 of `sex` `f`)",
        ),
    ] {
        let work = Work::new();
        let (women, n) = (146, 300);
        let sex = |woman: bool| Some(if woman { "f" } else { "m" });
        let harmed = |i: i64| i < 49;
        // 44 women are refused either way; 53 women and every other man are approved either way.
        let base = |i: i64| if i < women { i >= 93 } else { i % 2 == 0 };
        let score = |granted: bool| if granted { 0.7 } else { 0.3 };
        let own = |i: i64| (!(of_rows && harmed(i))).then(|| score(base(i)));
        let other =
            |i: i64| (!(of_counterfactuals && harmed(i))).then(|| score(base(i) || harmed(i)));
        Rows::of(0..n)
            .with("id", |i| i)
            .with("sex", |i| sex(i < women))
            .with("score", own)
            .write(&work, "people.parquet");
        let scores = (0..n).map(other).collect::<Float64Array>();
        write_flips(&work, n, |i| if i >= women { "f" } else { "m" }, array(scores));
        work.job("scored", "", "");
        work.run(0, "job.yaml", "").says(&["warning: missing-score: ", warning]);
        let gates = work.table("gates");
        let gate = gates.at("from_group=f");
        gate.holds("verdict=inconclusive");
        gate.text("reason").says(&[reason]);
        let enough = "of them would be enough to break the limit; at worst";
        gate.text("reason").says(&[enough]);
    }
}

/// A threshold of 0.7, and everybody at it: in 64 bits, in 32 bits, and as a column in 32 bits
/// against scores of 64. Doubles that only hold what 32 bits made of 0.7 are below.
#[test]
fn a_threshold_is_compared_in_the_precision_of_the_score() {
    let n = 300_i64;
    let sex = |i: i64| Some(if i < 150 { "f" } else { "m" });
    // A third of either sex is at the threshold, a third below.
    let score = |i: i64| [0.7, 0.2, 0.9][i as usize % 3];
    let single = || column((0..n).map(|i| score(i) as f32));
    let double = || column((0..n).map(score));
    let widened = (0..n).map(|i| Some(f64::from(score(i) as f32)));
    let widened = || column(widened.clone());
    let limits = || column((0..n).map(|_| 0.7_f32));
    let granted = |scores: ArrayRef, threshold: &str, scores_cf: ArrayRef| {
        let work = Work::new();
        work.parquet(
            "people.parquet",
            vec![
                ("id", column(0..n)),
                ("sex", column((0..n).map(sex))),
                ("score", scores),
                ("cutoff", limits()),
            ],
        );
        write_flips(&work, n, |i| if i < 150 { "m" } else { "f" }, scores_cf);
        work.job("scored", &format!("~    threshold: {threshold}"), "");
        work.run(0, "job.yaml", "");
        assert!(!work.table("issues").has("code=rounding-at-threshold"));
        let metrics = work.table("metrics");
        let of = |metric: &str, set: &str| {
            let is_own = |row: &TableRecord<'_>| {
                row.text("metric") == metric
                    && row.text("scope") == "total"
                    && row.text("counterfactual") == set
            };
            metrics.records().find(is_own).and_then(|row| row.int("numerator"))
        };
        [of("pprev", ""), of("sr", "flip")].map(Option::unwrap)
    };
    assert_eq!(granted(double(), "0.7", double()), [200, 0]);
    assert_eq!(granted(single(), "0.7", single()), [200, 0]);
    assert_eq!(granted(double(), "0.7", single()), [200, 0], "each in its own precision");
    assert_eq!(granted(widened(), "0.7", widened()), [100, 0], "64 bits are compared in 64");
    assert_eq!(granted(double(), "{column: cutoff}", double()), [200, 0]);
    assert_eq!(granted(single(), "{column: cutoff}", double()), [200, 0]);
}

/// Scores of 98 people are a little below the threshold of 0.7 in double precision; those of their
/// counterfactuals are the same in single precision, which are 0.7 there. Nobody switches because
/// of sex, so the gate does not fail, and issues and page say why.
#[test]
fn rounding_of_scores_is_no_switch() {
    let work = Work::new();
    let n = 300_i64;
    let sex = |woman: bool| Some(if woman { "f" } else { "m" });
    let is_woman = |i: i64| i < 150;
    let own = |i: i64| if i < 98 { 0.7 - 1e-9 } else { 0.3 + i as f64 / 1000.0 };
    Rows::of(0..n)
        .with("id", |i| i)
        .with("sex", |i| sex(is_woman(i)))
        .with("score", own)
        .write(&work, "people.parquet");
    let single = (0..n).map(|i| Some(own(i) as f32)).collect::<Float32Array>();
    write_flips(&work, n, |i| if is_woman(i) { "m" } else { "f" }, array(single));
    work.job("scored", "~    threshold: 0.7", "");
    let job = work.read("job.yaml");
    work.run(0, "job.yaml", "").says(&[
        "warning: rounding-at-threshold: ",
        "98 switches of `live` are between two scores that agree to single precision",
        "98 of 98 of `sex` from `f` to `m` in set `flip`",
    ]);
    let gates = work.table("gates");
    let gate = gates.at("from_group=f");
    gate.holds("verdict=inconclusive, reason_code=rounding-at-threshold");
    let reason = ", but 98 of the 98 switches behind the value";
    gate.text("reason").says(&[reason]);
    let counts = work.table("counts");
    let rounded =
        |row: &TableRecord<'_>| row.text("scope") == "direction" && row.int("n_rounded") > Some(0);
    assert_eq!(
        counts.records().filter(rounded).filter_map(|row| row.int("n_rounded")).sum::<i64>(),
        98
    );
    work.read("out/report.html").says(&["Some switches may be rounding."]);
    // The next night both are stored in double precision: the rate of the baseline alone falls, and
    // a gate on the change does not take that for a change, also when its folder is judged again.
    let double = (0..n).map(|i| Some(own(i))).collect::<Float64Array>();
    write_flips(&work, n, |i| if is_woman(i) { "m" } else { "f" }, array(double));
    let drift = "  drift: {metric: psr, model: live, counterfactual: flip, direction: {sex: [f, \
                 m]}, against: baseline, fall_at_most: 0.05, decide_by: estimate}\non_inconclusive";
    work.write("next.yaml", &job.replace("on_inconclusive", drift));
    work.cfaudit(0, "run next.yaml --out next --cache cache --baseline out");
    for again in ["", "gate next", "gate next --baseline out"] {
        if !again.is_empty() {
            work.cfaudit(0, again);
        }
        let gates = work.table("next/gates");
        let gate = gates.at("gate=drift");
        gate.holds("verdict=inconclusive, reason_code=rounding-at-threshold");
        let reason = ", but 98 of the 98 switches behind the two values of the change";
        gate.text("reason").says(&[reason]);
        gate.text("reason").says(&["without them the change would be 0.0000: "]);
    }
}

/// A fifth of the women and nobody else has no income: what a job says about the others is marked
/// as being about them.
#[test]
fn rows_lost_in_one_group_are_told() {
    let work = Work::new();
    let n = 400_i64;
    let sex = |i: i64| Some(if i % 2 == 0 { "f" } else { "m" });
    let income = |i: i64| (i % 10 != 0).then_some(i as f64 / 7.0);
    Rows::of(0..n)
        .with("id", |i| i)
        .with("sex", sex)
        .with("income", income)
        .with("score", |i| (i % 97) as f64 / 97.0)
        .write(&work, "people.parquet");
    let job = |rule: &str| {
        let steps = format!(
            "@  sensitive
+  features: {{continuous: [income]}}
+  missing: {{continuous: {rule}}}
-counterfactuals
~    scores: {{factual: {{column: score}}}}
-gates
-on_inconclusive"
        );
        work.job("scored", &steps, "");
    };
    job("drop-row");
    let sentences = [
        "selective",
        "20.0 % of the rows of group `f` (40 of 200) and 0.0 % of those of `m` (0 of 200)",
    ];
    let checked = work.cfaudit(0, "check job.yaml --cache cache").stdout;
    assert!(sentences.iter().all(|words| checked.contains(words)), "{checked}");
    work.run(0, "job.yaml", "").says(&sentences);
    let page = work.read("out/report.html");
    page.says(&["Some groups lost more rows than others."]);
    // The author of the job reads what to change, the reader of the page what it means.
    checked.says(&["the job can keep such rows with `missing: keep`"]);
    let annex = work.read("out/annex.html");
    for page in [&page, &annex] {
        page.says(&["all results describe the rows that are left"]);
        page.lacks(&["the job can keep such rows"]);
    }
    job("keep");
    let checked = work.cfaudit(0, "check job.yaml --cache cache").stdout;
    checked.lacks(&["[selective]"]);
}
