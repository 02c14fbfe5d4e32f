//! The verdict of the page, and what it shows of each gate.

use super::html::{page, section};
use super::sample::{FolderSample, names, spread, two_groups};

/// Both parts of a gate on harm stand together, and one verdict is counted.
#[test]
fn a_gate_on_harm_shows_both_parts() {
    let gates = vec![
        ("no-harm", "fail", "fail", "favoured_by_group", Some((0, 1)), 1),
        ("no-harm", "pass", "fail", "denied_by_group", Some((1, 0)), 0),
    ];
    let html = page("harm", &FolderSample { gates, ..two_groups() });
    let verdict = section(&html, "verdict");
    assert!(verdict.contains("Fail The only limit is broken."), "{verdict}");
    let parts = [
        "FAVOURED_BY_GROUP, Male",
        "this part decides",
        "DENIED_BY_GROUP, Female",
        "does not decide",
    ]
    .map(|text| verdict.find(text));
    let plain = "(people of Male with the favourable decision who would lose it as Female)";
    assert!(
        verdict.contains(plain) && verdict.contains("Harm to a group has two parts"),
        "{verdict}"
    );
    assert!(parts[0].is_some() && parts.is_sorted(), "{verdict}");
    assert!(!html.contains("Directions that did not decide"), "{verdict}");
    // What the favourable side makes of it is reported as a finding.
    let findings = section(&html, "findings");
    assert!(
        findings.contains("with the favourable decision, 13 (6.81 %")
            && findings.contains("The gate no-harm failed"),
        "{findings}"
    );
}

/// Against several groups the two parts about one pair of groups are in the table, those about
/// other pairs below it.
#[test]
fn a_gate_on_harm_against_several_groups_shows_two_parts() {
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
    let verdict = section(&html, "verdict");
    let (table, folded) =
        verdict.split_once("Directions that did not decide a gate ").expect("both");
    let rows = |text: &str| text.matches("no-harm: ").count();
    assert_eq!([rows(table), rows(folded)], [2, 2], "{verdict}");
    assert!(
        table.contains("DENIED_BY_GROUP, a \u{2192} c")
            && folded.contains("DENIED_BY_GROUP, a \u{2192} b"),
        "{verdict}"
    );
}

#[test]
fn no_gate_asked_and_nothing_left_out() {
    let html = page(
        "no-gates",
        &FolderSample { gates: Vec::new(), left_out: false, clarify: None, ..two_groups() },
    );
    assert!(section(&html, "verdict").contains("No limit The job sets no limit: this page"));
    assert!(section(&html, "left-out").contains("Nothing: no row was dropped"));
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
        let html = page("verdict", &FolderSample { gates, ..two_groups() });
        assert!(html.contains(&format!("<p><strong>{word}</strong>")), "{word}");
    }
}

/// Two gates over one value tell its people once; of gates that failed alike those farther beyond
/// the limit come first.
#[test]
fn gates_over_one_value() {
    let gates = vec![
        ("soft", "inconclusive", "warn", "nsr", Some((1, 0)), 1),
        ("hard", "fail", "fail", "nsr", Some((1, 0)), 1),
    ];
    let findings =
        section(&page("gates-twice", &FolderSample { gates, ..two_groups() }), "findings");
    assert_eq!(
        findings.matches("Of 122 people in group Female with the favourable decision, 16 ").count(),
        1,
        "{findings}"
    );
    let (hard, soft) = (
        findings.find("The gate hard failed: the limit is at most"),
        findings.find("The gate soft is inconclusive: negative switch rate"),
    );
    assert!(hard.is_some() && hard < soft, "{findings}");
}
