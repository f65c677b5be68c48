"""The states of an index on their way to an editor."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sidecar.model.terms import never_cancelled, no_progress
from sidecar.surfaces.lsp.status import StatusFeed
from tests.fakes import FakeWorkspace

PATIENCE_S = 30


async def test_a_state_that_cannot_be_sent_keeps_back_none_of_those_after_it() -> None:
    workspace, ready = FakeWorkspace({"a.py": "def a():\n    return 1\n"}), asyncio.Event()
    asked: list[str] = []

    def notify(method: str, params: Any) -> None:
        asked.append(params["status"])
        if len(asked) == 1:
            raise OSError("the client does not read")
        if params["status"] == "ready":
            ready.set()

    feed = StatusFeed(lambda _: workspace, notify, str, interval_s=0.01)
    with pytest.raises(OSError, match="does not read"):
        await feed.watch(workspace.root)
    workspace.create(no_progress, never_cancelled)
    try:
        await asyncio.wait_for(ready.wait(), PATIENCE_S)
    finally:
        feed.close()
