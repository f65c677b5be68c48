"""Places of team snapshots: a fetched file is complete, a listed one stays listed, and a sign-in goes to no other
server."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from sidecar.errors import SidecarError, SnapshotUnusable
from sidecar.parts.network import Server, Slowest, Way
from sidecar.parts.team import heads
from sidecar.parts.team.heads import Head
from sidecar.parts.team.places import PACE, FolderPlace, SignIn, WebPlace, opened
from tests.patience import PATIENCE_S
from tests.shelf_server import ShelfServer, answer, cut_off_after, says

CONTENT = bytes(range(256)) * 5000


@pytest.fixture
def server() -> Iterator[ShelfServer]:
    with ShelfServer().running() as running:
        yield running


def head(number: int = 1, content: bytes = CONTENT) -> Head:
    sha256 = hashlib.sha256(content).hexdigest()
    return Head(f"{number:040x}", "", sha256, len(content), "2026-11-23", 3, 7, {"format": "1"})


def file_of(folder: Path, content: bytes = CONTENT) -> Path:
    path = folder / "made.zst"
    path.write_bytes(content)
    return path


def put_one(server: ShelfServer, folder: Path, number: int = 1) -> None:
    with opened(server.source, SignIn(), "snapshotSource") as place:
        place.put(file_of(folder), head(number))


def test_what_is_put_is_listed_and_fetched_from_a_folder_and_from_a_server(server: ShelfServer, tmp_path: Path) -> None:
    for source in (str(tmp_path / "shelf"), server.source):
        with opened(source, SignIn(), "snapshotSource") as place:
            assert place.heads() == []
            place.put(file_of(tmp_path), head())
            place.put(file_of(tmp_path), head(2))
            assert place.heads() == [head(2), head(1)]
            target = tmp_path / "got"
            place.fetch(head().needs[0], target, lambda done: None)
            assert target.read_bytes() == CONTENT
            target.unlink()


def test_a_download_that_was_cut_off_goes_on_where_it_ended(server: ShelfServer, tmp_path: Path) -> None:
    put_one(server, tmp_path)
    name = f"{head().sha256}.zst"
    server.faults[name] = cut_off_after(700_000)
    target, reported = tmp_path / "got", list[int]()
    with opened(server.source, SignIn(), "snapshotSource") as place:
        with pytest.raises(SnapshotUnusable, match="what has been downloaded is kept"):
            place.fetch(head().needs[0], target, reported.append)
        server.faults.clear()
        place.fetch(head().needs[0], target, reported.append)
    assert target.read_bytes() == CONTENT
    ranges = [headers["Range"] for _, path, headers in server.asked if path.endswith(name) and "Range" in headers]
    assert len(ranges) == 1
    assert 0 < int(ranges[0].removeprefix("bytes=").rstrip("-")) <= 700_000
    assert reported[-1] == len(CONTENT)


def crawl(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    for at in range(len(content)):
        handler.wfile.write(content[at : at + 1])
        time.sleep(0.005)  # slower than anybody would wait, until the client closes the connection


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (says(200, b"<!DOCTYPE html>" * 90_000), "not the expected file|longer than"),
        (says(200, CONTENT[:-1] + b"!"), "is not the expected file: its SHA-256"),
        (says(200, CONTENT + b"more"), "longer than the expected"),
        (says(500, b""), "answers 500: the server failed; try again later"),
        (says(404, b""), "answers 404: there is no such file"),
        (says(401, b""), "answers 401: it asks for a login"),
        (
            says(302, b"", Location="http://example.org/evil"),
            "redirects to http://example.org/evil, which is not https",
        ),
        (crawl, "too slow"),
    ],
)
def test_a_server_that_does_not_send_the_file_is_named_with_what_it_did(
    server: ShelfServer, tmp_path: Path, fault: object, reason: str
) -> None:
    put_one(server, tmp_path)
    server.faults[f"{head().sha256}.zst"] = fault  # type: ignore[assignment]
    slowest = Slowest(grace_s=0.05, bytes_per_s=1e9) if fault is crawl else Slowest()
    with (
        opened(server.source, SignIn(), "snapshotSource", slowest) as place,
        pytest.raises(SnapshotUnusable, match=reason),
    ):
        place.fetch(head().needs[0], tmp_path / "got", lambda done: None)
    assert not (tmp_path / "got").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"<!DOCTYPE html><title>Sign in</title>",
        b"[" * 50_000,
        b"{}",
        b'{"format": 1, "heads": [{"commit": "x"}]}',
        b'{"format": 1, "heads": [7]}',
        heads.written([head()]).replace(head().sha256.encode(), b"../../../etc/passwd"),
        heads.written([head()]).replace(b'"size": ', b'"size": -'),
        heads.written([head()]).replace(b"2026-11-23", b"2026\\u001b[31m"),
    ],
)
def test_a_list_that_is_none_is_refused(server: ShelfServer, tmp_path: Path, content: bytes) -> None:
    server.held["/team/heads.json"] = content
    (tmp_path / "heads.json").write_bytes(content)
    for source in (server.source, str(tmp_path)):
        with (
            opened(source, SignIn(), "snapshotSource") as place,
            pytest.raises(SnapshotUnusable, match="no list of snapshots"),
        ):
            place.heads()


def test_a_list_of_a_newer_format_says_so(tmp_path: Path) -> None:
    (tmp_path / "heads.json").write_bytes(b'{"format": 2, "heads": []}')
    with pytest.raises(SnapshotUnusable, match="newer sidecar"):
        FolderPlace(tmp_path).heads()


def test_two_jobs_at_once_lose_no_entry_of_one_another(server: ShelfServer, tmp_path: Path) -> None:
    """Both read the list before either writes it: the barrier holds the first two writes of the list until then."""
    barrier, first = threading.Barrier(2), {"left": 2}

    def before_put(path: str) -> None:
        with server.lock:
            waits = path.endswith("heads.json") and first["left"] > 0
            first["left"] -= waits
        if waits:
            barrier.wait(PATIENCE_S)

    server.before_put = before_put
    file = file_of(tmp_path)

    def job(number: int) -> None:
        with opened(server.source, SignIn(), "snapshotSource") as place:
            place.put(file, head(number))

    jobs = [threading.Thread(target=job, args=(number,)) for number in (1, 2)]
    for one in jobs:
        one.start()
    for one in jobs:
        one.join()
    with opened(server.source, SignIn(), "snapshotSource") as place:
        assert {one.commit for one in place.heads()} == {head(1).commit, head(2).commit}


def test_many_jobs_lose_no_entry_in_a_folder(tmp_path: Path) -> None:
    file = file_of(tmp_path)
    jobs = [threading.Thread(target=FolderPlace(tmp_path / "shelf").put, args=(file, head(n))) for n in range(8)]
    for one in jobs:
        one.start()
    for one in jobs:
        one.join()
    assert len(FolderPlace(tmp_path / "shelf").heads()) == 8


@pytest.mark.parametrize("reads", [1, 2])
def test_on_a_server_that_knows_no_conditions_an_entry_that_another_job_has_lost_is_given_again(
    server: ShelfServer, tmp_path: Path, reads: int
) -> None:
    """The other job stores its list before the entry is first read back, or between that and the second time."""
    server.conditions = False
    put_one(server, tmp_path)
    asked: list[str] = []

    def lose(handler: BaseHTTPRequestHandler, content: bytes) -> None:
        asked.append(handler.path)
        if len(asked) == 1 + reads:
            server.held["/team/heads.json"] = content = heads.written([head(1), head(3)])
        answer(handler, 200, content)

    server.faults["heads.json"] = lose
    with Server(server.source, Way("snapshotSource", SnapshotUnusable)) as opened_server:
        WebPlace(opened_server, later_s=0).put(file_of(tmp_path), head(2))
        assert {one.commit for one in WebPlace(opened_server).heads()} == {head(n).commit for n in (1, 2, 3)}


@pytest.mark.parametrize("stored", [False, True])
def test_on_a_server_that_knows_no_conditions_a_job_that_stalls_reads_the_list_again_before_it_stores_one(
    server: ShelfServer, tmp_path: Path, stored: bool
) -> None:
    """The list that the slow job reads, before it stores its entry or after that, is under way until the other job has
    stored its entry and has seen it there after its wait. So the slow job has stalled for longer than another job
    waits."""
    server.conditions = False
    put_one(server, tmp_path)
    file, under_way, done = file_of(tmp_path), threading.Event(), threading.Event()

    def stall(handler: BaseHTTPRequestHandler, content: bytes) -> None:
        if (head(2).commit.encode() in content) is stored:
            del server.faults["heads.json"]
            under_way.set()
            assert done.wait(PATIENCE_S)
        answer(handler, 200, content)

    server.faults["heads.json"] = stall

    def job(number: int) -> None:
        with Server(server.source, Way("snapshotSource", SnapshotUnusable)) as own:
            WebPlace(own, later_s=0.05, stalled_s=0.04).put(file, head(number))

    slow = threading.Thread(target=job, args=(2,))
    slow.start()
    assert under_way.wait(PATIENCE_S)
    job(3)
    done.set()
    slow.join()
    assert {one.commit for one in heads.parse(server.held["/team/heads.json"], "")} == {
        head(number).commit for number in (1, 2, 3)
    }


@pytest.mark.parametrize("stored", [0, 1])
def test_where_readers_see_half_a_list_a_push_reads_it_again(server: ShelfServer, tmp_path: Path, stored: int) -> None:
    """The half is read before this job has stored its entry, or after that."""
    server.conditions = False
    put_one(server, tmp_path)
    asked: list[str] = []

    def half(handler: BaseHTTPRequestHandler, content: bytes) -> None:
        asked.append(handler.path)
        is_half = stored < len(asked) <= stored + 2
        answer(handler, 200, content[: len(content) // 2] if is_half else content)

    server.faults["heads.json"] = half
    with Server(server.source, Way("snapshotSource", SnapshotUnusable)) as own:
        WebPlace(own, later_s=0).put(file_of(tmp_path), head(2))
    assert [one.commit for one in heads.parse(server.held["/team/heads.json"], "")] == [head(2).commit, head(1).commit]


def test_a_server_that_keeps_conditions_is_asked_so_once_and_its_list_stays(
    server: ShelfServer, tmp_path: Path
) -> None:
    put_one(server, tmp_path)
    before = server.held["/team/heads.json"]
    server.asked.clear()
    put_one(server, tmp_path)
    asked = [headers.get("If-None-Match") for method, path, headers in server.asked if method == "PUT"]
    assert (asked, server.held["/team/heads.json"]) == ([None, "*"], before)


def test_the_list_keeps_the_last_200_and_one_entry_for_each_commit_and_kind() -> None:
    listed: list[Head] = []
    for number in range(250):
        listed = heads.with_head(listed, head(number))
    assert [one.commit for one in (listed[0], listed[-1])] == [head(249).commit, head(50).commit]
    assert len(heads.with_head(listed, head(100))) == 200


@pytest.mark.parametrize(
    "source", ["http://example.org/x", "ftp://example.org", "relative/folder", "https://u:p@example.org"]
)
def test_a_source_that_is_neither_https_nor_a_folder_is_refused(source: str) -> None:
    with pytest.raises(SidecarError, match="snapshotSource is"), ExitStack() as stack:
        stack.enter_context(opened(source, SignIn(), "snapshotSource")).heads()


def test_a_server_that_says_nothing_is_given_up_after_the_time_of_the_caller(server: ShelfServer) -> None:
    over = threading.Event()
    server.faults["heads.json"] = lambda handler, _: over.wait(60)
    try:
        with (
            opened(server.source, SignIn(), "snapshotSource", Slowest(silent_s=0.1)) as place,
            pytest.raises(SnapshotUnusable, match=r"timed out, because no content was transferred for 0\.1 s"),
        ):
            place.heads()
    finally:
        over.set()


def test_a_new_index_waits_ten_seconds_for_a_server_that_says_nothing_or_trickles() -> None:
    assert max(PACE.silent_s, PACE.grace_s) == 10


def test_a_server_may_take_longer_to_store_a_file_than_to_answer(server: ShelfServer) -> None:
    server.before_put = lambda path: threading.Event().wait(0.5)
    with Server(server.source, Way("snapshotSource", SnapshotUnusable, pace=Slowest(silent_s=0.1))) as asked:
        assert asked.put(f"{server.source}/one", b"content")


def test_a_sign_in_goes_with_every_request(server: ShelfServer, tmp_path: Path) -> None:
    with opened(server.source, SignIn("Bearer t"), "snapshotSource") as place:
        place.put(file_of(tmp_path), head())
    assert {headers.get("Authorization") for _, _, headers in server.asked} == {"Bearer t"}


def test_a_server_that_dies_while_it_is_written_leaves_no_entry(server: ShelfServer, tmp_path: Path) -> None:
    def die(path: str) -> None:
        raise ConnectionAbortedError

    server.before_put = die
    with opened(server.source, SignIn(), "snapshotSource") as place:
        with pytest.raises(SnapshotUnusable, match="Try again when the network works"):
            place.put(file_of(tmp_path), head())
        assert place.heads() == []
