//! Codes and arguments of gates: what a row holds is what was found, and every code has its words.

use super::*;
use crate::explain::{ISSUE, REASON, words_of};
use crate::gate::reason::GateFindings;

/// The row that holds what was found.
fn row(findings: &GateFindings) -> GateRow {
    let (code, args) = findings.code_and_args();
    GateRow {
        reason_code: code.into(),
        reason_args: args.into(),
        reason: findings.words().into(),
        ..GateRow::default()
    }
}

/// A row for each line of `words.txt`, which has its code with arguments and its words, with what a
/// page says where these are others.
fn each_row() -> impl Iterator<Item = (GateRow, &'static str)> {
    include_str!("words.txt").lines().map(|line| {
        let mut parts = line.split(" | ");
        let mut part = || parts.next();
        let (code, args) = part().and_then(|found| found.split_once(' ')).expect("a code");
        let words = part().expect("words");
        let [reason_code, reason_args, reason] = [code, args, words].map(Into::into);
        (
            GateRow { reason_code, reason_args, reason, ..GateRow::default() },
            part().unwrap_or(words),
        )
    })
}

#[test]
fn a_row_holds_what_was_found_and_words_follow_from_it() {
    let mut covered: Vec<String> = Vec::new();
    for (expected, plain) in each_row() {
        let found = GateFindings::of_row(&expected).unwrap_or_else(|| panic!("{expected:?}"));
        assert_eq!(row(&found), expected);
        assert_eq!(found.plain_words(), plain);
        covered.push(expected.reason_code.to_string());
    }
    assert_eq!(GateFindings::of_row(&GateRow::default()), None, "a row without a reason");
    // What a reason that nobody knows may be says the codes, in the order of the type.
    let unknown = serde_json::from_str::<GateReason>(r#"{"code": ""}"#).unwrap_err().to_string();
    let codes: Vec<&str> = unknown.split('`').skip(3).step_by(2).collect();
    covered.dedup();
    assert_eq!(covered, codes, "a reason of each code, in the order of the alphabet");
    assert!(codes.is_sorted());
    let explained = |code: &str| [ISSUE, REASON].map(|kind| words_of(kind).any(|of| of.0 == code));
    assert!(codes.iter().all(|code| explained(code).into_iter().filter(|is| *is).count() == 1));
    assert!(words_of(REASON).all(|(code, _)| codes.contains(&code)));
}

/// Whatever is found together.
#[test]
fn a_row_holds_all_that_was_found() {
    let all: Vec<GateFindings> =
        each_row().filter_map(|(row, _)| GateFindings::of_row(&row)).collect();
    let further: Vec<GateReason> = all.iter().map(|found| found.rule().clone()).collect();
    for found in all {
        let mut found = GateFindings { further: further.clone(), ..found };
        for objected in [false, true] {
            if objected {
                further.iter().for_each(|objection| found.object(objection.clone()));
            }
            let row = row(&found);
            assert_eq!(GateFindings::of_row(&row), Some(found.clone()), "{}", row.reason_args);
        }
    }
}
