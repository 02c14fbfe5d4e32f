//! A label of several classes, from the columns of the user's files to tables, gates and page,
//! compared with numbers that are counted here.

use std::fs;

use crate::batches::{read_folder, write_stream};
use crate::frame::{TableFrame, TableRecord};
use crate::persons::run_with_persons;
use crate::slices::rows_of;
use crate::work::{Draws, Rows, Says, Work, batch, column, documented, patched};

const CLASSES: [&str; 3] = ["low", "mid", "high"];

/// Points of the classes in tenths; none where the row was not scored.
type Points = Option<[i64; 3]>;

struct Person {
    group: usize,
    label: Option<usize>,
    weight: i64,
    points: Points,
    /// By target group.
    moved: Vec<(usize, Points)>,
}

/// Points near these; now and then none.
fn points(draws: &mut Draws, near: [i64; 3]) -> Points {
    let drawn = near.map(|base| (base + draws.below(7) as i64 - 3).clamp(0, 10));
    (draws.below(25) > 0).then_some(drawn)
}

fn people(n: usize, groups: usize) -> Vec<Person> {
    let mut draw = Draws(7);
    let person = |_| {
        let group = draw.below(groups);
        let near = [draw.below(11), draw.below(11), draw.below(11)].map(|base| base as i64);
        let points = points(&mut draw, near);
        let moved = (0..groups)
            .filter(|to| *to != group)
            .map(|to| (to, self::points(&mut draw, near)))
            .collect();
        let label = (draw.below(30) > 0)
            .then(|| if draw.below(2) > 0 { best(near) } else { draw.below(3) });
        Person { group, label, weight: draw.below(4) as i64, points, moved }
    };
    (0..n).map(person).collect()
}

/// The class with the most points, the first of equals.
fn best(points: [i64; 3]) -> usize {
    let most = points.iter().max().unwrap();
    points.iter().position(|points| points == most).unwrap()
}

fn name(group: usize) -> &'static str {
    ["A", "B", "C"][group]
}

fn score(points: Points, class: usize) -> Option<f64> {
    points.map(|points| points[class] as f64 / 10.0)
}

/// Writes the scores of the counterfactuals of some people, each with a position among all.
fn write_moved<'p>(work: &Work, people: impl Iterator<Item = (&'p Person, i64)>) {
    let moved = people.flat_map(|(p, i)| p.moved.iter().map(move |of| (i * 3, of)));
    Rows::of(moved)
        .with("row_id", |(i, _)| i)
        .with("to_group", |(_, of)| name(of.0))
        .with("p_high", |(_, of)| score(of.1, 2))
        .with("p_low", |(_, of)| score(of.1, 0))
        .with("p_mid", |(_, of)| score(of.1, 1))
        .with("p_none", |_| 0.0)
        .write(work, "flip.parquet");
}

/// People as rows, without scores.
fn people_rows(people: &[Person]) -> Rows<(&Person, i64)> {
    Rows::of(people.iter().zip(0_i64..))
        .with("id", |(_, i)| i * 3)
        .with("g", |(p, _)| name(p.group))
        .with("risk", |(p, _)| p.label.map(|label| CLASSES[label]))
        .with("w", |(p, _)| p.weight)
        .with("household", |(_, i)| 7000 + i % 90)
}

/// A working folder with these people and a job; `apart` puts their scores into a separate file,
/// in another order.
fn work(people: &[Person], groups: usize, apart: bool, more: &str) -> Work {
    let work = Work::new();
    let rows = people_rows(people).with("own", |(_, i)| 9000 - i).with("p_none", |_| 0.0);
    if apart {
        rows.write(&work, "people.parquet");
        Rows::of(people.iter().zip(0_i64..).collect::<Vec<_>>().into_iter().rev())
            .with("p_high", |(p, _)| score(p.points, 2))
            .with("row_id", |(_, i)| i * 3)
            .with("p_mid", |(p, _)| score(p.points, 1))
            .with("p_low", |(p, _)| score(p.points, 0))
            .write(&work, "scores.parquet");
    } else {
        rows.with("p_low", |(p, _)| score(p.points, 0))
            .with("p_mid", |(p, _)| score(p.points, 1))
            .with("p_high", |(p, _)| score(p.points, 2))
            .write(&work, "people.parquet");
    }
    write_moved(&work, people.iter().zip(0_i64..));
    let factual = if apart { "parquet: scores.parquet, " } else { "" };
    let names = (0..groups).map(name).collect::<Vec<_>>().join(", ");
    work.write("job.yaml", &format!("{}{more}", job(factual, &names)));
    work
}

fn job(factual: &str, groups: &str) -> String {
    format!(
        "cfaudit: 1
name: classes
data:
  rows: {{parquet: people.parquet}}
  row_id: id
  label: {{column: risk, positive: [low], classes: [low, mid, high], favourable: positive}}
  sensitive: {{g: {{groups: [{groups}], reference: A}}}}
counterfactuals: {{flip: naive}}
models:
  risk:
    scores:
      factual: {{{factual}columns: {{mid: p_mid, low: p_low, high: p_high}}}}
      counterfactual:
        {{parquet: flip.parquet, columns: {{low: p_low, mid: p_mid, high: p_high}}}}
metrics: {{bootstrap: {{samples: 200}}}}
"
    )
}

/// The row of a metric by class, scope, groups and id; those of directions are of the set.
#[track_caller]
fn at<'a>(metrics: &'a TableFrame, [class, scope, from, to, metric]: [&str; 5]) -> TableRecord<'a> {
    let set = if ["direction", "one_to_rest"].contains(&scope) { "flip" } else { "" };
    let cells = format!(
        "class={class}, scope={scope}, from_group={from}, to_group={to}, counterfactual={set}, \
         metric={metric}"
    );
    assert_eq!(metrics.of(&cells).count(), 1, "{cells}");
    metrics.at(&cells)
}

#[track_caller]
fn is_share(metrics: &TableFrame, key: [&str; 5], (part, whole): (u64, u64)) {
    let record = at(metrics, key);
    record.holds(&format!("numerator={part}, denominator={whole}"));
    assert_eq!(record.real("value"), (whole > 0).then(|| part as f64 / whole as f64), "{key:?}");
    assert_eq!(record.text("undefined").is_empty(), whole > 0, "{key:?}");
}

/// A square of counts.
type Square = [[u64; 3]; 3];

fn total(square: &Square) -> u64 {
    square.iter().flatten().sum()
}

fn diagonal(square: &Square) -> u64 {
    (0..3).map(|k| square[k][k]).sum()
}

fn row(square: &Square, k: usize) -> u64 {
    square[k].iter().sum()
}

fn column_of(square: &Square, k: usize) -> u64 {
    square.iter().map(|row| row[k]).sum()
}

/// The correlation of rows and columns as a sum over persons' indicators: the covariance of one-hot
/// vectors.
fn correlation(square: &Square) -> f64 {
    let n = total(square) as f64;
    let (rows, columns) = (
        [0, 1, 2].map(|k| row(square, k) as f64 / n),
        [0, 1, 2].map(|k| column_of(square, k) as f64 / n),
    );
    let together: f64 = (0..3).map(|k| square[k][k] as f64 / n - rows[k] * columns[k]).sum();
    let spread =
        |shares: [f64; 3]| shares.iter().map(|share| share * (1.0 - share)).sum::<f64>().sqrt();
    together / (spread(rows) * spread(columns))
}

