//! Rows that only an engine may read: it passes each part to a worker as an Arrow stream, and the
//! tables are the same as for these rows in files.

use std::fs;
use std::io::Write;
use std::ops::Range;
use std::process::{Output, Stdio};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use arrow::ipc::writer::StreamWriter;

use crate::shards::{PASSES, add_models, is_without_lightgbm, people, with_job, write_scores};
use crate::work::{Files, Ran, Work, assert_same, results, root};

/// Rows of the parts: one has a single row, one has none.
const PARTS: [usize; 5] = [1, 150, 0, 200, 72];

/// What the manifest calls the rows.
const NAME: &str = "bank.credit version 7";

/// A stream of batches of these columns; of the columns alone where there are no batches.
fn stream_of(batches: impl Iterator<Item = Vec<(&'static str, ArrayRef)>>) -> Vec<u8> {
    let batch = |columns: Vec<(&'static str, ArrayRef)>| {
        let columns = columns.into_iter().map(|(name, array)| (name, array, true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    };
    let mut batches = batches.map(batch).peekable();
    let schema = batches.peek().map_or_else(|| batch(people(0..1)).schema(), RecordBatch::schema);
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    batches.for_each(|batch| writer.write(&batch).unwrap());
    writer.into_inner().unwrap()
}

/// The stream of the columns, without rows.
fn columns() -> Vec<u8> {
    stream_of(std::iter::empty())
}

/// The numbers of the rows of a part.
fn rows_of(part: usize) -> Range<usize> {
    let first = PARTS[..part].iter().sum();
    first..first + PARTS[part]
}

/// The stream of a part, in batches of 64 rows.
fn part(part: usize) -> Vec<u8> {
    let rows = rows_of(part);
    let starts = rows.clone().step_by(64);
    stream_of(starts.map(|first| people(first..(first + 64).min(rows.end))))
}

/// Runs the program with these bytes on its standard input.
#[track_caller]
fn fed(work: &Work, status: i32, args: &str, input: &[u8]) -> Output {
    let mut command = work.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // The program does not read rows that it does not need.
        scope.spawn(move || pipe.write_all(input).ok());
        child.wait_with_output().unwrap()
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{args}\n{said}");
    output
}

/// What a failed call says.
#[track_caller]
fn refused(work: &Work, status: i32, args: &str, input: &[u8]) -> Ran {
    let stderr = String::from_utf8(fed(work, status, args, input).stderr).unwrap();
    Ran { stdout: String::new(), stderr }
}

/// A working folder with a job over streams, `stream.yaml`, next to the same one over files.
fn with_streams(job: &str) -> Work {
    let work = with_job(job);
    let text = work.read("job.yaml");
    let streamed = text.replace("rows: {parquet: rows}", &format!("rows: {{stream: {NAME}}}"));
    assert_ne!(text, streamed);
    work.write("stream.yaml", &streamed);
    work.write("parts.txt", &PARTS.map(|n| format!("{n}\n")).concat());
    work
}

/// Plans the job over streams.
#[track_caller]
fn planned(work: &Work, args: &str) {
    let plan = format!("plan stream.yaml --stream parts.txt --to plan --cache off {args}");
    fed(work, 0, &plan, &columns());
}

/// Does a pass: each state goes into the plan as the engine would carry it there.
fn pass_over(work: &Work, pass: &str, rows: impl Fn(usize) -> Vec<u8>) {
    for shard in (0..PARTS.len()).rev() {
        let threads = 1 + shard % 3;
        let worker =
            format!("worker plan --pass {pass} --shard {shard} --stream --threads {threads}");
        let state = fed(work, 0, &worker, &rows(shard)).stdout;
        fs::write(work.path(&format!("plan/{pass}/part-{shard:05}.state")), state).unwrap();
    }
    work.cfaudit(0, &format!("merge plan --pass {pass}"));
}

/// The tables of an output folder.
fn tables(work: &Work, out: &str) -> Files {
    let mut files = results(&work.path(out));
    files.retain(|name, _| name.starts_with("tables/"));
    assert!(files.len() > 3, "{:?}", files.keys());
    files
}

/// A run over files, and streams of the same rows, make the same tables.
#[track_caller]
fn assert_same_tables(work: &Work, args: &str) {
    work.run(0, "job.yaml", args);
    planned(work, args);
    PASSES.iter().for_each(|pass| pass_over(work, pass, part));
    work.cfaudit(0, &format!("run stream.yaml --from plan --out streamed --cache off {args}"));
    assert_same(&tables(work, "out"), &tables(work, "streamed"), "streams");
    let manifest = work.json("streamed/manifest.json");
    let inputs = manifest["inputs"].as_array().unwrap();
    let rows: Vec<_> = inputs.iter().filter(|input| input["what"] == "data").collect();
    assert_eq!((rows.len(), &rows[0]["path"]), (1, &NAME.into()));
    assert_eq!(rows[0]["sha256"].as_str().unwrap().len(), 64);
}

#[test]
fn streams_give_the_tables_of_files() {
    if is_without_lightgbm() {
        return;
    }
    // Also a pass that nobody asks for, whose workers read no row.
    assert_same_tables(&with_streams("naive"), "");
}

#[test]
fn fitted_sets_over_streams() {
    if is_without_lightgbm() {
        return;
    }
    assert_same_tables(&with_streams("plausible"), "--set data.row_id=id");
}

#[test]
fn files_of_scores_over_streams() {
    let work = with_streams("scores");
    write_scores(&work, 0);
    assert_same_tables(&work, "");
}

/// Ids that are not unique, rows that are not those of the plan or of an earlier pass, and streams
/// that are cut off end with 3; nothing is written.
#[test]
fn rows_that_are_not_those_of_the_plan_are_refused() {
    let work = with_streams("scores");
    write_scores(&work, 0);
    planned(&work, "");
    let worker = |pass: &str, shard: usize| {
        format!("worker plan --pass {pass} --shard {shard} --stream --threads 1")
    };
    let survey = |shard: usize, rows: &[u8]| refused(&work, 3, &worker("survey", shard), rows);
    survey(1, &part(3)).says(&["error[input-changed]", "has 200 rows, and the plan says 150"]);
    let other = stream_of(std::iter::once({
        let mut columns = people(rows_of(1));
        columns.swap(3, 4);
        columns
    }));
    survey(1, &other).says(&["error[input-changed]", "its column `age`", "one snapshot"]);
    let single = stream_of(std::iter::once({
        let mut columns = people(rows_of(1));
        columns[3].1 = arrow::compute::cast(&columns[3].1, &DataType::Float32).unwrap();
        columns
    }));
    survey(1, &single).says(&[
        "error[input-changed]",
        "type Float32) stands where",
        "type Float64)",
    ]);
    let whole = part(1);
    survey(1, &whole[..whole.len() - 8]).says(&["error[bad-output]", "without its end"]);
    survey(1, b"id,region\n").says(&["the sender of part 1 of `bank.credit version 7`"]);
    // Other rows in the third pass.
    ["survey", "learn"].iter().for_each(|pass| pass_over(&work, pass, part));
    let mut income = people(rows_of(1));
    income[3].1 = income[4].1.clone();
    let changed = stream_of(std::iter::once(income));
    refused(&work, 3, &worker("count", 1), &changed)
        .says(&["error[input-changed]", "other rows than it had in the pass `survey`"]);
    // The rows of a part come twice: as those of the part before, and as their own.
    fs::remove_dir_all(work.path("plan")).unwrap();
    work.write("parts.txt", "1\n150\n0\n150\n72\n");
    planned(&work, "");
    let doubled = |shard: usize| if shard == 3 { part(1) } else { part(shard) };
    pass_over(&work, "survey", doubled);
    refused(&work, 3, &worker("count", 4), &part(4))
        .says(&["error[unsorted-row-ids]", "sort the rows"]);
}

#[test]
fn jobs_and_calls_that_do_not_fit_streams_are_refused() {
    let work = with_streams("scores");
    write_scores(&work, 0);
    let columns = columns();
    let plan = |job: &str, args: &str| {
        let args = format!("plan {job}.yaml --stream parts.txt --to plan --cache off {args}");
        refused(&work, 2, &args, &columns)
    };
    plan("job", "").says(&["error[not-in-shards]", "`data.rows` is not a stream", "--> job.yaml:"]);
    let text = work.read("stream.yaml");
    work.write("unnamed.yaml", &text.replace("  row_id: id\n", ""));
    plan("unnamed", "").says(&["no row numbers", "--> unnamed.yaml:", "`data.row_id`"]);
    plan("stream", "--set run.keep_rows=outcomes").says(&["not-in-shards", "keep_rows: none"]);
    assert!(!work.path("plan").exists());
    work.cfaudit(2, "plan stream.yaml --shards 3 --to plan").says(&["--stream PARTS"]);
    for verb in ["run stream.yaml --out out", "check stream.yaml", "data stream.yaml"] {
        work.cfaudit(2, verb).says(&["--> stream.yaml:", "`cfaudit plan JOB --stream PARTS"]);
    }
    work.cfaudit(0, "check stream.yaml --no-data");
    work.write("empty.yaml", &text.replace(NAME, "''"));
    work.cfaudit(2, "check empty.yaml --no-data")
        .says(&["error[empty-value]", "table and version"]);
    // What a stream lacks is known when the job is planned.
    let plan = "plan stream.yaml --stream parts.txt --to plan --cache off";
    let fewer = stream_of(std::iter::once(people(0..0)[..1].to_vec()));
    refused(&work, 3, plan, &fewer).says(&["error[missing-column]", NAME, "`region`"]);
    refused(&work, 3, plan, &part(1)).says(&["has 150 rows", "schema alone"]);
    work.write("bad.txt", "1\nmany\n");
    refused(&work, 5, &plan.replace("parts.txt", "bad.txt"), &columns).says(&[
        "bad.txt",
        "line 2",
        "one a line",
    ]);
    // Streams and files are not mixed up.
    planned(&work, "");
    work.cfaudit(5, "worker plan --pass survey --shard 0").says(&["come as streams", "--stream"]);
    refused(&work, 5, "worker plan --pass survey --shard 5 --stream", &columns).says(&["5 shards"]);
    work.cfaudit(0, "plan job.yaml --shards 2 --to files --cache off");
    refused(&work, 5, "worker files --pass survey --shard 0 --stream", &columns)
        .says(&["in files", "leave out `--stream`"]);
    // The columns belong to the plan.
    fs::write(work.path("plan/columns.parquet"), b"PAR1").unwrap();
    refused(&work, 5, "worker plan --pass survey --shard 0 --stream", &part(0))
        .says(&["columns.parquet", "plan again"]);
}

/// Spark and Ray as schedulers, and a frame of Spark as rows, by the package of Python.
#[test]
#[ignore = "slow, `make test-slow` runs it: Spark and Ray, where CFAUDIT_PYTHON can import them"]
fn clusters_give_the_tables_of_a_run() {
    let Some(python) = crate::python::interpreter("pyarrow, pandas") else { return };
    for job in ["naive", "plausible", "groups", "scores", "onnx", "command"] {
        assert_on_clusters(job, &python);
    }
}

/// A program that is killed the first time that it is to count shard 1 for each caller.
fn put_killed_program(work: &Work) {
    use std::os::unix::fs::PermissionsExt;

    fs::create_dir(work.path("bin")).unwrap();
    let folder = work.path("").display().to_string();
    let program = env!("CARGO_BIN_EXE_cfaudit");
    let text = format!(
        "#!/bin/sh\n\
         case \"$*\" in\n\
         *'--pass count --shard 1 '*--stream*) mark=stream;;\n\
         *'plan-ray-3 --pass count --shard 1 '*) mark=ray;;\n\
         *'plan-spark-3 --pass count --shard 1 '*) mark=spark;;\n\
         *) exec '{program}' \"$@\";;\n\
         esac\n\
         mkdir '{folder}'/killed-$mark 2>&- && kill -9 $$\n\
         exec '{program}' \"$@\"\n"
    );
    work.write("bin/cfaudit", &text);
    fs::set_permissions(work.path("bin/cfaudit"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[track_caller]
fn assert_on_clusters(job: &str, python: &str) {
    let work = with_streams(job);
    if !add_models(&work, job) {
        return;
    }
    // The rows of a frame have no numbers that could be their ids.
    for file in ["job.yaml", "stream.yaml"] {
        let text = work.read(file);
        if !text.contains("row_id:") {
            work.write(file, &text.replacen("data:\n", "data:\n  row_id: id\n", 1));
        }
    }
    work.run(0, "job.yaml", "");
    put_killed_program(&work);
    for (which, killed) in [("ray", &["ray"][..]), ("spark", &["spark", "stream"])] {
        let mut command = crate::python_package::interpreter_with_package(&work, python);
        let known = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, of)| of);
        let path = format!("{}:{}", work.path("bin").display(), known.unwrap().to_string_lossy());
        command.env("PATH", path);
        let ran = command.arg(root().join("tests/python/cluster.py")).arg(which).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        match ran.status.code() {
            Some(9) => {
                crate::work::skip(&format!("{python} cannot import what {which} needs"));
                continue;
            }
            status => assert_eq!(status, Some(0), "{which}\n{said}"),
        }
        for mark in killed {
            assert!(
                work.path(&format!("killed-{mark}")).exists(),
                "no worker of {mark} was killed"
            );
        }
        // Seven shards of these files: some have no rows, one has a single row.
        for out in [1, 3, 7].map(|n| format!("out-{which}-{n}")) {
            assert_same(&results(&work.path("out")), &results(&work.path(&out)), &out);
        }
        if which == "spark" {
            assert_same(&tables(&work, "out"), &tables(&work, "out-frame"), "out-frame");
        }
    }
}
