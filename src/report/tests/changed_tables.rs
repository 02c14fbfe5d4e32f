//! Pages of a folder in which single tables were changed: what must be reported about them, and
//! how.

use super::html::{annex, annex_with, page, section};
use super::sample::{EccmSample, FolderSample, glossary, names, spread, two_groups};
use super::*;
use crate::folder::manifest::{JobChange, RunComparison};
use crate::table::{
    ArmRow, ChangeRow, EdgeRow, GraphRow, NeededKnowledgeRow, NodeRow, ThresholdRow, WorldPeopleRow,
};

/// Gives the rows of a table that hold some cells others.
fn change<R: TableRow + Default + PartialEq>(tables: &Path, held: &str, cells: &str) {
    let mut rows = read_rows::<R>(tables).unwrap();
    let meant: Vec<&mut R> = rows.iter_mut().filter(|row| row.holds(held)).collect();
    assert!(!meant.is_empty(), "no row of {} is meant", R::TABLE.name);
    meant.into_iter().for_each(|row| *row = row.with(cells));
    write_rows(tables, &rows).unwrap();
}

/// The page of a sample whose folder was changed. Thin spaces are plain ones in the result.
fn changed(
    sample: &FolderSample,
    manifest: &dyn Fn(&mut Manifest),
    tables: &dyn Fn(&Path),
) -> String {
    let folder = sample.folder();
    let mut words = sample.manifest();
    manifest(&mut words);
    tables(&folder.path().join("tables"));
    annex_with(folder.path(), &words)
}

fn same(_: &mut Manifest) {}

const ATTRIBUTE: &str = "group of people";

/// The row of a gate.
const WOMEN: &str = "gate=women-keep-approvals";

/// The attribute itself in the graphs of a set.
fn attribute_node(set: &str) -> NodeRow {
    NodeRow::of(&format!(
        "counterfactual={set}, sensitive={ATTRIBUTE}, node={ATTRIBUTE}, level=Female, \
         from_group=Male, to_group=Female, below_sensitive=1, move=1"
    ))
}

#[test]
fn the_difference_of_a_gap_counts_in_points() {
    let html = changed(&two_groups(), &same, &|tables| {
        let values = ComparisonRow::of(&format!(
            "model=gbm, against=other, sensitive={ATTRIBUTE}, scope=pair, from_group=Male, \
             to_group=Female, metric=demp_difference, difference=0.031, model_value=0.124, \
             against_value=0.093"
        ));
        write_rows(tables, &[values]).unwrap();
    });
    let models = section(&html, "models");
    models.says(&["Male and Female +12.4 points +9.30 points +3.10 points"]);
}

#[test]
fn intervals_of_means_over_graphs_are_described() {
    let html = changed(&two_groups(), &same, &|tables| {
        let cells = "interval=wilson-eff, n_worlds=7";
        change::<MetricRow>(tables, "metric=sr, counterfactual=world", cells);
    });
    let method = section(&html, "method");
    method.says(&["several graphs"]);
    section(&page("two-groups", &two_groups()), "method").lacks(&["several graphs"]);
}

