"""The program `cfaudit`: where it is, how it is started, and what its exit statuses mean."""

from __future__ import annotations

import os
import sys

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Union

    PathLike = Union[str, "os.PathLike[str]"]


class CfauditError(Exception):
    """The program ended with a status that is no result; the text is what it said."""

    #: The exit status.
    status: int
    #: The code of the first error, such as `unknown-group`, which `explain` describes; empty where
    #: the text has none.
    code: str

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.code = text.partition("error[")[2].partition("]")[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, str(self))


class JobError(CfauditError):
    """Status 2: the job or an argument is wrong."""


class DataError(CfauditError):
    """Status 3: data, scores or a model are wrong."""


class WaitingError(CfauditError):
    """Status 4: the run waits for rows that are being written, or for scores."""


class OperatorError(CfauditError):
    """Status 5: disk, memory, permissions, or a folder that is in use, damaged or of another job."""


_ERRORS: dict[int, type[CfauditError]] = {
    2: JobError,
    3: DataError,
    4: WaitingError,
    5: OperatorError,
}


def error_of(status: int, text: str) -> CfauditError:
    """The error of an exit status."""
    return _ERRORS.get(status, CfauditError)(status, text)


def program() -> str:
    """The path of the program: next to this interpreter, where pip puts it, else on the PATH.

    Raises FileNotFoundError where there is none.
    """
    import shutil
    import sysconfig

    name = "cfaudit" + (sysconfig.get_config_var("EXE") or "")
    scripts = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    user = getattr(sysconfig, "get_preferred_scheme", None)
    if user is not None:
        scripts.append(sysconfig.get_path("scripts", scheme=user("user")))
    for folder in scripts:
        path = os.path.join(folder, name) if folder else ""
        if path and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    found = shutil.which("cfaudit")
    if found is None:
        raise FileNotFoundError(
            "there is no program `cfaudit` next to this Python or on the PATH; "
            "install the wheel with pip, or build the program with make"
        )
    return found


def set_flags(settings: Mapping[str, Any] | None) -> list[str]:
    """Values by their full path as flags of the command line."""
    import json

    flags: list[str] = []
    for path, value in (settings or {}).items():
        flags += ["--set", f"{path}={json.dumps(value)}"]
    return flags


def events_of(log: str) -> list[dict[str, Any]]:
    """The events of a log in JSON; any other line is the `text` of an event without a name."""
    import json

    events = []
    for line in log.strip().splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        events.append(found if isinstance(found, dict) and "text" in found else {"text": line})
    return events


def errors_of(log: str) -> str:
    """What went wrong, of a log in JSON; any other text as it is."""
    events = events_of(log)
    errors = (e for e in events if "event" not in e or str(e["text"]).startswith("error["))
    return "\n".join(str(event["text"]) for event in errors)


def call(
    arguments: Iterable[PathLike],
    *,
    path: PathLike | None = None,
    results: tuple[int, ...] = (0, 1),
) -> tuple[int, str, str]:
    """Runs the program to its end: status, standard output and standard error.

    A status that is not among `results` raises the error of that status.
    """
    import subprocess

    command: list[str] = [os.fspath(path or program())]
    command.extend(os.fspath(argument) for argument in arguments)
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    # A run that waits for rows has nothing to publish, and prints no summary.
    if done.returncode not in results or (done.returncode == 4 and not done.stdout):
        text = errors_of(done.stderr) or done.stdout.strip() or f"exit status {done.returncode}"
        raise error_of(done.returncode, text)
    return done.returncode, done.stdout, done.stderr
