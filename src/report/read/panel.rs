//! The keys of values, the contents of rows of the table `metrics`, and a panel of the page: the
//! values of one attribute, set and model.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::folder::manifest::WrittenValue;
use crate::metric::evidence::flip_test::FlipSearch;
use crate::metric::value::settings::SMALL;
use crate::report::read::grouped::grouped;
use crate::report::read::tally::WeightedCount;
use crate::table::deciding_range::DecidingRange;
use crate::table::{
    AuditKey, ComparisonRow, CountRow, CurveRow, GateRow, HistoryRow, MetricRow, ScoreShiftRow,
    SharedText, TransitionRow, has_flag,
};

/// What a value belongs to: whose decisions, of which people. In order the plain audit of all rows
/// and classes comes first, then its classes, its slices, the arms.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(crate) struct ResultKey {
    /// Experiment and arm; empty for the plain audit.
    pub(crate) arm: String,
    /// The slice; empty = all rows.
    pub(crate) slice: String,
    /// The class against all others; empty = all, and a label of two sides.
    pub(crate) class: String,
    /// The model.
    pub(crate) model: String,
    /// The counterfactual set; empty where none is involved.
    pub(crate) set: String,
    /// The sensitive attribute.
    pub(crate) attribute: String,
    /// group, total, pair, one_vs_rest, worst_case, direction, difference, one_to_rest or
    /// rest_to_one.
    pub(crate) scope: String,
    /// First or factual group.
    pub(crate) from: String,
    /// Second or counterfactual group.
    pub(crate) to: String,
}

impl ResultKey {
    /// The key of a value of a model, set and attribute in the plain audit.
    pub(crate) fn new(
        [model, set, attribute]: [&str; 3],
        scope: &str,
        [from, to]: [&str; 2],
    ) -> Self {
        let [model, set, attribute, scope, from, to] =
            [model, set, attribute, scope, from, to].map(str::to_owned);
        ResultKey { model, set, attribute, scope, from, to, ..ResultKey::default() }
    }

    /// This key in an arm.
    pub(crate) fn in_arm(&self, arm: &str) -> Self {
        ResultKey { arm: arm.to_owned(), ..self.clone() }
    }

    /// This key for a class against all others.
    pub(crate) fn of_class(&self, class: &str) -> Self {
        ResultKey { class: class.to_owned(), ..self.clone() }
    }

    /// Whether it is about all rows and classes.
    pub(crate) fn is_plain(&self) -> bool {
        self.slice.is_empty() && self.class.is_empty()
    }

    /// Whether it is about this model, set and attribute.
    pub(crate) fn is_about(&self, of: [&str; 3]) -> bool {
        [self.model.as_str(), &self.set, &self.attribute] == of
    }
}

/// The values of a key by metric.
pub(crate) type MetricValues = BTreeMap<SharedText, MetricRow>;

/// Counterfactuals by label (0: none, 1: negative, 2: positive), factual and counterfactual
/// prediction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct EccmTallies(pub(crate) [[[WeightedCount; 2]; 2]; 3]);

impl EccmTallies {
    /// Over all labels.
    pub(crate) fn all(&self) -> [[WeightedCount; 2]; 2] {
        let mut sum = [[WeightedCount::default(); 2]; 2];
        for label in &self.0 {
            for (f, row) in label.iter().enumerate() {
                for (c, tally) in row.iter().enumerate() {
                    sum[f][c] = sum[f][c].plus(*tally);
                }
            }
        }
        sum
    }

    /// Whether labels are known.
    pub(crate) fn labelled(&self) -> bool {
        self.0[1..].iter().flatten().flatten().any(|tally| tally.n > 0)
    }
}

/// All that the page shows of one attribute, set and model.
#[derive(Debug, Clone)]
pub(crate) struct AuditPanel {
    /// Number on the page, for anchors.
    pub(crate) id: usize,
    /// The attribute.
    pub(crate) attribute: String,
    /// The set.
    pub(crate) set: String,
    /// Its strategy; empty where the manifest does not know the set.
    pub(crate) strategy: String,
    /// What represents the groups of a derived attribute in the rows that models saw.
    pub(crate) written: Vec<WrittenValue>,
    /// The model.
    pub(crate) model: String,
    /// Its groups: the reference first, then as declared.
    pub(crate) groups: Vec<String>,
    /// The keys of all directions by switch rate, worst first.
    pub(crate) directions: Vec<ResultKey>,
    /// How many of them are drawn; 0 where the page has no room for this panel.
    pub(crate) drawn: usize,
    /// Whether nothing switches in any direction.
    pub(crate) still: bool,
}

