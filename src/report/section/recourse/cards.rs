//! The most unfair subgroups with all that their people can do, both groups side by side, and the
//! tables of the others.

use std::collections::BTreeMap;

use crate::report::page::number::{NumberFormat, three_digits};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageFigure, PageTable, ReportRow, number};
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
) -> Vec<PageBlock> {
    let names = [&comparison.pair.group_0, &comparison.pair.group_1].map(|text| text.as_str());
    let rows = shown(audit, comparison, way);
    let told: Vec<&SubgroupRow> = rows.into_iter().take(CARDS).collect();
    if told.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![PageBlock::Text(
        RichText::from("The most unfair subgroups by ").strong(way.title().to_lowercase()).text(
            format!(
                " ({}). Cells give the number of people whom the change would help.",
                way.compares()
            ),
        ),
    )];
    for subgroup in &told {
        blocks.push(PageBlock::Table(card(audit, comparison, way, subgroup)));
    }
    blocks.extend(of_infinity(told.iter().copied()));
    let (view, wanted) = (way.view(), way.target_share());
    let curves: Vec<SubgroupCurves<'_>> =
        told.iter().map(|subgroup| curves_of(audit, comparison, way, subgroup)).collect();
    let end = end_of(curves.iter());
    let drawings = curves
        .iter()
        .enumerate()
        .map(|(i, curves)| curves.drawing(end, format!("rc{k}-{i}")))
        .collect();
    let by = if view == "micro" { "some action" } else { "one action" };
    let caption = RichText::from(format!(
        "Share of the people of each subgroup whom {by} of at \
         most this cost helps. Line with dots: "
    ))
    .name(names[0])
    .text("; dashed with rings: ")
    .name(names[1])
    .text(if wanted.is_some() {
        "; level dashed line: the share that the definition asks for."
    } else {
        "."
    });
    blocks.push(PageBlock::Figure(PageFigure { drawings, caption, small: true }));
    blocks
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
            let Some(row) = &found else { return "\u{2013}".into() };
            let own = [row.worked_0, row.worked_1][g];
            let mut small =
                vec![RichText::from(NumberFormat::Share.value(own as f64 / n[g].max(1) as f64))];
            if way.view() == "micro" {
                let all = [row.cumulative_0, row.cumulative_1][g];
                small.push(format!("{} with all that cost no more", number::count(all)).into());
            }
            PageCell {
                main: format!("{} of {}", number::count(own), number::count(n[g])).into(),
                small,
                ..PageCell::default()
            }
        };
        rows.push(ReportRow {
            id: String::new(),
            head: RichText::from("then ").strong(changes.as_str()),
            cells: vec![cell(0), cell(1), three_digits(*cost).into()],
        });
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
    let score = PageCell {
        main: format!("score {score}").into(),
        small: reached.into_iter().collect(),
        ..PageCell::default()
    };
    rows.push(ReportRow {
        id: String::new(),
        head: way.compares().into(),
        cells: vec![result(0), result(1), score],
    });
    let caption = format!(
        "{}. If {}",
        subgroup.place.unwrap_or(0),
        audit.manifest.with_code_names(&subgroup.traits)
    )
    .into();
    PageTable {
        caption,
        head: vec!["Change".into(), heading(0), heading(1), "Cost".into()],
        rows,
        prose: true,
        ..PageTable::default()
    }
}

/// The most unfair subgroups of one definition.
pub(super) fn listing(
    audit: &AuditFolder,
    comparison: &RecourseRow,
    way: &DefinitionView<'_>,
) -> Vec<PageBlock> {
    let names = [&comparison.pair.group_0, &comparison.pair.group_1].map(|text| text.as_str());
    let mut rows = shown(audit, comparison, way);
    rows.truncate(ROWS);
    let by_chance = rows.iter().any(|row| row.p_value.is_some());
    let mut head: Vec<RichText> = vec![
        "If".into(),
        RichText::new().name(names[0]),
        RichText::new().name(names[1]),
        "Score".into(),
        "What helps".into(),
    ];
    head.extend(by_chance.then(|| "By chance".into()));
    let row = |subgroup: &SubgroupRow| {
        let mut cells =
            Vec::from([0, 1].map(|g| way.value(&audit.recourse, comparison, subgroup, g)));
        let against = subgroup.against.as_str();
        let (score, reached) = way.score(&audit.recourse, comparison, subgroup);
        let small =
            [RichText::new().text("against ").name(against)].into_iter().chain(reached).collect();
        cells.push(PageCell { main: score.into(), small, ..PageCell::default() });
        // What helps those who are better off.
        let better = usize::from(names[0] == against);
        cells.push(helps(audit, &lines(audit, subgroup, comparison, better as i64), names[better]));
        if by_chance {
            let main = subgroup
                .p_value
                .map_or_else(|| "\u{2013}".to_owned(), |p| format!("p {}", three_digits(p)));
            let false_ones = subgroup
                .false_discovery
                .map(|q| format!("false discoveries {}", NumberFormat::Share.value(q)).into());
            cells.push(PageCell {
                main: main.into(),
                small: false_ones.into_iter().collect(),
                ..PageCell::default()
            });
        }
        ReportRow {
            id: String::new(),
            head: format!(
                "{}. {}",
                subgroup.place.unwrap_or(0),
                audit.manifest.with_code_names(&subgroup.traits)
            )
            .into(),
            cells,
        }
    };
    let caption = format!(
        "{}: {}. {} of {} are unfair{}",
        way.title(),
        way.compares(),
        number::count(way.row.unfair),
        number::count_of(way.row.judged, "subgroup", "subgroups"),
        match rows.len() {
            0 => String::new(),
            1 => "; the first, overlapping ones merged".to_owned(),
            n => format!("; the first {n}, overlapping ones merged"),
        },
    );
    let table = PageTable {
        caption: caption.into(),
        head,
        rows: rows.iter().copied().map(row).collect(),
        prose: true,
        ..PageTable::default()
    };
    [PageBlock::Table(table)].into_iter().chain(of_infinity(rows.iter().copied())).collect()
}

/// The action that helps a group most of those listed, of equals the cheapest.
fn helps(audit: &AuditFolder, lines: &[&ComparativeRow], group: &str) -> PageCell {
    let best = lines
        .iter()
        .filter(|line| line.own.is_some_and(|own| own > 0))
        .rev()
        .max_by_key(|line| line.own);
    let Some(best) = best else { return "\u{2013}".into() };
    let small = RichText::new().name(group).text(format!(
        ": {} of {}, cost {}",
        number::count(best.own.unwrap_or(0)),
        number::count(best.n),
        three_digits(best.cost.unwrap_or(0.0))
    ));
    let changes = audit.manifest.with_code_names(&best.changes);
    PageCell { main: changes.into(), small: vec![small], ..PageCell::default() }
}

/// What is to be known of a table with infinite scores; nothing of one without.
fn of_infinity<'a>(mut rows: impl Iterator<Item = &'a SubgroupRow>) -> Option<PageBlock> {
    let any = rows.any(|row| row.score.is_some_and(f64::is_infinite));
    let words = "\u{221e} ranks above every number, even if it is based on a single \
                 person. The number of people reached in the group that is better off is \
                 next to it.";
    any.then(|| PageBlock::Note(words.into()))
}
