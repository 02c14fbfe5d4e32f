//! Writes a first job from a data file, for `cfaudit new`: every choice that was made is reported
//! next to it.
//!
//! A job must say which label is positive, which side people want and which group is the reference;
//! a file does not say. If the caller does not say either, the job gets a value anyway, so that it
//! runs, with the word DECIDE and the alternatives next to it; each such guess is also reported to
//! the caller. Columns that no model should read are left out with the reason.
//!
//! An Aequitas-style table has the columns `score` and `label_value`, optionally `entity_id`, and
//! attributes: its scores are audited unchanged, without counterfactuals.

pub(crate) mod guess;
mod named_columns;
pub(crate) mod remedy;
mod yaml;

use std::fmt::Write as _;

use indexmap::{IndexMap, IndexSet};
use minijinja::context;

use self::guess::{
    Decided, GuessedRole, GuessedScale, are_selective, at_risk, decision_column, has_groups,
    id_column, lowest_shares, onehot, person_column, positive, role, scale, side, usable,
};
pub use self::named_columns::NewJobOptions;
use self::named_columns::{check_scores, column, columns_in_words, groups, is_duplicated, levels};
use self::yaml::{comment_text, csv_block, fill, line, name, word, words};
use crate::data::column::codes::missing_codes;
use crate::data::column::declared::DeclaredType;
use crate::data::column::leaks;
use crate::data::column::profile::ColumnProfile;
use crate::data::column::roles::{is_row_id, is_weight};
use crate::data::source::file_profile::{FileProfile, ProfiledRows};
use crate::data::source::list_words;
use crate::data::values::{ValueClass, float_text};
use crate::error::Result;
use crate::job::FavourableClass;
use crate::job::read::word_lists::suggest;
use crate::job::resolve::flat::{DOLLAR, literal};
use crate::param::{Name, key_word};

/// A first job, and what in it is a guess.
#[derive(Debug, Clone)]
pub struct FirstJob {
    /// The job.
    pub text: String,
    /// What was guessed, a sentence each, with the flag that says it.
    pub guesses: Vec<String>,
}

