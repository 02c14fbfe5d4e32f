//! The stage `count`: folds scored rows into evidence, and writes the outcomes row by row.
//!
//! Evidence is integers and fixed-point sums only, one mergeable value per row group, so it does
//! not depend on threads or batches. Weights become whole multiples of the unit that preparing
//! found.

use std::ops::Range;

use crate::data::prepare::weight::WeightColumn;
use crate::data::rows::aligned::{
    CounterfactualKeys, CounterfactualReader, ScoreReader, SupportReader,
};
use crate::data::rows::split::RowRoles;
use crate::data::rows::{PreparedBatch, Projection, RowsReader};
use crate::data::values::SourceValues;
use crate::data::{Attribute, Layout, MISSING, MISSING_GROUP};
use crate::error::{Fault, Result};
use crate::exec::accumulator::{Accumulator, merge_all, merge_each, merge_present};
use crate::exec::internal_error;
use crate::job::ThresholdRule;
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::group_counts::GroupFactualCounts;
use crate::metric::evidence::labelled_scores::LabelledScores;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, is_rounded_switch};
use crate::metric::evidence::score_grid::ScoreGrid;
use crate::metric::evidence::strata::Strata;
use crate::metric::scope::GroupSelection;
use crate::metric::value::classes::FactualClassCounts;
use crate::metric::value::sanity::ModelSanity;
use crate::num::MAX_TOTAL_WEIGHT;
use crate::num::seed::h;
use crate::stage::count::slices::AttributeSlices;
use crate::stage::row_context::{DecisionRule, RowContext, RowThreshold};
use crate::table::file::RowWriter;
use crate::table::{OutcomeRow, SharedText};

/// Number of the state of the first slice; those of folds come before it.
pub(crate) const FIRST_SLICE: u64 = 1 << 32;

/// How rows are counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountSettings {
    /// Whether scores as such are measured.
    pub scores: bool,
    /// Whether the scores of all people count as those of one group, the first, and only their
    /// order matters.
    pub together: bool,
    /// Whether rates are measured at every threshold.
    pub curves: bool,
    /// Whether the thresholds that rows carry are counted by group.
    pub cutoffs: bool,
}

/// The rank of each declared group: its position in reference-first order, which metrics use.
pub(crate) fn ranks(attribute: &Attribute) -> Vec<usize> {
    let mut ranks = vec![0; attribute.groups.len()];
    attribute.reference_first().iter().enumerate().for_each(|(rank, &group)| ranks[group] = rank);
    ranks
}

/// Fails if rows have weights and the sum over `n` rows or counterfactuals could overflow.
pub(crate) fn check_weight_total(layout: &Layout, n: u64) -> Result<()> {
    layout.weight.as_ref().map_or(Ok(()), |weight| check_weight(weight, n))
}

/// As [`check_weight_total`], for rows that have weights.
fn check_weight(weight: &WeightColumn, n: u64) -> Result<()> {
    if u128::from(n) * u128::from(weight.largest) <= u128::from(MAX_TOTAL_WEIGHT) {
        return Ok(());
    }
    let what = format!(
        "the weights of {n} rows or counterfactuals are too large to be summed: the largest is {} \
         units of `{}`",
        weight.largest,
        weight.unit.value()
    );
    let hint = "round the weights to whole numbers with few digits, or audit fewer rows";
    Fault::new("weight-overflow", what).in_column(&weight.column).fail(hint)
}

/// The weight of a row in units; 1 where the job has no weights.
#[inline]
pub(crate) fn weight_units(layout: &Layout, batch: &PreparedBatch, i: usize) -> u64 {
    layout.weight.as_ref().map_or(1, |weight| weight.unit.units_of(batch.weight[i]))
}

/// Empty counts for `n_groups` groups, whose scores are compared as `grid` says. `strata` is empty.
pub(crate) fn no_rows(
    layout: &Layout,
    n_groups: usize,
    blocks: CountSettings,
    grid: ScoreGrid,
    strata: Option<&Strata>,
) -> FactualCounts {
    let unit = counting_unit(layout);
    let mut counts = FactualCounts::new(n_groups).counted_by(unit);
    if blocks.scores {
        counts.scores = Some(match blocks.together {
            true => LabelledScores::only_ranked(grid.scale, unit),
            false => LabelledScores::new(grid.scale, unit),
        });
    }
    if blocks.curves {
        counts = counts.with_grid(grid);
    }
    counts.strata = strata.cloned();
    counts
}

