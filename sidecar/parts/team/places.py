"""The places that store team snapshots: a folder, or a server that is read by GET and written by plain PUT."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sidecar import shown
from sidecar.errors import DiskFull, PermissionDenied, SidecarError, SnapshotUnusable, disk_error
from sidecar.lock_file import LockFile
from sidecar.parts.data_folder import UNFINISHED
from sidecar.parts.network import Expected, Server, Slowest, Way
from sidecar.parts.team import heads
from sidecar.parts.team.container import MAX_FILE_BYTES, name_of
from sidecar.parts.team.heads import Head, Stored
from sidecar.small_files import open_new, open_to_read, read_small_file

PACE = Slowest(grace_s=10.0, bytes_per_s=20_000, silent_s=10.0)
"""The slowest acceptable server for a download: a slower one would take longer than indexing. A new index waits for it
before it is made from nothing."""
QUICK = Slowest(grace_s=3.0, bytes_per_s=100_000, silent_s=3.0)
"""The slowest acceptable server while a person waits for an answer."""
_ATTEMPTS = 30
_WAIT_S = 60.0
_LATER_S = 2.0
"""How long another job may take between reading a list and storing it, on a server that ignores conditions."""
_READINGS = 6
_BLOCK = 1 << 20

Report = Callable[[int], None]
"""Receives the number of bytes that have arrived."""


class SnapshotPlace(Protocol):
    """A place that stores snapshots. Every method may raise SnapshotUnusable, DiskFull or PermissionDenied."""

    @property
    def name(self) -> str:
        """The name of the place for people: its address or path."""

    def heads(self) -> list[Head]:
        """Returns the snapshots that are stored, newest first; empty if there has never been one."""

    def fetch(self, stored: Stored, target: Path, report: Report) -> None:
        """Copies a file of a snapshot to the file `target`, complete and with the right hash."""

    def put(self, file: Path, head: Head) -> None:
        """Stores a snapshot, then lists it. Entries that others add at the same time stay."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """The value of the header Authorization; or, if that is empty, a sentence that says why the user's is not sent."""

    header: str = ""
    not_sent: str = ""


@contextmanager
def opened(source: str, sign_in: SignIn, setting: str, pace: Slowest = PACE) -> Iterator[SnapshotPlace]:
    """Yields the place that `source` names: an address, or the absolute path of a folder. `setting` is the setting that
    names it."""
    if "://" in source:
        with Server(source, Way(setting, SnapshotUnusable, sign_in.header, pace, unsigned=sign_in.not_sent)) as server:
            yield WebPlace(server)
    else:
        yield FolderPlace(_folder(source, setting))


def _folder(source: str, setting: str) -> Path:
    folder = Path(source)
    if folder.is_absolute():
        return folder
    raise SnapshotUnusable(
        f"{setting} is {shown.reason(source)}; it must be an address that begins with https://, or the absolute path of"
        " a folder."
    )


