"""The centre of the daemon: accepts connections, passes each to the handler it asks for, and decides when to end.

`handlers.py` has the handlers, `run.py` the process and its lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sidecar.daemon.endpoint import is_own_peer
from sidecar.daemon.handshake import MAX_LINE, Handshake
from sidecar.daemon.shell_server import LineReader, as_line
from sidecar.errors import Internal, SidecarError
from sidecar.logs import client_log
from sidecar.surfaces.loopback.admission import Admission
from sidecar.surfaces.loopback.listening import accept

GREETING_S = 10.0
"""A connection is closed if its greeting takes longer."""
CLOSING_S = 15.0
"""How long the daemon waits for its sessions when it ends."""
HOME_S = 10.0
"""Interval between checks whether the daemon's data folder still exists."""
logger = logging.getLogger("sidecar.daemon")

Welcome = Callable[..., Awaitable[None]]
"""Tells the client, with these facts, that its session begins. An error that is raised before that is sent instead."""

Door = Callable[[socket.socket, Handshake, Welcome], Awaitable[None]]
"""Serves one session until its client leaves or the task is cancelled."""


@dataclass(eq=False)
class Attended:
    """One session that is being served."""

    id: int
    greeting: Handshake
    since: float
    task: asyncio.Task[None]


class DaemonServer:
    """Serves all sessions on one event loop. `doors` holds a handler for each kind of greeting except `control`."""

    def __init__(
        self,
        doors: Mapping[str, Door],
        facts: Callable[[], Mapping[str, object]],
        idle_s: float,
        lock_out: Callable[[], None],
        has_home: Callable[[], bool],
    ) -> None:
        """`facts` are added to the status; `lock_out` makes the daemon unreachable for new clients.

        `has_home` says whether the daemon's lock file is still in the data folder.
        """
        self._doors = doors
        self._facts = facts
        self._idle_s = idle_s
        self._lock_out = lock_out
        self._has_home = has_home
        self._ids = itertools.count(1)
        self._sessions: set[Attended] = set()
        self._greeted: set[asyncio.Task[None]] = set()
        self._admission = Admission(seconds=GREETING_S)
        self._timer: asyncio.TimerHandle | None = None
        self._started = time.time()

    async def serve(self, listener: socket.socket) -> str:
        """Serves until the daemon is asked to end or has had no session for `idle_s` seconds. Returns the reason for
        its end."""
        loop = asyncio.get_running_loop()
        self._leaving: asyncio.Future[str] = loop.create_future()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._signalled, number)
        listener.setblocking(False)
        accepting = loop.create_task(accept(listener, self._take))
        self._watch_idleness()
        self._watch_home()
        why = await self._leaving
        logger.info("leaving: %s", why)
        self._lock_out()
        accepting.cancel()
        tasks = {accepting, *self._greeted}
        for task in self._greeted:
            task.cancel()
        await asyncio.wait(tasks, timeout=CLOSING_S)
        return why

    def leave(self, why: str) -> None:
        """Makes `serve` return with this reason; the first reason counts."""
        if not self._leaving.done():
            self._leaving.set_result(why)

    def _signalled(self, number: int) -> None:
        """Handles a signal: the first makes the daemon end; a second one ends the process at once."""
        if self._leaving.done():
            os._exit(128 + number)
        self.leave(f"signal {number}")

    async def _take(self, connection: socket.socket) -> None:
        if not is_own_peer(connection):
            logger.warning("refused a connection of another user")
            connection.close()
            return
        task = asyncio.get_running_loop().create_task(self._attend(connection))
        self._greeted.add(task)
        task.add_done_callback(self._greeted.discard)

    async def _attend(self, connection: socket.socket) -> None:
        welcomed = False

        async def welcome(**facts: object) -> None:
            nonlocal welcomed
            await _answer(connection, {"ok": True, **facts})
            welcomed = True

        try:
            greeting = await self._greeting(connection)
            if greeting is None:
                return
            door = self._control if greeting.kind == "control" else self._doors[greeting.kind]
            with self._counted(greeting):
                await door(connection, greeting, welcome)
        except OSError:
            return
        except Exception as error:
            if not isinstance(error, SidecarError):
                client_log("sidecar.daemon", connection).exception("a session failed")
            if not welcomed:
                reported = (
                    error if isinstance(error, SidecarError) else Internal("`sidecar daemon logs` shows the cause.")
                )
                await _answer(connection, {"error": reported.as_dict()})
        finally:
            connection.close()

    async def _greeting(self, connection: socket.socket) -> Handshake | None:
        """Returns the greeting.

        Returns None if it does not arrive in time, is not a valid greeting, or too many connections wait.
        """

        def hang_up() -> None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

        self._admission.arrive(connection, "", hang_up)
        try:
            line = await LineReader(connection, MAX_LINE).line()
            return Handshake.of(line) if line else None
        except (ValueError, TypeError):
            logger.warning("refused a connection that did not begin with a greeting")
            return None
        finally:
            self._admission.leave(connection)

    @contextlib.contextmanager
    def _counted(self, greeting: Handshake) -> Iterator[None]:
        """While the block runs, lists the session in the status and stops the idle timer; does nothing for
        `control`."""
        if greeting.kind == "control":
            yield
            return
        task = asyncio.current_task()
        assert task is not None
        session = Attended(next(self._ids), greeting, time.time(), task)
        self._sessions.add(session)
        self._watch_idleness()
        try:
            yield
        finally:
            self._sessions.discard(session)
            self._watch_idleness()

    def _watch_idleness(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if not self._sessions:
            self._timer = asyncio.get_running_loop().call_later(self._idle_s, self.leave, "idle")

    def _watch_home(self) -> None:
        if not self._has_home():
            self.leave("the data folder is gone")
            return
        asyncio.get_running_loop().call_later(HOME_S, self._watch_home)

    async def _control(self, connection: socket.socket, greeting: Handshake, welcome: Welcome) -> None:
        """Answers the control words `status` and `stop`, one per line."""
        await welcome(pid=os.getpid())
        lines = LineReader(connection)
        while line := await lines.line():
            word = line.decode("utf-8", "replace").strip()
            await _answer(connection, self._status() if word == "status" else {"pid": os.getpid()})
            if word == "stop":
                self.leave("asked to stop")
                return

    def _status(self) -> dict[str, object]:
        return {
            "pid": os.getpid(),
            "since": _iso(self._started),
            "idleMinutes": self._idle_s / 60,
            "memoryBytes": _memory(),
            **self._facts(),
            "sessions": [
                {
                    "id": session.id,
                    "kind": session.greeting.kind,
                    "pid": session.greeting.pid,
                    "folder": session.greeting.workspace or session.greeting.cwd,
                    "since": _iso(session.since),
                }
                for session in sorted(self._sessions, key=lambda one: one.id)
            ],
        }


async def _answer(connection: socket.socket, value: Mapping[str, object]) -> None:
    with contextlib.suppress(OSError):
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_sendall(connection, as_line(value))


def _iso(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _memory() -> int:
    """Returns the resident bytes of this process; 0 if the system does not report them."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
