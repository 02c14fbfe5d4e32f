//! A linear model in the linear worlds of a set, for the stages `hidden` and `needed`: the rates of
//! directions, and how far each audited person is from the threshold.
//!
//! Worlds and model are linear, so whatever moves the worlds adds a number to the log odds of
//! everybody of a direction, and a rate is a search in the margins of people
//! (`metric::value::hidden_cause`). The coefficients of the model are read, and the audited rows
//! once; nothing is scored again. Memory: the margins of the audited people.

use crate::counterfactual::graph_uncertain::CausalWorlds;
use crate::counterfactual::graph_uncertain::knobs::GraphUncertainBlock;
use crate::data::Attribute;
use crate::data::rows::Projection;
use crate::data::rows::aligned::{CounterfactualReader, ScoreReader};
use crate::error::Result;
use crate::exec::{StageContext, internal_error};
use crate::gate::decide_by::GateDecideBy;
use crate::gate::hidden_cause as judging;
use crate::gate::question::GateQuestion;
use crate::gate::reason::GateStatus;
use crate::job::{FavourableClass, ThresholdRule};
use crate::metric::interval::z_of_level;
use crate::metric::rate::Undefined;
use crate::metric::scope::MetricScope;
use crate::metric::value::hidden_cause::{
    GroupMargins, HIDDEN_RATES, HiddenPush, HiddenStrength, MovingWorld, SwitchingSide,
};
use crate::model::TrainedModel;
use crate::param::Seed;
use crate::stage::applied_set::AppliedSet;
use crate::stage::decided_scores::DecidedScores;
use crate::stage::discover::tables::GraphSetScenario;
use crate::stage::gate::questions::questions;
use crate::stage::kinds::{DiscoverStage, MeasureStage, TrainStage};
use crate::stage::memory;
use crate::stage::memory::refuse_memory;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::{DecisionRule, RowContext};
use crate::stage::row_inputs::RowInputs;
use crate::stage::score::encoded_worlds::{EncodedModelRow, EncodedWorlds};
use crate::stage::stage_builder::{OpensOfRows, Stage, StageBuilder, StageFolders, StageInput};
use crate::table::{MetricRow, MetricTable};
use crate::unit::AuditUnit;

/// Bytes that a person takes while margins are gathered and sorted.
const BYTES_A_PERSON: u64 = 64;

/// Graphs are asked of one model, so its only fold.
const ONLY_FOLD: Option<u8> = Some(0);

/// The stages of a kind that ask models about sets, in the order of the keys of their tables. What
/// waits for scores is left out.
pub(super) fn rate_folders<K: Stage>(
    b: &mut StageBuilder<'_, '_>,
    asks: impl Fn(&str, &AppliedSet<'_>, &GraphUncertainBlock) -> bool,
) -> Result<StageFolders> {
    let scored = b.plan.scored_sets();
    let asked = scored.filter(|(model, _, applied)| {
        applied.graphs().is_some_and(|graphs| asks(model.as_str(), applied, graphs))
    });
    let mut units: Vec<AuditUnit> =
        asked.map(|(model, _, applied)| applied.unit_of(model.as_str())).collect();
    units.sort_unstable();
    b.want_folders::<K>(units.into_iter().map(|unit| (String::new(), unit)))
}

/// The rates of a model and a set, which such a stage opens for the rows; `graphs_unit` says which
/// graphs it asks about.
pub(super) fn linear_rates<'a>(
    b: &mut StageBuilder<'_, 'a>,
    unit: &AuditUnit,
    graphs_unit: fn(&AppliedSet<'a>) -> AuditUnit,
) -> Result<(RowInputs<'a>, OpensOfRows<'a, LinearRates<'a>>)> {
    let plan = b.plan;
    let ((name, model), applied) = (plan.model_of(unit)?, plan.set_of(unit)?);
    let graphs = applied.its_graphs()?;
    b.value("counterfactuals", graphs.search_part());
    b.texts([("scenario".to_owned(), applied.scenario().1.to_owned())]);
    b.input("gates", |job| &job.gates);
    b.input("metrics.interval", |job| &job.metrics.interval);
    b.input("metrics.worlds", |job| &job.metrics.worlds);
    b.input("favourable", |job| job.data.favourable_side());
    let (seed, rows) = (b.seed(), RowInputs::of_job(b)?);
    let found = b.need::<DiscoverStage>(&graphs_unit(&applied))?;
    let scored = DecidedScores::need(b, unit, false)?;
    let trained = b.need::<TrainStage>(unit)?;
    let measured = b.need::<MeasureStage>(&AuditUnit::default())?;
    let open = move |row_context: RowContext<'_>| {
        let ctx = row_context.ctx;
        let (rule, scores) = scored.open(row_context)?;
        let trained = trained.models(ctx, model, plan.n_folds())?;
        let Ok([model]) = <[Box<dyn TrainedModel>; 1]>::try_from(trained) else {
            return Err(internal_error("graphs are asked of one model".to_owned()));
        };
        Ok(LinearRates {
            plan,
            applied: applied.clone(),
            graphs,
            attribute: row_context.rows.layout().attributes[applied.position].clone(),
            model,
            seed,
            rule,
            scores,
            found: found.clone(),
            questions: questions(plan.checked),
            metrics: MetricTable::read(measured.folder(ctx))?.all,
            name,
        })
    };
    Ok((rows, Box::new(open)))
}

