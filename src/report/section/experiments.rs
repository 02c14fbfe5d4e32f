//! Section "Did augmentation help": of every experiment the arms in columns, each value with its
//! change against the base.
//!
//! Everything is measured on the rows of all folds together; what single folds give stands folded
//! below. Changes depend on the same people and the same draws. The section states the trade-off
//! and names no winner: what a switched decision is worth in accuracy is not in the tables.

use std::collections::BTreeMap;

use crate::folder::manifest::ExperimentWords;
use crate::metric::catalog::place::PageList;
use crate::report::page::cells::level_in_words;
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageSection, PageTable, ReportRow};
use crate::report::read::audit::{ArmNumbers, AuditFolder};
use crate::report::read::panel::{
    EccmTallies, KeyedRow, ReportedValue, ResultKey, TrainingChanges, is_clear_change,
};
use crate::report::section::switches::cell_with_placebo;
use crate::table::{ArmFoldRow, ArmRow};

/// Pairs or directions of an attribute in one table.
const PAIRS_AT_MOST: usize = 12;

/// Experiments on one page.
const EXPERIMENTS_AT_MOST: usize = 6;

/// A difference of an arm from the base.
struct ArmChange {
    value: f64,
    interval: Option<(f64, f64)>,
    /// The changes that other trainings give.
    trainings: TrainingChanges,
    kind: NumberFormat,
    /// Said where the labels behind it are missing for some people more often than for others.
    missing_labels: Option<&'static str>,
}

impl ArmChange {
    /// Whether its interval, and the changes of other trainings, leave out zero.
    fn clear(&self) -> bool {
        is_clear_change(self.interval, self.trainings)
    }

    fn value(&self) -> RichText {
        let value = self.kind.value(self.value);
        if self.clear() { RichText::new().strong(value) } else { value.into() }
    }

    fn ends(&self) -> Option<String> {
        self.interval.map(|(lo, hi)| format!("({})", self.kind.interval(self.value, lo, hi)))
    }

    /// In a sentence.
    fn words(&self) -> RichText {
        self.ends().into_iter().fold(self.value(), |words, ends| words.text(" ").text(ends))
    }

    /// Of a gap with a sign, in a sentence: how much narrower or wider it is, and both its values.
    /// Where it turns round, only its values.
    fn of_gap(&self, base: f64, kind: NumberFormat) -> RichText {
        let arm = base + self.value;
        let values = format!("from {} to {}", kind.value(base), kind.value(arm));
        let Some(change) = apart_from_zero(base, arm) else {
            return format!("is reversed, {values}").into();
        };
        if change == 0.0 {
            return format!("stays at {}", kind.value(base)).into();
        }
        let size = match self.kind {
            NumberFormat::Points => NumberFormat::Distance,
            _ => NumberFormat::Plain,
        };
        // Of the change in size: with the sign of the gap, and turned where it narrows.
        let turn = if self.value < 0.0 { -1.0 } else { 1.0 };
        let by = size.value(change.abs());
        let words = RichText::from(if change < 0.0 { "narrows by " } else { "widens by " });
        let words = if self.clear() { words.strong(by) } else { words.text(by) };
        let words = match self.interval {
            Some((lo, hi)) => {
                let (lo, hi) = if turn < 0.0 { (-hi, -lo) } else { (lo, hi) };
                words.text(format!(" ({})", size.interval(change.abs(), lo, hi)))
            }
            None => words,
        };
        words.text(format!(", {values}"))
    }

    /// Below a value.
    /// What other trainings give, next to the change.
    fn of_trainings(&self) -> Option<String> {
        match self.trainings {
            TrainingChanges::NotAsked => None,
            TrainingChanges::TooFew => Some("too few trainings give this change".to_owned()),
            TrainingChanges::Range((lo, hi)) => {
                Some(format!("other trainings: change {}", self.kind.interval(self.value, lo, hi)))
            }
        }
    }

    fn lines(&self) -> impl Iterator<Item = RichText> {
        std::iter::once(RichText::from("change ").and(self.value()))
            .chain(self.ends().map(RichText::from))
            .chain(self.of_trainings().map(RichText::from))
            .chain(self.missing_labels.map(RichText::from))
    }
}

