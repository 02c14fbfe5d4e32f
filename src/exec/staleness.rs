//! Which stages of a run are chosen, and whether the result of each is still valid: found in the
//! store, or stale with a reason. The reasons and their sentences are
//! [`StaleReason`](super::fingerprint::StaleReason).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use indexmap::IndexMap;

use super::fingerprint::{StageFingerprint, StaleReason};
use super::planned_stage::{ExecSettings, PlannedStage, graph_problem, unknown};
use super::result_store::{FingerprintMemory, StoreEntry, StoreLookup, StoreView};
use crate::error::{Error, Result};

/// A stage chosen for a run.
pub(super) struct ChosenStage<'s, 'a> {
    pub(super) stage: &'s PlannedStage<'a>,
    pub(super) fingerprint: StageFingerprint,
    pub(super) key: String,
    pub(super) forced: bool,
}

/// The result of a stage, or why there is none. `view` holds the known results of earlier stages.
pub(super) fn find(
    step: &ChosenStage<'_, '_>,
    store: &StoreView,
    memory: &FingerprintMemory,
    entries: &BTreeMap<&str, StoreEntry>,
    damaged: &DamagedFiles,
) -> Result<Result<StoreEntry, StaleReason>> {
    if step.forced {
        return Ok(Err(StaleReason::Forced));
    }
    if let Some((file, what)) = damaged.get(&step.key) {
        return Ok(Err(StaleReason::EntryDamaged { file: file.clone(), what: what.clone() }));
    }
    Ok(match store.look(&step.key)? {
        StoreLookup::Sound(entry) => match entry.outdated_need(entries) {
            None => match entry.changed_file() {
                None => Ok(*entry),
                Some((path, [old, new])) => {
                    Err(StaleReason::InputChanged { name: format!("file {path}"), old, new })
                }
            },
            Some(id) => Err(StaleReason::NeedReran { id }),
        },
        StoreLookup::Damaged { file, what } => Err(StaleReason::EntryDamaged { file, what }),
        StoreLookup::Missing => Err(step.fingerprint.reason(memory.0.get(&step.stage.id))),
    })
}

/// Checks the stages, computes their keys, and leaves out those of a kind after `until`.
///
/// A stage that a remaining one needs is kept.
pub(super) fn steps<'s, 'a>(
    stages: &'s [PlannedStage<'a>],
    options: &ExecSettings<'_>,
) -> Result<Vec<ChosenStage<'s, 'a>>> {
    check(stages, options)?;
    let last = options.until.and_then(|until| options.kinds.iter().position(|kind| *kind == until));
    // Needed stages come before those that need them.
    let mut wanted: BTreeSet<&str> = BTreeSet::new();
    for stage in stages.iter().rev() {
        if last.is_none_or(|last| options.kinds[..=last].contains(&stage.kind))
            || wanted.contains(stage.id.as_str())
        {
            wanted.insert(&stage.id);
            wanted.extend(stage.needs.iter().map(String::as_str));
        }
    }
    let named = |force: &str| stages.iter().any(|stage| stage.id == force);
    let is_forced = |stage: &PlannedStage<'_>| match options.force {
        None => false,
        Some(kind) if options.kinds.contains(&kind) => stage.kind == kind,
        Some(id) if named(id) => stage.id == id,
        Some(part) => (options.takes)(part, &stage.id),
    };
    let mut keys: BTreeMap<&str, String> = BTreeMap::new();
    let mut steps = Vec::new();
    for stage in stages.iter().filter(|stage| wanted.contains(stage.id.as_str())) {
        // It was checked that every needed stage comes before.
        let needs: IndexMap<String, String> = stage
            .needs
            .iter()
            .filter_map(|id| Some((id.clone(), keys.get(id.as_str())?.clone())))
            .collect();
        let inputs = stage.inputs.iter().cloned().collect();
        let fingerprint = StageFingerprint {
            id: stage.id.clone(),
            kind: stage.kind.to_owned(),
            code: stage.code.clone(),
            inputs,
            needs,
        };
        let key = fingerprint.key();
        keys.insert(&stage.id, key.clone());
        steps.push(ChosenStage { stage, fingerprint, key, forced: is_forced(stage) });
    }
    if let Some(force) = options.force.filter(|_| !steps.iter().any(|step| step.forced)) {
        let known = options
            .kinds
            .iter()
            .copied()
            .filter(|kind| steps.iter().any(|step| step.stage.kind == *kind));
        let known: Vec<&str> = known
            .chain(
                steps
                    .iter()
                    .map(|step| step.stage.id.as_str())
                    .filter(|id| !options.kinds.contains(id)),
            )
            .collect();
        return Err(unknown("--force", &format!("this run has no stage `{force}`"), &known));
    }
    Ok(steps)
}

