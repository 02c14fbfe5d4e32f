//! Writes a first job from a data file, for `cfaudit new`: every choice that was made is reported
//! next to it.
//!
//! A job must say which label is positive, which side people want and which group is the reference;
//! a file does not tell. Where the caller does not say either, the job gets a value anyway,
//! so that it runs, with the word DECIDE next to it and what else could be there; each such
//! guess is also told to the caller. Columns that no model should read (`leaks`) are left out with
//! the reason.
//!
//! An Aequitas-style table has the columns `score` and `label_value`, optionally `entity_id`, and
//! attributes: its scores are audited unchanged, without counterfactuals.

pub(crate) mod leaks;

use std::fmt::Write as _;

use crate::data::source::csv_import::CsvBlock;
use crate::data::source::file_profile::{
    ColumnProfile, FileProfile, LevelShares, ProfiledRows, hash_of,
};
use crate::data::source::{list_words, missing_column_fault};
use crate::data::values::ValueClass;
use crate::error::{Fault, Result};
use crate::job::FavourableClass;
use crate::job::read::nearest::suggest;
use crate::job::resolve::flat::{DOLLAR, literal};
use crate::metric::evidence::labels::{FavourableShare, LowestShare, share, shares_differ};
use crate::param::{ColumnName, Name};

/// What the caller says.
#[derive(Debug, Clone, Default)]
pub struct NewJobOptions {
    /// The file, as a job is to name it.
    pub data: String,
    /// The label; none: `label_value` of an Aequitas-style table.
    pub label: Option<String>,
    /// The sensitive attributes; none: all that a table of this style has.
    pub sensitive: Vec<String>,
    /// The column of scores; none: `score` of such a table, else a model is trained.
    pub score: Option<String>,
    /// The positive value of the label.
    pub positive: Option<String>,
    /// Which side people want.
    pub favourable: Option<FavourableClass>,
    /// The reference group.
    pub reference: Option<String>,
}

/// Values of a label or groups of an attribute that a job lists.
const LEVELS_LISTED: usize = 50;

/// Levels that a nominal feature may have before it is left out.
const NOMINAL_LEVELS_AT_MOST: usize = 100;

/// A first job, and what in it is a guess.
#[derive(Debug, Clone)]
pub struct FirstJob {
    /// The job.
    pub text: String,
    /// What was guessed, a sentence each, with the flag that says it.
    pub guesses: Vec<String>,
}

/// What people want to see, and what not.
const WANTED_WORDS: [&str; 22] = [
    "grant",
    "approve",
    "accept",
    "granted",
    "approved",
    "accepted",
    "admitted",
    "hired",
    "paid",
    "repaid",
    "passed",
    "pass",
    "good",
    "offered",
    "selected",
    "bewilligt",
    "genehmigt",
    "angenommen",
    "bezahlt",
    "gut",
    "accordé",
    "accepté",
];
const UNWANTED_WORDS: [&str; 25] = [
    "decline",
    "refused",
    "rejected",
    "denied",
    "declined",
    "refuse",
    "reject",
    "deny",
    "default",
    "defaulted",
    "failed",
    "fail",
    "bad",
    "fraud",
    "dismissed",
    "recid",
    "recidivism",
    "arrest",
    "abgelehnt",
    "verweigert",
    "ausfall",
    "zahlungsausfall",
    "schlecht",
    "betrug",
    "refusé",
];

/// Words in a name that turn what follows.
const NEGATIONS: [&str; 6] = ["no", "not", "non", "un", "nicht", "kein"];

/// Words in the names of columns that distinguish people, and ends of such words.
const ID_WORDS: [&str; 6] = ["no", "konto", "account", "kunde", "customer", "hash"];
const ID_ENDINGS: [&str; 3] = ["nr", "number", "nummer"];

/// Parts of names of columns that say whose row it is.
const PERSON_WORDS: [&str; 10] = [
    "patient",
    "person",
    "customer",
    "client",
    "member",
    "applicant",
    "user",
    "kunde",
    "kundin",
    "versicherter",
];

/// Words that say that something is so, and that it is not.
const YES_WORDS: [&str; 14] = [
    "1", "1.0", "true", "yes", "y", "positive", "ja", "j", "wahr", "oui", "vrai", "si", "sí", "sim",
];
const NO_WORDS: [&str; 11] =
    ["0", "0.0", "false", "no", "n", "negative", "nein", "falsch", "non", "faux", "não"];

fn is_among(words: &[&str], text: &str) -> bool {
    words.contains(&text.to_lowercase().as_str())
}

