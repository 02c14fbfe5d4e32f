//! The people behind the gates of a question about one attribute, as the tables of counts and of
//! the population have them: by group, label and prediction, and who has no group.

use std::collections::BTreeSet;
use std::ops::AddAssign;

use crate::gate::question::GateCase;
use crate::metric::Metric;
use crate::metric::catalog::ccm::SWITCH_RATE;
use crate::metric::evidence::person::{Confusion, ECCM_CELLS, cell_index};
use crate::table::population::AUDITED;
use crate::table::{CountRow, GroupRow, NO_GROUP, PopulationRow, unsigned};

/// Rows, and what they weigh: a row without weight weighs 1.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WeighedRows {
    pub(super) n: u64,
    pub(super) weight: f64,
}

impl WeighedRows {
    fn of(row: &CountRow) -> Option<Self> {
        let weight = row.weight.unwrap_or(row.n as f64);
        Some(WeighedRows { n: u64::try_from(row.n).ok()?, weight })
    }

    /// Those of as many rows, each counted this many times, that are not among others.
    pub(super) fn times_without(self, times: u64, others: WeighedRows) -> Self {
        WeighedRows {
            n: (self.n * times).saturating_sub(others.n),
            weight: (self.weight * times as f64 - others.weight).max(0.0),
        }
    }
}

impl AddAssign for WeighedRows {
    fn add_assign(&mut self, other: Self) {
        self.n += other.n;
        self.weight += other.weight;
    }
}

/// Rows by cell. Of rows as they are by label and prediction, each unknown 0, no 1 or yes 2: the
/// state 3 label + prediction. Of counterfactuals the cell of an extended matrix.
pub(super) type RowsByCell = [WeighedRows; ECCM_CELLS];

/// States of rows as they are.
pub(super) const STATES: usize = 9;

/// Adds rows to others, place by place.
pub(super) fn add(all: &mut RowsByCell, others: &RowsByCell) {
    all.iter_mut().zip(others).for_each(|(all, other)| *all += *other);
}

/// The numbers of the rows, without their weights.
pub(super) fn numbers(rows: &RowsByCell) -> [u64; ECCM_CELLS] {
    rows.map(|rows| rows.n)
}

/// The confusion of numbers by state.
pub(super) fn confusion_of(numbers: &[u64; ECCM_CELLS]) -> Confusion {
    Confusion::from_states(std::array::from_fn(|state| numbers[state]))
}

/// Rows without a prediction by label, unknown, no or yes.
pub(super) fn unscored(rows: &RowsByCell) -> [u64; 3] {
    [0, 3, 6].map(|state| rows[state].n)
}

/// Rows by label, whatever their prediction.
pub(super) fn by_label(rows: &RowsByCell) -> [u64; 3] {
    [0, 3, 6].map(|state| rows[state..state + 3].iter().map(|rows| rows.n).sum())
}

/// A text of the table of counts about a class, empty for all together, as unknown 0, no 1 or yes
/// 2; none of a class where all are asked about together.
fn answer(class: &str, text: &str) -> Option<usize> {
    match (class, text) {
        (_, "") => Some(0),
        ("", "0") => Some(1),
        ("", "1") => Some(2),
        ("", _) => None,
        (class, text) => Some(if class == text { 2 } else { 1 }),
    }
}

/// The cell of an extended matrix that a row of the table counts.
pub(super) fn cell_of(class: &str, row: &CountRow) -> Option<usize> {
    let [label, before, after] =
        [&row.label, &row.predicted, &row.predicted_cf].map(|text| answer(class, text));
    Some(switch_cell(label?, before? == 2, after? == 2))
}

/// The cell of an extended matrix by label (unknown 0, no 1 or yes 2) and predictions.
pub(super) fn switch_cell(label: usize, positive: bool, positive_cf: bool) -> usize {
    cell_index((label > 0).then_some(label == 2), positive, positive_cf)
}

/// The tables of a question about one attribute.
pub(super) struct PeopleTables<'a> {
    pub(super) case: GateCase<'a>,
    /// The counts of its model, of the rows as they are and of its set.
    counts: Vec<&'a CountRow>,
    /// The rows without a group.
    pub(super) ungrouped: RowsByCell,
    pub(super) is_weighed: bool,
}

impl<'a> PeopleTables<'a> {
    pub(super) fn new(case: GateCase<'a>) -> Self {
        let GateCase { question, observed, tables } = case;
        let is_own = |row: &&CountRow| {
            row.key.arm == question.arm
                && row.key.model == question.model
                && (row.key.counterfactual.is_empty()
                    || row.key.counterfactual == question.counterfactual)
                && row.key.slice.is_empty()
                && row.key.sensitive == observed.row.key.sensitive
        };
        let counts: Vec<&CountRow> = tables.counts.iter().filter(is_own).collect();
        let is_weighed = counts.iter().any(|row| row.weight.is_some());
        let mut people = PeopleTables { case, counts, ungrouped: Default::default(), is_weighed };
        people.ungrouped = people.rows(NO_GROUP, "").unwrap_or_default();
        people
    }

