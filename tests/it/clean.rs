//! The cache over many nights: `clean` and `--cache-limit` remove what is not needed, and nothing
//! else.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::work::{Ran, Says, Work, assert_same, column, files};

const DEMO: &str = "jobs/gate-demo.yaml";
const FEW: &str = "--set data.rows.synthetic.rows=1000 --gates report";

/// Bytes of results in the cache.
fn size(work: &Work) -> usize {
    let found = files(&work.path("cache"));
    found.iter().filter(|(name, _)| name.as_bytes()[2] == b'/').map(|(_, bytes)| bytes.len()).sum()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
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
    let stdout = work.cfaudit(0, "clean --cache cache").stdout;
    assert_eq!(stdout, looked.replace("would remove", "removed"));
    assert!(size(&work) < three);
    night(&work, 3, "").says(&["nothing to do"]);
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
    night(&work, 3, "").lacks(&["nothing to do"]);
    crate::work::assert_same(&before, &work.results(), "computed again");
}

#[test]
fn the_cache_stays_within_its_limit() {
    let work = Work::with_jobs();
    night(&work, 1, "");
    let one = size(&work);
    for seed in 2..5 {
        let stdout = night(&work, seed, &format!("--cache-limit {}", one + one / 2));
        assert!(size(&work) <= one + one / 2, "{} of {one}", size(&work));
        assert!(seed < 3 || stdout.contains("; the cache gave up "), "{stdout}");
        // What this night made is what the next one finds.
        night(&work, seed, "").says(&["nothing to do"]);
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
}

/// No command turns a folder with other files into a cache: it stays as it is, and readable for
/// others.
#[test]
fn a_folder_of_the_users_never_becomes_the_cache() {
    let work = Work::with_jobs();
    let rows = "--set data.rows.synthetic.rows=600";
    let texts = ["f", "m"].into_iter().cycle().take(40).collect::<Vec<_>>();
    let numbers = || column((0..40_i64).map(|i| i % 3 % 2));
    work.parquet(
        "rows.parquet",
        vec![("sex", column(texts)), ("y", numbers()), ("granted", numbers())],
    );
    work.write(
        "parts.yaml",
        "cfaudit: 1\nname: parts\ndata:\n  rows: {parquet: rows.parquet}\n  label: {column: y, \
         positive: [1], favourable: positive}\n  sensitive: {sex: {groups: [f, m], reference: \
         m}}\nmodels: {current: {decision: {column: granted, positive: [1]}}}\n",
    );
    work.cfaudit(0, "plan parts.yaml --shards 2 --to plan --cache off");
    for name in ["home/tmp/project/thesis.txt", "home/tmp/1-0/lock", "home/rows/mine.csv"] {
        work.write(name, "keep");
    }
    let see =
        || (files(&work.path("home")), mode(&work.path("home")), mode(&work.path("home/tmp")));
    fs::set_permissions(work.path("home"), Permissions::from_mode(0o755)).unwrap();
    let before = see();
    for args in [
        "clean --dry-run --cache home".to_owned(),
        "clean --older 0s --cache home".to_owned(),
        format!("check {DEMO} {rows} --cache home"),
        format!("data {DEMO} {rows} --cache home"),
        format!("power {DEMO} {rows} --gate few-switches --cache home"),
        format!("run {DEMO} {rows} --out out --cache home/"),
        "worker plan --pass survey --shard 0 --cache home".to_owned(),
    ] {
        work.cfaudit(5, &args).says(&["cannot use as cache `home", "hint: name a new or an empty"]);
        assert_eq!(see(), before, "{args}");
    }
    for args in ["run", "data", "check"] {
        let mut command = work.command(&format!("{args} {DEMO} {rows}"));
        Ran::of(command.env("CFAUDIT_CACHE", "home"), 5).says(&["cannot use as cache `home`"]);
        assert_eq!(see(), before, "{args}");
    }
    // The folder of the project itself, with a folder of this name.
    work.write("tmp/mine", "keep");
    work.cfaudit(5, &format!("check {DEMO} {rows} --cache .")).says(&["cannot use as cache `.`"]);
    assert_eq!(work.read("tmp/mine"), "keep");
}

/// The default folder counts as a cache because of its place, but the target of a link does not;
/// only sessions are removed.
#[test]
fn the_default_cache_of_an_earlier_version_is_marked() {
    let work = Work::with_jobs();
    let check = format!("check {DEMO} --set data.rows.synthetic.rows=600");
    for name in ["real/1-0/lock", "real/project/thesis.txt", "outputs/.cache/jobs/old.json"] {
        work.write(name, "keep");
    }
    let cache = work.path("outputs/.cache");
    fs::set_permissions(&cache, Permissions::from_mode(0o755)).unwrap();
    symlink("../../real", cache.join("tmp")).unwrap();
    work.cfaudit(5, &check).says(&["is a link to another place"]);
    assert_eq!(files(&work.path("real")).len(), 2);
    fs::remove_file(cache.join("tmp")).unwrap();
    let looked = work.cfaudit(0, "clean --dry-run").stdout;
    assert!(looked.starts_with("would remove 0 results"), "{looked}");
    assert_eq!((mode(&cache), fs::read_dir(&cache).unwrap().count()), (0o755, 1));
    work.cfaudit(0, &check);
    assert_eq!(mode(&cache), 0o700);
    assert!(cache.join("cfaudit-cache").is_file() && cache.join("jobs/old.json").is_file());

    fs::set_permissions(&cache, Permissions::from_mode(0o750)).unwrap();
    for args in ["clean", "clean --dry-run", &check] {
        work.cfaudit(5, args)
            .says(&["other accounts", "hint: close it by `chmod 700 outputs/.cache`"]);
    }
    assert_eq!(mode(&cache), 0o750);
}

/// Not even the time of a file or folder.
#[test]
fn a_dry_run_changes_nothing() {
    let work = Work::with_jobs();
    night(&work, 1, "");
    night(&work, 2, "");
    work.write("cache/tmp/1-0/lock", "1");
    let see = || {
        let time = |name: &str| fs::metadata(work.path(name)).unwrap().modified().unwrap();
        let times = ["cache", "cache/tmp", "cache/tmp/1-0", "cache/tmp/1-0/lock"].map(time);
        (files(&work.path("cache")), times)
    };
    let before = see();
    work.cfaudit(0, "clean --cache cache --dry-run");
    assert_eq!(see(), before);
    fs::create_dir(work.path("empty")).unwrap();
    let looked = work.cfaudit(0, "clean --cache empty --dry-run").stdout;
    assert!(looked.starts_with("would remove 0 results"), "{looked}");
    assert_eq!(fs::read_dir(work.path("empty")).unwrap().count(), 0);
}

/// Others read an output folder; a cache is closed to them.
#[test]
fn an_output_folder_is_no_cache() {
    let work = Work::with_jobs();
    let run = "run jobs/gate-demo.yaml --set data.rows.synthetic.rows=600 --gates report";
    work.cfaudit(0, &format!("{run} --out out --cache cache"));
    let before = files(&work.path("out"));
    let open = mode(&work.path("out"));
    for verb in [format!("{run} --out other"), "clean".to_owned()] {
        work.cfaudit(5, &format!("{verb} --cache out")).says(&[
            "cannot use as cache `out`",
            "this is an output folder",
            "hint: ",
        ]);
    }
    assert_same(&before, &files(&work.path("out")), "a folder that is no cache");
    assert_eq!(open, mode(&work.path("out")));
}

/// `explain` knows the common terms of the field, and a job that uses one gets the id.
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
        let stdout = Ran::of(explain.arg(word), 0).stdout;
        let id = known.split(' ').next().unwrap();
        let begins = format!("`{word}` is a common term for `{id}`\n\n{known}");
        assert!(stdout.starts_with(&begins), "{word}: {stdout}");
    }
    let job = work.read("jobs/demo.yaml");
    job.says(&["metric: di\n"]);
    work.write("jobs/demo.yaml", &job.replace("metric: di\n", "metric: disparate_impact\n"));
    work.cfaudit(2, "check jobs/demo.yaml --no-data").says(&["did you mean `di`?"]);
}
