//! Checks graph-uncertain sets: the attribute, the variables, what is known of them, and the models
//! that can be asked.
//!
//! With `levels: expected` a counterfactual of such a set has levels by halves and counts below 0:
//! only models that are trained here, on the one encoding, can score it, and nothing that follows
//! from a variable by another rule than the graph may be read by a model. Levels that are drawn
//! make rows, which any model can be asked.

use std::path::Path;

use crate::counterfactual::graph_uncertain::ClipRule;
use crate::counterfactual::graph_uncertain::knobs::{
    GraphSource, GraphUncertainBlock, KnowledgeProblem,
};
use crate::counterfactual::graph_uncertain::mechanism::{
    CellBins, ColumnBins, EquationKind, GraphLevels,
};
use crate::job::messages as m;
use crate::job::read::nearest::{all, list, suggest};
use crate::job::read::tree::join;
use crate::job::{CounterfactualSet, GateBlock, GateDecideBy, MetricFamily, ModelBlock};
use crate::metric::Metric;
use crate::metric::value::hidden_cause::HIDDEN_RATES;
use crate::param::{ColumnName, Count, Name};

use super::JobChecker;

/// The most variables of a graph.
const MOST_VARIABLES: usize = 128;

/// The most bins of a number.
const MOST_BINS: u64 = 64;

