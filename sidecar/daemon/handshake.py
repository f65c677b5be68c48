"""The first line of a connection: what the session is to be. The daemon answers with one line; then the session's own
bytes follow. Light: every pipe imports this.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from sidecar import errors
from sidecar.errors import Internal, SidecarError

Kind: TypeAlias = Literal["lsp", "mcp", "call", "rest", "control"]

MAX_LINE = 1 << 20
PREFIX = "SIDECAR_"


_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Handshake(NamedTuple):
    """Who comes. Paths are absolute, because the daemon works in another folder.

    `flags` are settings by the keys of config.json; `env` holds the client's own SIDECAR_ variables. `toolsets` None:
    those of the settings, and `unset_toolsets` where none are set ("" means the default).
    """

    kind: Kind
    cwd: str = ""
    workspace: str | None = None
    flags: Mapping[str, object] = _NOTHING
    env: Mapping[str, str] = _NOTHING
    toolsets: str | None = None
    unset_toolsets: str = ""
    pid: int = 0

    def line(self) -> bytes:
        return json.dumps(self._asdict(), default=dict).encode() + b"\n"

    @classmethod
    def of(cls, line: bytes) -> Handshake:
        """Raises ValueError for what is no greeting."""
        told = json.loads(line)
        if not isinstance(told, dict) or told.get("kind") not in ("lsp", "mcp", "call", "rest", "control"):
            raise ValueError("no greeting")
        return cls(**{name: told[name] for name in cls._fields if name in told})


def of_here(kind: Kind, env: Mapping[str, str], *, workspace: str | None = None, **more: Any) -> Handshake:
    """The greeting of this process, in its folder and with its settings."""
    here = os.getcwd()  # noqa: PTH109 - the text, of a folder that may be gone by now
    flags = {name: _absolute(name, value) for name, value in more.pop("flags", {}).items() if value is not None}
    own = {name: str(_absolute(name, value)) for name, value in env.items() if name.startswith(PREFIX)}
    root = os.path.abspath(os.path.expanduser(workspace)) if workspace else None  # noqa: PTH100, PTH111
    return Handshake(kind, here, root, flags, own, pid=os.getpid(), **more)


def _absolute(name: str, value: object) -> object:
    """A model may be named by a folder, from here."""
    is_folder = name.lower().endswith("model") and isinstance(value, str) and os.path.isdir(value)  # noqa: PTH112
    return os.path.abspath(str(value)) if is_folder else value  # noqa: PTH100


def greet(connection: socket.socket, greeting: Handshake, timeout_s: float) -> dict[str, Any] | None:
    """The daemon's answer; None when it hung up before it gave one.

    Raises TimeoutError, the error it answers, and ValueError for what no daemon answers.
    """
    connection.settimeout(timeout_s)
    try:
        connection.sendall(greeting.line())
        line = read_line(connection)
    except TimeoutError:
        raise
    except OSError:
        return None
    connection.settimeout(None)
    if not line:
        return None
    told = json.loads(line)
    if not isinstance(told, dict) or not isinstance(told.get("error", {}), dict):
        raise ValueError("no answer to a greeting")
    if "error" in told:
        raise error_of(told["error"])
    return told


def read_line(connection: socket.socket) -> bytes:
    """One line; nothing where the other side hung up. The other side sends no more than that before it is answered."""
    held = bytearray()
    while not held.endswith(b"\n"):
        piece = connection.recv(4096)
        if not piece or len(held) > MAX_LINE:
            return b""
        held += piece
    return bytes(held)


def error_of(told: Mapping[str, Any]) -> SidecarError:
    """The error that the daemon has raised, raised here."""
    kind = _kinds(SidecarError).get(str(told.get("code")), Internal)
    return kind(str(told.get("detail", "")), **dict(told.get("facts", {})))


def _kinds(base: type[SidecarError]) -> dict[str, type[SidecarError]]:
    known = {base.code: base} if base.code != SidecarError.code else {}
    for kind in base.__subclasses__():
        known |= {code: found for code, found in _kinds(kind).items() if code not in known}
    return known or {errors.Internal.code: errors.Internal}
