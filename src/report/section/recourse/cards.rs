//! The most unfair subgroups with all that their people can do, both groups side by side, and the
//! tables of the others.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::{Serde, Value};

use crate::report::draw::plot::round_up;
use crate::report::draw::reach::{ReachEnd, reach_curves};
use crate::report::page::digits::value_text;
use crate::report::page::number::NumberFormat;
use crate::report::page::words::short;
use crate::report::read::audit::AuditFolder;
use crate::report::section::recourse::outcome::{ComparisonOutcome, why_not};
use crate::report::section::recourse::views::DefinitionView;
use crate::table::recourse::{ActionRow, ComparativeRow, EcdRow, RecourseRow, SubgroupRow};

/// Subgroups that are reported with all their actions.
const CARDS: usize = 6;

/// Subgroups of one definition in a table.
const ROWS: usize = 20;

/// Comparisons on one page.
pub(super) const COMPARISONS_AT_MOST: usize = 6;

/// The shown subgroups under one definition, best place first.
fn shown<'a>(
    audit: &'a AuditFolder,
    comparison: &RecourseRow,
    way: &DefinitionView<'_>,
) -> Vec<&'a SubgroupRow> {
    let mut rows: Vec<&'a SubgroupRow> = audit
        .recourse
        .subgroups
        .iter()
        .filter(|row| row.pair == comparison.pair && row.criterion == way.row.criterion)
        .collect();
    rows.sort_by_key(|row| row.place);
    rows
}

/// The lines of a shown subgroup for one group.
fn lines<'a>(
    audit: &'a AuditFolder,
    subgroup: &SubgroupRow,
    comparison: &RecourseRow,
    side: i64,
) -> Vec<&'a ComparativeRow> {
    let mine = |row: &&ComparativeRow| {
        Some(row.place) == subgroup.place
            && row.side == side
            && row.criterion == subgroup.criterion
            && row.pair == comparison.pair
    };
    audit.recourse.comparatives.iter().filter(mine).collect()
}

/// The most unfair subgroups with all that they can do, both groups side by side, and their curves.
pub(super) fn cards(
    audit: &AuditFolder,
    comparison: &RecourseRow,
    way: &DefinitionView<'_>,
) -> Option<Value> {
    let rows = shown(audit, comparison, way);
    let told: Vec<&SubgroupRow> = rows.into_iter().take(CARDS).collect();
    let curves: Vec<SubgroupCurves<'_>> =
        told.iter().map(|subgroup| curves_of(audit, comparison, way, subgroup)).collect();
    let end = end_of(&curves);
    let drawing = |(of, curves): (&&SubgroupRow, &SubgroupCurves<'_>)| {
        let names = curves.names.map(|name| short(name).into_owned());
        let place = of.place.unwrap_or(0);
        let title = format!("Share helped by cost: {place}");
        context!(place, svg => curves.drawing(&title, end, names, way.target_share()))
    };
    let drawings: Value = told.iter().zip(&curves).map(drawing).collect();
    let card = |subgroup: &&SubgroupRow| card(audit, comparison, way, subgroup);
    (!told.is_empty()).then(|| {
        context! {
            view => way.facts(), cards => told.iter().map(card).collect::<Value>(),
            infinity => is_of_infinity(&told), drawings,
            micro => way.view() == "micro", target => way.target_share().is_some(),
        }
    })
}

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

    /// The curves up to a cost, with these names at their ends.
    pub(crate) fn drawing(
        &self,
        title: &str,
        most: f64,
        names: [String; 2],
        target: Option<f64>,
    ) -> String {
        let last = self.steps.len().saturating_sub(1);
        let end = |g: usize| {
            let share = self.share(last, g);
            let text = format!("{} {}", names[g], value_text(NumberFormat::Share, share, None));
            ReachEnd { share, text }
        };
        let steps = self.steps.iter().enumerate();
        let steps: Vec<(f64, [f64; 2])> =
            steps.map(|(i, (cost, _))| (*cost, [0, 1].map(|g| self.share(i, g)))).collect();
        reach_curves(title, &steps, most, &[end(0), end(1)], target)
    }
}

/// The cost at which axes end: the highest of the curves, rounded up.
pub(crate) fn end_of<'a>(curves: impl IntoIterator<Item = &'a SubgroupCurves<'a>>) -> f64 {
    let last = curves.into_iter().filter_map(|curves| curves.steps.last());
    round_up(last.map(|step| step.0).fold(0.0, f64::max))
}

fn curves_of<'a>(
    audit: &'a AuditFolder,
    comparison: &'a RecourseRow,
    way: &DefinitionView<'_>,
    subgroup: &SubgroupRow,
) -> SubgroupCurves<'a> {
    let own = audit
        .recourse
        .ecd
        .iter()
        .filter(|row| row.subgroup == subgroup.subgroup && row.pair == comparison.pair);
    let helped = |row: &EcdRow| match way.view() {
        "micro" => [row.micro_0, row.micro_1],
        _ => [row.macro_0, row.macro_1],
    };
    SubgroupCurves {
        names: [&comparison.pair.group_0, &comparison.pair.group_1].map(|text| text.as_str()),
        n: [subgroup.n_0, subgroup.n_1],
        steps: own.map(|row| (row.cost, helped(row))).collect(),
    }
}

