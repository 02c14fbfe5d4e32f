//! Gates on recourse: how many subgroups are unfair under one definition, counted in the table `subgroups`.
//!
//! A subgroup counts where it has a rank, a score of at least `score_at_least`, and at least `smallest` affected people in the smaller of its
//! two groups. Each pair of groups is judged; the worst decides. Where no subgroup has actions and so many people the gate is inconclusive:
//! nothing was looked at. The number is exact, so there is no interval.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Result;
use crate::table::io::read_frame;
use crate::table::picked::read_picked;
use crate::table::recourse::{RECOURSE, SUBGROUPS, UNFAIR_SUBGROUPS};

use super::{Asks, DecideBy, Limit, Question, Scope, Seen};

/// One gate on recourse.
#[derive(Debug, Clone, PartialEq)]
pub struct RecourseQuestion {
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
    pub smallest: u64,
    /// No more subgroups may be unfair.
    pub at_most: u64,
    /// Whether a failure is shown only.
    pub warn_only: bool,
    /// Line in the job file; 0 = not known.
    pub line: u64,
}

/// What was counted of one pair of groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    /// Subgroups with actions and enough people.
    looked_at: u64,
    /// Of them unfair.
    unfair: u64,
}

/// Counts in the tables of a folder what the question asks for: by pair of groups.
fn counts(question: &RecourseQuestion, folder: &Path) -> Result<BTreeMap<[String; 2], Count>> {
    let mut counts: BTreeMap<[String; 2], Count> = BTreeMap::new();
    // A pair whose search found nothing has no row among the subgroups.
    for pair in read_frame(folder, &RECOURSE)?.records().filter(|row| row.text("recourse") == question.recourse) {
        counts.insert([pair.text("group_0").to_owned(), pair.text("group_1").to_owned()], Count::default());
    }
    let [definition, parameter, view] = &question.definition;
    read_picked(folder, &SUBGROUPS, |row| {
        let asked = row.text("recourse") == question.recourse
            && row.text("definition") == definition
            && row.text("parameter") == parameter
            && row.text("view") == view;
        let smaller = row.int("n_0").min(row.int("n_1")).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        if let Some(score) = row.real("score").filter(|_| asked && smaller >= question.smallest) {
            let count = counts.entry([row.text("group_0").to_owned(), row.text("group_1").to_owned()]).or_default();
            count.looked_at += 1;
            let unfair = row.int("rank").is_some() && question.score_at_least.is_none_or(|least| score >= least);
            count.unfair += u64::from(unfair);
        }
        false
    })?;
    Ok(counts)
}

/// A gate on recourse, with what is to be judged: one value per pair of groups.
#[derive(Debug, Clone)]
pub struct Counted {
    pub(super) question: Question,
    pub(super) seen: Vec<Seen>,
    /// What the number counts, in words.
    pub(super) about: String,
}

impl Counted {
    /// What is asked.
    pub fn question(&mut self) -> &mut Question {
        &mut self.question
    }
}

/// Counts what a gate asks for, in the tables of the folder of the block.
///
/// # Errors
/// A table cannot be read.
pub fn count(question: &RecourseQuestion, folder: &Path) -> Result<Counted> {
    let seen = counts(question, folder)?.into_iter().map(|([from, to], count)| {
        let judged = count.looked_at > 0;
        Seen {
            metric: UNFAIR_SUBGROUPS.to_owned(),
            sensitive: question.recourse.clone(),
            from,
            to,
            value: judged.then_some(count.unfair as f64),
            numerator: i64::try_from(count.unfair).ok(),
            denominator: i64::try_from(count.looked_at).ok(),
            scope: "pair".to_owned(),
            undefined: if judged {
                String::new()
            } else {
                format!("no subgroup has actions and {} affected people in both groups", question.smallest)
            },
            why_no_interval: "a count of subgroups has no interval".to_owned(),
            ..Seen::default()
        }
    });
    let asked = Question {
        name: question.name.clone(),
        metric: UNFAIR_SUBGROUPS.to_owned(),
        model: question.model.clone(),
        counterfactual: String::new(),
        attributes: vec![question.recourse.clone()],
        unshown: Vec::new(),
        by_label: false,
        refused: String::new(),
        class: String::new(),
        arm: String::new(),
        scope: Scope::Total,
        asks: Asks::Value,
        limit: Limit::AtMost(question.at_most as f64),
        decide_by: DecideBy::Estimate,
        bootstraps: 0,
        holm: false,
        // How many people a subgroup needs was asked before; without any there is no value.
        enough: 0,
        warn_only: question.warn_only,
        line: question.line,
    };
    let [definition, parameter, view] = &question.definition;
    let score =
        question.score_at_least.map_or_else(|| "with any score above 0".to_owned(), |least| format!("with a score of at least {least}"));
    let size = if question.smallest > 1 {
        format!("with at least {} affected people in the smaller group", question.smallest)
    } else {
        "of any size".to_owned()
    };
    let parameter = if parameter.is_empty() { String::new() } else { format!(" {parameter}") };
    let about = format!("subgroups {size} that are unfair to either group by {definition}{parameter}, {view}, {score}");
    Ok(Counted { question: asked, seen: seen.collect(), about })
}

