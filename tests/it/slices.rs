//! Slices: the numbers inside a value are those of a job that keeps nobody else; small ones are
//! named, and nothing else changes.

use crate::frame::{TableCell, TableFrame, TableRecord};

use crate::rows_out::draw;
use crate::work::{Rows, Says, Work};

fn job(name: &str, keep: &str, by: &str, weight: &str) -> String {
    format!(
        "cfaudit: 1
name: {name}
data:
  rows: {{parquet: people.parquet}}
  row_id: id
  keep: [{keep}]
  label: {{column: repaid, positive: [1], favourable: positive}}
  sensitive:
    sex: {{groups: [m, f], reference: m}}
    town: {{groups: [a, b, c], reference: a}}
  features: {{nominal: [shift]}}
  {weight}
counterfactuals: {{flip: {{naive: {{}}}}}}
models:
  live:
    scores:
      factual: {{column: score}}
      counterfactual: {{parquet: {name}.parquet, column: score}}
    threshold: 0.5
metrics:
  families: [performance, group, ccm, eccm, shift, clarify, scores]
  bootstrap: {{samples: 60}}
  {by}
run: {{keep_rows: none}}
"
    )
}

/// 400 people, see [`many_people`].
fn people(work: &Work, name: &str, inside: [&str; 2]) {
    many_people(work, 400, name, inside);
}

