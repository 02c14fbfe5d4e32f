//! `cfaudit verify`: every check of a finished folder, and all problems at once.
//!
//! | Check | A problem | A note |
//! | --- | --- | --- |
//! | fingerprint | it is not the one that the caller expects | |
//! | files | one differs from its hash in the manifest or is missing; a table, page or row file is there that the manifest does not list | rows were removed, which `docs/privacy.md` allows; other files are not covered |
//! | tables | a version that this program does not read, or that is not the manifest's | a table that this program does not know |
//! | gates | a row of `gates`, or the summary, is not what the tables give | the same in a folder whose rules (`policies`) are not this program's |
//! | pages | the same version of the program renders other pages from the tables | another version does |
//!
//! Gates and pages are looked at only where files and tables are sound: they are computed from
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::Result;
use crate::exec::files;
use crate::exec::folder::EXTRAS;
use crate::exec::hash::sha256;
use crate::folder::manifest::{Manifest, PolicyVersions, RunSummary};
use crate::folder::read::{self, MANIFEST, SUMMARY};
use crate::rejudge;
use crate::report::export::deciding;
use crate::report::{self, PAGES};
use crate::stage::report::{glossary, words};
use crate::table::file::{open_table, table_version};
use crate::table::list::TABLES;
use crate::table::{GateRow, RowColumns, TableRow};

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
    /// What a reader must know, and what is no fault.
    pub(crate) notes: Vec<String>,
    /// The gates with their verdicts, judged again; empty where they could not be.
    pub(crate) verdicts: Vec<(String, String)>,
}

impl FolderProof {
    /// Whether nothing is wrong.
    pub(crate) fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    /// The folder at the top of its archive, and the name of the archive without `.zip`.
    pub(crate) fn archive_name(&self) -> String {
        format!("{}-{}", self.manifest.job, self.manifest.run)
    }

    fn problem(&mut self, file: &str, what: impl Into<String>) {
        self.problems.push(ProofProblem { file: file.to_owned(), what: what.into() });
    }
}

/// Files about single people, which may be removed from a folder.
const REMOVABLE: [&str; 2] = ["rows/", "to-score/"];

/// Folders and files in which everything is ours.
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
    let (manifest, bytes) = read::manifest(folder)?;
    let mut proof = FolderProof {
        manifest,
        fingerprint: sha256(&bytes),
        n_sound: 0,
        problems: Vec::new(),
        notes: Vec::new(),
        verdicts: Vec::new(),
    };
    if let Some(expected) = expected.filter(|hex| !hex.eq_ignore_ascii_case(&proof.fingerprint)) {
        let what = format!("its SHA-256 is {}, expected {expected}", proof.fingerprint);
        proof.problem(MANIFEST, what);
    }
    check_files(folder, &mut proof)?;
    check_tables(folder, &mut proof);
    note_policies(&mut proof);
    if !proof.is_sound() {
        proof.notes.push("gates and pages were not checked: files have problems".to_owned());
    } else if !proof.manifest.awaited.is_empty() {
        proof.notes.push("the run waits for scores: its gates are not judged again".to_owned());
        check_pages(folder, &mut proof);
    } else if let Some(stage) = &proof.manifest.stopped_after {
        let note = format!("the run was to stop after `{stage}`: there are no gates to judge");
        proof.notes.push(note);
    } else {
        check_gates(folder, &mut proof);
        check_pages(folder, &mut proof);
    }
    Ok(proof)
}

