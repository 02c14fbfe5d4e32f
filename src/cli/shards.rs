//! The verbs of a job in shards: `plan --shards`, `worker` and `merge`. `worker` and `merge` print
//! one line of JSON for the scheduler that started them; `worker --stream` prints a state.

use std::io;
use std::path::Path;

use serde_json::json;

use crate::error::{Exit, Result};
use crate::stage::settings::RunSettings;
use crate::stage::sharding::merge::{self, MergeOutcome};
use crate::stage::sharding::plan::{self, OpenPlan, ShardCount, StreamedParts};
use crate::stage::sharding::stream::{StreamCopy, part_rows};
use crate::stage::sharding::work::{self, PassOfShard};

use crate::cli::args::PlanArgs;
use crate::cli::progress::grouped;
use crate::cli::shard_args::{MOST_SHARDS, MergeArgs, WorkerArgs};
use crate::cli::{print, print_bytes, read_job, set_up_run, settings};
use crate::stage::RunRecord;

/// Numbers of missing shards that a line shows.
const SHOWN: usize = 20;

/// Whether a plan in shards is asked for.
pub(crate) fn is_asked(args: &PlanArgs) -> bool {
    args.shards.is_some() || args.shard_rows.is_some() || args.stream.is_some()
}

/// `cfaudit plan --shards`, `--shard-rows` and `--stream`.
pub(crate) fn plan(args: &PlanArgs) -> Result<Exit> {
    let (_, record, cancel) = set_up_run(&args.job_flags.log)?;
    let settings = settings(&args.job, &args.job_flags);
    let columns;
    let count = match (args.shards, args.shard_rows, &args.stream) {
        (Some(n), ..) => ShardCount::Shards(usize::try_from(n).unwrap_or(usize::MAX)),
        (_, Some(rows), _) => ShardCount::Rows(rows),
        (.., parts) => {
            let parts = parts.as_deref().unwrap_or(Path::new(""));
            let rows = part_rows(parts, usize::try_from(MOST_SHARDS).unwrap_or(usize::MAX))?;
            columns = StreamCopy::take(&mut io::stdin().lock(), "the columns", &settings, &cancel)?;
            ShardCount::Parts(StreamedParts { columns: columns.without_rows()?, rows })
        }
    };
    let checked = read_job(&args.job, &args.job_flags, &record)?;
    let folder = args.to.clone().unwrap_or_default();
    let plan = plan::make(&checked, &settings, count, &folder, &cancel)?;
    if args.json {
        let tasks = plan.tasks();
        print(&format!("{}\n", json!({"plan": plan.id, "shards": plan.plan, "tasks": tasks})))?;
    } else if !args.job_flags.log.quiet {
        print(&plan_text(&plan, args))?;
    }
    Ok(Exit::Done)
}

fn plan_text(plan: &OpenPlan, args: &PlanArgs) -> String {
    let (shards, folder) = (plan.plan.shards.len(), plan.folder.root().display());
    let empty = plan.plan.shards.iter().filter(|shard| shard.rows == 0).count();
    let mut text = format!("{} rows in {shards} shards", grouped(plan.plan.rows));
    if empty > 0 {
        text += &format!(", {empty} of them empty: a shard begins where a row group does");
    }
    let passes = plan.plan.passes.join(", ");
    text += &format!("\nfor each pass ({passes}), one after the other:\n");
    let stream = plan.columns().map_or("", |_| " --stream < ROWS > STATE");
    text += &format!(
        "  cfaudit worker {folder} --pass PASS --shard I{stream}   for I from 0 to {}\n",
        shards - 1
    );
    text += &format!("  cfaudit merge {folder} --pass PASS\nthen:\n");
    let sets = args.job_flags.set.iter().map(|set| format!(" --set {set}"));
    let sets: String = sets.collect();
    text + &format!("  cfaudit run {}{sets} --from {folder}\n", args.job.display())
}

/// `cfaudit worker`.
pub(crate) fn worker(args: &WorkerArgs) -> Result<Exit> {
    let (_, record, cancel) = set_up_run(&args.log)?;
    let plan = OpenPlan::open(&args.plan, &cancel)?;
    let (checked, job_file) = plan.job()?;
    record.identify(checked.job.name.as_str(), "");
    // An engine may pass on other rows under the same number.
    let cache = args.cache.clone().filter(|path| path.as_os_str() != "off" && !args.stream);
    let plain = RunSettings::plain(job_file);
    let settings = RunSettings {
        cache,
        threads: args.threads.map_or(plain.threads, usize::from),
        memory: args.memory,
        ..plain
    };
    let (pass, shard) = (args.pass.0, args.shard);
    let task = PassOfShard {
        plan: &plan,
        checked: &checked,
        settings: &settings,
        pass,
        shard,
        cancel: &cancel,
    };
    if args.stream {
        return print_bytes(&work::work_on_stream(task, &mut io::stdin().lock())?)
            .map(|()| Exit::Done);
    }
    let (done, bytes) = work::work(task)?;
    let path = plan.folder.path(&plan.part_file(pass, shard));
    let line = json!({
        "pass": pass.word(), "shard": shard, "done": done.word(),
        "rows": plan.header(pass, Some(shard)).rows, "bytes": bytes,
        "state": path.to_string_lossy(),
    });
    print(&format!("{line}\n"))?;
    Ok(Exit::Done)
}

/// `cfaudit merge`.
pub(crate) fn merge(args: &MergeArgs) -> Result<Exit> {
    let (_, _, cancel) = set_up_run(&args.log)?;
    let plan = OpenPlan::open(&args.plan, &cancel)?;
    let (pass, shards) = (args.pass.0, plan.plan.shards.len());
    let (line, exit) = match merge::merge(&plan, pass, &cancel)? {
        MergeOutcome::Merged { states } => {
            let state = plan.folder.path(&plan.merged_file(pass));
            let line = json!({
                "pass": pass.word(), "shards": shards, "states": states,
                "state": state.to_string_lossy(),
            });
            (line, Exit::Done)
        }
        MergeOutcome::Missing(missing) => {
            let shown: Vec<String> = missing.iter().take(SHOWN).map(ToString::to_string).collect();
            let more = if missing.len() > SHOWN { ", ..." } else { "" };
            let words =
                format!("missing {} of {shards}: {}{more}", missing.len(), shown.join(", "));
            let line =
                json!({"pass": pass.word(), "shards": shards, "missing": missing, "text": words});
            (line, Exit::Waiting)
        }
    };
    print(&format!("{line}\n"))?;
    Ok(exit)
}
