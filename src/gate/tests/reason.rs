//! Codes and arguments of gates: what a row holds is what was found, and every code has its words.

use crate::explain::{ISSUE, REASON, words_of};
use crate::folder::manifest::RecheckWords;
use crate::gate::reason::{
    ComparedPart, ComparedPlace, CountedUnit, EmptySearch, GateBoundSide, GateCaution, GateCount,
    GateFindings, GateReason, GateRemark, IntervalLack, Judged, Lack, LowerSide, MissingRow,
    OwnValue, UncertaintySource, UnseenPart, UnshownChange, WithoutRounding,
};
use crate::metric::value::sanity::InvertedOrder;
use crate::table::{GateRow, RefitReason};

fn text(word: &str) -> String {
    word.to_owned()
}

/// A reason of each code, with every argument.
fn each_reason() -> Vec<GateReason> {
    let holm = ComparedPlace {
        pair: Some(["a", "b"].map(text)),
        ..ComparedPlace::of(Judged::Holm { level: 0.975, place: 1, of: 2 })
    };
    let range = ComparedPlace {
        cautions: vec![
            GateCaution::FewRepeats(vec![UncertaintySource::Fits(20)]),
            GateCaution::FewBootstraps(3),
        ],
        ..ComparedPlace::of(Judged::Range(vec![
            UncertaintySource::People,
            UncertaintySource::Graphs,
            UncertaintySource::Trainings(5),
        ]))
    };
    let graphs = ComparedPlace {
        cautions: vec![GateCaution::NoBootstraps, GateCaution::MeanOutside],
        ..ComparedPlace::of(Judged::Graphs { level: Some(0.95) })
    };
    let over = |why| IntervalLack::Over {
        sources: vec![UncertaintySource::Fits(20), UncertaintySource::Graphs],
        why: Box::new(why),
    };
    let alone = GateFindings::new(GateReason::LimitKept(ComparedPlace::of(Judged::Interval)));
    vec![
        GateReason::HiddenCause {
            turns_at: Some(0.031),
            undefined: String::new(),
            withstands: 0.05,
        },
        GateReason::InvertedScores {
            model: text("m"),
            of_rows: false,
            classes: Vec::new(),
            inverted: vec![InvertedOrder::Decisions([(1, 9), (5, 8)])],
        },
        GateReason::InvertedScores {
            model: text("m"),
            of_rows: true,
            classes: ["low", "high"].map(text).to_vec(),
            inverted: [None, Some(1)]
                .map(|class| InvertedOrder::Scores { class, auc: 0.25, hi: 0.4375 })
                .to_vec(),
        },
        GateReason::LimitBroken(holm.clone()),
        GateReason::LimitInside(graphs),
        GateReason::LimitKept(ComparedPlace::of(Judged::Change)),
        GateReason::NegativePart,
        GateReason::NoBaseline,
        GateReason::NoInterval { why: IntervalLack::Table(text("none: not drawn")) },
        GateReason::NoInterval { why: IntervalLack::NoRefit },
        GateReason::NoInterval { why: IntervalLack::FewGraphs },
        GateReason::NoInterval { why: over(IntervalLack::NotFitted) },
        GateReason::NoInterval { why: over(IntervalLack::FewFits) },
        GateReason::NoInterval { why: over(IntervalLack::NotTrained) },
        GateReason::NoInterval { why: over(IntervalLack::FewTrainings) },
        GateReason::NotComparable { definitions: text("label") },
        GateReason::NotMeasured { row: MissingRow::AnyOtherGroup },
        GateReason::NotRepeatable {
            model: text("m"),
            scored: RecheckWords { rows: 100, differ: 3, largest: 0.25 },
        },
        GateReason::NothingLookedAt { search: EmptySearch::Arm(text("adasyn")) },
        GateReason::NothingLookedAt { search: EmptySearch::Subgroups(20) },
        GateReason::OnlyInOneRun { new: true },
        GateReason::OtherSide { kept: true, range },
        GateReason::RateOfOne { ends: Some([Some(0.95), None]) },
        GateReason::Refitted { why: RefitReason::OneRun },
        GateReason::RoundingAtThreshold {
            behind: ComparedPart::Change,
            rounded: 3,
            switches: 9,
            without: WithoutRounding {
                of_change: true,
                value: Some(0.01),
                moves: true,
                bound: Some(GateBoundSide::AtMost),
                by_holm: true,
            },
        },
        GateReason::SelectiveLabels,
        GateReason::SmallGroup { flags: ["small_group", "small_denominator"].map(text).to_vec() },
        GateReason::TooFew { n: 3, of: CountedUnit::PersonsBelow, required: 10 },
        GateReason::UnclearInFamily(holm),
        GateReason::Undefined { undefined: text("empty_group"), of_change: false },
        GateReason::UnknownLevels {
            attribute: text("sex"),
            group: text("f"),
            people: 5,
            audited: 9,
        },
        GateReason::UnmeasuredGroups { n: 1, groups: vec![text("c")] },
        GateReason::UnmeasuredPeople {
            lacking: vec![(Lack::Group, 80), (Lack::Score, 1)],
            enough: 12,
            worst: ComparedPart::Interval,
            end: None,
        },
        GateReason::UnseenChange {
            part: UnseenPart::Change(UnshownChange { attribute: text("sex"), direction: None }),
        },
        GateReason::UnseenChange { part: UnseenPart::Directions(vec![["f", "m"].map(text)]) },
        GateReason::UnsupportedPeople {
            value: Some(0.25),
            of: Some(4),
            alone: Box::new(GateFindings { further: vec![GateReason::NoBaseline], ..alone }),
        },
        GateReason::WaitsForScores,
    ]
}

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

