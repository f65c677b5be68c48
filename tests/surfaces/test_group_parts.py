"""The parts of a server for a group, without a process: limits, the list of callers, and admission."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import ConfigInvalid, InvalidParams, PermissionDenied
from sidecar.surfaces.http.app import make_app
from sidecar.surfaces.http.group import Group
from sidecar.surfaces.http.limits import CallerLimits
from sidecar.surfaces.http.run import serve_until
from sidecar.surfaces.loopback.listening import listening
from sidecar.surfaces.mcp.http import Reader
from sidecar.tools.callers import TOKEN, CallerList, GroupCaller
from sidecar.tools.registry import DEFAULT_TOOLS
from sidecar.tools.service import Service
from tests.fakes import FakeWorkspace, FakeWorkspaces
from tests.patience import PATIENCE_S

AT_ONCE = 4


class Clock:
    """A clock that advances only when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_each_caller_has_a_minutes_requests_and_then_as_many_as_time_gives_back() -> None:
    clock = Clock()
    limits = CallerLimits(per_minute=6, at_once=2, now=clock)
    assert [limits.wait("one") for _ in range(7)] == [0] * 6 + [10]
    assert limits.wait("two") == 0
    clock.now = 9
    assert limits.wait("one") == 1
    clock.now = 10
    assert [limits.wait("one"), limits.wait("one")] == [0, 10]
    clock.now = 1000
    assert [limits.wait("one") for _ in range(7)] == [0] * 6 + [10]


def test_no_more_than_so_many_run_at_the_same_time() -> None:
    limits = CallerLimits(per_minute=100, at_once=2, now=Clock())
    with limits.running("one"):
        assert limits.wait("one") == 0
        with limits.running("one"):
            assert (limits.wait("one"), limits.wait("two")) == (1, 0)
        assert limits.wait("one") == 0


# ------------------------------------------------------------------ the list


def test_a_token_is_random_is_shown_once_and_opens_what_its_caller_was_given(tmp_path: Path) -> None:
    callers = CallerList(tmp_path / "callers.json")
    tokens = [callers.add(name, ["api"], ["reading"]) for name in ("one", "two")]
    assert all(TOKEN.fullmatch(token) for token in tokens) and tokens[0] != tokens[1]
    assert stat.S_IMODE(callers.path.stat().st_mode) == 0o600
    assert not any(token in callers.path.read_text() for token in tokens)
    other = CallerList(callers.path)
    found = [other.of_token(token.encode()) for token in (*tokens, "sct_" + "x" * 43, "")]
    assert [caller and caller.name for caller in found] == ["one", "two", None, None]


def test_another_process_removes_a_caller_and_the_token_opens_nothing(tmp_path: Path) -> None:
    ours, theirs = CallerList(tmp_path / "callers.json"), CallerList(tmp_path / "callers.json")
    token = ours.add("one", ["api"], ["reading"]).encode()
    assert ours.of_token(token) is not None
    theirs.remove("one")
    assert ours.of_token(token) is None
    again = theirs.add("one", ["api"], ["reading"]).encode()
    assert (ours.of_token(token), ours.of_token(again) is not None) == (None, True)


@pytest.mark.parametrize("name", ["", "../one", "a b", "a/b", ".hidden", "x" * 65, "ü", "a\n", "*"])
def test_what_could_be_taken_for_more_than_a_name_is_refused(tmp_path: Path, name: str) -> None:
    callers = CallerList(tmp_path / "callers.json")
    with pytest.raises(InvalidParams):
        callers.add(name, ["api"], ["reading"])
    assert callers.every() == ()
    if name != "*":  # every workspace
        with pytest.raises(InvalidParams):
            callers.add("one", [name], ["reading"])


def test_a_name_that_is_taken_or_not_there_is_said(tmp_path: Path) -> None:
    callers = CallerList(tmp_path / "callers.json")
    callers.add("one", [], ["reading"])
    with pytest.raises(InvalidParams, match="already"):
        callers.add("one", [], ["reading"])
    with pytest.raises(InvalidParams, match="no caller"):
        callers.remove("two")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        "[" * 100_000,
        '{"version": 2, "callers": []}',
        '{"version": 1, "callers": [{"name": "one"}]}',
        '{"version": 1, "callers": [{"name": "one", "sha256": "", "workspaces": [], "tools": [], "metrics": false}]}',
        json.dumps({"version": 1, "callers": [{"name": "a", "sha256": "0" * 64, "workspaces": "api", "tools": []}]}),
    ],
)
def test_a_damaged_list_lets_nobody_in_and_is_not_written_over(tmp_path: Path, content: str) -> None:
    path = tmp_path / "callers.json"
    token = CallerList(path).add("one", ["api"], ["reading"]).encode()
    path.write_text(content)
    callers = CallerList(path)
    for call in (lambda: callers.of_token(token), lambda: callers.add("two", [], []), lambda: callers.remove("one")):
        with pytest.raises(ConfigInvalid):
            call()
    assert path.read_text() == content


