//! `manifest.json` and `summary.json`: what an output folder says about itself in addition to its
//! tables.
//!
//! The manifest is deterministic: no times, no host, no absolute paths. It holds every word of the
//! job that a reader of the tables needs (so that `report`, `gate` and `diff` work only from a
//! folder, on another machine, months later) and the hash of every other file of the folder; so its
//! own hash is the fingerprint of an audit. Report and diff read it; the stage `report` writes it.

use std::collections::BTreeMap;
use std::fmt;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exec::hash::hash_parts;
use crate::num::score_scale::{ScaleNumbers, ScoreScale};
use crate::param::Level;

/// Writes structs that files hold as JSON. A key `name?` is not written where it has nothing to
/// say, and a file may lack it.
macro_rules! documents {
    ($(
        $(#[$about:meta])*
        $vis:vis struct $document:ident {
            $($(#[$of_key:meta])* $key:ident $(? $($never:lifetime)?)?: $value:ty,)+
        }
    )+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        $vis struct $document {
            $(
                $(#[$of_key])*
                $(#[serde(default, skip_serializing_if = "is_absent")] $($never)?)?
                pub $key: $value,
            )+
        }
    )+};
}

/// Whether a value says nothing: none, or an empty list or text.
fn is_absent<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

documents! {
    /// `manifest.json`.
    pub(crate) struct Manifest {
        /// Format of this file.
        cfaudit: u32,
        /// Version of the program that wrote the folder.
        program: String,
        /// Name of the job.
        job: String,
        /// First six hex digits of the hash of job and inputs.
        run: String,
        /// SHA-256 of `job.resolved.yaml`.
        job_hash: String,
        /// Set where generated stand-in data replaced this catalog data set: no number is
        /// about real people.
        stand_in?: Option<String>,
        /// Words for the report.
        words: ReportWords,
        /// The label; absent where the job has none.
        label?: Option<LabelWords>,
        /// Of a job without a label whether the positive prediction is the one people want; absent
        /// where the job does not say.
        favourable_without_label?: Option<bool>,
        /// The sensitive attributes.
        attributes: Vec<AttributeWords>,
        /// What codes mean, by column and code.
        names?: BTreeMap<String, BTreeMap<String, String>>,
        /// The counterfactual sets.
        counterfactuals: Vec<SetWords>,
        /// The models.
        models: Vec<ModelWords>,
        /// The experiments.
        experiments?: Vec<ExperimentWords>,
        /// Families of metrics measured.
        families: Vec<String>,
        /// Level of the intervals.
        level: Level,
        /// The seed.
        seed: u64,
        /// Numbers of rows.
        rows: RowCounts,
        /// What identifies a row: `row number`, or the column.
        row_id: String,
        /// The column that says whose row it is; absent where each row is a person.
        person?: Option<String>,
        /// The column of weights; absent where everybody counts once.
        weight?: Option<String>,
        /// How rows were split, in words.
        split: String,
        /// Input files with their hashes.
        inputs: Vec<InputFile>,
        /// Values given on the command line by `--set`.
        sets?: Vec<String>,
        /// The command that reproduces the folder.
        command: String,
        /// Version of every table.
        tables: BTreeMap<String, u32>,
        /// Versions of the rules that decide what values mean.
        policies: PolicyVersions,
        /// The earlier run that this one was compared with; absent where none was named.
        baseline?: Option<RunComparison>,
        /// The kind of stage after which the run was to stop, such as `generate`; where there is
        /// one, nothing was measured.
        stopped_after?: Option<String>,
        /// The earlier runs that `--history` named, in its order.
        history?: Vec<EarlierRun>,
        /// Files of scores that were not there; where there is one, nothing was measured.
        awaited?: Vec<AwaitedScores>,
        /// Files of scores, and the rows that they answer.
        answers?: Vec<AnsweredRequest>,
        /// SHA-256 of every other file of the folder that does not vary between runs.
        files: BTreeMap<String, String>,
    }

    /// Versions of the rules that decide what values mean. A rule that changes gets the next
    /// number, so that two folders with different numbers tell that the values it touches cannot be
    /// compared.
    #[derive(Copy)]
    pub(crate) struct PolicyVersions {
        /// Who counts in which metric. 1: where the job has a label, people without one count in
        /// none; 2: each metric counts everybody it can.
        who_counts: u32,
        /// How intervals are made. 2: from what each unit adds, without replicates of people.
        #[serde(default)]
        intervals: u32,
        /// Starts of a search for causal graphs where the job names none. 1: one; 2: ten.
        starts: u32,
    }

    /// Words for the report; none of them changes a number.
    pub(crate) struct ReportWords {
        /// Title of the page.
        title: String,
        /// The decision that the model makes.
        decision?: Option<String>,
        /// Who answers for the audit.
        owner?: Option<String>,
        /// Version of the audited model.
        version?: Option<String>,
        /// What the audit is for.
        purpose?: Option<String>,
        /// The people whom the rows represent.
        population?: Option<String>,
        /// The time that the rows cover.
        period?: Option<String>,
        /// Where the rows come from.
        source?: Option<String>,
        /// What the job says that the audit does not show.
        limitations?: Vec<String>,
        /// Conditions under which the model may be used.
        conditions?: Vec<String>,
        /// Who prepared, reviewed and approved the audit, in this order.
        #[serde(default)]
        signers: [SignerWords; 3],
        /// Whether the job leaves `annex.html` out.
        #[serde(default)]
        without_annex: bool,
        /// Rows of a long table that the page shows.
        rows_shown: u64,
        /// What the job says about its gates, by name.
        gate_notes?: BTreeMap<String, String>,
    }

    /// Somebody who signs the audit; what is not given is signed by hand.
    pub(crate) struct SignerWords {
        /// The role.
        role?: Option<String>,
        /// The name.
        name?: Option<String>,
        /// The date, as the job writes it.
        date?: Option<String>,
    }

    /// The label in the job's words.
    pub(crate) struct LabelWords {
        /// The column.
        column: String,
        /// Values that count as positive.
        positive: Vec<String>,
        /// Values seen that count as negative.
        negative: Vec<String>,
        /// The classes of a label of several, in the order of the job; absent where it has two
        /// sides.
        classes?: Vec<String>,
        /// Whether the positive prediction is the one people want.
        favourable_is_positive: bool,
        /// What the two decisions are called; absent where the job does not say.
        words?: Option<DecisionNames>,
    }

    /// What the two decisions are called in the job's words.
    pub(crate) struct DecisionNames {
        /// The favourable decision as a participle: `granted`.
        favourable: String,
        /// The unfavourable decision as a participle: `refused`.
        unfavourable: String,
        /// What is decided about, such as `the loan`.
        object?: Option<String>,
    }

    /// A sensitive attribute.
    pub(crate) struct AttributeWords {
        /// Its name.
        name: String,
        /// Its groups in declared order.
        groups: Vec<String>,
        /// The reference group.
        reference: String,
        /// How its groups are derived from columns, in words; none where they are values of an
        /// unchanged column.
        made_of?: Option<String>,
        /// What the page calls the attribute; absent where its name does.
        called?: Option<String>,
        /// What the page calls the people of a group, by group.
        words?: BTreeMap<String, String>,
    }

    /// A counterfactual set.
    pub(crate) struct SetWords {
        /// Its name.
        name: String,
        /// Its strategy: `naive`, ...
        strategy: String,
        /// Its knobs with the values of the resolved job; of `knowledge` that of its own scenario.
        knobs: Vec<SetKnob>,
        /// The attributes it changes, one at a time.
        attributes: Vec<String>,
        /// Repeats of its placebo; absent where the job requests none.
        placebo?: Option<u64>,
        /// How often it was fitted again on rows drawn again; absent where the job does not ask for
        /// it.
        doubt?: Option<u64>,
        /// A hash of the rows that it was fitted on, by attribute: equal where rows, columns and
        /// classes that the fit read are equal in value. Empty for sets that are not fitted.
        fitted_on?: BTreeMap<String, String>,
        /// What represents the groups of derived attributes in the rows that models saw, by
        /// attribute.
        written?: BTreeMap<String, Vec<WrittenValue>>,
    }

    /// A knob of a counterfactual set.
    pub(crate) struct SetKnob {
        /// Its key.
        name: String,
        /// Its value as the resolved job has it.
        value: serde_json::Value,
    }

    /// What the counterfactuals of a direction got in a column that a derived attribute is derived
    /// from.
    pub(crate) struct WrittenValue {
        /// The group of the people.
        from_group: String,
        /// The group they are moved to.
        to_group: String,
        /// The column of the rows.
        column: String,
        /// The value.
        value: String,
        /// Counterfactuals that got it.
        n: u64,
    }

    /// A model.
    pub(crate) struct ModelWords {
        /// Its name.
        name: String,
        /// Its kind: `logistic`, `scores`, ...
        kind: String,
        /// One sentence on what it is: inputs, penalty, where scores come from.
        words: String,
        /// The threshold: a number, or `column C`; in words where the label has several classes.
        threshold: String,
        /// `ge` or `gt`; empty where the label has several classes.
        threshold_rule: String,
        /// The scale of scores and threshold; absent where scores are probabilities of the positive
        /// class.
        scale?: Option<ScoreScale>,
        /// What the job says about its amounts; absent where its outcome is no amount.
        amount?: Option<AmountWords>,
        /// What it gets and gives; absent where it is trained in the run.
        contract?: Option<ContractWords>,
        /// What scoring some rows again gave: of programs and ONNX files always, of scores computed
        /// elsewhere where the job asks for it.
        recheck?: Option<RecheckWords>,
        /// What the comparison with the scores that the model is known to give found; absent where
        /// the job names none.
        expect?: Option<ExpectWords>,
    }

    /// The contract with a model that is trained elsewhere.
    pub(crate) struct ContractWords {
        /// The columns that it gets, in order; empty for scores computed elsewhere.
        columns?: Vec<String>,
        /// The class whose probability is the score, as the model writes it; absent where it gives
        /// one number a row, which is the score of the positive class.
        class?: Option<String>,
        /// The classes of the model, in its order.
        classes?: Vec<String>,
        /// For each class of a label of several what the model calls it; absent of two sides.
        by_class?: IndexMap<String, String>,
        /// Where the class is from: `file`, `job` or `convention`.
        class_from: String,
        /// SHA-256 over the files of a model that a registry holds, as `sha256sum` lists them in
        /// the order of their paths; absent for any other.
        sha256?: Option<String>,
    }

    /// What a job says about outcomes that are amounts.
    pub(crate) struct AmountWords {
        /// Whether people want low amounts.
        better_is_lower: bool,
        /// The least change that matters, as the job writes it: `5%`, or an amount.
        matters_from: String,
    }

    /// An experiment.
    pub(crate) struct ExperimentWords {
        /// Its name.
        name: String,
        /// The model that is trained again.
        model: String,
        /// The counterfactual set.
        counterfactual: String,
        /// Number of folds; absent where the split of the job decides.
        folds?: Option<u64>,
        /// The arms, the base first.
        arms: Vec<ArmWords>,
        /// As that of a set, where the set was fitted in folds of the experiment.
        fitted_on?: BTreeMap<String, String>,
    }

    /// An arm of an experiment.
    pub(crate) struct ArmWords {
        /// Its name, such as `all`.
        name: String,
        /// Rows added to the training rows, in words.
        words: String,
    }

    /// Rows that were scored again: with the counterfactuals, or, by programs and ONNX files, a
    /// second time.
    #[derive(Copy)]
    pub(crate) struct RecheckWords {
        /// How many, over all sets and attributes.
        rows: u64,
        /// Those of them whose second score is another; above 0 only for programs and ONNX files.
        #[serde(default)]
        differ: u64,
        /// The largest difference from their factual scores. Of scores computed elsewhere there is
        /// no folder where it is above the job's tolerance; of programs and ONNX files gates are
        /// inconclusive where it is above 1e-6, unless the model accepts that.
        largest: f64,
    }

    /// Scores next to those that the model is known to give.
    pub(crate) struct ExpectWords {
        /// The column that holds the known scores.
        column: String,
        /// The largest difference that is none.
        tolerance: f64,
        /// How many rows may differ; in no folder do more.
        at_most: u64,
        /// Audited rows that were compared.
        rows: u64,
        /// Audited rows without a known score.
        unknown: u64,
        /// Rows compared that differ by more than the tolerance, or have no score.
        differ: u64,
        /// The largest difference of two scores.
        largest: f64,
    }

    /// A file of scores that a run waits for.
    pub(crate) struct AwaitedScores {
        /// The model.
        model: String,
        /// The counterfactual set; empty for the rows as they are.
        counterfactual: String,
        /// The file, as the job names it.
        path: String,
        /// Its columns: those of the key, then the score.
        columns: Vec<String>,
        /// The folder of the rows to score: `to-score/SET` below the output folder, or below the
        /// place that `run.to_score` of the job names.
        to_score: String,
        /// The id of these rows, SHA-256: it is in their column `request`.
        #[serde(default)]
        request: String,
        /// How many rows there are.
        rows: u64,
        /// How many of them are rows as they are, asked for again by `recheck`.
        again: u64,
    }

    /// A file of scores and the rows to score that it answers.
    pub(crate) struct AnsweredRequest {
        /// The model.
        model: String,
        /// The counterfactual set; empty for the rows as they are.
        counterfactual: String,
        /// The file, as the job names it.
        path: String,
        /// Its SHA-256; of several parts, or of objects in a store, a hash of those of the parts,
        /// or of addresses, ETags and sizes.
        sha256: String,
        /// The id of the rows to score, SHA-256.
        request: String,
        /// Whether the file names them itself; else nothing but its keys says that it answers these
        /// rows.
        named: bool,
    }

    /// An earlier run of the same job.
    pub(crate) struct EarlierRun {
        /// Its id.
        run: String,
        /// Version of the model in the words of its job.
        version?: Option<String>,
        /// SHA-256 of its `manifest.json`.
        fingerprint: String,
    }

    /// How a run was compared with an earlier one, the old of the two.
    pub(crate) struct RunComparison {
        /// Name of the old job.
        job: String,
        /// Id of the old run.
        run: String,
        /// Version of the model in the words of the old job.
        version?: Option<String>,
        /// SHA-256 of its `manifest.json`.
        fingerprint: String,
        /// People audited there.
        rows: u64,
        /// Whether every definition is the same, so that equal names mean equal things.
        comparable: bool,
        /// Whether values were compared although a definition differs, because the caller asked for
        /// it.
        #[serde(default)]
        forced: bool,
        /// Whether intervals depend on the same people in both runs, and why or why not.
        pairing: String,
        /// People whose outcomes both runs hold; 0 where intervals are not paired.
        people_in_both: u64,
        /// Differences between the jobs, definitions first.
        differs: Vec<JobChange>,
        /// Switches of the old run that rounding alone may explain, by scope.
        rounded?: Vec<RoundedSwitches>,
    }

    /// The counterfactuals of a scope that has switches between two scores that agree to single
    /// precision, so that rounding may be the whole switch.
    pub(crate) struct RoundedSwitches {
        /// Experiment and arm.
        arm: String,
        /// The model.
        model: String,
        /// The counterfactual set.
        counterfactual: String,
        /// The sensitive attribute.
        sensitive: String,
        /// `direction` or `total`.
        scope: String,
        /// The group of the people.
        from_group: String,
        /// The group of the counterfactuals.
        to_group: String,
        /// Switches.
        switches: u64,
        /// Those of rounding among them.
        rounded: u64,
        /// Whether `cells` are in parts of 2^-40 of all weights, because people have weights.
        weighted: bool,
        /// For each cell of the extended matrix (TCN, TSP, FSN, FCP, FCN, FSP, TSN, TCP, and
        /// without a label CN, SP, SN, CP) the counterfactuals, and those of rounding among them.
        cells: Vec<[u64; 2]>,
    }

    /// One value of the job that differs.
    pub(crate) struct JobChange {
        /// Its dotted path.
        path: String,
        /// What it was; absent where it was not there.
        old?: Option<String>,
        /// What it is; absent where it is no longer there.
        new?: Option<String>,
        /// Which values mean something else for it, in words; empty where all mean the same.
        breaks: String,
    }

    /// Numbers of rows.
    #[derive(Copy)]
    pub(crate) struct RowCounts {
        /// Rows of the source.
        source: u64,
        /// Rows after filters and rules for missing values.
        kept: u64,
        /// Training rows.
        trained: u64,
        /// Rows audited: the people of the report.
        audited: u64,
    }

    /// An input file.
    #[derive(Eq, PartialOrd, Ord)]
    pub(crate) struct InputFile {
        /// What it is: `data`, `include`, `scores NAME`.
        what: String,
        /// Its path as the job names it.
        path: String,
        /// SHA-256; of rows that an engine passed on that of the hashes of their parts; absent for
        /// an object of a store, which is not read as a whole.
        sha256?: String,
        /// ETag of an object of a store, without quotes; absent for a file.
        etag?: Option<String>,
        /// Bytes; 0 for rows that an engine passed on, whose size it alone knows.
        bytes: u64,
    }

    /// `summary.json`, and with `out` the line at the end of a run. Its keys never change their
    /// meaning.
    pub struct RunSummary {
        /// Format.
        cfaudit: u32,
        /// Name of the job.
        job: String,
        /// Id of the run.
        run: String,
        /// The output folder; not in `summary.json`.
        out?: Option<String>,
        /// fail, inconclusive, warn (a gate of level `warn` did not pass), pass, `done` where no
        /// gate was judged, or `waiting` for scores: then only what the scores that are there allow
        /// was measured and judged.
        verdict: String,
        /// Exit status; in `summary.json` the one that the gates ask for, regardless of `--gates`,
        /// because no flag changes its bytes.
        exit: u8,
        /// Set where stand-in data were used.
        data?: Option<String>,
        /// Number of gates by verdict.
        gates: GateTally,
        /// The worst gate.
        worst?: Option<WorstGate>,
        /// A few values by `model.set.attribute.metric` for tools that follow numbers, such as `dvc
        /// metrics diff`: total switch rates, accuracy, the widest gaps of positive predictions. As
        /// many as fit a thousand letters.
        headline?: BTreeMap<String, f64>,
        /// People audited.
        rows: u64,
        /// The page.
        report: String,
    }

    /// Number of gates by verdict; `warn` counts gates of level `warn` that did not pass, in none
    /// of the others.
    #[derive(Copy)]
    pub struct GateTally {
        /// Passed.
        pass: u32,
        /// Failed.
        fail: u32,
        /// Could not be decided.
        inconclusive: u32,
        /// Of level `warn` and not passed.
        warn: u32,
        /// Not judged.
        skipped: u32,
    }

    /// The worst gate of a run.
    pub struct WorstGate {
        /// Its name.
        gate: String,
        /// The metric.
        metric: String,
        /// The value; null where it is undefined.
        #[serde(default)]
        value: Option<f64>,
        /// Lower end of the interval; null = none.
        #[serde(default)]
        lo: Option<f64>,
        /// Upper end of the interval; null = none.
        #[serde(default)]
        hi: Option<f64>,
        /// Cases below the rate; null where the metric is not a rate.
        #[serde(default)]
        n: Option<i64>,
        /// The limit.
        limit: f64,
        /// pass, fail or inconclusive.
        verdict: String,
    }
}

impl Manifest {
    /// A sensitive attribute by its name.
    pub(crate) fn attribute(&self, name: &str) -> Option<&AttributeWords> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// A counterfactual set by its name.
    pub(crate) fn set(&self, name: &str) -> Option<&SetWords> {
        self.counterfactuals.iter().find(|set| set.name == name)
    }

    /// A model by its name.
    pub(crate) fn model(&self, name: &str) -> Option<&ModelWords> {
        self.models.iter().find(|model| model.name == name)
    }

    /// A text of the form `column = level, column = level` with the job's words for its codes.
    pub(crate) fn with_code_names(&self, text: &str) -> String {
        let named = |part: &str| {
            let (column, code) = part.split_once(" = ")?;
            Some(format!("{column} = {}", self.names.get(column)?.get(code)?))
        };
        let parts = text.split(", ").map(|part| named(part).unwrap_or_else(|| part.to_owned()));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// Whether the positive prediction is the one people want; none where the job does not say.
    pub(crate) fn favourable_is_positive(&self) -> Option<bool> {
        self.label
            .as_ref()
            .map(|label| label.favourable_is_positive)
            .or(self.favourable_without_label)
    }

    /// What the job says about amounts, which are then the outcomes of all its models; none where
    /// models decide.
    pub(crate) fn amounts(&self) -> Option<&AmountWords> {
        self.models.iter().find_map(|model| model.amount.as_ref())
    }
}

impl SetWords {
    /// The value of a knob.
    pub(crate) fn knob(&self, name: &str) -> Option<&serde_json::Value> {
        Some(&self.knobs.iter().find(|knob| knob.name == name)?.value)
    }

    /// The value of a knob that is one word.
    pub(crate) fn word(&self, name: &str) -> Option<&str> {
        self.knob(name)?.as_str()
    }
}

/// `name: value`, nearly as a job writes it.
impl fmt::Display for SetKnob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = match &self.value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string().replace('"', "").replace(':', ": ").replace(',', ", "),
        };
        write!(f, "{}: {value}", self.name)
    }
}

impl AmountWords {
    /// Whether any change matters.
    pub(crate) fn changes_always_matter(&self) -> bool {
        self.matters_from.trim_end_matches('%').parse() == Ok(0.0)
    }
}

impl ModelWords {
    /// The scale of scores and threshold.
    pub(crate) fn score_scale(&self) -> ScoreScale {
        self.scale.unwrap_or_default()
    }

    /// How scores are drawn and measured, where they are not probabilities.
    pub(crate) fn scale_in_words(&self) -> Option<String> {
        let scale = self.scale?;
        let turned = if scale.turned {
            ", counted from the upper end, because low scores mean the positive prediction"
        } else {
            ""
        };
        Some(match scale.numbers {
            ScaleNumbers::Range { from, to } => format!(
                "Scores of the model `{}` are numbers from {from} to {to}; they are drawn and \
                 measured as shares of that scale (0.01 is {} of its numbers){turned}.",
                self.name,
                (to - from) / 100.0
            ),
            ScaleNumbers::LogOdds => format!(
                "Scores of the model `{}` are log-odds; they are drawn and measured as \
                 probabilities, 1 / (1 + e^-x){turned}.",
                self.name
            ),
            ScaleNumbers::Amounts => format!("Outcomes of the model `{}` are amounts.", self.name),
        })
    }

    /// The threshold that the job gives, where it is a number.
    pub(crate) fn cut_off(&self) -> Option<f64> {
        self.threshold.parse().ok()
    }
}

impl ExperimentWords {
    /// The name of an arm in tables.
    pub(crate) fn in_tables(&self, arm: &str) -> String {
        format!("{}/{arm}", self.name)
    }
}

impl InputFile {
    /// What tells it from other versions and other files, as 64 hex digits: its SHA-256, or a hash
    /// of address, ETag and size.
    pub(crate) fn identity(&self) -> String {
        match &self.etag {
            None => self.sha256.clone(),
            Some(etag) => hash_parts(["object", &self.path, etag, &self.bytes.to_string()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Manifest;

    #[test]
    fn codes_are_told_in_the_words_of_the_job() {
        let text = |words: &str| words.to_owned();
        let names = [(text("history"), [(text("A30"), text("no credits taken"))].into())].into();
        let manifest = Manifest { names, ..Manifest::default() };
        assert_eq!(
            manifest.with_code_names("age = (25, 35], history = A30, history = A31, A30"),
            "age = (25, 35], history = no credits taken, history = A31, A30"
        );
    }
}
