//! Gates that see harm: both parts of it are judged, and a gate that cannot fail because of it is
//! reported before and after the run.

use crate::work::{Rows, Says, Work};

const FEW: &str = "--set data.rows.synthetic.rows=6000";

/// The demo, whose limits on the model that sees sex ask for approvals that women would lose as
/// men.
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

/// A model that refuses women more often keeps the limit of a gate on the opposite side; `harm_to`
/// fails it, with both parts and their counts.
#[test]
fn a_gate_on_harm_fails_where_one_that_looks_away_passes() {
    let work = Work::with_jobs();
    work.write("away.yaml", BLIND);
    let stdout = work.cfaudit(0, &format!("check away.yaml {FEW}")).stdout;
    stdout.says(&[
        "warning[blind-gate]: the gate `women-keep-approvals` measures `nsr` of `sex` from \
         `Female` to `Male`, which detects harm to `Male`",
        "harm to `Female`, the group with the lowest share of favourable labels (",
        "write `harm_to: {sex: Female}`",
        "\n  --> away.yaml:7:",
    ]);
    work.run(0, "away.yaml", FEW).says(&["warning: blind-gate: ", "favourable decisions"]);
    let issues = work.table("issues");
    assert!(issues.has("code=blind-gate, where=gates.women-keep-approvals"));
    let away = work.table("gates");
    let verdict = |name: &str| away.at(&format!("gate={name}")).text("verdict").to_owned();
    assert_eq!(verdict("women-keep-approvals"), "pass");

    let work = Work::with_jobs();
    let stdout = work.cfaudit(0, &format!("check jobs/demo.yaml {FEW}")).stdout;
    let warnings: Vec<&str> = stdout.lines().filter(|line| line.starts_with("warning[")).collect();
    let one_sided = "warning[one-sided-gate]: the gate `four-fifths` ";
    assert!(warnings.len() == 1 && warnings[0].starts_with(one_sided), "{stdout}");
    let summary = work
        .run(1, "jobs/demo.yaml", &format!("{FEW} --set gates.no-harm-to-women.level=fail"))
        .summary();
    assert_eq!(
        [&summary["worst"]["gate"], &summary["worst"]["verdict"]],
        ["no-harm-to-women", "fail"]
    );
    let harm = work.table("gates");
    let parts: Vec<_> = harm.of("gate=no-harm-to-women").collect();
    let shown = |row: &crate::frame::TableRecord<'_>| {
        ["metric", "from_group", "to_group", "verdict"].map(|column| row.text(column).to_owned())
    };
    assert_eq!(
        parts.iter().map(shown).collect::<Vec<_>>(),
        [
            ["denied_by_group", "Female", "Male", "fail"],
            ["favoured_by_group", "Male", "Female", "fail"]
        ]
    );
    for part in &parts {
        let (value, n, all) = (
            part.real("value").unwrap(),
            part.int("numerator").unwrap(),
            part.int("denominator").unwrap(),
        );
        assert!(n > 20 && value == n as f64 / all as f64);
    }
    assert!(!work.table("issues").has("code=blind-gate"));
}

