//! Runs the cases of `tests/cases`: each folder holds small generated inputs and `expect.json`,
//! which says what the program must do with them; `tests/cases/README.md` describes the format.
//! Cases without packages, and those that need only the ONNX runtime, run in `make test`; those of
//! a Python model run in `make python`, with the interpreter of `CFAUDIT_PYTHON`.
//! `CFAUDIT_CASES=NAME,NAME` runs only these.

use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use fancy_regex::Regex;
use serde_json::{Map, Value as Json, json};

use crate::python::interpreter;
use crate::work::{Says, Work, root, skip};

#[path = "../support/json_frame.rs"]
mod json_frame;

/// The keys of a value that choose its row of `metrics`, with the columns that hold them.
const VALUE_KEYS: [(&str, &str); 10] = [
    ("metric", "metric"),
    ("model", "model"),
    ("from", "from_group"),
    ("to", "to_group"),
    ("set", "counterfactual"),
    ("attribute", "sensitive"),
    ("scope", "scope"),
    ("class", "class"),
    ("arm", "arm"),
    ("slice", "slice"),
];

/// The one package that the program finds by itself.
const ONNX: &str = "onnxruntime";

type JsonRow = BTreeMap<String, Json>;

/// A server that a step starts; it ends with the step.
struct StepServer(Child);

impl Drop for StepServer {
    fn drop(&mut self) {
        let ended = self.0.kill().and_then(|()| self.0.wait());
        assert!(ended.is_ok(), "the server of a case does not end");
    }
}

/// One case in a copy of its folder.
struct SeamCase {
    work: Work,
    expect: Json,
    python: Option<String>,
    runs: usize,
    lacks_runtime: bool,
}

/// What a key of a step lists: nothing where it is absent, one value without brackets.
fn listed<'a>(of: &'a Json, key: &str) -> &'a [Json] {
    match &of[key] {
        Json::Null => &[],
        Json::Array(all) => all,
        one => std::slice::from_ref(one),
    }
}

fn members(of: &Json) -> impl Iterator<Item = (&String, &Json)> {
    static NONE: LazyLock<Map<String, Json>> = LazyLock::new(Map::new);
    of.as_object().unwrap_or(&NONE).iter()
}

