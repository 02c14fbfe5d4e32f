//! Verbs and flags of the command line.
//!
//! Flags that cannot change a number may also come from `CFAUDIT_THREADS`, `CFAUDIT_MEMORY`,
//! `CFAUDIT_CACHE`, `CFAUDIT_LOG` and `CFAUDIT_DATA`. No other variable changes how a run goes;
//! programs and libraries are found by those of the system.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::error::ErrorKind;
use clap::{Args, Command, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};

use crate::cli::flags::{LogFlags, parse_memory, parse_size};
use crate::cli::shard_args::{MOST_SHARDS, MergeArgs, WorkerArgs};
use crate::job::{ExportFormat, FavourableClass, PrometheusBlock};

/// Audits classifiers for counterfactual fairness: would this person have received a different
/// decision as a member of another group?
#[derive(Debug, Parser)]
#[command(name = "cfaudit", version, max_term_width = 110, disable_help_subcommand = true)]
pub(crate) struct CommandLine {
    /// Run as if started in this folder: all relative paths are relative to it.
    #[arg(short = 'C', value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: CommandVerb,
}

/// The verbs that a first audit needs, which help lists before the others.
const FIRST_VERBS: &[&str] = &["new", "check", "run", "diff", "explain"];

impl CommandLine {
    /// The definition, with a help that lists the verbs under two headings.
    pub(crate) fn program() -> Command {
        let program = CommandLine::command();
        let verbs = |first: bool| {
            let shown = program.clone().mut_subcommands(|verb| {
                let other = FIRST_VERBS.contains(&verb.get_name()) != first;
                let hidden = verb.is_hide_set() || other;
                verb.hide(hidden)
            });
            let lines = shown.help_template("{subcommands}").render_help().ansi().to_string();
            lines.trim_end().to_owned()
        };
        let header = program.get_styles().get_header();
        let heading = |text: &str| format!("{header}{text}:{header:#}");
        let template = format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\n{}\n\n{}\n{}\n\n{}\n\
             {{options}}",
            heading("Commands"),
            verbs(true),
            heading("More commands"),
            verbs(false),
            heading("Options"),
        );
        program.help_template(template)
    }

    /// The command line as it was written.
    ///
    /// # Errors
    /// A word is unknown or missing, or help is asked for.
    pub(crate) fn read(words: &[OsString]) -> Result<Self, clap::Error> {
        CommandLine::try_parse_from(words).map_err(|error| match error.kind() {
            // The lists of verbs are made only where they are shown.
            ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                CommandLine::program().try_get_matches_from(words).err().unwrap_or(error)
            }
            _ => error,
        })
    }
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum CommandVerb {
    /// Write a commented job from the columns of a data file; asks no questions
    New(NewArgs),
    /// Report all problems of a job at once, each with file, line, column and a hint
    Check(CheckArgs),
    /// Run a job: prepare, generate, score, measure, judge, report
    Run(RunArgs),
    /// Compare two finished folders: what changed, by how much, and whether it is more than chance
    Diff(DiffArgs),
    /// Explain a metric, stage, table, column, exit status or error code
    Explain {
        /// The word to explain; without it, all words are listed.
        word: Option<String>,
        /// Also print its results in a finished run: the values of a metric, or the verdict of a
        /// gate.
        #[arg(long = "in", value_name = "DIR", requires = "word")]
        folder: Option<PathBuf>,
    },
    /// Show which stages would run, and why, without running them; with --shards cut the rows into
    /// shards for workers
    Plan(PlanArgs),
    /// Do one pass over the rows of one shard of a plan
    Worker(WorkerArgs),
    /// Merge the states that the workers of a pass have left in a plan
    Merge(MergeArgs),
    /// Describe the data of the audit: columns, levels, missing values, groups by label
    Data(DataArgs),
    /// Judge the gates of a finished folder again, against a baseline if one is named; reads
    /// only tables
    Gate(GateArgs),
    /// Say how many people would decide the gates of a job, before a run or after it
    Power(PowerArgs),
    /// Export a finished folder for another tool: JUnit, Prometheus, CycloneDX
    Export(ExportArgs),
    /// Check that a folder is what its run wrote: hashes, table versions, gates judged again
    Verify(VerifyArgs),
    /// Pack a verified folder into one archive, without the files below rows/ and to-score/;
    /// cases of `report.cases` are included
    Pack(PackArgs),
    /// Remove results from the cache that nobody needs any more
    Clean(CleanArgs),
    /// Ask an endpoint for the scores of the rows on standard input; runs start it
    #[command(hide = true)]
    AskHttp(HttpArgs),
    /// Print the JSON Schema of job files, manifest or summary, or the description of the tables
    Schema {
        /// Which schema.
        #[arg(value_enum, default_value_t = SchemaOf::Job)]
        of: SchemaOf,
    },
    /// Render report.html again from the tables of an output folder
    Report {
        /// The output folder.
        dir: PathBuf,
        /// Another title.
        #[arg(long)]
        title: Option<String>,
        /// Output folders of earlier runs, the oldest first: the page shows each limit over these
        /// runs; default: those that the folder was made with.
        #[arg(long, value_name = "DIR", num_args = 1..)]
        history: Vec<PathBuf>,
    },
    /// Print the manual page, or write a page for each verb into a folder
    Man {
        /// Write cfaudit.1 and a page for each verb, cfaudit-run.1 and so on, into this folder,
        /// which is created if needed.
        #[arg(value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Print the completions of a shell, for the file or folder in which that shell looks for them
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

/// What `cfaudit schema` prints.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemaOf {
    /// JSON Schema of job files.
    Job,
    /// JSON Schema of manifest.json.
    Manifest,
    /// JSON Schema of summary.json and of the summary line.
    Summary,
    /// Description of the result tables.
    Tables,
}

/// `cfaudit run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The job file.
    pub(crate) job: PathBuf,
    /// The output folder; default: `outputs/<name of the job>`.
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Folder or address of a plan in shards whose passes are merged: the run reads no rows.
    #[arg(long, value_name = "PLAN", conflicts_with_all = ["until", "force"])]
    pub(crate) from: Option<PathBuf>,
    /// Output folder of an earlier run: changes from it are shown, and gates `against: baseline`
    /// are judged.
    #[arg(long, value_name = "DIR")]
    pub(crate) baseline: Option<PathBuf>,
    /// Output folders of earlier runs, the oldest first: the page shows each limit over these
    /// runs and this one.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub(crate) history: Vec<PathBuf>,
    /// Stop after this kind of stage; `cfaudit plan` lists those of a job, `cfaudit explain` all.
    #[arg(long, value_name = "STAGE")]
    pub(crate) until: Option<String>,
    /// Run stages again even if results are cached: a kind such as `score`, fields of an id
    /// such as `model=live`, or both (`score/model=live`).
    #[arg(long, value_name = "STAGE")]
    pub(crate) force: Option<String>,
    /// Whether gates decide the exit status.
    #[arg(long, value_enum, default_value_t = GatePolicy::Enforce)]
    pub(crate) gates: GatePolicy,
    /// Replace an output folder that belongs to another job.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Write the summary line to this file as well.
    #[arg(long, value_name = "F")]
    pub(crate) summary_file: Option<PathBuf>,
    /// Largest size of the cache after the run, such as `20GiB`: the results that were used longest
    /// ago are removed first.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) cache_limit: Option<u64>,
    /// Flags shared by the verbs that read a job.
    #[command(flatten)]
    pub(crate) job_flags: JobFlags,
}

