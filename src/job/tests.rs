//! Tests of reading jobs from text to checked job: sample jobs, hostile files, and every message
//! that a job author can meet.

#[path = "../../tests/support/bad_jobs.rs"]
mod bad_jobs;
mod used_keys;

use std::fmt::Write as _;
use std::path::Path;

use bad_jobs::{each_bad_job, rewritten, subjects};

use super::check::{CheckedJob, read, to_yaml};
use super::{Job, MetricFamily, schema};
use crate::data::prepare::params::OrdinalOrder;
use crate::error::{Error, JobProblem};
use crate::job::read::load::load;
use crate::job::read::{shape, tree};
use crate::param::{ColumnName, Word};

const ADULT: &str = r#"
cfaudit: 1
name: adult-sex
about: {decision: Grant a loan, owner: credit-risk@example.org, version: "${vars.model_version}"}
vars: {model_version: dev}
data:
  rows: {catalog: {name: adult, when_unreachable: stand_in}}
  label: {column: income, positive: [">50K"], favourable: positive}
  sensitive:
    sex: {groups: [Male, Female], reference: Male}
  features:
    continuous: [age, hours-per-week, capital-gain, capital-loss]
    ordinal: {education-num: ascending}
    nominal: [workclass, marital-status, occupation, relationship, race, native-country]
    ignore: [fnlwgt, education]
  missing: {nominal: level, continuous: drop-row}
  split: {column: split, train: [train], audit: [test]}
counterfactuals:
  flip:
    naive: {}
models:
  logit:
    logistic: {l2: 1.0, omit: [sex]}
    threshold: 0.5
metrics:
  families: [ccm, eccm, shift, group]
  interval: {level: 0.95}
  bootstrap: {samples: 2000}
gates:
  women-keep-approvals:
    metric: nsr
    model: logit
    counterfactual: flip
    direction: {sex: [Female, Male]}
    at_most: 0.10
    decide_by: interval
    enough: 50
  four-fifths:
    metric: demp_ratio
    model: logit
    between: {sex: [Female, Male]}
    at_least: 0.80
    decide_by: estimate
    level: warn
    note: a screening ratio from US employment guidance, not a finding of law
on_inconclusive: fail
report: {title: "Counterfactual fairness of the income model", rows_shown: 20}
run: {seed: 20231107}
"#;

const COMPAS: &str = r"
cfaudit: 1
name: compas-race
data:
  rows: {catalog: compas}
  row_id: id
  keep:
    - {race: {in: [African-American, Caucasian]}}
  label: {column: two_year_recid, positive: [1], favourable: negative}
  sensitive:
    race: {groups: [African-American, Caucasian], reference: Caucasian}
  features:
    continuous: [age, juv_fel_count, priors_count]
    nominal: [sex, c_charge_degree]
  split: {share: {train: 0.8, audit: 0.2}, stratify: label}
counterfactuals: {flip: naive}
models:
  logistic: {logistic: {l2: 1.0, omit: [race]}}
run: {seed: 7}
";

/// Every key of a command.
const COMMAND: &str = include_str!("../../tests/jobs/command.yaml");

const CREDIT: &str = r#"
cfaudit: 1
name: credit-live
vars:
  asof: required
  cut: 0.5
data:
  rows: {parquet: "lake/decisions/asof=${vars.asof}/*.parquet"}
  row_id: application_id
  label: none
  sensitive:
    sex: {groups: [no, yes], reference: yes}
  features: {continuous: [income]}
counterfactuals:
  flip:
    naive:
models:
  live:
    scores:
      factual: {column: score}
      counterfactual:
        parquet: "lake/cf-scores/asof=${vars.asof}/{counterfactual}.parquet"
        column: score
    threshold: {column: cutoff}
  fixed:
    scores: {factual: {column: score}, counterfactual: {parquet: cf.parquet, column: score}}
    threshold: ${vars.cut}
metrics:
  families: [ccm, shift, group]
gates:
  any-group-loses:
    {metric: nsr, model: live, counterfactual: flip, direction: any, at_most: 0.05, enough: 200}
on_inconclusive: warn
"#;

