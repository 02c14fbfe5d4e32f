//! Section "How certain are the causal graphs": what causal graphs the bootstraps gave under the
//! stated knowledge, how far they disagree, and what that does to the rates; scenarios of knowledge
//! side by side.
//!
//! Three kinds of uncertainty are separate in every row: which people happened to be audited (the
//! interval of people), which graph is the right one, and which coefficients it has (other graphs,
//! refits). Assumptions that all graphs share are not part of any interval and are stated in words.
//! The drawing of a scenario holds every edge that is in at least one graph in twenty; all of them
//! are in the table below it. [`graphs`](crate::report::read::graphs) reads the tables.

pub(crate) mod knowledge;
pub(crate) mod values;

use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::metric::MetricUnit;
use crate::metric::catalog::find;
use crate::metric::catalog::graph::FIT_WORSE;
use crate::metric::catalog::place::PageList;
use crate::metric::value::worlds::{ENOUGH_BOOTSTRAPS, is_outside};
use crate::report::draw::chart;
use crate::report::draw::graph::GraphChart;
use crate::report::draw::plot::{PlotPoint, round_up};
use crate::report::page::number::{self, NumberFormat, three_digits};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageCell, PageSection, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::graphs::{LEAST, ScenarioGraphs, ends_kind};
use crate::report::read::grouped::grouped;
use crate::report::read::panel::ResultKey;
use crate::report::section::graphs::values::ValueKnobs;
use crate::table::{GraphRow, MetricRow, NodeRow};
use crate::text::fact;

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
    let mut scenarios = groups.iter().flat_map(|(_, scenarios)| scenarios);
    let is_binned = |s: &&ScenarioGraphs| ValueKnobs::of(&audit.manifest, &s.set).are_binned();
    // Binned mechanisms are not linear, and the search is.
    let binned = match (scenarios.clone().any(&is_binned), scenarios.all(is_binned)) {
        (true, true) => "all",
        (true, false) => "some",
        (false, _) => "none",
    };
    let persons = audit.manifest.person.is_some();
    // Which part of the values of all graphs their intervals hold.
    let middle = audit.of_all_rows().flat_map(|(_, of)| of.values()).find_map(|of| of.world_level);
    let mut attributes: Vec<Value> = Vec::new();
    for (attribute, scenarios) in groups {
        let of = AttributeGraphs { audit, attribute, scenarios };
        let overview = of.overview(glossary);
        let (sampled, determined) = of.oddities();
        let models = || audit.manifest.models.iter().map(|model| model.name.as_str());
        let rates: Value = models().filter_map(|model| of.rates(model, glossary)).collect();
        let variances: Value = models().filter_map(|model| of.variances(model)).collect();
        let (edges, all_edges) = of.edges();
        let scenarios = of.scenarios.as_slice();
        let contradicts: Vec<_> =
            scenarios.iter().filter_map(|of| of.causes_of_the_attribute()).collect();
        attributes.push(context! {
            id => format!("graphs-{}", scenarios[0].id), attribute, enough => ENOUGH_BOOTSTRAPS,
            overview,
            sampled, values => values::values(audit, scenarios), determined,
            few => of.few_bootstraps(), contradicts,
            changes => of.changes(), rates, variances, drawings => drawings(scenarios),
            heads => heads(scenarios), edges, all_edges, movements => of.movements(),
        });
    }
    let facts = context!(persons, binned, middle, attributes);
    Some(PageSection::of_facts("graphs", "graphs.html", facts))
}

/// The scenarios of an attribute.
struct AttributeGraphs<'a> {
    audit: &'a AuditFolder,
    attribute: &'a str,
    scenarios: Vec<&'a ScenarioGraphs>,
}

impl<'a> AttributeGraphs<'a> {
    fn key(&self, model: &str, set: &str, scope: &str, ends: [&str; 2]) -> ResultKey {
        ResultKey::new([model, set, self.attribute], scope, ends)
    }

    /// A metric of the graphs themselves.
    fn of_graphs(&self, set: &str, metric: &str) -> Option<f64> {
        self.audit.measure(&self.key("", set, "total", ["", ""]), metric)?.value
    }