/// What is asked of one model and set.
pub(super) struct LinearRates<'a> {
    pub(super) plan: &'a StagePlan<'a>,
    pub(super) applied: AppliedSet<'a>,
    pub(super) graphs: &'a GraphUncertainBlock,
    pub(super) attribute: Attribute,
    pub(super) model: Box<dyn TrainedModel>,
    pub(super) seed: Seed,
    rule: DecisionRule,
    scores: ScoreReader,
    /// The graphs that are asked about.
    found: StageInput<DiscoverStage>,
    /// All gates of the job.
    questions: Vec<GateQuestion>,
    metrics: Vec<MetricRow>,
    name: &'a str,
}

/// The rate of a row of metrics, and the people behind it.
pub(super) struct MarginRate<'a> {
    pub(super) row: &'a MetricRow,
    pub(super) side: SwitchingSide,
    pub(super) people: &'a GroupMargins,
    /// From the first group to the second, as declared.
    pub(super) direction: (usize, usize),
}

/// The numbers of a rate.
#[derive(Clone, Copy, Default)]
pub(super) struct RateNumbers {
    pub(super) value: Option<f64>,
    pub(super) graphs: Option<(f64, f64)>,
    pub(super) people: Option<(f64, f64)>,
}

impl RateNumbers {
    /// As they were measured.
    pub(super) fn measured(row: &MetricRow) -> Self {
        let (graphs, people) = (row.world_lo.zip(row.world_hi), row.lo.zip(row.hi));
        RateNumbers { value: row.value, graphs, people }
    }
}

