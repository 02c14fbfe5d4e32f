//! Gates on people about whom the tables lack something: a group, a score, a counterfactual, or any
//! change that a scorer was shown.

use super::*;
use crate::gate::add_old_extremes;
use crate::gate::reason::UnshownChange;
use crate::metric::interval::newcombe;
use crate::table::{GroupRow, PopulationRow};

/// Counterfactuals that look like their rows test nothing, unless the model knows better.
#[test]
fn what_no_row_shows_is_not_passed() {
    let total = |metric: &str, value: f64| {
        gap("total", ["", ""], metric, [value; 3]).with("counterfactual=flip, denominator=500")
    };
    let of = |unshown: &[&str], values: &[MetricRow], line: &str| {
        let mut q = question(GateSubject::Total);
        let all = unshown.iter().map(|&name| (name.to_owned(), None));
        let all = all.map(|(attribute, direction)| UnshownChange { attribute, direction });
        q.unshown = all.collect();
        check(&q, by(values), &format!("<= 0.1 | {line}"));
    };
    let still = [total("nsr", 0.0), total("sr", 0.0)];
    of(&[], &still, "pass");
    of(&["sex"], &still, "inconclusive | no row that was scored shows `sex`");
    // Another attribute; the model reads `to_group`; scores moved, and no decision with them.
    of(&["age"], &still, "pass");
    of(&["sex"], &[total("nsr", 0.0), total("sr", 0.02)], "pass");
    let [nsr, sr] = still;
    of(&["sex"], &[nsr, sr, total("rmscd", 0.03)], "pass");
}

/// A group without a value has no part in the furthest two, so that these keep a limit says nothing
/// of it.
#[test]
fn the_furthest_groups_do_not_pass_for_a_group_without_a_value() {
    let of = |scope, groups| gap_near(scope, groups, "tpr_difference", 0.03);
    let without = "value=, lo=, hi=, undefined=empty_group";
    let mut table = [
        of("worst_case", ["", ""]),
        of("pair", ["A", "B"]),
        of("pair", ["A", "C"]).with(without),
        of("pair", ["B", "C"]).with(without),
    ];
    let q = asked("tpr_difference", GateSubject::WorstCase);
    check(&q, by(&table), "<= 0.1 | pass");
    table[0].groups_undefined = Some(1);
    // What was seen breaks the lower limit.
    check(
        &q,
        by(&table),
        "<= 0.1 | inconclusive | 1 group has no value and was not measured: `C`
         <= 0.01, estimate | fail",
    );
}

/// Rows of the table of counts of `sex`: scope, group, label, prediction, people.
fn counts(lines: &str) -> Vec<CountRow> {
    CountRow::of("model=m, sensitive=sex")
        .each(&format!("scope|from_group|label|predicted|n\n{lines}"))
}

/// The table of counts alone.
fn by_counts(counts: &[CountRow]) -> GateTables {
    tables!(counts)
}

/// A value with the interval that its counts give.
fn measured(place: [&str; 3], metric: &str, value: f64, (lo, hi): (f64, f64)) -> MetricRow {
    let [scope, from, to] = place;
    let set = if scope == "pair" { "" } else { "flip" };
    gap(scope, [from, to], metric, [value, lo, hi])
        .with(&format!("counterfactual={set}, level=0.95"))
}

/// A value with the people behind it.
fn of_people(
    row: &MetricRow,
    counts: &[CountRow],
    population: &[PopulationRow],
) -> TablesBy<'static> {
    let metrics = [row.clone()];
    (tables!(metrics, population, counts), None)
}

fn shares(a: [u64; 2], b: [u64; 2]) -> (f64, (f64, f64)) {
    let rate = |[numerator, denominator]: [u64; 2]| Rate {
        numerator,
        denominator,
        empty: Undefined::EmptyGroup,
    };
    let ends = newcombe(rate(a), rate(b), z_of_level(0.95)).unwrap();
    (rate(a).value().unwrap() - rate(b).value().unwrap(), (ends.lo, ends.hi))
}

