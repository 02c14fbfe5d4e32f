//! Fits greedy and plausible: variables, counts of the (decorrelated) reference, and the filter.
//!
//! Source: the plausible strategy of "Towards Counterfactual Group Fairness": what may change is
//! domain knowledge, stated by name. Each allowed number takes the value of the target group and
//! class at the same quantile ([`crate::counterfactual::map`]); levels change where they are
//! impossible there or rarer by the threshold ([`crate::counterfactual::flip`]); counterfactuals
//! too far from the real rows of the target can be marked invalid
//! ([`crate::counterfactual::plausibility_filter`]). Greedy is in
//! [`crate::counterfactual::strategy::greedy`].
//!
//! Passes over the reference: one, and one more per entry of `decorrelate`; with a filter one more
//! where the first rows mislead about the others, and one where groups, classes and levels are so
//! many that their moments exceed the memory.

use crate::counterfactual::SampleBatch;
use crate::counterfactual::conditional::{Conditioning, ReferenceCounts, StratumCounts};
use crate::counterfactual::counting::{CountedReference, ReferenceCounter};
use crate::counterfactual::decorrelate::{DecorrelatedReference, TwinGenerator};
use crate::counterfactual::decorrelate_knobs::DecorrelateBlock;
use crate::counterfactual::domain_checks::{DomainChecks, PermittedDirection, PermittedRange};
use crate::counterfactual::flip::{CounterfactualsPerRow, FlipSettings};
use crate::counterfactual::forms::MovableFeatures;
use crate::counterfactual::generate::{
    EligibleVariables, FittedMapFlip, MapFlipGenerator, MapFlipRules,
};
use crate::counterfactual::moments::{FRAME_ROWS, MomentFrame};
use crate::counterfactual::plausibility_filter::{PlausibilityFilter, PlausibilitySettings};
use crate::counterfactual::plausibility_fit::FilterReference;
use crate::counterfactual::relation::RelationSettings;
use crate::counterfactual::variable::{StrategyVariable, VariableOptions, variables};
use crate::counterfactual::write_back::{binned_below, features_set_with};
use crate::data::Layout;
use crate::data::rows::reference::{ReferenceBatch, ReferenceRows};
use crate::error::{Error, Fault, Result};
use crate::num::ecdf::Cdf;
use crate::param::ColumnName;

/// Which variables may change.
#[derive(Debug, Clone, PartialEq)]
pub enum MoveRule {
    /// Those that are named.
    Move(MovableFeatures),
    /// All but some, where they are related to the pair of groups.
    Relate {
        /// Those that stay.
        keep_fixed: Vec<ColumnName>,
        /// When a variable is related.
        relation: RelationSettings,
    },
}

/// A strategy with all settings resolved from its block of the job; variables by name.
#[derive(Debug, Clone, PartialEq)]
pub struct StrategyPlan {
    /// What strata are formed by in addition to the group.
    pub condition: Conditioning,
    /// The rule for ties of numbers.
    pub cdf: Cdf,
    /// Which variables may change.
    pub move_rule: MoveRule,
    /// The rules of flips.
    pub flips: FlipSettings,
    /// The filter by distance.
    pub filter: Option<PlausibilitySettings>,
    /// Counterparts of levels by feature.
    pub counterparts: Vec<(String, Vec<(String, String)>)>,
    /// The entries whose twins are appended to the reference first.
    pub decorrelate: Vec<DecorrelateBlock>,
    /// Permitted ranges.
    pub range: Vec<(ColumnName, PermittedRange)>,
    /// Permitted directions.
    pub direction: Vec<(ColumnName, PermittedDirection)>,
}

impl StrategyPlan {
    /// The largest number of counterfactuals of a row in one group.
    pub fn max_counterfactuals(&self) -> usize {
        if self.flips.cfs == CounterfactualsPerRow::Single { 1 } else { self.flips.max_cfs }
    }

