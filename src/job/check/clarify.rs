//! Checks the block `metrics.clarify`.

use crate::job::messages as m;
use std::collections::BTreeSet;

use crate::data::prepare::params::OrdinalOrder;
use crate::job::MetricFamily;
use crate::job::blocks::clarify::{ClarifyBlock, FavouredGroups};
use crate::job::read::tree::join;
use crate::param::ColumnName;

use super::JobChecker;
use super::defaults::families;

impl JobChecker<'_> {
    /// The whole block.
    pub(super) fn clarify(&mut self) {
        let Some(clarify) = &self.job.metrics.clarify else { return };
        if !families(self.job).contains(&MetricFamily::Clarify) {
            let said = match self.job.metrics.families {
                Some(_) => m::clarify_unmeasured(),
                None => m::clarify_unlisted(),
            };
            self.say("metrics.clarify", said);
        }
        self.favoured(clarify);
        self.clarify_of_classes(clarify);
        if clarify.positive_above.is_some() && !self.job.audits_amounts() {
            self.say("metrics.clarify.positive_above", m::positive_above_no_amounts());
        }
        if let Some(column) = &clarify.strata {
            self.divides("metrics.clarify.strata".to_owned(), column, "stratum");
        }
        if clarify.flip_test.is_some() {
            self.flip_test();
        }
    }

    fn favoured(&mut self, clarify: &ClarifyBlock) {
        for (name, favoured) in &clarify.favoured {
            let at = join("metrics.clarify.favoured", name.as_str());
            if !self.attribute(at.as_str(), name) {
                continue;
            }
            let FavouredGroups::Groups(groups) = favoured else { continue };
            let places = groups.iter().enumerate();
            self.groups_named(name, places.map(|(i, group)| (format!("{at}[{i}]"), group)));
            let declared = self.job.data.groups_of(name);
            if declared.len() > 1 && declared.iter().all(|group| groups.contains(group)) {
                self.say(at, m::favoured_all(name));
            }
        }
    }

    fn flip_test(&mut self) {
        let at = "metrics.clarify.flip_test";
        let features = &self.job.data.features;
        let ordinal = features
            .ordinal
            .iter()
            .filter(|(_, order)| matches!(order, OrdinalOrder::Numbers(_)))
            .map(|(name, _)| name);
        let numbers: BTreeSet<&ColumnName> = features
            .continuous
            .iter()
            .chain(ordinal)
            .chain(features.onehot.values().flatten())
            .collect();
        if numbers.is_empty() {
            self.say(at, m::flip_test_no_numbers());
            return;
        }
        let data = &self.job.data;
        for name in data.sensitive.keys() {
            let mut own: BTreeSet<ColumnName> = BTreeSet::from([data.column_of(name).clone()]);
            // What is derived is below what it is derived from, so one way up meets all parents.
            for (column, recipe) in data.derived().into_iter().rev() {
                if own.contains(&column) {
                    own.extend(recipe.parents().into_iter().cloned());
                }
            }
            if numbers.iter().all(|number| own.contains(*number)) {
                self.say(at, m::flip_test_all_set(name));
            }
        }
    }
}
