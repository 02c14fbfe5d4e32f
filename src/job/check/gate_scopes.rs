//! Checks which people a gate is about: its direction, pair, group or set, and whether the metric
//! is measured there.

use crate::job::messages as m;
use std::collections::BTreeMap;

use crate::job::blocks::clarify::FavouredGroups;
use crate::job::read::nearest::{all, list};
use crate::job::read::tree::join;
use crate::job::{GateBetween, GateBlock, MetricFamily, Word};
use crate::metric::Metric;
use crate::metric::asked::GateScope;
use crate::param::ColumnName;

use super::JobChecker;
use super::defaults::families;
use super::names::REST;

impl<'a> JobChecker<'a> {
    /// The key that selects the groups of the metric, and what it names.
    pub(super) fn scope(
        &mut self,
        at: &str,
        gate: &GateBlock,
        metric: &Metric,
        mut named: Vec<ColumnName>,
    ) {
        let data = &self.job.data;
        let keys = [
            (GateScope::Direction, gate.direction.is_some()),
            (GateScope::Pair, matches!(gate.between, Some(GateBetween::Pair(_)))),
            (GateScope::WorstCase, matches!(gate.between, Some(GateBetween::WorstCase))),
            (GateScope::Group, gate.group.is_some()),
        ];
        let mut fits = true;
        if matches!(gate.between, Some(GateBetween::WorstCase)) && self.is_by_facets(metric) {
            self.say(format!("{at}.between"), m::worst_case_unmeasured(metric.id));
        }
        for (scope, _) in
            keys.iter().filter(|(scope, there)| *there && !metric.scopes().contains(scope))
        {
            let key = scope_key(*scope);
            let worst = *scope == GateScope::WorstCase;
            let form = if worst { "between: worst_case" } else { key };
            let said = match metric.scopes() {
                [GateScope::Total] if metric.min_groups() > 2 => {
                    m::scope_of_any(metric.id, form, metric.id.trim_end_matches("_any"))
                }
                [GateScope::Total] => m::scope_of_total(metric.id, form),
                scopes => m::scope_wrong(metric.id, form, scope_forms(scopes)),
            };
            self.say(format!("{at}.{key}"), said);
            fits = false;
        }
        let there: Vec<&str> =
            keys.iter().filter(|(_, there)| *there).map(|(scope, _)| scope_key(*scope)).collect();
        if fits && there.len() > 1 {
            self.say(at, m::scope_two(at, all(&there)));
        }
        if there.is_empty()
            && gate.harm_to.is_none()
            && !metric.scopes().contains(&GateScope::Total)
        {
            self.say(at, m::scope_none(at, metric.id, scope_forms(metric.scopes())));
        }
        if let Some(attribute) = &gate.sensitive
            && self.attribute(format!("{at}.sensitive"), attribute)
            && let Some(other) = named.iter().find(|n| *n != attribute)
        {
            self.say(format!("{at}.sensitive"), m::scope_sensitive(attribute, other));
        }
        named.extend(gate.sensitive.clone());
        self.enough_groups(at, metric, named.first());
        if let Some(GateBetween::Pair(map)) = &gate.between
            && fits
        {
            self.compared(&format!("{at}.between"), metric, map);
        }
        if let (Some(attribute), Some(name)) = (named.first(), &gate.counterfactual)
            && metric.needs_counterfactual()
            && let Some(changed) = self.set_of(name).and_then(|set| set.sensitive.as_ref())
            && !changed.contains(attribute)
            && [attribute].into_iter().chain(changed).all(|of| data.sensitive.contains_key(of))
        {
            self.say(at, m::scope_not_changed(name, attribute, list(changed)));
        }
    }

