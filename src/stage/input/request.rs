//! Requests: the rows that a file of scores answers, as one hash, and whether a file answers those
//! of this job.
//!
//! | kind | id | what it writes |
//! | --- | --- | --- |
//! | score | `request/factual`, `request/SET` | the id of the rows to score, and how many they are |
//!
//! The id is the SHA-256 of the rows to score ([`crate::data::exchange::to_score`]): of the rows as
//! they are, or of one set. The rows that are handed out carry it, and a file of scores that hands
//! it on is taken for these rows alone. Of a file that does not, the first request that it was
//! taken for is remembered for each set, in the cache and in the manifest of the output folder: for
//! another one of the set, or after one of a set that the job has no more, it is refused. Two sets
//! of one job may have files of the same bytes. The page names such files, for nothing says that
//! they answer even the first.

use serde::{Deserialize, Serialize};

use crate::data::exchange::keyed::KeyedScores;
use crate::data::exchange::to_score::{RequestDigest, counterfactual_schema, factual_schema};
use crate::data::rows::aligned::CounterfactualReader;
use crate::error::{Error, Fault, Result};
use crate::exec::files::{read_json, write_json};
use crate::exec::{PlannedStage, StageContext};
use crate::folder::manifest::AnsweredRequest;
use crate::model::scores_file::STALE_SCORES_HINT;
use crate::param::Name;
use crate::stage::applied_set::AppliedSet;
use crate::stage::input::answer::{ANSWER, ScoreAnswer, awaits_files, folder_of};
use crate::stage::input::scores_path;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::waiting::{RequestSource, counterfactual_part, factual_part};

/// What a stage says of its request.
const REQUEST: &str = "request.json";

/// What to do about a file that names no request and was taken for another one.
const SAME_BYTES: &str = "take the file away (or name another one in the job) and run again: the \
    rows to score are then written afresh. The same bytes are refused however often they are \
    written: hand on the column `request`";

/// Digits of an id that messages show.
const SHOWN: usize = 12;

/// The rows to score of one set, or the rows as they are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RowsToScore {
    /// SHA-256 in hex.
    pub(crate) id: String,
    /// How many there are.
    pub(crate) rows: u64,
    /// Of them rows as they are that are asked for again.
    pub(crate) again: u64,
}

/// The digits of an id that messages show.
fn short(id: &str) -> String {
    id.chars().take(SHOWN).collect()
}

impl<'a> StagePlan<'a> {
    /// The stage that names the request for a set, or for the rows as they are.
    pub(crate) fn request_id(set: Option<&str>) -> String {
        format!("request/{}", folder_of(set))
    }

