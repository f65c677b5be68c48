"""Listens on a loopback address.

Connections are accepted only while enough file descriptors remain for the engine's own work.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import socket
from collections.abc import Awaitable, Callable

from sidecar import shown
from sidecar.errors import InvalidParams

WANTED_DESCRIPTORS = 8192
"""The limit on open descriptors that this process asks the system for."""
RESERVED_DESCRIPTORS = 256
"""Descriptors that no connection gets, so that the index can open its files.

If the system grants few descriptors, a quarter of the limit is reserved instead.
"""
RETRY_SECONDS = 1.0
logger = logging.getLogger("sidecar.listening")


def listening(option: str, host: str, port: int, *, elsewhere: str = "") -> socket.socket:
    """Returns a non-blocking socket that already accepts connections.

    Port 0 chooses a free port. `option` is the command-line option that named the host; error messages quote it.
    `elsewhere` names, as the end of a sentence, what is missing before other machines may connect; `yes` allows them.
    Raises `InvalidParams` for an address that may not be used, and if the socket cannot listen.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        if elsewhere != "yes" and not ipaddress.ip_address(address[0]).is_loopback:
            wanted = elsewhere or "give a loopback address, such as 127.0.0.1."
            raise InvalidParams(f"{option} {host} could be reached from other machines; {wanted}")
        with contextlib.ExitStack() as unless_it_listens:
            listener = unless_it_listens.enter_context(socket.socket(family, kind))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
            listener.setblocking(False)
            unless_it_listens.pop_all()
    except (OSError, OverflowError, ValueError) as error:
        raise InvalidParams(f"Cannot listen on {host}:{port}: {shown.reason(error)}.") from error
    return listener


async def accept(listener: socket.socket, take: Callable[[socket.socket], Awaitable[None]]) -> None:
    """Passes each new connection to `take` until the task is cancelled. `take` must not raise.

    A connection that would need a reserved descriptor is closed at once.
    """
    most = most_descriptors()
    refusing = False
    while True:
        try:
            connection, _ = await asyncio.get_running_loop().sock_accept(listener)
        except OSError as error:
            logger.error("cannot take a connection: %s", error)
            await asyncio.sleep(RETRY_SECONDS)
            continue
        # The system assigns the lowest free number, so all descriptors below this one are in use.
        if connection.fileno() < most:
            refusing = False
            await take(connection)
            continue
        connection.close()
        if not refusing:
            logger.warning("connections are refused: %d descriptors are in use", most)
        refusing = True


def most_descriptors() -> int:
    """Returns how many descriptors may be in use when a connection is accepted.

    Raises this process's limit to `WANTED_DESCRIPTORS` if the system permits it.
    """
    try:
        import resource
    except ImportError:  # Windows has no limit on descriptors
        return 1 << 30
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, WANTED_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    if soft == resource.RLIM_INFINITY:
        return 1 << 30
    return soft - min(RESERVED_DESCRIPTORS, soft // 4)
