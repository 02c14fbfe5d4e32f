//! Section "How certain are the causal graphs": what causal graphs the bootstraps gave under the
//! stated knowledge, how far they disagree, and what that does to the rates; scenarios of knowledge
//! side by side.
//!
//! Three kinds of uncertainty are separate in every row: which people happened to be audited (the
//! interval of people), which graph is the right one, and which coefficients it has (other graphs,
//! refits).
//! What all graphs assume alike is not part of any interval and is said in words. The drawing of a
//! scenario holds every edge that is in at least one graph in twenty; all of them are in the
//! table below it. [`graphs`](crate::report::read::graphs) reads the tables, [`drawing`] draws a
//! scenario.

mod drawing;
pub(crate) mod knowledge;
pub(crate) mod values;

use crate::metric::MetricUnit;
use crate::metric::catalog::find;
use crate::metric::catalog::graph::FIT_WORSE;
use crate::metric::catalog::place::PageList;
use crate::metric::value::worlds::{ENOUGH_BOOTSTRAPS, is_outside};
use crate::report::draw::chart::{self, IntervalWhisker};
use crate::report::draw::plot::round_up;
use crate::report::page::number::{self, NumberFormat, three_digits};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageFigure, PageSection, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::graphs::{LEAST, ScenarioBootstrap, ScenarioGraphs, ScenarioNode};
use crate::report::read::panel::{GraphSpread, ReportedValue, ResultKey};
use crate::report::section::graphs::knowledge::against_knowledge;
use crate::report::section::graphs::values::ValueKnobs;

/// Drawings on one page.
const DRAWN_AT_MOST: usize = 12;

/// Columns of movements on one page, over all scenarios.
const MOVES_AT_MOST: usize = 60;

/// The level of rows without a value, as jobs with `missing: {nominal: level}` have it.
const MISSING_LEVEL: &str = "missing";

/// Bootstraps that are said to have been sampled, or to have determined variables, by their number:
/// more are counted.
const NAMED_AT_MOST: usize = 6;

/// The section; none where no set depends on graphs.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageSection> {
    let groups = audit.graphs_by_attribute();
    if groups.is_empty() {
        return None;
    }
    let drawn = match audit.manifest.person {
        Some(_) => ", which draws persons with all their rows",
        None => "",
    };
    let mut blocks = vec![
        PageBlock::Text(
            format!(
                "A counterfactual shows what would change if the attribute had another value. \
                 That is a causal question, and data rarely answer it. Here a search found one \
                 class of graphs, the best under the stated knowledge, for each bootstrap of \
                 the training rows{drawn}, or the job gave the graph. Each graph has its own \
                 equations, and every rate was measured in all graphs."
            )
            .into(),
        ),
        PageBlock::Text(
            RichText::new().strong("All graphs share assumptions that no interval reflects: ").text(
                "no common cause of two variables is missing from the data (causal sufficiency); a \
                 search also treats variables that look independent as unconnected (faithfulness); \
                 ",
            ).text(linear_effects(audit, &groups)).text(
                ". Graphs that fit a bootstrap nearly as well as its best class are excluded. The \
                 search may miss a better graph; raise `starts` of `boss` to search longer. Graphs \
                 of bootstrapped rows tend to have more edges than those of the rows themselves, \
                 and than the truth.",
            ),
        ),
        PageBlock::Note(doubts(audit)),
    ];
    for (attribute, scenarios) in &groups {
        blocks.push(PageBlock::Heading(
            format!("graphs-{}", scenarios[0].id),
            RichText::new().name(attribute.as_str()),
        ));
        blocks.extend(values::values(audit, scenarios));
        blocks.push(overview(audit, attribute, scenarios, glossary));
        blocks.extend(oddities(scenarios));
        blocks.extend(few_bootstraps(scenarios));
        blocks.extend(against_knowledge(scenarios));
        blocks.extend(changes(audit, attribute, scenarios));
        for model in audit.manifest.models.iter().map(|model| model.name.as_str()) {
            blocks.extend(rates(audit, attribute, model, scenarios, glossary));
        }
        blocks.extend(drawings(scenarios));
        blocks.push(edges(audit, scenarios));
        blocks.push(movements(audit, scenarios));
    }
    Some(PageSection { id: "graphs", title: "How certain are the causal graphs", blocks })
}

