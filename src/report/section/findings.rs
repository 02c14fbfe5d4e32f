//! Section "Findings in words": at most seven sentences from a closed set of templates, each with
//! counts and a link.
//!
//! First comes what the gates that did not pass depend on, so that the verdict is explained. What
//! follows is ranked by the people harmed, the most first: the lower end of an interval times the
//! people it refers to (of a gap those of the worse group). Where there are more than fit, each
//! model that harms somebody keeps its worst finding, and a note says how many more there are and
//! where. Each model, set and attribute has one finding: the direction between the reference and
//! another group that harms most, unless other groups harm twice as many; the switch back that
//! harms the same group is in the same line. After these come recourse, too few to tell, not
//! defined, and where no decision changed. Where causal graphs give different numbers, a sentence
//! has the mean over graphs instead of a count. No sentence says why, none judges; that a
//! decision hangs on the entry itself is said about naive sets only, of others that people are
//! compared with similar people of the other group. A group is called disadvantaged only where the
//! tables name it, by the rule of the metric (section 2.3.1 and Table 7 of the paper), and never
//! where the attribute follows from another column in the graphs of a set. A value that the tables
//! flag as resting on few cases never makes a finding but "too few to tell", unless a gate asks for
//! it.

use crate::metric::catalog::ccm::HARM;
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageSection};
use crate::report::read::audit::AuditFolder;
use crate::report::read::judged::JudgedValue;
use crate::report::read::panel::{AuditPanel, ReportedValue, ResultKey};
use crate::report::read::quality::QualityKey;
use crate::report::read::words;
use crate::report::read::words::DecisionWords;
use crate::report::section::finding_sentence::{
    FindingCandidate, finding_sentence, gained, is_of_the_entry, lost, reverse_switch, row,
    supposition,
};
use crate::report::section::{graphs, groups, left_out, recourse, verdict};
use crate::table::IssueRow;

/// Sentences on the page.
const FINDINGS_AT_MOST: usize = 7;

/// Sentences about gates that did not pass.
const GATES_AT_MOST: usize = 3;

/// Sentences kept for what no gate asks.
const OTHERS_AT_LEAST: usize = 2;

/// A sentence, and how many people what it tells harms at least.
struct ReportFinding {
    harmed: f64,
    sentence: RichText,
}

/// The section.
pub(crate) fn section(
    audit: &AuditFolder,
    panels: &[AuditPanel],
    glossary: &mut PageGlossary<'_>,
) -> PageSection {
    let sides = DecisionWords::of(audit);
    let candidates = candidates(audit, panels, &sides);
    let (mut sentences, asked) = gate_findings(audit, &candidates, &sides, glossary);
    let mut tail: Vec<RichText> = recourse::finding(audit).into_iter().collect();
    tail.extend(too_few(&candidates, &sides));
    tail.extend(not_defined(&candidates, &sides));
    tail.extend(nothing_switches(audit, panels));
    let mut others = tail.len();
    tail.truncate(FINDINGS_AT_MOST - OTHERS_AT_LEAST - sentences.len());
    let mut told: Vec<(Option<&str>, ReportFinding)> = switch_findings(&candidates, &asked, &sides);
    told.extend(gap_findings(audit, &sides).into_iter().map(|gap| (None, gap)));
    // Stable: what harms as many keeps the order of the page.
    told.sort_by(|a, b| b.1.harmed.total_cmp(&a.1.harmed));
    let by_gates = asked.iter().map(|&i| candidates[i].panel.model.as_str()).collect();
    let kept = shown_findings(&told, FINDINGS_AT_MOST - sentences.len() - tail.len(), by_gates);
    others -= tail.len();
    let mut cut: Vec<&str> = Vec::new();
    for (i, (model, told)) in told.into_iter().enumerate() {
        match model {
            _ if kept.contains(&i) => sentences.push(told.sentence),
            Some(model) => cut.push(model),
            None => others += 1,
        }
    }
    sentences.extend(tail);
    let mut blocks = Vec::new();
    if sentences.is_empty() {
        blocks.push(PageBlock::Text(
            "There are no findings: the job measures no counterfactual set and no group.".into(),
        ));
    } else {
        if sides.positive.is_some() {
            blocks.push(PageBlock::Note(
                RichText::new().text("Favourable means ").and(verdict::favourable(audit)).text("."),
            ));
        }
        blocks.extend(words::persons(audit).map(PageBlock::Note));
        blocks.extend(words::weights(audit).map(PageBlock::Note));
        blocks.push(PageBlock::Findings(sentences));
        blocks.extend(omitted_findings(audit, &cut, others).map(PageBlock::Note));
        blocks.extend(noise(&candidates).map(PageBlock::Note));
        if candidates.iter().any(|c| c.discards) {
            blocks.push(PageBlock::Note(
                "A counterfactual is valid if it passed the filter and the checks of its set; \
                 others are not counted."
                    .into(),
            ));
        }
        if candidates.iter().any(|c| c.leaves_out && !c.discards && !c.several) {
            let words = RichText::from(
                "People count if they have a counterfactual that its set kept, and both scores: ",
            );
            blocks.push(PageBlock::Note(
                words.link("what was excluded", "left-out", "What was excluded").text("."),
            ));
        }
    }
    PageSection { id: "findings", title: "Findings in words", blocks }
}

