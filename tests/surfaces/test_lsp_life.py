"""The life of the LSP door: start, faulty messages, large ones, and how it ends. Each test uses a real process over its
pipes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE_S
from tests.surfaces.lsp_client import REPOSITORY, Failed, LspClient, TcpServer

CLOSED = "the engine is closed\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("def parse(line):\n    return line\n")
    return tmp_path


@pytest.fixture(scope="module")
def server() -> Iterator[TcpServer]:
    with TcpServer() as server:
        yield server


@pytest.fixture
def session(server: TcpServer) -> Iterator[LspClient]:
    with LspClient(connect=server.address) as client:
        yield client


# -------------------------------------------------------------------- ends


@pytest.mark.process
def test_shutdown_and_exit_end_the_process_with_0_and_leave_nothing(folder: Path) -> None:
    with LspClient() as client:
        client.start(folder)
        assert client.stop() == 0
        assert client.stderr() == CLOSED


@pytest.mark.process
def test_exit_without_shutdown_ends_the_process_with_1(folder: Path) -> None:
    with LspClient() as client:
        client.start(folder)
        client.notify("exit")
        assert client.wait() == 1
        assert client.stderr() == CLOSED


@pytest.mark.process
def test_exit_before_initialize_ends_the_process() -> None:
    with LspClient() as client:
        client.notify("exit")
        assert client.wait() == 1


@pytest.mark.process
def test_a_client_that_dies_in_mid_call_ends_the_process(folder: Path) -> None:
    (folder / "ENDLESS").touch()
    with LspClient() as client:
        client.start(folder, capabilities={})
        client.send_request("sidecar/createIndex", {"workDoneToken": 1})
        client.expect_method("$/progress", lambda params: params["value"]["kind"] == "report")
        client.close_input()
        assert client.wait() == 1
        assert client.stderr() == CLOSED


@pytest.mark.process
def test_a_client_that_closes_after_shutdown_ends_the_process_with_0(folder: Path) -> None:
    with LspClient() as client:
        client.start(folder)
        client.request("shutdown")
        client.close_input()
        assert client.wait() == 0


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_cleanly(folder: Path, number: signal.Signals) -> None:
    with LspClient() as client:
        client.start(folder)
        assert client.process is not None
        client.process.send_signal(number)
        assert client.wait() == 128 + number
        assert client.stderr() == CLOSED


@pytest.mark.process
def test_the_death_of_the_editors_process_ends_ours_though_the_pipe_stays_open(folder: Path) -> None:
    editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with LspClient() as client:
        client.start(folder, processId=editor.pid)
        assert client.request("sidecar/getIndexStatus")["status"] == "not_found"
        editor.communicate(b"\n")
        assert client.wait() == 1
        assert client.stderr() == CLOSED


@pytest.mark.parametrize("pid", [None, 2**22 + 5, -1, "many", True])
def test_a_process_id_that_is_not_there_is_passed_over(session: LspClient, folder: Path, pid: Any) -> None:
    session.start(folder, processId=pid)
    assert session.request("sidecar/getIndexStatus")["status"] == "not_found"


@pytest.mark.process
def test_a_process_id_of_another_namespace_does_not_end_the_process(folder: Path) -> None:
    with LspClient() as client:
        client.start(folder, processId=2**22 + 5)
        assert client.request("sidecar/getIndexStatus")["status"] == "not_found"
        assert client.stop() == 0


# -------------------------------------------------------------------- order of messages


def test_requests_before_initialize_and_after_shutdown_are_answered(session: LspClient, folder: Path) -> None:
    with pytest.raises(Failed) as failed:
        session.request("sidecar/searchCode", {"query": "x"})
    assert failed.value.number == -32002
    session.notify("initialized")
    session.start(folder)
    with pytest.raises(Failed) as failed:
        session.request("initialize", {"initializationOptions": {"token": session.token}})
    assert failed.value.number == -32600
    session.request("shutdown")
    for method in ("sidecar/searchCode", "shutdown", "initialize", "no/such"):
        with pytest.raises(Failed) as failed:
            session.request(method, {})
        assert failed.value.number == -32600


def test_unknown_methods_are_answered_and_unknown_notifications_passed_over(session: LspClient, folder: Path) -> None:
    session.start(folder)
    for method in ("textDocument/hover", "$/odd", "", "textDocument/didOpen", "sidecar/", "exit"):
        with pytest.raises(Failed) as failed:
            session.request(method, {})
        assert failed.value.number == -32601, method
    for method in ("no/such", "$/setTrace", "workspace/didChangeConfiguration", "sidecar/deleteIndex", "initialize"):
        session.notify(method, {})
    assert session.request("sidecar/getIndexStatus")["status"] == "not_found"
    assert session.all_of("window/logMessage") == session.all_of("window/showMessage") == []


def test_an_odd_notification_is_logged_and_the_session_goes_on(session: LspClient, folder: Path) -> None:
    session.start(folder)
    uri = (folder / "a.py").as_uri()
    odd: list[tuple[str, Any]] = [
        ("textDocument/didOpen", None),
        ("textDocument/didOpen", {"textDocument": {"uri": 5, "text": ""}}),
        ("textDocument/didChange", {"textDocument": {"uri": uri}}),
        ("workspace/didChangeWorkspaceFolders", {"event": {"added": [{"name": "no uri"}]}}),
        ("window/workDoneProgress/cancel", []),
    ]
    for method, params in odd:
        session.notify(method, params)
    assert session.request("sidecar/getIndexStatus")["status"] == "not_found"
    assert len(session.all_of("window/logMessage")) == len(odd)
    assert session.all_of("window/showMessage") == []


@pytest.mark.process
@pytest.mark.parametrize("params", [{}, {"capabilities": 5, "workspaceFolders": [1, {"uri": None}]}, None])
def test_initialize_takes_what_a_careless_client_says(params: Any) -> None:
    with LspClient() as session:
        assert session.request("initialize", params)["serverInfo"]["name"] == "sidecar"


# -------------------------------------------------------------------- faulty messages


def test_faulty_messages_get_an_answer_and_the_next_is_served(session: LspClient, folder: Path) -> None:
    session.start(folder)
    faulty: list[tuple[bytes, int, Any]] = [
        (b"{", -32700, None),
        (b"\xff\xfe\xfd", -32700, None),
        (b"[" * 200_000, -32700, None),
        (b'{"jsonrpc": "2.0", "id": 901, "method": "sidecar/searchCode", "params": {"alpha": NaN}}', -32700, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc": "2.0", "id": 902, "method": "shutdown"}]', -32600, None),
        (b'"text"', -32600, None),
        (b"{}", -32600, None),
        (b'{"id": 903, "method": "shutdown"}', -32600, 903),
        (b'{"jsonrpc": "1.0", "id": 904, "method": "shutdown"}', -32600, 904),
        (b'{"jsonrpc": "2.0", "id": 905}', -32600, 905),
        (b'{"jsonrpc": "2.0", "id": 906, "method": 7}', -32600, 906),
        (b'{"jsonrpc": "2.0", "id": 907, "method": "shutdown", "params": 7}', -32600, 907),
        (b'{"jsonrpc": "2.0", "id": null, "method": "shutdown"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "shutdown"}', -32600, None),
    ]

    def is_error_since(before: int) -> Callable[[dict[str, Any]], bool]:
        return lambda m: "error" in m and m in session.messages[before:]

    for body, number, request_id in faulty:
        before = len(session.messages)
        session.send_raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        answer = session.expect(is_error_since(before))
        assert (answer["error"]["code"], answer["id"]) == (number, request_id), body[:80]
    assert session.request("sidecar/getIndexStatus")["status"] == "not_found"
    assert session.all_of("window/showMessage") == []


def test_junk_between_messages_is_survived(session: LspClient, folder: Path) -> None:
    session.start(folder)
    session.send_raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n\x00\xff\r\n")
    assert session.request("sidecar/getIndexStatus")["status"] == "not_found"


def test_an_absurd_content_length_is_refused_and_the_next_message_served(session: LspClient, folder: Path) -> None:
    session.start(folder)
    session.send_raw(b"Content-Length: 99999999999\r\n\r\n{}")
    refused = session.expect(lambda message: "error" in message)
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert session.request("sidecar/getIndexStatus")["status"] == "not_found"


def test_a_message_of_50_megabytes_is_served(session: LspClient, folder: Path) -> None:
    session.start(folder)
    with pytest.raises(Failed) as failed:
        session.request("sidecar/searchCode", {"query": "x" * 50_000_000})
    assert failed.value.body["code"] == "INVALID_QUERY"
    assert len(json.dumps(failed.value.body)) < 10_000
    uri = (folder / "big.py").as_uri()
    document = {"uri": uri, "text": "y" * 5_000_000, "version": 1, "languageId": "python"}
    session.notify("textDocument/didOpen", {"textDocument": document})
    assert session.request("sidecar/getIndexStatus")["status"] == "not_found"


def test_a_request_id_in_use_is_refused(session: LspClient, folder: Path) -> None:
    (folder / "ENDLESS").touch()
    session.start(folder, capabilities={})
    message = {"jsonrpc": "2.0", "id": "same", "method": "sidecar/createIndex", "params": {"workDoneToken": 1}}
    session.send(message)
    session.expect_method("$/progress")
    session.send(message)
    assert session.expect(lambda m: m.get("id") == "same")["error"]["code"] == -32600
    session.notify("$/cancelRequest", {"id": "same"})
    session.expect(lambda m: m.get("id") == "same" and m["error"]["code"] == -32800)


def test_answers_that_nobody_waits_for_are_passed_over(session: LspClient, folder: Path) -> None:
    session.start(folder)
    for request_id in ("sidecar-77", 5, None, ["x"]):
        session.send({"jsonrpc": "2.0", "id": request_id, "result": None})
        session.send({"jsonrpc": "2.0", "id": request_id, "error": {"code": 1, "message": "no"}})
    assert session.request("sidecar/getIndexStatus")["status"] == "not_found"
    assert session.all_of("window/logMessage") == session.all_of("window/showMessage") == []


# -------------------------------------------------------------------- the stream


@pytest.mark.process
def test_frames_stay_whole_when_python_does_not_buffer_and_libraries_print(folder: Path) -> None:
    (folder / "NOISY").touch()
    with LspClient(env={"PYTHONUNBUFFERED": "1"}) as client:
        client.start(folder, capabilities={})
        client.request("sidecar/createIndex")
        ids = [client.send_request("sidecar/searchCode", {"query": f"parse {n}"}) for n in range(200)]
        assert [client.answer_to(request_id)["query"] for request_id in ids] == [f"parse {n}" for n in range(200)]
        assert client.stop() == 0
        assert "a library prints" in client.stderr()


def test_a_client_that_does_not_read_stops_nobody_else(server: TcpServer, session: LspClient, folder: Path) -> None:
    with LspClient(connect=server.address, reads=False) as deaf:
        hello: dict[str, Any] = {"processId": None, "capabilities": {}}
        hello["workspaceFolders"] = [{"uri": folder.as_uri(), "name": "x"}]
        hello["initializationOptions"] = {"token": deaf.token}
        deaf.send_request("initialize", hello)
        for _ in range(3000):
            deaf.send_request("sidecar/getConfig")
        session.start(folder)
        assert session.request("sidecar/getIndexStatus")["status"] == "not_found"


def test_a_second_client_takes_nothing_from_the_first_and_may_leave(server: TcpServer, folder: Path) -> None:
    with LspClient(connect=server.address) as first:
        first.start(folder)
        with LspClient(connect=server.address) as second:
            second.start(folder)
            assert second.request("sidecar/getIndexStatus")["status"] == "not_found"
            assert first.request("sidecar/getIndexStatus")["status"] == "not_found"
            assert second.stop() == 0
        with LspClient(connect=server.address):
            pass
        assert first.request("sidecar/getIndexStatus")["status"] == "not_found"


@pytest.mark.process
def test_a_tcp_server_ends_by_a_signal_though_clients_are_connected(folder: Path) -> None:
    with TcpServer() as server, LspClient(connect=server.address) as client:
        client.start(folder)
        server.process.terminate()
        client.expect_end()
        assert server.process.wait(PATIENCE_S) == 128 + signal.SIGTERM
        assert server.process.stderr is not None and server.process.stderr.read() == CLOSED


@pytest.mark.process
def test_a_port_that_is_taken_is_named_and_ends_the_command(server: TcpServer) -> None:
    place = f"{server.address[0]}:{server.address[1]}"
    command = [sys.executable, "-m", "sidecar", "--tcp", place]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 2
    assert place in done.stderr and "Traceback" not in done.stderr


@pytest.mark.process
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_address_that_other_machines_reach_is_refused(host: str) -> None:
    command = [sys.executable, "-m", "sidecar", "--tcp", f"{host}:0"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 2
    assert f"--tcp {host} could be reached from other machines" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "options", [None, {}, {"token": ""}, {"token": "x" * 43}, {"token": 7}, {"token": "\ud800"}, {"token": ["x"]}, 7]
)
def test_without_the_token_nothing_is_served_over_tcp(server: TcpServer, folder: Path, options: Any) -> None:
    with LspClient(connect=server.address._replace(token="")) as stranger:
        with pytest.raises(Failed) as refused:
            stranger.request("initialize", {"workspaceFolders": None, "initializationOptions": options})
        assert refused.value.number == -32011
        assert refused.value.body["code"] == "UNAUTHORIZED"
        assert "initializationOptions.token" in refused.value.message
        with pytest.raises(Failed) as early:
            stranger.request("sidecar/getIndexStatus", {"workspace": folder.as_uri()})
        assert early.value.number == -32002
    with LspClient(connect=server.address) as client:
        client.start(folder)
        assert client.all_of("window/logMessage") == [], "the token is no setting"


def test_a_stranger_over_tcp_is_read_no_long_message_and_not_for_long(server: TcpServer) -> None:
    with LspClient(connect=server.address._replace(token="")) as stranger:
        stranger.send_raw(b"Content-Length: 1048577\r\n\r\n")
        assert "exceeds the limit" in stranger.expect(lambda m: "error" in m)["error"]["message"]
        stranger.expect_end()


@pytest.mark.process
def test_a_token_file_of_tcp_is_private_and_goes_with_the_process() -> None:
    with TcpServer() as server:
        file = server.token_file
        assert file.stat().st_mode & 0o777 == 0o600
    assert not file.exists()


@pytest.mark.process
def test_the_door_imports_nothing_heavy() -> None:
    code = (
        "import sys, sidecar.surfaces.lsp.run\n"
        "heavy = {'chromadb', 'onnxruntime', 'tokenizers', 'mcp', 'uvicorn', 'tqdm', 'tree_sitter', 'watchfiles'}\n"
        "heavy |= {'sidecar.engine.wiring', 'pygls.lsp.client'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    loaded = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert loaded.stdout == "[]\n"
