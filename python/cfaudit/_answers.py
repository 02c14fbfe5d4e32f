"""What a scorer answers: one number for each row of the frame that it got, in the order of its rows.

Part of the package `cfaudit`, and of the script by which the program asks Python models.
"""

from __future__ import annotations

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