/// A role that was found for a column that is neither label nor attribute.
enum GuessedRole {
    Continuous,
    Nominal,
    Ignored(String),
}

// Writing to a string cannot fail.
macro_rules! line {
    ($text:expr, $($format:tt)*) => { let _ = writeln!($text, $($format)*); };
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
    let (positive, favourable) =
        data(&mut text, glance, wishes, (label, row_id, &sensitive), &mut guesses)?;
    match score {
        None => {
            let leaks = leaks::find(&glance.columns, Some((label, &positive)), None);
            let role = |look: &ColumnProfile| match leaks.reasons.get(&look.name) {
                _ if is_duplicated(glance, &look.name) => {
                    GuessedRole::Ignored("several columns have this name".to_owned())
                }
                Some(why) if usable(&look.name) => GuessedRole::Ignored(comment_text(why)),
                _ => role(look),
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
            let nominal = roles.iter().filter(|(_, role)| matches!(role, GuessedRole::Nominal));
            let texts = sensitive.iter().copied().chain(nominal.map(|(look, _)| *look));
            spellings(&mut text, std::iter::once(label).chain(texts));
            trained(&mut text, &roles, &sensitive, &at_risk);
        }
        Some(score) => {
            spellings(&mut text, std::iter::once(label).chain(sensitive.iter().copied()));
            scored(&mut text, score, label, row_id.is_some());
        }
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

/// A column that was asked for.
fn column<'a>(
    glance: &'a FileProfile,
    wishes: &NewJobOptions,
    name: &str,
) -> Result<&'a ColumnProfile> {
    let known: Vec<&str> = glance.columns.iter().map(|look| look.name.as_str()).collect();
    if is_duplicated(glance, name) {
        let fault = Fault::new("duplicate-column", format!("several columns are called `{name}`"))
            .in_file(&wishes.data)
            .in_column(name);
        return Err(fault.hint("give them different names").into());
    }
    let found = glance.columns.iter().find(|look| look.name == name);
    found.ok_or_else(|| missing_column_fault(wishes.data.as_ref(), name, &known).into())
}

fn is_duplicated(glance: &FileProfile, name: &str) -> bool {
    glance.columns.iter().filter(|look| look.name == name).count() > 1
}

fn columns_in_words(glance: &FileProfile) -> String {
    format!(
        "its columns are {}",
        list_words(glance.columns.iter().map(|look| format!("`{}`", look.name)), 20)
    )
}

fn usable(name: &str) -> bool {
    ColumnName::new(name).is_some() && !name.contains("${")
}

fn has_groups(look: &ColumnProfile) -> bool {
    !look.has_more_levels
        && (2..=20).contains(&look.levels.len())
        && (!look.class.is_number() || look.levels.len() == 2)
}

/// The column that distinguishes rows, where its name says that this is what it is for.
fn id_column<'a>(
    glance: &'a FileProfile,
    roles: [Option<&ColumnProfile>; 2],
) -> Option<&'a ColumnProfile> {
    let is_role = |look: &ColumnProfile| roles.iter().flatten().any(|role| role.name == look.name);
    let kind = |look: &ColumnProfile| matches!(look.class, ValueClass::Int | ValueClass::Text);
    let could =
        |look: &&ColumnProfile| look.is_unique && kind(look) && is_id(look) && usable(&look.name);
    let free = |look: &&ColumnProfile| !is_role(look) && !is_duplicated(glance, &look.name);
    // The first of those that are called an id, else of the others.
    glance.columns.iter().filter(could).filter(free).min_by_key(|look| !is_called_id(look))
}

/// A column that may say whose row it is: called so, and with values that come back.
fn person_column<'a>(
    glance: &'a FileProfile,
    roles: &[&ColumnProfile],
) -> Option<&'a ColumnProfile> {
    let is_called_person = |look: &ColumnProfile| {
        let named = |part: &String| PERSON_WORDS.contains(&part.as_str());
        leaks::parts(&look.name).iter().any(named)
    };
    glance.columns.iter().find(|look| {
        let kind = matches!(look.class, ValueClass::Int | ValueClass::Text);
        let free = roles.iter().all(|role| role.name != look.name) && usable(&look.name);
        is_called_person(look) && kind && free && !look.is_unique
    })
}

fn is_called_id(look: &ColumnProfile) -> bool {
    leaks::parts(&look.name).iter().any(|part| part == "id" || part == "key")
}

