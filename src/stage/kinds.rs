//! The stages as types, in the order of a run: what [`StageBuilder::need`] names.
//!
//! Each is planned in the file of its work; its readers need only this type.
//!
//! [`StageBuilder::need`]: crate::stage::stage_builder::StageBuilder::need

/// Rows that are not Parquet, as Parquet.
pub(crate) struct SourceStage;

/// Rows that strategies learn from, where they are in a separate file.
pub(crate) struct ReferenceStage;

/// The rows of a shard as numbers, and the values that occur in them.
pub(crate) struct SurveyStage;

/// Rows as numbers.
pub(crate) struct PrepareStage;

/// Which rows train and which are audited.
pub(crate) struct SplitStage;

/// In which state each row of the source is, by group.
pub(crate) struct PopulationStage;

/// Counts the rows before any model has run.
pub(crate) struct LabelStage;

/// The causal graphs of all scenarios of a set.
pub(crate) struct DiscoverStage;

/// The models of all folds, or those of an arm.
pub(crate) struct TrainStage;

/// What a strategy learnt.
pub(crate) struct FitStage;

/// The counterfactuals that a program of the user's makes.
pub(crate) struct ExternalStage;

/// The reference rows by group and value.
pub(crate) struct SupportStage;

/// Counterfactuals.
pub(crate) struct GenerateStage;

/// The counterfactuals of a set in the user's own ids and values.
pub(crate) struct KeptRowsStage;

/// Which rows a file of scores answers.
pub(crate) struct RequestStage;

/// What a model that is trained elsewhere gets and gives.
pub(crate) struct ContractStage;

/// Values of audited rows that a model does not know.
pub(crate) struct LevelsStage;

/// The thresholds of a model, fitted to its training rows.
pub(crate) struct ThresholdStage;

/// Scores of rows, or of the counterfactuals of a set.
pub(crate) struct ScoreStage;

/// What a model says in every world of a graph-uncertain set.
pub(crate) struct WorldsStage;

/// Rows of a model that are scored a second time.
pub(crate) struct RecheckStage;

/// Scores next to those that a model is known to give.
pub(crate) struct ExpectStage;

/// The rows that are to be scored elsewhere.
pub(crate) struct ToScoreStage;

/// Evidence of a set with shuffled group names.
pub(crate) struct PlaceboStage;

/// Evidence of a set that is fitted again on rows drawn again.
pub(crate) struct DoubtStage;

/// Evidence of an audit and of its slices, with score metrics and their intervals; of an experiment
/// that of an arm.
pub(crate) struct CountStage;

/// Evidence of two models on the same rows; of an experiment of an arm and the base.
pub(crate) struct PairStage;

/// The flip test.
pub(crate) struct FlipsStage;

/// Outcomes row by row.
pub(crate) struct OutcomesStage;

/// People who switch, for the page.
pub(crate) struct CasesStage;

/// Quality of counterfactuals.
pub(crate) struct QualityStage;

/// The tables of the audit, or of an experiment.
pub(crate) struct MeasureStage;

/// The rows that arms added.
pub(crate) struct SelectedStage;

/// The tables of the audit and of all experiments.
pub(crate) struct TablesStage;

/// Subgroups and what they would have to change.
pub(crate) struct RecourseStage;

/// Who switches.
pub(crate) struct WhyStage;

/// What a hidden cause could do to what a model says across graphs.
pub(crate) struct HiddenStage;

/// What a model says across graphs without each statement about them.
pub(crate) struct NeededStage;

/// The comparison with an earlier run.
pub(crate) struct BaselineStage;

/// Verdicts.
pub(crate) struct GateStage;

/// The output folder but for what varies between runs.
pub(crate) struct ReportStage;
