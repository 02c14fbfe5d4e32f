//! Groups as they are and as they are compared: each, all others of each, and everybody; and the
//! scopes in which metrics of one group and of two have values.

use rayon::prelude::*;

use crate::metric::scope::{GroupSelection, MetricScope};
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::{GapTransform, Metric, MetricFamily};

/// What is known about each group, about all others of each, and about everybody.
pub(crate) struct GroupSubjects<S> {
    pub(crate) groups: Vec<S>,
    /// With two groups the other one; none where they are not asked for.
    pub(crate) rests: Vec<S>,
    pub(crate) all: S,
}

impl<S: Send> GroupSubjects<S> {
    /// For this number of groups, with all others of each where `with_rests`.
    pub(crate) fn new(
        groups: usize,
        with_rests: bool,
        of: impl Fn(GroupSelection) -> S + Sync + Send,
    ) -> Self {
        let each = |who: fn(usize) -> GroupSelection, n: usize| {
            (0..n).into_par_iter().map(|group| of(who(group))).collect()
        };
        GroupSubjects {
            groups: each(GroupSelection::One, groups),
            rests: each(GroupSelection::Rest, if with_rests { groups } else { 0 }),
            all: of(GroupSelection::All),
        }
    }
}

impl<S> GroupSubjects<S> {
    /// The subject of some people.
    pub(crate) fn of(&self, who: GroupSelection) -> &S {
        match who {
            GroupSelection::One(group) => &self.groups[group],
            GroupSelection::Rest(group) => &self.rests[group],
            GroupSelection::All => &self.all,
        }
    }

    /// The scopes of one subject: each group, then all together.
    pub(crate) fn singles(&self) -> Vec<MetricScope> {
        (0..self.groups.len()).map(MetricScope::Group).chain([MetricScope::Total]).collect()
    }

    /// The subject of one of these scopes.
    pub(crate) fn single(&self, scope: MetricScope) -> &S {
        self.of(scope.first_group().map_or(GroupSelection::All, GroupSelection::One))
    }

    /// The scopes of two subjects: each pair, and with more than two groups each and all others;
    /// of ratios in both orders.
    pub(crate) fn comparisons(&self, by: GapTransform) -> Vec<MetricScope> {
        let n = self.groups.len();
        let of_group = |a: usize| {
            let rest = (n > 2).then_some(MetricScope::OneVsRest(a));
            (a + 1..n).map(move |b| MetricScope::Pair(a, b)).chain(rest)
        };
        let orders = |scope: MetricScope| [Some(scope), by.has_order().then(|| scope.turned())];
        (0..n).flat_map(of_group).flat_map(orders).flatten().collect()
    }

    /// The two subjects that a scope compares, all others of a group where it has no name.
    pub(crate) fn compared(&self, scope: MetricScope) -> [&S; 2] {
        scope.sides().map(|who| self.of(who))
    }

    /// What is measured of groups as they are: the metrics of one group in each scope, then those
    /// of two but the distances to all, of the families that are asked for.
    pub(crate) fn measured<T: Send>(
        &self,
        context: &MeasureContext<'_>,
        single: impl Fn(&'static Metric, MetricScope, &S) -> T + Sync + Send,
        gap: impl Fn(&'static Metric, MetricScope, [&S; 2]) -> T + Sync + Send,
    ) -> Vec<T>
    where
        S: Sync,
    {
        let mut all = context.of_each(MetricFamily::Performance, |metric| {
            let value = |scope| single(metric, scope, self.single(scope));
            self.singles().into_iter().map(value).collect()
        });
        all.extend(context.of_each(MetricFamily::Group, |metric| {
            let by = metric.transform().filter(|by| *by != GapTransform::ToTotal);
            let scopes = by.into_iter().flat_map(|by| self.comparisons(by));
            scopes.map(|scope| gap(metric, scope, self.compared(scope))).collect()
        }));
        all
    }
}