/// What is assumed of effects: binned mechanisms are not linear, and the search is.
fn linear_effects(audit: &AuditFolder, groups: &[(String, Vec<&ScenarioGraphs>)]) -> &'static str {
    let scenarios = groups.iter().flat_map(|(_, scenarios)| scenarios);
    let binned = scenarios.map(|s| ValueKnobs::of(&audit.manifest, &s.set).are_binned());
    if binned.clone().any(|binned| binned) {
        if binned.clone().all(|binned| binned) {
            return "the search looks for linear effects only, also on shares of levels";
        }
        return "every effect is linear, also on shares of levels, except where cells of people \
                give the values, and there the search looks for linear effects only";
    }
    "every effect is linear, also on shares of levels"
}

fn key(model: &str, attribute: &str, set: &str, scope: &str, from: &str, to: &str) -> ResultKey {
    let text = str::to_owned;
    ResultKey {
        model: text(model),
        set: text(set),
        attribute: text(attribute),
        scope: text(scope),
        from: text(from),
        to: text(to),
    }
}

/// A metric of the graphs themselves.
fn of_graphs(audit: &AuditFolder, attribute: &str, set: &str, metric: &str) -> Option<f64> {
    audit.measure(&key("", attribute, set, "total", "", ""), metric)?.value
}

/// Numbers of graphs and entropies, a row per scenario.
fn overview(
    audit: &AuditFolder,
    attribute: &str,
    scenarios: &[&ScenarioGraphs],
    glossary: &mut PageGlossary<'_>,
) -> PageBlock {
    // The fit of knowledge only where a set asks for it.
    let is_there = |metric: &&&str| {
        scenarios.iter().any(|s| of_graphs(audit, attribute, &s.set, metric).is_some())
    };
    let found = PageList::GraphsFound.ids().iter();
    let metrics: Vec<&str> =
        found.filter(|metric| **metric != FIT_WORSE || is_there(metric)).copied().collect();
    let row = |scenario: &&ScenarioGraphs| {
        let cell = |metric: &&str| -> PageCell {
            let Some(value) = of_graphs(audit, attribute, &scenario.set, metric) else {
                return "\u{2013}".into();
            };
            match find(metric).map(|metric| metric.unit) {
                Some(MetricUnit::Count) => number::count(value as i64).into(),
                Some(MetricUnit::Share) => number::percent_text(value, false).into(),
                _ => three_digits(value).into(),
            }
        };
        let mut cells = vec![PageCell::from(number::count(scenario.bootstraps.len() as i64))];
        cells.extend(metrics.iter().map(cell));
        ReportRow { id: String::new(), head: RichText::new().name(&scenario.set), cells }
    };
    let mut head = vec![RichText::from("Set"), "Bootstraps".into()];
    head.extend(metrics.iter().map(|metric| {
        let entry = glossary.show(metric);
        RichText::from(match *metric {
            "n_graphs" => "Graphs".to_owned(),
            "n_graphs_distinct" => "Different".to_owned(),
            "n_classes" => "Classes".to_owned(),
            _ => entry.symbol,
        })
    }));
    let caption = "Results of the search. H_G measures the disagreement of graphs on all edges, \
                   H_GA on those below the attribute: 0 they agree, 1 every edge is in half of \
                   them. Neither ranks scenarios by the uncertainty of their rates: graphs that \
                   agree on most edges may disagree on the one that changes decisions";
    PageBlock::Table(PageTable {
        caption: caption.into(),
        head,
        rows: scenarios.iter().map(row).collect(),
        ..PageTable::default()
    })
}

/// In which bootstraps a variable is determined, the variable, and the advice.
type DeterminedVariable<'a> = (String, &'a str, String);

