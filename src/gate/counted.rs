//! Gates on a number in a separate table: how many subgroups of a block of recourse are unfair
//! under one definition (table `subgroups`), and how many patterns of who switches are confirmed
//! (table `switch_patterns`).
//!
//! A subgroup counts where it has a rank, a score of at least `score_at_least`, and at least
//! `min_affected` affected people in the smaller of its two groups. Each pair of groups is judged;
//! the worst decides. If no subgroup has actions, that many affected people and an answer for
//! either group, the gate is inconclusive: nothing was examined. There is no number either if a
//! group has nobody with the unfavourable decision, or nobody has the favourable one. It is also
//! inconclusive if a half has fewer than `enough` people: a pattern could hardly be confirmed. The
//! numbers are exact, so there is no interval.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Result;
use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{GateLimit, GateObservation, GateQuestion};
use crate::gate::reason::{CountedUnit, EmptySearch, GateCount, GateReason};
use crate::metric::catalog::find;
use crate::metric::evidence::labels::SELECTIVE_LABELS;
use crate::table::file::{each_row, read_rows};
use crate::table::recourse::{ComparedPair, JudgedSubgroupRow, RecourseRow, UNFAIR_SUBGROUPS};
use crate::table::why::{CONFIRMED_PATTERNS, SwitchPatternRow};
use crate::table::{MetricRow, SharedText, has_flag, unsigned};

impl GateQuestion {
    /// A gate that at most this many keep, and of which nothing is counted yet. Until it is,
    /// `min_cases` are the people that each half needs.
    pub(crate) fn of_count(asked: GateQuestion, at_most: u64, counted: GateCount) -> Self {
        let metric = match counted {
            GateCount::Subgroups { .. } => UNFAIR_SUBGROUPS,
            GateCount::Patterns { .. } => CONFIRMED_PATTERNS,
        };
        GateQuestion {
            metric: metric.to_owned(),
            limit: GateLimit::AtMost(at_most as f64),
            decide_by: GateDecideBy::Estimate,
            counted: Some(counted),
            ..asked
        }
    }

    /// Counts what the gate asks for, in the tables of the folder of the block.
    ///
    /// # Errors
    /// A table cannot be read.
    pub(crate) fn count(mut self, folder: &Path) -> Result<Self> {
        self.observations = match self.counted.clone() {
            Some(GateCount::Patterns { why, .. }) => vec![count_patterns(&mut self, folder, why)?],
            Some(asked) => count_subgroups(&self, folder, &asked)?,
            None => Vec::new(),
        };
        Ok(self)
    }

    /// Whether what it counts needs labels.
    pub(super) fn counts_labels(&self) -> bool {
        let Some(GateCount::Patterns { metric: Some(metric), .. }) = &self.counted else {
            return false;
        };
        find(metric).is_some_and(|metric| metric.needs_label)
    }
}

/// What a question on a table of its own observes there. Where that depends on labels which are
/// missing for some people more often than for others, as the values of its model say, it has the
/// flag of these.
pub(super) fn observations(question: &GateQuestion, metrics: &[MetricRow]) -> Vec<GateObservation> {
    let is_selective = |row: &MetricRow| {
        row.key.arm == question.arm
            && row.key.model == question.model
            && row.key.sensitive == question.first_attribute()
            && row.key.slice.is_empty()
            && has_flag(&row.flags, SELECTIVE_LABELS)
    };
    let mut all = question.observations.clone();
    if question.counts_labels() && metrics.iter().any(is_selective) {
        all.iter_mut().for_each(|observed| observed.row.flags = SELECTIVE_LABELS.into());
    }
    all
}

/// The number of a gate about two groups.
fn observation(question: &GateQuestion, place: [&str; 3]) -> GateObservation {
    GateObservation::about(&question.metric, question.first_attribute(), place)
}

