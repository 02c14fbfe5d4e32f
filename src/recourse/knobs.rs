//! The block `recourse` of a job: model, subgroups, allowed changes, costs, definitions of
//! fairness.
//!
//! `may_change` has no default: only the job can say what advice may be given. The doc comments
//! here are the descriptions in the schema of jobs.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::prepare::derive::{DerivedBin, bins_of, levels_of};
use crate::num::decimal::Decimal;
use crate::param::{ColumnName, Count, Finite, Fraction, Name, Word};
use crate::recourse::budget::Percentile;
use crate::recourse::definition::{RecourseDefinition, RecourseView};
use crate::recourse::feature::{ChangeDirection, LevelDistance, TraitPredicate};
use crate::recourse::groups::ComparisonBase;
use crate::recourse::rank::RankBy;
use crate::recourse::steps::COST_UNIT;
use crate::recourse::{ActionMatch, DecimalShare, SearchSettings};

/// The highest cost of people without recourse and the highest budget: far below 63 bits of 1e-9.
pub(crate) const MAX_COST: f64 = 1e9;

/// Fairness of recourse for subgroups: is it harder for one group than for another to get out of
/// the unfavourable decision?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecourseBlock {
    /// The model whose decisions people want to change.
    pub model: Name,
    /// Which subgroups are looked at.
    pub subgroups: SubgroupSettings,
    /// Which actions are looked at.
    pub actions: ActionSettings,
    /// What people may change, by column: `any`, `up`, `down` or `never`, or a map such as
    /// `{up: {steps: 2}}` and `{any: {not_to: [Without-pay]}}`. A column that is not named may not
    /// change.
    pub may_change: IndexMap<ColumnName, ColumnChangeRule>,
    /// How traits of subgroups describe a column: it `equals` a level, the default, or is
    /// `at_least` one. `at_least` is for ordinal columns and columns with bins that may not change:
    /// each level but the lowest is then a trait, "at or above", and a subgroup has at most one of
    /// them.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub predicates: IndexMap<ColumnName, TraitPredicate>,
    /// What changes cost.
    #[serde(default)]
    pub cost: CostRules,
    /// When recourse is fair. Default: all definitions but `mean-recourse`, with phi 0.3 and 0.7
    /// and budgets at the percentiles 30, 60, 90.
    #[serde(default)]
    pub definitions: DefinitionSettings,
    /// One action for all people of a subgroup (`macro`), or each person the action that helps
    /// (`micro`). A view is used where a definition has it.
    #[serde(default = "both_views")]
    #[schemars(extend("minItems" = 1, "x-noun" = "view, `macro` or `micro`"))]
    pub views: Vec<RecourseView>,
    /// Which of the ranked subgroups are shown.
    #[serde(default)]
    pub keep: ShownSubgroups,
    /// Which columns an action names: exactly those of its subgroup (`same-features`, what
    /// published numbers depend on), or some of them, all changed (`sub-features`).
    #[serde(default, rename = "match")]
    pub matching: ActionMatch,
    /// What other groups are compared with: `reference`, or `rest`, all other groups together. With
    /// two groups both are the same.
    #[serde(default)]
    pub against: ComparisonBase,
    /// The cost that counts for people without recourse, 0 to 1e9. Only with the definition
    /// `mean-recourse`, which needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0, "maximum" = 1e9,
        "x-range" = "a cost from 0 to 1e9; write one above that of the most expensive action"))]
    pub no_way_costs: Option<Finite>,
    /// How the fair trade-off is ranked: by the largest `distance`, or `scaled`, times the root of
    /// n0 n1 / (n0 + n1), which prefers large subgroups.
    #[serde(default)]
    pub rank_by: RankBy,
    /// Level of the test of the fair trade-off, one test per subgroup without correction, between 0
    /// and 1.
    #[serde(default = "Fraction::of::<5, 100>")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1,
        "x-range" = "a level between 0 and 1; 0.05 is usual"))]
    pub alpha: Fraction,
    /// Permutes the groups of the people of a subgroup at random, to test how often chance
    /// gives such a score. Default: no test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<PermutationSettings>,
    /// Largest number of subgroups, of candidates for actions, and of actions of all subgroups;
    /// more ends the run with a hint, so that memory stays bounded.
    #[serde(default = "Count::of::<5_000_000>")]
    #[schemars(extend("maximum" = 100_000_000,
        "x-range" = "a number up to 1e8; raise the supports instead"))]
    pub at_most: Count,
}

