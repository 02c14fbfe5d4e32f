//! The guide to an archive: plain text for a reader who has never seen an audit of cfaudit, by the
//! template `guide.txt`.

use serde_json::json;

use crate::folder::manifest::RunSummary;
use crate::proof::verify::{FolderProof, is_removable};
use crate::text;

/// The text of the guide; `cases` is the number of cases of single people in the archive, `places`
/// that of rows on maps, and `signed` whether it holds a statement to be signed.
pub(super) fn text(
    proof: &FolderProof,
    summary: &RunSummary,
    [cases, places]: [usize; 2],
    signed: bool,
) -> String {
    let manifest = &proof.manifest;
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let facts = json!({
        "title": one_line(&manifest.words.title),
        "job": manifest.job,
        "run": manifest.run,
        "version": manifest.words.version.as_deref().map(one_line),
        "program": manifest.program,
        "people": manifest.rows.audited,
        "stand_in": manifest.stand_in.is_some(),
        "verdict": summary.verdict,
        "gates": proof.verdicts,
        "files": manifest.files.keys().collect::<Vec<_>>(),
        "cases": cases,
        "places": places,
        "removed": manifest.files.keys().filter(|name| is_removable(name)).count(),
        "signed": signed,
        "fingerprint": proof.fingerprint,
        "name": proof.archive_name(),
    });
    text::filled(include_str!("guide.txt"), &facts) + "\n"
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::folder::manifest::{Manifest, RunSummary};
    use crate::proof::verify::FolderProof;
    use crate::tests::Says;

    #[test]
    fn every_part_is_where_there_is_something_to_tell() {
        let mut proof = FolderProof {
            manifest: Manifest::default(),
            fingerprint: "00ff".to_owned(),
            n_sound: 0,
            problems: Vec::new(),
            unchecked: None,
            notes: Vec::new(),
            verdicts: vec![("g".to_owned(), "pass".to_owned())],
        };
        let summary = RunSummary { verdict: "pass".to_owned(), ..RunSummary::default() };
        let least = text(&proof, &summary, [0, 0], false);
        least.lacks(&["model version", "STAND-IN", "single people", "5. ", "\n\n\n"]);
        least.says(&["\nVerdict: pass\n  g: pass\n\nWhat is here\n\n  audit/manifest.json  "]);
        let Manifest { words, rows, stand_in, files, .. } = &mut proof.manifest;
        (words.title, words.version) = ("a\n b".to_owned(), Some("v 1".to_owned()));
        (rows.audited, *stand_in) = (1, Some("adult".to_owned()));
        files.extend(["tables/a", "rows/b"].map(|name| (name.to_owned(), String::new())));
        let most = text(&proof, &summary, [1, 2], true);
        most.says(&[
            "a b\n\nAudit for counterfactual fairness: job , run , model version v 1.\n",
            "; 1 person audited.\n\nSTAND-IN DATA: no number in this archive is about real people.\n",
            "What is here\n\n  audit/tables/             all values as Parquet; ",
            "SHA-256\n\nWhat is here of single people\n\n  1 case, because the job asks for them",
            "report.html.\n  Places of 2 rows and",
            "Logs and run times.\n  1 file(s) below rows/",
            "can compute.\n\n5. statement.intoto.json names",
            "sigstore.json\n\nHow to go on\n",
        ]);
    }
}