#[test]
pub(super) fn gaps_of_arms_narrow_and_widen() {
    let arm = |name: &str| ArmWords { name: name.to_owned(), words: "nothing".to_owned() };
    let experiment = ExperimentWords {
        fitted_on: std::collections::BTreeMap::new(),
        name: "try".to_owned(),
        model: "gbm".to_owned(),
        counterfactual: "flip".to_owned(),
        folds: Some(5),
        arms: ["base", "all", "less", "round"].map(arm).to_vec(),
    };
    let gap = [("base", -0.283), ("all", -0.24), ("less", -0.3), ("round", 0.1)];
    let html = changed(
        &two_groups(),
        &|manifest| manifest.experiments = vec![experiment.clone()],
        &|tables| {
            let mut metrics = read_rows::<MetricRow>(tables).unwrap();
            let mut comparisons = Vec::new();
            for (arm, value) in gap {
                let arm = format!("try/{arm}");
                let pair = "scope=pair, from_group=Male, to_group=Female, metric=demp_difference";
                let at = |cells: &str| {
                    MetricRow::of(&format!(
                        "arm={arm}, model=gbm, sensitive={ATTRIBUTE}, n_rows=5278, {cells}"
                    ))
                };
                metrics.push(at("scope=total, metric=acc, value=0.8"));
                metrics.push(at("counterfactual=flip, scope=total, metric=sr, value=0.1"));
                metrics.push(at(&format!("{pair}, value={value}")));
                let by: f64 = value - gap[0].1;
                // Trained again, and too few of the trainings give the change.
                let further = match arm.as_str() {
                    "try/less" => "flags=selective_labels",
                    "try/round" => "training_repeats=3",
                    _ => "",
                };
                let compared = ComparisonRow::of(&format!(
                    "arm={arm}, model=gbm, against_arm=try/base, sensitive={ATTRIBUTE}, {pair}, \
                     difference={by}, lo={}, hi={}, level=0.95, n_rows=5278, {further}",
                    by - 0.008,
                    by + 0.009
                ));
                comparisons.extend((value != gap[0].1).then_some(compared));
            }
            write_rows(tables, &metrics).unwrap();
            let added =
                |arm: &str, n: i64| ArmRow::of(&format!("arm={arm}, n_rows=100, n_synthetic={n}"));
            let arms = [added("try/base", 0), added("try/all", 7), added("try/round", 0)];
            write_rows(tables, &arms).unwrap();
            write_rows(tables, &comparisons).unwrap();
        },
    );
    let text = section(&html, "augmentation");
    text.says(&[
        "narrows by 4.30 points (3.50 to 5.20), from −28.3 points to −24.0 points",
        "widens by 1.70 points (0.80 to 2.50), from −28.3 points to −30.0 points",
        "is reversed, from −28.3 points to +10.0 points",
        "change +4.30 points (+3.50 to +5.20) the gap is narrower",
        "the gap is wider",
        "the gap is reversed",
        "So the arms are measured on 5278 people: the folds go over all 45 222 rows kept, while \
         the rest of this page is about the 16 281",
    ]);
    assert_eq!(text.matches("too few trainings give this change").count(), 1, "{text}");
    text.says(&["it has no such range and is not bold"]);
    // One arm depends on labels that are missing for some more than for others: its sentence says
    // so, and its cell.
    let missing = "labels are missing for some people more often than for others";
    let sentence = format!("from −28.3 points to −30.0 points ({missing}).");
    let cell = format!("change −1.70 points (−2.50 to −0.80) {missing}");
    assert!(text.contains(&sentence) && text.contains(&cell), "{text}");
    assert_eq!(text.matches(missing).count(), 2, "{text}");
    assert_eq!(text.matches("found no rows to add").count(), 1, "{text}");
    text.says(&["round nothing found no rows to add and is equal to the base"]);
}

#[test]
fn people_whom_a_direction_does_not_count_are_left_out() {
    let sample = FolderSample { left_out: false, ..two_groups() };
    let html = changed(&sample, &same, &|tables| {
        let held = "metric=sr, counterfactual=world, scope=direction, from_group=Male";
        change::<MetricRow>(tables, held, "n_rows=989");
    });
    let text = section(&html, "left-out");
    text.says(&["Male → Female, set world, model gbm 1029 989 40 (3.89 %)"]);
    text.lacks(&["set flip, model gbm 10"]);
    section(&page("all-counted", &sample), "left-out").lacks(&["does not count"]);
}

#[test]
fn ratios_say_how_they_are_turned_and_gates_that_ask_in_reverse_are_told() {
    let sample = FolderSample {
        gates: vec![("gap", "pass", "fail", "demp_difference", Some((1, 0)), 1)],
        ..two_groups()
    };
    let html = changed(&sample, &same, &|tables| {
        change::<GateRow>(tables, "", "scope=pair, counterfactual=");
    });
    let text = section(&html, "groups");
    text.says(&["disparate impact DI, Female over Male"]);
    let note = "A gate uses the demographic parity difference DemP as Female minus Male: its \
                value there is the value of this pair with the opposite sign.";
    assert!(text.contains(note), "{text}");
    section(&page("two-groups", &two_groups()), "groups").lacks(&["A gate uses"]);
    let three = FolderSample { groups: names(&["a", "b", "c"]), cells: spread, ..two_groups() };
    section(&page("three-groups", &three), "groups").says(&["DI second over first"]);
}

#[test]
fn a_command_says_where_data_must_be() {
    let text = section(&page("two-groups", &two_groups()), "provenance");
    text.says(&[
        "name that folder by --data-dir or CFAUDIT_DATA if it is not data",
        "If no files of the catalog are available, generated rows replace them",
    ]);
    let stand_in =
        section(&page("stand-in", &FolderSample { stand_in: true, ..two_groups() }), "provenance");
    stand_in.says(&["In this run there were no files of the catalog"]);
}

