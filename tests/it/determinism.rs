//! The same job on the same data gives the same bytes: on any number of threads, with any batch
//! size, and after any interruption.

use std::fs;
use std::path::Path;

use crate::work::{
    Files, Going, Rows, Says, Work, assert_same, column, draw, files, results, root, sha256,
};

const PEOPLE: i64 = 3500;
const REGIONS: [&str; 3] = ["north", "south", "east"];

/// A working folder with a job of `tests/jobs` and the files that it names: people with missing
/// values everywhere, and the scores of their counterfactuals in a separate order.
pub(crate) fn work(job: &str) -> Work {
    let work = Work::new();
    fs::copy(root().join(format!("tests/jobs/{job}.yaml")), work.path("job.yaml")).unwrap();
    let region = |i: i64| REGIONS[(draw(i, 2) * draw(i, 3) * 3.0) as usize];
    let (rows, gone) = (|| 0..PEOPLE, |i: i64, k: i32| draw(i, k) < 0.02);
    let real =
        |k: i32, of: &dyn Fn(i64) -> f64| column(rows().map(|i| (!gone(i, k)).then(|| of(i))));
    let text = |k: i32, of: &dyn Fn(i64) -> &'static str| {
        column(rows().map(|i| (!gone(i, k)).then(|| of(i))))
    };
    let grades = ["low", "middle", "high"];
    let people = vec![
        ("id", column(rows().map(|i| 10 * i - 5000))),
        ("household", column(rows().map(|i| format!("h{}", i * 37 % 701)))),
        ("region", text(5, &|i| if gone(i, 6) { "elsewhere" } else { region(i) })),
        ("sex", text(7, &|i| if draw(i, 8) < 0.4 { "f" } else { "m" })),
        ("age", real(10, &|i| 18.0 + 60.0 * draw(i, 11))),
        ("income", real(12, &|i| 1000.0 / (0.01 + draw(i, 13)) + 40.0 * draw(i, 11))),
        ("grade", text(14, &|i| grades[(draw(i, 15) * 3.0) as usize])),
        (
            "job",
            text(17, &|i| {
                ["nurse", "clerk", "smith", "pilot", "guide"][(draw(i, 18) * 5.0) as usize]
            }),
        ),
        (
            "repaid",
            column(rows().map(|i| {
                (!gone(i, 19)).then(|| i64::from(draw(i, 11) + draw(i, 15) + draw(i, 20) > 1.4))
            })),
        ),
        ("part", text(21, &|i| ["fit", "test", "test", "rest"][(draw(i, 22) * 4.0) as usize])),
        ("score", real(23, &|i| draw(i, 24))),
        (
            "weight",
            column(
                rows().map(|i| if i % 50 == 0 { 0.0 } else { 1000.0 * draw(i, 27) * draw(i, 28) }),
            ),
        ),
        ("cutoff", column(rows().map(|i| if i % 2 == 0 { 0.4 } else { 0.6 }))),
    ];
    work.csv("people.csv", people.clone());
    work.parquet("people.parquet", people);
    let moved = || {
        (0..PEOPLE).rev().flat_map(|i| {
            REGIONS.iter().filter(move |to| **to != region(i)).map(move |to| (i, *to))
        })
    };
    Rows::of(moved())
        .with("row_id", |(i, _)| 10 * i - 5000)
        .with("sensitive", |_| "region")
        .with("to_group", |(_, to)| to)
        .with("cf_index", |_| 0_i64)
        .with("score", |(i, to)| {
            (!gone(i, 26)).then(|| (draw(i, 24) + 0.1 * to.len() as f64).min(1.0))
        })
        .write(&work, "moved.parquet");
    work
}

fn same_for_threads_and_batches(job: &str) {
    let work = work(job);
    work.run(0, "job.yaml", "--threads 2");
    assert!(work.results().keys().filter(|name| name.starts_with("tables/")).count() >= 7);
    let ways = [(1, 1024), (8, 3072), (7, 65536)]
        .map(|(threads, rows)| format!("--threads {threads} --batch-rows {rows}"));
    work.same_bytes(0, "job.yaml", &ways.each_ref().map(String::as_str));
}

