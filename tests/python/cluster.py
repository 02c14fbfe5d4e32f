"""Runs `job.yaml` in 1, 3 and 7 shards on Ray or Spark, and on Spark `stream.yaml` over the same rows as a frame.

`python cluster.py ray|spark`, in the folder of the jobs. Ends with 9 where the library is not here.
"""

import importlib.util
import os
import sys

which = sys.argv[1]
SHARDS = (1, 3, 7)
if importlib.util.find_spec({"ray": "ray", "spark": "pyspark"}[which]) is None:
    print(f"without {which}")
    sys.exit(9)

if which == "ray":
    import ray

    import cfaudit.ray

    ray.init(num_cpus=2, include_dashboard=False)
    for n in SHARDS:
        audit = cfaudit.ray.audit("job.yaml", f"plan-ray-{n}", n, f"out-ray-{n}")
else:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    import cfaudit.spark

    # Tasks that fail are started again, which plain `local[2]` never does.
    spark = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").getOrCreate()
    for n in SHARDS:
        audit = cfaudit.spark.audit(spark, "job.yaml", f"plan-spark-{n}", n, f"out-spark-{n}")
    # In no order, and in more partitions than there will be parts.
    rows = spark.read.parquet("rows").orderBy("income", "age").repartition(7)
    streamed = cfaudit.spark.audit(
        spark, "stream.yaml", "plan-frame", 3, "out-frame", rows=rows, row_id="id"
    )
    assert streamed.summary["verdict"] == audit.summary["verdict"]
    # What is wrong with the rows is said as on the command line, and not tried again.
    doubled = rows.union(rows.limit(1))
    try:
        cfaudit.spark.audit(
            spark, "stream.yaml", "plan-bad", 3, "out-bad", rows=doubled, row_id="id"
        )
    except cfaudit.DataError as error:
        assert "unsorted-row-ids" in str(error), error
    else:
        raise AssertionError("an id that occurs twice was not noticed")
print(audit.verdict)
