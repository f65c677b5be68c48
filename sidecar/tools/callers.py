"""The callers of a server for a group: a list of names, each with the hash of a token and what its holder may use.

Only the hash is stored. A token has 256 random bits, so a slow hash or a salt would gain nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sidecar import shown
from sidecar.errors import ConfigInvalid, InvalidParams, PermissionDenied, disk_error
from sidecar.lock_file import LockFile
from sidecar.settings.home import data_home
from sidecar.small_files import TooLarge, read_small_file, replace_file
from sidecar.tools.spec import ToolSpec

PREFIX = "sct_"
"""Every token begins with this, so that a token can be recognised in places where none belongs."""
TOKEN = re.compile(PREFIX + r"[A-Za-z0-9_-]{43}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""The names that a caller or a workspace may have: nothing in them has a meaning in a path or a URL."""
MAX_BYTES = 4 * 1024**2
READING = "reading"
"""Stands for every tool that only reads, except those in `OF_THE_OPERATOR`."""
EVERY = "all"
ALL_WORKSPACES = "*"
"""In a caller's list of workspaces: every workspace of the server."""
OF_THE_OPERATOR = frozenset({"get_config"})
"""Tools that only read, but show the server's settings: a caller gets them only by name."""
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class GroupCaller:
    """A person or program that may call. `tools` are names, `READING` or `EVERY`. `metrics`: may read the numbers of
    all callers."""

    name: str
    sha256: str
    workspaces: tuple[str, ...] = ()
    tools: tuple[str, ...] = (READING,)
    metrics: bool = False

    def may_use(self, tool: ToolSpec) -> bool:
        """Whether the holder of the token may call the tool."""
        if EVERY in self.tools or tool.name in self.tools:
            return True
        return READING in self.tools and tool.read_only and tool.name not in OF_THE_OPERATOR


def callers_file(named: str) -> Path:
    """Returns the file with the list of callers: `named`, or the one in the data folder if that is empty."""
    return Path(named).expanduser().absolute() if named else data_home(os.environ) / "serve" / "callers.json"


class CallerList:
    """The callers in a file. Another process may change the file at any time; each call here reads its present
    state."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state: tuple[int, ...] | None = None
        self._known: tuple[GroupCaller, ...] = ()

    def every(self) -> tuple[GroupCaller, ...]:
        """Returns the callers, in the order in which they were added; none if the file does not exist.

        Raises `PermissionDenied` if others can access the file, or this process cannot read it, and `ConfigInvalid` if
        it is no valid list of callers.
        """
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self._state, self._known = None, ()
            return ()
        except OSError as error:
            raise self._unreadable(error) from error
        state = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if state != self._state:
            self._known = self._read(found)
            self._state = state
        return self._known

    def of_token(self, token: bytes) -> GroupCaller | None:
        """Returns the caller with this token, or None. All hashes are compared, so the time reveals nothing. Raises the
        errors of `every`."""
        digest = hashlib.sha256(token).hexdigest()
        found = None
        for caller in self.every():
            if hmac.compare_digest(caller.sha256, digest):
                found = caller
        return found

    def add(self, name: str, workspaces: Iterable[str], tools: Iterable[str], *, metrics: bool = False) -> str:
        """Adds a caller and returns the new token, which is stored nowhere. Raises `InvalidParams` for a name that is
        taken or does not match `NAME`, and the errors of `every`."""
        given = tuple(dict.fromkeys(workspaces))
        for one in (name, *(place for place in given if place != ALL_WORKSPACES)):
            if not NAME.fullmatch(one):
                raise InvalidParams(
                    f"{shown.quoted(one)} is no name: use letters, digits, dots, hyphens and underscores, 64 at most."
                )
        token = PREFIX + secrets.token_urlsafe(32)
        digest = hashlib.sha256(token.encode()).hexdigest()
        caller = GroupCaller(name, digest, given, tuple(dict.fromkeys(tools)), metrics)
        with self._held():
            known = self.every()
            if any(one.name == name for one in known):
                raise InvalidParams(f"There is a caller {shown.quoted(name)} already; remove it first.")
            self._write((*known, caller))
        return token

    def remove(self, name: str) -> None:
        """Removes a caller, whose token is refused from then on. Raises `InvalidParams` if the caller does not exist,
        and the errors of `every`."""
        with self._held():
            known = self.every()
            left = tuple(one for one in known if one.name != name)
            if len(left) == len(known):
                raise InvalidParams(f"There is no caller {shown.quoted(name)}; `sidecar serve token list` shows them.")
            self._write(left)

    def _held(self) -> _Held:
        return _Held(self.path)

    def _read(self, found: os.stat_result) -> tuple[GroupCaller, ...]:
        if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o077:
            raise PermissionDenied(
                f"Others can read the list of callers {shown.place(self.path)}; run: chmod 600 {shown.place(self.path)}"
            )
        try:
            content = read_small_file(self.path, MAX_BYTES)
            return tuple(_callers(json.loads(content or b"")))
        except OSError as error:
            raise self._unreadable(error) from error
        except (ValueError, TypeError, KeyError, AttributeError, TooLarge, RecursionError) as error:
            raise ConfigInvalid(
                f"{shown.place(self.path)} is no list of callers ({shown.reason(error)}). Restore it, or remove it and "
                "add the callers again."
            ) from error

    def _unreadable(self, error: OSError) -> PermissionDenied:
        return PermissionDenied(f"{shown.place(self.path)} cannot be read: {shown.reason(error)}.")

    def _write(self, callers: Iterable[GroupCaller]) -> None:
        """Replaces the file atomically, so that no reader sees a part of it."""
        text = json.dumps({"version": 1, "callers": [asdict(caller) for caller in callers]}, indent=2) + "\n"
        try:
            replace_file(self.path, text.encode(), _PRIVATE)
        except OSError as error:
            raise disk_error(error, self.path) from error
        self._state = None


class _Held:
    """Prevents two changes of one list at the same time."""

    def __init__(self, path: Path) -> None:
        self._lock = LockFile(path.with_name(path.name + ".lock"))

    def __enter__(self) -> None:
        try:
            self._lock.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise disk_error(error, self._lock.path.parent) from error
        if not self._lock.take():
            raise PermissionDenied("Another command is changing the list of callers; try again.")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _callers(read: Mapping[str, Any]) -> Iterator[GroupCaller]:
    if read["version"] != 1:
        raise ValueError("another version of sidecar has written it")
    for entry in read["callers"]:
        name, digest = str(entry["name"]), str(entry["sha256"])
        if not re.fullmatch("[0-9a-f]{64}", digest):
            raise ValueError(f"the hash of {name} is none")
        workspaces, tools = entry["workspaces"], entry["tools"]
        if not isinstance(workspaces, list) or not isinstance(tools, list):
            raise TypeError(f"the rights of {name} are no lists")
        yield GroupCaller(name, digest, tuple(map(str, workspaces)), tuple(map(str, tools)), entry["metrics"] is True)
