//! A panel of the page: the values of one attribute, set and model.

use std::borrow::Cow;
use std::cmp::Reverse;

use serde::Serialize;

use crate::folder::manifest::WrittenValue;
use crate::metric::evidence::flip_test::FlipSearch;
use crate::metric::value::settings::SMALL;
use crate::report::read::grouped::grouped;
use crate::report::read::tally::WeightedCount;
use crate::table::deciding_range::DecidingRange;
use crate::table::{
    AuditKey, ComparisonRow, CountRow, CurveRow, GateRow, HistoryRow, MetricRow, ScoreShiftRow,
    TransitionRow, has_flag,
};

/// What a value belongs to: model, set, attribute, scope and groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct ResultKey {
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
    /// The key of a value of a model, set and attribute.
    pub(crate) fn new(
        [model, set, attribute]: [&str; 3],
        scope: &str,
        [from, to]: [&str; 2],
    ) -> Self {
        let [model, set, attribute, scope, from, to] =
            [model, set, attribute, scope, from, to].map(str::to_owned);
        ResultKey { model, set, attribute, scope, from, to }
    }

    /// Whether it is about this model, set and attribute.
    pub(crate) fn is_about(&self, of: [&str; 3]) -> bool {
        [self.model.as_str(), &self.set, &self.attribute] == of
    }
}

/// One value of `metrics`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ReportedValue {
    /// The family.
    pub(crate) family: String,
    /// The value; none where undefined.
    pub(crate) value: Option<f64>,
    /// Why it is undefined.
    pub(crate) undefined: String,
    /// Count on top and count below.
    pub(crate) counts: Option<(i64, i64)>,
    /// What these weigh; none where the job has no weights.
    pub(crate) weights: Option<(f64, f64)>,
    /// Effective number of cases below a rate; none where each row is a case that counts as one.
    pub(crate) effective: Option<f64>,
    /// People behind it.
    pub(crate) n_rows: i64,
    /// The interval.
    pub(crate) interval: Option<(f64, f64)>,
    /// Its level.
    pub(crate) level: Option<f64>,
    /// Its method; empty where there is none.
    pub(crate) method: String,
    /// How the value of a flip test was found; none of other metrics.
    pub(crate) flips: Option<FlipSearch>,
    /// What noise gives; none where no placebo was asked for or its repeats give no value.
    pub(crate) placebo: Option<(f64, f64)>,
    /// What causal graphs say about it; none where there are none.
    pub(crate) across: Option<GraphSpread>,
    /// What other rows to learn from give; none where the set was not fitted again.
    pub(crate) fit: Option<(f64, f64)>,
    /// What other trainings of the model give; none where it was not trained again.
    pub(crate) training: Option<(f64, f64)>,
    /// Whether the model was trained again, even if too few of the trainings give a value.
    pub(crate) is_trained_again: bool,
    /// Repeats of the placebo; none where no placebo was asked for.
    pub(crate) repeats: Option<i64>,
    /// Whether the tables flag it as resting on few cases.
    pub(crate) small: bool,
    /// The group at a disadvantage.
    pub(crate) impaired: String,
    /// Of the groups that are furthest apart the highest, or the one furthest from all; empty
    /// elsewhere.
    pub(crate) highest: String,
    /// Of the groups that are furthest apart the lowest; empty elsewhere.
    pub(crate) lowest: String,
    /// Groups that do not take part in it for lack of a value; none elsewhere.
    pub(crate) without: Option<i64>,
}

/// A value over causal graphs.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct GraphSpread {
    /// Percentiles; none of a single graph.
    pub(crate) ends: Option<(f64, f64)>,
    /// Level of the percentiles.
    pub(crate) level: Option<f64>,
    /// Those of other graphs, coefficients apart; none as `ends`, or in part of the graphs
    /// undefined.
    pub(crate) between: Option<(f64, f64)>,
    /// Those of refits of the coefficients, graphs apart; none as `between`, and of one bootstrap.
    pub(crate) within: Option<(f64, f64)>,
    /// Variances of the two; none as their percentiles.
    pub(crate) variances: [Option<f64>; 2],
    /// The mean in which every bootstrap weighs the same.
    pub(crate) even: Option<f64>,
    /// Graphs in which it is undefined.
    pub(crate) n_undefined: i64,
    /// Cases below a rate, where they are the same in all graphs.
    pub(crate) whole: Option<i64>,
}

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

