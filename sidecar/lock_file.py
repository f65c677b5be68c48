"""A file that one process at a time can lock, with a text in it that says which process holds the lock.

The lock is the operating system's: it ends with its holder, however that process dies. The text alone proves nothing.

The library `filelock` is not used, for three reasons. A client's pipe that starts the daemon takes a lock, and
importing the library would cost it 30 ms and 9 MB, which nearly doubles the pipe. On Windows the library locks the
first byte, so nobody could read the text. And it does not notice that a file was replaced after it was opened, so that
check, the text and the errors would have to be written here anyway.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from sidecar.errors import disk_error, without_locks
from sidecar.small_files import A_FOLDER, remove, what_else

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_LONGEST_TEXT = 64 * 1024  # of what a holder before has written; the rest of a larger file is cut off
_LOCKED_BYTE = 1 << 30  # far after the text, because Windows forbids reading a locked byte


class LockFile:
    """An exclusive lock, held from `take` until `release` or the end of the process. Not thread-safe.

    A second object for the same path is refused even in the same process.
    """

    def __init__(self, path: Path, *, replaces_folders: bool = False) -> None:
        """If `replaces_folders`, a folder at the path is removed with all that is in it, which is right for a lock
        among files that can all be made again."""
        self.path = path
        self._stays = "" if replaces_folders else A_FOLDER
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._fd is not None

    def take(self) -> bool:
        """Takes the lock unless another holder has it, without waiting. Returns whether this object holds it.

        Creates the file, but not its folder. Raises PermissionDenied, also if the file system has no locks, and
        DiskFull.
        """
        while self._fd is None:
            fd = self._open()
            try:
                if not self._lock(fd):
                    return False
                # The file may have been replaced or deleted before it was locked.
                if self._is_at_path(fd):
                    self._fd, fd = fd, -1
            finally:
                if fd >= 0:
                    os.close(fd)
        return True

    def write(self, text: str) -> None:
        """Replaces the text in the file. The lock must be held. Raises PermissionDenied and DiskFull.

        The file is never empty in between: a reader gets the former text or the new one, which may be followed by
        spaces.
        """
        assert self._fd is not None
        packed = text.encode()
        try:
            os.lseek(self._fd, 0, os.SEEK_SET)
            os.write(self._fd, packed.ljust(min(os.fstat(self._fd).st_size, _LONGEST_TEXT)))
            os.ftruncate(self._fd, len(packed))
        except OSError as error:
            raise disk_error(error, self.path) from error

    def is_current(self) -> bool:
        """Whether the locked file is still at its path. If not, another process may hold the lock of a new file."""
        return self._fd is not None and self._is_at_path(self._fd)

    def release(self) -> None:
        """Releases the lock if it is held. The file stays: if it were removed, two processes could lock two different
        files."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _open(self) -> int:
        """Opens the file. What else is at its path, which cannot be a lock, is removed first."""
        try:
            if what_else(self.path, follow_links=False) not in ("", self._stays):
                remove(self.path)
            return os.open(self.path, _FLAGS, 0o600)
        except OSError as error:
            raise disk_error(error, self.path) from error

    def _lock(self, fd: int) -> bool:
        """Locks the file. Returns False if another holder has the lock."""
        try:
            if sys.platform == "win32":
                import msvcrt

                os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
                msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # the latter on Windows
            return False
        except OSError as error:
            raise without_locks(self.path, error) from error
        return True

    def _is_at_path(self, fd: int) -> bool:
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(fd), self.path.lstat())
        return False


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock. Raises the errors of `LockFile.take`."""
    if not path.exists():
        return False
    lock = LockFile(path)
    free = lock.take()
    lock.release()
    return not free
