"""Greedy and plausible on Adult as a vectorised numpy script, written from the rules of the strategies (docs/counterfactuals.md), not from the code of cfaudit.

Columns are arrays; what is decided of levels is decided once per distinct combination of them; numbers are mapped by interpolation over all
rows of a pair and label at once. Covers what Adult needs of the default setting: continuous, ordinal and nominal features without missing
values, two groups, true labels, one counterfactual per row and group.

    python3 bench/vectorised.py greedy|plausible ROWS.parquet OUT.parquet

Prints the CPU seconds in memory as JSON: learning from the reference, and making the counterfactuals as numbers and codes.
"""

import json
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import adult
from adult import CONTINUOUS, COUNTERS, EPS, GROUPS, NOMINAL, NUMBERS, ORDINAL

ROWS_AT_ONCE = 250_000


class Cdf:
    """The distinct values of a stratum with their counts."""

    def __init__(self, values):
        self.x, self.n = np.unique(values, return_counts=True)
        self.up_to = np.cumsum(self.n)
        self.below = self.up_to - self.n
        self.total = int(self.up_to[-1])


def continuous(own, to, v, integer=True):
    """Section 4 by midranks, in rows rather than shares."""
    rank = np.interp(v, own.x, (own.below + own.up_to) / 2) * (to.total / own.total)
    q = np.column_stack([to.below + 0.5, to.up_to - 0.5]).ravel()
    image = np.interp(rank, q, np.repeat(to.x, 2))
    return np.floor(image + adult.HALF) if integer else image


def ordinal(own, to, v):
    """Section 5 by midranks, in whole numbers; once per distinct value."""
    distinct, inverse = np.unique(v, return_inverse=True)
    images = np.empty(len(distinct))
    for k, value in enumerate(distinct):
        lt = int(own.below[np.searchsorted(own.x, value)]) if value in own.x else int(own.n[own.x < value].sum())
        le = int(own.n[own.x <= value].sum())
        wanted = (lt + le) * to.total
        reached = 2 * own.total * to.up_to
        j = min(int(np.searchsorted(reached, wanted)), len(to.x) - 1)
        if int(reached[j]) == wanted and j + 1 < len(to.x) and abs(to.x[j + 1] - value) < abs(to.x[j] - value):
            j += 1
        images[k] = to.x[j]
    return images[inverse]


class Joint:
    """Distinct combinations of the levels of rows with their counts."""

    def __init__(self, combinations, counts, sizes):
        self.combinations, self.counts, self.sizes = combinations, counts, sizes

    def spread(self, f):
        return np.bincount(self.combinations[:, f], self.counts, self.sizes[f])

    def where(self, f, level):
        chosen = self.combinations[:, f] == level
        return Joint(self.combinations[chosen], self.counts[chosen], self.sizes)

    def pairs(self, f, g):
        index = self.combinations[:, f].astype(np.int64) * self.sizes[g] + self.combinations[:, g]
        return np.bincount(index, self.counts, self.sizes[f] * self.sizes[g]).reshape(self.sizes[f], self.sizes[g])


