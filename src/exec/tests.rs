//! Plans of small stages: what runs again and why, damaged results, signals, order of events.

use std::sync::Mutex;

use super::{ExecSettings, PlannedStage, StageContext, StageRecord, StageStatus, plan, run};

use crate::error::{Exit, Result, StopSignal};
use crate::exec::cancel::CancelFlag;
use crate::exec::event::{Event, Observer};
use crate::exec::fingerprint::StaleReason;
use crate::exec::result_store::{ResultStore, StoreView};

pub(crate) mod state_laws;

const KINDS: &[&str] = &["prepare", "split", "train", "measure", "report"];
const OPTIONS: ExecSettings<'static> = ExecSettings {
    job: "demo",
    kinds: KINDS,
    until: None,
    force: None,
    takes: |part, id| id.ends_with(part),
    published: None,
    parallel_kind: None,
    max_parallel: 2,
};

#[derive(Default)]
pub(crate) struct StageEvents(Mutex<Vec<Event>>);

impl Observer for StageEvents {
    fn on(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

/// Settings of a small job: prepare -> split -> train/a, train/b -> measure -> report.
#[derive(Clone)]
struct SmallJob {
    rows: &'static str,
    l2: &'static str,
    /// Output of training that its key does not cover, as of a program that uses chance.
    noise: &'static str,
    /// The stage that fails.
    fails: &'static str,
}

const JOB: SmallJob = SmallJob { rows: "r1", l2: "1", noise: "", fails: "" };

type StagesRun = Mutex<Vec<String>>;

fn stages<'a>(job: &'a SmallJob, ran: &'a StagesRun) -> Vec<PlannedStage<'a>> {
    let stage = |id: &str, kind, needs: &[&str], inputs: &[(&str, &str)], noise: &'a str| {
        let needs: Vec<String> = needs.iter().map(|id| (*id).to_owned()).collect();
        let inputs: Vec<(String, String)> =
            inputs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
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
        PlannedStage {
            id: id.to_owned(),
            kind,
            code: "1".to_owned(),
            needs,
            inputs,
            run: Box::new(work),
        }
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

/// A store in a folder of its own.
fn opened() -> (tempfile::TempDir, ResultStore) {
    let root = tempfile::tempdir().unwrap();
    let store = ResultStore::open(root.path()).unwrap();
    (root, store)
}

fn go(
    job: &SmallJob,
    store: &ResultStore,
    options: &ExecSettings<'_>,
) -> (Vec<String>, Result<Vec<StageRecord>>) {
    let ran = StagesRun::default();
    let result =
        run(&stages(job, &ran), store, options, &StageEvents::default(), &CancelFlag::default());
    (ran.into_inner().unwrap(), result)
}

fn ran(job: &SmallJob, store: &ResultStore, options: &ExecSettings<'_>) -> Vec<String> {
    let (ran, result) = go(job, store, options);
    result.unwrap();
    ran
}

fn planned(job: &SmallJob, store: &ResultStore, options: &ExecSettings<'_>) -> Vec<String> {
    let ran = StagesRun::default();
    let plan = plan(&stages(job, &ran), &store.view(), options).unwrap();
    assert!(ran.into_inner().unwrap().is_empty());
    let words = |StageStatus { id, reason, .. }| Some(format!("{id}: {}", reason?));
    plan.into_iter().filter_map(words).collect()
}

fn reasons(records: &[StageRecord]) -> Vec<String> {
    records
        .iter()
        .filter_map(|record| Some(format!("{}: {}", record.id, record.reason.as_ref()?)))
        .collect()
}

/// The files that a first run leaves in the store, one a stage, with their bytes.
struct Kept(Vec<(std::path::PathBuf, Vec<u8>)>);

impl Kept {
    fn by(store: &ResultStore) -> Kept {
        let files = go(&JOB, store, &OPTIONS)
            .1
            .unwrap()
            .into_iter()
            .map(|record| record.folder.join("out.txt"));
        Kept(files.map(|file| (file.clone(), std::fs::read(&file).unwrap())).collect())
    }

    /// Damages the result of a stage; its length is unchanged.
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
    let (root, store) = opened();
    assert_eq!(planned(&JOB, &store, &OPTIONS)[0], "prepare: never run");
    assert_eq!(
        ran(&JOB, &store, &OPTIONS),
        ["prepare", "split", "train/a", "train/b", "measure/a", "report"]
    );
    drop(store);

    let store = ResultStore::open(root.path()).unwrap();
    assert!(planned(&JOB, &store, &OPTIONS).is_empty());
    let (ran, records) = go(&JOB, &store, &OPTIONS);
    assert!(ran.is_empty());
    let records = records.unwrap();
    assert!(records.iter().all(|record| record.cached
        && record.reason.is_none()
        && record.rows == 10
        && record.bytes > 0));
    assert!(
        std::fs::read_to_string(records[5].folder.join("out.txt")).unwrap().starts_with("report")
    );
}

#[test]
fn another_job_shares_results() {
    let (_root, store) = opened();
    ran(&JOB, &store, &OPTIONS);
    assert!(ran(&JOB, &store, &ExecSettings { job: "other", ..OPTIONS }).is_empty());
}

#[test]
fn one_changed_input_reruns_what_needs_it_and_is_named() {
    let (_root, store) = opened();
    ran(&JOB, &store, &OPTIONS);
    let changed = SmallJob { l2: "0.5", ..JOB };
    let expected = [
        "train/a: `l2` changed from `1` to `0.5`",
        "measure/a: depends on `train/a`, which changed",
        "report: depends on `measure/a`, which changed",
    ];
    assert_eq!(planned(&changed, &store, &OPTIONS), expected);
    let (ran_now, records) = go(&changed, &store, &OPTIONS);
    assert_eq!(ran_now, ["train/a", "measure/a", "report"]);
    assert_eq!(reasons(&records.unwrap()), expected);
    // The earlier results are still in the store.
    assert!(ran(&JOB, &store, &OPTIONS).is_empty());
    assert_eq!(ran(&SmallJob { rows: "r2", ..JOB }, &store, &OPTIONS).len(), 6);
}

#[test]
fn a_failed_or_killed_run_goes_on_where_it_stopped() {
    let root = tempfile::tempdir().unwrap();
    for (fails, again) in
        [("train/b", vec!["train/b", "measure/a", "report"]), ("report", vec!["report"])]
    {
        let root = root.path().join(fails);
        let job = SmallJob { fails, ..JOB };
        let store = ResultStore::open(&root).unwrap();
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| go(&job, &store, &OPTIONS).1));
        match outcome {
            Ok(result) => assert_eq!(result.unwrap_err().exit(), Exit::Data),
            Err(_) => assert_eq!(fails, "report"),
        }
        drop(store);
        assert_eq!(std::fs::read_dir(root.join("tmp")).unwrap().count(), 0);
        assert_eq!(ran(&JOB, &ResultStore::open(&root).unwrap(), &OPTIONS), again);
    }
}

#[test]
fn a_signal_ends_the_run_between_and_inside_stages() {
    let (_root, store) = opened();
    let cancel = CancelFlag::default();
    let work = |context: &StageContext<'_>| {
        cancel.raise(StopSignal::Interrupt);
        context.check()
    };
    let stage = PlannedStage {
        id: "a".to_owned(),
        kind: "train",
        code: String::new(),
        needs: vec![],
        inputs: vec![],
        run: Box::new(work),
    };
    let stages = [stage];
    for _ in 0..2 {
        assert_eq!(
            run(&stages, &store, &OPTIONS, &StageEvents::default(), &cancel).unwrap_err().exit(),
            Exit::Interrupted
        );
    }
    assert!(!plan(&stages, &store.view(), &OPTIONS).unwrap()[0].cached);
}