/// A job as text.
///
/// # Errors
/// A column that the caller names is not there, or twice, or has two roles; the column of the label
/// cannot be one, an attribute has no groups, or scores are not within 0 and 1.
pub fn job(file: &FileProfile, options: &NewJobOptions) -> Result<FirstJob> {
    let two_roles = |what: String, column: &str| {
        let fault = options.fault("two-roles", what).in_column(column);
        Err(fault
            .hint("a column has one role: label, scores, row id or sensitive attribute")
            .into())
    };
    let is_there = |name: &str| file.columns.iter().any(|profile| profile.name == name);
    let aequitas = options.label.is_none() && is_there("score") && is_there("label_value");
    let label = match (&options.label, aequitas) {
        (Some(label), _) => column(file, options, label)?,
        (None, true) => column(file, options, "label_value")?,
        (None, false) => {
            let fault = options.fault("missing-column", "no label column is given");
            let hint = format!("write `--label COLUMN`; {}", columns_in_words(file));
            return Err(fault.hint(hint).into());
        }
    };
    let score = match &options.score {
        Some(score) => Some(column(file, options, score)?),
        None if aequitas => Some(column(file, options, "score")?),
        None => None,
    };
    if let Some(score) = score {
        if score.name == label.name {
            let what = format!("the column of scores `{}` is the label too", score.name);
            return two_roles(what, &score.name);
        }
        check_scores(score, options)?;
    }
    let row_id = id_column(file, [Some(label), score]);
    let taken = |profile: &ColumnProfile| {
        profile.name == label.name
            || score.is_some_and(|s| s.name == profile.name)
            || row_id.is_some_and(|i| i.name == profile.name)
    };
    let mut sensitive: Vec<&ColumnProfile> = Vec::new();
    for name in &options.sensitive {
        let profile = column(file, options, name)?;
        if taken(profile) || sensitive.iter().any(|other| other.name == profile.name) {
            return two_roles(format!("the sensitive column `{name}` has another role too"), name);
        }
        sensitive.push(profile);
    }
    let candidates = file.columns.iter().filter(|profile| !taken(profile) && has_groups(profile));
    if sensitive.is_empty() && aequitas {
        sensitive = candidates.clone().filter(|profile| usable(&profile.name)).collect();
    }
    if sensitive.is_empty() {
        let candidates: Vec<String> =
            candidates.map(|profile| format!("`{}`", profile.name)).collect();
        let like = if candidates.is_empty() {
            columns_in_words(file)
        } else {
            format!("with few values are {}", list_words(candidates, 10))
        };
        let fault = options.fault("missing-column", "no sensitive attribute is given");
        return Err(fault.hint(format!("write `--sensitive COLUMN`; {like}")).into());
    }
    let (mut text, mut guesses) = (String::new(), Vec::new());
    let named: Vec<&ColumnProfile> =
        [label].into_iter().chain(row_id).chain(sensitive.iter().copied()).collect();
    let attributes: Vec<&str> = sensitive.iter().map(|profile| profile.name.as_str()).collect();
    let person = person_column(file, &named, &attributes, &label.name);
    let what = match score {
        Some(_) => "Audits the scores that the table holds",
        None => "Trains a model and audits it",
    };
    let roles = NamedRoles { label, row_id, person, sensitive: &sensitive };
    let (positive, favourable) = data(&mut text, file, options, (what, roles), &mut guesses)?;
    match score {
        None => {
            let leaks = leaks::find(&file.columns, Some((label, &positive)), &[]);
            let role = |profile: &ColumnProfile| match leaks.reasons.get(&profile.name) {
                _ if is_duplicated(file, &profile.name) => {
                    GuessedRole::Ignored("several columns have this name".to_owned())
                }
                Some(why) if usable(&profile.name) => GuessedRole::Ignored(comment_text(why)),
                _ => role(profile, &file.columns, &attributes, &label.name),
            };
            let is_sensitive =
                |profile: &ColumnProfile| sensitive.iter().any(|s| s.name == profile.name);
            let others =
                file.columns.iter().filter(|profile| !taken(profile) && !is_sensitive(profile));
            let roles: Vec<(&ColumnProfile, GuessedRole)> =
                others.map(|profile| (profile, role(profile))).collect();
            let decided = decision_column(&roles, &leaks.decisions);
            let favours = favourable == FavourableClass::Positive;
            let found = match &decided {
                Some(Decided { profile, favourable, .. }) => {
                    let is_wanted = |value: &str| favourable.contains(&value);
                    let what = format!("decisions by {}", profile.name);
                    lowest_shares(file, (profile, &is_wanted, &what), &sensitive)?
                }
                None => {
                    let is_wanted = |value: &str| (value == positive) == favours;
                    lowest_shares(file, (label, &is_wanted, "labels"), &sensitive)?
                }
            };
            let doubt = |profile: &ColumnProfile| match &decided {
                Some(decided) => decided.doubt(),
                None if are_selective(profile, label) => Some(
                    "labels are missing for one group more often than for another, and \
                     no decision column was found"
                        .to_owned(),
                ),
                None => None,
            };
            let is_guess = decided.is_none() && options.favourable.is_none();
            let attributes = sensitive.iter().zip(found);
            let at_risk: Vec<_> = attributes
                .map(|(profile, found)| {
                    at_risk((profile, found), doubt(profile), is_guess, &mut guesses)
                })
                .collect();
            let onehot = onehot(file, &roles);
            let names = |wanted: fn(&GuessedRole) -> bool| {
                roles.iter().filter(move |(_, role)| wanted(role)).map(|(profile, _)| *profile)
            };
            let nominal = names(|role| matches!(role, GuessedRole::Nominal));
            let features = names(|role| !matches!(role, GuessedRole::Ignored(_)));
            let features: Vec<&ColumnProfile> = features.collect();
            let spelt = [label].into_iter().chain(sensitive.iter().copied()).chain(nominal);
            let of_group = |profile: &ColumnProfile| {
                onehot.iter().any(|(_, all)| all.iter().any(|column| column.name == profile.name))
            };
            let types = row_id.into_iter().chain(person).chain(sensitive.iter().copied());
            let types = types.chain([label]).chain(features.iter().copied());
            columns(&mut text, spelt, types, &of_group);
            let current = decided.as_ref().map(|decided| current_decisions(decided, favourable));
            let scores = leaks.scores.iter().filter_map(|name| column(file, options, name).ok());
            let found = FoundModels { current, scores: scores.collect() };
            let missing = missing_values(file, &named, &features);
            trained(&mut text, (&roles, &onehot), (&sensitive, &at_risk), &found, &missing);
        }
        Some(score) => {
            let spelt = std::iter::once(label).chain(sensitive.iter().copied());
            columns(&mut text, spelt, named.iter().copied(), &|_| false);
            let (null_values, why) = missing_values(file, &named, &[]);
            if !null_values.is_empty() {
                line!(text, "  missing: {{null_values: {{{}}}}}   # {why}", null_values.join(", "));
            }
            // The end of the scale that people want, where it is not the one that a job assumes.
            let turned = leaks::rises_with(score, label, &positive) == Some(false);
            let better = turned.then_some(match favourable {
                FavourableClass::Positive => "lower",
                FavourableClass::Negative => "higher",
            });
            scored(&mut text, score, label, row_id.is_some(), better);
            if let Some(guessed) = scale(score).scale {
                let better = better.map_or(String::new(), |end| format!(", `better: {end}`"));
                guesses.push(format!(
                    "`scale: {guessed}`{better} and the threshold of `{}`, by its values; correct \
                     them in the job",
                    score.name
                ));
            }
        }
    }
    if !file.unreadable.is_empty() {
        line!(text, "");
    }
    for (name, why) in &file.unreadable {
        line!(text, "# cannot be read: {}", comment_text(&format!("{name} ({why})")));
    }
    if text.contains(&literal("${")) {
        line!(text, "");
        line!(
            text,
            "vars: {{{DOLLAR}: \"$\"}}   # `${{` in a value of the data would be read as a variable"
        );
    }
    Ok(FirstJob { text, guesses })
}

