//! Which parts of a job define what a value means, and which values mean something else once one of
//! them differs.
//!
//! What the parts of the job define says [`JobPair::breaks`]. In addition to the job count the
//! rules that a run was made by, the `policies` of its manifest:
//!
//! | Rule | Defines |
//! | --- | --- |
//! | who counts | what needs no label, where people lack one |
//! | intervals | no value; intervals of values of 0 or 1 that are not both Wilson's |
//! | starts of a search for graphs | sets of graphs |
//!
//! All else (the rows, filters, splits, models themselves, gates, words, the seed) may change what
//! a value is, never what it means.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::counterfactual::strategy::{self, StrategyRecord};
use crate::diff::words::said;
use crate::folder::manifest::{JobChange, PolicyVersions};
use crate::metric::catalog::find;
use crate::metric::evidence::person::Confusion;
use crate::metric::interval::IntervalProcedure;
use crate::metric::rate::Rate;
use crate::metric::{AmountSubject, GroupValue, Metric, MetricFamily, Reads};
use crate::model::kind::MODEL_KINDS;
use crate::table::MetricRow;

/// The strategy whose sets depend on causal graphs.
const GRAPH: &str = "graph-uncertain";

/// The values of a resolved job by their path.
pub(crate) type JobValues = BTreeMap<Vec<String>, String>;

/// Values that mean something else because two jobs differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DefinitionBreak {
    Everything,
    Labelled,
    Favourable,
    /// Those about these attributes.
    Attributes(BTreeSet<String>),
    Orientation(String),
    /// Those about slices by these columns.
    Slices(BTreeSet<String>),
    Clarify,
    Fitted,
    /// Those that count people without a label, by the rule that says who counts.
    WhoCounts,
    /// Intervals of values of 0 or 1, by the rule for intervals.
    Ends,
    /// Those of sets of graphs, by the rule for the starts of a search.
    Graphs,
    Set(String),
    /// Those of a model, with its scores where their scale differs.
    Decisions {
        model: String,
        scores: bool,
    },
    /// Those of sets whose people are distinguished by the decisions of a model.
    Conditioned(BTreeSet<String>),
}

/// What differs between two jobs.
#[derive(Debug, Clone)]
pub(crate) struct DefinitionChanges {
    differences: Vec<(JobChange, Vec<DefinitionBreak>)>,
    /// Sets that move features, in either job.
    fitted: BTreeSet<String>,
    /// Those of them that depend on causal graphs.
    graphs: BTreeSet<String>,
}

/// The rules by which a run counts, in addition to its job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CountingRules {
    /// The versions of its rules.
    pub policies: PolicyVersions,
    /// Whether people without a label are among those audited.
    pub lacks_labels: bool,
}

impl DefinitionChanges {
    /// The differences between two resolved jobs and the rules that they were run by, definitions
    /// first.
    pub(crate) fn between(old: &JobValues, new: &JobValues, rules: [CountingRules; 2]) -> Self {
        let jobs = JobPair([old, new]);
        let paths: BTreeSet<&Vec<String>> = old.keys().chain(new.keys()).collect();
        let mut differences = Vec::new();
        let mut add = |path: String, [old, new]: [Option<String>; 2], of: Vec<DefinitionBreak>| {
            let breaks = said("breaks", &of);
            differences.push((JobChange { path, old, new, breaks }, of));
        };
        let mut told: BTreeSet<&[String]> = BTreeSet::new();
        for path in paths {
            // A block by name that one job lacks is one difference.
            let steps = steps(path);
            if let Some(block) = jobs.block_of_one(&steps).map(|depth| &path[..depth]) {
                if told.insert(block) {
                    let texts = [old, new].map(|values| block_text(block, values));
                    add(dotted(block), texts, Vec::new());
                }
                continue;
            }
            let (before, after) = (old.get(path), new.get(path));
            if before == after {
                continue;
            }
            let breaks = if is_reordered(&steps, before, after) {
                Vec::new()
            } else {
                jobs.breaks(&steps).unwrap_or_else(|| vec![DefinitionBreak::Everything])
            };
            add(dotted(path), [before.cloned(), after.cloned()], breaks);
        }
        let graphs = jobs.sets_with(StrategyRecord::follows_graphs);
        let lacks_labels = rules.iter().any(|rules| rules.lacks_labels);
        let [before, after] = rules.map(|rules| serde_json::json!(rules.policies));
        for (name, old) in before.as_object().into_iter().flatten() {
            if *old == after[name] {
                continue;
            }
            let breaks = match name.as_str() {
                "who_counts" if lacks_labels => vec![DefinitionBreak::WhoCounts],
                "intervals" => vec![DefinitionBreak::Ends],
                "starts" if !graphs.is_empty() => vec![DefinitionBreak::Graphs],
                _ => Vec::new(),
            };
            let versions = [old, &after[name]].map(|version| Some(version.to_string()));
            add(format!("policies.{name}"), versions, breaks);
        }
        differences.sort_by_key(|(_, breaks)| breaks.is_empty());
        DefinitionChanges {
            fitted: jobs.sets_with(|record| !record.sets_attribute_only()),
            graphs,
            differences,
        }
    }

