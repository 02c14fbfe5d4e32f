//! The templates of all pages and what they may call: numbers, names, drawings. Nothing here
//! speaks; the vocabulary of the job is in `voice.html`.

use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, context, escape_formatter};
use serde::Deserialize;

use crate::counterfactual::strategy::{self, StrategyRecord};
use crate::report::draw::chart;
use crate::report::draw::pair_map::pair_map;
use crate::report::draw::panel::{
    LadderBlock, SwitchCounts, TradeOffArm, change_bars, ladder, mosaic, score_bars, share_bars,
    trade_off,
};
use crate::report::draw::plot::{
    AxisUnit, ForbiddenSide, PlotPoint, PlotScale, RowMark, SwitchSide, axis, plot_cell,
};
use crate::report::draw::thresholds::{ReliabilityDot, reliability, threshold_curve};
use crate::report::draw::trend::{TrendLimit, TrendRun, trend};
use crate::report::page::number::{self, NumberFormat, ends_text, value_text};
use crate::report::page::words::{breakable, capital, entry_anchor, short};
use crate::report::read::tally::HistogramBin;
use crate::report::visible::visible;
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
    "page": report sections blocks charts words voice,
    "brief": closing forest hero knowledge limit limits selective shares waits,
    "evidence": arms as_they_are cases class_moves changes ladder mosaics path pattern ranking
        reach retraining scores trend why worlds,
    "section": against all_results amounts classes compared experiments folders gates glossary
        groups hidden_cause left_out method models provenance shift slices switches waiting,
    "section/graphs": graphs,
    "section/plausibility": plausibility,
    "section/recourse": definition outcome recourse,
];

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

/// Adds the filter of shares of people in per cent with one decimal, as the table of issues has them.
pub(crate) fn add_shares(environment: &mut Environment<'static>) {
    environment.add_filter("part", |of: Serde<CountedShare>| {
        format!("{:.1} %", 100.0 * of.0.n as f64 / of.0.of.max(1) as f64)
    });
}

/// So many of a whole.
#[derive(Deserialize)]
struct CountedShare {
    n: u64,
    of: u64,
}

/// Numbers, names and lists, with the syntax of all templates.
fn bare() -> Environment<'static> {
    let mut environment = text::environment();
    // Numbers: as exact as their interval allows.
    environment.add_filter("value", |v: f64, kind: Serde<NumberFormat>, ends: Option<Ends>| {
        value_text(kind.0, v, ends.map(|ends| ends.0))
    });
    // Of the annex: three digits.
    environment.add_filter("exact", |v: f64, kind: Serde<NumberFormat>| kind.0.value(v));
    environment.add_filter(
        "exact_ends",
        |ends: Ends, kind: Serde<NumberFormat>, v: Option<f64>| {
            let (lo, hi) = ends.0;
            kind.0.interval(v.unwrap_or(lo), lo, hi)
        },
    );
    environment.add_filter("grouped", |text: &str| number::grouped_in(text));
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
    environment.add_filter("level", number::level);
    environment
        .add_filter("wide_level", |level: f64| number::level(level).replace('\u{202f}', "\u{a0}"));
    add_shares(&mut environment);
    // Names and lists.
    environment.add_filter("short", |name: &str| short(name).into_owned());
    environment.add_filter("listed", |names: Vec<String>| listed(&names));
    environment.add_filter("breakable", breakable);
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

/// The vocabulary of a job alone as plain words, for what is not a template yet.
pub(crate) fn vocabulary(voice: Value) -> Environment<'static> {
    let mut environment = bare();
    environment.add_global("voice", voice);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.add_template("voice.html", include_str!("voice.html")).expect(TESTED);
    environment
}

/// A limit that is drawn across, of the facts of a limit.
#[derive(Deserialize)]
struct LimitAcross {
    limit: f64,
    drawn: f64,
    forbidden: ForbiddenSide,
    amount: String,
}

fn label_of(limit: &Option<LimitAcross>) -> String {
    limit.as_ref().map_or_else(String::new, |limit| format!("limit {}", limit.amount))
}

