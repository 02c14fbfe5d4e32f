//! How each limit was kept from run to run.

use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::limit_part::LimitPart;
use crate::report::brief::limits::AuditLimit;
use crate::report::draw::plot::{KeyShape, PlotPoint};
use crate::report::draw::trend::{TrendLimit, TrendRun, trend};
use crate::report::page::PageBlock;
use crate::report::page::brief::BriefSection;
use crate::report::page::plots::{BriefBlock, ChartPanel};
use crate::report::page::words::{RichText, capital, short};
use crate::report::read::judged::JudgedValue;
use crate::table::HistoryRow;

/// Charts on the page; the numbers of all limits are in the table `history`.
const CHARTS_AT_MOST: usize = 8;

/// The runs of a part of a limit, this one last.
fn runs(inputs: &BriefInputs<'_>, limit: &AuditLimit, part: &LimitPart) -> Vec<TrendRun> {
    let manifest = &inputs.audit.manifest;
    let is_same = |row: &&HistoryRow| {
        row.gate.as_str() == limit.name && JudgedValue::of_history(row) == limit.value_of(part)
    };
    let point = |value: Option<f64>, interval| {
        value.filter(|value| value.is_finite()).map(|value| PlotPoint {
            value,
            interval,
            second: None,
        })
    };
    let mut found: Vec<TrendRun> = Vec::new();
    for (i, earlier) in manifest.history.iter().enumerate() {
        let mut run = TrendRun {
            version: earlier.version.clone().unwrap_or_default(),
            ..TrendRun::default()
        };
        let at = i64::try_from(i + 1).unwrap_or(i64::MAX);
        if let Some(row) =
            inputs.audit.history.iter().filter(|row| row.position == at).find(is_same)
        {
            run.point = point(row.value, row.lo.zip(row.hi));
            run.broken = row.verdict.as_str() == "fail";
        }
        found.push(run);
    }
    found.push(TrendRun {
        point: point(part.value, part.interval),
        broken: limit.verdict == "fail",
        version: manifest.words.version.clone().unwrap_or_default(),
    });
    found
}

/// The section; none without earlier runs.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<BriefSection> {
    let n_earlier = inputs.audit.manifest.history.len();
    if n_earlier == 0 {
        return None;
    }
    let mut panels = Vec::new();
    let (mut n_limits, mut n_broken) = (0, 0);
    for limit in inputs.limits {
        let Some(part) = limit.parts.first() else { continue };
        let runs = runs(inputs, limit, part);
        if runs[..n_earlier].iter().all(|run| run.point.is_none()) {
            continue;
        }
        n_limits += 1;
        n_broken += usize::from(runs.iter().any(|run| run.broken));
        if panels.len() == CHARTS_AT_MOST {
            continue;
        }
        let last = &part.shown;
        let what = capital(&limit.label(part, inputs.voice));
        let label = format!("limit {}", limit.amount);
        let broken = runs.iter().filter(|run| run.broken).count();
        let desc =
            format!("Last value {last}, {label}; broken in {broken} of {} runs.", runs.len());
        let shown = TrendLimit { at: limit.drawn, forbidden: limit.forbidden, label: &label };
        let title = format!("{what}, over {} runs", runs.len());
        panels.push(ChartPanel {
            drawing: trend((&title, &desc), &runs, shown, limit.unit, last),
            title: RichText::new().quote(what).text(" ").small(short(&limit.name)),
        });
    }
    let runs = if n_earlier == 1 {
        "the earlier run".to_owned()
    } else {
        format!("{n_earlier} earlier runs")
    };
    let lead = match (n_limits, n_broken) {
        (0, _) => format!("No limit of this run has a value in {runs}."),
        (1, 0) => format!("In this run and {runs} the limit was never broken."),
        (1, _) => format!("In this run and {runs} the limit was broken at least once."),
        (n, 0) => format!("In this run and {runs} none of {n} limits was broken."),
        (n, broken) => {
            format!("In this run and {runs} {broken} of {n} limits were broken at least once.")
        }
    };
    let keys = RichText::new().key(KeyShape::Area, "interval").text(
        "Squares: runs that broke their own limit. Dashed: first run of a version. The line across \
         is today's limit. Runs are at equal distances, in the given order; all values are in \
         the table history.",
    );
    let mut blocks: Vec<PageBlock> = vec![BriefBlock::Lead(RichText::new().quote(lead)).into()];
    if !panels.is_empty() {
        blocks.push(BriefBlock::Panels("pair", panels).into());
        blocks.push(PageBlock::Note(keys));
    }
    Some(BriefSection {
        id: "trend",
        title: "How were the limits kept from run to run?".into(),
        short: "Trend",
        blocks,
    })
}
