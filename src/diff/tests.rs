//! What is compared with what, and how precise a change is; whole folders are compared in
//! `tests/it/diff`.

use serde_json::Value as Json;

use super::change::{AddedFits, ChangeMethod, ChangeProcedure, UnpairedReason};
use super::compare;
use super::definitions::{CountingRules, DefinitionChanges, JobPair, JobValues};
use super::paired::Pairing;
use super::words::said;
use crate::diff::compared_run::ComparedRun;
use crate::folder::manifest::{Manifest, PolicyVersions, SetWords};
use crate::table::{ChangeRow, MetricRow, RefitReason};
use crate::tests::Says;
use crate::tests::TextRow;

/// The rate of women who lose an approval as men.
const WOMEN: &str = "counterfactual=flip, scope=direction, from_group=Female, to_group=Male, metric=nsr, family=ccm";

/// A value that is undefined.
fn lacking(cells: &str) -> MetricRow {
    MetricRow::of("model=m, sensitive=sex, undefined=empty_group").with(cells)
}

/// A rate of so many cases.
fn rate(cells: &str, part: i64, whole: i64) -> MetricRow {
    lacking(cells).with(&format!(
        "undefined=, numerator={part}, denominator={whole}, value={}, n_rows={whole}, \
         interval=wilson, ideal=0",
        part as f64 / whole as f64
    ))
}

fn values(yaml: &str) -> JobValues {
    crate::job::resolve::flat::values(yaml).unwrap()
}

const RULES: CountingRules = CountingRules {
    policies: PolicyVersions { who_counts: 2, intervals: 2, starts: 2 },
    lacks_labels: false,
};

/// Rules before each of them changed.
const EARLIER: CountingRules = CountingRules {
    policies: PolicyVersions { who_counts: 1, intervals: 1, starts: 1 },
    lacks_labels: false,
};

fn side(job: &str, frame: Vec<MetricRow>) -> ComparedRun {
    ComparedRun {
        manifest: Manifest { policies: RULES.policies, ..Manifest::default() },
        fingerprint: String::new(),
        values: values(job),
        source: String::new(),
        lacks_labels: false,
        metrics: frame,
        rounded: Vec::new(),
        outcomes: None,
    }
}

/// The first change of two runs.
fn change_of(old: &ComparedRun, new: &ComparedRun) -> ChangeRow {
    compare(old, new, false).unwrap().changes.remove(0)
}

/// The change of a value.
fn change(old: MetricRow, new: MetricRow) -> ChangeRow {
    change_of(&side("a: 1", vec![old]), &side("a: 1", vec![new]))
}

/// Says what the set `world` was fitted on.
fn fitted_on(side: &mut ComparedRun, hash: &str) {
    let (name, fitted_on) = ("world".to_owned(), [("sex".to_owned(), hash.to_owned())].into());
    side.manifest.counterfactuals.push(SetWords { name, fitted_on, ..SetWords::default() });
}

/// The published matrices: 16 of 122 and 35 of 137 approvals of women are lost. Newcombe 1998,
/// method 10, from the two Wilson intervals by hand.
#[test]
fn shares_of_independent_people() {
    let published = [rate(WOMEN, 16, 122), rate(WOMEN, 35, 137)];
    let [old, new] = published.clone();
    let row = change(old, new);
    let near = [(row.difference, 0.1243), (row.lo, 0.0274), (row.hi, 0.2172)];
    assert!(near.iter().all(|(found, value)| (found.unwrap() - value).abs() < 5e-4), "{row:?}");
    assert!(row.holds("interval=newcombe, reading=worse, status=compared, clear=1, paired=0"));
    let [new, old] = published;
    let back = change(old, new);
    assert_eq!(back.reading, "better");
    assert!((back.lo.unwrap() + row.hi.unwrap()).abs() < 1e-12);
}