class FolderPlace:
    """A folder, on this machine or mounted from another one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._list = folder / heads.NAME

    @property
    def name(self) -> str:
        """The folder's path."""
        return str(self._folder)

    def heads(self) -> list[Head]:
        """See `SnapshotPlace.heads`."""
        with _translated(self._list):
            try:
                if self._list.stat().st_size > heads.MAX_BYTES:
                    raise SnapshotUnusable(f"{shown.place(self._list)} is no list of snapshots.")
                return heads.parse(read_small_file(self._list, heads.MAX_BYTES) or b"", shown.place(self._list))
            except (FileNotFoundError, NotADirectoryError):
                return []

    def fetch(self, stored: Stored, target: Path, report: Report) -> None:
        """See `SnapshotPlace.fetch`."""
        source = self._folder / name_of(stored.sha256)
        digest, done = hashlib.sha256(), 0
        with _translated(target):
            try:
                with open_to_read(source) as there, open_new(target) as out:
                    while block := there.read(_BLOCK):
                        done += len(block)
                        if done > stored.size:
                            break
                        digest.update(block)
                        out.write(block)
                        report(done)
            except FileNotFoundError as error:
                raise SnapshotUnusable(f"{shown.place(source)} is listed there, but missing.") from error
        if done != stored.size or digest.hexdigest() != stored.sha256:
            target.unlink(missing_ok=True)
            raise SnapshotUnusable(f"{shown.place(source)} is damaged: it is not the file that its name says.")

    def put(self, file: Path, head: Head) -> None:
        """See `SnapshotPlace.put`."""
        with _translated(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            target = self._folder / name_of(head.sha256)
            if file != target:
                self._replace(target, lambda fresh: shutil.copyfile(file, fresh))
            with self._alone():
                listed = heads.written(heads.with_head(self.heads(), head))
                self._replace(self._list, lambda fresh: fresh.write_bytes(listed))

    def _replace(self, target: Path, write: Callable[[Path], object]) -> None:
        """Writes a file beside the target and moves it there, so that readers see either the old one or the new one."""
        # Machines that share the folder may have equal process ids.
        fresh = target.with_name(f"{UNFINISHED}{secrets.token_hex(8)}")
        try:
            write(fresh)
            with fresh.open("rb") as done:
                os.fsync(done.fileno())
            fresh.replace(target)
        finally:
            fresh.unlink(missing_ok=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Waits until no other process changes the list, and prevents it within the block."""
        lock = LockFile(self._folder / ".lock")
        until = time.monotonic() + _WAIT_S
        while not lock.take():
            if time.monotonic() > until:
                raise SnapshotUnusable(f"Another process has been changing {shown.place(self._list)} for a minute.")
            time.sleep(random.uniform(0.01, 0.1))
        try:
            yield
        finally:
            lock.release()


class WebPlace:
    """A server. `put` only needs PUT. If the server supports If-Match and If-None-Match too, no entry can be lost. If
    it ignores them, the list is read again after `later_s` seconds, in case another job has replaced it meanwhile. A
    list whose reading took longer than `stalled_s` seconds is read again before it is stored; with each attempt that
    limit grows, for a server that is always slow. What is no list is read again a few times, for a server that lets
    readers see a list which is only half stored."""

    def __init__(self, server: Server, later_s: float = _LATER_S, stalled_s: float = _LATER_S / 2) -> None:
        self._server = server
        self._later_s = later_s
        self._stalled_s = stalled_s

    @property
    def name(self) -> str:
        """The server's address."""
        return self._server.source

    @property
    def _list(self) -> str:
        return f"{self._server.source}/{heads.NAME}"

    def _address(self, sha256: str) -> str:
        return f"{self._server.source}/{name_of(sha256)}"

    def heads(self) -> list[Head]:
        """See `SnapshotPlace.heads`."""
        return self._read()[0]

    def _read(self) -> tuple[list[Head], str]:
        for reading in range(1, _READINGS + 1):
            found = self._server.find(self._list, heads.MAX_BYTES)
            if found is None:
                break
            try:
                return heads.parse(found.content, shown.reason(self._list)), found.tag
            except SnapshotUnusable:
                if reading == _READINGS:
                    raise
            time.sleep(random.uniform(0.05, 0.3))
        return [], ""

    def fetch(self, stored: Stored, target: Path, report: Report) -> None:
        """See `SnapshotPlace.fetch`. A download that was interrupted is continued."""
        if stored.size > MAX_FILE_BYTES:
            raise SnapshotUnusable(f"It has {stored.size:,} bytes; the limit is {MAX_FILE_BYTES:,}.")
        expected = Expected(target.name, stored.size, stored.sha256)
        with _translated(target):
            self._server.fetch(self._address(stored.sha256), expected, target, report)

    def put(self, file: Path, head: Head) -> None:
        """See `SnapshotPlace.put`."""
        address = self._address(head.sha256)
        with _translated(file):
            if not self._server.put(address, file):
                raise SnapshotUnusable(f"{shown.reason(address)} was not taken (status 412).")
        waited = False
        for attempt in range(1, _ATTEMPTS + 1):
            began = time.monotonic()
            listed, tag = self._read()
            took = time.monotonic() - began
            is_listed = head in listed
            if is_listed and waited:
                return
            waited = False
            if took > attempt * self._stalled_s:
                continue  # another job may have stored its list since then, and looked at it for the last time
            if not is_listed:
                content = heads.written(heads.with_head(listed, head))
                if not self._server.put(self._list, content, _condition(listed, tag)):
                    time.sleep(random.uniform(0.05, 0.5))
            elif self._keeps_conditions(listed):
                return
            else:
                time.sleep(max(self._later_s, 2 * took) * random.uniform(1.0, 1.5))
                waited = True
        raise SnapshotUnusable(f"{shown.reason(self._list)} is changed by others all the time; try again.")

    def _keeps_conditions(self, listed: list[Head]) -> bool:
        """Whether the server refuses a list that must not exist yet, as it would refuse that of a job which has not
        read this one. A server that ignores conditions stores this list again."""
        return not self._server.put(self._list, heads.written(listed), {"If-None-Match": "*"})


def _condition(listed: list[Head], tag: str) -> dict[str, str]:
    """Returns the header with which a server refuses the new list if the list has changed since it was read."""
    if tag and not tag.startswith("W/"):
        return {"If-Match": tag}
    return {} if listed or tag else {"If-None-Match": "*"}


@contextmanager
def _translated(place: Path) -> Iterator[None]:
    try:
        yield
    except SidecarError:
        raise
    except OSError as error:
        full = disk_error(error, place)
        if isinstance(full, DiskFull):
            raise full from error
        where = shown.place(error.filename or place)
        raise PermissionDenied(f"{where}: {shown.reason(error.strerror or error)}.") from error


def room_for(needed: int, folder: Path) -> bool:
    """Whether the disk that holds `folder` has space for `needed` bytes and a quarter more; True if that cannot be
    determined."""
    with contextlib.suppress(OSError):
        return shutil.disk_usage(folder).free > needed + needed // 4
    return True
