//! Plans and runs stages in order: what has a result in the store is taken from there, the rest
//! is run.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

use crate::error::{Error, Result};
use crate::exec::cancel::CancelFlag;
use crate::exec::event::{Event, Observer, utc_text};
use crate::exec::fingerprint::StaleReason;
use crate::exec::pieces::at_once;
use crate::exec::planned_stage::{
    ExecSettings, PlannedStage, StageContext, StageRecord, StageStatus, millis,
};
use crate::exec::result_store::{PresentEntry, ResultStore, StageDone, StoreEntry, StoreView};
use crate::exec::staleness::{ChosenStage, damaged, find, steps};

/// For each stage whether it would run, and why. Runs and changes nothing.
///
/// Errs with [`Error::Job`] if `until` or `force` name nothing known, or the stages are
/// inconsistent.
pub fn plan(
    stages: &[PlannedStage<'_>],
    store: &StoreView,
    options: &ExecSettings<'_>,
) -> Result<Vec<StageStatus>> {
    let memory = store.memory(options.job)?;
    let mut entries = BTreeMap::new();
    let mut planned = Vec::new();
    let steps = steps(stages, options)?;
    let damaged = damaged(&steps, store, options, &mut || Ok(()))?;
    for step in steps {
        let found = find(&step, store, &memory, &entries, &damaged)?;
        planned.push(StageStatus {
            id: step.stage.id.clone(),
            kind: step.stage.kind,
            key: step.key,
            cached: found.is_ok(),
            reason: found.as_ref().err().map(ToString::to_string),
            rows: found.as_ref().ok().map(StoreEntry::rows),
            bytes: found.as_ref().ok().map(StoreEntry::bytes),
        });
        entries.extend(found.ok().map(|entry| (step.stage.id.as_str(), entry)));
    }
    Ok(planned)
}

/// Runs all stages without a result, in order, and returns the record of each.
///
/// Errs as [`plan`] does, with the error of the first stage that fails, and with
/// [`Error::Interrupted`] once `cancel` is raised. The observer gets the stage events only; the
/// caller sends those of the run as a whole.
pub fn run(
    stages: &[PlannedStage<'_>],
    store: &ResultStore,
    options: &ExecSettings<'_>,
    observer: &dyn Observer,
    cancel: &CancelFlag,
) -> Result<Vec<StageRecord>> {
    let there = store.view();
    let mut memory = there.memory(options.job)?;
    let mut entries = BTreeMap::new();
    let mut records = Vec::new();
    let steps = steps(stages, options)?;
    store.make_marks(options.job)?;
    let damaged = damaged(&steps, &there, options, &mut || cancel.check())?;
    let mut rest = steps.as_slice();
    while !rest.is_empty() {
        let (wave, later) = rest.split_at(parallel_steps(rest, options));
        rest = later;
        let one = |k: usize| {
            let step = &wave[k];
            cancel.check()?;
            let (started, clock) = (SystemTime::now(), Instant::now());
            let (entry, reason) = match find(step, &there, &memory, &entries, &damaged)? {
                Ok(entry) => {
                    observer.on(&Event::StageCached {
                        stage: step.stage.id.clone(),
                        rows: entry.rows(),
                        bytes: entry.bytes(),
                    });
                    (entry, None)
                }
                Err(reason) => {
                    (run_stage(step, store, &entries, &reason, observer, cancel)?, Some(reason))
                }
            };
            let record = StageRecord {
                id: step.stage.id.clone(),
                kind: step.stage.kind,
                key: step.key.clone(),
                cached: reason.is_none(),
                reason: reason.map(|reason| reason.to_string()),
                started: utc_text(started),
                ms: millis(clock.elapsed()),
                rows: entry.rows(),
                bytes: entry.bytes(),
                folder: entry.folder.clone(),
            };
            Ok((entry, record))
        };
        let done = at_once::<_, Error>(wave.len(), options.max_parallel, one);
        for (step, done) in wave.iter().zip(done) {
            let (entry, record) = done?;
            records.push(record);
            store.mark_used(options.job, &step.key)?;
            entries.insert(step.stage.id.as_str(), entry);
            if memory.0.get(&step.stage.id) != Some(&step.fingerprint) {
                memory.0.insert(step.stage.id.clone(), step.fingerprint.clone());
                store.remember(options.job, &memory)?;
            }
        }
    }
    Ok(records)
}

/// Number of the next stages that may run in parallel.
///
/// They are of the parallel kind, up to the first that needs one of them.
fn parallel_steps(steps: &[ChosenStage<'_, '_>], options: &ExecSettings<'_>) -> usize {
    let may = |step: &ChosenStage<'_, '_>| {
        options.max_parallel > 1 && options.parallel_kind == Some(step.stage.kind)
    };
    let free = |(n, step): &(usize, &ChosenStage<'_, '_>)| {
        may(step) && steps[..*n].iter().all(|earlier| !step.stage.needs.contains(&earlier.stage.id))
    };
    steps.iter().enumerate().take_while(free).count().max(1)
}

/// Runs one stage and stores its result.
fn run_stage(
    step: &ChosenStage<'_, '_>,
    store: &ResultStore,
    entries: &BTreeMap<&str, StoreEntry>,
    reason: &StaleReason,
    observer: &dyn Observer,
    cancel: &CancelFlag,
) -> Result<StoreEntry> {
    let stage = step.stage;
    observer.on(&Event::StageStart { stage: stage.id.clone(), reason: reason.to_string() });
    let draft = store.draft()?;
    // In the order of the fingerprint, which lists each need once.
    let needs: Vec<(&str, &StoreEntry)> = step
        .fingerprint
        .needs
        .keys()
        .filter_map(|id| entries.get_key_value(id.as_str()))
        .map(|(id, entry)| (*id, entry))
        .collect();
    let folders = needs.iter().map(|(id, entry)| (*id, entry.folder.as_path())).collect();
    let context = StageContext::new(&stage.id, draft.path(), folders, observer, cancel);
    (stage.run)(&context)?;
    cancel.check()?;
    let (rows, started) = (context.rows.load(Ordering::Relaxed), context.started);
    let needs: Vec<&StoreEntry> = needs.into_iter().map(|(_, entry)| entry).collect();
    let there = match reason {
        // The old entry was sound but is to be replaced.
        StaleReason::Forced | StaleReason::NeedReran { .. } => PresentEntry::Replace,
        StaleReason::EntryDamaged { .. } => PresentEntry::KeepIfSame,
        _ => PresentEntry::Keep,
    };
    let done = StageDone { rows, loaded: context.into_loaded() };
    let entry = store.commit(draft, &step.fingerprint, &needs, done, there)?;
    observer.on(&Event::StageEnd {
        stage: stage.id.clone(),
        rows,
        bytes: entry.bytes(),
        ms: millis(started.elapsed()),
    });
    Ok(entry)
}
