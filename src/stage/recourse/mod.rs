//! The stage `recourse`: for each block of the job, the audited people, a model that is asked about
//! them with changed features, and the tables of the results.
//!
//! [`people`] holds the audited rows in memory, as the engine sees columns and as models read them;
//! [`ask`] puts questions to a model; [`tables`] writes the tables. Each pair of groups is
//! searched on its own. Memory: the audited rows once, and what the search of one pair finds, which
//! the job bounds by `at_most`. Weights of rows do not take part in it: people are counted.

pub(crate) mod ask;
pub(crate) mod inputs;
pub(crate) mod people;
pub(crate) mod tables;
pub(crate) mod unshared_numbers;

use std::path::Path;

use crate::error::Result;
use crate::exec::internal_error;
use crate::num::decimal::Decimal;
use crate::param::ColumnName;
use crate::recourse::DecimalShare;
use crate::recourse::actions::RecoursePlan;
use crate::recourse::budget::budgets;
use crate::recourse::chance::p_values;
use crate::recourse::definition::RecourseCriterion;
use crate::recourse::effect::ActionEffects;
use crate::recourse::groups::{GroupPair, pairs};
use crate::recourse::rank::DefinitionRanking;
use crate::stage::decided_scores::DecidedScores;
use crate::stage::kinds::RecourseStage;
use crate::stage::models::AskedModels;
use crate::stage::plan::StagePlan;
use crate::stage::recourse::inputs::RecourseInputs;
use crate::stage::recourse::people::RecoursePeople;
use crate::stage::recourse::tables::{ComparisonResult, RecourseWriter};
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, StageFolders};
use crate::unit::AuditUnit;

/// Subgroups whose p-values are drawn between two looks at whether the run is to stop.
const SUBGROUPS_PER_CHECK: usize = 256;

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
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan: &'a StagePlan<'a> = b.plan;
        let (position, attribute) = plan.attribute_of(unit)?;
        let path = format!("recourse.{attribute}");
        let Some(block) = plan.job.recourse.get(attribute) else {
            return Err(internal_error(format!("the job has no block `{path}`")));
        };
        let (name, model) = plan.model_of(&AuditUnit::of_model(block.model.as_str()))?;
        let of_model = AuditUnit::of_model(name);
        let (rows, scored) = (RowInputs::of_job(b)?, DecidedScores::need(b, &of_model, false)?);
        b.value(&path, block);
        b.input("data.bins", |job| &job.data.bins);
        b.input("data.features.onehot", |job| &job.data.features.onehot);
        b.input("data.missing", |job| &job.data.missing);
        b.input("favourable", |job| job.data.favourable_side());
        if block.chance.is_some() || plan.job.data.person.is_some() {
            b.seed();
        }
        let asked = AskedModels::need(b, &of_model)?;
        rows.work(0, move |ctx, row_context| {
            let (rule, scores) = scored.open(row_context)?;
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
                models: &asked.open(row_context)?,
                linear: model.trained_here().is_some_and(|(_, knobs)| !knobs.grows_trees()),
                seed,
            };
            run(row_context, &of, ctx.out())
        })
    }
}

/// Compares every pair of groups and writes the tables.
///
/// # Errors
/// The search finds more than it may; the model fails; the disk refuses; the
/// run is to stop.
fn run(row_context: RowContext<'_>, block: &RecourseInputs<'_>, out: &Path) -> Result<()> {
    let mut writer = RecourseWriter::create(out, block)?;
    let reference = u16::try_from(block.attribute.reference).unwrap_or(u16::MAX);
    let mut all = pairs(&block.attribute.groups, reference, block.recourse.against);
    // Rows of the tables are sorted by key.
    all.sort_by(|a, b| a.names.cmp(&b.names));
    for pair in &all {
        row_context.ctx.check()?;
        compare(row_context, block, pair, &mut writer)?;
    }
    writer.finish()
}

fn compare(
    row_context: RowContext<'_>,
    block: &RecourseInputs<'_>,
    pair: &GroupPair,
    writer: &mut RecourseWriter<'_>,
) -> Result<()> {
    let recourse = block.recourse;
    let search = recourse.search().expect("the check refuses supports that are no shares");
    let plan =
        row_context.workers.within(|| RecoursePlan::new(&block.people.audited, pair, &search))?;
    let ctx = row_context.ctx;
    ctx.check()?;
    if plan.population().n.contains(&0) {
        // The rest of the job continues.
        writer.empty_pair(plan.population());
        return Ok(());
    }
    let needed = plan.needed();
    let chance = recourse.chance;
    let n_scored = (0..plan.n_subgroups()).filter(|&s| !plan.actions(s).is_empty()).count();
    let later = chance.map_or(0, |_| n_scored as u64);
    let helped = block.helped(row_context, &plan, &needed, later)?;
    let effects = row_context.workers.within(|| ActionEffects::new(&plan, &helped));
    ctx.check()?;

    let half = DecimalShare::new(Decimal::from_f64(0.5).expect("0.5 is a decimal"))
        .expect("a half is a share");
    let definitions =
        recourse.definitions(|percentiles| budgets(&plan, &effects, percentiles, half));
    let views = || recourse.views.iter().copied();
    let questions: Vec<RecourseCriterion> = definitions
        .iter()
        .flat_map(|&d| views().filter_map(move |view| RecourseCriterion::new(d, view)))
        .collect();
    let mut judged = Vec::with_capacity(questions.len());
    for &question in &questions {
        ctx.check()?;
        judged.push(
            row_context
                .workers
                .within(|| DefinitionRanking::new(&plan, &effects, question, recourse.rank_by)),
        );
    }
    let mut p = chance.map(|_| Vec::with_capacity(n_scored));
    if let (Some(deals), Some(p)) = (chance, &mut p) {
        for start in (0..plan.n_subgroups()).step_by(SUBGROUPS_PER_CHECK) {
            ctx.check()?;
            let range = start..plan.n_subgroups().min(start + SUBGROUPS_PER_CHECK);
            let part = row_context.workers.within(|| {
                p_values(&plan, &effects, &helped, &questions, deals, block.seed, range)
            });
            ctx.progress(part.len() as u64);
            p.extend(part);
        }
    }
    writer.write(
        &ComparisonResult {
            plan: &plan,
            effects: &effects,
            judged: &judged,
            asked: needed.n_pairs(),
            p: p.as_deref(),
        },
        ctx,
    )
}
