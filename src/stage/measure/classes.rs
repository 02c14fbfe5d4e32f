//! Rows of the tables where the label has several classes: the matrices of all classes, and each
//! class against all others.
//!
//! A class against all others is measured as a label of two sides, by the same engine. Its positive
//! side is favourable where the class is on the side of the label that people want. A group is
//! called worse off only where no other class is on the same side of the label: otherwise a
//! prediction that leaves the class may stay on that side. The family clarify may be measured for a
//! single class only.

use crate::data::Layout;
use crate::error::Result;
use crate::job::LabelColumn;
use crate::metric::MetricFamily;
use crate::metric::evidence::class_counts::ClassCell;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::group_counts::GroupFactualCounts;
use crate::metric::evidence::shift_pass::ShiftEvidence;
use crate::metric::scope::GroupSelection;
use crate::metric::value::classes::measure::{
    ClassTransition, measure_factual_classes, measure_switch_classes,
};
use crate::metric::value::classes::{FactualClassCounts, SwitchClassCounts};
use crate::metric::value::settings::{FavourableClass, MeasureSettings};
use crate::num::additive::Additive;
use crate::param::Word;
use crate::stage::artifact::SHIFT_EVIDENCE;
use crate::stage::measure::counted_audit::AuditInputs;
use crate::stage::measure::curve_files::CurveFiles;
use crate::stage::measure::support::with_supported;
use crate::stage::measure::{ResultTables, RowBuilder};
use crate::stage::row_context::RowContext;
use crate::table::{CountRow, NO_GROUP, TransitionRow, whole};

/// The label, and the class that the family clarify measures alone; none where it measures each.
type LabelClasses<'a> = (&'a LabelColumn, Option<&'a Word>);

/// Measures one part: `text` is what its stage counted.
///
/// # Errors
/// Evidence that cannot be read.
pub(crate) fn measure(
    of: LabelClasses<'_>,
    row_context: RowContext<'_>,
    (row_builder, stages): (&RowBuilder<'_>, &AuditInputs),
    text: &str,
    (tables, curves): (&mut ResultTables, &mut CurveFiles),
) -> Result<()> {
    if row_builder.audit.set.is_none() {
        let counts: FactualClassCounts = stages.count.parse(text)?;
        let of_all =
            row_context.workers.within(|| measure_factual_classes(&counts, &row_builder.settings));
        tables.metrics.extend(row_builder.metric_rows(of_all, [None; 2], false));
        for (one, counts) in each_vs_rest(of, row_builder).zip(&counts.one_vs_rest) {
            one.rows_measured(row_context.workers, counts, None, None, tables);
        }
        groups(row_builder, &counts, tables);
        let matrices =
            (0..row_builder.n_groups()).map(GroupSelection::One).chain([GroupSelection::All]);
        for who in matrices {
            let scope = if who.group().is_some() { "group" } else { "total" };
            class_cells(row_builder, (scope, who.group(), None), counts.cells(Some(who)), tables);
        }
        class_cells(row_builder, (NO_GROUP, None, None), counts.cells(None), tables);
        let of_classes = each_vs_rest(of, row_builder).zip(&counts.one_vs_rest);
        return curves.add(row_context.workers, of_classes.collect());
    }
    let (counts, one_vs_rest): (SwitchClassCounts, Vec<CounterfactualCounts>) =
        stages.count.parse(text)?;
    let shift: Option<Vec<ShiftEvidence>> =
        stages.count.read_if_written(row_context.ctx, SHIFT_EVIDENCE)?;
    let (of_all, transitions) =
        row_context.workers.within(|| measure_switch_classes(&counts, &row_builder.settings));
    let rows = |measured| row_builder.metric_rows(measured, [None; 2], false);
    let supported = counts.supported().map(|counts| {
        let measure = || measure_switch_classes(counts, &row_builder.settings);
        rows(row_context.workers.within(measure).0)
    });
    tables.metrics.extend(with_supported(rows(of_all), supported));
    tables
        .transitions
        .extend(transitions.iter().map(|transition| transition_row(row_builder, transition)));
    let of_classes = each_vs_rest(of, row_builder).zip(&one_vs_rest).enumerate();
    for (class, (one, counts)) in of_classes {
        let shift = shift.as_ref().and_then(|shift| shift.get(class));
        one.switches_measured(row_context.workers, counts, (shift, None), [None; 2], tables);
        one.directions().for_each(|direction| one.histogram_rows(counts, direction, tables));
    }
    let total = [("total", None)].into_iter();
    for (scope, direction) in
        row_builder.directions().map(|direction| ("direction", Some(direction))).chain(total)
    {
        let place = (scope, direction.map(|(from, _)| from), direction.map(|(_, to)| to));
        class_cells(row_builder, place, counts.cells(direction), tables);
    }
    // Whom one class leaves out, all leave out.
    one_vs_rest.first().into_iter().for_each(|one| {
        row_builder.missing_scores(one, tables);
        let (rows, places) = (one.cell_profiles(), one.scope_index());
        let people = |from, to| rows[places.direction(from, to)].n_rows(|_| true);
        row_builder.population_of_set(people, tables);
    });
    let of_classes = each_vs_rest(of, row_builder).zip(&one_vs_rest);
    curves.add(row_context.workers, of_classes.collect())
}

/// One class against all others, class by class: each is an audit of two sides.
fn each_vs_rest<'a>(
    (label, clarified): LabelClasses<'a>,
    all: &RowBuilder<'a>,
) -> impl Iterator<Item = RowBuilder<'a>> {
    let (audit, layout, selective): (_, &'a Layout, _) = (all.audit, all.layout, all.selective);
    let (settings, texts) = (all.settings.clone(), all.texts.clone());
    label.classes.iter().flatten().map(move |name| {
        let wanted = label.positive.contains(name) == label.favours_positive();
        let favourable = if wanted { FavourableClass::Positive } else { FavourableClass::Negative };
        // For a class that shares its side, the others are better or worse ones.
        let favourable_stated = settings.favourable_stated && label.is_side(name);
        let mut families = settings.families.clone();
        if clarified.is_some_and(|only| only != name) {
            families.retain(|family| *family != MetricFamily::Clarify);
        }
        let settings =
            MeasureSettings { favourable, favourable_stated, families, ..settings.clone() };
        RowBuilder {
            audit,
            texts: texts.clone(),
            layout,
            settings,
            slice: "",
            class: name.as_str(),
            selective,
        }
    })
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