/// The unfair ones by pair of groups, among the subgroups with a score that are asked about.
fn count_subgroups(
    question: &GateQuestion,
    folder: &Path,
    asked: &GateCount,
) -> Result<Vec<GateObservation>> {
    let GateCount::Subgroups { definition, parameter, view, score_at_least, min_affected } = asked
    else {
        return Ok(Vec::new());
    };
    let is_asked = |row: &JudgedSubgroupRow| {
        let criterion = &row.criterion;
        [&criterion.definition, &criterion.parameter, &criterion.view]
            == [definition, parameter, view]
            && unsigned(row.n_0.min(row.n_1)) >= *min_affected
            && criterion.is_answered([row.value_0, row.value_1])
    };
    let is_unfair = |score: f64| score_at_least.is_none_or(|least| score >= least);
    let is_own = |pair: &ComparedPair| pair.recourse == question.first_attribute();
    let groups = |pair: &ComparedPair| [&pair.group_0, &pair.group_1].map(ToString::to_string);
    // For each pair why nothing could be examined, those examined, and among them those unfair to
    // either group. A pair whose search found nothing has no row among the subgroups.
    let mut counts: BTreeMap<[String; 2], (SharedText, i64, [i64; 2])> = BTreeMap::new();
    for row in read_rows::<RecourseRow>(folder)?.iter().filter(|row| is_own(&row.pair)) {
        counts.insert(groups(&row.pair), (row.undefined.clone(), 0, [0; 2]));
    }
    each_row(folder, |row: &JudgedSubgroupRow| {
        if let Some(score) = row.score.filter(|_| is_own(&row.pair) && is_asked(row)) {
            let (_, looked_at, unfair) = counts.entry(groups(&row.pair)).or_default();
            *looked_at += 1;
            let to_second = row.against == row.pair.group_1;
            unfair[usize::from(to_second)] += i64::from(row.rank.is_some() && is_unfair(score));
        }
    })?;
    let all = counts.into_iter().map(|([from, to], (undefined, looked_at, unfair))| {
        let observed = observation(question, ["pair", &from, &to]);
        if !undefined.is_empty() {
            return GateObservation::from(MetricRow { undefined, ..observed.row });
        }
        if looked_at == 0 {
            let search = EmptySearch::Subgroups(*min_affected);
            let objections = vec![GateReason::NothingLookedAt { search }];
            return GateObservation { objections, ..observed };
        }
        let n: i64 = unfair.iter().sum();
        let row = MetricRow {
            value: Some(n as f64),
            numerator: Some(n),
            denominator: Some(looked_at),
            ..observed.row
        };
        GateObservation { unfair: Some(unfair), ..row.into() }
    });
    Ok(all.collect())
}

