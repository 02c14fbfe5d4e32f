use std::sync::Mutex;

use super::{Options, Planned, Stage, StageContext, StageRecord, State, plan, run};
use crate::error::{Exit, Result, Signal};
use crate::exec::cancel::Cancel;
use crate::exec::event::{Event, Observer};
use crate::exec::fingerprint::Reason;
use crate::exec::store::{Entries, Store};

const KINDS: &[&str] = &["prepare", "split", "train", "measure", "report"];
const OPTIONS: Options<'static> =
    Options { job: "demo", kinds: KINDS, until: None, force: None, published: None, beside: None, at_once: 2 };

#[derive(Default)]
struct Heard(Mutex<Vec<Event>>);

impl Observer for Heard {
    fn on(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

/// Settings of a small job: prepare -> split -> train/a, train/b -> measure -> report.
#[derive(Clone)]
struct Job {
    rows: &'static str,
    l2: &'static str,
    /// What training writes beside what its key covers, as a program with chance in it would.
    noise: &'static str,
    /// The stage that fails.
    fails: &'static str,
}

const JOB: Job = Job { rows: "r1", l2: "1", noise: "", fails: "" };

type Ran = Mutex<Vec<String>>;

fn stages<'a>(job: &'a Job, ran: &'a Ran) -> Vec<Stage<'a>> {
    let stage = |id: &str, kind, needs: &[&str], inputs: &[(&str, &str)], noise: &'a str| {
        let needs: Vec<String> = needs.iter().map(|id| (*id).to_owned()).collect();
        let inputs: Vec<(String, String)> = inputs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (read, settings) = (needs.clone(), format!("{id} {inputs:?} {noise}\n"));
        let name = id.to_owned();
        let work = move |context: &StageContext<'_>| -> Result<()> {
            ran.lock().unwrap().push(name.clone());
            let mut text = settings.clone();
            for id in &read {
                text.push_str(&std::fs::read_to_string(context.need(id).join("out.txt")).unwrap());
            }
            std::fs::write(context.out().join("out.txt"), &text).unwrap();
            context.set_total(10);
            context.progress(4);
            context.progress(6);
            match job.fails {
                fails if fails != name => Ok(()),
                "report" => panic!("a bug"),
                _ => Err(crate::error::Fault::new("bad-row", "the 7th row").into()),
            }
        };
        Stage { id: id.to_owned(), kind, code: "1".to_owned(), needs, inputs, run: Box::new(work) }
    };
    vec![
        stage("prepare", "prepare", &[], &[("rows", job.rows)], ""),
        stage("split", "split", &["prepare"], &[("seed", "42")], ""),
        stage("train/a", "train", &["split"], &[("l2", job.l2)], job.noise),
        stage("train/b", "train", &["split"], &[("l2", "7")], ""),
        stage("measure/a", "measure", &["split", "train/a"], &[], ""),
        stage("report", "report", &["measure/a", "train/b"], &[("title", "t")], ""),
    ]
}

fn go(job: &Job, store: &Store, options: &Options<'_>) -> (Vec<String>, Result<Vec<StageRecord>>) {
    let ran = Ran::default();
    let result = run(&stages(job, &ran), store, options, &Heard::default(), &Cancel::default());
    (ran.into_inner().unwrap(), result)
}

fn ran(job: &Job, store: &Store, options: &Options<'_>) -> Vec<String> {
    let (ran, result) = go(job, store, options);
    result.unwrap();
    ran
}

fn planned(job: &Job, store: &Store, options: &Options<'_>) -> Vec<String> {
    let ran = Ran::default();
    let plan = plan(&stages(job, &ran), &store.entries(), options).unwrap();
    assert!(ran.into_inner().unwrap().is_empty());
    let words = |Planned { id, state, .. }| match state {
        State::Cached { .. } => None,
        State::Stale(reason) => Some(format!("{id}: {reason}")),
    };
    plan.into_iter().filter_map(words).collect()
}

fn reasons(records: &[StageRecord]) -> Vec<String> {
    records.iter().filter_map(|record| Some(format!("{}: {}", record.id, record.reason.as_ref()?))).collect()
}

/// The files that a first run leaves in the store, one a stage, with their bytes.
struct Kept(Vec<(std::path::PathBuf, Vec<u8>)>);

impl Kept {
    fn by(store: &Store) -> Kept {
        let files = go(&JOB, store, &OPTIONS).1.unwrap().into_iter().map(|record| record.folder.join("out.txt"));
        Kept(files.map(|file| (file.clone(), std::fs::read(&file).unwrap())).collect())
    }

