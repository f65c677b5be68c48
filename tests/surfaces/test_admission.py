"""Connections that have not shown a token: how many may wait, and which are closed, by user."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from sidecar.surfaces.loopback.admission import Admission
from sidecar.surfaces.loopback.listening import listening
from sidecar.surfaces.loopback.peers import peer_of
from tests.patience import PATIENCE_S


class Closed(list[str]):
    """The names of the connections that were closed."""

    def of(self, name: str) -> Callable[[], None]:
        return lambda: self.append(name)


async def test_a_flood_displaces_its_own_connections_and_nobody_elses() -> None:
    admission, closed = Admission(most_unknown=3), Closed()
    admission.arrive("ours", "user 1", closed.of("ours"))
    for number in range(5):
        admission.arrive(number, "user 2", closed.of(f"theirs {number}"))
    assert closed == ["theirs 0", "theirs 1", "theirs 2"]
    assert admission.admit("ours")


async def test_whoever_was_admitted_is_not_counted_among_the_unknown_nor_timed() -> None:
    admission, closed = Admission(most_unknown=1, seconds=0.01), Closed()
    admission.arrive("ours", "user 1", closed.of("ours"))
    assert admission.admit("ours")
    over = asyncio.Event()
    admission.arrive("theirs", "user 1", over.set)
    await asyncio.wait_for(over.wait(), PATIENCE_S)
    assert closed == []


async def test_more_than_may_be_served_are_not_admitted_until_one_leaves() -> None:
    admission, closed = Admission(most_admitted=1), Closed()
    for name in ("first", "second"):
        admission.arrive(name, "user 1", closed.of(name))
    assert admission.admit("first") and admission.admit("first")
    assert not admission.admit("second")
    admission.leave("first")
    assert admission.admit("second")


async def test_no_caller_has_more_than_its_share_and_another_still_has_a_place() -> None:
    admission = Admission(most_of_each=2)
    for name in ("one a", "one b", "one c", "two a"):
        admission.arrive(name, "user 1", lambda: None)
    assert [admission.admit(name, name[:3]) for name in ("one a", "one b", "one c", "two a")] == [
        True,
        True,
        False,
        True,
    ]
    admission.leave("one a")
    assert admission.admit("one c", "one")


async def test_when_every_place_is_taken_a_caller_with_fewer_gets_one_of_the_caller_with_the_most() -> None:
    """It is the one on which nothing was asked for the longest time."""
    admission, closed = Admission(most_admitted=4), Closed()
    for name in ("one a", "one b", "one c", "two a", "two b", "one d", "two c", "two d"):
        admission.arrive(name, "user 1", closed.of(name))
    assert all(admission.admit(name, name[:3]) for name in ("one a", "one b", "one c", "two a", "one a"))
    assert admission.admit("two b", "two") and closed == ["one b"]
    assert not admission.admit("one d", "one") and not admission.admit("two c", "two")
    assert closed == ["one b"]
    admission.leave("one b")
    assert admission.admit("one a", "one") and not admission.admit("two d", "two")


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs Linux, and root to be another user")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_user_of_a_connection_is_the_one_who_has_made_it(host: str) -> None:
    connects = "import encodings.idna, os, socket, sys; os.setuid(int(sys.argv[3]));"
    connects += "socket.create_connection((sys.argv[1], int(sys.argv[2]))).recv(1)"
    with listening("--host", host, 0) as listener:
        listener.setblocking(True)
        words = [sys.executable, "-c", connects, host, str(listener.getsockname()[1])]
        for user in (os.geteuid(), 65534):
            with subprocess.Popen([*words, str(user)]) as process:
                connection, _ = listener.accept()
                with connection:
                    peer = peer_of(connection)
                process.wait(PATIENCE_S)
            assert peer == f"user {user}"