/// `cfaudit clean`. Without rules it keeps, of each stage of each job, the result used last.
#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Remove only results that no run has used for this long, such as `30d` or `12h`.
    #[arg(long, value_name = "TIME", value_parser = parse_age)]
    pub(crate) older: Option<Duration>,
    /// Keep this many results of each stage of each job, those used last; without any rule 1.
    #[arg(long, value_name = "N")]
    pub(crate) keep_last: Option<usize>,
    /// Remove only results that no other job has used.
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,
    /// Remove nothing, but list what would be removed.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Folder of cached stage results; default: `outputs/.cache`.
    #[arg(long, env = "CFAUDIT_CACHE", value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// How to log.
    #[command(flatten)]
    pub(crate) log: LogFlags,
}

/// `cfaudit ask-http`.
#[derive(Debug, Args)]
pub(crate) struct HttpArgs {
    /// The address.
    #[arg(long)]
    pub(crate) url: String,
    /// The version of the model.
    #[arg(long)]
    pub(crate) model_version: String,
    /// What requests and answers look like.
    #[arg(long)]
    pub(crate) protocol: String,
    /// Largest share of rows without a score.
    #[arg(long)]
    pub(crate) missing_at_most: f64,
    /// Rows of a request, requests at once, repetitions, seconds of a request, and the variable
    /// with the token.
    #[arg(long)]
    pub(crate) how: String,
    /// Where answers are kept.
    #[arg(long)]
    pub(crate) answers: PathBuf,
}