/// 150 of 300 women and 140 of 300 men are granted; ten granted people and six others have no
/// group.
#[test]
fn people_without_a_group_may_belong_to_any() {
    let table = counts(
        "group    | Female | | 1 | 150
         group    | Female | | 0 | 150
         group    | Male   | | 1 | 140
         group    | Male   | | 0 | 160
         no_group |        | | 1 | 10
         no_group |        | | 0 | 6",
    );
    let (value, ends) = shares([150, 300], [140, 300]);
    let mut row = measured(["pair", "Female", "Male"], "demp_difference", value, ends);
    row.family = "group".into();
    let q = asked("demp_difference", pair("Female", "Male"));
    // All ten women, all six men: 160 of 310 and 140 of 306. Fewer are enough where the limit is
    // near: those without a grant among the men move it most.
    let (by_value, (_, worst)) = shares([160, 310], [140, 306]);
    check(
        &q,
        of_people(&row, &table, &[]),
        &format!(
            "<= {} | pass
             <= {} | inconclusive | , but 16 people have no group; all 16 of them would be
             <= {} | inconclusive | ; 1 of them would be enough to break the limit
             <= {}, estimate | pass
             <= {}, estimate | inconclusive",
            worst + 1e-9,
            worst - 1e-9,
            ends.1 + 1e-6,
            by_value + 1e-9,
            by_value - 1e-9
        ),
    );
}

/// Of 100 women 60 are refused; 40 of these have a counterfactual, none switches, 5 more women have
/// no score, and 4 refused people no group.
#[test]
fn people_without_a_score_or_counterfactual_may_be_harmed() {
    let mut table = counts(
        "group    | Female | | 0 | 60
         group    | Female | | 1 | 40
         group    | Female | |   | 5
         group    | Male   | | 0 | 10
         no_group |        | | 0 | 4",
    );
    let forth = "model=m, sensitive=sex, counterfactual=flip, scope=direction, from_group=Female, \
                 to_group=Male, n=40";
    table.extend(CountRow::of(forth).each("predicted|predicted_cf\n0|0\n1|1"));
    let mut row = measured(["direction", "Female", "Male"], "psr", 0.0, (0.0, 0.0));
    let rate =
        |numerator, denominator| Rate { numerator, denominator, empty: Undefined::EmptyGroup };
    let ends = |n, of| wilson(rate(n, of), z_of_level(0.95)).unwrap();
    row.hi = Some(ends(0, 40).hi);
    row.denominator = Some(40);
    let q = asked("psr", direction());
    // 20 without a counterfactual, 5 without a score, 4 without a group: 29 of 69.
    let worst = ends(29, 69).hi;
    let words = "4 people have no group, and 5 people have no score, and 20 people have no valid \
                 counterfactual with a score; all 29 of them";
    let (pass, open) = (worst + 1e-9, worst - 1e-9);
    let lines = format!("<= {pass} | pass\n<= {open} | inconclusive | {words}");
    check(&q, of_people(&row, &table, &[]), &lines);
    // A weight counts as it is.
    table.iter_mut().for_each(|row| row.weight = Some(2.0 * row.n as f64));
    table[4].weight = Some(200.0);
    row.n_eff = Some(40.0);
    check(&q, of_people(&row, &table, &[]), &format!("<= {pass} | inconclusive"));
}

/// Of 200 refused women 180 have one or two counterfactuals, 240 in all, and 20 have ten without a
/// score: more than two for each of these, as the mean says.
#[test]
fn people_with_many_counterfactuals_are_not_as_the_mean() {
    let mut table = counts(
        "group | Female | | 0 | 200
         group | Male   | | 0 | 10",
    );
    let forth = "model=m, sensitive=sex, counterfactual=flip, scope=direction, from_group=Female, \
                 to_group=Male, predicted=0, predicted_cf=0, n=240";
    table.push(CountRow::of(forth));
    let ends = |n, of| {
        let rate = Rate { numerator: n, denominator: of, empty: Undefined::EmptyGroup };
        wilson(rate, z_of_level(0.95)).unwrap()
    };
    let row = measured(["direction", "Female", "Male"], "psr", 0.0, (0.0, ends(0, 240).hi));
    let row = row.with("denominator=240, n_rows=180");
    let switches = row.with("metric=sr, n_rows=180, denominator=240");
    let metrics = &[row, switches];
    for (without_score, lacking) in [(0, 160), (160, 160), (200, 200)] {
        let of = "model=m, sensitive=sex, group=Female, n_missing_counterfactual_score";
        let groups = &[GroupRow::of(&format!("{of}={without_score}"))];
        let counts = &table;
        let tables = tables!(metrics, counts, groups);
        let worst = ends(lacking, 240 + lacking).hi;
        let (pass, open) = (worst + 1e-9, worst - 1e-9);
        let lines = format!("<= {pass} | pass\n<= {open} | inconclusive | {lacking} decisions as");
        check(&asked("psr", direction()), (tables, None), &lines);
    }
}

