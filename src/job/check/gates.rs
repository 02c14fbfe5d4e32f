//! Checks gates against the metric catalog and against what the job declares; whatever decides a
//! gate must be computed.

use std::ops::Deref;

use crate::job::blocks::experiments::ExperimentBlock;
use crate::job::messages::{self as m, Said};
use crate::job::read::tree::join;
use crate::job::read::word_lists::list;
use crate::job::{
    CounterfactualSet, GateBetween, GateBlock, GateDecideBy, GateDirection, LabelRole,
    MetricFamily, ModelBlock,
};
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::cf_quality::MEASURES;
use crate::metric::catalog::graph::FIT_WORSE;
use crate::metric::value::hidden_cause::HIDDEN_RATES;
use crate::metric::{Metric, Reads};
use crate::param::{Finite, Name, SetName, key_word};

use super::defaults::families;
use super::metrics::is_of_amounts;
use super::{JobChecker, path};

/// A gate on a metric, as the job names it.
pub(super) struct MetricGate<'a> {
    pub(super) at: &'a str,
    pub(super) name: &'a Name,
    gate: &'a GateBlock,
    pub(super) metric: &'static Metric,
}

impl Deref for MetricGate<'_> {
    type Target = GateBlock;

    fn deref(&self) -> &GateBlock {
        self.gate
    }
}

impl MetricGate<'_> {
    /// The path of one of its keys.
    pub(super) fn key(&self, key: &str) -> String {
        join(self.at, key)
    }

    /// What it asks about, in the word that the job uses.
    pub(super) fn asked(&self) -> &'static str {
        if self.harm_to.is_some() { "harm_to" } else { self.metric.id }
    }
}

impl<'a> JobChecker<'a> {
    /// The block `gates`.
    pub(super) fn gates(&mut self) {
        for (name, gate) in &self.job.gates {
            self.gate(&path(&["gates", name.as_str()]), name, gate);
        }
    }

    fn gate(&mut self, at: &str, name: &Name, gate: &'a GateBlock) {
        if !self.keys_of_gate(at, gate) {
            return;
        }
        if let Some(attribute) = &gate.recourse {
            return self.recourse_gate(at, attribute, gate);
        }
        if let Some(why) = &gate.why {
            return self.why_gate(at, why, gate);
        }
        let Some(metric) = gate.metric.as_deref().or(gate.harm_to.as_ref().map(|_| HARM[0])) else {
            let form = "metric: ID` or `harm_to: {ATTRIBUTE: GROUP}";
            self.say(at, m::block_key_missing(at, "metric", form));
            let lacks_model = gate.model.is_none();
            let said = || m::block_key_missing(at, "model", "model: NAME");
            return self.say(at, lacks_model.then(said));
        };
        if gate.harm_to.is_some() && !self.harm(at, gate) {
            return;
        }
        self.limit(at, name, gate);
        if let Some(model) = &gate.model {
            self.model_named(join(at, "model"), model);
        }
        self.arm(at, gate.arm.as_ref(), (gate.model.as_ref(), gate.counterfactual.as_ref()));
        let named = self.named(at, gate);
        let here = join(at, "metric");
        if MEASURES.iter().any(|measure| measure.id == metric) {
            return self.say(here, m::gate_on_measure(metric));
        }
        let Some(metric) = self.metric_named(here, metric) else { return };
        let gate = &MetricGate { at, name, gate, metric };
        match (&gate.model, metric.family) {
            (Some(_), MetricFamily::Graph) => {
                self.say(gate.key("model"), m::gate_graph_model(metric.id));
            }
            (None, family) if family != MetricFamily::Graph => {
                let models: Vec<&Name> = self.job.models.keys().collect();
                let said = if models.is_empty() {
                    m::block_key_missing(at, "model", "model: ...")
                } else {
                    m::gate_no_model_of(at, list(&models))
                };
                self.say(at, said);
            }
            _ => {}
        }
        self.set_of_gate(gate);
        self.family_of_gate(gate);
        self.reachable(gate);
        self.gate_class(gate);
        self.scope(gate, named);
        self.decides(gate);
        self.gate_of_scores(gate);
        self.gate_withstands(gate);
    }

