//! Columns that reveal the label, the score or the decision that people got.
//!
//! Choice: rows are compared on a sample drawn by the hash of their number, at least
//! [`ROWS_AT_LEAST`] of them. A column is *the label again* where both are one to one; *reveals the
//! label* where its AUC is 0.99 or above, or 0.01 or below; *a score* where its name says so, or
//! where it has more than [`SCORE_VALUES_ABOVE`] numbers and their rank correlation with those of
//! such a column is 0.99 or more; *a decision* where it has two or three values that some score
//! divides, where labels are missing for some of its values only, where its name says so, or where
//! it is one to one with such a column. In a column with at most [`SCORE_VALUES_ABOVE`] values each
//! value counts by the share of its rows with a positive label, and missing is one more value; in
//! any other column this is done for the two cases missing and not missing.

use std::collections::HashMap;

use crate::data::column::profile::{ColumnProfile, SampledValue, hash_of};
use crate::data::column::roles::{ROWS_AT_LEAST, parts};

/// Different values that a score has at least, one more.
const SCORE_VALUES_ABOVE: usize = 20;

/// Rank correlation from which on two columns count as the same.
const SAME_RANK_CORRELATION: f64 = 0.99;

/// Words in the name of a column of scores. `score` at the end of a word counts, too.
const SCORES: &str = "\
    score scores prob proba probability pd logit pred predicted prediction";

/// Words in the name of a column of decisions.
const DECISIONS: [&str; 7] =
    ["decision", "decided", "approved", "granted", "accepted", "rejected", "denied"];

/// What was found in the columns of a file.
pub(crate) struct LeakyColumns {
    /// For each column that should be left out, the reason, by name.
    pub(crate) reasons: HashMap<String, String>,
    /// The columns of decisions, each with its values whose rows have no label; these are none
    /// where labels are not missing by the decision.
    pub(crate) decisions: Vec<(String, Vec<String>)>,
    /// The columns that look like scores.
    pub(crate) scores: Vec<String>,
}

/// Finds columns that no model should read. `label` comes with one of its values, the positive one.
/// `known` are the scores of a job.
pub(crate) fn find(
    columns: &[ColumnProfile],
    label: Option<(&ColumnProfile, &str)>,
    known: &[&str],
) -> LeakyColumns {
    let is_label =
        |profile: &ColumnProfile| label.is_some_and(|(label, _)| profile.name == label.name);
    let others = || columns.iter().filter(|profile| !is_label(profile));
    let mut reasons = HashMap::new();
    let mut scores: Vec<&ColumnProfile> = Vec::new();
    for profile in others() {
        let is_named = parts(&profile.name)
            .iter()
            .any(|part| SCORES.split(' ').any(|word| word == part) || part.ends_with("score"));
        let is_known = known.contains(&profile.name.as_str());
        if let Some(why) = label.and_then(|(label, positive)| by_label(profile, label, positive)) {
            reasons.insert(profile.name.clone(), why);
        } else if is_known || is_named && (has_many_numbers(profile) || is_few(profile, 2..=20)) {
            let kind = if profile.class.is_number() { "continuous" } else { "nominal" };
            let why = format!(
                "its name suggests that it is a score; move it to {kind} if the model may read it"
            );
            reasons.insert(profile.name.clone(), why);
            if profile.class.is_number() {
                scores.push(profile);
            }
        }
    }
    let named = scores.clone();
    for profile in others().filter(|profile| has_many_numbers(profile)) {
        let score = named.iter().find(|score| {
            score.name != profile.name
                && rank_correlation(profile, score).abs() >= SAME_RANK_CORRELATION
        });
        if let (Some(score), false) = (score, reasons.contains_key(&profile.name)) {
            reasons.insert(profile.name.clone(), format!("it ranks people like {}", score.name));
            scores.push(profile);
        }
    }
    let mut decisions: Vec<(&ColumnProfile, Vec<String>)> = Vec::new();
    for profile in
        others().filter(|profile| !reasons.contains_key(&profile.name)).collect::<Vec<_>>()
    {
        let without =
            label.map_or_else(Vec::new, |(label, _)| values_without_labels(profile, label));
        let why = if let Some(score) = scores.iter().find(|score| is_divided_by(profile, score)) {
            format!("it is the decision based on {}", score.name)
        } else if !without.is_empty() {
            let values = without.join(" or ");
            format!("a decision: labels are missing where it is {values}, and nowhere else")
        } else if is_few(profile, 2..=3)
            && parts(&profile.name).iter().any(|part| DECISIONS.contains(&part.as_str()))
        {
            "its name suggests that it is a decision; move it to nominal if the model may read it"
                .to_owned()
        } else {
            continue;
        };
        reasons.insert(profile.name.clone(), why);
        decisions.push((profile, without));
    }
    for profile in others() {
        if let Some((decision, _)) =
            decisions.iter().find(|(other, _)| is_one_to_one(profile, other))
        {
            let why = || format!("it is a copy of {}", decision.name);
            reasons.entry(profile.name.clone()).or_insert_with(why);
        }
    }
    let decisions = decisions.into_iter().map(|(profile, without)| (profile.name.clone(), without));
    let scores = scores.iter().map(|profile| profile.name.clone()).collect();
    LeakyColumns { reasons, decisions: decisions.collect(), scores }
}

