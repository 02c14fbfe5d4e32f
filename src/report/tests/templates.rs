//! Facts made for the branches of the brief and of its limits, and what templates say of some.

use minijinja::value::Serde;
use serde_json::{Value, json};

use super::every_place::{TemplateWriter, made_facts, voices};
use super::*;
use crate::metric::evidence::flip_test::FlipSearch;
use crate::report::draw::chart::moves;
use crate::report::page::render::{TEMPLATES, environment};
use crate::report::read::tally::{HistogramBin, WeightedCount};

/// An object with other fields.
fn with(object: &Value, fields: Value) -> Value {
    let mut object = object.clone();
    let all = object.as_object_mut().unwrap();
    fields.as_object().unwrap().iter().for_each(|(key, value)| {
        all.insert(key.clone(), value.clone());
    });
    object
}

fn group(name: &str) -> Value {
    json!({"name": name, "words": if name == "F" { json!("women") } else { json!(null) }})
}

fn attribute(several: bool) -> Value {
    json!({"name": "sex", "called": if several { json!(null) } else { json!("gender") },
        "several": several})
}

/// Sets of each strategy.
fn sets() -> Vec<Value> {
    let set = |strategy: Value, change: Value, moved: Value| {
        json!({"name": "s", "strategy": strategy, "change": change, "moved": moved,
            "only_entry": strategy == "naive", "similar": strategy == "greedy", "several": strategy == "plausible", "ambiguous": strategy == "greedy", "values": null})
    };
    let features = |paired: bool| json!({"kind": "features", "paired": paired});
    let graphs = json!({"kind": "graphs", "scenario": "low", "levels": "drawn", "are_rows": true});
    let other = json!({"kind": "elsewhere"});
    let many: Vec<String> = (0..9).map(|i| format!("f{i}")).collect();
    vec![
        set(json!("naive"), json!({"kind": "entry"}), json!(null)),
        set(json!("plausible"), features(false), json!(["a"])),
        set(json!("plausible"), features(true), json!(many)),
        set(json!("greedy"), json!({"kind": "all_features"}), json!(null)),
        set(json!("transport"), json!({"kind": "paired_people"}), json!(null)),
        with(
            &set(json!("graph-uncertain"), graphs, json!(null)),
            json!({"values": {"drawn": true, "clip": "range"}}),
        ),
        set(json!("external"), other.clone(), json!(null)),
        set(json!(null), other, json!(null)),
    ]
}

fn range() -> Value {
    json!({"decides": "worlds", "over": "graphs", "short": "graphs", "other": "other graphs"})
}

fn point() -> Value {
    json!({"value": 0.4, "interval": [0.3, 0.5], "second": [0.2, 0.6]})
}

fn result(set: &Value, side: &str) -> Value {
    json!({"model": {"name": "gbm", "ambiguous": side == "either"}, "set": set,
        "attribute": attribute(false), "from": group("M"), "to": group("F"), "side": side,
        "point": point(), "second": range(), "counts": [3, 9], "whole": 9, "placebo": [0.0, 0.1],
        "worse": group("F"), "contested": false, "weighted": true, "nobody": false, "number": 4})
}

fn scale() -> Value {
    json!({"lo": 0.0, "hi": 1.0})
}

fn part(subject: Value, set: &Value) -> Value {
    json!({"subject": subject, "set": set, "attribute": attribute(false), "from": group("M"),
        "to": group("F"), "value": 0.4, "shown": "40 %", "interval": [0.3, 0.5],
        "ends": "30 to 50", "counts": [3, 9], "unfair": [3, 2], "whole": 9, "before": null,
        "point": point(), "said": true})
}

fn limit(parts: Vec<Value>) -> Value {
    json!({"name": "g", "verdict": "fail", "warns": true, "arm_name": "more", "class": "high",
        "amount": "10 %", "drawn": 0.1, "bound": "at_most", "forbidden": "above",
        "decides": "interval", "range": null, "reason": "the limit", "few_repeats": true,
        "counted_words": "subgroups", "counted_size": "of any size", "note": "note",
        "model": {"name": "gbm", "ambiguous": false}, "metric": "n", "parts": parts,
        "measured": null, "harmed": null, "compared": 1, "of_change": false, "worst_case": true, "unit": "percent", "scale": scale(),
        "ahead": null, "other_side": null, "needed": null, "no_threshold": ["0.2", "0.7"],
        "leaves_out_trainings": true})
}

