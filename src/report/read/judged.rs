//! Which value a limit judges: the one place that joins gates and values. A limit is shown next to
//! a value only where model, set, attribute, scope, groups, slice, class and arm all agree.

use crate::report::read::panel::{KeyedRow, ResultKey};
use crate::table::GateRow;

/// One value, as gates and the tables of values both name it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JudgedValue {
    /// Whose decisions, of which people.
    pub(crate) key: ResultKey,
    /// The metric.
    pub(crate) metric: String,
}

impl JudgedValue {
    /// A value of a key.
    pub(crate) fn of(key: ResultKey, metric: &str) -> Self {
        JudgedValue { key, metric: metric.to_owned() }
    }

    /// What a row of gates judges; none of the change of a value.
    pub(crate) fn of_gate(row: &GateRow) -> Option<Self> {
        let is_on_the_value = ["at_most", "at_least"].contains(&row.rule_words().0);
        is_on_the_value.then(|| JudgedValue::of(row.key(), &row.metric))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of two words for each part of a gate's key.
    fn gates() -> Vec<GateRow> {
        let word = |bits: u32, bit: u32, words: [&'static str; 2]| {
            words[(bits >> bit & 1) as usize].into()
        };
        let gate = |bits: u32| GateRow {
            gate: format!("g{bits}").as_str().into(),
            model: word(bits, 0, ["m", "n"]),
            counterfactual: word(bits, 1, ["flip", "draw"]),
            sensitive: word(bits, 2, ["sex", "race"]),
            scope: word(bits, 3, ["direction", "difference"]),
            from_group: word(bits, 4, ["a", "b"]),
            to_group: word(bits, 5, ["c", "d"]),
            class: word(bits, 6, ["", "high"]),
            arm: word(bits, 7, ["", "more/all"]),
            metric: word(bits, 8, ["nsr", "psr"]),
            rule: word(bits, 9, ["at_most, interval", "rise_at_most, interval"]),
            ..GateRow::default()
        };
        (0..1 << 10).map(gate).collect()
    }

    /// A value of one class, slice or arm is judged by the gates on exactly it, and by no other.
    #[test]
    fn a_limit_judges_one_value() {
        let gates = gates();
        for gate in &gates {
            let text = |word: &crate::table::SharedText| word.to_string();
            let value = JudgedValue {
                key: ResultKey {
                    arm: text(&gate.arm),
                    slice: String::new(),
                    class: text(&gate.class),
                    model: text(&gate.model),
                    set: text(&gate.counterfactual),
                    attribute: text(&gate.sensitive),
                    scope: text(&gate.scope),
                    from: text(&gate.from_group),
                    to: text(&gate.to_group),
                },
                metric: text(&gate.metric),
            };
            let judged = |value: &JudgedValue| -> Vec<&GateRow> {
                gates
                    .iter()
                    .filter(|row| JudgedValue::of_gate(row).as_ref() == Some(value))
                    .collect()
            };
            let own = judged(&value);
            assert_eq!(own.len(), 1, "{value:?}");
            assert!(own[0].rule == *"at_most, interval");
            let sliced = ResultKey { slice: "region=north".to_owned(), ..value.key.clone() };
            assert!(judged(&JudgedValue::of(sliced, &value.metric)).is_empty());
            let plain = value.key.of_class("").in_arm("");
            let is_plain = value.key.arm.is_empty() && value.key.class.is_empty();
            assert_eq!(plain == value.key, is_plain);
            assert_eq!(plain.in_arm(&value.key.arm) == value.key, value.key.class.is_empty());
        }
    }
}
