"""The right to use one index directory: an exclusive lock of the operating system on its file `lock`.

Two processes with one Chroma store lose vectors for good, so whoever lacks the lease opens nothing. The system drops
the lock when its holder dies, however it dies. What is written in the file is for people; the lock alone counts.
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
_LOCKED_BYTE = 1 << 30  # Windows forbids reading a locked byte: lock one far behind the text


class Lease:
    """Exclusive use of an index directory, from `acquire` to `release`. Not for several threads at once.

    A second object is refused in the same process as well.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / "lock"
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        return self._fd is not None

    def acquire(self, timeout: float = 0) -> None:
        """Takes the lease, waiting up to `timeout` seconds; makes the directory where there is none.

        Raises IndexLocked (facts: `pid`, `since` of the holder where known), PermissionDenied, DiskFull.
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
        """Gives it up. The file stays, because removing it would let two others hold one lock each."""
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
        """The locked file, or None when somebody else has it."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self._path.is_dir():
                self._path.rmdir()  # nobody's lock
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as error:
            raise PermissionDenied(
                f"{self._path} cannot be opened for writing: {error.strerror}. An index needs a folder of its own that "
                "you may write to; SIDECAR_HOME moves it elsewhere."
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
        """False when the file was deleted, with its index, between opening and locking it."""
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
            return IndexLocked("This very process has it open already.", **holder)
        who = f"Process {pid} has had it open since {holder.get('since')}" if pid else "Another process has it open"
        return IndexLocked(f"{who}; use that one, or end it and try again.", **holder)

    def _holder(self) -> dict[str, Any]:
        try:
            holder = json.loads(self._path.read_text(encoding="utf-8"))
            return {"pid": int(holder["pid"]), "since": str(holder["since"])}
        except (OSError, ValueError, KeyError, TypeError):
            return {}


def _lock(fd: int) -> bool:
    """False when somebody else has it. Raises OSError where there are no locks."""
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
