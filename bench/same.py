"""Compares the counterfactuals of cfaudit with those of a script, cell by cell; both are read row group by row group.

Whole numbers, levels, counters and validity have to be equal, the distance to the centroid to 1e-9. A script that made counterfactuals of some
rows only is compared on those.

    python3 bench/same.py PREPARE GENERATE SCRIPT.parquet

The first two are the folders of these stages in a cache. Prints how many rows and cells were compared and how many differ as JSON.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from adult import COUNTERS, GROUPS, NOMINAL, NUMBERS, SENSITIVE

ROWS_AT_ONCE = 250_000
TOLERANCE = 1e-9


def ours_by_group(prepared, made):
    """Our counterfactuals of each row group with `row_id`, the number of the parent in the file that was prepared: `parent` is the position
    in the row group of the same number."""
    rows, made = pq.ParquetFile(prepared), pq.ParquetFile(made)
    if rows.num_row_groups != made.num_row_groups:
        sys.exit("counterfactuals and prepared rows differ in their row groups")
    for group in range(made.num_row_groups):
        table = made.read_row_group(group)
        keys = rows.read_row_group(group, columns=["row"])["row"]
        yield table.append_column("row_id", keys.take(table["parent"]).cast(pa.int64())).combine_chunks()


def in_pairs(ours, script):
    """Our tables, each with the rows of the script that stand where its rows do; what is left of the script comes last, without other programs."""
    file = pq.ParquetFile(script)
    waiting, batches = [], file.iter_batches(ROWS_AT_ONCE)
    for table in ours:
        while sum(map(len, waiting)) < len(table) and (batch := next(batches, None)) is not None:
            waiting.append(batch)
        theirs = pa.Table.from_batches(waiting, file.schema_arrow)
        yield table, theirs.slice(0, len(table))
        waiting = theirs.slice(len(table)).to_batches()
    if waiting or next(batches, None) is not None:
        sys.exit("the script made more counterfactuals than cfaudit")


def differing(ours, theirs, levels):
    """How many cells of each column differ."""
    def words(name, codes):
        return pa.array(levels[name]).take(codes)

    pairs = {"row_id": (ours["row_id"], theirs["row_id"]), "cf_index": (ours["cf_index"].cast(pa.int32()), theirs["cf_index"]),
             "target_group": (pa.array(GROUPS).take(ours["to_group"]), theirs["target_group"])}
    for name in [SENSITIVE, *NOMINAL]:
        pairs[name] = (words(name, ours[f"x.{name}"]), theirs[name])
    for name in NUMBERS:
        pairs[name] = (ours[f"x.{name}"], theirs[name])
    for name in COUNTERS:
        pairs[name] = (ours[name], theirs[name])
    if "valid" in theirs.column_names:
        pairs["valid"] = (ours["valid"], theirs["valid"])
    found = {}
    for name, (a, b) in pairs.items():
        # A null in either is a difference: no cell of these files may be empty.
        b = b.cast(a.type)
        found[name] = len(a) - (pc.sum(pc.equal(a, b)).as_py() or 0)
    if "plausibility" in theirs.column_names:
        a, b = (table["plausibility"].to_numpy() for table in (ours, theirs))
        found["plausibility"] = int((~(np.abs(a - b) <= TOLERANCE * np.maximum(1, np.abs(b)))).sum())
    return found


def main():
    prepared, generated, script = map(Path, sys.argv[1:])
    made = generated / "counterfactuals.parquet"
    layout = json.loads((prepared / "layout.json").read_text())
    levels = {feature["name"]: feature["levels"] for feature in layout["features"]}
    ours = ours_by_group(prepared / "rows.parquet", made)
    if pq.ParquetFile(made).metadata.num_rows == pq.ParquetFile(script).metadata.num_rows:
        pairs = in_pairs(ours, script)
    else:
        some = pq.read_table(script)
        table = pa.concat_tables(ours).combine_chunks()
        pairs = [(table.filter(pc.is_in(table["row_id"], some["row_id"].combine_chunks())), some)]
    cells, wrong, n = 0, {}, 0
    for ours, theirs in pairs:
        if len(ours) != len(theirs):
            sys.exit("the script has rows that cfaudit has not, or the other way about")
        n += len(ours)
        for name, k in differing(ours, theirs, levels).items():
            cells += len(ours)
            if k:
                wrong[name] = wrong.get(name, 0) + k
    print(json.dumps({"rows": n, "cells": cells, "differing": wrong}))


if __name__ == "__main__":
    main()