/// Women get fewer loans, and those who get one repay more often: labels would name men as the
/// group at risk. Where the rows hold no decision `check` gives no advice.
#[test]
fn a_check_knows_who_is_at_risk_by_decisions() {
    let work = Work::new();
    let n = 2000_i64;
    let woman = |i: i64| i % 2 == 0;
    let draw = |i: i64, k: f64| (i as f64 * k.sqrt()).fract();
    let write_loans = |score: &dyn Fn(i64) -> f64| {
        let repaid = |i: i64| {
            let is = draw(i, 3.0) < if woman(i) { 0.85 } else { 0.7 };
            (score(i) >= 0.3).then_some(if is { "yes" } else { "no" })
        };
        Rows::of(0..n)
            .with("id", |i| i)
            .with("sex", |i| ["m", "f"][usize::from(woman(i))])
            .with("x", |i| draw(i, 5.0))
            .with("score", score)
            .with("repaid", repaid)
            .write(&work, "people.parquet");
    };
    write_loans(&|i| draw(i, 2.0) * if woman(i) { 0.475 } else { 1.0 });
    let check = |group: &str, model: &str| {
        let steps = format!(
            "~  label: {{column: repaid, positive: [\"yes\"], negative: [\"no\"], favourable: positive}}
~  features: {{continuous: [x]}}
~  live: {model}
-metrics"
        );
        let gate = format!(
            "{{harm_to: {{sex: {group}}}, model: live, counterfactual: flip, at_most: 0.1}}"
        );
        work.job("trained", &steps, &format!("gates: {{harm: {gate}}}\n"));
        let stdout = work.cfaudit(0, "check job.yaml").stdout;
        stdout.says(&["warning[selective]"]);
        stdout
    };
    let scores = "{threshold: 0.3, scores: {factual: {column: score}, \
                  counterfactual: {parquet: flip.parquet, column: score}}}";
    let right = check("f", scores);
    right.lacks(&["warning[blind-gate]"]);
    let wrong = check("m", scores);
    let words = "no gate on this model and set detects harm to `f`, the group with the lowest \
                 share of favourable decisions (`f` 3";
    wrong.says(&[words, "write `harm_to: {sex: f}`"]);
    for group in ["f", "m"] {
        let trained = check(group, "{threshold: 0.5, logistic: {l2: 1.0}}");
        trained.lacks(&["warning[blind-gate]"]);
    }
    // Shares that differ by chance tell nobody whom to protect.
    write_loans(&|i| draw(i, 2.0));
    for group in ["f", "m"] {
        let alike = check(group, scores);
        alike.lacks(&["warning[blind-gate]"]);
    }
}

/// A limit that the worst values keep.
#[test]
fn a_limit_on_the_better_side_is_told() {
    let work = Work::new();
    let checked = |gate: &str| {
        work.job("scored", "", "");
        let gates = format!("gates:\n  g: {{model: live, {gate}}}\n");
        work.edit("job.yaml", "job.yaml", &[("gates:\n", &gates)]);
        work.cfaudit(0, "check job.yaml --no-data").stdout
    };
    let pair = "between: {sex: [f, m]}";
    checked(&format!("metric: di, {pair}, at_most: 0.8")).says(&[
        "warning[better-side]: `at_most` of the gate `g` bounds `di` on its better side, the ideal \
         value being 1: the worst values keep the limit",
        "hint: write `at_least: X`",
    ]);
    let flip = "counterfactual: flip, direction: any";
    for better in [
        "metric: demp_ratio, between: worst_case, sensitive: sex, at_most: 0.8".to_owned(),
        format!("metric: sr, {flip}, at_least: 0.1"),
        format!("metric: cr, {flip}, against: baseline, rise_at_most: 0.01"),
    ] {
        checked(&better).says(&["warning[better-side]: "]);
    }
    for right in [
        format!("metric: di, {pair}, at_least: 0.8"),
        format!("metric: di, {pair}, at_most: 1.25"),
        format!("metric: demp_difference, {pair}, at_least: -0.1"),
        format!("metric: sr, counterfactual: flip, {pair}, at_most: 0.1"),
        format!("metric: cr, {flip}, at_least: 0.9"),
        format!("metric: sr, {flip}, against: baseline, rise_at_most: -0.01"),
        // A band.
        format!(
            "metric: cr, {flip}, at_most: 0.99}}\n  h: {{model: live, metric: cr, {flip}, at_least: 0.9"
        ),
    ] {
        checked(&right).lacks(&["better-side"]);
    }
}

/// The words that `new` goes by say that a positive value is a bad outcome.
#[test]
fn a_bad_outcome_that_people_want_is_told() {
    let work = Work::new();
    let checked = |label: &str| {
        work.job("scored", &format!("~  label: {label}\n-  favourable"), "");
        work.cfaudit(0, "check job.yaml --no-data").stdout
    };
    let bad = "{column: default, positive: [1], favourable: positive}";
    checked(bad).says(&[
        "warning[favourable-side]: `1` of `default` counts as positive and is probably not what people \
         want, but the job says `favourable: positive`",
    ]);
    for right in [
        "{column: default, positive: [1], favourable: negative}",
        "{column: default, positive: [0], favourable: positive}",
        "{column: paid, positive: [1], favourable: positive}",
    ] {
        checked(right).lacks(&["favourable-side"]);
    }
}