/// The columns of the roles that a job names first.
struct NamedRoles<'a> {
    label: &'a ColumnProfile,
    row_id: Option<&'a ColumnProfile>,
    person: Option<&'a ColumnProfile>,
    sensitive: &'a [&'a ColumnProfile],
}

/// The head and the block `data` up to the features; returns the positive value of the label, and
/// which prediction people want.
fn data(
    text: &mut String,
    file: &FileProfile,
    options: &NewJobOptions,
    (what, named): (&str, NamedRoles<'_>),
    guesses: &mut Vec<String>,
) -> Result<(String, FavourableClass)> {
    let NamedRoles { label, row_id, person, sensitive } = named;
    let path = word(&options.data);
    let csv = match &file.rows_in {
        ProfiledRows::Parquet(_) => None,
        ProfiledRows::Csv(csv) => Some(csv_block(&path, csv)),
    };
    // A row without a person would end the run.
    if let Some(person) = person.filter(|profile| profile.missing == 0) {
        guesses.push(format!("`person: {}`: several rows are one person's", word(&person.name)));
    }
    let person = person.map(|profile| {
        let sign = if profile.missing == 0 { "" } else { "# " };
        context!(sign, name => word(&profile.name), rows => format!("{:.1}", profile.rows_per_value))
    });
    let has_role = |name: &str| {
        let mut roles = [label].into_iter().chain(row_id).chain(sensitive.iter().copied());
        roles.any(|role| role.name == name)
    };
    let weights = file.columns.iter().filter(|profile| usable(&profile.name) && is_weight(profile));
    let weights =
        weights.filter(|profile| !has_role(&profile.name)).map(|profile| word(&profile.name));
    let levels = levels(label, options, 2)?;
    let positive = positive(label, options, &levels)?;
    let counts = levels.iter().map(|(level, n)| format!("{} ({n})", word(level)));
    if options.positive.is_none() {
        guesses.push(format!(
            "`positive: [{}]` of the label `{}`; set it with `--positive VALUE`",
            word(&positive),
            label.name
        ));
    }
    let favourable = options.favourable.unwrap_or_else(|| side(label, &positive));
    let side = key_word(&favourable);
    let known = format!("whether people want {} as {}", word(&positive), label.name);
    if options.favourable.is_none() {
        guesses.push(format!(
            "`favourable: {side}`: the file does not show {known}; set it with \
             `--favourable positive` or `--favourable negative`"
        ));
    }
    let mut attributes = Vec::new();
    for profile in sensitive {
        let groups = groups(profile, options)?;
        let largest = groups.iter().max_by_key(|(_, n)| *n).map_or("", |(group, _)| group.as_str());
        let wished = options.reference.as_deref().map(|wished| profile.level_of(wished));
        let wished = wished.filter(|wished| groups.iter().any(|(group, _)| group == wished));
        let called = groups.iter().map(|(group, _)| format!("{}: PLURAL", word(group)));
        let small = groups.iter().filter(|(_, n)| *n < 30);
        let small = small.map(|(group, n)| format!("{} ({n})", word(group)));
        attributes.push(context!(
            name => word(&profile.name),
            remark => missing_word_remark(profile),
            groups => words(groups.iter().map(|(group, _)| group.as_str())),
            reference => word(wished.as_deref().unwrap_or(largest)),
            is_wished => wished.is_some(),
            called => comment_text(&list_words(called, 6)),
            small => comment_text(&list_words(small, 10)),
        ));
        if wished.is_none() {
            guesses.push(format!(
                "`reference: {}`, the largest group of `{}`; set it with `--reference GROUP`",
                word(largest),
                profile.name
            ));
        }
    }
    if let Some(wished) = &options.reference
        && !sensitive.iter().any(|profile| profile.levels.contains_key(&profile.level_of(wished)))
    {
        let what = format!("no sensitive attribute has a group `{wished}`");
        let held = sensitive.iter().flat_map(|profile| profile.levels.keys()).take(10);
        let held = suggest(wished, "the data hold", held);
        let hint = format!("give one of the groups with `--reference`; {held}");
        return Err(options.fault("unknown-group", what).hint(hint).into());
    }
    let values = context!(
        what,
        rows => file.rows,
        data => comment_text(&options.data),
        name => name(options.out.as_ref().unwrap_or(&options.data)),
        path,
        csv,
        row_id => row_id.map(|profile| word(&profile.name)),
        person,
        weights => weights.collect::<Vec<_>>(),
        label => word(&label.name),
        remark => missing_word_remark(label),
        positive => word(&positive),
        is_guessed => options.positive.is_none(),
        counts => comment_text(&list_words(counts, 10)),
        unknown => options.favourable.is_none().then(|| comment_text(&known)),
        side,
        attributes,
    );
    text.push_str(&fill(include_str!("data.txt"), values));
    Ok((positive, favourable))
}

/// The columns whose type must be said, and those with values that differ only by case; in a
/// one-hot group, which holds numbers, those that spell booleans out.
fn columns<'a>(
    text: &mut String,
    spelt: impl Iterator<Item = &'a ColumnProfile>,
    typed: impl Iterator<Item = &'a ColumnProfile>,
    of_group: &dyn Fn(&ColumnProfile) -> bool,
) {
    let spelt: Vec<&ColumnProfile> = spelt.filter(|profile| !profile.spelling.is_plain()).collect();
    let kind = |profile: &ColumnProfile| match profile.declared {
        None if of_group(profile) && profile.spells_booleans() => Some(DeclaredType::Integer),
        None if profile.class == ValueClass::Float && is_row_id(profile) => {
            Some(DeclaredType::Integer)
        }
        declared => declared,
    };
    let mut lines: IndexMap<&str, String> = IndexMap::new();
    for profile in typed {
        let Some(kind) = kind(profile) else { continue };
        let why = match kind {
            DeclaredType::Text if profile.changes_type => {
                "its files hold values of different types"
            }
            DeclaredType::Text => "it holds whole numbers that are too long to be read as numbers",
            DeclaredType::Percent => "DECIDE: numbers with a percent sign, read without it",
            _ => "whole numbers",
        };
        lines.entry(&profile.name).or_insert(format!("{}   # {why}", key_word(&kind)));
    }
    for profile in spelt {
        let joined = profile.joined.iter().map(|texts| {
            texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(" and ")
        });
        let (says, joined) = (profile.spelling.in_a_job(), comment_text(&list_words(joined, 10)));
        lines.insert(&profile.name, format!("{says}   # DECIDE: one value each? {joined}"));
    }
    if !lines.is_empty() {
        line!(text, "  columns:");
    }
    for (name, says) in lines {
        line!(text, "    {}: {says}", word(name));
    }
}