/// `cfaudit check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The job file.
    pub(crate) job: PathBuf,
    /// Check only the job, not its data.
    #[arg(long)]
    pub(crate) no_data: bool,
    /// Print the job as it would run, with includes merged, variables filled in and defaults added.
    #[arg(long)]
    pub(crate) resolved: bool,
    /// Print the problems as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Flags shared by the verbs that read a job.
    #[command(flatten)]
    pub(crate) job_flags: JobFlags,
}

/// `cfaudit plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The job file.
    pub(crate) job: PathBuf,
    /// Print the plan as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Output folder of an earlier run, as for `run`; a plan in shards gets it from `run --from
    /// PLAN --baseline DIR`.
    #[arg(long, value_name = "DIR")]
    pub(crate) baseline: Option<PathBuf>,
    /// End with status 1 if a stage would run.
    #[arg(long, conflicts_with_all = ["shards", "shard_rows", "stream"])]
    pub(crate) exit_code: bool,
    /// Cut the rows into this many shards and write the plan for their workers.
    #[arg(long, value_name = "N", requires = "to", conflicts_with = "shard_rows",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_SHARDS)))]
    pub(crate) shards: Option<u32>,
    /// Cut the rows into shards of about this many rows.
    #[arg(long, value_name = "ROWS", requires = "to",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) shard_rows: Option<u64>,
    /// Plan for rows that an engine passes to the workers: a file with the number of rows of each
    /// part, one per line. Standard input is an Arrow stream of their columns, without rows.
    #[arg(long, value_name = "PARTS", requires = "to",
        conflicts_with_all = ["shards", "shard_rows"])]
    pub(crate) stream: Option<PathBuf>,
    /// The folder of the plan, which all machines can read and write, or its address such as
    /// `s3://BUCKET/KEY`.
    #[arg(long, value_name = "PLAN", conflicts_with = "baseline")]
    pub(crate) to: Option<PathBuf>,
    /// Flags shared by the verbs that read a job.
    #[command(flatten)]
    pub(crate) job_flags: JobFlags,
}

/// `cfaudit data`.
#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// The job file.
    pub(crate) job: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Flags shared by the verbs that read a job.
    #[command(flatten)]
    pub(crate) job_flags: JobFlags,
}

