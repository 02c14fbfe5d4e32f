//! The table of what is not offered where the label has several classes, and where outcomes are
//! amounts.

use crate::counterfactual::short_forms::ConditionOn;
use crate::job::messages::{self as m, Said};
use crate::job::read::tree::join;

use super::{JobChecker, path};

impl JobChecker<'_> {
    /// Complains about everything that is there and not offered: its path, what is said where the
    /// label has several classes, and its name where outcomes are amounts.
    pub(super) fn unsupported(&mut self) {
        let job = self.job;
        let has_classes = job.data.label.classes().is_some();
        let has_amounts = job.audits_amounts();
        let mut refused: Vec<(String, Said)> = Vec::new();
        let decided = |what: &str| Some(m::decided_of_amounts(what));
        let mut refuse =
            |is_there: bool, at: &str, classes: Option<Said>, amounts: Option<Said>| {
                let said = [classes.filter(|_| has_classes), amounts.filter(|_| has_amounts)];
                let said = said.into_iter().flatten().filter(|_| is_there);
                refused.extend(said.map(|said| (at.to_owned(), said)));
            };
        let (metrics, slices, compare) = (&job.metrics, "metrics.by", "metrics.compare");
        let outcomes = job.run.keeps_outcomes() == Some(true);
        let said = m::experiments_of_classes();
        refuse(!job.experiments.is_empty(), "experiments", Some(said), decided("experiments"));
        refuse(!metrics.by.is_empty(), slices, None, decided(slices));
        refuse(!metrics.compare.is_empty(), compare, None, decided(compare));
        refuse(outcomes, "run.keep_rows", Some(m::outcomes_of_classes()), None);
        let said = m::measured_of_sides("recourse");
        refuse(!job.recourse.is_empty(), "recourse", Some(said), decided("recourse"));
        refuse(!job.why.is_empty(), "why", None, decided("why"));
        for (name, set) in &job.counterfactuals {
            let at = path(&["counterfactuals", name.as_str()]);
            let key = join(&at, set.keys().first().copied().unwrap_or_default());
            let (placebo, doubt) = (set.placebo.is_some(), set.doubt.is_some());
            let said = m::measured_of_sides("a placebo");
            refuse(placebo, &join(&at, "placebo"), Some(said), decided("placebo"));
            let said = m::measured_of_sides("the doubt about a fit");
            refuse(doubt, &join(&at, "doubt"), Some(said), decided("doubt"));
            let graphs = set.graphs().is_some();
            refuse(graphs, &key, Some(m::graphs_of_classes()), None);
            refuse(graphs, &at, None, Some(m::graphs_of_amounts()));
            let condition = set.knobs().map(|knobs| knobs.condition_on);
            let predicted = matches!(condition, Some(ConditionOn::Prediction(_)));
            refuse(predicted, &at, None, decided("condition_on: prediction"));
        }
        refused.into_iter().for_each(|(at, said)| self.say(at, said));
    }
}