fn both_views() -> Vec<RecourseView> {
    vec![RecourseView::Macro, RecourseView::Micro]
}

/// Which subgroups are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubgroupSettings {
    /// Smallest share of the affected people of each of the two groups in a subgroup, above 0.
    pub support: Fraction,
    /// Largest number of traits of a subgroup. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<Count>,
}

/// Which actions are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionSettings {
    /// Smallest share of the people with the favourable decision that have the levels of an action,
    /// above 0.
    pub support: Fraction,
}

/// How a column may change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColumnChangeRule {
    /// Not at all.
    Never(NoSettings),
    /// Freely.
    Any(ChangeTargets),
    /// To no lower position of the declared order, or number.
    Up(ChangeLimits),
    /// To no higher position of the declared order, or number.
    Down(ChangeLimits),
}

/// No settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct NoSettings {}

/// The levels to which a change may lead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct ChangeTargets {
    /// Levels that may not be targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_to: Vec<Word>,
}

/// How far a change may lead.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct ChangeLimits {
    /// Largest distance in positions; for numbers without bins, in their own unit. Default: no
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0, "x-range" = "0 or more; `down` is the other direction"))]
    pub steps: Option<Finite>,
    /// Levels that may not be targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_to: Vec<Word>,
}

impl ColumnChangeRule {
    /// The levels that are not targets.
    pub fn not_to(&self) -> &[Word] {
        match self {
            ColumnChangeRule::Never(_) => &[],
            ColumnChangeRule::Any(targets) => &targets.not_to,
            ColumnChangeRule::Up(climb) | ColumnChangeRule::Down(climb) => &climb.not_to,
        }
    }

    /// The direction of allowed changes, and the largest step.
    pub fn direction(&self) -> (ChangeDirection, Option<f64>) {
        match self {
            ColumnChangeRule::Never(_) => (ChangeDirection::Never, None),
            ColumnChangeRule::Any(_) => (ChangeDirection::Any, None),
            ColumnChangeRule::Up(climb) => (ChangeDirection::Up, climb.steps.map(Finite::get)),
            ColumnChangeRule::Down(climb) => (ChangeDirection::Down, climb.steps.map(Finite::get)),
        }
    }

    /// The rule in words.
    pub fn in_words(&self) -> String {
        let (what, steps) = match self {
            ColumnChangeRule::Never(_) => ("never", None),
            ColumnChangeRule::Any(_) => ("freely", None),
            ColumnChangeRule::Up(climb) => ("upwards", climb.steps),
            ColumnChangeRule::Down(climb) => ("downwards", climb.steps),
        };
        let mut words = what.to_owned();
        if let Some(steps) = steps {
            words += &format!(", by at most {}", steps.get());
        }
        if !self.not_to().is_empty() {
            let levels: Vec<&str> = self.not_to().iter().map(Word::as_str).collect();
            words += &format!(", not to {}", levels.join(", "));
        }
        words
    }
}

/// What changes cost: a weight times a distance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CostRules {
    /// Distance of two numbers of continuous columns without bins.
    #[serde(default)]
    pub continuous: NumberCost,
    /// Distance of any two levels of nominal columns, 0 or above.
    #[serde(default = "Finite::of::<1, 1>")]
    #[schemars(extend("minimum" = 0, "maximum" = 1e9,
        "x-range" = "a cost from 0 to 1e9; 1 is usual"))]
    pub nominal: Finite,
    /// Weights by column, 0 or above; of a column that is not named 1.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("minimum" = 0, "maximum" = 1e9,
        "x-range" = "a weight from 0 to 1e9; 1 is usual"))]
    pub weights: IndexMap<ColumnName, Finite>,
    /// Another distance than that of its kind, by column.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub columns: IndexMap<ColumnName, LevelDistance>,
}

impl Default for CostRules {
    fn default() -> Self {
        CostRules {
            continuous: NumberCost::default(),
            nominal: Finite::of::<1, 1>(),
            weights: IndexMap::new(),
            columns: IndexMap::new(),
        }
    }
}

/// Distance of two numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NumberCost {
    /// Their difference over the range of the audited rows.
    #[default]
    RangeShare,
    /// Their difference.
    Absolute,
}