/// What was a matter of convention: classes that were sampled, variables that their parents
/// determine.
fn oddities(scenarios: &[&ScenarioGraphs]) -> Vec<PageBlock> {
    let named = |bootstraps: &[i64], all: usize| match bootstraps {
        [_] if all == 1 => "the only bootstrap".to_owned(),
        every if every.len() == all => format!("all {} bootstraps", number::count(all as i64)),
        [one] => format!("bootstrap {one}"),
        few if few.len() <= NAMED_AT_MOST => format!(
            "bootstraps {}",
            few.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        ),
        many => format!(
            "{} of {} bootstraps",
            number::count(many.len() as i64),
            number::count(all as i64)
        ),
    };
    // What is said about several scenarios in the same words is said once.
    let mut sampled: Vec<(String, Vec<&str>)> = Vec::new();
    let mut determined: Vec<(DeterminedVariable<'_>, Vec<&str>)> = Vec::new();
    for scenario in scenarios {
        let numbers = |odd: &dyn Fn(&ScenarioBootstrap) -> bool| -> Vec<i64> {
            scenario.bootstraps.iter().filter(|b| odd(b)).map(|b| b.number).collect()
        };
        let all = scenario.bootstraps.len();
        let of_class = numbers(&|b| b.drawn != "all");
        if !of_class.is_empty() {
            merge_sets(&mut sampled, named(&of_class, all), &scenario.set);
        }
        if let Some(first) = scenario.bootstraps.iter().find(|b| !b.determined.is_empty()) {
            let variable = first.determined.split(',').next().unwrap_or_default();
            let which = named(&numbers(&|b| !b.determined.is_empty()), all);
            merge_sets(
                &mut determined,
                (which, variable, advice(scenario, variable)),
                &scenario.set,
            );
        }
    }
    let begin = |what: &str, sets: &[&str]| {
        let words =
            RichText::new().drawing(chart::verdict("warn", "mark warn")).strong(what).text(" in ");
        let joined = |words: RichText, (i, set): (usize, &&str)| {
            let between = if i == 0 {
                ""
            } else if i + 1 == sets.len() {
                " and "
            } else {
                ", "
            };
            words.text(between).name(*set)
        };
        sets.iter().enumerate().fold(words, joined).text(", in ")
    };
    let sampled = sampled.iter().map(|(which, sets)| {
        begin("Sampled:", sets).text(format!(
            "{which}: there are more graphs than are listed, \
             and a seeded sample represents the class."
        ))
    });
    let determined = determined.iter().map(|((which, variable, advice), sets)| {
        let words = begin("Determined:", sets)
            .text(format!("{which}: others determine some variables exactly, such as "))
            .name(*variable);
        words.text(format!(". Their edges depend on a convention of the score. {advice}"))
    });
    sampled.chain(determined).map(PageBlock::Text).collect()
}

/// What to do about a variable that others determine: rows that lack several columns are a usual
/// cause.
fn advice(scenario: &ScenarioGraphs, variable: &str) -> String {
    let lacking: Vec<&str> = scenario
        .nodes
        .iter()
        .filter(|n| n.level == MISSING_LEVEL)
        .map(|n| n.variable.as_str())
        .collect();
    if lacking.len() > 1 && lacking.contains(&variable) {
        return format!(
            "A likely cause is the level `{MISSING_LEVEL}`, which {} have: if several of them are \
             missing in the same rows, this level of one determines that of another. Write \
             `data.missing: {{nominal: drop-row}}`, or leave one of the columns out.",
            lacking.join(", ")
        );
    }
    "Leave one of such columns out.".to_owned()
}

/// Which part of the values of all graphs their intervals hold: "the middle 95 %".
fn middle(audit: &AuditFolder) -> String {
    let level = audit.all_measures().find_map(|measure| measure.across?.level);
    level.map_or_else(
        || "the middle".to_owned(),
        |level| format!("the middle {}", number::level(level)),
    )
}

/// The interval over graphs and refits of a mean, over graphs alone where nothing was refitted; and
/// that the mean lies outside of it, where it
/// does.
pub(crate) fn over_graphs(
    kind: NumberFormat,
    mean: f64,
    across: &GraphSpread,
    ends: (f64, f64),
) -> String {
    let what =
        if across.is_of_one_fit() { "graphs of a single bootstrap" } else { "graphs and refits" };
    let outside = if is_outside(mean, ends) {
        ", which does not contain the mean because a few graphs differ greatly"
    } else {
        ""
    };
    format!("{what} {}{outside}", kind.interval(mean, ends.0, ends.1))
}

/// What the intervals hold, with their level.
fn doubts(audit: &AuditFolder) -> RichText {
    let share = middle(audit);
    RichText::from("Three kinds of uncertainty. ")
        .strong("People")
        .text(
            " is the interval over other people from the same population, with all graphs and \
             coefficients fixed. ",
        )
        .strong("Other graphs")
        .text(format!(
            " contains {share} of the values of all graphs, each fitted on all training rows. "
        ))
        .strong("Refits of the coefficients")
        .text(format!(
            " contains {share} of the changes due to the coefficients of single bootstraps, around \
             the mean of those values, so an end may be below 0. "
        ))
        .strong("Graphs and refits")
        .text(format!(
            " contains {share} of the values with both kinds together and the people fixed. It \
             shows how much the results of this search differ, not how far they are from the \
             truth. A value is the mean over graphs; a bootstrap with many graphs has more weight, \
             as in the method's paper."
        ))
}

/// Percentiles of few bootstraps are their extremes; one has none.
fn few_bootstraps(scenarios: &[&ScenarioGraphs]) -> Option<PageBlock> {
    let few: Vec<&&ScenarioGraphs> =
        scenarios.iter().filter(|s| (1..ENOUGH_BOOTSTRAPS).contains(&s.bootstraps.len())).collect();
    few.first()?;
    let words =
        RichText::new().drawing(chart::verdict("warn", "mark warn")).strong("Few bootstraps: ");
    let words = few.iter().enumerate().fold(words, |words, (i, s)| {
        let rests = if i == 0 { "is based on" } else { "on" };
        let n = s.bootstraps.len();
        let n = if n == 1 { "a single fit".to_owned() } else { n.to_string() };
        words.text(if i == 0 { "" } else { ", " }).name(&s.set).text(format!(" {rests} {n}"))
    });
    let ends = few.iter().any(|s| s.bootstraps.len() > 1).then(|| {
        format!(
            " The ends of an interval over fewer than {ENOUGH_BOOTSTRAPS} bootstraps are the most \
             extreme ones or next to them, and they depend on the seed."
        )
    });
    let once = few.iter().any(|s| s.bootstraps.len() == 1).then_some(
        " A single fit does not show how much refits of the coefficients, or graphs of other rows, \
         change a value.",
    );
    let words = words.text(".").text(ends.unwrap_or_default()).text(once.unwrap_or_default());
    Some(PageBlock::Text(words.text(" Use 100 before you base a decision on them.")))
}

/// Adds a set to those of which the same is said.
fn merge_sets<'a, T: PartialEq>(said: &mut Vec<(T, Vec<&'a str>)>, what: T, set: &'a str) {
    match said.iter_mut().find(|(known, _)| *known == what) {
        Some((_, sets)) => sets.push(set),
        None => said.push((what, vec![set])),
    }
}

