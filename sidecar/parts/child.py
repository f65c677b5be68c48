"""Starts a process of this package beside this one, over two pipes: nothing of the caller's configures it.

Isolated mode, a folder of ours as working directory and a cleaned environment keep a hostile workspace's modules and
`.env` out. Not here: what the two say to each other.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

_KEPT_VARIABLES = frozenset(
    {"PATH", "PATHEXT", "HOME", "USERPROFILE", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP"}
    | {"SYSTEMROOT", "WINDIR", "COMSPEC"}  # Windows starts nothing without them
)
# The child has to find this very package, also where it is not installed; -I keeps everything else of the caller out.
_BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); from importlib import import_module; "
    "sys.exit(import_module(sys.argv[2]).main(*sys.argv[3:]))"
)
_PACKAGE_PARENT = Path(__file__).resolve().parents[2]


def start_child(
    module: str,
    *arguments: str,
    directory: Path = _PACKAGE_PARENT,
    log: BinaryIO | int = subprocess.DEVNULL,
    python: str = sys.executable,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.Popen[bytes]:
    """Runs `module.main(*arguments)` with pipes at stdin and stdout. It ends, by its own care, when its stdin ends.

    `variables` are added to its environment. A key press that interrupts the caller does not reach it. Raises OSError
    when it does not start.
    """
    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return subprocess.Popen(
        [python, "-I", "-c", _BOOTSTRAP, str(_PACKAGE_PARENT), module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        cwd=directory,
        env={**{name: value for name, value in os.environ.items() if name.upper() in _KEPT_VARIABLES}, **variables},
        **detached,
    )
