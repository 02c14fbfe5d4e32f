//! What is said next to a limit: how many people would decide it, why it is undecided, and that no
//! other threshold would keep it.

use crate::metric::value::curves::{LEAST_BROKEN_STEPS, broken_run};
use crate::report::brief::limit_part::{LimitBound, LimitPart};
use crate::report::brief::voice::AuditVoice;
use crate::report::draw::plot::{AxisUnit, SwitchSide};
use crate::report::page::number::{count, unit};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;
use crate::report::read::score_tables::ReportedCurve;
use crate::table::GateRow;

/// How many people would decide a limit in 4 of 5 cases.
#[derive(Debug, Clone)]
pub(crate) struct LimitNeed {
    /// The row that says it.
    part: LimitPart,
    /// People below its value: persons, where one may have several rows, and of people with weights
    /// those who weigh more than 0.
    n: i64,
    /// Audited people who bring them.
    audited: Option<i64>,
    /// Whether a person may have several rows or none that weighs, so that rows do not compare with
    /// `n`.
    of_persons: bool,
}

impl LimitNeed {
    /// From the row of a gate; none where it says no number.
    pub(super) fn of(row: &GateRow, of_persons: bool) -> Option<LimitNeed> {
        let (n, audited) = (row.n_needed_80?, row.people_needed_80);
        Some(LimitNeed { part: LimitPart::of(row), n, audited, of_persons })
    }

    /// `With about 1,900 more refused women the question would be decided in 4 of 5 cases.`
    pub(super) fn sentence(&self, voice: &AuditVoice<'_>) -> String {
        let (key, attribute) = (&self.part.key, self.part.key.attribute.as_str());
        let decided = "the question would be decided in 4 of 5 cases";
        if self.of_persons {
            let n = count(rounded_up(self.n));
            return format!("With about {n} people who count here {decided}.");
        }
        let Some(today) = self.part.whole else {
            let n = count(rounded_up(self.n));
            let whom = match key.scope.as_str() {
                "pair" | "difference" | "one_vs_rest" => " in both groups together",
                _ => "",
            };
            // Not everybody counts in a rate by label: the people to audit are more.
            return match self.audited.filter(|audited| *audited > self.n) {
                Some(audited) => format!(
                    "With about {} people audited (about {n} of them count in this value) \
                     {decided}.",
                    count(rounded_up(audited))
                ),
                None => format!("With about {n} people{whom} {decided}."),
            };
        };
        let more = self.n - today;
        if more <= 0 {
            return "With as many people again, but others, the question would be decided in 4 of \
                    5 cases."
                .to_owned();
        }
        if more > 1_000_000 {
            return "The value is so close to the limit that no realistic number of people would \
                    decide the question."
                .to_owned();
        }
        let both = !key.from.is_empty() && !key.to.is_empty();
        let who = match self.part.metric.as_str() {
            "denied_by_group" if both => voice.switchable(SwitchSide::Gained, attribute, &key.from),
            "favoured_by_group" if both => voice.switchable(SwitchSide::Lost, attribute, &key.from),
            "sr" if both => voice.people(attribute, &key.from),
            _ => "people of those who count".to_owned(),
        };
        format!("With about {} more {who} {decided}.", count(rounded_up(more)))
    }
}

/// A number with two digits, rounded up.
fn rounded_up(n: i64) -> i64 {
    let mut unit = 1;
    while n / unit >= 100 {
        unit *= 10;
    }
    // The number is at most 10^9.
    (n + unit - 1) / unit * unit
}

/// `No threshold between 0.20 and 0.70 keeps this limit.` Where the value of a broken gate breaks
/// the limit at every threshold around that of the job; none where thresholds nearby keep it or are
/// not judged.
pub(super) fn no_threshold(
    audit: &AuditFolder,
    part: &LimitPart,
    (bound, limit): (LimitBound, f64),
    enough: i64,
) -> Option<String> {
    let breaks = |value: f64| match bound {
        LimitBound::AtMost => value > limit,
        LimitBound::AtLeast => value < limit,
        LimitBound::RiseAtMost | LimitBound::FallAtMost => false,
    };
    let (curve, turned) = curve_of(audit, part)?;
    let points: Vec<(Option<f64>, u64)> = curve
        .steps
        .iter()
        .map(|step| {
            let value = step.value.map(|value| if turned { 1.0 / value } else { value });
            // The inverse of 0 is no value, as in the gate.
            (value.filter(|value| value.is_finite()), step.cases.unsigned_abs())
        })
        .collect();
    let (first, last) = broken_run(&points, curve.job_step()?, enough.unsigned_abs(), breaks)?;
    if last - first < LEAST_BROKEN_STEPS {
        return None;
    }
    let [a, b] = [first, last].map(|step| curve.steps[step].threshold);
    let (first, last) = curve.ends()?;
    let ends = inwards((last - first).abs(), (a?.min(b?), a?.max(b?)));
    let [lo, hi] = ends.map(|number| AxisUnit::Number.label(number));
    Some(format!(
        "No threshold between {lo} and {hi} keeps this limit, in steps of 1/1,024 of the scale."
    ))
}

/// The curve of the value that a limit judges, and whether the limit judges its inverse.
fn curve_of<'a>(audit: &'a AuditFolder, part: &LimitPart) -> Option<(&'a ReportedCurve, bool)> {
    if part.metric != "di" {
        return Some((audit.scores.curve(&part.key, &part.metric)?, false));
    }
    // The gate asks for its first group over its second, the metric for B over A.
    let swapped =
        ResultKey { from: part.key.to.clone(), to: part.key.from.clone(), ..part.key.clone() };
    let as_measured = audit.scores.curve(&swapped, "di").map(|curve| (curve, false));
    as_measured.or_else(|| Some((audit.scores.curve(&part.key, "di")?, true)))
}

/// Two thresholds in as few digits as tell hundredths of a scale of this width, rounded towards
/// each other.
fn inwards(width: f64, (lo, hi): (f64, f64)) -> [f64; 2] {
    let unit = unit(width / 100.0);
    [(lo / unit - 1e-9).ceil() * unit, (hi / unit + 1e-9).floor() * unit]
}

#[cfg(test)]
mod tests {
    use super::inwards;

    #[test]
    fn thresholds_are_rounded_towards_each_other() {
        let shown = |width, ends| inwards(width, ends).map(|x| format!("{x:.4}"));
        assert_eq!(shown(1.0, (0.2011, 0.699)), ["0.2100", "0.6900"]);
        assert_eq!(shown(1.0, (0.2, 0.7)), ["0.2000", "0.7000"]);
        assert_eq!(shown(550.0, (420.3, 611.9)), ["421.0000", "611.0000"]);
        assert_eq!(shown(13.8, (-1.234, 0.57)), ["-1.2000", "0.5000"]);
    }
}
