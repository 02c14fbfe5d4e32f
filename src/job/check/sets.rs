//! Checks counterfactual sets: their strategy, what may move, what they condition on, and the rows
//! they learn from.
//!
//! A strategy that is fitted may move the features that are columns of the source. A derived
//! feature follows from what moved; what the attribute is mapped or crossed from is set with it.
//! Anything that cannot be done is refused here, with what to do instead.

use crate::counterfactual::decorrelate_knobs::DecorrelateBlock;
use crate::counterfactual::plan::{ExternalSource, StrategyPlan};
use crate::counterfactual::short_forms::{ConditionOn, MovableFeatures};
use crate::counterfactual::strategy;
use crate::data::column::declared::DeclaredType;
use crate::data::prepare::params::OrdinalOrder;
use crate::job::messages::{self as m, Said};
use crate::job::read::tree::join;
use crate::job::read::word_lists::{all, all_or_none, list, suggest};
use crate::job::{CounterfactualSet, MetricFamily, ModelBlock};
use crate::param::{ColumnName, Finite, Name};

use super::defaults::families;
use super::models::noun;
use super::names::numbered;
use super::{JobChecker, path};

/// The name of the unchanged rows where sets are listed by name.
const FACTUAL: &str = "factual";

impl JobChecker<'_> {
    /// What a run leaves: its page, with the people shown and mapped there, rows, and the formats
    /// of other tools.
    pub(super) fn report(&mut self) {
        self.exports();
        self.kept_rows();
        self.words();
        let job = self.job;
        let moved = families(job).contains(&MetricFamily::CfQuality) && job.has_fitted_sets();
        let map = job.report.map.filter(|_| !moved);
        self.say("report.map", map.map(|_| m::map_no_set()));
        let makes_none = job.counterfactuals.values().all(|set| set.graphs().is_some());
        self.say("report.cases", (makes_none && job.report.cases > 0).then(m::cases_no_set));
    }

    /// The rows that are to be kept, and the rows to score that are written for models whose scores
    /// come in files.
    fn kept_rows(&mut self) {
        let job = self.job;
        let mut scores = job.models.values().filter_map(|model| model.given_scores());
        let waits = scores.any(|s| s.factual.parquet.is_some() || s.counterfactual.is_some());
        let is_idle = job.run.to_score.is_some() && !waits;
        self.say("run.to_score", is_idle.then(m::handed_out_without_scores));
        if !job.run.keeps_counterfactuals() {
            return;
        }
        let at = "run.keep_rows";
        let makes_none = job.counterfactuals.values().all(CounterfactualSet::makes_no_rows);
        self.say(at, makes_none.then(m::kept_no_set));
        let keys =
            ["row_id", "sensitive", "from_group", "to_group", "cf_index", "valid", "changed"];
        let files = "the files of counterfactuals";
        self.key_columns(at, &keys, files, "the rows that are kept hold both");
    }

    /// One counterfactual set.
    pub(super) fn set(&mut self, name: &Name, set: &CounterfactualSet) {
        let at = path(&["counterfactuals", name.as_str()]);
        self.say(&at, (name.as_str() == FACTUAL).then(|| m::set_named_factual(FACTUAL)));
        let keys = set.keys();
        let strategies = || m::set_strategies(name, all_or_none(&keys), strategy::examples());
        self.say(&at, (keys.len() != 1).then(strategies));
        self.naive_reaches(&at, set);
        for (place, attribute) in numbered(join(&at, "sensitive"), set.sensitive.iter().flatten()) {
            self.attribute(place, attribute);
        }
        self.fitted(&at, name, set);
        self.graphs(&at, name, set);
        if set.placebo.is_some() {
            self.placebo(&join(&at, "placebo"), set);
        }
        self.say(join(&at, "doubt"), set.doubt.and_then(|_| self.no_doubt(set)));
        for (place, model) in numbered(join(&at, "models"), set.models.iter().flatten()) {
            self.model_named(place, model);
        }
    }

    fn placebo(&mut self, at: &str, set: &CounterfactualSet) {
        let Some(knobs) = set.knobs() else { return };
        self.say(at, knobs.external().map(|_| m::placebo_of_external()));
        let external = self.job.models.iter().find(|(_, model)| !model.is_trained_here());
        self.say(at, external.map(|(name, model)| m::placebo_of_model(name, noun(model))));
    }

    /// Why a set cannot be fitted again, or not be scored again.
    fn no_doubt(&self, set: &CounterfactualSet) -> Option<Said> {
        match set.knobs() {
            _ if set.graphs().is_some() => return Some(m::fit_doubt_of_graphs()),
            None => return Some(m::fit_doubt_of_naive()),
            Some(knobs) if knobs.external().is_some() => return Some(m::fit_doubt_of_external()),
            Some(_) => {}
        }
        let asked =
            |(name, model): &(&Name, &ModelBlock)| set.asks(name) && model.scores_counterfactuals();
        let mut models = self.job.models.iter().filter(asked);
        let (name, model) = models.find(|(_, model)| !model.is_asked_in_process())?;
        Some(m::fit_doubt_of_model(name, noun(model)))
    }

    /// What a fitted strategy requires.
    fn fitted(&mut self, at: &str, name: &Name, set: &CounterfactualSet) {
        let mut strategies = set.strategies().into_iter();
        let fitted = strategies.find_map(|strategy| Some((strategy, strategy.knobs().plan()?)));
        let Some((strategy, knobs)) = fitted else { return };
        let (key, knobs) = (strategy.key(), &knobs);
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
        let (columns, named) = (data.movable(), knobs.named_features());
        for (place, column) in
            named.into_iter().flat_map(|(key, names)| numbered(join(here, key), names))
        {
            self.moves(place, column, attributes);
        }
        let is_stuck = |attribute: &&ColumnName| {
            let set = data.set_with(attribute);
            !columns.iter().any(|column| knobs.may_move(column.as_str()) && !set.contains(*column))
        };
        let stuck = attributes.iter().find(is_stuck);
        let stuck = stuck.filter(|_| named.is_none_or(|(key, _)| key == "keep_fixed"));
        self.say(here, stuck.map(|attribute| m::nothing_to_move(key, name, attribute)));
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
                let is_stuck = listed.contains(&&number) && !knobs.may_move(number.as_str());
                self.say(here, is_stuck.then(|| m::binned_not_moved(attribute, number)));
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
                let here = join(at, "prediction");
                let Some(model) = self.model_named(here.as_str(), name) else { return };
                let trained = data.split.is_some() && data.reference.is_none();
                let given = model.given_scores();
                let said = if given.is_some_and(|scores| scores.factual.parquet.is_some()) {
                    m::condition_of_scores(name)
                } else if self.learns_labels() || !trained && data.reference.is_none() {
                    return;
                } else if trained {
                    m::reference_no_label(name)
                } else {
                    m::reference_no_own_label(name)
                };
                self.say(here, said);
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
            let at = join(&join(here, "range"), column.as_str());
            let [least, most] = bounds.0.map(Finite::get);
            let fits = self.number_that_moves(&at, column, knobs, false) && least > most;
            self.say(at, fits.then(|| m::range_order(column, least, most)));
        }
        for column in knobs.direction.keys() {
            let at = join(&join(here, "direction"), column.as_str());
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
        let ordinal = features.ordinal.iter();
        let ordinal = ordinal.filter(|(_, o)| levels || matches!(o, OrdinalOrder::Numbers(_)));
        let ordinal = ordinal.map(|(name, _)| name);
        let known: Vec<&ColumnName> = features.continuous.iter().chain(ordinal).collect();
        let what = if levels { "features with an order" } else { "features with numbers" };
        let is_level = features.nominal.contains(column) || features.ordinal.contains_key(column);
        let unknown = |near: String| match is_level {
            true => m::levels_not_numbers(column, near),
            false => m::graph_unknown(column, near),
        };
        if !self.one_of(at, column, (what, known), unknown) {
            return false;
        }
        let moves = !self.job.data.is_derived(column) && knobs.may_move(column.as_str());
        self.say(at, (!moves).then(|| m::check_not_moved(column)));
        moves
    }

    fn counterparts(&mut self, here: &str, knobs: &StrategyPlan<'_>) {
        let data = &self.job.data;
        let sensitive = data.sensitive.keys().map(|name| data.column_of(name));
        let nominal = data.features.nominal.iter().chain(sensitive);
        let nominal = nominal.filter(|column| !data.is_derived(column));
        let nominal: Vec<_> = nominal.chain(data.features.onehot.keys()).collect();
        for (column, pairs) in knobs.counterpart.into_iter().flatten() {
            let at = join(&join(here, "counterpart"), column.as_str());
            let unknown = |near: String| m::nominal_unknown(column, near);
            if !self.one_of(at.as_str(), column, ("nominal features", &nominal), unknown) {
                continue;
            }
            if !knobs.may_move(column.as_str()) {
                self.say(at, m::counterpart_not_moved(column));
                continue;
            }
            self.say(&at, pairs.is_empty().then(|| m::counterpart_empty(column)));
            let group = data.features.onehot.get(column);
            for (from, to) in pairs {
                let at = join(&at, from.as_str());
                for (word, group) in [from, to].into_iter().zip(group.into_iter().cycle()) {
                    let unknown = |near: String| m::counterpart_unknown(column, word, near);
                    self.one_of(at.as_str(), word, ("its columns", group), unknown);
                }
                self.say(at, (from == to).then(|| m::counterpart_itself(from)));
            }
        }
    }

    fn decorrelated(
        &mut self,
        here: &str,
        attributes: &[ColumnName],
        entries: &[DecorrelateBlock],
    ) {
        let here = join(here, "decorrelate");
        let lacks_label = !entries.is_empty() && !self.learns_labels();
        self.say(&here, lacks_label.then(m::decorrelate_no_label));
        let data = &self.job.data;
        for (i, (at, entry)) in numbered(here, entries).enumerate() {
            let (own, here) = (&entry.sensitive, join(&at, "sensitive"));
            if !self.attribute(here.as_str(), own) {
                continue;
            }
            let is_twice = entries[..i].iter().any(|other| other.sensitive == *own);
            self.say(&here, is_twice.then(|| m::decorrelate_twice(own)));
            let set = data.set_with(own);
            let is_apart = |other: &&ColumnName| data.set_with(other).is_disjoint(&set);
            let clash = attributes.iter().find(|attribute| !is_apart(attribute));
            let said = clash.map(|attribute| {
                let others: Vec<&ColumnName> = attributes.iter().filter(is_apart).collect();
                match others.as_slice() {
                    [] => m::decorrelate_changed(attribute, own),
                    others => m::decorrelate_changed_of(attribute, own, list(others)),
                }
            });
            self.say(here, said);
            let MovableFeatures::These(names) = &entry.moves else { continue };
            for (at, column) in numbered(join(&at, "move"), names) {
                self.moves(at.clone(), column, std::slice::from_ref(own));
                let says = |a: &&ColumnName| {
                    data.set_with(a).contains(column) || data.binned_below(a).contains(column)
                };
                let kept = attributes.iter().find(says);
                let kept = kept.filter(|_| clash.is_none() && !data.is_derived(column));
                self.say(at, kept.map(|attribute| m::kept_group_moved(column, attribute)));
            }
        }
    }

    /// What is said about single columns fits their types and roles: only texts have blanks around
    /// them and capital letters, and only columns that are read have a type.
    pub(super) fn single_columns(&mut self) {
        let (data, known) = (&self.job.data, self.columns_read());
        let features = &data.features;
        let roots = |name: &ColumnName| list(&Vec::from_iter(data.roots(name)));
        let unread = |name: &ColumnName| {
            let is_unread = !known.contains(name);
            is_unread.then(|| m::column_unused(name, suggest(name, "its columns", &known)))
        };
        for (name, says) in &data.columns {
            let at = path(&["data", "columns", name.as_str()]);
            if says.integer.is_some() {
                let unknown = |near: String| m::integer_unknown(name, near);
                let known = ("continuous features", &features.continuous);
                self.one_of(join(&at, "integer"), name, known, unknown);
            }
            let (is_plain, is_derived) = (says.spelling().is_plain(), data.is_derived(name));
            let is_text = matches!(says.kind, Some(DeclaredType::Text | DeclaredType::Date));
            let said = match says.kind {
                None => None,
                Some(_) if is_derived => Some(m::column_type_derived(name, roots(name))),
                Some(_) if !is_text && !is_plain => Some(m::spelling_of_numbers(name)),
                Some(DeclaredType::Integer) if says.integer == Some(false) => {
                    Some(m::integer_with_decimals(name))
                }
                Some(_) => unread(name),
            };
            self.say(&at, said);
            let numbers = features.continuous.contains(name)
                || features.onehot.values().flatten().any(|column| column == name)
                || matches!(features.ordinal.get(name), Some(OrdinalOrder::Numbers(_)))
                || data.weight.as_ref() == Some(name);
            let said = match says.kind {
                _ if is_plain => None,
                _ if is_derived => Some(m::spelling_derived(name, roots(name))),
                _ if data.row_id.as_ref() == Some(name) => Some(m::spelling_of_id(name)),
                _ if numbers => Some(m::spelling_no_letters(name)),
                Some(_) => None,
                None => unread(name),
            };
            self.say(join(&at, if says.trim { "trim" } else { "case" }), said);
        }
    }

    /// The file of the reference.
    pub(super) fn reference(&mut self) {
        let (data, at) = (&self.job.data, "data.reference");
        let Some(reference) = &data.reference else { return };
        let own = data.label.column().is_some() || reference.label.is_some();
        let is_alone = reference.positive.is_some() && !own;
        self.say(at, is_alone.then(m::reference_positive_alone));
        let is_listed = |column: &&ColumnName| data.listed_features().any(|other| other == *column);
        let listed = reference.label.as_ref().filter(is_listed);
        self.say("data.reference.label", listed.map(m::reference_label_feature));
        self.say(at, (!self.job.has_fitted_sets()).then(m::reference_unused));
    }
}
