//! Checks models, and the scores that each has.

mod kinds;

use crate::data::prepare::params::carried_decision;
use crate::job::messages as m;
use crate::job::read::nearest::{all, all_or_none, any, list, suggest};
use crate::job::read::tree::join;
use crate::job::{MetricFamily, ModelBlock, RecheckBlock, ScoresBlock, ThresholdRule};
use crate::model::kind::accept_key::AcceptedOfModel;
use crate::model::kind::decision::DecisionKnobs;
use crate::model::kind::expect_key::ExpectBlock;
use crate::model::kind::scale_key::ScaleBlock;
use crate::model::kind::threshold_key::ThresholdBlock;
use crate::model::kind::trained::rebuild;
use crate::model::kind::{MODEL_KINDS, ModelKind, TRAINED_EXAMPLES};
use crate::param::{ColumnName, Name};

use super::defaults::{families, needs_counterfactual};
use super::{JobChecker, path};

impl<'a> JobChecker<'a> {
    /// The blocks `counterfactuals` and `models`.
    pub(super) fn models(&mut self) {
        self.single_columns();
        self.reference();
        for (name, set) in &self.job.counterfactuals {
            self.set(name, set);
        }
        if self.job.models.is_empty() {
            self.say("models", m::models_empty());
        }
        let asked = self.asked_family();
        for (name, model) in &self.job.models {
            self.model(name, model, asked);
        }
    }