/// The interval of a rate is Wilson's, so the general method gives Newcombe's.
#[test]
fn two_intervals_give_the_interval_of_the_change() {
    let all = "counterfactual=flip, scope=total, metric=cmcc, family=ccm, interval=score, \
               ci_method=none: not requested";
    let old = |cells: &str| rate(all, 16, 122).with("interval=score").with(cells);
    let new = rate(all, 35, 137).with("interval=score, lo=0.189809, hi=0.334479, level=0.95");
    let row = change(old("lo=0.082364, hi=0.202450, level=0.95"), new.clone());
    assert!((row.lo.unwrap() - 0.02739).abs() < 1e-5 && (row.hi.unwrap() - 0.21718).abs() < 1e-5);
    assert_eq!(row.interval, "mover");
    for (cells, why) in [
        ("", "the old value has no interval: none: not requested"),
        ("lo=0.1, hi=0.2, level=0.9", "different levels"),
    ] {
        let row = change(old(cells), new.clone());
        row.ci_method.says(&[why]);
        assert!(row.holds("lo=, clear=0, reading="), "{row:?}");
    }
}

#[test]
fn what_stands_in_one_run_or_has_no_value_is_no_change() {
    let all = "counterfactual=flip, scope=total, metric=nsr, family=ccm";
    let back = &format!("{WOMEN}, from_group=Male, to_group=Female");
    let found = compare(
        &side("a: 1", vec![rate(WOMEN, 1, 20), lacking(all)]),
        &side("a: 1", vec![rate(back, 1, 20), rate(all, 3, 20)]),
        false,
    )
    .unwrap();
    let expected = [
        "status=only_old, undefined=not_compared, old_rows=20, new_rows=0",
        "status=only_new, undefined=not_compared, old_rows=0, new_rows=20",
        "status=compared, undefined=old: empty_group, old_rows=0, new_rows=20",
    ];
    assert_eq!(found.changes.len(), expected.len());
    for (row, cells) in found.changes.iter().zip(expected) {
        assert!(row.holds(cells) && row.holds("difference=, lo="), "{row:?}");
    }
}

const JOB: &str = "data:
  label: {column: y, positive: ['1'], favourable: positive}
  rows: {parquet: a.parquet}
  derive: {age2: {from: age, bins: [1, 2]}}
  sensitive: {sex: {from: sex, groups: [Male, Female], reference: Male},
    old: {from: age2, groups: [x, y], reference: x}}
  features: {continuous: [age]}
counterfactuals: {flip: {naive: {}, placebo: {repeats: 5}}, world: {greedy: {condition_on: label}}}
models: {m: {logistic: {l2: 1.0}, threshold: 0.5, threshold_rule: ge}}
metrics: {clarify: {neighbours: 5}, interval: {level: 0.95}}
gates: {g: {metric: sr, at_most: 0.1}}
run: {seed: 1}
";

/// Which of these values still mean the same: a switch rate, one by the favourable side, one after
/// moved features, a score metric, a rate that needs the label, a gap, `di`, one of Clarify's.
fn kept(old: &str, new: &str) -> String {
    kept_by(old, new, [RULES; 2])
}

/// The same of runs by different rules.
fn kept_by(old: &str, new: &str, rules: [CountingRules; 2]) -> String {
    let definitions = DefinitionChanges::between(&values(old), &values(new), rules);
    let pair = "scope=pair, from_group=Male, to_group=Female";
    let woman = "scope=group, from_group=Female";
    let all = [
        ("switch", format!("{WOMEN}, metric=sr")),
        ("harm", format!("{WOMEN}, metric=denied_by_group")),
        ("moved", format!("{WOMEN}, counterfactual=world, metric=sr")),
        ("score", format!("{WOMEN}, metric=rmscd, family=shift")),
        ("label", format!("{woman}, metric=tpr, family=performance")),
        ("prev", format!("{woman}, metric=prev, family=performance")),
        ("gap", format!("{pair}, metric=pprev_difference, family=group")),
        ("di", "scope=worst_case, metric=di, family=group".to_owned()),
        ("clarify", format!("{pair}, metric=dar, family=clarify")),
    ];
    let kept = all.iter().filter(|(_, cells)| !definitions.breaks_value(&lacking(cells)));
    let kept: Vec<&str> = kept.map(|(name, _)| *name).collect();
    assert_eq!(
        definitions.agree(),
        definitions.changes().iter().all(|change| change.breaks.is_empty())
    );
    kept.join(" ")
}

