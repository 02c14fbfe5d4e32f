//! What an output folder says about itself in words: the manifest, and the glossary of its page.

use std::collections::BTreeMap;
use std::path::Path;

use indexmap::IndexMap;

use crate::causal;
use crate::data::canonical::canonical_text;
use crate::data::prepare::derive::{DerivationRecipe, DerivedBin};
use crate::data::rows::split::Stratification;
use crate::data::source::list_words;
use crate::data::{Layout, RowIdKind};
use crate::error::Result;
use crate::explain;
use crate::folder::manifest::{
    AmountWords, ArmWords, AttributeWords, DecisionNames, ExperimentWords, LabelWords, Manifest,
    ModelWords, PolicyVersions, ReportWords, RowCounts, SetKnob, SetWords, SignerWords,
};
use crate::job::blocks::experiments::{ExperimentArm, ExperimentBlock};
use crate::job::check::CheckedJob;
use crate::job::{self, AnnexChoice, ColumnBlock, Job, SignerBlock};
use crate::metric;
use crate::metric::catalog::cf_quality;
use crate::metric::catalog::texts::MetricText;
use crate::model::kind::command::without;
use crate::model::kind::decision::DecisionBlock;
use crate::model::kind::scale_key::BetterEnd;
use crate::model::kind::threshold_key::{ThresholdBlock, ThresholdOf};
use crate::num::score_scale::ScoreScale;
use crate::param::{ColumnName, Name, Word};
use crate::report::page::glossary::GlossaryEntry;
use crate::stage::input::JobInputs;
use crate::stage::measure::catalog;
use crate::stage::report::inputs::{FORMAT, FolderOrigins};
use crate::stage::row_context::RowContext;
use crate::stage::settings::RunSettings;
use crate::table::FilterRow;
use crate::table::file::read_rows;
use crate::table::list;

/// What a folder says about itself, but for what its files hold.
pub(super) fn manifest(origins: &FolderOrigins<'_>, out: &Path) -> Result<Manifest> {
    let FolderOrigins { checked, settings, input, run, context, .. } = *origins;
    let filters = read_rows::<FilterRow>(&out.join("tables"))?;
    let source = filters.first().and_then(|r| u64::try_from(r.rows_in).ok()).unwrap_or(0);
    let words = words_of_rows((checked, input, run), context);
    Ok(Manifest {
        job_hash: checked.hash.clone(),
        rows: RowCounts { source, ..words.rows },
        sets: checked.sets.clone(),
        command: command(checked, settings),
        ..words
    })
}

/// What a folder says about itself that follows from its job, its inputs and its prepared rows.
pub(crate) fn words_of_rows(
    (checked, input, run): (&CheckedJob, &JobInputs, &str),
    row_context: RowContext<'_>,
) -> Manifest {
    let job = &checked.job;
    let layout = row_context.rows.layout();
    Manifest {
        run: run.to_owned(),
        stand_in: input.stand_in.clone(),
        label: label_words(job, layout),
        attributes: layout
            .attributes
            .iter()
            .map(|a| {
                let said = ColumnName::new(&a.name).and_then(|name| job.data.sensitive.get(&name));
                let words = said.map(|said| texts(&said.words)).unwrap_or_default();
                AttributeWords {
                    name: a.name.clone(),
                    groups: a.groups.clone(),
                    reference: a.groups[a.reference].clone(),
                    made_of: derivation_words(job, &a.name),
                    called: said.and_then(|said| said.called.clone()),
                    words,
                }
            })
            .collect(),
        rows: RowCounts {
            source: 0,
            kept: layout.n_rows,
            trained: row_context.roles.n_trained(),
            audited: row_context.roles.n_audited(),
        },
        row_id: row_id(job, layout),
        person: layout.person.as_ref().map(|person| person.column.clone()),
        weight: layout.weight.as_ref().map(|weight| weight.column.clone()),
        inputs: input.files.clone(),
        ..words_of_job(checked)
    }
}

/// What a folder says about itself that follows only from its job and the program.
pub(crate) fn words_of_job(checked: &CheckedJob) -> Manifest {
    let job = &checked.job;
    Manifest {
        cfaudit: FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        job: job.name.to_string(),
        words: report_words(job),
        favourable_without_label: job
            .data
            .favourable
            .map(|side| side == job::FavourableClass::Positive),
        names: job
            .data
            .names
            .iter()
            .map(|(column, codes)| {
                let says = job.data.columns.get(column).map(ColumnBlock::spelling);
                let spelling = says.unwrap_or_default();
                // Tables hold levels by their canonical texts.
                let code = |(code, words): (String, String)| {
                    let level = canonical_text(&code);
                    (spelling.of(&level).into_owned(), words)
                };
                (column.as_str().to_owned(), texts(codes).into_iter().map(code).collect())
            })
            .collect(),
        counterfactuals: set_words(job),
        models: job
            .models
            .iter()
            .map(|(name, model)| {
                let scale = model.score_scale(job.data.favours_positive());
                model_words(name.as_str(), model, scale, job.data.label.classes())
            })
            .collect(),
        experiments: experiment_words(job),
        families: catalog::families(checked).iter().map(|f| f.as_str().to_owned()).collect(),
        level: job.metrics.interval.level,
        seed: job.run.seed.0,
        split: split_words(job),
        tables: list::versions(),
        policies: policies(),
        ..Manifest::default()
    }
}

