//! Objections about models and arms: what leaves a gate inconclusive whatever its verdict.

use super::*;
use crate::folder::manifest::RecheckWords;
use crate::gate::reason::{CommonDecision, OneSidedSet, ThresholdsApart};
use crate::metric::value::sanity::InvertedOrder;
use crate::table::{
    ArmRow, CfQualityRow, GroupRow, IssueRow, KnowledgeFitRow, SupportRow, UnknownLevelRow,
};

/// What is objected to the model `m`, as an issue about a model.
fn objected(code: &str, model: &str) -> IssueRow {
    let name = "m".to_owned();
    let scored = RecheckWords { rows: 100, differ: 3, largest: 0.25 };
    let inverted = vec![InvertedOrder::Decisions([(1, 9), (5, 8)])];
    let objection = match code {
        "inverted-scores" => GateReason::InvertedScores { model: name, of_rows: false, inverted },
        "one-counterfactual-decision" => {
            let q = question(direction());
            let (counterfactual, sensitive) = (q.counterfactual, q.attributes[0].clone());
            let decision = CommonDecision::Negative;
            let set = OneSidedSet { counterfactual, sensitive, decision, n: 600, before: 403 };
            GateReason::OneCounterfactualDecision { model: name, sets: vec![set] }
        }
        "threshold-by-group" => {
            let pairs = vec![["Female", "Male"].map(str::to_owned)];
            let attributes = vec![ThresholdsApart { sensitive: "sex".to_owned(), pairs }];
            GateReason::ThresholdByGroup { model: name, attributes }
        }
        _ => GateReason::NotRepeatable { model: name, scored },
    };
    IssueRow { code: code.into(), ..objection.issue_about(model, 7) }
}

#[test]
fn an_issue_about_its_model_leaves_a_gate_inconclusive_unless_it_is_accepted() {
    let metrics = [nsr()];
    let of = |issues: &[IssueRow], q: &GateQuestion, lines: &str| {
        check(q, (tables!(issues, metrics), None), lines);
    };
    let text = "model `m` scored 100 rows twice, the second time in another order and without \
                the others, and 3 of the scores differ, by up to 0.25: they change from call to \
                call, depend on the other rows, or are not in the order of the rows";
    let twice = objected("not-repeatable", "m");
    assert!(twice.holds("code=not-repeatable, severity=warning, where=m, n=7"));
    assert_eq!(twice.text, text);
    let twice = [twice];
    let kept = question(direction());
    of(&[], &kept, "<= 0.3 | verdict=pass, reason_code=limit-kept");
    let open =
        format!("verdict=inconclusive, reason_code=not-repeatable | =not-repeatable: {text}");
    of(&twice, &kept, &format!("<= 0.3 | {open}\n<= 0.01 | {open}"));
    // Another model; an issue that is only told.
    of(&[objected("not-repeatable", "other")], &kept, "<= 0.3 | pass");
    of(&[IssueRow::warning("one-counterfactual-decision", "m", 7, "text")], &kept, "<= 0.3 | pass");
    let accepts = GateQuestion { accepts: vec!["not-repeatable".to_owned()], ..kept.clone() };
    of(&twice, &accepts, "<= 0.3 | pass");
    let inverted = "<= 0.3 | verdict=inconclusive, reason_code=inverted-scores";
    of(&[objected("inverted-scores", "m")], &accepts, inverted);
    // It withdraws a pass of its set and no fail.
    let one = [objected("one-counterfactual-decision", "m")];
    let withdrawn = "<= 0.3 | verdict=inconclusive, reason_code=one-counterfactual-decision";
    of(&one, &kept, &format!("{withdrawn}\n<= 0.01 | verdict=fail, reason_code=limit-broken"));
    let accepted =
        GateQuestion { accepts: vec!["one-counterfactual-decision".to_owned()], ..kept.clone() };
    of(&one, &accepted, "<= 0.3 | pass");
    // What the caller objects counts in the same way, and stands first.
    let waits = GateQuestion { objections: vec![GateReason::WaitsForScores], ..kept };
    let both = format!(
        "<= 0.3 | verdict=inconclusive, reason_code=waits-for-scores | =the run waits for scores, \
         and judges it when they have arrived; not-repeatable: {text}"
    );
    of(&twice, &waits, &both);
}

/// Only of counterfactuals of the attribute whose groups have other thresholds.
#[test]
fn thresholds_by_group_leave_gates_on_counterfactuals_of_the_attribute_open() {
    let issues = &[objected("threshold-by-group", "m")];
    let of = |q: &GateQuestion, row: MetricRow, line: &str| {
        let metrics = [row];
        check(q, (tables!(issues, metrics), None), line);
    };
    let kept = question(direction());
    let open = "verdict=inconclusive, reason_code=threshold-by-group";
    of(&kept, nsr(), &format!("<= 0.3 | {open}\n<= 0.01 | {open}"));
    let age = GateQuestion { attributes: vec!["age".to_owned()], ..kept.clone() };
    of(&age, nsr().with("sensitive=age"), "<= 0.3 | pass");
    let scope = GateSubject::Direction("Female".into(), "Other".into());
    of(&question(scope), nsr().with("to_group=Other"), "<= 0.3 | pass");
    let macd = nsr().with("metric=macd, denominator=");
    of(&asked("macd", direction()), macd, "<= 0.3 | pass");
    let factual = gap_near("pair", ["Male", "Female"], "demp_difference", 0.1);
    of(&asked("demp_difference", pair("Male", "Female")), factual, "<= 0.3 | pass");
}

