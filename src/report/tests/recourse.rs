//! The section on recourse: its tables as small hand-made ones, and what the page says of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{FolderSample, glossary, section, two_groups, well_formed};
use crate::report::render;
use crate::table::file::{read_frame, write_frame};
use crate::table::recourse::{
    ACTIONS, AGGREGATED_RANKINGS, COMPARATIVES, ECD, RANKING_ANALYSIS, RECOURSE, RECOURSE_COLUMNS,
    SUBGROUPS, UNFAIR_SUBGROUPS,
};
use crate::table::{ColumnType, GATES, TableCell, TableDef, TableFrame};

/// Tables of recourse: each of these groups is compared with the group m.
struct RecourseSample {
    groups: Vec<String>,
    /// Affected people of each group in the five judged subgroups.
    sizes: [[i64; 2]; 5],
    /// What the test against chance says of each; none where the job asks for no test.
    false_discoveries: Option<f64>,
    /// The p-value of each that is tested, by 999 deals.
    p_value: f64,
}

const COST: &str = "equal-cost-of-effectiveness";
const EFFECT: &str = "equal-effectiveness";

/// Adds a row; what is not named is 0, empty, or null where it may be.
fn push(frame: &mut TableFrame, named: &[(&str, TableCell)]) {
    let named: BTreeMap<&str, &TableCell> =
        named.iter().map(|(name, cell)| (*name, cell)).collect();
    assert!(named.keys().all(|name| frame.def.column(name).is_some()), "{named:?}");
    let cell = |column: &crate::table::ColumnDef| match named.get(column.name) {
        Some(cell) => (*cell).clone(),
        None if column.nullable => TableCell::Null,
        None if column.kind == ColumnType::Int => TableCell::Int(0),
        None if column.kind == ColumnType::Real => TableCell::Real(0.0),
        None => "".into(),
    };
    frame.push(frame.def.columns.iter().map(cell).collect());
}

impl RecourseSample {
    /// Few people: 2, 3 and 4 in the smaller group of the unfair subgroups.
    fn few() -> RecourseSample {
        RecourseSample {
            groups: vec!["f".to_owned()],
            sizes: [[2, 5], [5, 3], [4, 5], [12, 20], [30, 40]],
            false_discoveries: None,
            p_value: 0.5,
        }
    }

