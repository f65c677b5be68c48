"""The lexical index is merged after saved files and further when a workspace is idle, and keeps its content."""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import cast

import pytest

from sidecar.engine.concurrency.fair_slots import FairSlots
from sidecar.engine.concurrency.right_of_way import RightOfWay
from sidecar.engine.index.generation import Writer
from sidecar.engine.ingest import plan
from sidecar.engine.ingest.workspace_files import WorkspaceFiles
from sidecar.engine.update import builder
from sidecar.engine.update.activity import Activity
from sidecar.engine.update.builder import Builder
from sidecar.engine.update.jobs import Jobs
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import Cancelled, SidecarError
from sidecar.model.answers import StatusAnswer
from sidecar.model.terms import Collection, Ids, Vectors, never_cancelled, no_progress
from sidecar.parts.lexical import LexicalIndex, merge_choice
from sidecar.parts.lexical.merge_choice import FEW_SEGMENTS, MERGE_FACTOR
from sidecar.parts.lexical.stepped_merge import MOST_LEFT, SteppedMerge
from sidecar.parts.vectors.in_memory import InMemoryStore
from tests.engine.projects import Project, find, image, index
from tests.patience import PATIENCE_S, first_that, until

pytestmark = pytest.mark.process


def save_six_times(project: Project, workspace: IndexedWorkspace) -> None:
    """Leaves more segments than remain at rest."""
    for number in range(6):
        project.write("src/retry.py", f"def retry_backoff{number}():\n    return 'cookies'\n" * 40 * (number + 1))
        workspace.reindex_file("src/retry.py")


def test_a_first_index_of_several_commits_is_left_in_one_segment(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_choice, "SMALL", 200)
    for number in range(150):
        project.write(f"src/part{number}.py", f"def retry_backoff{number}():\n    return 'cookies'\n")
    index(project.open())
    assert segments_of(project) == 1


