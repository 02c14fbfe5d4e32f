//! Checks counterfactual sets: their strategy, what may move, what they condition on, and the rows
//! they learn from.
//!
//! A strategy that is fitted may move the features that are columns of the source. A derived
//! feature follows from what moved; what the attribute is mapped or crossed from is set with it.
//! Anything that cannot be done is refused here, with what to do instead.

use crate::counterfactual::decorrelate_knobs::DecorrelateBlock;
use crate::counterfactual::engine::{ExternalSource, FittedKnobs};
use crate::counterfactual::forms::{ConditionOn, MovableFeatures};
use crate::counterfactual::strategy;
use crate::data::column::declared::DeclaredType;
use crate::data::prepare::params::OrdinalOrder;
use crate::job::messages as m;
use crate::job::read::nearest::{all, list, suggest};
use crate::job::read::tree::join;
use crate::job::{CounterfactualSet, ModelBlock};
use crate::param::{ColumnName, Name};

use super::{JobChecker, path};

/// The name of the rows as they are, where sets are called by their names.
const FACTUAL: &str = "factual";

/// The most repeats of a placebo or a fit: each is a counterfactual set of its own.
const MOST_REPEATS: u64 = 1000;

/// The most people on the page, which has to stay readable.
const MOST_CASES: u64 = 20;

