//! What causal graphs add to the tables: percentiles over graphs beside every metric, every world
//! by itself, and metrics of the graphs.

use std::path::Path;

use crate::data::Layout;
use crate::error::Result;
use crate::metric::rate::{MetricValue, Undefined};
use crate::metric::scope::MetricScope;
use crate::metric::value::worlds as metric;
use crate::num::summary::SpreadEstimate;
use crate::stage::discover::tables::{GraphSetScenario, graph_metrics};
use crate::stage::score::graph_scoring::GraphScoreResult;
use crate::table::file::write_frame;
use crate::table::{METRICS, TableCell, TableFrame, WORLD_PEOPLE, WORLDS};

use super::RowBuilder;

/// Worlds and people while their tables grow.
pub(crate) struct WorldTables {
    worlds: TableFrame,
    people: TableFrame,
}

impl WorldTables {
    pub(crate) fn new() -> Self {
        WorldTables { worlds: TableFrame::new(&WORLDS), people: TableFrame::new(&WORLD_PEOPLE) }
    }

    /// Adds the worlds of one model and set.
    pub(crate) fn add(
        &mut self,
        scribe: &RowBuilder<'_>,
        branched: &GraphScoreResult,
        measured: &[metric::AcrossWorldsValue],
    ) {
        for (w, world) in branched.counts.worlds.iter().enumerate() {
            for across in measured {
                let (value, numerator, denominator) = across.by_world[w];
                let scope = across.measured.scope;
                let mut row = scribe.world_key(scope);
                row.extend([
                    (w as u64).into(),
                    across.measured.metric.id.into(),
                    (world.bootstrap as u64).into(),
                    world.copies.into(),
                ]);
                row.extend([value.ok().into(), value.err().map_or("", Undefined::code).into()]);
                row.extend([numerator.into(), denominator.into()]);
                self.worlds.push(row);
            }
        }
        for (from, varied) in branched.people.iter().enumerate() {
            let mut row = scribe.world_key(MetricScope::Direction(from, 1 - from));
            row.remove(SCOPE);
            row.extend([varied.n.into(), varied.mean.into(), varied.lo.into(), varied.hi.into()]);
            self.people.push(row);
        }
    }

    pub(crate) fn write(mut self, out: &Path) -> Result<()> {
        for frame in [&mut self.worlds, &mut self.people] {
            frame.sort();
            write_frame(out, frame)?;
        }
        Ok(())
    }
}

/// Position of the scope in the key of a world.
const SCOPE: usize = 3;

impl RowBuilder<'_> {
    /// The cells model to to_group.
    fn world_key(&self, scope: MetricScope) -> Vec<TableCell> {
        let mut key = self.key(scope.as_str(), scope.from_group(), scope.to_group());
        // Neither arms nor slices have worlds.
        key.remove(0);
        key.pop();
        key
    }

    /// A metric of a graph-uncertain set. Where the attribute `follows` from other variables in its
    /// graphs, nobody is named at a disadvantage.
    pub(crate) fn metric_across(
        &self,
        across: &metric::AcrossWorldsValue,
        follows: bool,
    ) -> Vec<TableCell> {
        let ends = |around: Option<SpreadEstimate>| -> [TableCell; 3] {
            [
                around.map(|a| a.lo).into(),
                around.map(|a| a.hi).into(),
                around.map(|a| a.variance).into(),
            ]
        };
        let [world_lo, world_hi, world_var] = ends(across.spread);
        let [between_lo, between_hi, between_var] =
            ends(across.spread_parts.map(|parts| parts.between));
        let [within_lo, within_hi, within_var] =
            ends(across.spread_parts.and_then(|parts| parts.within));
        let cells = [
            world_lo,
            world_hi,
            world_var,
            across.spread.map(|_| across.level.get()).into(),
            between_lo,
            between_hi,
            between_var,
            within_lo,
            within_hi,
            within_var,
            across.spread_parts.and_then(|parts| parts.mixed).into(),
            across.bootstrap_mean.into(),
            across.n_worlds.into(),
            across.n_undefined.into(),
        ];
        let mut measured = across.measured.clone();
        if follows {
            measured.impaired = None;
            measured.flags.push(metric::ATTRIBUTE_FOLLOWS);
        }
        self.metric_row_with(&measured, cells)
    }
}

/// The metrics of the graphs themselves, as rows of the table of metrics.
pub(crate) fn metrics_of_graphs(set: &GraphSetScenario, layout: &Layout) -> Vec<Vec<TableCell>> {
    let attribute = &layout.attributes[set.position].name;
    let row = |(metric, value): (&'static crate::metric::Metric, MetricValue)| {
        METRICS
            .columns
            .iter()
            .map(|column| match column.name {
                "counterfactual" => set.name.as_str().into(),
                "sensitive" => attribute.as_str().into(),
                "scope" => MetricScope::Total.as_str().into(),
                "metric" => metric.id.into(),
                "family" => metric.family.as_str().into(),
                "value" => value.ok().into(),
                "undefined" => value.err().map_or("", Undefined::code).into(),
                "n_rows" => set.discovered.n_rows.into(),
                "ci_method" => "none: a number of the graphs themselves".into(),
                _ if column.nullable => TableCell::Null,
                _ => "".into(),
            })
            .collect()
    };
    graph_metrics(set).into_iter().map(row).collect()
}
