//! `judge.html`, which judges an archive again with its own code in a browser: it agrees with the
//! program and finds every alteration.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::proof::audited;
use crate::work::{Ran, Says, Work, root, shared, skip};

/// Runs a script of `tests/judge` on these archives; none where there is no Node.js.
fn node(work: &Work, script: &str, archives: &[String]) -> Option<Ran> {
    let has_node = Command::new("node").arg("--version").stdout(Stdio::null()).status();
    if !has_node.is_ok_and(|status| status.success()) {
        skip("there is no node");
        return None;
    }
    let paths = archives.iter().map(|archive| work.path(archive));
    let mut command = Command::new("node");
    command.arg(root().join("tests/judge").join(script)).args(paths);
    Some(Ran::of(&mut command, 0))
}

/// Runs a job and packs it as `NAME.zip`.
fn packed(work: &Work, job: &str, name: &str) -> String {
    work.cfaudit(0, &format!("run {job} --out {name} --cache cache --gates report"));
    work.cfaudit(0, &format!("pack {name} --file {name}.zip"));
    format!("{name}.zip")
}

/// Weights, gaps and ratios, Holm's method, too few people, and what is not judged.
#[test]
fn the_page_judges_as_the_program_does() {
    let work = audited();
    work.cfaudit(0, "pack out --file out.zip");
    let job = root().join("tests/jobs/judge.yaml");
    let archives = ["out.zip".to_owned(), packed(&work, job.to_str().unwrap(), "judge")];
    let Some(ran) = node(&work, "agree.mjs", &archives) else { return };
    assert!(ran.stdout.ends_with("judged 28, not judged 2, wrong 0, other problems 0\n"));
    for reason in ["cmcc (interval score)", "demp_difference (interval largest)"] {
        ran.stdout.says(&[&format!("1 x {reason} is not computed here")]);
    }
}

#[test]
#[ignore = "slow, `make test-slow` runs it: eleven shipped jobs"]
fn the_page_agrees_on_shipped_jobs() {
    let work = Work::with_jobs();
    let Some(data) = shared("data/compas") else { return };
    std::os::unix::fs::symlink(data.parent().unwrap(), work.path("data")).unwrap();
    let jobs = [
        "demo",
        "gate-demo",
        "premiums",
        "options",
        "options-graph",
        "synthetic-graph",
        "compas",
        "compas-augment",
        "german",
        "heart",
        "law",
    ];
    let archives = jobs.map(|name| packed(&work, &format!("jobs/{name}.yaml"), name));
    node(&work, "agree.mjs", &archives);
}

#[test]
#[ignore = "slow, `make test-slow` runs it: 120 altered archives in Chromium"]
fn a_browser_finds_every_alteration_of_an_archive() {
    if !Path::new("/usr/bin/chromium").exists() {
        return skip("there is no /usr/bin/chromium");
    }
    let work = Work::with_jobs();
    let mut archives: Vec<String> =
        ["demo", "gate-demo"].map(|name| packed(&work, &format!("jobs/{name}.yaml"), name)).into();
    archives.push(packed(&work, root().join("tests/jobs/judge.yaml").to_str().unwrap(), "judge"));
    let Some(ran) = node(&work, "browser.mjs", &archives) else { return };
    ran.stdout.says(&["60 of 60 alterations", "60 of 60 bytes", "network reached 0 times"]);
}
