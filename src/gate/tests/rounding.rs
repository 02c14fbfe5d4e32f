//! Switches of rounding behind gates on a value, on a change and on several comparisons.

use super::*;
use crate::gate::question::GateObservation;
use crate::gate::rounding::JointExtremes;
use crate::gate::{holm, rounded_switches};
use crate::num::seed::RandomStream;

/// Of `n` people of a group who were granted it `switches` lose it as men, so many of them between
/// two scores that agree to single precision.
fn counts(from: &str, [n, switches, rounded]: [i64; 3]) -> [CountRow; 2] {
    let cell = |predicted_cf: &str, n, rounded| {
        CountRow::of(&format!(
            "model=m, counterfactual=flip, sensitive=sex, scope=direction, from_group={from}, \
             to_group=Male, predicted=1, predicted_cf={predicted_cf}, n={n}, n_rounded={rounded}"
        ))
    };
    [cell("0", switches, rounded), cell("1", n - switches, 0)]
}

/// 16 of 122 women lose it as men. Where all 16 have two scores that agree to single precision, no
/// limit is broken by them; where one has, the others break it.
#[test]
fn switches_of_rounding_alone_decide_nothing() {
    let of = |metric: &str, rounded, weight: Option<f64>, lines: &str| {
        let mut counts = counts("Female", [122, 16, rounded]);
        for row in &mut counts {
            row.weight = weight.map(|weight| weight * row.n as f64);
            row.weight_rounded = weight.map(|weight| weight * row.n_rounded.unwrap() as f64);
        }
        let metrics = &[nsr().with(&format!("metric={metric}, value={}", 16.0 / 122.0))];
        let tables = tables!(metrics, counts);
        check(&asked(metric, direction()), (tables, None), lines);
    };
    let words = "limit, but 16 of the 16 switches behind the value are between two scores that \
                 agree to single precision and stand on the two sides of the threshold; without \
                 them the value would be 0.0000";
    for metric in ["nsr", HARM[1]] {
        for weight in [None, Some(0.25)] {
            // A limit that is kept with them is kept without them.
            let lines = format!("<= 0.05 | inconclusive | {words}\n<= 0.3 | pass");
            of(metric, 16, weight, &lines);
            of(metric, 1, weight, "<= 0.05 | fail");
            of(metric, 0, weight, "<= 0.05 | fail");
        }
    }
    of("pcr", 16, None, ">= 0.0 | pass");
}

/// 40 of 100 women over 20 of 100 men is 2. Where 20 of the 40 are of rounding it would be 1, and
/// where all switches of men are, there would be no value.
#[test]
fn a_ratio_of_directions_is_judged_without_switches_of_rounding() {
    let ratio = gap("difference", ["Female", "Male"], "nsr_ratio", [2.0, 1.27, 3.15]);
    let metrics = &[ratio.with("counterfactual=flip")];
    let asked = asked("nsr_ratio", pair("Female", "Male"));
    let q = GateQuestion { counterfactual: "flip".into(), ..asked };
    for ([women, men], line) in [
        ([0, 0], "fail"),
        ([20, 0], "inconclusive | without them the value would be 1.0000"),
        // Both halve.
        ([20, 10], "fail"),
        ([0, 20], "inconclusive | there would be no value"),
    ] {
        let of_men = counts("Male", [100, 20, men]).map(|row| row.with("to_group=Female"));
        let counts = &[counts("Female", [100, 40, women]), of_men].concat();
        let tables = tables!(metrics, counts);
        check(&q, (tables, None), &format!("<= 1.25 | {line}"));
    }
}

/// 20 of 100 women in both runs. Where the 20 of the baseline are of rounding, the rate rose by
/// 0.2; where those of both runs are, it did not change.
#[test]
fn switches_of_rounding_of_the_baseline_count_in_a_change() {
    let frame = [change("old_value=0.2, difference=0, lo=-0.02, hi=0.02")];
    let rise = "limit, but 20 of the 20 switches behind the two values of the change .. without \
                them the change would be 0.2000: ";
    for ([old, new], lines) in [
        ([0, 0], "<= 0.05 | pass".to_owned()),
        ([20, 0], format!("<= 0.05 | inconclusive | {rise}\n>= -0.05 | pass")),
        ([0, 20], ">= -0.05 | inconclusive | the change would be -0.2000: ".to_owned()),
        // What both runs have alike changes nothing.
        ([20, 20], "<= 0.05 | pass".to_owned()),
        ([2, 0], "<= 0.05 | pass".to_owned()),
    ] {
        let old = rounded_switches(&counts("Female", [100, 20, old]));
        let baseline = GateBaseline { rounded: &old, ..baseline_of(&frame, "") };
        let counts = &counts("Female", [100, 20, new]);
        let tables = tables!(counts);
        check(&against(direction()), (tables, Some(&baseline)), &lines);
    }
}

