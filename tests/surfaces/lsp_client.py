"""A small LSP client over real pipes or a socket, for tests: it keeps every message, and sends raw bytes when asked to.

Every wait has a limit, so that a request that is never answered fails the test instead of hanging it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple

from tests.patience import PATIENCE_S

REPOSITORY = Path(__file__).parents[2]
FAKE_SERVER = (sys.executable, "-m", "tests.surfaces.lsp_fake_server")
EDITOR = {
    "window": {"showMessage": {"messageActionItem": {}}, "workDoneProgress": True},
    "workspace": {"workspaceFolders": True},
}
NO_ANSWER = object()
"""`on_request` returns it to leave the server without an answer."""
UNKNOWN_METHOD = object()
"""`on_request` returns it to answer like a client that does not know the method."""


class Failed(Exception):
    """A JSON-RPC error answer."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error)
        self.number: int = error["code"]
        self.message: str = error["message"]
        self.body: Any = error.get("data")


class Address(NamedTuple):
    """Where a server listens, and the token that it requires."""

    host: str
    port: int
    token: str


class TcpServer:
    """A server process that listens; `address` is where. Use as a context manager: it ends by SIGTERM."""

    def __init__(self, *arguments: str) -> None:
        command = [*FAKE_SERVER, "--tcp", *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=REPOSITORY, text=True)
        assert self.process.stderr is not None
        place, _, file = self.process.stderr.readline().removeprefix("sidecar: LSP on ").partition("; the token is in ")
        host, port = place.rsplit(":", 1)
        self.token_file = Path(file.strip())
        self.token = self.token_file.read_text().strip()
        self.address = Address(host, int(port), self.token)

    def __enter__(self) -> TcpServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE_S)


class LspClient:
    """Use as a context manager. `on_request` answers the server's requests by method (default: null)."""

    def __init__(
        self,
        command: Sequence[str] | None = FAKE_SERVER,
        *,
        connect: Address | None = None,
        env: Mapping[str, str] | None = None,
        on_request: Mapping[str, Callable[[Any], Any]] | None = None,
        reads: bool = True,
    ) -> None:
        self.on_request = dict(on_request or {})
        self.messages: list[dict[str, Any]] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.token = connect.token if connect is not None else ""
        self._ids = itertools.count(1)
        self._arrived = threading.Condition()
        self._ended = False
        self._socket: socket.socket | None = None
        self._out: IO[bytes]
        self._in: IO[bytes]
        if connect is not None:
            self._socket = socket.create_connection(connect[:2])
            self._out, self._in = self._socket.makefile("wb"), self._socket.makefile("rb")
        else:
            assert command is not None
            self.process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=REPOSITORY,
                env={**os.environ, **(env or {})},
            )
            assert self.process.stdin and self.process.stdout
            self._out, self._in = self.process.stdin, self.process.stdout
        self._lock = threading.Lock()
        if reads:
            threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> LspClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
        if self.process is not None:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                with contextlib.suppress(OSError):
                    if stream is not None:
                        stream.close()

    # ---------------------------------------------------------------- talking

    def start(self, *folders: Path, capabilities: Mapping[str, Any] | None = EDITOR, **more: Any) -> dict[str, Any]:
        """Sends initialize and initialized. Returns the result of initialize."""
        params: dict[str, Any] = {
            "processId": os.getpid(),
            "clientInfo": {"name": "Test Editor"},
            "capabilities": dict(capabilities or {}),
            "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name} for folder in folders],
            **more,
        }
        if self.token:
            params["initializationOptions"] = {"token": self.token, **params.get("initializationOptions", {})}
        result: dict[str, Any] = self.request("initialize", params)
        self.notify("initialized", {})
        return result

    def stop(self) -> int:
        """Sends shutdown and exit, and closes the stream. Returns the exit status (0 for a connection)."""
        assert self.request("shutdown") is None
        self.notify("exit")
        self.expect_end()
        return self.wait() if self.process is not None else 0

    def expect_end(self) -> None:
        with self._arrived:
            assert self._arrived.wait_for(lambda: self._ended, PATIENCE_S), "the stream is still open"

    def request(self, method: str, params: Any = None) -> Any:
        return self.answer_to(self.send_request(method, params))

    def send_request(self, method: str, params: Any = None) -> int:
        request_id = next(self._ids)
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        self.send(message if params is None else {**message, "params": params})
        return request_id

    def answer_to(self, request_id: Any) -> Any:
        """Returns the result. Raises `Failed` for an error."""
        message = self.expect(lambda m: "method" not in m and m.get("id") == request_id)
        if "error" in message:
            raise Failed(message["error"])
        return message["result"]

    def notify(self, method: str, params: Any = None) -> None:
        message = {"jsonrpc": "2.0", "method": method}
        self.send(message if params is None else {**message, "params": params})

    def send(self, message: Any) -> None:
        body = json.dumps(message).encode()
        self.send_raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def send_raw(self, raw: bytes) -> None:
        with self._lock:
            self._out.write(raw)
            self._out.flush()

    def close_input(self) -> None:
        self._out.close()

    # ---------------------------------------------------------------- listening

    def expect(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Returns the first past or future message that satisfies the condition."""

        def found() -> dict[str, Any] | None:
            return next((message for message in self.messages if wanted(message)), None)

        with self._arrived:
            self._arrived.wait_for(lambda: found() is not None or self._ended, PATIENCE_S)
            message = found()
        if message is None:
            raise AssertionError(f"no such message; the stream has ended: {self._ended}; came: {self.messages[-5:]}")
        return message

    def expect_method(self, method: str, wanted: Callable[[Any], bool] = lambda params: True) -> Any:
        """Returns the params of the first such notification or request of the server."""
        return self.expect(lambda m: m.get("method") == method and wanted(m.get("params")))["params"]

    def all_of(self, method: str) -> list[Any]:
        with self._arrived:
            return [message.get("params") for message in self.messages if message.get("method") == method]

    def wait(self) -> int:
        assert self.process is not None
        return self.process.wait(PATIENCE_S)

    def stderr(self) -> str:
        assert self.process is not None and self.process.stderr is not None
        return self.process.stderr.read().decode()

    def _read(self) -> None:
        try:
            while (message := self._read_message()) is not None:
                with self._arrived:
                    self.messages.append(message)
                    self._arrived.notify_all()
                if "method" in message and "id" in message:
                    threading.Thread(target=self._reply, args=(message,), daemon=True).start()
        except (OSError, ValueError):
            pass
        finally:
            with self._arrived:
                self._ended = True
                self._arrived.notify_all()

    def _read_message(self) -> dict[str, Any] | None:
        length = 0
        while (line := self._in.readline()) not in {b"\r\n", b""}:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = self._in.read(length) if length else b""
        return json.loads(body) if body else None

    def _reply(self, message: dict[str, Any]) -> None:
        answering = self.on_request.get(message["method"])
        answer = answering(message["params"]) if answering else None
        if answer is NO_ANSWER:
            return
        error = {"error": {"code": -32601, "message": "unknown method"}}
        outcome = error if answer is UNKNOWN_METHOD else {"result": answer}
        with contextlib.suppress(OSError, ValueError):
            self.send({"jsonrpc": "2.0", "id": message["id"], **outcome})
