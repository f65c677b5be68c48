"""The LSP door over the real engine: what a person at an editor experiences, and what processes are left."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.lsp_client import Failed, LspClient

pytestmark = [pytest.mark.e2e, pytest.mark.process]
COMMAND = (sys.executable, "-m", "sidecar", "--stdio")
ACCEPT: dict[str, Callable[[Any], Any]] = {"window/showMessageRequest": lambda params: params["actions"][0]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    (root / "headers.py").write_text("def parse_header(line):\n    return line.split(':', 1)\n")
    (root / "send.py").write_text(
        "def send_all(socket, pieces):\n    for piece in pieces:\n        socket.send(piece)\n"
    )
    return root


@pytest.fixture
def client(home: Path) -> Iterator[LspClient]:
    with LspClient(COMMAND, env={"SIDECAR_HOME": str(home)}, on_request=ACCEPT) as client:
        yield client


def started_by(parent: int) -> list[int]:
    """Returns the living child processes of this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, above = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if int(above) == parent and state != "Z":
                found.append(int(entry.name))
    return found


def first(client: LspClient, query: str, **more: Any) -> dict[str, Any]:
    result: dict[str, Any] = client.request("sidecar/searchCode", {"query": query, **more})["results"][0]
    return result


def test_an_editors_day(client: LspClient, folder: Path) -> None:
    client.start(folder)
    assert client.request("sidecar/createIndex")["status"] == "created"
    assert first(client, "parse a header")["path"] == "headers.py"
    path = folder / "send.py"
    typed = path.read_text() + "\n\ndef zyzzyva_quux(pony):\n    return pony\n"
    document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": typed}
    client.notify("textDocument/didOpen", {"textDocument": document})
    assert "zyzzyva_quux" in first(client, "zyzzyva quux", mode="fts")["content"]
    path.write_text(typed)
    client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
    assert "zyzzyva_quux" in first(client, "zyzzyva quux", mode="fts")["content"]
    assert client.request("sidecar/reindexFile", {"file_path": "send.py"})["status"] == "reindexed"
    client.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
    assert "zyzzyva_quux" in first(client, "zyzzyva quux", mode="fts")["content"]
    assert client.request("sidecar/deleteIndex")["status"] == "deleted"
    assert client.all_of("window/logMessage") == []
    assert client.stop() == 0
    assert client.stderr() == ""


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for processes under /proc")
@pytest.mark.parametrize("end", ["shutdown", "terminate", "close", "kill"])
def test_no_process_of_the_engines_is_left(client: LspClient, folder: Path, end: str) -> None:
    client.start(folder)
    client.request("sidecar/createIndex")
    first(client, "parse a header", mode="vector")
    assert client.process is not None
    watched = [os.pidfd_open(pid) for pid in started_by(client.process.pid)]
    assert watched, "files are parsed in processes of their own"
    if end == "shutdown":
        assert client.stop() == 0
    elif end == "close":
        client.close_input()
        assert client.wait() == 1
    else:
        client.process.send_signal(signal.SIGTERM if end == "terminate" else signal.SIGKILL)
        client.wait()
    for watch in watched:
        assert select.select([watch], [], [], 10)[0], "still running"
        os.close(watch)


def test_a_second_process_may_search_an_index_and_is_told_that_it_may_not_write(
    client: LspClient, folder: Path, home: Path
) -> None:
    client.start(folder)
    client.request("sidecar/createIndex")
    with LspClient(COMMAND, env={"SIDECAR_HOME": str(home)}, on_request=ACCEPT) as second:
        second.start(folder)
        assert first(second, "parse a header")["path"] == "headers.py"
        with pytest.raises(Failed) as failed:
            second.request("sidecar/reindexProject")
        assert (failed.value.number, failed.value.body["code"]) == (-32010, "INDEX_LOCKED")
        assert "Another process" in second.request("sidecar/getIndexStatus")["warning"]
        assert second.stop() == 0
    assert first(client, "parse a header")["path"] == "headers.py"


def test_what_is_wrong_with_the_settings_is_shown_to_the_person_once_wherever_it_is_set(
    home: Path, folder: Path
) -> None:
    env = {"SIDECAR_HOME": str(home), "SIDECAR_INDEXING_STRATEGY": "sometimes"}
    with LspClient(COMMAND, env=env, on_request=ACCEPT) as client:
        client.start(folder, initializationOptions={"maxFiles": "[many](command:evil)", "exclud": ["a"]})
        client.request("sidecar/createIndex", {})
        for part in (
            'maxFiles in the editor\'s settings is "[many] (command:evil)"; allowed: a whole number',
            '"exclud" in the editor\'s settings is not a setting. Did you mean exclude?',
            'indexingStrategy in the environment (SIDECAR_INDEXING_STRATEGY) is "sometimes"; allowed: realtime',
        ):
            expect_said(client, part)
        assert len(client.all_of("window/showMessage")) == 3


def test_a_setting_that_only_a_rebuild_applies_is_said_in_the_editor(client: LspClient, folder: Path) -> None:
    client.start(folder)
    client.request("sidecar/createIndex", {})
    config = Path(client.request("sidecar/getConfig", {})["configPath"])
    config.write_text('{"chunkingStrategy": "character", "maxFiles": 0}')
    notice = first_answer(client, "parse a header")["notice"]
    assert "The setting chunkingStrategy is now character, but the index was made with code-aware" in notice
    expect_said(client, notice)
    expect_said(client, "maxFiles in ")


def expect_said(client: LspClient, part: str) -> None:
    client.expect_method("window/showMessage", lambda params: part in params["message"])


def first_answer(client: LspClient, query: str) -> dict[str, Any]:
    answer: dict[str, Any] = client.request("sidecar/searchCode", {"query": query})
    return answer


def test_an_editor_with_several_folders_is_told_why_none_of_them_has_a_result(
    client: LspClient, folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    client.start(folder, other)
    client.request("sidecar/createIndex", {"workspace": str(folder)})
    client.request("sidecar/createIndex", {"workspace": str(other)})
    answer = client.request("sidecar/searchCode", {"query": "x", "kinds": ["clas"]})
    for said in (
        '/work": There is no kind "clas"; did you',
        '/other": Nothing is indexed: the workspace has no files.',
    ):
        assert said in answer["reason"]
    assert "reason" not in client.request("sidecar/searchCode", {"query": "header"})
