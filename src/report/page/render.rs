//! The templates of all pages and the filters and functions that they may call: numbers, names,
//! drawings. There are no words here; the vocabulary of the job is in `voice.html`.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, context, escape_formatter};
use serde::Deserialize;

use crate::control_characters::visible;
use crate::counterfactual::strategy::{self, StrategyRecord};
use crate::report::draw::plot::{AxisUnit, DrawnLimit, PlotScale, axis};
use crate::report::draw::spec::ChartSpec;
use crate::report::page::number::{self, NumberFormat, ends_text, value_text};
use crate::report::page::words::{breakable, capital, css_text, entry_anchor, short};
use crate::table::REFITTED;
use crate::text::{self, TESTED};

macro_rules! templates {
    ($($folder:literal: $($name:ident)+,)+) => {
        &[$($((
            concat!(stringify!($name), ".html"),
            include_str!(concat!("../", $folder, "/", stringify!($name), ".html")),
        )),+),+]
    };
}

/// Every template of the folders, by name.
pub(crate) const TEMPLATES: &[(&str, &str)] = templates![
    "page": report sections head blocks charts words voice,
    "brief": closing forest hero knowledge limit limits selective shares waits,
    "evidence": arms as_they_are cases class_moves changes ladder mosaics path pattern ranking
        reach retraining scores trend why worlds,
    "section": against all_results amounts classes compared experiments folders gates glossary
        groups hidden_cause left_out method models provenance shift slices switches waiting,
    "section/graphs": graphs,
    "section/plausibility": plausibility,
    "section/recourse": definition outcome recourse,
];

/// What a model card says.
pub(crate) const CARD: (&str, &str) = ("card.txt", include_str!("../card.txt"));

type Ends = Serde<(f64, f64)>;

/// Words for a title of a drawing: templates escape them, and drawings escape them again.
fn plain(value: &Value) -> String {
    let text = value.to_string();
    if !value.is_safe() {
        return text;
    }
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#x2f;", "/"),
        ("&amp;", "&"),
    ];
    entities.iter().fold(text, |text, (entity, letter)| text.replace(entity, letter))
}

/// `race, age and sex`.
fn listed(names: &[String]) -> String {
    let short = |name: &String| short(name).into_owned();
    match names {
        [others @ .., last] if !others.is_empty() => {
            let others: Vec<String> = others.iter().map(short).collect();
            format!("{} and {}", others.join(", "), short(last))
        }
        names => names.iter().map(short).collect(),
    }
}

/// Adds the filter of shares of people in per cent with one decimal, as the table of issues has
/// them.
pub(crate) fn add_shares(environment: &mut Environment<'static>) {
    environment.add_filter("part", |of: Serde<CountedShare>| {
        format!("{:.1} %", 100.0 * of.0.n as f64 / of.0.of.max(1) as f64)
    });
}

/// A number of cases out of a whole.
#[derive(Deserialize)]
struct CountedShare {
    n: u64,
    of: u64,
}

/// Adds templates; in tests they note which of their macros and branches are reached.
pub(crate) fn add_templates(
    environment: &mut Environment<'static>,
    templates: &[(&'static str, &'static str)],
) {
    #[cfg(test)]
    crate::report::tests::reach::add_notes(environment);
    for &(name, source) in templates {
        #[cfg(test)]
        let source = crate::report::tests::reach::noting(name, source);
        environment.add_template(name, source).expect(TESTED);
    }
}