    /// Damages the result of a stage; its length stays.
    fn spoil(&self, stage: usize) {
        let (file, sound) = &self.0[stage];
        let mut bytes = sound.clone();
        bytes[3] ^= 1;
        std::fs::write(file, bytes).unwrap();
    }

    fn assert_sound(&self, stage: usize) {
        let (file, sound) = &self.0[stage];
        assert_eq!(&std::fs::read(file).unwrap(), sound, "stage {stage}");
    }
}

#[test]
fn a_second_run_runs_nothing() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    assert_eq!(planned(&JOB, &store, &OPTIONS)[0], "prepare: never run");
    assert_eq!(ran(&JOB, &store, &OPTIONS), ["prepare", "split", "train/a", "train/b", "measure/a", "report"]);
    drop(store);

    let store = Store::open(root.path()).unwrap();
    assert!(planned(&JOB, &store, &OPTIONS).is_empty());
    let (ran, records) = go(&JOB, &store, &OPTIONS);
    assert!(ran.is_empty());
    let records = records.unwrap();
    assert!(records.iter().all(|record| record.cached && record.reason.is_none() && record.rows == 10 && record.bytes > 0));
    assert!(std::fs::read_to_string(records[5].folder.join("out.txt")).unwrap().starts_with("report"));
}

#[test]
fn another_job_shares_results() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    ran(&JOB, &store, &OPTIONS);
    assert!(ran(&JOB, &store, &Options { job: "other", ..OPTIONS }).is_empty());
}

#[test]
fn one_changed_input_reruns_what_needs_it_and_is_named() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    ran(&JOB, &store, &OPTIONS);
    let changed = Job { l2: "0.5", ..JOB };
    let expected = [
        "train/a: `l2` changed from `1` to `0.5`",
        "measure/a: rests on `train/a`, which changed",
        "report: rests on `measure/a`, which changed",
    ];
    assert_eq!(planned(&changed, &store, &OPTIONS), expected);
    let (ran_now, records) = go(&changed, &store, &OPTIONS);
    assert_eq!(ran_now, ["train/a", "measure/a", "report"]);
    assert_eq!(reasons(&records.unwrap()), expected);
    // The way back is still in the store.
    assert!(ran(&JOB, &store, &OPTIONS).is_empty());
    assert_eq!(ran(&Job { rows: "r2", ..JOB }, &store, &OPTIONS).len(), 6);
}

#[test]
fn a_failed_or_killed_run_goes_on_where_it_stopped() {
    let root = tempfile::tempdir().unwrap();
    for (fails, again) in [("train/b", vec!["train/b", "measure/a", "report"]), ("report", vec!["report"])] {
        let root = root.path().join(fails);
        let job = Job { fails, ..JOB };
        let store = Store::open(&root).unwrap();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| go(&job, &store, &OPTIONS).1));
        match outcome {
            Ok(result) => assert_eq!(result.unwrap_err().exit(), Exit::Data),
            Err(_) => assert_eq!(fails, "report"),
        }
        drop(store);
        assert_eq!(std::fs::read_dir(root.join("tmp")).unwrap().count(), 0);
        assert_eq!(ran(&JOB, &Store::open(&root).unwrap(), &OPTIONS), again);
    }
}

#[test]
fn a_signal_ends_the_run_between_and_inside_stages() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let cancel = Cancel::default();
    let work = |context: &StageContext<'_>| {
        cancel.raise(Signal::Interrupt);
        context.check()
    };
    let stage = Stage { id: "a".to_owned(), kind: "train", code: String::new(), needs: vec![], inputs: vec![], run: Box::new(work) };
    let stages = [stage];
    for _ in 0..2 {
        assert_eq!(run(&stages, &store, &OPTIONS, &Heard::default(), &cancel).unwrap_err().exit(), Exit::Interrupted);
    }
    assert!(matches!(plan(&stages, &store.entries(), &OPTIONS).unwrap()[0].state, State::Stale(_)));
}

#[test]
fn a_plan_of_an_absent_store_makes_nothing() {
    let root = tempfile::tempdir().unwrap();
    let absent = root.path().join("cache");
    let ran = Ran::default();
    let stages = stages(&JOB, &ran);
    for entries in [Entries::at(&absent), Entries::none()] {
        let planned = plan(&stages, &entries, &OPTIONS).unwrap();
        assert!(planned.len() == stages.len() && planned.iter().all(|p| p.state == State::Stale(Reason::NeverRun)));
    }
    assert!(!absent.exists());
}

