"""Questions go first: background work pauses while a question is being answered.

The threads of a process share one interpreter, which only one of them uses at a time. A thread that answers a question
gives it up hundreds of times, for each read and each call of a library, and each time it waits until another thread
that computes gives it up too. So they take turns more often meanwhile, and this is one object for the whole process,
whatever workspaces the threads belong to.

Other processes answer questions too, from the same index. Background threads therefore have a lower priority as well.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sidecar.engine.concurrency.background import started
from sidecar.locks import Rank, make_condition
from sidecar.model.terms import IsCancelled

_LOG = logging.getLogger(__name__)

NICENESS = 10
"""Searching, saving and typing take precedence over background work, in this process and in others."""
_TURN_S = 0.0002
"""While a question is answered, threads that compute keep the interpreter for so long at most."""
_ROUNDED_S = 0.0000005
"""Python cuts the interval to whole microseconds, so one that is read and set again would get shorter each time."""
_MOST_S = 2.0
_SHARE = 0.25


class RightOfWay:
    """The questions that are being answered at the moment. Thread-safe.

    A background thread pauses for `most_s` seconds at most, and then again for a quarter of the time that it has worked
    since. So a first question is left alone, and constant questions delay the work by a quarter.
    """

    def __init__(self, most_s: float = _MOST_S, now: Callable[[], float] = time.monotonic) -> None:
        self._most_s = most_s
        self._now = now
        self._changed = make_condition(Rank.RIGHT_OF_WAY)
        self._answering = 0
        self._usual_turn_s = 0.0
        self._paused = threading.local()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Within the block, background work pauses, and where it does not, threads take turns more often. The block
        must not wait for such work."""
        with self._changed:
            if not self._answering:
                self._usual_turn_s = sys.getswitchinterval() + _ROUNDED_S
                sys.setswitchinterval(min(_TURN_S, self._usual_turn_s))
            self._answering += 1
        try:
            yield
        finally:
            with self._changed:
                self._answering -= 1
                if not self._answering:
                    sys.setswitchinterval(self._usual_turn_s)
                self._changed.notify_all()

    def give_way(self) -> None:
        """Waits until no question is being answered, or as long as the calling thread may pause. Costs nothing if none
        is. The caller may hold only locks that no question takes."""
        if not self._answering:
            return
        began, left = self._now(), self.may_pause()
        with self._changed:
            self._changed.wait_for(lambda: not self._answering, left)
        self._paused.until = self._now()
        self._paused.left = left - (self._paused.until - began)

    def may_pause(self) -> float:
        """Returns how many seconds the calling thread may pause now."""
        until: float | None = getattr(self._paused, "until", None)
        if until is None:
            return self._most_s
        left: float = self._paused.left
        return min(self._most_s, max(0.0, left) + _SHARE * (self._now() - until))

    def giving_way(self, cancelled: IsCancelled) -> IsCancelled:
        """Returns a replacement for `cancelled`, to be called before each step of background work."""

        def check() -> bool:
            self.give_way()
            return cancelled()

        return check


QUESTIONS = RightOfWay()
"""The questions to this process."""


def step_back() -> None:
    """Lowers the priority of the calling thread for as long as it lives. Only Linux allows that for a single thread;
    elsewhere this does nothing."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with suppress(OSError):  # sandboxes refuse any change
            os.setpriority(os.PRIO_PROCESS, thread, max(NICENESS, os.getpriority(os.PRIO_PROCESS, thread)))


def after_questions(work: Callable[[], None]) -> None:
    """Runs `work` on a thread of its own, of low priority, once no question is being answered. Nobody waits for it, so
    an error is logged, and so is that it was left out because the system allows no further thread."""

    def run() -> None:
        step_back()
        QUESTIONS.give_way()
        try:
            work()
        except Exception:
            _LOG.warning("background work failed; questions are answered without it", exc_info=True)

    if not started(run):
        _LOG.warning("background work was left out, because the system allows no further thread")