/// Disparity given a stratum is of those who have one.
#[test]
fn people_without_a_stratum_are_asked_about() {
    let metrics = &[gap_near("pair", ["Female", "Male"], "cddpl", 0.01).with("n_rows=500")];
    for (n, held) in [(24, "pass"), (30, "verdict=inconclusive, reason_code=unmeasured-people")] {
        let of = format!("model=m, sensitive=sex, group=Male, n=500, n_missing_stratum={n}");
        let groups = [GroupRow::of(&of)];
        let tables = tables!(metrics, groups);
        let says = if n > 24 { "30 people have no value of the column of strata" } else { "" };
        let line = format!("<= 0.05 | {held} | {says}");
        check(&asked("cddpl", pair("Female", "Male")), (tables, None), &line);
    }
}

/// What counts do not give moves by the range of its metric.
#[test]
fn a_mean_moves_by_the_worst_number_of_its_metric() {
    let of = |metric: &str, [value, lo, hi]: [f64; 3], lacking: i64, lines: &str| {
        let population = PopulationRow {
            rows: 200 + lacking,
            ..PopulationRow::of(&format!(
                "state=audited, sensitive=sex, group=Female, declared=1, model=m, \
                 counterfactual=flip, without_counterfactual={lacking}"
            ))
        };
        let row = measured(["direction", "Female", "Male"], metric, value, (lo, hi));
        check(&asked(metric, direction()), of_people(&row, &[], &[population]), lines);
    };
    let macd = [0.02, 0.01, 0.03];
    of("macd", macd, 0, "<= 0.04 | pass");
    // 50 of 250 move by 1: 0.03 + 0.2 * 0.98.
    of(
        "macd",
        macd,
        50,
        "<= 0.227 | pass
         <= 0.225 | inconclusive | at worst the end of the interval would be 0.2260",
    );
    // The other side of a limit: 50 of 250 do not move. A root of a mean of squares falls by the
    // root of 0.8.
    let near = [0.05, 0.048, 0.052];
    let lowest = 0.048 - 0.05 * (1.0 - 0.8_f64.sqrt());
    of("rmscd", near, 0, ">= 0.047 | pass");
    let (open, pass) = (lowest + 1e-6, lowest - 1e-6);
    of("rmscd", near, 50, &format!(">= {open} | inconclusive\n>= {pass} | pass"));
    // What one person adds to a distance of distributions depends on the scores of all, and others
    // may undo it.
    for metric in ["jscd", "kld", "jsd_hist"] {
        of(metric, near, 0, ">= 0.001 | pass");
        of(metric, near, 1, ">= 0.001 | inconclusive");
    }
    of("jscd", near, 1, "<= 0.5 | inconclusive");
}

