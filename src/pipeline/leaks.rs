//! Columns of a file that no model should read, found by their values for `cfaudit new`: what tells the label, the score or the
//! decision that people got, and what tells people apart.
//!
//! Choice: rows are compared on a sample drawn by the hash of their number ([`crate::data::glance`]), at least [`ENOUGH`] of them.
//! A column is *the label again* where both are one to one; *tells the label* where its AUC is 0.99 or above, or 0.01 or below; *a
//! score* where it has more than [`FEW`] numbers and its name says so, or where its rank correlation with such a column is 0.99 or
//! more; *a decision* where it has two values that some score divides, where labels are missing for one of its values only, or where
//! its name says so. Ids are texts that all differ and whole numbers that all differ and rise; free text is long text that mostly
//! differs.

use std::collections::{HashMap, HashSet};

use crate::data::glance::{Glance, Look, SampledValue, hash_of};
use crate::data::values::Class;

/// Rows that two columns must both have before anything is said about them.
const ENOUGH: usize = 20;

/// Different values that a score has at least, one more.
const FEW: usize = 20;

/// Rank correlation from which two columns say the same.
const SAME: f64 = 0.99;

/// Words in the name of a column of scores. `score` at the end of a word counts, too.
const SCORES: [&str; 11] =
    ["score", "scores", "prob", "proba", "probability", "pd", "logit", "pred", "predicted", "prediction", "wahrscheinlichkeit"];

/// Words in the name of a column of decisions.
const DECISIONS: [&str; 10] =
    ["decision", "decided", "approved", "granted", "accepted", "rejected", "denied", "entscheidung", "bewilligt", "abgelehnt"];

/// The words of a column's name, small.
pub(super) fn parts(name: &str) -> Vec<String> {
    name.to_lowercase().split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect()
}

/// Why the columns should be left out that should be, by name. `positive` is a value of the label.
pub(super) fn reasons(glance: &Glance, label: &Look, positive: &str) -> HashMap<String, String> {
    let others = || glance.columns.iter().filter(|look| look.name != label.name);
    let mut reasons = HashMap::new();
    let mut scores: Vec<&Look> = Vec::new();
    for look in others() {
        let is_named = parts(&look.name).iter().any(|part| SCORES.contains(&part.as_str()) || part.ends_with("score"));
        if let Some(why) = by_label(look, label, positive) {
            reasons.insert(look.name.clone(), why);
        } else if is_named && has_many_numbers(look) {
            let why = "its name says that it is a score; move it to continuous if the model may read it";
            reasons.insert(look.name.clone(), why.to_owned());
            scores.push(look);
        }
    }
    let named = scores.clone();
    for look in others().filter(|look| has_many_numbers(look)) {
        let score = named.iter().find(|score| score.name != look.name && rank_correlation(look, score).abs() >= SAME);
        if let (Some(score), false) = (score, reasons.contains_key(&look.name)) {
            reasons.insert(look.name.clone(), format!("it ranks people as {} does", score.name));
            scores.push(look);
        }
    }
    for look in others() {
        let why = if let Some(score) = scores.iter().find(|score| is_divided_by(look, score)) {
            format!("it is the decision that {} makes", score.name)
        } else if let Some(value) = value_without_labels(look, label) {
            format!("a decision: labels are missing where it is {value}, and nowhere else")
        } else if is_few(look, 2..=3) && parts(&look.name).iter().any(|part| DECISIONS.contains(&part.as_str())) {
            "its name says that it is a decision; move it to nominal if the model may read it".to_owned()
        } else {
            continue;
        };
        reasons.entry(look.name.clone()).or_insert(why);
    }
    for look in others().filter(|look| look.class == Class::Text && is_long(look) && mostly_differs(look)) {
        reasons.entry(look.name.clone()).or_insert_with(|| "free text".to_owned());
    }
    reasons
}

fn has_many_numbers(look: &Look) -> bool {
    look.class.is_number() && (look.many || look.levels.len() > FEW)
}

fn is_few(look: &Look, n: std::ops::RangeInclusive<usize>) -> bool {
    !look.many && n.contains(&look.levels.len())
}

/// Long words with blanks between them.
fn is_long(look: &Look) -> bool {
    look.letters >= 25.0 && look.blanks >= 2.0
}

fn mostly_differs(look: &Look) -> bool {
    let values: Vec<u64> = look.sample.iter().flatten().map(|value| value.word).collect();
    values.len() >= ENOUGH && values.iter().collect::<HashSet<_>>().len() * 2 > values.len()
}

