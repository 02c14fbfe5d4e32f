//! Did retraining help: what became of switches and of accuracy in each arm, and which gaps
//! are larger.

use crate::folder::manifest::{ArmWords, ExperimentWords};
use crate::metric::catalog::ccm::HARM;
use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::limits;
use crate::report::draw::panel::{TradeOffArm, trade_off};
use crate::report::draw::plot::{
    AxisUnit, KeyShape, PlotPoint, PlotScale, SwitchSide, axis, dumbbell_row,
};
use crate::report::page::digits::{ends_text, value_text};
use crate::report::read::judged::JudgedValue;

use crate::report::page::PageBlock;
use crate::report::page::brief::BriefSection;
use crate::report::page::number::NumberFormat;
use crate::report::page::plots::{BriefBlock, PlotBody, PlotLine, PlotRow, PlotTable};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::{RichText, short};
use crate::report::read::audit::ArmNumbers;
use crate::report::read::panel::{
    ReportedValue, ResultKey, TrainingChanges, is_clear_change, is_clear_of_zero,
};
use crate::table::deciding_range::DecidingRange;

/// Experiments on the page.
const EXPERIMENTS_AT_MOST: usize = 2;

/// Rows of an experiment.
const ROWS_AT_MOST: usize = 10;

/// What accuracy is called.
pub(super) const JUDGED_CORRECTLY: &str = "People judged correctly";

/// Of a gap that clearly changed and now favours the other group.
const REVERSED: &str = "reversed";

/// Of a change that is clear for people, and whose range over trainings is unknown.
const NOT_JUDGED: &str = "not judged";

/// What a rate became in an arm.
pub(super) struct ArmRateChange {
    /// The arm.
    pub(super) arm: String,
    /// What the rate is called.
    pub(super) label: String,
    /// The rate before.
    pub(super) before: f64,
    /// The rate in the arm.
    pub(super) after: f64,
    /// The interval of the change.
    pub(super) interval: Option<(f64, f64)>,
    /// The changes that other trainings give.
    trainings: TrainingChanges,
    /// Whether it is a harm: a gap, a switch, or wrong judgements of a group.
    pub(super) is_harm: bool,
}

impl ArmRateChange {
    /// The same with the experiment before the name of its arm.
    pub(super) fn in_experiment(self, experiment: &str) -> Self {
        ArmRateChange { arm: format!("{experiment}/{}", self.arm), ..self }
    }

    /// How much larger a harm is, by size.
    pub(super) fn worse_by(&self) -> f64 {
        if self.before < 0.0 || self.after < 0.0 {
            self.after.abs() - self.before.abs()
        } else {
            self.after - self.before
        }
    }

    /// Whether the change leaves out zero.
    pub(super) fn is_clear(&self) -> bool {
        is_clear_change(self.interval, self.trainings)
    }

    /// Whether it would be clear by its interval, and too few trainings give it.
    fn lacks_trainings(&self) -> bool {
        self.trainings == TrainingChanges::TooFew && self.interval.is_some_and(is_clear_of_zero)
    }

    /// The ends of the interval, and of the changes that other trainings give.
    fn ends(&self) -> String {
        let of_people = self.interval.map(|ends| ends_text(NumberFormat::Points, ends));
        let of_trainings = match self.trainings {
            TrainingChanges::Range(ends) => Some(format!(
                "{} {}",
                DecidingRange::TRAININGS.short,
                ends_text(NumberFormat::Points, ends)
            )),
            TrainingChanges::NotAsked | TrainingChanges::TooFew => None,
        };
        of_people.into_iter().chain(of_trainings).collect::<Vec<_>>().join("; ")
    }

    fn word(&self) -> &'static str {
        match (self.is_clear(), self.worse_by() > 0.0) {
            (false, _) if self.lacks_trainings() => NOT_JUDGED,
            (false, _) => "may be chance",
            // The interval is that of the signed change; it does not tell about the size.
            _ if self.before * self.after < 0.0 => REVERSED,
            (true, true) => "larger",
            (true, false) => "smaller",
        }
    }
}

