"""Which modules of sidecar something passes: a saved file on its way into the index, a search, a question, a session.

A module is passed if it waits on the call stack while one of the named functions (the *stations*) is called, or if
the station is in it. A module that only answered a call and returned before that is consulted, not passed. Modules of
values (errors, locks, settings and the like) do not count. Other processes are not observed.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import sidecar

PACKAGE = str(Path(sidecar.__file__).parent) + "/"


class Passed:
    """Records the call stacks at stations, which are named as in `"engine.update.change_queue:ChangeQueue.note"`.

    Threads must have been started within `recording`, or be the one that entered it.
    """

    def __init__(self, *stations: str) -> None:
        self.stacks: dict[str, list[tuple[str, ...]]] = {station: [] for station in stations}
        self.recorded = False

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Observes every call within the block, and records those for which `recorded` is set."""
        threading.setprofile(self._look)
        sys.setprofile(self._look)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def missed(self) -> list[str]:
        """Returns the stations that were never reached."""
        return [station for station, stacks in self.stacks.items() if not stacks]

    def modules(self) -> list[str]:
        """Returns the passed modules, in the order in which they were first reached."""
        return list(dict.fromkeys(module for stacks in self.stacks.values() for s in stacks for module in s))

    def calls(self) -> set[tuple[str, str]]:
        """Returns every (calling module, called module) on the way."""
        return {
            (above, below)
            for stacks in self.stacks.values()
            for stack in stacks
            for above, below in pairwise(stack)
            if above != below
        }

    def _look(self, frame: FrameType, event: str, argument: Any) -> None:
        if not self.recorded or event != "call" or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        station = f"{_module(frame)}:{frame.f_code.co_qualname}"
        if station in self.stacks:
            self.stacks[station].append(_stack(frame))


def _stack(frame: FrameType | None) -> tuple[str, ...]:
    """Returns the modules of sidecar on the stack, outermost first."""
    modules: list[str] = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            modules.append(_module(frame))
        frame = frame.f_back
    return tuple(reversed(modules))


def _module(frame: FrameType) -> str:
    return frame.f_code.co_filename.removeprefix(PACKAGE).removesuffix(".py").replace("/", ".")