const DEMO: &str = r#"
cfaudit: 1
name: demo
data:
  rows:
    synthetic:
      rows: 2000
      columns:
        group: {levels: {a: 0.6, b: 0.4}}
        skill: {linear: {intercept: 0, effects: {"group=b": -0.5}, noise: {normal: {sd: 1}}}}
        hired: {logit: {intercept: -0.2, effects: {skill: 1.5}}}
  label: {column: hired, positive: [1], favourable: positive}
  sensitive: {group: {groups: [a, b], reference: a}}
  features: {continuous: [skill]}
  split: {folds: 5}
models:
  logit: {logistic: {l2: 1}}
"#;

const ROLES: &str = r#"
cfaudit: 1
name: roles
data:
  rows: {parquet: people.parquet}
  derive:
    age_class: {from: age, levels: {young: [18, 40], old: [40, 90]}}
    work: {from: job, map: {hands: [smith], head: [clerk, 1.0]}, else: rest}
    work_by_age: {cross: [work, age_class]}
  duplicates: drop-exact
  label: {column: repaid, positive: [1], favourable: positive}
  weight: people
  sensitive:
    sex: {groups: [f, m], reference: m}
    work: {reference: head}
    band:
      from: age
      bins: [18, 30, 45.5, 70]
      groups: ["[18, 30]", "(30, 45.5]"]
      reference: "[18, 30]"
    both: {cross: [sex, work]}
    all: {cross: [both, band], reference: "f & rest & (30, 45.5]"}
  features: {continuous: [age], ordinal: {age_class: [young, old]}, nominal: [band, job]}
  missing: {null_values: {job: ["?", none], age: [0]}}
  split: {share: {train: 0.5, audit: 0.5}}
counterfactuals: {flip: {naive: {}}}
models: {logit: {logistic: {l2: 1}}}
gates:
  all:
    metric: nsr
    model: logit
    counterfactual: flip
    direction: {all: ["f & hands & [18, 30]", "m & rest & [18, 30]"]}
    at_most: 0.1
"#;

fn checked(text: &str, sets: &[&str]) -> Result<CheckedJob, Vec<JobProblem>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.yaml");
    std::fs::write(&file, text).unwrap();
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    match read(&file, &sets) {
        Ok(job) => Ok(job),
        Err(Error::Job(problems)) => Err(problems),
        Err(other) => panic!("{other}"),
    }
}

#[track_caller]
fn good(text: &str, sets: &[&str]) -> CheckedJob {
    checked(text, sets).unwrap_or_else(|problems| panic!("{}", Error::Job(problems)))
}

#[test]
fn sample_jobs_hold() {
    good(ADULT, &[]);
    good(COMPAS, &[]);
    // A range may be one number.
    let one = "age: {between: [30, 30]}";
    good(&COMPAS.replace("race: {in: [African-American, Caucasian]}", one), &[]);
    good(DEMO, &[]);
    good(ROLES, &[]);
    let credit = good(CREDIT, &["asof=2026-01-31"]);
    let Some(super::ParquetRows::Pattern(path)) = &credit.job.data.rows.parquet else {
        panic!("{:?}", credit.job.data.rows)
    };
    assert_eq!(path, "lake/decisions/asof=2026-01-31/*.parquet");
    // A variable that stands alone may be a number; words that other parsers take for booleans stay
    // text.
    assert_eq!(
        credit.job.models["fixed"].threshold,
        crate::model::kind::threshold_key::ThresholdBlock::default()
    );
    assert_eq!(credit.job.data.sensitive["sex"].reference.as_ref().unwrap().as_str(), "yes");
}

/// A gate on harm names its attribute once it is resolved, and reads back; what it makes of the
/// groups is many comparisons.
#[test]
fn gates_on_harm_read_back() {
    let gate = "  no-harm: {harm_to: {sex: Female}, model: logit, counterfactual: flip, at_most: \
                0.1, family_error: holm}\n";
    let job = good(&ADULT.replace("on_inconclusive:", &format!("{gate}on_inconclusive:")), &[]).job;
    let harm = &job.gates["no-harm"];
    assert_eq!(
        (harm.sensitive.as_ref().map(ColumnName::as_str), harm.metric.as_deref()),
        (Some("sex"), None)
    );
    assert_eq!(harm.harm_to.as_ref().unwrap().values().next().unwrap().as_str(), "Female");
    assert_eq!(good(&to_yaml(&job), &[]).job, job);
}