#[test]
fn only_values_that_mean_the_same_are_compared() {
    const ALL: &str = "switch harm moved score label prev gap di clarify";
    const UNFITTED: &str = "switch harm score label prev gap di clarify";
    assert_eq!(kept(JOB, JOB), ALL);
    for (from, to, expected) in [
        ("a.parquet", "b.parquet", ALL),
        ("l2: 1.0", "l2: 2.0", ALL),
        ("seed: 1", "seed: 2", ALL),
        ("repeats: 5", "repeats: 9", ALL),
        ("at_most: 0.1", "at_most: 0.2", ALL),
        ("level: 0.95", "level: 0.9", ALL),
        ("[Male, Female]", "[Female, Male]", ALL),
        ("gates: {g:", "gates: {h:", ALL),
        // Another attribute's own affair.
        ("groups: [x, y]", "groups: [x, z]", ALL),
        ("bins: [1, 2]", "bins: [1, 3]", ALL),
        ("column: y", "column: z", ""),
        ("favourable: positive", "favourable: negative", "switch moved score label prev gap"),
        ("rows:", "weight: w\n  rows:", ""),
        ("[Male, Female]", "[Male, Female, Other]", ""),
        ("reference: Male", "reference: Female", "switch harm moved score label prev di"),
        ("continuous: [age]", "continuous: [age, pay]", UNFITTED),
        ("condition_on: label", "condition_on: none", UNFITTED),
        ("threshold: 0.5", "threshold: 0.6", "score prev"),
        ("neighbours: 5", "neighbours: 6", "switch harm moved score label prev gap di"),
    ] {
        assert!(JOB.contains(from), "{from}");
        assert_eq!(kept(JOB, &JOB.replace(from, to)), expected, "{to}");
    }
    let none = |more: &str| {
        JOB.replace("{column: y, positive: ['1'], favourable: positive}", &format!("none{more}"))
    };
    assert_eq!(kept(JOB, &none("")), "switch harm moved score gap di");
    let unlabelled = none("\n  favourable: positive");
    assert_eq!(kept(JOB, &unlabelled), "switch harm moved score gap di");
    assert_eq!(
        kept(JOB, &unlabelled.replace("favourable: positive", "favourable: negative")),
        "switch moved score gap"
    );
    // A derived column defines sets that move features where it is one, or one is derived from it.
    for features in ["[age2]", "[age, coarse]"] {
        let job = JOB
            .replace("[age]", features)
            .replace("[1, 2]}", "[1, 2]}, coarse: {from: age2, map: {x: [a]}}");
        assert_eq!(kept(&job, &job.replace("[1, 2]", "[1, 3]")), UNFITTED, "{features}");
    }
    // An attribute that is an unchanged column defines nothing of what is derived from that column.
    let job = JOB.replace(
        "sex: {from: sex, groups: [Male, Female]",
        "age: {from: age, groups: [a, b], reference: a}, sex: {from: age2, groups: [Male, Female]",
    );
    assert_eq!(kept(&job, &job.replace("groups: [a, b]", "groups: [a, c]")), ALL);
    assert_eq!(kept(&job, &job.replace("[1, 2]", "[1, 3]")), "");
    // The label, a weight, a threshold or a decision may be derived.
    let by_column = "decision: {column: age2, positive: [a, b]}";
    for (column, made_of, expected) in [
        ("column: y", "column: age2", ""),
        ("rows:", "weight: age2\n  rows:", ""),
        ("threshold: 0.5", "threshold: {column: age2}", "score prev"),
        ("threshold: 0.5", by_column, "score prev"),
    ] {
        let job = JOB.replace(column, made_of);
        assert_eq!(kept(&job, &job.replace("[1, 2]", "[1, 3]")), expected, "{made_of}");
    }
    let job = JOB.replace("threshold: 0.5", by_column);
    assert_eq!(kept(&job, &job.replace("[a, b]", "[a]")), "score prev");
    assert_eq!(kept(&job, &job.replace("[a, b]", "[b, a]")), ALL);
    // A derived column may be called as a key of the job is.
    let job = JOB.replace("age2", "continuous");
    assert_eq!(kept(&job, &job.replace("[1, 2]", "[1, 3]")), ALL);
    // What an attribute is derived from defines all that is derived from it, over any number of
    // steps.
    let job = JOB
        .replace("sex: {from: sex,", "both: {cross: [old, tenure]}, sex: {cross: [both, region],");
    for (from, to) in [("groups: [x, y]", "groups: [x, z]"), ("[1, 2]", "[1, 3]")] {
        assert_eq!(kept(&job, &job.replace(from, to)), "", "{to}");
    }
}