/// Numbers, names and lists, with the syntax of all templates; `told` is how numbers of the annex
/// are written.
pub(crate) fn numbers_and_names(told: fn(String) -> String) -> Environment<'static> {
    let mut environment = text::environment();
    // Numbers: as exact as their interval allows.
    environment.add_filter("value", |v: f64, kind: Serde<NumberFormat>, ends: Option<Ends>| {
        value_text(kind.0, v, ends.map(|ends| ends.0))
    });
    // Of the annex: three digits, and what is said in place of no number.
    environment.add_filter(
        "exact",
        move |v: Option<f64>, kind: Serde<NumberFormat>, otherwise: Option<&str>| match v {
            Some(v) => told(kind.0.value(v)),
            None => otherwise.unwrap_or_default().to_owned(),
        },
    );
    environment.add_filter(
        "exact_ends",
        move |ends: Ends, kind: Serde<NumberFormat>, v: Option<f64>| {
            let (lo, hi) = ends.0;
            told(kind.0.interval(v.unwrap_or(lo), lo, hi))
        },
    );
    environment.add_filter("grouped", |text: &str| number::grouped_in(text));
    environment.add_filter("unmarked", |text: &str| number::grouped_unmarked(text));
    environment.add_filter("without_end", |text: &str| text.trim_end_matches('.').to_owned());
    // As the job writes it.
    environment.add_filter("as_written", |v: f64| v.to_string());
    environment
        .add_filter("ends", |ends: Ends, kind: Serde<NumberFormat>| ends_text(kind.0, ends.0));
    // Without its unit.
    environment.add_filter("bare", |value: &str| {
        value.split_once('\u{a0}').map_or(value, |(number, _)| number).to_owned()
    });
    environment.add_filter("count", |n: i128| {
        number::count(i64::try_from(n).unwrap_or(if n < 0 { i64::MIN } else { i64::MAX }))
    });
    environment
        .add_filter("count_of", |n: i64, one: &str, many: &str| number::count_of(n, one, many));
    environment.add_filter("rounded", |x: f64| x.round() as i64);
    environment.add_filter("level", move |level: f64| told(number::level(level)));
    environment
        .add_filter("wide_level", |level: f64| number::level(level).replace('\u{202f}', "\u{a0}"));
    add_shares(&mut environment);
    // Names and lists.
    environment.add_filter("short", |name: &str| short(name).into_owned());
    environment.add_filter("listed", |names: Vec<String>| listed(&names));
    environment.add_filter("breakable", breakable);
    environment.add_filter("css_text", css_text);
    // What a strategy does, and whether it sets the attribute and nothing else.
    environment.add_filter("strategy", |name: &str| {
        let of = strategy::find(name);
        let if_derived = of.and_then(|of| of.sentence_if_derived);
        let alone = of.is_some_and(StrategyRecord::sets_attribute_only);
        context!(sentence => of.map_or("", |of| of.sentence), if_derived, alone)
    });
    environment.add_filter("entry_anchor", |id: &str| entry_anchor(id));
    environment.add_filter("capital", |value: Value| {
        let text = capital(&value.to_string());
        // What is escaped stays so.
        if value.is_safe() { Value::from_safe_string(text) } else { Value::from(text) }
    });
    environment
}

/// Templates with only the vocabulary of a job, as plain words, for Rust code and model cards.
pub(crate) fn vocabulary(voice: Value) -> Environment<'static> {
    static PARSED: LazyLock<Environment<'static>> = LazyLock::new(|| {
        let mut environment = numbers_and_names(|text| text);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        add_templates(&mut environment, &[("voice.html", include_str!("voice.html")), CARD]);
        environment
    });
    let mut environment = PARSED.clone();
    environment.add_global("voice", voice);
    environment
}

/// Drawings, whose words come from templates.
fn add_drawings(environment: &mut Environment<'static>) {
    let axis = |on: Serde<PlotScale>, unit: Serde<AxisUnit>, limit: Serde<Option<DrawnLimit>>| {
        Value::from_safe_string(axis(on.0, unit.0, limit.0.as_ref()))
    };
    environment.add_function("axis", axis);
    let chart = |of: Serde<ChartSpec>, title: Value, desc: Option<Value>| {
        let desc = desc.as_ref().map(plain).unwrap_or_default();
        Value::from_safe_string(of.0.drawn((&plain(&title), &desc)))
    };
    environment.add_function("draw", chart);
}

/// All templates; of pages that use the words of a job, these.
pub(crate) fn environment(voice: Option<Value>) -> Environment<'static> {
    static PARSED: LazyLock<Environment<'static>> = LazyLock::new(|| {
        let mut environment = numbers_and_names(|text| text);
        environment.set_formatter(|out, state, value| match value.as_str() {
            Some(text) if !value.is_safe() => {
                escape_formatter(out, state, &Value::from(visible(text)))
            }
            _ => escape_formatter(out, state, value),
        });
        add_drawings(&mut environment);
        environment.add_global("in_table", false);
        add_templates(&mut environment, TEMPLATES);
        add_templates(&mut environment, &[REFITTED]);
        environment
    });
    let mut environment = PARSED.clone();
    let tables = AtomicUsize::new(0);
    environment.add_function("next_table", move || tables.fetch_add(1, Ordering::Relaxed) + 1);
    if let Some(voice) = voice {
        environment.add_global("voice", voice);
    }
    environment
}

/// A page from its template.
pub(crate) fn page(name: &str, voice: Option<Value>, facts: Value) -> String {
    let environment = environment(voice);
    let page = environment.get_template(name).and_then(|template| template.render(facts));
    page.expect(TESTED)
}
