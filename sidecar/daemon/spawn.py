"""Reaches the daemon of an endpoint, and starts it if none runs. Any number of processes may do so at the same time.

Every pipe imports this module, so it imports little.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sidecar.daemon.endpoint import Endpoint, connect, private_folder
from sidecar.daemon.handshake import PREFIX, Handshake, greet
from sidecar.errors import SidecarError
from sidecar.lock_file import LockFile, is_locked

PATIENCE_S = 20.0
"""After this many seconds, a daemon counts as not answering; starting one may take three times as long."""
TRIES = 5
"""After this many daemons that hang up, `attach` gives up."""
_POLL_S = 0.02
COMMAND = (sys.executable, "-P", "-m", "sidecar")
"""`-P`: the working directory must not be searched for modules, since it may contain a package called sidecar."""


class Attached(NamedTuple):
    """A session that the daemon has accepted; `facts` is the daemon's answer to the greeting."""

    connection: socket.socket
    facts: dict[str, Any]


class NotReachedError(Exception):
    """No daemon can be reached; the message is one sentence with the reason."""


class Daemon:
    """The daemon as its clients see it. `command` is the sidecar command of this installation."""

    def __init__(self, place: Endpoint, env: Mapping[str, str], command: Sequence[str] = COMMAND) -> None:
        self.place = place
        self._env = env
        self._command = command
        self.patience_s = patience(env)

    def attach(self, greeting: Handshake) -> Attached:
        """Returns a session with the daemon, which is started if none runs.

        Raises NotReachedError, and the daemon's own error if it refuses this greeting. Each step has a time limit.
        """
        deadline = time.monotonic() + 3 * self.patience_s
        for tried in range(TRIES):
            if tried and time.monotonic() > deadline:
                break
            connection = self._connected() or self._started()
            if (facts := self._welcome(connection, greeting)) is not None:
                return Attached(connection, facts)
        raise NotReachedError("The daemon closes every connection. `sidecar daemon logs` shows the cause.")

    def attach_running(self, greeting: Handshake) -> Attached | None:
        """Returns a session with the running daemon, or None if no daemon runs or it is ending.

        Raises the errors of `attach`.
        """
        connection = self._connected()
        if connection is None:
            return None
        facts = self._welcome(connection, greeting)
        return None if facts is None else Attached(connection, facts)

    def _connected(self) -> socket.socket | None:
        """Returns a connection to the running daemon, or None if nothing listens."""
        try:
            return connect(self.place.record())
        except OSError as error:  # this process has no file descriptor left
            raise NotReachedError(f"The daemon cannot be reached: {error.strerror}.") from error

    def _welcome(self, connection: socket.socket, greeting: Handshake) -> dict[str, Any] | None:
        """Sends the greeting and returns the daemon's answer; None if the daemon hangs up because it is ending."""
        try:
            if (facts := greet(connection, greeting, self.patience_s)) is not None:
                return facts
        except TimeoutError as error:
            connection.close()
            raise NotReachedError(f"The daemon {self._who()}does not answer. `sidecar daemon stop` ends it.") from error
        except ValueError as error:
            connection.close()
            raise NotReachedError(
                f"The program that answers in place of the daemon {self._who()}is not sidecar."
            ) from error
        except SidecarError:
            connection.close()
            raise
        connection.close()
        return None

    def _started(self) -> socket.socket:
        """Starts the daemon, unless another process has just started it, and returns a connection.

        Raises NotReachedError.
        """
        lock = LockFile(self.place.starting)
        try:
            private_folder(self.place.folder)
            self._wait_for(lock)
            connection = connect(self.place.record())
            if connection is None:
                self._launch()
                connection = connect(self.place.record())
        except SidecarError as error:
            raise NotReachedError(error.message) from error
        except OSError as error:
            raise NotReachedError(f"The daemon cannot be started: {error.strerror}.") from error
        finally:
            lock.release()
        if connection is None:
            raise NotReachedError(f"The daemon {self._who()}cannot be reached at its socket.")
        return connection

    def _wait_for(self, lock: LockFile) -> None:
        """Takes the lock once no other process is starting the daemon.

        Raises NotReachedError if that takes too long, and the SidecarErrors of the lock.
        """
        deadline = time.monotonic() + 3 * self.patience_s
        while not lock.take():
            if time.monotonic() > deadline:
                raise NotReachedError(f"Another process has been starting the daemon for {3 * self.patience_s:.0f} s.")
            time.sleep(_POLL_S)

    def _launch(self) -> None:
        """Starts the daemon and returns once it accepts sessions.

        The started process forks and ends, so the daemon is not a child of this process. Raises NotReachedError.
        """
        reading, writing = os.pipe()
        os.set_inheritable(writing, True)
        nothing = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        argv = [*self._command, "daemon", "run", "--ready-fd", str(writing)]
        try:
            pid = os.posix_spawn(argv[0], argv, daemon_environment(self._env), file_actions=nothing)
        finally:
            os.close(writing)
        try:
            os.waitpid(pid, 0)
            line = _read_all(reading, 3 * self.patience_s)
        finally:
            os.close(reading)
        if line is None:
            raise NotReachedError(f"The daemon did not start within {3 * self.patience_s:.0f} s.")
        if not line:
            raise NotReachedError("The daemon ended while it was starting. `sidecar daemon logs` shows the cause.")
        try:
            answer = json.loads(line)
        except ValueError as error:
            raise NotReachedError(
                f"The daemon was expected to report that it is ready, but sent {line[:80]!r}."
            ) from error
        if isinstance(answer, dict) and "error" in answer:
            raise NotReachedError(str(answer["error"]))

    def _who(self) -> str:
        record = self.place.record()
        if record is None:
            return "" if not is_locked(self.place.lock) else "that is starting or stopping "
        return f"(process {record.pid}) "


def daemon_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment without settings: those belong to a session and come with its greeting."""
    kept = {name: value for name, value in env.items() if not name.startswith(PREFIX) or name in KEPT}
    if os.path.isfile(ranker := kept.get(RANKER, "")):  # noqa: PTH113
        kept[RANKER] = os.path.abspath(ranker)  # noqa: PTH100 - the daemon works in another folder
    return {**ALLOCATOR, **kept}


ALLOCATOR = {"MALLOC_ARENA_MAX": "2"}
"""Two memory arenas for glibc. With one per thread, the process keeps a fifth more memory after minutes of edits and
searches."""
RANKER = "SIDECAR_RANKER"
KEPT = ("SIDECAR_HOME", "SIDECAR_DAEMON_IDLE_MINUTES", "SIDECAR_DAEMON_PATIENCE_S", RANKER)
"""The SIDECAR_ variables that concern the daemon itself."""


def patience(env: Mapping[str, str]) -> float:
    """Returns SIDECAR_DAEMON_PATIENCE_S if it is a number of seconds, otherwise the default. Meant for slow machines
    and tests."""
    try:
        return max(0.05, float(env["SIDECAR_DAEMON_PATIENCE_S"]))
    except (KeyError, ValueError):
        return PATIENCE_S


def _read_all(fd: int, timeout_s: float) -> bytes | None:
    """Returns the bytes that the other side writes until a line ends or it closes.

    Returns None if a read takes longer than `timeout_s`.
    """
    held = b""
    while True:
        readable, _, _ = select.select([fd], [], [], timeout_s)
        if not readable:
            return None
        piece = os.read(fd, 4096)
        held += piece
        if not piece or held.endswith(b"\n"):
            return held