/// The keys of a block of the schema of jobs, with what each holds; `NAME` of blocks by name.
fn keys<'a>(root: &'a Json, mut schema: &'a Json) -> Vec<(&'a str, &'a Json)> {
    while let Some(target) = schema["$ref"].as_str().and_then(|path| root.pointer(&path[1..])) {
        schema = target;
    }
    let branches = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array());
    let branches = branches.flatten().flat_map(|branch| keys(root, branch));
    let named = schema["patternProperties"].as_object().and_then(|of| of.values().next());
    let named = named.or(Some(&schema["additionalProperties"])).filter(|of| of.is_object());
    let own = schema["properties"].as_object().into_iter().flatten();
    let own = own.map(|(key, of)| (key.as_str(), of));
    own.chain(named.map(|of| ("NAME", of))).chain(branches).collect()
}

/// The keys below a path of which nothing says what a change of them breaks.
fn untold(root: &Json, schema: &Json, path: &[&str]) -> Vec<String> {
    let none = JobValues::new();
    let below = keys(root, schema).into_iter().flat_map(|(key, of)| {
        let path = [path, &[key]].concat();
        match JobPair([&none; 2]).breaks(&path) {
            Some(_) => Vec::new(),
            None => untold(root, of, &path),
        }
    });
    let below: Vec<String> = below.collect();
    if keys(root, schema).is_empty() { vec![path.join(".")] } else { below }
}

#[test]
fn what_a_change_breaks_is_said_of_every_key_of_a_job() {
    let root = crate::job::schema::job_schema();
    assert_eq!(untold(&root, &root, &[]), [""; 0], "not in `diff::definitions::breaks`");
}

/// A set that is conditioned on the decisions of a model is another set where these are made
/// otherwise.
#[test]
fn a_threshold_defines_the_sets_conditioned_on_its_decisions() {
    let kept_of = |model: &str| {
        let conditioned = format!("condition_on: {{prediction: {model}}}");
        let job = JOB.replace("condition_on: label", &conditioned).replace(
            "{m: {logistic",
            "{other: {logistic: {l2: 1.0}, threshold: 0.5}, m: {logistic",
        );
        let new = job.replace("{l2: 1.0}, threshold: 0.5}", "{l2: 1.0}, threshold: 0.65}");
        assert_ne!(job, new);
        let definitions = DefinitionChanges::between(&values(&job), &values(&new), [RULES; 2]);
        let world = &format!("{WOMEN}, counterfactual=world");
        let frame = [
            format!("{world}, metric=sr"),
            format!("{world}, metric=rmscd, family=shift"),
            format!("{world}, metric=rmscd, family=shift, model=other"),
            format!("{WOMEN}, metric=sr"),
            format!("{WOMEN}, metric=sr, model=other"),
        ]
        .map(|cells| lacking(&cells));
        let kept: Vec<bool> = frame.iter().map(|row| !definitions.breaks_value(row)).collect();
        (kept, definitions.changes()[0].breaks.clone())
    };
    assert_eq!(
        kept_of("other"),
        (
            vec![false, false, false, true, false],
            "decisions of the model other and everything that depends on the set world, \
             conditioned on them"
                .to_owned()
        )
    );
    assert_eq!(
        kept_of("m"),
        (vec![true, true, true, true, false], "decisions of the model other".to_owned())
    );
}

/// Which amounts are better, and from which difference one counts, say what values of amounts mean.
#[test]
fn what_counts_as_harm_in_amounts_defines_their_values() {
    for key in ["amount", "decision"] {
        let job = JOB.replace("{logistic: {l2: 1.0}", &format!("{{{key}: {{matters_from: 5%}}"));
        let new = job.replace("5%", "10%");
        let definitions = DefinitionChanges::between(&values(&job), &values(&new), [RULES; 2]);
        let frame =
            ["metric=share_more", "metric=amount_change_mean", "metric=share_more, model=other"]
                .map(|cells| lacking(&format!("{WOMEN}, family=amounts, {cells}")));
        let broken: Vec<bool> = frame.iter().map(|row| definitions.breaks_value(row)).collect();
        assert_eq!(broken, [true, false, false], "{key}");
    }
}

