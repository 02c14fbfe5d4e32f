//! A run that is compared with another one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::diff::definitions::{CountingRules, JobValues};
use crate::folder::manifest::{ExperimentWords, Manifest, RoundedSwitches};
use crate::num::score_scale::ScoreScale;
use crate::table::MetricRow;

/// What the sets of a run were fitted on: hashes by experiment (empty for the plain audit), set and
/// attribute.
pub(crate) type FittedOn = BTreeMap<[String; 3], String>;

/// One of two runs: what its folder says.
#[derive(Debug, Clone)]
pub(crate) struct ComparedRun {
    /// What it says about itself; for a run that is not finished, as much as is known.
    pub manifest: Manifest,
    /// SHA-256 of `manifest.json`; empty for a run that is not finished.
    pub fingerprint: String,
    /// The resolved job.
    pub values: JobValues,
    /// What the rows were read from, so that equal texts mean equal rows with equal numbers.
    pub source: String,
    /// Whether people without a label are among those audited.
    pub lacks_labels: bool,
    /// The table `metrics`.
    pub metrics: Vec<MetricRow>,
    /// Its switches that may be nothing but rounding; for the new run gates read its counts.
    pub rounded: Vec<RoundedSwitches>,
    /// The file of outcomes, where they are kept.
    pub outcomes: Option<PathBuf>,
}

impl ComparedRun {
    /// The rules by which it counts, in addition to its job.
    pub(super) fn rules(&self) -> CountingRules {
        CountingRules { policies: self.manifest.policies, lacks_labels: self.lacks_labels }
    }

    /// The groups of each attribute, reference first.
    pub(super) fn groups(&self) -> BTreeMap<&str, Vec<String>> {
        let of = self.manifest.attributes.iter().map(|of| {
            let mut groups = of.groups.clone();
            groups.sort_by_key(|group| *group != of.reference);
            (of.name.as_str(), groups)
        });
        of.collect()
    }

    /// The scales of the scores of its models, where scores are not probabilities.
    pub(super) fn scales(&self) -> BTreeMap<String, ScoreScale> {
        let models = self.manifest.models.iter();
        models.filter_map(|model| Some((model.name.clone(), model.scale?))).collect()
    }

    /// What a set was fitted on, by experiment (empty for the plain audit), set and attribute.
    pub(super) fn fitted_on(&self, [experiment, set, attribute]: [&str; 3]) -> Option<&String> {
        let Manifest { counterfactuals, experiments, .. } = &self.manifest;
        let is_own = |of: &&ExperimentWords| of.name == experiment && of.counterfactual == set;
        let fitted = match experiment {
            "" => &counterfactuals.iter().find(|of| of.name == set)?.fitted_on,
            _ => &experiments.iter().find(is_own)?.fitted_on,
        };
        fitted.get(attribute)
    }
}
