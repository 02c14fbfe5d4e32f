"""Finished audits: their tables, verdicts and pages, and what differs between two of them."""

from __future__ import annotations

import os

from cfaudit._program import call, events_of

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Union

    import pandas
    import polars
    import pyarrow

    from cfaudit._brief import Chart
    from cfaudit._program import PathLike

    Folder = Union[PathLike, "Audit"]


class Audit:
    """The output folder of a run. `Audit("outputs/loans")` opens one that is there."""

    #: The folder.
    folder: str

    def __init__(self, folder: PathLike) -> None:
        self.folder = os.fspath(folder)
        if not os.path.isfile(self._path("manifest.json")):
            raise FileNotFoundError(f"{self.folder} is not an output folder of cfaudit")

    def __fspath__(self) -> str:
        return self.folder

    def __repr__(self) -> str:
        return f"Audit({self.folder!r}, verdict={self.verdict!r})"

    def _path(self, *names: str) -> str:
        return os.path.join(self.folder, *names)

    def _json(self, name: str) -> dict[str, Any]:
        import json

        with open(self._path(name), encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
            return found

    @property
    def manifest(self) -> dict[str, Any]:
        """`manifest.json`: inputs, versions, and the hash of every file."""
        return self._json("manifest.json")

    @property
    def summary(self) -> dict[str, Any]:
        """`summary.json`: the verdict, the gates and a few values."""
        return self._json("summary.json")

    @property
    def verdict(self) -> str:
        """pass, fail, inconclusive, warn, or done where the job has no gates."""
        return str(self.summary["verdict"])

    @property
    def exit(self) -> int:
        """The exit status that the gates ask for: 0, or 1 where one is crossed."""
        return int(self.summary["exit"])

    @property
    def fingerprint(self) -> str:
        """SHA-256 of `manifest.json`, which identifies this audit."""
        import hashlib

        with open(self._path("manifest.json"), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    @property
    def job(self) -> str:
        """The job as text: the one that Python wrote for the run, else `job.resolved.yaml`."""
        written = f"{self.folder.rstrip('/')}.inputs/job.yaml"
        is_of_run = os.path.basename(os.path.dirname(written)) + "/job.yaml" in self.manifest["command"]
        path = written if is_of_run and os.path.isfile(written) else self._path("job.resolved.yaml")
        with open(path, encoding="utf-8") as file:
            return file.read()

    @property
    def page(self) -> str:
        """The path of the page to read and sign."""
        return os.path.abspath(self._path("report.html"))

    @property
    def gates(self) -> list[dict[str, Any]]:
        """The gates as they are judged: `gate`, `verdict`, and the `line` that the program prints."""
        log = call(["gate", self.folder, "--log", "json"], results=(0, 1, 4))[2]
        found = [event for event in events_of(log) if event.get("event") == "gate.verdict"]
        return [
            {
                "gate": str(event["path"]).partition(".")[2],
                "verdict": str(event["code"]),
                "line": str(event["text"]),
            }
            for event in found
        ]

    @property
    def tables(self) -> list[str]:
        """The names of the tables that the folder holds."""
        found = []
        for below in ("tables", "rows"):
            if os.path.isdir(self._path(below)):
                names = os.listdir(self._path(below))
                found += [name[:-8] for name in names if name.endswith(".parquet")]
        return sorted(found)

    def arrow(self, table: str = "metrics") -> pyarrow.Table:
        """A table as pyarrow reads it; `cfaudit schema tables` describes the columns."""
        import pyarrow.parquet

        for below in ("tables", "rows"):
            path = self._path(below, f"{table}.parquet")
            if os.path.isfile(path):
                return pyarrow.parquet.read_table(path)
        raise KeyError(f"{self.folder} has no table {table!r}; it has {', '.join(self.tables)}")

    def pandas(self, table: str = "metrics") -> pandas.DataFrame:
        """A table as a pandas frame; a missing value of an integer column stays missing."""
        import pandas
        import pyarrow

        whole = {pyarrow.int64(): pandas.Int64Dtype(), pyarrow.uint64(): pandas.UInt64Dtype()}
        return self.arrow(table).to_pandas(types_mapper=whole.get)

    def polars(self, table: str = "metrics") -> polars.DataFrame:
        """A table as a polars frame."""
        import polars

        found = polars.from_arrow(self.arrow(table))
        assert isinstance(found, polars.DataFrame)
        return found

    def export(self, form: str) -> str:
        """The audit in the form of another tool: junit, prometheus, model-card."""
        return call(["export", self.folder, "--to", form])[1]

    def verify(self, fingerprint: str | None = None) -> dict[str, Any]:
        """Checks hashes, table versions, and the gates again; `sound` says whether all hold."""
        import json

        expected = [] if fingerprint is None else ["--fingerprint", fingerprint]
        text = call(["verify", self.folder, "--json", *expected], results=(0, 5))[1]
        found: dict[str, Any] = json.loads(text)
        return found

    def pack(self, file: PathLike) -> str:
        """Writes one archive without `rows/` (cases of `report.cases` stay in it); gives its path."""
        call(["pack", self.folder, "--file", file])
        return os.fspath(file)

    def explain(self, word: str) -> str:
        """What a metric, gate, table, column or code means, with its numbers in this audit."""
        return call(["explain", word, "--in", self.folder])[1]

    def plot(self) -> Chart:
        """The first chart of the page."""
        from cfaudit._brief import Chart

        return Chart(self._page_text())

    def markdown(self) -> str:
        """The brief of the page as Markdown."""
        from cfaudit._brief import markdown

        return markdown(self._page_text())

    def _page_text(self) -> str:
        with open(self._path("report.html"), encoding="utf-8") as file:
            return file.read()

    def _repr_html_(self) -> str:
        from cfaudit._brief import brief, framed

        return framed(f"Audit {self.folder}", brief(self._page_text()))


class Difference:
    """What has changed from one audit to another."""

    #: What `cfaudit diff --json --all` prints.
    data: dict[str, Any]
    #: The changes as a pyarrow table, one row for each value of both audits.
    changes: pyarrow.Table

    def __init__(self, data: dict[str, Any], changes: pyarrow.Table, page: str) -> None:
        self.data, self.changes, self._page = data, changes, page

    def __repr__(self) -> str:
        old, new = self.data["old"]["run"], self.data["new"]["run"]
        return f"Difference({old!r}, {new!r}, clear={self.data['n_clear']})"

    @property
    def comparable(self) -> bool:
        """Whether every definition is the same in both."""
        return bool(self.data["comparable"])

    @property
    def clear(self) -> list[dict[str, Any]]:
        """The changes whose interval leaves out 0."""
        return [row for row in self.data["changes"] if row["clear"] == 1]

    def _repr_html_(self) -> str:
        from cfaudit._brief import framed

        return framed("Changes", self._page)


def diff(old: Folder, new: Folder, *, force: bool = False) -> Difference:
    """Compares two finished audits: folders or `Audit`s.

    With `force` also values are compared whose definition differs between the two.
    """
    import json
    import tempfile

    import pyarrow.parquet

    with tempfile.TemporaryDirectory() as folder:
        forced = ["--force"] if force else []
        text = call(["diff", old, new, "--json", "--all", "--out", folder, *forced])[1]
        changes = pyarrow.parquet.read_table(os.path.join(folder, "changes.parquet"))
        with open(os.path.join(folder, "diff.html"), encoding="utf-8") as file:
            return Difference(json.loads(text), changes, file.read())
