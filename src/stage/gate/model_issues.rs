//! The issues about models that gates are judged by: a model that answers otherwise when it is
//! asked twice, scores or decisions that go against the labels, and one decision for everybody. The
//! stage `gate` finds them, and the folder of the run holds them, so that it is judged again by the
//! same.

use crate::error::Result;
use crate::job::Job;
use crate::metric::value::sanity::{InvertedOrder, ModelSanity};
use crate::stage::artifact::SANITY;
use crate::stage::kinds::CountStage;
use crate::stage::score::recheck::{not_repeatable, rechecks};
use crate::stage::stage_builder::{Opens, StageBuilder};
use crate::table::{IssueRow, ReasonCode, whole};
use crate::unit::AuditUnit;

/// Code of the issue about a model that decides alike about everybody.
const ONE_DECISION: &str = "one-decision";

/// What was found of each model of the job, as issues; what waits for scores is left out. People are
/// counted by the first attribute.
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
    let class = |at: usize| {
        let classes = job.data.label.classes().into_iter().flatten();
        classes.map(ToString::to_string).nth(at).unwrap_or_default()
    };
    let inverted: Vec<String> = found
        .inverted
        .iter()
        .map(|order| match order {
            InvertedOrder::Scores { class: at, auc, hi } => {
                let label = at.map_or_else(
                    || "a positive label".to_owned(),
                    |at| format!("the label `{}`", class(at)),
                );
                format!(
                    "scores of `{model}` are lower for {people} with {label} than for others: the \
                     AUC is {auc:.3} and at most {hi:.3} (95 % interval), where chance gives 0.5"
                )
            }
            InvertedOrder::Decisions([(k, n), (of_others, others)]) => format!(
                "positive decisions of `{model}` are rarer among {people} with a positive label \
                 ({k} of {n}) than among the others ({of_others} of {others})"
            ),
        })
        .collect();
    let mut issues = Vec::new();
    if !inverted.is_empty() {
        let text = format!(
            "{}; they may be those of another class, or the label's positive value another one",
            inverted.join("; ")
        );
        let code = ReasonCode::InvertedScores.word();
        issues.push(IssueRow::warning(code, model, whole(inverted.len() as u64), text));
    }
    if let Some((decision, n)) = found.one_decision() {
        let which = match (job.data.label.classes(), decision) {
            (Some(_), at) => format!("`{}`", class(at)),
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