fn is_id(look: &ColumnProfile) -> bool {
    let is_word = |part: &String| {
        ID_WORDS.contains(&part.as_str()) || ID_ENDINGS.iter().any(|end| part.ends_with(end))
    };
    is_called_id(look) || leaks::parts(&look.name).iter().any(is_word)
}

fn check_scores(score: &ColumnProfile, wishes: &NewJobOptions) -> Result<()> {
    if score.class.is_number() && score.range.is_some_and(|(lo, hi)| lo >= 0.0 && hi <= 1.0) {
        return Ok(());
    }
    let what = match score.range {
        Some((lo, hi)) if score.class.is_number() => format!("the scores range from {lo} to {hi}"),
        _ => "the column of scores holds no numbers".to_owned(),
    };
    let fault = Fault::new("bad-scores", what).in_file(&wishes.data).in_column(&score.name);
    Err(fault
        .hint("a score is a number from 0 to 1, or 0 and 1 for decisions; rescale the column")
        .into())
}

/// A word as YAML writes it.
fn word(text: &str) -> String {
    let reserved = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"]
        .contains(&text.to_ascii_lowercase().as_str());
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-. ".contains(c))
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ');
    if plain && !reserved {
        return text.to_owned();
    }
    let mut quoted = String::new();
    for c in serde_json::Value::from(text).to_string().chars() {
        match c {
            // YAML takes some for ends of a line and refuses others.
            c if is_hidden(c) => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    // What looks like a variable is text here.
    literal(&quoted)
}

/// Whether a character is not a letter: control characters, ends of lines, marks of direction; all
/// of them have four hex digits.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Words of the data in a comment: on its line.
fn comment_text(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { ' ' } else { c }).collect()
}

fn words<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    texts.into_iter().map(word).collect::<Vec<_>>().join(", ")
}

/// The name of a job from that of its file.
fn name(data: &str) -> String {
    let stem = data
        .trim_end_matches(['/', '*'])
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .split('.')
        .next()
        .unwrap_or_default();
    let mut name: String = stem
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    name = name.trim_matches('-').chars().take(60).collect();
    if Name::new(&name).is_some() { name } else { "audit".to_owned() }
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
    line!(text, "about:");
    line!(
        text,
        "  decision: What the model decides, in a sentence   # DECIDE: wording for the report"
    );
    line!(text, "");
}

/// The keys of a text file that differ from what is read without them, and what of it was found in
/// the values.
fn csv_block(path: &str, csv: &CsvBlock) -> (String, String) {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let plain = CsvBlock::at(&csv.path);
    let mut keys = format!("path: {path}");
    let mut found = Vec::new();
    if csv.delimiter != plain.delimiter {
        let _ = write!(keys, ", delimiter: {}", quoted(&csv.delimiter.to_string()));
    }
    if csv.encoding != plain.encoding {
        let _ = write!(keys, ", encoding: windows-1252");
        found.push("the file is not valid UTF-8");
    }
    if csv.decimal != plain.decimal {
        let _ = write!(keys, ", decimal: {}", quoted(&csv.decimal.to_string()));
    }
    if let Some(sign) = csv.thousands {
        let _ = write!(keys, ", thousands: {}", quoted(&sign.to_string()));
    }
    if (csv.decimal, csv.thousands) != (plain.decimal, plain.thousands) {
        found.push("at least one column writes numbers this way: check the values");
    }
    if !csv.null_values.is_empty() {
        let words: Vec<String> = csv.null_values.iter().map(|null| quoted(null.as_str())).collect();
        let _ = write!(keys, ", null_values: [{}]", words.join(", "));
        found.push("words among numbers, treated as missing");
    }
    let why = if found.is_empty() { String::new() } else { format!("   # {}", found.join("; ")) };
    (keys, why)
}