    /// Learns from the reference how to change the attribute at `position`.
    ///
    /// The counterparts of `extras` come from the plan.
    ///
    /// # Errors
    /// The reference cannot be read or has no rows; the data do not suit the filter.
    pub fn fit(
        &self,
        layout: &Layout,
        extras: &VariableOptions,
        reference: &ReferenceRows<'_>,
        position: usize,
    ) -> Result<FittedMapFlip> {
        let mut reference = DecorrelatedReference { rows: reference, twins: Vec::new() };
        // Twins keep the group of the attribute that is changed, so the columns that determine it
        // are kept.
        let mut kept = features_set_with(layout, position);
        kept.extend(binned_below(layout, position));
        for entry in &self.decorrelate {
            let Some(position) =
                layout.attributes.iter().position(|a| a.name == entry.sensitive.as_str())
            else {
                return Fault::new(
                    "missing-column",
                    format!("`{}` is not a sensitive attribute of the rows", entry.sensitive),
                )
                .fail("name one of `data.sensitive` in `decorrelate`");
            };
            let flips = FlipSettings { cfs: CounterfactualsPerRow::Single, ..self.flips };
            let alone = StrategyPlan {
                condition: Conditioning::Class,
                move_rule: MoveRule::Move(entry.moves.clone()),
                flips,
                filter: None,
                decorrelate: Vec::new(),
                range: Vec::new(),
                direction: Vec::new(),
                ..self.clone()
            };
            let fitted = alone.fit_on(layout, extras, &reference, position, &kept)?;
            reference.twins.push(TwinGenerator {
                position,
                attribute: layout.attributes[position].clone(),
                mover: MapFlipGenerator::new(fitted),
            });
        }
        self.fit_on(layout, extras, &reference, position, &[])
    }

    /// The variables of these rows when the attribute at `position` is changed.
    ///
    /// They are the features of the source that models read and that are not set with the
    /// attribute.
    pub fn variables(
        &self,
        layout: &Layout,
        extras: &VariableOptions,
        position: usize,
    ) -> Vec<StrategyVariable> {
        let mut extras =
            VariableOptions { counterparts: self.counterparts.clone(), ..extras.clone() };
        extras.excluded.extend(features_set_with(layout, position));
        extras.excluded.extend(
            layout.hidden.iter().chain(layout.derived.iter().map(|derived| &derived.feature)),
        );
        variables(&layout.features, &layout.attributes[position], &extras)
    }

    /// Fits on the enlarged reference; `kept` are the features that may not change.
    fn fit_on(
        &self,
        layout: &Layout,
        extras: &VariableOptions,
        reference: &DecorrelatedReference<'_>,
        position: usize,
        kept: &[usize],
    ) -> Result<FittedMapFlip> {
        let attribute = &layout.attributes[position];
        let variables = self.variables(layout, extras, position);
        let count = |frame: Option<&MomentFrame>| -> Result<CountedReference> {
            let add = |counter: &mut ReferenceCounter<'_>, group: &ReferenceBatch| {
                counter.add(&SampleBatch::of_reference(group, position));
            };
            let empty = || ReferenceCounter::new(&variables, frame);
            Ok(reference.gather(empty, add, ReferenceCounter::merge)?.finish())
        };
        let frame = match &self.filter {
            Some(_) => Some(first_frame(&variables, reference.rows)?),
            None => None,
        };
        let (counts, moments) = count(frame.as_ref())?;
        if counts.0.is_empty() {
            return Err(empty_reference());
        }
        let filter = match (&self.filter, frame) {
            (Some(settings), Some(frame)) => {
                let counted = FilterReference {
                    variables: &variables,
                    counts: &counts,
                    condition: self.condition,
                    min_section: self.flips.min_stratum.max(2),
                    reference,
                    position,
                };
                let again = |frame: &MomentFrame| Ok(count(Some(frame))?.1);
                Some(PlausibilityFilter::fit(*settings, &counted, (frame, moments), again)?)
            }
            _ => None,
        };
        let rules = MapFlipRules {
            condition: self.condition,
            cdf: self.cdf,
            eligible: self
                .eligible(&variables)
                .except(|v| variables[v].columns.iter().any(|column| kept.contains(column))),
            flips: self.flips,
            checks: self.checks(&variables),
        };
        Ok(FittedMapFlip { variables, n_groups: attribute.groups.len(), rules, counts, filter })
    }

    /// Which variables may change, of these in their order.
    pub(super) fn eligible(&self, variables: &[StrategyVariable]) -> EligibleVariables {
        let named =
            |chosen: &dyn Fn(&str) -> bool| variables.iter().map(|v| chosen(&v.name)).collect();
        match &self.move_rule {
            MoveRule::Move(moves) => EligibleVariables::Named(named(&|name| moves.contains(name))),
            MoveRule::Relate { keep_fixed, relation } => EligibleVariables::Related(
                named(&|name| keep_fixed.iter().all(|fixed| fixed.as_str() != name)),
                *relation,
            ),
        }
    }

    /// Ranges and directions of the numeric variables; those of others are not checked.
    pub(super) fn checks(&self, variables: &[StrategyVariable]) -> DomainChecks {
        let numeric = |name: &ColumnName| {
            variables.iter().position(|v| v.name == name.as_str() && v.levels().is_none())
        };
        DomainChecks {
            ranges: self
                .range
                .iter()
                .filter_map(|(name, bounds)| Some((numeric(name)?, *bounds)))
                .collect(),
            directions: self
                .direction
                .iter()
                .filter_map(|(name, way)| Some((numeric(name)?, *way)))
                .collect(),
        }
    }
}

