//! The stage `recourse`: for each block of the job, the audited people, their scores and the model
//! go to the engine.

use crate::error::Result;
use crate::exec::misfit;
use crate::param::ColumnName;
use crate::stage::kinds::{RecourseStage, ScoreStage};
use crate::stage::models::AskedModels;
use crate::stage::plan::StagePlan;
use crate::stage::recourse;
use crate::stage::recourse::inputs::RecourseInputs;
use crate::stage::recourse::people::RecoursePeople;
use crate::stage::recourse::unshared_numbers;
use crate::stage::row_inputs::RowInputs;
use crate::stage::rule_inputs::RuleInputs;
use crate::stage::stage_builder::{PlannedWork, Stage, StageBuilder, StageFolders};
use crate::unit::AuditUnit;

/// The stages of all blocks by attribute, in the order of the tables.
pub(crate) fn recourse_folders(b: &mut StageBuilder<'_, '_>) -> Result<StageFolders> {
    let mut attributes: Vec<&ColumnName> = b.plan.job.recourse.keys().collect();
    attributes.sort();
    b.want_folders::<RecourseStage>(attributes.into_iter().map(|attribute| {
        let attribute = attribute.to_string();
        (attribute.clone(), AuditUnit { attribute, ..AuditUnit::default() })
    }))
}

impl Stage for RecourseStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let plan: &'a StagePlan<'a> = b.plan;
        let (position, attribute) = plan.attribute_of(unit)?;
        let path = format!("recourse.{attribute}");
        let Some(block) = plan.job.recourse.get(attribute) else {
            return Err(misfit(format!("the job has no block `{path}`")));
        };
        let (name, model) = plan.model_of(&AuditUnit::of_model(block.model.as_str()))?;
        let (rows, scores) =
            (RowInputs::of_job(b)?, b.need::<ScoreStage>(&AuditUnit::of_model(name))?);
        let rule = RuleInputs::need(b, name, model)?;
        b.value(&path, block);
        b.input("data.bins", |job| &job.data.bins);
        b.input("data.features.onehot", |job| &job.data.features.onehot);
        b.input("data.missing", |job| &job.data.missing);
        b.input("favourable", |job| job.data.favourable_side());
        if block.chance.is_some() || plan.job.data.person.is_some() {
            b.seed();
        }
        let asked = AskedModels::need(b, &AuditUnit::of_model(name))?;
        rows.work(0, move |ctx, row_context| {
            let scores = scores.open(ctx, row_context)?;
            let rule = rule.open(ctx, row_context, &scores)?;
            let scored = (&scores, rule);
            let people = RecoursePeople::read(row_context, plan.job, position, block, scored)?;
            let layout = row_context.rows.layout();
            let of = (position, attribute.as_str());
            unshared_numbers::refuse(plan.checked, layout, of, people.feature_columns())?;
            let seed = plan.job.run.seed.0;
            let of = RecourseInputs {
                attribute: &layout.attributes[position],
                recourse: block,
                people: &people,
                models: &asked.open(ctx, layout)?,
                linear: model.trained_here().is_some_and(|(_, knobs)| knobs.is_linear()),
                seed,
            };
            recourse::run(ctx, row_context, &of, ctx.out())
        })
    }
}
