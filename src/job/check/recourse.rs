//! Checks the block `recourse`, the bins it speaks in, and gates on it.

use crate::data::prepare::derive::DerivationRecipe;
use crate::data::prepare::params::OrdinalOrder;
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
const METRIC_GATE_KEYS: [&str; 18] = [
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
            let what = if self.job.data.listed_features().any(|listed| listed == column) {
                format!("`{column}` has bins, but is not a continuous feature")
            } else {
                format!("no continuous feature is called `{column}`")
            };
            self.push_problem(
                "unknown-column",
                at,
                what,
                suggest(column.as_str(), "continuous features", names),
            );
        }
    }

    fn one_recourse(&mut self, at: &str, attribute: &ColumnName, recourse: &RecourseBlock) {
        self.asked_model(at, &recourse.model);
        for (key, support) in
            [("subgroups", recourse.subgroups.support), ("actions", recourse.actions.support)]
        {
            if knobs::share(support).is_none() {
                let what = format!("a support of `{}` is not a share of people", support.get());
                self.push_problem(
                    "bad-value",
                    format!("{at}.{key}.support"),
                    what,
                    "write a share above 0, such as 0.01 for 1 %",
                );
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
                let what =
                    format!("`{}` is not a valid cost for people without recourse", cost.get());
                self.push_problem(
                    "bad-value",
                    format!("{at}.no_way_costs"),
                    what,
                    "write a cost from 0 to 1e9, above that of the most expensive action",
                );
            }
            Some(_) if !mean => {
                let what = "only the definition `mean-recourse` uses `no_way_costs`, but it \
                            is not judged";
                self.push_problem(
                    "bad-value",
                    format!("{at}.no_way_costs"),
                    what,
                    "add `mean-recourse: {}` to `definitions`, or remove it",
                );
            }
            None if mean => {
                let what = "`mean-recourse` needs a cost for people without recourse";
                self.push_problem(
                    "missing-key",
                    format!("{at}.definitions.mean-recourse"),
                    what,
                    "add `no_way_costs: COST` to the block",
                );
            }
            _ => {}
        }
        if recourse.level().is_none() {
            let what = format!("a level of `{}` does not define a test", recourse.alpha.get());
            self.push_problem(
                "bad-value",
                format!("{at}.alpha"),
                what,
                "write a number between 0 and 1; 0.05 is usual",
            );
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
                self.push_problem(
                    "bad-value",
                    format!("{at}.{key}"),
                    format!("`{n}` is too many"),
                    format!("at most {most}; {hint}"),
                );
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
            let what = format!(
                "the model `{name}` has scores computed elsewhere, but recourse needs a model \
                 that can score changed people"
            );
            self.push_problem(
                "not-offered",
                here,
                what,
                "name a model that is trained in the run, an ONNX file, or a command",
            );
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
            let what = format!(
                "`{column}` belongs to the attribute `{attribute}`, which no action changes"
            );
            self.push_problem("cannot-move", here, what, "remove it");
        } else if let Some(group) = self.job.data.onehot_of(column) {
            let what = format!(
                "`{column}` is a column of the one-hot group `{group}`, which changes as one \
                 feature"
            );
            let hint = format!("write `{group}` in its place");
            self.push_problem("cannot-move", here, what, hint);
        } else if self.job.data.is_derived(column) && self.follows(column) {
            let what = format!("`{column}` is derived from a feature and changes with it");
            self.push_problem(
                "derived-column",
                here,
                what,
                "name the feature from which it is derived; list bins for recourse under \
                 `data.bins`",
            );
        } else {
            let mut names: Vec<&str> =
                self.job.data.movable().into_iter().map(ColumnName::as_str).collect();
            names.retain(|name| *name != attribute.as_str());
            self.push_problem(
                "unknown-column",
                here,
                format!("no feature is called `{column}`"),
                suggest(column.as_str(), "features", names),
            );
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
                let what = format!("`{column}` has no order, so it can move neither up nor down");
                self.push_problem(
                    "bad-value",
                    here.clone(),
                    what,
                    "write `any`, or give it an order under `data.features.ordinal`",
                );
            }
            if steps.is_some_and(|steps| steps < 0.0) {
                let (what, word) =
                    (format!("`{}` steps are below 0", steps.unwrap_or_default()), word(rule));
                self.push_problem(
                    "bad-value",
                    format!("{here}.{word}.steps"),
                    what,
                    "write 0 or more; `down` is the other direction",
                );
            }
            if let RecourseKind::Ordered(levels) = &seen {
                for (i, level) in
                    rule.not_to().iter().enumerate().filter(|(_, level)| !levels.contains(level))
                {
                    let hint =
                        suggest(level.as_str(), "its levels", levels.iter().map(Word::as_str));
                    let place = format!("{here}.{}.not_to[{i}]", word(rule));
                    self.push_problem(
                        "unknown-level",
                        place,
                        format!("`{column}` has no level `{level}`"),
                        hint,
                    );
                }
            }
        }
        let moves = |rule: &ColumnChangeRule| rule.direction().0 != ChangeDirection::Never;
        if !recourse.may_change.values().any(moves) && !self.has_problem(&[at]) {
            let hint = "list what people may change, such as `occupation: any` or `age: up`; a \
                        column that is not named may not change";
            self.push_problem(
                "empty-list",
                at,
                "nothing may change, so there is no recourse for anybody",
                hint,
            );
        }
    }

    fn cost(&mut self, at: &str, attribute: &ColumnName, recourse: &RecourseBlock) {
        let below = |cost: Finite| !(0.0..=knobs::MAX_COST).contains(&cost.get());
        if below(recourse.cost.nominal) {
            let what = format!("`{}` is not a valid cost", recourse.cost.nominal.get());
            self.push_problem(
                "bad-value",
                format!("{at}.nominal"),
                what,
                "write a number from 0 to 1e9; 1 is usual",
            );
        }
        for (column, weight) in &recourse.cost.weights {
            let here = join(&format!("{at}.weights"), column.as_str());
            if self.check_recourse_column(&here, attribute, column).is_some() && below(*weight) {
                let what = format!("`{}` is not a valid weight", weight.get());
                self.push_problem(
                    "bad-value",
                    here,
                    what,
                    "write a number from 0 to 1e9; 1 is usual",
                );
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
                let hint = match seen {
                    RecourseKind::Nominal => {
                        "write `nominal`, or give it an order under `data.features.ordinal`"
                    }
                    RecourseKind::Ordered(_) => "write `ordinal` or `nominal`",
                    RecourseKind::Numbers | RecourseKind::OrderedNumbers => {
                        "write `range-share`, `absolute` or `nominal`, or define bins under \
                         `data.bins`"
                    }
                };
                self.push_problem("bad-value", here, format!("`{column}` has {what}"), hint);
            }
        }
    }

    fn definitions(&mut self, at: &str, definitions: &DefinitionSettings) {
        if !definitions.any() {
            let hint = "name at least one, such as `equal-cost-of-effectiveness: {phi: [0.7]}`, or \
                        remove the key to use all of them";
            self.push_problem("empty-list", at, "no definition of fairness is judged", hint);
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
                let what = format!("`{}` is not a valid share of a group", phi.get());
                self.push_problem(
                    "bad-value",
                    format!("{here}[{i}]"),
                    what,
                    "write a share above 0, up to 1",
                );
            }
        }
        let Some(within) = &definitions.equal_effectiveness_within_budget else { return };
        let at = format!("{at}.equal-effectiveness-within-budget");
        if within.budgets.is_empty() && within.budget_percentiles.is_empty() {
            self.push_problem(
                "empty-list",
                at.clone(),
                "there is no budget",
                "add `budget_percentiles: [30, 60, 90]`, or `budgets: [...]`",
            );
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
                let (fits, noun, hint) = match key {
                    "budgets" => {
                        (knobs::cost(*x).is_some(), "budget", "write a cost from 0 to 1e9")
                    }
                    _ => (
                        knobs::percentile(*x).is_some(),
                        "percentile",
                        "write a number from 0 to 100",
                    ),
                };
                if !fits {
                    self.push_problem(
                        "bad-value",
                        format!("{here}[{i}]"),
                        format!("`{}` is no {noun}", x.get()),
                        hint,
                    );
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
            let what = format!(
                "`{}` is judged only in the view `{has}`, which is not in `views`",
                definition.id()
            );
            let hint = format!("add `{has}` to `views`, or take the definition out");
            self.push_problem(
                "bad-value",
                format!("{at}.definitions.{}", definition.id()),
                what,
                hint,
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
            let hint = match about(key) {
                _ if is_named => "remove it",
                "patterns" => "add `why: NAME`",
                _ => "add `recourse: ATTRIBUTE`",
            };
            let what = format!("`{key}` is about {}, and the gate is about {own}", about(key));
            self.push_problem("bad-scope", join(at, key), what, hint);
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
                self.push_problem(
                    "missing-key",
                    at,
                    format!("`{at}` has no `{key}`"),
                    format!("add `{form}`"),
                );
            }
        }
        if gate.score_at_least.is_some_and(|score| score.get() < 0.0) {
            let what = "no score is below 0";
            self.push_problem(
                "bad-value",
                format!("{at}.score_at_least"),
                what,
                "write 0 or more; by default every score above 0 counts",
            );
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
            let hint = format!(
                "the block judges {}; list budgets of gates under `budgets`; percentile budgets \
                 depend on the data",
                list(&names)
            );
            let what = format!(
                "the block `recourse.{attribute}` does not judge this definition with this \
                 parameter"
            );
            self.push_problem("not-measured", format!("{at}.definition"), what, hint);
            return;
        };
        let Some(view) = gate.view else { return };
        if RecourseCriterion::new(definition, view).is_none() {
            let what = format!("`{}` has no view `{}`", definition.id(), view.as_ref());
            self.push_problem("bad-scope", format!("{at}.view"), what, "remove `view`");
        } else if !block.views.contains(&view) {
            let what = format!("`recourse.{attribute}.views` does not include `{}`", view.as_ref());
            self.push_problem(
                "not-measured",
                format!("{at}.view"),
                what,
                format!("add `{}` to it", view.as_ref()),
            );
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
