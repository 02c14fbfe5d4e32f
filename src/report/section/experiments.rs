//! Section "Did augmentation help": the arms of every experiment in columns, each value with its
//! change from the base.
//!
//! Everything is measured on the rows of all folds together; what single folds give is in a
//! collapsed part below. Changes depend on the same people and the same draws. The section states
//! the trade-off and names no winner: what a switched decision is worth in accuracy is not in the
//! tables.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;

use crate::folder::manifest::{ArmWords, ExperimentWords};
use crate::metric::catalog::place::PageList;
use crate::metric::farther;
use crate::report::page::cells::cell_with_placebo;
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageCell, PageSection, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::{
    EccmTallies, KeyedRow, ResultKey, TrainingChanges, is_clear_change,
};
use crate::report::section::models::place_of;
use crate::report::section::switches::ECCM;
use crate::table::{ArmFoldRow, ArmRow, ComparisonRow, MetricRow};

/// Pairs or directions of an attribute in one table.
const PAIRS_AT_MOST: usize = 12;

/// Experiments on one page.
const EXPERIMENTS_AT_MOST: usize = 6;

/// A difference of an arm from the base.
struct ArmChange<'a> {
    value: f64,
    interval: Option<(f64, f64)>,
    kind: NumberFormat,
    row: &'a ComparisonRow,
}

impl<'a> ArmChange<'a> {
    /// The change of a metric; none where it is undefined.
    fn of(row: &'a ComparisonRow) -> Option<Self> {
        let kind = terms::kind(&row.metric, &row.scope).of_change();
        Some(ArmChange { value: row.difference?, interval: row.lo.zip(row.hi), kind, row })
    }

    /// Whether its interval, and the changes of other trainings, leave out zero.
    fn clear(&self) -> bool {
        is_clear_change(self.interval, TrainingChanges::of(self.row))
    }

    /// In bold where it is clear.
    fn emphasised(&self, value: String) -> RichText {
        if self.clear() { RichText::new().strong(value) } else { value.into() }
    }

    fn value(&self) -> RichText {
        self.emphasised(self.kind.value(self.value))
    }

    fn ends(&self) -> Option<String> {
        self.interval.map(|(lo, hi)| format!("({})", self.kind.interval(self.value, lo, hi)))
    }

    /// The value with its interval, in a sentence.
    fn words(&self) -> RichText {
        self.ends().into_iter().fold(self.value(), |words, ends| words.text(" ").text(ends))
    }

    /// For a gap with a sign: how much narrower or wider it is, and both its values. If it changes
    /// its sign, only its values.
    fn of_gap(&self, base: f64, kind: NumberFormat) -> Value {
        let change = apart_from_zero(base, base + self.value);
        let size = without_sign(self.kind);
        // For the change in size: with the sign of the gap, and turned where it narrows.
        let turned = |(lo, hi): (f64, f64)| if self.value < 0.0 { (-hi, -lo) } else { (lo, hi) };
        let ends = change.zip(self.interval.map(turned));
        context! {
            base => kind.value(base), arm => kind.value(base + self.value), change,
            by => change.map(|change| self.emphasised(size.value(change.abs()))),
            ends => ends.map(|(change, (lo, hi))| size.interval(change.abs(), lo, hi)),
        }
    }

    /// Below a value: the change, its interval, and what other trainings give.
    fn lines(&self) -> impl Iterator<Item = RichText> {
        let trainings = match TrainingChanges::of(self.row) {
            TrainingChanges::NotAsked => None,
            TrainingChanges::TooFew => Some("too_few_trainings".into()),
            TrainingChanges::Range((lo, hi)) => {
                let ends = self.kind.interval(self.value, lo, hi);
                Some(RichText::from("change_of_other_trainings").text(ends))
            }
        };
        std::iter::once(RichText::from("change").and(self.value()))
            .chain(self.ends().map(RichText::from).into_iter().chain(trainings))
            .chain(terms::lacks_labels(self.row).then(|| "missing_labels".into()))
    }
}

