//! Numbers that recourse cannot use: a subgroup, or an action, names one value of a column, and
//! hardly two people share a raw number. A search over them finds nothing, which looks like an
//! all-clear, so the job is refused, and the hint proposes bins.
//!
//! Choice: a column is refused where fewer than half of the people with a number share it with as
//! many as the smaller support of subgroups and actions asks for. So counts of children, and gains
//! that are 0 for most, need no bins.

use crate::data::values::float_text;
use crate::data::{FeatureColumn, FeatureKind, Layout};
use crate::error::Result;
use crate::job::check::{CheckedJob, path};
use crate::num::summary::ascending;
use crate::stage::job_place::job_error;
use crate::stage::recourse::people::{attribute_features, is_looked_at};

/// Bins that are proposed for a column.
const BINS: usize = 4;

/// Fails where a block of recourse sees numbers that too few people share; `columns` are the
/// features of audited people.
///
/// # Errors
/// The problem of the job, with the bins of each such column.
pub(crate) fn refuse(
    checked: &CheckedJob,
    layout: &Layout,
    (position, attribute): (usize, &str),
    columns: &[FeatureColumn],
) -> Result<()> {
    let job = &checked.job;
    let block = job.recourse.iter().find(|(name, _)| name.as_str() == attribute);
    let Some((_, block)) = block else { return Ok(()) };
    let support = block.subgroups.support.get().min(block.actions.support.get());
    let about = attribute_features(layout, position);
    let mut found: Vec<(&str, Vec<f64>)> = Vec::new();
    for (f, column) in columns.iter().enumerate() {
        let of = &layout.features[f];
        let has_bins = job.data.bins.contains_key(of.name.as_str());
        let raw = matches!(of.kind, FeatureKind::Continuous { .. }) && !has_bins;
        if let FeatureColumn::Number(numbers) = column
            && raw
            && is_looked_at(layout, &about, job, f)
            && are_unshared(numbers, support)
        {
            found.push((of.name.as_str(), proposed_bins(numbers)));
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = found.iter().map(|(name, _)| format!("`{name}`")).collect();
    let bins = |(name, edges): &(&str, Vec<f64>)| {
        let edges: Vec<String> = edges.iter().map(|edge| float_text(*edge)).collect();
        format!("{name}: [{}]", edges.join(", "))
    };
    let bins: Vec<String> = found.iter().map(bins).collect();
    let what = format!(
        "recourse would look at {} number by number, and most people share theirs with fewer than \
         {} % of all, which subgroups or actions ask for: nothing about them would be found",
        names.join(", "),
        (support * 1e8).round() / 1e6
    );
    let at = path(&["recourse", attribute]);
    let hint = format!("cut them under `data`: `bins: {{{}}}`", bins.join(", "));
    Err(job_error(checked, "needs-bins", at, (what, hint)))
}

/// Whether fewer than half of the people with a number share it with this part of all.
fn are_unshared(numbers: &[f64], support: f64) -> bool {
    let known = ascending(numbers);
    let least = support * numbers.len() as f64;
    let groups = known.chunk_by(|a, b| a == b).map(<[f64]>::len);
    let shared: usize = groups.filter(|&n| n as f64 >= least).sum();
    2 * shared < known.len()
}

/// Edges of bins that hold about as many people each, rounded to the power of ten that is between a
/// 500th and a 50th of the range; the first and the last edge are rounded outwards.
fn proposed_bins(numbers: &[f64]) -> Vec<f64> {
    let known = ascending(numbers);
    let (Some(&lowest), Some(&highest)) = (known.first(), known.last()) else { return Vec::new() };
    let exponent = libm::floor(libm::log10((highest - lowest) / 50.0));
    let power = libm::pow(10.0, exponent.abs());
    // By a whole power: 3 tenths are 0.3, and not 0.30000000000000004.
    let rounded = |x: f64, by: fn(f64) -> f64| match exponent < 0.0 {
        true => by(x * power) / power,
        false => by(x / power) * power,
    };
    let mut edges = vec![rounded(lowest, f64::floor)];
    edges.extend((1..BINS).map(|k| rounded(known[k * known.len() / BINS], f64::round)));
    edges.push(rounded(highest, f64::ceil));
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use super::{are_unshared, proposed_bins};

    #[test]
    fn numbers_that_few_people_share_are_found() {
        let raw: Vec<f64> = (0..100).map(|i| 20.0 + f64::from(i) * 0.37).collect();
        assert!(are_unshared(&raw, 0.05));
        let children: Vec<f64> = (0..100).map(|i| f64::from(i % 4)).collect();
        assert!(!are_unshared(&children, 0.05) && are_unshared(&children, 0.3));
        // Most gain nothing.
        let gains: Vec<f64> = (0..100).map(|i| f64::from((i - 60).max(0)) * 13.0).collect();
        assert!(!are_unshared(&gains, 0.05));
        assert!(!are_unshared(&[f64::NAN; 9], 0.05), "nobody has a number");
    }

    #[test]
    fn proposed_bins_hold_everybody_and_are_short() {
        let raw: Vec<f64> = (0..101).map(|i| 1003.0 + f64::from(i) * 50.0).collect();
        assert_eq!(proposed_bins(&raw), [1000.0, 2300.0, 3500.0, 4800.0, 6100.0]);
        assert_eq!(proposed_bins(&[0.0, 0.013, 0.5, 1.0]), [0.0, 0.01, 0.5, 1.0]);
        assert_eq!(proposed_bins(&[0.0, 3e-12, 6e-12, 9e-12]), [0.0, 3e-12, 6e-12, 9e-12]);
    }
}
