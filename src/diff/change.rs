//! One value in two runs: its change, the interval of that, and what it says.

use crate::diff::paired::Pair;
use crate::metric::interval::{Method, newcombe, z_of};
use crate::metric::{Rate, Reads, Undefined, find};
use crate::param::Level;
use crate::table::{Cell, REFITTED, Record};

/// Method of an interval from two others.
const MOVER: &str = "mover";

/// Method of the interval of a change that is 0 because nothing differs.
const IDENTICAL: &str = "identical";

/// Values that differ by less, relative to the old one where it is above 1, differ by rounding.
const ROUNDING: f64 = 1e-12;

/// Why a change of a fitted set is not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refit {
    /// The old run is of version 0.1, which does not say what sets were fitted on.
    OldUnknown,
    /// The new run is.
    NewUnknown,
    /// The set was fitted in one of the runs only.
    OneRun,
    /// It learns from a reference whose rows, or their classes, differ.
    Reference,
    /// It learns from the rows that train, be it causal graphs or in the folds of an experiment.
    Trained,
    /// It learns from the rows of each run.
    Rows,
}

impl Refit {
    /// The reason, and what helps.
    fn words(self) -> &'static str {
        match self {
            Refit::OldUnknown => {
                "the baseline is of version 0.1, which does not say what its sets were fitted on: run its job again with \
                 this program and approve that folder"
            }
            Refit::NewUnknown => {
                "the run is of version 0.1, which does not say what its sets were fitted on: run its job again with this \
                 program"
            }
            Refit::OneRun => "the set was fitted in one of the two runs only, and how far that alone moves it is not known",
            Refit::Reference => {
                "the rows of `data.reference`, or the classes they fall into, differ from the baseline's, and how far \
                 that alone moves the set is not known; after a new model version approve a folder of it, or keep the \
                 reference file the same"
            }
            Refit::Trained => {
                "the set was fitted on other rows than in the baseline, and how far that alone moves it is not known; \
                 keep the rows that train the same"
            }
            Refit::Rows => {
                "the set was fitted on other rows than in the baseline, and how far that alone moves it is not known; \
                 give the job a `data.reference` fixed in time"
            }
        }
    }
}

/// What two values have to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bond {
    /// They mean the same.
    Whole,
    /// They mean different things.
    Broken,
    /// They mean the same, and rest on a set that was fitted on other rows, as far as is known.
    Refitted(Refit),
    /// They mean the same, and their intervals were made by two rules.
    OtherEnds,
}

/// The interval of a change.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Interval {
    pub(super) lo: f64,
    pub(super) hi: f64,
    pub(super) method: &'static str,
    pub(super) paired: bool,
}

/// A value in two runs.
pub(super) struct Change<'a> {
    rows: [Option<Record<'a>>; 2],
    status: &'static str,
    difference: Option<f64>,
    undefined: String,
    interval: Option<Interval>,
    level: Option<f64>,
    words: String,
}

