//! Which parts of a job define what a value means, and which values mean something else once one of
//! them differs.
//!
//! | Part of the job | Defines |
//! | --- | --- |
//! | `data.label`: column, positive and negative values | everything; where one run has no label, what needs one |
//! | `data.label.favourable`, `data.favourable` | `di`, `denied_by_group`, `favoured_by_group` and the family clarify |
//! | `data.weight` | everything |
//! | `data.sensitive.A`: groups and what they are made of | everything about A and the attributes made of it |
//! | `data.sensitive.A.reference` | about A, which group is subtracted from which: pairs, differences, the family clarify |
//! | `data.derive.C` | attributes made of C, slices and strata by it; sets that move features where it is one, or one is derived from it; everything where the label, the weight or the person is made of it; decisions of M where its threshold, decision or amount is |
//! | `data.features`, `data.missing`, `data.columns` | sets that move features |
//! | `counterfactuals.S`, but for its placebo, doubt and attributes | everything that depends on S |
//! | `counterfactuals.S.graph-uncertain.knowledge.C` | everything that depends on S/C |
//! | `models.M.threshold`, `threshold_rule`, `decision.positive`, `decision.negative` | decisions of M: all but the family shift and shares of labels; for every model what depends on sets with `condition_on: {prediction: M}` |
//! | `models.M.scale`, `better`, `matters_from` | decisions, scores and shares of changed amounts of M: all but shares of labels; for every model what depends on sets with `condition_on: {prediction: M}` |
//! | `metrics.clarify` | the family clarify |
//! | the rule that says who counts (`policies.who_counts` of the manifest) | what needs no label, where people lack one |
//! | the rule for intervals (`policies.intervals`) | no value; intervals of values of 0 or 1 that are not both Wilson's |
//! | the rule for the starts of a search for graphs (`policies.starts`) | sets of graphs |
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

