//! The most unfair subgroups with all that their people can do, both groups side by side, and the
//! tables of the others.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;

use crate::report::draw::plot::round_up;
use crate::report::page::number::{self, NumberFormat, value_text};
use crate::report::page::words::short;
use crate::report::read::audit::AuditFolder;
use crate::report::section::recourse::outcome::ComparisonOutcome;
use crate::report::section::recourse::views::{DefinitionView, groups_of};
use crate::table::recourse::{ActionRow, ComparativeRow, SubgroupRow};
use crate::text::fact;

/// Subgroups that are reported with all their actions.
const CARDS: usize = 6;

/// Subgroups of one definition in a table.
const ROWS: usize = 20;

/// Comparisons on one page.
pub(super) const COMPARISONS_AT_MOST: usize = 6;

/// How many people of a subgroup the ways up to each cost help.
pub(crate) struct SubgroupCurves<'a> {
    /// The two groups.
    pub(crate) names: [&'a str; 2],
    /// Affected people of each.
    pub(crate) n: [i64; 2],
    /// Costs, rising, and how many of each group the ways up to that cost help.
    pub(crate) steps: Vec<(f64, [i64; 2])>,
}

impl SubgroupCurves<'_> {
    /// The share of a group that a step helps.
    pub(crate) fn share(&self, step: usize, g: usize) -> f64 {
        self.steps.get(step).map_or(0.0, |(_, k)| k[g] as f64 / self.n[g].max(1) as f64)
    }

    /// The curves up to a cost, with these names at their ends; `reach_curves` of `charts.html`
    /// draws them.
    pub(crate) fn facts(&self, most: f64, names: [String; 2], target: Option<f64>) -> Value {
        let last = self.steps.len().saturating_sub(1);
        let ends = [0, 1].map(|g| {
            let share = self.share(last, g);
            (share, format!("{} {}", names[g], value_text(NumberFormat::Share, share, None)))
        });
        let told = [0, 1].map(|g| {
            let helped = self.steps.last().map_or(0, |(_, helped)| helped[g]);
            format!("{} ({})", ends[g].1, number::of(helped, self.n[g]))
        });
        let steps = self.steps.iter().enumerate();
        let steps: Vec<(f64, [f64; 2])> =
            steps.map(|(i, (cost, _))| (*cost, [0, 1].map(|g| self.share(i, g)))).collect();
        context!(steps => fact(&steps), most, ends => fact(&ends), target, told => told.join("; "))
    }
}

/// The cost at which axes end: the highest of the curves, rounded up.
pub(crate) fn end_of<'a>(curves: impl IntoIterator<Item = &'a SubgroupCurves<'a>>) -> f64 {
    let last = curves.into_iter().filter_map(|curves| curves.steps.last());
    round_up(last.map(|step| step.0).fold(0.0, f64::max))
}

