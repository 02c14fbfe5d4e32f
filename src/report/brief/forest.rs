//! All results of the brief as one table: who would be decided otherwise, in blocks by question,
//! the worst block first. Facts only; the sentences are in `forest.html`.

use std::collections::BTreeSet;

use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::report::brief::harm::{HarmResult, ranked, seconds};
use crate::report::brief::limits::{self, AuditLimit};
use crate::report::brief::voice::{AuditVoice, CalledAttribute, CalledGroup, CalledSet};
use crate::report::draw::plot::{PlotScale, SwitchSide};
use crate::report::page::PageSection;
use crate::report::page::words::short;
use crate::report::read::audit::AuditFolder;
use crate::report::read::grouped::grouped;
use crate::report::read::panel::ResultKey;
use crate::report::section::graphs::knowledge::{ScenarioKnowledge, stated_knowledge};
use crate::report::section::graphs::values::ValuesInShort;
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

/// Who is worse off in a block: named where the tables name the same group in every row, or in
/// some.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum WorseOff<'a> {
    /// In every result.
    All { group: &'a CalledGroup },
    /// In a number of rows; which ones, if they are few.
    Some { group: &'a CalledGroup, clear: usize, named: Vec<&'a HarmResult> },
    /// A change of class is in itself neither better nor worse, and results may contradict each
    /// other.
    Unclear,
    /// In none, or not the same in all.
    Nobody,
}

/// What a set changes, said once.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum SetNote<'a> {
    Set {
        set: &'a CalledSet,
        attribute: &'a CalledAttribute,
        /// Whether sets that change the entries of several attributes read alike.
        several_attributes: bool,
        /// Whether no feature of anybody changed.
        repeats_entry: bool,
    },
    /// What sets of causal graphs have in common.
    Graphs {
        attribute: &'a CalledAttribute,
    },
    Values {
        values: ValuesInShort,
    },
    Knowledge {
        knowledge: ScenarioKnowledge,
    },
}

/// The question that a result answers: who, in which group, as which group.
pub(crate) type ForestQuestion<'a> = (&'a str, SwitchSide, &'a str, &'a str);

pub(crate) fn question(result: &HarmResult) -> ForestQuestion<'_> {
    let key = &result.key;
    (&key.attribute, result.side, &key.from, &key.to)
}

impl<'a> WorseOff<'a> {
    fn of(rows: &[&'a HarmResult]) -> Self {
        let named: Vec<&'a HarmResult> =
            rows.iter().copied().filter(|row| row.worse.is_some()).collect();
        let groups: BTreeSet<&'a CalledGroup> =
            named.iter().filter_map(|row| row.worse.as_ref()).collect();
        match (groups.first(), groups.len()) {
            (Some(group), 1) if named.len() == rows.len() => WorseOff::All { group },
            (Some(group), 1) => {
                let clear = named.len();
                let named = named.into_iter().filter(|_| clear <= NAMED_AT_MOST).collect();
                WorseOff::Some { group, clear, named }
            }
            _ if rows.iter().any(|row| row.side == SwitchSide::Either || row.contested) => {
                WorseOff::Unclear
            }
            _ => WorseOff::Nobody,
        }
    }
}

/// What the sets of the rows change; what sets of causal graphs have in common once.
fn notes<'a>(audit: &AuditFolder, shown: &[&'a HarmResult]) -> Vec<SetNote<'a>> {
    let mut sets: Vec<&'a HarmResult> = Vec::new();
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
            notes.push(SetNote::Set {
                set,
                attribute,
                several_attributes: set.only_entry && shown.iter().any(of_others),
                repeats_entry: unchanged.is_some_and(|share| share >= 1.0),
            });
        } else if graphs.insert(&attribute.name) {
            notes.push(SetNote::Graphs { attribute });
        }
        if let Some(own) = set.values.filter(|own| !values.contains(own)) {
            values.push(own);
            notes.push(SetNote::Values { values: own });
        }
        if let Some(knowledge) = knowledge.filter(|own| !stated.contains(own)) {
            stated.push(knowledge.clone());
            notes.push(SetNote::Knowledge { knowledge });
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
        let worse = WorseOff::of(&mine);
        let row = |result: &HarmResult| context!(result => fact(result), limit => limit_of(result));
        context!(worse => fact(&worse), rows => mine.into_iter().map(row).collect::<Value>())
    };
    let blocks: Value = by_question.into_iter().map(block).collect();
    let named = nobody.iter().take(if nobody.len() > NAMED_AT_MOST { 0 } else { nobody.len() });
    let named: Vec<&HarmResult> = named.copied().collect();
    let facts = context! {
        worse => fact(&worse_off(results)), notes => fact(&notes(audit, &shown)),
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
