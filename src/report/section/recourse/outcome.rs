//! The result of a comparison of two groups: which group the model puts at a disadvantage, for how
//! many people, and whether chance explains it. Facts only; the sentences are in `outcome.html`.

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::voice::CalledGroup;
use crate::report::page::number::{self, three_digits};
use crate::report::read::audit::AuditFolder;
use crate::report::read::recourse::{ChanceTests, FALSE_DISCOVERIES, SizeCounts};
use crate::report::section::recourse::views::{DefinitionView, FEW, definition_views};
use crate::table::recourse::RecourseRow;
use crate::text::fact;

/// Why two groups were not compared, and by which numbers; none where they were.
pub(super) fn why_not(comparison: &RecourseRow) -> Option<Value> {
    let code = match comparison.undefined.as_str() {
        "" if comparison.subgroups == 0 => "no_subgroups",
        "" if comparison.subgroups_with_actions == 0 => "no_actions",
        "" => return None,
        code => code,
    };
    Some(context!(code, of => fact(comparison)))
}

/// What a comparison comes to.
pub(super) struct ComparisonOutcome<'a> {
    pub(super) views: Vec<DefinitionView<'a>>,
    /// The view that is shown first.
    pub(super) first: DefinitionView<'a>,
    /// How large the smaller group of its unfair subgroups is.
    smaller: SizeCounts,
    /// How they compare with chance; none where the job asks for no test.
    chance: Option<ChanceTests>,
    /// Views whose test distinguishes an unfair subgroup from chance.
    views_beyond: usize,
    /// Whether no action that was tried helps anybody.
    helps_nobody: bool,
}

impl<'a> ComparisonOutcome<'a> {
    /// The outcome; none where nothing was examined, or no subgroup was judged.
    pub(super) fn of(audit: &'a AuditFolder, comparison: &'a RecourseRow) -> Option<Self> {
        if why_not(comparison).is_some() {
            return None;
        }
        let views = definition_views(audit, comparison);
        let share = |way: &DefinitionView<'_>| way.target_share().unwrap_or(0.0);
        let of_cost = views.iter().filter(|way| way.definition() == "equal-cost-of-effectiveness");
        let best = of_cost
            .max_by(|a, b| share(a).total_cmp(&share(b)).then_with(|| b.view().cmp(a.view())));
        let first = *best.or_else(|| views.iter().max_by_key(|way| way.row.unfair))?;
        let chance =
            |way: &DefinitionView<'_>| audit.recourse.chance(comparison, &way.row.criterion);
        let tests = views.iter().filter_map(chance);
        let views_beyond = tests.filter(|chance| chance.beyond > 0).count();
        let smaller = audit.recourse.smaller(comparison, &first.row.criterion);
        let chance = chance(&first);
        let helps_nobody = audit.recourse.helps_nobody(comparison);
        Some(ComparisonOutcome { views, first, smaller, chance, views_beyond, helps_nobody })
    }

    /// How bad it is among several: above all others one that allows a conclusion about unfair
    /// subgroups, then one with more of them, then one in which nobody can be helped.
    pub(super) fn badness(&self) -> (bool, i64, bool) {
        let unfair = self.first.row.unfair;
        let is_concluded = unfair > 0 && !self.too_few() && !self.none_beyond_chance();
        (is_concluded, unfair, self.helps_nobody)
    }

    /// Whether the unfair subgroups are mostly made of a few people; where there are none, whether
    /// a group is.
    pub(super) fn too_few(&self) -> bool {
        let RecourseRow { affected_0, affected_1, .. } = self.first.comparison;
        self.smaller.median().unwrap_or(*affected_0.min(affected_1) as f64) < FEW as f64
    }

    /// Whether the test of the view shown first distinguishes none of its unfair subgroups from
    /// chance, which does not mean that chance made them.
    pub(super) fn none_beyond_chance(&self) -> bool {
        self.chance.is_some_and(|chance| chance.beyond == 0)
    }

    /// The facts of `outcome.html`; `told`: the groups are called by the job's words.
    pub(super) fn facts(&self, groups: [CalledGroup; 2], told: bool) -> Value {
        let (row, comparison) = (&self.first.row, self.first.comparison);
        let n_views = |holds: fn(i64, i64) -> bool| {
            self.views.iter().filter(|way| holds(way.row.unfair_0, way.row.unfair_1)).count()
        };
        let median = self.smaller.median().map(|median| match median.fract() {
            0.0 => number::people(median as i64),
            _ => format!("{median:.1} people"),
        });
        // No score comes up less often than once in all deals and the real one: how many have the
        // smallest p that this many deals can give, and that p.
        let least = |chance: &ChanceTests| {
            let deals = comparison.deals.filter(|_| chance.beyond == 0)?;
            let is_least = chance.least * (1 + deals) as f64 <= 1.5;
            is_least.then(|| (chance.with_least, deals, three_digits(chance.least)))
        };
        let chance = |of: &ChanceTests| {
            context! {
                level => FALSE_DISCOVERIES, tested => of.tested, beyond => of.beyond,
                views_beyond => self.views_beyond, least => fact(&least(of)),
            }
        };
        let none_beyond_chance = self.none_beyond_chance();
        context! {
            groups => fact(&groups), told, persons => comparison.persons.is_some(),
            too_few => self.too_few(), none_beyond_chance,
            helps_nobody => self.helps_nobody, actions => comparison.actions,
            nothing_beyond_chance => none_beyond_chance && self.views_beyond == 0,
            affected => vec![comparison.affected_0, comparison.affected_1],
            unfair => vec![row.unfair_0, row.unfair_1], judged => row.judged,
            answered => self.first.audit.recourse.answered(comparison, &row.criterion),
            view => self.first.facts(), views => self.views.len(),
            against => vec![n_views(|a, b| a > b), n_views(|a, b| b > a)],
            even => n_views(|a, b| a == b), median, n => self.smaller.n(),
            few => self.smaller.below(FEW), few_below => FEW,
            asked => comparison.deals.is_some(), chance => self.chance.as_ref().map(chance),
        }
    }
}