impl AuditPanel {
    /// The columns that a direction writes to, and the values written to each, the most frequent
    /// first.
    pub(crate) fn written_in(&self, from: &str, to: &str) -> Vec<(&str, Vec<&WrittenValue>)> {
        let mine = self.written.iter().filter(|w| w.from_group == from && w.to_group == to);
        let mut columns = grouped(mine.map(|w| (w.column.as_str(), w)));
        columns.iter_mut().for_each(|(_, values)| values.sort_by_key(|w| Reverse(w.n)));
        columns
    }

    fn key(&self, scope: &str, from: &str, to: &str) -> ResultKey {
        ResultKey::new([&self.model, &self.set, &self.attribute], scope, [from, to])
    }

    /// The key of the direction from one group to another.
    pub(crate) fn direction(&self, from: &str, to: &str) -> ResultKey {
        self.key("direction", from, to)
    }

    /// The key over all its directions.
    pub(crate) fn total(&self) -> ResultKey {
        self.key("total", "", "")
    }

    /// The key of a group's people as members of all other groups.
    pub(crate) fn one_to_rest(&self, group: &str) -> ResultKey {
        self.key("one_to_rest", group, "")
    }

    /// The key of the people of all other groups as members of one.
    pub(crate) fn rest_to_one(&self, group: &str) -> ResultKey {
        self.key("rest_to_one", "", group)
    }

    /// The key of the difference of the directions between two groups.
    pub(crate) fn difference(&self, from: &str, to: &str) -> ResultKey {
        self.key("difference", from, to)
    }
}

impl From<&AuditKey> for ResultKey {
    fn from(audit: &AuditKey) -> Self {
        ResultKey {
            arm: audit.arm.to_string(),
            slice: audit.slice.to_string(),
            class: String::new(),
            model: audit.model.to_string(),
            set: audit.counterfactual.to_string(),
            attribute: audit.sensitive.to_string(),
            scope: audit.scope.to_string(),
            from: audit.from_group.to_string(),
            to: audit.to_group.to_string(),
        }
    }
}

/// A row of a table of values or counts.
pub(crate) trait KeyedRow {
    /// Whose numbers it holds.
    fn audit(&self) -> Cow<'_, AuditKey>;

    /// The class against all others; empty where a row is about none.
    fn class(&self) -> &str {
        ""
    }

    /// What it belongs to.
    fn key(&self) -> ResultKey {
        ResultKey::from(self.audit().as_ref()).of_class(self.class())
    }
}

macro_rules! keyed_rows {
    ($($row:ident $(by $audit_key:ident)? $(of $class:ident)?),+) => {
        $(
            impl KeyedRow for $row {
                fn audit(&self) -> Cow<'_, AuditKey> {
                    keyed_rows!(@key self $($audit_key)?)
                }

                $(fn class(&self) -> &str {
                    &self.$class
                })?
            }
        )+
    };
    (@key $row:ident $audit_key:ident) => { Cow::Owned($row.$audit_key()) };
    (@key $row:ident) => { Cow::Borrowed(&$row.key) };
}
keyed_rows!(
    MetricRow of class, CountRow, ScoreShiftRow of class, TransitionRow, CurveRow of class,
    ComparisonRow by audit_key of class, GateRow by audit_key of class, HistoryRow by audit_key of class
);

/// The changes of an arm that other trainings of the model give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TrainingChanges {
    /// The model is not trained again.
    NotAsked,
    /// It is, and too few of the trainings give the change.
    TooFew,
    /// From the lowest to the highest.
    Range((f64, f64)),
}

impl TrainingChanges {
    /// What a comparison says about them.
    pub(crate) fn of(row: &ComparisonRow) -> Self {
        match (row.training_repeats, row.training_lo.zip(row.training_hi)) {
            (_, Some(ends)) => TrainingChanges::Range(ends),
            (Some(_), None) => TrainingChanges::TooFew,
            (None, None) => TrainingChanges::NotAsked,
        }
    }

    /// These changes with other ends.
    pub(crate) fn map(self, ends: impl Fn((f64, f64)) -> (f64, f64)) -> Self {
        match self {
            TrainingChanges::Range(range) => TrainingChanges::Range(ends(range)),
            other => other,
        }
    }
}

/// Whether an interval leaves out zero.
pub(crate) fn is_clear_of_zero((lo, hi): (f64, f64)) -> bool {
    lo > 0.0 || hi < 0.0
}

