//! The recipes for shards under `jobs/recipes/`, unchanged: each runs a job under the scheduler of
//! its workers, where that is installed, and gives the bytes of a run.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use crate::shards::{is_without_lightgbm, with_job};
use crate::work::{Files, Ran, Says, Work, assert_same, results, root};

/// A job that runs in shards, with `cfaudit` as a program of its own folder `bin`, and what a run
/// on one machine makes of it.
struct RecipeWork {
    work: Work,
    expected: Files,
}

impl RecipeWork {
    fn new() -> Option<Self> {
        if is_without_lightgbm() {
            return None;
        }
        let work = with_job("naive");
        fs::create_dir(work.path("bin")).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cfaudit"), work.path("bin/cfaudit"))
            .unwrap();
        work.run(0, "job.yaml", "");
        let expected = work.results();
        Some(RecipeWork { work, expected })
    }

    /// A program in the folder of the job that finds `cfaudit` by its name; Spark starts it too.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let bin = self.work.path("bin").display().to_string();
        let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
        command.current_dir(self.work.path("")).env("PATH", path);
        command.env("PYSPARK_PYTHON", program);
        command
    }

    /// Runs the recipe: job, number of shards, plan and output folder are its arguments.
    #[track_caller]
    fn run(&self, program: &str, recipe: &str, (shards, out): (usize, &str)) -> Ran {
        let mut command = self.command(program);
        let (shards, plan) = (shards.to_string(), format!("plan-{out}"));
        command.arg(recipe_file(recipe)).args(["job.yaml", &shards, &plan, out]);
        let ran = Ran::of(&mut command, 0);
        assert_same(&self.expected, &results(&self.work.path(out)), recipe);
        ran
    }
}

fn recipe_file(name: &str) -> std::path::PathBuf {
    root().join("jobs/recipes").join(name)
}

/// Started a second time, it finds everything done.
#[test]
fn with_xargs() {
    let Some(recipe) = RecipeWork::new() else { return };
    recipe.run("sh", "shards.sh", (2, "first"));
    fs::rename(recipe.work.path("plan-first"), recipe.work.path("plan-second")).unwrap();
    let again = recipe.run("sh", "shards.sh", (2, "second"));
    assert_eq!(again.stdout.matches("already there").count(), 8, "{}", again.stdout);
    again.stdout.lacks(&["written"]);
}

/// What `sbatch` does of what the recipe asks for, one task after the other: a job is an array or a
/// single task, prints its number, and depends on jobs that were submitted before.
const SBATCH: &str = r#"#!/bin/sh
set -eu
array= after=
while [ $# -gt 0 ]; do
    case $1 in
    --parsable) ;;
    --dependency) after=${2#afterok:}; shift ;;
    --array) array=$2; shift ;;
    --wrap) wrap=$2; shift ;;
    --job-name | --cpus-per-task | --mem | --kill-on-invalid-dep) shift ;;
    *) echo "sbatch: unknown $1" >&2; exit 1 ;;
    esac
    shift
done
[ -z "$after" ] || [ -e "ended/$after" ] || { echo "sbatch: no job $after" >&2; exit 1; }
mkdir -p ended
number=$(($(ls ended | wc -l) + 1))
export SLURM_CPUS_PER_TASK=2
if [ -n "$array" ]; then
    for SLURM_ARRAY_TASK_ID in $(seq "${array%-*}" "${array#*-}"); do
        export SLURM_ARRAY_TASK_ID
        sh -c "$wrap" >&2
    done
else
    sh -c "$wrap" >&2
fi
touch "ended/$number"
echo "$number"
"#;

#[test]
fn with_slurm() {
    use std::os::unix::fs::PermissionsExt;

    let Some(recipe) = RecipeWork::new() else { return };
    let sbatch = recipe.work.path("bin/sbatch");
    fs::write(&sbatch, SBATCH).unwrap();
    fs::set_permissions(&sbatch, fs::Permissions::from_mode(0o755)).unwrap();
    recipe.run("bash", "shards.slurm", (3, "out-slurm"));
    // Four passes, each with its merge, and the run.
    assert_eq!(fs::read_dir(recipe.work.path("ended")).unwrap().count(), 9);
}

