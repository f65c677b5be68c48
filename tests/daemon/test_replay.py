"""What a pipe remembers of a session and repeats, and how it divides bytes into frames; without processes."""

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
    replay = LspReplay(watch)
    params = {"processId": 7, "capabilities": {}, "workspaceFolders": [{"uri": u, "name": u} for u in folders or []]}
    said(replay, {"id": 1, "method": "initialize", "params": params})
    heard(replay, {"id": 1, "result": {"capabilities": {"positionEncoding": "utf-16"}}})
    said(replay, {"method": "initialized", "params": {}})
    return replay


def said(replay: Replay, message: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the part of a client's message that is passed on to the daemon."""
    return passed(replay.from_client, replay, message)


def heard(replay: Replay, message: dict[str, Any]) -> dict[str, Any] | None:
    return passed(replay.from_daemon, replay, message)


def passed(way: Any, replay: Replay, message: dict[str, Any]) -> dict[str, Any] | None:
    message = {"jsonrpc": "2.0", **message}
    on = way(replay.frame(message), json.dumps(message).encode())
    return None if on is None else body(on)


def body(frame: bytes) -> dict[str, Any]:
    message = json.loads(frame.rpartition(b"\r\n\r\n")[2])
    assert isinstance(message, dict)
    return message


def opening(replay: Replay) -> list[dict[str, Any]]:
    return [body(frame) for frame in replay.opening()]


def change(version: int, *changes: Any) -> dict[str, Any]:
    params = {"textDocument": {"uri": FILE, "version": version}, "contentChanges": list(changes)}
    return {"method": "textDocument/didChange", "params": params}


def insertion(line: int, character: int, text: str) -> dict[str, Any]:
    place = {"line": line, "character": character}
    return {"range": {"start": place, "end": place}, "text": text}


def open_file(replay: Replay, text: str) -> None:
    document = {"uri": FILE, "languageId": "python", "version": 1, "text": text}
    said(replay, {"method": "textDocument/didOpen", "params": {"textDocument": document}})


def test_an_editors_session_is_said_again_in_order_with_folders_and_text_of_now() -> None:
    replay = lsp(folders=["file:///w", "file:///gone"])
    said(replay, {"method": "workspace/didChangeConfiguration", "params": {"settings": 1}})
    said(replay, {"method": "workspace/didChangeConfiguration", "params": {"settings": 2}})
    event = {"added": [{"uri": "file:///new", "name": "new"}], "removed": [{"uri": "file:///gone", "name": "gone"}]}
    said(replay, {"method": "workspace/didChangeWorkspaceFolders", "params": {"event": event}})
    open_file(replay, "a🦜b\n")
    said(replay, change(2, insertion(0, 3, "X"), insertion(0, 0, "Y")))
    said(replay, change(3, insertion(1, 0, "end")))
    replay.lost()
    begin, initialized, configuration, document = opening(replay)
    assert begin["id"] == REPLAY
    assert [folder["uri"] for folder in begin["params"]["workspaceFolders"]] == ["file:///w", "file:///new"]
    assert initialized["method"] == "initialized"
    assert configuration["params"] == {"settings": 2}
    item = document["params"]["textDocument"]
    assert (item["text"], item["version"], item["languageId"]) == ("Ya🦜Xb\nend", 3, "python")


def test_a_closed_document_is_not_opened_again() -> None:
    replay = lsp()
    open_file(replay, "x")
    said(replay, {"method": "textDocument/didClose", "params": {"textDocument": {"uri": FILE}}})
    assert [message["method"] for message in opening(replay)] == ["initialize", "initialized"]


def test_thousands_of_edits_are_kept_as_text() -> None:
    replay = lsp()
    open_file(replay, "")
    tracemalloc.start()
    for number in range(3000):
        said(replay, change(number + 2, insertion(0, number, "x")))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 500_000, "as messages they take three million bytes"
    assert opening(replay)[-1]["params"]["textDocument"]["text"] == "x" * 3000


def test_an_edit_that_makes_no_sense_is_passed_on_and_stops_nothing() -> None:
    replay = lsp()
    broken = {"method": "textDocument/didChange", "params": {"contentChanges": 3}}
    assert said(replay, broken) == {"jsonrpc": "2.0", **broken}
    assert len(opening(replay)) == 2


def test_what_is_under_way_fails_and_what_was_answered_does_not() -> None:
    replay = lsp()
    said(replay, {"id": 2, "method": "sidecar/searchCode", "params": {}})
    said(replay, {"id": "2", "method": "sidecar/createIndex", "params": {}})
    heard(replay, {"id": 2, "result": {}})
    messages = [body(frame) for frame in replay.lost()]
    assert [message["id"] for message in messages] == ["2"]
    assert messages[0]["error"]["data"]["code"] == "DAEMON_ENDED"
    assert replay.lost() == []


def agent() -> McpReplay:
    """A session that is initialized."""
    replay = McpReplay()
    said(replay, {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}})
    heard(replay, {"id": 1, "result": {}})
    said(replay, {"method": "notifications/initialized"})
    return replay


