//! The plan of a strategy that moves features. It learns the variables, the counts of the
//! (decorrelated) reference, and the filter.
//!
//! Source: the plausible strategy of "Towards Counterfactual Group Fairness": what may change is
//! domain knowledge, stated by name. Each allowed number takes the value of the target group and
//! class at the same quantile ([`crate::counterfactual::quantile_map`]); levels change where they
//! are impossible there or rarer by the threshold ([`crate::counterfactual::flip`]);
//! counterfactuals too far from the real rows of the target can be marked invalid
//! ([`crate::counterfactual::plausibility_filter`]). Greedy is in
//! [`crate::counterfactual::strategy::greedy`].
//!
//! Passes over the reference: one, and one more per entry of `decorrelate`; with a filter one more
//! where the first rows mislead about the others, and one where groups, classes and levels are so
//! many that their moments exceed the memory.

use indexmap::IndexMap;
use indexmap::map::Slice;

use crate::counterfactual::SampleBatch;
use crate::counterfactual::conditional::{Conditioning, StratumCounts};
use crate::counterfactual::counting::{CountedReference, ReferenceCounter};
use crate::counterfactual::decorrelate::{DecorrelatedReference, TwinGenerator};
use crate::counterfactual::decorrelate_knobs::DecorrelateBlock;
use crate::counterfactual::domain_checks::{DomainChecks, PermittedDirection, PermittedRange};
use crate::counterfactual::flip::{CounterfactualsPerRow, FlipSettings};
use crate::counterfactual::map_flip::{FittedStrategy, MapFlipGenerator, MapFlipRules};
use crate::counterfactual::moments::{FRAME_ROWS, MomentFrame};
use crate::counterfactual::plausibility_filter::{KeepWithinBlock, PlausibilityFilter};
use crate::counterfactual::plausibility_fit::FilterReference;
use crate::counterfactual::relation::RelationSettings;
use crate::counterfactual::short_forms::{ConditionOn, MovableFeatures};
use crate::counterfactual::transport::TransportSettings;
use crate::counterfactual::variable::{StrategyVariable, VariableOptions, in_kinds, variables};
use crate::counterfactual::write_back::{binned_below, features_set_with};
use crate::data::Layout;
use crate::data::rows::reference::{ReferenceBatch, ReferenceRows};
use crate::data::source::row_program::RowProgramBlock;
use crate::error::{Error, Fault, Result};
use crate::num::ecdf::Cdf;
use crate::param::{ColumnName, Word};

/// For a feature, levels and the level that takes their place.
pub(super) type Counterparts = IndexMap<ColumnName, IndexMap<Word, Word>>;

/// For a feature, its permitted range.
pub(super) type PermittedRanges = IndexMap<ColumnName, PermittedRange>;

/// For a feature, the only direction in which it may change.
pub(super) type PermittedDirections = IndexMap<ColumnName, PermittedDirection>;

/// Where external counterfactuals come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExternalSource<'a> {
    /// A Parquet file.
    File(&'a str),
    /// A program that writes them.
    Program(&'a RowProgramBlock),
}

/// How counterfactuals are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum StrategyEngine<'a> {
    /// Maps of numbers and flips of levels, row by row.
    MapFlip,
    /// Plans of transport, for all samples together.
    Transport(TransportSettings),
    /// An external source; none where the knobs name none.
    External(Option<ExternalSource<'a>>),
}

/// The resolved settings of a strategy that moves features by reference rows; variables are named.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StrategyPlan<'a> {
    /// The condition of distributions in addition to the group.
    pub condition_on: &'a ConditionOn,
    /// The rule for ties of numbers.
    pub cdf: Cdf,
    /// The features that may change.
    pub moves: &'a MovableFeatures,
    /// All except these.
    pub keep_fixed: &'a [ColumnName],
    /// They change where they are related to the pair of groups; none: in every pair.
    pub relation: Option<RelationSettings>,
    /// The rules of flips.
    pub flips: FlipSettings,
    /// The filter by distance.
    pub filter: Option<KeepWithinBlock>,
    /// Declared counterparts of levels by feature; none where the strategy has no such key.
    pub counterpart: Option<&'a Counterparts>,
    /// The entries whose twins are appended to the reference first.
    pub decorrelate: &'a [DecorrelateBlock],
    /// Permitted ranges.
    pub range: &'a Slice<ColumnName, PermittedRange>,
    /// Permitted directions.
    pub direction: &'a Slice<ColumnName, PermittedDirection>,
    /// How counterfactuals are made.
    pub(crate) engine: StrategyEngine<'a>,
}

