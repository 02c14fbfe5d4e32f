//! Did retraining help: how switches and accuracy changed in each arm, and which gaps became
//! larger. Facts only; the sentences are in `retraining.html` and `arms.html`.

use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::folder::manifest::{ArmWords, ExperimentWords};
use crate::metric::catalog::ccm::HARM;
use crate::report::brief::harm::{HarmResult, of_measures, point, side_of};
use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::limits;
use crate::report::draw::panel::TradeOffArm;
use crate::report::draw::plot::{PlotPoint, PlotScale};
use crate::report::page::PageSection;
use crate::report::page::number::NumberFormat;
use crate::report::page::terms;
use crate::report::page::words::short;
use crate::report::read::grouped::grouped;
use crate::report::read::judged::JudgedValue;
use crate::report::read::panel::{TrainingChanges, is_clear_change, is_clear_of_zero};
use crate::table::deciding_range::DecidingRange;
use crate::text::fact;

/// Experiments on the page.
const EXPERIMENTS_AT_MOST: usize = 2;

/// Rows of an experiment.
const ROWS_AT_MOST: usize = 10;

/// What a rate became in an arm.
#[derive(Serialize)]
pub(super) struct ArmRateChange {
    /// The arm.
    pub(super) arm: String,
    /// What the rate is called; empty of accuracy.
    pub(super) label: String,
    /// The rate before.
    pub(super) before: f64,
    /// The rate in the arm.
    pub(super) after: f64,
    /// The interval of the change.
    pub(super) interval: Option<(f64, f64)>,
    /// The changes that other trainings give; none where too few give it, too.
    trainings: Option<(f64, f64)>,
    #[serde(skip)]
    is_trained_again: bool,
    /// Whether it is a harm: a gap, a switch, or wrong judgements of a group.
    pub(super) is_harm: bool,
    /// The change, and how much larger a harm is, by size.
    pub(super) by: f64,
    pub(super) worse_by: f64,
    /// Whether it leaves out zero.
    pub(super) is_clear: bool,
    /// What it comes to.
    word: &'static str,
}

impl ArmRateChange {
    /// This arm with the experiment before the name of its arm.
    pub(super) fn in_experiment(self, experiment: &str) -> Self {
        ArmRateChange { arm: format!("{experiment}/{}", self.arm), ..self }
    }

    /// Whether it would be clear by its interval, and too few trainings give it.
    fn lacks_trainings(&self) -> bool {
        self.word == "not_judged"
    }
}

/// The reading of a change: the interval is that of the signed change, so for a gap that changed
/// its sign it says nothing about the size.
fn word(
    ends: (f64, f64),
    interval: Option<(f64, f64)>,
    trainings: TrainingChanges,
    is_larger: bool,
) -> &'static str {
    let is_clear = is_clear_change(interval, trainings);
    let is_clear_of_people = interval.is_some_and(is_clear_of_zero);
    match is_larger {
        _ if !is_clear && trainings == TrainingChanges::TooFew && is_clear_of_people => {
            "not_judged"
        }
        _ if !is_clear => "chance",
        _ if ends.0 * ends.1 < 0.0 => "reversed",
        true => "larger",
        false => "smaller",
    }
}

/// The harm of the first arm that is largest.
fn worst_rate(
    inputs: &BriefInputs<'_>,
    base: &ArmWords,
    words: &ExperimentWords,
) -> Option<HarmResult> {
    // Where the job names a favourable side, the two rates of harm.
    let has_harm = inputs.results.iter().any(|of| HARM.contains(&of.metric));
    let metrics: &[&'static str] = if has_harm { &HARM } else { &["sr"] };
    let metrics: Vec<_> = metrics.iter().map(|metric| (*metric, side_of(metric))).collect();
    let of_base = inputs.audit.of_arm(words.in_tables(&base.name));
    let of_set = of_base.filter(|(key, _)| key.set == words.counterfactual);
    let counted = of_measures(inputs.voice, &metrics, of_set).into_iter();
    let counted = counted.filter(|result| result.counts.is_some());
    counted.reduce(|worst, next| if next.harmed > worst.harmed { next } else { worst })
}

/// What a result is in an arm.
fn point_in(
    inputs: &BriefInputs<'_>,
    of: &HarmResult,
    (words, arm): (&ExperimentWords, &ArmWords),
) -> Option<PlotPoint> {
    let key = of.key.in_arm(&words.in_tables(&arm.name));
    inputs.audit.measure(&key, of.metric).and_then(point)
}

/// The arms of an experiment that added no rows, so that their models are the one before.
pub(super) fn without_rows<'a>(
    inputs: &BriefInputs<'_>,
    words: &'a ExperimentWords,
) -> Vec<&'a str> {
    let added_nothing = |arm: &&ArmWords| {
        let name = words.in_tables(&arm.name);
        let mut own = inputs.audit.added.iter().filter(|row| row.arm.as_str() == name).peekable();
        own.peek().is_some() && own.all(|row| row.n_counterfactuals + row.n_synthetic == 0)
    };
    words.arms.iter().skip(1).filter(added_nothing).map(|arm| arm.name.as_str()).collect()
}