impl DefinitionBreak {
    fn affects(
        &self,
        row: &MetricRow,
        fitted: &BTreeSet<String>,
        graphs: &BTreeSet<String>,
    ) -> bool {
        let clarify = row.family.as_str() == MetricFamily::Clarify.as_str();
        let set = row.key.counterfactual.as_str();
        let block = block_of_set(row);
        let metric = || find(row.metric.as_str());
        match self {
            // Another rule for intervals leaves the values as they are: see `breaks_interval`.
            DefinitionBreak::Ends => false,
            DefinitionBreak::WhoCounts => {
                metric().is_some_and(|m| !m.needs_label && !matches!(m.reads, Reads::Graphs))
            }
            DefinitionBreak::Graphs => graphs.contains(block),
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
            DefinitionBreak::Fitted => fitted.contains(block),
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        let paths: BTreeSet<&Vec<String>> = old.keys().chain(new.keys()).collect();
        let mut differences = Vec::new();
        let mut add = |path: String, [old, new]: [Option<String>; 2], of: Vec<DefinitionBreak>| {
            let breaks = said("breaks", &of);
            differences.push((JobChange { path, old, new, breaks }, of));
        };
        let mut told: BTreeSet<&[String]> = BTreeSet::new();
        for path in paths {
            // A block by name that one job lacks is one difference.
            if let Some(block) = block_of_one(path, old, new) {
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
            let breaks = if is_reordered(path, before, after) {
                Vec::new()
            } else {
                breaks(path, old, new).unwrap_or_else(|| vec![DefinitionBreak::Everything])
            };
            add(dotted(path), [before.cloned(), after.cloned()], breaks);
        }
        let set_with = |is: fn(&StrategyRecord) -> bool| -> BTreeSet<String> {
            let of = |path: &Vec<String>| match steps(path)[..] {
                ["counterfactuals", set, key, ..] if strategy::find(key).is_some_and(is) => {
                    Some(set.to_owned())
                }
                _ => None,
            };
            old.keys().chain(new.keys()).filter_map(of).collect()
        };
        let graphs = set_with(StrategyRecord::follows_graphs);
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
            fitted: set_with(|record| !record.sets_attribute_only()),
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
        self.breaks().any(|of| of.affects(row, &self.fitted, &self.graphs))
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

/// The path of the block by name (a gate, a model, a set, an attribute) that holds this value,
/// where one of the jobs has no such block.
fn block_of_one<'a>(path: &'a [String], old: &JobValues, new: &JobValues) -> Option<&'a [String]> {
    let depth = match steps(path)[..] {
        ["gates" | "models" | "counterfactuals", _, ..] => 2,
        ["data", "sensitive" | "derive", _, ..] => 3,
        _ => return None,
    };
    let block = &path[..depth];
    let there = |values: &JobValues| values.keys().any(|other| other.starts_with(block));
    (there(old) != there(new)).then_some(block)
}

/// All values of a block as one text; none where there are none.
fn block_text(block: &[String], values: &JobValues) -> Option<String> {
    let parts = values.iter().filter(|(path, _)| path.starts_with(block));
    let parts: Vec<String> =
        parts.map(|(path, value)| format!("{}: {value}", dotted(&path[block.len()..]))).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The groups of an attribute, and the words of a decision, may be listed in another order.
fn is_reordered(path: &[String], before: Option<&String>, after: Option<&String>) -> bool {
    let is_set = matches!(
        steps(path)[..],
        ["data", "sensitive", _, "groups"] | ["models", _, "decision", "positive" | "negative"]
    );
    let set = |list: Option<&String>| -> Option<BTreeSet<String>> {
        Some(
            serde_json::from_str::<Vec<serde_json::Value>>(list?)
                .ok()?
                .iter()
                .map(ToString::to_string)
                .collect(),
        )
    };
    is_set && set(before).is_some() && set(before) == set(after)
}

/// What a change of the value at a path breaks; none where nothing says so, which a test refuses of
/// every key of a job.
pub(super) fn breaks(
    path: &[String],
    old: &JobValues,
    new: &JobValues,
) -> Option<Vec<DefinitionBreak>> {
    // What is in one job only has no value in the other to be confused with.
    let in_both = |keys: &[&str]| {
        [old, new].iter().all(|values| values.keys().any(|other| starts_with(other, keys)))
    };
    let decisions = |model: &str, scores: bool| {
        let sets = conditioned_on(model, [old, new]);
        let conditioned = (!sets.is_empty()).then_some(DefinitionBreak::Conditioned(sets));
        let decisions = DefinitionBreak::Decisions { model: model.to_owned(), scores };
        std::iter::once(decisions).chain(conditioned).collect()
    };
    Some(match steps(path)[..] {
        ["cfaudit" | "name" | "about" | "include" | "vars" | "experiments" | "recourse", ..]
        | ["why" | "gates" | "on_inconclusive" | "report" | "exports" | "run", ..]
        | ["data", "rows" | "row_id" | "join" | "duplicates" | "keep" | "reference", ..]
        | ["data", "bins" | "split" | "names", ..]
        | ["models", _, "accept" | "probability" | "expect" | "doubt", ..]
        | ["metrics", "families" | "interval" | "bootstrap" | "worlds" | "by" | "compare", ..]
        | ["metrics", "min_group_size" | "min_denominator" | "smallest_cell", ..]
        | ["data", "label", "words", ..]
        | ["data", "sensitive", _, "called" | "words", ..] => Vec::new(),
        ["data", "label", "favourable"] if in_both(&["data", "label", "favourable"]) => {
            vec![DefinitionBreak::Favourable]
        }
        ["data", "favourable"]
            if favourable_side(old)
                .zip(favourable_side(new))
                .is_some_and(|(old, new)| old != new) =>
        {
            vec![DefinitionBreak::Favourable]
        }
        ["data", "label", ..] if in_both(&["data", "label", "column"]) => {
            vec![DefinitionBreak::Everything]
        }
        ["data", "label", ..] => vec![DefinitionBreak::Labelled],
        ["data", "weight" | "person"] => vec![DefinitionBreak::Everything],
        ["data", "sensitive", name, "reference"] => {
            vec![DefinitionBreak::Orientation(name.to_owned())]
        }
        ["data", "sensitive", name, ..] => {
            let mut names = derived_from(name, [old, new]);
            names.retain(|name| has_block("sensitive", name, [old, new]));
            vec![DefinitionBreak::Attributes(names)]
        }
        ["data", "derive", column, ..] => {
            let (attributes, columns): (BTreeSet<_>, BTreeSet<_>) =
                derived_from(column, [old, new])
                    .into_iter()
                    .partition(|name| has_block("sensitive", name, [old, new]));
            let named = |keys: &[&str]| {
                [old, new].into_iter().flatten().any(|(path, of)| {
                    starts_with(path, keys)
                        && columns.iter().chain(&attributes).any(|name| {
                            of == name
                                || lists_column(of, name)
                                || path.iter().skip(keys.len() + 1).any(|key| key == name)
                        })
                })
            };
            // The value at a path, in one of the jobs, is one of the columns.
            let reads = |is: &dyn Fn(&[&str]) -> bool| {
                let all = [old, new].into_iter().flatten();
                let is_made = |of: &String| columns.contains(of) || attributes.contains(of);
                let found = all.filter(|(path, of)| is_made(of) && is(&steps(path)));
                found.map(|(path, _)| path.clone()).collect::<Vec<_>>()
            };
            let is_of_all = |path: &[&str]| {
                matches!(path, ["data", "label", "column"] | ["data", "weight" | "person"])
            };
            if !reads(&is_of_all).is_empty() {
                return Some(vec![DefinitionBreak::Everything]);
            }
            let is_of_model = |path: &[&str]| {
                matches!(path, ["models", _, "threshold" | "decision" | "amount", "column"])
            };
            let of_models = reads(&is_of_model).into_iter();
            let of_models: Vec<DefinitionBreak> =
                of_models.flat_map(|path| decisions(&path[1], path[2] == "amount")).collect();
            let clarify = named(&["metrics", "clarify", "strata"]);
            let features = named(&["data", "features"]);
            [
                (!attributes.is_empty(), DefinitionBreak::Attributes(attributes)),
                (true, DefinitionBreak::Slices(columns)),
                (clarify, DefinitionBreak::Clarify),
                (features, DefinitionBreak::Fitted),
            ]
            .into_iter()
            .filter_map(|(is_there, of)| is_there.then_some(of))
            .chain(of_models)
            .collect()
        }
        ["data", "features" | "missing" | "columns", ..] => vec![DefinitionBreak::Fitted],
        ["counterfactuals", _, "placebo" | "doubt" | "sensitive" | "accept", ..]
        | [
            "counterfactuals",
            _,
            "graph-uncertain",
            "fit" | "against" | "necessary" | "sensitivity",
            ..,
        ] => Vec::new(),
        ["counterfactuals", set, "graph-uncertain", "knowledge", scenario, ..] => {
            let there =
                in_both(&["counterfactuals", set, "graph-uncertain", "knowledge", scenario]);
            if there { vec![DefinitionBreak::Set(format!("{set}/{scenario}"))] } else { Vec::new() }
        }
        ["counterfactuals", set, ..] => vec![DefinitionBreak::Set(set.to_owned())],
        ["models", model, key @ ("threshold" | "threshold_rule" | "scale" | "better"), ..] => {
            decisions(model, key.starts_with(['s', 'b']))
        }
        ["models", model, "decision", "positive" | "negative", ..] => decisions(model, false),
        // Which amounts people want, and how much is a difference.
        ["models", model, "amount" | "decision", "better" | "matters_from"] => {
            decisions(model, true)
        }
        ["metrics", "clarify", ..] => vec![DefinitionBreak::Clarify],
        ["data", "favourable"] => Vec::new(),
        ["models", _, kind, ..] if MODEL_KINDS.contains(&kind) => Vec::new(),
        _ => return None,
    })
}

/// Which prediction people want, by the label or, without one, by the job.
fn favourable_side(values: &JobValues) -> Option<&String> {
    let at = |keys: &[&str]| {
        values
            .iter()
            .find(|(path, _)| path.len() == keys.len() && starts_with(path, keys))
            .map(|(_, value)| value)
    };
    at(&["data", "label", "favourable"]).or_else(|| at(&["data", "favourable"]))
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

fn starts_with(path: &[String], keys: &[&str]) -> bool {
    path.len() >= keys.len() && path.iter().zip(keys).all(|(part, key)| part == key)
}

/// A column or attribute and all that is derived from it, over any number of steps. A cross is
/// derived from attributes, everything else from columns.
fn derived_from(name: &str, jobs: [&JobValues; 2]) -> BTreeSet<String> {
    // An attribute that is an unchanged column changes nothing of what is derived from that column.
    let derives = |path: &Vec<String>| {
        ["map", "bins", "levels", "cross"]
            .iter()
            .any(|form| starts_with(path, &["data", "sensitive", name, form]))
    };
    let as_it_stands = has_block("sensitive", name, jobs)
        && !jobs.into_iter().any(|values| values.keys().any(derives));
    let mut found = BTreeSet::from([name.to_owned()]);
    loop {
        let before = found.len();
        for (path, value) in jobs.into_iter().flatten() {
            let made = match steps(path)[..] {
                ["data", "sensitive" | "derive", made, "cross"]
                    if found.iter().any(|part| lists_column(value, part)) =>
                {
                    made
                }
                ["data", "sensitive" | "derive", made, "from"]
                    if found.contains(value) && (value != name || !as_it_stands) =>
                {
                    made
                }
                ["data", "derive", made, "sql"]
                    if found.iter().any(|part| names_column(value, part)) =>
                {
                    made
                }
                _ => continue,
            };
            found.insert(made.to_owned());
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Whether an expression holds the name of a column as a word.
fn names_column(sql: &str, column: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    sql.match_indices(column).any(|(at, _)| {
        let (before, after) = (&sql[..at], &sql[at + column.len()..]);
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

/// Sets that are conditioned on the decisions of a model, in either job.
fn conditioned_on(model: &str, jobs: [&JobValues; 2]) -> BTreeSet<String> {
    let of = |(path, value): (&Vec<String>, &String)| match steps(path)[..] {
        ["counterfactuals", set, _, "condition_on", "prediction"] if value == model => {
            Some(set.to_owned())
        }
        _ => None,
    };
    jobs.into_iter().flatten().filter_map(of).collect()
}

/// Whether a job has a block of this name there.
fn has_block(block: &str, name: &str, jobs: [&JobValues; 2]) -> bool {
    jobs.into_iter()
        .any(|values| values.keys().any(|path| starts_with(path, &["data", block, name])))
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
