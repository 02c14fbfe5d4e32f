//! The command line: parse, dispatch, print, exit status. The only code that prints;
//! `bin/cfaudit.rs` calls [`main`].

mod args;
mod ask_http;
mod clean;
mod flags;
mod folder_verbs;
mod log;
mod manual;
mod new;
mod owned_files;
mod preview;
mod progress;
mod proof;
mod shard_args;
mod shards;
mod signals;

use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::panic;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::control_characters::on_one_line;
use crate::error::{Error, Exit, FilePlace, JobProblem, Result};
use crate::exec::cache_folder::DEFAULT_CACHE;
use crate::exec::cancel::CancelFlag;
use crate::exec::event::{Event, Observer};
use crate::exec::folder::PublishOutcome;
use crate::exec::{check_until, files, replaced_file};
use crate::explain::{self, ExplainedWord, numbers};
use crate::folder::manifest::{Manifest, RunSummary};
use crate::job;
use crate::job::check::{self, CheckedJob};
use crate::nearest::nearest;
use crate::stage::preview::{CheckFindings, ContractPreview, LocatedIssue};
use crate::stage::settings::{KINDS, RunSettings};
use crate::stage::{self, RunRecord};
use crate::table::decoding::is_decoding;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue};
use indexmap::IndexSet;
use serde_json::json;

use crate::cli::args::{
    CheckArgs, CommandLine, CommandVerb, GatePolicy, JobFlags, RunArgs, SchemaOf,
};
use crate::cli::flags::{ColorWhen, LogFlags, LogForm};
use crate::cli::log::LogJournal;
use crate::cli::owned_files::OwnedFile;
use crate::cli::progress::RunConsole;
use crate::cli::signals::{end_on_failed_allocation, raise_on_signals};

/// Runs the program: reads the arguments of the process, does what they ask for, and gives back the
/// exit status.
pub fn main() -> ExitCode {
    // clap prints its own help and errors, and ends with 0 or 2.
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli =
        CommandLine::read(&words).unwrap_or_else(|error| naming_variable(error, &words).exit());
    let usual = panic::take_hook();
    let aborts_for_memory = Arc::new(AtomicBool::new(true));
    let without_bug = Arc::clone(&aborts_for_memory);
    panic::set_hook(Box::new(move |bug| {
        if !is_decoding() {
            without_bug.store(false, Ordering::SeqCst);
            usual(bug);
        }
    }));
    let result = end_on_failed_allocation(aborts_for_memory)
        .and_then(|()| enter(cli.directory.as_deref()))
        .and_then(|()| obey(cli.verb));
    let exit = result.unwrap_or_else(|error| {
        print_to_stderr(&error.to_string());
        error.exit()
    });
    ExitCode::from(exit.code())
}

/// The error with the environment variable in place of a flag that is not on the command line, if
/// the value came from there.
fn naming_variable(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return error };
    let long = flag.split(' ').next().unwrap_or_default();
    let is_given = words.iter().any(|word| {
        let word = word.to_string_lossy();
        word.strip_prefix(long).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    });
    let verbs = CommandLine::command();
    let mut flags = verbs.get_subcommands().flat_map(clap::Command::get_arguments);
    let named = flags.find(|arg| arg.get_long() == long.strip_prefix("--"));
    if let Some(variable) = named.and_then(clap::Arg::get_env).filter(|_| !is_given) {
        let variable = variable.to_string_lossy();
        let text = format!("{variable}, the environment variable of {flag}");
        error.insert(ContextKind::InvalidArg, ContextValue::String(text));
    }
    error
}

/// Makes a folder the current one.
fn enter(directory: Option<&Path>) -> Result<()> {
    let Some(directory) = directory else { return Ok(()) };
    std::env::set_current_dir(directory).map_err(|cause| {
        Error::operator("enter", directory, cause, "name a folder that exists by `-C`")
    })
}

