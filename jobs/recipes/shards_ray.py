"""Ray: a job in shards, one task for each shard. `python shards_ray.py JOB SHARDS PLAN OUT`.

Needs ray, and cfaudit on the PATH of every node. PLAN is a folder that all nodes can read and write; the data have the same paths on all.
A worker that is lost with its node is started again elsewhere; one that ends with 2 or 3 ends the program.
"""

import subprocess
import sys

import ray

PASSES = ("survey", "learn", "count", "shift")


@ray.remote(num_cpus=1, max_retries=3)
def worker(plan, name, shard):
    words = ["cfaudit", "worker", plan, "--pass", name, "--shard", str(shard), "--threads", "1"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def main(job, shards, plan, out):
    subprocess.run(["cfaudit", "plan", job, "--shards", shards, "--to", plan], check=True)
    ray.init()
    for name in PASSES:
        ray.get([worker.remote(plan, name, shard) for shard in range(int(shards))])
        subprocess.run(["cfaudit", "merge", plan, "--pass", name], check=True)
    return subprocess.run(["cfaudit", "run", job, "--from", plan, "--out", out]).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
