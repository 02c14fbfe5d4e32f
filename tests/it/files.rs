//! Input files with faults: text files with wrong quotes and encodings, parts that disagree, disks
//! that are full, job files that expand without end. Each ends with its status and a message that
//! names file, line and remedy, and leaves nothing behind.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use arrow::array::{ArrayRef, Decimal128Array, ListArray};
use arrow::datatypes::Int64Type;

use crate::work::{Ran, Says, Work, array, column};

const JOB: &str = r#"
cfaudit: 1
name: files
data:
  rows: SOURCE
  label: {column: repaid, positive: ["yes"], favourable: positive}
  sensitive:
    sex: {groups: [f, m], reference: m}
  features: {continuous: [age], nominal: [town]}
  split: {share: {train: 0.5, audit: 0.5}}
counterfactuals: {flip: naive}
models:
  trained: {logistic: {l2: 1.0}}
metrics: {bootstrap: {samples: 20}}
"#;

fn rows(n: usize) -> String {
    let line = |i: usize| {
        let (sex, repaid) = (
            if i.is_multiple_of(2) { "f" } else { "m" },
            if i.is_multiple_of(3) { "yes" } else { "no" },
        );
        format!("{sex},{repaid},{},town{}\n", 20 + i, i % 5)
    };
    (0..n).map(line).collect()
}

fn with_source(source: &str) -> Work {
    let work = Work::new();
    work.write("job.yaml", &JOB.replace("SOURCE", source));
    work
}

/// Runs the job: this status, these words, a hint, no output folder and no scratch next to it.
#[track_caller]
fn refused(work: &Work, status: i32, words: &[&str]) -> Ran {
    refused_with(work, status, "", words)
}