#[test]
fn a_plan_of_an_absent_store_makes_nothing() {
    let root = tempfile::tempdir().unwrap();
    let absent = root.path().join("cache");
    let ran = StagesRun::default();
    let stages = stages(&JOB, &ran);
    for entries in [StoreView::of(Some(absent.clone())), StoreView::of(None)] {
        let planned = plan(&stages, &entries, &OPTIONS).unwrap();
        assert!(
            planned.len() == stages.len()
                && planned.iter().all(|p| p.reason == Some(StaleReason::NeverRun.to_string()))
        );
    }
    assert!(!absent.exists());
}

#[test]
fn damaged_and_missing_results_are_made_again() {
    let (_root, store) = opened();
    let folders: Vec<_> =
        go(&JOB, &store, &OPTIONS).1.unwrap().into_iter().map(|record| record.folder).collect();
    std::fs::write(folders[2].join("out.txt"), "").unwrap();
    std::fs::remove_dir_all(&folders[4]).unwrap();
    let reasons = planned(&JOB, &store, &OPTIONS);
    assert!(
        reasons[0].starts_with(
            "train/a: its result in the cache is damaged: `out.txt` has 0 bytes instead of"
        ),
        "{reasons:?}"
    );
    assert_eq!(reasons[1], "measure/a: its result is no longer in the cache");
    // Stages that depend on them do not run, as their files are the same.
    assert_eq!(ran(&JOB, &store, &OPTIONS), ["train/a", "measure/a"]);
    assert!(ran(&JOB, &store, &OPTIONS).is_empty());
}

