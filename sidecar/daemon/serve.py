"""`sidecar serve`: REST and MCP on one loopback port, behind one guard and one token.

Not here: what is answered (`surfaces/http`, `surfaces/mcp`) and how a port is listened on (`surfaces/http/run.py`).
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

from sidecar.settings.load import data_home
from sidecar.surfaces.cli.main import Serving
from sidecar.surfaces.http import token
from sidecar.surfaces.http.app import make_app
from sidecar.surfaces.http.guard import Guard
from sidecar.surfaces.http.routes import MCP
from sidecar.surfaces.http.run import hosts_of, listening, run, url_of
from sidecar.surfaces.mcp.http import make_http_app
from sidecar.tools.service import Service

CLOSING_SECONDS = 10.0
"""Time for running work to notice that it is cancelled; the store's worker ends with this process in any case."""


def serve(service: Service, serving: Serving) -> int:
    """Serves until it is told to end, closes the service, returns the exit status.

    Raises `InvalidParams` where it cannot listen, `WorkspaceNotFound`, and what is wrong with the token file.
    """
    root = service.workspace(serving.workspace).root
    listener = listening(serving.host, serving.port)
    held = _token(serving, listener.getsockname()[1])
    try:
        hosts = hosts_of(listener)
        mcp = make_http_app(service, root, hosts, MCP)
        app = make_app(service, root, mcp=mcp, mcp_lifespan=mcp.router.lifespan_context)
        url = url_of(listener)
        return run(Guard(app, held.token, hosts), listener, lambda: _announce(serving, root, url, held))
    finally:
        held.close()
        listener.close()
        _close(service)


def _token(serving: Serving, port: int) -> token.TokenFile:
    if serving.token_file:
        return token.named(Path(serving.token_file).expanduser().absolute())
    return token.fresh(data_home(os.environ) / "serve", port)


def _announce(serving: Serving, root: str, url: str, held: token.TokenFile) -> None:
    """Connections are accepted already. The token itself is shown to a person only, not to a log."""
    if serving.as_json:
        told = {"url": url, "tokenFile": str(held.path), "mcp": url + MCP, "workspace": root, "pid": os.getpid()}
        serving.stdout.write(json.dumps(told) + "\n")
        serving.stdout.flush()
        return
    shown = f" ({held.token})" if serving.stderr.isatty() else ""
    serving.stderr.write(f"sidecar: serving {root} on {url}; the token is in {held.path}{shown}\n")
    serving.stderr.flush()


def _close(service: Service) -> None:
    backstop = threading.Timer(CLOSING_SECONDS, os._exit, (1,))
    backstop.daemon = True
    backstop.start()
    service.close()
    backstop.cancel()
