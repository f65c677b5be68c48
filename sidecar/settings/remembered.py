"""A cache of settings, because every search asks for them: files are read again only if they look changed.

`load.py` merges the layers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sidecar.settings.load import Settings
from sidecar.small_files import is_fresh, look_of


class RememberedSettings:
    """Call it with an index's config.json to get the settings. A file is read again if it looks changed.
    Thread-safe."""

    def __init__(self, user_file: Path, read: Callable[[Path], Settings]) -> None:
        self._user_file = user_file
        self._read = read
        self._known: dict[Path, tuple[object, Settings]] = {}

    def __call__(self, config: Path) -> Settings:
        """Returns the settings of the user's file and of `config`; `read` is called again only if one of them may have
        changed."""
        before = look_of(self._user_file), look_of(config)
        known = self._known.get(config)
        if known is not None and known[0] == before and not any(is_fresh(look) for look in before):
            return known[1]
        settings = self._read(config)
        self._known[config] = before, settings
        return settings


class SteadySettings:
    """The settings of one index: call it to get them. Within `steady`, a thread gets the same ones again and again, so
    that a question costs one look at the files and is answered by one state of them. Thread-safe."""

    def __init__(self, read: Callable[[], Settings]) -> None:
        self._read = read
        self._of_thread = threading.local()

    def __call__(self) -> Settings:
        """Returns the settings; within `steady`, those that this thread got first."""
        steady: list[Settings] | None = getattr(self._of_thread, "steady", None)
        if steady is None:
            return self._read()
        if not steady:
            steady.append(self._read())
        return steady[0]

    @contextmanager
    def steady(self) -> Iterator[None]:
        """Keeps this thread's settings as they are until the block ends. Blocks may be nested."""
        if getattr(self._of_thread, "steady", None) is not None:
            yield
            return
        self._of_thread.steady = []
        try:
            yield
        finally:
            self._of_thread.steady = None