    /// The stage of the rows as they are, if a file is to answer them.
    pub(crate) fn factual_request_stage(&'a self) -> Option<PlannedStage<'a>> {
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 1, |ground| {
                let mut digest = RequestDigest::new(&factual_schema(ground.rows.layout()));
                ground.workers.map(
                    ground.rows.n_groups(),
                    |g| RequestDigest::part(&factual_part(ground, g)?),
                    |_, part| {
                        (ground.watch.progress)(part.n_rows());
                        digest.push(part);
                        Ok(())
                    },
                )?;
                let (id, rows) = digest.finish();
                write_json(&ctx.out().join(REQUEST), &RowsToScore { id, rows, again: 0 })
            })
        };
        awaits_files(self.job).0.then(|| {
            self.stage(Self::request_id(None), "score", Self::context_needs(), Vec::new(), run)
        })
    }

    /// The stages of the sets, if files are to answer them.
    pub(crate) fn set_request_stages(&'a self, worlds: &[AppliedSet<'a>]) -> Vec<PlannedStage<'a>> {
        let mut sets: Vec<&str> =
            worlds.iter().filter(|_| awaits_files(self.job).1).map(|world| world.set).collect();
        sets.dedup();
        sets.into_iter().map(|set| self.set_request_stage(set, worlds)).collect()
    }

    fn set_request_stage(&'a self, set: &'a str, worlds: &[AppliedSet<'a>]) -> PlannedStage<'a> {
        let worlds: Vec<AppliedSet<'a>> =
            worlds.iter().filter(|world| world.set == set).cloned().collect();
        let mut needs = Self::context_needs();
        needs.extend(worlds.iter().map(|world| world.id("generate")));
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 1, |ground| {
                let sources = self.sources(ctx, ground, &worlds)?;
                let mut digest = RequestDigest::new(&counterfactual_schema(ground.rows.layout()));
                let mut again = 0;
                ground.workers.map(
                    ground.rows.n_groups(),
                    |g| {
                        let (batch, n_again) = counterfactual_part(ground, &sources, g)?;
                        Ok::<_, Error>((RequestDigest::part(&batch)?, n_again))
                    },
                    |_, (part, n_again)| {
                        again += n_again;
                        (ground.watch.progress)(part.n_rows());
                        digest.push(part);
                        Ok(())
                    },
                )?;
                let (id, rows) = digest.finish();
                write_json(&ctx.out().join(REQUEST), &RowsToScore { id, rows, again })
            })
        };
        self.stage(Self::request_id(Some(set)), "score", needs, self.recheck_inputs(), run)
    }

    /// Where the rows to score of a set come from: the counterfactuals of each of its attributes,
    /// and the rows that are asked for again.
    pub(crate) fn sources(
        &self,
        ctx: &StageContext<'_>,
        ground: RowContext<'_>,
        worlds: &[AppliedSet<'_>],
    ) -> Result<Vec<RequestSource>> {
        let source = |world: &AppliedSet<'_>| {
            Ok(RequestSource {
                attribute: world.position,
                counterfactuals: CounterfactualReader::open(ctx.need(&world.id("generate")))?,
                recheck: self.recheck_sample(ground, world.position)?,
            })
        };
        worlds.iter().map(source).collect()
    }

    /// The request for a set, or for the rows as they are.
    pub(crate) fn request(ctx: &StageContext<'_>, set: Option<&str>) -> Result<RowsToScore> {
        let stage = Self::request_id(set);
        read_json(&ctx.need(&stage).join(REQUEST), &stage)
    }

    /// Joins a file of scores by `join`, which gets the request that it answers; refuses one that
    /// answers another request.
    pub(crate) fn join_answer<T>(
        &self,
        ctx: &StageContext<'_>,
        file: &KeyedScores,
        (model, set): (&str, Option<&str>),
        join: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let asked = Self::request(ctx, set)?.id;
        let sha256 =
            self.input.scores_of(model, set).next().map_or("", |file| file.sha256.as_str());
        let named = file.request()?;
        let (of, sets) = (
            folder_of(set),
            self.applied_sets().iter().map(|world| folder_of(Some(world.set))).collect::<Vec<_>>(),
        );
        let refuse = |found: String, hint: &str| {
            let what = format!("{found}, and the rows to score are now `{}`", short(&asked));
            Fault::new("other-request", what).in_file(file.path()).hint(format!(
                "score the rows of a run that waits, and hand on their column `request`; {hint}"
            ))
        };
        match &named {
            Some(id) if *id != asked => {
                let found = format!(
                    "the file has the scores of other rows, or another version of cfaudit wrote \
                     the rows to score: it names the request `{}`",
                    short(id)
                );
                return Err(refuse(found, STALE_SCORES_HINT).into());
            }
            Some(_) => {}
            None => {
                if let Some(other) = self.memory.other_request(sha256, [&of, &asked], &sets)? {
                    let found = format!(
                        "the same file was taken for other rows before (request `{}`), and names \
                         none itself",
                        short(&other)
                    );
                    return Err(refuse(found, SAME_BYTES).into());
                }
            }
        }
        let joined = join()?;
        if named.is_none() {
            self.memory.remember(sha256, [&of, &asked])?;
        }
        write_json(
            &ctx.out().join(ANSWER),
            &ScoreAnswer { request: asked, named: named.is_some() },
        )?;
        Ok(joined)
    }

    /// The files of scores, with the stages that say what they answer.
    pub(crate) fn answers(&self) -> Vec<(AnsweredRequest, String)> {
        let worlds = self.applied_sets();
        let mut answers = Vec::new();
        let mut push = |model: &Name, set: Option<&str>, path: &str, stage: String| {
            let sha256 = self
                .input
                .scores_of(model.as_str(), set)
                .next()
                .map_or_else(String::new, |file| file.sha256.clone());
            let (model, counterfactual) = (model.to_string(), set.unwrap_or_default().to_owned());
            let answer = AnsweredRequest {
                model,
                counterfactual,
                path: path.to_owned(),
                sha256,
                ..AnsweredRequest::default()
            };
            answers.push((answer, stage));
        };
        for (name, model) in &self.job.models {
            let Some(scores) = &model.scores else { continue };
            if let Some(path) = &scores.factual.parquet {
                push(name, None, path, Self::score_id(name.as_str()));
            }
            let Some(file) = &scores.counterfactual else { continue };
            for (i, world) in worlds.iter().enumerate() {
                // One stage of a set tells for all.
                if i == 0 || worlds[i - 1].set != world.set {
                    push(
                        name,
                        Some(world.set),
                        &scores_path(&file.parquet, world.set),
                        world.score_id(name.as_str()),
                    );
                }
            }
        }
        answers
    }
}
