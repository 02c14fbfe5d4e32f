//! What a gate is about: pairs, facets, worst cases, harm to a group, arms of an experiment.

use super::baseline::check_change;
use super::{
    against, asked, change, decided, direction, gap, gap_near, judge, nsr, pair, question,
};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{GateLimit, GateQuestion, GateSubject};
use crate::gate::reason::GateStatus;
use crate::metric::catalog::ccm::HARM;
use crate::metric::value::settings::FavourableClass;
use crate::table::{GateRow, MetricRow};
use crate::tests::Says;
use crate::tests::TextRow;

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
    let table = vec![
        gap_near("pair", ["Male", "Female"], "ft", 0.2).with("family=clarify, flags=sampled"),
        gap_near("one_vs_rest", ["", "Female"], "dppl", 0.3).with("family=clarify"),
        gap_near("one_vs_rest", ["Other", ""], "demp_difference", 0.4),
        gap_near("worst_case", ["", ""], "eodds", 0.5),
    ];
    let judged = |metric: &str, scope: GateSubject| {
        let judged = judge(&[asked(metric, scope, GateLimit::AtMost(0.25))], &table, None);
        let first = judged.table.first().map(|r| (r.value, r.scope.to_string()));
        (judged.verdict().expect("it counts"), first.expect("one row"))
    };
    assert_eq!(
        judged("ft", pair("Male", "Female")),
        (GateStatus::Pass, (Some(0.2), "pair".into())),
        "a sample is no small group"
    );
    assert_eq!(
        judged("ft", pair("Female", "Male")),
        (GateStatus::Inconclusive, (None, String::new()))
    );
    assert_eq!(
        judged("dppl", pair("", "Female")),
        (GateStatus::Fail, (Some(0.3), "one_vs_rest".into()))
    );
    assert_eq!(judged("demp_difference", pair("Other", "")).0, GateStatus::Fail);
    assert_eq!(
        judged("demp_difference", pair("", "Other")),
        (GateStatus::Pass, (Some(-0.4), "one_vs_rest".into()))
    );
    // Its interval allows for the choice among all pairs.
    assert_eq!(
        judged("eodds", GateSubject::WorstCase),
        (GateStatus::Fail, (Some(0.5), "worst_case".into()))
    );
    let mut pairs = table;
    pairs.extend([
        gap_near("pair", ["Male", "Other"], "eodds", 0.2).with("family=group, level=0.95"),
        gap_near("pair", ["Other", "Female"], "eodds", 0.45).with("family=group, level=0.95"),
    ]);
    let decided = |table: &[MetricRow], limit: f64| {
        let q = asked("eodds", GateSubject::WorstCase, GateLimit::AtMost(limit));
        let found = judge(&[q], table, None);
        let reason = found.table.first().map(|r| r.reason.to_string()).unwrap_or_default();
        (found.verdict().expect("it counts"), reason)
    };
    let (verdict, reason) = decided(&pairs, 0.25);
    assert_eq!(verdict, GateStatus::Fail);
    assert_eq!(reason, "the whole interval breaks the limit");
    // A group of a few people lies further still: it is too small to tell, and no excuse for the
    // others.
    let worst = pairs.iter().position(|row| row.key.scope == "worst_case").expect("a row");
    pairs[worst].flags = "small_group".into();
    let (verdict, reason) = decided(&pairs, 0.25);
    assert_eq!(verdict, GateStatus::Fail, "{reason}");
    reason.says(&["too small for a conclusion, but the interval of Other and Female breaks"]);
    let (verdict, reason) = decided(&pairs, 0.48);
    assert!(
        verdict == GateStatus::Inconclusive && reason == "too few for a conclusion: small_group",
        "{reason}"
    );
    // A worst case is not below 0, regardless of the order of a pair.
    let mut q = asked("demp_difference", GateSubject::WorstCase, GateLimit::AtLeast(-0.1));
    let mut gaps = [
        gap_near("worst_case", ["", ""], "demp_difference", 0.45),
        gap_near("pair", ["Other", "Female"], "demp_difference", 0.45),
    ]
    .map(|row| row.with("family=group"));
    gaps[0].flags = "small_group".into();
    assert_eq!(judge(&[q.clone()], &gaps, None).verdict(), Some(GateStatus::Inconclusive));
    // Holm's method has the pairs of other attributes to mind, too.
    (q.limit, q.holm) = (GateLimit::AtMost(0.25), true);
    gaps.iter_mut().for_each(|row| row.level = 0.95.into());
    assert_eq!(judge(&[q.clone()], &gaps, None).verdict(), Some(GateStatus::Inconclusive));
    q.holm = false;
    assert_eq!(judge(&[q.clone()], &gaps, None).verdict(), Some(GateStatus::Fail));
    q.limit = GateLimit::AtMost(0.5);
    gaps[0].flags = "".into();
    assert_eq!(judge(&[q], &gaps, None).verdict(), Some(GateStatus::Pass));
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
    let reason = |metric: &str, favourable, limit| {
        let q = GateQuestion { favourable, ..asked(metric, pair("a", "b"), limit) };
        let judged = judge(&[q], &table, None);
        assert_eq!(judged.verdict(), Some(GateStatus::Pass), "{metric}");
        let row = &judged.table[0];
        (row.reason.to_string(), [row.from_group.to_string(), row.to_group.to_string()])
    };
    let least = GateLimit::AtLeast(0.8);
    let (words, groups) = reason("di", Some(FavourableClass::Positive), least);
    assert!(words.ends_with("`b` over `a` is 0.2000, and `b` is behind"), "{words}");
    assert_eq!(groups, ["b", "a"], "the groups of the row of `metrics`");
    // Of refusals those with more are behind.
    let (words, groups) = reason("demp_ratio", Some(FavourableClass::Negative), least);
    assert!(words.ends_with("and `a` is behind"), "{words}");
    assert_eq!(groups, ["a", "b"]);
    let (words, _) = reason("demp_ratio", None, least);
    assert!(words.ends_with("and `b` has the lower value"), "{words}");
    let (words, _) = reason("tpr_ratio", None, least);
    assert_eq!(words, "the whole interval keeps the limit");
}

