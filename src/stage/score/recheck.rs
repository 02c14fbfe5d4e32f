//! The stage `recheck`: a program or an ONNX file scores some rows a second time. Where the
//! answers differ, every number of the model changes from run to run, and no gate on it is decided,
//! unless the job asks for repeats: then the rate at which its own decisions switch is measured.

use std::collections::BTreeMap;

use crate::data::FeatureRows;
use crate::data::rows::aligned::ScoreReader;
use crate::error::Result;
use crate::exec::{StageContext, files};
use crate::folder::manifest::{Manifest, NoiseFloor, RecheckWords, SelfSwitchWords};
use crate::job::ModelBlock;
use crate::metric::interval::z_of_level;
use crate::metric::value::self_switch::{SelfSwitchRate, SelfSwitchSums};
use crate::model::Scorer;
use crate::stage::kinds::{RecheckStage, ScoreStage};
use crate::stage::models::AskedModels;
use crate::stage::row_context::{DecisionRule, RowContext};
use crate::stage::row_inputs::RowInputs;
use crate::stage::rule::RuleInputs;
use crate::stage::score::command::CommandRows;
use crate::stage::score::join::{RECHECKED, RecheckResult, RecheckSample};
use crate::stage::score::rows::score_by_fold;
use crate::stage::stage_builder::{PlannedWork, Stage, StageBuilder, StageInput, work};
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
        work(move |ctx| {
            rows.with(ctx, repeats, |row_context| {
                let again =
                    RecheckSample::draw(row_context, None, seed.0, share, RECHECK_AT_LEAST)?;
                let rule = rule.as_ref().map(|rule| rule.open(ctx, row_context)).transpose()?;
                let first = first.open(ctx, row_context)?;
                let mut record = AnswerRecord::new(row_context, &first, rule, tolerance);
                for _ in 0..repeats {
                    let mut found = RecheckResult::default();
                    match asked.call() {
                        Some(call) => {
                            let mut group = 0;
                            call.score_into(
                                ctx,
                                row_context,
                                CommandRows::Recheck(&again),
                                asked.trained(ctx),
                                &mut |scores| {
                                    let rows = drawn_rows(row_context, &again, group)?;
                                    record.take(group, &rows, &scores, &mut found)?;
                                    group += 1;
                                    Ok(())
                                },
                            )?;
                        }
                        None => {
                            let scorers = asked.scorers(ctx, row_context.rows.layout())?;
                            score_again(row_context, &again, &scorers, &mut record, &mut found)?;
                        }
                    }
                    record.found = record.found.worse(found);
                }
                let z = z_of_level(plan.job.metrics.interval.level.get());
                files::write_json(&ctx.out().join(RECHECKED), &record.result(repeats, z))
            })
        })
    }
}

/// The answers about the rows that are scored again.
struct AnswerRecord<'a> {
    row_context: RowContext<'a>,
    first: &'a ScoreReader,
    /// How answers become decisions; none where switches are not asked for.
    rule: Option<DecisionRule>,
    /// The largest difference that is none, in the numbers of the model's scale.
    tolerance: f64,
    /// The worst comparison so far.
    found: RecheckResult,
    /// By row group, for each row that is drawn how many answers are positive; none where one is
    /// not a decision.
    positive: BTreeMap<usize, Vec<Option<u64>>>,
}

impl<'a> AnswerRecord<'a> {
    fn new(
        row_context: RowContext<'a>,
        first: &'a ScoreReader,
        rule: Option<DecisionRule>,
        tolerance: f64,
    ) -> Self {
        let (found, positive) = (RecheckResult::default(), BTreeMap::new());
        AnswerRecord { row_context, first, rule, tolerance, found, positive }
    }

    /// Takes the scores of these rows of a row group in one repeat.
    fn take(
        &mut self,
        group: usize,
        rows: &[usize],
        scores: &[f64],
        found: &mut RecheckResult,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let first = self.first.read(group)?;
        found.compare(&first, scores, rows, self.tolerance);
        let Some(rule) = &self.rule else { return Ok(()) };
        let (batch, roles) =
            (self.row_context.rows.read_keys(group)?, self.row_context.roles.read(group)?);
        let decide = |i: usize, scores: &[f64]| {
            rule.decide(&batch, roles.audited(i), i, scores[i]).map(u64::from)
        };
        let positive = self
            .positive
            .entry(group)
            .or_insert_with(|| rows.iter().map(|&i| decide(i, &first)).collect());
        for (positive, &i) in positive.iter_mut().zip(rows) {
            *positive = positive.zip(decide(i, scores)).map(|(n, yes)| n + yes);
        }
        Ok(())
    }

    /// What came of all repeats.
    fn result(&self, repeats: u64, z: f64) -> RecheckResult {
        let switches = self.rule.as_ref().map(|_| {
            let mut sums = SelfSwitchSums::default();
            let rows = self.positive.values().flatten().copied().flatten();
            rows.for_each(|positive| sums.add(positive, repeats + 1));
            let floor = |rate: SelfSwitchRate| NoiseFloor {
                numerator: rate.numerator,
                denominator: rate.denominator,
                value: rate.value,
                lo: rate.interval.lo,
                hi: rate.interval.hi,
            };
            let [sr, psr, nsr] = sums.rates(z).map(|rate| rate.map(floor));
            SelfSwitchWords { repeats, people: sums.people(), sr, psr, nsr }
        });
        RecheckResult { switches, ..self.found.clone() }
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

    /// The models that answer differently.
    pub(crate) fn unsteady(&self, ctx: &StageContext<'_>) -> Result<UnsteadyModels> {
        let found = self.open(ctx)?.into_iter();
        let unsteady = found.filter(|(_, found)| found.differ > 0 && found.switches.is_none());
        Ok(unsteady.map(|(model, found)| (model.to_owned(), found)).collect())
    }
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
    found: &mut RecheckResult,
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
    row_context
        .row_groups()
        .in_order(one, |g, (rows, scores)| record.take(g, &rows, &scores, found))
}

/// The same of a finished folder.
pub(crate) fn unsteady_of(manifest: &Manifest) -> UnsteadyModels {
    let asked = manifest.models.iter().filter(|model| model.kind != "scores");
    let found = asked.filter_map(|model| Some((model.name.clone(), model.recheck?)));
    let unsteady = found.filter(|(_, recheck)| recheck.differ > 0 && recheck.switches.is_none());
    let result = |words: RecheckWords| RecheckResult {
        rows: words.rows,
        differ: words.differ,
        largest: words.largest,
        switches: None,
    };
    unsteady.map(|(name, words)| (name, result(words))).collect()
}
