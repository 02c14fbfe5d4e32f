//! Who is left out, or lacks something, more often than others: one test for every state of the
//! table `population`, the one that labels have ([`crate::metric::evidence::labels`]).
//!
//! The share of each declared group that is in a state is compared with the shares of the other
//! groups; the rows that could be in the state are the denominator. For people without a group, the
//! share of favourable decisions is compared with that of the people who have one. `keep` is not
//! tested where it names the attribute: then it is meant to divide the groups.

use crate::job::Job;
use crate::metric::evidence::labels::{shares_differ, widest_apart};
use crate::metric::rate::Rate;
use crate::param::ColumnName;
use crate::report::selective::{OwnedShare, SelectiveArgs, ShareOwner};
use crate::table::population::{AUDITED, STATES};
use crate::table::{IssueRow, PopulationRow, unsigned};

/// The state of people who lack a label.
pub(crate) const WITHOUT_LABEL: &str = "without_label";

/// The state of people who lack a group.
const NO_GROUP: &str = "no_group";

/// The state of people who lack a score or decision.
const WITHOUT_SCORE: &str = "without_score";

/// The two groups that are furthest apart; none where no two differ.
fn furthest(
    groups: &[(&str, Rate)],
    (model, of_rows): (Option<&str>, bool),
) -> Option<SelectiveArgs> {
    let rates: Vec<Rate> = groups.iter().map(|(_, rate)| *rate).collect();
    let of =
        |(group, rate): (&str, Rate)| OwnedShare::new(ShareOwner::Group(group.to_owned()), rate);
    let shares = vec![widest_apart(&rates)?.map(|at| of(groups[at]))];
    Some(SelectiveArgs { model: model.map(str::to_owned), of_rows, shares })
}

/// Whether `keep` names a column that an attribute is made from.
fn is_filtered_by(job: &Job, attribute: &ColumnName) -> bool {
    let own = job.data.roots(job.data.column_of(attribute));
    let named = job.data.keep.iter().flat_map(|step| step.columns());
    named.into_iter().any(|column| !job.data.roots(column).is_disjoint(&own))
}

/// The findings from the rows of the table; those about labels come from the evidence of decisions.
pub(crate) fn issues(job: &Job, population: &[PopulationRow]) -> Vec<IssueRow> {
    let mut found = Vec::new();
    for attribute in job.data.sensitive.keys() {
        let own: Vec<&PopulationRow> =
            population.iter().filter(|row| row.sensitive == attribute.as_str()).collect();
        for state in STATES.iter().filter(|state| **state != AUDITED) {
            if *state != "filtered" || !is_filtered_by(job, attribute) {
                found.extend(of_state(state, attribute.as_str(), &own));
            }
        }
        for model in job.models.keys() {
            let of_model: Vec<&PopulationRow> =
                own.iter().copied().filter(|row| row.is_of_model(model.as_str())).collect();
            let of_rows = job.data.person.is_some();
            found.extend(without_score((attribute.as_str(), model.as_str()), &of_model, of_rows));
            found.extend(without_group((attribute.as_str(), model.as_str()), &of_model, of_rows));
        }
    }
    found
}

/// The rows of a state and of those that come after it, by declared group.
fn of_state(state: &str, attribute: &str, own: &[&PopulationRow]) -> Option<IssueRow> {
    let place = |row: &PopulationRow| STATES.iter().position(|state| row.state == *state);
    let at = STATES.iter().position(|of| *of == state)?;
    let of_rows = || own.iter().filter(|row| row.is_of_rows());
    let mut groups: Vec<(&str, Rate)> = Vec::new();
    for row in of_rows().filter(|row| row.declared && place(row) >= Some(at)) {
        let name = row.group.as_deref().unwrap_or_default();
        let known = groups.iter().position(|(group, _)| *group == name);
        let known = known.unwrap_or_else(|| {
            groups.push((name, Rate::of(0, 0)));
            groups.len() - 1
        });
        let rate = &mut groups[known].1;
        rate.denominator += unsigned(row.rows);
        rate.numerator += if place(row) == Some(at) { unsigned(row.rows) } else { 0 };
    }
    let n = of_rows().filter(|row| place(row) == Some(at)).map(|row| row.rows).sum();
    Some(furthest(&groups, (None, true))?.issue(state, attribute, n))
}