fn has_many_numbers(profile: &ColumnProfile) -> bool {
    profile.class.is_number()
        && (profile.has_more_levels || profile.levels.len() > SCORE_VALUES_ABOVE)
}

fn is_few(profile: &ColumnProfile, n: std::ops::RangeInclusive<usize>) -> bool {
    !profile.has_more_levels && n.contains(&profile.levels.len())
}

/// The rows of the sample that have a value in both columns.
fn pairs<'a>(
    a: &'a ColumnProfile,
    b: &'a ColumnProfile,
) -> impl Iterator<Item = (SampledValue, SampledValue)> + 'a {
    a.sample.iter().zip(&b.sample).filter_map(|(a, b)| Some(((*a)?, (*b)?)))
}

fn by_label(profile: &ColumnProfile, label: &ColumnProfile, positive: &str) -> Option<String> {
    if is_one_to_one(profile, label) {
        return Some(format!("it is a copy of {}", label.name));
    }
    let positive = hash_of(positive);
    let numbers =
        pairs(profile, label).map(|(value, label)| (value.number, label.word == positive));
    let by_number = auc(numbers.collect()).filter(|_| profile.class.is_number());
    let both = [by_number, auc(shares_by_value(profile, label, positive))];
    let auc = both.into_iter().flatten().map(|auc| auc.max(1.0 - auc)).max_by(f64::total_cmp)?;
    (auc >= SAME_RANK_CORRELATION)
        .then(|| format!("on its own it predicts {}: its AUC is {auc:.3}", label.name))
}

/// For each row with a label the share of positive ones among the rows of its value, and whether it
/// is one of them. Nothing where values have fewer than ten rows on average.
fn shares_by_value(
    profile: &ColumnProfile,
    label: &ColumnProfile,
    positive: u64,
) -> Vec<(f64, bool)> {
    let are_few = is_few(profile, 0..=SCORE_VALUES_ABOVE);
    let rows = profile.sample.iter().zip(&label.sample).filter_map(|(value, label)| {
        let value = value.map(|value| if are_few { value.word } else { 0 });
        Some((value, (*label)?.word == positive))
    });
    let rows: Vec<(Option<u64>, bool)> = rows.collect();
    let mut counts: HashMap<Option<u64>, (f64, f64)> = HashMap::new();
    for (value, is_positive) in &rows {
        let of = counts.entry(*value).or_default();
        *of = (of.0 + f64::from(u8::from(*is_positive)), of.1 + 1.0);
    }
    if counts.len() * 10 > rows.len() {
        return Vec::new();
    }
    rows.into_iter().map(|(value, is)| (counts[&value].0 / counts[&value].1, is)).collect()
}

fn is_one_to_one(a: &ColumnProfile, b: &ColumnProfile) -> bool {
    let (mut there, mut back, mut n) = (HashMap::new(), HashMap::new(), 0);
    for (a, b) in pairs(a, b) {
        n += 1;
        if *there.entry(a.word).or_insert(b.word) != b.word
            || *back.entry(b.word).or_insert(a.word) != a.word
        {
            return false;
        }
    }
    n >= ROWS_AT_LEAST && there.len() >= 2
}

