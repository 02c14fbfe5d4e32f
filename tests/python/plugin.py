"""The plugin for pytest in a repository with other tests, run by tests/it/python_package.rs in a folder of its own with the program on PATH."""

import os
import re
import subprocess
import sys

CONFTEST = """
import sys

def pytest_collection_finish(session):
    heavy = {"cfaudit", "cfaudit.pytest"} & set(sys.modules)
    assert heavy == {"cfaudit", "cfaudit.pytest"}, heavy
    heavy = {"pandas", "pyarrow", "polars", "numpy", "mlflow"} & set(sys.modules)
    assert not heavy, f"collection loads {heavy}"
    print(f"collected {len(session.items)}")
"""

TESTS = """
import pytest

LIMIT = {"harm_to": "f", "at_most": 0.05}
pytestmark = pytest.mark.fair(sensitive="sex", reference="m", favourable=1, **LIMIT)

@pytest.mark.parametrize("i", range(200))
def test_other(i):
    assert i < 200

def rows(n):
    import pandas
    X = pandas.DataFrame({
        "sex": ["m" if i % 2 else "f" for i in range(n)],
        "age": [20 + i * 7 % 50 for i in range(n)],
    })
    return X, [i * 7 % 50 // 25 for i in range(n)]

def fair(rows):
    return rows["age"] / 100

def biased(rows):
    return rows["age"] / 100 + 0.2 * (rows["sex"] == "m")

def test_fair(assert_fair):
    audit = assert_fair(fair, *rows(600))
    assert audit.verdict == "pass" and "test_fair" in audit.folder
    assert assert_fair(fair, *rows(600)).folder != audit.folder

@pytest.mark.parametrize("of", ["a b"])
def test_biased(assert_fair, of):
    assert_fair(biased, *rows(600))

@pytest.mark.fair(at_most=0.99)
def test_nearest_marker(assert_fair):
    assert_fair(biased, *rows(600))

def test_few(assert_fair):
    assert_fair(fair, *rows(12))

@pytest.mark.fair(inconclusive="skip")
def test_few_may_skip(assert_fair):
    assert_fair(fair, *rows(12))

def test_call_goes_first(assert_fair):
    assert_fair(fair, *rows(12), inconclusive="skip")
"""

with open("conftest.py", "w") as file:
    file.write(CONFTEST)
with open("test_model.py", "w") as file:
    file.write(TESTS)


def tried(*flags):
    command = [sys.executable, "-m", "pytest", "-p", "cfaudit.pytest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-rfs", "--strict-markers", *flags], capture_output=True, encoding="utf-8", check=False
    )
    return done.returncode, done.stdout + done.stderr


status, said = tried("-s", "--basetemp", "base")
assert "collected 206" in said, said
assert status == 1 and "2 failed, 202 passed, 2 skipped" in said, said
# The failure is the line of the gate and the page, without the frames of this package.
line = r"E +gates\.harm: fail: \w+ \w to \w of audited is 0\.\d+ .*, limit 0\.0500; .*\nE +page: (.*)\n"
found = re.search(line, said)
assert found and os.path.isfile(found[1]) and "test_biased-a-b" in found[1], said
assert "_call.py" not in said and "cfaudit/pytest.py" not in said, said
assert re.search(r"SKIPPED .* verdict inconclusive", said), said
assert not os.path.exists("outputs"), os.listdir(".")

status, said = tried("-k", "few", "--fair-inconclusive", "skip")
assert status == 0 and "2 skipped" in said, said
status, said = tried("-m", "fair", "-k", "test_fair", "--markers")
assert status == 0 and "@pytest.mark.fair(**arguments)" in said, said
