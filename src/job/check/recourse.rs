//! Checks the block `recourse`, the bins it speaks in, and gates on it.

use crate::data::prepare::derive::DerivationRecipe;
use crate::data::prepare::params::OrdinalOrder;
use crate::job::messages as m;
use crate::job::read::nearest::{list, suggest};
use crate::job::read::tree::join;
use crate::job::{GateBlock, GateDecideBy};
use crate::param::{ColumnName, Finite, Name, Word};
use crate::recourse::definition::{RecourseCriterion, RecourseDefinition};
use crate::recourse::feature::ChangeDirection;
use crate::recourse::knobs::{
    self, ColumnChangeRule, ColumnCost, DefinitionSettings, RecourseBins, RecourseBlock,
};

use super::{JobChecker, path};

/// What the page can show of one definition.
const MOST_SHOWN: u64 = 100;

/// The most deals per subgroup.
const MOST_PERMUTATIONS: u64 = 1_000_000;

/// The most subgroups, candidates or actions: their numbers take 32 bits.
const MOST_RESULTS: u64 = 100_000_000;

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

/// Keys of gates that are about metrics, and about recourse.
const METRIC_GATE_KEYS: [&str; 19] = [
    "metric",
    "harm_to",
    "arm",
    "model",
    "counterfactual",
    "sensitive",
    "direction",
    "between",
    "class",
    "group",
    "at_most",
    "at_least",
    "against",
    "rise_at_most",
    "fall_at_most",
    "decide_by",
    "family_error",
    "withstands",
    "enough",
];
const RECOURSE_GATE_KEYS: [&str; 5] =
    ["definition", "view", "unfair_subgroups_at_most", "score_at_least", "smallest"];

