//! How large the tree is: lines of code by module, lines of templates, messages and tests, words of
//! the documents, and the budget that none may exceed. `make count` prints it.
//!
//! A line of code is neither blank nor a comment nor part of what only tests have, and it counts
//! once for each 100 columns begun, so that longer lines save nothing. Only Rust below `src` is
//! code; Python, JavaScript and JSON there are counted separately, and the texts that tests read
//! are no templates. Documents are counted in words, without what a program writes between the
//! marks `<!-- written by` and `<!-- end -->`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::layers::sources;
use crate::work::root;

/// Modules with one budget: folders and files at the top of `src`, and how many lines of code they
/// may have.
struct ModuleBudget {
    name: &'static str,
    holds: &'static [&'static str],
    ceiling: usize,
}

const fn modules(
    name: &'static str,
    holds: &'static [&'static str],
    ceiling: usize,
) -> ModuleBudget {
    ModuleBudget { name, holds, ceiling }
}

/// The modules with their ceilings, the figures of the last count. Since the count before, `gate`
/// grew by what withdraws a pass: features that a set could not move, knowledge that the rows
/// contradict, doubts that do not decide, people without a stratum or with more counterfactuals
/// than the mean; `report` by the first page saying what slices, errors and the last version tell.
const MODULES: &[ModuleBudget] = &[
    modules("report", &["report"], 12_690),
    modules("metric", &["metric"], 11_680),
    modules("job", &["job"], 8_045),
    modules("stage", &["stage"], 26_210),
    modules("data", &["data"], 16_450),
    modules("counterfactual", &["counterfactual"], 8_260),
    modules("exec, cli, root", &["exec", "cli", "bin", "."], 7_880),
    modules("gate", &["gate"], 4_195),
    modules("model", &["model"], 4_310),
    modules(
        "diff, table, explain, folder, proof",
        &["diff", "table", "explain", "folder", "proof"],
        5_630,
    ),
    modules(
        "num, recourse, causal, why, augment",
        &["num", "recourse", "causal", "why", "augment"],
        9_070,
    ),
];

/// What is counted besides code, with its ceiling. Of the templates 1,330 lines are what metrics
/// are and mean, 590 the words of `cfaudit explain`, 60 the sentences of the reading path and 40
/// the page `judge.html`, without its script; of the words 1,000 are its specification.
const OTHER: &[(&str, usize)] = &[
    ("lines of templates", 7_200),
    ("lines of Python, JavaScript and JSON below src", 1_560),
    ("lines of messages", 1_600),
    ("lines of unit tests", 43_100),
    ("lines of integration tests", 27_390),
    ("words of the documents", 32_000),
    ("characters of the README", 6_630),
];

/// A budget is passed where the figure is more than three per cent above the ceiling.
fn is_within(figure: usize, ceiling: usize) -> bool {
    figure * 100 <= ceiling * 103
}

/// How often a line counts: once for each 100 columns begun, not at all where it is blank.
fn weight(line: &str) -> usize {
    line.trim_end().chars().count().div_ceil(100)
}

/// Lines of code and lines of tests of a Rust file.
fn lines_of(text: &str) -> [usize; 2] {
    let (mut code, mut tests) = (0, 0);
    let mut lines = text.lines();
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        if !line[indent..].starts_with("#[cfg(test)]") {
            code += if is_comment(line) { 0 } else { weight(line) };
            continue;
        }
        // Up to the end of the item, which is no deeper than its attribute.
        tests += weight(line);
        for line in lines.by_ref() {
            tests += if is_comment(line) { 0 } else { weight(line) };
            let starts = line.len() - line.trim_start().len();
            if starts == indent && line.ends_with([';', '}']) {
                break;
            }
        }
    }
    [code, tests]
}

/// The modules that a file declares for tests only, such as `sample` by `#[cfg(test)] mod sample;`.
fn test_modules(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().zip(text.lines().skip(1));
    lines.filter(|(attribute, _)| attribute.trim() == "#[cfg(test)]").filter_map(|(_, item)| {
        Some(item.trim().strip_suffix(';')?.rsplit_once("mod ")?.1.to_owned())
    })
}

/// Whether a file of `src` holds tests only: it is, or lies below, a module that `tests` names by
/// its path without extension.
fn is_test(relative: &Path, tests: &BTreeSet<PathBuf>) -> bool {
    relative.with_extension("").ancestors().any(|module| tests.contains(module))
}

/// Files below a folder whose names end in one of some extensions, in order, without those that
/// the tests of a module read.
fn files(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() && !path.ends_with("tests") {
            files(&path, extensions, found);
        } else if path.extension().is_some_and(|e| extensions.iter().any(|x| e == *x)) {
            found.push(path);
        }
    }
}