/// How scores of rows of this layout are compared with the thresholds of a grid.
pub(crate) fn score_grid(layout: &Layout, rule: &DecisionRule) -> ScoreGrid {
    let threshold = match &rule.threshold {
        RowThreshold::Fixed(threshold) => Some(*threshold),
        RowThreshold::Carried(_) => None,
        // Folds may have different thresholds.
        RowThreshold::Folds(folds) => {
            folds.first().copied().filter(|t| folds.iter().all(|f| f == t))
        }
    };
    let threshold = threshold.map(|threshold| rule.as_compared(threshold));
    ScoreGrid {
        scale: rule.scale,
        strict: rule.decision == ThresholdRule::Gt,
        weighted: layout.weight.is_some(),
        threshold: threshold.filter(|threshold| threshold.is_finite()),
    }
}

/// How the rows of one model are counted by the groups of one attribute.
pub(crate) struct RowCounting<'a> {
    layout: &'a Layout,
    rule: &'a DecisionRule,
    blocks: CountSettings,
    ranks: Vec<usize>,
    /// Empty counts by stratum, if the job names strata.
    strata: Option<Strata>,
}

/// Empty counts by stratum and group of an attribute, if the job names strata. If the strata are
/// the groups themselves, a stratum holds one group only and compares nothing.
pub(crate) fn no_strata(layout: &Layout, attribute: usize) -> Option<Strata> {
    let (strata_column, attribute) = (layout.strata.as_ref()?, &layout.attributes[attribute]);
    let n_groups = attribute.groups.len();
    if strata_column.column == layout.features[attribute.feature].name {
        return Some(Strata::of_groups(n_groups));
    }
    let strata = Strata::new(strata_column.levels.len(), n_groups, layout.weight.is_some());
    Some(match layout.person {
        Some(_) => strata.by_person(),
        None => strata,
    })
}

impl<'a> RowCounting<'a> {
    /// # Errors
    /// The sum of the weights may overflow.
    pub(crate) fn new(
        layout: &'a Layout,
        rule: &'a DecisionRule,
        attribute: usize,
        blocks: CountSettings,
    ) -> Result<Self> {
        check_weight_total(layout, layout.n_rows)?;
        Ok(RowCounting {
            layout,
            rule,
            blocks,
            ranks: ranks(&layout.attributes[attribute]),
            strata: no_strata(layout, attribute),
        })
    }

    /// Counts without rows.
    pub(crate) fn empty(&self) -> FactualCounts {
        let grid = score_grid(self.layout, self.rule);
        no_rows(self.layout, self.ranks.len(), self.blocks, grid, self.strata.as_ref())
    }

    /// Counts a row of a declared group that is audited in a fold. A row of weight 0 adds nothing.
    pub(crate) fn add(
        &self,
        part: &mut FactualCounts,
        (batch, i): (&PreparedBatch, usize),
        fold: u8,
        score: f64,
        group: u16,
    ) {
        let key_and_weight = (batch.person_keys()[i], weight_units(self.layout, batch, i));
        let threshold = self.rule.threshold_at(batch, Some(fold), i);
        let predicted = self.rule.compare(score, threshold);
        let (group, label) = (self.ranks[usize::from(group)], label(self.layout, batch, i));
        part.add((group, key_and_weight.0, key_and_weight.1), label, predicted, score == threshold);
        if key_and_weight.1 == 0 {
            return;
        }
        if self.blocks.cutoffs
            && predicted.is_some()
            && let Some(threshold) = self.rule.share(threshold)
        {
            part.add_cutoff(group, threshold);
        }
        if self.blocks.scores {
            let group = if self.blocks.together { 0 } else { group };
            part.add_score(
                group,
                (label, score),
                key_and_weight.1,
                (key_and_weight.0, batch.row_key[i]),
            );
        }
        if self.strata.is_some() {
            part.add_stratum(
                group,
                key_and_weight,
                predicted,
                Some(batch.strata[i]).filter(|&stratum| stratum != MISSING),
            );
        }
    }
}

