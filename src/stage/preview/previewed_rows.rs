//! The stage `labels`, for the verbs `check` and `data`: labels and decisions of the audited rows,
//! and what is suspicious about their features.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::Layout;
use crate::data::rows::Projection;
use crate::data::rows::profile::{LabelCounts, LabelsByRole, PreparedProfile};
use crate::error::Result;
use crate::exec::files;
use crate::job::{ModelBlock, ThresholdRule};
use crate::num::score_scale::ScoreScale;
use crate::stage::count::evidence::{CountSettings, RowCounting};
use crate::stage::decided_scores::rule_of;
use crate::stage::generate::support::UnsupportedValue;
use crate::stage::job_warnings::IssueNote;
use crate::stage::kinds::{LabelStage, SupportStage};
use crate::stage::measure::labels::CountedRows;
use crate::stage::plan::StagePlan;
use crate::stage::preview::traps;
use crate::stage::row_context::{DecisionRule, RowContext, RowThreshold};
use crate::stage::row_inputs::RowInputs;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, work};
use crate::unit::{AuditUnit, UnitKind};

/// File of the stage `labels`.
const COUNTED: &str = "labels.json";

/// What the stage counted.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PreviewedRows {
    /// People audited.
    pub(crate) audited: u64,
    /// Training rows; with folds: in some fold.
    pub(crate) trained: u64,
    /// The audited rows.
    pub(crate) counted: CountedRows,
    /// All kept rows.
    pub(crate) profile: PreparedProfile,
    /// What is suspicious about the features.
    pub(crate) traps: Vec<IssueNote>,
    /// Features with one value among the training rows.
    pub(crate) constant: Vec<String>,
    /// Which values of the audited people, as they are, are unsupported in other groups, by
    /// attribute.
    pub(crate) unsupported: BTreeMap<String, Vec<UnsupportedValue>>,
}

impl LabelsByRole {
    /// Whether both values of the label occur among the training rows and the audited ones.
    pub(crate) fn has_both(&self) -> bool {
        let occurs = |n: fn(&LabelCounts) -> u64| n(&self.trained) + n(&self.audited) > 0;
        occurs(|labels| labels.positive) && occurs(|labels| labels.negative)
    }

    /// The values of the label `column` that the sides lack, a sentence each, with the number of
    /// rows.
    pub(crate) fn lacking(&self, column: &str) -> Vec<(u64, String)> {
        let rows = |labels: &LabelCounts| labels.positive + labels.negative + labels.missing;
        let lacks = |(side, then, labels): (&str, &str, &LabelCounts)| {
            let what = match (labels.positive, labels.negative) {
                _ if rows(labels) == 0 => return None,
                (0, 0) => "has a label",
                (0, _) => "has a positive label",
                (_, 0) => "has a negative label",
                _ => return None,
            };
            let n = rows(labels);
            Some((n, format!("none of the {n} {side} rows {what} in `{column}`: {then}")))
        };
        let of_audit = "rates over such labels are undefined";
        let of_training = "no model can be trained on them";
        [("training", of_training, &self.trained), ("audited", of_audit, &self.audited)]
            .into_iter()
            .filter_map(lacks)
            .collect()
    }
}

impl PreviewedRows {
    /// Reads it from the folder of the stage.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        files::read_json(&folder.join(COUNTED), UnitKind::Labels.word())
    }
}

