"""The daemon's process: it detaches, takes the lock, listens, writes its record and a bounded log, and serves
sessions."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from sidecar import shown
from sidecar.daemon.endpoint import Endpoint, connect, private_folder
from sidecar.daemon.handshake import Handshake, greet
from sidecar.daemon.spawn import daemon_environment, patience
from sidecar.errors import IndexLocked, InvalidParams, SidecarError
from sidecar.lock_file import LockFile
from sidecar.small_files import open_new
from sidecar.surfaces.cli.log import LateFile, log_to_file

BACKLOG = 128
"""Connections that may wait to be accepted."""
IDLE = "SIDECAR_DAEMON_IDLE_MINUTES"
"""The environment variable with the time after which a daemon without sessions ends."""
IDLE_MINUTES = 30.0
CLOSING_S = 15.0
"""Time limit, in seconds, for an older daemon's answer. A daemon that does not end within twice this time is ended by
force."""
_POLL_S = 0.05
logger = logging.getLogger("sidecar.daemon")


def run_daemon(place: Endpoint, env: Mapping[str, str], ready_fd: int | None) -> int:
    """Serves until the daemon ends, which ends the process. Returns an exit status only if it does not serve.

    With `ready_fd` it runs in the background, and writes one JSON line to `ready_fd` when the daemon accepts sessions,
    when another daemon already does, or when it cannot start. Without it the daemon runs in the foreground and raises
    SidecarError.
    """
    if ready_fd is not None:
        _detach()
    try:
        listener = _up(place, env, ready_fd)
    except (SidecarError, OSError) as error:
        if ready_fd is None:
            raise
        _report(ready_fd, {"error": getattr(error, "message", str(error))})
        return getattr(error, "exit_status", 1)
    if listener is None:
        return 0
    return _serve(place, env, *listener)


def _up(place: Endpoint, env: Mapping[str, str], ready_fd: int | None) -> tuple[LockFile, socket.socket, float] | None:
    """Returns the lock, the listening socket and the idle time in seconds; None if another daemon already runs."""
    idle_s = _idle_seconds(env)
    private_folder(place.folder)
    lock = LockFile(place.lock)
    if not _take(lock, place, 2 * patience(env)):
        _report(ready_fd, {"ok": True})
        return None
    _log(place, quiet=ready_fd is not None)
    os.chdir(place.home)
    listener, path = _listen(place, env)
    record = {"pid": os.getpid(), "socket": str(path), "since": datetime.now(UTC).isoformat(timespec="seconds")}
    lock.write(json.dumps(record))
    _report(ready_fd, {"ok": True})
    logger.info("version %s serves %s at %s", place.version, place.home, path)
    return lock, listener, idle_s


def _serve(place: Endpoint, env: Mapping[str, str], lock: LockFile, listener: socket.socket, idle_s: float) -> int:
    """Serves sessions until the daemon ends, then ends the process. Never returns."""
    import asyncio

    from sidecar.daemon.handlers import Handlers
    from sidecar.daemon.server import DaemonServer
    from sidecar.tools.assemble import make_sessions
    from sidecar.tools.shared import SharedEngine

    shared = SharedEngine(daemon_environment(env))
    doors = Handlers(shared, make_sessions(env))
    path = Path(listener.getsockname())

    backstop = threading.Timer(2 * CLOSING_S, os._exit, (1,))
    backstop.daemon = True

    def lock_out() -> None:
        backstop.start()
        listener.close()
        with contextlib.suppress(OSError, SidecarError):
            lock.write("")
            path.unlink()

    def facts() -> dict[str, object]:
        return {"version": place.version, "home": str(place.home), "socket": str(path), "log": str(log_file(place))}

    kinds = {"lsp": doors.lsp, "mcp": doors.mcp, "call": doors.call, "rest": doors.rest}
    hub = DaemonServer(kinds, facts, idle_s, lock_out, lock.is_current)
    threading.Thread(target=retire_older, args=(place,), name="sidecar-upgrade", daemon=True).start()
    try:
        asyncio.run(hub.serve(listener))
        shared.close()
    finally:
        logger.info("gone")
        lock.release()
    # The lock is released, so another daemon may already run; threads of the engine must not keep this process alive.
    logging.shutdown()
    os._exit(0)


def retire_older(place: Endpoint) -> None:
    """Asks daemons of older versions to end, because this daemon needs their indexes."""
    for version, record in place.others():
        if _order(version) >= _order(place.version):
            continue
        connection = connect(record)
        if connection is None:
            continue
        with connection, contextlib.suppress(OSError, SidecarError, ValueError):
            greet(connection, Handshake("control", pid=os.getpid()), CLOSING_S)
            connection.sendall(b"stop\n")
            logger.info("version %s was asked to stop", version)


def _order(version: str) -> tuple[int, ...]:
    """Returns a version as numbers that can be compared."""
    return tuple(int(part) if part.isdecimal() else 0 for part in version.replace("-", ".").split("."))


def log_file(place: Endpoint) -> Path:
    """Returns the path of the daemon's log."""
    return place.home / "logs" / "daemon.log"