    /// Whether every definition is the same.
    pub(crate) fn agree(&self) -> bool {
        self.differences.iter().all(|(_, breaks)| breaks.is_empty())
    }

    fn breaks(&self) -> impl Iterator<Item = &DefinitionBreak> {
        self.differences.iter().flat_map(|(_, breaks)| breaks)
    }

    /// Whether a value of the table `metrics` means something else in the other job.
    pub(crate) fn breaks_value(&self, row: &MetricRow) -> bool {
        self.breaks().any(|of| self.affects(of, row))
    }

    fn affects(&self, of: &DefinitionBreak, row: &MetricRow) -> bool {
        let clarify = row.family.as_str() == MetricFamily::Clarify.as_str();
        let set = row.key.counterfactual.as_str();
        let block = block_of_set(row);
        let metric = || find(row.metric.as_str());
        match of {
            // Another rule for intervals leaves the values as they are: see `breaks_interval`.
            DefinitionBreak::Ends => false,
            DefinitionBreak::WhoCounts => {
                metric().is_some_and(|m| !m.needs_label && !matches!(m.reads, Reads::Graphs))
            }
            DefinitionBreak::Graphs => self.graphs.contains(block),
            DefinitionBreak::Everything => true,
            DefinitionBreak::Labelled => metric().is_none_or(|m| m.needs_label),
            DefinitionBreak::Favourable => {
                clarify
                    || metric().is_some_and(|m| {
                        m.of_favourable().is_some()
                            || matches!(m.reads, Reads::SwitchByFavour { .. })
                    })
            }
            DefinitionBreak::Attributes(names) => {
                names.contains(row.key.sensitive.as_str()) || is_sliced_by(row, names)
            }
            DefinitionBreak::Orientation(name) => {
                row.key.sensitive.as_str() == name
                    && (clarify
                        || matches!(row.key.scope.as_str(), "pair" | "difference" | "one_vs_rest"))
            }
            DefinitionBreak::Slices(columns) => is_sliced_by(row, columns),
            DefinitionBreak::Fitted => self.fitted.contains(block),
            DefinitionBreak::Set(name) => name == set || name == block,
            DefinitionBreak::Decisions { model, scores } => {
                let of_scores = |of: &Metric| {
                    [MetricFamily::Shift, MetricFamily::Scores].contains(&of.family)
                        || matches!(of.reads, Reads::Amount(AmountSubject::Share))
                };
                let reads = |of: &Metric| reads_decisions(of) || *scores && of_scores(of);
                row.key.model.as_str() == model && metric().is_none_or(reads)
            }
            DefinitionBreak::Conditioned(sets) => sets.contains(block),
            DefinitionBreak::Clarify => clarify,
        }
    }

    /// Whether the two rules for intervals give these values different intervals: one of them is 0
    /// or 1, and not both intervals are Wilson's.
    pub(crate) fn breaks_interval(&self, rows: [&MetricRow; 2]) -> bool {
        let by_counts =
            |row: &&MetricRow| row.interval.as_str() == IntervalProcedure::Wilson.as_str();
        let is_at_an_end =
            |row: &&MetricRow| row.value.is_some_and(|value| value == 0.0 || value == 1.0);
        self.breaks().any(|of| *of == DefinitionBreak::Ends)
            && rows.iter().any(is_at_an_end)
            && !rows.iter().all(by_counts)
    }

    /// Whether a value of the table `metrics` depends on a set that is fitted.
    pub(crate) fn is_fitted(&self, row: &MetricRow) -> bool {
        self.fitted.contains(block_of_set(row))
    }

    /// Whether a value of the table `metrics` depends on causal graphs.
    pub(crate) fn rests_on_graphs(&self, row: &MetricRow) -> bool {
        self.graphs.contains(block_of_set(row))
    }

