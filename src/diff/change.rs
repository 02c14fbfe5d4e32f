//! One value in two runs: its change, the interval of that, and what it says.

use crate::diff::paired::PairedValue;
use crate::metric::Reads;
use crate::metric::catalog::find;
use crate::metric::interval::{IntervalProcedure, newcombe, z_of_level};
use crate::metric::rate::{Rate, Undefined};
use crate::num::student::{satterthwaite, student_quantile};
use crate::param::Level;
use crate::table::{ChangeRow, MetricRow, REFITTED, WITH_FITS, finite};

/// Method of an interval from two others.
const MOVER: &str = "mover";

/// Method of the interval of a change that is 0 because nothing differs.
const IDENTICAL: &str = "identical";

/// Values that differ by less, relative to the old one where it is above 1, differ by rounding.
const ROUNDING: f64 = 1e-12;

/// Why a change of a fitted set is not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefitReason {
    /// The set was fitted in one of the runs only.
    OneRun,
    /// It learns from a reference whose rows, or their classes, differ.
    Reference,
    /// It learns from the training rows, be it causal graphs or in the folds of an experiment.
    Trained,
    /// It learns from the rows of each run, and neither run says how much its fit depends on them.
    Rows {
        /// Whether the runs could say it of this value.
        doubt_helps: bool,
    },
    /// The old run does not say how much its fit depends on its rows, the new one does.
    OldUndoubted,
    /// The new run does not say it.
    NewUndoubted,
    /// Both do, and too few of the repeats of one of them give the value.
    FewRepeats,
}

impl RefitReason {
    /// The reason, and what helps.
    fn words(self) -> &'static str {
        match self {
            RefitReason::OneRun => {
                "the set was fitted in only one of the two runs, and the effect of that on the \
                 set is unknown"
            }
            RefitReason::Reference => {
                "the rows of `data.reference`, or the classes they fall into, differ from the \
                 baseline's, and the effect of that on the set is unknown; after a new model \
                 version approve a folder of that version, or keep the reference file the same"
            }
            RefitReason::Trained => {
                "the set was not fitted on the same rows as in the baseline, and the effect of \
                 that on the set is unknown; keep the training rows the same"
            }
            RefitReason::Rows { doubt_helps: false } => {
                "the set was not fitted on the same rows as in the baseline, and the effect \
                 of that on the set is unknown; give the job a fixed `data.reference`"
            }
            RefitReason::Rows { doubt_helps: true } => {
                "the set was not fitted on the same rows as in the baseline, and the effect \
                 of that on the set is unknown; give the job a fixed `data.reference`, or let both \
                 runs measure that effect with `doubt: {fit: 20}` in the set"
            }
            RefitReason::OldUndoubted => {
                "the set was not fitted on the same rows as in the baseline, which lacks `doubt` \
                 in the set, so the effect of that is known for the new run only; approve a folder \
                 of a run with `doubt`"
            }
            RefitReason::NewUndoubted => {
                "the set was not fitted on the same rows as in the baseline, and the new run lacks \
                 `doubt` in the set, so the effect of that is known for the baseline only; ask for \
                 `doubt` as in the baseline"
            }
            RefitReason::FewRepeats => {
                "the set was not fitted on the same rows as in the baseline, and fewer than 95 % \
                 of the repeats of its fit give the value; learn from more rows"
            }
        }
    }
}

/// What two values have to do with each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Comparability {
    /// They mean the same.
    Same,
    /// They mean different things.
    Redefined,
    /// They mean the same, and depend on a set that was fitted on other rows, according to what is
    /// known.
    Refitted(RefitReason),
    /// The same, and both runs say how much their fit depends on these rows.
    OtherFits([FitVariance; 2]),
    /// They mean the same, and their intervals were made by two rules.
    OtherIntervalRule,
}

/// How much a value depends on the rows that its set was fitted on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FitVariance {
    /// Variance over repeats of the fit.
    variance: f64,
    /// How many repeats, at least 2.
    repeats: i64,
}

impl FitVariance {
    /// That of a row of `metrics`; none where it does not say it.
    pub(super) fn of(row: &MetricRow) -> Option<Self> {
        let repeats = row.fit_repeats.filter(|repeats| *repeats > 1)?;
        Some(FitVariance { variance: row.fit_var?, repeats })
    }
}

/// The interval of a change.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChangeInterval {
    pub(super) lo: f64,
    pub(super) hi: f64,
    pub(super) method: &'static str,
    pub(super) paired: bool,
}

/// A value in two runs.
pub(super) struct ValueChange<'a> {
    rows: [Option<&'a MetricRow>; 2],
    status: &'static str,
    difference: Option<f64>,
    undefined: String,
    interval: Option<ChangeInterval>,
    level: Option<f64>,
    words: String,
}