fn obey(verb: CommandVerb) -> Result<Exit> {
    match verb {
        CommandVerb::Run(args) => run(&args),
        CommandVerb::Check(args) => check(&args),
        CommandVerb::Gate(args) => folder_verbs::gate(&args),
        CommandVerb::Power(args) => preview::power(&args),
        CommandVerb::Diff(args) => folder_verbs::diff(&args),
        CommandVerb::New(args) => new::new(&args),
        CommandVerb::Export(args) => folder_verbs::export(&args),
        CommandVerb::Verify(args) => proof::verify(&args),
        CommandVerb::Pack(args) => proof::pack(&args),
        CommandVerb::AskHttp(args) => ask_http::ask_http(&args),
        CommandVerb::Clean(args) => clean::clean(&args),
        CommandVerb::Plan(args) if shards::is_asked(&args) => shards::plan(&args),
        CommandVerb::Plan(args) => preview::plan(&args),
        CommandVerb::Worker(args) => shards::worker(&args),
        CommandVerb::Merge(args) => shards::merge(&args),
        CommandVerb::Data(args) => preview::data(&args),
        CommandVerb::Explain { word, folder } => explain_word(word.as_deref(), folder.as_deref()),
        CommandVerb::Schema { of } => schema(of),
        CommandVerb::Report { dir, title, history } => {
            crate::rejudge::render(&dir, title.as_deref(), &history, &CancelFlag::default())
                .map(|()| Exit::Done)
        }
        CommandVerb::Man { dir } => manual::man(dir.as_deref()),
        CommandVerb::Completions { shell } => manual::completions(shell),
    }
}

/// Writes lines to stderr.
fn print_to_stderr(text: &str) {
    // Keys, values and names of files are in it: a terminal is to show them, not to obey them.
    let lines: Vec<String> = text.split('\n').map(on_one_line).collect();
    // If this fails, the reader of the pipe is gone.
    let _ = writeln!(io::stderr().lock(), "{}", lines.join("\n"));
}

/// Prints a result; a reader that went away is not a failure.
fn print(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

/// As [`print`], for bytes that are not text.
fn print_bytes(bytes: &[u8]) -> Result<()> {
    match io::stdout().lock().write_all(bytes).and_then(|()| io::stdout().lock().flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Error::io("write", Path::new("standard output"), &e))
        }
        _ => Ok(()),
    }
}

/// Reads a job; the log of the process is about it from here on.
fn read_job(file: &Path, flags: &JobFlags, record: &LogJournal) -> Result<CheckedJob> {
    let checked = check::read(file, &flags.set)?;
    record.identify(checked.job.name.as_str(), "");
    Ok(checked)
}

fn settings(job: &Path, flags: &JobFlags) -> RunSettings {
    let cache = match &flags.cache {
        Some(path) if path.as_os_str() == "off" => None,
        Some(path) => Some(path.clone()),
        None => Some(PathBuf::from(DEFAULT_CACHE)),
    };
    let plain = RunSettings::plain(job.to_string_lossy().into_owned());
    RunSettings {
        cache,
        data_dir: flags.data_dir.clone(),
        threads: flags.threads.map_or(plain.threads, usize::from),
        memory: flags.memory,
        batch_rows: flags.batch_rows,
        rehash: flags.rehash,
        ..plain
    }
}

/// A listener on the terminal, the log of the process, and the flag that signals raise.
fn set_up_run(flags: &LogFlags) -> Result<(Arc<RunConsole>, LogJournal, CancelFlag)> {
    let on_terminal = io::stderr().is_terminal();
    let bars = on_terminal && !flags.quiet && flags.log == LogForm::Text;
    let colors = match flags.color {
        ColorWhen::Auto => on_terminal,
        ColorWhen::Always => true,
        ColorWhen::Never => false,
    };
    let console = Arc::new(RunConsole::new(bars, colors));
    let journal = LogJournal::default();
    let lines = Arc::clone(&console);
    log::start(flags, move |line| lines.line(line), &journal, on_terminal)?;
    let cancel = CancelFlag::default();
    raise_on_signals(&cancel)?;
    Ok((console, journal, cancel))
}

/// Refuses files for the summary and the log that hold something else, or that are files of these
/// output folders.
fn check_own_files(folders: &[&Path], summary: Option<&Path>, log: &LogFlags) -> Result<()> {
    summary.map_or(Ok(()), |path| owned_files::check(path, OwnedFile::Summary, folders))?;
    log.log_file.as_deref().map_or(Ok(()), |path| owned_files::check(path, OwnedFile::Log, folders))
}

