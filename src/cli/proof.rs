//! `cfaudit verify` and `cfaudit pack`.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::cli::args::{PackArgs, VerifyArgs};
use crate::cli::owned_files::{self, OwnedFile};
use crate::cli::print;
use crate::control_characters::on_one_line;
use crate::error::{Exit, Result};
use crate::proof::pack;
use crate::proof::verify::{self, FolderProof};

/// Checks a folder; ends with 5 where something is wrong.
pub(crate) fn verify(args: &VerifyArgs) -> Result<Exit> {
    let proof = verify::verify(&args.dir, args.fingerprint.as_deref())?;
    let exit = if proof.is_sound() { Exit::Done } else { Exit::Operator };
    let folder = args.dir.to_string_lossy();
    print(&if args.json {
        format!("{}\n", as_json(&folder, &proof, exit))
    } else {
        as_text(&folder, &proof)
    })?;
    Ok(exit)
}

fn as_json(folder: &str, proof: &FolderProof, exit: Exit) -> Value {
    let problems: Vec<Value> =
        proof.problems.iter().map(|p| json!({"file": p.file, "what": p.what})).collect();
    let gates: Map<String, Value> =
        proof.verdicts.iter().map(|(gate, verdict)| (gate.clone(), json!(verdict))).collect();
    json!({"cfaudit": 1, "folder": folder, "job": proof.manifest.job, "run": proof.manifest.run,
        "program": proof.manifest.program, "fingerprint": proof.fingerprint,
        "sound": proof.is_sound(), "unchecked": proof.unchecked, "files": proof.n_sound,
        "problems": problems, "notes": proof.notes, "gates": gates, "exit": exit.code()})
}

fn as_text(folder: &str, proof: &FolderProof) -> String {
    let manifest = &proof.manifest;
    let found = match proof.problems.len() {
        0 if proof.unchecked.is_some() => "not checked".to_owned(),
        0 => "verified".to_owned(),
        1 => "not verified, 1 problem".to_owned(),
        n => format!("not verified, {n} problems"),
    };
    let mut lines = vec![
        format!("{folder}: {found}"),
        format!("  fingerprint {}", proof.fingerprint),
        format!("  job {}, run {}, cfaudit {}", manifest.job, manifest.run, manifest.program),
        format!("  {} files are as manifest.json lists them", proof.n_sound),
    ];
    if !proof.verdicts.is_empty() {
        let verdicts: Vec<String> =
            proof.verdicts.iter().map(|(gate, verdict)| format!("{gate} {verdict}")).collect();
        lines.push(format!("  gates judged again: {}", verdicts.join(", ")));
    }
    lines.extend(proof.notes.iter().map(|note| format!("  note: {note}")));
    lines.extend(proof.problems.iter().map(|p| format!("  problem: {}: {}", p.file, p.what)));
    if let Some(why) = &proof.unchecked {
        lines.push(format!("  not checked: tables, verdicts and pages, because {why}"));
        let hint = "verify it with the version that wrote it, or run the approved job again";
        lines.push(format!("  hint: {hint}"));
    }
    if !proof.problems.is_empty() {
        let hint = "changed after its run wrote it: use an unchanged copy, or run the job again";
        lines.push(format!("  hint: {hint}"));
    }
    // It holds names of files: a terminal is to show them, not to obey them.
    lines.iter().map(|line| on_one_line(line) + "\n").collect()
}

/// Writes the archive of a sound folder.
pub(crate) fn pack(args: &PackArgs) -> Result<Exit> {
    let proof = pack::sound(&args.dir)?;
    let name = || PathBuf::from(proof.archive_name() + ".zip");
    let file = args.file.clone().unwrap_or_else(name);
    owned_files::check(&file, OwnedFile::Archive, &[&args.dir])?;
    let packed = pack::pack(&args.dir, &proof, &file)?;
    let people = match packed.n_cases {
        0 => String::new(),
        n => {
            let cases = if n == 1 { "case" } else { "cases" };
            format!("  holds {n} {cases} of single people (`report.cases`), without their ids\n")
        }
    };
    print(&format!(
        "{}: {} files, {:.1} MB, SHA-256 {}\n  fingerprint of the audit {}\n{people}",
        file.display(),
        packed.n_files,
        packed.bytes as f64 / 1e6,
        packed.sha256,
        proof.fingerprint
    ))?;
    Ok(Exit::Done)
}