impl<'a> ValueChange<'a> {
    /// `pair` is what the same people give.
    pub(super) fn new(
        old: Option<&'a MetricRow>,
        new: Option<&'a MetricRow>,
        bond: Comparability,
        level: Level,
        pair: Option<&PairedValue>,
    ) -> Self {
        let status = match (old, new) {
            (Some(_), None) => "only_old",
            (None, _) => "only_new",
            _ => match bond {
                Comparability::Same
                | Comparability::OtherFits(_)
                | Comparability::OtherIntervalRule => "compared",
                Comparability::Redefined => "not_comparable",
                Comparability::Refitted(_) => "refitted",
            },
        };
        let mut change = ValueChange {
            rows: [old, new],
            status,
            difference: None,
            undefined: String::new(),
            interval: None,
            level: None,
            words: String::new(),
        };
        let (Some(old), Some(new), "compared" | "refitted") = (old, new, status) else {
            "not_compared".clone_into(&mut change.undefined);
            "none: not compared".clone_into(&mut change.words);
            return change;
        };
        let (Some(before), Some(after)) = (old.value, new.value) else {
            let reason = if old.value.is_none() { ("old", old) } else { ("new", new) };
            change.undefined = format!("{}: {}", reason.0, reason.1.undefined.as_str());
            "none: the change is undefined".clone_into(&mut change.words);
            if let Comparability::Refitted(why) = bond {
                change.words = format!("{REFITTED}{}", why.words());
            }
            return change;
        };
        change.difference = Some(after - before);
        if let Comparability::Refitted(why) = bond {
            change.words = format!("{REFITTED}{}", why.words());
            return change;
        }
        if bond == Comparability::OtherIntervalRule {
            "none: the two runs have different rules for intervals of shares of 0 or \
             1"
            .clone_into(&mut change.words);
            return change;
        }
        let level = level.get();
        (change.interval, change.words) = interval([old, new], [before, after], level, pair);
        if let Comparability::OtherFits(fits) = bond {
            change.include_fits(fits, level);
        }
        change.level = change.interval.as_ref().map(|_| level);
        change
    }

    /// Widens the interval over people by the doubt about both fits. People, and the rows of the
    /// two fits, count as independent of each other.
    fn include_fits(&mut self, fits: [FitVariance; 2], level: f64) {
        let (Some(people), Some(change)) = (&mut self.interval, self.difference) else { return };
        let spread = (people.hi - people.lo) / 2.0 / z_of_level(level);
        let of_fits: f64 = fits.iter().map(|fit| fit.variance).sum();
        let told = format!("{} and {}", fits[0].repeats, fits[1].repeats);
        if of_fits <= 0.0 {
            self.words = format!(
                "{}; all repeats of the two fits ({told}) give the same values, so that nothing is \
                 added for them",
                self.words
            );
            return;
        }
        let variance = spread * spread + of_fits;
        let freedom =
            satterthwaite(variance, &fits.map(|fit| (fit.variance, (fit.repeats - 1) as f64)));
        let half = student_quantile(f64::midpoint(1.0, level), freedom) * variance.sqrt();
        (people.lo, people.hi, people.method) = (change - half, change + half, WITH_FITS);
        self.words = format!(
            "{}; with the doubt about both fits ({told} repeats): Student's t with {freedom:.1} \
             degrees of freedom (Satterthwaite)",
            self.words
        );
    }

    fn is_clear(&self) -> bool {
        // Weights counted in another unit give values that differ in the last digits, and what
        // each unit adds alike.
        let is_rounding = |change: f64, old: f64| change.abs() <= ROUNDING * old.abs().max(1.0);
        let old = self.rows[0].and_then(|row| row.value);
        let rounding =
            self.difference.zip(old).is_some_and(|(change, old)| is_rounding(change, old));
        !rounding && self.interval.as_ref().is_some_and(|i| i.lo > 0.0 || i.hi < 0.0)
    }

