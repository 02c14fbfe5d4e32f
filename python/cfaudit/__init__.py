"""Audits of classifiers for counterfactual fairness, from Python.

The functions here start the program `cfaudit`, which the same wheel installs, and read what it
writes. The results are those of the command line, byte by byte::

    import cfaudit

    audit = cfaudit.run("loans.yaml", rows=frame, scorers={"scorecard": model.predict_proba})
    audit                        # a notebook shows the brief of the page
    audit.verdict                # "pass", "fail", "inconclusive", "warn" or "done"
    audit.pandas("metrics")      # any table: also `arrow` and `polars`
    cfaudit.diff("approved", audit).clear

Nothing but the standard library is imported until a table is read or a frame is handed over.
"""

from __future__ import annotations

from cfaudit._audit import Audit, Difference, diff
from cfaudit._call import assert_fair, audit
from cfaudit._program import (
    CfauditError,
    DataError,
    JobError,
    OperatorError,
    WaitingError,
    program,
)
from cfaudit._run import new, run

__all__ = [
    "Audit",
    "CfauditError",
    "DataError",
    "Difference",
    "JobError",
    "OperatorError",
    "WaitingError",
    "assert_fair",
    "audit",
    "diff",
    "new",
    "program",
    "run",
]