    /// What differs, definitions first.
    pub(crate) fn changes(&self) -> Vec<JobChange> {
        self.differences.iter().map(|(change, _)| change.clone()).collect()
    }
}

/// Whether a metric depends on decisions, and not on scores or labels.
fn reads_decisions(metric: &Metric) -> bool {
    // The same labels, other decisions: 10 people with the positive one, 16 with the other.
    let [one, other] = [Confusion::labelled(3, 5, 7, 11), Confusion::labelled(6, 1, 4, 15)];
    let rate = |of: fn(&Confusion) -> Rate| of(&one).value() != of(&other).value();
    match metric.reads {
        Reads::Shift(_) | Reads::Graphs | Reads::Amount(_) | Reads::Scored(..) => false,
        Reads::Group(GroupValue::Rate(of), _) => rate(of),
        Reads::Group(GroupValue::TwoRates(of), _) => of.into_iter().any(rate),
        Reads::Group(GroupValue::FavourableRate, _) => true,
        Reads::Group(of, _) => of.score(&one) != of.score(&other),
        _ => true,
    }
}

/// The block of the set that a row is about: a scenario of a graph-uncertain set is named behind a
/// slash.
fn block_of_set(row: &MetricRow) -> &str {
    row.key.counterfactual.split('/').next().unwrap_or_default()
}

/// All values of a block as one text; none where there are none.
fn block_text(block: &[String], values: &JobValues) -> Option<String> {
    let parts = values.iter().filter(|(path, _)| path.starts_with(block));
    let parts: Vec<String> =
        parts.map(|(path, value)| format!("{}: {value}", dotted(&path[block.len()..]))).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The groups of an attribute, and the words of a decision, may be listed in another order.
fn is_reordered(path: &[&str], before: Option<&String>, after: Option<&String>) -> bool {
    let is_set = matches!(
        path,
        ["data", "sensitive", _, "groups"] | ["models", _, "decision", "positive" | "negative"]
    );
    let set = |list: Option<&String>| -> Option<BTreeSet<String>> {
        let list: Vec<serde_json::Value> = serde_json::from_str(list?).ok()?;
        Some(list.iter().map(ToString::to_string).collect())
    };
    is_set && set(before).is_some() && set(before) == set(after)
}

/// Two resolved jobs, the old one first.
#[derive(Debug, Clone, Copy)]
pub(super) struct JobPair<'a>(pub(super) [&'a JobValues; 2]);

impl<'a> JobPair<'a> {
    /// The values of both with their paths.
    fn values(self) -> impl Iterator<Item = (Vec<&'a str>, &'a String)> {
        self.0.into_iter().flatten().map(|(path, value)| (steps(path), value))
    }

    /// Whether each has something at these keys.
    fn have(self, keys: &[&str]) -> [bool; 2] {
        self.0.map(|job| job.keys().any(|path| steps(path).starts_with(keys)))
    }

    /// Whether one of them has an attribute of this name.
    fn have_attribute(self, name: &str) -> bool {
        self.have(&["data", "sensitive", name]) != [false; 2]
    }

    /// The length of the path of the block by name (a gate, a model, a set, an attribute) that
    /// holds this value, where one of the jobs has no such block.
    fn block_of_one(self, path: &[&str]) -> Option<usize> {
        let depth = match path {
            ["gates" | "models" | "counterfactuals", _, ..] => 2,
            ["data", "sensitive" | "derive", _, ..] => 3,
            _ => return None,
        };
        let [old, new] = self.have(&path[..depth]);
        (old != new).then_some(depth)
    }

    /// Sets of strategies of which this holds, in either job.
    fn sets_with(self, is: fn(&StrategyRecord) -> bool) -> BTreeSet<String> {
        let of = |(path, _): (Vec<&str>, _)| match path[..] {
            ["counterfactuals", set, key, ..] if strategy::find(key).is_some_and(is) => {
                Some(set.to_owned())
            }
            _ => None,
        };
        self.values().filter_map(of).collect()
    }

