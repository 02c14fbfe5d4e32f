//! Gates on recourse: how many subgroups are unfair under one definition, counted in the table
//! `subgroups`.
//!
//! A subgroup counts where it has a rank, a score of at least `score_at_least`, and at least
//! `min_affected` affected people in the smaller of its two groups. Each pair of groups is judged;
//! the worst decides. Where no subgroup has actions and so many people the gate is inconclusive:
//! nothing was looked at. The number is exact, so there is no interval.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Result;
use crate::table::file::{read_matching, read_rows};
use crate::table::recourse::{RecourseRow, SubgroupRow, UNFAIR_SUBGROUPS};

use crate::gate::question::{GateObservation, GateQuestion};
use crate::gate::reason::{EmptySearch, GateCount, GateReason};

/// One gate on recourse.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecourseGateQuestion {
    /// Its name.
    pub name: String,
    /// The block: the name of its attribute.
    pub recourse: String,
    /// The model of the block.
    pub model: String,
    /// The definition, its parameter and the view, as the table names them.
    pub definition: [String; 3],
    /// A subgroup counts from this score on; none: any above 0.
    pub score_at_least: Option<f64>,
    /// Affected people in the smaller group of a subgroup that counts.
    pub min_affected: u64,
    /// No more subgroups may be unfair.
    pub at_most: u64,
    /// Whether a failure is shown only.
    pub warn_only: bool,
    /// Line in the job file; 0 = not known.
    pub line: u64,
}

/// What was counted of one pair of groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SubgroupCount {
    /// Subgroups with actions and enough people.
    looked_at: u64,
    /// Of them unfair to either group.
    unfair: [u64; 2],
}

impl SubgroupCount {
    fn all_unfair(&self) -> u64 {
        self.unfair.iter().sum()
    }
}

/// Counts in the tables of a folder what the question asks for: by pair of groups.
fn counts(
    question: &RecourseGateQuestion,
    folder: &Path,
) -> Result<BTreeMap<[String; 2], SubgroupCount>> {
    let mut counts: BTreeMap<[String; 2], SubgroupCount> = BTreeMap::new();
    // A pair whose search found nothing has no row among the subgroups.
    for pair in read_rows::<RecourseRow>(folder)?
        .iter()
        .filter(|row| row.pair.recourse == question.recourse)
    {
        counts.insert(
            [pair.pair.group_0.to_string(), pair.pair.group_1.to_string()],
            SubgroupCount::default(),
        );
    }
    let [definition, parameter, view] = &question.definition;
    read_matching(folder, |row: &SubgroupRow| {
        let asked = row.pair.recourse == question.recourse
            && row.criterion.definition.as_str() == definition
            && row.criterion.parameter.as_str() == parameter
            && row.criterion.view.as_str() == view;
        let smaller = u64::try_from(row.n_0.min(row.n_1)).unwrap_or(0);
        if let Some(score) = row.score.filter(|_| asked && smaller >= question.min_affected) {
            let count = counts
                .entry([row.pair.group_0.to_string(), row.pair.group_1.to_string()])
                .or_default();
            count.looked_at += 1;
            let unfair =
                row.rank.is_some() && question.score_at_least.is_none_or(|least| score >= least);
            let to_second = row.against == row.pair.group_1;
            count.unfair[usize::from(to_second)] += u64::from(unfair);
        }
        false
    })?;
    Ok(counts)
}

/// A gate on what was counted, recourse or patterns, with what is to be judged: of recourse one
/// value per pair of groups.
#[derive(Debug, Clone)]
pub(crate) struct CountedGate {
    pub(super) question: GateQuestion,
    pub(super) observations: Vec<GateObservation>,
    /// What the number counts.
    pub(super) counted: GateCount,
}

impl CountedGate {
    /// The same, not to be decided for this reason.
    pub(crate) fn objected(mut self, why: GateReason) -> Self {
        self.question.objections.push(why);
        self
    }

    /// What is asked.
    pub(crate) fn question(&mut self) -> &mut GateQuestion {
        &mut self.question
    }
}