/// What other knowledge changed, in words: the first scenario against each other one.
fn changes(audit: &AuditFolder, attribute: &str, scenarios: &[&ScenarioGraphs]) -> Vec<PageBlock> {
    let Some((first, others)) = scenarios.split_first() else { return Vec::new() };
    let mut sentences = Vec::new();
    for other in others {
        let mut words =
            RichText::from("From ").name(&first.set).text(" to ").name(&other.set).text(": ");
        let both = |metric: &str| {
            of_graphs(audit, attribute, &first.set, metric)
                .zip(of_graphs(audit, attribute, &other.set, metric))
        };
        if let Some((before, after)) = both("n_graphs") {
            words = words.text(format!(
                "{} graphs instead of {}",
                number::count(after as i64),
                number::count(before as i64)
            ));
        }
        if let Some((before, after)) = both("h_ga") {
            let verb = if after < before { "falls" } else { "rises" };
            let said = if three_digits(before) == three_digits(after) {
                format!("; H_GA stays at {}", three_digits(before))
            } else {
                format!("; H_GA {verb} from {} to {}", three_digits(before), three_digits(after))
            };
            words = words.text(said);
        }
        let moved = first.moved(other);
        for (i, (edge, before, after)) in moved.iter().take(3).enumerate() {
            words = words.text(if i == 0 { ". The edges that changed most: " } else { ", " });
            words = words.and(RichText::direction(&edge.0, &edge.1));
            words = words.text(format!(
                " from {} to {} of graphs",
                NumberFormat::Share.value(*before),
                NumberFormat::Share.value(*after)
            ));
        }
        for model in &audit.manifest.models {
            if let Some(rate) = rate_in_words(audit, attribute, &model.name, first, other) {
                words = words.text(". ").and(rate);
            }
        }
        sentences.push(words.text("."));
    }
    if sentences.is_empty() { Vec::new() } else { vec![PageBlock::Findings(sentences)] }
}