/// How the rate that harmed most changed, for the first page; from the first experiment.
pub(crate) fn answer(inputs: &BriefInputs<'_>) -> Option<Value> {
    let words = inputs.audit.manifest.experiments.first()?;
    let (first, others) = words.arms.split_first()?;
    let empty = without_rows(inputs, words);
    if !empty.is_empty() && empty.len() == others.len() {
        return Some(context!(empty => empty.into_iter().collect::<Value>()));
    }
    let rate = worst_rate(inputs, first, words)?;
    let measured = |arm: &ArmWords| {
        Some((short(&arm.name).into_owned(), point_in(inputs, &rate, (words, arm))?))
    };
    let arms = others.iter().filter(|arm| !empty.contains(&arm.name.as_str()));
    let arms: Vec<(String, PlotPoint)> = arms.filter_map(measured).collect();
    (!arms.is_empty()).then(|| {
        let [rate, arms] = [fact(&rate), fact(&arms)];
        context!(empty => (), rate, arms, folds => words.folds.is_some())
    })
}

/// The comparisons of an experiment that the page shows.
pub(super) fn changes(inputs: &BriefInputs<'_>, words: &ExperimentWords) -> Vec<ArmRateChange> {
    let voice = inputs.voice;
    let mut found: Vec<ArmRateChange> = Vec::new();
    for row in inputs.audit.comparisons.iter() {
        let Some((name, arm)) = row.arm.as_str().split_once('/') else { continue };
        if name != words.name {
            continue;
        }
        let (metric, scope) = (row.metric.as_str(), row.scope.as_str());
        let attribute = row.sensitive.as_str();
        let pair = (row.from_group.as_str(), row.to_group.as_str());
        let (label, is_harm) = match (metric, scope) {
            (metric, "direction") if HARM.contains(&metric) => {
                (voice.switch_label(side_of(metric), attribute, pair), true)
            }
            ("acc", "total") => (String::new(), false),
            ("acc", "group") => {
                let group = voice.group(attribute, pair.0).into();
                (voice.say(("voice.html", "judged_wrongly"), &[group]), true)
            }
            ("demp_difference" | "eopp_difference" | "acc_difference", "pair") => {
                let name = voice.measured(metric).unwrap_or_else(|| terms::name(metric));
                let [from, to] = [pair.0, pair.1].map(|group| voice.group(attribute, group));
                (format!("{name}, {from} and {to}"), true)
            }
            _ => continue,
        };
        let (Some(before), Some(after)) = (row.against_value, row.model_value) else {
            continue;
        };
        if !matches!(
            terms::kind(metric, scope),
            NumberFormat::Share | NumberFormat::Points | NumberFormat::Distance
        ) || found.iter().any(|other| other.arm == arm && other.label == label)
        {
            continue;
        }
        // Gaps are read by their size.
        let turned = before < 0.0 && after <= 0.0;
        let (before, after) = if turned { (-before, -after) } else { (before, after) };
        let of_errors = (metric, scope) == ("acc", "group");
        let (before, after) = if of_errors { (1.0 - before, 1.0 - after) } else { (before, after) };
        let oriented = |(lo, hi): (f64, f64)| match turned || of_errors {
            true => (-hi, -lo),
            false => (lo, hi),
        };
        let interval = row.lo.zip(row.hi).map(oriented);
        let trainings = TrainingChanges::of(row).map(oriented);
        let by = after - before;
        let worse_by = if before < 0.0 || after < 0.0 { after.abs() - before.abs() } else { by };
        found.push(ArmRateChange {
            arm: arm.to_owned(),
            label,
            before,
            after,
            interval,
            is_harm,
            by,
            worse_by,
            is_clear: is_clear_change(interval, trainings),
            word: word((before, after), interval, trainings, worse_by > 0.0),
            is_trained_again: trainings != TrainingChanges::NotAsked,
            trainings: match trainings {
                TrainingChanges::Range(ends) => Some(ends),
                TrainingChanges::NotAsked | TrainingChanges::TooFew => None,
            },
        });
    }
    found
}