/// When recourse is fair; each definition that is named is judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DefinitionSettings {
    /// The same share of both groups can be helped, at any cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal_effectiveness: Option<NoSettings>,
    /// Both groups have equally many actions that help a share phi of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal_choice: Option<EffectShares>,
    /// The same share of both groups can be helped within a budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal_effectiveness_within_budget: Option<BudgetSettings>,
    /// A share phi of both groups can be helped at the same cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal_cost_of_effectiveness: Option<EffectShares>,
    /// The same share of both groups can be helped at every cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fair_trade_off: Option<NoSettings>,
    /// Those who can be helped pay the same on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal_conditional_mean_recourse: Option<NoSettings>,
    /// All pay the same on average, where people without recourse count with `no_way_costs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_recourse: Option<NoSettings>,
}

impl Default for DefinitionSettings {
    fn default() -> Self {
        let phis =
            || EffectShares { phi: [0.3, 0.7].into_iter().filter_map(Fraction::new).collect() };
        let percentiles = [30.0, 60.0, 90.0].into_iter().filter_map(Finite::new).collect();
        DefinitionSettings {
            equal_effectiveness: Some(NoSettings {}),
            equal_choice: Some(phis()),
            equal_effectiveness_within_budget: Some(BudgetSettings {
                budgets: Vec::new(),
                budget_percentiles: percentiles,
            }),
            equal_cost_of_effectiveness: Some(phis()),
            fair_trade_off: Some(NoSettings {}),
            equal_conditional_mean_recourse: Some(NoSettings {}),
            mean_recourse: None,
        }
    }
}

impl DefinitionSettings {
    /// Whether any definition is named.
    pub fn any(&self) -> bool {
        self.equal_effectiveness.is_some()
            || self.equal_choice.is_some()
            || self.equal_effectiveness_within_budget.is_some()
            || self.equal_cost_of_effectiveness.is_some()
            || self.fair_trade_off.is_some()
            || self.equal_conditional_mean_recourse.is_some()
            || self.mean_recourse.is_some()
    }
}

/// Shares of a group that an action or a budget has to help.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectShares {
    /// The shares, each above 0.
    #[schemars(extend("minItems" = 1, "x-noun" = "share of a group"))]
    pub phi: Vec<Fraction>,
}

/// Budgets: as numbers, or by percentiles of what it costs until half of a group of a subgroup is
/// helped; at least one of either.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetSettings {
    /// Budgets, 0 to 1e9.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "number", "minimum" = 0, "maximum" = 1e9,
        "x-range" = "a budget; write a cost from 0 to 1e9"))]
    pub budgets: Vec<Finite>,
    /// Percentiles, 0 to 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "number"))]
    pub budget_percentiles: Vec<Finite>,
}

/// A definition with one parameter, as a gate uses it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OneDefinition {
    /// The same share of both groups can be helped, at any cost.
    EqualEffectiveness(NoSettings),
    /// Both groups have equally many actions that help a share phi of them.
    EqualChoice(OneEffectShare),
    /// The same share of both groups can be helped within a budget.
    EqualEffectivenessWithinBudget(OneBudget),
    /// A share phi of both groups can be helped at the same cost.
    EqualCostOfEffectiveness(OneEffectShare),
    /// The same share of both groups can be helped at every cost.
    FairTradeOff(NoSettings),
    /// Those who can be helped pay the same on average.
    EqualConditionalMeanRecourse(NoSettings),
    /// All pay the same on average, where people without recourse count with `no_way_costs`.
    MeanRecourse(NoSettings),
}

/// One share of a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneEffectShare {
    /// The share, one of those of the block `recourse`.
    pub phi: Fraction,
}

/// One budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneBudget {
    /// The budget, one of the `budgets` of the block `recourse`.
    pub budget: Finite,
}

/// Which of the ranked subgroups are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShownSubgroups {
    /// Subgroups shown per definition and view, at most 100; all are in the tables.
    #[serde(default = "Count::of::<20>")]
    #[schemars(extend("maximum" = 100,
        "x-range" = "a number up to 100; all subgroups are in the tables"))]
    pub per_definition: Count,
    /// `merge`: of two subgroups with the same actions, one of which contains the other, the one
    /// with the larger score is shown.
    #[serde(default)]
    pub overlapping: OverlapRule,
}

impl Default for ShownSubgroups {
    fn default() -> Self {
        ShownSubgroups { per_definition: Count::of::<20>(), overlapping: OverlapRule::default() }
    }
}

/// How overlapping subgroups with the same actions are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OverlapRule {
    /// One of them is shown.
    #[default]
    Merge,
    /// All are shown.
    Keep,
}