/// Removes the summary of an earlier run: where this one fails, the old verdict must not be taken
/// for its own.
fn remove_summary(summary: Option<&Path>) -> Result<()> {
    match summary.filter(|path| path.is_file() && !path.is_symlink()) {
        Some(path) => files::remove_file(path),
        None => Ok(()),
    }
}

fn run(args: &RunArgs) -> Result<Exit> {
    let started = Instant::now();
    let checked = check::read(&args.job, &args.job_flags.set);
    let usual =
        checked.as_ref().ok().map(|checked| crate::stage::settings::default_folder(&checked.job));
    let folders: Vec<&Path> = args
        .out
        .iter()
        .chain(usual.iter().filter(|_| args.out.is_none()))
        .chain(&args.baseline)
        .chain(&args.history)
        .map(PathBuf::as_path)
        .collect();
    check_own_files(&folders, args.summary_file.as_deref(), &args.job_flags.log)?;
    remove_summary(args.summary_file.as_deref())?;
    let (console, record, cancel) = set_up_run(&args.job_flags.log)?;
    let result = checked.and_then(|checked| run_job(args, &checked, &console, &record, &cancel));
    let result = result.and_then(|(summary, words)| {
        let line = serde_json::to_string(&summary).unwrap_or_default() + "\n";
        if let Some(path) = &args.summary_file {
            replaced_file::replace(path, line.as_bytes())?;
        }
        Ok((summary, words, line))
    });
    let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (exit, text) = match &result {
        Ok((summary, words, _)) => (exit_of(summary), words.clone()),
        Err(error) => (error.exit(), "the run failed".to_owned()),
    };
    if let Err(error) = &result {
        log_error(&console, error, &args.job.to_string_lossy());
    }
    console.on(&Event::RunEnd { code: exit.code().to_string(), ms, text });
    // The summary is the last thing on either stream: schedulers merge both and take the last line.
    if let Ok((.., line)) = &result
        && !(args.job_flags.log.quiet && exit == Exit::Done)
    {
        print(line)?;
    }
    Ok(exit)
}

/// Tells listeners what is wrong with a file or folder.
fn log_error(console: &RunConsole, error: &Error, file: &str) {
    console.finish();
    let event = |code: &str, line: Option<u64>, text: String| Event::Problem {
        code: code.to_owned(),
        path: file.to_owned(),
        line,
        text,
    };
    let line = |place: &Option<FilePlace>| {
        place.as_ref().filter(|p| p.file == file && p.line > 0).map(|p| p.line)
    };
    match error {
        // One event each: in a log every problem has a line, and a time, of its own.
        Error::Job(problems) => {
            problems.iter().for_each(|p| console.on(&event(p.code, line(&p.place), p.to_string())))
        }
        Error::Data(fault) => console.on(&event(fault.code, line(&fault.place), error.to_string())),
        Error::Operator { .. } => console.on(&event("operator", None, error.to_string())),
        Error::Interrupted(_) => console.on(&event("interrupted", None, error.to_string())),
    }
}

fn exit_of(summary: &RunSummary) -> Exit {
    Exit::from_code(summary.exit).unwrap_or(Exit::Bug)
}

