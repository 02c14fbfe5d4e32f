//! What is not offered where the label has several classes, and where outcomes are amounts: one
//! table.

use crate::counterfactual::forms::ConditionOn;
use crate::job::messages::{self as m, Said};
use crate::job::read::tree::join;

use super::{JobChecker, path};

impl JobChecker<'_> {
    /// Complains about everything that is there and not offered: where it stands, what is said
    /// where the label has several classes, and by which name where outcomes are amounts.
    pub(super) fn unsupported(&mut self) {
        let job = self.job;
        let has_classes = job.data.label.classes().is_some();
        let has_amounts = job.audits_amounts();
        let mut refused: Vec<(String, Said)> = Vec::new();
        let mut refuse = |is_there: bool, at: &str, classes: Option<Said>, amounts: &str| {
            let classes = classes.filter(|_| has_classes);
            let is_named = has_amounts && !amounts.is_empty();
            let amounts = is_named.then(|| m::decided_of_amounts(amounts));
            let said = classes.into_iter().chain(amounts).filter(|_| is_there);
            refused.extend(said.map(|said| (at.to_owned(), said)));
        };
        let (metrics, slices, compare) = (&job.metrics, "metrics.by", "metrics.compare");
        let flip_test = metrics.clarify.as_ref().is_some_and(|of| of.flip_test.is_some());
        let outcomes = job.run.keeps_outcomes() == Some(true);
        let said = m::experiments_of_classes();
        refuse(!job.experiments.is_empty(), "experiments", Some(said), "experiments");
        refuse(!metrics.by.is_empty(), slices, Some(m::slices_of_classes()), slices);
        refuse(!metrics.compare.is_empty(), compare, Some(m::compare_of_classes()), compare);
        refuse(flip_test, "metrics.clarify.flip_test", Some(m::flip_test_of_classes()), "");
        refuse(outcomes, "run.keep_rows", Some(m::outcomes_of_classes()), "");
        refuse(!job.recourse.is_empty(), "recourse", None, "recourse");
        refuse(!job.why.is_empty(), "why", None, "why");
        for (name, set) in &job.counterfactuals {
            let at = path(&["counterfactuals", name.as_str()]);
            let key = join(&at, set.keys().first().copied().unwrap_or_default());
            let (placebo, doubt) = (set.placebo.is_some(), set.doubt.is_some());
            let said = m::measured_of_sides("a placebo");
            refuse(placebo, &join(&at, "placebo"), Some(said), "placebo");
            let said = m::measured_of_sides("the doubt about a fit");
            refuse(doubt, &join(&at, "doubt"), Some(said), "doubt");
            refuse(set.graphs().is_some(), &key, Some(m::graphs_of_classes()), "");
            let condition = set.knobs().map(|knobs| knobs.condition_on);
            if let Some(ConditionOn::Prediction(model)) = condition {
                let said = m::prediction_of_classes(model);
                refuse(true, &join(&key, "condition_on"), Some(said), "");
                refuse(true, &at, None, "condition_on: prediction");
            }
        }
        for (name, _) in job.counterfactuals.iter().filter(|(_, set)| set.graphs().is_some()) {
            let at = path(&["counterfactuals", name.as_str()]);
            refused.extend(has_amounts.then(|| (at, m::graphs_of_amounts())));
        }
        refused.into_iter().for_each(|(at, said)| self.say(at, said));
    }
}
