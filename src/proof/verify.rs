//! `cfaudit verify`: every check of a finished folder, and all problems at once.
//!
//! | Check | A problem | A note |
//! | --- | --- | --- |
//! | fingerprint | it is not the one that the caller expects | |
//! | files | one differs from its hash in the manifest or is missing; a table, page or row file is there that the manifest does not list | rows were removed, which `docs/privacy.md` allows; other files are not covered |
//! | tables | a version that is not the manifest's | |
//! | manifest | words that do not follow from `job.resolved.yaml` | |
//! | gates, summary | a row of `gates`, or a value of the summary, is not what the tables give | |
//! | pages | other pages follow from the tables | |
//!
//! All but fingerprint and files are compared with what this program computes, so only a folder of
//! the same program version, rules and tables can be checked ([`FolderProof::unchecked`]): in any
//! other folder their content is not proven. Gates and pages are checked only if files and tables
//! are sound, because they are computed from them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::{Exit, Result};
use crate::exec::files;
use crate::exec::folder::EXTRAS;
use crate::exec::hash::sha256;
use crate::folder::manifest::{Manifest, PolicyVersions, ReportWords};
use crate::folder::read::{self, MANIFEST, SUMMARY};
use crate::rejudge;
use crate::report::export::deciding;
use crate::report::{self, PAGES};
use crate::stage::artifact::GateOutcome;
use crate::stage::report::{glossary, summary, words, words_of_job};
use crate::table::file::open_table;
use crate::table::list::TABLES;
use crate::table::{GateRow, MetricTable, TableRow};

/// What is wrong with a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProofProblem {
    /// The file, below the folder.
    pub(crate) file: String,
    /// What is wrong with it.
    pub(crate) what: String,
}

/// What the checks of a folder found.
#[derive(Debug, Clone)]
pub(crate) struct FolderProof {
    /// Its manifest.
    pub(crate) manifest: Manifest,
    /// SHA-256 of its `manifest.json`.
    pub(crate) fingerprint: String,
    /// Number of files that are what the manifest lists.
    pub(crate) n_sound: usize,
    /// What is wrong with it.
    pub(crate) problems: Vec<ProofProblem>,
    /// Why this program cannot check whether tables, verdicts and pages belong together; none where
    /// it can.
    pub(crate) unchecked: Option<String>,
    /// What a reader must know although it is not a fault.
    pub(crate) notes: Vec<String>,
    /// The gates with their verdicts, judged again; empty where they could not be.
    pub(crate) verdicts: Vec<(String, String)>,
}

impl FolderProof {
    /// Whether everything was checked and nothing is wrong.
    pub(crate) fn is_sound(&self) -> bool {
        self.problems.is_empty() && self.unchecked.is_none()
    }

    /// The folder at the top of its archive, and the name of the archive without `.zip`.
    pub(crate) fn archive_name(&self) -> String {
        format!("{}-{}", self.manifest.job, self.manifest.run)
    }

    fn problem(&mut self, file: &str, what: impl Into<String>) {
        self.problems.push(ProofProblem { file: file.to_owned(), what: what.into() });
    }

    /// What was read or computed; what is in the way is a problem of a file, after these words.
    fn found<T>(&mut self, file: &str, words: &str, of: Result<T>) -> Option<T> {
        of.map_err(|error| self.problem(file, format!("{words}{}", error.cause()))).ok()
    }
}

/// Files about single people, which may be removed from a folder.
const REMOVABLE: [&str; 2] = ["rows/", "to-score/"];

/// Folders and files that belong to the program completely.
const OWN_FOLDERS: [&str; 4] = ["tables/", "rows/", "to-score/", "exports/"];

/// Whether a file may be removed without a fault.
pub(crate) fn is_removable(name: &str) -> bool {
    REMOVABLE.iter().any(|folder| name.starts_with(folder))
}

