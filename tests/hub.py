"""A model hub as a process of its own: the Hugging Face hub's addresses over a folder, and faults by request.

`python -m tests.hub FOLDER [CERTIFICATE]` serves FOLDER/<owner>/<name>/<path>, prints its port, writes each request to
FOLDER/requests.log and ends with its standard input. With a certificate (and its key in one file) it talks https.
FOLDER/faults.json: by path in a repository, what goes wrong.
"""

from __future__ import annotations

import hashlib
import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from tests.patience import PATIENCE_S

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LFS_FROM = 1_000_000
"""Larger files are in LFS, as on the hub, which states their SHA-256. For smaller files it states the SHA-1 of the git
blob."""

ROOT = Path(__file__).resolve().parents[1]


class Hub(NamedTuple):
    """A test's view of a running hub."""

    folder: Path
    source: str

    def faults(self, **by_path: str) -> None:
        (self.folder / "faults.json").write_text(json.dumps(by_path), "utf-8")

    def requests(self) -> list[dict[str, str]]:
        log = self.folder / "requests.log"
        return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []

    def forget_requests(self) -> None:
        (self.folder / "requests.log").unlink(missing_ok=True)


@contextmanager
def running(folder: Path, certificate: Path | None = None) -> Iterator[Hub]:
    scheme, more = ("https", [str(certificate)]) if certificate else ("http", [])
    command = [sys.executable, "-m", "tests.hub", str(folder), *more]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield Hub(folder, f"{scheme}://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.stdin.close()
            process.wait(PATIENCE_S)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder: Path

    def do_GET(self) -> None:
        asked = {"path": self.path, "range": self.headers.get("Range", ""), "agent": self.headers["User-Agent"]}
        with (self.folder / "requests.log").open("a", encoding="utf-8") as log:
            log.write(json.dumps(asked) + "\n")
        parts = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
        if parts[:2] == ["api", "models"]:
            self._describe("/".join(parts[2:4]), parts[5])
        elif parts[2:3] == ["resolve"]:
            self._resolve(parts)
        else:
            self._send_file("/".join(parts[1:3]), "/".join(parts[3:]))

    def _fault(self, path: str) -> str:
        faults = self.folder / "faults.json"
        return str(json.loads(faults.read_text("utf-8")).get(path, "")) if faults.exists() else ""

    def _describe(self, repository: str, revision: str) -> None:
        fault = self._fault("api")
        if fault == "not json":
            return self._send(200, b"<html>")
        root = self.folder / repository
        siblings = [
            _blob(path, path.relative_to(root).as_posix()) for path in sorted(root.rglob("*")) if path.is_file()
        ]
        commit = "f" * 40 if fault == "another commit" else COMMIT
        answer = {"id": repository, "sha": commit, "siblings": siblings}
        return self._send(200, json.dumps(answer).encode()) if siblings else self._send(404, b"{}")

    def _resolve(self, parts: list[str]) -> None:
        repository, path = "/".join(parts[:2]), "/".join(parts[4:])
        fault = self._fault(path)
        if fault.isdecimal():
            self._send(int(fault), b"")
        elif not (self.folder / repository / path).is_file():
            self._send(404, b"")
        elif fault.startswith("redirect "):
            self._send(302, b"", {"Location": fault.partition(" ")[2]})
        else:
            self._send(302, b"", {"Location": f"/cdn/{repository}/{path}"})

    def _send_file(self, repository: str, path: str) -> None:
        content = (self.folder / repository / path).read_bytes()
        fault, start = self._fault(path), 0
        if fault == "changed":
            content = content[:-1] + bytes([content[-1] ^ 1])
        elif fault == "too long":
            content += b"x"
        asked = self.headers.get("Range", "")
        if asked and fault != "no ranges":
            start = int(asked.removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        if fault in ("cut", "stall"):
            self.wfile.write(content[start : start + (len(content) - start) // 2])
            self.wfile.flush()
            if fault == "stall":
                threading.Event().wait(300)
            self.close_connection = True
            return
        self.wfile.write(content[start:])

    def _send(self, status: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


def _blob(path: Path, name: str) -> dict[str, Any]:
    content = path.read_bytes()
    git = hashlib.sha1(f"blob {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()
    blob: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": git}
    if len(content) >= LFS_FROM:
        lfs = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 133}
        blob |= {"blobId": "0" * 40, "lfs": lfs}
    return blob


def main() -> None:
    _Answering.folder = Path(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answering)
    server.daemon_threads = True
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
