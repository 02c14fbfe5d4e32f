//! The guide to an archive: plain text for somebody who has never seen an audit of cfaudit.

use std::fmt::Write;

use crate::folder::manifest::RunSummary;
use crate::proof::verify::{FolderProof, is_removable};

/// What an audit folder contains: the beginning of a path, and what it is.
const CONTENTS: &[(&str, &str)] = &[
    ("report.html", "the page to read and sign; any browser shows it, without a network"),
    ("annex.html", "every value with its counts and interval, the method, a glossary"),
    ("job.resolved.yaml", "the job as it was run, with all defaults"),
    ("summary.json", "the verdict and a few values, for programs"),
    ("tables/", "all values as Parquet; `cfaudit schema tables` describes every column"),
    ("exports/", "the same for other tools, such as causal graphs and a model card"),
];

/// The text of the guide; `n_cases` is the number of cases of single people in the archive,
/// `n_places` that of rows on maps, and `signed` whether it holds a statement to be signed.
pub(super) fn text(
    proof: &FolderProof,
    summary: &RunSummary,
    [n_cases, n_places]: [usize; 2],
    signed: bool,
) -> String {
    let manifest = &proof.manifest;
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let version = manifest.words.version.as_deref().map(one_line);
    let version = version.map_or_else(String::new, |version| format!(", model version {version}"));
    let people = if manifest.rows.audited == 1 { "person" } else { "people" };
    let mut text = format!(
        "{}\n\nAudit for counterfactual fairness: job {}, run {}{version}.\nWritten by cfaudit {}; \
         {} {people} audited.\n",
        one_line(&manifest.words.title),
        manifest.job,
        manifest.run,
        manifest.program,
        manifest.rows.audited
    );
    if manifest.stand_in.is_some() {
        text += "\nSTAND-IN DATA: no number in this archive is about real people.\n";
    }
    let _ = write!(text, "\nVerdict: {}\n", summary.verdict);
    for (gate, verdict) in &proof.verdicts {
        let _ = writeln!(text, "  {gate}: {verdict}");
    }
    text += "\nWhat is here\n\n";
    let mut line = |name: &str, what: &str| {
        let _ = writeln!(text, "  {:<25} {what}", format!("audit/{name}"));
    };
    for (name, what) in CONTENTS {
        if manifest.files.keys().any(|file| file.starts_with(name)) {
            line(name, what);
        }
    }
    line("manifest.json", "inputs and files with their SHA-256");
    if n_cases + n_places > 0 {
        text += "\nWhat is here of single people\n\n";
    }
    if n_cases > 0 {
        let cases = if n_cases == 1 { "case" } else { "cases" };
        let _ = write!(
            text,
            "  {n_cases} {cases}, because the job asks for them (report.cases): features, scores\n  \
             and decisions of people who switch, without their ids, in\n  \
             audit/tables/cf_examples.parquet and on audit/report.html.\n"
        );
    }
    if n_places > 0 {
        let rows = if n_places == 1 { "row" } else { "rows" };
        let _ = writeln!(
            text,
            "  Places of {n_places} {rows} and their counterfactuals on maps, because the job asks \
             for them\n  (report.map), without ids and features, in audit/tables/cf_map.parquet \
             and on\n  audit/annex.html."
        );
    }
    let removed = manifest.files.keys().filter(|name| is_removable(name)).count();
    text += "\nWhat is not here\n\n  Logs and run times.\n";
    if removed > 0 {
        let _ = writeln!(
            text,
            "  {removed} file(s) below rows/ and to-score/ with rows of single people, which \
             manifest.json lists.\n  No table, page or verdict needs them."
        );
    }
    let fingerprint = &proof.fingerprint;
    let signing = if signed {
        "5. statement.intoto.json names the verdict and these files, for a signature:\n\n     \
         cosign attest-blob --statement statement.intoto.json --bundle audit.sigstore.json\n\n"
    } else {
        ""
    };
    let _ = write!(
        text,
        "\nHow to check it\n\n\
         1. The SHA-256 of audit/manifest.json is the fingerprint of this audit:\n\n     \
         {fingerprint}\n\n   Compare it with the one that was noted at sign-off. An archive cannot \
         vouch for itself.\n\n\
         2. Every other file, with standard tools, in this folder:\n\n     \
         sha256sum --check SHA256SUMS\n\n\
         3. Files, table versions, and the verdicts judged again from the tables:\n\n     \
         cfaudit verify audit --fingerprint {fingerprint}\n\n\
         4. Without cfaudit: open judge.html, taken from a source that you trust, and drop this\n   \
         archive on it. It judges the gates again whose rates it can compute.\n\n{signing}\
         How to go on\n\n  \
         cfaudit explain nsr --in audit          what a metric means, with its values here\n  \
         cfaudit diff audit OTHER-FOLDER         what has changed since or before\n  \
         cfaudit report audit                    the pages again, from the tables\n  \
         duckdb -c \"from 'audit/tables/metrics.parquet'\"\n"
    );
    let _ =
        write!(text, "\nThis folder is named {} after its job and run.\n", proof.archive_name());
    text
}
