//! `cfaudit clean`: removes results from the cache.

use std::path::PathBuf;

use crate::cli::args::CleanArgs;
use crate::error::{Error, Exit, Result};
use crate::exec::cache_folder::DEFAULT_CACHE;
use crate::exec::clean::CleanRules;
use crate::exec::result_store::{ResultStore, StoreView};

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

/// The number of results, and their size, in words.
pub(crate) fn results_text(n: u64, bytes: u64) -> String {
    let noun = if n == 1 { "result" } else { "results" };
    format!("{n} {noun} ({:.1} MB)", bytes as f64 / 1e6)
}
