//! Section "Did augmentation help": of every experiment the arms in columns, each value with its
//! change against the base.
//!
//! Everything is measured on the rows of all folds together; what single folds give stands folded
//! below. Changes depend on the same people and the same draws. The section states the trade-off
//! and names no winner: what a switched decision is worth in accuracy is not in the tables.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;

use crate::folder::manifest::{ArmWords, ExperimentWords};
use crate::metric::catalog::place::PageList;
use crate::report::page::cells::cell_with_placebo;
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageCell, PageSection, PageTable, ReportRow};
use crate::report::read::audit::{ArmNumbers, AuditFolder};
use crate::report::read::panel::{
    EccmTallies, KeyedRow, ReportedValue, ResultKey, TrainingChanges, is_clear_change,
};
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

    /// Of a gap with a sign: how much narrower or wider it is, and both its values. Where it turns
    /// round, only its values.
    fn of_gap(&self, base: f64, kind: NumberFormat) -> Value {
        let change = apart_from_zero(base, base + self.value);
        let size = match self.kind {
            NumberFormat::Points => NumberFormat::Distance,
            _ => NumberFormat::Plain,
        };
        let by = change.map(|change| {
            let by = size.value(change.abs());
            if self.clear() { RichText::new().strong(by) } else { by.into() }
        });
        // Of the change in size: with the sign of the gap, and turned where it narrows.
        let turned = |(lo, hi): (f64, f64)| if self.value < 0.0 { (-hi, -lo) } else { (lo, hi) };
        let ends = change.zip(self.interval.map(turned));
        context! {
            base => kind.value(base), arm => kind.value(base + self.value), change, by,
            ends => ends.map(|(change, (lo, hi))| size.interval(change.abs(), lo, hi)),
        }
    }

    /// Below a value: the change, its interval, and what other trainings give.
    fn lines(&self) -> impl Iterator<Item = RichText> {
        let trainings = match self.trainings {
            TrainingChanges::NotAsked => None,
            TrainingChanges::TooFew => Some("too few trainings give this change".to_owned()),
            TrainingChanges::Range((lo, hi)) => {
                Some(format!("other trainings: change {}", self.kind.interval(self.value, lo, hi)))
            }
        };
        std::iter::once(RichText::from("change ").and(self.value()))
            .chain(self.ends().into_iter().chain(trainings).map(RichText::from))
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
    let mut rows = audit.comparisons.iter().filter(|row| !row.arm.is_empty());
    let shown = experiments.iter().take(EXPERIMENTS_AT_MOST);
    let facts = context! {
        trained_again => rows.any(|row| row.training_repeats.is_some()),
        more => experiments.len().saturating_sub(EXPERIMENTS_AT_MOST),
        experiments => shown
            .map(|words| ExperimentNumbers::of(audit, words).facts(audit, glossary))
            .collect::<Value>(),
    };
    let names = ("augmentation", "Did augmentation help");
    Some(PageSection::of_facts(names, "experiments.html", facts))
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

    fn key(&self, attribute: &str, with_set: bool, scope: &str, ends: [&str; 2]) -> ResultKey {
        let set = if with_set { self.words.counterfactual.as_str() } else { "" };
        ResultKey::new([&self.words.model, set, attribute], scope, ends)
    }

    fn facts(&self, audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Value {
        let attributes: Vec<&str> =
            audit.manifest.attributes.iter().map(|a| a.name.as_str()).collect();
        let total = |name: &&str| self.key(name, false, "total", ["", ""]);
        let is_changed = |name: &&str| self.has(&self.key(name, true, "total", ["", ""]));
        let changed: Vec<&str> = attributes.iter().copied().filter(is_changed).collect();
        let first = attributes.iter().map(total).find(|key| self.has(key));
        let words = self.words;
        context! {
            id => &words.name, model => &words.model, set => &words.counterfactual,
            folds => words.folds, people => self.people(audit), weighted =>
            audit.manifest.weight.is_some(), added => self.added(audit), thresholds =>
            self.thresholds(audit), trade_off => self.trade_off(audit, first.as_ref(), &changed, glossary),
            performance => first.and_then(|key| {
                let metrics = PageList::ArmPerformance.ids().iter();
                let row = |m: &&'static str| (glossary.title(m), key.clone(), *m);
                self.table("Metric", metrics.map(row).collect())
            }),
            gaps => attributes.iter().map(|name| self.gaps(audit, name, glossary)).collect::<Value>(),
            switches => changed
                .iter()
                .map(|name| self.switching(audit, name, glossary))
                .collect::<Value>(),
            by_fold => self.folds(audit, &changed, glossary),
        }
    }

    /// How many people the arms are measured on, kept and audited, where these are others than
    /// those of the audit.
    fn people(&self, audit: &AuditFolder) -> Option<Value> {
        let attributes = audit.manifest.attributes.iter();
        let of_arms = |key: ResultKey| {
            let measures = self.arms.iter().filter_map(|(_, of)| of.measures.get(&key)).flatten();
            measures.map(|(_, m)| m.n_rows).max()
        };
        let totals = attributes.map(|a| self.key(&a.name, false, "total", ["", ""]));
        let n = totals.filter_map(of_arms).max().and_then(|n| u64::try_from(n).ok())?;
        let (kept, audited) = (audit.manifest.rows.kept, audit.manifest.rows.audited);
        (n != audited).then(|| context!(n, kept, audited))
    }

    fn has(&self, key: &ResultKey) -> bool {
        self.arms.iter().any(|(_, numbers)| numbers.measures.contains_key(key))
    }

    /// What every arm was trained on, a fold on average.
    fn added(&self, audit: &AuditFolder) -> Value {
        let row = |(place, arm): (usize, &ArmWords)| {
            let name = format!("{}/{}", self.words.name, arm.name);
            let mine: Vec<&ArmRow> =
                audit.added.iter().filter(|row| row.arm.as_str() == name).collect();
            let sum = |of: fn(&ArmRow) -> i64| mine.iter().map(|row| of(row)).sum::<i64>();
            let mean = |n: i64| (n as f64 / mine.len().max(1) as f64).round() as i64;
            let positive = sum(|row| row.n_positive + row.n_added_positive);
            let [taken, synthetic] = [sum(|row| row.n_counterfactuals), sum(|row| row.n_synthetic)];
            let (before, candidates) = (sum(|row| row.n_rows), sum(|row| row.n_candidates));
            let after = before + taken + synthetic;
            context! {
                arm => &arm.name, words => &arm.words, taken => mean(taken),
                nothing => place > 0 && before > 0 && taken + synthetic == 0,
                candidates => (candidates > 0).then(|| mean(candidates)),
                synthetic => mean(synthetic), after => mean(after),
                share => if after > 0 { positive as f64 / after as f64 } else { 0.0 },
            }
        };
        self.words.arms.iter().enumerate().map(row).collect()
    }

    /// The thresholds of the arms, where they were fitted: the lowest and the highest of each.
    fn thresholds(&self, audit: &AuditFolder) -> Value {
        let of_arm = |arm: &ArmWords| {
            let name = format!("{}/{}", self.words.name, arm.name);
            let mine = audit.thresholds.iter().filter(|row| row.arm.as_str() == name);
            let mut values: Vec<f64> = mine.map(|row| row.threshold).collect();
            values.sort_by(f64::total_cmp);
            let ends = values.first().zip(values.last())?;
            let [low, high] = [ends.0, ends.1].map(|at| NumberFormat::Plain.value(*at));
            Some(context!(arm => &arm.name, low, high))
        };
        self.words.arms.iter().filter_map(of_arm).collect()
    }

    /// The changes that matter most, arm by arm.
    fn trade_off(
        &self,
        audit: &AuditFolder,
        first: Option<&ResultKey>,
        changed: &[&str],
        glossary: &mut PageGlossary<'_>,
    ) -> Vec<Value> {
        let mut arms = Vec::new();
        for (arm, _) in self.arms.iter().skip(1) {
            let mut changes: Vec<Value> = Vec::new();
            let mut add = |metric: &str, by: &str, key: Option<&ResultKey>| {
                let metric_name = glossary.show(metric).name;
                let Some((key, change)) =
                    key.and_then(|key| Some((key, self.change(arm, key, metric)?)))
                else {
                    return;
                };
                let base = self.base(key, metric).filter(|_| key.scope == "pair");
                changes.push(context! {
                    metric => metric_name, by, clear => change.clear(), missing =>
                    change.missing_labels, words => change.words(),
                    gap => base.map(|base| change.of_gap(base, terms::kind(metric, "pair"))),
                });
            };
            for metric in ["acc", "tpr"] {
                add(metric, "", first);
            }
            for attribute in changed {
                add("sr", attribute, Some(&self.key(attribute, true, "total", ["", ""])));
                if let [a, b] = audit.groups_of(attribute).as_slice() {
                    let pair = self.key(attribute, false, "pair", [a, b]);
                    add("demp_difference", attribute, Some(&pair));
                }
            }
            if !changes.is_empty() {
                arms.push(context!(arm => *arm, changes));
            }
        }
        arms
    }

    /// A table with the arms in columns; none where no arm has any of the values.
    fn table(&self, head: &str, rows: Vec<(RichText, ResultKey, &str)>) -> Option<PageTable> {
        let row = |(head, key, metric): (RichText, ResultKey, &str)| {
            let mine = || self.arms.iter().map(|(arm, of)| (*arm, of.measure(&key, metric)));
            let has_any = mine().any(|(_, measure)| measure.is_some());
            let cells = mine().map(|(arm, of)| self.cell(arm, of, &key, metric));
            has_any.then(|| ReportRow::new(head, cells))
        };
        PageTable::new(self.head(head), rows.into_iter().filter_map(row)).filled()
    }

    /// The arms as heads of columns.
    fn head(&self, first: &str) -> Vec<RichText> {
        let arms = self.arms.iter().map(|(arm, _)| RichText::new().name(*arm));
        std::iter::once(first.into()).chain(arms).collect()
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

    /// The gaps of the pairs of an attribute.
    fn gaps(&self, audit: &AuditFolder, attribute: &str, glossary: &mut PageGlossary<'_>) -> Value {
        let groups = audit.groups_of(attribute);
        let pairs = groups
            .iter()
            .enumerate()
            .flat_map(|(i, a)| groups[i + 1..].iter().map(move |b| (a, b)));
        let keyed = |(a, b): (&String, &String)| self.key(attribute, false, "pair", [a, b]);
        let pairs: Vec<ResultKey> = pairs.map(keyed).filter(|key| self.has(key)).collect();
        let mut table = |key: &ResultKey| {
            let gaps = PageList::ArmGaps.ids().iter();
            let rows = gaps.map(|m| (glossary.title(m), key.clone(), *m)).collect();
            let table = self.table("Gap", rows)?;
            Some(context!(from => &key.from, to => &key.to, table))
        };
        let tables: Vec<Value> = pairs.iter().take(PAIRS_AT_MOST).filter_map(&mut table).collect();
        context!(attribute, tables, more => pairs.len().saturating_sub(PAIRS_AT_MOST))
    }

    /// Switch rates, score shift and matrices of an attribute.
    fn switching(
        &self,
        audit: &AuditFolder,
        attribute: &str,
        glossary: &mut PageGlossary<'_>,
    ) -> Value {
        let groups = audit.groups_of(attribute);
        let all = groups
            .iter()
            .flat_map(|from| groups.iter().filter(move |to| *to != from).map(move |to| (from, to)));
        let mut directions: Vec<ResultKey> =
            all.map(|(from, to)| self.key(attribute, true, "direction", [from, to])).collect();
        directions.retain(|key| self.has(key));
        // The highest switch rates of the base first; the sort is stable.
        let rate = |key: &ResultKey| self.base(key, "sr").unwrap_or(-1.0);
        if directions.len() > PAIRS_AT_MOST {
            directions.sort_by(|x, y| rate(y).total_cmp(&rate(x)));
        }
        let n = directions.len();
        directions.truncate(PAIRS_AT_MOST);
        let mut table = |list: PageList| {
            let mut row = |key: &ResultKey, metric: &'static str| {
                let head = match key.scope.as_str() {
                    "total" => RichText::from("all directions, "),
                    _ => RichText::direction(&key.from, &key.to).text(", "),
                };
                (head.and(glossary.title(metric)), key.clone(), metric)
            };
            let mut rows = Vec::new();
            for key in &directions {
                rows.extend(list.ids().iter().map(|m| row(key, m)));
            }
            let total = self.key(attribute, true, "total", ["", ""]);
            rows.extend(list.ids().iter().take(1).map(|m| row(&total, m)));
            self.table("Direction and metric", rows)
        };
        let rates = if n > 2 { PageList::ArmSwitchesOfMany } else { PageList::ArmSwitches };
        context! {
            attribute, rates => table(rates), shifts => table(PageList::ArmShifts),
            matrices => directions.iter().filter_map(|key| self.matrix(key)).collect::<Value>(),
            more => n.saturating_sub(PAIRS_AT_MOST),
        }
    }

    /// The ECCM of a direction, a row per cell and a column per arm.
    fn matrix(&self, key: &ResultKey) -> Option<Value> {
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
                        let Some(cells) = cells else { return PageCell::none() };
                        let row = cells.0[label][predicted];
                        let share = number::share(row[cf], row[0].plus(row[1]), false);
                        PageCell::new(number::count(row[cf].n), share)
                    };
                    let [predicted, cf] =
                        [predicted, cf].map(|side| ["negative", "positive"][side]);
                    let text = format!(" label {name}, predicted {predicted}, counterfactual {cf}");
                    let cells = of_arms.iter().map(|(_, cells)| cell(*cells));
                    rows.push(ReportRow::new(RichText::new().code(symbol).text(text), cells));
                }
            }
        }
        let table = PageTable::new(self.head("Cell"), rows);
        Some(context!(attribute => &key.attribute, from => &key.from, to => &key.to, table))
    }

    /// How the values of single folds differ.
    fn folds(
        &self,
        audit: &AuditFolder,
        changed: &[&str],
        glossary: &mut PageGlossary<'_>,
    ) -> Option<PageTable> {
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
        let row = |((of, _, _, metric), by_arm): ((&str, _, _, &str), BTreeMap<_, &ArmFoldRow>)| {
            let kind = terms::kind(metric, "total");
            let cell = |arm: &str| -> PageCell {
                let Some(row) = by_arm.get(arm) else { return PageCell::none() };
                let Some(mean) = row.mean else { return PageCell::none() };
                let sd = row.sd.map(|sd| format!("sd {}", spread_format(kind).value(sd)));
                let ends = row.lowest.zip(row.highest);
                let ends = ends.map(|(lo, hi)| kind.interval(mean, lo, hi));
                PageCell::new(kind.value(mean), sd.into_iter().chain(ends))
            };
            let head = glossary.title(metric);
            let head = if of.is_empty() { head } else { head.text(" by ").name(of) };
            ReportRow::new(head, self.arms.iter().map(|(arm, _)| cell(arm)))
        };
        PageTable::new(self.head("Metric"), found.into_iter().map(row)).filled()
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
