"""An answer from a part of the workspace says from which part, whatever the reason, and a status says the same."""

from __future__ import annotations

import re
import threading

import pytest

from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import Cancelled, DocsIndexNotFound
from sidecar.model.answers import SearchRequest, StatusAnswer
from sidecar.model.files import Rule
from sidecar.model.terms import never_cancelled
from tests.engine.projects import FILES, Project, index
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.process

MANY = 600
BEYOND = (
    f"100 of {MANY} files are indexed: {MANY - 100} are beyond the setting maxFiles. Raise maxFiles to index them too."
)


def notices(workspace: IndexedWorkspace) -> set[str]:
    """Returns the notices of answers of every kind."""
    docs = workspace.search(SearchRequest("cookies", mode="fts", collection="docs"), never_cancelled).notice
    return {docs, *notices_without_docs(workspace)}


def notices_without_docs(workspace: IndexedWorkspace) -> set[str]:
    return {
        workspace.search(SearchRequest("expire cookies"), never_cancelled).notice,
        workspace.find_paths("**/*", 3).notice,
        workspace.find_symbols("function", (), 3).notice,
        workspace.find_closest("cookies", 3, 0.0, never_cancelled).notice,
    }


def whole_answers(workspace: IndexedWorkspace) -> set[str]:
    """Like `notices`, and also for answers that need the vectors of a certain file."""
    similar = workspace.find_similar("src/cookies.py", 1, 0, 3, never_cancelled).notice
    return {*notices(workspace), similar}


def said_by_all(workspace: IndexedWorkspace) -> str:
    (said,) = notices(workspace)
    assert "\n" not in said
    return said


@pytest.fixture
def large(project: Project) -> Project:
    """A workspace of MANY files, which are more than one batch."""
    for number in range(MANY - len(FILES)):
        project.write(f"zmore/module_{number:03}.py", f"def function_{number}():\n    return {number}\n")
    return project


def interrupt(workspace: IndexedWorkspace) -> int:
    """Cancels a build after its first batch; returns how many files were indexed by then."""
    stop = threading.Event()
    with pytest.raises(Cancelled):
        workspace.create(lambda done, total, message: stop.set() if done else None, stop.is_set)
    generation = workspace.index.readable()
    with generation.snapshots.open() as snapshot:
        return len(snapshot.paths)


def progress_is_one_truth(status: StatusAnswer) -> bool:
    """Returns whether the progress of a status and its sentence have the same numbers."""
    return f"({status.progress_says}, code first)" in status.notice and f"{status.progress_done:,} of" in status.notice


def test_what_an_interrupted_build_has_not_read_is_counted(large: Project) -> None:
    done = interrupt(large.open())
    assert 0 < done < MANY
    large.close()
    reader = large.open(freshness=0.0)
    said = reader.find_paths("**/*", 3).notice
    assert f"{done} of {MANY} files" in said


def test_what_another_process_builds_is_counted_by_this_one(large: Project) -> None:
    builder, answer, states, progresses = large.open(), list[str](), list[str](), list[bool]()

    def look(done: int, total: int, message: str) -> None:
        if 0 < done < total and not answer:
            reader = large.open()
            answer.extend(notices(reader))
            states.append(reader.status().status)
            progresses.append(progress_is_one_truth(reader.status()))

    builder.refresh(look, never_cancelled)
    elsewhere = rf"being built by another process \(Indexing: \d+ of {MANY} files"
    assert answer and all(re.search(elsewhere, said) for said in answer)
    assert (states, progresses) == (["indexing"], [True])


def test_what_another_process_rebuilds_is_said_by_this_one(large: Project) -> None:
    builder = large.open()
    index(builder)
    reader, answer, states = large.open(), list[str](), list[str]()

    def look(done: int, total: int, message: str) -> None:
        if done and not answer:
            answer.append(said_by_all(reader))
            states.append(reader.status().status)

    builder.rebuild(look, never_cancelled)
    assert "being rebuilt" in answer[0] and states == ["indexing"]
    assert not any("rebuilt" in said or "Partial" in said for said in notices(reader))
    assert reader.status().status == "ready"


def test_files_beyond_the_limit_are_counted_and_it_is_said_what_to_set(large: Project) -> None:
    large.flags["maxFiles"] = 100
    workspace = large.open()
    index(workspace)
    assert notices_without_docs(workspace) == {BEYOND}


