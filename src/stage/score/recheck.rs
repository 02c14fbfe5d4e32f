//! The stage `recheck`: a program or an ONNX file scores some rows a second time. Where the
//! answers differ, every number of the model changes from run to run, and no gate on it is decided,
//! unless the job accepts that, or asks for repeats: then the rate at which its own decisions
//! switch is measured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::FeatureRows;
use crate::data::rows::aligned::ScoreReader;
use crate::error::Result;
use crate::exec::accumulator::Accumulator;
use crate::exec::{StageContext, files};
use crate::folder::manifest::{NoiseFloor, SelfSwitchWords};
use crate::job::ModelBlock;
use crate::metric::interval::z_of_level;
use crate::metric::value::self_switch::{SelfSwitchRate, SelfSwitchSums};
use crate::model::Scorer;
use crate::stage::kinds::{RecheckStage, ScoreStage};
use crate::stage::models::AskedModels;
use crate::stage::row_context::{DecisionRule, RowContext};
use crate::stage::row_inputs::RowInputs;
use crate::stage::rule_inputs::RuleInputs;
use crate::stage::score::command::CommandRows;
use crate::stage::score::join::{RECHECKED, RecheckResult, RecheckSample};
use crate::stage::score::rows::score_by_fold;
use crate::stage::sharding::share::ShardPass;
use crate::stage::stage_builder::{PlannedWork, Stage, StageBuilder, StageInput, work};
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
        let (name, model) = plan.model_of(unit)?;
        let again = model.ask_again();
        let mut rule = None;
        if again.is_some() {
            b.value("recheck", again);
            b.input("metrics.interval", |job| &job.metrics.interval);
            rule = Some(RuleInputs::need(b, name, model)?);
        }
        let tolerance = RECHECK_TOLERANCE * plan.score_scale(model).width();
        let (share, repeats) =
            again.map_or((RECHECK_SHARE, 1), |again| (again.share.get(), again.repeats.get()));
        let passes = b.row_passes();
        work(move |ctx| {
            rows.with(ctx, repeats, |row_context| {
                let ask = || {
                    let again =
                        RecheckSample::draw(row_context, None, seed.0, share, RECHECK_AT_LEAST)?;
                    let first = first.open(ctx, row_context)?;
                    let rule = rule.as_ref().map(|rule| rule.open(ctx, row_context, &first));
                    let rule = rule.transpose()?;
                    let mut record =
                        AnswerRecord::new(row_context, (&first, &again), rule, tolerance);
                    for _ in 0..repeats {
                        record.begin_repeat();
                        match asked.call() {
                            Some(call) => {
                                let mut group = 0;
                                call.score_into(
                                    ctx,
                                    row_context,
                                    CommandRows::Recheck(&again),
                                    asked.files(ctx)?,
                                    &mut |scores| {
                                        let rows = drawn_rows(row_context, &again, group)?;
                                        record.take(group, &rows, &scores)?;
                                        group += 1;
                                        Ok(())
                                    },
                                )?;
                            }
                            None => {
                                let scorers = asked.scorers(ctx, row_context.rows.layout())?;
                                score_again(row_context, &again, &scorers, &mut record)?;
                            }
                        }
                    }
                    record.finish(repeats)
                };
                let Some(answers) = passes.map(ctx, ShardPass::Count, ask)? else { return Ok(()) };
                let z = z_of_level(plan.job.metrics.interval.level.get());
                let found = answers.result(rule.is_some().then_some(repeats), z);
                files::write_json(&ctx.out().join(RECHECKED), &found)
            })
        })
    }
}

/// The answers about one row in all repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct AnsweredRow {
    /// By what the row is drawn.
    hash: u64,
    /// By repeat, the comparison with the first answer.
    compared: Vec<RecheckResult>,
    /// How many answers are positive; none where one is not a decision.
    positive: Option<u64>,
}

/// What asking again gave about some rows: about those that the share draws together, and about
/// those with the lowest hashes one by one, because these count where the share draws too few.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct RepeatedAnswers {
    /// By repeat, the comparison with the first answers.
    drawn: Vec<RecheckResult>,
    /// How often decisions about these rows switch.
    switches: SelfSwitchSums,
    /// At most [`RECHECK_AT_LEAST`], in the order of the hashes.
    lowest: Vec<AnsweredRow>,
}

