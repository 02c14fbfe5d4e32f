//! One value against its limit: pass, fail or inconclusive, and what keeps a value from being
//! judged.

use super::*;
use crate::table::{GroupRow, WITH_FITS};

/// Cells of a value that is undefined.
const UNDEFINED: &str = "value=, lo=, hi=, undefined=empty_group";

#[test]
fn the_published_counts_are_inconclusive_at_a_tenth() {
    // 16 of 122, 13.1 % (8.2 to 20.2): above the limit, but 122 cases cannot show it.
    let asked = asked_by(&question(direction()), "<= 0.10");
    let judged = judge(&[asked], &by(&[nsr()]).0, None);
    assert_eq!(judged.verdict(), Some(GateStatus::Inconclusive));
    assert_eq!(judged.tally.inconclusive, 1);
    let worst = judged.worst.expect("there is one gate");
    assert_eq!((worst.value, worst.n, worst.limit), (Some(0.131), Some(122), 0.10));
}

/// What is enough is counted in those who carry information: persons, and people who weigh.
#[test]
fn people_of_weight_zero_are_not_enough() {
    let row = |cells: &str| [nsr().with("n_persons=150").with(cells)];
    let q = GateQuestion { min_cases: 50, ..question(direction()) };
    for (cells, line) in [
        (
            "weight_denominator=71.5, denominator_persons=40",
            "inconclusive | =40 people of weight above 0 below the rate, 50 are required",
        ),
        ("denominator_persons=49", "inconclusive | =49 persons below the rate, 50 are required"),
        ("weight_denominator=71.5, denominator_persons=50", "pass"),
    ] {
        check(&q, by(&row(cells)), &format!("<= 0.3 | {line}"));
    }
}

/// Five positive people among a thousand, all judged right: an MCC of 1 is as sure as five people.
/// Of the switches of a direction the smaller side counts alike.
#[test]
fn a_correlation_of_one_is_as_sure_as_its_smaller_side() {
    let group = CountRow::of("model=m, sensitive=sex, scope=group, from_group=Female")
        .each("label | predicted | n\n 1 | 1 | 5\n 0 | 0 | 995");
    let moved = CountRow::of(
        "model=m, counterfactual=flip, sensitive=sex, scope=direction, from_group=Female, \
         to_group=Male",
    )
    .each("predicted | predicted_cf | n\n 1 | 1 | 995\n 0 | 0 | 5");
    for (place, metric, set, counts, subject) in [
        (["Female", ""], "mcc", "", &group, GateSubject::Group("Female".into())),
        (["Female", "Male"], "cmcc", "flip", &moved, direction()),
    ] {
        let scope = if set.is_empty() { "group" } else { "direction" };
        let row = gap(scope, place, metric, [1.0, 0.9962, 1.0]);
        let row = row.with(&format!("counterfactual={set}, level=0.95"));
        let counterfactual = set.to_owned();
        let question = GateQuestion { counterfactual, ..asked(metric, subject) };
        let metrics = [row];
        let tables = tables!(metrics, counts);
        check(
            &question,
            (tables, None),
            ">= 0.95 | inconclusive | of the smaller side alone it reaches from 0.1310 to 1.0000$
             >= 0.13 | pass",
        );
    }
}

/// 80 of 80 over 500 of 500: Katz's interval is 1 to 1, and that of both rates 0.954 to 1.008.
#[test]
fn no_gate_depends_on_a_certain_rate() {
    let counts = CountRow::of("model=m, sensitive=sex, scope=group, predicted=1")
        .each("from_group | n\n Female | 80\n Male | 500");
    let ratio = |interval: &str, flags: &str| {
        gap("pair", ["Female", "Male"], "demp_ratio", [1.0; 3])
            .with(&format!("level=0.95, interval={interval}, flags={flags}"))
    };
    let q = asked("demp_ratio", pair("Female", "Male"));
    let of = |flags: &str, counts: &[CountRow], lines: &str| {
        let metrics = [ratio("katz", flags)];
        let tables = tables!(metrics, counts);
        check(&q, (tables, None), lines);
    };
    let reaches =
        "takes a rate of 1 as certain: with the doubt .. it reaches from 0.9542 to 1.0077";
    for decides in ["interval", "interval holm"] {
        of(
            "rate_of_one",
            &counts,
            &format!(
                ">= 0.995, {decides} | verdict=inconclusive, needed_how=boundary | {reaches}
                 >= 0.95, {decides} | pass
                 <= 0.95, {decides} | fail"
            ),
        );
    }
    // Without the flag it is as it was, and without the rates nothing is decided.
    of("", &counts, ">= 0.995 | pass");
    of("rate_of_one", &[], ">= 0.5 | inconclusive | the tables do not tell$");
    // Persons: the rates of the groups tell how sure they are.
    let group = MetricRow::of(
        "model=m, sensitive=sex, scope=group, metric=pprev, value=1.0, denominator=800, \
         denominator_persons=80",
    );
    let mut rows = group.each("from_group | n_eff\n Female | 80\n Male | 500");
    rows.push(ratio("katz-deff", "rate_of_one"));
    check(
        &q,
        by(&rows),
        ">= 0.995 | inconclusive | it reaches from 0.9542 to 1.0077$
         >= 0.95 | pass",
    );
}

