//! The page that people sign: its size in bytes and words, the links from every value to its row in
//! the annex, and, where a browser is installed, the number of printed sheets.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::case_folders::text_of;
use crate::frame::{TableRecord, read_frame};
use crate::work::{Says, Work, python3_imports, root, shared, yaml_files};

/// The most bytes and words of a page.
const BYTES_AT_MOST: usize = 400_000;
const WORDS_AT_MOST: usize = 5_000;

/// Few rows and replicates, so that the job is quick.
const FEW: &str = "--set data.rows.synthetic.rows=3000 --set metrics.bootstrap.samples=50";

fn words(html: &str) -> usize {
    let body = &html[html.find("<main").unwrap()..];
    let text: String = body
        .split('<')
        .filter_map(|piece| piece.split_once('>'))
        .fold(String::new(), |text, (_, words)| text + " " + words);
    text.split_whitespace().count()
}

/// Values of an attribute.
fn values<'h>(html: &'h str, attribute: &str) -> BTreeSet<&'h str> {
    let start = format!(" {attribute}=\"");
    html.split(start.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Sheets of A4, as Chromium prints them; none where there is no Chromium.
fn sheets(page: &Path, into: &Path) -> Option<usize> {
    let chromium = Path::new("/usr/bin/chromium");
    if !chromium.exists() {
        return None;
    }
    let pdf = into.join("page.pdf");
    let done = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"])
        .arg(format!("--user-data-dir={}", into.join("browser").display()))
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(page)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let pdf = fs::read(pdf).unwrap();
    let count = |what: &[u8]| pdf.windows(what.len()).filter(|bytes| *bytes == what).count();
    Some(count(b"/Type /Page") - count(b"/Type /Pages"))
}

/// In the annex the bars of the changes of scores have heights in proportion to the table of bins.
fn check_histograms(work: &Work) {
    let annex = work.read("out/annex.html");
    let title = "<title>Change of the score, Female \u{2192} Male</title>";
    let (_, drawing) = annex.split_once(title).unwrap();
    let (drawing, _) = drawing.split_once("</svg>").unwrap();
    let height = |bar: &str| -> f64 {
        let (_, height) = bar.split_once(" height=\"").unwrap();
        height.split_once('"').unwrap().0.parse().unwrap()
    };
    let drawn: Vec<f64> = drawing.split("class=\"stay sl\"").skip(1).map(height).collect();
    let bins = work.table("score_shift");
    let n: Vec<f64> = bins
        .records()
        .filter(|row| {
            let key = [("model", "scorecard"), ("side", "change"), ("from_group", "Female")];
            row.text("scope") == "direction" && key.iter().all(|(at, is)| row.text(at) == *is)
        })
        .filter_map(|row| row.int("n").map(|n| n as f64))
        .filter(|n| *n > 0.0)
        .collect();
    assert!(n.len() > 2 && drawn.len() == n.len(), "{n:?} {drawn:?}");
    let most = n.iter().copied().fold(0.0, f64::max);
    let top = drawn.iter().copied().fold(0.0, f64::max);
    for (n, height) in n.iter().zip(&drawn) {
        assert!((height / top - n / most).abs() < 0.01, "{n} {height}: {drawn:?}");
    }
}

#[test]
fn the_page_of_the_demo_is_short_and_leads_into_its_annex() {
    let work = Work::with_jobs();
    work.run(0, "jobs/demo.yaml", FEW);
    let path = work.path("out/report.html");
    let numbers = check_page(&work, "jobs/demo.yaml", 8);
    check_histograms(&work);
    assert!(numbers >= 40, "{numbers} numbers were compared");
    let text = text_of(&fs::read_to_string(&path).unwrap());
    text.says(&["treats women worse", "would be refused as women", "would be granted as men"]);
    // Without an annex nothing leads there.
    work.run(0, "jobs/demo.yaml", &format!("{FEW} --set report.annex=none"));
    let alone = fs::read_to_string(&path).unwrap();
    assert!(!alone.contains("annex.html") && !work.path("out/annex.html").exists());
}

/// A job whose page is read.
struct PrintedJob {
    file: &'static str,
    flags: String,
    /// The most A4 sheets on which it may print.
    sheets: usize,
    /// What Python must be able to import for it.
    imports: &'static str,
}

/// The jobs whose pages are read.
fn pages_of_jobs(work: &Work) -> Vec<PrintedJob> {
    let many: Vec<String> = (b'a'..=b'e').map(|c| format!("{}: 0.2", c as char)).collect();
    let groups: Vec<&str> = vec!["a", "b", "c", "d", "e"];
    work.write(
        "many.yaml",
        &format!(
            "cfaudit: 1
name: many
data:
  rows:
    synthetic:
      rows: 4000
      columns:
        town: {{levels: {{{}}}}}
        income:
          linear:
            intercept: 20
            effects: {{\"town=b\": 3, \"town=c\": -4, \"town=e\": 6}}
            noise: {{normal: {{sd: 6}}}}
        paid: {{logit: {{intercept: -2, effects: {{income: 0.11, \"town=d\": -0.8}}}}}}
  label: {{column: paid, positive: [1], favourable: positive}}
  sensitive: {{town: {{groups: [{}], reference: a}}}}
  features: {{continuous: [income]}}
  split: {{share: {{train: 0.5, audit: 0.5}}}}
counterfactuals:
  flip: {{naive: {{}}}}
  world: {{plausible: {{move: [income], condition_on: label}}}}
models: {{own: {{logistic: {{l2: 1.0}}}}}}
metrics: {{bootstrap: {{samples: 50}}}}
report: {{cases: 3}}
",
            many.join(", "),
            groups.join(", ")
        ),
    );
    work.write(
        "sliced.yaml",
        "cfaudit: 1
name: sliced
include: [jobs/demo.yaml]
data:
  rows: {synthetic: {columns: {region: {levels: {north: 0.5, south: 0.5}}}}}
  features: {nominal: [education, region]}
metrics: {by: [education, region], bootstrap: {samples: 50}}
",
    );
    let printed = |file, flags: &str, sheets| PrintedJob {
        file,
        flags: flags.to_owned(),
        sheets,
        imports: "",
    };
    let mut jobs = vec![printed("many.yaml", "", 12), printed("sliced.yaml", FEW, 12)];
    if let Some(data) = shared("data/german/german.data")
        .and_then(|file| Some(file.parent()?.parent()?.display().to_string()))
    {
        let at = format!("--data-dir {data}");
        jobs.push(printed("jobs/german-recourse.yaml", &at, 10));
        jobs.push(printed("jobs/compas-graph.yaml", &at, 10));
        let rows = printed("jobs/compas-graph-rows.yaml", &at, 10);
        jobs.push(PrintedJob { imports: "pyarrow, onnxruntime", ..rows });
        jobs.push(printed("jobs/heart.yaml", &at, 10));
        jobs.push(printed("jobs/law.yaml", &at, 10));
        if cfg!(feature = "lightgbm") {
            jobs.push(printed("jobs/adult.yaml", &at, 14));
            jobs.push(printed("jobs/adult-augment.yaml", &at, 10));
        }
    }
    jobs
}

/// The shipped jobs whose pages are not printed, with what Python must be able to import for them.
const OTHER_JOBS: [(&str, &str); 12] = [
    ("adult-graph", ""),
    ("adult-recourse", ""),
    ("challenger", "pyarrow"),
    ("compas", ""),
    ("compas-augment", ""),
    ("compas-recourse", ""),
    ("gate-demo", ""),
    ("german", ""),
    ("heart-augment", ""),
    ("onnx", "onnxruntime"),
    ("premiums", "pyarrow"),
    ("synthetic-graph", ""),
];

/// Shipped jobs that need more than this test has: rows of a bank, and libraries that train.
const NOT_RUN: [&str; 2] = ["production", "programs"];

/// Checks each row of the table `gates` of `out`: an inconclusive one has the number of people who
/// would decide it, or a word for why there is none, and no other row has a number; how many rows
/// are inconclusive.
fn check_needs(work: &Work, job: &str) -> usize {
    const NUMBERS: [&str; 4] = ["exact", "normal", "effective", "interval"];
    const REASONS: &str = "on_the_limit more_than_cap boundary undefined no_interval by_estimate by_worlds by_fit \
         by_training by_all skipped other_reason";
    let gates = work.table("gates");
    let mut open = 0;
    for row in gates.records() {
        let (gate, verdict, how) = (row.text("gate"), row.text("verdict"), row.text("needed_how"));
        let what = format!("{job}, {gate}: {verdict}, {how:?}");
        let names = ["n_needed_80", "n_needed_95", "people_needed_80", "people_needed_95"];
        let [n, _, people, _] = names.map(|name| row.int(name));
        if verdict == "inconclusive" {
            open += 1;
            assert!(NUMBERS.contains(&how) || REASONS.split(' ').any(|of| of == how), "{what}");
            assert_eq!(n.is_some() && people.is_some(), NUMBERS.contains(&how), "{what}");
            assert!(
                n.is_none_or(|n| n >= row.int("enough").unwrap() && people >= Some(n)),
                "{what}"
            );
        } else {
            assert!(names.into_iter().all(|name| row.int(name).is_none()), "{what}");
            assert!(how == "decided" || REASONS.split(' ').any(|of| of == how), "{what}");
        }
    }
    open
}

#[test]
#[ignore = "slow, `make test-slow` runs it: the pages of the shipped audits, printed"]
fn pages_of_shipped_jobs_are_short_and_their_numbers_are_those_of_the_tables() {
    let work = Work::with_jobs();
    std::os::unix::fs::symlink(root().join("jobs/models"), work.path("jobs/models")).unwrap();
    work.run(0, "jobs/demo.yaml", "");
    let mut numbers = check_page(&work, "jobs/demo.yaml", 8);
    let (mut open, mut printed) = (check_needs(&work, "demo"), vec!["demo".to_owned()]);
    for PrintedJob { file, flags, sheets, imports } in pages_of_jobs(&work) {
        printed.push(file.trim_start_matches("jobs/").trim_end_matches(".yaml").to_owned());
        if imports.is_empty() || python3_imports(imports) {
            work.run(0, file, &format!("--gates report --replace {flags}"));
            numbers += check_page(&work, file, sheets);
            open += check_needs(&work, file);
        }
    }
    let Some(data) = shared("data/german/german.data").filter(|_| cfg!(feature = "lightgbm"))
    else {
        return;
    };
    assert!(numbers >= 500, "{numbers} numbers were compared");
    let data = data.parent().unwrap().parent().unwrap().display();
    for (job, imports) in OTHER_JOBS {
        if imports.is_empty() || python3_imports(imports) {
            let flags = format!("--gates report --replace --data-dir {data}");
            work.run(0, &format!("jobs/{job}.yaml"), &flags);
            open += check_needs(&work, job);
        }
    }
    println!("{open} inconclusive rows of gates");
    // No job is left out.
    let elsewhere = || OTHER_JOBS.iter().map(|of| of.0).chain(NOT_RUN);
    for file in yaml_files("jobs") {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let known = printed.contains(&name) || elsewhere().any(|job| job == name);
        assert!(known, "{name} is in no list of this test");
    }
}

/// Checks the page of `out`: bytes, words, sheets, links, and every number that leads into the
/// annex against the tables; how many numbers.
fn check_page(work: &Work, job: &str, most: usize) -> usize {
    let path = work.path("out/report.html");
    let page = fs::read_to_string(&path).unwrap();
    let annex = work.read("out/annex.html");
    assert!(page.len() < BYTES_AT_MOST, "{job}: {} bytes", page.len());
    assert!(words(&page) < WORDS_AT_MOST, "{job}: {} words", words(&page));
    if let Some(sheets) = sheets(&path, &work.path("")) {
        assert!(sheets <= most, "{job}: {sheets} sheets, at most {most}");
    }
    let (own, ids) = (values(&page, "id"), values(&annex, "id"));
    for link in values(&page, "href") {
        match (link.strip_prefix("annex.html#"), link.strip_prefix('#')) {
            (Some(there), _) => assert!(ids.contains(there), "{job}: no {there} in the annex"),
            // Marks are drawn by `use`.
            (None, Some(here)) => assert!(own.contains(here), "{job}: no {here} on the page"),
            _ => assert_eq!(link, "annex.html", "{job}"),
        }
    }
    numbers_of(&page, work, job)
}

/// A number as the page writes it, and half of its last digit.
fn read_number(text: &str) -> Option<(f64, f64)> {
    let plain: String = text
        .replace('\u{2212}', "-")
        .replace("below", "")
        .chars()
        .filter(|c| c.is_ascii_digit() || "+-.".contains(*c))
        .collect();
    let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let half = 0.5 * 10_f64.powi(-i32::try_from(decimals).ok()?);
    Some((plain.parse().ok()?, if text.contains("below") { 2.0 * half } else { half }))
}

/// Whether a number of a table is written as such a text, in per cent or plain.
fn is_written(value: f64, text: &str) -> bool {
    let Some((shown, half)) = read_number(text) else { return false };
    [value, 100.0 * value].iter().any(|value| (value - shown).abs() <= half * (1.0 + 1e-9))
}

fn tags_cut(html: &str) -> String {
    html.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text)).collect()
}

/// A row of the page whose value leads into the annex: where to, and its cells.
struct LinkedRow {
    anchor: String,
    counts: Option<(i64, i64)>,
    value: String,
    ends: Option<(String, String)>,
}

fn linked_rows(page: &str) -> Vec<LinkedRow> {
    let mut found = Vec::new();
    for row in page.split("<tr role=\"row\"").skip(1) {
        let row = row.split("</tr>").next().unwrap();
        let Some((_, link)) = row.split_once("<b><a href=\"annex.html#") else { continue };
        let (anchor, rest) = link.split_once("\">").unwrap();
        let value = rest.split("</a>").next().unwrap().to_owned();
        let people = row.split_once("class=\"n\">").unwrap().1.split("</td>").next().unwrap();
        let whole = |text: &str| {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            digits.parse::<i64>().ok()
        };
        let people = tags_cut(people);
        let counts = people
            .split_once(" of ")
            .filter(|_| !people.contains("about"))
            .and_then(|(part, all)| Some((whole(part)?, whole(all)?)));
        let ends = rest.split_once("<small>").and_then(|(_, small)| {
            let small = small.split("</small>").next().unwrap().replace("graphs ", "");
            let (lo, hi) = small.split_once(" to ")?;
            Some((lo.to_owned(), hi.to_owned()))
        });
        found.push(LinkedRow { anchor: anchor.to_owned(), counts, value, ends });
    }
    found
}

/// Compares every number that leads into the annex with its row of the tables.
fn numbers_of(page: &str, work: &Work, job: &str) -> usize {
    let tables = work.path("out/tables");
    let (metrics, gates) = (read_frame(&tables, "metrics"), read_frame(&tables, "gates"));
    let plain = ["arm", "slice", "class"];
    let mut n = 0;
    for row in linked_rows(page) {
        let LinkedRow { anchor, counts, value, ends } = &row;
        let numbers = counts.map_or(0, |_| 2) + 1 + ends.as_ref().map_or(0, |_| 2);
        let is = |value_of: Option<f64>, lo: Option<f64>, hi: Option<f64>, turned: bool| {
            let turn = |x: f64| if turned { 1.0 - x } else { x };
            let (lo, hi) = if turned { (hi, lo) } else { (lo, hi) };
            value_of.is_some_and(|x| is_written(turn(x), value))
                && ends.as_ref().is_none_or(|(a, b)| {
                    lo.is_some_and(|lo| is_written(turn(lo), a))
                        && hi.is_some_and(|hi| is_written(turn(hi), b))
                })
        };
        let counted = |record: &TableRecord<'_>, turned: bool| {
            let of = record.int("numerator").zip(record.int("denominator"));
            counts.is_none_or(|(part, all)| {
                of.is_some_and(|(k, n)| (if turned { n - k } else { k }, n) == (part, all))
            })
        };
        let of_metrics = |ids: &[&str], turned: bool| {
            metrics.records().any(|record| {
                ids.contains(&record.text("metric"))
                    && plain.into_iter().all(|key| record.text(key).is_empty())
                    && counted(&record, turned)
                    && is(record.real("value"), record.real("lo"), record.real("hi"), turned)
            })
        };
        let found = if anchor.starts_with("all-") {
            of_metrics(&["denied_by_group", "favoured_by_group", "nsr", "psr", "sr"], false)
        } else if let Some(gate) = anchor.strip_prefix("limit-") {
            gates.records().any(|record| {
                record.text("gate") == gate
                    && is(record.real("value"), record.real("lo"), record.real("hi"), false)
            })
        } else if anchor.ends_with("pprev") {
            of_metrics(&["pprev"], false) || of_metrics(&["pprev"], true)
        } else {
            // Sections as a whole: of changes and arms, which have tables of their own.
            continue;
        };
        assert!(found, "{job}, {anchor}: {counts:?} {value} {ends:?} stands in no table");
        n += numbers;
    }
    assert!(n > 0 || !page.contains("<b><a href"), "{job}: no number was compared");
    n
}
