"""Sessions of different kinds that begin at the same time; each needs a library, and the libraries import one
another."""

from __future__ import annotations

import asyncio
import importlib
import sys
import threading
from pathlib import Path

import pytest

from sidecar.daemon.handlers import imported
from tests.patience import PATIENCE_S

WAITS = f"import threading\nfrom tests.daemon.test_imports import GO_ON\nGO_ON.wait({PATIENCE_S})\n"
NOTES = "import threading\nthread = threading.get_ident()\n"
GO_ON = threading.Event()


async def test_what_two_sessions_need_is_imported_by_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # If two threads import modules that wait for one another, Python raises _DeadlockError.
    (tmp_path / "imported_slowly.py").write_text(WAITS + NOTES)
    (tmp_path / "imported_quickly.py").write_text(NOTES)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    first = asyncio.create_task(imported("imported_slowly"))
    second = asyncio.create_task(imported("imported_quickly"))
    await asyncio.sleep(0)  # both have begun
    GO_ON.set()
    (slowly,), (quickly,) = await first, await second
    assert slowly.thread == quickly.thread != threading.get_ident()
    for name in ("imported_slowly", "imported_quickly"):
        del sys.modules[name]
