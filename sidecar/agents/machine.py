"""The system on which programs keep their settings: where its folders are."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Machine(NamedTuple):
    """`platform` is that of `sys`, `project` the folder that is searched. Everything here may be made up for a test."""

    platform: str
    home: Path
    environment: Mapping[str, str]
    project: Path

    def path(self, pattern: str) -> Path:
        """The path that a pattern of the catalog means here.

        `~` is the home, `{project}` the project's folder, `{config}` and `{data}` are the folders below; `{A|B}` is the
        folder that the variable A names, or else B.
        """
        if pattern.startswith("{project}/"):
            return self.project / pattern.removeprefix("{project}/")
        if pattern.startswith("{config}/"):
            return self.config / pattern.removeprefix("{config}/")
        if pattern.startswith("{data}/"):
            return self.data / pattern.removeprefix("{data}/")
        if pattern.startswith("{"):
            choice, _, rest = pattern[1:].partition("}/")
            variable, _, default = choice.partition("|")
            named = self.environment.get(variable, "")
            return (Path(named) if named else self.path(default)) / rest
        return self.home / pattern.removeprefix("~").removeprefix("/")

    @property
    def config(self) -> Path:
        """Where programs that follow XDG keep settings; they do so on macOS and Windows too."""
        return self._named("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def data(self) -> Path:
        """Where programs keep settings by the custom of the system."""
        if self.platform == "win32":
            return self._named("APPDATA", self.home / "AppData" / "Roaming")
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        return self.config

    def finds(self, program: str) -> bool:
        """Whether a program of this name is on the PATH."""
        return self.which(program) is not None

    def which(self, program: str) -> str | None:
        """Where the PATH finds a program; None if it does not."""
        return shutil.which(program, path=self.environment.get("PATH", ""))

    def _named(self, variable: str, default: Path) -> Path:
        text = self.environment.get(variable, "")
        return Path(text) if text and Path(text).is_absolute() else default
