"""Decides which command an agent starts: `sidecar` if that name, looked up in the PATH, is this very program."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Sequence
from filecmp import cmp
from pathlib import Path
from typing import NamedTuple

from sidecar.agents.machine import Machine

NAME = "sidecar"
PACKAGE = "sidecar-search"
_CACHES = frozenset({"archive-v0", "environments-v2"})
"""Folders in uv's cache in which `uvx` makes temporary environments."""


class Program(NamedTuple):
    """The command to start. `note` is a sentence that says why it is not the bare name; empty if it is."""

    words: Sequence[str]
    note: str = ""


class Installation(NamedTuple):
    """The environment that this program runs in: its folder, and the launcher `sidecar` in it."""

    prefix: Path
    launcher: Path

    @classmethod
    def own(cls) -> Installation:
        """Returns the installation of this process."""
        suffix = ".exe" if sys.platform == "win32" else ""
        return cls(Path(sys.prefix), Path(sysconfig.get_path("scripts"), NAME + suffix))


def find_program(machine: Machine, own: Installation) -> Program:
    """Returns the command for an agent's settings, to which the caller appends `mcp`."""
    if _CACHES & set(own.prefix.parts):
        note = f"It runs from uv's cache now, so the agent starts it by uvx; uv tool install {PACKAGE} is faster."
        return Program(("uvx", "--from", PACKAGE, NAME), note)
    found = machine.which(NAME)
    if found is None:
        return Program((str(own.launcher),), "No sidecar is on the PATH, so the entry names this one by its place.")
    if not _is_same(Path(found), own.launcher):
        note = f"The sidecar on the PATH is another one ({found}), so the entry names this one by its place."
        return Program((str(own.launcher),), note)
    if _is_active_only(machine, own, Path(found)):
        note = "It is on the PATH only while its environment is active, so the entry names it by its place."
        return Program((str(own.launcher),), note)
    return Program((NAME,))


def _is_same(found: Path, launcher: Path) -> bool:
    """Whether two launchers are the same file, with links resolved, or have the same content (on Windows, launchers are
    copied)."""
    try:
        return found.samefile(launcher) or cmp(found, launcher, shallow=False)
    except OSError:
        return False


def _is_active_only(machine: Machine, own: Installation, found: Path) -> bool:
    active = machine.environment.get("VIRTUAL_ENV", "")
    return bool(active) and Path(active) == own.prefix and found.parent == own.launcher.parent
