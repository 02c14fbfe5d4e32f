//! The page that people sign: its size in bytes and words, that every value leads to its row in the
//! annex, and how many sheets it prints on where a browser is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::work::Work;

/// What a page may weigh, and how many words it may have.
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

#[test]
fn the_page_of_the_demo_is_short_and_leads_into_its_annex() {
    let work = Work::with_jobs();
    work.run(0, "jobs/demo.yaml", FEW);
    let path = work.path("out/report.html");
    let page = fs::read_to_string(&path).unwrap();
    let annex = fs::read_to_string(work.path("out/annex.html")).unwrap();
    assert!(page.len() < BYTES_AT_MOST, "{} bytes", page.len());
    assert!(words(&page) < WORDS_AT_MOST, "{} words", words(&page));
    let (ids, links) = (values(&annex, "id"), values(&page, "href"));
    let rows: Vec<&str> =
        links.iter().filter_map(|link| link.strip_prefix("annex.html#")).collect();
    assert!(rows.len() > 8, "{rows:?}");
    for row in rows {
        assert!(ids.contains(row), "the annex has no row {row}");
    }
    for said in ["treats women worse", "would be refused as women", "would be granted as men"] {
        assert!(page.contains(said), "{said}");
    }
    if let Some(sheets) = sheets(&path, &work.path("")) {
        assert!(sheets <= 8, "{sheets} sheets");
    }
    // Without an annex nothing leads there.
    work.run(0, "jobs/demo.yaml", &format!("{FEW} --set report.annex=none"));
    let alone = fs::read_to_string(&path).unwrap();
    assert!(!alone.contains("annex.html") && !work.path("out/annex.html").exists());
}
