//! Checks the block `recourse`, the bins that it uses, and gates on it.

use crate::data::prepare::derive::DerivationRecipe;
use crate::data::prepare::params::OrdinalOrder;
use crate::job::messages as m;
use crate::job::read::tree::join;
use crate::job::read::word_lists::{list, suggest};
use crate::job::schema::types_schema;
use crate::job::{GateBlock, GateDecideBy};
use crate::param::{ColumnName, Word, key_word};
use crate::recourse::definition::{RecourseCriterion, RecourseDefinition};
use crate::recourse::feature::{ChangeDirection, LevelDistance, TraitPredicate};
use crate::recourse::knobs::{self, DefinitionSettings, NamedBins, RecourseBins, RecourseBlock};

use super::names::numbered;
use super::{JobChecker, path};

/// How recourse reads a column.
#[derive(Debug, Clone, PartialEq)]
enum RecourseKind {
    /// Numbers, in ascending or descending order.
    Numbers,
    /// Numbers whose order counts.
    OrderedNumbers,
    /// Levels in an order, named where the job names them.
    Ordered(Vec<Word>),
    /// Levels without an order.
    Nominal,
}

impl RecourseBlock {
    /// Whether people may change a column.
    pub(super) fn changes(&self, column: &ColumnName) -> bool {
        let rule = self.may_change.get(column);
        rule.is_some_and(|rule| rule.direction().0 != ChangeDirection::Never)
    }
}