#[test]
fn scores_that_do_not_move_are_not_drawn() {
    let html = changed(&two_groups(), &same, &|tables| {
        let held = "metric=rmscd, counterfactual=flip, scope=direction, from_group=Male";
        change::<MetricRow>(tables, held, "value=0");
    });
    let text = section(&html, "scores");
    assert_eq!(text.matches("Male → Female: no score moved.").count(), 1, "{text}");
    assert_eq!(html.matches("Change of the score, Male").count(), 1, "of set world alone");
    assert_eq!(html.matches("Change of the score, Female").count(), 2);
}

#[test]
fn counts_of_five_digits_have_a_line_of_their_own() {
    let many = |_, _, _| -> EccmSample { [[[10_019, 12], [5, 18]], [[105, 21], [8, 160]]] };
    let html = page("many", &FolderSample { cells: many, ..two_groups() });
    html.says(&[r#"<table class="matrix wide">"#, "<b>10 019</b>"]);
    page("two-groups", &two_groups()).lacks(&["matrix wide"]);
}

#[test]
fn both_directions_of_two_groups_are_one_matrix() {
    let two = page("two-groups", &two_groups());
    let figures = two.matches(r#"<table class="matrix"#).count();
    assert_eq!(two.matches("of both directions, on one scale").count(), figures);
    // A row has the cells of both, in the order of the heads.
    let (_, row) = two.split_once(r#"rowspan="2">positive</th>"#).unwrap();
    let (row, _) = row.split_once("</tr>").unwrap();
    assert_eq!(row.matches("<span>TCP</span>").count(), 2, "{row}");
    assert_eq!(row.matches("<span>TSN</span>").count(), 2, "{row}");
    let three = FolderSample { groups: names(&["a", "b", "c"]), cells: spread, ..two_groups() };
    page("three-groups", &three).lacks(&["of both directions"]);
}

#[test]
pub(super) fn graphs_that_determine_variables_and_means_outside_of_their_interval() {
    let html = changed(&two_groups(), &same, &|tables| {
        let sets = ["graph/low", "graph/high", "graph/forbid"];
        let graph = |set: &'static str, bootstrap: i64| {
            let odd = set != "graph/forbid" || bootstrap == 1;
            GraphRow {
                determined: if odd { "workclass,job" } else { "" }.into(),
                attribute_follows: if set == "graph/low" { 989 } else { 10 },
                ..GraphRow::of(&format!(
                    "counterfactual={set}, sensitive={ATTRIBUTE}, bootstrap={bootstrap}, \
                     drawn=all, graphs=1000"
                ))
            }
        };
        let graphs: Vec<_> =
            sets.into_iter().flat_map(|set| [0, 1, 2].map(|b| graph(set, b))).collect();
        write_rows(tables, &graphs).unwrap();
        let nodes = sets.into_iter().flat_map(|set| {
            attribute_node(set).each(&format!(
                "node       | level   | below_sensitive | move    | move_lo | move_hi
                 {ATTRIBUTE}| Female  | 1               | 1       | 1       | 1
                 age        |         | 0.0107          | -0.0612 | 0       | 0
                 hours      |         | 0.5             | 2       | 2.5     | 3
                 pay        |         | 1               | 2       | 1.5     | 3
                 workclass  | missing | 1               | 0.02    | 0.01    | 0.03
                 job        | missing | 1               | 0.02    | 0.01    | 0.03"
            ))
        });
        let edge = |set: &'static str, share: f64| {
            EdgeRow::of(&format!(
                "counterfactual={set}, sensitive={ATTRIBUTE}, cause=age, effect={ATTRIBUTE}, \
                 frequency={share}"
            ))
        };
        write_rows(tables, &[edge("graph/low", 0.989), edge("graph/high", 0.01)]).unwrap();
        write_rows(tables, &nodes.collect::<Vec<_>>()).unwrap();
    });
    let text = section(&html, "graphs");
    text.says(&[
        "Determined: in graph/high and graph/low, in all 3 bootstraps: others determine some \
         variables exactly, such as workclass.",
        "Determined: in graph/forbid, in bootstrap 1: others",
        "−0.0612 does not move in most graphs follows in 1.07 %",
        "+2.00 in most graphs +2.50 to +3.00",
        "+2.00 graphs and refits +1.50 to +3.00",
        "A likely cause is the level `missing`, which job, workclass have",
        "data.missing: {nominal: drop-row}",
        "Few bootstraps: graph/forbid is based on 3, graph/high on 3, graph/low on 3.",
        "Contradicts domain knowledge: in graph/low, in 98.9 % of the graphs group of people \
         follows from age.",
        "such people cannot exist",
        "no common cause of two variables is missing",
        "Neither ranks scenarios",
    ]);
    text.lacks(&["graphs 0 to 0", "in graph/high, in "]);
}

/// A verdict is told with the statements without which it is another, in words of its own where
/// none is, and where nothing is known.
#[test]
pub(super) fn statements_that_a_verdict_needs_are_told() {
    let html = changed(&two_groups(), &same, &|tables| {
        let [set, from, to] = ["graph/high", "Male", "Female"];
        let graph = GraphRow::of(&format!(
            "counterfactual={set}, sensitive={ATTRIBUTE}, drawn=all, graphs=1"
        ));
        write_rows(tables, &[graph]).unwrap();
        let node = NodeRow::of(&format!(
            "counterfactual={set}, sensitive={ATTRIBUTE}, node={ATTRIBUTE}, from_group={from}, \
             to_group={to}"
        ));
        write_rows(tables, &[node]).unwrap();
        let row = |gate: &str, statement: &str, verdict: &str, value: f64| NeededKnowledgeRow {
            value: (!verdict.is_empty()).then_some(value),
            attribute_follows: (value == 0.21).into(),
            undefined: if verdict.is_empty() { "model_not_linear" } else { "" }.into(),
            ..NeededKnowledgeRow::of(&format!(
                "model=gbm, counterfactual={set}, sensitive={ATTRIBUTE}, from_group={from}, \
                 to_group={to}, metric=psr, gate={gate}, statement={statement}, verdict={verdict}"
            ))
        };
        let rows = [
            row("alone", "", "pass", 0.1),
            row("alone", "age before job", "pass", 0.12),
            row("needs", "", "fail", 0.3),
            row("needs", "age before job", "pass", 0.02),
            row("needs", "no effects among age, job", "inconclusive", 0.21),
            row("unknown", "", "pass", 0.1),
            row("unknown", "age before job", "", 0.0),
        ];
        write_rows(tables, &rows).unwrap();
    });
    let text = section(&html, "depends-on");
    text.says(&[
        "alone, gbm, graph/high, Male → Female, positive switch rate, 10.0 %: No single statement \
         decides this pass.",
        "needs, gbm, graph/high, Male → Female, positive switch rate, 30.0 %: Without the \
         statement age before job this fail becomes a pass (2.00 %). Without the statement no \
         effects among age, job this fail becomes open (21.0 %; there group of people follows from \
         other columns).",
        "what the verdict would be without a statement is not known",
    ]);
}

/// Graphs of one bootstrap have no refits: the page calls no interval one of refits, and warns.
#[test]
pub(super) fn graphs_that_were_fitted_once_are_told() {
    let told = |sets: &[&'static str], bootstraps: i64, within: Option<f64>| {
        let html = changed(&two_groups(), &same, &|tables| {
            let graph = |set: &'static str, bootstrap: i64| {
                GraphRow::of(&format!(
                    "counterfactual={set}, sensitive={ATTRIBUTE}, bootstrap={bootstrap}, \
                     drawn=all, graphs=2"
                ))
            };
            let graphs = sets.iter().flat_map(|set| (0..bootstraps).map(move |of| graph(set, of)));
            write_rows(tables, &graphs.collect::<Vec<_>>()).unwrap();
            let node = |set: &&'static str| attribute_node(set);
            write_rows(tables, &sets.iter().map(node).collect::<Vec<_>>()).unwrap();
            let people = |from: &'static str, to: &'static str, mean: Option<f64>| WorldPeopleRow {
                n: mean.map_or(0, |_| 1200),
                variance_mean: mean,
                variance_lo: mean.map(|_| 0.001),
                variance_hi: mean.map(|_| 0.018),
                ..WorldPeopleRow::of(&format!(
                    "model=gbm, counterfactual=world, sensitive={ATTRIBUTE}, from_group={from}, \
                     to_group={to}"
                ))
            };
            // Of the second direction there is one graph.
            let people = [people("Male", "Female", Some(0.005)), people("Female", "Male", None)];
            write_rows(tables, &people).unwrap();
            let within = within.map(|value| format!("{value}")).unwrap_or_default();
            let cells = format!(
                "world_lo=0.1, world_hi=0.3, between_lo=0.1, between_hi=0.3, within_lo={within}, \
                 within_hi={within}, n_worlds={}",
                2 * bootstraps
            );
            change::<MetricRow>(tables, "counterfactual=world, metric=nsr", &cells);
        });
        section(&html, "graphs")
    };
    let once = told(&["world"], 1, None);
    once.says(&[
        "Few bootstraps: world is based on a single fit. A single fit does not show how much \
         refits of the coefficients, or graphs of other rows, change a value. Use 100",
        "graphs of a single bootstrap 10.0 to 30.0",
        "other graphs 10.0 to 30.0",
        "variance of the score of one person over the graphs, from 0 to 0.02",
        "Direction world Male → Female 0.00500 0.00100 to 0.01800 1200 people Edges",
    ]);
    once.lacks(&["graphs and refits 10.0"]);
    let several = told(&["world"], 50, Some(0.2));
    several.says(&["graphs and refits 10.0 to 30.0"]);
    several.lacks(&["Few bootstraps", "single fit"]);
    // A scenario without any rate or variance has no column among them.
    let beside = told(&["world", "zero"], 50, Some(0.2));
    for said in ["Rate world ", "Direction world Male → Female 0.00500", "Variable world zero"] {
        assert!(beside.contains(said) && !beside.contains("Rate world zero"), "{said}\n{beside}");
    }
}

#[test]
fn every_cause_of_the_attribute_is_told_with_the_share_of_graphs_that_have_any() {
    let text = {
        let html = changed(&two_groups(), &same, &|tables| {
            let sets = ["graph/low", "graph/high"];
            let graphs = sets.iter().zip([12, 3]).flat_map(|(set, n)| {
                (0..n).map(|bootstrap| {
                    // Of a set without an edge to the attribute in none; of the other in both
                    // graphs of nine bootstraps.
                    let follows = if bootstrap < 9 && *set == "graph/low" { 2 } else { 0 };
                    GraphRow {
                        counterfactual: (*set).into(),
                        ..GraphRow::of(&format!(
                            "sensitive={ATTRIBUTE}, \
                             bootstrap={bootstrap}, drawn=all, graphs=2, \
                             attribute_follows={follows}"
                        ))
                    }
                })
            });
            write_rows(tables, &graphs.collect::<Vec<_>>()).unwrap();
            let nodes = sets.map(attribute_node);
            write_rows(tables, &nodes).unwrap();
            let edges = [("age", 0.5), ("job", 0.25), ("pay", 0.02)].map(|(cause, share)| {
                EdgeRow::of(&format!(
                    "counterfactual=graph/low, \
                     sensitive={ATTRIBUTE}, cause={cause}, effect={ATTRIBUTE}, \
                     frequency={share}"
                ))
            });
            write_rows(tables, &edges).unwrap();
        });
        section(&html, "graphs")
    };
    let known = "of the graphs group of people follows from other variables (age in 50.0 %, job in \
                 25.0 %). If no recorded";
    text.says(&[
        &format!("Contradicts domain knowledge: in graph/low, in 75.0 % {known}"),
        "Few bootstraps: graph/high is based on 3, graph/low on 12.",
    ]);
    text.lacks(&["A single fit"]);
}

#[test]
fn a_metric_with_one_word_for_name_and_symbol_stands_once_in_the_glossary() {
    let folder = two_groups().folder();
    let same_word = |id: &str| {
        let entry = glossary(id)?;
        Some(GlossaryEntry { symbol: entry.name.clone(), ..entry })
    };
    let html = crate::report::render(folder.path(), None, &same_word).unwrap().annex.unwrap();
    html.says(&["<dt>negative switch rate</dt>"]);
    html.lacks(&["<dt>negative switch rate <code>"]);
    annex(folder.path()).says(&["<dt>negative switch rate <code>NSR</code></dt>"]);
}

/// What decides a gate stands below its limit.
#[test]
fn what_decides_a_gate_is_told() {
    for (rule, told) in [
        (
            "at_most, worlds",
            "the interval over graphs and refits of their coefficients decides; it does not \
             include the sampling of people",
        ),
        (
            "at_most, interval, holm",
            "the interval decides, at the level that Holm's method gives each comparison",
        ),
    ] {
        let html = changed(&two_groups(), &same, &|tables| {
            change::<GateRow>(tables, WOMEN, &format!("rule={rule}"));
        });
        let gates = section(&html, "gates");
        assert!(gates.contains(told), "{gates}");
    }
}

/// Ranges over fits and trainings stand next to the interval over people, with what they are.
#[test]
fn ranges_over_fits_and_trainings_are_told() {
    let asked = |manifest: &mut Manifest| {
        let set = manifest.counterfactuals.iter_mut().find(|set| set.name == "world").unwrap();
        set.doubt = Some(20);
    };
    let html = changed(&two_groups(), &asked, &|tables| {
        change::<MetricRow>(
            tables,
            "counterfactual=world, undefined=",
            "fit_lo=0.1, fit_hi=0.3, fit_repeats=20",
        );
        change::<MetricRow>(
            tables,
            "counterfactual=flip, undefined=",
            "training_lo=0.05, training_hi=0.4",
        );
        change::<GateRow>(tables, WOMEN, "rule=at_most, fit");
    });
    html.says(&[
        "other fits 10.0 to 30.0 %",
        "other trainings 5.0 to 40.0 %",
        "Other fits: 20 fits of the set on rows drawn again with replacement. The interval next to",
        "the range over fits on rows drawn again decides; it does not include the sampling",
    ]);
}

/// Values that depend on labels which are missing for some people more often than for others are
/// marked.
#[test]
fn comparisons_by_selective_labels_are_marked() {
    let compared = |flags: &str| {
        let html = changed(&two_groups(), &same, &|tables| {
            let values = ComparisonRow::of(&format!(
                "model=gbm, against=other, sensitive={ATTRIBUTE}, scope=total, metric=acc, \
                 difference=0.03, model_value=0.8, against_value=0.77, flags={flags}"
            ));
            write_rows(tables, &[values]).unwrap();
        });
        section(&html, "models")
            .contains("labels are missing for some people more often than for others")
    };
    assert_eq!([compared("selective_labels"), compared("")], [true, false]);
}

#[test]
fn a_scenario_against_what_people_know_names_no_group() {
    let with_edge = |share: f64| {
        let html = changed(&two_groups(), &same, &|tables| {
            change::<GateRow>(tables, WOMEN, "counterfactual=world, rule=rise_at_most");
            let node = attribute_node("world");
            let edge = EdgeRow::of(&format!(
                "counterfactual=world, sensitive={ATTRIBUTE}, cause=age, effect={ATTRIBUTE}, \
                 frequency={share}"
            ));
            let graph = GraphRow {
                attribute_follows: (share * 1000.0) as i64,
                ..GraphRow::of(&format!(
                    "counterfactual=world, sensitive={ATTRIBUTE}, drawn=all, graphs=1000"
                ))
            };
            write_rows(tables, &[node]).unwrap();
            write_rows(tables, &[edge]).unwrap();
            write_rows(tables, &[graph]).unwrap();
        });
        ["gates", "switches"].map(|id| section(&html, id))
    };
    let caution = "No group is named at a disadvantage, because in 98.9 % of the graphs of this \
                   set group of people follows from age, which may contradict domain knowledge.";
    let (against, within) = (with_edge(0.989), with_edge(0.01));
    // Next to its rates, and in the line of its gate.
    assert!(against.iter().all(|text| text.contains(caution)), "{against:?}");
    assert!(within.iter().all(|text| !text.contains("No group is named")), "{within:?}");
}

#[test]
fn a_column_without_a_value_is_left_out() {
    let html = changed(&two_groups(), &same, &|tables| {
        let mut frame = read_rows::<MetricRow>(tables).unwrap();
        frame.retain(|row| !["pprev_difference", "f1_difference"].contains(&row.metric.as_str()));
        write_rows(tables, &frame).unwrap();
    });
    let text = section(&html, "groups");
    text.says(&["Ratio, Male to Female"]);
    text.lacks(&["Difference, Male minus Female"]);
    section(&html, "method").says(&["A dash in a table no value"]);
    section(&page("two-groups", &two_groups()), "groups").says(&["Difference, Male minus Female"]);
}

#[test]
pub(super) fn clear_changes_come_first_and_what_does_not_differ_is_one_sentence() {
    let baseline = RunComparison {
        job: "adult-sex".to_owned(),
        run: "0a".to_owned(),
        rows: 16_281,
        comparable: true,
        pairing: "paired: 16281 people have the same row id".to_owned(),
        differs: vec![JobChange {
            path: "models.gbm.file".to_owned(),
            old: Some("a".to_owned()),
            new: Some("b".to_owned()),
            ..JobChange::default()
        }],
        ..RunComparison::default()
    };
    let html =
        changed(&two_groups(), &|manifest| manifest.baseline = Some(baseline.clone()), &|tables| {
            let row = |model: &'static str, by: f64| ChangeRow {
                new_value: Some(0.1 + by),
                lo: Some(by - 0.01),
                hi: Some(by + 0.01),
                clear: i64::from(by > 0.01),
                ..ChangeRow::of(&format!(
                    "model={model}, counterfactual=flip, sensitive={ATTRIBUTE}, scope=direction, \
                     from_group=Male, to_group=Female, metric=nsr, status=compared, old_value=0.1, \
                     difference={by}, level=0.95"
                ))
            };
            let rows = [row("alike", 0.0), row("gbm", 0.05), row("later", 0.005)];
            write_rows(tables, &rows).unwrap();
        });
    let text = section(&html, "against");
    let steps = [
        "All clear changes",
        "set flip, model gbm; ring",
        "set flip, model later; ring",
        "No rate differs in any direction of group of people: set flip, model alike.",
    ];
    let places: Vec<usize> = steps
        .iter()
        .map(|said| text.find(said).unwrap_or_else(|| panic!("{said}: {text}")))
        .collect();
    assert!(places.is_sorted(), "{text}");
    text.says(&[
        "paired: 16 281 people",
        "Values whose meaning changed",
        "models.gbm.file a b none",
    ]);
}

