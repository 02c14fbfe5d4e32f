//! The definitions of fairness of recourse: the value of a group, and the gap between two groups.
//!
//! Source: the paper's definitions of section 3. With `ecd` macro or micro, `ecd^-1(phi)` the
//! smallest cost with `ecd >= phi`:
//!
//! | definition | view | value of a group | worse is |
//! | --- | --- | --- | --- |
//! | equal-effectiveness | both | `ecd(infinity)` | lower |
//! | equal-choice, phi | macro | number of actions with `k >= phi n` | lower |
//! | equal-effectiveness-within-budget, c | both | `ecd(c)`; 0 if nothing is within budget | lower |
//! | equal-cost-of-effectiveness, phi | both | `ecd^-1(phi)`, or infinity | higher |
//! | fair-trade-off | both | `ecd` at the smallest cost where the two are furthest apart | lower |
//! | equal-conditional-mean-recourse | micro | mean cost of the cheapest action that helps, over the people helped by some action | higher |
//! | mean-recourse, c | micro | the same over all people; people without recourse count with c | higher |
//!
//! The score is the absolute difference. Two infinite values differ by 0: both groups lack
//! recourse. An infinite value and a number differ by infinity. (AIF360 subtracts the two
//! infinities; its NaN then comes first in its ranking.)
//!
//! Choice: the trade-off takes the maximum over costs, as the paper defines it; published figures
//! compare position by position in lists that each group sorts differently, and are too large.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::recourse::DecimalShare;
use crate::recourse::effect::{CostReach, SubgroupEffects};
use crate::recourse::exact::{ExactRatio, decimal_text};
use crate::recourse::groups::{OTHER, REFERENCE};
use crate::recourse::steps::COST_UNIT;

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecourseView {
    /// One action for all people of a subgroup.
    Macro,
    /// Each person the action that helps.
    Micro,
}

impl AsRef<str> for RecourseView {
    fn as_ref(&self) -> &str {
        self.id()
    }
}

impl RecourseView {
    /// Its name in tables.
    pub fn id(self) -> &'static str {
        match self {
            RecourseView::Macro => "macro",
            RecourseView::Micro => "micro",
        }
    }

    /// Number of people of each group that are helped at a cost.
    fn reached(self, reach: &CostReach) -> [u32; 2] {
        match self {
            RecourseView::Macro => reach.best,
            RecourseView::Micro => reach.union,
        }
    }
}

/// A definition of equal recourse for two groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecourseDefinition {
    /// The same share of each group is helped, at any cost.
    EqualEffectiveness,
    /// Each group has the same number of actions that help this share of it.
    EqualChoice(DecimalShare),
    /// The same share of each group is helped at this cost, in units of 1e-9.
    WithinBudget(i64),
    /// This share of each group is helped at the same cost.
    EqualCost(DecimalShare),
    /// The same share of each group is helped at every cost.
    FairTradeOff,
    /// The people who can be helped pay the same on average.
    ConditionalMean,
    /// All pay the same on average; people without recourse pay this cost, in units of 1e-9.
    Mean(i64),
}

impl RecourseDefinition {
    /// Its name in jobs and tables.
    pub fn id(self) -> &'static str {
        match self {
            RecourseDefinition::EqualEffectiveness => "equal-effectiveness",
            RecourseDefinition::EqualChoice(_) => "equal-choice",
            RecourseDefinition::WithinBudget(_) => "equal-effectiveness-within-budget",
            RecourseDefinition::EqualCost(_) => "equal-cost-of-effectiveness",
            RecourseDefinition::FairTradeOff => "fair-trade-off",
            RecourseDefinition::ConditionalMean => "equal-conditional-mean-recourse",
            RecourseDefinition::Mean(_) => "mean-recourse",
        }
    }

    /// The parameter as text: a share or a cost; empty without a parameter.
    pub fn parameter(self) -> String {
        match self {
            RecourseDefinition::EqualChoice(phi) | RecourseDefinition::EqualCost(phi) => {
                phi.get().to_string()
            }
            RecourseDefinition::WithinBudget(cost) | RecourseDefinition::Mean(cost) => {
                decimal_text(u128::from(cost.unsigned_abs()), 9)
            }
            _ => String::new(),
        }
    }

    /// The views that it is defined for.
    ///
    /// AIF360 computes the conditional mean in the macro view too, on an unsorted list.
    pub fn views(self) -> &'static [RecourseView] {
        match self {
            RecourseDefinition::EqualChoice(_) => &[RecourseView::Macro],
            RecourseDefinition::ConditionalMean | RecourseDefinition::Mean(_) => {
                &[RecourseView::Micro]
            }
            _ => &[RecourseView::Macro, RecourseView::Micro],
        }
    }

    /// The range of its scores: how much worse off one group is, in shares of people, numbers of
    /// actions, or costs.
    pub fn score_range(self) -> (f64, f64) {
        let is_of_shares = matches!(
            self,
            RecourseDefinition::EqualEffectiveness
                | RecourseDefinition::WithinBudget(_)
                | RecourseDefinition::FairTradeOff
        );
        (0.0, if is_of_shares { 1.0 } else { f64::INFINITY })
    }

    /// Whether a group with a higher value is worse off: values are costs.
    pub fn is_cost(self) -> bool {
        matches!(
            self,
            RecourseDefinition::EqualCost(_)
                | RecourseDefinition::ConditionalMean
                | RecourseDefinition::Mean(_)
        )
    }
}

