//! The sentences of a comparison, by the macros of `words.txt`: how the interval of a change was made
//! or why there is none, whether people were paired, and what a change of the job breaks.

use std::sync::LazyLock;

use minijinja::Environment;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::table::REFITTED;
use crate::text;

/// The template.
static WORDS: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut words = text::environment();
    words.add_template(REFITTED.0, REFITTED.1).expect(text::TESTED);
    words.add_template("words.txt", include_str!("words.txt")).expect(text::TESTED);
    words
});

/// What a macro says about something.
pub(super) fn said(name: &str, of: &impl Serialize) -> String {
    text::said(&WORDS, "words.txt", name, &[Value::from(Serde(of))])
}