/// `cfaudit new`.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The data: a Parquet file, folder or glob, or a text file (.csv, .tsv, .txt).
    #[arg(required_unless_present = "remedy")]
    pub(crate) data: Option<String>,
    /// Write instead the lines that try common remedies on every model of this job that is trained
    /// in the run, to be added to the job.
    #[arg(long, value_name = "JOB", conflicts_with_all = ["data", "label", "sensitive", "score",
        "positive", "favourable", "reference"])]
    pub(crate) remedy: Option<PathBuf>,
    /// The label column; default: `label_value` of an Aequitas-style table.
    #[arg(long, value_name = "COL")]
    pub(crate) label: Option<String>,
    /// A sensitive column; may be given several times. Default: all attributes of an Aequitas-style
    /// table.
    #[arg(long, value_name = "COL")]
    pub(crate) sensitive: Vec<String>,
    /// The column of scores to audit; default: `score` of an Aequitas-style table, otherwise a
    /// model is trained.
    #[arg(long, value_name = "COL")]
    pub(crate) score: Option<String>,
    /// The positive value of the label; default: a guess, marked in the job.
    #[arg(long, value_name = "VALUE")]
    pub(crate) positive: Option<String>,
    /// Which prediction people want; default: a guess, marked in the job.
    #[arg(long, value_enum)]
    pub(crate) favourable: Option<FavourableClass>,
    /// The reference group; default: the largest, marked in the job.
    #[arg(long, value_name = "GROUP")]
    pub(crate) reference: Option<String>,
    /// Write the job to this new file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

impl ValueEnum for FavourableClass {
    fn value_variants<'a>() -> &'a [Self] {
        &[FavourableClass::Positive, FavourableClass::Negative]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            FavourableClass::Positive => PossibleValue::new("positive").help("The positive one"),
            FavourableClass::Negative => PossibleValue::new("negative").help("The negative one"),
        })
    }
}

/// `cfaudit export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The output folder.
    pub(crate) dir: PathBuf,
    /// The form.
    #[arg(long, value_enum)]
    pub(crate) to: ExportTarget,
    /// Write to this file, as a whole, instead of standard output.
    #[arg(long, value_name = "F")]
    pub(crate) file: Option<PathBuf>,
    /// With `cases`: only people whose decision would change.
    #[arg(long)]
    pub(crate) switched: bool,
    /// With `cases`: only this model.
    #[arg(long, value_name = "M")]
    pub(crate) model: Option<String>,
    /// With `cases`: only this counterfactual set.
    #[arg(long, value_name = "S")]
    pub(crate) counterfactual: Option<String>,
    /// With `cases`: only people of group A, set to group B.
    #[arg(long, value_name = "A,B")]
    pub(crate) direction: Option<String>,
}

/// What a folder is exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportTarget {
    /// JUnit XML, one test case per gate
    Junit,
    /// Prometheus text format, for the textfile collector
    Prometheus,
    /// A bill of materials with model cards, CycloneDX 1.6
    ModelCard,
    /// A CSV of people by their ids, with decisions before and after
    Cases,
}

impl ExportTarget {
    /// The form of another tool that it is; none of the cases.
    pub(crate) fn form(self) -> Option<ExportFormat> {
        match self {
            ExportTarget::Junit => Some(ExportFormat::Junit),
            ExportTarget::Prometheus => Some(ExportFormat::Prometheus(PrometheusBlock::default())),
            ExportTarget::ModelCard => Some(ExportFormat::ModelCard),
            ExportTarget::Cases => None,
        }
    }
}

/// `cfaudit verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The output folder.
    pub(crate) dir: PathBuf,
    /// The fingerprint that was noted at sign-off: the SHA-256 of manifest.json.
    #[arg(long, value_name = "SHA256", value_parser = parse_fingerprint)]
    pub(crate) fingerprint: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `cfaudit pack`.
#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    /// The output folder.
    pub(crate) dir: PathBuf,
    /// The archive; default: `JOB-RUN.zip` in the working directory.
    #[arg(long, value_name = "F")]
    pub(crate) file: Option<PathBuf>,
}