    /// What a change of the value at a path breaks; none where nothing says so, which a test
    /// refuses of every key of a job.
    pub(super) fn breaks(self, path: &[&str]) -> Option<Vec<DefinitionBreak>> {
        // What is in one job only has no value in the other to be confused with.
        let in_both = |keys: &[&str]| self.have(keys) == [true; 2];
        Some(match *path {
            ["cfaudit" | "name" | "about" | "include" | "vars" | "experiments", ..]
            | ["why" | "gates" | "recourse" | "on_inconclusive", ..]
            | ["report" | "exports" | "run", ..]
            | ["data", "rows" | "row_id" | "join" | "duplicates" | "keep" | "reference", ..]
            | ["data", "bins" | "split" | "names", ..]
            | ["data", "label", "words", ..]
            | ["data", "sensitive", _, "called" | "words", ..]
            | ["models", _, "accept" | "probability" | "expect" | "doubt", ..]
            | ["metrics", "families" | "interval" | "bootstrap" | "smallest_cell", ..]
            | ["metrics", "worlds" | "by" | "compare", ..]
            | ["metrics", "min_group_size" | "min_denominator", ..]
            | ["counterfactuals", _, "placebo" | "doubt" | "sensitive" | "accept", ..]
            | ["counterfactuals", _, GRAPH, "fit" | "against" | "necessary", ..]
            | ["counterfactuals", _, GRAPH, "sensitivity", ..] => Vec::new(),
            // `di`, `denied_by_group`, `favoured_by_group` and the family clarify.
            ["data", "label", "favourable"] if in_both(path) => vec![DefinitionBreak::Favourable],
            ["data", "favourable"] => match self.0.map(favourable_side) {
                [Some(old), Some(new)] if old != new => vec![DefinitionBreak::Favourable],
                _ => Vec::new(),
            },
            // The column, its positive and its negative values.
            ["data", "label", ..] if !in_both(&["data", "label", "column"]) => {
                vec![DefinitionBreak::Labelled]
            }
            ["data", "label", ..] | ["data", "weight" | "person"] => {
                vec![DefinitionBreak::Everything]
            }
            // Which group is subtracted from which: pairs, differences, the family clarify.
            ["data", "sensitive", name, "reference"] => {
                vec![DefinitionBreak::Orientation(name.to_owned())]
            }
            // The groups and what they are made of: all about it and the attributes made of it.
            ["data", "sensitive", name, ..] => {
                let mut names = self.derived_from(name);
                names.retain(|name| self.have_attribute(name));
                vec![DefinitionBreak::Attributes(names)]
            }
            ["data", "derive", column, ..] => self.breaks_of_column(column),
            ["data", "features" | "missing" | "columns", ..] => vec![DefinitionBreak::Fitted],
            ["counterfactuals", set, GRAPH, "knowledge", scenario, ..] if in_both(&path[..5]) => {
                vec![DefinitionBreak::Set(format!("{set}/{scenario}"))]
            }
            ["counterfactuals", _, GRAPH, "knowledge", _, ..] => Vec::new(),
            ["counterfactuals", set, ..] => vec![DefinitionBreak::Set(set.to_owned())],
            ["models", model, "threshold" | "threshold_rule", ..]
            | ["models", model, "decision", "positive" | "negative", ..] => {
                self.breaks_of_model(model, false)
            }
            // Which amounts people want, and how much is a difference.
            ["models", model, "scale" | "better", ..]
            | ["models", model, "amount" | "decision", "better" | "matters_from"] => {
                self.breaks_of_model(model, true)
            }
            ["metrics", "clarify", ..] => vec![DefinitionBreak::Clarify],
            ["models", _, kind, ..] if MODEL_KINDS.contains(&kind) => Vec::new(),
            _ => return None,
        })
    }

    /// What other decisions of a model break, with `scores` also its scores and shares of changed
    /// amounts: all but shares of labels, and for every model what depends on sets with
    /// `condition_on: {prediction: M}`.
    fn breaks_of_model(self, model: &str, scores: bool) -> Vec<DefinitionBreak> {
        let conditioned = |(path, value): (Vec<&str>, &String)| match path[..] {
            ["counterfactuals", set, _, "condition_on", "prediction"] if value == model => {
                Some(set.to_owned())
            }
            _ => None,
        };
        let sets: BTreeSet<String> = self.values().filter_map(conditioned).collect();
        let conditioned = (!sets.is_empty()).then_some(DefinitionBreak::Conditioned(sets));
        let decisions = DefinitionBreak::Decisions { model: model.to_owned(), scores };
        std::iter::once(decisions).chain(conditioned).collect()
    }