fn check(groups: usize, apart: bool) {
    let people = people(400, groups);
    let work = work(&people, groups, apart, "");
    work.run(0, "job.yaml", "");
    let metrics = work.table("metrics");
    let check_rate = |key: [&str; 5], share: (u64, u64)| is_share(&metrics, key, share);

    // Labels against predictions.
    let counted = |keep: &dyn Fn(&Person) -> bool| {
        let mut square = Square::default();
        for person in people.iter().filter(|p| keep(p)) {
            if let (Some(label), Some(points)) = (person.label, person.points) {
                square[label][best(points)] += 1;
            }
        }
        square
    };
    for group in 0..groups {
        let square = counted(&|p| p.group == group);
        let n = total(&square);
        let of =
            |class: &'static str, metric: &'static str| [class, "group", name(group), "", metric];
        check_rate(of("", "acc"), (diagonal(&square), n));
        let mcc = at(&metrics, of("", "mcc"));
        assert!((mcc.real("value").unwrap() - correlation(&square)).abs() < 1e-12);
        for (k, class) in CLASSES.into_iter().enumerate() {
            let (labelled, predicted) = (row(&square, k), column_of(&square, k));
            check_rate(of(class, "prev"), (labelled, n));
            // A prediction counts with or without a label.
            let scored =
                || people.iter().filter(|p| p.group == group).filter_map(|p| p.points).map(best);
            check_rate(
                of(class, "pprev"),
                (scored().filter(|best| *best == k).count() as u64, scored().count() as u64),
            );
            check_rate(of(class, "tpr"), (square[k][k], labelled));
            check_rate(of(class, "fpr"), (predicted - square[k][k], n - labelled));
            check_rate(of(class, "ppv"), (square[k][k], predicted));
        }
    }
    let counts = work.table("counts");
    // Those without a label are behind the last class.
    let cell = |r: &TableRecord<'_>, names: [&str; 2]| {
        let places = [&CLASSES[..], &[""]].concat();
        let place = |text: &str| places.iter().position(|class| *class == text).unwrap_or(9);
        names.map(|column| place(r.text(column)))
    };
    let (mut square, mut unlabelled) = (Square::default(), [0; 3]);
    for r in counts.of("scope=total, counterfactual=") {
        let [label, predicted] = cell(&r, ["label", "predicted"]);
        if r.text("predicted").is_empty() {
            let is_own =
                |p: &&Person| p.points.is_none() && p.label == (label < 3).then_some(label);
            assert_eq!(r.int("n"), Some(people.iter().filter(is_own).count() as i64));
            continue;
        }
        *square.get_mut(label).map_or(&mut unlabelled[predicted], |row| &mut row[predicted]) =
            r.int("n").unwrap() as u64;
        r.holds("predicted_cf=, weight=, shift_sq=");
    }
    assert_eq!(square, counted(&|_| true));
    let without = |k: usize| {
        people
            .iter()
            .filter(|p| p.label.is_none() && p.points.is_some_and(|points| best(points) == k))
            .count() as u64
    };
    assert_eq!(unlabelled, [0, 1, 2].map(without));

    // Predictions against those of counterfactuals, with and without a label.
    let (mut shares, mut directions) = (0, 0);
    let transitions = work.table("transitions");
    for from in 0..groups {
        for to in (0..groups).filter(|to| *to != from) {
            let mut cube = [Square::default(); 4];
            let mut squared = [0.0; 3];
            let mut pairs = 0.0;
            for person in people.iter().filter(|p| p.group == from) {
                let moved = person.moved.iter().find(|moved| moved.0 == to).unwrap().1;
                if let (Some(points), Some(moved)) = (person.points, moved) {
                    cube[person.label.unwrap_or(3)][best(points)][best(moved)] += 1;
                    pairs += 1.0;
                    (0..3)
                        .for_each(|k| squared[k] += ((moved[k] - points[k]) as f64 / 10.0).powi(2));
                }
            }
            let mut square = Square::default();
            for (before, after) in (0..9).map(|i| (i / 3, i % 3)) {
                square[before][after] = cube.iter().map(|labelled| labelled[before][after]).sum();
            }
            let (n, place) = (total(&square), [name(from), name(to)]);
            let of = |class: &'static str, metric: &'static str| {
                [class, "direction", place[0], place[1], metric]
            };
            check_rate(of("", "cr"), (diagonal(&square), n));
            check_rate(of("", "sr"), (n - diagonal(&square), n));
            let cmcc = at(&metrics, of("", "cmcc"));
            assert!((cmcc.real("value").unwrap() - correlation(&square)).abs() < 1e-12);
            for (k, class) in CLASSES.into_iter().enumerate() {
                let (before, after) = (row(&square, k), column_of(&square, k));
                check_rate(of(class, "nsr"), (before - square[k][k], before));
                check_rate(of(class, "psr"), (after - square[k][k], n - before));
                // Rightful: the label is the class, as is the prediction.
                let held = row(&cube[k], k);
                check_rate(of(class, "tpsr"), (held - cube[k][k][k], held));
                let rmscd = at(&metrics, of(class, "rmscd"));
                assert!((rmscd.real("value").unwrap() - (squared[k] / pairs).sqrt()).abs() < 1e-12);
                assert!(rmscd.real("lo").is_some());
            }
            let mine = format!("scope=direction, from_group={}, to_group={}", place[0], place[1]);
            let mut found = [Square::default(); 4];
            for r in counts.of(&mine) {
                let ([before, after], [label, _]) =
                    (cell(&r, ["predicted", "predicted_cf"]), cell(&r, ["label", "predicted"]));
                found[label][before][after] = r.int("n").unwrap() as u64;
            }
            assert_eq!(found, cube);
            for r in transitions.of(&mine) {
                let [before, after] = cell(&r, ["from_class", "to_class"]);
                assert_ne!(before, after);
                let (part, whole) = (square[before][after], row(&square, before));
                r.holds(&format!("numerator={part}, denominator={whole}, interval=wilson"));
                let value = r.real("value");
                assert_eq!(value, Some(part as f64 / whole as f64));
                assert!(r.real("lo") <= value && value <= r.real("hi"));
                shares += 1;
            }
            directions += 1;
        }
    }
    assert_eq!(shares, 6 * directions);
    // Only the class that has its side of the label for itself names a group at a disadvantage.
    let named = |class: &str| metrics.has(&format!("class={class}, impaired_group!="));
    assert_eq!(["", "low", "mid", "high"].map(named), [false, true, false, false]);

    // Who is left out, and whose class the order decides.
    let groups_table = work.table("groups");
    for group in 0..groups {
        let mine = || people.iter().filter(move |p| p.group == group);
        let count =
            |keep: &dyn Fn(&Person) -> bool| Some(mine().filter(|p| keep(p)).count() as i64);
        let r = groups_table.at(&format!("group={}", name(group)));
        assert_eq!(r.int("n"), count(&|_| true));
        assert_eq!(r.int("n_positive"), count(&|p| p.label == Some(0)));
        assert_eq!(
            r.int("n_predicted_positive"),
            count(&|p| p.points.is_some_and(|points| best(points) == 0))
        );
        assert_eq!(r.int("n_missing_label"), count(&|p| p.label.is_none()));
        assert_eq!(r.int("n_missing_score"), count(&|p| p.points.is_none()));
        let tied =
            |points: [i64; 3]| points.iter().filter(|p| **p == points[best(points)]).count() > 1;
        assert_eq!(r.int("n_scores_equal_threshold"), count(&|p| p.points.is_some_and(tied)));
        let without =
            mine().flat_map(|p| &p.moved).filter(|moved| moved.1.is_none()).count() as i64;
        r.holds(&format!("n_missing_counterfactual_score={without}"));
    }
    // Histograms of the scores of each class.
    let shift = work.table("score_shift");
    let held = |class: &str| {
        shift.of(&format!("class={class}, side=change")).map(|r| r.int("n").unwrap()).sum::<i64>()
    };
    assert_eq!([held("low"), held("mid"), held("")], [held("high"), held("high"), 0]);
    assert!(held("high") > 0);

    let page = work.read("out/annex.html");
    assert!(page.len() < 1_000_000);
    page.says(&["each class against all others", "the class with the highest score", "Gorodkin"]);
    work.read("out/report.html").says(&["do they get the same decisions?", "share predicted low"]);
    assert!(!page.contains("NaN") && !work.path("out/rows").exists());
    let manifest = work.json("out/manifest.json");
    assert_eq!(manifest["label"]["classes"], serde_json::json!(CLASSES));
    assert!(manifest["files"]["tables/transitions.parquet"].is_string());
}