/// `cfaudit gate`.
#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// The output folder; its verdicts, summary and page are renewed.
    pub(crate) dir: PathBuf,
    /// Output folder of an earlier run, for gates `against: baseline`; default: the folder
    /// of the previous comparison.
    #[arg(long, value_name = "DIR")]
    pub(crate) baseline: Option<PathBuf>,
    /// Judge changes even if a definition differs between the two runs.
    #[arg(long, requires = "baseline")]
    pub(crate) force: bool,
    /// Write the summary line to this file as well.
    #[arg(long, value_name = "F")]
    pub(crate) summary_file: Option<PathBuf>,
    /// How to log.
    #[command(flatten)]
    pub(crate) log: LogFlags,
}

/// `cfaudit power`.
#[derive(Debug, Args)]
pub(crate) struct PowerArgs {
    /// The job file, or the output folder of a run.
    #[arg(value_name = "JOB|DIR")]
    pub(crate) target: PathBuf,
    /// One gate; all of them by default.
    #[arg(long, value_name = "G")]
    pub(crate) gate: Option<String>,
    /// The true rate; for a difference or ratio, the rates of both groups. Default, for a folder:
    /// the rates that it measured.
    #[arg(long, value_name = "RATE[,RATE]", value_delimiter = ',', value_parser = parse_rate)]
    pub(crate) assume: Vec<f64>,
    /// Share of the audited people of a group who are in the denominator, such as those who are
    /// refused. Default: as measured in the folder; before a run, everybody.
    #[arg(long, value_name = "S", value_parser = parse_rate)]
    pub(crate) share: Option<f64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Flags shared by the verbs that read a job.
    #[command(flatten)]
    pub(crate) job_flags: JobFlags,
}

/// `cfaudit diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The old output folder.
    #[arg(value_name = "A")]
    pub(crate) old: PathBuf,
    /// The new one.
    #[arg(value_name = "B")]
    pub(crate) new: PathBuf,
    /// Judge the gates of this job: values by the new folder, changes against the old one. If a
    /// gate fails, the status is 1.
    #[arg(long)]
    pub(crate) job: Option<PathBuf>,
    /// With `--job`: set a declared variable or any value by its full path.
    #[arg(long, value_name = "PATH=VALUE", requires = "job")]
    pub(crate) set: Vec<String>,
    /// Print JSON.
    #[arg(long, conflicts_with = "md")]
    pub(crate) json: bool,
    /// Print Markdown.
    #[arg(long)]
    pub(crate) md: bool,
    /// Also print changes that are not clear.
    #[arg(long)]
    pub(crate) all: bool,
    /// End with status 1 if anything differs, even by chance.
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// Compare values even if a definition differs between the two runs.
    #[arg(long)]
    pub(crate) force: bool,
    /// Write a page, `diff.html`, and the table `changes.parquet` into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Flags of every verb that reads a job.
#[derive(Debug, Args)]
pub(crate) struct JobFlags {
    /// Set a declared variable (`NAME=VALUE`) or any value by its full path
    /// (`gates.four-fifths.level=fail`).
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Number of threads; default: all cores.
    #[arg(long, env = "CFAUDIT_THREADS", value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Memory limit, such as `2GiB` or `500MB`: it bounds the rows in flight; a model whose
    /// training would need more is refused, and so is a job with more directions between groups
    /// than fit. By default each may use half of the memory of the machine or its control group.
    #[arg(long, env = "CFAUDIT_MEMORY", value_name = "SIZE", value_parser = parse_memory)]
    pub(crate) memory: Option<u64>,
    /// Folder of cached stage results, or `off`; default: `outputs/.cache`.
    #[arg(long, env = "CFAUDIT_CACHE", value_name = "DIR|off")]
    pub(crate) cache: Option<PathBuf>,
    /// Hash all input files. By default the cache reuses the hash of a file that has
    /// not changed since it was hashed.
    #[arg(long)]
    pub(crate) rehash: bool,
    /// Folder of public data sets, one subfolder each.
    #[arg(long, env = "CFAUDIT_DATA", value_name = "DIR", default_value = "data")]
    pub(crate) data_dir: PathBuf,
    /// Rows in a batch; a multiple of 1024.
    #[arg(long, hide = true, value_name = "N", value_parser = parse_batch_rows)]
    pub(crate) batch_rows: Option<usize>,
    /// How to log.
    #[command(flatten)]
    pub(crate) log: LogFlags,
}