/// The versions of the rules of this program.
pub(crate) fn policies() -> PolicyVersions {
    PolicyVersions {
        who_counts: metric::WHO_COUNTS,
        intervals: metric::INTERVALS,
        starts: causal::boss::STARTS_POLICY,
    }
}

/// What identifies a row.
fn row_id(job: &Job, layout: &Layout) -> String {
    match (layout.row_id, &job.data.row_id) {
        (RowIdKind::RowNumber, _) | (_, None) => "row number".to_owned(),
        (_, Some(column)) => format!("column {column}"),
    }
}

/// How the groups of an attribute are derived.
fn derivation_words(job: &Job, attribute: &str) -> Option<String> {
    let name = ColumnName::new(attribute)?;
    let column = job.data.column_of(&name);
    let (_, recipe) = job.data.derived().into_iter().find(|(derived, _)| derived == column)?;
    Some(match recipe {
        DerivationRecipe::Map { from, groups, otherwise } => {
            let list = |values: &[Word]| list_words(values.iter().map(ToString::to_string), 10);
            let group = |(name, values): &(Word, Vec<Word>)| format!("{name} is {}", list(values));
            let rest =
                otherwise.map_or_else(String::new, |other| format!("; {other} is any other value"));
            format!(
                "column {from}: {}{rest}",
                groups.iter().map(group).collect::<Vec<_>>().join("; ")
            )
        }
        DerivationRecipe::Bins { from, bins } => {
            let bin = |b: &DerivedBin| {
                format!(
                    "{} is {} {} to {}",
                    b.name,
                    if b.closed { "from" } else { "above" },
                    b.lo,
                    b.hi
                )
            };
            format!("column {from}: {}", bins.iter().map(bin).collect::<Vec<_>>().join("; "))
        }
        DerivationRecipe::Sql { sql, .. } => format!("computed as {sql}"),
        DerivationRecipe::Cross { parts } => format!(
            "columns {} crossed",
            list_words(parts.iter().map(|p| p.column.to_string()), parts.len())
        ),
    })
}

fn report_words(job: &Job) -> ReportWords {
    let about = job.about.clone().unwrap_or_default();
    ReportWords {
        title: job.report.title.clone().unwrap_or_else(|| job.name.to_string()),
        decision: about.decision,
        owner: about.owner,
        version: about.version,
        purpose: about.purpose,
        population: about.population,
        period: about.period,
        source: about.source,
        limitations: about.limitations,
        conditions: about.conditions,
        signers: [about.prepared_by, about.reviewed_by, about.approved_by].map(|signer| {
            let SignerBlock { role, name, date } = signer.unwrap_or_default();
            SignerWords { role, name, date }
        }),
        without_annex: job.report.annex == AnnexChoice::None,
        rows_shown: job.report.rows_shown.get(),
        gate_notes: job
            .gates
            .iter()
            .filter_map(|(name, gate)| Some((name.to_string(), gate.note.clone()?)))
            .collect(),
    }
}

/// Words by the text that they represent.
fn texts(words: &IndexMap<Word, String>) -> BTreeMap<String, String> {
    words.iter().map(|(of, words)| (of.to_string(), words.clone())).collect()
}

/// How a class is predicted, instead of a threshold.
const HIGHEST: &str = "the class with the highest score; with ties the one named first";

fn label_words(job: &Job, layout: &Layout) -> Option<LabelWords> {
    let (role, label) = (job.data.label.column()?, layout.label.as_ref()?);
    Some(LabelWords {
        column: label.column.clone(),
        positive: label.positive.clone(),
        negative: label.negative.clone(),
        classes: label.classes.clone(),
        favourable_is_positive: role.favours_positive(),
        words: role.words.as_ref().map(|words| DecisionNames {
            favourable: words.favourable.clone(),
            unfavourable: words.unfavourable.clone(),
            object: words.object.clone(),
        }),
    })
}

