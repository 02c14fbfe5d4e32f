//! Rows, references, side tables and files of scores in an object store: the same bytes as from
//! files, whatever the store does; and documented errors where it does not answer.

use crate::work::{Says, Work};

const JOB: &str = r#"
cfaudit: 1
name: lake
data:
  rows: {parquet: "s3://lake/rows.parquet"}
  label: none
  sensitive:
    sex: {groups: [1, 2], reference: 1}
models:
  live: {scores: {factual: {column: score}}}
run: {seed: 1}
"#;

/// Without the feature a job with an address is refused at its line.
#[cfg(not(feature = "cloud"))]
#[test]
fn a_build_without_stores_says_how_to_get_one() {
    let work = Work::new();
    work.write("job.yaml", JOB);
    work.run(2, "job.yaml", "").says(&[
        "error[not-built]: this build of cfaudit does not read object stores",
        "--> job.yaml:5:19",
        "hint: build it with `cargo build --features cloud`",
    ]);
    // Of a list the lines are known later.
    work.write("list.txt", "s3://lake/rows.parquet\n");
    work.write("job.yaml", &JOB.replace("\"s3://lake/rows.parquet\"", "{files: list.txt}"));
    work.run(5, "job.yaml", "").says(&["does not read object stores", "--features cloud"]);
}

/// The same for a plan, which would be written there.
#[cfg(not(feature = "cloud"))]
#[test]
fn a_build_without_stores_writes_to_none() {
    let work = Work::new();
    let job = JOB.replace("s3://lake/rows.parquet", "rows.parquet");
    let run = "{seed: 1, to_score: \"s3://scoring/in\"}";
    work.write("job.yaml", &job.replace("{seed: 1}", run));
    work.cfaudit(5, "worker s3://plans/one --pass survey --shard 0")
        .says(&["cannot read `s3://plans/one/plan.json`", "does not read object stores"]);
    work.run(2, "job.yaml", "").says(&["error[not-built]", "--> job.yaml:11"]);
}

/// Folders that are written must be on a disk; a folder called `s3:` would be made.
#[test]
fn nothing_is_written_to_a_store() {
    let work = Work::new();
    work.write("rows.csv", "sex,score\n1,0.4\n2,0.6\n1,0.7\n2,0.2\n");
    let rows = "{parquet: \"s3://lake/rows.parquet\"}";
    work.write("job.yaml", &JOB.replace(rows, "{csv: {path: rows.csv}}"));
    for args in [
        "run job.yaml --cache off --out s3://lake/out",
        "run job.yaml --out out --cache s3://lake/cache",
    ] {
        work.cfaudit(5, args).says(&["nothing else is written there", "hint: name a folder"]);
    }
    assert!(!work.path("s3:").exists());
}

/// Lists are read with their addresses; none of their secrets is repeated.
#[test]
fn lists_with_secrets_are_refused() {
    let work = Work::new();
    work.write("list.txt", "# snapshot\ns3://me:hunter2@lake/rows.parquet\n");
    work.write("job.yaml", &JOB.replace("\"s3://lake/rows.parquet\"", "{files: list.txt}"));
    let ran = work.run(3, "job.yaml", "");
    ran.says(&[
        "error[bad-address]",
        "`list.txt`, line 2",
        "must not hold a user, a password or a query",
    ]);
    ran.stderr.lacks(&["hunter2"]);
}

#[cfg(feature = "cloud")]
mod with_stores {
    use std::fs;

    use arrow::array::{Float64Array, Int64Array, StringArray};

    use super::JOB;
    use crate::bucket::{Bucket, Deed, Request, SECRET};
    use crate::rows_guide::{applicants, examples};
    use crate::shards::{is_without_lightgbm, with_job, write_scores};
    use crate::work::{Files, Ran, Says, Work, assert_same, column, files, results};

    /// The tables of an output folder.
    fn tables(work: &Work, out: &str) -> Files {
        let tables = files(&work.path(&format!("{out}/tables")));
        assert!(tables.len() > 3, "{:?}", tables.keys());
        tables
    }

