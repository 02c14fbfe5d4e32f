//! Every macro and branch of the templates is reached by facts of folders, facts made by hand, and
//! those that follow from both: without a value, with ties, with one thing and twenty, with each
//! word that a template asks for. A field, a filter or a tag that does not exist fails here, even in
//! a branch that no hand-made folder reaches.

use std::panic::{AssertUnwindSafe, catch_unwind};

use minijinja::Environment;
use minijinja::value::Serde;
use serde_json::{Value, json};

use super::reach::{TemplateFacts, facts_of, places, reached};
use super::templates::{imports, write_made_facts};
use super::*;
use crate::report::export::FORMS;
use crate::report::page::render::{CARD, TEMPLATES, add_templates, environment};

/// How many facts that follow from others are tried for a template.
const TRIES: usize = 4000;

/// The tests whose folders have the facts that others are made of.
const OF_FOLDERS: &[fn()] = &[
    a_folder_without_numbers_still_gives_a_page,
    a_run_that_waits_says_what_is_awaited_and_shows_no_number,
    brief::a_case_says_what_changed_and_what_was_decided,
    brief::a_gap_that_turned_round_is_not_called_larger,
    brief::the_first_screen_tells_of_every_experiment,
    brief::the_path_says_what_to_do_next,
    brief::what_no_test_counts_is_given_in_numbers,
    changed_tables::clear_changes_come_first_and_what_does_not_differ_is_one_sentence,
    changed_tables::gaps_of_arms_narrow_and_widen,
    changed_tables::graphs_that_determine_variables_and_means_outside_of_their_interval,
    changed_tables::graphs_that_were_fitted_once_are_told,
    changed_tables::statements_that_a_verdict_needs_are_told,
    plausibility::a_map_says_what_it_does_not_show,
    plausibility::a_set_of_which_all_is_discarded,
    recourse::subgroups_without_actions_are_left_out_and_said,
    recourse::the_brief_says_which_subgroups_count_and_what_changes_cost,
    recourse::the_first_screen_is_about_the_worst_comparison,
];

/// All templates of the report, in the words of one job.
pub(super) struct TemplateWriter(pub(super) Environment<'static>);

impl TemplateWriter {
    pub(super) fn new(voice: &Value) -> Self {
        let mut environment = environment(Some(minijinja::Value::from(Serde(voice))));
        add_templates(&mut environment, &FORMS);
        add_templates(&mut environment, &[CARD]);
        environment.add_filter("shown", |text: &str| text.to_owned());
        environment.add_filter("aligned", |text: &str| text.to_owned());
        TemplateWriter(environment)
    }

    /// Writes a template with facts: what fails, if anything.
    pub(super) fn write(&mut self, of: &TemplateFacts, variables: &Value) -> Result<(), String> {
        let name = match of.template == of.page {
            true => of.template.clone(),
            false => [of.page, &of.template].join(": "),
        };
        if self.0.get_template(&name).is_err() {
            let is_source = of.template.contains('{');
            let include = format!("{{% include \"{}\" %}}", of.template);
            let part = if is_source { &of.template } else { &include };
            self.0.add_template_owned(name.clone(), imports(of.page) + part).unwrap();
        }
        let template = self.0.get_template(&name).unwrap();
        let write = || template.render(minijinja::Value::from(Serde(variables)));
        // Charts may refuse what no folder has.
        let written = catch_unwind(AssertUnwindSafe(write));
        match written.map_err(|_| "panic".to_owned())? {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("{}: {error:?}", of.template)),
        }
    }
}

