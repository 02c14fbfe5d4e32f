//! Checks the block `recourse`, the bins it speaks in, and gates on it.

use crate::data::prepare::derive::DerivationRecipe;
use crate::data::prepare::params::OrdinalOrder;
use crate::job::messages as m;
use crate::job::read::nearest::{list, suggest};
use crate::job::read::tree::join;
use crate::job::schema::types_schema;
use crate::job::{GateBlock, GateDecideBy};
use crate::param::{ColumnName, Name, Word};
use crate::recourse::definition::{RecourseCriterion, RecourseDefinition};
use crate::recourse::feature::{ChangeDirection, TraitPredicate};
use crate::recourse::knobs::{
    self, ColumnChangeRule, ColumnCost, DefinitionSettings, NamedBins, RecourseBins, RecourseBlock,
};

use super::{JobChecker, path};

/// What recourse sees in a column.
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

/// Keys of gates that are about recourse.
const RECOURSE_GATE_KEYS: [&str; 5] =
    ["definition", "view", "unfair_subgroups_at_most", "score_at_least", "smallest"];

/// Whether a column may change at all.
fn moves(rule: &ColumnChangeRule) -> bool {
    rule.direction().0 != ChangeDirection::Never
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
        let features = &self.job.data.features;
        if !features.continuous.contains(column) {
            let near = suggest(column, "continuous features", &features.continuous);
            let said = if self.job.data.listed_features().any(|listed| listed == column) {
                m::bins_of_no_number(column, near)
            } else {
                m::bins_unknown(column, near)
            };
            self.say(at, said);
        }
    }

    fn one_recourse(&mut self, at: &str, attribute: &ColumnName, recourse: &RecourseBlock) {
        self.asked_model(at, &recourse.model);
        for (key, support) in
            [("subgroups", recourse.subgroups.support), ("actions", recourse.actions.support)]
        {
            if knobs::share(support).is_none() {
                self.say(format!("{at}.{key}.support"), m::support_no_share(support.get()));
            }
        }
        if self.is_sound(&["data.features", "data.sensitive", "data.derive", "data.bins"]) {
            self.may_change(&format!("{at}.may_change"), attribute, recourse);
            self.predicates(&format!("{at}.predicates"), attribute, recourse);
            self.cost(&format!("{at}.cost"), attribute, recourse);
        }
        self.definitions(&format!("{at}.definitions"), &recourse.definitions);
        self.views(at, recourse);
        let mean = recourse.definitions.mean_recourse.is_some();
        match recourse.no_way_costs {
            Some(_) if !mean => {
                self.say(format!("{at}.no_way_costs"), m::no_way_cost_unused());
            }
            None if mean => {
                self.say(format!("{at}.definitions.mean-recourse"), m::no_way_cost_missing());
            }
            _ => {}
        }
    }

    /// A model that can be asked about people as they could be.
    fn asked_model(&mut self, at: &str, name: &Name) {
        let here = format!("{at}.model");
        let model = self.model_named(here.as_str(), name);
        if model.is_some_and(|model| model.made_elsewhere().is_some()) {
            self.say(here, m::recourse_of_scores(name));
        }
    }

    /// What recourse sees in a column that may be in subgroups; `None` where none of that name
    /// does.
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
        if let Some(bins) = data.bins.get(column) {
            return Some(RecourseKind::Ordered(
                bins.of(column).into_iter().map(|bin| Word(bin.name)).collect(),
            ));
        }
        match features.ordinal.get(column) {
            Some(OrdinalOrder::Levels(levels)) => {
                return Some(RecourseKind::Ordered(levels.clone()));
            }
            Some(OrdinalOrder::Numbers(_)) => return Some(RecourseKind::OrderedNumbers),
            None => {}
        }
        if features.continuous.contains(column) {
            return Some(RecourseKind::Numbers);
        }
        // Bins have an order regardless of the listed kind.
        if let Some((_, recipe @ DerivationRecipe::Bins { .. })) =
            data.derived().iter().find(|(name, _)| name == column)
        {
            return Some(RecourseKind::Ordered(recipe.declared_names()));
        }
        data.inputs().contains(&column).then_some(RecourseKind::Nominal)
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
        let data = &self.job.data;
        data.is_derived(column)
            && data
                .roots(column)
                .iter()
                .any(|root| data.listed_features().any(|listed| listed == root))
    }

    /// Complains about a column that recourse does not see.
    fn check_recourse_column(
        &mut self,
        here: &str,
        attribute: &ColumnName,
        column: &ColumnName,
    ) -> Option<RecourseKind> {
        if let Some(seen) = self.recourse_kind(attribute, column) {
            return Some(seen);
        }
        if self.concerns_attribute(attribute, column)
            && (self.job.data.is_derived(column) || self.job.data.inputs().contains(&column))
        {
            self.say(here, m::action_of_attribute(column, attribute));
        } else if let Some(group) = self.job.data.onehot_of(column) {
            self.say(here, m::action_of_onehot(column, group));
        } else if self.job.data.is_derived(column) && self.follows(column) {
            self.say(here, m::action_of_derived(column));
        } else {
            let mut names = self.job.data.movable();
            names.retain(|name| *name != attribute);
            self.say(here, m::graph_unknown(column, suggest(column, "features", names)));
        }
        None
    }

    fn may_change(&mut self, at: &str, attribute: &ColumnName, recourse: &RecourseBlock) {
        for (column, rule) in &recourse.may_change {
            let here = join(at, column.as_str());
            let Some(seen) = self.check_recourse_column(&here, attribute, column) else { continue };
            let (direction, _) = rule.direction();
            if matches!(direction, ChangeDirection::Up | ChangeDirection::Down)
                && seen == RecourseKind::Nominal
            {
                self.say(here.clone(), m::action_no_order(column));
            }
            let RecourseKind::Ordered(levels) = &seen else { continue };
            for (i, level) in rule.not_to().iter().enumerate() {
                if !levels.contains(level) {
                    let near = suggest(level, "its levels", levels);
                    let place = format!("{here}.{}.not_to[{i}]", word(rule));
                    self.say(place, m::action_level_unknown(column, level, near));
                }
            }
        }
        if !recourse.may_change.values().any(moves) && !self.has_problem(&[at]) {
            self.say(at, m::actions_empty());
        }
    }

    /// Traits "at or above" need an order, and a column that no action changes: people of one such
    /// trait have several levels, so that a change has no one cost.
    fn predicates(&mut self, at: &str, attribute: &ColumnName, recourse: &RecourseBlock) {
        for (column, predicate) in &recourse.predicates {
            let here = join(at, column.as_str());
            let Some(seen) = self.check_recourse_column(&here, attribute, column) else { continue };
            if *predicate == TraitPredicate::Equals {
                continue;
            }
            let rule = recourse.may_change.get(column);
            match seen {
                RecourseKind::Nominal => self.say(here, m::predicate_no_order(column)),
                RecourseKind::Numbers => self.say(here, m::predicate_no_bins(column)),
                RecourseKind::Ordered(_) | RecourseKind::OrderedNumbers
                    if rule.is_some_and(moves) =>
                {
                    self.say(here, m::predicate_may_change(column));
                }
                RecourseKind::Ordered(_) | RecourseKind::OrderedNumbers => {}
            }
        }
    }

    fn cost(&mut self, at: &str, attribute: &ColumnName, recourse: &RecourseBlock) {
        for column in recourse.cost.weights.keys() {
            let here = join(&format!("{at}.weights"), column.as_str());
            self.check_recourse_column(&here, attribute, column);
        }
        for (column, cost) in &recourse.cost.columns {
            let here = join(&format!("{at}.columns"), column.as_str());
            let Some(seen) = self.check_recourse_column(&here, attribute, column) else { continue };
            let (fits, what) = match cost {
                ColumnCost::RangeShare | ColumnCost::Absolute => (
                    matches!(seen, RecourseKind::Numbers | RecourseKind::OrderedNumbers),
                    "no numbers, so its values have no difference",
                ),
                ColumnCost::Ordinal => (
                    matches!(seen, RecourseKind::Ordered(_) | RecourseKind::OrderedNumbers),
                    "no positions to count",
                ),
                ColumnCost::Nominal => (true, ""),
            };
            if !fits {
                let said = match seen {
                    RecourseKind::Nominal => m::cost_of_names(column, what),
                    RecourseKind::Ordered(_) => m::cost_of_levels(column, what),
                    RecourseKind::Numbers | RecourseKind::OrderedNumbers => {
                        m::cost_of_numbers(column, what)
                    }
                };
                self.say(here, said);
            }
        }
    }

    fn definitions(&mut self, at: &str, definitions: &DefinitionSettings) {
        if !definitions.any() {
            self.say(at, m::definitions_empty());
        }
        let phis = [
            ("equal-choice", &definitions.equal_choice),
            ("equal-cost-of-effectiveness", &definitions.equal_cost_of_effectiveness),
        ];
        for (key, phis) in phis.into_iter().filter_map(|(key, phis)| Some((key, phis.as_ref()?))) {
            let here = format!("{at}.{key}.phi");
            for (i, phi) in
                phis.phi.iter().enumerate().filter(|(_, phi)| knobs::share(**phi).is_none())
            {
                self.say(format!("{here}[{i}]"), m::share_of_group(phi.get()));
            }
        }
        let Some(within) = &definitions.equal_effectiveness_within_budget else { return };
        let at = format!("{at}.equal-effectiveness-within-budget");
        if within.budgets.is_empty() && within.budget_percentiles.is_empty() {
            self.say(at.clone(), m::budgets_empty());
        }
        for (i, number) in within.budget_percentiles.iter().enumerate() {
            if knobs::percentile(*number).is_none() {
                let place = format!("{at}.budget_percentiles[{i}]");
                self.say(place, m::percentile_range(number.get()));
            }
        }
    }

    /// Complains about a definition that none of the views has: it would be judged nowhere.
    fn views(&mut self, at: &str, recourse: &RecourseBlock) {
        if self.has_problem(&[&format!("{at}.views")]) {
            return;
        }
        let mut unseen: Vec<RecourseDefinition> = recourse.definitions(|_| Vec::new());
        unseen.retain(|d| !recourse.views.iter().any(|view| d.views().contains(view)));
        if let Some(definition) = unseen.first() {
            let has = definition.views().first().map_or("", |view| view.id());
            self.say(
                format!("{at}.definitions.{}", definition.id()),
                m::view_not_listed(definition.id(), has),
            );
        }
    }

    /// Complains about keys of the other kind of gate. Gives back whether there were none.
    pub(super) fn keys_of_gate(&mut self, at: &str, gate: &GateBlock) -> bool {
        let about = |key: &str| match key {
            "recourse" | "level" | "note" => None,
            _ if RECOURSE_GATE_KEYS.contains(&key) => Some("recourse"),
            "patterns_at_most" | "why" => Some("patterns"),
            _ => Some("a metric"),
        };
        let own = match (&gate.recourse, &gate.why) {
            (Some(_), _) => "recourse",
            (None, Some(_)) => "patterns",
            (None, None) => "a metric",
        };
        // A resolved job writes every default out, of keys that decide nothing here too; of
        // patterns `enough` is asked of the halves.
        let says_nothing = |key: &str| match key {
            "decide_by" => gate.decide_by == GateDecideBy::default(),
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
                "patterns" => m::gate_key_of_why(key, about, own),
                _ => m::gate_key_of_recourse(key, about, own),
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
            let names: Vec<String> = judged
                .iter()
                .map(|d| format!("{} {}", d.id(), d.parameter()).trim_end().to_owned())
                .collect();
            self.say(format!("{at}.definition"), m::definition_not_judged(attribute, list(&names)));
            return;
        };
        let Some(view) = gate.view else { return };
        if RecourseCriterion::new(definition, view).is_none() {
            self.say(format!("{at}.view"), m::definition_no_view(definition.id(), view.as_ref()));
        } else if !block.views.contains(&view) {
            self.say(format!("{at}.view"), m::view_not_judged(attribute, view.as_ref()));
        }
    }
}

/// The word of a rule.
fn word(rule: &ColumnChangeRule) -> &'static str {
    match rule {
        ColumnChangeRule::Never(_) => "never",
        ColumnChangeRule::Any(_) => "any",
        ColumnChangeRule::Up(_) => "up",
        ColumnChangeRule::Down(_) => "down",
    }
}
