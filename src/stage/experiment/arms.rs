//! The tables of an experiment: what every arm was trained on, what it measures, and how far it is
//! from the base.
//!
//! Counts of the folds are added up before anything is computed; what single folds give is said as
//! mean and deviation beside it. Arms are compared on the same people with the same draws, as
//! models are in `metrics.compare`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::exec::{StageContext, files};
use crate::job::check::CheckedJob;
use crate::metric::bootstrap::redraw::ShiftEvidence;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::labels::MissingLabels;
use crate::metric::scope::GroupSelection;
use crate::metric::value::compare::{compare_counterfactual, compare_factual};
use crate::metric::value::measured::{MeasuredValue, measure_factual};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::value::switches::measure_counterfactual;
use crate::stage::experiment::folds::AddedRows;
use crate::stage::measure::counted_audit::CountedAudit;
use crate::stage::measure::{ResultTables, RowBuilder, settings};
use crate::stage::row_context::RowContext;
use crate::table::file::write_rows;
use crate::table::picked::gather_rows;
use crate::table::{
    ArmFoldRow, ArmRow, ComparisonRow, CountRow, MetricRow, ScoreShiftRow, ThresholdRow, finite,
    whole,
};

/// What the stage of an arm counted in one attribute: of everybody, and fold by fold.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ArmFactualEvidence {
    /// Over all folds.
    pub whole: FactualCounts,
    /// One per fold.
    pub folds: Vec<FactualCounts>,
}

/// The same of counterfactuals.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ArmShiftEvidence {
    /// Over all folds.
    pub whole: CounterfactualCounts,
    /// One per fold.
    pub folds: Vec<CounterfactualCounts>,
    /// What score metrics need; none where they are not asked for.
    pub shift: Option<ShiftEvidence>,
}

/// File of the evidence on rows in the attribute at a position.
pub fn factual_file(attribute: usize) -> String {
    format!("rows-{attribute}.json")
}

/// File of the evidence on counterfactuals in the attribute at a position.
pub fn counterfactual_file(attribute: usize) -> String {
    format!("world-{attribute}.json")
}

/// One arm: its name in tables, and where its evidence lies.
#[derive(Debug, Clone, Copy)]
pub struct ArmFolder<'a> {
    /// Experiment and arm.
    pub arm: &'a str,
    /// The folder of its evidence.
    pub folder: &'a Path,
}

/// What an experiment is about.
#[derive(Debug, Clone, Copy)]
pub struct ExperimentContext<'a> {
    /// The model.
    pub model: &'a str,
    /// The counterfactual set.
    pub set: &'a str,
    /// Positions of the attributes that it changes.
    pub changed: &'a [usize],
    /// For each of them the groups of which nothing could be learnt, in reference-first order.
    pub untaught: &'a [Vec<usize>],
    /// As [`CountedAudit::by_label`].
    pub by_label: bool,
}