def test_a_list_that_others_can_read_lets_nobody_in(tmp_path: Path) -> None:
    path = tmp_path / "callers.json"
    token = CallerList(path).add("one", ["api"], ["reading"]).encode()
    path.chmod(0o644)
    with pytest.raises(PermissionDenied, match="chmod 600"):
        CallerList(path).of_token(token)


def test_rights_to_read_do_not_cover_what_writes_nor_the_servers_settings() -> None:
    reader = GroupCaller("one", "", ("api",))
    may = {tool.name for tool in DEFAULT_TOOLS if reader.may_use(tool)}
    assert may == {tool.name for tool in DEFAULT_TOOLS if tool.read_only} - {"get_config"}
    named = GroupCaller("two", "", ("api",), ("get_config", "reindex_file"))
    assert {tool.name for tool in DEFAULT_TOOLS if named.may_use(tool)} == {"get_config", "reindex_file"}


# ------------------------------------------------------------------ who is let in


@pytest.fixture
def door(tmp_path: Path) -> Iterator[tuple[CallerList, Service]]:
    service = Service(FakeWorkspaces(FakeWorkspace({})))
    yield CallerList(tmp_path / "callers.json"), service
    service.close()


def group(door: tuple[CallerList, Service], per_minute: int = 100, **options: Any) -> Group:
    callers, service = door

    def make(caller: GroupCaller) -> Any:
        return make_app(service.for_caller((), {}, ()), "", names=())

    return Group(callers, make, limits=CallerLimits(per_minute, AT_ONCE, Clock()), **options)


async def ask(app: Group, path: str, *headers: tuple[str, str], client: str = "203.0.113.9") -> tuple[int, Any, bytes]:
    """Sends a GET request, and returns status, headers and body."""
    said: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def send(message: MutableMapping[str, Any]) -> None:
        said.append(message)

    sent = [(name.lower().encode(), value.encode()) for name, value in headers]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": sent, "client": (client, 1)}
    await app(scope, receive, send)
    return said[0]["status"], dict(said[0]["headers"]), b"".join(one.get("body", b"") for one in said[1:])


def bearer(token: str) -> tuple[str, str]:
    return "Authorization", f"Bearer {token}"


async def test_whoever_asks_too_much_is_told_when_to_come_again_and_others_are_not(
    door: tuple[CallerList, Service],
) -> None:
    one, two = (door[0].add(name, [], ["reading"]) for name in ("one", "two"))
    app = group(door, per_minute=2)
    statuses = [(await ask(app, "/tools", bearer(one)))[0] for _ in range(2)]
    status, headers, body = await ask(app, "/tools", bearer(one))
    assert (statuses, status, headers[b"retry-after"]) == ([200, 200], 429, b"30")
    assert json.loads(body)["code"] == "TOO_MANY_REQUESTS"
    assert (await ask(app, "/tools", bearer(two)))[0] == 200


async def test_with_a_public_address_another_host_or_origin_is_refused(door: tuple[CallerList, Service]) -> None:
    token = door[0].add("one", [], ["reading"])
    app = group(door, hosts=["search.example.org"])
    right = ("Host", "search.example.org")
    for headers, status in (
        ([right], 200),
        ([right, ("Origin", "https://search.example.org")], 200),
        ([right, ("Origin", "https://evil.example.org")], 403),
        ([("Host", "evil.example.org"), ("X-Forwarded-Host", "search.example.org")], 403),
        ([right, right], 403),
        ([], 403),
    ):
        assert (await ask(app, "/tools", bearer(token), *headers))[0] == status


async def test_behind_a_proxy_nobody_reads_the_numbers_without_a_token(door: tuple[CallerList, Service]) -> None:
    forwarded = ("X-Forwarded-For", "127.0.0.1")
    assert (await ask(group(door), "/metrics", client="127.0.0.1"))[0] == 200
    assert (await ask(group(door), "/metrics", forwarded))[0] == 401
    assert (await ask(group(door, behind_proxy=True), "/metrics", forwarded, client="127.0.0.1"))[0] == 401


