"""Opens every door of sidecar at once, indexes and searches through each, keeps all open, and searches once more.

`python -m tests.kept_open WORK HOMES SECONDS`. Libraries that report to their makers do so on a timer, so a program
that answers and ends would be gone before that.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from tests.chroma_server import certificate
from tests.network_tour import framed, lsp
from tests.patience import PATIENCE_S

SIDECAR = (sys.executable, "-P", "-m", "sidecar")
LIMIT_S = int(PATIENCE_S)
"""Time limit in seconds for the whole run, so that nothing keeps running if a door does not answer."""
MARK = b"def open_socket"
"""A text that is in every answer to a search."""
CONTRARY = {
    "ORT_DISABLE_TELEMETRY": "0",
    "ANONYMIZED_TELEMETRY": "True",
    "CHROMA_OTEL_COLLECTION_ENDPOINT": "http://192.0.2.1:4317",
    "CHROMA_OTEL_GRANULARITY": "all",
    "OTEL_SDK_DISABLED": "false",
    "OTEL_PYTHON_TRACER_PROVIDER": "sdk_tracer_provider",
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "http://192.0.2.1:4317",
    "HF_HUB_OFFLINE": "0",
    "HF_HUB_DISABLE_TELEMETRY": "0",
    "HF_HUB_DISABLE_UPDATE_CHECK": "0",
    "PYDANTIC_DISABLE_PLUGINS": "",
    "DO_NOT_TRACK": "0",
}
"""The environment of a user who wants all telemetry."""
Search: TypeAlias = Callable[[], object]


class Door:
    """An open door. Its index is in `home`, or else the daemon's: without the daemon, no two processes share a data
    folder."""

    def __init__(self, work: Path, home: Path | None, *words: str) -> None:
        self.work = work
        self.alone = home is not None
        ours = {
            "SIDECAR_CONFIRM": "never",
            "SIDECAR_DAEMON_PATIENCE_S": str(PATIENCE_S),
            **({"SIDECAR_HOME": str(home)} if home else {}),
        }
        self._env = {**os.environ, **CONTRARY, **ours}
        self._command = [*SIDECAR, *words, *(["--standalone"] if home else [])]

    def run(self, *words: str) -> bytes:
        """A door whose program ends by itself. Returns what it prints."""
        line = [*self._command, *words]
        done = subprocess.run(line, cwd=self.work, env=self._env, capture_output=True, check=False)
        assert done.returncode == 0, f"{line}: {done.stdout!r} {done.stderr!r}"
        return done.stdout

    @contextmanager
    def started(self, stderr: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
        pipe = subprocess.PIPE
        with subprocess.Popen(
            self._command, cwd=self.work, env=self._env, stdin=pipe, stdout=pipe, stderr=stderr
        ) as process:
            try:
                yield process
                assert process.poll() is None, f"{self._command} ended with {process.returncode}"
            finally:
                process.terminate()
                process.communicate()


def exchange(process: subprocess.Popen[bytes], said: bytes, *, until: bytes) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(said)
    process.stdin.flush()
    seen = b""
    while until not in seen:
        block = os.read(process.stdout.fileno(), 1 << 16)
        assert block, seen
        seen += block


@contextmanager
def editor(door: Door) -> Iterator[Search]:
    create = {"jsonrpc": "2.0", "id": "create", "method": "sidecar/createIndex", "params": {}}
    (first, ready, search), _ = lsp(door.work)
    with door.started() as process:
        exchange(process, framed(first) + framed(ready) + framed(create), until=b'"create"')
        yield lambda: exchange(process, framed(search), until=MARK)


@contextmanager
def remote_editor(door: Door) -> Iterator[Search]:
    """A door that connects to a port."""
    create = {"jsonrpc": "2.0", "id": "create", "method": "sidecar/createIndex", "params": {}}
    (first, ready, search), _ = lsp(door.work)
    with door.started(subprocess.PIPE) as process:
        assert process.stderr is not None
        announced = re.fullmatch(
            r"sidecar: LSP on (.+):(\d+); the token is in (.+)\n", process.stderr.readline().decode()
        )
        assert announced is not None
        host, port, token_file = announced.groups()
        first["params"]["initializationOptions"] = {"token": Path(token_file).read_text("utf-8").strip()}
        with socket.create_connection((host, int(port))) as connection:

            def say(said: bytes, until: bytes) -> None:
                connection.sendall(said)
                seen = b""
                while until not in seen:
                    block = connection.recv(1 << 16)
                    assert block, seen
                    seen += block

            say(framed(first) + framed(ready) + framed(create), b'"create"')
            yield lambda: say(framed(search), MARK)


@contextmanager
def agent(door: Door) -> Iterator[Search]:
    def call(name: str, **arguments: str) -> bytes:
        params = {"name": name, "arguments": arguments}
        return json.dumps({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params}).encode() + b"\n"

    who = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "kept open", "version": "1"}}
    begin: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": who},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    said = b"".join(json.dumps(message).encode() + b"\n" for message in begin)
    with door.started() as process:
        exchange(process, said + call("create_index"), until=b'"create_index"')
        yield lambda: exchange(process, call("search_code", query="open a socket", mode="vector"), until=MARK)


def request(url: str, token: str, body: bytes | None = None, trusted: ssl.SSLContext | None = None) -> bytes:
    """Returns the answer to a request that no proxy of the environment sees."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusted))
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Sidecar-Answer": "nobody"}
    with opener.open(urllib.request.Request(url, data=body, headers=headers)) as answer:
        read: bytes = answer.read()
        return read