#[test]
fn changed_bytes_are_found_where_they_are_read_or_published() {
    let (_root, store) = opened();
    let kept = Kept::by(&store);
    let publishes = ExecSettings { published: Some("report"), ..OPTIONS };
    // No stage reads them, so they are not hashed.
    (0..5).for_each(|stage| kept.spoil(stage));
    assert!(ran(&JOB, &store, &publishes).is_empty());
    // The report is damaged too: it is made again, and so is everything it depends on.
    kept.spoil(5);
    let reasons = planned(&JOB, &store, &publishes);
    assert_eq!(reasons.len(), 6);
    assert_eq!(
        reasons[5],
        "report: its result in the cache is damaged: `out.txt` does not have the bytes that were \
         written"
    );
    assert_eq!(ran(&JOB, &store, &publishes).len(), 6);
    (0..6).for_each(|stage| kept.assert_sound(stage));
    assert!(planned(&JOB, &store, &publishes).is_empty());
    // A needed result that a new stage reads.
    kept.spoil(1);
    let other = SmallJob { l2: "2", ..JOB };
    assert_eq!(ran(&other, &store, &publishes), ["split", "train/a", "measure/a", "report"]);
}

/// A forced stage gives a fresh result, and what runs because of it reads nothing damaged.
#[test]
fn a_damaged_result_never_outlives_a_forced_stage() {
    let (_root, store) = opened();
    let kept = Kept::by(&store);
    let force = ExecSettings { force: Some("train/a"), ..OPTIONS };
    kept.spoil(2);
    assert_eq!(ran(&JOB, &store, &force), ["train/a"]);
    // The fresh result is kept.
    kept.assert_sound(2);
    // `report` runs because `train/a` gives another result, and reads `train/b`.
    kept.spoil(3);
    let job = SmallJob { noise: "another outcome", ..JOB };
    assert_eq!(ran(&job, &store, &force), ["train/a", "train/b", "measure/a", "report"]);
    kept.assert_sound(3);
}

#[test]
fn force_runs_what_it_names_and_what_thereby_changes() {
    let (_root, store) = opened();
    ran(&JOB, &store, &OPTIONS);
    let force = |word| ExecSettings { force: Some(word), ..OPTIONS };
    assert_eq!(planned(&JOB, &store, &force("train")), ["train/a: forced", "train/b: forced"]);
    assert_eq!(ran(&JOB, &store, &force("train")), ["train/a", "train/b"]);
    assert_eq!(ran(&JOB, &store, &force("train/b")), ["train/b"]);
    // A part of ids that is neither kind nor id.
    assert_eq!(planned(&JOB, &store, &force("/a")), ["train/a: forced", "measure/a: forced"]);
    let (ran_now, records) =
        go(&SmallJob { noise: "another outcome", ..JOB }, &store, &force("train/a"));
    assert_eq!(ran_now, ["train/a", "measure/a", "report"]);
    assert_eq!(reasons(&records.unwrap())[1], "measure/a: depends on `train/a`, which changed");
    assert!(ran(&JOB, &store, &OPTIONS).is_empty());
}

#[test]
fn until_leaves_out_later_kinds_that_nothing_needs() {
    let (_root, store) = opened();
    let until = ExecSettings { until: Some("train"), ..OPTIONS };
    assert_eq!(ran(&JOB, &store, &until), ["prepare", "split", "train/a", "train/b"]);

    let (job, log) = (JOB, StagesRun::default());
    let mut arms = stages(&job, &log);
    let work = |_: &StageContext<'_>| Ok(());
    let needs = vec!["measure/a".to_owned()];
    arms.push(PlannedStage {
        id: "train/arm".to_owned(),
        kind: "train",
        code: String::new(),
        needs,
        inputs: vec![],
        run: Box::new(work),
    });
    let ids = |options: &ExecSettings<'_>| {
        plan(&arms, &store.view(), options).unwrap().into_iter().map(|s| s.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&until), ["prepare", "split", "train/a", "train/b", "measure/a", "train/arm"]);
    assert_eq!(ids(&OPTIONS).len(), 7);
}