/// A mean of 200 people, whom one of them outweighs.
#[test]
fn a_mean_that_few_people_by_weight_decide_is_not_passed() {
    let macd = nsr().with("metric=macd, value=0.02, lo=0.01, hi=0.04, denominator=");
    for (n_eff, held) in [
        ("1.02", "verdict=inconclusive, reason_code=too-few | as precise as that of 1 person"),
        ("120", "pass"),
    ] {
        let rate = nsr().with(&format!("metric=sr, n_eff={n_eff}"));
        let metrics = [macd.clone(), rate];
        check(&asked("macd", direction()), by(&metrics), &format!("<= 0.05 | {held}"));
    }
}

/// Distances and changes have no value of only the supported people.
#[test]
fn a_pass_is_withdrawn_where_many_are_unsupported_and_nothing_tells_of_the_others() {
    let macd = nsr().with("metric=macd, value=0.02, lo=0.01, hi=0.04, denominator=");
    let rate = nsr().with("metric=sr, denominator=200");
    let metrics = &[macd, rate.clone()];
    for (supported, held) in
        [(190, "verdict=inconclusive, reason_code=unsupported-people"), (191, "pass")]
    {
        let supported = &[rate.with(&format!("support=supported, denominator={supported}"))];
        let tables = tables!(metrics, supported);
        check(&asked("macd", direction()), (tables, None), &format!("<= 0.05 | {held}"));
    }
}

/// Where no switch rate is measured, the most frequent of these values tells it.
#[test]
fn unsupported_people_are_found_by_their_values_without_a_switch_rate() {
    let metrics = &[nsr().with("metric=macd, value=0.02, lo=0.01, hi=0.04, denominator=")];
    let groups = &GroupRow::of("model=m, sensitive=sex, n=100").each("group\nFemale\nMale");
    let pair = "counterfactual=flip, sensitive=sex, from_group=Female, to_group=Male";
    for (cells, held) in [
        ("rank=1, people=5", "verdict=inconclusive, reason_code=unsupported-people"),
        ("rank=1, people=4", "pass"),
        ("rank=2, people=5", "pass"),
        ("rank=1, people=5, from_group=Male, to_group=Female", "pass"),
    ] {
        let support = &[SupportRow::of(pair).with(cells)];
        let tables = tables!(metrics, groups, support);
        check(&asked("macd", direction()), (tables.clone(), None), &format!("<= 0.05 | {held}"));
        // What graphs are does not depend on the people of counterfactuals.
        let of_all = "metric=h_g, scope=total, from_group=, to_group=, model=";
        let metrics = &metrics.each_ref().map(|row| row.with(of_all));
        let q = GateQuestion { model: String::new(), ..asked("h_g", GateSubject::Total) };
        check(
            &q,
            (GateTables { metrics: metrics.to_vec(), ..tables }, None),
            "<= 0.05, estimate | pass",
        );
    }
}

/// Where the job does not say what decides, no range that the run measured may break the limit.
#[test]
fn a_pass_is_withdrawn_by_a_doubt_that_does_not_decide() {
    let kept = GateQuestion { asks_all_doubts: true, ..question(direction()) };
    for (cells, held) in [
        ("world_lo=0.1, world_hi=0.31", "verdict=inconclusive, reason_code=doubt-left-out"),
        ("world_lo=0.1, world_hi=0.29", "pass"),
        (
            "fit_lo=0.1, fit_hi=0.31, fit_repeats=20",
            "verdict=inconclusive, reason_code=doubt-left-out | the range over 20 fits, from 0.1000",
        ),
        (
            "training_lo=0.1, training_hi=0.31, training_repeats=5",
            "verdict=inconclusive, reason_code=doubt-left-out",
        ),
    ] {
        let metrics = [nsr().with(cells)];
        check(&kept, by(&metrics), &format!("<= 0.3 | {held}\n<= 0.01 | fail"));
        check(&question(direction()), by(&metrics), "<= 0.3 | pass");
    }
}

/// Of a pair in the other order all ranges turn.
#[test]
fn ranges_turn_with_their_difference() {
    let gap = gap_near("pair", ["Male", "Female"], "demp_difference", 0.1);
    let metrics = [gap.with("fit_lo=0.05, fit_hi=0.4, fit_repeats=20")];
    let q = asked("demp_difference", pair("Female", "Male"));
    let q = GateQuestion { asks_all_doubts: true, ..q };
    let open = "verdict=inconclusive, reason_code=doubt-left-out | from -0.4000 to -0.0500";
    check(&q, by(&metrics), &format!(">= -0.3 | {open}\n<= 0.3 | pass"));
}