fn set_words(job: &Job) -> Vec<SetWords> {
    let all: Vec<String> = job.data.sensitive.keys().map(|a| a.to_string()).collect();
    let sets = job.sets().into_iter().map(|(name, set)| SetWords {
        fitted_on: BTreeMap::new(),
        written: BTreeMap::new(),
        strategy: set.keys().join(","),
        knobs: knobs(&name, set),
        name,
        attributes: set
            .sensitive
            .as_ref()
            .map_or_else(|| all.clone(), |s| s.iter().map(|a| a.to_string()).collect()),
        placebo: set.placebo.map(|placebo| placebo.repeats.get()),
        doubt: set.doubt.map(|doubt| doubt.fit.get()),
    });
    sets.collect()
}

/// The knobs of a set as the resolved job has them.
fn knobs(name: &str, set: &job::CounterfactualSet) -> Vec<SetKnob> {
    let mut blocks: Vec<serde_json::Value> =
        set.strategies().into_iter().map(|block| serde_json::json!(block)).collect();
    for block in &mut blocks {
        // Of the scenarios the set's own.
        if let Some((own, (_, scenario))) = block.get_mut("knowledge").zip(name.split_once('/')) {
            *own = own[scenario].take();
        }
    }
    let knobs = blocks.iter().filter_map(serde_json::Value::as_object).flatten();
    knobs.map(|(name, value)| SetKnob { name: name.clone(), value: value.clone() }).collect()
}

/// How thresholds are called that the job does not state.
const FITTED: &str = "a threshold fitted to its training rows";

fn model_words(
    name: &str,
    model: &job::ModelBlock,
    scale: ScoreScale,
    classes: Option<&[Word]>,
) -> ModelWords {
    let kinds = model.kinds();
    let kind = kinds.first().map_or("", |kind| kind.key());
    let words = match model.trained_here() {
        Some((_, knobs)) => format!("{}{}", knobs.words(), without(knobs.omit)),
        None => kinds
            .iter()
            .find_map(|kind| kind.external(classes))
            .map_or_else(String::new, |of| of.words),
    };
    let threshold = match &model.threshold {
        ThresholdBlock::Fixed(number) => number.get().to_string(),
        ThresholdBlock::Of(ThresholdOf::Column(column)) => format!("column {column}"),
        ThresholdBlock::Of(ThresholdOf::MaximiseRecall(knob)) => {
            format!(
                "{FITTED} (most recall while {} % of the negative rows stay below)",
                knob.tnr_floor.get() * 100.0
            )
        }
        ThresholdBlock::Of(ThresholdOf::Youden(_)) => format!("{FITTED} (largest TPR + TNR)"),
        ThresholdBlock::Of(ThresholdOf::FBeta(beta)) => {
            format!("{FITTED} (largest F{} score)", beta.get())
        }
    };
    let rule = match model.threshold_rule {
        job::ThresholdRule::Ge => "ge",
        job::ThresholdRule::Gt => "gt",
    };
    let decided = model.decision.as_ref().filter(|_| !model.gives_scores());
    let positive = decided.map(DecisionBlock::positive_in_words);
    let (threshold, rule) = match positive {
        _ if model.amount().is_some() => ("no decision: an amount".to_owned(), ""),
        Some(words) => (format!("no score: the positive decision is {words}"), ""),
        None if classes.is_some() => (HIGHEST.to_owned(), ""),
        None => (threshold, rule),
    };
    ModelWords {
        name: name.to_owned(),
        kind: kind.to_owned(),
        words,
        threshold,
        threshold_rule: rule.to_owned(),
        scale: (scale != ScoreScale::default()).then_some(scale),
        amount: model.amount().map(|amount| AmountWords {
            better_is_lower: amount.better == BetterEnd::Lower,
            matters_from: amount.matters_from.to_string(),
        }),
        contract: None,
        recheck: None,
        expect: None,
    }
}

fn experiment_words(job: &Job) -> Vec<ExperimentWords> {
    let words = |(name, experiment): (&Name, &ExperimentBlock)| {
        let arm = |(arm, words): (ExperimentArm, String)| ArmWords { name: arm.to_string(), words };
        ExperimentWords {
            name: name.to_string(),
            model: experiment.model.to_string(),
            counterfactual: experiment.from.to_string(),
            folds: experiment.folds.map(|folds| folds.get()),
            arms: experiment.arms.in_words().into_iter().map(arm).collect(),
            fitted_on: BTreeMap::new(),
        }
    };
    job.experiments.iter().map(words).collect()
}