/// The block `data` up to the features; gives back the positive value of the label, and which
/// prediction people want.
fn data(
    text: &mut String,
    glance: &FileProfile,
    wishes: &NewJobOptions,
    (label, row_id, sensitive): (&ColumnProfile, Option<&ColumnProfile>, &[&ColumnProfile]),
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
    if let Some(person) = person_column(glance, &roles) {
        line!(
            text,
            "  # person: {}   # take the `#` away if it says whose row it is: a person may have \
             several",
            word(&person.name)
        );
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
    line!(text, "  sensitive:");
    for look in sensitive {
        let groups = groups(look, wishes)?;
        let largest = groups.iter().max_by_key(|(_, n)| *n).map_or("", |(group, _)| group.as_str());
        let wished = wishes.reference.as_deref().map(|wished| look.spelling.of(wished));
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
        && !sensitive.iter().any(|look| look.levels.contains_key(&*look.spelling.of(wished)))
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

/// The columns with values that differ only by case or blanks.
fn spellings<'a>(text: &mut String, looks: impl Iterator<Item = &'a ColumnProfile>) {
    let mut looks = looks.filter(|look| !look.spelling.is_plain()).peekable();
    if looks.peek().is_some() {
        line!(text, "  columns:             # DECIDE: are these one value each?");
    }
    for look in looks {
        let joined = look.joined.iter().map(|texts| {
            let texts: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
            texts.join(" and ")
        });
        line!(
            text,
            "    {}: {}   # {}",
            word(&look.name),
            look.spelling.in_a_job(),
            comment_text(&list_words(joined, 10))
        );
    }
}

/// Which prediction people probably want: what the positive value says, turned where the label is
/// called after something bad, and once more for each negation in its name.
fn side(label: &ColumnProfile, positive: &str) -> FavourableClass {
    let parts = leaks::parts(&label.name);
    let turns = parts.iter().filter(|part| NEGATIONS.contains(&part.as_str())).count();
    let is_bad =
        parts.iter().any(|part| UNWANTED_WORDS.contains(&part.as_str())) != (turns % 2 == 1);
    if is_among(&UNWANTED_WORDS, positive)
        || (is_among(&YES_WORDS, positive) && is_bad)
        || (is_among(&NO_WORDS, positive) && !is_bad)
    {
        FavourableClass::Negative
    } else {
        FavourableClass::Positive
    }
}

/// A remark on rows whose word for missing may mean something here.
fn missing_word_remark(look: &ColumnProfile) -> Option<String> {
    let n = look.null_words;
    (n > 0).then(|| {
        format!(
            "# DECIDE: {n} rows contain a word of `null_values` here and count as missing; remove \
             the word from `null_values` if it is a value"
        )
    })
}

/// The values of a column that is to have few.
fn levels<'a>(
    look: &'a ColumnProfile,
    wishes: &NewJobOptions,
    at_least: usize,
) -> Result<Vec<(&'a String, u64)>> {
    let fault =
        |code, what: String| Fault::new(code, what).in_file(&wishes.data).in_column(&look.name);
    if look.has_more_levels || look.levels.len() > LEVELS_LISTED {
        let n = if look.has_more_levels {
            format!("more than {}", crate::data::source::file_profile::MAX_LISTED)
        } else {
            look.levels.len().to_string()
        };
        let fault = fault(
            "too-many-levels",
            format!("the column has {n} different values, but should have few"),
        );
        return Err(fault
            .hint("derive classes from it first: in a job, `bins` and `map` do that")
            .into());
    }
    if look.levels.len() < at_least {
        let fault = fault(
            "one-class",
            format!("the column has {} different values, and needs {at_least}", look.levels.len()),
        );
        return Err(fault.hint("name another column").into());
    }
    Ok(look.levels.iter().map(|(level, n)| (level, *n)).collect())
}

fn positive(
    label: &ColumnProfile,
    wishes: &NewJobOptions,
    levels: &[(&String, u64)],
) -> Result<String> {
    if let Some(wished) = &wishes.positive {
        let wished = label.spelling.of(wished);
        let wished = label.class.canonical(&wished).unwrap_or_else(|| wished.into_owned());
        if levels.iter().any(|(level, _)| **level == wished) {
            return Ok(wished);
        }
        let known = list_words(levels.iter().map(|(level, _)| format!("`{level}`")), 10);
        let fault = Fault::new("unknown-label-value", format!("the label has no value `{wished}`"))
            .in_file(&wishes.data);
        return Err(fault.in_column(&label.name).hint(format!("its values are {known}")).into());
    }
    let one_of = |words: &[&str]| levels.iter().find(|(level, _)| is_among(words, level));
    let found = one_of(&YES_WORDS).or_else(|| one_of(&WANTED_WORDS));
    // Of two values the one that denies nothing; else the rarer class is what models are mostly
    // made to find.
    let affirmed = || {
        levels.iter().find(|(level, _)| {
            levels.len() == 2 && !is_among(&NO_WORDS, level) && one_of(&NO_WORDS).is_some()
        })
    };
    let found = found.or_else(affirmed).or_else(|| levels.iter().min_by_key(|(_, n)| *n));
    Ok(found.map_or_else(String::new, |(level, _)| (*level).clone()))
}

fn groups(look: &ColumnProfile, wishes: &NewJobOptions) -> Result<Vec<(String, u64)>> {
    let mut groups: Vec<(String, u64)> =
        levels(look, wishes, 2)?.into_iter().map(|(level, n)| (level.clone(), n)).collect();
    // The largest first; of equals in order of their names.
    groups.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    Ok(groups)
}

fn role(look: &ColumnProfile) -> GuessedRole {
    let ignored = |why: &str| GuessedRole::Ignored(why.to_owned());
    match look.class {
        _ if !usable(&look.name) => ignored("its name cannot be used in a job"),
        ValueClass::Empty => ignored("it holds no value"),
        _ if !look.has_more_levels && look.levels.len() < 2 => ignored("it holds only one value"),
        ValueClass::Text if leaks::tells_rows_apart(look, is_id(look)) => {
            ignored("it identifies rows")
        }
        _ if leaks::tells_rows_apart(look, is_id(look)) => {
            ignored("it identifies rows; move it to continuous if it is a number")
        }
        ValueClass::Int | ValueClass::Float if look.has_more_levels || look.levels.len() > 2 => {
            GuessedRole::Continuous
        }
        _ if look.has_more_levels || look.levels.len() > NOMINAL_LEVELS_AT_MOST => {
            ignored("it has very many levels")
        }
        _ => GuessedRole::Nominal,
    }
}

fn trained(
    text: &mut String,
    roles: &[(&ColumnProfile, GuessedRole)],
    sensitive: &[&ColumnProfile],
    at_risk: &[(String, String)],
) {
    let of = |wanted: fn(&GuessedRole) -> bool| {
        roles.iter().filter(move |(_, role)| wanted(role)).map(|(look, _)| look.name.as_str())
    };
    let is_continuous: fn(&GuessedRole) -> bool = |role| matches!(role, GuessedRole::Continuous);
    let is_nominal: fn(&GuessedRole) -> bool = |role| matches!(role, GuessedRole::Nominal);
    line!(
        text,
        "  features:          # what the model reads in addition to the sensitive columns; \
         ordinal: {{COLUMN: ascending}} for ordered numbers"
    );
    if of(is_continuous).next().is_some() {
        line!(text, "    continuous: [{}]", words(of(is_continuous)));
    }
    if of(is_nominal).next().is_some() {
        line!(text, "    nominal: [{}]", words(of(is_nominal)));
    }
    let alone = of(is_continuous).chain(of(is_nominal)).next().is_none();
    if alone {
        line!(text, "    continuous: []   # no suitable column was found");
    }
    for (look, role) in roles {
        if let GuessedRole::Ignored(why) = role {
            line!(text, "    # left out: {} ({why})", comment_text(&look.name));
        }
    }
    let numbers = roles.iter().filter(|(_, role)| is_continuous(role));
    let codes: Vec<(&str, f64)> = numbers
        .filter_map(|(look, _)| Some((look.name.as_str(), leaks::missing_code(look)?.0)))
        .collect();
    let list: Vec<String> =
        codes.iter().map(|(name, code)| format!("{}: [{code}]", word(name))).collect();
    let (codes, why) = match list.as_slice() {
        [] => (String::new(), ""),
        list => (
            format!(", null_values: {{{}}}", list.join(", ")),
            "; DECIDE: codes for missing? they lie apart from all other values",
        ),
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
    line!(text, "  flip: naive          # only the sensitive column changes");
    line!(
        text,
        "  # typical: {{greedy: {{condition_on: label}}}}   # every feature takes the equally \
         typical value of the other group"
    );
    line!(text, "");
    line!(text, "models:");
    line!(text, "  trained:");
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
}

/// A gate's name from that of an attribute.
fn gate_name(attribute: &str, i: usize) -> String {
    let name = format!("no-harm-by-{attribute}");
    if Name::new(&name).is_some() { name } else { format!("no-harm-{}", i + 1) }
}

/// The column that tells what was decided about people.
struct Decided<'a> {
    look: &'a ColumnProfile,
    /// Its favourable values.
    favourable: Vec<&'a str>,
    /// Whether only words tell that it is the decision, and which side of it people want.
    by_words: bool,
}

impl Decided<'_> {
    /// Why it may be no decision, or the other side the favourable one.
    fn doubt(&self) -> Option<String> {
        self.by_words.then(|| {
            format!(
                "only names suggest that {} is the decision and {} its favourable side",
                self.look.name,
                self.favourable.join(", ")
            )
        })
    }
}