impl<'a> Change<'a> {
    /// `pair` is what the same people give.
    pub(super) fn of(old: Option<Record<'a>>, new: Option<Record<'a>>, bond: Bond, level: Option<Level>, pair: Option<&Pair>) -> Self {
        let status = match (old, new) {
            (Some(_), None) => "only_old",
            (None, _) => "only_new",
            _ => match bond {
                Bond::Whole | Bond::OtherEnds => "compared",
                Bond::Broken => "not_comparable",
                Bond::Refitted(_) => "refitted",
            },
        };
        let mut change = Change {
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
        let (Some(before), Some(after)) = (old.real("value"), new.real("value")) else {
            let reason = if old.real("value").is_none() { ("old", old) } else { ("new", new) };
            change.undefined = format!("{}: {}", reason.0, reason.1.text("undefined"));
            "none: the change is undefined".clone_into(&mut change.words);
            if let Bond::Refitted(why) = bond {
                change.words = format!("{REFITTED}{}", why.words());
            }
            return change;
        };
        change.difference = Some(after - before);
        if let Bond::Refitted(why) = bond {
            change.words = format!("{REFITTED}{}", why.words());
            return change;
        }
        if bond == Bond::OtherEnds {
            "none: the two runs have different rules for intervals of what nobody or everybody makes".clone_into(&mut change.words);
            return change;
        }
        let Some(level) = level else {
            "none: not asked for".clone_into(&mut change.words);
            return change;
        };
        (change.interval, change.words) = interval([old, new], [before, after], level.get(), pair);
        change.level = change.interval.as_ref().map(|_| level.get());
        change
    }

    fn clear(&self) -> bool {
        // Weights counted in another unit give values that differ in the last digits, in every replicate alike.
        let is_rounding = |change: f64, old: f64| change.abs() <= ROUNDING * old.abs().max(1.0);
        let old = self.rows[0].and_then(|row| row.real("value"));
        let rounding = self.difference.zip(old).is_some_and(|(change, old)| is_rounding(change, old));
        !rounding && self.interval.as_ref().is_some_and(|i| i.lo > 0.0 || i.hi < 0.0)
    }

    fn reading(&self) -> &'static str {
        let (true, Some(difference), [Some(old), Some(new)]) = (self.clear(), self.difference, self.rows) else { return "" };
        let along = if difference > 0.0 { "higher" } else { "lower" };
        let (Some(before), Some(after), Some(ideal)) = (old.real("value"), new.real("value"), new.real("ideal")) else { return along };
        let ratio = find(new.text("metric"))
            .is_some_and(|m| matches!(m.reads, Reads::RateRatio(_) | Reads::ScoreRatio(_) | Reads::FavourableRatio));
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
    pub(super) fn row(&self, key: &[&str; 10]) -> Vec<Cell> {
        let [old, new] = self.rows;
        let real = |row: Option<Record<'_>>, column: &str| Cell::from(row.and_then(|r| r.real(column)));
        let int = |row: Option<Record<'_>>, column: &str| Cell::from(row.and_then(|r| r.int(column)));
        let count = |row: Option<Record<'_>>| Cell::Int(row.and_then(|r| r.int("n_rows")).unwrap_or(0));
        let interval = self.interval.as_ref();
        let mut flags: Vec<&str> =
            self.rows.iter().flatten().flat_map(|row| row.text("flags").split(',')).filter(|flag| !flag.is_empty()).collect();
        flags.sort_unstable();
        flags.dedup();
        let mut cells: Vec<Cell> = key.iter().map(|part| Cell::from(*part)).collect();
        cells.extend([
            new.or(old).map_or("", |row| row.text("family")).into(),
            self.status.into(),
            real(old, "value"),
            real(new, "value"),
            self.difference.into(),
            self.undefined.as_str().into(),
            interval.map(|i| i.lo).into(),
            interval.map(|i| i.hi).into(),
            self.level.into(),
            interval.map_or("", |i| i.method).into(),
            self.words.as_str().into(),
            Cell::Int(i64::from(interval.is_some_and(|i| i.paired))),
            Cell::Int(i64::from(self.clear())),
            self.reading().into(),
            int(old, "numerator"),
            int(old, "denominator"),
            int(new, "numerator"),
            int(new, "denominator"),
            count(old),
            count(new),
            flags.join(",").into(),
        ]);
        cells
    }
}

/// The interval of a change at a level, and its words.
fn interval(rows: [Record<'_>; 2], values: [f64; 2], level: f64, pair: Option<&Pair>) -> (Option<Interval>, String) {
    let [before, after] = values;
    let mut remark = String::new();
    if let Some(pair) = pair {
        if pair.identical && before.to_bits() == after.to_bits() {
            let words = "no outcome of anybody behind the value differs between the runs".to_owned();
            return (Some(Interval { lo: 0.0, hi: 0.0, method: IDENTICAL, paired: true }), words);
        }
        // What outcomes do not hold, such as people without a valid counterfactual, shows in the values.
        let graphs = rows.iter().any(|row| row.int("n_worlds").unwrap_or(0) + row.int("n_worlds_undefined").unwrap_or(0) > 1);
        let gives =
            |value: Option<f64>, expected: f64| value.is_some_and(|value| (value - expected).abs() <= ROUNDING * expected.abs().max(1.0));
        if graphs {
            "; not paired: outcomes hold the mean score of each person, the value is a mean over graphs".clone_into(&mut remark);
        } else if gives(pair.old, before) && gives(pair.new, after) {
            if let Some((lo, hi)) = pair.interval {
                // Newcombe's takes the people of the two runs for others.
                let paired = pair.method != Method::Newcombe.as_str();
                return (Some(Interval { lo, hi, method: pair.method, paired }), pair.words.clone());
            }
            remark = format!("; paired: {}", pair.words);
        } else if pair.old.is_some() || pair.new.is_some() {
            "; not paired: the outcomes kept do not give the values".clone_into(&mut remark);
        }
    }
    let words = |method: &str| format!("{method}, unpaired{remark}");
    let rates = rows.map(|row| rate(&row));
    if let [Some(old), Some(new)] = rates
        && let Some(found) = newcombe(new, old, z_of(level))
    {
        let interval = Interval { lo: found.lo, hi: found.hi, method: Method::Newcombe.as_str(), paired: false };
        return (Some(interval), words("Newcombe hybrid score, method 10"));
    }
    let ends = rows.map(|row| Some((row.real("lo")?, row.real("hi")?, row.real("level")?)));
    match ends {
        [Some(old), Some(new)] if old.2 == level && new.2 == level => {
            let change = after - before;
            let lo = change - libm::hypot(after - new.0, old.1 - before);
            let hi = change + libm::hypot(new.1 - after, before - old.0);
            (Some(Interval { lo, hi, method: MOVER, paired: false }), words("MOVER from the intervals of both values"))
        }
        [Some(_), Some(_)] => (None, format!("none: the intervals of the two values have different levels{remark}")),
        [None, _] => (None, format!("none: the old value has no interval: {}{remark}", rows[0].text("ci_method"))),
        [_, None] => (None, format!("none: the new value has no interval: {}{remark}", rows[1].text("ci_method"))),
    }
}

/// The counts of a share of independent cases.
fn rate(row: &Record<'_>) -> Option<Rate> {
    let count = |column: &str| row.int(column).and_then(|n| u64::try_from(n).ok());
    let rate = Rate { numerator: count("numerator")?, denominator: count("denominator")?, empty: Undefined::EmptyGroup };
    (row.text("interval") == Method::Wilson.as_str()).then_some(rate)
}