/// The number of random permutations of the two groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermutationSettings {
    /// Permutations per subgroup, at most 1,000,000: the smallest p-value is 1 over one more.
    #[serde(default = "Count::of::<999>")]
    #[schemars(extend("maximum" = 1_000_000, "x-range" = "a number up to 1000000; 999 are usual"))]
    pub deals: Count,
    /// A test stops once this many permutations had a score of at least the real one.
    #[serde(default = "Count::of::<20>")]
    #[schemars(extend("maximum" = 1_000_000, "x-range" = "a number up to 1000000; 20 are usual"))]
    pub enough: Count,
}

/// A share of the job as the engine takes it; `None` for 0, and beyond 18 decimal places.
pub(crate) fn share(share: Fraction) -> Option<DecimalShare> {
    Decimal::from_f64(share.get()).and_then(DecimalShare::new)
}

/// A percentile of the job as the engine takes it; `None` outside 0 to 100.
pub(crate) fn percentile(q: Finite) -> Option<Percentile> {
    Decimal::from_f64(q.get()).and_then(Percentile::new)
}

/// A cost of the job in units of 1e-9; `None` outside 0 to [`MAX_COST`].
pub(crate) fn cost(cost: Finite) -> Option<i64> {
    let units = (cost.get() * COST_UNIT as f64).round_ties_even();
    (0.0..=MAX_COST).contains(&cost.get()).then_some(units as i64)
}

impl OneDefinition {
    /// The definition as the engine takes it.
    ///
    /// `None` where its parameter is out of range, or `no_way_costs` is missing.
    pub fn definition(self, no_way_costs: Option<Finite>) -> Option<RecourseDefinition> {
        Some(match self {
            OneDefinition::EqualEffectiveness(_) => RecourseDefinition::EqualEffectiveness,
            OneDefinition::EqualChoice(OneEffectShare { phi }) => {
                RecourseDefinition::EqualChoice(share(phi)?)
            }
            OneDefinition::EqualEffectivenessWithinBudget(OneBudget { budget }) => {
                RecourseDefinition::WithinBudget(cost(budget)?)
            }
            OneDefinition::EqualCostOfEffectiveness(OneEffectShare { phi }) => {
                RecourseDefinition::EqualCost(share(phi)?)
            }
            OneDefinition::FairTradeOff(_) => RecourseDefinition::FairTradeOff,
            OneDefinition::EqualConditionalMeanRecourse(_) => RecourseDefinition::ConditionalMean,
            OneDefinition::MeanRecourse(_) => RecourseDefinition::Mean(cost(no_way_costs?)?),
        })
    }
}

impl RecourseBlock {
    /// The search settings; `None` where a support is out of range.
    pub fn search(&self) -> Option<SearchSettings> {
        Some(SearchSettings {
            subgroups: share(self.subgroups.support)?,
            actions: share(self.actions.support)?,
            max_items: self.subgroups.longest.map(Count::size),
            matching: self.matching,
            max_results: self.at_most.size(),
        })
    }

    /// The definitions in the order of the tables.
    ///
    /// `budgets` gives the budgets at the percentiles, for the definitions that use budgets.
    pub fn definitions(
        &self,
        budgets: impl FnOnce(&[Percentile]) -> Vec<i64>,
    ) -> Vec<RecourseDefinition> {
        let asked = &self.definitions;
        let shares = |phis: &Option<EffectShares>| -> Vec<DecimalShare> {
            phis.iter().flat_map(|p| &p.phi).filter_map(|&phi| share(phi)).collect()
        };
        let mut all = Vec::new();
        all.extend(asked.equal_effectiveness.map(|_| RecourseDefinition::EqualEffectiveness));
        all.extend(shares(&asked.equal_choice).into_iter().map(RecourseDefinition::EqualChoice));
        if let Some(within) = &asked.equal_effectiveness_within_budget {
            let percentiles: Vec<Percentile> =
                within.budget_percentiles.iter().filter_map(|&q| percentile(q)).collect();
            let mut costs: Vec<i64> =
                within.budgets.iter().filter_map(|&budget| cost(budget)).collect();
            if !percentiles.is_empty() {
                costs.extend(budgets(&percentiles));
            }
            costs.sort_unstable();
            costs.dedup();
            all.extend(costs.into_iter().map(RecourseDefinition::WithinBudget));
        }
        all.extend(
            shares(&asked.equal_cost_of_effectiveness)
                .into_iter()
                .map(RecourseDefinition::EqualCost),
        );
        all.extend(asked.fair_trade_off.map(|_| RecourseDefinition::FairTradeOff));
        all.extend(
            asked.equal_conditional_mean_recourse.map(|_| RecourseDefinition::ConditionalMean),
        );
        all.extend(
            asked.mean_recourse.and(self.no_way_costs).and_then(cost).map(RecourseDefinition::Mean),
        );
        all
    }
}

