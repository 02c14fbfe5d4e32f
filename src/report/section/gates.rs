//! Section "Gates": every row of the table `gates`, what it asks, its limit and its value. The
//! brief leads here limit by limit. Facts only; the sentences are in `gates.html`.

use std::cmp::Ordering;

use minijinja::context;
use minijinja::value::Value;

use crate::gate::reason::{GateCount, GateFindings};
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::find;
use crate::metric::{GapTransform, Metric, MetricFamily};
use crate::report::page::PageSection;
use crate::report::page::number;
use crate::report::page::terms::{self, PageGlossary};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::KeyedRow;
use crate::report::section::experiments::without_sign;
use crate::report::section::graphs;
use crate::report::section::models::place as measured_at;
use crate::table::GateRow;
use crate::table::recourse::UNFAIR_SUBGROUPS;
use crate::table::why::CONFIRMED_PATTERNS;
use crate::text::fact;

/// Rows on the page; the others are in the table `gates`.
const ROWS_AT_MOST: usize = 200;

/// The section; none where the job has no gate.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageSection> {
    let mut gates: Vec<&GateRow> = audit.gates.iter().collect();
    gates.sort_by(|a, b| b.decides.cmp(&a.decides).then(worst_first(a, b)));
    if gates.is_empty() {
        return None;
    }
    let shown = &gates[..gates.len().min(ROWS_AT_MOST)];
    let rows: Vec<Value> = shown.iter().map(|gate| row(audit, gate, glossary)).collect();
    let facts = context!(more => gates.len() - shown.len(), rows);
    Some(PageSection::of_facts("gates", "gates.html", facts))
}

fn severity(gate: &GateRow) -> usize {
    let order =
        [("fail", "fail"), ("inconclusive", "fail"), ("fail", "warn"), ("inconclusive", "warn")];
    let pair = (gate.verdict.as_str(), gate.level.as_str());
    order.iter().position(|o| *o == pair).unwrap_or(if pair.0 == "pass" { 4 } else { 5 })
}

/// Where a gate measures: its kind, the groups in the order that the value has, and a word. Of a
/// `pair` as it is the first `minus`, `over` or `and` the second; of `harm` whether people of a
/// group are `denied` or `favoured`, of amounts whether theirs would be `better` or `worse`. Of
/// others the place that the value has in all tables.
fn place(audit: &AuditFolder, gate: &GateRow) -> Value {
    let (from, to) = (gate.from_group.as_str(), gate.to_group.as_str());
    let of_amounts = audit.manifest.amounts().is_some();
    if !from.is_empty() && !to.is_empty() && gate.counterfactual.is_empty() {
        // For facets the name of the metric says what is compared.
        let of_pair = find(&gate.metric).filter(|metric| metric.family == MetricFamily::Group);
        let by = of_pair.and_then(Metric::transform);
        let word = match by {
            None | Some(GapTransform::Widest | GapTransform::SmallerOverLarger) => "and",
            Some(GapTransform::Ratio | GapTransform::Inverse) => "over",
            Some(_) => "minus",
        };
        let [from, to] = by.map_or([from, to], |by| by.row_groups(from, to));
        return context!(kind => "pair", from, to, word);
    }
    let word = match (of_amounts, gate.metric.as_str() == HARM[0]) {
        (false, true) => "denied",
        (false, false) => "favoured",
        (true, true) => "better",
        (true, false) => "worse",
    };
    let is_of_two = !from.is_empty() && !to.is_empty() && gate.scope != "difference";
    let kind = match HARM.contains(&gate.metric.as_str()) {
        true if is_of_two => "harm",
        _ if from.is_empty() && to.is_empty() && gate.scope != "worst_case" => "everybody",
        _ => "measured",
    };
    let of = measured_at(&gate.metric, &gate.scope, [from, to]);
    context!(kind, from, to, word, of => fact(&of))
}

/// What a gate on a table of its own counts, one and several; none of a gate on a metric.
fn thing(metric: &str) -> Option<[&'static str; 2]> {
    match metric {
        UNFAIR_SUBGROUPS => Some(["subgroup", "subgroups"]),
        CONFIRMED_PATTERNS => Some(["pattern", "patterns"]),
        _ => None,
    }
}

fn row(audit: &AuditFolder, gate: &GateRow, glossary: &mut PageGlossary<'_>) -> Value {
    let metric = gate.metric.as_str();
    let thing = thing(metric);
    let of_value = terms::kind(metric, gate.scope.as_str());
    let (bound, decides) = gate.rule_words();
    let (kind, of_limit) = match (gate.is_of_change(), of_value.of_change()) {
        (false, _) => (of_value, of_value),
        (true, of_change) => (of_change, without_sign(of_change)),
    };
    let shown = |value: f64| match thing {
        Some([one, many]) => number::count_of(value as i64, one, many),
        None => kind.value(value),
    };
    let of_limit = |value: f64| match thing {
        Some(_) => number::count(value as i64),
        None => of_limit.value(value),
    };
    let ends = gate.value.zip(gate.lo.zip(gate.hi));
    let cases = gate.denominator.map(|n| match thing {
        Some([one, many]) if metric == UNFAIR_SUBGROUPS => number::count_of(n, one, many),
        _ => number::count(n),
    });
    let findings = GateFindings::of_row(gate);
    let counted = findings.as_ref().and_then(|of| of.counted.as_ref()).map(GateCount::words);
    let why =
        findings.as_ref().map_or_else(|| gate.reason.to_string(), GateFindings::words_of_verdict);
    // Why the set of a gate names no group as worse off, where graphs are the reason.
    let is_plain = gate.arm.is_empty() && gate.class.is_empty();
    let key = Some(gate.key()).filter(|_| is_plain);
    let caution = key.and_then(|key| graphs::knowledge::caution(audit, &key.set, &key.attribute));
    context! {
        name => gate.gate.as_str(), note => audit.manifest.words.gate_notes.get(gate.gate.as_str()),
        thing => thing.map(|[_, many]| many), counted,
        title => thing.is_none().then(|| glossary.title(metric)), class => gate.class.as_str(),
        place => place(audit, gate), attribute => gate.sensitive.as_str(),
        set => gate.counterfactual.as_str(), model => gate.model.as_str(), arm => gate.arm.as_str(),
        verdict => gate.verdict.as_str(), decides_gate => gate.decides == 1,
        warns => gate.level == "warn", bound, limit => of_limit(gate.limit), decides,
        value => gate.value.map(shown),
        interval => ends.map(|(value, (lo, hi))| kind.interval(value, lo, hi)),
        baseline => gate.value.and(gate.baseline_value).map(|value| of_value.value(value)), cases,
        enough => gate.enough, why, caution,
    }
}

/// By verdict and level, then by how far beyond the limit; ties in the order of the table.
fn worst_first(a: &GateRow, b: &GateRow) -> Ordering {
    severity(a).cmp(&severity(b)).then(b.excess().total_cmp(&a.excess()))
}
