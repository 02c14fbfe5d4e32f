//! The stage `measure/SET/ATTRIBUTE`: tables about how good the counterfactuals of a set are.
//!
//! Quality needs no model, so it is measured once per set and attribute. With folds the
//! counterfactuals are compared with the references of all folds together: every row counts as
//! often as it was in a reference.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::counterfactual::conditional::Conditioning;
use crate::counterfactual::map_flip::FittedStrategy;
use crate::counterfactual::quality::shapes::ShapeBar;
use crate::counterfactual::quality::sums::QualitySums;
use crate::counterfactual::quality::{CounterfactualQuality, QualityReference, VariableQuality};
use crate::counterfactual::variable::StrategyVariable;
use crate::counterfactual::{
    ChangeCounters, GeneratedBatch, SampleBatch, TransportTallies, TransportTally,
};
use crate::data::Attribute;
use crate::data::rows::Projection;
use crate::data::rows::aligned::{
    CounterfactualKeys, CounterfactualReader, CounterfactualVerdicts,
};
use crate::error::Result;
use crate::exec::accumulator::Accumulator;
use crate::metric::catalog::cf_quality::{NO_FILTER, NOT_NUMERIC, NOTHING_TO_AVERAGE};
use crate::param::{Count, Seed};
use crate::stage::generate::basis::{LearningReference, RowClasses};
use crate::stage::row_context::RowContext;
use crate::table::file::write_rows;
use crate::table::{CfDistributionRow, CfFeatureRow, CfQualityRow, RARE, SetPair, finite, whole};

/// The name of all levels with too few people.
pub(crate) const LEAST_PEOPLE: u64 = 5;

/// What the quality of a set is measured from.
pub(crate) struct QualityInputs<'a> {
    /// The rows.
    pub context: RowContext<'a>,
    /// The rows that the strategy learnt from.
    pub reference: &'a LearningReference<'a>,
    /// The classes of the rows.
    pub classes: &'a RowClasses,
    /// What was learnt, for each fold.
    pub learnt: &'a [FittedStrategy],
    /// The counterfactuals.
    pub counterfactuals: &'a CounterfactualReader,
    /// The matches of a strategy that matches samples.
    pub tallies: Option<&'a TransportTallies>,
    /// Name of the set.
    pub set: &'a str,
    /// Position of the attribute.
    pub position: usize,
    /// Levels with fewer reference rows are not named.
    pub least: u64,
    /// The number of rows that a map shows for each direction, and the seed of the job; none = no
    /// map.
    pub map: Option<(Count, Seed)>,
}

/// The quality of each ordered pair of groups.
type QualityByPair = BTreeMap<(usize, usize), CounterfactualQuality>;

