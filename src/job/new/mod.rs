//! Writes a first job from a data file, for `cfaudit new`: every choice that was made is reported
//! next to it.
//!
//! A job must say which label is positive, which side people want and which group is the reference;
//! a file does not tell. Where the caller does not say either, the job gets a value anyway,
//! so that it runs, with the word DECIDE next to it and what else could be there; each such
//! guess is also told to the caller. Columns that no model should read are left out with the
//! reason.
//!
//! An Aequitas-style table has the columns `score` and `label_value`, optionally `entity_id`, and
//! attributes: its scores are audited unchanged, without counterfactuals.

mod guess;
mod named_columns;
pub(crate) mod remedy;
mod yaml;

use std::fmt::Write as _;

use indexmap::{IndexMap, IndexSet};

use self::guess::{
    Decided, GuessedRole, GuessedScale, are_selective, at_risk, decision_column, has_groups,
    id_column, lowest_shares, onehot, person_column, positive, role, scale, side, usable,
};
pub use self::named_columns::NewJobOptions;
use self::named_columns::{check_scores, column, columns_in_words, groups, is_duplicated, levels};
use self::yaml::{comment_text, csv_block, line, name, word, words};
use crate::data::column::codes::missing_codes;
use crate::data::column::declared::DeclaredType;
use crate::data::column::leaks;
use crate::data::column::profile::ColumnProfile;
use crate::data::column::roles::{is_row_id, is_weight};
use crate::data::source::file_profile::{FileProfile, ProfiledRows};
use crate::data::source::list_words;
use crate::data::values::{ValueClass, float_text};
use crate::error::{Fault, Result};
use crate::job::FavourableClass;
use crate::job::read::nearest::suggest;
use crate::job::resolve::flat::{DOLLAR, literal};
use crate::param::Name;

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
/// A column that the caller names is not there, or twice, or has two roles; the label is none, an
/// attribute has no groups, or scores are not within 0 and 1.
pub fn job(glance: &FileProfile, wishes: &NewJobOptions) -> Result<FirstJob> {
    let is_there = |name: &str| glance.columns.iter().any(|look| look.name == name);
    let aequitas = wishes.label.is_none() && is_there("score") && is_there("label_value");
    let label = match (&wishes.label, aequitas) {
        (Some(label), _) => column(glance, wishes, label)?,
        (None, true) => column(glance, wishes, "label_value")?,
        (None, false) => {
            let fault =
                Fault::new("missing-column", "no label column is given").in_file(&wishes.data);
            return Err(fault
                .hint(format!("write `--label COLUMN`; {}", columns_in_words(glance)))
                .into());
        }
    };
    let score = match &wishes.score {
        Some(score) => Some(column(glance, wishes, score)?),
        None if aequitas => Some(column(glance, wishes, "score")?),
        None => None,
    };
    if let Some(score) = score {
        if score.name == label.name {
            let what = format!("the column of scores `{}` is the label too", score.name);
            let fault = Fault::new("two-roles", what).in_file(&wishes.data).in_column(&score.name);
            return Err(fault
                .hint("a column has one role: label, scores, row id or sensitive attribute")
                .into());
        }
        check_scores(score, wishes)?;
    }
    let row_id = id_column(glance, [Some(label), score]);
    let taken = |look: &ColumnProfile| {
        look.name == label.name
            || score.is_some_and(|s| s.name == look.name)
            || row_id.is_some_and(|i| i.name == look.name)
    };
    let mut sensitive: Vec<&ColumnProfile> = Vec::new();
    for name in &wishes.sensitive {
        let look = column(glance, wishes, name)?;
        if taken(look) || sensitive.iter().any(|other| other.name == look.name) {
            let what = format!("the sensitive column `{name}` has another role too");
            let fault = Fault::new("two-roles", what).in_file(&wishes.data).in_column(name);
            return Err(fault
                .hint("a column has one role: label, scores, row id or sensitive attribute")
                .into());
        }
        sensitive.push(look);
    }
    if sensitive.is_empty() && aequitas {
        sensitive = glance
            .columns
            .iter()
            .filter(|look| !taken(look) && has_groups(look) && usable(&look.name))
            .collect();
    }
    if sensitive.is_empty() {
        let candidates = glance
            .columns
            .iter()
            .filter(|look| !taken(look) && has_groups(look))
            .map(|look| format!("`{}`", look.name));
        let candidates: Vec<String> = candidates.collect();
        let fault =
            Fault::new("missing-column", "no sensitive attribute is given").in_file(&wishes.data);
        let like = if candidates.is_empty() {
            columns_in_words(glance)
        } else {
            format!("with few values are {}", list_words(candidates, 10))
        };
        return Err(fault.hint(format!("write `--sensitive COLUMN`; {like}")).into());
    }
    let mut text = String::new();
    head(&mut text, glance, wishes, score.is_some());
    let mut guesses = Vec::new();
    let named: Vec<&ColumnProfile> =
        [label].into_iter().chain(row_id).chain(sensitive.iter().copied()).collect();
    let attributes: Vec<&str> = sensitive.iter().map(|look| look.name.as_str()).collect();
    let person = person_column(glance, &named, &attributes, &label.name);
    let (positive, favourable) =
        data(&mut text, glance, wishes, (label, row_id, person, &sensitive), &mut guesses)?;
    match score {
        None => {
            let leaks = leaks::find(&glance.columns, Some((label, &positive)), &[]);
            let role = |look: &ColumnProfile| match leaks.reasons.get(&look.name) {
                _ if is_duplicated(glance, &look.name) => {
                    GuessedRole::Ignored("several columns have this name".to_owned())
                }
                Some(why) if usable(&look.name) => GuessedRole::Ignored(comment_text(why)),
                _ => role(look, &glance.columns, &attributes, &label.name),
            };
            let others = glance
                .columns
                .iter()
                .filter(|look| !taken(look) && !sensitive.iter().any(|s| s.name == look.name));
            let roles: Vec<(&ColumnProfile, GuessedRole)> =
                others.map(|look| (look, role(look))).collect();
            let decided = decision_column(&roles, &leaks.decisions);
            let found = match &decided {
                Some(Decided { look, favourable, .. }) => {
                    let what = format!("decisions by {}", look.name);
                    lowest_shares(
                        glance,
                        (look, &|value| favourable.contains(&value), &what),
                        &sensitive,
                    )?
                }
                None => {
                    let favours = favourable == FavourableClass::Positive;
                    lowest_shares(
                        glance,
                        (label, &|value| (value == positive) == favours, "labels"),
                        &sensitive,
                    )?
                }
            };
            let doubt = |look: &ColumnProfile| match &decided {
                Some(decided) => decided.doubt(),
                None if are_selective(look, label) => Some(
                    "labels are missing for one group more often than for another, and \
                     no decision column was found"
                        .to_owned(),
                ),
                None => None,
            };
            let is_guess = decided.is_none() && wishes.favourable.is_none();
            let of = sensitive.iter().zip(found);
            let at_risk: Vec<_> = of
                .map(|(look, found)| at_risk((look, found), doubt(look), is_guess, &mut guesses))
                .collect();
            let onehot = onehot(glance, &roles);
            let nominal = roles.iter().filter(|(_, role)| matches!(role, GuessedRole::Nominal));
            let features =
                roles.iter().filter(|(_, role)| !matches!(role, GuessedRole::Ignored(_)));
            let features: Vec<&ColumnProfile> = features.map(|(look, _)| *look).collect();
            let texts = sensitive.iter().copied().chain(nominal.map(|(look, _)| *look));
            let spelt = std::iter::once(label).chain(texts);
            let of_group = |look: &ColumnProfile| {
                onehot.iter().any(|(_, of)| of.iter().any(|column| column.name == look.name))
            };
            let types = row_id.into_iter().chain(person).chain(sensitive.iter().copied());
            let types = types.chain([label]).chain(features.iter().copied());
            columns(&mut text, spelt, types, &of_group);
            let current = decided.as_ref().map(|decided| current_decisions(decided, favourable));
            let scores = leaks.scores.iter().filter_map(|name| column(glance, wishes, name).ok());
            let found = FoundModels { current, scores: scores.collect() };
            let missing = missing_values(glance, &named, &features);
            trained(&mut text, (&roles, &onehot), (&sensitive, &at_risk), &found, &missing);
        }
        Some(score) => {
            let spelt = std::iter::once(label).chain(sensitive.iter().copied());
            columns(&mut text, spelt, named.iter().copied(), &|_| false);
            let (null_values, why) = missing_values(glance, &named, &[]);
            if !null_values.is_empty() {
                line!(text, "  missing: {{null_values: {{{}}}}}   # {why}", null_values.join(", "));
            }
            // The end of the scale that people want, where it is not the one that is taken for
            // granted.
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
    if !glance.unreadable.is_empty() {
        line!(text, "");
    }
    for (name, why) in &glance.unreadable {
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

fn head(text: &mut String, glance: &FileProfile, wishes: &NewJobOptions, scored: bool) {
    let what = if scored {
        "Audits the scores that the table holds"
    } else {
        "Trains a model and audits it"
    };
    line!(
        text,
        "# {what}. Written by `cfaudit new` from {} rows of {};",
        glance.rows,
        comment_text(&wishes.data)
    );
    line!(
        text,
        "# the lines marked DECIDE contain guesses that only you can confirm. `cfaudit check JOB` \
         finds errors, `cfaudit explain WORD` explains a term."
    );
    line!(text, "cfaudit: 1");
    line!(text, "name: {}", name(&wishes.data));
    line!(
        text,
        "# about:   # words of the page; those of the sign-off are blank lines on paper where left \
         out"
    );
    line!(text, "#   decision: What the model decides, in a sentence");
    line!(text, "#   purpose: Yearly review");
    line!(text, "#   limitations: [What the reader must know about the rows.]");
    line!(text, "#   prepared_by: {{role: model owner, name: A. Owner}}");
    line!(text, "");
}

/// The block `data` up to the features; gives back the positive value of the label, and which
/// prediction people want.
fn data(
    text: &mut String,
    glance: &FileProfile,
    wishes: &NewJobOptions,
    (label, row_id, person, sensitive): (
        &ColumnProfile,
        Option<&ColumnProfile>,
        Option<&ColumnProfile>,
        &[&ColumnProfile],
    ),
    guesses: &mut Vec<String>,
) -> Result<(String, FavourableClass)> {
    line!(text, "data:");
    let path = word(&wishes.data);
    match &glance.rows_in {
        ProfiledRows::Parquet(_) => {
            line!(text, "  rows: {{parquet: {path}}}");
        }
        ProfiledRows::Csv(csv) => {
            let (csv, why) = csv_block(&path, csv);
            line!(text, "  rows: {{csv: {{{csv}}}}}{why}");
        }
    }
    match row_id {
        Some(id) => {
            line!(
                text,
                "  row_id: {}   # so that people can be matched between versions",
                word(&id.name)
            );
        }
        None => {
            line!(
                text,
                "  # row_id: COLUMN   # a column that identifies people, so that they \
                 can be matched between versions"
            );
        }
    }
    let roles: Vec<&ColumnProfile> =
        [label].into_iter().chain(row_id).chain(sensitive.iter().copied()).collect();
    if let Some(person) = person {
        // A row without a person would end the run.
        let sign = if person.missing == 0 { "" } else { "# " };
        line!(
            text,
            "  {sign}person: {}   # DECIDE: a person has {:.1} rows; leave it out if each row is \
             a case of its own",
            word(&person.name),
            person.rows_per_value
        );
        if person.missing == 0 {
            let column = word(&person.name);
            guesses.push(format!("`person: {column}`: several rows are one person's"));
        }
    }
    for weight in glance.columns.iter().filter(|look| usable(&look.name) && is_weight(look)) {
        if roles.iter().all(|role| role.name != weight.name) {
            line!(
                text,
                "  # weight: {}   # DECIDE: take the `#` away if it says how many people a row \
                 represents",
                word(&weight.name)
            );
        }
    }
    let levels = levels(label, wishes, 2)?;
    let positive = positive(label, wishes, &levels)?;
    let counts = levels.iter().map(|(level, n)| format!("{} ({n})", word(level)));
    line!(text, "  label:");
    line!(text, "    column: {}", word(&label.name));
    if let Some(remark) = missing_word_remark(label) {
        line!(text, "    {remark}");
    }
    let decide = if wishes.positive.is_some() { "" } else { "DECIDE: a guess; " };
    line!(
        text,
        "    positive: [{}]   # {decide}the class that the model predicts; values: {}",
        word(&positive),
        comment_text(&list_words(counts, 10))
    );
    if wishes.positive.is_none() {
        guesses.push(format!(
            "`positive: [{}]` of the label `{}`; set it with `--positive VALUE`",
            word(&positive),
            label.name
        ));
    }
    let favourable = wishes.favourable.unwrap_or_else(|| side(label, &positive));
    let side = if favourable == FavourableClass::Negative { "negative" } else { "positive" };
    let mut decide = "";
    if wishes.favourable.is_none() {
        let known = format!("whether people want {} as {}", word(&positive), label.name);
        line!(text, "    # A guess: the file does not show {}.", comment_text(&known));
        decide = "DECIDE: ";
        guesses.push(format!(
            "`favourable: {side}`: the file does not show {known}; set it with \
             `--favourable positive` or `--favourable negative`"
        ));
    }
    line!(
        text,
        "    favourable: {side}   # {decide}positive | negative: which prediction people want"
    );
    line!(
        text,
        "    # words: {{favourable: granted, unfavourable: refused, object: the loan}}   # the \
         page then uses your words for the two decisions"
    );
    line!(text, "  sensitive:");
    for look in sensitive {
        let groups = groups(look, wishes)?;
        let largest = groups.iter().max_by_key(|(_, n)| *n).map_or("", |(group, _)| group.as_str());
        let wished = wishes.reference.as_deref().map(|wished| look.level_of(wished));
        let wished = wished.filter(|wished| groups.iter().any(|(group, _)| group == wished));
        let wished = wished.as_deref();
        let decide = if wished.is_some() {
            "the group with which others are compared"
        } else {
            "DECIDE: the group with which others are compared; here the largest"
        };
        line!(text, "    {}:", word(&look.name));
        if let Some(remark) = missing_word_remark(look) {
            line!(text, "      {remark}");
        }
        line!(text, "      groups: [{}]", words(groups.iter().map(|(group, _)| group.as_str())));
        line!(text, "      reference: {}   # {decide}", word(wished.unwrap_or(largest)));
        let called = groups.iter().map(|(group, _)| format!("{}: PLURAL", word(group)));
        line!(
            text,
            "      # words: {{{}}}   # what the page calls these people, such as `men`",
            comment_text(&list_words(called, 6))
        );
        if wished.is_none() {
            guesses.push(format!(
                "`reference: {}`, the largest group of `{}`; set it with `--reference GROUP`",
                word(largest),
                look.name
            ));
        }
        let small: Vec<String> = groups
            .iter()
            .filter(|(_, n)| *n < 30)
            .map(|(group, n)| format!("{} ({n})", word(group)))
            .collect();
        if !small.is_empty() {
            line!(text, "      # few people: {}", comment_text(&list_words(small, 10)));
        }
    }
    if let Some(wished) = &wishes.reference
        && !sensitive.iter().any(|look| look.levels.contains_key(&look.level_of(wished)))
    {
        let fault =
            Fault::new("unknown-group", format!("no sensitive attribute has a group `{wished}`"))
                .in_file(&wishes.data);
        let held: Vec<&str> = sensitive
            .iter()
            .flat_map(|look| look.levels.keys())
            .map(String::as_str)
            .take(10)
            .collect();
        return Err(fault
            .hint(format!(
                "give one of the groups with `--reference`; {}",
                suggest(wished, "the data hold", held)
            ))
            .into());
    }
    Ok((positive, favourable))
}

/// The columns whose type must be said, and those with values that differ only by case; of a
/// one-hot group, which holds numbers, those that spell booleans out.
fn columns<'a>(
    text: &mut String,
    spelt: impl Iterator<Item = &'a ColumnProfile>,
    typed: impl Iterator<Item = &'a ColumnProfile>,
    of_group: &dyn Fn(&ColumnProfile) -> bool,
) {
    let spelt: Vec<&ColumnProfile> = spelt.filter(|look| !look.spelling.is_plain()).collect();
    let kind = |look: &ColumnProfile| match look.declared {
        None if of_group(look) && look.spells_booleans() => Some(DeclaredType::Integer),
        None if look.class == ValueClass::Float && is_row_id(look) => Some(DeclaredType::Integer),
        declared => declared,
    };
    let mut lines: IndexMap<&str, String> = IndexMap::new();
    for look in typed {
        let Some(kind) = kind(look) else { continue };
        let why = match kind {
            DeclaredType::Text if look.changes_type => "its files hold values of different types",
            DeclaredType::Text => "it holds whole numbers that are too long to be read as numbers",
            DeclaredType::Percent => "DECIDE: numbers with a percent sign, read without it",
            _ => "whole numbers",
        };
        let kind = serde_json::to_string(&kind).unwrap_or_default();
        lines.entry(&look.name).or_insert(format!("{}   # {why}", kind.trim_matches('"')));
    }
    for look in spelt {
        let joined = look.joined.iter().map(|texts| {
            let texts: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
            texts.join(" and ")
        });
        let joined = list_words(joined, 10);
        let says = look.spelling.in_a_job();
        lines.insert(
            &look.name,
            format!("{says}   # DECIDE: one value each? {}", comment_text(&joined)),
        );
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
    glance: &FileProfile,
    named: &[&ColumnProfile],
    features: &[&ColumnProfile],
) -> (Vec<String>, String) {
    let known: Vec<&str> = match &glance.rows_in {
        ProfiledRows::Csv(csv) => csv.null_values.iter().map(|null| null.as_str()).collect(),
        ProfiledRows::Parquet(_) => Vec::new(),
    };
    let (mut list, mut why) = (Vec::new(), IndexSet::new());
    for look in named.iter().chain(features) {
        let mut words: Vec<String> = Vec::new();
        if look.class == ValueClass::Text {
            let new = look.missing_words.keys().filter(|null| !known.contains(&null.as_str()));
            words.extend(new.map(|null| word(null)));
        }
        if !words.is_empty() {
            why.insert("words that usually mean missing");
        }
        if features.iter().any(|feature| feature.name == look.name) && look.class.is_number() {
            if !look.infinite.is_empty() {
                words.extend(look.infinite.keys().map(|text| word(text)));
                why.insert("infinite numbers, as after a division by 0");
            }
            let codes = missing_codes(look.numbers());
            let is_plain = look.levels.len() > 2 || look.has_more_levels;
            for code in codes.iter().filter(|_| is_plain).flat_map(|set| &set.codes) {
                words.push(float_text(*code));
                why.insert("codes for missing, which lie apart from all other numbers");
            }
        }
        if !words.is_empty() {
            list.push(format!("{}: [{}]", word(&look.name), words.join(", ")));
        }
    }
    let why: Vec<&str> = why.into_iter().collect();
    (list, format!("DECIDE: do these mean missing? {}", why.join("; ")))
}

/// A remark on rows whose word for missing may mean something here.
fn missing_word_remark(look: &ColumnProfile) -> Option<String> {
    let n = look.n_missing_words();
    (n > 0).then(|| {
        format!(
            "# DECIDE: {n} rows contain a word of `null_values` here and count as missing; if it \
             is a value, declare it here and remove it from `null_values`"
        )
    })
}

/// What a file tells of a model that exists.
struct FoundModels<'a> {
    /// The key `decision` of a model, with a remark.
    current: Option<(String, String)>,
    /// Columns that look like scores.
    scores: Vec<&'a ColumnProfile>,
}

/// The decisions of a file as a model, with a remark; `side` is the class that people want.
fn current_decisions(decided: &Decided<'_>, side: FavourableClass) -> (String, String) {
    let is_favourable = |value: &&str| decided.favourable.contains(value);
    let values = decided.look.levels.keys().map(String::as_str);
    let positive: Vec<&str> = values
        .filter(|value| is_favourable(value) == (side == FavourableClass::Positive))
        .collect();
    let positive = words(positive);
    let decision = format!("{{column: {}, positive: [{positive}]}}", word(&decided.look.name));
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
    let is_alone = |look: &ColumnProfile| {
        onehot.iter().all(|(_, columns)| columns.iter().all(|column| column.name != look.name))
    };
    let of = |wanted: fn(&GuessedRole) -> bool| {
        let wanted = roles.iter().filter(move |(look, role)| wanted(role) && is_alone(look));
        wanted.map(|(look, _)| look.name.as_str())
    };
    let is_continuous: fn(&GuessedRole) -> bool = |role| matches!(role, GuessedRole::Continuous);
    let is_nominal: fn(&GuessedRole) -> bool =
        |role| matches!(role, GuessedRole::Nominal | GuessedRole::Code);
    let is_code: fn(&GuessedRole) -> bool = |role| matches!(role, GuessedRole::Code);
    line!(
        text,
        "  features:          # what the model reads in addition to the sensitive columns; \
         ordinal: {{COLUMN: ascending}} for ordered numbers"
    );
    if of(is_continuous).next().is_some() {
        line!(text, "    continuous: [{}]", words(of(is_continuous)));
    }
    if of(is_nominal).next().is_some() {
        let codes = list_words(of(is_code).map(str::to_owned), 10);
        let decide = match codes.as_str() {
            "" => String::new(),
            codes => format!(
                "   # DECIDE: whole numbers that may be codes: {}; list them under continuous or \
                 ordinal if they are numbers",
                comment_text(codes)
            ),
        };
        line!(text, "    nominal: [{}]{decide}", words(of(is_nominal)));
    }
    if !onehot.is_empty() {
        let group = |(name, columns): &(String, Vec<&ColumnProfile>)| {
            let columns = words(columns.iter().map(|column| column.name.as_str()));
            format!("{}: [{columns}]", word(name))
        };
        let groups: Vec<String> = onehot.iter().map(group).collect();
        line!(
            text,
            "    onehot: {{{}}}   # in almost every row one column of a group is 1",
            groups.join(", ")
        );
    }
    let alone = of(is_continuous).chain(of(is_nominal)).next().is_none() && onehot.is_empty();
    if alone {
        line!(text, "    continuous: []   # no suitable column was found");
    }
    for (look, role) in roles {
        if let GuessedRole::Ignored(why) = role {
            line!(text, "    # left out: {} ({why})", comment_text(&look.name));
        }
    }
    let (codes, why) = match null_values.as_slice() {
        [] => (String::new(), String::new()),
        list => (format!(", null_values: {{{}}}", list.join(", ")), format!("; {why}")),
    };
    if !codes.is_empty() || roles.iter().any(|(look, _)| look.missing > 0) {
        line!(
            text,
            "  missing: {{nominal: level, continuous: keep{codes}}}   # keep | level | drop-row | \
             error, by kind{why}"
        );
    }
    line!(text, "  split: {{share: {{train: 0.7, audit: 0.3}}}}");
    line!(text, "");
    line!(text, "counterfactuals:       # the same people as members of another group");
    let own = if alone { "trained" } else { "trained, blind" };
    if found.current.is_some() {
        line!(
            text,
            "  flip: {{naive: {{}}, models: [{own}]}}   # only the sensitive column changes; the \
             file shows no decision about changed people"
        );
    } else {
        line!(text, "  flip: naive          # only the sensitive column changes");
    }
    line!(
        text,
        "  # typical: {{greedy: {{condition_on: label}}}}   # every feature takes the equally \
         typical value of the other group"
    );
    line!(text, "");
    line!(text, "models:");
    line!(
        text,
        "  trained:             # trained by the run on these rows: not a model that is in use"
    );
    line!(text, "    logistic: {{l2: 1.0}}");
    line!(text, "    threshold: 0.5     # the score from which a prediction is positive");
    if !alone {
        line!(text, "  blind:               # the same model without the sensitive columns");
        line!(
            text,
            "    logistic: {{l2: 1.0, omit: [{}]}}",
            words(sensitive.iter().map(|look| look.name.as_str()))
        );
    }
    if let Some((decision, remark)) = &found.current {
        line!(text, "  current:             # {}", comment_text(remark));
        line!(text, "    decision: {decision}");
    }
    for score in &found.scores {
        line!(
            text,
            "  # scored: {{scores: {{factual: {{column: {}}}}}{}}}   # the scores of the file; \
             DECIDE: scale and threshold",
            word(&score.name),
            scale_keys(score)
        );
    }
    line!(
        text,
        "  # yours: {{command: {{score: [python3, score.py], watch: [score.py]}}}}   # your own \
         model"
    );
    line!(text, "");
    line!(text, "gates:");
    for (i, (look, (group, why))) in sensitive.iter().zip(at_risk).enumerate() {
        line!(
            text,
            "  {}:   # people who are refused but would not be in the other group, and the reverse",
            gate_name(&look.name, i)
        );
        line!(
            text,
            "    harm_to: {{{}: {}}}   # {}",
            word(&look.name),
            word(group),
            comment_text(why)
        );
        line!(text, "    model: trained");
        line!(text, "    counterfactual: flip");
        line!(
            text,
            "    at_most: 0.05      # {}the limit; `fail` instead of `warn` stops a pipeline",
            if i == 0 { "DECIDE: " } else { "" }
        );
        line!(text, "    level: warn");
    }
    if found.current.is_some() {
        current_gate(text);
    }
}

/// The gate on the decisions of a file.
fn current_gate(text: &mut String) {
    line!(
        text,
        "  gap-today:           # difference of the shares of positive decisions, for the groups \
         furthest apart"
    );
    line!(text, "    metric: demp_difference");
    line!(text, "    model: current");
    line!(text, "    between: worst_case");
    line!(text, "    at_most: 0.10");
    line!(text, "    level: warn");
}

/// A gate's name from that of an attribute.
fn gate_name(attribute: &str, i: usize) -> String {
    let name = format!("no-harm-by-{attribute}");
    if Name::new(&name).is_some() { name } else { format!("no-harm-{}", i + 1) }
}

fn scored(
    text: &mut String,
    score: &ColumnProfile,
    label: &ColumnProfile,
    has_id: bool,
    better: Option<&str>,
) {
    line!(text, "");
    line!(text, "models:");
    line!(text, "  scored:");
    line!(text, "    scores:");
    line!(text, "      factual: {{column: {}}}", word(&score.name));
    if has_id {
        line!(
            text,
            "      # counterfactual: {{parquet: \"scores/{{counterfactual}}.parquet\", column: \
             score}}   # add it to audit sets under `counterfactuals` too"
        );
    }
    let GuessedScale { scale: guessed, threshold } = scale(score);
    if let (Some(guessed), Some((low, high))) = (guessed, score.range) {
        let what = match guessed.as_str() {
            "log-odds" => {
                "whether scores are log-odds; if not, write the lowest and the highest score that \
                 there can be as `{from: LOW, to: HIGH}`"
            }
            _ => "the lowest and the highest score that there can be",
        };
        line!(
            text,
            "    scale: {guessed}   # DECIDE: {what}; those of the file range from {low} to {high}"
        );
        match better {
            Some(better) => {
                line!(
                    text,
                    "    better: {better}    # DECIDE: higher | lower: the scores that people \
                     want; a guess, high scores go with the other side of {}",
                    comment_text(&label.name)
                );
            }
            None => {
                line!(text, "    # better: lower    # if low scores are those that people want");
            }
        }
    }
    line!(
        text,
        "    threshold: {threshold}     # DECIDE: the score from which a prediction is positive"
    );
    line!(text, "");
    line!(text, "gates:");
    line!(
        text,
        "  gap:                 # difference of the shares of positive predictions, for the groups \
         furthest apart"
    );
    line!(text, "    metric: demp_difference");
    line!(text, "    model: scored");
    line!(text, "    between: worst_case");
    line!(
        text,
        "    at_most: 0.10      # DECIDE: the limit; `fail` instead of `warn` stops a pipeline"
    );
    line!(text, "    level: warn");
    line!(
        text,
        "  missed:              # difference of the shares of people with {} whom the model \
         misses, for the groups furthest apart",
        comment_text(&label.name)
    );
    line!(text, "    metric: fnr_difference");
    line!(text, "    model: scored");
    line!(text, "    between: worst_case");
    line!(text, "    at_most: 0.10");
    line!(text, "    level: warn");
}
