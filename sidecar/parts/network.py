"""Talks to a server over HTTP: reads, uploads, and downloads that are resumed and verified. The only module that
imports an HTTP client.

A server is reached by https, or by http if it is on this machine. Requests carry nothing about the user, and a sign-in
only if the caller gives one; the client does not send it to another host after a redirect. The caller decides whether
the network may be used at all.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from weakref import ref

from sidecar import __version__, shown
from sidecar.errors import SidecarError
from sidecar.parts.certificates import refused_certificate
from sidecar.small_files import open_to_append, open_to_read

if TYPE_CHECKING:
    from httpx2 import Client, Request, Response, Timeout

MAX_ANSWER_BYTES = 8 * 1024**2
_MAX_REDIRECTS = 5
_CONNECT_S, _READ_S, _PUT_S = 15.0, 60.0, 60.0
_BLOCK = 1 << 18
_PARTIAL = 206
_NO_LOGIN, _MISSING = 401, 404


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected properties of a file: its size in bytes and a hash.

    For a file outside Git LFS, a model hub states the SHA-1 of the git blob instead of the SHA-256 of the content.
    """

    path: str
    size: int
    sha256: str = ""
    git_blob: str = ""


@dataclass(frozen=True, slots=True)
class Slowest:
    """The slowest acceptable download: after `grace_s` seconds its average must be at least `bytes_per_s` (0: no
    minimum). At most `silent_s` seconds may pass before the first byte of the content, whatever else is sent meanwhile
    (redirects, handshakes, headers), and between two blocks of it. For an upload the limit is `stored_s`: for each
    block that is sent, and for the answer."""

    grace_s: float = 30.0
    bytes_per_s: float = 0.0
    silent_s: float = _READ_S
    stored_s: float = _PUT_S


class Answer(NamedTuple):
    """A small answer: its content, and the tag (ETag) by which the server identifies this version; empty if it gave
    none."""

    content: bytes
    tag: str


@dataclass(frozen=True, slots=True)
class Way:
    """How a server is asked. `setting` is the setting with its address, named in messages; `failed` is the error to
    raise; `sign_in` is the value of the header Authorization (empty: none); `headers` are further headers; `unsigned`
    is a sentence for the message of a server that asks for a login (empty: none)."""

    setting: str
    failed: type[SidecarError]
    sign_in: str = ""
    pace: Slowest = Slowest()
    headers: Mapping[str, str] = field(default_factory=dict)
    unsigned: str = ""


