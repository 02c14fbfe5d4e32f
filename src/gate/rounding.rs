//! Switches that rounding alone may explain: two scores that agree to single precision, but stand
//! on two sides of the threshold.
//!
//! A file of factual scores holds 0.1 in double precision, that of the counterfactuals in single
//! precision, and the threshold is 0.1: then everybody at the threshold switches, and the model has
//! decided nothing. The table of counts tells how many switches are of this kind. A gate decides
//! only where it decides alike without them: the value is computed again as if they did not switch,
//! and its interval moves by the same distance.

use super::decision::decide;
use crate::gate::question::{GateObservation, GateQuestion, GateRuling, GateStatus, GateTables};
use crate::metric::Reads;
use crate::metric::catalog::find;
use crate::metric::evidence::person::{CELLS, Eccm};
use crate::metric::value::settings::FavourableClass;
use crate::table::CountRow;

/// The code that begins the words about such switches.
const ROUNDING: &str = "rounding_at_threshold";

/// The cells of a direction, or of all, as the table has them.
struct RoundedCells {
    /// All counterfactuals.
    all: Eccm,
    /// Those whose switch is one of rounding, counted as if they did not switch.
    unrounded: Eccm,
    /// Counterfactuals whose switch is one of rounding.
    n: u64,
    /// Switches in all.
    switches: u64,
    /// Whether people have weights.
    weighted: bool,
}

/// Parts of the sum of weights that one unit of a cell represents: weights are real numbers.
const UNITS_OF_WEIGHT: f64 = (1_u64 << 40) as f64;

/// What the table of counts tells of the switches of a scope; none where none is one of rounding.
fn cells(
    question: &GateQuestion,
    seen: &GateObservation,
    (scope, from, to): (&str, &str, &str),
    counts: &[CountRow],
) -> Option<RoundedCells> {
    let is_of_scope = |row: &&CountRow| {
        let key = &row.key;
        let of = (key.arm.as_str(), key.model.as_str(), key.counterfactual.as_str())
            == (&question.arm, &question.model, &question.counterfactual);
        let here = key.scope_and_groups() == [scope, from, to];
        of && here && key.sensitive == seen.sensitive && key.slice.is_empty()
    };
    let own: Vec<&CountRow> = counts.iter().filter(is_of_scope).collect();
    let n: u64 = own.iter().filter_map(|row| row.n_rounded).map(i64::unsigned_abs).sum();
    if n == 0 {
        return None;
    }
    let total: f64 = own.iter().filter_map(|row| row.weight).sum();
    let units = |weight: f64| (weight / total * UNITS_OF_WEIGHT).round() as u64;
    let side = |text: &str| match text {
        "1" => Some(Some(true)),
        "0" => Some(Some(false)),
        "" => Some(None),
        _ => None,
    };
    let weighted = own.iter().any(|row| row.weight.is_some());
    let (all, unrounded) = (Eccm::default(), Eccm::default());
    let mut found = RoundedCells { all, unrounded, n, switches: 0, weighted };
    for row in own {
        let (label, predicted) = (side(&row.label)?, side(&row.predicted)??);
        let predicted_cf = side(&row.predicted_cf)??;
        let at = CELLS.iter().position(|cell| {
            (cell.label, cell.predicted, cell.predicted_cf) == (label, predicted, predicted_cf)
        })?;
        // The cell of the same person without the switch.
        let still = if predicted == predicted_cf { at } else { at ^ 1 };
        let (cases, rounded) = match row.weight {
            Some(weight) => (units(weight), units(row.weight_rounded.unwrap_or(0.0))),
            None => (row.n.unsigned_abs(), row.n_rounded.unwrap_or(0).unsigned_abs()),
        };
        found.all.0[at] += cases;
        found.unrounded.0[at] += cases.saturating_sub(rounded);
        found.unrounded.0[still] += rounded;
        found.switches += if predicted == predicted_cf { 0 } else { row.n.unsigned_abs() };
    }
    Some(found)
}

