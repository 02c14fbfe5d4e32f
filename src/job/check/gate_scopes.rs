//! Checks which people a gate is about: its direction, pair, group or set, and whether the metric
//! is measured there.

use crate::job::messages as m;
use std::collections::BTreeMap;

use crate::job::blocks::clarify::FavouredGroups;
use crate::job::read::tree::join;
use crate::job::read::word_lists::{all, list};
use crate::job::{GateBetween, GateBlock, MetricFamily, Word};
use crate::metric::Metric;
use crate::metric::asked::GateScope;
use crate::param::ColumnName;

use super::JobChecker;
use super::defaults::families;
use super::gates::MetricGate;
use super::names::{REST, numbered};

impl<'a> JobChecker<'a> {
    /// The key that selects the groups of the metric, and what it names.
    pub(super) fn scope(&mut self, gate: &MetricGate<'_>, mut named: Vec<ColumnName>) {
        let (data, metric, at) = (&self.job.data, gate.metric, gate.at);
        let worst = matches!(gate.between, Some(GateBetween::WorstCase));
        let keys = [
            (GateScope::Direction, "direction", gate.direction.is_some()),
            (GateScope::Pair, "between", gate.between.is_some() && !worst),
            (GateScope::WorstCase, "between", worst),
            (GateScope::Group, "group", gate.group.is_some()),
        ];
        let there = keys.into_iter().filter(|(.., there)| *there);
        let there: Vec<(GateScope, &str)> = there.map(|(scope, key, _)| (scope, key)).collect();
        let by_facets = worst && self.is_by_facets(metric);
        self.say(gate.key("between"), by_facets.then(|| m::worst_case_unmeasured(metric.id)));
        let mut fits = true;
        for (scope, key) in there.iter().filter(|(scope, _)| !metric.scopes().contains(scope)) {
            let form = if *scope == GateScope::WorstCase { "between: worst_case" } else { key };
            let said = match metric.scopes() {
                [GateScope::Total] if metric.min_groups() > 2 => {
                    m::scope_of_any(metric.id, form, metric.id.trim_end_matches("_any"))
                }
                [GateScope::Total] => m::scope_of_total(metric.id, form),
                scopes => m::scope_wrong(metric.id, form, scope_forms(scopes)),
            };
            self.say(gate.key(key), said);
            fits = false;
        }
        if fits && there.len() > 1 {
            let keys: Vec<&str> = there.iter().map(|(_, key)| *key).collect();
            self.say(at, m::scope_two(at, all(&keys)));
        }
        let needs_one = gate.harm_to.is_none() && !metric.scopes().contains(&GateScope::Total);
        let said = || m::scope_none(at, metric.id, scope_forms(metric.scopes()));
        self.say(at, (there.is_empty() && needs_one).then(said));
        if let Some(attribute) = &gate.sensitive
            && self.attribute(gate.key("sensitive"), attribute)
        {
            let other = named.iter().find(|other| *other != attribute);
            let said = other.map(|other| m::scope_sensitive(attribute, other));
            self.say(gate.key("sensitive"), said);
        }
        named.extend(gate.sensitive.clone());
        self.enough_groups(gate, named.first());
        if let Some(GateBetween::Pair(map)) = &gate.between
            && fits
        {
            self.compared(&gate.key("between"), metric, map);
        }
        if let (Some(attribute), Some(name)) = (named.first(), &gate.counterfactual)
            && metric.needs_counterfactual()
            && let Some(changed) = self.set_of(name).and_then(|set| set.sensitive.as_ref())
            && !changed.contains(attribute)
            && [attribute].into_iter().chain(changed).all(|name| data.sensitive.contains_key(name))
        {
            self.say(at, m::scope_not_changed(name, attribute, list(changed)));
        }
    }

    /// Whether a metric of two families is measured by the facets of Clarify only.
    fn is_by_facets(&self, metric: &Metric) -> bool {
        metric.also() == Some(MetricFamily::Clarify) && !families(self.job).contains(&metric.family)
    }