/// How much farther from zero a gap is than it was, below 0 where it is nearer; none where it has
/// turned round.
fn apart_from_zero(before: f64, after: f64) -> Option<f64> {
    let zero = |x: f64| if x.abs() < number::ROUNDING { 0.0 } else { x };
    let (before, after) = (zero(before), zero(after));
    (before * after >= 0.0).then(|| zero(after.abs() - before.abs()))
}

/// What became of the size of a gap that has a sign; empty for what is not such a gap.
fn in_size(before: f64, after: f64, kind: NumberFormat) -> &'static str {
    match apart_from_zero(before, after) {
        _ if !matches!(kind, NumberFormat::Points | NumberFormat::Signed) => "",
        None => "the gap is reversed",
        Some(change) if change < 0.0 => "the gap is narrower",
        Some(change) if change > 0.0 => "the gap is wider",
        Some(_) => "",
    }
}

/// One experiment and its numbers.
struct ExperimentNumbers<'a> {
    words: &'a ExperimentWords,
    /// The arms in order, with what the tables hold of them.
    arms: Vec<(&'a str, &'a ArmNumbers)>,
    /// By arm, key and metric.
    changes: BTreeMap<&'a str, BTreeMap<ResultKey, BTreeMap<&'a str, ArmChange>>>,
}

/// The section; none where the job has no experiment.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageSection> {
    let experiments = &audit.manifest.experiments;
    if experiments.is_empty() {
        return None;
    }
    let mut blocks = vec![PageBlock::Text(
        "A model is retrained with additional training rows, and every arm is measured on the same \
         audited rows and counterfactuals, none of which it was trained on. Below each value are \
         its interval and its change against the base, with the interval of that change in \
         brackets; what a person adds to both arms is taken together. The change of a gap with a sign \
         includes the sign: from −28 to −24 points it is +4 points, and the gap is narrower. Bold: \
         clearly different from zero; with many comparisons a few are bold by chance. Changes of \
         score metrics are given without an interval."
            .into(),
    )];
    if audit.comparisons.iter().any(|row| !row.arm.is_empty() && row.training_repeats.is_some()) {
        blocks.push(PageBlock::Text(
            "Other trainings: the model was trained again with other seeds, or on rows that are \
             drawn again, in every arm and in the base; the changes are those of trainings with \
             the same seed. Of a bold change the range over other trainings leaves out zero, too; \
             where fewer than 95 % of the trainings give a change, it has no such range and is not \
             bold."
                .into(),
        ));
    }
    for words in experiments.iter().take(EXPERIMENTS_AT_MOST) {
        blocks.extend(ExperimentNumbers::of(audit, words).blocks(audit, glossary));
    }
    if experiments.len() > EXPERIMENTS_AT_MOST {
        let more = experiments.len() - EXPERIMENTS_AT_MOST;
        blocks.push(PageBlock::Note(
            format!(
                "{more} more experiments are only in tables/metrics.parquet and \
                 tables/comparisons.parquet."
            )
            .into(),
        ));
    }
    Some(PageSection { id: "augmentation", title: "Did augmentation help", blocks })
}

impl<'a> ExperimentNumbers<'a> {
    fn of(audit: &'a AuditFolder, words: &'a ExperimentWords) -> Self {
        let numbers = |arm: &'a str| Some((arm, audit.arms.get(&format!("{}/{arm}", words.name))?));
        let arms = words.arms.iter().filter_map(|arm| numbers(&arm.name)).collect();
        let mut changes: BTreeMap<&str, BTreeMap<ResultKey, BTreeMap<&str, ArmChange>>> =
            BTreeMap::new();
        for row in audit.comparisons.iter() {
            let Some((_, arm)) = row.arm.split_once('/').filter(|(name, _)| *name == words.name)
            else {
                continue;
            };
            let Some(value) = row.difference else { continue };
            let (metric, interval) = (row.metric.as_str(), row.lo.zip(row.hi));
            let change = ArmChange {
                value,
                interval,
                trainings: TrainingChanges::of(row),
                kind: terms::kind(metric, &row.scope).of_change(),
                missing_labels: terms::missing_labels(row),
            };
            changes.entry(arm).or_default().entry(row.key()).or_default().insert(metric, change);
        }
        ExperimentNumbers { words, arms, changes }
    }

    fn change(&self, arm: &str, key: &ResultKey, metric: &str) -> Option<&ArmChange> {
        self.changes.get(arm)?.get(key)?.get(metric)
    }

