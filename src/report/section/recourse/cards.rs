//! The most unfair subgroups with all that their people can do, both groups side by side, and the
//! tables of the others.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;

use crate::report::page::number::{NumberFormat, three_digits};
use crate::report::page::words::RichText;
use crate::report::page::{DASH, PageCell, PageTable, ReportRow, number};
use crate::report::read::audit::AuditFolder;
use crate::report::section::recourse::curve::{SubgroupCurves, end_of};
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
    k: usize,
) -> Option<Value> {
    let rows = shown(audit, comparison, way);
    let told: Vec<&SubgroupRow> = rows.into_iter().take(CARDS).collect();
    let curves: Vec<SubgroupCurves<'_>> =
        told.iter().map(|subgroup| curves_of(audit, comparison, way, subgroup)).collect();
    let end = end_of(curves.iter());
    let curves = curves.iter().enumerate();
    let drawings = curves.map(|(i, curves)| curves.drawing(end, &format!("rc{k}-{i}")));
    let table = |subgroup: &&SubgroupRow| {
        let traits = audit.manifest.with_code_names(&subgroup.traits);
        let table = card(audit, comparison, way, subgroup);
        context!(place => subgroup.place.unwrap_or(0), traits, table)
    };
    (!told.is_empty()).then(|| {
        context! {
            by => way.title().to_lowercase(), compares => way.compares(),
            tables => told.iter().map(table).collect::<Value>(),
            infinity => is_of_infinity(&told), drawings => drawings.collect::<Value>(),
            micro => way.view() == "micro", target => way.target_share().is_some(),
        }
    })
}

/// How many people of a subgroup the ways up to each cost help.
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
        place: subgroup.place.unwrap_or(0),
        names: [&comparison.pair.group_0, &comparison.pair.group_1].map(|text| text.as_str()),
        n: [subgroup.n_0, subgroup.n_1],
        steps: own.map(|row| (row.cost, helped(row))).collect(),
        target_share: way.target_share(),
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
) -> PageTable {
    let names = [&comparison.pair.group_0, &comparison.pair.group_1].map(|text| text.as_str());
    let n = [subgroup.n_0, subgroup.n_1];
    let heading = |g: usize| {
        let coverage = [subgroup.coverage_0, subgroup.coverage_1][g];
        RichText::new().name(names[g]).text(format!(
            ": {}, {} of all affected",
            number::people(n[g]),
            NumberFormat::Share.value(coverage)
        ))
    };
    // By cost, then by number: the order of the actions.
    let mut actions: BTreeMap<i64, (String, f64)> = BTreeMap::new();
    for side in [0, 1] {
        for line in lines(audit, subgroup, comparison, side) {
            if let Some(action) = line.action {
                actions.insert(
                    action,
                    (audit.manifest.with_code_names(&line.changes), line.cost.unwrap_or(0.0)),
                );
            }
        }
    }
    let mut rows = Vec::new();
    for (action, (changes, cost)) in &actions {
        let is = |row: &&ActionRow| {
            row.subgroup == subgroup.subgroup
                && row.action == *action
                && row.pair == comparison.pair
        };
        let found = audit.recourse.actions.iter().find(is);
        let cell = |g: usize| {
            let Some(row) = &found else { return PageCell::none() };
            let own = [row.worked_0, row.worked_1][g];
            let share = NumberFormat::Share.value(own as f64 / n[g].max(1) as f64);
            let all = [row.cumulative_0, row.cumulative_1][g];
            let all = (way.view() == "micro")
                .then(|| format!("{} with all that cost no more", number::count(all)));
            PageCell::new(number::of(own, n[g]), std::iter::once(share).chain(all))
        };
        let head = RichText::from("then ").strong(changes.as_str());
        rows.push(ReportRow::new(head, [cell(0), cell(1), three_digits(*cost).into()]));
    }
    let against = subgroup.against.as_str();
    let result = |g: usize| {
        let mut cell = way.value(&audit.recourse, comparison, subgroup, g);
        if names[g] == against {
            cell.main = RichText::new().strong(cell.main.plain());
            cell.small.push("at a disadvantage".into());
        }
        cell
    };
    let (score, reached) = way.score(&audit.recourse, comparison, subgroup);
    let score = PageCell::new(format!("score {score}"), reached);
    rows.push(ReportRow::new(way.compares(), [result(0), result(1), score]));
    PageTable::of_words(["Change".into(), heading(0), heading(1), "Cost".into()], rows)
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
    let by_chance = rows.iter().any(|row| row.p_value.is_some());
    let [a, b] = names.map(|name| RichText::new().name(name));
    let mut head: Vec<RichText> = vec!["If".into(), a, b, "Score".into(), "What helps".into()];
    head.extend(by_chance.then(|| "By chance".into()));
    let row = |subgroup: &SubgroupRow| {
        let mut cells =
            Vec::from([0, 1].map(|g| way.value(&audit.recourse, comparison, subgroup, g)));
        let against = subgroup.against.as_str();
        let (score, reached) = way.score(&audit.recourse, comparison, subgroup);
        let whom = RichText::from("against ").name(against);
        cells.push(PageCell::new(score, std::iter::once(whom).chain(reached)));
        // What helps those who are better off.
        let better = usize::from(names[0] == against);
        cells.push(helps(audit, &lines(audit, subgroup, comparison, better as i64), names[better]));
        if by_chance {
            let p = subgroup.p_value.map(|p| format!("p {}", three_digits(p)));
            let share = subgroup.false_discovery.map(|q| NumberFormat::Share.value(q));
            let false_ones = share.map(|share| format!("false discoveries {share}"));
            cells.push(PageCell::new(p.unwrap_or_else(|| DASH.to_owned()), false_ones));
        }
        let traits = audit.manifest.with_code_names(&subgroup.traits);
        ReportRow::new(format!("{}. {traits}", subgroup.place.unwrap_or(0)), cells)
    };
    context! {
        title => way.title(), compares => way.compares(), unfair => way.row.unfair,
        judged => way.row.judged, infinity => is_of_infinity(&rows),
        table => PageTable::of_words(head, rows.iter().copied().map(row)),
    }
}

/// The action that helps a group most of those listed, of equals the cheapest.
fn helps(audit: &AuditFolder, lines: &[&ComparativeRow], group: &str) -> PageCell {
    let best = lines.iter().filter(|line| line.own.is_some_and(|own| own > 0)).rev();
    let Some(best) = best.max_by_key(|line| line.own) else { return PageCell::none() };
    let cost = three_digits(best.cost.unwrap_or(0.0));
    let helped = number::of(best.own.unwrap_or(0), best.n);
    let small = RichText::new().name(group).text(format!(": {helped}, cost {cost}"));
    PageCell::new(audit.manifest.with_code_names(&best.changes), [small])
}

/// Whether a table has infinite scores.
fn is_of_infinity(rows: &[&SubgroupRow]) -> bool {
    rows.iter().any(|row| row.score.is_some_and(f64::is_infinite))
}
