"""Log records of the daemon reach the editors that they concern, and no others."""

from __future__ import annotations

import contextlib
import socket
import sqlite3
from pathlib import Path

from tests.daemon.data_folder import DataFolder, write_workspace
from tests.surfaces.lsp_client import LspClient

STRANGER = "sidecar.daemon: refused a connection that did not begin with a greeting"
KEEPING = "sidecar.engine.update.applier: "


def connect_a_stranger(data_folder: DataFolder) -> None:
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(data_folder.status()["socket"])
        stranger.sendall(b"no greeting\n")
        assert stranger.recv(1) == b""


def heard_until_the_stranger(editor: LspClient) -> list[str]:
    """Log lines arrive in order, so everything logged before the stranger's line has arrived before it."""
    editor.expect_method("window/logMessage", lambda params: params["message"] == STRANGER)
    lines = [params["message"] for params in editor.all_of("window/logMessage")]
    return lines[: lines.index(STRANGER)]


def damage_index(data_folder: DataFolder) -> None:
    """Keeps what is needed to open the only index, and removes what the files would be compared with."""
    (manifest,) = data_folder.home.glob("indexes/*/generations/1/manifest.sqlite")
    with contextlib.closing(sqlite3.connect(manifest)) as connection, connection:
        connection.execute("ALTER TABLE files RENAME COLUMN sha256 TO forgotten")


def test_what_is_wrong_with_one_workspace_is_shown_in_its_own_editor_only(
    data_folder: DataFolder, tmp_path: Path
) -> None:
    damaged, sound = (write_workspace(tmp_path / name) for name in ("damaged", "sound"))
    assert data_folder.run("index", cwd=damaged).returncode == 0
    data_folder.run("daemon", "stop")
    damage_index(data_folder)
    assert data_folder.run("index", cwd=sound).returncode == 0
    with data_folder.lsp() as other, data_folder.lsp() as one:
        other.start(sound)
        one.start(damaged)
        one.expect_method("window/logMessage", lambda params: params["message"].startswith(KEEPING))
        assert len(data_folder.daemons()) == 1
        connect_a_stranger(data_folder)
        assert any(line.startswith(KEEPING) for line in heard_until_the_stranger(one))
        assert heard_until_the_stranger(other) == []


def test_what_is_wrong_with_one_editors_settings_is_shown_in_no_other_on_the_same_workspace(
    data_folder: DataFolder, work: Path
) -> None:
    with data_folder.lsp() as other, data_folder.lsp() as one:
        other.start(work)
        one.start(work, initializationOptions={"indexingStrategy": "perhaps"})
        one.expect_method("window/logMessage", lambda params: "indexingStrategy" in params["message"])
        connect_a_stranger(data_folder)
        assert len(heard_until_the_stranger(one)) == 1
        assert heard_until_the_stranger(other) == []
