//! The stages `recheck/MODEL`: a program or an ONNX file scores some rows a second time. Where the
//! answers differ, every number of the model changes from run to run, and no gate on it is decided.

use std::collections::BTreeMap;

use crate::data::FeatureRows;
use crate::data::rows::aligned::ScoreReader;
use crate::error::{Error, Result};
use crate::exec::{PlannedStage, StageContext, files};
use crate::folder::manifest::Manifest;
use crate::job::ModelBlock;
use crate::model::Scorer;
use crate::param::Name;
use crate::stage::applied_set::canonical_text;
use crate::stage::generate::rows::score_by_fold;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::score::command::CommandRows;
use crate::stage::score::join::{RECHECKED, RecheckResult, RecheckSample};

/// Share of the audited rows that are scored twice.
const RECHECK_SHARE: f64 = 0.01;

/// At least so many rows, or all where there are fewer.
const RECHECK_AT_LEAST: usize = 100;

/// Two answers for one row that differ by more are not the same.
pub(crate) const RECHECK_TOLERANCE: f64 = 1e-6;

/// Models that answer differently when asked twice, each with what scoring rows again gave.
pub type UnsteadyModels = BTreeMap<String, RecheckResult>;

impl<'a> StagePlan<'a> {
    /// The stage that scores some rows of a model a second time.
    fn recheck_id(model: &str) -> String {
        format!("recheck/{model}")
    }

    /// Whether a model is asked twice: what was trained here answers alike by construction, and
    /// scores made elsewhere are checked by `recheck`.
    fn is_rechecked(model: &ModelBlock) -> bool {
        model.command.is_some() || model.onnx.is_some()
    }

    /// The models that are asked twice, each with its stage.
    pub(crate) fn rechecked_models(&self) -> Vec<(String, String)> {
        let models = self.job.models.iter().filter(|(_, model)| Self::is_rechecked(model));
        models.map(|(name, _)| (name.to_string(), Self::recheck_id(name.as_str()))).collect()
    }

    /// The stages that ask twice.
    pub(crate) fn recheck_stages(&'a self) -> Vec<PlannedStage<'a>> {
        let models = self.job.models.iter().filter(|(_, model)| Self::is_rechecked(model));
        models.map(|(name, model)| self.recheck_stage(name, model)).collect()
    }

    fn recheck_stage(&'a self, name: &'a Name, model: &'a ModelBlock) -> PlannedStage<'a> {
        let (name, call) = (name.as_str(), self.call(name.as_str(), model));
        let train = call.and_then(|call| call.command.train.as_ref()).map(|_| Self::train_id(name));
        let mut needs = Self::context_needs();
        needs.push(Self::score_id(name));
        needs.extend(train.clone());
        let mut made_of = vec![self.seed_input()];
        made_of.extend(model.onnx.as_ref().map(|onnx| ("onnx".to_owned(), canonical_text(onnx))));
        made_of.extend(call.iter().flat_map(|call| call.score_inputs()));
        made_of.extend(self.input.files_of_model(name));
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 1, |ground| {
                let again = RecheckSample::draw(
                    ground,
                    None,
                    self.job.run.seed.0,
                    RECHECK_SHARE,
                    RECHECK_AT_LEAST,
                )?;
                let first = ScoreReader::open(ctx.need(&Self::score_id(name)))?;
                let mut found = RecheckResult::default();
                match call {
                    Some(call) => {
                        let trained = train.as_ref().map(|id| ctx.need(id));
                        let mut group = 0;
                        call.score_into(
                            ctx,
                            ground,
                            CommandRows::Recheck(&again),
                            trained,
                            &mut |scores| {
                                found.compare(
                                    &first.read(group)?,
                                    &scores,
                                    &drawn_rows(ground, &again, group)?,
                                    RECHECK_TOLERANCE,
                                );
                                group += 1;
                                Ok(())
                            },
                        )?;
                    }
                    None => {
                        let scorers = self.scorers(ctx, name, model, ground.rows.layout())?;
                        score_again(ground, &again, &scorers, &first, &mut found)?;
                    }
                }
                files::write_json(&ctx.out().join(RECHECKED), &found)
            })
        };
        self.stage(Self::recheck_id(name), "score", needs, made_of, run)
    }

    /// The models of a run that answer differently when asked twice.
    pub(crate) fn unsteady_models(&self, ctx: &StageContext<'_>) -> Result<UnsteadyModels> {
        let mut unsteady = UnsteadyModels::new();
        for (model, stage) in self.rechecked_models() {
            let found: RecheckResult = files::read_json(&ctx.need(&stage).join(RECHECKED), &stage)?;
            if found.largest > RECHECK_TOLERANCE {
                unsteady.insert(model, found);
            }
        }
        Ok(unsteady)
    }
}

/// The rows of a row group that are scored again.
fn drawn_rows(ground: RowContext<'_>, again: &RecheckSample, group: usize) -> Result<Vec<usize>> {
    Ok(again.rows(&ground.rows.read_keys(group)?, &ground.roles.read(group)?, None))
}

fn score_again(
    ground: RowContext<'_>,
    again: &RecheckSample,
    scorers: &[Box<dyn Scorer>],
    first: &ScoreReader,
    found: &mut RecheckResult,
) -> Result<()> {
    let one = |g: usize| {
        (ground.watch.check)()?;
        let rows = drawn_rows(ground, again, g)?;
        let mut scores =
            vec![f64::NAN; if rows.is_empty() { 0 } else { ground.roles.read(g)?.0.len() }];
        if !rows.is_empty() {
            let (batch, roles) = (ground.rows.read(g)?, ground.roles.read(g)?);
            let mine: FeatureRows = batch.rows.take(&rows);
            let answers = score_by_fold(scorers, &mine, |i| roles.audited(rows[i]))?;
            rows.iter().zip(answers).for_each(|(&row, score)| scores[row] = score);
        }
        Ok::<_, Error>((g, rows, scores))
    };
    ground.workers.map(ground.rows.n_groups(), one, |_, (g, rows, scores)| {
        if !rows.is_empty() {
            found.compare(&first.read(g)?, &scores, &rows, RECHECK_TOLERANCE);
        }
        Ok(())
    })
}

/// The same of a finished folder.
pub(crate) fn unsteady_of(manifest: &Manifest) -> UnsteadyModels {
    let asked =
        manifest.models.iter().filter(|model| ["command", "onnx"].contains(&model.kind.as_str()));
    let found = asked.filter_map(|model| Some((model.name.clone(), model.recheck?)));
    let unsteady = found.filter(|(_, recheck)| recheck.largest > RECHECK_TOLERANCE);
    unsteady
        .map(|(name, words)| {
            (name, RecheckResult { rows: words.rows, differ: words.differ, largest: words.largest })
        })
        .collect()
}
