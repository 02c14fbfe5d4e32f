//! The stages `expect/MODEL`, which are of the kind `score`: compares the scores that an audit
//! depends on with those that the model is known to give.
//!
//! Where the rows reach the model in another way than in production (an input that is prepared
//! otherwise, an older file of the model), every number of the audit is about another model than
//! the one that decides. Only rows with a known score count; one that the model gives no score for
//! counts as different.

use crate::data::rows::Projection;
use crate::error::{Fault, Result};
use crate::exec::{files, internal_error};
use crate::folder::manifest::ExpectWords;
use crate::job::ModelBlock;
use crate::stage::kinds::{ExpectStage, ScoreStage};
use crate::stage::row_inputs::RowInputs;
use crate::stage::score::rows::carried_column;
use crate::stage::stage_builder::{Opens, Planned, Stage, StageBuilder};
use crate::unit::AuditUnit;

/// File of the stage.
const EXPECTED: &str = "expected.json";

/// A row whose score is not the known one.
#[derive(Clone, Copy)]
struct UnlikeRow {
    /// Its number in the source.
    row: u64,
    /// What the model gives; none where it gives nothing.
    score: Option<f64>,
    /// What is known.
    known: f64,
}

/// What the comparison gave.
struct ExpectResult {
    /// As the manifest has it.
    words: ExpectWords,
    /// The first row that differs.
    first: Option<UnlikeRow>,
}

impl ExpectResult {
    fn add(&mut self, row: u64, score: f64, known: f64) {
        let words = &mut self.words;
        if known.is_nan() {
            words.unknown += 1;
            return;
        }
        words.rows += 1;
        let difference = (score - known).abs();
        // NaN where there is no score; equal infinities do not differ.
        let same = score == known || difference <= words.tolerance;
        if !same {
            words.differ += 1;
            let score = (!score.is_nan()).then_some(score);
            self.first.get_or_insert(UnlikeRow { row, score, known });
        }
        if difference.is_finite() {
            words.largest = words.largest.max(difference);
        }
    }

    /// The fault that ends the run; none where no more rows differ than the job allows.
    fn fault(&self, model: &str) -> Option<(Fault, Option<u64>)> {
        let ExpectWords { column, tolerance, at_most, rows, differ, largest, .. } = &self.words;
        if *rows == 0 {
            let what = format!(
                "the column `{column}` has a value for none of the audited rows, so no score of \
                 the model `{model}` is compared"
            );
            let hint = "name a column that holds the scores of the audited rows, or remove \
                        `expect`";
            return Some((Fault::new("expect-differs", what).in_column(column).hint(hint), None));
        }
        let first = self.first.filter(|_| differ > at_most)?;
        let score = first.score.map_or("no score".to_owned(), |score| format!("`{score}`"));
        let what = format!(
            "the scores of the model `{model}` differ from the column `{column}` in {differ} of \
             {rows} rows by more than {tolerance}, and {at_most} may; the largest difference is \
             {largest}; the first such row has {score}, and `{}` is expected",
            first.known
        );
        let hint = "the rows reach the model in another way than where the column was made: \
                    compare the inputs of this row, and the version of the model; `tolerance` and \
                    `at_most` say how much may differ";
        let fault = Fault::new("expect-differs", what).in_column(column).hint(hint);
        Some((fault, Some(first.row)))
    }
}

impl Stage for ExpectStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let (name, model) = plan.model_of(unit)?;
        let Some(expect) = &model.expect else {
            return Err(internal_error(format!("the model `{name}` expects no scores")));
        };
        b.value("expect", expect);
        let (rows, scored) = (RowInputs::of_job(b)?, b.need::<ScoreStage>(unit)?);
        rows.work(1, move |ctx, row_context| {
            let known = carried_column(row_context, expect.column.as_str())?;
            let scores = scored.open(row_context)?;
            let (column, tolerance) = (expect.column.to_string(), expect.tolerance.get());
            let at_most = expect.at_most;
            let words = ExpectWords { column, tolerance, at_most, ..ExpectWords::default() };
            let mut found = ExpectResult { words, first: None };
            row_context.row_groups().in_turn(
                |g| {
                    let (batch, roles) = row_context.read(g, Projection::NO_FEATURES)?;
                    let (scores, known) = (scores.read(g)?, &batch.carried[known]);
                    let audited = (0..batch.row.len()).filter(|&i| roles.audited(i).is_some());
                    let rows: Vec<(u64, f64, f64)> =
                        audited.map(|i| (batch.row[i], scores[i], known[i])).collect();
                    Ok((batch.row.len() as u64, rows))
                },
                |rows| {
                    rows.into_iter().for_each(|(row, score, known)| found.add(row, score, known))
                },
            )?;
            if let Some((fault, row)) = found.fault(name) {
                let fault = match row {
                    Some(row) => plan.with_source_row(fault, row),
                    None => fault,
                };
                let keys = ["models", name, "expect"];
                return Err(plan.with_model_place(fault.into(), &keys));
            }
            files::write_json(&ctx.out().join(EXPECTED), &found.words)
        })
    }
}

/// A model whose scores are known, and what the comparison gave.
pub(crate) type ExpectedScores<'a> = (&'a str, ExpectWords);

/// The models whose scores are known.
pub(crate) fn expected_scores<'a>(
    b: &mut StageBuilder<'_, 'a>,
) -> Result<Opens<'a, Vec<ExpectedScores<'a>>>> {
    let plan = b.plan;
    let known =
        plan.job.models.iter().filter(|(_, model): &(_, &ModelBlock)| model.expect.is_some());
    // A model whose scores are awaited does not keep the others from being compared.
    let known = known.map(|(name, _)| name.as_str()).filter(|name| !plan.input.awaits(name, None));
    let known = known.map(|of| (of, AuditUnit::of_model(of)));
    b.read_each::<ExpectStage, _, _>(known, EXPECTED)
}

#[cfg(test)]
mod tests {
    use super::{ExpectResult, ExpectWords};

    #[test]
    fn rows_are_compared_where_a_score_is_known() {
        let words = ExpectWords { tolerance: 1e-6, ..ExpectWords::default() };
        let mut found = ExpectResult { words, first: None };
        for (row, (score, known)) in [
            (0.5, 0.5),
            (0.5, f64::NAN),
            (0.25, 0.25 + 2e-6),
            (f64::NAN, 0.5),
            (f64::NAN, f64::NAN),
            (0.75, 0.75 - 1e-7),
        ]
        .into_iter()
        .enumerate()
        {
            found.add(row as u64, score, known);
        }
        let ExpectWords { rows, unknown, differ, largest, .. } = found.words;
        assert_eq!((rows, unknown, differ), (4, 2, 2));
        assert!((largest - 2e-6).abs() < 1e-12, "{largest}");
        assert_eq!(found.first.map(|first| first.row), Some(2));
    }
}