/// At most 5 %. 40 and 17 of 200 break it at the levels of Holm's method for the first and the
/// second of three. If the 40 are of rounding, the 17 come first, and at that level do not.
#[test]
fn joint_verdicts_are_judged_jointly_without_switches_of_rounding() {
    let q = asked_by(&question(GateSubject::AnyDirection), "<= 0.05, interval holm");
    let metrics = &rates(&[17, 40, 0]);
    let of = |rounded: i64, lines: &str| {
        let counts = [("g0", [200, 17, 0]), ("g1", [200, 40, rounded]), ("g2", [200, 0, 0])];
        let counts = &counts.map(|(from, of)| self::counts(from, of)).concat();
        let tables = tables!(metrics, counts);
        check_rows(&q, (tables, None), lines);
    };
    of(0, "fail\n fail\n pass");
    of(5, "fail\n fail\n pass");
    let holm = "Holm's method would decide otherwise";
    let other = "limit at 97.5 % (Holm, 2 of 3), but 40 of the 40 switches behind other \
                 comparisons of the gate .. without them";
    let own = "without them the value would be 0.0000, and";
    of(40, &format!("inconclusive | {other} {holm}: \n inconclusive | {own} {holm}\n pass"));
}

/// A rate of so many of 200 people with its interval.
fn rate_of(from: usize, numerator: u64) -> GateObservation {
    let row = rates(&[numerator as i64]).remove(0);
    row.with(&format!("from_group=g{from}")).into()
}

/// Every mixture of what up to six comparisons may be: a verdict holds in all of them exactly
/// where it holds in its least favourable corner.
#[test]
fn corners_of_joint_verdicts_are_the_least_favourable() {
    let mut stream = RandomStream::new(8, "corners of joint verdicts");
    let mut below = |n: usize| ((stream.u01() * n as f64) as usize).min(n - 1);
    let (mut kept, mut lost, mut mixed) = (0, 0, 0);
    for trial in 0..240 {
        let m = 2 + below(5);
        let limit = if trial % 2 == 0 { GateLimit::AtMost(0.1) } else { GateLimit::AtLeast(0.1) };
        let question = GateQuestion { limit, holm: true, ..question(GateSubject::AnyDirection) };
        let number = |below: &mut dyn FnMut(usize) -> usize| 2 + below(38) as u64;
        let seen: Vec<_> = (0..m).map(|i| rate_of(i, number(&mut below))).collect();
        let moved: Vec<Vec<GateObservation>> = (0..m)
            .map(|i| match below(3) {
                0 => Vec::new(),
                _ => {
                    let own = seen[i].row.numerator.unwrap() as usize;
                    let near = |shift: usize| (own + shift).saturating_sub(8) as u64;
                    vec![rate_of(i, near(below(17))), rate_of(i, near(below(17)))]
                }
            })
            .collect();
        let verdicts = |all: Vec<GateObservation>| -> Vec<GateStatus> {
            let rulings = holm::decide_jointly(&question, &all);
            rulings.into_iter().map(|ruling| ruling.verdict()).collect()
        };
        let ways: Vec<Vec<&GateObservation>> = seen
            .iter()
            .zip(&moved)
            .map(|(seen, moved)| std::iter::once(seen).chain(moved).collect())
            .collect();
        let mut corners: Vec<Vec<GateStatus>> = Vec::new();
        for number in 0..3_usize.pow(m as u32) {
            let digit = |i: usize| number / 3_usize.pow(i as u32) % 3;
            if (0..m).all(|i| digit(i) < ways[i].len()) {
                corners.push(verdicts((0..m).map(|i| ways[i][digit(i)].clone()).collect()));
            }
        }
        let joint = JointExtremes::new(&question, &seen, &moved);
        let ends = [&joint.least, &joint.most].map(|corner| verdicts(corner.clone()));
        for (i, verdict) in verdicts(seen.clone()).into_iter().enumerate() {
            if !matches!(verdict, GateStatus::Pass | GateStatus::Fail) {
                continue;
            }
            let holds = corners.iter().all(|corner| corner[i] == verdict);
            let found = joint.least_favourable(&question, i, verdict).verdict();
            assert_eq!(found == verdict, holds, "{trial}: {i} of {m}, {verdict:?}");
            kept += u32::from(holds);
            lost += u32::from(!holds);
            // Neither all low nor all high shows it.
            mixed += u32::from(!holds && ends.iter().all(|end| end[i] == verdict));
        }
    }
    assert!(kept > 50 && lost > 50 && mixed > 0, "{kept} {lost} {mixed}");
}