impl RepeatedAnswers {
    /// What came of all repeats; `repeats` where the job asks how often decisions switch.
    fn result(mut self, repeats: Option<u64>, z: f64) -> RecheckResult {
        let n_drawn = self.drawn.first().map_or(0, |of| of.rows);
        if n_drawn < RECHECK_AT_LEAST as u64 {
            // All rows that the share draws are among the lowest then.
            (self.drawn, self.switches) = (Vec::new(), SelfSwitchSums::default());
            for row in std::mem::take(&mut self.lowest) {
                merge_repeats(&mut self.drawn, row.compared);
                if let (Some(positive), Some(repeats)) = (row.positive, repeats) {
                    self.switches.add(positive, repeats + 1);
                }
            }
        }
        let worst = self.drawn.into_iter().fold(RecheckResult::default(), RecheckResult::worse);
        let switches = repeats.map(|repeats| {
            let floor = |rate: SelfSwitchRate| NoiseFloor {
                numerator: rate.numerator,
                denominator: rate.denominator,
                value: rate.value,
                lo: rate.interval.lo,
                hi: rate.interval.hi,
            };
            let [sr, psr, nsr] = self.switches.rates(z).map(|rate| rate.map(floor));
            SelfSwitchWords { repeats, people: self.switches.people(), sr, psr, nsr }
        });
        RecheckResult { switches, ..worst }
    }
}

/// Adds the comparisons of other rows, repeat by repeat.
fn merge_repeats(all: &mut Vec<RecheckResult>, part: Vec<RecheckResult>) {
    all.resize_with(all.len().max(part.len()), RecheckResult::default);
    all.iter_mut().zip(part).for_each(|(all, part)| all.add(&part));
}

impl Accumulator for RepeatedAnswers {
    fn merge(&mut self, other: Self) {
        merge_repeats(&mut self.drawn, other.drawn);
        self.switches.merge(&other.switches);
        self.lowest.extend(other.lowest);
        self.lowest.sort_by_key(|row| row.hash);
        self.lowest.truncate(RECHECK_AT_LEAST);
    }
}

/// The answers about the rows that are scored again.
struct AnswerRecord<'a> {
    row_context: RowContext<'a>,
    first: &'a ScoreReader,
    sample: &'a RecheckSample,
    /// How answers become decisions; none where switches are not asked for.
    rule: Option<DecisionRule>,
    /// The largest difference that is none, in the numbers of the model's scale.
    tolerance: f64,
    answers: RepeatedAnswers,
    /// The rows with the lowest hashes, by row group and position.
    lowest: BTreeMap<(usize, usize), AnsweredRow>,
    /// By row group, the rows that are drawn, each with how many answers are positive; none where
    /// one is not a decision.
    positive: BTreeMap<usize, Vec<(usize, Option<u64>)>>,
}

impl<'a> AnswerRecord<'a> {
    fn new(
        row_context: RowContext<'a>,
        (first, sample): (&'a ScoreReader, &'a RecheckSample),
        rule: Option<DecisionRule>,
        tolerance: f64,
    ) -> Self {
        let (lowest, positive) = (BTreeMap::new(), BTreeMap::new());
        let answers = RepeatedAnswers::default();
        AnswerRecord { row_context, first, sample, rule, tolerance, answers, lowest, positive }
    }

    fn begin_repeat(&mut self) {
        self.answers.drawn.push(RecheckResult::default());
    }

    /// Takes the scores of these rows of a row group in the repeat that has begun.
    fn take(&mut self, group: usize, rows: &[usize], scores: &[f64]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let first = self.first.read(group)?;
        let keys = self.row_context.rows.read_row_keys(group)?;
        for &row in rows {
            let hash = self.sample.hash(keys[row]);
            let mut one = RecheckResult::default();
            one.compare(&first, scores, &[row], self.tolerance);
            if self.sample.share_draws(hash)
                && let Some(drawn) = self.answers.drawn.last_mut()
            {
                drawn.add(&one);
            }
            if self.sample.is_among_lowest(hash) {
                let none = AnsweredRow { hash, compared: Vec::new(), positive: None };
                self.lowest.entry((group, row)).or_insert(none).compared.push(one);
            }
        }
        let Some(rule) = &self.rule else { return Ok(()) };
        let (batch, roles) =
            (self.row_context.rows.read_keys(group)?, self.row_context.roles.read(group)?);
        let decide = |i: usize, scores: &[f64]| {
            rule.decide(&batch, roles.audited(i), i, scores[i]).map(u64::from)
        };
        let positive = self
            .positive
            .entry(group)
            .or_insert_with(|| rows.iter().map(|&i| (i, decide(i, &first))).collect());
        for (i, positive) in positive {
            *positive = positive.zip(decide(*i, scores)).map(|(n, yes)| n + yes);
        }
        Ok(())
    }

    /// What came of all repeats.
    fn finish(mut self, repeats: u64) -> Result<RepeatedAnswers> {
        for (group, rows) in self.positive {
            let keys = self.row_context.rows.read_row_keys(group)?;
            for (row, positive) in rows {
                if let Some(lowest) = self.lowest.get_mut(&(group, row)) {
                    lowest.positive = positive;
                }
                if let Some(positive) =
                    positive.filter(|_| self.sample.share_draws(self.sample.hash(keys[row])))
                {
                    self.answers.switches.add(positive, repeats + 1);
                }
            }
        }
        let lowest = self.lowest.into_values().collect();
        self.answers.merge(RepeatedAnswers { lowest, ..RepeatedAnswers::default() });
        Ok(self.answers)
    }
}