/// The words of jobs for each sort of decision.
pub(super) fn voices() -> Vec<Value> {
    let decisions = [
        json!({"kind": "named", "favourable": "not flagged", "unfavourable": "flagged",
            "object": "the file"}),
        json!({"kind": "favourable"}),
        json!({"kind": "predicted", "class": null, "unwanted": false}),
        json!({"kind": "predicted", "class": "low", "unwanted": true}),
        json!({"kind": "amounts", "better": "lower", "worse": "higher", "percent": "5",
            "number": null}),
        json!({"kind": "amounts", "better": "lower", "worse": "higher", "percent": null,
            "number": "20"}),
        json!({"kind": "amounts", "better": "lower", "worse": "higher", "percent": null,
            "number": null}),
    ];
    let of = |(i, decision): (usize, &Value)| {
        json!({"decision": decision, "of_rows": i % 2 == 0, "makes_rows": true,
            "several": if i % 2 == 0 { vec![] } else { vec!["s"] }, "weighted": i % 2 == 0,
            "annex": i % 2 == 0})
    };
    decisions.iter().enumerate().map(of).collect()
}

/// The facts of `facts.json`, each of its page.
pub(super) fn made_facts() -> Vec<TemplateFacts> {
    let at = |name: &str| TEMPLATES.iter().position(|of| of.0 == name);
    let page = |name: &str| match at(name) < at("against.html") {
        true => "report.html",
        false => "sections.html",
    };
    let of = |(template, f): (String, Value)| TemplateFacts {
        page: page(&template),
        template,
        variables: json!({"f": f}),
    };
    made().into_iter().map(of).collect()
}

/// Values to try in place of others.
#[derive(Default)]
struct OtherValues {
    /// Of each key, of each form one.
    of_keys: BTreeMap<String, BTreeMap<String, Value>>,
    /// The words that templates compare values with.
    words: BTreeSet<String>,
    /// The keys that need not be there.
    optional: BTreeSet<String>,
    /// The names in the tags that are to be reached.
    asked: BTreeSet<String>,
}