/// By graphs that fit the rows worse than others nothing is kept.
#[test]
fn a_pass_by_knowledge_that_the_rows_contradict_is_withdrawn() {
    let metrics = [nsr().with("counterfactual=g/k")];
    let kept = GateQuestion { counterfactual: "g/k".into(), ..question(direction()) };
    let of = |cells: &str, q: &GateQuestion, line: &str| {
        let fit = "counterfactual=g, sensitive=sex, scenario=k, against=none, bootstraps=20";
        let knowledge_fit = &[KnowledgeFitRow::of(fit).with(cells)];
        let tables = tables!(knowledge_fit, metrics);
        check(q, (tables, None), &format!("<= 0.3 | {line}"));
    };
    let open = "verdict=inconclusive, reason_code=contradicted-knowledge";
    of("worse_in=19", &kept, open);
    for cells in ["worse_in=18", "worse_in=20, scenario=none", "worse_in=20, counterfactual=other"]
    {
        of(cells, &kept, "pass");
    }
    let accepts = GateQuestion { accepts: vec!["contradicted-knowledge".to_owned()], ..kept };
    of("worse_in=20", &accepts, "pass");
}

/// One in twenty counterfactuals keeps a feature of which too few reference rows know how it differs.
#[test]
fn a_pass_is_withdrawn_where_features_of_many_could_not_move() {
    let metrics = [nsr()];
    let kept = question(direction());
    let of = |cells: &str, q: &GateQuestion, line: &str| {
        let pair = "counterfactual=flip, sensitive=sex, from_group=Female, to_group=Male";
        let quality = &[CfQualityRow::of(pair).with(cells)];
        check(q, (tables!(quality, metrics), None), line);
    };
    let open = "<= 0.3 | verdict=inconclusive, reason_code=unmoved-features | `flip` could not \
                move 0.0500 features";
    of("metric=kept_mean, value=0.05", &kept, open);
    of("metric=kept_mean, value=0.05", &kept, "<= 0.01 | fail");
    let others = ["value=0.049", "value=2, to_group=x", "value=2, counterfactual=other"];
    for cells in others.map(|cells| format!("metric=kept_mean, {cells}")) {
        of(&cells, &kept, "<= 0.3 | pass");
    }
    of("metric=fallback_mean, value=2", &kept, "<= 0.3 | pass");
    let open = "<= 0.3 | verdict=inconclusive, reason_code=unmoved-features | a share of 0.0500 of \
                the counterfactuals of `flip`";
    of("metric=unknown_share, value=0.05", &kept, open);
    of("metric=unknown_share, value=0.049", &kept, "<= 0.3 | pass");
    let accepts = GateQuestion { accepts: vec!["unmoved-features".to_owned()], ..kept };
    of("metric=kept_mean, value=2", &accepts, "<= 0.3 | pass");
}

/// One in twenty people of a group that a gate asks about.
#[test]
fn levels_that_its_model_does_not_know_leave_a_gate_inconclusive() {
    let metrics = [nsr()];
    let kept = question(direction());
    let unknown =
        UnknownLevelRow::of("model=m, sensitive=sex, group=Female, people=50, audited=100");
    let of = |cells: &str, q: &GateQuestion, line: &str| {
        let unknown = &[unknown.with(cells)];
        check(q, (tables!(unknown, metrics), None), &format!("<= 0.3 | {line}"));
    };
    let open = "verdict=inconclusive, reason_code=unknown-levels | 5 of 100 people of";
    of("people=5", &kept, open);
    // Too few; another group; any column counts; another model.
    for cells in ["people=4", "group=nobody", "column=region", "model=other"] {
        of(cells, &kept, "pass");
    }
    of("", &GateQuestion { accepts: vec!["unknown-levels".to_owned()], ..kept }, "pass");
}

/// An arm that added nothing is the model before: that it keeps a limit says nothing of adding.
#[test]
fn an_arm_without_rows_is_not_passed() {
    let of = |name: &str, lines: &str, line: &str| {
        let arms = &ArmRow::of("n_rows=300").each(&format!("arm | n_synthetic\n{lines}"));
        let q = GateQuestion { arm: name.to_owned(), ..question(direction()) };
        let metrics = &[nsr().with(&format!("arm={name}"))];
        let tables = tables!(arms, metrics);
        check(&q, (tables, None), &format!("<= 0.3 | {line}"));
    };
    let arms = "more/base | 0\n more/adasyn | 0\n more/adasyn | 0";
    let open = "verdict=inconclusive, reason_code=nothing-looked-at | nothing was looked at: the \
                arm `adasyn` added no rows";
    of("more/adasyn", arms, open);
    // It is to add nothing.
    of("more/base", arms, "pass");
    // One fold.
    of("more/adasyn", "more/adasyn | 0\n more/adasyn | 3", "pass");
}