#[track_caller]
fn refused_with(work: &Work, status: i32, args: &str, words: &[&str]) -> Ran {
    let ran = work.run(status, "job.yaml", args);
    ran.says(&["error", "hint: "]);
    ran.says(words);
    assert!(ran.stdout.is_empty() && !ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert!(!work.path("out").exists());
    ran
}

#[track_caller]
fn refused_csv(bytes: impl AsRef<[u8]>, words: &[&str]) {
    let work = with_source("{csv: {path: rows.csv}}");
    fs::write(work.path("rows.csv"), bytes).unwrap();
    refused(&work, 3, words);
}

const HEAD: &str = "sex,repaid,age,town\n";

#[test]
fn a_sound_text_file_runs() {
    let work = with_source("{csv: {path: rows.csv}}");
    // A byte order mark, line ends of another system, blank lines and quoted fields are all sound.
    let text =
        format!("\u{feff}{HEAD}{}\n\"f\",\"yes\",20,\"Saint \"\"Q\"\", by the sea\"\n", rows(40))
            .replace('\n', "\r\n");
    work.write("rows.csv", &text);
    assert_eq!(work.run(0, "job.yaml", "").summary()["rows"], 20);
}

#[test]
fn text_files_with_wrong_quotes() {
    let body = rows(30);
    refused_csv(
        format!("{HEAD}{body}f,yes,\"20,town1\n{body}"),
        &["bad-quoting", "`rows.csv`", "line 32", "never closed"],
    );
    refused_csv(
        format!("{HEAD}{body}f,yes,20,\"town\"1\n"),
        &["bad-quoting", "line 32", "behind a closing quote"],
    );
    refused_csv(
        format!("{HEAD}{body}f,yes,20,to\"wn\n"),
        &["bad-quoting", "line 32", "quote inside a field"],
    );
    refused_csv(
        format!("{HEAD}{body}f,yes,20,town, 1\n"),
        &["ragged-row", "line 32", "5 fields", "header has 4"],
    );
    refused_csv(format!("{HEAD}{body}f,yes\n"), &["ragged-row", "line 32", "2 fields"]);
}

#[test]
fn text_files_in_another_encoding() {
    let latin = [HEAD.as_bytes(), rows(30).as_bytes(), b"f,yes,20,M\xfcnchen\n"].concat();
    refused_csv(
        latin,
        &["bad-encoding", "`rows.csv`", "line 32", "field 4", "encoding: windows-1252"],
    );
    let wide: Vec<u8> =
        format!("\u{feff}{HEAD}{}", rows(30)).encode_utf16().flat_map(u16::to_le_bytes).collect();
    refused_csv(wide, &["bad-encoding", "`rows.csv`", "line 1", "iconv -f utf-16"]);
    let zeros = [HEAD.as_bytes(), rows(30).as_bytes(), &[0; 64]].concat();
    refused_csv(zeros, &["ragged-row", "`rows.csv`", "line 32"]);
}

#[test]
fn text_files_of_another_country() {
    let body = rows(30);
    refused_csv(
        format!("{HEAD}{body}f,yes,\"20,5\",town1\n"),
        &["not-numeric", "the text `20,5`", "write decimal points"],
    );
    refused_csv(
        format!("{HEAD}{body}f,yes,\"4.583,58\",town1\n"),
        &["not-numeric", "the text `4.583,58`", "write decimal points"],
    );
    refused_csv(format!("{HEAD}{body}").replace(',', ";"), &["missing-column", "delimiter: \";\""]);
}

#[test]
fn files_that_are_packed() {
    let packed = |start: &[u8]| [start, &[0xff; 200]].concat();
    refused_csv(
        packed(b"\x1f\x8b\x08\x00"),
        &["unreadable-file", "`rows.csv`", "begins like a gzip file", "gunzip", "--> job.yaml:"],
    );
    refused_csv(packed(b"\x28\xb5\x2f\xfd"), &["begins like a zstd file", "unpack it first"]);
    refused_csv(
        packed(b"PK\x03\x04"),
        &["a zip file or a workbook (xlsx)", "save the sheet as CSV"],
    );
    refused_csv(packed(b"PAR1"), &["begins like a Parquet file", "rows: {parquet: PATH}"]);
}

/// What is not a regular file may never end.
#[test]
fn pipes_devices_and_folders() {
    for source in ["{csv: {path: rows}}", "{parquet: rows}"] {
        let work = with_source(source);
        assert!(Command::new("mkfifo").arg(work.path("rows")).status().unwrap().success());
        refused(
            &work,
            3,
            &["error[not-a-file]", "`rows` is a pipe, socket or device", "--> job.yaml:5:"],
        );
        fs::remove_file(work.path("rows")).unwrap();
        symlink("/dev/zero", work.path("rows")).unwrap();
        refused(&work, 3, &["error[not-a-file]", "`rows` is a pipe, socket or device"]);
        work.cfaudit(3, "plan job.yaml").says(&["error[not-a-file]"]);
    }
    let work = with_source("{csv: {path: rows.csv}}");
    work.write("there.csv", &format!("{HEAD}{}", rows(40)));
    symlink("there.csv", work.path("rows.csv")).unwrap();
    work.run(0, "job.yaml", "");
}

#[test]
fn a_derived_column_hides_no_column_of_the_source() {
    let derive = "  derive: {town: {from: age, bins: [0, 40, 100]}}\n  features:";
    let check = |work: &Work, file: &str| {
        let job = work.read("job.yaml");
        work.write("job.yaml", &job.replace("  features:", derive));
        refused(
            work,
            3,
            &["error[hidden-column]", "`town`", file, "--> job.yaml:9:", "such as `town_group`"],
        );
        work.cfaudit(3, "check job.yaml").says(&["error[hidden-column]"]);
        // A name of its own is fine.
        let text = work
            .read("job.yaml")
            .replace("{town: {from", "{age_group: {from")
            .replace("[town]", "[age_group]");
        work.write("job.yaml", &text);
        work.run(0, "job.yaml", "");
    };
    let work = with_source("{csv: {path: rows.csv}}");
    work.write("rows.csv", &format!("{HEAD}{}", rows(40)));
    check(&work, "`rows.csv`");
    let work = with_source("{parquet: rows.parquet}");
    work.parquet("rows.parquet", columns_of(40));
    check(&work, "`rows.parquet`");
}

fn columns_of(n: usize) -> Vec<(&'static str, ArrayRef)> {
    let text = |words: [&'static str; 2]| column((0..n).map(|i| words[i % 2]));
    let ages = column((0..n as i64).map(|i| 20 + i));
    let repaid = column((0..n).map(|i| if i.is_multiple_of(3) { "yes" } else { "no" }));
    vec![("sex", text(["f", "m"])), ("repaid", repaid), ("age", ages), ("town", text(["a", "b"]))]
}

/// A file in a folder that says something else than its own column.
#[test]
fn folders_that_contradict_a_column_are_refused() {
    let work = with_source("{parquet: lake}");
    for sex in ["f", "m"] {
        fs::create_dir_all(work.path(&format!("lake/sex={sex}"))).unwrap();
        let mut columns = columns_of(40);
        columns[0].1 = column((0..40).map(|_| sex));
        work.parquet(&format!("lake/sex={sex}/part.parquet"), columns);
    }
    work.run(0, "job.yaml", "");
    fs::remove_dir_all(work.path("out")).unwrap();
    work.parquet("lake/sex=m/more.parquet", columns_of(40));
    let words = "column `sex` holds `f` in the folder `sex=m`";
    refused(&work, 3, &["error[other-folder]", words, "lake/sex=m/more.parquet"]);
}

#[test]
fn values_that_do_not_fit_and_ids_that_are_not_there() {
    let work = with_source("{parquet: rows.parquet}");
    let mut columns = columns_of(40);
    columns[2].1 = column((0..40).map(|i| if i == 9 { u64::MAX } else { 20 + i }));
    work.parquet("rows.parquet", columns);
    refused(
        &work,
        3,
        &[
            "error[unreadable-value]",
            "column `age`",
            "18446744073709551615",
            "hint: whole numbers up to",
        ],
    );
    let work = with_source("{parquet: rows.parquet}\n  row_id: id");
    let mut columns = columns_of(40);
    columns.push(("id", column((0..40_i64).map(|i| (i != 7).then_some(i)))));
    work.parquet("rows.parquet", columns);
    refused(
        &work,
        3,
        &["error[missing-row-id]", "row 7", "column `id`", "hint: give every row an id"],
    );
    let work = with_source("{parquet: rows.parquet}");
    let mut columns = columns_of(40);
    columns[3].1 =
        array(ListArray::from_iter_primitive::<Int64Type, _, _>((0..40).map(|i| Some([Some(i)]))));
    work.parquet("rows.parquet", columns);
    refused(
        &work,
        3,
        &["error[unsupported-type]", "column `town` holds lists, which", "flatten lists"],
    );
}

/// Nulls that became a separate level are missing anyway where the data are reported.
#[test]
fn missing_values_are_told_as_missing() {
    let work = with_source("{csv: {path: rows.csv}}\n  missing: {nominal: level}");
    work.write("rows.csv", &format!("{HEAD}{}f,yes,30,\nm,no,31,\nf,no,32,\n", rows(40)));
    let json: serde_json::Value =
        serde_json::from_str(&work.cfaudit(0, "data job.yaml --cache cache --json").stdout)
            .unwrap();
    let town = json["columns"].as_array().unwrap().iter().find(|c| c["name"] == "town").unwrap();
    assert_eq!(town["missing"], 3);
    assert!(
        town["levels"]
            .as_array()
            .unwrap()
            .contains(&serde_json::json!({"level": "missing", "n": 3})),
        "{town}"
    );
}

/// In a log each problem has a line with its own time; what belongs to it is indented below.
#[test]
fn lines_of_a_log_begin_with_a_time() {
    let work = with_source("{csv: {path: rows.csv}}");
    let job = work.read("job.yaml");
    work.write(
        "job.yaml",
        &job.replace("l2: 1.0", "l2: much").replace("samples: 20", "samples: many"),
    );
    let ran = work.run(2, "job.yaml", "--log-file log");
    let (indented, others): (Vec<&str>, Vec<&str>) =
        ran.stderr.lines().partition(|line| line.starts_with("  "));
    assert!(indented.iter().any(|line| line.starts_with("  --> job.yaml:")), "{}", ran.stderr);
    assert!(
        others.len() == 3
            && others.iter().all(|line| line.starts_with("20") && line.contains("Z ")),
        "{}",
        ran.stderr
    );
    let log = work.read("log");
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let problems: Vec<_> = lines.iter().filter(|line| line["event"] == "problem").collect();
    assert!(
        problems.len() == 2
            && problems.iter().all(|p| p["path"] == "job.yaml" && p["line"].as_u64() > Some(10)),
        "{log}"
    );
}

#[test]
fn text_files_without_what_is_asked_for() {
    refused_csv("", &["empty-file", "`rows.csv`"]);
    refused_csv(HEAD, &["no-rows", "`rows.csv`"]);
    refused_csv(
        format!("{}{}", HEAD.replace(',', ";"), rows(30).replace(',', ";")),
        &["missing-column", "`rows.csv`", "`sex;repaid;age;town`"],
    );
    refused_csv(format!("sex,repaid,age,sex\n{}", rows(30)), &["duplicate-column", "`sex`"]);
    refused_csv(
        format!("sex,repayed,age,town\n{}", rows(30)),
        &["missing-column", "`repaid`", "did you mean `repayed`?"],
    );
    refused_csv(
        format!("{HEAD}{}f,yes,about 20,town1\n", rows(30)),
        &["not-numeric", "row 30", "column `age`", "`about 20`"],
    );
    refused_csv(format!("{HEAD}{}f,yes,1e999,town1\n", rows(30)), &["`age`", "row 30"]);
    let work = with_source("{csv: {path: rows.csv}}");
    refused(&work, 3, &["missing-file", "`rows.csv`", "relative to the folder"]);
    fs::create_dir(work.path("rows.csv")).unwrap();
    refused(&work, 3, &["missing-file", "`rows.csv`"]);
}

#[test]
fn parts_of_a_glob_that_disagree() {
    let part = |work: &Work, name: &str, age: arrow::array::ArrayRef| {
        let n = age.len();
        let text = |words: [&'static str; 2]| column((0..n).map(|i| words[i % 2]));
        work.parquet(
            name,
            vec![
                ("sex", text(["f", "m"])),
                ("repaid", text(["yes", "no"])),
                ("age", age),
                ("town", text(["a", "b"])),
            ],
        );
    };
    let work = with_source("{parquet: \"parts/*.parquet\"}");
    refused(&work, 3, &["missing-file", "`parts/*.parquet`"]);
    fs::create_dir(work.path("parts")).unwrap();
    part(&work, "parts/a.parquet", column(20..60_i64));
    part(&work, "parts/b.parquet", column((20..60).map(|i| i.to_string())));
    refused(
        &work,
        3,
        &[
            "type-changes",
            "column `age`",
            "`parts/a.parquet`",
            "`parts/b.parquet`",
            "integers",
            "text",
        ],
    );
    work.parquet("parts/b.parquet", vec![("sex", column(["f", "m"]))]);
    refused(&work, 3, &["missing-column", "`parts/b.parquet`"]);
    fs::write(work.path("parts/b.parquet"), b"PAR1 nothing PAR1").unwrap();
    refused(&work, 3, &["unreadable-file", "`parts/b.parquet`"]);
}

/// Texts that `pandas.read_csv` reads as booleans are the classes 1 and 0 and the groups 1 and 0;
/// other texts are not.
#[test]
fn booleans_of_a_text_file_match_1_and_0() {
    let work = Work::new();
    let job = "cfaudit: 1
name: flags
data:
  rows: {csv: {path: rows.csv}}
  row_id: id
  label: {column: y, positive: [POSITIVE], favourable: positive}
  sensitive: {g: {groups: GROUPS, reference: 1}}
models: {m: {scores: {factual: {column: s}}, threshold: 0.5}}
";
    let ran = |odd: &str, positive: &str, groups: &str, status: i32| {
        let flag = |yes: bool| if yes { "True" } else { "FALSE" };
        let line = |i: usize| {
            let y = if i == 7 { odd } else { flag(i.is_multiple_of(3)) };
            format!("{i},{},{y},{}\n", flag(i % 4 < 2), (i * 37 % 100) as f64 / 100.0)
        };
        work.write("rows.csv", &format!("id,g,y,s\n{}", (0..200).map(line).collect::<String>()));
        work.write("job.yaml", &job.replace("POSITIVE", positive).replace("GROUPS", groups));
        work.run(status, "job.yaml", "")
    };
    let numbers = |positive: &str, groups: &str| {
        ran("True", positive, groups, 0);
        let metrics = work.table("metrics");
        let counts_of = |row: crate::frame::TableRecord<'_>| {
            let text = ["metric", "scope"].map(|name| row.text(name).to_owned());
            (text, row.int("numerator"), row.int("denominator"))
        };
        let mut counts: Vec<_> = metrics.records().map(counts_of).collect();
        counts.sort();
        counts
    };
    let spelt = numbers("\"true\"", "[1, \"false\"]");
    assert!(!spelt.is_empty());
    assert_eq!(numbers("1", "[1, 0]"), spelt);
    ran("perhaps", "1", "[1, 0]", 3).says(&["unknown-label-value", "`perhaps`"]);
    ran("2", "1", "[1, 0]", 3).says(&["unknown-label-value"]);
}

/// Links inside a folder of rows: a file that is reached by two paths counts once, under the folder
/// that holds it, and the run says so.
#[test]
fn rows_that_are_reached_by_two_ways_count_once() {
    let work = with_source("{parquet: lake}\n  keep: [{day: {in: [\"2026-11-20\"]}}]");
    fs::create_dir_all(work.path("lake/day=2026-11-20")).unwrap();
    work.parquet("lake/day=2026-11-20/part.parquet", columns_of(40));
    let warnings = |ran: &Ran| -> Vec<String> {
        let warnings = ran.stderr.lines().filter_map(|line| line.split_once("warning"));
        warnings.map(|(_, text)| text.to_owned()).collect()
    };
    let first = work.run(0, "job.yaml", "");
    let alone = first.summary()["rows"].clone();
    // A link next to the folder, before it in the order of names; one to the file; and a loop.
    symlink("day=2026-11-20", work.path("lake/a-latest")).unwrap();
    symlink("part.parquet", work.path("lake/day=2026-11-20/another.parquet")).unwrap();
    symlink("..", work.path("lake/day=2026-11-20/up")).unwrap();
    let ran = work.run(0, "job.yaml", "");
    assert_eq!(ran.summary()["rows"], alone);
    ran.says(&[
        "`lake/a-latest` leads to `lake/day=2026-11-20`, whose rows count once",
        "`lake/day=2026-11-20/another.parquet` leads to `lake/day=2026-11-20/part.parquet`",
        "`lake/day=2026-11-20/up` leads to `lake`",
    ]);
    work.cfaudit(0, "check job.yaml --cache cache").says(&["whose rows count once"]);
    // Nobody has to act on it.
    assert_eq!(warnings(&ran), warnings(&first));
    let quiet = work.run(0, "job.yaml", "--quiet");
    quiet.stderr.lacks(&["count once"]);
    quiet.stdout.lacks(&["count once"]);
    let inputs = work.json("out/manifest.json")["inputs"].clone();
    assert_eq!(
        (inputs.as_array().unwrap().len(), &inputs[0]["path"]),
        (1, &"lake/day=2026-11-20/part.parquet".into())
    );
    // A glob finds both names of the folder.
    let job = work.read("job.yaml");
    work.write("job.yaml", &job.replace("{parquet: lake}", "{parquet: \"lake/*/*.parquet\"}"));
    let ran = work.run(0, "job.yaml", "");
    assert_eq!(ran.summary()["rows"], alone);
    ran.says(&["`lake/a-latest/part.parquet` leads to `lake/day=2026-11-20/part.parquet`"]);
}

/// Row ids as DECIMAL(38, 0), as many databases write them, are those of the same integers; for
/// others the message says what they must be.
#[test]
fn decimal_row_ids() {
    let with_ids = |ids: ArrayRef| {
        let work = with_source("{parquet: rows.parquet}\n  row_id: id");
        let mut columns = columns_of(40);
        columns.push(("id", ids));
        work.parquet("rows.parquet", columns);
        work
    };
    let integers = with_ids(column(1000..1040_i64));
    integers.run(0, "job.yaml", "");
    let keys = |work: &Work| fs::read(work.path("out/rows/outcomes.parquet")).unwrap();
    let decimal = |places: i8| {
        let ids = Decimal128Array::from_iter_values(
            (1000..1040).map(|i: i128| i * 10_i128.pow(u32::try_from(places).unwrap())),
        );
        array(ids.with_precision_and_scale(38, places).unwrap())
    };
    let decimals = with_ids(decimal(0));
    decimals.run(0, "job.yaml", "");
    assert_eq!(keys(&integers), keys(&decimals));
    let ran = refused(
        &with_ids(decimal(2)),
        3,
        &["error[not-an-id]", "column `id` holds floats or decimals", "DECIMAL(38, 0)"],
    );
    ran.stderr.says(&["or text"]);
}

#[test]
fn a_column_with_a_million_levels() {
    let n = 1_000_000;
    let work = with_source("{parquet: rows.parquet}");
    let text = |words: [&'static str; 2]| column((0..n).map(|i| words[i % 2]));
    work.parquet(
        "rows.parquet",
        vec![
            ("sex", text(["f", "m"])),
            ("repaid", text(["yes", "no"])),
            ("age", column(0..1_000_000_i64)),
            ("town", column((0..n).map(|i| format!("town {i}")))),
        ],
    );
    refused(&work, 3, &["too-many-levels", "column `town`", "`rows.parquet`", "`ignore`"]);
}

/// Numbers with a decimal comma are not levels: the hint must not lead to one encoded column for
/// each.
#[test]
fn decimals_are_not_taken_for_levels() {
    let work = with_source("{csv: {path: rows.csv, delimiter: \";\"}}");
    let line = |i: usize| {
        format!(
            "{};{};{};{}.{:03},5\n",
            ["f", "m"][i % 2],
            ["yes", "no"][i % 3 % 2],
            20 + i % 50,
            i / 1000 + 1,
            i % 1000
        )
    };
    work.write(
        "rows.csv",
        &format!("{}{}", HEAD.replace(',', ";"), (0..3000).map(line).collect::<String>()),
    );
    let words = ["error[numbers-as-levels]", "column `town`", "decimal: \",\"", "`continuous`"];
    refused(&work, 3, &words);
    work.cfaudit(3, "check job.yaml").says(&words);
}

/// 3,000 levels: 72 MB a thread for logistic regression, 36 MB for trees of the 1,500 training
/// rows.
#[test]
fn a_model_that_is_too_large_is_refused_before_it_takes_memory() {
    let work = with_source("{csv: {path: rows.csv}}");
    let line = |i: usize| {
        format!("{},{},{},town{i}\n", ["f", "m"][i % 2], ["yes", "no"][i % 3 % 2], 20 + i % 50)
    };
    work.write("rows.csv", &format!("{HEAD}{}", (0..3000).map(line).collect::<String>()));
    let words = [
        "error[too-large-model]",
        "72 MB",
        "3000 of them levels of `town`",
        "--memory",
        "--> job.yaml:13:",
    ];
    work.cfaudit(3, "check job.yaml --threads 1 --memory 64MiB --cache cache").says(&words);
    refused_with(&work, 3, "--threads 1 --memory 64MiB", &words);
    refused_with(&work, 3, "--threads 2 --memory 128MiB", &["error[too-large-model]", "144 MB"]);
    let stdout = work.cfaudit(0, "check job.yaml --threads 1 --memory 80MiB --cache cache").stdout;
    stdout.says(&["warning[many-levels]: ", "3000 levels"]);
    let omits = "--set models.trained.logistic.omit=[town]";
    work.cfaudit(0, &format!("check job.yaml --threads 1 --memory 64MiB --cache cache {omits}"));
    if cfg!(feature = "lightgbm") {
        work.edit("job.yaml", "job.yaml", &[("logistic: {l2: 1.0}", "boosting: {}")]);
        work.cfaudit(0, "check job.yaml --threads 9 --memory 64MiB --cache cache");
    }
}

#[test]
fn job_files_that_want_to_blow_up() {
    let job = |text: String, status: i32, words: &[&str]| {
        let work = Work::new();
        work.write("job.yaml", &text);
        let ran = work.run(status, "job.yaml", "");
        ran.says(&["job.yaml", "hint: "]);
        ran.says(words);
        assert!(!ran.stderr.contains("panicked") && ran.stderr.len() < 20_000, "{}", ran.stderr);
    };
    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for pair in ["ab", "bc", "cd", "de", "ef", "fg", "gh", "hi", "ij"] {
        let (of, to) = pair.split_at(1);
        bomb +=
            &format!("{to}: &{to} [{}]\n", [&format!("*{of}"); 9].map(String::as_str).join(", "));
    }
    job(bomb, 2, &["error["]);
    job("[".repeat(100_000), 2, &["error["]);
    job("- ".repeat(100_000), 2, &["error["]);
    job("{a: ".repeat(5_000), 2, &["error["]);
    job(format!("cfaudit: 1\nname: {}\n", "x".repeat(1 << 20)), 2, &["error["]);
    job(format!("cfaudit: 1\nname: \"a\\0b\"\n{JOB}"), 2, &["error["]);
}

/// A file system of one megabyte: the run ends with 5, says what is full, and the old results stay
/// whole.
#[test]
fn a_disk_that_is_full() {
    let work = with_source("{csv: {path: rows.csv}}");
    work.write("rows.csv", &format!("{HEAD}{}", rows(60_000)));
    fs::create_dir(work.path("small")).unwrap();
    let small = work.path("small");
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&small).status();
    if !mounted.is_ok_and(|status| status.success()) {
        crate::work::skip("this user may not mount a small file system");
        return;
    }
    let caught = std::panic::catch_unwind(|| {
        // The cache is full first; then only the output folder is.
        let ran = work.cfaudit(5, "run job.yaml --out out --cache small/cache");
        ran.says(&["`small/cache", "hint: "]);
        assert!(!work.path("out").exists());
        fs::remove_dir_all(work.path("small/cache")).unwrap();
        work.cfaudit(0, "run job.yaml --out small/out --cache cache");
        let before = crate::work::files(&work.path("small/out"));
        fs::write(work.path("small/filler"), vec![0; 1 << 22]).unwrap_err();
        work.cfaudit(5, "run job.yaml --out small/out --cache cache --set report.title=other")
            .says(&["/small/", "No space left", "hint: "]);
        crate::work::assert_same(
            &before,
            &crate::work::files(&work.path("small/out")),
            "a full disk",
        );
    });
    let unmounted = Command::new("umount").arg(&small).status().unwrap();
    assert!(unmounted.success());
    if let Err(why) = caught {
        std::panic::resume_unwind(why);
    }
}
