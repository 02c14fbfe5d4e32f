//! What a gate is about: pairs, facets, worst cases, harm to a group, arms of an experiment.

use super::*;

const WOMEN: [&str; 2] = ["Female", "Male"];
const MEN: [&str; 2] = ["Male", "Female"];

/// A rate of 122 cases between two groups, with ends at a hundredth to either side.
fn part(metric: &str, [from, to]: [&str; 2], value: f64) -> MetricRow {
    nsr().with(&format!(
        "from_group={from}, to_group={to}, metric={metric}, value={value}, lo={}, hi={}",
        value - 0.01,
        value + 0.01
    ))
}

/// Facets do not change places; all others have no name; the groups furthest apart are one row.
#[test]
fn facets_rests_and_worst_cases() {
    let mut table = vec![
        gap_near("pair", MEN, "ft", 0.2).with("family=clarify, flags=sampled"),
        gap_near("one_vs_rest", ["", "Female"], "dppl", 0.3).with("family=clarify"),
        gap_near("one_vs_rest", ["Other", ""], "demp_difference", 0.4),
        gap_near("worst_case", ["", ""], "eodds", 0.5),
    ];
    for (metric, scope, held) in [
        // A sample is no small group.
        ("ft", pair("Male", "Female"), "verdict=pass, value=0.2, scope=pair"),
        ("ft", pair("Female", "Male"), "verdict=inconclusive, value=, scope="),
        ("dppl", pair("", "Female"), "verdict=fail, value=0.3, scope=one_vs_rest"),
        ("demp_difference", pair("Other", ""), "verdict=fail"),
        ("demp_difference", pair("", "Other"), "verdict=pass, value=-0.4, scope=one_vs_rest"),
        // Its interval allows for the choice among all pairs.
        ("eodds", GateSubject::WorstCase, "verdict=fail, value=0.5, scope=worst_case"),
    ] {
        check(&asked(metric, scope), by(&table), &format!("<= 0.25 | {held}"));
    }
    table.extend([
        gap_near("pair", ["Male", "Other"], "eodds", 0.2).with("family=group, level=0.95"),
        gap_near("pair", ["Other", "Female"], "eodds", 0.45).with("family=group, level=0.95"),
    ]);
    let eodds = asked("eodds", GateSubject::WorstCase);
    check(&eodds, by(&table), "<= 0.25 | fail | =the whole interval breaks the limit");
    // A group of a few people lies further still: it is too small to tell, and no excuse for the
    // others.
    table[3].flags = "small_group".into();
    check(
        &eodds,
        by(&table),
        "<= 0.25 | fail | too small for a conclusion, but the interval of Other and Female breaks
         <= 0.48 | inconclusive | =too few for a conclusion: small_group",
    );
    // A worst case is not below 0, regardless of the order of a pair; and Holm's method has the
    // pairs of other attributes to mind, too.
    let q = asked("demp_difference", GateSubject::WorstCase);
    let mut gaps = [
        gap_near("worst_case", ["", ""], "demp_difference", 0.45),
        gap_near("pair", ["Other", "Female"], "demp_difference", 0.45),
    ]
    .map(|row| row.with("family=group, flags=small_group, level=0.95"));
    gaps[1].flags = "".into();
    check(
        &q,
        by(&gaps),
        ">= -0.1 | inconclusive
         <= 0.25, interval holm | inconclusive
         <= 0.25 | fail",
    );
    gaps[0].flags = "".into();
    check(&q, by(&gaps), "<= 0.5 | pass");
}

/// A ratio that passes although the other order breaks the same limit says who is behind.
#[test]
fn a_pass_of_one_side_says_who_is_behind() {
    let of = |from, to, metric, value: f64| {
        gap("pair", [from, to], metric, [value, value * 0.99, value * 1.01]).with("family=group")
    };
    let table = [
        of("a", "b", "di", 0.2),
        of("b", "a", "di", 5.0),
        of("a", "b", "demp_ratio", 5.0),
        of("b", "a", "demp_ratio", 0.2),
        of("a", "b", "tpr_ratio", 1.1),
        of("b", "a", "tpr_ratio", 1.0 / 1.1),
    ];
    use FavourableClass::{Negative, Positive};
    let (turned, kept) = ("verdict=pass, from_group=b, to_group=a", "verdict=pass, from_group=a");
    for (metric, favourable, held, says) in [
        // The groups of the row of `metrics`.
        ("di", Some(Positive), turned, "`b` over `a` is 0.2000, and `b` is behind$"),
        // Of refusals those with more are behind.
        ("demp_ratio", Some(Negative), kept, "and `a` is behind$"),
        ("demp_ratio", None, kept, "and `b` has the lower value$"),
        ("tpr_ratio", None, kept, "=the whole interval keeps the limit"),
    ] {
        let q = GateQuestion { favourable, ..asked(metric, pair("a", "b")) };
        check(&q, by(&table), &format!(">= 0.8 | {held} | {says}"));
    }
}