/// How many times as much a correlation is as a negative one nobody can say.
#[test]
fn a_ratio_with_a_negative_part_is_not_judged() {
    let table = [nsr().with("counterfactual=, scope=pair, metric=mcc_ratio, flags=negative_part")];
    let q = asked("mcc_ratio", pair("Female", "Male"));
    check(&q, by(&table), "<= 0.9 | inconclusive | judge the difference$");
}

#[test]
fn the_interval_or_the_estimate_decides() {
    check(
        &question(direction()),
        by(&[nsr()]),
        "<= 0.202 | pass
         <= 0.08 | fail
         >= 0.082 | pass
         >= 0.3 | fail
         >= 0.1 | inconclusive
         <= 0.131, estimate | pass
         <= 0.13, estimate | fail",
    );
}

/// What cannot be judged is never a pass, and the reason says what is missing.
#[test]
fn too_few_cases_undefined_values_and_absent_rows_are_never_a_pass() {
    let (value, undefined) = ([nsr()], [nsr().with(UNDEFINED)]);
    let of_cases = |min_cases| GateQuestion { min_cases, ..question(direction()) };
    check(&of_cases(123), by(&value), "<= 0.9 | inconclusive");
    check(&of_cases(122), by(&value), "<= 0.9 | pass");
    let says = "<= 0.9 | inconclusive | empty_group: No row of the group";
    check(&question(direction()), by(&undefined), says);
    // The group may be large.
    let invalid = [nsr().with(UNDEFINED).with("family=ccm")];
    let says = "<= 0.9 | inconclusive | undefined: no_valid_counterfactual: there is no valid";
    check(&question(direction()), by(&invalid), says);
    check(&question(direction()), by(&[]), "<= 0.9 | inconclusive");
    let any = asked("sr_any", GateSubject::Total);
    check(&any, by(&value), "<= 0.9 | inconclusive | needs three groups or more");
    check(&question(GateSubject::Total), by(&value), "<= 0.9 | inconclusive | no such row");
}

/// Labels that are missing for some more than for others say nothing about all, regardless of what
/// decides.
#[test]
fn selective_labels_are_never_a_pass() {
    let flagged = [nsr().with("flags=sampled,selective_labels")];
    for decides in ["interval", "estimate"] {
        check(&question(direction()), by(&[nsr()]), &format!("<= 0.9, {decides} | pass"));
        let held = "verdict=inconclusive, reason_code=selective-labels";
        check(&question(direction()), by(&flagged), &format!("<= 0.9, {decides} | {held}"));
    }
}

#[test]
fn a_gap_that_rests_on_a_small_group_is_never_a_pass() {
    let table = [gap("pair", ["Male", "Female"], "di", [0.9, 0.5, 0.95])];
    let mut q = question(pair("Female", "Male"));
    check(&q, by(&table), ">= 0.8, estimate | pass");
    check(&q, by(&[table[0].with("flags=small_group")]), ">= 0.8, estimate | inconclusive");
    // 200 people are behind the value.
    q.min_cases = 201;
    check(&q, by(&table), ">= 0.8, estimate | inconclusive");
}

/// A rate of enough cases is judged by them, also where a group behind it is small.
#[test]
fn a_rate_is_judged_by_its_own_cases() {
    check(&question(direction()), by(&[nsr().with("flags=small_group")]), "<= 0.3 | pass");
}

/// So many would decide: never fewer than are required, and as many of all who are audited, persons
/// where rows are theirs, as count today. How far other fits go more people do not tell.
#[test]
fn who_would_decide_is_counted_among_those_who_are_audited() {
    let metrics = rates(&[17]);
    let q = question(GateSubject::Direction("g0".into(), "Male".into()));
    for (persons, people) in [("", 5000), ("500", 2500)] {
        let groups = GroupRow::of("model=m, sensitive=sex").each(&format!(
            "slice   | group | n    | persons
             site=1 |       | 70   | 70
                    | g0    | 200  | 200
                    |       | 1000 | {persons}"
        ));
        let tables = tables!(groups, metrics);
        let enough = GateQuestion { min_cases: 1000, ..q.clone() };
        let held = format!(
            "verdict=inconclusive, n_needed_80=1000, n_needed_95=1000, people_needed_80={people}, \
             people_needed_95={people}"
        );
        check(&enough, (tables, None), &format!("<= 0.3 | {held}"));
    }
    let fits = [metrics[0].with(&format!("interval={WITH_FITS}"))];
    check(&q, by(&fits), "<= 0.1 | verdict=inconclusive, n_needed_80=, needed_how=by_fit");
}

#[test]
fn the_worst_of_all_directions_decides_and_warnings_do_not_count() {
    let back = nsr().with("from_group=Male, to_group=Female, value=0.02, lo=0.01, hi=0.03");
    let mut q = asked_by(&question(GateSubject::AnyDirection), "<= 0.05");
    check_rows(
        &q,
        by(&[nsr(), back]),
        "verdict=fail, decides=1, from_group=Female
         verdict=pass, decides=0, from_group=Male",
    );
    q.warn_only = true;
    let judged = judge(&[q], &by(&[nsr()]).0, None);
    assert_eq!((judged.verdict(), judged.tally.warn, judged.tally.fail), (None, 1, 0));
}