/// A difference of two directions may fall below 0 though neither direction can; a question and its
/// mirror have one answer.
#[test]
fn the_difference_of_two_directions_moves_on_both_sides_of_zero() {
    let population = PopulationRow {
        rows: 250,
        ..PopulationRow::of(
            "state=audited, sensitive=sex, group=Female, declared=1, model=m, \
             counterfactual=flip, without_counterfactual=50",
        )
    };
    let (near, place) = ((0.005, 0.015), ["difference", "Female", "Male"]);
    let of = |metric: &str, sides: &[MetricRow], [lowest, highest]: [f64; 2]| {
        let mut metrics = vec![measured(place, metric, 0.01, near)];
        metrics.extend(sides.iter().map(|row| row.with(&format!("metric={metric}"))));
        let population = [population.clone()];
        let tables = tables!(metrics, population);
        for (between, bound, end) in [
            (pair("Female", "Male"), ">=", lowest),
            (pair("Male", "Female"), "<=", -lowest),
            (pair("Female", "Male"), "<=", highest),
            (pair("Male", "Female"), ">=", -highest),
        ] {
            let out = if bound == ">=" { -1e-6 } else { 1e-6 };
            let (pass, open) = (end + out, end - out);
            let lines = format!("{bound} {pass} | pass\n{bound} {open} | inconclusive");
            let counterfactual = "flip".to_owned();
            let question = GateQuestion { counterfactual, ..asked(metric, between) };
            check(&question, (tables.clone(), None), &lines);
        }
    };
    // 50 of 250 at the worst of a range from -1 to 1.
    of("macd", &[], [0.005 - 0.2 * 1.01, 0.015 + 0.2 * 0.99]);
    // Each root moves by itself, the one up and the other down.
    let sides = [("Female", "Male", 0.05), ("Male", "Female", 0.04)]
        .map(|(from, to, value)| measured(["direction", from, to], "", value, (0.0, 1.0)));
    let falls = |value: f64| value * 0.8_f64.sqrt() - value;
    let rises = |value: f64| (0.8 * value * value + 0.2).sqrt() - value;
    of("rmscd", &sides, [0.005 + falls(0.05) - rises(0.04), 0.015 + rises(0.05) - falls(0.04)]);
    // Few people may undo a distance of the other direction.
    of("jsd_hist", &[], [0.005 - 1.01, 0.015 + 0.99]);
}

/// 20 of 400 people are granted; 60 rows without a score may be of one person, with whom the
/// interval is that of 12 people.
#[test]
fn rows_that_were_not_measured_may_be_of_one_person() {
    let table = counts(
        "group | Female |  | 1 | 20
         group | Female |  | 0 | 380
         group | Female |  |   | 60",
    );
    let rate = Rate { numerator: 20, denominator: 400, empty: Undefined::EmptyGroup };
    let ends = wilson(rate, z_of_level(0.95)).unwrap();
    let row = measured(["group", "Female", ""], "pprev", 0.05, (ends.lo, ends.hi))
        .with("counterfactual=, numerator=20, denominator=400");
    let question = asked("pprev", GateSubject::Group("Female".into()));
    check(&question, of_people(&row, &table, &[]), "<= 0.22 | pass");
    let of_persons = row.with("n_persons=400, denominator_persons=400, n_eff=400");
    check(
        &question,
        of_people(&of_persons, &table, &[]),
        "<= 0.4525 | inconclusive | , but 60 rows have no score; all 60 of them would be
         <= 0.4535 | pass",
    );
}

/// Of 400 rows 20 switch in some direction. 12 rows without a score may be of one person, for whom
/// both other groups count.
#[test]
fn unmeasured_rows_of_one_person_may_all_switch() {
    let table = counts(
        "group | Female |  | 1 | 20
         group | Female |  | 0 | 380
         group | Female |  |   | 12
         group | Male   |  | 0 | 400
         group | Other  |  | 0 | 400",
    );
    let row = measured(["group", "Female", ""], "sr_any", 0.05, (0.033, 0.076));
    let row = row.with("numerator=20, denominator=400, n_rows=400, n_persons=400, n_eff=400");
    let counterfactual = "flip".into();
    let question =
        GateQuestion { counterfactual, ..asked("sr_any", GateSubject::Group("Female".into())) };
    check(
        &question,
        of_people(&row, &table, &[]),
        "<= 0.193 | inconclusive
         <= 0.195 | pass",
    );
}

/// An area under the curve is one of pairs: of 4 positive women two have no score, so that half of
/// all pairs may be wrong, however many the negative women are.
#[test]
fn pairs_are_lost_with_their_smaller_side() {
    let table = counts(
        "group | Female | 1 | 1 | 2
         group | Female | 1 |   | 2
         group | Female | 0 | 0 | 100
         group | Male   | 0 | 0 | 100",
    );
    let row = measured(["group", "Female", ""], "auc", 0.9, (0.8, 0.95))
        .with("family=scores, counterfactual=");
    // 0.8 - 0.5 * 0.9.
    check(
        &asked("auc", GateSubject::Group("Female".into())),
        of_people(&row, &table, &[]),
        ">= 0.349 | pass
         >= 0.351 | inconclusive",
    );
}