fn run_job(
    args: &RunArgs,
    checked: &CheckedJob,
    console: &Arc<RunConsole>,
    record: &LogJournal,
    cancel: &CancelFlag,
) -> Result<(RunSummary, String)> {
    check_until(args.until.as_deref(), &KINDS)?;
    let settings = RunSettings {
        out: args.out.clone(),
        from: args.from.clone(),
        baseline: args.baseline.clone(),
        history: args.history.clone(),
        until: args.until.clone(),
        force: args.force.clone(),
        gates_report_only: args.gates == GatePolicy::Report,
        replace: args.replace,
        cache_limit: args.cache_limit,
        ..settings(&args.job, &args.job_flags)
    };
    let finished = stage::run(checked, &settings, console.as_ref(), record, cancel)?;
    let ran = finished.stages.iter().filter(|s| !s.cached).count();
    let cached = finished.stages.len() - ran;
    let out = finished.summary.out.clone().unwrap_or_default();
    let verdict = finished.summary.verdict.as_str();
    let did = format!("{ran} stages run, {cached} cached");
    let mut words = match finished.published {
        None => format!("stopped as requested: {did}, nothing published"),
        Some(PublishOutcome::Unchanged) if ran == 0 => {
            format!("nothing to do: all {cached} stages are cached and {out} is up to date")
        }
        Some(PublishOutcome::Unchanged) => format!("{did}; {out} holds the same results"),
        Some(_) if verdict == "unfinished" => {
            format!(
                "stopped as asked: {did}; the counterfactuals are in {out}/rows/counterfactuals"
            )
        }
        Some(_) => format!("{did}; results in {out}, page {out}/{}", finished.summary.report),
    };
    if !finished.awaited.is_empty() && finished.published.is_some() {
        // Models may share a file.
        let files: IndexSet<&str> = finished.awaited.iter().map(|file| &*file.path).collect();
        let files: Vec<&str> = files.into_iter().collect();
        let here = format!("{out}/to-score");
        // A plan holds the hashes of the files that it found.
        let then = if args.from.is_some() { "plan again, into a new folder," } else { "run again" };
        words = format!(
            "{did}; the rows to score are in {}; {then} when you have {}",
            checked.job.run.to_score.as_ref().unwrap_or(&here),
            files.join(", ")
        );
    }
    if finished.published.is_some() && !matches!(verdict, "done" | "unfinished") {
        words = format!("verdict {verdict}: {words}");
    }
    if let Some(trimmed) = finished.trimmed.filter(|trimmed| trimmed.removed > 0) {
        words.push_str(&format!(
            "; the cache gave up {}",
            clean::results_text(trimmed.removed, trimmed.removed_bytes)
        ));
    }
    if finished.summary.data.is_some() {
        words.push_str("; STAND-IN DATA: no number is about real people");
    }
    Ok((finished.summary, words))
}

fn check(args: &CheckArgs) -> Result<Exit> {
    let result = check_job(args);
    if args.json {
        let problems: Vec<&JobProblem> = match &result {
            Err(Error::Job(problems)) => problems.iter().collect(),
            _ => Vec::new(),
        };
        let listed: Vec<serde_json::Value> = problems
            .iter()
            .map(|p| {
                let place = p.place.as_ref();
                json!({"code": p.code, "path": p.path, "file": place.map(|l| &l.file),
                    "line": place.map(|l| l.line),
                    "column": place.map(|l| l.column), "what": p.what, "hint": p.hint})
            })
            .collect();
        let other = match &result {
            Err(Error::Job(_)) | Ok(_) => serde_json::Value::Null,
            Err(error) => error.to_string().into(),
        };
        let exit = result.as_ref().map_or_else(Error::exit, |_| Exit::Done);
        let warnings: Vec<serde_json::Value> = result.as_ref().map_or_else(
            |_| Vec::new(),
            |(_, warnings, _)| {
                let listed = |LocatedIssue { issue, place }: &LocatedIssue| {
                    let place = place.as_ref();
                    json!({"code": issue.code, "severity": issue.severity, "where": issue.place,
                        "file": place.map(|l| &l.file), "line": place.map(|l| l.line),
                        "column": place.map(|l| l.column), "n": issue.n, "text": issue.text,
                        "hint": issue.hint})
                };
                warnings.iter().map(listed).collect()
            },
        );
        let contracts = result.as_ref().map_or(&[][..], |(_, _, contracts)| contracts.as_slice());
        print(&format!(
            "{}\n",
            json!({"problems": listed, "warnings": warnings, "contracts": contracts,
                "error": other, "exit": exit.code()})
        ))?;
        return Ok(exit);
    }
    let (text, warnings, _) = result?;
    // With `--quiet` messages that need an action are still shown.
    let text = if args.job_flags.log.quiet && !args.resolved {
        preview::warnings_text(&warnings, true)
    } else {
        text
    };
    print(&text)?;
    Ok(Exit::Done)
}

