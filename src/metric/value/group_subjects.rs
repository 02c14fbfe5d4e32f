//! The subjects of factual rows: each group, the others of each group, and all people; and the
//! scopes in which metrics of one group and of two have values.

use rayon::prelude::*;

use crate::metric::scope::{GroupSelection, MetricScope};
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::{GapTransform, Metric, MetricFamily};

/// A value for each group, for the others of each group, and for all people.
pub(crate) struct GroupSubjects<S> {
    pub(crate) groups: Vec<S>,
    /// With two groups the other one; empty if these are not requested.
    pub(crate) rests: Vec<S>,
    pub(crate) all: S,
}

impl<S: Send> GroupSubjects<S> {
    /// For a number of groups; `with_rests` says whether the others of each group are needed.
    pub(crate) fn new(
        groups: usize,
        with_rests: bool,
        make: impl Fn(GroupSelection) -> S + Sync + Send,
    ) -> Self {
        let each = |selection: fn(usize) -> GroupSelection, n: usize| {
            (0..n).into_par_iter().map(|group| make(selection(group))).collect()
        };
        GroupSubjects {
            groups: each(GroupSelection::One, groups),
            rests: each(GroupSelection::Rest, if with_rests { groups } else { 0 }),
            all: make(GroupSelection::All),
        }
    }
}

impl<S> GroupSubjects<S> {
    /// The subject of the selected people.
    pub(crate) fn of(&self, selection: GroupSelection) -> &S {
        match selection {
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

    /// The scopes of two subjects: each pair, and with more than two groups each group and the
    /// others; ratios in both orders.
    pub(crate) fn comparisons(&self, by: GapTransform) -> Vec<MetricScope> {
        let n = self.groups.len();
        let of_group = |a: usize| {
            let rest = (n > 2).then_some(MetricScope::OneVsRest(a));
            (a + 1..n).map(move |b| MetricScope::Pair(a, b)).chain(rest)
        };
        let orders = |scope: MetricScope| [Some(scope), by.has_order().then(|| scope.turned())];
        (0..n).flat_map(of_group).flat_map(orders).flatten().collect()
    }

    /// The two subjects that a scope compares; a side without a group is the others.
    pub(crate) fn compared(&self, scope: MetricScope) -> [&S; 2] {
        scope.sides().map(|selection| self.of(selection))
    }

    /// The values of the requested families: the metrics of one group in each scope, then the
    /// metrics of two groups except the distances to all people.
    pub(crate) fn measured<T: Send>(
        &self,
        context: &MeasureContext<'_>,
        single: impl Fn(&'static Metric, MetricScope, &S) -> T + Sync + Send,
        gap: impl Fn(&'static Metric, MetricScope, [&S; 2]) -> T + Sync + Send,
    ) -> Vec<T>
    where
        S: Sync,
    {
        let mut values = context.of_each(MetricFamily::Performance, |metric| {
            let value = |scope| single(metric, scope, self.single(scope));
            self.singles().into_iter().map(value).collect()
        });
        values.extend(context.of_each(MetricFamily::Group, |metric| {
            let by = metric.transform().filter(|by| *by != GapTransform::ToTotal);
            let scopes = by.into_iter().flat_map(|by| self.comparisons(by));
            scopes.map(|scope| gap(metric, scope, self.compared(scope))).collect()
        }));
        values
    }
}
