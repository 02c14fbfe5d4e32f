//! What the tests of several modules share: where expected values are found.

use std::path::Path;

use serde_json::Value as Json;

#[path = "../tests/support/cells.rs"]
mod cells;

#[path = "../tests/support/found.rs"]
mod found;

#[path = "../tests/support/json_frame.rs"]
pub(crate) mod json_frame;

#[path = "../tests/support/says.rs"]
mod says;

mod text_row;

use cells::cells;
pub(crate) use found::{expected, shared, skip};
pub(crate) use says::Says;
pub(crate) use text_row::TextRow;

pub(crate) fn json(path: impl AsRef<Path>) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// A number of a [`json_frame`]; NaN where there is none. True is 1.
pub(crate) fn number(json: &Json) -> f64 {
    match json {
        Json::Bool(is) => f64::from(u8::from(*is)),
        Json::String(text) => text.parse().expect("a number"),
        other => other.as_f64().unwrap_or(f64::NAN),
    }
}

/// The same of each.
pub(crate) fn numbers<'a>(list: impl IntoIterator<Item = &'a Json>) -> Vec<f64> {
    list.into_iter().map(number).collect()
}

/// A list of numbers.
pub(crate) fn floats(list: &Json) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}
