"""A server for team snapshots: GET with ranges and tags, plain PUT with or without conditions, and faults by name."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ShelfServer:
    """An HTTP server that stores files.

    `held`: the stored files, by path. `asked`: the requests it got, as (method, path, headers). `conditions`: whether
    it supports If-Match and If-None-Match. `faults`: functions, by the name of a file, that answer requests for it.
    """

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        self.conditions = True
        self.faults: dict[str, Callable[[BaseHTTPRequestHandler, bytes], object]] = {}
        self.before_put: Callable[[str], object] = lambda path: None
        self.lock = threading.Lock()
        self.source = ""

    @contextmanager
    def running(self) -> Iterator[ShelfServer]:
        shelf = self

        class Handler(_Answering):
            pass

        Handler.shelf = shelf
        server = _Quiet(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.source = f"http://127.0.0.1:{server.server_port}/team"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def paths(self, method: str) -> list[str]:
        return [path for asked, path, _ in self.asked if asked == method]


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients hang up, and faults raise


def tag_of(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:16]}"'


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    shelf: ShelfServer

    def do_GET(self) -> None:
        self._note()
        content = self.shelf.held.get(self.path)
        fault = self.shelf.faults.get(self.path.rpartition("/")[2])
        if fault is not None:
            fault(self, content or b"")
        elif content is None:
            answer(self, 404, b"")
        elif (asked := self.headers.get("Range", "")).startswith("bytes="):
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            about = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
            answer(self, 206, content[start:], **about)
        else:
            answer(self, 200, content, ETag=tag_of(content))

    def do_PUT(self) -> None:
        self._note()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.shelf.before_put(self.path)
        with self.shelf.lock:
            held = self.shelf.held.get(self.path)
            if self.shelf.conditions and not self._holds(held):
                answer(self, 412, b"")
                return
            self.shelf.held[self.path] = body
        answer(self, 201, b"")

    def _holds(self, held: bytes | None) -> bool:
        if self.headers.get("If-None-Match") == "*":
            return held is None
        wanted = self.headers.get("If-Match")
        return wanted is None or (held is not None and tag_of(held) == wanted)

    def _note(self) -> None:
        self.shelf.asked.append((self.command, self.path, dict(self.headers)))

    def log_message(self, format: str, *args: Any) -> None:
        pass


def answer(handler: BaseHTTPRequestHandler, status: int, content: bytes, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def cut_off_after(count: int) -> Callable[[BaseHTTPRequestHandler, bytes], None]:
    """Announces everything, sends so many bytes, and hangs up."""

    def fault(handler: BaseHTTPRequestHandler, content: bytes) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[:count])
        handler.close_connection = True

    return fault


def says(status: int, content: bytes, **headers: str) -> Callable[[BaseHTTPRequestHandler, bytes], None]:
    return lambda handler, _: answer(handler, status, content, **headers)