/// A subgroup in which the way to the favourable decision is harder for one group.
pub(crate) struct UnfairSubgroup<'a> {
    /// What its people share, codes by their names.
    pub(crate) traits: String,
    /// Who is helped by cost.
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

/// The most unfair subgroups of each comparison that allows a conclusion, at most so many of each.
pub(crate) fn unfair_subgroups(audit: &AuditFolder, most: usize) -> Vec<UnfairSubgroups<'_>> {
    let mut found = Vec::new();
    for comparison in audit.recourse.comparisons.iter().take(COMPARISONS_AT_MOST) {
        let of = why_not(comparison).is_none().then(|| ComparisonOutcome::of(audit, comparison));
        let Some(outcome) = of.flatten() else { continue };
        if outcome.too_few() || outcome.none_beyond_chance() {
            continue;
        }
        let way = outcome.first;
        let one = |subgroup: &&SubgroupRow| {
            let costs = [subgroup.value_0, subgroup.value_1].into_iter().flatten();
            let least = costs.filter(|cost| cost.is_finite()).reduce(f64::min);
            UnfairSubgroup {
                traits: audit.manifest.with_code_names(&subgroup.traits),
                curves: curves_of(audit, comparison, &way, subgroup),
                cost: least.filter(|_| way.definition() == "equal-cost-of-effectiveness"),
            }
        };
        let rows = shown(audit, comparison, &way);
        let subgroups: Vec<_> = rows.iter().take(most).map(one).collect();
        if !subgroups.is_empty() {
            found.push(UnfairSubgroups { recourse: comparison.pair.recourse.as_str(), subgroups });
        }
    }
    found
}

/// One subgroup: its actions in rows, both groups in columns.
fn card(
    audit: &AuditFolder,
    comparison: &RecourseRow,
    way: &DefinitionView<'_>,
    subgroup: &SubgroupRow,
) -> Value {
    // By cost, then by number: the order of the actions.
    let mut actions: BTreeMap<i64, (String, f64)> = BTreeMap::new();
    for line in [0, 1].into_iter().flat_map(|side| lines(audit, subgroup, comparison, side)) {
        if let Some(action) = line.action {
            let changes = audit.manifest.with_code_names(&line.changes);
            actions.insert(action, (changes, line.cost.unwrap_or(0.0)));
        }
    }
    let action = |(action, (changes, cost)): (i64, (String, f64))| {
        let is = |row: &&ActionRow| {
            row.subgroup == subgroup.subgroup && row.action == action && row.pair == comparison.pair
        };
        let found = audit.recourse.actions.iter().find(is);
        let worked = found.map(|row| vec![row.worked_0, row.worked_1]);
        let all = found.map(|row| vec![row.cumulative_0, row.cumulative_1]);
        context!(changes, cost, worked, all)
    };
    let names = [&comparison.pair.group_0, &comparison.pair.group_1];
    let value = |g| way.value(&audit.recourse, comparison, subgroup, g);
    context! {
        place => subgroup.place.unwrap_or(0),
        traits => audit.manifest.with_code_names(&subgroup.traits),
        n => vec![subgroup.n_0, subgroup.n_1],
        coverage => vec![subgroup.coverage_0, subgroup.coverage_1],
        actions => actions.into_iter().map(action).collect::<Value>(),
        values => vec![value(0), value(1)],
        against => names.iter().position(|name| **name == subgroup.against),
        score => way.score(&audit.recourse, comparison, subgroup),
    }
}

/// The most unfair subgroups of one definition.
pub(super) fn listing(
    audit: &AuditFolder,
    comparison: &RecourseRow,
    way: &DefinitionView<'_>,
) -> Value {
    let names = [&comparison.pair.group_0, &comparison.pair.group_1].map(|text| text.as_str());
    let mut rows = shown(audit, comparison, way);
    rows.truncate(ROWS);
    let row = |subgroup: &&SubgroupRow| {
        let value = |g| way.value(&audit.recourse, comparison, subgroup, g);
        // What helps those who are better off.
        let better = usize::from(names[0] == subgroup.against.as_str());
        let helping = lines(audit, subgroup, comparison, better as i64).into_iter().rev();
        let best = helping.filter(|line| line.own.is_some_and(|own| own > 0));
        let helps = best.max_by_key(|line| line.own).map(|line| {
            let changes = audit.manifest.with_code_names(&line.changes);
            context!(changes, own => line.own, n => line.n, cost => line.cost.unwrap_or(0.0))
        });
        context! {
            row => Value::from(Serde(subgroup)), values => vec![value(0), value(1)],
            traits => audit.manifest.with_code_names(&subgroup.traits),
            place => subgroup.place.unwrap_or(0), better => names[better], helps,
            score => way.score(&audit.recourse, comparison, subgroup),
        }
    };
    context! {
        view => way.facts(), unfair => way.row.unfair, judged => way.row.judged,
        infinity => is_of_infinity(&rows), chance => rows.iter().any(|row| row.p_value.is_some()),
        rows => rows.iter().map(row).collect::<Value>(),
    }
}

fn is_of_infinity(rows: &[&SubgroupRow]) -> bool {
    rows.iter().any(|row| row.score.is_some_and(f64::is_infinite))
}