/// Which findings, of those that harm most in front, are on the page: first the worst of each
/// model that harms somebody and is not among those told already, then those that harm most.
fn shown_findings<'a>(
    told: &[(Option<&'a str>, ReportFinding)],
    room: usize,
    mut already: Vec<&'a str>,
) -> Vec<usize> {
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for (i, (model, told)) in told.iter().enumerate() {
        match model {
            Some(model) if told.harmed > 0.0 && !already.contains(model) => {
                already.push(model);
                first.push(i);
            }
            _ => rest.push(i),
        }
    }
    first.extend(rest);
    first.truncate(room);
    first
}

/// How many findings the list has no room for: those on switches, by the model of each, and others.
fn omitted_findings(audit: &AuditFolder, cut: &[&str], others: usize) -> Option<RichText> {
    if cut.is_empty() && others == 0 {
        return None;
    }
    let number = |n: usize| match n {
        1 => "1 further finding".to_owned(),
        n => format!("{n} further findings"),
    };
    let stand = |n: usize| if n == 1 { "stands" } else { "stand" };
    let mut words = RichText::new();
    if !cut.is_empty() {
        let all = audit.manifest.models.iter().map(|model| model.name.as_str());
        let models: Vec<&str> = all.filter(|model| cut.contains(model)).collect();
        let on = if models.len() == 1 { ", on the model " } else { ", on the models " };
        words = words.text(number(cut.len())).text(on);
        for (i, model) in models.iter().enumerate() {
            let between = match i {
                0 => "",
                i if i + 1 == models.len() => " and ",
                _ => ", ",
            };
            words = words.text(between).name(*model);
        }
        words = words.text(format!(", {} in the section ", stand(cut.len())));
        words = words.link("Who switches", "switches", "Who switches").text(".");
    }
    if others > 0 {
        let space = if cut.is_empty() { "" } else { " " };
        let (n, stand) = (number(others), stand(others));
        words = words.text(format!("{space}{n} of another kind {stand} in the sections below."));
    }
    Some(words)
}

/// What noise is, and how many repeats its band depends on; none where no value has a band.
fn noise(candidates: &[FindingCandidate<'_>]) -> Option<RichText> {
    let banded = || candidates.iter().filter(|c| c.noise().is_some());
    banded().next()?;
    let mut repeats: Vec<i64> = banded().filter_map(|c| c.measure.repeats).collect();
    repeats.sort_unstable();
    let band = match (repeats.first(), repeats.last()) {
        (Some(least), Some(most)) if least == most => {
            format!(": the band of {} repeats", number::count(*least))
        }
        (Some(least), Some(most)) => {
            format!(": the band of {} to {} repeats", number::count(*least), number::count(*most))
        }
        _ => String::new(),
    };
    Some(
        format!("The noise band is the result of the same set with shuffled group names{band}.")
            .into(),
    )
}

/// Losses and gains of all directions, those that harm most first; ties in the order of the page.
fn candidates<'a>(
    audit: &'a AuditFolder,
    panels: &'a [AuditPanel],
    sides: &DecisionWords,
) -> Vec<FindingCandidate<'a>> {
    let mut found = Vec::new();
    let worlds = audit.set_qualities();
    for panel in panels {
        let world = worlds
            .iter()
            .find(|world| world.key.set == panel.set && world.key.attribute == panel.attribute)
            .map(|world| world.id);
        let caution = graphs::knowledge::caution(audit, &panel.set, &panel.attribute);
        for (direction, groups) in panel.directions.iter().enumerate() {
            let key = panel.direction(groups);
            let each = audit
                .measure(&key, "sr")
                .and_then(|sr| Some(sr.n_rows as f64 / sr.counts?.1.max(1) as f64));
            let several = each.is_some_and(|each| each < 1.0);
            // Counterfactuals of one person are that person.
            let people = |m: &ReportedValue| people_of(m) * each.unwrap_or(1.0).min(1.0);
            let pair = QualityKey {
                set: panel.set.clone(),
                attribute: panel.attribute.clone(),
                from: groups.from.clone(),
                to: groups.to.clone(),
            };
            let discards = audit.quality.discards(&pair);
            let leaves_out = left_out::undercount(&audit.measures, &key).is_some();
            let none_valid = audit.quality.none_valid(&pair);
            let farther =
                audit.quality.features(&pair).iter().filter(|f| f.is_much_farther()).count();
            let consistency = if sides.loss == "sr" { "" } else { "sr" };
            for metric in [consistency, sides.loss, sides.gain, sides.rightful] {
                if let Some(measure) = audit.measure(&key, metric) {
                    let harmed = harmed(audit, measure, people(measure));
                    found.push(FindingCandidate {
                        panel,
                        direction,
                        metric,
                        measure,
                        harmed,
                        several,
                        discards,
                        leaves_out,
                        none_valid,
                        farther,
                        quality_id: world,
                        caution: caution.clone(),
                    });
                }
            }
        }
    }
    let value = |c: &FindingCandidate<'_>| c.measure.value.unwrap_or(-1.0);
    found.sort_by(|a, b| b.harmed.total_cmp(&a.harmed).then(value(b).total_cmp(&value(a))));
    found
}

