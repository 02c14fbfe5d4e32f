//! The stages of a run that waits for scores: they write the rows to score, and a folder that says
//! what is awaited.
//!
//! | kind | id | what it writes |
//! | --- | --- | --- |
//! | score | `request/factual`, `request/SET` | which rows are asked for, see [`crate::stage::input::request`] |
//! | score | `score/to-score` | `factual/` and `<set>/` with `part-*.parquet`, and what was asked |
//! | report | `report/waiting` | the output folder: page, `to-score/`, tables of the rows, no metric |
//!
//! Whether to wait is known before the stages are planned, so no result ever rests on a file that
//! is not there. All sets are generated, those that are awaited are written out. Models whose
//! scores are there are measured once all are: half an audit would be read as a whole one.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::exchange::to_score::{
    COUNTERFACTUAL_KEYS, FACTUAL_KEYS, PartsWriter, REQUEST, RequestRow, RowsBatch,
    counterfactual_batch, counterfactual_schema, factual_batch, factual_schema, part_name,
};
use crate::data::rows::aligned::CounterfactualReader;
use crate::data::{FeatureRows, MISSING_GROUP};
use crate::error::Result;
use crate::exec::files::{link, make_folder, read_json, write_json};
use crate::exec::{PlannedStage, StageContext};
use crate::folder::manifest::AwaitedScores;
use crate::job::Job;
use crate::stage::applied_set::{AppliedSet, canonical_text};
use crate::stage::input::AwaitedFile;
use crate::stage::input::answer::folder_of;
use crate::stage::plan::StagePlan;
use crate::stage::report;
use crate::stage::row_context::RowContext;
use crate::stage::score::join::RecheckSample;

/// The stage that writes the rows to score.
const STAGE: &str = "score/to-score";

/// What was asked, beside the parts.
const REQUESTS: &str = "requests.json";

/// The rows to score of one set, or the rows as they are.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct WrittenRequest {
    /// The folder, called like the set.
    folder: String,
    parts: usize,
}

/// The share of the rows that is scored again with every set: the largest that a model asks for, so
/// that one request serves all models.
fn recheck_share(job: &Job) -> Option<f64> {
    let shares =
        job.models.values().filter_map(|m| m.scores.as_ref()?.recheck).map(|r| r.share.get());
    shares.max_by(f64::total_cmp)
}