/// The words and numbers that may mean missing, by column, and why: words in the label, the
/// attributes and the features, codes and infinite numbers in the features.
fn missing_values(
    file: &FileProfile,
    named: &[&ColumnProfile],
    features: &[&ColumnProfile],
) -> (Vec<String>, String) {
    let known: Vec<&str> = match &file.rows_in {
        ProfiledRows::Csv(csv) => csv.null_values.iter().map(|null| null.as_str()).collect(),
        ProfiledRows::Parquet(_) => Vec::new(),
    };
    let (mut list, mut why) = (Vec::new(), IndexSet::new());
    for profile in named.iter().chain(features) {
        let is_text = profile.class == ValueClass::Text;
        let new = profile.missing_words.keys().filter(|null| !known.contains(&null.as_str()));
        let mut words: Vec<String> = new.filter(|_| is_text).map(|null| word(null)).collect();
        if !words.is_empty() {
            why.insert("words that usually mean missing");
        }
        if features.iter().any(|feature| feature.name == profile.name) && profile.class.is_number()
        {
            if !profile.infinite.is_empty() {
                words.extend(profile.infinite.keys().map(|text| word(text)));
                why.insert("infinite numbers, as after a division by 0");
            }
            let codes = missing_codes(profile.numbers());
            let is_plain = profile.levels.len() > 2 || profile.has_more_levels;
            for code in codes.iter().filter(|_| is_plain).flat_map(|set| &set.codes) {
                words.push(float_text(*code));
                why.insert("codes for missing, which lie apart from all other numbers");
            }
        }
        if !words.is_empty() {
            list.push(format!("{}: [{}]", word(&profile.name), words.join(", ")));
        }
    }
    let why: Vec<&str> = why.into_iter().collect();
    (list, format!("DECIDE: do these mean missing? {}", why.join("; ")))
}