#[test]
fn three_classes_and_two_groups() {
    check(2, false);
}

#[test]
fn three_classes_and_three_groups_with_scores_apart() {
    check(3, true);
}

/// Rows of households: intervals and what is small take persons, and rows of one person each are
/// people.
#[test]
fn classes_of_persons() {
    for (groups, weight) in [(2, ""), (3, ""), (2, "  weight: w\n")] {
        let work = work(&people(400, groups), groups, false, "");
        let job = work.read("job.yaml");
        run_with_persons(&work, &job.replace("  row_id: id\n", &format!("  row_id: id\n{weight}")));
        let of = |out: &str, table: &str| work.table(&format!("{out}/{table}"));
        let [metrics, plain, own] = ["out", "plain", "own"].map(|out| of(out, "metrics"));
        let (mut persons, mut wider) = (0, 0);
        let rows = metrics.records().zip(plain.records()).zip(own.records());
        for ((row, plain), own) in rows {
            let what =
                format!("{} {} {}", row.text("class"), row.text("metric"), row.text("scope"));
            for other in [&plain, &own] {
                assert_eq!(row.text("metric"), other.text("metric"));
                assert_eq!(row.real("value"), other.real("value"), "{what}");
                assert_eq!(row.int("denominator"), other.int("denominator"), "{what}");
            }
            let n = row.int("n_persons").unwrap();
            assert!(n <= 90 && n <= row.int("n_rows").unwrap(), "{what}: {n}");
            assert!(row.int("denominator_persons") <= row.int("denominator"), "{what}");
            persons = persons.max(n);
            // Where each row is a person of its own nothing but the name of the method changes.
            if !own.text("interval").is_empty() {
                let end = |row: &TableRecord<'_>, end: &str| row.real(end).unwrap();
                for name in ["lo", "hi"] {
                    assert!((end(&own, name) - end(&plain, name)).abs() < 1e-9, "{what}");
                }
                wider += usize::from(end(&row, "hi") - end(&row, "lo") > 0.0);
            }
        }
        assert_eq!(persons, 90);
        assert!(!weight.is_empty() || wider > 50, "{wider}");
        let [moves, plain] = ["out", "plain"].map(|out| of(out, "transitions"));
        for (row, plain) in moves.records().zip(plain.records()) {
            assert_eq!(row.real("value"), plain.real("value"));
            let below = row.int("denominator_persons").unwrap();
            assert!(below <= 90.min(row.int("denominator").unwrap()), "{below}");
            assert_eq!(plain.int("denominator_persons").is_some(), !weight.is_empty());
            assert!(row.text("interval") != "wilson");
        }
        work.read("out/annex.html").says(&["Counts are rows; they belong to "]);
    }
}

/// Clarify's metrics of each class against all others, counted here: `low` is the favourable side,
/// so for each of the other two it is favourable not to be predicted that class. With the example
/// of the guide only one class is measured.
#[test]
fn clarify_of_each_class_and_of_one() {
    let people = people(400, 2);
    let work = work(&people, 2, false, "");
    let job = work.read("job.yaml");
    let plain = "metrics: {bootstrap: {samples: 200}}\n";
    assert!(job.contains(plain));
    let each = "metrics: {families: [clarify], clarify: {strata: w}, bootstrap: {samples: 200}}\n";
    work.write("each.yaml", &job.replace(plain, each));
    work.run(0, "each.yaml", "");
    let metrics = work.table("metrics");
    let scored = |group: usize| {
        let own = people.iter().filter(move |p| p.group == group);
        own.filter_map(|p| Some((p.label, best(p.points?), p.weight)))
    };
    let share = |part: usize, whole: usize| part as f64 / whole as f64;
    for (k, class) in CLASSES.into_iter().enumerate() {
        let is_good = |of: usize| (of == k) == (k == 0);
        let value =
            |metric: &str| at(&metrics, [class, "pair", "A", "B", metric]).real("value").unwrap();
        let near = |metric: &str, expected: f64| {
            let found = value(metric);
            assert!((found - expected).abs() < 1e-12, "{class} {metric}: {found}, not {expected}");
        };
        let given = [0, 1].map(|group| {
            share(scored(group).filter(|p| is_good(p.1)).count(), scored(group).count())
        });
        near("dppl", given[0] - given[1]);
        let labelled = |group: usize| {
            scored(group).filter_map(|(label, predicted, _)| Some((label?, predicted)))
        };
        let mean = |of: &dyn Fn((usize, usize)) -> f64| {
            [0, 1]
                .map(|group| labelled(group).map(of).sum::<f64>() / labelled(group).count() as f64)
        };
        let one = |yes: bool| f64::from(u8::from(yes));
        let observed = mean(&|(label, _)| one(is_good(label)));
        near("dpl", observed[0] - observed[1]);
        let added = mean(&|(label, predicted)| one(is_good(predicted)) - one(is_good(label)));
        near("bias_change", added[0] - added[1]);
        // Shares of B among the refused and among the others, by stratum.
        let (mut sum, mut all) = (0.0, 0.0);
        for stratum in 0..4 {
            let count = |groups: &[usize], good: bool| {
                let of = |group: &usize| {
                    scored(*group).filter(|p| p.2 == stratum && is_good(p.1) == good).count()
                };
                groups.iter().map(of).sum::<usize>()
            };
            let part = |good: bool| match count(&[0, 1], good) {
                0 => 0.0,
                n => share(count(&[1], good), n),
            };
            let n = (count(&[0, 1], true) + count(&[0, 1], false)) as f64;
            sum += n * (part(false) - part(true));
            all += n;
        }
        near("cddpl", sum / all);
    }
    work.read("out/annex.html").says(&["Clarify", "each class against all others"]);

    let example = documented("metrics.md", "## Clarify's thirteen");
    work.write("one.yaml", &job.replace(plain, &example));
    work.run(0, "one.yaml", "--replace");
    let metrics = work.table("metrics");
    assert!(metrics.of("family=clarify").all(|r| r.text("class") == "mid"));
    assert!(metrics.has("family=clarify"));
    assert_eq!(work.table("gates").list("", "verdict"), ["pass"]);
}

