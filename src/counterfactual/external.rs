//! External counterfactuals as a generator: the given rows; features that they do not contain are
//! copied from the person.
//!
//! Cost: a look-up by binary search for each person and group; all rows of an attribute in memory.

use std::sync::Arc;

use crate::counterfactual::conditional::Conditioning;
use crate::counterfactual::map_flip::FittedStrategy;
use crate::counterfactual::variable::StrategyVariable;
use crate::counterfactual::{GeneratedBatch, Generator, SampleBatch, TargetGroup, differs};
use crate::data::exchange::external::ExternalRows;

/// Gives people their external counterfactuals.
#[derive(Debug)]
pub(super) struct ExternalGenerator {
    /// The fitted strategy, for the filter and the measures of quality.
    pub(super) fitted: FittedStrategy,
    /// The counterfactuals.
    pub(super) given: Arc<ExternalRows>,
}

impl Generator for ExternalGenerator {
    fn generate(&self, samples: &SampleBatch<'_>, to: TargetGroup<'_>) -> GeneratedBatch {
        let needs_class = self.fitted.rules.condition == Conditioning::Class;
        let (mut parent, mut keys) = (Vec::new(), Vec::new());
        for i in (0..samples.rows.n).filter(|&i| samples.own_group(i, to.group).is_some()) {
            if needs_class && samples.stratum_key(i).1.is_none() {
                continue;
            }
            let given = self.given.of(samples.keys[i], to.group);
            parent.extend(given.iter().map(|_| i));
            keys.extend_from_slice(given);
        }
        let mut made = GeneratedBatch::in_group(samples, to, parent);
        self.given.write(&keys, &mut made.rows);
        made.cf_index = keys.iter().map(|given| given.key.cf_index).collect();
        made.valid = keys.iter().map(|key| self.given.is_valid(key)).collect();
        let variables = &self.fitted.variables;
        for (j, &parent) in made.parent.iter().enumerate() {
            let is_changed = |variable: &&StrategyVariable| {
                let before = variable.value(samples.rows, parent);
                let after = variable.value(&made.rows, j);
                match (before.is_nan(), after.is_nan()) {
                    (false, false) => differs(before, after),
                    (before, after) => before != after,
                }
            };
            made.counters[j].n_changed =
                u32::try_from(variables.iter().filter(is_changed).count()).unwrap_or(u32::MAX);
        }
        self.fitted.judge(samples, to.group, &mut made);
        made
    }
}