/// Cases below a rate, also where graphs differ in what is on top of it.
fn people_of(measure: &ReportedValue) -> f64 {
    measure.counts.map(|(_, whole)| whole).or_else(|| measure.across?.whole).unwrap_or(0) as f64
}

/// How many of so many people a rate harms at least: by the lower end of its interval, nobody where
/// noise gives as much. In a job without intervals by the value.
fn harmed(audit: &AuditFolder, measure: &ReportedValue, people: f64) -> f64 {
    let least = match (measure.interval, audit.manifest.level) {
        (Some((lo, _)), _) => lo,
        (None, None) => measure.value.unwrap_or(0.0),
        (None, Some(_)) => 0.0,
    };
    let noise = measure.placebo.filter(|(lo, hi)| lo < hi).map_or(0.0, |(_, hi)| hi);
    if least > noise { least * people } else { 0.0 }
}

/// What the gates that did not pass depend on, worst first, and which candidates say it.
fn gate_findings(
    audit: &AuditFolder,
    candidates: &[FindingCandidate<'_>],
    sides: &DecisionWords,
    glossary: &mut PageGlossary<'_>,
) -> (Vec<RichText>, Vec<usize>) {
    let (mut sentences, mut asked) = (Vec::new(), Vec::new());
    for gate in verdict::not_passed(audit).into_iter().take(GATES_AT_MOST) {
        // What a gate on a change depends on is another number.
        let judged = JudgedValue::of_gate(gate);
        // What goes by the favourable side is reported as what it is.
        let metric = match gate.metric.as_str() {
            metric if metric == HARM[0] => sides.gain,
            metric if metric == HARM[1] => sides.loss,
            metric => metric,
        };
        let is_about = |c: &FindingCandidate<'_>| {
            let key = c.panel.direction(&c.panel.directions[c.direction]);
            c.metric == metric && judged == Some(JudgedValue::plain(&key, &gate.metric))
        };
        // Two gates may ask for one value: it is reported once.
        let place = candidates.iter().position(is_about).filter(|place| !asked.contains(place));
        let about = place.and_then(|i| finding_sentence(&candidates[i], sides));
        asked.extend(place.filter(|_| about.is_some()));
        sentences.push(match about {
            Some(words) => words.text(" ").and(verdict::gate_clause(gate)),
            None => verdict::gate_clause_with_value(audit, gate, glossary),
        });
    }
    (sentences, asked)
}

