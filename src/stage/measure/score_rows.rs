//! Rows of the tables about scores: `reliability` and `curves`.

use crate::exec::pieces::WorkerPool;
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::evidence::score_grid::{GRID_STEPS, ScoreGrid};
use crate::metric::rate::Undefined;
use crate::metric::scope::GroupSelection;
use crate::metric::value::curves::ThresholdCurve;
use crate::metric::value::scores::{ReliabilityBin, measure_reliability};
use crate::stage::measure::row_builder::{ResultTables, RowBuilder};
use crate::table::{CurveRow, ReliabilityRow, SharedText, finite, whole};

impl RowBuilder<'_> {
    /// Adds the score bins of the factual rows; none for a model that gives decisions or points.
    pub(crate) fn scores_measured(
        &self,
        workers: &WorkerPool,
        counts: &FactualCounts,
        tables: &mut ResultTables,
    ) {
        if self.audit.scoreless || self.audit.points {
            return;
        }
        let bins = workers.within(|| measure_reliability(counts, &self.settings));
        let rows = bins.iter().map(|(selection, bin)| self.reliability_row(*selection, bin));
        tables.reliability.extend(rows);
    }

    fn reliability_row(&self, selection: GroupSelection, bin: &ReliabilityBin) -> ReliabilityRow {
        let key = self.key("", selection.group(), None);
        ReliabilityRow {
            arm: key.arm,
            model: key.model,
            sensitive: key.sensitive,
            group: key.from_group,
            slice: key.slice,
            class: self.class.into(),
            bin: whole(bin.bin),
            n: whole(bin.n),
            score_lo: bin.scores.0,
            score_hi: bin.scores.1,
            mean_score: bin.mean_score,
            positives: whole(bin.positives),
            observed: bin.observed,
            lo: bin.ends.map(|ends| ends.0),
            hi: bin.ends.map(|ends| ends.1),
        }
    }

    /// The rows of a curve, by step.
    pub(crate) fn curve_rows(&self, grid: &ScoreGrid, curve: &ThresholdCurve) -> Vec<CurveRow> {
        let (scope, is_undefined) = (curve.scope, self.audit.lacks_rows(curve.scope));
        let key = self.key_of(scope);
        let [class, metric] = [self.class, curve.metric.id].map(SharedText::from);
        let if_defined = |n: u64| (!is_undefined).then(|| whole(n));
        let each = curve.points.iter().enumerate().map(|(step, point)| {
            let value = if is_undefined { Err(Undefined::NoTrainingRows) } else { point.value };
            let ends = point.ends.filter(|_| value.is_ok());
            let threshold =
                if step > GRID_STEPS { grid.threshold } else { grid.threshold_at(step) };
            CurveRow {
                key: key.clone(),
                class: class.clone(),
                metric: metric.clone(),
                step: whole(step as u64),
                threshold,
                value: value.ok().and_then(finite),
                undefined: value.err().map_or("", Undefined::code).into(),
                numerator: point.numerator.and_then(if_defined),
                denominator: if_defined(point.denominator),
                lo: ends.and_then(|ends| finite(ends.0)),
                hi: ends.and_then(|ends| finite(ends.1)),
            }
        });
        each.collect()
    }
}
