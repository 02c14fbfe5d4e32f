//! Section "Recourse": for whom it is harder to get out of the unfavourable decision, and what would have to change.
//!
//! One part per pair of groups. First in words whom the model puts at a disadvantage; then the subgroups in the form "if ... then ..." under one
//! definition, both groups side by side with counts, with effectiveness by cost as small drawings; then how often each definition finds
//! either group worse off, with its most unfair subgroups; at the end what people may change, and what not. The definition that is told first is equal
//! cost of effectiveness with the largest share, in the macro view, where the job judges it: of all it is the nearest to "is there a way out".

mod curve;
mod read;

use std::collections::BTreeMap;

pub(super) use read::Tables;

use crate::report::folder::Audit;
use crate::report::number::{self, Kind, three};
use crate::report::page::{Block, Cell, Figure, Row, Section, Table};
use crate::report::recourse::curve::{Curves, end_of};
use crate::report::recourse::read::{of, question};
use crate::report::words::Words;
use crate::table::Record;

/// Subgroups that are told with all their actions.
const CARDS: usize = 6;

/// Subgroups of one definition in a table.
const ROWS: usize = 20;

/// Comparisons on one page.
const COMPARISONS_AT_MOST: usize = 6;

/// The section; none where the job asks for no recourse.
pub(super) fn section(audit: &Audit) -> Option<Section> {
    let all: Vec<Record<'_>> = audit.recourse.comparisons.records().collect();
    if all.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Text(
        "People with the unfavourable decision who share some traits are a subgroup. What would they have to change to get the favourable \
         one, and is that harder for one group than for the other, though their traits are the same?"
            .into(),
    )];
    let mut told: Vec<&str> = Vec::new();
    for (k, comparison) in all.iter().take(COMPARISONS_AT_MOST).enumerate() {
        let title = Words::new()
            .name(comparison.text("group_0"))
            .text(" compared with ")
            .name(comparison.text("group_1"))
            .text(", model ")
            .name(comparison.text("model"));
        blocks.push(Block::Heading(format!("recourse-{k}"), title));
        if comparison.text("undefined").is_empty() {
            blocks.extend(part(audit, comparison, k));
        } else {
            blocks
                .push(Block::Text("Nobody of one of the two groups has the unfavourable decision, so there is nothing to compare.".into()));
        }
        let last = all.get(k + 1).is_none_or(|next| next.text("recourse") != comparison.text("recourse"));
        if last && !told.contains(&comparison.text("recourse")) {
            told.push(comparison.text("recourse"));
            blocks.extend(rules(audit, comparison.text("recourse")));
        }
    }
    if all.len() > COMPARISONS_AT_MOST {
        let rest = all.len() - COMPARISONS_AT_MOST;
        blocks
            .push(Block::Note(format!("{rest} more comparisons are only in tables/recourse.parquet and tables/subgroups.parquet.").into()));
    }
    blocks.push(Block::Note(
        "After Fairness Aware Counterfactuals for Subgroups (FACTS). Subgroups overlap, so their number is no number of people, and small ones \
         differ by chance alone: look at the counts. An action counts where enough people with the favourable decision have the levels \
         that it leads to. Bins are (lo, hi]: the lower edge is outside, but for that of the lowest. All subgroups and actions are in \
         tables/subgroups.parquet and tables/actions.parquet."
            .into(),
    ));
    Some(Section { id: "recourse", title: "Recourse: who has a way out", blocks })
}

/// A sentence for the findings: whom the comparison with the largest share of unfair subgroups puts at a disadvantage.
pub(super) fn finding(audit: &Audit) -> Option<Words> {
    let judged = audit.recourse.comparisons.records().filter(|row| row.text("undefined").is_empty());
    let chosen = judged.filter_map(|comparison| chosen(audit, &comparison).map(|chosen| (comparison, chosen)));
    let share = |chosen: &Record<'_>| int(chosen, "unfair") as f64 / int(chosen, "judged").max(1) as f64;
    // Of equals the first.
    let (comparison, chosen) = chosen.reduce(|a, b| if share(&b.1) > share(&a.1) { b } else { a })?;
    Some(harder(&comparison, &chosen).text(" ").link("See recourse", "recourse", "Recourse"))
}

