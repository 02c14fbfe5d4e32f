"""The plugin for pytest: the fixture `assert_fair`, the marker `fair` and an option.

::

    @pytest.mark.fair(sensitive="sex", reference="m", favourable=1, harm_to="f", at_most=0.05)
    def test_model(assert_fair, model, X, y):
        assert_fair(model, X, y)

The fixture is `cfaudit.assert_fair` with the arguments of the marker as defaults, an output folder
and a cache below the base folder of pytest, and `--fair-inconclusive` for what becomes of gates that cannot be
decided. At collection it loads nothing but the standard library.
"""

from __future__ import annotations

import re

import pytest

from cfaudit._call import assert_fair as _assert_fair

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cfaudit._audit import Audit

#: The words of the marker in `pytest --markers`.
MARKER = (
    "fair(**arguments): a test that audits a model; the arguments are defaults of the fixture "
    "`assert_fair`, those of `cfaudit.assert_fair`"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option for gates that cannot be decided."""
    parser.getgroup("cfaudit").addoption(
        "--fair-inconclusive",
        choices=("fail", "skip"),
        default="fail",
        help="what becomes of tests whose gates cannot be decided, such as those with too few "
        "people: fail (the default) or skip; `inconclusive=` of a marker or a call goes first",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def assert_fair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Audit]:
    """`cfaudit.assert_fair` with the arguments of the marker `fair`; each call has its own folder."""
    defaults: dict[str, Any] = {"inconclusive": request.config.getoption("--fair-inconclusive")}
    # The marker that is nearest to the test goes first.
    for marker in reversed(list(request.node.iter_markers("fair"))):
        defaults.update(marker.kwargs)
    name = re.sub(r"[^A-Za-z0-9_]+", "-", request.node.name).strip("-")[:80]

    def call(model: Any, X: Any, y: Any, **arguments: Any) -> Audit:
        __tracebackhide__ = True
        folder = tmp_path_factory.mktemp("fair")
        own = {"name": name, "out": folder / name, "arguments": ["--cache", folder / "cache"]}
        return _assert_fair(model, X, y, **{**own, **defaults, **arguments})

    return call