#[cfg(test)]
mod tests {
    use super::{RecourseQuestion, count};
    use crate::gate::judge;
    use crate::table::io::write_frame;
    use crate::table::recourse::{RECOURSE, SUBGROUPS};
    use crate::table::{Cell, Frame, GROUPS, METRICS};

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let mut recourse = Frame::new(&RECOURSE);
        for group in ["f", "x"] {
            let mut row: Vec<Cell> = ["sex", group, "m", "model", ""].map(Cell::from).into();
            row.extend((0..11).map(|_| Cell::Int(0)));
            row.push(Cell::Null);
            recourse.push(row);
        }
        write_frame(folder.path(), &recourse).unwrap();
        let mut subgroups = Frame::new(&SUBGROUPS);
        for (i, (n, score)) in
            [([5, 40], Some(f64::INFINITY)), ([9, 7], Some(0.5)), ([9, 9], Some(0.0)), ([9, 9], None)].into_iter().enumerate()
        {
            let row: Vec<Cell> = SUBGROUPS
                .columns
                .iter()
                .map(|column| match column.name {
                    "recourse" => "sex".into(),
                    "group_0" => "f".into(),
                    "group_1" => "m".into(),
                    "definition" => "equal-choice".into(),
                    "parameter" => "0.7".into(),
                    "view" => "macro".into(),
                    "subgroup" => Cell::Int(i as i64),
                    "n_0" => Cell::Int(n[0]),
                    "n_1" => Cell::Int(n[1]),
                    "score" => score.map_or(Cell::Null, Cell::Real),
                    "rank" => score.filter(|s| *s > 0.0).map_or(Cell::Null, |_| Cell::Int(1)),
                    "n_actions" => Cell::Int(1),
                    "coverage_0" | "coverage_1" => Cell::Real(0.1),
                    _ if column.nullable => Cell::Null,
                    _ => "".into(),
                })
                .collect();
            subgroups.push(row);
        }
        write_frame(folder.path(), &subgroups).unwrap();
        folder
    }

    fn verdicts(smallest: u64, score_at_least: Option<f64>, at_most: u64) -> Vec<(String, String, Option<f64>)> {
        let question = RecourseQuestion {
            name: "gate".into(),
            recourse: "sex".into(),
            model: "model".into(),
            definition: ["equal-choice", "0.7", "macro"].map(str::to_owned),
            score_at_least,
            smallest,
            at_most,
            warn_only: false,
            line: 1,
        };
        let counted = count(&question, folder().path()).unwrap();
        let judged = judge(&[], (&Frame::new(&METRICS), &Frame::new(&GROUPS)), None, &[counted]);
        let of = |row: crate::table::Record<'_>| (row.text("from_group").to_owned(), row.text("verdict").to_owned(), row.real("value"));
        judged.table.records().map(of).collect()
    }

    #[test]
    fn subgroups_are_counted_by_pair_and_size_and_score() {
        let of_f = |smallest, least, at_most| verdicts(smallest, least, at_most).remove(0);
        assert_eq!(of_f(1, None, 1), ("f".into(), "fail".into(), Some(2.0)));
        assert_eq!(of_f(1, None, 2), ("f".into(), "pass".into(), Some(2.0)));
        assert_eq!(of_f(6, None, 0), ("f".into(), "fail".into(), Some(1.0)));
        assert_eq!(of_f(1, Some(0.6), 1), ("f".into(), "pass".into(), Some(1.0)));
        assert_eq!(of_f(10, None, 0), ("f".into(), "inconclusive".into(), None));
        assert_eq!(verdicts(1, None, 2)[1], ("x".into(), "inconclusive".into(), None), "a pair without subgroups");
    }
}