impl QualityInputs<'_> {
    /// Writes the tables of quality.
    ///
    /// # Errors
    /// A file cannot be read or written, or the run is to stop.
    pub(crate) fn write(&self, out: &Path) -> Result<()> {
        let layout = self.context.rows.layout();
        let attribute = &layout.attributes[self.position];
        let Some(first) = self.learnt.first() else { return Ok(()) };
        let mut counts = first.counts.clone();
        self.learnt[1..].iter().for_each(|learnt| counts.merge(learnt.counts.clone()));
        let yardstick = QualityReference::new(
            first.variables.clone(),
            &counts,
            attribute.groups.len(),
            first.rules.condition,
        );
        let (sums, without_class) = self.sums(&yardstick, attribute)?;
        let (pairs, total) = yardstick.quality(&sums, &first.rules, first.distance.is_some());

        let exact = self.learnt.iter().all(|learnt| learnt.counts.is_exact());
        write_rows(out, &self.quality(attribute, (&pairs, &total), exact, &without_class))?;
        write_rows(out, &self.features(attribute, &pairs))?;
        let detailed = detailed_pairs(&pairs);
        write_rows(
            out,
            &self.distributions(
                attribute,
                &first.variables,
                &yardstick.shapes(&sums, &detailed, self.least),
            ),
        )?;
        let Some(sample) = self.map else { return Ok(()) };
        write_rows(out, &self.map(sample, (&yardstick, &counts), &detailed)?)
    }

    fn quality(
        &self,
        attribute: &Attribute,
        (pairs, total): (&QualityByPair, &CounterfactualQuality),
        exact: bool,
        without_class: &BTreeMap<usize, u64>,
    ) -> Vec<CfQualityRow> {
        let mut quality = Vec::new();
        let row = |from: &str, to: &str, (name, value): NamedMeasure| CfQualityRow {
            pair: self.pair(attribute, from, to),
            metric: name.into(),
            value: value.ok().and_then(finite),
            undefined: value.err().unwrap_or("").into(),
        };
        let total_tally = self.tallies.map(|tallies| {
            tallies
                .iter()
                .fold(TransportTally::default(), |sum, (.., tally)| merge_tallies(&sum, tally))
        });
        let of_pair = |from: usize, to: usize| {
            let find = |tallies: &TransportTallies| {
                tallies.iter().find(|(a, b, _)| (*a, *b) == (from, to)).map(|(.., tally)| *tally)
            };
            self.tallies.map(|tallies| find(tallies).unwrap_or_default())
        };
        let all_without: u64 =
            without_class.values().sum::<u64>() * (attribute.groups.len() as u64).saturating_sub(1);
        // Metrics of real rows are about one target group, so all pairs together have none.
        for measured in values(total, total_tally.as_ref(), exact, all_without)
            .into_iter()
            .filter(|v| !v.0.starts_with(REAL))
        {
            quality.push(row("", "", measured));
        }
        for (&(from, to), pair_quality) in pairs {
            let without = without_class.get(&from).copied().unwrap_or(0);
            for measured in values(pair_quality, of_pair(from, to).as_ref(), exact, without) {
                quality.push(row(&attribute.groups[from], &attribute.groups[to], measured));
            }
        }
        quality
    }

    pub(super) fn pair(&self, attribute: &Attribute, from: &str, to: &str) -> SetPair {
        SetPair {
            counterfactual: self.set.into(),
            sensitive: attribute.name.as_str().into(),
            from_group: from.into(),
            to_group: to.into(),
        }
    }

    fn features(&self, attribute: &Attribute, pairs: &QualityByPair) -> Vec<CfFeatureRow> {
        let mut features = Vec::new();
        for (&(from, to), pair_quality) in pairs {
            let pair = self.pair(attribute, &attribute.groups[from], &attribute.groups[to]);
            for variable in &pair_quality.variables {
                for (name, value) in values_of_variable(variable) {
                    features.push(CfFeatureRow {
                        pair: pair.clone(),
                        feature: variable.name.as_str().into(),
                        metric: name.into(),
                        value: value.ok().and_then(finite),
                        undefined: value.err().unwrap_or("").into(),
                    });
                }
            }
        }
        features
    }

    fn distributions(
        &self,
        attribute: &Attribute,
        variables: &[StrategyVariable],
        of_pairs: &BTreeMap<(usize, usize), Vec<Vec<ShapeBar>>>,
    ) -> Vec<CfDistributionRow> {
        let mut shapes = Vec::new();
        for (&(from, to), bars_of) in of_pairs {
            let pair = self.pair(attribute, &attribute.groups[from], &attribute.groups[to]);
            for (variable, bars) in variables.iter().zip(bars_of) {
                let totals = bars
                    .iter()
                    .fold((0, 0), |sum, bar| (sum.0 + bar.original, sum.1 + bar.counterfactual));
                let share = |n: u64, total: u64| (total > 0).then(|| n as f64 / total as f64);
                for (number, bar) in (0_i64..).zip(bars) {
                    let level = match (bar.edges, bar.level) {
                        (Some(_), _) => "",
                        (None, Some(level)) => self.level(variable, level),
                        (None, None) => RARE,
                    };
                    for (side, n, share) in [
                        ("original", bar.original, share(bar.original, totals.0)),
                        ("counterfactual", bar.counterfactual, share(bar.counterfactual, totals.1)),
                        ("target", bar.target, bar.target_share),
                    ] {
                        shapes.push(CfDistributionRow {
                            pair: pair.clone(),
                            feature: variable.name.as_str().into(),
                            side: side.into(),
                            bin: number,
                            level: level.into(),
                            bin_lo: bar.edges.and_then(|edges| finite(edges.0)),
                            bin_hi: bar.edges.and_then(|edges| finite(edges.1)),
                            n: whole(n),
                            share: share.and_then(finite),
                        });
                    }
                }
            }
        }
        shapes
    }

    /// The name of a level of a variable: a level of its column, or the column of a one-hot group.
    fn level(&self, variable: &StrategyVariable, level: usize) -> &str {
        let features = &self.context.rows.layout().features;
        match variable.columns[..] {
            [column] => features[column].levels.get(level).map_or("", String::as_str),
            _ => variable.columns.get(level).map_or("", |&column| features[column].name.as_str()),
        }
    }

    /// The sums of all counterfactuals, and for each group the number of audited rows without
    /// counterfactuals because their class is missing.
    fn sums(
        &self,
        yardstick: &QualityReference,
        attribute: &Attribute,
    ) -> Result<(QualitySums, BTreeMap<usize, u64>)> {
        let row_context = self.context;
        let mut sums = QualitySums::default();
        let mut without_class: BTreeMap<usize, u64> = BTreeMap::new();
        let needs_class =
            self.learnt.iter().any(|learnt| learnt.rules.condition == Conditioning::Class);
        let group_sums = |g: usize| {
            let (batch, roles) = row_context.read(g, Projection::ALL)?;
            let classes = self.classes.of_group(g, &batch)?;
            let (keys, judged, rows) = self.counterfactuals.judged(g, row_context.rows.layout())?;
            let samples = SampleBatch {
                keys: &batch.row_key,
                rows: &batch.rows,
                groups: &batch.groups[self.position],
                classes: &classes,
            };
            let people = roles.people(samples.groups);
            let lacking = people.filter(|(i, ..)| needs_class && classes[*i].is_none());
            let without: Vec<u16> = lacking.map(|(_, group, _)| group).collect();
            let mut part = QualitySums::default();
            for to in 0..attribute.groups.len() {
                part.merge(yardstick.counterfactual_sums(
                    &samples,
                    &generated(&keys, &judged, &rows, to),
                    to,
                ));
            }
            Ok((batch.row.len() as u64, (part, without)))
        };
        row_context.row_groups().in_turn(group_sums, |(part, without)| {
            sums.merge(part);
            without
                .into_iter()
                .for_each(|group| *without_class.entry(usize::from(group)).or_default() += 1);
        })?;
        for (fold, learnt) in self.learnt.iter().enumerate() {
            if let Some(filter) = &learnt.filter {
                let reference = self.reference.rows(fold);
                reference.fold(
                    |group| {
                        let groups = &group.groups[self.position];
                        let samples = SampleBatch {
                            keys: &group.keys,
                            rows: &group.rows,
                            groups,
                            classes: &group.classes,
                        };
                        yardstick.reference_sums(filter, &samples)
                    },
                    |part| sums.merge(part),
                )?;
            }
        }
        Ok((sums, without_class))
    }
}