/// A value as a text file would show it; null is the empty text.
fn shown(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A number, also of a column of wide decimals, which is read as text.
fn number(value: &Json) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

fn is_same(found: &Json, wanted: &Json) -> bool {
    match wanted {
        Json::Number(_) => number(found) == number(wanted),
        _ => found == wanted,
    }
}

fn is_near(found: &Json, wanted: &Json, tolerance: f64) -> bool {
    match (number(found), number(wanted)) {
        (Some(x), Some(y)) => (x - y).abs() <= tolerance.max(tolerance * y.abs()),
        (None, None) => true,
        _ => false,
    }
}

fn found(pattern: &Json, flags: &str, text: &str) -> bool {
    let pattern = format!("(?{flags}){}", pattern.as_str().unwrap());
    Regex::new(&pattern).unwrap().is_match(text).unwrap_or_else(|e| panic!("{pattern}: {e}"))
}

/// The text of a page: no tags, no scripts, single blanks.
pub(crate) fn text_of(page: &str) -> String {
    let bare = Regex::new(r"(?s)<(style|script).*?</\1>|<[^>]*>").unwrap();
    let mut text = bare.replace_all(page, " ").into_owned();
    for (entity, sign) in [
        ("&nbsp;", " "),
        ("&#x27;", "'"),
        ("&#39;", "'"),
        ("&quot;", "\""),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&#x2f;", "/"),
        ("&amp;", "&"),
    ] {
        text = text.replace(entity, sign);
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            // The bytes alone: a read-only original stays no obstacle to a step that writes.
            fs::write(&target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

fn rows_of(file: &Path) -> Vec<JsonRow> {
    let frame = json_frame::read(file);
    let n = frame.values().map(Vec::len).max().unwrap_or(0);
    let row = |i: usize| frame.iter().map(|(name, all)| (name.clone(), all[i].clone())).collect();
    (0..n).map(row).collect()
}

fn parquet_below(folder: &Path) -> Vec<PathBuf> {
    let files = crate::work::files(folder);
    files.keys().filter(|name| name.ends_with(".parquet")).map(|name| folder.join(name)).collect()
}

impl SeamCase {
    fn new(folder: &Path, expect: Json, python: Option<String>) -> Self {
        let work = Work::new();
        copy_all(folder, &work.path(""));
        SeamCase { work, expect, python, runs: 0, lacks_runtime: false }
    }

    /// Everything that is wrong; empty where the case holds.
    fn wrong(&mut self) -> Vec<String> {
        for script in listed(&self.expect, "prepare") {
            let made = self.script(script).output().unwrap();
            if !made.status.success() {
                return vec![format!("{script}: {}", String::from_utf8_lossy(&made.stderr))];
            }
        }
        let steps = self.expect["steps"].clone();
        self.steps(steps.as_array().unwrap(), "")
    }

    fn script(&self, script: &Json) -> Command {
        let mut command = Command::new(self.python.as_deref().unwrap_or("python3"));
        command.arg(script.as_str().unwrap()).current_dir(self.work.path(""));
        command
    }

    fn steps(&mut self, steps: &[Json], mark: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        for (i, step) in steps.iter().enumerate() {
            let mark = format!("{mark}{}", i + 1);
            wrong.extend(self.step(step, &mark).into_iter().map(|w| format!("{mark} {w}")));
        }
        wrong
    }

    fn step(&mut self, step: &Json, mark: &str) -> Vec<String> {
        let ways = listed(step, "any_of");
        if !ways.is_empty() {
            let mut tried = Vec::new();
            for (way, letter) in ways.iter().zip('a'..) {
                let way = way.as_array().map_or(std::slice::from_ref(way), Vec::as_slice);
                match self.steps(way, &format!("{mark}.{letter}")).into_iter().next() {
                    None => return Vec::new(),
                    Some(first) => tried.push(first),
                }
            }
            return vec![format!("none of the ways that are right: {}", tried.join(" | "))];
        }
        for (path, text) in members(&step["write"]) {
            let path = self.work.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.as_str().unwrap()).unwrap();
        }
        for (from, to) in members(&step["move"]) {
            fs::rename(self.work.path(from), self.work.path(to.as_str().unwrap())).unwrap();
        }
        for path in listed(step, "remove") {
            let path = self.work.path(path.as_str().unwrap());
            if path.is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else if path.exists() {
                fs::remove_file(path).unwrap();
            }
        }
        if step["run"].is_null() { Vec::new() } else { self.run(step) }
    }

    fn run(&mut self, step: &Json) -> Vec<String> {
        self.runs += 1;
        let mut args: Vec<String> = listed(step, "run").iter().map(shown).collect();
        let name = args[..args.len().min(2)].join(" ");
        let out = self.work.path(&format!("out-{}", self.runs));
        if args[0] == "run" {
            for (option, value) in [("--out", &*out.to_string_lossy()), ("--gates", "report")] {
                if !args.iter().any(|arg| arg == option) {
                    args.extend([option.to_owned(), value.to_owned()]);
                }
            }
        }
        let server = (!step["serve"].is_null()).then(|| self.serve(&step["serve"]));
        if let Some((_, port)) = &server {
            args.iter_mut()
                .filter(|arg| arg.contains("://"))
                .for_each(|arg| *arg = arg.replace("PORT", port));
        }
        let mut command = self.work.command("");
        command.args(&args).envs([("CFAUDIT_CACHE", "off"), ("CFAUDIT_THREADS", "1")]);
        if let Some(python) = self.python.as_deref().filter(|python| python.contains('/')) {
            let bin = Path::new(python).parent().unwrap();
            let path = std::env::var_os("PATH").unwrap_or_default();
            let all = std::iter::once(bin.to_path_buf()).chain(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(all).unwrap());
            command.env("VIRTUAL_ENV", bin.parent().unwrap());
        }
        let ran = command.output().unwrap();
        drop(server);
        let [stdout, stderr] =
            [&ran.stdout, &ran.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        if let Some(to) = step["to"].as_str() {
            self.work.write(to, &stdout);
        }
        let said = format!("{stdout}\n{stderr}");
        self.lacks_runtime |= said.contains("error[no-runtime]");
        let status = ran.status.code();
        let wanted = if step["status"].is_null() { json!(0) } else { step["status"].clone() };
        if !listed(&json!({"status": wanted}), "status").iter().any(|s| *s == json!(status)) {
            let line = said.lines().find(|l| l.contains("error") || l.contains("verdict"));
            return vec![format!(
                "{name}: status {status:?}, not {wanted} ({})",
                line.unwrap_or_default()
            )];
        }
        let mut wrong = Vec::new();
        for pattern in listed(step, "says") {
            if !found(pattern, "is", &said) {
                wrong.push(format!("does not say {pattern}"));
            }
        }
        for pattern in listed(step, "says_not") {
            if found(pattern, "i", &said) {
                wrong.push(format!("says {pattern}"));
            }
        }
        self.results(step, &out, &mut wrong);
        wrong.into_iter().map(|w| format!("{name}: {w}")).collect()
    }

    /// Starts a script that serves, and waits until it answers.
    fn serve(&self, script: &Json) -> (StepServer, String) {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = self.script(script);
        let started = command.arg(port.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = StepServer(started.spawn().unwrap());
        let answers = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        for _ in 0..100 {
            if answers() {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        (server, port.to_string())
    }

    fn results(&self, step: &Json, out: &Path, wrong: &mut Vec<String>) {
        let table = |name: &str, wrong: &mut Vec<String>| {
            let file = out.join(format!("tables/{name}.parquet"));
            if file.exists() {
                return rows_of(&file);
            }
            wrong.push(format!("no table {name}"));
            Vec::new()
        };
        if !step["gate"].is_null() {
            let rows = table("gates", wrong);
            for (gate, wanted) in members(&step["gate"]) {
                let own = rows.iter().filter(|row| row["gate"] == json!(gate));
                let have: Vec<&Json> = own.map(|row| &row["verdict"]).collect();
                let worst =
                    ["fail", "inconclusive", "pass"].iter().find(|v| have.contains(&&json!(v)));
                if !listed(&json!({"v": wanted}), "v").contains(&json!(worst)) {
                    wrong.push(format!("gate {gate} is {worst:?}, not {wanted}"));
                }
            }
        }
        if !step["value"].is_null() {
            let rows = table("metrics", wrong);
            listed(step, "value").iter().for_each(|wanted| value_of(&rows, wanted, wrong));
        }
        if !step["issue"].is_null() || !step["not_issue"].is_null() {
            issues_of(&table("issues", wrong), step, wrong);
        }
        if !step["page"].is_null() || !step["page_not"].is_null() {
            let page = text_of(&fs::read_to_string(out.join("report.html")).unwrap_or_default());
            for pattern in listed(step, "page").iter().filter(|p| !found(p, "i", &page)) {
                wrong.push(format!("the page does not say {pattern}"));
            }
            for pattern in listed(step, "page_not").iter().filter(|p| found(p, "i", &page)) {
                wrong.push(format!("the page says {pattern}"));
            }
        }
        for wanted in listed(step, "table") {
            let name = wanted["table"].as_str().unwrap();
            table_of(name, table(name, wrong), wanted, wrong);
        }
        let outcomes = || rows_of(&out.join("rows/outcomes.parquet"));
        for wanted in listed(step, "scores") {
            self.scores(&outcomes(), wanted, wrong);
        }
        for wanted in listed(step, "decisions") {
            let of_model: BTreeMap<String, f64> = outcomes()
                .iter()
                .filter(|row| row["model"] == wanted["model"])
                .map(|row| (shown(&row["row_id"]), number(&row["predicted"]).unwrap_or(0.0)))
                .collect();
            let have = (of_model.values().sum::<f64>(), of_model.len() as f64);
            if Some(have) != number(&wanted["positive"]).zip(number(&wanted["of"])) {
                wrong.push(format!("decisions are {have:?}, not {wanted}"));
            }
        }
        if let Some(set) = step["one_hot"]["set"].as_str() {
            one_hot(&out.join("rows/counterfactuals").join(set), &step["one_hot"], wrong);
        }
        if !step["to_score"].is_null() {
            to_score(&out.join("to-score"), &step["to_score"], wrong);
        }
    }

    /// Factual scores against a file of the scores that the model's own library gives.
    fn scores(&self, outcomes: &[JsonRow], wanted: &Json, wrong: &mut Vec<String>) {
        let word = |key: &str, or: &str| wanted[key].as_str().unwrap_or(or).to_owned();
        let text = fs::read_to_string(self.work.path(&word("truth", "truth.csv"))).unwrap();
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = lines.next().unwrap();
        let place = |name: String| header.iter().position(|column| *column == name).unwrap();
        let (id, truth) = (place(word("id", "id")), place(word("column", "truth")));
        let truth: BTreeMap<String, f64> =
            lines.map(|line| (line[id].to_owned(), line[truth].parse().unwrap())).collect();
        let scores: BTreeMap<String, Option<f64>> = outcomes
            .iter()
            .filter(|row| row["model"] == wanted["model"])
            .map(|row| (shown(&row["row_id"]), number(&row["score"])))
            .collect();
        let model = &wanted["model"];
        if scores.is_empty() || scores.keys().any(|id| !truth.contains_key(id)) {
            wrong.push(format!("scores of {model}: {} people, or unknown ones", scores.len()));
            return;
        }
        let tolerance = wanted["tol"].as_f64().unwrap_or(1e-6);
        let gap = |(id, score): (&String, &Option<f64>)| {
            score.map_or(f64::INFINITY, |score| (score - truth[id]).abs())
        };
        let off: Vec<f64> = scores.iter().map(gap).filter(|gap| *gap > tolerance).collect();
        if !off.is_empty() {
            let most = off.iter().copied().fold(0.0, f64::max);
            let (n, all) = (off.len(), scores.len());
            wrong.push(format!("scores of {model}: {n} of {all} differ, by up to {most:e}"));
        }
    }
}

fn value_of(rows: &[JsonRow], wanted: &Json, wrong: &mut Vec<String>) {
    let support = wanted["support"].as_str().unwrap_or("all");
    let is_asked = |row: &JsonRow| {
        let same = |key: &str, column: &str| {
            wanted[key].is_null() || row.get(column).map(shown) == Some(shown(&wanted[key]))
        };
        let of_support = row.get("support").map_or("all".to_owned(), shown);
        VALUE_KEYS.iter().all(|(key, column)| same(key, column))
            && (of_support == support || (support == "all" && of_support.is_empty()))
    };
    let found: Vec<&JsonRow> = rows.iter().filter(|row| is_asked(row)).collect();
    let [row] = found[..] else {
        wrong.push(format!("{} rows of metrics for {wanted}", found.len()));
        return;
    };
    let label = &wanted["metric"];
    for key in ["numerator", "denominator", "n_rows"] {
        if !wanted[key].is_null() && !is_same(&row[key], &wanted[key]) {
            wrong.push(format!("{label}: {key} {}, not {}", row[key], wanted[key]));
        }
    }
    let tolerance = wanted["tol"].as_f64().unwrap_or(1e-9);
    for key in ["value", "lo", "hi"] {
        if wanted.get(key).is_some_and(|wanted| !is_near(&row[key], wanted, tolerance)) {
            wrong.push(format!("{label}: {key} {}, not {}", row[key], wanted[key]));
        }
    }
    let is_undefined = row["value"].is_null() && !shown(&row["undefined"]).is_empty();
    if wanted["undefined"] == json!(true) && !is_undefined {
        wrong.push(format!("{label}: {}, but it is undefined", row["value"]));
    }
    if let Some(inside) = wanted["contains"].as_f64() {
        let (lo, hi) = (number(&row["lo"]), number(&row["hi"]));
        if !lo.zip(hi).is_some_and(|(lo, hi)| lo <= inside + 1e-12 && hi >= inside - 1e-12) {
            wrong.push(format!("{label}: interval {lo:?} to {hi:?} does not contain {inside}"));
        }
    }
    if let Some(flag) = wanted["flag"].as_str()
        && !shown(&row["flags"]).contains(flag)
    {
        wrong.push(format!("{label}: no flag {flag} ({})", row["flags"]));
    }
}

fn issues_of(rows: &[JsonRow], step: &Json, wrong: &mut Vec<String>) {
    for wanted in listed(step, "issue") {
        let wanted = if wanted.is_string() { json!({"code": wanted}) } else { wanted.clone() };
        let is_such = |row: &JsonRow| {
            listed(&wanted, "code").contains(&row["code"])
                && (wanted["n"].is_null() || is_same(&row["n"], &wanted["n"]))
                && (wanted["text"].is_null() || found(&wanted["text"], "i", &shown(&row["text"])))
        };
        if !rows.iter().any(is_such) {
            let have: Vec<String> =
                rows.iter().map(|row| format!("{} {}", row["code"], row["n"])).collect();
            wrong.push(format!("no issue {wanted}; there are {have:?}"));
        }
    }
    for code in listed(step, "not_issue") {
        if rows.iter().any(|row| row["code"] == *code) {
            wrong.push(format!("issue {code}"));
        }
    }
}

fn table_of(name: &str, mut rows: Vec<JsonRow>, wanted: &Json, wrong: &mut Vec<String>) {
    for row in &mut rows {
        if let (false, Some(sensitive)) = (row.contains_key("attribute"), row.get("sensitive")) {
            row.insert("attribute".to_owned(), sensitive.clone());
        }
    }
    let asked =
        ["where", "sum", "is"].into_iter().flat_map(|key| members(&wanted[key]).map(|(k, _)| k));
    let lacking: Vec<&String> =
        asked.filter(|key| rows.first().is_some_and(|row| !row.contains_key(*key))).collect();
    if !lacking.is_empty() {
        wrong.push(format!("table {name} lacks {lacking:?}"));
        return;
    }
    let chosen = &wanted["where"];
    rows.retain(|row| members(chosen).all(|(key, wanted)| shown(&row[key]) == shown(wanted)));
    if let Some(n) = wanted["rows"].as_u64().filter(|n| *n != rows.len() as u64) {
        wrong.push(format!("{name} {chosen}: {} rows, not {n}", rows.len()));
    }
    for (key, wanted) in members(&wanted["sum"]) {
        let sum: f64 = rows.iter().map(|row| number(&row[key]).unwrap_or(0.0)).sum();
        if Some(sum) != number(wanted) {
            wrong.push(format!("{name} {chosen}: sum of {key} {sum}, not {wanted}"));
        }
    }
    for (key, wanted) in members(&wanted["is"]) {
        if rows.is_empty() || rows.iter().any(|row| !is_same(&row[key], wanted)) {
            let have: Vec<&Json> = rows.iter().map(|row| &row[key]).take(4).collect();
            wrong.push(format!("{name} {chosen}: {key} {have:?}, not {wanted}"));
        }
    }
}

/// Kept counterfactuals in which not exactly one of some columns is set.
fn one_hot(folder: &Path, wanted: &Json, wrong: &mut Vec<String>) {
    let mut with = [0_u64; 3];
    for file in parquet_below(folder) {
        for row in rows_of(&file) {
            let each = listed(wanted, "columns").iter().map(|column| &row[&shown(column)]);
            let set: f64 = each.filter_map(number).sum();
            with[(set.round() as usize).min(2)] += 1;
        }
    }
    if with[0] > 0 || with[2] > 0 || with[1] == 0 {
        wrong.push(format!("counterfactuals with 0, 1, 2 of the columns set: {with:?}"));
    }
}

/// Nulls and values of a column of the rows that wait for scores.
fn to_score(folder: &Path, wanted: &Json, wrong: &mut Vec<String>) {
    let is_factual = wanted["factual"].as_bool().unwrap_or(true);
    let mut files = parquet_below(folder);
    files.retain(|file| file.to_string_lossy().contains("factual") == is_factual);
    let column = shown(&wanted["column"]);
    let values: Vec<Json> =
        files.iter().flat_map(|file| rows_of(file)).map(|row| row[&column].clone()).collect();
    let nulls = values.iter().filter(|value| value.is_null()).count() as u64;
    let sorted = |values: &mut dyn Iterator<Item = &Json>| {
        let mut values: Vec<String> = values.map(shown).collect();
        values.sort();
        values.dedup();
        values
    };
    let have = sorted(&mut values.iter().filter(|value| !value.is_null()));
    if wanted["nulls"] != json!(nulls) || have != sorted(&mut listed(wanted, "values").iter()) {
        wrong.push(format!("to-score {column}: {nulls} nulls, values {have:?}; not {wanted}"));
    }
}

/// Every folder of cases, with what it expects.
fn folders() -> Vec<(PathBuf, Json)> {
    let asked = std::env::var("CFAUDIT_CASES").unwrap_or_default();
    let asked: Vec<&str> = asked.split(',').filter(|name| !name.is_empty()).collect();
    let mut folders: Vec<PathBuf> = fs::read_dir(root().join("tests/cases"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .filter(|path| asked.is_empty() || asked.iter().any(|name| path.ends_with(name)))
        .collect();
    folders.sort();
    let expect = |folder: PathBuf| {
        let text = fs::read(folder.join("expect.json"))
            .unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let expect =
            serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        (folder, expect)
    };
    folders.into_iter().map(expect).collect()
}

/// Whether a case needs an interpreter: for its packages, for a script, for a server.
fn needs_python(expect: &Json) -> bool {
    fn serves(steps: &[Json]) -> bool {
        steps.iter().any(|step| {
            !step["serve"].is_null()
                || listed(step, "any_of").iter().any(|way| {
                    serves(way.as_array().map_or(std::slice::from_ref(way), Vec::as_slice))
                })
        })
    }
    listed(expect, "needs").iter().any(|package| *package != json!(ONNX))
        || !listed(expect, "prepare").is_empty()
        || serves(listed(expect, "steps"))
}

/// Runs some cases, two at a time, and ends the test with everything that differs.
fn check(cases: Vec<(PathBuf, Json)>, python: impl Fn(&Json) -> Option<Option<String>> + Sync) {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((folder, expect)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            let Some(python) = python(expect) else { continue };
            let mut case = SeamCase::new(folder, expect.clone(), python);
            let found = case.wrong();
            if case.lacks_runtime && listed(expect, "needs").contains(&json!(ONNX)) {
                skip("no library of the ONNX runtime here");
                continue;
            }
            wrong.lock().unwrap().extend(found.into_iter().map(|w| format!("{name}: {w}")));
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn cases_hold() {
    let mut cases = folders();
    cases.retain(|(_, expect)| !needs_python(expect));
    check(cases, |_| Some(None));
}

#[test]
fn cases_of_python_hold() {
    let mut cases = folders();
    cases.retain(|(_, expect)| needs_python(expect));
    check(cases, |expect| {
        let modules = listed(expect, "needs").iter().map(|package| match package.as_str() {
            Some("scikit-learn") => "sklearn",
            other => other.unwrap(),
        });
        let modules: Vec<&str> = modules.collect();
        let modules = if modules.is_empty() { "json".to_owned() } else { modules.join(", ") };
        interpreter(&modules).map(Some)
    });
}

/// The runner itself: for a correct job it names every wrong expectation.
#[test]
fn wrong_expectations_are_named() {
    let expect = json!({"steps": [{
        "run": ["run", "job.yaml"], "says": ["no such words"], "says_not": ["verdict"],
        "gate": {"tpr": "fail"},
        "value": [
            {"metric": "auc", "scope": "group", "from": "a", "value": 0.5, "contains": 0.1},
            {"metric": "auc", "scope": "group", "from": "a", "undefined": true, "flag": "large"},
            {"metric": "auc", "scope": "group", "from": "d", "value": 0.5},
        ],
        "issue": [{"code": "one-decision", "n": 7}], "not_issue": ["small-group"],
        "page": ["no such words"], "page_not": ["<html>|auc"],
        "table": [
            {"table": "metrics", "where": {"metric": "auc"}, "rows": 0, "sum": {"n_rows": 1}},
            {"table": "metrics", "where": {"metric": "auc"}, "is": {"scope": "pair"}},
            {"table": "none_such", "rows": 1},
        ],
    }, {"run": ["run", "job.yaml"], "status": [2, 3]},
       {"any_of": [{"run": ["run", "job.yaml"], "status": 4}]}]});
    let folder = root().join("tests/cases/auc-of-one-class");
    SeamCase::new(&folder, expect, None).wrong().join("\n").says(&[
        "1 run job.yaml: does not say \"no such words\"",
        "says \"verdict\"",
        "gate tpr is Some(\"inconclusive\"), not \"fail\"",
        "\"auc\": value 0.799",
        "does not contain 0.1",
        "but it is undefined",
        "no flag large",
        "0 rows of metrics for ",
        "no issue {\"code\":\"one-decision\",\"n\":7}",
        "the page does not say \"no such words\"",
        "the page says",
        "rows, not 0",
        "sum of n_rows",
        ": scope [",
        "no table none_such",
        "2 run job.yaml: status Some(0), not [2,3]",
        "3 none of the ways that are right: 3.a1 run job.yaml: status Some(0), not 4",
    ]);
}