#[test]
fn a_pair_is_turned_to_the_side_that_the_gate_asks_for() {
    // The table holds A = Male (reference), B = Female, and di = rate of B over rate of A.
    let table = [
        gap("pair", ["Male", "Female"], "di", [0.8, 0.5, 0.9]),
        gap("pair", ["Female", "Male"], "di", [1.25, 1.0 / 0.9, 2.0]),
    ];
    let of = |a: &str, b: &str| {
        let judged = judge(&[question(pair(a, b), GateLimit::AtLeast(0.85))], &table, None);
        let row = judged.table.first().map(|r| (r.value, r.lo, r.hi));
        row.expect("one row")
    };
    assert_eq!(of("Female", "Male"), (Some(0.8), Some(0.5), Some(0.9)));
    assert_eq!(of("Male", "Female"), (Some(1.25), Some(1.0 / 0.9), Some(2.0)));
}

/// Harm to women has two parts, against each other group; each is in a separate row with its
/// counts, and the worst decides.
#[test]
fn harm_is_judged_by_both_of_its_parts() {
    let table = |denied: f64, favoured: f64| {
        [
            part("denied_by_group", ["Female", "Male"], denied),
            part("favoured_by_group", ["Female", "Male"], 0.9),
            part("denied_by_group", ["Male", "Female"], 0.9),
            part("favoured_by_group", ["Male", "Female"], favoured),
            part("nsr", ["Female", "Male"], 0.9),
        ]
    };
    let q = asked(HARM[0], GateSubject::HarmTo("Female".into()), GateLimit::AtMost(0.1));
    let judged = judge(std::slice::from_ref(&q), &table(0.05, 0.3), None);
    let rows = judged.table.iter();
    let rows: Vec<_> = rows
        .map(|row| {
            (
                row.metric.as_str(),
                row.from_group.as_str(),
                row.verdict.as_str(),
                row.denominator,
                Some(row.decides),
            )
        })
        .collect();
    let expected = [
        ("denied_by_group", "Female", "pass", Some(122), Some(0)),
        ("favoured_by_group", "Male", "fail", Some(122), Some(1)),
    ];
    assert_eq!(rows, expected);
    assert_eq!(
        (judged.verdict(), judged.worst.map(|w| w.metric)),
        (Some(GateStatus::Fail), Some("favoured_by_group".to_owned()))
    );
    assert_eq!(decided(&q, &table(0.05, 0.05)).0, GateStatus::Pass);
    assert_eq!(decided(&q, &table(0.5, 0.05)).0, GateStatus::Fail);
    assert_eq!(decided(&q, &table(0.1, 0.05)).0, GateStatus::Inconclusive);
    // An undefined part, and one that is not there, do not pass.
    let denied = part("denied_by_group", ["Female", "Male"], 0.05);
    let undefined = part("favoured_by_group", ["Male", "Female"], 0.0)
        .with("value=, lo=, hi=, undefined=empty_group");
    let (verdict, reason) = decided(&q, &[denied.clone(), undefined]);
    assert_eq!(verdict, GateStatus::Inconclusive, "{reason}");
    reason.says(&["undefined: empty_group"]);
    let (verdict, reason) = decided(&q, std::slice::from_ref(&denied));
    assert!(verdict == GateStatus::Inconclusive && reason.contains("not measured"), "{reason}");
    // Three groups: four parts, and a numerator where the rate has counts.
    let three = [
        denied,
        part("denied_by_group", ["Female", "Other"], 0.2).with("numerator=24"),
        part("favoured_by_group", ["Male", "Female"], 0.05),
        part("favoured_by_group", ["Other", "Female"], 0.05),
        part("favoured_by_group", ["Other", "Male"], 0.9),
    ];
    let judged = judge(&[q], &three, None);
    let row = judged.table.iter().find(|row| row.decides == 1).unwrap();
    assert_eq!(
        (judged.table.len(), row.to_group.as_str(), row.verdict.as_str()),
        (4, "Other", "fail")
    );
    assert_eq!(row.numerator, Some(24));
}

