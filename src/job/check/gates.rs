//! Checks gates against the metric catalog and against what the job declares.

use crate::job::blocks::experiments::ExperimentBlock;
use crate::job::messages as m;
use crate::job::read::nearest::list;
use crate::job::read::tree::join;
use crate::job::{
    GateBetween, GateBlock, GateDecideBy, GateDirection, LabelRole, MetricFamily, ModelBlock,
};
use crate::metric::asked::GateScope;
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::cf_quality::MEASURES;
use crate::metric::catalog::graph::FIT_WORSE;
use crate::metric::{Metric, Reads};
use crate::param::{Finite, Name, SetName};

use super::amounts::is_of_amounts;
use super::defaults::families;
use super::{JobChecker, path};

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
            self.recourse_gate(at, attribute, gate);
            return;
        }
        if let Some(why) = &gate.why {
            self.why_gate(at, why, gate);
            return;
        }
        let Some(metric) = gate.metric.as_deref().or(gate.harm_to.as_ref().map(|_| HARM[0])) else {
            let form = "metric: ID` or `harm_to: {ATTRIBUTE: GROUP}";
            self.say(at, m::block_key_missing(at, "metric", form));
            if gate.model.is_none() {
                self.say(at, m::block_key_missing(at, "model", "model: NAME"));
            }
            return;
        };
        if gate.harm_to.is_some() && !self.harm(at, gate) {
            return;
        }
        self.limit(at, name, gate);
        if let Some(model) = &gate.model {
            self.model_named(format!("{at}.model"), model);
        }
        self.arm(at, gate.arm.as_ref(), (gate.model.as_ref(), gate.counterfactual.as_ref()));
        let named = self.named(at, gate);
        let here = format!("{at}.metric");
        if MEASURES.iter().any(|measure| measure.id == metric) {
            self.say(here, m::gate_on_measure(metric));
            return;
        }
        let Some(metric) = self.metric_named(here, metric) else { return };
        match (&gate.model, metric.family) {
            (Some(_), MetricFamily::Graph) => {
                self.say(format!("{at}.model"), m::gate_graph_model(metric.id));
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
        self.evidence(at, gate, metric);
        self.reachable(at, gate, metric);
        self.gate_class(at, gate, metric);
        self.scope(at, gate, metric, named);
        let by_doubt = matches!(
            gate.decide_by,
            GateDecideBy::Worlds | GateDecideBy::Fit | GateDecideBy::Training | GateDecideBy::All
        );
        if by_doubt && metric.family == MetricFamily::Graph {
            self.say(format!("{at}.decide_by"), m::graph_metric_decide(metric.id));
        } else if by_doubt && gate.against.is_some() {
            let said = match gate.decide_by {
                GateDecideBy::Worlds => m::change_by_worlds(name),
                _ => m::change_by_doubt(name),
            };
            self.say(format!("{at}.decide_by"), said);
        } else if gate.decide_by == GateDecideBy::Worlds {
            self.gate_worlds(at, name, gate);
        } else if by_doubt {
            self.gate_doubts(at, name, gate, metric);
        }
        self.gate_of_scores((at, name), gate, metric);
        self.gate_scores(at, name, gate, metric);
        if gate.family_error.is_some() {
            self.family(at, name, gate);
        }
        self.gate_withstands(at, gate, metric);
    }

    /// Complains about keys that contradict the groups and metrics of `harm_to`; gives
    /// back whether there is none.
    fn harm(&mut self, at: &str, gate: &GateBlock) -> bool {
        let keys = [
            ("metric", gate.metric.is_some(), m::harm_metric()),
            ("direction", gate.direction.is_some(), m::harm_directions()),
            ("between", gate.between.is_some(), m::harm_directions()),
            ("group", gate.group.is_some(), m::harm_group()),
            ("at_least", gate.at_least.is_some(), m::harm_at_least()),
            ("fall_at_most", gate.fall_at_most.is_some(), m::harm_fall()),
        ];
        let wrong = keys.into_iter().filter(|(_, there, _)| *there);
        wrong.map(|(key, _, said)| self.say(join(at, key), said)).count() == 0
    }

    /// Complains about an arm that there is not, and about one of another model or set.
    pub(super) fn arm(
        &mut self,
        at: &str,
        arm: Option<&String>,
        (model, set): (Option<&Name>, Option<&SetName>),
    ) {
        let Some(arm) = arm else { return };
        let here = format!("{at}.arm");
        let of = |(name, experiment): (&Name, &ExperimentBlock)| {
            let arms = std::iter::once("base").chain(experiment.arms.names());
            arms.map(|arm| format!("{name}/{arm}")).collect::<Vec<_>>()
        };
        let arms: Vec<String> = self.job.experiments.iter().flat_map(of).collect();
        if !self.check_known("arm", here.clone(), arm, arms.iter()) {
            return;
        }
        let of_arm = |name: &&Name| arm.split('/').next() == Some(name.as_str());
        let experiments = &self.job.experiments;
        let Some(name) = experiments.keys().find(of_arm) else { return };
        let experiment = &experiments[name];
        if let Some(model) = model.filter(|model| **model != experiment.model) {
            self.say(here.clone(), m::arm_of_model(name, &experiment.model, model));
        }
        if let Some(set) = set.filter(|set| set.as_str() != experiment.from.as_str()) {
            self.say(here, m::arm_of_set(name, &experiment.from, set));
        }
    }

    /// Complains about a gate that is decided by fits, trainings, or by every doubt, where there
    /// are none but people.
    fn gate_doubts(&mut self, at: &str, name: &Name, gate: &GateBlock, metric: &Metric) {
        let set = gate.counterfactual.as_ref().and_then(|name| self.set_of(name));
        let has_graphs = set.is_some_and(|set| set.graphs().is_some());
        // What an arm adds is made once, by the fit of the audited set.
        let of_arm = gate.arm.is_some();
        let set_has_fits = set.is_some_and(|set| set.doubt.is_some());
        let has_fits = set_has_fits && !of_arm;
        let by_all = gate.decide_by == GateDecideBy::All;
        let model = gate.model.as_ref().and_then(|model| self.job.models.get(model));
        let is_trained_again = model.is_some_and(|model| model.doubt.is_some());
        let has_trainings = is_trained_again && metric.is_measured_again();
        if by_all && gate.between == Some(GateBetween::WorstCase) {
            self.say(format!("{at}.decide_by"), m::doubt_of_worst_case(name));
            return;
        }
        let unmeasured = if is_trained_again && !has_trainings {
            Some(("its value is not measured for other trainings of the model", "model"))
        } else if set_has_fits && of_arm {
            Some(("values of arms are not measured for other fits of the set", "set"))
        } else {
            None
        };
        if let Some((why, of)) = unmeasured.filter(|_| by_all) {
            self.say(format!("{at}.decide_by"), m::doubt_unmeasured(name, why, of));
            return;
        }
        let has = match gate.decide_by {
            GateDecideBy::Fit => has_fits,
            GateDecideBy::Training => has_trainings,
            _ => has_fits || has_graphs || has_trainings,
        };
        if has {
            return;
        }
        let by_training = gate.decide_by == GateDecideBy::Training;
        let trains = model.is_some_and(ModelBlock::is_trained) && metric.is_measured_again();
        let or = if trains && (by_training || by_all && of_arm) {
            ", or add `doubt: {training: 5, resample: true}` to the model"
        } else if by_training || of_arm || set.is_none_or(|set| set.knobs().is_none()) {
            ""
        } else {
            ", or add `doubt: {fit: 20}` to the set"
        };
        let said = match gate.decide_by {
            GateDecideBy::Training if !metric.is_measured_again() => {
                m::gate_metric_no_trainings(name, metric.id, or)
            }
            GateDecideBy::Training => m::gate_no_trainings(name, or),
            GateDecideBy::Fit if of_arm => m::gate_arm_no_fits(name, or),
            GateDecideBy::Fit => m::gate_no_fits(name, or),
            _ => m::gate_no_doubt(name, or),
        };
        self.say(format!("{at}.decide_by"), said);
    }

    /// Complains about a family of one, and of values without intervals.
    fn family(&mut self, at: &str, name: &Name, gate: &GateBlock) {
        let here = format!("{at}.family_error");
        if gate.decide_by != GateDecideBy::Interval {
            let by = match gate.decide_by {
                GateDecideBy::Estimate => "the estimate, which has",
                GateDecideBy::Fit => "fits, which have",
                GateDecideBy::Training => "trainings, which have",
                GateDecideBy::All => "every doubt, which together have",
                GateDecideBy::Worlds | GateDecideBy::Interval => "graphs, which have",
            };
            self.say(here, m::family_no_rate(name, by));
            return;
        }
        let everybody = gate.direction.is_none()
            && gate.between.as_ref().is_none_or(|b| *b == GateBetween::WorstCase)
            && gate.group.is_none();
        let attributes = if gate.sensitive.is_some() { 1 } else { self.job.data.sensitive.len() };
        if gate.harm_to.is_none()
            && gate.direction != Some(GateDirection::Any)
            && !(everybody && attributes > 1)
        {
            self.say(here, m::family_of_one(name));
        }
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
            self.say(format!("{at}.{key}"), said);
            return;
        }
        let [(one, first), (other, second)] = asked;
        match (first, second) {
            (None, None) => {
                let or = if gate.harm_to.is_some() {
                    String::new()
                } else {
                    format!(" or `{other}: X`")
                };
                self.say(at, m::limit_none(name, one, or));
            }
            (Some(_), Some(_)) => {
                self.say(format!("{at}.{other}"), m::limit_two(name, one, other));
            }
            _ => {}
        }
    }

    /// Complains about a limit outside of what the metric, or a change of it, can be: a percentage
    /// written without its hundredth, for instance.
    fn reachable(&mut self, at: &str, gate: &GateBlock, metric: &Metric) {
        let (least, most) = metric.range;
        let range = match &gate.between {
            // Of what has directions a pair is the difference of its two.
            Some(GateBetween::Pair(_)) if metric.scopes().contains(&GateScope::Direction) => {
                (least - most, most - least)
            }
            // The furthest groups are given so that a difference is not below 0, and a ratio not
            // above 1.
            Some(GateBetween::WorstCase) if (least, most) == (0.0, f64::INFINITY) => (0.0, 1.0),
            Some(GateBetween::WorstCase) => (least.max(0.0), most),
            _ => metric.range,
        };
        let width = range.1 - range.0;
        let limits = [
            ("at_most", gate.at_most, range, "value"),
            ("at_least", gate.at_least, range, "value"),
            ("rise_at_most", gate.rise_at_most, (-width, width), "change"),
            ("fall_at_most", gate.fall_at_most, (-width, width), "change"),
        ];
        for (key, limit, (lo, hi), of) in limits {
            let Some(limit) = limit.map(Finite::get).filter(|limit| *limit < lo || *limit > hi)
            else {
                continue;
            };
            let bounds = match (lo.is_finite(), hi.is_finite()) {
                (true, true) => format!("lies between {lo} and {hi}"),
                (true, false) => format!("is never below {lo}"),
                (false, _) => format!("is never above {hi}"),
            };
            let said = if hi.is_finite() && (1.0..=100.0).contains(&limit) {
                // By its decimals: 1.013 / 100 is not 0.01013 in binary.
                let share = format!("{limit}e-2").parse().unwrap_or(limit / 100.0);
                m::limit_percent(of, metric.id, bounds, key, limit, share)
            } else {
                m::limit_unreachable(of, metric.id, bounds, key, limit)
            };
            self.say(format!("{at}.{key}"), said);
        }
    }

    /// Complains about a gate on the fit of knowledge that is not compared.
    fn fit_of_knowledge(&mut self, at: &str, gate: &GateBlock, metric: &Metric) {
        let Some(asked) = gate.counterfactual.as_ref().filter(|_| metric.id == FIT_WORSE) else {
            return;
        };
        let Some((set, scenario)) = asked.as_str().split_once('/') else { return };
        let mut sets = self.job.counterfactuals.iter();
        let graphs = sets.find(|(name, _)| name.as_str() == set).and_then(|(_, set)| set.graphs());
        let Some(graphs) = graphs else { return };
        let said = match graphs.fit_reference() {
            None => m::fit_not_asked(FIT_WORSE, set),
            Some(reference) if reference.as_str() == scenario => m::fit_of_compared(set, scenario),
            Some(_) => return,
        };
        self.say(join(at, "counterfactual"), said);
    }

    /// The label, the set and the family that the metric depends on.
    fn evidence(&mut self, at: &str, gate: &GateBlock, metric: &Metric) {
        let named = self.job.sets();
        let of_graphs = metric.family == MetricFamily::Graph;
        let sets = named.iter().filter(|(_, set)| !of_graphs || set.graphs().is_some());
        let sets: Vec<&str> = sets.map(|(name, _)| name.as_str()).collect();
        let id = if gate.harm_to.is_some() { "harm_to" } else { metric.id };
        let family = metric.family.as_str();
        let asked = join(at, if gate.harm_to.is_some() { "harm_to" } else { "metric" });
        match (&gate.counterfactual, metric.needs_counterfactual()) {
            (Some(_), false) => {
                self.say(format!("{at}.counterfactual"), m::gate_superfluous_set(id));
            }
            (None, true) => {
                let said = if sets.is_empty() {
                    m::gate_needs_set(id, at)
                } else {
                    m::gate_names_no_set(id, at, list(&sets))
                };
                self.say(at, said);
            }
            (Some(set), true)
                if of_graphs
                    && !sets.contains(&set.as_str())
                    && named.iter().any(|(name, _)| name == set.as_str()) =>
            {
                let said = if sets.is_empty() {
                    m::graph_metric_no_graphs(id, set)
                } else {
                    m::graph_metric_other_set(id, set, list(&sets))
                };
                self.say(format!("{at}.counterfactual"), said);
            }
            _ => {}
        }
        self.fit_of_knowledge(at, gate, metric);
        let of_amounts = self.job.audits_amounts();
        let clarify = [Some(metric.family), metric.also()].contains(&Some(MetricFamily::Clarify));
        if of_amounts != (metric.family == MetricFamily::Amounts)
            && !(of_amounts && (is_of_amounts(metric) || clarify))
            && !of_graphs
            && !self.job.models.is_empty()
        {
            let said = if of_amounts { m::gate_of_no_amounts(id) } else { m::gate_of_amounts(id) };
            self.say(asked, said);
        } else if metric.is_by_favourable() && !of_amounts && self.lacks_favourable() {
            self.say(asked, m::gate_no_favourable(id));
        } else if metric.needs_label && self.job.data.label == LabelRole::None {
            self.say(asked, m::gate_no_label(id));
        } else if !of_graphs
            && (!of_amounts || clarify)
            && let measured = families(self.job)
            && !measured.is_empty()
            && [Some(metric.family),
                metric.also()].into_iter().flatten().all(|family| !measured.contains(&family))
            // Without a list of families only this one must be asked for; what else is missing has
            // its own complaint.
            && (self.job.metrics.families.is_some()
                || matches!(metric.family, MetricFamily::Clarify | MetricFamily::Scores))
        {
            let said = if self.job.metrics.families.is_some() {
                m::gate_family_not_listed(id, family)
            } else {
                let words: Vec<&str> =
                    measured.iter().map(|family| family.as_str()).chain([family]).collect();
                m::gate_family_unlisted(id, family, words.join(", "))
            };
            self.say(asked, said);
        } else if let Some(key) = metric.asked_by() {
            let clarify = self.job.metrics.clarify.as_ref();
            let (there, form) = match key {
                "strata" => (clarify.is_some_and(|c| c.strata.is_some()), "strata: COLUMN"),
                _ => (clarify.is_some_and(|c| c.flip_test.is_some()), "flip_test: {}"),
            };
            if !there {
                self.say(asked, m::clarify_key_missing(id, key, form));
            }
        }
    }

    /// What a gate asks of scores.
    fn gate_of_scores(&mut self, (at, name): (&str, &Name), gate: &GateBlock, metric: &Metric) {
        if !metric.has_interval()
            && matches!(gate.decide_by, GateDecideBy::Interval | GateDecideBy::All)
        {
            self.say(join(at, "decide_by"), m::gate_no_interval(metric.id));
        }
        let Some(model) = gate.model.as_ref().and_then(|model| self.job.models.get(model)) else {
            return;
        };
        let of_scores = matches!(metric.family, MetricFamily::Shift | MetricFamily::Scores);
        if of_scores && !model.gives_scores() {
            self.say(join(at, "metric"), m::gate_of_decisions(name, metric.id));
        } else if needs_probability(metric) && ModelBlock::gives_points(model) {
            self.say(join(at, "metric"), m::gate_of_points(name, metric.id));
        }
    }
}

/// Whether a metric compares scores with shares of labels.
fn needs_probability(metric: &Metric) -> bool {
    matches!(metric.reads, Reads::Scored(reading) if reading.needs_probability())
}
