//! The stage `recheck`: a program or an ONNX file scores some rows a second time. Where the
//! answers differ, every number of the model changes from run to run, and no gate on it is decided,
//! unless the job accepts that.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::rows::aligned::ScoreReader;
use crate::error::Result;
use crate::exec::accumulator::Accumulator;
use crate::exec::{StageContext, files};
use crate::job::ModelBlock;
use crate::model::Scorer;
use crate::stage::kinds::{RecheckStage, ScoreStage};
use crate::stage::models::AskedModels;
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::score::command::CommandRows;
use crate::stage::score::join::{RECHECKED, RecheckResult, RecheckSample};
use crate::stage::score::rows::score_by_fold;
use crate::stage::sharding::share::ShardPass;
use crate::stage::stage_builder::{PlannedWork, Stage, StageBuilder, StageInput};
use crate::table::{IssueRow, ReasonCode, whole};
use crate::unit::{AuditUnit, UnitField, UnitKind};

/// Share of the audited rows that are scored twice.
const RECHECK_SHARE: f64 = 0.01;

/// At least so many rows, or all where there are fewer.
const RECHECK_AT_LEAST: usize = 100;

/// Two answers for one row that differ by more than this share of the scale are not the same.
pub(crate) const RECHECK_TOLERANCE: f64 = 1e-6;

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
        let plan = b.plan;
        let (rows, first) = (RowInputs::of_job(b)?, b.need::<ScoreStage>(unit)?);
        let seed = b.seed();
        let asked = AskedModels::need(b, unit)?;
        let model = plan.model_of(unit)?.1;
        let tolerance = RECHECK_TOLERANCE * plan.score_scale(model).width();
        let passes = b.row_passes();
        rows.work(1, move |ctx, row_context| {
            let ask = || {
                let (share, at_least) = (RECHECK_SHARE, RECHECK_AT_LEAST);
                let again = RecheckSample::draw(row_context, None, seed.0, share, at_least)?;
                let first = first.open(ctx, row_context)?;
                let asking = SecondAsking { row_context, first, again, tolerance };
                let mut answers = SecondAnswers::default();
                let Some(call) = asked.call() else {
                    let scorers = asked.scorers(ctx, row_context.rows.layout())?;
                    let ask = |g| Ok((0, asking.ask(g, &scorers)?));
                    row_context.row_groups().in_order(ask, |_, part| {
                        answers.merge(part);
                        Ok(())
                    })?;
                    return Ok(answers);
                };
                let (mut group, scored) = (0, CommandRows::Recheck(&asking.again));
                call.score_into(ctx, row_context, scored, asked.files(ctx)?, &mut |scores| {
                    answers.merge(asking.compared(group, &asking.rows(group)?, |row| scores[row])?);
                    group += 1;
                    Ok(())
                })?;
                Ok(answers)
            };
            let Some(answers) = passes.map(ctx, ShardPass::Count, ask)? else { return Ok(()) };
            files::write_json(&ctx.out().join(RECHECKED), &answers.result())
        })
    }
}

/// The second answer about one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct AnsweredRow {
    /// By what the row is drawn.
    hash: u64,
    /// The comparison with the first answer.
    compared: RecheckResult,
}

/// What asking a second time gave about some rows: about those that the share draws together, and
/// about those with the lowest hashes one by one, because these count where the share draws too
/// few.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SecondAnswers {
    drawn: RecheckResult,
    /// At most [`RECHECK_AT_LEAST`], in the order of the hashes.
    lowest: Vec<AnsweredRow>,
}

impl SecondAnswers {
    /// What came of all.
    fn result(self) -> RecheckResult {
        if self.drawn.rows >= RECHECK_AT_LEAST as u64 {
            return self.drawn;
        }
        // All rows that the share draws are among the lowest then.
        let mut all = RecheckResult::default();
        self.lowest.iter().for_each(|row| all.add(&row.compared));
        all
    }
}

impl Accumulator for SecondAnswers {
    fn merge(&mut self, other: Self) {
        self.drawn.add(&other.drawn);
        self.lowest.extend(other.lowest);
        self.lowest.sort_by_key(|row| row.hash);
        self.lowest.truncate(RECHECK_AT_LEAST);
    }
}

/// What a model is asked a second time.
struct SecondAsking<'a> {
    row_context: RowContext<'a>,
    /// The first answers.
    first: ScoreReader,
    again: RecheckSample,
    /// The largest difference that is none, in the numbers of the model's scale.
    tolerance: f64,
}

