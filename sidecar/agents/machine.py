"""The places where programs on this system keep their settings."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Machine(NamedTuple):
    """The system's platform (as in `sys.platform`), home, environment and the searched folder, which tests may
    replace."""

    platform: str
    home: Path
    environment: Mapping[str, str]
    project: Path

    def path(self, pattern: str) -> Path:
        """Returns the path that a pattern of the catalog stands for.

        `~` is the home, `{project}` the project's folder, `{config}` and `{data}` are the folders below; `{A|B}` is the
        folder that the variable A names, otherwise B.
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
        """The settings folder of programs that follow XDG, on macOS and Windows too."""
        return self._named("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def data(self) -> Path:
        """The settings folder that is customary on this system."""
        if self.platform == "win32":
            return self._named("APPDATA", self.home / "AppData" / "Roaming")
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        return self.config

    def finds(self, program: str) -> bool:
        """Whether a program of this name is on the PATH."""
        return self.which(program) is not None

    def which(self, program: str) -> str | None:
        """Returns the path of a program that is found by the PATH; None if it is not found."""
        return shutil.which(program, path=self.environment.get("PATH", ""))

    def _named(self, variable: str, default: Path) -> Path:
        text = self.environment.get(variable, "")
        return Path(text) if text and Path(text).is_absolute() else default