    fn key(&self, attribute: &str, with_set: bool, scope: &str, from: &str, to: &str) -> ResultKey {
        ResultKey {
            model: self.words.model.clone(),
            set: if with_set { self.words.counterfactual.clone() } else { String::new() },
            attribute: attribute.to_owned(),
            scope: scope.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        }
    }

    fn blocks(&self, audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Vec<PageBlock> {
        let words = self.words;
        let folds = match words.folds {
            Some(folds) => format!(
                "{folds} folds; every row is audited once, by models trained on the other folds"
            ),
            None => "trained and audited on the split of the job".to_owned(),
        };
        let about = RichText::new()
            .text("Model ")
            .name(&words.model)
            .text(", counterfactual set ")
            .name(&words.counterfactual);
        let mut blocks = vec![
            PageBlock::Heading(
                format!("augmentation-{}", words.name),
                RichText::new().name(&words.name),
            ),
            PageBlock::Text(about.text(format!("; {folds}.{}", self.people(audit)))),
            PageBlock::Table(self.added(audit)),
        ];
        blocks.extend(self.thresholds(audit));
        let attributes: Vec<&str> =
            audit.manifest.attributes.iter().map(|a| a.name.as_str()).collect();
        let changed: Vec<&str> = attributes
            .iter()
            .copied()
            .filter(|name| self.has(&self.key(name, true, "total", "", "")))
            .collect();
        blocks.extend(self.trade_off(audit, &attributes, &changed, glossary));
        let first = attributes
            .iter()
            .map(|name| self.key(name, false, "total", "", ""))
            .find(|key| self.has(key));
        if let Some(key) = first {
            let rows: Vec<(RichText, ResultKey, &str)> = PageList::ArmPerformance
                .ids()
                .iter()
                .map(|m| (glossary.title(m), key.clone(), *m))
                .collect();
            blocks.extend(self.table("Performance, all rows audited".into(), "Metric", rows));
        }
        for name in &attributes {
            blocks.extend(self.gaps(audit, name, glossary));
        }
        for name in &changed {
            blocks.extend(self.switching(audit, name, glossary));
        }
        blocks.extend(self.folds(audit, &changed, glossary));
        blocks
    }

    /// How many people the arms are measured on, where these are others than those of the audit;
    /// empty where they are the same.
    fn people(&self, audit: &AuditFolder) -> String {
        let attributes =
            audit.manifest.attributes.iter().map(|a| self.key(&a.name, false, "total", "", ""));
        let of_arms = |key: ResultKey| {
            self.arms
                .iter()
                .filter_map(|(_, numbers)| numbers.measures.get(&key))
                .flat_map(|m| m.values())
                .map(|m| m.n_rows)
                .max()
        };
        let count = |n: u64| number::count(i64::try_from(n).unwrap_or(i64::MAX));
        let rows = &audit.manifest.rows;
        match attributes.filter_map(of_arms).max() {
            Some(n) if u64::try_from(n).is_ok_and(|n| n != rows.audited) => format!(
                " So the arms are measured on {} people: the folds go over all {} rows kept, while \
                 the rest of this page is about the {} audited rows of the job's split.",
                number::count(n),
                count(rows.kept),
                count(rows.audited)
            ),
            _ => String::new(),
        }
    }

    fn has(&self, key: &ResultKey) -> bool {
        self.arms.iter().any(|(_, numbers)| numbers.measures.contains_key(key))
    }

    /// What every arm was trained on, a fold on average.
    fn added(&self, audit: &AuditFolder) -> PageTable {
        let rows = self.words.arms.iter().enumerate().map(|(place, arm)| {
            let name = format!("{}/{}", self.words.name, arm.name);
            let mine: Vec<&ArmRow> =
                audit.added.iter().filter(|row| row.arm.as_str() == name).collect();
            let sum = |of: fn(&ArmRow) -> i64| mine.iter().map(|row| of(row)).sum::<i64>();
            let mean = |n: i64| number::count((n as f64 / mine.len().max(1) as f64).round() as i64);
            let (before, positive, extra) =
                (sum(|row| row.n_rows), sum(|row| row.n_positive), sum(|row| row.n_added_positive));
            let (candidates, taken, synthetic) = (
                sum(|row| row.n_candidates),
                sum(|row| row.n_counterfactuals),
                sum(|row| row.n_synthetic),
            );
            let after = before + taken + synthetic;
            let of = (candidates > 0).then(|| format!("of {}", mean(candidates)).into());
            let share = |part: i64, whole: i64| {
                NumberFormat::Share.value(if whole > 0 { part as f64 / whole as f64 } else { 0.0 })
            };
            let nothing = place > 0 && before > 0 && taken + synthetic == 0;
            let remark = nothing.then(|| "found no rows to add and is equal to the base".into());
            let cells = vec![
                PageCell {
                    main: arm.words.as_str().into(),
                    small: remark.into_iter().collect(),
                    ..PageCell::default()
                },
                PageCell {
                    main: mean(taken).into(),
                    small: of.into_iter().collect(),
                    ..PageCell::default()
                },
                mean(synthetic).into(),
                mean(after).into(),
                share(positive + extra, after).into(),
            ];
            ReportRow { id: String::new(), head: RichText::new().name(&arm.name), cells }
        });
        // Rows are counted here, without weights.
        let positive = if audit.manifest.weight.is_some() { "Positive rows" } else { "Positive" };
        let head = [
            "Arm",
            "Rows added to the training rows",
            "Counterfactuals",
            "Synthetic rows",
            "Rows trained on",
            positive,
        ];
        let caption = if self.words.folds.is_some() {
            "Training rows of the arms, mean of the folds"
        } else {
            "Training rows of the arms"
        };
        PageTable {
            caption: caption.into(),
            head: head.map(RichText::from).to_vec(),
            rows: rows.collect(),
            prose: true,
        }
    }

    /// The thresholds of the arms, where they were fitted.
    fn thresholds(&self, audit: &AuditFolder) -> Option<PageBlock> {
        let mut words = RichText::from(
            "Every arm has its own threshold in every fold, fitted to its scores of the \
             training rows without the added rows: ",
        );
        let mut any = false;
        for arm in &self.words.arms {
            let name = format!("{}/{}", self.words.name, arm.name);
            let mine = audit.thresholds.iter().filter(|row| row.arm.as_str() == name);
            let mut values: Vec<f64> = mine.map(|row| row.threshold).collect();
            values.sort_by(f64::total_cmp);
            let (Some(&low), Some(&high)) = (values.first(), values.last()) else { continue };
            let (low, high) = (NumberFormat::Plain.value(low), NumberFormat::Plain.value(high));
            let span = if low == high { low } else { format!("{low} to {high}") };
            words = words.text(if any { "; " } else { "" }).name(&arm.name).text(" ").text(span);
            any = true;
        }
        any.then(|| PageBlock::Text(words.text(".")))
    }

    /// The changes that matter most, arm by arm, in one sentence each.
    fn trade_off(
        &self,
        audit: &AuditFolder,
        attributes: &[&str],
        changed: &[&str],
        glossary: &mut PageGlossary<'_>,
    ) -> Vec<PageBlock> {
        let first = attributes
            .iter()
            .map(|name| self.key(name, false, "total", "", ""))
            .find(|key| self.has(key));
        let mut sentences = Vec::new();
        for (arm, _) in self.arms.iter().skip(1) {
            let mut words = RichText::new().strong((*arm).to_owned()).text(": ");
            let mut any = false;
            let mut add = |name: RichText,
                           change: Option<&ArmChange>,
                           of_gap: Option<(f64, NumberFormat)>| {
                let Some(change) = change else { return };
                let clear = if change.clear() { "" } else { ", not clear" };
                let told = match change.missing_labels {
                    Some(missing) => format!("{clear} ({missing})"),
                    None => clear.to_owned(),
                };
                let said =
                    of_gap.map_or_else(|| change.words(), |(base, kind)| change.of_gap(base, kind));
                words = std::mem::take(&mut words)
                    .text(if any { "; " } else { "" })
                    .and(name)
                    .text(" ")
                    .and(said)
                    .text(told);
                any = true;
            };
            for metric in ["acc", "tpr"] {
                add(
                    glossary.show(metric).name.into(),
                    first.as_ref().and_then(|key| self.change(arm, key, metric)),
                    None,
                );
            }
            for attribute in changed {
                let total = self.key(attribute, true, "total", "", "");
                let name = RichText::from(glossary.show("sr").name).text(" by ").name(*attribute);
                add(name, self.change(arm, &total, "sr"), None);
                if let [a, b] = audit.groups_of(attribute).as_slice() {
                    let pair = self.key(attribute, false, "pair", a, b);
                    let name = RichText::from(glossary.show("demp_difference").name)
                        .text(" by ")
                        .name(*attribute);
                    let base = self
                        .base(&pair, "demp_difference")
                        .map(|base| (base, terms::kind("demp_difference", "pair")));
                    add(name, self.change(arm, &pair, "demp_difference"), base);
                }
            }
            if any {
                sentences.push(words.text("."));
            }
        }
        if sentences.is_empty() {
            return Vec::new();
        }
        let intro = "The trade-off, as changes against the base. Fewer switched decisions and \
                     smaller gaps may or may not cost accuracy; which arm is better depends \
                     on their relative importance, and this page names no winner.";
        let mut blocks = vec![PageBlock::Text(intro.into())];
        blocks.push(PageBlock::Findings(sentences));
        blocks
    }

    /// A table with the arms in columns; none where no arm has any of the values.
    fn table(
        &self,
        caption: RichText,
        head: &str,
        rows: Vec<(RichText, ResultKey, &str)>,
    ) -> Option<PageBlock> {
        let rows: Vec<(RichText, ResultKey, &str)> = rows
            .into_iter()
            .filter(|(_, key, metric)| {
                self.arms.iter().any(|(_, n)| n.measure(key, metric).is_some())
            })
            .collect();
        if rows.is_empty() {
            return None;
        }
        let measures: Vec<&ReportedValue> = rows
            .iter()
            .flat_map(|(_, key, metric)| {
                self.arms.iter().filter_map(move |(_, n)| n.measure(key, metric))
            })
            .collect();
        let levels = level_in_words(measures.iter().copied());
        let mut columns = vec![RichText::from(head)];
        columns.extend(self.arms.iter().map(|(arm, _)| RichText::new().name(*arm)));
        let row = |(head, key, metric): (RichText, ResultKey, &str)| {
            let cells = self
                .arms
                .iter()
                .map(|(arm, numbers)| self.cell(arm, numbers.measure(&key, metric), &key, metric))
                .collect();
            ReportRow { id: String::new(), head, cells }
        };
        Some(PageBlock::Table(PageTable {
            caption: caption.text(levels),
            head: columns,
            rows: rows.into_iter().map(row).collect(),
            prose: false,
        }))
    }

    fn cell(
        &self,
        arm: &str,
        measure: Option<&ReportedValue>,
        key: &ResultKey,
        metric: &str,
    ) -> PageCell {
        let kind = terms::kind(metric, &key.scope);
        let mut cell = cell_with_placebo(measure, kind);
        let both =
            measure.and_then(|m| m.value).zip(self.base(key, metric)).filter(|_| arm != "base");
        if let Some(change) = self.change(arm, key, metric) {
            cell.small.extend(change.lines());
        } else if let Some((value, base)) = both {
            // Of score metrics only the difference is known.
            cell.small.push(format!("change {}", kind.of_change().value(value - base)).into());
        }
        if let Some((value, base)) = both.filter(|_| key.scope == "pair") {
            let words = in_size(base, value, kind);
            cell.small.extend((!words.is_empty()).then(|| words.into()));
        }
        cell
    }

    fn base(&self, key: &ResultKey, metric: &str) -> Option<f64> {
        self.arms.first().and_then(|(_, numbers)| numbers.measure(key, metric)?.value)
    }

    fn gaps(
        &self,
        audit: &AuditFolder,
        attribute: &str,
        glossary: &mut PageGlossary<'_>,
    ) -> Vec<PageBlock> {
        let groups = audit.groups_of(attribute);
        let pairs = groups
            .iter()
            .enumerate()
            .flat_map(|(i, a)| groups[i + 1..].iter().map(move |b| (a, b)));
        let pairs: Vec<(&String, &String)> =
            pairs.filter(|(a, b)| self.has(&self.key(attribute, false, "pair", a, b))).collect();
        let mut blocks = Vec::new();
        for (a, b) in pairs.iter().take(PAIRS_AT_MOST) {
            let key = self.key(attribute, false, "pair", a, b);
            let gaps = PageList::ArmGaps.ids().iter();
            let rows = gaps.map(|m| (glossary.title(m), key.clone(), *m)).collect();
            let caption = RichText::from("Gaps by ")
                .name(attribute)
                .text(": ")
                .name(*a)
                .text(" and ")
                .name(*b);
            blocks.extend(self.table(caption, "Gap", rows));
        }
        blocks.extend(more(pairs.len(), "pairs of groups"));
        blocks
    }

    /// Switch rates, score shift and matrices of an attribute.
    fn switching(
        &self,
        audit: &AuditFolder,
        attribute: &str,
        glossary: &mut PageGlossary<'_>,
    ) -> Vec<PageBlock> {
        let groups = audit.groups_of(attribute);
        let all = groups
            .iter()
            .flat_map(|from| groups.iter().filter(move |to| *to != from).map(move |to| (from, to)));
        let mut directions: Vec<ResultKey> =
            all.map(|(from, to)| self.key(attribute, true, "direction", from, to)).collect();
        directions.retain(|key| self.has(key));
        // The highest switch rates of the base first; the sort is stable.
        let rate = |key: &ResultKey| self.base(key, "sr").unwrap_or(-1.0);
        if directions.len() > PAIRS_AT_MOST {
            directions.sort_by(|x, y| rate(y).total_cmp(&rate(x)));
        }
        let n = directions.len();
        directions.truncate(PAIRS_AT_MOST);
        let mut blocks = Vec::new();
        let rates = if n > 2 { PageList::ArmSwitchesOfMany } else { PageList::ArmSwitches };
        for (list, what) in
            [(rates, "Switch rates by "), (PageList::ArmShifts, "How far scores move by ")]
        {
            let metrics = list.ids();
            let row = |key: &ResultKey, metric: &'static str, glossary: &mut PageGlossary<'_>| {
                let head = match key.scope.as_str() {
                    "total" => RichText::from("all directions, "),
                    _ => RichText::direction(&key.from, &key.to).text(", "),
                };
                (head.and(glossary.title(metric)), key.clone(), metric)
            };
            let mut rows = Vec::new();
            for key in &directions {
                rows.extend(metrics.iter().map(|m| row(key, m, glossary)));
            }
            let total = self.key(attribute, true, "total", "", "");
            rows.extend(metrics.iter().take(1).map(|m| row(&total, m, glossary)));
            blocks.extend(self.table(
                RichText::from(what).name(attribute),
                "Direction and metric",
                rows,
            ));
        }
        let matrices: Vec<PageTable> =
            directions.iter().filter_map(|key| self.matrix(key)).collect();
        if !matrices.is_empty() {
            blocks.push(PageBlock::Fold(
                "Extended counterfactual confusion matrices of the arms",
                matrices.into_iter().map(PageBlock::Table).collect(),
            ));
        }
        blocks.extend(more(n, "directions"));
        blocks
    }

    /// The ECCM of a direction, a row per cell and a column per arm.
    fn matrix(&self, key: &ResultKey) -> Option<PageTable> {
        let of_arms: Vec<(&str, Option<&EccmTallies>)> =
            self.arms.iter().map(|(arm, numbers)| (*arm, numbers.cells.get(key))).collect();
        if !of_arms.iter().any(|(_, cells)| cells.is_some_and(EccmTallies::labelled)) {
            return None;
        }
        let mut rows = Vec::new();
        for (label, name, symbols) in [
            (2, "positive", [["TCP", "TSN"], ["FSP", "FCN"]]),
            (1, "negative", [["FCP", "FSN"], ["TSP", "TCN"]]),
        ] {
            for (predicted, of_row) in [(1, symbols[0]), (0, symbols[1])] {
                for (cf, symbol) in [(1, of_row[0]), (0, of_row[1])] {
                    let cell = |cells: Option<&EccmTallies>| -> PageCell {
                        let Some(cells) = cells else { return "\u{2013}".into() };
                        let [negative, positive] = cells.0[label][predicted];
                        let (mine, whole) =
                            (cells.0[label][predicted][cf], negative.plus(positive));
                        let share = number::share(mine, whole, false);
                        PageCell {
                            main: number::count(mine.n).into(),
                            small: share.into_iter().map(RichText::from).collect(),
                            ..PageCell::default()
                        }
                    };
                    let side =
                        |positive: usize| if positive == 1 { "positive" } else { "negative" };
                    let text = format!(
                        " label {name}, predicted {}, counterfactual {}",
                        side(predicted),
                        side(cf)
                    );
                    let cells = of_arms.iter().map(|(_, cells)| cell(*cells)).collect();
                    rows.push(ReportRow {
                        id: String::new(),
                        head: RichText::new().code(symbol).text(text),
                        cells,
                    });
                }
            }
        }
        let mut head = vec![RichText::from("Cell")];
        head.extend(of_arms.iter().map(|(arm, _)| RichText::new().name(*arm)));
        let caption = RichText::new()
            .name(&key.attribute)
            .text(", ")
            .and(RichText::direction(&key.from, &key.to));
        Some(PageTable {
            caption: caption.text(
                ": counterfactuals, and their share among those of the same label and prediction",
            ),
            head,
            rows,
            prose: false,
        })
    }

    /// How the values of single folds differ.
    fn folds(
        &self,
        audit: &AuditFolder,
        changed: &[&str],
        glossary: &mut PageGlossary<'_>,
    ) -> Option<PageBlock> {
        self.words.folds?;
        let mut found: BTreeMap<(&str, &str, &str, &str), BTreeMap<&str, &ArmFoldRow>> =
            BTreeMap::new();
        let attributes: Vec<&str> =
            audit.manifest.attributes.iter().map(|a| a.name.as_str()).collect();
        for row in audit.spreads.iter().filter(|row| row.key.scope == "total") {
            let Some((_, arm)) =
                row.key.arm.split_once('/').filter(|(name, _)| *name == self.words.name)
            else {
                continue;
            };
            let (set, attribute, metric) =
                (row.key.counterfactual.as_str(), row.key.sensitive.as_str(), row.metric.as_str());
            let of_rows = set.is_empty()
                && Some(&attribute) == attributes.first()
                && PageList::ArmFolds.shows(metric);
            let of_world =
                !set.is_empty() && changed.contains(&attribute) && PageList::ArmFolds.shows(metric);
            if of_rows || of_world {
                found
                    .entry((if of_world { attribute } else { "" }, set, attribute, metric))
                    .or_default()
                    .insert(arm, row);
            }
        }
        let rows: Vec<ReportRow> = found
            .into_iter()
            .map(|((of, _, _, metric), by_arm)| {
                let kind = terms::kind(metric, "total");
                let cell = |arm: &str| -> PageCell {
                    let Some((row, mean)) = by_arm.get(arm).and_then(|row| Some((row, row.mean?)))
                    else {
                        return "\u{2013}".into();
                    };
                    let sd = row.sd.map(|sd| {
                        format!("sd {}", NumberFormat::value(spread_format(kind), sd)).into()
                    });
                    let ends = row
                        .lowest
                        .zip(row.highest)
                        .map(|(lo, hi)| kind.interval(mean, lo, hi).into());
                    PageCell {
                        main: kind.value(mean).into(),
                        small: sd.into_iter().chain(ends).collect(),
                        ..PageCell::default()
                    }
                };
                let head = glossary.title(metric);
                let head = if of.is_empty() { head } else { head.text(" by ").name(of) };
                ReportRow {
                    id: String::new(),
                    head,
                    cells: self.arms.iter().map(|(arm, _)| cell(arm)).collect(),
                }
            })
            .collect();
        let mut head = vec![RichText::from("Metric")];
        head.extend(self.arms.iter().map(|(arm, _)| RichText::new().name(*arm)));
        let caption = "Mean of the folds, each counted once; below it standard deviation, lowest \
                       and highest fold";
        let table = PageTable { caption: caption.into(), head, rows, prose: false };
        (!table.rows.is_empty())
            .then(|| PageBlock::Fold("How the folds differ", vec![PageBlock::Table(table)]))
    }
}

/// How a deviation of such values is printed.
fn spread_format(kind: NumberFormat) -> NumberFormat {
    match kind {
        NumberFormat::Share | NumberFormat::Points | NumberFormat::Distance => {
            NumberFormat::Distance
        }
        NumberFormat::Plain | NumberFormat::Signed | NumberFormat::FeatureUnit => {
            NumberFormat::Plain
        }
    }
}

fn more(n: usize, what: &str) -> Option<PageBlock> {
    (n > PAIRS_AT_MOST).then(|| {
        PageBlock::Note(
            format!(
                "{} more {what} are only in tables/metrics.parquet and tables/comparisons.parquet.",
                n - PAIRS_AT_MOST
            )
            .into(),
        )
    })
}