/// The confirmed patterns of a block of `why`, whose metric and set are in the table.
fn count_patterns(
    question: &mut GateQuestion,
    folder: &Path,
    why: String,
) -> Result<GateObservation> {
    let rows = read_rows::<SwitchPatternRow>(folder)?;
    let own: Vec<&SwitchPatternRow> = rows.iter().filter(|row| row.why == why).collect();
    let halves = || own.iter().filter(|row| row.pattern.is_empty());
    let text = |cell: fn(&SwitchPatternRow) -> &SharedText| {
        halves().next().map_or_else(String::new, |row| cell(row).to_string())
    };
    let metric = own.first().map(|row| row.metric.to_string());
    question.counterfactual = text(|row| &row.counterfactual);
    // Each half is asked, and not both again.
    let (required, of) = (std::mem::take(&mut question.min_cases), CountedUnit::PeopleOfAHalf);
    let n = halves().map(|row| row.n).min().unwrap_or(0);
    let is_enough = unsigned(n) >= required;
    let confirmed = own.iter().filter(|row| row.confirmed == Some(1)).count();
    let [from, to] = [text(|row| &row.from_group), text(|row| &row.to_group)];
    let row = MetricRow {
        value: is_enough.then_some(confirmed as f64),
        denominator: Some(halves().map(|row| row.n).sum()),
        ..observation(question, ["direction", &from, &to]).row
    };
    question.counted = Some(GateCount::Patterns { metric, why });
    let too_few = (!is_enough).then_some(GateReason::TooFew { n, of, required });
    let looked_at_none =
        halves().any(|row| row.k > 0) && halves().any(|row| row.searched == Some(0));
    let least = halves().find_map(|row| row.least).unwrap_or(0);
    let search = EmptySearch::Patterns(least);
    let no_search = looked_at_none.then_some(GateReason::NothingLookedAt { search });
    Ok(GateObservation { objections: too_few.or(no_search).into_iter().collect(), ..row.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::judge;
    use crate::gate::question::GateTables;
    use crate::table::file::write_rows;
    use crate::table::recourse::SubgroupRow;
    use crate::table::{GateRow, PopulationRow};
    use crate::tests::TextRow;

    /// The rows of a gate on what is counted in a folder.
    fn judged(
        at_most: u64,
        min_cases: u64,
        counted: GateCount,
        folder: &tempfile::TempDir,
        population: &[PopulationRow],
    ) -> Vec<GateRow> {
        let (attributes, model) = (vec!["sex".into()], "model".into());
        let asked = GateQuestion { attributes, model, min_cases, ..GateQuestion::default() };
        let gate = GateQuestion::of_count(asked, at_most, counted).count(folder.path()).unwrap();
        let population = population.to_vec();
        judge(&[gate], &GateTables { population, ..GateTables::default() }, None).table
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let recourse = RecourseRow::of("recourse=sex, group_1=m, model=model").each(
            "group_0 | undefined
             f       |
             x       |
             y       | no_affected_rows
             z       | no_unaffected_rows",
        );
        write_rows(folder.path(), &recourse).unwrap();
        let subgroup = SubgroupRow::of(
            "recourse=sex, group_0=f, group_1=m, definition=equal-choice, parameter=0.7, \
             view=macro, n_actions=1",
        );
        let subgroups = subgroup.each(
            "subgroup | n_0 | n_1 | score | rank | against
             0        | 5   | 40  | inf   | 1    | m
             1        | 9   | 7   | 0.5   | 1    | f
             2        | 9   | 9   | 0     |      | f
             3        | 9   | 9   |       |      | f",
        );
        write_rows(folder.path(), &subgroups).unwrap();
        folder
    }

    #[test]
    fn subgroups_are_counted_by_pair_and_size_and_score() {
        for (min_affected, score_at_least, at_most, held) in [
            (1, None, 1, "verdict=fail, value=2, unfair_to_from=1, unfair_to_to=1"),
            (1, None, 2, "verdict=pass, value=2, unfair_to_from=1, unfair_to_to=1"),
            (6, None, 0, "verdict=fail, value=1, unfair_to_from=1, unfair_to_to=0"),
            (1, Some(0.6), 1, "verdict=pass, value=1, unfair_to_from=0, unfair_to_to=1"),
            (10, None, 0, "verdict=inconclusive, value="),
        ] {
            let [definition, parameter, view] = ["equal-choice", "0.7", "macro"].map(str::to_owned);
            let counted =
                GateCount::Subgroups { definition, parameter, view, score_at_least, min_affected };
            let rows = judged(at_most, 0, counted, &folder(), &[]);
            assert!(rows[0].holds(&format!("from_group=f, {held}")), "{:?}", rows[0]);
            let nothing =
                "from_group=x, verdict=inconclusive, reason_code=nothing-looked-at, value=";
            assert!(rows[1].holds(nothing), "no subgroups: {:?}", rows[1]);
            for (row, group, reason) in [
                (&rows[2], "y", "nobody of one of them has the unfavourable decision"),
                (&rows[3], "z", "Nobody has the favourable decision"),
            ] {
                let open = "verdict=inconclusive, reason_code=undefined, value=";
                assert!(row.holds(&format!("from_group={group}, {open}")), "{row:?}");
                assert!(row.reason.contains(reason), "{}", row.reason);
            }
        }
    }

    /// A definition that neither group can meet compares nothing.
    #[test]
    fn subgroups_without_an_answer_are_not_passed() {
        for (definition, values, held) in [
            ("equal-choice", "0 | 0", "inconclusive, reason_code=nothing-looked-at"),
            ("equal-choice", "0 | 2", "pass"),
            (
                "equal-cost-of-effectiveness",
                "inf | inf",
                "inconclusive, reason_code=nothing-looked-at",
            ),
            ("equal-cost-of-effectiveness", "0 | 0", "pass"),
            ("equal-effectiveness", "0 | 0", "inconclusive, reason_code=nothing-looked-at"),
            ("equal-effectiveness", "0.1 | 0", "pass"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let pair = "recourse=sex, group_0=f, group_1=m, model=model";
            write_rows(folder.path(), &[RecourseRow::of(pair)]).unwrap();
            let row = format!(
                "recourse=sex, group_0=f, group_1=m, definition={definition}, parameter=0.7, \
                 view=macro, n_actions=1, n_0=9, n_1=9, score=0"
            );
            let rows = SubgroupRow::of(&row).each(&format!("value_0 | value_1\n{values}"));
            write_rows(folder.path(), &rows).unwrap();
            let [parameter, view] = ["0.7", "macro"].map(str::to_owned);
            let (definition, score_at_least, min_affected) = (definition.to_owned(), None, 1);
            let counted =
                GateCount::Subgroups { definition, parameter, view, score_at_least, min_affected };
            let row = &judged(0, 0, counted, &folder, &[])[0];
            assert!(row.holds(&format!("verdict={held}")), "{values}: {row:?}");
        }
    }

    /// What was found breaks a limit whoever else there is; a limit is kept only by all people.
    #[test]
    fn people_whom_a_search_did_not_look_at_prevent_a_pass() {
        let population = PopulationRow::of("sensitive=sex, model=model, declared=1").each(
            "group | rows | without_score
                   | 5    |
             f     | 20   | 3
             m     | 60   | 0
             other | 9    | 9",
        );
        for (at_most, held) in
            [(1, "verdict=fail"), (2, "verdict=inconclusive, reason_code=unmeasured-people")]
        {
            let [definition, parameter, view] = ["equal-choice", "0.7", "macro"].map(str::to_owned);
            let (score_at_least, min_affected) = (None, 1);
            let counted =
                GateCount::Subgroups { definition, parameter, view, score_at_least, min_affected };
            let row = &judged(at_most, 0, counted, &folder(), &population)[0];
            assert!(row.holds(held), "{row:?}");
            let said =
                "5 people have no group, and 3 people have no score; the search looked at nobody";
            assert_eq!(row.reason.contains(said), at_most == 2, "{}", row.reason);
        }
    }

    #[test]
    fn confirmed_patterns_are_counted() {
        let rows = SwitchPatternRow::of("why=w").each(
            "pattern | half   | n   | confirmed
                     | first  | 100 |
                     | second | 90  |
             a = x   | first  | 20  |
             a = x   | second | 20  | 1
             b = y   | first  | 20  |
             b = y   | second | 20  | 0",
        );
        let folder = tempfile::tempdir().unwrap();
        write_rows(folder.path(), &rows).unwrap();
        for (at_most, enough, held) in [
            (0, 10, "verdict=fail, value=1"),
            (1, 90, "verdict=pass, value=1"),
            (0, 91, "verdict=inconclusive, value="),
        ] {
            let counted = GateCount::Patterns { metric: None, why: "w".into() };
            assert!(judged(at_most, enough, counted, &folder, &[])[0].holds(held), "{held}");
        }
    }

    /// That no pattern was confirmed says nothing where some people switch and no trait has enough
    /// people.
    #[test]
    fn patterns_that_were_not_looked_at_are_not_passed() {
        for (switches, searched, held) in [
            (5, 0, "verdict=inconclusive, reason_code=nothing-looked-at, value=0"),
            (5, 3, "verdict=pass, value=0"),
            (0, 0, "verdict=pass, value=0"),
        ] {
            let rows = SwitchPatternRow::of("why=w, n=90").each(&format!(
                "half | k | least | searched
                 first | {switches} | 20 | {searched}
                 second | 0 | |"
            ));
            let folder = tempfile::tempdir().unwrap();
            write_rows(folder.path(), &rows).unwrap();
            let counted = GateCount::Patterns { metric: None, why: "w".into() };
            let row = &judged(0, 10, counted, &folder, &[])[0];
            assert!(row.holds(held), "{held}: {row:?}");
        }
    }

    /// A search in one direction looks at the people of its first group only.
    #[test]
    fn patterns_of_a_direction_are_of_its_first_group() {
        let rows = SwitchPatternRow::of("why=w, metric=psr, from_group=f, to_group=m")
            .each("pattern | half | n\n | first | 100\n | second | 90");
        let folder = tempfile::tempdir().unwrap();
        write_rows(folder.path(), &rows).unwrap();
        for (group, verdict) in [("f", "inconclusive"), ("m", "pass")] {
            let population = PopulationRow::of("sensitive=sex, model=model, declared=1")
                .each(&format!("group | rows | without_score\n {group} | 20 | 3"));
            let counted = GateCount::Patterns { metric: None, why: "w".into() };
            let row = &judged(0, 10, counted, &folder, &population)[0];
            assert!(row.holds(&format!("verdict={verdict}")), "{group}: {row:?}");
        }
    }
}