    /// Complains about keys that contradict the groups and metrics of `harm_to`; returns whether
    /// there is none.
    fn harm(&mut self, at: &str, gate: &GateBlock) -> bool {
        let keys = [
            ("metric", gate.metric.is_some(), m::harm_metric()),
            ("direction", gate.direction.is_some(), m::harm_directions()),
            ("between", gate.between.is_some(), m::harm_directions()),
            ("group", gate.group.is_some(), m::harm_group()),
            ("at_least", gate.at_least.is_some(), m::harm_limit("at_most")),
            ("fall_at_most", gate.fall_at_most.is_some(), m::harm_limit("rise_at_most")),
        ];
        let wrong = keys.into_iter().filter(|(_, there, _)| *there);
        wrong.map(|(key, _, said)| self.say(join(at, key), said)).count() == 0
    }

    /// Complains about an arm that does not exist, and about one of another model or set.
    pub(super) fn arm(
        &mut self,
        at: &str,
        arm: Option<&String>,
        (model, set): (Option<&Name>, Option<&SetName>),
    ) {
        let Some(arm) = arm else { return };
        let (here, experiments) = (join(at, "arm"), &self.job.experiments);
        let arms_of = |(name, experiment): (&Name, &ExperimentBlock)| {
            let arms = experiment.arms.named().into_iter();
            arms.map(|arm| format!("{name}/{arm}")).collect::<Vec<_>>()
        };
        if !self.check_known("arm", here.as_str(), arm, experiments.iter().flat_map(arms_of)) {
            return;
        }
        let found = arm.split('/').next().and_then(|name| experiments.get_key_value(name));
        let Some((name, experiment)) = found else { return };
        let model = model.filter(|model| **model != experiment.model);
        self.say(here.as_str(), model.map(|model| m::arm_of_model(name, &experiment.model, model)));
        let set = set.filter(|set| set.as_str() != experiment.from.as_str());
        self.say(here, set.map(|set| m::arm_of_set(name, &experiment.from, set)));
    }

    /// Exactly one limit, of the kind that the gate asks about.
    fn limit(&mut self, at: &str, name: &Name, gate: &GateBlock) {
        let values = [("at_most", gate.at_most), ("at_least", gate.at_least)];
        let changes = [("rise_at_most", gate.rise_at_most), ("fall_at_most", gate.fall_at_most)];
        let (asked, others) =
            if gate.against.is_some() { (changes, values) } else { (values, changes) };
        if let Some((key, _)) = others.iter().find(|(_, limit)| limit.is_some()) {
            let said = match gate.against {
                Some(_) => m::change_limits_value(name, key),
                None => m::value_limits_change(key, name),
            };
            return self.say(join(at, key), said);
        }
        let [(one, first), (other, second)] = asked;
        match (first, second) {
            (None, None) => {
                let either = gate.harm_to.is_none().then(|| format!(" or `{other}: X`"));
                self.say(at, m::limit_none(name, one, either.unwrap_or_default()));
            }
            (Some(_), Some(_)) => self.say(join(at, other), m::limit_two(name, one, other)),
            _ => {}
        }
    }

    /// Complains about a limit outside of what the metric, or a change of it, can be: a percentage
    /// written without its hundredth, for instance.
    fn reachable(&mut self, gate: &MetricGate<'_>) {
        let (range, _) = gate.metric.judged_in(gate.compared());
        let width = range.1 - range.0;
        let limits = [
            ("at_most", gate.at_most, range, "value"),
            ("at_least", gate.at_least, range, "value"),
            ("rise_at_most", gate.rise_at_most, (-width, width), "change"),
            ("fall_at_most", gate.fall_at_most, (-width, width), "change"),
        ];
        for (key, limit, range, what) in limits {
            self.within(gate.at, (key, limit), range, (what, gate.metric.id));
        }
    }

