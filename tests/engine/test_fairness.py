"""Several workspaces in one process: fair turns, searches that nothing delays, memory that is given back when idle."""

from __future__ import annotations

import gc
import queue
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.engine.concurrency.fair_slots import FairSlots
from sidecar.engine.ports import Parts
from sidecar.engine.wiring import real_parts
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.engine.workspaces import OpenWorkspaces
from sidecar.model.answers import SearchAnswer, SearchRequest, StatusAnswer
from sidecar.model.terms import Embedder, never_cancelled, no_progress
from sidecar.model.workspace import Workspace
from sidecar.settings.load import Settings
from tests.engine.projects import make_store_in_memory
from tests.patience import PATIENCE_S, first_that, until

pytestmark = pytest.mark.process


@pytest.fixture
def workspaces(tmp_path: Path) -> Iterator[OpenWorkspaces]:
    """The open workspaces of one process."""
    workspaces = OpenWorkspaces(tmp_path / "home", parts_of(tmp_path / "home"))
    yield workspaces
    workspaces.close()


@contextmanager
def noting_models(home: Path) -> Iterator[tuple[OpenWorkspaces, list[weakref.ref[Embedder]]]]:
    """The same, and the models that were loaded, as long as somebody holds them."""
    parts, loaded = parts_of(home), list[weakref.ref[Embedder]]()

    def load(settings: Settings) -> Embedder:
        embedder = parts.make_embedder(settings)
        loaded.append(weakref.ref(embedder))
        return embedder

    workspaces = OpenWorkspaces(home, replace(parts, make_embedder=load))
    yield workspaces, loaded
    workspaces.close()


def parts_of(home: Path) -> Parts:
    parts = real_parts({}, {}, {"SIDECAR_HOME": str(home), "HOME": str(home)})
    return replace(parts, make_store=make_store_in_memory)


def make(folder: Path, files: int) -> str:
    folder.mkdir()
    for number in range(files):
        (folder / f"module_{number}.py").write_text(f"def function_{number}(value):\n    return value + {number}\n")
    return str(folder)


def paths(workspace: Workspace, query: str) -> list[str]:
    return [hit.path for hit in workspace.search(SearchRequest(query), never_cancelled).hits]


def paths_when_fresh(workspace: Workspace, query: str) -> list[str]:
    """On a busy machine a changed file is not indexed within the time that a search waits, and the answer says so."""
    answers: list[SearchAnswer] = []

    def says_nothing_is_missing() -> bool:
        answers.append(workspace.search(SearchRequest(query), never_cancelled))
        return not answers[-1].notice

    until(says_nothing_is_missing)
    return [hit.path for hit in answers[-1].hits]


def test_a_search_is_answered_while_another_workspace_is_held_up_in_its_indexing(
    workspaces: OpenWorkspaces, tmp_path: Path
) -> None:
    small, large = workspaces.get(make(tmp_path / "small", 3)), workspaces.get(make(tmp_path / "large", 200))
    small.refresh(no_progress, never_cancelled)
    searched = threading.Event()
    found: list[list[str]] = []

    def hold(done: int, total: int, message: str) -> None:
        if done:
            assert searched.wait(PATIENCE_S), "the search waits for the other workspace's indexing"

    indexing = threading.Thread(target=large.refresh, args=(hold, never_cancelled))
    indexing.start()
    found.append(paths(small, "function_1"))
    searched.set()
    indexing.join(PATIENCE_S)
    assert found[0][0] == "module_1.py"
    assert paths(large, "function_150")[0] == "module_150.py"


def test_who_waits_for_a_turn_has_it_before_whoever_holds_one_goes_on() -> None:
    fair_slots = FairSlots(slots=1)
    order: list[str] = []

    def small() -> None:
        with fair_slots.taking(never_cancelled):
            order.append("small")

    with fair_slots.taking(never_cancelled) as next_batch:
        order.append("large 1")
        waiting = threading.Thread(target=small)
        waiting.start()
        until(fair_slots.wanted)
        assert not next_batch()
        order.append("large 2")
    waiting.join(PATIENCE_S)
    assert order == ["large 1", "small", "large 2"]


def test_who_is_cancelled_waits_for_no_turn_and_leaves_none_behind() -> None:
    fair_slots = FairSlots(slots=1)
    with fair_slots.taking(never_cancelled), fair_slots.taking(lambda: True) as stop:
        assert stop()
    with fair_slots.taking(never_cancelled) as stop:
        assert not stop()


