"""A run inside of a GitHub workflow: `python -m cfaudit.github JOB [ARGUMENTS OF cfaudit run]`.

The log of the run is that of the program. After it the brief is appended to the summary of the
workflow as Markdown, errors and gates that do not pass are shown at their lines of the job, and the
outputs `verdict`, `folder` and `page` are set. The status is that of the run. `action.yml` calls it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from cfaudit._audit import Audit
from cfaudit._program import events_of, program

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional


def _escaped(text: str, more: str = "") -> str:
    """A text inside of a workflow command."""
    for sign in "%\r\n" + more:
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text


def annotation(level: str, text: str, file: str, line: Optional[int], title: str) -> str:
    """A message at a line of a file, as a workflow command: `level` is error or warning."""
    names = {"file": file, "line": line, "title": title}
    named = [f"{name}={_escaped(str(of), ':,')}" for name, of in names.items() if of]
    return f"::{level} {','.join(named)}::{_escaped(text)}"


def _failed(audit: Audit) -> set[str]:
    """The gates that decide the exit status, as the export for CI servers has them."""
    import xml.etree.ElementTree

    cases = xml.etree.ElementTree.fromstring(audit.export("junit")).iter("testcase")
    return {str(case.get("name")) for case in cases if case.find("failure") is not None}


def messages(job: str, events: list[dict[str, Any]], audit: Optional[Audit]) -> list[str]:
    """The errors of a run, and the gates that do not pass, at their lines of the job."""
    failed = _failed(audit) if audit else set()
    found = []
    for event in events:
        text, code = str(event["text"]), str(event.get("code", ""))
        if event.get("event") == "problem":
            level = "error" if text.startswith("error[") else "warning"
            found.append(annotation(level, text, str(event.get("path") or job), event.get("line"), code))
        elif event.get("event") == "gate.verdict" and code != "pass":
            level = "error" if str(event["path"]).partition(".")[2] in failed else "warning"
            found.append(annotation(level, text, job, event.get("line"), f"gate: {code}"))
    return found


def summary(job: str, status: int, events: list[dict[str, Any]], audit: Optional[Audit]) -> str:
    """What the summary of the workflow says: the brief, or why there is none."""
    if audit is None:
        errors = [str(event["text"]) for event in events if event.get("event") == "problem"]
        said = "\n".join(errors or [str(event["text"]) for event in events[-1:]])
        return f"# {job}: no result (status {status})\n\n~~~text\n{said}\n~~~\n"
    return f"{audit.markdown()}\nFingerprint of the audit: `{audit.fingerprint}`\n"


def _append(variable: str, text: str) -> None:
    """Appends to the file that a variable of the workflow names, if there is one."""
    path = os.environ.get(variable)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)


def main(arguments: list[str]) -> int:
    """Runs a job; the arguments are those of `cfaudit run`, the job first."""
    import json

    if not arguments or arguments[0].startswith("-"):
        print("usage: python -m cfaudit.github JOB [ARGUMENTS OF cfaudit run]", file=sys.stderr)
        return 2
    job = arguments[0]
    with tempfile.TemporaryDirectory() as folder:
        log, line = os.path.join(folder, "log"), os.path.join(folder, "summary")
        command = [program(), "run", *arguments, "--log-file", log, "--summary-file", line]
        status = subprocess.run(command, check=False).returncode
        events, audit = [], None
        if os.path.isfile(log):
            with open(log, encoding="utf-8") as file:
                events = events_of(file.read())
        if os.path.isfile(line):
            with open(line, encoding="utf-8") as file:
                audit = Audit(json.load(file)["out"])
    print("\n".join(messages(job, events, audit)), flush=True)
    _append("GITHUB_STEP_SUMMARY", summary(job, status, events, audit))
    if audit:
        page = os.path.join(audit.folder, "report.html")
        _append(
            "GITHUB_OUTPUT", f"verdict={audit.verdict}\nfolder={audit.folder}\npage={page}\n"
        )
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
