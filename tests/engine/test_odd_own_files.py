"""Whatever lies in place of a file of the data folder, nothing waits for it: each call answers or says what to do, and
indexing, rebuilding and deleting work."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.models.loader import Models
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import IndexCorrupt, IndexNotFound, PermissionDenied
from sidecar.model.terms import never_cancelled, no_progress
from tests.engine.projects import FILES, Image, Project, find, image, index
from tests.patience import PATIENCE_S

HUGE = 1 << 40
"""In bytes. The file takes no space on the disk."""
ADVICE = ("reindex_project", "create_index", "Try again", "move the file away")
"""What an error may tell a person to do."""
OF_AN_INDEX = (
    *("current", "current.new", "lock", "watch", "download", "generations", "generations/1"),
    *(f"generations/1/manifest.sqlite{end}" for end in ("", "-wal", "-shm", "-journal")),
    *(
        "generations/1/manifest.damaged",
        "generations/1/columns",
        "generations/1/columns.new",
        "generations/1/sealed",
        "generations/1/store",
    ),
    *("memories", "memories/memories.sqlite", "memories/memories.sqlite-wal", "documents/documents.sqlite"),
)
SHARED = ("vectors", "vectors/vectors.sqlite", "vectors/vectors.sqlite-wal", "vectors/vectors.damaged", "bases")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    (path / "with").mkdir(parents=True)


def an_endless_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere" / "at all")


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as unix:
        here = os.open(path.parent, os.O_RDONLY)
        try:
            unix.bind(f"/proc/self/fd/{here}/{path.name}")
        finally:
            os.close(here)


def a_huge_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HUGE)


KINDS = (a_pipe, a_folder, an_endless_device, a_link_to_nothing, a_socket, a_huge_file)
WAYS = ("index", "rebuild", "delete")


def answered(call: Callable[[], Any]) -> Any:
    """Returns the result or the error. Fails if neither comes."""
    said: list[Any] = []

    def run() -> None:
        try:
            said.append(call())
        except BaseException as error:
            said.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert said, "it waits for ever"
    return said[0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[tuple[Project, Path, Image]]:
    """Yields a project, a copy of its whole data folder, and what its index holds."""
    folder = tmp_path_factory.mktemp("odd")
    project = Project(folder / "work", folder / "home", {}, models, [], prepares_here=True)
    for name, text in FILES.items():
        project.write(name, text)
    workspace = project.open()
    index(workspace)
    workspace.memories.save("build/tools", "", "Use clang.", [])
    workspace.documents.create("kept", "sqlite", True, 2)
    held = image(workspace, store=False)
    project.close()
    template = folder / "template"
    shutil.copytree(project.home, template)
    yield project, template, held
    project.close()


def put(make: Callable[[Path], None], path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)


def says_what_to_do(said: Any) -> bool:
    if isinstance(said, IndexCorrupt | IndexNotFound | PermissionDenied):
        return any(step in said.message for step in ADVICE)
    return not isinstance(said, BaseException)


def works(call: Callable[[], Any]) -> None:
    said = answered(call)
    if isinstance(said, BaseException):
        raise said


def recover(workspace: IndexedWorkspace, way: str) -> None:
    if way == "rebuild":
        works(partial(workspace.rebuild, no_progress, never_cancelled))
    if way == "delete":
        works(workspace.delete)
    works(partial(index, workspace))


@pytest.mark.parametrize("place", [*OF_AN_INDEX, *SHARED])
def test_nothing_waits_for_what_is_not_a_file_and_each_way_out_works(
    whole: tuple[Project, Path, Image], place: str
) -> None:
    project, template, held = whole
    layout = IndexLayout(project.home, str(project.root))
    path = project.home / place if place in SHARED else layout.path / place
    turns = itertools.cycle(WAYS)
    for kind in KINDS:
        if kind in (a_folder, a_huge_file) and (template / path.relative_to(project.home)).is_dir():
            continue
        shutil.rmtree(project.home)
        shutil.copytree(template, project.home)
        put(kind, path)
        way = next(turns)
        case = f"{place} is {kind.__name__}, then {way}"
        workspace = project.open()
        asked = (
            partial(find, workspace, "expire cookies"),
            partial(workspace.memories.page, "", [], 10, 0),
            workspace.documents.indexes,
        )
        for ask in asked:
            assert says_what_to_do(said := answered(ask)), f"{case}: {said}"
        works(workspace.status)
        recover(workspace, way)
        assert image(workspace, store=False) == held, case
        project.close()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_list_of_patterns_keeps_the_index_as_it_is_until_somebody_creates_the_whole_one(
    whole: tuple[Project, Path, Image], kind: Callable[[Path], None]
) -> None:
    project, template, held = whole
    shutil.rmtree(project.home)
    shutil.copytree(template, project.home)
    put(kind, IndexLayout(project.home, str(project.root)).patterns)
    workspace = project.open()
    said = answered(partial(index, workspace))
    assert isinstance(said, IndexCorrupt)
    assert "`create_index` indexes the whole workspace" in said.message
    works(partial(workspace.create, no_progress, never_cancelled))
    assert image(workspace, store=False) == held
    project.close()
