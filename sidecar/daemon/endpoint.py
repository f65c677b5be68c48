"""Where the daemon of one data folder and one version is found: its lock, its socket, and what it wrote about itself.

The lock and the record in it lie in the data folder, so that every process that means this folder finds them whatever
else its environment lacks (agents start their servers with hardly any). The lock alone says whether a daemon lives: the
system drops it with its holder. The record is how others find the socket, which may lie elsewhere: a socket's path is
short. Standard library only, and light: every pipe imports this.
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
"""Bytes: systems take 104 to 108, with the end mark."""
_CONNECT_S = 5.0


class Record(NamedTuple):
    """What a daemon says about itself once it accepts sessions. `pid` is for people and for `daemon stop`."""

    pid: int
    socket: str
    since: str


class Endpoint(NamedTuple):
    """`home` is the data folder; `version` keeps clients and daemons of different versions apart."""

    home: Path
    version: str

    @property
    def folder(self) -> Path:
        return self.home / "run"

    @property
    def lock(self) -> Path:
        """Held by the daemon all its life. A home on a network file system serves several machines: one daemon each."""
        return self.folder / f"daemon-{self.version}-{os.uname().nodename[:40]}.lock"

    @property
    def starting(self) -> Path:
        """Held by who starts a daemon."""
        return self.lock.with_suffix(".start")

    def record(self) -> Record | None:
        """None where no daemon accepts sessions: there is none, or it is on its way up or out."""
        return read_record(self.lock)

    def others(self) -> list[tuple[str, Record]]:
        """Records of this machine's daemons of other versions, dead ones too, with their versions."""
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
        """Where the socket may lie, the best place first; the folders are made. Raises PermissionDenied at the end."""
        import hashlib

        name = f"{self.version}-{hashlib.sha256(os.fsencode(self.home)).hexdigest()[:12]}.sock"
        problems: list[str] = []
        for folder in self._folders(env):
            if len(os.fsencode(folder / name)) > LONGEST_SOCKET_PATH:
                problems.append(f"{folder} has too long a name")
                continue
            try:
                private_folder(folder)
            except SidecarError as error:
                problems.append(error.detail)
                continue
            yield folder / name
        raise PermissionDenied(f"There is no folder for the daemon's socket: {'; '.join(problems)}")

    def _folders(self, env: Mapping[str, str]) -> Iterator[Path]:
        runtime = env.get("XDG_RUNTIME_DIR", "")
        if runtime.startswith("/") and _is_ours(runtime):
            yield Path(runtime) / "sidecar"
        yield self.folder
        yield Path(env.get("TMPDIR") or "/tmp") / f"sidecar-{os.geteuid()}"


def read_record(lock: Path) -> Record | None:
    try:
        told: Any = json.loads(lock.read_bytes())
        return Record(int(told["pid"]), str(told["socket"]), str(told["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def connect(record: Record | None) -> socket.socket | None:
    """A connection to the daemon of this record; None where nobody, or somebody else, listens there."""
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
    """Whether the process at the other end is the same user's; where the system cannot tell, the folder must do."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    told = connection.getsockopt(socket.SOL_SOCKET, option, 12)
    return int.from_bytes(told[4:8], "little") == os.geteuid()


def private_folder(folder: Path) -> None:
    """Makes it, for its owner only. Raises PermissionDenied and DiskFull, each with the one sentence to show."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise PermissionDenied(f"{folder} is not a folder of yours.")
        if stat.S_IMODE(found.st_mode) & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise disk_error(error, folder) from error


class Lock:
    """An exclusive lock of the operating system on a file, from `take` until `release` or the process's end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def take(self, *, wait: bool = False) -> bool:
        """False when somebody else has it and `wait` is off. Raises PermissionDenied and DiskFull."""
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
        """What the file says from now on. Raises DiskFull and PermissionDenied."""
        assert self._fd is not None
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, text.encode(), 0)
        except OSError as error:
            raise disk_error(error, self._path) from error

    def is_current(self) -> bool:
        """Whether the file is still there: without it somebody else may have another one locked."""
        with contextlib.suppress(OSError):
            return self._fd is not None and os.path.samestat(os.fstat(self._fd), self._path.stat())
        return False

    def release(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _open(self) -> int:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise disk_error(error, self._path) from error

    def _kept(self, fd: int) -> int | None:
        """None when the file was deleted between opening and locking it: somebody else may have another one locked."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(fd), self._path.stat()):
                return fd
        os.close(fd)
        return None


def is_locked(path: Path) -> bool:
    """Whether a daemon lives there, accepting sessions or not."""
    if not path.exists():
        return False
    lock = Lock(path)
    free = lock.take()
    lock.release()
    return not free


def disk_error(error: OSError, path: Path) -> SidecarError:
    import errno

    kind = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else PermissionDenied
    return kind(f"{path} cannot be written: {error.strerror}.")


def _is_ours(folder: str) -> bool:
    with contextlib.suppress(OSError):
        found = os.lstat(folder)
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return False
