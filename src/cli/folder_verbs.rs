//! `cfaudit gate`, `diff` and `export`: the verbs that read finished folders.

use std::path::{Path, PathBuf};

use crate::error::{Exit, Result};
use crate::exec::event::Observer;
use crate::exec::replaced_file;
use crate::folder::manifest::Manifest;
use crate::rejudge;
use crate::report::diff::FolderDiff;
use serde_json::{Value, json};

use crate::cli::args::{DiffArgs, ExportArgs, ExportTarget, GateArgs};
use crate::cli::owned_files::{self, OwnedFile};
use crate::stage::report::cases::{self, AskedCases};

/// Judges a finished folder again.
pub(crate) fn gate(args: &GateArgs) -> Result<Exit> {
    let folders: Vec<&Path> =
        std::iter::once(&args.dir).chain(&args.baseline).map(PathBuf::as_path).collect();
    crate::cli::check_own_files(&folders, args.summary_file.as_deref(), &args.log)?;
    crate::cli::remove_summary(args.summary_file.as_deref())?;
    let (console, record, cancel) = crate::cli::set_up_run(&args.log)?;
    let judged = rejudge::judge(&args.dir, args.baseline.as_deref(), args.force, &cancel);
    let judged = match judged {
        Ok(judged) => judged,
        Err(error) => {
            // Reported once, in the form that was asked for.
            crate::cli::log_error(&console, &error, &args.dir.to_string_lossy());
            return Ok(error.exit());
        }
    };
    crate::stage::RunRecord::identify(&record, &judged.summary.job, &judged.summary.run);
    for event in &judged.events {
        console.on(event);
    }
    let line = serde_json::to_string(&judged.summary).unwrap_or_default() + "\n";
    if let Some(path) = &args.summary_file {
        replaced_file::replace(path, line.as_bytes())?;
    }
    let exit = crate::cli::exit_of(&judged.summary);
    if !(args.log.quiet && exit == Exit::Done) {
        crate::cli::print(&line)?;
    }
    Ok(exit)
}

/// Compares two finished folders.
pub(crate) fn diff(args: &DiffArgs) -> Result<Exit> {
    let job = args.job.as_ref().map(|job| crate::job::check::read(job, &args.set));
    let diff = rejudge::compare(&args.old, &args.new, job.transpose()?.as_ref(), args.force)?;
    if let Some(out) = &args.out {
        rejudge::write_diff(&diff, out)?;
    }
    crate::cli::print(&if args.json {
        format!("{}\n", as_json(&diff, args.all))
    } else if args.md {
        diff.markdown(args.all)
    } else {
        diff.text(args.all)
    })?;
    let differs = args.exit_code && diff.differs();
    Ok(if differs { Exit::GateFailed } else { Exit::from_code(diff.exit).unwrap_or(Exit::Bug) })
}

/// Writes a finished folder in the form of another tool, or its cases.
pub(crate) fn export(args: &ExportArgs) -> Result<Exit> {
    let asked = asked_cases(args)?;
    if let Some(file) = &args.file {
        owned_files::check(file, OwnedFile::Export(args.to), &[&args.dir])?;
    }
    let text = match args.to.form() {
        Some(form) => rejudge::export(&args.dir, &form)?,
        None => cases::cases(&args.dir, &asked)?,
    };
    match &args.file {
        // Collectors read at any time: a file appears whole or not at all.
        Some(file) if args.to != ExportTarget::Cases => {
            replaced_file::replace(file, text.as_bytes())?
        }
        // Cases are about single people.
        Some(file) => replaced_file::replace_private(file, text.as_bytes())?,
        None => crate::cli::print(&text)?,
    }
    Ok(Exit::Done)
}

/// Which cases are asked for; other forms have none.
fn asked_cases(args: &ExportArgs) -> Result<AskedCases> {
    let asked = AskedCases {
        switched: args.switched,
        model: args.model.clone(),
        counterfactual: args.counterfactual.clone(),
        direction: args.direction.clone(),
    };
    let chooses = asked.switched
        || asked.model.is_some()
        || asked.counterfactual.is_some()
        || asked.direction.is_some();
    if chooses && args.to != ExportTarget::Cases {
        let what = "`--switched`, `--model`, `--counterfactual` and `--direction` choose cases";
        return Err(cases::refused(what.to_owned(), "add `--to cases`".to_owned()));
    }
    Ok(asked)
}

/// Clear changes, with `all` every row, and how the runs were compared.
fn as_json(diff: &FolderDiff, all: bool) -> Value {
    let side = |(path, manifest): &(String, Manifest)| {
        json!({"folder": path, "job": manifest.job, "run": manifest.run,
            "version": manifest.words.version, "rows": manifest.rows.audited,
            "stand_in": manifest.stand_in})
    };
    let rows: Vec<Value> = diff.shown().listed(all).map(|row| json!(row)).collect();
    let judged_changes = || diff.changes.iter().filter(|row| row.is_judged());
    let n_clear = judged_changes().filter(|row| row.is_clear()).count();
    let judged: Vec<Value> = diff
        .before_and_after()
        .into_iter()
        .map(|[gate, before, after]| json!({"gate": gate, "before": before, "after": after}))
        .collect();
    let refitted = diff.changes.iter().filter(|row| row.status == "refitted").count();
    json!({"cfaudit": 1, "old": side(&diff.old), "new": side(&diff.new),
        "comparable": diff.compared.comparable, "forced": diff.compared.forced,
        "pairing": diff.compared.pairing, "people_in_both": diff.compared.people_in_both,
        "differs": diff.compared.differs,
        "n_changes": judged_changes().count(), "n_clear": n_clear,
        "n_refitted": refitted, "changes": rows,
        "gates_before_and_after": judged, "gates": diff.gates, "exit": diff.exit})
}
