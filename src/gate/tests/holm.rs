//! Several comparisons of one gate, judged jointly by Holm's method.

use super::*;

/// At most 5 %. 17 of 200 breaks it at 95 % (5.37 to 13.2) and at 97.5 % (5.03 to 14.0), not at
/// 98.33 % (4.86 to 14.5); 19 and 40 do at each of these.
#[test]
fn holm_judges_the_kth_clearest_at_its_level() {
    let mut q = asked_by(&question(GateSubject::AnyDirection), "<= 0.05, interval holm");
    check_rows(
        &q,
        by(&rates(&[17, 40, 19])),
        "fail | =the whole interval breaks the limit at 95 % (Holm, 3 of 3)
         fail | =the whole interval breaks the limit at 98.33 % (Holm, 1 of 3)
         fail | =the whole interval breaks the limit at 97.5 % (Holm, 2 of 3)",
    );
    // Each alone breaks the limit, together none does: the clearest does not at its level, so no
    // other can.
    let alike = rates(&[17; 3]);
    let open = "inconclusive\n inconclusive\n inconclusive | but a clearer comparison does not";
    check_rows(&q, by(&alike), open);
    q.holm = false;
    check_rows(&q, by(&alike), "fail\n fail\n fail");
    // What cannot be judged is none of the family.
    (q.holm, q.min_cases) = (true, 201);
    let few = "inconclusive | =200 cases, 201 are required";
    check_rows(&q, by(&alike), &[few; 3].join("\n"));
}

/// The ends of the rows of a gate, by Holm's method or not.
fn ends(q: &GateQuestion, metrics: &[MetricRow]) -> Vec<[f64; 2]> {
    let rows = judged(q, &by(metrics));
    rows.iter().map(|row| [row.lo, row.hi].map(Option::unwrap)).collect()
}

#[track_caller]
fn near(found: &[[f64; 2]], expected: &[[f64; 2]], by: f64) {
    let pairs = found.iter().flatten().zip(expected.iter().flatten());
    assert!(found.len() == expected.len(), "{found:?} {expected:?}");
    pairs.for_each(|(x, y)| assert!((x - y).abs() < by, "{found:?} instead of {expected:?}"));
}

/// The interval that the table shows is the one that judged; at the level of the job it is that of
/// the job, regardless of its method.
#[test]
fn holm_of_one_is_no_holm() {
    let [plain, holm] = ["<= 0.10", "<= 0.10, interval holm"]
        .map(|rule| asked_by(&question(GateSubject::AnyDirection), rule));
    for interval in ["newcombe", "katz", "paired"] {
        let table = [nsr().with(&format!("denominator=, level=0.95, interval={interval}"))];
        near(&ends(&plain, &table), &ends(&holm, &table), 1e-12);
        check_rows(&plain, by(&table), "verdict=inconclusive, rule=at_most, interval");
        check_rows(&holm, by(&table), "verdict=inconclusive, rule=at_most, interval, holm");
    }
}

/// Ends that are alike on the logarithm stay so at another level.
#[test]
fn holm_stretches_logarithms() {
    let cells = format!("interval=log-student, value=2.0, lo={}, hi=3.0", 2.0 / 1.5);
    let table: Vec<MetricRow> = rates(&[40, 40]).iter().map(|row| row.with(&cells)).collect();
    let q = asked_by(&question(GateSubject::AnyDirection), "<= 0.05, interval holm");
    let factor = libm::pow(1.5, z_of_level(0.975) / z_of_level(0.95));
    near(&ends(&q, &table)[..1], &[[2.0 / factor, 2.0 * factor]], 1e-12);
}

/// Wilson's interval on people follows from their number at every level, as Wilson's own does: it
/// is not stretched.
#[test]
fn holm_knows_the_number_of_people() {
    let q = question(GateSubject::AnyDirection);
    for count in [0, 200] {
        let table = rates(&[count, count, 40]);
        let mut of_people = table.clone();
        of_people[..2].iter_mut().for_each(|row| row.interval = "wilson-people".into());
        // Between what the interval is at the level of the first comparison and what stretching
        // that of 95 % would give.
        for rule in
            ["<= 0.015", "<= 0.025", "<= 0.5", "<= 0.975", "<= 0.985", ">= 0.975", ">= 0.985"]
        {
            let q = asked_by(&q, &format!("{rule}, interval holm"));
            near(&ends(&q, &table), &ends(&q, &of_people), 1e-9);
            let told = |table: &[MetricRow]| -> Vec<_> {
                let rows = judged(&q, &by(table)).into_iter();
                rows.map(|row| (row.verdict, row.reason)).collect()
            };
            assert_eq!(told(&table), told(&of_people));
        }
    }
    // Distances of scores where nobody's moves: u, its root, and u to both sides.
    let z = z_of_level(1.0 - 0.05 / 3.0);
    let u = z * z / (200.0 + z * z);
    for (name, from) in [
        ("macd", (|u| [0.0, u]) as fn(f64) -> [f64; 2]),
        ("rmscd", |u| [0.0, u.sqrt()]),
        ("mcd", |u| [-u, u]),
    ] {
        let mut table = rates(&[0; 3]);
        for row in &mut table {
            [row.lo, row.hi] = from(row.hi.expect("an end")).map(Some);
            *row = row.with(&format!("metric={name}, value=0, interval=wilson-moved"));
        }
        let q = asked_by(&asked(name, GateSubject::AnyDirection), "<= 0.9, interval holm");
        near(&ends(&q, &table)[..1], &[from(u)], 1e-9);
    }
    // Nobody's score moves in two of three: they are judged first below a limit with a sign too.
    let mut table = rates(&[0; 3]);
    for row in &mut table {
        let u = row.hi.expect("an end");
        [row.lo, row.hi] = [-u, u].map(Some);
        *row = row.with("metric=mcd, value=0, interval=wilson-moved");
    }
    table[2] = table[2].with("lo=-0.01, hi=0.01, interval=student");
    let q = asked_by(&asked("mcd", GateSubject::AnyDirection), ">= -0.05, interval holm");
    near(&ends(&q, &table)[..1], &[[-u, u]], 1e-9);
}
