"""What a scorer gets, a frame of rows, and what it answers: one number for each, in their order.

Part of the package `cfaudit`, and of the script by which the program asks Python models.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def typed(table: Any, about: Any) -> Any:
    """Rows of pyarrow with the types of the Parquet columns that they come from, by the metadata.

    Those are integers of another width, and categories: those of the whole column, in the order of
    its files. A value that is no category is missing, as in pandas.
    """
    types = (about or {}).get(b"cfaudit.types")
    if not types:
        return table
    import json

    import pyarrow
    import pyarrow.compute

    for name, of in json.loads(types).items():
        at = table.schema.get_field_index(name)
        if at < 0:
            continue
        column = table.column(at)
        if "integer" in of and column.type == pyarrow.int64():
            table = table.set_column(at, name, column.cast(of["integer"]))
        elif "category" in of and column.type == pyarrow.string():
            texts = pyarrow.array(of["category"]["categories"], pyarrow.string())
            places = pyarrow.compute.index_in(column, value_set=texts)
            ordered = of["category"]["ordered"]
            kind = pyarrow.dictionary(pyarrow.int32(), pyarrow.string(), ordered)
            parts = [
                pyarrow.DictionaryArray.from_arrays(part, texts, ordered=ordered)
                for part in places.chunks
            ]
            table = table.set_column(at, name, pyarrow.chunked_array(parts, kind))
    return table


def frame_of(table: Any, about: Any) -> Any:
    """Rows of pyarrow as pandas has them, by the metadata of where they come from.

    Those of a text file are as `read_csv` gives them, which has NaN for missing texts; those of
    Parquet as `read_parquet` does.
    """
    rows = typed(table, about).to_pandas()
    if about and about.get(b"cfaudit.source") == b"csv":
        import pandas

        for name in rows.columns[((rows.dtypes == object) & rows.isna().any()).to_numpy()]:
            values = rows[name].to_numpy(dtype=object, copy=True)
            values[pandas.isna(values)] = float("nan")
            rows[name] = pandas.Series(values, index=rows.index, dtype=object)
    return rows


def _type_of(numbers: Any) -> str:
    """The type of numbers, as their library names it; empty where they have no type in common.

    Of a dtype of torch, `torch.float32`, the last part counts.
    """
    named = getattr(numbers, "dtype", None)
    if named is None:
        named = getattr(numbers, "type", "")
    return str(named).lower().rpartition(".")[2]


def _is_missing(score: Any) -> bool:
    """Whether a score is None, NaN or `pandas.NA`, which have no precision."""
    if score is None or type(score).__name__ == "NAType":
        return True
    return isinstance(score, float) and score != score


def is_single(scores: Any) -> bool:
    """Whether scores have 32 bits, each of them that is there; Arrow calls such numbers `float`.

    The type of all of them counts; of objects, as of a list, that of each element.
    """
    kinds = {_type_of(scores)}
    if kinds <= {"", "object"}:
        kinds = {_type_of(score) for score in scores if not _is_missing(score)}
    return bool(kinds) and kinds <= {"float32", "float", "float[pyarrow]"}


def in_order(found: Any, n: int) -> Any:
    """The answer for a frame of `n` rows in the order of these rows, without its index.

    The rows of a frame are numbered from 0. A Series or frame of pandas says by its index which
    number belongs to which row: `pandas.concat` of the answers for parts of the rows has another
    order than the rows. A generator becomes a list. Raises ValueError where the answer is no
    sequence of numbers, or its index is not that of the frame.
    """
    # What is iterated by keys, without an order or by letters.
    if isinstance(found, (Mapping, Set, str, bytes, bytearray)):
        raise ValueError(
            f"the answer for {n} rows is a {type(found).__name__}, which is no list: give one number for "
            "each row, in the order of the rows"
        )
    if type(found).__module__.split(".")[0] == "pandas" and hasattr(found, "reindex"):
        import pandas

        rows = pandas.RangeIndex(n)
        if len(found) == n and not found.index.equals(rows):
            places = found.index.get_indexer(rows) if found.index.is_unique else [-1]
            if min(places) < 0:
                raise ValueError(
                    f"the answer for {n} rows has another index than the frame of these rows: give "
                    "it the index of the frame, or give its `to_numpy()` in the order of the rows"
                )
            found = found.iloc[places]
        plain = found.to_numpy()
        # With missing values among them, 32 bits can become objects of 64.
        if plain.dtype == object and plain.ndim == 1 and is_single(found):
            return found.to_numpy(dtype="float32", na_value=float("nan"))
        return plain
    try:
        is_read_once = iter(found) is found
    except TypeError:
        raise ValueError(
            f"the answer for {n} rows is `{found!r}`: give one number for each row"
        ) from None
    return list(found) if is_read_once else found


def number(score: Any) -> float:
    """A score as a float; NaN where it is missing.

    Raises ValueError where it is no number.
    """
    try:
        return float("nan") if _is_missing(score) else float(score)
    except (TypeError, ValueError):
        raise ValueError(f"a score is `{score!r}`: give a number for each row") from None