/// Whether every file is what the manifest lists, and nothing of ours is there beyond that.
fn check_files(folder: &Path, proof: &mut FolderProof) -> Result<()> {
    let listed = proof.manifest.files.clone();
    let mut removed = 0;
    for (name, expected) in &listed {
        let path = read::path_below(folder, name)?;
        if !path.exists() && is_removable(name) {
            removed += 1;
            continue;
        }
        match read::check_hash(&path, expected) {
            Ok(()) => proof.n_sound += 1,
            Err(error) => proof.problem(name, error.cause()),
        }
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

/// Whether this program reads every table, and the manifest names its version.
fn check_tables(folder: &Path, proof: &mut FolderProof) {
    let listed: Vec<String> = proof.manifest.files.keys().cloned().collect();
    let mut known = BTreeSet::new();
    for table in TABLES {
        for below in ["tables", "rows"] {
            let name = format!("{below}/{}", table.file());
            known.insert(name.clone());
            if !listed.contains(&name) || proof.problems.iter().any(|p| p.file == name) {
                continue;
            }
            match open_table(&folder.join(below), table) {
                Err(error) => proof.problem(&name, error.cause()),
                Ok(file) => {
                    let found = file.as_ref().and_then(table_version);
                    let noted = proof.manifest.tables.get(table.name).copied();
                    if let (Some(found), Some(noted)) = (found, noted)
                        && found != noted
                    {
                        let what =
                            format!("it is of version {found}, and manifest.json says {noted}");
                        proof.problem(&name, what);
                    }
                }
            }
        }
    }
    let unknown: Vec<String> = listed
        .into_iter()
        .filter(|name| name.starts_with("tables/") && !known.contains(name))
        .collect();
    if !unknown.is_empty() {
        let note = format!("tables that this program does not know: {}", unknown.join(", "));
        proof.notes.push(note);
    }
}

/// Rules that decide what values mean, where they are not those of this program.
fn note_policies(proof: &mut FolderProof) {
    let (theirs, ours) = (proof.manifest.policies, words::policies());
    let PolicyVersions { who_counts, boundaries, starts } = theirs;
    let rules: Vec<String> = [
        ("who counts", who_counts, ours.who_counts),
        ("intervals at boundaries", boundaries, ours.boundaries),
        ("starts of graph searches", starts, ours.starts),
    ]
    .into_iter()
    .filter(|(_, theirs, ours)| theirs != ours)
    .map(|(rule, theirs, ours)| format!("{rule} (version {theirs}, here {ours})"))
    .collect();
    if !rules.is_empty() {
        let note = format!(
            "version {} of cfaudit wrote the folder by other rules than this program's: {}",
            proof.manifest.program,
            rules.join(", ")
        );
        proof.notes.push(note);
    }
}

/// The rows of each gate without what is words or depends on the job file: each row a list of
/// column and text.
fn rows_by_gate(rows: &[GateRow], version: u32) -> BTreeMap<String, Vec<Vec<String>>> {
    let columns = GateRow::TABLE.columns;
    let mut found: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for row in rows {
        let cells = columns.iter().zip(row.texts());
        let compared = cells.filter(|(column, _)| {
            column.since <= version && !["reason", "job_line"].contains(&column.name)
        });
        let of_gate = found.entry(row.gate.to_string()).or_default();
        of_gate.push(compared.map(|(_, text)| text).collect());
    }
    found.values_mut().for_each(|rows| rows.sort());
    found
}

/// The verdict of a gate.
fn verdict_of<'a>(rows: &'a [GateRow], gate: &str) -> &'a str {
    deciding(rows).find(|row| row.gate == *gate).map_or("nothing", |row| row.verdict.as_str())
}

/// Whether the gates, judged again by the tables, agree with the folder.
fn check_gates(folder: &Path, proof: &mut FolderProof) {
    const TABLE: &str = "tables/gates.parquet";
    let (again, summary) =
        match (rejudge::gates_again(folder, &proof.manifest), read::read_summary(folder)) {
            (Ok(again), Ok(summary)) => (again, summary),
            (Err(error), _) => {
                let what = format!("the gates cannot be judged again: {}", error.cause());
                return proof.problem(TABLE, what);
            }
            (_, Err(error)) => return proof.problem(SUMMARY, error.cause()),
        };
    proof.verdicts =
        deciding(&again.gates).map(|row| (row.gate.to_string(), row.verdict.to_string())).collect();
    let version = open_table(&folder.join("tables"), GateRow::TABLE)
        .ok()
        .flatten()
        .as_ref()
        .and_then(table_version)
        .unwrap_or(GateRow::TABLE.version);
    let mut differ: Vec<(&str, String)> = Vec::new();
    let (theirs, ours) =
        (rows_by_gate(&again.stored, version), rows_by_gate(&again.gates, version));
    let names: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    for name in names.into_iter().filter(|name| theirs.get(*name) != ours.get(*name)) {
        let (stored, judged) = (verdict_of(&again.stored, name), verdict_of(&again.gates, name));
        differ.push((
            TABLE,
            if stored == judged {
                format!("gate `{name}`: its numbers are not those that the tables give")
            } else {
                format!("gate `{name}`: it says {stored}, and the tables give {judged}")
            },
        ));
    }
    let judged = RunSummary {
        verdict: again.outcome.verdict,
        exit: again.outcome.exit,
        gates: again.outcome.tally,
        worst: again.outcome.worst,
        ..summary.clone()
    };
    if judged != summary {
        differ.push((
            SUMMARY,
            format!(
                "it says verdict {} and exit status {}, and the tables give {} and {}",
                summary.verdict, summary.exit, judged.verdict, judged.exit
            ),
        ));
    }
    let same_rules = proof.manifest.policies == words::policies();
    for (file, what) in differ {
        if same_rules {
            proof.problem(file, what);
        } else {
            proof.notes.push(format!("by the rules of this program {file} differs: {what}"));
        }
    }
}

/// Whether the pages are what the tables give.
fn check_pages(folder: &Path, proof: &mut FolderProof) {
    let same_program = proof.manifest.program == env!("CARGO_PKG_VERSION");
    let pages = match report::render(folder, None, &glossary) {
        Ok(pages) => pages,
        Err(error) => {
            let what = format!("it cannot be rendered again: {}", error.cause());
            return proof.problem(PAGES[0], what);
        }
    };
    for (name, text) in PAGES.into_iter().zip([Some(pages.report), pages.annex]) {
        let Some(text) = text.filter(|_| proof.manifest.files.contains_key(name)) else { continue };
        if files::read(&folder.join(name)).is_ok_and(|bytes| bytes == text.as_bytes()) {
            continue;
        }
        if same_program {
            proof.problem(name, "it is not the page that its tables give");
        } else {
            proof.notes.push(format!(
                "{name} is as version {} of cfaudit rendered it; this program renders it otherwise",
                proof.manifest.program
            ));
        }
    }
}