    /// The groups of an attribute, of which a gate names two in one place; none where there is a
    /// problem with them.
    fn compared_groups(&self, here: &str, attribute: &ColumnName) -> Option<Vec<Word>> {
        let groups = self.job.data.groups_of(attribute);
        (!self.has_problem(&[here]) && !groups.is_empty()).then_some(groups)
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
        let Some(groups) = self.compared_groups(&here, attribute) else { return };
        let is_rest = |group: &Word| group.as_str() == REST && !groups.contains(group);
        // A metric of two families, only one of which is measured.
        let by_facets = self.is_by_facets(metric);
        if metric.family != MetricFamily::Clarify && !by_facets {
            let measured = groups.len() > 2
                || self.favoured_of(attribute) == Some(FavouredGroups::Rest)
                    && metric.also() == Some(MetricFamily::Clarify);
            if (is_rest(first) || is_rest(second)) && !measured {
                self.say(here, m::rest_of_two(attribute));
            }
            return;
        }
        let favoured = self.favoured_of(attribute);
        let one = match &favoured {
            Some(FavouredGroups::Rest) => REST,
            Some(FavouredGroups::Groups(of)) => of.first().map_or("FAVOURED", Word::as_str),
            None => return,
        };
        let is_first = |group: &Word| match &favoured {
            Some(FavouredGroups::Groups(of)) => of.contains(group),
            _ => is_rest(group),
        };
        let fits = |a: &Word, b: &Word| is_first(a) && groups.contains(b) && !is_first(b);
        let (fits, form) =
            (fits(first, second) || by_facets && fits(second, first), format!("[{one}, GROUP]"));
        if !fits {
            self.say(here, m::favoured_first(metric.id, first, second, attribute, form));
        }
    }

    /// Who is favoured, by the job or as the reference.
    fn favoured_of(&self, attribute: &ColumnName) -> Option<FavouredGroups<Word>> {
        self.job.metrics.clarify.clone().unwrap_or_default().favoured_of(attribute, &self.job.data)
    }

    /// Complains where every attribute that a gate is about has too few groups for the metric.
    fn enough_groups(&mut self, at: &str, metric: &Metric, named: Option<&ColumnName>) {
        let data = &self.job.data;
        let asked: Vec<&ColumnName> =
            data.sensitive.keys().filter(|name| named.is_none_or(|named| named == *name)).collect();
        // Groups that only the data can tell are none here.
        let too_few =
            |name: &ColumnName| (1..metric.min_groups()).contains(&data.groups_of(name).len());
        if !asked.is_empty() && asked.into_iter().all(too_few) {
            self.say(format!("{at}.metric"), m::groups_few(metric.id, metric.min_groups()));
        }
    }

    /// Checks the set and the groups that a gate names, and gives the attributes back.
    pub(super) fn named(&mut self, at: &str, gate: &'a GateBlock) -> Vec<ColumnName> {
        if let Some(set) = &gate.counterfactual {
            self.set_named(&format!("{at}.counterfactual"), set, gate.model.as_ref());
        }
        let named = gate.named().into_iter();
        named.filter_map(|(key, form, of)| self.people(&format!("{at}.{key}"), form, &of)).collect()
    }

    /// One attribute with the groups it names; gives the attribute back where it is declared.
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
        let rest = |group: &Word| group.as_str() == REST && at.ends_with(".between");
        let places = groups.iter().enumerate().filter(|(_, group)| {
            let is_group = self.job.data.groups_of(attribute).contains(group);
            is_group || !rest(group)
        });
        let place = |i| if groups.len() > 1 { format!("{here}[{i}]") } else { here.clone() };
        let places: Vec<_> = places.map(|(i, group)| (place(i), group)).collect();
        self.groups_named(attribute, places);
        if let [first, second] = groups
            && first == second
        {
            self.say(format!("{here}[1]"), m::group_with_itself(first, attribute, form));
        }
        Some(attribute.clone())
    }
}

fn scope_key(scope: GateScope) -> &'static str {
    match scope {
        GateScope::Total => "",
        GateScope::Group => "group",
        GateScope::Pair | GateScope::WorstCase => "between",
        GateScope::Direction => "direction",
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
