//! One value in two runs: its change, the interval of the change, and its reading.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::diff::paired::PairedValue;
use crate::diff::words::said;
use crate::metric::farther;
use crate::metric::interval::{IntervalProcedure, ValueInterval, mover, newcombe, z_of_level};
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::num::student::{satterthwaite, student_quantile};
use crate::param::Level;
use crate::table::{ChangeRow, MetricRow, RefitReason, WITH_FITS, finite};

/// Method of the interval of a change that is 0 because nothing differs.
const IDENTICAL: &str = "identical";

/// Values that differ by less, relative to the old one where it is above 1, differ by rounding.
const ROUNDING: f64 = 1e-12;

/// The relation of two values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Comparability {
    /// They mean the same.
    Same,
    /// They mean different things.
    Redefined,
    /// They mean the same, but depend on a set that was fitted on other rows, as far as is known.
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
    /// The variance in a row of `metrics`; none where the row has none.
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

impl ChangeInterval {
    fn new(ValueInterval { lo, hi, method }: ValueInterval, paired: bool) -> Self {
        ChangeInterval { lo, hi, method: method.as_str(), paired }
    }
}

/// How the interval of a change was made, or why there is none: `words.txt` makes the column
/// `ci_method` of it.
#[derive(Debug, Serialize)]
pub(super) struct ChangeMethod {
    pub(super) how: ChangeProcedure,
    pub(super) unpaired: Option<UnpairedReason>,
    pub(super) fits: Option<AddedFits>,
}

/// The procedure.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChangeProcedure {
    NotCompared,
    Undefined,
    Refitted(RefitReason),
    /// The runs have two rules for intervals of shares of 0 or 1.
    OtherRule,
    /// The intervals of both values have different levels.
    OtherLevels,
    /// The value of a run has no interval.
    Lacks {
        run: &'static str,
        why: String,
    },
    Identical,
    /// By the method of the differences of the same people.
    Paired(String),
    Newcombe,
    Mover,
}

/// Why an interval does not use that people are in both runs, where they are.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum UnpairedReason {
    /// Outcomes hold the mean score of each person, the value is a mean over graphs.
    Graphs,
    /// The stored outcomes do not give the values.
    OtherValues,
    /// The differences of the same people have no interval.
    NoInterval(String),
}

/// What the doubt about both fits adds, after so many repeats; no degrees of freedom where all
/// repeats give the same values.
#[derive(Debug, Serialize)]
pub(super) struct AddedFits {
    pub(super) repeats: [i64; 2],
    pub(super) freedom: Option<String>,
}

impl From<ChangeProcedure> for ChangeMethod {
    fn from(how: ChangeProcedure) -> Self {
        ChangeMethod { how, unpaired: None, fits: None }
    }
}

/// The row of the table `changes` about a value in two runs; `pair` is what the same people give.
pub(super) fn change_row(
    [old, new]: [Option<&MetricRow>; 2],
    bond: Comparability,
    level: Level,
    pair: Option<PairedValue<'_>>,
) -> ChangeRow {
    let mut row = both_rows([old, new]);
    let status = match (old, new, bond) {
        (Some(_), None, _) => "only_old",
        (None, ..) => "only_new",
        (.., Comparability::Redefined) => "not_comparable",
        (.., Comparability::Refitted(_)) => "refitted",
        _ => "compared",
    };
    row.status = status.into();
    let (Some(old), Some(new), "compared" | "refitted") = (old, new, status) else {
        row.undefined = "not_compared".into();
        row.ci_method = said("method", &ChangeMethod::from(ChangeProcedure::NotCompared)).into();
        return row;
    };
    let known = old.value.zip(new.value);
    row.difference = known.and_then(|(before, after)| finite(after - before));
    if known.is_none() {
        let (run, of) = if old.value.is_none() { ("old", old) } else { ("new", new) };
        row.undefined = format!("{run}: {}", of.undefined).into();
    }
    let method = match (bond, known) {
        (Comparability::Refitted(why), _) => {
            row.refitted = Some(why.to_string().into());
            ChangeProcedure::Refitted(why).into()
        }
        (_, None) => ChangeProcedure::Undefined.into(),
        (Comparability::OtherIntervalRule, _) => ChangeProcedure::OtherRule.into(),
        (_, Some((before, after))) => {
            let level = level.get();
            let (mut found, mut method) = interval([old, new], [before, after], level, pair);
            if let (Comparability::OtherFits(fits), Some(people)) = (bond, &mut found) {
                method.fits = Some(include_fits(people, after - before, fits, level));
            }
            if let Some(interval) = found {
                row.level = Some(level);
                add_interval(&mut row, &interval, [before, after], new.ideal);
            }
            method
        }
    };
    row.ci_method = said("method", &method).into();
    row
}

/// What both runs have, without a comparison.
fn both_rows([old, new]: [Option<&MetricRow>; 2]) -> ChangeRow {
    let row = new.or(old).cloned().unwrap_or_default();
    let all = old.into_iter().chain(new).flat_map(|row| row.flags.split(','));
    let flags: BTreeSet<&str> = all.filter(|flag| !flag.is_empty()).collect();
    let flags = flags.into_iter().collect::<Vec<_>>().join(",").into();
    ChangeRow {
        key: row.key,
        class: row.class,
        metric: row.metric,
        family: row.family,
        old_value: old.and_then(|row| row.value),
        new_value: new.and_then(|row| row.value),
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
        flags,
        ..ChangeRow::default()
    }
}

