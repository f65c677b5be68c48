"""No answer is older than the files were when it was asked for, unless it says so: in any strategy, in any process."""

from __future__ import annotations

import queue
import threading

import pytest

from sidecar.engine.models.loader import Models
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import ModelLoadFailed
from sidecar.model.answers import SearchRequest, StatusAnswer
from sidecar.model.terms import Embedder, never_cancelled, no_progress
from sidecar.parts.watch import WatchedChanges
from sidecar.settings.load import Settings
from tests.engine.held_watcher import HeldWatchers
from tests.engine.projects import FILES, Project, index
from tests.patience import PATIENCE_S, first_that, until

pytestmark = pytest.mark.process

STRATEGIES = ["realtime", "lazy", "git"]
JAR, NEWER = "src/cookies.py", "def brew_espresso(beans):\n    return beans.ground\n"


class DeafWatcher:
    """A watcher whose events have not arrived yet: it runs and reports nothing."""

    note = ""
    active = True

    def __init__(self, *_: object) -> None:
        self._stopped = threading.Event()

    def start(self) -> None: ...

    def next(self) -> WatchedChanges | None:
        self._stopped.wait()
        return None

    def stop(self) -> None:
        self._stopped.set()

    def refresh(self) -> None: ...

    def mark(self) -> None:
        return None

    def look(self, mark: int | None = None) -> WatchedChanges:
        return WatchedChanges()


@pytest.fixture
def watched(project: Project) -> Project:
    """A repository with the branches `main` and `other`, under a watcher whose events are late."""
    project.git("init", "-q", "-b", "main")
    project.git("add", ".")
    project.git("commit", "-qm", "one")
    project.git("checkout", "-qb", "other")
    project.write(JAR, NEWER)
    project.git("commit", "-qam", "two")
    project.git("checkout", "-q", "main")
    project.make_watcher = DeafWatcher
    project.watcher = True
    return project


def opened(project: Project, strategy: str) -> IndexedWorkspace:
    project.flags["indexingStrategy"] = strategy
    workspace = project.open(lag=1e6)
    states: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(states.put)
    index(workspace)
    # When the watcher starts, all files are checked, which would find what the tests change next.
    if project.watcher:
        first_that(lambda state: state.watcher_active and not state.behind, states)
    assert workspace.find_paths("**/*", 1).notice == ""
    return workspace


def espresso(workspace: IndexedWorkspace) -> tuple[bool, str]:
    """Returns whether the text that only `other` has is found, and the notice of the answer."""
    answer = workspace.search(SearchRequest("brew_espresso", mode="fts"), never_cancelled)
    return any("brew_espresso" in hit.content for hit in answer.hits), answer.notice


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_search_right_after_a_checkout_answers_from_the_new_tree(watched: Project, strategy: str) -> None:
    workspace = opened(watched, strategy)
    watched.git("checkout", "-q", "other")
    assert espresso(workspace) == (True, "")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_search_right_after_a_checkout_that_cannot_wait_says_that_it_is_stale(
    watched: Project, strategy: str
) -> None:
    opened(watched, strategy)
    watched.close()
    workspace = watched.open(freshness=0.0)
    workspace.find_paths("**/*", 1)
    watched.git("checkout", "-q", "other")
    found, said = espresso(workspace)
    assert found or "results may be stale" in said


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_status_right_after_a_checkout_says_that_the_index_is_behind(watched: Project, strategy: str) -> None:
    workspace = opened(watched, strategy)
    assert not workspace.status().behind
    watched.git("checkout", "-q", "other")
    status = workspace.status()
    assert status.behind and "changes" in status.notice


@pytest.mark.parametrize("strategy", ["realtime", "lazy"])
def test_a_stash_is_seen_by_the_next_search(watched: Project, strategy: str) -> None:
    watched.write(JAR, NEWER)
    workspace = opened(watched, strategy)
    assert espresso(workspace) == (True, "")
    watched.git("stash", "-q")
    assert espresso(workspace) == (False, "")
    watched.git("stash", "pop", "-q")
    assert espresso(workspace) == (True, "")


@pytest.mark.parametrize("strategy", ["realtime", "lazy"])
def test_a_shown_file_that_has_changed_is_read_before_it_is_shown(project: Project, strategy: str) -> None:
    project.make_watcher, project.watcher = DeafWatcher, True
    workspace = opened(project, strategy)
    project.write(JAR, FILES[JAR].replace("cookies", "biscuits"))
    answer = workspace.search(SearchRequest("set_cookie", mode="fts"), never_cancelled)
    assert answer.notice == ""
    assert any("biscuits" in hit.content for hit in answer.hits)


