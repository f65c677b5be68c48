"""Every program that a test starts works in its own process and leaves no daemon behind, unless the test says otherwise
(tests/daemon)."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import sidecar.no_telemetry  # noqa: F401

import pytest

os.environ["CI"] = "1"
os.environ["SIDECAR_CHECK_LOCKS"] = "1"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each of thousands of processes would compile its modules anew
sys.dont_write_bytecode = False  # and pytest would rewrite the asserts of every test file at each start
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background would ignore it

_TESTS = Path(__file__).parent
_PROGRAMS = frozenset({"daemon", "e2e", "spec"})
_STARTS_A_PROCESS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forbid-processes", action="store_true", help="fail a test that starts one without its mark")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole folders whose subject are real programs."""
    for item in items:
        if item.path.relative_to(_TESTS).parts[0] in _PROGRAMS:
            item.add_marker("process")


class _Watch:
    """Fails the running test when it starts a process. An audit hook sees all of them, and stays for good."""

    def __init__(self) -> None:
        self.test = ""
        sys.addaudithook(self._look)

    def _look(self, event: str, _: object) -> None:
        if self.test and event in _STARTS_A_PROCESS:
            raise RuntimeError(f"{self.test} starts a process: mark it `process`, so that `make check` leaves it out.")


@pytest.fixture(scope="session")
def _watch(request: pytest.FixtureRequest) -> _Watch | None:
    return _Watch() if request.config.getoption("--forbid-processes") else None


@pytest.fixture(autouse=True)
def _no_process_without_its_mark(request: pytest.FixtureRequest, _watch: _Watch | None) -> Iterator[None]:
    if _watch is None or request.node.get_closest_marker("process"):
        yield
        return
    _watch.test = request.node.name
    yield
    _watch.test = ""