/// The column of decisions: where labels are missing by a decision, the values that have labels are
/// the favourable ones; else one of two is, where words tell which.
fn decision_column<'a>(
    roles: &[(&'a ColumnProfile, GuessedRole)],
    decisions: &[(String, Vec<String>)],
) -> Option<Decided<'a>> {
    let look = |name: &str| roles.iter().map(|(look, _)| *look).find(|look| look.name == name);
    let values = |look: &'a ColumnProfile, is: &dyn Fn(&str) -> bool| -> Vec<&'a str> {
        look.levels.keys().map(String::as_str).filter(|value| is(value)).collect()
    };
    let by_labels = decisions.iter().filter(|(_, without)| !without.is_empty());
    let mut by_labels = by_labels.filter_map(|(name, without)| {
        let look = look(name)?;
        Some((look, values(look, &|value| without.iter().all(|other| other != value))))
    });
    let by_words = decisions.iter().filter_map(|(name, _)| {
        let look = look(name).filter(|look| look.levels.len() == 2)?;
        Some((look, values(look, &|value| side(look, value) == FavourableClass::Positive)))
    });
    let found = |by_words: bool| move |(look, favourable)| Decided { look, favourable, by_words };
    let by_labels = by_labels.find(|(_, values)| !values.is_empty()).map(found(false));
    by_labels
        .or_else(|| by_words.into_iter().find(|(_, values)| values.len() == 1).map(found(true)))
}

