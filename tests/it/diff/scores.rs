//! Changes of scores and of weighted shares: the same people are drawn for both runs.

use std::fs;

use super::{Person, Scored, audit, audit_scores, change, near, numbered, ratio_by_hand, versions};
use crate::frame::TableRecord;
use crate::work::{Says, Work};

/// Another threshold moves decisions and no score.
#[test]
fn scores_that_did_not_change_are_identical() {
    let work = Work::new();
    let people = scored()[0].clone();
    let ids: Vec<i64> = (0..1500).collect();
    audit_scores(&work, "v1", &ids, &people, ["", ""], "", 0);
    work.edit("v1.yaml", "v2.yaml", &[("column: score}}}}", "column: score}}, threshold: 0.4}}")]);
    work.cfaudit(0, "run v2.yaml --out v2 --cache cache");
    work.cfaudit(0, "diff v1 v2 --force --out page");
    let changes = work.table("page/changes");
    change(&changes, "mcd").holds("interval=identical, lo=0, hi=0");
    assert!(change(&changes, "sr").real("difference") != Some(0.0));
}

/// Two versions whose scores hardly differ: what one person gets from both goes together, so that a
/// small change is found.
pub(super) fn scored() -> [Vec<Scored>; 2] {
    let draw = |i: usize, k: u32| (i as f64 * f64::from(k).sqrt()).fract();
    let person = |i: usize, version: f64| {
        let (score, moves) = (0.1 + 0.6 * draw(i, 2), 0.2 * draw(i, 3) - 0.1);
        let score_cf = score + moves + version * (0.01 + 0.02 * draw(i, 5));
        Scored(
            usize::from(i % 5 > 1),
            draw(i, 7) > 0.5,
            score,
            score_cf,
            (1.0 + (7.0 * draw(i, 11)).floor()) / 4.0,
        )
    };
    [0.0, 1.0].map(|version| (0..1500).map(|i| person(i, version)).collect())
}

/// The change of the mean of something of women over the same people, by weight, with its 95 %
/// interval: a mean of differences.
fn mean_by_hand(
    [old, new]: &[Vec<Scored>; 2],
    weight: impl Fn(&Scored) -> f64,
    of: impl Fn(&Scored) -> f64,
) -> [f64; 3] {
    let pairs = || old.iter().zip(new).filter(|(p, _)| p.0 == 1);
    let total: f64 = pairs().map(|(p, _)| weight(p)).sum();
    let mean = pairs().map(|(a, b)| weight(a) * (of(b) - of(a))).sum::<f64>() / total;
    let variance: f64 =
        pairs().map(|(a, b)| (weight(a) * (of(b) - of(a) - mean) / total).powi(2)).sum();
    let half = 1.959_963_984_540_054 * variance.sqrt();
    [mean, mean - half, mean + half]
}

#[test]
fn score_metrics_of_the_same_people_are_subtracted() {
    for (data, weighed) in [("", false), ("  weight: weight\n", true)] {
        let work = Work::new();
        let sides = scored();
        let ids: Vec<i64> = (0..1500).map(|i| 3 * i - 700).collect();
        audit_scores(&work, "v1", &ids, &sides[0], [data, ""], "", 0);
        // In another order: people are known by their id.
        let (back, people): (Vec<i64>, Vec<Scored>) =
            ids.iter().copied().zip(sides[1].iter().copied()).rev().unzip();
        audit_scores(&work, "v2", &back, &people, [data, ""], "", 0);
        let stdout = work.cfaudit(0, "diff v1 v2 --out page").stdout;
        stdout.says(&["same people: paired: 1500 people are in both runs\n"]);
        let changes = work.table("page/changes");
        let weight = |p: &Scored| if weighed { p.4 } else { 1.0 };
        for (metric, of) in [
            ("mcd", (|p: &Scored| p.3 - p.2) as fn(&Scored) -> f64),
            ("macd", |p| (p.3 - p.2).abs()),
        ] {
            let row = change(&changes, metric);
            let [expected, lo, hi] = mean_by_hand(&sides, weight, of);
            near(row.real("difference"), expected, 1e-12);
            // The normal quantile by hand is a little less than Student's.
            near(row.real("lo"), lo, 0.002 * (hi - lo));
            near(row.real("hi"), hi, 0.002 * (hi - lo));
            row.holds("interval=student, paired=1");
        }
        // Every score metric but those of histograms, in every place.
        let shift = || {
            changes
                .of("family=shift, difference!=")
                .filter(|row| !row.text("metric").contains("_hist"))
        };
        let paired = shift().filter(|row| row.int("paired") == Some(1)).count();
        assert!(
            shift().count() >= 15 && paired * 10 >= shift().count() * 9,
            "{paired} of {}",
            shift().count()
        );
        work.read("page/diff.html")
            .says(&["of score metrics from what each person adds to both values"]);
        assert_eq!(
            work.cfaudit(0, "diff v1 v2 --json --all").stdout,
            work.cfaudit(0, "diff v1 v2 --json --all").stdout
        );

        // Without outcomes the same change is far less sure.
        let nsr = change(&changes, "mcd");
        fs::remove_file(work.path("v1/rows/outcomes.parquet")).unwrap();
        work.cfaudit(0, "diff v1 v2 --out unpaired");
        let unpaired = work.table("unpaired/changes");
        let alone = change(&unpaired, "mcd");
        alone.holds("interval=mover, paired=0");
        let width = |row: &TableRecord<'_>| row.real("hi").unwrap() - row.real("lo").unwrap();
        assert!(width(&alone) > 3.0 * width(&nsr), "{} and {}", width(&alone), width(&nsr));
    }
}

#[test]
fn people_with_weights_are_drawn_together() {
    let work = Work::new();
    let sides = versions();
    let ids = numbered(&sides[0]);
    let weight = |i: usize| (1 + i * i % 13) as f64 / 2.0;
    let score = |yes: bool| if yes { 0.9 } else { 0.1 };
    for (out, side) in ["v1", "v2"].iter().zip(&sides) {
        let people = side
            .iter()
            .enumerate()
            .map(|(i, p)| Scored(p.0, p.1, score(p.2), score(p.3), weight(i)));
        audit_scores(
            &work,
            out,
            &ids,
            &people.collect::<Vec<_>>(),
            ["  weight: weight\n", ""],
            "",
            0,
        );
    }
    work.cfaudit(0, "diff v1 v2 --out page");
    let changes = work.table("page/changes");
    let nsr = change(&changes, "nsr");
    let all = |side: &[Person]| side.iter().copied().map(Some).collect::<Vec<_>>();
    let [expected, lo, hi] = ratio_by_hand([&all(&sides[0]), &all(&sides[1])], weight);
    near(nsr.real("difference"), expected, 1e-12);
    near(nsr.real("lo"), lo, 0.1 * (hi - lo));
    near(nsr.real("hi"), hi, 0.1 * (hi - lo));
    nsr.holds("interval=newcombe-eff, paired=1");
    let of_men = |row: &TableRecord<'_>| {
        [row.text("metric"), row.text("scope"), row.text("from_group")]
            == ["nsr", "direction", "Male"]
    };
    changes.records().find(of_men).unwrap().holds("interval=identical, clear=0");
    // Against a run without weights nothing is paired, and nothing means the same.
    audit(&work, "v3", &ids, &sides[1], "", "", 0);
    let stdout = work.cfaudit(0, "diff v1 v3").stdout;
    stdout
        .says(&["not paired: people have weights in only one of the runs", "comparable: in part"]);
}
