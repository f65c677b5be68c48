"""The `sidecar` command: connects the command line to the other doors and the daemon, which are imported only when
needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial

from sidecar import __version__
from sidecar.early_interrupt import ready
from sidecar.surfaces.cli.main import Doors
from sidecar.surfaces.cli.main import main as run_command_line

TYPE_CHECKING = False  # importing typing would be the longest part of the time before `early_interrupt`
if TYPE_CHECKING:
    from sidecar.surfaces.cli.main import DaemonDoor, ServiceSource, Serving
    from sidecar.tools.service import Service


SWITCH_SECONDS = 0.001
"""A fifth of Python's default, so that threads that answer clients wait less for threads that compute."""


def main(version: str = __version__, command: Sequence[str] = ()) -> int:
    """Runs the command line and returns its exit status.

    Tests pass `version`, and `command`, the command that starts the daemon.
    """
    ready()
    sys.setswitchinterval(SWITCH_SECONDS)
    daemon = partial(_daemon, version, command) if hasattr(os, "fork") else None
    return run_command_line(doors=Doors(_lsp_stdio, _lsp_tcp, _mcp_stdio, _serve, daemon))


def _daemon(version: str, command: Sequence[str]) -> DaemonDoor:
    from sidecar.daemon.client import Client
    from sidecar.daemon.spawn import COMMAND

    return Client(os.environ, version, command or COMMAND)


def _lsp_stdio(source: ServiceSource) -> int:
    from sidecar.surfaces.lsp.run import run_stdio

    return run_stdio(source)


def _lsp_tcp(source: ServiceSource, host: str, port: int, token_file: str) -> int:
    from sidecar.surfaces.lsp.tcp import run_tcp

    return run_tcp(source, host, port, token_file)


def _mcp_stdio(service: Service, workspace: str | None) -> int:
    from sidecar.surfaces.mcp import run_stdio

    return run_stdio(service, workspace)


def _serve(service: Service, serving: Serving) -> int:
    from sidecar.daemon.serve import serve

    return serve(service, serving)


if __name__ == "__main__":
    sys.exit(main())