class Flips:
    """Section 6 for distinct combinations of the levels of rows of one group and label in another group."""

    def __init__(self, own, target, own_all, target_all, eligible, barred):
        self.own, self.target, self.own_all, self.target_all = own, target, own_all, target_all
        self.eligible, self.barred = eligible, barred

    def __call__(self, patterns):
        self.levels = patterns.copy()
        self.locked = np.zeros(patterns.shape, dtype=bool)
        n_impossible = np.zeros(len(patterns), dtype=np.int32)
        for f in self.eligible:
            a, b = self.own_all.spread(f), self.target_all.spread(f)
            n_b, a, b = b.sum(), a / a.sum(), b / b.sum()
            gone = (b <= adult.IMPOSSIBLE + EPS) & (b <= adult.IMPOSSIBLE_RATIO * a + EPS) & (n_b * a >= adult.MIN_EXPECTED - EPS)
            changed, _ = self.change(np.flatnonzero(gone[patterns[:, f]]), f, self.target)
            n_impossible[changed] += 1
        roots = {}
        for f in self.eligible:
            a, b = self.own.spread(f), self.target.spread(f)
            leaves = a / a.sum() - b / b.sum() >= adult.TAU - EPS
            roots[f] = leaves[self.levels[:, f]] & ~self.locked[:, f]
        for f in self.eligible:
            rows = np.flatnonzero(roots[f] & ~self.locked[:, f])
            self.change_and_descend(rows, f, self.target, self.target, 1)
        return self.levels, n_impossible

    def change(self, rows, f, target):
        """Gives the rows their likely new level (6.4); the rows that got one, and the old levels of all."""
        old = self.levels[rows, f]
        if not len(rows):
            return rows, old
        options = target.spread(f)
        total = options.sum()
        tables = {}
        for g in range(self.levels.shape[1]):
            if g != f:
                pairs = target.pairs(f, g)
                tables[g] = np.log((pairs + 0.5) / (pairs.sum(axis=1, keepdims=True) + 0.5 * target.sizes[g]))
        best = np.full(len(rows), -np.inf)
        new = np.full(len(rows), -1, dtype=self.levels.dtype)
        for c in np.flatnonzero(options):
            if c == self.barred[f]:
                continue
            score = np.full(len(rows), np.log(options[c] / total))
            for g, table in tables.items():
                score += table[c, self.levels[rows, g]]
            wins = (c != old) & ((new < 0) | (score > best + adult.BETTER))
            best[wins], new[wins] = score[wins], c
        found = new >= 0
        changed = rows[found]
        self.levels[changed, f] = new[found]
        self.locked[changed, f] = True
        return changed, old[found]

    def change_and_descend(self, rows, f, target, pool, depth):
        changed, old = self.change(rows, f, target)
        if not len(changed) or depth >= adult.MAX_DEPTH:
            return
        new = self.levels[changed, f]
        for u, w in np.unique(np.column_stack([old, new]), axis=0):
            self.descend(changed[(old == u) & (new == w)], pool.where(f, u), pool.where(f, w), depth)

    def descend(self, rows, before, after, depth):
        for g in self.eligible:
            a, b = before.spread(g), after.spread(g)
            if min(a.sum(), b.sum()) < max(1, adult.MIN_SUPPORT):
                continue
            leaves = a / a.sum() - b / b.sum() >= adult.TAU - EPS
            hit = rows[leaves[self.levels[rows, g]] & ~self.locked[rows, g]]
            self.change_and_descend(hit, g, after, after, depth + 1)


def related(strata, joints, name, kind):
    """The two-sample test of greedy for one feature: for some label the largest difference of the distributions is beyond noise."""
    factor = np.sqrt(-np.log(adult.ALPHA / 2) / 2)
    for label in (0, 1):
        if kind == "number":
            a, b = strata[0, label][name], strata[1, label][name]
            x = np.union1d(a.x, b.x)
            share = lambda c: np.concatenate([[0], c.up_to])[np.searchsorted(c.x, x, side="right")] / c.total
            n_a, n_b, d = a.total, b.total, np.abs(share(a) - share(b)).max()
        else:
            a, b = (joints[g, label].spread(NOMINAL.index(name)) for g in (0, 1))
            n_a, n_b = a.sum(), b.sum()
            d = np.abs(a / n_a - b / n_b).max()
        if min(n_a, n_b) >= adult.MIN_STRATUM and d > factor * np.sqrt((n_a + n_b) / (n_a * n_b)):
            return True
    return False


