//! Which macros and branches of templates the pages of a test reach. In tests each of them calls
//! `hit` before anything else, and each template that is a part of a page hands over its facts;
//! what is written stays the same.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Mutex;

use minijinja::{Environment, State};
use serde_json::{Map, Value, json};

use crate::report::page::render::TEMPLATES;

/// The facts that a template had.
#[derive(Debug, Clone)]
pub(super) struct TemplateFacts {
    pub(super) template: String,
    /// The page that it was a part of.
    pub(super) page: &'static str,
    pub(super) variables: Value,
}

/// Templates that note what is reached, and the places of each.
struct NotingTemplates {
    texts: BTreeMap<&'static str, (&'static str, Range<usize>)>,
    places: Vec<String>,
}

static ALL: Mutex<NotingTemplates> =
    Mutex::new(NotingTemplates { texts: BTreeMap::new(), places: Vec::new() });

thread_local! {
    static REACHED: RefCell<BTreeSet<usize>> = const { RefCell::new(BTreeSet::new()) };
    static FACTS: RefCell<Option<Vec<TemplateFacts>>> = const { RefCell::new(None) };
}

/// Adds what noting templates call.
pub(crate) fn add_notes(environment: &mut Environment<'static>) {
    environment.add_function("hit", hit);
    environment.add_function("facts", facts);
}

/// Notes that a place was reached.
fn hit(place: usize) {
    REACHED.with_borrow_mut(|reached| reached.insert(place));
}

/// What has been reached since this was last asked.
pub(super) fn reached() -> BTreeSet<usize> {
    REACHED.take()
}

/// Keeps the facts of a part of a page.
fn facts(state: &State<'_, '_>, template: &str) {
    const OF_PAGES: &[&str] = &[
        "title",
        "m",
        "has_cases",
        "briefs",
        "defs",
        "css",
        "sections",
        "job",
        "run",
        "program",
        "is_annex",
        "stand_in",
        "has_maps",
    ];
    FACTS.with_borrow_mut(|kept| {
        let Some(kept) = kept else { return };
        let has = |name: &str| state.lookup(name).is_some_and(|of| !of.is_undefined());
        let names = if has("f") { &["f"] } else { OF_PAGES };
        let of = |name: &&str| Some((name.to_string(), json!(state.lookup(name)?)));
        let mut variables: Map<String, Value> = names.iter().filter_map(of).collect();
        for name in ["css", "defs"] {
            variables.entry(name).and_modify(|of| *of = json!(""));
        }
        let page = if has("briefs") { "report.html" } else { "sections.html" };
        let variables = Value::Object(variables);
        kept.push(TemplateFacts { template: template.to_owned(), page, variables });
    });
}

/// The facts of the parts of the pages that `write` makes.
pub(super) fn facts_of(write: impl FnOnce()) -> Vec<TemplateFacts> {
    FACTS.set(Some(Vec::new()));
    write();
    FACTS.take().unwrap_or_default()
}

/// The names of the places of a template.
pub(super) fn places(name: &str) -> BTreeMap<usize, String> {
    let all = ALL.lock().unwrap();
    all.texts[name].1.clone().map(|place| (place, all.places[place].clone())).collect()
}

/// A template, in which each macro and branch notes that it was reached.
pub(crate) fn noting(name: &'static str, source: &str) -> &'static str {
    let mut all = ALL.lock().unwrap();
    if let Some(of) = all.texts.get(name) {
        return of.0;
    }
    let first = all.places.len();
    let marks = ["from", "import"].map(|word| format!("{{% {word} {name:?}"));
    let is_part = !TEMPLATES.iter().any(|(_, of)| marks.iter().any(|mark| of.contains(mark)));
    let mut text = if is_part { format!("{{% do facts({name:?}) %}}") } else { String::new() };
    let (mut line, mut open) = (1, Vec::new());
    for piece in source.split_inclusive("%}") {
        text.push_str(piece);
        line += piece.matches('\n').count();
        let Some((_, whole)) = piece.rsplit_once("{%") else { continue };
        let end = if whole.ends_with("-%}") { "-%}" } else { "%}" };
        let tag = whole.trim_end_matches(end).trim_start_matches('-').trim();
        let what = match tag.split(' ').next().unwrap_or_default() {
            "if" | "for" => {
                open.push(tag);
                tag.to_owned()
            }
            "elif" => {
                open.pop();
                open.push(tag);
                tag.to_owned()
            }
            "else" => format!("else of {}", open.last().unwrap()),
            "macro" => tag.to_owned(),
            "endif" | "endfor" => {
                open.pop();
                continue;
            }
            _ => continue,
        };
        text.push_str(&format!("{{% do hit({}) {end}", all.places.len()));
        all.places.push(format!("{name}: {line}, {what}"));
    }
    let (places, text) = (first..all.places.len(), &*text.leak());
    all.texts.insert(name, (text, places));
    text
}
