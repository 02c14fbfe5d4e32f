//! The survey of some rows, and which rows these are. The meaning of codes is known only after all
//! rows are surveyed.

use serde::{Deserialize, Serialize};

use crate::data::prepare::row_id::IdRun;
use crate::data::prepare::survey::SourceSurvey;
use crate::data::rows::role_counts::RoleCounts;
use crate::exec::accumulator::Accumulator;
use crate::num::additive::Additive;

/// Rows of the source that follow each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SurveyedRange {
    /// Number of the first one.
    pub(crate) first_row: u64,
    /// How many they are.
    pub(crate) rows: u64,
    /// The roles of those that are kept, as far as each row has its own; where ranks decide, all
    /// count as audited.
    pub(crate) roles: RoleCounts,
    /// The ids of the kept ones; without row ids those of no row.
    pub(crate) ids: IdRun,
}

/// What was seen of some rows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SurveyedRows {
    /// The values that occur.
    pub(crate) survey: SourceSurvey,
    /// Which rows, in their order.
    ranges: Vec<SurveyedRange>,
}

impl SurveyedRows {
    /// The survey of rows that follow each other.
    pub(crate) fn new(survey: SourceSurvey, range: SurveyedRange) -> Self {
        // A shard may have no rows, and then no position either.
        let ranges = if range.rows > 0 { vec![range] } else { Vec::new() };
        SurveyedRows { survey, ranges }
    }

    /// Whether the ids rise from row to row, through all ranges.
    pub(crate) fn ids_rise(&self) -> bool {
        let mut all = IdRun::default();
        self.ranges.iter().for_each(|range| all.append(range.ids.clone()));
        all.rises()
    }

    /// The roles of all rows.
    pub(crate) fn roles(&self) -> RoleCounts {
        let mut all = RoleCounts::default();
        self.ranges.iter().for_each(|range| all.absorb(&range.roles));
        all
    }

    /// Number of the first row; 0 where there is none.
    pub(crate) fn first_row(&self) -> u64 {
        self.ranges.first().map_or(0, |range| range.first_row)
    }
}

impl Accumulator for SurveyedRows {
    fn merge(&mut self, other: Self) {
        self.survey.merge(other.survey);
        self.ranges.extend(other.ranges);
        self.ranges.sort_by_key(|range| range.first_row);
    }

    fn settle(&mut self) {
        self.survey.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::tests::state_laws::SampleState;

    impl SampleState for SurveyedRows {
        fn sample(variant: u64) -> Self {
            SurveyedRows { survey: SourceSurvey::sample(variant), ranges: Vec::new() }
        }

        fn add_sample(&mut self, row: u64) {
            let mut survey = SourceSurvey::sample(0);
            survey.add_sample(row);
            self.merge(SurveyedRows::new(
                survey,
                range(row, row % 2, (row * 7 % 11).cast_signed()),
            ));
        }
    }

    fn range(first_row: u64, audited: u64, id: i64) -> SurveyedRange {
        let roles = RoleCounts { audited, trained: 1 - audited };
        SurveyedRange { first_row, rows: 1, roles, ids: IdRun::of([id].into_iter()) }
    }

    #[test]
    fn shards_in_any_order_are_put_in_that_of_the_rows() {
        let of = |ranges: &[SurveyedRange]| {
            let mut all = SurveyedRows::default();
            for range in ranges {
                all.merge(SurveyedRows::new(SourceSurvey::default(), range.clone()));
            }
            all
        };
        let rising = of(&[range(2, 1, 9), range(0, 1, 3), range(1, 0, 4)]);
        assert!(rising.ids_rise());
        assert_eq!(rising.roles(), RoleCounts { audited: 2, trained: 1 });
        let n_rows: u64 = rising.ranges.iter().map(|range| range.rows).sum();
        assert_eq!((rising.first_row(), n_rows), (0, 3));
        assert!(!of(&[range(0, 1, 3), range(1, 1, 3)]).ids_rise());
        assert!(!of(&[range(0, 1, 3), range(1, 1, 2)]).ids_rise());
    }
}