/// The rows of the sample that have a value in both columns.
fn pairs<'a>(a: &'a Look, b: &'a Look) -> impl Iterator<Item = (SampledValue, SampledValue)> + 'a {
    a.sample.iter().zip(&b.sample).filter_map(|(a, b)| Some(((*a)?, (*b)?)))
}

fn by_label(look: &Look, label: &Look, positive: &str) -> Option<String> {
    if is_one_to_one(look, label) {
        return Some(format!("it is {} under another name", label.name));
    }
    let positive = hash_of(positive);
    let numbers = pairs(look, label).map(|(value, label)| (value.number, label.word == positive));
    let auc = auc(numbers.collect()).filter(|_| look.class.is_number())?;
    (auc.max(1.0 - auc) >= SAME).then(|| format!("alone it tells {}: its AUC is {:.3}", label.name, auc.max(1.0 - auc)))
}

fn is_one_to_one(a: &Look, b: &Look) -> bool {
    let (mut there, mut back, mut n) = (HashMap::new(), HashMap::new(), 0);
    for (a, b) in pairs(a, b) {
        n += 1;
        if *there.entry(a.word).or_insert(b.word) != b.word || *back.entry(b.word).or_insert(a.word) != a.word {
            return false;
        }
    }
    n >= ENOUGH && there.len() >= 2
}

/// The share of pairs of a positive and a negative in which the positive has the larger number; ties count half. None with fewer
/// than ten of either.
fn auc(mut numbers: Vec<(f64, bool)>) -> Option<f64> {
    numbers.retain(|(x, _)| !x.is_nan());
    let positives = numbers.iter().filter(|(_, positive)| *positive).count();
    let negatives = numbers.len() - positives;
    if positives.min(negatives) < 10 {
        return None;
    }
    let ranks = ranks(&numbers.iter().map(|(x, _)| *x).collect::<Vec<_>>());
    let sum: f64 = ranks.iter().zip(&numbers).filter(|(_, (_, positive))| *positive).map(|(rank, _)| rank).sum();
    let (p, n) = (positives as f64, negatives as f64);
    Some((sum - p * (p + 1.0) / 2.0) / (p * n))
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

/// Spearman's, with ranks of ties averaged; 0 for fewer than [`ENOUGH`] rows, or without variation.
fn rank_correlation(a: &Look, b: &Look) -> f64 {
    let both = pairs(a, b).map(|(a, b)| (a.number, b.number)).filter(|(a, b)| !a.is_nan() && !b.is_nan());
    let (x, y): (Vec<f64>, Vec<f64>) = both.unzip();
    if x.len() < ENOUGH {
        return 0.0;
    }
    let (x, y) = (ranks(&x), ranks(&y));
    let mean = (x.len() as f64 + 1.0) / 2.0;
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let norm = (sum(&x, &x) * sum(&y, &y)).sqrt();
    if norm > 0.0 { sum(&x, &y) / norm } else { 0.0 }
}

/// Whether one of two values stands exactly where the score is above some number.
fn is_divided_by(look: &Look, score: &Look) -> bool {
    if !is_few(look, 2..=2) {
        return false;
    }
    let mut ranges: HashMap<u64, (f64, f64)> = HashMap::new();
    let mut n = 0;
    for (value, score) in pairs(look, score).filter(|(_, score)| !score.number.is_nan()) {
        let range = ranges.entry(value.word).or_insert((score.number, score.number));
        *range = (range.0.min(score.number), range.1.max(score.number));
        n += 1;
    }
    let mut ranges: Vec<(f64, f64)> = ranges.into_values().collect();
    ranges.sort_by(|a, b| a.0.total_cmp(&b.0));
    n >= ENOUGH && matches!(ranges[..], [low, high] if low.1 < high.0)
}

/// The value of two whose rows all lack a label, while at most one in twenty of the other's do.
fn value_without_labels<'a>(look: &'a Look, label: &Look) -> Option<&'a str> {
    if !is_few(look, 2..=2) {
        return None;
    }
    let counts = |word: &String| {
        let of = hash_of(word);
        let rows = look.sample.iter().zip(&label.sample).filter(|(value, _)| value.is_some_and(|value| value.word == of));
        rows.fold((0, 0), |(n, missing), (_, label)| (n + 1, missing + usize::from(label.is_none())))
    };
    let mut values = look.levels.keys();
    let (a, b) = (values.next()?, values.next()?);
    let is_without = |(n, missing): (usize, usize)| n >= ENOUGH && missing == n;
    let has = |(n, missing): (usize, usize)| n >= ENOUGH && missing * 20 <= n;
    match (counts(a), counts(b)) {
        (x, y) if is_without(x) && has(y) => Some(a),
        (x, y) if is_without(y) && has(x) => Some(b),
        _ => None,
    }
}
