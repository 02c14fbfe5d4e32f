//! The stage `recheck`: a program or an ONNX file scores some rows a second time, in another order
//! and without the others. Where the answers differ, scores change from call to call, depend on
//! other rows or belong to other rows, and no gate on the model is decided, unless the job accepts
//! that.

use serde::{Deserialize, Serialize};

use crate::data::rows::Projection;
use crate::error::Result;
use crate::exec::accumulator::Accumulator;
use crate::exec::files;
use crate::folder::manifest::RecheckWords;
use crate::gate::reason::GateReason;
use crate::job::ModelBlock;
use crate::num::additive::Additive;
use crate::stage::kinds::{RecheckStage, ScoreStage};
use crate::stage::models::AskedModels;
use crate::stage::row_inputs::RowInputs;
use crate::stage::score::asked_rows::{RecheckedBlock, RecheckedRows};
use crate::stage::score::join::{RECHECKED, RecheckSample};
use crate::stage::sharding::share::ShardPass;
use crate::stage::stage_builder::{Opens, Planned, Stage, StageBuilder};
use crate::table::IssueRow;
use crate::unit::AuditUnit;

/// Share of the audited rows that are scored twice.
const RECHECK_SHARE: f64 = 0.01;

/// The least number of rows, or those that [`RecheckSample`] draws of few.
const RECHECK_AT_LEAST: usize = 100;

/// Two answers for one row that differ by more than this share of the scale are not the same.
pub(crate) const RECHECK_TOLERANCE: f64 = 1e-6;

impl Stage for RecheckStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let (rows, first) = (RowInputs::of_job(b)?, b.need::<ScoreStage>(unit)?);
        let (seed, n_columns) = (b.seed(), plan.n_classes().unwrap_or(1));
        let asked = AskedModels::need(b, unit)?;
        let model = plan.model_of(unit)?.1;
        let tolerance = RECHECK_TOLERANCE * plan.score_scale(model).width();
        let passes = b.row_passes();
        rows.work(1, move |ctx, row_context| {
            let ask = || {
                let (share, at_least) = (RECHECK_SHARE, RECHECK_AT_LEAST);
                let again = RecheckSample::draw(row_context, None, seed.0, share, at_least)?;
                let first = first.open_each(row_context)?;
                let rows = RecheckedRows(row_context, &again);
                let compare = |block: usize, scores: Vec<f64>| {
                    let mut part = SecondAnswers::default();
                    let RecheckedBlock { group, batch, asked, .. } =
                        rows.block(block, Projection::NO_FEATURES)?;
                    if asked.is_empty() {
                        return Ok(part);
                    }
                    let first = first.iter().map(|scores| scores.read(group));
                    let first = first.collect::<Result<Vec<_>>>()?;
                    for (row, second) in asked.into_iter().zip(scores.chunks(n_columns)) {
                        let hash = again.hash(batch.row_key[row]);
                        let mut compared = RecheckWords::default();
                        for (first, second) in first.iter().zip(second) {
                            compared.compare(first[row], *second, tolerance);
                        }
                        // A row is compared once, however many scores it has.
                        let differ = compared.differ.min(1);
                        let compared = RecheckWords { rows: 1, differ, ..compared };
                        if again.share_draws(hash) {
                            part.drawn.absorb(&compared);
                        }
                        if again.is_among_lowest(hash) {
                            part.lowest.push(AnsweredRow { hash, compared });
                        }
                    }
                    Ok(part)
                };
                let mut answers = SecondAnswers::default();
                let models = asked.open(row_context)?;
                models.score_blocks(row_context, &rows, &compare, &mut |part| {
                    answers.merge(part);
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
    compared: RecheckWords,
}

/// What asking a second time gave about some rows: about those that the share draws together, and
/// about those with the lowest hashes one by one, because these count where the share draws too
/// few.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SecondAnswers {
    drawn: RecheckWords,
    /// At most [`RECHECK_AT_LEAST`], in the order of the hashes.
    lowest: Vec<AnsweredRow>,
}

impl SecondAnswers {
    /// What came of all.
    fn result(self) -> RecheckWords {
        if self.drawn.rows >= RECHECK_AT_LEAST as u64 {
            return self.drawn;
        }
        // All rows that the share draws are among the lowest then. Shards draw each for itself.
        let end = self.lowest.first().map_or(0, |row| RecheckSample::end(row.hash));
        let mut all = RecheckWords::default();
        let asked = self.lowest.iter().filter(|row| row.hash <= end);
        asked.for_each(|row| all.absorb(&row.compared));
        all
    }
}

impl Accumulator for SecondAnswers {
    fn merge(&mut self, other: Self) {
        self.drawn.absorb(&other.drawn);
        self.lowest.extend(other.lowest);
        self.lowest.sort_by_key(|row| row.hash);
        self.lowest.truncate(RECHECK_AT_LEAST);
    }
}

/// The models that are asked twice, and what that gave: what was trained here answers alike by
/// construction, and scores computed elsewhere are checked by `recheck`.
pub(crate) fn rechecks<'a>(
    b: &mut StageBuilder<'_, 'a>,
) -> Result<Opens<'a, Vec<(&'a str, RecheckWords)>>> {
    let models = b.plan.job.models.iter().filter(|(_, model): &(_, &ModelBlock)| {
        model.external().is_some_and(|(_, knobs)| knobs.is_asked_twice)
    });
    let models = models.map(|(name, _)| (name.as_str(), AuditUnit::of_model(name.as_str())));
    b.read_each::<RecheckStage, _, _>(models, RECHECKED)
}

/// The issue that a model scored the same rows differently. For given scores, a difference has
/// ended the run before.
pub(crate) fn not_repeatable(model: &str, found: &RecheckWords) -> Option<IssueRow> {
    let objection = GateReason::NotRepeatable { model: model.to_owned(), scored: *found };
    (found.differ > 0).then(|| objection.issue_about(model, found.differ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::tests::state_laws::SampleState;
    use crate::num::seed::h;

    /// A row that the share draws, or does not.
    fn answers(row: u64, is_drawn: bool) -> SecondAnswers {
        let differ = u64::from(row.is_multiple_of(3));
        let compared = RecheckWords { rows: 1, differ, largest: row as f64 / 64.0 };
        let drawn = if is_drawn { compared } else { RecheckWords::default() };
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
        assert_eq!((of(8 * least, 3).rows, of(3 * least, 2 * least).rows), (least, 2 * least));
        // Of few rows a strict part: about half, and at least one.
        let asked: Vec<u64> = (0..40).filter(|row| h(1, *row, 2) <= u64::MAX / 2).collect();
        let differ = asked.iter().filter(|row| row.is_multiple_of(3)).count() as u64;
        let few = of(40, 3);
        assert_eq!((few.rows, few.differ), (asked.len() as u64, differ));
        assert!((10..30).contains(&few.rows), "{few:?}");
        assert_eq!((of(1, 0).rows, of(0, 0).rows), (1, 0));
    }
}
