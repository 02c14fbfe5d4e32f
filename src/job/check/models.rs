//! Checks models: the scores, columns, programs and files of each kind, as far as they can be
//! checked without running the model, and how scores become decisions.
//!
//! Numbers must lie on the scale; fitted thresholds need training rows with labels, scores of
//! these, and the rule that they are fitted for.

use crate::data::prepare::params::carried_decision;
use crate::data::source::row_program::RowProgramBlock;
use crate::job::messages as m;
use crate::job::read::tree::join;
use crate::job::read::word_lists::{all, all_or_none, any, list, suggest};
use crate::job::{
    CommandBlock, CounterfactualSet, Job, MetricFamily, ModelBlock, ScoresBlock, StreamFormat,
    ThresholdRule,
};
use crate::model::kind::accept_key::AcceptedOfModel;
use crate::model::kind::command::ExternalModel;
use crate::model::kind::decision::DecisionBlock;
use crate::model::kind::expect_key::ExpectBlock;
use crate::model::kind::http::HttpBlock;
use crate::model::kind::onnx::OnnxBlock;
use crate::model::kind::python::PythonBlock;
use crate::model::kind::scale_key::ScaleBlock;
use crate::model::kind::threshold_key::ThresholdBlock;
use crate::model::kind::trained::rebuild;
use crate::model::kind::{MODEL_KINDS, ModelKind, TRAINED_EXAMPLES};
use crate::param::{ColumnName, CommandArgument, Name, key_word};

use super::defaults::{families, needs_counterfactual};
use super::names::numbered;
use super::{JobChecker, path};

/// Filled in every command of a model.
const ALWAYS: [&str; 3] = ["seed", "threads", "fold"];

/// Filled in a program that writes rows.
const OF_ROWS: [&str; 2] = ["seed", "threads"];

impl<'a> JobChecker<'a> {
    /// The blocks `counterfactuals` and `models`.
    pub(super) fn models(&mut self) {
        self.single_columns();
        self.reference();
        for (name, set) in &self.job.counterfactuals {
            self.set(name, set);
        }
        self.say("models", self.job.models.is_empty().then(m::models_empty));
        let asked = self.asked_family();
        for (name, model) in &self.job.models {
            self.model(name, model, asked);
        }
    }

    fn model(&mut self, name: &Name, model: &ModelBlock, asked: Option<MetricFamily>) {
        let at = path(&["models", name.as_str()]);
        let kinds = model.kinds();
        let &[kind] = kinds.as_slice() else {
            let found: Vec<&str> = kinds.into_iter().map(ModelKind::key).collect();
            let trained = TRAINED_EXAMPLES.iter().map(|(key, knobs)| format!("{key}: {knobs}"));
            let (found, trained) = (all_or_none(&found), any(&Vec::from_iter(trained)));
            return self.say(at, m::model_kinds(name, all(MODEL_KINDS), found, trained));
        };
        let here = join(&at, kind.key());
        self.model_of_classes(&at, name, model);
        self.training_doubt(&at, name, model);
        self.accepted(&at, name, model);
        self.amount(&at, name, model);
        if let Some(knobs) = kind.trained_here() {
            let lacks_trees = knobs.grows_trees() && !cfg!(feature = "lightgbm");
            let said = || m::trees_not_built(kind.key(), rebuild("LightGBM", "lightgbm"));
            self.say(&here, lacks_trees.then(said));
            self.trains(&here, name);
        }
        if let Some(omit) = model.omitted() {
            self.inputs(&here, name, omit);
        }
        if let Some(external) = kind.external(None) {
            self.external_model(&here, &external);
        }
        match kind {
            ModelKind::Onnx(onnx) => self.onnx(&here, onnx),
            ModelKind::Lightgbm(_) if !cfg!(feature = "lightgbm") => {
                self.say(&here, m::lightgbm_not_built(rebuild("LightGBM", "lightgbm")));
            }
            ModelKind::Command(command) => self.command(&here, name, command),
            ModelKind::Http(http) => self.http(&here, http),
            ModelKind::Python(python) => self.python(&here, name, python),
            ModelKind::Mlflow(mlflow) if !mlflow.names_a_version() => {
                self.say(join(&here, "model"), m::mlflow_version(mlflow.model.escape_debug()));
            }
            ModelKind::Scores(scores) => self.scores(&here, name, (scores, model), asked),
            ModelKind::Decision(decision) => {
                self.decision(&at, name, model, decision);
                return self.scores(&here, name, (&decision.scores(), model), asked);
            }
            _ => {}
        }
        self.threshold(&join(&at, "threshold"), name, model);
        self.scale(&at, name, model);
        if let Some(expect) = &model.expect {
            self.expect(&join(&at, "expect"), name, model, expect);
        }
    }