/// What there is to print, and the warnings and contracts in it.
fn check_job(args: &CheckArgs) -> Result<(String, Vec<LocatedIssue>, Vec<ContractPreview>)> {
    let (console, record, cancel) = set_up_run(&args.job_flags.log)?;
    let checked = read_job(&args.job, &args.job_flags, &record)?;
    let CheckFindings { warnings, awaited, contracts } = if args.no_data {
        CheckFindings::of_job(&checked)
    } else {
        let settings = settings(&args.job, &args.job_flags);
        crate::stage::preview::check_data(&checked, &settings, console.as_ref(), &cancel)?
    };
    let located = |issue| LocatedIssue::new(issue, &checked);
    let warnings: Vec<LocatedIssue> = warnings.into_iter().map(located).collect();
    let text = if args.resolved {
        check::to_yaml(&checked.job)
    } else if args.no_data {
        let found = preview::found_words("the job", &warnings);
        let first = format!("{}: {found}; its data were not checked\n", args.job.display());
        first + &preview::warnings_text(&warnings, false)
    } else {
        preview::checked_text(&args.job, &checked.job, (&warnings, &awaited, &contracts))
    };
    Ok((text, warnings, contracts))
}

fn explain_word(word: Option<&str>, folder: Option<&Path>) -> Result<Exit> {
    let entries = explain::entries(&explain::codes());
    let Some(word) = word else {
        let mut text = String::new();
        let mut kind = "";
        for entry in entries.iter().filter(|e| e.kind != "column") {
            if entry.kind != kind {
                kind = entry.kind;
                text.push_str(&format!("\n{}:\n", entry.kind_in_words()));
            }
            text.push_str(&format!(
                "  {:<21} {}\n",
                entry.word,
                entry.text.lines().next().unwrap_or_default()
            ));
        }
        print(text.trim_start())?;
        return Ok(Exit::Done);
    };
    let found = explain::find(&entries, word);
    let numbers = folder.map(|folder| numbers::of(word, &found, folder)).transpose()?;
    if found.is_empty() && numbers.is_none() {
        let hint = nearest(word, entries.iter().map(|entry| entry.word.as_str())).map_or_else(
            || "`cfaudit explain` lists all words".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        let what = format!("`{word}` is not a word of cfaudit");
        return Err(Error::command_line("unknown-word", "", what, hint));
    }
    let text = |e: &&ExplainedWord| format!("{} ({})\n{}\n", e.word, e.kind_in_words(), e.text);
    let mut texts: Vec<String> = found.iter().map(text).collect();
    let term = explain::term(&entries, word);
    texts.splice(0..0, term.map(|term| term + "\n"));
    texts.extend(numbers);
    print(&texts.join("\n"))?;
    Ok(Exit::Done)
}

fn schema(of: SchemaOf) -> Result<Exit> {
    let text = match of {
        SchemaOf::Job => job::schema::job_schema_text(),
        SchemaOf::Manifest => job::schema::schema_text::<Manifest>(),
        SchemaOf::Summary => job::schema::schema_text::<RunSummary>(),
        SchemaOf::Tables => explain::tables() + "\n",
    };
    print(&text)?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::Parser;

    use super::{CommandLine, naming_variable};
    use crate::tests::Says;

    #[test]
    fn an_error_names_where_the_value_came_from() {
        let message = |flag: &str, given: &[&str]| {
            let error = CommandLine::try_parse_from(["cfaudit", "run", "job.yaml", flag]);
            let words: Vec<OsString> = given.iter().map(OsString::from).collect();
            naming_variable(error.unwrap_err(), &words).to_string()
        };
        let run = ["cfaudit", "run", "job.yaml"];
        for (flag, named) in [
            ("--threads=abc", "'abc' for 'CFAUDIT_THREADS, the environment variable of --threads"),
            ("--memory=lots", "'lots' for 'CFAUDIT_MEMORY, the environment variable of --memory"),
            ("--log=xml", "'xml' for 'CFAUDIT_LOG, the environment variable of --log"),
        ] {
            let text = message(flag, &run);
            assert!(text.contains(named), "{text}");
            for given in [flag, flag.split('=').next().unwrap()] {
                let text = message(flag, &[run.as_slice(), &[given]].concat());
                text.lacks(&["CFAUDIT_"]);
            }
        }
        // No variable stands for this one.
        message("--gates=never", &run).lacks(&["variable"]);
    }
}
