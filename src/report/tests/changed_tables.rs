//! Pages of a folder in which single tables were changed: what must be reported about them, and
//! how.

use std::path::Path;

use super::html::{annex, page, section, well_formed};
use super::sample::{EccmSample, FolderSample, glossary, names, spread, two_groups};
use crate::folder::manifest::{ArmWords, ExperimentWords, JobChange, Manifest, RunComparison};
use crate::report::page::glossary::GlossaryEntry;
use crate::table::file::{read_rows, write_rows};
use crate::table::{
    ArmRow, AuditKey, ChangeRow, ComparisonRow, EdgeRow, GateRow, GraphRow, JudgedRateKey,
    MetricRow, NeededKnowledgeRow, NodeRow, TableRow, ThresholdRow, WorldPeopleRow,
};

/// Changes the rows of a table that are meant.
fn change<R: TableRow>(tables: &Path, of: impl Fn(&R) -> bool, values: impl Fn(&mut R)) {
    let mut rows = read_rows::<R>(tables).unwrap();
    let meant: Vec<&mut R> = rows.iter_mut().filter(|row| of(row)).collect();
    assert!(!meant.is_empty(), "no row of {} is meant", R::TABLE.name);
    meant.into_iter().for_each(values);
    write_rows(tables, &rows).unwrap();
}

/// The page of a sample whose folder was changed. Thin spaces are plain ones in the result.
fn changed(
    sample: &FolderSample,
    manifest: &dyn Fn(&mut Manifest),
    tables: &dyn Fn(&Path),
) -> String {
    let folder = tempfile::tempdir().unwrap();
    sample.write(folder.path());
    let mut words = sample.manifest();
    manifest(&mut words);
    std::fs::write(folder.path().join("manifest.json"), serde_json::to_string(&words).unwrap())
        .unwrap();
    tables(&folder.path().join("tables"));
    let html = annex(folder.path());
    well_formed(&html);
    html.replace('\u{202f}', " ")
}

fn same(_: &mut Manifest) {}

const ATTRIBUTE: &str = "group of people";

#[test]
fn the_difference_of_a_gap_counts_in_points() {
    let html = changed(&two_groups(), &same, &|tables| {
        let values = ComparisonRow {
            model: "gbm".into(),
            against: "other".into(),
            sensitive: ATTRIBUTE.into(),
            scope: "pair".into(),
            from_group: "Male".into(),
            to_group: "Female".into(),
            metric: "demp_difference".into(),
            difference: Some(0.031),
            model_value: Some(0.124),
            against_value: Some(0.093),
            ..ComparisonRow::default()
        };
        write_rows(tables, &[values]).unwrap();
    });
    let models = section(&html, "models");
    assert!(models.contains("Male and Female +12.4 points +9.30 points +3.10 points"), "{models}");
}

#[test]
fn intervals_of_means_over_graphs_are_described() {
    let html = changed(&two_groups(), &same, &|tables| {
        let of_sr = |row: &MetricRow| row.metric == "sr" && row.key.counterfactual == "world";
        change(tables, of_sr, |row: &mut MetricRow| {
            row.interval = "wilson-eff".into();
            row.n_worlds = Some(7);
        });
    });
    let method = section(&html, "method");
    assert!(method.contains("several graphs"), "{method}");
    assert!(!section(&page("two-groups", &two_groups()), "method").contains("several graphs"));
}

