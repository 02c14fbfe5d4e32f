//! What causal graphs add to the tables: percentiles over graphs for every metric, the values of
//! every world, and metrics of the graphs.

use std::path::Path;

use super::RowBuilder;
use crate::data::Layout;
use crate::error::Result;
use crate::metric::missing_interval::MissingInterval;
use crate::metric::rate::{MetricValue, Undefined};
use crate::metric::scope::MetricScope;
use crate::metric::value::repeated_values::RepeatedValues;
use crate::metric::value::worlds as metric;
use crate::num::summary::SpreadEstimate;
use crate::stage::discover::knowledge_fit::KnowledgeFit;
use crate::stage::discover::tables::{GraphSetScenario, graph_metrics};
use crate::stage::score::worlds::GraphScoreResult;
use crate::table::file::write_rows;
use crate::table::support::ALL;
use crate::table::{AuditKey, MetricRow, WorldPeopleRow, WorldRow, finite, whole};

/// The rows of the tables about worlds and people, while they are collected.
#[derive(Default)]
pub(crate) struct WorldTables {
    worlds: Vec<WorldRow>,
    people: Vec<WorldPeopleRow>,
}

impl WorldTables {
    /// Adds the worlds of one model and set.
    pub(crate) fn add(
        &mut self,
        row_builder: &RowBuilder<'_>,
        branched: &GraphScoreResult,
        measured: &[metric::AcrossWorldsValue],
    ) {
        for (w, world) in branched.counts.worlds.iter().enumerate() {
            for across in measured {
                let (value, numerator, denominator) = across.by_world[w];
                let key = row_builder.key_of(across.measured.scope);
                self.worlds.push(WorldRow {
                    model: key.model,
                    counterfactual: key.counterfactual,
                    sensitive: key.sensitive,
                    scope: key.scope,
                    from_group: key.from_group,
                    to_group: key.to_group,
                    world: whole(w as u64),
                    metric: across.measured.metric.id.into(),
                    bootstrap: whole(world.bootstrap as u64),
                    copies: whole(world.copies),
                    value: value.ok().and_then(finite),
                    undefined: value.err().map_or("", Undefined::code).into(),
                    numerator: numerator.map(whole),
                    denominator: denominator.map(whole),
                });
            }
        }
        for &((from, to), varied) in &branched.people {
            let key = row_builder.key_of(MetricScope::Direction(from, to));
            self.people.push(WorldPeopleRow {
                model: key.model,
                counterfactual: key.counterfactual,
                sensitive: key.sensitive,
                from_group: key.from_group,
                to_group: key.to_group,
                n: whole(varied.n),
                variance_mean: varied.mean.and_then(finite),
                variance_lo: varied.lo.and_then(finite),
                variance_hi: varied.hi.and_then(finite),
            });
        }
    }

    pub(crate) fn write(self, out: &Path) -> Result<()> {
        write_rows(out, &self.worlds)?;
        write_rows(out, &self.people)
    }
}

impl RowBuilder<'_> {
    /// A metric of a graph-uncertain set. If the attribute `follows` from other variables in the
    /// graphs, no group is called worse off.
    pub(crate) fn metric_across(
        &self,
        across: &metric::AcrossWorldsValue,
        follows: bool,
        (trainings, supported): (Option<&RepeatedValues>, bool),
    ) -> MetricRow {
        let mut measured = across.measured.clone();
        let key = (measured.metric, measured.scope);
        let spread = |repeats: &RepeatedValues| repeats.spread_of(key, supported);
        measured.training = trainings.and_then(spread);
        if follows {
            measured.impaired = None;
            measured.flags.push(metric::ATTRIBUTE_FOLLOWS);
        }
        let end = |spread: Option<SpreadEstimate>, part: fn(SpreadEstimate) -> f64| {
            spread.and_then(|spread| finite(part(spread)))
        };
        let between = across.spread_parts.map(|parts| parts.between);
        let within = across.spread_parts.and_then(|parts| parts.within);
        MetricRow {
            world_lo: end(across.spread, |spread| spread.lo),
            world_hi: end(across.spread, |spread| spread.hi),
            world_var: end(across.spread, |spread| spread.variance),
            world_level: across.spread.map(|_| across.level.get()),
            between_lo: end(between, |spread| spread.lo),
            between_hi: end(between, |spread| spread.hi),
            between_var: end(between, |spread| spread.variance),
            within_lo: end(within, |spread| spread.lo),
            within_hi: end(within, |spread| spread.hi),
            within_var: end(within, |spread| spread.variance),
            mixed_var: across.spread_parts.and_then(|parts| finite(parts.mixed?)),
            world_even: across.bootstrap_mean.and_then(finite),
            n_worlds: Some(whole(across.n_worlds)),
            n_worlds_undefined: Some(whole(across.n_undefined)),
            ..self.metric_row(&measured)
        }
    }
}

/// The metrics of the graphs themselves, as rows of the table of metrics.
pub(crate) fn metrics_of_graphs(
    set: &GraphSetScenario,
    fit: Option<&KnowledgeFit>,
    layout: &Layout,
) -> Vec<MetricRow> {
    let attribute = &layout.attributes[set.position].name;
    let row = |(metric, value): (&'static crate::metric::Metric, MetricValue)| MetricRow {
        key: AuditKey {
            counterfactual: set.name.as_str().into(),
            sensitive: attribute.as_str().into(),
            scope: MetricScope::Total.as_str().into(),
            ..AuditKey::default()
        },
        support: ALL.into(),
        metric: metric.id.into(),
        family: metric.family.as_str().into(),
        value: value.ok().and_then(finite),
        undefined: value.err().map_or("", Undefined::code).into(),
        n_rows: whole(set.discovered.n_rows),
        ci_method: MissingInterval::OfGraphs.words().into(),
        ..MetricRow::default()
    };
    graph_metrics(set, fit).into_iter().map(row).collect()
}
