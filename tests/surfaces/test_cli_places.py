"""What the shell says of folders: of one below an indexed one, of one that is gone, and of what outlives an index."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.engine.index.layout import IndexLayout
from sidecar.surfaces.cli.main import main
from sidecar.tools.registry import ALL_TOOLS
from sidecar.tools.service import Service
from tests.fakes import FakeWorkspace, FakeWorkspaces


class Shell:
    """Runs commands on a workspace without an index. `home`: the data folder of the other workspaces."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.home = root, home
        self._service = Service(FakeWorkspaces(FakeWorkspace({"a.py": "x = 1\n"}, root=str(root))), tools=ALL_TOOLS)

    def __call__(self, *words: str, stdin: io.StringIO | None = None) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        status = main(words, service=self._service, stdin=stdin or io.StringIO(), stdout=out, stderr=err)
        return status, out.getvalue(), err.getvalue()

    def has_index(self, root: Path) -> None:
        """Makes the folders that an index of `root` has."""
        layout = IndexLayout(self.home, str(root))
        layout.generation(1).mkdir(parents=True)
        layout.set_current(1)


class Typed(io.StringIO):
    """A terminal in which a person types these lines, and then Ctrl-C."""

    def isatty(self) -> bool:
        return True

    def readline(self, *_: Any) -> str:  # type: ignore[override]  # typeshed gives io's base class bytes
        if not (typed := super().readline()):
            raise KeyboardInterrupt
        return typed


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    root, home = tmp_path / "all of it" / "packages" / "web", tmp_path / "home"
    root.mkdir(parents=True)
    monkeypatch.setenv("SIDECAR_HOME", str(home))
    return Shell(root, home)


@pytest.mark.parametrize("words", [("search", "alpha"), ("symbols", "alpha"), ("paths", "**/*.py"), ("delete", "-y")])
def test_below_an_indexed_folder_the_error_names_that_folder_and_its_option(
    shell: Shell, words: tuple[str, ...]
) -> None:
    whole = shell.root.parent.parent
    shell.has_index(whole)
    status, out, err = shell("-w", str(shell.root), *words)
    assert (status, out) == (3, "")
    assert f'Or add -w "{whole}": that folder, above "{shell.root}", has an index.' in err
    _, _, err = shell("-w", str(shell.root), *words, "--json")
    assert str(whole) in json.loads(err)["error"]["detail"]


def test_where_no_folder_above_has_an_index_the_error_names_none(shell: Shell) -> None:
    shell.has_index(shell.root.parent / "other")
    status, _, err = shell("-w", str(shell.root), "search", "alpha")
    assert status == 3
    assert "add -w" not in err


def test_where_the_current_folder_is_gone_what_concerns_no_workspace_still_works(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for words in (("indexes",), ("prune", "-y"), ("completion", "bash"), ("serve", "token", "list")):
        status, out, err = shell(*words)
        assert status == 0, (words, err)
        assert out or "There are no callers" in err
    status, _, err = shell("status")
    assert status == 3
    assert "the current folder no longer exists" in err


def test_ctrl_c_at_the_second_question_says_what_is_kept_and_not_that_nothing_has_changed(shell: Shell) -> None:
    shell.has_index(shell.root)
    memories = IndexLayout(shell.home, str(shell.root)).memories
    memories.parent.mkdir()
    memories.touch()
    assert shell("-w", str(shell.root), "index")[0] == 0
    status, out, err = shell("-w", str(shell.root), "delete", "--all-data", stdin=Typed("y\n"))
    assert (status, out) == (130, "deleted\n")
    assert "Delete memories of" in err
    assert err.endswith("Kept, because nothing could make it again: memories.\n")
    assert memories.exists()