/// Observed amounts become a derived column of two bins; `better` says which of them people want.
#[test]
fn observed_amounts_become_a_label() {
    let text = "cfaudit: 1\nname: quotes\ndata:\n  rows: {parquet: quotes.parquet}\n  label: \
                {amount: claims}\n  sensitive: {sex: {groups: [f, m], reference: m}}\n  features: \
                {continuous: [age]}\ncounterfactuals: {flip: naive}\nmodels:\n  tariff:\n    \
                decision: {amount: premium, better: lower, matters_from: 5%, counterfactual: \
                {parquet: c.parquet}}\nmetrics: {families: [amounts, clarify], clarify: \
                {positive_above: 250}}\n";
    let job = good(text, &[]).job;
    let label = job.data.label.column().unwrap();
    assert_eq!(label.column.as_str(), "claims above 250");
    assert_eq!((label.positive[0].as_str(), label.favours_positive()), ("above 250", false));
    let derived = job.data.derived();
    let names: Vec<Word> = derived[0].1.declared_names();
    assert_eq!(names, ["at most 250", "above 250"].map(|name| Word(name.to_owned())));
    assert_eq!(good(&to_yaml(&job), &[]).job, job);
    let higher = text.replace("lower", "higher").replace("{amount: claims}", "none");
    let job = good(&higher, &[]).job;
    assert_eq!(job.data.favourable, Some(super::FavourableClass::Positive));
    assert_eq!(good(&to_yaml(&job), &[]).job, job);
}

#[test]
fn resolved_jobs_read_back() {
    for (text, sets) in [
        (ADULT, vec![]),
        (COMPAS, vec![]),
        (DEMO, vec![]),
        (ROLES, vec![]),
        (COMMAND, vec![]),
        (CREDIT, vec!["asof=1"]),
    ] {
        let job = good(text, &sets);
        let yaml = to_yaml(&job.job);
        let again = good(&yaml, &[]);
        assert_eq!(again.job, job.job, "{yaml}");
        assert_eq!(again.hash, job.hash);
        let guard: Job = serde_yaml::from_str(&yaml).unwrap();
        assert_eq!(guard.name, job.job.name);
    }
}

#[test]
fn defaults_are_written_out() {
    let job = good(COMPAS, &[]).job;
    use MetricFamily::{Ccm, Eccm, Group, Performance, Shift};
    assert_eq!(job.metrics.families, Some(vec![Performance, Group, Ccm, Eccm, Shift]));
    assert_eq!(job.report.title.as_deref(), Some("compas-race"));
    assert_eq!(job.counterfactuals["flip"].sensitive.as_ref().map(Vec::len), Some(1));
    assert_eq!(good(DEMO, &[]).job.metrics.families, Some(vec![Performance, Group]));
    // A model that no set asks needs no scores of counterfactuals.
    let models = "models:\n  seen: {decision: {column: hired, positive: [1]}}\n";
    let sets = "counterfactuals: {flip: {naive: {}, models: [logit]}}\n";
    let text = DEMO
        .replace("models:\n", &format!("{sets}{models}"))
        .replace("split: {folds: 5}", "split: {share: {train: 0.5, audit: 0.5}}");
    assert_eq!(
        good(&text, &[]).job.metrics.families,
        Some(vec![Performance, Group, Ccm, Eccm, Shift])
    );
    assert_eq!(
        good(ADULT, &[]).job.gates["four-fifths"].sensitive.as_ref().map(|c| c.as_str()),
        Some("sex")
    );
}

#[test]
fn texts_that_look_like_numbers_survive() {
    let text = DEMO.replace(
        "groups: [a, b], reference: a",
        "groups: [012, 1e3, 1.0, null, ~], reference: 1.0",
    );
    let problems = checked(&text, &[]).unwrap_err();
    assert!(problems.iter().any(|p| p.code == "empty-value"), "{problems:?}");
    let text = COMPAS.replace(
        "[African-American, Caucasian], reference: Caucasian",
        "[012, 1e3, 1.0, 'null', \"true\", 'a: b #c'], reference: 1.0",
    );
    let job = good(&text, &[]);
    let groups: Vec<&str> =
        job.job.data.sensitive["race"].groups.iter().map(|g| g.as_str()).collect();
    assert_eq!(groups, ["012", "1e3", "1.0", "null", "true", "a: b #c"]);
    assert_eq!(good(&to_yaml(&job.job), &[]).job, job.job);
}

