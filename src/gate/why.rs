//! Gates on who switches: how many patterns are confirmed, counted in the table `switch_patterns`.
//!
//! The number is exact, so there is no interval. Where a half has fewer than `enough` people the
//! gate is inconclusive: a pattern could hardly be confirmed.

use std::path::Path;

use crate::error::Result;
use crate::gate::question::{GateObservation, GateQuestion};
use crate::gate::reason::{CountedUnit, GateCount, GateReason};
use crate::gate::recourse::CountedGate;
use crate::table::file::read_rows;
use crate::table::why::{CONFIRMED_PATTERNS, SwitchPatternRow};

/// One gate on patterns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PatternGateQuestion {
    /// Its name.
    pub(crate) name: String,
    /// The block.
    pub(crate) why: String,
    /// The model of the block.
    pub(crate) model: String,
    /// The attribute of the block.
    pub(crate) attribute: String,
    /// No more patterns may be confirmed.
    pub(crate) at_most: u64,
    /// People that each half needs.
    pub(crate) enough: u64,
    /// Whether a failure is shown only.
    pub(crate) warn_only: bool,
    /// Line in the job file; 0 = not known.
    pub(crate) line: u64,
}

/// Counts what a gate asks for, in the table of the folder of the block.
///
/// # Errors
/// The table cannot be read.
pub(crate) fn count(question: &PatternGateQuestion, folder: &Path) -> Result<CountedGate> {
    let rows = read_rows::<SwitchPatternRow>(folder)?;
    let own: Vec<&SwitchPatternRow> = rows.iter().filter(|row| row.why == question.why).collect();
    let everybody = || own.iter().filter(|row| row.pattern.is_empty());
    let people: i64 = everybody().map(|row| row.n).sum();
    let fewest = everybody().map(|row| row.n).min().unwrap_or(0);
    let is_enough = u64::try_from(fewest).unwrap_or(0) >= question.enough;
    let confirmed = own.iter().filter(|row| row.confirmed == Some(1)).count();
    let (of, metric) = (everybody().next(), own.first().map(|row| row.metric.to_string()));
    let text = |of: Option<&crate::table::SharedText>| of.map(ToString::to_string);
    let too_few =
        GateReason::TooFew { n: fewest, of: CountedUnit::PeopleOfAHalf, required: question.enough };
    let seen = GateObservation {
        metric: CONFIRMED_PATTERNS.to_owned(),
        sensitive: question.attribute.clone(),
        from: text(of.map(|row| &row.from_group)).unwrap_or_default(),
        to: text(of.map(|row| &row.to_group)).unwrap_or_default(),
        value: is_enough.then_some(confirmed as f64),
        denominator: Some(people),
        scope: "direction".to_owned(),
        objections: if is_enough { Vec::new() } else { vec![too_few] },
        ..GateObservation::default()
    };
    let asked = GateQuestion {
        name: question.name.clone(),
        metric: CONFIRMED_PATTERNS.to_owned(),
        model: question.model.clone(),
        counterfactual: of.map(|row| row.counterfactual.to_string()).unwrap_or_default(),
        attributes: vec![question.attribute.clone()],
        warn_only: question.warn_only,
        line: question.line,
        // Whether enough people count was asked of each half before.
        ..GateQuestion::of_count(question.at_most)
    };
    let counted = GateCount::Patterns { metric, why: question.why.clone() };
    Ok(CountedGate { question: asked, observations: vec![seen], counted })
}

#[cfg(test)]
mod tests {
    use super::{PatternGateQuestion, count};
    use crate::gate::judge;
    use crate::gate::question::GateTables;
    use crate::table::file::write_rows;
    use crate::table::why::SwitchPatternRow;

    fn verdict(at_most: u64, enough: u64) -> (String, Option<f64>) {
        let row = |pattern: &str, half: &str, n, confirmed| SwitchPatternRow {
            why: "w".into(),
            pattern: pattern.into(),
            half: half.into(),
            n,
            confirmed,
            ..SwitchPatternRow::default()
        };
        let rows = [
            row("", "first", 100, None),
            row("", "second", 90, None),
            row("a = x", "first", 20, None),
            row("a = x", "second", 20, Some(1)),
            row("b = y", "first", 20, None),
            row("b = y", "second", 20, Some(0)),
        ];
        let folder = tempfile::tempdir().unwrap();
        write_rows(folder.path(), &rows).unwrap();
        let question = PatternGateQuestion {
            name: "g".into(),
            why: "w".into(),
            model: "m".into(),
            attribute: "sex".into(),
            at_most,
            enough,
            warn_only: false,
            line: 1,
        };
        let counted = count(&question, folder.path()).unwrap();
        let tables = GateTables::default();
        let judged = judge(&[], tables, None, &[counted]).table;
        (judged[0].verdict.to_string(), judged[0].value)
    }

    #[test]
    fn confirmed_patterns_are_counted() {
        assert_eq!(verdict(0, 10), ("fail".into(), Some(1.0)));
        assert_eq!(verdict(1, 90), ("pass".into(), Some(1.0)));
        assert_eq!(verdict(0, 91), ("inconclusive".into(), None));
    }
}
