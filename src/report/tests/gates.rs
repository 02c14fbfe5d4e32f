//! What the pages show of each gate.

use super::html::{page, section};
use super::sample::{FolderSample, glossary, names, spread, two_groups};
use super::*;

/// Both parts of a gate on harm are rows, that which decides first.
#[test]
fn a_gate_on_harm_shows_both_parts() {
    let gates = vec![
        ("no-harm", "fail", "fail", "favoured_by_group", Some((0, 1)), 1),
        ("no-harm", "pass", "fail", "denied_by_group", Some((1, 0)), 0),
    ];
    let html = page("harm", &FolderSample { gates, ..two_groups() });
    let gates = section(&html, "gates");
    let parts = ["FAVOURED_BY_GROUP, Male", "DENIED_BY_GROUP, Female", "does not decide"]
        .map(|text| gates.find(text));
    let plain = "(people of Male with the favourable decision who would lose it as Female)";
    assert!(gates.contains(plain), "{gates}");
    assert!(parts[0].is_some() && parts.is_sorted(), "{gates}");
    assert_eq!(html.matches("id=\"limit-no-harm\"").count(), 1);
}

/// Against several groups every pair has its rows.
#[test]
fn a_gate_on_harm_against_several_groups_shows_all_pairs() {
    let part = |metric, ends: (usize, usize), decides: i64| {
        ("no-harm", if decides == 1 { "fail" } else { "pass" }, "warn", metric, Some(ends), decides)
    };
    let gates = vec![
        part("favoured_by_group", (1, 0), 0),
        part("denied_by_group", (0, 1), 0),
        part("favoured_by_group", (2, 0), 1),
        part("denied_by_group", (0, 2), 0),
    ];
    let html = page(
        "harm-of-three",
        &FolderSample { groups: names(&["a", "b", "c"]), cells: spread, gates, ..two_groups() },
    );
    let gates = section(&html, "gates");
    assert_eq!(gates.matches("no-harm: ").count(), 4, "{gates}");
    let decides = gates.find("FAVOURED_BY_GROUP, c \u{2192} a");
    assert!(decides.is_some() && decides < gates.find("DENIED_BY_GROUP, a \u{2192} b"), "{gates}");
}

#[test]
fn no_gate_asked_and_nothing_left_out() {
    let html = page(
        "no-gates",
        &FolderSample { gates: Vec::new(), left_out: false, clarify: None, ..two_groups() },
    );
    html.lacks(&["<section id=\"gates\""]);
    section(&html, "left-out").says(&["Nothing: no row was dropped"]);
}

#[test]
fn verdicts() {
    let gate = |verdict, level| ("g", verdict, level, "nsr", None, 1);
    for (gates, word) in [
        (vec![gate("pass", "fail")], "Pass"),
        (vec![gate("fail", "fail")], "Fail"),
        (vec![gate("fail", "warn")], "Fail"),
        (vec![gate("inconclusive", "fail")], "Cannot tell"),
        (vec![gate("skipped", "fail")], "Not checked"),
        (
            vec![
                ("a", "pass", "fail", "nsr", None, 1),
                ("b", "inconclusive", "fail", "nsr", None, 1),
                ("c", "fail", "fail", "nsr", None, 1),
            ],
            "Fail",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        FolderSample { gates, ..two_groups() }.write(folder.path());
        let html = render(folder.path(), None, &glossary).unwrap().report;
        let big = html.split(" big\">").nth(1).unwrap().split("</span>").next().unwrap();
        assert!(big.ends_with(&format!("</svg>{word}")), "{word}: {big}");
    }
}

/// Of gates that failed alike those farther beyond the limit come first, and those that only warn
/// after the others.
#[test]
fn gates_are_told_worst_first() {
    let gates = vec![
        ("soft", "inconclusive", "warn", "nsr", Some((1, 0)), 1),
        ("hard", "fail", "fail", "nsr", Some((1, 0)), 1),
    ];
    let gates = section(&page("gates-twice", &FolderSample { gates, ..two_groups() }), "gates");
    let (hard, soft) = (gates.find("hard: "), gates.find("soft: "));
    assert!(hard.is_some() && hard < soft, "{gates}");
}
