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
    glance: &'a FileProfile,
    wishes: &NewJobOptions,
    name: &str,
) -> Result<&'a ColumnProfile> {
    let known: Vec<&str> = glance.columns.iter().map(|look| look.name.as_str()).collect();
    if is_duplicated(glance, name) {
        let what = format!("several columns are called `{name}`");
        let fault = wishes.fault("duplicate-column", what).in_column(name);
        return Err(fault.hint("give them different names").into());
    }
    let found = glance.columns.iter().find(|look| look.name == name);
    found.ok_or_else(|| {
        let fault = missing_column_fault(wishes.data.as_ref(), name, &known);
        let listed = fault.hint.clone().unwrap_or_default();
        let joined = "a column of another file is added to the finished job under `data.join`";
        fault.hint(format!("{listed}; {joined}")).into()
    })
}

pub(super) fn is_duplicated(glance: &FileProfile, name: &str) -> bool {
    glance.columns.iter().filter(|look| look.name == name).count() > 1
}

pub(super) fn columns_in_words(glance: &FileProfile) -> String {
    format!(
        "the columns of the file are {}",
        list_words(glance.columns.iter().map(|look| format!("`{}`", look.name)), 20)
    )
}

pub(super) fn check_scores(score: &ColumnProfile, wishes: &NewJobOptions) -> Result<()> {
    if score.class.is_number() && score.range.is_some() {
        return Ok(());
    }
    let what = "the column of scores holds no numbers";
    let fault = wishes.fault("bad-scores", what).in_column(&score.name);
    Err(fault
        .hint("a score is a number; of decisions alone no job is written: `docs/jobs.md` has one")
        .into())
}

/// The values of a column that is to have few.
pub(super) fn levels<'a>(
    look: &'a ColumnProfile,
    wishes: &NewJobOptions,
    at_least: usize,
) -> Result<Vec<(&'a String, u64)>> {
    let n = look.levels.len();
    let (code, what, hint) = if look.has_more_levels || n > LEVELS_LISTED {
        let more = format!("more than {MAX_LISTED}");
        let n = if look.has_more_levels { more } else { n.to_string() };
        let hint = "name another column, and derive classes of this one in the job: `bins`, `map`";
        let what = format!("the column has {n} different values, but should have few");
        ("too-many-levels", what, hint)
    } else if n < at_least {
        let what = format!("the column has {n} different values, and needs {at_least}");
        ("one-class", what, "name another column")
    } else {
        return Ok(look.levels.iter().map(|(level, n)| (level, *n)).collect());
    };
    Err(wishes.fault(code, what).in_column(&look.name).hint(hint).into())
}

pub(super) fn groups(look: &ColumnProfile, wishes: &NewJobOptions) -> Result<Vec<(String, u64)>> {
    let mut groups: Vec<(String, u64)> =
        levels(look, wishes, 2)?.into_iter().map(|(level, n)| (level.clone(), n)).collect();
    // The largest first; of equals in order of their names.
    groups.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    Ok(groups)
}
