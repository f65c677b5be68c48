"""A thin pipe that copies bytes between a client at stdin and stdout and the daemon at a socket.

It outlives the daemon. If the daemon crashes, the pipe attaches to another one at once, restores the session there, and
answers each request in flight that may not be repeated with an error. If the daemon ended normally, the pipe attaches
at the client's next message.

Nothing here, and nothing imported here, may import a protocol's library or the engine, because every pipe would pay for
it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from sidecar import shown
from sidecar.daemon.replay import Replay
from sidecar.daemon.spawn import NotReachedError
from sidecar.errors import SidecarError
from sidecar.locks import Rank, make_condition, make_lock

CHUNK = 1 << 16
"""Bytes read at a time."""
FLUSH_S = 10.0
"""How long the pipe passes on the daemon's last answers after the client has closed its end."""
STEADY_S = 5.0
"""A daemon that ends within this time after the pipe has attached to it counts as an early death."""
QUICK_DEATHS = 3
"""After this many early deaths in a row, the pipe waits for a message before it attaches again."""


class Cutter(Protocol):
    """Cuts a byte stream into frames."""

    def feed(self, piece: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yields the complete frames as pairs: the received bytes, and the body in them."""

    def rest(self) -> bytes:
        """Returns the bytes of an unfinished frame at the end of the stream."""


class PipedSession(Replay):
    """A protocol's `Replay` that also knows the exit status of its process."""

    @property
    def status(self) -> int:
        """The pipe's exit status after the client has left."""
        raise NotImplementedError


class Pipe:
    """One client's pipe.

    `attach` returns a connection to a daemon, or raises NotReachedError or SidecarError. `left_in_order` says whether
    the last daemon ended normally.
    """

    def __init__(
        self,
        script: PipedSession,
        make_cutter: Callable[[], Cutter],
        attach: Callable[[], socket.socket],
        left_in_order: Callable[[], bool],
        fds: tuple[int, int],
    ) -> None:
        self._script = script
        self._make_cutter = make_cutter
        self._attach = attach
        self._left_in_order = left_in_order
        self._fd_in, self._fd_out = fds
        self._state = make_condition(Rank.PIPE)
        self._writing = make_lock(Rank.PIPE_WRITING)
        self._connection: socket.socket | None = None
        self._cutter = make_cutter()
        self._attached_at = 0.0
        self._quick_deaths = 0
        self._ended = False

    def run(self, connection: socket.socket | None) -> int:
        """Copies until the client leaves, and returns the exit status.

        `connection` is the first session, on which nothing has been sent yet. If it is None, the pipe attaches at the
        client's first message.
        """
        self._connection, self._attached_at = connection, time.monotonic()
        down = threading.Thread(target=self._down, name="sidecar-down", daemon=True)
        down.start()
        self._up()
        with self._state:
            self._ended = True
            held = self._connection
            self._state.notify_all()
        if held is not None:
            with contextlib.suppress(OSError):
                held.shutdown(socket.SHUT_WR)
        down.join(FLUSH_S)
        return self._script.status

    # ------------------------------------------------------------ client to daemon

    def _up(self) -> None:
        """Copies from the client to the daemon, until the client's stream ends."""
        cutter = self._make_cutter()
        with contextlib.suppress(OSError):
            while piece := os.read(self._fd_in, CHUNK):
                for raw, body in cutter.feed(piece):
                    self._send(raw, body)
            if rest := cutter.rest():
                self._send(rest, rest)

    def _send(self, raw: bytes, body: bytes) -> None:
        with self._state:
            if self._connection is None:
                message = self._revive(raw, body)
            else:
                message = self._script.from_client(raw, body) if body else raw
            connection = self._connection
        if message is None or connection is None:
            return
        with contextlib.suppress(OSError):  # the reading thread notices too, and fails the requests in flight
            connection.sendall(message)

    def _revive(self, raw: bytes, body: bytes) -> bytes | None:
        """Attaches to a daemon for this message of the client, and returns the bytes to send for it.

        Returns None if the new session's first frames contain it already, if it ends the session, and if no daemon can
        be reached.
        """
        stage = self._script.stage(body)
        if stage:
            self._script.from_client(raw, body)
            if self._script.over:
                self._leave()
            self._send_down(self._script.lost() if stage == "end" else self._script.without_daemon())
        if stage == "end":
            return None
        try:
            self._begin_again()
        except (NotReachedError, SidecarError) as error:
            if not stage and body:
                self._script.from_client(raw, body)
            self._send_down(self._script.lost(str(error)))
            return None
        if stage:
            return None
        return self._script.from_client(raw, body) if body else raw

    # ------------------------------------------------------------ daemon to client

    def _down(self) -> None:
        """Copies from each daemon to the client, until the client leaves or the session has ended."""
        while (connection := self._wait()) is not None:
            self._copy(connection)
            with self._state:
                self._lost(connection)
                if self._ended or self._script.over:
                    break
        if self._script.over:
            self._leave()

    def _wait(self) -> socket.socket | None:
        with self._state:
            self._state.wait_for(lambda: self._connection is not None or self._ended)
            return self._connection

    def _copy(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := connection.recv(CHUNK):
                for raw, body in self._cutter.feed(piece):
                    with self._state:
                        message = self._script.from_daemon(raw, body) if body else raw
                    if message is not None:
                        self._write(message)

    def _lost(self, connection: socket.socket) -> None:
        """Tells the client that the daemon is gone, and attaches to another one if that should happen at once."""
        connection.close()
        self._connection = None
        if self._ended or self._script.over:
            return
        young = time.monotonic() - self._attached_at < STEADY_S
        self._quick_deaths = self._quick_deaths + 1 if young else 0
        at_once = not self._left_in_order() and self._quick_deaths < QUICK_DEATHS
        self._send_down(self._script.lost("" if at_once else "The next message starts a new one. Please try again."))
        if at_once:
            try:
                self._begin_again()
            except (NotReachedError, SidecarError) as error:
                sys.stderr.write(shown.line(f"sidecar: {error}") + "\n")
                self._send_down(self._script.lost(str(error)))

    # ------------------------------------------------------------ both

    def _begin_again(self) -> None:
        """Attaches to a daemon and restores the session there. Called with the state held; raises the errors of
        `attach`."""
        connection = self._attach()
        self._cutter = self._make_cutter()
        try:
            for frame in self._script.opening():
                connection.sendall(frame)
                while not self._script.replayed:
                    self._hear(connection)
        except OSError as error:
            connection.close()
            raise NotReachedError("The daemon ended again while the session was being restored.") from error
        self._connection, self._attached_at = connection, time.monotonic()
        self._state.notify_all()

    def _hear(self, connection: socket.socket) -> None:
        """Reads once from a new daemon and passes on the frames that are for the client."""
        piece = connection.recv(CHUNK)
        if not piece:
            raise OSError("the daemon closed the connection")
        for raw, body in self._cutter.feed(piece):
            message = self._script.from_daemon(raw, body) if body else raw
            if message is not None:
                self._write(message)

    def _send_down(self, frames: list[bytes]) -> None:
        for frame in frames:
            self._write(frame)

    def _write(self, message: bytes) -> None:
        rest = memoryview(message)
        try:
            with self._writing:
                while rest:
                    rest = rest[os.write(self._fd_out, rest[: 1 << 20]) :]
        except OSError:
            self._leave()

    def _leave(self) -> None:
        """Ends the process at once: the client has gone, and other threads may be blocked."""
        os._exit(self._script.status)


def end_on_signals() -> None:
    """Ends this process on SIGTERM, SIGINT and SIGHUP. Nothing needs tidying up: the daemon sees the socket close."""

    def end(number: int, _: object) -> None:
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)


def end_with(pid: int) -> None:
    """Ends this process when the process `pid` ends.

    Returns at once if that process does not exist or cannot be watched.
    """
    try:
        watch = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return
    select.select([watch], [], [])
    os._exit(1)