fn without_score(
    (attribute, model): (&str, &str),
    own: &[&PopulationRow],
    of_rows: bool,
) -> Option<IssueRow> {
    let declared = || own.iter().filter(|row| row.declared);
    let groups: Vec<(&str, Rate)> = declared()
        .map(|row| {
            (row.group.as_deref().unwrap_or_default(), Rate::of(row.unscored(), unsigned(row.rows)))
        })
        .collect();
    let n = declared().map(|row| row.without_score.unwrap_or(0)).sum();
    Some(furthest(&groups, (Some(model), of_rows))?.issue(WITHOUT_SCORE, attribute, n))
}

fn without_group(
    (attribute, model): (&str, &str),
    own: &[&PopulationRow],
    of_rows: bool,
) -> Option<IssueRow> {
    // Of those who have a decision.
    let decided = |row: &PopulationRow| unsigned(row.rows - row.without_score.unwrap_or(0));
    let favoured = |row: &PopulationRow| row.favourable.map(unsigned);
    let none = own.iter().find(|row| row.state == AUDITED && row.group.is_none())?;
    let mut known = Rate::of(0, 0);
    for row in own.iter().filter(|row| row.declared) {
        known.numerator += favoured(row)?;
        known.denominator += decided(row);
    }
    let lacking = Rate::of(favoured(none)?, decided(none));
    if !shares_differ(lacking, known) {
        return None;
    }
    let of = |grouped, rate| OwnedShare::new(ShareOwner::Grouped(grouped), rate);
    let shares = vec![[of(false, lacking), of(true, known)]];
    let args = SelectiveArgs { model: Some(model.to_owned()), of_rows, shares };
    Some(args.issue(NO_GROUP, attribute, none.rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Says, TextRow};

    fn row(state: &str, group: Option<&str>, rows: i64) -> PopulationRow {
        PopulationRow {
            group: group.map(Into::into),
            declared: group.is_some(),
            ..PopulationRow::of(&format!("state={state}, sensitive=g, rows={rows}"))
        }
    }

    /// Of 80 rows of `a` that come to `missing` 30 are dropped; those that a side table or `keep`
    /// left out do not come so far.
    #[test]
    fn a_state_is_compared_with_those_that_come_after_it() {
        let rows = [
            row("unmatched", Some("a"), 20),
            row("unmatched", Some("b"), 20),
            row("filtered", Some("a"), 500),
            row("duplicate", Some("b"), 80),
            row("dropped", Some("a"), 30),
            row("dropped", Some("b"), 4),
            row("dropped", None, 7),
            row("audited", Some("a"), 50),
            row("audited", Some("b"), 96),
        ];
        let all: Vec<&PopulationRow> = rows.iter().collect();
        let found = of_state("dropped", "g", &all).unwrap();
        assert_eq!((found.state.as_deref(), found.n), (Some("dropped"), 41));
        let words = "37.5 % of the rows of group `a` (30 of 80) and 4.0 % of those of `b` (4 of \
                     100)";
        assert!(found.text.contains(words), "{}", found.text);
        assert!(of_state("other_side", "g", &all).is_none());
        // Rows are compared with each other once `keep` has left some out.
        let found = of_state("duplicate", "g", &all).unwrap();
        found.text.says(&[
            "44.4 % of the rows of group `b` (80 of 180)",
            "0.0 % of those of `a` (0 of 80)",
        ]);
    }

    #[test]
    fn people_without_a_group_are_compared_by_their_decisions() {
        let of = |group: Option<&str>, rows, favourable| {
            row("audited", group, rows)
                .with(&format!("without_score=2, favourable={favourable}, model=m"))
        };
        let found = |none: i64| {
            let rows = [of(Some("a"), 302, 150), of(Some("b"), 102, 60), of(None, 82, none)];
            without_group(("g", "m"), &rows.iter().collect::<Vec<_>>(), false)
        };
        let told = found(0).unwrap();
        told.text.says(&["0.0 % of them (0 of 80)", "52.5 % of those with a group (210 of 400)"]);
        assert_eq!((told.n, found(41)), (82, None));
    }
}