def test_under_git_an_answer_with_an_edited_file_says_so(project: Project) -> None:
    project.make_watcher, project.watcher = DeafWatcher, True
    workspace = opened(project, "git")
    project.write(JAR, FILES[JAR].replace("cookies", "biscuits"))
    answer = workspace.search(SearchRequest("set_cookie", mode="fts"), never_cancelled)
    assert "1 of the files shown has changed since it was indexed" in answer.notice
    assert "next commit" in answer.notice


def test_under_git_an_answer_that_shows_no_edited_file_says_that_some_wait_for_the_commit(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.git("add", ".")
    project.git("commit", "-qm", "one")
    project.git("update-index", "--assume-unchanged", JAR)
    held = HeldWatchers()
    project.make_watcher, project.watcher = held.make, True
    workspace = opened(project, "git")

    project.write("src/new.py", NEWER)
    project.write("src/logo.png", "\0\1\2")
    (project.root / "src/retry.py").touch()
    held.report(["src/new.py", "src/logo.png", "src/retry.py"])
    assert espresso(workspace) == (False, "1 saved change waits for the next commit.")
    status = workspace.status()
    assert (status.behind, status.pending_files) == (True, 1)

    project.write(JAR, FILES[JAR].replace("cookies", "biscuits"))
    held.report([JAR])
    assert espresso(workspace) == (False, "2 saved changes wait for the next commit.")
    shown = workspace.search(SearchRequest("set_cookie", mode="fts"), never_cancelled).notice
    assert shown == (
        "1 of the files shown has changed since it was indexed; the next commit brings it in."
        " 2 saved changes wait for the next commit."
    )
    workspace.reindex_file(JAR)
    assert espresso(workspace) == (False, "1 saved change waits for the next commit.")
    assert workspace.status().pending_files == 1
    project.write(JAR, FILES[JAR] + "\n")
    held.report([JAR])
    assert espresso(workspace) == (False, "2 saved changes wait for the next commit.")
    project.git("add", ".")
    project.git("commit", "-qm", "two")
    held.report([], head_moved=True)
    assert espresso(workspace) == (True, "")
    assert workspace.status().pending_files == 0
    project.write("src/new.py", NEWER + "\n")
    held.report(["src/new.py"])
    assert workspace.status().behind
    index(workspace)
    assert espresso(workspace) == (True, "")
    assert not workspace.status().behind


def test_under_git_a_change_that_was_taken_back_waits_for_nothing(project: Project) -> None:
    held = HeldWatchers()
    project.make_watcher, project.watcher = held.make, True
    workspace = opened(project, "git")
    project.write(JAR, FILES[JAR].replace("cookies", "biscuits"))
    project.write("src/new.py", NEWER)
    held.report([JAR, "src/new.py"])
    assert espresso(workspace) == (False, "2 saved changes wait for the next commit.")
    project.write(JAR, FILES[JAR])
    (project.root / "src/new.py").unlink()
    held.report([JAR, "src/new.py"])
    assert espresso(workspace) == (False, "")
    assert not workspace.status().behind


def test_a_file_that_was_only_touched_is_not_called_changed(project: Project) -> None:
    project.make_watcher, project.watcher = DeafWatcher, True
    workspace = opened(project, "git")
    (project.root / JAR).touch()
    assert workspace.search(SearchRequest("set_cookie", mode="fts"), never_cancelled).notice == ""


def test_a_shown_file_that_is_gone_is_not_shown(project: Project) -> None:
    project.make_watcher, project.watcher = DeafWatcher, True
    workspace = opened(project, "realtime")
    (project.root / JAR).unlink()
    assert (workspace.find_paths(JAR, 5).paths, workspace.find_paths(JAR, 5).notice) == ((), "")


# ---------------------------------------------------------------- a process that only reads


UNHEARD = "The latest changes may not be indexed yet; results may be stale."


def beside(project: Project) -> IndexedWorkspace:
    """The same workspace in a process that only reads, and that waits long enough to be heard on a busy machine."""
    reader = project.open(hearing=PATIENCE_S)
    assert reader.find_paths("**/*", 1).notice == ""
    return reader


@pytest.mark.parametrize("strategy", ["realtime", "lazy"])
def test_a_reader_has_the_writer_bring_in_what_was_saved_just_now(project: Project, strategy: str) -> None:
    project.watcher = True
    opened(project, strategy)
    reader = beside(project)
    project.write("src/coffee.py", NEWER)
    assert espresso(reader) == (True, "")
    (project.root / "src/coffee.py").unlink()
    assert espresso(reader) == (False, "")
    assert not reader.status().behind


def test_under_git_a_reader_says_what_waits_for_the_commit(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.git("add", ".")
    project.git("commit", "-qm", "one")
    project.watcher = True
    opened(project, "git")
    reader = beside(project)
    project.write("src/coffee.py", NEWER)
    assert espresso(reader) == (False, "1 saved change waits for the next commit.")
    assert reader.status().behind
    project.git("add", ".")
    project.git("commit", "-qm", "two")
    assert espresso(reader) == (True, "")
    assert not reader.status().behind


def test_a_reader_whose_writer_hears_nothing_says_that_changes_may_be_missing(watched: Project) -> None:
    writer = opened(watched, "lazy")
    reader = watched.open(hearing=0.0)
    assert reader.find_paths("**/*", 1).notice == UNHEARD
    watched.git("checkout", "-q", "other")
    found, said = espresso(reader)
    assert not found and "checked for changes" in said and reader.status().behind
    assert espresso(writer) == (True, "")
    assert espresso(reader) == (True, UNHEARD)
    assert not reader.status().behind


def test_a_reader_says_that_a_shown_file_has_changed(project: Project) -> None:
    project.make_watcher, project.watcher = DeafWatcher, True
    opened(project, "lazy")
    reader = project.open()
    project.write(JAR, FILES[JAR].replace("cookies", "biscuits"))
    answer = reader.search(SearchRequest("set_cookie", mode="fts"), never_cancelled)
    assert "1 of the files shown has changed since it was indexed" in answer.notice


def test_a_reader_takes_over_when_the_writer_is_gone(project: Project, models: Models) -> None:
    writer = opened(project, "realtime")
    reader = project.open()
    assert reader.find_paths("**/*", 1).notice == UNHEARD
    assert reader.index.generation is not None and reader.index.generation.writer is None
    writer.close()
    project.write("src/coffee.py", NEWER)
    assert espresso(reader) == (True, "")


# ---------------------------------------------------------------- what the words of a status mean


def test_a_status_is_not_ready_while_the_model_of_the_settings_cannot_be_loaded(project: Project) -> None:
    index(project.open())
    project.close()
    project.flags["model"] = "no-such-model"
    status = project.open().status()
    assert (status.status, status.words_only) == ("incomplete", True)
    assert "no-such-model" in status.warning


def test_a_failure_is_forgotten_once_its_cause_is_gone(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    project.flags["model"] = "no-such-model"
    with pytest.raises(ModelLoadFailed):
        workspace.refresh(no_progress, never_cancelled)
    assert "no-such-model" in workspace.config().model_problem
    del project.flags["model"]
    assert workspace.config().model_problem == ""
    until(lambda: workspace.status().status == "ready" and workspace.status().warning == "")


class Unloadable:
    """Models that are known and that nobody can load."""

    def __init__(self, known: Models) -> None:
        self.facts = known.facts

    def embedder(self, settings: Settings) -> Embedder:
        raise ModelLoadFailed("The model's file is missing.")

    def loaded(self, settings: Settings) -> None:
        """Answers that no model is loaded."""


def test_a_status_is_not_ready_after_a_search_whose_model_could_not_be_loaded(project: Project, models: Models) -> None:
    index(project.open())
    project.close()
    workspace = project.open(models=Unloadable(models))
    assert "by word only" in workspace.search(SearchRequest("cookies"), never_cancelled).notice
    status = workspace.status()
    assert status.status == "incomplete" and "The model's file is missing." in status.warning
    assert status.words_only
    project.close()
    workspace = project.open()
    assert workspace.search(SearchRequest("cookies"), never_cancelled).notice == ""
    assert workspace.status().status == "ready"


# ---------------------------------------------------------------- beside a process that rests


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_beside_a_writer_that_rests_a_reader_answers_from_the_files_themselves(project: Project, strategy: str) -> None:
    writer = opened(project, strategy)
    assert writer.rest(0.0)
    project.write(JAR, NEWER)
    reader = project.open()
    assert espresso(reader) == (True, "")
    found, said = espresso(writer)
    assert found and ("may be" in said or not said)


def test_a_resting_writer_does_not_tell_how_the_index_was_before_another_process_wrote_it(project: Project) -> None:
    writer = opened(project, "realtime")
    before = writer.status().files
    assert writer.rest(0.0)
    assert writer.status().files == before
    assert writer.resting
    project.write("src/one_more.py", NEWER)
    other = project.open()
    index(other)
    other.close()
    assert writer.status().files == before + 1


def test_an_index_that_is_deleted_beside_a_resting_writer_is_gone_for_both(project: Project) -> None:
    writer = opened(project, "realtime")
    assert writer.rest(0.0)
    other = project.open()
    other.delete()
    assert writer.status().status == "not_found"
