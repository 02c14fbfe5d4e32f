#!/usr/bin/env python3
"""Writes sql.json: random expressions, the columns they read, and what DuckDB answers.

    pip install duckdb==2.0.0 && python3 tests/oracle/sql.py

Numbers are DOUBLE on both sides. An expression that DuckDB ends with an error at (a root or a logarithm of a number that has
none) is drawn again. Not finite numbers are missing, as the program makes them.
"""

import json
import math
import random
from pathlib import Path

import duckdb

ROWS, WANTED = 48, 260
draw = random.Random(20261122)


def column(kind):
    def one():
        if draw.random() < 0.15:
            return None
        if kind == "whole":
            return float(draw.randint(-4, 5))
        if kind == "number":
            return draw.choice([0.0, -0.0, 0.5, 2.5, -2.5, 1e6, draw.uniform(-50, 50), draw.uniform(0, 1)])
        if kind == "text":
            return draw.choice(["", "a", "A", "ab", "b%", " a ", "Ärzte", "x_y", "zz", "1.5", "-3"])
        if kind == "date":
            return draw.choice(["2024-02-29", "1999-12-31", "2026-11-20", "1970-01-01", "2000-03-01"])
        return draw.random() < 0.5

    return [one() for _ in range(ROWS)]


COLUMNS = {"a": "number", "b": "number", "k": "whole", "m": "whole", "s": "text", "t": "text", "p": "bool", "q": "bool",
           "d": "date", "e": "date"}
DATA = {name: column(kind) for name, kind in COLUMNS.items()}


def same(text):
    return text, text


def join(form, *parts):
    """The form filled with the program's texts, and with DuckDB's."""
    return form.format(*[p[0] for p in parts]), form.format(*[p[1] for p in parts])


def number(depth):
    if depth == 0 or draw.random() < 0.15:
        if draw.random() < 0.65:
            return same(draw.choice("abkm"))
        x = draw.choice(["0", "1", "2", "3", "0.5", "10", "2.25", "100"])
        return x, f"{x}::DOUBLE"
    n = lambda: number(depth - 1)
    forms = [
        lambda: join("({} + {})", n(), n()), lambda: join("({} - {})", n(), n()), lambda: join("({} * {})", n(), n()),
        lambda: join("({} / {})", n(), n()), lambda: join("(-{})", n()), lambda: join("abs({})", n()),
        lambda: join("floor({})", n()), lambda: join("ceil({})", n()), lambda: join("round({})", n()),
        lambda: join("sqrt(abs({}))", n()), lambda: join("ln(abs({}) + 1)", n()), lambda: join("exp(least({}, 20))", n()),
        lambda: join("log10(abs({}) + 0.5)", n()), lambda: join("power({}, 2)", n()), lambda: join("sign({})", n()),
        lambda: join("greatest({}, {})", n(), n()), lambda: join("least({}, {}, {})", n(), n(), n()),
        lambda: join("coalesce({}, {})", n(), n()), lambda: join("nullif({}, {})", n(), n()),
        lambda: join("({} % {})", n(), number(0)), lambda: join("mod({}, 3)", n()),
        lambda: join("CASE WHEN {} THEN {} ELSE {} END", truth(depth - 1), n(), n()),
        lambda: join("CASE WHEN {} THEN {} WHEN {} THEN {} END", truth(depth - 1), n(), truth(depth - 1), n()),
        lambda: join("CASE {} WHEN 1 THEN {} WHEN 2 THEN {} ELSE 7 END", same(draw.choice("km")), n(), n()),
        lambda: join("length({})", text(depth - 1)), lambda: join("TRY_CAST({} AS DOUBLE)", text(0)),
        lambda: (f"year({(d := draw.choice('de'))})", f"year({d}::DATE)"),
        lambda: (f"EXTRACT(month FROM {(d := draw.choice('de'))})", f"month({d}::DATE)"),
        lambda: ((u := draw.choice(["day", "month", "year"])) and f"date_diff('{u}', d, e)",
                 f"date_diff('{u}', d::DATE, e::DATE)"),
        lambda: join("round({}, 2)", same(draw.choice("ab"))),
    ]
    return draw.choice(forms)()


