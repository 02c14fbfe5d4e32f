//! Section "What this verdict depends on", of audits with causal graphs: what the job states about
//! causes, how well that fits the rows, and how strong something that no column holds would have to
//! be to overturn what is found.
//!
//! Read from the tables `knowledge_fit`, `needed_knowledge` and `hidden_cause`. If a verdict
//! changes, the page gives the strength, and for comparison the strongest recorded column, which is
//! no bound on what is not recorded; so no sentence calls a verdict robust.

use std::cmp::Ordering;

use minijinja::context;
use minijinja::value::Value;

use crate::metric::catalog::ccm::HARM;
use crate::metric::rate::Undefined;
use crate::metric::value::hidden_cause::HiddenPush;
use crate::report::draw::plot::PlotPoint;
use crate::report::page::PageSection;
use crate::report::page::number::three_digits;
use crate::report::page::terms::PageGlossary;
use crate::report::read::audit::AuditFolder;
use crate::report::read::graphs::ScenarioGraphs;
use crate::report::read::grouped::grouped;
use crate::report::section::graphs::knowledge::stated_knowledge;
use crate::table::{ANY_TARGET, GateRow, HiddenCauseRow, KnowledgeFitRow, NeededKnowledgeRow};
use crate::text::fact;

/// Findings on one page.
const FINDINGS_AT_MOST: usize = 12;

/// Columns that are named one by one.
const COLUMNS_AT_MOST: usize = 4;

/// A rate without a limit, or with that of one gate: its rows of all targets, pushes and strengths.
struct HiddenFinding<'a> {
    rows: Vec<&'a HiddenCauseRow>,
    gate: Option<&'a GateRow>,
}

/// The section; none where no graphs are.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageSection> {
    let graphs = audit.graphs_by_attribute();
    let statements: Vec<Value> =
        graphs.iter().flat_map(|(_, sets)| sets).map(|set| statement(audit, set)).collect();
    if statements.is_empty() {
        return None;
    }
    let findings = findings(audit);
    let more = findings.len().saturating_sub(FINDINGS_AT_MOST);
    let told: Vec<Value> = findings
        .iter()
        .take(FINDINGS_AT_MOST)
        .filter_map(|finding| facts(finding, glossary))
        .collect();
    let needed = needed(audit, glossary);
    let facts = context!(statements, needed, findings => told, more);
    Some(PageSection::of_facts("depends-on", "hidden_cause.html", facts))
}

/// The row of the weakest hidden cause that changes a verdict of the table of gates, by itself;
/// none where none does. A pass changes with the first of its directions, a fail with the last of
/// those that fail; without weak links that the graphs leave out, which are no hidden cause.
pub(crate) fn weakest<'a>(audit: &'a AuditFolder) -> Option<&'a HiddenCauseRow> {
    let findings = findings(audit).into_iter();
    let of_gates = grouped(findings.map(|of| (of.rows[0].key.gate.as_str(), of)));
    let turning = |(gate, directions): (&str, Vec<HiddenFinding<'a>>)| {
        let judged = audit.rows_of_gate(gate);
        let fails = judged.iter().filter(|row| row.verdict == *"fail").count();
        let verdict = match fails {
            0 if judged.iter().all(|row| row.verdict == *"pass") => "pass",
            0 => return None,
            _ => "fail",
        };
        let own = directions
            .into_iter()
            .filter(|of| of.of(ANY_TARGET, "up").next().is_some_and(|row| row.verdict == verdict));
        let turns: Vec<_> = own.map(|of| of.turning(ANY_TARGET)).collect();
        match fails {
            0 => turns.into_iter().flatten().min_by(by_strength),
            _ if turns.len() < fails => None,
            _ => turns.into_iter().collect::<Option<Vec<_>>>()?.into_iter().max_by(by_strength),
        }
        .filter(|(at, _)| *at > 0.0)
    };
    of_gates.into_iter().filter_map(turning).min_by(by_strength).map(|(_, row)| row)
}

/// What a set assumes about causes, and how well its graphs fit the rows.
fn statement(audit: &AuditFolder, set: &ScenarioGraphs) -> Value {
    let is_of_set = |fit: &&KnowledgeFitRow| {
        fit.sensitive == set.attribute
            && set.set.split_once('/') == Some((&fit.counterfactual, &fit.scenario))
    };
    let fit = audit.knowledge_fits.iter().find(is_of_set).map(|fit| {
        context! {
            against => fit.against.as_str(), worse => fit.worse_in, of => fit.bootstraps,
            middle => three_digits(fit.difference),
            ends => fit.lo.zip(fit.hi).map(|ends| [ends.0, ends.1].map(three_digits)),
        }
    });
    let is_asked = audit.hidden.iter().any(|row| row.key.counterfactual == set.set);
    let knowledge = stated_knowledge(audit, &set.set);
    context!(set => &set.set, knowledge, fit, is_asked)
}