def announced_by(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Returns what a server says when it listens."""
    assert process.stdout is not None
    said: dict[str, Any] = json.loads(process.stdout.readline())
    return said


@contextmanager
def script(door: Door) -> Iterator[Search]:
    with door.started() as process:
        announced = announced_by(process)
        url, token = announced["url"], Path(announced["tokenFile"]).read_text("utf-8").strip()

        def search() -> None:
            assert MARK in request(f"{url}/code/search?q=open+a+socket&mode=vector", token)

        if door.alone:
            request(f"{url}/tools/create_index", token, b"{}")
        yield search


@contextmanager
def group(work: Path, home: Path) -> Iterator[Search]:
    """A server for several callers, which has connections, certificates and a pool of its own."""
    alone = Door(work, home)
    alone.run("index")
    added = alone.run("serve", "token", "add", "reader", "--workspace", "work", "--json")
    token, file = json.loads(added)["token"], str(certificate(home, "localhost"))
    shared = ("--share", f"work={work}", "--tls-cert", file, "--tls-key", file)
    with Door(work, home, "serve", "--json", *shared).started() as process:
        port, trusted = urlsplit(announced_by(process)["url"]).port, ssl.create_default_context(cafile=file)
        # The certificate is for a name, and looking up a name would count as a lookup of ours.
        trusted.check_hostname = False

        def search() -> None:
            query = "code/search?q=open+a+socket&mode=vector"
            assert MARK in request(f"https://127.0.0.1:{port}/{query}", token, trusted=trusted)

        yield search


@contextmanager
def shell(door: Door) -> Iterator[Search]:
    door.run("index")
    yield lambda: door.run("search", "open a socket", "-m", "vector")


@contextmanager
def large_workspace(work: Path, home: Path) -> Iterator[Search]:
    """Keeps Chroma's process open, which no door to a small workspace does."""
    line, pipe = [sys.executable, "-m", "tests.large_workspace", str(work), str(home)], subprocess.PIPE
    with subprocess.Popen(line, env={**os.environ, **CONTRARY}, stdin=pipe, stdout=pipe) as process:
        yield lambda: exchange(process, b"open a socket\n", until=b"connection.py\n")
        process.communicate()
    assert process.returncode == 0, f"{line} ended with {process.returncode}"


def call(search: Search) -> None:
    search()


def give_up(*_: object) -> None:
    raise TimeoutError(f"the doors took longer than {LIMIT_S} s")


def main() -> None:
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LIMIT_S)
    work, homes, seconds = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    with_daemon = Door(work, None)
    with_daemon.run("daemon", "start")
    try:
        with_daemon.run("index")
        doors: list[AbstractContextManager[Search]] = [
            shell(Door(work, homes / "shell")),
            editor(Door(work, None, "--stdio")),
            editor(Door(work, homes / "editor", "--stdio", "--offline")),
            remote_editor(Door(work, homes / "port", "--tcp", "127.0.0.1:0")),
            agent(Door(work, None, "mcp")),
            agent(Door(work, homes / "agent", "mcp", "--offline")),
            script(Door(work, None, "serve", "--json")),
            script(Door(work, homes / "script", "serve", "--json", "--model", "minilm-code-int8")),
            group(work, homes / "group"),
            large_workspace(work, homes / "large"),
        ]
        # The stack is inside the pool: if a door fails, all are closed, and no thread waits for one any more.
        with ThreadPoolExecutor(len(doors)) as pool, ExitStack() as open_doors:
            searches = list(pool.map(open_doors.enter_context, doors))
            for _ in pool.map(call, searches):
                pass
            time.sleep(seconds)
            for _ in pool.map(call, searches):
                pass
    finally:
        with_daemon.run("daemon", "stop")


if __name__ == "__main__":
    main()