/// The positive people of one group are compared with the negative ones of the other, and those of
/// either may be missing.
#[test]
fn pairs_across_groups_are_lost_with_either_group() {
    let place = ["direction", "Female", "Male"];
    let row = measured(place, "xauc", 0.9, (0.8, 0.95)).with("family=scores, counterfactual=");
    let of = |group: &str, label: u8, lines: &str| {
        let rows = |of: &str| {
            let lacks = |own: u8| if of == group && own == label { 50 } else { 0 };
            let [no, yes] = [0, 1].map(lacks);
            format!(
                "group | {of} | 1 | 1 | {}\ngroup | {of} | 1 |  | {yes}\n\
                 group | {of} | 0 | 0 | {}\ngroup | {of} | 0 |  | {no}",
                100 - yes,
                100 - no
            )
        };
        let table = counts(&[rows("Female"), rows("Male")].join("\n"));
        let counterfactual = String::new();
        let question = GateQuestion { counterfactual, ..asked("xauc", direction()) };
        check(&question, of_people(&row, &table, &[]), lines);
    };
    // 0.8 - 0.5 * 0.9.
    let halved = ">= 0.349 | pass\n>= 0.351 | inconclusive";
    of("Female", 1, halved);
    of("Male", 0, halved);
    of("Female", 0, ">= 0.79 | pass");
    of("Male", 1, ">= 0.79 | pass");
}

/// The same decisions in both runs, with everybody scored: the furthest groups have not moved.
/// Where ten rows of the earlier run have no score or no group, it could have had what some filling
/// of them gives.
#[test]
fn the_furthest_groups_of_an_earlier_run_are_as_far_apart_as_they_were() {
    let known = "group | Female | 1 | 1 | 30
         group | Female | 1 | 0 | 20
         group | Female | 0 | 1 | 10
         group | Female | 0 | 0 | 40
         group | Male   | 1 | 1 | 45
         group | Male   | 1 | 0 | 5
         group | Male   | 0 | 1 | 20
         group | Male   | 0 | 0 | 30
         group | Other  | 1 | 1 | 32
         group | Other  | 1 | 0 | 18
         group | Other  | 0 | 1 | 12
         group | Other  | 0 | 0 | 38";
    let lacking = "\n group | Female | | | 7\n no_group | | | 1 | 3";
    let everybody = counts(known);
    let some = counts(&format!("{known}{lacking}"));
    let judged_against = |metric: &str, value: f64, old: &[CountRow], lines: &str| {
        let question = GateQuestion { metric: metric.into(), ..against(GateSubject::WorstCase) };
        let mut changes = [change(&format!(
            "counterfactual=, scope=worst_case, from_group=, to_group=, metric={metric}, \
             old_value={value}, difference=0, lo=0, hi=0, old_denominator=, new_denominator="
        ))];
        add_old_extremes(std::slice::from_ref(&question), &mut changes, &by_counts(old));
        let baseline = baseline_of(&changes, "");
        check(&question, (by_counts(&everybody), Some(&baseline)), lines);
        (changes[0].old_least.unwrap(), changes[0].old_most.unwrap())
    };
    for (metric, value) in
        [("demp_difference", 0.25), ("tpr_difference", 0.3), ("aod", 0.25), ("eodds", 0.3)]
    {
        let ends = judged_against(metric, value, &everybody, "<= 0 | pass\n<= 0, estimate | pass");
        assert!((ends.0 - value).abs().max((ends.1 - value).abs()) < 1e-12, "{metric} {ends:?}");
    }
    judged_against("demp_ratio", 40.0 / 65.0, &everybody, ">= 0 | pass\n>= 0, estimate | pass");
    // Women granted and refused, and rows of the three that have no group, in each group.
    let (mut least, mut most) = (1.0_f64, 0.0_f64);
    for (granted, refused) in (0..=7).flat_map(|n| (0..=7 - n).map(move |m| (n, m))) {
        for (f, m, o) in
            (0..64).map(|i| (i % 4, i / 4 % 4, i / 16)).filter(|i| i.0 + i.1 + i.2 <= 3)
        {
            let women = f64::from(40 + granted + f) / f64::from(100 + granted + refused + f);
            let [men, others] =
                [(65, m), (44, o)].map(|(n, more)| f64::from(n + more) / f64::from(100 + more));
            let gap = women.max(men).max(others) - women.min(men).min(others);
            (least, most) = (least.min(gap), most.max(gap));
        }
    }
    let ends = judged_against("demp_difference", 0.25, &some, "<= 0 | inconclusive");
    // The men are not so near to the women and to the others at once.
    assert!(ends.0 <= least && ends.0 > least - 0.05, "{ends:?} {least}");
    assert!((ends.1 - most).abs() < 1e-12, "{ends:?} {most}");
}