impl Stage for LabelStage {
    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let (plan, rows) = (b.plan, RowInputs::of_job(b)?);
        let of_sets = plan.applied_sets();
        let tested: BTreeSet<usize> = of_sets.iter().map(|set| set.position).collect();
        let support = !tested.is_empty() && plan.features;
        let support = support.then(|| b.need::<SupportStage>(&AuditUnit::default())).transpose()?;
        b.value("tested", &tested);
        b.value("features", plan.features);
        b.input("decisions", |job| {
            let decides = |(name, model): (_, &'a ModelBlock)| {
                let factual = model.given_scores().map(|scores| scores.factual.clone());
                let scale = plan.score_scale(model);
                (name, factual, &model.threshold, model.threshold_rule, scale)
            };
            job.models.iter().map(decides).collect::<Vec<_>>()
        });
        work(move |ctx| {
            let previewed = rows.with(ctx, 1, |row_context| {
                let (audited, trained) =
                    (row_context.roles.n_audited(), row_context.roles.n_trained());
                let counted = count(plan, row_context)?;
                let (traps, constant) = traps::find(plan, row_context)?;
                let profile = profile(row_context)?;
                let mut unsupported = BTreeMap::new();
                for (support, &position) in
                    support.iter().flat_map(|of| tested.iter().map(move |at| (of, at)))
                {
                    let layout = row_context.rows.layout();
                    let tests = support.tests(ctx, plan, (layout, position))?;
                    let found = tests.map(|tests| tests.standing(row_context));
                    let name = layout.attributes[position].name.clone();
                    unsupported.insert(name, found.transpose()?.unwrap_or_default());
                }
                Ok(PreviewedRows {
                    audited,
                    trained,
                    counted,
                    profile,
                    traps,
                    constant,
                    unsupported,
                })
            })?;
            files::write_compact(&ctx.out().join(COUNTED), &previewed)
        })
    }
}

/// Counts of all kept rows.
fn profile(row_context: RowContext<'_>) -> Result<PreparedProfile> {
    let (layout, by_folds) = (row_context.rows.layout(), row_context.roles.n_folds() > 1);
    let add = |profile: &mut PreparedProfile, g: usize| {
        let (batch, roles) = row_context.read(g, Projection::ALL)?;
        profile.add(layout, &batch, &roles, by_folds);
        Ok(0)
    };
    row_context.row_groups().gather(|| PreparedProfile::empty(layout), add)
}

fn count(plan: &StagePlan<'_>, row_context: RowContext<'_>) -> Result<CountedRows> {
    let layout = row_context.rows.layout();
    if layout.label.is_none() {
        return Ok(Vec::new());
    }
    let models = plan.job.models.iter();
    let mut models: Vec<(String, (DecisionRule, usize))> = models
        .filter_map(|(name, model)| {
            Some((name.to_string(), rule_of_rows(model, plan.score_scale(model), layout)?))
        })
        .collect();
    if models.is_empty() {
        // No score column: there are no decisions, but groups are counted.
        let threshold = RowThreshold::Fixed(0.0);
        let cut = DecisionRule::new(ThresholdRule::Ge, threshold, ScoreScale::default());
        models.push((String::new(), (cut, usize::MAX)));
    }
    let blocks = CountSettings { scores: false, together: false, curves: false, cutoffs: false };
    let row_groups = row_context.row_groups();
    let mut all = CountedRows::new();
    for (model, (cut, score)) in &models {
        let mut by_attribute = Vec::new();
        for position in 0..layout.attributes.len() {
            let counting = RowCounting::new(layout, cut, position, blocks)?;
            by_attribute.push(row_groups.gather(
                || counting.empty(),
                |part, g| {
                    let (batch, roles) = row_context.read(g, Projection::NO_FEATURES)?;
                    for (i, group, fold) in roles.people(&batch.groups[position]) {
                        let score = batch.carried.get(*score).map_or(f64::NAN, |scores| scores[i]);
                        counting.add(part, (&batch, i), fold, score, group);
                    }
                    Ok(0)
                },
            )?);
        }
        all.push((model.clone(), by_attribute));
    }
    Ok(all)
}

/// How a model decides by a score that is in the rows: the rule, and the carried column of the
/// score; none where the score is computed elsewhere or the threshold is fitted.
fn rule_of_rows(
    model: &ModelBlock,
    scale: ScoreScale,
    layout: &Layout,
) -> Option<(DecisionRule, usize)> {
    let scores = model.given_scores()?;
    let factual = &scores.factual;
    let score = factual.column.as_ref().filter(|_| factual.parquet.is_none())?.as_str();
    if model.amount().is_some() || model.threshold.is_fitted() {
        return None;
    }
    let carried = layout.carried.iter().position(|carried| carried == score)?;
    let scores = layout.precision_of_carried(score);
    Some((rule_of((model, scale, layout), (None, Vec::new()), scores), carried))
}
