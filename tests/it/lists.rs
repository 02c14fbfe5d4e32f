//! The lists that people read agree with the program: schemas, shipped jobs, codes of errors.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cfaudit::explain::{FAULT, ISSUE, words_of};
use cfaudit::job::CODES;
use serde_json::Value as Json;

use crate::work::{Says, Work, each_bad_job, root, yaml_files};

/// The schemas of this tree are what the program prints; `CFAUDIT_BLESS=1` rewrites them.
#[test]
fn schemas_are_fresh() {
    let work = Work::new();
    let folder = root().join("schemas");
    for of in ["job", "manifest", "summary"] {
        let printed = work.cfaudit(0, &format!("schema {of}")).stdout;
        assert!(jsonschema::meta::is_valid(&serde_json::from_str(&printed).unwrap()), "{of}");
        let file = folder.join(format!("{of}.schema.json"));
        if std::env::var_os("CFAUDIT_BLESS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&file, &printed).unwrap();
        }
        assert!(
            fs::read_to_string(&file).unwrap() == printed,
            "{} is stale: make schema",
            file.display()
        );
    }
}

/// One of the schemas that the program prints.
pub(crate) fn schema(of: &str) -> jsonschema::Validator {
    let printed = Work::new().cfaudit(0, &format!("schema {of}")).stdout;
    jsonschema::validator_for(&serde_json::from_str(&printed).unwrap()).unwrap()
}

#[track_caller]
pub(crate) fn assert_valid(schema: &jsonschema::Validator, value: &Json, what: &Path) {
    let errors: Vec<String> = schema
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{}:\n{}", what.display(), errors.join("\n"));
}

#[test]
fn shipped_jobs_are_valid() {
    let job_schema = schema("job");
    for folder in ["jobs", "jobs/papers", "tests/jobs"] {
        // What this build does without, its check refuses; half of the papers' jobs include trees.
        let lacking = |text: &str| {
            cfg!(not(feature = "lightgbm"))
                && (folder == "jobs/papers"
                    || text.contains("boosting:")
                    || text.contains("forest:"))
                || cfg!(not(feature = "onnx")) && text.contains("onnx:")
        };
        for file in yaml_files(folder) {
            let text = fs::read_to_string(&file).unwrap();
            if lacking(&text) {
                continue;
            }
            let job: Json = serde_yaml::from_str(&text).unwrap();
            // A job that includes another is whole only with it: its resolved form is judged.
            if job.get("include").is_none() {
                assert_valid(&job_schema, &job, &file);
            }
            // Variables without a default get a value.
            let vars = job.get("vars").and_then(Json::as_object).into_iter().flatten();
            let sets: Vec<String> = vars
                .filter(|(_, v)| *v == "required")
                .map(|(name, _)| format!("--set={name}=1"))
                .collect();
            let mut command = Work::new().command("check --no-data");
            let ran = crate::work::Ran::of(
                command.current_dir(root()).arg(file.strip_prefix(root()).unwrap()).args(&sets),
                0,
            );
            ran.stdout.says(&[": no "]);
            let mut command = Work::new().command("check --no-data --resolved");
            let resolved =
                crate::work::Ran::of(command.current_dir(root()).arg(&file).args(&sets), 0).stdout;
            assert_valid(&job_schema, &serde_yaml::from_str(&resolved).unwrap(), &file);
        }
    }
}

#[test]
fn what_a_run_writes_is_valid() {
    let work = Work::with_jobs();
    let ran = work.run(1, "jobs/gate-demo.yaml", "--set data.rows.synthetic.rows=1000");
    assert_valid(&schema("summary"), &ran.summary(), Path::new("the summary line"));
    for of in ["summary", "manifest"] {
        let file = format!("out/{of}.json");
        assert_valid(&schema(of), &work.json(&file), Path::new(&file));
    }
    let resolved: Json = serde_yaml::from_str(&work.read("out/job.resolved.yaml")).unwrap();
    assert_valid(&schema("job"), &resolved, Path::new("job.resolved.yaml"));
}

/// All code of the library and the binary without its tests.
fn sources(folder: &Path) -> String {
    let mut entries: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let mut text = String::new();
    for path in entries.iter().filter(|path| path.file_stem().is_none_or(|stem| stem != "tests")) {
        if path.is_dir() {
            text += &sources(path);
        } else if path.extension().is_some_and(|e| e == "rs") {
            text += fs::read_to_string(path)
                .unwrap()
                .split("#[cfg(test)]\nmod tests {")
                .next()
                .unwrap();
        }
    }
    text
}

