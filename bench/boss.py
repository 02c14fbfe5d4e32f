"""Best order score search compared with causal-learn's, on seeded random linear Gaussian data: the same score, CPU seconds of the search alone.

Needs `pip install causal-learn`. Asked by hand:

    python bench/boss.py --cfaudit "cargo bench --locked --quiet --bench boss --" [--sizes 8,12,20,35,50,100]

causal-learn's penalty on the scale of log-likelihoods is half of ours. Its result is a class of graphs; one graph of it is scored by cfaudit
in addition to its own. Both searches climb, and from one start either may end lower than the other: cfaudit is asked with one start, which is
the default of jobs, and with `--starts`. Ends with status 1 where causal-learn's graph is better than that of several starts.
"""

import argparse
import contextlib
import io
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import time

import numpy as np
from causallearn.search.PermutationBased.BOSS import boss


def data(p, degree, n, seed):
    """Rows of a random graph: columns in a random order, standardised as they come."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(p)
    weights = np.zeros((p, p))
    share = degree / (p - 1)
    for i in range(p):
        for j in range(i):
            if rng.random() < share:
                weights[order[i], order[j]] = rng.choice([-1, 1]) * rng.uniform(0.3, 1.0)
    rows = np.zeros((n, p))
    for v in order:
        rows[:, v] = rows @ weights[v] + rng.normal(size=n)
    return rows


def elsewhere(rows, penalty, seed):
    """Edges of one graph of causal-learn's class, and the CPU seconds of its search."""
    random.seed(seed)
    np.random.seed(seed)
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        graph = boss(rows, "local_score_BIC_from_cov", {"lambda_value": penalty / 2}, verbose=False)
    seconds = time.process_time() - start
    return member(graph.graph), seconds


def member(graph):
    """Edges of one graph of a class, by Dor and Tarsi: again and again a variable that can be the last. (causal-learn's own takes minutes.)"""
    p = len(graph)
    into = (graph == -1) & (graph.T == 1)
    open_ = (graph == -1) & (graph.T == -1)
    left, edges = set(range(p)), []
    while left:
        for x in sorted(left):
            around = [y for y in left if into[y, x] or into[x, y] or open_[x, y]]
            loose = [y for y in around if open_[x, y]]
            joined = all(y == z or into[y, z] or into[z, y] or open_[y, z] for y in loose for z in around)
            if joined and not any(into[x, y] for y in around):
                edges += [(y, x) for y in around]
                left.remove(x)
                break
        else:
            raise ValueError("no graph has these edges")
    return edges


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cfaudit", required=True, help="the command that runs bench/boss.rs")
    parser.add_argument("--sizes", default="8,12,20,35,50,100")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--penalty", type=float, default=2.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--starts", type=int, default=10)
    args = parser.parse_args()
    worse = 0
    with tempfile.TemporaryDirectory() as folder:
        table, listed = pathlib.Path(folder, "table.csv"), pathlib.Path(folder, "edges.txt")
        for p in map(int, args.sizes.split(",")):
            for seed in range(args.seeds):
                rows = data(p, 6 if p >= 100 else 4, args.rows, seed)
                np.savetxt(table, rows, delimiter=",", fmt="%.17g")
                edges, seconds = elsewhere(rows, args.penalty, seed)
                listed.write_text("".join(f"{a} {b}\n" for a, b in edges))
                words = []
                for starts in sorted({1, args.starts}):
                    command = [*shlex.split(args.cfaudit), os.fspath(table), str(args.penalty), str(starts), os.fspath(listed)]
                    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
                    gap = found["score"] - found["other"]
                    below = gap < -1e-9 * abs(found["score"])
                    words.append(f"{starts} starts {found['seconds']:.4f} s, {found['edges']} edges, score {gap:+.2f} against causal-learn's")
                worse += below
                print(f"{p:4} variables, seed {seed}: causal-learn {seconds:.2f} s, {len(edges)} edges; " + "; ".join(words), flush=True)
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
