//! Invariants of strategies: the same counterfactuals for any batches and threads; presets,
//! decorrelation and verdicts.

use super::*;
use crate::counterfactual::conditional::Conditioning;
use crate::counterfactual::decorrelate::{DecorrelatedReference, TwinGenerator};
use crate::num::seed::RandomStream;

fn people() -> Layout {
    layout(&["g:a,b,c", "x", "k:int", "o:ord", "f:n,y", "h:p,q,r,s", "e:m,w"])
}

/// Seeded rows in which everything depends on the group, some of it missing, some groups not
/// declared.
fn sample(layout: &Layout, n: usize, seed: u64) -> ReferenceBatch {
    let mut stream = RandomStream::new(seed, "promises");
    let mut lines = Vec::new();
    for _ in 0..n {
        let g = stream.u64() % 4;
        let shift = g as f64;
        let x = if stream.u01() < 0.05 { f64::NAN } else { stream.normal() + shift };
        let k = (10.0 * stream.u01() + 3.0 * shift).floor();
        let o = (stream.u01() * 4.0).floor() + f64::from(u8::from(g == 2));
        let f = if stream.u01() < 0.2 + 0.25 * shift { "y" } else { "n" };
        let h = ["p", "q", "r", "-", "s"][(stream.u64() % (3 + g.min(2))) as usize];
        let e = if stream.u01() < 0.5 - 0.1 * shift { "m" } else { "w" };
        let class =
            ["0", "1", "-"][usize::from(stream.u01() < 0.3) + usize::from(stream.u01() < 0.02)];
        lines.push(format!("{} {x} {k} {o} {f} {h} {e} {class}", ["a", "b", "c", "-"][g as usize]));
    }
    let table: Vec<(&str, usize)> = lines.iter().map(|line| (line.as_str(), 1)).collect();
    rows(layout, &table)
}

fn part(batch: &ReferenceBatch, positions: &[usize]) -> ReferenceBatch {
    let groups =
        batch.groups.iter().map(|groups| positions.iter().map(|&i| groups[i]).collect()).collect();
    ReferenceBatch {
        keys: vec![],
        rows: batch.rows.take(positions),
        groups,
        classes: positions.iter().map(|&i| batch.classes[i]).collect(),
    }
}

const KNOBS: &str = r#", "threshold": 0.08, "depth": 2, "cfs": "multiple",
    "keep_within": {"centroid_sd": 1.2}, "range": {"k": [0, 14]}, "direction": {"x": "up"},
    "decorrelate": [{"sensitive": "e", "move": ["x"]}]"#;