/// The container of the manifest does its shards; the schema of Kubernetes is that of
/// `kubernetes-validate`, where Python has it.
#[test]
fn with_kubernetes() {
    let path = recipe_file("shards.k8s.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let job: Json = serde_yaml::from_str(&text).unwrap();
    let spec = &job["spec"];
    assert_eq!((&job["kind"], &spec["completionMode"]), (&"Job".into(), &"Indexed".into()));
    let rule = &spec["podFailurePolicy"]["rules"][0];
    assert_eq!(rule["action"], "FailIndex");
    let container = &spec["template"]["spec"]["containers"][0];
    assert_eq!(rule["onExitCodes"]["containerName"], container["name"]);
    assert_eq!(rule["onExitCodes"]["values"], serde_json::json!([2, 3]));
    if let Some(python) = crate::python::interpreter("kubernetes_validate") {
        let folder = Work::new();
        let altered = text.replace("completionMode:", "completionModes:");
        folder.write("altered.yaml", &altered);
        for (file, status) in [(path, 0), (folder.path("altered.yaml"), 1)] {
            let mut validate = Command::new(&python);
            validate.args(["-m", "kubernetes_validate", "--strict", "-k", "1.33"]).arg(file);
            Ran::of(&mut validate, status);
        }
    }
    let Some(recipe) = RecipeWork::new() else { return };
    let (shards, args) = (spec["completions"].as_u64().unwrap(), container["args"][0].as_str());
    let plan = recipe.work.path("plan").display().to_string();
    let plan_words = format!("plan job.yaml --shards {shards} --to plan --cache off");
    recipe.work.cfaudit(0, &plan_words);
    for pass in crate::shards::PASSES {
        let text = args.unwrap().replace("/shared/plan", &plan).replace("survey", pass);
        for shard in 0..shards {
            let mut pod = recipe.command(container["command"][0].as_str().unwrap());
            pod.args([container["command"][1].as_str().unwrap(), &text]);
            Ran::of(pod.env("JOB_COMPLETION_INDEX", shard.to_string()), 0);
        }
        recipe.work.cfaudit(0, &format!("merge plan --pass {pass}"));
    }
    recipe.work.cfaudit(0, "run job.yaml --from plan --out out-pods --cache off");
    assert_same(&recipe.expected, &results(&recipe.work.path("out-pods")), "pods");
}

#[test]
#[ignore = "slow, `make test-slow` runs it: Spark and Ray, where CFAUDIT_PYTHON can import them"]
fn on_clusters() {
    let Some(python) = crate::python::interpreter("pyarrow, pandas, pyspark, ray") else { return };
    let Some(recipe) = RecipeWork::new() else { return };
    recipe.run(&python, "shards_ray.py", (3, "out-ray"));
    recipe.run(&python, "shards_spark.py", (3, "out-spark"));
}

/// Every recipe names the passes that a plan has, in their order.
#[test]
fn recipes_name_all_passes() {
    for name in ["shards.sh", "shards.slurm", "shards_dag.py", "shards_ray.py", "shards_spark.py"] {
        let text = fs::read_to_string(recipe_file(name)).unwrap().replace(['"', ','], "");
        text.says(&["survey learn count shift"]);
    }
}

/// The recipe under the real Airflow.
#[test]
#[ignore = "slow, `make test-slow` and `make airflow` run it: the real Airflow"]
fn with_airflow() {
    let Some(recipe) = RecipeWork::new() else { return };
    let Some(airflow) = crate::schedule::Airflow::new(&recipe.work, "shards_dag.py") else {
        return;
    };
    let day = "2026-11-20";
    let mut command = airflow.command(&["dags", "test", "audit_in_shards", day]);
    command.env("CFAUDIT_JOB", "job.yaml").env("CFAUDIT_SHARDS", "3");
    command.env("CFAUDIT_PLANS", recipe.work.path("plans"));
    let ran = Ran::of(&mut command, 0);
    assert!(Path::new(&recipe.work.path(day)).exists(), "{}", ran.stderr);
    assert_same(&recipe.expected, &results(&recipe.work.path(day)), "Airflow");
}
