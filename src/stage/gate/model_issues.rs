//! The issues about models that gates depend on: a model that answers differently when it is asked
//! twice, scores or decisions that contradict the labels, and one decision for everybody. The stage
//! `gate` finds them, and the folder of the run holds them, so that judging the folder again uses
//! the same ones.

use crate::error::Result;
use crate::gate::reason::GateReason;
use crate::job::Job;
use crate::metric::value::sanity::ModelSanity;
use crate::stage::artifact::SANITY;
use crate::stage::kinds::CountStage;
use crate::stage::score::recheck::{not_repeatable, rechecks};
use crate::stage::stage_builder::{Opens, StageBuilder};
use crate::table::{IssueRow, whole};
use crate::unit::AuditUnit;

/// Code of the issue about a model that decides alike about everybody.
const ONE_DECISION: &str = "one-decision";

/// What was found of each model of the job, as issues; what waits for scores is left out. People
/// are counted by the first attribute.
pub(crate) fn model_issues<'a>(b: &mut StageBuilder<'_, 'a>) -> Result<Opens<'a, Vec<IssueRow>>> {
    let job = b.plan.job;
    let rechecked = b.want_part(rechecks)?;
    let attribute = job.data.sensitive.keys().next().map(ToString::to_string).unwrap_or_default();
    let decides = job.models.iter().filter(|(_, model)| model.amount().is_none());
    let units = decides.map(|(name, _)| {
        let attribute = attribute.clone();
        (name.as_str(), AuditUnit { attribute, ..AuditUnit::of_model(name.as_str()) })
    });
    let counted = b.want_each::<CountStage, _>(units)?;
    b.input("data.label.classes", |job| job.data.label.classes());
    Ok(Box::new(move |ctx| {
        let rechecked = rechecked.as_ref().map(|of| of(ctx)).transpose()?.unwrap_or_default();
        let differ = rechecked.iter().filter_map(|(model, found)| not_repeatable(model, found));
        let mut issues: Vec<IssueRow> = differ.collect();
        for (model, stage) in &counted {
            issues.extend(of_sanity(job, model, &stage.read::<ModelSanity>(ctx, SANITY)?));
        }
        Ok(issues)
    }))
}

/// What looking at the scores and decisions of a model gave, as issues.
pub(crate) fn of_sanity(job: &Job, model: &str, found: &ModelSanity) -> Vec<IssueRow> {
    let (people, each) = match job.data.person {
        Some(_) => ("rows", "row"),
        None => ("people", "person"),
    };
    let classes: Vec<String> =
        job.data.label.classes().into_iter().flatten().map(ToString::to_string).collect();
    let mut issues = Vec::new();
    if !found.inverted.is_empty() {
        let inverted: Vec<_> = found.inverted.iter().map(|of| of.named(&classes)).collect();
        let (n, of_rows) = (inverted.len() as u64, job.data.person.is_some());
        let objection = GateReason::InvertedScores { model: model.to_owned(), of_rows, inverted };
        issues.push(objection.issue_about(model, n));
    }
    if let Some((decision, n)) = found.one_decision() {
        let which = match (classes.get(decision), decision) {
            (Some(class), _) => format!("`{class}`"),
            (None, 0) => "negative".to_owned(),
            (None, _) => "positive".to_owned(),
        };
        let text = format!(
            "the prediction of `{model}` is {which} for every {each}, all {n} {people}: gaps and \
             switches of its decisions are 0 whatever it is"
        );
        issues.push(IssueRow::warning(ONE_DECISION, model, whole(n), text));
    }
    issues
}