impl<'a> StagePlan<'a> {
    /// The stages of a job that waits for scores, in order.
    pub(crate) fn waiting_stages(&'a self) -> Vec<PlannedStage<'a>> {
        let mut stages = Vec::new();
        stages.extend(self.source_stage());
        stages.extend(self.reference_stage());
        stages.push(self.prepare_stage());
        stages.push(self.split_stage());
        stages.extend(self.factual_request_stage());
        let worlds = self.applied_sets();
        let predicting = self.conditioning_models();
        for (name, model) in
            self.job.models.iter().filter(|(name, _)| predicting.contains(name.as_str()))
        {
            stages.extend(self.train_stage_of(name.as_str(), model));
            stages.extend(self.threshold_stage(name.as_str(), model));
            stages.push(self.score_stage(name.as_str(), model, None));
        }
        stages.extend(worlds.iter().filter_map(|world| self.fit_stage(world)));
        stages.extend(worlds.iter().map(|world| self.generate_stage(world)));
        stages.extend(self.set_request_stages(&worlds));
        stages.push(self.to_score_stage());
        stages.push(self.waiting_report_stage());
        stages
    }

    /// What makes a stage stale where rows are scored again.
    pub(crate) fn recheck_inputs(&self) -> Vec<(String, String)> {
        match recheck_share(self.job) {
            None => Vec::new(),
            Some(share) => {
                vec![("share to score again".to_owned(), share.to_string()), self.seed_input()]
            }
        }
    }

    /// The stages that score rows again, in files made elsewhere or by asking twice, each with its
    /// model.
    pub(crate) fn rechecks(&self) -> Vec<(String, String)> {
        let worlds = self.applied_sets();
        let asking = self
            .job
            .models
            .iter()
            .filter(|(_, m)| m.scores.as_ref().is_some_and(|s| s.recheck.is_some()));
        let in_files = asking.flat_map(|(name, _)| {
            worlds.iter().map(move |w| (name.to_string(), w.score_id(name.as_str())))
        });
        in_files.chain(self.rechecked_models()).collect()
    }

    /// The rows that are scored again, if any are.
    pub(crate) fn recheck_sample(
        &self,
        ground: RowContext<'_>,
        attribute: usize,
    ) -> Result<Option<RecheckSample>> {
        let draw =
            |share| RecheckSample::draw(ground, Some(attribute), self.job.run.seed.0, share, 1);
        recheck_share(self.job).map(draw).transpose()
    }

    fn awaits(&self, set: Option<&str>) -> bool {
        self.input.awaited.iter().any(|a| a.set.as_deref() == set)
    }

    fn to_score_stage(&'a self) -> PlannedStage<'a> {
        let worlds: Vec<AppliedSet<'a>> =
            self.applied_sets().into_iter().filter(|w| self.awaits(Some(w.set))).collect();
        let mut sets: Vec<&str> = worlds.iter().map(|w| w.set).collect();
        sets.dedup();
        let asked: Vec<Option<&str>> = self
            .awaits(None)
            .then_some(None)
            .into_iter()
            .chain(sets.into_iter().map(Some))
            .collect();
        let mut needs = Self::context_needs();
        needs.extend(worlds.iter().map(|w| w.id("generate")));
        needs.extend(asked.iter().map(|set| Self::request_id(*set)));
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, asked.len() as u64, |ground| {
                let mut written = Vec::new();
                for set in &asked {
                    let (folder, id) = (folder_of(*set), Self::request(ctx, *set)?.id);
                    make_folder(&ctx.out().join(&folder))?;
                    let worlds: Vec<AppliedSet<'_>> =
                        worlds.iter().filter(|w| Some(w.set) == *set).cloned().collect();
                    let parts = match set {
                        None => write_factual(ground, &id, &ctx.out().join(&folder))?,
                        Some(_) => write_counterfactuals(
                            ground,
                            &self.sources(ctx, ground, &worlds)?,
                            &id,
                            &ctx.out().join(&folder),
                        )?,
                    };
                    written.push(WrittenRequest { folder, parts });
                }
                write_json(&ctx.out().join(REQUESTS), &written)
            })
        };
        self.stage(STAGE.to_owned(), "score", needs, self.recheck_inputs(), run)
    }

    fn waiting_report_stage(&'a self) -> PlannedStage<'a> {
        let mut needs = Self::context_needs();
        needs.push(STAGE.to_owned());
        needs.extend(
            self.input.awaited.iter().map(|awaited| Self::request_id(awaited.set.as_deref())),
        );
        needs.sort();
        needs.dedup();
        let mut made_of = self.folder_inputs();
        made_of.push(("awaited".to_owned(), canonical_text(&self.input.awaited)));
        let run = move |ctx: &StageContext<'_>| {
            let requests: Vec<WrittenRequest> = read_json(&ctx.need(STAGE).join(REQUESTS), STAGE)?;
            for request in &requests {
                let to = ctx.out().join("to-score").join(&request.folder);
                make_folder(&to)?;
                for part in 0..request.parts {
                    let name = part_name(part);
                    link(&ctx.need(STAGE).join(&request.folder).join(&name), &to.join(&name))?;
                }
            }
            let awaited = self
                .input
                .awaited
                .iter()
                .map(|a| Self::awaited_scores(ctx, a))
                .collect::<Result<_>>()?;
            self.with_context(ctx, 0, |ground| {
                self.with_origins(ground, |origins| report::assemble_waiting(ctx, origins, awaited))
            })
        };
        self.stage("report/waiting".to_owned(), "report", needs, made_of, run)
    }

    fn awaited_scores(ctx: &StageContext<'_>, awaited: &AwaitedFile) -> Result<AwaitedScores> {
        let asked = Self::request(ctx, awaited.set.as_deref())?;
        let key: &[&str] = if awaited.set.is_some() {
            &["row_id", "sensitive", "to_group", "cf_index"]
        } else {
            &["row_id"]
        };
        Ok(AwaitedScores {
            model: awaited.model.clone(),
            counterfactual: awaited.set.clone().unwrap_or_default(),
            path: awaited.path.clone(),
            columns: key
                .iter()
                .copied()
                .chain([REQUEST])
                .map(str::to_owned)
                .chain(awaited.columns.iter().cloned())
                .collect(),
            to_score: format!("to-score/{}", folder_of(awaited.set.as_deref())),
            request: asked.id,
            rows: asked.rows,
            again: asked.again,
        })
    }
}