fn point(measure: &ReportedValue) -> Option<PlotPoint> {
    let second = measure.second().map(|of| of.0);
    Some(PlotPoint { value: measure.value?, interval: measure.interval, second })
}

/// The harm of the first arm that is largest: its key, metric and side.
fn worst_rate(
    inputs: &BriefInputs<'_>,
    base: &ArmNumbers,
    words: &ExperimentWords,
) -> Option<(ResultKey, &'static str, SwitchSide)> {
    let sides =
        [(HARM[0], SwitchSide::Gained), (HARM[1], SwitchSide::Lost), ("sr", SwitchSide::Either)];
    let mut worst: Option<(f64, (ResultKey, &'static str, SwitchSide))> = None;
    for (key, values) in base.measures.iter() {
        if key.scope != "direction" || key.set != words.counterfactual {
            continue;
        }
        for (metric, side) in sides {
            // Where the job names a favourable side, the two rates that tell of harm.
            if (metric == "sr") == (inputs.results.iter().any(|r| HARM.contains(&r.metric))) {
                continue;
            }
            let Some(measure) = values.get(metric) else { continue };
            let Some((_, whole)) = measure.counts else { continue };
            let harmed = measure.interval.map_or(0.0, |(lo, _)| lo) * whole as f64;
            if worst.as_ref().is_none_or(|(most, _)| harmed > *most) {
                worst = Some((harmed, (key.clone(), metric, side)));
            }
        }
    }
    worst.map(|(_, of)| of)
}

/// `Granted men who would be refused as women by the boosted model (2 features follow)`: a page may
/// be about several models and sets, of which one is retrained.
fn who_switches(inputs: &BriefInputs<'_>, key: &ResultKey, side: SwitchSide) -> String {
    let voice = inputs.voice;
    format!(
        "{} by {} ({})",
        voice.switch_heading(side, &key.attribute, (&key.from, &key.to)),
        voice.model(&key.model),
        voice.set_label(&key.set)
    )
}

/// The arms of an experiment that added no rows, so that their models are the one before.
pub(super) fn without_rows<'a>(
    inputs: &BriefInputs<'_>,
    words: &'a ExperimentWords,
) -> Vec<&'a str> {
    let added_nothing = |arm: &&ArmWords| {
        let name = format!("{}/{}", words.name, arm.name);
        let mut own = inputs.audit.added.iter().filter(|row| row.arm.as_str() == name).peekable();
        own.peek().is_some() && own.all(|row| row.n_counterfactuals + row.n_synthetic == 0)
    };
    words.arms.iter().skip(1).filter(added_nothing).map(|arm| arm.name.as_str()).collect()
}

/// `Nothing was added by arm adasyn: its model is the one before, and shows nothing.`
fn nothing_added(arms: &[&str]) -> RichText {
    let (which, models) = match arms {
        [_] => ("arm ", "its model is the one before, so it shows"),
        _ => ("arms ", "their models are the one before, so they show"),
    };
    let names: Vec<_> = arms.iter().map(|arm| short(arm)).collect();
    let words = format!("No rows were added by {which}{}: {models} nothing.", names.join(", "));
    RichText::new().quote(words)
}

