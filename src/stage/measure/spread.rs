//! The spread of a value over single folds: mean, deviation, smallest and largest value.

use std::collections::BTreeMap;

use crate::metric::value::measured::MeasuredValue;
use crate::metric::value::settings::MeasureSettings;
use crate::stage::measure::RowBuilder;
use crate::table::{ArmFoldRow, finite, whole};

/// The settings without intervals.
pub(crate) fn without_intervals(settings: &MeasureSettings) -> MeasureSettings {
    MeasureSettings { level: None, ..settings.clone() }
}

/// Adds the mean, deviation, smallest and largest value over the folds.
pub(crate) fn push_fold_spread(
    spreads: &mut Vec<ArmFoldRow>,
    row_builder: &RowBuilder<'_>,
    folds: Vec<Vec<MeasuredValue>>,
) {
    let n_folds = folds.len();
    if n_folds < 2 {
        return;
    }
    let mut values: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for measured in folds.iter().flatten() {
        let scope = measured.scope;
        values
            .entry((row_builder.key_of(scope), measured.metric.id))
            .or_default()
            .extend(measured.value.ok().filter(|_| !row_builder.audit.lacks_rows(scope)));
    }
    for ((key, metric), values) in values {
        let n = values.len();
        let mean = (n > 0).then(|| values.iter().sum::<f64>() / n as f64);
        let squares = |mean: f64| values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        let sd = mean.filter(|_| n > 1).map(|mean| (squares(mean) / (n - 1) as f64).sqrt());
        spreads.push(ArmFoldRow {
            key,
            metric: metric.into(),
            folds: whole(n as u64),
            folds_undefined: whole((n_folds - n) as u64),
            mean: mean.and_then(finite),
            sd: sd.and_then(finite),
            lowest: values.iter().copied().min_by(f64::total_cmp).and_then(finite),
            highest: values.iter().copied().max_by(f64::total_cmp).and_then(finite),
        });
    }
}
