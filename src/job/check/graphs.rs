//! Checks graph-uncertain sets: the attribute, the variables, what is known of them, and the models
//! that can be asked.
//!
//! With `levels: expected` a counterfactual of such a set has levels by halves and counts below 0:
//! only models that are trained here, on the one encoding, can score it, and a model may not read
//! anything that follows from a variable by a rule other than the graph. Levels that are drawn make
//! rows, which any model can be asked.

use std::path::Path;

use crate::counterfactual::graph_uncertain::ClipRule;
use crate::counterfactual::graph_uncertain::knobs::{
    GraphSource, GraphUncertainBlock, KnowledgeProblem,
};
use crate::counterfactual::graph_uncertain::mechanism::{
    CellBins, ColumnBins, EquationKind, GraphLevels,
};
use crate::job::messages::{self as m, Said};
use crate::job::read::tree::join;
use crate::job::read::word_lists::{all, list, suggest};
use crate::job::{CounterfactualSet, GateBlock, GateDecideBy, ModelBlock};
use crate::metric::value::hidden_cause::HIDDEN_RATES;
use crate::param::{ColumnName, Count, Finite, Name};

use super::JobChecker;
use super::models::noun;
use super::names::numbered;

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
    pub(super) fn graphs(&mut self, at: &str, name: &Name, set: &CounterfactualSet) {
        let Some(graphs) = set.graphs() else { return };
        let (data, here) = (&self.job.data, join(at, GraphUncertainBlock::WORD));
        self.say(join(at, "placebo"), set.placebo.map(|_| m::placebo_of_graphs()));
        self.graph_files(&here, name, graphs);
        self.graph_source(&here, graphs);
        // Rows that graphs cannot be learnt from.
        self.say(&here, data.weight.as_ref().map(|_| m::graphs_of_weights()));
        let by_folds = data.split.as_ref().is_some_and(|split| split.folds.is_some());
        self.say(&here, by_folds.then(m::graphs_of_folds));
        // Levels and mechanism that exclude each other.
        let is_binned = matches!(graphs.mechanism, Some(EquationKind::Binned(_)));
        let is_odd = graphs.levels == GraphLevels::Expected && is_binned;
        self.say(join(&here, "mechanism"), is_odd.then(m::levels_of_cells));
        self.graph_hidden_cause(&here, graphs);
        let needed = graphs.necessary.then(|| self.not_needed(name, graphs)).flatten();
        self.say(join(&here, "necessary"), needed);
        if !graphs.makes_rows() {
            self.graph_models(&here, name, set);
        }
        if !self.is_sound(&["data.features", "data.sensitive", "data.derive", "data.label"])
            || self.has_problem(&["data.sensitive", "data.features"])
        {
            return;
        }
        let attributes = self.attributes_of(set);
        let attribute = match attributes.as_slice() {
            [attribute] => attribute,
            [] => return,
            [first, ..] => {
                return self.say(at, m::graphs_of_attributes(list(&attributes), first));
            }
        };
        if data.is_derived(data.column_of(attribute)) {
            return self.say(here, m::graphs_of_derived(attribute));
        }
        let variables = data.graph_variables(graphs, attribute);
        if !self.graph_columns(&here, graphs, attribute, &variables) {
            return;
        }
        if !graphs.makes_rows() {
            self.followers(&here, &variables);
        }
        let is_any =
            graphs.hidden_cause().is_some() && variables.iter().any(|v| v.as_str() == "any");
        self.say(join(&here, "sensitivity"), is_any.then(m::hidden_cause_any));
        self.cell_bins(&here, graphs, attribute, &variables);
        let names: Vec<String> = variables.iter().map(ToString::to_string).collect();
        let mut said: Vec<(String, String)> = Vec::new();
        for problem in graphs.knowledge.keys().flat_map(|name| graphs.problems(name, &names)) {
            let KnowledgeProblem { keys, below, what, names_no_variable } = problem;
            let place = keys.iter().fold(here.clone(), |place, key| join(&place, key)) + &below;
            // A graph is drawn once for all scenarios.
            if said.contains(&(place.clone(), what.clone())) {
                continue;
            }
            said.push((place.clone(), what.clone()));
            let said = match names_no_variable {
                true => m::knowledge_unknown(what, list(&names)),
                false => m::knowledge_contradicts(what),
            };
            self.say(place, said);
        }
    }

    /// Complains about a scenario whose exported graphs would replace those of another set: in
    /// names of files the slash is a dot.
    fn graph_files(&mut self, here: &str, name: &Name, graphs: &GraphUncertainBlock) {
        let file = |set: &Name, scenario: &Name| format!("{set}.{scenario}");
        let before = self.job.counterfactuals.iter().take_while(|(other, _)| *other != name);
        let before =
            before.filter_map(|(other, set)| Some((other, set.graphs()?.knowledge.keys())));
        let taken: Vec<(&Name, &Name)> =
            before.flat_map(|(other, keys)| keys.map(move |key| (other, key))).collect();
        for scenario in graphs.knowledge.keys() {
            let own = file(name, scenario);
            let twin = taken.iter().find(|(other, twin)| file(other, twin) == own);
            self.say(
                join(&join(here, "knowledge"), scenario.as_str()),
                twin.map(|(other, twin)| m::graph_files_same(other, twin, name, scenario, own)),
            );
        }
    }

    /// Where the graphs come from, and the scenario with which the fit of knowledge is compared.
    fn graph_source(&mut self, here: &str, graphs: &GraphUncertainBlock) {
        if let Some(file) = graphs.bag() {
            let ending = Path::new(file).extension().and_then(|ending| ending.to_str());
            let is = |end: &str| ending.is_some_and(|ending| ending.eq_ignore_ascii_case(end));
            let is_other = !is("gml") && !is("json");
            self.say(format!("{here}.discovery.bag"), is_other.then(|| m::bag_ending(file)));
        }
        let is_searched = matches!(graphs.discovery, GraphSource::Boss(_));
        let draws_none = is_searched && graphs.n_bootstraps() == 0;
        self.say(join(here, "bootstraps"), draws_none.then(m::bootstraps_none));
        let said = match graphs.knowledge.len() {
            _ if !graphs.fit => None,
            _ if !is_searched => Some(m::fit_of_given()),
            0 | 1 => Some(m::fit_of_one()),
            _ => None,
        };
        self.say(join(here, "fit"), said);
        let Some(against) = &graphs.against else { return };
        let at = join(here, "against");
        if graphs.fit {
            self.check_known("scenario", at, against, graphs.knowledge.keys());
        } else {
            self.say(at, m::against_without_fit());
        }
    }

    /// Why no statement can be left out: nothing is linear, nothing is searched, or no gate asks.
    fn not_needed(&self, name: &Name, graphs: &GraphUncertainBlock) -> Option<Said> {
        let is_given = !matches!(graphs.discovery, GraphSource::Boss(_));
        let other = not_linear(graphs).or(is_given.then_some(("discovery", "{boss: {}}")));
        let asks = |gate: &GateBlock| {
            let set = gate.counterfactual.as_ref().and_then(|named| named.as_str().split_once('/'));
            let is_rate = |metric: &String| HIDDEN_RATES.contains(&metric.as_str());
            let of_rate = gate.direction.is_some() && gate.metric.as_ref().is_some_and(is_rate);
            let states = set.is_some_and(|(set, scenario)| {
                set == name.as_str() && !graphs.statements(scenario).is_empty()
            });
            let by_itself = gate.family_error.is_none()
                && gate.against.is_none()
                && gate.arm.is_none()
                && gate.decide_by != Some(GateDecideBy::All);
            states && by_itself && (of_rate || gate.harm_to.is_some())
        };
        match other {
            Some((key, word)) => Some(m::necessary_not_linear(key, word)),
            None if self.job.gates.values().any(asks) => None,
            None => Some(m::necessary_without_gate(name, list(&HIDDEN_RATES))),
        }
    }

    /// A hidden cause where nothing is linear, and strengths that are none.
    fn graph_hidden_cause(&mut self, here: &str, graphs: &GraphUncertainBlock) {
        let Some(asked) = graphs.hidden_cause() else { return };
        let at = format!("{here}.sensitivity.hidden_cause");
        let other = not_linear(graphs);
        self.say(&at, other.map(|(key, word)| m::hidden_cause_not_linear(key, word)));
        let strengths = join(&at, "strengths");
        for (i, pair) in asked.strengths.windows(2).enumerate() {
            let (before, after) = (pair[0].get(), pair[1].get());
            let said = (before >= after).then(|| m::hidden_strengths_order(after));
            self.say(format!("{strengths}[{}]", i + 1), said);
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
            let unknown = |near: String| m::cell_bins_of_no_number(column, near);
            let known = ("numbers of the graph", &numbers);
            if self.one_of(place.as_str(), column, known, unknown)
                && let ColumnBins::Edges(edges) = bins
            {
                let is_off = |pair: &[Finite]| pair[0].get() >= pair[1].get();
                let is_wrong = edges.is_empty() || edges.windows(2).any(is_off);
                self.say(place, is_wrong.then(|| m::cell_edges_order(column)));
            }
        }
    }

    /// Models that cannot be asked.
    fn graph_models(&mut self, here: &str, name: &Name, set: &CounterfactualSet) {
        for (model, block) in self.job.models.iter().filter(|(model, _)| set.asks(model)) {
            if block.external().is_some() && block.scores_counterfactuals() {
                let is = if block.given_scores().is_some() { "has" } else { "is" };
                self.say(here, m::levels_of_model(name, model, is, noun(block)));
            }
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
        let (data, is_named) = (&self.job.data, graphs.variables.is_some());
        let at = if is_named { join(here, "variables") } else { here.to_owned() };
        let own = data.column_of(attribute);
        let mut known = data.inputs();
        known.retain(|column| !data.is_derived(column) && data.onehot_of(column).is_none());
        let is_other = |column: &&ColumnName| is_named && !known.contains(column);
        for (place, column) in numbered(at.clone(), variables).filter(|(_, c)| is_other(c)) {
            let said = if data.label.named_column() == Some(column) {
                m::graph_label(column)
            } else if data.is_derived(column) || data.onehot_of(column).is_some() {
                m::graph_derived(column)
            } else {
                m::graph_unknown(column, suggest(column, "features", &known))
            };
            self.say(place, said);
        }
        let lacks_own = is_named && !variables.contains(own);
        self.say(&at, lacks_own.then(|| m::graph_lacks_attribute(own)));
        let n = variables.len();
        self.say(&at, (n > MOST_VARIABLES).then(|| m::graph_large(n, MOST_VARIABLES)));
        self.say(&at, (n < 2).then(|| m::graph_of_one(own)));
        !self.has_problem(&[&at])
    }

    /// Complains about features that follow from variables and that a model reads.
    fn followers(&mut self, here: &str, variables: &[ColumnName]) {
        let data = &self.job.data;
        for column in data.listed_features().filter(|column| data.is_derived(column)) {
            let roots = data.roots(column);
            let Some(root) = roots.iter().find(|root| variables.contains(root)) else { continue };
            let reads =
                |model: &ModelBlock| model.omitted().is_some_and(|omit| !omit.contains(column));
            let models = self.job.models.iter().filter(|(_, model)| reads(model));
            let readers: Vec<&Name> = models.map(|(name, _)| name).collect();
            let said = || m::graph_reader(column, root, all(&readers));
            self.say(here, (!readers.is_empty()).then(said));
        }
    }
}