    /// Complains about accepted objections that cannot occur for a model.
    fn accepted(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        for (place, code) in numbered(join(at, "accept"), &model.accept) {
            let external = model.external().map(|(_, knobs)| knobs);
            let why_not = match code {
                AcceptedOfModel::UnknownLevels if model.is_trained_here() => {
                    "is trained in the run, on levels that the job knows"
                }
                AcceptedOfModel::UnknownLevels if model.given_scores().is_some() => {
                    "was scored elsewhere, and is shown no levels"
                }
                AcceptedOfModel::InvertedScores if model.amount().is_some() => "gives amounts",
                AcceptedOfModel::NotRepeatable
                    if !external.is_some_and(|model| model.is_asked_twice) =>
                {
                    "is not asked twice"
                }
                _ => continue,
            };
            self.say(place, m::key_never(name, why_not, key_word(code)));
        }
    }

    /// Complains where a model cannot be trained again, or every training gives the same.
    fn training_doubt(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        let Some(doubt) = model.doubt else { return };
        let here = join(at, "doubt");
        let program = model.command.as_ref().and_then(|command| command.train.as_ref());
        let takes_seed = |train: &Vec<CommandArgument>| {
            train.iter().any(|argument| argument.placeholders().contains(&"seed"))
        };
        let said = match (model.trained_here(), program) {
            (None, None) => return self.say(here, m::training_of_kind(name, noun(model))),
            _ if doubt.resample => None,
            (Some((kind, knobs)), _) => {
                (!knobs.draws()).then(|| m::training_without_chance(kind.key()))
            }
            (None, train) => {
                (!train.is_some_and(takes_seed)).then(|| m::training_without_seed(name))
            }
        };
        self.say(&here, said);
        self.say(&here, model.threshold.is_fitted().then(|| m::training_of_fitted(name)));
        let has_classes = self.job.data.label.classes().is_some();
        self.say(here, has_classes.then(|| m::measured_of_sides("the doubt about a training")));
    }

    /// Complains about a model that is trained in this run and has no label or no rows to learn
    /// from.
    pub(super) fn trains(&mut self, at: &str, name: &Name) {
        self.say(at, self.lacks_label().then(|| m::model_no_label(name)));
        let share = self.job.data.split.as_ref().and_then(|split| split.share);
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
        for (at, column) in numbered(join(at, "omit"), omit) {
            let unknown = |near: String| m::omit_unknown(name, column, near);
            self.one_of(at, column, ("its inputs", &inputs), unknown);
        }
        self.say(at, self.columns(omit).is_empty().then(|| m::omit_all(name)));
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
        let sets = self.job.sets().into_iter().filter(|(_, set)| set.asks(name));
        let sets: Vec<String> = sets.map(|(set, _)| set).collect();
        if let Some(file) = &scores.counterfactual {
            let here = format!("{at}.counterfactual.parquet");
            let is_one = self.score_path(here.clone(), &file.parquet, &["counterfactual"])
                && sets.len() > 1
                && !file.parquet.contains("{counterfactual}");
            self.say(here, is_one.then(|| m::scores_one_file(sets.len(), list(&sets))));
        } else if !sets.is_empty() {
            let (noun, form) = match model.decision {
                Some(_) => ("decisions about", "{parquet: PATH}"),
                None => ("scores of", "{parquet: PATH, column: score}"),
            };
            let allowed = families(self.job).into_iter().filter(|&f| !needs_counterfactual(f));
            let allowed = Vec::from_iter(allowed.map(MetricFamily::as_str)).join(", ");
            let said = asked.map(|family| match (family, family.as_str()) {
                (MetricFamily::Amounts, word) => m::model_unscored(name, noun, word, form),
                (_, word) => m::model_unscored_families(name, noun, word, form, allowed),
            });
            self.say(at, said);
        }
        if let Some(recheck) = &scores.recheck {
            let here = join(at, "recheck");
            self.never_exceeded(join(&here, "tolerance"), model, recheck.tolerance.get());
            self.say(here, scores.counterfactual.is_none().then(|| m::recheck_no_file(name)));
        }
        // Features that would be in the rows to score twice, as these begin with the columns of the
        // key.
        let keys: &[&str] = match (&scores.counterfactual, &scores.factual.parquet) {
            (Some(_), _) => {
                &["row_id", "sensitive", "from_group", "to_group", "cf_index", "request"]
            }
            (None, Some(_)) => &["row_id", "request"],
            (None, None) => &[],
        };
        self.key_columns(at, keys, "the score files", "the rows to score hold both");
    }