class Filter:
    """Section 10: principal components of the reference, and the centroids of its sections."""

    def __init__(self, numbers, codes, sizes, stratum):
        n = len(stratum)
        self.mean = {name: v.mean() for name, v in numbers.items()}
        self.sd = {name: v.std() for name, v in numbers.items()}
        self.share = {name: np.bincount(v, minlength=sizes[name]) / n for name, v in codes.items()}
        self.shown = {name: np.flatnonzero(p * (1 - p) > 0)[1 if sizes[name] == 2 else 0:] for name, p in self.share.items()}
        width = len(numbers) + sum(map(len, self.shown.values()))
        products = np.zeros((width, width))
        for s in range(0, n, ROWS_AT_ONCE):
            z = self.z({k: v[s:s + ROWS_AT_ONCE] for k, v in numbers.items()}, {k: v[s:s + ROWS_AT_ONCE] for k, v in codes.items()})
            products += z.T @ z
        values, vectors = np.linalg.eigh(products / n)
        values, vectors = values[::-1], vectors[:, ::-1]
        rank = int((values > 1e-10 * values[0]).sum())
        share = np.cumsum(values) / values.sum()
        enough = int((share < adult.FILTER["explained"] - EPS).sum()) + 1
        self.weights = vectors[:, :max(1, min(max(enough, 2), adult.FILTER["max_components"], rank))]
        # What a level adds to the scores: a table per feature.
        start = len(numbers)
        self.tables = {}
        for name, shown in self.shown.items():
            p = self.share[name][shown]
            z = (np.eye(sizes[name])[:, shown] - p) / np.sqrt(p * (1 - p))
            self.tables[name] = z @ self.weights[start:start + len(shown)]
            start += len(shown)
        sums, squares = np.zeros((4, self.weights.shape[1])), np.zeros((4, self.weights.shape[1]))
        for s in range(0, n, ROWS_AT_ONCE):
            t = self.scores({k: v[s:s + ROWS_AT_ONCE] for k, v in numbers.items()}, {k: v[s:s + ROWS_AT_ONCE] for k, v in codes.items()})
            for section in range(4):
                chosen = t[stratum[s:s + ROWS_AT_ONCE] == section]
                sums[section] += chosen.sum(axis=0)
                squares[section] += (chosen * chosen).sum(axis=0)
        count = np.bincount(stratum, minlength=4)[:, None]
        self.centre = sums / count
        self.spread = squares / count - self.centre ** 2

    def z(self, numbers, codes):
        columns = [(v - self.mean[name]) / self.sd[name] for name, v in numbers.items()]
        for name, v in codes.items():
            for level in self.shown[name]:
                p = self.share[name][level]
                columns.append(((v == level) - p) / np.sqrt(p * (1 - p)))
        return np.column_stack(columns)

    def scores(self, numbers, codes):
        t = np.column_stack([(v - self.mean[name]) / self.sd[name] for name, v in numbers.items()]) @ self.weights[:len(numbers)]
        for name, v in codes.items():
            t += self.tables[name][v]
        return t

    def distance(self, numbers, codes, section):
        squares = (self.scores(numbers, codes) - self.centre[section]) ** 2
        spread = self.spread[section]
        ratio = (squares.sum(axis=1, keepdims=True) - squares) / (spread.sum(axis=1, keepdims=True) - spread)
        return np.sqrt(ratio.max(axis=1))


