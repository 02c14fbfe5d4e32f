//! `cfaudit merge`: the states of all shards of a pass become one, read one shard at a time.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::error::{Error, Result};
use crate::exec::cancel::CancelFlag;
use crate::exec::internal_error;
use crate::stage::pass::{OpenState, open_state};
use crate::stage::sharding::plan::{OpenPlan, part_name};
use crate::stage::sharding::share::{ShardPass, StateLabel, write_state};
use crate::stage::sharding::state;

/// What a merge did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MergeOutcome {
    /// The states of this number of shards were merged.
    Merged {
        /// States of the merged file.
        states: usize,
    },
    /// These shards have no states yet.
    Missing(Vec<usize>),
}

/// Merges the states of a pass.
///
/// # Errors
/// A part is damaged, or of another plan, pass, shard or program; the disk refuses.
pub(crate) fn merge(plan: &OpenPlan, pass: ShardPass, cancel: &CancelFlag) -> Result<MergeOutcome> {
    let n = plan.plan.shards.len();
    let there = plan.folder.names(pass.word())?;
    let missing: Vec<usize> = (0..n).filter(|&shard| !there.contains(&part_name(shard))).collect();
    if !missing.is_empty() {
        return Ok(MergeOutcome::Missing(missing));
    }
    let mut states: BTreeMap<StateLabel, Box<dyn OpenState>> = BTreeMap::new();
    for shard in 0..n {
        cancel.check()?;
        let name = plan.part_file(pass, shard);
        let Some(read) = state::read(&plan.folder, &name)? else {
            return Ok(MergeOutcome::Missing(vec![shard]));
        };
        let path = plan.folder.path(&name);
        plan.check_header(&path, &read.header, (pass, Some(shard)))?;
        for (label, part) in state::labelled(&read.text, &path)? {
            let unreadable = |cause: String| {
                let hint = "plan again, or use one program everywhere";
                Error::operator("use", &path, cause, hint)
            };
            let state = match states.entry(label) {
                Entry::Occupied(there) => there.into_mut(),
                Entry::Vacant(free) => {
                    let name = free.key().state.clone();
                    let opened = open_state(&name);
                    let unknown = || unreadable(format!("this program has no state `{name}`"));
                    free.insert(opened.ok_or_else(unknown)?)
                }
            };
            state.add(&part).map_err(|cause| unreadable(cause.to_string()))?;
        }
    }
    let mut text = String::new();
    let count = states.len();
    for (label, state) in states {
        let state = state.finish().map_err(|bug| internal_error(bug.to_string()))?;
        write_state(&mut text, &label, &state)?;
    }
    let merged = plan.merged_file(pass);
    plan.folder.write(&merged, state::encoded(plan.header(pass, None), text.as_bytes())?)?;
    let parts = (0..n).map(|shard| plan.part_file(pass, shard));
    plan.folder.tidy(&parts.chain([merged]).collect::<Vec<_>>());
    Ok(MergeOutcome::Merged { states: count })
}