/// What became of the rate that harmed most, for the first page; of the first experiment.
pub(crate) fn answer(inputs: &BriefInputs<'_>) -> Option<RichText> {
    let words = inputs.audit.manifest.experiments.first()?;
    let numbers = |arm: &ArmWords| inputs.audit.arms.get(&format!("{}/{}", words.name, arm.name));
    let (first, others) = words.arms.split_first()?;
    let empty = without_rows(inputs, words);
    if !empty.is_empty() && empty.len() == others.len() {
        return Some(RichText::from("Did retraining help? ").and(nothing_added(&empty)));
    }
    let base = numbers(first)?;
    let (key, metric, side) = worst_rate(inputs, base, words)?;
    let share = |of: &ArmNumbers| {
        let found = of.measure(&key, metric).and_then(point)?;
        Some(value_text(NumberFormat::Share, found.value, found.interval))
    };
    let after: Vec<String> = others
        .iter()
        .filter(|arm| !empty.contains(&arm.name.as_str()))
        .filter_map(|arm| Some(format!("{} (arm {})", share(numbers(arm)?)?, short(&arm.name))))
        .collect();
    let who = who_switches(inputs, &key, side);
    let before = share(base)?;
    (!after.is_empty()).then(|| {
        let whose = if words.folds.is_some() {
            " Both are measured on the people of all folds, not only on those audited."
        } else {
            ""
        };
        RichText::from("Did retraining help? ")
            .quote(format!("{who}: {before} before, {} after.", after.join(", ")))
            .text(whose)
            .text(" The section on retraining tells whether any harm became larger.")
    })
}

/// The comparisons of an experiment that the page shows.
pub(super) fn changes(
    inputs: &BriefInputs<'_>,
    words: &ExperimentWords,
    glossary: &mut PageGlossary<'_>,
) -> Vec<ArmRateChange> {
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
            ("denied_by_group", "direction") => {
                (voice.switch_label(SwitchSide::Gained, attribute, pair), true)
            }
            ("favoured_by_group", "direction") => {
                (voice.switch_label(SwitchSide::Lost, attribute, pair), true)
            }
            ("acc", "total") => (JUDGED_CORRECTLY.to_owned(), false),
            ("acc", "group") => {
                (format!("{} judged wrongly", voice.group(attribute, pair.0)), true)
            }
            ("demp_difference" | "eopp_difference" | "acc_difference", "pair") => {
                let name = voice.measured(metric);
                let name = name.unwrap_or_else(|| glossary.show(metric).name);
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
        let arm = arm.to_owned();
        found.push(ArmRateChange { arm, label, before, after, interval, trainings, is_harm });
    }
    found
}

/// What opens the section: the switches before and after in each arm, the accuracy, and the harms
/// that are larger, each with its arms.
fn opening(arms: &[TradeOffArm], rate: &str, changes: &[ArmRateChange]) -> Vec<PageBlock> {
    let share = |point: &PlotPoint| value_text(NumberFormat::Share, point.value, point.interval);
    let mut blocks: Vec<PageBlock> = Vec::new();
    if let [base, others @ ..] = arms {
        let after = |of: fn(&TradeOffArm) -> &PlotPoint| {
            let arms = others.iter().map(|arm| format!("{} (arm {})", share(of(arm)), arm.name));
            arms.collect::<Vec<_>>().join(", ")
        };
        let lead = format!(
            "{rate}: {} before, {} after retraining.",
            share(&base.rate),
            after(|arm| &arm.rate)
        );
        blocks.push(BriefBlock::Lead(RichText::new().quote(lead)).into());
        let mut accuracy = format!(
            "{JUDGED_CORRECTLY}: {} before, {} after.",
            share(&base.right),
            after(|arm| &arm.right)
        );
        for change in changes.iter().filter(|change| !change.is_harm && change.is_clear()) {
            let by =
                value_text(NumberFormat::Points, change.after - change.before, change.interval);
            accuracy += &format!(" Clear change: {by} (arm {}, {}).", change.arm, change.ends());
        }
        blocks.push(PageBlock::Text(RichText::new().quote(accuracy)));
    }
    let mut larger: Vec<&ArmRateChange> = changes
        .iter()
        .filter(|change| change.is_harm && change.is_clear() && change.worse_by() > 0.0)
        .collect();
    larger.sort_by(|a, b| b.worse_by().total_cmp(&a.worse_by()));
    let mut named: Vec<(&str, Vec<String>)> = Vec::new();
    for change in &larger {
        let by = value_text(NumberFormat::Distance, change.worse_by(), change.interval);
        let by = format!("by {by} (arm {})", change.arm);
        match named.iter_mut().find(|(label, _)| *label == change.label) {
            Some((_, all)) => all.push(by),
            None => named.push((&change.label, vec![by])),
        }
    }
    let words = if named.is_empty() {
        "No harm is clearly larger after retraining.".to_owned()
    } else {
        let named: Vec<String> =
            named.iter().map(|(label, by)| format!("{label}, {}", by.join(", "))).collect();
        format!("Larger after retraining: {}.", named.join("; "))
    };
    let words = RichText::new().quote(words);
    blocks.push(if blocks.is_empty() {
        BriefBlock::Lead(words).into()
    } else {
        PageBlock::Text(words)
    });
    blocks
}