/// Each class against all others at every threshold of its score; at the step of the job the
/// highest score decides.
#[test]
fn curves_of_classes() {
    let people = people(300, 2);
    let work = work(&people, 2, false, "");
    let job = work.read("job.yaml");
    let asked = "metrics: {families: [performance, ccm, scores], bootstrap";
    work.write("job.yaml", &job.replace("metrics: {bootstrap", asked));
    work.run(0, "job.yaml", "--threads 1");
    let curves = work.table("curves");
    let at = |[class, metric, from, to]: [&str; 4], step: i64| {
        let row = curves.at(&format!(
            "step={step}, class={class}, metric={metric}, from_group={from}, to_group={to}"
        ));
        (row.int("numerator").unwrap(), row.int("denominator").unwrap(), row.real("threshold"))
    };
    let of_b = || people.iter().filter(|p| p.group == 1).filter_map(|p| p.points);
    let pairs: Vec<([i64; 3], [i64; 3])> = people
        .iter()
        .filter(|p| p.group == 0)
        .flat_map(|p| p.moved.iter().filter_map(|(_, moved)| Some((p.points?, (*moved)?))))
        .collect();
    for (k, class) in CLASSES.into_iter().enumerate() {
        // 512 steps are 5 tenths; 308 are just above 3 tenths.
        for (step, least) in [(512, 5), (308, 4)] {
            let n = of_b().filter(|points| points[k] >= least).count() as i64;
            let t = Some(step as f64 / 1024.0);
            assert_eq!(at([class, "pprev", "B", ""], step), (n, of_b().count() as i64, t));
            let switch = |(x, y): &&([i64; 3], [i64; 3])| (x[k] >= least) != (y[k] >= least);
            let n = pairs.iter().filter(switch).count() as i64;
            assert_eq!(at([class, "sr", "A", "B"], step), (n, pairs.len() as i64, t));
        }
        let n = of_b().filter(|points| best(*points) == k).count() as i64;
        assert_eq!(at([class, "pprev", "B", ""], 1025), (n, of_b().count() as i64, None));
    }
    assert!(curves.records().all(|row| CLASSES.contains(&row.text("class"))));
    let bins = work.table("reliability");
    assert!(bins.records().all(|row| CLASSES.contains(&row.text("class"))));
    // Nothing of this depends on threads.
    work.same_bytes(0, "job.yaml", &["--threads 5"]);
}

/// What a slice has of every table is what a job that keeps nobody else has.
#[test]
fn a_slice_of_classes_is_a_job_that_keeps_nobody_else() {
    let people = people(500, 2);
    let asked = |more: &str| {
        let families = "[performance, group, ccm, eccm, shift, clarify, scores]";
        format!("metrics: {{families: {families}, smallest_cell: 12{more}}}")
    };
    let (all, one) = (work(&people, 2, false, ""), work(&people, 2, false, ""));
    let job = all.read("job.yaml");
    let with = |more: &str| job.replace("metrics: {bootstrap: {samples: 200}}", &asked(more));
    all.write("all.yaml", &with(", by: [w]"));
    all.run(0, "all.yaml", "");
    write_moved(&one, people.iter().zip(0..).filter(|(p, _)| p.weight == 2));
    let kept = with("").replace("  row_id: id\n", "  row_id: id\n  keep: [{w: {in: [2]}}]\n");
    one.write("one.yaml", &kept);
    one.run(0, "one.yaml", "");
    let tables = ["metrics", "counts", "groups", "score_shift", "transitions", "curves"];
    for name in tables.into_iter().chain(["reliability"]) {
        let of = |work: &Work, slice: &str| rows_of(&work.table(name), slice, "g");
        let (sliced, kept) = (of(&all, "w=2"), of(&one, ""));
        assert!(!kept.is_empty() && sliced == kept, "{name}: {} rows", sliced.len());
    }
    all.same_bytes(0, "all.yaml", &["--threads 5"]);
    // A small slice is counted and not measured.
    all.write("small.yaml", &with(", by: [w]").replace("smallest_cell: 12", "smallest_cell: 400"));
    all.run(0, "small.yaml", "--replace");
    for name in ["groups", "counts", "score_shift"] {
        assert!(all.table(name).has("slice=w=2"), "{name}");
    }
    for name in ["metrics", "transitions", "curves"] {
        assert!(all.table(name).records().all(|row| row.text("slice").is_empty()), "{name}");
    }
}

/// The flip test of each class against all others with one neighbour, counted here.
#[test]
fn flip_test_of_each_class() {
    let people = people(300, 2);
    let work = work(&people, 2, false, "");
    let steps = "@  sensitive
+  features: {continuous: [own]}
~metrics: {families: [clarify], clarify: {flip_test: {neighbours: 1}}}";
    work.write("job.yaml", &patched(&job("", "A, B"), steps));
    work.run(0, "job.yaml", "");
    let metrics = work.table("metrics");
    let scored = |group: usize| {
        let own = people.iter().zip(0_i64..).filter(move |(p, _)| p.group == group);
        own.filter_map(|(p, i)| Some((i, best(p.points?))))
    };
    for (k, class) in CLASSES.into_iter().enumerate() {
        let is_good = |of: usize| i64::from((of == k) == (k == 0));
        let votes = scored(1).map(|(i, own)| {
            let (_, vote) = scored(0).min_by_key(|(j, _)| ((i - j).abs(), *j)).unwrap();
            is_good(vote) - is_good(own)
        });
        let votes: Vec<i64> = votes.collect();
        let expected = votes.iter().sum::<i64>() as f64 / votes.len() as f64;
        let found = at(&metrics, [class, "pair", "A", "B", "ft"]).real("value").unwrap();
        assert!((found - expected).abs() < 1e-12, "{class}: {found}, not {expected}");
    }
    work.same_bytes(0, "job.yaml", &["--threads 5"]);
}

/// Where the label of everybody is the predicted class, a set that conditions on the prediction
/// makes the same rows as one that conditions on the class of the label.
#[test]
fn conditioned_on_the_predicted_class() {
    let mut people = people(400, 2);
    people.retain(|p| p.points.is_some());
    people.iter_mut().for_each(|p| p.label = p.points.map(best));
    let made = |condition: &str| {
        let work = work(&people, 2, false, "");
        let set = format!("plausible: {{move: [own, household], condition_on: {condition}}}");
        let steps = format!(
            "@  sensitive
+  features: {{continuous: [own, household]}}
~counterfactuals: {{flip: {{{set}}}}}
~        {{parquet: later.parquet, columns: {{low: p_low, mid: p_mid, high: p_high}}}}"
        );
        work.write("job.yaml", &patched(&job("", "A, B"), &steps));
        work.run(4, "job.yaml", "");
        let rows = read_folder(&work.path("out/to-score/flip"));
        ["row_id", "to_group", "own", "household"].map(|name| rows.column_by_name(name).cloned())
    };
    let by_label = made("{label: raw}");
    assert_eq!(made("{prediction: risk}"), by_label);
    assert_ne!(made("label"), by_label);
}

/// Weights: shares are weighted, counts are of people.
#[test]
fn weighted() {
    let people = people(300, 2);
    let work = work(&people, 2, false, "");
    let job = work.read("job.yaml");
    work.write("job.yaml", &job.replace("  row_id: id\n", "  row_id: id\n  weight: w\n"));
    work.run(0, "job.yaml", "");
    let metrics = work.table("metrics");
    let (mut part, mut whole) = (0, 0);
    for person in people.iter().filter(|p| p.group == 0) {
        if let (Some(points), Some(moved)) = (person.points, person.moved[0].1) {
            whole += person.weight;
            part += if best(points) == best(moved) { 0 } else { person.weight };
        }
    }
    let sr = at(&metrics, ["", "direction", "A", "B", "sr"]);
    assert_eq!(sr.real("value"), Some(part as f64 / whole as f64));
    sr.holds(&format!("weight_numerator={part}, weight_denominator={whole}, interval=wilson-eff"));
    let counts = work.table("counts");
    let of_direction = counts.of("scope=direction, from_group=A");
    assert_eq!(of_direction.map(|r| r.real("weight").unwrap()).sum::<f64>(), whole as f64);
}