class Server:
    """A server, to be used in a `with` block. Every method raises the error of its `Way`, the constructor too if the
    address is not allowed."""

    def __init__(self, source: str, way: Way) -> None:
        self.source = source.strip().rstrip("/")
        self._way = way
        try:
            address = urlsplit(self.source)
            self._local = address.scheme == "http" and _is_loopback(address.hostname or "")
        except ValueError as error:
            raise self._failed(
                f"{way.setting} is {shown.reason(source)}, which is not a valid address: {shown.reason(error)}."
            ) from error
        self._sockets: list[ref[socket.socket]] = []
        if not self._may_ask(self.source) or address.query or address.fragment or "@" in address.netloc:
            raise self._failed(
                f"{way.setting} is {shown.reason(source)}; it must begin with https:// and name a server, "
                f"without a password."
            )

    def __enter__(self) -> Server:
        import httpx2

        sign_in = {"Authorization": self._way.sign_in} if self._way.sign_in else {}
        own = {**sign_in, **self._way.headers}
        origin = _origin(self.source)

        def check(request: Request) -> None:
            # httpx2 calls this for every redirect too, on which it keeps all headers but Authorization.
            if not self._may_ask(str(request.url)):
                raise self._failed(
                    f"{shown.reason(self.source)} redirects to {shown.reason(request.url)}, which is not https."
                )
            if _origin(str(request.url)) != origin:
                for name in own:
                    request.headers.pop(name, None)

        try:
            self._client: Client = httpx2.Client(
                headers={
                    "User-Agent": f"sidecar/{__version__}",
                    "Accept-Encoding": "identity",
                    **own,
                },
                timeout=_timeouts(self._way.pace.silent_s),
                follow_redirects=True,
                max_redirects=_MAX_REDIRECTS,
                event_hooks={"request": [check]},
            )
        except (ImportError, ValueError, httpx2.InvalidURL) as error:
            raise self._failed(f"The proxy named by the environment cannot be used: {shown.reason(error)}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def _failed(self, text: str) -> SidecarError:
        return self._way.failed(text)

    def _refused(self, say: Callable[[str, int], str], url: str, status: int) -> SidecarError:
        """The error about a status."""
        more = f" {self._way.unsigned}" if self._way.unsigned and status == _NO_LOGIN else ""
        return self._failed(f"{say(url, status)}{more}")

    def _may_ask(self, url: str) -> bool:
        """Whether a URL may be requested: it is https or, if the source is on this machine by http, is on this machine
        too."""
        address = urlsplit(url)
        host = address.hostname or ""
        return bool(host) and (address.scheme == "https" or (self._local and _is_loopback(host)))

    def read(self, url: str, most: int = MAX_ANSWER_BYTES) -> Answer:
        """Returns a small answer. Fails if it has more than `most` bytes."""
        found = self.find(url, most)
        if found is None:
            raise self._failed(_refusal(url, _MISSING))
        return found

    def find(self, url: str, most: int = MAX_ANSWER_BYTES) -> Answer | None:
        """Returns the same as `read`; None if the server answers that there is no such file (status 404)."""
        content = bytearray()
        with self._asked(url, {}) as (response, blocks):
            if response.status_code == _MISSING:
                return None
            self._check_status(url, response)
            began = time.monotonic()
            for block in blocks:
                content += block
                if len(content) > most:
                    raise self._failed(f"{shown.reason(url)} answers with more than {most} bytes.")
                self._check_pace(url, began, len(content))
            return Answer(bytes(content), response.headers.get("ETag", ""))

    @contextmanager
    def _asked(self, url: str, headers: Mapping[str, str]) -> Iterator[tuple[Response, Iterator[bytes]]]:
        """Yields a response and the blocks of its body, as they arrive: waiting for larger ones would hide a slow
        server. Fails on network errors until the block ends."""
        with (
            self._asking(url, self._way.pace.silent_s, "; what has been downloaded is kept") as exchange,
            self._client.stream("GET", url, headers=dict(headers), extensions={"trace": exchange.note}) as response,
        ):
            self._remember(response)
            yield response, exchange.received(response.iter_bytes())

    def _remember(self, response: Response) -> None:
        """Remembers the connection of a response, which later requests may use again."""
        used = response.extensions["network_stream"].get_extra_info("socket")
        if not any(known() is used for known in list(self._sockets)):
            self._sockets.append(ref(used, self._sockets.remove))

    def _check_status(self, url: str, response: Response) -> None:
        if response.status_code not in (200, _PARTIAL):
            raise self._refused(_refusal, url, response.status_code)

    @contextmanager
    def _asking(self, url: str, limit_s: float, what_stays: str = "") -> Iterator[_Exchange]:
        """Raises what goes wrong within the block as an error about this URL, which ends with `what_stays`. Ends the
        exchange if for `limit_s` seconds no content moves."""
        import httpx2

        exchange = _Exchange(limit_s, self._sockets)
        try:
            with exchange:
                yield exchange
            if exchange.is_over:
                raise httpx2.ReadTimeout("")  # an answer without a length seems to end where its connection was ended
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            if refused := refused_certificate(error):
                raise self._failed(f"{shown.reason(url)}: {shown.reason(refused)}.") from error
            if exchange.is_over or isinstance(error, httpx2.TimeoutException):
                connecting = isinstance(error, httpx2.ConnectTimeout) and not exchange.is_over
                waited_s = _timeouts(limit_s).connect if connecting else limit_s
                reason = f"timed out, because no content was transferred for {waited_s:g} s"
            else:
                reason = str(error).strip().rstrip(".") or type(error).__name__
            raise self._failed(
                f"{shown.reason(url)}: {shown.reason(reason)}. Try again when the network works{what_stays}."
            ) from error

    def put(self, url: str, content: Path | bytes, headers: Mapping[str, str] | None = None) -> bool:
        """Stores a file under this URL. Returns False if the server refuses because a condition in `headers` does not
        hold (status 412). Fails on any other status but 2xx."""
        length = len(content) if isinstance(content, bytes) else content.stat().st_size
        wanted = {"Content-Type": "application/octet-stream", "Content-Length": str(length), **(headers or {})}
        body = iter((content,)) if isinstance(content, bytes) else _blocks_of(content)
        limit_s = self._way.pace.stored_s
        with self._asking(url, limit_s) as exchange:
            response = self._client.put(
                url,
                content=exchange.sent(body),
                headers=wanted,
                timeout=_timeouts(limit_s),
                extensions={"trace": exchange.note},
            )
            self._remember(response)
            status = response.status_code
        if status == 412:
            return False
        if not 200 <= status < 300:
            raise self._refused(_put_refusal, url, status)
        return True

    def fetch(self, url: str, file: Expected, target: Path, report: Callable[[int], None]) -> str:
        """Downloads a file to `target` and returns its SHA-256. Continues an interrupted download whose part lies
        beside the target; if the file then has a wrong hash, it is downloaded once more. `report` is called with the
        number of bytes so far."""
        part = target.with_name(f"{target.name}.part")
        if target.exists():
            target.replace(part)  # left by an interrupted download; it is verified again below
        was_there = part.exists()
        sums = self._fill(url, file, part, report)
        if sums.complaint() and was_there:
            part.unlink()
            sums = self._fill(url, file, part, report)
        if complaint := sums.complaint():
            part.unlink()
            raise self._failed(
                f"{shown.reason(url)} is not the expected file: {shown.reason(complaint)}. It has been deleted."
            )
        part.replace(target)
        return sums.sha256

    def _fill(self, url: str, file: Expected, part: Path, report: Callable[[int], None]) -> _Sums:
        """Downloads the rest of `part`. Fails if more or less than the expected bytes arrive, or if they arrive too
        slowly."""
        sums, done = _sums_so_far(file, part)
        report(done)
        if done == file.size:
            return sums
        with (
            self._asked(url, {"Range": f"bytes={done}-"} if done else {}) as (response, blocks),
            open_to_append(part) as out,
        ):
            self._check_status(url, response)
            if done and not _goes_on(response, done):
                out.truncate(0)
                sums, done = _Sums(file), 0
            began, before, reported = time.monotonic(), done, done
            for block in blocks:
                done += len(block)
                if done > file.size:
                    break
                out.write(block)
                sums.add(block)
                if done - reported >= _BLOCK or done == file.size:
                    report(reported := done)
                self._check_pace(url, began, done - before)
            out.flush()
            os.fsync(out.fileno())
        if done > file.size:
            part.unlink()
            raise self._failed(f"{shown.reason(url)} is longer than the expected {file.size} bytes.")
        if done < file.size:
            raise self._failed(
                f"{shown.reason(url)} ended after {done} of {file.size} bytes; the same command continues from there."
            )
        return sums

    def _check_pace(self, url: str, began: float, brought: int) -> None:
        pace, seconds = self._way.pace, time.monotonic() - began
        if seconds > pace.grace_s and brought < seconds * pace.bytes_per_s:
            raise self._failed(
                f"{shown.reason(url)} is too slow: {brought} bytes in {seconds:.0f} s; what has arrived is kept."
            )


class _Exchange:
    """One request and its answer, to be used in a `with` block; it is ended if for `limit_s` seconds no content moves.

    The timeouts of the HTTP client are for one call to the system each, so one byte at a time (of a handshake, headers,
    the length of a block) passes them for ever. A thread therefore shuts the connection down when the time is over;
    whoever reads from it or writes to it gets an error at once. `others` are the connections that requests have used
    before: which one of them is used again is known only from the answer, so all are shut down.
    """

    def __init__(self, limit_s: float, others: list[ref[socket.socket]]) -> None:
        self._limit_s, self._others = limit_s, others
        self._until = time.monotonic() + limit_s
        self._ended = threading.Event()
        self._own: list[socket.socket] = []
        self.is_over = False

    def __enter__(self) -> _Exchange:
        self._watch = threading.Thread(target=self._end_in_time, name="sidecar-network", daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watch.join()
        for own in self._own:
            own.close()

    def received(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Yields these blocks of content. The server has the whole time for each; what the caller does with one does
        not count."""
        for block in blocks:
            self._until = math.inf
            yield block
            self._until = time.monotonic() + self._limit_s

    def sent(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Yields these blocks of content for the HTTP client to send. The server has the whole time to take each."""
        for block in blocks:
            self._until = time.monotonic() + self._limit_s
            yield block
        self._until = time.monotonic() + self._limit_s

    def note(self, event: str, about: Mapping[str, Any]) -> None:
        """Receives what the HTTP client does (its extension `trace`)."""
        if event == "connection.connect_tcp.started":
            self._look_up(about["host"], about["port"])
        elif event == "connection.connect_tcp.complete":
            # A copy of the descriptor: TLS takes the original from its object before the handshake.
            self._own.append(about["return_value"].get_extra_info("socket").dup())
            if self.is_over:
                self._shut()

    def _look_up(self, host: str, port: int) -> None:
        """Raises a timeout if the system does not find the host's address in time. The call cannot be ended, so it is
        made in a thread that is left alone. The HTTP client asks again, and is told at once."""
        import httpx2

        found = threading.Event()

        def look_up() -> None:
            with suppress(OSError, UnicodeError):  # the HTTP client will get the same error
                socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.set()

        threading.Thread(target=look_up, name="sidecar-lookup", daemon=True).start()
        if not found.wait(max(0.0, self._until - time.monotonic())):
            self.is_over = True
            raise httpx2.ConnectTimeout("")

    def _end_in_time(self) -> None:
        while not self._ended.wait(min(max(0.0, self._until - time.monotonic()), self._limit_s)):
            if time.monotonic() >= self._until:
                self.is_over = True
                self._shut()
                return

    def _shut(self) -> None:
        for connection in (*self._own, *(known() for known in list(self._others))):
            with suppress(OSError):
                # Not the method of a TLS socket, which would forget the keys while another thread uses them.
                if connection is not None:
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)


class _Sums:
    """The hashes of a file, computed block by block."""

    def __init__(self, file: Expected) -> None:
        self._file = file
        self._sha256 = hashlib.sha256()
        self._git = hashlib.sha1(f"blob {file.size}\0".encode(), usedforsecurity=False)

    def add(self, block: bytes) -> None:
        """Adds the next bytes of the file."""
        self._sha256.update(block)
        if self._file.git_blob:
            self._git.update(block)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the bytes so far, in hex."""
        return self._sha256.hexdigest()

    def complaint(self) -> str:
        """Returns what is wrong with the hashes of the complete file; empty if they are right."""
        if self._file.sha256 and self.sha256 != self._file.sha256:
            return f"its SHA-256 is {self.sha256}, but must be {self._file.sha256}"
        if self._file.git_blob and self._git.hexdigest() != self._file.git_blob:
            return f"its git blob is {self._git.hexdigest()}, but must be {self._file.git_blob}"
        return ""


def _timeouts(limit_s: float) -> Timeout:
    """Returns the limits of the HTTP client for one call to the system, in seconds; connecting includes the
    handshake."""
    import httpx2

    return httpx2.Timeout(limit_s, connect=min(_CONNECT_S, limit_s))


def _goes_on(response: Response, done: int) -> bool:
    """Whether the response continues at byte `done`, and does not send the whole file again."""
    stated = response.headers.get("Content-Range", "")
    return response.status_code == _PARTIAL and stated.startswith(f"bytes {done}-")


def _sums_so_far(file: Expected, part: Path) -> tuple[_Sums, int]:
    """Returns the hashes and the size of `part`, in bytes. Deletes the file and returns 0 if it is too long."""
    sums, done = _Sums(file), 0
    if part.exists():
        if part.stat().st_size > file.size:
            part.unlink()
            return sums, 0
        for block in _blocks_of(part):
            sums.add(block)
            done += len(block)
    return sums, done


def _blocks_of(path: Path) -> Iterator[bytes]:
    with open_to_read(path) as there:
        while block := there.read(_BLOCK):
            yield block


def _refusal(url: str, status: int) -> str:
    """Returns the message about a status other than 200 and 206."""
    reasons = {
        401: "it asks for a login",
        403: "access is denied",
        404: "there is no such file",
        429: "too many requests",
    }
    return _answered(shown.reason(url), status, reasons, "this is not a file")


def _put_refusal(url: str, status: int) -> str:
    """Returns the message about a status other than 2xx after an upload."""
    reasons = {
        401: "it asks for a login",
        403: "writing is not allowed",
        404: "there is no such folder",
        405: "this server takes no PUT",
        409: "the folder does not exist there; make it first",
        413: "the file is too large for the server",
        507: "the server's disk is full",
    }
    return _answered(f"PUT {shown.reason(url)}", status, reasons, "it did not take the file")


def _answered(request: str, status: int, reasons: Mapping[int, str], otherwise: str) -> str:
    known = reasons.get(status, "the server failed; try again later" if status >= 500 else otherwise)
    return f"{request} answers {status}: {known}."


def _origin(url: str) -> tuple[str, str, int]:
    """Returns the scheme, host and port of a valid address."""
    address = urlsplit(url)
    port = address.port or {"http": 80, "https": 443}.get(address.scheme, 0)
    return address.scheme, address.hostname or "", port


def _is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
