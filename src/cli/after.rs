//! `cfaudit gate`, `diff` and `export`: what is asked of finished folders; `cfaudit new`: what
//! comes before the first.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::data::exchange::http::{HttpEndpoint, HttpFault, score_stream};
use crate::error::{Error, Exit, Fault, Result};
use crate::exec::cache_folder::DEFAULT_CACHE;
use crate::exec::clean::CleanRules;
use crate::exec::event::Observer;
use crate::exec::result_store::{ResultStore, StoreView};
use crate::exec::{files, replaced_file};
use crate::folder::manifest::Manifest;
use crate::job::new;
use crate::rejudge;
use crate::report::diff::FolderDiff;
use serde_json::{Value, json};

use crate::cli::args::{
    CleanArgs, DiffArgs, ExportArgs, ExportTarget, GateArgs, HttpArgs, NewArgs,
};
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
            // Told once, in the form that was asked for.
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

/// Removes results from the cache.
pub(crate) fn clean(args: &CleanArgs) -> Result<Exit> {
    let (_, _, cancel) = crate::cli::set_up_run(&args.log)?;
    let root = args.cache.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_CACHE));
    if !root.is_dir() {
        let cause = "there is no such folder";
        return Err(Error::operator("clean", &root, cause, "name the cache by `--cache`"));
    }
    let no_rule = args.older.is_none() && args.keep_last.is_none();
    let rules = CleanRules {
        older: args.older,
        keep_last: args.keep_last.or(no_rule.then_some(1)),
        job: args.job.clone(),
    };
    let outcome = match args.dry_run {
        true => StoreView::of_cache(&root)?.would_clean(&rules)?,
        false => ResultStore::open(&root)?.clean(&rules, &cancel)?,
    };
    if args.log.quiet {
        return Ok(Exit::Done);
    }
    let did = if args.dry_run { "would remove" } else { "removed" };
    let in_use = match outcome.in_use {
        0 => String::new(),
        n => format!("; {n} more stay while another run may read them"),
    };
    crate::cli::print(&format!(
        "{did} {}; {} left{in_use}\n",
        results_text(outcome.removed, outcome.removed_bytes),
        results_text(outcome.left, outcome.left_bytes),
    ))?;
    Ok(Exit::Done)
}

/// Asks an endpoint for the scores of the rows on standard input.
pub(crate) fn ask_http(args: &HttpArgs) -> Result<Exit> {
    let fault = |what: String| Error::from(Fault::new("command-failed", what));
    let words: Vec<&str> = args.how.splitn(5, ',').collect();
    let [batch, parallel, retries, seconds, token] = words[..] else {
        return Err(fault("`--how` takes five words".to_owned()));
    };
    let number = |word: &str| {
        word.parse::<u32>().map_err(|_| fault(format!("`{word}` is no number for `--how`")))
    };
    let token = (!token.is_empty()).then(|| std::env::var(token)).transpose();
    let endpoint = HttpEndpoint {
        url: args.url.clone(),
        version: args.model_version.clone(),
        protocol: args.protocol.parse().map_err(fault)?,
        batch: number(batch)? as usize,
        parallel: number(parallel)? as usize,
        retries: number(retries)?,
        timeout: Duration::from_secs(number(seconds)?.into()),
        missing_at_most: args.missing_at_most,
        token: token.map_err(|_| fault("the variable with the token is not text".to_owned()))?,
        answers: Some(args.answers.clone()),
    };
    let output = std::io::stdout().lock();
    score_stream(&endpoint, std::io::stdin().lock(), output)
        .map_err(|HttpFault { code, what }| Error::from(Fault::new(code, what)))?;
    Ok(Exit::Done)
}

/// So many results, and their size.
pub(crate) fn results_text(n: u64, bytes: u64) -> String {
    let noun = if n == 1 { "result" } else { "results" };
    format!("{n} {noun} ({:.1} MB)", bytes as f64 / 1e6)
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
    let direction = match args.direction.as_slice() {
        [] => None,
        [from, to] => Some([from.clone(), to.clone()]),
        _ => {
            let what = "`--direction` takes two groups".to_owned();
            return Err(cases::refused(what, "write `--direction Female,Male`".to_owned()));
        }
    };
    let asked = AskedCases {
        switched: args.switched,
        model: args.model.clone(),
        counterfactual: args.counterfactual.clone(),
        direction,
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

/// Writes a first job from a data file.
pub(crate) fn new(args: &NewArgs) -> Result<Exit> {
    let new::FirstJob { text, guesses } = match (&args.remedy, &args.data) {
        (Some(job), _) => {
            let text = new::remedy::remedies(job)?;
            new::FirstJob { text, guesses: Vec::new() }
        }
        (None, data) => {
            let wishes = new::NewJobOptions {
                data: data.clone().unwrap_or_default(),
                label: args.label.clone(),
                sensitive: args.sensitive.clone(),
                score: args.score.clone(),
                positive: args.positive.clone(),
                favourable: args.favourable,
                reference: args.reference.clone(),
            };
            let profile = crate::data::source::file_profile::profile_file(&wishes.data)?;
            new::job(&profile, &wishes)?
        }
    };
    match &args.out {
        None => crate::cli::print(&text)?,
        Some(out) => {
            files::write_new(out, text.as_bytes(), "name a new file; a job is never overwritten")?
        }
    }
    for guess in guesses {
        crate::cli::print_to_stderr(&format!("guessed: {guess}"));
    }
    Ok(Exit::Done)
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