/// People of two sexes in three towns, early or late or neither, with their scores; and those of
/// the counterfactuals of the people whose shift and town contain these words, in the file
/// `NAME.parquet`.
fn many_people(work: &Work, n: usize, name: &str, [in_shift, in_town]: [&str; 2]) {
    let pick = |i: usize, salt: usize, of: &[&'static str]| of[draw(i, salt) % of.len()];
    let sex = move |i: usize| pick(i, 1, &["m", "f"]);
    let town = move |i: usize| pick(i, 2, &["a", "a", "a", "b", "b", "c"]);
    let shifts = ["early", "early", "late", "late", "late", ""];
    let shift = move |i: usize| pick(i, 3, &shifts);
    let score = |i: usize, salt: usize| draw(i, salt) as f64 / 1000.0;
    Rows::of(0..n)
        .with("id", |i| i as i64)
        .with("sex", sex)
        .with("town", town)
        .with("shift", |i| Some(shift(i)).filter(|shift| !shift.is_empty()))
        .with("repaid", |i| i64::from(draw(i, 4) > 450))
        .with("weight", |i| (draw(i, 5) % 4) as f64)
        .with("score", |i| score(i, 6))
        .write(work, "people.parquet");
    let moved = (0..n)
        .filter(|&i| shift(i).contains(in_shift) && town(i).contains(in_town))
        .flat_map(|i| {
            let groups = [("sex", "m"), ("sex", "f"), ("town", "a"), ("town", "b"), ("town", "c")];
            let others = groups.into_iter().enumerate();
            let others = others.filter(move |(_, (_, group))| ![sex(i), town(i)].contains(group));
            others.map(move |(k, to)| (i, k, to))
        });
    Rows::of(moved)
        .with("row_id", |(i, ..)| i as i64)
        .with("sensitive", |(.., to)| to.0)
        .with("to_group", |(.., to)| to.1)
        .with("score", |(i, k, _)| score(i, 10 + k))
        .write(work, &format!("{name}.parquet"));
}

/// The rows of one slice and attribute, without the slice.
pub(crate) fn rows_of(frame: &TableFrame, slice: &str, attribute: &str) -> Vec<Vec<TableCell>> {
    let (at, of) = (frame.column("slice"), frame.column("sensitive"));
    let is = |cell: &TableCell, word: &str| matches!(cell, TableCell::Text(text) if text == word);
    // Scores are drawn of everybody.
    let is_drawn =
        |cell: &TableCell| matches!(cell, TableCell::Text(text) if text.starts_with("drawn_"));
    let mut rows: Vec<Vec<TableCell>> = frame
        .rows
        .iter()
        .filter(|row| is(&row[at], slice) && is(&row[of], attribute))
        .filter(|row| !row.iter().any(is_drawn))
        .cloned()
        .collect();
    rows.iter_mut().for_each(|row| row[at] = TableCell::Text(String::new()));
    rows
}

#[test]
fn a_slice_is_a_job_that_keeps_nobody_else() {
    for weight in ["", "weight: weight"] {
        let work = Work::new();
        people(&work, "all", ["", ""]);
        let by = "by: [shift, town]\n  smallest_cell: 12";
        work.write("all.yaml", &job("all", "", by, weight));
        work.cfaudit(0, "run all.yaml --cache cache --out all");
        let cases = [
            ("shift=early", "{shift: {in: [early]}}", ["early", ""], "sex"),
            ("shift=late", "{shift: {in: [late]}}", ["late", ""], "town"),
            ("town=b", "{town: {in: [b]}}", ["", "b"], "sex"),
            (
                "shift=late & town=a",
                "{shift: {in: [late]}}, {town: {in: [a]}}",
                ["late", "a"],
                "sex",
            ),
        ];
        for (slice, keep, inside, attribute) in cases {
            people(&work, "one", inside);
            work.write("one.yaml", &job("one", keep, "", weight));
            work.cfaudit(0, "run one.yaml --cache cache --out one --replace");
            for def in ["metrics", "counts", "groups", "score_shift"] {
                let (sliced, kept) = (
                    rows_of(&work.table(&format!("all/{def}")), slice, attribute),
                    rows_of(&work.table(&format!("one/{def}")), "", attribute),
                );
                assert!(
                    !kept.is_empty() && sliced == kept,
                    "{} of `{slice}`, {weight}: {} and {} rows",
                    def,
                    sliced.len(),
                    kept.len()
                );
            }
        }
        // Groups are not slices of themselves.
        let groups = work.table("all/groups");
        assert!(groups.of("sensitive=town").all(|row| !row.text("slice").contains("town=")));
        // All rows as if nobody had asked for slices.
        work.write("none.yaml", &job("all", "", "", weight));
        work.cfaudit(0, "run none.yaml --cache cache --out none");
        for attribute in ["sex", "town"] {
            let whole = |out: &str| rows_of(&work.table(&format!("{out}/metrics")), "", attribute);
            assert!(whole("all") == whole("none"), "{attribute}");
        }
    }
}

/// Score metrics of large slices are those of a job that keeps nobody else; on any number of threads
/// the same bytes.
#[test]
fn scores_of_large_slices_are_those_of_a_job_that_keeps_nobody_else() {
    let (work, n) = (Work::new(), 13_000);
    many_people(&work, n, "all", ["", ""]);
    work.write("all.yaml", &job("all", "", "by: [shift]", ""));
    for threads in [1, 2, 7] {
        work.cfaudit(
            0,
            &format!("run all.yaml --cache off --out all{threads} --threads {threads}"),
        );
    }
    let bytes = |out: &str| std::fs::read(work.path(&format!("{out}/tables/metrics.parquet")));
    let first = bytes("all1").unwrap();
    assert!(["all2", "all7"].iter().all(|out| bytes(out).unwrap() == first));
    for shift in ["early", "late"] {
        many_people(&work, n, "one", [shift, ""]);
        let keep = format!("{{shift: {{in: [{shift}]}}}}");
        work.write("one.yaml", &job("one", &keep, "", ""));
        work.cfaudit(0, "run one.yaml --cache off --out one --replace");
        // By metric and place the value, its interval and how that was made.
        let of = |out: &str, slice: &str| -> Vec<(String, [Option<f64>; 3], String)> {
            let table = work.table(&format!("{out}/metrics"));
            let is_of = |row: &TableRecord<'_>| {
                row.text("slice") == slice
                    && ["rmscd", "mcd", "macd", "jscd", "kld"].contains(&row.text("metric"))
            };
            let key = ["sensitive", "metric", "scope", "from_group", "to_group"];
            let numbers_of = |row: TableRecord<'_>| {
                let place = key.map(|column| row.text(column)).join("/");
                let numbers = ["value", "lo", "hi"].map(|column| row.real(column));
                (place, numbers, row.text("interval").to_owned())
            };
            table.records().filter(is_of).map(numbers_of).collect()
        };
        let (sliced, kept) = (of("all1", &format!("shift={shift}")), of("one", ""));
        assert_eq!(sliced, kept, "{shift}");
        let drawn = |word: &str| sliced.iter().filter(|row| row.2 == word).count();
        assert!(drawn("student") >= 5 && drawn("log-student") >= 20, "{shift}");
    }
}

