"""Greedy and plausible on a few rows of Adult, one row after the other with pandas, written from the rules of the strategies (docs/counterfactuals.md).

Every step is one rule on a data frame: the rows of a stratum are selected, counted, mapped. What belongs to a pair of
groups and not to a row (which features are related, the components of the filter) is learnt once. Covers what Adult needs of the default
setting, as `vectorised.py` does.

    python3 bench/rowwise.py greedy|plausible ROWS.parquet OUT.parquet N

Prints the CPU seconds of learning and of the N seeded rows as JSON.
"""

import json
import math
import sys
import time

import numpy as np
import pandas as pd

import adult
from adult import CONTINUOUS, GROUPS, LABEL, NOMINAL, NUMBERS, SENSITIVE

SEED = 20261121


def select(reference, group, label):
    """The rows of a stratum, which must be large enough for the rules without their fall-back."""
    rows = reference[(reference[SENSITIVE] == group) & (reference[LABEL] == label)]
    if len(rows) < adult.MIN_STRATUM:
        sys.exit("a stratum of Adult is small: this script has no fall-back for that")
    return rows


def continuous(own, target, v):
    """Section 4 by midranks, of a whole number."""
    counts = own.value_counts().sort_index()
    p = np.interp(v, counts.index, (counts.cumsum() - counts / 2) / len(own))
    image = np.interp(p, (np.arange(len(target)) + 0.5) / len(target), target.sort_values())
    return math.floor(image + adult.HALF)


def ordinal(own, target, v):
    """Section 5 by midranks, in whole numbers."""
    wanted = (int((own < v).sum()) + int((own <= v).sum())) * len(target)
    up_to = target.value_counts().sort_index().cumsum()
    for j, (x, d) in enumerate(up_to.items()):
        reached = 2 * len(own) * int(d)
        if reached >= wanted:
            later = up_to.index[j + 1] if reached == wanted and j + 1 < len(up_to) else x
            return later if abs(later - v) < abs(x - v) else x
    return up_to.index[-1]


def share(rows, f, level):
    return (rows[f] == level).sum() / len(rows)


class Flips:
    """Section 6 for one row."""

    def __init__(self, row, reference, target, levels, eligible):
        self.x = {f: row[f] for f in NOMINAL}
        self.own, self.target = (select(reference, group, row[LABEL]) for group in (row[SENSITIVE], target))
        self.own_all, self.target_all = (reference[reference[SENSITIVE] == group] for group in (row[SENSITIVE], target))
        self.levels, self.eligible, self.locked, self.n_impossible = levels, eligible, set(), 0

    def made(self):
        for f in self.eligible:
            a, b = (share(rows, f, self.x[f]) for rows in (self.own_all, self.target_all))
            rare = b <= adult.IMPOSSIBLE + adult.EPS and b <= adult.IMPOSSIBLE_RATIO * a + adult.EPS
            if rare and len(self.target_all) * a >= adult.MIN_EXPECTED - adult.EPS:
                self.n_impossible += self.change(f, self.target)
        candidates = [f for f in self.eligible if f not in self.locked]
        for f in candidates:
            if f not in self.locked and self.leaves(f, self.own, self.target):
                old = self.x[f]
                if self.change(f, self.target):
                    self.descend(self.target, f, old, 1)
        return self.x

    def leaves(self, f, before, after):
        return share(before, f, self.x[f]) - share(after, f, self.x[f]) >= adult.TAU - adult.EPS

    def descend(self, pool, pivot, old, depth):
        if depth >= adult.MAX_DEPTH:
            return
        before, after = pool[pool[pivot] == old], pool[pool[pivot] == self.x[pivot]]
        if min(len(before), len(after)) < adult.MIN_SUPPORT:
            return
        for g in self.eligible:
            if g not in self.locked and self.leaves(g, before, after):
                u = self.x[g]
                if self.change(g, after):
                    self.descend(after, g, u, depth + 1)

    def change(self, f, target):
        """The likely new value (6.4); false where there is none."""
        best, new = -math.inf, None
        for c in self.levels[f]:
            rows = target[target[f] == c]
            if c in (self.x[f], adult.MISSING) or rows.empty:
                continue
            score = math.log(len(rows) / len(target))
            for g in NOMINAL:
                if g != f:
                    score += math.log(((rows[g] == self.x[g]).sum() + 0.5) / (len(rows) + 0.5 * len(self.levels[g])))
            if new is None or score > best + adult.BETTER:
                best, new = score, c
        if new is None:
            return False
        self.x[f] = new
        self.locked.add(f)
        return True


