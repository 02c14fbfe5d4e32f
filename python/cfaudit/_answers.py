"""What a scorer gets, a frame of rows, and what it answers: one number for each, in their order.

Part of the package `cfaudit`, and of the script by which the program asks Python models.
"""

from __future__ import annotations

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def frame_of(table: Any, about: Any) -> Any:
    """Rows of pyarrow as pandas has them, by the metadata of where they come from.

    Those of a text file are as `read_csv` gives them, which has NaN for missing texts; those of
    Parquet as `read_parquet` does.
    """
    rows = table.to_pandas()
    if about and about.get(b"cfaudit.source") == b"csv":
        import pandas

        for name in rows.columns[((rows.dtypes == object) & rows.isna().any()).to_numpy()]:
            values = rows[name].to_numpy(dtype=object, copy=True)
            values[pandas.isna(values)] = float("nan")
            rows[name] = pandas.Series(values, index=rows.index, dtype=object)
    return rows


def is_single(scores: Any) -> bool:
    """Whether scores have 32 bits, each of them; Arrow calls such numbers `float`."""
    of = scores if isinstance(scores, (list, tuple)) else [scores]
    kinds = {str(getattr(part, "dtype", getattr(part, "type", ""))).lower() for part in of}
    return bool(kinds) and kinds <= {"float32", "float"}


def in_order(found: Any, n: int) -> Any:
    """The answer for a frame of `n` rows in the order of these rows, without its index.

    The rows of a frame are numbered from 0. A Series or frame of pandas says by its index which
    number belongs to which row: `pandas.concat` of the answers for parts of the rows has another
    order than the rows. Raises ValueError where the answer is no sequence, or its index is not that
    of the frame.
    """
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
        return found.to_numpy()
    try:
        iter(found)
    except TypeError:
        raise ValueError(
            f"the answer for {n} rows is `{found!r}`: give one number for each row"
        ) from None
    return found


def number(score: Any) -> float:
    """A score as a float; NaN where it is missing.

    Raises ValueError where it is no number.
    """
    missing = score is None or type(score).__name__ == "NAType"
    try:
        return float("nan") if missing else float(score)
    except (TypeError, ValueError):
        raise ValueError(f"a score is `{score!r}`: give a number for each row") from None