fn split_words(job: &Job) -> String {
    let Some(split) = &job.data.split else { return "every row is audited".to_owned() };
    let by = match job.data.strata_of_split() {
        Stratification::Label => "within strata of the label",
        Stratification::None => "without strata",
        Stratification::LabelAndGroup => "within strata of label and first sensitive attribute",
    };
    match (&split.column, &split.share, split.folds) {
        (Some(column), ..) => format!("by column {column}"),
        (_, Some(share), _) => {
            let how = match split.by.is_rank() {
                true => format!("the seed {by}"),
                false => "seed and hash of each row, so up to chance".to_owned(),
            };
            let (train, audit) = (share.train.get(), share.audit.get());
            format!("share {train} trains, {audit} is audited, drawn by {how}")
        }
        (_, _, Some(folds)) => {
            format!(
                "{} folds drawn by the seed {by}; every row is audited once by models fitted on \
                 the other folds",
                folds.get()
            )
        }
        (None, None, None) => "every row is audited".to_owned(),
    }
}

fn command(checked: &CheckedJob, settings: &RunSettings) -> String {
    let mut command = format!("cfaudit run {}", shell_word(&settings.job_file));
    for set in &checked.sets {
        command += &format!(" --set {}", shell_word(set));
    }
    if !settings.history.is_empty() {
        command += " --history";
    }
    for folder in &settings.history {
        command += &format!(" {}", shell_word(&folder.to_string_lossy()));
    }
    match &settings.baseline {
        Some(folder) => with_baseline(&command, folder),
        None => command,
    }
}

/// The command of a run that compares with this baseline, and with no other.
pub(crate) fn with_baseline(command: &str, baseline: &Path) -> String {
    let (mut is_quoted, mut before) = (false, ' ');
    let is_end = |c: char| {
        // A quote behind a backslash is one only inside quotes, where a backslash means itself.
        is_quoted ^= c == '\'' && (is_quoted || before != '\\');
        before = c;
        c == ' ' && !is_quoted
    };
    let mut words: Vec<String> = command.split(is_end).map(str::to_owned).collect();
    if let Some(old) = words.iter().position(|word| word == "--baseline") {
        words.drain(old..words.len().min(old + 2));
    }
    let at = words.iter().position(|word| word == "--history").unwrap_or(words.len());
    words.insert(at, shell_word(&baseline.to_string_lossy()));
    words.insert(at, "--baseline".to_owned());
    words.join(" ")
}

/// A word as a shell reads it.
fn shell_word(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,".contains(c));
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// What pages say about a metric or of a measure of counterfactuals.
pub(crate) fn glossary(id: &str) -> Option<GlossaryEntry> {
    if let Some(measure) = cf_quality::find(id) {
        return Some(GlossaryEntry {
            id: measure.id.to_owned(),
            symbol: String::new(),
            name: measure.text(MetricText::Name).to_owned(),
            family: "cf_quality".to_owned(),
            formula: measure.text(MetricText::Formula).to_owned(),
            reading: measure.text(MetricText::Reading).to_owned(),
            // The other parts are the same for all measures.
            meaning: [MetricText::Remedy, MetricText::Limits]
                .map(|part| (part.head(), measure.text(part).to_owned()))
                .into(),
            range: explain::range(measure.range),
            ideal: String::new(),
            undefined_when: measure.text(MetricText::UndefinedWhen).to_owned(),
            source: measure.text(MetricText::Source).to_owned(),
        });
    }
    let metric = crate::metric::catalog::find(id)?;
    Some(GlossaryEntry {
        id: metric.id.to_owned(),
        symbol: metric.symbol().to_owned(),
        name: metric.text(MetricText::Name).to_owned(),
        family: metric.family.as_str().to_owned(),
        formula: metric.text(MetricText::Formula).to_owned(),
        reading: metric.text(MetricText::Question).to_owned(),
        meaning: MetricText::MEANING
            .into_iter()
            .filter(|part| *part != MetricText::Question)
            .map(|part| (part.head(), metric.text(part).to_owned()))
            .collect(),
        range: explain::range(metric.range),
        ideal: metric.ideal.map_or_else(String::new, |i| i.to_string()),
        undefined_when: metric.text(MetricText::UndefinedWhen).to_owned(),
        source: metric.text(MetricText::Source).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::with_baseline;

    #[test]
    fn a_baseline_takes_the_place_of_that_in_a_command() {
        for (command, expected) in [
            ("run job.yaml", "run job.yaml --baseline 'it'\\''s here'"),
            ("run --baseline old job.yaml", "run job.yaml --baseline 'it'\\''s here'"),
            ("run --baseline 'an old' --history h", "run --baseline 'it'\\''s here' --history h"),
            (
                "run 'it'\\''s.yaml' --baseline old --history h",
                "run 'it'\\''s.yaml' --baseline 'it'\\''s here' --history h",
            ),
        ] {
            assert_eq!(with_baseline(command, Path::new("it's here")), expected, "{command}");
        }
    }
}
