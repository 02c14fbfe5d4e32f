//! Which rows a run reads: all of them, those of one shard, or none because their states are
//! merged.
//!
//! A stage over rows gathers states, and then makes its files of them. An ordinary run does both.
//! In a shard the states of one pass go into a file and the stage ends there; the states of earlier
//! passes come merged from the plan. A run from merged states reads no row.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::exec::accumulator::{Accumulator, merge_all};
use crate::exec::hash::hash_parts;
use crate::exec::shared_folder::SharedFolder;
use crate::exec::{StageContext, files, internal_error};
use crate::param::worded_enum;
use crate::stage::input::digest::FileHashes;
use crate::unit::StageKind;

/// The file by which a stage says that it needs the pass in question: a worker that finds the
/// result in a cache reads it there.
const ASKED: &str = "asked";

/// What replaces a stage in the label of hashes of files.
pub(crate) const INPUTS: &str = "inputs";

worded_enum! {
    /// A pass over the rows of all shards, in the order in which passes follow each other.
    ShardPass {
        /// Values that occur in the columns.
        Survey = "survey",
        /// What must be known about the rows before they are counted.
        Learn = "learn",
        /// Evidence.
        Count = "count",
        /// Score metrics, which need the means that the pass `count` gives.
        Shift = "shift",
    }
}

impl ShardPass {
    /// The last kind of stage that the pass has.
    pub(crate) fn until(self) -> StageKind {
        match self {
            ShardPass::Survey => StageKind::Prepare,
            ShardPass::Learn | ShardPass::Count | ShardPass::Shift => StageKind::Count,
        }
    }

    /// What it is for.
    pub(crate) fn about(self) -> &'static str {
        match self {
            ShardPass::Survey => "The values that occur in the columns",
            ShardPass::Learn => "What must be known about the rows before they are counted",
            ShardPass::Count => "The evidence",
            ShardPass::Shift => "Score metrics, which look at the scores a second time",
        }
    }

    /// Whether every job has it. Of the others a job has only those that a stage asks for.
    pub(crate) fn is_always_asked(self) -> bool {
        matches!(self, ShardPass::Survey | ShardPass::Count)
    }

    /// Name of the file of its states in the folder of a stage.
    pub(crate) fn file(self) -> String {
        format!("{}.states", self.word())
    }
}

/// What a state is: the line above it in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StateLabel {
    /// Id of the stage that gathered it.
    pub(crate) stage: String,
    /// Its number among the states of the stage.
    pub(crate) number: u64,
    /// Name of its type.
    pub(crate) state: String,
    /// Version of its type.
    pub(crate) version: u32,
}

/// A state with what it is, as JSON.
pub(crate) type LabelledState = (StateLabel, String);

/// Merged states of passes, as they are in their files.
#[derive(Debug, Default)]
pub(crate) struct MergedStates {
    /// By pass the hash of the file, and the states.
    passes: BTreeMap<ShardPass, (String, Vec<LabelledState>)>,
}

impl MergedStates {
    /// Adds the states of a pass, whose file has this hash.
    pub(crate) fn add(&mut self, pass: ShardPass, sha256: String, states: Vec<LabelledState>) {
        self.passes.insert(pass, (sha256, states));
    }

    /// Whether the states of a pass are there.
    pub(crate) fn has(&self, pass: ShardPass) -> bool {
        self.passes.contains_key(&pass)
    }

    /// The hash of the states of a pass; empty where these are not there.
    fn hash_of(&self, pass: ShardPass) -> &str {
        self.passes.get(&pass).map_or("", |(sha256, _)| sha256)
    }

    /// A hash of all.
    fn hash(&self) -> String {
        let all = self.passes.iter();
        hash_parts(all.flat_map(|(pass, (sha256, _))| [pass.word(), sha256]))
    }

    /// The hashes of files that shards have found.
    ///
    /// # Errors
    /// The states are not those of this program.
    pub(crate) fn file_hashes(&self) -> Result<FileHashes> {
        let found = self.of_stage::<FileHashes>(INPUTS, ShardPass::Survey)?;
        Ok(merge_all(found.into_iter().flatten().map(|(_, hashes)| hashes)).unwrap_or_default())
    }