#[test]
fn short_names_head_the_matrix_of_groups_and_the_smallest_are_listed() {
    let sample = FolderSample {
        groups: names(&["hungarian", "switzerland", "va"]),
        cells: spread,
        ..two_groups()
    };
    let html = changed(
        &sample,
        &|manifest| manifest.attributes[0].made_of = Some("site and sex".to_owned()),
        &|_| {},
    );
    let switches = section(&html, "switches");
    switches
        .says(&["to the group of the column; the shade", "Factual group hungarian switzerland va"]);
    let groups = section(&html, "groups");
    groups.says(&["The smallest groups: ", " people; "]);
    assert!(
        !section(&page("plain", &sample), "groups").contains("The smallest"),
        "no group is flagged and none is crossed"
    );
}

#[test]
fn symbols_lead_to_the_glossary_and_long_words_may_break() {
    let html = page(
        "five",
        &FolderSample { groups: names(&["a", "b", "c"]), cells: spread, ..two_groups() },
    );
    html.says(&[
        "<a class=\"metric\" href=\"#metric-rmscd\" title=\"root mean square counterfactual \
         difference\"><code>RMSCD</code></a>",
        r#"<div id="metric-rmscd"><dt>"#,
    ]);
    let rates = &html[html.find("People whom any other group").unwrap()..];
    assert!(rates.contains("<code>SR_<wbr>ANY</code>"), "{}", &rates[..600]);
    // Where the page is narrow each cell of the gates says what it is.
    html.says(&[r#"<td data-head="Limit">"#]);
    html.lacks(&[r#"data-head="Male"#]);
    section(&html, "scores").says(&["below each value its 95 % interval"]);
}

#[test]
fn fitted_thresholds_stand_in_the_drawings_of_scores() {
    let guides = |html: &str| section(html, "scores").matches("cut-off ").count();
    let given = guides(&changed(&two_groups(), &same, &|_| ()));
    let fitted = |values: &[f64]| {
        let fold = |(fold, value): (i64, &f64)| ThresholdRow {
            threshold: *value,
            ..ThresholdRow::of(&format!("model=gbm, fold={fold}"))
        };
        let rows: Vec<_> = (0..).zip(values).map(fold).collect();
        let youden = |words: &mut Manifest| {
            words.models.iter_mut().for_each(|model| model.threshold = "youden".to_owned())
        };
        guides(&changed(&two_groups(), &youden, &|tables| write_rows(tables, &rows).unwrap()))
    };
    let none = fitted(&[1.5]);
    let drawings = given - none;
    assert!(drawings > 0);
    // Two folds with one threshold draw it once.
    assert_eq!(fitted(&[0.3, 0.7, 0.3]), none + 2 * drawings);
}
