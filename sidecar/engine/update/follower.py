"""Keeps the state that somebody is shown true while another process writes the index, or nobody does."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.update.activity import Activity
from sidecar.engine.update.live import LiveUpdate
from sidecar.errors import SidecarError
from sidecar.logs import workspace_log

_CALM = 5
"""How many turns pass between two looks while this process writes the index, or its workspace rests."""


class Follower:
    """Looks every `turn_s` seconds what the process that writes the index has done, because no event tells a process
    that only reads it. Announces that, and takes over the writing when that process has left.

    So nobody has to ask anything for the state to become up to date. It also notices that the folder of the index has
    been removed or made anew, and that the workspace's own folder is gone or back; of one that is renamed the system
    reports nothing. It does not wake a workspace that rests.
    """

    def __init__(
        self, root: str, index: IndexHandle, live_update: LiveUpdate, activity: Activity, turn_s: float
    ) -> None:
        self._log = workspace_log(__name__, root)
        self._root = Path(root)
        self._gone = False
        self._index = index
        self._live_update = live_update
        self._activity = activity
        self._turn_s = turn_s
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._missing = False
        self._sign: tuple[object, ...] = ()

    def start(self) -> None:
        """Begins to look. Does nothing if it has begun, or has ended for good."""
        if self._thread is None and not self._over.is_set():
            self._thread = threading.Thread(target=self._run, name="sidecar-follow", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Ends for good. Waits for nothing."""
        self._over.set()

    def _run(self) -> None:
        turns = 1
        while not self._over.wait(self._turn_s * turns):
            try:
                turns = 1 if self._look() else _CALM
            except Exception:  # such as an error of a listener, which must not end the following
                self._log.exception("The state of the index could not be read")

    def _look(self) -> bool:
        """Returns whether to look again soon."""
        gone = not self._root.is_dir()
        if gone != self._gone:
            self._gone = gone
            self._activity.changed()
        if not self._index.exists():
            self._announce_missing()
            return True
        if self._index.generation is None and not self._missing:
            return False
        was_missing, self._missing = self._missing, False
        before, self._sign = self._sign, self._index.sign()
        with suppress(SidecarError):  # the state says it too
            self._live_update.readable()
        if self._index.written() is not None and not was_missing:
            return False  # live update announces everything, also that it has begun
        if was_missing or before != self._sign:
            self._activity.changed()
        return True

    def _announce_missing(self) -> None:
        if not self._missing:
            self._missing = True
            with suppress(SidecarError):
                self._live_update.readable()
            self._activity.changed()