/// A remark on rows whose word for missing may have a meaning in this file.
fn missing_word_remark(profile: &ColumnProfile) -> Option<String> {
    let n: u64 = profile.missing_words.values().sum();
    (n > 0).then(|| {
        format!(
            "# DECIDE: {n} rows contain a word of `null_values` here and count as missing; if it \
             is a value, declare it here and remove it from `null_values`"
        )
    })
}

/// What a file shows about an existing model.
struct FoundModels<'a> {
    /// The key `decision` of a model, with a remark.
    current: Option<(String, String)>,
    /// Columns that look like scores.
    scores: Vec<&'a ColumnProfile>,
}

/// The decisions of a file as a model, with a remark; `side` is the class that people want.
fn current_decisions(decided: &Decided<'_>, side: FavourableClass) -> (String, String) {
    let is_favourable = |value: &&str| decided.favourable.contains(value);
    let values = decided.profile.levels.keys().map(String::as_str);
    let positive: Vec<&str> = values
        .filter(|value| is_favourable(value) == (side == FavourableClass::Positive))
        .collect();
    let positive = words(positive);
    let decision = format!("{{column: {}, positive: [{positive}]}}", word(&decided.profile.name));
    let remark = decided.doubt().map_or_else(
        || "what was decided; `positive` is the side of the positive label".to_owned(),
        |doubt| format!("DECIDE: a guess, {doubt}"),
    );
    (decision, remark)
}