/// Limits on each subject, as the value that decides and below a question on harm.
fn limits() -> Vec<Value> {
    let by_label = |right: bool| {
        json!({"kind": "by_label", "right": right,
        "gets": "favourable", "label": "unfavourable"})
    };
    let decided = |gets: &str| json!({"kind": "decided", "gets": gets});
    let set = &sets()[0];
    let kinds =
        ["direction_gap", "switches", "ratio", "subgroups", "patterns", "compared", "value"];
    let mut subjects: Vec<Value> = kinds.iter().map(|kind| json!({"kind": kind})).collect();
    subjects.extend(
        ["pair", "group", "total"]
            .map(|scope| json!({"kind": "by_label", "scope": scope, "rate": by_label(true)})),
    );
    subjects.extend([true, false].map(|of| json!({"kind": "class_switches", "enters": of})));
    subjects.extend([true, false].map(|of| json!({"kind": "disagreement", "below_attribute": of})));
    let rates = ["favourable", "unfavourable", "positive"].map(decided);
    subjects.extend(
        rates.into_iter().chain([json!(null)]).map(|of| json!({"kind": "difference", "rate": of})),
    );
    subjects.extend(
        ["gained", "lost", "either"].map(|of| json!({"kind": "side_switches", "side": of})),
    );
    let rates = [
        json!({"kind": "switches"}),
        json!({"kind": "correct"}),
        by_label(true),
        decided("favourable"),
        decided("unfavourable"),
    ];
    let harm = json!({"harmed": group("F"), "compared": 3});
    let value = || part(json!({"kind": "value"}), set);
    let of = |fields: &Value, more: Value| with(&with(&limit(vec![value()]), fields.clone()), more);
    let mut all: Vec<Value> = Vec::new();
    for subject in subjects {
        let alone = limit(vec![part(subject, set)]);
        all.extend([with(&alone, harm.clone()), alone]);
    }
    let change = json!({"of_change": true});
    all.push(of(&change, json!({})));
    all.extend(rates.map(|of_rate| of(&change, json!({"measured": [of_rate, true]}))));
    let switches = |fields: Value| with(&part(json!({"kind": "switches"}), set), fields);
    for several in [true, false] {
        let fields = json!({"to": group(""), "attribute": attribute(several)});
        all.push(limit(vec![switches(fields)]));
    }
    all.extend(
        sets().iter().map(|set| {
            with(&limit(vec![part(json!({"kind": "value"}), set), value()]), harm.clone())
        }),
    );
    let graphs = part(json!({"kind": "disagreement", "below_attribute": true}), &sets()[5]);
    all.push(limit(vec![with(&graphs, json!({"before": "3 %"}))]));
    for (from, to) in [("M", "F"), ("M", ""), ("", "")] {
        let groups = json!({"from": group(from), "to": group(to)});
        all.push(limit(vec![with(&value(), groups)]));
    }
    let needs = [
        json!({"kind": "persons", "n": 3, "audited": false}),
        json!({"kind": "persons", "n": 3, "audited": true}),
        json!({"kind": "audited", "n": 3, "audited": 9}),
        json!({"kind": "people", "n": 3, "both": true}),
        json!({"kind": "as_many_again"}),
        json!({"kind": "too_close"}),
        json!({"kind": "more", "n": 3, "side": "gained", "from": group("M")}),
        json!({"kind": "more", "n": 3, "side": null, "from": group("M")}),
    ];
    all.extend(needs.map(|need| of(&harm, json!({"verdict": "inconclusive", "needed": need}))));
    let ahead = [json!(null), json!(true), json!(false)];
    all.extend(
        ahead.map(|first| of(&harm, json!({"ahead": {"rate": by_label(true), "first": first}}))),
    );
    all.push(of(&harm, json!({"decides": "estimate", "verdict": "pass"})));
    for groups in [json!(null), json!([self::group("M"), self::group("")])] {
        let side = json!({"groups": groups, "value": "1.25", "of_change": true});
        all.push(of(&harm, json!({"verdict": "pass", "other_side": side})));
    }
    all.push(of(&harm, json!({"range": range()})));
    all.push(of(&harm, json!({"range": with(&range(), json!({"decides": "all"}))})));
    let silent = with(&value(), json!({"said": false, "point": null, "unfair": [2, 3]}));
    all.push(with(&limit(vec![silent]), harm));
    all
}

/// Facts of the verdict with this sentence.
fn verdict(sentence: Value, test: Value, chart: Value) -> Value {
    json!({"stand_in": null, "audited": 5, "tally": tally([1, 1, 0, 0, 0, 1]),
        "first": [{"what": "no_group", "text": "t", "selective": null}],
        "doubts": [{"what": "no-recheck", "text": "t", "selective": null}],
        "hero": {"sentence": sentence, "test": test,
            "recourse": {"first": null, "persons": {"rows": 2, "persons": 1}}},
        "retrained": {"experiments": [{"name": null, "idle": {"is_all": true, "nothing": ["a"]}}],
            "more": 1},
        "slices": {"slice": "region = s", "who": "t", "value": 0.4, "ends": [0.3, 0.5],
            "counts": [4, 10], "model": {"name": "gbm", "ambiguous": false}, "set": sets()[0],
            "of": 9},
        "untested": [{"set": "s", "attribute": attribute(false), "made": null},
            {"set": "s", "attribute": attribute(true), "made": 3}],
        "persons": {"n": 2, "column": "id", "recourse": true}, "unbound": ["a", "b"],
        "chart": chart})
}

/// All, broken, undecided, kept, unchecked, and broken that only warn.
fn tally([all, broken, undecided, kept, unchecked, warned]: [usize; 6]) -> Value {
    json!({"all": all, "broken": broken, "undecided": undecided, "kept": kept,
        "unchecked": unchecked, "warned": warned, "may_stop": undecided > 0, "verdict": "fail"})
}

