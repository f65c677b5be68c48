"""The lease: the right to write one index directory, an exclusive lock of the operating system on its file `lock`.

Two processes that write one Chroma store lose vectors for good, so a process without the lease does not open the store.
The system releases the lock when its holder dies, in whatever way. The text in the file is information only: who the
holder is, and what it is doing.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sidecar import shown
from sidecar.errors import IndexLocked, SidecarError, disk_error
from sidecar.lock_file import LockFile
from sidecar.processes import is_running, pid_in
from sidecar.small_files import read_record

DAEMON_COMMAND = "sidecar daemon"
_POLL_S = 0.05
_MAX_BYTES = 64 * 1024


def own_command() -> str:
    """Returns the command of this process without its parameters, which may be private: `sidecar index`.

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

    A second `Lease` for the same directory is refused even in the same process. `patience_s`: how many seconds longer
    than its timeout `acquire` waits for a lock whose holder is dead or has not written its name. `pause` waits for the
    given number of seconds.
    """

    def __init__(self, directory: Path, patience_s: float = 5.0, pause: Callable[[float], None] = time.sleep) -> None:
        self._file = LockFile(directory / "lock", replaces_folders=True)
        self._patience_s = patience_s
        self._pause = pause
        self._since = ""

    @property
    def held(self) -> bool:
        """Whether this object holds the lease."""
        return self._file.held

    def is_current(self) -> bool:
        """Whether this object holds the lease and the locked file is still in the directory. If it is not, the
        directory has been removed, and another process may hold the lease of a new one."""
        return self._file.is_current()

    def acquire(self, timeout: float = 0) -> None:
        """Takes the lease, waiting up to `timeout` seconds. Creates the directory if it does not exist.

        It waits up to `patience_s` longer in two cases. If the holder is dead, a child of it may have the lock until
        that has started another program. If the holder has not written its name, it has just taken the lock or is about
        to release it.

        Raises IndexLocked (facts: `pid`, `since` and `command` of the holder, if known), PermissionDenied, DiskFull.
        """
        if self.held:
            return
        deadline = time.monotonic() + timeout
        while not self._try():
            late_s = time.monotonic() - deadline
            holder = self._holder()
            if late_s >= 0 and (late_s >= self._patience_s or (holder and not _is_dead(holder))):
                raise _locked(holder)
            self._pause(_POLL_S)

    def release(self) -> None:
        """Releases the lease and removes the holder's name from the file."""
        if self.held:
            with contextlib.suppress(SidecarError):
                self._file.write("")
            self._file.release()

    def announce(self, job: str) -> None:
        """Writes into the file, for other processes, which job the holder is doing; empty when it is done."""
        if self.held:
            with contextlib.suppress(SidecarError):
                self._write(job)

    def announced(self) -> str:
        """Returns the job that the holder has announced; empty if there is none. Reads one small file."""
        job = self._read().get("job")
        return shown.short(job) if isinstance(job, str) else ""

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

    def _holder(self) -> dict[str, Any]:
        holder = self._read()
        pid, since, command = pid_in(holder), holder.get("since"), holder.get("command")
        if not pid or not isinstance(since, str):
            return {}
        return {"pid": pid, "since": since, **({"command": command} if command and isinstance(command, str) else {})}

    def _read(self) -> dict[str, Any]:
        return read_record(self._file.path, _MAX_BYTES)


def _locked(holder: dict[str, Any]) -> IndexLocked:
    pid = holder.get("pid")
    if pid == os.getpid():
        return IndexLocked("This process already has it open.", **holder)
    if not pid:
        return IndexLocked("Another process has it open; use that one, or end it and try again.")
    command = holder.get("command", "")
    name = f"Process {pid} ({shown.short(command)})" if command else f"Process {pid}"
    ending = "`sidecar daemon stop` ends it" if command == DAEMON_COMMAND else f"`kill {pid}` ends it"
    return IndexLocked(
        f"{name} has had it open since {shown.short(holder['since'])}; use that one, or {ending}.", **holder
    )


def _is_dead(holder: dict[str, Any]) -> bool:
    # On Windows no child inherits a lock.
    return sys.platform != "win32" and not is_running(holder["pid"])