def test_segments_are_merged_when_a_workspace_comes_to_rest(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    save_six_times(project, workspace)
    before = image(workspace)
    assert segments_of(project) > MOST_LEFT, "there is something to merge"
    assert workspace.rest(0.0)
    assert segments_of(project) <= MOST_LEFT
    assert image(workspace) == before


def test_segments_are_merged_before_the_store_is_filled(project: Project) -> None:
    """The next searches gain by merging, and by the store only if it is asked. To fill it can take many minutes."""
    when_filled: list[int] = []

    class NotingStore(InMemoryStore):
        def add(self, collection: Collection, ids: Ids, vectors: Vectors, texts: Sequence[bytes] = ()) -> None:
            when_filled.append(segments_of(project))
            super().add(collection, ids, vectors, texts)

    project.make_store = lambda _settings, _folder, dimension, _model, _root: NotingStore(dimension)
    workspace = project.open()
    index(workspace)
    save_six_times(project, workspace)
    assert segments_of(project) > MOST_LEFT, "there is something to merge"
    assert workspace.rest(0.0)
    assert when_filled
    assert max(when_filled) <= MOST_LEFT


def test_resting_with_few_segments_writes_nothing(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    before = revision_of(project)
    generation = workspace.index.readable()
    assert generation.writer is not None
    generation.writer.indexer.merge_in_steps(lambda: False, at_rest=True)
    assert revision_of(project) == before


def test_a_use_ends_the_merging(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    save_six_times(project, workspace)
    generation = workspace.index.readable()
    assert generation.writer is not None
    before = segments_of(project)
    asked = iter((False, True))
    generation.writer.indexer.merge_in_steps(lambda: next(asked), at_rest=True)
    assert segments_of(project) == before, "one step of several"
    generation.writer.indexer.merge_in_steps(lambda: False, at_rest=True)
    assert segments_of(project) <= MOST_LEFT


def test_segments_of_saved_files_are_merged_once_they_are_found(project: Project) -> None:
    seen: queue.Queue[StatusAnswer] = queue.Queue()
    project.watcher = True
    workspace = project.open()
    workspace.on_change(seen.put)
    index(workspace)
    first_that(lambda status: status.watcher_active, seen)
    before = segments_of(project)
    for number in range(MERGE_FACTOR + 2):
        project.write("src/retry.py", f"def retry_backoff{number}():\n    return 'cookies'\n")
        assert "src/retry.py" in find(workspace, f"retry_backoff{number}")
    until(lambda: segments_of(project) < before + MERGE_FACTOR)


def test_merging_leaves_the_revision_so_that_what_searches_have_made_of_it_stays(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    save_six_times(project, workspace)
    before, segments = revision_of(project), segments_of(project)
    generation = workspace.index.readable()
    assert generation.writer is not None
    generation.writer.indexer.merge_in_steps(lambda: False, at_rest=True)
    assert segments_of(project) < segments
    assert revision_of(project) == before


def test_files_that_are_indexed_again_by_patterns_are_left_in_few_segments(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = project.open()
    for number in range(MERGE_FACTOR + FEW_SEGMENTS):
        project.write(f"src/part{number}.py", f"def retry_backoff{number}():\n    return 'cookies'\n")
    index(workspace)
    monkeypatch.setattr(plan.batches, "__defaults__", (1, 1))
    report = workspace.index_matching(["src/part*.py"], True, no_progress, never_cancelled)
    assert report.indexed == MERGE_FACTOR + FEW_SEGMENTS
    assert segments_of(project) <= FEW_SEGMENTS


def test_who_has_one_file_indexed_does_not_wait_for_a_long_merge(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LexicalIndex, "merge_in_steps", lambda _: SteppedMerge(rows=4))
    workspace = project.open()
    index(workspace)
    for number in range(MERGE_FACTOR + 2):
        text = "".join(f"def retry_backoff{number}_{part}():\n    return {part}\n" for part in range(40))
        project.write("src/retry.py", text)
        workspace.reindex_file("src/retry.py")
    assert segments_of(project) > MERGE_FACTOR, "the merge goes on with the next file or change"
    tidy(workspace, never_cancelled)
    assert segments_of(project) < MERGE_FACTOR
    assert "src/retry.py" in find(workspace, f"retry_backoff{MERGE_FACTOR + 1}")


class Steps:
    """Steps of a merge that never ends. `step` is called within each, with its number."""

    def __init__(self, step: Callable[[int], object]) -> None:
        self.done = 0
        self._step = step

    def has_work(self, connection: sqlite3.Connection, *, at_rest: bool, alive: int | None = None) -> bool:
        return True

    def step(self, connection: sqlite3.Connection, *, at_rest: bool, alive: int | None = None) -> bool:
        self.done += 1
        self._step(self.done)
        return True


def test_no_thread_can_continue_a_merge_that_has_failed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    made: list[Steps] = []
    free: list[bool] = []

    def look() -> None:
        lock = writer_of(workspace).manifest.lock
        free.append(lock.acquire(blocking=False))
        if free[-1]:
            lock.release()

    def make(_: LexicalIndex) -> Steps:
        if made:
            in_another_thread(look)
        made.append(Steps(fail))
        return made[-1]

    monkeypatch.setattr(LexicalIndex, "merge_in_steps", make)
    workspace = project.open()
    index(workspace)
    with pytest.raises(SidecarError):
        writer_of(workspace).indexer.merge_in_steps(never_cancelled, at_rest=False)
    assert len(made) == 2, "the failed one has been replaced"
    assert free == [False], "the manifest is free only afterwards"


def test_threads_that_wait_for_the_manifest_get_it_between_two_steps(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds, waited, threads = 20, list[int](), list[threading.Thread]()

    def wait_for_the_manifest(since: int, waits: threading.Event) -> None:
        waits.set()
        with writer.manifest.lock:
            waited.append(steps.done - since)

    def step(number: int) -> None:
        if len(threads) == len(waited):
            waits = threading.Event()
            threads.append(threading.Thread(target=wait_for_the_manifest, args=(number, waits)))
            threads[-1].start()
            assert waits.wait(PATIENCE_S)

    steps = Steps(step)
    monkeypatch.setattr(LexicalIndex, "merge_in_steps", lambda _: steps)
    workspace = project.open()
    index(workspace)
    writer = writer_of(workspace)
    writer.indexer.merge_in_steps(lambda: len(waited) == rounds, at_rest=False)
    assert sum(waited) <= 2 * rounds, f"they waited for so many further steps: {waited}"


def test_between_two_steps_the_generation_can_be_swapped(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, swapped = Steps(lambda _: None), list[int]()
    monkeypatch.setattr(LexicalIndex, "merge_in_steps", lambda _: steps)
    workspace = project.open()
    index(workspace)

    def stop() -> bool:
        if steps.done:
            with suppress(Cancelled), workspace.index.alone(lambda: True):
                swapped.append(steps.done)
        return steps.done >= 3

    tidy(workspace, stop)
    assert set(swapped) == {1, 2, 3}


def test_a_change_that_waits_is_seen_before_questions_go_first(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Watched(RightOfWay):
        gave_way = 0

        def give_way(self) -> None:
            self.gave_way += 1

    workspace = project.open()
    index(workspace)
    questions = Watched()
    monkeypatch.setattr(builder, "QUESTIONS", questions)
    tidy(workspace, lambda: True)
    assert questions.gave_way == 0
    tidy(workspace, never_cancelled)
    assert questions.gave_way > 0


def tidy(workspace: IndexedWorkspace, stop: Callable[[], bool]) -> None:
    """Merges what is due between changes, as after a batch of changes."""
    unused = cast(WorkspaceFiles, None)
    Builder(unused, workspace.index, Jobs(Activity(lambda: None), FairSlots())).tidy(stop)


def writer_of(workspace: IndexedWorkspace) -> Writer:
    writer = workspace.index.readable().writer
    assert writer is not None
    return writer


def in_another_thread(do: Callable[[], object]) -> None:
    thread = threading.Thread(target=do)
    thread.start()
    thread.join(PATIENCE_S)


def segments_of(project: Project) -> int:
    return _number(project, "SELECT count(*) FROM lexical_segments")


def revision_of(project: Project) -> int:
    return _number(project, "SELECT value FROM meta WHERE key = 'revision'")


def _number(project: Project, select: str) -> int:
    (place,) = project.home.glob("indexes/*/generations/*/manifest.sqlite")
    with sqlite3.connect(place) as connection:
        return int(connection.execute(select).fetchone()[0])
