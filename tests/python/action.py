"""`action.yml` and `.pre-commit-hooks.yaml`: the schema of GitHub, and their steps as a runner runs them. Run by tests/it/python_package.rs with the folder of the tree as argument and the program on PATH."""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile

import yaml

TREE = sys.argv[1]
JOB = """cfaudit: 1
name: loans
data:
  rows: {csv: {path: people.csv}}
  label: {column: repaid, positive: [1], favourable: positive}
  sensitive:
    sex: {groups: [m, f], reference: m}
  features: {continuous: [age]}
models:
  scored: {scores: {factual: {column: score}}}
gates:
  gap: {metric: demp_difference, model: scored, between: worst_case, at_most: 0.05}
  small: {metric: demp_difference, model: scored, between: worst_case, at_most: 0.01, level: warn}
  wide: {metric: demp_difference, model: scored, between: worst_case, at_most: 0.99}
"""
with open("people.csv", "w") as file:
    file.write("sex,age,repaid,score\n")
    for i in range(400):
        score = 0.2 + i * 7 % 50 / 100 + 0.2 * (i % 2)
        file.write(f"{'fm'[i % 2]},{20 + i * 7 % 50},{int(i * 7 % 50 > 20)},{score:.2f}\n")
os.mkdir("jobs")
for name, text in {
    "loans.yaml": JOB,
    "bad job, 1.yaml": JOB.replace("continuous", "continous"),
    "absent.yaml": JOB.replace("column: score", "column: wage"),
    "part.yaml": "data:\n  row_id: id\n",
}.items():
    with open(os.path.join("jobs", name), "w") as file:
        file.write(text)


def wheel():
    """A wheel of the package of this tree, whose program is the one on the PATH."""
    sources = os.path.join(TREE, "python", "cfaudit")
    with open(os.path.join(TREE, "pyproject.toml")) as file:
        plugin = re.search(r"\[project\.entry-points\.pytest11\]\n(.*)\n", file.read())[1]
    about = "cfaudit-0.0.0.dist-info"
    files = {
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: cfaudit\nVersion: 0.0.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": "[pytest11]\n" + plugin.replace('"', "") + "\n",
        "cfaudit-0.0.0.data/scripts/cfaudit": f'#!/bin/sh\nexec {shutil.which("cfaudit")} "$@"\n',
    }
    for name in sorted(os.listdir(sources)):
        if name.endswith((".py", ".typed")):
            with open(os.path.join(sources, name)) as file:
                files[f"cfaudit/{name}"] = file.read()
    files[f"{about}/RECORD"] = "".join(f"{name},,\n" for name in files)
    with zipfile.ZipFile("cfaudit-0.0.0-py3-none-any.whl", "w") as out:
        for name, text in files.items():
            out.writestr(name, text)
    return os.path.abspath("cfaudit-0.0.0-py3-none-any.whl")


# Every file is read by the oldest Python that the wheel names.
with open(os.path.join(TREE, "pyproject.toml")) as file:
    oldest = int(re.search(r'requires-python = ">=3\.(\d+)"', file.read())[1])
for name in os.listdir(os.path.join(TREE, "python", "cfaudit")):
    if name.endswith(".py"):
        with open(os.path.join(TREE, "python", "cfaudit", name)) as file:
            ast.parse(file.read(), feature_version=(3, oldest))

# The schema that check-jsonschema brings along.
schema = ["-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions"]
subprocess.run([sys.executable, *schema, os.path.join(TREE, "action.yml")], check=True)
with open(os.path.join(TREE, "action.yml")) as file:
    action = yaml.safe_load(file)

for name in ["temp", "summary", "output"]:
    shutil.rmtree(name, ignore_errors=True)
os.mkdir("temp")
outside = {
    name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
}