/// For each key a damaged file of its result, and the damage.
pub(super) type DamagedFiles = BTreeMap<String, (String, String)>;

/// Hashes again the results that a step may read, and those that are published.
///
/// A damaged result must not get into a new result or to the user. A step may run if it has no
/// result, or if a stage that it needs may run and so give other files.
pub(super) fn damaged(
    steps: &[ChosenStage<'_, '_>],
    store: &StoreView,
    options: &ExecSettings<'_>,
    check: &mut dyn FnMut() -> Result<()>,
) -> Result<DamagedFiles> {
    let mut damaged = DamagedFiles::new();
    let mut sound: BTreeMap<&str, Box<StoreEntry>> = BTreeMap::new();
    for step in steps.iter().filter(|step| !step.forced) {
        if let StoreLookup::Sound(entry) = store.look(&step.key)?
            && entry.changed_file().is_none()
        {
            sound.insert(step.stage.id.as_str(), entry);
        }
    }
    let mut hashed: BTreeSet<&str> = BTreeSet::new();
    loop {
        let (mut may_run, mut read): (BTreeSet<&str>, BTreeSet<&str>) = Default::default();
        for ChosenStage { stage, .. } in steps {
            let needs = || stage.needs.iter().map(String::as_str);
            if !sound.contains_key(stage.id.as_str()) || needs().any(|need| may_run.contains(need))
            {
                may_run.insert(stage.id.as_str());
                read.extend(needs());
            }
        }
        let mut more = false;
        for ChosenStage { stage, key, .. } in steps {
            let id = stage.id.as_str();
            let is_read = read.contains(id) || options.published == Some(stage.kind);
            let Some(entry) = sound.get(id).filter(|_| is_read && hashed.insert(id)) else {
                continue;
            };
            if let Some(damage) = entry.damage(check)? {
                damaged.insert(key.clone(), damage);
                sound.remove(id);
                more = true;
            }
        }
        // Damaged stages run, and stages that depend on them may.
        if !more {
            return Ok(damaged);
        }
    }
}

/// Refuses a word after `--until` that is no kind of stage.
///
/// # Errors
/// It is none of these.
pub(crate) fn check_until(until: Option<&str>, kinds: &[&str]) -> Result<()> {
    match until.filter(|until| !kinds.contains(until)) {
        Some(until) => Err(unknown("--until", &format!("there is no stage `{until}`"), kinds)),
        None => Ok(()),
    }
}

/// Every fault of the stages, or of the word after `--until`.
fn check(stages: &[PlannedStage<'_>], options: &ExecSettings<'_>) -> Result<()> {
    check_until(options.until, options.kinds)?;
    let mut problems = Vec::new();
    let mut problem = |code, what| problems.push(graph_problem(code, what));
    let mut earlier: HashSet<&str> = HashSet::with_capacity(stages.len());
    for stage in stages {
        if earlier.contains(stage.id.as_str()) {
            problem("duplicate-stage", format!("two stages are called `{}`", stage.id));
        }
        if !options.kinds.contains(&stage.kind) {
            problem(
                "stage-graph",
                format!("stage `{}` is of the unknown kind `{}`", stage.id, stage.kind),
            );
        }
        for need in stage.needs.iter().filter(|need| !earlier.contains(need.as_str())) {
            problem(
                "stage-graph",
                format!("stage `{}` needs `{need}`, which no earlier stage provides", stage.id),
            );
        }
        let mut names = HashSet::with_capacity(stage.inputs.len());
        for (name, _) in stage.inputs.iter().filter(|(name, _)| !names.insert(name)) {
            problem("stage-graph", format!("stage `{}` has two inputs called `{name}`", stage.id));
        }
        earlier.insert(&stage.id);
    }
    if problems.is_empty() { Ok(()) } else { Err(Error::Job(problems)) }
}
