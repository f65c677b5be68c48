"""A saved file passes few modules between watcher and commit, and every call goes to the same layer or a lower one."""

from __future__ import annotations

import queue

import pytest

from sidecar.model.answers import StatusAnswer
from tests.engine.passed_modules import Passed
from tests.engine.projects import Project, find, index
from tests.patience import PATIENCE_S, first_that, until
from tests.test_layers import may_import

pytestmark = pytest.mark.process

MOST = 8
STATIONS = (
    "parts.watch:Watcher._report",
    "engine.update.change_queue:ChangeQueue.note",
    "engine.ingest.worker_pool:WorkerPool.prepare",
    "parts.embed.shared:EmbeddingCacheShare.add",
    "parts.manifest:Manifest.put_file",
)


@pytest.fixture
def passed(project: Project) -> Passed:
    """Returns the modules that a file passes when it is saved while the watcher runs."""
    trace = Passed(*STATIONS)
    seen: queue.Queue[StatusAnswer] = queue.Queue()
    project.watcher = True
    with trace.recording():
        workspace = project.open()
        workspace.on_change(seen.put)
        index(workspace)
        first_that(lambda status: status.watcher_active, seen)
        find(workspace, "anything")
        trace.recorded = True
        project.write("src/saved.py", "def tune_carburettor(engine):\n    return engine.mixture\n")
        until(lambda: not trace.missed(), lambda: seen.get(timeout=PATIENCE_S))
        project.close()
    return trace


def is_below(above: str, below: str) -> bool:
    """Whether a call goes to the same layer or a lower one; the engine calls the parts through its ports."""
    return may_import(above, below) or (above.startswith("engine.") and below.startswith("parts."))


def test_a_saved_file_passes_at_most_eight_modules_from_the_watcher_to_the_commit(passed: Passed) -> None:
    assert len(passed.modules()) <= MOST, " ".join(passed.modules())


def test_every_call_on_the_way_of_a_saved_file_goes_down(passed: Passed) -> None:
    up = [f"{above} calls {below}" for above, below in sorted(passed.calls()) if not is_below(above, below)]
    assert up == []