#[test]
fn gaps_of_arms_narrow_and_widen() {
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
                let at = |scope: &str, set: &str, metric: &str, value: f64| {
                    let pair = scope == "pair";
                    MetricRow {
                        key: AuditKey {
                            arm: arm.as_str().into(),
                            model: "gbm".into(),
                            counterfactual: set.into(),
                            sensitive: ATTRIBUTE.into(),
                            scope: scope.into(),
                            from_group: if pair { "Male" } else { "" }.into(),
                            to_group: if pair { "Female" } else { "" }.into(),
                            ..AuditKey::default()
                        },
                        metric: metric.into(),
                        value: Some(value),
                        n_rows: 5278,
                        ..MetricRow::default()
                    }
                };
                metrics.push(at("total", "", "acc", 0.8));
                metrics.push(at("total", "flip", "sr", 0.1));
                metrics.push(at("pair", "", "demp_difference", value));
                let by: f64 = value - gap[0].1;
                let selective = if arm == "try/less" { "selective_labels" } else { "" };
                comparisons.extend((value != gap[0].1).then(|| ComparisonRow {
                    arm: arm.as_str().into(),
                    model: "gbm".into(),
                    against_arm: "try/base".into(),
                    sensitive: ATTRIBUTE.into(),
                    scope: "pair".into(),
                    from_group: "Male".into(),
                    to_group: "Female".into(),
                    metric: "demp_difference".into(),
                    difference: Some(by),
                    lo: Some(by - 0.008),
                    hi: Some(by + 0.009),
                    level: Some(0.95),
                    n_rows: 5278,
                    flags: selective.into(),
                    // Trained again, and too few of the trainings give the change.
                    training_repeats: (arm == "try/round").then_some(3),
                    ..ComparisonRow::default()
                }));
            }
            write_rows(tables, &metrics).unwrap();
            let added = |arm: &str, n: i64| ArmRow {
                arm: arm.into(),
                n_rows: 100,
                n_synthetic: n,
                ..ArmRow::default()
            };
            let arms = [added("try/base", 0), added("try/all", 7), added("try/round", 0)];
            write_rows(tables, &arms).unwrap();
            write_rows(tables, &comparisons).unwrap();
        },
    );
    let text = section(&html, "augmentation");
    for said in [
        "narrows by 4.30 points (3.50 to 5.20), from −28.3 points to −24.0 points",
        "widens by 1.70 points (0.80 to 2.50), from −28.3 points to −30.0 points",
        "is reversed, from −28.3 points to +10.0 points",
        "change +4.30 points (+3.50 to +5.20) the gap is narrower",
        "the gap is wider",
        "the gap is reversed",
        "So the arms are measured on 5278 people: the folds go over all 45 222 rows kept, while \
         the rest of this page is about the 16 281",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert_eq!(text.matches("too few trainings give this change").count(), 1, "{text}");
    assert!(text.contains("it has no such range and is not bold"), "{text}");
    // One arm depends on labels that are missing for some more than for others: its sentence says
    // so, and its cell.
    let missing = "labels are missing for some people more often than for others";
    let sentence = format!("from −28.3 points to −30.0 points ({missing}).");
    let cell = format!("change −1.70 points (−2.50 to −0.80) {missing}");
    assert!(text.contains(&sentence) && text.contains(&cell), "{text}");
    assert_eq!(text.matches(missing).count(), 2, "{text}");
    assert_eq!(text.matches("found no rows to add").count(), 1, "{text}");
    assert!(text.contains("round nothing found no rows to add and is equal to the base"), "{text}");
}

#[test]
fn people_whom_a_direction_does_not_count_are_left_out() {
    let sample = FolderSample { left_out: false, ..two_groups() };
    let html = changed(&sample, &same, &|tables| {
        let meant = |row: &MetricRow| {
            row.metric == "sr"
                && row.key.counterfactual == "world"
                && row.key.scope == "direction"
                && row.key.from_group == "Male"
        };
        change(tables, meant, |row: &mut MetricRow| {
            row.n_rows = 989;
        });
    });
    let text = section(&html, "left-out");
    assert!(text.contains("Male → Female, set world, model gbm 1029 989 40 (3.89 %)"), "{text}");
    assert!(!text.contains("set flip, model gbm 10"), "{text}");
    assert!(!section(&page("all-counted", &sample), "left-out").contains("does not count"));
}

#[test]
fn ratios_say_how_they_are_turned_and_gates_that_ask_in_reverse_are_told() {
    let sample = FolderSample {
        gates: vec![("gap", "pass", "fail", "demp_difference", Some((1, 0)), 1)],
        ..two_groups()
    };
    let html = changed(&sample, &same, &|tables| {
        change(
            tables,
            |_: &GateRow| true,
            |row: &mut GateRow| {
                row.scope = "pair".into();
                row.counterfactual = "".into();
            },
        );
    });
    let text = section(&html, "groups");
    assert!(text.contains("disparate impact DI, Female over Male"), "{text}");
    let note = "A gate uses the demographic parity difference DemP as Female minus Male: its \
                value there is the value of this pair with the opposite sign.";
    assert!(text.contains(note), "{text}");
    assert!(!section(&page("two-groups", &two_groups()), "groups").contains("A gate uses"));
    let three = FolderSample { groups: names(&["a", "b", "c"]), cells: spread, ..two_groups() };
    assert!(section(&page("three-groups", &three), "groups").contains("DI second over first"));
}

