//! Writes the numbers of one part as rows of tables.

use std::borrow::Cow;

use crate::data::Layout;
use crate::metric;
use crate::metric::catalog::shift;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::labels::SELECTIVE_LABELS;
use crate::metric::evidence::person::{CELLS, Confusion, Eccm};
use crate::metric::evidence::shift::ShiftSums;
use crate::metric::rate::{MetricValue, Undefined};
use crate::metric::scope::{GroupSelection, MetricScope};
use crate::metric::value::compare::ComparedValue;
use crate::metric::value::measured::MeasuredValue;
use crate::metric::value::settings::MeasureSettings;
use crate::stage::measure::labels::SelectiveLabels;
use crate::table::{COUNTS, GROUPS, METRICS, SCORE_SHIFT, TRANSITIONS, TableCell, TableFrame};

use crate::stage::artifact::SmallSlices;
use crate::stage::measure::counted_audit::CountedAudit;

/// Tables that are being written.
pub(crate) struct ResultTables {
    /// `metrics`.
    pub(crate) metrics: TableFrame,
    /// `counts`.
    pub(crate) counts: TableFrame,
    /// `score_shift`.
    pub(crate) shift: TableFrame,
    /// `groups`.
    pub(crate) groups: TableFrame,
    /// `transitions`.
    pub(crate) transitions: TableFrame,
    /// Slices of too few people.
    pub(crate) small_slices: SmallSlices,
    /// Who lacks labels more often than others.
    pub(crate) labels: SelectiveLabels,
}

impl ResultTables {
    /// Without rows.
    pub(crate) fn new() -> Self {
        ResultTables {
            metrics: TableFrame::new(&METRICS),
            counts: TableFrame::new(&COUNTS),
            shift: TableFrame::new(&SCORE_SHIFT),
            groups: TableFrame::new(&GROUPS),
            transitions: TableFrame::new(&TRANSITIONS),
            small_slices: SmallSlices::new(),
            labels: SelectiveLabels::new(),
        }
    }
}

/// Writes the numbers of one part as rows of tables.
pub(crate) struct RowBuilder<'a> {
    /// Whose numbers.
    pub(crate) audit: &'a CountedAudit,
    /// What names groups.
    pub(crate) layout: &'a Layout,
    /// How they are measured.
    pub(crate) settings: MeasureSettings,
    /// The slice that the numbers are of; empty = all rows.
    pub(crate) slice: &'a str,
    /// The class that stands against all others; empty for all classes together, and for a label of
    /// two sides.
    pub(crate) class: &'a str,
    /// Whether labels are missing for some people more often than for others.
    pub(crate) selective: bool,
}

