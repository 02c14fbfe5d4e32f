"""What reading rows from an object store costs: a run over a small S3 server on this machine, next to one over the same files.

    python3 bench/object.py [--rows 4000000] [--files 4]

Counts the CPU seconds of cfaudit's process alone, not those of the server; without TLS, whose cost hangs on the machine. Two jobs: a column of
scores, for which reading is most of the work, and a LightGBM file with counterfactuals. The program must have the feature `cloud`. Needs pyarrow.
Prints one table with the goal, and fails where it is missed.
"""

import hashlib
import http.server
import os
import shutil
import statistics
import sys
import threading
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import scale
import timing

GOAL = 1.3

COLUMN = """cfaudit: 1
name: object
data:
  rows: {rows}
  row_id: id
  label: {{column: repaid, positive: [1], favourable: positive}}
  sensitive:
    region: {{groups: [1, 2], reference: 1}}
models:
  live: {{scores: {{factual: {{column: income}}}}, scale: {{from: 0, to: 100}}, threshold: 40}}
metrics: {{families: [performance, group]{more}}}
run: {{seed: 5, keep_rows: none}}
"""


class Bucket(http.server.BaseHTTPRequestHandler):
    """Lists, heads and ranges of the files below a folder, for anybody."""

    protocol_version = "HTTP/1.1"
    root = Path()
    requests = 0

    def log_message(self, *_: object) -> None:
        pass

    @staticmethod
    def tag(path: Path) -> str:
        return hashlib.md5(f"{path}{path.stat().st_mtime_ns}".encode()).hexdigest()

    def listed(self) -> bytes:
        bucket = self.root / unquote(urlsplit(self.path).path).strip("/")
        prefix = parse_qs(urlsplit(self.path).query).get("prefix", [""])[0]
        text = "<ListBucketResult>"
        for path in sorted(bucket.rglob("*")):
            key = path.relative_to(bucket).as_posix()
            if path.is_file() and key.startswith(prefix):
                text += f"<Contents><Key>{key}</Key><LastModified>2026-11-22T08:00:00.000Z</LastModified>"
                text += f"<ETag>&quot;{self.tag(path)}&quot;</ETag><Size>{path.stat().st_size}</Size></Contents>"
        return (text + "</ListBucketResult>").encode()

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        Bucket.requests += 1
        if "list-type" in urlsplit(self.path).query:
            body = self.listed()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        path = self.root / unquote(urlsplit(self.path).path).lstrip("/")
        if not path.is_file():
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size = path.stat().st_size
        first, last = 0, size - 1
        if wanted := self.headers.get("Range"):
            first, last = map(int, wanted.removeprefix("bytes=").split("-"))
            last = min(last, size - 1)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("ETag", f'"{self.tag(path)}"')
        self.send_header("Last-Modified", "Sun, 22 Nov 2026 08:00:00 GMT")
        self.end_headers()
        if self.command == "HEAD":
            return
        with path.open("rb") as file:
            self.wfile.flush()
            at, end = first, last + 1
            while at < end:
                at += os.sendfile(self.connection.fileno(), file.fileno(), at, end - at)


def main() -> None:
    flags = timing.parser(__doc__)
    flags.add_argument("--rows", type=int, default=4_000_000)
    flags.add_argument("--files", type=int, default=4)
    args = flags.parse_args()
    bench, missed = scale.Bench(args, "object"), []
    timing.heading(args, f", {args.rows:,} rows in {args.files} files")
    lake = bench.folder / "lake/rows"
    lake.mkdir(parents=True)
    each = args.rows // args.files
    scale.made(*[(lake / f"part-{n:05}.parquet", n * each, each) for n in range(args.files)])
    Bucket.root = bench.folder
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "anybody",
        "AWS_SECRET_ACCESS_KEY": "anybody",
    }
    timing.table("job | CPU s, files | CPU s, store | times | goal | met | wall s, files | wall s, store | requests")
    for n, (name, job) in enumerate((("score column", COLUMN), ("LightGBM, counterfactuals", scale.JOB))):
        runs: dict[str, list[dict]] = {}
        for at, rows in (("files", "{parquet: lake/rows}"), ("store", '{parquet: "s3://lake/rows"}')):
            (bench.folder / f"{at}.yaml").write_text(job.format(rows=rows, more=""))
        Bucket.requests = 0
        # In turn, so that a load of the machine meets both.
        for _ in range(args.repeats):
            for at in ("files", "store"):
                words = ["run", f"{at}.yaml", "--out", f"{at}-{n}", "--cache", "off", "--threads", args.threads]
                runs.setdefault(at, []).append(bench.cfaudit(*words))
        for table in sorted((bench.folder / f"files-{n}/tables").iterdir()):
            if table.read_bytes() != (bench.folder / f"store-{n}/tables" / table.name).read_bytes():
                sys.exit(f"`{table.name}` of the store is another one")
        cpu = {at: statistics.median(run["cpu"] for run in of) for at, of in runs.items()}
        times = cpu["store"] / cpu["files"]
        if times > GOAL:
            missed.append(name)
        spans = [timing.span([run[part] for run in runs[at]]) for part in ("cpu", "wall") for at in ("files", "store")]
        goal = (f"{times:.2f}", f"at most {GOAL}", "yes" if times <= GOAL else "no")
        timing.line(name, *spans[:2], *goal, *spans[2:], Bucket.requests // args.repeats)
    server.shutdown()
    shutil.rmtree(bench.folder)
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