#[test]
fn unknown_words_and_stages_that_do_not_fit() {
    let (_root, store) = opened();
    let (job, log) = (JOB, StagesRun::default());
    let mut stages = stages(&job, &log);
    let check = |stages: &[PlannedStage<'_>], options: &ExecSettings<'_>, words: &str| {
        let error = plan(stages, &store.view(), options).unwrap_err();
        assert_eq!(error.exit(), Exit::Job);
        assert_eq!(error.to_string(), words);
    };
    check(
        &stages,
        &ExecSettings { until: Some("trian"), ..OPTIONS },
        "error[unknown-stage]: there is no stage `trian`\n  --> --until\n  hint: known are \
         `prepare`, `split`, `train`, `measure`, `report`",
    );
    check(
        &stages,
        &ExecSettings { until: Some("split"), force: Some("train"), ..OPTIONS },
        "error[unknown-stage]: this run has no stage `train`\n  --> --force\n  hint: known are \
         `prepare`, `split`",
    );
    stages[1].id = "prepare".to_owned();
    stages[5].kind = "poem";
    check(
        &stages,
        &OPTIONS,
        "error[duplicate-stage]: two stages are called `prepare`\n\
         error[stage-graph]: stage `train/a` needs `split`, which no earlier stage provides\n\
         error[stage-graph]: stage `train/b` needs `split`, which no earlier stage provides\n\
         error[stage-graph]: stage `measure/a` needs `split`, which no earlier stage provides\n\
         error[stage-graph]: stage `report` is of the unknown kind `poem`",
    );
    stages.truncate(1);
    stages[0].inputs.push(("rows".to_owned(), "again".to_owned()));
    check(&stages, &OPTIONS, "error[stage-graph]: stage `prepare` has two inputs called `rows`");
}

#[test]
fn events_in_order() {
    let (_root, store) = opened();
    let (job, log) = (JOB, StagesRun::default());
    let mut stages = stages(&job, &log);
    stages.truncate(2);
    let names = |options: &ExecSettings<'_>| {
        let heard = StageEvents::default();
        run(&stages, &store, options, &heard, &CancelFlag::default()).unwrap();
        let events = heard.0.into_inner().unwrap();
        events
            .iter()
            .map(|event| event.name())
            .filter(|name| *name != "stage.progress")
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&OPTIONS), ["stage.start", "stage.end", "stage.start", "stage.end"]);
    assert_eq!(
        names(&ExecSettings { force: Some("split"), ..OPTIONS }),
        ["stage.cached", "stage.start", "stage.end"]
    );
}

#[test]
fn equal_entries_have_equal_bytes_in_two_stores() {
    let read = || {
        let root = tempfile::tempdir().unwrap();
        let store = ResultStore::open(root.path()).unwrap();
        let records = go(&JOB, &store, &OPTIONS).1.unwrap();
        records
            .iter()
            .map(|record| std::fs::read_to_string(record.folder.join("stage.json")).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(read(), read());
}

/// Stages of one kind without needs, except that the last needs the first.
fn beside<'a>(n: usize, work: &'a (dyn Fn(usize) -> Result<()> + Sync)) -> Vec<PlannedStage<'a>> {
    let stage = |k: usize| {
        let needs = if k + 1 == n { vec!["train/0".to_owned()] } else { Vec::new() };
        let run = Box::new(move |_: &StageContext<'_>| work(k));
        PlannedStage {
            id: format!("train/{k}"),
            kind: "train",
            code: String::new(),
            needs,
            inputs: vec![],
            run,
        }
    };
    (0..n).map(stage).collect()
}

#[test]
fn stages_that_do_not_need_each_other_run_side_by_side() {
    let (_root, store) = opened();
    let options = ExecSettings { parallel_kind: Some("train"), ..OPTIONS };
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
    let records =
        run(&beside(4, &meet), &store, &options, &StageEvents::default(), &CancelFlag::default())
            .unwrap();
    assert_eq!(
        records.iter().map(|record| record.id.as_str()).collect::<Vec<_>>(),
        ["train/0", "train/1", "train/2", "train/3"]
    );
}

#[test]
fn of_stages_side_by_side_those_that_are_done_stay_and_the_first_error_counts() {
    let (_root, store) = opened();
    let options = ExecSettings { parallel_kind: Some("train"), ..OPTIONS };
    let ran = Mutex::new(Vec::new());
    let mut broken = true;
    for _ in 0..2 {
        let work = |k: usize| {
            ran.lock().unwrap().push(k);
            if broken && k == 1 {
                Err(crate::error::Fault::new("bad-row", format!("row {k}")).into())
            } else {
                Ok(())
            }
        };
        let result = run(
            &beside(4, &work),
            &store,
            &options,
            &StageEvents::default(),
            &CancelFlag::default(),
        );
        assert_eq!(result.is_err(), broken);
        broken = false;
    }
    let ran = ran.into_inner().unwrap();
    let times = |k: usize| ran.iter().filter(|other| **other == k).count();
    assert_eq!((times(0), times(1), times(3)), (1, 2, 1), "{ran:?}");
    assert!(times(2) <= 2, "{ran:?}");
}