/// A definition in one view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecourseCriterion {
    /// The definition.
    pub definition: RecourseDefinition,
    /// The view.
    pub view: RecourseView,
}

impl RecourseCriterion {
    /// The criterion; `None` if the definition has no such view.
    pub fn new(definition: RecourseDefinition, view: RecourseView) -> Option<RecourseCriterion> {
        definition.views().contains(&view).then_some(RecourseCriterion { definition, view })
    }
}

/// An exact score or value; infinity is the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExactScore {
    /// A number of at least 0.
    Finite(ExactRatio),
    /// Infinity: no recourse, or the gap to a group without recourse.
    Infinite,
}

impl ExactScore {
    /// The value as a float.
    pub fn get(self) -> f64 {
        match self {
            ExactScore::Finite(ratio) => ratio.get(),
            ExactScore::Infinite => f64::INFINITY,
        }
    }

    /// Whether it is 0.
    pub fn is_zero(self) -> bool {
        matches!(self, ExactScore::Finite(ratio) if ratio.is_zero())
    }
}

/// The values and the score of one subgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubgroupScore {
    /// The value of each group.
    pub values: [ExactScore; 2],
    /// The gap between them.
    pub score: ExactScore,
    /// The group that is worse off; `None` where the score is 0.
    pub worse_group: Option<usize>,
    /// Trade-off only: the cost at which the two are furthest apart, in units of 1e-9.
    ///
    /// The smallest if there are several; `None` where they never differ.
    pub cost: Option<i64>,
}

/// A value before rounding: a fraction of whole numbers, or infinity.
#[derive(Debug, Clone, Copy)]
enum UnroundedValue {
    Parts { num: u128, den: u128 },
    Infinite,
}

impl RecourseCriterion {
    /// The score of a subgroup with at least one action.
    pub fn score(self, effect: &SubgroupEffects<'_>) -> SubgroupScore {
        if self.definition == RecourseDefinition::FairTradeOff {
            return trade_off(self.view, effect);
        }
        let values = [OTHER, REFERENCE].map(|g| self.value(effect, g));
        let unit = if self.definition.is_cost() { u128::from(COST_UNIT) } else { 1 };
        score_of_values(values, unit, self.definition.is_cost())
    }

    fn value(self, effect: &SubgroupEffects<'_>, g: usize) -> UnroundedValue {
        let n = effect.n[g];
        let share = |k: u32| UnroundedValue::Parts { num: u128::from(k), den: u128::from(n) };
        let reached = |reach: &CostReach| self.view.reached(reach)[g];
        match self.definition {
            RecourseDefinition::EqualEffectiveness => {
                share(effect.reaches.last().map_or(0, reached))
            }
            RecourseDefinition::EqualChoice(phi) => {
                let reaches = |k: &&[u32; 2]| phi.get().reached_by(u64::from(k[g]), u64::from(n));
                UnroundedValue::Parts {
                    num: effect.helped.iter().filter(reaches).count() as u128,
                    den: 1,
                }
            }
            RecourseDefinition::WithinBudget(budget) => share(effect.at(budget).map_or(0, reached)),
            RecourseDefinition::EqualCost(phi) => match cost_of(effect, self.view, phi, g) {
                Some(cost) => {
                    UnroundedValue::Parts { num: u128::from(cost.unsigned_abs()), den: 1 }
                }
                None => UnroundedValue::Infinite,
            },
            // Each reach adds the people who are first helped at its cost.
            RecourseDefinition::ConditionalMean | RecourseDefinition::Mean(_) => {
                let mut num = 0;
                let mut before = 0;
                for reach in effect.reaches {
                    num +=
                        u128::from(reach.cost.unsigned_abs()) * u128::from(reach.union[g] - before);
                    before = reach.union[g];
                }
                match self.definition {
                    RecourseDefinition::Mean(no_way) => {
                        let lost = u128::from(no_way.unsigned_abs()) * u128::from(n - before);
                        UnroundedValue::Parts { num: num + lost, den: u128::from(n) }
                    }
                    _ if before == 0 => UnroundedValue::Infinite,
                    _ => UnroundedValue::Parts { num, den: u128::from(before) },
                }
            }
            // `trade_off` computes it, because its two values are found together.
            RecourseDefinition::FairTradeOff => UnroundedValue::Infinite,
        }
    }
}

