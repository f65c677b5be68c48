"""The system's events of changed files, gathered by watchfiles."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TypeAlias

from sidecar.parts.paths import storable

Events: TypeAlias = set[tuple[int, str]]
"""Pairs of watchfiles' number for what has happened, and the absolute path."""

_UNDECODABLE = "Unable to decode path"  # in the message of RustNotify
_OPEN_AS_PLACE = getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0)


class NamesLost(RuntimeError):
    """Something has changed whose name is not valid Unicode. The notifier cannot report it, nor anything later."""


class SystemEvents:
    """Gathers the events of the folders; with `with_all_below`, of everything below them too.

    RustNotify's own waiting is not used, because it waits as long as events keep coming. Raises OSError or RuntimeError
    when the system refuses, and UnicodeEncodeError if a folder's path is not valid Unicode and the system is not Linux.
    """

    def __init__(self, folders: Sequence[str], with_all_below: bool) -> None:
        from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

        self._failure = WatchfilesRustInternalError
        for folder in folders if with_all_below else ():  # RustNotify ignores a missing folder then
            os.stat(folder)  # noqa: PTH116
        self._spelling = _Spelling()
        try:
            spelled = [self._spelling.of(folder) for folder in folders]
            self._system = RustNotify(spelled, False, False, 0, with_all_below, with_all_below)
        except BaseException:
            self._spelling.close()
            raise

    def take(self) -> Events:
        """Returns the events since the last call, without waiting. Raises OSError or RuntimeError when watching
        fails: NamesLost if a new notifier can go on."""
        try:
            events = self._system.watch(0, 0, 0, _SecondLook())
        except _NothingNew:
            return set()
        except self._failure as error:
            raise NamesLost(str(error)) if _UNDECODABLE in str(error) else error from error
        if isinstance(events, set):
            return {(what, self._spelling.meant(path)) for what, path in events} if self._spelling else events
        raise KeyboardInterrupt  # RustNotify has caught the signal (Ctrl-C) and returned the word "signal"

    def close(self) -> None:
        """Stops watching. May raise RuntimeError."""
        try:
            self._system.close()
        finally:  # the notifier watches the opened folders until it is closed
            self._spelling.close()


class _Spelling:
    """Spells paths in Unicode, because RustNotify takes no others.

    On Linux a folder whose name is not valid Unicode is opened, and is then also at `/proc/self/fd/NUMBER`.
    """

    def __init__(self) -> None:
        self._opened: dict[str, int] = {}
        self._places: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._opened)

    def of(self, path: str) -> str:
        """Returns a path in Unicode at which the same folder is. Raises OSError, and UnicodeEncodeError if there is no
        such path."""
        if path == storable(path):
            return path
        if sys.platform != "linux":
            path.encode()  # raises
        odd, rest = _after_last_odd_name(path)
        if odd not in self._opened:
            descriptor = os.open(odd, _OPEN_AS_PLACE)
            self._opened[odd] = descriptor
            self._places[f"/proc/self/fd/{descriptor}"] = odd
        return f"/proc/self/fd/{self._opened[odd]}{rest}"

    def meant(self, path: str) -> str:
        """Returns the path as it was given to `of`, or below it."""
        for place, odd in self._places.items():
            if path == place or path.startswith(place + "/"):
                return odd + path[len(place) :]
        return path

    def close(self) -> None:
        """Closes the opened folders."""
        for descriptor in self._opened.values():
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._opened.clear()


def _after_last_odd_name(path: str) -> tuple[str, str]:
    """Divides a path after its last name that is not valid Unicode."""
    names = path.split("/")
    odd = max(at for at, name in enumerate(names) if name != storable(name))
    rest = names[odd + 1 :]
    return "/".join(names[: odd + 1]), "".join(f"/{name}" for name in rest)


class _NothingNew(Exception):
    """Ends a wait of RustNotify without losing events, as it does with those that arrive while a wait times out or is
    stopped."""


class _SecondLook:
    """A stop event. RustNotify checks it before each of its looks, and returns events only at the second look that
    finds some."""

    def __init__(self) -> None:
        self._looks = 0

    def is_set(self) -> bool:
        self._looks += 1
        if self._looks > 2:
            raise _NothingNew
        return False