impl RowCounting<'_> {
    /// Counts a row that is audited in a fold and has no declared group, by the number of its word.
    /// No metric uses the row, so a missing threshold is not an error.
    pub(crate) fn add_ungrouped(
        &self,
        part: &mut FactualCounts,
        (batch, i): (&PreparedBatch, usize),
        fold: u8,
        score: f64,
        word: u32,
    ) {
        let threshold = self.rule.threshold_at(batch, Some(fold), i);
        let predicted = self.rule.compare(score, threshold);
        let label = label(self.layout, batch, i);
        part.add_ungrouped(word, weight_units(self.layout, batch, i), label, predicted);
    }
}

/// The numbers of the words that the rows of a row group have in the column of an attribute; none
/// if all rows have a declared group.
///
/// # Errors
/// A damaged file.
pub(crate) fn words_of_ungrouped(
    rows: &RowsReader,
    batch: &PreparedBatch,
    (g, attribute): (usize, usize),
) -> Result<Option<Vec<u32>>> {
    let any = batch.groups[attribute].contains(&MISSING_GROUP);
    any.then(|| rows.read_levels(g, attribute)).transpose()
}

/// Counts the audited rows of one model by the groups of one attribute, and by strata if the job
/// names them. There is one state per fold; slices have numbers from [`FIRST_SLICE`] on.
///
/// # Errors
/// A row with a score has no threshold on the scale of the scores; the sum of the weights may
/// overflow; a file cannot be read; the run is to stop.
pub(crate) fn gather_rows(
    (row_context, rule, scores): (RowContext<'_>, &DecisionRule, &ScoreReader),
    attribute: usize,
    (blocks, n_folds): (CountSettings, usize),
    slices: Option<(&AttributeSlices, CountSettings)>,
) -> Result<Vec<(u64, FactualCounts)>> {
    let layout = row_context.rows.layout();
    let counting = RowCounting::new(layout, rule, attribute, blocks)?;
    let sliced = match slices {
        None => None,
        Some((slices, blocks)) => {
            Some((slices, RowCounting::new(layout, rule, attribute, blocks)?))
        }
    };
    let n_slices = sliced.as_ref().map_or(0, |(slices, _)| slices.len());
    let (folds, slice_parts) = row_context.row_groups().fold(
        || (vec![counting.empty(); n_folds], vec![None::<FactualCounts>; n_slices]),
        |(parts, slice_parts), g| {
            let (batch, roles) = row_context.read(g, rule.reads())?;
            let scores = scores.read(g)?;
            let words = words_of_ungrouped(row_context.rows, &batch, (g, attribute))?;
            for (i, (&score, &group)) in scores.iter().zip(&batch.groups[attribute]).enumerate() {
                let Some(fold) = roles.audited(i) else { continue };
                let part = &mut parts[usize::from(fold).min(n_folds - 1)];
                if group == MISSING_GROUP {
                    let word = words.as_ref().map_or(MISSING, |words| words[i]);
                    counting.add_ungrouped(part, (&batch, i), fold, score, word);
                } else {
                    rule.check(layout, &batch, i, score)?;
                    counting.add(part, (&batch, i), fold, score, group);
                    if let Some((slices, counting)) = &sliced {
                        slices.each_of_row(layout, &batch, i, |slice| {
                            let part = slice_parts[slice].get_or_insert_with(|| counting.empty());
                            counting.add(part, (&batch, i), fold, score, group);
                        });
                    }
                }
            }
            Ok(batch.row.len() as u64)
        },
        |(folds, slice_parts), part| {
            merge_each(folds, part.0);
            merge_present(slice_parts, part.1, Accumulator::merge);
        },
    )?;
    let slice_parts = (FIRST_SLICE..).zip(slice_parts);
    let slice_parts = slice_parts.filter_map(|(number, counts)| Some((number, counts?)));
    Ok((0..).zip(folds).chain(slice_parts).collect())
}

/// The counts of each fold and of all rows.
///
/// # Errors
/// Every audited row is left out.
pub(crate) fn count_rows<S: RowEvidence>(
    row_context: RowContext<'_>,
    folds: Vec<S>,
    attribute: usize,
) -> Result<CountedFolds<S>> {
    let counted = CountedFolds::new(folds)?;
    let people = counted.whole.people();
    if people.confusion(GroupSelection::All).predicted() > 0 {
        return Ok(counted);
    }
    let name = &row_context.rows.layout().attributes[attribute].name;
    Err(no_rows_counted(people, row_context.roles.n_audited(), name).into())
}

/// What was counted from the factual rows.
pub(crate) trait RowEvidence: Accumulator + Clone {
    /// The counts of people. With several classes these are the counts of the first class, because
    /// all classes leave out the same people.
    fn people(&self) -> &FactualCounts;

    /// What the labels say about the scores of a model.
    fn sanity(&self, gives_scores: bool) -> ModelSanity;

    /// The evidence without scores.
    #[must_use]
    fn scoreless(self) -> Self;
}

impl RowEvidence for FactualCounts {
    fn people(&self) -> &FactualCounts {
        self
    }

    fn sanity(&self, gives_scores: bool) -> ModelSanity {
        ModelSanity::of_sides(self, gives_scores)
    }

    fn scoreless(self) -> Self {
        self.without_scores()
    }
}

impl RowEvidence for FactualClassCounts {
    fn people(&self) -> &FactualCounts {
        &self.one_vs_rest[0]
    }

    fn sanity(&self, _: bool) -> ModelSanity {
        ModelSanity::of_classes(&self.one_vs_rest)
    }

    fn scoreless(self) -> Self {
        self.without_scores()
    }
}

/// The counts of each fold, and their sum.
#[derive(Debug)]
pub(crate) struct CountedFolds<S> {
    /// The sum over all folds.
    pub whole: S,
    /// The counts of each fold; empty if there is only one fold.
    pub folds: Vec<S>,
}

impl<S: Accumulator + Clone> CountedFolds<S> {
    fn new(folds: Vec<S>) -> Result<Self> {
        let separate = if folds.len() > 1 { folds.clone() } else { Vec::new() };
        let no_fold = || internal_error("no fold was counted".to_owned());
        Ok(CountedFolds { whole: merge_all(folds).ok_or_else(no_fold)?, folds: separate })
    }
}

/// The error that every audited row is left out.
fn no_rows_counted(counts: &FactualCounts, n_audited: u64, attribute: &str) -> Fault {
    let sum = |part: fn(&GroupFactualCounts) -> u64| counts.groups.iter().map(part).sum::<u64>();
    let mut lacking = vec![(n_audited - sum(GroupFactualCounts::n).min(n_audited), "group")];
    lacking.push((sum(GroupFactualCounts::n_missing_score), "score"));
    let lacking: Vec<String> = lacking
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} have no {what}"))
        .collect();
    let what = format!(
        "none of the {n_audited} audited rows counts for `{attribute}`: {}",
        lacking.join(", ")
    );
    Fault::new("nobody-counts", what).hint("a row counts if it has a group and a score")
}

