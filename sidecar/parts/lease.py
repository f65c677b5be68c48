"""The right to use one index directory: an exclusive lock of the operating system on its file `lock`.

Two processes that write one Chroma store lose vectors for good, so a process without the lease opens nothing. The
system releases the lock when its holder dies, however it dies. The file's content is for people; only the lock counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sidecar.errors import DiskFull, IndexLocked, PermissionDenied, without_locks

_POLL_S = 0.05
_LOCKED_BYTE = 1 << 30  # far behind the text, because Windows forbids reading a locked byte


class Lease:
    """Exclusive use of an index directory, from `acquire` to `release`. Not thread-safe.

    A second `Lease` for the same directory is refused even in the same process.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / "lock"
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lease."""
        return self._fd is not None

    def acquire(self, timeout: float = 0) -> None:
        """Takes the lease, waiting up to `timeout` seconds; makes the directory if it does not exist.

        Raises IndexLocked (facts: `pid` and `since` of the holder, if known), PermissionDenied, DiskFull.
        """
        if self._fd is not None:
            return
        deadline = time.monotonic() + timeout
        while (fd := self._try()) is None:
            if time.monotonic() >= deadline:
                raise self._locked()
            time.sleep(_POLL_S)
        self._fd = fd

    def release(self) -> None:
        """Gives the lease up. The file stays: if it were removed, two processes could each lock a different file."""
        fd, self._fd = self._fd, None
        if fd is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, 0)
            os.close(fd)

    def __enter__(self) -> Lease:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _try(self) -> int | None:
        """The descriptor of the locked file; None when another process, or another `Lease`, holds the lock."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self._path.is_dir():
                self._path.rmdir()  # an empty folder is nobody's lock
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as error:
            raise PermissionDenied(
                f"{self._path} cannot be opened for writing: {error.strerror}. An index needs a folder that "
                "you may write to; SIDECAR_HOME can name another one."
            ) from error
        try:
            taken = _lock(fd) and self._is_current(fd)
        except OSError as error:
            os.close(fd)
            raise without_locks(self._path, error) from error
        if not taken:
            os.close(fd)
            return None
        try:
            self._sign(fd)
        except OSError as error:
            os.close(fd)
            raise DiskFull(f"{self._path} could not be written: {error.strerror}.") from error
        return fd

    def _is_current(self, fd: int) -> bool:
        """False when the file was deleted together with its index between opening and locking it."""
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(fd), self._path.stat())
        return False

    def _sign(self, fd: int) -> None:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        os.ftruncate(fd, 0)
        os.write(fd, json.dumps({"pid": os.getpid(), "since": since}).encode())

    def _locked(self) -> IndexLocked:
        holder = self._holder()
        pid = holder.get("pid")
        if pid == os.getpid():
            return IndexLocked("This process already has it open.", **holder)
        who = f"Process {pid} has had it open since {holder.get('since')}" if pid else "Another process has it open"
        return IndexLocked(f"{who}; use that one, or end it and try again.", **holder)

    def _holder(self) -> dict[str, Any]:
        try:
            holder = json.loads(self._path.read_text(encoding="utf-8"))
            return {"pid": int(holder["pid"]), "since": str(holder["since"])}
        except (OSError, ValueError, KeyError, TypeError):
            return {}


def _lock(fd: int) -> bool:
    """Locks the file; False when somebody else holds the lock. Raises OSError when the file system has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
            os.lseek(fd, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # the latter on Windows
        return False
    return True