    /// Complains about a limit of a gate outside of what a quantity of something can be.
    pub(super) fn within(
        &mut self,
        at: &str,
        (key, limit): (&str, Option<Finite>),
        (lo, hi): (f64, f64),
        (what, id): (&str, &str),
    ) {
        let limit = limit.map(Finite::get).filter(|limit| *limit < lo || *limit > hi);
        let Some(limit) = limit else { return };
        let bounds = match (lo.is_finite(), hi.is_finite()) {
            (true, true) => format!("lies between {lo} and {hi}"),
            (true, false) => format!("is never below {lo}"),
            (false, _) => format!("is never above {hi}"),
        };
        let said = if hi.is_finite() && (1.0..=100.0).contains(&limit) {
            // Computed on decimals: in binary 1.013 / 100 is not 0.01013.
            let share = format!("{limit}e-2").parse().unwrap_or(limit / 100.0);
            m::limit_percent(what, id, bounds, key, limit, share)
        } else {
            m::limit_unreachable(what, id, bounds, key, limit)
        };
        self.say(join(at, key), said);
    }

    /// The set that the metric needs or must not have.
    fn set_of_gate(&mut self, gate: &MetricGate<'_>) {
        let (named, of_graphs) = (self.job.sets(), gate.metric.family == MetricFamily::Graph);
        let sets = named.iter().filter(|(_, set)| !of_graphs || set.graphs().is_some());
        let sets: Vec<&str> = sets.map(|(name, _)| name.as_str()).collect();
        let (id, here) = (gate.asked(), gate.key("counterfactual"));
        match (&gate.counterfactual, gate.metric.needs_counterfactual()) {
            (Some(_), false) => self.say(here, m::gate_superfluous_set(id)),
            (None, true) if sets.is_empty() => self.say(gate.at, m::gate_needs_set(id, gate.at)),
            (None, true) => {
                self.say(gate.at, m::gate_names_no_set(id, gate.at, list(&sets)));
            }
            (Some(set), true) if named.iter().any(|(name, _)| name == set.as_str()) => {
                if sets.is_empty() {
                    self.say(here, m::graph_metric_no_graphs(id, set));
                } else if !sets.contains(&set.as_str()) {
                    self.say(here, m::graph_metric_other_set(id, set, list(&sets)));
                }
            }
            _ => {}
        }
        // Complains about a gate on the fit of knowledge that is not compared.
        let asked = gate.counterfactual.as_ref().and_then(|named| named.as_str().split_once('/'));
        let Some((set, scenario)) = asked.filter(|_| gate.metric.id == FIT_WORSE) else { return };
        let block = self.job.counterfactuals.get(set);
        let Some(graphs) = block.and_then(|set| set.graphs()) else { return };
        let said = match graphs.fit_reference() {
            None => m::fit_not_asked(FIT_WORSE, set),
            Some(reference) if reference.as_str() == scenario => m::fit_of_compared(set, scenario),
            Some(_) => return,
        };
        self.say(gate.key("counterfactual"), said);
    }

    /// The label and the family that the metric depends on.
    fn family_of_gate(&mut self, gate: &MetricGate<'_>) {
        let (metric, id, job) = (gate.metric, gate.asked(), self.job);
        let of_graphs = metric.family == MetricFamily::Graph;
        let of_amounts = job.audits_amounts();
        let both = [Some(metric.family), metric.also()];
        let clarify = both.contains(&Some(MetricFamily::Clarify));
        let measured = families(job);
        let is_measured = both.into_iter().flatten().any(|family| measured.contains(&family));
        // Without a list of families only these must be asked for; what else is missing has its own
        // complaint.
        let is_listed = job.metrics.families.is_some();
        let is_asked =
            is_listed || matches!(metric.family, MetricFamily::Clarify | MetricFamily::Scores);
        let said = if of_amounts != (metric.family == MetricFamily::Amounts)
            && !(of_amounts && (is_of_amounts(metric) || clarify))
            && !of_graphs
            && !job.models.is_empty()
        {
            if of_amounts { m::gate_of_no_amounts(id) } else { m::gate_of_amounts(id) }
        } else if metric.is_by_favourable() && !of_amounts && self.lacks_favourable() {
            m::gate_no_favourable(id)
        } else if metric.needs_label && job.data.label == LabelRole::None {
            m::gate_no_label(id)
        } else if !of_graphs
            && (!of_amounts || clarify)
            && !measured.is_empty()
            && !is_measured
            && is_asked
        {
            let family = metric.family.as_str();
            let words: Vec<&str> = measured.iter().map(|id| id.as_str()).chain([family]).collect();
            if is_listed {
                m::gate_family_not_listed(id, family)
            } else {
                m::gate_family_unlisted(id, family, words.join(", "))
            }
        } else if let Some(key) = metric.asked_by() {
            let clarify = job.metrics.clarify.as_ref();
            let (there, form) = match key {
                "strata" => (clarify.is_some_and(|c| c.strata.is_some()), "strata: COLUMN"),
                _ => (clarify.is_some_and(|c| c.flip_test.is_some()), "flip_test: {}"),
            };
            if there {
                return;
            }
            m::clarify_key_missing(id, key, form)
        } else {
            return;
        };
        let asked = if gate.harm_to.is_some() { "harm_to" } else { "metric" };
        self.say(gate.key(asked), said);
    }