/// An experiment: the rate that harmed most before with the arms drawn, clear changes of accuracy,
/// harms that are clearly larger with their arms, and those of each arm.
fn experiment(
    inputs: &BriefInputs<'_>,
    words: &ExperimentWords,
    changes: &[ArmRateChange],
) -> Option<Value> {
    let rate = worst_rate(inputs, words.arms.first()?, words);
    let empty = without_rows(inputs, words);
    // The line runs across all arms, so it must be the limit of each.
    let limit = rate.as_ref().and_then(|rate| {
        let key = |arm: &ArmWords| rate.key.in_arm(&words.in_tables(&arm.name));
        let judged = words.arms.iter().map(|arm| JudgedValue::of(key(arm), rate.metric));
        limits::common(inputs.limits, judged)
    });
    let right = |arm: &ArmWords| {
        let mut values = inputs.audit.of_arm(words.in_tables(&arm.name));
        values.find_map(|(key, of)| point(of.get("acc").filter(|_| key.scope == "total")?))
    };
    let drawn_arm = |arm: &ArmWords| {
        let of = point_in(inputs, rate.as_ref()?, (words, arm));
        let name = short(&arm.name).into_owned();
        Some(TradeOffArm { name, rate: of?, right: right(arm)? })
    };
    let drawn = words.arms.iter().filter(|arm| !empty.contains(&arm.name.as_str()));
    let drawn: Vec<TradeOffArm> = drawn.filter_map(drawn_arm).collect();
    let changes = || changes.iter().filter(|change| !empty.contains(&change.arm.as_str()));
    let harms = || changes().filter(|change| change.is_harm);
    let mut larger: Vec<&ArmRateChange> =
        harms().filter(|change| change.is_clear && change.worse_by > 0.0).collect();
    larger.sort_by(|a, b| b.worse_by.total_cmp(&a.worse_by));
    let larger = grouped(larger.into_iter().map(|change| (&change.label, change)));
    let mut by_arm = grouped(harms().map(|change| (&change.arm, change)));
    for (_, rows) in &mut by_arm {
        rows.sort_by(|a, b| b.is_clear.cmp(&a.is_clear).then(b.worse_by.total_cmp(&a.worse_by)));
        rows.truncate(ROWS_AT_MOST);
    }
    let name = (inputs.audit.manifest.experiments.len() > 1).then_some(words.name.as_str());
    let accuracy = changes().filter(|change| !change.is_harm && change.is_clear);
    let scale = PlotScale::around_zero(harms().flat_map(|change| [change.before, change.after]));
    Some(context! {
        name, is_empty => empty.len() + 1 == words.arms.len(), empty => fact(&empty),
        rate => fact(&rate),
        is_trained_again => drawn.iter().any(|arm| arm.rate.second.is_some()),
        arms => fact(&drawn), limit => fact(&limit), larger => fact(&larger),
        accuracy => fact(&accuracy.collect::<Vec<_>>()), harms => fact(&by_arm),
        adds => fact(&words.arms.iter().skip(1).collect::<Vec<_>>()), scale => fact(&scale),
        has_reversed => harms().any(|change| change.word == "reversed"),
        has_trainings => harms().any(|change| change.is_trained_again),
        lacks_trainings => harms().any(ArmRateChange::lacks_trainings),
    })
}

/// The section; none where the job has no experiment.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    let experiments = &inputs.audit.manifest.experiments;
    if experiments.is_empty() {
        return None;
    }
    let shown = &experiments[..experiments.len().min(EXPERIMENTS_AT_MOST)];
    let all: Vec<Vec<ArmRateChange>> = shown.iter().map(|words| changes(inputs, words)).collect();
    let told = shown.iter().zip(&all).filter_map(|(words, all)| experiment(inputs, words, all));
    let facts = context! {
        experiments => told.collect::<Value>(), trainings => DecidingRange::TRAININGS.short,
    };
    Some(PageSection::of_facts("retraining", "retraining.html", facts))
}
