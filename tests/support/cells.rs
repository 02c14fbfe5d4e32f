//! Cells of rows as tests write them, for the unit tests (`src/tests/text_row.rs`) and the
//! integration tests (`tests/it/frame.rs`).

/// The names and values of `column=value, column=value`; what stands between two of those without an
/// `=` belongs to the value before.
#[track_caller]
pub(crate) fn cells(text: &str) -> Vec<(&str, String)> {
    let mut cells: Vec<(&str, String)> = Vec::new();
    for part in text.split(", ").filter(|part| !part.trim().is_empty()) {
        match (part.split_once('='), cells.last_mut()) {
            (Some((name, value)), _) => cells.push((name.trim(), value.to_owned())),
            (None, Some((_, value))) => *value += &format!(", {part}"),
            (None, None) => panic!("no column: {part}"),
        }
    }
    cells
}