/// A definition in a view, as a heading.
fn title([definition, parameter, view]: [&str; 3]) -> String {
    let share = || parameter.parse::<f64>().map_or_else(|_| parameter.to_owned(), |share| Kind::Share.value(share));
    let cost = || parameter.parse::<f64>().map_or_else(|_| parameter.to_owned(), three);
    let name = match definition {
        "equal-effectiveness" => "Equal effectiveness".to_owned(),
        "equal-choice" => format!("Equal choice, {}", share()),
        "equal-effectiveness-within-budget" => format!("Equal effectiveness within budget {}", cost()),
        "equal-cost-of-effectiveness" => format!("Equal cost of effectiveness, {}", share()),
        "fair-trade-off" => "Fair trade-off".to_owned(),
        "equal-conditional-mean-recourse" => "Equal conditional mean recourse".to_owned(),
        "mean-recourse" => "Equal mean recourse".to_owned(),
        other => other.to_owned(),
    };
    // Two definitions have one view only.
    match definition {
        "equal-choice" | "equal-conditional-mean-recourse" | "mean-recourse" => name,
        _ => format!("{name}, {view}"),
    }
}

/// What a definition compares.
fn compares([definition, parameter, view]: [&str; 3]) -> String {
    let share = || parameter.parse::<f64>().map_or_else(|_| parameter.to_owned(), |share| Kind::Share.value(share));
    let by = if view == "macro" { "by one action for all" } else { "by any action, each person the one that helps" };
    match definition {
        "equal-effectiveness" => format!("share helped {by}, at whatever cost"),
        "equal-choice" => format!("number of actions that help {} of the group", share()),
        "equal-effectiveness-within-budget" => format!("share helped {by} within the budget"),
        "equal-cost-of-effectiveness" => format!("lowest cost at which {} are helped {by}", share()),
        "fair-trade-off" => format!("share helped {by}, at the cost where the two are furthest apart"),
        "equal-conditional-mean-recourse" => "mean lowest cost of those who can be helped at all".to_owned(),
        "mean-recourse" => "mean lowest cost, where people without a way out count with a fixed one".to_owned(),
        _ => String::new(),
    }
}

/// Whether values are shares of people, costs, or numbers of actions.
fn is_share(definition: &str) -> bool {
    matches!(definition, "equal-effectiveness" | "equal-effectiveness-within-budget" | "fair-trade-off")
}

/// The definition that is told first.
fn chosen<'a>(audit: &'a Audit, comparison: &Record<'_>) -> Option<Record<'a>> {
    let rows = || audit.recourse.analysis.records().filter(|row| of(row, comparison));
    let share = |row: &Record<'_>| row.text("parameter").parse::<f64>().unwrap_or(0.0);
    let of_cost = rows().filter(|row| row.text("definition") == "equal-cost-of-effectiveness");
    let best = of_cost.max_by(|a, b| share(a).total_cmp(&share(b)).then_with(|| b.text("view").cmp(a.text("view"))));
    best.or_else(|| rows().max_by_key(|row| row.int("unfair")))
}

fn int(row: &Record<'_>, column: &str) -> i64 {
    row.int(column).unwrap_or(0)
}

fn count(row: &Record<'_>, column: &str) -> String {
    number::count(int(row, column))
}

/// For whom it is harder, in one sentence.
fn harder(comparison: &Record<'_>, analysis: &Record<'_>) -> Words {
    let [a, b] = ["group_0", "group_1"].map(|group| comparison.text(group));
    let (unfair_a, unfair_b) = (int(analysis, "unfair_0"), int(analysis, "unfair_1"));
    let judged = count(analysis, "judged");
    let by = format!(" (by {})", title(question(analysis)).to_lowercase());
    if unfair_a + unfair_b == 0 {
        let none = format!("In none of {judged} subgroups the way to the favourable decision is harder for group ");
        return Words::from(none).name(a).text(" or ").name(b).text(format!("{by}."));
    }
    let ([first, second], [n, m]) = if unfair_a >= unfair_b { ([a, b], [unfair_a, unfair_b]) } else { ([b, a], [unfair_b, unfair_a]) };
    Words::from("In ")
        .strong(number::count(n))
        .text(format!(" of {judged} subgroups the way to the favourable decision is harder for group "))
        .name(first)
        .text(format!(", in {} for group ", number::count(m)))
        .name(second)
        .text(by)
        .text(".")
}

