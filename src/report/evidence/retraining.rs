//! Did retraining help: how switches and accuracy changed in each arm, and which gaps became
//! larger. Facts only; the sentences are in `retraining.html` and `arms.html`.

use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::folder::manifest::{ArmWords, ExperimentWords};
use crate::metric::catalog::ccm::HARM;
use crate::metric::farther;
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
use crate::table::ArmRow;
use crate::table::deciding_range::DecidingRange;
use crate::text::fact;

/// Experiments on the page.
const EXPERIMENTS_AT_MOST: usize = 3;

/// Rows of an experiment.
const ROWS_AT_MOST: usize = 10;

/// The arm that adds synthetic rows to the counterfactuals of another arm.
const CFS_ADASYN: &str = "cfs_adasyn";

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
    /// The change, and how much larger a harm is, by size: of one that changed its sign this may
    /// be far less than what changed.
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

    /// Whether it is a harm that is clearly larger.
    pub(super) fn is_larger_harm(&self) -> bool {
        self.is_harm && self.word == "larger"
    }

    /// Whether it is a gap that clearly favours the other group now.
    pub(super) fn is_reversed_harm(&self) -> bool {
        self.is_harm && self.word == "reversed"
    }

    /// Whether it would be clear by its interval, and too few trainings give it.
    fn lacks_trainings(&self) -> bool {
        self.word == "not_judged"
    }
}

/// The reading of a change.
fn word(
    (before, after): (f64, f64),
    interval: Option<(f64, f64)>,
    trainings: TrainingChanges,
) -> &'static str {
    let is_clear = is_clear_change(interval, trainings);
    let is_clear_of_people = interval.is_some_and(is_clear_of_zero);
    match farther(before, after) {
        _ if !is_clear && trainings == TrainingChanges::TooFew && is_clear_of_people => {
            "not_judged"
        }
        _ if !is_clear => "chance",
        None => "reversed",
        Some(by) if by > 0.0 => "larger",
        Some(_) => "smaller",
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

/// The arms of an experiment whose models are those of another arm.
#[derive(Serialize)]
pub(super) struct IdleArms<'a> {
    /// Those that added no rows: their models are the one before.
    nothing: Vec<&'a str>,
    /// The one that was to add synthetic rows to counterfactuals, and found none to add.
    no_synthetic: Option<&'a str>,
    /// The arm of these counterfactuals; none where the experiment has no such arm.
    same_as: Option<&'a str>,
    /// Whether no arm added rows.
    is_all: bool,
}

impl<'a> IdleArms<'a> {
    pub(super) fn of(inputs: &BriefInputs<'_>, words: &'a ExperimentWords) -> Self {
        let others = || words.arms.iter().skip(1).map(|arm| arm.name.as_str());
        let rows = |arm: &str| -> Vec<&ArmRow> {
            let name = words.in_tables(arm);
            inputs.audit.added.iter().filter(|row| row.arm.as_str() == name).collect()
        };
        let adds_none = |arm: &str, of: fn(&ArmRow) -> i64| {
            let own = rows(arm);
            !own.is_empty() && own.iter().all(|row| of(row) == 0)
        };
        let all = |row: &ArmRow| row.n_counterfactuals + row.n_synthetic;
        let nothing: Vec<&str> = others().filter(|arm| adds_none(arm, all)).collect();
        let no_synthetic = others().find(|arm| {
            *arm == CFS_ADASYN && !nothing.contains(arm) && adds_none(arm, |row| row.n_synthetic)
        });
        let added = |arm: &str| -> Vec<_> {
            let of = |row: &&ArmRow| (row.fold, row.n_counterfactuals, row.n_added_positive);
            rows(arm).iter().map(of).collect()
        };
        let same_as = no_synthetic
            .and_then(|own| others().find(|other| *other != own && added(other) == added(own)));
        let is_all = !nothing.is_empty() && nothing.len() + 1 == words.arms.len();
        IdleArms { nothing, no_synthetic, same_as, is_all }
    }

    /// Whether an arm shows nothing of its own.
    pub(super) fn contains(&self, arm: &str) -> bool {
        self.nothing.contains(&arm) || self.same_as.is_some() && self.no_synthetic == Some(arm)
    }
}

/// The experiments on the page, those that added rows first; and how many more there are.
fn shown<'a>(inputs: &BriefInputs<'a>) -> (Vec<(&'a ExperimentWords, IdleArms<'a>)>, usize) {
    let all = inputs.audit.manifest.experiments.iter();
    let mut all: Vec<_> = all.map(|words| (words, IdleArms::of(inputs, words))).collect();
    all.sort_by_key(|(_, idle)| idle.is_all);
    let more = all.len().saturating_sub(EXPERIMENTS_AT_MOST);
    all.truncate(EXPERIMENTS_AT_MOST);
    (all, more)
}

