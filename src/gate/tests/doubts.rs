//! Gates that are decided over causal graphs, over fits and trainings, or over all doubts.

use super::{asked, direction, judge, nsr, question};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{GateLimit, GateQuestion, GateSubject};
use crate::gate::reason::GateStatus;
use crate::table::MetricRow;
use crate::tests::Says;
use crate::tests::TextRow;

/// The interval across graphs keeps a limit that the interval of people does not; of a single graph
/// there is none.
#[test]
fn graphs_decide_where_the_gate_asks_them() {
    let mut frame = [nsr()];
    let asked = |limit: f64, decide_by| GateQuestion {
        decide_by,
        ..question(direction(), GateLimit::AtMost(limit))
    };
    let verdict = |frame: &[MetricRow], limit, decide_by| {
        judge(&[asked(limit, decide_by)], frame, None).verdict()
    };
    assert_eq!(verdict(&frame, 0.15, GateDecideBy::Worlds), Some(GateStatus::Inconclusive));
    frame[0] = frame[0].with("world_lo=0.12, world_hi=0.14");
    assert_eq!(verdict(&frame, 0.15, GateDecideBy::Interval), Some(GateStatus::Inconclusive));
    assert_eq!(verdict(&frame, 0.15, GateDecideBy::Worlds), Some(GateStatus::Pass));
    assert_eq!(verdict(&frame, 0.13, GateDecideBy::Worlds), Some(GateStatus::Inconclusive));
    assert_eq!(verdict(&frame, 0.11, GateDecideBy::Worlds), Some(GateStatus::Fail));
    let table = judge(&[asked(0.15, GateDecideBy::Worlds)], &frame, None).table;
    assert!(
        table.iter().all(|row| row.reason.as_str()
            == "the whole interval over graphs and refits keeps the limit"),
        "{:?}",
        table
    );
}

/// The line of a gate that the interval over graphs decides has the level of that interval, says
/// that few bootstraps are few, and that the mean lies outside of it.
#[test]
fn the_line_of_a_gate_on_graphs_says_how_much_its_interval_is_worth() {
    let frame = [nsr().with("level=0.9, world_level=0.95")];
    let reason = |frame: &[MetricRow], bootstraps, decide_by| {
        let asked = GateQuestion {
            bootstraps: Some(bootstraps),
            decide_by,
            ..question(direction(), GateLimit::AtMost(0.15))
        };
        let table = judge(&[asked], frame, None).table;
        table.first().map(|row| row.reason.to_string()).expect("one row")
    };
    let mut frame = frame.map(|row| row.with("world_lo=0.12, world_hi=0.14"));
    let plain = "the whole 95 % interval over graphs and refits keeps the limit";
    assert_eq!([40, 100].map(|n| reason(&frame, n, GateDecideBy::Worlds)), [plain; 2]);
    let few = "; it is based on 10 bootstraps, fewer than 40, so another seed may change its ends \
               greatly";
    assert_eq!(reason(&frame, 10, GateDecideBy::Worlds), format!("{plain}{few}"));
    // One bootstrap, or none, has refitted nothing: there is no such interval.
    for n in [0, 1] {
        assert_eq!(
            reason(&frame, n, GateDecideBy::Worlds),
            "no refit of the coefficients was measured: add `bootstraps` to the set; 100 is usual"
        );
    }
    assert_eq!(reason(&frame, 10, GateDecideBy::Interval), "the limit lies inside the interval");
    // The value is 0.131.
    frame[0] = frame[0].with("world_lo=0, world_hi=0");
    let outside = "; the mean over graphs lies outside it, because a few graphs differ greatly \
                   from the others";
    assert_eq!(reason(&frame, 100, GateDecideBy::Worlds), format!("{plain}{outside}"));
}

