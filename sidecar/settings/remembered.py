"""A cache of settings, because every search asks for them: files are read again only if they look changed.

`load.py` merges the layers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from sidecar.settings.load import Settings

# Two changes within one tick of the file system's clock have the same mtime; FAT's tick is 2 s.
_SETTLING_NS = 2_000_000_000


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
        before = _look_of(self._user_file), _look_of(config)
        known = self._known.get(config)
        if known is not None and known[0] == before and not any(_is_fresh(look) for look in before):
            return known[1]
        settings = self._read(config)
        self._known[config] = before, settings
        return settings


def _look_of(path: Path) -> tuple[int, int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _is_fresh(look: tuple[int, int, int, int] | None) -> bool:
    """Whether a further change could still have the same time stamps."""
    return look is not None and time.time_ns() - max(look[1], look[2]) < _SETTLING_NS
