//! Checks graph-uncertain sets: the attribute, the variables, what is known of them, and the models
//! that can be asked.
//!
//! With `levels: expected` a counterfactual of such a set has levels by halves and counts below 0:
//! only models that are trained here, on the one encoding, can score it, and nothing that follows
//! from a variable by another rule than the graph may be read by a model. Levels that are drawn
//! make rows, which any model can be asked.

use crate::counterfactual::graph_uncertain::knobs::{
    GraphSource, GraphUncertainBlock, KnowledgeProblem,
};
use crate::counterfactual::graph_uncertain::mechanism::{
    CellBins, ColumnBins, EquationKind, GraphLevels,
};
use crate::job::read::nearest::{all, list, suggest};
use crate::job::read::tree::join;
use crate::job::{CounterfactualSet, GateBlock, GateDecideBy, MetricFamily};
use crate::param::{ColumnName, Count, Name};

use super::JobChecker;
use super::known_names::KnownMetric;

/// The most variables of a graph.
const MOST_VARIABLES: usize = 128;

/// The most bins of a number.
const MOST_BINS: u64 = 64;

/// The most bootstraps: each has matrices of its own in memory.
const MOST_BOOTSTRAPS: u64 = 10_000;

/// The most starts of a search.
const MOST_STARTS: u64 = 1000;