def runner(steps=(0, 1), **inputs):
    """Runs steps as a runner does: status, what is printed, summary, and outputs of the audit."""
    values = {name: about.get("default") for name, about in action["inputs"].items()}
    values.update(inputs)
    for name in ("summary", "output"):
        open(name, "w").close()
    for step in (action["runs"]["steps"][i] for i in steps):
        assert step["shell"] == "bash"
        filled = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: values[found[1]], value)
            for name, value in step["env"].items()
        }
        assert "${{" not in step["run"] + "".join(filled.values()), "inputs reach the shell as variables"
        own = {"RUNNER_TEMP": os.path.abspath("temp"), "GITHUB_OUTPUT": "output"}
        own["GITHUB_STEP_SUMMARY"] = "summary"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env={**outside, **own, **filled},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode != 0:
            break
    summary, outputs = open("summary").read(), open("output").read()
    return done.returncode, done.stdout, summary, dict(line.split("=", 1) for line in outputs.splitlines())


# A gate fails: the status, its line, the brief and the page.
status, said, summary, outputs = runner(
    job="jobs/loans.yaml", wheel=wheel(), python=sys.executable, arguments="--threads 1 --out kept"
)
assert status == 1, said
commands = [line for line in said.splitlines() if line.startswith("::")]
lines = JOB.splitlines()
at = {name: 1 + next(i for i, line in enumerate(lines) if f" {name}:" in line) for name in ("gap", "small")}
assert len(commands) == 2, said
assert commands[0].startswith(f"::error file=jobs/loans.yaml,line={at['gap']},title=gate%3A fail::"), said
assert commands[1].startswith(f"::warning file=jobs/loans.yaml,line={at['small']},"), said
assert summary.startswith("# loans\n\n**Fail** ") and "| | People |" in summary, summary
assert outputs == {"verdict": "fail", "folder": "kept", "page": "kept/report.html"}, outputs
with open("kept/manifest.json", "rb") as file:
    import hashlib

    assert hashlib.sha256(file.read()).hexdigest() in summary
assert summary.count("loans") and json.load(open("kept/summary.json"))["exit"] == 1

# What is wrong with a job is shown at its line, also where the name of the file needs escapes.
status, said, summary, outputs = runner((1,), job="jobs/bad job, 1.yaml")
assert status == 2 and not outputs, said
bad = 1 + next(i for i, line in enumerate(lines) if "continuous" in line)
assert f"::error file=jobs/bad job%2C 1.yaml,line={bad},title=unknown-key::error[unknown-key]" in said
assert "%0A" in said and "unknown-key" in summary and "status 2" in summary, summary
status, said, summary, _ = runner((1,), job="jobs/absent.yaml")
assert status == 3 and "title=missing-column::" in said and "`wage`" in summary, said
status, said, summary, _ = runner((1,), job="jobs/none.yaml")
assert status == 2 and "none.yaml" in summary, (status, summary)

# The artefact: the page that the outputs name, and no rows of people.
last = action["runs"]["steps"][2]
assert last["uses"].startswith("actions/upload-artifact@v") and "always()" in last["if"]
kept = last["with"]["path"].replace("${{ steps.audit.outputs.folder }}", "kept")
assert "kept/*.html" in kept.split() and os.path.isfile("kept/report.html")
assert not any(word in kept for word in ("rows", "to-score", "parquet", "**"))

# The wheel tells pytest of its plugin.
told = "import importlib.metadata as m; print([e.value for e in m.distribution('cfaudit').entry_points])"
found = subprocess.run(["temp/cfaudit/bin/python", "-c", told], capture_output=True, encoding="utf-8", check=True)
assert found.stdout.strip() == "['cfaudit.pytest']", found.stdout

# The hook for pre-commit, started as pre-commit starts it: words of the entry, then the files.
with open(os.path.join(TREE, ".pre-commit-hooks.yaml")) as file:
    hook = yaml.safe_load(file)[0]
assert hook["language"] == "system" and {"id", "name", "entry", "files"} <= set(hook)
files = sorted(os.path.join("jobs", name) for name in os.listdir("jobs"))
assert all(re.search(hook["files"], name) for name in files)


def hooked(*names):
    command = [*shlex.split(hook["entry"]), *names]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    return done.returncode, done.stdout + done.stderr


status, said = hooked(*files)
assert status == 2 and said.count("error[") == 1 and f"1.yaml:{bad}:" in said, said
status, said = hooked(*[name for name in files if "bad" not in name])
assert status == 0 and "error" not in said, said
