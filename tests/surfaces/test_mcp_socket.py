"""MCP over a connected socket, as the daemon serves it: what a client can do to the bytes, and how a session ends."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest, JSONRPCResponse

from sidecar.surfaces.mcp import pipe
from sidecar.surfaces.mcp.pipe import SocketWire
from tests.patience import PATIENCE_S

LEAVING_S = 0.05


class Peer:
    """The client's end, and the two streams of the server's end."""

    def __init__(self, end: socket.socket, wire: SocketWire, incoming: Any, outgoing: Any) -> None:
        self.end = end
        self.wire = wire
        self._incoming = incoming
        self._outgoing = outgoing
        self._received = b""

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            await asyncio.wait_for(asyncio.get_running_loop().sock_sendall(self.end, piece), PATIENCE_S)
            await asyncio.sleep(0)

    async def line(self) -> dict[str, Any]:
        while b"\n" not in self._received:
            block = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(self.end, 1 << 20), PATIENCE_S)
            assert block, "the server's end was closed"
            self._received += block
        line, self._received = self._received.split(b"\n", 1)
        found = json.loads(line)
        assert isinstance(found, dict)
        return found

    async def request(self) -> JSONRPCRequest:
        with anyio.fail_after(PATIENCE_S):
            sent = await self._incoming.receive()
        assert isinstance(sent, SessionMessage)
        assert isinstance(sent.message, JSONRPCRequest)
        return sent.message

    async def input_ends(self) -> None:
        with anyio.fail_after(PATIENCE_S):
            try:
                await self._incoming.receive()
            except anyio.EndOfStream:
                return
        raise AssertionError("another message arrived")

    async def answer(self, number: int, **result: Any) -> None:
        with anyio.fail_after(PATIENCE_S):
            await self._outgoing.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=number, result=result)))


@asynccontextmanager
async def connected() -> AsyncIterator[Peer]:
    client, server = socket.socketpair()
    client.setblocking(False)
    with client, server:
        wire = SocketWire(server, LEAVING_S)
        async with wire as (incoming, outgoing):
            yield Peer(client, wire, incoming, outgoing)


def ping(number: int, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping", "params": params}).encode() + b"\n"


async def test_a_message_in_single_bytes_and_several_in_one_block_arrive_whole() -> None:
    async with connected() as peer:
        message = ping(1, text="Größe 中文".encode().decode())
        await peer.send(*(bytes([byte]) for byte in message), ping(2) + b"\r\n\n" + ping(3)[:9], ping(3)[9:])
        first = await peer.request()
        assert (first.id, first.params) == (1, {"text": "Größe 中文"})
        assert [(await peer.request()).id for _ in range(2)] == [2, 3]


async def test_a_message_without_a_line_end_is_taken_when_the_client_has_sent_all() -> None:
    async with connected() as peer:
        await peer.send(ping(4).rstrip())
        peer.end.shutdown(socket.SHUT_WR)
        assert (await peer.request()).id == 4
        await peer.input_ends()
        await peer.answer(4, done=True)
        assert (await peer.line())["result"] == {"done": True}


async def test_a_client_that_dies_within_a_message_ends_its_session_and_is_answered_nothing() -> None:
    async with connected() as peer:
        await peer.send(ping(5), ping(6)[:20])
        assert (await peer.request()).id == 5
        peer.end.close()
        await peer.input_ends()
        await peer.answer(5)
        await asyncio.wait_for(peer.wire.lost.wait(), PATIENCE_S)


async def test_bytes_that_are_no_text_are_refused_and_the_next_message_is_heard() -> None:
    async with connected() as peer:
        await peer.send(b'{"jsonrpc": "2.0", "id": 7, "method": "\xff\xfe"}\n', ping(8))
        assert (await peer.line())["error"]["code"] == -32700
        assert (await peer.request()).id == 8


async def test_a_message_that_is_too_long_is_refused_and_not_kept_and_the_next_is_heard(monkeypatch: Any) -> None:
    made: list[pipe.MessageLines] = []

    class ShortLines(pipe.MessageLines):
        def __init__(self) -> None:
            super().__init__(limit=10_000)
            made.append(self)

    monkeypatch.setattr(pipe, "MessageLines", ShortLines)
    async with connected() as peer:
        sending = asyncio.create_task(peer.send(*[b"x" * 4_000] * 500, b"\n", ping(9)))
        assert (await peer.line())["error"]["code"] == -32600
        assert (await peer.request()).id == 9
        await sending
        assert len(b"".join(made[0].rest())) == 0


async def test_a_large_answer_reaches_a_client_that_reads_slowly() -> None:
    async with connected() as peer:
        text = "é" * 3_000_000
        sending = asyncio.create_task(peer.answer(10, text=text))
        assert (await peer.line())["result"]["text"] == text
        await sending


async def test_a_client_that_reads_nothing_does_not_keep_its_session_open() -> None:
    async with connected() as peer:
        await peer.answer(11, text="x" * 5_000_000)
        # The answer does not fit into the socket; leaving gives it up after a moment.
    assert not peer.wire.lost.is_set()
