"""A server that goes on sending, but never the content, is given up after the time of the caller, whatever it sends.

The servers are sockets that send one byte now and then until the client hangs up. Each test would go on for ever if
each byte gave the server new time.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from sidecar.errors import SnapshotUnusable
from sidecar.parts import network
from sidecar.parts.network import Expected, Server, Slowest, Way
from tests.patience import PATIENCE_S

LIMIT_S = 0.3
ROOMY_S = 3.0
"""For servers that have to answer something in time, on a busy machine too."""
BETWEEN_S = 0.02
OVER = r"timed out, because no content was transferred for 0\.3 s"
ASKED = b"\r\n\r\n"

Script = Callable[[socket.socket], object]


class Trickling:
    """A server that runs `script` for each connection. `ended` is set when a client has hung up on it."""

    def __init__(self, script: Script) -> None:
        self.ended = threading.Event()
        self._script = script
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.source = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._run, args=(connection,), daemon=True).start()

    def _run(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._script(connection)
            except OSError:
                self.ended.set()

    def close(self) -> None:
        self._listening.close()


@contextmanager
def server(script: Script) -> Iterator[Trickling]:
    running = Trickling(script)
    try:
        yield running
    finally:
        running.close()


def read_request(connection: socket.socket) -> None:
    asked = b""
    while ASKED not in asked:
        if not (more := connection.recv(4096)):
            raise ConnectionAbortedError
        asked += more


def drip(connection: socket.socket, piece: bytes) -> None:
    """Sends the piece again and again; raises an OSError when the client has hung up."""
    pause = threading.Event()
    while True:
        connection.sendall(piece)
        pause.wait(BETWEEN_S)


def after(start: bytes, piece: bytes) -> Script:
    def script(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(start)
        drip(connection, piece)

    return script


def asked(source: str, limit_s: float = LIMIT_S) -> Server:
    return Server(source, Way("snapshotSource", SnapshotUnusable, pace=Slowest(silent_s=limit_s, stored_s=limit_s)))


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
        (b"HTTP/1.1 ", b"2"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (CHUNKED, b"0"),
        (CHUNKED + b"1", b" "),
        (CHUNKED + b"1;x=", b"y"),
        (CHUNKED + b"1\r\nx\r\n0\r\nX: ", b"y"),
        (b"HTTP/1.1 404 Not Found\r\n", b"X-More: 1\r\n"),
    ],
    ids=["headers", "header", "status line", "1xx", "chunk size", "spaces", "chunk extension", "trailers", "missing"],
)
def test_a_server_that_trickles_anything_but_content_is_given_up_and_hung_up_on(start: bytes, piece: bytes) -> None:
    with server(after(start, piece)) as slow:
        with asked(slow.source) as place, pytest.raises(SnapshotUnusable, match=OVER):
            place.find(f"{slow.source}/heads.json")
        assert slow.ended.wait(PATIENCE_S), "the connection was left open"


def test_a_download_from_a_server_that_trickles_the_length_of_a_block_keeps_what_came(tmp_path: Path) -> None:
    with (
        server(after(CHUNKED + b"4\r\nfour\r\n", b"0")) as slow,
        asked(slow.source, ROOMY_S) as place,
        pytest.raises(SnapshotUnusable, match="no content was transferred"),
    ):
        place.fetch(f"{slow.source}/f", Expected("f", 8), tmp_path / "f", lambda done: None)
    assert (tmp_path / "f.part").read_bytes() == b"four"


def test_an_upload_is_given_up_if_its_answer_trickles() -> None:
    with (
        server(after(b"HTTP/1.1 201 Created\r\n", b"X-More: 1\r\n")) as slow,
        asked(slow.source) as place,
        pytest.raises(SnapshotUnusable, match=OVER) as raised,
    ):
        place.put(f"{slow.source}/f", b"content")
    assert "downloaded" not in raised.value.detail


def test_an_upload_is_given_up_if_the_server_takes_none_of_it() -> None:
    over = threading.Event()
    with server(lambda connection: over.wait(PATIENCE_S)) as slow:
        try:
            with asked(slow.source) as place, pytest.raises(SnapshotUnusable, match=OVER):
                place.put(f"{slow.source}/f", bytes(1 << 26))
        finally:
            over.set()


def test_a_handshake_that_trickles_is_given_up() -> None:
    """A TLS record of 16 kB that never becomes complete."""

    def script(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(bytes([22, 3, 3, 0x3F, 0xFF]))
        drip(connection, b"\2")

    with server(script) as slow:
        source = slow.source.replace("http:", "https:")
        with asked(source) as place, pytest.raises(SnapshotUnusable, match=OVER):
            place.find(f"{source}/heads.json")
        assert slow.ended.wait(PATIENCE_S), "the connection was left open"


def test_a_silent_handshake_is_told_like_silent_content(monkeypatch: pytest.MonkeyPatch) -> None:
    """The HTTP client's own limit for it is the shorter one."""
    monkeypatch.setattr(network, "_CONNECT_S", LIMIT_S)
    with server(lambda connection: connection.recv(1 << 16) and connection.recv(1)) as slow:
        source = slow.source.replace("http:", "https:")
        with asked(source, ROOMY_S) as place, pytest.raises(SnapshotUnusable, match=OVER):
            place.find(f"{source}/heads.json")


