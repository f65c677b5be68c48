"""What is embedded, kept and dropped when files change."""

from __future__ import annotations

import base64
import hashlib
import os
import textwrap
import threading
from pathlib import Path

import pytest

from sidecar.engine.update.applier import APPLIER_THREAD
from sidecar.errors import (
    Cancelled,
    FileExcluded,
    FileNotFound,
    IndexExists,
    IndexNotFound,
    PathTraversal,
    PermissionDenied,
)
from sidecar.model.terms import never_cancelled, no_progress
from tests.engine.projects import FILES, Project, find, image, index

pytestmark = pytest.mark.process


def settle(project: Project) -> None:
    """Makes every file old enough that its time stamp can be trusted."""
    for path in project.root.rglob("*"):
        if path.is_file():
            os.utime(path, (1_700_000_000, 1_700_000_000))


def test_the_first_run_indexes_code_and_documents_apart(project: Project) -> None:
    report = index(project.open())
    assert (report.code.files, report.docs.files) == (4, 2)
    assert report.embedded == report.code.chunks + report.docs.chunks


def test_a_second_run_over_unchanged_files_reads_and_embeds_nothing(project: Project) -> None:
    settle(project)
    workspace = project.open()
    index(workspace)
    again = index(workspace)
    assert (again.unchanged, again.embedded, again.removed) == (len(FILES), 0, 0)


