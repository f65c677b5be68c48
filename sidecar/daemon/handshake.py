"""The greeting: the first line of a connection, which says what kind of session it begins.

The daemon answers with one line; then the session's own bytes follow. Every pipe imports this module, so it imports
little itself.
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
from sidecar.settings.home import current_folder, with_paths_of

Kind: TypeAlias = Literal["lsp", "mcp", "call", "rest", "control"]

MAX_LINE = 1 << 20
"""Maximum length of a greeting or answer, in bytes."""
PREFIX = "SIDECAR_"
"""Names of sidecar's environment variables begin with it."""


_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Handshake(NamedTuple):
    """A client's request for a session. Paths are absolute, because the daemon works in another folder.

    `flags` are settings by the keys of config.json; `env` holds the client's own SIDECAR_ variables. If `toolsets` is
    None, the settings decide, and `unset_toolsets` if the settings have none ("" stands for the default). `terminal`: a
    person typed the command in a terminal; `yes`: with the option `--yes`.
    """

    kind: Kind
    cwd: str = ""
    workspace: str | None = None
    flags: Mapping[str, object] = _NOTHING
    env: Mapping[str, str] = _NOTHING
    toolsets: str | None = None
    unset_toolsets: str = ""
    pid: int = 0
    terminal: bool = False
    yes: bool = False

    def line(self) -> bytes:
        """Returns the greeting as one line of JSON."""
        return json.dumps(self._asdict(), default=dict).encode() + b"\n"

    @classmethod
    def of(cls, line: bytes) -> Handshake:
        """Parses a greeting. Raises ValueError if the line is not a greeting."""
        message = json.loads(line)
        if not isinstance(message, dict) or message.get("kind") not in ("lsp", "mcp", "call", "rest", "control"):
            raise ValueError("no greeting")
        return cls(**{name: message[name] for name in cls._fields if name in message})


def of_here(kind: Kind, env: Mapping[str, str], *, workspace: str | None = None, **more: Any) -> Handshake:
    """Returns the greeting of this process, with its working directory and its settings."""
    here = current_folder()  # if there is none, a session that names its workspace works all the same
    flags = {name: value for name, value in more.pop("flags", {}).items() if value is not None}
    own = {name: value for name, value in env.items() if name.startswith(PREFIX)}
    root = os.path.join(here, os.path.expanduser(workspace)) if workspace else None  # noqa: PTH111, PTH118
    return Handshake(kind, here, root, with_paths_of(here, flags), with_paths_of(here, own), pid=os.getpid(), **more)


def greet(connection: socket.socket, greeting: Handshake, timeout_s: float) -> dict[str, Any] | None:
    """Sends the greeting and returns the daemon's answer; None if the daemon hung up before it answered.

    Raises TimeoutError, the SidecarError that the daemon answers, and ValueError if the answer is not a daemon's.
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
    message = json.loads(line)
    if not isinstance(message, dict) or not isinstance(message.get("error", {}), dict):
        raise ValueError("no answer to a greeting")
    if "error" in message:
        raise error_of(message["error"])
    return message


def read_line(connection: socket.socket) -> bytes:
    """Returns one line; empty if the other side hung up or the line is too long.

    The other side must send nothing after the line until it gets an answer.
    """
    held = bytearray()
    while not held.endswith(b"\n"):
        piece = connection.recv(4096)
        if not piece or len(held) > MAX_LINE:
            return b""
        held += piece
    return bytes(held)


def error_of(message: Mapping[str, Any]) -> SidecarError:
    """Makes the SidecarError that the daemon has sent; `Internal` for an unknown code."""
    kind = _kinds(SidecarError).get(str(message.get("code")), Internal)
    return kind(str(message.get("detail", "")), **dict(message.get("facts", {})))


def _kinds(base: type[SidecarError]) -> dict[str, type[SidecarError]]:
    """Returns the subclasses of `base` by error code."""
    known = {base.code: base} if base.code != SidecarError.code else {}
    for kind in base.__subclasses__():
        known |= {code: found for code, found in _kinds(kind).items() if code not in known}
    return known or {errors.Internal.code: errors.Internal}