/// The first key by which the worlds of a set are not linear, with the word that makes them so.
fn not_linear(graphs: &GraphUncertainBlock) -> Option<(&'static str, &'static str)> {
    let others = [
        (graphs.makes_rows(), "levels", "expected"),
        (graphs.equations() != EquationKind::Linear, "mechanism", "linear"),
        (graphs.clip_rule() != ClipRule::None, "clip", "none"),
    ];
    others.into_iter().find(|(is_other, ..)| *is_other).map(|(_, key, word)| (key, word))
}

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
            self.say(format!("{at}.placebo"), m::placebo_of_graphs());
        }
        self.graph_files(&here, name, graphs);
        self.graph_numbers(&here, graphs);
        self.graph_fit(&here, graphs);
        self.graph_rows(&here);
        self.graph_levels(&here, graphs);
        self.graph_hidden_cause(&here, graphs);
        self.graph_needed(&here, name, graphs);
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
                self.say(at, m::graphs_of_attributes(list(&attributes), &attributes[0]));
            }
            return;
        };
        if self.job.data.is_derived(self.job.data.column_of(attribute)) {
            self.say(here, m::graphs_of_derived(attribute));
            return;
        }
        let variables = self.job.data.graph_variables(graphs, attribute);
        if !self.graph_columns(&here, graphs, attribute, &variables) {
            return;
        }
        if !graphs.makes_rows() {
            self.followers(&here, &variables);
        }
        if graphs.hidden_cause().is_some() && variables.iter().any(|v| v.as_str() == "any") {
            self.say(format!("{here}.sensitivity"), m::hidden_cause_any());
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
                let said = if names_no_variable {
                    m::knowledge_unknown(what, list(&names))
                } else {
                    m::knowledge_contradicts(what)
                };
                self.say(place, said);
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
                self.say(
                    join(&format!("{here}.knowledge"), scenario.as_str()),
                    m::graph_files_same(other, twin, name, scenario, file(name, scenario)),
                );
            }
        }
    }

    /// The scenario with which the fit of knowledge is compared.
    fn graph_fit(&mut self, here: &str, graphs: &GraphUncertainBlock) {
        let is_given = !matches!(graphs.discovery, GraphSource::Boss(_));
        let problem = match (graphs.fit, is_given, graphs.knowledge.len()) {
            (false, ..) => None,
            (true, true, _) => Some(m::fit_of_given()),
            (true, false, 0 | 1) => Some(m::fit_of_one()),
            (true, false, _) => None,
        };
        if let Some(said) = problem {
            self.say(format!("{here}.fit"), said);
        }
        let Some(against) = &graphs.against else { return };
        let at = format!("{here}.against");
        if !graphs.fit {
            self.say(at, m::against_without_fit());
            return;
        }
        self.check_known("scenario", at, against, graphs.knowledge.keys());
    }

    fn graph_numbers(&mut self, here: &str, graphs: &GraphUncertainBlock) {
        if let Some(file) = graphs.bag() {
            let ending = Path::new(file).extension().and_then(|ending| ending.to_str());
            let is = |of: &str| ending.is_some_and(|ending| ending.eq_ignore_ascii_case(of));
            if !is("gml") && !is("json") {
                self.say(format!("{here}.discovery.bag"), m::bag_ending(file));
            }
        }
        if matches!(graphs.discovery, GraphSource::Boss(_)) && graphs.n_bootstraps() == 0 {
            self.say(format!("{here}.bootstraps"), m::bootstraps_none());
        }
    }

    /// Rows that graphs cannot be learnt from.
    fn graph_rows(&mut self, here: &str) {
        let data = &self.job.data;
        if data.weight.is_some() {
            self.say(here, m::graphs_of_weights());
        }
        if data.split.as_ref().is_some_and(|split| split.folds.is_some()) {
            self.say(here, m::graphs_of_folds());
        }
    }

    /// Levels and mechanism that exclude each other.
    fn graph_levels(&mut self, here: &str, graphs: &GraphUncertainBlock) {
        let is_binned = matches!(graphs.mechanism, Some(EquationKind::Binned(_)));
        if graphs.levels == GraphLevels::Expected && is_binned {
            self.say(format!("{here}.mechanism"), m::levels_of_cells());
        }
    }

    /// Statements that cannot be left out: nothing is linear, nothing is searched, or no gate asks.
    fn graph_needed(&mut self, here: &str, name: &Name, graphs: &GraphUncertainBlock) {
        if !graphs.necessary {
            return;
        }
        let is_given = !matches!(graphs.discovery, GraphSource::Boss(_));
        let other = not_linear(graphs).or(is_given.then_some(("discovery", "{boss: {}}")));
        let asks = |gate: &GateBlock| {
            let set = gate.counterfactual.as_ref().and_then(|of| of.as_str().split_once('/'));
            let is_rate = |metric: &String| HIDDEN_RATES.contains(&metric.as_str());
            let of_rate = gate.direction.is_some() && gate.metric.as_ref().is_some_and(is_rate);
            let states = set.is_some_and(|(set, scenario)| {
                set == name.as_str() && !graphs.statements(scenario).is_empty()
            });
            let by_itself = gate.family_error.is_none()
                && gate.against.is_none()
                && gate.arm.is_none()
                && gate.decide_by != GateDecideBy::All;
            states && by_itself && (of_rate || gate.harm_to.is_some())
        };
        let said = match other {
            Some((key, word)) => m::necessary_not_linear(key, word),
            None if self.job.gates.values().any(asks) => return,
            None => m::necessary_without_gate(name, list(&HIDDEN_RATES)),
        };
        self.say(format!("{here}.necessary"), said);
    }

    /// A hidden cause where nothing is linear, and strengths that are none.
    fn graph_hidden_cause(&mut self, here: &str, graphs: &GraphUncertainBlock) {
        let Some(asked) = graphs.hidden_cause() else { return };
        let at = format!("{here}.sensitivity.hidden_cause");
        if let Some((key, word)) = not_linear(graphs) {
            self.say(at.clone(), m::hidden_cause_not_linear(key, word));
        }
        let here = format!("{at}.strengths");
        for (i, strength) in asked.strengths.iter().map(|s| s.get()).enumerate() {
            if i > 0 && asked.strengths[i - 1].get() >= strength {
                self.say(format!("{here}[{i}]"), m::hidden_strengths_order(strength));
            }
        }
    }

    /// Complains about a gate that is to withstand a hidden cause about which nothing is known.
    pub(super) fn gate_withstands(&mut self, at: &str, gate: &GateBlock, metric: &Metric) {
        if gate.withstands.is_none() {
            return;
        }
        let here = join(at, "withstands");
        let sets = self.job.sets();
        let asks = |set: &CounterfactualSet| {
            set.graphs().is_some_and(|graphs| graphs.hidden_cause().is_some())
        };
        let named = gate.counterfactual.as_ref();
        let set = named.and_then(|of| sets.iter().find(|(name, _)| *name == of.as_str()));
        let by = match gate.decide_by {
            GateDecideBy::Interval | GateDecideBy::Worlds | GateDecideBy::Estimate => None,
            GateDecideBy::Fit => Some("decide_by: fit"),
            GateDecideBy::Training => Some("decide_by: training"),
            GateDecideBy::All => Some("decide_by: all"),
        };
        let by = by.or(gate.family_error.map(|_| "family_error"));
        let one_rate = gate.harm_to.is_some() || gate.direction.is_some();
        let said = if !HIDDEN_RATES.contains(&metric.id) || !one_rate || gate.against.is_some() {
            m::withstands_of_other(list(&HIDDEN_RATES))
        } else if let Some(by) = by {
            m::withstands_by(by)
        } else if gate.arm.is_some() {
            m::withstands_of_arm()
        } else if set.is_some_and(|(_, set)| asks(set)) {
            return;
        } else {
            m::withstands_without()
        };
        self.say(here, said);
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
        let check_count = |checker: &mut Self, place: &str, n: Count| {
            if !(2..=MOST_BINS).contains(&n.get()) {
                checker.say(place, m::cell_bins_number(n.get(), MOST_BINS));
            }
        };
        let named = match &cells.bins {
            CellBins::None => return,
            CellBins::Every(n) => return check_count(self, &at, *n),
            CellBins::Named(named) => named,
        };
        for (column, bins) in named {
            let place = join(&at, column.as_str());
            if let ColumnBins::Count(n) = bins {
                check_count(self, &place, *n);
            }
            if !numbers.contains(&column) {
                let near = suggest(column, "numbers of the graph", &numbers);
                self.say(place, m::cell_bins_of_no_number(column, near));
            } else if let ColumnBins::Edges(edges) = bins
                && (edges.is_empty() || edges.windows(2).any(|pair| pair[0].get() >= pair[1].get()))
            {
                self.say(place, m::cell_edges_order(column));
            }
        }
    }

    /// Models that cannot be asked.
    fn graph_models(&mut self, here: &str, name: &Name) {
        let job = self.job;
        let Some(set) = job.counterfactuals.get(name) else { return };
        for (model, block) in job.models.iter().filter(|(model, _)| set.asks(model)) {
            let Some((_, brought)) = block.brought() else { continue };
            let elsewhere = block.made_elsewhere();
            if !block.scores_counterfactuals() {
                continue;
            }
            let is = if elsewhere.is_some() { "has" } else { "is" };
            let kind = brought.noun;
            self.say(here, m::levels_of_model(name, model, is, kind));
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
        let mut known = data.inputs();
        known.retain(|column| !data.is_derived(column) && data.onehot_of(column).is_none());
        if graphs.variables.is_some() {
            for (i, column) in variables.iter().enumerate() {
                let said = if known.contains(&column) {
                    continue;
                } else if data.label.named_column() == Some(column) {
                    m::graph_label(column)
                } else if data.is_derived(column) || data.onehot_of(column).is_some() {
                    m::graph_derived(column)
                } else {
                    m::graph_unknown(column, suggest(column, "features", &known))
                };
                self.say(format!("{at}[{i}]"), said);
            }
            if !variables.contains(own) {
                self.say(at.clone(), m::graph_lacks_attribute(own));
            }
        }
        if variables.len() > MOST_VARIABLES {
            self.say(at.clone(), m::graph_large(variables.len(), MOST_VARIABLES));
        }
        if variables.len() < 2 {
            self.say(at.clone(), m::graph_of_one(own));
        }
        !self.has_problem(&[&at])
    }

    /// Complains about features that follow from variables and that a model reads.
    fn followers(&mut self, here: &str, variables: &[ColumnName]) {
        let data = &self.job.data;
        for column in data.listed_features().filter(|column| data.is_derived(column)) {
            let roots = data.roots(column);
            let Some(root) = roots.iter().find(|root| variables.contains(root)) else { continue };
            let reads = |model: &ModelBlock| model.omitted().is_some_and(|of| !of.contains(column));
            let models = self.job.models.iter().filter(|(_, model)| reads(model));
            let readers: Vec<&Name> = models.map(|(name, _)| name).collect();
            if !readers.is_empty() {
                self.say(here, m::graph_reader(column, root, all(&readers)));
            }
        }
    }

    fn asks_graphs(&self, gate: &GateBlock) -> bool {
        let set = gate.counterfactual.as_ref().and_then(|name| self.set_of(name));
        set.is_some_and(|set| set.graphs().is_some())
    }

    /// Complains about a gate that waits for an interval of people where scores have none.
    pub(super) fn gate_scores(&mut self, at: &str, name: &Name, gate: &GateBlock, metric: &Metric) {
        if metric.family == MetricFamily::Shift
            && matches!(gate.decide_by, GateDecideBy::Interval | GateDecideBy::All)
            && self.asks_graphs(gate)
        {
            let by = if gate.against.is_some() { "estimate" } else { "worlds" };
            self.say(format!("{at}.decide_by"), m::gate_of_people(name, metric.id, by));
        }
    }

    /// Complains about a gate that is decided by graphs where there are none.
    pub(super) fn gate_worlds(&mut self, at: &str, name: &Name, gate: &GateBlock) {
        if !self.asks_graphs(gate) {
            let sets = self.job.sets();
            let graphs = sets.iter().filter(|(_, set)| set.graphs().is_some());
            let graphs: Vec<&str> = graphs.map(|(name, _)| name.as_str()).collect();
            let said = if graphs.is_empty() {
                m::gate_no_graphs(name)
            } else {
                m::gate_no_graphs_of(name, list(&graphs))
            };
            self.say(format!("{at}.decide_by"), said);
        }
    }
}