    fn model(&mut self, name: &Name, model: &ModelBlock, asked: Option<MetricFamily>) {
        let at = path(&["models", name.as_str()]);
        let found: Vec<&str> = model.kinds().into_iter().map(ModelKind::key).collect();
        if found.len() != 1 {
            let found = all_or_none(&found);
            let trained = TRAINED_EXAMPLES.iter().map(|(key, knobs)| format!("{key}: {knobs}"));
            let trained: Vec<String> = trained.collect();
            self.say(at, m::model_kinds(name, all(MODEL_KINDS), found, any(&trained)));
            return;
        }
        self.model_of_classes(&at, name, model);
        self.training_doubt(&at, name, model);
        self.accepted(&at, name, model);
        if let Some((kind, knobs)) = model.trained_here() {
            let here = format!("{at}.{}", kind.key());
            if knobs.grows_trees() && !cfg!(feature = "lightgbm") {
                self.say(&here, m::trees_not_built(kind.key(), rebuild("LightGBM", "lightgbm")));
            }
            self.trains(&here, name);
            self.inputs(&here, name, knobs.omit);
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
        if let Some(mlflow) = &model.mlflow {
            self.mlflow(&format!("{at}.mlflow"), name, mlflow);
        }
    }

    /// Complains about accepted objections that nobody can have to a model.
    fn accepted(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        let here = join(at, "accept");
        let codes: Vec<&str> = model.accept.iter().map(|code| code.word()).collect();
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
                    if !brought.is_some_and(|model| model.is_asked_twice) =>
                {
                    "is not asked twice"
                }
                _ => continue,
            };
            self.say(format!("{here}[{i}]"), m::probability_never(name, why_not, codes[i]));
        }
    }

    /// Complains where a model cannot be trained again, or every training gives the same.
    fn training_doubt(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        let Some(doubt) = model.doubt else { return };
        let here = join(at, "doubt");
        let program = model.command.as_ref().and_then(|command| command.train.as_ref());
        let said = match (model.trained_here(), program) {
            (Some((kind, knobs)), _) => {
                (!knobs.draws()).then(|| m::training_without_chance(kind.key()))
            }
            (None, Some(train)) if train.iter().any(|a| a.placeholders().contains(&"seed")) => None,
            (None, Some(_)) => Some(m::training_without_seed(name)),
            (None, None) => {
                let why = model.brought().map_or("trained elsewhere", |(_, model)| model.noun);
                self.say(here, m::training_of_kind(name, why));
                return;
            }
        };
        if let Some(said) = said.filter(|_| !doubt.resample) {
            self.say(here.clone(), said);
        }
        if model.threshold.is_fitted() {
            self.say(here.clone(), m::training_of_fitted(name));
        }
        if self.job.data.label.classes().is_some() {
            self.say(here, m::measured_of_sides("the doubt about a training"));
        }
    }

    /// Complains about a model that is trained in this run and has no label or no rows to learn
    /// from.
    pub(super) fn trains(&mut self, at: &str, name: &Name) {
        let data = &self.job.data;
        if self.lacks_label() {
            self.say(at, m::model_no_label(name));
        }
        let share = data.split.as_ref().and_then(|split| split.share);
        let trains_none = share.is_some_and(|s| s.train.get() == 0.0 && s.audit.get() == 1.0);
        if self.lacks_split() {
            self.say(at, m::model_no_split(name));
        } else if trains_none {
            self.say("data.split.share.train", m::model_train_zero(name));
        }
    }

    /// The columns that a model may see.
    pub(super) fn columns(&self, omit: &[ColumnName]) -> Vec<&'a ColumnName> {
        self.job.data.inputs().into_iter().filter(|column| !omit.contains(column)).collect()
    }

    /// Complains about omitted columns that are not there, and about a model that sees none.
    pub(super) fn inputs(&mut self, at: &str, name: &Name, omit: &[ColumnName]) {
        let inputs = self.columns(&[]);
        for (i, column) in omit.iter().enumerate().filter(|(_, c)| !inputs.contains(c)) {
            let near = suggest(column, "its inputs", &inputs);
            self.say(format!("{at}.omit[{i}]"), m::omit_unknown(name, column, near));
        }
        if self.columns(omit).is_empty() {
            self.say(at, m::omit_all(name));
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
                    self.say(here, m::scores_one_file(names.len(), list(&names)));
                }
            }
            None => {
                let scores_sets = || self.job.sets().into_iter().any(|(_, set)| set.asks(name));
                if let Some(family) = asked.filter(|_| scores_sets()) {
                    let (noun, form) = match model.decision {
                        Some(_) => ("decisions about", "{parquet: PATH}"),
                        None => ("scores of", "{parquet: PATH, column: score}"),
                    };
                    let allowed: Vec<&str> = families(self.job)
                        .into_iter()
                        .filter(|&f| !needs_counterfactual(f))
                        .map(MetricFamily::as_str)
                        .collect();
                    let said = if family == MetricFamily::Amounts {
                        m::model_unscored(name, noun, family.as_str(), form)
                    } else {
                        let allowed = allowed.join(", ");
                        m::model_unscored_families(name, noun, family.as_str(), form, allowed)
                    };
                    self.say(at, said);
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
            self.say(join(at, key), m::decision_beside_scores(key, name));
        }
        let at = join(at, "decision");
        let column = match (&knobs.column, &knobs.amount) {
            (None, Some(_)) => return self.decided_amount(&at, knobs),
            (Some(column), None) => column,
            (column, _) => {
                let found = if column.is_some() { "found both" } else { "found neither" };
                return self.say(&at, m::decision_forms(&at, found));
            }
        };
        self.refuse_keys(&at, &["better", "matters_from"], m::decision_beside_words);
        let here = join(&at, "positive");
        if knobs.positive.is_empty() {
            self.say(at.clone(), m::decision_positive_missing(&at));
        }
        let negative = knobs.negative.iter().flatten();
        for (i, word) in negative.enumerate() {
            if knobs.positive.contains(word) {
                let place = format!("{}[{i}]", join(&at, "negative"));
                self.say(place, m::decision_word_twice(word));
            }
        }
        let carried = carried_decision(column.as_str());
        let mut scores = self.job.models.values().flat_map(ModelBlock::columns);
        if scores.any(|other| other.as_str() == carried) {
            self.say(join(&at, "column"), m::decision_column_taken(carried, column));
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
            self.say(here, m::decision_words_differ(other, name, column));
        }
    }

    /// The scores that a model is known to give.
    fn expect(&mut self, at: &str, name: &Name, model: &ModelBlock, expect: &ExpectBlock) {
        self.never_exceeded(join(at, "tolerance"), model, expect.tolerance.get());
        let own = model.scores.as_ref().filter(|scores| scores.factual.parquet.is_none());
        if own.is_some_and(|scores| scores.factual.column.as_ref() == Some(&expect.column)) {
            self.say(join(at, "column"), m::recheck_of_itself(&expect.column, name));
        }
    }

    /// Complains about a tolerance that no two scores of the scale can exceed.
    fn never_exceeded(&mut self, at: String, model: &ModelBlock, tolerance: f64) {
        let scale = model.score_scale(self.job.data.favours_positive());
        let ends = model.scale != Some(ScaleBlock::LogOdds) && model.amount().is_none();
        if ends && tolerance >= scale.width() {
            self.say(at, m::tolerance_wide(tolerance, scale.in_words()));
        }
    }

    fn recheck(
        &mut self,
        at: &str,
        name: &Name,
        (scores, model): (&ScoresBlock, &ModelBlock),
        recheck: &RecheckBlock,
    ) {
        self.never_exceeded(format!("{at}.tolerance"), model, recheck.tolerance.get());
        if scores.counterfactual.is_none() {
            self.say(at, m::recheck_no_file(name));
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
        let data = &self.job.data;
        let columns = (data.sensitive.iter().map(|(name, a)| a.from.as_ref().unwrap_or(name)))
            .chain(data.listed_features());
        if let Some(column) = columns.map(ColumnName::as_str).find(|c| keys.contains(c)) {
            self.say(at, m::score_column_taken(column, files, why));
        }
    }

    /// Complains about an empty path and about `{words}` that nothing fills.
    fn score_path(&mut self, at: String, file: &str, known: &[&str]) -> bool {
        if file.is_empty() {
            return false;
        }
        for piece in file.split('{').skip(1) {
            let word = piece.split('}').next().unwrap_or(piece);
            if !piece.contains('}') || !known.contains(&word) {
                let said = if known.is_empty() {
                    m::command_path_placeholder(word)
                } else {
                    m::score_placeholder(word, suggest(word, "known placeholders", known))
                };
                self.say(at, said);
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