/// A row for each harm. Accuracy is not among them: it is drawn above, and on its scale nothing
/// else could be seen.
fn dumbbells(inputs: &BriefInputs<'_>, changes: &[ArmRateChange]) -> Vec<PageBlock> {
    let changes: Vec<&ArmRateChange> = changes.iter().filter(|change| change.is_harm).collect();
    let mut arms: Vec<&str> = Vec::new();
    for change in &changes {
        if !arms.contains(&change.arm.as_str()) {
            arms.push(&change.arm);
        }
    }
    if changes.is_empty() {
        return Vec::new();
    }
    let scale =
        PlotScale::around_zero(changes.iter().flat_map(|change| [change.before, change.after]));
    let mut bodies = vec![PlotBody {
        block: false,
        lines: vec![PlotLine::Axis(axis(scale, AxisUnit::Percent, None))],
    }];
    for arm in arms {
        let mut mine: Vec<&ArmRateChange> =
            changes.iter().copied().filter(|c| c.arm == arm).collect();
        mine.sort_by(|a, b| {
            b.is_clear().cmp(&a.is_clear()).then(b.worse_by().total_cmp(&a.worse_by()))
        });
        let mut lines = vec![PlotLine::Sub(RichText::from("Arm ").name(arm))];
        for change in mine.iter().take(ROWS_AT_MOST) {
            let kind = NumberFormat::Points;
            let value = value_text(kind, change.after - change.before, change.interval);
            let ends = change.ends();
            let title = format!("{}: change {value}, {ends}", change.label);
            lines.push(PlotLine::Row(Box::new(PlotRow {
                label: RichText::new().quote(&change.label),
                people: change.word().into(),
                drawing: dumbbell_row(
                    scale,
                    (change.before, change.after),
                    change.is_clear(),
                    &title,
                ),
                value: value.replace("\u{a0}points", "").replace("\u{a0}point", ""),
                href: inputs.href("augmentation"),
                ends,
                ..PlotRow::default()
            })));
        }
        bodies.push(PlotBody { block: false, lines });
    }
    let keys = RichText::new().key(KeyShape::Ring, "before").key(KeyShape::Dot, "after").text(
        "Changes are in points; worse first. Thick: the change is clearly different from \
         zero. With many comparisons a few are clear by chance.",
    );
    let keys = if changes.iter().any(|change| change.word() == REVERSED) {
        keys.text(" Reversed: the gap now favours the other group.")
    } else {
        keys
    };
    let keys = if changes.iter().any(|change| change.trainings != TrainingChanges::NotAsked) {
        keys.text(
            " The model was trained again: a change is clear only if the range over other \
             trainings leaves out zero on the same side; each is compared with the training of the \
             base that has the same seed.",
        )
    } else {
        keys
    };
    let keys = if changes.iter().any(|change| change.lacks_trainings()) {
        keys.text(
            " Not judged: clearly different from zero for other people, but fewer than 95 % of the \
             trainings give the change.",
        )
    } else {
        keys
    };
    let label = "Rates before and after retraining".to_owned();
    vec![PageBlock::Note(keys), BriefBlock::Plots(PlotTable { label, class: "", bodies }).into()]
}