/// One finding of each model, set and attribute, each with its model; none where a gate has told
/// one that harms half as many or more.
fn switch_findings<'a>(
    candidates: &[FindingCandidate<'a>],
    asked: &[usize],
    sides: &DecisionWords,
) -> Vec<(Option<&'a str>, ReportFinding)> {
    let graphs_differ = |c: &FindingCandidate<'_>| {
        c.measure.across.is_some_and(|across| across.whole.is_some()) && c.measure.value > Some(0.0)
    };
    let worth = |c: &FindingCandidate<'_>| {
        !c.measure.small && c.measure.counts.map_or_else(|| graphs_differ(c), |(part, _)| part > 0)
    };
    let is_switch = |c: &FindingCandidate<'_>| {
        [sides.loss, sides.gain].contains(&c.metric) && !c.metric.is_empty()
    };
    let mut told: Vec<(Option<&'a str>, ReportFinding)> = Vec::new();
    let mut seen: Vec<usize> = Vec::new();
    for first in candidates.iter().filter(|c| is_switch(c)) {
        let panel = first.panel;
        if seen.contains(&panel.id) {
            continue;
        }
        seen.push(panel.id);
        // They come with those that harm most in front.
        let open = candidates.iter().enumerate().filter(|(i, c)| {
            c.panel.id == panel.id && is_switch(c) && worth(c) && !asked.contains(i)
        });
        let mut open = open.map(|(_, c)| c);
        let reference = panel.groups.first();
        let is_of_reference = |c: &FindingCandidate<'_>| {
            let direction = &c.panel.directions[c.direction];
            reference.is_some_and(|reference| [&direction.from, &direction.to].contains(&reference))
        };
        let Some(worst) = open.next() else { continue };
        let of_reference = std::iter::once(worst).chain(open).find(|c| is_of_reference(c));
        let main = of_reference
            .filter(|c| worst.harmed < 2.0 * c.harmed || worst.harmed <= 0.0)
            .unwrap_or(worst);
        let by_gates = asked
            .iter()
            .map(|&i| &candidates[i])
            .filter(|c| c.panel.id == panel.id)
            .map(|c| c.harmed);
        if by_gates
            .reduce(f64::max)
            .is_some_and(|by_gates| main.harmed < 2.0 * by_gates || main.harmed <= 0.0)
        {
            continue;
        }
        let sentence =
            if main.metric == sides.loss { lost(main, sides) } else { gained(main, sides) };
        let Some(mut sentence) = sentence else { continue };
        let groups = &panel.directions[main.direction];
        let is_back = |c: &FindingCandidate<'_>| {
            let direction = &panel.directions[c.direction];
            let other = if main.metric == sides.loss { sides.gain } else { sides.loss };
            c.metric == other && direction.from == groups.to && direction.to == groups.from
        };
        let own = candidates
            .iter()
            .enumerate()
            .filter(|(i, c)| c.panel.id == panel.id && !asked.contains(i));
        let other = own.map(|(_, c)| c).find(|c| is_switch(c) && is_back(c) && worth(c));
        if let Some(words) = other.and_then(|c| reverse_switch(c, sides)) {
            sentence = sentence.and(words);
        }
        told.push((Some(panel.model.as_str()), ReportFinding { harmed: main.harmed, sentence }));
    }
    told
}

/// One sentence for all panels in which no prediction switches.
fn nothing_switches(audit: &AuditFolder, panels: &[AuditPanel]) -> Option<RichText> {
    let still: Vec<(&AuditPanel, i64)> = panels
        .iter()
        .filter_map(|p| match audit.measure(&p.total(), "sr")?.counts? {
            (0, whole) if whole > 0 => Some((p, whole)),
            _ => None,
        })
        .collect();
    let (first, _) = still.first()?;
    let whole = still.iter().fold(0i64, |sum, (_, n)| sum.saturating_add(*n));
    let counts =
        format!(": 0 of {} counterfactuals are predicted differently.", number::count(whole));
    let words = match still.len() {
        1 => RichText::new()
            .text("No decision changed in ")
            .and(terms::origin(first))
            .text(", attribute ")
            .name(&first.attribute),
        n if n == panels.len() => RichText::new().text(format!(
            "No decision changed in any of the {n} comparisons of set, model and attribute"
        )),
        n => RichText::new().text(format!(
            "No decision changed in {n} of the {} comparisons of set, model and attribute",
            panels.len()
        )),
    };
    let mut words = words.text(counts);
    // In order of the manifest, each attribute once.
    let untested = |attribute: &&str| {
        still.iter().any(|(panel, _)| panel.attribute == **attribute && is_unshown(audit, panel))
    };
    let attributes: Vec<&str> =
        audit.manifest.attributes.iter().map(|a| a.name.as_str()).filter(untested).collect();
    if !attributes.is_empty() {
        words = words.text(" Not tested:");
        for (i, attribute) in attributes.iter().enumerate() {
            words = words.text(if i > 0 { ", " } else { " " }).name(*attribute);
        }
        words = words.text(
            ": the scored rows differ from their originals only in to_group, \
             so the model sees no change.",
        );
    }
    Some(words.text(" ").link("See the row", &first.anchor(usize::MAX, ""), "Who switches"))
}