/// A limit on a signed gap sees one side of it: `check` says which, and what closes it.
#[test]
fn a_limit_on_one_side_of_a_gap_is_told() {
    let work = Work::new();
    let checked = |favourable: &str, gates: &str| {
        let steps = format!(
            "-  row_id
~  label: {{column: paid, positive: [1], favourable: {favourable}}}
-  favourable
~  sensitive: {{sex: {{groups: [m, f], reference: m}}, age: {{groups: [old, young], reference: old}}}}
-counterfactuals
~    scores: {{factual: {{column: score}}}}
-  harm"
        );
        work.job("scored", &steps, "");
        work.edit("job.yaml", "job.yaml", &[("gates:\n", &format!("gates:\n{gates}"))]);
        work.cfaudit(0, "check job.yaml --no-data").stdout
    };
    let gate = |name: &str, metric: &str, rest: &str| {
        format!("  {name}: {{metric: {metric}, model: live, {rest}}}\n")
    };
    let pair = "between: {sex: [f, m]}, at_most: 0.05";
    let one = gate("gap", "demp_difference", pair);
    // More women than men get the positive decision: harm to men, or to women if nobody wants it.
    for (favourable, harmed) in [("positive", "m"), ("negative", "f")] {
        let found = checked(favourable, &one);
        let words = format!(
            "warning[one-sided-gate]: the gate `gap` limits `demp_difference`, `f` minus `m`, only \
             from above: it sees harm to `{harmed}` only, and no gap the other way round, however \
             large\n  --> "
        );
        assert!(found.contains(&words), "{found}");
        let hint = "  hint: add a gate with `at_least: -0.05`, or `between: worst_case`";
        assert!(found.contains(hint), "{found}");
    }
    let closed = [
        gate("back", "demp_difference", "between: {sex: [f, m]}, at_least: -0.05"),
        gate("back", "demp_difference", "between: {sex: [m, f]}, at_most: 0.1"),
        gate("back", "demp_difference", "between: worst_case, at_most: 0.05"),
    ];
    for other in closed {
        let found = checked("positive", &format!("{one}{other}"));
        found.lacks(&["one-sided-gate"]);
    }
    // Another metric.
    let other = gate("back", "fnr_difference", "between: {sex: [f, m]}, at_least: -0.05");
    let found = checked("positive", &format!("{one}{other}"));
    assert_eq!(found.matches("warning[one-sided-gate]").count(), 2, "{found}");
    // The same metric in a scope or with a question that does not see the other side.
    let blind = [
        "between: worst_case, against: baseline, rise_at_most: 0.01",
        "between: {sex: [f, m]}, against: baseline, fall_at_most: 0.05",
        "between: {sex: [f, m]}, at_most: 0.1",
        "between: {age: [old, young]}, at_least: -0.05",
    ];
    for other in blind {
        let found =
            checked("positive", &format!("{one}{}", gate("back", "demp_difference", other)));
        found.says(&["warning[one-sided-gate]: the gate `gap`"]);
    }
    // A ratio with a limit on one side, and what closes it.
    let ratio = gate("a", "di", "between: {sex: [f, m]}, at_least: 0.8");
    let found = checked("positive", &ratio);
    let words = "warning[one-sided-gate]: the gate `a` limits `di`, `f` over `m`, only from below: \
                 it sees harm to `f` only, and no gap the other way round, however large\n  --> ";
    assert!(found.contains(words), "{found}");
    for other in ["between: {sex: [m, f]}, at_least: 0.8", "between: worst_case, at_least: 0.8"] {
        let found = checked("positive", &format!("{ratio}{}", gate("back", "di", other)));
        assert!(!found.contains("one-sided-gate"), "{other}: {found}");
    }
    // A change of a gap.
    let change = gate(
        "c",
        "demp_difference",
        "between: {sex: [f, m]}, against: baseline, \
                                              rise_at_most: 0.02",
    );
    checked("positive", &change).says(&[
        "the gate `c` limits the change of `demp_difference`, `f` minus `m`, only from above: it \
         sees no fall, however large",
        "hint: add a gate with `fall_at_most: 0.02`, or `between: worst_case`",
    ]);
    let back = gate(
        "d",
        "demp_difference",
        "between: {sex: [f, m]}, against: baseline, \
                                            fall_at_most: 0.02",
    );
    checked("positive", &format!("{change}{back}")).lacks(&["one-sided-gate"]);
    let sound = gate("b", "eodds", "between: {sex: [f, m]}, at_most: 0.1");
    checked("positive", &sound).lacks(&["one-sided-gate"]);
}