/// Jobs of `tests/jobs`, each with a different path through the stages.
macro_rules! same_for_threads_and_batches {
    ($($(#[$more:meta])* $name:ident: $job:literal,)*) => {$(
        #[test]
        $(#[$more])*
        fn $name() {
            same_for_threads_and_batches($job);
        }
    )*};
}

same_for_threads_and_batches! {
    two_groups_logistic_and_shares: "share",
    three_groups_missing_values_and_folds: "folds",
    scores_made_elsewhere: "scores",
    filters_and_a_split_column: "keep",
    no_label: "no-label",
    derived_attributes_written_back: "roles",
    duplicates_dropped: "duplicates",
    several_rows_per_person: "persons",
    people_with_weights: "weights",
    #[cfg(feature = "lightgbm")]
    trees_with_weights_and_fitted_thresholds_in_folds: "trees",
    #[ignore = "slow, `make test-slow` runs it: five-fold retraining for every number of threads"]
    models_trained_again: "augment",
    features_moved: "worlds",
    features_moved_in_folds_by_predictions: "worlds-folds",
    #[ignore = "slow, `make test-slow` runs it: a search for causal graphs for every number of threads"]
    causal_graphs: "graphs",
}

/// People cut at random places into files, read in batches of random sizes: the same tables and
/// outcomes.
fn same_for_parts(job: &str) {
    let work = work(job);
    let text = work.read("job.yaml");
    text.says(&["{parquet: people.parquet}"]);
    work.write(
        "job.yaml",
        &text.replace("{parquet: people.parquet}", "{parquet: \"people/*.parquet\"}"),
    );
    let people = crate::batches::read(&work.path("people.parquet"));
    let tables = |out: &str| {
        let mut found = results(&work.path(out));
        found.retain(|name, _| name.starts_with("tables/") || name.starts_with("rows/"));
        found
    };
    let mut expected: Option<Files> = None;
    for (trial, parts) in [1, 2, 5, 13].into_iter().enumerate() {
        let draw = |k: usize| (((1 + k + 100 * trial) as f64).sqrt() * 97.0).fract();
        let mut cuts: Vec<usize> = (1..parts)
            .map(|k| (draw(k) * PEOPLE as f64) as usize)
            .chain([0, people.num_rows()])
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        for (k, ends) in cuts.windows(2).enumerate() {
            crate::batches::write(
                &work.path(&format!("people/part-{k:02}.parquet")),
                &people.slice(ends[0], ends[1] - ends[0]),
            );
        }
        let flags = format!(
            "--threads {} --batch-rows {}",
            1 + trial,
            1024 * (1 + (draw(0) * 8.0) as usize)
        );
        work.cfaudit(0, &format!("run job.yaml --out out{trial} --cache off {flags}"));
        let found = tables(&format!("out{trial}"));
        assert!(found.len() >= 7);
        assert_same(
            expected.get_or_insert_with(|| found.clone()),
            &found,
            &format!("{job}: {parts} parts, {flags}"),
        );
        fs::remove_dir_all(work.path("people")).unwrap();
    }
}

#[test]
fn people_in_parts() {
    same_for_parts("folds");
}

#[test]
fn people_with_weights_in_parts() {
    same_for_parts("weights");
}

#[test]
fn runs_side_by_side_share_a_cache() {
    let work = work("folds");
    let runs: Vec<Going> = (0..3)
        .map(|i| {
            Going::start(&mut work.command(&format!("run job.yaml --out out{i} --cache cache")))
        })
        .collect();
    for run in runs {
        let (status, log) = run.end();
        assert!(status.success(), "{log}");
    }
    let first = results(&work.path("out0"));
    for other in ["out1", "out2"] {
        assert_same(&first, &results(&work.path(other)), other);
    }
    assert_entries_are_whole(&work.path("cache"));
}

#[test]
fn a_killed_run_leaves_the_old_folder_and_whole_results() {
    for job in ["folds", "scores"] {
        let reference = work(job);
        reference.run(0, "job.yaml", "");
        let expected = reference.results();
        let stages = reference.json("out/run.json")["stages"].clone();

        let work = work(job);
        work.run(0, "job.yaml", "--set run.seed=1");
        let old = work.results();
        assert_ne!(old["manifest.json"], expected["manifest.json"]);
        fs::remove_dir_all(work.path("cache")).unwrap();
        let starts = stages
            .as_array()
            .unwrap()
            .iter()
            .map(|stage| ("stage.start", stage["id"].as_str().unwrap()));
        for (event, stage) in starts.chain([("stage.end", "report")]) {
            // The stage may be there already: a killed run gets a little further than its log.
            let mut going =
                Going::start(&mut work.command("run job.yaml --out out --cache cache -v"));
            assert!(going.until(&[event, "stage.cached"], stage), "{job}: no {event} of {stage}");
            going.kill();
            // The old folder or, killed while it publishes, the new one: never a mixture.
            let now = work.results();
            let published = now["manifest.json"] == expected["manifest.json"];
            assert_same(
                if published { &expected } else { &old },
                &now,
                &format!("{job} killed at {event} of {stage}"),
            );
            assert_entries_are_whole(&work.path("cache"));
        }

        work.run(0, "job.yaml", "");
        assert_same(&expected, &work.results(), &format!("{job} after all"));
        let beside: Vec<String> = fs::read_dir(work.path(""))
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(
            !beside.iter().any(|name| name.starts_with(".out")),
            "left next to the folder: {beside:?}"
        );
        assert_eq!(fs::read_dir(work.path("cache/tmp")).unwrap().count(), 0, "left in the cache");
    }
}

/// Every entry of the cache holds the files that its `stage.json` names, with their hashes.
pub(crate) fn assert_entries_are_whole(cache: &Path) {
    for shelf in fs::read_dir(cache)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().len() == 2)
    {
        for entry in fs::read_dir(shelf.path()).unwrap() {
            let mut found: Files = files(&entry.unwrap().path());
            let about: serde_json::Value =
                serde_json::from_slice(&found.remove("stage.json").unwrap()).unwrap();
            let named = about["files"].as_object().unwrap();
            assert_eq!(
                named.keys().collect::<Vec<_>>(),
                found.keys().collect::<Vec<_>>(),
                "{}",
                about["id"]
            );
            for (name, bytes) in &found {
                assert_eq!(named[name]["sha256"], sha256(bytes), "{} of {}", name, about["id"]);
            }
        }
    }
}
