"""Finds out which user has connected to a loopback port.

All users have the same address there, so the kernel is asked for the owner of the other socket (Linux sock_diag).
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from typing import Any

_SOCK_DIAG = 4
_BY_FAMILY, _REQUEST, _ERROR = 20, 1, 2
_HEADER = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBBBI")
_NO_COOKIE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
_EVERY_STATE = 0xFFFFFFFF
_UID_AT = _HEADER.size + 64


def peer_of(connection: Any) -> str:
    """Returns the user at the other end of a connected TCP socket, as text.

    Returns the address if the system does not say which user it is.
    """
    try:
        user = _user(connection)
    except (AttributeError, OSError, struct.error):
        user = None
    return f"user {user}" if user is not None else _address(connection)


def _user(connection: Any) -> int:
    """Asks Linux for the user id that owns the socket at the other end. Raises OSError if Linux gives no answer."""
    ours, theirs = connection.getsockname(), connection.getpeername()
    ends = struct.pack("!HH", theirs[1], ours[1]) + _packed(connection, theirs) + _packed(connection, ours)
    asked = _ASKED.pack(connection.family, socket.IPPROTO_TCP, 0, 0, _EVERY_STATE) + ends + _NO_COOKIE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, _SOCK_DIAG) as system:
        system.send(_HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST, 1, 0) + asked)
        received = system.recv(4096)
    if _HEADER.unpack_from(received)[1] != _BY_FAMILY:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    user: int = struct.unpack_from("=I", received, _UID_AT)[0]
    return user


def _packed(connection: Any, address: tuple[Any, ...]) -> bytes:
    """Returns an address in the 16 bytes that sock_diag expects."""
    return socket.inet_pton(connection.family, address[0]).ljust(16, b"\0")


def _address(connection: Any) -> str:
    try:
        return str(connection.getpeername()[0])
    except OSError:
        return "gone"
