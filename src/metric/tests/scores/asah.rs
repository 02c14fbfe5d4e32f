//! AUC, its variance and the comparison of two models on the data `aSAH` of the R package pROC,
//! against the figures of pROC's own tests.
//!
//! The data are GPL and not part of this tree. In R, with the Debian package `r-cran-proc` or the
//! package of CRAN, `write.csv(pROC::aSAH, "aSAH.csv", row.names = FALSE)` writes the file that
//! `CFAUDIT_ASAH` names; without it the test says that it was skipped.

use std::path::PathBuf;

use super::{compared, measured};
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::evidence::labelled_scores::LabelledScores;
use crate::metric::interval::z_of_level;
use crate::metric::scope::MetricScope;
use crate::metric::value::compare::ComparedValue;
use crate::num::score_scale::ScoreScale;

/// The markers, their AUC and its variance.
const MARKERS: [(&str, f64, f64); 3] = [
    ("wfns", 0.823_678_861_788_617_8, 0.001_469_914_708_823_63),
    ("s100b", 0.731_368_563_685_636_9, 0.002_668_682_457_172_44),
    ("ndka", 0.611_957_994_579_945_8, 0.003_190_810_549_391_3),
];

/// Two markers, the covariance of their AUC and, where pROC's tests state it, Z of the difference.
const PAIRS: [(usize, usize, f64, Option<f64>); 3] = [
    (0, 2, -0.000_532_967_856_762_438, Some(2.797_775_918_689_04)),
    (2, 1, -0.000_756_164_938_056_579, None),
    (1, 0, 0.001_196_155_673_767_54, None),
];

/// The outcome of each patient (poor is positive) and a marker, which a power of two brings into
/// [0, 1] without rounding.
fn marker(text: &str, name: &str) -> FactualCounts {
    let cells = |line: &str| {
        line.split(',').map(|cell| cell.trim_matches('"').to_owned()).collect::<Vec<_>>()
    };
    let mut lines = text.lines();
    let head = cells(lines.next().unwrap());
    let place = |name: &str| head.iter().position(|column| column == name).unwrap();
    let (outcome, value) = (place("outcome"), place(name));
    let none = LabelledScores::new(ScoreScale::default(), CountingUnit::default());
    let mut counts = FactualCounts::new(1).with_scores(none);
    for (i, line) in (0..).zip(lines) {
        let row = cells(line);
        let score = row[value].parse::<f64>().unwrap() / 512.0;
        counts.add_score(0, (Some(row[outcome] == "Poor"), score), 1, (i, i));
    }
    counts
}

fn logit(x: f64) -> f64 {
    libm::log(x / (1.0 - x))
}

#[test]
fn the_figures_of_proc_are_met() {
    let file = std::env::var_os("CFAUDIT_ASAH").map(PathBuf::from);
    let Some(text) = file.and_then(|file| std::fs::read_to_string(file).ok()) else {
        crate::tests::skip("the data aSAH of pROC: CFAUDIT_ASAH names no file");
        return;
    };
    let z = z_of_level(0.95);
    let counts = MARKERS.map(|(name, ..)| marker(&text, name));
    for ((name, auc, variance), counts) in MARKERS.iter().zip(&counts) {
        let all = measured(counts);
        let found = super::one(&all, "auc", MetricScope::Total);
        let value = found.value.unwrap();
        assert!((value - auc).abs() < 1e-12, "{name}: {value}");
        let ends = found.interval.unwrap();
        let half = (logit(ends.hi) - logit(ends.lo)) / 2.0;
        let own = (half * value * (1.0 - value) / z).powi(2);
        assert!((own - variance).abs() < 1e-12, "{name}: variance {own}, not {variance}");
    }
    for (a, b, covariance, statistic) in PAIRS {
        let all = compared(&counts[a], &counts[b]);
        let is_auc = |of: &&ComparedValue| of.metric.id == "auc" && of.scope == MetricScope::Total;
        let found = all.iter().find(is_auc).unwrap();
        let (difference, ends) = (found.difference.unwrap(), found.interval.unwrap());
        let error = (ends.hi - ends.lo) / 2.0 / z;
        let own = (MARKERS[a].2 + MARKERS[b].2 - error * error) / 2.0;
        let what = format!("{} and {}", MARKERS[a].0, MARKERS[b].0);
        assert!((own - covariance).abs() < 1e-12, "{what}: covariance {own}, not {covariance}");
        if let Some(statistic) = statistic {
            let own = difference / error;
            assert!((own - statistic).abs() < 1e-9, "{what}: Z {own}, not {statistic}");
        }
    }
}
