"""MCP over streamable HTTP: an application for whoever listens. Not here: listening, the token, the other routes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings

from sidecar.surfaces.mcp.server import make_server
from sidecar.tools.service import Service
from sidecar.tools.sessions import Sessions

MAX_BYTES = 16 * 1024**2
"""Of one message: as REST takes."""


def make_http_app(
    service: Service, workspace: str, hosts: Iterable[str], path: str, sessions: Sessions | None = None
) -> Any:
    """An ASGI application with a `router.lifespan_context` that must be entered while it serves.

    `hosts` are the values of Host that mean this server; an Origin must be one of them by http. Sessions are stateful,
    so that a question can be asked in mid-call. `sessions`: the registry of this process.
    """
    allowed = sorted(hosts)
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=allowed,
        allowed_origins=[f"http://{host}" for host in allowed],
    )
    server = make_server(service, workspace, one_client=False, sessions=sessions)
    return server.streamable_http_app(
        streamable_http_path=path, transport_security=security, max_request_body_size=MAX_BYTES
    )