/// Checks a folder; `expected` is the fingerprint that it should have, in hexadecimal.
///
/// # Errors
/// The folder has no readable manifest, or its manifest names paths outside of the folder. What is
/// wrong with other files is in the result.
pub(crate) fn verify(folder: &Path, expected: Option<&str>) -> Result<FolderProof> {
    let (manifest, bytes) = read::manifest_of_any_version(folder)?;
    let mut proof = FolderProof {
        manifest,
        fingerprint: sha256(&bytes),
        n_sound: 0,
        problems: Vec::new(),
        unchecked: None,
        notes: Vec::new(),
        verdicts: Vec::new(),
    };
    if let Some(expected) = expected.filter(|hex| !hex.eq_ignore_ascii_case(&proof.fingerprint)) {
        let what = format!("its SHA-256 is {}, expected {expected}", proof.fingerprint);
        proof.problem(MANIFEST, what);
    }
    check_files(folder, &mut proof)?;
    proof.unchecked = other_program(&proof.manifest);
    if proof.unchecked.is_some() {
        return Ok(proof);
    }
    check_tables(folder, &mut proof);
    if !proof.problems.is_empty() {
        proof.notes.push("gates and pages were not checked: files have problems".to_owned());
        return Ok(proof);
    }
    check_words(folder, &mut proof);
    if let Some(stage) = &proof.manifest.stopped_after {
        let note = format!("the run was to stop after `{stage}`: there are no gates to judge");
        proof.notes.push(note);
        return Ok(proof);
    }
    if proof.manifest.awaited.is_empty() {
        if let Some(outcome) = check_gates(folder, &mut proof) {
            check_summary(folder, &mut proof, Some(outcome));
        }
    } else {
        proof.notes.push("the run waits for scores: its gates are not judged again".to_owned());
        check_summary(folder, &mut proof, None);
    }
    check_pages(folder, &mut proof);
    Ok(proof)
}

/// How the program that wrote the folder differs from this one; none where it does not.
fn other_program(manifest: &Manifest) -> Option<String> {
    let (program, ours) = (env!("CARGO_PKG_VERSION"), words::policies());
    let PolicyVersions { who_counts, intervals, starts } = manifest.policies;
    let rules = [
        ("who counts", who_counts, ours.who_counts),
        ("intervals", intervals, ours.intervals),
        ("starts of graph searches", starts, ours.starts),
    ];
    let rules = rules.into_iter().filter(|(_, theirs, ours)| theirs != ours);
    let differs: Vec<String> = rules
        .map(|(rule, theirs, ours)| format!("the rule `{rule}` has version {theirs}, here {ours}"))
        .chain(read::other_table(&manifest.tables))
        .collect();
    if manifest.program != program {
        return Some(format!(
            "version {} of cfaudit wrote it, and this is {program}",
            manifest.program
        ));
    }
    let what = format!("another build of cfaudit {program} wrote it: {}", differs.join(", "));
    (!differs.is_empty()).then_some(what)
}

/// Whether every file is what the manifest lists, and whether the program's folders hold nothing
/// else.
fn check_files(folder: &Path, proof: &mut FolderProof) -> Result<()> {
    let listed = proof.manifest.files.clone();
    let mut removed = 0;
    for (name, expected) in &listed {
        let path = read::path_below(folder, name)?;
        if !path.exists() && is_removable(name) {
            removed += 1;
            continue;
        }
        let is_sound = proof.found(name, "", read::check_hash(&path, expected)).is_some();
        proof.n_sound += usize::from(is_sound);
    }
    if removed > 0 {
        let files = if removed == 1 { "file" } else { "files" };
        proof.notes.push(format!(
            "{removed} {files} of rows of single people are not there; tables, pages and verdicts \
             need none of them"
        ));
    }
    if listed.get("job.resolved.yaml").is_some_and(|hash| *hash != proof.manifest.job_hash) {
        proof.problem("job.resolved.yaml", "manifest.json names another hash of the job");
    }
    let own: BTreeSet<&str> =
        EXTRAS.into_iter().chain([MANIFEST]).chain(listed.keys().map(String::as_str)).collect();
    let mut foreign = Vec::new();
    for path in files::names_below(folder)? {
        let name = path.to_string_lossy().into_owned();
        if own.contains(name.as_str()) {
            continue;
        }
        let is_ours = OWN_FOLDERS.iter().any(|folder| name.starts_with(folder))
            || PAGES.contains(&name.as_str())
            || [SUMMARY, "job.resolved.yaml"].contains(&name.as_str());
        if is_ours {
            proof.problem(&name, "it is there, and manifest.json does not list it");
        } else {
            foreign.push(name.escape_debug().to_string());
        }
    }
    if !foreign.is_empty() {
        let more = if foreign.len() > 5 { ", ..." } else { "" };
        foreign.truncate(5);
        let note = format!("not covered, because cfaudit did not write it: {}", foreign.join(", "));
        proof.notes.push(note + more);
    }
    Ok(())
}

/// Whether every table has the version that the manifest names, which is that of this program.
fn check_tables(folder: &Path, proof: &mut FolderProof) {
    for table in TABLES {
        for below in ["tables", "rows"] {
            let name = format!("{below}/{}", table.file());
            let is_listed = proof.manifest.files.contains_key(&name);
            if is_listed && proof.problems.iter().all(|p| p.file != name) {
                proof.found(&name, "", open_table(&folder.join(below), table));
            }
        }
    }
}

