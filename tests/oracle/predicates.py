"""Subgroups and actions with a column of which traits say "at or above", by looking at every set of
traits and every row. Writes tests/oracle/predicates.json:

    python3 tests/oracle/predicates.py

Columns: `age` (bins, ascending; traits "at or above"; may not change; some values missing), `hours`
(levels in an order, may rise), `job` (names, may change). Rows with an unfavourable decision are
affected. The decision is favourable where a sum of whole numbers is at least 9; one term is for a
pair of levels, so that what an action does depends on the row.
"""

import itertools
import json
import math
import random
from pathlib import Path

AGE = ["[17, 30]", "(30, 45]", "(45, 60]", "(60, 90]"]
HOURS = ["low", "mid", "high"]
JOB = ["clerk", "sales", "tech"]
SUPPORT = 0.04
COLUMNS = ["age", "hours", "job"]  # by the bytes of their names
LEVELS = {"age": AGE + ["missing"], "hours": HOURS, "job": JOB}
random.seed(20261128)
ROWS = []
for i in range(260):
    row = {
        "age": random.choice([0, 0, 1, 1, 1, 2, 2, 3, 4]),
        "hours": random.choice([0, 0, 1, 1, 2]),
        "job": random.choice([0, 0, 1, 2]),
        "group": random.choice([0, 1]),
    }
    ROWS.append(row)


def favourable(row):
    points = [0, 2, 3, 1, 1][row["age"]] + [0, 2, 5][row["hours"]] + [1, 3, 4][row["job"]]
    points += 2 if row["hours"] == row["job"] else 0
    return points + row["group"] >= 9


DECIDED = [favourable(row) for row in ROWS]
AFFECTED = [row for row, good in zip(ROWS, DECIDED) if not good]
UNAFFECTED = [row for row, good in zip(ROWS, DECIDED) if good]


def holds(trait, row):
    column, level = trait
    if column == "age" and level < len(AGE):
        return level <= row["age"] < len(AGE)
    return row[column] == level


def text(traits):
    def one(column, level):
        relation = ">=" if column == "age" and level < len(AGE) else "="
        return f"{column} {relation} {LEVELS[column][level]}"

    return ", ".join(one(*trait) for trait in traits)


def traits_of(column):
    # Everybody is at or above the lowest level.
    return [(column, level) for level in range(1 if column == "age" else 0, len(LEVELS[column]))]


def sets():
    for n in range(1, len(COLUMNS) + 1):
        for columns in itertools.combinations(COLUMNS, n):
            yield from itertools.product(*map(traits_of, columns))


def count(traits, rows):
    return sum(all(holds(trait, row) for trait in traits) for row in rows)


def order(subgroup):
    return sum(f"{column} " in subgroup[0] for column in COLUMNS), subgroup[0].encode()


in_group = [[row for row in AFFECTED if row["group"] == g] for g in (0, 1)]
least = [max(1, math.ceil(round(SUPPORT * len(rows), 9))) for rows in in_group]
least_unaffected = max(1, math.ceil(round(SUPPORT * len(UNAFFECTED), 9)))
candidates = [traits for traits in sets() if count(traits, UNAFFECTED) >= least_unaffected]
subgroups = []
for traits in sets():
    n = [count(traits, rows) for rows in in_group]
    if any(a < b for a, b in zip(n, least)):
        continue
    actions = []
    for candidate in candidates:
        if [column for column, _ in candidate] != [column for column, _ in traits]:
            continue
        changes = [(old, new) for old, new in zip(traits, candidate) if old != new]
        allowed = all(
            column == "job" or column == "hours" and new > old for (column, old), (_, new) in changes
        )
        if not changes or not allowed or len(changes) == len(COLUMNS):
            continue
        cost = sum(1 if column == "job" else new - old for (column, old), (_, new) in changes)
        new = [trait for _, trait in changes]
        helped = [
            sum(
                favourable({**row, **dict(new)})
                for row in rows
                if all(holds(trait, row) for trait in traits)
            )
            for rows in in_group
        ]
        actions.append([cost, text(candidate), text(new), helped])
    actions.sort(key=lambda action: (action[0], action[1].encode()))
    subgroups.append([text(traits), n, [[cost, new, helped] for cost, _, new, helped in actions]])
subgroups.sort(key=order)
found = {
    "about": "made by tests/oracle/predicates.py",
    "support": str(SUPPORT),
    "levels": LEVELS,
    "rows": [[row["age"], row["hours"], row["job"], row["group"]] for row in ROWS],
    "favourable": [int(good) for good in DECIDED],
    "subgroups": subgroups,
}
assert any(">=" in s[0] and s[2] for s in subgroups)
path = Path(__file__).with_suffix(".json")
head = json.dumps({key: value for key, value in found.items() if key != "subgroups"})
tail = ",\n".join(json.dumps(subgroup) for subgroup in subgroups)
path.write_text(f'{head[:-1]}, "subgroups": [\n{tail}\n]}}\n')
print(len(subgroups), "subgroups,", sum(len(s[2]) for s in subgroups), "actions")