impl JobChecker<'_> {
    /// The blocks `data.bins` and `recourse`.
    pub(super) fn recourse(&mut self) {
        for (column, bins) in &self.job.data.bins {
            self.bins_of(&path(&["data", "bins", column.as_str()]), column, bins);
        }
        for (attribute, recourse) in &self.job.recourse {
            let at = path(&["recourse", attribute.as_str()]);
            self.attribute(at.as_str(), attribute);
            self.one_recourse(&at, attribute, recourse);
        }
    }

    fn bins_of(&mut self, at: &str, column: &ColumnName, bins: &RecourseBins) {
        match bins {
            RecourseBins::Edges(edges) => self.edges(at, edges),
            RecourseBins::Levels(NamedBins { levels }) => {
                self.named_bins(&format!("{at}.levels"), levels);
            }
        }
        let data = &self.job.data;
        let unknown = |near: String| match data.listed_features().any(|listed| listed == column) {
            true => m::bins_of_no_number(column, near),
            false => m::bins_unknown(column, near),
        };
        self.one_of(at, column, ("continuous features", &data.features.continuous), unknown);
    }

    fn one_recourse(&mut self, at: &str, attribute: &ColumnName, recourse: &RecourseBlock) {
        let (here, name) = (join(at, "model"), &recourse.model);
        let model = self.model_named(here.as_str(), name);
        let is_given = model.is_some_and(|model| model.given_scores().is_some());
        self.say(here, is_given.then(|| m::recourse_of_scores(name)));
        for (key, support) in
            [("subgroups", recourse.subgroups.support), ("actions", recourse.actions.support)]
        {
            let is_none = knobs::share(support).is_none();
            let said = is_none.then(|| m::support_no_share(support.get()));
            self.say(format!("{at}.{key}.support"), said);
        }
        if self.is_sound(&["data.features", "data.sensitive", "data.derive", "data.bins"]) {
            self.may_change(&join(at, "may_change"), attribute, recourse);
            self.predicates(&join(at, "predicates"), attribute, recourse);
            self.cost(&join(at, "cost"), attribute, recourse);
        }
        self.definitions(&join(at, "definitions"), &recourse.definitions);
        self.views(at, recourse);
        match (recourse.no_way_costs, recourse.definitions.mean_recourse.is_some()) {
            (Some(_), false) => self.say(join(at, "no_way_costs"), m::no_way_cost_unused()),
            (None, true) => {
                self.say(format!("{at}.definitions.mean-recourse"), m::no_way_cost_missing());
            }
            _ => {}
        }
    }

    /// How recourse reads a column that may be in subgroups; `None` where no column of that name
    /// may.
    fn recourse_kind(&self, attribute: &ColumnName, column: &ColumnName) -> Option<RecourseKind> {
        let (data, features) = (&self.job.data, &self.job.data.features);
        if features.onehot.contains_key(column) {
            return Some(RecourseKind::Nominal);
        }
        if self.concerns_attribute(attribute, column)
            || data.onehot_of(column).is_some()
            || self.follows(column)
        {
            return None;
        }
        let derived = data.derived().into_iter().find(|(name, _)| name == column);
        let ordered = |levels| Some(RecourseKind::Ordered(levels));
        match (data.bins.get(column), features.ordinal.get(column), derived) {
            (Some(bins), ..) => {
                ordered(bins.bins().into_iter().map(|bin| Word(bin.name)).collect())
            }
            (_, Some(OrdinalOrder::Levels(levels)), _) => ordered(levels.clone()),
            (_, Some(OrdinalOrder::Numbers(_)), _) => Some(RecourseKind::OrderedNumbers),
            _ if features.continuous.contains(column) => Some(RecourseKind::Numbers),
            // Bins have an order regardless of the listed kind.
            (.., Some((_, recipe @ DerivationRecipe::Bins { .. }))) => {
                ordered(recipe.declared_names())
            }
            _ => data.inputs().contains(&column).then_some(RecourseKind::Nominal),
        }
    }

    /// Whether a column is that of the attribute, what it is derived from, or made of that.
    fn concerns_attribute(&self, attribute: &ColumnName, column: &ColumnName) -> bool {
        let data = &self.job.data;
        let own = data.roots(data.column_of(attribute));
        column == data.column_of(attribute)
            || data.roots(column).iter().any(|root| own.contains(root))
    }

    /// Whether a column follows from a feature.
    fn follows(&self, column: &ColumnName) -> bool {
        let (data, roots) = (&self.job.data, self.job.data.roots(column));
        data.is_derived(column) && data.listed_features().any(|listed| roots.contains(listed))
    }

    /// Complains about a column that recourse does not read.
    fn check_recourse_column(
        &mut self,
        here: &str,
        attribute: &ColumnName,
        column: &ColumnName,
    ) -> Option<RecourseKind> {
        let (data, kind) = (&self.job.data, self.recourse_kind(attribute, column));
        if kind.is_some() {
            return kind;
        }
        let said = if self.concerns_attribute(attribute, column)
            && (data.is_derived(column) || data.inputs().contains(&column))
        {
            m::action_of_attribute(column, attribute)
        } else if let Some(group) = data.onehot_of(column) {
            m::action_of_onehot(column, group)
        } else if self.follows(column) {
            m::action_of_derived(column)
        } else {
            let names = data.movable().into_iter().filter(|name| *name != attribute);
            m::graph_unknown(column, suggest(column, "features", names))
        };
        self.say(here, said);
        None
    }

    fn may_change(&mut self, at: &str, attribute: &ColumnName, recourse: &RecourseBlock) {
        for (column, rule) in &recourse.may_change {
            let here = join(at, column.as_str());
            let Some(kind) = self.check_recourse_column(&here, attribute, column) else { continue };
            let (direction, _) = rule.direction();
            let is_ordered = matches!(direction, ChangeDirection::Up | ChangeDirection::Down);
            let lacks_order = is_ordered && kind == RecourseKind::Nominal;
            self.say(&here, lacks_order.then(|| m::action_no_order(column)));
            let RecourseKind::Ordered(levels) = &kind else { continue };
            for (place, level) in
                numbered(format!("{here}.{}.not_to", key_word(rule)), rule.not_to())
            {
                let unknown = |near: String| m::level_unknown(column, level, near);
                self.one_of(place, level, ("its levels", levels), unknown);
            }
        }
        let changes = recourse.may_change.keys().any(|column| recourse.changes(column));
        let is_empty = !changes && !self.has_problem(&[at]);
        self.say(at, is_empty.then(m::actions_empty));
    }

    /// Traits "at or above" need an order, and a column that no action changes: people with such a
    /// trait have several levels, so a change does not have a single cost.
    fn predicates(&mut self, at: &str, attribute: &ColumnName, recourse: &RecourseBlock) {
        for (column, predicate) in &recourse.predicates {
            let here = join(at, column.as_str());
            let Some(kind) = self.check_recourse_column(&here, attribute, column) else { continue };
            if *predicate == TraitPredicate::Equals {
                continue;
            }
            let may_change = recourse.changes(column);
            let said = match kind {
                RecourseKind::Nominal => Some(m::predicate_no_order(column)),
                RecourseKind::Numbers => Some(m::predicate_no_bins(column)),
                RecourseKind::Ordered(_) | RecourseKind::OrderedNumbers => {
                    may_change.then(|| m::predicate_may_change(column))
                }
            };
            self.say(here, said);
        }
    }

    fn cost(&mut self, at: &str, attribute: &ColumnName, recourse: &RecourseBlock) {
        for column in recourse.cost.weights.keys() {
            let here = join(&format!("{at}.weights"), column.as_str());
            self.check_recourse_column(&here, attribute, column);
        }
        for (column, cost) in &recourse.cost.columns {
            let here = join(&format!("{at}.columns"), column.as_str());
            let Some(kind) = self.check_recourse_column(&here, attribute, column) else { continue };
            let is_number = matches!(kind, RecourseKind::Numbers | RecourseKind::OrderedNumbers);
            let is_ordered =
                matches!(kind, RecourseKind::Ordered(_) | RecourseKind::OrderedNumbers);
            let (fits, what) = match cost {
                LevelDistance::RangeShare | LevelDistance::Absolute => {
                    (is_number, "no numbers, so its values have no difference")
                }
                LevelDistance::Positions => (is_ordered, "no positions to count"),
                LevelDistance::Unit => (true, ""),
            };
            let said = match kind {
                RecourseKind::Nominal => m::cost_of_names(column, what),
                RecourseKind::Ordered(_) => m::cost_of_levels(column, what),
                _ => m::cost_of_numbers(column, what),
            };
            self.say(here, (!fits).then_some(said));
        }
    }

    fn definitions(&mut self, at: &str, definitions: &DefinitionSettings) {
        self.say(at, (!definitions.any()).then(m::definitions_empty));
        let phis = [
            ("equal-choice", &definitions.equal_choice),
            ("equal-cost-of-effectiveness", &definitions.equal_cost_of_effectiveness),
        ];
        for (key, phis) in phis.into_iter().filter_map(|(key, phis)| Some((key, phis.as_ref()?))) {
            for (place, phi) in numbered(format!("{at}.{key}.phi"), &phis.phi) {
                let is_none = knobs::share(*phi).is_none();
                self.say(place, is_none.then(|| m::share_of_group(phi.get())));
            }
        }
        let Some(within) = &definitions.equal_effectiveness_within_budget else { return };
        let at = join(at, "equal-effectiveness-within-budget");
        let lacks = within.budgets.is_empty() && within.budget_percentiles.is_empty();
        self.say(&at, lacks.then(m::budgets_empty));
        for (place, number) in numbered(join(&at, "budget_percentiles"), &within.budget_percentiles)
        {
            let is_none = knobs::percentile(*number).is_none();
            self.say(place, is_none.then(|| m::percentile_range(number.get())));
        }
    }

    /// Complains about a definition that none of the views has: nothing would be judged by it.
    fn views(&mut self, at: &str, recourse: &RecourseBlock) {
        if self.has_problem(&[&join(at, "views")]) {
            return;
        }
        let is_seen =
            |d: &RecourseDefinition| recourse.views.iter().any(|view| d.views().contains(view));
        let unseen = recourse.definitions(|_| Vec::new()).into_iter().find(|d| !is_seen(d));
        if let Some(definition) = unseen {
            let has = definition.views().first().map_or("", |view| view.id());
            let place = format!("{at}.definitions.{}", definition.id());
            self.say(place, m::view_not_listed(definition.id(), has));
        }
    }

    /// Complains about keys of the other kind of gate. Returns whether there were none.
    pub(super) fn keys_of_gate(&mut self, at: &str, gate: &GateBlock) -> bool {
        let about = |key: &str| match key {
            "recourse" | "level" | "note" => None,
            "definition" | "view" | "unfair_subgroups_at_most" => Some("recourse"),
            "score_at_least" | "smallest" => Some("recourse"),
            "patterns_at_most" | "why" => Some("patterns"),
            _ => Some("a metric"),
        };
        let own = match (&gate.recourse, &gate.why) {
            (Some(_), _) => "recourse",
            (None, Some(_)) => "patterns",
            (None, None) => "a metric",
        };
        // A resolved job writes every default out, also of keys that decide nothing here; for
        // patterns, `enough` is asked of the halves.
        let says_nothing = |key: &str| match key {
            "decide_by" => gate.decide_by.unwrap_or_default() == GateDecideBy::default(),
            "enough" => gate.enough.get() == 10 || own == "patterns",
            _ => false,
        };
        let is_named = !gate.is_of_metric() || gate.metric.is_some() || gate.harm_to.is_some();
        let known = types_schema()["$defs"]["GateBlock"]["properties"].as_object();
        let mut is_whole = true;
        for key in known.into_iter().flat_map(serde_json::Map::keys) {
            let Some(about) = about(key).filter(|about| *about != own) else { continue };
            let here = join(at, key);
            if says_nothing(key) || self.places.written(&here).is_none() {
                continue;
            }
            let said = match about {
                _ if is_named => m::gate_key_foreign(key, about, own),
                "patterns" => m::gate_key_alone(key, about, own, "why: NAME"),
                _ => m::gate_key_alone(key, about, own, "recourse: ATTRIBUTE"),
            };
            self.say(here, said);
            is_whole = false;
        }
        is_whole
    }

    /// A gate on recourse.
    pub(super) fn recourse_gate(&mut self, at: &str, attribute: &ColumnName, gate: &GateBlock) {
        let definition = "definition: {equal-cost-of-effectiveness: {phi: 0.7}}";
        let limit = "unfair_subgroups_at_most: 0";
        let keys = [
            ("definition", gate.definition.is_some(), definition),
            ("unfair_subgroups_at_most", gate.unfair_subgroups_at_most.is_some(), limit),
        ];
        for (key, _, form) in keys.into_iter().filter(|(_, there, _)| !there) {
            self.say(at, m::block_key_missing(at, key, form));
        }
        let blocks = self.job.recourse.keys();
        if !self.check_known("recourse block", format!("{at}.recourse"), attribute, blocks) {
            return;
        }
        let block = &self.job.recourse[attribute];
        let Some(asked) = gate.definition else { return };
        let judged = block.definitions(|_| Vec::new());
        let Some(definition) =
            asked.definition(block.no_way_costs).filter(|definition| judged.contains(definition))
        else {
            let name = |d: &RecourseDefinition| {
                format!("{} {}", d.id(), d.parameter()).trim_end().to_owned()
            };
            let names = list(&Vec::from_iter(judged.iter().map(name)));
            return self.say(join(at, "definition"), m::definition_not_judged(attribute, names));
        };
        let least = gate.score_at_least.filter(|least| least.get() >= 0.0);
        let about = ("score", definition.id());
        self.within(at, ("score_at_least", least), definition.score_range(), about);
        let Some(view) = gate.view else { return };
        let said = if RecourseCriterion::new(definition, view).is_none() {
            Some(m::definition_no_view(definition.id(), view.as_ref()))
        } else {
            let is_judged = block.views.contains(&view);
            (!is_judged).then(|| m::view_not_judged(attribute, view.as_ref()))
        };
        self.say(join(at, "view"), said);
    }
}