/// Fits decide where the gate asks them, and every doubt together only where each of them does.
#[test]
fn fits_and_all_doubts_decide_where_the_gate_asks_them() {
    let mut frame = [nsr()];
    let ruled = |frame: &[MetricRow], limit: f64, decide_by| {
        let asked = GateQuestion { decide_by, ..question(direction(), GateLimit::AtMost(limit)) };
        let judged = judge(&[asked], frame, None);
        let row = judged.table.first().expect("one row");
        (judged.verdict().unwrap(), row.reason.to_string(), row.lo.zip(row.hi), row.clone())
    };
    let (verdict, reason, ..) = ruled(&frame, 0.15, GateDecideBy::Fit);
    assert_eq!(verdict, GateStatus::Inconclusive);
    reason.says(&["add `doubt: {fit: 20}` to it"]);
    // People: 0.082 to 0.202.
    (frame[0].fit_lo, frame[0].fit_hi, frame[0].fit_repeats) = (Some(0.12), Some(0.25), Some(20));
    let few = "; it is based on 20 fits, fewer than 40, so another seed may change its ends";
    let (verdict, reason, ends, row) = ruled(&frame, 0.1, GateDecideBy::Fit);
    assert_eq!((verdict, ends), (GateStatus::Fail, Some((0.12, 0.25))));
    assert_eq!(reason, format!("the whole range over 20 fits breaks the limit{few}"));
    assert_eq!(row.rule.as_str(), "at_most, fit");
    assert_eq!(row.needed_how.as_str(), "by_fit");
    let of_all = |limit| ruled(&frame, limit, GateDecideBy::All);
    let (verdict, reason, ends, row) = of_all(0.1);
    assert_eq!((verdict, ends), (GateStatus::Inconclusive, Some((0.082, 0.25))));
    let inside = "the limit lies inside the range over people and 20 fits";
    assert_eq!(reason, format!("{inside}{few}"));
    assert_eq!((row.rule.as_str(), row.level.as_str()), ("at_most, all", "fail"));
    assert_eq!(row.needed_how.as_str(), "by_all");
    assert_eq!(
        [0.22, 0.25, 0.08].map(|limit| of_all(limit).0),
        [GateStatus::Inconclusive, GateStatus::Pass, GateStatus::Fail]
    );
    // Many fits need no caution; a doubt without ends decides nothing.
    frame[0].fit_repeats = Some(40);
    let plain = "the whole range over people and 40 fits keeps the limit";
    assert_eq!(ruled(&frame, 0.25, GateDecideBy::All).1, plain);
    frame[0].fit_lo = None;
    let (verdict, reason, ..) = ruled(&frame, 0.25, GateDecideBy::All);
    assert_eq!(verdict, GateStatus::Inconclusive);
    reason.says(&["none over 40 fits: fewer than 95 % of the repeats"]);
    // Trainings decide alone, and are one of all doubts.
    (frame[0].fit_lo, frame[0].training_repeats) = (Some(0.12), Some(5));
    (frame[0].training_lo, frame[0].training_hi) = (Some(0.05), Some(0.14));
    let (verdict, reason, ..) = ruled(&frame, 0.14, GateDecideBy::Training);
    assert_eq!(verdict, GateStatus::Pass);
    assert!(reason.starts_with("the whole range over 5 trainings keeps the limit; it is based on"));
    let (verdict, reason, ends, _) = ruled(&frame, 0.25, GateDecideBy::All);
    assert_eq!((verdict, ends), (GateStatus::Pass, Some((0.05, 0.25))));
    assert!(reason.starts_with("the whole range over people, 40 fits and 5 trainings keeps"));
    // The value, 0.131, need not lie in the range: on the other side of the limit it decides
    // nothing.
    (frame[0].training_hi, frame[0].fit_repeats) = (Some(0.125), Some(20));
    let (verdict, reason, ..) = ruled(&frame, 0.13, GateDecideBy::Training);
    assert_eq!(verdict, GateStatus::Inconclusive);
    let both = "the whole range over 5 trainings keeps the limit, but the value itself breaks it";
    assert!(reason.starts_with(both), "{reason}");
    let (_, reason, ..) = ruled(&frame, 0.13, GateDecideBy::All);
    reason.says(&["it is based on 20 fits and 5 trainings, fewer than 40"]);
    frame[0].training_repeats = None;
    // Graphs are a doubt of the set, too.
    frame[0].fit_repeats = None;
    (frame[0].n_worlds, frame[0].world_lo, frame[0].world_hi) = (Some(9), Some(0.1), Some(0.3));
    let (verdict, reason, ends, _) = ruled(&frame, 0.3, GateDecideBy::All);
    assert_eq!((verdict, ends), (GateStatus::Pass, Some((0.082, 0.3))));
    assert!(reason.starts_with("the whole range over people and graphs and refits"), "{reason}");
}