/// The section; none where the job has no experiment.
pub(super) fn section(
    inputs: &BriefInputs<'_>,
    glossary: &mut PageGlossary<'_>,
) -> Option<BriefSection> {
    let audit = inputs.audit;
    let experiments = &audit.manifest.experiments;
    if experiments.is_empty() {
        return None;
    }
    let mut blocks: Vec<PageBlock> = Vec::new();
    for words in experiments.iter().take(EXPERIMENTS_AT_MOST) {
        let numbers: Vec<(&str, &ArmNumbers)> = words
            .arms
            .iter()
            .filter_map(|arm| {
                Some((arm.name.as_str(), audit.arms.get(&format!("{}/{}", words.name, arm.name))?))
            })
            .collect();
        let Some((_, base)) = numbers.first() else { continue };
        if experiments.len() > 1 {
            let heading = RichText::new().name(&words.name);
            blocks.push(PageBlock::Heading(format!("arms-{}", blocks.len()), heading));
        }
        let empty = without_rows(inputs, words);
        if !empty.is_empty() {
            blocks.push(BriefBlock::Lead(nothing_added(&empty)).into());
        }
        if empty.len() + 1 == words.arms.len() {
            continue;
        }
        let mut changes = changes(inputs, words, glossary);
        changes.retain(|change| !empty.contains(&change.arm.as_str()));
        let rate = worst_rate(inputs, base, words);
        let mut arms = Vec::new();
        if let Some((key, metric, _)) = &rate {
            let right = |numbers: &ArmNumbers| {
                numbers
                    .measures
                    .iter()
                    .filter(|(key, _)| key.scope == "total")
                    .find_map(|(_, values)| point(values.get("acc")?))
            };
            for (name, numbers) in numbers.iter().filter(|(name, _)| !empty.contains(name)) {
                let of = numbers.measure(key, metric).and_then(point).zip(right(numbers));
                arms.extend(of.map(|(rate, right)| TradeOffArm {
                    name: short(name).into_owned(),
                    rate,
                    right,
                }));
            }
        }
        let title = rate.as_ref().map_or_else(String::new, |(key, _, side)| {
            inputs.voice.switch_heading(*side, &key.attribute, (&key.from, &key.to))
        });
        let who = rate
            .as_ref()
            .map_or_else(String::new, |(key, _, side)| who_switches(inputs, key, *side));
        blocks.extend(opening(&arms, &who, &changes));
        if let [_, arms @ .., last] = words.arms.as_slice() {
            let start = RichText::from("Rows that each arm adds to the training rows. ");
            let added = arms
                .iter()
                .fold(start, |all, arm| all.name(&arm.name).quote(format!(": {}; ", arm.words)));
            let added = added.name(&last.name).quote(format!(": {}.", last.words));
            blocks.push(PageBlock::Note(added));
        }
        // The line runs across all arms, so it must be the limit of each.
        let limit = rate.as_ref().and_then(|(key, metric, _)| {
            let of_arm = |arm: &str| {
                JudgedValue::plain(key, metric).of_arm(&format!("{}/{arm}", words.name))
            };
            let limit = limits::common(inputs.limits, numbers.iter().map(|(arm, _)| of_arm(arm)))?;
            Some((limit.limit, format!("limit {}", limit.amount)))
        });
        if arms.len() > 1 {
            let caption = RichText::new().strong(title.clone()).text(
                " (across) and people who are judged correctly (up). Ring: before retraining.",
            );
            let is_trained_again = arms.iter().any(|arm| arm.rate.second.is_some());
            let dashed = if is_trained_again { " Dashed: other trainings." } else { "" };
            let caption = caption.text(dashed);
            let limit = limit.as_ref().map(|(value, label)| (*value, label.as_str()));
            let drawing = trade_off(&format!("{title}, and accuracy, of each arm"), &arms, limit);
            blocks.push(BriefBlock::Wide(caption, drawing).into());
        }
        blocks.extend(dumbbells(inputs, &changes));
    }
    let note = RichText::from("All values with counts, intervals and folds: ");
    let note = inputs.link(note, "Did augmentation help", "augmentation");
    blocks.push(PageBlock::Note(note.text(".")));
    Some(BriefSection {
        id: "retraining",
        title: "Did retraining help?".into(),
        short: "Retraining",
        blocks,
    })
}
