//! How the source holds each feature: its type, its words, and the most frequent word of each
//! level.
//!
//! Choice: the most frequent word is that of the reference rows (`data.reference`) where they have
//! the level, else that of the kept rows; of equally frequent ones the first in byte order, a
//! missing value last.

use std::collections::{HashMap, HashSet};

use crate::data::prepare::params::MissingRule;
use crate::data::prepare::plan::{FeaturePlan, PreparePlan};
use crate::data::prepare::survey::SourceSurvey;
use crate::data::source_form::{SourceForm, SourceKind, SourceWord, is_rounded_integer};
use crate::data::values::ValueClass;
use crate::data::{Feature, MISSING, MISSING_LEVEL};
use crate::error::{Fault, Result};

/// The form of the feature at a position, whose levels are known.
///
/// # Errors
/// A damaged file; a model would get a whole number of a text file as a float that is another
/// number.
pub(crate) fn form_of(
    plan: &PreparePlan<'_>,
    (position, feature): (usize, &FeaturePlan),
    survey: &SourceSurvey,
    levels: &[String],
) -> Result<SourceForm> {
    let column = &plan.view.columns[feature.column];
    let lacks = survey.rows.source_nulls.get(position).copied().unwrap_or(false);
    let class = plan.class_of(feature);
    // As for whole columns that are joined: integers with a missing value are floats.
    let float = (class == ValueClass::Int && lacks).then_some(SourceKind::Float);
    // Counterfactuals of numbers that need not be whole are floats.
    let kind = if class == column.class { column.kind } else { None };
    let mut form =
        SourceForm { kind: kind.or(float), read_csv: column.read_csv, ..SourceForm::default() };
    // A feature that no model reads is never sent.
    if class == column.class && float.is_none() && !column.read_csv && !feature.hidden {
        form.stored = plan.view.source.stored_type(feature.column)?;
    }
    if !feature.kind.is_coded() {
        let nulls = plan.view.null_words(feature.column);
        form.words = sorted(nulls.map(|word| word_of(word, MISSING)).collect());
        form.several = !form.words.is_empty();
        return Ok(form);
    }
    let level_of: HashMap<&str, u32> =
        levels.iter().zip(0..).map(|(level, at)| (level.as_str(), at)).collect();
    let none = match feature.rule {
        MissingRule::Level => level_of.get(MISSING_LEVEL).copied().unwrap_or(MISSING),
        _ => MISSING,
    };
    let read = survey.as_read(plan, feature.column);
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for (word, seen) in &read.occurrences {
        let prepared = plan.view.prepared_word(feature.column, word);
        let level = prepared.map_or(none, |p| level_of.get(&*p).copied().unwrap_or(MISSING));
        counts.insert(word, seen.n);
        form.words.push(word_of(word, level));
    }
    let is_float = column.read_csv && form.kind == Some(SourceKind::Float) && !feature.hidden;
    let long = form.words.iter().filter(|word| is_float && is_rounded_integer(&word.text));
    if let Some(word) = long.map(|word| &word.text).min() {
        let name = &feature.name;
        let what = format!("models would get the whole number `{word}` as another number");
        let hint = format!(
            "whole numbers up to 9223372036854775807 are kept: say what larger ones are by \
             `data.columns: {{{name}: text}}` for ids and `number` for amounts"
        );
        return Fault::new("unreadable-value", what).in_column(name).fail(hint);
    }
    let is_level = |word: &SourceWord| levels.get(word.level as usize) == Some(&word.text);
    let made = read.nulls > 0 && none != MISSING;
    if !made && form.words.iter().all(is_level) {
        form.words.clear();
        return Ok(form);
    }
    let known = plan.params.known_spelling.get(&feature.name);
    let elsewhere = |level: &String| known.and_then(|known| known.get(level));
    let seen: HashSet<u32> = form.words.iter().map(|word| word.level).collect();
    for (level, at) in levels.iter().zip(0..) {
        // Levels that no kept row has.
        if !(seen.contains(&at) || (made && at == none)) {
            form.words.push(word_of(elsewhere(level).unwrap_or(level), at));
        }
    }
    form.words = sorted(form.words);
    form.words.dedup_by(|a, b| a.text == b.text);
    let mut words_of = vec![Vec::new(); levels.len()];
    for (word, at) in form.words.iter().zip(0_u32..) {
        match words_of.get_mut(word.level as usize) {
            Some(words) => words.push(at),
            None => form.several = true,
        }
    }
    form.several |= words_of.iter().any(|words| words.len() > 1);
    form.several |= made && !words_of[none as usize].is_empty();
    let text = |at: u32| form.words[at as usize].text.as_str();
    let n = |at: u32| counts.get(text(at)).copied().unwrap_or(0);
    let most_frequent = |((level, at), words): ((&String, u32), &Vec<u32>)| {
        let elsewhere = elsewhere(level).map(String::as_str);
        if let Some(&found) = words.iter().find(|&&word| Some(text(word)) == elsewhere) {
            return found;
        }
        // The first of equally frequent ones.
        match words.iter().copied().rev().max_by_key(|&word| n(word)) {
            Some(word) if made && at == none && read.nulls > n(word) => MISSING,
            found => found.unwrap_or(MISSING),
        }
    };
    form.spelling = levels.iter().zip(0..).zip(&words_of).map(most_frequent).collect();
    Ok(form)
}

fn word_of(text: &str, level: u32) -> SourceWord {
    SourceWord { text: text.to_owned(), level }
}

fn sorted(mut words: Vec<SourceWord>) -> Vec<SourceWord> {
    words.sort_unstable_by(|a, b| a.text.cmp(&b.text).then(a.level.cmp(&b.level)));
    words
}

/// By level the most frequent word of a feature, where that is another one.
pub(crate) fn spelling_of(feature: &Feature) -> HashMap<String, String> {
    let spelt = |(level, at): (&String, u32)| {
        let word = feature.spelling_of(at)?;
        Some((level.clone(), word.to_owned()))
    };
    feature.levels.iter().zip(0..).filter_map(spelt).collect()
}