/// An interval over graphs in which nothing was refitted passes nothing, and breaks nothing.
#[test]
fn graphs_that_were_fitted_once_decide_nothing() {
    let frame = [nsr().with("world_lo=0.12, world_hi=0.14")];
    let verdict = |limit: f64, bootstraps: u64| {
        let asked = GateQuestion {
            bootstraps: Some(bootstraps),
            decide_by: GateDecideBy::Worlds,
            ..question(direction(), GateLimit::AtMost(limit))
        };
        let judged = judge(&[asked], &frame, None);
        let row = judged.table.first().expect("one row");
        assert_eq!(row.lo.is_some() && row.hi.is_some(), bootstraps > 1);
        judged.verdict()
    };
    let verdicts = [GateStatus::Pass, GateStatus::Fail].map(Some);
    assert_eq!([0.15, 0.1].map(|limit| verdict(limit, 2)), verdicts);
    for n in [0, 1] {
        let none = [Some(GateStatus::Inconclusive); 2];
        assert_eq!([0.15, 0.1].map(|limit| verdict(limit, n)), none);
    }
}

/// A gate on the graphs themselves says that few bootstraps are few, too.
#[test]
fn a_gate_on_graphs_themselves_says_what_it_rests_on() {
    let reason = |metric: &str, bootstraps: Option<u64>| {
        let q = GateQuestion {
            bootstraps,
            decide_by: GateDecideBy::Estimate,
            ..asked(metric, GateSubject::Total, GateLimit::AtMost(0.5))
        };
        let graphs = "scope=total, from_group=, to_group=, value=0.2, lo=, hi=, denominator=";
        let row = nsr().with(&format!("metric={metric}, {graphs}"));
        let table = judge(&[q], &[row], None).table;
        table.first().map(|row| row.reason.to_string()).expect("one row")
    };
    let plain = "the value keeps the limit";
    assert_eq!(reason("h_ga", Some(40)), plain);
    for metric in ["h_g", "h_ga", "n_graphs"] {
        let few =
            "; it is based on 39 bootstraps, fewer than 40, so another seed may change it greatly";
        assert_eq!(reason(metric, Some(39)), format!("{plain}{few}"));
    }
    let one = "; it is based on 1 bootstrap, fewer than 40, so another seed may change it greatly";
    assert_eq!(reason("h_ga", Some(1)), format!("{plain}{one}"));
    reason("h_ga", Some(0)).says(&["it is based on the training rows without"]);
    // An estimate of a rate is not one of graphs.
    assert_eq!([reason("nsr", Some(3)), reason("nsr", None)], [plain, plain]);
}

/// The line of a gate says that the graphs of its set may contradict domain knowledge, regardless
/// of the verdict.
#[test]
fn a_gate_says_that_the_attribute_follows_from_other_variables() {
    let reasons = |flags: &str, limit: f64| -> Vec<String> {
        let back = nsr().with("from_group=Male, to_group=Female");
        let frame = [nsr().with(&format!("flags={flags}")), back];
        let asked = question(GateSubject::AnyDirection, GateLimit::AtMost(limit));
        let table = judge(&[asked], &frame, None).table;
        table.iter().map(|row| row.reason.to_string()).collect()
    };
    let told = "; in the graphs of the set the attribute is an effect of other variables, which \
                may contradict domain knowledge";
    for (limit, plain) in [
        (0.3, "the whole interval keeps the limit"),
        (0.01, "the whole interval breaks the limit"),
        (0.1, "the limit lies inside the interval"),
    ] {
        let flagged = reasons("sampled,attribute_follows", limit);
        assert_eq!(flagged, [format!("{plain}{told}"), plain.to_owned()]);
        assert_eq!(reasons("sampled", limit), [plain; 2]);
    }
}