def call(identifier: int, name: str) -> dict[str, Any]:
    return {"id": identifier, "method": "tools/call", "params": {"name": name, "arguments": {"query": "x"}}}


@pytest.mark.parametrize("kind", ["editor", "agent"])
def test_a_search_under_way_is_asked_again_and_what_changes_something_is_not(kind: str) -> None:
    if kind == "editor":
        replay: Replay = lsp()
        search = {"id": 2, "method": "sidecar/searchCode", "params": {"query": "x"}}
        changing = {"id": 3, "method": "sidecar/deleteIndex", "params": {}}
    else:
        replay, search, changing = agent(), call(2, "search_code"), call(3, "delete_index")
    said(replay, search)
    said(replay, changing)
    assert [body(frame)["id"] for frame in replay.lost()] == [3]
    *_, last = opening_of(replay)
    assert last == {"jsonrpc": "2.0", **search}
    assert heard(replay, {"id": 2, "result": {}}) == {"jsonrpc": "2.0", "id": 2, "result": {}}


def opening_of(replay: Replay) -> list[dict[str, Any]]:
    """Returns what is sent to a new daemon that answers `initialize`."""
    frames = []
    for frame in replay.opening():
        frames.append(body(frame))
        if body(frame)["id" if "id" in body(frame) else "method"] == REPLAY:
            heard(replay, {"id": REPLAY, "result": {}})
    return frames


def test_a_search_is_asked_again_once_and_a_second_death_is_reported() -> None:
    replay = agent()
    said(replay, call(2, "search_code"))
    assert replay.lost() == []
    opening_of(replay)
    (failed,) = [body(frame) for frame in replay.lost()]
    assert failed["id"] == 2 and "twice" in failed["error"]["message"]
    assert all(message.get("id") != 2 for message in opening_of(replay))


def test_where_no_daemon_can_be_had_a_search_fails_and_says_why() -> None:
    replay = agent()
    said(replay, call(2, "search_code"))
    (failed,) = [body(frame) for frame in replay.lost("It cannot be started.")]
    assert "It cannot be started." in failed["error"]["message"]


def test_a_search_that_was_cancelled_is_not_asked_again() -> None:
    replay = agent()
    said(replay, call(2, "search_code"))
    said(replay, {"method": "notifications/cancelled", "params": {"requestId": 2}})
    (failed,) = [body(frame) for frame in replay.lost()]
    assert failed["id"] == 2 and "twice" not in failed["error"]["message"]


def test_a_call_of_a_tool_that_nobody_knows_is_not_repeated() -> None:
    replay = agent()
    said(replay, call(2, "drop_tables"))
    said(replay, {"id": 3, "method": "tools/call", "params": {"name": ["search_code"]}})
    assert [body(frame)["id"] for frame in replay.lost()] == [2, 3]


def test_a_result_of_a_call_is_passed_on_without_being_parsed_and_ends_the_call(monkeypatch: Any) -> None:
    replay = agent()
    said(replay, call(2, "search_code"))
    said(replay, call(3, "search_code"))
    parsed: list[bytes] = []
    loads = json.loads

    def noted(text: bytes) -> Any:
        parsed.append(text)
        return loads(text)

    monkeypatch.setattr("sidecar.daemon.replay.json.loads", noted)
    for line in (b'{"jsonrpc":"2.0","id":2,"result":{"content":[]}}\n', b'{"jsonrpc":"2.0","id":3,"error":{}}\n'):
        assert replay.from_daemon(line, line) == line
    assert [text for text in parsed if b"result" in text] == []
    assert replay.lost() == []


@pytest.mark.parametrize("known", [b"9", b'"2"', b"-2", b"2e0", b"null"])
def test_a_result_that_answers_no_call_is_passed_on_and_ends_none(known: bytes) -> None:
    replay = agent()
    said(replay, call(2, "search_code"))
    line = b'{"jsonrpc":"2.0","id":' + known + b',"result":{}}\n'
    assert replay.from_daemon(line, line) == line
    assert [message["id"] for message in opening_of(replay) if "id" in message] == [REPLAY, 2]


def test_a_shutdown_needs_no_daemon() -> None:
    replay = lsp()
    said(replay, {"id": 9, "method": "shutdown"})
    assert [body(frame) for frame in replay.lost()] == [{"jsonrpc": "2.0", "id": 9, "result": None}]
    said(replay, {"method": "exit"})
    assert (replay.over, replay.status) == (True, 0)


def test_an_unanswered_initialize_is_asked_again_as_it_was() -> None:
    replay = McpReplay()
    said(replay, {"id": 5, "method": "initialize", "params": {}})
    assert replay.lost() == []
    assert [message["id"] for message in opening(replay)] == [5]
    assert heard(replay, {"id": 5, "result": {"ok": 1}}) is not None


def test_when_no_daemon_can_be_had_even_initialize_fails_and_says_why() -> None:
    replay = McpReplay()
    said(replay, {"id": 5, "method": "initialize", "params": {}})
    (message,) = [body(frame) for frame in replay.lost("The disk is full.")]
    assert message["id"] == 5
    assert "The disk is full." in message["error"]["message"]