/// The smallest cost at which this share of a group is helped, in units of 1e-9: `ecd^-1`.
///
/// `None` where no cost is enough.
pub fn cost_of(
    effect: &SubgroupEffects<'_>,
    view: RecourseView,
    phi: DecimalShare,
    g: usize,
) -> Option<i64> {
    let enough = |reach: &&CostReach| {
        phi.get().reached_by(u64::from(view.reached(reach)[g]), u64::from(effect.n[g]))
    };
    effect.reaches.iter().find(enough).map(|reach| reach.cost)
}

/// Compares two values in units of `1 / unit`.
fn score_of_values(
    values: [UnroundedValue; 2],
    unit: u128,
    higher_is_worse: bool,
) -> SubgroupScore {
    let exact = |value| match value {
        UnroundedValue::Parts { num, den } => ExactScore::Finite(ExactRatio::new(num, den * unit)),
        UnroundedValue::Infinite => ExactScore::Infinite,
    };
    // Costs fit 63 bits and counts 32, so both products fit.
    let (score, higher) = match values {
        [UnroundedValue::Infinite, UnroundedValue::Infinite] => {
            (ExactScore::Finite(ExactRatio::new(0, 1)), None)
        }
        [UnroundedValue::Infinite, _] => (ExactScore::Infinite, Some(0)),
        [_, UnroundedValue::Infinite] => (ExactScore::Infinite, Some(1)),
        [UnroundedValue::Parts { num: a, den: m }, UnroundedValue::Parts { num: b, den: n }] => {
            let (a, b) = (a * n, b * m);
            let higher = if a == b { None } else { Some(usize::from(a < b)) };
            (ExactScore::Finite(ExactRatio::new(a.abs_diff(b), m * n * unit)), higher)
        }
    };
    let against = higher.map(|higher| if higher_is_worse { higher } else { 1 - higher });
    SubgroupScore { values: values.map(exact), score, worse_group: against, cost: None }
}

/// The largest distance of the two distributions: the two-sample Kolmogorov-Smirnov statistic.
fn trade_off(view: RecourseView, effect: &SubgroupEffects<'_>) -> SubgroupScore {
    let n = effect.n.map(u64::from);
    let apart = |reach: &CostReach| {
        let k = view.reached(reach).map(u64::from);
        (k[0] * n[1]).abs_diff(k[1] * n[0])
    };
    // Below the smallest cost no one is helped, so the gap is 0.
    let mut widest = (None, 0);
    for reach in effect.reaches {
        let distance = apart(reach);
        if distance > widest.1 {
            widest = (Some(reach), distance);
        }
    }
    let k = widest.0.map_or([0; 2], |reach| view.reached(reach));
    let values = [0, 1]
        .map(|g| UnroundedValue::Parts { num: u128::from(k[g]), den: u128::from(effect.n[g]) });
    SubgroupScore { cost: widest.0.map(|reach| reach.cost), ..score_of_values(values, 1, false) }
}

/// The distance above which the Kolmogorov-Smirnov test rejects equality at level `alpha`.
///
/// It is `sqrt(-ln(alpha / 2) (n0 + n1) / (2 n0 n1))`: one test per subgroup, without correction
/// for their number.
pub fn trade_off_bound(n: [u32; 2], alpha: f64) -> f64 {
    let [a, b] = n.map(f64::from);
    (-libm::log(alpha / 2.0) * (a + b) / (2.0 * a * b)).sqrt()
}
