//! What the sets of a run were fitted on, so that a later run can tell whether they were fitted
//! again on other rows. Stages `fit` and `discover` write the hash of what they read, the manifest
//! holds it, and [`diff`](crate::diff) does not judge changes of sets where it differs.

use std::path::Path;

use crate::counterfactual::conditional::Conditioning;
use crate::counterfactual::variable::StrategyVariable;
use crate::data::rows::content::ContentHash;
use crate::data::rows::reference::HashReferenceBatch;
use crate::data::{Layout, MISSING_GROUP};
use crate::diff::compared_run::FittedOn;
use crate::error::Result;
use crate::exec::files;
use crate::exec::hash::sha256;
use crate::folder::manifest::Manifest;
use crate::num::seed::{h, named_seed};
use crate::stage::generate::basis::RowClasses;
use crate::stage::kinds::{DiscoverStage, FitStage};
use crate::stage::stage_builder::{Opens, StageBuilder, StageInput};

/// File of the stages `fit` and `discover`.
const FITTED_ON: &str = "fitted-on.json";

/// The hash of what a strategy learns from a batch, by the variables that it has.
pub(crate) fn reference_hash<'a>(
    layout: &'a Layout,
    (variables, condition): (&[StrategyVariable], Conditioning),
    classes: &'a RowClasses,
    position: usize,
) -> Box<HashReferenceBatch<'a>> {
    let mut columns: Vec<usize> =
        variables.iter().flat_map(|variable| variable.columns.iter().copied()).collect();
    columns.sort_unstable();
    columns.dedup();
    let groups: Vec<u64> =
        layout.attributes[position].groups.iter().map(|group| named_seed(0, group)).collect();
    // A label that is conditioned on unchanged has positions that depend on the other rows.
    let raw = classes.names(layout);
    let raw: Option<Vec<u64>> = raw.map(|names| names.iter().map(|l| named_seed(1, l)).collect());
    Box::new(move |part| {
        let group =
            |group: u16| if group == MISSING_GROUP { 0 } else { groups[usize::from(group)] };
        let class = |class: Option<u32>| match (condition, class) {
            (Conditioning::Nothing, _) | (_, None) => 0,
            (_, Some(class)) => match raw.as_ref().and_then(|levels| levels.get(class as usize)) {
                Some(&level) => level,
                None => 1 + u64::from(class),
            },
        };
        let beside = |i: usize| h(2, group(part.groups[position][i]), class(part.classes[i]));
        ContentHash::of(&layout.features, &columns, &part.rows, beside)
    })
}

/// Writes what a stage read, fold by fold, and `external`, the hash of a file of external
/// counterfactuals: nothing else shows whether their generator was fitted again.
///
/// # Errors
/// The disk refuses.
pub(crate) fn write(out: &Path, folds: &[ContentHash], external: Option<String>) -> Result<()> {
    let all: Vec<String> = folds.iter().map(ContentHash::hex).chain(external).collect();
    files::write_json(&out.join(FITTED_ON), &sha256(all.join("\n").as_bytes()))
}

/// What the sets of a run were fitted on, in the plain audit and in the folds of experiments: by
/// experiment (empty in the plain audit), set and attribute.
pub(crate) fn fits_of_sets<'a>(b: &mut StageBuilder<'_, 'a>) -> Result<Opens<'a, FittedOn>> {
    let mut fits: Vec<([String; 3], StageInput<()>)> = Vec::new();
    for applied in b.plan.applied_sets().into_iter().chain(b.plan.fold_sets()) {
        let stage = match (applied.graphs(), applied.block.knobs()) {
            (Some(_), _) => b.need::<DiscoverStage>(&applied.graphs_unit())?.untyped(),
            (None, Some(_)) => b.need::<FitStage>(&applied.unit())?.untyped(),
            (None, None) => continue,
        };
        let experiment = applied.experiment.unwrap_or_default();
        fits.push(([experiment, applied.set, applied.attribute].map(str::to_owned), stage));
    }
    Ok(Box::new(move |ctx| {
        fits.iter().map(|(key, stage)| Ok((key.clone(), stage.read(ctx, FITTED_ON)?))).collect()
    }))
}

/// Puts it into a manifest.
pub(crate) fn record_fits(manifest: &mut Manifest, fitted: FittedOn) {
    for ([experiment, set, attribute], hash) in fitted {
        let of_set = manifest
            .counterfactuals
            .iter_mut()
            .find(|words| experiment.is_empty() && words.name == set);
        let of_folds = manifest.experiments.iter_mut().find(|words| words.name == experiment);
        let told =
            of_set.map(|words| &mut words.fitted_on).or(of_folds.map(|words| &mut words.fitted_on));
        told.map(|told| told.insert(attribute, hash));
    }
}
