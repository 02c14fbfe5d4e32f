"""A generator of counterfactuals: the optimal transport between two normal distributions, which a Wasserstein GAN approximates.

python3 gaussian.py COLUMN ...      people of two groups on standard input, their counterfactuals on standard output; needs pyarrow and numpy

These columns of a group are taken for normally distributed with the mean m and the covariance of the people sent. A person x of group A gets
m_B + T (x - m_A) with T = A^(-1/2) (A^(1/2) B A^(1/2))^(1/2) A^(-1/2), where A and B are the covariances (Peyre and Cuturi 2019, remark 2.31). A
column that holds whole numbers keeps them; all other columns, and people who lack one of the numbers, stay as they are.
"""

import sys

import numpy as np
import pyarrow as pa


def root(matrix, power):
    values, vectors = np.linalg.eigh(matrix)
    return vectors @ np.diag(np.maximum(values, 1e-12) ** power) @ vectors.T


def main():
    names = sys.argv[1:]
    people = pa.ipc.open_stream(sys.stdin.buffer).read_all()
    numbers = np.array([people.column(name).cast(pa.float64()).to_numpy(zero_copy_only=False) for name in names]).T
    own = np.array([str(group) for group in people.column("from_group").to_pylist()])
    complete = ~np.isnan(numbers).any(axis=1)
    groups = sorted(set(own))
    moved = numbers.copy()
    for group, other in (groups, groups[::-1]):
        a, b = numbers[complete & (own == group)], numbers[complete & (own == other)]
        first, second = np.cov(a.T), np.cov(b.T)
        step = root(first, -0.5) @ root(root(first, 0.5) @ second @ root(first, 0.5), 0.5) @ root(first, -0.5)
        moved[complete & (own == group)] = b.mean(axis=0) + (a - a.mean(axis=0)) @ step
    known = ~np.isnan(numbers)
    for at in range(len(names)):
        if (numbers[known[:, at], at] % 1 == 0).all():
            moved[:, at] = np.round(moved[:, at])
    columns = {name: people.column(name) for name in ("row_id", "to_group", "cf_index")}
    for at, name in enumerate(names):
        values = pa.array(moved[:, at], pa.float64(), mask=~known[:, at])
        columns[name] = values.cast(people.schema.field(name).type)
    made = pa.table(columns)
    with pa.ipc.new_stream(sys.stdout.buffer, made.schema) as stream:
        stream.write_table(made)


if __name__ == "__main__":
    main()