/// Rates at every threshold and bins of scores inside slices, of people with and without weights.
#[test]
fn curves_of_a_slice_are_those_of_a_job_that_keeps_nobody_else() {
    for weight in ["", "weight: weight"] {
        let work = Work::new();
        people(&work, "all", ["", ""]);
        work.write("all.yaml", &job("all", "", "by: [town]\n  smallest_cell: 12", weight));
        work.cfaudit(0, "run all.yaml --cache cache --out all --threads 2");
        people(&work, "one", ["", "b"]);
        work.write("one.yaml", &job("one", "{town: {in: [b]}}", "", weight));
        work.cfaudit(0, "run one.yaml --cache cache --out one");
        for def in ["curves", "reliability"] {
            let of = |out: &str, slice: &str| {
                rows_of(&work.table(&format!("{out}/{def}")), slice, "sex")
            };
            let (sliced, kept) = (of("all", "town=b"), of("one", ""));
            assert!(!kept.is_empty() && sliced == kept, "{def}: {} rows", sliced.len());
        }
        // The table is in the order of its key, whatever was measured first.
        let curves = work.table("all/curves");
        let key = |row: &TableRecord<'_>| {
            let texts = ["counterfactual", "sensitive", "scope", "from_group", "to_group", "slice"];
            (texts.map(|c| row.text(c).to_owned()), row.text("metric").to_owned(), row.int("step"))
        };
        assert!(curves.records().map(|row| key(&row)).is_sorted());
        // Groups are not slices of themselves; small slices have no curves.
        let slices = |sensitive: &str| -> Vec<String> {
            let of = curves.of(&format!("sensitive={sensitive}"));
            let mut all: Vec<String> = of.map(|row| row.text("slice").to_owned()).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        assert_eq!(slices("sex"), ["", "town=a", "town=b", "town=c"]);
        assert_eq!(slices("town"), [""]);
        assert!(!work.path("all/curve-files").exists());
    }
}

#[test]
fn small_slices_are_counted_and_named() {
    let work = Work::new();
    people(&work, "small", ["", ""]);
    work.write("job.yaml", &job("small", "", "by: [shift, town]\n  smallest_cell: 60", ""));
    work.cfaudit(0, "run job.yaml --cache cache --out out");
    let (groups, metrics, issues) =
        (work.table("out/groups"), work.table("out/metrics"), work.table("out/issues"));
    let people = |slice: &str| {
        let whole = groups.of(&format!("slice={slice}, sensitive=sex, group=")).next();
        whole.and_then(|row| row.int("n")).unwrap_or(0)
    };
    let measured = |slice: &str| metrics.has(&format!("slice={slice}, sensitive=sex"));
    let small = "shift=early & town=c";
    assert!(
        (1..60).contains(&people(small)) && !measured(small) && measured("shift=late"),
        "{} people",
        people(small)
    );
    let issue = issues.at("code=small-slice, where=sex");
    issue.text("text").says(&[&format!("`{small}` ({})", people(small))]);
    issues.at("code=missing-slice").holds("where=shift");
    work.read("out/annex.html").says(&["Inside slices", "small-slice"]);
    assert!(work.cfaudit(0, "explain acc --in out").stdout.contains("shift=late & town=a"));
}