/// What sort of value it is.
fn form(of: &Value) -> String {
    match of {
        Value::Null => "null".to_owned(),
        Value::Bool(of) => of.to_string(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "text".to_owned(),
        Value::Array(of) => format!("[{}]", of.first().map(form).unwrap_or_default()),
        Value::Object(of) => {
            let one = |(key, value): (&String, &Value)| match (key.as_str(), value) {
                ("kind" | "at" | "part", Value::String(is)) => format!("{key}={is} "),
                (_, value) => format!("{key}{} ", if value.is_null() { "?" } else { "" }),
            };
            of.iter().map(one).collect()
        }
    }
}

impl OtherValues {
    /// The words and keys of a template, where `missing` are its places to reach.
    fn read<'a>(&mut self, source: &str, missing: impl Iterator<Item = &'a String>) {
        let names = |text: &str| -> Vec<String> {
            let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            parts.filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        (self.words, self.optional, self.asked) = Default::default();
        for place in missing {
            self.asked.extend(names(place));
            self.words.extend(place.split('"').skip(1).step_by(2).map(str::to_owned));
        }
        for tag in source.split("{%").skip(1).map(|of| of.split("%}").next().unwrap_or_default()) {
            let tag = tag.trim_start_matches('-').trim();
            let set = tag.strip_prefix("set ").and_then(|of| of.split_once(" = "));
            let of = tag.strip_prefix("for ").and_then(|of| of.split_once(" in ")).or(set);
            if let Some((name, value)) = of
                && names(name).iter().any(|name| self.asked.contains(name))
            {
                self.asked.extend(names(value));
            }
        }
        for piece in source.split("{%").skip(1) {
            let tag = piece.split("%}").next().unwrap_or_default();
            self.words.extend(tag.split('"').skip(1).step_by(2).map(str::to_owned));
        }
        for mark in [" is defined", " is not defined", "|default("] {
            for piece in source.split(mark) {
                let name = |c: char| !(c.is_alphanumeric() || c == '_');
                self.optional.extend(piece.rsplit(name).next().map(str::to_owned));
            }
        }
        let defined = source
            .split("selectattr(\"")
            .skip(1)
            .filter_map(|of| of.split_once("\", \"defined\""))
            .map(|of| of.0.to_owned());
        self.optional.extend(defined.filter(|of| !of.contains('"')));
    }

    fn learn(&mut self, key: &str, of: &Value) {
        let known = self.of_keys.entry(key.to_owned()).or_default();
        if known.len() < 24 {
            known.entry(form(of)).or_insert_with(|| of.clone());
        }
        match of {
            Value::Array(of) => {
                of.iter().take(3).for_each(|of| self.learn(&format!("{key}[]"), of))
            }
            Value::Object(of) => of.iter().for_each(|(key, of)| self.learn(key, of)),
            _ => {}
        }
    }

    fn instead(&self, key: &str, of: &Value) -> Vec<Value> {
        let mut all: Vec<Value> =
            self.of_keys.get(key).into_iter().flat_map(|of| of.values().cloned()).collect();
        all.push(json!(null));
        match of {
            Value::Null => all.extend([json!(true), json!(1), json!(0.5), json!("x"), json!([])]),
            Value::Bool(of) => all.push(json!(!of)),
            Value::Number(_) => all.extend(
                [0.0, 1.0, 2.0, -1.0, 0.5, 100.0]
                    .map(|n| json!(n))
                    .into_iter()
                    .chain([0, 1, 2, 3, 20, -1].map(|n| json!(n))),
            ),
            Value::String(_) => {
                all.push(json!(""));
                all.extend(self.words.iter().map(|word| json!(word)));
            }
            Value::Array(of) => {
                all.push(json!([]));
                if let Some(first) = of.first() {
                    all.extend([1, 2, 20].map(|n| json!(vec![first; n])));
                }
            }
            Value::Object(of) => {
                for key in &self.optional {
                    let mut other = of.clone();
                    if other.remove(key).is_some() {
                        all.push(Value::Object(other));
                        continue;
                    }
                    let known = self.of_keys.get(key).into_iter().flat_map(|of| of.values());
                    for value in known.chain([&json!("x")]) {
                        other.insert(key.clone(), value.clone());
                        all.push(Value::Object(other.clone()));
                    }
                }
            }
        }
        all.retain(|other| other != of);
        all
    }

    /// Calls with facts in which one value is another, until `done`: a value whose key is asked
    /// for, or any.
    fn changed(&self, facts: &Value, any: bool, mut done: impl FnMut(&Value) -> bool) {
        let (mut seen, mut all) = (BTreeMap::new(), Vec::new());
        walk(facts, ["", "", ""], &mut seen, &mut all);
        all.retain(|(_, key)| any || self.asked.contains(key.trim_end_matches("[]")));
        let mut other = facts.clone();
        for (pointer, key) in all {
            let old = facts.pointer(&pointer).unwrap();
            for new in self.instead(&key, old) {
                *other.pointer_mut(&pointer).unwrap() = new;
                if done(&other) {
                    return;
                }
            }
            *other.pointer_mut(&pointer).unwrap() = old.clone();
        }
    }
}

/// The pointers to values with their keys, of values alike the first two.
fn walk(
    of: &Value,
    [at, alike, key]: [&str; 3],
    seen: &mut BTreeMap<String, usize>,
    all: &mut Vec<(String, String)>,
) {
    let parts: Vec<(String, String, String, &Value)> = match of {
        Value::Array(of) => {
            let part = |(i, of)| (format!("/{i}"), "/*".to_owned(), format!("{key}[]"), of);
            of.iter().enumerate().map(part).collect()
        }
        Value::Object(of) => {
            let name = |key: &String| format!("/{}", key.replace('~', "~0").replace('/', "~1"));
            of.iter().map(|(key, of)| (name(key), name(key), key.clone(), of)).collect()
        }
        _ => return,
    };
    for (step, same, key, of) in parts {
        let (at, alike) = (format!("{at}{step}"), format!("{alike}{same}"));
        let n = seen.entry(alike.clone()).or_default();
        *n += 1;
        if *n <= 2 {
            all.push((at.clone(), key.clone()));
            walk(of, [&at, &alike, &key], seen, all);
        }
    }
}

/// The facts that are made by hand, with the template that each is for: `"@x"` stands for what is
/// called `x`, and so does `"@": "x"` in an object that has other fields.
fn made() -> Vec<(String, Value)> {
    let file: Value = serde_json::from_str(include_str!("facts.json")).unwrap();
    let all = file["facts"].as_array().unwrap().iter();
    all.map(|of| (of[0].as_str().unwrap().to_owned(), whole(&of[1], &file["names"]))).collect()
}

fn whole(of: &Value, names: &Value) -> Value {
    match of {
        Value::String(text) => match text.strip_prefix('@') {
            Some(name) => whole(&names[name], names),
            None => of.clone(),
        },
        Value::Array(of) => of.iter().map(|of| whole(of, names)).collect(),
        Value::Object(fields) => {
            let base = fields.get("@").map(|name| whole(&names[name.as_str().unwrap()], names));
            let mut all = base.and_then(|of| of.as_object().cloned()).unwrap_or_default();
            let fields = fields.iter().filter(|(key, _)| *key != "@");
            all.extend(fields.map(|(key, of)| (key.clone(), whole(of, names))));
            Value::Object(all)
        }
        of => of.clone(),
    }
}

/// Looks for facts that reach what is `missing`, among those of a template and those that follow
/// from them, as long as some is `wanted`.
fn search(
    writer: &mut TemplateWriter,
    facts: &[&TemplateFacts],
    others: &OtherValues,
    missing: &mut BTreeMap<usize, String>,
    wanted: impl Fn(usize) -> bool,
) {
    let (mut reached_here, mut found, mut tries) = (BTreeSet::new(), Vec::new(), 0);
    let mut is_new =
        |of: &TemplateFacts, variables: &Value, missing: &mut BTreeMap<usize, String>| {
            let written = writer.write(of, variables);
            let reached = reached();
            if written.is_err() || reached.is_subset(&reached_here) {
                return false;
            }
            missing.retain(|place, _| !reached.contains(place));
            reached_here.extend(reached);
            true
        };
    for of in facts {
        if is_new(of, &of.variables, missing) {
            found.push((*of).clone());
        }
    }
    for any in [false, true] {
        let mut at = 0;
        while let Some(of) = found.get(at).cloned() {
            at += 1;
            others.changed(&of.variables, any, |variables| {
                if is_new(&of, variables, missing) {
                    found.push(TemplateFacts { variables: variables.clone(), ..of.clone() });
                }
                tries += 1;
                tries > TRIES || !missing.keys().any(|place| wanted(*place))
            });
        }
    }
}

/// From each fact that a folder or a person made others follow, until they reach every macro and
/// branch; a field, a filter or a tag that does not exist is in no template that they write.
#[test]
fn every_macro_and_branch_of_every_template_is_reached() {
    let mut facts = facts_of(|| {
        write_made_facts();
        OF_FOLDERS.iter().for_each(|write| write());
    });
    facts.extend(made_facts());
    facts.sort_by_cached_key(|of| of.variables.to_string().len());
    let mut others = OtherValues::default();
    facts.iter().for_each(|of| others.learn("", &of.variables));
    let mut writer = TemplateWriter::new(&voices()[0]);
    let all: Vec<(&str, &str)> = TEMPLATES.iter().copied().chain([CARD]).collect();
    let mut missing: BTreeMap<usize, String> =
        all.iter().flat_map(|(name, _)| places(name)).collect();
    assert!(missing.len() > 1500);
    let reached = reached();
    missing.retain(|place, _| !reached.contains(place));
    for (name, source) in all {
        let own = places(name);
        let wanted = |place: usize| own.contains_key(&place);
        let named = format!("{name:?}");
        let is_of = |of: &&TemplateFacts| of.template == name || of.template.contains(&named);
        let facts: Vec<&TemplateFacts> = facts.iter().filter(is_of).collect();
        if missing.keys().any(|place| wanted(*place)) {
            let asked = missing.iter().filter(|of| wanted(*of.0)).map(|of| of.1);
            others.read(source, asked);
            search(&mut writer, &facts, &others, &mut missing, wanted);
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