fn switch(result: Value) -> Value {
    let is_largest = result["side"] == "lost";
    let highest = (!is_largest).then_some(0.46);
    let chosen = json!({"of": 3, "is_largest": is_largest, "highest": highest});
    json!({"ends": result["point"]["interval"], "result": result, "chosen": chosen})
}

/// Facts of the verdict: each sentence, test and chart.
fn verdicts() -> Vec<Value> {
    let sets = sets();
    let share = |name: &str| json!({"group": group(name), "point": point(), "counts": [1, 2]});
    let plain = limit(vec![part(json!({"kind": "value"}), &sets[0])]);
    let nothing = || json!({"kind": "nothing"});
    let none = json!({"result": null, "knowledge": null, "unsupported": null, "unmoved": null,
        "still": [], "few": null, "turns": null, "only_entry": true, "by_graphs": true, "errors": null, "more": null, "unsupported_of_more": null, "decided_by": null, "level": null});
    let effects = |n: usize| json!(vec![["a", "b"]; n]);
    let knowledge = json!({"scenario": "low", "statements": [
        {"kind": "order", "tiers": [["a", "b"], ["c"]]},
        {"kind": "rules_out", "effects": effects(7)},
        {"kind": "requires", "effects": effects(2)}, {"kind": "edges"}]});
    let rare = json!({"n": 2, "switched": 3, "from": group("M"), "to": group("F"), "people": 4,
        "of_people": 9, "feature": "job", "level": "x", "in_reference": 1,
        "level_in_reference": 3});
    let test = |set: &Value, fields: Value| {
        let decided =
            json!({"range": range(), "kind": "share", "ends": [0.1, 0.2], "is_first": true});
        let contested = with(&result(set, "lost"), json!({"worse": null, "contested": true}));
        let test = json!({"result": contested, "knowledge": knowledge,
            "only_entry": false, "by_graphs": false, "decided_by": decided,
            "errors": {"measured": "gap", "from": group("M"), "to": group("F"), "value": 0.28, "ends": [0.2, 0.35], "of": 2, "model": {"name": "m", "ambiguous": false}},
            "unsupported": rare, "unmoved": [1, 9], "still": ["job"], "few": [group("M"), 3],
            "turns": {"value": 0.1, "ends": [-0.1, 0.3], "range": range()},
            "more": switch(result(set, "gained")), "unsupported_of_more": rare, "level": 0.95});
        with(&test, fields)
    };
    let mut all = Vec::new();
    for (i, set) in sets.iter().enumerate() {
        for side in ["lost", "gained", "either"] {
            for worse in [json!(null), group("F"), group("M")] {
                let result =
                    with(&result(set, side), json!({"worse": worse, "contested": worse.is_null()}));
                let (limit, opening) = match i % 3 {
                    0 => (json!(null), "plain"),
                    1 => (plain.clone(), "none_broken"),
                    _ => (plain.clone(), "graphs_disagree"),
                };
                let sentence = json!({"kind": "switch", "switch": switch(result), "limit": limit,
                    "opening": opening, "no_limit": i % 2 == 0});
                all.push(verdict(sentence, test(set, json!({})), json!(null)));
            }
        }
    }
    for opening in ["depends_on_rows", "depends_on_training", "too_few", "undecided"] {
        let nobody = json!({"nobody": true, "counts": null, "worse": null, "weighted": false});
        let mut of = switch(with(&result(&sets[0], "lost"), nobody));
        if opening == "too_few" {
            of["ends"] = json!(null);
            of["compared"] = json!(1);
        }
        let sentence = json!({"kind": "switch", "switch": of, "limit": null, "opening": opening,
            "no_limit": false});
        all.push(verdict(sentence, none.clone(), json!(null)));
    }
    let measured = [json!(null), json!({"kind": "decided", "gets": "unfavourable"})];
    let mut sentences: Vec<Value> = limits()
        .into_iter()
        .zip(measured.iter().cycle())
        .map(|(limit, measured)| {
            let furthest = json!({"groups": [group("M"), group("F")], "measured": measured});
            json!({"kind": "limit", "limit": limit, "furthest": furthest})
        })
        .collect();
    let gap = json!({"kind": "gap", "model": {"name": "m", "ambiguous": false}, "low": share("M"),
        "high": share("F"), "ratio": plain["parts"][0], "limit": plain, "none_broken": true,
        "chosen": {"of": 2, "is_largest": false, "highest": null}});
    sentences.push(gap);
    sentences.push(json!({"kind": "total", "limit": plain}));
    for several in [true, false] {
        let nobody = json!({"kind": "nobody", "attribute": attribute(several), "whole": 9,
            "highest": if several { 0.1 } else { 0.0 }, "only_entry": several,
            "widest": several.then(|| result(&sets[0], "lost"))});
        sentences.push(nobody);
    }
    let shares = json!([share("M"), share("F")]);
    sentences.push(json!({"kind": "nothing_clear", "shares": shares, "none_broken": true}));
    sentences.push(nothing());
    all.extend(sentences.into_iter().map(|of| verdict(of, none.clone(), json!(null))));
    let other = json!({"decided_by": {"range": range(), "kind": "share", "ends": [0.1, 0.2],
        "is_first": false}, "unmoved": [9, 9], "still": ["job", "age"], "result": null, "unsupported": with(&rare, json!({"level": null}))});
    all.push(verdict(nothing(), test(&sets[0], other), json!(null)));
    all.extend(charts().into_iter().map(|chart| verdict(nothing(), none.clone(), chart)));
    all.push(with(&verdict(nothing(), none, json!(null)), json!({"stand_in": "adult"})));
    all
}

