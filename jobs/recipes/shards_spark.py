"""Spark: a job in shards, one task for each shard. `spark-submit shards_spark.py JOB SHARDS PLAN OUT`.

Spark schedules and retries the tasks but passes no rows: cfaudit reads the Parquet files itself. Needs cfaudit on the PATH of
driver and executors, and pyarrow and pandas there (mapInArrow asks for both). PLAN is a folder that all can read and write; the data have the
same paths on all.
"""

import subprocess
import sys

from pyspark.sql import SparkSession

PASSES = ("survey", "learn", "count", "shift")


def tasks_of(plan, name):
    """The tasks of one pass, a row of `spark.range` each."""

    def run(batches):
        import pyarrow

        for batch in batches:
            shards = batch.column(0).to_pylist()
            for shard in shards:
                words = ["cfaudit", "worker", plan, "--pass", name, "--shard", str(shard), "--threads", "1"]
                subprocess.run(words, check=True)
            yield pyarrow.RecordBatch.from_pydict({"shard": pyarrow.array(shards, pyarrow.int64())})

    return run


def main(job, shards, plan, out):
    subprocess.run(["cfaudit", "plan", job, "--shards", shards, "--to", plan], check=True)
    spark = SparkSession.builder.appName("cfaudit").getOrCreate()
    for name in PASSES:
        numbers = spark.range(int(shards)).repartition(int(shards))
        numbers.mapInArrow(tasks_of(plan, name), "shard long").count()
        subprocess.run(["cfaudit", "merge", plan, "--pass", name], check=True)
    return subprocess.run(["cfaudit", "run", job, "--from", plan, "--out", out]).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