def test_the_answer_to_our_own_initialize_reaches_nobody() -> None:
    replay = lsp()
    replay.lost()
    frames = replay.opening()
    next(frames)
    assert not replay.replayed
    assert heard(replay, {"id": REPLAY, "result": {}}) is None
    assert replay.replayed


def test_open_progress_is_ended_and_standing_questions_are_withdrawn() -> None:
    replay = lsp()
    for token, kind in (("a", "begin"), ("b", "begin"), ("a", "end")):
        heard(replay, {"method": "$/progress", "params": {"token": token, "value": {"kind": kind}}})
    heard(replay, {"id": 1, "method": "window/showMessageRequest", "params": {}})
    messages = [body(frame) for frame in replay.lost()]
    assert {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}} in messages
    assert {
        "jsonrpc": "2.0",
        "method": "$/progress",
        "params": {"token": "b", "value": {"kind": "end"}},
    } in messages
    assert len(messages) == 2


@pytest.mark.parametrize("make", [lsp, McpReplay])
def test_a_late_answer_to_a_dead_daemons_question_goes_nowhere(make: Any) -> None:
    replay = make()
    heard(replay, {"id": 1, "method": "ask", "params": {}})
    replay.lost()
    shown = heard(replay, {"id": 1, "method": "ask", "params": {}})
    assert shown is not None and shown["id"] != 1
    assert said(replay, {"id": 1, "result": "yes"}) is None
    answer = said(replay, {"id": shown["id"], "result": "no"})
    assert answer is not None and (answer["id"], answer["result"]) == (1, "no")
    assert said(replay, {"id": shown["id"], "result": "yes"}) is None


def test_a_second_daemon_withdraws_its_question_under_the_id_that_the_client_knows() -> None:
    replay = lsp()
    replay.lost()
    shown = heard(replay, {"id": "q", "method": "ask", "params": {}})
    taken_back = heard(replay, {"method": "$/cancelRequest", "params": {"id": "q"}})
    assert shown is not None and taken_back is not None
    assert taken_back["params"]["id"] == shown["id"]


def test_a_2026_session_has_nothing_to_say_again() -> None:
    replay = McpReplay()
    said(replay, {"id": 1, "method": "tools/call", "params": {"_meta": {"protocolVersion": "2026-07-28"}}})
    assert len(replay.lost()) == 1
    assert opening(replay) == []


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
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "sidecar"}}
    heard(first, {"id": 3, "result": greeting})
    second = McpReplay(hello)
    said(second, begin)
    (answer,) = map(body, second.without_daemon())
    assert (answer["id"], answer["result"]) == (3, greeting)
    assert second.without_daemon() == []
    assert [message["id"] for message in opening(second)] == [REPLAY]
    other = McpReplay(hello)
    said(other, {**begin, "params": {"protocolVersion": "1999"}})
    assert other.without_daemon() == []


@pytest.mark.parametrize("kept", [b"", b"[]", b'{"2025-06-18": 7}', b'{"2025-06-18": {}}', b"[" * 200_000, b"\xff"])
def test_what_is_kept_of_former_handshakes_may_be_anything_and_is_replaced(tmp_path: Path, kept: bytes) -> None:
    (tmp_path / "hello.json").write_bytes(kept)
    replay = McpReplay(Hello(tmp_path / "hello.json"))
    said(replay, {"id": 3, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}})
    assert replay.without_daemon() == []
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "sidecar"}}
    heard(replay, {"id": 3, "result": greeting})
    assert Hello(tmp_path / "hello.json").known() == {"2025-06-18": greeting}


def test_what_ends_a_session_needs_no_daemon() -> None:
    replay = lsp()
    assert [replay.stage(replay.frame({"method": m}).partition(b"\r\n\r\n")[2]) for m in ("shutdown", "exit")] == [
        "end"
    ] * 2
    assert replay.stage(b'{"method": "initialize"}') == "begin"
    assert replay.stage(b'{"method": "textDocument/didChange"}') == ""


def test_subscriptions_are_made_again_in_both_eras() -> None:
    replay = McpReplay()
    said(replay, {"id": 1, "method": "initialize", "params": {}})
    heard(replay, {"id": 1, "result": {}})
    for number, (method, uri) in enumerate((("subscribe", "a"), ("subscribe", "b"), ("unsubscribe", "a"))):
        said(replay, {"id": number + 2, "method": f"resources/{method}", "params": {"uri": uri}})
        heard(replay, {"id": number + 2, "result": {}})
    replay.lost()
    again = opening(replay)
    assert [message.get("params") for message in again[1:]] == [{"uri": "b"}]
    assert heard(replay, {"id": again[1]["id"], "result": {}}) is None
    modern = McpReplay()
    said(modern, {"id": 9, "method": "subscriptions/listen", "params": {}})
    assert modern.lost() == []
    assert [message["id"] for message in opening(modern)] == [9]