    /// Numbers of graphs and entropies, a row per scenario.
    fn overview(&self, glossary: &mut PageGlossary<'_>) -> PageTable {
        // The fit of knowledge only where a set asks for it.
        let is_there = |metric: &&&str| {
            self.scenarios.iter().any(|s| self.of_graphs(&s.set, metric).is_some())
        };
        let found = PageList::GraphsFound.ids().iter();
        let metrics: Vec<&str> =
            found.filter(|metric| **metric != FIT_WORSE || is_there(metric)).copied().collect();
        let row = |scenario: &&ScenarioGraphs| {
            let cell = |metric: &&str| -> PageCell {
                let Some(value) = self.of_graphs(&scenario.set, metric) else {
                    return PageCell::none();
                };
                match find(metric).map(|metric| metric.unit) {
                    Some(MetricUnit::Count) => number::count(value as i64).into(),
                    Some(MetricUnit::Share) => number::percent_text(value, false).into(),
                    _ => three_digits(value).into(),
                }
            };
            let bootstraps = PageCell::from(number::size(scenario.bootstraps.len()));
            let cells = std::iter::once(bootstraps).chain(metrics.iter().map(cell));
            ReportRow::new(RichText::new().name(&scenario.set), cells)
        };
        let mut head = vec![RichText::from("set"), "bootstraps".into()];
        head.extend(metrics.iter().map(|metric| {
            let entry = glossary.show(metric);
            match *metric {
                "n_graphs" => "graphs".into(),
                "n_graphs_distinct" => "different_graphs".into(),
                "n_classes" => "classes_of_graphs".into(),
                _ => RichText::from(entry.symbol),
            }
        }));
        PageTable::new(head, self.scenarios.iter().map(row))
    }

    /// What was a matter of convention: classes that were sampled, variables that their parents
    /// determine. What is said about several scenarios in the same words is said once.
    fn oddities(&self) -> (Value, Value) {
        /// Which bootstraps are odd, and the first of them.
        fn which(
            scenario: &ScenarioGraphs,
            odd: impl Fn(&GraphRow) -> bool,
        ) -> Option<(OddBootstraps, &GraphRow)> {
            let found: Vec<_> = scenario.bootstraps.iter().filter(|b| odd(b)).collect();
            let (n, all) = (found.len(), scenario.bootstraps.len());
            let named = found.iter().filter(|_| n < all && n <= NAMED_AT_MOST);
            let numbers = named.map(|b| b.bootstrap).collect();
            Some((OddBootstraps { n, all, numbers }, *found.first()?))
        }
        let list = |names: &[&str]| names.iter().copied().collect::<Value>();
        let sampled = self.scenarios.iter().filter_map(|of| {
            let (which, _) = which(of, |b| b.drawn != *"all")?;
            Some((which, of.set.as_str()))
        });
        let sampled = grouped(sampled).into_iter();
        let sampled =
            sampled.map(|(which, sets)| context!(which => fact(&which), sets => list(&sets)));
        let determined = self.scenarios.iter().filter_map(|of| {
            let (which, first) = which(of, |b| !b.determined.is_empty())?;
            let variable = first.determined.split(',').next().unwrap_or_default();
            Some(((which, variable, lacking(of, variable)), of.set.as_str()))
        });
        let determined = grouped(determined).into_iter();
        let determined = determined.map(|((which, variable, lacking), sets)| {
            let (lacking, sets) = (list(&lacking), list(&sets));
            context!(which => fact(&which), variable, lacking, sets, level => MISSING_LEVEL)
        });
        (sampled.collect(), determined.collect())
    }

    /// Percentiles of few bootstraps are their extremes; one has none.
    fn few_bootstraps(&self) -> Value {
        let few = self.scenarios.iter().map(|s| (&s.set, s.bootstraps.len()));
        let few = few.filter(|(_, n)| (1..ENOUGH_BOOTSTRAPS).contains(n));
        few.map(|(set, n)| context!(set, n)).collect()
    }

    /// What other knowledge changed: the first scenario against each other one.
    fn changes(&self) -> Value {
        let Some((first, others)) = self.scenarios.split_first() else { return Value::from(()) };
        let share = |share: f64| NumberFormat::Share.value(share);
        let change = |other: &&ScenarioGraphs| {
            let both = |metric: &str| {
                let of = |s: &ScenarioGraphs| self.of_graphs(&s.set, metric);
                of(first).zip(of(other))
            };
            let entropy = both("h_ga");
            let edges = first.moved(other).into_iter().take(3).map(|((from, to), before, after)| {
                context!(from, to, before => share(before), after => share(after))
            });
            let models = self.audit.manifest.models.iter();
            context! {
                first => &first.set, other => &other.set,
                graphs => both("n_graphs").map(|(a, b)| vec![a as i64, b as i64]),
                entropy => entropy.map(|(a, b)| vec![three_digits(a), three_digits(b)]),
                falls => entropy.is_some_and(|(before, after)| after < before),
                edges => edges.collect::<Value>(), rates => models
                    .filter_map(|model| self.rate_moved(&model.name, first, other))
                    .collect::<Value>(),
            }
        };
        others.iter().map(change).collect()
    }

