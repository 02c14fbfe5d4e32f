//! The table `issues` of a run's folder: problems in rows, groups, scores, graphs and gates that
//! did not end the run.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Result;
use crate::exec::StageContext;
use crate::folder::manifest::ExpectWords;
use crate::job::Job;
use crate::param::ColumnName;
use crate::stage::artifact::SmallSlices;
use crate::stage::discover::tables::GraphSetScenario;
use crate::stage::gate::blind;
use crate::stage::generate::rows::GeneratedEffects;
use crate::stage::generate::support::told_in_words;
use crate::stage::job_warnings::{self, IssueNote};
use crate::stage::measure::labels::SelectiveLabels;
use crate::stage::models::FewerTrees;
use crate::stage::report::inputs::FolderOrigins;
use crate::stage::score::expect::ExpectedScores;
use crate::stage::score::levels::SettledModel;
use crate::stage::selective::{self, WITHOUT_LABEL};
use crate::table::file::{read_rows, write_rows};
use crate::table::{CountRow, GroupRow, IssueRow, MetricTable, PopulationRow, SharedText, whole};

/// How many groups an issue names.
const GROUPS_NAMED: usize = 12;

/// How many small slices an issue names.
const SLICES_NAMED: usize = 20;

/// The problems of a run. One that ends with counterfactuals has only `followed`.
#[derive(Clone, Copy, Default)]
pub(super) struct RunFindings<'a> {
    /// What generating did, with the set and the attribute.
    pub(super) followed: &'a [(&'a str, &'a str, GeneratedEffects)],
    /// Sets that depend on causal graphs.
    pub(super) graphs: &'a [GraphSetScenario],
    /// Slices of too few people, by attribute.
    pub(super) small: Option<&'a SmallSlices>,
    /// Attributes whose groups lack labels, or decisions, more often than others.
    pub(super) labels: Option<&'a SelectiveLabels>,
    /// Sets that give people without a label no counterfactual.
    pub(super) unlabelled: &'a [IssueNote],
    /// Gates that cannot see harm to the group that is worse off.
    pub(super) blind: &'a [IssueNote],
    /// The people of each group.
    pub(super) groups: &'a [GroupRow],
    /// Everybody.
    pub(super) population: &'a [PopulationRow],
    /// The counts of decisions.
    pub(super) counts: &'a [CountRow],
    /// Models whose growth ended early: the name, how many trees it has, and how many it was to
    /// have.
    pub(super) short_of_trees: &'a [FewerTrees<'a>],
    /// What gates on a model are judged by, as the stage `gate` found it.
    pub(super) models: &'a [IssueRow],
    /// The contracts with models that are trained elsewhere, and what these do not know.
    pub(super) settled: &'a [SettledModel<'a>],
    /// What the comparison with known scores gave.
    pub(super) expected: &'a [ExpectedScores<'a>],
}

