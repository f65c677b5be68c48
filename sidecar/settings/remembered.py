"""A cache of settings, because every search asks for them: files are read again only if they look changed.

`load.py` merges the layers.
"""

from __future__ import annotations

from collections.abc import Callable
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