def test_documentation_that_is_beyond_the_limit_is_not_said_to_be_unknown(large: Project) -> None:
    large.flags["maxFiles"] = 100
    workspace = large.open()
    index(workspace)
    said = f"None of the 100 indexed files is documentation; {MANY - 100} files are beyond the setting maxFiles"
    with pytest.raises(DocsIndexNotFound, match=said):
        workspace.search(SearchRequest("cookies", collection="docs"), never_cancelled)


@pytest.mark.parametrize("path", ["docs/zz.md", "README.md"])
def test_unsaved_text_of_a_file_beyond_the_limit_is_left_out_too(project: Project, path: str) -> None:
    project.flags["maxFiles"] = 2
    workspace = project.open()
    workspace.set_buffer(path, "def typed_but_not_saved():\n    pass\n")
    index(workspace)
    assert list(workspace.find_paths("**", 50).paths) == ["src/cookies.py", "src/parse.ts"]
    assert workspace.explain(path).decision.rule is Rule.TOO_MANY


def test_files_that_are_too_large_are_counted(project: Project) -> None:
    project.flags["maxFileSize"] = "2KB"
    project.write("src/large.py", "x = 1\n" * 1000)
    workspace = project.open()
    index(workspace)
    total = len(FILES) + 1
    said = (
        f"{total - 1} of {total} files are indexed: 1 is larger than the setting maxFileSize."
        " Raise maxFileSize to index them too."
    )
    assert said_by_all(workspace) == said


def test_files_with_secrets_are_counted(project: Project) -> None:
    project.write(".env", "TOKEN=x\n")
    project.write("id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----\n")
    workspace = project.open()
    index(workspace)
    total = len(FILES) + 2
    said = f"{total - 2} of {total} files are indexed: 2 may hold secrets."
    assert whole_answers(workspace) == {said}
    assert workspace.status().notice == said


def test_a_status_says_how_many_files_belong_to_the_index_and_why_some_are_not_in_it(large: Project) -> None:
    large.flags["maxFiles"] = 150
    large.write(".env", "TOKEN=x\n")
    workspace = large.open()
    index(workspace)
    status = workspace.status()
    assert status.holds.total == MANY + 1 and status.holds.indexed == status.files == 150
    assert dict(status.holds.missing) == {"maxFiles": MANY - 150, "secrets": 1}
    assert (status.status, status.behind) == ("ready", False)
    assert notices_without_docs(workspace) == {status.notice}


def test_what_the_settings_exclude_is_not_missing(project: Project) -> None:
    project.flags["exclude"], project.flags["include"] = ("docs/**",), ("src/**",)
    project.flags["maxFileSize"] = "2KB"
    project.write("notes/large.py", "x = 1\n" * 1000)
    project.write("notes/.env", "TOKEN=x\n")
    project.write("src/build.o", "binary")
    workspace = project.open()
    index(workspace)
    assert workspace.find_paths("**/*", 3).notice == ""


def test_a_build_that_goes_on_after_its_interruption_says_how_far_it_is(large: Project) -> None:
    interrupt(large.open())
    large.close()
    reading, go_on = threading.Event(), threading.Event()

    def hold(_: str) -> None:
        reading.set()
        assert go_on.wait(PATIENCE_S)

    large.before_reading = hold
    workspace = large.open(freshness=0.0)
    try:
        assert re.search(rf"\b\d+ of {MANY} files", workspace.find_paths("**/*", 3).notice)
        assert reading.wait(PATIENCE_S)
        assert re.search(rf"\b\d+ of {MANY} files", workspace.find_paths("**/*", 3).notice)
        assert workspace.status().status == "indexing"
        assert progress_is_one_truth(workspace.status())
    finally:
        go_on.set()


def test_a_whole_index_says_nothing(large: Project) -> None:
    workspace = large.open()
    index(workspace)
    assert whole_answers(workspace) == {""}
    status = workspace.status()
    assert (status.status, status.notice, status.behind) == ("ready", "", False)
    assert (status.holds.indexed, status.holds.total, status.holds.missing) == (MANY, MANY, ())


def test_what_a_limit_leaves_out_is_said_when_the_index_is_made(large: Project) -> None:
    large.flags["maxFiles"] = 100
    report = index(large.open())
    assert report.notice == BEYOND
