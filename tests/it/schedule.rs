//! The recipes under `jobs/recipes/`: cron with its minimal environment, and Airflow itself where
//! `CFAUDIT_AIRFLOW` names it (`make airflow`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value as Json;

use crate::work::{Rows, Says, Work, root, sha256};

const RECIPES: &str = "jobs/recipes";

/// A folder of audits: a job whose rows and scores come by the day, and programs on a separate
/// path.
struct Audits {
    work: Work,
}

impl Audits {
    fn new() -> Self {
        let work = Work::new();
        for folder in ["bin", "jobs", "rows", "scores", "share"] {
            fs::create_dir(work.path(folder)).unwrap();
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cfaudit"), work.path("bin/cfaudit"))
            .unwrap();
        let audits = Audits { work };
        audits.program("alert-risk-team", "echo \"$@\" >> alerts");
        audits.work.write(
            "jobs/production.yaml",
            "cfaudit: 1\nname: credit\nabout: {version: \"${vars.model_version}\"}\n\
             vars: {asof: required, model_version: required}\n\
             data:\n  rows: {parquet: \"rows/${vars.asof}.parquet\", wait: true}\n  row_id: id\n  \
             label: none\n  sensitive:\n    sex: {groups: [f, m], reference: m}\n\
             counterfactuals: {flip: naive}\nmodels:\n  live:\n    scores:\n      factual: \
             {column: score}\n      counterfactual: {parquet: \"scores/${vars.asof}.parquet\", \
             column: score}\n\
             metrics: {families: [ccm], bootstrap: {samples: 200}}\n\
             gates:\n  drift: {metric: sr, model: live, counterfactual: flip, against: baseline, \
             rise_at_most: 0.05}\n",
        );
        audits
    }

    fn program(&self, name: &str, body: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.work.path(&format!("bin/{name}"));
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn rows(&self, day: &str) {
        let ids = 0..400_i64;
        let sex = |i: i64| if i % 2 == 0 { "f" } else { "m" };
        Rows::of(ids)
            .with("id", |i| i)
            .with("sex", sex)
            .with("score", |i| if i % 3 == 0 { 0.8 } else { 0.2 })
            .write(&self.work, &format!("rows/{day}.parquet"));
    }

    /// The scores of the other world, in which every `switches`-th person gets another decision.
    fn scores(&self, day: &str, switches: i64) {
        let ids = 0..400_i64;
        let score = |i: i64| if (i % 3 == 0) ^ (i % switches == 0) { 0.8 } else { 0.2 };
        Rows::of(ids)
            .with("row_id", |i| i)
            .with("to_group", |i| if i % 2 == 0 { "m" } else { "f" })
            .with("score", score)
            .write(&self.work, &format!("scores/{day}.part"));
        // Whole or not at all, as a platform should write.
        fs::rename(
            self.work.path(&format!("scores/{day}.part")),
            self.work.path(&format!("scores/{day}.parquet")),
        )
        .unwrap();
    }

    /// Audits a day and signs it off.
    fn approve(&self, day: &str) {
        self.rows(day);
        self.scores(day, 20);
        self.work.cfaudit(
            0,
            &format!(
                "run jobs/production.yaml --set asof={day} --set model_version=7.2 --out {day}"
            ),
        );
        std::os::unix::fs::symlink(day, self.work.path("approved")).unwrap();
    }

    fn read(&self, below: &str) -> String {
        fs::read_to_string(self.work.path(below)).unwrap_or_default()
    }
}

/// The line of the crontab as cron hands it to the shell, for a folder of audits elsewhere.
fn line_of_crontab(folder: &Path) -> String {
    let text = fs::read_to_string(root().join(RECIPES).join("credit.crontab")).unwrap();
    let line = text.lines().find(|line| line.starts_with(|c: char| c.is_ascii_digit())).unwrap();
    let command = line.splitn(6, char::is_whitespace).nth(5).unwrap();
    assert!(!command.replace("\\%", "").contains('%'), "cron would end the line at the first %");
    command.replace("\\%", "%").replace("/srv/audits/credit", folder.to_str().unwrap())
}

/// As cron does it: no terminal, no input, HOME as the working directory, and four variables.
fn as_cron(audits: &Audits) -> Output {
    let folder = audits.work.path("");
    let command = line_of_crontab(&folder);
    let path = format!("{}:/usr/bin:/bin", audits.work.path("bin").display());
    let mut shell = Command::new("setsid");
    shell.args(["-w", "/bin/sh", "-c", &command]).env_clear();
    for (name, value) in [("HOME", "/"), ("LOGNAME", "root"), ("SHELL", "/bin/sh"), ("PATH", &path)]
    {
        shell.env(name, value);
    }
    shell.current_dir("/").stdin(Stdio::null()).output().unwrap()
}

fn yesterday() -> String {
    let output = Command::new("date").args(["-d", "yesterday", "+%F"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_crontab_line_in_the_surroundings_of_cron() {
    if Command::new("setsid").arg("--version").output().is_err() || yesterday().is_empty() {
        crate::work::skip("setsid or GNU date is not here");
        return;
    }
    let audits = Audits::new();
    audits.approve("2026-11-01");
    let day = yesterday();
    // Rows are not there yet, and then scores are not: somebody hears of status 4.
    as_cron(&audits);
    assert_eq!(audits.read("alerts"), "4\n");
    assert!(!audits.work.path(&day).exists());
    audits.rows(&day);
    let silent = |output: &Output| {
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}")
    };
    as_cron(&audits);
    assert_eq!(audits.read("alerts"), "4\n4\n");
    // They are: a night without findings prints nothing, so that cron sends no mail.
    audits.scores(&day, 20);
    silent(&as_cron(&audits));
    assert_eq!(
        (
            audits.read("alerts").as_str(),
            audits.work.json(&format!("{day}/summary.json"))["verdict"].clone()
        ),
        ("4\n4\n", "pass".into())
    );
    assert!(audits.work.path(&format!("{day}/report.html")).exists());
    audits.read(&format!("{day}.log")).says(&["\"event\":\"run.end\""]);
    // Every fourth person switches: the gate speaks.
    audits.scores(&day, 4);
    let failed = as_cron(&audits);
    String::from_utf8_lossy(&failed.stdout).says(&["\"verdict\":\"fail\""]);
    assert_eq!(audits.read("alerts"), "4\n4\n1\n");
}

/// A throw-away Airflow whose tasks run in a working folder and find programs in its `bin`.
pub(crate) struct Airflow<'a> {
    work: &'a Work,
    program: PathBuf,
}

/// One run of the DAG.
struct DagRun {
    success: bool,
    log: String,
}

impl<'a> Airflow<'a> {
    /// With one recipe as its DAG; none where there is no Airflow here.
    pub(crate) fn new(work: &'a Work, recipe: &str) -> Option<Self> {
        let Some(program) = std::env::var_os("CFAUDIT_AIRFLOW").map(PathBuf::from) else {
            crate::work::skip("CFAUDIT_AIRFLOW names no airflow; `make airflow` does");
            return None;
        };
        let dags = work.path("airflow/dags");
        fs::create_dir_all(&dags).unwrap();
        fs::copy(root().join(RECIPES).join(recipe), dags.join(recipe)).unwrap();
        let airflow = Airflow { work, program };
        let output = airflow.command(&["db", "migrate"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(airflow)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let path = |below: &str| self.work.path(below).into_os_string();
        let programs = format!(
            "{}:{}:/usr/bin:/bin",
            self.work.path("bin").display(),
            self.program.parent().unwrap().display()
        );
        command.args(args).env_clear().stdin(Stdio::null()).current_dir(self.work.path(""));
        for (name, value) in [
            ("HOME", path("airflow")),
            ("PATH", programs.into()),
            ("LANG", "C.UTF-8".into()),
            ("AIRFLOW_HOME", path("airflow")),
            ("AIRFLOW__CORE__DAGS_FOLDER", path("airflow/dags")),
            ("AIRFLOW__CORE__LOAD_EXAMPLES", "False".into()),
            ("AUDITS", path("")),
            ("SHARE", path("share")),
            ("CFAUDIT_POKE_SECONDS", "1".into()),
        ] {
            command.env(name, value);
        }
        command
    }

    fn run(&self, day: &str) -> DagRun {
        let output = self.command(&["dags", "test", "credit_audit", day]).output().unwrap();
        let log = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        DagRun { success: output.status.success(), log }
    }
}

/// The recipe under the real Airflow: a pass, the same date again, a gate that fails once and turns
/// the run red, and scores that come late.
#[test]
#[ignore = "slow, `make test-slow` and `make airflow` run it: the real Airflow"]
fn the_recipe_under_airflow() {
    let audits = Audits::new();
    let work = &audits.work;
    let Some(airflow) = Airflow::new(work, "credit_dag.py") else { return };
    audits.approve("2026-11-01");

    audits.rows("2026-11-20");
    audits.scores("2026-11-20", 20);
    let passed = airflow.run("2026-11-20");
    assert!(passed.success, "{}", passed.log);
    passed.log.says(&["audit of 2026-11-20: pass, 0 gates failed"]);
    assert!(work.path("share/credit-2026-11-20/report.html").exists());
    let manifest = || sha256(&fs::read(work.path("2026-11-20/manifest.json")).unwrap());
    let before = manifest();

    let again = airflow.run("2026-11-20");
    assert!(
        again.success && again.log.contains("stages run") || again.log.contains("nothing to do"),
        "{}",
        again.log
    );
    assert_eq!(manifest(), before, "the same date again");

    audits.rows("2026-11-21");
    audits.scores("2026-11-21", 4);
    let failed = airflow.run("2026-11-21");
    assert!(!failed.success, "{}", failed.log);
    assert_eq!(
        failed.log.matches("gates.drift: fail: ").count(),
        1,
        "a verdict is judged once, never again: {}",
        failed.log
    );
    failed.log.says(&["audit of 2026-11-21: fail, 1 gates failed"]);
    assert!(!work.path("share/credit-2026-11-21").exists(), "a failed audit is published");

    audits.rows("2026-11-22");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The platform answers once it was asked, and then some.
            while !work.path("2026-11-22/to-score").exists() {
                std::thread::sleep(Duration::from_millis(100));
            }
            std::thread::sleep(Duration::from_secs(4));
            audits.scores("2026-11-22", 20);
        });
        let waited = airflow.run("2026-11-22");
        assert!(waited.success, "{}", waited.log);
        let waits = waited.log.matches("exit status 4").count();
        assert!(waits >= 2, "waited {waits} times: {}", waited.log);
    });
    let summary: Json = work.json("2026-11-22/summary.json");
    assert_eq!(summary["verdict"], "pass");
}