@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 Connected\r\n\r\n"], ids=["headers", "tunnel"]
)
def test_a_proxy_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch, start: bytes) -> None:
    """Its own answer, or the handshake in the tunnel."""
    piece = b"X: 1\r\n" if start.count(b"\r\n") == 1 else b"\x16\x03\x03\x3f\xff" + b"\2"
    with server(after(start, piece)) as slow:
        monkeypatch.setenv("HTTPS_PROXY", slow.source)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        with asked("https://snapshots.invalid") as place, pytest.raises(SnapshotUnusable, match=OVER):
            place.find("https://snapshots.invalid/heads.json")
        assert slow.ended.wait(PATIENCE_S), "the connection was left open"


def test_redirects_share_one_limit() -> None:
    """Each step is quick enough by itself; together they are not."""
    pause = threading.Event()

    def script(connection: socket.socket) -> None:
        while True:
            read_request(connection)
            pause.wait(LIMIT_S / 3)
            connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n")

    with server(script) as slow, asked(slow.source) as place, pytest.raises(SnapshotUnusable, match=OVER):
        place.find(f"{slow.source}/heads.json")


def test_a_connection_that_was_good_and_then_trickles_is_given_up() -> None:
    def script(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        drip(connection, b"X-More: 1\r\n")

    with server(script) as slow:
        with asked(slow.source, ROOMY_S) as place:
            assert place.read(f"{slow.source}/one").content == b"ok"
            with pytest.raises(SnapshotUnusable, match="no content was transferred"):
                place.read(f"{slow.source}/two")
            assert place.read(f"{slow.source}/three").content == b"ok", "a new connection is made"
        assert slow.ended.wait(PATIENCE_S), "the connection was left open"


def test_an_answer_without_a_length_that_was_ended_is_no_answer() -> None:
    """Its end is the end of the connection, so one that was given up must not pass for a complete one."""
    over = threading.Event()

    def script(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nsome")
        over.wait(PATIENCE_S)

    with server(script) as slow:
        try:
            with asked(slow.source) as place, pytest.raises(SnapshotUnusable, match=OVER):
                place.read(f"{slow.source}/heads.json")
        finally:
            over.set()


def test_a_name_that_is_never_looked_up_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(PATIENCE_S))
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    try:
        with asked("https://snapshots.invalid") as place, pytest.raises(SnapshotUnusable, match=OVER):
            place.find("https://snapshots.invalid/heads.json")
    finally:
        over.set()


def test_what_a_caller_does_with_a_block_takes_none_of_the_servers_time(tmp_path: Path) -> None:
    content = bytes(1 << 20)

    def script(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content))
        connection.sendall(content)
        connection.recv(1)

    paused: list[int] = []

    def slow_report(done: int) -> None:
        if done and not paused:
            paused.append(done)
            threading.Event().wait(1.5 * ROOMY_S)

    with server(script) as quick, asked(quick.source, ROOMY_S) as place:
        place.fetch(f"{quick.source}/f", Expected("f", len(content)), tmp_path / "f", slow_report)
    assert paused
    assert (tmp_path / "f").stat().st_size == len(content)