impl JobChecker<'_> {
    /// The blocks `data.bins` and `recourse`.
    pub(super) fn recourse(&mut self) {
        for (column, bins) in &self.job.data.bins {
            let at = path(&["data", "bins", column.as_str()]);
            if self.is_sound(&[&at]) {
                self.bins_of(&at, column, bins);
            }
        }
        for (attribute, recourse) in &self.job.recourse {
            let at = path(&["recourse", attribute.as_str()]);
            if self.are_names_sound("data.sensitive") {
                self.attribute(at.clone(), attribute);
            }
            if self.is_sound(&[&at]) {
                self.one_recourse(&at, attribute, recourse);
            }
        }
    }

    fn bins_of(&mut self, at: &str, column: &ColumnName, bins: &RecourseBins) {
        match bins {
            RecourseBins::Edges(edges) => self.edges(at, edges),
            RecourseBins::Levels(levels) => self.named_bins(&format!("{at}.levels"), levels),
        }
        let features = &self.job.data.features;
        if self.is_sound(&["data.features"]) && !features.continuous.contains(column) {
            let names = features.continuous.iter().map(ColumnName::as_str);
            let said = if self.job.data.listed_features().any(|listed| listed == column) {
                m::bins_of_no_number(column, suggest(column.as_str(), "continuous features", names))
            } else {
                m::bins_unknown(column, suggest(column.as_str(), "continuous features", names))
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
            self.cost(&format!("{at}.cost"), attribute, recourse);
        }
        self.definitions(&format!("{at}.definitions"), &recourse.definitions);
        self.views(at, recourse);
        let mean = recourse.definitions.mean_recourse.is_some();
        match recourse.no_way_costs {
            Some(cost) if knobs::cost(cost).is_none() => {
                self.say(format!("{at}.no_way_costs"), m::no_way_cost_range(cost.get()));
            }
            Some(_) if !mean => {
                self.say(format!("{at}.no_way_costs"), m::no_way_cost_unused());
            }
            None if mean => {
                self.say(format!("{at}.definitions.mean-recourse"), m::no_way_cost_missing());
            }
            _ => {}
        }
        if recourse.level().is_none() {
            self.say(format!("{at}.alpha"), m::test_level(recourse.alpha.get()));
        }
        let limits = [
            (
                "keep.per_definition",
                recourse.keep.per_definition.get(),
                MOST_SHOWN,
                "all of them are in the tables",
            ),
            (
                "chance.deals",
                recourse.chance.map_or(1, |c| c.deals.get()),
                MOST_PERMUTATIONS,
                "999 are usual",
            ),
            (
                "chance.enough",
                recourse.chance.map_or(1, |c| c.enough.get()),
                MOST_PERMUTATIONS,
                "20 are usual",
            ),
            ("at_most", recourse.at_most.get(), MOST_RESULTS, "raise the supports instead"),
        ];
        for (key, n, most, hint) in limits {
            if n > most {
                self.say(format!("{at}.{key}"), m::recourse_many(n, most, hint));
            }
        }
    }

    /// A model that can be asked about people as they could be.
    fn asked_model(&mut self, at: &str, name: &Name) {
        let here = format!("{at}.model");
        if !self.are_names_sound("models") || self.job.models.is_empty() {
            return;
        }
        let names = self.job.models.keys().map(Name::as_str);
        if !self.check_known("model", here.clone(), name.as_str(), names, "unknown-name") {
            return;
        }
        if self.job.models[name.as_str()].made_elsewhere().is_some() {
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
            let mut names: Vec<&str> =
                self.job.data.movable().into_iter().map(ColumnName::as_str).collect();
            names.retain(|name| *name != attribute.as_str());
            self.say(here, m::graph_unknown(column, suggest(column.as_str(), "features", names)));
        }
        None
    }

    fn may_change(&mut self, at: &str, attribute: &ColumnName, recourse: &RecourseBlock) {
        for (column, rule) in &recourse.may_change {
            let here = join(at, column.as_str());
            let Some(seen) = self.check_recourse_column(&here, attribute, column) else { continue };
            let (direction, steps) = rule.direction();
            if matches!(direction, ChangeDirection::Up | ChangeDirection::Down)
                && seen == RecourseKind::Nominal
            {
                self.say(here.clone(), m::action_no_order(column));
            }
            if steps.is_some_and(|steps| steps < 0.0) {
                let steps = steps.unwrap_or_default();
                self.say(format!("{here}.{}.steps", word(rule)), m::steps_below_zero(steps));
            }
            if let RecourseKind::Ordered(levels) = &seen {
                for (i, level) in
                    rule.not_to().iter().enumerate().filter(|(_, level)| !levels.contains(level))
                {
                    let place = format!("{here}.{}.not_to[{i}]", word(rule));
                    self.say(
                        place,
                        m::action_level_unknown(
                            column,
                            level,
                            suggest(level.as_str(), "its levels", levels.iter().map(Word::as_str)),
                        ),
                    );
                }
            }
        }
        let moves = |rule: &ColumnChangeRule| rule.direction().0 != ChangeDirection::Never;
        if !recourse.may_change.values().any(moves) && !self.has_problem(&[at]) {
            self.say(at, m::actions_empty());
        }
    }

    fn cost(&mut self, at: &str, attribute: &ColumnName, recourse: &RecourseBlock) {
        let below = |cost: Finite| !(0.0..=knobs::MAX_COST).contains(&cost.get());
        if below(recourse.cost.nominal) {
            self.say(format!("{at}.nominal"), m::nominal_cost_range(recourse.cost.nominal.get()));
        }
        for (column, weight) in &recourse.cost.weights {
            let here = join(&format!("{at}.weights"), column.as_str());
            if self.check_recourse_column(&here, attribute, column).is_some() && below(*weight) {
                self.say(here, m::cost_weight_range(weight.get()));
            }
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
            let texts: Vec<String> = phis.phi.iter().map(|phi| phi.get().to_string()).collect();
            self.check_distinct(&here, "share of a group", &texts);
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
        for (key, numbers) in
            [("budgets", &within.budgets), ("budget_percentiles", &within.budget_percentiles)]
        {
            let here = format!("{at}.{key}");
            let texts: Vec<String> = numbers.iter().map(|x| x.get().to_string()).collect();
            if !numbers.is_empty() {
                self.check_distinct(&here, "number", &texts);
            }
            for (i, x) in numbers.iter().enumerate() {
                let (fits, said) = match key {
                    "budgets" => (knobs::cost(*x).is_some(), m::budget_range(x.get())),
                    _ => (knobs::percentile(*x).is_some(), m::percentile_range(x.get())),
                };
                if !fits {
                    self.say(format!("{here}[{i}]"), said);
                }
            }
        }
    }

    /// Complains about a definition that none of the views has: it would be judged nowhere.
    fn views(&mut self, at: &str, recourse: &RecourseBlock) {
        if !self.check_distinct(&format!("{at}.views"), "view, `macro` or `micro`", &recourse.views)
        {
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
        let of_metric = METRIC_GATE_KEYS.as_slice();
        let of_recourse = RECOURSE_GATE_KEYS.as_slice();
        let of_why: &[&str] = &["patterns_at_most"];
        let (why, none): (&[&str], &[&str]) = (&["why"], &[]);
        let (others, own) = match (&gate.recourse, &gate.why) {
            (Some(_), _) => ([of_metric, of_why, why], "recourse"),
            (None, Some(_)) => {
                // `enough` is asked of the halves.
                ([&of_metric[..of_metric.len() - 1], of_recourse, none], "patterns")
            }
            (None, None) => ([of_recourse, of_why, none], "a metric"),
        };
        let about = |key: &str| match key {
            _ if RECOURSE_GATE_KEYS.contains(&key) => "recourse",
            "patterns_at_most" | "why" => "patterns",
            _ => "a metric",
        };
        // A resolved job writes every default out, of keys that decide nothing here too.
        let says_nothing = |key: &str| match key {
            "decide_by" => gate.decide_by == GateDecideBy::default(),
            "enough" => gate.enough.get() == 10,
            _ => false,
        };
        let there = others
            .iter()
            .copied()
            .flatten()
            .copied()
            .filter(|key| self.places.0.contains_key(&join(at, key)) && !says_nothing(key));
        let there: Vec<&str> = there.collect();
        for key in &there {
            let is_named = !gate.is_of_metric() || gate.metric.is_some() || gate.harm_to.is_some();
            let said = match about(key) {
                _ if is_named => m::gate_key_foreign(key, about(key), own),
                "patterns" => m::gate_key_of_why(key, about(key), own),
                _ => m::gate_key_of_recourse(key, about(key), own),
            };
            self.say(join(at, key), said);
        }
        there.is_empty()
    }

    /// A gate on recourse.
    pub(super) fn recourse_gate(&mut self, at: &str, attribute: &ColumnName, gate: &GateBlock) {
        for (key, there, form) in [
            (
                "definition",
                gate.definition.is_some(),
                "definition: {equal-cost-of-effectiveness: {phi: 0.7}}",
            ),
            (
                "unfair_subgroups_at_most",
                gate.unfair_subgroups_at_most.is_some(),
                "unfair_subgroups_at_most: 0",
            ),
        ] {
            if !there {
                self.say(at, m::gate_key_missing(at, key, form));
            }
        }
        if gate.score_at_least.is_some_and(|score| score.get() < 0.0) {
            self.say(format!("{at}.score_at_least"), m::score_limit_below_zero());
        }
        let blocks = self.job.recourse.keys().map(ColumnName::as_str);
        if !self.are_names_sound("recourse")
            || !self.check_known(
                "recourse block",
                format!("{at}.recourse"),
                attribute.as_str(),
                blocks,
                "unknown-name",
            )
            || !self.is_sound(&[&path(&["recourse", attribute.as_str()])])
        {
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
