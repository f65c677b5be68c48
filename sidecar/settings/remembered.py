"""A cache of settings, because every search asks for them: files are read again only when they look changed.

What the settings are and how the layers merge is in `load.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sidecar.settings.load import Settings
from sidecar.small_files import is_fresh, look_of


class RememberedSettings:
    """Call it with an index's config.json to get the settings. A file is read again when it looks changed.
    Thread-safe."""

    def __init__(self, user_file: Path, read: Callable[[Path], Settings]) -> None:
        self._user_file = user_file
        self._read = read
        self._known: dict[Path, tuple[object, Settings]] = {}

    def __call__(self, config: Path) -> Settings:
        """The settings of the user's file and this one, as `read` gave them when either last changed."""
        before = look_of(self._user_file), look_of(config)
        known = self._known.get(config)
        if known is not None and known[0] == before and not any(is_fresh(look) for look in before):
            return known[1]
        settings = self._read(config)
        self._known[config] = before, settings
        return settings


class HeldSettings:
    """Call it to get the settings of one index. Within `held`, a thread gets the same ones each time, so that one
    request looks at the files once and obeys one version of them. Thread-safe."""

    def __init__(self, current: Callable[[], Settings]) -> None:
        self._current = current
        self._of_thread = threading.local()

    def __call__(self) -> Settings:
        """The settings that this thread holds, else the current ones."""
        holds: list[Settings] | None = getattr(self._of_thread, "holds", None)
        if holds is None:
            return self._current()
        if not holds:
            holds.append(self._current())
        return holds[0]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within the block, this thread gets the settings that were current at its first call in it."""
        if getattr(self._of_thread, "holds", None) is not None:
            yield
            return
        self._of_thread.holds = []
        try:
            yield
        finally:
            self._of_thread.holds = None