    /// What a gate asks of scores.
    fn gate_of_scores(&mut self, gate: &MetricGate<'_>) {
        let Some(model) = gate.model.as_ref().and_then(|model| self.job.models.get(model)) else {
            return;
        };
        let (metric, here) = (gate.metric, gate.key("metric"));
        let of_scores = matches!(metric.family, MetricFamily::Shift | MetricFamily::Scores);
        // A metric that compares scores with shares of labels.
        let needs_probability =
            matches!(metric.reads, Reads::Scored(reading, _) if reading.needs_probability());
        if of_scores && !model.gives_scores() {
            self.say(here, m::gate_of_decisions(gate.name, metric.id));
        } else if needs_probability && ModelBlock::gives_points(model) {
            self.say(here, m::gate_of_points(gate.name, metric.id));
        }
    }

    fn set_asked(&self, gate: &MetricGate<'_>) -> Option<&'a CounterfactualSet> {
        gate.counterfactual.as_ref().and_then(|name| self.set_of(name))
    }

    /// The key `decide_by`, and Holm's method.
    fn decides(&mut self, gate: &MetricGate<'_>) {
        let (at, name, id) = (gate.key("decide_by"), gate.name, gate.metric.id);
        self.say(&at, self.undecided(gate));
        let by_people = matches!(gate.decides(), GateDecideBy::Interval | GateDecideBy::All);
        let has_none = by_people && !gate.metric.has_interval();
        self.say(&at, has_none.then(|| m::gate_no_interval(id)));
        let has_graphs = self.set_asked(gate).is_some_and(|set| set.graphs().is_some());
        let of_graphs = by_people && gate.metric.family == MetricFamily::Shift && has_graphs;
        let by = if gate.against.is_some() { "estimate" } else { "worlds" };
        self.say(at, of_graphs.then(|| m::gate_of_people(name, id, by)));
        self.say(gate.key("family_error"), self.no_family(gate));
    }

    /// Why something that decides a gate besides people cannot: there is none, or not all of it.
    fn undecided(&self, gate: &MetricGate<'_>) -> Option<Said> {
        let (name, id, by) = (gate.name, gate.metric.id, gate.decides());
        let (set, of_arm) = (self.set_asked(gate), gate.arm.is_some());
        let has_graphs = set.is_some_and(|set| set.graphs().is_some());
        match by {
            GateDecideBy::Interval | GateDecideBy::Estimate => return None,
            _ if gate.metric.family == MetricFamily::Graph => {
                return Some(m::graph_metric_decide(id));
            }
            GateDecideBy::Worlds if gate.against.is_some() => {
                return Some(m::change_by_worlds(name));
            }
            _ if gate.against.is_some() => return Some(m::change_by_doubt(name)),
            GateDecideBy::Worlds => {
                let sets = self.job.sets();
                let graphs = sets.iter().filter(|(_, set)| set.graphs().is_some());
                let graphs: Vec<&str> = graphs.map(|(name, _)| name.as_str()).collect();
                return (!has_graphs).then(|| match graphs.as_slice() {
                    [] => m::gate_no_graphs(name),
                    graphs => m::gate_no_graphs_of(name, list(graphs)),
                });
            }
            _ => {}
        }
        let (by_all, by_training) = (by == GateDecideBy::All, by == GateDecideBy::Training);
        // What an arm adds is made once, by the fit of the audited set.
        let set_has_fits = set.is_some_and(|set| set.doubt.is_some());
        let model = gate.model.as_ref().and_then(|model| self.job.models.get(model));
        let is_trained_again = model.is_some_and(|model| model.doubt.is_some());
        let is_measured_again = gate.metric.is_measured_again();
        if by_all && gate.between == Some(GateBetween::WorstCase) {
            return Some(m::doubt_of_worst_case(name));
        }
        if by_all && is_trained_again && !is_measured_again {
            let why = "its value is not measured for other trainings of the model";
            return Some(m::doubt_unmeasured(name, why, "model"));
        }
        if by_all && set_has_fits && of_arm {
            let why = "values of arms are not measured for other fits of the set";
            return Some(m::doubt_unmeasured(name, why, "set"));
        }
        let has_fits = set_has_fits && !of_arm;
        let has_trainings = is_trained_again && is_measured_again;
        let has = match by {
            GateDecideBy::Fit => has_fits,
            GateDecideBy::Training => has_trainings,
            _ => has_fits || has_graphs || has_trainings,
        };
        let trains = model.is_some_and(ModelBlock::is_trained) && is_measured_again;
        let or = if trains && (by_training || by_all && of_arm) {
            ", or add `doubt: {training: 5, resample: true}` to the model"
        } else if by_training || of_arm || set.is_none_or(|set| set.knobs().is_none()) {
            ""
        } else {
            ", or add `doubt: {fit: 20}` to the set"
        };
        (!has).then(|| match by {
            GateDecideBy::Training if !is_measured_again => {
                m::gate_metric_no_trainings(name, id, or)
            }
            GateDecideBy::Training => m::gate_no_trainings(name, or),
            GateDecideBy::Fit if of_arm => m::gate_arm_no_fits(name, or),
            GateDecideBy::Fit => m::gate_no_fits(name, or),
            _ => m::gate_no_doubt(name, or),
        })
    }

    /// Why the comparisons of a gate are not a family: there is only one, or their values have no
    /// intervals.
    fn no_family(&self, gate: &MetricGate<'_>) -> Option<Said> {
        gate.family_error?;
        let by = match gate.decides() {
            GateDecideBy::Interval => None,
            GateDecideBy::Estimate => Some("the estimate, which has"),
            GateDecideBy::Fit => Some("fits, which have"),
            GateDecideBy::Training => Some("trainings, which have"),
            GateDecideBy::All => Some("every doubt, which together have"),
            GateDecideBy::Worlds => Some("graphs, which have"),
        };
        if let Some(by) = by {
            return Some(m::family_no_rate(gate.name, by));
        }
        let everybody = gate.direction.is_none()
            && gate.between.as_ref().is_none_or(|between| *between == GateBetween::WorstCase)
            && gate.group.is_none();
        let has_several = gate.sensitive.is_none() && self.job.data.sensitive.len() > 1;
        let is_one = gate.harm_to.is_none()
            && gate.direction != Some(GateDirection::Any)
            && !(everybody && has_several);
        is_one.then(|| m::family_of_one(gate.name))
    }

    /// Complains about a gate that is to withstand a hidden cause about which nothing is known.
    fn gate_withstands(&mut self, gate: &MetricGate<'_>) {
        if gate.withstands.is_none() {
            return;
        }
        let graphs = self.set_asked(gate).and_then(|set| set.graphs());
        let by = match gate.decides() {
            GateDecideBy::Interval | GateDecideBy::Worlds | GateDecideBy::Estimate => None,
            by => Some(format!("decide_by: {}", key_word(&by))),
        };
        let by = by.or(gate.family_error.map(|_| "family_error".to_owned()));
        let one_rate = gate.harm_to.is_some() || gate.direction.is_some();
        let is_rate = HIDDEN_RATES.contains(&gate.metric.id) && one_rate;
        let said = if !is_rate || gate.against.is_some() {
            m::withstands_of_other(list(&HIDDEN_RATES))
        } else if let Some(by) = by {
            m::withstands_by(by)
        } else if gate.arm.is_some() {
            m::withstands_of_arm()
        } else if graphs.is_some_and(|graphs| graphs.hidden_cause().is_some()) {
            return;
        } else {
            m::withstands_without()
        };
        self.say(gate.key("withstands"), said);
    }
}
