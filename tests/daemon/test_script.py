"""What a pipe remembers of a session and says again, and how it cuts bytes into frames; without processes."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.daemon.replay import REPLAY, Replay
from sidecar.daemon.replay_lsp import HeaderCutter, LspReplay
from sidecar.daemon.replay_mcp import Hello, LineCutter, McpReplay

FILE = "file:///w/a.py"


def lsp(*, folders: list[str] | None = None, watch: Any = lambda pid: None) -> LspReplay:
    """A session that is initialized."""
    script = LspReplay(watch)
    params = {"processId": 7, "capabilities": {}, "workspaceFolders": [{"uri": u, "name": u} for u in folders or []]}
    said(script, {"id": 1, "method": "initialize", "params": params})
    heard(script, {"id": 1, "result": {"capabilities": {"positionEncoding": "utf-16"}}})
    said(script, {"method": "initialized", "params": {}})
    return script


def said(script: Replay, message: dict[str, Any]) -> dict[str, Any] | None:
    """What goes on to the daemon of a client's message."""
    return passed(script.from_client, script, message)


def heard(script: Replay, message: dict[str, Any]) -> dict[str, Any] | None:
    return passed(script.from_daemon, script, message)


def passed(way: Any, script: Replay, message: dict[str, Any]) -> dict[str, Any] | None:
    message = {"jsonrpc": "2.0", **message}
    on = way(script.frame(message), json.dumps(message).encode())
    return None if on is None else body(on)


def body(frame: bytes) -> dict[str, Any]:
    told = json.loads(frame.rpartition(b"\r\n\r\n")[2])
    assert isinstance(told, dict)
    return told


def opening(script: Replay) -> list[dict[str, Any]]:
    return [body(frame) for frame in script.opening()]


def change(version: int, *changes: Any) -> dict[str, Any]:
    params = {"textDocument": {"uri": FILE, "version": version}, "contentChanges": list(changes)}
    return {"method": "textDocument/didChange", "params": params}


def insertion(line: int, character: int, text: str) -> dict[str, Any]:
    place = {"line": line, "character": character}
    return {"range": {"start": place, "end": place}, "text": text}


def open_file(script: Replay, text: str) -> None:
    document = {"uri": FILE, "languageId": "python", "version": 1, "text": text}
    said(script, {"method": "textDocument/didOpen", "params": {"textDocument": document}})


def test_an_editors_session_is_said_again_in_order_with_folders_and_text_of_now() -> None:
    script = lsp(folders=["file:///w", "file:///gone"])
    said(script, {"method": "workspace/didChangeConfiguration", "params": {"settings": 1}})
    said(script, {"method": "workspace/didChangeConfiguration", "params": {"settings": 2}})
    event = {"added": [{"uri": "file:///new", "name": "new"}], "removed": [{"uri": "file:///gone", "name": "gone"}]}
    said(script, {"method": "workspace/didChangeWorkspaceFolders", "params": {"event": event}})
    open_file(script, "a🦜b\n")
    said(script, change(2, insertion(0, 3, "X"), insertion(0, 0, "Y")))
    said(script, change(3, insertion(1, 0, "end")))
    script.lost()
    begin, initialized, configuration, document = opening(script)
    assert begin["id"] == REPLAY
    assert [folder["uri"] for folder in begin["params"]["workspaceFolders"]] == ["file:///w", "file:///new"]
    assert initialized["method"] == "initialized"
    assert configuration["params"] == {"settings": 2}
    item = document["params"]["textDocument"]
    assert (item["text"], item["version"], item["languageId"]) == ("Ya🦜Xb\nend", 3, "python")


def test_a_closed_document_is_not_opened_again() -> None:
    script = lsp()
    open_file(script, "x")
    said(script, {"method": "textDocument/didClose", "params": {"textDocument": {"uri": FILE}}})
    assert [message["method"] for message in opening(script)] == ["initialize", "initialized"]


def test_thousands_of_edits_are_kept_as_text() -> None:
    script = lsp()
    open_file(script, "")
    tracemalloc.start()
    for number in range(3000):
        said(script, change(number + 2, insertion(0, number, "x")))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 500_000, "as messages they take three million bytes"
    assert opening(script)[-1]["params"]["textDocument"]["text"] == "x" * 3000