/// Where numbers lie, by the first rows of the reference.
fn first_frame(
    variables: &[StrategyVariable],
    reference: &ReferenceRows<'_>,
) -> Result<MomentFrame> {
    let mut counter = ReferenceCounter::new(variables, None);
    for rows in reference.first_rows(FRAME_ROWS)? {
        counter.add(&SampleBatch { keys: &[], rows: &rows, groups: &[], classes: &[] });
    }
    let counts = counter.finish().0.0;
    let nothing = || StratumCounts::new(variables);
    let first = counts.into_values().next().unwrap_or_else(nothing);
    Ok(MomentFrame::new(variables, &first.values))
}

/// The reference has no rows to learn from.
pub(super) fn empty_reference() -> Error {
    Fault::new(
        "no-reference-rows",
        "there are no rows from which to learn the distributions of the groups",
    )
    .hint("check `data.split` and `data.keep`: a strategy learns from the training rows")
    .into()
}

/// Checks that the reference has values of every variable that moves for sure.
///
/// It must also have all named levels.
///
/// # Errors
/// What the reference lacks.
pub(crate) fn check_reference(
    layout: &Layout,
    variables: &[StrategyVariable],
    moving: &[bool],
    counts: &ReferenceCounts,
    plan: &StrategyPlan,
) -> Result<()> {
    let (mut numbers, mut levels) = (0, 0);
    for (variable, moves) in variables.iter().zip(moving) {
        let there = match variable.levels() {
            Some(_) => {
                levels += 1;
                counts.0.values().any(|stratum| stratum.levels[levels - 1].iter().any(|&n| n > 0))
            }
            None => {
                numbers += 1;
                counts.0.values().any(|stratum| stratum.values[numbers - 1].n() > 0)
            }
        };
        if *moves && !there {
            let what = format!(
                "`{}` should move, but no row of the reference has a value for it",
                variable.name
            );
            return Fault::new("no-values", what)
                .in_column(&variable.name)
                .fail("leave it out of `move`, or fill it");
        }
    }
    for (name, pairs) in &plan.counterparts {
        let Some(feature) = layout.features.iter().find(|f| f.name == *name) else { continue };
        let known = |level: &String| feature.levels.contains(level);
        if let Some(level) =
            pairs.iter().flat_map(|(from, to)| [from, to]).find(|level| !known(level))
        {
            let shown: Vec<String> =
                feature.levels.iter().take(10).map(|level| format!("`{level}`")).collect();
            let what =
                format!("`{level}` is named as a counterpart, but `{name}` has no such level");
            return Fault::new("unknown-level", what)
                .in_column(name)
                .fail(format!("its levels: {}", shown.join(", ")));
        }
    }
    Ok(())
}
