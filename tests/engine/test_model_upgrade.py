"""Two stages: the quick model answers at once, the slow one's vectors are made in the background and take its place."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sidecar.engine.ingest.prepare import text_hash
from sidecar.engine.models.loader import Models
from sidecar.engine.update.model_upgrade import UPGRADE_THREAD
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import Cancelled
from sidecar.model.answers import SearchAnswer, SearchRequest, StatusAnswer
from sidecar.model.terms import Embedder, Vectors, never_cancelled, no_progress
from sidecar.settings.load import Settings
from tests.engine.projects import QUICK, SLOW, Project, find, image, index
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.process

BATCH = 32
WORDS = (
    "cookie expire retry backoff parse query string serve accept listen open close read write token stream buffer flush"
    " index merge split encode decode format print load store cache evict lock wait signal fork spawn join round trim"
).split()


@dataclass
class Tap:
    """Says how many texts the slow model may embed, and records the texts that it was given and how many at once."""

    allowed: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    embedded: list[bytes] = field(default_factory=list)
    together: list[int] = field(default_factory=list)
    open_wide: bool = False

    def open(self) -> None:
        self.open_wide = True
        self.allowed.release(10_000)


class TappedEmbedder:
    """The shipped transformer. Each text waits until the test releases it."""

    def __init__(self, inner: Embedder, tap: Tap) -> None:
        self._inner, self._tap = inner, tap
        self.model_id, self.dimension = inner.model_id, inner.dimension
        self.device, self.device_note = inner.device, inner.device_note

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self._tap.together.append(len(texts))
        for text in texts:
            if not self._tap.open_wide:
                assert self._tap.allowed.acquire(timeout=PATIENCE_S)
            self._tap.embedded.append(text_hash(text))
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._inner.embed_query(text)

    def close(self) -> None:
        pass


@pytest.fixture
def tap() -> Iterator[Tap]:
    made = Tap()
    yield made
    made.open()


@pytest.fixture
def staged(tmp_path: Path, models: Models, tap: Tap) -> Iterator[Project]:
    """Yields a workspace of 60 chunks whose settings name the slow model, in a long-lived process."""
    for shipped in (QUICK, SLOW):
        models.embedder(replace(Settings(), model=shipped))

    def make(settings: Settings) -> Embedder:
        # The models that are loaded by now: the project's own models are locked while they load one.
        inner = models.loaded(settings)
        assert inner is not None, settings.model
        return TappedEmbedder(inner, tap) if settings.model == SLOW else inner

    project = Project(tmp_path / "work", tmp_path / "home", {"model": SLOW}, Models(make), [], watcher=True)
    for number in range(59):
        one, two, three = (WORDS[(number * step + step) % len(WORDS)] for step in (1, 3, 7))
        project.write(f"src/{one}_{number}.py", f"def {one}_{two}({three}):\n    return {two}({three}, {number})\n")
    project.write(
        "src/cookies.py", "def drop_stale_cookies(jar, now):\n    return [c for c in jar if c.expires > now]\n"
    )
    yield project
    tap.open()
    project.close()


class Watched:
    """A workspace whose status is waited for."""

    def __init__(self, workspace: IndexedWorkspace) -> None:
        self.workspace = workspace
        self._changed = threading.Event()
        workspace.on_change(lambda status: self._changed.set())

    def until(self, true_of: Callable[[StatusAnswer], Any]) -> StatusAnswer:
        deadline = time.monotonic() + PATIENCE_S
        while not true_of(status := self.workspace.status()):
            assert time.monotonic() < deadline, status
            self.pause()
        return status

    def pause(self) -> None:
        """Until it changes, but not for long."""
        self._changed.wait(0.2)
        self._changed.clear()


def keep_first(staged: Project, files: int) -> None:
    for path in sorted((staged.root / "src").iterdir())[files:]:
        path.unlink()


def is_upgraded(status: StatusAnswer) -> bool:
    return status.model.startswith(SLOW) and status.model_upgrade is None


def done(status: StatusAnswer) -> int:
    return status.model_upgrade.done if status.model_upgrade else -1


def by_meaning(workspace: IndexedWorkspace, query: str = "how long do cookies live") -> SearchAnswer:
    return workspace.search(SearchRequest(query, mode="vector"), never_cancelled)


def from_scratch(project: Project, models: Models, **flags: Any) -> Any:
    """Returns the content of an index made without stages."""
    alone = replace(project, home=project.home.parent / "scratch", models=models, opened=[], watcher=False)
    alone.flags = {**project.flags, "twoStage": False, **flags}
    try:
        workspace = alone.open()
        index(workspace)
        return image(workspace)
    finally:
        alone.close()


def test_the_quick_model_answers_at_once_and_the_slow_one_takes_its_place(
    staged: Project, tap: Tap, models: Models
) -> None:
    workspace = staged.open()
    watched = Watched(workspace)
    workspace.create(no_progress, never_cancelled)
    first = by_meaning(workspace)
    assert first.hits[0].path == "src/cookies.py"
    assert (first.notice, first.model.partition("@")[0]) == ("", QUICK)
    begun = watched.until(lambda status: done(status) == 0)
    assert (begun.status, begun.coverage, begun.chunks) == ("ready", 1.0, 60)
    assert begun.model_upgrade is not None
    assert (begun.model_upgrade.model.partition("@")[0], begun.model_upgrade.total) == (SLOW, 60)
    tap.allowed.release(120 - BATCH)  # a path and a body for each file
    assert 0 < done(watched.until(lambda status: done(status) > 0)) < 60
    tap.open()
    status = watched.until(is_upgraded)
    assert (status.status, status.coverage, status.generation) == ("ready", 1.0, 2)
    last = by_meaning(workspace)
    assert (last.hits[0].path, last.model.partition("@")[0]) == ("src/cookies.py", SLOW)
    assert image(workspace) == from_scratch(staged, models)
    assert len(tap.embedded) == len(set(tap.embedded)) == 120


@pytest.mark.parametrize(("files", "together"), [(60, {BATCH, 1}), (4, {1})])
def test_texts_go_one_by_one_but_for_the_first_full_batch_which_may_wake_a_card(
    staged: Project, tap: Tap, files: int, together: set[int]
) -> None:
    keep_first(staged, files)
    tap.open()
    workspace = staged.open()
    workspace.create(no_progress, never_cancelled)
    Watched(workspace).until(is_upgraded)
    assert len(tap.embedded) == 2 * files
    assert set(tap.together) == together
    assert tap.together.count(BATCH) == (BATCH in together)


def test_a_small_change_after_it_is_embedded_by_the_slow_model_alone(staged: Project, tap: Tap, models: Models) -> None:
    tap.open()
    workspace = staged.open()
    index(workspace)
    before = len(tap.embedded)
    staged.write("src/late.py", "def tune_carburettor(engine):\n    return engine.mixture\n")
    assert workspace.reindex_file("src/late.py").chunks == 1
    assert len(tap.embedded) == before + 2
    assert image(workspace) == from_scratch(staged, models)


def test_a_file_saved_meanwhile_is_found_at_once_and_is_in_the_index_that_follows(
    staged: Project, tap: Tap, models: Models
) -> None:
    workspace = staged.open()
    watched = Watched(workspace)
    workspace.create(no_progress, never_cancelled)
    tap.allowed.release(50)
    watched.until(lambda _: len(tap.embedded) >= 50)
    staged.write("src/late.py", "def tune_carburettor(engine):\n    return engine.mixture\n")
    for gone in ("src/cookies.py", *sorted(p.relative_to(staged.root).as_posix() for p in staged.root.rglob("*_5.py"))):
        (staged.root / gone).unlink()
    on_disk = tuple(sorted(p.relative_to(staged.root).as_posix() for p in staged.root.rglob("*.py")))
    watched.until(lambda status: workspace.find_paths("**/*.py", 100).paths == on_disk and status.coverage == 1.0)
    assert find(workspace, "tune carburettor", mode="vector")[0] == "src/late.py"
    tap.open()
    watched.until(is_upgraded)
    assert find(workspace, "tune carburettor", mode="vector")[0] == "src/late.py"
    assert image(workspace) == from_scratch(staged, models)


def test_saves_at_any_moment_of_it_are_not_lost(staged: Project, tap: Tap, models: Models) -> None:
    staged.flags["indexingStrategy"] = "git"  # nobody else indexes the file
    keep_first(staged, 20)
    workspace = staged.open()
    watched = Watched(workspace)
    workspace.create(no_progress, never_cancelled)
    tap.open()
    number, name = 0, ""
    deadline = time.monotonic() + PATIENCE_S
    while not is_upgraded(status := workspace.status()):
        assert time.monotonic() < deadline, status
        number += 1
        name = "busy" + "".join("abcdefghij"[int(digit)] for digit in str(number))
        staged.write("src/busy.py", f"def {name}(engine):\n    return engine.turn({number})\n")
        workspace.reindex_file("src/busy.py")
        assert find(workspace, name, mode="fts") == ["src/busy.py"]
        watched.pause()
    assert find(workspace, name, mode="fts") == ["src/busy.py"]
    watched.until(lambda status: status.coverage == 1.0 and not status.pending_files)
    index(workspace)
    assert image(workspace) == from_scratch(staged, models)


def test_another_process_goes_on_where_one_was_ended(staged: Project, tap: Tap, models: Models) -> None:
    workspace = staged.open()
    workspace.create(no_progress, never_cancelled)
    watched = Watched(workspace)
    tap.allowed.release(BATCH + 40)
    watched.until(lambda status: len(tap.embedded) >= BATCH + 40)
    with ThreadPoolExecutor(1) as executor:
        closing = executor.submit(workspace.close)
        tap.allowed.release(1)  # the text in flight
        closing.result(PATIENCE_S)
    before = set(tap.embedded)
    tap.embedded.clear()
    tap.open()
    again = staged.open()
    watched = Watched(again)
    assert by_meaning(again).hits
    watched.until(is_upgraded)
    assert len(before & set(tap.embedded)) < BATCH, "only what was not yet kept"
    assert len(before | set(tap.embedded)) == 120
    assert image(again) == from_scratch(staged, models)


def test_deleting_the_index_in_the_middle_ends_it(staged: Project, tap: Tap) -> None:
    workspace = staged.open()
    workspace.create(no_progress, never_cancelled)
    Watched(workspace).until(lambda status: done(status) >= 0)
    with ThreadPoolExecutor(1) as executor:
        deleting = executor.submit(workspace.delete)
        tap.allowed.release(BATCH)  # the texts in flight: at first a whole batch
        deleting.result(PATIENCE_S)
    assert workspace.status().status == "not_found"
    assert list((staged.home / "indexes").iterdir()) == []
    assert not any(thread.name == UPGRADE_THREAD for thread in threading.enumerate())


def test_switched_off_the_index_is_made_with_the_slow_model_from_the_start(staged: Project, tap: Tap) -> None:
    tap.open()
    staged.flags["twoStage"] = False
    workspace = staged.open()
    workspace.create(no_progress, never_cancelled)
    status = workspace.status()
    assert (status.model.partition("@")[0], status.model_upgrade, status.generation) == (SLOW, None, 1)


def test_progress_moves_while_a_slow_model_embeds(staged: Project, tap: Tap) -> None:
    """All 60 files are one piece of work, of 120 texts."""
    staged.flags["twoStage"] = False
    progressed: list[tuple[int, int]] = []
    moved = threading.Event()

    def progress(done: int, total: int, message: str) -> None:
        progressed.append((done, total))
        if 0 < done < total:
            moved.set()

    tap.allowed.release(2 * BATCH)
    with ThreadPoolExecutor(1) as executor:
        creating = executor.submit(staged.open().create, progress, never_cancelled)
        assert moved.wait(PATIENCE_S), "with half of the texts still to come"
        tap.open()
        creating.result(PATIENCE_S)
    done_files = [done for done, total in progressed if total == 60]
    assert done_files == sorted(done_files)
    assert done_files[-1] == 60


def test_a_second_process_answers_all_the_time_and_sees_the_change(staged: Project, tap: Tap) -> None:
    workspace, reader = staged.open(), staged.open()
    watched = Watched(workspace)
    workspace.create(no_progress, never_cancelled)
    watched.until(lambda status: done(status) == 0)
    other = reader.status()
    assert (other.model.partition("@")[0], done(other)) == (QUICK, 0)
    tap.open()
    seen: list[str] = []

    def is_upgraded_there() -> bool:
        answer = by_meaning(reader)
        assert answer.hits[0].path == "src/cookies.py"
        seen.append(answer.model.partition("@")[0])
        return seen[-1] == SLOW

    until(is_upgraded_there)
    assert set(seen) == {QUICK, SLOW}
    assert reader.status().model_upgrade is None
    watched.until(is_upgraded)


def test_searches_in_this_process_answer_all_the_time(staged: Project, tap: Tap) -> None:
    workspace = staged.open()
    watched = Watched(workspace)
    workspace.create(no_progress, never_cancelled)
    watched.until(lambda status: done(status) == 0)
    stop = threading.Event()

    def ask() -> set[str]:
        models: set[str] = set()
        while not stop.wait(0.1):
            answer = by_meaning(workspace)
            assert answer.hits[0].path == "src/cookies.py"
            models.add(answer.model.partition("@")[0])
        return models

    with ThreadPoolExecutor(2) as executor:
        asking = [executor.submit(ask) for _ in range(2)]
        tap.open()
        watched.until(is_upgraded)
        by_meaning(workspace)
        stop.set()
        assert set.union(*(one.result(PATIENCE_S) for one in asking)) >= {QUICK}


def test_indexing_from_a_shell_waits_for_both_stages(staged: Project, tap: Tap, models: Models) -> None:
    tap.open()
    staged.watcher = False
    staged.write("lib/copy.py", (staged.root / "src" / "cookies.py").read_text())
    said: list[tuple[int, int, str]] = []
    report = staged.open().refresh(lambda *step: said.append(step), never_cancelled)
    assert (report.code.chunks, report.embedded, report.upgraded) == (61, 60, 60), "a text of two chunks counts once"
    assert f"Embedding with {SLOW}: 61 of 61 chunks" in {message for _, _, message in said}
    assert is_upgraded(staged.opened[-1].status())
    assert image(staged.opened[-1]) == from_scratch(staged, models)
    assert index(staged.opened[-1]).upgraded == 0


def test_interrupting_the_second_stage_leaves_an_index_that_answers(staged: Project, tap: Tap) -> None:
    staged.watcher = False
    tap.allowed.release(BATCH)
    interrupted = threading.Event()

    def progress(done: int, total: int, message: str) -> None:
        if message.startswith("Embedding"):
            interrupted.set()

    workspace = staged.open()
    with pytest.raises(Cancelled, match="Index again to continue"):
        workspace.refresh(progress, interrupted.is_set)
    answer = by_meaning(workspace)
    assert (answer.hits[0].path, answer.model.partition("@")[0]) == ("src/cookies.py", QUICK)
    tap.open()
    staged.close()
    index(again := staged.open())
    assert is_upgraded(again.status())


def test_another_model_in_the_settings_of_an_index_takes_the_same_way(
    staged: Project, tap: Tap, models: Models
) -> None:
    del staged.flags["model"]
    index(staged.open())
    staged.close()
    staged.flags["model"] = SLOW
    workspace = staged.open()
    watched = Watched(workspace)
    assert by_meaning(workspace).model.startswith(QUICK)
    tap.open()
    watched.until(is_upgraded)
    staged.close()
    staged.flags["model"] = QUICK
    back = staged.open()
    watched = Watched(back)
    assert by_meaning(back).hits[0].path == "src/cookies.py"
    watched.until(lambda status: status.model.startswith(QUICK) and status.model_upgrade is None)
    assert image(back) == from_scratch(staged, models)


def test_where_nobody_names_a_model_an_index_keeps_its_own(staged: Project, tap: Tap) -> None:
    tap.open()
    index(staged.open())
    staged.close()
    del staged.flags["model"]
    workspace = staged.open()
    assert by_meaning(workspace).model.startswith(SLOW)
    assert workspace.status().model_upgrade is None


def test_rebuilding_a_refined_index_does_not_fall_back_to_the_quick_model(staged: Project, tap: Tap) -> None:
    tap.open()
    workspace = staged.open()
    index(workspace)
    assert workspace.rebuild(no_progress, never_cancelled).embedded == 0
    assert is_upgraded(workspace.status())


def test_a_model_that_is_not_there_leaves_the_index_to_its_own_and_says_so(staged: Project, tap: Tap) -> None:
    tap.open()
    index(staged.open())
    staged.close()
    staged.flags["model"] = "no-such-model"
    status = staged.open().status()
    assert (status.status, status.words_only) == ("incomplete", True)
    assert status.model_upgrade is not None
    assert "no-such-model" in status.model_upgrade.note


def test_an_index_whose_model_is_gone_answers_by_word_until_it_has_the_present_one(staged: Project) -> None:
    del staged.flags["model"]
    index(staged.open())
    staged.close()
    (manifest,) = staged.home.glob("indexes/*/generations/*/manifest.sqlite")
    connection = sqlite3.connect(manifest)
    with connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'model_id'", (f"{QUICK}@000000000000",))
    connection.close()
    staged.watcher = False
    workspace = staged.open()
    answer = workspace.search(SearchRequest("drop stale cookies"), never_cancelled)
    assert answer.hits[0].path == "src/cookies.py"
    assert "Searched by word only" in answer.notice
    assert f"{QUICK}@000000000000, which is no longer there" in answer.notice
    staged.close()
    staged.watcher = True
    watched = Watched(staged.open())
    status = watched.until(lambda status: status.model_upgrade is None)
    assert status.model.startswith(QUICK)
    assert not status.model.endswith("@000000000000")
    answer = by_meaning(watched.workspace)
    assert (answer.hits[0].path, answer.notice) == ("src/cookies.py", "")
