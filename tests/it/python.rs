//! Models that are Python functions or pickles: the same scores as the library gives, one process
//! for a whole run, and the message when Python fails.
//!
//! `CFAUDIT_PYTHON` names an interpreter with what is in `tests/requirements/python.txt`
//! (`make python` fetches one); without it `python3` is tried.

use std::fs;
use std::process::{Command, Stdio};

use crate::frame::read_frame;
use crate::work::{Going, Rows, Says, Work, assert_same, can_import};

pub(crate) const JOB: &str = r#"
cfaudit: 1
name: python
data:
  rows: {parquet: rows.parquet}
  row_id: id
  label: {column: repaid, positive: [1], favourable: positive}
  sensitive:
    sex: {groups: [f, m], reference: m}
  features:
    continuous: [age, income]
    nominal: [job]
counterfactuals: {flip: naive, again: {naive: {}}}
models:
  live:
    python: PYTHON
metrics: {bootstrap: {samples: 20}}
run: {seed: 77}
"#;

pub(crate) const N: i64 = 2000;

/// The interpreter, if it can import this.
pub(crate) fn interpreter(imports: &str) -> Option<String> {
    let python = std::env::var("CFAUDIT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let loads = can_import(&python, imports);
    if !loads {
        crate::work::skip(&format!("{python} cannot import {imports}: `make python`"));
    }
    loads.then_some(python)
}

/// Rows with text and missing numbers, and a job whose model is this.
pub(crate) fn with_python(python: &str) -> Work {
    let work = Work::new();
    let rows = 0..N;
    Rows::of(rows)
        .with("id", |i| 5000 + i)
        .with("sex", |i| ["f", "m"][i as usize % 2])
        .with("age", |i| 18 + i * 7 % 60)
        .with("income", |i| (i % 11 > 0).then_some(900.0 + (i * 37 % 4000) as f64 / 3.0))
        .with("job", |i| ["cook", "clerk", "carer"][(i / 3) as usize % 3])
        .with("repaid", |i| i64::from(i * 7 % 60 + i % 2 * 20 > 40))
        .write(&work, "rows.parquet");
    work.write("job.yaml", &JOB.replace("PYTHON", python));
    work
}

/// Trains a pipeline on the rows, pickles it, and writes what it says about them and of everybody
/// in the other group.
const TRAIN: &str = "
import pickle, pandas
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

rows = pandas.read_parquet('rows.parquet')
known = ['job', 'income', 'sex', 'age']
numbers = make_pipeline(SimpleImputer(), StandardScaler())
columns = make_column_transformer((numbers, ['income', 'age']), (OneHotEncoder(), ['job', 'sex']))
model = make_pipeline(columns, RandomForestClassifier(20, random_state=1))
labels = rows['repaid'].map(LABELS)
model.fit(rows[known], labels)
pickle.dump(model, open('model.pkl', 'wb'))
other = rows.assign(sex=rows['sex'].map({'f': 'm', 'm': 'f'}))
both = [('x', rows), ('c', other)]
told = {name: model.predict_proba(of[known])[:, POSITION] for name, of in both}
pandas.DataFrame({'id': rows['id'], **told}).to_parquet('told.parquet')
";

fn train(work: &Work, python: &str, labels: &str, position: &str) {
    let script = TRAIN.replace("LABELS", labels).replace("POSITION", position);
    let made = Command::new(python).args(["-c", &script]).current_dir(work.path("")).output();
    let made = made.unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// The largest difference between the scores of the run and those that the library gave.
fn furthest(work: &Work) -> f64 {
    let expected = read_frame(&work.path(""), "told");
    let mut n = 0;
    let mut furthest = 0.0_f64;
    let outcomes = work.table("outcomes");
    let by_row: std::collections::BTreeMap<i64, (f64, f64)> = expected
        .records()
        .map(|row| (row.int("id").unwrap(), (row.real("x").unwrap(), row.real("c").unwrap())))
        .collect();
    for row in outcomes.records() {
        let (x, c) = by_row[&(row.key("row_key").unwrap() as i64)];
        furthest = furthest.max((row.real("score").unwrap() - x).abs());
        if row.text("counterfactual") == "flip" {
            furthest = furthest.max((row.real("score_cf").unwrap() - c).abs());
            n += 1;
        }
    }
    assert_eq!(n, N);
    furthest
}

/// A pickled pipeline: its own scores, one process for rows, recheck and both sets, no line of
/// Python in the project.
#[test]
fn a_pickled_pipeline_is_audited_by_one_process() {
    let Some(python) = interpreter("pyarrow, pandas, sklearn") else { return };
    let work = with_python(&format!("{{pickle: model.pkl, with: {python}}}"));
    train(&work, &python, "lambda y: y", "1");
    let ran = work.run(0, "job.yaml", "-v");
    assert!(furthest(&work) < 1e-12, "{}", furthest(&work));
    assert_eq!(ran.stderr.matches(": starts `").count(), 1, "{}", ran.stderr);
    // What it knows, then rows, recheck and two sets.
    assert_eq!(ran.stderr.matches(": the command answered and goes on").count(), 5);
    let manifest = work.json("out/manifest.json");
    assert_eq!(manifest["models"][0]["kind"], "python");
    let inputs = manifest["inputs"].as_array().unwrap();
    assert!(inputs.iter().any(|i| i["what"] == "python live" && i["path"] == "model.pkl"));
    let first = work.results();
    work.cfaudit(0, "run job.yaml --out out --cache cache2 --threads 1 --batch-rows 1024");
    assert_same(&first, &work.results(), "other batches and threads");
    work.run(0, "job.yaml", "").says(&["nothing to do"]);
    // Another pickle scores again.
    train(&work, &python, "lambda y: 1 - y", "1");
    work.run(0, "job.yaml", "").says(&["score/model=live: runs, `file model.pkl` changed"]);
    assert!(furthest(&work) < 1e-12);
}

/// Categories of several files and row groups, also those that no row has, and small integers reach
/// a function as `pandas.read_parquet` gives them; so does a counterfactual.
#[test]
fn a_function_gets_the_types_of_read_parquet() {
    let Some(python) = interpreter("pyarrow, pandas") else { return };
    let work = with_python(&format!("{{call: \"scoring:score\", with: {python}}}"));
    let job = work.read("job.yaml");
    work.write("job.yaml", &job.replace("parquet: rows.parquet", "parquet: rows"));
    let write = "import os, pandas, pyarrow, pyarrow.parquet
rows = pandas.read_parquet('rows.parquet').astype({'age': 'int32', 'id': 'int32'})
os.mkdir('rows')
for name, part, more in [('a', rows[:1200], ['zoo', 'cook']), ('b', rows[1200:], ['carer', 'bar'])]:
    jobs = more + [job for job in ['clerk', 'cook', 'carer'] if job not in more]
    part = part.assign(job=pandas.Categorical(part['job'], jobs))
    part = part.astype({'sex': 'category'})
    table = pyarrow.Table.from_pandas(part, preserve_index=False)
    pyarrow.parquet.write_table(table, f'rows/{name}.parquet', row_group_size=500)
";
    let written = Command::new(&python).args(["-c", write]).current_dir(work.path("")).output();
    let written = written.unwrap();
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    work.write(
        "scoring.py",
        "import pandas
told = pandas.read_parquet('rows')
def score(rows):
    assert 'category' in [str(kind) for kind in rows.dtypes], rows.dtypes
    for name in rows:
        assert rows[name].dtype == told[name].dtype, (name, rows[name].dtype, told[name].dtype)
        if rows[name].dtype == 'category':
            own, known = list(rows[name].cat.categories), list(told[name].cat.categories)
            assert own == known and not rows[name].isna().any(), (name, own, known)
    return rows['age'] / 100
",
    );
    work.run(0, "job.yaml", "");
    let stdout = work.cfaudit(0, "check job.yaml --cache cache").stdout;
    // The categories, and missing values.
    stdout.says(&["3 of `sex`", "6 of `job`"]);
}

/// Classes that are words: the positive one must be named, and its own column is the score.
#[test]
fn classes_of_a_pickle_are_named() {
    let Some(python) = interpreter("pyarrow, pandas, sklearn") else { return };
    let work = with_python(&format!("{{pickle: model.pkl, with: {python}}}"));
    train(&work, &python, "['good', 'bad'].__getitem__", "0");
    let open = &["error[model-class]", "its classes are `bad`, `good`", "--> job.yaml:16:"];
    work.run(2, "job.yaml", "").says(open);
    work.cfaudit(2, "check job.yaml --cache cache").says(open);
    let named = format!("{{pickle: model.pkl, class: bad, with: {python}}}");
    work.write("job.yaml", &JOB.replace("PYTHON", &named));
    work.run(0, "job.yaml", "");
    assert!(furthest(&work) < 1e-12);
    let wrong = format!("{{pickle: model.pkl, class: ugly, with: {python}}}");
    work.write("job.yaml", &JOB.replace("PYTHON", &wrong));
    work.run(2, "job.yaml", "").says(&["the model has no class `ugly`; its classes are"]);
}

/// The example of the guide, and the same scores from a command that speaks the protocol itself.
#[test]
fn a_function_gives_the_bytes_of_a_command() {
    let Some(python) = interpreter("pyarrow, pandas") else { return };
    let guide = fs::read_to_string(crate::work::root().join("docs/models-and-experiments.md"));
    let guide = guide.unwrap();
    let example = guide.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let work = with_python(&format!("{{call: \"scoring:score\", with: {python}}}"));
    work.write("scoring.py", &format!("print('imported')\n{example}"));
    work.cfaudit(0, "check job.yaml --cache cache");
    let ran = work.run(0, "job.yaml", "-v");
    assert_eq!(ran.stderr.matches(": starts `").count(), 1, "{}", ran.stderr);
    ran.stderr.says(&["| imported"]);
    let outcomes = fs::read(work.path("out/rows/outcomes.parquet"));
    let tables = |work: &Work| {
        let mut found = crate::work::files(&work.path("out/tables"));
        found.retain(|name, _| name.starts_with("metrics") || name.starts_with("switch"));
        found
    };
    let first = tables(&work);
    assert!(!first.is_empty());
    // By hand, as jobs/models/README.md says.
    work.write(
        "by_hand.py",
        "import sys, pyarrow as pa, scoring\n\
         written = pa.schema([('score', pa.float64())])\n\
         with pa.ipc.open_stream(sys.stdin.buffer) as rows, pa.ipc.new_stream(sys.stdout.buffer, \
         written) as scores:\n    for batch in rows:\n        table = \
         pa.Table.from_batches([batch])\n        given = scoring.score(table.to_pandas())\n        \
         scores.write_batch(pa.record_batch([pa.array(list(given), pa.float64())], \
         schema=written))\n",
    );
    work.write("scoring.py", example);
    let job = JOB.replace("python: PYTHON", &format!("command: {{score: [{python}, by_hand.py]}}"));
    work.write("job.yaml", &job);
    work.cfaudit(0, "run job.yaml --out out --cache cache3");
    assert_same(&first, &tables(&work), "a command");
    assert_eq!(outcomes.ok(), fs::read(work.path("out/rows/outcomes.parquet")).ok());
    // A change of the module scores again.
    work.write(
        "job.yaml",
        &JOB.replace("PYTHON", &format!("{{call: \"scoring:score\", with: {python}}}")),
    );
    work.run(0, "job.yaml", "").says(&["`file scoring.py` changed"]);
}

/// A Series says by its index which row a number is of, in whatever order it comes.
#[test]
fn a_series_is_read_by_its_index() {
    let Some(python) = interpreter("pyarrow, pandas") else { return };
    let work = with_python(&format!("{{call: \"scoring:score\", with: {python}}}"));
    let module = |answer: &str| {
        let text = "import pandas\ndef score(rows):\n    s = (rows['age'] % 7 + (rows['sex'] == \
                    'f')) / 9\n    return ";
        work.write("scoring.py", &format!("{text}{answer}\n"));
    };
    let outcomes = || fs::read(work.path("out/rows/outcomes.parquet")).unwrap();
    module("s");
    work.run(0, "job.yaml", "");
    let expected = outcomes();
    for answer in ["s.sort_values()", "pandas.concat([s[rows['age'] > 40], s[rows['age'] <= 40]])"]
    {
        module(answer);
        work.run(0, "job.yaml", "");
        assert!(outcomes() == expected, "{answer}");
    }
    module("s.set_axis(range(1, len(s) + 1))");
    work.run(3, "job.yaml", "").says(&["another index than the frame of these rows", "to_numpy()"]);
}

/// A module that is imported, by the function or by a pickle, scores again when it changes.
#[test]
fn a_changed_import_scores_again() {
    let Some(python) = interpreter("pyarrow, pandas") else { return };
    let work = with_python(&format!("{{call: \"scoring:score\", with: {python}}}"));
    let scores = |expected: f64| {
        let outcomes = work.table("outcomes");
        assert!(outcomes.records().all(|row| row.real("score") == Some(expected)), "{expected}");
    };
    work.write("coef.py", "K = 0.25\n");
    work.write("scoring.py", "import coef, json\ndef score(rows): return [coef.K] * len(rows)\n");
    let pickle = "import pickle, own; pickle.dump(own.Model(), open('model.pkl', 'wb'))";
    let model = "import coef\nclass Model:\n    def predict_proba(self, rows):\n        return \
                 [[coef.K]] * len(rows)\n";
    work.write("own.py", model);
    let made = Command::new(&python).args(["-c", pickle]).current_dir(work.path("")).output();
    assert!(made.unwrap().status.success());
    for job in ["call: \"scoring:score\"", "pickle: model.pkl"] {
        work.write("coef.py", "K = 0.25\n");
        work.write("job.yaml", &JOB.replace("PYTHON", &format!("{{{job}, with: {python}}}")));
        work.run(0, "job.yaml", "");
        work.run(0, "job.yaml", "").says(&["nothing to do"]);
        scores(0.25);
        work.write("coef.py", "K = 0.125\n");
        work.run(0, "job.yaml", "").says(&["score/model=live: runs, `file coef.py` changed"]);
        scores(0.125);
        work.run(0, "job.yaml", "").says(&["nothing to do"]);
    }
}

/// A model that decides by a threshold of its own is not judged at another one that nobody wrote.
#[test]
fn the_threshold_of_a_pickle_is_not_passed_over() {
    let Some(python) = interpreter("pyarrow, pandas") else { return };
    let pickled = format!("{{pickle: model.pkl, with: {python}}}");
    let work = with_python(&pickled);
    work.write(
        "own.py",
        "class Model:\n    best_threshold_ = 0.25\n    def predict_proba(self, rows):\n        return \
         [[0.3]] * len(rows)\n",
    );
    let pickle = "import pickle, own; pickle.dump(own.Model(), open('model.pkl', 'wb'))";
    let made = Command::new(&python).args(["-c", pickle]).current_dir(work.path("")).output();
    assert!(made.unwrap().status.success());
    let told = &["error[model-threshold]", "decides at 0.25", "write `threshold: 0.25`"];
    work.run(2, "job.yaml", "").says(told);
    work.cfaudit(2, "check job.yaml").says(told);
    for threshold in ["0.25", "0.4"] {
        let stated = format!("{pickled}\n    threshold: {threshold}");
        work.write("job.yaml", &JOB.replace("PYTHON", &stated));
        work.run(0, "job.yaml", "");
    }
}

/// A file of a model that a module names in quotes scores again when it changes; a log that the
/// module writes does not.
#[test]
fn a_changed_file_that_a_module_names_scores_again() {
    let Some(python) = interpreter("pyarrow, pandas") else { return };
    let work = with_python(&format!("{{call: \"scoring:score\", with: {python}}}"));
    work.write("model.pkl", "0.25");
    let module = "open('a.log', 'a').write('x')\nK = float(open('model.pkl').read())\n\
                  def score(rows): return [K] * len(rows)\n";
    work.write("scoring.py", module);
    work.run(0, "job.yaml", "");
    work.run(0, "job.yaml", "").says(&["nothing to do"]);
    work.write("model.pkl", "0.125");
    work.run(0, "job.yaml", "").says(&["score/model=live: runs, `file model.pkl` changed"]);
    let outcomes = work.table("outcomes");
    assert!(outcomes.records().all(|row| row.real("score") == Some(0.125)));
}

/// Few rows are asked again in part and in another order, so that a model is found that gives the
/// scores in an order of its own, or by what the other rows are.
#[test]
fn few_rows_are_asked_in_another_order() {
    let Some(python) = interpreter("pyarrow, pandas") else { return };
    let work = with_python(&format!("{{call: \"scoring:score\", with: {python}}}"));
    let job = work.read("job.yaml");
    let gates = "gates:\n  gap: {metric: demp_difference, model: live, between: worst_case, \
                 at_most: 1, decide_by: estimate}\non_inconclusive: warn\n";
    let job = job.replace("row_id: id\n", "row_id: id\n  keep: [{id: {below: 5096}}]\n") + gates;
    work.write("job.yaml", &job);
    for (answer, code) in [
        ("s", "limit-kept"),
        ("numpy.sort(s)", "not-repeatable"),
        ("s.argsort().argsort() / len(s)", "not-repeatable"),
        ("0.5 + (s - s.mean()) / 4", "not-repeatable"),
    ] {
        let text =
            "import numpy\ndef score(rows):\n    s = rows['age'].to_numpy() / 100\n    return ";
        work.write("scoring.py", &format!("{text}{answer}\n"));
        work.run(0, "job.yaml", "");
        assert_eq!(work.table("gates").at("decides=1").text("reason_code"), code, "{answer}");
    }
}

/// What a function may do wrong, each with its own message.
#[test]
fn functions_that_fail_say_why() {
    let Some(python) = interpreter("pyarrow") else { return };
    let call = format!("{{call: \"scoring:score\", with: {python}, time_limit: 30s}}");
    for (body, words) in [
        ("raise ValueError('no such land')", "| ValueError: no such land"),
        ("return [0.5]", "| cfaudit: 1 scores came back for 2000 rows"),
        ("return None", "| cfaudit: the answer for 2000 rows is `None`: give one number for each"),
        ("return 0.5", "| cfaudit: the answer for 2000 rows is `0.5`: give one number for each"),
        (
            "return {i: 0.5 for i in range(len(rows))}",
            "| cfaudit: the answer for 2000 rows is a dict",
        ),
        ("return set(range(len(rows)))", "is a set, which is no list: give one number for each"),
        ("return '1' * len(rows)", "is a str, which is no list"),
        ("return bytes(len(rows))", "is a bytes, which is no list"),
        ("return ['high'] * len(rows)", "| cfaudit: a score is `'high'`: give a number for each"),
        ("return [None] * len(rows)", "gave no score (null or NaN) for a row"),
        ("return [1.5] * len(rows)", "gave the score `1.5`, which is not in [0, 1]"),
        ("import os; os._exit(0)", "wrote nothing to its standard output"),
        ("import os; os.kill(os.getpid(), 9)", "failed with signal 9 (SIGKILL)"),
        ("import sys; sys.exit('out of tea')", "| out of tea"),
    ] {
        let work = with_python(&call);
        work.write("scoring.py", &format!("def score(rows):\n    {body}\n"));
        work.run(3, "job.yaml", "").says(&["the Python of model `live`", words, "--> job.yaml:"]);
        assert!(!work.path("out").exists());
    }
}

#[test]
fn what_is_not_there_is_told_by_check() {
    let absent = with_python("{call: \"scoring:score\"}");
    absent.cfaudit(3, "check job.yaml --cache cache").says(&[
        "error[missing-file]: there is no file `scoring.py`, the module that is called",
        "--> job.yaml:16:",
    ]);
    absent.write("scoring.py", "import nowhere_to_be_found\n");
    absent
        .write("job.yaml", &JOB.replace("PYTHON", "{call: \"scoring:score\", with: ./no-python}"));
    absent.cfaudit(3, "check job.yaml --cache cache").says(&[
        "error[command-not-started]",
        "the Python of model `live` cannot be started: `./no-python`",
    ]);
    let program = with_python("{pickle: model.pkl}");
    program.cfaudit(3, "check job.yaml --cache cache").says(&["error[missing-file]", "model.pkl"]);
    program.write(
        "job.yaml",
        &JOB.replace("python: PYTHON", "command: {score: [no-such-program-anywhere]}"),
    );
    program.cfaudit(3, "check job.yaml --cache cache").says(&[
        "error[command-not-started]: the command of model `live` cannot be started",
        "it is not in any folder of PATH",
    ]);
    let Some(python) = interpreter("pyarrow") else { return };
    let call = format!("{{call: \"scoring:score\", with: {python}}}");
    absent.write("job.yaml", &JOB.replace("PYTHON", &call));
    absent.cfaudit(3, "check job.yaml --cache cache").says(&[
        "No module named 'nowhere_to_be_found'",
        "hint: this interpreter must be able to import it",
    ]);
}

/// A process that waits for the next question ends with the run, and so does one that is asked.
#[test]
fn python_ends_with_the_run() {
    let Some(python) = interpreter("pyarrow") else { return };
    let work = with_python(&format!("{{call: \"scoring:score\", with: {python}}}"));
    let begin = "import atexit, os, time\nopen('pid', 'w').write(str(os.getpid()) + '\\n')\n\
                 atexit.register(lambda: open('ended', 'w').write('well'))\n";
    let score = "def score(rows):\n    return [0.25] * len(rows)\n";
    work.write("scoring.py", &format!("{begin}{score}"));
    work.run(0, "job.yaml", "");
    assert_eq!(work.read("ended"), "well");
    let sleeps = score.replace("return", "time.sleep(300); return");
    work.write("scoring.py", &format!("{begin}{sleeps}"));
    fs::remove_file(work.path("pid")).unwrap();
    let going = {
        let mut going = Going::start(&mut work.command("run job.yaml --out new --cache cache"));
        assert!(going.until(&["command.start"], "score/model=live"));
        going
    };
    let started = std::time::Instant::now();
    let wait = |until: &dyn Fn() -> bool| {
        while !until() {
            assert!(started.elapsed().as_secs() < 60, "it takes too long");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };
    wait(&|| fs::read_to_string(work.path("pid")).is_ok_and(|pid| pid.ends_with('\n')));
    going.signal("TERM");
    assert_eq!(going.end().0.code(), Some(143));
    let pid = work.read("pid").trim().to_owned();
    let alive = || {
        Command::new("kill").args(["-0", &pid]).stderr(Stdio::null()).status().unwrap().success()
    };
    wait(&|| !alive());
    assert!(!work.path("new").exists());
}

/// A model file of LightGBM with categories, missing numbers and a level that it does not know.
#[test]
#[cfg(feature = "lightgbm")]
fn a_lightgbm_file_gives_the_scores_of_the_library() {
    let Some(python) = interpreter("pyarrow, pandas, lightgbm") else { return };
    let work = with_python("{pickle: none}");
    let job = |block: &str| {
        work.write("job.yaml", &JOB.replace("python: PYTHON", &format!("lightgbm: {block}")));
    };
    let train = |columns: &str, fit: &str| {
        let script = "
import pandas, lightgbm
rows = pandas.read_parquet('rows.parquet')
other = rows.assign(sex=rows['sex'].map({'f': 'm', 'm': 'f'}))
levels = {'sex': ['m', 'f'], 'job': ['cook', 'clerk']}
def known(of):
    coded = {c: pandas.Categorical(of[c], levels[c]) for c in levels if c in COLUMNS}
    return of[COLUMNS].assign(**coded)
model = lightgbm.LGBMClassifier(n_estimators=30, num_leaves=9, verbosity=-1, min_data_per_group=5)
FIT
model.booster_.save_model('model.txt')
model = lightgbm.Booster(model_file='model.txt')
told = {name: model.predict(known(of)) for name, of in [('x', rows), ('c', other)]}
pandas.DataFrame({'id': rows['id'], **told}).to_parquet('told.parquet')
";
        let script = script.replace("COLUMNS", columns).replace("FIT", fit);
        let made = Command::new(&python)
            .args(["-c", &script])
            .current_dir(work.path(""))
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    let plain = "model.fit(known(rows), rows['repaid'])";
    train("['income', 'job', 'age', 'sex']", plain);
    job("{file: model.txt}");
    work.cfaudit(0, "check job.yaml --cache cache");
    work.run(0, "job.yaml", "");
    assert!(furthest(&work) < 1e-12, "{}", furthest(&work));
    let first = work.results();
    work.cfaudit(0, "run job.yaml --out out --cache cache2 --threads 1 --batch-rows 1024");
    assert_same(&first, &work.results(), "other batches and threads");
    // Without names the columns are listed; the order counts.
    train("['income', 'age']", "model.fit(known(rows).to_numpy(), rows['repaid'])");
    work.run(2, "job.yaml", "").says(&[
        "error[model-columns]",
        "the model takes 2 columns by their order, and does not say which",
        "columns: [sex, age, income, job]",
    ]);
    job("{file: model.txt, columns: [income, age]}");
    work.run(0, "job.yaml", "").says(&["score/model=live: runs"]);
    assert!(furthest(&work) < 1e-12);
    job("{file: model.txt, columns: [income]}");
    work.run(2, "job.yaml", "").says(&["the model takes 2 columns and would get 1: `income`"]);
    job("{file: model.txt}");
    // What is not clear is refused.
    train("['income', 'job', 'age', 'sex']", plain);
    let text = work.read("model.txt");
    for (from, to, words) in [
        (
            "objective=binary",
            "objective=regression",
            "`regression sigmoid:1`, which gives no probab",
        ),
        ("end of trees", "end", "no whole model file"),
        ("[[\"cook\", \"clerk\"], ", "[", "lists the levels of 1, so that nobody can tell"),
        (
            "[\"cook\", \"clerk\"]",
            "[\"boss\"]",
            "knows none of the levels of `job`; it knows \"boss\"",
        ),
        ("categorical_feature: 1,3", "categorical_feature: 1", "do not agree on which columns"),
        ("pandas_categorical:[", "pandas_categorical:{", "`pandas_categorical` is damaged"),
        ("pandas_categorical:", "pandas_levels:", "the column `job` holds text"),
    ] {
        assert!(text.contains(from), "{from} is not in\n{text}");
        work.write("model.txt", &text.replace(from, to));
        work.run(3, "job.yaml", "").says(&["error[bad-model]", words, "model.txt"]);
    }
    work.write("model.txt", &text.replace("names=income", "names=wealth"));
    work.run(2, "job.yaml", "").says(&[
        "error[model-columns]",
        "the model takes a column `wealth`, and the job has none of that name",
    ]);
}