    /// The states of a stage in a pass; none where the pass is not merged.
    fn of_stage<S: Accumulator>(
        &self,
        stage: &str,
        pass: ShardPass,
    ) -> Result<Option<Vec<(u64, S)>>> {
        let Some((_, states)) = self.passes.get(&pass) else { return Ok(None) };
        let own = states.iter().filter(|(label, _)| label.stage == stage);
        let read = |(label, text): &LabelledState| {
            if (label.state.as_str(), label.version) != (S::NAME, S::VERSION) {
                let what = format!(
                    "stage `{stage}` expects states `{}` {} of pass `{}`, found `{}` {}",
                    S::NAME,
                    S::VERSION,
                    pass.word(),
                    label.state,
                    label.version
                );
                return Err(internal_error(what));
            }
            Ok((label.number, files::from_json(text, stage)?))
        };
        own.map(read).collect::<Result<Vec<_>>>().map(Some)
    }
}

/// The work of one shard in one pass.
#[derive(Debug)]
pub(crate) struct ShardTask {
    /// Id of the plan.
    pub(crate) plan: String,
    /// Number of the shard.
    pub(crate) shard: usize,
    /// Its pieces of the source.
    pub(crate) pieces: Range<usize>,
    /// The pass.
    pub(crate) pass: ShardPass,
    /// The states of earlier passes.
    pub(crate) merged: MergedStates,
}

/// A run from merged states.
#[derive(Debug)]
pub(crate) struct MergedRun {
    /// Id of the plan.
    pub(crate) plan: String,
    /// Its folder.
    pub(crate) folder: SharedFolder,
    /// The states.
    pub(crate) merged: MergedStates,
    /// The pass for which the run only finds out whether any stage needs it; none: a run to its
    /// end.
    pub(crate) question: Option<ShardPass>,
}

/// Which rows a run goes over.
#[derive(Debug)]
pub(crate) enum RowShare {
    /// All of them: an ordinary run.
    All,
    /// Those of a shard, in one pass.
    Shard(ShardTask),
    /// None.
    Merged(MergedRun),
}

/// What a stage over the rows of a shard depends on besides them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StageRows {
    /// Nothing.
    Alone,
    /// The survey of all shards.
    Surveyed,
    /// The pass too, and all that was merged before it.
    InPass,
}

impl RowShare {
    /// Whether any rows are read.
    pub(crate) fn reads_rows(&self) -> bool {
        !matches!(self, RowShare::Merged(_))
    }

    /// The states that are merged; none of an ordinary run.
    pub(crate) fn merged(&self) -> Option<&MergedStates> {
        match self {
            RowShare::All => None,
            RowShare::Shard(task) => Some(&task.merged),
            RowShare::Merged(run) => Some(&run.merged),
        }
    }

    /// The pieces of the source that are read; none: all of them.
    pub(crate) fn pieces(&self) -> Option<Range<usize>> {
        match self {
            RowShare::All => None,
            RowShare::Shard(task) => Some(task.pieces.clone()),
            RowShare::Merged(_) => Some(0..0),
        }
    }

    /// What distinguishes a stage from that of an ordinary run.
    pub(crate) fn inputs(&self, of: StageRows) -> Vec<(String, String)> {
        let input = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        match self {
            RowShare::All => Vec::new(),
            RowShare::Shard(task) => {
                let rows = format!("shard {} of plan {}", task.shard, task.plan);
                let mut inputs = vec![input("rows", &rows)];
                if of >= StageRows::Surveyed {
                    inputs.push(input("survey", task.merged.hash_of(ShardPass::Survey)));
                }
                if of == StageRows::InPass {
                    inputs.push(input("pass", task.pass.word()));
                    inputs.push(input("merged", &task.merged.hash()));
                }
                inputs
            }
            RowShare::Merged(run) => {
                let question = run.question.map_or("", ShardPass::word);
                vec![
                    input("rows", &format!("merged of plan {}", run.plan)),
                    input("merged", &run.merged.hash()),
                    input("question", question),
                ]
            }
        }
    }

    /// Whether later stages read the prepared rows: those that are only surveyed are not written.
    pub(crate) fn writes_rows(&self) -> bool {
        match self {
            RowShare::All => true,
            RowShare::Shard(task) => task.pass > ShardPass::Survey,
            RowShare::Merged(_) => false,
        }
    }

    /// Whether the rows are those of a shard.
    pub(crate) fn is_shard(&self) -> bool {
        matches!(self, RowShare::Shard(_))
    }

    /// The states of all rows in a pass, each with its number; none where the stage ends here: in a
    /// shard, whose states go into its file.
    ///
    /// # Errors
    /// Those of `gather`; the states of a pass that is not merged yet; the disk refuses.
    pub(crate) fn gather<S: Accumulator>(
        &self,
        ctx: &StageContext<'_>,
        pass: ShardPass,
        gather: impl FnOnce() -> Result<Vec<(u64, S)>>,
    ) -> Result<Option<Vec<(u64, S)>>> {
        match self {
            RowShare::Shard(task) if pass < task.pass => found(ctx, &task.merged, None, pass),
            RowShare::Shard(task) if pass > task.pass => Ok(None),
            _ => self.maps(ctx, pass, gather),
        }
    }