    /// Complains about two groups whose comparison is not measured.
    fn compared(&mut self, at: &str, metric: &Metric, map: &BTreeMap<ColumnName, [Word; 2]>) {
        let Some((attribute, [first, second])) = map.iter().next().filter(|_| map.len() == 1)
        else {
            return;
        };
        let here = join(at, attribute.as_str());
        let groups = self.job.data.groups_of(attribute);
        if self.has_problem(&[&here]) || groups.is_empty() {
            return;
        }
        let is_rest = |group: &Word| group.as_str() == REST && !groups.contains(group);
        // The favoured groups: as the job says, or the reference.
        let clarify = self.job.metrics.clarify.clone().unwrap_or_default();
        let favoured = clarify.favoured_of(attribute, &self.job.data);
        // A metric of two families, only one of which is measured.
        let by_facets = self.is_by_facets(metric);
        if metric.family != MetricFamily::Clarify && !by_facets {
            let measured = groups.len() > 2
                || favoured == Some(FavouredGroups::Rest)
                    && metric.also() == Some(MetricFamily::Clarify);
            let has_rest = is_rest(first) || is_rest(second);
            return self.say(here, (has_rest && !measured).then(|| m::rest_of_two(attribute)));
        }
        let one = match &favoured {
            Some(FavouredGroups::Rest) => REST,
            Some(FavouredGroups::Groups(groups)) => groups.first().map_or("FAVOURED", Word::as_str),
            None => return,
        };
        let is_first = |group: &Word| match &favoured {
            Some(FavouredGroups::Groups(groups)) => groups.contains(group),
            _ => is_rest(group),
        };
        let fits = |a: &Word, b: &Word| is_first(a) && groups.contains(b) && !is_first(b);
        let fits = fits(first, second) || by_facets && fits(second, first);
        let form = format!("[{one}, GROUP]");
        let said = || m::favoured_first(metric.id, first, second, attribute, form);
        self.say(here, (!fits).then(said));
    }

    /// Complains where every attribute that a gate is about has too few groups for the metric.
    fn enough_groups(&mut self, gate: &MetricGate<'_>, named: Option<&ColumnName>) {
        let (data, least) = (&self.job.data, gate.metric.min_groups());
        let is_asked = |name: &&ColumnName| named.is_none_or(|named| named == *name);
        let mut asked = data.sensitive.keys().filter(is_asked).peekable();
        // For groups that only the data determine nothing is reported here.
        let too_few = |name: &ColumnName| (1..least).contains(&data.groups_of(name).len());
        let are_few = asked.peek().is_some() && asked.all(too_few);
        self.say(gate.key("metric"), are_few.then(|| m::groups_few(gate.metric.id, least)));
    }

    /// Checks the set and the groups that a gate names, and returns the attributes.
    pub(super) fn named(&mut self, at: &str, gate: &'a GateBlock) -> Vec<ColumnName> {
        if let Some(set) = &gate.counterfactual {
            self.set_named(&join(at, "counterfactual"), set, gate.model.as_ref());
        }
        let named = gate.named().into_iter();
        named.filter_map(|(key, form, value)| self.people(&join(at, key), form, &value)).collect()
    }

    /// One attribute with the groups it names; returns the attribute if it is declared.
    fn people(
        &mut self,
        at: &str,
        form: &str,
        named: &[(&ColumnName, &[Word])],
    ) -> Option<ColumnName> {
        let &[(attribute, groups)] = named else {
            self.say(at, m::scope_attributes(at, named.len(), form));
            return None;
        };
        let here = join(at, attribute.as_str());
        if !self.attribute(here.as_str(), attribute) {
            return None;
        }
        let declared = self.job.data.groups_of(attribute);
        let rest = |group: &Word| group.as_str() == REST && at.ends_with(".between");
        let places = numbered(here.clone(), groups);
        let places = places.filter(|(_, group)| declared.contains(group) || !rest(group));
        let place = |place: String| if groups.len() > 1 { place } else { here.clone() };
        self.groups_named(attribute, places.map(|(at, group)| (place(at), group)));
        if let [first, second] = groups {
            let said = || m::group_with_itself(first, attribute, form);
            self.say(format!("{here}[1]"), (first == second).then(said));
        }
        Some(attribute.clone())
    }
}

/// The keys that a metric takes, as a job writes them.
fn scope_forms(scopes: &[GateScope]) -> String {
    let forms: Vec<&str> = scopes
        .iter()
        .filter_map(|scope| match scope {
            GateScope::Total => None,
            GateScope::Group => Some("`group: {ATTRIBUTE: GROUP}`"),
            GateScope::Pair => Some("`between: {ATTRIBUTE: [FIRST, SECOND]}`"),
            GateScope::WorstCase => Some("`between: worst_case`"),
            GateScope::Direction => Some("`direction: {ATTRIBUTE: [FROM, TO]}`"),
        })
        .collect();
    let total =
        if scopes.contains(&GateScope::Total) { ", or none of them for all people" } else { "" };
    forms.join(" or ") + total
}