/// A signed gap that passes although its mirror breaks the limit says so, and names no group: which
/// of the two the metric takes first depends on the metric. A limit that equal groups break asks
/// for another thing than equality.
#[test]
fn a_gap_far_on_the_other_side_is_not_passed_without_a_word() {
    let table = [
        gap_near("pair", MEN, "demp_difference", -0.45).with("impaired_group=Male"),
        gap_near("pair", MEN, "fpr_difference", -0.45),
        gap_near("pair", MEN, "dppl", -0.45).with("family=clarify"),
    ];
    let q = |metric: &str, a: &str, b: &str| asked(metric, pair(a, b));
    let kept = "=the whole interval keeps the limit";
    let other = format!("{kept}; the limit does not see a gap the other way round, and the gap is");
    check(
        &q("demp_difference", "Male", "Female"),
        by(&table),
        &format!(
            "<= 0.1 | pass | {other} -0.4500
             <= 0.45 | pass | {kept}
             <= -0.1 | pass | {kept}
             >= -0.5 | pass | {kept}
             >= -0.1 | fail | =the whole interval breaks the limit"
        ),
    );
    let turned = format!(">= -0.1 | pass | {other} 0.4500");
    check(&q("demp_difference", "Female", "Male"), by(&table), &turned);
    for metric in ["fpr_difference", "dppl"] {
        let told = format!("<= 0.1 | pass | {other} -0.4500");
        check(&q(metric, "Male", "Female"), by(&table), &told);
    }
}

#[test]
fn a_pair_is_turned_to_the_side_that_the_gate_asks_for() {
    // The table holds A = Male (reference), B = Female, and di = rate of B over rate of A.
    let table =
        [gap("pair", MEN, "di", [0.8, 0.5, 0.9]), gap("pair", WOMEN, "di", [1.25, 1.0 / 0.9, 2.0])];
    let of = |a: &str, b: &str, held: &str| {
        check(&question(pair(a, b)), by(&table), &format!(">= 0.85 | {held}"));
    };
    of("Female", "Male", "value=0.8, lo=0.5, hi=0.9");
    of("Male", "Female", &format!("value=1.25, lo={}, hi=2", 1.0 / 0.9));
}

/// Harm to women has two parts, against each other group; each is in a separate row with its
/// counts, and the worst decides.
#[test]
fn harm_is_judged_by_both_of_its_parts() {
    let table = |denied: f64, favoured: f64| {
        [
            part("denied_by_group", WOMEN, denied),
            part("favoured_by_group", WOMEN, 0.9),
            part("denied_by_group", MEN, 0.9),
            part("favoured_by_group", MEN, favoured),
            part("nsr", WOMEN, 0.9),
        ]
    };
    let q = asked_by(&asked(HARM[0], GateSubject::HarmTo("Female".into())), "<= 0.1");
    let harmed = table(0.05, 0.3);
    check_rows(
        &q,
        by(&harmed),
        "metric=denied_by_group, from_group=Female, verdict=pass, denominator=122, decides=0
         metric=favoured_by_group, from_group=Male, verdict=fail, denominator=122, decides=1",
    );
    let worst = judge(std::slice::from_ref(&q), &by(&harmed).0, None).worst;
    assert_eq!(worst.unwrap().metric, "favoured_by_group");
    for (denied, verdict) in [(0.05, "pass"), (0.5, "fail"), (0.1, "inconclusive")] {
        check(&q, by(&table(denied, 0.05)), &format!("| {verdict}"));
    }
    // An undefined part, and one that is not there, do not pass.
    let denied = part("denied_by_group", WOMEN, 0.05);
    let undefined = part("favoured_by_group", MEN, 0.0);
    let undefined = undefined.with("value=, lo=, hi=, undefined=empty_group");
    let line = "| inconclusive | undefined: empty_group";
    check(&q, by(&[denied.clone(), undefined]), line);
    check(&q, by(std::slice::from_ref(&denied)), "| inconclusive | not measured");
    // Three groups: four parts, and a numerator where the rate has counts.
    let three = [
        denied,
        part("denied_by_group", ["Female", "Other"], 0.2).with("numerator=24"),
        part("favoured_by_group", MEN, 0.05),
        part("favoured_by_group", ["Other", "Female"], 0.05),
        part("favoured_by_group", ["Other", "Male"], 0.9),
    ];
    check_rows(
        &q,
        by(&three),
        "pass
         verdict=fail, decides=1, to_group=Other, numerator=24
         pass
         pass",
    );
}