/// Charts below the sentence of each kind.
fn charts() -> Vec<Value> {
    let sets = sets();
    let counts = json!({"keep": 1, "lose": 2, "gain": 3, "without": 4});
    let turned = json!({"group": group("M"), "other": group("F"), "counts": counts, "all": 10,
        "held": 3, "kept": 0.1, "before": 0.3, "after": 0.4});
    let rows = json!({"kind": "rows", "result": result(&sets[0], "lost"), "reference": group("M"),
        "is_reference": true, "own": turned, "other": group("F"), "groups": [turned], "more": 2,
        "scale": scale()});
    vec![
        json!({"kind": "bars", "result": result(&sets[5], "lost"), "groups": [turned],
            "top": 0.5}),
        rows.clone(),
        with(&rows, json!({"other": null})),
        with(&rows, json!({"other": null, "is_reference": false})),
        with(&rows, json!({"own": null})),
        json!({"kind": "shares", "model": {"name": "m", "ambiguous": false}, "labelled": true,
            "groups": group_rows(), "scale": scale()}),
    ]
}

fn group_rows() -> Value {
    let row = json!({"group": group("F"), "attribute": attribute(false), "point": point(),
        "counts": [1, 2], "labelled": 0.3, "anchor": "x"});
    json!([row, with(&row, json!({"group": null, "labelled": null, "anchor": ""}))])
}

/// Facts of all results.
fn forests() -> Vec<Value> {
    let sets = sets();
    let row = |set: &Value| json!({"result": result(set, "lost"), "limit": 0.1});
    let block = |worse: Value| json!({"worse": worse, "rows": [row(&sets[0]), row(&sets[1])]});
    let note = |(i, set): (usize, &Value)| {
        json!({"kind": "set", "set": set, "attribute": attribute(false),
            "several_attributes": i == 0, "repeats_entry": i % 2 == 0})
    };
    let mut notes: Vec<Value> = sets.iter().enumerate().map(note).collect();
    notes.push(json!({"kind": "graphs", "attribute": attribute(false)}));
    notes.push(json!({"kind": "values", "values": {"drawn": false, "clip": "none"}}));
    let given = json!({"scenario": "low", "statements": [{"kind": "gives_edges"}]});
    notes.push(json!({"kind": "knowledge", "knowledge": given}));
    let named = json!([result(&sets[0], "lost")]);
    let blocks = [
        json!({"kind": "all", "group": group("F")}),
        json!({"kind": "some", "group": group("M"), "clear": 1, "named": named}),
        json!({"kind": "unclear"}),
        json!({"kind": "nobody"}),
    ];
    let forest = json!({"notes": notes, "level": 0.95, "seconds": ["x", "y"],
        "has_placebo": true, "has_limit": true, "scale": scale(),
        "blocks": blocks.map(block), "more": 3, "n_nobody": 3, "nobody": []});
    let mut all = vec![forest.clone(), with(&forest, json!({"blocks": [], "more": 0}))];
    for set in &sets {
        for side in ["lost", "gained", "either"] {
            let only = json!({"worse": {"kind": "nobody"}, "rows": [{"result": result(set, side),
                "limit": null}]});
            let fields = json!({"blocks": [only], "n_nobody": 1, "nobody": [result(set, side)]});
            all.push(with(&forest, fields));
        }
    }
    all
}

/// Facts of groups as they are.
fn groups() -> Vec<Value> {
    let end = |name: &str| json!({"group": group(name), "point": point()});
    let model = json!({"name": "m", "ambiguous": false});
    let apart = json!({"low": end("M"), "high": end("F"), "distance": 0.1,
        "lowest": end("X")});
    let shown = json!([
        {"model": model, "attribute": attribute(false), "apart": apart, "rows": group_rows()},
        {"model": model, "attribute": null, "apart": null, "rows": []}]);
    let gap = json!({"kind": "gap", "model": model, "low": end("M"), "high": end("F")});
    let leads =
        [gap, json!({"kind": "nobody"}), json!({"kind": "everybody"}), json!({"kind": "unclear"})];
    let facts = |lead: Value| {
        json!({"lead": lead, "labelled": true, "scale": scale(),
        "shown": shown, "left": 2})
    };
    leads.map(facts).to_vec()
}

/// Graphs of a scenario in which the attribute follows from these.
fn causes(each: Value) -> Value {
    json!({"set": "s/low", "scenario": "low", "attribute": "race", "share": 0.4, "each": each})
}

