//! Checks what a label of several classes asks of the rest of the job: a column of scores per
//! class, and nothing that reads two sides only.

use crate::job::blocks::clarify::ClarifyBlock;
use crate::job::messages as m;
use crate::job::read::nearest::{list, suggest};
use crate::job::read::tree::join;
use crate::job::{GateBetween, GateBlock, LabelColumn, MetricFamily, ModelBlock};
use crate::metric::Metric;
use crate::metric::catalog::ccm::HARM;
use crate::metric::value::classes::measure::is_of_all_classes;
use crate::model::kind::ModelKind;
use crate::param::{ColumnName, Name, Word};

use super::JobChecker;
use super::models::score_keys_of;
use super::names::REST;

/// The most classes: evidence has a cell for each class of label, prediction and counterfactual
/// prediction.
const MOST_CLASSES: usize = 64;

impl JobChecker<'_> {
    /// The list of classes next to the positive values.
    pub(super) fn label_classes(&mut self, label: &LabelColumn) {
        let Some(classes) = &label.classes else { return };
        let at = "data.label.classes";
        if self.has_problem(&[at]) {
            return;
        }
        if let Some(i) = classes.iter().position(|class| class.as_str().is_empty()) {
            self.say(format!("{at}[{i}]"), m::class_empty());
            return;
        }
        if classes.len() < 2 {
            self.say(at, m::class_only(&classes[0]));
        }
        if classes.len() > MOST_CLASSES {
            self.say(at, m::classes_many(classes.len(), MOST_CLASSES));
        }
        if label.negative.is_some() {
            self.say("data.label.negative", m::classes_and_negative());
        }
        for (i, value) in label.positive.iter().enumerate() {
            self.class(format!("data.label.positive[{i}]"), value, classes);
        }
        if classes.len() > 1 && classes.iter().all(|class| label.positive.contains(class)) {
            self.say("data.label.positive", m::classes_all_positive());
        }
    }

    /// Complains about a class that the label does not have.
    fn class(&mut self, at: String, class: &Word, classes: &[Word]) {
        if !classes.contains(class) {
            let near = suggest(class, "classes of the label", classes);
            self.say(at, m::class_unknown(class, near));
        }
    }

    /// Checks what the block of the family clarify says about classes.
    pub(super) fn clarify_of_classes(&mut self, clarify: &ClarifyBlock) {
        let at = "metrics.clarify.positive";
        match (self.job.data.label.classes(), &clarify.positive) {
            (Some(classes), Some(class)) => {
                self.class(at.to_owned(), class, classes);
            }
            (None, Some(_)) => {
                self.say(at, m::decision_class_alone());
            }
            (_, None) => {}
        }
    }

    /// A model in a job whose label has several classes, or one that is given scores of classes
    /// where it has none.
    pub(super) fn model_of_classes(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        let classes = self.job.data.label.classes().map(<[Word]>::to_vec);
        if let Some(scores) = &model.scores {
            let mut files = vec![("factual", &scores.factual.column, &scores.factual.columns)];
            files.extend(
                scores
                    .counterfactual
                    .iter()
                    .map(|file| ("counterfactual", &file.column, &file.columns)),
            );
            for (key, column, columns) in files {
                let here = format!("{at}.scores.{key}");
                match (&classes, column, columns) {
                    (None, _, Some(_)) => {
                        self.say(join(&here, "columns"), m::score_columns_alone());
                    }
                    (None, None, None) => {
                        self.say(&here, m::score_column_missing(&here));
                    }
                    (None, Some(_), None) => {}
                    (Some(classes), Some(_), _) => {
                        self.say(
                            join(&here, "column"),
                            m::score_column_of_classes(columns_form(classes)),
                        );
                    }
                    (Some(classes), None, None) => {
                        self.say(&here, m::score_columns_missing(&here, columns_form(classes)));
                    }
                    (Some(classes), None, Some(columns)) => {
                        self.columns_of_classes(&join(&here, "columns"), classes, columns)
                    }
                }
            }
        }
        let Some(classes) = classes else { return };
        for kind in model.kinds().into_iter().filter(|kind| !matches!(kind, ModelKind::Scores(_))) {
            self.say(
                join(at, kind.key()),
                m::model_of_one_score(name, classes.len(), columns_form(&classes)),
            );
        }
        for key in score_keys_of(model) {
            self.say(join(at, key), m::scale_of_classes(key));
        }
    }

    fn columns_of_classes(
        &mut self,
        at: &str,
        classes: &[Word],
        columns: &indexmap::IndexMap<Word, ColumnName>,
    ) {
        if self.has_problem(&["data.label"]) {
            return;
        }
        for class in columns.keys() {
            self.class(join(at, class.as_str()), class, classes);
        }
        let without: Vec<_> = classes.iter().filter(|name| !columns.contains_key(*name)).collect();
        if !without.is_empty() {
            let (noun, has) =
                if without.len() == 1 { ("class", "has") } else { ("classes", "have") };
            self.say(at, m::class_without_column(noun, list(&without), has));
        }
        for (i, (class, column)) in columns.iter().enumerate() {
            if let Some((other, _)) = columns.iter().take(i).find(|(_, earlier)| *earlier == column)
            {
                self.say(join(at, class.as_str()), m::class_column_twice(other, class, column));
            }
        }
    }

    /// The class that a gate asks about.
    pub(super) fn gate_class(&mut self, at: &str, gate: &GateBlock, metric: &Metric) {
        let Some(classes) = self.job.data.label.classes() else {
            if gate.class.is_some() {
                self.say(join(at, "class"), m::gate_class_alone());
            }
            return;
        };
        if let Some(class) = &gate.class {
            self.class(join(at, "class"), class, classes);
            let other = self.job.clarify_class().filter(|only| *only != class);
            if metric.family == MetricFamily::Clarify
                && let Some(only) = other
                && classes.contains(class)
            {
                self.say(join(at, "class"), m::gate_class_of_other(metric.id, only));
            }
            if HARM.contains(&metric.id) && classes.contains(class) {
                self.class_of_harm(at, gate, metric, class);
            }
            return;
        }
        let rest = |words: &[Word; 2]| words.iter().any(|word| word.as_str() == REST);
        let one_pair = match &gate.between {
            Some(GateBetween::WorstCase) => false,
            Some(GateBetween::Pair(map)) => !map.values().any(rest),
            None => true,
        };
        if !is_of_all_classes(metric.id) {
            self.say(at, m::gate_class_missing(metric.id, at, list(classes)));
        } else if !one_pair {
            self.say(join(at, "between"), m::gate_class_total(metric.id, list(classes)));
        }
    }

    /// Complains about a gate on harm of a class that shares its side of the label with others:
    /// the classes against it are better and worse ones.
    fn class_of_harm(&mut self, at: &str, gate: &GateBlock, metric: &Metric, class: &Word) {
        let Some(label) = self.job.data.label.column().filter(|label| !label.is_side(class)) else {
            return;
        };
        let asked = if gate.harm_to.is_some() { "harm_to" } else { metric.id };
        let sides = label.classes.iter().flatten().filter(|class| label.is_side(class));
        let sides: Vec<&Word> = sides.collect();
        let said = if sides.is_empty() {
            m::gate_class_of_harm(asked, class)
        } else {
            m::gate_class_of_harm_or(asked, class, list(&sides))
        };
        self.say(join(at, "class"), said);
    }
}

/// The key as a job writes it.
fn columns_form(classes: &[Word]) -> String {
    let each: Vec<String> = classes.iter().take(3).map(|class| format!("{class}: ...")).collect();
    format!("`columns: {{{}{}}}`", each.join(", "), if classes.len() > 3 { ", ..." } else { "" })
}