    fn write(&self, tables: &Path) {
        let defs: [&'static TableDef; 8] = [
            &RECOURSE,
            &RECOURSE_COLUMNS,
            &SUBGROUPS,
            &RANKING_ANALYSIS,
            &ECD,
            &COMPARATIVES,
            &ACTIONS,
            &AGGREGATED_RANKINGS,
        ];
        let mut frames = defs.map(TableFrame::new);
        let [recourse, columns, subgroups, analysis, ecd, comparatives, actions, rankings] =
            &mut frames;
        for (column, changes) in [("job", 1), ("town", 0)] {
            let rule = if changes == 1 { "freely" } else { "never" };
            let named = [
                ("recourse", "sex".into()),
                ("column", column.into()),
                ("changes", TableCell::Int(changes)),
                ("may_change", rule.into()),
            ];
            push(columns, &named);
        }
        for group in &self.groups {
            let key = || {
                vec![
                    ("recourse", TableCell::from("sex")),
                    ("group_0", group.as_str().into()),
                    ("group_1", "m".into()),
                ]
            };
            let with = |more: Vec<(&'static str, TableCell)>| [key(), more].concat();
            let counts = [
                ("affected_0", 19),
                ("affected_1", 46),
                ("least_0", 2),
                ("least_1", 5),
                ("subgroups", 9),
                ("subgroups_with_actions", 5),
                ("actions", 6),
            ];
            let mut row = with(vec![("model", "gbm".into())]);
            row.extend(counts.map(|(name, n)| (name, TableCell::Int(n))));
            row.extend(self.false_discoveries.map(|_| ("deals", TableCell::Int(999))));
            push(recourse, &row);
            for (definition, parameter, view, against) in [
                (COST, "0.7", "macro", [2, 1]),
                (COST, "0.7", "micro", [2, 1]),
                (EFFECT, "", "macro", [0, 1]),
                (EFFECT, "", "micro", [1, 1]),
            ] {
                let question = || {
                    vec![
                        ("definition", definition.into()),
                        ("parameter", parameter.into()),
                        ("view", view.into()),
                    ]
                };
                let [a, b] = against.map(TableCell::Int);
                let sums = vec![
                    ("judged", TableCell::Int(5)),
                    ("unfair", TableCell::Int(against[0] + against[1])),
                    ("unfair_0", a),
                    ("unfair_1", b),
                ];
                let tenth = vec![
                    ("top", TableCell::Int(1)),
                    ("top_0", TableCell::Int(1)),
                    ("tied", TableCell::Int(3)),
                    ("tied_in_top", TableCell::Int(1)),
                ];
                push(analysis, &with([question(), sums, tenth].concat()));
                for (subgroup, size) in (0..).zip(self.sizes) {
                    self.subgroup(
                        subgroups,
                        &with(question()),
                        [definition, view],
                        subgroup,
                        size,
                        against,
                    );
                }
            }
            push(
                rankings,
                &with(vec![
                    ("definition", COST.into()),
                    ("by_definition", EFFECT.into()),
                    ("undefined", "no_unfair_subgroup".into()),
                ]),
            );
            let step = vec![
                ("subgroup", TableCell::Int(0)),
                ("cost", TableCell::Real(3.0)),
                ("n_0", TableCell::Int(2)),
                ("n_1", TableCell::Int(5)),
            ];
            let helped = [("macro_0", 1), ("macro_1", 4), ("micro_0", 1), ("micro_1", 5)]
                .map(|(name, k)| (name, TableCell::Int(k)));
            push(ecd, &with([step, helped.to_vec()].concat()));
            let action = vec![
                ("subgroup", TableCell::Int(0)),
                ("changes", "job = boss".into()),
                ("cost", TableCell::Real(3.0)),
            ];
            let worked = vec![
                ("n_0", TableCell::Int(2)),
                ("n_1", TableCell::Int(5)),
                ("worked_0", TableCell::Int(1)),
                ("worked_1", TableCell::Int(4)),
            ];
            push(actions, &with([action.clone(), worked].concat()));
            for (side, n, own) in [(0, 2, 1), (1, 5, 4)] {
                let place = vec![
                    ("definition", COST.into()),
                    ("parameter", "0.7".into()),
                    ("view", "macro".into()),
                    ("place", TableCell::Int(1)),
                ];
                let line = vec![
                    ("side", TableCell::Int(side)),
                    ("n", TableCell::Int(n)),
                    ("action", TableCell::Int(0)),
                    ("own", TableCell::Int(own)),
                ];
                push(comparatives, &with([place, action.clone(), line].concat()));
            }
        }
        for frame in &mut frames {
            frame.sort();
            write_frame(tables, frame).unwrap();
        }
    }

    /// The first subgroups of a definition are unfair: so many against the first group, then so
    /// many against the second.
    fn subgroup(
        &self,
        frame: &mut TableFrame,
        key: &[(&str, TableCell)],
        asked: [&str; 2],
        subgroup: i64,
        size: [i64; 2],
        against: [i64; 2],
    ) {
        let group = key[1].1.clone();
        let (against, unfair) = match subgroup {
            i if i < against[0] => (group, true),
            i if i < against[0] + against[1] => ("m".into(), true),
            _ => ("".into(), false),
        };
        let values = match (asked, subgroup) {
            ([COST, _], 0) => [f64::INFINITY, 3.0, f64::INFINITY],
            ([COST, _], 1 | 2) => [1.0, 2.0, 1.0],
            ([COST, _], _) => [1.0, 1.0, 0.0],
            _ if unfair => [0.5, 1.0, 0.5],
            _ => [0.5, 0.5, 0.0],
        };
        let mut row = key.to_vec();
        row.extend([
            ("subgroup", TableCell::Int(subgroup)),
            ("traits", "age = old".into()),
            ("against", against),
            ("n_actions", TableCell::Int(1)),
        ]);
        row.extend(["n_0", "n_1"].into_iter().zip(size.map(TableCell::Int)));
        row.extend(["value_0", "value_1", "score"].into_iter().zip(values.map(TableCell::Real)));
        row.extend(self.false_discoveries.iter().flat_map(|share| {
            [
                ("false_discovery", TableCell::Real(*share)),
                ("p_value", TableCell::Real(self.p_value)),
            ]
        }));
        if unfair {
            row.extend(["rank", "place"].map(|name| (name, TableCell::Int(subgroup + 1))));
        }
        push(frame, &row);
    }

    /// The page of a sample with these tables.
    fn page(&self, sample: &FolderSample, write: impl Fn(&Path)) -> String {
        let folder = tempfile::tempdir().unwrap();
        sample.write(folder.path());
        self.write(&folder.path().join("tables"));
        write(&folder.path().join("tables"));
        let html = render(folder.path(), None, &glossary).unwrap();
        if let Some(pages) = std::env::var_os("CFAUDIT_PAGES") {
            fs::write(
                Path::new(&pages).join(format!("recourse-{}.html", self.groups.len())),
                &html,
            )
            .unwrap();
        }
        well_formed(&html);
        assert!(!html.contains("NaN") && !html.contains("not finite"));
        html.replace('\u{202f}', " ")
    }
}

/// A job with recourse and no counterfactual set.
fn alone() -> FolderSample {
    FolderSample { sets: Vec::new(), gates: Vec::new(), left_out: false, ..two_groups() }
}

#[test]
fn subgroups_are_told_with_the_people_behind_them() {
    let html = RecourseSample::few().page(&alone(), |_| ());
    let said = "Too few to tell: in 2 of 5 subgroups the way to the favourable decision is harder \
                for group f, in 1 for group m (by equal cost of effectiveness, 70 % of the group, \
                in both views); of 3 ways to judge, 1 finds more subgroups where it is harder for \
                group f, 1 for group m, 1 as many for either. 19 people of group f and 46 of group \
                m have the unfavourable decision; in the unfair subgroups the smaller group has a \
                median of 3 people, and fewer than 10 in 3 of 3 (100 %).";
    for id in ["findings", "recourse"] {
        let text = section(&html, id);
        assert!(text.contains(said), "{id}: {text}");
    }
    // Of many people it is told without the words.
    let many = RecourseSample {
        sizes: [[20, 50], [50, 9], [40, 50], [12, 20], [30, 40]],
        ..RecourseSample::few()
    }
    .page(&alone(), |_| ());
    let findings = section(&many, "findings");
    assert!(
        findings.contains("In 2 of 5 subgroups")
            && !findings.contains("Too few")
            && !findings.contains("Chance"),
        "{findings}"
    );
    let untested = "Which of these differences chance alone would make was not tested: chance in \
                    the job asks for it.";
    assert!(findings.contains(untested), "{findings}");
    assert!(
        findings.contains("a median of 20 people, and fewer than 10 in 1 of 3 (33.3 %)."),
        "{findings}"
    );
}

#[test]
fn what_chance_explains_is_told() {
    let many = |share, p_value| {
        let sizes = [[20, 50], [50, 9], [40, 50], [12, 20], [30, 40]];
        RecourseSample { sizes, false_discoveries: Some(share), p_value, ..RecourseSample::few() }
    };
    let findings =
        |share, p_value| section(&many(share, p_value).page(&alone(), |_| ()), "findings");
    let within = findings(0.0501, 0.002);
    assert!(within.contains("Chance is not ruled out: in 2 of 5 subgroups"), "{within}");
    assert!(!within.contains("smallest p") && !within.contains("was not tested"), "{within}");
    assert!(
        within.contains(
            "With at most 5 % false discoveries none of these 3 can be told from chance."
        ),
        "{within}"
    );
    // A table of version 1 does not tell the deals, and the test was made all the same.
    let of_version_1 = many(0.0501, 0.001).page(&alone(), |tables| {
        let mut frame = read_frame(tables, &RECOURSE).unwrap();
        let deals = RECOURSE.column("deals").unwrap();
        frame.rows.iter_mut().for_each(|row| row[deals] = TableCell::Null);
        write_frame(tables, &frame).unwrap();
    });
    let of_version_1 = section(&of_version_1, "findings");
    assert!(
        of_version_1.contains("none of these 3 can be told from chance.")
            && !of_version_1.contains("was not tested")
            && !of_version_1.contains("smallest p"),
        "{of_version_1}"
    );
    // A test that could find nothing is no sign that there is nothing.
    let too_few_deals = findings(0.0501, 0.001);
    let said = "3 of them have the smallest p that 999 deals can give, 0.00100: with more deals in \
                the job some may be told from chance.";
    assert!(too_few_deals.contains(said), "{too_few_deals}");
    let beyond = findings(0.05, 0.001);
    assert!(!beyond.contains("smallest p"), "{beyond}");
    assert!(beyond.contains("In 2 of 5 subgroups"), "{beyond}");
    assert!(
        beyond.contains("With at most 5 % false discoveries 3 of these 3 can be told from chance."),
        "{beyond}"
    );
}

#[test]
fn what_no_action_reaches_is_told_with_what_it_does_reach() {
    let text = section(&RecourseSample::few().page(&alone(), |_| ()), "recourse");
    for said in [
        "none helps 70 % at most 1 of 2 people at a disadvantage cost 3.00 4 of 5 people by one \
         action, 5 by any score \u{221e} m: 4 of 5 by one action, 5 by any reached",
        "lowest cost at which 70 % of the group are helped by one action for all",
        "a row with it may rest on one person",
        "it ends among 3 of equal score, 1 of them inside",
        "Macro, micro, both views Macro: one action for all people of a subgroup.",
        "These people make 9 subgroups, each with at least 2 people of group f and 5 of group m; \
         for 5 there are actions to try, 6 in all.",
        "May not change, and so is in no action: sex, town.",
        "An action changes the entries that it names and no others",
        "Affected With the unfavourable decision.",
        // Views that differ stay two, those that agree are one.
        "Equal cost of effectiveness, 70 % of the group, in both views",
        "Equal effectiveness, macro",
        "Equal effectiveness, micro",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(
        !text.contains("no way")
            && !text.contains("Budget")
            && !text.contains("of the group, macro"),
        "{text}"
    );
    assert!(!text.contains(" 1 people") && !text.contains(" 1 actions"), "{text}");
}

#[test]
fn what_may_change_is_told_once_where_comparisons_are_cut() {
    let groups = (1..=7).map(|i| format!("g{i}")).collect();
    let text = section(
        &RecourseSample { groups, ..RecourseSample::few() }.page(&alone(), |_| ()),
        "recourse",
    );
    assert_eq!(
        text.matches("What people may change by the job, recourse by sex").count(),
        1,
        "{text}"
    );
    assert_eq!(
        text.matches("May not change, and so is in no action: sex, town.").count(),
        1,
        "{text}"
    );
    assert_eq!(text.matches(" compared with m").count(), 6);
    assert!(text.contains("Shown are 6 of 7 comparisons; the others are only in"), "{text}");
}

#[test]
fn subgroups_without_actions_are_left_out_and_said() {
    let left_out = section(&RecourseSample::few().page(&alone(), |_| ()), "left-out");
    assert!(
        left_out.contains(
            "f compared with m, model gbm 4 of 9 subgroups (44.4 %) there is no action: no change"
        ),
        "{left_out}"
    );
    assert!(
        left_out.contains("1 mean rank no subgroup is unfair") && !left_out.contains("Nothing"),
        "{left_out}"
    );
}

#[test]
fn a_gate_on_recourse_says_what_it_counts() {
    let gate = |tables: &Path| {
        let mut frame = TableFrame::new(&GATES);
        let reason = "subgroups with at least 20 affected people in the smaller group that are \
                      unfair to either group by equal-cost-of-effectiveness 0.7, macro, with any \
                      score above 0: the value breaks the limit";
        let words = [
            ("gate", "g"),
            ("verdict", "fail"),
            ("level", "fail"),
            ("metric", UNFAIR_SUBGROUPS),
            ("rule", "at_most, estimate"),
        ];
        let mut row: Vec<(&str, TableCell)> =
            words.map(|(name, word)| (name, word.into())).to_vec();
        row.extend([
            ("from_group", "f".into()),
            ("to_group", "m".into()),
            ("reason", reason.into()),
            ("value", TableCell::Real(44.0)),
        ]);
        row.extend([
            ("limit", TableCell::Real(0.0)),
            ("denominator", TableCell::Int(250)),
            ("decides", TableCell::Int(1)),
        ]);
        push(&mut frame, &row);
        write_frame(tables, &frame).unwrap();
    };
    let verdict = section(&RecourseSample::few().page(&alone(), gate), "verdict");
    let said = "g: number of subgroups with at least 20 affected people in the smaller group that \
                are unfair to either group by equal-cost-of-effectiveness 0.7, macro, with any \
                score above 0, f and m fail at most 0 the number decides 44 subgroups 250 \
                subgroups of that size, with actions the value breaks the limit";
    assert!(verdict.contains(said), "{verdict}");
}

#[test]
fn the_method_speaks_of_what_the_page_measures() {
    let method = |html: &str| section(html, "method");
    let of_recourse = "For recourse the model is asked about each person audited who has the \
        unfavourable decision";
    let of_sets = "For each person audited a set writes the same person in another group";
    let only = method(&RecourseSample::few().page(&alone(), |_| ()));
    assert!(
        only.contains("Recourse asks what people could change")
            && only.contains(of_recourse)
            && !only.contains(of_sets),
        "{only}"
    );
    let both = method(&RecourseSample::few().page(&two_groups(), |_| ()));
    assert!(
        both.contains("This page asks two things.")
            && both.contains(of_recourse)
            && both.contains(of_sets),
        "{both}"
    );
    let sets = method(&super::page("method-of-sets", &two_groups()));
    assert!(
        sets.contains("This page is about the first.")
            && sets.contains(of_sets)
            && !sets.contains("ecourse"),
        "{sets}"
    );
    let neither = method(&super::page("method-of-groups", &alone()));
    assert!(
        neither.contains("This page compares groups as they are.") && !neither.contains(of_sets),
        "{neither}"
    );
}
