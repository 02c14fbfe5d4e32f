"""Airflow 3: a job in shards, one mapped task for each shard of a pass.

Needs apache-airflow-providers-standard and cfaudit on the PATH of the workers. What varies comes from the environment: CFAUDIT_JOB (the job
file), CFAUDIT_SHARDS (their number; Airflow maps at most 1,024 tasks unless `max_map_length` says more), CFAUDIT_PLANS (a folder that all
workers can read and write; each day gets a plan there), AUDITS (folder of the audits).

A worker that ends with 2 or 3 fails for good: another attempt ends the same way. All other failures are tried again.
"""

import os
import subprocess
from datetime import datetime, timedelta

from airflow.exceptions import AirflowFailException
from airflow.sdk import DAG, get_current_context, task

JOB = os.environ.get("CFAUDIT_JOB", "jobs/live.yaml")
SHARDS = int(os.environ.get("CFAUDIT_SHARDS", "40"))
PLANS = os.environ.get("CFAUDIT_PLANS", "/srv/plans")
AUDITS = os.environ.get("AUDITS", "/srv/audits")


def cfaudit(*words):
    status = subprocess.run(["cfaudit", *words], check=False).returncode
    if status in (2, 3):
        raise AirflowFailException(f"cfaudit ended with {status}")
    if status:
        raise RuntimeError(f"cfaudit ended with {status}")


def plan_folder():
    return f"{PLANS}/{get_current_context()['ds']}"


with DAG(
    dag_id="audit_in_shards",
    schedule="15 5 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=2)},
) as dag:

    @task
    def plan():
        cfaudit("plan", JOB, "--shards", str(SHARDS), "--to", plan_folder())

    @task
    def worker(name, shard):
        cfaudit("worker", plan_folder(), "--pass", name, "--shard", str(shard))

    @task
    def merge(name):
        cfaudit("merge", plan_folder(), "--pass", name)

    @task(retries=0)
    def run():
        cfaudit("run", JOB, "--from", plan_folder(), "--out", f"{AUDITS}/{get_current_context()['ds']}")

    before = plan()
    for name in ("survey", "learn", "count", "shift"):
        workers = worker.override(task_id=f"worker_{name}").partial(name=name).expand(shard=list(range(SHARDS)))
        merged = merge.override(task_id=f"merge_{name}")(name)
        before >> workers >> merged
        before = merged
    before >> run()
