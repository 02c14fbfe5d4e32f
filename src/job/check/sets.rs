//! Checks counterfactual sets: their strategy, what may move, what they condition on, and the rows
//! they learn from.
//!
//! A strategy that is fitted may move the features that are columns of the source. A derived
//! feature follows from what moved; what the attribute is mapped or crossed from is set with it.
//! Anything that cannot be done is refused here, with what to do instead.

use crate::counterfactual::decorrelate_knobs::DecorrelateBlock;
use crate::counterfactual::fit::{ExternalSource, StrategyPlan};
use crate::counterfactual::forms::{ConditionOn, MovableFeatures};
use crate::counterfactual::strategy::{self, StrategyBlock};
use crate::data::column::declared::DeclaredType;
use crate::data::prepare::params::OrdinalOrder;
use crate::job::messages as m;
use crate::job::read::nearest::{all, all_or_none, list, suggest};
use crate::job::read::tree::join;
use crate::job::{CounterfactualSet, ModelBlock};
use crate::param::{ColumnName, Name};

use super::{JobChecker, path};

/// The name of the rows as they are, where sets are called by their names.
const FACTUAL: &str = "factual";

impl JobChecker<'_> {
    /// The people whom the report is to show.
    pub(super) fn report(&mut self) {
        let (cases, at) = (self.job.report.cases, "report.cases");
        if cases == 0 {
            return;
        }
        if self.job.counterfactuals.values().all(|set| set.graphs().is_some()) {
            self.say(at, m::cases_no_set());
        } else if self.job.data.label.classes().is_some() {
            self.say(at, m::cases_of_classes());
        }
    }

    /// The rows that are to be kept, and those to score, which models have whose scores come in
    /// files.
    pub(super) fn kept_rows(&mut self) {
        let mut scores = self.job.models.values().filter_map(|model| model.made_elsewhere());
        let waits = scores.any(|of| of.factual.parquet.is_some() || of.counterfactual.is_some());
        if self.job.run.to_score.is_some() && !waits {
            self.say("run.to_score", m::handed_out_without_scores());
        }
        if !self.job.run.keeps_counterfactuals() {
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
        if name.as_str() == FACTUAL {
            self.say(at.clone(), m::set_named_factual(FACTUAL));
        }
        self.strategy(&at, name, set);
        self.naive_reaches(&at, set);
        self.changed_attributes(&at, set);
        let mut strategies = set.strategies().into_iter();
        let fitted = strategies.find_map(|of| Some((of, of.knobs().plan()?)));
        if let Some((strategy, plan)) = fitted {
            self.fitted(&at, (name, strategy), set, &plan);
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
        for (i, model) in set.models.iter().flatten().enumerate() {
            self.model_named(format!("{at}.models[{i}]"), model);
        }
    }

    fn strategy(&mut self, at: &str, name: &Name, set: &CounterfactualSet) {
        let found = set.keys();
        if found.len() != 1 {
            self.say(at, m::set_strategies(name, all_or_none(&found), strategy::examples()));
        }
    }

    fn changed_attributes(&mut self, at: &str, set: &CounterfactualSet) {
        for (i, attribute) in set.sensitive.iter().flatten().enumerate() {
            self.attribute(format!("{at}.sensitive[{i}]"), attribute);
        }
    }

    fn placebo(&mut self, at: &str, set: &CounterfactualSet) {
        if set.placebo.is_none() {
            return;
        }
        if set.knobs().is_some_and(|knobs| knobs.external().is_some()) {
            self.say(format!("{at}.placebo"), m::placebo_of_external());
        }
        if set.knobs().is_none() {
            return;
        }
        let elsewhere = self.job.models.iter().find(|(_, model)| !model.is_trained_here());
        if let Some((name, model)) = elsewhere {
            let why = model.brought().map_or("trained elsewhere", |(_, model)| model.noun);
            self.say(format!("{at}.placebo"), m::placebo_of_model(name, why));
        }
    }

    /// Complains where a set cannot be fitted again, or not be scored again.
    fn doubt(&mut self, at: &str, set: &CounterfactualSet) {
        if set.doubt.is_none() {
            return;
        }
        let here = format!("{at}.doubt");
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
        let asked =
            |(name, model): &(&Name, &ModelBlock)| set.asks(name) && model.scores_counterfactuals();
        let mut models = self.job.models.iter().filter(asked);
        if let Some((name, model)) = models.find(|(_, model)| !model.is_asked_in_process()) {
            let why = model.brought().map_or("trained elsewhere", |(_, model)| model.noun);
            self.say(here, m::fit_doubt_of_model(name, why));
        }
    }

    /// What a strategy that is fitted asks for, in the set of this name under this key.
    fn fitted(
        &mut self,
        at: &str,
        (name, strategy): (&Name, StrategyBlock<'_>),
        set: &CounterfactualSet,
        knobs: &StrategyPlan<'_>,
    ) {
        let key = strategy.key();
        let here = format!("{at}.{key}");
        if !self.is_sound(&["data.features", "data.sensitive", "data.derive"]) {
            return;
        }
        let attributes = self.attributes_of(set);
        self.movable(&here, (name, key), &attributes, knobs);
        self.binned(&here, &attributes, knobs);
        self.condition(&format!("{here}.condition_on"), knobs.condition_on);
        self.ranges(&here, knobs);
        self.counterparts(&here, knobs);
        self.decorrelated(&here, &attributes, knobs.decorrelate);
        self.refused(&here, strategy.knobs().refusals());
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
        knobs: &StrategyPlan<'_>,
    ) {
        let data = &self.job.data;
        let columns = data.movable();
        if let Some((key, names)) = knobs.named_features() {
            for (i, column) in names.iter().enumerate() {
                self.moves(format!("{here}.{key}[{i}]"), column, attributes);
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
        let is_set = |attribute: &ColumnName| data.set_with(attribute).contains(column);
        let said = if data.is_derived(column) {
            m::move_derived(column, all(&Vec::from_iter(data.roots(column))))
        } else if let Some(group) = data.onehot_of(column) {
            m::move_onehot_column(column, group)
        } else if !columns.contains(&column) {
            m::graph_unknown(column, suggest(column, "features", columns))
        } else if !attributes.is_empty() && attributes.iter().all(is_set) {
            m::move_set_column(column, all(attributes))
        } else {
            return;
        };
        self.say(at, said);
    }

    /// Complains about an attribute that is binned from a number which a model may see and which
    /// may not move.
    fn binned(&mut self, here: &str, attributes: &[ColumnName], knobs: &StrategyPlan<'_>) {
        let data = &self.job.data;
        let listed = data.movable();
        for attribute in attributes {
            for number in data.binned_below(attribute) {
                if listed.contains(&&number) && !knobs.may_move(number.as_str()) {
                    self.say(here, m::binned_not_moved(attribute, number));
                }
            }
        }
    }

    fn condition(&mut self, at: &str, condition: &ConditionOn) {
        let data = &self.job.data;
        match condition {
            ConditionOn::Label | ConditionOn::RawLabel if data.label.column().is_none() => {
                self.say(at, m::condition_no_label());
            }
            ConditionOn::Label | ConditionOn::RawLabel | ConditionOn::Nothing => {}
            ConditionOn::Prediction(name) => {
                let here = format!("{at}.prediction");
                let model = self.model_named(here.as_str(), name);
                let Some(model) = model else { return };
                if scores_in_file(model) {
                    self.say(here, m::condition_of_scores(name));
                    return;
                }
                let trained = data.split.is_some() && data.reference.is_none();
                if !self.learns_labels() && (trained || data.reference.is_some()) {
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

    /// Whether the rows that strategies learn from have labels.
    fn learns_labels(&self) -> bool {
        let data = &self.job.data;
        data.label.column().is_some() || data.reference.as_ref().is_some_and(|r| r.label.is_some())
    }

    fn ranges(&mut self, here: &str, knobs: &StrategyPlan<'_>) {
        for (column, bounds) in knobs.range {
            let at = join(&format!("{here}.range"), column.as_str());
            if self.number_that_moves(&at, column, knobs, false) && bounds.0.get() > bounds.1.get()
            {
                self.say(at, m::range_order(column, bounds.0.get(), bounds.1.get()));
            }
        }
        for column in knobs.direction.keys() {
            let at = join(&format!("{here}.direction"), column.as_str());
            self.number_that_moves(&at, column, knobs, true);
        }
    }

    /// Complains about a column with a range or direction that has no order, or does not move.
    fn number_that_moves(
        &mut self,
        at: &str,
        column: &ColumnName,
        knobs: &StrategyPlan<'_>,
        levels: bool,
    ) -> bool {
        let features = &self.job.data.features;
        let ordinal_of = features.ordinal.get(column);
        let ordered = features.continuous.contains(column)
            || ordinal_of.is_some_and(|o| levels || matches!(o, OrdinalOrder::Numbers(_)));
        if !ordered {
            let is_known = |o: &OrdinalOrder| levels || matches!(o, OrdinalOrder::Numbers(_));
            let ordinal = features.ordinal.iter().filter(|(_, order)| is_known(order));
            let known = features.continuous.iter().chain(ordinal.map(|(name, _)| name));
            let what = if levels { "features with an order" } else { "features with numbers" };
            let near = suggest(column, what, known);
            let is_level = features.nominal.contains(column) || ordinal_of.is_some();
            let said = if is_level {
                m::levels_not_numbers(column, near)
            } else {
                m::graph_unknown(column, near)
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

    fn counterparts(&mut self, here: &str, knobs: &StrategyPlan<'_>) {
        for (column, pairs) in knobs.counterpart.into_iter().flatten() {
            let at = join(&format!("{here}.counterpart"), column.as_str());
            let data = &self.job.data;
            let sensitive = data.sensitive.keys().map(|name| data.column_of(name));
            let nominal = data.features.nominal.iter().chain(sensitive);
            let nominal = nominal.filter(|column| !data.is_derived(column));
            let nominal: Vec<_> = nominal.chain(data.features.onehot.keys()).collect();
            if !nominal.contains(&column) {
                let near = suggest(column, "nominal features", nominal);
                self.say(at, m::nominal_unknown(column, near));
                continue;
            }
            if !knobs.may_move(column.as_str()) {
                self.say(at, m::counterpart_not_moved(column));
                continue;
            }
            if pairs.is_empty() {
                self.say(at.clone(), m::counterpart_empty(column));
            }
            let group = data.features.onehot.get(column);
            let words = pairs.iter().flat_map(|(from, to)| [(from, from), (from, to)]);
            for (from, word) in words {
                if let Some(group) = group
                    && group.iter().all(|column| column.as_str() != word.as_str())
                {
                    let near = suggest(word, "its columns", group);
                    self.say(join(&at, from.as_str()), m::counterpart_unknown(column, word, near));
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
        if !entries.is_empty() && !self.learns_labels() {
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
            if let MovableFeatures::These(names) = &entry.moves {
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
        let continuous = &self.job.data.features.continuous;
        for (name, says) in &self.job.data.columns {
            if says.integer.is_some() && !continuous.contains(name) {
                let near = suggest(name, "continuous features", continuous);
                let at = path(&["data", "columns", name.as_str(), "integer"]);
                self.say(at, m::integer_unknown(name, near));
            }
        }
        self.spellings();
    }

    /// What the job says about columns fits their types and roles: only texts have blanks around
    /// them and capital letters, and only columns that are read have a type.
    fn spellings(&mut self) {
        let data = &self.job.data;
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
        self.say(at, m::column_unused(name, suggest(name, "its columns", known)));
    }

    /// The file of the reference.
    pub(super) fn reference(&mut self) {
        let at = "data.reference";
        let Some(reference) = &self.job.data.reference else { return };
        let label = self.job.data.label.column().is_some();
        if reference.positive.is_some() && reference.label.is_none() && !label {
            self.say(at, m::reference_positive_alone());
        }
        let is_listed =
            |of: &&ColumnName| self.job.data.listed_features().any(|other| other == *of);
        if let Some(column) = reference.label.as_ref().filter(is_listed) {
            self.say("data.reference.label", m::reference_label_feature(column));
        }
        if !self.job.has_fitted_sets() {
            self.say(at, m::reference_unused());
        }
    }
}

/// Whether the scores of the rows as they are are in a file that may come later.
fn scores_in_file(model: &ModelBlock) -> bool {
    model.made_elsewhere().is_some_and(|scores| scores.factual.parquet.is_some())
}
