//! The documents: what is made from the program's own lists is up to date, what they leave to the
//! program is printed by it, and every link has a target.
//!
//! `CFAUDIT_BLESS=1` rewrites the parts that are made from lists.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use cfaudit::explain::{ExplainedWord, entries, find, range};
use cfaudit::metric::catalog::catalog;
use cfaudit::metric::catalog::texts::MetricText;
use cfaudit::table::list::TABLES;

use crate::work::{Work, documented, root, yaml_files};

#[path = "../support/fragments.rs"]
mod fragments;

use fragments::FRAGMENTS;

/// Where a part that is made from a list begins and ends inside of a document. Such parts are not
/// counted as written by hand (`count.rs`).
const BEGIN: &str = "<!-- written by the program: CFAUDIT_BLESS=1 cargo test --test it docs -->\n";
const END: &str = "<!-- end -->\n";

/// Text inside of a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").replace('<', "&lt;")
}

/// The methods of intervals, as `cfaudit explain` has them.
fn methods() -> String {
    let entries = entries(&[]);
    let methods: Vec<&ExplainedWord> =
        entries.iter().filter(|entry| entry.kind == "method").collect();
    assert!(methods.len() > 10, "only {} methods", methods.len());
    let mut text = "| Word | Method |\n| --- | --- |\n".to_owned();
    for method in methods {
        writeln!(text, "| `{}` | {} |", method.word, cell(&method.text)).unwrap();
    }
    text
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
fn the_list_of_methods_is_fresh() {
    assert_fresh("metrics.md", &methods());
}

/// The reading path and what each metric means, as `cfaudit explain` has them. A gap that is
/// derived from another metric has the texts of that metric.
fn reading_guide() -> String {
    let entries = entries(&[]);
    let (_, steps) = find(&entries, "path")[0].text.split_once('\n').unwrap();
    let mut text = format!("{steps}\n\n## What each metric means\n\n| Metric |");
    for part in MetricText::MEANING {
        write!(text, " {} |", part.head()).unwrap();
    }
    text += "\n| --- | --- | --- | --- | --- | --- |\n";
    let is_derived = |id: &str| {
        let mut gaps = catalog().filter_map(|metric| Some((metric.id, metric.gap_of?)));
        gaps.any(|(of, (base, transform))| of == id && transform.id(base) == id)
    };
    let measured = ["metric", "measure"];
    for entry in entries.iter().filter(|e| measured.contains(&e.kind) && !is_derived(&e.word)) {
        write!(text, "| `{}` |", entry.word).unwrap();
        for part in MetricText::MEANING {
            let head = format!("{}: ", part.head());
            let says = entry.text.lines().find_map(|line| line.strip_prefix(&head));
            write!(text, " {} |", says.unwrap_or_default().replace('|', "\\|")).unwrap();
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_reading_path_is_fresh() {
    assert_fresh("reading.md", &reading_guide());
}

/// `docs/metrics.md` gives no formulas: `cfaudit explain ID` does, of every metric.
#[test]
fn every_metric_is_explained_with_its_formula() {
    let entries = entries(&[]);
    for metric in catalog() {
        let found = find(&entries, metric.id);
        let text = &found.first().unwrap_or_else(|| panic!("{}", metric.id)).text;
        let ideal = metric.ideal.map_or("none stated".to_owned(), |ideal| ideal.to_string());
        for line in [
            format!("formula: {}", metric.text(MetricText::Formula)),
            format!("asks: {}", metric.text(MetricText::Question)),
            format!("range: {}", range(metric.range)),
            format!("ideal: {ideal}"),
            format!("undefined when: {}", metric.text(MetricText::UndefinedWhen)),
        ] {
            assert!(text.lines().any(|there| there == line), "{}: no `{line}`", metric.id);
        }
    }
}

/// No document lists the tables: `cfaudit schema tables` does, with each column, and with what null
/// means where a column may be null.
#[test]
fn every_column_of_every_table_is_printed() {
    let printed = Work::new().cfaudit(0, "schema tables").stdout;
    let mut parts = printed.split("\n\n");
    for table in TABLES {
        let part = parts.next().unwrap();
        let head = format!("{}: one row per {};", table.name, table.one_row_per);
        assert!(part.starts_with(&head), "{head}");
        let lines: Vec<&str> = part.lines().skip(1).collect();
        assert_eq!(lines.len(), table.columns.len(), "{}", table.name);
        for (i, (column, line)) in table.columns.iter().zip(lines).enumerate() {
            let key = if i < table.n_key { "key  " } else { "     " };
            let name = format!("{key}{}", column.name);
            assert!(line.starts_with(&name) && line.ends_with(column.meaning), "{line}");
            assert!(
                !column.nullable || column.meaning.contains("null"),
                "{}.{} does not say what null means",
                table.name,
                column.name
            );
        }
    }
    assert_eq!(parts.next(), None);
}

/// The documents of this tree.
fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "jobs/models/README.md"]
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
    for document in
        documents().iter().filter(|document| document.parent() == Some(&root().join("docs")))
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
    let example = documented("jobs.md", "## The words of the page");
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

/// The whole job of the guide holds, on rows that have its columns, and reads no data.
#[test]
fn the_whole_job_of_the_guide_holds() {
    let work = Work::new();
    work.write("job.yaml", &documented("jobs.md", "## A whole job"));
    work.cfaudit(0, "check job.yaml --no-data");
}

/// What a part of a job lacks in a guide: all but the rows, which some parts have.
const REST: &str = "  row_id: id
  label: {column: repaid, positive: [1], favourable: positive}
  sensitive: {sex: {groups: [Male, Female], reference: Male}}
  features:
    continuous: [age, income, debt, rate, children, cholesterol, hours-per-week, priors_count]
    nominal: [occupation, workclass, region, race, employed, since, zip, juv_fel_count,
      c_charge_degree]
  split: {share: {train: 0.5, audit: 0.5}}
counterfactuals: {flip: {naive: {}, sensitive: [sex]}, moved: {greedy: {condition_on: label}}}
";

/// The models of such a part, unless its label has several classes.
const MODELS: &str = "models:
  challenger: {boosting: {}}
  current: {logistic: {l2: 1.0}}
  gbm: {boosting: {}}
  income: {logistic: {l2: 1.0}}
  m: {logistic: {l2: 1.0}}
";

/// Each part of a job that the guides show holds within a job that has the rest.
#[test]
fn parts_of_jobs_in_the_guides_hold() {
    let work = Work::new();
    for (document, above) in FRAGMENTS {
        let part = documented(document, above);
        let has_rows = part.contains("  rows:");
        let rows = if has_rows { "" } else { "  rows: {parquet: people.parquet}\n" };
        let models = if part.contains("classes: [") { "" } else { MODELS };
        work.write("base.yaml", &format!("data:\n{rows}{REST}{models}"));
        work.write("job.yaml", &format!("cfaudit: 1\nname: part\ninclude: [base.yaml]\n{part}"));
        work.cfaudit(0, "check job.yaml --no-data");
    }
}
