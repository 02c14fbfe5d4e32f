//! Runs and other verbs that are killed at any moment: a file or folder is complete or as it was,
//! and the next attempt gives the bytes of one that was not killed.

use std::fs::{self};
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::batches::{read, write_stream};
use crate::determinism::{assert_entries_are_whole, work};
use crate::faults::{GATE, RUN, assert_tidy};
use crate::work::{Draws, Files, Work, assert_same, files, results};
use crate::{recourse, rows_out, shards};

/// Starts the program and kills it after a while; whether it was still running.
fn killed(work: &Work, args: &str, after: Duration) -> bool {
    let mut child = work.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    let running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    running
}

/// A file, or what a folder holds but for what varies between runs; none where nothing is there.
fn made(work: &Work, below: &str) -> Option<Files> {
    let path = work.path(below);
    if path.is_file() {
        return Some(Files::from([(below.to_owned(), fs::read(path).unwrap())]));
    }
    path.exists().then(|| results(&path))
}

/// Arguments, the status with which they end, and the file or folder that they make.
#[derive(Clone, Copy)]
struct Task<'a> {
    args: &'a str,
    status: i32,
    makes: &'a str,
}

impl Task<'_> {
    /// Does it; returns what it makes and how long it takes.
    fn left_alone(self, work: &Work) -> (Files, Duration) {
        let started = Instant::now();
        work.cfaudit(self.status, self.args);
        (made(work, self.makes).unwrap(), started.elapsed())
    }

    /// Kills it this many times, each time after `before`, and then lets it end. At any time either
    /// what was there before is there, or all that it makes. Returns how many kills met a running
    /// process.
    fn survives(
        self,
        what: &str,
        work: &Work,
        (expected, time): &(Files, Duration),
        (kills, moments): (usize, &mut Draws),
        before: &dyn Fn(usize),
    ) -> usize {
        let earlier = made(work, self.makes);
        let mut met = 0;
        for i in 0..kills {
            before(i);
            met += usize::from(killed(work, self.args, time.mul_f64(moments.share())));
            let now = made(work, self.makes);
            let name = format!("{what}: `{}` killed {} times", self.args, i + 1);
            if now != earlier {
                let now = now.unwrap_or_else(|| panic!("{name}: what was there is gone"));
                assert_same(expected, &now, &name);
            }
            if work.path("cache").exists() {
                assert_entries_are_whole(&work.path("cache"));
            }
        }
        work.cfaudit(self.status, self.args);
        let name = format!("{what}: `{}` after {kills} kills", self.args);
        assert_same(expected, &made(work, self.makes).unwrap(), &name);
        met
    }
}

/// A run into `out`; every third time the cache is removed too.
fn run_survives(
    what: &str,
    [reference, work]: [&Work; 2],
    status: i32,
    (kills, moments): (usize, &mut Draws),
) -> usize {
    let run = Task { args: RUN, status, makes: "out" };
    let alone = run.left_alone(reference);
    let met = run.survives(what, work, &alone, (kills, moments), &|i| {
        if i % 3 == 0 && work.path("cache").exists() {
            fs::remove_dir_all(work.path("cache")).unwrap();
        }
    });
    assert_tidy(work);
    met
}

/// What is done with a finished folder.
const VERBS: [Task<'static>; 4] = [
    Task { args: "pack out --file packed.zip", status: 0, makes: "packed.zip" },
    Task { args: "export out --to prometheus --file out.prom", status: 0, makes: "out.prom" },
    Task { args: "diff old out --out changes", status: 0, makes: "changes/changes.parquet" },
    Task { args: GATE, status: 0, makes: "out" },
];

/// Blocks of a job in place of others.
fn changed(work: Work, blocks: &[(&str, &str)]) -> Work {
    work.edit("job.yaml", "job.yaml", blocks);
    work
}

