//! Examples computed by hand. Names in brackets are the ids of the same examples in the reference
//! files.

use super::*;
use crate::counterfactual::ChangeCounters;

/// The counterfactuals of one row in group `b`.
#[track_caller]
fn check(
    plan: &StrategyPlan<'_>,
    layout: &Layout,
    reference: &[(&str, usize)],
    sample: &str,
    expected: &[&str],
) -> ChangeCounters {
    let made = generate(
        &mover(plan, layout, &rows(layout, reference)),
        layout,
        &rows(layout, &[(sample, 1)]),
        1,
    );
    assert_eq!(rows_in_words(layout, &made), expected);
    assert_eq!(made.cf_index, (0..u16::try_from(expected.len()).unwrap()).collect::<Vec<_>>());
    made.counters[0]
}

const LOOSE: &str = r#", "min_stratum": 1, "flip": {"min_support": 1, "impossible": -1}"#;

/// [D1] Root: f1 1 - 0.2 = 0.8 flips, f2 0.8 - 0.4 = 0.4 stays. Given f1, P(f2 = y) is 2 of 2 and 2
/// of 8: 0.75 flips.
#[test]
fn a_conditional_flip() {
    let layout = layout(&["g:a,b", "f1:n,y", "f2:n,y"]);
    let reference =
        [("a y y 1", 8), ("a y n 1", 2), ("b y y 1", 2), ("b n n 1", 6), ("b n y 1", 2)];
    let counters = check(&plausible(LOOSE), &layout, &reference, "a y y 1", &["b n n"]);
    assert_eq!(counters.n_changed, 2);
    check(
        &plausible(&format!(r#"{LOOSE}, "depth": 1"#)),
        &layout,
        &reference,
        "a y y 1",
        &["b n y"],
    );
    let support = r#", "min_stratum": 1, "flip": {"min_support": 3, "impossible": -1}"#;
    check(&plausible(support), &layout, &reference, "a y y 1", &["b n y"]);
    // At 0.4 both flip at the root; each of them also flips the other, unless there is only one
    // level.
    let several = format!(r#"{LOOSE}, "threshold": 0.4, "cfs": "multiple""#);
    check(&plausible(&several), &layout, &reference, "a y y 1", &["b n n"]);
    let several = format!(r#"{several}, "depth": 1"#);
    check(&plausible(&several), &layout, &reference, "a y y 1", &["b n n", "b n y", "b y n"]);
    check(
        &plausible(&format!(r#"{several}, "max_cfs": 2"#)),
        &layout,
        &reference,
        "a y y 1",
        &["b n n", "b n y"],
    );
}

/// [B1 to B4] d(y) = 0.6, d(n) = -0.6; and 0.7 - 0.2, which is below 0.5 in binary floating point.
#[test]
fn the_sign_and_the_edge_of_the_root_test() {
    let layout = layout(&["g:a,b", "f:n,y"]);
    let reference = [("a y 1", 6), ("a n 1", 4), ("b n 1", 10)];
    check(&plausible(LOOSE), &layout, &reference, "a n 1", &["b n"]);
    let absolute =
        r#", "min_stratum": 1, "flip": {"min_support": 1, "impossible": -1, "rule": "absolute"}"#;
    check(&plausible(absolute), &layout, &reference, "a n 1", &["b y"]);
    let edge = [("a y 1", 7), ("a n 1", 3), ("b y 1", 2), ("b n 1", 8)];
    check(&plausible(LOOSE), &layout, &edge, "a y 1", &["b n"]);
    check(&plausible(&format!(r#"{LOOSE}, "threshold": 0.51"#)), &layout, &edge, "a y 1", &["b y"]);
}

/// [B5 to B7] Never seen in b: with 40 % in a four rows are expected, with 20 % two.
#[test]
fn impossible_levels_and_their_guards() {
    let layout = layout(&["g:a,b", "f:n,y"]);
    let often = [("a y 1", 4), ("a n 1", 6), ("b n 1", 10)];
    let seldom = [("a y 1", 2), ("a n 1", 8), ("b n 1", 10)];
    let plan = plausible(r#", "min_stratum": 1, "depth": 0"#);
    let counters = check(&plan, &layout, &often, "a y 1", &["b n"]);
    assert_eq!((counters.n_impossible, counters.n_changed), (1, 1));
    check(&plan, &layout, &seldom, "a y 1", &["b y"]);
    let printed = plausible(r#", "preset": "as_printed", "depth": 0"#);
    check(&printed, &layout, &seldom, "a y 1", &["b n"]);
    // In the strata of class 1, y is impossible in b; in the whole groups it is not, because class
    // 0 has it.
    let by_class = [("a y 1", 4), ("a n 1", 6), ("b n 1", 10), ("b y 0", 10)];
    check(&plan, &layout, &by_class, "a y 1", &["b y"]);
    let strata =
        plausible(r#", "min_stratum": 1, "depth": 0, "flip": {"impossible_scope": "stratum"}"#);
    check(&strata, &layout, &by_class, "a y 1", &["b n"]);
}

/// [K1 to K5] h leaves: the most frequent is n; with m the couple (w, m) agrees best; a counterpart
/// wins where b has it.
#[test]
fn the_new_level() {
    let layout = layout(&["g:a,b", "rel:h,w,n,u", "mar:m,s"]);
    let reference =
        [("a h m 1", 6), ("a n s 1", 4), ("b w m 1", 2), ("b n s 1", 5), ("b u s 1", 3)];
    let at = format!(r#"{LOOSE}, "threshold": 0.6"#);
    check(&plausible(&at), &layout, &reference, "a h m 1", &["b w m"]);
    check(
        &plausible(&format!(r#"{at}, "new_value": "mode""#)),
        &layout,
        &reference,
        "a h m 1",
        &["b n m"],
    );
    let counterpart = |to: &str| {
        plausible(&format!(
            r#"{at}, "new_value": "mode", "counterpart": {{"rel": {{"h": "{to}"}}}}"#
        ))
    };
    check(&counterpart("u"), &layout, &reference, "a h m 1", &["b u m"]);
    check(&counterpart("h"), &layout, &reference, "a h m 1", &["b n m"]);
}

/// [F1, F2, U1] No row (b, 1): both sides without the class, p(2) = 3/12 of 1 to 6, which is 12.5
/// of 10, 20, 30.
#[test]
fn small_strata_fall_back_or_keep() {
    let layout = layout(&["g:a,b", "x"]);
    let mut reference =
        vec![("a 1 1", 1), ("a 2 1", 1), ("a 3 1", 1), ("a 4 0", 1), ("a 5 0", 1), ("a 6 0", 1)];
    reference.extend([("b 10 0", 1), ("b 20 0", 1), ("b 30 0", 1)]);
    let counters = check(&plausible(LOOSE), &layout, &reference, "a 2 1", &["b 12.5"]);
    assert_eq!(
        counters,
        ChangeCounters { n_changed: 1, n_fallback: 1, ..ChangeCounters::default() }
    );
    let counters =
        check(&plausible(r#", "min_stratum": 4"#), &layout, &reference, "a 2 1", &["b 2"]);
    assert_eq!(counters, ChangeCounters { n_kept: 1, ..ChangeCounters::default() });
    // A missing value stays missing and is not counted; a class that the reference lacks falls
    // back.
    assert_eq!(
        check(&plausible(LOOSE), &layout, &reference, "a - 1", &["b NaN"]),
        ChangeCounters::default()
    );
    assert_eq!(check(&plausible(LOOSE), &layout, &reference, "a 2 7", &["b 12.5"]).n_fallback, 1);
    assert_eq!(check(&plausible(LOOSE), &layout, &reference, "a 9 0", &["b 30"]).n_clamped, 1);
}

/// x differs between the groups, z does not: greedy moves x. With the class of one side too small
/// for a test, nothing is related.
#[test]
fn greedy_moves_what_is_related() {
    let layout = layout(&["g:a,b", "x", "z", "f:n,y"]);
    let reference = [("a 1 5 y 1", 20), ("a 2 6 n 1", 20), ("b 11 5 y 1", 20), ("b 12 6 n 1", 20)];
    check(&greedy(""), &layout, &reference, "a 1 5 y 1", &["b 11 5 y"]);
    check(&greedy(r#", "keep_fixed": ["x"]"#), &layout, &reference, "a 1 5 y 1", &["b 1 5 y"]);
    check(&greedy(r#", "min_stratum": 41"#), &layout, &reference, "a 1 5 y 1", &["b 1 5 y"]);
    // D = 1 of 40 and 40 rows; the limit at alpha 0.05 is 1.3581 sqrt(80 / 1600) = 0.3037. Of 9 and
    // 9 rows it is 0.64, of 3 and 3 above 1.
    let few = |n: usize| [("a 1 5 y 1", n), ("b 11 5 y 1", n)];
    check(&greedy(r#", "min_stratum": 1"#), &layout, &few(9), "a 1 5 y 1", &["b 11 5 y"]);
    check(&greedy(r#", "min_stratum": 1"#), &layout, &few(3), "a 1 5 y 1", &["b 1 5 y"]);
    check(
        &greedy(r#", "min_stratum": 1, "relation": {"test": "none"}"#),
        &layout,
        &few(3),
        "a 1 5 y 1",
        &["b 11 5 y"],
    );
}
