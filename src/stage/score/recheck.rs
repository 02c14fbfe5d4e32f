//! The stage `recheck`: a program or an ONNX file scores some rows a second time. Where the
//! answers differ, every number of the model changes from run to run, and no gate on it is decided.

use std::collections::BTreeMap;

use crate::data::FeatureRows;
use crate::data::rows::aligned::ScoreReader;
use crate::error::Result;
use crate::exec::{StageContext, files};
use crate::folder::manifest::Manifest;
use crate::job::ModelBlock;
use crate::model::Scorer;
use crate::stage::kinds::{RecheckStage, ScoreStage};
use crate::stage::models::AskedModels;
use crate::stage::planner::{PlannedWork, Stage, StageBuilder, StageInput, work};
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::score::command::CommandRows;
use crate::stage::score::join::{RECHECKED, RecheckResult, RecheckSample};
use crate::stage::score::rows::score_by_fold;
use crate::unit::{AuditUnit, UnitField, UnitKind};

/// Share of the audited rows that are scored twice.
const RECHECK_SHARE: f64 = 0.01;

/// At least so many rows, or all where there are fewer.
const RECHECK_AT_LEAST: usize = 100;

/// Two answers for one row that differ by more than this share of the scale are not the same.
pub(crate) const RECHECK_TOLERANCE: f64 = 1e-6;

/// Models that answer differently when asked twice, each with what scoring rows again gave.
pub(crate) type UnsteadyModels = BTreeMap<String, RecheckResult>;

impl StageInput<RecheckStage> {
    /// What asking twice gave.
    pub(crate) fn open(&self, ctx: &StageContext<'_>) -> Result<RecheckResult> {
        self.read(ctx, RECHECKED)
    }
}

impl Stage for RecheckStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Recheck;
    const FIELDS: &'static [UnitField] = &[UnitField::Model];

    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let (rows, first) = (RowInputs::of_job(b)?, b.need::<ScoreStage>(unit)?);
        let seed = b.seed();
        let asked = AskedModels::need(b, unit)?;
        let (_, model) = b.plan.model_of(unit)?;
        let tolerance = RECHECK_TOLERANCE * b.plan.score_scale(model).width();
        work(move |ctx| {
            rows.with(ctx, 1, |ground| {
                let again =
                    RecheckSample::draw(ground, None, seed.0, RECHECK_SHARE, RECHECK_AT_LEAST)?;
                let first = first.open(ctx, ground)?;
                let mut found = RecheckResult::default();
                match asked.call() {
                    Some(call) => {
                        let mut group = 0;
                        call.score_into(
                            ctx,
                            ground,
                            CommandRows::Recheck(&again),
                            asked.trained(ctx),
                            &mut |scores| {
                                found.compare(
                                    &first.read(group)?,
                                    &scores,
                                    &drawn_rows(ground, &again, group)?,
                                    tolerance,
                                );
                                group += 1;
                                Ok(())
                            },
                        )?;
                    }
                    None => {
                        let scorers = asked.scorers(ctx, ground.rows.layout())?;
                        score_again(ground, &again, &scorers, (&first, tolerance), &mut found)?;
                    }
                }
                files::write_json(&ctx.out().join(RECHECKED), &found)
            })
        })
    }
}

/// The models that are asked twice, to be opened.
pub(crate) struct RecheckInputs(Vec<(String, StageInput<RecheckStage>)>);

impl RecheckInputs {
    /// Those of the job: what was trained here answers alike by construction, and scores made
    /// elsewhere are checked by `recheck`.
    pub(crate) fn need(b: &mut StageBuilder<'_, '_>) -> Result<Self> {
        let is_asked =
            |model: &ModelBlock| model.brought().is_some_and(|(_, knobs)| knobs.is_asked_twice());
        let models = b.plan.job.models.iter().filter(|(_, model)| is_asked(model));
        let asked = models.map(|(name, _)| {
            Ok((name.to_string(), b.need::<RecheckStage>(&AuditUnit::of_model(name.as_str()))?))
        });
        Ok(RecheckInputs(asked.collect::<Result<_>>()?))
    }

    /// What asking twice gave, model by model.
    pub(crate) fn open(&self, ctx: &StageContext<'_>) -> Result<Vec<(&str, RecheckResult)>> {
        self.0.iter().map(|(model, stage)| Ok((model.as_str(), stage.open(ctx)?))).collect()
    }

    /// The models that answer differently.
    pub(crate) fn unsteady(&self, ctx: &StageContext<'_>) -> Result<UnsteadyModels> {
        let found = self.open(ctx)?.into_iter();
        let unsteady = found.filter(|(_, found)| found.differ > 0);
        Ok(unsteady.map(|(model, found)| (model.to_owned(), found)).collect())
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
    (first, tolerance): (&ScoreReader, f64),
    found: &mut RecheckResult,
) -> Result<()> {
    let one = |g: usize| {
        let rows = drawn_rows(ground, again, g)?;
        let mut scores =
            vec![f64::NAN; if rows.is_empty() { 0 } else { ground.roles.read(g)?.0.len() }];
        if !rows.is_empty() {
            let (batch, roles) = (ground.rows.read(g)?, ground.roles.read(g)?);
            let mine: FeatureRows = batch.rows.take(&rows);
            let answers = score_by_fold(scorers, &mine, |i| roles.audited(rows[i]))?;
            rows.iter().zip(answers).for_each(|(&row, score)| scores[row] = score);
        }
        Ok((0, (rows, scores)))
    };
    ground.row_groups().in_order(one, |g, (rows, scores)| {
        if !rows.is_empty() {
            found.compare(&first.read(g)?, &scores, &rows, tolerance);
        }
        Ok(())
    })
}

/// The same of a finished folder.
pub(crate) fn unsteady_of(manifest: &Manifest) -> UnsteadyModels {
    let asked = manifest.models.iter().filter(|model| model.kind != "scores");
    let found = asked.filter_map(|model| Some((model.name.clone(), model.recheck?)));
    let unsteady = found.filter(|(_, recheck)| recheck.differ > 0);
    unsteady
        .map(|(name, words)| {
            (name, RecheckResult { rows: words.rows, differ: words.differ, largest: words.largest })
        })
        .collect()
}