/// What `job.resolved.yaml` holds must be what was run, regardless of the form of the texts.
#[test]
fn any_text_survives_the_resolved_job() {
    let nasty = "yes¦0x1F¦.inf¦1_000¦- a¦a: b¦a #b¦#a¦ a ¦a\nb¦a\n\n  b\n¦\ttab¦'¦\"¦\\¦{a}¦[a¦>50K¦\
                 |x¦*x¦&x¦!x¦%x¦@x¦`x¦?¦-¦:¦=¦<<¦---¦...¦null¦~¦true¦é𝄞¦\u{a0}¦\u{feff}x¦\u{85}¦\
                 \u{2028}¦\r\n¦\u{7}";
    let long = "a long text that goes on and on, beyond the width at which some writers \
                fold a line: and then some more,   with spaces";
    let mut job = good(DEMO, &[]).job;
    for text in nasty.split('¦').chain([long]) {
        job.report.title = Some(text.to_owned());
        job.data.label = super::LabelRole::Column(super::LabelColumn {
            column: crate::param::ColumnName::new(text).unwrap(),
            positive: vec![super::Word(text.to_owned())],
            negative: None,
            classes: None,
            favourable: super::FavourableClass::Negative,
            words: None,
        });
        job.data.features.ordinal = [(
            crate::param::ColumnName::new(text).unwrap(),
            OrdinalOrder::Levels(vec![super::Word(text.to_owned())]),
        )]
        .into();
        let yaml = to_yaml(&job);
        let root = tree::parse("job.resolved.yaml", &yaml)
            .unwrap_or_else(|p| panic!("{text:?}: {p:?}\n{yaml}"));
        let read = shape::read_job(&root, Vec::new());
        assert_eq!(read.job.as_ref(), Some(&job), "{text:?} {:?}\n{yaml}", read.problems);
        assert!(read.problems.is_empty(), "{text:?} {:?}\n{yaml}", read.problems);
    }
}

#[test]
fn values_from_the_command_line() {
    let sets = [
        "model_version=2026.11",
        "gates.four-fifths.level=fail",
        "metrics.min_group_size=5",
        "run.keep_rows=none",
        "on_inconclusive=warn",
        "data.split={folds: 3}",
        "report={title: Women}",
    ];
    let job = good(ADULT, &sets);
    assert_eq!(job.job.report.title.as_deref(), Some("Women"));
    assert_eq!(job.job.about.as_ref().unwrap().version.as_deref(), Some("2026.11"));
    assert_eq!(job.job.metrics.min_group_size.get(), 5);
    assert_eq!(job.job.run.keep_rows, Some(super::KeepRows::None));
    assert_eq!(job.job.data.split.unwrap().folds.unwrap().get(), 3);
    assert_eq!(job.sets, sets);
    assert_eq!(
        job.places.at("gates.four-fifths.level").unwrap().to_string(),
        "--set gates.four-fifths.level=fail"
    );

    for (set, text) in [
        (
            "asof=1",
            "error[unknown-name]: no variable `asof` is declared\n  --> --set asof=1\n  hint: \
             declared under `vars`: `model_version`; anything else needs its full path, such as \
             `run.seed`",
        ),
        (
            "gates.four-fifth.level=fail",
            "error[unknown-name]: no gate is called `four-fifth`\n  --> --set \
             gates.four-fifth.level=fail\n  hint: did you mean `four-fifths`? known names: \
             `women-keep-approvals`, `four-fifths`",
        ),
        (
            "experiments.agument.folds=3",
            "error[unknown-name]: no experiment is called `agument`\n  --> --set \
             experiments.agument.folds=3\n  hint: known names: none",
        ),
        (
            "data.features.onehot.town={}",
            "error[unknown-name]: no one-hot group is called `town`\n  --> --set \
             data.features.onehot.town={}\n  hint: known names: none",
        ),
        (
            "run.sed=1",
            "error[unknown-key]: unknown key `sed` in `run`\n  --> --set run.sed=1\n  hint: did \
             you mean `seed`? known keys: `seed`, `keep_rows`, `to_score`",
        ),
        (
            "run.seed=x",
            "error[wrong-type]: `run.seed` must be a whole number of at least 0, found `x`\n  --> \
             --set run.seed=x",
        ),
        (
            "seed",
            "error[bad-set]: `seed` is not PATH=VALUE\n  --> --set seed\n  hint: write `--set \
             NAME=VALUE` for a variable, or a full path such as `--set \
             gates.four-fifths.level=fail`",
        ),
        (
            "run.seed=[1",
            "error[yaml-syntax]: the bracket `[` is not closed\n  --> --set run.seed=[1\n  hint: \
             check the brackets and commas, and quote values that hold `{`, `}`, `[`, `]` or `,`",
        ),
        (
            "run.seed=,",
            "error[yaml-syntax]: this is not YAML: unexpected EOF while parsing a block \
             sequence\n  --> --set run.seed=,\n  hint: quote the value for YAML and for the shell: \
             `--set 'run.seed=\",\"'`",
        ),
        (
            "name.x=1",
            "error[bad-set]: `name` is `adult-sex`, not a map that could contain `x`\n  --> --set \
             name.x=1\n  hint: set the whole value: `--set name=...`",
        ),
    ] {
        let problems = checked(ADULT, &[set]).unwrap_err();
        assert_eq!(Error::Job(problems).to_string(), text);
    }
}