/// Of the same people 10 to 40 were not measured in either run. However they are filled in, the
/// interval of the paired change is within that of the worst case.
#[test]
fn an_interval_of_a_change_is_as_wide_as_with_everybody() {
    // The end of the change where so many of the people rise and fall.
    let end = |[rise, fall, all]: [f64; 3]| {
        let (mean, moved) = ((rise - fall) / all, rise + fall);
        let variance = (moved / all - mean * mean) / (all - 1.0);
        let freedom = (all - 1.0).min(2.0 * all * moved / (all - moved));
        let wide = crate::num::student::student_quantile(0.975, freedom);
        (mean, mean + if moved > 0.0 { wide * variance.sqrt() } else { 0.0 })
    };
    for (people, rise, fall, lacking) in
        [(990, 0, 0, 10), (990, 5, 5, 10), (960, 40, 10, 40), (160, 20, 30, 40), (500, 0, 0, 1)]
    {
        let old = people / 2;
        let new = old + rise - fall;
        let counts = |granted: i32| {
            let refused = people - granted;
            counts(&format!(
                "group | Female | | 1 | {granted}
                 group | Female | | 0 | {refused}
                 group | Female | |   | {lacking}"
            ))
        };
        let (before, after) = (counts(old), counts(new));
        let question =
            GateQuestion { metric: "pprev".into(), ..against(GateSubject::Group("Female".into())) };
        let [own, all] = [people, people + lacking].map(f64::from);
        let (mean, hi) = end([f64::from(rise), f64::from(fall), own]);
        let value = f64::from(old) / own;
        let mut changes = [change(&format!(
            "counterfactual=, scope=group, from_group=Female, to_group=, metric=pprev, \
             old_value={value}, difference={mean}, lo={}, hi={hi}",
            2.0 * mean - hi
        ))];
        add_old_extremes(std::slice::from_ref(&question), &mut changes, &by_counts(&before));
        let baseline = baseline_of(&changes, "");
        let worst = (0..=lacking)
            .flat_map(|up| (0..=lacking - up).map(move |down| (up, down)))
            .map(|(up, down)| end([f64::from(rise + up), f64::from(fall + down), all]).1)
            .fold(hi, f64::max);
        let lines = format!("<= {} | inconclusive\n<= {} | pass", worst - 1e-9, worst * 1.7);
        check(&question, (by_counts(&after), Some(&baseline)), &lines);
    }
}

/// The earlier run could have been lower, so the change larger.
#[test]
fn of_a_change_both_runs_are_at_their_worst() {
    let moved = change("old_value=0.1, difference=0, lo=-0.01, hi=0.01");
    for (old, line) in [
        ("", "pass"),
        ("old_least=0.07, old_most=0.11, old_unmeasured=5", "inconclusive"),
        ("old_least=0.09, old_most=0.1, old_unmeasured=1", "inconclusive"),
        ("old_least=0.09, old_most=0.11, old_unmeasured=20", "pass"),
        (
            "old_least=0.05, old_most=0.11, old_unmeasured=20",
            "inconclusive | the earlier run did not measure",
        ),
    ] {
        let changes = [moved.with(old)];
        let baseline = baseline_of(&changes, "");
        let by = (GateTables::default(), Some(&baseline));
        check(&against(direction()), by, &format!("<= 0.05 | {line}"));
    }
    // A divergence has no upper bound, which the table cannot hold.
    let question = GateQuestion { metric: "kld".to_owned(), ..against(direction()) };
    for (least, verdict) in [(0.07, "pass"), (0.0, "inconclusive")] {
        let cells = format!("metric=kld, family=shift, old_unmeasured=100, old_least={least}");
        let changes = [moved.with(&cells)];
        let baseline = baseline_of(&changes, "");
        let by = (GateTables::default(), Some(&baseline));
        check(&question, by, &format!("<= 0.05 | {verdict}"));
    }
}