/// Widens the interval over people by the doubt about both fits. People, and the rows of the two
/// fits, count as independent of each other.
fn include_fits(
    people: &mut ChangeInterval,
    change: f64,
    fits: [FitVariance; 2],
    level: f64,
) -> AddedFits {
    let spread = (people.hi - people.lo) / 2.0 / z_of_level(level);
    let of_fits: f64 = fits.iter().map(|fit| fit.variance).sum();
    let repeats = fits.map(|fit| fit.repeats);
    if of_fits <= 0.0 {
        return AddedFits { repeats, freedom: None };
    }
    let variance = spread * spread + of_fits;
    let freedom =
        satterthwaite(variance, &fits.map(|fit| (fit.variance, (fit.repeats - 1) as f64)));
    let half = student_quantile(f64::midpoint(1.0, level), freedom) * variance.sqrt();
    (people.lo, people.hi, people.method) = (change - half, change + half, WITH_FITS);
    AddedFits { repeats, freedom: Some(format!("{freedom:.1}")) }
}

/// Adds the interval of a change of two values, and what follows where it leaves out 0.
fn add_interval(
    row: &mut ChangeRow,
    interval: &ChangeInterval,
    [before, after]: [f64; 2],
    ideal: Option<f64>,
) {
    (row.lo, row.hi) = (finite(interval.lo), finite(interval.hi));
    (row.interval, row.paired) = (interval.method.into(), interval.paired.into());
    // Weights counted in another unit give values that differ in the last digits, and what each
    // unit adds alike.
    let is_rounding = (after - before).abs() <= ROUNDING * before.abs().max(1.0);
    let leaves_out_0 = interval.lo > 0.0 || interval.hi < 0.0;
    if is_rounding || !leaves_out_0 {
        return;
    }
    let reading = match ideal.and_then(|ideal| farther(before - ideal, after - ideal)) {
        Some(by) if by > 0.0 => "worse",
        Some(_) => "better",
        None if after > before => "higher",
        None => "lower",
    };
    (row.clear, row.reading) = (1, reading.into());
}

/// The interval of a change at a level, and how it was made.
fn interval(
    rows: [&MetricRow; 2],
    values: [f64; 2],
    level: f64,
    pair: Option<PairedValue<'_>>,
) -> (Option<ChangeInterval>, ChangeMethod) {
    let [before, after] = values;
    let mut unpaired = None;
    if let Some(pair) = pair {
        if pair.identical && before.to_bits() == after.to_bits() {
            let none = ChangeInterval { lo: 0.0, hi: 0.0, method: IDENTICAL, paired: true };
            return (Some(none), ChangeProcedure::Identical.into());
        }
        // What outcomes do not hold, such as people without a valid counterfactual, is visible in
        // the values.
        let graphs = rows
            .iter()
            .any(|row| row.n_worlds.unwrap_or(0) + row.n_worlds_undefined.unwrap_or(0) > 1);
        let gives = |value: MetricValue, expected: f64| {
            value.is_ok_and(|value| (value - expected).abs() <= ROUNDING * expected.abs().max(1.0))
        };
        if graphs {
            unpaired = Some(UnpairedReason::Graphs);
        } else if let Some(of) = pair.compared {
            let is_given = gives(of.second, before) && gives(of.first, after);
            if let Some(interval) = of.interval.filter(|_| is_given) {
                let how = ChangeProcedure::Paired(of.ci_method.clone());
                return (Some(ChangeInterval::new(interval, true)), how.into());
            }
            if is_given {
                unpaired = Some(UnpairedReason::NoInterval(of.ci_method.clone()));
            } else if of.first.is_ok() || of.second.is_ok() {
                unpaired = Some(UnpairedReason::OtherValues);
            }
        }
    }
    let by = |how| ChangeMethod { how, unpaired, fits: None };
    let rates = rows.map(rate);
    if let [Some(old), Some(new)] = rates
        && let Some(found) = newcombe(new, old, z_of_level(level))
    {
        let interval = ChangeInterval::new(found, false);
        return (Some(interval), by(ChangeProcedure::Newcombe));
    }
    let own = rows.map(|row| {
        let method = IntervalProcedure::Mover;
        Some((ValueInterval { lo: row.lo?, hi: row.hi?, method }, row.level?))
    });
    let [Some((old, old_level)), Some((new, new_level))] = own else {
        let (run, row) = if own[0].is_none() { ("old", rows[0]) } else { ("new", rows[1]) };
        return (None, by(ChangeProcedure::Lacks { run, why: row.ci_method.to_string() }));
    };
    if [old_level, new_level] != [level; 2] {
        return (None, by(ChangeProcedure::OtherLevels));
    }
    let parts = [(1.0, after, new), (-1.0, before, old)];
    let found = mover(&parts, |_, _| 0.0, IntervalProcedure::Mover);
    (Some(ChangeInterval::new(found, false)), by(ChangeProcedure::Mover))
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
