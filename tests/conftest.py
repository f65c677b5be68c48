"""Every program that a test starts works in its own process and leaves no daemon behind, unless the test says otherwise
(tests/daemon)."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import sidecar.no_telemetry  # noqa: F401

import pytest
from hypothesis import settings

settings.register_profile("sidecar", deadline=None)  # on a busy machine any example may take long
settings.register_profile("inner-loop", deadline=None, max_examples=25)
settings.load_profile("sidecar")
os.environ["CI"] = "1"
os.environ["SIDECAR_CHECK_LOCKS"] = "1"
os.environ["TERM"] = "xterm"  # the terminal in which the tests run has no influence: neither colours nor links
for _variable in (
    "NO_COLOR",
    "TERM_PROGRAM",
    "VTE_VERSION",
    "KONSOLE_VERSION",
    "WT_SESSION",
    "KITTY_WINDOW_ID",
    "DOMTERM",
):
    os.environ.pop(_variable, None)
for _variable in ("HTTP_PROXY", "ALL_PROXY", "HTTPS_PROXY"):  # every server that a test uses is on this machine
    os.environ.pop(_variable, None)
    os.environ.pop(_variable.lower(), None)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, every process compiles its modules anew
sys.dont_write_bytecode = False  # with it, pytest rewrites the asserts of every test file at each start
signal.signal(signal.SIGINT, signal.default_int_handler)  # in a shell's background it would be ignored

_TESTS = Path(__file__).parent
_PROGRAMS = frozenset({"daemon", "e2e", "spec"})
"""Folders whose tests all need real programs."""
_PROGRAM_FIXTURES = frozenset({"data_folder", "hostile", "seen", "seen_by_keys", "served", "server", "siege"})
"""Fixtures that start a program; most of them are a module's. No other fixture may have one of these names."""
_STARTS_A_PROCESS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"})


_ALL_START_ONE = re.compile(r"^pytestmark = \[?\s*(pytest\.mark\.\w+,\s*)*pytest\.mark\.process\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Does not import folders and files of which `make check` would run no test, because collecting takes each worker
    seconds."""
    if config.option.markexpr != "not process":
        return None
    if collection_path.suffix == ".py":
        return True if _ALL_START_ONE.search(collection_path.read_text(encoding="utf-8")) else None
    return True if collection_path.parent == _TESTS and collection_path.name in _PROGRAMS else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exempts what collecting makes from garbage collection, which took a quarter of the time: all of it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests that start programs, and puts the files with slow tests first, so that no worker is still busy with
    one at the end. A test with programs that failed runs once more, as those of the editor do; `make test` lists it as
    flaky, with its first failure, if it then passes. No other test gets a second try.
    """
    for item in items:
        in_programs = any(item.path.is_relative_to(_TESTS / folder) for folder in _PROGRAMS)
        if in_programs or _PROGRAM_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("process")
        if item.get_closest_marker("process"):
            item.add_marker(pytest.mark.flaky(reruns=1))
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


class _Watch:
    """Fails a test without the mark if a process is started while it is set up, runs or is torn down. An audit hook,
    which cannot be removed, sees every start.
    """

    def __init__(self) -> None:
        self._test = ""
        sys.addaudithook(self._look)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Covers the whole test, so that fixtures of its module and class are watched too."""
        self._test = "" if item.get_closest_marker("process") else item.nodeid
        try:
            return (yield)
        finally:
            self._test = ""

    def _look(self, event: str, _: object) -> None:
        if self._test and event in _STARTS_A_PROCESS:
            raise RuntimeError(f"{self._test} starts a process: mark it `process`, so that `make check` leaves it out.")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Watch())
