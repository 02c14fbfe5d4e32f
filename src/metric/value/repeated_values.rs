//! How far values differ between repeats of a fit or of a training.

use std::collections::BTreeMap;

use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::shift_pass::ShiftEvidence;
use crate::metric::evidence::supported::SupportedOnly;
use crate::metric::noise::repeats::{RepeatSpread, SetRepeat};
use crate::metric::rate::{MetricValue, Undefined};
use crate::metric::scope::MetricScope;
use crate::metric::value::measured::{MeasuredValue, measure_factual};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::value::switches::measure_counterfactual;
use crate::metric::value::worlds::{WorldCounts, measure_worlds};
use crate::metric::{Metric, difference};
use crate::param::Level;

/// The values of each metric in each scope, one of each repeat.
type ValuesByScope = BTreeMap<(&'static str, MetricScope), Vec<MetricValue>>;

/// The values of all repeats, by metric and scope.
pub(crate) struct RepeatedValues {
    values: ValuesByScope,
    /// Those of the people with supported counterfactuals alone.
    supported: SupportedOnly<RepeatedValues>,
    settings: MeasureSettings,
    level: Level,
}

impl RepeatedValues {
    /// No repeat yet, with ends at a level.
    pub(crate) fn new(settings: &MeasureSettings, level: Level) -> Self {
        let settings = MeasureSettings { level: None, ..settings.clone() };
        let supported = SupportedOnly::default();
        RepeatedValues { values: BTreeMap::new(), supported, settings, level }
    }

    /// Of repeats of a set, with ends at a level.
    pub(crate) fn of_set(repeats: &[SetRepeat], settings: &MeasureSettings, level: Level) -> Self {
        let mut all = RepeatedValues::new(settings, level);
        for SetRepeat { counts, second, untaught } in repeats {
            let shift = second.clone().map(|second| ShiftEvidence { second, spreads: None });
            all.add_switches(counts, shift.as_ref(), untaught);
        }
        all
    }

    /// Adds a repeat of the rows as they are.
    pub(crate) fn add_rows(&mut self, counts: &FactualCounts) {
        self.add(&measure_factual(counts, None, &self.settings), &[]);
    }

    /// Adds a repeat of the counterfactuals of a set.
    pub(crate) fn add_set(&mut self, counts: &CounterfactualCounts, shift: Option<&ShiftEvidence>) {
        self.add_switches(counts, shift, &[]);
    }

    fn add_switches(
        &mut self,
        counts: &CounterfactualCounts,
        shift: Option<&ShiftEvidence>,
        untaught: &[usize],
    ) {
        let measured = measure_counterfactual(counts, shift, None, &self.settings);
        let supported = counts
            .supported()
            .map(|counts| measure_counterfactual(counts, None, None, &self.settings));
        self.add_both(&measured, supported.as_deref(), untaught);
    }

    /// Adds a repeat of a set that depends on causal graphs: its means over the graphs.
    pub(crate) fn add_worlds(&mut self, counts: &WorldCounts) {
        let measure = |counts: &WorldCounts| -> Vec<MeasuredValue> {
            let across = measure_worlds(counts, self.level, &self.settings);
            across.into_iter().map(|across| across.measured).collect()
        };
        let (measured, supported) = (measure(counts), counts.supported().map(measure));
        self.add_both(&measured, supported.as_deref(), &[]);
    }

    /// The same of the people with supported counterfactuals alone.
    pub(crate) fn of_supported(&self) -> &RepeatedValues {
        self.supported.get().unwrap_or(self)
    }

    /// Adds a repeat with what its supported counterfactuals alone give; none where all are
    /// supported.
    fn add_both(
        &mut self,
        all: &[MeasuredValue],
        supported: Option<&[MeasuredValue]>,
        untaught: &[usize],
    ) {
        let (none, values) = (RepeatedValues::new(&self.settings, self.level), &self.values);
        let so_far = || RepeatedValues { values: values.clone(), ..none };
        if let Some(part) = self.supported.part(supported.is_none(), so_far) {
            part.add(supported.unwrap_or(all), untaught);
        }
        self.add(all, untaught);
    }

    fn add(&mut self, measured: &[MeasuredValue], untaught: &[usize]) {
        for of in measured {
            let is_untaught = untaught.iter().any(|&group| of.scope.involves(group));
            let value = if is_untaught { Err(Undefined::NoTrainingRows) } else { of.value };
            self.values.entry((of.metric.id, of.scope)).or_default().push(value);
        }
    }

    /// By how much each repeat exceeds the same repeat of others; without values that only one of
    /// them has, or not as often.
    pub(crate) fn minus(&self, others: &RepeatedValues) -> Self {
        let paired = |(key, values): (&(&'static str, MetricScope), &Vec<MetricValue>)| {
            let others = others.values.get(key).filter(|others| others.len() == values.len())?;
            let values = values.iter().zip(others).map(|(&value, &other)| difference(value, other));
            Some((*key, values.collect()))
        };
        let values = self.values.iter().filter_map(paired).collect();
        RepeatedValues { values, ..RepeatedValues::new(&self.settings, self.level) }
    }

    /// How far a value differs between them; none where no repeat measures it.
    pub(crate) fn spread_of(&self, metric: &Metric, scope: MetricScope) -> Option<RepeatSpread> {
        let values = self.values.get(&(metric.id, scope))?;
        Some(RepeatSpread::of_values(values, self.level))
    }
}