impl RowBuilder<'_> {
    /// Name of a group by its position in reference-first order.
    pub(crate) fn group(&self, rank: usize) -> &str {
        let attribute = &self.layout.attributes[self.audit.attribute];
        &attribute.groups[attribute.reference_first()[rank]]
    }

    /// Units of weight in the unit of the user's column; null where there are no weights.
    pub(crate) fn weight(&self, units: Option<u64>) -> TableCell {
        units
            .zip(self.layout.weight.as_ref())
            .map(|(units, weight)| units as f64 * weight.unit.value())
            .into()
    }

    pub(crate) fn n_groups(&self) -> usize {
        self.layout.attributes[self.audit.attribute].groups.len()
    }

    /// Whether a slice of so many people is large enough; if not, it is named.
    pub(crate) fn is_measured(&self, n: u64, smallest: u64, tables: &mut ResultTables) -> bool {
        if n < smallest {
            let attribute = &self.layout.attributes[self.audit.attribute].name;
            let known = tables
                .small_slices
                .entry(attribute.clone())
                .or_default()
                .entry(self.slice.to_owned())
                .or_default();
            *known = n.max(*known);
        }
        n >= smallest
    }

    /// The cells arm to slice.
    pub(crate) fn key(
        &self,
        scope: &str,
        from: Option<usize>,
        to: Option<usize>,
    ) -> Vec<TableCell> {
        let group = |rank: Option<usize>| rank.map_or("", |r| self.group(r));
        vec![
            self.audit.arm.as_str().into(),
            self.audit.model.as_str().into(),
            self.audit.set.as_deref().unwrap_or_default().into(),
            self.layout.attributes[self.audit.attribute].name.as_str().into(),
            scope.into(),
            group(from).into(),
            group(to).into(),
            self.slice.into(),
        ]
    }

    /// A row of `metrics`.
    pub(crate) fn metric_row(&self, measured: &MeasuredValue) -> Vec<TableCell> {
        self.metric_row_with(measured, [const { TableCell::Null }; 14])
    }

    /// Whether a value is about a group of which nothing could be learnt.
    pub(crate) fn is_untaught(&self, scope: MetricScope) -> bool {
        self.audit.untaught.iter().any(|&group| scope.involves(group))
    }

    /// The same, undefined where it is about a group of which nothing could be learnt: a sum over
    /// the other groups would be another value.
    fn undefined_if_untaught<'m>(&self, measured: &'m MeasuredValue) -> Cow<'m, MeasuredValue> {
        if !self.is_untaught(measured.scope) {
            return Cow::Borrowed(measured);
        }
        Cow::Owned(MeasuredValue {
            value: Err(Undefined::NoTrainingRows),
            numerator: None,
            denominator: None,
            weights: None,
            interval: None,
            ci_method: "none: the value is undefined".to_owned(),
            impaired: None,
            placebo: None,
            ..measured.clone()
        })
    }

    fn flags(&self, measured: &MeasuredValue) -> Vec<&'static str> {
        measured.flags.iter().copied().chain(self.selective_labels(measured.metric)).collect()
    }

    /// The flag of a metric that rests on labels which are missing for some people more often than
    /// for others.
    fn selective_labels(&self, metric: &metric::Metric) -> Option<&'static str> {
        (self.selective && (metric.needs_label || self.audit.by_label)).then_some(SELECTIVE_LABELS)
    }

    /// A metric with the cells `world_lo` to `n_worlds_undefined`.
    pub(crate) fn metric_row_with(
        &self,
        measured: &MeasuredValue,
        across: [TableCell; 14],
    ) -> Vec<TableCell> {
        let measured = &self.undefined_if_untaught(measured);
        let (value, undefined) = match measured.value {
            Ok(value) => (TableCell::from(value), ""),
            Err(reason) => (TableCell::Null, reason.code()),
        };
        let interval = measured.interval.as_ref();
        let mut row = self.key(
            measured.scope.as_str(),
            measured.scope.from_group(),
            measured.scope.to_group(),
        );
        row.extend([
            self.class.into(),
            measured.metric.id.into(),
            measured.metric.family.as_str().into(),
            value,
            undefined.into(),
            measured.numerator.into(),
            measured.denominator.into(),
            self.weight(measured.weights.map(|weights| weights.0)),
            self.weight(measured.weights.map(|weights| weights.1)),
            measured.n_rows.into(),
            interval.map(|i| i.lo).into(),
            interval.map(|i| i.hi).into(),
            interval.and(self.settings.level).map(|l| l.get()).into(),
            interval.map_or("", |i| i.method.as_str()).into(),
            measured.ci_method.as_str().into(),
        ]);
        row.extend(across);
        row.extend([
            measured.placebo.and_then(|band| band.ends).map(|ends| ends.0).into(),
            measured.placebo.and_then(|band| band.ends).map(|ends| ends.1).into(),
            measured.placebo.map(|band| band.repeats).into(),
            measured.ideal.into(),
            self.flags(measured).join(",").into(),
            // Where the job names no side that people want nobody is worse off.
            measured
                .impaired
                .filter(|_| self.settings.favourable_stated)
                .map_or("", |g| self.group(g))
                .into(),
            measured
                .furthest
                .and_then(|furthest| furthest.highest)
                .map_or("", |g| self.group(g))
                .into(),
            measured
                .furthest
                .and_then(|furthest| furthest.lowest)
                .map_or("", |g| self.group(g))
                .into(),
            measured.furthest.map(|furthest| furthest.n_undefined).into(),
        ]);
        row
    }

    /// Compared with another arm and model. [`Self::selective`] is then of either.
    pub(crate) fn comparison_row(
        &self,
        (arm, against): (&str, &str),
        compared: &ComparedValue,
    ) -> Vec<TableCell> {
        let group = |rank: Option<usize>| rank.map_or("", |r| self.group(r));
        let untaught = self.is_untaught(compared.scope);
        let (scope, interval) = (compared.scope, compared.interval.as_ref().filter(|_| !untaught));
        let of_taught = |value: MetricValue| {
            if untaught { Err(Undefined::NoTrainingRows) } else { value }
        };
        let difference = of_taught(compared.difference);
        vec![
            self.audit.arm.as_str().into(),
            self.audit.model.as_str().into(),
            arm.into(),
            against.into(),
            self.audit.set.as_deref().unwrap_or_default().into(),
            self.layout.attributes[self.audit.attribute].name.as_str().into(),
            scope.as_str().into(),
            group(scope.from_group()).into(),
            group(scope.to_group()).into(),
            compared.metric.id.into(),
            compared.metric.family.as_str().into(),
            difference.ok().into(),
            difference.err().map_or("", Undefined::code).into(),
            of_taught(compared.first).ok().into(),
            of_taught(compared.second).ok().into(),
            interval.map(|i| i.lo).into(),
            interval.map(|i| i.hi).into(),
            interval.and(self.settings.level).map(|l| l.get()).into(),
            interval.map_or("", |i| i.method.as_str()).into(),
            compared.ci_method.as_str().into(),
            compared.n_rows.into(),
            self.selective_labels(compared.metric).unwrap_or_default().into(),
        ]
    }

    /// Counts of the rows as they are.
    pub(crate) fn factual_counts(&self, counts: &FactualCounts, tables: &mut ResultTables) {
        let mut total = crate::metric::evidence::counts::GroupFactualCounts::default();
        for (rank, group) in counts.groups.iter().enumerate() {
            total.merge(group);
            self.group_row(
                counts,
                (group, group.n_positive(), group.n_predicted_positive()),
                GroupSelection::One(rank),
                tables,
            );
            self.confusion_rows(counts, GroupSelection::One(rank), tables);
        }
        self.group_row(
            counts,
            (&total, total.n_positive(), total.n_predicted_positive()),
            GroupSelection::All,
            tables,
        );
        self.confusion_rows(counts, GroupSelection::All, tables);
    }

    /// A row of the table of groups: counts, and those of them with the positive label and with the
    /// positive prediction.
    pub(crate) fn group_row(
        &self,
        counts: &FactualCounts,
        (c, positive, predicted_positive): (
            &crate::metric::evidence::counts::GroupFactualCounts,
            u64,
            u64,
        ),
        of: GroupSelection,
        tables: &mut ResultTables,
    ) {
        let without_stratum = |of: GroupSelection| {
            let strata = counts.strata.as_ref()?;
            Some(of.groups(counts.groups.len()).map(|group| strata.n_missing(group)).sum::<u64>())
        };
        tables.groups.push(vec![
            self.audit.model.as_str().into(),
            self.layout.attributes[self.audit.attribute].name.as_str().into(),
            of.group().map_or("", |rank| self.group(rank)).into(),
            self.slice.into(),
            c.n().into(),
            self.weight(counts.weight(of)),
            self.layout.label.as_ref().map(|_| positive).into(),
            predicted_positive.into(),
            (if self.layout.label.is_some() { c.n_missing_label() } else { 0 }).into(),
            c.n_missing_score().into(),
            TableCell::Int(0),
            c.n_at_threshold().into(),
            without_stratum(of).into(),
        ]);
    }

    fn confusion_rows(
        &self,
        counts: &FactualCounts,
        of_whom: GroupSelection,
        tables: &mut ResultTables,
    ) {
        if self.layout.label.is_none() {
            return;
        }
        let (people, weights) = (counts.confusion(of_whom), counts.weight_confusion(of_whom));
        let group = of_whom.group();
        let scope = if group.is_some() { "group" } else { "total" };
        let of = |c: &Confusion| [c.tp, c.fp, c.fn_, c.tn, c.unlabelled[1], c.unlabelled[0]];
        let unlabelled = people.predicted() > people.n();
        let places = [("1", "1"), ("0", "1"), ("1", "0"), ("0", "0"), ("", "1"), ("", "0")];
        for (i, (label, predicted)) in
            places.into_iter().enumerate().take(if unlabelled { 6 } else { 4 })
        {
            let mut row = self.key(scope, group, None);
            let weight = self.weight(weights.as_ref().map(|weights| of(weights)[i]));
            row.extend([
                label.into(),
                predicted.into(),
                "".into(),
                of(&people)[i].into(),
                weight,
                TableCell::Null,
            ]);
            tables.counts.push(row);
        }
    }

    /// Counts of counterfactuals.
    pub(crate) fn counterfactual_counts(
        &self,
        counts: &CounterfactualCounts,
        tables: &mut ResultTables,
    ) {
        let n = self.n_groups();
        let spreads = counts.cell_profiles();
        let directions =
            (0..n).flat_map(|from| (0..n).filter(move |&to| to != from).map(move |to| (from, to)));
        for (from, to) in directions {
            let sums = counts.shift(from, to);
            let cells = (spreads.direction(from, to).eccm(), counts.weight_cells(Some((from, to))));
            self.eccm_rows(cells, sums, "direction", (Some(from), Some(to)), tables);
            self.histogram_rows((sums, counts.weight_shift(from, to)), from, to, tables);
        }
        self.eccm_rows(
            (spreads.total().eccm(), counts.weight_cells(None)),
            &counts.shift_total(),
            "total",
            (None, None),
            tables,
        );
        self.missing_scores(counts, tables);
    }

    /// The groups table names, per group, the counterfactuals without a score over all sets.
    pub(crate) fn missing_scores(&self, counts: &CounterfactualCounts, tables: &mut ResultTables) {
        for from in 0..self.n_groups() {
            let missing = i64::try_from(counts.n_missing_score(from)).unwrap_or(i64::MAX);
            let attribute = &self.layout.attributes[self.audit.attribute].name;
            for row in &mut tables.groups.rows {
                let is = |i: usize, text: &str| matches!(&row[i], TableCell::Text(t) if t == text);
                let place = GROUPS.column("n_missing_counterfactual_score");
                if is(0, &self.audit.model)
                    && is(1, attribute)
                    && (is(2, self.group(from)) || is(2, ""))
                    && is(3, self.slice)
                    && let Some(TableCell::Int(n)) = place.and_then(|place| row.get_mut(place))
                {
                    *n += missing;
                }
            }
        }
    }

    /// Cells of people and, where they have weights, of these.
    fn eccm_rows(
        &self,
        (people, weights): (Eccm, Option<Eccm>),
        sums: &ShiftSums,
        scope: &str,
        groups: (Option<usize>, Option<usize>),
        tables: &mut ResultTables,
    ) {
        let unlabelled = people.n() > people.n_labelled();
        for (i, cell) in CELLS.iter().enumerate() {
            let label = match (&self.layout.label, cell.label) {
                (None, Some(_)) => continue,
                (Some(_), None) if !unlabelled => continue,
                (_, None) => "",
                (_, Some(true)) => "1",
                (_, Some(false)) => "0",
            };
            let bit = |b: bool| if b { "1" } else { "0" };
            let mut row = self.key(scope, groups.0, groups.1);
            let squared = TableCell::Wide(sums.squared()[i].units());
            let weight = self.weight(weights.map(|weights| weights.0[i]));
            row.extend([
                label.into(),
                bit(cell.predicted).into(),
                bit(cell.predicted_cf).into(),
                people.0[i].into(),
                weight,
                squared,
            ]);
            tables.counts.push(row);
        }
    }

    pub(crate) fn histogram_rows(
        &self,
        (people, weights): (&ShiftSums, Option<&ShiftSums>),
        from: usize,
        to: usize,
        tables: &mut ResultTables,
    ) {
        let mut side = |name: &str, bins: fn(&ShiftSums) -> &[u64], edge: fn(usize) -> f64| {
            for (i, &n) in bins(people).iter().enumerate() {
                let mut row = self.key("direction", Some(from), Some(to));
                let weight = self.weight(weights.map(|sums| bins(sums)[i]));
                row.extend([
                    self.class.into(),
                    name.into(),
                    TableCell::Real(edge(i)),
                    TableCell::Real(edge(i + 1)),
                    n.into(),
                    weight,
                ]);
                tables.shift.push(row);
            }
        };
        side("original", ShiftSums::before, shift::score_edge);
        side("counterfactual", ShiftSums::after, shift::score_edge);
        side("change", ShiftSums::change, shift::change_edge);
    }
}