/// Counts what a gate asks for, in the tables of the folder of the block.
///
/// # Errors
/// A table cannot be read.
pub(crate) fn count(question: &RecourseGateQuestion, folder: &Path) -> Result<CountedGate> {
    let search = EmptySearch::Subgroups(question.min_affected);
    let empty = GateReason::NothingLookedAt { search };
    let seen = counts(question, folder)?.into_iter().map(|([from, to], count)| {
        let judged = count.looked_at > 0;
        GateObservation {
            metric: UNFAIR_SUBGROUPS.to_owned(),
            sensitive: question.recourse.clone(),
            from,
            to,
            value: judged.then_some(count.all_unfair() as f64),
            numerator: judged.then(|| i64::try_from(count.all_unfair()).ok()).flatten(),
            denominator: judged.then(|| i64::try_from(count.looked_at).ok()).flatten(),
            unfair: judged.then_some(count.unfair.map(|n| i64::try_from(n).unwrap_or(i64::MAX))),
            scope: "pair".to_owned(),
            objections: if judged { Vec::new() } else { vec![empty.clone()] },
            ..GateObservation::default()
        }
    });
    let asked = GateQuestion {
        name: question.name.clone(),
        metric: UNFAIR_SUBGROUPS.to_owned(),
        model: question.model.clone(),
        attributes: vec![question.recourse.clone()],
        warn_only: question.warn_only,
        line: question.line,
        // How many people a subgroup needs was asked before; without any there is no value.
        ..GateQuestion::of_count(question.at_most)
    };
    let [definition, parameter, view] = question.definition.clone();
    let counted = GateCount::Subgroups {
        definition,
        parameter,
        view,
        score_at_least: question.score_at_least,
        min_affected: question.min_affected,
    };
    Ok(CountedGate { question: asked, observations: seen.collect(), counted })
}

#[cfg(test)]
mod tests {
    use super::{RecourseGateQuestion, count};
    use crate::gate::judge;
    use crate::gate::question::GateTables;
    use crate::table::file::write_rows;
    use crate::table::recourse::{ComparedPair, CriterionWords, RecourseRow, SubgroupRow};

    fn pair(group: &str) -> ComparedPair {
        ComparedPair { recourse: "sex".into(), group_0: group.into(), group_1: "m".into() }
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let mut recourse = Vec::<RecourseRow>::new();
        for group in ["f", "x"] {
            recourse.push(RecourseRow {
                pair: pair(group),
                model: "model".into(),
                ..RecourseRow::default()
            });
        }
        write_rows(folder.path(), &recourse).unwrap();
        let mut subgroups = Vec::<SubgroupRow>::new();
        for (i, (n, score)) in [
            ([5, 40], Some(f64::INFINITY)),
            ([9, 7], Some(0.5)),
            ([9, 9], Some(0.0)),
            ([9, 9], None),
        ]
        .into_iter()
        .enumerate()
        {
            subgroups.push(SubgroupRow {
                pair: pair("f"),
                criterion: CriterionWords {
                    definition: "equal-choice".into(),
                    parameter: "0.7".into(),
                    view: "macro".into(),
                },
                subgroup: i as i64,
                n_0: n[0],
                n_1: n[1],
                score,
                rank: score.filter(|s| *s > 0.0).map(|_| 1),
                against: if n[0] < 6 { "m" } else { "f" }.into(),
                n_actions: 1,
                ..SubgroupRow::default()
            });
        }
        write_rows(folder.path(), &subgroups).unwrap();
        folder
    }

    fn verdicts(
        smallest: u64,
        score_at_least: Option<f64>,
        at_most: u64,
    ) -> Vec<(String, String, Option<f64>)> {
        let question = RecourseGateQuestion {
            name: "gate".into(),
            recourse: "sex".into(),
            model: "model".into(),
            definition: ["equal-choice", "0.7", "macro"].map(str::to_owned),
            score_at_least,
            min_affected: smallest,
            at_most,
            warn_only: false,
            line: 1,
        };
        let counted = count(&question, folder().path()).unwrap();
        let judged = judge(&[], GateTables::default(), None, &[counted]);
        let of = |row: &crate::table::GateRow| {
            let unfair = row.unfair_to_from.zip(row.unfair_to_to);
            assert_eq!(unfair.map(|(a, b)| (a + b) as f64), row.value, "each is unfair to one");
            if smallest == 1 && score_at_least.is_none() && row.from_group.as_str() == "f" {
                assert_eq!(unfair, Some((1, 1)));
            }
            (row.from_group.to_string(), row.verdict.to_string(), row.value)
        };
        judged.table.iter().map(of).collect()
    }

    #[test]
    fn subgroups_are_counted_by_pair_and_size_and_score() {
        let of_f = |smallest, least, at_most| verdicts(smallest, least, at_most).remove(0);
        assert_eq!(of_f(1, None, 1), ("f".into(), "fail".into(), Some(2.0)));
        assert_eq!(of_f(1, None, 2), ("f".into(), "pass".into(), Some(2.0)));
        assert_eq!(of_f(6, None, 0), ("f".into(), "fail".into(), Some(1.0)));
        assert_eq!(of_f(1, Some(0.6), 1), ("f".into(), "pass".into(), Some(1.0)));
        assert_eq!(of_f(10, None, 0), ("f".into(), "inconclusive".into(), None));
        assert_eq!(
            verdicts(1, None, 2)[1],
            ("x".into(), "inconclusive".into(), None),
            "a pair without subgroups"
        );
    }
}
