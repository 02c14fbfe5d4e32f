//! Several comparisons of one gate, judged jointly by Holm's method.

use super::{asked, judge, nsr, question, rates};
use crate::gate::question::{GateLimit, GateQuestion, GateSubject};
use crate::metric::interval::z_of_level;
use crate::tests::Says;
use crate::tests::TextRow;

/// At most 5 %. 17 of 200 breaks it at 95 % (5.37 to 13.2) and at 97.5 % (5.03 to 14.0), not at
/// 98.33 % (4.86 to 14.5); 19 and 40 do at each of these.
#[test]
fn holm_judges_the_kth_clearest_at_its_level() {
    let mut q = question(GateSubject::AnyDirection, GateLimit::AtMost(0.05));
    q.holm = true;
    let verdicts = |q: &GateQuestion, counts: &[i64]| {
        let judged = judge(std::slice::from_ref(q), &rates(counts), None);
        judged
            .table
            .iter()
            .map(|r| (r.verdict.to_string(), r.reason.to_string()))
            .collect::<Vec<_>>()
    };
    let found = verdicts(&q, &[17, 40, 19]);
    let words: Vec<&str> = found.iter().map(|f| f.0.as_str()).collect();
    assert_eq!(words, ["fail", "fail", "fail"], "{found:?}");
    assert_eq!(found[1].1, "the whole interval breaks the limit at 98.33 % (Holm, 1 of 3)");
    assert_eq!(found[2].1, "the whole interval breaks the limit at 97.5 % (Holm, 2 of 3)");
    assert_eq!(found[0].1, "the whole interval breaks the limit at 95 % (Holm, 3 of 3)");
    // Each alone breaks the limit, together none does: the clearest does not at its level, so no
    // other can.
    let alike = [17, 17, 17];
    assert!(
        verdicts(&q, &alike).iter().all(|f| f.0 == "inconclusive"),
        "{:?}",
        verdicts(&q, &alike)
    );
    verdicts(&q, &alike)[2].1.says(&["but a clearer comparison does not"]);
    q.holm = false;
    assert!(verdicts(&q, &alike).iter().all(|f| f.0 == "fail"));
    // What cannot be judged is none of the family.
    q.holm = true;
    q.min_cases = 201;
    assert_eq!(verdicts(&q, &alike)[0].1, "200 cases, 201 are required");
}

/// The interval that the table shows is the one that judged; at the level of the job it is that of
/// the job, regardless of its method.
#[test]
fn holm_of_one_is_no_holm() {
    for interval in ["newcombe", "katz", "paired"] {
        let table = [nsr().with(&format!("denominator=, level=0.95, interval={interval}"))];
        let mut q = question(GateSubject::AnyDirection, GateLimit::AtMost(0.10));
        let plain = judge(std::slice::from_ref(&q), &table, None);
        q.holm = true;
        let holm = judge(std::slice::from_ref(&q), &table, None);
        for (a, b) in plain.table.iter().zip(holm.table.iter()) {
            assert_eq!(a.verdict.as_str(), b.verdict.as_str());
            assert!(
                [(a.lo, b.lo), (a.hi, b.hi)]
                    .iter()
                    .all(|(x, y)| (x.unwrap() - y.unwrap()).abs() < 1e-12),
                "{interval}"
            );
            assert_eq!(
                (a.rule.as_str(), b.rule.as_str()),
                ("at_most, interval", "at_most, interval, holm")
            );
        }
    }
}

/// Ends that are alike on the logarithm stay so at another level.
#[test]
fn holm_stretches_logarithms() {
    let mut table = rates(&[40, 40]);
    for row in &mut table {
        (row.interval, row.value) = ("log-student".into(), Some(2.0));
        (row.lo, row.hi) = (Some(2.0 / 1.5), Some(3.0));
    }
    let limit = GateLimit::AtMost(0.05);
    let q = GateQuestion { holm: true, ..question(GateSubject::AnyDirection, limit) };
    let judged = judge(&[q], &table, None).table;
    let factor = libm::pow(1.5, z_of_level(0.975) / z_of_level(0.95));
    let row = judged.first().unwrap();
    assert!((row.lo.unwrap() - 2.0 / factor).abs() < 1e-12, "{:?}", row.lo);
    assert!((row.hi.unwrap() - 2.0 * factor).abs() < 1e-12, "{:?}", row.hi);
}

/// Wilson's interval on people follows from their number at every level, as Wilson's own does: it
/// is not stretched.
#[test]
fn holm_knows_the_number_of_people() {
    for count in [0, 200] {
        let table = rates(&[count, count, 40]);
        let mut of_people = table.clone();
        of_people[..2].iter_mut().for_each(|row| row.interval = "wilson-people".into());
        // Between what the interval is at the level of the first comparison and what stretching
        // that of 95 % would give.
        for limit in [0.015, 0.025, 0.5, 0.975, 0.985]
            .map(GateLimit::AtMost)
            .into_iter()
            .chain([0.975, 0.985].map(GateLimit::AtLeast))
        {
            let q = GateQuestion { holm: true, ..question(GateSubject::AnyDirection, limit) };
            let [plain, found] = [&table, &of_people]
                .map(|table| judge(std::slice::from_ref(&q), table, None).table);
            for (a, b) in plain.iter().zip(found.iter()) {
                assert_eq!(
                    (a.verdict.as_str(), a.reason.as_str()),
                    (b.verdict.as_str(), b.reason.as_str())
                );
                assert!(
                    [(a.lo, b.lo), (a.hi, b.hi)]
                        .iter()
                        .all(|(x, y)| (x.unwrap() - y.unwrap()).abs() < 1e-9)
                );
            }
        }
    }
    // Distances of scores where nobody's moves: u, its root, and u to both sides.
    let ends = |name: &str, from: fn(f64) -> (f64, f64)| {
        let mut table = rates(&[0, 0, 0]);
        for row in &mut table {
            let ends = from(row.hi.expect("an end"));
            (row.metric, row.value, row.interval) = (name.into(), Some(0.0), "wilson-moved".into());
            (row.lo, row.hi) = (Some(ends.0), Some(ends.1));
        }
        let limit = GateLimit::AtMost(0.9);
        let q = GateQuestion { holm: true, ..asked(name, GateSubject::AnyDirection, limit) };
        let judged = judge(&[q], &table, None).table;
        let row = judged.first().unwrap();
        (row.lo.unwrap(), row.hi.unwrap())
    };
    let z = z_of_level(1.0 - 0.05 / 3.0);
    let u = z * z / (200.0 + z * z);
    for (name, from) in [
        ("macd", (|u| (0.0, u)) as fn(f64) -> (f64, f64)),
        ("rmscd", |u| (0.0, u.sqrt())),
        ("mcd", |u| (-u, u)),
    ] {
        let found = [ends(name, from).0, ends(name, from).1];
        let expected = [from(u).0, from(u).1];
        assert!(
            found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-9),
            "{name}: {found:?} instead of {expected:?}"
        );
    }
}