/// The rows of each gate, without sentences and without what depends on the job file.
fn rows_by_gate(rows: &[GateRow]) -> BTreeMap<&str, Vec<GateRow>> {
    let mut found: BTreeMap<&str, Vec<GateRow>> = BTreeMap::new();
    for row in rows {
        let compared = GateRow { reason: "".into(), job_line: 0, ..row.clone() };
        found.entry(row.gate.as_str()).or_default().push(compared);
    }
    found.values_mut().for_each(|rows| *rows = GateRow::sorted(std::mem::take(rows)));
    found
}

/// The verdict of a gate.
fn verdict_of<'a>(rows: &'a [GateRow], gate: &str) -> &'a str {
    deciding(rows).find(|row| row.gate == *gate).map_or("nothing", |row| row.verdict.as_str())
}

/// Whether the manifest repeats what its job says.
fn check_words(folder: &Path, proof: &mut FolderProof) {
    let checked = proof.found("job.resolved.yaml", "", rejudge::job_of(folder));
    let keys = checked.map(|checked| words_not_of_job(&proof.manifest, &words_of_job(&checked)));
    for key in keys.into_iter().flatten() {
        proof.problem(MANIFEST, format!("its `{key}` is not what job.resolved.yaml says"));
    }
}

/// Whether the gates are what the tables give; returns the verdicts by these.
fn check_gates(folder: &Path, proof: &mut FolderProof) -> Option<GateOutcome> {
    const TABLE: &str = "tables/gates.parquet";
    let again = rejudge::gates_again(folder, &proof.manifest);
    let ([stored, gates], outcome) =
        proof.found(TABLE, "the gates cannot be judged again: ", again)?;
    proof.verdicts =
        deciding(&gates).map(|row| (row.gate.to_string(), row.verdict.to_string())).collect();
    let (theirs, ours) = (rows_by_gate(&stored), rows_by_gate(&gates));
    let names: BTreeSet<&str> = theirs.keys().chain(ours.keys()).copied().collect();
    for name in names.into_iter().filter(|name| theirs.get(name) != ours.get(name)) {
        let (stored, judged) = (verdict_of(&stored, name), verdict_of(&gates, name));
        let what = if stored == judged {
            format!("gate `{name}`: its numbers are not those that the tables give")
        } else {
            format!("gate `{name}`: it says {stored}, and the tables give {judged}")
        };
        proof.problem(TABLE, what);
    }
    Some(outcome)
}

/// Whether the summary is what manifest and tables give; a run that waits has judged no gate.
fn check_summary(folder: &Path, proof: &mut FolderProof, judged: Option<GateOutcome>) {
    let read = read::read_summary(folder)
        .and_then(|found| Ok((found, MetricTable::read(&folder.join("tables"))?.all)));
    let Some((found, metrics)) = proof.found(SUMMARY, "", read) else { return };
    let outcome = judged.unwrap_or_else(|| GateOutcome {
        verdict: "waiting".to_owned(),
        exit: Exit::Waiting.code(),
        tally: found.gates,
        worst: found.worst.clone(),
    });
    let given = summary(&proof.manifest, outcome, &metrics);
    if (&given.verdict, given.exit) != (&found.verdict, found.exit) {
        let what = format!(
            "it says verdict {} and exit status {}, and the tables give {} and {}",
            found.verdict, found.exit, given.verdict, given.exit
        );
        proof.problem(SUMMARY, what);
    } else if given != found {
        proof.problem(SUMMARY, "its values are not those that manifest and tables give");
    }
}

/// The keys of the manifest that should follow from the job and do not.
fn words_not_of_job(found: &Manifest, job: &Manifest) -> Vec<&'static str> {
    const KEYS: [&str; 8] =
        ["job", "words", "favourable_without_label", "names", "families", "level", "seed", "split"];
    // `report --title` sets the title.
    let words = ReportWords { title: found.words.title.clone(), ..job.words.clone() };
    let job = Manifest { words, ..job.clone() };
    let [found, job] = [found, &job].map(|value| serde_json::json!(value));
    KEYS.into_iter().filter(|key| found[key] != job[key]).collect()
}

/// Whether the pages are what the tables give.
fn check_pages(folder: &Path, proof: &mut FolderProof) {
    let pages = report::render(folder, None, &glossary);
    let pages = proof.found(PAGES[0], "it cannot be rendered again: ", pages);
    let Some(pages) = pages else { return };
    for (name, text) in PAGES.into_iter().zip([Some(pages.report), pages.annex]) {
        let Some(text) = text.filter(|_| proof.manifest.files.contains_key(name)) else { continue };
        if !files::read(&folder.join(name)).is_ok_and(|bytes| bytes == text.as_bytes()) {
            proof.problem(name, "it is not the page that its tables give");
        }
    }
}
