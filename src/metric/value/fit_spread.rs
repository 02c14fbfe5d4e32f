//! How far the values of a set differ between repeats of its fit.

use std::collections::BTreeMap;

use crate::metric::bootstrap::redraw::ShiftEvidence;
use crate::metric::bootstrap::repeats::{RepeatSpread, SetRepeat};
use crate::metric::rate::{MetricValue, Undefined};
use crate::metric::value::measured::MeasuredValue;
use crate::metric::value::settings::MeasureSettings;
use crate::metric::value::switches::measure_counterfactual;
use crate::param::Level;

/// Puts next to each value of a set how far its repeats differ, with ends at a level.
pub(crate) fn put_fit_spread(
    measured: &mut [MeasuredValue],
    repeats: &[SetRepeat],
    settings: &MeasureSettings,
    level: Level,
) {
    let settings = MeasureSettings { level: None, ..settings.clone() };
    let mut values: BTreeMap<_, Vec<MetricValue>> = BTreeMap::new();
    for SetRepeat { counts, second, untaught } in repeats {
        let shift = second.clone().map(|second| ShiftEvidence { second, intervals: None });
        for of in measure_counterfactual(counts, shift.as_ref(), None, &settings) {
            let is_untaught = untaught.iter().any(|&group| of.scope.involves(group));
            let value = if is_untaught { Err(Undefined::NoTrainingRows) } else { of.value };
            values.entry((of.metric.id, of.scope)).or_default().push(value);
        }
    }
    for of in measured {
        let found = values.get(&(of.metric.id, of.scope));
        of.fit = found.map(|values| RepeatSpread::of_values(values, level));
    }
}