/// The label of a row, where it has one.
#[inline]
pub(crate) fn label(layout: &Layout, batch: &PreparedBatch, i: usize) -> Option<bool> {
    layout.label.as_ref().and_then(|_| batch.label[i])
}

/// What a pass over scored counterfactuals reads: by default one score per row, and the rule that
/// makes it a decision.
#[derive(Debug)]
pub(crate) struct CountInputs<S = ScoreReader, R = DecisionRule> {
    /// How scores become decisions.
    pub rule: R,
    /// Position of the attribute.
    pub attribute: usize,
    /// The counterfactuals.
    pub counterfactuals: CounterfactualReader,
    /// The unsupported values of the counterfactuals.
    pub support: SupportReader,
    /// Scores of the rows.
    pub scores: S,
    /// Scores of the counterfactuals.
    pub scores_cf: S,
}

impl CountInputs {
    /// The decision rules of the rows and of the counterfactuals, each in the precision of its
    /// scores.
    pub(crate) fn rules(&self) -> [DecisionRule; 2] {
        [&self.scores, &self.scores_cf].map(|scores| self.rule.in_precision(scores.precision()))
    }
}

/// What counts as one observation of these rows.
pub(crate) fn counting_unit(layout: &Layout) -> CountingUnit {
    CountingUnit { weighted: layout.weight.is_some(), persons: layout.person.is_some() }
}

/// Counts without counterfactuals.
pub(crate) fn no_switches(
    layout: &Layout,
    attribute: usize,
    grid: Option<ScoreGrid>,
) -> CounterfactualCounts {
    let n_groups = layout.attributes[attribute].groups.len();
    let counts = CounterfactualCounts::new(n_groups).counted_by(counting_unit(layout));
    match grid {
        Some(grid) => counts.with_grid(grid),
        None => counts,
    }
}

