//! `import cfaudit`: jobs on frames and functions of Python, with the bytes of the command line;
//! one call for a model, the plugin for pytest; and the notebook that reads tables.
//!
//! `CFAUDIT_PYTHON` names an interpreter with what is in `tests/requirements/python.txt` (`make
//! python` fetches one); without it `python3` is tried.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use crate::python::interpreter;
use crate::work::{Ran, Work, assert_same, results, root};

/// The rows and the scorer come from the frames and functions of the script.
const JOB: &str = "-  rows
~  features: {continuous: [age, income]}
-  split
-  live
+  mine: {threshold: 0.6}
~metrics: {families: [ccm, performance], bootstrap: {samples: 20}}
+gates:
+  no-harm: {harm_to: {sex: f}, model: mine, counterfactual: flip, at_most: 0.1}";

/// An interpreter in the working folder that imports the package of this tree and finds the program
/// on its path.
pub(crate) fn interpreter_with_package(work: &Work, python: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_cfaudit")).parent().unwrap();
    let mut path = OsString::from(program);
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = Command::new(python);
    command.current_dir(work.path("")).env("PATH", path).env("PYTHONPATH", root().join("python"));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    for name in ["THREADS", "MEMORY", "CACHE", "LOG", "DATA"] {
        command.env_remove(format!("CFAUDIT_{name}"));
    }
    command
}

#[test]
fn frames_and_functions_give_the_bytes_of_the_command_line() {
    let Some(python) = interpreter("pyarrow, pandas") else { return };
    let work = Work::new();
    work.job("trained", JOB, "");
    let ran = Ran::of(
        interpreter_with_package(&work, &python).arg(root().join("tests/python/package.py")),
        0,
    );
    if ran.stdout.contains("without polars") {
        crate::work::skip(&format!("{python} cannot import polars: `make python`"));
    }
    // The command that the manifest names gives the same folder, on other threads.
    let manifest = work.json("out/manifest.json");
    let command = manifest["command"].as_str().unwrap().strip_prefix("cfaudit ").unwrap();
    let program = env!("CARGO_BIN_EXE_cfaudit");
    let script = format!("'{program}' {command} --out by-hand --cache off --threads 1");
    Ran::of(Command::new("sh").args(["-c", &script]).current_dir(work.path("")), 1);
    assert_same(&results(&work.path("out")), &results(&work.path("by-hand")), "by hand");
}

/// Runs a script of `tests/python` in a separate folder; its argument is the folder of the tree.
fn script(name: &str, imports: &str) {
    let Some(python) = interpreter(imports) else { return };
    let work = Work::new();
    let script = root().join("tests/python").join(name);
    Ran::of(interpreter_with_package(&work, &python).arg(script).arg(root()), 0);
}

/// Scores of 32 bits stay so in whatever holds them, and rows have the types of their files; the
/// script for Python models does the same.
#[test]
fn rows_and_answers_keep_their_types() {
    script("answers.py", "pyarrow, pandas");
}

/// `cfaudit.audit`: the job that it writes, what it refuses, and its results.
#[test]
fn one_call_writes_a_job_and_runs_it() {
    script("call.py", "pyarrow, pandas");
}

/// Estimators, boosters and classes: the scores of an audit are those of the library.
#[test]
fn models_of_three_libraries_are_audited() {
    script("models.py", "pyarrow, pandas, sklearn, lightgbm, xgboost");
}

/// The plugin collects 200 other tests without pandas, and its failures say line and page.
#[test]
fn the_plugin_fails_on_a_biased_model() {
    script("plugin.py", "pyarrow, pandas, pytest");
}

/// `action.yml` and the hook for pre-commit: their schema, and their steps on a wheel of this tree.
#[test]
fn the_action_shows_brief_lines_and_page() {
    script("action.py", "yaml, check_jsonschema");
}

/// An audit is logged to the real MLflow, and a model that it registered is audited.
#[test]
fn mlflow_holds_audits_and_models() {
    script("mlflow_store.py", "pyarrow, pandas, sklearn, mlflow");
}

/// The package is typed, as strictly as mypy asks for.
#[test]
fn the_package_is_typed() {
    let Some(python) = interpreter("mypy") else { return };
    let flags = ["-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", "/dev/null"];
    let work = Work::new();
    Ran::of(
        interpreter_with_package(&work, &python).args(flags).arg(root().join("python/cfaudit")),
        0,
    );
}

/// Runs the cells of code one after the other, as a kernel would.
const CELLS: &str = "
import json, sys
cells = json.load(open(sys.argv[1]))['cells']
code = [''.join(cell['source']) for cell in cells if cell['cell_type'] == 'code']
names = {}
for i, source in enumerate(code):
    exec(compile(source, f'cell {i + 1}', 'exec'), names)
print(len(code))
";

/// Categories and small integers of a frame reach a scorer as they are, also those that no row has.
#[test]
fn a_frame_keeps_its_types() {
    let Some(python) = interpreter("pyarrow, pandas") else { return };
    let work = Work::new();
    work.write(
        "audit.py",
        "import cfaudit, pandas
n = 300
frame = pandas.DataFrame({
    'id': range(n),
    'sex': pandas.Categorical(['f' if i % 2 else 'm' for i in range(n)], ['x', 'm', 'f']),
    'age': pandas.Series([20 + i % 50 for i in range(n)], dtype='int32'),
    'note': ['a' if i % 3 else 'b' for i in range(n)],
    'repaid': [i * 5 % 7 % 2 for i in range(n)],
})
job = {
    'cfaudit': 1, 'name': 'types',
    'data': {
        'row_id': 'id',
        'label': {'column': 'repaid', 'positive': [1], 'favourable': 'positive'},
        'sensitive': {'sex': {'groups': ['m', 'f'], 'reference': 'm'}},
        'features': {'continuous': ['age'], 'nominal': ['note']},
    },
    'counterfactuals': {'flip': 'naive'}, 'models': {'mine': {'threshold': 0.5}},
    'metrics': {'families': ['ccm'], 'bootstrap': {'samples': 20}},
}
asked = []
def score(rows):
    asked.append(len(rows))
    assert list(rows['sex'].cat.categories) == ['x', 'm', 'f'], rows['sex'].dtype
    assert rows['age'].dtype == 'int32' and rows['note'].dtype == frame['note'].dtype
    return rows['age'] / 80
cfaudit.run(job, rows=frame, scorers={'mine': score})
assert asked
",
    );
    Ran::of(interpreter_with_package(&work, &python).arg("audit.py"), 0);
}

#[test]
fn the_notebook_runs() {
    let file = root().join("jobs/recipes/read_tables.ipynb");
    let notebook: Json = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(notebook["nbformat"], 4);
    let cells = notebook["cells"].as_array().unwrap();
    assert!(
        cells
            .iter()
            .filter(|cell| cell["cell_type"] == "code")
            .all(|cell| cell["outputs"].as_array().unwrap().is_empty()),
        "a notebook is committed without its outputs"
    );
    let Some(python) = interpreter("pyarrow, pandas") else { return };
    let work = Work::with_jobs();
    work.cfaudit(0, "run jobs/demo.yaml --gates report --set data.rows.synthetic.rows=1000");
    let ran = Ran::of(interpreter_with_package(&work, &python).args(["-c", CELLS]).arg(file), 0);
    let n: usize = ran.stdout.lines().last().unwrap().parse().unwrap();
    assert!(n >= 5, "{n} cells of code");
}
