//! The stages as types, in the order of a run: what [`StageBuilder::need`] names.
//!
//! Each is planned in the file of its work; its readers need only this type.
//!
//! [`StageBuilder::need`]: crate::stage::stage_builder::StageBuilder::need

use crate::unit::{UnitField, UnitKind};

/// What a stage is called, and what can be read of it.
pub(crate) trait KnownStage {
    /// The kind whose files it writes.
    type Output;
    const KIND: UnitKind;
    /// The fields that distinguish two of its stages.
    const FIELDS: &'static [UnitField];
}

/// The stage whose files another one writes: itself, but where another one is named.
macro_rules! output {
    ($stage:ident) => {
        $stage
    };
    ($stage:ident $other:ident) => {
        $other
    };
}

/// Writes the type of each stage: its kind, and the fields that distinguish two of its stages.
macro_rules! known_stages {
    ($($(#[$about:meta])* $stage:ident: $kind:ident [$($field:ident)*] $(=> $other:ident)?;)+) => {$(
        $(#[$about])*
        pub(crate) struct $stage;

        impl KnownStage for $stage {
            type Output = output!($stage $($other)?);
            const KIND: UnitKind = UnitKind::$kind;
            const FIELDS: &'static [UnitField] = &[$(UnitField::$field),*];
        }
    )+};
}

known_stages! {
    /// Rows that are not Parquet, as Parquet.
    SourceStage: Source [];
    /// Rows that strategies learn from, where they are in a separate file.
    ReferenceStage: Reference [] => PrepareStage;
    /// The rows of a shard as numbers, and the values that occur in them.
    SurveyStage: Survey [];
    /// Rows as numbers.
    PrepareStage: Prepare [];
    /// Which rows train and which are audited.
    SplitStage: Split [Experiment];
    /// In which state each row of the source is, by group.
    PopulationStage: Population [];
    /// Counts the rows before any model has run.
    LabelStage: Labels [];
    /// The causal graphs of all scenarios of a set.
    DiscoverStage: Discover [Set Block];
    /// The models of all folds, or those of an arm.
    TrainStage: Train [Model Experiment Arm Fold Predictions Repeat];
    /// What a strategy learnt.
    FitStage: Fit [Set Attribute Experiment];
    /// The counterfactuals that a program of the user's makes.
    ExternalStage: External [Set Attribute];
    /// The reference rows by group and value.
    SupportStage: Support [Experiment];
    /// Counterfactuals.
    GenerateStage: Generate [Set Attribute Experiment Fold];
    /// The counterfactuals of a set in the user's own ids and values.
    KeptRowsStage: Kept [Set];
    /// Which rows a file of scores answers.
    RequestStage: Request [Set];
    /// What a model that is trained elsewhere gets and gives.
    ContractStage: Contract [Model];
    /// Values of audited rows that a model does not know.
    LevelsStage: Levels [Model];
    /// The thresholds of a model, fitted to its training rows.
    ThresholdStage: Threshold [Model Experiment Arm Fold];
    /// Scores of rows, or of the counterfactuals of a set.
    ScoreStage: Score [Model Set Attribute Experiment Arm Fold Predictions Repeat Block];
    /// What a model says in every world of a graph-uncertain set.
    WorldsStage: Worlds [Model Set Attribute Repeat];
    /// Rows of a model that are scored a second time.
    RecheckStage: Recheck [Model];
    /// Scores next to those that a model is known to give.
    ExpectStage: Expect [Model];
    /// The rows that are to be scored elsewhere.
    ToScoreStage: ToScore [];
    /// Evidence of a set with shuffled group names.
    PlaceboStage: Placebo [Set Attribute];
    /// Evidence of a set that is fitted again on rows drawn again.
    DoubtStage: Doubt [Set Attribute];
    /// Evidence of an audit and of its slices, with score metrics and their intervals; of an
    /// experiment that of an arm.
    CountStage: Count [Model Set Attribute Experiment Arm Repeat];
    /// Evidence of two models on the same rows; of an experiment of an arm and the base.
    PairStage: Pair [Model Set Attribute Experiment Arm];
    /// The flip test.
    FlipsStage: Flips [Model Attribute];
    /// Outcomes row by row.
    OutcomesStage: Outcomes [];
    /// People who switch, for the page.
    CasesStage: Cases [];
    /// Quality of counterfactuals.
    QualityStage: Quality [Set Attribute];
    /// The tables of the audit, or of an experiment.
    MeasureStage: Measure [Experiment];
    /// The rows that arms added.
    SelectedStage: Selected [];
    /// The tables of the audit and of all experiments.
    TablesStage: Tables [] => MeasureStage;
    /// Subgroups and what they would have to change.
    RecourseStage: Recourse [Attribute];
    /// Who switches.
    WhyStage: Why [Block];
    /// What a hidden cause could do to what a model says across graphs.
    HiddenStage: Hidden [Model Set Attribute];
    /// What a model says across graphs without each statement about them.
    NeededStage: Needed [Model Set Attribute];
    /// The comparison with an earlier run.
    BaselineStage: Baseline [];
    /// Verdicts.
    GateStage: Gate [];
    /// The output folder but for what varies between runs.
    ReportStage: Report [];
}