/// Whether gates decide the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GatePolicy {
    /// They do.
    Enforce,
    /// They are judged and shown, but the exit status stays 0.
    Report,
}

/// A time as a whole number and a unit: `30d`, `12h`, `90m`, `2w`.
fn parse_age(text: &str) -> Result<Duration, String> {
    let bad =
        || format!("`{text}` is no time; write a whole number and a unit, such as 30d or 12h");
    let unit = text.chars().next_back().ok_or_else(bad)?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 7 * 86_400,
        _ => return Err(bad()),
    };
    let number: u32 = text[..text.len() - 1].parse().map_err(|_| bad())?;
    Ok(Duration::from_secs(u64::from(number) * seconds))
}

fn parse_fingerprint(text: &str) -> Result<String, String> {
    let is_hash = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let bad = || format!("`{text}` is no SHA-256; write its 64 hexadecimal digits");
    is_hash.then(|| text.to_ascii_lowercase()).ok_or_else(bad)
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.trim().parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| format!("`{text}` is no rate; write a number from 0 to 1"))
}

fn parse_batch_rows(text: &str) -> Result<usize, String> {
    let rows: usize = text.parse().map_err(|_| format!("`{text}` is not a number of rows"))?;
    if rows == 0 || !rows.is_multiple_of(crate::table::file::BLOCK_ROWS) {
        return Err(format!("`{rows}` is not a multiple of {}", crate::table::file::BLOCK_ROWS));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{CommandLine, FIRST_VERBS, parse_age, parse_memory, parse_size};

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLine::program().debug_assert();
    }

    /// Each verb is listed once, those of a first audit under the first heading.
    #[test]
    fn help_lists_the_verbs_of_a_first_audit_before_the_others() {
        let mut program = CommandLine::program();
        let help = program.render_help().to_string();
        let (first, rest) = help.split_once("\nMore commands:\n").unwrap();
        let (more, _) = rest.split_once("\nOptions:\n").unwrap();
        let (_, first) = first.split_once("\nCommands:\n").unwrap();
        let named = |lines: &str| -> Vec<String> {
            let lines =
                lines.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
            lines.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
        };
        assert_eq!(named(first), FIRST_VERBS);
        let mut listed = [named(first), named(more)].concat();
        let shown = program.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut all: Vec<String> = shown.map(|verb| verb.get_name().to_owned()).collect();
        listed.sort();
        all.sort();
        assert_eq!(listed, all);
    }

    #[test]
    fn times_and_sizes_of_the_cache() {
        assert_eq!(parse_age("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(parse_age("2w"), parse_age("14d"));
        assert_eq!(parse_age("0s"), Ok(Duration::ZERO));
        for bad in ["", "d", "30", "-1d", "1.5d", "30 days", "30ä", "99999999999d"] {
            assert!(parse_age(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_size("20GiB"), Ok(20 << 30));
        assert_eq!(parse_size("0"), Ok(0));
        assert!(parse_size("much").is_err());
    }

    #[test]
    fn sizes_of_memory() {
        assert_eq!(parse_memory("2GiB"), Ok(2 << 30));
        assert_eq!(parse_memory("1.5GB"), Ok(1_500_000_000));
        assert_eq!(parse_memory("300 MB"), Ok(300_000_000));
        for bad in ["", "lots", "2 parsecs", "1MB", "-3GiB"] {
            assert!(parse_memory(bad).is_err(), "{bad}");
        }
    }
}