def _detach() -> None:
    """Continues in a child process that leads its own session, and ends the parent."""
    if os.fork():
        os._exit(0)
    os.setsid()


def _take(lock: LockFile, place: Endpoint, patience_s: float) -> bool:
    """Takes the daemon's lock. Returns False if another daemon accepts sessions.

    Waits for a daemon that is ending. Raises IndexLocked if that takes longer than `patience_s`.
    """
    deadline = time.monotonic() + patience_s
    while not lock.take():
        record = place.record()
        other = connect(record)
        if other is not None:
            other.close()
            return False
        if time.monotonic() > deadline:
            pid = f"process {record.pid}" if record else "a process"
            raise IndexLocked(f"{pid} holds {shown.place(place.lock)} but cannot be reached. End it and try again.")
        time.sleep(_POLL_S)
    return True


def _listen(place: Endpoint, env: Mapping[str, str]) -> tuple[socket.socket, Path]:
    """Returns a socket that listens at the first usable path, and that path."""
    for path in place.sockets(env):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            path.unlink(missing_ok=True)
            listener.bind(str(path))
            path.chmod(0o600)
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            logger.warning("no socket at %s: %s", path, error)
            continue
        return listener, path
    raise AssertionError("sockets() ends by raising")


def _idle_seconds(env: Mapping[str, str]) -> float:
    text = env.get(IDLE, "")
    try:
        minutes = float(text) if text else IDLE_MINUTES
        if not 0 < minutes < 1e6:
            raise ValueError
    except ValueError:
        raise InvalidParams(f"{IDLE} takes a number of minutes, not {shown.quoted(text)}.") from None
    return minutes * 60


def _log(place: Endpoint, *, quiet: bool) -> None:
    """Logs to the bounded file. With `quiet`, printed text goes there too, since nobody would see it."""
    path = log_file(place)
    private_folder(path.parent)
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    handler = LateFile(path, logging.INFO)
    handler.addFilter(lambda record: record.name.startswith("sidecar") or record.levelno >= logging.WARNING)
    root.addHandler(handler)
    log_to_file()  # error messages name that file, in whichever process the error occurs
    if quiet:
        _take_prints()
        faulthandler.enable(open_new(path.parent / "daemon-crash.log"))


def _take_prints() -> None:
    """Sends everything that is written to stdout and stderr to the log."""
    reading, writing = os.pipe()
    os.dup2(writing, 1)
    os.dup2(writing, 2)
    os.close(writing)
    sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115

    def copy() -> None:
        with open(reading, encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
            for line in lines:
                logger.info("printed: %s", line.rstrip()[:1000])

    threading.Thread(target=copy, name="sidecar-prints", daemon=True).start()


def _report(ready_fd: int | None, value: Mapping[str, object]) -> None:
    if ready_fd is None:
        return
    with contextlib.suppress(OSError):
        os.write(ready_fd, json.dumps(value).encode() + b"\n")
        os.close(ready_fd)
