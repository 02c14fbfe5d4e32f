//! How each limit was kept from run to run. Facts only; the sentences are in `trend.html`.

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::limit_part::LimitPart;
use crate::report::brief::limits::AuditLimit;
use crate::report::draw::plot::PlotPoint;
use crate::report::draw::trend::TrendRun;
use crate::report::page::PageSection;
use crate::report::read::judged::JudgedValue;
use crate::report::read::panel::KeyedRow;
use crate::table::HistoryRow;
use crate::text::fact;

/// Charts on the page; the numbers of all limits are in the table `history`.
const CHARTS_AT_MOST: usize = 8;

/// The runs of a part of a limit, this one last: its values, and whether the limit was broken, be
/// it by another part.
fn runs(inputs: &BriefInputs<'_>, limit: &AuditLimit, part: &LimitPart) -> Vec<TrendRun> {
    let manifest = &inputs.audit.manifest;
    let is_same = |row: &&HistoryRow| JudgedValue::of(row.key(), &row.metric) == part.judged;
    let point = |value: Option<f64>, interval| {
        value.filter(|value| value.is_finite()).map(|value| PlotPoint::new(value, interval))
    };
    let earlier = manifest.history.iter().zip(1..).map(|(earlier, at)| {
        let of_gate = |row: &&HistoryRow| row.position == at && row.gate.as_str() == limit.name;
        let mut rows = inputs.audit.history.iter().filter(of_gate);
        let row = rows.clone().find(is_same);
        TrendRun {
            point: row.and_then(|row| point(row.value, row.lo.zip(row.hi))),
            broken: rows.any(|row| row.verdict == "fail"),
            version: earlier.version.clone().unwrap_or_default(),
        }
    });
    let this = TrendRun {
        point: point(part.value, part.interval),
        broken: limit.verdict == "fail",
        version: manifest.words.version.clone().unwrap_or_default(),
    };
    earlier.chain([this]).collect()
}

/// The section; none without earlier runs.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    let earlier = inputs.audit.manifest.history.len();
    if earlier == 0 {
        return None;
    }
    let of_limit = |limit: &AuditLimit| {
        let runs = runs(inputs, limit, limit.parts.first()?);
        let is_known = runs[..earlier].iter().any(|run| run.point.is_some());
        let broken = runs.iter().filter(|run| run.broken).count();
        is_known.then(|| (broken, context!(limit => fact(limit), runs => fact(&runs), broken)))
    };
    let found: Vec<(usize, Value)> = inputs.limits.iter().filter_map(of_limit).collect();
    let trends = found.iter().take(CHARTS_AT_MOST).map(|(_, facts)| facts.clone());
    let facts = context! {
        earlier, n => found.len(), broken => found.iter().filter(|(broken, _)| *broken > 0).count(),
        trends => trends.collect::<Value>(),
    };
    Some(PageSection::of_facts("trend", "trend.html", facts))
}
