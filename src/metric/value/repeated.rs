//! How far values differ between repeats of a fit or of a training.

use std::collections::BTreeMap;

use crate::metric::bootstrap::redraw::ShiftEvidence;
use crate::metric::bootstrap::repeats::{RepeatSpread, SetRepeat};
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::rate::{MetricValue, Undefined};
use crate::metric::scope::MetricScope;
use crate::metric::value::measured::{MeasuredValue, measure_factual};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::value::switches::measure_counterfactual;
use crate::param::Level;

/// The values of all repeats, by metric and scope.
pub(crate) struct RepeatedValues {
    values: BTreeMap<(&'static str, MetricScope), Vec<MetricValue>>,
    level: Level,
}

impl RepeatedValues {
    /// Of repeats of a set, with ends at a level.
    pub(crate) fn of_set(repeats: &[SetRepeat], settings: &MeasureSettings, level: Level) -> Self {
        let settings = MeasureSettings { level: None, ..settings.clone() };
        let mut all = RepeatedValues { values: BTreeMap::new(), level };
        for SetRepeat { counts, second, untaught } in repeats {
            let shift = second.clone().map(|second| ShiftEvidence { second, intervals: None });
            all.add(measure_counterfactual(counts, shift.as_ref(), None, &settings), untaught);
        }
        all
    }

    /// Of repeats of the rows as they are.
    pub(crate) fn of_rows(
        repeats: &[FactualCounts],
        settings: &MeasureSettings,
        level: Level,
    ) -> Self {
        let settings = MeasureSettings { level: None, ..settings.clone() };
        let mut all = RepeatedValues { values: BTreeMap::new(), level };
        repeats.iter().for_each(|counts| all.add(measure_factual(counts, None, &settings), &[]));
        all
    }

    fn add(&mut self, measured: Vec<MeasuredValue>, untaught: &[usize]) {
        for of in measured {
            let is_untaught = untaught.iter().any(|&group| of.scope.involves(group));
            let value = if is_untaught { Err(Undefined::NoTrainingRows) } else { of.value };
            self.values.entry((of.metric.id, of.scope)).or_default().push(value);
        }
    }

    /// How far a value differs between them; none where no repeat measures it.
    pub(crate) fn spread_of(&self, of: &MeasuredValue) -> Option<RepeatSpread> {
        let values = self.values.get(&(of.metric.id, of.scope))?;
        Some(RepeatSpread::of_values(values, self.level))
    }
}