/// A verdict on an arm says in the same line what the audited model does.
#[test]
fn a_pass_of_an_arm_names_the_audited_model() {
    let women = ["Female", "Male"];
    let table = |arm: f64, plain: &[f64]| -> Vec<MetricRow> {
        let of_arm = part("nsr", women, arm).with("arm=augment/all");
        let plain = plain.iter().map(|value| part("nsr", women, *value));
        std::iter::once(of_arm).chain(plain).collect()
    };
    let q =
        GateQuestion { arm: "augment/all".into(), ..question(direction(), GateLimit::AtMost(0.1)) };
    let (verdict, reason) = decided(&q, &table(0.02, &[0.31]));
    assert_eq!(verdict, GateStatus::Pass);
    assert_eq!(
        reason,
        "the whole interval keeps the limit; the audited model itself breaks the limit: 0.3100 \
         (0.3000 to 0.3200)"
    );
    assert!(
        decided(&q, &table(0.02, &[0.05]))
            .1
            .ends_with("the audited model itself keeps the limit: 0.0500 (0.0400 to 0.0600)")
    );
    assert!(decided(&q, &table(0.02, &[])).1.ends_with(
        "the audited model itself cannot be judged: the table of metrics has no such row"
    ));
    let plain = question(direction(), GateLimit::AtMost(0.1));
    decided(&plain, &table(0.02, &[0.05])).1.lacks(&["audited"]);
    // Ends that are not those of people are called what they are.
    let mut drawn = table(0.02, &[0.11]);
    for row in &mut drawn {
        *row = row.with("training_lo=0.12, training_hi=0.13, training_repeats=50");
    }
    let trained = GateQuestion { decide_by: GateDecideBy::Training, ..q.clone() };
    let reason = decided(&trained, &drawn).1;
    let own = "the audited model itself breaks the limit: 0.1100 (trainings 0.1200 to 0.1300)";
    assert!(reason.ends_with(own), "{reason}");
    // Each part of a gate on harm refers to the same part of the model.
    let both = [
        part("denied_by_group", women, 0.02).with("arm=augment/all"),
        part("favoured_by_group", ["Male", "Female"], 0.02).with("arm=augment/all"),
        part("denied_by_group", women, 0.03),
        part("favoured_by_group", ["Male", "Female"], 0.1),
    ];
    let harm =
        GateQuestion { metric: HARM[0].into(), scope: GateSubject::HarmTo("Female".into()), ..q };
    let judged = judge(std::slice::from_ref(&harm), &both, None).table;
    let reasons: Vec<&str> = judged.iter().map(|row| row.reason.as_str()).collect();
    assert!(
        reasons[0]
            .ends_with("; the audited model itself keeps the limit: 0.0300 (0.0200 to 0.0400)"),
        "{reasons:?}"
    );
    assert!(
        reasons[1].contains("; the audited model itself is at 0.1000 (0.0900 to 0.1100): "),
        "{reasons:?}"
    );
}

/// So does one on its change: the audited model is judged against the same baseline.
#[test]
fn a_change_of_an_arm_names_that_of_the_audited_model() {
    let of_model = change("difference=0.124, lo=0.027, hi=0.217");
    let of_arm = change("difference=0.005, lo=0.001, hi=0.008, arm=augment/all");
    let q =
        GateQuestion { arm: "augment/all".into(), ..against(direction(), GateLimit::AtMost(0.01)) };
    let row = check_change(
        &q,
        &[of_arm.clone(), of_model],
        GateStatus::Pass,
        "the whole interval keeps the limit; ",
    );
    let reason = |row: &GateRow| row.reason.to_string();
    let breaks =
        "; the audited model itself breaks the limit: a change of 0.1240 (0.0270 to 0.2170)";
    assert!(reason(&row).ends_with(breaks), "{}", reason(&row));
    let row = check_change(&q, &[of_arm], GateStatus::Pass, "the whole interval keeps the limit; ");
    let absent =
        "; the audited model itself cannot be judged: the table of changes has no such row";
    assert!(reason(&row).ends_with(absent), "{}", reason(&row));
    // Without a baseline nobody is judged.
    let skipped = judge(std::slice::from_ref(&q), &[nsr()], None).table;
    assert_eq!(skipped.first().unwrap().reason.as_str(), "no baseline was given");
}