/// A limit on the groups that are furthest apart in one class names those of that class.
#[test]
fn the_groups_furthest_apart_in_a_class_are_named() {
    let people: Vec<Person> = (0..900)
        .map(|i| {
            let group = i % 3;
            // Two thirds of A are low, of B mid, of C high; the others the class before.
            let class = if i / 3 % 3 < 2 { group } else { (group + 2) % 3 };
            let points = [0, 1, 2].map(|k| if k == class { 8 } else { 1 });
            Person { group, label: Some(class), weight: 1, points: Some(points), moved: Vec::new() }
        })
        .collect();
    let work = work(&people, 3, false, "");
    let job = work.read("job.yaml").replace("counterfactuals: {flip: naive}\n", "");
    let moved = "      counterfactual:\n        {parquet: flip.parquet, columns: {low: p_low, mid: \
                 p_mid, high: p_high}}\n";
    assert!(job.contains(moved));
    let job = job.replace(moved, "");
    for (class, highest, lowest) in [("low", "A", "C"), ("mid", "B", "A"), ("high", "C", "B")] {
        let gate = format!(
            "gates: {{gap: {{metric: demp_difference, class: {class}, model: risk, between: \
             worst_case, at_most: 0.01}}}}\n"
        );
        work.write("one.yaml", &format!("{job}{gate}"));
        work.run(1, "one.yaml", "--replace");
        let own = format!("class={class}, metric=demp_difference, scope=worst_case");
        work.table("metrics").at(&own).holds(&format!("value={:?}", 200.0 / 300.0));
        let ends = format!("highest_group={highest}, lowest_group={lowest}");
        work.table("metrics").at(&own).holds(&ends);
        work.read("out/report.html").says(&[&format!(
            ": <bdi>people in group {highest}</bdi>; lowest: <bdi>people in group {lowest}"
        )]);
    }
}

/// Threads, row groups and a second run change no byte; gates ask a class.
#[test]
fn same_bytes_gates_and_numbers_of_a_word() {
    let gates = "gates:\n  keeps: {metric: nsr, class: low, model: risk, counterfactual: flip, \
                 direction: any, at_most: 0.9, enough: 1}\n  all: {metric: sr, model: risk, \
                 counterfactual: flip, at_most: 0.001}\n  harm: {harm_to: {g: GROUP}, class: low, \
                 model: risk, counterfactual: flip, at_most: 0.001}\n";
    let gates = gates.replace("GROUP", name(0));
    let work = work(&people(3000, 3), 3, true, &gates);
    work.run(1, "job.yaml", "--threads 1");
    work.same_bytes(1, "job.yaml", &["--threads 3 --batch-rows 1024"]);
    let metrics = work.table("metrics");
    let of_all = |metric: &str, scope: &str| {
        metrics.at(&format!("slice=, class=, metric={metric}, scope={scope}")).real("value")
    };
    let headline = &work.json("out/summary.json")["headline"];
    assert_eq!(headline["risk.flip.g.sr"].as_f64(), of_all("sr", "total"));
    assert_eq!(headline["risk.acc"].as_f64(), of_all("acc", "total"));
    // The gap of the positive side is one of the class.
    assert!(headline["risk.g.demp_difference"].is_null());
    assert!(metrics.has("slice=, class=low, metric=demp_difference, scope=worst_case"));
    let gates = work.table("gates");
    let verdict = |gate: &str| gates.at(&format!("gate={gate}, decides=1"));
    verdict("keeps").holds("class=low, verdict=pass");
    verdict("all").holds("class=, verdict=fail");
    verdict("harm").holds("class=low");
    let page = work.read("out/report.html");
    page.says(&["(class low)?", "with another class, low as", "with class low, another class as"]);
    // The section about classes opens with the change of most people.
    let moves = work.table("transitions");
    let most = moves
        .of("scope=direction, slice=")
        .filter(|r| r.text("from_class") != r.text("to_class"))
        .max_by_key(|r| r.int("numerator"))
        .unwrap();
    let lead = page.split("The change that affects most people").nth(1).expect("the section");
    let counts = [most.int("numerator").unwrap(), most.int("denominator").unwrap()];
    assert!(counts[0] > 0, "{counts:?}");
    lead.says(&[&format!("{} of {} ", counts[0], counts[1])]);
    // Among the others of these classes some are as bad as the class.
    for (class, undefined) in
        [("low", ""), ("mid", "no_favourable_side"), ("high", "no_favourable_side")]
    {
        let own = format!("class={class}, metric=denied_by_group, scope=direction");
        assert!(metrics.has(&own) && !metrics.has(&format!("{own}, undefined!={undefined}")));
    }
    work.cfaudit(0, "explain nsr --in out").stdout.says(&["class low", "class high"]);
    let resolved = work.read("out/job.resolved.yaml");
    work.write("again.yaml", &resolved);
    work.cfaudit(0, "check again.yaml --no-data");
}

/// Scores that are not there yet are asked for with the columns of all classes, and compared with
/// those that are.
#[test]
fn awaited_and_scored_again() {
    let mut people = people(200, 2);
    // Everybody is scored again.
    people.iter_mut().for_each(|p| p.moved.push((p.group, p.points)));
    let job = |work: &Work| {
        let job = work.read("job.yaml");
        work.write("job.yaml", &(job.replace("metrics:", "      recheck: {share: 1}\nmetrics:")));
    };
    let work = work(&people, 2, true, "");
    job(&work);
    fs::rename(work.path("flip.parquet"), work.path("later.parquet")).unwrap();
    work.run(4, "job.yaml", "");
    let columns = "row_id sensitive to_group cf_index request p_low p_mid p_high";
    let awaited = &work.json("out/manifest.json")["awaited"][0]["columns"];
    assert_eq!(*awaited, serde_json::json!(Vec::from_iter(columns.split(' '))));
    fs::rename(work.path("later.parquet"), work.path("flip.parquet")).unwrap();
    work.run(0, "job.yaml", "");
    assert_eq!(
        work.json("out/manifest.json")["models"][0]["recheck"],
        serde_json::json!({"rows": 200, "differ": 0, "largest": 0.0})
    );
    // The score of one class differs for one person.
    let last = people.iter_mut().rev().find_map(|p| p.moved[1].1.as_mut()).unwrap();
    last[2] = if last[2] > 4 { last[2] - 2 } else { last[2] + 2 };
    let work = self::work(&people, 2, true, "");
    job(&work);
    work.run(3, "job.yaml", "").says(&["1 of 200 rows", "largest difference is 0.2"]);
}

