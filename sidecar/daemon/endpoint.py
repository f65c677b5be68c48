"""Where the daemon of one data folder and one version is found: its lock, its socket and its record.

The lock, and the record in it, are in the data folder. Every process that uses this folder finds them there, whatever
its environment lacks (agents start their servers with very few variables). Only the lock says whether a daemon lives:
the system releases it when its holder ends. The record says where the socket is, which may be elsewhere because the
path of a socket must be short. Every pipe imports this module, so it imports no library.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from sidecar import shown
from sidecar.errors import PermissionDenied, SidecarError, disk_error
from sidecar.processes import pid_in
from sidecar.small_files import read_record as read_small_record

LONGEST_SOCKET_PATH = 100
"""In bytes. Systems allow 104 to 108 with the terminating zero."""
_CONNECT_S = 5.0
_MAX_BYTES = 64 * 1024


class Record(NamedTuple):
    """What a daemon writes once it accepts sessions. `pid` is for people and for `daemon stop`."""

    pid: int
    socket: str
    since: str


class Endpoint(NamedTuple):
    """The place of one daemon. `home` is the data folder; `version` keeps clients and daemons of different versions
    apart."""

    home: Path
    version: str

    @property
    def folder(self) -> Path:
        """The folder of the locks, which may also contain the socket."""
        return self.home / "run"

    @property
    def lock(self) -> Path:
        """The lock file that the daemon holds all its life.

        Its name contains the machine's: several machines may share a data folder on a network file system, each with
        its own daemon.
        """
        return self.folder / f"daemon-{self.version}-{os.uname().nodename[:40]}.lock"

    @property
    def starting(self) -> Path:
        """The lock file of the process that starts a daemon."""
        return self.lock.with_suffix(".start")

    def record(self) -> Record | None:
        """Returns the daemon's record.

        Returns None if no daemon accepts sessions, because none runs or it is starting or ending.
        """
        return read_record(self.lock)

    def others(self) -> list[tuple[str, Record]]:
        """Returns the versions and records of this machine's daemons of other versions, including dead ones."""
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
        """Yields paths for the socket, the best one first, and makes their folders.

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
        temporary = env.get("TMPDIR", "")
        yield Path(temporary if temporary.startswith("/") else "/tmp") / f"sidecar-{os.geteuid()}"


def read_record(lock: Path) -> Record | None:
    """Returns the record in this lock file; None if the file is missing or holds no record."""
    stored = read_small_record(lock, _MAX_BYTES)
    pid, path, since = pid_in(stored), stored.get("socket"), stored.get("since")
    return Record(pid, path, since) if pid and isinstance(path, str) and isinstance(since, str) else None


def connect(record: Record | None) -> socket.socket | None:
    """Returns a connection to the daemon of this record.

    Returns None if `record` is None, and if nothing or another user's process listens at its socket. Raises OSError if
    this process has no file descriptor left.
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
    except (OSError, ValueError):  # ValueError: no file can have this name
        connection.close()
        return None
    return connection


def is_own_peer(connection: socket.socket) -> bool:
    """Whether the process at the other end belongs to the same user.

    If the system cannot say, returns True: only this user can enter the socket's folder.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, option, 12)
    return int.from_bytes(credentials[4:8], "little") == os.geteuid()


def private_folder(folder: Path) -> None:
    """Makes the folder with access for its owner only.

    Raises PermissionDenied and DiskFull, each with the sentence to show to the user.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise PermissionDenied(f"{shown.place(folder)} is not a folder that belongs to you.")
        if stat.S_IMODE(found.st_mode) & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise disk_error(error, folder) from error


def _is_ours(folder: str) -> bool:
    with contextlib.suppress(OSError):
        found = os.lstat(folder)
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return False