/// The rate of a model that differs most between two scenarios.
fn rate_in_words(
    audit: &AuditFolder,
    attribute: &str,
    model: &str,
    first: &ScenarioGraphs,
    other: &ScenarioGraphs,
) -> Option<RichText> {
    let mut found: Option<(f64, &str, &ResultKey, f64, f64)> = None;
    let of_set = |key: &&ResultKey| {
        key.model == model
            && key.set == first.set
            && key.attribute == attribute
            && key.scope == "direction"
    };
    for key in audit.measures.keys().filter(of_set) {
        for metric in ["psr", "nsr"] {
            let there = ResultKey { set: other.set.clone(), ..key.clone() };
            let value = |key: &ResultKey| audit.measure(key, metric).and_then(|m| m.value);
            if let Some((before, after)) = value(key).zip(value(&there)) {
                let gap = (after - before).abs();
                if found.as_ref().is_none_or(|f| gap > f.0) {
                    found = Some((gap, metric, key, before, after));
                }
            }
        }
    }
    let (gap, metric, key, before, after) = found?;
    let words = RichText::from("Of ")
        .name(model)
        .text(format!(" the {} of ", metric.to_uppercase()))
        .and(RichText::direction(&key.from, &key.to));
    Some(if gap < 0.0005 {
        RichText::from("No rate of ").name(model).text(" changes by a tenth of a point")
    } else {
        words.text(format!(
            " changes most, from {} to {}",
            NumberFormat::Share.value(before),
            NumberFormat::Share.value(after)
        ))
    })
}

/// Rates of a model with both intervals, a column per scenario.
fn rates(
    audit: &AuditFolder,
    attribute: &str,
    model: &str,
    scenarios: &[&ScenarioGraphs],
    glossary: &mut PageGlossary<'_>,
) -> Option<PageBlock> {
    let groups = audit.groups_of(attribute);
    // Of several groups the directions from and to the reference; all of them are in the table.
    let (reference, others) = groups.split_first()?;
    let directions = others.iter().flat_map(|other| [(reference, other), (other, reference)]);
    let mut found: Vec<(RichText, &str, Vec<Option<&ReportedValue>>)> = Vec::new();
    for (from, to) in directions {
        for metric in PageList::GraphRates.ids() {
            let of = |s: &&ScenarioGraphs| {
                audit.measure(&key(model, attribute, &s.set, "direction", from, to), metric)
            };
            let measures: Vec<Option<&ReportedValue>> = scenarios.iter().map(of).collect();
            if measures.iter().any(Option::is_some) {
                glossary.show(metric);
                let head = RichText::new()
                    .strong(metric.to_uppercase())
                    .text(" ")
                    .and(RichText::direction(from, to));
                found.push((head, metric, measures));
            }
        }
    }
    if found.is_empty() {
        return None;
    }
    let all = found.iter().flat_map(|(.., measures)| measures.iter().flatten());
    let ends = all.flat_map(|m| {
        [m.value, m.interval.map(|i| i.1), m.across.as_ref().and_then(|a| a.ends).map(|e| e.1)]
    });
    let end = round_up(ends.flatten().fold(0.0, f64::max)).min(1.0);
    let middle = middle(audit);
    let rows = found.into_iter().map(|(head, metric, measures)| {
        let kind = terms::kind(metric, "direction");
        ReportRow {
            id: String::new(),
            head,
            cells: measures.into_iter().map(|m| rate(m, kind, end, &middle)).collect(),
        }
    });
    let rows = rows.collect();
    let mut head = vec![RichText::from("Rate")];
    head.extend(scenarios.iter().map(|s| RichText::new().name(&s.set)));
    let caption = RichText::new().name(model).text(format!(
        ": filled dot with the interval over people, open dot with that over graphs and \
         refits, from 0 to {}. The intervals over graphs, refits and both contain {middle} of the \
         values",
        NumberFormat::Share.value(end)
    ));
    Some(PageBlock::Table(PageTable { caption, head, rows, ..PageTable::default() }))
}