    /// The rate of a model that differs most between two scenarios.
    fn rate_moved(
        &self,
        model: &str,
        first: &ScenarioGraphs,
        other: &ScenarioGraphs,
    ) -> Option<Value> {
        let of_set = |key: &&ResultKey| {
            (&*key.model, &key.set, &*key.attribute, &*key.scope)
                == (model, &first.set, self.attribute, "direction")
        };
        let keys = self.audit.measures().map(|(key, _)| key).filter(of_set);
        let moved = keys.flat_map(|key| ["psr", "nsr"].map(|metric| (key, metric)));
        let moved = moved.filter_map(|(key, metric)| {
            let there = ResultKey { set: other.set.clone(), ..key.clone() };
            let [before, after] = [key, &there].map(|key| self.audit.measure(key, metric)?.value);
            let (before, after) = before.zip(after)?;
            Some(((after - before).abs(), metric, key, before, after))
        });
        // The first of those that differ alike.
        let (gap, metric, key, before, after) =
            moved.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
        let [before, after] = [before, after].map(|share| NumberFormat::Share.value(share));
        Some(context! {
            model, still => gap < 0.0005, metric => metric.to_uppercase(), from => &key.from,
            to => &key.to, before, after,
        })
    }

    /// With several groups the directions from and to the reference; all of them are in the tables.
    fn directions(&self) -> Vec<[String; 2]> {
        let groups = self.audit.groups_of(self.attribute);
        let Some((reference, others)) = groups.split_first() else { return Vec::new() };
        let both = |other: &String| {
            [[reference.clone(), other.clone()], [other.clone(), reference.clone()]]
        };
        others.iter().flat_map(both).collect()
    }

    /// The scenarios of which a table has a value, in order.
    fn with(&self, has: impl Fn(&ScenarioGraphs) -> bool) -> Vec<&'a ScenarioGraphs> {
        self.scenarios.iter().copied().filter(|scenario| has(scenario)).collect()
    }

    /// Rates of a model with both intervals, a column per scenario.
    fn rates(&self, model: &str, glossary: &mut PageGlossary<'_>) -> Option<Value> {
        let of = |s: &ScenarioGraphs, [from, to]: &[String; 2], metric: &str| {
            self.audit.measure(&self.key(model, &s.set, "direction", [from, to]), metric)
        };
        let directions = self.directions();
        let all = || {
            directions.iter().flat_map(|d| PageList::GraphRates.ids().iter().map(move |m| (d, *m)))
        };
        let scenarios = self.with(|s| all().any(|(pair, metric)| of(s, pair, metric).is_some()));
        let rows = all().map(|(pair, metric)| -> GraphRateRow<'_> {
            (metric, pair, scenarios.iter().map(|s| of(s, pair, metric)).collect())
        });
        let found: Vec<_> = rows.filter(|(.., all)| all.iter().any(Option::is_some)).collect();
        found.iter().for_each(|(metric, ..)| drop(glossary.show(metric)));
        if found.is_empty() {
            return None;
        }
        let all = found.iter().flat_map(|(.., measures)| measures.iter().flatten());
        let ends = all.flat_map(|m| {
            [m.value, m.ends().map(|ends| ends.1), m.over_graphs().map(|ends| ends.1)]
        });
        let end = round_up(ends.flatten().fold(0.0, f64::max)).min(1.0);
        let row = |(metric, [from, to], measures): GraphRateRow<'_>| {
            let cells = measures.into_iter().map(|measure| Some(rate(measure?, end)));
            let cells: Vec<Option<Value>> = cells.collect();
            context!(metric => metric.to_uppercase(), from, to, cells)
        };
        let rows: Value = found.into_iter().map(row).collect();
        Some(context!(model, end, heads => heads(&scenarios), rows))
    }

    /// How far the score of a person varies over the graphs, by model and direction, a column per
    /// scenario: the mean over people, and where most people lie.
    fn variances(&self, model: &str) -> Option<Value> {
        let of = |scenario: &ScenarioGraphs, [from, to]: &[String; 2]| {
            let mut rows = scenario.people.iter().filter(|row| row.model == model);
            let row = rows.find(|row| row.from_group == *from && row.to_group == *to)?;
            let interval = row.variance_lo.zip(row.variance_hi);
            Some((row.n, PlotPoint::new(row.variance_mean?, interval)))
        };
        let directions = self.directions();
        let scenarios = &self.with(|s| directions.iter().any(|pair| of(s, pair).is_some()));
        let all = directions.iter().flat_map(|pair| scenarios.iter().filter_map(|s| of(s, pair)));
        let ends = all.map(|(_, w)| w.interval.map_or(w.value, |(_, hi)| hi.max(w.value)));
        let end = round_up(ends.reduce(f64::max)?);
        let cell = |scenario: &&ScenarioGraphs, pair: &[String; 2]| {
            let (n, point) = of(scenario, pair)?;
            Some(context!(n, end, ..fact(&point)))
        };
        let rows = directions.iter().filter(|pair| scenarios.iter().any(|s| of(s, pair).is_some()));
        let rows = rows.map(|pair| {
            let cells: Vec<Option<Value>> = scenarios.iter().map(|of| cell(of, pair)).collect();
            context!(from => &pair[0], to => &pair[1], cells)
        });
        let (end, heads) = (chart::tick(end), heads(scenarios));
        Some(context!(model, end, heads, rows => rows.collect::<Value>()))
    }

    /// Edges by how often a graph has them, and how many there are.
    fn edges(&self) -> (Value, usize) {
        let mut all: Vec<(f64, (String, String))> = Vec::new();
        for edge in self.scenarios.iter().flat_map(|s| s.edges.keys()) {
            if !all.iter().any(|(_, known)| known == edge) {
                let shares =
                    self.scenarios.iter().filter_map(|s| s.edges.get(edge)).map(|e| e.frequency);
                all.push((shares.fold(0.0, f64::max), edge.clone()));
            }
        }
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let row = |(_, edge): &(f64, (String, String))| {
            let cells: Vec<_> = self.scenarios.iter().map(|of| of.edges.get(edge)).collect();
            context!(from => &edge.0, to => &edge.1, cells => fact(&cells))
        };
        (all.iter().take(self.audit.rows_shown()).map(row).collect(), all.len())
    }

    /// How far variables move, a column per scenario.
    fn movements(&self) -> Option<Value> {
        let (audit, scenarios) = (self.audit, &self.scenarios);
        let first = scenarios.first()?;
        let row = |node: &NodeRow| {
            let is_same = |n: &&NodeRow| (&n.node, &n.level) == (&node.node, &node.level);
            let found: Vec<_> = scenarios.iter().map(|of| of.nodes.iter().find(is_same)).collect();
            let ends: Vec<Option<&str>> = found.iter().map(|of| of.and_then(ends_kind)).collect();
            let cells = fact(&found);
            context!(variable => &*node.node, level => &*node.level, cells, ends)
        };
        let nodes = first.nodes.iter().filter(|node| node.node != first.sensitive);
        let rows = nodes.take(MOVES_AT_MOST).map(row);
        let moved =
            |n: &NodeRow| n.node != first.sensitive && !n.level.is_empty() && n.r#move != 0.0;
        let are_rows = |s: &&ScenarioGraphs| ValueKnobs::of(&audit.manifest, &s.set).are_rows();
        let expected = || scenarios.iter().filter(|s| !are_rows(s));
        Some(context! {
            from => &first.groups.0, to => &first.groups.1,
            fractions => expected().any(|s| s.nodes.iter().any(moved)),
            back => match (expected().count(), scenarios.iter().any(are_rows)) {
                (0, _) => "",
                (_, false) => "all",
                (_, true) => "expected",
            }, rows => rows.collect::<Value>(),
        })
    }
}

