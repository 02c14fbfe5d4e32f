//! The stage `why`: for each block of the job the people who count, whether they switch, their
//! traits, the patterns that are found in them, and for a set that moves features what each feature
//! adds.
//!
//! [`people`] gathers who counts, [`traits`] their columns and the table of patterns. [`features`]
//! draws the people who are explained, [`mixtures`] makes their rows with some features changed,
//! and [`asking`] gets the scores of these from the model by the same calls as the stage `score`.
//! Memory: the features of the people who count, once, and both rows of those who are explained.

pub(crate) mod asking;
pub(crate) mod features;
pub(crate) mod mixtures;
pub(crate) mod people;
pub(crate) mod sources;
pub(crate) mod traits;

use crate::error::Result;
use crate::exec::internal_error;
use crate::stage::count::{RowScoreInputs, SetScoreInputs};
use crate::stage::kinds::WhyStage;
use crate::stage::plan::StagePlan;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, StageFolders};
use crate::stage::why::features::FeatureInputs;
use crate::stage::why::people::WhyGathering;
use crate::table::file::write_rows;
use crate::unit::AuditUnit;
use crate::why::patterns::{PatternSettings, find_patterns};

/// The stages of all blocks by name.
pub(crate) fn why_folders(b: &mut StageBuilder<'_, '_>) -> Result<StageFolders> {
    b.want_folders::<WhyStage>(b.plan.job.why.keys().map(|name| {
        (name.to_string(), AuditUnit { block: name.to_string(), ..AuditUnit::default() })
    }))
}

/// The scores that a block looks at.
enum WhyScores<'a> {
    /// For the rows as they are.
    Rows(RowScoreInputs<'a>),
    /// For these and for the counterfactuals of a set, and what explains their switches; none where
    /// the set or the model cannot be asked feature by feature.
    Set(SetScoreInputs<'a>, Option<Box<FeatureInputs<'a>>>),
}

impl Stage for WhyStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan: &'a StagePlan<'a> = b.plan;
        let path = format!("why.{}", unit.block);
        let found = plan.job.why.iter().find(|(name, _)| name.as_str() == unit.block);
        let Some(((name, block), subject)) =
            found.and_then(|found| Some((found, found.1.subject()?)))
        else {
            return Err(internal_error(format!("the job has no block `{path}`")));
        };
        let (attribute, groups) = subject;
        let (experiment, arm) = block.experiment_and_arm();
        let of = AuditUnit {
            experiment: experiment.to_owned(),
            arm: arm.to_owned(),
            attribute: attribute.to_string(),
            set: block.counterfactual.as_ref().map(ToString::to_string).unwrap_or_default(),
            ..AuditUnit::of_model(block.model.as_str())
        };
        let scores = match block.metric.is_of_errors() {
            true => WhyScores::Rows(RowScoreInputs::need(&of, false, b)?),
            false => {
                let scores = SetScoreInputs::need(&of, false, b)?;
                WhyScores::Set(scores, FeatureInputs::need((name, block), &of, b)?.map(Box::new))
            }
        };
        b.value(&path, block);
        b.input("data.bins", |job| &job.data.bins);
        b.input("data.features", |job| &job.data.features);
        b.input("favourable", |job| job.data.favourable_side());
        b.input("metrics.min_denominator", |job| job.metrics.min_denominator);
        b.input("metrics.interval.level", |job| job.metrics.interval.level);
        b.seed();
        let (rows, passes) = match &scores {
            WhyScores::Rows(of) => (&of.rows, 1),
            // Features take two more: who is explained, and the rows of those.
            WhyScores::Set(of, features) => (&of.rows, if features.is_some() { 3 } else { 1 }),
        };
        rows.clone().work(passes, move |ctx, row_context| {
            let gathering = WhyGathering { row_context, job: plan.job, block, groups };
            let (people, features) = match &scores {
                WhyScores::Rows(of) => {
                    let (rule, scores) = of.scored.open(row_context)?;
                    (gathering.of_rows(&rule, &scores, of.position)?, Vec::new())
                }
                WhyScores::Set(of, features) => {
                    let scored = &of.open(row_context)?;
                    let people = gathering.of_set(scored)?;
                    let explained = features.as_ref().map(|features| {
                        features.explain(row_context, scored, &people.places, groups)
                    });
                    (people, explained.transpose()?.unwrap_or_default())
                }
            };
            ctx.check()?;
            let settings = PatternSettings {
                support: block.share().ok_or_else(|| internal_error(format!("{path}.support")))?,
                longest: block.longest.size(),
                min_denominator: plan.job.metrics.min_denominator.get(),
                level: plan.job.metrics.interval.level.get(),
            };
            let found =
                row_context.workers.within(|| find_patterns(&people.patterns, &settings))?;
            write_rows(ctx.out(), &gathering.pattern_rows(name, &found))?;
            write_rows(ctx.out(), &features)
        })
    }
}