/// Facts of who switches, and through what.
fn whys() -> Vec<Value> {
    let question = |metric: &str, side: &str| {
        json!({"model": {"name": "m", "ambiguous": false}, "set": sets()[0], "arm": "more",
            "metric": metric, "side": side, "rate": null, "from": group("F"), "to": group("M")})
    };
    let traits = json!([{"column": "job", "reading": "is", "level": "a"},
        {"column": "age", "reading": "within", "level": "(25, 35]"}]);
    let row = |pattern: &str, others: Value| json!([{"pattern": pattern, "k": 3, "n": 9, "k_others": 1, "n_others": others}, point(), traits]);
    let feature = |entry: Value| {
        json!({"row": {"feature": "job", "undone": null, "n": 4}, "entry": entry,
            "point": point()})
    };
    let rest = json!({"interval": null, "value": 0.5, "second": null});
    let through = json!({"first": feature(json!(null)), "most": feature(attribute(false)),
        "is_first": false, "undone": rest, "direction": [group("F"), group("M")]});
    let block = json!({"why": "who", "carried": 0, "question": question("sr", "either"),
        "searched": true, "confirmed": 0, "scale": scale(), "rows": [row("", json!(null))],
        "through": null, "unexplained": "too_few", "feature_scale": scale(), "features": [],
        "n_rest": 0, "rest": 0.0});
    let features =
        json!([feature(json!(null)), with(&feature(attribute(true)), json!({"point": rest}))]);
    let told = json!({"rows": [row("job = a", json!(5)), row("", json!(null))], "carried": 2,
        "confirmed": 1, "through": through, "features": features, "n_rest": 2});
    let plain = json!({"from": null, "to": null, "set": null, "arm": ""});
    let asked = |metric: &str, side: &str| with(&question(metric, side), plain.clone());
    let label = json!({"kind": "by_label", "right": false, "gets": "favourable",
        "label": "unfavourable"});
    let mut blocks = vec![
        block.clone(),
        with(&block, told),
        with(&block, json!({"unexplained": null, "carried": 1, "confirmed": 2})),
        with(&block, json!({"searched": false, "question": question("denied_by_group", "gained")})),
    ];
    let questions = [
        asked("denied_by_group", "gained"),
        asked("favoured_by_group", "lost"),
        asked("nsr", "either"),
        asked("psr", "either"),
        with(&asked("fnr", "either"), json!({"rate": label})),
    ];
    blocks.extend(questions.map(|of| with(&block, json!({"question": of}))));
    let note = |is: bool| {
        json!({"explained": is, "unweighted": is, "missing_scores": is, "more": usize::from(is),
            "blocks": blocks})
    };
    [true, false].map(note).to_vec()
}

/// Facts of gates.
fn gates() -> Value {
    let rich = json!([{"kind": "text", "text": "rich"}]);
    let gate = json!({"name": "g", "note": "n", "thing": null, "counted": null, "title": rich,
        "class": "c", "attribute": "sex", "set": "s", "model": "m", "arm": "a",
        "place": {"kind": "pair", "from": "a", "to": "b", "word": "over"},
        "verdict": "fail", "decides_gate": true, "warns": true, "bound": "at most",
        "limit": "5 %", "decides": "interval", "value": "3 %", "interval": "1 to 2",
        "baseline": "4", "cases": "9", "enough": 3, "why": "w", "caution": causes(json!([]))});
    let of = json!({"scope": "direction", "from": "a", "to": "b", "over": false});
    let at = |kind: &str| json!({"place": {"kind": kind, "from": "a", "to": "b", "word": "denied", "of": of}});
    let mut all = vec![gate.clone()];
    let some = [json!([["age", 0.4]]), json!([["age", 0.3]]), json!(vec![("age", 0.3); 5])];
    all.extend(some.map(|each| with(&gate, json!({"caution": causes(each)}))));
    all.extend(["harm", "measured", "everybody"].map(|kind| with(&gate, at(kind))));
    let rules = ["interval, holm", "worlds", "fit", "training", "all", "estimate", "by_hand"];
    all.extend(rules.map(|rule| with(&gate, json!({"decides": rule, "decides_gate": false}))));
    all.extend(
        ["subgroups", "patterns"]
            .map(|thing| with(&gate, json!({"thing": thing, "value": null, "verdict": "skipped"}))),
    );
    json!({"more": 2, "rows": all})
}

/// Facts of who lacks something more often than others: each state, each owner of a share, and so
/// many differences.
fn lacking() -> Vec<Value> {
    let group = |name: &str| ShareOwner::Group(name.to_owned());
    let decision = |favourable: bool| ShareOwner::Decision { favourable, model: "gbm".to_owned() };
    let class = |other: bool| {
        let [class, model] = ["high", "gbm"].map(str::to_owned);
        ShareOwner::Class { class, model, other }
    };
    let facts = |state: &str, of_rows: bool, owners: [ShareOwner; 2], differences: usize| {
        let shares = owners.map(|owner| OwnedShare::new(owner, Rate::of(4, 10)));
        let args = SelectiveArgs {
            model: Some("gbm".to_owned()),
            of_rows,
            shares: vec![shares; differences],
        };
        json!({"args": args, "state": state, "attribute": "sex", "called": {"F": "women"}})
    };
    let states = ["without_score", "other_side", "unmatched", "duplicate", "filtered", "dropped"];
    let mut all: Vec<Value> =
        states.map(|state| facts(state, true, [group("F"), group("M")], 1)).to_vec();
    let grouped = [false, true].map(ShareOwner::Grouped);
    all.push(facts("no_group", false, grouped, 1));
    for differences in [1, 3, 4] {
        for of_rows in [true, false] {
            let owners = [
                [group("M"), group("F")],
                [decision(false), decision(true)],
                [class(false), class(true)],
            ];
            all.extend(owners.map(|of| facts("without_label", of_rows, of, differences)));
        }
    }
    all
}