#[test]
fn keys_with_dots_can_be_set() {
    let text = ADULT.replace("four-fifths:", "four.fifths:");
    let job = good(&text, &["gates.\"four.fifths\".level=fail"]);
    assert_eq!(job.job.gates["four.fifths"].level, super::GateLevel::Fail);
    assert_eq!(job.places.at("gates.\"four.fifths\".metric").unwrap().line, 39);
}

#[test]
fn bytes_that_do_not_matter() {
    let plain = good(COMPAS, &[]);
    let windows = good(&format!("\u{feff}{}", COMPAS.replace('\n', "\r\n")), &[]);
    assert_eq!(plain.job, windows.job);
    assert_eq!(
        plain.places.at("run.seed").map(|p| (p.line, p.column)),
        windows.places.at("run.seed").map(|p| (p.line, p.column))
    );
    assert_eq!(plain.hash, windows.hash);
}

#[test]
fn places_count_characters() {
    let text = COMPAS
        .replace("name: compas-race", "name: compas-race\nabout: {owner: \"é𝄞\", decision: x}");
    let job = good(&text, &[]);
    let at = job.places.at("about.decision").unwrap();
    assert_eq!((at.line, at.column), (4, 32));
}

#[test]
fn schema_takes_the_samples() {
    let schema = schema::job_schema();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let bare = DEMO.replace(
        "split: {folds: 5}",
        "keep: [{skill: present}, {skill: {missing: {}}}]\n  split: {folds: \"${vars.n}\"}\n  \
         missing: {nominal: \"${vars.m}\"}",
    );
    for text in [ADULT, COMPAS, CREDIT, COMMAND, DEMO, &bare] {
        let value = json(&tree::parse("job.yaml", text).unwrap());
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert_eq!(errors, [""; 0], "{text}");
    }
    for (from, to) in [
        ("naive: {}", "nave: {}"),
        ("level: 0.95", "level: 2"),
        ("reference: Male", "refrence: Male"),
        ("logistic: {l2: 1.0", "scores: {factual: {column: s}}\n    logistic: {l2: 1.0"),
        ("l2: 1.0, ", ""),
    ] {
        assert!(ADULT.contains(from));
        let value = json(&tree::parse("job.yaml", &ADULT.replace(from, to)).unwrap());
        assert!(!validator.is_valid(&value), "{to}");
    }
    assert!(schema::job_schema_text().ends_with("}\n"));
}

