//! The notes next to a limit: how many people would decide it, and the range of thresholds in which
//! none keeps it.

use minijinja::context;
use minijinja::value::Value;

use crate::metric::catalog::ccm::HARM;
use crate::metric::value::curves::{LEAST_BROKEN_STEPS, broken_run};
use crate::report::brief::harm::side_of;
use crate::report::brief::limit_part::LimitBound;
use crate::report::brief::voice::AuditVoice;
use crate::report::draw::plot::AxisUnit;
use crate::report::page::number::unit;
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;
use crate::report::read::score_tables::ReportedCurve;
use crate::table::GateRow;
use crate::text::fact;

/// How many people would decide a limit in 4 of 5 cases, in numbers of two digits, rounded up, from
/// the row of a gate; none where it has no number. `of_persons`: a person may have several rows or
/// counterfactuals, or none with a weight above 0, so that the number is one of persons.
pub(super) fn need(row: &GateRow, voice: &AuditVoice<'_>, of_persons: bool) -> Option<Value> {
    let n = row.n_needed_80?;
    if of_persons {
        // Of a value that is no rate the number is one of people to audit.
        let audited = row.people_needed_80 == Some(n);
        return Some(context!(kind => "persons", n => rounded_up(n), audited));
    }
    let Some(today) = row.denominator else {
        // Not everybody counts in a rate by label: the people to audit are more.
        return Some(match row.people_needed_80.filter(|audited| *audited > n) {
            Some(audited) => {
                context!(kind => "audited", n => rounded_up(n), audited => rounded_up(audited))
            }
            None => {
                let both = ["pair", "difference", "one_vs_rest"].contains(&row.scope.as_str());
                context!(kind => "people", n => rounded_up(n), both)
            }
        });
    };
    let has_side = HARM.contains(&row.metric.as_str()) || row.metric == "sr";
    let is_pair = !row.from_group.is_empty() && !row.to_group.is_empty();
    Some(match n - today {
        ..=0 => context!(kind => "as_many_again"),
        1_000_001.. => context!(kind => "too_close"),
        // Of those who may switch; for other values, of those who count.
        more => context! {
            kind => "more", n => rounded_up(more),
            side => fact(&(has_side && is_pair).then(|| side_of(&row.metric))),
            from => fact(&voice.called_group(&row.sensitive, &row.from_group)),
        },
    })
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

/// Two thresholds, as they are printed, between which none keeps the limit: where the value of a
/// broken gate breaks it at every threshold around that of the job; none where thresholds nearby
/// keep it or are not judged.
pub(super) fn no_threshold(
    audit: &AuditFolder,
    (key, metric): (&ResultKey, &str),
    (bound, limit): (LimitBound, f64),
    enough: i64,
) -> Option<[String; 2]> {
    let breaks = |value: f64| match bound {
        LimitBound::AtMost => value > limit,
        LimitBound::AtLeast => value < limit,
        LimitBound::RiseAtMost | LimitBound::FallAtMost => false,
    };
    let (curve, turned) = curve_of(audit, key, metric)?;
    let points: Vec<(Option<f64>, u64)> = curve
        .steps
        .iter()
        .map(|step| {
            let value = step.value.map(|value| if turned { 1.0 / value } else { value });
            // The inverse of 0 is no value, as in the gate.
            (value.filter(|value| value.is_finite()), step.denominator.unwrap_or(0).unsigned_abs())
        })
        .collect();
    let (first, last) = broken_run(&points, curve.job_step()?, enough.unsigned_abs(), breaks)?;
    if last - first < LEAST_BROKEN_STEPS {
        return None;
    }
    let [a, b] = [first, last].map(|step| curve.steps[step].threshold);
    let (first, last) = curve.ends()?;
    let ends = inwards((last - first).abs(), (a?.min(b?), a?.max(b?)));
    Some(ends.map(|number| AxisUnit::Number.label(number)))
}

/// The curve of the value that a limit judges, and whether the limit judges its inverse.
fn curve_of<'a>(
    audit: &'a AuditFolder,
    key: &ResultKey,
    metric: &str,
) -> Option<(&'a ReportedCurve, bool)> {
    if metric != "di" {
        return Some((audit.scores.curve(key, metric)?, false));
    }
    // The gate asks for its first group over its second, the metric for B over A.
    let swapped = ResultKey { from: key.to.clone(), to: key.from.clone(), ..key.clone() };
    let as_measured = audit.scores.curve(&swapped, "di").map(|curve| (curve, false));
    as_measured.or_else(|| Some((audit.scores.curve(key, "di")?, true)))
}

/// Two thresholds, rounded towards each other, with as few digits as distinguish hundredths of a
/// scale of this width.
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
