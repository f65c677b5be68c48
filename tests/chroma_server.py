"""Servers for tests: a real Chroma server, and servers that record requests or answer wrongly.

A test starts, kills, damages and restarts the Chroma server of the installed wheel. The other servers stand in front of
it or in its place."""

from __future__ import annotations

import http.server
import secrets
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.patience import PATIENCE_S, until


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


_CHROMA = "import sys, chromadb_rust_bindings as chroma; chroma.cli(['chroma', *sys.argv[1:]])"
"""What the program `chroma` does, without importing the package chromadb, which takes a second of CPU time."""


class RealServer:
    """`chroma run` over a folder, at a port that it keeps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        place = ("--path", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port))
        line = [sys.executable, "-I", "-c", _CHROMA, "run", *place]
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            self._process = subprocess.Popen(line, stdout=log, stderr=log, cwd=self.folder.parent)
        until(self._answers)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def start_if_it_ended(self) -> bool:
        """Starts the server again if it has ended by itself, as a service manager does, and returns whether it had."""
        ended = self._process is not None and self._process.poll() is not None
        if ended:
            self.start()
        return ended

    def forget(self) -> None:
        """The server is started again, on another disk."""
        self.kill()
        shutil.rmtree(self.folder)
        self.start()

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None
        try:
            with urllib.request.urlopen(f"{self.url}/api/v2/heartbeat", timeout=PATIENCE_S) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@contextmanager
def real_server(folder: Path) -> Iterator[RealServer]:
    server = RealServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()


Answer = tuple[int, str, bytes]
"""Status, content type and content."""


class Listener:
    """An HTTP server that notes each request (method, path, headers, content) and answers as `answer` says."""

    def __init__(
        self, answer: Callable[[str, str, dict[str, str], bytes], Answer], certificate: Path | None = None
    ) -> None:
        self.heard: list[tuple[str, str, dict[str, str], bytes]] = []
        noted, lock = self.heard, threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                with lock:
                    noted.append((self.command, self.path, headers, content))
                status, kind, body = answer(self.command, self.path, headers, content)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_any

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """Ignores a client that leaves."""

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def sent(self) -> bytes:
        """Returns everything that was sent: first lines, headers and contents."""
        return b"\n".join(
            f"{method} {path} {headers}".encode() + b"\n" + content for method, path, headers, content in self.heard
        )

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def listening(
    answer: Callable[[str, str, dict[str, str], bytes], Answer], certificate: Path | None = None
) -> Iterator[Listener]:
    listener = Listener(answer, certificate)
    try:
        yield listener
    finally:
        listener.close()


def passed_on(url: str) -> Callable[[str, str, dict[str, str], bytes], Answer]:
    """Passes the request on to the server at `url`, and its answer back."""

    def answer(method: str, path: str, headers: dict[str, str], content: bytes) -> Answer:
        kept = {name: value for name, value in headers.items() if name not in ("host", "accept-encoding")}
        request = urllib.request.Request(f"{url}{path}", content or None, kept, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as got:
                return got.status, got.headers.get("Content-Type", ""), got.read()
        except urllib.request.HTTPError as error:
            return error.code, error.headers.get("Content-Type", ""), error.read()

    return answer


def certificate(folder: Path, name: str, *, days: tuple[float, float] = (-1, 1)) -> Path:
    """Returns a file with a key and a self-signed certificate for a server of this name. It is valid between
    these two times, in days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    # A client finds the signer by this name, so each has its own.
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name} {secrets.token_hex(8)}")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=days[0]))
        .not_valid_after(now + timedelta(days=days[1]))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / f"{name}.pem"
    file.write_bytes(plain + made.public_bytes(serialization.Encoding.PEM))
    return file
