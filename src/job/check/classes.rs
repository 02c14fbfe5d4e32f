//! Checks what a label of several classes requires of the rest of the job: a column of scores per
//! class, and nothing that reads only two sides.

use indexmap::IndexMap;

use crate::job::blocks::clarify::ClarifyBlock;
use crate::job::messages as m;
use crate::job::read::tree::join;
use crate::job::read::word_lists::list;
use crate::job::{GateBetween, LabelColumn, MetricFamily, ModelBlock};
use crate::metric::GroupValue;
use crate::metric::catalog::ccm::HARM;
use crate::metric::value::classes::measure::is_of_all_classes;
use crate::model::kind::ModelKind;
use crate::param::{ColumnName, Name, Word};

use super::JobChecker;
use super::gates::MetricGate;
use super::models::score_keys_of;
use super::names::{REST, numbered};

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
        let n = classes.len();
        self.say(at, (n < 2).then(|| m::class_only(&classes[0])));
        self.say(at, (n > MOST_CLASSES).then(|| m::classes_many(n, MOST_CLASSES)));
        self.say("data.label.negative", label.negative.as_ref().map(|_| m::classes_and_negative()));
        for (place, value) in numbered("data.label.positive".to_owned(), &label.positive) {
            self.class(place, value, classes);
        }
        let is_all = n > 1 && classes.iter().all(|class| label.positive.contains(class));
        self.say("data.label.positive", is_all.then(m::classes_all_positive));
    }

    /// Complains about a class that the label does not have; returns whether it does.
    fn class(&mut self, at: String, class: &Word, classes: &[Word]) -> bool {
        let unknown = |near: String| m::class_unknown(class, near);
        self.one_of(at, class, ("classes of the label", classes), unknown)
    }

    /// Checks what the block of the family clarify says about classes.
    pub(super) fn clarify_of_classes(&mut self, clarify: &ClarifyBlock) {
        let at = "metrics.clarify.positive";
        let Some(class) = &clarify.positive else { return };
        match self.job.data.label.classes() {
            Some(classes) => _ = self.class(at.to_owned(), class, classes),
            None => self.say(at, m::decision_class_alone()),
        }
    }

    /// A model in a job whose label has several classes, or one that is given scores of classes
    /// where it has none.
    pub(super) fn model_of_classes(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        let classes = self.job.data.label.classes().map(<[Word]>::to_vec);
        for answer in answers_of(model) {
            let ModelAnswer { place, single: (one, has_one), several: (key, columns) } = answer;
            let here = format!("{at}.{place}");
            match (&classes, has_one, columns) {
                (None, _, Some(_)) => self.say(join(&here, key), m::score_columns_alone(key)),
                (None, false, None) if place.starts_with("scores") => {
                    self.say(&here, m::score_column_missing(&here));
                }
                (None, _, None) => {}
                (Some(classes), true, _) => {
                    let said = m::score_column_of_classes(one, columns_form(key, classes));
                    self.say(join(&here, one), said);
                }
                (Some(classes), false, None) => {
                    self.say(&here, m::score_columns_missing(&here, columns_form(key, classes)));
                }
                (Some(classes), false, Some(columns)) => {
                    self.columns_of_classes(&join(&here, key), classes, &columns)
                }
            }
        }
        let Some(classes) = classes else { return };
        let of_classes = |kind: &ModelKind<'_>| match kind {
            ModelKind::Scores(_) | ModelKind::Onnx(_) => true,
            // What trains learns from a label of two sides.
            ModelKind::Command(command) => command.train.is_none(),
            _ => false,
        };
        for kind in model.kinds().into_iter().filter(|kind| !of_classes(kind)) {
            let form = columns_form("columns", &classes);
            self.say(join(at, kind.key()), m::model_of_one_score(name, classes.len(), form));
        }
        for key in score_keys_of(model).chain(model.amount.map(|_| "amount")) {
            self.say(join(at, key), m::scale_of_classes(key));
        }
    }

    fn columns_of_classes(&mut self, at: &str, classes: &[Word], columns: &[(&Word, &str)]) {
        if self.has_problem(&["data.label"]) {
            return;
        }
        for &(class, _) in columns {
            self.class(join(at, class.as_str()), class, classes);
        }
        let lacks = |name: &&Word| !columns.iter().any(|(class, _)| class == name);
        let without: Vec<_> = classes.iter().filter(lacks).collect();
        if !without.is_empty() {
            let (noun, has) =
                if without.len() == 1 { ("class", "has") } else { ("classes", "have") };
            self.say(at, m::class_without_column(noun, list(&without), has));
        }
        for (i, (class, column)) in columns.iter().enumerate() {
            if let Some((other, _)) = columns.iter().take(i).find(|(_, earlier)| earlier == column)
            {
                self.say(join(at, class.as_str()), m::class_column_twice(other, class, column));
            }
        }
    }

    /// The class that a gate asks about.
    pub(super) fn gate_class(&mut self, gate: &MetricGate<'_>) {
        let (metric, label) = (gate.metric, self.job.data.label.column());
        let Some((label, classes)) = label.and_then(|l| Some((l, l.classes.as_deref()?))) else {
            return self.say(gate.key("class"), gate.class.as_ref().map(|_| m::gate_class_alone()));
        };
        let Some(class) = &gate.class else {
            let has_rest = |words: &[Word; 2]| words.iter().any(|word| word.as_str() == REST);
            let one_pair = match &gate.between {
                Some(GateBetween::WorstCase) => false,
                Some(GateBetween::Pair(map)) => !map.values().any(has_rest),
                None => true,
            };
            if !is_of_all_classes(metric.id) {
                let said = m::gate_class_missing(metric.id, gate.at, list(classes));
                self.say(gate.at, said);
            } else if !one_pair {
                self.say(gate.key("between"), m::gate_class_total(metric.id, list(classes)));
            }
            return;
        };
        if !self.class(gate.key("class"), class, classes) {
            return;
        }
        let other = self.job.clarify_class().filter(|only| *only != class);
        let other = other.filter(|_| metric.family == MetricFamily::Clarify);
        self.say(gate.key("class"), other.map(|only| m::gate_class_of_other(metric.id, only)));
        // A class that shares its side of the label with others: the classes compared with it are
        // both better and worse ones.
        let reads_side = HARM.contains(&metric.id)
            || matches!(metric.group_value(), Some(GroupValue::FavourableRate));
        if reads_side && !label.is_side(class) {
            let sides: Vec<&Word> = classes.iter().filter(|class| label.is_side(class)).collect();
            let said = match sides.as_slice() {
                [] => m::gate_class_of_harm(gate.asked(), class),
                sides => m::gate_class_of_harm_or(gate.asked(), class, list(sides)),
            };
            self.say(gate.key("class"), said);
        }
    }
}