/// Whether the scorer of the counterfactuals of a panel was shown rows that differ from their
/// originals only in `to_group`.
fn is_unshown(audit: &AuditFolder, panel: &AuditPanel) -> bool {
    let is_naive = audit
        .manifest
        .counterfactuals
        .iter()
        .any(|set| set.name == panel.set && terms::sets_attribute_only(&set.strategy));
    let is_elsewhere = audit.manifest.models.iter().any(|model| {
        model.name == panel.model && ["scores", "decision"].contains(&model.kind.as_str())
    });
    let is_unseen =
        |issue: &IssueRow| issue.code == "unseen-group" && issue.r#where == panel.attribute;
    is_naive
        && is_elsewhere
        && audit.score_moves(&panel.total()).all(|value| value == Some(0.0))
        && audit.issues.iter().any(is_unseen)
}

/// Of each model and attribute the gap between two groups in the share that gets the favourable
/// decision: that between the reference and another group that harms most people of the worse
/// group, unless two other groups harm twice as many.
fn gap_findings(audit: &AuditFolder, sides: &DecisionWords) -> Vec<ReportFinding> {
    struct GroupDecisionShare<'a> {
        key: &'a ResultKey,
        share: f64,
        people: f64,
        words: String,
    }
    let mut told: Vec<ReportFinding> = Vec::new();
    let mut ends: Vec<GroupDecisionShare<'_>> = Vec::new();
    for (key, metrics) in
        audit.measures.iter().filter(|(k, _)| k.scope == "group" && k.set.is_empty())
    {
        let Some(measure) = metrics.get("pprev").filter(|m| !m.small) else { continue };
        let (Some(value), Some((part, whole))) = (measure.value, measure.counts) else { continue };
        let favourable = turned(measure, value, (part, whole), sides.positive == Some(false));
        if let Some(words) = terms::share_in_words(&favourable) {
            ends.push(GroupDecisionShare {
                key,
                share: favourable.value.unwrap_or(value),
                people: whole as f64,
                words,
            });
        }
    }
    // How far the two are apart at least, by the interval of their difference.
    let least = |low: &ResultKey, high: &ResultKey, distance: f64| {
        let pair = |from: &str, to: &str| ResultKey {
            scope: "pair".to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            ..low.clone()
        };
        let pairs = [pair(&low.from, &high.from), pair(&high.from, &low.from)];
        let difference = pairs.iter().find_map(|key| audit.measure(key, "pprev_difference"));
        match (difference.and_then(|m| m.interval), audit.manifest.level) {
            (Some((lo, hi)), _) => lo.max(-hi).max(0.0),
            (None, None) => distance,
            (None, Some(_)) => 0.0,
        }
    };
    // Keys come sorted, so that rows of one model and attribute stand together.
    let mut ends = ends.into_iter().peekable();
    while let Some(first) = ends.next() {
        let mut same = vec![first];
        while let Some(end) = ends.next_if(|e| {
            e.key.model == same[0].key.model && e.key.attribute == same[0].key.attribute
        }) {
            same.push(end);
        }
        // Stable: of equals the order of the table.
        same.sort_by(|a, b| a.share.total_cmp(&b.share));
        let attribute =
            audit.manifest.attributes.iter().find(|words| words.name == same[0].key.attribute);
        let is_reference = |end: &GroupDecisionShare<'_>| {
            attribute.is_some_and(|words| words.reference == end.key.from)
        };
        // The widest of those that harm alike.
        let (mut worst, mut of_reference): (Option<DifferingGroups>, Option<DifferingGroups>) =
            (None, None);
        for (i, low) in same.iter().enumerate() {
            for (j, high) in
                same.iter().enumerate().skip(i + 1).filter(|(_, high)| high.share > low.share)
            {
                let distance = high.share - low.share;
                let found = DifferingGroups {
                    harmed: least(low.key, high.key, distance) * low.people,
                    distance,
                    low: i,
                    high: j,
                };
                let is_worse = |than: &DifferingGroups| {
                    (found.harmed, found.distance) > (than.harmed, than.distance)
                };
                if worst.as_ref().is_none_or(is_worse) {
                    worst = Some(found);
                }
                if (is_reference(low) || is_reference(high))
                    && of_reference.as_ref().is_none_or(is_worse)
                {
                    of_reference = Some(found);
                }
            }
        }
        let Some(worst) = worst else { continue };
        let main = of_reference
            .filter(|of| worst.harmed < 2.0 * of.harmed || worst.harmed <= 0.0)
            .unwrap_or(worst);
        let (low, high) = (&same[main.low], &same[main.high]);
        let what = if sides.positive.is_some() {
            "get the favourable decision"
        } else {
            "are predicted positive"
        };
        let words = RichText::new()
            .text("In the data, ")
            .strong(low.words.clone())
            .text(" in group ")
            .name(&low.key.from)
            .text(format!(" {what}, and {} in group ", high.words))
            .name(&high.key.from)
            .text(format!(": {} apart (model ", NumberFormat::Distance.value(main.distance)))
            .name(&low.key.model)
            .text("). ")
            .link("See the row", &groups::anchor(audit, low.key), "Groups as they are");
        told.push(ReportFinding { harmed: main.harmed, sentence: words });
    }
    told
}