/// Writes templates with the facts that are made here, in the words of each sort of decision.
pub(super) fn write_made_facts() {
    let tallies = [
        [0, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 0, 1, 0, 0, 0],
        [1, 0, 0, 1, 0, 0],
        [1, 0, 0, 0, 1, 0],
        [2, 0, 0, 2, 0, 0],
        [3, 0, 0, 3, 0, 0],
        [4, 0, 1, 3, 0, 0],
        [4, 0, 0, 3, 1, 0],
        [5, 2, 1, 1, 1, 2],
        [5, 3, 0, 1, 1, 1],
        [5, 4, 0, 1, 0, 2],
    ];
    let [brief, annex] = ["report.html", "sections.html"].map(imports);
    for voice in voices() {
        let mut writer = TemplateWriter::new(&voice);
        for of in made_facts().iter().filter(|of| !of.template.is_empty()) {
            writer.write(of, &of.variables).unwrap();
        }
        let environment = &mut writer.0;
        for of in tallies {
            let page = "{% from \"limit.html\" import heading %}{{ heading(f) }}";
            let context = minijinja::context!(f => minijinja::Value::from(Serde(&tally(of))));
            environment.render_str(page, context).unwrap();
        }
        let tallied = tallies.map(|of| {
            let verdict = verdict(json!({"kind": "nothing"}), verdicts_test(), json!(null));
            with(&verdict, json!({"tally": tally(of)}))
        });
        let section = |folded: usize| {
            json!({"arms": folded > 1, "folds": true, "limits": limits(),
                "folded": limits()[..folded]})
        };
        let mut pages: Vec<(&str, Value)> = vec![("gates.html", gates())];
        pages.extend([0, 1, 2].map(|folded| ("limits.html", section(folded))));
        pages.extend(verdicts().into_iter().chain(tallied).map(|facts| ("hero.html", facts)));
        pages.extend(forests().into_iter().map(|facts| ("forest.html", facts)));
        pages.extend(groups().into_iter().map(|facts| ("as_they_are.html", facts)));
        pages.extend(whys().into_iter().map(|facts| ("why.html", facts)));
        for facts in lacking() {
            let page = "{% from \"selective.html\" import selective %}{{ selective(f) }}";
            let context = minijinja::context!(f => minijinja::Value::from(Serde(&facts)));
            environment.render_str(page, context).unwrap();
        }
        for all in [vec![causes(json!([]))], vec![causes(json!([])); 2]] {
            let page = "{% from \"knowledge.html\" import contradictions %}{{ contradictions(f) }}";
            let context = minijinja::context!(f => minijinja::Value::from(Serde(&all)));
            environment.render_str(page, context).unwrap();
        }
        for (name, facts) in pages {
            let imports = if name == "gates.html" { &annex } else { &brief };
            let page = format!("{imports}{{% include \"{name}\" %}}");
            let context = minijinja::context!(f => minijinja::Value::from(Serde(&facts)));
            environment.add_template_owned("page_of_a_test.html", page).unwrap();
            let said = environment.get_template("page_of_a_test.html").unwrap().render(context);
            said.unwrap_or_else(|error| panic!("{name}: {error:#}\n{facts}"));
        }
    }
}

/// A sample is said only where not all were looked at.
#[test]
fn a_flip_test_says_its_sample_and_whom_it_excludes() {
    let said = |neighbours, [looked_at, eligible]: [u64; 2], missing| {
        let search = FlipSearch { eligible, looked_at, missing, neighbours };
        let page = "{% from \"blocks.html\" import flips %}{{ flips(f) }}";
        let context = minijinja::context!(f => minijinja::Value::from(Serde(search)));
        environment(None).render_str(page, context).unwrap().replace('\u{202f}', " ")
    };
    assert_eq!(said(5, [900, 900], 0), "5 neighbours");
    assert_eq!(
        said(1, [900, 900], 1),
        "1 neighbour; 1 person without a value of some feature is excluded"
    );
    assert_eq!(
        said(3, [600, 912], 2),
        "3 neighbours among a sample of 600 of 912 people; 2 people without a value of some \
         feature are excluded"
    );
    assert_eq!(
        said(12_000, [20_000, 48_842], 16_281),
        "12 000 neighbours among a sample of 20 000 of 48 842 people; 16 281 people without a \
         value of some feature are excluded"
    );
}

/// A row of a chart.
fn drawn(call: &str) -> String {
    let names = "bullet, dumbbell_row, forest_row, group_row, share_row";
    let page = format!("{{% from \"charts.html\" import {names} %}}{{{{ {call} }}}}");
    environment(None).render_str(&page, ()).unwrap()
}

