//! The people behind the gates of a question about one attribute, as the tables of counts and of
//! the population have them: by group, label and prediction, and who has no group.

use std::collections::BTreeSet;

use crate::gate::question::GateCase;
use crate::metric::Metric;
use crate::metric::catalog::ccm::SWITCH_RATE;
use crate::metric::evidence::person::{self, CONFUSION_CELLS, Confusion, ECCM_CELLS, cell_index};
use crate::table::population::AUDITED;
use crate::table::{CountRow, NO_GROUP, PopulationRow};

/// Numbers of people, or of their weights, by cell of a confusion or of an extended matrix.
pub(super) type Cells = [u64; ECCM_CELLS];

/// People by cell: rows, and what they weigh.
pub(super) type MeasuredCells = (Cells, [f64; ECCM_CELLS]);

/// The confusion of cells.
pub(super) fn confusion_of(cells: &Cells) -> Confusion {
    let mut own = [0; CONFUSION_CELLS];
    own.copy_from_slice(&cells[..CONFUSION_CELLS]);
    Confusion::from_cells(own)
}

/// People by label and prediction, each unknown, no or yes: rows, and what they weigh.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StatePeople {
    pub(super) rows: [u64; 9],
    pub(super) weights: [f64; 9],
}

impl StatePeople {
    pub(super) fn add(&mut self, other: &StatePeople) {
        for i in 0..9 {
            self.rows[i] += other.rows[i];
            self.weights[i] += other.weights[i];
        }
    }

    /// The people with a prediction, by cell of a confusion.
    pub(super) fn measured(&self) -> MeasuredCells {
        let (mut rows, mut weights) = ([0; ECCM_CELLS], [0.0; ECCM_CELLS]);
        for i in (0..9).filter(|i| i % 3 > 0) {
            let cell = confusion_cell(i / 3, i % 3 == 2);
            (rows[cell], weights[cell]) = (self.rows[i], self.weights[i]);
        }
        (rows, weights)
    }

    /// Rows without a prediction by label, unknown, no or yes.
    pub(super) fn unscored(&self) -> [u64; 3] {
        [0, 3, 6].map(|i| self.rows[i])
    }

    /// Rows by label, whatever their prediction.
    pub(super) fn by_label(&self) -> [u64; 3] {
        [0, 3, 6].map(|i| self.rows[i..i + 3].iter().sum())
    }
}

/// A label as it is counted: unknown 0, no 1 or yes 2.
fn label_of(state: usize) -> Option<bool> {
    (state > 0).then_some(state == 2)
}

/// The cell of a confusion by label (unknown 0, no 1 or yes 2) and prediction.
pub(super) fn confusion_cell(label: usize, positive: bool) -> usize {
    person::confusion_cell(label_of(label), positive)
}

/// The cell of an extended matrix by label (unknown 0, no 1 or yes 2) and predictions.
pub(super) fn switch_cell(label: usize, positive: bool, positive_cf: bool) -> usize {
    cell_index(label_of(label), positive, positive_cf)
}

/// The tables of a question about one attribute.
pub(super) struct PeopleTables<'a> {
    pub(super) case: GateCase<'a>,
    /// The counts of its model, of the rows as they are and of its set.
    counts: Vec<&'a CountRow>,
    /// The people without a group.
    pub(super) none: StatePeople,
    pub(super) is_weighed: bool,
}

impl<'a> PeopleTables<'a> {
    pub(super) fn new(case: GateCase<'a>) -> Self {
        let GateCase { question, seen, tables } = case;
        let is_own = |row: &&CountRow| {
            row.key.arm == question.arm
                && row.key.model == question.model
                && (row.key.counterfactual.is_empty()
                    || row.key.counterfactual == question.counterfactual)
                && row.key.slice.is_empty()
                && row.key.sensitive == seen.row.key.sensitive
        };
        let counts: Vec<&CountRow> = tables.counts.iter().filter(is_own).collect();
        let is_weighed = counts.iter().any(|row| row.weight.is_some());
        let none = StatePeople::default();
        let mut of = PeopleTables { case, counts, none, is_weighed };
        of.none = of.people(NO_GROUP, "").unwrap_or_default();
        of
    }