/// One pair of groups.
fn part(audit: &Audit, comparison: &Record<'_>, k: usize) -> Vec<Block> {
    let [a, b] = ["group_0", "group_1"].map(|group| comparison.text(group));
    let mut blocks = Vec::new();
    let analysis: Vec<Record<'_>> = audit.recourse.analysis.records().filter(|row| of(row, comparison)).collect();
    let people = Words::from(format!("{} people of group ", count(comparison, "affected_0")))
        .name(a)
        .text(format!(" and {} of group ", count(comparison, "affected_1")))
        .name(b)
        .text(format!(
            " have the unfavourable decision. They make {} subgroups (each at least {} and {} of them); for {} there are actions to try, {} in all.",
            count(comparison, "subgroups"),
            count(comparison, "least_0"),
            count(comparison, "least_1"),
            count(comparison, "subgroups_with_actions"),
            count(comparison, "actions"),
        ));
    let Some(first) = chosen(audit, comparison) else {
        blocks.push(Block::Text(people));
        blocks.push(Block::Text("No subgroup was judged.".into()));
        return blocks;
    };
    blocks.push(Block::Text(harder(comparison, &first).and(over_all(&analysis, a, b))));
    blocks.push(Block::Text(people));
    if ["least_0", "least_1"].into_iter().any(|least| int(comparison, least) < FEW) {
        let few = int(comparison, "least_0").min(int(comparison, "least_1"));
        let words = format!(
            "The smallest subgroups have {few} people of a group, so that one person decides: raise the support to look at larger ones."
        );
        blocks.push(Block::Note(words.into()));
    }
    blocks.extend(cards(audit, comparison, &first, k));
    blocks.push(Block::Table(by_definition(&analysis, a, b)));
    let mut folded = Vec::new();
    for row in &analysis {
        folded.push(Block::Table(listing(audit, comparison, row)));
    }
    blocks.push(Block::Fold("The most unfair subgroups of every definition", folded));
    blocks.extend(agreement(audit, comparison, &analysis));
    blocks
}

/// Below so many people of a group in a subgroup one person decides.
const FEW: i64 = 10;

/// What the definitions say together.
fn over_all(analysis: &[Record<'_>], a: &str, b: &str) -> Words {
    let more = |row: &&Record<'_>, ours: &str, theirs: &str| int(row, ours) > int(row, theirs);
    let against_a = analysis.iter().filter(|row| more(row, "unfair_0", "unfair_1")).count();
    let against_b = analysis.iter().filter(|row| more(row, "unfair_1", "unfair_0")).count();
    Words::from(format!(" Of {} ways to judge, {against_a} find more subgroups where it is harder for group ", analysis.len()))
        .name(a)
        .text(format!(", {against_b} for group "))
        .name(b)
        .text(".")
}

/// Whom each definition puts at a disadvantage.
fn by_definition(analysis: &[Record<'_>], a: &str, b: &str) -> Table {
    let head = vec![
        "Definition".into(),
        "What it compares".into(),
        Words::new().text("Against ").name(a),
        Words::new().text("Against ").name(b),
        "Fair".into(),
        "Of the most unfair tenth".into(),
    ];
    let rows = analysis.iter().map(|row| {
        let judged = int(row, "judged");
        let share = |n: i64| {
            let small = (judged > 0).then(|| Words::from(Kind::Share.value(n as f64 / judged as f64)));
            Cell { main: number::count(n).into(), small: small.into_iter().collect(), ..Cell::default() }
        };
        let top = match int(row, "top") {
            0 => "\u{2013}".into(),
            _ => {
                let main = Words::from(format!("{} against ", count(row, "top_0")))
                    .name(a)
                    .text(format!(", {} against ", count(row, "top_1")))
                    .name(b);
                let arbitrary = int(row, "tied") > int(row, "tied_in_top");
                let tied = format!("its end cuts through {} equals", count(row, "tied"));
                Cell { main, small: arbitrary.then(|| tied.into()).into_iter().collect(), ..Cell::default() }
            }
        };
        let tests = row
            .int("test_rejects")
            .map(|n| format!("its test calls the groups different in {}, one test per subgroup, without correction", number::count(n)));
        let what = Cell { main: compares(question(row)).into(), small: tests.map(Words::from).into_iter().collect(), ..Cell::default() };
        let cells = vec![what, share(int(row, "unfair_0")), share(int(row, "unfair_1")), share(judged - int(row, "unfair")), top];
        Row { id: String::new(), head: title(question(row)).into(), cells }
    });
    let caption = "In how many subgroups each definition finds the way out harder for one group".into();
    Table { caption, head, rows: rows.collect(), prose: true }
}

/// The shown subgroups under one definition, best place first.
fn shown<'a>(audit: &'a Audit, comparison: &Record<'_>, analysis: &Record<'_>) -> Vec<Record<'a>> {
    let asked = question(analysis);
    let mut rows: Vec<Record<'a>> =
        audit.recourse.subgroups.records().filter(|row| of(row, comparison) && question(row) == asked).collect();
    rows.sort_by_key(|row| row.int("place"));
    rows
}

