"""Open documents: positions, changes, and which of their text a search sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.surfaces.lsp.documents import apply_changes, chosen_encoding
from sidecar.surfaces.lsp.folders import Folders
from sidecar.surfaces.lsp.uris import path_from, path_of, uri_of
from tests.surfaces.lsp_client import EDITOR, LspClient, TcpServer


def change(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    places = ({"line": line, "character": character} for line, character in (start, end))
    return {"range": dict(zip(("start", "end"), places, strict=True)), "text": text}


# -------------------------------------------------------------------- positions


def test_a_change_without_a_range_is_the_whole_text() -> None:
    assert apply_changes("old", [{"text": "new"}, change((0, 3), (0, 3), "er")], "utf-16") == "newer"


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 6), ("utf-16", 4), ("utf-32", 3)])
def test_columns_count_the_units_of_the_agreed_encoding(encoding: str, column: int) -> None:
    assert apply_changes('a😋"b', [change((0, column), (0, column), "X")], encoding) == 'a😋"Xb'


def test_lines_end_at_newlines_and_not_at_form_feeds_or_unicode_separators() -> None:
    text = "one\x0c\u2028\x85two\r\nthree\rfour\nfive"
    assert apply_changes(text, [change((1, 0), (1, 5), "3")], "utf-16") == "one\x0c\u2028\x85two\r\n3\rfour\nfive"
    assert apply_changes(text, [change((3, 0), (3, 4), "5")], "utf-16") == "one\x0c\u2028\x85two\r\nthree\rfour\n5"


def test_places_beyond_the_end_are_the_end() -> None:
    assert apply_changes("ab\ncd", [change((0, 99), (0, 99), "X")], "utf-16") == "abX\ncd"
    assert apply_changes("ab\r\ncd", [change((0, 99), (0, 99), "X")], "utf-16") == "abX\r\ncd"
    assert apply_changes("ab\ncd", [change((1, 99), (7, 0), "X")], "utf-16") == "ab\ncdX"
    assert apply_changes("ab\n", [change((1, 0), (1, 0), "X")], "utf-16") == "ab\nX"
    assert apply_changes("", [change((0, 0), (0, 0), "X")], "utf-16") == "X"


@given(st.text(alphabet="a\n😋é\r\x0c", max_size=20), st.data())
def test_a_change_equals_cutting_the_text_at_its_offsets(text: str, data: st.DataObject) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def place() -> tuple[tuple[int, int], tuple[int, int]]:
        line = data.draw(st.integers(0, len(lines) - 1))
        column = data.draw(st.integers(0, len(lines[line])))
        return (line, column), (line, len(lines[line][:column].encode("utf-16-le")) // 2)

    (first, start), (second, end) = sorted((place(), place()))
    changed = apply_changes(text, [change(start, end, "NEW")], "utf-16")

    def offset(at: tuple[int, int]) -> int:
        return sum(len(line) + 1 for line in lines[: at[0]]) + at[1]

    flat = "\n".join(lines)
    expected = flat[: offset(first)] + "NEW" + flat[offset(second) :]
    assert changed.replace("\r\n", "\n").replace("\r", "\n") == expected


def test_utf_16_is_taken_wherever_the_client_offers_it() -> None:
    assert chosen_encoding(None) == chosen_encoding([]) == chosen_encoding(["utf-8", "utf-16"]) == "utf-16"
    assert chosen_encoding(["utf-99", "utf-8"]) == "utf-8"
    assert chosen_encoding(["utf-99"]) == "utf-16"


# -------------------------------------------------------------------- places


def test_file_uris_are_paths_and_other_schemes_are_not() -> None:
    assert path_of("file:///a/b%20c/%C3%A9%23.py") == "/a/b c/é#.py"
    assert path_of("file:///a/b;c?d#e") == "/a/b;c?d#e"
    assert path_of("file:///a/b/../c/") == "/a/c"
    assert path_of("file://localhost/a") == "/a"
    assert path_of("FILE:///a") == "/a"
    assert path_of("file:///c%3A/x") == "C:/x"
    assert path_of(uri_of("/a b/ü#?.py")) == "/a b/ü#?.py"
    for uri in (
        "untitled:Untitled-1",
        "git:/a/b",
        "http://x/a",
        "vscode-notebook-cell:/a#1",
        "",
        "/a",
        "file:///a%00b",
    ):
        assert path_of(uri) is None, uri
    assert path_from("/a/b/") == "/a/b"
    assert path_from("file:///a/b") == "/a/b"
    assert path_from("a/b") is path_from("git:/a") is path_from("/a\0") is None


def test_a_path_belongs_to_the_innermost_folder() -> None:
    folders = Folders()
    assert folders.add(["file:///w", "file:///w/sub", "file:///w/", "git:/x"]) == ["/w", "/w/sub"]
    assert folders.locate("/w/a/b.py") == ("/w", "a/b.py")
    assert folders.locate("/w/sub/b.py") == ("/w/sub", "b.py")
    assert folders.locate("/wide/b.py") is folders.locate("/w") is None
    assert folders.chosen("file:///w/sub/b.py") == "/w/sub"
    assert folders.remove(["file:///w", "file:///other"]) == ["/w"]
    assert folders.paths == ("/w/sub",)


# -------------------------------------------------------------------- what a search sees


@pytest.fixture(scope="module")
def server() -> Iterator[TcpServer]:
    with TcpServer() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_text("def parse(line):\n    return line\n")
    return root


@pytest.fixture
def client(server: TcpServer, folder: Path) -> Iterator[LspClient]:
    with LspClient(connect=server.address) as client:
        client.start(folder, capabilities={"general": {"positionEncodings": ["utf-16"]}})
        client.request("sidecar/createIndex")
        yield client


def buffers(client: LspClient, folder: Path) -> dict[str, str]:
    """Returns the unsaved text that the engine was given."""
    answer = client.request("sidecar/searchByPath", {"pattern": "buffers", "workspace": str(folder)})
    return {path: json.loads(text) for path, _, text in (row.partition("=") for row in answer["matches"])}


def open_files(client: LspClient, folder: Path) -> list[str]:
    """Returns the documents that the engine knows to be open in an editor."""
    answer = client.request("sidecar/searchByPath", {"pattern": "open files", "workspace": str(folder)})
    return list(answer["matches"])


def opened(client: LspClient, path: Path | str, text: str) -> dict[str, str]:
    uri = path if isinstance(path, str) else path.as_uri()
    client.notify(
        "textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}}
    )
    return {"uri": uri}


def test_a_search_sees_what_was_typed_just_before(client: LspClient, folder: Path) -> None:
    document = opened(client, folder / "a.py", (folder / "a.py").read_text())
    changes = [change((0, 4), (0, 9), "zyzzyva😋"), change((0, 13), (0, 13), "_end")]
    client.notify("textDocument/didChange", {"textDocument": {**document, "version": 2}, "contentChanges": changes})
    result = client.request("sidecar/searchCode", {"query": "zyzzyva"})
    assert [row["path"] for row in result["results"]] == ["a.py"]
    assert buffers(client, folder) == {"a.py": "def zyzzyva😋_end(line):\n    return line\n"}


def test_a_document_that_equals_its_file_is_no_buffer(client: LspClient, folder: Path) -> None:
    text = (folder / "a.py").read_text()
    document = opened(client, folder / "a.py", text)
    assert buffers(client, folder) == {}
    version = {"textDocument": {**document, "version": 2}}
    client.notify("textDocument/didChange", {**version, "contentChanges": [{"text": "x = 1\n"}]})
    assert buffers(client, folder) == {"a.py": "x = 1\n"}
    client.notify("textDocument/didChange", {**version, "contentChanges": [{"text": text}]})
    assert buffers(client, folder) == {}


def test_saving_and_closing_give_the_file_back_to_the_disk(client: LspClient, folder: Path) -> None:
    document = opened(client, folder / "a.py", "x = 1\n")
    assert buffers(client, folder) == {"a.py": "x = 1\n"}
    (folder / "a.py").write_text("x = 1\n")
    client.notify("textDocument/didSave", {"textDocument": document})
    assert buffers(client, folder) == {}
    version = {"textDocument": {**document, "version": 3}}
    client.notify("textDocument/didChange", {**version, "contentChanges": [{"text": "x = 2\n"}]})
    assert buffers(client, folder) == {"a.py": "x = 2\n"}
    client.notify("textDocument/didClose", {"textDocument": document})
    assert buffers(client, folder) == {}


def test_a_new_file_that_is_not_on_disk_yet_is_seen(client: LspClient, folder: Path) -> None:
    opened(client, folder / "sub" / "new.py", "y = 1\n")
    assert buffers(client, folder) == {"sub/new.py": "y = 1\n"}


def test_which_documents_are_open_is_known_until_they_are_closed(client: LspClient, folder: Path) -> None:
    first = opened(client, folder / "a.py", (folder / "a.py").read_text())
    second = opened(client, folder / "b.py", "not on disk\n")
    opened(client, "untitled:Untitled-1", "x = 1\n")
    assert open_files(client, folder) == ["a.py", "b.py"]
    client.notify("textDocument/didClose", {"textDocument": first})
    assert open_files(client, folder) == ["b.py"]
    client.notify("textDocument/didClose", {"textDocument": second})
    assert open_files(client, folder) == []


def test_documents_elsewhere_are_passed_over(client: LspClient, folder: Path, tmp_path: Path) -> None:
    opened(client, tmp_path / "outside.py", "x = 1\n")
    for uri in ("untitled:Untitled-1", "git:/a.py?x", f"vscode-notebook-cell:{folder}/a.py#1"):
        document = opened(client, uri, "x = 1\n")
        version = {"textDocument": {**document, "version": 2}}
        client.notify("textDocument/didChange", {**version, "contentChanges": [{"text": "z"}]})
        client.notify("textDocument/didSave", {"textDocument": document})
        client.notify("textDocument/didClose", {"textDocument": document})
    assert buffers(client, folder) == {}
    assert client.all_of("window/logMessage") == []


def test_text_that_has_no_utf_8_is_taken(client: LspClient, folder: Path) -> None:
    opened(client, folder / "b.py", "x = '\ud800'\n")
    assert buffers(client, folder) == {"b.py": "x = '?'\n"}


def test_a_document_follows_its_folder(client: LspClient, folder: Path, tmp_path: Path) -> None:
    opened(client, tmp_path / "other" / "c.py", "x = 1\n")
    other = tmp_path / "other"
    other.mkdir()
    event = {"added": [{"uri": other.as_uri(), "name": "other"}], "removed": []}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    client.request("sidecar/createIndex", {"workspace": str(other)})
    assert buffers(client, other) == {"c.py": "x = 1\n"}
    event = {"added": [], "removed": [{"uri": other.as_uri(), "name": "other"}]}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    assert buffers(client, other) == {}


def test_a_client_that_leaves_takes_its_buffers_along(server: TcpServer, client: LspClient, folder: Path) -> None:
    with LspClient(connect=server.address) as second:
        second.start(folder, capabilities=EDITOR)
        opened(second, folder / "a.py", "second = 1\n")
        assert buffers(second, folder) == buffers(client, folder) == {"a.py": "second = 1\n"}
        second.stop()
    assert buffers(client, folder) == {}