impl<'a> DefinitionView<'a> {
    /// The subgroups that are shown, best place first.
    fn shown(&self, most: usize) -> Vec<&'a SubgroupRow> {
        let is_own = |row: &&SubgroupRow| {
            row.pair == self.comparison.pair && row.criterion == self.row.criterion
        };
        let mut rows: Vec<_> = self.audit.recourse.subgroups.iter().filter(is_own).collect();
        rows.sort_by_key(|row| row.place);
        rows.truncate(most);
        rows
    }

    /// The lines of a shown subgroup for one group.
    fn lines(&self, subgroup: &SubgroupRow, side: usize) -> Vec<&'a ComparativeRow> {
        let is_own = |row: &&ComparativeRow| {
            Some(row.place) == subgroup.place
                && row.side == side as i64
                && row.criterion == subgroup.criterion
                && row.pair == self.comparison.pair
        };
        self.audit.recourse.comparatives.iter().filter(is_own).collect()
    }

    fn curves(&self, subgroup: &SubgroupRow) -> SubgroupCurves<'a> {
        SubgroupCurves {
            names: groups_of(self.comparison),
            n: [subgroup.n_0, subgroup.n_1],
            steps: self.steps(subgroup, self.view()),
        }
    }

    /// The facts of a subgroup wherever it is shown; `own` are those of the place.
    fn subgroup_facts(&self, subgroup: &SubgroupRow, own: Value) -> Value {
        context! {
            row => fact(subgroup), place => subgroup.place.unwrap_or(0),
            traits => self.audit.manifest.with_code_names(&subgroup.traits),
            values => [0, 1].map(|g| self.value(subgroup, g)).to_vec(),
            score => self.score(subgroup), own,
        }
    }

    /// The facts of these subgroups together.
    fn together(&self, rows: &[&SubgroupRow]) -> Value {
        context! {
            view => self.facts(), unfair => self.row.unfair, judged => self.row.judged,
            chance => rows.iter().any(|row| row.p_value.is_some()),
            target => self.target_share().is_some(),
        }
    }

    /// The most unfair subgroups with all that they can do, both groups side by side, and their
    /// curves; none where there is none.
    pub(super) fn cards(&self) -> Option<Value> {
        let rows = self.shown(CARDS);
        let curves: Vec<SubgroupCurves<'_>> = rows.iter().map(|of| self.curves(of)).collect();
        let end = end_of(&curves);
        let card = |(of, curves): (&&SubgroupRow, &SubgroupCurves<'_>)| {
            let names = curves.names.map(|name| short(name).into_owned());
            let curves = curves.facts(end, names, self.target_share());
            self.subgroup_facts(of, context!(actions => self.actions(of), curves))
        };
        let cards: Value = rows.iter().zip(&curves).map(card).collect();
        (!rows.is_empty()).then(|| context!(of => self.together(&rows), cards))
    }

    /// The actions of a subgroup by cost, then by number.
    fn actions(&self, subgroup: &SubgroupRow) -> Value {
        let mut actions: BTreeMap<i64, &ComparativeRow> = BTreeMap::new();
        for line in [0, 1].into_iter().flat_map(|side| self.lines(subgroup, side)) {
            actions.extend(line.action.map(|action| (action, line)));
        }
        let action = |(action, line): (i64, &ComparativeRow)| {
            let is = |row: &&ActionRow| {
                row.subgroup == subgroup.subgroup
                    && row.action == action
                    && row.pair == self.comparison.pair
            };
            let found = self.audit.recourse.actions.iter().find(is);
            context! {
                changes => self.audit.manifest.with_code_names(&line.changes),
                cost => line.cost.unwrap_or(0.0),
                worked => found.map(|row| vec![row.worked_0, row.worked_1]),
                all => found.map(|row| vec![row.cumulative_0, row.cumulative_1]),
            }
        };
        actions.into_iter().map(action).collect()
    }

    /// The most unfair subgroups as rows, each with what helps most of those who are better off.
    pub(super) fn listing(&self) -> Value {
        let rows = self.shown(ROWS);
        let row = |subgroup: &&SubgroupRow| {
            let better = self.better(subgroup);
            let helping = self.lines(subgroup, better).into_iter().rev();
            let best = helping.filter(|line| line.own.is_some_and(|own| own > 0));
            let helps = best.max_by_key(|line| line.own).map(|line| {
                context! {
                    changes => self.audit.manifest.with_code_names(&line.changes),
                    own => line.own, n => line.n, cost => line.cost.unwrap_or(0.0),
                    group => groups_of(self.comparison)[better],
                }
            });
            self.subgroup_facts(subgroup, Value::from(helps))
        };
        context!(of => self.together(&rows), rows => rows.iter().map(row).collect::<Value>())
    }
}

/// A subgroup in which the way to the favourable decision is harder for one group.
pub(crate) struct UnfairSubgroup<'a> {
    /// What its people share, codes by their names.
    pub(crate) traits: String,
    /// People who are helped, by cost.
    pub(crate) curves: SubgroupCurves<'a>,
    /// The cost at which the group that is better off reaches what the definition asks for; none
    /// where it never does, or where the definition asks for no share.
    pub(crate) cost: Option<f64>,
}

/// The most unfair subgroups of a comparison, where people and chance allow a conclusion.
pub(crate) struct UnfairSubgroups<'a> {
    /// The block of the job.
    pub(crate) recourse: &'a str,
    /// The subgroups, worst first.
    pub(crate) subgroups: Vec<UnfairSubgroup<'a>>,
}

/// The most unfair subgroups of each comparison that allows a conclusion, at most this many of
/// each.
pub(crate) fn unfair_subgroups(audit: &AuditFolder, most: usize) -> Vec<UnfairSubgroups<'_>> {
    let comparisons = audit.recourse.comparisons.iter().take(COMPARISONS_AT_MOST);
    let outcomes = comparisons.filter_map(|of| ComparisonOutcome::of(audit, of));
    let told = outcomes.filter(|of| !of.too_few() && !of.none_beyond_chance());
    let found = told.map(|outcome| {
        let way = outcome.first;
        let one = |subgroup: &SubgroupRow| {
            let costs = [subgroup.value_0, subgroup.value_1].into_iter().flatten();
            let least = costs.filter(|cost| cost.is_finite()).reduce(f64::min);
            UnfairSubgroup {
                traits: audit.manifest.with_code_names(&subgroup.traits),
                curves: way.curves(subgroup),
                cost: least.filter(|_| way.definition() == "equal-cost-of-effectiveness"),
            }
        };
        let subgroups = way.shown(most).into_iter().map(one).collect();
        UnfairSubgroups { recourse: way.comparison.pair.recourse.as_str(), subgroups }
    });
    found.filter(|of| !of.subgroups.is_empty()).collect()
}