impl SecondAsking<'_> {
    /// The rows of a row group that are scored again.
    fn rows(&self, group: usize) -> Result<Vec<usize>> {
        let RowContext { rows, roles, .. } = self.row_context;
        Ok(self.again.rows(&rows.read_keys(group)?, &roles.read(group)?, None))
    }

    /// Asks models that run here about the rows of a row group.
    fn ask(&self, group: usize, scorers: &[Box<dyn Scorer>]) -> Result<SecondAnswers> {
        let (RowContext { rows, roles, .. }, mine) = (self.row_context, self.rows(group)?);
        if mine.is_empty() {
            return Ok(SecondAnswers::default());
        }
        let (batch, roles) = (rows.read(group)?, roles.read(group)?);
        let answers = score_by_fold(scorers, &batch.rows.take(&mine), |i| roles.audited(mine[i]))?;
        let answers: BTreeMap<usize, f64> = mine.iter().copied().zip(answers).collect();
        self.compared(group, &mine, |row| answers[&row])
    }

    /// Compares the second scores of these rows of a row group with the first ones.
    fn compared(
        &self,
        group: usize,
        rows: &[usize],
        score: impl Fn(usize) -> f64,
    ) -> Result<SecondAnswers> {
        let mut part = SecondAnswers::default();
        if rows.is_empty() {
            return Ok(part);
        }
        let first = self.first.read(group)?;
        let keys = self.row_context.rows.read_row_keys(group)?;
        for &row in rows {
            let hash = self.again.hash(keys[row]);
            let mut compared = RecheckResult::default();
            compared.compare(first[row], score(row), self.tolerance);
            if self.again.share_draws(hash) {
                part.drawn.add(&compared);
            }
            if self.again.is_among_lowest(hash) {
                part.lowest.push(AnsweredRow { hash, compared });
            }
        }
        Ok(part)
    }
}

/// The models that are asked twice, to be opened.
pub(crate) struct RecheckInputs(Vec<(String, StageInput<RecheckStage>)>);

impl RecheckInputs {
    /// Those of the job: what was trained here answers alike by construction, and scores computed
    /// elsewhere are checked by `recheck`.
    pub(crate) fn need(b: &mut StageBuilder<'_, '_>) -> Result<Self> {
        let is_asked =
            |model: &ModelBlock| model.brought().is_some_and(|(_, knobs)| knobs.is_asked_twice);
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

    /// The models that answer differently, as issues.
    pub(crate) fn issues(&self, ctx: &StageContext<'_>) -> Result<Vec<IssueRow>> {
        let found = self.open(ctx)?.into_iter();
        Ok(found.filter_map(|(model, found)| not_repeatable(model, &found)).collect())
    }
}

/// That a model scored the same rows differently. Of scores computed elsewhere a difference has
/// ended the run.
fn not_repeatable(model: &str, found: &RecheckResult) -> Option<IssueRow> {
    let RecheckResult { rows, differ, largest } = found;
    let text = format!(
        "model `{model}` scored {rows} rows twice, and {differ} of the scores differ, by up to \
         {largest}: its numbers change from run to run"
    );
    let code = ReasonCode::NotRepeatable.word();
    (*differ > 0).then(|| IssueRow::warning(code, model, whole(*differ), text))
}

#[cfg(test)]
mod tests {
    use super::{AnsweredRow, RECHECK_AT_LEAST, SecondAnswers};
    use crate::exec::accumulator::Accumulator;
    use crate::exec::tests::state_laws::SampleState;
    use crate::num::seed::h;
    use crate::stage::score::join::RecheckResult;

    /// A row that the share draws, or does not.
    fn answers(row: u64, is_drawn: bool) -> SecondAnswers {
        let differ = u64::from(row.is_multiple_of(3));
        let compared = RecheckResult { rows: 1, differ, largest: row as f64 / 64.0 };
        let drawn = if is_drawn { compared.clone() } else { RecheckResult::default() };
        SecondAnswers { drawn, lowest: vec![AnsweredRow { hash: h(1, row, 2), compared }] }
    }

    impl SampleState for SecondAnswers {
        fn sample(_: u64) -> Self {
            SecondAnswers::default()
        }

        fn add_sample(&mut self, row: u64) {
            self.merge(answers(row, row.is_multiple_of(2)));
        }
    }

    #[test]
    fn the_lowest_hashes_count_where_the_share_draws_too_few() {
        let of = |rows: u64, drawn: u64| {
            let mut all = SecondAnswers::default();
            (0..rows).for_each(|row| all.merge(answers(row, row < drawn)));
            all.result()
        };
        let least = RECHECK_AT_LEAST as u64;
        assert_eq!((of(40, 3).rows, of(3 * least, 3).rows), (40, least));
        assert_eq!(of(3 * least, 2 * least).rows, 2 * least);
        let few = of(40, 3);
        assert_eq!((few.differ, few.largest), (14, 39.0 / 64.0));
    }
}
