"""`sidecar serve`: REST and MCP on one loopback port, behind one guard and one token.

The process that the user started listens, keeps the token and reports its address. It answers requests itself, or hands
the listening socket to the daemon, which then answers them. `surfaces/http` and `surfaces/mcp` make the answers,
`surfaces/loopback` listens on the port.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable

from sidecar import shown
from sidecar.daemon.serve_group import serve_group
from sidecar.daemon.spawn import NotReachedError
from sidecar.surfaces.cli.main import Serving
from sidecar.surfaces.http.app import make_app
from sidecar.surfaces.http.guard import Guard
from sidecar.surfaces.http.routes import MCP
from sidecar.surfaces.http.run import hosts_of, run, url_of
from sidecar.surfaces.loopback import token
from sidecar.surfaces.loopback.listening import listening
from sidecar.surfaces.mcp.http import make_http_app
from sidecar.tools.assemble import make_sessions
from sidecar.tools.service import Service
from sidecar.tools.sessions import Sessions

CLOSING_SECONDS = 10.0
"""After a cancellation, running work has this long to end.

The vector store's process ends with this one in any case.
"""


def serve(service: Service, serving: Serving) -> int:
    """Serves in this process until a signal ends it; closes the service and returns the exit status.

    Raises `InvalidParams` if it cannot listen, `WorkspaceNotFound`, and the errors of the token file.
    """
    if serving.sharing is not None:
        try:
            return serve_group(service, serving, serving.sharing)
        finally:
            _close(service)
    root = service.workspace(serving.workspace).root
    listener = listening("--host", serving.host, serving.port)
    held = token.of(serving.token_file, listener.getsockname()[1])
    try:
        app = application(service, root, listener, held.token, make_sessions())
        return run(app, listener, lambda: _announce(serving, root, url_of(listener), held))
    finally:
        held.close()
        listener.close()
        _close(service)


def serve_attached(first: socket.socket, attach: Callable[[], socket.socket], serving: Serving, root: str) -> int:
    """Serves in the daemon until a signal ends this process, and returns 0.

    `first` is a session that the daemon has accepted and on which nothing has been sent. When the daemon ends, the next
    connection makes `attach` reach another one; connections wait until then. Raises `InvalidParams` if it cannot
    listen, and the errors of the token file.
    """
    listener = listening("--host", serving.host, serving.port)
    held = token.of(serving.token_file, listener.getsockname()[1])
    waking, wake = socket.socketpair()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: wake.send(b"."))
    try:
        _announce(serving, root, url_of(listener), held)
        session: socket.socket | None = first
        while session is not None:
            with session, contextlib.suppress(OSError):
                _hand_over(session, listener, held.token)
                if waking in select.select([session, waking], [], [])[0]:
                    return 0
            session = _next(attach, listener, waking)
        return 0
    finally:
        held.close()
        listener.close()


def receive_listener(session: socket.socket) -> tuple[socket.socket, str]:
    """Returns the listening socket and the token that a client hands over. Runs in the daemon and blocks.

    Raises OSError and ValueError.
    """
    received, descriptors, _, _ = socket.recv_fds(session, 4096, 1)
    if len(descriptors) != 1:
        raise OSError("the client sent no listening socket")
    listener = socket.socket(fileno=descriptors[0])
    listener.setblocking(False)
    return listener, str(json.loads(received)["token"])


def application(service: Service, root: str, listener: socket.socket, secret: str, sessions: Sessions) -> Guard:
    """Returns REST and MCP for one workspace, behind a guard that demands the token."""
    hosts = hosts_of(listener)
    mcp = make_http_app(service, root, hosts, MCP, sessions)
    app = make_app(service, root, mcp=mcp, mcp_lifespan=mcp.router.lifespan_context, sessions=sessions)
    return Guard(app, secret, hosts)


def _hand_over(session: socket.socket, listener: socket.socket, secret: str) -> None:
    socket.send_fds(session, [json.dumps({"token": secret}).encode()], [listener.fileno()])


def _next(attach: Callable[[], socket.socket], listener: socket.socket, waking: socket.socket) -> socket.socket | None:
    """Returns a session with the next daemon once a client connects; None if a signal ends this process."""
    while True:
        if waking in select.select([listener, waking], [], [])[0]:
            return None
        try:
            return attach()
        except NotReachedError as error:
            sys.stderr.write(shown.line(f"sidecar: {error}") + "\n")
            with contextlib.suppress(OSError):
                listener.accept()[0].close()


def _announce(serving: Serving, root: str, url: str, held: token.TokenFile) -> None:
    """Reports where the server listens; it already accepts connections. The token itself is shown only in a
    terminal."""
    if serving.as_json:
        address = {"url": url, "tokenFile": str(held.path), "mcp": url + MCP, "workspace": root, "pid": os.getpid()}
        serving.stdout.write(shown.as_json(address, ascii_only=True) + "\n")
        serving.stdout.flush()
        return
    secret = f" ({held.token})" if serving.stderr.isatty() else ""
    said = f"sidecar: serving {root} on {url}; the token is in {held.path}{secret}"
    serving.stderr.write(shown.line(said) + "\n")
    serving.stderr.flush()


def _close(service: Service) -> None:
    """Closes the service; ends the process by force if that takes too long."""
    backstop = threading.Timer(CLOSING_SECONDS, os._exit, (1,))
    backstop.daemon = True
    backstop.start()
    service.close()
    backstop.cancel()
