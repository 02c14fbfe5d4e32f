//! The cache over many nights: `clean` and `--cache-limit` remove what nobody needs, and nothing
//! else.

use std::fs;
use std::time::{Duration, SystemTime};

use crate::work::{Work, assert_same, files};

const DEMO: &str = "jobs/gate-demo.yaml";
const FEW: &str = "--set data.rows.synthetic.rows=1000 --gates report";

/// Bytes of results in the cache.
fn size(work: &Work) -> usize {
    let found = files(&work.path("cache"));
    found.iter().filter(|(name, _)| name.as_bytes()[2] == b'/').map(|(_, bytes)| bytes.len()).sum()
}

fn night(work: &Work, seed: u32, more: &str) -> String {
    work.run(0, DEMO, &format!("{FEW} --set run.seed={seed} {more}")).stderr
}

#[test]
fn clean_keeps_what_the_next_night_needs() {
    let work = Work::with_jobs();
    night(&work, 1, "");
    let one = size(&work);
    night(&work, 2, "");
    night(&work, 3, "");
    let three = size(&work);
    assert!(three > 2 * one, "{one} {three}");
    let looked = work.cfaudit(0, "clean --cache cache --dry-run").stdout;
    assert!(looked.starts_with("would remove ") && looked.ends_with(" left\n"), "{looked}");
    assert_eq!(size(&work), three);
    let before = work.results();
    let told = work.cfaudit(0, "clean --cache cache").stdout;
    assert_eq!(told, looked.replace("would remove", "removed"));
    assert!(size(&work) < three);
    assert!(night(&work, 3, "").contains("nothing to do"));
    crate::work::assert_same(&before, &work.results(), "after clean");
    assert_eq!(
        work.cfaudit(0, "clean --cache cache --older 30d").stdout.split(';').next(),
        Some("removed 0 results (0.0 MB)")
    );
    // Another job's results stay where one is named.
    let left = size(&work);
    let other = work.cfaudit(0, "clean --cache cache --job other --older 0s").stdout;
    assert!(other.starts_with("removed 0 results"), "{other}");
    assert_eq!(size(&work), left);
    // Nobody has used them for two months.
    for (name, _) in files(&work.path("cache")).iter().filter(|(name, _)| name.starts_with("used/"))
    {
        let mark = fs::File::options().write(true).open(work.path("cache").join(name)).unwrap();
        mark.set_modified(SystemTime::now() - Duration::from_secs(61 * 86_400)).unwrap();
    }
    work.cfaudit(0, "clean --cache cache --older 30d --job gate-demo --quiet");
    assert_eq!(size(&work), 0);
    assert!(!night(&work, 3, "").contains("nothing to do"));
    crate::work::assert_same(&before, &work.results(), "computed again");
}

#[test]
fn the_cache_stays_within_its_limit() {
    let work = Work::with_jobs();
    night(&work, 1, "");
    let one = size(&work);
    for seed in 2..5 {
        let told = night(&work, seed, &format!("--cache-limit {}", one + one / 2));
        assert!(size(&work) <= one + one / 2, "{} of {one}", size(&work));
        assert!(seed < 3 || told.contains("; the cache gave up "), "{told}");
        // What this night made is what the next one finds.
        assert!(night(&work, seed, "").contains("nothing to do"));
    }
    night(&work, 9, "--cache-limit 0");
    assert_eq!(size(&work), 0);
}

#[test]
fn a_folder_that_is_no_cache_is_left_alone() {
    let work = Work::new();
    work.cfaudit(5, "clean --cache nowhere").says(&["there is no such folder", "--cache"]);
    assert!(!work.path("nowhere").exists());
    for (args, words) in [
        ("clean --older 30", "write a whole number and a unit"),
        ("clean --older soon", "write a whole number and a unit"),
        ("clean --keep-last many", "--keep-last"),
        ("run job.yaml --cache-limit lots", "is no unit of size"),
    ] {
        work.cfaudit(2, args).says(&[words]);
    }
    fs::create_dir_all(work.path("mine/ab")).unwrap();
    work.write("mine/ab/letter", "dear all");
    work.cfaudit(0, "clean --cache mine --older 0s");
    assert_eq!(fs::read_to_string(work.path("mine/ab/letter")).unwrap(), "dear all");
}

/// Others read an output folder; a cache is closed to them.
#[test]
fn an_output_folder_is_no_cache() {
    let work = Work::with_jobs();
    let run = "run jobs/gate-demo.yaml --set data.rows.synthetic.rows=600 --gates report";
    work.cfaudit(0, &format!("{run} --out out --cache cache"));
    let before = files(&work.path("out"));
    let mode = || fs::metadata(work.path("out")).unwrap().permissions();
    let open = mode();
    for verb in [format!("{run} --out other"), "clean".to_owned()] {
        work.cfaudit(5, &format!("{verb} --cache out")).says(&[
            "cannot use as cache `out`",
            "this is an output folder",
            "hint: ",
        ]);
    }
    assert_same(&before, &files(&work.path("out")), "a folder that is no cache");
    assert_eq!(open, mode());
}

/// The trade's words are known to `explain`, and a job that uses one is reported ours.
#[test]
fn words_of_the_trade_lead_to_ours() {
    let work = Work::with_jobs();
    for (word, known) in [
        ("adverse impact ratio", "di (metric)"),
        ("four-fifths rule", "di (metric)"),
        ("80% rule", "di (metric)"),
        ("statistical_parity", "demp_difference (metric)"),
        ("equal-opportunity", "eopp_difference (metric)"),
        ("switch rate", "sr (metric)"),
    ] {
        let mut explain = work.command("explain");
        let told = crate::work::Ran::of(explain.arg(word), 0).stdout;
        assert!(told.starts_with(known), "{word}: {told}");
    }
    let job = fs::read_to_string(work.path("jobs/demo.yaml")).unwrap();
    assert!(job.contains("metric: di\n"));
    work.write("jobs/demo.yaml", &job.replace("metric: di\n", "metric: disparate_impact\n"));
    work.cfaudit(2, "check jobs/demo.yaml --no-data").says(&["did you mean `di`?"]);
}