/// What a rule touches means something else where it changed.
#[test]
fn rules_that_changed_break_what_they_touch() {
    const ALL: &str = "switch harm moved score label prev gap di clarify";
    assert_eq!(kept_by(JOB, JOB, [EARLIER, RULES]), ALL);
    let lacking = |rules: CountingRules| CountingRules { lacks_labels: true, ..rules };
    assert_eq!(kept_by(JOB, JOB, [lacking(RULES); 2]), ALL, "the rule is the same");
    assert_eq!(kept_by(JOB, JOB, [EARLIER, lacking(RULES)]), "label prev clarify");
    let graph = JOB.replace(
        "world: {greedy: {condition_on: label}}",
        "world: {graph-uncertain: {bootstraps: 5}}",
    );
    assert_eq!(
        kept_by(&graph, &graph, [EARLIER, RULES]),
        "switch harm score label prev gap di clarify"
    );
    let told =
        DefinitionChanges::between(&values(&graph), &values(&graph), [EARLIER, lacking(RULES)])
            .changes();
    let told: Vec<[&str; 3]> = told
        .iter()
        .map(|c| [c.path.as_str(), c.old.as_deref().unwrap(), c.new.as_deref().unwrap()])
        .collect();
    assert_eq!(
        told,
        [
            ["policies.who_counts", "1", "2"],
            ["policies.intervals", "1", "2"],
            ["policies.starts", "1", "2"]
        ]
    );
}

/// A share of 0 keeps its change and loses the interval, which the two runs make by different
/// rules; counts of independent people do not.
#[test]
fn another_rule_for_intervals_at_an_end() {
    let run = |part: i64, method: &str| {
        let all = "counterfactual=flip, scope=total, metric=sr, family=ccm";
        let ends = format!("interval={method}, lo=0, hi=0.3, level=0.95");
        side("a: 1", vec![rate(all, part, 137).with(&ends)])
    };
    for (part, method, by_first, force, has_ends) in [
        (0, "score", true, false, false),
        (0, "score", true, true, true),
        (0, "score", false, false, true),
        (3, "score", true, false, true),
        (0, "wilson", true, false, true),
    ] {
        let mut old = run(part, method);
        old.manifest.policies = if by_first { EARLIER } else { RULES }.policies;
        let found = compare(&old, &run(9, method), force).unwrap();
        let row = &found.changes[0];
        assert_eq!(row.status, "compared");
        assert_eq!((row.difference.is_some(), row.lo.is_some()), (true, has_ends), "{row:?}");
        assert_eq!(found.compared.comparable, !by_first);
    }
}

#[test]
fn differences_are_told_once_and_definitions_first() {
    let new = JOB
        .replace("seed: 1", "seed: 2")
        .replace("threshold: 0.5", "threshold: 0.6")
        .replace("gates: {g:", "gates: {h.i:");
    let told = DefinitionChanges::between(&values(JOB), &values(&new), [RULES; 2]).changes();
    let told: Vec<(&str, Option<&str>, Option<&str>, &str)> = told
        .iter()
        .map(|c| (c.path.as_str(), c.old.as_deref(), c.new.as_deref(), c.breaks.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("models.m.threshold", Some("0.5"), Some("0.6"), "decisions of the model m"),
            ("gates.g", Some("at_most: 0.1, metric: sr"), None, ""),
            ("gates.\"h.i\"", None, Some("at_most: 0.1, metric: sr"), ""),
            ("run.seed", Some("1"), Some("2"), ""),
        ]
    );
}