/// The counterfactuals of one attribute, and the rows of it that are asked for again.
pub(crate) struct RequestSource {
    pub(crate) attribute: usize,
    pub(crate) counterfactuals: CounterfactualReader,
    pub(crate) recheck: Option<RecheckSample>,
}

/// The audited rows of a row group as they are.
pub(crate) fn factual_part(ground: RowContext<'_>, g: usize) -> Result<RowsBatch> {
    (ground.watch.check)()?;
    let (batch, ids, roles) =
        (ground.rows.read(g)?, ground.rows.read_ids(g)?, ground.roles.read(g)?);
    let audited: Vec<usize> =
        (0..batch.row.len()).filter(|&i| roles.audited(i).is_some()).collect();
    factual_batch(ground.rows.layout(), &ids, &batch.rows, &audited)
}

/// The counterfactuals of a row group over the attributes of a set, and how many rows as they are
/// go with them.
pub(crate) fn counterfactual_part(
    ground: RowContext<'_>,
    sources: &[RequestSource],
    g: usize,
) -> Result<(RowsBatch, u64)> {
    (ground.watch.check)()?;
    let layout = ground.rows.layout();
    let (batch, ids, roles) =
        (ground.rows.read(g)?, ground.rows.read_ids(g)?, ground.roles.read(g)?);
    // Part 0 holds the rows as they are.
    let mut worlds: Vec<FeatureRows> = Vec::new();
    let mut asked = Vec::new();
    let mut n_again = 0;
    for source in sources {
        let (keys, rows) = source.counterfactuals.rows(g, layout)?;
        worlds.push(rows);
        let attribute = source.attribute;
        asked.extend((0..keys.parent.len()).map(|k| RequestRow {
            row: keys.parent[k] as usize,
            attribute,
            to_group: keys.to_group[k],
            cf_index: keys.cf_index[k],
            source: (worlds.len(), k),
        }));
        if let Some(again) = &source.recheck {
            let rows = again.rows(&batch, &roles, Some(attribute));
            n_again += rows.len() as u64;
            let own =
                |row: usize| batch.groups[attribute].get(row).copied().unwrap_or(MISSING_GROUP);
            asked.extend(rows.into_iter().map(|row| RequestRow {
                row,
                attribute,
                to_group: own(row),
                cf_index: 0,
                source: (0, row),
            }));
        }
    }
    asked.sort_unstable();
    let rows: Vec<&FeatureRows> = std::iter::once(&batch.rows).chain(&worlds).collect();
    Ok((counterfactual_batch(layout, &ids, &batch.groups, &asked, &rows)?, n_again))
}

/// Writes the audited rows as they are; the number of parts.
fn write_factual(ground: RowContext<'_>, id: &str, to: &Path) -> Result<usize> {
    let schema = factual_schema(ground.rows.layout());
    write_parts(ground, PartsWriter::new(to, (&schema, FACTUAL_KEYS), id, ground.workers), |g| {
        factual_part(ground, g)
    })
}

/// Writes the counterfactuals of one set over its attributes; the number of parts.
fn write_counterfactuals(
    ground: RowContext<'_>,
    sources: &[RequestSource],
    id: &str,
    to: &Path,
) -> Result<usize> {
    let schema = counterfactual_schema(ground.rows.layout());
    let parts = PartsWriter::new(to, (&schema, COUNTERFACTUAL_KEYS), id, ground.workers);
    write_parts(ground, parts, |g| counterfactual_part(ground, sources, g).map(|(batch, _)| batch))
}

fn write_parts(
    ground: RowContext<'_>,
    mut parts: PartsWriter<'_>,
    part: impl Fn(usize) -> Result<RowsBatch> + Sync,
) -> Result<usize> {
    ground.workers.map(ground.rows.n_groups(), part, |_, batch| {
        (ground.watch.progress)(batch.num_rows() as u64);
        parts.push(&batch)
    })?;
    parts.finish()
}
