//! Guesses of `cfaudit new`: the role of a column, the positive and the favourable value, the
//! column of decisions, and the group at risk.

use super::named_columns::{NewJobOptions, is_duplicated};
use super::yaml::word;
use crate::data::column::onehot::onehot_groups;
use crate::data::column::profile::{ColumnProfile, hash_of};
use crate::data::column::roles::{
    SuspectedRole, is_called, is_called_id, is_code, is_person, is_row_id, parts, suspected_role,
};
use crate::data::source::file_profile::{FileProfile, LevelShares};
use crate::data::source::list_words;
use crate::data::values::ValueClass;
use crate::error::Result;
use crate::job::FavourableClass;
use crate::metric::evidence::labels::{FavourableShare, LowestShare, shares_differ};
use crate::metric::rate::Rate;
use crate::param::ColumnName;

/// The most levels of a nominal feature; with more it is left out.
pub(super) const NOMINAL_LEVELS_AT_MOST: usize = 100;

/// What people want to see, and what not.
pub(crate) const WANTED_WORDS: &str = "grant approve accept granted approved accepted admitted \
    hired paid repaid passed pass good offered selected";

pub(super) const UNWANTED_WORDS: &str = "decline refused rejected denied declined refuse reject \
    deny default defaulted failed fail bad fraud dismissed recid recidivism arrest rearrest \
    rearrested delinquent delinquency chargeoff";

/// What nobody wishes for, but whose prediction may bring help.
const HELPED_WORDS: &str = "readmitted readmission mortality death died stroke churn \
    churned dropout";

/// Words in a name that negate what follows.
pub(super) const NEGATIONS: &str = "no not non un";

/// Words that say that something is so, and that it is not.
pub(super) const YES_WORDS: &str = "1 1.0 true yes y positive";

pub(super) const NO_WORDS: &str = "0 0.0 false no n negative";

pub(crate) fn is_among(words: &str, text: &str) -> bool {
    let text = text.to_lowercase();
    words.split(' ').any(|word| word == text)
}

/// A role that was found for a column that is neither label nor attribute.
pub(super) enum GuessedRole {
    Continuous,
    Nominal,
    /// Whole numbers that may be codes of levels.
    Code,
    Ignored(String),
}

pub(super) fn usable(name: &str) -> bool {
    ColumnName::new(name).is_some() && !name.contains("${")
}

pub(super) fn has_groups(profile: &ColumnProfile) -> bool {
    !profile.has_more_levels
        && (2..=20).contains(&profile.levels.len())
        && (!profile.class.is_number() || profile.levels.len() == 2)
}

/// The column that distinguishes rows, where its name says that this is what it is for.
pub(super) fn id_column<'a>(
    file: &'a FileProfile,
    roles: [Option<&ColumnProfile>; 2],
) -> Option<&'a ColumnProfile> {
    let is_role =
        |profile: &ColumnProfile| roles.iter().flatten().any(|role| role.name == profile.name);
    let could = |profile: &&ColumnProfile| {
        profile.is_unique && is_row_id(profile) && is_called_id(profile) && usable(&profile.name)
    };
    let free = |profile: &&ColumnProfile| !is_role(profile) && !is_duplicated(file, &profile.name);
    // The first of those that are called an id, else of the others.
    let is_not_called_id = |profile: &&ColumnProfile| !is_called(profile, &["id", "key"]);
    file.columns.iter().filter(could).filter(free).min_by_key(is_not_called_id)
}

/// The column that names the person of a row.
pub(super) fn person_column<'a>(
    file: &'a FileProfile,
    roles: &[&ColumnProfile],
    sensitive: &[&str],
    label: &str,
) -> Option<&'a ColumnProfile> {
    file.columns.iter().find(|profile| {
        let free = roles.iter().all(|role| role.name != profile.name) && usable(&profile.name);
        free && !is_duplicated(file, &profile.name)
            && is_person(profile, (&file.columns, sensitive, Some(label)))
    })
}

/// Whether a part of a name is such a word, and how many parts negate.
fn named_and_negated(name: &str, is_such: impl Fn(&str) -> bool) -> (bool, usize) {
    let parts = parts(name);
    let negations = parts.iter().filter(|part| is_among(NEGATIONS, part)).count();
    (parts.iter().any(|part| is_such(part)), negations)
}

/// Whether a value of a column counts against people: it is such a word, or it says that what the
/// name of the column says is so.
pub(crate) fn is_unwanted(column: &str, value: &str) -> bool {
    let against = |word: &str| is_among(UNWANTED_WORDS, word);
    let (is_bad, negations) = named_and_negated(column, against);
    against(value) || (is_among(YES_WORDS, value) && is_bad && negations == 0)
}

/// Which prediction people probably want: what the positive value says, reversed where the label is
/// named after something bad, and once more for each negation in its name.
pub(super) fn side(label: &ColumnProfile, positive: &str) -> FavourableClass {
    let unwished = |word: &str| is_among(UNWANTED_WORDS, word) || is_among(HELPED_WORDS, word);
    let (is_named, negations) = named_and_negated(&label.name, unwished);
    let is_bad = is_named != (negations % 2 == 1);
    if unwished(positive)
        || (is_among(YES_WORDS, positive) && is_bad)
        || (is_among(NO_WORDS, positive) && !is_bad)
    {
        FavourableClass::Negative
    } else {
        FavourableClass::Positive
    }
}

