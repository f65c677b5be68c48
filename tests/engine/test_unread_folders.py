"""A folder that cannot be read is not empty: its entries stay in the index, it is reported, and it is tried again."""

from __future__ import annotations

import queue
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from sidecar.engine.models.loader import Models
from sidecar.engine.update.retries import Retries
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import PermissionDenied
from sidecar.model.answers import SearchRequest, StatusAnswer
from sidecar.model.terms import never_cancelled
from tests.circumstances import as_somebody, without_descriptors
from tests.engine.held_watcher import HeldWatchers
from tests.engine.projects import FILES, Project, find, index
from tests.patience import first_that

pytestmark = pytest.mark.process


class Weather:
    """Enters the context in `now` for every access to the disk."""

    def __init__(self) -> None:
        self.now: Callable[[], AbstractContextManager[object]] = nullcontext

    def __call__(self) -> AbstractContextManager[object]:
        return self.now()


@pytest.fixture
def weather() -> Weather:
    return Weather()


@pytest.fixture
def open_project(models: Models, weather: Weather) -> Iterator[Project]:
    """Yields a project whose folders anybody may enter, so that only the permissions inside it matter."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        made = Project(place / "work", place / "home", {}, models, [], around_walking=weather)
        made.root.mkdir()
        for path, text in FILES.items():
            made.write(path, text)
        yield made
        made.close()


def paths(workspace: IndexedWorkspace) -> set[str]:
    with workspace.index.readable().snapshots.open() as snapshot:
        return set(snapshot.paths)


def notice(workspace: IndexedWorkspace) -> str:
    return workspace.search(SearchRequest("retry with backoff", mode="fts"), never_cancelled).notice


def test_descriptors_that_run_out_for_a_moment_empty_no_index(open_project: Project, weather: Weather) -> None:
    workspace = open_project.open()
    index(workspace)
    before = paths(workspace)
    open_project.write(".gitignore", "*.log\n")
    seen: queue.Queue[StatusAnswer] = queue.Queue()
    weather.now = without_descriptors
    report = index(workspace)
    assert paths(workspace) == before
    assert report.removed == 0
    assert report.errors == 1
    status = workspace.status()
    assert "The workspace could not be read (Too many open files)" in status.warning
    assert ("/", "Too many open files") in status.errors
    assert "could not be read" in notice(workspace)
    assert find(workspace, "retry with backoff", mode="fts")[0] == "src/retry.py"
    workspace.on_change(seen.put)
    weather.now = nullcontext
    first_that(lambda status: "could not be read" not in status.warning, seen)
    assert notice(workspace) == ""


@pytest.mark.parametrize("what", ["src", "src/.gitignore"])
def test_what_may_not_be_read_keeps_what_is_known_of_it(open_project: Project, weather: Weather, what: str) -> None:
    open_project.write("src/.gitignore", "*.log\n")
    workspace = open_project.open()
    index(workspace)
    before = paths(workspace)
    target = open_project.root / what
    mode = target.stat().st_mode
    target.chmod(0)
    weather.now = as_somebody
    open_project.write("new.py", "x = 1\n")
    (open_project.root / "README.md").unlink()
    index(workspace)
    assert paths(workspace) == before - {"README.md"} | {"new.py"}
    status = workspace.status()
    assert "src/ could not be read" in status.warning
    assert "Permission denied" in status.warning
    assert "src/ could not be read" in notice(workspace)
    assert workspace.explain("src/retry.py").decision.rule.value == "unreadable"
    target.chmod(mode)
    (open_project.root / "src/parse.ts").unlink()
    index(workspace)
    assert paths(workspace) == before - {"README.md", "src/parse.ts"} | {"new.py"}
    assert workspace.status().warning == ""
    assert notice(workspace) == ""


def test_a_change_in_a_folder_that_cannot_be_read_removes_nothing(open_project: Project, weather: Weather) -> None:
    watchers = HeldWatchers()
    open_project.watcher, open_project.make_watcher = True, watchers.make
    workspace = open_project.open()
    index(workspace)
    before = paths(workspace)
    watchers.wait()
    (open_project.root / "src").chmod(0)
    weather.now = as_somebody
    watchers.report(["src/retry.py", "src"], ["src"])
    assert "could not be read (Permission denied)" in notice(workspace)
    assert paths(workspace) == before
    assert "could not be read" in workspace.status().warning
    (open_project.root / "src").chmod(0o755)
    watchers.report(["src/retry.py", "src"], ["src"])
    assert notice(workspace) == ""
    assert workspace.status().warning == ""


def test_what_was_never_known_is_named_and_troubles_no_search(open_project: Project, weather: Weather) -> None:
    closed = open_project.root / "closed"
    closed.mkdir()
    (closed / "a.py").write_text("x = 1\n")
    closed.chmod(0)
    weather.now = as_somebody
    workspace = open_project.open()
    assert index(workspace).errors == 1
    assert workspace.status().errors == (("closed/", "Permission denied"),)
    assert paths(workspace) == set(FILES)
    assert notice(workspace) == ""
    closed.chmod(0o755)


def test_a_file_that_could_not_be_read_is_tried_again(open_project: Project) -> None:
    failing = {"src/retry.py"}

    def before_reading(path: str) -> None:
        if path in failing:
            raise PermissionDenied(f"{path} cannot be read: Too many open files.")

    open_project.before_reading = before_reading
    workspace = open_project.open()
    index(workspace)
    seen: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(seen.put)
    assert [path for path, _ in workspace.status().errors] == ["src/retry.py"]
    failing.clear()
    first_that(lambda status: not status.errors, seen)
    assert "src/retry.py" in paths(workspace)


def test_waiting_grows_with_every_attempt_in_vain_and_ends_with_success() -> None:
    now = [100.0]
    retries = Retries(first_s=1.0, now=lambda: now[0])
    assert retries.wait_s() is None
    waits = []
    for _ in range(12):
        retries.replace(["a/"])
        wait = retries.wait_s()
        assert wait is not None
        waits.append(wait)
        assert retries.take_due() == []
        now[0] += wait
        assert retries.take_due() == ["a/"]
        assert retries.take_due() == []
    assert waits[:4] == [1.0, 2.0, 4.0, 8.0]
    assert waits[-1] == 600.0
    retries.replace(["b/"])
    retries.replace([])
    assert retries.wait_s() is None
    retries.replace(["a/"])
    assert retries.wait_s() == 1.0


def test_when_git_s_folder_cannot_be_read_every_file_stays_and_the_reason_is_told(
    open_project: Project, weather: Weather
) -> None:
    open_project.git("init", "-q")
    workspace = open_project.open()
    index(workspace)
    before = paths(workspace)
    open_project.write("new.py", "def zyzzyva(): pass\n")
    (open_project.root / ".git").chmod(0)
    weather.now = as_somebody
    assert index(workspace).removed == 0
    assert paths(workspace) == before
    assert ".git cannot be read: Permission denied" in workspace.status().warning
    assert ".git cannot be read: Permission denied" in notice(workspace)
    (open_project.root / ".git").chmod(0o755)
    assert find(workspace, "zyzzyva", mode="fts") == ["new.py"]
    assert workspace.status().warning == ""