/// The share of pairs of a positive and a negative in which the positive has the larger number;
/// ties count half. None with fewer than ten of either.
fn auc(mut numbers: Vec<(f64, bool)>) -> Option<f64> {
    numbers.retain(|(x, _)| !x.is_nan());
    let positives = numbers.iter().filter(|(_, positive)| *positive).count();
    let negatives = numbers.len() - positives;
    if positives.min(negatives) < 10 {
        return None;
    }
    let ranks = ranks(&numbers.iter().map(|(x, _)| *x).collect::<Vec<_>>());
    let sum: f64 = ranks
        .iter()
        .zip(&numbers)
        .filter(|(_, (_, positive))| *positive)
        .map(|(rank, _)| rank)
        .sum();
    let (p, n) = (positives as f64, negatives as f64);
    Some((sum - p * (p + 1.0) / 2.0) / (p * n))
}

/// Whether high scores go with the positive label; none where there are too few rows to say.
pub(crate) fn rises_with(
    score: &ColumnProfile,
    label: &ColumnProfile,
    positive: &str,
) -> Option<bool> {
    let positive = hash_of(positive);
    let numbers = pairs(score, label).map(|(score, label)| (score.number, label.word == positive));
    auc(numbers.collect()).filter(|auc| (auc - 0.5).abs() > 0.05).map(|auc| auc > 0.5)
}

/// Ranks from 1, ties with their mean.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let first = order.partition_point(|&i| values[i].total_cmp(&values[tied[0]]).is_lt());
        for &i in tied {
            ranks[i] = first as f64 + (tied.len() as f64 + 1.0) / 2.0;
        }
    }
    ranks
}

/// Spearman's, with ranks of ties averaged; 0 for fewer than [`ROWS_AT_LEAST`] rows, or without
/// variation.
fn rank_correlation(a: &ColumnProfile, b: &ColumnProfile) -> f64 {
    let both =
        pairs(a, b).map(|(a, b)| (a.number, b.number)).filter(|(a, b)| !a.is_nan() && !b.is_nan());
    let (x, y): (Vec<f64>, Vec<f64>) = both.unzip();
    if x.len() < ROWS_AT_LEAST {
        return 0.0;
    }
    let (x, y) = (ranks(&x), ranks(&y));
    let mean = (x.len() as f64 + 1.0) / 2.0;
    let sum =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let norm = (sum(&x, &x) * sum(&y, &y)).sqrt();
    if norm > 0.0 { sum(&x, &y) / norm } else { 0.0 }
}

/// Whether the score of each of two or three values lies in a separate range.
fn is_divided_by(profile: &ColumnProfile, score: &ColumnProfile) -> bool {
    if !is_few(profile, 2..=3) {
        return false;
    }
    let mut ranges: HashMap<u64, (f64, f64)> = HashMap::new();
    let mut n = 0;
    for (value, score) in pairs(profile, score).filter(|(_, score)| !score.number.is_nan()) {
        let range = ranges.entry(value.word).or_insert((score.number, score.number));
        *range = (range.0.min(score.number), range.1.max(score.number));
        n += 1;
    }
    let mut ranges: Vec<(f64, f64)> = ranges.into_values().collect();
    ranges.sort_by(|a, b| a.0.total_cmp(&b.0));
    n >= ROWS_AT_LEAST && ranges.len() > 1 && ranges.windows(2).all(|of| of[0].1 < of[1].0)
}

/// The values whose rows all lack a label, while at most one in twenty of the other rows do; none
/// where either are fewer than [`ROWS_AT_LEAST`].
fn values_without_labels(profile: &ColumnProfile, label: &ColumnProfile) -> Vec<String> {
    if !is_few(profile, 2..=SCORE_VALUES_ABOVE) {
        return Vec::new();
    }
    let mut counts: HashMap<Option<u64>, (usize, usize)> = HashMap::new();
    for (value, label) in profile.sample.iter().zip(&label.sample) {
        let of = counts.entry(value.map(|value| value.word)).or_default();
        *of = (of.0 + 1, of.1 + usize::from(label.is_none()));
    }
    let mut others = counts.get(&None).copied().unwrap_or_default();
    let (mut values, mut n_without) = (Vec::new(), 0);
    for value in profile.levels.keys() {
        let (n, missing) = counts.get(&Some(hash_of(value))).copied().unwrap_or_default();
        if n > 0 && missing == n {
            values.push(value.clone());
            n_without += n;
        } else {
            others = (others.0 + n, others.1 + missing);
        }
    }
    let have = others.0 >= ROWS_AT_LEAST && others.1 * 20 <= others.0;
    if have && n_without >= ROWS_AT_LEAST { values } else { Vec::new() }
}