/// The models that are asked twice, to be opened.
pub(crate) struct RecheckInputs(Vec<(String, StageInput<RecheckStage>)>);

impl RecheckInputs {
    /// Those of the job: what was trained here answers alike by construction, and scores computed
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

    /// The models that answer differently, as issues.
    pub(crate) fn issues(&self, ctx: &StageContext<'_>) -> Result<Vec<IssueRow>> {
        let found = self.open(ctx)?.into_iter();
        Ok(found.filter_map(|(model, found)| not_repeatable(model, &found)).collect())
    }
}

/// That a model scored the same rows differently. Of scores computed elsewhere a difference has
/// ended the run.
fn not_repeatable(model: &str, found: &RecheckResult) -> Option<IssueRow> {
    let RecheckResult { rows, differ, largest, switches } = found;
    let (asked, so) = match switches {
        Some(switches) => (
            format!("{} times more", switches.repeats),
            ", and the switch rate of its own repeated decisions is shown next to its switch rates",
        ),
        None => ("twice".to_owned(), ""),
    };
    let text = format!(
        "model `{model}` scored {rows} rows {asked}, and {differ} of the scores differ, by up to \
         {largest}: its numbers change from run to run{so}"
    );
    let code = ReasonCode::NotRepeatable.word();
    (*differ > 0).then(|| IssueRow::warning(code, model, whole(*differ), text))
}

/// The rows of a row group that are scored again.
fn drawn_rows(
    row_context: RowContext<'_>,
    again: &RecheckSample,
    group: usize,
) -> Result<Vec<usize>> {
    Ok(again.rows(&row_context.rows.read_keys(group)?, &row_context.roles.read(group)?, None))
}

fn score_again(
    row_context: RowContext<'_>,
    again: &RecheckSample,
    scorers: &[Box<dyn Scorer>],
    record: &mut AnswerRecord<'_>,
) -> Result<()> {
    let one = |g: usize| {
        let rows = drawn_rows(row_context, again, g)?;
        let mut scores =
            vec![f64::NAN; if rows.is_empty() { 0 } else { row_context.roles.read(g)?.0.len() }];
        if !rows.is_empty() {
            let (batch, roles) = (row_context.rows.read(g)?, row_context.roles.read(g)?);
            let mine: FeatureRows = batch.rows.take(&rows);
            let answers = score_by_fold(scorers, &mine, |i| roles.audited(rows[i]))?;
            rows.iter().zip(answers).for_each(|(&row, score)| scores[row] = score);
        }
        Ok((0, (rows, scores)))
    };
    row_context.row_groups().in_order(one, |g, (rows, scores)| record.take(g, &rows, &scores))
}

#[cfg(test)]
mod tests {
    use super::{AnsweredRow, RECHECK_AT_LEAST, RepeatedAnswers};
    use crate::exec::accumulator::Accumulator;
    use crate::exec::tests::state_laws::SampleState;
    use crate::num::seed::h;
    use crate::stage::score::join::RecheckResult;

    fn compared(row: u64) -> RecheckResult {
        let differ = u64::from(row.is_multiple_of(3));
        RecheckResult { rows: 1, differ, largest: row as f64 / 64.0, switches: None }
    }

    /// A row that the share draws, or does not.
    fn answers(row: u64, is_drawn: bool) -> RepeatedAnswers {
        let (hash, positive) = (h(1, row, 2), Some(row % 3));
        let mut one = RepeatedAnswers::default();
        let compared = vec![compared(row), compared(row + 1)];
        one.lowest.push(AnsweredRow { hash, compared: compared.clone(), positive });
        if is_drawn {
            one.drawn = compared;
            one.switches.add(row % 3, 3);
        }
        one
    }

    impl SampleState for RepeatedAnswers {
        fn sample(_: u64) -> Self {
            RepeatedAnswers::default()
        }

        fn add_sample(&mut self, row: u64) {
            self.merge(answers(row, row.is_multiple_of(2)));
        }
    }

    #[test]
    fn the_lowest_hashes_count_where_the_share_draws_too_few() {
        let of = |rows: u64, drawn: u64| {
            let mut all = RepeatedAnswers::default();
            (0..rows).for_each(|row| all.merge(answers(row, row < drawn)));
            all.result(Some(2), 1.96)
        };
        let least = RECHECK_AT_LEAST as u64;
        assert_eq!((of(40, 3).rows, of(3 * least, 3).rows), (40, least));
        assert_eq!(of(3 * least, 2 * least).rows, 2 * least);
        let few = of(40, 3);
        assert_eq!((few.differ, few.largest), (14, 40.0 / 64.0));
        assert_eq!(few.switches.unwrap().people, 40);
    }
}