/// A value of a group under a definition.
fn value(row: &Record<'_>, g: usize) -> Cell {
    let (definition, n) = (row.text("definition"), int(row, ["n_0", "n_1"][g]));
    let people = format!("{} people", number::count(n));
    let main = match row.real(["value_0", "value_1"][g]) {
        None => "\u{2013}".to_owned(),
        Some(value) if value.is_infinite() => "no way".to_owned(),
        Some(value) if is_share(definition) => {
            return Cell {
                main: Kind::Share.value(value).into(),
                small: vec![format!("{} of {}", number::count((value * n as f64).round() as i64), number::count(n)).into()],
                ..Cell::default()
            };
        }
        Some(value) if definition == "equal-choice" => format!("{} actions", number::count(value as i64)),
        Some(value) => format!("cost {}", three(value)),
    };
    let small = vec![people.into()];
    Cell { main: main.into(), small, ..Cell::default() }
}

fn score(row: &Record<'_>) -> String {
    match row.real("score") {
        None => "\u{2013}".to_owned(),
        Some(score) if score.is_infinite() => "\u{221e}".to_owned(),
        Some(score) if is_share(row.text("definition")) => Kind::Distance.value(score),
        Some(score) => three(score),
    }
}

/// The lines of a shown subgroup for one group.
fn lines<'a>(audit: &'a Audit, subgroup: &Record<'_>, comparison: &Record<'_>, side: i64) -> Vec<Record<'a>> {
    let asked = question(subgroup);
    let mine = |row: &Record<'_>| {
        row.int("place") == subgroup.int("place") && row.int("side") == Some(side) && question(row) == asked && of(row, comparison)
    };
    audit.recourse.comparatives.records().filter(mine).collect()
}

/// The most unfair subgroups with all that they can do, both groups side by side, and their curves.
fn cards(audit: &Audit, comparison: &Record<'_>, analysis: &Record<'_>, k: usize) -> Vec<Block> {
    let names = ["group_0", "group_1"].map(|group| comparison.text(group));
    let rows = shown(audit, comparison, analysis);
    let told: Vec<Record<'_>> = rows.into_iter().take(audit.thrift.less(CARDS).max(1)).collect();
    if told.is_empty() {
        return Vec::new();
    }
    let asked = question(analysis);
    let mut blocks = vec![Block::Text(
        Words::from("The most unfair subgroups by ")
            .strong(title(asked).to_lowercase())
            .text(format!(" ({}). Cells say how many of the people the change would help.", compares(asked))),
    )];
    for subgroup in &told {
        blocks.push(Block::Table(card(audit, comparison, subgroup, &names)));
    }
    let view = asked[2];
    let wanted = matches!(asked[0], "equal-cost-of-effectiveness" | "equal-choice").then(|| asked[1].parse().ok()).flatten();
    let curves: Vec<Curves<'_>> = told
        .iter()
        .map(|subgroup| {
            let own = audit.recourse.ecd.records().filter(|row| row.int("subgroup") == subgroup.int("subgroup") && of(row, comparison));
            let helped = |row: &Record<'_>| match view {
                "micro" => [int(row, "micro_0"), int(row, "micro_1")],
                _ => [int(row, "macro_0"), int(row, "macro_1")],
            };
            Curves {
                place: int(subgroup, "place"),
                names,
                n: [int(subgroup, "n_0"), int(subgroup, "n_1")],
                steps: own.map(|row| (row.real("cost").unwrap_or(0.0), helped(&row))).collect(),
                wanted,
            }
        })
        .collect();
    let end = end_of(curves.iter());
    let drawings = curves.iter().enumerate().map(|(i, curves)| curves.drawing(end, format!("rc{k}-{i}"))).collect();
    let by = if view == "micro" { "some action" } else { "one action" };
    let caption = Words::from(format!("Share of the people of each subgroup whom {by} of at most this cost helps. Line with dots: "))
        .name(names[0])
        .text("; dashed with rings: ")
        .name(names[1])
        .text(if wanted.is_some() { "; level dashed line: the share that the definition asks for." } else { "." });
    blocks.push(Block::Figure(Figure { drawings, caption, small: true }));
    blocks
}

