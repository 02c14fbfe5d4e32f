//! The guide to rows: each example of `docs/rows.md` is run, and what it promises is checked.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Float64Type, Int64Type};

use crate::batches::{read, write_stream};
use crate::rows_out;
use crate::work::{Ran, Rows, Says, Work, column, root};

/// Applicants, as the examples of the guide have them, and the job around each example.
pub(crate) fn applicants() -> Work {
    let work = Work::new();
    let mut loans = "application_id,sex,country,income,debt,days_late,paid\n".to_owned();
    let mut protected = "application_id,gender,birth_year\n".to_owned();
    for i in 0..240_u32 {
        let sex = ["w", "m", "W", "m ", "w", "M"][(i % 6) as usize];
        let country = ["DE", "FR", "IT", "de"][(i / 6 % 4) as usize];
        let (income, debt) = (i * 37 % 101 * 40, i * 53 % 97 * 30);
        let paid = ["yes", "no"][usize::from((i * 29 + i / 7) % 10 < 4)];
        loans += &format!("A{i},{sex},{country},{income},{debt},{},{paid}\n", i * 13 % 120);
        let gender = ["female", "male"][(i % 2) as usize];
        protected += &format!("A{},{gender},{}\n", 239 - i, 1950 + i * 7 % 50);
    }
    work.write("loans.csv", &loans);
    work.write("protected.csv", &protected);
    work.write(
        "base.yaml",
        "data:\n  rows: {csv: {path: loans.csv}}\n  row_id: application_id\n  label: {column: \
         paid, positive: [yes], favourable: positive}\n  sensitive:\n    sex: {groups: [w, m], \
         reference: m}\n  features: {continuous: [income], nominal: [country]}\n  split: {share: \
         {train: 0.5, audit: 0.5}}\ncounterfactuals: {flip: naive}\n\
         models: {logit: {logistic: {l2: 1.0}}}\n",
    );
    work
}