#[test]
fn a_command_says_where_data_must_be() {
    let text = section(&page("two-groups", &two_groups()), "provenance");
    assert!(
        text.contains("name that folder by --data-dir or CFAUDIT_DATA if it is not data"),
        "{text}"
    );
    assert!(
        text.contains("If no files of the catalog are available, generated rows replace them"),
        "{text}"
    );
    let stand_in =
        section(&page("stand-in", &FolderSample { stand_in: true, ..two_groups() }), "provenance");
    assert!(stand_in.contains("In this run there were no files of the catalog"), "{stand_in}");
}

#[test]
fn scores_that_do_not_move_are_not_drawn() {
    let html = changed(&two_groups(), &same, &|tables| {
        let meant = |row: &MetricRow| {
            row.metric == "rmscd"
                && row.key.counterfactual == "flip"
                && row.key.scope == "direction"
                && row.key.from_group == "Male"
        };
        change(tables, meant, |row: &mut MetricRow| {
            row.value = Some(0.0);
        });
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
    assert!(html.contains(r#"<table class="matrix wide">"#) && html.contains("<b>10 019</b>"));
    assert!(!page("two-groups", &two_groups()).contains("matrix wide"));
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
    assert!(!page("three-groups", &three).contains("of both directions"));
}

#[test]
fn graphs_that_determine_variables_and_means_outside_of_their_interval() {
    let html = changed(&two_groups(), &same, &|tables| {
        let sets = ["graph/low", "graph/high", "graph/forbid"];
        let graph = |set: &'static str, bootstrap: i64| {
            let odd = set != "graph/forbid" || bootstrap == 1;
            GraphRow {
                counterfactual: set.into(),
                sensitive: ATTRIBUTE.into(),
                bootstrap,
                drawn: "all".into(),
                determined: if odd { "workclass,job" } else { "" }.into(),
                graphs: 1000,
                attribute_follows: if set == "graph/low" { 989 } else { 10 },
                ..GraphRow::default()
            }
        };
        let graphs: Vec<_> =
            sets.into_iter().flat_map(|set| [0, 1, 2].map(|b| graph(set, b))).collect();
        write_rows(tables, &graphs).unwrap();
        let node =
            |set: &'static str, name: &str, level: &str, below: f64, by: f64, ends: (f64, f64)| {
                NodeRow {
                    counterfactual: set.into(),
                    sensitive: ATTRIBUTE.into(),
                    node: name.into(),
                    level: level.into(),
                    from_group: "Male".into(),
                    to_group: "Female".into(),
                    below_sensitive: below,
                    r#move: by,
                    move_lo: Some(ends.0),
                    move_hi: Some(ends.1),
                    ..NodeRow::default()
                }
            };
        let nodes = sets.into_iter().flat_map(|set| {
            [
                node(set, ATTRIBUTE, "Female", 1.0, 1.0, (1.0, 1.0)),
                node(set, "age", "", 0.0107, -0.0612, (0.0, 0.0)),
                node(set, "hours", "", 0.5, 2.0, (2.5, 3.0)),
                node(set, "pay", "", 1.0, 2.0, (1.5, 3.0)),
                node(set, "workclass", "missing", 1.0, 0.02, (0.01, 0.03)),
                node(set, "job", "missing", 1.0, 0.02, (0.01, 0.03)),
            ]
        });
        let edge = |set: &'static str, share: f64| EdgeRow {
            counterfactual: set.into(),
            sensitive: ATTRIBUTE.into(),
            cause: "age".into(),
            effect: ATTRIBUTE.into(),
            frequency: share,
            ..EdgeRow::default()
        };
        write_rows(tables, &[edge("graph/low", 0.989), edge("graph/high", 0.01)]).unwrap();
        write_rows(tables, &nodes.collect::<Vec<_>>()).unwrap();
    });
    let text = section(&html, "graphs");
    for said in [
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
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(!text.contains("graphs 0 to 0") && !text.contains("in graph/high, in "), "{text}");
}

/// A verdict is told with the statements without which it is another, in words of its own where
/// none is, and where nothing is known.
#[test]
fn statements_that_a_verdict_needs_are_told() {
    let html = changed(&two_groups(), &same, &|tables| {
        let [set, from, to] = ["graph/high", "Male", "Female"];
        let graph = GraphRow {
            counterfactual: set.into(),
            sensitive: ATTRIBUTE.into(),
            drawn: "all".into(),
            graphs: 1,
            ..GraphRow::default()
        };
        write_rows(tables, &[graph]).unwrap();
        let node = NodeRow {
            counterfactual: set.into(),
            sensitive: ATTRIBUTE.into(),
            node: ATTRIBUTE.into(),
            from_group: from.into(),
            to_group: to.into(),
            ..NodeRow::default()
        };
        write_rows(tables, &[node]).unwrap();
        let row = |gate: &str, statement: &str, verdict: &str, value: f64| NeededKnowledgeRow {
            key: JudgedRateKey {
                model: "gbm".into(),
                counterfactual: set.into(),
                sensitive: ATTRIBUTE.into(),
                from_group: from.into(),
                to_group: to.into(),
                metric: "psr".into(),
                gate: gate.into(),
            },
            statement: statement.into(),
            verdict: verdict.into(),
            value: (!verdict.is_empty()).then_some(value),
            attribute_follows: (value == 0.21).into(),
            undefined: if verdict.is_empty() { "model_not_linear" } else { "" }.into(),
            ..NeededKnowledgeRow::default()
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
    for said in [
        "alone, gbm, graph/high, Male → Female, positive switch rate, 10.0 %: No single statement \
         decides this pass.",
        "needs, gbm, graph/high, Male → Female, positive switch rate, 30.0 %: Without the \
         statement age before job this fail becomes a pass (2.00 %). Without the statement no \
         effects among age, job this fail becomes open (21.0 %; there group of people follows from \
         other columns).",
        "what the verdict would be without a statement is not known",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
}

/// Graphs of one bootstrap have no refits: the page calls no interval one of refits, and warns.
#[test]
fn graphs_that_were_fitted_once_are_told() {
    let told = |sets: &[&'static str], bootstraps: i64, within: Option<f64>| {
        let html = changed(&two_groups(), &same, &|tables| {
            let graph = |set: &'static str, bootstrap: i64| GraphRow {
                counterfactual: set.into(),
                sensitive: ATTRIBUTE.into(),
                bootstrap,
                drawn: "all".into(),
                graphs: 2,
                ..GraphRow::default()
            };
            let graphs = sets.iter().flat_map(|set| (0..bootstraps).map(move |of| graph(set, of)));
            write_rows(tables, &graphs.collect::<Vec<_>>()).unwrap();
            let node = |set: &&'static str| NodeRow {
                counterfactual: (*set).into(),
                sensitive: ATTRIBUTE.into(),
                node: ATTRIBUTE.into(),
                level: "Female".into(),
                from_group: "Male".into(),
                to_group: "Female".into(),
                below_sensitive: 1.0,
                r#move: 1.0,
                ..NodeRow::default()
            };
            write_rows(tables, &sets.iter().map(node).collect::<Vec<_>>()).unwrap();
            let people = |from: &'static str, to: &'static str, mean: Option<f64>| WorldPeopleRow {
                model: "gbm".into(),
                counterfactual: "world".into(),
                sensitive: ATTRIBUTE.into(),
                from_group: from.into(),
                to_group: to.into(),
                n: mean.map_or(0, |_| 1200),
                variance_mean: mean,
                variance_lo: mean.map(|_| 0.001),
                variance_hi: mean.map(|_| 0.018),
            };
            // Of the second direction there is one graph.
            let people = [people("Male", "Female", Some(0.005)), people("Female", "Male", None)];
            write_rows(tables, &people).unwrap();
            let of = |row: &MetricRow| row.key.counterfactual == "world" && row.metric == "nsr";
            change(tables, of, |row| {
                (row.world_lo, row.world_hi) = (Some(0.1), Some(0.3));
                (row.between_lo, row.between_hi) = (Some(0.1), Some(0.3));
                (row.within_lo, row.within_hi) = (within, within);
                row.n_worlds = Some(2 * bootstraps);
            });
        });
        section(&html, "graphs")
    };
    let once = told(&["world"], 1, None);
    for said in [
        "Few bootstraps: world is based on a single fit. A single fit does not show how much \
         refits of the coefficients, or graphs of other rows, change a value. Use 100",
        "graphs of a single bootstrap 10.0 to 30.0",
        "other graphs 10.0 to 30.0",
        "variance of the score of one person over the graphs, from 0 to 0.02",
        "Direction world Male → Female 0.00500 0.00100 to 0.01800 1200 people Edges",
    ] {
        assert!(once.contains(said), "{said}\n{once}");
    }
    assert!(!once.contains("graphs and refits 10.0"), "{once}");
    let several = told(&["world"], 50, Some(0.2));
    assert!(several.contains("graphs and refits 10.0 to 30.0"), "{several}");
    assert!(!several.contains("Few bootstraps") && !several.contains("single fit"), "{several}");
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
                        sensitive: ATTRIBUTE.into(),
                        bootstrap,
                        drawn: "all".into(),
                        graphs: 2,
                        attribute_follows: follows,
                        ..GraphRow::default()
                    }
                })
            });
            write_rows(tables, &graphs.collect::<Vec<_>>()).unwrap();
            let nodes = sets.map(|set| NodeRow {
                counterfactual: set.into(),
                sensitive: ATTRIBUTE.into(),
                node: ATTRIBUTE.into(),
                level: "Female".into(),
                from_group: "Male".into(),
                to_group: "Female".into(),
                below_sensitive: 1.0,
                r#move: 1.0,
                ..NodeRow::default()
            });
            write_rows(tables, &nodes).unwrap();
            let edges =
                [("age", 0.5), ("job", 0.25), ("pay", 0.02)].map(|(cause, share)| EdgeRow {
                    counterfactual: "graph/low".into(),
                    sensitive: ATTRIBUTE.into(),
                    cause: cause.into(),
                    effect: ATTRIBUTE.into(),
                    frequency: share,
                    ..EdgeRow::default()
                });
            write_rows(tables, &edges).unwrap();
        });
        section(&html, "graphs")
    };
    let known = "of the graphs group of people follows from other variables (age in 50.0 %, job in \
                 25.0 %). If no recorded";
    assert!(
        text.contains(&format!("Contradicts domain knowledge: in graph/low, in 75.0 % {known}")),
        "{text}"
    );
    assert!(text.contains("Few bootstraps: graph/high is based on 3, graph/low on 12."), "{text}");
    assert!(!text.contains("A single fit"), "{text}");
}