def test_an_edit_that_makes_no_sense_is_passed_on_and_stops_nothing() -> None:
    script = lsp()
    broken = {"method": "textDocument/didChange", "params": {"contentChanges": 3}}
    assert said(script, broken) == {"jsonrpc": "2.0", **broken}
    assert len(opening(script)) == 2


def test_what_is_under_way_fails_and_what_was_answered_does_not() -> None:
    script = lsp()
    said(script, {"id": 2, "method": "sidecar/searchCode", "params": {}})
    said(script, {"id": "2", "method": "sidecar/createIndex", "params": {}})
    heard(script, {"id": 2, "result": {}})
    told = [body(frame) for frame in script.lost()]
    assert [message["id"] for message in told] == ["2"]
    assert told[0]["error"]["data"]["code"] == "DAEMON_ENDED"
    assert script.lost() == []


def test_a_shutdown_needs_no_daemon() -> None:
    script = lsp()
    said(script, {"id": 9, "method": "shutdown"})
    assert [body(frame) for frame in script.lost()] == [{"jsonrpc": "2.0", "id": 9, "result": None}]
    said(script, {"method": "exit"})
    assert (script.over, script.status) == (True, 0)


def test_an_unanswered_initialize_is_asked_again_as_it_was() -> None:
    script = McpReplay()
    said(script, {"id": 5, "method": "initialize", "params": {}})
    assert script.lost() == []
    assert [message["id"] for message in opening(script)] == [5]
    assert heard(script, {"id": 5, "result": {"ok": 1}}) is not None


def test_when_no_daemon_can_be_had_even_initialize_fails_and_says_why() -> None:
    script = McpReplay()
    said(script, {"id": 5, "method": "initialize", "params": {}})
    (told,) = [body(frame) for frame in script.lost("The disk is full.")]
    assert told["id"] == 5
    assert "The disk is full." in told["error"]["message"]


def test_the_answer_to_our_own_initialize_reaches_nobody() -> None:
    script = lsp()
    script.lost()
    frames = script.opening()
    next(frames)
    assert not script.replayed
    assert heard(script, {"id": REPLAY, "result": {}}) is None
    assert script.replayed


def test_open_progress_is_ended_and_standing_questions_are_withdrawn() -> None:
    script = lsp()
    for token, kind in (("a", "begin"), ("b", "begin"), ("a", "end")):
        heard(script, {"method": "$/progress", "params": {"token": token, "value": {"kind": kind}}})
    heard(script, {"id": 1, "method": "window/showMessageRequest", "params": {}})
    told = [body(frame) for frame in script.lost()]
    assert {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}} in told
    assert {
        "jsonrpc": "2.0",
        "method": "$/progress",
        "params": {"token": "b", "value": {"kind": "end"}},
    } in told
    assert len(told) == 2


@pytest.mark.parametrize("make", [lsp, McpReplay])
def test_a_late_answer_to_a_dead_daemons_question_goes_nowhere(make: Any) -> None:
    script = make()
    heard(script, {"id": 1, "method": "ask", "params": {}})
    script.lost()
    shown = heard(script, {"id": 1, "method": "ask", "params": {}})
    assert shown is not None and shown["id"] != 1
    assert said(script, {"id": 1, "result": "yes"}) is None
    answer = said(script, {"id": shown["id"], "result": "no"})
    assert answer is not None and (answer["id"], answer["result"]) == (1, "no")
    assert said(script, {"id": shown["id"], "result": "yes"}) is None


def test_a_second_daemon_withdraws_its_question_under_the_id_that_the_client_knows() -> None:
    script = lsp()
    script.lost()
    shown = heard(script, {"id": "q", "method": "ask", "params": {}})
    taken_back = heard(script, {"method": "$/cancelRequest", "params": {"id": "q"}})
    assert shown is not None and taken_back is not None
    assert taken_back["params"]["id"] == shown["id"]


def test_a_2026_session_has_nothing_to_say_again() -> None:
    script = McpReplay()
    said(script, {"id": 1, "method": "tools/call", "params": {"_meta": {"protocolVersion": "2026-07-28"}}})
    assert len(script.lost()) == 1
    assert opening(script) == []


def test_the_editors_process_is_watched() -> None:
    seen: list[int] = []
    lsp(watch=seen.append)
    assert seen == [7]