async def test_a_list_that_is_damaged_while_the_server_runs_lets_nobody_in(door: tuple[CallerList, Service]) -> None:
    token = door[0].add("one", [], ["reading"])
    app = group(door)
    assert (await ask(app, "/tools", bearer(token)))[0] == 200
    door[0].path.write_text("{")
    assert (await ask(app, "/tools", bearer(token)))[0] == 401
    assert (await ask(app, "/health"))[0] == 200


async def test_a_message_of_mcp_that_does_not_come_is_408() -> None:
    said: list[MutableMapping[str, Any]] = []
    parts = [{"type": "http.request", "body": b'{"jsonrpc":', "more_body": True}]

    async def receive() -> MutableMapping[str, Any]:
        if not parts:
            await asyncio.Event().wait()
        return parts.pop()

    async def send(message: MutableMapping[str, Any]) -> None:
        said.append(message)

    async def never(*_: Any) -> None:
        raise AssertionError("it was passed on")

    await Reader(never, seconds=0.01)({"type": "http", "method": "POST"}, receive, send)
    assert said[0]["status"] == 408
    assert "0.01 seconds" in json.loads(said[1]["body"])["error"]["message"]


# ------------------------------------------------------------------ connections


Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def listens(app: Group) -> AsyncIterator[Callable[[], Awaitable[Ends]]]:
    """Serves the application on a port; what it yields makes a connection to it."""
    over = asyncio.Event()
    with listening("--host", "127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        serving = asyncio.create_task(serve_until(app, listener, over.wait()))
        try:
            yield lambda: asyncio.open_connection("127.0.0.1", port)
        finally:
            over.set()
            await asyncio.wait_for(serving, PATIENCE_S)


async def status_over(ends: Ends, token: str, *more: str) -> int:
    """Asks for the metrics on this connection and returns the status of the answer, which is read to its end."""
    head = ["GET /metrics HTTP/1.1", "Host: here", f"Authorization: Bearer {token}", *more]
    ends[1].write("\r\n".join([*head, "", ""]).encode())
    answer = await asyncio.wait_for(ends[0].readuntil(b"\r\n\r\n"), PATIENCE_S)
    length = re.search(rb"content-length: (\d+)", answer)
    assert length is not None
    await asyncio.wait_for(ends[0].readexactly(int(length[1])), PATIENCE_S)
    return int(answer.split()[1])


@pytest.mark.parametrize(
    ("more", "begun"),
    [
        ([], b"G"),
        ([], b"GET /metrics HTTP/1.1\r\nHost: "),
        (["Content-Length: 1000"], b"x"),
        (["Transfer-Encoding: chunked"], b"3e8\r\nx"),
    ],
)
async def test_a_request_that_begins_and_does_not_go_on_ends_its_connection(
    door: tuple[CallerList, Service], more: list[str], begun: bytes
) -> None:
    """Also after a valid one, and if what comes is the rest of a request that is answered already."""
    token = door[0].add("one", [], ["reading"])
    async with listens(group(door, seconds=0.05)) as connect:
        ends = await connect()
        assert await status_over(ends, token, *more) == 200
        ends[1].write(begun)
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.wait_for(ends[0].read(), PATIENCE_S) == b""
        ends[1].close()


async def test_a_caller_with_too_many_connections_is_told_so_and_the_next_caller_is_served(
    door: tuple[CallerList, Service],
) -> None:
    one, two = (door[0].add(name, [], ["reading"]) for name in ("one", "two"))
    async with listens(group(door)) as connect:
        held = [await connect() for _ in range(2 * AT_ONCE + 1)]
        statuses = [await status_over(ends, one) for ends in held]
        assert statuses == [*[200] * (2 * AT_ONCE), 503]
        others = await connect()
        assert await status_over(others, two) == 200
        assert await status_over(held[0], one) == 200
        for ends in (*held, others):
            ends[1].close()


async def test_a_proxy_may_have_as_many_connections_as_it_wants(door: tuple[CallerList, Service]) -> None:
    token = door[0].add("one", [], ["reading"])
    async with listens(group(door, behind_proxy=True)) as connect:
        held = [await connect() for _ in range(2 * AT_ONCE + 1)]
        assert {await status_over(ends, token) for ends in held} == {200}
        for ends in held:
            ends[1].close()
