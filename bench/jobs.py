"""Times shipped jobs as they were when they were frozen here, cold: `job-adult.yaml` as a whole, `job-adult-recourse.yaml` with its stage,
`job-compas-graph.yaml` with its graphs. Its last column sets what hidden causes cost next to scoring the same sets in every graph: at most 1.

    python3 bench/jobs.py --data-dir data [--threads 2] [--repeats 3] [--cfaudit target/debug/cfaudit] [--folder target/bench]
"""

import json
import shutil

import timing
import works

JOBS = ["adult", "adult-recourse", "compas-graph"]


def hidden_share(stages: list[dict]) -> float | None:
    """What the stages `hidden` took as a share of what scoring their sets in every graph took; none without any."""
    hidden = {unit: stage["ms"] for stage in stages for kind, _, unit in [stage["id"].partition("/")] if kind == "hidden"}
    scored = sum(stage["ms"] for stage in stages if stage["id"].startswith("worlds/") and stage["id"].partition("/")[2] in hidden)
    return sum(hidden.values()) / scored if hidden else None


def main() -> None:
    args = timing.parser(__doc__).parse_args()
    folder = args.folder / "jobs"
    folder.mkdir(parents=True, exist_ok=True)
    timing.heading(args)
    timing.table("job | rows | threads | CPU s | wall s | peak MB | stages that take longest, ms | hidden causes / scoring")
    for job in JOBS:
        out, cache, runs, shares = folder / job, folder / "cache", [], []
        for _ in range(args.repeats):
            for fresh in (out, cache):
                shutil.rmtree(fresh, ignore_errors=True)
            command = works.cold(args, f"job-{job}.yaml", out, cache, "--data-dir", str(args.data_dir), "--gates", "report", "--quiet")
            runs.append(timing.measured(command))
            stages = sorted(json.loads((out / "run.json").read_text())["stages"], key=lambda stage: -stage["ms"])
            shares.append(hidden_share(stages))
        rows = json.loads((out / "manifest.json").read_text())["rows"]["source"]
        longest = ", ".join(f"{stage['id']} {stage['ms']}" for stage in stages[:4])
        timing.line(job, rows, args.threads, *timing.cells(runs), longest, "" if None in shares else timing.span(shares))


if __name__ == "__main__":
    main()