#[test]
fn damaged_and_missing_results_are_made_again() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let folders: Vec<_> = go(&JOB, &store, &OPTIONS).1.unwrap().into_iter().map(|record| record.folder).collect();
    std::fs::write(folders[2].join("out.txt"), "").unwrap();
    std::fs::remove_dir_all(&folders[4]).unwrap();
    let reasons = planned(&JOB, &store, &OPTIONS);
    assert!(reasons[0].starts_with("train/a: its result in the cache is damaged: `out.txt` has 0 bytes in place of"), "{reasons:?}");
    assert_eq!(reasons[1], "measure/a: its result is no longer in the cache");
    // What rests on them is untouched, as they come out the same.
    assert_eq!(ran(&JOB, &store, &OPTIONS), ["train/a", "measure/a"]);
    assert!(ran(&JOB, &store, &OPTIONS).is_empty());
}

#[test]
fn changed_bytes_are_found_where_they_are_read_or_published() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let kept = Kept::by(&store);
    let publishes = Options { published: Some("report"), ..OPTIONS };
    // Nobody reads them: nobody looks.
    (0..5).for_each(|stage| kept.spoil(stage));
    assert!(ran(&JOB, &store, &publishes).is_empty());
    // The report is damaged too: it is made again, and so is all that it rests on.
    kept.spoil(5);
    let reasons = planned(&JOB, &store, &publishes);
    assert_eq!(reasons.len(), 6);
    assert_eq!(reasons[5], "report: its result in the cache is damaged: `out.txt` has other bytes than were written");
    assert_eq!(ran(&JOB, &store, &publishes).len(), 6);
    (0..6).for_each(|stage| kept.assert_sound(stage));
    assert!(planned(&JOB, &store, &publishes).is_empty());
    // A need that a new stage reads.
    kept.spoil(1);
    let other = Job { l2: "2", ..JOB };
    assert_eq!(ran(&other, &store, &publishes), ["split", "train/a", "measure/a", "report"]);
}

/// A forced stage gives a fresh result, and what runs because of it reads nothing damaged.
#[test]
fn a_damaged_result_never_outlives_a_forced_stage() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let kept = Kept::by(&store);
    let force = Options { force: Some("train/a"), ..OPTIONS };
    kept.spoil(2);
    assert_eq!(ran(&JOB, &store, &force), ["train/a"]);
    // The fresh result is kept.
    kept.assert_sound(2);
    // `report` runs because `train/a` gives another result, and reads `train/b`.
    kept.spoil(3);
    let job = Job { noise: "another outcome", ..JOB };
    assert_eq!(ran(&job, &store, &force), ["train/a", "train/b", "measure/a", "report"]);
    kept.assert_sound(3);
}

#[test]
fn force_runs_what_it_names_and_what_thereby_changes() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    ran(&JOB, &store, &OPTIONS);
    let force = |word| Options { force: Some(word), ..OPTIONS };
    assert_eq!(planned(&JOB, &store, &force("train")), ["train/a: forced", "train/b: forced"]);
    assert_eq!(ran(&JOB, &store, &force("train")), ["train/a", "train/b"]);
    assert_eq!(ran(&JOB, &store, &force("train/b")), ["train/b"]);
    let (ran_now, records) = go(&Job { noise: "another outcome", ..JOB }, &store, &force("train/a"));
    assert_eq!(ran_now, ["train/a", "measure/a", "report"]);
    assert_eq!(reasons(&records.unwrap())[1], "measure/a: rests on `train/a`, which changed");
    assert!(ran(&JOB, &store, &OPTIONS).is_empty());
}

#[test]
fn until_leaves_out_later_kinds_that_nothing_needs() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let until = Options { until: Some("train"), ..OPTIONS };
    assert_eq!(ran(&JOB, &store, &until), ["prepare", "split", "train/a", "train/b"]);

    let (job, log) = (JOB, Ran::default());
    let mut arms = stages(&job, &log);
    let work = |_: &StageContext<'_>| Ok(());
    let needs = vec!["measure/a".to_owned()];
    arms.push(Stage { id: "train/arm".to_owned(), kind: "train", code: String::new(), needs, inputs: vec![], run: Box::new(work) });
    let ids = |options: &Options<'_>| plan(&arms, &store.entries(), options).unwrap().into_iter().map(|s| s.id).collect::<Vec<_>>();
    assert_eq!(ids(&until), ["prepare", "split", "train/a", "train/b", "measure/a", "train/arm"]);
    assert_eq!(ids(&OPTIONS).len(), 7);
}

