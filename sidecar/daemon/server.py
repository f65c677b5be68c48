"""The daemon's middle: takes connections, gives each to the door it asks for, and knows when to leave.

Not here: what a door does (`doors.py`), the process and its lock (`run.py`).
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
from sidecar.daemon.shell_server import Lines, as_line
from sidecar.errors import Internal, SidecarError
from sidecar.logs import client_log
from sidecar.surfaces.loopback.admission import Admission
from sidecar.surfaces.loopback.listening import accept

GREETING_S = 10.0
CLOSING_S = 15.0
HOME_S = 10.0
logger = logging.getLogger("sidecar.daemon")

Welcome = Callable[..., Awaitable[None]]
"""Tells the client, with these facts, that its session begins. What is raised before is what it is told instead."""

Door = Callable[[socket.socket, Handshake, Welcome], Awaitable[None]]
"""Serves one session until its client leaves or the task is cancelled."""


@dataclass(eq=False)
class Attended:
    """One session."""

    id: int
    greeting: Handshake
    since: float
    task: asyncio.Task[None]


class DaemonServer:
    """One loop for all sessions. `doors` by the greeting's kind; `control` is the hub's own."""

    def __init__(
        self,
        doors: Mapping[str, Door],
        facts: Callable[[], Mapping[str, object]],
        idle_s: float,
        lock_out: Callable[[], None],
        has_home: Callable[[], bool],
    ) -> None:
        """`facts` for the status; `lock_out` makes the daemon unreachable for new clients; `has_home`: whether the data
        folder is still there."""
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
        """Until it is told to leave, or has been without sessions for its time. Returns why it left."""
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
        if not self._leaving.done():
            self._leaving.set_result(why)

    def _signalled(self, number: int) -> None:
        if self._leaving.done():
            os._exit(128 + number)
        self.leave(f"signal {number}")

    async def _take(self, connection: socket.socket) -> None:
        if not is_own_peer(connection):
            logger.warning("another user has connected, and is not served")
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
                told = error if isinstance(error, SidecarError) else Internal("sidecar daemon logs says why.")
                await _answer(connection, {"error": told.as_dict()})
        finally:
            connection.close()

    async def _greeting(self, connection: socket.socket) -> Handshake | None:
        """None where no greeting comes in time, or too many connections wait for theirs."""

        def hang_up() -> None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

        self._admission.arrive(connection, "", hang_up)
        try:
            line = await Lines(connection, MAX_LINE).line()
            return Handshake.of(line) if line else None
        except (ValueError, TypeError):
            logger.warning("somebody connected who is no client of ours")
            return None
        finally:
            self._admission.leave(connection)

    @contextlib.contextmanager
    def _counted(self, greeting: Handshake) -> Iterator[None]:
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
        """`status` and `stop`, one word per line."""
        await welcome(pid=os.getpid())
        lines = Lines(connection)
        while line := await lines.line():
            word = line.decode("utf-8", "replace").strip()
            await _answer(connection, self._status() if word == "status" else {"pid": os.getpid()})
            if word == "stop":
                self.leave("told to stop")
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
    """Resident bytes of this process; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