/// A column, which of its values people want, and what these values are in words.
type WantedValues<'a> = (&'a ColumnProfile, &'a dyn Fn(&str) -> bool, &'a str);

/// Of every attribute the group with the lowest share of wanted values of a column.
fn lowest_shares(
    glance: &FileProfile,
    wanted: WantedValues<'_>,
    sensitive: &[&ColumnProfile],
) -> Result<Vec<Option<LowestShare>>> {
    let (column, is_wanted, what) = wanted;
    let names: Vec<&str> = sensitive.iter().map(|look| look.name.as_str()).collect();
    let shares = glance.level_shares((&column.name, is_wanted), &names)?;
    let lowest = |shares: LevelShares| {
        let of = shares.into_iter().filter(|(_, (_, all))| *all > 0);
        let of = of.map(|(group, (n, all))| FavourableShare::of_people(group, n, all));
        LowestShare::of(&of.collect::<Vec<_>>(), what)
    };
    Ok(shares.into_iter().map(lowest).collect())
}

/// The group at risk and why it is named, marked where that is in doubt; where all groups have the
/// same share nothing but that is said. Told where which labels people want `is_guess`.
fn at_risk(
    (look, found): (&ColumnProfile, Option<LowestShare>),
    doubt: Option<String>,
    is_guess: bool,
    guesses: &mut Vec<String>,
) -> (String, String) {
    let LowestShare { group, why, is_shared } =
        found.unwrap_or(LowestShare { group: String::new(), why: String::new(), is_shared: true });
    let harm_to = format!("`harm_to: {{{}: {}}}`", word(&look.name), word(&group));
    let doubt =
        doubt.or_else(|| is_shared.then(|| "no group has a lower share than another".to_owned()));
    if let Some(doubt) = doubt {
        guesses.push(format!("{harm_to}: {doubt}; name the group that is refused more often"));
        let why = if is_shared { String::new() } else { format!("; {why}") };
        return (group, format!("DECIDE: a guess, {doubt}{why}"));
    }
    if is_guess {
        guesses.push(format!("{harm_to} depends on `favourable`; change both"));
    }
    (group, why)
}

/// Whether labels are missing for some groups more often than for others, by the sample.
fn are_selective(look: &ColumnProfile, label: &ColumnProfile) -> bool {
    let counts = |group: &String| {
        let of = hash_of(group);
        let rows = look.sample.iter().zip(&label.sample);
        let mine = rows.filter(|(value, _)| value.is_some_and(|value| value.word == of));
        let (missing, n) = mine
            .fold((0, 0), |(missing, n), (_, label)| (missing + u64::from(label.is_none()), n + 1));
        share(missing, n)
    };
    let shares: Vec<_> = look.levels.keys().map(counts).collect();
    shares.iter().enumerate().any(|(i, a)| shares[..i].iter().any(|b| shares_differ(*a, *b)))
}

fn scored(text: &mut String, score: &ColumnProfile, label: &ColumnProfile, has_id: bool) {
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
    line!(text, "    threshold: 0.5     # DECIDE: the score from which a prediction is positive");
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
