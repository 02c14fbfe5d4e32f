//! Checks counterfactual sets, models and the families that are measured.

use crate::param::{ColumnName, Name};
use crate::spec::nearest::{list, suggest};
use crate::spec::{CounterfactualSet, Family, Logistic, Model, Scores};

use super::{Checker, families, family_word, needs_counterfactual, path};

impl Checker<'_> {
    /// The blocks `counterfactuals`, `models` and `metrics`.
    pub(super) fn models(&mut self) {
        for (name, set) in &self.job.counterfactuals {
            self.set(name, set);
        }
        if self.job.models.is_empty() && self.names_sound("models") && self.names_sound("") {
            self.say(
                "no-model",
                "models",
                "the job names no model",
                "add one under `models`, such as `live: {scores: {factual: {column: score}}}`",
            );
        }
        self.families();
        let asked = self.asked();
        for (name, model) in &self.job.models {
            self.model(name, model, asked);
        }
    }

    fn set(&mut self, name: &Name, set: &CounterfactualSet) {
        let at = path(&["counterfactuals", name.as_str()]);
        if !self.sound(&[&at]) {
            return;
        }
        if set.naive.is_none() {
            self.say("one-of", at.clone(), format!("the counterfactual set `{name}` has no strategy"), "add one: `naive: {}`");
        }
        let Some(attributes) = &set.sensitive else { return };
        let here = format!("{at}.sensitive");
        if self.distinct(&here, "sensitive attribute, or leave the key out for all of them", attributes)
            && self.names_sound("data.sensitive")
        {
            for (i, attribute) in attributes.iter().enumerate() {
                self.attribute(format!("{here}[{i}]"), attribute);
            }
        }
    }

    /// Complains about a sensitive attribute that is not declared.
    pub(super) fn attribute(&mut self, at: String, name: &ColumnName) -> bool {
        self.known("sensitive attribute", at, name.as_str(), self.job.data.sensitive.keys().map(ColumnName::as_str), "unknown-name")
    }

    fn families(&mut self) {
        let Some(named) = self.job.metrics.families.as_ref().filter(|_| self.sound(&["metrics.families"])) else { return };
        let words: Vec<&str> = named.iter().map(|&f| family_word(f)).collect();
        if !self.distinct("metrics.families", "family, or leave the key out for all that the job allows", &words) {
            return;
        }
        let no_label = self.job.data.label.column().is_none() && self.sound(&["data.label"]);
        let no_set = self.job.counterfactuals.is_empty() && self.names_sound("counterfactuals");
        for (i, &family) in named.iter().enumerate() {
            let (at, word) = (format!("metrics.families[{i}]"), family_word(family));
            if no_label && self.catalog.family_needs_label(family) {
                self.say(
                    "needs-label",
                    at,
                    format!("the family `{word}` needs a label, and `data.label` is `none`"),
                    "take it out, or name the label column",
                );
            } else if no_set && needs_counterfactual(family) {
                self.say(
                    "needs-counterfactual",
                    at,
                    format!("the family `{word}` needs a counterfactual set"),
                    "add one, such as `counterfactuals: {flip: {naive: {}}}`",
                );
            }
        }
    }

    /// The first family with counterfactuals that the job asks for, where that is known.
    fn asked(&self) -> Option<Family> {
        if !self.sound(&["metrics.families"]) {
            return None;
        }
        let sets = !self.job.counterfactuals.is_empty();
        match &self.job.metrics.families {
            Some(named) => named.iter().copied().find(|&f| needs_counterfactual(f)),
            None => sets.then_some(Family::Ccm),
        }
    }

    fn model(&mut self, name: &Name, model: &Model, asked: Option<Family>) {
        let at = path(&["models", name.as_str()]);
        if !self.sound(&[&at]) {
            return;
        }
        match (&model.logistic, &model.scores) {
            (Some(logistic), None) => self.logistic(&format!("{at}.logistic"), name, logistic),
            (None, Some(scores)) => self.scores(&format!("{at}.scores"), name, scores, asked),
            (logistic, _) => {
                let found = if logistic.is_some() { "both" } else { "none" };
                let what = format!("the model `{name}` needs exactly one of `logistic` and `scores`, found {found}");
                self.say(
                    "one-of",
                    at,
                    what,
                    "write `logistic: {l2: 1.0}` to train one here, or `scores: {factual: {column: score}}` for scores made elsewhere",
                );
            }
        }
    }

    fn logistic(&mut self, at: &str, name: &Name, logistic: &Logistic) {
        let data = &self.job.data;
        if logistic.l2.get() < 0.0 {
            self.say(
                "bad-value",
                format!("{at}.l2"),
                format!("a penalty of `{}` is below 0", logistic.l2.get()),
                "write 0 or more; 1.0 is scikit-learn's default",
            );
        }
        if data.label.column().is_none() && self.sound(&["data.label"]) {
            self.say(
                "needs-label",
                at,
                format!("the model `{name}` is trained here and needs a label, and `data.label` is `none`"),
                "name the label column, or give the model's scores by `scores`",
            );
        }
        match &data.split {
            None if self.sound(&["data.split"]) => {
                let hint = "add `data.split`, such as `{share: {train: 0.8, audit: 0.2}}`: a model is not audited on the rows it learned";
                self.say("needs-split", at, format!("the model `{name}` is trained here, and no row is set aside for training"), hint);
            }
            Some(split) if split.share.is_some_and(|s| s.train.get() == 0.0 && s.audit.get() == 1.0) && self.sound(&["data.split"]) => {
                self.say(
                    "needs-split",
                    "data.split.share.train",
                    format!("the model `{name}` is trained here, and no row trains"),
                    "give `train` a share above 0",
                );
            }
            _ => {}
        }
        if !self.sound(&["data.features", "data.sensitive"]) {
            return;
        }
        let features = &data.features;
        let mut inputs: Vec<&str> = data.sensitive.iter().map(|(n, a)| a.from.as_ref().unwrap_or(n).as_str()).collect();
        inputs.extend(features.continuous.iter().chain(features.ordinal.keys()).chain(&features.nominal).map(ColumnName::as_str));
        if !logistic.omit.is_empty() {
            let omit_at = format!("{at}.omit");
            self.distinct(&omit_at, "column", &logistic.omit);
            for (i, column) in logistic.omit.iter().enumerate().filter(|(_, c)| !inputs.contains(&c.as_str())) {
                let what = format!("the model `{name}` has no input `{column}` to omit");
                self.say("unknown-column", format!("{omit_at}[{i}]"), what, suggest(column.as_str(), "its inputs", inputs.iter().copied()));
            }
        }
        if inputs.iter().all(|input| logistic.omit.iter().any(|c| c.as_str() == *input)) {
            self.say("no-input", at, format!("the model `{name}` has no input column left"), "declare features, or omit fewer columns");
        }
    }

    fn scores(&mut self, at: &str, name: &Name, scores: &Scores, asked: Option<Family>) {
        if let Some(file) = &scores.factual.parquet {
            self.score_path(format!("{at}.factual.parquet"), file, &[]);
        }
        match &scores.counterfactual {
            Some(file) => {
                let here = format!("{at}.counterfactual.parquet");
                let sets = &self.job.counterfactuals;
                if self.score_path(here.clone(), &file.parquet, &["counterfactual"])
                    && sets.len() > 1
                    && !file.parquet.contains("{counterfactual}")
                {
                    let names: Vec<&str> = sets.keys().map(Name::as_str).collect();
                    let what = format!("one file cannot hold the scores of {} counterfactual sets: {}", sets.len(), list(&names));
                    self.say("bad-placeholder", here, what, "put `{counterfactual}` into the path; it stands for the name of the set");
                }
            }
            None => {
                if let Some(family) = asked.filter(|_| !self.job.counterfactuals.is_empty()) {
                    let what =
                        format!("the model `{name}` has no scores of counterfactuals, which the family `{}` needs", family_word(family));
                    let allowed: Vec<&str> =
                        families(self.job, self.catalog).into_iter().filter(|&f| !needs_counterfactual(f)).map(family_word).collect();
                    let hint = format!(
                        "add `counterfactual: {{parquet: PATH, column: score}}`, or measure only `families: [{}]`",
                        allowed.join(", ")
                    );
                    self.say("needs-scores", at, what, hint);
                }
            }
        }
    }

    /// Complains about an empty path and about `{words}` that nothing fills.
    fn score_path(&mut self, at: String, file: &str, known: &[&str]) -> bool {
        if file.is_empty() {
            self.say("empty-value", at.clone(), format!("`{at}` is empty"), "name a Parquet file");
            return false;
        }
        for piece in file.split('{').skip(1) {
            let word = piece.split('}').next().unwrap_or(piece);
            if !piece.contains('}') || !known.contains(&word) {
                let hint = if known.is_empty() {
                    "this path holds no placeholders; variables are written `${vars.NAME}`".to_owned()
                } else {
                    suggest(word, "known placeholders", known.iter().copied())
                };
                self.say("bad-placeholder", at, format!("nothing fills `{{{word}}}` in this path"), hint);
                return false;
            }
        }
        true
    }
}
