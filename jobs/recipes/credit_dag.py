"""Airflow 3: audit the decisions of a day once they and their scores are there, judge them against the approved version, notify and publish.

Needs apache-airflow-providers-standard and cfaudit on the PATH of the worker. What varies comes from the environment of the worker:
AUDITS (folder of the audits), SHARE (where pages go), CFAUDIT_JOB (the job file), CFAUDIT_POKE_SECONDS (how often to look for rows and scores).

- `audit` is a sensor: exit status 4 means that the rows (`wait: true`) or the scores are not there yet, so it looks again later; any other status but 0 fails it.
  A job that scores by itself can be a BashOperator instead.
- `gate` is a separate task without retries: a verdict is not an error, and a retry gives the same verdict. Its baseline `approved` is set by a
  person at sign-off; a baseline that is updated every day hides slow drift.
- `notify` always runs and reads summary.json, because a failed task passes nothing on.
- `publish` runs in parallel, because Airflow judges a run by its last tasks: with `notify` alone a failed gate would count as a success.
"""

import json
import os
from datetime import datetime, timedelta
from pathlib import Path

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.sensors.bash import BashSensor
from airflow.sdk import DAG, get_current_context, task

JOB = os.environ.get("CFAUDIT_JOB", "jobs/production.yaml")
AUDITS = os.environ.get("AUDITS", "/srv/audits/credit")
SHARE = os.environ.get("SHARE", "/srv/share")

with DAG(
    dag_id="credit_audit",
    schedule="15 5 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=10)},
) as dag:
    audit = BashSensor(
        task_id="audit",
        retry_exit_code=4,
        poke_interval=float(os.environ.get("CFAUDIT_POKE_SECONDS", "900")),
        timeout=12 * 3600,
        mode="reschedule",
        bash_command=f"cd {AUDITS} && cfaudit run {JOB} --set asof={{{{ ds }}}} --set model_version=7.3 --gates report --out {{{{ ds }}}}",
    )
    gate = BashOperator(
        task_id="gate",
        retries=0,
        append_env=True,
        output_processor=json.loads,
        bash_command=f"cd {AUDITS} && cfaudit gate {{{{ ds }}}} --baseline approved",
    )

    @task(trigger_rule="all_done")
    def notify():
        """Replace the last line by a call of your mail or chat."""
        day = get_current_context()["ds"]
        summary = json.loads((Path(AUDITS) / day / "summary.json").read_text())
        print(f"audit of {day}: {summary['verdict']}, {summary['gates']['fail']} gates failed")

    publish = BashOperator(
        task_id="publish",
        append_env=True,
        # The page links to annex.html next to it.
        bash_command=f"mkdir -p {SHARE}/credit-{{{{ ds }}}} && cp {AUDITS}/{{{{ ds }}}}/*.html {SHARE}/credit-{{{{ ds }}}}/",
    )

    audit >> gate >> [notify(), publish]
