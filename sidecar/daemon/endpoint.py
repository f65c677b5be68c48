"""Where the daemon of one data folder and one version is found: its lock, its socket and its record.

The lock, and the record in it, lie in the data folder. Every process that uses this folder finds them there, whatever
its environment lacks (agents start their servers with hardly any variables). Only the lock says whether a daemon lives:
the system releases it when its holder ends. The record says where the socket is, which may lie elsewhere because the
path of a socket must be short. Every pipe imports this module, so it imports no library.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sidecar.errors import DiskFull, PermissionDenied, SidecarError, without_locks

LONGEST_SOCKET_PATH = 100
"""Bytes. Systems allow 104 to 108 with the terminating zero."""
_CONNECT_S = 5.0


class Record(NamedTuple):
    """What a daemon writes once it accepts sessions. `pid` is for people and for `daemon stop`."""

    pid: int
    socket: str
    since: str


class Endpoint(NamedTuple):
    """`home` is the data folder; `version` keeps clients and daemons of different versions apart."""

    home: Path
    version: str

    @property
    def folder(self) -> Path:
        """The folder of the locks, which may hold the socket too."""
        return self.home / "run"

    @property
    def lock(self) -> Path:
        """The lock file that the daemon holds all its life.

        It names the machine: a data folder on a network file system may serve several, with one daemon each.
        """
        return self.folder / f"daemon-{self.version}-{os.uname().nodename[:40]}.lock"

    @property
    def starting(self) -> Path:
        """The lock file of the process that starts a daemon."""
        return self.lock.with_suffix(".start")

    def record(self) -> Record | None:
        """Returns the daemon's record.

        Returns None when no daemon accepts sessions, because none runs or it is starting or leaving.
        """
        return read_record(self.lock)

    def others(self) -> list[tuple[str, Record]]:
        """Returns versions and records of this machine's daemons of other versions, including dead ones."""
        found: list[tuple[str, Record]] = []
        ending = f"-{os.uname().nodename[:40]}.lock"
        with contextlib.suppress(OSError):
            for path in sorted(self.folder.glob(f"daemon-*{ending}")):
                version = path.name.removeprefix("daemon-").removesuffix(ending)
                record = read_record(path)
                if version != self.version and record is not None:
                    found.append((version, record))
        return found

    def sockets(self, env: Mapping[str, str]) -> Iterator[Path]:
        """Yields paths where the socket may lie, the best one first, and makes their folders.

        Raises PermissionDenied when no path is left.
        """
        import hashlib

        name = f"{self.version}-{hashlib.sha256(os.fsencode(self.home)).hexdigest()[:12]}.sock"
        problems: list[str] = []
        for folder in self._folders(env):
            if len(os.fsencode(folder / name)) > LONGEST_SOCKET_PATH:
                problems.append(f"the name of {folder} is too long")
                continue
            try:
                private_folder(folder)
            except SidecarError as error:
                problems.append(error.detail)
                continue
            yield folder / name
        raise PermissionDenied(f"No folder can hold the daemon's socket: {'; '.join(problems)}")

    def _folders(self, env: Mapping[str, str]) -> Iterator[Path]:
        runtime = env.get("XDG_RUNTIME_DIR", "")
        if runtime.startswith("/") and _is_ours(runtime):
            yield Path(runtime) / "sidecar"
        yield self.folder
        yield Path(env.get("TMPDIR") or "/tmp") / f"sidecar-{os.geteuid()}"


def read_record(lock: Path) -> Record | None:
    """Returns the record in this lock file; None when the file is missing or holds no record."""
    try:
        told: Any = json.loads(lock.read_bytes())
        return Record(int(told["pid"]), str(told["socket"]), str(told["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def connect(record: Record | None) -> socket.socket | None:
    """Returns a connection to the daemon of this record.

    Returns None when `record` is None, and when nothing or another user's process listens at its socket. Raises OSError
    when this process has no file descriptor left.
    """
    if record is None:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(_CONNECT_S)
        connection.connect(record.socket)
        if not is_own_peer(connection):
            raise OSError
        connection.settimeout(None)
    except OSError:
        connection.close()
        return None
    return connection


def is_own_peer(connection: socket.socket) -> bool:
    """Whether the process at the other end belongs to the same user.

    Where the system cannot say, returns True: only this user can enter the socket's folder.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    told = connection.getsockopt(socket.SOL_SOCKET, option, 12)
    return int.from_bytes(told[4:8], "little") == os.geteuid()


def private_folder(folder: Path) -> None:
    """Makes the folder with access for its owner only.

    Raises PermissionDenied and DiskFull, each with the sentence to show to the user.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise PermissionDenied(f"{folder} is not a folder that belongs to you.")
        if stat.S_IMODE(found.st_mode) & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise disk_error(error, folder) from error


class Lock:
    """An exclusive lock of the operating system on a file, held from `take` until `release` or the process's end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def take(self, *, wait: bool = False) -> bool:
        """Takes the lock. Returns False when another process holds it and `wait` is off.

        Raises PermissionDenied and DiskFull.
        """
        import fcntl

        private_folder(self._path.parent)
        while self._fd is None:
            fd = self._open()
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                os.close(fd)
                return False
            except OSError as error:
                os.close(fd)
                raise without_locks(self._path, error) from error
            self._fd = self._kept(fd)
        return True

    def write(self, text: str) -> None:
        """Replaces what the locked file says. Raises DiskFull and PermissionDenied."""
        assert self._fd is not None
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, text.encode(), 0)
        except OSError as error:
            raise disk_error(error, self._path) from error

    def is_current(self) -> bool:
        """Whether the locked file still lies at its path. If not, another process may hold a new file's lock."""
        with contextlib.suppress(OSError):
            return self._fd is not None and os.path.samestat(os.fstat(self._fd), self._path.stat())
        return False

    def release(self) -> None:
        """Releases the lock if it is held."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _open(self) -> int:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise disk_error(error, self._path) from error

    def _kept(self, fd: int) -> int | None:
        """Returns the descriptor, or None when the file was replaced or deleted before it was locked."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(fd), self._path.stat()):
                return fd
        os.close(fd)
        return None


def is_locked(path: Path) -> bool:
    """Whether a daemon holds this lock, whether or not it accepts sessions."""
    if not path.exists():
        return False
    lock = Lock(path)
    free = lock.take()
    lock.release()
    return not free


def disk_error(error: OSError, path: Path) -> SidecarError:
    """Returns DiskFull or PermissionDenied for a failed write to `path`."""
    import errno

    kind = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else PermissionDenied
    return kind(f"{path} cannot be written: {error.strerror}.")


def _is_ours(folder: str) -> bool:
    with contextlib.suppress(OSError):
        found = os.lstat(folder)
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return False
