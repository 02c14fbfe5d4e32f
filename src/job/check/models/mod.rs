//! Checks models, and the scores that each has.

mod http;
mod lightgbm;
mod onnx;
mod python;

use crate::data::prepare::params::carried_decision;
use crate::job::read::nearest::{all, any, list, suggest};
use crate::job::read::tree::join;
use crate::job::{MetricFamily, ModelBlock, RecheckBlock, ScoresBlock, ThresholdRule};
use crate::model::kind::accept_key::AcceptedOfModel;
use crate::model::kind::command::BroughtKnobs;
use crate::model::kind::decision::DecisionKnobs;
use crate::model::kind::expect_key::ExpectBlock;
use crate::model::kind::scale_key::ScaleBlock;
use crate::model::kind::threshold_key::ThresholdBlock;
use crate::model::kind::{MODEL_KINDS, ModelKind, TRAINED_EXAMPLES};
use crate::param::{ColumnName, Name, Word};

use super::defaults::{families, needs_counterfactual};
use super::{JobChecker, path};

/// The most trainings of a model.
const MOST_TRAININGS: u64 = 1000;

impl JobChecker<'_> {
    /// The blocks `counterfactuals` and `models`.
    pub(super) fn models(&mut self) {
        self.single_columns();
        self.reference();
        for (name, set) in &self.job.counterfactuals {
            self.set(name, set);
        }
        if self.job.models.is_empty() && self.are_names_sound("models") && self.are_names_sound("")
        {
            self.push_problem(
                "no-model",
                "models",
                "the job names no model",
                "add one under `models`, such as `live: {scores: {factual: {column: score}}}`",
            );
        }
        let asked = self.asked_family();
        for (name, model) in &self.job.models {
            self.model(name, model, asked);
        }
    }

    /// Complains about a sensitive attribute that is not declared.
    pub(super) fn attribute(&mut self, at: String, name: &ColumnName) -> bool {
        self.check_known(
            "sensitive attribute",
            at,
            name.as_str(),
            self.job.data.sensitive.keys().map(ColumnName::as_str),
            "unknown-name",
        )
    }

    fn model(&mut self, name: &Name, model: &ModelBlock, asked: Option<MetricFamily>) {
        let at = path(&["models", name.as_str()]);
        if !self.is_sound(&[&at]) {
            return;
        }
        let found: Vec<&str> = model.kinds().into_iter().map(ModelKind::key).collect();
        if found.len() != 1 {
            let found = if found.is_empty() { "none".to_owned() } else { all(&found) };
            let what = format!(
                "the model `{name}` needs exactly one of {}, found {found}",
                all(MODEL_KINDS)
            );
            let trained = TRAINED_EXAMPLES.iter().map(|(key, knobs)| format!("{key}: {knobs}"));
            let trained: Vec<String> = trained.collect();
            let hint = format!(
                "write {} to train one here, `onnx: {{model: FILE}}`, `scores: {{factual: \
                 {{column: score}}}}` for scores computed elsewhere, `command: {{score: \
                 [./score]}}` for a program, or `python: {{pickle: FILE}}` for a pickled model",
                any(&trained)
            );
            self.push_problem("one-of", at, what, hint);
            return;
        }
        self.model_of_classes(&at, name, model);
        self.training_doubt(&at, name, model);
        self.accepted(&at, name, model);
        if let Some((kind, knobs)) = model.trained_here() {
            let here = format!("{at}.{}", kind.key());
            self.refused(&here, knobs.refusals());
            self.trains(&here, name);
            self.inputs(&here, name, knobs.omit());
        }
        if let Some(onnx) = &model.onnx {
            self.onnx(&format!("{at}.onnx"), name, onnx);
        }
        self.amount(&at, name, model);
        if let Some(decision) = &model.decision {
            self.decision(&at, name, model, decision.knobs());
            self.scores(&join(&at, "decision"), name, (decision.scores(), model), asked);
            return;
        }
        self.threshold(&format!("{at}.threshold"), name, model);
        self.scale(&at, name, model);
        if let Some(expect) = &model.expect {
            self.expect(&join(&at, "expect"), name, model, expect);
        }
        if let Some(scores) = &model.scores {
            self.scores(&format!("{at}.scores"), name, (scores, model), asked);
        }
        if let Some(command) = &model.command {
            self.command(&format!("{at}.command"), name, command);
        }
        if let Some(lightgbm) = &model.lightgbm {
            self.lightgbm(&format!("{at}.lightgbm"), name, lightgbm);
        }
        if let Some(http) = &model.http {
            self.http(&format!("{at}.http"), name, http);
        }
        if let Some(python) = &model.python {
            self.python(&format!("{at}.python"), name, python);
        }
    }

    /// Complains about accepted objections that nobody can have to a model.
    fn accepted(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        let here = join(at, "accept");
        let codes: Vec<&str> = model.accept.iter().map(|code| code.word()).collect();
        if codes.is_empty() || !self.check_distinct(&here, "code", &codes) {
            return;
        }
        for (i, code) in model.accept.iter().enumerate() {
            let brought = model.brought().map(|(_, knobs)| knobs);
            let why_not = match code {
                AcceptedOfModel::UnknownLevels if model.is_trained_here() => {
                    "is trained in the run, on levels that the job knows"
                }
                AcceptedOfModel::UnknownLevels if model.made_elsewhere().is_some() => {
                    "was scored elsewhere, and is shown no levels"
                }
                AcceptedOfModel::InvertedScores if model.amount().is_some() => "gives amounts",
                AcceptedOfModel::NotRepeatable
                    if !brought.is_some_and(BroughtKnobs::is_asked_twice) =>
                {
                    "is not asked twice"
                }
                _ => continue,
            };
            let what =
                format!("the model `{name}` {why_not}, so that `{}` never comes up", codes[i]);
            self.push_problem("not-offered", format!("{here}[{i}]"), what, "remove it");
        }
    }

    /// Complains where a model cannot be trained again, or every training gives the same.
    fn training_doubt(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        let Some(doubt) = model.doubt else { return };
        let here = join(at, "doubt");
        if !(2..=MOST_TRAININGS).contains(&doubt.training.get()) {
            let few = if doubt.training.get() < 2 { "too few to differ" } else { "too many" };
            let what = format!("`{}` trainings are {few}", doubt.training.get());
            let hint = format!("2 to {MOST_TRAININGS}; 5 is usual");
            self.push_problem("bad-value", join(&here, "training"), what, hint);
        }
        let program = model.command.as_ref().and_then(|command| command.train.as_ref());
        let what = match (model.trained_here(), program) {
            (Some((kind, knobs)), _) => (!knobs.draws()).then(|| {
                let key = kind.key();
                format!(
                    "`{key}` is trained without chance here, so that every training gives the same \
                     model"
                )
            }),
            (None, Some(train)) if train.iter().any(|a| a.placeholders().contains(&"seed")) => None,
            (None, Some(_)) => Some(format!(
                "the program that trains `{name}` gets no `{{seed}}`, so that every training gives \
                 the same model"
            )),
            (None, None) => {
                let why = model.brought().map_or("trained elsewhere", |(_, knobs)| knobs.noun());
                let what =
                    format!("the model `{name}` is {why}, and the run cannot train it again");
                self.push_problem("not-offered", here, what, "remove it");
                return;
            }
        };
        if let Some(what) = what.filter(|_| !doubt.resample) {
            let hint = match program {
                None => "add `resample: true`, which draws the training rows again",
                Some(_) => {
                    "pass `{seed}` to the program, or add `resample: true`, which draws the \
                            training rows again"
                }
            };
            self.push_problem("not-offered", here.clone(), what, hint);
        }
        if model.threshold.is_fitted() {
            let what = format!(
                "the threshold of `{name}` is fitted to the audited model, and the other trainings \
                 would need thresholds of their own"
            );
            let hint = "write the threshold as a number, or remove `doubt`";
            self.push_problem("not-offered", here.clone(), what, hint);
        }
        if self.job.data.label.classes().is_some() && self.is_sound(&["data.label"]) {
            let what = "the doubt about a training is measured for a label of two sides, and \
                        `data.label` has `classes`";
            self.push_problem("not-offered", here, what, "remove it");
        }
    }

    /// Complains about a model that is trained in this run and has no label or no rows to learn
    /// from.
    pub(super) fn trains(&mut self, at: &str, name: &Name) {
        let data = &self.job.data;
        if data.label.column().is_none() && self.is_sound(&["data.label"]) {
            self.push_problem(
                "needs-label",
                at,
                format!(
                    "the model `{name}` is trained in the run and needs a label, but `data.label` \
                     is `none`"
                ),
                "name the label column, or give the model's scores by `scores`",
            );
        }
        match &data.split {
            None if self.is_sound(&["data.split"]) => {
                let hint = "add `data.split`, such as `{share: {train: 0.8, audit: 0.2}}`: a model \
                            is not audited on its training rows";
                self.push_problem(
                    "needs-split",
                    at,
                    format!(
                        "the model `{name}` is trained in the run, but there are no training rows"
                    ),
                    hint,
                );
            }
            Some(split)
                if split.share.is_some_and(|s| s.train.get() == 0.0 && s.audit.get() == 1.0)
                    && self.is_sound(&["data.split"]) =>
            {
                self.push_problem(
                    "needs-split",
                    "data.split.share.train",
                    format!(
                        "the model `{name}` is trained in the run, but there are no training rows"
                    ),
                    "give `train` a share above 0",
                );
            }
            _ => {}
        }
    }

    /// The columns that a model may see.
    pub(super) fn columns(&self) -> Vec<&str> {
        self.job.data.inputs().into_iter().map(ColumnName::as_str).collect()
    }

    /// Complains about omitted columns that are not there, and about a model that sees none.
    pub(super) fn inputs(&mut self, at: &str, name: &Name, omit: &[ColumnName]) {
        if !self.is_sound(&["data.features", "data.sensitive", "data.derive"]) {
            return;
        }
        let inputs: Vec<String> = self.columns().into_iter().map(str::to_owned).collect();
        if !omit.is_empty() {
            let omit_at = format!("{at}.omit");
            self.check_distinct(&omit_at, "column", omit);
            for (i, column) in omit
                .iter()
                .enumerate()
                .filter(|(_, c)| inputs.iter().all(|input| input != c.as_str()))
            {
                let what = format!("the model `{name}` has no input `{column}` to omit");
                self.push_problem(
                    "unknown-column",
                    format!("{omit_at}[{i}]"),
                    what,
                    suggest(column.as_str(), "its inputs", inputs.iter().map(String::as_str)),
                );
            }
        }
        if inputs.iter().all(|input| omit.iter().any(|c| c.as_str() == *input)) {
            self.push_problem(
                "no-input",
                at,
                format!("the model `{name}` has no input column left"),
                "declare features, or omit fewer columns",
            );
        }
    }

    fn scores(
        &mut self,
        at: &str,
        name: &Name,
        (scores, model): (&ScoresBlock, &ModelBlock),
        asked: Option<MetricFamily>,
    ) {
        if let Some(file) = &scores.factual.parquet {
            self.score_path(format!("{at}.factual.parquet"), file, &[]);
        }
        match &scores.counterfactual {
            Some(file) => {
                let here = format!("{at}.counterfactual.parquet");
                let sets = self.job.sets();
                let names: Vec<&str> = sets
                    .iter()
                    .filter(|(_, set)| set.asks(name))
                    .map(|(set, _)| set.as_str())
                    .collect();
                if self.score_path(here.clone(), &file.parquet, &["counterfactual"])
                    && names.len() > 1
                    && !file.parquet.contains("{counterfactual}")
                {
                    let what = format!(
                        "one file cannot hold the scores of {} counterfactual sets: {}",
                        names.len(),
                        list(&names)
                    );
                    self.push_problem(
                        "bad-placeholder",
                        here,
                        what,
                        "put `{counterfactual}` into the path; it is replaced by the name of the \
                         set",
                    );
                }
            }
            None => {
                let scores_sets = || self.job.sets().into_iter().any(|(_, set)| set.asks(name));
                if let Some(family) = asked.filter(|_| scores_sets()) {
                    let (noun, form) = match model.decision {
                        Some(_) => ("decisions about", "{parquet: PATH}"),
                        None => ("scores of", "{parquet: PATH, column: score}"),
                    };
                    let what = format!(
                        "the model `{name}` has no {noun} counterfactuals, which the family `{}` \
                         needs",
                        family.as_str()
                    );
                    let allowed: Vec<&str> = families(self.job, self.catalog)
                        .into_iter()
                        .filter(|&f| !needs_counterfactual(f))
                        .map(MetricFamily::as_str)
                        .collect();
                    let hint = if family == MetricFamily::Amounts {
                        format!("add `counterfactual: {form}`, or remove the sets")
                    } else {
                        format!(
                            "add `counterfactual: {form}`, leave the model out of the sets \
                             (`models: [...]` in each names those that score it), or measure only \
                             `families: [{}]`",
                            allowed.join(", ")
                        )
                    };
                    self.push_problem("needs-scores", at, what, hint);
                }
            }
        }
        if let Some(recheck) = &scores.recheck {
            self.recheck(&format!("{at}.recheck"), name, (scores, model), recheck);
        }
        self.score_keys(at, scores);
    }

    /// A model that gives only decisions: their words, and the keys that apply to scores.
    fn decision(&mut self, at: &str, name: &Name, model: &ModelBlock, knobs: &DecisionKnobs) {
        for key in score_keys_of(model) {
            let what =
                format!("`{key}` applies to scores, and the model `{name}` gives only decisions");
            self.push_problem("bad-value", join(at, key), what, "remove it");
        }
        let at = join(at, "decision");
        let column = match (&knobs.column, &knobs.amount) {
            (None, Some(_)) => return self.decided_amount(&at, knobs),
            (Some(column), None) => column,
            (column, _) => {
                let found = if column.is_some() { "found both" } else { "found neither" };
                let what = format!("`{at}` needs one of `column` and `amount`, {found}");
                let hint = "write `column: COLUMN` and `positive: [WORD]` for decisions in words, \
                            or `amount: COLUMN` for amounts";
                return self.push_problem("one-of", at, what, hint);
            }
        };
        for (key, there) in
            [("better", knobs.better.is_some()), ("matters_from", knobs.matters_from.is_some())]
        {
            if there {
                let what = format!("`{key}` is about amounts, and decisions are words here");
                self.push_problem("bad-value", join(&at, key), what, "remove it");
            }
        }
        let here = join(&at, "positive");
        if knobs.positive.is_empty() {
            let what = format!("`{at}` does not say which decision is positive");
            let hint = "list its words, such as `positive: [granted]`";
            self.push_problem("missing-key", at.clone(), what, hint);
        }
        let texts = |words: &[Word]| words.iter().map(|w| w.0.clone()).collect::<Vec<String>>();
        if !knobs.positive.is_empty() {
            self.check_distinct(&here, "word", &texts(&knobs.positive));
        }
        if let Some(negative) = &knobs.negative {
            self.check_distinct(&join(&at, "negative"), "word", &texts(negative));
        }
        let negative = knobs.negative.iter().flatten();
        for (i, word) in negative.enumerate() {
            if knobs.positive.contains(word) {
                let what = format!("the decision `{word}` is both positive and negative");
                let place = format!("{}[{i}]", join(&at, "negative"));
                self.push_problem("bad-value", place, what, "keep it in one of the lists");
            }
        }
        let carried = carried_decision(column.as_str());
        let mut scores = self.job.models.values().flat_map(ModelBlock::columns);
        if scores.any(|other| other.as_str() == carried) {
            let what = format!(
                "another model reads the column `{carried}`, which is how the decisions in \
                 `{column}` are kept"
            );
            let hint = "rename one of the two columns in the data";
            self.push_problem("bad-value", join(&at, "column"), what, hint);
        }
        let words = |of: &DecisionKnobs| (of.positive.clone(), of.negative.clone());
        let mut others = self.job.models.iter().take_while(|(other, _)| *other != name);
        let other = others.find(|(_, other)| {
            other.decision.as_ref().is_some_and(|other| {
                let other = other.knobs();
                other.column == knobs.column && words(other) != words(knobs)
            })
        });
        if let Some((other, _)) = other {
            let what = format!(
                "the models `{other}` and `{name}` read the decisions in `{column}` by different \
                 lists of words"
            );
            let hint = "write the same lists, or give each model a column of its own by \
                        `data.derive`";
            self.push_problem("bad-value", here, what, hint);
        }
    }

    /// The scores that a model is known to give.
    fn expect(&mut self, at: &str, name: &Name, model: &ModelBlock, expect: &ExpectBlock) {
        let (here, tolerance) = (join(at, "tolerance"), expect.tolerance.get());
        if tolerance < 0.0 {
            self.push_problem(
                "bad-value",
                here,
                format!("a tolerance of `{tolerance}` is below 0"),
                "write 0 or more; 1.0e-6 allows for scores in single precision",
            );
        } else {
            self.never_exceeded(here, model, tolerance);
        }
        let own = model.scores.as_ref().filter(|scores| scores.factual.parquet.is_none());
        if own.is_some_and(|scores| scores.factual.column.as_ref() == Some(&expect.column)) {
            let what = format!(
                "the column `{}` holds the scores of the model `{name}` itself, and is compared \
                 with nothing",
                expect.column
            );
            let hint = "name the column with the scores that the model gave elsewhere, or remove \
                        `expect`";
            self.push_problem("bad-value", join(at, "column"), what, hint);
        }
    }

    /// Complains about a tolerance that no two scores of the scale can exceed.
    fn never_exceeded(&mut self, at: String, model: &ModelBlock, tolerance: f64) {
        let scale = model.score_scale(self.job.data.favours_positive());
        let ends = model.scale != Some(ScaleBlock::LogOdds) && model.amount().is_none();
        if ends && tolerance >= scale.width() {
            let what = format!(
                "a tolerance of `{tolerance}` is never exceeded: scores lie {}",
                scale.in_words()
            );
            self.push_problem(
                "bad-value",
                at,
                what,
                "write a smaller number; 1.0e-6 of the scale leaves room for scores of single \
                 precision",
            );
        }
    }

    fn recheck(
        &mut self,
        at: &str,
        name: &Name,
        (scores, model): (&ScoresBlock, &ModelBlock),
        recheck: &RecheckBlock,
    ) {
        if recheck.share.get() == 0.0 {
            self.push_problem(
                "bad-value",
                format!("{at}.share"),
                "a share of `0` selects no row",
                "give it a share above 0, or remove `recheck`",
            );
        }
        if recheck.tolerance.get() < 0.0 {
            let what = format!("a tolerance of `{}` is below 0", recheck.tolerance.get());
            self.push_problem(
                "bad-value",
                format!("{at}.tolerance"),
                what,
                "write 0 or more; 1.0e-6 allows for scores in single precision",
            );
        }
        self.never_exceeded(format!("{at}.tolerance"), model, recheck.tolerance.get());
        if scores.counterfactual.is_none() {
            let what = format!(
                "the model `{name}` rechecks rows in the file of the counterfactuals, but names no \
                 such file"
            );
            self.push_problem(
                "needs-scores",
                at,
                what,
                "add `counterfactual: {parquet: PATH, column: score}`, or remove `recheck`",
            );
        }
    }

    /// Complains about features that would occur twice in the rows to score, which begin with the
    /// columns of the key.
    fn score_keys(&mut self, at: &str, scores: &ScoresBlock) {
        let keys: &[&str] = match (&scores.counterfactual, &scores.factual.parquet) {
            (Some(_), _) => {
                &["row_id", "sensitive", "from_group", "to_group", "cf_index", "request"]
            }
            (None, Some(_)) => &["row_id", "request"],
            (None, None) => &[],
        };
        self.key_columns(at, keys, "the score files", "the rows to score hold both");
    }

    /// Complains about features with the name of a key column of `files`; `why` says that they
    /// would be there twice.
    pub(super) fn key_columns(&mut self, at: &str, keys: &[&str], files: &str, why: &str) {
        if !self.is_sound(&["data.features", "data.sensitive"]) {
            return;
        }
        let data = &self.job.data;
        let columns = (data.sensitive.iter().map(|(name, a)| a.from.as_ref().unwrap_or(name)))
            .chain(data.listed_features());
        if let Some(column) = columns.map(ColumnName::as_str).find(|c| keys.contains(c)) {
            let what = format!("the column `{column}` has the name of a key column of {files}");
            self.push_problem("bad-value", at, what, format!("rename it in the data: {why}"));
        }
    }

    /// Complains about an empty path and about `{words}` that nothing fills.
    fn score_path(&mut self, at: String, file: &str, known: &[&str]) -> bool {
        if file.is_empty() {
            self.push_problem(
                "empty-value",
                at.clone(),
                format!("`{at}` is empty"),
                "name a Parquet file",
            );
            return false;
        }
        for piece in file.split('{').skip(1) {
            let word = piece.split('}').next().unwrap_or(piece);
            if !piece.contains('}') || !known.contains(&word) {
                let hint = if known.is_empty() {
                    "this path holds no placeholders; variables are written `${vars.NAME}`"
                        .to_owned()
                } else {
                    suggest(word, "known placeholders", known.iter().copied())
                };
                self.push_problem(
                    "bad-placeholder",
                    at,
                    format!("`{{{word}}}` is not a placeholder of this path"),
                    hint,
                );
                return false;
            }
        }
        true
    }
}

/// The keys of a model that apply to single scores of two classes, where the job gives them.
pub(super) fn score_keys_of(model: &ModelBlock) -> impl Iterator<Item = &'static str> + use<> {
    let keys = [
        ("threshold", model.threshold != ThresholdBlock::default()),
        ("threshold_rule", model.threshold_rule != ThresholdRule::default()),
        ("scale", model.scale.is_some()),
        ("better", model.better.is_some()),
        ("probability", model.probability),
        ("expect", model.expect.is_some()),
    ];
    keys.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key)
}