/// Writes the table. Prepared rows may hold features that nobody reads, or not: the folder must not
/// depend on it.
///
/// # Errors
/// A table of preparing cannot be read, or the disk refuses.
pub(super) fn write(
    ctx: &StageContext<'_>,
    origins: &FolderOrigins<'_>,
    found: RunFindings<'_>,
) -> Result<()> {
    let mut issues = read_rows::<IssueRow>(origins.prepared)?;
    issues.retain(|issue| origins.params.reports_issue(&issue.code, &issue.r#where));
    let job = &origins.checked.job;
    issues.extend(unseen_groups(job));
    for name in job.data.sensitive.keys().map(ColumnName::as_str) {
        issues.extend(generated(name, origins, &found));
    }
    for (name, model) in &job.models {
        let of = (name.as_str(), model.amount().is_some());
        issues.extend(missing_scores(of, found.groups, found.population));
        issues.extend(rounded_switches(name.as_str(), found.counts));
    }
    for (attribute, of) in found.labels.into_iter().flatten() {
        issues.push(of.args.issue(WITHOUT_LABEL, attribute, whole(of.n)));
    }
    issues.extend(selective::issues(job, found.population));
    let layout = origins.context.rows.layout();
    let advice =
        job_warnings::of_run(job).into_iter().chain(job_warnings::whole_numbers(job, layout));
    let notes = found.unlabelled.iter().cloned().chain(advice);
    issues.extend(notes.map(|note| note.row("; ")));
    issues.extend(graph_sets(job, found.graphs));
    issues.extend(found.short_of_trees.iter().map(fewer_trees));
    issues.extend(found.models.iter().cloned());
    issues.extend(found.expected.iter().filter_map(unexpected_scores));
    issues.extend(found.settled.iter().filter_map(unknown_to_model));
    for (attribute, slices) in found.small.into_iter().flatten() {
        issues.push(small_slices(job, attribute, slices));
    }
    issues.extend(found.blind.iter().map(|note| note.row(": ")));
    write_rows(&ctx.out().join("tables"), &issues)
}

/// Groups that rows to score do not show to a model whose scores are computed elsewhere.
fn unseen_groups(job: &Job) -> Vec<IssueRow> {
    if !job.models.values().any(|model| model.given_scores().is_some()) {
        return Vec::new();
    }
    let reached = job.data.sensitive.keys().filter(|name| reached_by_naive(job, name));
    let issue = |name: &ColumnName| {
        let unseen = job.data.first_unseen(name)?;
        let (code, part) = match job.data.is_unshown(name) {
            true => ("unseen-group", ":".to_owned()),
            false => {
                let part = ": where the group changes in it alone";
                ("partly-unseen-group", format!(", of which `{name}` is made{part}"))
            }
        };
        let text = format!(
            "no column among the sensitive columns and features changes with `{unseen}`{part} rows \
             to score differ from their originals only in `to_group`, which the model must use"
        );
        Some(IssueRow::warning(code, name.as_str(), 0, text))
    };
    reached.filter_map(issue).collect()
}

/// Whether a naive set changes an attribute.
fn reached_by_naive(job: &Job, name: &ColumnName) -> bool {
    job.counterfactuals.values().any(|set| set.sets_attribute_only() && set.changes(name))
}

/// What generating left out in the groups of an attribute.
fn generated(name: &str, origins: &FolderOrigins<'_>, found: &RunFindings<'_>) -> Vec<IssueRow> {
    let mut issues = Vec::new();
    let mine = || found.followed.iter().filter(|(_, attribute, _)| *attribute == name);
    let missed = |of: &dyn Fn(&GeneratedEffects) -> &[(String, u64)], things: &str| {
        let each =
            mine().flat_map(|(set, _, f)| of(f).iter().map(move |(group, n)| (set, group, *n)));
        let texts: Vec<String> = each
            .clone()
            .map(|(set, group, n)| format!("{n} {things} in group `{group}` (set `{set}`)"))
            .collect();
        (each.map(|(.., n)| n).sum::<u64>(), texts.join(", "))
    };
    let (people, where_to) = missed(&|f| &f.unreached, "people have no counterfactual");
    if people > 0 {
        let text = format!("no reference row of `{name}` gives the value to write: {where_to}");
        issues.push(IssueRow::warning("unreached-group", name, whole(people), text));
    }
    let of_sets = mine().map(|(set, _, followed)| (*set, &followed.without_rows));
    let attributes = &origins.context.rows.layout().attributes;
    let of_graphs = found.graphs.iter().filter(|set| attributes[set.position].name == name);
    let of_graphs = of_graphs.map(|set| (set.name.as_str(), &set.discovered.without_rows));
    let without_rows = of_sets.chain(of_graphs).flat_map(|(set, groups)| {
        groups.iter().map(move |group| format!("group `{group}` (set `{set}`)"))
    });
    let without_rows: Vec<String> = without_rows.collect();
    if !without_rows.is_empty() {
        let text = format!(
            "a declared group of `{name}` has no row from which the strategy learns, so every \
             value from it or to it is undefined (no_training_rows): {}; remove the group from \
             `groups`, or merge it with another",
            without_rows.join(", ")
        );
        issues.push(IssueRow::warning(
            "no-training-rows",
            name,
            whole(without_rows.len() as u64),
            text,
        ));
    }
    let (n, where_to) = missed(&|f| &f.outside, "counterfactuals");
    if n > 0 {
        let text = format!(
            "rows set to a group of `{name}` keep a number that belongs to another group, \
             because too few reference rows show where to move it, or the strategy does not \
             move it; they are not valid and excluded from every metric: {where_to}"
        );
        issues.push(IssueRow::warning("outside-group", name, whole(n), text));
    }
    for (set, _, followed) in mine() {
        let groups = attributes.iter().find(|of| of.name == name).map(|of| of.groups.as_slice());
        let told = told_in_words(followed.unsupported.iter(), groups.unwrap_or_default());
        if let Some((n, text)) = told {
            let text = format!("of `{name}`: {text}; all are in the table `support`");
            issues.push(IssueRow::warning("unsupported-people", set, whole(n), text));
        }
    }
    issues
}

/// What sets that depend on causal graphs leave out.
fn graph_sets(job: &Job, graphs: &[GraphSetScenario]) -> Vec<IssueRow> {
    let mut issues = Vec::new();
    for set in graphs.iter().filter(|_| !job.metrics.by.is_empty()) {
        let text = "slices would need the counts of every graph in every slice, so the set is \
                    measured only for all rows together";
        issues.push(IssueRow::info("unsliced-set", &set.name, 0, text));
    }
    for set in graphs.iter().filter(|_| !job.metrics.compare.is_empty()) {
        let text = "models are compared by the decisions about each person, but a set of \
                    graphs has one decision per graph";
        issues.push(IssueRow::info("uncompared-set", &set.name, 0, text));
    }
    for set in graphs.iter().filter(|set| set.discovered.n_dropped > 0) {
        let text = format!(
            "training rows lack a variable of the graphs of `{}` and are not used to fit them; \
             audited rows that lack one have no counterfactual",
            set.name
        );
        issues.push(IssueRow::warning(
            "incomplete-graph-row",
            &set.name,
            whole(set.discovered.n_dropped),
            text,
        ));
    }
    issues
}

/// The issue that a model has fewer trees than the job asks for.
fn fewer_trees((model, grown, asked): &(&str, u64, u64)) -> IssueRow {
    let text = format!(
        "model `{model}` has {grown} of the {asked} trees that the job asks for: a tree could \
         not split on the columns that it drew; use fewer trees, a smaller `smallest_leaf` or \
         a larger `column_share`"
    );
    IssueRow::warning("fewer-trees", model, 0, text)
}

/// The issue that scores differ from those that the job expects. If more differed than the job
/// allows, the run has ended before.
fn unexpected_scores((model, found): &ExpectedScores<'_>) -> Option<IssueRow> {
    let ExpectWords { column, tolerance, at_most, rows, differ, largest, .. } = found;
    let text = format!(
        "the scores of model `{model}` differ from the column `{column}` in {differ} of {rows} \
         rows by more than {tolerance}, the largest difference is {largest}; the job allows \
         {at_most} such rows: its numbers are not quite those of the model that made the column"
    );
    (*differ > 0).then(|| IssueRow::warning("unexpected-scores", model, whole(*differ), text))
}

/// The first of several parts of a sentence, and the table that has all of them.
fn named(parts: &[String], table: &str) -> String {
    let shown = parts.iter().take(GROUPS_NAMED).cloned().collect::<Vec<_>>().join(", ");
    if parts.len() > GROUPS_NAMED { format!("{shown}, more in `{table}`") } else { shown }
}

/// The issue that audited people have values that a model does not know.
fn unknown_to_model(of: &SettledModel<'_>) -> Option<IssueRow> {
    let (any, columns): (Vec<_>, Vec<_>) = of.unknown.iter().partition(|row| row.column.is_empty());
    let all = any.iter().find(|row| row.sensitive.is_empty() && row.people > 0)?;
    let columns = columns.into_iter().filter(|row| row.sensitive.is_empty());
    let columns = columns.map(|of| format!("{} in `{}` ({})", of.people, of.column, of.examples));
    let groups = any.iter().filter(|row| !row.sensitive.is_empty() && row.people > 0);
    let groups: Vec<String> = groups
        .map(|of| format!("{} of {} of `{}` `{}`", of.people, of.audited, of.sensitive, of.group))
        .collect();
    let text = format!(
        "model `{}` does not know values of {} of {} audited people: {}; by group {}: its \
         training tells nothing about what it makes of them",
        of.model,
        all.people,
        all.audited,
        columns.collect::<Vec<_>>().join(", "),
        named(&groups, "unknown_levels")
    );
    Some(IssueRow::warning("unknown-to-model", of.model, all.people, text))
}

/// Slices of fewer people than a slice needs to be measured.
fn small_slices(job: &Job, attribute: &str, slices: &BTreeMap<String, u64>) -> IssueRow {
    let named: Vec<String> =
        slices.iter().take(SLICES_NAMED).map(|(slice, n)| format!("`{slice}` ({n})")).collect();
    let more = slices.len().saturating_sub(SLICES_NAMED);
    let more =
        if more > 0 { format!(" and {more} more, all of them in `groups`") } else { String::new() };
    let smallest = job.metrics.smallest_cell.get();
    let text = format!(
        "slices of fewer than {smallest} people who count are counted and not measured: \
         {}{more}",
        named.join(", ")
    );
    IssueRow::info("small-slice", attribute, whole(slices.len() as u64), text)
}

/// Who has no score of a model, or whose counterfactuals have none, by group; none where nobody
/// lacks one.
fn missing_scores(
    (model, is_amount): (&str, bool),
    groups: &[GroupRow],
    population: &[PopulationRow],
) -> Option<IssueRow> {
    let mut parts = Vec::new();
    let mut tell = |n: i64,
                    [one, many]: [&str; 2],
                    what: &str,
                    of: Vec<(&SharedText, &str, i64)>| {
        let of =
            of.into_iter().map(|(attribute, group, n)| format!("{n} of `{attribute}` `{group}`"));
        let (of, have) = (of.collect::<Vec<_>>(), if n == 1 { one } else { many });
        if n > 0 {
            parts.push(format!("{n} {have} no {what} of `{model}` ({})", named(&of, "population")));
        }
    };
    let person = ["person has", "people have"];
    let own = || population.iter().filter(|row| row.is_of_model(model));
    let lacking = || own().filter(|row| row.without_score.unwrap_or(0) > 0);
    // The people are the same for each attribute.
    let mut people: BTreeMap<&str, i64> = BTreeMap::new();
    lacking().for_each(|row| {
        *people.entry(row.sensitive.as_str()).or_default() += row.without_score.unwrap_or(0);
    });
    let people = people.into_values().max().unwrap_or(0);
    let of_people = lacking()
        .filter_map(|row| Some((&row.sensitive, row.group.as_deref()?, row.without_score?)));
    tell(people, person, "score", of_people.collect());
    let made = || {
        let own = groups.iter().filter(|row| row.model == model && row.slice.is_empty());
        own.filter(|row| row.n_missing_counterfactual_score > 0)
    };
    let of_all = made().filter(|row| row.group.is_empty());
    let n_made = of_all.map(|row| row.n_missing_counterfactual_score).max().unwrap_or(0);
    let of_made = made()
        .filter(|row| !row.group.is_empty())
        .map(|row| (&row.sensitive, row.group.as_str(), row.n_missing_counterfactual_score));
    tell(n_made, ["counterfactual has", "counterfactuals have"], "score", of_made.collect());
    // The table of groups says nothing about amounts: by attribute and group whom the sets leave
    // out.
    let mut untested: BTreeMap<(&SharedText, &str), i64> = BTreeMap::new();
    let is_of_set =
        |row: &&PopulationRow| row.model.as_deref() == Some(model) && row.counterfactual.is_some();
    for row in population.iter().filter(is_of_set).filter(|_| is_amount) {
        let Some(group) = row.group.as_deref() else { continue };
        let of_model =
            own().find(|of| of.sensitive == row.sensitive && of.group.as_deref() == Some(group));
        let unscored = of_model.and_then(|of| of.without_score).unwrap_or(0);
        let lacking = row.without_counterfactual.unwrap_or(0) - unscored;
        if lacking > 0 {
            let most = untested.entry((&row.sensitive, group)).or_default();
            *most = lacking.max(*most);
        }
    }
    let mut by_attribute: BTreeMap<&str, i64> = BTreeMap::new();
    for ((attribute, _), n) in &untested {
        *by_attribute.entry(attribute.as_str()).or_default() += n;
    }
    let n_untested = by_attribute.into_values().max().unwrap_or(0);
    let of_untested = untested.into_iter().map(|((attribute, group), n)| (attribute, group, n));
    tell(n_untested, person, "counterfactual with an amount", of_untested.collect());
    (!parts.is_empty()).then(|| {
        let text = format!("{}: its metrics are about the others", parts.join(", and "));
        IssueRow::warning("missing-score", model, people + n_made + n_untested, text)
    })
}

/// The switches of a model that rounding may explain; none where there is none.
fn rounded_switches(model: &str, counts: &[CountRow]) -> Option<IssueRow> {
    let is_own = |row: &&CountRow| {
        let key = &row.key;
        key.model.as_str() == model
            && key.scope.as_str() == "direction"
            && key.arm.is_empty()
            && key.slice.is_empty()
    };
    // By set, attribute and direction; the switches among them, and those of rounding.
    let mut found: BTreeMap<[&str; 4], [i64; 2]> = BTreeMap::new();
    for row in counts.iter().filter(is_own).filter(|row| row.predicted != row.predicted_cf) {
        let key = &row.key;
        let place = [&key.counterfactual, &key.sensitive, &key.from_group, &key.to_group];
        let of = found.entry(place.map(SharedText::as_str)).or_default();
        of[0] += row.n;
        of[1] += row.n_rounded.unwrap_or(0);
    }
    found.retain(|_, of| of[1] > 0);
    let n: i64 = found.values().map(|of| of[1]).sum();
    let switches: Vec<String> = found
        .iter()
        .map(|([set, attribute, from, to], [all, rounded])| {
            format!("{rounded} of {all} of `{attribute}` from `{from}` to `{to}` in set `{set}`")
        })
        .collect();
    (n > 0).then(|| {
        let text = format!(
            "{n} {} of `{model}` {} between two scores that agree to single precision and stand \
             on the two sides of the threshold ({}): rounding may be the whole switch, and \
             gates that these alone decide are inconclusive; score rows and counterfactuals by one \
             program in one precision",
            if n == 1 { "switch" } else { "switches" },
            if n == 1 { "is" } else { "are" },
            named(&switches, "counts")
        );
        IssueRow::warning("rounding-at-threshold", model, n, text)
    })
}

/// Gates whose direction cannot see harm to the group with the lowest share of favourable
/// decisions.
pub(super) fn blind_gates(measured: &Path, origins: &FolderOrigins<'_>) -> Result<Vec<IssueNote>> {
    let job = &origins.checked.job;
    if blind::attributes(job).is_empty() {
        return Ok(Vec::new());
    }
    let metrics = MetricTable::read(measured)?.all;
    let groups = read_rows::<GroupRow>(measured)?;
    let shares = |model: &str, attribute: &str| {
        let shares = blind::decision_shares(
            job.data.favours_positive(),
            (&metrics, &groups),
            (model, attribute),
        );
        (shares, "decisions")
    };
    Ok(blind::gates(job, shares))
}

#[cfg(test)]
mod tests {
    use super::missing_scores;
    use crate::table::{GroupRow, PopulationRow};
    use crate::tests::TextRow;

    #[test]
    fn missing_scores_are_counted_by_group() {
        let row = |group: &str, made| {
            GroupRow::of(&format!(
                "model=m, sensitive=sex, group={group}, n=200, \
                 n_missing_counterfactual_score={made}"
            ))
        };
        let of = |group: Option<&str>, missing| PopulationRow {
            group: group.map(Into::into),
            ..PopulationRow::of(&format!(
                "state=audited, model=m, sensitive=sex, rows=200, without_score={missing}"
            ))
        };
        let rows = [row("", 1), row("Female", 0), row("Male", 1)];
        let people = [of(Some("Female"), 49), of(Some("Male"), 0), of(None, 3)];
        let found = missing_scores(("m", false), &rows, &people).expect("some lack a score");
        assert_eq!((found.code.as_str(), found.n), ("missing-score", 53));
        assert_eq!(
            found.text.as_str(),
            "52 people have no score of `m` (49 of `sex` `Female`), and 1 counterfactual has no \
             score of `m` (1 of `sex` `Male`): its metrics are about the others"
        );
        assert!(missing_scores(("other", false), &rows, &people).is_none());
        // Amounts have no rows of groups: their set says who is left out.
        let set = of(Some("Female"), 0)
            .with("counterfactual=flip, without_score=, without_counterfactual=60");
        let found =
            missing_scores(("m", true), &[], &[of(Some("Female"), 49), set]).expect("some do");
        assert_eq!(
            found.text.as_str(),
            "49 people have no score of `m` (49 of `sex` `Female`), and 11 people have no \
             counterfactual with an amount of `m` (11 of `sex` `Female`): its metrics are about \
             the others"
        );
        assert!(missing_scores(("m", false), &[row("", 0)], &[of(Some("Male"), 0)]).is_none());
    }
}