/// For each gate and direction the verdict, and the statements without which it is another.
fn needed(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<Value> {
    let mut all: Vec<(bool, Value)> = Vec::new();
    // The row with all statements comes first.
    for rows in audit.needed.chunk_by(|a, b| a.key == b.key) {
        let Some((whole, rows)) = rows.split_first() else { continue };
        let is_unknown = rows.iter().any(|row| !row.undefined.is_empty());
        let others = rows.iter().filter(|row| row.verdict != whole.verdict);
        let others: Vec<&NeededKnowledgeRow> = others.filter(|_| !is_unknown).collect();
        let facts = context! {
            row => fact(whole), metric => glossary.show(&whole.key.metric).name,
            is_unknown, others => fact(&others),
        };
        all.push((others.is_empty(), facts));
    }
    // Verdicts that need a statement first.
    all.sort_by_key(|(needs_none, _)| *needs_none);
    let more = all.len().saturating_sub(FINDINGS_AT_MOST);
    let all: Vec<Value> = all.into_iter().take(FINDINGS_AT_MOST).map(|(_, facts)| facts).collect();
    (!all.is_empty()).then(|| context!(verdicts => all, more))
}

/// The rates with a limit; where no gate has one, the rates of harm, else of both switches.
fn findings(audit: &AuditFolder) -> Vec<HiddenFinding<'_>> {
    let has_gates = audit.hidden.iter().any(|row| !row.key.gate.is_empty());
    let has_harm = audit.hidden.iter().any(|row| HARM.contains(&row.key.metric.as_str()));
    let metrics = if has_harm { HARM } else { ["nsr", "psr"] };
    let is_shown = |row: &&HiddenCauseRow| match has_gates {
        true => !row.key.gate.is_empty(),
        false => metrics.contains(&row.key.metric.as_str()),
    };
    let gate = |row: &HiddenCauseRow| {
        audit.gates.iter().find(|gate| {
            let groups = [&row.key.from_group, &row.key.to_group];
            gate.gate == row.key.gate && [&gate.from_group, &gate.to_group] == groups
        })
    };
    let all = grouped(audit.hidden.iter().filter(is_shown).map(|row| (&row.key, row)));
    all.into_iter().map(|(_, rows)| HiddenFinding { gate: gate(rows[0]), rows }).collect()
}

/// The strength at which a verdict turns, and a row of the push that turns it.
type VerdictTurn<'a> = (f64, &'a HiddenCauseRow);

fn by_strength(a: &VerdictTurn<'_>, b: &VerdictTurn<'_>) -> Ordering {
    a.0.total_cmp(&b.0)
}

impl<'a> HiddenFinding<'a> {
    fn of(&self, target: &'a str, push: &'a str) -> impl Iterator<Item = &'a HiddenCauseRow> + '_ {
        let rows = self.rows.iter().copied();
        rows.filter(move |row| row.target == target && row.push == push)
    }

    /// The turn of the verdict at the smallest strength.
    fn turning(&self, target: &'a str) -> Option<VerdictTurn<'a>> {
        let rows =
            HiddenPush::ALL.into_iter().filter_map(|push| self.of(target, push.word()).next());
        let turns = rows.filter_map(|row| Some((row.turns_at?, row)));
        turns.min_by(by_strength)
    }
}

/// The facts of the page about a finding.
fn facts(finding: &HiddenFinding<'_>, glossary: &mut PageGlossary<'_>) -> Option<Value> {
    let first = finding.of(ANY_TARGET, "up").next()?;
    let limit = finding.gate.map(|gate| {
        let least = gate.rule_words().0 == "at_least";
        context!(name => gate.gate.as_str(), at => gate.limit, least)
    });
    Some(context! {
        row => fact(first), metric => glossary.show(&first.key.metric).name, limit,
        clause => Undefined::of_code(&first.undefined).map_or("", Undefined::clause),
        turning => finding.turning(ANY_TARGET).map(|(_, row)| fact(row)),
        columns => columns(finding), strengths => fact(&strengths(finding)),
        curves => curves(finding),
    })
}

/// The columns that could each change the verdict, the weakest cause first.
fn columns(finding: &HiddenFinding<'_>) -> Vec<Value> {
    let mut names: Vec<&str> = finding.rows.iter().map(|row| row.target.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let single = names.into_iter().filter(|name| *name != ANY_TARGET);
    let turning = |name| Some((finding.turning(name)?.0, name));
    let mut all: Vec<(f64, &str)> = single.filter_map(turning).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(b.1)));
    all.truncate(COLUMNS_AT_MOST);
    all.into_iter().map(|(at, name)| context!(name, at)).collect()
}

/// The rate at every strength, pushed down and up.
fn strengths<'a>(
    finding: &HiddenFinding<'a>,
) -> Vec<(&'a HiddenCauseRow, Option<&'a HiddenCauseRow>)> {
    let up = |down: &HiddenCauseRow| {
        finding.of(ANY_TARGET, "up").find(|up| up.strength == down.strength)
    };
    let rows = finding.of(ANY_TARGET, "down").filter(|row| row.undefined.is_empty());
    rows.map(|down| (down, up(down))).collect()
}

/// The curves of both pushes, as the chart takes them; none without any.
fn curves(finding: &HiddenFinding<'_>) -> Option<Value> {
    let points = |push| -> Vec<(f64, Option<PlotPoint>)> {
        let rows = finding.of(ANY_TARGET, push).filter(|row| row.undefined.is_empty());
        let point = |row: &HiddenCauseRow| {
            let interval = row.world_lo.zip(row.world_hi);
            row.value.map(|value| PlotPoint::new(value, interval))
        };
        rows.map(|row| (row.strength, point(row))).collect()
    };
    let both = [points("up"), points("down")];
    (!both[0].is_empty()).then(|| fact(&both))
}