/// The rows in which an attribute is changed.
#[derive(Debug, Clone, Copy)]
pub struct MovedRows<'a> {
    /// Their columns.
    pub layout: &'a Layout,
    /// What the features do not say; the counterparts come from the plan.
    pub extras: &'a VariableOptions,
    /// Position of the attribute.
    pub position: usize,
}

impl<'a> StrategyPlan<'a> {
    /// What forms strata in addition to the group.
    pub fn condition(&self) -> Conditioning {
        match self.condition_on {
            ConditionOn::Nothing => Conditioning::Nothing,
            _ => Conditioning::Class,
        }
    }

    /// The largest number of counterfactuals of a row in one group.
    pub fn max_counterfactuals(&self) -> usize {
        if self.flips.cfs == CounterfactualsPerRow::Single { 1 } else { self.flips.max_cfs }
    }

    /// Whether a feature of this name may change.
    pub fn may_move(&self, name: &str) -> bool {
        let is_fixed = self.keep_fixed.iter().any(|fixed| fixed.as_str() == name);
        self.moves.contains(name) && !is_fixed
    }

    /// The list of named features, and whether these are the ones that may change or that must not.
    pub fn named_features(&self) -> Option<(&'static str, &'a [ColumnName])> {
        let fixed = (!self.keep_fixed.is_empty()).then_some(("keep_fixed", self.keep_fixed));
        self.moves.named().map(|names| ("move", names)).or(fixed)
    }

    /// Whether all samples are matched together, by the seed where there are many.
    pub fn matches_samples(&self) -> bool {
        matches!(self.engine, StrategyEngine::Transport(_))
    }

    /// The source of external counterfactuals; none if the strategy makes them.
    pub fn external(&self) -> Option<ExternalSource<'a>> {
        match self.engine {
            StrategyEngine::External(source) => source,
            StrategyEngine::MapFlip | StrategyEngine::Transport(_) => None,
        }
    }

    /// Learns from the reference how to change the attribute.
    ///
    /// # Errors
    /// The reference cannot be read or has no rows; the data do not suit the filter.
    pub fn fit(&self, of: MovedRows<'_>, reference: &ReferenceRows<'_>) -> Result<FittedStrategy> {
        let layout = of.layout;
        let mut reference = DecorrelatedReference { rows: reference, twins: Vec::new() };
        // Twins keep the group of the attribute that is changed, so the columns that determine it
        // are kept.
        let mut kept = features_set_with(layout, of.position);
        kept.extend(binned_below(layout, of.position));
        for entry in self.decorrelate {
            let Some(position) = layout.attribute(entry.sensitive.as_str()) else {
                return Fault::new(
                    "missing-column",
                    format!("`{}` is not a sensitive attribute of the rows", entry.sensitive),
                )
                .fail("name one of `data.sensitive` in `decorrelate`");
            };
            let flips = FlipSettings { cfs: CounterfactualsPerRow::Single, ..self.flips };
            let alone = StrategyPlan {
                condition_on: &ConditionOn::Label,
                moves: &entry.moves,
                keep_fixed: &[],
                relation: None,
                flips,
                filter: None,
                decorrelate: &[],
                range: Slice::new(),
                direction: Slice::new(),
                ..*self
            };
            let fitted = alone.fit_on(MovedRows { position, ..of }, &reference, &kept)?;
            reference.twins.push(TwinGenerator {
                position,
                attribute: layout.attributes[position].clone(),
                mover: MapFlipGenerator::new(fitted),
            });
        }
        self.fit_on(of, &reference, &[])
    }

    /// The variables of these rows.
    ///
    /// They are the features of the source that models read and that are not set with the
    /// attribute.
    pub fn variables(&self, of: MovedRows<'_>) -> Vec<StrategyVariable> {
        let MovedRows { layout, extras, position } = of;
        let words = |(from, to): (&Word, &Word)| (from.0.clone(), to.0.clone());
        let counterparts = self.counterpart.into_iter().flatten();
        let counterparts = counterparts
            .map(|(feature, pairs)| (feature.to_string(), pairs.iter().map(words).collect()));
        let mut extras = VariableOptions { counterparts: counterparts.collect(), ..extras.clone() };
        extras.excluded.extend(features_set_with(layout, position));
        extras.excluded.extend(
            layout.hidden.iter().chain(layout.derived.iter().map(|derived| &derived.feature)),
        );
        variables(&layout.features, &layout.attributes[position], &extras)
    }

    /// Fits on the enlarged reference; `kept` are the features that may not change.
    fn fit_on(
        &self,
        of: MovedRows<'_>,
        reference: &DecorrelatedReference<'_>,
        kept: &[usize],
    ) -> Result<FittedStrategy> {
        let (position, variables) = (of.position, self.variables(of));
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
                    condition: self.condition(),
                    min_section: self.flips.min_stratum.max(2),
                    reference,
                    position,
                };
                let again = |frame: &MomentFrame| Ok(count(Some(frame))?.1);
                Some(PlausibilityFilter::fit(*settings, &counted, (frame, moments), again)?)
            }
            _ => None,
        };
        // What an external source gives needs no reference rows.
        let learns = !matches!(self.engine, StrategyEngine::External(_));
        let may = |variable: &StrategyVariable| {
            learns
                && self.may_move(&variable.name)
                && variable.columns.iter().all(|column| !kept.contains(column))
        };
        let rules = MapFlipRules {
            condition: self.condition(),
            cdf: self.cdf,
            named: variables.iter().map(may).collect(),
            relation: self.relation,
            flips: self.flips,
            checks: self.checks(&variables),
        };
        let (n_groups, distance) = (of.layout.attributes[position].groups.len(), None);
        Ok(FittedStrategy { variables, n_groups, rules, counts, filter, distance })
    }

    /// Ranges and directions of the numeric variables; other variables are not checked.
    fn checks(&self, variables: &[StrategyVariable]) -> DomainChecks {
        let numeric = |name: &ColumnName| {
            variables.iter().position(|v| v.name == name.as_str() && v.levels().is_none())
        };
        let ranges = self.range.iter();
        let directions = self.direction.iter();
        DomainChecks {
            ranges: ranges.filter_map(|(name, range)| Some((numeric(name)?, *range))).collect(),
            directions: directions.filter_map(|(name, way)| Some((numeric(name)?, *way))).collect(),
        }
    }
}