    fn reading(&self) -> &'static str {
        let (true, Some(difference), [Some(old), Some(new)]) =
            (self.is_clear(), self.difference, self.rows)
        else {
            return "";
        };
        let along = if difference > 0.0 { "higher" } else { "lower" };
        let (Some(before), Some(after), Some(ideal)) = (old.value, new.value, new.ideal) else {
            return along;
        };
        let ratio = find(new.metric.as_str()).is_some_and(|m| {
            matches!(
                m.reads,
                Reads::RateRatio(_)
                    | Reads::ScoreRatio(_)
                    | Reads::FavourableRatio
                    | Reads::SwitchRatio(_)
            )
        });
        let from_ideal = |value: f64| match ratio && value > 0.0 && ideal > 0.0 {
            true => libm::log(value / ideal),
            false => value - ideal,
        };
        let (before, after) = (from_ideal(before), from_ideal(after));
        match before * after < 0.0 {
            true => along,
            false if after.abs() > before.abs() => "worse",
            false => "better",
        }
    }

    /// The row of the table `changes`.
    pub(super) fn row(&self) -> ChangeRow {
        let [old, new] = self.rows;
        let row = new.or(old).cloned().unwrap_or_default();
        let interval = self.interval.as_ref();
        let mut flags: Vec<&str> = self
            .rows
            .iter()
            .flatten()
            .flat_map(|row| row.flags.split(','))
            .filter(|flag| !flag.is_empty())
            .collect();
        flags.sort_unstable();
        flags.dedup();
        ChangeRow {
            key: row.key,
            class: row.class,
            metric: row.metric,
            family: row.family,
            status: self.status.into(),
            old_value: old.and_then(|row| row.value),
            old_least: None,
            old_most: None,
            new_value: new.and_then(|row| row.value),
            difference: self.difference.and_then(finite),
            undefined: self.undefined.as_str().into(),
            lo: interval.and_then(|i| finite(i.lo)),
            hi: interval.and_then(|i| finite(i.hi)),
            level: self.level,
            interval: interval.map_or("", |i| i.method).into(),
            ci_method: self.words.as_str().into(),
            paired: interval.is_some_and(|i| i.paired).into(),
            clear: self.is_clear().into(),
            reading: self.reading().into(),
            old_numerator: old.and_then(|row| row.numerator),
            old_denominator: old.and_then(|row| row.denominator),
            new_numerator: new.and_then(|row| row.numerator),
            new_denominator: new.and_then(|row| row.denominator),
            old_rows: old.map_or(0, |row| row.n_rows),
            new_rows: new.map_or(0, |row| row.n_rows),
            old_denominator_persons: old.and_then(|row| row.denominator_persons),
            new_denominator_persons: new.and_then(|row| row.denominator_persons),
            old_persons: old.and_then(|row| row.n_persons),
            new_persons: new.and_then(|row| row.n_persons),
            flags: flags.join(",").into(),
        }
    }
}

/// The interval of a change at a level, and its words.
fn interval(
    rows: [&MetricRow; 2],
    values: [f64; 2],
    level: f64,
    pair: Option<&PairedValue>,
) -> (Option<ChangeInterval>, String) {
    let [before, after] = values;
    let mut remark = String::new();
    if let Some(pair) = pair {
        if pair.identical && before.to_bits() == after.to_bits() {
            let words =
                "no outcome of a person behind the value differs between the runs".to_owned();
            return (
                Some(ChangeInterval { lo: 0.0, hi: 0.0, method: IDENTICAL, paired: true }),
                words,
            );
        }
        // What outcomes do not hold, such as people without a valid counterfactual, shows in the
        // values.
        let graphs = rows
            .iter()
            .any(|row| row.n_worlds.unwrap_or(0) + row.n_worlds_undefined.unwrap_or(0) > 1);
        let gives = |value: Option<f64>, expected: f64| {
            value
                .is_some_and(|value| (value - expected).abs() <= ROUNDING * expected.abs().max(1.0))
        };
        if graphs {
            "; not paired: outcomes hold the mean score of each person, the value is a mean over \
             graphs"
                .clone_into(&mut remark);
        } else if gives(pair.old, before) && gives(pair.new, after) {
            if let Some((lo, hi)) = pair.interval {
                return (
                    Some(ChangeInterval { lo, hi, method: pair.method, paired: true }),
                    pair.words.clone(),
                );
            }
            remark = format!("; paired: {}", pair.words);
        } else if pair.old.is_some() || pair.new.is_some() {
            "; not paired: the stored outcomes do not give the values".clone_into(&mut remark);
        }
    }
    let words = |method: &str| format!("{method}, unpaired{remark}");
    let rates = rows.map(rate);
    if let [Some(old), Some(new)] = rates
        && let Some(found) = newcombe(new, old, z_of_level(level))
    {
        let interval = ChangeInterval {
            lo: found.lo,
            hi: found.hi,
            method: IntervalProcedure::Newcombe.as_str(),
            paired: false,
        };
        return (Some(interval), words("Newcombe hybrid score, method 10"));
    }
    let ends = rows.map(|row| Some((row.lo?, row.hi?, row.level?)));
    match ends {
        [Some(old), Some(new)] if old.2 == level && new.2 == level => {
            let change = after - before;
            let lo = change - libm::hypot(after - new.0, old.1 - before);
            let hi = change + libm::hypot(new.1 - after, before - old.0);
            (
                Some(ChangeInterval { lo, hi, method: MOVER, paired: false }),
                words("MOVER from the intervals of both values"),
            )
        }
        [Some(_), Some(_)] => {
            (None, format!("none: the intervals of the two values have different levels{remark}"))
        }
        [None, _] => (
            None,
            format!("none: the old value has no interval: {}{remark}", rows[0].ci_method.as_str()),
        ),
        [_, None] => (
            None,
            format!("none: the new value has no interval: {}{remark}", rows[1].ci_method.as_str()),
        ),
    }
}

/// The counts of a share of independent cases.
fn rate(row: &MetricRow) -> Option<Rate> {
    let count = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok());
    let rate = Rate {
        numerator: count(row.numerator)?,
        denominator: count(row.denominator)?,
        empty: Undefined::EmptyGroup,
    };
    (row.interval.as_str() == IntervalProcedure::Wilson.as_str()).then_some(rate)
}