/// The scale of a column of scores as keys of a model, on one line.
fn scale_keys(score: &ColumnProfile) -> String {
    let GuessedScale { scale: guessed, threshold } = scale(score);
    let scale = guessed.map_or_else(String::new, |scale| format!(", scale: {scale}"));
    format!("{scale}, threshold: {threshold}")
}

/// A one-hot group as `new` writes it: its name and its columns.
type OneHotColumns<'a> = (String, Vec<&'a ColumnProfile>);

fn trained(
    text: &mut String,
    (roles, onehot): (&[(&ColumnProfile, GuessedRole)], &[OneHotColumns<'_>]),
    (sensitive, at_risk): (&[&ColumnProfile], &[(String, String)]),
    found: &FoundModels<'_>,
    (null_values, why): &(Vec<String>, String),
) {
    let is_alone = |profile: &ColumnProfile| {
        onehot.iter().all(|(_, columns)| columns.iter().all(|column| column.name != profile.name))
    };
    let names_of = |wanted: fn(&GuessedRole) -> bool| {
        let wanted = roles.iter().filter(move |(profile, role)| wanted(role) && is_alone(profile));
        wanted.map(|(profile, _)| profile.name.as_str())
    };
    let is_continuous: fn(&GuessedRole) -> bool = |role| matches!(role, GuessedRole::Continuous);
    let is_nominal: fn(&GuessedRole) -> bool =
        |role| matches!(role, GuessedRole::Nominal | GuessedRole::Code);
    let is_code: fn(&GuessedRole) -> bool = |role| matches!(role, GuessedRole::Code);
    let group = |(name, columns): &OneHotColumns<'_>| {
        let columns = words(columns.iter().map(|column| column.name.as_str()));
        format!("{}: [{columns}]", word(name))
    };
    let onehot: Vec<String> = onehot.iter().map(group).collect();
    let ignored = roles.iter().filter_map(|(profile, role)| match role {
        GuessedRole::Ignored(why) => Some(context!(name => comment_text(&profile.name), why)),
        _ => None,
    });
    let scores = found.scores.iter();
    let scores =
        scores.map(|profile| context!(column => word(&profile.name), keys => scale_keys(profile)));
    let gates = sensitive.iter().zip(at_risk).enumerate().map(|(i, (profile, (group, why)))| {
        let (name, attribute) = (format!("no-harm-by-{}", profile.name), word(&profile.name));
        let name = if Name::new(&name).is_some() { name } else { format!("no-harm-{}", i + 1) };
        context!(name, attribute, group => word(group), why => comment_text(why))
    });
    let current = found.current.as_ref();
    let current =
        current.map(|(decision, remark)| context!(decision, remark => comment_text(remark)));
    let values = context!(
        alone => names_of(is_continuous).chain(names_of(is_nominal)).next().is_none() && onehot.is_empty(),
        continuous => words(names_of(is_continuous)),
        nominal => words(names_of(is_nominal)),
        codes => comment_text(&list_words(names_of(is_code).map(str::to_owned), 10)),
        onehot => onehot.join(", "),
        ignored => ignored.collect::<Vec<_>>(),
        nulls => null_values.join(", "),
        why,
        missing => roles.iter().any(|(profile, _)| profile.missing > 0),
        sensitive => words(sensitive.iter().map(|profile| profile.name.as_str())),
        current,
        scores => scores.collect::<Vec<_>>(),
        gates => gates.collect::<Vec<_>>(),
    );
    text.push_str(&fill(include_str!("trained.txt"), values));
}

fn scored(
    text: &mut String,
    score: &ColumnProfile,
    label: &ColumnProfile,
    has_id: bool,
    better: Option<&str>,
) {
    let GuessedScale { scale, threshold } = scale(score);
    let (low, high) = score.range.unwrap_or_default();
    let (column, label) = (word(&score.name), comment_text(&label.name));
    let (low, high, threshold) = (low.to_string(), high.to_string(), threshold.to_string());
    let values = context!(column, has_id, scale, low, high, better, label, threshold);
    text.push_str(&fill(include_str!("scored.txt"), values));
}
