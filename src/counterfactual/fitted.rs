//! A fitted strategy: one type for all of them, as artifacts store it.

use serde::{Deserialize, Serialize};

use crate::counterfactual::SampleBatch;
use crate::counterfactual::conditional::{Conditioning, ReferenceCounts};
use crate::counterfactual::filter::PlausibilityFilter;
use crate::counterfactual::fit::{StrategyPlan, check_reference, empty_reference};
use crate::counterfactual::generate::{EligibleVariables, FittedMapFlip};
use crate::counterfactual::knobs::StrategyBlock;
use crate::counterfactual::transport::distance::TransportDistance;
use crate::counterfactual::transport::matching::{
    FittedTransport, TransportRows, renumber_columns,
};
use crate::counterfactual::variable::{StrategyVariable, VariableOptions};
use crate::data::Layout;
use crate::data::rows::reference::ReferenceRows;
use crate::error::Result;

/// A fitted strategy; it can generate from rows of any origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FittedStrategy {
    /// Greedy or plausible.
    Moving(Box<FittedMapFlip>),
    /// Transport, before samples are matched.
    Carrying(Box<FittedTransport>),
}

impl StrategyPlan {
    /// Resolves the settings of a strategy.
    pub fn from_block(knobs: StrategyBlock<'_>) -> Self {
        match knobs {
            StrategyBlock::Greedy(greedy) => greedy.plan(),
            StrategyBlock::Plausible(plausible) => plausible.plan(),
            StrategyBlock::Transport(transport) => transport.plan(),
        }
    }
}

/// Learns from the reference rows how to change the attribute at `position`.
///
/// # Errors
/// The reference cannot be read, or lacks what the strategy needs.
pub fn fit_strategy(
    knobs: StrategyBlock<'_>,
    layout: &Layout,
    extras: &VariableOptions,
    reference: &ReferenceRows<'_>,
    position: usize,
) -> Result<FittedStrategy> {
    let plan = StrategyPlan::from_block(knobs);
    if let StrategyBlock::Transport(_) = knobs {
        let carriage = fit_transport(&plan, layout, extras, reference, position)?;
        return Ok(FittedStrategy::Carrying(Box::new(carriage)));
    }
    let fitted = plan.fit(layout, extras, reference, position)?;
    let moving = match &fitted.rules.eligible {
        EligibleVariables::Named(named) => named.clone(),
        // Greedy moves only variables that differ between the groups, so none is sure to move.
        EligibleVariables::Related(..) => vec![false; fitted.variables.len()],
    };
    check_reference(layout, &fitted.variables, &moving, &fitted.counts, &plan)?;
    Ok(FittedStrategy::Moving(Box::new(fitted)))
}

fn fit_transport(
    plan: &StrategyPlan,
    layout: &Layout,
    extras: &VariableOptions,
    reference: &ReferenceRows<'_>,
    position: usize,
) -> Result<FittedTransport> {
    let variables = plan.variables(layout, extras, position);
    let EligibleVariables::Named(named) = plan.eligible(&variables) else {
        return Err(empty_reference());
    };
    let moving: Vec<usize> = (0..variables.len()).filter(|&v| named[v]).collect();
    let movers: Vec<&StrategyVariable> = moving.iter().map(|&v| &variables[v]).collect();
    let (mut counts, mut crowd) = (ReferenceCounts::default(), TransportRows::default());
    reference.fold(
        |group| {
            let samples = SampleBatch {
                keys: &group.keys,
                rows: &group.rows,
                groups: &group.groups[position],
                classes: &group.classes,
            };
            (
                ReferenceCounts::from_samples(&variables, &samples),
                TransportRows::from_all(&movers, &samples),
            )
        },
        |(part, rows)| {
            counts.merge(part);
            crowd.append(rows);
        },
    )?;
    if counts.0.is_empty() {
        return Err(empty_reference());
    }
    check_reference(layout, &variables, &named, &counts, plan)?;
    let distance = TransportDistance::new(renumber_columns(&movers), &crowd.to_rows());
    let checks = plan.checks(&variables);
    let n_groups = layout.attributes[position].groups.len();
    Ok(FittedTransport {
        variables,
        n_groups,
        condition: plan.condition,
        distance,
        moving,
        checks,
        counts,
    })
}

impl FittedStrategy {
    /// The variables that may change, and on which quality is measured.
    pub fn variables(&self) -> &[StrategyVariable] {
        match self {
            FittedStrategy::Moving(fitted) => &fitted.variables,
            FittedStrategy::Carrying(carriage) => &carriage.variables,
        }
    }

    /// The counts of the reference.
    pub fn counts(&self) -> &ReferenceCounts {
        match self {
            FittedStrategy::Moving(fitted) => &fitted.counts,
            FittedStrategy::Carrying(carriage) => &carriage.counts,
        }
    }

    /// The declared groups without a row to learn from: no row is moved out of them or into them.
    pub fn unlearnt_groups(&self) -> Vec<usize> {
        let n_groups = match self {
            FittedStrategy::Moving(fitted) => fitted.n_groups,
            FittedStrategy::Carrying(carriage) => carriage.n_groups,
        };
        (0..n_groups).filter(|&group| self.counts().lacks(group)).collect()
    }

    /// What the strategy conditions on.
    pub fn condition(&self) -> Conditioning {
        match self {
            FittedStrategy::Moving(fitted) => fitted.rules.condition,
            FittedStrategy::Carrying(carriage) => carriage.condition,
        }
    }

    /// The filter, if there is one.
    pub fn filter(&self) -> Option<&PlausibilityFilter> {
        match self {
            FittedStrategy::Moving(fitted) => fitted.filter.as_ref(),
            FittedStrategy::Carrying(_) => None,
        }
    }
}
