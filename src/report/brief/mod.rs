//! `report.html`: the brief, which prints on two pages and is signed, and the evidence behind it.
//!
//! The brief answers in ten seconds: the verdict, who is worse off, by how much, against what
//! limit. Every measured value leads to its row in the annex, where there is one. Sentences come
//! from a closed set of templates; none says why, and none names a group that the tables do not
//! name.

pub(crate) mod closing;
pub(crate) mod forest;
pub(crate) mod harm;
pub(crate) mod hero;
pub(crate) mod hero_chart;
pub(crate) mod inputs;
mod limit_notes;
pub(crate) mod limit_part;
pub(crate) mod limits;
pub(crate) mod population;
pub(crate) mod shares;
mod support;
pub(crate) mod voice;

use std::collections::BTreeSet;

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::voice::AuditVoice;
use crate::report::evidence;
use crate::report::page::{self, PageSection};
use crate::report::read::audit::AuditFolder;
use crate::report::read::words;
use crate::report::selective;
use crate::table::IssueRow;
use crate::text::fact;

/// The page of a folder.
pub(crate) fn page(audit: &AuditFolder, title: Option<&str>) -> String {
    let m = &audit.manifest;
    let voice = AuditVoice::of_audit(audit);
    let results = harm::all(audit, &voice);
    let shares = shares::all(audit, &voice);
    let limits = limits::all(audit, &voice);
    let annex = !m.words.without_annex;
    let inputs = BriefInputs {
        audit,
        voice: &voice,
        results: &results,
        shares: &shares,
        limits: &limits,
        annex,
    };
    let sections = match m.awaited.is_empty() {
        true => [brief(&inputs), evidence::sections(&inputs)],
        false => [vec![waiting(&inputs)], Vec::new()],
    };
    page::brief::html(title, audit, voice.facts(), sections)
}

/// The worst of the states that hold some people more often than others: missing labels, which
/// decide about gates, else the one with the most people.
fn worst_selective(audit: &AuditFolder) -> Option<(&IssueRow, &str)> {
    let known = ["without_label", "no_group", "without_score", "other_side"];
    let told = audit.issues.iter().filter_map(|issue| {
        let state = issue.state.as_deref()?;
        Some((issue, if known.contains(&state) { state } else { "lost_rows" }))
    });
    told.max_by_key(|(issue, state)| (*state == "without_label", issue.n))
}

/// What must be read before the sentence of the page: the worst of the states that hold some people
/// more often than others, switches that rounding may explain, scores against the labels, one
/// decision for everybody or for all counterfactuals, thresholds that follow the group, scores that
/// no moved feature changes, and groups, labels and decisions that may be another spelling of
/// others.
fn first_of_all(audit: &AuditFolder, voice: &AuditVoice<'_>) -> Value {
    let codes = [
        "rounding-at-threshold",
        "inverted-scores",
        "at-threshold",
        "off-labels",
        "one-decision",
        "one-counterfactual-decision",
        "threshold-by-group",
        "unmoved-scores",
        "similar-groups",
        "unlisted-label",
        "unlisted-decision",
        "favourable-side",
        "better-side",
    ];
    let others = audit.issues.iter().map(|issue| (issue, issue.code.as_str()));
    let told = worst_selective(audit).into_iter().chain(others.filter(|of| codes.contains(&of.1)));
    let boxed = |(issue, what): (&IssueRow, &str)| {
        let selective = selective::facts(issue, voice);
        context!(what, text => issue.text.as_str(), selective)
    };
    told.map(boxed).collect()
}

/// Caveats about the scores that a reader of the verdict must know.
fn doubts(audit: &AuditFolder) -> Value {
    let codes = ["no-recheck", "not-repeatable", "unexpected-scores"];
    let told = audit.issues.iter().filter(|issue| codes.contains(&issue.code.as_str()));
    let boxed = |issue: &IssueRow| context!(what => issue.code.as_str(), text => issue.text.as_str(), selective => ());
    told.map(boxed).collect()
}

/// The files of scores that do not name the request; models may share a file.
fn unbound(audit: &AuditFolder) -> BTreeSet<&str> {
    let unbound = audit.manifest.answers.iter().filter(|answer| !answer.named);
    unbound.map(|answer| answer.path.as_str()).collect()
}

fn brief(inputs: &BriefInputs<'_>) -> Vec<PageSection> {
    let BriefInputs { audit, voice, results, limits, .. } = *inputs;
    let finding = inputs.choose_hero();
    let verdict = context! {
        stand_in => &audit.manifest.stand_in, audited => audit.manifest.rows.audited,
        tally => limits::tally(limits), first => first_of_all(audit, voice),
        hero => inputs.hero_facts(&finding),
        retrained => evidence::retraining::answer(inputs),
        untested => closing::without_anybody(audit, voice), persons => words::persons(audit),
        slices => harm::in_slices(audit, voice),
        doubts => doubts(audit),
        unbound => unbound(audit).into_iter().collect::<Value>(),
        chart => inputs.hero_chart(&finding),
    };
    let mut sections = vec![PageSection::of_facts("verdict", "hero.html", verdict)];
    if !limits.is_empty() {
        sections.push(limits::section(audit, limits));
    }
    sections.extend(forest::section(audit, results, voice, limits));
    let not_shown = closing::not_shown(inputs);
    sections.push(PageSection::of_facts("not", "closing.html", not_shown));
    sections.push(PageSection::of_facts("sign", "closing.html", closing::sign_off(audit, voice)));
    sections
}

/// The page of a run that waits for scores.
fn waiting(inputs: &BriefInputs<'_>) -> PageSection {
    let audit = inputs.audit;
    let m = &audit.manifest;
    let audited = i64::try_from(m.rows.audited).unwrap_or(i64::MAX);
    let facts = context! {
        m => fact(m), measured => audit.is_measured(), people => words::people(audit, audited),
        tally => (!audit.gates.is_empty()).then(|| limits::tally(inputs.limits)),
        annex => inputs.annex,
    };
    PageSection::of_facts("verdict", "waits.html", facts)
}