#[test]
fn a_metric_with_one_word_for_name_and_symbol_stands_once_in_the_glossary() {
    let folder = tempfile::tempdir().unwrap();
    two_groups().write(folder.path());
    let same_word = |id: &str| {
        let entry = glossary(id)?;
        Some(GlossaryEntry { symbol: entry.name.clone(), ..entry })
    };
    let html = crate::report::render(folder.path(), None, &same_word).unwrap().annex.unwrap();
    assert!(
        html.contains("<dt>negative switch rate</dt>")
            && !html.contains("<dt>negative switch rate <code>")
    );
    assert!(annex(folder.path()).contains("<dt>negative switch rate <code>NSR</code></dt>"));
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
            let of = |row: &GateRow| row.gate == "women-keep-approvals";
            change(tables, of, |row: &mut GateRow| row.rule = rule.into());
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
        let of = |row: &MetricRow| row.key.counterfactual == "world" && row.value.is_some();
        change(tables, of, |row: &mut MetricRow| {
            (row.fit_lo, row.fit_hi, row.fit_repeats) = (Some(0.1), Some(0.3), Some(20));
        });
        let of = |row: &MetricRow| row.key.counterfactual == "flip" && row.value.is_some();
        change(tables, of, |row: &mut MetricRow| {
            (row.training_lo, row.training_hi) = (Some(0.05), Some(0.4));
        });
        let of = |row: &GateRow| row.gate == "women-keep-approvals";
        change(tables, of, |row: &mut GateRow| row.rule = "at_most, fit".into());
    });
    for said in [
        "other fits 10.0 to 30.0 %",
        "other trainings 5.0 to 40.0 %",
        "Other fits: 20 fits of the set on rows drawn again with replacement. The interval next to",
        "the range over fits on rows drawn again decides; it does not include the sampling",
    ] {
        assert!(html.contains(said), "{said}");
    }
}

