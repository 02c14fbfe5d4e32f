//! All tables, in the order of `cfaudit schema tables`.

use std::collections::BTreeMap;

use crate::table::recourse::{
    ActionRow, AggregatedRankingRow, ComparativeRow, EcdRow, RankingRow, RecourseColumnRow,
    RecourseRow, SubgroupRow,
};
use crate::table::why::{SwitchFeatureRow, SwitchPatternRow};
use crate::table::{
    AmountRow, ArmFoldRow, ArmRow, CfDistributionRow, CfExampleRow, CfFeatureRow, CfMapRow,
    CfQualityRow, ChangeRow, ComparisonRow, CountRow, CurveRow, EdgeRow, FilterRow, GateRow,
    GraphRow, GroupRow, HiddenCauseRow, HistoryRow, IssueRow, KnowledgeFitRow, MetricRow,
    ModelContractRow, NeededKnowledgeRow, NodeRow, OutcomeRow, PopulationRow, ReliabilityRow,
    ScoreShiftRow, SelectedRow, SubgraphRow, SupportCountRow, SupportRow, TableDef, TableRow,
    ThresholdRow, TransitionRow, UnknownLevelRow, WorldPeopleRow, WorldRow, WorldScoreRow,
};

/// All tables, in the order in which they are printed.
pub const TABLES: &[&TableDef] = &[
    MetricRow::TABLE,
    CountRow::TABLE,
    ScoreShiftRow::TABLE,
    GroupRow::TABLE,
    PopulationRow::TABLE,
    SupportRow::TABLE,
    SupportCountRow::TABLE,
    AmountRow::TABLE,
    ReliabilityRow::TABLE,
    CurveRow::TABLE,
    CfQualityRow::TABLE,
    CfFeatureRow::TABLE,
    CfDistributionRow::TABLE,
    CfMapRow::TABLE,
    CfExampleRow::TABLE,
    ComparisonRow::TABLE,
    ThresholdRow::TABLE,
    ModelContractRow::TABLE,
    UnknownLevelRow::TABLE,
    WorldRow::TABLE,
    WorldPeopleRow::TABLE,
    EdgeRow::TABLE,
    NodeRow::TABLE,
    GraphRow::TABLE,
    SubgraphRow::TABLE,
    KnowledgeFitRow::TABLE,
    NeededKnowledgeRow::TABLE,
    HiddenCauseRow::TABLE,
    TransitionRow::TABLE,
    ArmRow::TABLE,
    ArmFoldRow::TABLE,
    ChangeRow::TABLE,
    RecourseRow::TABLE,
    RecourseColumnRow::TABLE,
    SubgroupRow::TABLE,
    ActionRow::TABLE,
    EcdRow::TABLE,
    ComparativeRow::TABLE,
    RankingRow::TABLE,
    AggregatedRankingRow::TABLE,
    SwitchPatternRow::TABLE,
    SwitchFeatureRow::TABLE,
    GateRow::TABLE,
    HistoryRow::TABLE,
    FilterRow::TABLE,
    IssueRow::TABLE,
    OutcomeRow::TABLE,
    WorldScoreRow::TABLE,
    SelectedRow::TABLE,
];

/// The version of each table by name, as the manifest of a folder has them.
pub(crate) fn versions() -> BTreeMap<String, u32> {
    TABLES.iter().map(|table| (table.name.to_owned(), table.version)).collect()
}
