"""Serves sessions in this process, by the daemon's own handlers over socket pairs, if no daemon can be reached.

If a pipe loses its daemon and can reach no other, it continues in this way, and its client does not notice. A session
that has not begun needs no pipe; `surfaces/cli/main.py` serves it directly.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING

from sidecar.daemon.handshake import Handshake
from sidecar.daemon.spawn import daemon_environment

if TYPE_CHECKING:
    from sidecar.daemon.handlers import Handlers
    from sidecar.tools.shared import SharedEngine

logger = logging.getLogger("sidecar.daemon")


class Alone:
    """Makes the engine for the first session and keeps it until `close`."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._engine: SharedEngine | None = None
        self._doors: Handlers | None = None

    def attach(self, greeting: Handshake) -> socket.socket:
        """Starts a session and returns the client's end of its socket pair.

        Raises the errors that the handler raises before the session begins, such as ConfigInvalid.
        """
        ours, theirs = socket.socketpair()
        begun: Future[None] = Future()
        serving = threading.Thread(
            target=self._serve, args=(theirs, greeting, begun), name="sidecar-alone", daemon=True
        )
        serving.start()
        try:
            begun.result()
        except BaseException:
            ours.close()
            raise
        return ours

    def close(self) -> None:
        """Closes the engine, if a session has made one."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _serve(self, connection: socket.socket, greeting: Handshake, begun: Future[None]) -> None:
        """Serves one session in its own thread and event loop.

        If the session does not begin, `begun` gets the handler's error.
        """

        async def welcome(**_: object) -> None:
            begun.set_result(None)

        async def serve() -> None:
            await getattr(self._made(), greeting.kind)(connection, greeting, welcome)

        try:
            asyncio.run(serve())
        except Exception as error:
            if begun.done():
                logger.exception("a session failed")
            else:
                begun.set_exception(error)
        finally:
            connection.close()

    def _made(self) -> Handlers:
        if self._doors is None:
            from sidecar.daemon.handlers import Handlers
            from sidecar.surfaces.cli.log import log_to_file
            from sidecar.tools.assemble import make_sessions
            from sidecar.tools.shared import SharedEngine

            log_to_file()
            self._engine = SharedEngine(daemon_environment(self._env))
            self._doors = Handlers(self._engine, make_sessions(self._env))
        return self._doors