fn rate(measure: Option<&ReportedValue>, kind: NumberFormat, end: f64, middle: &str) -> PageCell {
    let Some(measure) = measure else { return "\u{2013}".into() };
    let Some(value) = measure.value else {
        return PageCell {
            main: "undefined".into(),
            small: vec![terms::why(measure).into()],
            ..PageCell::default()
        };
    };
    let across = measure.across.as_ref().and_then(|across| Some((across, across.ends?)));
    let ends = across.map(|(_, ends)| ends);
    let whisker = |interval| IntervalWhisker { value, interval, noise: None };
    let mut small = Vec::new();
    small.push(match measure.interval {
        Some((lo, hi)) => format!("people {}", kind.interval(value, lo, hi)).into(),
        None => "people: no interval".into(),
    });
    small.push(match across {
        Some((across, ends)) => over_graphs(kind, value, across, ends).into(),
        None => "graphs: one only".into(),
    });
    if let Some(across) = measure.across.as_ref() {
        // Where nothing differs, no part of it does.
        let differs = ends.is_some_and(|(lo, hi)| lo < hi);
        let parts =
            [("other graphs", across.between), ("refits of the coefficients", across.within)];
        for ((name, part), variance) in parts.into_iter().zip(across.variances).filter(|_| differs)
        {
            let said = |(lo, hi): (f64, f64)| match variance {
                Some(0.0) => format!("{name} none"),
                // A few graphs at the ends differ anyway.
                _ if lo == hi => format!("{name} equal in {middle}"),
                _ => format!("{name} {}", kind.interval(value, lo, hi)),
            };
            small.extend(part.map(|ends| said(ends).into()));
        }
        if let Some(even) = across.even.filter(|even| kind.value(*even) != kind.value(value)) {
            small.push(
                format!("mean with the same weight for each bootstrap {}", kind.value(even)).into(),
            );
        }
        if let Some((lo, hi)) = measure.training {
            small.push(format!("other trainings {}", kind.interval(value, lo, hi)).into());
        }
        if across.n_undefined > 0 {
            small.push(format!("undefined in {} graphs", number::count(across.n_undefined)).into());
        }
    }
    let main = RichText::new()
        .drawing(chart::whiskers(&[whisker(measure.interval), whisker(ends)], end))
        .text(" ")
        .text(kind.value(value));
    PageCell { main, small, ..PageCell::default() }
}

/// The graphs as drawings, side by side.
fn drawings(scenarios: &[&ScenarioGraphs]) -> Option<PageBlock> {
    let shown: Vec<&&ScenarioGraphs> = scenarios.iter().take(DRAWN_AT_MOST).collect();
    let mut caption = RichText::new();
    for (i, scenario) in shown.iter().enumerate() {
        caption = caption.text(if i == 0 { "In order: " } else { ", " }).name(&scenario.set);
    }
    let tiers =
        if shown.iter().any(|s| s.has_tiers()) { " Tiers run from left to right." } else { "" };
    let caption = caption.text(format!(
        ". Every edge that is in at least {} of the graphs; its width is that share; an edge below \
         one half is dashed. The variable in the thick frame is the attribute.{tiers} Inside a \
         column causes are above effects according to most graphs; an edge in the opposite \
         direction runs on the left.",
        NumberFormat::Share.value(LEAST)
    ));
    let drawings: Vec<String> = shown.iter().map(|scenario| drawing::of(scenario)).collect();
    (!drawings.is_empty()).then_some(PageBlock::Figure(PageFigure {
        drawings,
        caption,
        small: false,
    }))
}

