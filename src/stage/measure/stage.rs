//! The stage `measure`: every audit of the job, or of an experiment, with what it is measured from.

use std::path::Path;

use crate::augment::ExperimentArm;
use crate::error::Result;
use crate::param::Name;
use crate::stage::applied_set::AppliedSet;
use crate::stage::discover::graph_sets;
use crate::stage::experiment::plan::{ExperimentPlan, arm_name, with_set};
use crate::stage::kinds::{
    CountStage, DoubtStage, FlipsStage, GenerateStage, MeasureStage, PairStage, PlaceboStage,
    QualityStage, ThresholdStage, TrainStage, WorldsStage,
};
use crate::stage::measure;
use crate::stage::measure::amounts::{self, AmountInputs};
use crate::stage::measure::counted_audit::{AuditInputs, CountedAudit, PairInputs, PlaceboInput};
use crate::stage::plan::StagePlan;
use crate::stage::row_inputs::RowInputs;
use crate::stage::stage_builder::{Opens, Planned, Stage, StageBuilder};
use crate::stage::train::repeat::need_repeats;
use crate::table::file::{read_rows, write_rows};
use crate::table::merged::gather_rows;
use crate::table::{ArmRow, ThresholdRow};
use crate::unit::AuditUnit;

impl AuditInputs {
    /// The audit of the factual rows by an attribute. Only the plain audit has slices and the flip
    /// test.
    fn of_rows(unit: &AuditUnit, b: &mut StageBuilder<'_, '_>) -> Result<Self> {
        let (position, _) = b.plan.attribute_of(unit)?;
        let flips = b.plan.job.flip_test().filter(|_| unit.experiment.is_empty());
        let flips = flips.map(|_| b.need::<FlipsStage>(unit)).transpose()?;
        let (_, model) = b.plan.model_of(unit)?;
        let audit = CountedAudit {
            arm: arm_name(unit),
            model: unit.model.clone(),
            attribute: position,
            scoreless: !model.gives_scores(),
            points: model.gives_points(),
            ..CountedAudit::default()
        };
        let inputs = AuditInputs::counted(audit, unit, b)?;
        Ok(AuditInputs { flips, retrained: need_repeats::<CountStage>(unit, b)?, ..inputs })
    }

    /// An audit with only its count stage.
    fn counted(
        audit: CountedAudit,
        unit: &AuditUnit,
        b: &mut StageBuilder<'_, '_>,
    ) -> Result<Self> {
        Ok(AuditInputs {
            audit,
            unit: unit.clone(),
            count: b.need::<CountStage>(unit)?,
            placebo: None,
            doubt: None,
            retrained: Vec::new(),
            retrained_worlds: Vec::new(),
            flips: None,
            graph_scores: None,
            generate: None,
        })
    }

    /// The audit of the counterfactuals of a set.
    fn of_set(
        applied: &AppliedSet<'_>,
        unit: &AuditUnit,
        b: &mut StageBuilder<'_, '_>,
    ) -> Result<Self> {
        let (plan, block) = (b.plan, applied.block);
        let graphs = applied.graphs().is_some();
        let plain = unit.experiment.is_empty();
        let doubted = plain && block.doubt.is_some();
        let audit = CountedAudit {
            arm: arm_name(unit),
            model: unit.model.clone(),
            set: Some(applied.set.to_owned()),
            attribute: applied.position,
            by_label: block.conditions_on_label(),
            scoreless: !plan.model_of(unit)?.1.gives_scores(),
            ..CountedAudit::default()
        };
        let inputs = AuditInputs::counted(audit, unit, b)?;
        let placebo = match block.placebo.filter(|_| plain) {
            None => None,
            Some(_) if block.knobs().is_some() => {
                Some(PlaceboInput::Repeats(b.need::<PlaceboStage>(unit)?))
            }
            // A derived attribute gets its group's values from reference rows, so its noise is not
            // that of the strategy naive.
            Some(_) if plan.is_written_back(applied) => None,
            Some(placebo) => Some(PlaceboInput::Unmoved(placebo.repeats)),
        };
        Ok(AuditInputs {
            placebo,
            doubt: doubted.then(|| b.need::<DoubtStage>(unit)).transpose()?,
            retrained: if graphs { Vec::new() } else { need_repeats::<CountStage>(unit, b)? },
            retrained_worlds: if graphs {
                need_repeats::<WorldsStage>(unit, b)?
            } else {
                Vec::new()
            },
            graph_scores: graphs.then(|| b.need::<WorldsStage>(unit)).transpose()?,
            generate: Some(b.need::<GenerateStage>(&applied.unit())?),
            ..inputs
        })
    }