/// A verdict on an arm says in the same line what the audited model does.
#[test]
fn a_pass_of_an_arm_names_the_audited_model() {
    let table = |arm: f64, plain: &[f64]| -> Vec<MetricRow> {
        let of_arm = part("nsr", WOMEN, arm).with("arm=augment/all");
        let plain = plain.iter().map(|value| part("nsr", WOMEN, *value));
        std::iter::once(of_arm).chain(plain).collect()
    };
    let q = GateQuestion { arm: "augment/all".into(), ..question(direction()) };
    let own = "the audited model itself";
    let breaks = "breaks the limit: 0.3100 (0.3000 to 0.3200)";
    let kept = format!("<= 0.1 | pass | =the whole interval keeps the limit; {own} {breaks}");
    check(&q, by(&table(0.02, &[0.31])), &kept);
    for (plain, says) in [
        (&[0.05][..], "keeps the limit: 0.0500 (0.0400 to 0.0600)"),
        (&[], "cannot be judged: the table of metrics has no such row"),
    ] {
        check(&q, by(&table(0.02, plain)), &format!("<= 0.1 | pass | {own} {says}$"));
    }
    let alone = asked_by(&question(direction()), "<= 0.1");
    super::judged(&alone, &by(&table(0.02, &[0.05])))[0].reason.lacks(&["audited"]);
    // Ends that are not those of people are called what they are.
    let drawn = table(0.02, &[0.11]);
    let drawn = drawn.iter().map(|row| row.with("training_lo=0.12, training_hi=0.13"));
    let drawn: Vec<MetricRow> = drawn.map(|row| row.with("training_repeats=50")).collect();
    let trained = "breaks the limit: 0.1100 (trainings 0.1200 to 0.1300)";
    check(&q, by(&drawn), &format!("<= 0.1, training | metric=nsr | {own} {trained}$"));
    // Each part of a gate on harm refers to the same part of the model.
    let both = [
        part("denied_by_group", WOMEN, 0.02).with("arm=augment/all"),
        part("favoured_by_group", MEN, 0.02).with("arm=augment/all"),
        part("denied_by_group", WOMEN, 0.03),
        part("favoured_by_group", MEN, 0.1),
    ];
    let scope = GateSubject::HarmTo("Female".into());
    let harm = GateQuestion { metric: HARM[0].into(), scope, ..q };
    check_rows(
        &asked_by(&harm, "<= 0.1"),
        by(&both),
        "pass | ; the audited model itself keeps the limit: 0.0300 (0.0200 to 0.0400)$
         pass | ; the audited model itself is at 0.1000 (0.0900 to 0.1100): ",
    );
}

/// So does one on its change: the audited model is judged against the same baseline.
#[test]
fn a_change_of_an_arm_names_that_of_the_audited_model() {
    let of_arm = change("difference=0.005, lo=0.001, hi=0.008, arm=augment/all");
    let q = GateQuestion { arm: "augment/all".into(), ..against(direction()) };
    let kept = "<= 0.01 | pass | =the whole interval keeps the limit; the audited model itself";
    let of = |changes: &[_], says: &str| {
        let baseline = baseline_of(changes, "");
        check(&q, (by(&[nsr()]).0, Some(&baseline)), &format!("{kept} {says}"));
    };
    let breaks = "breaks the limit: a change of 0.1240 (0.0270 to 0.2170)";
    of(&[of_arm.clone(), change("")], breaks);
    of(&[of_arm], "cannot be judged: the table of changes has no such row");
    // Without a baseline nobody is judged.
    check(&q, by(&[nsr()]), "<= 0.01 | skipped | =no baseline was given");
}