    /// A text of the table of counts as unknown 0, no 1 or yes 2; none of a class where all classes
    /// are asked about together.
    pub(super) fn state(&self, text: &str) -> Option<usize> {
        match (self.case.question.class.as_str(), text) {
            (_, "") => Some(0),
            ("", "0") => Some(1),
            ("", "1") => Some(2),
            ("", _) => None,
            (class, text) => Some(if class == text { 2 } else { 1 }),
        }
    }

    pub(super) fn counted<'s>(
        &'s self,
        set: &'s str,
        place: [&'s str; 3],
    ) -> impl Iterator<Item = &'a CountRow> + use<'s, 'a> {
        let own = self.counts.iter().copied();
        own.filter(move |row| row.key.counterfactual == *set && row.key.scope_and_groups() == place)
    }

    /// The people of a group, or of none; none where the table does not say.
    pub(super) fn people(&self, scope: &str, group: &str) -> Option<StatePeople> {
        let mut all = StatePeople::default();
        let mut found = false;
        for row in self.counted("", [scope, group, ""]) {
            let at = 3 * self.state(&row.label)? + self.state(&row.predicted)?;
            all.rows[at] += u64::try_from(row.n).ok()?;
            all.weights[at] += row.weight.unwrap_or(row.n as f64);
            found = true;
        }
        found.then_some(all)
    }

    /// The people of all groups but one; of all where it is none of them.
    pub(super) fn all_but(&self, group: &str) -> Option<StatePeople> {
        let mut all = StatePeople::default();
        for other in self.groups().into_iter().filter(|other| *other != group) {
            all.add(&self.people("group", other)?);
        }
        Some(all)
    }

    /// The people of one side of a gap: those of a group, or of all but the other.
    pub(super) fn side(&self, group: &str, other: &str) -> Option<StatePeople> {
        if group.is_empty() { self.all_but(other) } else { self.people("group", group) }
    }

    /// The counterfactuals of a direction.
    pub(super) fn moved(&self, from: &str, to: &str) -> Option<MeasuredCells> {
        let (mut rows, mut weights) = ([0; ECCM_CELLS], [0.0; ECCM_CELLS]);
        for row in self.counted(&self.case.question.counterfactual, ["direction", from, to]) {
            let [label, before, after] =
                [&row.label, &row.predicted, &row.predicted_cf].map(|text| self.state(text));
            let cell = switch_cell(label?, before? == 2, after? == 2);
            rows[cell] += u64::try_from(row.n).ok()?;
            weights[cell] += row.weight.unwrap_or(row.n as f64);
        }
        Some((rows, weights))
    }

    /// The row of the table of the population of a group under the model, or of those without one.
    pub(super) fn population(&self, group: Option<&str>) -> Option<&'a PopulationRow> {
        let GateCase { question, seen, tables } = self.case;
        tables.population.iter().find(|row| {
            row.is_of_model(&question.model)
                && row.sensitive == seen.row.key.sensitive
                && row.group.as_deref() == group
        })
    }

    /// Whether the table of counts holds everybody who has no score or no group according to the
    /// population. Arms have no population of their own.
    pub(super) fn counts_tell_all(&self) -> bool {
        let tells = |people: StatePeople, row: &PopulationRow| {
            people.unscored().iter().sum::<u64>() >= row.unscored()
        };
        let of_groups = self.groups().into_iter().all(|group| {
            let row = self.population(Some(group)).filter(|_| self.case.question.arm.is_empty());
            let people = self.people("group", group).unwrap_or_default();
            row.is_none_or(|row| tells(people, row))
        });
        let none = self.population(None).filter(|_| self.case.question.arm.is_empty());
        let is_empty = self.none.rows.iter().all(|n| *n == 0) && !self.ungrouped_are_weightless();
        of_groups && none.is_none_or(|row| tells(self.none, row) && (row.rows == 0 || !is_empty))
    }

    /// The audited rows without a group, whatever the model.
    pub(super) fn ungrouped(&self) -> Option<&'a PopulationRow> {
        self.case.tables.population.iter().find(|row| {
            row.is_of_rows()
                && row.state == AUDITED
                && row.sensitive == self.case.seen.row.key.sensitive
                && row.group.is_none()
        })
    }

    /// Whether all people without a group have the weight 0, so that they count for nothing.
    pub(super) fn ungrouped_are_weightless(&self) -> bool {
        self.ungrouped().is_some_and(|row| row.weight == Some(0.0))
    }

    /// The people of a group, by the table of counts, who lack a counterfactual with a score in the
    /// direction in which most do; none where counts do not say.
    pub(super) fn untested(&self, from: &str, groups: &[&str]) -> Option<u64> {
        // For amounts above a number only the rows as they are are counted.
        self.counts.iter().find(|row| !row.key.counterfactual.is_empty())?;
        let own: u64 = self.people("group", from)?.rows.iter().sum();
        let mut most = 0;
        for to in groups.iter().filter(|to| **to != from) {
            let repeats = self.repeats(from, to);
            let moved: u64 = self.moved(from, to)?.0.iter().sum();
            most = (own * repeats).saturating_sub(moved).div_ceil(repeats).max(most);
        }
        Some(most)
    }

    /// The value that the table of metrics has: of a change that of the later run.
    pub(super) fn value(&self) -> Option<f64> {
        let value = self.case.seen.row.value?;
        if self.case.seen.is_change { Some(value + self.case.seen.baseline?) } else { Some(value) }
    }

    /// The declared groups.
    pub(super) fn groups(&self) -> Vec<&'a str> {
        let own = self
            .counts
            .iter()
            .filter(|row| row.key.counterfactual.is_empty() && row.key.scope == "group");
        own.map(|row| row.key.from_group.as_str()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The precision of one row in the denominator of a rate, by the table of metrics: 1 where each
    /// row is a person who counts as one.
    pub(super) fn effective(&self, metric: &str, place: [&str; 3]) -> Option<f64> {
        let row = self.case.row(metric, place);
        match row.and_then(|row| row.n_eff.zip(row.denominator)) {
            Some((sure, below)) if below > 0 => Some(sure / below as f64),
            _ if self.is_weighed || row.is_some_and(|row| row.n_persons.is_some()) => None,
            _ => Some(1.0),
        }
    }

    /// Whether rows need not be as precise as each other: people have weights, or several rows.
    pub(super) fn are_unequal(&self) -> bool {
        self.is_weighed || self.case.seen.row.n_persons.is_some()
    }

    /// How often a row counts in a direction: a row may have several counterfactuals there.
    pub(super) fn repeats(&self, from: &str, to: &str) -> u64 {
        let row = self.case.row(SWITCH_RATE, ["direction", from, to]);
        row.and_then(|row| {
            Some((u64::try_from(row.denominator?).ok()?, u64::try_from(row.n_rows).ok()?))
        })
        .map_or(1, |(cases, rows)| cases.div_ceil(rows.max(1)).max(1))
    }

    /// The metric whose rate is on either side of a gap, to look up its precision.
    pub(super) fn base(metric: &'static Metric) -> &'static str {
        match (metric.gap_of, metric.of_favourable()) {
            (Some((base, _)), _) => base,
            (None, Some(_)) => "pprev",
            _ => metric.id,
        }
    }

    /// Whether the table of counts holds the model of the question.
    pub(super) fn has_counts(&self) -> bool {
        !self.case.question.class.is_empty() || !self.groups().is_empty()
    }
}