/// Values that depend on labels which are missing for some people more often than for others are
/// marked.
#[test]
fn comparisons_by_selective_labels_are_marked() {
    let compared = |flags: &str| {
        let html = changed(&two_groups(), &same, &|tables| {
            let values = ComparisonRow {
                model: "gbm".into(),
                against: "other".into(),
                sensitive: ATTRIBUTE.into(),
                scope: "total".into(),
                metric: "acc".into(),
                difference: Some(0.03),
                model_value: Some(0.8),
                against_value: Some(0.77),
                flags: flags.into(),
                ..ComparisonRow::default()
            };
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
            let of = |row: &GateRow| row.gate == "women-keep-approvals";
            change(tables, of, |row: &mut GateRow| {
                row.counterfactual = "world".into();
                row.rule = "rise_at_most".into();
            });
            let node = NodeRow {
                counterfactual: "world".into(),
                sensitive: ATTRIBUTE.into(),
                node: ATTRIBUTE.into(),
                level: "Female".into(),
                from_group: "Male".into(),
                to_group: "Female".into(),
                below_sensitive: 1.0,
                r#move: 1.0,
                ..NodeRow::default()
            };
            let edge = EdgeRow {
                counterfactual: "world".into(),
                sensitive: ATTRIBUTE.into(),
                cause: "age".into(),
                effect: ATTRIBUTE.into(),
                frequency: share,
                ..EdgeRow::default()
            };
            let graph = GraphRow {
                counterfactual: "world".into(),
                sensitive: ATTRIBUTE.into(),
                drawn: "all".into(),
                graphs: 1000,
                attribute_follows: (share * 1000.0) as i64,
                ..GraphRow::default()
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
    assert!(
        !text.contains("Difference, Male minus Female") && text.contains("Ratio, Male to Female"),
        "{text}"
    );
    assert!(section(&html, "method").contains("A dash in a table no value"));
    assert!(
        section(&page("two-groups", &two_groups()), "groups")
            .contains("Difference, Male minus Female")
    );
}

#[test]
fn clear_changes_come_first_and_what_does_not_differ_is_one_sentence() {
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
                key: AuditKey {
                    model: model.into(),
                    counterfactual: "flip".into(),
                    sensitive: ATTRIBUTE.into(),
                    scope: "direction".into(),
                    from_group: "Male".into(),
                    to_group: "Female".into(),
                    ..AuditKey::default()
                },
                metric: "nsr".into(),
                status: "compared".into(),
                old_value: Some(0.1),
                new_value: Some(0.1 + by),
                difference: Some(by),
                lo: Some(by - 0.01),
                hi: Some(by + 0.01),
                level: Some(0.95),
                clear: i64::from(by > 0.01),
                ..ChangeRow::default()
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
    assert!(
        text.contains("paired: 16 281 people") && text.contains("Values whose meaning changed"),
        "{text}"
    );
    assert!(text.contains("models.gbm.file a b none"), "{text}");
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
    assert!(
        switches.contains("to the group of the column; the shade")
            && switches.contains("Factual group hungarian switzerland va"),
        "{switches}"
    );
    let groups = section(&html, "groups");
    assert!(groups.contains("The smallest groups: ") && groups.contains(" people; "), "{groups}");
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
    assert!(html.contains(
        "<a class=\"metric\" href=\"#metric-rmscd\" title=\"root mean square counterfactual \
             difference\"><code>RMSCD</code></a>"
    ));
    assert!(html.contains(r#"<div id="metric-rmscd"><dt>"#));
    let rates = &html[html.find("People whom any other group").unwrap()..];
    assert!(rates.contains("<code>SR_<wbr>ANY</code>"), "{}", &rates[..600]);
    // Where the page is narrow each cell of the gates says what it is.
    assert!(html.contains(r#"<td data-head="Limit">"#) && !html.contains(r#"data-head="Male"#));
    assert!(section(&html, "scores").contains("below each value its 95 % interval"));
}

#[test]
fn fitted_thresholds_stand_in_the_drawings_of_scores() {
    let guides = |html: &str| section(html, "scores").matches("cut-off ").count();
    let given = guides(&changed(&two_groups(), &same, &|_| ()));
    let fitted = |values: &[f64]| {
        let fold = |(fold, value): (i64, &f64)| ThresholdRow {
            model: "gbm".into(),
            fold,
            threshold: *value,
            ..ThresholdRow::default()
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