/// Writes the rows of a Parquet file, with some columns, as a stream.
fn as_stream(work: &Work, from: &str, to: &str, columns: Option<&[&str]>) {
    let mut rows = read(&work.path(from));
    if let Some(columns) = columns {
        let at: Vec<usize> =
            columns.iter().map(|name| rows.schema().index_of(name).unwrap()).collect();
        rows = rows.project(&at).unwrap();
    }
    write_stream(&work.path(to), &[rows]);
}

const FLIP: &str = "counterfactuals: {flip: naive}\n";

/// Blocks for who switches and through which features, and for what depends on the fit and on the
/// training.
const WHY: &str = "counterfactuals:
  flip: naive
  typical: {plausible: {move: [income], condition_on: label}}
why:
  who: {model: seeing, counterfactual: flip, direction: {sex: [Female, Male]}, metric: sr}
  through:
    model: seeing
    counterfactual: typical
    direction: {sex: [Female, Male]}
    metric: sr
    people: 60
";
const DOUBTS: &str = "counterfactuals:
  flip: naive
  typical: {plausible: {move: [income], condition_on: label}, doubt: {fit: 3}}
";

/// A working folder with `job.yaml` of a shape: a job of `tests/jobs`, or another that needs more.
fn of_shape(shape: &str) -> Work {
    match shape {
        "recourse" => recourse::trained(),
        "waiting" => work("scores"),
        "waiting for parts" => {
            let work = work("scores");
            shards::cut_into_parts(&work, "moved", 1000);
            work.write("moved/_SUCCESS", "");
            changed(work, &[("parquet: moved.parquet", "parquet: moved")])
        }
        "why" => changed(work("share"), &[(FLIP, WHY)]),
        "doubts" => changed(
            work("share"),
            &[
                (FLIP, DOUBTS),
                (
                    "seeing: {logistic: {l2: 1.0}}",
                    "seeing: {logistic: {l2: 1.0}, doubt: {training: 3, resample: true}}",
                ),
            ],
        ),
        "rows of a program" => {
            let work = work("no-label");
            as_stream(&work, "people.parquet", "people.arrow", None);
            changed(work, &[("{parquet: people.parquet}", "{command: [cat, people.arrow]}")])
        }
        "counterfactuals of a program" => {
            let work = Work::new();
            rows_out::applicants(&work);
            rows_out::job(&work, "template.yaml", rows_out::SETS, "run: {keep_rows: all}");
            work.cfaudit(0, "run template.yaml --out template --cache off");
            let kept = "template/rows/counterfactuals/world/part-00000.parquet";
            let columns = ["row_id", "to_group", "cf_index", "income", "hours"];
            as_stream(&work, kept, "made.arrow", Some(&columns));
            fs::remove_dir_all(work.path("template")).unwrap();
            let set =
                "  world: {external: {command: {run: [cat, made.arrow], watch: [made.arrow]}}}";
            rows_out::job(&work, "job.yaml", set, "run: {keep_rows: all}");
            work
        }
        job => work(job),
    }
}

/// Kills runs of this shape, and then the verbs on what they left.
fn all_survive(shape: &str, kills: usize, moments: &mut Draws) -> usize {
    let (reference, work) = (of_shape(shape), of_shape(shape));
    let both = [&reference, &work];
    // A set that somebody else made is of the rows that one seed audits.
    let seed = if shape.starts_with("counterfactuals") { "" } else { "--set run.seed=1" };
    for work in both {
        work.cfaudit(0, &format!("run job.yaml --out old --cache cache {seed}"));
        fs::remove_dir_all(work.path("cache")).unwrap();
    }
    let mut met = 0;
    let awaited = match shape {
        "waiting" => Some("moved.parquet"),
        "waiting for parts" => Some("moved/_SUCCESS"),
        _ => None,
    };
    if let Some(file) = awaited {
        let rename = |from: &str, to: &str| {
            both.map(|work| fs::rename(work.path(from), work.path(to)).unwrap())
        };
        rename(file, "later");
        met += run_survives(shape, both, 4, (kills, moments));
        rename("later", file);
    }
    met += run_survives(shape, both, 0, (kills, moments));
    for verb in VERBS {
        let alone = verb.left_alone(&reference);
        met += verb.survives(shape, &work, &alone, (kills.div_ceil(4), moments), &|_| ());
    }
    assert_tidy(&work);
    met
}

