//! The documents: what is made from the program's own lists is fresh, and every link leads
//! somewhere.
//!
//! `CFAUDIT_BLESS=1` rewrites the parts that are made from lists.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use cfaudit::explain::range;
use cfaudit::metric::Metric;
use cfaudit::metric::catalog::catalog;
use cfaudit::table::TableDef;
use cfaudit::table::list::TABLES;

use crate::work::{Work, root, yaml_files};

/// Where a part that is made from a list begins and ends inside of a document.
const BEGIN: &str = "<!-- made from the program's list; CFAUDIT_BLESS=1 cargo test --test it docs \
    rewrites it -->\n";
const END: &str = "<!-- end of the list -->\n";

/// Text inside of a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").replace('<', "&lt;")
}

fn table(table: &TableDef) -> String {
    let mut text = format!(
        "## {}\n\nOne row per {}. Version {}; written by {}, read by {}.\n\n\
         | Column | Type | Null | Meaning |\n| --- | --- | --- | --- |\n",
        table.name,
        cell(table.one_row_per),
        table.version,
        cell(table.writer),
        cell(table.readers)
    );
    for (i, column) in table.columns.iter().enumerate() {
        let name = if i < table.n_key {
            format!("**`{}`**", column.name)
        } else {
            format!("`{}`", column.name)
        };
        let (kind, null) =
            (format!("{:?}", column.kind).to_lowercase(), if column.nullable { "yes" } else { "" });
        writeln!(text, "| {name} | {kind} | {null} | {} |", cell(column.meaning)).unwrap();
    }
    text + "\n"
}

fn tables() -> String {
    let list: String =
        TABLES.iter().map(|t| format!("[{0}](#{0})", t.name)).collect::<Vec<_>>().join(", ");
    format!("{list}\n\n{}", TABLES.iter().map(|t| table(t)).collect::<String>())
}

fn metrics() -> String {
    let mut text = String::new();
    let mut family = None;
    for metric in catalog() {
        if family != Some(metric.family) {
            family = Some(metric.family);
            let head = "| Id | Symbol | Formula | Meaning | Range | Ideal | Undefined when |\n\
                        | --- | --- | --- | --- | --- | --- | --- |";
            write!(text, "\n### Family `{}`\n\n{head}\n", metric.family.as_str()).unwrap();
        }
        let Metric { id, symbol, formula, reading, undefined_when, .. } = metric;
        let ideal = metric.ideal.map_or_else(String::new, |ideal| ideal.to_string());
        let cells = [
            &format!("`{id}`"),
            *symbol,
            *formula,
            *reading,
            &range(metric.range),
            &ideal,
            *undefined_when,
        ]
        .map(cell);
        writeln!(text, "| {} |", cells.join(" | ")).unwrap();
    }
    text + "\n"
}

/// Asserts that a document holds this between its marks, or writes it there.
#[track_caller]
fn assert_fresh(document: &str, made: &str) {
    let path = root().join("docs").join(document);
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("a mark where the list begins");
    let (there, after) = rest.split_once(END).expect("a mark where the list ends");
    if std::env::var_os("CFAUDIT_BLESS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{made}{END}{after}")).unwrap();
    } else {
        assert!(
            there == made,
            "docs/{document} is stale: CFAUDIT_BLESS=1 cargo test --test it docs"
        );
    }
}

#[test]
fn the_lists_of_tables_and_metrics_are_fresh() {
    assert_fresh("tables.md", &tables());
    assert_fresh("metrics.md", &metrics());
}

/// The documents of this tree.
fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["README.md", "CHANGELOG.md", "jobs/models/README.md"]
        .iter()
        .map(|name| root().join(name))
        .collect();
    found.extend(
        fs::read_dir(root().join("docs"))
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| p.extension().is_some_and(|e| e == "md")),
    );
    found
}

