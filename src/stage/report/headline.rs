//! The few numbers of the summary, which the file for Prometheus has too.

use std::collections::BTreeMap;

use crate::table::MetricRow;

/// Letters of the headline numbers: the summary line stays below 4 kB.
const HEADLINE_AT_MOST: usize = 1000;

/// Metric and scope of the headline numbers, in their order.
pub(super) const HEADLINE: [(&str, &str); 4] = [
    ("sr", "total"),
    ("demp_difference", "worst_case"),
    ("demp_difference", "pair"),
    ("acc", "total"),
];

/// Whether a value is such a headline number.
pub(super) fn is_headline(row: &MetricRow, wanted: (&str, &str)) -> bool {
    (row.metric.as_str(), row.key.scope.as_str()) == wanted
        && [&row.key.arm, &row.key.slice, &row.class].iter().all(|of| of.is_empty())
}

/// The headline numbers of a run.
pub(super) fn headline(metrics: &[MetricRow]) -> BTreeMap<String, f64> {
    let mut headline = BTreeMap::new();
    let mut letters = 0;
    for wanted in HEADLINE {
        for row in metrics.iter().filter(|row| is_headline(row, wanted)) {
            let Some(value) = row.value else { continue };
            // Everybody together is the same for every attribute, and a pair is named where there
            // are two groups only.
            let parts = match wanted {
                ("acc", _) => vec![row.key.model.as_str(), "acc"],
                (metric, _) => vec![
                    row.key.model.as_str(),
                    row.key.counterfactual.as_str(),
                    row.key.sensitive.as_str(),
                    metric,
                ],
            };
            let name =
                parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
            if headline.contains_key(&name) {
                continue;
            }
            letters += name.len() + 26;
            if letters > HEADLINE_AT_MOST {
                return headline;
            }
            headline.insert(name, value);
        }
    }
    headline
}
