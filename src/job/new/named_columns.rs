//! The options of `cfaudit new`, and the columns and values that they name.

use crate::data::column::profile::{ColumnProfile, MAX_LISTED};
use crate::data::source::file_profile::FileProfile;
use crate::data::source::{list_words, missing_column_fault};
use crate::error::{Fault, Result};
use crate::job::FavourableClass;

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
    /// The file of the job, after which it is named; none: it is named after its data.
    pub out: Option<String>,
}

impl NewJobOptions {
    /// What is wrong with the data that the caller names.
    pub(super) fn fault(&self, code: &'static str, what: impl Into<String>) -> Fault {
        Fault::new(code, what).in_file(&self.data)
    }
}

/// Values of a label or groups of an attribute that a job lists.
pub(super) const LEVELS_LISTED: usize = 50;

/// A column that was asked for.
pub(super) fn column<'a>(
    file: &'a FileProfile,
    options: &NewJobOptions,
    name: &str,
) -> Result<&'a ColumnProfile> {
    let known: Vec<&str> = file.columns.iter().map(|profile| profile.name.as_str()).collect();
    if is_duplicated(file, name) {
        let what = format!("several columns are called `{name}`");
        let fault = options.fault("duplicate-column", what).in_column(name);
        return Err(fault.hint("give them different names").into());
    }
    let found = file.columns.iter().find(|profile| profile.name == name);
    found.ok_or_else(|| {
        let fault = missing_column_fault(options.data.as_ref(), name, &known);
        let listed = fault.hint.clone().unwrap_or_default();
        let joined = "a column of another file is added to the finished job under `data.join`";
        fault.hint(format!("{listed}; {joined}")).into()
    })
}

pub(super) fn is_duplicated(file: &FileProfile, name: &str) -> bool {
    file.columns.iter().filter(|profile| profile.name == name).count() > 1
}

pub(super) fn columns_in_words(file: &FileProfile) -> String {
    format!(
        "the columns of the file are {}",
        list_words(file.columns.iter().map(|profile| format!("`{}`", profile.name)), 20)
    )
}

pub(super) fn check_scores(score: &ColumnProfile, options: &NewJobOptions) -> Result<()> {
    if score.class.is_number() && score.range.is_some() {
        return Ok(());
    }
    let what = "the column of scores holds no numbers";
    let fault = options.fault("bad-scores", what).in_column(&score.name);
    Err(fault
        .hint("a score is a number; of decisions alone no job is written: `docs/jobs.md` has one")
        .into())
}

/// The values of a column that is to have few.
pub(super) fn levels<'a>(
    profile: &'a ColumnProfile,
    options: &NewJobOptions,
    at_least: usize,
) -> Result<Vec<(&'a String, u64)>> {
    let n = profile.levels.len();
    let (code, what, hint) = if profile.has_more_levels || n > LEVELS_LISTED {
        let more = format!("more than {MAX_LISTED}");
        let n = if profile.has_more_levels { more } else { n.to_string() };
        let hint = "name another column, and derive classes of this one in the job: `bins`, `map`";
        let what = format!("the column has {n} different values, but should have few");
        ("too-many-levels", what, hint)
    } else if n < at_least {
        let what = format!("the column has {n} different values, and needs {at_least}");
        ("one-class", what, "name another column")
    } else {
        return Ok(profile.levels.iter().map(|(level, n)| (level, *n)).collect());
    };
    Err(options.fault(code, what).in_column(&profile.name).hint(hint).into())
}

pub(super) fn groups(
    profile: &ColumnProfile,
    options: &NewJobOptions,
) -> Result<Vec<(String, u64)>> {
    let mut groups: Vec<(String, u64)> =
        levels(profile, options, 2)?.into_iter().map(|(level, n)| (level.clone(), n)).collect();
    // The largest first; of equals in order of their names.
    groups.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    Ok(groups)
}