    /// A model that gives only decisions: their words, and the keys that apply to scores.
    fn decision(&mut self, at: &str, name: &Name, model: &ModelBlock, knobs: &DecisionBlock) {
        for key in score_keys_of(model) {
            self.say(join(at, key), m::decision_beside_scores(key, name));
        }
        let at = join(at, "decision");
        let column = match (&knobs.column, &knobs.amount) {
            (None, Some(_)) => return self.decided_amount(&at, knobs),
            (Some(column), None) => column,
            (None, None) => return self.say(&at, m::decision_forms(&at, "found neither")),
            (Some(_), Some(_)) => return self.say(&at, m::decision_forms(&at, "found both")),
        };
        self.refuse_keys(&at, &["better", "matters_from"], m::decision_beside_words);
        let lacks_words = knobs.positive.is_empty();
        self.say(&at, lacks_words.then(|| m::decision_positive_missing(&at)));
        for (place, word) in numbered(join(&at, "negative"), knobs.negative.iter().flatten()) {
            let is_both = knobs.positive.contains(word);
            self.say(place, is_both.then(|| m::decision_word_twice(word)));
        }
        let carried = carried_decision(column.as_str());
        let mut scores = self.job.models.values().flat_map(ModelBlock::columns);
        let is_taken = scores.any(|other| other.as_str() == carried);
        let said = || m::decision_column_taken(&carried, column);
        self.say(join(&at, "column"), is_taken.then(said));
        let words = |d: &DecisionBlock| (d.positive.clone(), d.negative.clone());
        let mut others = self.job.models.iter().take_while(|(other, _)| *other != name);
        let other = others.find(|(_, other)| {
            other
                .decision
                .as_ref()
                .is_some_and(|other| other.column == knobs.column && words(other) != words(knobs))
        });
        let said = other.map(|(other, _)| m::decision_words_differ(other, name, column));
        self.say(join(&at, "positive"), said);
    }