impl LinearRates<'_> {
    /// The graphs that were found under a scenario, as a set of this name.
    pub(super) fn scenario(
        &self,
        ctx: &StageContext<'_>,
        name: &str,
        scenario: &str,
    ) -> Result<GraphSetScenario> {
        Ok(GraphSetScenario {
            name: name.to_owned(),
            position: self.applied.position,
            discovered: self.found.open(ctx, scenario)?,
            rows: None,
        })
    }

    /// The rows of rates of directions of the model and set.
    pub(super) fn rows(&self) -> impl Iterator<Item = &MetricRow> {
        self.metrics.iter().filter(|row| {
            let key = &row.key;
            let of_audit = key.arm.is_empty() && key.slice.is_empty() && row.class.is_empty();
            of_audit
                && key.model == *self.name
                && key.counterfactual == *self.applied.set
                && key.sensitive == *self.applied.attribute
                && key.scope == MetricScope::Direction(0, 0).as_str()
                && HIDDEN_RATES.contains(&row.metric.as_str())
        })
    }

    /// The rates of these rows with the people behind them.
    pub(super) fn rates<'m>(&'m self, people: &'m [GroupMargins]) -> Vec<MarginRate<'m>> {
        let groups = &self.attribute.groups;
        let group = |name: &str| groups.iter().position(|group| group == name);
        let favourable = self.plan.job.data.favourable_side().unwrap_or(FavourableClass::Positive);
        let rate = |row: &'m MetricRow| {
            let direction = group(&row.key.from_group).zip(group(&row.key.to_group))?;
            let side = SwitchingSide::of_metric(&row.metric, favourable)?;
            Some(MarginRate { row, side, people: people.get(direction.0)?, direction })
        };
        self.rows().filter_map(rate).collect()
    }

    /// Worlds as they move the model, with what a movement of each column of the graph adds to the
    /// log odds; else why nothing is known of them.
    pub(super) fn encoded<'w>(
        &'w self,
        worlds: &'w CausalWorlds,
    ) -> std::result::Result<(EncodedWorlds<'w>, Vec<f64>), &'static str> {
        let Some((_, coefficients)) = self.model.log_odds() else { return Err("model_not_linear") };
        if worlds.worlds.is_empty() {
            return Err(Undefined::NoTrainingRows.code());
        }
        let asked = (self.model.as_ref(), self.graphs.clip_rule());
        let encoded = EncodedWorlds::new(worlds, &self.attribute, asked);
        let weights = encoded.weights(coefficients);
        Ok((encoded, weights))
    }

    /// The margins of the audited people of each declared group, by a linear model.
    pub(super) fn people(
        &self,
        row_context: RowContext<'_>,
        encoded: &EncodedWorlds<'_>,
    ) -> Result<Vec<GroupMargins>> {
        let (intercept, coefficients) = self.model.log_odds().unwrap_or((0.0, &[]));
        let margin = |row: &EncodedModelRow| {
            coefficients.iter().zip(&row.model).fold(intercept, |sum, (b, x)| sum + b * x)
        };
        let (rule, layout) = (&self.rule, row_context.rows.layout());
        let (position, n_groups) = (self.applied.position, self.attribute.groups.len());
        let n_people = row_context.roles.n_audited();
        let needed = n_people.saturating_mul(BYTES_A_PERSON);
        let what = |needed, allowed| {
            format!(
                "the margins of {n_people} audited people take {needed}; the run may take {allowed}"
            )
        };
        let hint = "audit fewer rows, remove `sensitivity` and `necessary`, or allow more with \
                    `--memory`";
        refuse_memory(
            (needed, memory::allowed(self.plan.settings)),
            "too-many-persons",
            what,
            hint,
        )?;
        let keys = CounterfactualReader::of_keys(row_context.rows, row_context.roles, position)?;
        let mut people: Vec<Vec<(bool, f64, u64)>> = vec![Vec::new(); n_groups];
        row_context.row_groups().in_turn(
            |g| {
                let (batch, keys, scores) = (
                    row_context.rows.read(g, Projection::ALL)?,
                    keys.keys(g)?,
                    self.scores.read(g)?,
                );
                let (mut found, mut row) = (Vec::new(), EncodedModelRow::default());
                let mut parents = keys.parent.clone();
                // Those of a row stand together.
                parents.dedup();
                for i in parents.into_iter().map(|parent| parent as usize) {
                    let decided = rule.decide(&batch, ONLY_FOLD, i, scores[i]);
                    let Some(positive) = decided else { continue };
                    if encoded.encode(&batch.rows, i, &mut row) {
                        let threshold = rule.threshold_at(&batch, ONLY_FOLD, i);
                        let apart = margin(&row) - libm::log(threshold / (1.0 - threshold));
                        let group = usize::from(batch.groups[position][i]);
                        found.push((group, (positive, apart, batch.person_keys()[i])));
                    }
                }
                Ok((batch.row.len() as u64, found))
            },
            |found| found.into_iter().for_each(|(group, person)| people[group].push(person)),
        )?;
        let at_threshold = rule.decision == ThresholdRule::Ge && !rule.scale.turned;
        let repeat = layout.person.is_some();
        let margins =
            people.into_iter().map(|of| GroupMargins::new(at_threshold, repeat, of.into_iter()));
        Ok(margins.collect())
    }

    /// The questions that are about a row.
    pub(super) fn gates(&self, row: &MetricRow) -> impl Iterator<Item = &GateQuestion> {
        self.questions.iter().filter(|question| judging::asks(question, row))
    }

    /// A rate in moved worlds. The interval over people, a pass over them, is made only where it
    /// `asks_people`.
    pub(super) fn moved(
        &self,
        rate: &MarginRate<'_>,
        worlds: &[MovingWorld],
        under: (HiddenStrength, HiddenPush),
        asks_people: bool,
    ) -> RateNumbers {
        let metrics = &self.plan.job.metrics;
        let level = metrics.worlds.level.get();
        let found = rate.people.over_worlds(rate.side, worlds, under, level);
        let share = || rate.people.share(rate.side, worlds, under);
        let share = asks_people.then(share).flatten();
        let people = share.map(|share| share.wilson(z_of_level(metrics.interval.level.get())));
        RateNumbers {
            value: found.map(|of| of.mean),
            graphs: found.and_then(|of| of.spread).map(|of| (of.lo, of.hi)),
            people: people.map(|of| (of.lo, of.hi)),
        }
    }
}

/// The verdict of the rule of a gate on other numbers of a rate.
pub(super) fn moved_verdict(
    question: &GateQuestion,
    rate: &MarginRate<'_>,
    numbers: RateNumbers,
) -> GateStatus {
    let ends = match question.decide_by {
        GateDecideBy::Worlds => numbers.graphs,
        _ => numbers.people,
    };
    let moved = numbers.value.map(|value| (value, ends));
    let breaks = |ends| question.limit.is_broken_within(ends);
    match judging::verdict(question, rate.row, moved) {
        // As in the table of gates.
        GateStatus::Pass if question.asks_all_doubts && numbers.graphs.is_some_and(breaks) => {
            GateStatus::Inconclusive
        }
        verdict => verdict,
    }
}
