//! The stages as types, in the order of a run: what [`StageBuilder::need`] names.
//!
//! Each is planned in the file of its work; its readers need only this type. A new one is its row
//! here, its word in [`UnitKind`], and its readers.

use crate::stage::stage_builder::{Planned, StageBuilder};
use crate::unit::{AuditUnit, UnitField, UnitKind};

/// What a stage is called, what can be read of it, and how it is planned.
pub(crate) trait Stage {
    /// The kind whose files it writes.
    type Output;
    const KIND: UnitKind;
    /// The fields that tell two of its stages apart.
    const FIELDS: &'static [UnitField];

    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a>;
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

/// Writes the type of each stage: its kind, the fields that tell two of its stages apart, and the
/// function of this room that plans one.
macro_rules! known_stages {
    ($(
        $(#[$about:meta])*
        $stage:ident: $kind:ident [$($field:ident)*] $(=> $other:ident)? by $($plan:ident)::+;
    )+) => {$(
        $(#[$about])*
        pub(crate) struct $stage;

        impl Stage for $stage {
            type Output = output!($stage $($other)?);
            const KIND: UnitKind = UnitKind::$kind;
            const FIELDS: &'static [UnitField] = &[$(UnitField::$field),*];

            fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
                crate::stage::$($plan)::+(unit, b)
            }
        }
    )+};
}

known_stages! {
    /// Rows that are not Parquet, as Parquet.
    SourceStage: Source [] by prepare::plan_source;
    /// Rows that strategies learn from, where they are in a separate file.
    ReferenceStage: Reference [] by prepare::plan_reference;
    /// The rows of a shard as numbers, and the values that occur in them.
    SurveyStage: Survey [] by prepare::plan_survey;
    /// Rows as numbers.
    PrepareStage: Prepare [] by prepare::plan_prepare;
    /// Which rows train and which are audited.
    SplitStage: Split [Experiment] by prepare::plan_split;
    /// In which state each row of the source is, by group.
    PopulationStage: Population [] by population::plan_population;
    /// Counts the rows before any model has run.
    LabelStage: Labels [] by preview::row_look::plan_label;
    /// The causal graphs of all scenarios of a set.
    DiscoverStage: Discover [Set Block] by discover::plan_discover;
    /// The models of all folds, or those of an arm.
    TrainStage: Train [Model Experiment Arm Fold Predictions Repeat] by train::plan_train;
    /// What a strategy learnt.
    FitStage: Fit [Set Attribute Experiment] by generate::plan_fit;
    /// The counterfactuals that a program of the user's makes.
    ExternalStage: External [Set Attribute] by generate::external::plan_external;
    /// The reference rows by group and value.
    SupportStage: Support [Experiment] by generate::support::plan_support;
    /// Counterfactuals.
    GenerateStage: Generate [Set Attribute Experiment Fold] by generate::plan_generate;
    /// The counterfactuals of a set in the user's own ids and values.
    KeptRowsStage: Kept [Set] by kept_rows::plan_kept_rows;
    /// Which rows a file of scores answers.
    RequestStage: Request [Set] by input::request::plan_request;
    /// What a model that is trained elsewhere gets and gives.
    ContractStage: Contract [Model] by score::contract::plan_contract;
    /// Values of audited rows that a model does not know.
    LevelsStage: Levels [Model] by score::levels::plan_levels;
    /// The thresholds of a model, fitted to its training rows.
    ThresholdStage: Threshold [Model Experiment Arm Fold] by score::fit_threshold::plan_threshold;
    /// Scores of rows, or of the counterfactuals of a set.
    ScoreStage: Score [Model Set Attribute Experiment Arm Fold Predictions Repeat Block]
        by score::plan_score;
    /// What a model says in every world of a graph-uncertain set.
    WorldsStage: Worlds [Model Set Attribute Repeat] by score::worlds::plan_worlds;
    /// Rows of a model that are scored a second time.
    RecheckStage: Recheck [Model] by score::recheck::plan_recheck;
    /// Scores next to those that a model is known to give.
    ExpectStage: Expect [Model] by score::expect::plan_expect;
    /// The rows that are to be scored elsewhere.
    ToScoreStage: ToScore [] by waiting::plan_to_score;
    /// Evidence of a set with shuffled group names.
    PlaceboStage: Placebo [Set Attribute] by generate::plan_placebo;
    /// Evidence of a set that is fitted again on rows drawn again.
    DoubtStage: Doubt [Set Attribute] by generate::plan_doubt;
    /// Evidence of an audit and of its slices, with score metrics and their intervals; of an experiment
    /// that of an arm.
    CountStage: Count [Model Set Attribute Experiment Arm Repeat] by count::plan_count;
    /// Evidence of two models on the same rows; of an experiment of an arm and the base.
    PairStage: Pair [Model Set Attribute Experiment Arm] by count::pairs::plan_pair;
    /// The flip test.
    FlipsStage: Flips [Model Attribute] by count::plan_flips;
    /// Outcomes row by row.
    OutcomesStage: Outcomes [] by count::plan_outcomes;
    /// People who switch, for the page.
    CasesStage: Cases [] by count::cases::plan_cases;
    /// Quality of counterfactuals.
    QualityStage: Quality [Set Attribute] by generate::plan_quality;
    /// The tables of the audit, or of an experiment.
    MeasureStage: Measure [Experiment] by measure::stage::plan_measure;
    /// The rows that arms added.
    SelectedStage: Selected [] by experiment::plan_selected;
    /// The tables of the audit and of all experiments.
    TablesStage: Tables [] => MeasureStage by experiment::plan_tables;
    /// Subgroups and what they would have to change.
    RecourseStage: Recourse [Attribute] by recourse::plan_recourse;
    /// Who switches.
    WhyStage: Why [Block] by why::plan_why;
    /// What a hidden cause could do to what a model says across graphs.
    HiddenStage: Hidden [Model Set Attribute] by hidden::plan_hidden;
    /// What a model says across graphs without each statement about them.
    NeededStage: Needed [Model Set Attribute] by needed::plan_needed;
    /// The comparison with an earlier run.
    BaselineStage: Baseline [] by gate::stage::plan_baseline;
    /// Verdicts.
    GateStage: Gate [] by gate::stage::plan_gate;
    /// The output folder but for what varies between runs.
    ReportStage: Report [] by report::stage::plan_report;
}