/// Two of the groups of a model and attribute that differ: how many people that harms at least, and
/// the share between them.
#[derive(Clone, Copy)]
struct DifferingGroups {
    harmed: f64,
    distance: f64,
    low: usize,
    high: usize,
}

/// The share predicted positive, or its complement where the favourable side is the negative one.
fn turned(
    measure: &ReportedValue,
    value: f64,
    (part, whole): (i64, i64),
    negative: bool,
) -> ReportedValue {
    let mut turned = measure.clone();
    if negative {
        turned.value = Some(match measure.weights {
            Some((part, whole)) if whole > 0.0 => (whole - part) / whole,
            None if whole > 0 => (whole - part) as f64 / whole as f64,
            _ => 1.0 - value,
        });
        turned.counts = Some((whole - part, whole));
        turned.weights = measure.weights.map(|(part, whole)| (whole - part, whole));
        turned.interval = measure.interval.map(|(lo, hi)| (1.0 - hi, 1.0 - lo));
    }
    turned
}

fn too_few(candidates: &[FindingCandidate<'_>], sides: &DecisionWords) -> Option<RichText> {
    let mut thin: Vec<&FindingCandidate<'_>> = candidates
        .iter()
        .filter(|c| {
            c.metric == sides.loss
                && c.measure.small
                && c.measure.counts.is_some_and(|(_, whole)| whole > 0)
        })
        .collect();
    // The fewest cases first; the sort is stable, so ties stay in order.
    thin.sort_by_key(|c| c.measure.counts.map_or(i64::MAX, |(_, whole)| whole));
    let c = thin.first()?;
    let (part, whole) = c.measure.counts?;
    let groups = &c.panel.directions[c.direction];
    let start = format!(
        "Too few to tell: {}{} of ",
        if is_of_the_entry(c.panel) { "" } else { "compared with similar people, " },
        number::count(part)
    );
    let words = RichText::new()
        .text(start)
        .and(c.who(whole, sides.held))
        .text(format!(" {}", sides.loses))
        .and(supposition(c.panel, &groups.from, &groups.to))
        .text(" (")
        .and(terms::origin(c.panel))
        .text(match thin.len() - 1 {
            0 => ").".to_owned(),
            1 => "); 1 more comparison is based on few cases.".to_owned(),
            n => format!("); {n} more comparisons are based on few cases."),
        });
    Some(words.and(row(c)))
}

fn not_defined(candidates: &[FindingCandidate<'_>], sides: &DecisionWords) -> Option<RichText> {
    let undefined: Vec<&FindingCandidate<'_>> =
        candidates.iter().filter(|c| c.metric == sides.loss && c.measure.value.is_none()).collect();
    let c = undefined.first()?;
    let groups = &c.panel.directions[c.direction];
    let words = RichText::new()
        .text(format!("Not defined: how many people {} {} for ", sides.held, sides.loses))
        .and(RichText::direction(&groups.from, &groups.to))
        .text(format!(
            ", because {} (",
            c.none_valid.map_or_else(|| terms::why(c.measure).to_owned(), terms::none_valid)
        ))
        .and(terms::origin(c.panel))
        .text(match undefined.len() - 1 {
            0 => ").".to_owned(),
            1 => "); the same holds for 1 more comparison.".to_owned(),
            n => format!("); {n} more comparisons are not defined either."),
        });
    Some(words.and(row(c)))
}
