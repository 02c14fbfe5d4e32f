//! Which value a limit judges: the one place that joins gates and values. A limit is shown next to
//! a value only where model, set, attribute, scope, groups, slice, class and arm all agree.

use crate::report::read::panel::{KeyedRow, ResultKey};
use crate::table::GateRow;

/// One value, as gates and the tables of values both name it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JudgedValue {
    /// Model, set, attribute, scope and groups.
    pub(crate) key: ResultKey,
    /// The metric.
    pub(crate) metric: String,
    /// Experiment and arm; empty for the plain audit.
    pub(crate) arm: String,
    /// The class against all others; empty = all, and a label of two sides.
    pub(crate) class: String,
    /// The slice; empty = all rows.
    pub(crate) slice: String,
}

impl JudgedValue {
    /// A value of the plain audit, of all rows and all classes together.
    pub(crate) fn plain(key: &ResultKey, metric: &str) -> Self {
        JudgedValue { key: key.clone(), metric: metric.to_owned(), ..JudgedValue::default() }
    }

    /// The same of an arm.
    pub(crate) fn of_arm(self, arm: &str) -> Self {
        JudgedValue { arm: arm.to_owned(), ..self }
    }

    /// What a row of gates judges; none of the change of a value.
    pub(crate) fn of_gate(row: &GateRow) -> Option<Self> {
        let is_on_the_value = ["at_most", "at_least"].contains(&row.rule_words().0);
        is_on_the_value.then(|| JudgedValue::of_row(row, &row.metric, &row.class))
    }

    /// The value that a row is about, or whose change it is about.
    pub(crate) fn of_row(row: &impl KeyedRow, metric: &str, class: &str) -> Self {
        let audit = row.audit();
        JudgedValue {
            key: audit.as_ref().into(),
            metric: metric.to_owned(),
            arm: audit.arm.to_string(),
            class: class.to_owned(),
            slice: audit.slice.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::JudgedValue;
    use crate::report::read::panel::ResultKey;
    use crate::table::GateRow;

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
                    model: text(&gate.model),
                    set: text(&gate.counterfactual),
                    attribute: text(&gate.sensitive),
                    scope: text(&gate.scope),
                    from: text(&gate.from_group),
                    to: text(&gate.to_group),
                },
                metric: text(&gate.metric),
                arm: text(&gate.arm),
                class: text(&gate.class),
                slice: String::new(),
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
            let sliced = JudgedValue { slice: "region=north".to_owned(), ..value.clone() };
            assert!(judged(&sliced).is_empty());
            let plain = JudgedValue::plain(&value.key, &value.metric);
            assert_eq!(plain == value, value.arm.is_empty() && value.class.is_empty());
            assert_eq!(plain.of_arm(&value.arm) == value, value.class.is_empty());
        }
    }
}