    fn counted<'s>(
        &'s self,
        set: &'s str,
        place: [&'s str; 3],
    ) -> impl Iterator<Item = &'a CountRow> + use<'s, 'a> {
        let own = self.counts.iter().copied();
        own.filter(move |row| row.key.counterfactual == *set && row.key.scope_and_groups() == place)
    }

    /// The rows of a group, or of none; none where the table does not say.
    fn rows(&self, scope: &str, group: &str) -> Option<RowsByCell> {
        let (mut all, class) = (None, &self.case.question.class);
        for row in self.counted("", [scope, group, ""]) {
            let [label, predicted] = [&row.label, &row.predicted].map(|text| answer(class, text));
            let state = 3 * label? + predicted?;
            all.get_or_insert(RowsByCell::default())[state] += WeighedRows::of(row)?;
        }
        all
    }

    /// The rows of a group; none where the table does not say.
    pub(super) fn rows_of(&self, group: &str) -> Option<RowsByCell> {
        self.rows("group", group)
    }

    /// The rows of one side of a gap: those of a group, or of all groups but the other, all of them
    /// where that has no name either.
    pub(super) fn side(&self, group: &str, other: &str) -> Option<RowsByCell> {
        if !group.is_empty() {
            return self.rows_of(group);
        }
        let mut all = RowsByCell::default();
        for group in self.counted_groups().into_iter().filter(|group| *group != other) {
            add(&mut all, &self.rows_of(group)?);
        }
        Some(all)
    }

    /// The counterfactuals of a direction, or of all of them in the scope of the total.
    pub(super) fn moved(&self, place: [&str; 3]) -> Option<RowsByCell> {
        let mut all = RowsByCell::default();
        for row in self.counted(&self.case.question.counterfactual, place) {
            all[cell_of(&self.case.question.class, row)?] += WeighedRows::of(row)?;
        }
        Some(all)
    }

    /// The row of the table of the population of a group under the model, or of those without one.
    pub(super) fn population(&self, group: Option<&str>) -> Option<&'a PopulationRow> {
        self.of_model().find(|row| row.group.as_deref() == group)
    }

    /// Whether the table of counts has no counterfactuals of the model but those of its set.
    pub(super) fn is_only_set(&self) -> bool {
        let GateCase { question, tables, .. } = self.case;
        let own = tables.counts.iter().filter(|row| row.key.model == question.model);
        let mut sets = own.map(|row| row.key.counterfactual.as_str()).filter(|set| !set.is_empty());
        sets.all(|set| set == question.counterfactual)
    }

    /// The row of the table of groups of a group under the model; none of an arm, which audits
    /// other people.
    pub(super) fn group_row(&self, group: &str) -> Option<&'a GroupRow> {
        let is_plain = self.case.question.arm.is_empty();
        self.case.groups().find(|row| is_plain && row.group == *group)
    }

    /// The rows of the table of the population under the model.
    fn of_model(&self) -> impl Iterator<Item = &'a PopulationRow> + use<'_, 'a> {
        let GateCase { question, observed, tables } = self.case;
        tables.population.iter().filter(|row| {
            row.is_of_model(&question.model) && row.sensitive == observed.row.key.sensitive
        })
    }

    /// Whether the table of counts holds everybody who has no score or no group according to the
    /// population. Arms have no population of their own.
    pub(super) fn counts_tell_all(&self) -> bool {
        let tells = |group: &&str| ScoredPeople::of(self, group, false).untold == 0;
        let others = self.population(None).filter(|_| self.case.question.arm.is_empty());
        let without_score: u64 = unscored(&self.ungrouped).iter().sum();
        self.counted_groups().iter().all(tells)
            && others.is_none_or(|row| without_score >= row.unscored())
            && (others.is_none() || self.untold_without_group() == 0)
    }

    /// The rows without a group, where only the table of the population has them. Where all of them
    /// have the weight 0 they count for nothing.
    pub(super) fn untold_without_group(&self) -> u64 {
        let GateCase { observed, tables, .. } = self.case;
        let mut audited = tables.population.iter().filter(|row| {
            row.is_of_rows()
                && row.state == AUDITED
                && row.sensitive == observed.row.key.sensitive
                && row.group.is_none()
        });
        let audited = audited.next();
        let is_weightless = audited.is_some_and(|row| row.weight == Some(0.0));
        let others = self.population(None).or(audited.filter(|_| !self.has_counts()));
        let is_told = self.ungrouped.iter().any(|rows| rows.n > 0);
        others.filter(|_| !is_told && !is_weightless).map_or(0, |row| unsigned(row.rows))
    }

    /// The rows of a group, by the table of counts, that lack a counterfactual with a score in the
    /// direction in which most do; none where counts do not say.
    pub(super) fn untested(&self, from: &str) -> Option<u64> {
        // For amounts above a number only the rows as they are are counted.
        self.counts.iter().find(|row| !row.key.counterfactual.is_empty())?;
        let own: u64 = numbers(&self.rows_of(from)?).iter().sum();
        let mut most = 0;
        for to in self.groups().into_iter().filter(|to| *to != from) {
            let repeats = self.repeats(from, to);
            let moved: u64 = numbers(&self.moved(["direction", from, to])?).iter().sum();
            most = (own * repeats).saturating_sub(moved).div_ceil(repeats).max(most);
        }
        Some(most)
    }

    /// The value that the table of metrics has: of a change that of the later run.
    pub(super) fn value(&self) -> Option<f64> {
        let observed = self.case.observed;
        let value = observed.row.value?;
        if observed.is_change { Some(value + observed.baseline?) } else { Some(value) }
    }

    /// The groups of the table of counts.
    pub(super) fn counted_groups(&self) -> Vec<&'a str> {
        let is_of_rows =
            |row: &&&CountRow| row.key.counterfactual.is_empty() && row.key.scope == "group";
        let own = self.counts.iter().filter(is_of_rows).map(|row| row.key.from_group.as_str());
        own.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The declared groups: those of the table of counts, else of the population.
    pub(super) fn groups(&self) -> Vec<&'a str> {
        match self.counted_groups() {
            none if none.is_empty() => self
                .of_model()
                .filter(|row| row.declared)
                .filter_map(|row| row.group.as_deref())
                .collect(),
            groups => groups,
        }
    }

    /// The groups whose people a value is of.
    pub(super) fn own_groups(&self) -> Vec<&'a str> {
        let GateCase { question, observed, .. } = self.case;
        let moves = question.counted.is_some() || !question.counterfactual.is_empty();
        match (observed.place(), moves) {
            ([_, "", _], _) => self.groups(),
            (["group", from, _], _) | (["direction", from, _], true) => vec![from],
            (["pair" | "difference" | "direction", from, to], _) => vec![from, to],
            _ => self.groups(),
        }
    }

    /// How many independent people are as precise as one row in the denominator of a rate, by the
    /// table of metrics: 1 where each row is a person who counts as one.
    pub(super) fn precision(&self, metric: &str, place: [&str; 3]) -> Option<f64> {
        let row = self.case.row(metric, place);
        match row.and_then(|row| row.n_eff.zip(row.denominator)) {
            Some((people, below)) if below > 0 => Some(people / below as f64),
            _ if self.is_weighed || row.is_some_and(|row| row.n_persons.is_some()) => None,
            _ => Some(1.0),
        }
    }

    /// Whether rows need not be as precise as each other: people have weights, or several rows.
    pub(super) fn are_unequal(&self) -> bool {
        self.is_weighed || self.case.observed.row.n_persons.is_some()
    }

    /// How often a row counts in a direction: a row may have several counterfactuals there.
    pub(super) fn repeats(&self, from: &str, to: &str) -> u64 {
        let row = self.case.row(SWITCH_RATE, ["direction", from, to]);
        let cases = row.and_then(|row| Some([row.denominator?, row.n_rows]));
        match cases.map(|cases| cases.map(u64::try_from)) {
            Some([Ok(cases), Ok(rows)]) => cases.div_ceil(rows.max(1)).max(1),
            _ => 1,
        }
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
        !self.case.question.class.is_empty() || !self.counted_groups().is_empty()
    }
}

/// People of a group by label, unknown, no or yes: those who have what a value needs, and those
/// without a score.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ScoredPeople {
    pub(super) known: [u64; 3],
    pub(super) lacking: [u64; 3],
    /// Those without a score who are only in the table `population`, without their labels.
    pub(super) untold: u64,
}

impl ScoredPeople {
    pub(super) fn of(people: &PeopleTables<'_>, group: &str, needs_label: bool) -> Self {
        let row = people.population(Some(group));
        let mut found = ScoredPeople::default();
        if let Some(rows) = people.rows_of(group) {
            (found.known, found.lacking) = (by_label(&rows), unscored(&rows));
            (0..3).for_each(|label| found.known[label] -= found.lacking[label]);
        } else if let Some(row) = row {
            let unlabelled = row.without_label.filter(|_| needs_label);
            let others = row.unscored() + unsigned(unlabelled.unwrap_or(0));
            found.known[0] = unsigned(row.rows).saturating_sub(others);
        }
        let told: u64 = found.lacking.iter().sum();
        // Arms audit other people than those in the table `population`.
        let row = row.filter(|_| people.case.question.arm.is_empty() || !people.has_counts());
        found.untold = row.map_or(0, PopulationRow::unscored).saturating_sub(told);
        found
    }
}