/// How many directions of a set are reported bar by bar.
const MAX_DETAILED: usize = 30;

/// The directions that are reported in detail: those where a moved variable stays farthest from
/// the target group (the first of equals). With many groups, bars for every direction would be
/// larger than all other results.
fn detailed_pairs(pairs: &QualityByPair) -> BTreeSet<(usize, usize)> {
    let distance = |quality: &CounterfactualQuality| {
        let moved = quality
            .variables
            .iter()
            .filter(|v| v.value("share_changed").is_some_and(|share| share > 0.0));
        moved.filter_map(|v| v.value("dist_after")).fold(-1.0, f64::max)
    };
    let mut rated: Vec<(f64, (usize, usize))> =
        pairs.iter().map(|(&pair, quality)| (distance(quality), pair)).collect();
    rated.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    rated.into_iter().take(MAX_DETAILED).map(|(_, pair)| pair).collect()
}

/// The counterfactuals with one target group, as they were generated.
fn generated(
    keys: &CounterfactualKeys,
    judged: &CounterfactualVerdicts,
    rows: &crate::data::FeatureRows,
    to: usize,
) -> GeneratedBatch {
    let chosen: Vec<usize> =
        (0..keys.parent.len()).filter(|&k| usize::from(keys.to_group[k]) == to).collect();
    let counter = |k: usize| ChangeCounters {
        n_changed: judged.counters[0][k],
        n_impossible: judged.counters[1][k],
        n_clamped: judged.counters[2][k],
        n_fallback: judged.counters[3][k],
        n_kept: judged.counters[4][k],
    };
    let plausibility = |&k: &usize| Some(judged.plausibility[k]).filter(|p| !p.is_nan());
    GeneratedBatch {
        parent: chosen.iter().map(|&k| keys.parent[k] as usize).collect(),
        cf_index: chosen.iter().map(|&k| keys.cf_index[k]).collect(),
        rows: rows.take(&chosen),
        counters: chosen.iter().map(|&k| counter(k)).collect(),
        plausibility: Some(chosen.iter().map(plausibility).collect()),
        valid: chosen.iter().map(|&k| judged.valid[k]).collect(),
    }
}