/// The tree as an editor's YAML plug-in sees it.
fn json(node: &tree::YamlNode) -> serde_json::Value {
    match &node.value {
        tree::YamlValue::Scalar(s) if s.is_null() => serde_json::Value::Null,
        tree::YamlValue::Scalar(s) if s.quoted => s.text.clone().into(),
        tree::YamlValue::Scalar(s) => {
            serde_json::from_str(&s.text).unwrap_or_else(|_| s.text.clone().into())
        }
        tree::YamlValue::Seq(items) => items.iter().map(json).collect(),
        tree::YamlValue::Map(entries) => serde_json::Value::Object(
            entries.iter().map(|(k, v)| (k.text.clone(), json(v))).collect(),
        ),
    }
}

#[test]
fn hostile_files_end_quickly() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        let _ = writeln!(bomb, "a{i}: &a{i} [{}]", vec![format!("*a{}", i - 1); 9].join(", "));
    }
    let cases = [
        (bomb, "yaml-too-large"),
        ("[".repeat(1_000_000), "yaml-too-deep"),
        ("- ".repeat(1_000_000), "yaml-too-deep"),
        ("{a: ".repeat(1_000_000), "yaml-too-deep"),
        (format!("a: [{}]", "1,".repeat(300_000)), "yaml-too-large"),
        (
            (0..300_000).fold(String::new(), |mut s, i| {
                let _ = writeln!(s, "k{i}: 1");
                s
            }),
            "yaml-too-large",
        ),
        ("a: &a [*a]".to_owned(), "yaml-syntax"),
        ("\"".repeat(3), "yaml-syntax"),
        ("\u{0}".to_owned(), "yaml-syntax"),
        ("? [a]\n: b".to_owned(), "yaml-key"),
    ];
    for (text, code) in cases {
        let start: String = text.chars().take(20).collect();
        let problems = tree::parse("job.yaml", &text).unwrap_err();
        assert!(problems.iter().any(|p| p.code == code), "{start}: {problems:?}");
    }
}

/// Any text gives a job or problems, never a panic: each sample is cut and disturbed at
/// every twentieth character.
#[test]
fn disturbed_jobs_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.yaml");
    for text in [ADULT, CREDIT, COMMAND, DEMO, ROLES] {
        for (at, _) in text.char_indices().step_by(20) {
            for junk in ["", ": ", "[", "{", "- ", "\n", "~", "\t", "&a ", "*a", "\"", "${", "!x "]
            {
                let disturbed =
                    format!("{}{junk}{}", &text[..at], &text[at + usize::from(junk.is_empty())..]);
                if let Ok(root) = tree::parse("job.yaml", &disturbed) {
                    let read = shape::read_job(&root, Vec::new());
                    assert!(read.job.is_some(), "{disturbed}\n{:?}", read.problems);
                }
                if at % 60 == 0 && !disturbed.is_empty() {
                    std::fs::write(&file, &disturbed).unwrap();
                    let _ = read(&file, &[]);
                }
            }
        }
    }
}

#[test]
fn included_files_are_merged_and_hashed() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    };
    write(
        "base/columns.yaml",
        "include: [more.yaml]\ndata:\n  sensitive:\n    group: {groups: [a, b, c], reference: \
         b}\n  features: {continuous: [x]}\n",
    );
    write("base/more.yaml", "run: {seed: 3, keep_rows: none}\n");
    let job = DEMO
        .replace("name: demo\n", "name: demo\ninclude: [base/columns.yaml]\nrun: {seed: 9}\n")
        .replace(
            "sensitive: {group: {groups: [a, b], reference: a}}",
            "sensitive: {group: {groups: [a, b]}}",
        );
    let checked = read(&write("job.yaml", &job), &[]).unwrap();
    assert_eq!(checked.job.run.seed.0, 9);
    assert_eq!(checked.job.run.keep_rows, Some(super::KeepRows::None));
    assert_eq!(checked.job.data.sensitive["group"].groups.len(), 2, "lists are replaced");
    assert_eq!(
        checked.job.data.sensitive["group"].reference.as_ref().unwrap().as_str(),
        "b",
        "maps are merged"
    );
    let names: Vec<&str> =
        checked.includes.iter().map(|i| i.path.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["columns.yaml", "more.yaml"]);
    assert!(checked.includes.iter().all(|i| i.sha256.len() == 64));
    assert!(
        checked
            .places
            .at("data.sensitive.group.reference")
            .unwrap()
            .file
            .ends_with("base/columns.yaml")
    );
    assert!(checked.job.include.is_empty());
}