    /// As [`RowShare::gather`], for a single state; in a run from shards it is the merged one.
    ///
    /// # Errors
    /// As [`RowShare::gather`].
    pub(crate) fn gather_one<S: Accumulator>(
        &self,
        ctx: &StageContext<'_>,
        pass: ShardPass,
        gather: impl FnOnce() -> Result<S>,
    ) -> Result<Option<S>> {
        let states = self.gather(ctx, pass, || Ok(vec![(0, gather()?)]))?;
        Ok(merge_all(states.into_iter().flatten().map(|(_, state)| state)))
    }

    /// As [`RowShare::gather`], for a stage that also writes its rows, for later stages of
    /// whatever pass: in a shard it does so in every pass.
    ///
    /// # Errors
    /// As [`RowShare::gather`].
    pub(crate) fn maps<S: Accumulator>(
        &self,
        ctx: &StageContext<'_>,
        pass: ShardPass,
        rows: impl FnOnce() -> Result<Vec<(u64, S)>>,
    ) -> Result<Option<Vec<(u64, S)>>> {
        match self {
            RowShare::All => rows().map(Some),
            RowShare::Shard(_) => {
                write_states(ctx, pass, rows()?)?;
                Ok(None)
            }
            RowShare::Merged(run) => found(ctx, &run.merged, run.question, pass),
        }
    }

    /// As [`RowShare::maps`], for a single state.
    ///
    /// # Errors
    /// As [`RowShare::gather`].
    pub(crate) fn map<S: Accumulator>(
        &self,
        ctx: &StageContext<'_>,
        pass: ShardPass,
        rows: impl FnOnce() -> Result<S>,
    ) -> Result<Option<S>> {
        let states = self.maps(ctx, pass, || Ok(vec![(0, rows()?)]))?;
        let Some(states) = states else { return Ok(None) };
        let one = states.into_iter().next().map(|(_, state)| state);
        let lost =
            || internal_error(format!("pass `{}` has no state of `{}`", pass.word(), ctx.stage()));
        one.ok_or_else(lost).map(Some)
    }
}

/// The merged states of a stage in a pass; none where the run only finds out whether a pass is
/// needed.
fn found<S: Accumulator>(
    ctx: &StageContext<'_>,
    merged: &MergedStates,
    question: Option<ShardPass>,
    pass: ShardPass,
) -> Result<Option<Vec<(u64, S)>>> {
    if question.is_some_and(|question| pass >= question) {
        if question == Some(pass) {
            files::write(&ctx.out().join(ASKED), "")?;
        }
        return Ok(None);
    }
    let lacking = || {
        let cause = format!("its states are needed by `{}` and are not merged yet", ctx.stage());
        let hint = "run every `cfaudit worker` of the pass, then `cfaudit merge` of it";
        Error::operator("read", Path::new(pass.word()), cause, hint)
    };
    merged.of_stage(ctx.stage(), pass)?.ok_or_else(lacking).map(Some)
}

/// Whether a stage with this folder needs the pass that was in question.
pub(crate) fn is_asked(folder: &Path) -> bool {
    folder.join(ASKED).is_file()
}

/// Writes states into the folder of a stage.
fn write_states<S: Accumulator>(
    ctx: &StageContext<'_>,
    pass: ShardPass,
    states: Vec<(u64, S)>,
) -> Result<()> {
    files::write(&ctx.out().join(pass.file()), states_text(ctx.stage(), states)?)
}

/// States as text: a line that says what each is, and a line with it.
pub(crate) fn states_text<S: Accumulator>(stage: &str, states: Vec<(u64, S)>) -> Result<String> {
    let mut text = String::new();
    for (number, mut state) in states {
        state.settle();
        let label = StateLabel {
            stage: stage.to_owned(),
            number,
            state: S::NAME.to_owned(),
            version: S::VERSION,
        };
        let state = serde_json::to_string(&state).map_err(|bug| internal_error(bug.to_string()))?;
        write_state(&mut text, &label, &state)?;
    }
    Ok(text)
}

/// Writes the two lines of a state.
pub(crate) fn write_state(text: &mut String, label: &StateLabel, state: &str) -> Result<()> {
    let label = serde_json::to_string(label).map_err(|bug| internal_error(bug.to_string()))?;
    [label.as_str(), "\n", state, "\n"].into_iter().for_each(|part| text.push_str(part));
    Ok(())
}