/// The frame of numbers, from the first rows of the reference.
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
fn empty_reference() -> Error {
    Fault::new(
        "no-reference-rows",
        "there are no rows from which to learn the distributions of the groups",
    )
    .hint("check `data.split` and `data.keep`: a strategy learns from the training rows")
    .into()
}

/// Checks that the reference has values of every variable that certainly moves.
///
/// It must also have all named levels.
///
/// # Errors
/// The reference lacks rows or values that the strategy needs.
pub(super) fn check_reference(
    layout: &Layout,
    fitted: &FittedStrategy,
    plan: &StrategyPlan<'_>,
) -> Result<()> {
    let (counts, rules) = (&fitted.counts, &fitted.rules);
    for ((j, variable), named) in in_kinds(&fitted.variables).zip(&rules.named) {
        // A variable that must differ between the groups may not move at all.
        let moves = *named && rules.relation.is_none();
        let there = counts.0.values().any(|stratum| match variable.levels() {
            Some(_) => stratum.levels[j].iter().any(|&n| n > 0),
            None => stratum.values[j].n() > 0,
        });
        if moves && !there {
            let what = format!(
                "`{}` should move, but no row of the reference has a value for it",
                variable.name
            );
            return Fault::new("no-values", what)
                .in_column(&variable.name)
                .fail("leave it out of `move`, or fill it");
        }
    }
    for (name, pairs) in plan.counterpart.into_iter().flatten() {
        let found = layout.features.iter().find(|f| f.name == name.as_str());
        let Some(feature) = found else { continue };
        let known = |level: &Word| feature.levels.contains(&level.0);
        if let Some(level) =
            pairs.iter().flat_map(|(from, to)| [from, to]).find(|level| !known(level))
        {
            let shown: Vec<String> =
                feature.levels.iter().take(10).map(|level| format!("`{level}`")).collect();
            let what =
                format!("`{level}` is named as a counterpart, but `{name}` has no such level");
            return Fault::new("unknown-level", what)
                .in_column(name.as_str())
                .fail(format!("its levels: {}", shown.join(", ")));
        }
    }
    Ok(())
}