/// How the rate that harmed most changed in an experiment; none where nothing tells it.
fn answer_of(
    inputs: &BriefInputs<'_>,
    words: &ExperimentWords,
    idle: &IdleArms<'_>,
) -> Option<Value> {
    let several = inputs.audit.manifest.experiments.len() > 1;
    let (name, idle_arms) = (several.then_some(words.name.as_str()), fact(idle));
    if idle.is_all {
        return Some(context!(name, idle => idle_arms));
    }
    let (first, others) = words.arms.split_first()?;
    let rate = worst_rate(inputs, first, words)?;
    let measured = |arm: &ArmWords| {
        Some((short(&arm.name).into_owned(), point_in(inputs, &rate, (words, arm))?))
    };
    let arms = others.iter().filter(|arm| !idle.contains(&arm.name));
    let arms: Vec<(String, PlotPoint)> = arms.filter_map(measured).collect();
    let changes = changes(inputs, words);
    let harms = || changes.iter().filter(|of| of.is_harm && !idle.contains(&of.arm));
    let worse = harms().filter(|of| of.is_larger_harm() || of.is_reversed_harm());
    let worse = worse.max_by(|a, b| a.by.abs().total_cmp(&b.by.abs()));
    let is_clear = harms().next().is_some() && !harms().any(ArmRateChange::lacks_trainings);
    (!arms.is_empty()).then(|| {
        let [rate, arms, worse] = [fact(&rate), fact(&arms), fact(&worse)];
        context!(name, idle => idle_arms, rate, arms, worse, is_clear, folds => words.folds.is_some())
    })
}

/// How the rate that harmed most changed in each experiment, for the first page.
pub(crate) fn answer(inputs: &BriefInputs<'_>) -> Option<Value> {
    let (shown, more) = shown(inputs);
    let told: Vec<Value> =
        shown.iter().filter_map(|(words, idle)| answer_of(inputs, words, idle)).collect();
    (!told.is_empty()).then(|| context!(experiments => told, more))
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
        found.push(ArmRateChange {
            arm: arm.to_owned(),
            label,
            before,
            after,
            interval,
            is_harm,
            by,
            worse_by: after.abs() - before.abs(),
            is_clear: is_clear_change(interval, trainings),
            word: word((before, after), interval, trainings),
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
    (words, idle): &(&ExperimentWords, IdleArms<'_>),
) -> Option<Value> {
    let rate = worst_rate(inputs, words.arms.first()?, words);
    let changes = changes(inputs, words);
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
    let drawn = words.arms.iter().filter(|arm| !idle.contains(&arm.name));
    let drawn: Vec<TradeOffArm> = drawn.filter_map(drawn_arm).collect();
    let changes = || changes.iter().filter(|change| !idle.contains(&change.arm));
    let harms = || changes().filter(|change| change.is_harm);
    let mut larger: Vec<&ArmRateChange> =
        harms().filter(|change| change.is_larger_harm()).collect();
    larger.sort_by(|a, b| b.worse_by.total_cmp(&a.worse_by));
    let mut reversed: Vec<&ArmRateChange> =
        harms().filter(|change| change.is_reversed_harm()).collect();
    reversed.sort_by(|a, b| b.by.abs().total_cmp(&a.by.abs()));
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
        name, idle => fact(idle), rate => fact(&rate), has_reversed => !reversed.is_empty(),
        reversed => fact(&reversed),
        is_trained_again => drawn.iter().any(|arm| arm.rate.second.is_some()),
        arms => fact(&drawn), limit => fact(&limit), larger => fact(&larger),
        accuracy => fact(&accuracy.collect::<Vec<_>>()), harms => fact(&by_arm),
        adds => fact(&words.arms.iter().skip(1).collect::<Vec<_>>()), scale => fact(&scale),
        has_trainings => harms().any(|change| change.is_trained_again),
        lacks_trainings => harms().any(ArmRateChange::lacks_trainings),
    })
}

/// The section; none where the job has no experiment.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    let (shown, _) = shown(inputs);
    if shown.is_empty() {
        return None;
    }
    let told = shown.iter().filter_map(|of| experiment(inputs, of));
    let facts = context! {
        experiments => told.collect::<Value>(), trainings => DecidingRange::TRAININGS.short,
    };
    Some(PageSection::of_facts("retraining", "retraining.html", facts))
}