/// One row group with everything that belongs to it.
pub(crate) struct ScoredGroup<S = Vec<f64>, R = [DecisionRule; 2]> {
    pub(crate) batch: PreparedBatch,
    pub(crate) roles: RowRoles,
    pub(crate) keys: CounterfactualKeys,
    /// The unsupported values of each counterfactual; empty where all are supported.
    pub(crate) unsupported: Vec<u64>,
    pub(crate) scores: S,
    pub(crate) scores_cf: S,
    /// The result of [`CountInputs::rules`].
    pub(crate) rules: R,
}

impl<S, R> ScoredGroup<S, R> {
    /// Calls `each` with every audited row that has a group and a positive weight: its position,
    /// its weight and the positions of its counterfactuals.
    pub(super) fn each_person(
        &self,
        layout: &Layout,
        attribute: usize,
        mut each: impl FnMut(usize, u64, Range<usize>),
    ) {
        let parent = |k: usize| self.keys.parent.get(k).map(|&parent| parent as usize);
        let mut next = 0;
        for (i, ..) in self.roles.people(&self.batch.groups[attribute]) {
            let weight = weight_units(layout, &self.batch, i);
            if weight == 0 {
                continue;
            }
            // Skips the counterfactuals of rows that are left out.
            while parent(next).is_some_and(|parent| parent < i) {
                next += 1;
            }
            let first = next;
            while parent(next) == Some(i) {
                next += 1;
            }
            each(i, weight, first..next);
        }
    }
}

impl ScoredGroup {
    /// Calls `each` with every audited row that has a group and a positive weight: its position,
    /// its person and the counterfactuals.
    pub(crate) fn people(
        &self,
        layout: &Layout,
        attribute: usize,
        mut each: impl FnMut(usize, &ScoredPerson, &[ScoredCounterfactual]),
    ) {
        let (ranks, own) = (ranks(&layout.attributes[attribute]), &self.batch.groups[attribute]);
        let [rule, rule_cf] = &self.rules;
        let mut cfs = Vec::new();
        self.each_person(layout, attribute, |i, weight, of_row| {
            let (score, fold) = (self.scores[i], self.roles.audited(i));
            let predicted = rule.decide(&self.batch, fold, i, score);
            let threshold_cf = rule_cf.threshold_at(&self.batch, fold, i);
            cfs.clear();
            for k in of_row {
                let score_cf = self.scores_cf[k];
                let predicted_cf = rule_cf.compare(score_cf, threshold_cf);
                cfs.push(ScoredCounterfactual {
                    to: ranks[usize::from(self.keys.to_group[k])],
                    predicted: predicted_cf,
                    score: rule.share(score_cf),
                    rounded: rule.gives_scores
                        && is_rounded_switch((score, predicted), (score_cf, predicted_cf)),
                    unsupported: self.unsupported.get(k).copied().unwrap_or(0),
                });
            }
            let person = ScoredPerson {
                group: ranks[usize::from(own[i])],
                label: label(layout, &self.batch, i),
                predicted,
                score: rule.share(score),
                weight,
            };
            each(i, &person, &cfs);
        });
    }

    /// Reads everything that belongs to a row group; `keys` says whether the row keys are needed.
    ///
    /// # Errors
    /// A file is damaged.
    pub(crate) fn read(
        row_context: RowContext<'_>,
        scored: &CountInputs,
        g: usize,
        keys: bool,
    ) -> Result<Self> {
        let projection = Projection { keys, ..scored.rule.reads() };
        let (batch, roles) = row_context.read(g, projection)?;
        Ok(ScoredGroup {
            keys: scored.counterfactuals.keys_beside(g, (&batch, &roles))?,
            batch,
            roles,
            unsupported: scored.support.read(g)?,
            scores: scored.scores.read(g)?,
            scores_cf: scored.scores_cf.read(g)?,
            rules: scored.rules(),
        })
    }
}