/// Whether a change of an arm leaves out zero: its interval, and where the model is trained again
/// the changes of these trainings on the same side. If too few of them give the change, that is not
/// known, and the change is not clear.
pub(crate) fn is_clear_change(interval: Option<(f64, f64)>, trainings: TrainingChanges) -> bool {
    let sides = |(lo, hi): (f64, f64)| (lo > 0.0, hi < 0.0);
    let agrees = |ends| match trainings {
        TrainingChanges::NotAsked => true,
        TrainingChanges::TooFew => false,
        TrainingChanges::Range(range) => sides(range) == sides(ends),
    };
    interval.is_some_and(|ends| is_clear_of_zero(ends) && agrees(ends))
}

/// The plain audit over all rows; slices have pages of their own.
pub(crate) fn is_plain_audit(row: &&impl KeyedRow) -> bool {
    let audit = row.audit();
    audit.arm.is_empty() && audit.slice.is_empty()
}

impl MetricRow {
    /// Count on top and count below.
    pub(crate) fn counts(&self) -> Option<(i64, i64)> {
        self.numerator.zip(self.denominator)
    }

    /// The interval over people.
    pub(crate) fn ends(&self) -> Option<(f64, f64)> {
        self.lo.zip(self.hi)
    }

    /// Whether it is a weighted share.
    pub(crate) fn is_weighted(&self) -> bool {
        self.weight_numerator.is_some() && self.weight_denominator.is_some()
    }

    /// How the value of a flip test was found; none of other metrics.
    pub(crate) fn flips(&self) -> Option<FlipSearch> {
        serde_json::from_str(&self.args).ok()
    }

    /// The values of the placebo; none where no placebo was asked for or its repeats give no value.
    pub(crate) fn placebo(&self) -> Option<(f64, f64)> {
        self.placebo_lo.zip(self.placebo_hi)
    }

    /// What causal graphs give; none of a single graph, and where there are none.
    pub(crate) fn over_graphs(&self) -> Option<(f64, f64)> {
        self.world_lo.zip(self.world_hi)
    }

    /// What other rows to learn from give; none where the set was not fitted again.
    pub(crate) fn over_fits(&self) -> Option<(f64, f64)> {
        self.fit_lo.zip(self.fit_hi)
    }

    /// What other trainings of the model give; none where it was not trained again.
    pub(crate) fn over_trainings(&self) -> Option<(f64, f64)> {
        self.training_lo.zip(self.training_hi)
    }

    /// Whether the tables flag it as based on few cases.
    pub(crate) fn is_small(&self) -> bool {
        SMALL.iter().any(|flag| has_flag(&self.flags, flag))
    }

    /// The interval of the doubt next to people, and what it is over; none where there is none. If
    /// there are several, that of graphs, else the wider of fits and trainings.
    pub(crate) fn second(&self) -> Option<((f64, f64), DecidingRange)> {
        let [graphs, fits, trainings] = self.doubts();
        let width = |of: &((f64, f64), DecidingRange)| of.0.1 - of.0.0;
        let wider = match (fits, trainings) {
            (Some(fits), Some(trainings)) if width(&fits) < width(&trainings) => Some(trainings),
            _ => fits.or(trainings),
        };
        graphs.or(wider)
    }

    /// The intervals of all doubts next to people: graphs, fits and trainings.
    pub(crate) fn doubts(&self) -> [Option<((f64, f64), DecidingRange)>; 3] {
        [
            self.over_graphs().map(|ends| (ends, DecidingRange::GRAPHS)),
            self.over_fits().map(|ends| (ends, DecidingRange::FITS)),
            self.over_trainings().map(|ends| (ends, DecidingRange::TRAININGS)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::{TrainingChanges, is_clear_change};
    use crate::table::ComparisonRow;

    #[test]
    fn a_change_is_clear_only_where_trainings_agree() {
        let people = Some((0.01, 0.03));
        let of = |repeats: Option<i64>, ends: Option<(f64, f64)>| {
            TrainingChanges::of(&ComparisonRow {
                training_repeats: repeats,
                training_lo: ends.map(|ends| ends.0),
                training_hi: ends.map(|ends| ends.1),
                ..ComparisonRow::default()
            })
        };
        assert!(is_clear_change(people, of(None, None)), "the model is not trained again");
        assert!(is_clear_change(people, of(Some(5), Some((0.001, 0.04)))));
        assert!(!is_clear_change(people, of(Some(5), Some((-0.001, 0.04)))));
        assert!(!is_clear_change(people, of(Some(5), Some((-0.04, -0.001)))), "another side");
        assert!(!is_clear_change(people, of(Some(3), None)), "too few trainings give it");
        assert!(!is_clear_change(Some((-0.01, 0.03)), of(None, None)));
        assert!(!is_clear_change(None, of(Some(5), Some((0.001, 0.04)))));
    }
}
