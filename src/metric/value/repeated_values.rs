//! The spread of values over repeats of a fit or of a training.

use std::collections::BTreeMap;

use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::shift_pass::ShiftEvidence;
use crate::metric::noise::repeats::{RepeatSpread, SetRepeat};
use crate::metric::rate::MetricValue;
use crate::metric::scope::MetricScope;
use crate::metric::value::measured::{MeasuredValue, measure_factual};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::value::switches::{measure_counterfactual, undefined_without_rows};
use crate::metric::value::worlds::{WorldCounts, measure_worlds};
use crate::metric::{Metric, difference};
use crate::param::Level;

/// The values of each metric in each scope, one for each repeat.
type ValuesByScope = BTreeMap<(&'static str, MetricScope), Vec<MetricValue>>;

/// The values of all repeats, by metric and scope.
pub(crate) struct RepeatedValues {
    /// The values of all people, and of only the people with supported counterfactuals.
    values: [ValuesByScope; 2],
    settings: MeasureSettings,
    level: Level,
}

impl RepeatedValues {
    /// No values yet; `level` is that of the spread's ends.
    pub(crate) fn new(settings: &MeasureSettings, level: Level) -> Self {
        let settings = MeasureSettings { level: None, ..settings.clone() };
        RepeatedValues { values: Default::default(), settings, level }
    }

    /// The values of repeats of a set; `level` is that of the spread's ends.
    pub(crate) fn of_set(repeats: &[SetRepeat], settings: &MeasureSettings, level: Level) -> Self {
        let mut values = RepeatedValues::new(settings, level);
        for SetRepeat { counts, second, without_rows } in repeats {
            let shift = second.clone().map(|second| ShiftEvidence { second, spreads: None });
            values.add_set(counts, shift.as_ref(), without_rows);
        }
        values
    }

    /// Adds a repeat of the factual rows.
    pub(crate) fn add_rows(&mut self, counts: &FactualCounts) {
        self.add(&measure_factual(counts, None, &self.settings), None);
    }

    /// Adds a repeat of the counterfactuals of a set; `without_rows` are groups that the repeat
    /// could learn nothing about.
    pub(crate) fn add_set(
        &mut self,
        counts: &CounterfactualCounts,
        shift: Option<&ShiftEvidence>,
        without_rows: &[usize],
    ) {
        let measure = |counts: &CounterfactualCounts, shift: Option<&ShiftEvidence>| {
            undefined_without_rows(
                measure_counterfactual(counts, shift, None, &self.settings),
                without_rows,
            )
        };
        let supported = counts.supported().map(|counts| measure(counts, None));
        self.add(&measure(counts, shift), supported.as_deref());
    }

    /// Adds a repeat of a set that depends on causal graphs: its means over the graphs.
    pub(crate) fn add_worlds(&mut self, counts: &WorldCounts) {
        let measure = |counts: &WorldCounts| -> Vec<MeasuredValue> {
            let across = measure_worlds(counts, self.level, &self.settings);
            across.into_iter().map(|across| across.measured).collect()
        };
        let (measured, supported) = (measure(counts), counts.supported().map(measure));
        self.add(&measured, supported.as_deref());
    }

    /// Adds a repeat with the values of only its supported counterfactuals; none if all are
    /// supported.
    fn add(&mut self, measured: &[MeasuredValue], supported: Option<&[MeasuredValue]>) {
        let parts = [measured, supported.unwrap_or(measured)];
        for (values, part) in self.values.iter_mut().zip(parts) {
            for value in part {
                values.entry((value.metric.id, value.scope)).or_default().push(value.value);
            }
        }
    }

    /// The values of each repeat minus those of the same repeat of `other`; without values that are
    /// missing in one of them, or that one has for fewer repeats.
    pub(crate) fn minus(&self, others: &RepeatedValues) -> Self {
        let paired = |(key, values): (&(&'static str, MetricScope), &Vec<MetricValue>)| {
            let others = others.values[0].get(key).filter(|others| others.len() == values.len())?;
            let values = values.iter().zip(others).map(|(&value, &other)| difference(value, other));
            Some((*key, values.collect()))
        };
        let values = self.values[0].iter().filter_map(paired).collect();
        RepeatedValues {
            values: [values, ValuesByScope::new()],
            ..RepeatedValues::new(&self.settings, self.level)
        }
    }

    /// The spread of a value over the repeats, of all people or of only those with `supported`
    /// counterfactuals; none if no repeat has the value.
    pub(crate) fn spread_of(
        &self,
        (metric, scope): (&Metric, MetricScope),
        supported: bool,
    ) -> Option<RepeatSpread> {
        let values = self.values[usize::from(supported)].get(&(metric.id, scope))?;
        Some(RepeatSpread::of_values(values, self.level))
    }
}
