//! All tables, in the order of docs/tables.md.

use crate::table::recourse::{
    ActionRow, AggregatedRankingRow, ComparativeRow, EcdRow, RankingRow, RecourseColumnRow,
    RecourseRow, SubgroupRow,
};
use crate::table::why::{SwitchFeatureRow, SwitchPatternRow};
use crate::table::{
    AmountRow, ArmFoldRow, ArmRow, CfDistributionRow, CfExampleRow, CfFeatureRow, CfQualityRow,
    ChangeRow, ComparisonRow, CountRow, CurveRow, EdgeRow, FilterRow, GateRow, GraphRow, GroupRow,
    HistoryRow, IssueRow, MetricRow, NodeRow, OutcomeRow, PopulationRow, ReliabilityRow,
    ScoreShiftRow, SelectedRow, SubgraphRow, TableDef, TableRow, ThresholdRow, TransitionRow,
    WorldPeopleRow, WorldRow,
};

/// All tables, in the order of the documentation.
pub const TABLES: &[&TableDef] = &[
    MetricRow::TABLE,
    CountRow::TABLE,
    ScoreShiftRow::TABLE,
    GroupRow::TABLE,
    PopulationRow::TABLE,
    AmountRow::TABLE,
    ReliabilityRow::TABLE,
    CurveRow::TABLE,
    CfQualityRow::TABLE,
    CfFeatureRow::TABLE,
    CfDistributionRow::TABLE,
    CfExampleRow::TABLE,
    ComparisonRow::TABLE,
    ThresholdRow::TABLE,
    WorldRow::TABLE,
    WorldPeopleRow::TABLE,
    EdgeRow::TABLE,
    NodeRow::TABLE,
    GraphRow::TABLE,
    SubgraphRow::TABLE,
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
    SelectedRow::TABLE,
];
