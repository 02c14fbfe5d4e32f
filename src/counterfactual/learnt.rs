//! What a strategy learnt of a reference: one type for all of them, as an artifact holds it.

use serde::{Deserialize, Serialize};

use crate::counterfactual::Samples;
use crate::counterfactual::conditional::{Condition, Counts};
use crate::counterfactual::filter::Filter;
use crate::counterfactual::fit::{Plan, no_rows, suits};
use crate::counterfactual::generate::{Eligible, Fitted};
use crate::counterfactual::knobs::Knobs;
use crate::counterfactual::transport::carry::{Carriage, Crowd, compact};
use crate::counterfactual::transport::distance::Distance;
use crate::counterfactual::variable::{Extras, Variable};
use crate::data::Layout;
use crate::data::reference::ReferenceRows;
use crate::error::Result;

/// What was learnt. Rows of any origin can be generated from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Learnt {
    /// By greedy or plausible.
    Moving(Box<Fitted>),
    /// By transport, before plans are made.
    Carrying(Box<Carriage>),
}

impl Plan {
    /// What the knobs of a strategy come to.
    pub fn of(knobs: Knobs<'_>) -> Self {
        match knobs {
            Knobs::Greedy(greedy) => greedy.plan(),
            Knobs::Plausible(plausible) => plausible.plan(),
            Knobs::Transport(transport) => transport.plan(),
        }
    }
}

/// Learns from the reference rows how to change the attribute at this position.
///
/// # Errors
/// The reference cannot be read, or lacks what the strategy needs.
pub fn learn(knobs: Knobs<'_>, layout: &Layout, extras: &Extras, reference: &ReferenceRows<'_>, position: usize) -> Result<Learnt> {
    let plan = Plan::of(knobs);
    if let Knobs::Transport(_) = knobs {
        let carriage = learn_to_carry(&plan, layout, extras, reference, position)?;
        return Ok(Learnt::Carrying(Box::new(carriage)));
    }
    let fitted = plan.fit(layout, extras, reference, position)?;
    let moving = match &fitted.rules.eligible {
        Eligible::Named(named) => named.clone(),
        // What does not differ between the groups does not move.
        Eligible::Related(..) => vec![false; fitted.variables.len()],
    };
    suits(layout, &fitted.variables, &moving, &fitted.counts, &plan)?;
    Ok(Learnt::Moving(Box::new(fitted)))
}

fn learn_to_carry(plan: &Plan, layout: &Layout, extras: &Extras, reference: &ReferenceRows<'_>, position: usize) -> Result<Carriage> {
    let variables = plan.variables(layout, extras, position);
    let Eligible::Named(named) = plan.eligible(&variables) else { return Err(no_rows()) };
    let moving: Vec<usize> = (0..variables.len()).filter(|&v| named[v]).collect();
    let movers: Vec<&Variable> = moving.iter().map(|&v| &variables[v]).collect();
    let (mut counts, mut crowd) = (Counts::default(), Crowd::default());
    reference.fold(
        |group| {
            let samples = Samples { keys: &group.keys, rows: &group.rows, groups: &group.groups[position], classes: &group.classes };
            (Counts::of(&variables, &samples), Crowd::of_all(&movers, &samples))
        },
        |(part, rows)| {
            counts.merge(part);
            crowd.push(rows);
        },
    )?;
    if counts.0.is_empty() {
        return Err(no_rows());
    }
    suits(layout, &variables, &named, &counts, plan)?;
    let distance = Distance::new(compact(&movers), &crowd.rows());
    let checks = plan.checks(&variables);
    let n_groups = layout.attributes[position].groups.len();
    Ok(Carriage { variables, n_groups, condition: plan.condition, distance, moving, checks, counts })
}

impl Learnt {
    /// What may change, and what is measured.
    pub fn variables(&self) -> &[Variable] {
        match self {
            Learnt::Moving(fitted) => &fitted.variables,
            Learnt::Carrying(carriage) => &carriage.variables,
        }
    }

    /// The counts of the reference.
    pub fn counts(&self) -> &Counts {
        match self {
            Learnt::Moving(fitted) => &fitted.counts,
            Learnt::Carrying(carriage) => &carriage.counts,
        }
    }

    /// The declared groups without a row to learn from: nobody is moved out of them or into them.
    pub fn untaught(&self) -> Vec<usize> {
        let n_groups = match self {
            Learnt::Moving(fitted) => fitted.n_groups,
            Learnt::Carrying(carriage) => carriage.n_groups,
        };
        (0..n_groups).filter(|&group| self.counts().lacks(group)).collect()
    }

    /// What is conditioned on.
    pub fn condition(&self) -> Condition {
        match self {
            Learnt::Moving(fitted) => fitted.rules.condition,
            Learnt::Carrying(carriage) => carriage.condition,
        }
    }

    /// The filter, where there is one.
    pub fn filter(&self) -> Option<&Filter> {
        match self {
            Learnt::Moving(fitted) => fitted.filter.as_ref(),
            Learnt::Carrying(_) => None,
        }
    }
}
