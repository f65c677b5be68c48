"""The LSP door's byte stream: what a client leaves unread is bounded."""

from __future__ import annotations

import socket
import threading

from sidecar.surfaces.lsp.channel import MOST_UNREAD, Channel, SocketStream
from tests.patience import PATIENCE_S

FRAME = b"x" * (1 << 20)


def test_a_client_that_leaves_too_much_unread_loses_its_session_and_memory_is_bounded() -> None:
    ours, theirs = socket.socketpair()
    ended = threading.Event()
    channel = Channel(SocketStream(ours), lambda _: None, ended.set)
    channel.start()
    for _ in range(MOST_UNREAD // len(FRAME)):
        channel.send(FRAME)
    assert not ended.is_set()
    for _ in range(8):
        channel.send(FRAME)
    assert ended.wait(PATIENCE_S)
    channel.close(0)
    theirs.close()


def test_a_client_that_reads_gets_everything_in_order_however_much_it_is() -> None:
    ours, theirs = socket.socketpair()
    ended = threading.Event()
    channel = Channel(SocketStream(ours), lambda _: None, ended.set)
    channel.start()
    with theirs, theirs.makefile("rb") as stream:
        for number in range(2 * MOST_UNREAD // len(FRAME)):
            channel.send(b"%07d\n" % number + FRAME)
            assert stream.read(8) == b"%07d\n" % number
            assert stream.read(len(FRAME)) == FRAME
        assert not ended.is_set()
        channel.close(PATIENCE_S)
