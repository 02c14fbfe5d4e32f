"""Times two shipped jobs as they were when they were frozen here, cold: `job-adult.yaml` as a whole, `job-adult-recourse.yaml` with its stage.

    python3 bench/jobs.py --data-dir data [--threads 2] [--repeats 3] [--cfaudit target/debug/cfaudit] [--folder target/bench]
"""

import json
import shutil

import timing
import works

JOBS = ["adult", "adult-recourse"]


def main() -> None:
    args = timing.parser(__doc__).parse_args()
    folder = args.folder / "jobs"
    folder.mkdir(parents=True, exist_ok=True)
    timing.heading(args)
    timing.table("job | rows | threads | CPU s | wall s | peak MB | stages that take longest, ms")
    for job in JOBS:
        out, cache, runs = folder / job, folder / "cache", []
        for _ in range(args.repeats):
            for fresh in (out, cache):
                shutil.rmtree(fresh, ignore_errors=True)
            command = works.cold(args, f"job-{job}.yaml", out, cache, "--data-dir", str(args.data_dir), "--gates", "report", "--quiet")
            runs.append(timing.measured(command))
        stages = sorted(json.loads((out / "run.json").read_text())["stages"], key=lambda stage: -stage["ms"])
        rows = json.loads((out / "manifest.json").read_text())["rows"]["source"]
        timing.line(job, rows, args.threads, *timing.cells(runs), ", ".join(f"{stage['id']} {stage['ms']}" for stage in stages[:4]))


if __name__ == "__main__":
    main()