    /// All audits of the job: every model on the factual rows by every attribute, and on every set.
    /// Audits that wait for scores are left out.
    fn of_job(b: &mut StageBuilder<'_, '_>) -> Result<Vec<Self>> {
        let (plan, mut audits) = (b.plan, Vec::new());
        for (name, model) in &plan.job.models {
            let decides = model.amount().is_none();
            let rows_count = decides || plan.job.positive_above(model).is_some();
            for attribute in plan.job.data.sensitive.keys().filter(|_| rows_count) {
                let attribute = attribute.to_string();
                let unit = AuditUnit { attribute, ..AuditUnit::of_model(name.as_str()) };
                audits.extend(b.want_part(|b| AuditInputs::of_rows(&unit, b))?);
            }
            let is_requested = |applied: &AppliedSet<'_>| {
                decides && model.scores_counterfactuals() && applied.block.asks(name)
            };
            for applied in plan.applied_sets().into_iter().filter(is_requested) {
                let unit = applied.unit_of(name.as_str());
                audits.extend(b.want_part(|b| AuditInputs::of_set(&applied, &unit, b))?);
            }
        }
        Ok(audits)
    }

    /// All audits of the arms of an experiment.
    fn of_experiment(
        experiment: &ExperimentPlan<'_>,
        b: &mut StageBuilder<'_, '_>,
    ) -> Result<Vec<Self>> {
        let mut audits = Vec::new();
        for arm in experiment.arms() {
            let unit = experiment.arm_unit(arm);
            for attribute in b.plan.job.data.sensitive.keys() {
                let attribute = attribute.to_string();
                audits.push(AuditInputs::of_rows(&AuditUnit { attribute, ..unit.clone() }, b)?);
            }
            for applied in &experiment.sets {
                let unit = with_set(unit.clone(), Some(applied));
                audits.push(AuditInputs::of_set(applied, &unit, b)?);
            }
        }
        Ok(audits)
    }
}

/// Which audits are compared: two models of the job, or an arm and the base.
fn compared_pairs(
    plan: &StagePlan<'_>,
    experiment: Option<&ExperimentPlan<'_>>,
) -> Vec<[(String, String); 2]> {
    let Some(experiment) = experiment else {
        let models = plan.job.metrics.compare.iter();
        let key = |model: &Name| (String::new(), model.to_string());
        return models.map(|(first, second)| [key(first), key(second)]).collect();
    };
    let model = experiment.block.model.as_str();
    let key = |arm| (experiment.arm_name(arm), model.to_owned());
    let others = experiment.arms().into_iter().filter(|arm| *arm != ExperimentArm::Base);
    others.map(|arm| [key(arm), key(ExperimentArm::Base)]).collect()
}

/// The pairs of audits to compare, by their numbers: for every set and attribute that both have,
/// except sets that depend on causal graphs.
fn need_pairs(
    audits: &[AuditInputs],
    pairs: &[[(String, String); 2]],
    b: &mut StageBuilder<'_, '_>,
) -> Result<Vec<PairInputs>> {
    let mut found = Vec::new();
    for [of_first, of_second] in pairs {
        let is_of = |audit: &CountedAudit, (arm, model): &(String, String)| {
            (&audit.arm, &audit.model) == (arm, model)
        };
        for (first, inputs) in audits.iter().enumerate() {
            let audit = &inputs.audit;
            if !is_of(audit, of_first) || inputs.graph_scores.is_some() {
                continue;
            }
            let same = |other: &CountedAudit| {
                is_of(other, of_second)
                    && (&other.set, other.attribute) == (&audit.set, audit.attribute)
            };
            if let Some(second) = audits.iter().position(|other| same(&other.audit)) {
                let counts = b.need::<PairStage>(&inputs.unit)?;
                found.push(PairInputs { first, second, counts });
            }
        }
    }
    Ok(found)
}