/// A value that is not a class ends the run, and its row is named; a class that nobody has is
/// reported.
#[test]
fn values_that_are_no_classes() {
    let work = work(&people(100, 2), 2, false, "");
    let job = work.read("job.yaml");
    work.write(
        "narrow.yaml",
        &job.replace("[low, mid, high]", "[low, high]").replace("mid: p_mid, ", ""),
    );
    work.run(3, "narrow.yaml", "")
        .says(&["`mid` is not a class of the label `risk`", "narrow.yaml:6"]);
    let wide = job
        .replace("[low, mid, high]", "[low, mid, high, none]")
        .replace("high: p_high", "high: p_high, none: p_none");
    work.write("wide.yaml", &wide);
    work.run(0, "wide.yaml", "");
    work.table("issues").list("code=absent-class", "text").concat().says(&["`none`"]);
    let metrics = work.table("metrics");
    let of_none = |metric: &str| metrics.at(&format!("class=none, scope=group, metric={metric}"));
    of_none("tpr").holds("undefined=no_actual_positive");
    of_none("ppv").holds("undefined=no_predicted_positive");
    of_none("pprev").holds("value=0");
    work.read("out/annex.html").says(&["nobody has the positive label", "class <bdi>none</bdi>"]);
}

/// Many classes of many groups: the page shows the largest, says so, and stays small.
#[test]
fn many_classes_keep_the_page_small() {
    let work = Work::new();
    let (n, classes, groups) = (2000_i64, 20, 12_i64);
    let class = |k: usize| format!("the class with the number {k}");
    // Class k holds about one of k + 2 rows of those that no class before it holds.
    let of = |i: i64, by: i64| {
        (0..classes).find(|k| (i * by + i / 7) % (*k as i64 + 2) == 0).unwrap_or(classes - 1)
    };
    let group = |i: i64| format!("group {}", i % groups);
    const POINTS: [&str; 20] = [
        "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13",
        "p14", "p15", "p16", "p17", "p18", "p19",
    ];
    let scored = |rows: Rows<(i64, i64, i64)>| {
        (0..classes).fold(rows, |rows, k| {
            rows.with(POINTS[k], |(i, by, _)| f64::from(u8::from(of(i, by) == k)))
        })
    };
    scored(Rows::of((0..n).map(|i| (i, 3, 0))))
        .with("g", |(i, ..)| group(i))
        .with("y", |(i, ..)| class(of(i, 5)))
        .write(&work, "rows.parquet");
    let others = |i: i64| (0..groups).filter(move |to| *to != i % groups).map(move |to| (i, to));
    let moved = (0..n).flat_map(others).map(|(i, to)| (i, 3 + (i * to) % 4 / 3, to));
    scored(Rows::of(moved))
        .with("row_id", |(i, ..)| i)
        .with("to_group", |(.., to)| group(to))
        .write(&work, "cf.parquet");
    let names = (0..classes).map(class).collect::<Vec<_>>().join(", ");
    let of_classes =
        (0..classes).map(|k| format!("{}: p{k}", class(k))).collect::<Vec<_>>().join(", ");
    let groups = (0..groups).map(group).collect::<Vec<_>>().join(", ");
    work.write(
        "job.yaml",
        &format!(
            "cfaudit: 1\nname: many\ndata:\n  rows: {{parquet: rows.parquet}}\n  label: {{column: \
             y, positive: [{}], classes: [{names}], favourable: negative}}\n  sensitive: {{g: \
             {{groups: [{groups}], reference: group 0}}}}\ncounterfactuals: {{flip: naive}}\n\
             models:\n  one: {{scores: {{factual: {{columns: {{{of_classes}}}}}, counterfactual: \
             {{parquet: cf.parquet, columns: {{{of_classes}}}}}}}}}\n\
             metrics: {{families: [performance, group, ccm, eccm]}}\n",
            class(0)
        ),
    );
    work.run(0, "job.yaml", "");
    let page = work.read("out/annex.html");
    assert!(page.len() < 1_000_000, "{}", page.len());
    page.says(&[
        "Of 20 classes the 8 largest are shown separately",
        "12 other classes",
        "Classes are shown for the first ",
    ]);
}

/// Of the group C no row trains: what is about it is undefined for each class and in `transitions`,
/// the rest is measured.
#[test]
fn a_group_without_training_rows_is_undefined_by_class() {
    let (work, mut draw, n) = (Work::new(), Draws(11), 600_i64);
    let is_audited = |i: i64| i % 2 == 0;
    let group = |i: i64| if is_audited(i) && i % 6 == 0 { "C" } else { name((i / 2 % 2) as usize) };
    let scored = |rows: Rows<i64>, draw: &mut Draws| {
        ["p_low", "p_mid", "p_high"]
            .into_iter()
            .fold(rows, |rows, name| rows.with(name, |_| draw.below(11) as f64 / 10.0))
    };
    let rows = Rows::of(0..n)
        .with("id", |i| i)
        .with("g", group)
        .with("x", |_| draw.below(11) as f64 / 10.0)
        .with("risk", |_| CLASSES[draw.below(3)])
        .with("part", |i| if is_audited(i) { "test" } else { "fit" });
    scored(rows, &mut draw).write(&work, "people.parquet");
    let steps = "@  sensitive
+  features: {continuous: [x]}
+  split: {column: part, train: [fit], audit: [test]}
~counterfactuals: {typical: {greedy: {condition_on: label}}}
~        {parquet: typical.parquet, columns: {low: p_low, mid: p_mid, high: p_high}}";
    work.write("job.yaml", &patched(&job("", "A, B, C"), steps));
    // The first run says which rows to score.
    work.run(4, "job.yaml", "");
    let asked = read_folder(&work.path("out/to-score/typical"));
    let keys = ["row_id", "sensitive", "to_group", "cf_index", "request"];
    let answer = keys.into_iter().fold(Rows::of(0..asked.num_rows() as i64), |rows, key| {
        rows.column(key, asked.column_by_name(key).unwrap().clone())
    });
    scored(answer, &mut draw).write(&work, "typical.parquet");
    work.run(0, "job.yaml", "");

    let (metrics, transitions) = (work.table("metrics"), work.table("transitions"));
    let mut n_rows = [0, 0];
    for row in metrics
        .records()
        .chain(transitions.records())
        .filter(|row| row.text("counterfactual") == "typical")
    {
        let ends = [row.text("from_group"), row.text("to_group")];
        let is_about_c = ends.iter().any(|end| end.is_empty() || *end == "C");
        n_rows[usize::from(is_about_c)] += 1;
        if is_about_c {
            row.holds("value=, undefined=no_training_rows");
        } else {
            assert_ne!(row.text("undefined"), "no_training_rows", "{ends:?}");
        }
    }
    assert!(n_rows[0] > 30 && n_rows[1] > 60, "{n_rows:?}");
    let of_class = |class: &str| metrics.has(&format!("class={class}, undefined=no_training_rows"));
    assert!(
        CLASSES.iter().all(|class| of_class(class))
            && transitions.has("undefined=no_training_rows")
    );
    assert!(transitions.has("value!="));
}

/// The points that a second model gives: those of the first, some exchanged and some missing.
fn other_points(points: Points, i: i64) -> Points {
    let exchanged = |[low, mid, high]: [i64; 3]| [mid, low, high];
    points.filter(|_| i % 11 > 0).map(|of| if i % 3 == 0 { exchanged(of) } else { of })
}

/// The scores of two models; and of each class whether they predict it, as scores of two sides.
fn of_two_models<I: Copy>(rows: Rows<I>, points: impl Fn(I) -> (Points, i64)) -> Rows<I> {
    let models = [("a", false), ("b", true)].into_iter();
    let columns = models.flat_map(|of| (0..3).map(move |class| (of, class)));
    columns.fold(rows, |rows, ((model, is_other), class)| {
        let name = |what: &str| &*format!("{model}{what}_{}", CLASSES[class]).leak();
        let of = |row: I| {
            let (points, i) = points(row);
            if is_other { other_points(points, i) } else { points }
        };
        rows.with(name(""), |row| score(of(row), class)).with(name("_is"), |row| {
            of(row).map(|points| f64::from(u8::from(best(points) == class)))
        })
    })
}

