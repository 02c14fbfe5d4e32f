//! What the tests of several modules share: where expected values are found.

use std::path::Path;

use serde_json::Value as Json;

#[path = "../tests/support/found.rs"]
mod found;

#[path = "../tests/support/json_frame.rs"]
pub(crate) mod json_frame;

#[path = "../tests/support/says.rs"]
mod says;

mod text_row;

pub(crate) use found::{expected, shared, skip};
pub(crate) use says::Says;
pub(crate) use text_row::TextRow;

pub(crate) fn json(path: impl AsRef<Path>) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