/// Writes the tables about how models were made: thresholds, and the rows that arms added.
fn model_tables<'a>(
    b: &mut StageBuilder<'_, 'a>,
    experiment: Option<&ExperimentPlan<'a>>,
) -> Result<Opens<'a, ()>> {
    let plan = b.plan;
    let folds: Vec<AuditUnit> = experiment.map_or_else(Vec::new, |plan| {
        let arms = |fold| plan.arms().into_iter().map(move |arm| plan.fold_unit(arm, fold));
        (0..plan.n_folds).flat_map(arms).collect()
    });
    let models = match experiment {
        None => plan.job.models.keys().map(|name| AuditUnit::of_model(name.as_str())).collect(),
        Some(_) => folds.clone(),
    };
    let fitted = |unit: AuditUnit| {
        let (name, model) = plan.model_of(&unit).ok()?;
        model.threshold.is_fitted().then_some(((name, &model.threshold), unit))
    };
    let thresholds = b.want_each::<ThresholdStage, _>(models.into_iter().filter_map(fitted))?;
    b.value("thresholds", thresholds.iter().map(|(block, _)| block).collect::<Vec<_>>());
    let added = b.need_each::<TrainStage, _>(folds.into_iter().map(|unit| ((), unit)))?;
    let set = experiment.map(|plan| plan.block.from.as_str());
    Ok(Box::new(move |ctx| {
        let folders: Vec<&Path> = thresholds.iter().map(|(_, stage)| stage.folder(ctx)).collect();
        gather_rows::<ThresholdRow>(ctx.out(), &folders)?;
        let Some(set) = set else { return Ok(()) };
        let rows = added.iter().map(|(_, stage)| read_rows::<ArmRow>(stage.folder(ctx)));
        let mut rows = rows.collect::<Result<Vec<_>>>()?.concat();
        rows.iter_mut().for_each(|row| row.counterfactual = set.into());
        write_rows(ctx.out(), &rows)
    }))
}

impl Stage for MeasureStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let named = !unit.experiment.is_empty();
        let experiment = named.then(|| plan.experiment_of(unit)).transpose()?;
        let rows = RowInputs::of_audit(b, unit)?;
        let (mut graphs, mut quality, mut generated) = (None, Vec::new(), Vec::new());
        let audits = match &experiment {
            Some(experiment) => AuditInputs::of_experiment(experiment, b)?,
            None => {
                graphs = b.want_part(graph_sets)?;
                let sets = plan.applied_sets();
                let of_set = |set: &AppliedSet<'a>| (set.clone(), set.unit());
                let moved = sets.iter().filter(|set| set.block.knobs().is_some());
                let moved = moved.filter(|_| plan.wants_quality()).map(of_set);
                quality = b.want_each::<QualityStage, _>(moved)?;
                generated = b.want_each::<GenerateStage, _>(sets.iter().map(of_set))?;
                AuditInputs::of_job(b)?
            }
        };
        let amounts = if named { Vec::new() } else { AmountInputs::of_job(b)? };
        let models = model_tables(b, experiment.as_ref())?;
        let pairs = b.value("compared", compared_pairs(plan, experiment.as_ref()));
        let pairs = need_pairs(&audits, &pairs, b)?;
        b.input("metrics", |job| &job.metrics);
        let maps = b.input("maps", |job| job.report.map.is_some());
        b.input("data.label", |job| job.data.label.without_words());
        b.input("data.favourable", |job| &job.data.favourable);
        b.seed();
        b.input("models that give points", |job| {
            let models = job.models.iter().filter(|(_, model)| model.gives_points());
            models.map(|(name, _)| name).collect::<Vec<_>>()
        });
        b.input("fit of knowledge", |job| {
            let sets = job.counterfactuals.iter();
            let compared =
                sets.filter_map(|(name, set)| Some((name, set.graphs()?.fit_reference()?)));
            compared.collect::<Vec<_>>()
        });
        b.input("placebo", |job| {
            let sets = job.counterfactuals.iter();
            sets.filter_map(|(name, set)| Some((name, set.placebo?))).collect::<Vec<_>>()
        });
        rows.work(0, move |ctx, row_context| {
            if plan.wants_quality() && !named {
                measure::gather_quality(ctx, &quality, maps)?;
            }
            let graphs = graphs.as_ref().map(|graphs| graphs(ctx)).transpose()?;
            let graphs = graphs.unwrap_or_default();
            models(ctx)?;
            if !amounts.is_empty() {
                amounts::check_memory(plan.settings, row_context)?;
            }
            let audits = (audits.as_slice(), amounts.as_slice());
            let sets = (graphs.as_slice(), generated.as_slice());
            measure::measure(plan.checked, row_context, audits, sets, &pairs)
        })
    }
}