/// A job that compares two models, which take `columns`; in these `M` is the model.
fn job_of_two(label: &str, columns: &str, families: &str, of_rows: &str) -> String {
    let models = ["a", "b"].map(|model| {
        let columns = columns.replace('M', model);
        let factual = format!("      factual: {{{columns}}}\n");
        let moved = format!("      counterfactual: {{parquet: flip.parquet, {columns}}}\n");
        format!("  {model}:\n    scores:\n{factual}{moved}")
    });
    format!(
        "cfaudit: 1\nname: two\ndata:\n  rows: {{parquet: people.parquet}}\n  row_id: id\n{of_rows}  \
         label: {{column: risk, {label}}}\n  sensitive: {{g: {{groups: [A, B, C], reference: \
         A}}}}\ncounterfactuals: {{flip: naive}}\nmodels:\n{}metrics: {{families: [{families}], \
         compare: {{a: b}}}}\n",
        models.concat()
    )
}

/// Two models are compared on each class against all others as on a label of two sides.
#[test]
fn compared_models_collapse_to_two_sides() {
    let people = people(500, 3);
    let work = Work::new();
    let rows = people_rows(&people);
    of_two_models(rows, |(p, i)| (p.points, i)).write(&work, "people.parquet");
    let moved = people.iter().zip(0_i64..);
    let moved = moved.flat_map(|(p, i)| p.moved.iter().map(move |of| (i, of)));
    let moved = Rows::of(moved.collect::<Vec<_>>())
        .with("row_id", |(i, _)| i * 3)
        .with("to_group", |(_, of)| name(of.0));
    of_two_models(moved, |(i, of)| (of.1, i)).write(&work, "flip.parquet");
    let columns = "counterfactual scope from_group to_group metric difference undefined \
                   model_value against_value lo hi level interval ci_method n_rows";
    let of_cells = "performance, group, ccm, eccm";
    for of_rows in ["", "  weight: w\n", "  person: household\n"] {
        let label = "positive: [low], classes: [low, mid, high], favourable: positive";
        let named = "columns: {low: M_low, mid: M_mid, high: M_high}";
        work.write("job.yaml", &job_of_two(label, named, &format!("{of_cells}, scores"), of_rows));
        work.run(0, "job.yaml", "--replace");
        let page = work.read("out/annex.html");
        page.says(&["model <bdi>a</bdi> minus model <bdi>b</bdi>, set <bdi>flip</bdi>, class"]);
        if of_rows.is_empty() {
            work.same_bytes(0, "job.yaml", &["--threads 3 --batch-rows 1024"]);
        }
        let found = work.table("comparisons");
        assert!(found.records().all(|row| CLASSES.contains(&row.text("class"))));
        for class in CLASSES {
            let side = if class == "low" { "positive" } else { "negative" };
            let label = format!("positive: [{class}], favourable: {side}");
            for (column, families, of) in [("M_is", of_cells, "!"), ("M", "scores", "")] {
                let one =
                    job_of_two(&label, &format!("column: {column}_{class}"), families, of_rows);
                work.write("one.yaml", &one);
                work.cfaudit(0, "run one.yaml --out one --cache cache --replace");
                let alone = work.table("one/comparisons");
                assert!(alone.has("class="));
                // Harm is defined where the class has its side of the label for itself.
                let harm = ["denied_by_group", "favoured_by_group"];
                let others = harm.map(|metric| format!(", metric!={metric}")).concat();
                let others = if class == "low" { "" } else { &others };
                let same = alone.list(&format!("class={others}"), columns);
                assert!(same.len() > 20, "{}", same.len());
                let of_class = format!("class={class}, family{of}=scores{others}");
                assert_eq!(found.list(&of_class, columns), same, "{class}, {families}{of_rows}");
            }
        }
        let undefined = "class=mid, metric=denied_by_group, undefined!=operand_undefined";
        assert!(!found.has(undefined));
    }
}

/// Cases name the classes that a person is predicted.
#[test]
fn cases_of_classes() {
    let one = |k: usize| Some([0, 1, 2].map(|class| if class == k { 9 } else { 2 }));
    let person = |i: usize| {
        let group = i % 2;
        // A turns from low to mid, B from mid to high; every third stays.
        let moved =
            vec![(1 - group, one(if (i / 2).is_multiple_of(3) { group } else { group + 1 }))];
        Person { group, label: Some(i % 3), weight: 1, points: one(group), moved }
    };
    let people: Vec<Person> = (0..60).map(person).collect();
    let work = work(&people, 2, false, "report: {cases: 5}\n");
    work.run(0, "job.yaml", "");
    let cases = work.table("cf_examples");
    let told = cases.list("", "from_group class class_cf score decision decision_cf");
    assert_eq!(told.len(), 5);
    let ways = ["A | low | mid |  |  | ", "B | mid | high |  |  | "];
    assert!(told.iter().all(|row| ways.iter().any(|way| row == way)), "{told:?}");
    assert_eq!(cases.list("", "example").len(), 5);
    let page = work.read("out/report.html");
    page.says(&["5 of the people who switch", "<bdi>low</bdi> →"]);
    work.same_bytes(0, "job.yaml", &["--threads 3 --batch-rows 1024"]);
}