def main():
    strategy, source, out = sys.argv[1:]
    numbers, codes, levels, group, label, row = adult.read(source)
    start = time.process_time()
    stratum = (group * 2 + label).astype(np.int8)
    sizes = {name: len(levels[name]) for name in NOMINAL}
    size = [sizes[name] for name in NOMINAL]

    # The reference: distributions of numbers, combinations of levels.
    key = np.zeros(len(row), dtype=np.int64)
    for name in NOMINAL:
        key = key * sizes[name] + codes[name]
    combination, inverse = np.unique(key, return_inverse=True)
    patterns = np.empty((len(combination), len(NOMINAL)), dtype=np.int16)
    for f in reversed(range(len(NOMINAL))):
        combination, patterns[:, f] = np.divmod(combination, size[f])
    strata, joints, present = {}, {}, {}
    for g in (0, 1):
        for y in (0, 1):
            rows = np.flatnonzero(stratum == g * 2 + y)
            if len(rows) < adult.MIN_STRATUM:
                sys.exit("a stratum of Adult is small: this script has no fall-back for that")
            strata[g, y] = {name: Cdf(numbers[name][rows]) for name in NUMBERS}
            counts = np.bincount(inverse[rows], minlength=len(patterns))
            present[g, y] = np.flatnonzero(counts)
            joints[g, y] = Joint(patterns[present[g, y]], counts[present[g, y]].astype(np.float64), size)
    whole = {g: Joint(np.vstack([joints[g, y].combinations for y in (0, 1)]), np.concatenate([joints[g, y].counts for y in (0, 1)]), size)
             for g in (0, 1)}
    if strategy == "greedy":
        moves = [name for name in NUMBERS if related(strata, joints, name, "number")]
        moves += [name for name in NOMINAL if related(strata, joints, name, "levels")]
    else:
        moves = adult.MOVE
    centroids = Filter(numbers, codes, sizes, stratum) if strategy == "plausible" else None
    barred = [levels[name].index(adult.MISSING) if adult.MISSING in levels[name] else -1 for name in NOMINAL]
    eligible = [f for f, name in enumerate(NOMINAL) if name in moves]

    learnt = time.process_time()

    # Decisions on levels, once per combination, group and label.
    decided = np.empty((4, len(patterns), len(NOMINAL)), dtype=np.int16)
    impossible = np.zeros((4, len(patterns)), dtype=np.int32)
    for (a, y), at in present.items():
        flips = Flips(joints[a, y], joints[1 - a, y], whole[a], whole[1 - a], eligible, barred)
        decided[a * 2 + y, at], impossible[a * 2 + y, at] = flips(patterns[at])

    making = time.process_time() - learnt
    words = {name: pa.array(levels[name]) for name in NOMINAL}
    writer = None
    for s in range(0, len(row), ROWS_AT_ONCE):
        begun = time.process_time()
        part = slice(s, s + ROWS_AT_ONCE)
        here, combos = stratum[part], inverse[part]
        n = len(here)
        old = {name: numbers[name][part] for name in NUMBERS}
        new = {name: v.copy() for name, v in old.items()}
        clamped = np.zeros(n, dtype=np.int32)
        for k in range(4):
            rows = np.flatnonzero(here == k)
            if not len(rows):
                continue
            a, y = divmod(k, 2)
            for name in NUMBERS:
                if name in moves:
                    own, to, v = strata[a, y][name], strata[1 - a, y][name], old[name][rows]
                    new[name][rows] = ordinal(own, to, v) if name in ORDINAL else continuous(own, to, v)
                    if name in CONTINUOUS:
                        clamped[rows] += (v < own.x[0]) | (v > own.x[-1])
        after = decided[here, combos]
        n_changed = (after != patterns[combos]).sum(axis=1, dtype=np.int32)
        for name in NUMBERS:
            n_changed += np.abs(new[name] - old[name]) > 1e-9 * np.maximum(1, np.abs(old[name]))
        to_group = 1 - group[part]
        new_codes = {name: after[:, f] for f, name in enumerate(NOMINAL)}
        if centroids is not None:
            distance = centroids.distance(new, new_codes, to_group * 2 + label[part])
            valid = distance <= adult.FILTER["k"] + EPS
        making += time.process_time() - begun
        text = lambda positions, names: pa.DictionaryArray.from_arrays(pa.array(positions, pa.int32()), names).cast(pa.string())
        columns = {
            "row_id": row[part],
            "source_group": text(group[part], pa.array(GROUPS)),
            "target_group": text(to_group, pa.array(GROUPS)),
            "cf_index": np.zeros(n, dtype=np.int32),
            adult.SENSITIVE: text(to_group, pa.array(GROUPS)),
            **{name: v.astype(np.int64) for name, v in new.items()},
            **{name: text(v, words[name]) for name, v in new_codes.items()},
            adult.LABEL: label[part],
            "n_changed": n_changed, "n_impossible": impossible[here, combos], "n_clamped": clamped,
            "n_fallback": np.zeros(n, dtype=np.int32), "n_kept": np.zeros(n, dtype=np.int32),
        }
        assert list(columns)[-len(COUNTERS):] == COUNTERS
        if centroids is not None:
            columns |= {"plausibility": distance, "valid": valid}
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(out, table.schema, compression="zstd")
        writer.write_table(table, row_group_size=ROWS_AT_ONCE)
    writer.close()
    print(json.dumps({"learnt": learnt - start, "made": making, "n": len(row)}))


if __name__ == "__main__":
    main()