#[test]
fn unknown_words_and_stages_that_do_not_fit() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let (job, log) = (JOB, Ran::default());
    let mut stages = stages(&job, &log);
    let check = |stages: &[Stage<'_>], options: &Options<'_>, words: &str| {
        let error = plan(stages, &store.entries(), options).unwrap_err();
        assert_eq!(error.exit(), Exit::Job);
        assert_eq!(error.to_string(), words);
    };
    check(
        &stages,
        &Options { until: Some("trian"), ..OPTIONS },
        "error[unknown-stage]: there is no stage `trian`\n  --> --until\n  hint: known are `prepare`, `split`, `train`, `measure`, `report`",
    );
    check(
        &stages,
        &Options { until: Some("split"), force: Some("train"), ..OPTIONS },
        "error[unknown-stage]: this run has no stage `train`\n  --> --force\n  hint: known are `prepare`, `split`",
    );
    stages[1].id = "prepare".to_owned();
    stages[5].kind = "poem";
    check(
        &stages,
        &OPTIONS,
        "error[duplicate-stage]: two stages are called `prepare`\n\
         error[stage-graph]: stage `train/a` needs `split`, which no stage before it makes\n\
         error[stage-graph]: stage `train/b` needs `split`, which no stage before it makes\n\
         error[stage-graph]: stage `measure/a` needs `split`, which no stage before it makes\n\
         error[stage-graph]: stage `report` is of the unknown kind `poem`",
    );
    stages.truncate(1);
    stages[0].inputs.push(("rows".to_owned(), "again".to_owned()));
    check(&stages, &OPTIONS, "error[stage-graph]: stage `prepare` has two inputs called `rows`");
}

#[test]
fn events_in_order() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let (job, log) = (JOB, Ran::default());
    let mut stages = stages(&job, &log);
    stages.truncate(2);
    let names = |options: &Options<'_>| {
        let heard = Heard::default();
        run(&stages, &store, options, &heard, &Cancel::default()).unwrap();
        let events = heard.0.into_inner().unwrap();
        events.iter().map(|event| event.name()).filter(|name| *name != "stage.progress").collect::<Vec<_>>()
    };
    assert_eq!(names(&OPTIONS), ["stage.start", "stage.end", "stage.start", "stage.end"]);
    assert_eq!(names(&Options { force: Some("split"), ..OPTIONS }), ["stage.cached", "stage.start", "stage.end"]);
}

#[test]
fn equal_entries_have_equal_bytes_in_two_stores() {
    let read = || {
        let root = tempfile::tempdir().unwrap();
        let store = Store::open(root.path()).unwrap();
        let records = go(&JOB, &store, &OPTIONS).1.unwrap();
        records.iter().map(|record| std::fs::read_to_string(record.folder.join("stage.json")).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(read(), read());
}

/// Stages of a kind, each without needs but the last, which needs the first.
fn beside<'a>(n: usize, work: &'a (dyn Fn(usize) -> Result<()> + Sync)) -> Vec<Stage<'a>> {
    let stage = |k: usize| {
        let needs = if k + 1 == n { vec!["train/0".to_owned()] } else { Vec::new() };
        let run = Box::new(move |_: &StageContext<'_>| work(k));
        Stage { id: format!("train/{k}"), kind: "train", code: String::new(), needs, inputs: vec![], run }
    };
    (0..n).map(stage).collect()
}

#[test]
fn stages_that_do_not_need_each_other_run_side_by_side() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let options = Options { beside: Some("train"), ..OPTIONS };
    // Each of the first two ends only once the other has begun.
    let begun = [Mutex::new(false), Mutex::new(false)];
    let meet = |k: usize| {
        if k < 2 {
            *begun[k].lock().unwrap() = true;
            let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
            while !*begun[1 - k].lock().unwrap() {
                assert!(std::time::Instant::now() < until, "stage {k} runs alone");
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
        Ok(())
    };
    let records = run(&beside(4, &meet), &store, &options, &Heard::default(), &Cancel::default()).unwrap();
    assert_eq!(records.iter().map(|record| record.id.as_str()).collect::<Vec<_>>(), ["train/0", "train/1", "train/2", "train/3"]);
}

#[test]
fn of_stages_side_by_side_those_that_are_done_stay_and_the_first_error_counts() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path()).unwrap();
    let options = Options { beside: Some("train"), ..OPTIONS };
    let ran = Mutex::new(Vec::new());
    let mut broken = true;
    for _ in 0..2 {
        let work = |k: usize| {
            ran.lock().unwrap().push(k);
            if broken && k == 1 { Err(crate::error::Fault::new("bad-row", format!("row {k}")).into()) } else { Ok(()) }
        };
        let result = run(&beside(4, &work), &store, &options, &Heard::default(), &Cancel::default());
        assert_eq!(result.is_err(), broken);
        broken = false;
    }
    let ran = ran.into_inner().unwrap();
    let times = |k: usize| ran.iter().filter(|other| **other == k).count();
    assert_eq!((times(0), times(1), times(3)), (1, 2, 1), "{ran:?}");
    assert!(times(2) <= 2, "{ran:?}");
}