/// One thread and one batch against eight threads and batches of 37 rows, of one generator.
#[test]
fn batches_and_threads_change_nothing() {
    let layout = people();
    let samples = sample(&layout, 500, 2);
    let mover = mover(&plausible(KNOBS), &layout, &sample(&layout, 1500, 1));
    let mut n_more = 0;
    for to in 0..3 {
        let whole = generate(&mover, &layout, &samples, to);
        assert!(whole.valid.iter().any(|&v| v) && whole.valid.iter().any(|&v| !v));
        n_more += whole.cf_index.iter().filter(|&&k| k > 0).count();
        let starts: Vec<usize> = (0..500).step_by(37).collect();
        let (mover, layout, samples) = (&mover, &layout, &samples);
        let batch = |start: usize| {
            let positions: Vec<usize> = (start..(start + 37).min(500)).collect();
            let mut made = generate(mover, layout, &part(samples, &positions), to);
            made.parent.iter_mut().for_each(|parent| *parent += start);
            made
        };
        let mut batches: Vec<GeneratedBatch> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                starts.iter().rev().map(|&start| scope.spawn(move || batch(start))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        batches.reverse();
        let mut joined = batches.remove(0);
        for batch in &batches {
            let words = (rows_in_words(layout, &joined), rows_in_words(layout, batch));
            joined.parent.extend(&batch.parent);
            joined.cf_index.extend(&batch.cf_index);
            joined.counters.extend(&batch.counters);
            joined.valid.extend(&batch.valid);
            joined.plausibility.as_mut().unwrap().extend(batch.plausibility.as_ref().unwrap());
            joined.rows = crate::data::FeatureRows::gather(
                &[&joined.rows, &batch.rows],
                (0..joined.rows.n).map(|i| (0, i)).chain((0..batch.rows.n).map(|i| (1, i))),
            );
            assert_eq!(rows_in_words(layout, &joined), [words.0, words.1].concat());
        }
        assert_eq!(rows_in_words(layout, &joined), rows_in_words(layout, &whole));
        assert_eq!(
            (joined.parent, joined.cf_index, joined.counters),
            (whole.parent, whole.cf_index, whole.counters)
        );
        assert_eq!((joined.valid, joined.plausibility), (whole.valid, whole.plausibility));
    }
    assert!(n_more > 50, "{n_more}");
}

/// The fitted state does not depend on how the reference is cut into batches.
#[test]
fn the_cut_of_the_reference_changes_nothing() {
    let layout = people();
    let whole = sample(&layout, 2500, 3);
    let parts: Vec<ReferenceBatch> =
        [0..700, 700..701, 701..2500].map(|range| part(&whole, &range.collect::<Vec<_>>())).into();
    let plan = plausible(KNOBS);
    let fit = |groups: Vec<ReferenceBatch>| {
        let fitted = plan
            .fit(moved(&layout, &VariableOptions::default()), &ReferenceRows::in_memory(groups))
            .unwrap();
        serde_json::to_string(&fitted).unwrap()
    };
    assert!(fit(vec![whole]) == fit(parts));
}

/// Every row has a twin in the other group of `e`, which differs only in x; so `e` no longer
/// depends on any other column.
#[test]
fn decorrelation_makes_independent() {
    let layout = layout(&["e:m,w", "g:a,b", "x", "h:p,q"]);
    let reference = rows(
        &layout,
        &[
            ("m a 1 p 1", 30),
            ("m b 2 p 0", 10),
            ("w a 3 q 1", 12),
            ("w b 5 p 0", 40),
            ("- b 5 p 0", 3),
            ("w a 3 q -", 2),
        ],
    );
    let memory = ReferenceRows::in_memory(vec![reference.clone()]);
    let plan = plan_of::<PlausibleBlock>(r#"{"move": ["x"], "condition_on": "label"}"#);
    let twins = TwinGenerator {
        position: 0,
        attribute: layout.attributes[0].clone(),
        mover: crate::counterfactual::map_flip::MapFlipGenerator::new(
            plan.fit(moved(&layout, &VariableOptions::default()), &memory).unwrap(),
        ),
    };
    let enlarged = DecorrelatedReference { rows: &memory, twins: vec![twins] }
        .gather(
            Vec::new,
            |all, group| all.push(group.clone()),
            |all, mut more| all.append(&mut more),
        )
        .unwrap();
    let enlarged = &enlarged[0];
    // Rows without a separate group or without a class have no twin.
    assert_eq!(enlarged.rows.n, reference.rows.n + 92);
    let count = |e: u32, g: u16, h: u32| {
        let is = |&i: &usize| {
            enlarged.rows.codes(0)[i] == e
                && enlarged.groups[1][i] == g
                && enlarged.rows.codes(3)[i] == h
        };
        (0..enlarged.rows.n).filter(|i| is(i) && enlarged.classes[*i].is_some()).count()
    };
    for (g, h, n) in [(0, 0, 30), (0, 1, 12), (1, 0, 50), (1, 1, 0)] {
        assert_eq!((count(0, g, h), count(1, g, h)), (n, n));
    }
    for i in 0..enlarged.rows.n {
        let own = enlarged.groups[0][i];
        assert!(own == crate::data::MISSING_GROUP || u32::from(own) == enlarged.rows.codes(0)[i]);
    }
    // x of the twins comes from the other group of the same class.
    assert_eq!(
        enlarged.rows.numbers(2)[reference.rows.n..].iter().filter(|&&x| x == 3.0).count(),
        30
    );
}

/// The changed attribute keeps its value in the twins, also if all columns may move; it still
/// affects which levels are likely in them.
#[test]
fn twins_stay_in_the_group_that_is_changed() {
    let layout = layout(&["g:a,b", "e:m,w", "c:u,v,w", "x"]);
    let table = [
        ("a m u 1 1", 40),
        ("a m v 2 1", 20),
        ("b w w 3 1", 40),
        ("b w v 4 1", 12),
        ("a w v 5 1", 11),
        ("b m u 1 1", 6),
    ];
    let reference = ReferenceRows::in_memory(vec![rows(&layout, &table)]);
    let fit = |moves: &str| {
        let plan =
            plausible(&format!(r#", "decorrelate": [{{"sensitive": "e", "move": {moves}}}]"#));
        plan.fit(moved(&layout, &VariableOptions::default()), &reference).unwrap()
    };
    assert_eq!(fit(r#""all""#), fit(r#"["c", "x"]"#));
    assert_ne!(fit(r#""all""#), fit(r#"["x"]"#));
}

/// A preset is the same as its settings, and a setting in the job overrides it.
#[test]
fn presets_are_their_knobs() {
    let printed = plausible(r#", "preset": "as_printed""#);
    let knobs = r#", "cdf": "weak", "min_stratum": 1, "new_value": "mode",
        "flip": {"rule": "absolute", "min_support": 1, "impossible": 0, "impossible_ratio": "none",
        "min_expected": 0, "impossible_scope": "group"}"#;
    assert_eq!(printed, plausible(knobs));
    assert_eq!(plausible(&format!(r#", "preset": "as_printed"{knobs}"#)), printed);
    let defaults = r#", "threshold": 0.5, "depth": 2, "cdf": "midrank", "min_stratum": 10,
        "new_value": "likely", "max_cfs": 8, "flip": {"rule": "directed", "min_support": 10,
        "impossible": 0.01, "impossible_ratio": 0.05, "min_expected": 3}"#;
    assert_eq!(plausible(""), plausible(defaults));
    assert_eq!(plausible(&format!(r#", "preset": "as_printed"{defaults}"#)), plausible(""));
    let greedy =
        |knobs: &str| plan_of::<GreedyBlock>(&format!(r#"{{"condition_on": "none"{knobs}}}"#));
    let relation = r#", "relation": {"test": "ks", "alpha": 0.05, "min_effect": 0}"#;
    assert_eq!(greedy(""), greedy(relation));
    assert_eq!(greedy("").condition(), Conditioning::Nothing);
    assert_ne!(greedy(r#", "preset": "as_printed""#).relation, greedy("").relation);
    let tested = greedy(&format!(r#", "preset": "as_printed"{relation}"#));
    assert_eq!(tested.relation, greedy("").relation);
}

/// Settings survive writing and reading; words without a meaning are refused.
#[test]
fn knobs_survive_being_written() {
    for condition in [r#""label""#, r#""none""#, r#"{"label":"raw"}"#, r#"{"prediction":"live"}"#] {
        for moves in [r#""all""#, r#"["x","f"]"#] {
            let text = format!(
                r#"{{"move":{moves},"condition_on":{condition},
                "flip":{{"impossible_ratio":"none"}}}}"#
            );
            let knobs: PlausibleBlock = serde_json::from_str(&text).unwrap();
            let written = serde_json::to_string(&knobs).unwrap();
            assert!(
                written.starts_with(&format!(r#"{{"move":{moves},"condition_on":{condition}"#)),
                "{written}"
            );
            assert_eq!(serde_json::from_str::<PlausibleBlock>(&written).unwrap(), knobs);
        }
    }
    for wrong in [r#""everything""#, r#"{"prediction":""}"#, r#"{"label":"binary"}"#, "3"] {
        assert!(
            serde_json::from_str::<PlausibleBlock>(&format!(
                r#"{{"move":"all","condition_on":{wrong}}}"#
            ))
            .is_err(),
            "{wrong}"
        );
    }
}

/// Sections that are too small or do not vary give no verdict, and a counterfactual without a
/// verdict is valid.
#[test]
fn no_verdict_without_a_section() {
    let layout = layout(&["g:a,b", "x", "z"]);
    let spread: Vec<String> = (0..40).map(|k| format!("a {} {} 1", k % 7, k % 5)).collect();
    let mut table: Vec<(&str, usize)> = spread.iter().map(|line| (line.as_str(), 1)).collect();
    table.extend([("b 3 3 1", 30), ("b 100 2 0", 3), ("a 100 2 0", 3)]);
    let plan = plan_of::<PlausibleBlock>(
        r#"{"move": ["x"], "condition_on": "label", "keep_within": {"centroid_sd": 1.5}}"#,
    );
    let mover = mover(&plan, &layout, &rows(&layout, &table));
    let made = generate(&mover, &layout, &rows(&layout, &[("a 1 1 1", 1), ("a 1 1 0", 1)]), 1);
    assert_eq!((made.plausibility, made.valid), (Some(vec![None, None]), vec![true, true]));
    // In the section of group a: z stays, near the centroid or far from it.
    let made = generate(&mover, &layout, &rows(&layout, &[("b 3 3 1", 1), ("b 3 30 1", 1)]), 0);
    assert_eq!(made.valid, [true, false]);
}

/// Among several counterfactuals of a row only the nearest of the valid ones stays valid.
#[test]
fn the_best_of_several() {
    let layout = people();
    let (reference, samples) = (sample(&layout, 1500, 1), sample(&layout, 300, 2));
    let knobs = |select: &str| {
        format!(
            r#", "threshold": 0.1, "cfs": "multiple",
            "keep_within": {{"centroid_sd": 1.2, "select": "{select}"}}"#
        )
    };
    let all =
        generate(&mover(&plausible(&knobs("all")), &layout, &reference), &layout, &samples, 1);
    let best =
        generate(&mover(&plausible(&knobs("best")), &layout, &reference), &layout, &samples, 1);
    assert_eq!(all.plausibility, best.plausibility);
    let distances = all.plausibility.unwrap();
    let mut several = 0;
    for parent in 0..300 {
        let of_row: Vec<usize> =
            (0..all.parent.len()).filter(|&j| all.parent[j] == parent).collect();
        let valid: Vec<usize> = of_row.iter().copied().filter(|&j| all.valid[j]).collect();
        let chosen: Vec<usize> = of_row.into_iter().filter(|&j| best.valid[j]).collect();
        assert_eq!(chosen.len(), valid.len().min(1));
        assert!(chosen.iter().all(|&c| valid.iter().all(|&j| distances[c] <= distances[j])));
        several += usize::from(valid.len() > 1);
    }
    assert!(several > 10);
}

/// Rows of the target group, without a group, and without a class have no counterfactuals; only the
/// last are counted here.
#[test]
fn rows_without_counterfactuals() {
    let layout = layout(&["g:a,b", "x"]);
    let reference = rows(&layout, &[("a 1 1", 10), ("b 2 1", 10)]);
    let samples = rows(&layout, &[("a 1 1", 1), ("b 2 1", 1), ("- 3 1", 1), ("a 1 -", 2)]);
    let made = generate(&mover(&plausible(""), &layout, &reference), &layout, &samples, 1);
    assert_eq!(made.parent, [0]);
    let pooled = plan_of::<PlausibleBlock>(r#"{"move": "all", "condition_on": "none"}"#);
    let made = generate(&mover(&pooled, &layout, &reference), &layout, &samples, 1);
    assert_eq!(made.parent, [0, 3, 4]);
}

#[test]
fn a_reference_without_rows_is_refused() {
    let layout = layout(&["g:a,b", "x"]);
    let none = ReferenceRows::in_memory(vec![rows(&layout, &[])]);
    let refused =
        plausible("").fit(moved(&layout, &VariableOptions::default()), &none).unwrap_err();
    assert!(refused.to_string().starts_with("error[no-reference-rows]"), "{refused}");
    let stray = plan_of::<PlausibleBlock>(
        r#"{"move": "all", "condition_on": "label",
            "decorrelate": [{"sensitive": "age", "move": "all"}]}"#,
    );
    let rows = ReferenceRows::in_memory(vec![rows(&layout, &[("a 1 1", 1)])]);
    assert!(stray.fit(moved(&layout, &VariableOptions::default()), &rows).is_err());
}

/// Equal groups: the map is the identity and nothing flips, so a counterfactual differs only
/// in the attribute.
#[test]
fn equal_groups_change_nothing() {
    let layout = people();
    let half = sample(&layout, 400, 5);
    let mut both = half.clone();
    for (group, other) in [(0, 1_u16), (1, 0)] {
        let positions: Vec<usize> = (0..400).filter(|&i| half.groups[0][i] == group).collect();
        let mut twin = part(&half, &positions);
        twin.groups[0].fill(other);
        twin.rows.columns[0] = FeatureColumn::Code(vec![u32::from(other); positions.len()]);
        both = part(&join(&both, &twin), &(0..both.rows.n + positions.len()).collect::<Vec<_>>());
    }
    let mover = mover(&plausible(r#", "threshold": 0.01"#), &layout, &both);
    let samples = SampleBatch {
        keys: &[],
        rows: &half.rows,
        groups: &half.groups[0],
        classes: &half.classes,
    };
    let made = mover.generate(&samples, TargetGroup { attribute: &layout.attributes[0], group: 1 });
    let own_a: Vec<usize> =
        (0..made.parent.len()).filter(|&j| half.groups[0][made.parent[j]] == 0).collect();
    assert!(own_a.len() > 50 && own_a.iter().all(|&j| made.counters[j].n_changed == 0));
}

fn join(a: &ReferenceBatch, b: &ReferenceBatch) -> ReferenceBatch {
    let order = (0..a.rows.n).map(|i| (0, i)).chain((0..b.rows.n).map(|i| (1, i)));
    let groups = a.groups.iter().zip(&b.groups).map(|(x, y)| [x.as_slice(), y].concat()).collect();
    let rows = crate::data::FeatureRows::gather(&[&a.rows, &b.rows], order);
    ReferenceBatch {
        keys: vec![],
        rows,
        groups,
        classes: [a.classes.as_slice(), &b.classes].concat(),
    }
}
