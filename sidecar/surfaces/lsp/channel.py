"""A byte stream to one client. Its own threads read and write it, so the event loop never waits for the client.

One writer thread sends whole frames in order, however Python's own streams are buffered and however slowly the client
reads. `frames.py` and `protocol.py` decide what the bytes mean.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import threading
from collections.abc import Callable
from typing import Protocol

from sidecar.locks import Rank, make_lock
from sidecar.surfaces.lsp.frames import MAX_MESSAGE_BYTES, FrameReader, Message, Refused

CHUNK = 1 << 16
"""Bytes read at a time."""
MOST_UNREAD = 64 << 20
"""In bytes. A session ends when this much is queued for its client."""


class Stream(Protocol):
    """Blocking reads and writes of bytes. `read` and `write` raise OSError when the stream is broken."""

    def read(self) -> bytes:
        """Returns the next bytes; empty at the end."""

    def write(self, piece: bytes) -> None:
        """Writes all of `piece`."""

    def close(self) -> None:
        """Closes the stream."""


class PipeStream:
    """A stream over two file descriptors of this process."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd

    def read(self) -> bytes:
        """Waits for the next bytes, at most `CHUNK`, and returns them; empty at the end."""
        return os.read(self._read_fd, CHUNK)

    def write(self, piece: bytes) -> None:
        """Writes all of `piece`, at most 1 MiB at a time."""
        view = memoryview(piece)
        while view:
            view = view[os.write(self._write_fd, view[: 1 << 20]) :]

    def close(self) -> None:
        """Closes the writing side only: another thread may be reading, and closing its descriptor can hang."""
        os.close(self._write_fd)


class SocketStream:
    """One accepted connection, in blocking mode."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(True)
        self._connection = connection

    def read(self) -> bytes:
        """Waits for the next bytes, at most `CHUNK`, and returns them; empty at the end."""
        return self._connection.recv(CHUNK)

    def write(self, piece: bytes) -> None:
        """Writes all of `piece`."""
        self._connection.sendall(piece)

    def close(self) -> None:
        """Closes both directions, so that a thread that is reading stops."""
        with contextlib.suppress(OSError):  # the client has closed it already
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


class Channel:
    """Passes incoming messages to `received`, and sends frames.

    `received` and `ended` are called in the channel's threads.
    """

    def __init__(
        self,
        stream: Stream,
        received: Callable[[Message | Refused], None],
        ended: Callable[[], None],
        longest: Callable[[], int] = lambda: MAX_MESSAGE_BYTES,
    ) -> None:
        """`longest` returns the limit on one message in bytes; it is called at each header."""
        self._stream = stream
        self._received = received
        self._ended = ended
        self._longest = longest
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._counting = make_lock(Rank.CHANNEL)
        self._unread = 0
        self._closed = False
        self._reader = threading.Thread(target=self._read, name="sidecar-lsp-read", daemon=True)
        self._writer = threading.Thread(target=self._write, name="sidecar-lsp-write", daemon=True)

    def start(self) -> None:
        """Starts the two threads."""
        self._reader.start()
        self._writer.start()

    def send(self, frame: bytes) -> None:
        """Queues a frame, from any thread; frames are sent in order.

        After the end of the stream the frame is dropped. If the client does not read, the frame is dropped and the
        session ends.
        """
        with self._counting:
            if self._closed:
                return
            fits = self._unread < MOST_UNREAD
            self._unread += len(frame) if fits else 0
        if fits:
            self._outgoing.put(frame)
        else:
            self._ended()

    def close(self, timeout_s: float) -> None:
        """Sends what is queued, as far as the client reads it within `timeout_s`, then closes the stream."""
        with self._counting:
            self._closed = True
        self._outgoing.put(None)
        self._writer.join(timeout_s)
        if not self._writer.is_alive():
            self._stream.close()

    def _read(self) -> None:
        frames = FrameReader(self._longest)
        try:
            while piece := self._stream.read():
                for event in frames.feed(piece):
                    self._received(event)
        except OSError:
            pass  # a broken stream counts as ended
        finally:
            self._ended()

    def _write(self) -> None:
        while (frame := self._outgoing.get()) is not None:
            try:
                self._stream.write(frame)
            except OSError:
                self._ended()
                return
            with self._counting:
                self._unread -= len(frame)
