//! Codes and arguments of gates in English, by the macros of `words.txt`: the column `reason`, and
//! the sentence that pages have instead of it.

use std::sync::LazyLock;

use minijinja::Environment;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use super::{GateCount, GateFindings};
use crate::metric::noise::repeats::MIN_REPEATS_FOR_TAILS;
use crate::metric::rate::{Undefined, clause_of_code};
use crate::metric::value::worlds::ENOUGH_BOOTSTRAPS;
use crate::table::REFITTED;
use crate::table::deciding_range::DecidingRange;
use crate::table::digits::{decimals_apart, end_pairs, fixed_digits, interval_digits};
use crate::text;

/// The template with its numbers.
static WORDS: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut words = text::environment();
    words.add_global("enough_repeats", MIN_REPEATS_FOR_TAILS);
    words.add_global("enough_bootstraps", ENOUGH_BOOTSTRAPS);
    words.add_filter("meaning", |code: &str| {
        Undefined::of_code(code).map_or("", Undefined::meaning)
    });
    // What only pages say about a code has no sentence.
    words.add_filter("clause", |code: &str| match Undefined::of_code(code) {
        Some(_) => "",
        None => clause_of_code(code),
    });
    words.add_filter("plain", |x: f64| x.to_string());
    words.add_filter("digits", |x: f64| format!("{x:.4}"));
    words.add_filter("thousandths", |x: f64| format!("{x:.3}"));
    // What rounds to 0 has no sign.
    words.add_filter("rounded", |x: f64| format!("{:.4}", (x * 1e4).round() / 1e4 + 0.0));
    words.add_filter("percent", |share: f64| format!("{:.1} %", 100.0 * share));
    words.add_filter("level", |level: f64, steps: f64| {
        ((level * (100.0 * steps)).round() / steps).to_string()
    });
    words.add_filter(
        "with_ends",
        |value: f64, ends: Option<Serde<(f64, f64)>>, limit: f64, decides: &str| {
            let ends = ends.map(|ends| ends.0);
            let judged = Some((value, limit));
            let decimals = decimals_apart(&end_pairs(ends).chain(judged).collect::<Vec<_>>());
            let over = DecidingRange::before_ends(decides);
            let ends = ends.map_or_else(String::new, |(lo, hi)| {
                format!(" ({over}{})", interval_digits(lo, hi, decimals))
            });
            format!("{}{ends}", fixed_digits(value, decimals))
        },
    );
    words.add_template(REFITTED.0, REFITTED.1).expect(text::TESTED);
    words.add_template("words.txt", include_str!("words.txt")).expect(text::TESTED);
    words
});

/// What a macro says about something, for a page or not.
pub(super) fn said(name: &str, of: &impl Serialize, page: Option<bool>) -> String {
    let page = page.map(Value::from);
    let arguments: Vec<Value> = [Value::from(Serde(of))].into_iter().chain(page).collect();
    text::said(&WORDS, "words.txt", name, &arguments)
}

impl GateCount {
    /// Which subgroups count: `with at least 20 affected people in the smaller group`; none of
    /// patterns.
    pub(crate) fn size(&self) -> Option<String> {
        matches!(self, GateCount::Subgroups { .. }).then(|| said("size", self, None))
    }

    /// What the number counts.
    pub(crate) fn words(&self) -> String {
        said("count", self, None)
    }
}

impl GateFindings {
    /// The column `reason`.
    pub(crate) fn words(&self) -> String {
        said("findings", self, Some(false))
    }

    /// The words of the column `reason` without what is counted.
    pub(crate) fn words_of_verdict(&self) -> String {
        said("verdict", self, Some(false))
    }

    /// As [`Self::words_of_verdict`], for a page, without the words of tables.
    pub(crate) fn plain_words(&self) -> String {
        said("findings", self, Some(true)).trim_end_matches('.').to_owned()
    }
}
