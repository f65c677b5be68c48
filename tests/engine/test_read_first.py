"""What is read first of a workspace that nobody has indexed yet, and what its answers say of that."""

from __future__ import annotations

import os
import re

import pytest

from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import Cancelled, InvalidPattern
from sidecar.model.answers import SearchAnswer, SearchRequest
from sidecar.model.terms import never_cancelled, no_progress
from tests.engine.projects import FILES, Project, find

pytestmark = pytest.mark.process

OF_A_KIND = 300
HOUR_S = 3600


@pytest.fixture
def large(project: Project) -> Project:
    """Makes workflows, texts and code, several batches of each. The code comes last in the alphabet."""
    for number in range(OF_A_KIND):
        project.write(f".github/workflows/ci_{number:03}.yml", f"name: continuous integration {number}\n")
        project.write(f"notes/note_{number:03}.txt", f"What was decided on day {number}.\n")
        project.write(f"zone/module_{number:03}.py", f"def function_{number}():\n    return {number}\n")
    return project


@pytest.fixture
def huge(project: Project) -> Project:
    """Makes more files than are walked before the first is read. The code of the project is near the root."""
    for number in range(2_500):
        project.write(f"drivers/kind_{number % 10}/driver_{number:04}.c", f"int driver_{number}(void);\n")
    return project


def read_first(workspace: IndexedWorkspace, patterns: tuple[str, ...] = ()) -> list[str]:
    """Cancels a build after its first batch. Returns the files indexed by then, in the order of reading."""
    done_once: list[int] = []

    def is_stopped() -> bool:
        return bool(done_once)

    def look(done: int, total: int, message: str) -> None:
        if done:
            done_once.append(done)

    with pytest.raises(Cancelled):
        if patterns:
            workspace.index_matching(patterns, False, look, is_stopped)
        else:
            workspace.create(look, is_stopped)
    with workspace.index.readable().snapshots.open() as snapshot:
        return [path for (path,) in snapshot.connection.execute("SELECT path FROM files ORDER BY id")]


def test_code_is_read_before_workflows_and_texts(large: Project) -> None:
    first = read_first(large.open())
    assert first and {path.rpartition(".")[2] for path in first} <= {"py", "go", "ts"}


def test_code_is_read_first_of_what_patterns_name(large: Project) -> None:
    first = read_first(large.open(), ("**/*",))
    assert first and all(path.rpartition(".")[2] in ("py", "go", "ts") for path in first)


def test_a_file_that_is_open_in_an_editor_is_read_before_all_others(large: Project) -> None:
    workspace = large.open()
    workspace.open_file("notes/note_299.txt")
    workspace.open_file("notes/note_007.txt")
    workspace.open_file("notes/note_008.txt")
    workspace.close_file("notes/note_008.txt")
    assert read_first(workspace)[:3] == ["notes/note_007.txt", "notes/note_299.txt", "src/cookies.py"]


def test_a_file_stays_open_until_the_last_editor_has_closed_it(large: Project) -> None:
    workspace = large.open()
    workspace.open_file("notes/note_007.txt")
    workspace.open_file("notes/note_007.txt")
    workspace.close_file("notes/note_007.txt")
    assert read_first(workspace)[0] == "notes/note_007.txt"


def test_a_file_with_unsaved_text_counts_as_open_also_before_it_is_on_disk(large: Project) -> None:
    workspace = large.open()
    workspace.set_buffer("zone/unsaved.txt", "zebrafish\n")
    assert read_first(workspace)[0] == "zone/unsaved.txt"


def test_what_was_written_after_the_checkout_is_read_before_other_code(large: Project) -> None:
    checkout = (large.root / "zone/module_000.py").stat().st_mtime
    for hours, number in enumerate((299, 12), 2):
        os.utime(large.root / f"zone/module_{number:03}.py", (checkout + hours * HOUR_S,) * 2)
    assert read_first(large.open())[:2] == ["zone/module_012.py", "zone/module_299.py"]


def test_documentation_that_has_not_been_read_yet_is_not_said_to_be_missing(large: Project) -> None:
    workspace, reasons = large.open(), list[str]()

    def look(done: int, total: int, message: str) -> None:
        if done and not reasons:
            reasons.append(workspace.search(SearchRequest("cookies", collection="docs"), never_cancelled).reason)

    workspace.refresh(look, never_cancelled)
    assert reasons[0] == "No documentation has been read yet: the index is still being built, code first."


def test_while_code_is_read_first_an_answer_says_so_from_a_second_process_too(large: Project) -> None:
    builder, notices = large.open(), list[str]()
    whole = 3 * OF_A_KIND + len(FILES)

    def look(done: int, total: int, message: str) -> None:
        if 0 < done < total and not notices:
            notices.append(builder.search(SearchRequest("function_7", mode="fts"), never_cancelled).notice)
            notices.append(large.open().search(SearchRequest("function_7", mode="fts"), never_cancelled).notice)

    builder.refresh(look, never_cancelled)
    so_far = f"(Indexing: N of {whole:,} files, code first); results are partial."
    assert [re.sub(r": [\d,]+ of", ": N of", said) for said in notices] == [
        f"The index is being built {so_far}",
        f"The index is being built by another process {so_far}",
    ]


def test_a_question_is_answered_before_all_files_of_a_large_workspace_are_found(huge: Project) -> None:
    asked: list[SearchAnswer] = []

    def ask() -> None:
        asked.append(workspace.search(SearchRequest("set_cookie", mode="fts"), never_cancelled))

    huge.after_walking = ask
    workspace = huge.open()
    report = workspace.create(no_progress, never_cancelled)
    assert [hit.path for hit in asked[0].hits] == ["src/cookies.py"]
    assert "being built" in asked[0].notice
    assert (report.unchanged, report.code.files + report.docs.files) == (0, 2_500 + len(FILES))


def test_an_open_file_far_from_the_root_is_read_before_all_files_are_found(huge: Project) -> None:
    far = "drivers/kind_0/" + "deeper/" * 5 + "zebrafish.c"
    huge.write(far, "int zebrafish(void);\n")
    found: list[str] = []

    def ask() -> None:
        found.extend(find(workspace, "zebrafish", mode="fts"))

    huge.after_walking = ask
    workspace: IndexedWorkspace = huge.open()
    workspace.open_file(far)
    workspace.create(no_progress, never_cancelled)
    assert found == [far]


def test_what_was_read_early_and_is_beyond_the_limit_is_removed_again(huge: Project) -> None:
    huge.flags["maxFiles"] = 150
    checkout = (huge.root / "src/cookies.py").stat().st_mtime
    far_from_the_root = sorted(huge.root.glob("drivers/kind_9*/*.c"))
    for path in far_from_the_root:
        os.utime(path, (checkout + 2 * HOUR_S,) * 2)
    early: list[str] = []

    def ask() -> None:
        early.extend(find(workspace, "set_cookie", mode="fts"))

    huge.after_walking = ask
    workspace: IndexedWorkspace = huge.open()
    report = workspace.create(no_progress, never_cancelled)
    assert early == ["src/cookies.py"] and find(workspace, "set_cookie", mode="fts") == []
    assert report.code.files == 150 and "maxFiles" in report.notice


def test_a_wrong_glob_is_refused_before_anything_of_a_large_workspace_is_read(huge: Project) -> None:
    huge.flags["exclude"] = ["drivers/{a"]
    workspace = huge.open()
    with pytest.raises(InvalidPattern):
        workspace.create(no_progress, never_cancelled)
    assert workspace.status().files == 0