/// A direction and its place in its panel, worst first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PanelDirection {
    /// The factual group.
    pub(crate) from: String,
    /// The counterfactual group.
    pub(crate) to: String,
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
    /// All directions by switch rate, worst first.
    pub(crate) directions: Vec<PanelDirection>,
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

    /// The key of one of its directions.
    pub(crate) fn direction(&self, direction: &PanelDirection) -> ResultKey {
        self.key("direction", &direction.from, &direction.to)
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

    /// What it belongs to.
    fn key(&self) -> ResultKey {
        self.audit().as_ref().into()
    }

    /// Whether it is of an arm, or of the plain audit, over all rows: slices have pages of their
    /// own.
    fn is_of_arm(&self, arm: &str) -> bool {
        let audit = self.audit();
        audit.arm == *arm && audit.slice.is_empty()
    }
}

macro_rules! keyed_rows {
    ($($row:ident $(by $audit_key:ident)?),+) => {
        $(
            impl KeyedRow for $row {
                fn audit(&self) -> Cow<'_, AuditKey> {
                    keyed_rows!(@key self $($audit_key)?)
                }
            }
        )+
    };
    (@key $row:ident $audit_key:ident) => { Cow::Owned($row.$audit_key()) };
    (@key $row:ident) => { Cow::Borrowed(&$row.key) };
}

keyed_rows!(
    MetricRow, CountRow, ScoreShiftRow, TransitionRow, CurveRow, ComparisonRow by audit_key,
    GateRow by audit_key, HistoryRow by audit_key
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

    /// The same with other ends.
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
/// the changes of these trainings on the same side. Where too few of them give the change, nobody
/// knows that, and the change is not clear.
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
    row.is_of_arm("")
}

impl ReportedValue {
    /// The interval of the doubt next to people, and what it is over; none where there is none. Of
    /// several that of graphs, else the wider of fits and trainings.
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
        let graphs = self.across.as_ref().and_then(|across| across.ends);
        [
            graphs.map(|ends| (ends, DecidingRange::GRAPHS)),
            self.fit.map(|ends| (ends, DecidingRange::FITS)),
            self.training.map(|ends| (ends, DecidingRange::TRAININGS)),
        ]
    }
}

pub(crate) fn measure(row: &MetricRow) -> ReportedValue {
    ReportedValue {
        family: row.family.to_string(),
        value: row.value.filter(|v| v.is_finite()),
        undefined: row.undefined.to_string(),
        counts: row.numerator.zip(row.denominator),
        weights: row.weight_numerator.zip(row.weight_denominator),
        effective: row.n_eff,
        n_rows: row.n_rows,
        interval: row.lo.zip(row.hi),
        level: row.level,
        method: row.interval.to_string(),
        placebo: row.placebo_lo.zip(row.placebo_hi),
        across: row.n_worlds.map(|_| GraphSpread {
            ends: row.world_lo.zip(row.world_hi),
            level: row.world_level,
            between: row.between_lo.zip(row.between_hi),
            within: row.within_lo.zip(row.within_hi),
            variances: [row.between_var, row.within_var],
            even: row.world_even,
            n_undefined: row.n_worlds_undefined.unwrap_or(0),
            whole: row.denominator,
        }),
        fit: row.fit_lo.zip(row.fit_hi),
        training: row.training_lo.zip(row.training_hi),
        is_trained_again: row.training_repeats.is_some(),
        repeats: row.placebo_repeats,
        small: SMALL.iter().any(|flag| has_flag(&row.flags, flag)),
        impaired: row.impaired_group.to_string(),
        flips: serde_json::from_str(&row.args).ok(),
        highest: row.highest_group.to_string(),
        lowest: row.lowest_group.to_string(),
        without: row.groups_undefined,
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