    /// A job of which everything that may lie in a store does.
    fn in_store(bucket: &Bucket) -> (Work, String) {
        let work = with_job("plausible");
        bucket.upload(&work, "rows", "lake/rows");
        bucket.put("lake/rows/_old/0.parquet", b"half of a file".to_vec());
        bucket.put("lake/rows/notes.txt", b"no rows".to_vec());
        bucket.put("lake/rows-of-others/x.parquet", b"not below".to_vec());
        bucket.upload(&work, "reference.parquet", "lake/learn/reference.parquet");
        let args = "--set data.rows.parquet=s3://lake/rows --set \
                    data.reference.parquet=s3://lake/learn/reference.parquet";
        (work, args.to_owned())
    }

    /// Nothing below a folder, and nothing that was printed, holds the secret key.
    #[track_caller]
    fn assert_no_secret(work: &Work, ran: &Ran) {
        let found = files(&work.path(""));
        let has = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|at| at == SECRET.as_bytes());
        let leaks: Vec<&String> =
            found.iter().filter(|(_, bytes)| has(bytes)).map(|(name, _)| name).collect();
        assert!(leaks.is_empty(), "{leaks:?}");
        assert!(!has(ran.stdout.as_bytes()) && !has(ran.stderr.as_bytes()), "{}", ran.stderr);
        ran.stderr.lacks(&["StringToSign"]);
    }

    #[test]
    fn rows_and_reference_give_the_tables_of_files() {
        if is_without_lightgbm() {
            return;
        }
        let bucket = Bucket::sound();
        let (work, args) = in_store(&bucket);
        work.run(0, "job.yaml", "");
        let local = tables(&work, "out");
        for threads in [1, 3] {
            let args = format!("run job.yaml --out cloud --cache off --threads {threads} {args}");
            let ran = bucket.cfaudit(&work, 0, &format!("{args} --log-file log.jsonl -v"));
            assert_same(&local, &tables(&work, "cloud"), "rows in a store");
            assert_no_secret(&work, &ran);
        }
        let manifest = work.json("cloud/manifest.json");
        let inputs: Vec<_> = manifest["inputs"].as_array().unwrap().iter().collect();
        let of_store: Vec<&str> = inputs
            .iter()
            .filter(|input| input["etag"].is_string())
            .map(|input| {
                assert!(input["sha256"].is_null() && input["bytes"].as_u64().unwrap() > 100);
                input["path"].as_str().unwrap()
            })
            .collect();
        assert_eq!(
            of_store,
            [
                "s3://lake/rows/a.parquet",
                "s3://lake/rows/b.parquet",
                "s3://lake/learn/reference.parquet"
            ]
        );
        // Objects are known by their tags: nothing is computed again, and nothing is read.
        let run = format!("run job.yaml --out cloud --cache cache {args}");
        bucket.cfaudit(&work, 0, &run);
        let before = bucket.requests().len();
        bucket.cfaudit(&work, 0, &run);
        let mut read: Vec<Request> = bucket.requests().split_off(before);
        read.retain(Request::is_read);
        assert!(read.is_empty(), "{read:?}");
    }

    #[test]
    fn files_of_scores_and_side_tables() {
        let bucket = Bucket::sound();
        let work = with_job("scores");
        write_scores(&work, 0);
        let ids = || column((0..2000_i64).map(|i| i * 3));
        let desk = (0..2000).map(|i| Some(["x", "y"][i % 2])).collect::<StringArray>();
        work.parquet("desks.parquet", vec![("id", ids()), ("desk", column(desk))]);
        let join = "--set data.join.desks.on=id --set data.join.desks.columns=[desk] --set \
                    metrics.by=[desk]";
        let local = "--set data.join.desks.parquet=desks.parquet";
        work.run(0, "job.yaml", &format!("{join} {local}"));
        let there = "--set data.rows.parquet=s3://lake/rows/*.parquet --set \
                     data.join.desks.parquet=s3://lake/desks.parquet --set \
                     models.live.scores.factual.parquet=s3://scores/factual.parquet --set \
                     models.live.scores.counterfactual.parquet=s3://scores/{counterfactual}";
        let run = format!("run job.yaml --out cloud --cache cloud-cache {join} {there}");
        bucket.upload(&work, "rows", "lake/rows");
        bucket.upload(&work, "desks.parquet", "lake/desks.parquet");
        bucket.upload(&work, "factual.parquet", "scores/factual.parquet");
        // The parts of a folder count once all of them are there.
        bucket.cfaudit(&work, 4, &run).says(&["s3://scores/flip"]);
        bucket.upload(&work, "moved.parquet", "scores/flip/part-0.parquet");
        bucket.cfaudit(&work, 4, &run).says(&["s3://scores/flip/_SUCCESS"]);
        bucket.put("scores/flip/_SUCCESS", Vec::new());
        let ran = bucket.cfaudit(&work, 0, &run);
        assert_same(&tables(&work, "out"), &tables(&work, "cloud"), "scores in a store");
        assert_no_secret(&work, &ran);
    }

    /// Rows with a column that nobody asks for.
    fn with_wide_rows() -> Work {
        let work = Work::new();
        let n = 3000_i64;
        let noise = |k: f64| {
            let values = (0..n).map(|i| (i as f64 * k.sqrt()).fract());
            column(values)
        };
        let sex = column((0..n).map(|i| 1 + i % 2));
        let mut columns = vec![("sex", sex), ("score", noise(2.0))];
        columns.extend(["a", "b", "c", "d", "e", "f"].map(|name| (name, noise(3.0))));
        work.parquet("rows.parquet", columns);
        work.write("job.yaml", JOB);
        work
    }

    #[test]
    fn only_the_wanted_columns_are_fetched() {
        let (bucket, work) = (Bucket::sound(), with_wide_rows());
        bucket.upload(&work, "rows.parquet", "lake/rows.parquet");
        bucket.cfaudit(&work, 0, "run job.yaml --out out --cache off");
        let whole = fs::metadata(work.path("rows.parquet")).unwrap().len() as usize;
        let reads = bucket.requests().into_iter().filter(Request::is_read).count();
        // The footer may come with 64 KiB of other bytes, each time that the file is opened.
        let opened =
            bucket.requests().iter().filter(|r| r.is_read() && r.reads_tail(whole)).count();
        let of_columns = bucket.sent() - opened * (64 << 10);
        assert!(opened < reads, "{opened} of {reads}");
        assert!(
            of_columns < (reads - opened) * whole / 3,
            "{of_columns} of {whole}, {reads} reads"
        );
    }

    #[test]
    fn a_list_of_objects_and_files() {
        let (bucket, work) = (Bucket::sound(), with_wide_rows());
        bucket.upload(&work, "rows.parquet", "lake/one.parquet");
        bucket.upload(&work, "rows.parquet", "lake/a b/two.parquet");
        work.write("list.txt", "s3://lake/one.parquet\ns3://lake/a b/two.parquet\nrows.parquet\n");
        let job = JOB.replace("\"s3://lake/rows.parquet\"", "{files: list.txt}");
        work.write("job.yaml", &job);
        bucket.cfaudit(&work, 0, "run job.yaml --out out --cache off");
        assert_eq!(work.json("out/manifest.json")["rows"]["source"], 9000);
        work.write("list.txt", "s3://lake/one.parquet\ns3://lake/three.parquet\n");
        let ran = bucket.cfaudit(&work, 3, "run job.yaml --out out --cache off");
        ran.says(&["no object `s3://lake/three.parquet`", "`list.txt`, line 2"]);
    }

    /// The folders of a glob are those in the names of objects, matched or not.
    #[test]
    fn folders_of_a_glob_that_hold_no_object_yet() {
        let (bucket, work) = (Bucket::sound(), with_wide_rows());
        bucket.upload(&work, "rows.parquet", "lake/in/dt=1/a.parquet");
        bucket.put("lake/in/dt=1/_SUCCESS", Vec::new());
        bucket.put("lake/in/_delta_log/0.json", Vec::new());
        bucket.put("lake/other/dt=2/_temporary/0/a.parquet", Vec::new());
        let ends = |status: i32, glob: &str, more: &str| {
            let rows = format!("{{parquet: \"{glob}\"{more}}}");
            let job = JOB.replace("{parquet: \"s3://lake/rows.parquet\"}", &rows);
            work.write("job.yaml", &job);
            bucket.cfaudit(&work, status, "run job.yaml --out out --cache off")
        };
        let globs = ["s3://lake/in/dt=*/*.parquet", "s3://lake/in/**/*.parquet"];
        for glob in globs {
            ends(0, glob, ", complete: _SUCCESS");
            for left in ["dt=2/_temporary/0/task/b.parquet", "_temporary/0/b.parquet"] {
                let name = format!("lake/in/{left}");
                bucket.put(&name, Vec::new());
                ends(4, glob, "").says(&["error[rows-awaited]", &format!("`s3://{name}`")]);
                bucket.remove(&name);
            }
            bucket.put("lake/in/dt=2/notes.txt", Vec::new());
            ends(0, glob, "");
            ends(4, glob, ", complete: _SUCCESS").says(&["`s3://lake/in/dt=2/_SUCCESS`"]);
            bucket.remove("lake/in/dt=2/notes.txt");
        }
    }

    /// Each request fails at first, in one of four ways.
    #[test]
    fn throttling_and_cut_connections_are_overcome() {
        if is_without_lightgbm() {
            return;
        }
        let bucket = Bucket::serve(|n, _| {
            [Deed::Throttles, Deed::Answers, Deed::Vanishes, Deed::CutsHalfWay, Deed::Answers]
                [n % 5]
        });
        let (work, args) = in_store(&bucket);
        work.run(0, "job.yaml", "");
        bucket.cfaudit(&work, 0, &format!("run job.yaml --out cloud --cache off {args}"));
        assert_same(&tables(&work, "out"), &tables(&work, "cloud"), "an unreliable store");
    }

    #[track_caller]
    fn assert_ends(deed: Deed, words: &[&str]) {
        let (bucket, work) =
            (Bucket::serve(move |n, _| if n < 1 { Deed::Answers } else { deed }), with_wide_rows());
        bucket.upload(&work, "rows.parquet", "lake/rows.parquet");
        let mut command = bucket.command(&work, "run job.yaml --out out --cache cache -v");
        let ran = Ran::of(command.env("AWS_TIMEOUT", "500ms"), 5);
        ran.says(words);
        ran.says(&["cannot read `s3://lake/rows.parquet`", "hint: "]);
        assert_no_secret(&work, &ran);
        assert!(!work.path("out").exists());
    }

    #[test]
    fn a_store_that_only_throttles() {
        assert_ends(Deed::Throttles, &["(status 503, `SlowDown`)", "run again later"]);
    }

    #[test]
    fn a_store_that_never_answers() {
        assert_ends(Deed::Hangs, &["did not answer in time", "check the network"]);
    }

    #[test]
    fn a_store_that_cuts_every_connection() {
        assert_ends(Deed::Vanishes, &["connection", "check the network"]);
    }

    #[test]
    fn wrong_credentials_end_with_what_to_do() {
        let (bucket, work) = (Bucket::sound(), with_wide_rows());
        bucket.upload(&work, "rows.parquet", "lake/rows.parquet");
        let mut command = bucket.command(&work, "run job.yaml --out out --cache cache -v");
        let ran = Ran::of(command.env("AWS_ACCESS_KEY_ID", "AKIASOMEBODY"), 5);
        ran.says(&[
            "refused the credentials",
            "(status 403",
            "hint: cfaudit takes credentials from the environment",
        ]);
        assert_no_secret(&work, &ran);
        // From the file of the provider, with the profile that the environment names.
        fs::create_dir_all(work.path("nobody/.aws")).unwrap();
        let keys = format!("aws_access_key_id = AKIATESTONLY\naws_secret_access_key = {SECRET}\n");
        work.write("nobody/.aws/credentials", &format!("[default]\n[audit]\n{keys}"));
        let mut command = bucket.command(&work, "run job.yaml --out out --cache cache");
        command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        Ran::of(command.env("AWS_PROFILE", "audit"), 0);
    }

    #[test]
    fn an_object_that_is_not_there() {
        let (bucket, work) = (Bucket::sound(), with_wide_rows());
        let run = "run job.yaml --out out --cache cache";
        let ran = bucket.cfaudit(&work, 3, run);
        ran.says(&["error[missing-file]", "`s3://lake/rows.parquet`", "--> job.yaml:5:3"]);
        bucket.put("lake/rows.parquet", b"PAR1 and no more".to_vec());
        bucket.cfaudit(&work, 3, run).says(&["unreadable-file", "`s3://lake/rows.parquet`"]);
    }

    /// An object that is replaced between two reads, of a store that heeds `If-Match` and of one
    /// that does not.
    #[test]
    fn an_object_that_is_replaced_ends_the_run() {
        for ignores in [false, true] {
            let deed = if ignores { Deed::IgnoresMatch } else { Deed::Answers };
            let (bucket, work) = (Bucket::serve(move |_, _| deed), with_wide_rows());
            bucket.upload(&work, "rows.parquet", "lake/rows.parquet");
            let mut other = fs::read(work.path("rows.parquet")).unwrap();
            other[100] ^= 1;
            bucket.replace_once_read("lake/rows.parquet", other);
            let ran = bucket.cfaudit(&work, 3, "run job.yaml --out out --cache cache");
            ran.says(&["error[input-changed]: `s3://lake/rows.parquet` was replaced"]);
            assert!(!work.path("out").exists());
        }
    }

    #[test]
    fn the_example_of_the_guide() {
        let [example] = examples("Rows in an object store").try_into().unwrap();
        let work = applicants();
        let texts = |texts: [&'static str; 3]| column((0..90).map(|i| texts[i % 3]));
        let income = column((0..90).map(Some));
        let ids = column((0..90).map(|i| format!("A{i}")));
        let columns = vec![
            ("application_id", ids),
            ("sex", texts(["w", "m", "w"])),
            ("country", texts(["DE", "FR", "IT"])),
            ("income", income),
            ("paid", texts(["yes", "no", "no"])),
        ];
        work.parquet("rows.parquet", columns);
        let bucket = Bucket::sound();
        bucket.upload(&work, "rows.parquet", "lake/loans/dt=2026-11-20/0.parquet");
        bucket.upload(&work, "rows.parquet", "lake/reference.parquet");
        let job = format!("cfaudit: 1\nname: loans\ninclude: [base.yaml]\n{example}");
        // Rows of the include are of another kind, and `data.rows` has one.
        let base = work.read("base.yaml");
        let base = base.replace("  rows: {csv: {path: loans.csv}}\n", "");
        // A reference is for a set that learns.
        work.write(
            "base.yaml",
            &base.replace("{flip: naive}", "{flip: {greedy: {condition_on: label}}}"),
        );
        work.write("job.yaml", &job);
        bucket.cfaudit(&work, 0, "run job.yaml --out out --cache off --gates report");
        assert_eq!(work.json("out/manifest.json")["rows"]["source"], 90);
    }

    /// All passes of a plan in three shards, the last one first.
    fn pass_over(bucket: &Bucket, work: &Work, plan: &str) {
        for pass in crate::shards::PASSES {
            for shard in [2, 0, 1] {
                let worker = format!("worker {plan} --pass {pass} --shard {shard}");
                assert_ne!(bucket.cfaudit(work, 0, &worker).summary()["done"], "already there");
            }
            bucket.cfaudit(work, 0, &format!("merge {plan} --pass {pass}"));
        }
    }

    /// Plan, states and the rows of shards in a store: the folder of one run, and what is lost,
    /// altered or there already is found as on a disk.
    #[test]
    fn a_plan_in_a_store() {
        if is_without_lightgbm() {
            return;
        }
        let bucket = Bucket::sound();
        let (work, args) = in_store(&bucket);
        let args = format!("{args} --set run.keep_rows=all");
        let run = |status: i32, args: &str| bucket.cfaudit(&work, status, args);
        run(0, &format!("run job.yaml --out whole --cache off {args}"));
        let plan =
            format!("plan job.yaml --shards 3 --to s3://plans/loans/one/ --cache off {args}");
        run(0, &plan);
        let written = bucket.objects("plans/");
        let names: Vec<&str> = written.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["plans/loans/one/job.resolved.yaml", "plans/loans/one/plan.json"],
            "each by one request"
        );
        // The same plan once more is no other plan; another one is.
        run(0, &plan);
        run(5, &plan.replace("--shards 3", "--shards 2")).says(&[
            "another plan is there",
            "s3://plans/loans/one/plan.json",
            "`--to`",
        ]);
        let there = "s3://plans/loans/one";
        run(4, &format!("merge {there} --pass survey")).summary();
        pass_over(&bucket, &work, there);
        let last = run(0, &format!("run job.yaml --from {there} --out cloud --cache off {args}"));
        let (whole, cloud) = (results(&work.path("whole")), results(&work.path("cloud")));
        assert!(whole.contains_key("rows/counterfactuals/world/part-00000.parquet"));
        assert_same(&whole, &cloud, "a plan in a store");
        assert_no_secret(&work, &last);
        assert!(!work.path("s3:").exists());
        let secret = SECRET.as_bytes();
        for (name, bytes) in bucket.objects("plans/") {
            assert!(!bytes.windows(secret.len()).any(|at| at == secret), "{name}");
        }
        // What is there is not made again.
        let writes = || bucket.requests().iter().filter(|request| request.is_write()).count();
        let before = writes();
        let worker = |status: i32, shard: usize| {
            run(status, &format!("worker {there} --pass count --shard {shard}"))
        };
        let done = worker(0, 1).summary();
        assert_eq!(done["done"], "already there");
        assert_eq!(done["state"], "s3://plans/loans/one/count/part-00001.state");
        assert_eq!(writes(), before);
        // A part is altered, then lost, then made again.
        let part = "plans/loans/one/count/part-00001.state";
        let sound = bucket.objects(part)[part].clone();
        bucket.put(part, sound[..sound.len() - 1].to_vec());
        let merge = |status: i32| run(status, &format!("merge {there} --pass count"));
        merge(5).says(&["s3://plans/loans/one/count/part-00001.state", "cut off or altered"]);
        bucket.remove(part);
        assert_eq!(merge(4).summary()["missing"], serde_json::json!([1]));
        assert_eq!(worker(0, 1).summary()["done"], "written");
        assert_eq!(bucket.objects(part)[part], sound);
        merge(0);
        // So are rows of a shard.
        let rows = bucket.objects("plans/loans/one/count/part-00002.");
        let (name, bytes) = rows.iter().find(|(name, _)| name.ends_with(".parquet")).unwrap();
        bucket.put(name, bytes[1..].to_vec());
        let from = format!("run job.yaml --from {there} --out again --cache off {args}");
        let lost = ["is lost, or not as", "s3://plans/loans/one/count/part-00002.state"];
        run(5, &from).says(&lost);
        bucket.remove(name);
        run(5, &from).says(&lost);
    }

    /// A job over rows on a disk, to be planned into a store.
    fn with_local_rows() -> Work {
        let work = with_wide_rows();
        work.write("job.yaml", &JOB.replace("s3://lake/rows.parquet", "rows.parquet"));
        work
    }

    #[test]
    fn a_plan_in_an_unreliable_store() {
        let bucket = Bucket::serve(|n, _| {
            [Deed::Throttles, Deed::Answers, Deed::Vanishes, Deed::CutsHalfWay, Deed::Answers]
                [n % 5]
        });
        let work = with_local_rows();
        work.run(0, "job.yaml", "");
        let there = "s3://plans/one";
        bucket.cfaudit(&work, 0, &format!("plan job.yaml --shards 3 --to {there} --cache off"));
        pass_over(&bucket, &work, there);
        bucket.cfaudit(&work, 0, &format!("run job.yaml --from {there} --out cloud --cache off"));
        assert_same(&work.results(), &results(&work.path("cloud")), "an unreliable store");
    }

    #[test]
    fn a_store_that_takes_no_plan() {
        let bucket = Bucket::serve(|_, request| match request.is_write() {
            true => Deed::Throttles,
            false => Deed::Answers,
        });
        let work = with_local_rows();
        let plan = "plan job.yaml --shards 3 --to s3://plans/one --cache off";
        let ran = bucket.cfaudit(&work, 5, plan);
        ran.says(&["cannot write `s3://plans/one/", "(status 503, `SlowDown`)", "run again later"]);
        assert_no_secret(&work, &ran);
        let nobody = |args: &str| {
            let mut command = bucket.command(&work, args);
            let ran = Ran::of(command.env("AWS_ACCESS_KEY_ID", "AKIASOMEBODY"), 5);
            ran.says(&["`s3://plans/one/plan.json`", "refused the credentials", "(status 403"]);
            assert_no_secret(&work, &ran);
        };
        nobody(plan);
        nobody("worker s3://plans/one --pass survey --shard 0");
        nobody("merge s3://plans/one --pass survey");
        nobody("run job.yaml --from s3://plans/one --out out --cache off");
        // An address with a secret is refused and not repeated.
        let ran =
            bucket.cfaudit(&work, 5, "worker s3://me:hunter2@plans/one --pass count --shard 0");
        ran.says(&["must not hold a user, a password or a query"]);
        ran.stderr.lacks(&["hunter2"]);
    }

    /// A job that waits puts its rows to score into a store, and finds their scores in one.
    #[test]
    fn rows_to_score_in_a_store() {
        let bucket = Bucket::sound();
        let work = with_job("scores");
        work.run(4, "job.yaml", "");
        let scores = "--set models.live.scores.factual.parquet=s3://scores/factual.parquet --set \
                      models.live.scores.counterfactual.parquet=s3://scores/moved.parquet";
        let run = format!(
            "run job.yaml --out cloud --cache cloud-cache --set \
             run.to_score=s3://scoring/in {scores}"
        );
        let ran = bucket.cfaudit(&work, 4, &run);
        ran.says(&["the rows to score are in s3://scoring/in"]);
        assert_no_secret(&work, &ran);
        assert!(!work.path("cloud/to-score").exists());
        let awaited = work.json("cloud/manifest.json")["awaited"].clone();
        for (i, set) in ["factual", "flip"].into_iter().enumerate() {
            let request = awaited[i]["request"].as_str().unwrap();
            let folder = format!("scoring/in/{set}/{}", &request[..12]);
            assert_eq!(awaited[i]["to_score"], format!("s3://{folder}"));
            let local = files(&work.path(&format!("out/to-score/{set}")));
            let mut there = bucket.objects(&format!("{folder}/"));
            let end = there.remove(&format!("{folder}/_SUCCESS")).unwrap();
            let end: serde_json::Value = serde_json::from_slice(&end).unwrap();
            assert_eq!(end, serde_json::json!({"request": request, "parts": there.len()}));
            let parts = local.into_iter().map(|(name, bytes)| (format!("{folder}/{name}"), bytes));
            assert_eq!(there, parts.collect(), "{set}");
        }
        // What is there is not put there again; what is lost is.
        let writes = || bucket.requests().iter().filter(|request| request.is_write()).count();
        let before = writes();
        bucket.cfaudit(&work, 4, &run);
        assert_eq!(writes(), before);
        let all = bucket.objects("scoring/");
        for name in all.keys().filter(|name| name.contains("/flip/")) {
            bucket.remove(name);
        }
        bucket.cfaudit(&work, 4, &run);
        assert!(all == bucket.objects("scoring/") && writes() == before + 2);
        write_scores(&work, 0);
        bucket.upload(&work, "factual.parquet", "scores/factual.parquet");
        bucket.upload(&work, "moved.parquet", "scores/moved.parquet");
        bucket.cfaudit(&work, 0, &run);
        work.run(0, "job.yaml", "");
        assert_same(&tables(&work, "out"), &tables(&work, "cloud"), "scores in a store");
    }

    /// A file of more than 8 MiB is sent in parts, of which some are lost at first.
    #[test]
    fn large_files_are_sent_in_parts() {
        let bucket = Bucket::serve(|n, request| match request.is_write() && n % 3 == 0 {
            true => [Deed::Throttles, Deed::Vanishes][n % 2],
            false => Deed::Answers,
        });
        let work = Work::new();
        let n = 300_000_i64;
        let noise = |k: f64| {
            let values = (0..n).map(|i| (i as f64 * k.sqrt()).fract());
            column(values)
        };
        let sex = column((0..n).map(|i| 1 + i % 2));
        let features = ["a", "b", "c", "d", "e"].into_iter().zip([2.0, 3.0, 5.0, 6.0, 7.0]);
        let columns = features.map(|(name, k)| (name, noise(k)));
        work.parquet("rows.parquet", std::iter::once(("sex", sex)).chain(columns).collect());
        let features = "  features: {continuous: [a, b, c, d, e]}\nmodels:";
        let job = JOB.replace("s3://lake/rows.parquet", "rows.parquet");
        let job = job.replace("models:", features);
        work.write("job.yaml", &job.replace("{column: score}", "{parquet: s.parquet, column: s}"));
        work.run(4, "job.yaml", "");
        let args = "run job.yaml --out cloud --cache cache --set run.to_score=s3://scoring";
        bucket.cfaudit(&work, 4, args);
        let local = work.path("out/to-score/factual/part-00000.parquet");
        let there = bucket.objects("scoring/factual/");
        let (_, sent) = there.iter().find(|(name, _)| name.ends_with(".parquet")).unwrap();
        assert!(*sent == fs::read(local).unwrap() && sent.len() > 8 << 20, "{}", sent.len());
        assert!(bucket.requests().iter().any(Request::begins_upload));
    }

    #[test]
    fn shards_over_objects_give_the_tables_of_files() {
        if is_without_lightgbm() {
            return;
        }
        let bucket = Bucket::sound();
        let (work, args) = in_store(&bucket);
        work.run(0, "job.yaml", "");
        let run = |status: i32, args: &str| bucket.cfaudit(&work, status, args);
        run(0, &format!("plan job.yaml --shards 3 --to plan --cache off {args}"));
        for pass in crate::shards::PASSES {
            for shard in [2, 0, 1] {
                run(0, &format!("worker plan --pass {pass} --shard {shard}"));
            }
            run(0, &format!("merge plan --pass {pass}"));
        }
        run(0, &format!("run job.yaml --from plan --out cloud --cache off {args}"));
        assert_same(&tables(&work, "out"), &tables(&work, "cloud"), "shards over a store");
        let survey = work.path("plan/survey");
        fs::remove_file(survey.join("part-00001.state")).unwrap();
        bucket.upload(&work, "rows/a.parquet", "lake/rows/b.parquet");
        let ran = run(3, "worker plan --pass survey --shard 1");
        ran.says(&["error[input-changed]", "s3://lake/rows/b.parquet", "plan again"]);
    }
}