/// Appends the outcomes of one model, set and attribute to the table, in the order of the rows;
/// `named` says whether they have the row ids of the source.
///
/// # Errors
/// A file cannot be read, the disk refuses, or the run is to stop.
pub(crate) fn write_outcomes(
    row_context: RowContext<'_>,
    scored: &CountInputs,
    (model, set): (&str, &str),
    named: bool,
    writer: &mut RowWriter<OutcomeRow>,
) -> Result<()> {
    let layout = row_context.rows.layout();
    let attribute = &layout.attributes[scored.attribute];
    row_context.row_groups().in_order(
        |g| {
            let group = ScoredGroup::read(row_context, scored, g, true)?;
            let ids = named.then(|| row_context.rows.read_ids(g)).transpose()?;
            Ok((group.keys.parent.len() as u64, (group, ids)))
        },
        |_, (group, ids)| {
            writer.extend(outcome_rows(layout, scored, attribute, (model, set), &group, &ids))
        },
    )
}

fn outcome_rows<'a>(
    layout: &'a Layout,
    scored: &'a CountInputs,
    attribute: &Attribute,
    (model, set): (&str, &str),
    group: &'a ScoredGroup,
    ids: &'a Option<SourceValues>,
) -> impl Iterator<Item = OutcomeRow> + 'a {
    let (batch, keys) = (&group.batch, &group.keys);
    let decide = move |side: usize, score: f64, i: usize| {
        group.rules[side].decide(batch, group.roles.audited(i), i, score)
    };
    let [arm, model, set, sensitive] = ["", model, set, &attribute.name].map(SharedText::from);
    let groups: Vec<SharedText> = attribute.groups.iter().map(SharedText::from).collect();
    let row = move |(k, &parent): (usize, &u32)| {
        let i = parent as usize;
        let (score, score_cf) = (group.scores[i], group.scores_cf[k]);
        OutcomeRow {
            arm: arm.clone(),
            model: model.clone(),
            counterfactual: set.clone(),
            sensitive: sensitive.clone(),
            row_key: batch.row_key[i],
            // Hashed, because the key can be the person's id itself.
            person_key: batch.person.get(i).map(|&key| h(0, key, 0)),
            to_group: groups[usize::from(keys.to_group[k])].clone(),
            cf_index: keys.cf_index[k].into(),
            // Every row with a counterfactual is audited.
            fold: group.roles.audited(i).map_or(0, i64::from),
            from_group: groups[usize::from(batch.groups[scored.attribute][i])].clone(),
            label: label(layout, batch, i),
            predicted: decide(0, score, i),
            predicted_cf: decide(1, score_cf, i),
            score: scored.rule.shown(score),
            score_cf: scored.rule.shown(score_cf),
            weight: layout
                .weight
                .as_ref()
                .and_then(|_| i64::try_from(weight_units(layout, batch, i)).ok()),
            row_id: ids.as_ref().map(|ids| ids.text(i).into()),
        }
    };
    keys.parent.iter().enumerate().map(row)
}

#[cfg(test)]
mod tests {
    use super::{CountedFolds, check_weight};
    use crate::data::prepare::weight::{MAX_UNITS, WeightColumn};
    use crate::metric::evidence::counts::FactualCounts;
    use crate::tests::Says;

    #[test]
    fn the_whole_is_the_sum_of_its_folds() {
        let fold = |positive: u64| {
            let mut counts = FactualCounts::new(2);
            (0..positive).for_each(|_| counts.add((1, 0, 1), Some(true), Some(true), false));
            counts
        };
        let counted = CountedFolds::new(vec![fold(3), fold(0), fold(4)]).unwrap();
        assert_eq!((&counted.whole, counted.folds.len()), (&fold(7), 3));
        // Without folds there is one state.
        let counted = CountedFolds::new(vec![fold(5)]).unwrap();
        assert_eq!((counted.whole, counted.folds.len()), (fold(5), 0));
    }

    #[test]
    fn weights_whose_sum_could_overflow_are_refused() {
        let unit = serde_json::from_str(r#"{"times": 1, "exponent": 0, "decimals": 0}"#).unwrap();
        let weight = WeightColumn { column: "w".to_owned(), unit, largest: MAX_UNITS };
        assert!(check_weight(&weight, 1 << 30).is_ok());
        let refused = check_weight(&weight, (1 << 30) + 1).unwrap_err().to_string();
        refused.says(&["weight-overflow", "column `w`"]);
        assert!(check_weight(&WeightColumn { largest: 5, ..weight }, 1 << 59).is_ok());
    }
}