    /// What another derivation of a column breaks, by where it and what is derived from it are
    /// used: attributes, slices and strata; sets that move features; everything where the label,
    /// the weight or the person is made of it; decisions of a model by its threshold, decision or
    /// amount.
    fn breaks_of_column(self, column: &str) -> Vec<DefinitionBreak> {
        let made = self.derived_from(column);
        let (mut clarify, mut fitted, mut of_models) = (false, false, BTreeSet::new());
        for (path, value) in self.values() {
            // A list of columns, or a key below the kind of the list.
            let holds = |keys: &[&str]| {
                let below = keys.get(1..).unwrap_or_default();
                made.iter().any(|name| value == name || lists_column(value, name))
                    || below.iter().any(|key| made.contains(*key))
            };
            match path[..] {
                ["metrics", "clarify", "strata", ref keys @ ..] => clarify |= holds(keys),
                ["data", "features", ref keys @ ..] => fitted |= holds(keys),
                _ if !made.contains(value) => {}
                ["data", "label", "column"] | ["data", "weight" | "person"] => {
                    return vec![DefinitionBreak::Everything];
                }
                ["models", model, of @ ("threshold" | "decision" | "amount"), "column"] => {
                    of_models.insert((model, of == "amount"));
                }
                _ => {}
            }
        }
        let (attributes, columns): (BTreeSet<_>, BTreeSet<_>) =
            made.into_iter().partition(|name| self.have_attribute(name));
        let attributes = Some(attributes).filter(|names| !names.is_empty());
        let attributes = attributes.map(DefinitionBreak::Attributes).into_iter();
        let of_models = of_models.into_iter();
        attributes
            .chain([DefinitionBreak::Slices(columns)])
            .chain(clarify.then_some(DefinitionBreak::Clarify))
            .chain(fitted.then_some(DefinitionBreak::Fitted))
            .chain(of_models.flat_map(|(model, scores)| self.breaks_of_model(model, scores)))
            .collect()
    }

    /// A column or attribute and all that is derived from it, over any number of steps. A cross is
    /// derived from attributes, everything else from columns.
    fn derived_from(self, name: &str) -> BTreeSet<String> {
        // An attribute that is an unchanged column changes nothing of what is derived from that
        // column.
        let derives = |form| self.have(&["data", "sensitive", name, form]) != [false; 2];
        let as_it_stands = self.have_attribute(name)
            && !["map", "bins", "levels", "cross"].into_iter().any(derives);
        let mut found = BTreeSet::from([name.to_owned()]);
        loop {
            let before = found.len();
            for (path, value) in self.values() {
                let ["data", of @ ("sensitive" | "derive"), made, form] = path[..] else {
                    continue;
                };
                let is_made = match form {
                    "cross" => found.iter().any(|part| lists_column(value, part)),
                    "from" => found.contains(value) && (value != name || !as_it_stands),
                    "sql" => of == "derive" && found.iter().any(|part| names_column(value, part)),
                    _ => false,
                };
                found.extend(is_made.then(|| made.to_owned()));
            }
            if found.len() == before {
                return found;
            }
        }
    }
}

/// Which prediction people want, by the label or, without one, by the job.
fn favourable_side(job: &JobValues) -> Option<&String> {
    let is_side = |path: &[String]| {
        matches!(steps(path)[..], ["data", "favourable"] | ["data", "label", "favourable"])
    };
    job.iter().rfind(|(path, _)| is_side(path)).map(|(_, side)| side)
}

/// Whether a row is about a slice by one of these columns, such as `region=north & channel=web`.
fn is_sliced_by(row: &MetricRow, columns: &BTreeSet<String>) -> bool {
    let is_of = |part: &str, column: &String| {
        part.strip_prefix(column.as_str()).is_some_and(|rest| rest.starts_with('='))
    };
    row.key.slice.split(" & ").any(|part| columns.iter().any(|column| is_of(part, column)))
}

fn steps(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

/// Whether an expression holds the name of a column as a word.
fn names_column(sql: &str, column: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    sql.match_indices(column).any(|(at, _)| {
        let (before, after) = (&sql[..at], &sql[at + column.len()..]);
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

/// Whether a list, as values are written, holds a column.
fn lists_column(value: &str, column: &str) -> bool {
    serde_json::from_str::<Vec<String>>(value)
        .is_ok_and(|parts| parts.iter().any(|part| part == column))
}

/// A path as messages write it.
fn dotted(path: &[String]) -> String {
    let plain = |key: &str| {
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "-_/".contains(c))
    };
    let key = |key: &String| if plain(key) { key.clone() } else { format!("{key:?}") };
    path.iter().map(key).collect::<Vec<_>>().join(".")
}