/// The file that production jobs share: binned and crossed attributes, which no model trained here
/// has to set.
#[test]
fn shared_columns_with_derived_attributes_hold() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("credit-columns.yaml"),
        r#"
data:
  sensitive:
    sex: {groups: [female, male], reference: male}
    age_band: {from: age, bins: [17, 30, 45, 62, 120], reference: "(30, 45]"}
    sex_age: {cross: [sex, age_band]}
  features:
    continuous: [age, income, employment_years, utilisation, open_accounts]
    nominal: [region, channel, purpose]
"#,
    )
    .unwrap();
    let file = folder.path().join("job.yaml");
    let job = CREDIT
        .replace("name: credit-live\n", "name: credit-live\ninclude: [credit-columns.yaml]\n")
        .replace(
            "  sensitive:\n    sex: {groups: [no, yes], reference: yes}\n  features: \
             {continuous: [income]}\n",
            "",
        );
    std::fs::write(&file, job).unwrap();
    let job = read(&file, &["asof=1".to_owned()]).unwrap_or_else(|e| panic!("{e}")).job;
    let groups =
        |name: &str| job.data.sensitive[name].groups.iter().map(|g| g.as_str()).collect::<Vec<_>>();
    assert_eq!(groups("age_band"), ["[17, 30]", "(30, 45]", "(45, 62]", "(62, 120]"]);
    assert_eq!((groups("sex_age").len(), groups("sex_age")[7]), (8, "male & (62, 120]"));
    // Rows to score show that the sex changes, and not the age, which stays where it is.
    let column = |name: &str| ColumnName::new(name).unwrap();
    assert_eq!(
        ["sex", "age_band", "sex_age"].map(|name| job.data.is_unshown(&column(name))),
        [false, true, false]
    );
    assert_eq!(
        ["sex", "age_band", "sex_age"].map(|name| job.data.first_unseen(&column(name)).is_some()),
        [false, true, true]
    );
    // Of the cross a direction is shown where the sex changes too.
    let word = |group: &str| Word(group.to_owned());
    let shown =
        |from, to| !job.data.is_direction_unshown(&column("sex_age"), &word(from), &word(to));
    assert!(
        shown("male & [17, 30]", "female & (45, 62]")
            && shown("female & [17, 30]", "male & [17, 30]")
    );
    assert!(
        !shown("male & [17, 30]", "male & (62, 120]")
            && !shown("female & (30, 45]", "female & [17, 30]")
    );
    assert_eq!(
        job.data.sensitive["sex_age"].reference.as_ref().unwrap().as_str(),
        "male & (30, 45]"
    );
    // Written out, it reads back to the same job.
    let again = good(&to_yaml(&job), &[]);
    assert_eq!(again.job, job);
}