/// How the sizes of differences are printed, and how far values spread.
pub(crate) fn without_sign(of_change: NumberFormat) -> NumberFormat {
    if of_change == NumberFormat::Points { NumberFormat::Distance } else { NumberFormat::Plain }
}

/// How much farther from zero a gap is than it was, below 0 where it is nearer; none where it has
/// turned round.
fn apart_from_zero(before: f64, after: f64) -> Option<f64> {
    let zero = |x: f64| if x.abs() < number::ROUNDING { 0.0 } else { x };
    let (before, after) = (zero(before), zero(after));
    farther(before, after).map(zero)
}

/// How the size of a gap with a sign changed; none for a value that is no such gap.
fn in_size(before: f64, after: f64, kind: NumberFormat) -> Option<&'static str> {
    match apart_from_zero(before, after) {
        _ if !matches!(kind, NumberFormat::Points | NumberFormat::Signed) => None,
        None => Some("gap_reversed"),
        Some(change) if change < 0.0 => Some("gap_narrower"),
        Some(change) if change > 0.0 => Some("gap_wider"),
        Some(_) => None,
    }
}

/// An arm, and what the tables hold of it.
struct ComparedArm<'a> {
    name: &'a str,
    /// Its name in tables.
    full: String,
    changes: BTreeMap<(ResultKey, &'a str), ArmChange<'a>>,
}

/// A row of a table of arms: its head, and whose value of which metric.
type ArmTableRow<'m> = (RichText, ResultKey, &'m str);

/// One experiment and its numbers.
struct ExperimentNumbers<'a> {
    audit: &'a AuditFolder,
    words: &'a ExperimentWords,
    /// The arms in order.
    arms: Vec<ComparedArm<'a>>,
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
        more => experiments.len().saturating_sub(EXPERIMENTS_AT_MOST), experiments => shown
            .map(|words| ExperimentNumbers::of(audit, words).facts(glossary))
            .collect::<Value>(),
    };
    Some(PageSection::of_facts("augmentation", "experiments.html", facts))
}

