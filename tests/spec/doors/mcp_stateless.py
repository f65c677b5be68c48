"""The real `sidecar mcp` in the stateless protocol: a question ends the call, which is repeated with the answer."""

from __future__ import annotations

from typing import ClassVar

from tests.spec.doors import mcp


class Door(mcp.Door):
    name: ClassVar[str] = "mcp_stateless"
    mode: ClassVar[str] = "2026-07-28"
