"""`sidecar mcp` as a real process on real pipes, over a fake workspace: the wire, the handshake, how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.context import ClientRequestContext
from mcp.types import ElicitRequestParams, ElicitResult, ListRootsResult, Root

from sidecar.tools.registry import DEFAULT_TOOLS
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.process

REPOSITORY = Path(__file__).parents[2]
PROGRAM = ("-m", "tests.surfaces.mcp_program")
HANDSHAKE, STATELESS = "legacy", "auto"


class Pipe:
    """A client that sends bytes which the official one would never send."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")

    async def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), PATIENCE_S)
        message = json.loads(line)
        assert isinstance(message, dict)
        return message

    async def answer_to(self, number: int) -> dict[str, Any]:
        while (message := await self.receive()).get("id") != number:
            pass
        return message

    async def progress(self) -> None:
        """Returns when a call is known to be in progress."""
        while (await self.receive()).get("method") != "notifications/progress":
            pass

    async def shake_hands(self, protocol: str = "2025-06-18") -> dict[str, Any]:
        self.send(initialize(protocol))
        answer = await self.answer_to(0)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    async def ends(self) -> int:
        return await asyncio.wait_for(self.process.wait(), PATIENCE_S)


def initialize(protocol: str) -> dict[str, Any]:
    client = {"name": "pipe", "version": "1"}
    params = {"protocolVersion": protocol, "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def call(number: int, tool: str, **arguments: object) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": number}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@asynccontextmanager
async def server(*options: str, stderr: int | None = None) -> AsyncIterator[Pipe]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *PROGRAM, *options, cwd=REPOSITORY, limit=256 * 1024 * 1024,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
    )  # fmt: skip
    try:
        yield Pipe(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def official(era: str, *options: str, **more: Any) -> Client:
    parameters = StdioServerParameters(command=sys.executable, args=[*PROGRAM, *options], cwd=REPOSITORY)
    return Client(parameters, mode=era, **more)


async def gone(process_id: int) -> None:
    """Returns when a process that is not our child has ended. A process that was reaped has ended too."""
    try:
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ended.set)
    try:
        await asyncio.wait_for(ended.wait(), PATIENCE_S)
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


# ---------------------------------------------------------------- the official client


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_the_official_client_uses_the_door_in_both_eras(tmp_path: Path, era: str) -> None:
    asked: list[str] = []
    reported: list[float] = []

    async def person(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"confirm": True})

    async def roots(context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=tmp_path.as_uri())])

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reported.append(progress)

    async with official(era, elicitation_callback=person, list_roots_callback=roots) as client:
        assert client.protocol_version == ("2026-07-28" if era == STATELESS else "2025-11-25")
        assert client.instructions is not None
        assert {tool.name for tool in (await client.list_tools()).tools} == {tool.name for tool in DEFAULT_TOOLS}
        created = await client.call_tool("create_index", {}, progress_callback=note)
        assert created.structured_content["projectPath"] == str(tmp_path)
        found = await client.call_tool("search_code", {"query": "backoff"})
        assert found.structured_content["results"][0]["path"] == "src/retry.py"
        deleted = await client.call_tool("delete_index", {})
        assert deleted.structured_content["status"] == "deleted"
    assert len(asked) == 2
    assert reported[-1] == 2


async def test_prints_of_libraries_and_children_do_not_reach_the_wire() -> None:
    async with official(HANDSHAKE, "--noise", "--workspace", "/w") as client:
        created = await client.call_tool("create_index", {})
        assert created.structured_content["status"] == "created"


# ---------------------------------------------------------------- the handshake


@pytest.mark.parametrize("protocol", ["2024-11-05", "2025-06-18"])
async def test_older_handshake_protocols_are_agreed_to(protocol: str) -> None:
    async with server("--workspace", "/w") as pipe:
        answer = await pipe.shake_hands(protocol)
        assert answer["result"]["protocolVersion"] == protocol
        assert answer["result"]["serverInfo"]["name"] == "sidecar"
        assert "search_code" in answer["result"]["instructions"]
        pipe.send(call(1, "get_index_status"))
        assert (await pipe.answer_to(1))["result"]["structuredContent"]["status"] == "not_found"


def test_the_handshake_waits_for_nothing_heavy() -> None:
    """No time is measured: what would cost it is not loaded by the modules that answer the handshake."""
    heavy = ("chromadb", "onnxruntime", "tokenizers", "tree_sitter", "pygls", "lsprotocol", "tqdm")
    program = (
        "import sys; from sidecar.surfaces.mcp import make_server; from sidecar.tools.assemble import make_service;"
        "service = make_service(); make_server(service, '/w'); service.close();"
        f"print(*[name for name in {heavy!r} if name in sys.modules],"
        "*[name for name in sys.modules if name.startswith('sidecar.engine')])"
    )
    loaded = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


# ---------------------------------------------------------------- bad input


