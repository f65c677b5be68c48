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

from sidecar import shown
from sidecar.errors import IndexLocked, SidecarError, disk_error
from sidecar.lock_file import LockFile
from sidecar.processes import is_running

DAEMON_COMMAND = "sidecar daemon"
_POLL_S = 0.05
_LAST_S = 5.0
"""A dead holder may leave a child that is about to start another program: it has the lock until that has started."""


def own_command() -> str:
    """What this process was started as, without its parameters, which may be private: `sidecar index`.

    A word after an option may be the option's value, so it is not taken for the command.
    """
    program, *words = sys.argv or [""]
    name = Path(program).stem
    if name == "__main__":
        name = Path(program).parent.name
    if "--stdio" in words:
        return f"{name} --stdio"
    return f"{name} {words[0]}" if words and words[0].isidentifier() else name


class Lease:
    """Exclusive use of an index directory, from `acquire` to `release`. Not thread-safe, except for `is_current`,
    `announce` and `announced`.

    A second `Lease` for the same directory is refused even in the same process.
    """

    def __init__(self, directory: Path) -> None:
        self._file = LockFile(directory / "lock")
        self._since = ""

    @property
    def held(self) -> bool:
        """Whether this object holds the lease."""
        return self._file.held

    def is_current(self) -> bool:
        """Whether this object holds the lease and the locked file still lies in the directory. If not, somebody has
        removed the directory, and another process may have the lease of a new one."""
        return self._file.is_current()

    def acquire(self, timeout: float = 0) -> None:
        """Takes the lease, waiting up to `timeout` seconds; makes the directory if it does not exist.

        If the holder is dead, it waits up to 5 seconds longer for the system to release the lock.

        Raises IndexLocked (facts: `pid`, `since` and `command` of the holder, if known), PermissionDenied, DiskFull.
        """
        if self.held:
            return
        deadline = time.monotonic() + timeout
        while not self._try():
            late_s = time.monotonic() - deadline
            if late_s >= 0 and (late_s >= _LAST_S or not self._is_holder_dead()):
                raise self._locked()
            time.sleep(_POLL_S)

    def release(self) -> None:
        """Gives the lease up and takes the holder's name out of the file."""
        if self.held:
            with contextlib.suppress(SidecarError):
                self._file.write("")
            self._file.release()

    def announce(self, job: str) -> None:
        """Writes beside the holder's name what it is doing, for other processes; empty when it is done."""
        if self.held:
            with contextlib.suppress(SidecarError):
                self._write(job)

    def announced(self) -> str:
        """What the holder is doing, by `announce`; empty if it did not say. Reads one small file."""
        return str(self._read().get("job", ""))

    def _write(self, job: str = "") -> None:
        holder = {"pid": os.getpid(), "since": self._since, "command": own_command()}
        self._file.write(json.dumps({**holder, "job": job} if job else holder))

    def __enter__(self) -> Lease:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _try(self) -> bool:
        """Takes the lock unless another process, or another `Lease`, holds it."""
        try:
            self._file.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self._file.path.is_dir():
                self._file.path.rmdir()  # an empty folder is nobody's lock
        except OSError as error:
            raise disk_error(error, self._file.path) from error
        if not self._file.take():
            return False
        try:
            self._since = datetime.now(UTC).isoformat(timespec="seconds")
            self._write()
        except SidecarError:
            self._file.release()
            raise
        return True

    def _locked(self) -> IndexLocked:
        holder = self._holder()
        pid = holder.get("pid")
        if pid == os.getpid():
            return IndexLocked("This process already has it open.", **holder)
        if not pid:
            return IndexLocked("Another process has it open; use that one, or end it and try again.")
        command = holder.get("command", "")
        name = f"Process {pid} ({shown.short(command)})" if command else f"Process {pid}"
        ending = "`sidecar daemon stop` ends it" if command == DAEMON_COMMAND else f"`kill {pid}` ends it"
        return IndexLocked(f"{name} has had it open since {holder['since']}; use that one, or {ending}.", **holder)

    def _is_holder_dead(self) -> bool:
        pid = self._holder().get("pid")
        # On Windows no child inherits a lock.
        return pid is not None and sys.platform != "win32" and not is_running(pid)

    def _holder(self) -> dict[str, Any]:
        try:
            holder = self._read()
            command = {"command": str(holder["command"])} if holder.get("command") else {}
            return {"pid": int(holder["pid"]), "since": str(holder["since"]), **command}
        except (ValueError, KeyError, TypeError):
            return {}

    def _read(self) -> dict[str, Any]:
        try:
            holder = json.loads(self._file.path.read_bytes())
        except (OSError, ValueError):
            return {}
        return holder if isinstance(holder, dict) else {}