/// The variables that rows lack, where a variable that others determine is one of several: rows
/// that lack several columns are a usual cause.
fn lacking<'a>(scenario: &'a ScenarioGraphs, variable: &str) -> Vec<&'a str> {
    let missing = scenario.nodes.iter().filter(|n| n.level == *MISSING_LEVEL);
    let lacking: Vec<&str> = missing.map(|n| n.node.as_str()).collect();
    if lacking.len() > 1 && lacking.contains(&variable) { lacking } else { Vec::new() }
}

/// Bootstraps in which something is odd: how many of all, and their numbers where these are few.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
struct OddBootstraps {
    n: usize,
    all: usize,
    numbers: Vec<i64>,
}

/// A rate in one direction, with its value in each scenario.
type GraphRateRow<'a> = (&'a str, &'a [String; 2], Vec<Option<&'a MetricRow>>);

/// Scenarios as heads of columns.
fn heads(scenarios: &[&ScenarioGraphs]) -> Vec<Value> {
    scenarios.iter().map(|of| RichText::new().name(&of.set).into()).collect()
}

/// A rate with both intervals.
fn rate(measure: &MetricRow, end: f64) -> Value {
    let across = measure.over_graphs();
    let drawn =
        measure.value.map(|value| [measure.ends(), across].map(|ends| PlotPoint::new(value, ends)));
    let is_outside = measure.value.zip(across).is_some_and(|(mean, ends)| is_outside(mean, ends));
    context! {
        of => fact(measure), why => terms::why(measure), drawn => fact(&drawn), end, is_outside,
        differs => across.is_some_and(|(lo, hi)| lo < hi),
    }
}

/// The graphs as drawings, side by side.
fn drawings(scenarios: &[&ScenarioGraphs]) -> Value {
    let shown = || scenarios.iter().take(DRAWN_AT_MOST);
    context! {
        charts => fact(&shown().map(|scenario| GraphChart::of(scenario)).collect::<Vec<_>>()),
        tiers => shown().any(|s| s.has_tiers()), least => NumberFormat::Share.value(LEAST),
    }
}
