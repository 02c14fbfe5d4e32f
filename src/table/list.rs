//! All tables, in the order of `cfaudit schema tables`, and the types of their rows.

use std::collections::BTreeMap;

use crate::table::{TableDef, TableRow};

/// Makes the list, and the rows of its tables public.
macro_rules! listed {
    ($($subject:ident::$row:ident,)+) => {
        $(pub use super::$subject::$row;)+

        /// All tables, in the order in which they are printed.
        pub const TABLES: &[&TableDef] = &[$($row::TABLE),+];
    };
}

listed! {
    metrics::MetricRow, counts::CountRow, counts::ScoreShiftRow, groups::GroupRow,
    population::PopulationRow, support::SupportRow, support::SupportCountRow, scores::AmountRow,
    scores::ReliabilityRow, scores::CurveRow, quality::CfQualityRow, quality::CfFeatureRow,
    quality::CfDistributionRow, quality::CfMapRow, quality::CfExampleRow,
    comparisons::ComparisonRow, groups::ThresholdRow, contracts::ModelContractRow,
    contracts::UnknownLevelRow, graphs::WorldRow, graphs::WorldPeopleRow, graphs::EdgeRow,
    graphs::NodeRow, graphs::GraphRow, graphs::SubgraphRow, graphs::KnowledgeFitRow,
    graphs::NeededKnowledgeRow, hidden_cause::HiddenCauseRow, counts::TransitionRow,
    experiments::ArmRow, experiments::ArmFoldRow, changes::ChangeRow, recourse::RecourseRow,
    recourse::RecourseColumnRow, recourse::SubgroupRow, recourse::ActionRow, recourse::EcdRow,
    recourse::ComparativeRow, recourse::RankingRow, recourse::AggregatedRankingRow,
    why::SwitchPatternRow, why::SwitchFeatureRow, gates::GateRow, changes::HistoryRow,
    issues::FilterRow, issues::IssueRow, outcomes::OutcomeRow, outcomes::WorldScoreRow,
    experiments::SelectedRow,
}

/// The version of each table by name, as the manifest of a folder has them.
pub(crate) fn versions() -> BTreeMap<String, u32> {
    TABLES.iter().map(|table| (table.name.to_owned(), table.version)).collect()
}