def text(depth):
    if depth == 0 or draw.random() < 0.2:
        return same(draw.choice(["s", "t", "'a'", "'Ab'", "''", "' x'"]))
    x = lambda: text(depth - 1)
    forms = [
        lambda: join("lower({})", x()), lambda: join("upper({})", x()), lambda: join("trim({})", x()),
        lambda: join("ltrim({})", x()), lambda: join("rtrim({})", x()), lambda: join("({} || {})", x(), x()),
        lambda: join("concat({}, {})", x(), x()), lambda: join("coalesce({}, {})", x(), x()),
        lambda: join("substr({}, 2)", x()), lambda: join("substring({}, 1, 2)", x()), lambda: join("left({}, 1)", x()),
        lambda: join("right({}, 2)", x()), lambda: join("replace({}, 'a', 'oo')", x()), lambda: join("nullif({}, '')", x()),
        lambda: join("CASE WHEN {} THEN {} ELSE {} END", truth(depth - 1), x(), x()),
        lambda: join("greatest({}, {})", x(), x()),
    ]
    return draw.choice(forms)()


def truth(depth):
    if depth <= 0 or draw.random() < 0.1:
        return same(draw.choice(["p", "q", "p", "q", "TRUE", "(a IS NULL)", "(k > 1)"]))
    n, x, b = (lambda: number(depth - 1)), (lambda: text(depth - 1)), (lambda: truth(depth - 1))
    sign = lambda: draw.choice(["=", "<>", "<", "<=", ">", ">="])
    forms = [
        lambda: join("({} " + sign() + " {})", n(), n()), lambda: join("({} " + sign() + " {})", x(), x()),
        lambda: join("({} AND {})", b(), b()), lambda: join("({} OR {})", b(), b()), lambda: join("(NOT {})", b()),
        lambda: join("({} IS NULL)", n()), lambda: join("({} IS NOT NULL)", x()), lambda: join("({} IS TRUE)", b()),
        lambda: join("({} IS NOT FALSE)", b()), lambda: join("({} IN (1, 2, -3))", same(draw.choice("km"))),
        lambda: join("({} NOT IN (1, NULL))", same(draw.choice("km"))), lambda: join("({} IN ('a', 'zz'))", x()),
        lambda: join("({} BETWEEN {} AND {})", n(), n(), n()), lambda: join("({} NOT BETWEEN {} AND 3)", n(), n()),
        lambda: join("({} LIKE '%a%')", x()), lambda: join("({} LIKE '_b%')", x()), lambda: join("({} ILIKE 'A%')", x()),
        lambda: join("starts_with({}, 'a')", x()), lambda: join("contains({}, 'b')", x()),
        lambda: join("({} IS DISTINCT FROM {})", n(), n()), lambda: join("({} IS NOT DISTINCT FROM {})", x(), x()),
    ]
    return draw.choice(forms)()


def answer(db, expression):
    rows = db.execute(f"SELECT {expression} FROM data ORDER BY row").fetchall()
    finite = lambda v: None if isinstance(v, float) and not math.isfinite(v) else v
    return [finite(float(v) if isinstance(v, int) and not isinstance(v, bool) else v) for (v,) in rows]


db = duckdb.connect()
db.execute("SET ieee_floating_point_ops = true")
types = {"text": "VARCHAR", "date": "VARCHAR", "bool": "BOOLEAN"}
db.execute("CREATE TABLE data (row INTEGER, " + ", ".join(f"{c} {types.get(k, 'DOUBLE')}" for c, k in COLUMNS.items()) + ")")
for i in range(ROWS):
    db.execute(f"INSERT INTO data VALUES ({', '.join('?' * (len(COLUMNS) + 1))})", [i] + [DATA[c][i] for c in COLUMNS])
cases, seen, failed = [], set(), {}
while len(cases) < WANTED:
    ours, duck = draw.choice([number, number, truth, text])(draw.randint(1, 4))
    if ours in seen or len(ours) > 600:
        continue
    seen.add(ours)
    try:
        cases.append({"sql": ours, "duckdb": duck, "answer": answer(db, duck)})
    except duckdb.Error as error:
        failed[str(error).split("\n")[0][:80]] = failed.get(str(error).split("\n")[0][:80], 0) + 1
print(duckdb.__version__, len(cases), "expressions; not taken:", failed)
case = lambda c: json.dumps(c, ensure_ascii=False)
body = ",\n".join(case(c) for c in cases)
columns = json.dumps(DATA, ensure_ascii=False)
Path(__file__).with_suffix(".json").write_text(
    f'{{"made_by": "tests/oracle/sql.py with DuckDB {duckdb.__version__}",\n"columns": {columns},\n"cases": [\n{body}\n]}}\n')