/// Why a change of a fitted set is not judged decides what helps.
#[test]
fn what_is_told_of_a_set_that_was_fitted_again() {
    let world = &format!("{WOMEN}, counterfactual=world");
    let none = lacking("counterfactual=world, scope=total, metric=nsr, family=ccm");
    let with_reference = JOB.replace("  rows:", "  reference: {parquet: past.parquet}\n  rows:");
    let graph = JOB.replace(
        "world: {greedy: {condition_on: label}}",
        "world: {graph-uncertain: {bootstraps: 5}}",
    );
    let run = |job: &str, hash: &str| {
        let mut side = side(job, vec![rate(world, 16, 122), none.clone()]);
        if !hash.is_empty() {
            fitted_on(&mut side, hash);
        }
        side
    };
    let told = |old: ComparedRun, new: ComparedRun, force: bool| {
        let found = compare(&old, &new, force).unwrap();
        let words: Vec<String> =
            found.changes.iter().map(|row| row.ci_method.to_string()).collect();
        assert_eq!(words[0], words[1], "a change without a value says the same");
        assert!(found.changes.iter().all(|row| row.status == "refitted"));
        words[0].clone()
    };
    let fixed = "give the job a fixed `data.reference`";
    let words = told(run(JOB, "a"), run(JOB, "b"), false);
    words.says(&["not fitted on the same rows", fixed]);
    words.lacks(&["in only one of the two runs"]);
    let words = told(run(&with_reference, "a"), run(&with_reference, "b"), false);
    let keep = "after a new model version approve a folder of that version, or keep the reference \
                file the same";
    words.says(&["the rows of `data.reference`", keep]);
    words.lacks(&[fixed, "not fitted on the same rows"]);
    let words = told(run(&graph, "a"), run(&graph, "b"), false);
    words.says(&["keep the training rows the same"]);
    words.lacks(&[fixed]);
    let naive = JOB.replace("world: {greedy: {condition_on: label}}", "world: {naive: {}}");
    let words = told(run(&naive, ""), run(JOB, "b"), true);
    words.says(&["in only one of the two runs"]);
    words.lacks(&["the same rows"]);
}

/// Where both runs say how much their fits depend on their rows, the interval of the change
/// includes it; where one does not, the change is not judged and the reason says which.
#[test]
fn the_doubt_about_both_fits_is_part_of_the_interval() {
    let world = &format!("{WOMEN}, counterfactual=world");
    let run = |part: i64, hash: &str, fit: Option<(Option<f64>, i64)>| {
        let mut row = rate(world, part, 200);
        if let Some((variance, repeats)) = fit {
            (row.fit_var, row.fit_repeats) = (variance, Some(repeats));
        }
        let mut side = side(JOB, vec![row]);
        fitted_on(&mut side, hash);
        side
    };
    let change = |old: ComparedRun, new: ComparedRun| change_of(&old, &new);
    let doubt = |variance: f64, repeats: i64| Some((Some(variance), repeats));
    let plain = change(run(20, "a", None), run(60, "a", None));
    let people = (plain.hi.unwrap() - plain.lo.unwrap()) / 2.0 / 1.959_963_984_540_054;
    // The same fit adds nothing, whatever its doubt is.
    let same = change(run(20, "a", doubt(0.01, 20)), run(60, "a", doubt(0.01, 20)));
    assert_eq!((&same.status, same.lo, same.hi), (&plain.status, plain.lo, plain.hi));
    let row = change(run(20, "a", doubt(4e-4, 20)), run(60, "b", doubt(9e-4, 11)));
    assert!(row.holds("status=compared, interval=satterthwaite"));
    let variance = people * people + 13e-4;
    let freedom = variance * variance / (16e-8 / 19.0 + 81e-8 / 10.0);
    let [lo, hi] = [row.lo.unwrap(), row.hi.unwrap()];
    assert!(((lo + hi) / 2.0 - 0.2).abs() < 1e-12, "{lo} {hi}");
    let half = (hi - lo) / 2.0;
    // Of 88.204 degrees of freedom t is 1.9872.
    assert!((freedom - 88.204).abs() < 1e-3, "{freedom}");
    assert!((half - 1.987_225_692 * variance.sqrt()).abs() < 1e-6, "{half} {variance}");
    let told = "with the doubt about both fits (20 and 11 repeats): Student's t with 88.2 degrees \
                of freedom (Satterthwaite)";
    row.ci_method.says(&[told]);
    assert!(row.clear == 1 && plain.clear == 1);
    // A wide doubt takes the clearness away.
    let row = change(run(20, "a", doubt(0.02, 20)), run(60, "b", doubt(0.02, 20)));
    assert!(row.holds("clear=0, reading="));
    let row = change(run(20, "a", doubt(0.0, 20)), run(60, "b", doubt(0.0, 20)));
    assert_eq!((row.lo, row.hi, row.interval.as_str()), (plain.lo, plain.hi, "newcombe"));
    row.ci_method.says(&["nothing is added"]);
    let mut none = run(20, "a", doubt(1e-4, 20));
    none.metrics[0].value = None;
    let row = change(none, run(60, "b", doubt(1e-4, 20)));
    assert!(row.holds("status=compared, difference=, lo="));
    for (old, new, why) in [
        (None, None, "or let both runs measure that effect with `doubt: {fit: 20}` in the set"),
        (None, doubt(1e-4, 20), "approve a folder of a run with `doubt`"),
        (doubt(1e-4, 20), None, "ask for `doubt` as in the baseline"),
        (doubt(1e-4, 20), Some((None, 3)), "fewer than 95 % of the repeats"),
    ] {
        let row = change(run(20, "a", old), run(60, "b", new));
        assert!(row.holds("status=refitted, lo=, clear=0"), "{why}");
        row.ci_method.says(&[why]);
    }
}