fn merge_tallies(a: &TransportTally, b: &TransportTally) -> TransportTally {
    TransportTally {
        n: a.n + b.n,
        n_approximate: a.n_approximate + b.n_approximate,
        n_without_target: a.n_without_target + b.n_without_target,
        cost: a.cost + b.cost,
    }
}

/// The tallies of several folds as one list.
pub(crate) fn merge_folds(of_folds: impl Iterator<Item = TransportTallies>) -> TransportTallies {
    let mut merged: BTreeMap<(usize, usize), TransportTally> = BTreeMap::new();
    for (from, to, tally) in of_folds.flatten() {
        let sum = merged.entry((from, to)).or_default();
        *sum = merge_tallies(sum, &tally);
    }
    merged.into_iter().map(|((from, to), tally)| (from, to, tally)).collect()
}

/// The prefix of the metrics of real rows.
const REAL: &str = "plausibility_real";

type NamedMeasure = (&'static str, Result<f64, &'static str>);

fn values(
    quality: &CounterfactualQuality,
    tally: Option<&TransportTally>,
    exact: bool,
    without_class: u64,
) -> Vec<NamedMeasure> {
    let why = |name: &str| match name.starts_with("plausibility") {
        true => NO_FILTER,
        false => NOTHING_TO_AVERAGE,
    };
    let mut values: Vec<NamedMeasure> =
        quality.values.iter().map(|&(name, value)| (name, value.ok_or(why(name)))).collect();
    let counts = values.iter().take_while(|(name, _)| name.starts_with("n_")).count();
    values.insert(counts, ("n_without_class", Ok(without_class as f64)));
    values.push(("exact", Ok(f64::from(u8::from(exact)))));
    if let Some(tally) = tally {
        let mean = |sum: f64| match tally.n {
            0 => Err(NOTHING_TO_AVERAGE),
            n => Ok(sum / n as f64),
        };
        values.extend([
            ("n_without_target", Ok(tally.n_without_target as f64)),
            ("approximate_share", mean(tally.n_approximate as f64)),
            ("transport_cost", mean(tally.cost)),
        ]);
    }
    values
}

fn values_of_variable(variable: &VariableQuality) -> Vec<NamedMeasure> {
    let why = |name: &str| match name {
        "mean_change" if !variable.is_number => NOT_NUMERIC,
        "mean_abs_change_sd" | "w1_before" | "w1_after" if !variable.varies => NOT_NUMERIC,
        _ => NOTHING_TO_AVERAGE,
    };
    variable.values.iter().map(|&(name, value)| (name, value.ok_or(why(name)))).collect()
}

#[cfg(test)]
mod tests {
    use super::{CounterfactualQuality, TransportTally, values, values_of_variable};
    use crate::metric::catalog::cf_quality::{
        MEASURES, NOT_NUMERIC, NOTHING_TO_AVERAGE, QualityScope,
    };

    #[test]
    fn written_metrics_and_listed_measures_are_the_same() {
        let listed = |is_listed: &dyn Fn(QualityScope) -> bool| {
            MEASURES.iter().filter(|m| is_listed(m.scope)).map(|m| m.id).collect::<Vec<_>>()
        };
        let empty = CounterfactualQuality::of_nobody(false, false);
        let of_pairs = values(&empty, Some(&TransportTally::default()), true, 0);
        assert_eq!(
            of_pairs.iter().map(|v| v.0).collect::<Vec<_>>(),
            listed(&|scope| scope != QualityScope::Feature)
        );
        assert_eq!(
            values(&empty, None, true, 0).iter().map(|v| v.0).collect::<Vec<_>>(),
            listed(&|scope| scope == QualityScope::Pair)
        );
        let why = |varies| {
            values_of_variable(&CounterfactualQuality::of_nobody(true, varies).variables[0])
        };
        assert!(why(true)[2..].iter().all(|(_, value)| *value == Err(NOTHING_TO_AVERAGE)));
        let reasons: Vec<&str> =
            why(false).into_iter().filter_map(|(_, value)| value.err()).collect();
        assert_eq!(
            reasons,
            [
                NOTHING_TO_AVERAGE,
                NOTHING_TO_AVERAGE,
                NOT_NUMERIC,
                NOTHING_TO_AVERAGE,
                NOTHING_TO_AVERAGE,
                NOT_NUMERIC,
                NOT_NUMERIC,
                NOTHING_TO_AVERAGE
            ]
        );
        let of_features = values_of_variable(&empty.variables[0]);
        assert_eq!(
            of_features.iter().map(|v| v.0).collect::<Vec<_>>(),
            listed(&|scope| scope == QualityScope::Feature)
        );
    }
}
