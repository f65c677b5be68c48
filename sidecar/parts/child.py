"""Starts a process of this package, connected to this one by two pipes and untouched by the caller's configuration.

Isolated mode, another working directory than the caller's and a cleaned environment keep out the modules and the `.env`
of a hostile workspace. The protocol between the two processes is not part of this module.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

if sys.platform == "linux":
    import fcntl  # noqa: TID251 no file is locked here

_KEPT_VARIABLES = frozenset(
    {"PATH", "PATHEXT", "HOME", "USERPROFILE", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP"}
    | {"SYSTEMROOT", "WINDIR", "COMSPEC"}  # Windows starts no process without them
)
# The child has to find this very package even when it is not installed; -I ignores the caller's PYTHON* variables, its
# user site directory and the working directory.
_BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); from importlib import import_module; "
    "sys.exit(import_module(sys.argv[2]).main(*sys.argv[3:]))"
)
_PIPE_BYTES = 1 << 20
"""The most that a process may ask for by default."""
_PACKAGE_PARENT = Path(__file__).resolve().parents[2]


def waited_for_processor_s(pid: int) -> float:
    """Returns how many seconds in total the process was ready to run while others ran; 0 if there is no such process,
    or on a system that does not count this (only Linux does)."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def start_child(
    module: str,
    *arguments: str,
    directory: Path = _PACKAGE_PARENT,
    log: BinaryIO | int = subprocess.DEVNULL,
    python: str = sys.executable,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.Popen[bytes]:
    """Runs `module.main(*arguments)` in a new process with pipes at stdin and stdout.

    The child is expected to end when its stdin ends. `variables` are added to its environment. It has a session (on
    Windows, a process group) of its own, so Ctrl-C in the caller's terminal does not reach it. Raises OSError when the
    process cannot be started.
    """
    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    child = subprocess.Popen(
        [python, "-I", "-c", _BOOTSTRAP, str(_PACKAGE_PARENT), module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        cwd=directory,
        env={**{name: value for name, value in os.environ.items() if name.upper() in _KEPT_VARIABLES}, **variables},
        **detached,
    )
    if child.stdout is not None:
        _widen(child.stdout.fileno())
    return child


def _widen(pipe: int) -> None:
    """Lets a pipe hold more, so that the process that writes need not wait for the one that reads. Only Linux can, and
    only within a limit for all pipes of a user."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
