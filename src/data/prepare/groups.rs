//! The groups of a sensitive attribute, as the job names them and as the rows hold them.

use crate::data::Attribute;
use crate::data::prepare::missing_words::check_words;
use crate::data::prepare::plan::{AttributePlan, PreparePlan};
use crate::data::prepare::tally::ColumnTally;
use crate::data::prepare::view_issues::{MAX_SHOWN, seen_text};
use crate::data::source::list_words;
use crate::data::spelling::Spelling;
use crate::error::Result;
use crate::nearest::nearest;
use crate::table::{IssueRow, whole};

pub(super) fn attribute_of(
    plan: &PreparePlan<'_>,
    attribute: &AttributePlan,
    levels: &[String],
    tally: &ColumnTally,
    issues: &mut Vec<IssueRow>,
) -> Result<Attribute> {
    let name = &attribute.name;
    let column = plan.features[attribute.feature].column;
    let is_declared = |word: &str| attribute.groups.has(word);
    let role = ("sensitive column", "list it under `groups`");
    check_words(plan, column, tally, role, &is_declared)?;
    let values: Vec<&str> = tally.by_count().into_iter().map(|(word, _)| word).collect();
    let absent: Vec<&str> = attribute.groups.absent(tally).collect();
    if absent.len() == attribute.groups.iter().len() {
        let nameless = issues.iter().find(|issue| {
            issue.r#where == plan.name(column)
                && ["outside-bins", "unmapped-value"].contains(&issue.code.as_str())
        });
        // The data come first: a word that the data hold in another spelling is the better hint.
        let near =
            || attribute.groups.iter().find_map(|(written, _)| suggested_word(written, &values));
        let hint = match (nameless, near()) {
            (Some(issue), _) => issue.text.to_string(),
            (None, Some(near)) => format!("{near}; {}", seen_text(tally)),
            (None, None) => seen_text(tally),
        };
        let what = format!("none of the groups of `{name}` occurs in the data");
        return plan.fault("unknown-group", column, what).fail(hint);
    }
    for group in absent {
        let undeclared: Vec<&str> =
            values.iter().copied().filter(|word| !is_declared(word)).collect();
        let near =
            suggested_word(group, &undeclared).map_or(String::new(), |near| format!("; {near}"));
        issues.push(IssueRow::warning(
            "absent-group",
            name,
            0,
            format!("the group `{group}` of `{name}` does not occur in the data{near}"),
        ));
    }
    for (i, (one, value)) in attribute.groups.iter().enumerate() {
        let alike = attribute
            .groups
            .iter()
            .take(i)
            .find_map(|(other, _)| Some((other, differ_only(one, other)?)));
        if let Some((other, by)) = alike {
            let text = format!(
                "the groups `{other}` and `{one}` of `{name}` differ only by {by}, and count as \
                 two; if they are one, {}",
                joined_by(plan, column, [(other, one)])
            );
            let n = tally.occurrences.get(value).map_or(0, |seen| seen.n);
            issues.push(IssueRow::warning("similar-groups", name, whole(n), text));
        }
    }
    if tally.nulls > 0 {
        let text =
            format!("{} rows have no value of `{name}`: they belong to no group", tally.nulls);
        issues.push(IssueRow::warning("missing-group", name, whole(tally.nulls), text));
    }
    let others: Vec<(&str, u64)> =
        tally.by_count().into_iter().filter(|(word, _)| !is_declared(word)).collect();
    let group_like = |word: &str| {
        attribute.groups.iter().find_map(|(group, _)| Some((group, likeness(word, group)?)))
    };
    // The user should correct probable misspellings.
    let (slips, rest): (Vec<_>, Vec<_>) =
        others.iter().partition(|(word, _)| group_like(word).is_some());
    for (code, words) in [("similar-groups", slips), ("undeclared-group", rest)] {
        let n: u64 = words.iter().map(|(_, n)| n).sum();
        let one = |(word, n): (&str, u64)| match group_like(word) {
            Some((_, likeness)) => format!("`{word}` ({n}; {likeness})"),
            None => format!("`{word}` ({n})"),
        };
        let pairs: Vec<(&str, &str)> =
            words.iter().filter_map(|(word, _)| Some((*word, group_like(word)?.0))).collect();
        let mend = match pairs.is_empty() {
            true => String::new(),
            false => format!("; where they mean a group, {}", joined_by(plan, column, pairs)),
        };
        let text = format!(
            "{n} rows have a value of `{name}` that is not among its groups: {}; they belong to no \
             group{mend}",
            list_words(words.iter().map(|of| one(*of)), MAX_SHOWN)
        );
        let issue = || IssueRow::warning(code, name, whole(n), text);
        issues.extend((!words.is_empty()).then(issue));
    }
    let level =
        |value: &str| levels.iter().position(|l| l == value).and_then(|i| u32::try_from(i).ok());
    Ok(Attribute {
        name: name.clone(),
        groups: attribute.groups.written(),
        reference: attribute.reference,
        feature: attribute.feature,
        // Declared groups are the first levels of their feature, so each of them has a level.
        level_of_group: attribute.groups.iter().filter_map(|(_, value)| level(value)).collect(),
    })
}

/// The only difference between two words, if it is case or blanks.
fn differ_only(a: &str, b: &str) -> Option<&'static str> {
    let bare = |word: &str| word.split_whitespace().collect::<String>();
    let small = |word: &str| word.to_lowercase();
    match () {
        () if a == b => None,
        () if small(a) == small(b) => Some("case"),
        () if bare(a) == bare(b) => Some("blanks"),
        () if small(&bare(a)) == small(&bare(b)) => Some("case and blanks"),
        () => None,
    }
}

/// Why a word may mean a group, where it may: it differs only by its spelling, or one of the two is
/// a short form of the other, such as `f` of `female`.
fn likeness(word: &str, group: &str) -> Option<String> {
    if let Some(by) = differ_only(word, group) {
        return Some(format!("it and `{group}` differ only by {by}"));
    }
    let (short, long) = if word.len() < group.len() { (word, group) } else { (group, word) };
    let is_short = short.len() == 1 && short.chars().all(char::is_alphabetic);
    let begins = || long.to_lowercase().starts_with(&short.to_lowercase());
    (is_short && long.len() >= 4 && begins()).then(|| format!("it may mean `{group}`"))
}

/// The value of the data that a word of the job may be a misspelling of.
fn suggested_word(word: &str, values: &[&str]) -> Option<String> {
    let same = values.iter().find_map(|value| Some((value, differ_only(word, value)?)));
    match same {
        Some((value, by)) => {
            Some(format!("the data hold `{value}`, and `{word}` and `{value}` differ only by {by}"))
        }
        None => nearest(word, values.iter().copied()).map(|near| format!("did you mean `{near}`?")),
    }
}

/// How a job merges each of these pairs into one value.
fn joined_by<'a>(
    plan: &PreparePlan<'_>,
    column: usize,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> String {
    let spellings: Option<Vec<Spelling>> =
        pairs.into_iter().map(|(a, b)| Spelling::joining(a, b)).collect();
    match spellings.filter(|_| plan.view.derived_at(column).is_none()) {
        Some(of) => {
            let spelling = of.into_iter().fold(Spelling::default(), Spelling::and);
            format!("write `data.columns.{}: {}`", plan.name(column), spelling.in_a_job())
        }
        None => "merge them by `map`".to_owned(),
    }
}