def test_only_the_chunks_that_changed_are_embedded(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    project.write("src/retry.py", FILES["src/retry.py"] + "\n\ndef wait(delay):\n    clock.advance(delay)\n" * 40)
    first = index(workspace).embedded
    project.write("docs/guide.md", FILES["docs/guide.md"] + "\n## Sessions\n\nSessions never end.\n")
    assert index(workspace).embedded == 1
    assert first >= 1


def test_a_rename_embeds_no_chunk_again(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    (project.root / "src/cookies.py").rename(project.root / "src/biscuits.py")
    report = index(workspace)
    assert (report.embedded, report.removed) == (0, 1)
    assert "src/biscuits.py" in find(workspace, "expire cookies")
    assert "src/cookies.py" not in find(workspace, "expire cookies")


def test_a_branch_switch_and_back_embeds_nothing_the_second_time(project: Project) -> None:
    project.git("init", "-b", "main")
    project.git("add", ".")
    project.git("commit", "-m", "one")
    workspace = project.open()
    index(workspace)
    before = image(workspace)
    project.git("checkout", "-b", "other")
    project.write("src/cookies.py", "def bake():\n    return oven.heat()\n")
    project.git("commit", "-am", "two")
    assert index(workspace).embedded == 1
    project.git("checkout", "main")
    assert index(workspace).embedded == 0
    assert image(workspace) == before


def test_a_rebuild_embeds_nothing_and_equals_the_former_index(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    before = image(workspace)
    report = workspace.rebuild(no_progress, never_cancelled)
    assert report.embedded == 0
    assert image(workspace) == before
    assert workspace.status().generation == 2


def test_a_cancelled_rebuild_leaves_the_former_index_in_force(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    with pytest.raises(Cancelled):
        workspace.rebuild(no_progress, lambda: True)
    assert workspace.status().generation == 1
    assert find(workspace, "expire cookies")


def test_a_cancelled_creation_is_incomplete_and_can_be_continued(project: Project) -> None:
    workspace = project.open()
    with pytest.raises(Cancelled):
        workspace.create(no_progress, lambda: True)
    assert workspace.status().status == "incomplete"
    workspace.create(no_progress, never_cancelled)
    assert workspace.status().status == "ready"


def test_what_was_cancelled_goes_on_when_somebody_searches_and_not_by_itself(project: Project) -> None:
    others = set(threading.enumerate())
    workspace = project.open(stay=0.0)
    with pytest.raises(Cancelled):
        workspace.create(no_progress, lambda: True)
    assert APPLIER_THREAD not in {thread.name for thread in set(threading.enumerate()) - others}
    assert workspace.status().status == "incomplete"
    assert find(workspace, "retry")[0] == "src/retry.py"
    assert workspace.status().status == "ready"


def test_creating_twice_is_refused_and_changes_nothing(project: Project) -> None:
    workspace = project.open()
    workspace.create(no_progress, never_cancelled)
    before = image(workspace)
    with pytest.raises(IndexExists):
        workspace.create(no_progress, never_cancelled)
    assert image(workspace) == before


def test_a_file_that_becomes_ignored_leaves_the_index(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    project.write(".sidecarignore", "src/http/\n")
    assert index(workspace).removed == 1
    assert workspace.find_paths("**/*.go", 10).total == 0


def test_one_file_is_indexed_again_removed_and_refused(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    assert workspace.reindex_file("src/retry.py").chunks >= 1
    (project.root / "src/retry.py").unlink()
    assert workspace.reindex_file("src/retry.py").status == "removed"
    with pytest.raises(FileNotFound):
        workspace.reindex_file("src/retry.py")
    project.write("node_modules/x/index.js", "module.exports = 1\n")
    with pytest.raises(FileExcluded, match="deny-list"):
        workspace.reindex_file("node_modules/x/index.js")
    with pytest.raises(PathTraversal):
        workspace.reindex_file("../secret")


def test_a_secret_in_a_file_withholds_it_with_the_reason(project: Project) -> None:
    body = base64.b64encode(hashlib.shake_256(b"a key nobody uses").digest(600)).decode()
    pem = "\n".join(textwrap.wrap(body, 64))
    project.write("deploy.py", f"KEY = '''-----BEGIN RSA PRIVATE KEY-----\n{pem}\n-----END RSA PRIVATE KEY-----'''\n")
    workspace = project.open()
    assert index(workspace).withheld == 1
    settle(project)
    index(workspace)
    again = index(workspace)
    assert (again.withheld, again.unchanged) == (1, len(FILES))
    (withheld,) = workspace.status().withheld
    assert withheld.path == "deploy.py"
    with pytest.raises(FileExcluded, match="secret-by-content"):
        workspace.reindex_file("deploy.py")
    assert body[:60].encode() not in b"".join(p.read_bytes() for p in project.home.rglob("*.sqlite*"))


def test_deleting_leaves_no_trace_on_disk(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    workspace.delete()
    assert workspace.status().status == "not_found"
    assert list((project.home / "indexes").iterdir()) == []
    with pytest.raises(IndexNotFound):
        workspace.delete()


def test_text_written_last_second_is_not_trusted_to_be_unchanged(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    path = project.root / "src/parse.ts"
    stat = path.stat()
    path.write_text(FILES["src/parse.ts"].replace("parseQueryString", "parseQueryStrong"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    index(workspace)
    assert workspace.explain("src/parse.ts").stale is False
    assert find(workspace, "parseQueryStrong", mode="fts") == ["src/parse.ts"]


def test_indexing_a_file_that_cannot_be_read_says_permission_denied(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    (project.root / "src/parse.ts").chmod(0)
    if os.access(project.root / "src/parse.ts", os.R_OK):
        pytest.skip("the superuser reads everything")
    with pytest.raises(PermissionDenied, match=r"src/parse\.ts"):
        workspace.reindex_file("src/parse.ts")


def test_a_config_file_that_is_gone_is_written_again_by_the_next_indexing(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    config = Path(workspace.config().config_path)
    config.unlink()
    index(workspace)
    assert config.exists()


def test_an_unreadable_file_is_reported_and_does_not_end_the_run(project: Project) -> None:
    if os.geteuid() == 0:
        pytest.skip("the superuser reads everything")
    (project.root / "src/parse.ts").chmod(0)
    workspace = project.open()
    assert index(workspace).errors == 1
    assert workspace.status().errors[0][0] == "src/parse.ts"


@pytest.mark.parametrize("path", ["src/new.py", "src/cookies.py"])
def test_a_saved_file_is_one_revision_with_its_vectors(project: Project, path: str) -> None:
    workspace = project.open()
    index(workspace)
    generation = workspace.index.readable()
    assert generation.writer is not None
    statements: list[str] = []
    project.write(path, "def brew_espresso(beans):\n    return beans.ground\n")
    generation.writer.manifest.connection.set_trace_callback(statements.append)
    workspace.reindex_file(path)
    generation.writer.manifest.connection.set_trace_callback(None)
    inserted = [n for n, statement in enumerate(statements) if statement.startswith("INSERT INTO chunks")]
    revisions = [n for n, statement in enumerate(statements) if "key = 'revision'" in statement]
    assert len(inserted) == 1
    assert not any(statement.startswith("UPDATE chunks SET vector_id") for statement in statements)
    assert sum(n < inserted[0] for n in revisions) == 0