/// Lines of a template, and of the scripts in it.
fn lines_of_template(text: &str) -> [usize; 2] {
    let mut lines = [0; 2];
    let mut is_script = false;
    for line in text.lines() {
        is_script |= line.starts_with("<script");
        lines[usize::from(is_script)] += weight(line);
        is_script &= !line.starts_with("</script");
    }
    lines
}

/// Words of a document without what a program writes into it.
fn words(text: &str) -> usize {
    let mut is_written = false;
    let mut n = 0;
    for line in text.lines() {
        is_written |= line.contains("<!-- written by");
        n += if is_written { 0 } else { line.split_whitespace().count() };
        is_written &= !line.contains("<!-- end -->");
    }
    n
}

/// All figures: name, figure, ceiling.
fn figures() -> Vec<(String, usize, usize)> {
    let (root, src) = (root(), root().join("src"));
    let mut all = Vec::new();
    sources(&src, &mut all);
    let mut by_top: BTreeMap<String, usize> = BTreeMap::new();
    let mut unit = 0;
    let texts: Vec<(&Path, String)> = all
        .iter()
        .map(|file| (file.strip_prefix(&src).unwrap(), fs::read_to_string(file).unwrap()))
        .collect();
    let mut of_tests: BTreeSet<PathBuf> = BTreeSet::new();
    for (relative, text) in &texts {
        let module = match relative.file_stem().and_then(|stem| stem.to_str()) {
            Some("mod" | "lib") => relative.parent().unwrap().to_owned(),
            _ => relative.with_extension(""),
        };
        of_tests.extend(test_modules(text).map(|name| module.join(name)));
    }
    for (relative, text) in &texts {
        let relative = *relative;
        let [code, tests] = lines_of(text);
        if is_test(relative, &of_tests) {
            unit += code + tests;
            continue;
        }
        unit += tests;
        let top = relative.parent().and_then(|folder| folder.components().next());
        let top =
            top.map_or_else(|| ".".to_owned(), |top| top.as_os_str().to_string_lossy().into());
        *by_top.entry(top).or_default() += code;
    }
    let mut figures: Vec<(String, usize, usize)> = Vec::new();
    for of in MODULES {
        let n = of.holds.iter().map(|top| by_top.remove(*top).unwrap_or(0)).sum();
        figures.push((format!("lines of code: {}", of.name), n, of.ceiling));
    }
    assert!(by_top.is_empty(), "no budget for {by_top:?}");
    let code = figures.iter().map(|figure| figure.1).sum();
    let ceiling = MODULES.iter().map(|of| of.ceiling).sum();
    figures.push(("lines of code".to_owned(), code, ceiling));
    let count = |folder: &Path, extensions: &[&str], of: &dyn Fn(&str) -> usize| {
        let mut found = Vec::new();
        files(folder, extensions, &mut found);
        found.iter().map(|file| of(&fs::read_to_string(file).unwrap())).sum::<usize>()
    };
    let lines = |text: &str| text.lines().map(weight).sum::<usize>();
    let [templates, scripts] =
        [0, 1].map(|at| count(&src, &["html", "css", "txt"], &|text| lines_of_template(text)[at]));
    let rust = |text: &str| lines_of(text).iter().sum::<usize>();
    let messages = lines(&fs::read_to_string(src.join("job/messages.txt")).unwrap());
    let readme = fs::read_to_string(root.join("README.md")).unwrap().chars().count();
    let other = [
        templates - messages,
        scripts + count(&src, &["py", "json"], &lines),
        messages,
        unit,
        count(&root.join("tests/it"), &["rs"], &rust),
        count(&root.join("docs"), &["md"], &words),
        readme,
    ];
    for ((name, ceiling), figure) in OTHER.iter().zip(other) {
        figures.push(((*name).to_owned(), figure, *ceiling));
    }
    figures
}

/// No figure is more than three per cent above its ceiling.
#[test]
fn the_tree_stays_within_its_budget() {
    let figures = figures();
    println!("{:48} {:>8} {:>8}", "", "today", "ceiling");
    for (name, figure, ceiling) in &figures {
        println!("{name:48} {figure:>8} {ceiling:>8}");
    }
    let above: Vec<_> = figures.iter().filter(|(_, n, ceiling)| !is_within(*n, *ceiling)).collect();
    assert!(above.is_empty(), "more than 3 % above the ceiling: {above:?}");
}

/// Comments, blanks and tests are no code, and a long line counts more than once.
#[test]
fn lines_are_counted_as_they_are_described() {
    let text = "//! About.\n\nfn a() {\n    // why\n    b();\n}\n#[cfg(test)]\nmod tests {\n    \
                fn c() {}\n}\nfn d() {}\n";
    assert_eq!(lines_of(text), [4, 4]);
    assert_eq!([weight(""), weight("a"), weight(&"a".repeat(101))], [0, 1, 2]);
    assert_eq!(words("one two\n<!-- written by x -->\nthree\n<!-- end -->\nfour"), 3);
}
