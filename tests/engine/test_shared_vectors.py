"""Workspaces with one data folder share vectors by content (worktrees, branches, copies); deleting one index harms no
other."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.index.vector_refs import named_vectors
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import never_cancelled
from sidecar.parts.embed.cache import EmbeddingCacheFile
from tests.engine.projects import Project, find, image, index

pytestmark = pytest.mark.process


def beside(project: Project, name: str) -> Project:
    """Returns another workspace with the same data folder, which does not exist yet."""
    return replace(project, root=project.root.parent / name, opened=[])


@pytest.fixture
def repository(project: Project) -> Project:
    project.git("init", "-q", "-b", "main")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "first")
    return project


def test_a_second_worktree_embeds_nothing_that_the_first_had(repository: Project) -> None:
    first = index(repository.open())
    assert first.embedded > 0
    worktree = beside(repository, "worktree")
    repository.git("worktree", "add", "-q", str(worktree.root), "-b", "topic")
    workspace = worktree.open()
    report = index(workspace)
    assert report.embedded == 0
    assert report.code.chunks == first.code.chunks
    assert "src/cookies.py" in find(workspace, "how long do cookies live", mode="vector")
    assert image(workspace) == image(repository.opened[0])
    worktree.close()


def test_a_branch_embeds_only_what_differs_and_coming_back_embeds_nothing(repository: Project) -> None:
    workspace = repository.open()
    index(workspace)
    repository.git("checkout", "-q", "-b", "topic")
    repository.write("src/new.py", "def entirely_new():\n    return 'a text that nobody has seen'\n")
    assert index(workspace).embedded == 1
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "topic")
    repository.git("checkout", "-q", "main")
    assert index(workspace).embedded == 0
    repository.git("checkout", "-q", "topic")
    assert index(workspace).embedded == 0


def test_two_processes_that_index_at_the_same_time_share_one_file(repository: Project) -> None:
    copy = beside(repository, "copy")
    copy.root.mkdir()
    for path in repository.root.rglob("*"):
        if path.is_file() and ".git" not in path.parts:
            copy.write(path.relative_to(repository.root).as_posix(), path.read_text())
    one, two = repository.open(), copy.open()  # each with its own parts, as in two processes
    index(one)
    assert index(two).embedded == 0
    assert one.index.readable().kept.store_uuid == two.index.readable().kept.store_uuid
    copy.close()


def test_deleting_an_index_leaves_the_vectors_of_the_others(repository: Project) -> None:
    other = beside(repository, "other")
    other.root.mkdir()
    other.write("shared.py", (repository.root / "src/cookies.py").read_text())
    other.write("own.py", "def only_here():\n    return 'nowhere else'\n")
    mine, theirs = repository.open(), other.open()
    index(mine)
    index(theirs)
    before = image(theirs)
    _make_old(repository)
    mine.delete()
    assert image(theirs) == before
    kept = theirs.index.readable().kept
    named = named_vectors(IndexLayout(repository.home, "/").indexes, kept.store_uuid)
    assert kept.get(named[named > 0])[1].all()
    assert kept.count() == (named > 0).sum(), "what nobody names any more has gone"
    other.close()


def test_an_index_whose_vectors_were_replaced_is_linked_anew_by_hash(repository: Project) -> None:
    workspace = repository.open()
    index(workspace)
    before = image(workspace)
    workspace.close()
    (file,) = repository.home.glob("vectors/vectors.sqlite")
    _copy_under_another_uuid(file)
    again = repository.open()
    assert image(again) == before
    assert index(again).embedded == 0


def test_a_reader_never_takes_the_vectors_of_a_new_cache_for_those_that_the_manifest_names(repository: Project) -> None:
    writer = repository.open()
    index(writer)
    query = "how long do cookies live"
    request = SearchRequest(query, mode="vector")
    before = find(writer, query, mode="vector")
    (file,) = repository.home.glob("vectors/vectors.sqlite")
    _copy_under_another_uuid(file)
    reader = repository.open()
    answer = reader.search(request, never_cancelled)
    assert reader.index.readable().writer is None
    assert (answer.hits, "Partial: 0 of" in answer.notice) == ((), True)
    assert find(writer, query, mode="vector") == before  # this links the manifest to the new file
    answer = reader.search(request, never_cancelled)
    assert ([hit.path for hit in answer.hits], "Partial" in answer.notice) == (before, False)


def _make_old(project: Project) -> None:
    """Makes every vector look unused for days."""
    path = project.home / "vectors" / "vectors.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE uses SET day = day - 10")


def _copy_under_another_uuid(file: Path) -> None:
    (name,) = [m for m in _models(file)]
    old = EmbeddingCacheFile(file, *name)
    with closing(sqlite3.connect(file)) as connection:
        hashes = dict(connection.execute("SELECT id, hash FROM vectors"))
    vectors, _ = old.get(np.array(list(hashes)))
    rows = list(zip(hashes.values(), vectors, strict=True))
    old.close()
    for part in file.parent.iterdir():
        part.unlink()
    new = EmbeddingCacheFile(file, *name)
    new.add([key for key, _ in reversed(rows)], np.array([vector for _, vector in reversed(rows)], np.float32))
    new.close()


def _models(file: Path) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.execute("SELECT model_id, dimension FROM models"))