/// One subgroup: its actions in rows, both groups in columns.
fn card(audit: &Audit, comparison: &Record<'_>, subgroup: &Record<'_>, names: &[&str; 2]) -> Table {
    let asked = question(subgroup);
    let n = [int(subgroup, "n_0"), int(subgroup, "n_1")];
    let heading = |g: usize| {
        let coverage = subgroup.real(["coverage_0", "coverage_1"][g]).unwrap_or(0.0);
        Words::new().name(names[g]).text(format!(": {} people, {} of all affected", number::count(n[g]), Kind::Share.value(coverage)))
    };
    // By cost, then by number: the order of the actions.
    let mut actions: BTreeMap<i64, (String, f64)> = BTreeMap::new();
    for side in [0, 1] {
        for line in lines(audit, subgroup, comparison, side) {
            if let Some(action) = line.int("action") {
                actions.insert(action, (line.text("changes").to_owned(), line.real("cost").unwrap_or(0.0)));
            }
        }
    }
    let mut rows = Vec::new();
    for (action, (changes, cost)) in &actions {
        let is =
            |row: &Record<'_>| row.int("subgroup") == subgroup.int("subgroup") && row.int("action") == Some(*action) && of(row, comparison);
        let found = audit.recourse.actions.records().find(is);
        let cell = |g: usize| {
            let Some(row) = &found else { return "\u{2013}".into() };
            let own = int(row, ["worked_0", "worked_1"][g]);
            let mut small = vec![Words::from(Kind::Share.value(own as f64 / n[g].max(1) as f64))];
            if asked[2] == "micro" {
                let all = int(row, ["cumulative_0", "cumulative_1"][g]);
                small.push(format!("{} with all that cost no more", number::count(all)).into());
            }
            Cell { main: format!("{} of {}", number::count(own), number::count(n[g])).into(), small, ..Cell::default() }
        };
        rows.push(Row {
            id: String::new(),
            head: Words::from("then ").strong(changes.as_str()),
            cells: vec![cell(0), cell(1), three(*cost).into()],
        });
    }
    let against = subgroup.text("against");
    let result = |g: usize| {
        let mut cell = value(subgroup, g);
        if names[g] == against {
            cell.main = Words::new().strong(cell.main.plain());
            cell.small.push("at a disadvantage".into());
        }
        cell
    };
    rows.push(Row {
        id: String::new(),
        head: compares(asked).into(),
        cells: vec![result(0), result(1), Cell { main: score(subgroup).into(), small: vec!["score".into()], ..Cell::default() }],
    });
    let caption = Words::from(format!("{}. If {}", int(subgroup, "place"), subgroup.text("traits")));
    Table { caption, head: vec!["Change".into(), heading(0), heading(1), "Cost".into()], rows, prose: true }
}

/// The most unfair subgroups of one definition.
fn listing(audit: &Audit, comparison: &Record<'_>, analysis: &Record<'_>) -> Table {
    let names = ["group_0", "group_1"].map(|group| comparison.text(group));
    let rows = shown(audit, comparison, analysis);
    let told = rows.len().min(audit.thrift.less(ROWS).max(3));
    let by_chance = rows.iter().any(|row| row.real("p_value").is_some());
    let mut head: Vec<Words> =
        vec!["If".into(), Words::new().name(names[0]), Words::new().name(names[1]), "Score".into(), "What helps".into()];
    head.extend(by_chance.then(|| "By chance".into()));
    let row = |subgroup: &Record<'_>| {
        let mut cells = vec![value(subgroup, 0), value(subgroup, 1)];
        let against = subgroup.text("against");
        let small = Words::new().text("against ").name(against);
        cells.push(Cell { main: score(subgroup).into(), small: vec![small], ..Cell::default() });
        // What helps those who are better off.
        let better = usize::from(names[0] == against);
        cells.push(helps(&lines(audit, subgroup, comparison, better as i64), names[better]));
        if by_chance {
            let main = subgroup.real("p_value").map_or_else(|| "\u{2013}".to_owned(), |p| format!("p {}", three(p)));
            let false_ones = subgroup.real("false_discovery").map(|q| format!("false discoveries {}", Kind::Share.value(q)).into());
            cells.push(Cell { main: main.into(), small: false_ones.into_iter().collect(), ..Cell::default() });
        }
        Row { id: String::new(), head: format!("{}. {}", int(subgroup, "place"), subgroup.text("traits")).into(), cells }
    };
    let caption = format!(
        "{}: {}. {} of {} subgroups are unfair{}",
        title(question(analysis)),
        compares(question(analysis)),
        count(analysis, "unfair"),
        count(analysis, "judged"),
        if told > 0 { format!("; the first {told}, overlapping ones merged") } else { String::new() },
    );
    Table { caption: caption.into(), head, rows: rows.iter().take(told).map(row).collect(), prose: true }
}

