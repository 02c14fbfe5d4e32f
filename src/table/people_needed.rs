//! How many people a gate would need to be decided: which of its rows says so.

use super::GateRow;

/// The row of a gate whose people would decide it: among the inconclusive rows beyond the limit the
/// one that needs the fewest, because one broken row breaks the gate; without such rows all must be
/// decided, so the one that needs the most. None where a row fails, none is inconclusive, or the
/// number is not known.
pub(crate) fn deciding_need<'a>(rows: impl Iterator<Item = &'a GateRow>) -> Option<&'a GateRow> {
    let rows: Vec<&GateRow> = rows.collect();
    let is_beyond = |row: &GateRow| row.excess() > 0.0;
    if rows.iter().any(|row| row.verdict == "fail") {
        return None;
    }
    let open = || rows.iter().copied().filter(|row| row.verdict == "inconclusive");
    if open().any(is_beyond) {
        return open()
            .filter(|row| is_beyond(row) && row.n_needed_80.is_some())
            .min_by_key(|row| row.n_needed_80);
    }
    let known = open().all(|row| row.n_needed_80.is_some());
    open().filter(|_| known).max_by_key(|row| row.n_needed_80)
}

#[cfg(test)]
mod tests {
    use super::{GateRow, deciding_need};
    use crate::tests::TextRow;
    use crate::tests::{expected, json};

    #[test]
    fn one_row_tells_the_people_of_a_gate() {
        let oracle = json(expected("power/power.json"));
        for case in oracle["of_rows"].as_array().unwrap() {
            let row = |row: &serde_json::Value| GateRow {
                verdict: row["verdict"].as_str().unwrap().into(),
                value: Some(if row["forbidden_side"] == true { 0.6 } else { 0.4 }),
                n_needed_80: row["n_needed"].as_i64(),
                ..GateRow::of("rule=at_most, interval, limit=0.5")
            };
            let rows: Vec<GateRow> = case["rows"].as_array().unwrap().iter().map(row).collect();
            let found = deciding_need(rows.iter()).and_then(|row| row.n_needed_80);
            assert_eq!(found, case["n_needed"].as_i64(), "{case}");
        }
    }

    #[test]
    fn sides_of_the_limit() {
        let row = |rule: &str, value: f64, limit: f64| {
            GateRow::of(&format!("rule={rule}, value={value}, limit={limit}"))
        };
        for (rule, value, limit, beyond) in [
            ("at_least, interval", 0.7, 0.8, true),
            ("at_least, interval", 0.9, 0.8, false),
            ("at_most, interval, holm", 0.9, 0.8, true),
            ("rise_at_most, interval", 0.02, 0.01, true),
            ("fall_at_most, interval", -0.02, 0.01, true),
            ("fall_at_most, interval", 0.02, 0.01, false),
        ] {
            assert_eq!(row(rule, value, limit).excess() > 0.0, beyond, "{rule} {value}");
        }
    }
}
