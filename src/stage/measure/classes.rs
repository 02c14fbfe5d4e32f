//! Rows of the tables where the label has several classes: the matrices of all classes, and each
//! class against all others.
//!
//! A class against all others is measured as a label of two sides, by the same engine. Its positive
//! side is favourable where the class is on the side of the label that people want. A group is
//! called worse off only where no other class is on the same side of the label: otherwise a
//! prediction that leaves the class may stay on that side. The family clarify may be measured for a
//! single class only.

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
    /// The class that the family clarify measures alone; none where it measures each.
    pub(super) clarified: Option<&'a Word>,
    pub(super) workers: &'a WorkerPool,
    /// Slices of fewer people are only counted.
    pub(super) smallest: u64,
}

impl<'a> ClassMeasurement<'a> {
    /// Adds the rows of people as they are, everybody or those in a slice; the curves to measure.
    pub(super) fn add_rows(
        &self,
        (all, counts): &'a (RowBuilder<'a>, FactualClassCounts),
        flips: &[FlipTestResult],
        tables: &mut ResultTables,
    ) -> Vec<CurvePart<'a, FactualCounts>> {
        let Some(people) = counts.one_vs_rest.first() else { return Vec::new() };
        let mut curves = Vec::new();
        if all.is_measured(people.people_predicted(), self.smallest, tables) {
            let measure = || measure_factual_classes(counts, &all.settings);
            let of_all = self.workers.within(measure);
            tables.metrics.extend(all.metric_rows(of_all, [None; 2], false));
            let of_classes = self.each_vs_rest(all).zip(&counts.one_vs_rest).enumerate();
            for (class, (one, counts)) in of_classes {
                // The flip test is about everybody.
                let flips = flips.get(class).filter(|_| all.slice.is_empty());
                one.rows_measured(self.workers, counts, flips, None, tables);
                curves.push((one, counts));
            }
        }
        groups(all, counts, tables);
        let matrices = (0..all.n_groups()).map(GroupSelection::One).chain([GroupSelection::All]);
        for who in matrices {
            let scope = if who.group().is_some() { "group" } else { "total" };
            class_cells(all, (scope, who.group(), None), counts.cells(Some(who)), tables);
        }
        class_cells(all, (NO_GROUP, None, None), counts.cells(None), tables);
        curves
    }

    /// As [`Self::add_rows`], for counterfactuals.
    pub(super) fn add_switches(
        &self,
        (all, evidence): &'a (RowBuilder<'a>, SwitchEvidence),
        tables: &mut ResultTables,
    ) -> Vec<CurvePart<'a, CounterfactualCounts>> {
        // Whom one class leaves out, all leave out.
        let first = evidence.classes.as_ref().zip(evidence.sides.first());
        let Some((counts, (people, _))) = first else { return Vec::new() };
        let is_measured = all.is_measured(people.people_moved(), self.smallest, tables);
        if is_measured {
            let measure =
                |counts| self.workers.within(|| measure_switch_classes(counts, &all.settings));
            let (of_all, transitions) = measure(counts);
            let rows = |measured| all.metric_rows(measured, [None; 2], false);
            let supported = counts.supported().map(|counts| rows(measure(counts).0));
            tables.metrics.extend(with_supported(rows(of_all), supported));
            let transitions = transitions.iter().map(|of| transition_row(all, of));
            tables.transitions.extend(transitions);
        }
        let mut curves = Vec::new();
        for (one, (counts, shift)) in self.each_vs_rest(all).zip(&evidence.sides) {
            if is_measured {
                let beside = (shift.as_ref(), None);
                one.switches_measured(self.workers, counts, beside, [None; 2], tables);
            }
            one.directions().for_each(|of| one.histogram_rows(counts, of, tables));
            curves.extend(is_measured.then_some((one, counts)));
        }
        let total = [("total", None)].into_iter();
        for (scope, of) in all.directions().map(|of| ("direction", Some(of))).chain(total) {
            let place = (scope, of.map(|(from, _)| from), of.map(|(_, to)| to));
            class_cells(all, place, counts.cells(of), tables);
        }
        all.missing_scores(people, tables);
        let (rows, places) = (people.cell_profiles(), people.scope_index());
        let people = |from, to| rows[places.direction(from, to)].n_rows(|_| true);
        all.population_of_set(people, tables);
        curves
    }

    /// One class against all others, class by class: each is an audit of two sides.
    pub(super) fn each_vs_rest(
        &self,
        all: &RowBuilder<'a>,
    ) -> impl Iterator<Item = RowBuilder<'a>> {
        let (all, label, clarified) = (all.clone(), self.label, self.clarified);
        label.classes.iter().flatten().map(move |name| {
            let wanted = label.positive.contains(name) == label.favours_positive();
            let favourable =
                if wanted { FavourableClass::Positive } else { FavourableClass::Negative };
            // For a class that shares its side, the others are better or worse ones.
            let favourable_stated = all.settings.favourable_stated && label.is_side(name);
            let mut families = all.settings.families.clone();
            if clarified.is_some_and(|only| only != name) {
                families.retain(|family| *family != MetricFamily::Clarify);
            }
            let settings = all.settings.clone();
            let settings = MeasureSettings { favourable, favourable_stated, families, ..settings };
            RowBuilder { settings, class: name.as_str(), ..all.clone() }
        })
    }
}

/// The rows of the table of groups: the positive are those of the positive classes.
fn groups(row_builder: &RowBuilder<'_>, counts: &FactualClassCounts, tables: &mut ResultTables) {
    let Some(label) = &row_builder.layout.label else { return };
    // Whom one class leaves out, all leave out.
    let Some(one) = counts.one_vs_rest.first() else { return };
    let positive: Vec<usize> = (0..label.classes.len())
        .filter(|&class| label.positive.contains(&label.classes[class]))
        .collect();
    let mut total = (GroupFactualCounts::default(), 0, 0);
    for (rank, group) in one.groups.iter().enumerate() {
        let sum = |of: fn(&GroupFactualCounts) -> u64| {
            positive.iter().map(|&class| of(&counts.one_vs_rest[class].groups[rank])).sum::<u64>()
        };
        let (labelled, predicted) =
            (sum(GroupFactualCounts::n_positive), sum(GroupFactualCounts::n_predicted_positive));
        total.0.absorb(group);
        total = (total.0, total.1 + labelled, total.2 + predicted);
        row_builder.group_row(one, (group, labelled, predicted), GroupSelection::One(rank), tables);
    }
    row_builder.group_row(one, (&total.0, total.1, total.2), GroupSelection::All, tables);
    let of_positive = |of: &dyn Fn(&FactualCounts) -> u64| {
        positive.iter().map(|&class| of(&counts.one_vs_rest[class])).sum::<u64>()
    };
    row_builder.population_rows(one, of_positive, tables);
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
    // A class that nobody has has no persons.
    let persons = measured.persons.and_then(|of| of.denominator).filter(|n| *n > 0);
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