/// How much a value of these cells changes without the switches of rounding; outer none where the
/// value is of another kind, inner none where it becomes undefined.
fn shift_of(
    question: &GateQuestion,
    seen: &GateObservation,
    of: &RoundedCells,
) -> Option<Option<f64>> {
    let metric = find(&seen.metric)?;
    let change =
        |value: &dyn Fn(&Eccm) -> Option<f64>| Some(value(&of.unrounded)? - value(&of.all)?);
    Some(match metric.reads {
        Reads::SwitchRate(rate) => change(&|cells| rate(cells).value().ok()),
        Reads::SwitchScore(score) => change(&|cells| score(cells).ok()),
        Reads::SwitchByFavour { if_positive, if_negative } => {
            let rate = match question.favourable? {
                FavourableClass::Positive => if_positive,
                FavourableClass::Negative => if_negative,
            };
            change(&|cells| rate(cells).value().ok())
        }
        // Which people switch by rounding in all of their directions no table tells: at most all.
        Reads::AnySwitch(_) => Some(match seen.denominator.filter(|_| !of.weighted) {
            Some(below) if below > 0 => {
                let most = of.n.min(below.unsigned_abs()) as f64 / below as f64;
                -most.min(seen.value?)
            }
            _ => -seen.value?,
        }),
        _ => return None,
    })
}

/// Takes a verdict back that switches of rounding alone decide.
pub(super) fn reconsider(question: &GateQuestion, ruling: &mut GateRuling, tables: GateTables<'_>) {
    let seen = &ruling.observation;
    if !matches!(ruling.verdict, GateStatus::Pass | GateStatus::Fail) {
        return;
    }
    let at = |scope, from, to| cells(question, seen, (scope, from, to), tables.counts);
    let (from, to) = (seen.from.as_str(), seen.to.as_str());
    let parts = match seen.scope.as_str() {
        "direction" => [at("direction", from, to), None],
        "total" => [at("total", "", ""), None],
        // Of a gap the second direction is subtracted.
        "difference" | "pair" => [at("direction", from, to), at("direction", to, from)],
        _ => return,
    };
    let mut shift = Some(0.0);
    for (part, sign) in parts.iter().zip([1.0, -1.0]) {
        let Some(part) = part else { continue };
        let Some(found) = shift_of(question, seen, part) else { continue };
        shift = shift.zip(found).map(|(sum, found)| sum + sign * found);
    }
    if shift == Some(0.0) {
        return;
    }
    let [n, switches] = [|of: &RoundedCells| of.n, |of: &RoundedCells| of.switches]
        .map(|count| parts.iter().flatten().map(count).sum::<u64>());
    let moved = shift.map(|shift| {
        let by = |value: Option<f64>| value.map(|value| value + shift);
        let moved = GateObservation {
            value: by(seen.value),
            lo: by(seen.lo),
            hi: by(seen.hi),
            ..seen.clone()
        };
        (moved.value, decide(question, moved).verdict)
    });
    let without = match moved {
        Some((_, verdict)) if verdict == ruling.verdict => return,
        Some((Some(value), _)) => {
            // What rounds to 0 has no sign.
            let shown = (value * 1e4).round() / 1e4 + 0.0;
            let any = find(&seen.metric).is_some_and(|of| matches!(of.reads, Reads::AnySwitch(_)));
            format!("the value would be {}{shown:.4}", if any { "at least " } else { "" })
        }
        _ => "there would be no value".to_owned(),
    };
    ruling.verdict = GateStatus::Inconclusive;
    ruling.reason = format!(
        "{ROUNDING}: {n} of the {switches} switches behind the value are between two scores that \
         agree to single precision and stand on the two sides of the threshold; without them \
         {without}: score rows and counterfactuals by one program in one precision"
    );
}
