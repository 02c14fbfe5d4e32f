"""Ray: a job in shards, one task for each shard. `python shards_ray.py JOB SHARDS PLAN OUT`.

Needs ray, and cfaudit on the PATH of every node. PLAN is a folder that all nodes can read and write; the data have the same paths on all.
A worker that is killed, or lost with its node, is started again; one that ends with 2 or 3 ends the program.
"""

import subprocess
import sys

import ray

PASSES = ("survey", "learn", "count", "shift")


@ray.remote(num_cpus=1, max_retries=3, retry_exceptions=True)
def worker(plan, name, shard):
    words = ["cfaudit", "worker", plan, "--pass", name, "--shard", str(shard), "--threads", "1"]
    status = subprocess.run(words).returncode
    if status not in (0, 2, 3):
        raise RuntimeError(f"the worker of shard {shard} ended with {status}")
    return status


def main(job, shards, plan, out):
    subprocess.run(["cfaudit", "plan", job, "--shards", shards, "--to", plan], check=True)
    ray.init()
    for name in PASSES:
        if worst := max(ray.get([worker.remote(plan, name, shard) for shard in range(int(shards))])):
            return worst
        subprocess.run(["cfaudit", "merge", plan, "--pass", name], check=True)
    return subprocess.run(["cfaudit", "run", job, "--from", plan, "--out", out]).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