#[test]
fn a_bullet_hatches_the_forbidden_side() {
    let scale = "{\"lo\": 0.0, \"hi\": 0.6}";
    let point = "{\"value\": 0.46, \"interval\": [0.44, 0.48], \"second\": [0.1, 0.6]}";
    let above = drawn(&format!("bullet({scale}, {point}, [0.1, \"above\"], \"x\")"));
    above.says(&[
        r#"<rect class="no" x="16.67%" width="83.33%""#,
        r#"<line class="lim" x1="16.67%""#,
        r#"<rect class="bar" x="0%" width="76.67%""#,
    ]);
    assert_eq!(above.matches("#end").count(), 2);
    let below = drawn(&format!("bullet({scale}, {point}, [0.3, \"below\"], \"x\")"));
    below.says(&[r#"<rect class="no" x="0%" width="50%""#]);
    // A limit at the end of the scale forbids nothing that is drawn.
    let bare = "{\"value\": 0.0, \"interval\": none, \"second\": none}";
    let none = drawn(&format!("bullet({scale}, {bare}, [0.6, \"above\"], \"x\")"));
    none.lacks(&["class=\"no\"", "class=\"w\""]);
    let change = "{\"value\": -0.01, \"interval\": none, \"second\": none}";
    let around = "{\"lo\": -0.02, \"hi\": 0.02}";
    let change = drawn(&format!("bullet({around}, {change}, [0.01, \"above\"], \"x\")"));
    change.says(&[r#"<rect class="bar" x="25%" width="25%""#]);
}

#[test]
fn lost_points_down_and_gained_up() {
    let scale = "{\"lo\": 0.0, \"hi\": 1.0}";
    let point = "{\"value\": 1.0, \"interval\": [0.9, 1.0], \"second\": none}";
    let forest = |side: &str, around: &str| {
        drawn(&format!("forest_row({scale}, {point}, \"{side}\", {around}, \"x\")"))
    };
    let lost = forest("lost", "[[0.0, 0.0], none]");
    lost.says(&["#dn", "w lost"]);
    lost.lacks(&["band"]);
    let gained = forest("gained", "[[0.01, 0.02], 0.1]");
    gained.says(&["#up", "band", "lim"]);
    let down = drawn(&format!("share_row({scale}, 0.4, 0.2, 0.4, \"x\")"));
    down.says(&["#dn", "refline"]);
    drawn(&format!("share_row({scale}, 0.4, none, none, \"x\")")).says(&["#dot"]);
    let faint = drawn(&format!("dumbbell_row({scale}, 0.2, 0.1, false, \"x\")"));
    faint.says(&[r#"w faint" x1="10%" x2="20%""#]);
    drawn(&format!("group_row({scale}, {point}, 0.5, \"x\")")).says(&["open grey"]);
}

/// What a page says of facts `f` in an audit whose job gives no words.
fn page_of(page: &str, f: &Value) -> String {
    let voice = json!({"decision": {"kind": "favourable"}, "of_rows": false, "makes_rows": false,
        "several": [], "weighted": false, "annex": false});
    let environment = environment(Some(minijinja::Value::from(Serde(&voice))));
    let context = minijinja::context!(f => minijinja::Value::from(Serde(f)));
    environment.render_str(page, context).unwrap()
}

/// Nothing is said of rows that a job brings or that are paired but where they come from.
#[test]
fn rows_of_others_are_not_called_similar() {
    let says = |strategy: &str, moved: Value| {
        let set = with(&sets()[6], json!({"strategy": strategy, "moved": moved}));
        let page = "{% import \"voice.html\" as w %}{{ w.set_clause(f.set, f.attribute) }}. \
                    {{ w.set_sentence(f.set, f.attribute) }}";
        let said = page_of(page, &json!({"set": set, "attribute": attribute(false)}));
        said.lacks(&["similar", "differ between"]);
        said
    };
    says("external", json!(null)).says(&[
        "when people are as the file or program of the job says.",
        "scores the counterfactuals that a file or program of the job gives.",
    ]);
    says("transport", json!(null)).says(&[
        "when all features are replaced by values of real people of the other group (optimal \
         transport).",
        "the total distance is smallest (optimal transport)",
    ]);
    says("transport", json!(["a"])).says(&["when 1 feature is replaced by values of real"]);
    let harm = with(
        &limit(vec![part(json!({"kind": "value"}), &sets()[6])]),
        json!({"harmed": group("F")}),
    );
    let question = page_of("{% import \"limit.html\" as l %}{{ l.question(f) }}", &harm);
    question.says(&["Are women worse off by the gbm model, retrained (arm more), when people are"]);
}

#[test]
fn a_limit_on_harm_says_of_how_many_comparisons_it_shows_the_worst() {
    let say = |compared: usize| {
        let of = json!({"harmed": group("F"), "compared": compared});
        let harm = with(&limit(vec![part(json!({"kind": "value"}), &sets()[0])]), of);
        page_of("{% import \"limit.html\" as l %}{{ l.say(f) }}", &harm)
    };
    say(3).says(&["Shown is the worst of 3 comparisons: women with each other group."]);
    say(1).lacks(&["comparisons"]);
}

/// The group with the highest value may be the one that is worse off.
#[test]
fn the_groups_furthest_apart_say_of_what() {
    let said = |measured: Value| {
        let furthest = json!({"groups": [group("M"), group("F")], "measured": measured});
        let of = limit(vec![part(json!({"kind": "value"}), &sets()[0])]);
        let sentence = json!({"kind": "limit", "limit": of, "furthest": furthest});
        let facts = verdict(sentence, verdicts_test(), json!(null));
        let imports = imports("report.html");
        page_of(&format!("{imports}{{% include \"hero.html\" %}}"), &facts)
    };
    said(json!({"kind": "decided", "gets": "unfavourable"}))
        .says(&["Highest share with the unfavourable decision: <bdi>people in group M</bdi>"]);
    said(json!(null)).says(&["Highest by this metric: "]);
}

/// A count says what is counted.
#[test]
fn counts_of_a_comparison_have_a_unit() {
    let facts = json!({"path": "old", "job": "j", "run": "r", "version": null, "n": 1,
        "of_rows": true});
    let page = "{% import \"compared.html\" as c %}{{ c.run(\"old\", f) }} \
                {{ c.side(0.5, \"share\", 2, 4, \"counterfactuals\") }}";
    let said = page_of(page, &facts);
    said.says(&["1 row)", "2 of 4 counterfactuals"]);
}

#[test]
fn traits_read_by_their_kind() {
    let traits = json!([{"column": "sex", "reading": "is", "level": "(x)"},
        {"column": "age", "reading": "within", "level": "(25, 35]"},
        {"column": "income", "reading": "beyond", "level": "above 40"}]);
    let page = "{% from \"pattern.html\" import traits %}{{ traits(f) }}";
    let context = minijinja::context!(f => minijinja::value::Value::from(Serde(&traits)));
    let said = environment(None).render_str(page, context).unwrap();
    assert_eq!(said, "sex = (x), age in (25, 35], income above 40");
}

/// What a histogram of changes shows adds up.
#[test]
fn changes_in_words_add_up() {
    let words = |bins: &[HistogramBin], weighted| {
        let page = "{% from \"words.html\" import score_moves %}{{ score_moves(m) }}";
        let context = minijinja::context!(m => moves(bins, weighted));
        environment(None).render_str(page, context).unwrap().replace('\u{202f}', " ")
    };
    let mut bins = [(-0.05, -0.025, 1), (-0.025, 0.0, 2), (0.0, 0.025, 6), (0.025, 0.05, 1)]
        .map(|(lo, hi, n)| (lo, hi, WeightedCount::new(n, None)));
    words(&bins, false).says(&[
        "of 10 score changes 8 (80.0 %) are within 0.025 of zero, 1 (10.0 %) are falls and 1 \
         (10.0 %) are rises beyond that",
    ]);
    bins[0].2.weight = 11.0;
    words(&bins, true).says(&["1 (weighted 55.0 %) are falls"]);
    words(&[], false).says(&["of 0 score changes 0 (none)"]);
}

#[test]
fn verdicts_have_marks_of_their_own() {
    let mark = |verdict: &str| {
        let page = format!("{{% from \"blocks.html\" import mark %}}{{{{ mark(\"{verdict}\") }}}}");
        let drawn = environment(None).render_str(&page, ()).unwrap();
        drawn.split_once("<use").unwrap().1.to_owned()
    };
    let marks: BTreeSet<String> = ["pass", "fail", "inconclusive", "done"].map(mark).into();
    assert_eq!(marks.len(), 4);
}

#[test]
fn effects_that_are_ruled_out_are_named() {
    let page = "{% from \"knowledge.html\" import direct_effects %}{{ direct_effects(f) }}";
    let mut environment = environment(None);
    environment.add_template("page_of_a_test.html", page).unwrap();
    let said = |effects: &[[&str; 2]]| {
        let context = minijinja::context!(f => minijinja::Value::from(Serde(effects)));
        environment.get_template("page_of_a_test.html").unwrap().render(context).unwrap()
    };
    assert_eq!(
        said(&[["sex", "job"], ["sex", "grade"]]),
        "the direct effects of <bdi>sex</bdi> on <bdi>job</bdi> and of <bdi>sex</bdi> on \
         <bdi>grade</bdi>"
    );
    // Names are those of the job, also with signs that divide lists.
    let odd = "the direct effect of <bdi>age</bdi> on <bdi>a, b]]</bdi>";
    assert_eq!(said(&[["age", "a, b]]"]]), odd);
    assert_eq!(said(&[["sex", "job"]; 7]), "7 direct effects");
}

/// What a page imports for the templates of its sections.
pub(super) fn imports(page: &str) -> String {
    let lines = TEMPLATES.iter().filter(|(name, _)| *name == page).flat_map(|of| of.1.lines());
    let tags = ["{% from", "{% import"];
    lines.filter(|line| tags.iter().any(|tag| line.starts_with(tag))).collect()
}

/// What is below a sentence that says nothing.
fn verdicts_test() -> Value {
    json!({"result": null, "knowledge": null, "unsupported": null, "unmoved": null, "still": [], "few": null,
        "turns": null, "only_entry": false, "by_graphs": false, "errors": null, "more": null, "decided_by": null, "level": null})
}
