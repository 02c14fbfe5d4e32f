//! Checks gates against the metric catalog and against what the job declares.

use crate::job::blocks::experiments::ExperimentBlock;
use crate::job::read::nearest::{list, suggest};
use crate::job::read::tree::join;
use crate::job::{
    GateBetween, GateBlock, GateDecideBy, GateDirection, IntervalMethod, MetricFamily, ModelBlock,
};
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::graph::FIT_WORSE;
use crate::param::{Finite, Name};

use super::amounts::is_of_amounts;
use super::defaults::families;
use super::known_names::{GateScope, KnownMetric};
use super::{JobChecker, path};

impl JobChecker<'_> {
    /// The block `gates`.
    pub(super) fn gates(&mut self) {
        for (name, gate) in &self.job.gates {
            let at = path(&["gates", name.as_str()]);
            if self.is_sound(&[&at]) {
                self.gate(&at, name, gate);
            }
        }
    }

    fn gate(&mut self, at: &str, name: &Name, gate: &GateBlock) {
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
            for (key, there, form) in [
                ("metric", false, "metric: ID` or `harm_to: {ATTRIBUTE: GROUP}"),
                ("model", gate.model.is_some(), "model: NAME"),
            ] {
                if !there {
                    self.push_problem(
                        "missing-key",
                        at,
                        format!("`{at}` has no `{key}`"),
                        format!("add `{form}`"),
                    );
                }
            }
            return;
        };
        if gate.harm_to.is_some() && !self.harm(at, gate) {
            return;
        }
        self.limit(at, name, gate);
        if let Some(model) = gate
            .model
            .as_ref()
            .filter(|_| self.are_names_sound("models") && !self.job.models.is_empty())
        {
            self.check_known(
                "model",
                format!("{at}.model"),
                model.as_str(),
                self.job.models.keys().map(Name::as_str),
                "unknown-name",
            );
        }
        self.arm(at, gate);
        let named = self.named(at, gate);
        let Some(metric) = self.catalog.metrics.iter().find(|m| m.id == metric) else {
            if self.catalog.measures.contains(&metric) {
                let what = format!(
                    "`{}` is a measure of counterfactuals, of the family `cf_quality`, which gates \
                     cannot use",
                    metric
                );
                let hint = "choose a metric of predictions; `cf_quality` is on the page and in \
                            the tables `cf_quality` and `cf_features`";
                self.push_problem("unknown-metric", format!("{at}.metric"), what, hint);
                return;
            }
            let mut ids: Vec<&str> = self.catalog.metrics.iter().map(|m| m.id).collect();
            ids.sort_unstable();
            self.push_problem(
                "unknown-metric",
                format!("{at}.metric"),
                format!("no metric is called `{metric}`"),
                suggest(metric, "known metrics", ids),
            );
            return;
        };
        match (&gate.model, metric.family) {
            (Some(_), MetricFamily::Graph) => {
                let what = format!("`{}` is about graphs and does not involve a model", metric.id);
                self.push_problem("bad-scope", format!("{at}.model"), what, "remove `model`");
            }
            (None, family) if family != MetricFamily::Graph => {
                let what = format!("`{at}` has no `model`");
                let models: Vec<&str> = self.job.models.keys().map(Name::as_str).collect();
                let hint = if models.is_empty() {
                    "add `model: ...`".to_owned()
                } else {
                    format!("add `model: ...`, one of {}", list(&models))
                };
                self.push_problem("missing-key", at, what, hint);
            }
            _ => {}
        }
        self.evidence(at, gate, metric);
        self.reachable(at, gate, metric);
        self.gate_class(at, gate, metric);
        self.scope(at, gate, metric, named);
        let intervals = self.job.metrics.interval.method != IntervalMethod::None;
        let by_doubt = matches!(
            gate.decide_by,
            GateDecideBy::Worlds | GateDecideBy::Fit | GateDecideBy::Training | GateDecideBy::All
        );
        if by_doubt && metric.family == MetricFamily::Graph {
            let what = format!(
                "`{}` is a single number for all graphs, without an interval across them",
                metric.id
            );
            self.push_problem(
                "no-interval",
                format!("{at}.decide_by"),
                what,
                "remove `decide_by`: its value decides",
            );
        } else if by_doubt && gate.against.is_some() {
            let what = match gate.decide_by {
                GateDecideBy::Worlds => format!(
                    "the gate `{name}` judges a change, whose interval is over people, not \
                     over graphs"
                ),
                _ => format!(
                    "the gate `{name}` judges a change, which has one interval: over people and, \
                     where a set was fitted again, over fits"
                ),
            };
            self.push_problem(
                "no-interval",
                format!("{at}.decide_by"),
                what,
                "write `decide_by: interval` or `decide_by: estimate`",
            );
        } else if gate.decide_by == GateDecideBy::Worlds
            && self.is_sound(&["counterfactuals"])
            && self.are_names_sound("counterfactuals")
        {
            self.gate_worlds(at, name, gate);
        } else if by_doubt
            && self.is_sound(&["counterfactuals"])
            && self.are_names_sound("counterfactuals")
        {
            self.gate_doubts(at, name, gate, metric);
        }
        self.gate_of_scores((at, name), gate, metric);
        if self.is_sound(&["counterfactuals"]) && self.are_names_sound("counterfactuals") {
            self.gate_scores(at, name, gate, metric);
        }
        if metric.family != MetricFamily::Graph
            && matches!(gate.decide_by, GateDecideBy::Interval | GateDecideBy::All)
            && !intervals
            && self.is_sound(&["metrics.interval"])
        {
            let what = format!(
                "the gate `{name}` is decided by the interval, and `metrics.interval.method` is \
                 `none`"
            );
            self.push_problem(
                "no-interval",
                format!("{at}.decide_by"),
                what,
                "write `decide_by: estimate`",
            );
        }
        if gate.family_error.is_some() {
            self.family(at, name, gate);
        }
    }

    /// Complains about keys that contradict the groups and metrics of `harm_to`; gives
    /// back whether there is none.
    fn harm(&mut self, at: &str, gate: &GateBlock) -> bool {
        let keys = [
            ("metric", gate.metric.is_some(), "`harm_to` defines its own two metrics"),
            (
                "direction",
                gate.direction.is_some(),
                "`harm_to` covers both directions between the group and each other group",
            ),
            (
                "between",
                gate.between.is_some(),
                "`harm_to` covers both directions between the group and each other group",
            ),
            ("group", gate.group.is_some(), "`harm_to` names the group"),
            ("at_least", gate.at_least.is_some(), "less harm is never worse"),
            ("fall_at_most", gate.fall_at_most.is_some(), "less harm is never worse"),
        ];
        for (key, _, what) in keys.iter().filter(|(_, there, _)| *there) {
            let code = if key.contains('_') { "bad-limit" } else { "bad-scope" };
            let hint = match *key {
                "metric" => "keep one of `metric` and `harm_to`",
                "at_least" => "write `at_most: X`",
                "fall_at_most" => "write `rise_at_most: X`",
                _ => "remove it",
            };
            self.push_problem(code, join(at, key), (*what).to_owned(), hint);
        }
        keys.iter().all(|(_, there, _)| !there)
    }

    /// Complains about an arm that there is not, and about one of another model or set.
    fn arm(&mut self, at: &str, gate: &GateBlock) {
        let Some(arm) = &gate.arm else { return };
        if !self.is_sound(&["experiments"]) {
            return;
        }
        let here = format!("{at}.arm");
        let of = |(name, experiment): (&Name, &ExperimentBlock)| {
            let arms = std::iter::once("base").chain(experiment.arms.names());
            arms.map(|arm| format!("{name}/{arm}")).collect::<Vec<_>>()
        };
        let arms: Vec<String> = self.job.experiments.iter().flat_map(of).collect();
        if !self.check_known(
            "arm",
            here.clone(),
            arm,
            arms.iter().map(String::as_str),
            "unknown-name",
        ) {
            return;
        }
        let Some((name, experiment)) = self
            .job
            .experiments
            .iter()
            .find(|(name, _)| arm.split('/').next() == Some(name.as_str()))
        else {
            return;
        };
        if let Some(model) = gate.model.as_ref().filter(|model| **model != experiment.model) {
            let what = format!(
                "the experiment `{name}` is about the model `{}`, but the gate names `{model}`",
                experiment.model
            );
            self.push_problem(
                "bad-scope",
                here.clone(),
                what,
                format!("write `model: {}`", experiment.model),
            );
        }
        if let Some(set) =
            gate.counterfactual.as_ref().filter(|set| set.as_str() != experiment.from.as_str())
        {
            let what = format!(
                "the arms of `{name}` are measured with the set `{}`, but the gate names \
                 `{set}`",
                experiment.from
            );
            self.push_problem(
                "bad-scope",
                here,
                what,
                format!("write `counterfactual: {}`", experiment.from),
            );
        }
    }

    /// Complains about a gate that is decided by fits, trainings, or by every doubt, where there
    /// are none but people.
    fn gate_doubts(&mut self, at: &str, name: &Name, gate: &GateBlock, metric: &KnownMetric) {
        let sets = self.job.sets();
        let of_gate = gate.counterfactual.as_ref();
        let set = of_gate
            .and_then(|of| sets.iter().find(|(name, _)| name == of.as_str()))
            .map(|(_, set)| *set);
        let has_graphs = set.is_some_and(|set| set.graphs().is_some());
        // What an arm adds is made once, by the fit of the audited set.
        let of_arm = gate.arm.is_some();
        let set_has_fits = set.is_some_and(|set| set.doubt.is_some());
        let has_fits = set_has_fits && !of_arm;
        let by_all = gate.decide_by == GateDecideBy::All;
        let model = gate.model.as_ref().and_then(|model| self.job.models.get(model));
        let is_trained_again = model.is_some_and(|model| model.doubt.is_some());
        let has_trainings = is_trained_again && metric.measured_again;
        if by_all && gate.between == Some(GateBetween::WorstCase) {
            let what = format!(
                "the gate `{name}` is decided by every doubt, but several groups, of which some \
                 differ by chance, are judged by the interval over people"
            );
            let hint = "write `decide_by: interval`, and another gate with `decide_by: training`";
            self.push_problem("no-interval", format!("{at}.decide_by"), what, hint);
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
            let what = format!("the gate `{name}` is decided by every doubt, but {why}");
            let hint = format!("write `decide_by: interval`, or remove `doubt` from the {of}");
            self.push_problem("no-interval", format!("{at}.decide_by"), what, hint);
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
        let what = match gate.decide_by {
            GateDecideBy::Training if !metric.measured_again => format!(
                "the gate `{name}` is decided by trainings, but `{}` is not measured for other \
                 trainings",
                metric.id
            ),
            GateDecideBy::Training => format!(
                "the gate `{name}` is decided by trainings, but its model is not trained again"
            ),
            GateDecideBy::Fit if of_arm => format!(
                "the gate `{name}` is on an arm of an experiment, whose sets are not fitted again"
            ),
            GateDecideBy::Fit => {
                format!("the gate `{name}` is decided by fits, but its set is not fitted again")
            }
            _ => format!(
                "the gate `{name}` is decided by every doubt, but its value has only the interval \
                 over people"
            ),
        };
        let trains = model.is_some_and(ModelBlock::is_trained) && metric.measured_again;
        let hint = if trains && (by_training || by_all && of_arm) {
            "write `decide_by: interval`, or add `doubt: {training: 5, resample: true}` to the \
             model"
        } else if by_training || of_arm || set.is_none_or(|set| set.knobs().is_none()) {
            "write `decide_by: interval`"
        } else {
            "write `decide_by: interval`, or add `doubt: {fit: 20}` to the set"
        };
        self.push_problem("no-interval", format!("{at}.decide_by"), what, hint);
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
            let what = format!("the gate `{name}` is decided by {by} no error rate to control");
            self.push_problem(
                "no-interval",
                here,
                what,
                "write `decide_by: interval`, or remove `family_error`",
            );
            return;
        }
        let everybody = gate.direction.is_none()
            && gate.between.as_ref().is_none_or(|b| *b == GateBetween::WorstCase)
            && gate.group.is_none();
        let attributes = if gate.sensitive.is_some() { 1 } else { self.job.data.sensitive.len() };
        if gate.harm_to.is_none()
            && gate.direction != Some(GateDirection::Any)
            && !(everybody && attributes > 1)
            && self.are_names_sound("data.sensitive")
        {
            let what = format!(
                "the gate `{name}` makes one comparison, but `family_error` applies to several"
            );
            self.push_problem(
                "bad-scope",
                here,
                what,
                "write `direction: any`, or remove `family_error`",
            );
        }
    }

    /// Exactly one limit, of the kind that the gate asks about.
    fn limit(&mut self, at: &str, name: &Name, gate: &GateBlock) {
        let values = [("at_most", gate.at_most), ("at_least", gate.at_least)];
        let changes = [("rise_at_most", gate.rise_at_most), ("fall_at_most", gate.fall_at_most)];
        let (asked, others) =
            if gate.against.is_some() { (changes, values) } else { (values, changes) };
        if let Some((key, _)) = others.iter().find(|(_, limit)| limit.is_some()) {
            let (what, hint) = match gate.against {
                Some(_) => (
                    format!("the gate `{name}` judges a change, but `{key}` limits a value"),
                    "write `rise_at_most: X` or `fall_at_most: X`, or remove `against`",
                ),
                None => (
                    format!("`{key}` limits a change, but the gate `{name}` has no baseline"),
                    "add `against: baseline`",
                ),
            };
            self.push_problem("bad-limit", format!("{at}.{key}"), what, hint);
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
                self.push_problem(
                    "bad-limit",
                    at,
                    format!("the gate `{name}` has no limit"),
                    format!("add `{one}: X`{or}"),
                );
            }
            (Some(_), Some(_)) => {
                let hint = "keep one; a band is two gates";
                self.push_problem(
                    "bad-limit",
                    format!("{at}.{other}"),
                    format!("the gate `{name}` has both `{one}` and `{other}`"),
                    hint,
                );
            }
            _ => {}
        }
    }

    /// Complains about a limit outside of what the metric, or a change of it, can be: a percentage
    /// written without its hundredth, for instance.
    fn reachable(&mut self, at: &str, gate: &GateBlock, metric: &KnownMetric) {
        let (least, most) = metric.range;
        let range = match &gate.between {
            // Of what has directions a pair is the difference of its two.
            Some(GateBetween::Pair(_)) if metric.scopes.contains(&GateScope::Direction) => {
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
            let what = format!(
                "the {of} of `{}` {bounds}, so `{key}: {limit}` is always or never met",
                metric.id
            );
            let hint = if hi.is_finite() && (1.0..=100.0).contains(&limit) {
                // By its decimals: 1.013 / 100 is not 0.01013 in binary.
                let share = format!("{limit}e-2").parse().unwrap_or(limit / 100.0);
                format!("for {limit} % or points write `{share}`")
            } else {
                "write a limit within that range".to_owned()
            };
            self.push_problem("bad-limit", format!("{at}.{key}"), what, hint);
        }
    }

    /// Complains about a gate on the fit of knowledge that is not compared.
    fn fit_of_knowledge(&mut self, at: &str, gate: &GateBlock, metric: &KnownMetric) {
        let Some(asked) = gate.counterfactual.as_ref().filter(|_| metric.id == FIT_WORSE) else {
            return;
        };
        let Some((set, scenario)) = asked.as_str().split_once('/') else { return };
        let mut sets = self.job.counterfactuals.iter();
        let graphs = sets.find(|(name, _)| name.as_str() == set).and_then(|(_, set)| set.graphs());
        let Some(graphs) = graphs else { return };
        let (what, hint) = match graphs.fit_reference() {
            None => (
                format!("`{FIT_WORSE}` is measured only if the set `{set}` says so"),
                "add `fit: true` to its block",
            ),
            Some(reference) if reference.as_str() == scenario => (
                format!("the other scenarios of `{set}` are compared with `{scenario}`"),
                "name another scenario; `against` names the one they are compared with",
            ),
            Some(_) => return,
        };
        self.push_problem("not-measured", join(at, "counterfactual"), what, hint);
    }

    /// The label, the set and the family that the metric depends on.
    fn evidence(&mut self, at: &str, gate: &GateBlock, metric: &KnownMetric) {
        let named = self.job.sets();
        let of_graphs = metric.family == MetricFamily::Graph;
        let sets: Vec<&str> = named
            .iter()
            .filter(|(_, set)| !of_graphs || set.graphs().is_some())
            .map(|(name, _)| name.as_str())
            .collect();
        let id = if gate.harm_to.is_some() { "harm_to" } else { metric.id };
        let family = metric.family.as_str();
        let asked = join(at, if gate.harm_to.is_some() { "harm_to" } else { "metric" });
        match (&gate.counterfactual, metric.needs_counterfactual) {
            (Some(_), false) => {
                let what = format!("`{id}` is measured without counterfactuals");
                self.push_problem(
                    "bad-scope",
                    format!("{at}.counterfactual"),
                    what,
                    "remove `counterfactual`",
                );
            }
            (None, true) => {
                let hint = if sets.is_empty() {
                    "add a set under `counterfactuals` and name it here".to_owned()
                } else {
                    format!("add `counterfactual: ...`, one of {}", list(&sets))
                };
                self.push_problem(
                    "missing-key",
                    at,
                    format!("`{id}` needs a counterfactual set, and `{at}` names none"),
                    hint,
                );
            }
            (Some(set), true)
                if of_graphs
                    && !sets.contains(&set.as_str())
                    && named.iter().any(|(name, _)| name == set.as_str()) =>
            {
                let what = format!("`{id}` is about graphs, but the set `{set}` has none");
                let hint = if sets.is_empty() {
                    "choose another metric".to_owned()
                } else {
                    format!("name one of {}", list(&sets))
                };
                self.push_problem("bad-scope", format!("{at}.counterfactual"), what, hint);
            }
            _ => {}
        }
        self.fit_of_knowledge(at, gate, metric);
        let of_amounts = self.job.audits_amounts();
        if of_amounts != (metric.family == MetricFamily::Amounts)
            && !(of_amounts && is_of_amounts(metric))
            && !of_graphs
            && self.is_sound(&["models"])
            && !self.job.models.is_empty()
        {
            let (what, hint) = if of_amounts {
                let what = format!("`{id}` is about decisions or scores, and outcomes are amounts");
                (what, "ask for a metric of the family `amounts`, or for `harm_to`")
            } else {
                let what = format!("`{id}` is about amounts, and no model of the job gives such");
                (what, "ask for a metric of decisions, such as `sr`")
            };
            self.push_problem("not-measured", asked, what, hint);
        } else if metric.by_favourable
            && !of_amounts
            && self.job.data.favourable_side().is_none()
            && self.is_sound(&["data.label", "data.favourable"])
        {
            let what = format!(
                "`{id}` needs the favourable prediction, but the job has neither a label \
                 nor `data.favourable`"
            );
            self.push_problem(
                "needs-label",
                asked,
                what,
                "write `favourable: positive` or `favourable: negative` below `data`",
            );
        } else if metric.needs_label
            && self.job.data.label.column().is_none()
            && self.is_sound(&["data.label"])
        {
            self.push_problem(
                "needs-label",
                asked,
                format!("`{id}` needs a label, but `data.label` is `none`"),
                "choose a metric without labels, or name the label column",
            );
        } else if !of_graphs
            && !of_amounts
            && self.is_sound(&["metrics.families"])
            && let measured = families(self.job, self.catalog)
            && !measured.is_empty()
            && [Some(metric.family),
                metric.also].into_iter().flatten().all(|family| !measured.contains(&family))
            // Without a list of families only this one must be asked for; what else is missing has
            // its own complaint.
            && (self.job.metrics.families.is_some()
                || matches!(metric.family, MetricFamily::Clarify | MetricFamily::Scores))
        {
            let (what, hint) = match &self.job.metrics.families {
                Some(_) => (
                    format!(
                        "`{id}` belongs to the family `{family}`, which is not in \
                         `metrics.families`"
                    ),
                    format!("add `{family}` to `metrics.families`"),
                ),
                None => {
                    let words: Vec<&str> =
                        measured.iter().map(|family| family.as_str()).chain([family]).collect();
                    let what = format!(
                        "`{id}` belongs to the family `{family}`, which is measured only if \
                         `metrics.families` lists it"
                    );
                    (what, format!("write `families: [{}]` below `metrics`", words.join(", ")))
                }
            };
            self.push_problem("not-measured", asked, what, hint);
        } else if let Some(key) = metric.asked_by
            && self.is_sound(&["metrics.clarify"])
        {
            let clarify = self.job.metrics.clarify.as_ref();
            let there = clarify.is_some_and(|c| {
                if key == "strata" { c.strata.is_some() } else { c.flip_test.is_some() }
            });
            if !there {
                let form = if key == "strata" { "strata: COLUMN" } else { "flip_test: {}" };
                let what =
                    format!("`{id}` is measured only if the job has `metrics.clarify.{key}`");
                self.push_problem(
                    "not-measured",
                    asked,
                    what,
                    format!("add `clarify: {{{form}}}` to `metrics`"),
                );
            }
        }
    }
}