/// How a block says which of its numbers is the score of what.
struct ModelAnswer<'a> {
    /// The block, below the model.
    place: &'static str,
    /// The key for one score, and whether it is there.
    single: (&'static str, bool),
    /// The key for a score of each class, and what it says.
    several: (&'static str, Option<Vec<(&'a Word, &'a str)>>),
}

/// The answers of a model that may give a score for each class.
fn answers_of(model: &ModelBlock) -> Vec<ModelAnswer<'_>> {
    fn named<T>(
        columns: &Option<IndexMap<Word, T>>,
        text: fn(&T) -> &str,
    ) -> Option<Vec<(&Word, &str)>> {
        columns.as_ref().map(|all| all.iter().map(|(class, of)| (class, text(of))).collect())
    }
    let mut found = Vec::new();
    if let Some(scores) = &model.scores {
        let file = |place, column: &Option<ColumnName>, columns| ModelAnswer {
            place,
            single: ("column", column.is_some()),
            several: ("columns", named(columns, ColumnName::as_str)),
        };
        found.push(file("scores.factual", &scores.factual.column, &scores.factual.columns));
        let other = scores.counterfactual.as_ref();
        found.extend(other.map(|of| file("scores.counterfactual", &of.column, &of.columns)));
    }
    if let Some(onnx) = &model.onnx {
        let (single, named) = (("class", onnx.class.is_some()), named(&onnx.classes, Word::as_str));
        found.push(ModelAnswer { place: "onnx", single, several: ("classes", named) });
    }
    if let Some(command) = &model.command {
        let several = ("classes", named(&command.classes, Word::as_str));
        found.push(ModelAnswer { place: "command", single: ("", false), several });
    }
    found
}

/// The key as a job writes it.
fn columns_form(key: &str, classes: &[Word]) -> String {
    let each: Vec<String> = classes.iter().take(3).map(|class| format!("{class}: ...")).collect();
    format!("`{key}: {{{}{}}}`", each.join(", "), if classes.len() > 3 { ", ..." } else { "" })
}