    /// The scores that a model can give, as far as known.
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
        let is_wide = ends && tolerance >= scale.width();
        self.say(at, is_wide.then(|| m::tolerance_wide(tolerance, scale.in_words())));
    }

    /// Complains about features with the name of a key column of `files`; `why` says that they
    /// would be there twice.
    pub(super) fn key_columns(&mut self, at: &str, keys: &[&str], files: &str, why: &str) {
        let data = &self.job.data;
        let columns = (data.sensitive.iter().map(|(name, a)| a.from.as_ref().unwrap_or(name)))
            .chain(data.listed_features());
        let taken = columns.map(ColumnName::as_str).find(|column| keys.contains(column));
        self.say(at, taken.map(|column| m::score_column_taken(column, files, why)));
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

    /// What every external model gets: columns in an order, and variables.
    pub(super) fn external_model(&mut self, at: &str, external: &ExternalModel<'_>) {
        let terms = &external.terms;
        let visible = self.columns(terms.omit);
        for (place, column) in numbered(join(at, "columns"), terms.columns) {
            self.check_known("column", place, column, &visible);
        }
        for (input, columns) in terms.inputs.into_iter().flatten() {
            for (place, column) in numbered(join(&join(at, "inputs"), input), columns) {
                self.check_known("column", place, column, &visible);
            }
        }
        if let Some(program) = &external.program {
            let command = &program.command;
            self.environment(at, &command.pass_env, &command.secret_env);
        }
    }

    pub(super) fn http(&mut self, at: &str, http: &HttpBlock) {
        let host = ["http://", "https://"].into_iter().find_map(|head| http.url.strip_prefix(head));
        let host = host.and_then(|host| host.split('/').next()).filter(|host| !host.is_empty());
        let said = match host {
            None => m::http_address(http.url.escape_debug()),
            Some(host) if host.contains('@') => m::http_credentials(),
            Some(_) => return,
        };
        self.say(join(at, "url"), said);
    }

    pub(super) fn onnx(&mut self, at: &str, onnx: &OnnxBlock) {
        let not_built = || m::onnx_not_built(rebuild("the ONNX runtime", "onnx"));
        self.say(at, (!cfg!(feature = "onnx")).then(not_built));
        let is_twice = !onnx.columns.is_empty() && !onnx.inputs.is_empty();
        self.say(join(at, "columns"), is_twice.then(m::onnx_columns_twice));
        for (input, _) in onnx.inputs.iter().filter(|(_, columns)| columns.is_empty()) {
            self.say(join(&join(at, "inputs"), input), m::onnx_input_empty(input));
        }
    }

    pub(super) fn python(&mut self, at: &str, name: &Name, python: &PythonBlock) {
        match (&python.call, &python.pickle) {
            (Some(_), Some(_)) => return self.say(at, m::python_forms(name, "both")),
            (None, None) => return self.say(at, m::python_forms(name, "none")),
            _ => {}
        }
        let Some(call) = &python.call else { return };
        // `module:function`, each of them names joined by dots.
        let is_name = |part: &str| {
            part.chars().all(|c| c.is_alphanumeric() || c == '_')
                && part.chars().next().is_some_and(|c| !c.is_numeric())
        };
        let named = |text: &str| text.split('.').all(is_name);
        let parts = call.split_once(':');
        let is_call = parts.is_some_and(|(module, function)| named(module) && named(function));
        let said = || m::python_call_form(call.escape_debug());
        self.say(join(at, "call"), (!is_call).then(said));
        self.say(join(at, "class"), python.class.is_some().then(m::python_class_of_call));
    }

    /// One block `command`.
    pub(super) fn command(&mut self, at: &str, name: &Name, command: &CommandBlock) {
        let files = command.stream == StreamFormat::ParquetFiles;
        let has_both = command.model.is_some() && command.train.is_some();
        self.say(at, has_both.then(|| m::command_model_and_train(name)));
        let has_model = command.model.is_some() || command.train.is_some();
        let model: &[&str] = if has_model { &["model"] } else { &[] };
        let paths: &[&str] = if files { &["rows", "scores"] } else { &[] };
        self.arguments(&format!("{at}.score"), &command.score, (&ALWAYS, &[model, paths].concat()));
        if let Some(train) = &command.train {
            let rows: &[&str] = if files { &["rows"] } else { &[] };
            self.arguments(&format!("{at}.train"), train, (&ALWAYS, &[&["model"], rows].concat()));
            self.trains(&format!("{at}.train"), name);
            let added = [Some("label"), self.job.data.weight.is_some().then_some("weight")];
            let columns = self.columns(&command.omit);
            for word in added.into_iter().flatten() {
                let is_taken = columns.iter().any(|column| column.as_str() == word);
                let said = || m::command_column_taken(name, word);
                self.say(join(at, "train"), is_taken.then(said));
            }
        }
    }

    /// A program that writes rows.
    pub(super) fn row_program(&mut self, at: &str, program: &RowProgramBlock) {
        let key = format!("{at}.run");
        // The short form is only the arguments.
        let arguments = if self.places.written(&key).is_some() { key } else { at.to_owned() };
        self.arguments(&arguments, &program.run, (&OF_ROWS, &[]));
        self.environment(at, &program.pass_env, &program.secret_env);
    }

    /// The variables that a program sees.
    pub(super) fn environment(&mut self, at: &str, pass_env: &[String], secret_env: &[String]) {
        let twice = secret_env.iter().find(|name| pass_env.contains(name));
        self.say(join(at, "secret_env"), twice.map(m::environment_twice));
    }

    /// Complains about an empty command, about placeholders that nothing fills, and about needed
    /// ones that are missing.
    fn arguments(
        &mut self,
        at: &str,
        arguments: &[CommandArgument],
        (always, needed): (&[&str], &[&str]),
    ) {
        match arguments.first() {
            None => return self.say(at, m::command_empty(at)),
            Some(program) if program.0.is_empty() => {
                return self.say(format!("{at}[0]"), m::program_no_name());
            }
            Some(_) => {}
        }
        let (known, of_model) = ([needed, always].concat(), always == ALWAYS);
        for (place, argument) in numbered(at.to_owned(), arguments) {
            for word in argument.placeholders().into_iter().filter(|word| !known.contains(word)) {
                let near = suggest(word, "known placeholders", &known);
                let said = match word {
                    "model" if of_model => m::command_placeholder_model(word),
                    "rows" | "scores" if needed.contains(&"rows") => {
                        m::command_placeholder_training(word)
                    }
                    "rows" | "scores" if of_model => m::command_placeholder_files(word),
                    _ => m::command_placeholder_unknown(word, near),
                };
                self.say(place.as_str(), said);
            }
        }
        let is_missing = |word: &&&str| !arguments.iter().any(|a| a.placeholders().contains(*word));
        let missing = needed.iter().filter(is_missing).map(|word| format!("{{{word}}}"));
        let missing: Vec<String> = missing.collect();
        let files = if missing.len() == 1 { "that path" } else { "these paths" };
        let said = || m::command_placeholder_missing(all(&missing), list(&missing), files);
        self.say(at, (!missing.is_empty()).then(said));
    }

    /// The keys `scale` and `better`, and a threshold that is a number.
    pub(super) fn scale(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        let mut refused = false;
        let trained = model.trained_here().map(|(kind, _)| kind.key());
        if let Some(kind) = trained.or(model.lightgbm.as_ref().map(|_| "lightgbm")) {
            let keys = ["scale", "better", "probability"];
            refused = self.refuse_keys(at, &keys, |_| m::scale_of_probabilities(name, kind));
        }
        if let Some(ScaleBlock::Range(ends)) = model.scale {
            let (from, to) = (ends.from.get(), ends.to.get());
            let fault = if from == to {
                Some(m::scale_empty())
            } else if from > to {
                Some(m::scale_order(from, to))
            } else {
                (!(to - from).is_finite()).then(m::scale_wide)
            };
            refused |= fault.is_some();
            self.say(join(at, "scale"), fault);
        }
        let points = matches!(model.scale, Some(ScaleBlock::Range(_)));
        let lacks_points = model.probability && !points && !refused;
        let said = || m::probability_without_points(name);
        self.say(join(at, "probability"), lacks_points.then(said));
        let lacks_side = model.better.is_some() && self.lacks_favourable();
        self.say(join(at, "better"), lacks_side.then(|| m::better_without_favour(name)));
        if refused || lacks_points || lacks_side {
            return;
        }
        let scale = model.score_scale(self.job.data.favours_positive());
        if let ThresholdBlock::Fixed(threshold) = &model.threshold
            && !scale.contains(threshold.get())
            && self.job.data.label.classes().is_none()
        {
            let said = if model.scale.is_some() {
                m::threshold_off_scale(threshold.get(), name, scale.in_words())
            } else if model.is_trained_here() {
                m::threshold_of_trained(threshold.get(), name, scale.in_words())
            } else {
                m::threshold_no_scale(threshold.get(), name, scale.in_words())
            };
            self.say(join(at, "threshold"), said);
        }
    }

    /// A feature that a set or a block of recourse on a model changes and that the column of its
    /// thresholds is, or is derived from; with the path of what changes it.
    fn changed_threshold(&self, name: &Name, column: &ColumnName) -> Option<(&ColumnName, String)> {
        let Job { data, counterfactuals, recourse, .. } = self.job;
        let above = data.below(column, |_| false).0;
        data.listed_features().find_map(|feature| {
            let mut sets = counterfactuals.iter().filter(|(_, set)| set.asks(name));
            // Which features causal graphs change is not known before they are found.
            let names_them =
                |set: &CounterfactualSet| set.graphs().is_none_or(|of| of.variables.is_some());
            let set = sets.find(|(_, set)| names_them(set) && set.may_move(feature.as_str()));
            let set = set.map(|(set, _)| join("counterfactuals", set.as_str()));
            let mut blocks = recourse.iter().filter(|(_, block)| block.model == *name);
            let block = blocks.find(|(_, block)| block.changes(feature));
            let block = || block.map(|(attribute, _)| join("recourse", attribute.as_str()));
            Some((feature, set.or_else(block)?)).filter(|_| above.contains(feature))
        })
    }

    /// A threshold that a column holds, or that is fitted.
    pub(super) fn threshold(&mut self, at: &str, name: &Name, model: &ModelBlock) {
        let column = model.threshold.column();
        let changed = column.and_then(|column| self.changed_threshold(name, column));
        self.say(at, changed.map(|(column, by)| m::threshold_changes(name, column, by)));
        if !model.threshold.is_fitted() {
            return;
        }
        self.say(at, (model.threshold_rule == ThresholdRule::Gt).then(m::fitted_with_gt));
        if model.scores.as_ref().is_some_and(|scores| scores.factual.parquet.is_some()) {
            self.say(at, m::fitted_of_score_file(name));
        } else if !model.is_trained() {
            // A model that is trained here has already got this complaint.
            self.say(at, self.lacks_label().then(|| m::fitted_no_label(name)));
            self.say(at, self.lacks_split().then(|| m::fitted_no_split(name)));
        }
    }
}

/// What messages call a model that the run does not train.
pub(super) fn noun(model: &ModelBlock) -> &'static str {
    model.external().map_or("trained elsewhere", |(_, model)| model.noun)
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