@given(st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\n", b"")), max_size=8), st.integers(1, 30))
def test_lines_come_out_as_they_went_in_however_they_are_cut(lines: list[bytes], size: int) -> None:
    whole = b"".join(line + b"\n" for line in lines)
    cutter = LineCutter()
    out = [raw for at in range(0, len(whole), size) for raw, _ in cutter.feed(whole[at : at + size])]
    assert out == [line + b"\n" for line in lines]
    assert cutter.rest() == b""


@given(st.lists(st.binary(max_size=60), max_size=6), st.integers(1, 50), st.sampled_from([b"\r\n", b"\n"]))
def test_frames_come_out_as_they_went_in_however_they_are_cut(bodies: list[bytes], size: int, end: bytes) -> None:
    frames = [b"Content-Length: %d%s%s%s" % (len(one), end, end, one) for one in bodies]
    whole = b"".join(frames)
    cutter = HeaderCutter()
    out = [cut for at in range(0, len(whole), size) for cut in cutter.feed(whole[at : at + size])]
    assert out == list(zip(frames, bodies, strict=True))


@given(st.lists(st.binary(max_size=200), max_size=6))
def test_bytes_that_are_no_frames_are_lost_nowhere(pieces: list[bytes]) -> None:
    cutter = HeaderCutter(limit=50)
    out = b"".join(raw for piece in pieces for raw, _ in cutter.feed(piece))
    assert out + cutter.rest() == b"".join(pieces)


def test_a_frame_beyond_the_limit_passes_unseen_and_the_next_one_is_seen() -> None:
    cutter = HeaderCutter(limit=10)
    whole = b"Content-Length: 11\r\n\r\n" + b"x" * 11 + b"Content-Length: 2\r\n\r\n{}"
    cuts = [cut for at in range(0, len(whole), 7) for cut in cutter.feed(whole[at : at + 7])]
    assert b"".join(raw for raw, _ in cuts) == whole
    assert [seen for _, seen in cuts if seen] == [b"{}"]


def test_a_line_beyond_the_limit_passes_unseen_and_the_next_one_is_seen() -> None:
    cutter = LineCutter(limit=10)
    whole = b"y" * 25 + b"\n{}\n"
    cuts = [cut for at in range(0, len(whole), 7) for cut in cutter.feed(whole[at : at + 7])]
    assert b"".join(raw for raw, _ in cuts) == whole
    assert [seen for _, seen in cuts if seen] == [b"{}\n"]


def test_an_agents_handshake_is_answered_before_a_daemon_is_there_as_the_last_one_did(tmp_path: Path) -> None:
    hello = Hello(tmp_path / "hello.json")
    begin = {"id": 3, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
    first = McpReplay(hello)
    said(first, begin)
    assert first.without_daemon() == []
    told = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "sidecar"}}
    heard(first, {"id": 3, "result": told})
    second = McpReplay(hello)
    said(second, begin)
    (answer,) = map(body, second.without_daemon())
    assert (answer["id"], answer["result"]) == (3, told)
    assert second.without_daemon() == []
    assert [message["id"] for message in opening(second)] == [REPLAY]
    other = McpReplay(hello)
    said(other, {**begin, "params": {"protocolVersion": "1999"}})
    assert other.without_daemon() == []


def test_what_ends_a_session_needs_no_daemon() -> None:
    script = lsp()
    assert [script.stage(script.frame({"method": m}).partition(b"\r\n\r\n")[2]) for m in ("shutdown", "exit")] == [
        "end"
    ] * 2
    assert script.stage(b'{"method": "initialize"}') == "begin"
    assert script.stage(b'{"method": "textDocument/didChange"}') == ""


def test_subscriptions_are_made_again_in_both_eras() -> None:
    script = McpReplay()
    said(script, {"id": 1, "method": "initialize", "params": {}})
    heard(script, {"id": 1, "result": {}})
    for number, (method, uri) in enumerate((("subscribe", "a"), ("subscribe", "b"), ("unsubscribe", "a"))):
        said(script, {"id": number + 2, "method": f"resources/{method}", "params": {"uri": uri}})
        heard(script, {"id": number + 2, "result": {}})
    script.lost()
    again = opening(script)
    assert [message.get("params") for message in again[1:]] == [{"uri": "b"}]
    assert heard(script, {"id": again[1]["id"], "result": {}}) is None
    modern = McpReplay()
    said(modern, {"id": 9, "method": "subscriptions/listen", "params": {}})
    assert modern.lost() == []
    assert [message["id"] for message in opening(modern)] == [9]