/// The tables of results of two folders are the same, byte for byte: where scores come from is in
/// none of them.
#[track_caller]
fn same_tables(work: &Work, [one, other]: [&str; 2]) {
    let names = |out: &str| {
        let files = fs::read_dir(work.path(out).join("tables")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let about_models = ["model_contract", "unknown_levels", "issues"];
        let results = names.filter(|name| !about_models.iter().any(|of| name.starts_with(of)));
        results.collect::<std::collections::BTreeSet<_>>()
    };
    assert!(names(one).contains("metrics.parquet") && names(one) == names(other));
    for name in names(one) {
        let read = |out: &str| fs::read(work.path(out).join("tables").join(&name)).unwrap();
        let told = |out: &str| {
            let rows = work.table(&format!("{out}/{}", name.trim_end_matches(".parquet"))).rows;
            rows.into_iter().take(3).collect::<Vec<_>>()
        };
        assert!(read(one) == read(other), "{name}: {:?} {:?}", told(one), told(other));
    }
}

/// A program that gives a score for each class gives what the same scores in files give; each of
/// its numbers is checked, and asked for twice.
#[test]
fn a_program_scores_each_class() {
    let mut people = people(3000, 3);
    people.retain(|p| p.points.is_some() && p.moved.iter().all(|(_, points)| points.is_some()));
    people.truncate(2000);
    assert_eq!(people.len(), 2000);
    let gate = "gates: {sr: {metric: sr, model: risk, counterfactual: flip, at_most: 1}}\n";
    let work = work(&people, 3, false, &format!("run: {{seed: 77}}\n{gate}"));
    let features = "@  sensitive\n+  features: {continuous: [own, household]}";
    let job = patched(&work.read("job.yaml"), features);
    work.write("job.yaml", &job);
    work.run(0, "job.yaml", "");
    let mut again: Vec<usize> = (0..people.len()).collect();
    let tag = u64::from_le_bytes(*b"recheck\0");
    again.sort_by_key(|&i| cfaudit::num::seed::h(77, i as u64 * 3, tag));
    again.truncate(100);
    // The second time in reverse.
    again.sort_unstable_by(|one, other| other.cmp(one));
    let answer = |below: &str, points: Vec<Points>, add: f64| {
        let of = |k: usize| column(points.iter().map(move |points| score(*points, k)));
        let high = points.iter().map(|points| {
            score(*points, 2).map(|score| score + if score > 0.5 { add } else { -add })
        });
        let columns = vec![("p_high", column(high)), ("p_low", of(0)), ("p_mid", of(1))];
        write_stream(&work.path(below), &[batch(columns)]);
    };
    let own = || people.iter().map(|p| p.points).collect::<Vec<_>>();
    let moved = people.iter().flat_map(|p| p.moved.iter().map(|(_, points)| *points));
    answer("moved.arrow", moved.collect(), 0.0);
    answer("again.arrow", again.iter().map(|&i| people[i].points).collect(), 0.0);
    answer("own.arrow", own(), 0.0);
    let script = "n=$(wc -c); if [ $n -lt 10000 ]; then cat again.arrow; elif [ $n -lt 64000 ]; \
                  then cat own.arrow; else cat moved.arrow; fi";
    let (head, tail) = job.split_once("    scores:\n").unwrap();
    let (_, tail) = tail.split_once("metrics:").unwrap();
    let asked = |classes: &str| {
        let command = format!("    command: {{score: [sh, -c, \"{script}\"], classes: {classes}}}");
        // Gates stand in the lines in which they stand in the other job.
        work.write("asked.yaml", &format!("{head}{command}\n\n\n\nmetrics:{tail}"));
    };
    asked("{low: p_low, mid: p_mid, high: p_high}");
    let run = |status: i32, cache: &str| {
        let all = format!("run asked.yaml --out asked --cache {cache} --replace");
        work.cfaudit(status, &all)
    };
    run(0, "asked-cache");
    same_tables(&work, ["out", "asked"]);
    let contract = work.table("asked/model_contract");
    let told = contract.list("kind=score", "input position column levels_known source");
    assert_eq!(told.len(), 3);
    assert_eq!(told[0], "high | -1 | p_high | 3 | job");
    assert_eq!(work.json("asked/manifest.json")["models"][0]["recheck"]["rows"], 100);
    // Another second answer about one class.
    answer("again.arrow", again.iter().map(|&i| people[i].points).collect(), -0.001);
    run(1, "second-cache");
    let issue = work.table("asked/issues");
    assert!(issue.has("code=not-repeatable"), "{:?}", issue.list("", "code"));
    assert_eq!(work.table("asked/gates").list("", "verdict"), ["inconclusive"]);
    // Scores of one class that are none.
    answer("own.arrow", own(), 0.01);
    run(3, "third-cache").says(&["bad-scores", "which is not in [0, 1]", "p_high"]);
    asked("{low: p_low, mid: p_middle, high: p_high}");
    run(3, "third-cache").says(&["bad-output", "expected `p_low`, `p_middle`, `p_high`"]);
}

/// An ONNX file that gives a probability for each class gives what its columns, asked for one by
/// one, give in files.
#[cfg(feature = "onnx")]
#[test]
fn an_onnx_file_scores_each_class() {
    let work = Work::new();
    let model = crate::work::root().join("tests/onnx/three.onnx");
    fs::copy(model, work.path("three.onnx")).unwrap();
    let x = |i: i64| crate::work::draw(i, 2) * 4.0 - 1.0;
    let rows = || {
        Rows::of(0..900_i64)
            .with("id", |i| i)
            .with("g", |i| i % 2)
            .with("x", x)
            .with("risk", |i| CLASSES[(i * 7 % 3) as usize])
    };
    rows().write(&work, "people.parquet");
    let job = |label: &str, model: &str, more: &str| {
        format!(
            "cfaudit: 1\nname: asked\ndata:\n  rows: {{parquet: people.parquet}}\n  row_id: id\n  \
             label: {{column: risk, {label}, favourable: positive}}\n  sensitive: {{g: {{groups: \
             [0, 1], reference: 0}}}}\n  features: {{continuous: [x]}}\ncounterfactuals: {{flip: \
             naive}}\nmodels: {{risk: {{{model}}}}}\n{more}"
        )
    };
    let label = "positive: [low], classes: [low, mid, high]";
    let onnx = |key: &str| format!("onnx: {{model: three.onnx, columns: [g, x], {key}}}");
    work.write("asked.yaml", &job(label, &onnx("classes: {high: 0, low: 2, mid: 1}"), ""));
    let ran = work.command("run asked.yaml --out out --cache cache").output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    if said.contains("error[no-runtime]") {
        crate::work::skip(
            "no library of the ONNX runtime here: pip install onnxruntime, or set ORT_DYLIB_PATH",
        );
        return;
    }
    assert_eq!(ran.status.code(), Some(0), "{said}");
    let scores = [("low", 2), ("mid", 1), ("high", 0)].map(|(class, column)| {
        let kept = "run: {keep_rows: outcomes}\n";
        let one = job(&format!("positive: [{class}]"), &onnx(&format!("class: {column}")), kept);
        work.write("one.yaml", &one);
        work.cfaudit(0, "run one.yaml --out one --cache cache --replace");
        let rows = work.table("one/outcomes");
        let both = |row: TableRecord<'_>| ["score", "score_cf"].map(|name| row.real(name).unwrap());
        rows.records().map(both).collect::<Vec<_>>()
    });
    let scores = &scores;
    let of = |k: usize, moved: usize| move |i: i64| scores[k][i as usize][moved];
    rows()
        .with("p_low", of(0, 0))
        .with("p_mid", of(1, 0))
        .with("p_high", of(2, 0))
        .write(&work, "people.parquet");
    Rows::of(0..900_i64)
        .with("row_id", |i| i)
        .with("to_group", |i| ["1", "0"][(i % 2) as usize])
        .with("p_low", of(0, 1))
        .with("p_mid", of(1, 1))
        .with("p_high", of(2, 1))
        .write(&work, "flip.parquet");
    let columns = "columns: {low: p_low, mid: p_mid, high: p_high}";
    let files = format!(
        "scores: {{factual: {{{columns}}}, counterfactual: {{parquet: flip.parquet, {columns}}}}}"
    );
    work.write("files.yaml", &job(label, &files, ""));
    work.cfaudit(0, "run files.yaml --out files --cache cache");
    same_tables(&work, ["out", "files"]);
    let switched = work.table("transitions");
    assert!(switched.of("scope=total").filter(|row| row.int("numerator") > Some(20)).count() > 1);
    // A class of the label that the file has not, and a class of the file that the label has not.
    for (classes, words) in [
        ("{high: 0, low: 3, mid: 1}", "no class `3`"),
        ("{high: 0, low: 1.0, mid: 1}", "two classes of the label are the class `1`"),
    ] {
        work.write("bad.yaml", &job(label, &onnx(&format!("classes: {classes}")), ""));
        work.cfaudit(2, "run bad.yaml --out bad --cache cache").says(&["model-class", words]);
    }
    let two = "positive: [low], classes: [low, mid]";
    let bad = job(two, &onnx("classes: {low: 0, mid: 1}"), "");
    let kept = "  row_id: id\n  keep: [{risk: {in: [low, mid]}}]\n";
    work.write("bad.yaml", &bad.replace("  row_id: id\n", kept));
    let said = work.cfaudit(2, "run bad.yaml --out bad --cache cache");
    said.says(&["the model has 3 classes (`0`, `1`, `2`), and the label 2"]);
}
