//! Rows of the tables where the label has several classes: the matrices of all classes, and each
//! class against the rest.
//!
//! A class against the rest is measured as a label of two sides, by the same engine. Its positive
//! side is favourable if the class is on the favourable side of the label. A group is called worse
//! off only if no other class is on the same side of the label: otherwise a prediction can leave
//! the class and stay on that side. The family clarify can be limited to a single class.

use crate::exec::pieces::WorkerPool;
use crate::job::LabelColumn;
use crate::metric::MetricFamily;
use crate::metric::evidence::class_counts::ClassCell;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::flip_test::FlipTestResult;
use crate::metric::evidence::group_counts::GroupFactualCounts;
use crate::metric::scope::GroupSelection;
use crate::metric::value::classes::FactualClassCounts;
use crate::metric::value::classes::measure::{
    ClassTransition, measure_factual_classes, measure_switch_classes,
};
use crate::metric::value::settings::{FavourableClass, MeasureSettings};
use crate::num::additive::Additive;
use crate::param::Word;
use crate::stage::count::switches::SwitchEvidence;
use crate::stage::measure::curve_files::CurvePart;
use crate::stage::measure::row_builder::{ResultTables, RowBuilder};
use crate::stage::measure::support::with_supported;
use crate::table::{CountRow, NO_GROUP, TransitionRow, whole};

/// How the classes of a label are measured.
pub(super) struct ClassMeasurement<'a> {
    pub(super) label: &'a LabelColumn,
    /// The only class that the family clarify measures; none if it measures every class.
    pub(super) clarified: Option<&'a Word>,
    pub(super) workers: &'a WorkerPool,
    /// Slices with fewer people are counted but not measured.
    pub(super) smallest: u64,
}

impl<'a> ClassMeasurement<'a> {
    /// Adds the rows about factual rows, of all people or of a slice. Returns the curves to
    /// measure.
    pub(super) fn add_rows(
        &self,
        (builder, counts): &'a (RowBuilder<'a>, FactualClassCounts),
        flips: &[FlipTestResult],
        tables: &mut ResultTables,
    ) -> Vec<CurvePart<'a, FactualCounts>> {
        let Some(people) = counts.one_vs_rest.first() else { return Vec::new() };
        let mut curves = Vec::new();
        if builder.is_measured(people.people_predicted(), self.smallest, tables) {
            let measure = || measure_factual_classes(counts, &builder.settings);
            let of_matrix = self.workers.within(measure);
            tables.metrics.extend(builder.metric_rows(of_matrix, [None; 2], false));
            let of_classes = self.each_vs_rest(builder).zip(&counts.one_vs_rest).enumerate();
            for (class, (class_builder, counts)) in of_classes {
                // The flip test is about all people.
                let flips = flips.get(class).filter(|_| builder.slice.is_empty());
                class_builder.rows_measured(self.workers, counts, flips, None, tables);
                curves.push((class_builder, counts));
            }
        }
        groups(builder, counts, tables);
        let matrices =
            (0..builder.n_groups()).map(GroupSelection::One).chain([GroupSelection::All]);
        for selection in matrices {
            let scope = if selection.group().is_some() { "group" } else { "total" };
            class_cells(
                builder,
                (scope, selection.group(), None),
                counts.cells(Some(selection)),
                tables,
            );
        }
        class_cells(builder, (NO_GROUP, None, None), counts.cells(None), tables);
        curves
    }

    /// As [`Self::add_rows`], for counterfactuals.
    pub(super) fn add_switches(
        &self,
        (builder, evidence): &'a (RowBuilder<'a>, SwitchEvidence),
        tables: &mut ResultTables,
    ) -> Vec<CurvePart<'a, CounterfactualCounts>> {
        // All classes leave out the same people.
        let first = evidence.classes.as_ref().zip(evidence.sides.first());
        let Some((counts, (people, _))) = first else { return Vec::new() };
        let is_measured = builder.is_measured(people.people_moved(), self.smallest, tables);
        if is_measured {
            let measure =
                |counts| self.workers.within(|| measure_switch_classes(counts, &builder.settings));
            let (of_matrix, transitions) = measure(counts);
            let rows = |measured| builder.metric_rows(measured, [None; 2], false);
            let supported = counts.supported().map(|counts| rows(measure(counts).0));
            tables.metrics.extend(with_supported(rows(of_matrix), supported));
            let transitions =
                transitions.iter().map(|transition| transition_row(builder, transition));
            tables.transitions.extend(transitions);
        }
        let mut curves = Vec::new();
        for (class_builder, (counts, shift)) in self.each_vs_rest(builder).zip(&evidence.sides) {
            if is_measured {
                let shift_and_placebo = (shift.as_ref(), None);
                class_builder.switches_measured(
                    self.workers,
                    counts,
                    shift_and_placebo,
                    [None; 2],
                    tables,
                );
            }
            class_builder
                .directions()
                .for_each(|d| class_builder.histogram_rows(counts, d, tables));
            curves.extend(is_measured.then_some((class_builder, counts)));
        }
        let total = [("total", None)].into_iter();
        for (scope, pair) in builder.directions().map(|d| ("direction", Some(d))).chain(total) {
            let place = (scope, pair.map(|(from, _)| from), pair.map(|(_, to)| to));
            class_cells(builder, place, counts.cells(pair), tables);
        }
        builder.missing_scores(people, tables);
        let (rows, places) = (people.cell_profiles(), people.scope_index());
        let people = |from, to| rows[places.direction(from, to)].n_rows(|_| true);
        builder.population_of_set(people, tables);
        curves
    }

    /// A builder for each class against the rest: each is an audit of two sides.
    pub(super) fn each_vs_rest(
        &self,
        builder: &RowBuilder<'a>,
    ) -> impl Iterator<Item = RowBuilder<'a>> {
        let (builder, label, clarified) = (builder.clone(), self.label, self.clarified);
        label.classes.iter().flatten().map(move |name| {
            let wanted = label.positive.contains(name) == label.favours_positive();
            let favourable =
                if wanted { FavourableClass::Positive } else { FavourableClass::Negative };
            // If other classes share its side, leaving the class is not better or worse.
            let favourable_stated = builder.settings.favourable_stated && label.is_side(name);
            let mut families = builder.settings.families.clone();
            if clarified.is_some_and(|only| only != name) {
                families.retain(|family| *family != MetricFamily::Clarify);
            }
            let settings = builder.settings.clone();
            let settings = MeasureSettings { favourable, favourable_stated, families, ..settings };
            RowBuilder { settings, class: name.as_str(), ..builder.clone() }
        })
    }
}

