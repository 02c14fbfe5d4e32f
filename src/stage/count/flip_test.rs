//! The stage of the flip test: for each person, the votes of the nearest people by numeric
//! features.

use crate::data::rows::Projection;
use crate::data::{FeatureKind, Layout};
use crate::error::Result;
use crate::exec::accumulator::merge_each;
use crate::metric::evidence::flip_test::{
    FlipTestPerson, FlipTestResult, FlipTestSample, FlipTestSettings, PreparedFlipTest,
};
use crate::metric::scope::MetricScope;
use crate::param::Seed;
use crate::stage::count::evidence::{check_weight_total, counting_unit, ranks, weight_units};
use crate::stage::decided_scores::Predictions;
use crate::stage::row_context::RowContext;

/// Positions of the features that distances use: all numbers except the column of the attribute
/// and the columns that it is derived from.
fn numbers(layout: &Layout, attribute: usize) -> Vec<usize> {
    let is_number = |f: &usize| {
        matches!(
            layout.features[*f].kind,
            FeatureKind::Continuous { .. } | FeatureKind::OrdinalNumber
        )
    };
    let excluded = layout.with_ancestors(layout.attributes[attribute].feature);
    layout.inputs().filter(|f| is_number(f) && !excluded.contains(f)).collect()
}

/// The people of the flip test of one model over the groups of one attribute: the audited rows with
/// a declared group and a score, once for each class that is measured as the positive one.
///
/// # Errors
/// The sum of the weights may overflow; a file cannot be read; the run is to stop.
pub(crate) fn gather_people(
    row_context: RowContext<'_>,
    predictions: &Predictions,
    attribute: usize,
    (settings, seed): (&FlipTestSettings, Seed),
) -> Result<Vec<(u64, FlipTestSample)>> {
    let layout = row_context.rows.layout();
    let ranks = ranks(&layout.attributes[attribute]);
    check_weight_total(layout, layout.n_rows)?;
    let columns = numbers(layout, attribute);
    let empty = FlipTestSample::new(columns.len(), settings, seed);
    let samples = row_context.row_groups().fold(
        || vec![empty.clone(); predictions.positive().len()],
        |samples, g| {
            let (batch, roles) = row_context.read(g, Projection::ALL)?;
            let predicted = predictions.of_group(g, (&batch, &roles))?;
            let features: Vec<&[f64]> = columns.iter().map(|&f| batch.rows.numbers(f)).collect();
            let mut values = vec![0.0; columns.len()];
            for (i, group, _) in roles.people(&batch.groups[attribute]) {
                let Some(predicted) = predicted[i] else { continue };
                values.iter_mut().zip(&features).for_each(|(values, column)| *values = column[i]);
                let (row, key, weight) =
                    (batch.row[i], batch.person_keys()[i], weight_units(layout, &batch, i));
                // A row of weight 0 counts for nothing, and votes for nobody.
                if weight == 0 {
                    continue;
                }
                for (class, sample) in predictions.positive().zip(&mut *samples) {
                    let group = ranks[usize::from(group)];
                    let predicted = predicted == class;
                    sample.add(FlipTestPerson { row, key, group, predicted, weight }, &values);
                }
            }
            Ok(batch.row.len() as u64)
        },
        merge_each,
    )?;
    Ok((0..).zip(samples).collect())
}

/// Runs the flip test for the people of all shards. `facets` are the comparisons.
///
/// # Errors
/// The run is to stop.
pub(crate) fn flip_test(
    row_context: RowContext<'_>,
    people: FlipTestSample,
    attribute: usize,
    facets: &[MetricScope],
    settings: &FlipTestSettings,
) -> Result<FlipTestResult> {
    let layout = row_context.rows.layout();
    let groups = layout.attributes[attribute].groups.len();
    let test = PreparedFlipTest::new(people, groups, facets, settings, counting_unit(layout));
    let mut flips = test.empty.clone();
    row_context.pieces(test.n_pieces()).in_turn(
        |number| {
            let piece = test.votes(number);
            Ok((piece.people, piece))
        },
        |piece| flips.add(&piece),
    )?;
    Ok(flips)
}
