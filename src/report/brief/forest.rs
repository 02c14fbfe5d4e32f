//! All results of the brief as one table: who would be decided otherwise, in blocks by question,
//! the worst block first. Facts only; the sentences are in `forest.html`.

use std::collections::BTreeSet;

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::harm::{HarmResult, ranked, seconds};
use crate::report::brief::limits::{self, AuditLimit};
use crate::report::brief::voice::{AuditVoice, CalledGroup};
use crate::report::draw::plot::{PlotScale, SwitchSide};
use crate::report::page::PageSection;
use crate::report::page::words::short;
use crate::report::read::audit::AuditFolder;
use crate::report::read::grouped::grouped;
use crate::report::read::panel::ResultKey;
use crate::report::section::graphs::knowledge::stated_knowledge;
use crate::text::fact;

/// Rows on the page; the others are in the annex.
const ROWS_AT_MOST: usize = 24;

/// The height that the second printed page has for them, in rows, that of a heading, and that of
/// the second line of a label beyond this many letters.
const ROOM: f64 = 30.5;
const HEADING: f64 = 1.6;
const SECOND_LINE: f64 = 0.75;
const LETTERS_OF_A_LINE: usize = 30;

/// Results that a line names, of more their number: those without a switch, and in the heading of a
/// block those that say who is worse off.
const NAMED_AT_MOST: usize = 2;

/// The question that a result answers: who, in which group, as which group.
pub(crate) type ForestQuestion<'a> = (&'a str, SwitchSide, &'a str, &'a str);

pub(crate) fn question(result: &HarmResult) -> ForestQuestion<'_> {
    let key = &result.key;
    (&key.attribute, result.side, &key.from, &key.to)
}

/// Who is worse off in a block: in `all` results or in `some` a group that the tables name there;
/// which results these are, if they are few. It is `unclear` where results contradict each other,
/// and of a change of class, which is in itself neither better nor worse.
fn worse_in(rows: &[&HarmResult]) -> Value {
    let named: Vec<&HarmResult> = rows.iter().copied().filter(|row| row.worse.is_some()).collect();
    let groups: BTreeSet<&CalledGroup> =
        named.iter().filter_map(|row| row.worse.as_ref()).collect();
    let group = groups.first().filter(|_| groups.len() == 1).map(fact);
    let is_unclear = |row: &&HarmResult| row.side == SwitchSide::Either || row.contested;
    match group {
        Some(group) if named.len() == rows.len() => context!(kind => "all", group),
        Some(group) => {
            let clear = named.len();
            let few = if clear <= NAMED_AT_MOST { named } else { Vec::new() };
            context!(kind => "some", group, clear, named => fact(&few))
        }
        None if rows.iter().any(is_unclear) => context!(kind => "unclear"),
        None => context!(kind => "nobody"),
    }
}

/// What the sets of the rows change; what sets of causal graphs have in common once.
fn notes(audit: &AuditFolder, shown: &[&HarmResult]) -> Vec<Value> {
    let mut sets: Vec<&HarmResult> = Vec::new();
    for result in shown {
        let alike = |other: &&HarmResult| {
            let (set, other) = (&result.set, &other.set);
            other.name == set.name || set.only_entry && other.only_entry && set.reads_as(other)
        };
        if !sets.iter().any(alike) {
            sets.push(result);
        }
    }
    let mut notes = Vec::new();
    let mut graphs = BTreeSet::new();
    let (mut values, mut stated) = (Vec::new(), Vec::new());
    for of in sets {
        let (set, attribute) = (&of.set, &of.attribute);
        let knowledge = stated_knowledge(audit, &set.name);
        if knowledge.is_none() {
            let of_others = |other: &&HarmResult| {
                other.set.reads_as(set) && other.attribute.name != attribute.name
            };
            let all = ResultKey::of_set(&set.name, &attribute.name);
            let unchanged = audit.quality.value(&all, "unchanged_share");
            // Sets that change the entries of several attributes may read alike, and a set may
            // change no feature of anybody.
            notes.push(context! {
                kind => "set", set => fact(set), attribute => fact(attribute),
                several_attributes => set.only_entry && shown.iter().any(of_others),
                repeats_entry => unchanged.is_some_and(|share| share >= 1.0),
            });
        } else if graphs.insert(&attribute.name) {
            notes.push(context!(kind => "graphs", attribute => fact(attribute)));
        }
        if let Some(own) = set.values.filter(|own| !values.contains(own)) {
            values.push(own);
            notes.push(context!(kind => "values", values => fact(&own)));
        }
        if let Some(knowledge) = knowledge.filter(|own| !stated.contains(own)) {
            notes.push(context!(kind => "knowledge", knowledge => &knowledge));
            stated.push(knowledge);
        }
    }
    notes
}