pub(super) fn positive(
    label: &ColumnProfile,
    options: &NewJobOptions,
    levels: &[(&String, u64)],
) -> Result<String> {
    if let Some(wished) = &options.positive {
        let wished = label.level_of(wished);
        if levels.iter().any(|(level, _)| **level == wished) {
            return Ok(wished);
        }
        let known = list_words(levels.iter().map(|(level, _)| format!("`{level}`")), 10);
        let what = format!("the label has no value `{wished}`");
        let fault = options.fault("unknown-label-value", what).in_column(&label.name);
        return Err(fault.hint(format!("its values are {known}")).into());
    }
    let one_of = |words: &str| levels.iter().find(|(level, _)| is_among(words, level));
    let found = one_of(YES_WORDS).or_else(|| one_of(WANTED_WORDS));
    // The one of two values that is not a negation; else the rarer class, which models are mostly
    // made to find.
    let affirmed = || {
        levels.iter().find(|(level, _)| {
            levels.len() == 2 && !is_among(NO_WORDS, level) && one_of(NO_WORDS).is_some()
        })
    };
    let found = found.or_else(affirmed).or_else(|| levels.iter().min_by_key(|(_, n)| *n));
    Ok(found.map_or_else(String::new, |(level, _)| (*level).clone()))
}

/// The role of a column that is neither label nor attribute.
pub(super) fn role(
    profile: &ColumnProfile,
    columns: &[ColumnProfile],
    sensitive: &[&str],
    label: &str,
) -> GuessedRole {
    let ignored = |why: &str| GuessedRole::Ignored(why.to_owned());
    match profile.class {
        _ if !usable(&profile.name) => ignored("its name cannot be used in a job"),
        ValueClass::Empty => ignored("it holds no value"),
        _ if !profile.has_more_levels && profile.levels.len() < 2 => {
            ignored("it holds only one value")
        }
        class => match suspected_role(profile, (columns, sensitive, Some(label))) {
            None => feature_kind(profile),
            Some(SuspectedRole::Date) => ignored("it holds dates; derive a number from them"),
            Some(role) if class.is_number() => {
                ignored(&format!("{}; move it to continuous if it is a number", role.why()))
            }
            Some(role) => ignored(role.why()),
        },
    }
}

/// The kind of a feature.
fn feature_kind(profile: &ColumnProfile) -> GuessedRole {
    let has_many = |most: usize| profile.has_more_levels || profile.levels.len() > most;
    match profile.class {
        _ if is_code(profile) => GuessedRole::Code,
        ValueClass::Int | ValueClass::Float if has_many(2) => GuessedRole::Continuous,
        _ if has_many(NOMINAL_LEVELS_AT_MOST) => {
            GuessedRole::Ignored("it has very many levels".to_owned())
        }
        _ => GuessedRole::Nominal,
    }
}

/// One-hot groups among the features, each with its name and its columns.
pub(super) fn onehot<'a>(
    file: &FileProfile,
    roles: &[(&'a ColumnProfile, GuessedRole)],
) -> Vec<(String, Vec<&'a ColumnProfile>)> {
    let columns: Vec<(&str, Option<Vec<bool>>)> = roles
        .iter()
        .map(|(profile, role)| {
            let is_feature = !matches!(role, GuessedRole::Ignored(_));
            (profile.name.as_str(), profile.bits().filter(|_| is_feature))
        })
        .collect();
    let mut named = Vec::new();
    for (i, group) in onehot_groups(&columns).into_iter().enumerate() {
        let is_free =
            |name: &str| usable(name) && file.columns.iter().all(|profile| profile.name != name);
        let name = group.free_name(i, is_free);
        named.push((name, group.columns.iter().map(|&place| roles[place].0).collect()));
    }
    named
}

/// The column that holds what was decided about people.
pub(super) struct Decided<'a> {
    pub profile: &'a ColumnProfile,
    /// Its favourable values.
    pub favourable: Vec<&'a str>,
    /// Whether only its words show that it is the decision, and which side of it people want.
    pub by_words: bool,
}

impl Decided<'_> {
    /// Why it may not be a decision, or the other side may be the favourable one.
    pub(super) fn doubt(&self) -> Option<String> {
        self.by_words.then(|| {
            format!(
                "only names suggest that {} is the decision and {} its favourable side",
                self.profile.name,
                self.favourable.join(", ")
            )
        })
    }
}

