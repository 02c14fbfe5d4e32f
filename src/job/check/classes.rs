//! Checks what a label of several classes asks of the rest of the job: a column of scores per
//! class, and nothing that reads two sides only.

use crate::counterfactual::forms::ConditionOn;
use crate::job::blocks::clarify::ClarifyBlock;
use crate::job::read::nearest::{list, suggest};
use crate::job::read::tree::join;
use crate::job::{GateBetween, GateBlock, LabelColumn, MetricFamily, ModelBlock};
use crate::metric::catalog::ccm::HARM;
use crate::metric::value::classes::measure::is_of_all_classes;
use crate::model::kind::ModelKind;
use crate::param::{ColumnName, Name, Word};

use super::clarify::REST;
use super::known_names::KnownMetric;
use super::models::score_keys_of;
use super::{JobChecker, path};

/// The most classes: evidence has a cell for each class of label, prediction and counterfactual
/// prediction.
const MOST_CLASSES: usize = 64;

impl JobChecker<'_> {
    /// The list of classes next to the positive values.
    pub(super) fn label_classes(&mut self, label: &LabelColumn) {
        let Some(classes) = &label.classes else { return };
        let at = "data.label.classes";
        let names: Vec<&str> = classes.iter().map(Word::as_str).collect();
        if !self.check_distinct(at, "class", &names) {
            return;
        }
        if let Some(i) = names.iter().position(|name| name.is_empty()) {
            let hint = "give these rows a named value by `data.derive`";
            self.push_problem(
                "empty-value",
                format!("{at}[{i}]"),
                "a class has an empty name, which means all classes in tables",
                hint,
            );
            return;
        }
        if classes.len() < 2 {
            self.push_problem(
                "bad-value",
                at,
                format!("`{}` is the only class", classes[0]),
                "name all values of the label, at least two",
            );
        }
        if classes.len() > MOST_CLASSES {
            let what = format!("{} classes are too many", classes.len());
            self.push_problem(
                "bad-value",
                at,
                what,
                format!("at most {MOST_CLASSES}; merge values by `data.derive` with `map`"),
            );
        }
        if label.negative.is_some() {
            let what = "`negative` and `classes` both list the values of the label";
            self.push_problem(
                "one-of",
                "data.label.negative",
                what,
                "remove `negative`: the classes that are not positive are its values",
            );
        }
        for (i, value) in label.positive.iter().enumerate() {
            self.class(format!("data.label.positive[{i}]"), value, &names);
        }
        if classes.len() > 1 && classes.iter().all(|class| label.positive.contains(class)) {
            let hint = "leave at least one class out of `positive`: strategies and the report \
                        need both sides";
            self.push_problem("bad-value", "data.label.positive", "every class is positive", hint);
        }
    }

    /// Complains about a class that the label does not have.
    fn class(&mut self, at: String, class: &Word, names: &[&str]) {
        if !names.contains(&class.as_str()) {
            let hint = suggest(class.as_str(), "classes of the label", names.iter().copied());
            self.push_problem(
                "unknown-name",
                at,
                format!("the label has no class `{class}`"),
                hint,
            );
        }
    }

    /// What is not offered where the label has several classes.
    pub(super) fn beside_classes(&mut self) {
        if self.job.data.label.classes().is_none() || !self.is_sound(&["data.label"]) {
            return;
        }
        if !self.job.metrics.compare.is_empty() && self.is_sound(&["metrics.compare"]) {
            let what =
                "models are compared on a label of two sides, and `data.label` has `classes`";
            self.push_problem(
                "not-offered",
                "metrics.compare",
                what,
                "remove `compare`; the values of both models are in the tables",
            );
        }
        if !self.job.experiments.is_empty() && self.is_sound(&["experiments"]) {
            let what =
                "experiments train models on a label of two sides, and `data.label` has `classes`";
            self.push_problem("not-offered", "experiments", what, "remove them");
        }
        if !self.job.metrics.by.is_empty() && self.is_sound(&["metrics.by"]) {
            let what =
                "slices are measured for a label of two sides, and `data.label` has `classes`";
            self.push_problem(
                "not-offered",
                "metrics.by",
                what,
                "remove `by`, or keep the rows of one slice by `data.keep`",
            );
        }
        if self.job.run.keeps_outcomes() == Some(true) && self.is_sound(&["run"]) {
            let what = "outcomes are kept for a label of two sides, and `data.label` has `classes`";
            self.push_problem(
                "not-offered",
                "run.keep_rows",
                what,
                "remove it, or write `counterfactuals`: with classes no outcomes are kept",
            );
        }
        for (name, set) in &self.job.counterfactuals {
            let at = path(&["counterfactuals", name.as_str()]);
            if !self.is_sound(&[&at]) {
                continue;
            }
            if let Some(key) = set.graphs().and(set.keys().first().copied()) {
                let what = "the decisions of causal graphs have two sides, and `data.label` has \
                            `classes`";
                let hint = "audit each class against all others in a job of its own";
                self.push_problem("not-offered", join(&at, key), what, hint);
            }
            if set.placebo.is_some() {
                let what = "a placebo is measured for a label of two sides, and `data.label` has \
                            `classes`";
                self.push_problem("not-offered", join(&at, "placebo"), what, "remove it");
            }
            if set.doubt.is_some() {
                let what = "the doubt about a fit is measured for a label of two sides, and \
                            `data.label` has `classes`";
                self.push_problem("not-offered", join(&at, "doubt"), what, "remove it");
            }
            if let Some(ConditionOn::Prediction(model)) =
                set.knobs().map(|knobs| knobs.condition_on())
            {
                let what = format!(
                    "the prediction of `{model}` is one of several classes, and a set conditions \
                     on a prediction of two sides"
                );
                let key = set.keys().first().copied().unwrap_or_default();
                let hint = "write `condition_on: label` (whether it is positive) or `{label: raw}` \
                            (each class)";
                self.push_problem("not-offered", format!("{at}.{key}.condition_on"), what, hint);
            }
        }
    }

    /// Checks what the block of the family clarify says about classes.
    pub(super) fn clarify_of_classes(&mut self, clarify: &ClarifyBlock) {
        if !self.is_sound(&["data.label"]) {
            return;
        }
        let at = "metrics.clarify.positive";
        match (self.job.data.label.classes(), &clarify.positive) {
            (Some(classes), Some(class)) => {
                let names: Vec<&str> = classes.iter().map(Word::as_str).collect();
                self.class(at.to_owned(), class, &names);
            }
            (None, Some(_)) => {
                let what =
                    "`positive` names one of several classes, and `data.label` has no `classes`";
                self.push_problem(
                    "bad-value",
                    at,
                    what,
                    "remove it: `data.label.positive` lists the positive values",
                );
            }
            (_, None) => {}
        }
        if self.job.data.label.classes().is_some() && clarify.flip_test.is_some() {
            let what =
                "the flip test is about a label of two sides, and `data.label` has `classes`";
            self.push_problem(
                "not-offered",
                "metrics.clarify.flip_test",
                what,
                "remove it; the other metrics of the family are measured for each class",
            );
        }
    }

    /// A model in a job whose label has several classes, or one that is given scores of classes
    /// where it has none.
    pub(super) fn model_of_classes(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        if !self.is_sound(&["data.label"]) {
            return;
        }
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
                        let what =
                            "`columns` gives a score per class, and `data.label` has no `classes`";
                        let hint = "write `column: NAME`, or add `classes: [...]` to `data.label`";
                        self.push_problem("bad-value", join(&here, "columns"), what, hint);
                    }
                    (None, None, None) => {
                        let what = format!("`{here}` does not say which column holds the score");
                        self.push_problem("missing-key", here, what, "add `column: NAME`");
                    }
                    (None, Some(_), None) => {}
                    (Some(classes), Some(_), _) => {
                        let what = "`column` gives one score, and `data.label` has `classes`: each \
                                    class needs its own score";
                        self.push_problem(
                            "bad-value",
                            join(&here, "column"),
                            what,
                            format!("write {} instead", columns_form(classes)),
                        );
                    }
                    (Some(classes), None, None) => {
                        let what = format!(
                            "`{here}` does not say which columns hold the scores of the classes"
                        );
                        self.push_problem(
                            "missing-key",
                            here,
                            what,
                            format!("add {}", columns_form(classes)),
                        );
                    }
                    (Some(classes), None, Some(columns)) => {
                        self.columns_of_classes(&join(&here, "columns"), classes, columns)
                    }
                }
            }
        }
        let Some(classes) = classes else { return };
        for kind in model.kinds().into_iter().filter(|kind| !matches!(kind, ModelKind::Scores(_))) {
            let what = format!(
                "the model `{name}` gives one score a row, and `data.label` has {} classes",
                classes.len()
            );
            let hint = format!(
                "score the rows elsewhere and give a column per class by `scores`, such as {} \
                 under `factual`",
                columns_form(&classes)
            );
            self.push_problem("not-offered", join(at, kind.key()), what, hint);
        }
        for key in score_keys_of(model) {
            let what = format!(
                "`{key}` has no effect if `data.label` has `classes`: the class with the \
                 highest score is predicted"
            );
            self.push_problem("bad-value", join(at, key), what, "remove it");
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
        let names: Vec<&str> = classes.iter().map(Word::as_str).collect();
        for class in columns.keys() {
            self.class(join(at, class.as_str()), class, &names);
        }
        let without: Vec<&str> = names
            .into_iter()
            .filter(|name| columns.keys().all(|class| class.as_str() != *name))
            .collect();
        if !without.is_empty() {
            let (what, noun) =
                if without.len() == 1 { ("class", "has") } else { ("classes", "have") };
            let what = format!("the {what} {} {noun} no column of scores", list(&without));
            self.push_problem(
                "missing-key",
                at,
                what,
                "the class with the highest score is predicted, so each needs one",
            );
        }
        for (i, (class, column)) in columns.iter().enumerate() {
            if let Some((other, _)) = columns.iter().take(i).find(|(_, earlier)| *earlier == column)
            {
                let what =
                    format!("`{other}` and `{class}` have the same column of scores, `{column}`");
                self.push_problem(
                    "duplicate-value",
                    join(at, class.as_str()),
                    what,
                    "name the column of each class",
                );
            }
        }
    }

    /// The class that a gate asks about.
    pub(super) fn gate_class(&mut self, at: &str, gate: &GateBlock, metric: &KnownMetric) {
        if !self.is_sound(&["data.label"]) {
            return;
        }
        let Some(classes) = self.job.data.label.classes() else {
            if gate.class.is_some() {
                let what =
                    "`class` names one of several classes, and `data.label` has no `classes`";
                self.push_problem(
                    "bad-scope",
                    join(at, "class"),
                    what,
                    "remove it: the gate is about the positive side",
                );
            }
            return;
        };
        let names: Vec<&str> = classes.iter().map(Word::as_str).collect();
        if let Some(class) = &gate.class {
            self.class(join(at, "class"), class, &names);
            let other = self.job.clarify_class().filter(|only| *only != class);
            if metric.family == MetricFamily::Clarify
                && let Some(only) = other
                && classes.contains(class)
            {
                self.push_problem(
                    "not-measured",
                    join(at, "class"),
                    format!("`{}` is measured of the class `{only}` alone", metric.id),
                    "name that class, or remove `metrics.clarify.positive` to measure each",
                );
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
            let what = format!(
                "`{}` is measured for each class against all others, but `{at}` names no class",
                metric.id
            );
            self.push_problem(
                "bad-scope",
                at,
                what,
                format!("add `class: ...`, one of {}", list(&names)),
            );
        } else if !one_pair {
            let what = format!(
                "for all classes together `{}` is measured only between two groups",
                metric.id
            );
            self.push_problem(
                "bad-scope",
                join(at, "between"),
                what,
                format!("name both groups, or add `class: ...`, one of {}", list(&names)),
            );
        }
    }

    /// Complains about a gate on harm of a class that shares its side of the label with others:
    /// the classes against it are better and worse ones.
    fn class_of_harm(&mut self, at: &str, gate: &GateBlock, metric: &KnownMetric, class: &Word) {
        let Some(label) = self.job.data.label.column().filter(|label| !label.is_side(class)) else {
            return;
        };
        let asked = if gate.harm_to.is_some() { "harm_to" } else { metric.id };
        let what = format!(
            "`{asked}` of the class `{class}` would count harm as benefit: among the other classes \
             some are as favourable as `{class}` and some are not"
        );
        let sides = label.classes.iter().flatten().filter(|class| label.is_side(class));
        let sides: Vec<&str> = sides.map(Word::as_str).collect();
        let mut hint = "gate on `sr` of the class".to_owned();
        if !sides.is_empty() {
            hint += &format!(", or name {}", list(&sides));
        }
        self.push_problem("bad-scope", join(at, "class"), what, hint);
    }
}

/// The key as a job writes it.
fn columns_form(classes: &[Word]) -> String {
    let each: Vec<String> = classes.iter().take(3).map(|class| format!("{class}: ...")).collect();
    format!("`columns: {{{}{}}}`", each.join(", "), if classes.len() > 3 { ", ..." } else { "" })
}