def test_a_small_workspace_is_indexed_while_a_large_one_is_not_yet_done(
    workspaces: OpenWorkspaces, tmp_path: Path
) -> None:
    small, large = workspaces.get(make(tmp_path / "small", 3)), workspaces.get(make(tmp_path / "large", 400))
    order: list[str] = []
    begun, small_is_done = threading.Event(), threading.Event()

    def large_progress(done: int, total: int, message: str) -> None:
        if done:
            begun.set()
            # The small one needs only some turns. Without fair turns this test could not end.
            assert done < total or small_is_done.wait(PATIENCE_S)

    def index_large() -> None:
        large.refresh(large_progress, never_cancelled)
        order.append("large")

    indexing = threading.Thread(target=index_large)
    indexing.start()
    assert begun.wait(PATIENCE_S)
    small.refresh(no_progress, never_cancelled)
    order.append("small")
    small_is_done.set()
    indexing.join(PATIENCE_S)
    assert order == ["small", "large"]


def test_workspaces_share_one_loaded_model_and_one_file_of_vectors(tmp_path: Path) -> None:
    with noting_models(tmp_path / "home") as (workspaces, loaded):
        for root in (make(tmp_path / "one", 3), make(tmp_path / "two", 3)):
            workspace = workspaces.get(root)
            workspace.refresh(no_progress, never_cancelled)
            assert paths(workspace, "function_1")
    assert len(loaded) == 1
    assert [p.name for p in (tmp_path / "home").rglob("vectors.sqlite")] == ["vectors.sqlite"]


def test_an_idle_workspace_gives_model_and_store_back_and_the_next_call_brings_them_back(tmp_path: Path) -> None:
    root = make(tmp_path / "work", 5)
    with noting_models(tmp_path / "home") as (workspaces, loaded):
        workspace = workspaces.get(root)
        workspace.refresh(no_progress, never_cancelled)
        announced: list[StatusAnswer] = []
        end = workspace.on_change(announced.append)
        before = workspace.status()
        (model,) = loaded
        workspaces.rest(after_s=3600)
        assert model() is not None
        workspaces.rest(after_s=0)
        gc.collect()
        assert model() is None
        asleep = workspace.status()
        assert (asleep.status, asleep.files, asleep.watcher_active) == (before.status, before.files, False)
        assert announced[-1].status == "ready"
        Path(root, "late.py").write_text("def came_while_asleep():\n    pass\n")
        assert paths_when_fresh(workspace, "came_while_asleep")[0] == "late.py"
        assert workspace.status().files == before.files + 1
        end()


def test_a_changed_strategy_is_applied_without_a_call_and_announced_by_an_idle_workspace(
    workspaces: OpenWorkspaces, tmp_path: Path
) -> None:
    workspace = workspaces.get(make(tmp_path / "work", 3))
    announced: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.refresh(no_progress, never_cancelled)
    config = Path(workspace.config().config_path)
    end = workspace.on_change(announced.put)
    config.write_text('{"indexingStrategy": "lazy"}')
    workspaces.reload_settings()
    first_that(lambda status: status.strategy == "lazy", announced)
    end()
    workspaces.rest(after_s=0)
    config.write_text('{"indexingStrategy": "git"}')
    assert workspace.status().strategy == "git"


def test_a_workspace_in_use_does_not_rest(workspaces: OpenWorkspaces, tmp_path: Path) -> None:
    workspace = workspaces.get(make(tmp_path / "work", 100))
    assert isinstance(workspace, IndexedWorkspace)
    seen: list[bool] = []

    def progress(done: int, total: int, message: str) -> None:
        workspaces.rest(after_s=0)
        seen.append(workspace.resting)

    workspace.refresh(progress, never_cancelled)
    assert seen and not any(seen)


def test_text_that_an_editor_has_not_saved_is_searched_again_after_a_rest(
    workspaces: OpenWorkspaces, tmp_path: Path
) -> None:
    workspace = workspaces.get(make(tmp_path / "work", 3))
    workspace.refresh(no_progress, never_cancelled)
    workspaces.rest(after_s=0)
    workspace.set_buffer("module_1.py", "def typed_but_not_saved():\n    pass\n")
    assert paths_when_fresh(workspace, "typed_but_not_saved")[0] == "module_1.py"