def related(reference, f):
    """The two-sample test of greedy."""
    for label in sorted(reference[LABEL].unique()):
        a, b = (select(reference, group, label)[f] for group in GROUPS)
        at = pd.DataFrame({"a": a.value_counts(), "b": b.value_counts()}).fillna(0).sort_index()
        shares = at / at.sum()
        if f in NUMBERS:
            shares = shares.cumsum()
        factor = math.sqrt(-math.log(adult.ALPHA / 2) / 2)
        if (shares["a"] - shares["b"]).abs().max() > factor * math.sqrt((len(a) + len(b)) / (len(a) * len(b))):
            return True
    return False


class Filter:
    """Section 10."""

    def __init__(self, reference, levels):
        self.levels = levels
        raw = self.indicators(reference)
        self.mean, sd = raw.mean(), raw.std(ddof=0)
        self.kept = sd.index[sd > 0]
        self.sd = sd[self.kept]
        z = self.z(raw)
        values, vectors = np.linalg.eigh(z.T @ z / len(z))
        values, vectors = values[::-1], vectors[:, ::-1]
        rank = int((values > 1e-10 * values[0]).sum())
        enough = int((np.cumsum(values) / values.sum() < adult.FILTER["explained"] - adult.EPS).sum()) + 1
        self.weights = vectors[:, :max(1, min(max(enough, 2), adult.FILTER["max_components"], rank))]
        scores = pd.DataFrame(z @ self.weights).groupby([reference[SENSITIVE].to_numpy(), reference[LABEL].to_numpy()])
        self.centre, self.spread = scores.mean(), scores.var(ddof=0)

    def indicators(self, rows):
        coded = pd.DataFrame({f: pd.Categorical(rows[f], categories=self.levels[f]) for f in NOMINAL})
        return pd.concat([rows[NUMBERS].reset_index(drop=True), pd.get_dummies(coded)], axis=1).astype(float)

    def z(self, raw):
        return ((raw[self.kept] - self.mean[self.kept]) / self.sd).to_numpy()

    def distance(self, row):
        section = (row[SENSITIVE], row[LABEL])
        squares = ((self.z(self.indicators(pd.DataFrame([row]))) @ self.weights)[0] - self.centre.loc[section]) ** 2
        spread = self.spread.loc[section]
        return math.sqrt(((squares.sum() - squares) / (spread.sum() - spread)).max())


def counterfactual(row, reference, levels, moves, centroids):
    target = next(group for group in GROUPS if group != row[SENSITIVE])
    own, other = (select(reference, group, row[LABEL]) for group in (row[SENSITIVE], target))
    x = dict(row[adult.COLUMNS]) | {SENSITIVE: target}
    n_clamped = 0
    for f in NUMBERS:
        if f in moves:
            x[f] = (continuous if f in CONTINUOUS else ordinal)(own[f], other[f], row[f])
            n_clamped += f in CONTINUOUS and not own[f].min() <= row[f] <= own[f].max()
    flips = Flips(row, reference, target, levels, [f for f in NOMINAL if f in moves])
    x |= flips.made()
    n_changed = sum(x[f] != row[f] for f in NUMBERS + NOMINAL)
    made = {"row_id": row.name, "source_group": row[SENSITIVE], "target_group": target, "cf_index": 0, **x, "n_changed": n_changed,
            "n_impossible": flips.n_impossible, "n_clamped": n_clamped, "n_fallback": 0, "n_kept": 0}
    if centroids is not None:
        distance = centroids.distance(x)
        made |= {"plausibility": distance, "valid": distance <= adult.FILTER["k"] + adult.EPS}
    return made


def main():
    strategy, source, out, n = sys.argv[1:]
    reference = pd.read_parquet(source, columns=adult.COLUMNS)
    reference = reference.dropna(subset=NUMBERS)
    reference[NOMINAL] = reference[NOMINAL].fillna(adult.MISSING)
    start = time.process_time()
    reference[LABEL] = (reference[LABEL] == adult.POSITIVE).astype(int)
    levels = {f: sorted(reference[f].unique(), key=lambda word: word.encode()) for f in NOMINAL}
    moves = [f for f in NUMBERS + NOMINAL if related(reference, f)] if strategy == "greedy" else adult.MOVE
    centroids = Filter(reference, levels) if strategy == "plausible" else None
    learnt = time.process_time()
    chosen = np.random.default_rng(SEED).choice(len(reference), int(n), replace=False)
    made = [counterfactual(reference.iloc[i], reference, levels, moves, centroids) for i in np.sort(chosen)]
    done = time.process_time()
    pd.DataFrame(made).to_parquet(out, index=False)
    print(json.dumps({"learnt": learnt - start, "rows": done - learnt, "n": len(made)}))


if __name__ == "__main__":
    main()