impl JobChecker<'_> {
    /// What a graph-uncertain set asks for.
    pub(super) fn graphs(
        &mut self,
        at: &str,
        name: &Name,
        set: &CounterfactualSet,
        graphs: &GraphUncertainBlock,
    ) {
        let here = format!("{at}.{}", GraphUncertainBlock::WORD);
        if set.placebo.is_some() {
            let what = "a placebo repeats a strategy on shuffled groups, but graphs have \
                        their own bootstraps";
            self.push_problem(
                "not-offered",
                format!("{at}.placebo"),
                what,
                "remove it: `world_lo` and `world_hi` show how much graphs and refits disagree",
            );
        }
        self.graph_files(&here, name, graphs);
        self.graph_numbers(&here, graphs);
        self.graph_fit(&here, graphs);
        self.graph_rows(&here);
        self.graph_levels(&here, graphs);
        if !graphs.makes_rows() {
            self.graph_models(&here, name);
        }
        if !self.is_sound(&["data.features", "data.sensitive", "data.derive", "data.label"])
            || self.has_problem(&["data.sensitive", "data.features"])
        {
            return;
        }
        let attributes = self.attributes_of(set);
        let [attribute] = attributes.as_slice() else {
            if attributes.len() > 1 {
                let what = format!(
                    "a graph-uncertain set changes one attribute, but this one would change {}",
                    list(&attributes)
                );
                self.push_problem(
                    "one-of",
                    at,
                    what,
                    format!("name it: `sensitive: [{}]`", attributes[0]),
                );
            }
            return;
        };
        if self.job.data.is_derived(self.job.data.column_of(attribute)) {
            let what = format!(
                "`{attribute}` is derived, but a graph-uncertain set can set only a column of the \
                 source"
            );
            self.push_problem(
                "cannot-set",
                here,
                what,
                "declare the column itself as a sensitive attribute, or derive it before \
                 the import",
            );
            return;
        }
        if graphs.knowledge.is_empty() {
            let what = format!("`{here}.knowledge` is empty");
            self.push_problem(
                "empty-list",
                format!("{here}.knowledge"),
                what,
                "name at least one scenario, such as `none: {}`",
            );
        }
        let variables = self.job.data.graph_variables(graphs, attribute);
        if !self.graph_columns(&here, graphs, attribute, &variables) {
            return;
        }
        if !graphs.makes_rows() {
            self.followers(&here, &variables);
        }
        self.cell_bins(&here, graphs, attribute, &variables);
        let names: Vec<String> = variables.iter().map(ToString::to_string).collect();
        let mut said: Vec<(String, String)> = Vec::new();
        for scenario in graphs.knowledge.keys() {
            for problem in graphs.problems(scenario, &names) {
                let KnowledgeProblem { keys, below, what, names_no_variable } = problem;
                let place = keys.iter().fold(here.clone(), |place, key| join(&place, key)) + &below;
                // A graph is drawn once for all scenarios.
                if said.contains(&(place.clone(), what.clone())) {
                    continue;
                }
                said.push((place.clone(), what.clone()));
                let hint = if names_no_variable {
                    format!("its variables are {}", list(&names))
                } else {
                    "these statements about the graph contradict each other: remove one of them"
                        .to_owned()
                };
                self.push_problem("bad-knowledge", place, what, hint);
            }
        }
    }

    /// Complains about a scenario whose exported graphs would replace those of another set: in
    /// names of files the slash is a dot.
    fn graph_files(&mut self, here: &str, name: &Name, graphs: &GraphUncertainBlock) {
        let file = |set: &Name, scenario: &Name| format!("{set}.{scenario}");
        for scenario in graphs.knowledge.keys() {
            let before = self.job.counterfactuals.iter().take_while(|(other, _)| *other != name);
            let scenarios =
                before.filter_map(|(other, set)| Some((other, set.graphs()?.knowledge.keys())));
            let mut names = scenarios.flat_map(|(other, keys)| keys.map(move |key| (other, key)));
            if let Some((other, twin)) =
                names.find(|(other, twin)| file(other, twin) == file(name, scenario))
            {
                let what = format!(
                    "`{other}/{twin}` and `{name}/{scenario}` would write their graphs to the same \
                     files"
                );
                let hint = format!(
                    "rename one of them: both are `{}` in names of files",
                    file(name, scenario)
                );
                self.push_problem(
                    "bad-value",
                    join(&format!("{here}.knowledge"), scenario.as_str()),
                    what,
                    hint,
                );
            }
        }
    }

    /// The scenario with which the fit of knowledge is compared.
    fn graph_fit(&mut self, here: &str, graphs: &GraphUncertainBlock) {
        let is_given = matches!(graphs.discovery, GraphSource::Given(_));
        let problem = match (graphs.fit, is_given, graphs.knowledge.len()) {
            (false, ..) => None,
            (true, true, _) => Some((
                "a graph that is given has no score, so no knowledge fits it better or worse",
                "remove `fit`, or let `boss` search the graphs",
            )),
            (true, false, 0 | 1) => Some((
                "the fit of knowledge is compared between scenarios, and the set has one",
                "add a scenario that states less, such as `none: {}`",
            )),
            (true, false, _) => None,
        };
        if let Some((what, hint)) = problem {
            self.push_problem("bad-value", format!("{here}.fit"), what, hint);
        }
        let Some(against) = &graphs.against else { return };
        let at = format!("{here}.against");
        if !graphs.fit {
            let what = "`against` names the scenario that the fit of the others is compared with, \
                        and the set does not say `fit: true`";
            self.push_problem("bad-value", at, what, "add `fit: true`, or remove `against`");
            return;
        }
        let scenarios = graphs.knowledge.keys().map(Name::as_str);
        self.check_known("scenario", at, against.as_str(), scenarios, "unknown-name");
    }

    fn graph_numbers(&mut self, here: &str, graphs: &GraphUncertainBlock) {
        if graphs.n_bootstraps() > MOST_BOOTSTRAPS {
            let what = format!("`{}` bootstraps are too many", graphs.n_bootstraps());
            self.push_problem(
                "bad-value",
                format!("{here}.bootstraps"),
                what,
                format!("at most {MOST_BOOTSTRAPS}; 100 is usual"),
            );
        }
        let GraphSource::Boss(boss) = &graphs.discovery else { return };
        if graphs.n_bootstraps() == 0 {
            let what = "without bootstraps a search finds one class of graphs and gives no \
                        measure of its uncertainty";
            self.push_problem(
                "bad-value",
                format!("{here}.bootstraps"),
                what,
                "write 1 or more; 100 is usual",
            );
        }
        if boss.penalty.get() <= 0.0 {
            let what = format!("a penalty of `{}` is not above 0", boss.penalty.get());
            self.push_problem(
                "bad-value",
                format!("{here}.discovery.boss.penalty"),
                what,
                "write a number above 0; the paper's is 2",
            );
        }
        if boss.starts.get() > MOST_STARTS {
            let what = format!("`{}` starts are too many", boss.starts.get());
            self.push_problem(
                "bad-value",
                format!("{here}.discovery.boss.starts"),
                what,
                format!("at most {MOST_STARTS}; 10 is the default, 30 is thorough"),
            );
        }
    }

    /// Rows that graphs cannot be learnt from.
    fn graph_rows(&mut self, here: &str) {
        let data = &self.job.data;
        if data.weight.is_some() {
            let what = "bootstraps of graphs draw single rows, but with `data.weight` a \
                        row represents several people";
            self.push_problem(
                "not-offered",
                here,
                what,
                "remove `data.weight`, or leave the graph-uncertain set out",
            );
        }
        if data.split.as_ref().is_some_and(|split| split.folds.is_some()) {
            let what = "graphs are learnt from one set of training rows, but `data.split.folds` \
                        makes several";
            self.push_problem("not-offered", here, what, "split by `column` or `share`");
        }
    }

    /// Levels and mechanism that exclude each other.
    fn graph_levels(&mut self, here: &str, graphs: &GraphUncertainBlock) {
        let is_binned = matches!(graphs.mechanism, Some(EquationKind::Binned(_)));
        if graphs.levels == GraphLevels::Expected && is_binned {
            let what = "with `levels: expected` people have shares of levels, which are in no cell \
                        of the binned mechanism";
            self.push_problem(
                "not-offered",
                format!("{here}.mechanism"),
                what,
                "write `levels: drawn`, or `mechanism: linear`",
            );
        }
    }

    /// Bins of the binned mechanism that are none.
    fn cell_bins(
        &mut self,
        here: &str,
        graphs: &GraphUncertainBlock,
        attribute: &ColumnName,
        variables: &[ColumnName],
    ) {
        let Some(EquationKind::Binned(cells)) = &graphs.mechanism else { return };
        let at = format!("{here}.mechanism.binned.bins");
        let (own, features) = (self.job.data.column_of(attribute), &self.job.data.features);
        let is_number = |column: &&ColumnName| {
            *column != own
                && (features.continuous.contains(column) || features.ordinal.contains_key(*column))
        };
        let numbers: Vec<&ColumnName> = variables.iter().filter(is_number).collect();
        let mut found = Vec::new();
        let mut check_count = |place: &str, n: Count| {
            if !(2..=MOST_BINS).contains(&n.get()) {
                let what = format!("`{}` bins are not between 2 and {MOST_BINS}", n.get());
                let hint = "4 is the default; `none` leaves numbers without bins".to_owned();
                found.push(("bad-value", place.to_owned(), what, hint));
            }
        };
        match &cells.bins {
            CellBins::None => {}
            CellBins::Every(n) => check_count(&at, *n),
            CellBins::Named(named) => {
                for (column, bins) in named {
                    let place = join(&at, column.as_str());
                    match bins {
                        ColumnBins::Count(n) => check_count(&place, *n),
                        ColumnBins::Edges(_) => {}
                    }
                }
            }
        }
        if let CellBins::Named(named) = &cells.bins {
            for (column, bins) in named {
                let place = join(&at, column.as_str());
                if !numbers.contains(&column) {
                    let what =
                        format!("`{column}` is no number of the graph, and only these have bins");
                    let names = numbers.iter().map(|c| c.as_str());
                    let hint = suggest(column.as_str(), "numbers of the graph", names);
                    found.push(("unknown-column", place, what, hint));
                    continue;
                }
                let ColumnBins::Edges(edges) = bins else { continue };
                if edges.is_empty() || edges.windows(2).any(|pair| pair[0].get() >= pair[1].get()) {
                    let what = format!("the edges of `{column}` are not ascending");
                    let hint = "write the inner edges only, such as `[35, 40]`".to_owned();
                    found.push(("bad-value", place, what, hint));
                }
            }
        }
        for (code, place, what, hint) in found {
            self.push_problem(code, place, what, hint);
        }
    }

    /// Models that cannot be asked.
    fn graph_models(&mut self, here: &str, name: &Name) {
        if !self.is_sound(&["models"]) {
            return;
        }
        let job = self.job;
        let Some(set) = job.counterfactuals.get(name) else { return };
        for (model, block) in job.models.iter().filter(|(model, _)| set.asks(model)) {
            let Some((_, brought)) = block.brought() else { continue };
            let elsewhere = block.made_elsewhere();
            if !block.scores_counterfactuals() {
                continue;
            }
            let is = if elsewhere.is_some() { "has" } else { "is" };
            let kind = brought.noun();
            let what = format!(
                "counterfactuals of `{name}` have levels by halves and counts below 0, which only \
                 models trained here can read, and the model `{model}` {is} {kind}"
            );
            self.push_problem(
                "not-offered",
                here,
                what,
                "write `levels: drawn` in the set, which makes rows that any model can read, or \
                 name the models that it asks by `models: [...]`",
            );
        }
    }

    /// Complains about variables that are none.
    fn graph_columns(
        &mut self,
        here: &str,
        graphs: &GraphUncertainBlock,
        attribute: &ColumnName,
        variables: &[ColumnName],
    ) -> bool {
        let data = &self.job.data;
        let at =
            if graphs.variables.is_some() { format!("{here}.variables") } else { here.to_owned() };
        let own = data.column_of(attribute);
        let known: Vec<&ColumnName> = data
            .inputs()
            .into_iter()
            .filter(|column| !data.is_derived(column) && data.onehot_of(column).is_none())
            .collect();
        if graphs.variables.is_some() {
            if !self.check_distinct(&at, "column", variables) {
                return false;
            }
            for (i, column) in
                variables.iter().enumerate().filter(|(_, column)| !known.contains(column))
            {
                let (data, place) = (&self.job.data, format!("{at}[{i}]"));
                if data.label.column().is_some_and(|label| label.column == *column) {
                    let what = format!("`{column}` is the label, which is not part of the graph");
                    self.push_problem(
                        "column-twice",
                        place,
                        what,
                        "remove it: the model takes its place",
                    );
                } else if data.is_derived(column) || data.onehot_of(column).is_some() {
                    let what = format!(
                        "`{column}` is derived from other columns by a rule that no linear \
                         equation preserves"
                    );
                    self.push_problem(
                        "derived-column",
                        place,
                        what,
                        "name columns of the rows, or remove it",
                    );
                } else {
                    let hint =
                        suggest(column.as_str(), "features", known.iter().map(|c| c.as_str()));
                    self.push_problem(
                        "unknown-column",
                        place,
                        format!("no feature is called `{column}`"),
                        hint,
                    );
                }
            }
            if !variables.contains(own) {
                let what = format!("`{own}` is not in the graph, so it can have no descendants");
                self.push_problem("missing-key", at.clone(), what, format!("add `{own}`"));
            }
        }
        if variables.len() > MOST_VARIABLES {
            let what = format!("a graph of {} variables is too large", variables.len());
            self.push_problem(
                "bad-value",
                at.clone(),
                what,
                format!("at most {MOST_VARIABLES}; name them by `variables: [...]`"),
            );
        }
        if variables.len() < 2 {
            let what = format!("a graph with only `{own}` moves nothing");
            self.push_problem(
                "no-input",
                at.clone(),
                what,
                "declare features under `data.features`, or use `naive: {}`",
            );
        }
        !self.has_problem(&[&at])
    }

    /// Complains about features that follow from variables and that a model reads.
    fn followers(&mut self, here: &str, variables: &[ColumnName]) {
        let data = &self.job.data;
        let derived: Vec<(ColumnName, ColumnName)> = data
            .listed_features()
            .filter(|column| data.is_derived(column))
            .filter_map(|column| {
                Some((
                    column.clone(),
                    data.roots(column).into_iter().find(|root| variables.contains(root))?,
                ))
            })
            .collect();
        for (column, root) in derived {
            let reads = |omitted: Option<&[ColumnName]>| {
                omitted.is_some_and(|omitted| !omitted.contains(&column))
            };
            let readers: Vec<&Name> = self
                .job
                .models
                .iter()
                .filter(|(_, model)| reads(model.omitted()))
                .map(|(name, _)| name)
                .collect();
            if !readers.is_empty() {
                let what = format!(
                    "`{column}` is computed from `{root}` by a rule that no graph preserves, and \
                     {} reads it",
                    all(&readers)
                );
                let hint = format!(
                    "exclude it from the models by `omit: [{column}]`, or leave `{root}` out of \
                     `variables`"
                );
                self.push_problem("derived-column", here, what, hint);
            }
        }
    }

    fn asks_graphs(&self, gate: &GateBlock) -> bool {
        let of = |set: &str| {
            self.job.sets().into_iter().any(|(name, block)| name == set && block.graphs().is_some())
        };
        gate.counterfactual.as_ref().is_some_and(|set| of(set.as_str()))
    }

    /// Complains about a gate that waits for an interval of people where scores have none.
    pub(super) fn gate_scores(
        &mut self,
        at: &str,
        name: &Name,
        gate: &GateBlock,
        metric: &KnownMetric,
    ) {
        if metric.family == MetricFamily::Shift
            && matches!(gate.decide_by, GateDecideBy::Interval | GateDecideBy::All)
            && self.asks_graphs(gate)
        {
            let what = format!(
                "the gate `{name}` is decided by the interval over people, but `{}` has only \
                 one over graphs",
                metric.id
            );
            let by = if gate.against.is_some() { "estimate" } else { "worlds" };
            self.push_problem(
                "no-interval",
                format!("{at}.decide_by"),
                what,
                format!("write `decide_by: {by}`"),
            );
        }
    }

    /// Complains about a gate that is decided by graphs where there are none.
    pub(super) fn gate_worlds(&mut self, at: &str, name: &Name, gate: &GateBlock) {
        if !self.asks_graphs(gate) {
            let what = format!(
                "the gate `{name}` is decided by the interval over graphs and refits, but its set \
                 has no graphs"
            );
            let sets = self.job.sets();
            let graphs: Vec<&str> = sets
                .iter()
                .filter(|(_, set)| set.graphs().is_some())
                .map(|(name, _)| name.as_str())
                .collect();
            let hint = if graphs.is_empty() {
                "write `decide_by: interval`".to_owned()
            } else {
                format!("write `decide_by: interval`, or name a set with graphs: {}", list(&graphs))
            };
            self.push_problem("no-interval", format!("{at}.decide_by"), what, hint);
        }
    }
}