/// Kills workers, merges and the run from merged states of a job in two shards.
fn shards_survive(kills: usize, moments: &mut Draws) -> usize {
    if shards::is_without_lightgbm() {
        return 0;
    }
    let work = shards::with_job("naive");
    let plan = shards::pass_over(&work, 2, &crate::shards::PASSES, "");
    let mut met = 0;
    for (args, makes) in [
        ("worker PLAN --pass survey --shard 0", "PLAN/survey/part-00000.state"),
        ("worker PLAN --pass count --shard 1", "PLAN/count/part-00001.state"),
        ("merge PLAN --pass count", "PLAN/count/merged.state"),
        ("run job.yaml --from PLAN --out out", "out"),
    ] {
        let [args, makes] = [args, makes].map(|text| text.replace("PLAN", &plan));
        let cached = if args.starts_with("merge") { "" } else { " --cache cache" };
        let task = Task { args: &format!("{args}{cached}"), status: 0, makes: &makes };
        let remove = || match work.path(&makes) {
            folder if folder.is_dir() => fs::remove_dir_all(folder).unwrap(),
            file if file.exists() => fs::remove_file(file).unwrap(),
            _ => (),
        };
        remove();
        let alone = task.left_alone(&work);
        if work.path("cache").exists() {
            fs::remove_dir_all(work.path("cache")).unwrap();
        }
        remove();
        met += task.survives("shards", &work, &alone, (kills, moments), &|_| remove());
    }
    work.cfaudit(0, "run job.yaml --out whole --cache off");
    assert_same(&work.results(), &results(&work.path("whole")), "shards and a run");
    met
}

const SHARDS: &str = "shards";

/// The jobs of `tests/jobs` by their names, and shapes of other jobs.
const SHAPES: &str = "recourse, waiting, waiting for parts, folds, share, keep, no-label, roles, \
    duplicates, weights, worlds, worlds-folds, why, doubts, rows of a program, counterfactuals of a \
    program, shards, augment";

/// A table of changes is replaced in one step: the one that was there is not written over.
#[test]
fn a_table_of_changes_appears_whole() {
    let work = crate::proof::audited();
    work.cfaudit(0, "diff out out --out changes");
    fs::hard_link(work.path("changes/changes.parquet"), work.path("kept.parquet")).unwrap();
    work.cfaudit(0, "diff out out --out changes");
    let inode = |name: &str| fs::metadata(work.path(name)).unwrap().ino();
    assert_ne!(inode("changes/changes.parquet"), inode("kept.parquet"));
    let names: Vec<String> = files(&work.path("changes")).into_keys().collect();
    assert_eq!(names, ["changes.parquet", "diff.html"], "nothing else is left");
}

/// A few random moments; `make kills` tries as many as `CFAUDIT_KILLS` says over jobs of every
/// shape.
#[test]
fn killed_at_any_moment() {
    let wanted: usize =
        std::env::var("CFAUDIT_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut moments = Draws(20_261_121);
    if wanted == 0 {
        all_survive("no-label", 4, &mut moments);
        return;
    }
    let shapes: Vec<&str> = SHAPES.split(", ").collect();
    let each = wanted.div_ceil(shapes.len()).clamp(4, 16);
    let (mut met, mut tried) = (0, 0);
    for &shape in shapes.iter().cycle() {
        let n = match shape {
            SHARDS => shards_survive(each.div_ceil(2), &mut moments),
            // Ten experiments take as long as all others together.
            "augment" => all_survive(shape, each.min(5), &mut moments),
            shape => all_survive(shape, each, &mut moments),
        };
        met += n;
        tried += 1;
        eprintln!("{shape}: {n} kills met a running process");
        // Every shape has its turn.
        if met >= wanted && tried >= shapes.len() {
            break;
        }
    }
    eprintln!("{met} kills met a running process, in {tried} rounds over {} shapes", shapes.len());
}