impl JobChecker<'_> {
    /// The people whom the report is to show.
    pub(super) fn report(&mut self) {
        let (cases, at) = (self.job.report.cases, "report.cases");
        if cases == 0 || !self.is_sound(&[at, "counterfactuals"]) {
            return;
        }
        if cases > MOST_CASES {
            self.say(at, m::cases_many(cases, MOST_CASES));
        } else if self.job.counterfactuals.values().all(|set| set.graphs().is_some()) {
            self.say(at, m::cases_no_set());
        } else if self.job.data.label.classes().is_some() {
            self.say(at, m::cases_of_classes());
        }
    }

    /// The rows that are to be kept.
    pub(super) fn kept_rows(&mut self) {
        if !self.job.run.keeps_counterfactuals() || !self.is_sound(&["run", "counterfactuals"]) {
            return;
        }
        let at = "run.keep_rows";
        if self.job.counterfactuals.values().all(CounterfactualSet::makes_no_rows) {
            self.say(at, m::kept_no_set());
        }
        let keys =
            ["row_id", "sensitive", "from_group", "to_group", "cf_index", "valid", "changed"];
        let files = "the files of counterfactuals";
        self.key_columns(at, &keys, files, "the rows that are kept hold both");
    }

    /// One counterfactual set.
    pub(super) fn set(&mut self, name: &Name, set: &CounterfactualSet) {
        let at = path(&["counterfactuals", name.as_str()]);
        if !self.is_sound(&[&at]) {
            return;
        }
        if name.as_str() == FACTUAL {
            self.say(at.clone(), m::set_named_factual(FACTUAL));
        }
        self.strategy(&at, name, set);
        self.naive_reaches(&at, set);
        self.changed_attributes(&at, set);
        let mut strategies = set.strategies().into_iter();
        let fitted = strategies.find_map(|of| Some((of.key(), of.knobs().fitted()?)));
        if let Some((key, knobs)) = fitted {
            self.fitted(&at, (name, key), set, knobs);
        }
        if let Some(graphs) = set.graphs() {
            self.graphs(&at, name, set, graphs);
        }
        self.placebo(&at, set);
        self.doubt(&at, set);
        self.asked_models(&at, set);
    }

    /// The models that score a set.
    fn asked_models(&mut self, at: &str, set: &CounterfactualSet) {
        let Some(models) = &set.models else { return };
        let here = format!("{at}.models");
        let texts: Vec<&str> = models.iter().map(Name::as_str).collect();
        if !self.check_distinct(&here, "model, or remove the key to ask all of them", &texts)
            || !self.are_names_sound("models")
        {
            return;
        }
        let known: Vec<&str> = self.job.models.keys().map(Name::as_str).collect();
        for (i, model) in texts.iter().enumerate() {
            let place = format!("{here}[{i}]");
            self.check_known("model", place, model, known.iter().copied(), "unknown-name");
        }
    }

    /// Complains where a set that is named next to a model is not scored by it.
    pub(super) fn asks(&mut self, at: &str, model: &Name, set: &str) {
        let sets = self.job.sets();
        let Some((_, block)) = sets.iter().find(|(name, _)| name == set) else { return };
        if !block.asks(model) {
            self.say(join(at, "counterfactual"), m::set_asked_not(set, model));
        }
    }

    fn strategy(&mut self, at: &str, name: &Name, set: &CounterfactualSet) {
        let found = set.keys();
        if found.len() != 1 {
            let found = if found.is_empty() { "none".to_owned() } else { all(&found) };
            self.say(at, m::set_strategies(name, found, strategy::examples()));
        }
    }

    fn changed_attributes(&mut self, at: &str, set: &CounterfactualSet) {
        let Some(attributes) = &set.sensitive else { return };
        let here = format!("{at}.sensitive");
        if self.check_distinct(
            &here,
            "sensitive attribute, or remove the key to use all of them",
            attributes,
        ) && self.are_names_sound("data.sensitive")
        {
            for (i, attribute) in attributes.iter().enumerate() {
                self.attribute(format!("{here}[{i}]"), attribute);
            }
        }
    }

    fn placebo(&mut self, at: &str, set: &CounterfactualSet) {
        let Some(placebo) = set.placebo else { return };
        if placebo.repeats.get() > MOST_REPEATS {
            self.say(
                format!("{at}.placebo.repeats"),
                m::repeats_many(placebo.repeats.get(), MOST_REPEATS),
            );
        }
        if set.knobs().is_some_and(|knobs| knobs.external().is_some()) {
            self.say(format!("{at}.placebo"), m::placebo_of_external());
        }
        if set.knobs().is_none() || !self.is_sound(&["models"]) {
            return;
        }
        let elsewhere = self.job.models.iter().find(|(_, model)| !model.is_trained_here());
        if let Some((name, model)) = elsewhere {
            let why = model.brought().map_or("trained elsewhere", |(_, knobs)| knobs.noun());
            self.say(format!("{at}.placebo"), m::placebo_of_model(name, why));
        }
    }

    /// Complains where a set cannot be fitted again, or not be scored again.
    fn doubt(&mut self, at: &str, set: &CounterfactualSet) {
        let Some(doubt) = set.doubt else { return };
        let here = format!("{at}.doubt");
        if !(2..=MOST_REPEATS).contains(&doubt.fit.get()) {
            let few = if doubt.fit.get() < 2 { "too few to differ" } else { "too many" };
            self.say(format!("{here}.fit"), m::fit_repeats_few(doubt.fit.get(), few, MOST_REPEATS));
        }
        let refused = match set.knobs() {
            _ if set.graphs().is_some() => Some(m::fit_doubt_of_graphs()),
            None => Some(m::fit_doubt_of_naive()),
            Some(knobs) if knobs.external().is_some() => Some(m::fit_doubt_of_external()),
            Some(_) => None,
        };
        if let Some(said) = refused {
            self.say(here, said);
            return;
        }
        if !self.is_sound(&["models"]) {
            return;
        }
        let asked =
            |(name, model): &(&Name, &ModelBlock)| set.asks(name) && model.scores_counterfactuals();
        let mut models = self.job.models.iter().filter(asked);
        if let Some((name, model)) = models.find(|(_, model)| !model.is_asked_in_process()) {
            let why = model.brought().map_or("trained elsewhere", |(_, knobs)| knobs.noun());
            self.say(here, m::fit_doubt_of_model(name, why));
        }
    }

    /// What a strategy that is fitted asks for, in the set of this name under this key.
    fn fitted(
        &mut self,
        at: &str,
        (name, key): (&Name, &str),
        set: &CounterfactualSet,
        knobs: &dyn FittedKnobs,
    ) {
        let here = format!("{at}.{key}");
        if !self.is_sound(&["data.features", "data.sensitive", "data.derive"]) {
            return;
        }
        let attributes = self.attributes_of(set);
        self.movable(&here, (name, key), &attributes, knobs);
        self.binned(&here, &attributes, knobs);
        self.condition(&format!("{here}.condition_on"), knobs.condition_on());
        self.ranges(&here, knobs);
        self.counterparts(&here, knobs);
        self.decorrelated(&here, &attributes, knobs.decorrelate());
        self.refused(&here, knobs.refusals());
        if let Some(ExternalSource::Program(program)) = knobs.external() {
            self.row_program(&format!("{here}.command"), program);
        }
    }

    /// The attributes that a set changes and that are declared.
    pub(super) fn attributes_of(&self, set: &CounterfactualSet) -> Vec<ColumnName> {
        let declared = self.job.data.sensitive.keys();
        declared.filter(|name| set.changes(name)).cloned().collect()
    }

    /// Complains about names in the list of what may change, or may not.
    fn movable(
        &mut self,
        here: &str,
        (name, key): (&Name, &str),
        attributes: &[ColumnName],
        knobs: &dyn FittedKnobs,
    ) {
        let data = &self.job.data;
        let columns = data.movable();
        if let Some((key, names)) = knobs.named_features() {
            let at = format!("{here}.{key}");
            if !self.check_distinct(&at, "feature", names) {
                return;
            }
            for (i, column) in names.iter().enumerate() {
                self.moves(format!("{at}[{i}]"), column, attributes);
            }
        }
        let free = |attribute: &ColumnName| {
            let set = data.set_with(attribute);
            columns.iter().any(|column| knobs.may_move(column.as_str()) && !set.contains(*column))
        };
        let stuck: Vec<&ColumnName> =
            attributes.iter().filter(|attribute| !free(attribute)).collect();
        if let Some(attribute) = stuck
            .first()
            .filter(|_| knobs.named_features().is_none_or(|(key, _)| key == "keep_fixed"))
        {
            self.say(here, m::nothing_to_move(key, name, attribute));
        }
    }

    /// Complains about a column that no strategy moves.
    fn moves(&mut self, at: String, column: &ColumnName, attributes: &[ColumnName]) {
        let data = &self.job.data;
        let columns = data.movable();
        let set_with = |attribute: &&ColumnName| data.set_with(attribute).contains(column);
        if data.is_derived(column) {
            let roots: Vec<String> = data.roots(column).iter().map(ToString::to_string).collect();
            self.say(at, m::move_derived(column, all(&roots)));
        } else if let Some(group) = data.onehot_of(column) {
            self.say(at, m::move_onehot_column(column, group));
        } else if !columns.contains(&column) {
            self.say(
                at,
                m::graph_unknown(
                    column,
                    suggest(
                        column.as_str(),
                        "features",
                        columns.into_iter().map(ColumnName::as_str),
                    ),
                ),
            );
        } else if !attributes.is_empty() && attributes.iter().all(|attribute| set_with(&attribute))
        {
            self.say(at, m::move_set_column(column, all(attributes)));
        }
    }

    /// Complains about an attribute that is binned from a number which a model may see and which
    /// may not move.
    fn binned(&mut self, here: &str, attributes: &[ColumnName], knobs: &dyn FittedKnobs) {
        let data = &self.job.data;
        let listed = data.movable();
        let mut found: Vec<(ColumnName, ColumnName)> = Vec::new();
        for attribute in attributes {
            let numbers = data.binned_below(attribute).into_iter();
            found.extend(
                numbers
                    .filter(|n| listed.contains(&n) && !knobs.may_move(n.as_str()))
                    .map(|n| (attribute.clone(), n)),
            );
        }
        for (attribute, number) in found {
            self.say(here, m::binned_not_moved(attribute, number));
        }
    }

    fn condition(&mut self, at: &str, condition: &ConditionOn) {
        let data = &self.job.data;
        if !self.is_sound(&["data.label", "data.reference", "data.split"]) {
            return;
        }
        match condition {
            ConditionOn::Label | ConditionOn::RawLabel if data.label.column().is_none() => {
                self.say(at, m::condition_no_label());
            }
            ConditionOn::Label | ConditionOn::RawLabel | ConditionOn::Nothing => {}
            ConditionOn::Prediction(name) => {
                let models = self.job.models.keys().map(Name::as_str);
                let here = format!("{at}.prediction");
                if !self.are_names_sound("models")
                    || !self.check_known(
                        "model",
                        here.clone(),
                        name.as_str(),
                        models,
                        "unknown-name",
                    )
                {
                    return;
                }
                let Some(model) = self
                    .job
                    .models
                    .get(name)
                    .filter(|_| self.is_sound(&[&path(&["models", name.as_str()])]))
                else {
                    return;
                };
                if scores_in_file(model) {
                    self.say(here, m::condition_of_scores(name));
                    return;
                }
                let trained = data.split.is_some() && data.reference.is_none();
                let labelled = data.label.column().is_some()
                    || data.reference.as_ref().is_some_and(|r| r.label.is_some());
                if !labelled && (trained || data.reference.is_some()) {
                    let said = if trained {
                        m::reference_no_label(name)
                    } else {
                        m::reference_no_own_label(name)
                    };
                    self.say(here, said);
                }
            }
        }
    }

    fn ranges(&mut self, here: &str, knobs: &dyn FittedKnobs) {
        for (column, bounds) in knobs.range() {
            let at = join(&format!("{here}.range"), column.as_str());
            if self.number_that_moves(&at, column, knobs, false) && bounds.0.get() > bounds.1.get()
            {
                self.say(at, m::range_order(column, bounds.0.get(), bounds.1.get()));
            }
        }
        for column in knobs.direction().keys() {
            let at = join(&format!("{here}.direction"), column.as_str());
            self.number_that_moves(&at, column, knobs, true);
        }
    }

    /// Complains about a column with a range or direction that has no order, or does not move.
    fn number_that_moves(
        &mut self,
        at: &str,
        column: &ColumnName,
        knobs: &dyn FittedKnobs,
        levels: bool,
    ) -> bool {
        let features = &self.job.data.features;
        let ordinal = features.ordinal.get(column);
        let ordered = features.continuous.contains(column)
            || ordinal.is_some_and(|o| levels || matches!(o, OrdinalOrder::Numbers(_)));
        if !ordered {
            let ordinal = features
                .ordinal
                .iter()
                .filter(|(_, o)| levels || matches!(o, OrdinalOrder::Numbers(_)))
                .map(|(name, _)| name);
            let known = features.continuous.iter().chain(ordinal).map(ColumnName::as_str);
            let said = if features.nominal.contains(column) || features.ordinal.contains_key(column)
            {
                m::levels_not_numbers(
                    column,
                    suggest(
                        column.as_str(),
                        if levels { "features with an order" } else { "features with numbers" },
                        known,
                    ),
                )
            } else {
                m::graph_unknown(
                    column,
                    suggest(
                        column.as_str(),
                        if levels { "features with an order" } else { "features with numbers" },
                        known,
                    ),
                )
            };
            self.say(at, said);
            return false;
        }
        if self.job.data.is_derived(column) || !knobs.may_move(column.as_str()) {
            self.say(at, m::check_not_moved(column));
            return false;
        }
        true
    }

    fn counterparts(&mut self, here: &str, knobs: &dyn FittedKnobs) {
        let Some(counterparts) = knobs.counterpart() else { return };
        for (column, pairs) in counterparts {
            let at = join(&format!("{here}.counterpart"), column.as_str());
            let data = &self.job.data;
            let sensitive = data
                .sensitive
                .keys()
                .map(|name| data.column_of(name))
                .filter(|column| !data.is_derived(column));
            let onehot = data.features.onehot.keys();
            let nominal: Vec<&ColumnName> = data
                .features
                .nominal
                .iter()
                .filter(|c| !data.is_derived(c))
                .chain(sensitive)
                .chain(onehot)
                .collect();
            if !nominal.contains(&column) {
                self.say(
                    at,
                    m::nominal_unknown(
                        column,
                        suggest(
                            column.as_str(),
                            "nominal features",
                            nominal.into_iter().map(ColumnName::as_str),
                        ),
                    ),
                );
                continue;
            }
            if !knobs.may_move(column.as_str()) {
                self.say(at, m::counterpart_not_moved(column));
                continue;
            }
            if pairs.is_empty() {
                self.say(at.clone(), m::counterpart_empty(column));
            }
            if let Some(group) = data.features.onehot.get(column) {
                let words = pairs.iter().flat_map(|(from, to)| [(from, from), (from, to)]);
                for (from, word) in words
                    .filter(|(_, word)| group.iter().all(|column| column.as_str() != word.as_str()))
                {
                    self.say(
                        join(&at, from.as_str()),
                        m::counterpart_unknown(
                            column,
                            word,
                            suggest(
                                word.as_str(),
                                "its columns",
                                group.iter().map(ColumnName::as_str),
                            ),
                        ),
                    );
                }
            }
            for (from, _) in pairs.iter().filter(|(from, to)| from == to) {
                self.say(join(&at, from.as_str()), m::counterpart_itself(from));
            }
        }
    }

    fn decorrelated(
        &mut self,
        here: &str,
        attributes: &[ColumnName],
        entries: &[DecorrelateBlock],
    ) {
        let data = &self.job.data;
        let labelled = data.label.column().is_some()
            || data.reference.as_ref().is_some_and(|r| r.label.is_some());
        if !entries.is_empty() && !labelled && self.is_sound(&["data.label", "data.reference"]) {
            self.say(format!("{here}.decorrelate"), m::decorrelate_no_label());
        }
        for (i, entry) in entries.iter().enumerate() {
            let at = format!("{here}.decorrelate[{i}]");
            if !self.attribute(format!("{at}.sensitive"), &entry.sensitive) {
                continue;
            }
            if entries[..i].iter().any(|other| other.sensitive == entry.sensitive) {
                self.say(format!("{at}.sensitive"), m::decorrelate_twice(&entry.sensitive));
            }
            let own = self.job.data.set_with(&entry.sensitive);
            let clash = attributes
                .iter()
                .find(|attribute| !self.job.data.set_with(attribute).is_disjoint(&own));
            if let Some(attribute) = clash {
                let others: Vec<&ColumnName> = attributes
                    .iter()
                    .filter(|a| self.job.data.set_with(a).is_disjoint(&own))
                    .collect();
                let said = if others.is_empty() {
                    m::decorrelate_changed(attribute, &entry.sensitive)
                } else {
                    m::decorrelate_changed_of(attribute, &entry.sensitive, list(&others))
                };
                self.say(format!("{at}.sensitive"), said);
            }
            if let MovableFeatures::These(names) = &entry.moves
                && self.check_distinct(&format!("{at}.move"), "feature", names)
            {
                for (k, column) in names.iter().enumerate() {
                    let at = format!("{at}.move[{k}]");
                    self.moves(at.clone(), column, std::slice::from_ref(&entry.sensitive));
                    let data = &self.job.data;
                    let says = |a: &&ColumnName| {
                        data.set_with(a).contains(column) || data.binned_below(a).contains(column)
                    };
                    if let Some(attribute) = attributes
                        .iter()
                        .find(says)
                        .filter(|_| clash.is_none() && !data.is_derived(column))
                    {
                        self.say(at, m::kept_group_moved(column, attribute));
                    }
                }
            }
        }
    }

    /// What is said about single columns.
    pub(super) fn single_columns(&mut self) {
        if !self.is_sound(&["data.columns", "data.features"]) {
            return;
        }
        let continuous = &self.job.data.features.continuous;
        for (name, _) in self
            .job
            .data
            .columns
            .iter()
            .filter(|(name, says)| says.integer.is_some() && !continuous.contains(name))
        {
            let at = join(&path(&["data", "columns", name.as_str()]), "integer");
            self.say(
                at,
                m::integer_unknown(
                    name,
                    suggest(
                        name.as_str(),
                        "continuous features",
                        continuous.iter().map(ColumnName::as_str),
                    ),
                ),
            );
        }
        self.spellings();
    }

    /// What the job says about columns fits their types and roles: only texts have blanks around
    /// them and capital letters, and only columns that are read have a type.
    fn spellings(&mut self) {
        let data = &self.job.data;
        if !self.is_sound(&["data", "models", "metrics"]) {
            return;
        }
        let known = self.columns_read();
        let features = &data.features;
        for (name, says) in &data.columns {
            let at = path(&["data", "columns", name.as_str()]);
            let Some(kind) = says.kind else { continue };
            let is_text = matches!(kind, DeclaredType::Text | DeclaredType::Date);
            if data.is_derived(name) {
                let roots: Vec<ColumnName> = data.roots(name).into_iter().collect();
                self.say(at, m::column_type_derived(name, list(&roots)));
            } else if !is_text && !says.spelling().is_plain() {
                self.say(at, m::spelling_of_numbers(name));
            } else if says.integer == Some(false) && kind == DeclaredType::Integer {
                self.say(at, m::integer_with_decimals(name));
            } else if !known.contains(name) {
                self.unread_column(at, name, &known);
            }
        }
        for (name, says) in data.columns.iter().filter(|(_, says)| !says.spelling().is_plain()) {
            let key = if says.trim { "trim" } else { "case" };
            let at = join(&path(&["data", "columns", name.as_str()]), key);
            let numbers = features.continuous.contains(name)
                || features.onehot.values().flatten().any(|column| column == name)
                || matches!(features.ordinal.get(name), Some(OrdinalOrder::Numbers(_)))
                || data.weight.as_ref() == Some(name);
            if data.is_derived(name) {
                let roots: Vec<ColumnName> = data.roots(name).into_iter().collect();
                self.say(at, m::spelling_derived(name, list(&roots)));
            } else if data.row_id.as_ref() == Some(name) {
                self.say(at, m::spelling_of_id(name));
            } else if numbers {
                self.say(at, m::spelling_no_letters(name));
            } else if says.kind.is_none() && !known.contains(name) {
                self.unread_column(at, name, &known);
            }
        }
    }

    /// A column that no part of the job reads.
    fn unread_column(&mut self, at: String, name: &ColumnName, known: &[ColumnName]) {
        self.say(
            at,
            m::column_unused(
                name,
                suggest(name.as_str(), "its columns", known.iter().map(ColumnName::as_str)),
            ),
        );
    }

    /// The file of the reference.
    pub(super) fn reference(&mut self) {
        let at = "data.reference";
        let Some(reference) = self.job.data.reference.as_ref().filter(|_| self.is_sound(&[at]))
        else {
            return;
        };
        if reference.parquet.is_empty() {
            self.empty_path("data.reference.parquet");
        }
        self.arrival(&["data", "reference"], reference.arrival(), true);
        let label = self.job.data.label.column().is_some();
        if let Some(positive) = &reference.positive {
            let words: Vec<&str> = positive.iter().map(|word| word.as_str()).collect();
            self.check_distinct("data.reference.positive", "value that counts as positive", &words);
            if reference.label.is_none() && !label && self.is_sound(&["data.label"]) {
                self.say(at, m::reference_positive_alone());
            }
        }
        let listed: Vec<&ColumnName> = self.job.data.listed_features().collect();
        if let Some(column) = reference.label.as_ref().filter(|column| listed.contains(column)) {
            self.say("data.reference.label", m::reference_label_feature(column));
        }
        if !self.job.has_fitted_sets()
            && self.are_names_sound("counterfactuals")
            && self.is_sound(&["counterfactuals"])
        {
            self.say(at, m::reference_unused());
        }
    }
}

/// Whether the scores of the rows as they are are in a file that may come later.
fn scores_in_file(model: &ModelBlock) -> bool {
    model.made_elsewhere().is_some_and(|scores| scores.factual.parquet.is_some())
}
