"""Listens on a loopback address, and takes connections as long as descriptors are left for the work itself."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import socket
from collections.abc import Awaitable, Callable

from sidecar.errors import InvalidParams

WANTED_DESCRIPTORS = 8192
RESERVED_DESCRIPTORS = 256
"""The index opens its files with these: no connection gets one. A quarter, where the system grants few altogether."""
RETRY_SECONDS = 1.0
logger = logging.getLogger("sidecar.listening")


def listening(option: str, host: str, port: int) -> socket.socket:
    """A socket that accepts connections from now on. `port` 0 takes a free one; `option` is where the host was named.

    Raises `InvalidParams` for an address that is not this machine's own, and where it cannot listen.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        if not ipaddress.ip_address(address[0]).is_loopback:
            raise InvalidParams(
                f"{option} {host} can be reached from other machines; only a loopback address is taken, as 127.0.0.1."
            )
        with contextlib.ExitStack() as unless_it_listens:
            listener = unless_it_listens.enter_context(socket.socket(family, kind))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
            listener.setblocking(False)
            unless_it_listens.pop_all()
    except (OSError, OverflowError, ValueError) as error:
        raise InvalidParams(f"Cannot listen on {host}:{port}: {error}.") from error
    return listener


async def accept(listener: socket.socket, take: Callable[[socket.socket], Awaitable[None]]) -> None:
    """Gives each new connection to `take`, which must not raise, until the task is cancelled.

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
        # The system gives out the lowest free number: all below this one are in use.
        if connection.fileno() < most:
            refusing = False
            await take(connection)
            continue
        connection.close()
        if not refusing:
            logger.warning("connections are refused: %d descriptors are in use", most)
        refusing = True


def most_descriptors() -> int:
    """So many descriptors may be in use when a connection is taken. Raises this process's limit where it may."""
    try:
        import resource
    except ImportError:  # Windows counts no descriptors
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
