"""A person sees all indexes, removes those that nobody needs, and is told what is left."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.daemon.data_folder import DataFolder
from tests.daemon.terminal import terminal

ALONE = "--standalone"


def listed(folder: DataFolder) -> dict[str, dict[str, Any]]:
    """The indexes by workspace."""
    found = json.loads(folder.run("indexes", "--json").stdout)["indexes"]
    return {one["workspace"]: one for one in found}


def vectors(folder: DataFolder) -> int:
    with closing(sqlite3.connect(folder.home / "vectors" / "vectors.sqlite")) as connection:
        return int(connection.execute("SELECT count(*) FROM vectors").fetchone()[0])


def other(folder: DataFolder, tmp_path: Path) -> Path:
    """A second workspace, with an index."""
    root = tmp_path / "other"
    root.mkdir()
    (root / "only_here.py").write_text("def nowhere_else():\n    return 'nowhere else'\n")
    assert folder.run(ALONE, "index", cwd=root).returncode == 0
    return root


def remember(folder: DataFolder, work: Path) -> None:
    assert folder.run(ALONE, "memory", "save", "how", "Run make all", cwd=work).returncode == 0


def test_every_index_is_listed_with_its_workspace_size_and_what_is_kept_beside_it(
    indexed: DataFolder, work: Path, tmp_path: Path
) -> None:
    root = other(indexed, tmp_path)
    remember(indexed, root)
    found = listed(indexed)
    assert set(found) == {str(work), str(root)}
    assert found[str(root)]["keeps"] == ["memories"]
    assert (found[str(root)]["files"], found[str(root)]["exists"]) == (1, True)
    assert found[str(work)]["bytes"] > 0


def test_pruning_takes_what_no_workspace_needs_and_its_vectors_and_nothing_else(
    indexed: DataFolder, work: Path, tmp_path: Path
) -> None:
    before = vectors(indexed)
    root = other(indexed, tmp_path)
    assert vectors(indexed) > before
    shutil.rmtree(root)
    asked = indexed.run("prune")
    assert asked.returncode == 9
    assert "does not exist any more" in asked.stderr
    assert asked.stderr.endswith("Nothing was removed. Nobody could be asked: answer in a terminal, or give --yes.\n")
    assert str(root) in listed(indexed)
    assert indexed.run("prune", "--yes").returncode == 0
    assert set(listed(indexed)) == {str(work)}
    assert vectors(indexed) == before
    assert "nothing to remove" in indexed.run("prune", "--yes").stdout
    assert indexed.run(ALONE, "search", "convert_unit_1", cwd=work).returncode == 0


def test_only_a_person_in_a_terminal_has_the_index_of_a_workspace_that_exists_removed(
    indexed: DataFolder, work: Path
) -> None:
    refused = indexed.run("prune", "--unused", "0", "--yes")
    assert refused.returncode == 9
    assert refused.stderr.endswith(
        "Nothing was removed. Nobody could be asked: a person has to answer in a terminal.\n"
    )
    with terminal(indexed, work, "prune", "--unused", "0") as shell:
        shell.shows("Remove 1 index? [y/N] ")
        shell.type("n\n")
        assert shell.ends() == 9
    assert set(listed(indexed)) == {str(work)}
    with terminal(indexed, work, "prune", "--unused", "0") as shell:
        shell.shows("[y/N] ")
        shell.type("y\n")
        assert shell.ends() == 0
    assert listed(indexed) == {}


def test_an_index_that_a_daemon_has_open_stays_with_the_reason(indexed: DataFolder, work: Path, tmp_path: Path) -> None:
    root = tmp_path / "other"
    shutil.copytree(work, root)
    assert indexed.run("daemon", "start").returncode == 0
    assert indexed.run("index", cwd=root).returncode == 0
    shutil.rmtree(root)
    done = indexed.run("prune", "--yes")
    assert "sidecar daemon stop" in done.stdout
    assert str(root) in listed(indexed)


def test_deleting_says_what_stays_and_takes_that_too_when_a_person_says_so_twice(
    indexed: DataFolder, work: Path
) -> None:
    remember(indexed, work)
    refused = indexed.run(ALONE, "delete", "--all-data", "--yes", cwd=work)
    assert refused.returncode == 9
    assert "Nothing was deleted, because nothing could make it again: memories. Nobody could be asked" in refused.stderr
    assert str(work) in listed(indexed)
    done = indexed.run(ALONE, "delete", "--yes", cwd=work)
    assert done.returncode == 0
    assert "What nothing could make again stays: memories. `sidecar delete --all-data` takes it too." in done.stderr
    refused = indexed.run(ALONE, "delete", "--all-data", "--yes", cwd=work)
    assert refused.returncode == 9
    assert "Run make all" in indexed.run(ALONE, "memory", "get", "how", cwd=work).stdout
    with terminal(indexed, work, ALONE, "delete", "--all-data") as shell:
        shell.shows("too? [y/N] ")
        shell.type("n\n")
        shell.shows("Kept, because nothing could make it again: memories.")
        assert shell.ends() == 9
    with terminal(indexed, work, ALONE, "delete", "--all-data") as shell:
        shell.shows("too? [y/N] ")
        shell.type("y\n")
        assert shell.ends() == 0
    assert indexed.run(ALONE, "memory", "get", "how", cwd=work).returncode == 3
