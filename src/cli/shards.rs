//! The verbs of a job in shards: `plan --shards`, `worker` and `merge`. `worker` and `merge` print
//! one line of JSON for the scheduler that started them.

use serde_json::json;

use crate::error::{Exit, Result};
use crate::exec::files;
use crate::job::check;
use crate::stage::measure::catalog;
use crate::stage::settings::RunSettings;
use crate::stage::sharding::merge::{self, MergeOutcome};
use crate::stage::sharding::plan::{self, OpenPlan, ShardCount};
use crate::stage::sharding::work;

use crate::cli::args::{MergeArgs, PlanArgs, WorkerArgs};
use crate::cli::progress::grouped;
use crate::cli::{print, read_job, set_up_run, settings};
use crate::stage::RunRecord;

/// Numbers of missing shards that a line shows.
const SHOWN: usize = 20;

/// How many shards a plan is to have; none where it is no plan in shards.
pub(crate) fn count(args: &PlanArgs) -> Option<ShardCount> {
    let shards = args.shards.and_then(|n| usize::try_from(n).ok()).map(ShardCount::Shards);
    shards.or(args.shard_rows.map(ShardCount::Rows))
}

/// `cfaudit plan --shards`.
pub(crate) fn plan(args: &PlanArgs, count: ShardCount) -> Result<Exit> {
    let (_, record, cancel) = set_up_run(&args.job_flags.log)?;
    let checked = read_job(&args.job, &args.job_flags)?;
    record.identify(checked.job.name.as_str(), "");
    let settings = settings(&args.job, &args.job_flags);
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
    let (shards, folder) = (plan.plan.shards.len(), plan.folder.display());
    let empty = plan.plan.shards.iter().filter(|shard| shard.rows == 0).count();
    let mut text = format!("{} rows in {shards} shards", grouped(plan.plan.rows));
    if empty > 0 {
        text += &format!(", {empty} of them empty: a shard begins where a row group does");
    }
    let passes = plan.plan.passes.join(", ");
    text += &format!("\nfor each pass ({passes}), one after the other:\n");
    text += &format!(
        "  cfaudit worker {folder} --pass PASS --shard I   for I from 0 to {}\n",
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
    let plan = OpenPlan::open(&args.plan)?;
    let checked = check::read(&plan.job_file(), &[], &catalog::catalog())?;
    record.identify(checked.job.name.as_str(), "");
    let cache = args.cache.clone().filter(|path| path.as_os_str() != "off");
    let plain = RunSettings::plain(plan.job_file().to_string_lossy().into_owned());
    let settings = RunSettings {
        cache,
        threads: args.threads.map_or(plain.threads, usize::from),
        memory: args.memory,
        ..plain
    };
    let (pass, shard) = (args.pass.0, args.shard);
    let done = work::work(&plan, &checked, &settings, (pass, shard), &cancel)?;
    let path = plan.part_file(pass, shard);
    let line = json!({
        "pass": pass.word(), "shard": shard, "done": done.word(),
        "rows": plan.rows_of(Some(shard)).1, "bytes": files::metadata(&path)?.len(),
        "state": path.to_string_lossy(),
    });
    print(&format!("{line}\n"))?;
    Ok(Exit::Done)
}

/// `cfaudit merge`.
pub(crate) fn merge(args: &MergeArgs) -> Result<Exit> {
    let (_, _, cancel) = set_up_run(&args.log)?;
    let plan = OpenPlan::open(&args.plan)?;
    let (pass, shards) = (args.pass.0, plan.plan.shards.len());
    match merge::merge(&plan, pass, &cancel)? {
        MergeOutcome::Merged { states } => {
            let state = plan.merged_file(pass);
            let line = json!({
                "pass": pass.word(), "shards": shards, "states": states,
                "state": state.to_string_lossy(),
            });
            print(&format!("{line}\n"))?;
            Ok(Exit::Done)
        }
        MergeOutcome::Missing(missing) => {
            let shown: Vec<String> = missing.iter().take(SHOWN).map(ToString::to_string).collect();
            let more = if missing.len() > SHOWN { ", ..." } else { "" };
            let words =
                format!("missing {} of {shards}: {}{more}", missing.len(), shown.join(", "));
            let line =
                json!({"pass": pass.word(), "shards": shards, "missing": missing, "text": words});
            print(&format!("{line}\n"))?;
            Ok(Exit::Waiting)
        }
    }
}