/// A problem as files of refused jobs have it: the file only where it is another one.
fn printed_problem(problem: &JobProblem, folder: &Path, name: &str) -> String {
    let text = problem.to_string().replace(&format!("{}/", folder.display()), "");
    let (error, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let error = error.strip_prefix("error[").unwrap().replacen("]:", ":", 1);
    let (place, hint) = match rest.strip_prefix("  --> ") {
        Some(placed) => placed.split_once('\n').unwrap_or((placed, "")),
        None => ("", rest),
    };
    let place = place.strip_prefix(&format!("{name}.yaml:")).unwrap_or(place);
    [format!("{place} {error}").trim(), hint.trim()]
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Every sentence that a job author can meet.
#[test]
fn bad_jobs_say_what_is_wrong() {
    for base in std::fs::read_dir("tests/jobs/bad/base").unwrap() {
        read(&base.unwrap().path(), &[]).unwrap_or_else(|error| panic!("{error}"));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(format!("{name}.yaml"));
    // All before the first is read: one includes another.
    each_bad_job(|job| std::fs::write(path(job.name), &job.text).unwrap());
    let bless = std::env::var_os("CFAUDIT_BLESS").is_some();
    let mut codes = std::collections::BTreeSet::new();
    let mut wrong = Vec::new();
    for (file, cases) in subjects() {
        let now = rewritten(&cases, |job| {
            let problems = match read(&path(job.name), &[]) {
                Err(Error::Job(problems)) => problems,
                Ok(_) => panic!("{} is a good job", job.name),
                Err(other) => panic!("{}: {other}", job.name),
            };
            for problem in &problems {
                assert!(
                    super::CODES.iter().any(|(code, _)| *code == problem.code),
                    "`{}` is not in CODES",
                    problem.code
                );
                assert!(problem.place.is_some(), "{}: no place: {problem}", job.name);
                assert!(!problem.what.ends_with('.') && problem.what.len() > 5, "{problem}");
                codes.insert(problem.code);
            }
            let said: String =
                problems.iter().map(|p| printed_problem(p, folder.path(), job.name)).collect();
            if said != job.expected {
                wrong.push(format!("== {}\n{said}", job.name));
            }
            said
        });
        if bless {
            std::fs::write(&file, now).unwrap();
        }
    }
    assert!(bless || wrong.is_empty(), "{}", wrong.concat());
    // These need a command line, a file that is not there or no text, data, the file of a model, a
    // build without a feature, little memory, or more lines than a person would write.
    let elsewhere = [
        "bad-set",
        "model-class",
        "model-columns",
        "model-threshold",
        "needs-bins",
        "no-such-file",
        "not-a-job-file",
        "not-built",
        "not-utf8",
        "too-many-groups",
        "too-many-problems",
        "yaml-too-large",
        "yaml-too-deep",
    ];
    let missing: Vec<&str> = super::CODES
        .iter()
        .map(|(code, _)| *code)
        .filter(|code| !codes.contains(code) && !elsewhere.contains(code))
        .collect();
    assert_eq!(missing, [""; 0], "codes without a bad job");
}

#[test]
fn only_the_first_problems_are_shown() {
    let sets: String = (0..60).map(|i| format!("  set-{i}: {{naiv: {{}}}}\n")).collect();
    let text =
        COMPAS.replace("counterfactuals: {flip: naive}", &format!("counterfactuals:\n{sets}"));
    let problems = checked(&text, &[]).unwrap_err();
    let (last, shown) = problems.split_last().unwrap();
    assert_eq!(shown.len(), 50);
    for (i, problem) in shown.iter().cloned().enumerate() {
        let place = problem.place.as_ref().unwrap();
        assert_eq!((place.line, place.column), (17 + i as u64, if i < 10 { 11 } else { 12 }));
        let set = format!("counterfactuals.set-{i}");
        assert_eq!(problem.what, format!("unknown key `naiv` in `{set}`"));
        assert_eq!(problem.code, "unknown-key");
        assert!(problem.hint.unwrap().starts_with("did you mean `naive`? known keys: `naive`, "));
    }
    assert_eq!(
        last.to_string(),
        "error[too-many-problems]: 50 problems are shown, and there may be more\n  hint: correct \
         these first"
    );
}

#[test]
fn bytes_that_are_no_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.yaml");
    std::fs::write(&file, b"cfaudit: 1\nname: pr\xeats\n").unwrap();
    let Err(Error::Job(problems)) = read(&file, &[]) else { panic!("not refused") };
    assert_eq!(
        problems.iter().map(|p| printed_problem(p, folder.path(), "job")).collect::<String>(),
        "2:9 not-utf8: `job.yaml` is not UTF-8\nhint: save it as UTF-8\n"
    );
}

#[test]
fn absent_job() {
    let Err(Error::Job(problems)) = load(Path::new("tests/jobs/bad/base/loan.yaml"), &[]) else {
        panic!()
    };
    assert!(
        problems[0]
            .hint
            .as_ref()
            .unwrap()
            .contains("did you mean `tests/jobs/bad/base/loans.yaml`?"),
        "{}",
        problems[0]
    );
    let Err(Error::Job(problems)) = load(Path::new("nowhere/x.yaml"), &[]) else { panic!() };
    assert_eq!(
        problems[0].hint.as_deref(),
        Some("there is no folder `nowhere`; paths are relative to the working directory")
    );
}