/// The tables of one experiment, but for `arms`; the first of the arms is the base.
///
/// # Errors
/// Evidence that cannot be read, a disk that refuses, or the run is to stop.
pub fn measure(
    ctx: &StageContext<'_>,
    checked: &CheckedJob,
    ground: RowContext<'_>,
    about: ExperimentContext<'_>,
    arms: &[ArmFolder<'_>],
) -> Result<()> {
    let layout = ground.rows.layout();
    let (mut tables, mut comparisons, mut spreads) =
        (ResultTables::new(), Vec::<ComparisonRow>::new(), Vec::<ArmFoldRow>::new());
    for attribute in 0..layout.attributes.len() {
        let settings = settings(checked, &layout.attributes[attribute]);
        let mut base: Option<(&str, FactualCounts)> = None;
        let mut selective = Vec::new();
        for arm in arms {
            ctx.check()?;
            let part = about.counted_audit(arm.arm, None, attribute);
            let ArmFactualEvidence { whole, folds } =
                read(&arm.folder.join(factual_file(attribute)), arm.arm)?;
            selective.push(MissingLabels::from_counts(&whole).are_selective());
            let is_selective = selective.last() == Some(&true);
            let scribe = RowBuilder {
                audit: &part,
                layout,
                settings: settings.clone(),
                slice: "",
                class: "",
                selective: is_selective,
            };
            let measured = ground.workers.within(|| measure_factual(&whole, None, &settings));
            tables.metrics.extend(measured.iter().map(|m| scribe.metric_row(m)));
            scribe.factual_counts(&whole, &mut tables);
            // Nobody of a fold may have a group.
            let folds =
                folds.iter().filter(|counts| counts.confusion(GroupSelection::All).predicted() > 0);
            push_fold_spread(
                &mut spreads,
                &scribe,
                folds
                    .map(|counts| measure_factual(counts, None, &without_intervals(&settings)))
                    .collect(),
            );
            match &base {
                None => base = Some((arm.arm, whole)),
                Some((name, base)) => {
                    let compared =
                        ground.workers.within(|| compare_factual(&whole, base, &settings));
                    let scribe = RowBuilder { selective: is_selective || selective[0], ..scribe };
                    comparisons.extend(
                        compared
                            .iter()
                            .map(|compared| scribe.comparison_row((name, about.model), compared)),
                    );
                }
            }
        }
        if about.changed.contains(&attribute) {
            measure_counterfactuals(
                ctx,
                ground,
                about,
                (arms, &selective),
                (attribute, &settings),
                (&mut tables, &mut comparisons, &mut spreads),
            )?;
        }
    }
    write_rows(ctx.out(), &tables.metrics)?;
    write_rows(ctx.out(), &tables.counts)?;
    write_rows(ctx.out(), &tables.shift)?;
    write_rows(ctx.out(), &comparisons)?;
    write_rows(ctx.out(), &spreads)
}

fn measure_counterfactuals(
    ctx: &StageContext<'_>,
    ground: RowContext<'_>,
    about: ExperimentContext<'_>,
    (arms, selective): (&[ArmFolder<'_>], &[bool]),
    (attribute, settings): (usize, &MeasureSettings),
    (tables, comparisons, spreads): (
        &mut ResultTables,
        &mut Vec<ComparisonRow>,
        &mut Vec<ArmFoldRow>,
    ),
) -> Result<()> {
    let layout = ground.rows.layout();
    let mut base: Option<(&str, CounterfactualCounts)> = None;
    for (arm, &is_selective) in arms.iter().zip(selective) {
        ctx.check()?;
        let part = about.counted_audit(arm.arm, Some(about.set), attribute);
        let scribe = RowBuilder {
            audit: &part,
            layout,
            settings: settings.clone(),
            slice: "",
            class: "",
            selective: is_selective,
        };
        let ArmShiftEvidence { whole, folds, shift } =
            read(&arm.folder.join(counterfactual_file(attribute)), arm.arm)?;
        let measured = ground
            .workers
            .within(|| measure_counterfactual(&whole, shift.as_ref(), None, settings));
        tables.metrics.extend(measured.iter().map(|m| scribe.metric_row(m)));
        scribe.counterfactual_counts(&whole, tables);
        let folds = folds
            .iter()
            .map(|counts| measure_counterfactual(counts, None, None, &without_intervals(settings)));
        push_fold_spread(spreads, &scribe, folds.collect());
        match &base {
            None => base = Some((arm.arm, whole)),
            Some((name, base)) => {
                let compared =
                    ground.workers.within(|| compare_counterfactual(&whole, base, settings));
                let scribe = RowBuilder { selective: is_selective || selective[0], ..scribe };
                comparisons.extend(
                    compared
                        .iter()
                        .map(|compared| scribe.comparison_row((name, about.model), compared)),
                );
            }
        }
    }
    Ok(())
}

impl ExperimentContext<'_> {
    fn counted_audit(&self, arm: &str, set: Option<&str>, attribute: usize) -> CountedAudit {
        CountedAudit {
            arm: arm.to_owned(),
            model: self.model.to_owned(),
            set: set.map(str::to_owned),
            attribute,
            by_label: set.is_some() && self.by_label,
            untaught: match set.and(self.changed.iter().position(|&changed| changed == attribute)) {
                Some(at) => self.untaught.get(at).cloned().unwrap_or_default(),
                None => Vec::new(),
            },
        }
    }
}

/// Without intervals.
fn without_intervals(settings: &MeasureSettings) -> MeasureSettings {
    MeasureSettings { level: None, ..settings.clone() }
}

/// Mean, deviation and ends of the values of folds.
fn push_fold_spread(
    spreads: &mut Vec<ArmFoldRow>,
    scribe: &RowBuilder<'_>,
    folds: Vec<Vec<MeasuredValue>>,
) {
    let n_folds = folds.len();
    if n_folds < 2 {
        return;
    }
    let mut values: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for measured in folds.iter().flatten() {
        let scope = measured.scope;
        let key = scribe.key(scope.as_str(), scope.from_group(), scope.to_group());
        values
            .entry((key, measured.metric.id))
            .or_default()
            .extend(measured.value.ok().filter(|_| !scribe.is_untaught(scope)));
    }
    for ((key, metric), values) in values {
        let n = values.len();
        let mean = (n > 0).then(|| values.iter().sum::<f64>() / n as f64);
        let squares = |mean: f64| values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        let sd = mean.filter(|_| n > 1).map(|mean| (squares(mean) / (n - 1) as f64).sqrt());
        spreads.push(ArmFoldRow {
            metric: metric.into(),
            folds: whole(n as u64),
            folds_undefined: whole((n_folds - n) as u64),
            mean: mean.and_then(finite),
            sd: sd.and_then(finite),
            lowest: values.iter().copied().min_by(f64::total_cmp).and_then(finite),
            highest: values.iter().copied().max_by(f64::total_cmp).and_then(finite),
            ..key.into()
        });
    }
}

/// The table `arms` of an experiment: what each arm added in each fold.
///
/// # Errors
/// The disk refuses.
pub fn write_added(
    out: &Path,
    about: ExperimentContext<'_>,
    added: &[(&str, usize, AddedRows)],
) -> Result<()> {
    let mut written = Vec::new();
    for (arm, fold, rows) in added {
        written.push(ArmRow {
            arm: (*arm).into(),
            model: about.model.into(),
            counterfactual: about.set.into(),
            fold: whole(*fold as u64),
            n_rows: whole(rows.n_rows),
            n_positive: whole(rows.n_positive),
            n_candidates: whole(rows.n_candidates),
            n_counterfactuals: whole(rows.n_counterfactuals),
            n_synthetic: whole(rows.n_synthetic),
            n_added_positive: whole(rows.n_added_positive),
        });
    }
    write_rows(out, &written)
}

/// The tables of the plain audit and of all experiments in one.
///
/// # Errors
/// A table cannot be read or written.
pub fn gather_tables(out: &Path, plain: &Path, experiments: &[&Path]) -> Result<()> {
    let all: Vec<&Path> = std::iter::once(plain).chain(experiments.iter().copied()).collect();
    gather_rows::<MetricRow>(out, &all)?;
    gather_rows::<CountRow>(out, &all)?;
    gather_rows::<ScoreShiftRow>(out, &all)?;
    gather_rows::<ComparisonRow>(out, &all)?;
    gather_rows::<ThresholdRow>(out, &all)?;
    gather_rows::<ArmRow>(out, experiments)?;
    gather_rows::<ArmFoldRow>(out, experiments)
}

fn read<T: DeserializeOwned>(path: &Path, arm: &str) -> Result<T> {
    files::read_json(path, arm)
}