#[test]
fn a_row_holds_what_was_found() {
    let own = OwnValue {
        value: Some(0.03),
        ends: Some((0.02, 0.04)),
        limit: 0.1,
        decides: text("interval"),
        verdict: text("pass"),
        findings: GateFindings::new(GateReason::LimitKept(ComparedPlace::of(Judged::Interval))),
    };
    let remarks = vec![
        GateRemark::AttributeFollows,
        GateRemark::TrainingsLeftOut,
        GateRemark::OtherOrder {
            groups: ["a", ""].map(text),
            value: 1.5,
            group: text("a"),
            side: LowerSide::Behind,
        },
        GateRemark::AuditedModel { of_set: false, of_change: true, own: Some(Box::new(own)) },
    ];
    let counted = GateCount::Subgroups {
        definition: text("equal-choice"),
        parameter: text("0.7"),
        view: text("macro"),
        score_at_least: None,
        min_affected: 20,
    };
    let all = each_reason();
    for reason in &all {
        let plain = GateFindings::new(reason.clone());
        let full = GateFindings {
            counted: Some(counted.clone()),
            further: all.clone(),
            remarks: remarks.clone(),
            ..plain.clone()
        };
        let mut objected = full.clone();
        all.iter().for_each(|objection| objected.object(objection.clone()));
        for findings in [plain, full, objected] {
            let row = row(&findings);
            assert_eq!(GateFindings::of_row(&row), Some(findings), "{}", row.reason_args.as_str());
        }
    }
    // What a reason that nobody knows may be says the codes, in the order of the type.
    let unknown = serde_json::from_str::<GateReason>(r#"{"code": ""}"#).unwrap_err().to_string();
    let codes: Vec<&str> = unknown.split('`').skip(3).step_by(2).collect();
    let mut covered: Vec<String> = all.iter().map(GateReason::code).collect();
    covered.dedup();
    assert_eq!(covered, codes, "a reason of each code, in the order of the alphabet");
    assert!(codes.is_sorted());
    let explained = |code: &str| [ISSUE, REASON].map(|kind| words_of(kind).any(|of| of.0 == code));
    assert!(codes.iter().all(|code| explained(code).into_iter().filter(|is| *is).count() == 1));
    assert!(words_of(REASON).all(|(code, _)| codes.contains(&code)));
    assert_eq!(GateFindings::of_row(&GateRow::default()), None, "a row without a reason");
}

/// A line for each reason, in the order of [`each_reason`].
#[test]
fn each_reason_has_its_words() {
    let of = |reason| GateFindings::new(reason).words();
    let found: Vec<String> = each_reason().into_iter().map(of).collect();
    assert_eq!(found, include_str!("words.txt").lines().collect::<Vec<_>>());
    for reason in each_reason() {
        let (words, plain) = (of(reason.clone()), GateFindings::new(reason.clone()).plain_words());
        let has_own =
            matches!(reason, GateReason::Undefined { .. } | GateReason::SmallGroup { .. });
        assert_eq!(plain != words, has_own, "{plain}");
    }
}

#[test]
fn words_follow_from_codes() {
    let of = |findings: GateFindings| {
        let row = row(&findings);
        [row.reason_code, row.reason_args, row.reason].map(|text| text.to_string())
    };
    let kept = GateReason::LimitKept(ComparedPlace::of(Judged::Interval));
    let objection = GateReason::UnmeasuredPeople {
        lacking: vec![(Lack::Group, 80), (Lack::Score, 1)],
        enough: 12,
        worst: ComparedPart::Interval,
        end: Some(0.25),
    };
    let mut findings = GateFindings::new(kept);
    findings.object(objection);
    assert_eq!(
        of(findings),
        [
            "unmeasured-people",
            concat!(
                r#"{"end":0.25,"enough":12,"lacking":[["group",80],["score",1]],"#,
                r#""rule":{"code":"limit-kept","judged":"interval"},"worst":"interval"}"#
            ),
            "the whole interval keeps the limit, but 80 people have no group, and 1 person has no \
             score; 12 of them would be enough to break the limit; at worst the end of the \
             interval would be 0.2500",
        ]
    );
    let undefined = |undefined: &str| {
        let undefined = undefined.to_owned();
        let found = GateFindings::new(GateReason::Undefined { undefined, of_change: false });
        [found.words(), found.plain_words()]
    };
    assert_eq!(
        undefined("empty_group"),
        [
            "the value is undefined: empty_group: No row of the group has the values that the \
             metric needs",
            "there is no value: no row of the group has the values that the metric needs",
        ]
    );
    assert_eq!(
        undefined("of_another_version"),
        ["the value is undefined: of_another_version", "there is no value: of_another_version"]
    );
    let small =
        GateReason::SmallGroup { flags: ["small_group", "small_denominator"].map(text).to_vec() };
    let small = GateFindings::new(small);
    assert_eq!(small.words(), "too few for a conclusion: small_group,small_denominator");
    assert_eq!(
        small.plain_words(),
        "too few for a conclusion: a group has too few people, too few people count in a rate"
    );
}