/// The text without its comments and blocks of code.
fn prose(text: &str) -> String {
    let without: String = text
        .split("<!--")
        .enumerate()
        .map(|(i, part)| if i == 0 { part } else { part.split_once("-->").unwrap().1 })
        .collect();
    without.split("```").step_by(2).collect()
}

/// The places that links lead to: `[text](place)`.
fn links(prose: &str) -> Vec<&str> {
    prose
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(place, _)| place)
        .collect()
}

/// The name of a heading in a link, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept =
        heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn every_link_leads_somewhere() {
    let mut n = 0;
    for document in documents() {
        let text = prose(&fs::read_to_string(&document).unwrap());
        for link in links(&text).into_iter().filter(|link| !link.starts_with("http")) {
            let (file, name) = link.split_once('#').unwrap_or((link, ""));
            let path = if file.is_empty() {
                document.clone()
            } else {
                document.parent().unwrap().join(file)
            };
            assert!(path.exists(), "{}: `{link}` leads nowhere", document.display());
            if !name.is_empty() {
                let there = prose(&fs::read_to_string(&path).unwrap());
                let headings = there
                    .lines()
                    .filter(|line| line.starts_with('#'))
                    .map(|line| anchor(line.trim_start_matches('#')));
                assert!(
                    headings.into_iter().any(|heading| heading == name),
                    "{}: there is no heading `{link}`",
                    document.display()
                );
            }
            n += 1;
        }
    }
    assert!(n > 20, "only {n} links were looked at");
}

#[test]
fn the_index_names_every_document() {
    let index = prose(&fs::read_to_string(root().join("docs/README.md")).unwrap());
    let index = links(&index);
    for document in documents()
        .iter()
        .filter(|document| document.parent().is_some_and(|folder| folder.ends_with("docs")))
    {
        let name = document.file_name().unwrap().to_str().unwrap();
        assert!(
            name == "README.md" || index.contains(&name),
            "docs/README.md has no link to {name}"
        );
    }
}

/// A job that a document names is shipped, and so is every file of the tree that it names by its
/// path.
#[test]
fn files_that_documents_name_are_there() {
    let known: Vec<String> = yaml_files("jobs")
        .iter()
        .map(|job| job.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert!(known.contains(&"demo.yaml".to_owned()));
    for document in documents() {
        let text = prose(&fs::read_to_string(&document).unwrap());
        // Code spans: every second piece between backticks.
        for span in text.split('`').skip(1).step_by(2) {
            let is_path = ["src/", "jobs/", "tests/", "docs/", "schemas/", "bench/"]
                .iter()
                .any(|head| span.starts_with(head));
            let is_plain =
                !span.contains(['*', '<', '{', ' ', '\n']) && span.split('#').count() == 1;
            if is_path && is_plain && span != "jobs/mine.yaml" && !span.contains("NAME") {
                assert!(
                    Path::new(root()).join(span).exists(),
                    "{} names `{span}`, which is not there",
                    document.display()
                );
            }
        }
    }
}

/// The example of the words of the page is a job that holds, with the rest of a job below it.
#[test]
fn the_words_of_the_page_are_a_job() {
    let guide = fs::read_to_string(root().join("docs/jobs.md")).unwrap();
    let example = guide.split("## The words of the page\n\n```yaml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let work = Work::new();
    work.write(
        "base.yaml",
        "data:\n  rows: {parquet: loans.parquet}\n  features: {continuous: [income], nominal: \
         [history]}\n  split: {share: {train: 0.7, audit: 0.3}}\n\
         models:\n  logit: {logistic: {l2: 1.0}}\n",
    );
    work.write("job.yaml", &format!("cfaudit: 1\nname: words\ninclude: [base.yaml]\n{example}"));
    work.cfaudit(0, "check job.yaml --no-data");
    work.write(
        "job.yaml",
        &format!(
            "cfaudit: 1\nname: words\ninclude: [base.yaml]\n{}",
            example.replace("Male: men", "Man: men")
        ),
    );
    work.cfaudit(2, "check job.yaml --no-data").says(&["error[unknown-group]", "`Man`"]);
}