/// With `force` what means something else is compared anyway, and said to be.
#[test]
fn force_compares_what_means_something_else() {
    let value = || vec![rate(WOMEN, 16, 122)];
    let (old, new) =
        (side(JOB, value()), side(&JOB.replace("threshold: 0.5", "threshold: 0.6"), value()));
    let (refused, forced) =
        (compare(&old, &new, false).unwrap(), compare(&old, &new, true).unwrap());
    assert_eq!(
        [refused.compared.comparable, refused.compared.forced, forced.compared.forced],
        [false, false, true]
    );
    assert_eq!(refused.changes.first().unwrap().status.as_str(), "not_comparable");
    assert_eq!(forced.changes.first().unwrap().difference, Some(0.0));
}

/// A ratio that falls to 0 is further from 1 than before, however small it was.
#[test]
fn a_ratio_that_falls_to_0_is_worse() {
    let ratio = lacking(
        "scope=pair, from_group=Female, to_group=Male, metric=di, family=group, ideal=1, \
         undefined=, level=0.95",
    );
    let row =
        change(ratio.with("value=0.1, lo=0.08, hi=0.12"), ratio.with("value=0, lo=0, hi=0.01"));
    assert_eq!(row.reading, "worse");
}

/// Every reason why nothing is judged or paired, and every way to count who is.
#[test]
fn each_reason_has_its_words() {
    let refits = "one_run reference trained rows rows_without_doubt old_undoubted new_undoubted \
                  few_repeats"
        .split(' ')
        .map(|word| serde_json::from_value::<RefitReason>(word.into()).unwrap());
    let paired = |both, rows, only_old| Pairing::Paired { both, rows, only_old, only_new: 0 };
    let pairings = [
        Pairing::NoOutcomes,
        Pairing::Amounts,
        Pairing::Weights,
        Pairing::Persons,
        Pairing::RowIds(["row number", "column id"]),
        Pairing::RowNumbers,
        Pairing::Label,
        Pairing::Nobody,
        paired(1, true, 0),
        paired(2, true, 3),
        paired(1, false, 0),
        Pairing::Paired { both: 2, rows: false, only_old: 1, only_new: 4 },
    ];
    let refits = refits.map(|why| ChangeMethod::from(ChangeProcedure::Refitted(why)));
    let own = || "boundary: all amounts are equal".to_owned();
    let no_interval = || ChangeProcedure::Lacks { run: "new", why: own() };
    let method = |how, unpaired, fits: Option<Option<&str>>| ChangeMethod {
        how,
        unpaired,
        fits: fits.map(|of| AddedFits { repeats: [20, 5], freedom: of.map(str::to_owned) }),
    };
    let methods = [
        method(ChangeProcedure::NotCompared, None, None),
        method(ChangeProcedure::Undefined, None, None),
        method(ChangeProcedure::OtherRule, None, None),
        method(ChangeProcedure::OtherLevels, None, None),
        method(ChangeProcedure::Identical, None, Some(None)),
        method(ChangeProcedure::Newcombe, Some(UnpairedReason::Graphs), Some(Some("19.0"))),
        method(ChangeProcedure::Mover, Some(UnpairedReason::OtherValues), None),
        method(no_interval(), Some(UnpairedReason::NoInterval(own())), None),
        method(ChangeProcedure::Paired("DeLong's variances".to_owned()), None, None),
    ];
    let methods = refits.chain(methods).map(|of| said("method", &of));
    let all = methods.chain(pairings.iter().map(|of| said("pairing", of)));
    let expected: Vec<&str> = include_str!("tests/words.txt").lines().collect();
    assert_eq!(all.collect::<Vec<_>>(), expected);
}