/// The bins that recourse uses for a column of numbers.
///
/// Edges, ascending, or `{levels: {NAME: [LO, HI]}}`. They are `(lo, hi]`, the lowest holds its
/// left edge too. Models still read the number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Bins", extend("x-is" = "a list of edges, or `{levels: {NAME: [LO, HI]}}`"))]
pub enum RecourseBins {
    /// Edges, ascending: `[17, 26, 34]` gives `[17, 26]` and `(26, 34]`.
    Edges(Vec<Finite>),
    /// Bins with their own names, in their order.
    Levels(NamedBins),
}

/// Bins with their own names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedBins {
    /// Names with the two edges of each: `{PartTime: [0, 25], FullTime: [25, 60]}`, each
    /// `(lo, hi]`, the lowest with its left edge.
    #[schemars(extend("x-least" = "name bins, such as `{PartTime: [0, 25], FullTime: [25, 60]}`"))]
    pub levels: IndexMap<Word, [Finite; 2]>,
}

impl RecourseBins {
    /// The bins in declared order, edges ascending.
    pub fn bins(&self) -> Vec<DerivedBin> {
        match self {
            RecourseBins::Edges(edges) => bins_of(edges),
            RecourseBins::Levels(NamedBins { levels }) => levels_of(levels),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_what_the_paper_does() {
        let job =
            r"{model: m, subgroups: {support: 0.01}, actions: {support: 0.01}, may_change: {}}";
        let recourse: RecourseBlock = serde_yaml::from_str(job).unwrap();
        assert_eq!(
            (recourse.definitions.clone(), recourse.views.len(), recourse.alpha.get()),
            (DefinitionSettings::default(), 2, 0.05)
        );
        let mut asked = 0;
        let ids: Vec<String> = recourse
            .definitions(|percentiles| {
                asked = percentiles.len();
                vec![4_000_000_000, 1_500_000_000]
            })
            .iter()
            .map(|d| format!("{} {}", d.id(), d.parameter()).trim_end().to_owned())
            .collect();
        assert_eq!(asked, 3);
        let expected = "equal-effectiveness, equal-choice 0.3, equal-choice 0.7, \
                        equal-effectiveness-within-budget 1.5, equal-effectiveness-within-budget \
                        4, equal-cost-of-effectiveness 0.3, equal-cost-of-effectiveness 0.7, \
                        fair-trade-off, equal-conditional-mean-recourse";
        assert_eq!(ids.join(", "), expected);
    }

    #[test]
    fn numbers_of_the_job_are_taken_as_written() {
        let fraction = |x| Fraction::new(x).unwrap();
        assert!(share(fraction(0.0)).is_none() && share(fraction(1.0)).is_some());
        assert_eq!(share(fraction(0.07)).unwrap().get().to_string(), "0.07");
        let finite = |x| Finite::new(x).unwrap();
        assert!(
            percentile(finite(-1.0)).is_none()
                && percentile(finite(100.5)).is_none()
                && percentile(finite(12.5)).is_some()
        );
        assert_eq!(
            (cost(finite(2.5)), cost(finite(-0.1)), cost(finite(2e9))),
            (Some(2_500_000_000), None, None)
        );
    }

    #[test]
    fn bins_are_named_as_everywhere() {
        let names = |text: &str| -> Vec<String> {
            let bins: RecourseBins = serde_yaml::from_str(text).unwrap();
            bins.bins().into_iter().map(|bin| bin.name).collect()
        };
        assert_eq!(names("[17, 26, 34]"), ["[17, 26]", "(26, 34]"]);
        assert_eq!(names("{levels: {low: [0, 5], high: [5, 9]}}"), ["low", "high"]);
    }

    #[test]
    fn rules_are_told_in_words() {
        let words = |text: &str| serde_yaml::from_str::<ColumnChangeRule>(text).unwrap().in_words();
        assert_eq!(words("{up: {steps: 2}}"), "upwards, by at most 2");
        assert_eq!(words("{any: {not_to: [Unknown, none]}}"), "freely, not to Unknown, none");
        assert_eq!(words("{never: {}}"), "never");
    }
}
