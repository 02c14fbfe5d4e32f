//! The templates of all pages and what they may call: numbers, names, drawings. Nothing here
//! speaks; the vocabulary of the job is in `voice.html`.

use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, escape_formatter};

use crate::report::draw::chart;
use crate::report::draw::panel::{SwitchCounts, share_bars};
use crate::report::draw::plot::{
    AxisUnit, ForbiddenSide, KeyShape, PlotPoint, PlotScale, SwitchSide, axis, bullet, forest_row,
    group_row, key, share_row,
};
use crate::report::page::digits::{ends_text, value_text};
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::words::{breakable, capital, short};
use crate::report::visible::visible;
use crate::text::{self, TESTED};

macro_rules! templates {
    ($($name:literal $folder:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../", $folder, "/", $name)))),+]
    };
}

/// Every template, by name.
pub(crate) const TEMPLATES: [(&str, &str); 36] = templates![
    "report.html" "page",
    "sections.html" "page",
    "blocks.html" "page",
    "words.html" "page",
    "voice.html" "page",
    "closing.html" "brief",
    "forest.html" "brief",
    "hero.html" "brief",
    "knowledge.html" "brief",
    "limit.html" "brief",
    "limits.html" "brief",
    "shares.html" "brief",
    "waits.html" "brief",
    "as_they_are.html" "evidence",
    "cases.html" "evidence",
    "path.html" "evidence",
    "reach.html" "evidence",
    "against.html" "section",
    "all_results.html" "section",
    "amounts.html" "section",
    "classes.html" "section",
    "experiments.html" "section",
    "gates.html" "section",
    "graphs.html" "section/graphs",
    "groups.html" "section",
    "hidden_cause.html" "section",
    "left_out.html" "section",
    "method.html" "section",
    "models.html" "section",
    "plausibility.html" "section/plausibility",
    "provenance.html" "section",
    "recourse.html" "section/recourse",
    "shift.html" "section",
    "slices.html" "section",
    "switches.html" "section",
    "waiting.html" "section",
];

/// Those that hold words alone, which [`text::said`] takes one by one.
const WORDS: [&str; 2] = ["voice.html", "limit.html"];

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

/// Numbers, names and lists, with the syntax of all templates.
fn bare() -> Environment<'static> {
    let mut environment = text::environment();
    // Numbers: as exact as their interval allows.
    environment.add_filter("value", |v: f64, kind: Serde<NumberFormat>, ends: Option<Ends>| {
        value_text(kind.0, v, ends.map(|ends| ends.0))
    });
    environment
        .add_filter("ends", |ends: Ends, kind: Serde<NumberFormat>| ends_text(kind.0, ends.0));
    environment.add_filter("count", number::count);
    environment
        .add_filter("count_of", |n: i64, one: &str, many: &str| number::count_of(n, one, many));
    environment.add_filter("rounded", |x: f64| x.round() as i64);
    environment.add_filter("level", number::level);
    environment
        .add_filter("wide_level", |level: f64| number::level(level).replace('\u{202f}', "\u{a0}"));
    // Names and lists.
    environment.add_filter("short", |name: &str| short(name).into_owned());
    environment.add_filter("listed", |names: Vec<String>| listed(&names));
    environment.add_filter("breakable", breakable);
    environment.add_filter("capital", |value: Value| {
        let text = capital(&value.to_string());
        // What is escaped stays so.
        if value.is_safe() { Value::from_safe_string(text) } else { Value::from(text) }
    });
    environment
}

/// The vocabulary of a job alone as plain words, for what is not a template yet.
pub(crate) fn vocabulary(voice: Value) -> Environment<'static> {
    let mut environment = bare();
    environment.add_global("voice", voice);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    for (name, source) in TEMPLATES.iter().filter(|(name, _)| WORDS.contains(name)) {
        environment.add_template(name, source).expect(TESTED);
    }
    environment
}

/// Drawings, whose titles templates say.
fn add_drawings(environment: &mut Environment<'static>) {
    type On = Serde<PlotScale>;
    type Point = Serde<PlotPoint>;
    type Limit = Serde<(f64, ForbiddenSide)>;
    /// The band of noise, and a limit.
    type Around = Serde<(Option<(f64, f64)>, Option<f64>)>;
    let drawn = Value::from_safe_string;
    environment.add_function("bullet", move |on: On, point: Point, limit: Limit, title: Value| {
        drawn(bullet(on.0, point.0, limit.0, &plain(&title)))
    });
    environment.add_function(
        "forest_row",
        move |on: On, point: Point, side: Serde<SwitchSide>, around: Around, title: Value| {
            let (band, limit) = around.0;
            drawn(forest_row(on.0, point.0, side.0, band, limit, &plain(&title)))
        },
    );
    environment.add_function(
        "group_row",
        move |on: On, point: Point, ring: Option<f64>, title: Value| {
            drawn(group_row(on.0, point.0, ring, &plain(&title)))
        },
    );
    environment.add_function(
        "share_row",
        move |on: On, before: f64, after: Option<f64>, line: Option<f64>, title: Value| {
            drawn(share_row(on.0, before, after, line, &plain(&title)))
        },
    );
    environment.add_function(
        "share_bars",
        move |name: Value, counts: Serde<SwitchCounts>, top: f64| {
            drawn(share_bars(&plain(&name), counts.0, top))
        },
    );
    environment.add_function(
        "axis",
        move |on: On, unit: Serde<AxisUnit>, at: Option<f64>, label: Option<Value>| {
            let label = label.map(|label| plain(&label)).unwrap_or_default();
            drawn(axis(on.0, unit.0, at.map(|at| (at, label.as_str()))))
        },
    );
    environment.add_function("verdict_mark", move |verdict: &str| {
        let known = ["fail", "pass", "inconclusive", "skipped"];
        let verdict = known.into_iter().find(|of| *of == verdict).unwrap_or_default();
        drawn(chart::verdict(verdict, &format!("mark {verdict}")))
    });
    environment.add_function("key", move |shape: Serde<KeyShape>| drawn(key(shape.0).to_owned()));
}

/// All templates; of pages that use the words of a job, these.
pub(crate) fn environment(voice: Option<Value>) -> Environment<'static> {
    let mut environment = bare();
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => escape_formatter(out, state, &Value::from(visible(text))),
        _ => escape_formatter(out, state, value),
    });
    let tables = AtomicUsize::new(0);
    environment.add_function("next_table", move || tables.fetch_add(1, Ordering::Relaxed) + 1);
    add_drawings(&mut environment);
    if let Some(voice) = voice {
        environment.add_global("voice", voice);
    }
    for (name, source) in TEMPLATES {
        environment.add_template(name, source).expect(TESTED);
    }
    environment
}

/// A page from its template.
pub(crate) fn page(name: &str, voice: Option<Value>, facts: Value) -> String {
    let environment = environment(voice);
    let page = environment.get_template(name).and_then(|template| template.render(facts));
    page.expect(TESTED)
}