/// The action that helps a group most of those listed, of equals the cheapest.
fn helps(lines: &[Record<'_>], group: &str) -> Cell {
    let best = lines.iter().filter(|line| line.int("own").is_some_and(|own| own > 0)).rev().max_by_key(|line| line.int("own"));
    let Some(best) = best else { return "\u{2013}".into() };
    let small = Words::new().name(group).text(format!(
        ": {} of {}, cost {}",
        count(best, "own"),
        count(best, "n"),
        three(best.real("cost").unwrap_or(0.0))
    ));
    Cell { main: best.text("changes").into(), small: vec![small], ..Cell::default() }
}

/// How far the definitions agree.
fn agreement(audit: &Audit, comparison: &Record<'_>, analysis: &[Record<'_>]) -> Option<Block> {
    if analysis.len() < 2 {
        return None;
    }
    let mut values: BTreeMap<([&str; 3], [&str; 3]), f64> = BTreeMap::new();
    for row in audit.recourse.rankings.records().filter(|row| of(row, comparison)) {
        let other = [row.text("by_definition"), row.text("by_parameter"), row.text("by_view")];
        if let Some(value) = row.real("value") {
            values.insert((question(&row), other), value);
        }
    }
    let mut head: Vec<Words> = vec!["Rank 1 by".into()];
    head.extend((1..=analysis.len()).map(|i| Words::from(i.to_string())));
    let rows = analysis.iter().enumerate().map(|(i, row)| {
        let own = question(row);
        let cell = |other: &Record<'_>| -> Cell {
            let value = values.get(&(own, question(other)));
            value.map_or_else(|| "\u{2013}".into(), |value| format!("{value:.3}").into())
        };
        Row { id: String::new(), head: format!("{} {}", i + 1, title(own)).into(), cells: analysis.iter().map(cell).collect() }
    });
    let caption = "Mean rank that the definition of the column gives to the subgroups of rank 1 by that of the row, over its largest rank plus 1: \
                   small where the two agree";
    let table = Table { caption: caption.into(), head, rows: rows.collect(), prose: false };
    Some(Block::Fold("How far the definitions agree", vec![Block::Table(table)]))
}

/// What people may change, and what not.
fn rules(audit: &Audit, recourse: &str) -> Vec<Block> {
    let mine = || audit.recourse.columns.records().filter(|row| row.text("recourse") == recourse);
    let head = ["What may change", "How", "Cost of a change"].map(Words::from).to_vec();
    let row = |row: Record<'_>| {
        let per = match row.text("distance") {
            "positions" => " for each position",
            "range-share" => " times the share of its range",
            "absolute" => " times the difference",
            _ => "",
        };
        let without = int(&row, "missing") + int(&row, "outside");
        let small = (without > 0).then(|| format!("{} people have no value, or one outside of the bins", number::count(without)).into());
        let how = Cell { main: row.text("may_change").into(), small: small.into_iter().collect(), ..Cell::default() };
        let cost = format!("{}{per}", three(row.real("weight").unwrap_or(0.0)));
        Row { id: String::new(), head: Words::new().name(row.text("column")), cells: vec![how, cost.into()] }
    };
    let rows: Vec<Row> = mine().filter(|row| row.int("changes") == Some(1)).map(row).collect();
    let mut still = Words::from("May not change, and so is never advised: ").name(recourse);
    for column in mine().filter(|row| row.int("changes") != Some(1)) {
        still = still.text(", ").name(column.text("column"));
    }
    let caption = Words::from("What people may change by the job, recourse by ").name(recourse);
    vec![Block::Table(Table { caption, head, rows, prose: true }), Block::Text(still.text("."))]
}