/// Drawings, whose titles templates say.
fn add_drawings(environment: &mut Environment<'static>) {
    type On = Serde<PlotScale>;
    let drawn = Value::from_safe_string;
    environment.add_function(
        "plot_cell",
        move |on: On, marks: Serde<Vec<RowMark>>, title: Value| {
            drawn(plot_cell(on.0, &marks.0, &plain(&title)))
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
    environment.add_function(
        "trend",
        move |runs: Serde<Vec<TrendRun>>,
              limit: Serde<TrendLimit>,
              last: Serde<(Option<String>, String)>,
              title: Value,
              desc: Value| {
            drawn(trend(
                (&plain(&title), &plain(&desc)),
                &runs.0,
                &limit.0,
                (last.0.0.as_deref().unwrap_or_default(), &last.0.1),
            ))
        },
    );
    type Words = Vec<Value>;
    type Points = Serde<Vec<(f64, Option<PlotPoint>)>>;
    type Across = Serde<Option<LimitAcross>>;
    environment.add_function(
        "change_bars",
        move |bins: Serde<Vec<HistogramBin>>, on: On, top: f64, mean: Option<f64>, title: Value| {
            drawn(change_bars(&plain(&title), &bins.0, on.0, top, mean))
        },
    );
    environment.add_function(
        "score_bars",
        move |both: Serde<[Vec<HistogramBin>; 2]>,
              on: On,
              top: f64,
              cut_offs: Serde<Vec<(f64, String)>>,
              title: Value| {
            let [before, after] = &both.0;
            drawn(score_bars(&plain(&title), (before, after), on.0, top, &cut_offs.0))
        },
    );
    environment.add_function(
        "reliability",
        move |dots: Serde<Vec<ReliabilityDot>>, most: f64, title: Value, desc: Value| {
            drawn(reliability((&plain(&title), &plain(&desc)), &dots.0, most))
        },
    );
    environment.add_function(
        "threshold_curve",
        move |points: Points,
              side: Serde<SwitchSide>,
              job: Serde<Option<(f64, String)>>,
              limit: Across,
              words: Words| {
            let [title, desc] = [0, 1].map(|i| words.get(i).map(plain).unwrap_or_default());
            let label = label_of(&limit.0);
            drawn(threshold_curve(
                (&title, &desc),
                &points.0,
                side.0,
                job.0.as_ref().map(|(at, label)| (*at, label.as_str())),
                limit.0.as_ref().map(|of| (of.drawn, of.forbidden, label.as_str())),
            ))
        },
    );
    environment.add_function(
        "ladder",
        move |blocks: Serde<Vec<LadderBlock>>,
              side: Serde<SwitchSide>,
              limit: Across,
              title: Value| {
            let label = label_of(&limit.0);
            let limit = limit.0.map(|of| (of.limit, label.as_str()));
            drawn(ladder(&plain(&title), &blocks.0, side.0, limit, AxisUnit::Percent))
        },
    );
    environment.add_function(
        "trade_off",
        move |arms: Serde<Vec<TradeOffArm>>, limit: Across, title: Value| {
            let label = label_of(&limit.0);
            let limit = limit.0.map(|of| (of.limit, label.as_str()));
            drawn(trade_off(&plain(&title), &arms.0, limit))
        },
    );
    environment.add_function("mosaic", move |counts: Serde<SwitchCounts>, title: Value| {
        drawn(mosaic(&plain(&title), counts.0))
    });
    environment.add_function(
        "pair_map",
        move |pairs: Serde<Vec<[f64; 4]>>,
              ends: Serde<[[f64; 2]; 2]>,
              id: String,
              title: Value,
              desc: Value| {
            drawn(pair_map(&pairs.0, ends.0, &id, (&plain(&title), &plain(&desc))))
        },
    );
    environment.add_function("verdict_mark", move |verdict: &str| {
        let known = ["fail", "pass", "inconclusive", "skipped"];
        let verdict = known.into_iter().find(|of| *of == verdict).unwrap_or_default();
        drawn(chart::verdict(verdict, &format!("mark {verdict}")))
    });
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
    environment.add_global("in_table", false);
    if let Some(voice) = voice {
        environment.add_global("voice", voice);
    }
    for &(name, source) in TEMPLATES.iter().chain([&REFITTED]) {
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