impl<'a> ExperimentNumbers<'a> {
    fn of(audit: &'a AuditFolder, words: &'a ExperimentWords) -> Self {
        let arm = |arm: &'a ArmWords| {
            let full = words.in_tables(&arm.name);
            let rows = audit.comparisons.iter().filter(|row| row.arm == full);
            let change =
                |row: &'a ComparisonRow| Some(((row.key(), &*row.metric), ArmChange::of(row)?));
            let changes = rows.filter_map(change).collect();
            ComparedArm { name: arm.name.as_str(), full, changes }
        };
        ExperimentNumbers { audit, words, arms: words.arms.iter().map(arm).collect() }
    }

    /// A value in an arm.
    fn measure(
        &self,
        arm: &ComparedArm<'_>,
        key: &ResultKey,
        metric: &str,
    ) -> Option<&'a MetricRow> {
        self.audit.measure(&key.in_arm(&arm.full), metric)
    }

    fn key(&self, attribute: &str, with_set: bool, scope: &str, ends: [&str; 2]) -> ResultKey {
        let set = if with_set { self.words.counterfactual.as_str() } else { "" };
        ResultKey::new([&self.words.model, set, attribute], scope, ends)
    }

    fn total(&self, attribute: &str, with_set: bool) -> ResultKey {
        self.key(attribute, with_set, "total", ["", ""])
    }

    fn facts(&self, glossary: &mut PageGlossary<'_>) -> Value {
        let (audit, words) = (self.audit, self.words);
        let attributes = || audit.manifest.attributes.iter().map(|a| a.name.as_str());
        let changed: Vec<&str> =
            attributes().filter(|name| self.has(&self.total(name, true))).collect();
        let first = attributes().map(|name| self.total(name, false)).find(|key| self.has(key));
        context! {
            id => &words.name, model => &words.model, set => &words.counterfactual,
            folds => words.folds, people => self.people(),
            weighted => audit.manifest.weight.is_some(), added => self.added(),
            thresholds => self.thresholds(),
            trade_off => self.trade_off(first.as_ref(), &changed, glossary),
            performance => first.and_then(|key| {
                let metrics = PageList::ArmPerformance.ids().iter();
                let row = |m: &&'static str| (glossary.title(m), key.clone(), *m);
                self.table("metric", metrics.map(row).collect())
            }), gaps => attributes().map(|name| self.gaps(name, glossary)).collect::<Value>(),
            switches => changed.iter().map(|of| self.switching(of, glossary)).collect::<Value>(),
            by_fold => self.folds(&changed, glossary),
        }
    }

    /// How many people the arms are measured on, kept and audited, where these are others than
    /// those of the audit.
    fn people(&self) -> Option<Value> {
        let rows = &self.audit.manifest.rows;
        let totals: Vec<ResultKey> =
            self.audit.manifest.attributes.iter().map(|a| self.total(&a.name, false)).collect();
        let measures = self.arms.iter().flat_map(|arm| {
            totals
                .iter()
                .filter_map(|key| self.audit.at(&key.in_arm(&arm.full)))
                .flat_map(BTreeMap::values)
        });
        let n = u64::try_from(measures.map(|m| m.n_rows).max()?).ok()?;
        (n != rows.audited).then(|| context!(n, kept => rows.kept, audited => rows.audited))
    }

    fn has(&self, key: &ResultKey) -> bool {
        self.arms.iter().any(|arm| self.audit.at(&key.in_arm(&arm.full)).is_some())
    }

    /// What every arm was trained on, a fold on average.
    fn added(&self) -> Value {
        let row = |(place, arm): (usize, &ArmWords)| {
            let name = self.words.in_tables(&arm.name);
            let mine: Vec<&ArmRow> =
                self.audit.added.iter().filter(|row| row.arm.as_str() == name).collect();
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
    fn thresholds(&self) -> Value {
        let of_arm = |arm: &ArmWords| {
            let name = self.words.in_tables(&arm.name);
            let mine = self.audit.thresholds.iter().filter(|row| row.arm.as_str() == name);
            let at = NumberFormat::Plain.span(mine.map(|row| row.threshold))?;
            Some(context!(arm => &arm.name, at))
        };
        self.words.arms.iter().filter_map(of_arm).collect()
    }

    /// The changes that matter most, arm by arm.
    fn trade_off(
        &self,
        first: Option<&ResultKey>,
        changed: &[&str],
        glossary: &mut PageGlossary<'_>,
    ) -> Vec<Value> {
        let mut asked = ["acc", "tpr"].map(|metric| (metric, "", first.cloned())).to_vec();
        for attribute in changed {
            asked.push(("sr", attribute, Some(self.total(attribute, true))));
            if let [a, b] = self.audit.groups_of(attribute).as_slice() {
                let pair = self.key(attribute, false, "pair", [a, b]);
                asked.push(("demp_difference", attribute, Some(pair)));
            }
        }
        let mut told = |arm: &ComparedArm<'_>| {
            let change = |(metric, by, key): &(&'static str, &str, Option<ResultKey>)| {
                let metric_name = glossary.show(metric).name;
                let key = key.as_ref()?;
                let change = arm.changes.get(&(key.in_arm(&arm.full), *metric))?;
                let base = self.base(key, metric).filter(|_| key.scope == "pair");
                Some(context! {
                    metric => metric_name, by => *by, clear => change.clear(),
                    missing => terms::lacks_labels(change.row), words => change.words(),
                    gap => base.map(|base| change.of_gap(base, terms::kind(metric, "pair"))),
                })
            };
            let changes: Vec<Value> = asked.iter().filter_map(change).collect();
            (!changes.is_empty()).then(|| context!(arm => arm.name, changes))
        };
        self.arms.iter().skip(1).filter_map(&mut told).collect()
    }

    /// A table with the arms in columns; none where no arm has any of the values.
    fn table(&self, head: &'static str, rows: Vec<ArmTableRow<'_>>) -> Option<PageTable> {
        let row = |(head, key, metric): ArmTableRow<'_>| {
            let measure = |arm: &ComparedArm<'a>| self.measure(arm, &key, metric);
            let has_any = self.arms.iter().any(|arm| measure(arm).is_some());
            let cells = self.arms.iter().map(|arm| self.cell(arm, measure(arm), &key, metric));
            has_any.then(|| ReportRow::new(head, cells))
        };
        PageTable::new(self.head(head), rows.into_iter().filter_map(row)).filled()
    }

    /// The arms as heads of columns.
    fn head(&self, first: &'static str) -> Vec<RichText> {
        let arms = self.arms.iter().map(|arm| RichText::new().name(arm.name));
        std::iter::once(first.into()).chain(arms).collect()
    }

    fn cell(
        &self,
        arm: &ComparedArm<'_>,
        measure: Option<&MetricRow>,
        key: &ResultKey,
        metric: &str,
    ) -> PageCell {
        let kind = terms::kind(metric, &key.scope);
        let mut cell = cell_with_placebo(measure, kind);
        let both = measure.and_then(|m| m.value).zip(self.base(key, metric));
        let both = both.filter(|_| arm.name != "base");
        if let Some(change) = arm.changes.get(&(key.in_arm(&arm.full), metric)) {
            cell.small.extend(change.lines());
        } else if let Some((value, base)) = both {
            // For score metrics only the difference is known.
            let change = kind.of_change().value(value - base);
            cell.small.push(RichText::from("change").text(change));
        }
        let both = both.filter(|_| key.scope == "pair");
        let size = both.and_then(|(value, base)| in_size(base, value, kind));
        cell.small.extend(size.map(RichText::from));
        cell
    }

    fn base(&self, key: &ResultKey, metric: &str) -> Option<f64> {
        self.arms.first().and_then(|arm| self.measure(arm, key, metric)?.value)
    }

    /// The gaps of the pairs of an attribute.
    fn gaps(&self, attribute: &str, glossary: &mut PageGlossary<'_>) -> Value {
        let groups = self.audit.groups_of(attribute);
        let later = |i: usize| groups[i + 1..].iter();
        let pairs = groups.iter().enumerate().flat_map(|(i, a)| later(i).map(move |b| [a, b]));
        let keys = pairs.map(|[a, b]| self.key(attribute, false, "pair", [a, b]));
        let keys: Vec<ResultKey> = keys.filter(|key| self.has(key)).collect();
        let mut table = |key: &ResultKey| {
            let gaps = PageList::ArmGaps.ids().iter();
            let rows = gaps.map(|m| (glossary.title(m), key.clone(), *m)).collect();
            Some(context!(from => &key.from, to => &key.to, table => self.table("gap", rows)?))
        };
        let tables: Value = keys.iter().take(PAIRS_AT_MOST).filter_map(&mut table).collect();
        context!(attribute, tables, more => keys.len().saturating_sub(PAIRS_AT_MOST))
    }

    /// Switch rates, score shift and matrices of an attribute.
    fn switching(&self, attribute: &str, glossary: &mut PageGlossary<'_>) -> Value {
        let groups = self.audit.groups_of(attribute);
        let all = groups.iter().flat_map(|from| groups.iter().map(move |to| [from, to]));
        let all = all.filter(|[from, to]| from != to);
        let key = |[from, to]: [&String; 2]| self.key(attribute, true, "direction", [from, to]);
        let mut keys: Vec<ResultKey> = all.map(key).filter(|key| self.has(key)).collect();
        // The highest switch rates of the base first; the sort is stable.
        let rate = |key: &ResultKey| self.base(key, "sr").unwrap_or(-1.0);
        let n = keys.len();
        if n > PAIRS_AT_MOST {
            keys.sort_by(|x, y| rate(y).total_cmp(&rate(x)));
        }
        keys.truncate(PAIRS_AT_MOST);
        let total = self.total(attribute, true);
        let mut table = |list: PageList| {
            let directions = keys.iter().flat_map(|key| list.ids().iter().map(move |m| (key, *m)));
            let rows = directions.chain(list.ids().iter().take(1).map(|m| (&total, *m)));
            let row = |(key, metric): (&ResultKey, &'static str)| {
                let head = match key.scope.as_str() {
                    "total" => RichText::from("of_all_directions"),
                    _ => place_of(key).text(", "),
                };
                (head.and(glossary.title(metric)), key.clone(), metric)
            };
            self.table("direction_and_metric", rows.map(row).collect())
        };
        let rates = if n > 2 { PageList::ArmSwitchesOfMany } else { PageList::ArmSwitches };
        context! {
            attribute, rates => table(rates), shifts => table(PageList::ArmShifts),
            matrices => keys.iter().filter_map(|key| self.matrix(key)).collect::<Value>(),
            more => n.saturating_sub(PAIRS_AT_MOST),
        }
    }

    /// The ECCM of a direction, a row per cell and a column per arm.
    fn matrix(&self, key: &ResultKey) -> Option<Value> {
        let arms = self.arms.iter().map(|arm| self.audit.cells(&key.in_arm(&arm.full)));
        let arms: Vec<Option<&EccmTallies>> = arms.collect();
        if !arms.iter().flatten().any(|cells| cells.labelled()) {
            return None;
        }
        let mut rows = Vec::new();
        for (label, name, symbols) in ECCM {
            for (i, symbol) in symbols.iter().flatten().enumerate() {
                // Positive before negative.
                let [factual, cf] = [1 - i / 2, 1 - i % 2];
                let cell = |cells: &Option<&EccmTallies>| {
                    let row = cells.map(|cells| cells.0[label][factual]);
                    row.map_or_else(PageCell::none, |row| {
                        let share = number::share(row[cf], row[0].plus(row[1]), false);
                        PageCell::new(number::count(row[cf].n), share)
                    })
                };
                let [predicted, cf] = [factual, cf].map(|side| ["negative", "positive"][side]);
                let sides = [("of_label", name), ("as_predicted", predicted), ("as_changed", cf)];
                let head = RichText::new().code(*symbol);
                let head = sides.iter().fold(head, |head, (what, side)| head.word(what).word(side));
                rows.push(ReportRow::new(head, arms.iter().map(cell)));
            }
        }
        let table = PageTable::new(self.head("cell"), rows);
        Some(context!(attribute => &key.attribute, from => &key.from, to => &key.to, table))
    }

    /// How the values of single folds differ.
    fn folds(&self, changed: &[&str], glossary: &mut PageGlossary<'_>) -> Option<PageTable> {
        self.words.folds?;
        let first = self.audit.manifest.attributes.first().map(|a| a.name.as_str());
        let mut found: BTreeMap<[&str; 4], BTreeMap<&str, &ArmFoldRow>> = BTreeMap::new();
        for row in self.audit.spreads.iter().filter(|row| row.key.scope == "total") {
            let (name, arm) = row.key.arm.split_once('/').unwrap_or_default();
            let (set, attribute) = (&*row.key.counterfactual, &*row.key.sensitive);
            let (of, is_told) = match set.is_empty() {
                true => ("", Some(attribute) == first),
                false => (attribute, changed.contains(&attribute)),
            };
            if name == self.words.name && is_told && PageList::ArmFolds.shows(&row.metric) {
                let key = [of, set, attribute, &*row.metric];
                found.entry(key).or_default().insert(arm, row);
            }
        }
        let row = |([of, _, _, metric], by_arm): ([&str; 4], BTreeMap<&str, &ArmFoldRow>)| {
            let kind = terms::kind(metric, "total");
            let cell = |arm: &ComparedArm<'_>| {
                let row = by_arm.get(arm.name)?;
                let mean = row.mean?;
                let spread = without_sign(kind.of_change());
                let sd = row.sd.map(|sd| RichText::from("sd").text(spread.value(sd)));
                let ends = row.lowest.zip(row.highest);
                let ends = ends.map(|(lo, hi)| kind.interval(mean, lo, hi).into());
                Some(PageCell::new(kind.value(mean), sd.into_iter().chain(ends)))
            };
            let head = glossary.title(metric);
            let head = if of.is_empty() { head } else { head.word("by").name(of) };
            let cells = self.arms.iter().map(|arm| cell(arm).unwrap_or_else(PageCell::none));
            ReportRow::new(head, cells)
        };
        PageTable::new(self.head("metric"), found.into_iter().map(row)).filled()
    }
}