/// Shares of edges, a column per scenario.
fn edges(audit: &AuditFolder, scenarios: &[&ScenarioGraphs]) -> PageBlock {
    let mut all: Vec<(f64, (String, String))> = Vec::new();
    for edge in scenarios.iter().flat_map(|s| s.edges.keys()) {
        if !all.iter().any(|(_, known)| known == edge) {
            let most = scenarios
                .iter()
                .filter_map(|s| s.edges.get(edge))
                .map(|e| e.share)
                .fold(0.0, f64::max);
            all.push((most, edge.clone()));
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let (n, shown) = (all.len(), audit.rows_shown());
    let row = |(_, edge): &(f64, (String, String))| {
        let cell = |scenario: &&ScenarioGraphs| -> PageCell {
            let Some(found) = scenario.edges.get(edge) else { return "none".into() };
            let below = (found.below > 0.0).then(|| {
                format!("below the attribute {}", NumberFormat::Share.value(found.below)).into()
            });
            PageCell {
                main: NumberFormat::Share.value(found.share).into(),
                small: below.into_iter().collect(),
                ..PageCell::default()
            }
        };
        ReportRow {
            id: String::new(),
            head: RichText::direction(&edge.0, &edge.1),
            cells: scenarios.iter().map(cell).collect(),
        }
    };
    let mut head = vec![RichText::from("Edge")];
    head.extend(scenarios.iter().map(|s| RichText::new().name(&s.set)));
    let caption = if n > shown {
        format!("Share of graphs with an edge. {shown} of {n} edges, all in tables/edges.parquet")
    } else {
        "Share of graphs with an edge".to_owned()
    };
    PageBlock::Fold(
        "The edges in numbers",
        vec![PageBlock::Table(PageTable {
            caption: caption.into(),
            head,
            rows: all.iter().take(shown).map(row).collect(),
            ..PageTable::default()
        })],
    )
}

/// How far variables move, a column per scenario.
fn movements(audit: &AuditFolder, scenarios: &[&ScenarioGraphs]) -> PageBlock {
    let mut rows = Vec::new();
    let Some(first) = scenarios.first() else { return PageBlock::Note(RichText::new()) };
    for node in
        first.nodes.iter().filter(|node| node.variable != first.sensitive).take(MOVES_AT_MOST)
    {
        let cell = |scenario: &&ScenarioGraphs| -> PageCell {
            let Some(found) = scenario
                .nodes
                .iter()
                .find(|n| (&n.variable, &n.level) == (&node.variable, &node.level))
            else {
                return "\u{2013}".into();
            };
            if found.below == 0.0 {
                return PageCell {
                    main: "0".into(),
                    small: vec!["effect in no graph".into()],
                    ..PageCell::default()
                };
            }
            let mut small: Vec<RichText> = Vec::new();
            match found.ends {
                // A few graphs move it far, and the mean lies outside of what most of them say.
                Some((0.0, 0.0)) if found.mean != 0.0 => {
                    small.push("does not move in most graphs".into())
                }
                Some((lo, hi)) if found.mean < lo || found.mean > hi => {
                    small.push(
                        format!(
                            "in most graphs {}",
                            NumberFormat::FeatureUnit.interval(found.mean, lo, hi)
                        )
                        .into(),
                    );
                }
                Some((lo, hi)) => small.push(
                    format!(
                        "graphs and refits {}",
                        NumberFormat::FeatureUnit.interval(found.mean, lo, hi)
                    )
                    .into(),
                ),
                None => {}
            }
            small.push(format!("follows in {}", NumberFormat::Share.value(found.below)).into());
            PageCell {
                main: NumberFormat::FeatureUnit.value(found.mean).into(),
                small,
                ..PageCell::default()
            }
        };
        let head = RichText::new().name(&node.variable);
        let head = if node.level.is_empty() { head } else { head.text(" = ").name(&node.level) };
        rows.push(ReportRow {
            id: String::new(),
            head,
            cells: scenarios.iter().map(cell).collect(),
        });
    }
    let mut head = vec![RichText::from("Variable")];
    head.extend(scenarios.iter().map(|s| RichText::new().name(&s.set)));
    let moved =
        |n: &ScenarioNode| n.variable != first.sensitive && !n.level.is_empty() && n.mean != 0.0;
    let are_rows = |s: &&ScenarioGraphs| ValueKnobs::of(&audit.manifest, &s.set).are_rows();
    let expected = || scenarios.iter().filter(|s| !are_rows(s));
    let fractions = if expected().any(|s| s.nodes.iter().any(moved)) {
        ". Levels move by fractions, and such people cannot exist: the model scores points between \
         people, as in the method's paper"
    } else {
        ""
    };
    let back = match (expected().count(), scenarios.iter().any(are_rows)) {
        (0, _) => "",
        (_, false) => {
            "; in the reverse direction they move by the same amount with the opposite sign"
        }
        (_, true) => {
            "; in the reverse direction they move by the same amount with the opposite sign where \
             levels are expected"
        }
    };
    let caption = RichText::from("How far variables move from ")
        .and(RichText::direction(&first.groups.0, &first.groups.1))
        .text(format!(
            ", in their own unit, levels in shares of 1{back}. Mean over all graphs, which a few \
             graphs can influence; below it the interval that contains {} of graphs and refits, \
             and the share of graphs in which the variable is an effect of the \
             attribute{fractions}",
            middle(audit)
        ));
    PageBlock::Table(PageTable { caption, head, rows, ..PageTable::default() })
}
