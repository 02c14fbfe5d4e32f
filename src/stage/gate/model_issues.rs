//! The issues about models that gates are judged by: a model that answers otherwise when it is
//! asked twice, scores or decisions that go against the labels, and one decision for everybody. The
//! stage `gate` finds them, and the folder of the run holds them, so that it is judged again by the
//! same.

use crate::error::Result;
use crate::exec::StageContext;
use crate::job::Job;
use crate::metric::value::sanity::{InvertedOrder, ModelSanity};
use crate::stage::artifact::SANITY;
use crate::stage::kinds::CountStage;
use crate::stage::score::recheck::RecheckInputs;
use crate::stage::stage_builder::{StageBuilder, StageInput};
use crate::table::{IssueRow, ReasonCode, whole};
use crate::unit::AuditUnit;

/// Code of the issue about a model that decides alike about everybody.
const ONE_DECISION: &str = "one-decision";

/// What was found of each model, to be opened; what waits for scores is left out.
pub(crate) struct ModelIssueInputs {
    rechecks: Option<RecheckInputs>,
    counted: Vec<(String, StageInput<CountStage>)>,
}

impl ModelIssueInputs {
    /// Of the models of the job: people are counted by its first attribute.
    pub(crate) fn need(b: &mut StageBuilder<'_, '_>) -> Result<Self> {
        let job = b.plan.job;
        let rechecks = b.want_part(RecheckInputs::need)?;
        let attribute = job.data.sensitive.keys().next().map(ToString::to_string);
        let attribute = attribute.unwrap_or_default();
        let mut counted = Vec::new();
        for (name, _) in job.models.iter().filter(|(_, model)| model.amount().is_none()) {
            let unit =
                AuditUnit { attribute: attribute.clone(), ..AuditUnit::of_model(name.as_str()) };
            let stage = b.want_part(|b| b.need::<CountStage>(&unit))?;
            counted.extend(stage.map(|stage| (name.to_string(), stage)));
        }
        b.input("data.label.classes", |job| job.data.label.classes());
        Ok(ModelIssueInputs { rechecks, counted })
    }

    /// The issues.
    pub(crate) fn open(&self, ctx: &StageContext<'_>, job: &Job) -> Result<Vec<IssueRow>> {
        let rechecked = self.rechecks.as_ref().map(|rechecks| rechecks.issues(ctx));
        let mut issues = rechecked.transpose()?.unwrap_or_default();
        for (model, stage) in &self.counted {
            issues.extend(of_sanity(job, model, &stage.read::<ModelSanity>(ctx, SANITY)?));
        }
        Ok(issues)
    }
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