/// The group that is worse off in all that was tested, where the tables name only one group of one
/// attribute: what the heading says.
fn worse_off(results: &[HarmResult]) -> Option<&CalledGroup> {
    let named: BTreeSet<(&str, &CalledGroup)> = results
        .iter()
        .filter_map(|result| Some((result.key.attribute.as_str(), result.worse.as_ref()?)))
        .collect();
    named.first().filter(|_| named.len() == 1).map(|(_, group)| *group)
}

/// The table; none where no counterfactual was measured.
pub(crate) fn section<'r>(
    audit: &AuditFolder,
    results: &'r [HarmResult],
    voice: &AuditVoice<'_>,
    limits: &[AuditLimit],
) -> Option<PageSection> {
    let (nobody, some): (Vec<&'r HarmResult>, Vec<&'r HarmResult>) =
        ranked(results).into_iter().partition(|result| result.nobody);
    let (mut questions, mut height, mut shown) = (BTreeSet::new(), 0.0, Vec::new());
    for result in some.iter().copied().take(ROWS_AT_MOST) {
        // `model, label of the set` is the label of a row.
        let label = short(&result.key.model).chars().count()
            + voice.set_label(&result.key.set).chars().count()
            + ", ".len();
        height += if label > LETTERS_OF_A_LINE { 1.0 + SECOND_LINE } else { 1.0 };
        height += if questions.insert(question(result)) { HEADING } else { 0.0 };
        if height > ROOM {
            break;
        }
        shown.push(result);
    }
    if shown.is_empty() && nobody.is_empty() {
        return None;
    }
    let limit_of = |result: &HarmResult| limits::of_result(limits, result).map(|of| of.limit);
    let by_question = grouped(shown.iter().map(|result| (question(result), *result)));
    let block = |(_, mine): (ForestQuestion<'_>, Vec<&'r HarmResult>)| {
        let worse = worse_in(&mine);
        let row = |result: &HarmResult| context!(result => fact(result), limit => limit_of(result));
        context!(worse, rows => mine.into_iter().map(row).collect::<Value>())
    };
    let blocks: Value = by_question.into_iter().map(block).collect();
    let named = nobody.iter().take(if nobody.len() > NAMED_AT_MOST { 0 } else { nobody.len() });
    let named: Vec<&HarmResult> = named.copied().collect();
    let facts = context! {
        worse => fact(&worse_off(results)), notes => notes(audit, &shown),
        level => audit.manifest.level.get(), seconds => seconds(shown.iter().copied()).into_iter().collect::<Value>(),
        has_placebo => shown.iter().any(|result| result.placebo.is_some()),
        has_limit => shown.iter().any(|result| limit_of(result).is_some()),
        scale => fact(&PlotScale::from_zero(
            shown.iter().flat_map(|result| result.point.extent()), 1.0)),
        blocks, more => some.len() - shown.len(),
        n_nobody => nobody.len(), nobody => fact(&named),
    };
    Some(PageSection::of_facts("all", "forest.html", facts))
}