/// The rows of the table of groups; positive is the sum over the positive classes.
fn groups(row_builder: &RowBuilder<'_>, counts: &FactualClassCounts, tables: &mut ResultTables) {
    let Some(label) = &row_builder.layout.label else { return };
    // All classes leave out the same people.
    let Some(first_class) = counts.one_vs_rest.first() else { return };
    let positive: Vec<usize> = (0..label.classes.len())
        .filter(|&class| label.positive.contains(&label.classes[class]))
        .collect();
    let mut total = (GroupFactualCounts::default(), 0, 0);
    for (rank, group) in first_class.groups.iter().enumerate() {
        let sum = |count: fn(&GroupFactualCounts) -> u64| {
            positive
                .iter()
                .map(|&class| count(&counts.one_vs_rest[class].groups[rank]))
                .sum::<u64>()
        };
        let (labelled, predicted) =
            (sum(GroupFactualCounts::n_positive), sum(GroupFactualCounts::n_predicted_positive));
        total.0.absorb(group);
        total = (total.0, total.1 + labelled, total.2 + predicted);
        row_builder.group_row(
            first_class,
            (group, labelled, predicted),
            GroupSelection::One(rank),
            tables,
        );
    }
    row_builder.group_row(first_class, (&total.0, total.1, total.2), GroupSelection::All, tables);
    let of_positive = |count: &dyn Fn(&FactualCounts) -> u64| {
        positive.iter().map(|&class| count(&counts.one_vs_rest[class])).sum::<u64>()
    };
    row_builder.population_rows(first_class, of_positive, tables);
}

/// People by label and prediction, or counterfactuals by label and both predictions.
fn class_cells(
    row_builder: &RowBuilder<'_>,
    (scope, from, to): (&str, Option<usize>, Option<usize>),
    cells: Vec<ClassCell>,
    tables: &mut ResultTables,
) {
    let classes = row_builder.layout.label.as_ref().map_or(&[][..], |label| &label.classes);
    let name = |class: Option<usize>| class.map_or("", |class| classes[class].as_str()).into();
    tables.counts.extend(cells.into_iter().map(|(at, sums)| {
        let [label, predicted, predicted_cf] = at.map(name);
        CountRow {
            key: row_builder.key(scope, from, to),
            label,
            predicted,
            predicted_cf,
            n: whole(sums.people()),
            weight: row_builder.weight(Some(sums.sum())),
            ..CountRow::default()
        }
    }));
}

fn transition_row(row_builder: &RowBuilder<'_>, transition: &ClassTransition) -> TransitionRow {
    let label_classes = row_builder.layout.label.as_ref().map_or(&[][..], |label| &label.classes);
    let ClassTransition { classes, measured } = transition;
    let [from_class, to_class] = classes.map(|class| label_classes[class].as_str().into());
    let row = row_builder.metric_row(measured);
    // Without rows of the class there are no persons.
    let persons = measured.persons.and_then(|persons| persons.denominator).filter(|n| *n > 0);
    TransitionRow {
        key: row.key,
        from_class,
        to_class,
        value: row.value,
        undefined: row.undefined,
        numerator: measured.numerator.map_or(0, whole),
        denominator: measured.denominator.map_or(0, whole),
        weight_numerator: row_builder.weight(measured.weights.map(|weights| weights.0)),
        weight_denominator: row_builder.weight(measured.weights.map(|weights| weights.1)),
        denominator_persons: persons.map(whole),
        lo: row.lo,
        hi: row.hi,
        level: row.level,
        interval: row.interval,
        ci_method: row.ci_method,
        flags: measured.flags.join(",").into(),
    }
}
