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

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::data::exchange::keyed::KeyedScores;
use crate::data::exchange::to_score::{RequestDigest, counterfactual_schema, factual_schema};
use crate::data::rows::aligned::CounterfactualReader;
use crate::error::{Error, Fault, Result};
use crate::exec::files::{self, make_folder, read_json, read_text, replace, write_json};
use crate::exec::{PlannedStage, StageContext};
use crate::folder::manifest::AnsweredRequest;
use crate::folder::read as opened;
use crate::job::Job;
use crate::model::scores_file::STALE_SCORES_HINT;
use crate::param::Name;
use crate::stage::generate::rows::RowContext;
use crate::stage::input::{file_name_of, scores_path};
use crate::stage::plan::{AppliedSet, StagePlan};
use crate::stage::waiting::{RequestSource, counterfactual_part, factual_part};
use crate::stage::{RunSettings, default_folder};

/// The folder of the rows as they are, where sets are called by their names. No set may be called
/// so.
const FACTUAL: &str = "factual";

/// What a stage says of its request.
const REQUEST: &str = "request.json";

/// What the stage that joins a file says of it.
const ANSWER: &str = "answer.json";

/// Folder of the cache that remembers which request of each set a file was taken for.
const ANSWERS: &str = "answered";

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

/// What a file of scores says of the rows that it answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ScoreAnswer {
    request: String,
    /// Whether the file names them itself.
    named: bool,
}

/// The requests that files which name none were taken for.
#[derive(Debug, Default)]
pub(crate) struct AnswerMemory {
    /// Folder of the cache; none without a cache.
    notes: Option<PathBuf>,
    /// Sets and their requests by the hash of a file, from the manifest of the output folder.
    published: BTreeMap<String, Vec<[String; 2]>>,
}

impl AnswerMemory {
    /// What is remembered of a job. An output folder that cannot be read remembers nothing.
    pub(crate) fn load(job: &Job, settings: &RunSettings) -> Self {
        let out = settings.out.clone().unwrap_or_else(|| default_folder(job));
        let manifest =
            opened::manifest(&out).ok().filter(|(manifest, _)| manifest.job == job.name.as_str());
        let answers = manifest
            .into_iter()
            .flat_map(|(manifest, _)| manifest.answers)
            .filter(|answer| !answer.named);
        let mut published: BTreeMap<String, Vec<[String; 2]>> = BTreeMap::new();
        for answer in answers {
            let set = Some(answer.counterfactual.as_str()).filter(|set| !set.is_empty());
            published.entry(answer.sha256).or_default().push([folder_of(set), answer.request]);
        }
        AnswerMemory {
            notes: settings.cache.as_ref().map(|cache| cache.join(ANSWERS).join(job.name.as_str())),
            published,
        }
    }

    /// Another request that the file was taken for: of the same set, or of one that is not among
    /// `sets`.
    fn other_request(
        &self,
        sha256: &str,
        [set, request]: [&str; 2],
        sets: &[String],
    ) -> Result<Option<String>> {
        let counts = |of: &str| of == set || !sets.iter().any(|known| known == of);
        let mut known = self.published.get(sha256).cloned().unwrap_or_default();
        let notes =
            self.notes.as_ref().map(|notes| notes.join(sha256)).filter(|notes| notes.is_dir());
        if let Some(notes) = notes {
            for note in files::list(&notes)? {
                let of = note.file_name().unwrap_or_default().to_string_lossy().into_owned();
                // A note that is being written is not there yet.
                if counts(&of) && !of.starts_with('.') {
                    known.push([of, read_text(&note)?]);
                }
            }
        }
        let mut others: Vec<[String; 2]> =
            known.into_iter().filter(|[of, known]| counts(of) && known != request).collect();
        others.sort();
        Ok(others.into_iter().next().map(|[_, request]| request))
    }

    /// Remembers a file that was taken.
    fn remember(&self, sha256: &str, [set, request]: [&str; 2]) -> Result<()> {
        let Some(notes) = self.notes.as_ref().map(|notes| notes.join(sha256)) else {
            return Ok(());
        };
        make_folder(&notes)?;
        replace(&notes.join(set), request.as_bytes())
    }
}

/// The folder of rows to score for a set, or for the rows as they are.
pub(crate) fn folder_of(set: Option<&str>) -> String {
    set.map_or_else(|| FACTUAL.to_owned(), file_name_of)
}

/// Whether a model of the job awaits scores of the rows as they are, or of sets, from a file.
pub(crate) fn awaits_files(job: &Job) -> (bool, bool) {
    let mut scores = job.models.values().filter_map(|model| model.scores.as_ref());
    let sets = !job.counterfactuals.is_empty()
        && scores.clone().any(|scores| scores.counterfactual.is_some());
    (scores.any(|scores| scores.factual.parquet.is_some()), sets)
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
                    "the file has the scores of other rows: it names the request `{}`",
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

/// What a stage says of the request that a file answers.
///
/// # Errors
/// The stage cannot be read.
pub(crate) fn read_answer(
    mut answer: AnsweredRequest,
    stage: &str,
    folder: &Path,
) -> Result<AnsweredRequest> {
    let ScoreAnswer { request, named } = read_json(&folder.join(ANSWER), stage)?;
    (answer.request, answer.named) = (request, named);
    Ok(answer)
}
