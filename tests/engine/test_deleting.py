"""Deleting an index removes everything that was computed from its files, and nothing that another index needs."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sidecar.engine.index.layout import IndexLayout
from sidecar.errors import IndexNotFound
from sidecar.parts.embed.cache import EmbeddingCacheFile
from sidecar.parts.manifest import Manifest
from tests.engine.projects import FILES, SLOW, Project, find, image, index

pytestmark = pytest.mark.process
SECRET = "def only_the_deleted_index_knows_this():\n    return 'a text that nobody else has'\n"


def beside(project: Project, name: str) -> Project:
    """Returns another workspace with the same data folder."""
    other = replace(project, root=project.root.parent / name, opened=[])
    other.root.mkdir()
    return other


def test_an_index_whose_folder_somebody_removed_is_not_there_and_is_made_anew_by_the_same_process(
    project: Project,
) -> None:
    workspace, announced = project.open(stay=0.0), list[str]()
    index(workspace)
    workspace.on_change(lambda status: announced.append(status.status))
    assert find(workspace, "cookies")
    shutil.rmtree(project.home / "indexes")
    with pytest.raises(IndexNotFound):
        find(workspace, "cookies")
    assert [workspace.status().status, announced[-1]] == ["not_found"] * 2
    index(workspace)
    assert find(workspace, "cookies")[0] == "src/cookies.py"
    assert [workspace.status().status, announced[-1]] == ["ready"] * 2


def vectors_file(project: Project) -> Path:
    return project.home / "vectors" / "vectors.sqlite"


def vectors_on_disk(project: Project) -> dict[bytes, bytes]:
    """Returns every stored vector in the shared file, by text hash."""
    with closing(sqlite3.connect(vectors_file(project))) as connection:
        return dict(connection.execute("SELECT hash, vector FROM vectors"))


def bytes_on_disk(project: Project) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(project.home.rglob("*")) if path.is_file())


def texts_of(project: Project) -> set[bytes]:
    """Returns the hashes of the texts that a workspace's index names."""
    found: set[bytes] = set()
    layout = IndexLayout(project.home, str(project.root))
    for number in layout.generations():
        with closing(sqlite3.connect(layout.manifest(number))) as connection:
            rows = connection.execute("SELECT body_hash FROM chunks UNION SELECT path_hash FROM files")
            found |= {row[0] for row in rows}
    return found


def test_no_byte_of_a_deleted_indexs_vectors_is_left(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    vectors = list(vectors_on_disk(project).values())
    assert all(vector in bytes_on_disk(project) for vector in vectors)
    workspace.delete()
    left = bytes_on_disk(project)
    assert [vector for vector in vectors if vector in left] == []


def test_what_was_computed_a_moment_ago_from_former_versions_goes_too(project: Project) -> None:
    project.write("src/new.py", SECRET)
    workspace = project.open()
    index(workspace)
    project.write("src/new.py", SECRET.replace("nobody", "somebody"))
    index(workspace)
    former = set(vectors_on_disk(project)) - texts_of(project)
    assert former
    workspace.delete()
    assert vectors_on_disk(project) == {}


def test_the_others_keep_exactly_what_they_name(project: Project) -> None:
    other = beside(project, "other")
    other.write("shared.py", FILES["src/cookies.py"])
    other.write("own.py", "def only_here():\n    return 'nowhere else'\n")
    project.write("src/new.py", SECRET)
    mine, theirs = project.open(), other.open()
    index(mine)
    index(theirs)
    before = image(theirs)
    mine.delete()
    assert set(vectors_on_disk(project)) == texts_of(other)
    assert image(theirs) == before
    assert index(theirs).embedded == 0
    other.close()


def test_the_store_of_close_neighbours_goes_with_the_index(project: Project) -> None:
    project.keep_chroma()
    workspace = project.open()
    index(workspace)
    assert [path for path in project.home.rglob("*") if "store" in path.parts]
    workspace.delete()
    assert [path for path in project.home.rglob("*") if "store" in path.parts or path.suffix == ".bin"] == []


def test_a_second_stage_in_progress_leaves_none_of_its_vectors(project: Project) -> None:
    project.flags["model"] = SLOW
    workspace = project.open()
    index(workspace)
    kept = EmbeddingCacheFile(vectors_file(project), "another model's", 4)
    kept.add(list(texts_of(project)), np.eye(len(texts_of(project)), 4, dtype=np.float32))
    kept.close()
    workspace.delete()
    assert vectors_on_disk(project) == {}


def test_an_index_that_cannot_be_read_takes_its_vectors_with_it(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    workspace.close()
    layout = IndexLayout(project.home, str(project.root))
    manifest = layout.manifest(layout.generations()[0])
    manifest.write_bytes(b"no database" * 1000)
    project.open().delete()
    assert vectors_on_disk(project) == {}


def test_an_index_whose_vectors_were_dropped_while_it_was_being_written_makes_them_again(project: Project) -> None:
    """The vectors of a changed file are in the shared file a moment before the manifest names them."""
    other = beside(project, "other")
    other.write("own.py", "def only_here():\n    return 'nowhere else'\n")
    index(other.open())
    writing, text = project.open(), FILES["src/cookies.py"].replace("expire", "run_out")
    index(writing)
    project.write("src/cookies.py", text)
    generation = writing.index.ready()
    assert generation.writer is not None
    deleted = delete_before_the_manifest_names_a_vector(generation.writer.manifest, other)
    index(writing)
    assert deleted
    assert other.opened[0].status().status == "not_found"
    assert "src/cookies.py" in find(writing, "when do cookies run out", mode="vector")
    assert texts_of(project) <= set(vectors_on_disk(project))
    ids = generation.writer.manifest.vector_ids()
    assert generation.kept.get(ids)[1].all()
    assert generation.writer.manifest.without_vector(1) == []
    other.close()


def delete_before_the_manifest_names_a_vector(manifest: Manifest, other: Project) -> list[str]:
    """Deletes the other index once a changed file's vectors are made and before the manifest names them: when its
    transaction has just begun to write the file. Returns the statements before which it did so."""
    done: list[str] = []

    def traced(statement: str) -> None:
        if "INTO files" in statement and not done:
            done.append(statement)
            deleting = threading.Thread(target=other.opened[0].delete)
            deleting.start()
            deleting.join()

    manifest.connection.set_trace_callback(traced)
    return done


@pytest.mark.parametrize("edited", [True, False])
def test_settings_that_somebody_edited_outlive_the_index_and_the_defaults_do_not(
    project: Project, edited: bool
) -> None:
    workspace = project.open()
    index(workspace)
    config = Path(workspace.config().config_path)
    if edited:
        config.write_text(json.dumps({"exclude": ["docs/**"]}))
    workspace.delete()
    assert config.exists() is edited
    index(workspace)
    assert json.loads(config.read_text())["exclude"] == (["docs/**"] if edited else [])


def test_edited_settings_survive_a_deletion_that_was_killed(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    workspace.close()
    layout = IndexLayout(project.home, str(project.root))
    layout.config.write_text(json.dumps({"exclude": ["docs/**"]}))
    layout.path.rename(layout.indexes / f".{layout.path.name}.deleted-1")
    again = project.open()
    index(again)
    assert json.loads(layout.config.read_text()) == {"exclude": ["docs/**"]}
