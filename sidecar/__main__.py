"""The `sidecar` command: puts the shell's door together with those of editors and agents, each imported when served."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sidecar.surfaces.cli.main import Doors
from sidecar.surfaces.cli.main import main as run_command_line

if TYPE_CHECKING:
    from sidecar.surfaces.cli.main import ServiceSource, Serving
    from sidecar.tools.service import Service


_SWITCH_SECONDS = 0.001
"""Whoever answers a client waits this long for each thread that computes, not the usual five times as long."""


def main() -> int:
    sys.setswitchinterval(_SWITCH_SECONDS)
    return run_command_line(doors=Doors(_lsp_stdio, _lsp_tcp, _mcp_stdio, _serve))


def _lsp_stdio(source: ServiceSource) -> int:
    from sidecar.surfaces.lsp.run import run_stdio

    return run_stdio(source)


def _lsp_tcp(source: ServiceSource, host: str, port: int) -> int:
    from sidecar.surfaces.lsp.run import run_tcp

    return run_tcp(source, host, port)


def _mcp_stdio(service: Service, workspace: str | None) -> int:
    from sidecar.surfaces.mcp import run_stdio

    return run_stdio(service, workspace)


def _serve(service: Service, serving: Serving) -> int:
    from sidecar.daemon.serve import serve

    return serve(service, serving)


if __name__ == "__main__":
    sys.exit(main())