async def test_lines_that_are_no_messages_are_answered_and_survived() -> None:
    async with server("--workspace", "/w") as pipe:
        await pipe.shake_hands()
        pipe.send(b"{not json", b"", b"[]", b'{"jsonrpc": "2.0", "id": 7}', b'"text"', b"\xff\xfe", b"[" * 100_000)
        answers = [await pipe.receive() for _ in range(6)]
        assert [answer["error"]["code"] for answer in answers] == [-32700, -32600, -32600, -32600, -32700, -32700]
        assert [answer["id"] for answer in answers] == [None, None, 7, None, None, None]
        pipe.send(call(1, "get_index_status"))
        assert "result" in await pipe.answer_to(1)


async def test_a_message_of_another_protocol_is_refused_by_its_id() -> None:
    async with server("--workspace", "/w") as pipe:
        for version in ("1.0", None, 2):
            pipe.send({"jsonrpc": version, "id": "x", "method": "ping"})
            answer = await pipe.receive()
            assert (answer["id"], answer["error"]["code"]) == ("x", -32600)


async def test_a_message_of_50_megabytes_is_answered() -> None:
    async with server("--workspace", "/w") as pipe:
        await pipe.shake_hands()
        pipe.send(call(1, "search_code", query="x" * 50_000_000))
        answer = await pipe.answer_to(1)
        assert answer["result"]["isError"] is True
        assert len(answer["result"]["content"][0]["text"]) < 2000
        pipe.send(call(2, "get_index_status"))
        assert "result" in await pipe.answer_to(2)


async def test_a_line_without_end_is_refused_and_not_kept_in_memory() -> None:
    async with server("--workspace", "/w") as pipe:
        await pipe.shake_hands()
        assert pipe.process.stdin is not None
        for _ in range(100):
            pipe.process.stdin.write(b"x" * 1_000_000)
            await pipe.process.stdin.drain()
        pipe.send(b"", call(1, "get_index_status"))
        refused = await pipe.receive()
        assert refused["error"]["code"] == -32600
        assert "64 MiB" in refused["error"]["message"]
        assert "result" in await pipe.answer_to(1)
        high_water = Path(f"/proc/{pipe.process.pid}/status").read_text()
        peak_kib = int(high_water.split("VmHWM:")[1].split()[0])
        assert peak_kib < 64 * 1024 * 4


# ---------------------------------------------------------------- how it ends


async def test_the_end_of_input_ends_the_process() -> None:
    async with server("--workspace", "/w") as pipe:
        await pipe.shake_hands()
        assert pipe.process.stdin is not None
        pipe.process.stdin.close()
        assert await pipe.ends() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_in_mid_call(tmp_path: Path, number: signal.Signals) -> None:
    cancelled = tmp_path / "cancelled"
    async with server("--workspace", "/w", "--stall", str(cancelled)) as pipe:
        await pipe.shake_hands()
        pipe.send(call(1, "create_index"))
        await pipe.progress()
        pipe.process.send_signal(number)
        assert await pipe.ends() == 128 + number
        assert cancelled.exists()


async def test_a_client_that_leaves_in_mid_call_ends_the_work_and_the_process(tmp_path: Path) -> None:
    cancelled = tmp_path / "cancelled"
    async with server("--workspace", "/w", "--stall", str(cancelled)) as pipe:
        await pipe.shake_hands()
        pipe.send(call(1, "create_index"))
        await pipe.progress()
        assert pipe.process.stdin is not None
        pipe.process.stdin.close()
        assert await pipe.ends() == 0
        assert cancelled.exists()


CLIENT = """
import asyncio, sys
import sidecar.no_telemetry
from mcp import Client, StdioServerParameters
async def progress(done, total, process_id):
    print(process_id, flush=True)
async def main():
    async with Client(StdioServerParameters(command=sys.executable, args=sys.argv[1:])) as client:
        await client.call_tool("create_index", {}, progress_callback=progress)
asyncio.run(main())
"""


async def test_killing_the_client_in_mid_call_leaves_no_process(tmp_path: Path) -> None:
    cancelled = tmp_path / "cancelled"
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CLIENT, *PROGRAM, "--stall", str(cancelled), cwd=REPOSITORY, stdout=subprocess.PIPE
    )
    assert client.stdout is not None
    served = int(await asyncio.wait_for(client.stdout.readline(), PATIENCE_S))
    client.kill()
    await client.wait()
    await gone(served)
    assert cancelled.exists()


async def test_a_client_that_stops_reading_ends_the_process() -> None:
    async with server("--workspace", "/w", stderr=subprocess.DEVNULL) as pipe:
        await pipe.shake_hands()
        assert pipe.process.stdout is not None
        pipe.process.stdout._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001  # asyncio has no other way
        pipe.send(call(1, "get_index_status"))
        assert await pipe.ends() == 0


async def test_a_cancelled_call_stops_the_work_and_the_session_goes_on(tmp_path: Path) -> None:
    cancelled = tmp_path / "cancelled"
    async with server("--workspace", "/w", "--stall", str(cancelled)) as pipe:
        await pipe.shake_hands()
        pipe.send(call(1, "create_index"))
        await pipe.progress()
        left = {"requestId": 1, "reason": "the person left"}
        pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": left})
        pipe.send(call(2, "reindex_file", file_path="src/open.py"))  # writers wait for each other
        assert (await pipe.answer_to(2))["result"]["isError"] is True
        assert cancelled.exists()