/// The examples of the guide below a heading, in order.
pub(crate) fn examples(heading: &str) -> Vec<String> {
    let guide = std::fs::read_to_string(root().join("docs/rows.md")).unwrap();
    let section = guide.split("\n## ").find(|part| part.starts_with(heading)).unwrap();
    let blocks = section.split("```yaml\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

pub(crate) fn check(work: &Work, status: i32, part: &str) -> Ran {
    work.write("job.yaml", &format!("cfaudit: 1\nname: loans\ninclude: [base.yaml]\n{part}"));
    work.cfaudit(status, "check job.yaml")
}

#[test]
fn values_that_differ_only_by_case_or_blanks_are_told_and_joined() {
    let work = applicants();
    let stdout = check(&work, 0, "").stdout;
    stdout.says(&[
        "80 rows have a value of `sex` that is not among its groups: `M` (40; it and `m` differ \
         only by case), `W` (40; it and `w` differ only by case)",
        "where they mean a group, write `data.columns.sex: {case: fold}`",
        "values of `country` differ only by case, and count as values of their own: `DE` (60) and \
         `de` (60); where they mean the same write `data.columns.country: {case: fold}`",
    ]);
    let [joined] = &examples("Consistent spelling")[..] else { panic!() };
    let stdout = check(&work, 0, joined).stdout;
    stdout.lacks(&["differ only"]);
    let stdout = work.cfaudit(0, "data job.yaml --json").stdout;
    let preview: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let groups = preview["attributes"][0]["groups"].as_array().unwrap();
    let rows: Vec<_> = groups.iter().map(|g| (g["group"].as_str(), g["rows"].as_u64())).collect();
    assert_eq!(rows, [(Some("w"), Some(120)), (Some("m"), Some(120)), (None, Some(0))]);
    let respelt = preview["issues"].as_array().unwrap().iter();
    let respelt: Vec<_> = respelt
        .filter(|issue| issue["code"] == "respelt-value")
        .map(|issue| (issue["where"].as_str().unwrap(), issue["n"].as_u64().unwrap()))
        .collect();
    assert_eq!(respelt, [("country", 180), ("sex", 120)]);
}

/// A map does not recognise a value in another case.
#[test]
fn a_map_says_what_it_lacks_by_a_letter() {
    let work = applicants();
    let derive = "data:\n  derive: {region: {from: country, map: {near: [DE, FR]}, else: far}}\n  \
                  features: {nominal: [region]}\n";
    let stdout = check(&work, 0, derive).stdout;
    let words = "60 rows have a value of `country` that differs only by case from one in the map \
                 of `region`: `de` (60; the map has `DE`); they count as `far`; where they mean \
                 the same write `data.columns.country: {case: fold}`";
    assert!(stdout.contains(words), "{stdout}");
    let fold = derive.to_owned() + "  columns: {country: {case: fold}}\n";
    let stdout = check(&work, 0, &fold).stdout;
    stdout.lacks(&["differs only by case"]);
}

/// `new` joins values that differ only by case, and the job that it writes runs.
#[test]
fn a_first_job_joins_them() {
    let work = applicants();
    let args = "new loans.csv --label paid --sensitive sex --reference M --positive yes";
    let text = work.cfaudit(0, args).stdout;
    text.says(&[
        "groups: [m, w]",
        "reference: m   # the group",
        "    sex: {case: fold}   # DECIDE: one value each? `m` and `M`, `w` and `W`",
        "    country: {case: fold}   # DECIDE: one value each? `DE` and `de`",
    ]);
    work.write("first.yaml", &text);
    let stdout = work.cfaudit(0, "check first.yaml").stdout;
    stdout.lacks(&["differ only"]);
}

fn preview(work: &Work) -> serde_json::Value {
    let stdout = work.cfaudit(0, "data job.yaml --json").stdout;
    serde_json::from_str(&stdout).unwrap()
}

#[test]
fn a_side_table_gives_its_columns() {
    let work = applicants();
    let [joined] = &examples("Columns from another file")[..] else { panic!() };
    check(&work, 0, joined);
    let preview = preview(&work);
    let mut columns = preview["columns"].as_array().unwrap().iter();
    let born = columns.find(|column| column["name"] == "birth_year").unwrap();
    assert_eq!((born["type"].as_str(), born["missing"].as_u64()), (Some("integers"), Some(0)));
    assert_eq!((born["min"].as_f64(), born["max"].as_f64()), (Some(1950.0), Some(1999.0)));
    // Row A0 is the last of the table.
    let groups = preview["attributes"][1]["groups"].as_array().unwrap().clone();
    assert_eq!((groups[0]["rows"].as_u64(), groups[1]["rows"].as_u64()), (Some(120), Some(120)));
    // The table is an input as the rows are.
    let planned = || work.cfaudit(0, "plan job.yaml --json").stdout;
    let key = |planned: &str| {
        let plan: serde_json::Value = serde_json::from_str(planned).unwrap();
        let stages = plan["stages"].as_array().unwrap().iter();
        let mut keys = stages.filter(|stage| stage["id"] == "prepare");
        keys.next().unwrap()["key"].as_str().unwrap().to_owned()
    };
    let before = key(&planned());
    work.edit("protected.csv", "protected.csv", &[("A7,female,", "A7,male,")]);
    assert_ne!(key(&planned()), before);
}

/// What is wrong with a side table is reported with numbers and examples.
#[test]
fn side_tables_that_do_not_fit() {
    let work = applicants();
    let joined = examples("Columns from another file").remove(0);
    let table = work.read("protected.csv");
    let with = |text: &str| work.write("protected.csv", text);
    let lines = table.lines().filter(|line| !line.starts_with("A2"));
    let without: String = lines.map(|line| format!("{line}\n")).collect();
    with(&without);
    check(&work, 3, &joined).says(&[
        "error[unmatched-key]: 51 of 240 rows have a key `application_id` that the side table \
         `protected` lacks, such as `A2` (row 2), `A20` (row 20), `A21` (row 21), `A22` (row 22), \
         `A23` (row 23)",
        "by `data.join.protected.missing: keep` or `drop`",
    ]);
    let kept = joined.replace("missing: error", "missing: keep");
    let stdout = check(&work, 0, &kept).stdout;
    stdout.says(&["51 of 240 rows have a key", "they have no value in its columns"]);
    assert_eq!(preview(&work)["rows"]["kept"].as_u64(), Some(240));
    let stdout = check(&work, 0, &joined.replace("missing: error", "missing: drop")).stdout;
    stdout.says(&["they are dropped"]);
    let preview = preview(&work);
    assert_eq!(preview["rows"]["kept"].as_u64(), Some(189));
    assert_eq!(preview["filters"][0]["what"].as_str(), Some("join protected: drop"));
    assert_eq!(preview["filters"][0]["rows_out"].as_u64(), Some(189));
    with(&(table.clone() + "A3,male,1970\nA4,male,1970\nA3,male,1971\n"));
    check(&work, 3, &joined).says(&[
        "error[repeated-key]: the key `application_id` of the side table `protected` is not \
         unique: 3 of its 243 rows repeat a key of an earlier row, such as `A3` (rows 236 and \
         240), `A4` (rows 235 and 241), `A3` (rows 236 and 242)",
        "job.yaml:",
    ]);
    with(&table.replace("\nA", "\n0"));
    check(&work, 3, &kept).says(&[
        "error[unmatched-key]: all of 240 rows have a key",
        "the table holds keys such as `0239`",
    ]);
    with(&table.replace("application_id,gender", "application_id,income"));
    let clash = joined.replace("columns: [gender,", "columns: [income,");
    let clash = clash.replace("gender:", "sex:").replace("female, male", "w, m");
    check(&work, 3, &clash.replace(": male}", ": m}")).says(&[
        "error[hidden-column]: the column `income` that is joined from the side table `protected` \
         would hide the column of that name in `loans.csv`",
    ]);
    with(&table);
    work.write("job.yaml", &format!("cfaudit: 1\nname: loans\ninclude: [base.yaml]\n{joined}"));
    let wide = "x".repeat(4000);
    let rows = || 0..17_500;
    Rows::of(rows())
        .with("application_id", |i| format!("A{i}"))
        .with("gender", |i| format!("{wide}{i}"))
        .write(&work, "wide.parquet");
    let wide =
        joined.replace("csv: {path: protected.csv, encoding: utf-8}", "parquet: wide.parquet");
    let wide = wide.replace(", birth_year]", "]");
    work.write("job.yaml", &format!("cfaudit: 1\nname: loans\ninclude: [base.yaml]\n{wide}"));
    work.cfaudit(3, "check job.yaml --memory 64MiB").says(&["error[too-large-table]"]);
}

#[test]
fn expressions_derive_columns_and_keep_rows() {
    let work = applicants();
    let [example] = &examples("Columns and filters in SQL")[..] else { panic!() };
    let stdout = check(&work, 0, example).stdout;
    assert!(!stdout.contains("not-finite"), "rows without income are filtered after\n{stdout}");
    let preview = preview(&work);
    let filters = preview["filters"].as_array().unwrap();
    let keep = "keep sql: income > 0 AND country IN ('DE', 'FR', 'IT')";
    assert_eq!(filters[0]["what"].as_str(), Some(keep));
    // Countries turn by four, and the income is 0 in two or three rows of 240.
    let kept = filters[0]["rows_out"].as_u64().unwrap();
    let expected = (0..240_u32).filter(|i| i * 37 % 101 > 0 && i / 6 % 4 < 3).count();
    assert_eq!(kept, expected as u64);
    let columns = preview["columns"].as_array().unwrap();
    let of = |name: &str| columns.iter().find(|column| column["name"] == name).unwrap();
    assert_eq!(of("ratio")["kind"].as_str(), Some("continuous"));
    assert_eq!(of("ratio")["missing"].as_u64(), Some(0));
    let ratios = (0..240_u32).filter(|i| i * 37 % 101 > 0 && i / 6 % 4 < 3);
    let ratios = ratios.map(|i| f64::from(i * 53 % 97 * 30) / f64::from(i * 37 % 101 * 40));
    assert_eq!(of("ratio")["max"].as_f64(), ratios.reduce(f64::max));
    assert_eq!(of("late")["type"].as_str(), Some("booleans"));
    let levels = |name: &str| {
        let levels = of(name)["levels"].as_array().unwrap().iter();
        levels.map(|level| level["level"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(levels("late"), ["false", "true"]);
    assert_eq!(levels("near"), ["near", "far"]);
    // A column that only the filter reads need not be a feature; without the filter the division
    // by 0 is reported.
    let step = "    - {sql: \"income > 0 AND country IN ('DE', 'FR', 'IT')\"}\n";
    let without = example.replace(step, "");
    let stdout = check(&work, 0, &without).stdout;
    let n = (0..240_u32).filter(|i| i * 37 % 101 == 0).count();
    let words = format!("{n} rows have no finite number in `ratio`");
    assert!(stdout.contains(&words), "`{words}` is not in\n{stdout}");
}

/// When a strategy moves a column, what is computed from it follows.
#[test]
fn expressions_are_computed_again_in_counterfactuals() {
    let work = Work::new();
    rows_out::applicants(&work);
    rows_out::job(&work, "job.yaml", rows_out::SETS, "run: {keep_rows: all}");
    let job = work.read("job.yaml");
    let derive = "data:\n  derive:\n    ratio: {sql: income / hours}\n    half: {sql: ratio / \
                  2}\n    kind: {sql: \"CASE WHEN half > 40 THEN 'a' ELSE branch END\"}\n";
    let job = job.replace("data:\n", derive).replace(
        "income, hours]\n    nominal: [branch]",
        "income, hours, ratio, half]\n    nominal: [kind]",
    );
    work.write("job.yaml", &job);
    work.run(0, "job.yaml", "");
    let kept = read(&work.path("out/rows/counterfactuals/world/part-00000.parquet"));
    let numbers = |name: &str| kept.column_by_name(name).unwrap().as_primitive::<Float64Type>();
    let hours = kept.column_by_name("hours").unwrap().as_primitive::<Int64Type>();
    let (income, ratio, half) = (numbers("income"), numbers("ratio"), numbers("half"));
    let kind = kept.column_by_name("kind").unwrap().as_string::<i32>();
    let mut above = 0;
    for i in 0..kept.num_rows() {
        let expected = income.value(i) / hours.value(i) as f64;
        assert_eq!((ratio.value(i), half.value(i)), (expected, expected / 2.0));
        assert_eq!(kind.is_valid(i) && kind.value(i) == "a", expected / 2.0 > 40.0);
        above += usize::from(expected / 2.0 > 40.0);
    }
    assert!(above > 20 && above < 280, "{above}");
    // The column of branches is not a feature: it travels for the expression alone.
    assert!(kept.column_by_name("branch").is_none());
}

/// Errors of types are found where the columns are, those of form without the data.
#[test]
fn expressions_that_cannot_be() {
    let work = applicants();
    let derive = |sql: &str| {
        format!("data:\n  derive:\n    x: {{sql: \"{sql}\"}}\n  features: {{nominal: [x]}}\n")
    };
    check(&work, 2, &derive("income -\\n  avg(income)")).says(&[
        "error[bad-sql]: line 2, column 3 of the expression: `avg` looks at other rows",
        "job.yaml:6:",
    ]);
    check(&work, 3, &derive("country + 1")).says(&[
        "error[bad-sql]: the column `x` cannot be computed: line 1, column 1 of the expression: a \
         text stands where a number is wanted",
        "job.yaml:6:",
    ]);
    check(&work, 3, &derive("incom + 1"))
        .says(&["error[missing-column]", "did you mean `income`?"]);
    check(&work, 3, "data:\n  keep: [{sql: \"income + 1\"}]\n")
        .says(&["error[bad-sql]: the filter `income + 1` does not say which rows to keep"]);
    let rows = work.read("loans.csv");
    let large = "A7,m,FR,9007199254741";
    work.write("loans.csv", &rows.replace("A7,m,FR,", large));
    check(&work, 3, &derive("CASE WHEN income > 5 THEN 'a' ELSE 'b' END"))
        .says(&["error[large-integer]: column `income` holds 90071992547412280"]);
}

/// A short expression may double its texts at every step: it ends before they take the memory.
#[test]
fn texts_of_expressions_are_bounded() {
    let work = applicants();
    let steps = |n: usize, step: &str| {
        (0..n).fold("country".to_owned(), |inner, _| step.replace('_', &inner))
    };
    let sql = steps(12, "replace(_, 'E', 'EEEEEEEEEE')");
    let row = ["error[large-text]", "a text of this row", "at most 65536", "loans.csv", "hint: "];
    let derive = |sql: &str| format!("data:\n  derive: {{x: {{sql: \"{sql}\"}}}}\n");
    check(&work, 3, &(derive(&sql) + "  features: {nominal: [x]}\n")).says(&row);
    check(&work, 3, &format!("data:\n  keep: [{{sql: \"{sql} = 'x'\"}}]\n")).says(&row);
    let chain = |of: &str| {
        let column = |k: usize| {
            let before = if k == 0 { "country".to_owned() } else { format!("q{}", k - 1) };
            format!("    q{k}: {{sql: \"{}\"}}\n", of.replace('_', &before))
        };
        let columns: String = (0..22).map(column).collect();
        format!("data:\n  derive:\n{columns}  features: {{nominal: [q21]}}\n")
    };
    for of in ["concat(_, _)", "_ || _"] {
        check(&work, 3, &chain(of)).says(&["error[large-text]", "`q15`"]);
    }
}

#[test]
fn a_list_names_the_files_of_a_snapshot() {
    let work = applicants();
    let people = |from: u32, n: u32| {
        let of = || from..from + n;
        let text = |one: fn(u32) -> String| column(of().map(one));
        vec![
            ("application_id", text(|i| format!("A{i}"))),
            ("sex", text(|i| ["w", "m"][(i % 2) as usize].to_owned())),
            ("country", text(|i| ["DE", "FR"][(i / 2 % 2) as usize].to_owned())),
            ("paid", text(|i| ["yes", "no"][usize::from(i * 7 % 10 < 4)].to_owned())),
            ("income", column(of().map(|i| f64::from(i % 17)))),
        ]
    };
    std::fs::create_dir(work.path("table")).unwrap();
    work.parquet("table/a.parquet", people(0, 60));
    work.parquet("table/old.parquet", people(0, 60));
    work.parquet("table/b.parquet", people(60, 60));
    let [example] = &examples("A snapshot of a table")[..] else { panic!() };
    work.edit("base.yaml", "base.yaml", &[("  rows: {csv: {path: loans.csv}}\n", "")]);
    let b = work.path("table/b.parquet");
    let list = format!("# version 7\nfile://{}\n\ntable/a.parquet\n", b.display());
    work.write("snapshot.txt", &list);
    check(&work, 0, example);
    assert_eq!(preview(&work)["rows"]["source"].as_u64(), Some(120));
    for (list, words) in [
        ("table/a.parquet\n\ntable/c.parquet\n", "line 3"),
        ("table/a.parquet\ntable/../table/a.parquet\n", "twice, first on line 1"),
        ("s3a://bank/loans/a.parquet\n", "`s3a://` addresses are not read"),
        ("# nothing\n", "names no file"),
    ] {
        work.write("snapshot.txt", list);
        check(&work, 3, example).says(&[words, "snapshot.txt", "hint: "]);
    }
    std::fs::remove_file(work.path("snapshot.txt")).unwrap();
    check(&work, 3, example).says(&["there is no list of files at `snapshot.txt`"]);
}

/// The example of the guide, with a program that writes rows in place of the Python of the guide.
#[test]
fn a_program_writes_the_rows() {
    let work = applicants();
    let [example, ..] = &examples("Rows from a program")[..] else { panic!() };
    let base = work.read("base.yaml");
    // The same rows as Parquet, and as the stream that the program writes.
    let text = work.read("loans.csv");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let texts = |at: usize| column(lines[1..].iter().map(|l| l[at]));
    let numbers = |at: usize| column(lines[1..].iter().map(|l| l[at].parse::<f64>().ok()));
    let columns = || {
        let named =
            |at: usize| (lines[0][at], if at < 3 || at == 6 { texts(at) } else { numbers(at) });
        (0..7).map(named).collect::<Vec<_>>()
    };
    work.parquet("loans.parquet", columns());
    let rows = arrow::array::RecordBatch::try_from_iter(columns()).unwrap();
    let write = |rows: &arrow::array::RecordBatch| {
        write_stream(&work.path("rows.arrow"), std::slice::from_ref(rows));
    };
    write(&rows);
    std::fs::create_dir(work.path("bin")).unwrap();
    let program = "#!/bin/sh\n[ \"$1 $2 $BANK_TOKEN $BANK_REGION\" = \"rows.py 2026-11-20 s3cr3t \
                   north\" ] || exit 9\necho >> asked.txt\ncat rows.arrow\n";
    work.write("bin/python3", program);
    let path = work.path("bin/python3");
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let without = base.replace("  rows: {csv: {path: loans.csv}}\n", "");
    let head = |include: &str| format!("cfaudit: 1\nname: loans\ninclude: [{include}]\n");
    work.write("bare.yaml", &without);
    work.write("job.yaml", &(head("bare.yaml") + example));
    work.write("file.yaml", &(head("bare.yaml") + "data: {rows: {parquet: loans.parquet}}\n"));
    let call = |status: i32, args: &str| {
        let path = format!("{}:/usr/bin:/bin", work.path("bin").display());
        let mut command = work.command(&format!("{args} --cache cache"));
        Ran::of(
            command.env("PATH", path).env("BANK_TOKEN", "s3cr3t").env("BANK_REGION", "north"),
            status,
        )
    };
    let times = || work.read("asked.txt").lines().count();
    call(0, "plan job.yaml").stdout.says(&["a run asks the command of the rows first"]);
    assert!(!work.path("asked.txt").exists(), "a plan starts nothing");
    call(0, "check job.yaml --no-data");
    assert!(!work.path("asked.txt").exists(), "without data nothing is asked");
    call(0, "run job.yaml --out out");
    call(0, "run file.yaml --out file --force prepare");
    let of =
        |folder: &str| std::fs::read(work.path(folder).join("tables/metrics.parquet")).unwrap();
    assert!(of("out") == of("file"), "the same rows give the same numbers");
    let inputs = work.json("out/manifest.json")["inputs"].clone();
    let of_rows = inputs.as_array().unwrap().iter().find(|input| input["what"] == "data");
    assert_eq!(of_rows.unwrap()["path"], "data.rows.command");
    // Asked each time; the same rows change nothing, others do.
    call(0, "run job.yaml --out out").says(&["nothing to do"]);
    call(0, "plan job.yaml").stdout.says(&["stages are cached"]);
    assert_eq!(times(), 2);
    write(&rows.slice(0, 200));
    call(0, "check job.yaml");
    call(0, "plan job.yaml").stdout.says(&["stages would run"]);
    call(0, "run job.yaml --out out");
    assert!(of("out") != of("file"));
    assert_eq!(times(), 4);
    let cached: Vec<String> = crate::work::files(&work.path("cache")).into_keys().collect();
    let copies = cached.iter().filter(|name| name.starts_with("rows/")).count();
    assert_eq!(copies, 1, "{cached:?}");
    let numbers: arrow::array::ArrayRef = column(vec![0.0; 9_000_000]);
    write(&arrow::array::RecordBatch::try_from_iter([("income", numbers)]).unwrap());
    call(3, "check job.yaml --memory 64MiB").says(&[
        "the command of the rows wrote a batch of 72000000 bytes; the run may use 67108864",
        "allow more with `--memory`",
    ]);
    // What goes wrong is told with the line of the job.
    write(&rows.project(&[0, 1, 2, 4, 6]).unwrap());
    call(3, "run job.yaml --out out").says(&["`data.rows.command` has no column `income`"]);
    work.write("rows.arrow", "application_id,sex\n");
    call(3, "check job.yaml").says(&[
        "error[bad-output]: the command of the rows did not write an Arrow stream",
        "job.yaml:6",
    ]);
    work.write("bin/python3", "#!/bin/sh\necho no table $BANK_TOKEN >&2; exit 3\n");
    let failed = call(3, "run job.yaml --out out");
    failed.says(&["command of the rows failed with exit status 3", "| no table [BANK_TOKEN]"]);
    std::fs::remove_file(work.path("bin/python3")).unwrap();
    let mut command = work.command("check job.yaml --cache cache");
    let ran = Ran::of(
        command.env("PATH", work.path("bin")).env("BANK_TOKEN", "x").env("BANK_REGION", "north"),
        3,
    );
    ran.says(&["error[command-not-started]", "it is not in any folder of PATH", "job.yaml:6"]);
    let ran = Ran::of(
        work.command("check job.yaml --cache cache")
            .env("BANK_REGION", "north")
            .env_remove("BANK_TOKEN"),
        3,
    );
    ran.says(&["error[missing-variable]", "`BANK_TOKEN`, which the command of the rows is to see"]);
    // Nobody needs the copy any more.
    work.cfaudit(0, "clean --cache cache --older 0s");
    assert!(!work.path("cache/rows").read_dir().unwrap().any(|_| true));
}

/// Features that reveal the label, and numbers that mean missing.
#[test]
fn check_warns_of_leaks_and_traps() {
    let work = Work::new();
    let mut rows =
        "sex,age,income,status,after,rank,pdays,delay,code,number,score,paid\n".to_owned();
    for i in 0..600_u32 {
        let draw = |k: u32| (i * 7919 + k * 104_729 + i * i * (k + 3) % 1009) % 1000;
        let score = f64::from(draw(1)) / 1000.0;
        let paid = draw(2) < 600;
        let pdays = if draw(3) < 900 { 999 } else { draw(4) % 30 };
        let delay = if draw(5) < 300 { -1 } else { (draw(6) % 40) as i32 };
        rows += &format!(
            "{},{},{},{},{},{},{pdays},{delay},c{},{},{score},{}\n",
            ["w", "m"][(i % 2) as usize],
            20 + draw(7) % 50,
            1000 + draw(8) % 400,
            ["closed", "dunning"][usize::from(!paid)],
            if paid { draw(9) % 50 } else { 60 + draw(9) % 50 },
            (score * 700.0 + 10.0).powi(2),
            i * 17 % 600,
            1000 + i,
            ["yes", "no"][usize::from(!paid)],
        );
    }
    work.write("loans.csv", &rows);
    let job = "cfaudit: 1\nname: loans\ndata:\n  rows: {csv: {path: loans.csv}}\n  label: {column: \
               paid, positive: [yes], favourable: positive}\n  sensitive: {sex: {groups: [w, m], \
               reference: m}}\n  features:\n    continuous: [age, income, after, rank, pdays, \
               delay, number]\n    nominal: [status, code]\n  split: {share: {train: 0.5, audit: \
               0.5}}\ncounterfactuals: {flip: naive}\nmodels:\n  logit: {logistic: {l2: 1.0}}\n  \
               old: {scores: {factual: {column: score}}, threshold: 0.5}\nmetrics: {families: \
               [performance, group]}\n";
    work.write("job.yaml", job);
    let stdout = work.cfaudit(0, "check job.yaml").stdout;
    stdout.says(&[
        "the feature `status` may know what it should not: it is a copy of paid",
        "the feature `after` may know what it should not: on its own it predicts paid: its AUC is \
         1.000",
        "the feature `rank` may know what it should not: it ranks people like score",
        "the feature `code` may know what it should not: it identifies rows",
        "the feature `number` may know what it should not: it identifies rows",
        "the feature `pdays` is 999 in ",
        "write `data.missing.null_values: {pdays: [999]}`",
        "the feature `delay` is -1 in ",
    ]);
    for sound in ["`age`", "`income`"] {
        stdout.lacks(&[&format!("the feature {sound}")]);
    }
    assert_eq!(work.cfaudit(0, "check job.yaml").stdout, stdout, "from the cache");
    let text = work.cfaudit(0, "new loans.csv --label paid --sensitive sex").stdout;
    let words =
        "missing: {nominal: level, continuous: keep, null_values: {pdays: [999], delay: [-1]}}";
    assert!(text.contains(words), "{text}");
    work.write("first.yaml", &text);
    let stdout = work.cfaudit(0, "check first.yaml").stdout;
    stdout.lacks(&["may know what it should not", "if it means missing"]);
}