/// The literals that follow `before`, blanks and line ends between.
fn literals<'a>(text: &'a str, before: &str) -> BTreeSet<&'a str> {
    let after = text.split(before).skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
    after.filter_map(|rest| rest.split('"').next()).collect()
}

/// The codes that methods called `fault` are given; some of them take a sentence instead of a
/// code.
fn codes_of_helpers(text: &str) -> BTreeSet<&str> {
    let calls = [".fault(", ".fault_in_row("].into_iter().flat_map(|call| text.match_indices(call));
    let calls = calls.filter(|(at, _)| !text[..*at].ends_with('.'));
    let given = calls.filter_map(|(at, call)| {
        text[at + call.len()..].trim_start().strip_prefix('"')?.split('"').next()
    });
    given.filter(|word| !word.contains(' ')).collect()
}

#[test]
fn every_code_of_a_fault_is_listed_and_every_listed_one_is_used() {
    let text = sources(&root().join("src"));
    let listed: BTreeSet<&str> = words_of(FAULT).map(|(code, _)| code).collect();
    let mut used = literals(&text, "Fault::new(");
    used.extend(codes_of_helpers(&text));
    assert!(used.len() > 20);
    assert_eq!(
        used.difference(&listed).collect::<Vec<_>>(),
        Vec::<&&str>::new(),
        "used and not in `explain/words.txt`"
    );
    let unused: Vec<_> =
        listed.iter().filter(|code| !text.contains(&format!("\"{code}\""))).collect();
    assert!(unused.is_empty(), "in `explain/words.txt` and never used: {unused:?}");
    assert!(words_of(FAULT).is_sorted(), "the faults in `explain/words.txt` are not sorted");
}

#[test]
fn every_code_of_a_problem_is_listed_and_met() {
    let text = sources(&root().join("src"));
    let mut expected = String::new();
    each_bad_job(|job| {
        assert!(!job.expected.is_empty(), "`{}` says no problem", job.name);
        expected += &job.expected;
    });
    let listed: BTreeSet<&str> = CODES.iter().map(|(code, _)| *code).collect();
    let problems = expected.lines().filter_map(|line| line.split(": ").next());
    let met: BTreeSet<&str> =
        problems.filter(|start| *start != "hint").filter_map(|p| p.rsplit(' ').next()).collect();
    assert_eq!(
        met.difference(&listed).collect::<Vec<_>>(),
        Vec::<&&str>::new(),
        "met and not in `messages.txt`"
    );
    // A message that no check says does not compile.
    let messages = fs::read_to_string(root().join("src/job/messages.txt")).unwrap();
    let has_message = |code: &str| {
        let of_code = messages.split("\n\n").find(|part| part.starts_with(&format!("{code}: ")));
        of_code.is_some_and(|part| part.contains("\n  "))
    };
    let unused: Vec<_> = listed
        .iter()
        .filter(|code| !met.contains(*code) && !has_message(code))
        .filter(|code| !text.contains(&format!("\"{code}\"")))
        .collect();
    assert!(unused.is_empty(), "in `messages.txt` and never said: {unused:?}");
    assert!(CODES.is_sorted(), "`messages.txt` is not sorted");
}

/// A user who meets a code may ask for it.
#[test]
fn every_code_can_be_explained() {
    let text = sources(&root().join("src"));
    let work = Work::new();
    let known = work.cfaudit(0, "explain").stdout;
    let words: BTreeSet<&str> =
        known.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let mut codes = literals(&text, "code: ");
    codes.extend(literals(&text, "Fault::new("));
    codes.extend(codes_of_helpers(&text));
    let issues: BTreeSet<&str> = words_of(ISSUE).map(|(code, _)| code).collect();
    let calls = ["issue(", "IssueRow::warning(", "IssueRow::info(", "IssueNote::warning("];
    let met: BTreeSet<&str> = calls.into_iter().flat_map(|call| literals(&text, call)).collect();
    assert!(met.len() > 10 && met.is_subset(&issues), "{met:?}");
    assert!(
        issues.iter().all(|code| text.contains(&format!("\"{code}\"")))
            && words_of(ISSUE).is_sorted()
    );
    codes.extend(issues);
    let unknown: Vec<_> = codes.iter().filter(|code| !words.contains(*code)).collect();
    assert!(unknown.is_empty(), "`cfaudit explain` does not know {unknown:?}");
}