/// The column of decisions: where labels are missing by a decision, the values that have labels are
/// the favourable ones; else the one of two values that its words show to be favourable.
pub(super) fn decision_column<'a>(
    roles: &[(&'a ColumnProfile, GuessedRole)],
    decisions: &[(String, Vec<String>)],
) -> Option<Decided<'a>> {
    let profile =
        |name: &str| roles.iter().map(|(profile, _)| *profile).find(|profile| profile.name == name);
    let values = |profile: &'a ColumnProfile, is: &dyn Fn(&str) -> bool| -> Vec<&'a str> {
        profile.levels.keys().map(String::as_str).filter(|value| is(value)).collect()
    };
    let by_labels = decisions.iter().filter(|(_, without)| !without.is_empty());
    let mut by_labels = by_labels.filter_map(|(name, without)| {
        let profile = profile(name)?;
        Some((profile, values(profile, &|value| without.iter().all(|other| other != value))))
    });
    let by_words = decisions.iter().filter_map(|(name, _)| {
        let profile = profile(name).filter(|profile| profile.levels.len() == 2)?;
        Some((profile, values(profile, &|value| side(profile, value) == FavourableClass::Positive)))
    });
    let found =
        |by_words: bool| move |(profile, favourable)| Decided { profile, favourable, by_words };
    let by_labels = by_labels.find(|(_, values)| !values.is_empty()).map(found(false));
    by_labels
        .or_else(|| by_words.into_iter().find(|(_, values)| values.len() == 1).map(found(true)))
}

/// Scales that many scores have.
const USUAL_SCALES: [(f64, f64); 3] = [(0.0, 100.0), (300.0, 850.0), (0.0, 1000.0)];

/// Farther from 0 than any score in log-odds.
const LOG_ODDS_BELOW: f64 = 30.0;

/// What the numbers of a column of scores suggest.
pub(super) struct GuessedScale {
    /// The key `scale` of a model; none where scores are from 0 to 1.
    pub scale: Option<String>,
    /// The middle of the scale.
    pub threshold: f64,
}

/// The scale of a column of scores: a usual one that its numbers fit, log-odds where some are below
/// 0, else its ends rounded outwards.
pub(super) fn scale(score: &ColumnProfile) -> GuessedScale {
    let Some((low, high)) = score.range.filter(|(low, high)| *low < 0.0 || *high > 1.0) else {
        return GuessedScale { scale: None, threshold: 0.5 };
    };
    if low < 0.0 && low.abs().max(high.abs()) < LOG_ODDS_BELOW {
        return GuessedScale { scale: Some("log-odds".to_owned()), threshold: 0.0 };
    }
    let fits =
        |(from, to): &&(f64, f64)| low >= *from && high <= *to && 3.0 * (high - low) >= to - from;
    let (from, to) = USUAL_SCALES.iter().find(fits).copied().unwrap_or_else(|| {
        let step = 10_f64.powf((high - low).max(1e-9).log10().floor());
        let (from, to) = ((low / step).floor() * step, (high / step).ceil() * step);
        (from, if to > from { to } else { from + step })
    });
    let scale = Some(format!("{{from: {from}, to: {to}}}"));
    GuessedScale { scale, threshold: (from + to) / 2.0 }
}

/// A column, which of its values people want, and what these values are in words.
pub(super) type WantedValues<'a> = (&'a ColumnProfile, &'a dyn Fn(&str) -> bool, &'a str);

/// For every attribute the group with the lowest share of wanted values of a column.
pub(super) fn lowest_shares(
    file: &FileProfile,
    wanted: WantedValues<'_>,
    sensitive: &[&ColumnProfile],
) -> Result<Vec<Option<LowestShare>>> {
    let (column, is_wanted, what) = wanted;
    let names: Vec<&str> = sensitive.iter().map(|profile| profile.name.as_str()).collect();
    let shares = file.level_shares((&column.name, is_wanted), &names)?;
    let lowest = |shares: LevelShares| {
        let known = shares.into_iter().filter(|(_, (_, all))| *all > 0);
        let shares_of = known.map(|(group, (n, all))| FavourableShare::of_people(group, n, all));
        LowestShare::of(&shares_of.collect::<Vec<_>>(), what)
    };
    Ok(shares.into_iter().map(lowest).collect())
}

/// The group at risk and why it is named, marked where that is in doubt or where it is a guess
/// (`is_guess`) which labels people want; where all groups have the same share, only that is said.
pub(super) fn at_risk(
    (profile, found): (&ColumnProfile, Option<LowestShare>),
    doubt: Option<String>,
    is_guess: bool,
    guesses: &mut Vec<String>,
) -> (String, String) {
    let LowestShare { group, why, is_shared } =
        found.unwrap_or(LowestShare { group: String::new(), why: String::new(), is_shared: true });
    let harm_to = format!("`harm_to: {{{}: {}}}`", word(&profile.name), word(&group));
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
pub(super) fn are_selective(profile: &ColumnProfile, label: &ColumnProfile) -> bool {
    let counts = |group: &String| {
        let hash = hash_of(group);
        let rows = profile.sample.iter().zip(&label.sample);
        let mine = rows.filter(|(value, _)| value.is_some_and(|value| value.word == hash));
        let (missing, n) = mine
            .fold((0, 0), |(missing, n), (_, label)| (missing + u64::from(label.is_none()), n + 1));
        Rate::of(missing, n)
    };
    let shares: Vec<_> = profile.levels.keys().map(counts).collect();
    shares.iter().enumerate().any(|(i, a)| shares[..i].iter().any(|b| shares_differ(*a, *b)))
}
