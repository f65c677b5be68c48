"""Team snapshots from a server, and failures on the way: the index is then made from nothing, or stays as it was."""

from __future__ import annotations

import random
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.engine.team.push import push
from sidecar.errors import Cancelled, DiskFull, SnapshotUnusable
from sidecar.settings.load import Settings
from tests.chroma_server import Answer, certificate, listening
from tests.engine.disks import mounted
from tests.engine.kills import WORDS
from tests.engine.projects import FILES, Project, find, image, index
from tests.engine.teams import Team, get
from tests.patience import PATIENCE_S
from tests.shelf_server import ShelfServer, cut_off_after, says

pytestmark = pytest.mark.process

A_BATCH = 64
"""How many small files are written and embedded together."""


@pytest.fixture
def server() -> Iterator[ShelfServer]:
    with ShelfServer().running() as running:
        yield running


@pytest.fixture
def pushed(team: Team, server: ShelfServer) -> str:
    """Returns the name of a snapshot's file on the server."""
    made = team.make()
    push(team.shelf, server.source, Settings())
    return Path(made.path).name


def test_a_snapshot_goes_to_a_server_by_put_and_comes_from_there(team: Team, server: ShelfServer, pushed: str) -> None:
    assert server.paths("PUT") == [f"/team/{pushed}", *["/team/heads.json"] * 2]
    developer = team.clone(snapshotSource=server.source)
    workspace = developer.open()
    assert index(workspace).embedded == 0
    assert image(workspace) == image(team.nothing_like(developer).opened[0])
    origin = workspace.status().origin
    assert origin is not None
    assert origin.source == server.source


def test_the_source_can_name_the_repository(team: Team, server: ShelfServer, pushed: str) -> None:
    developer = team.clone(snapshotSource=server.source.removesuffix("team") + "{repository}")
    developer.git("remote", "set-url", "origin", "git@example.org:team.git")
    assert index(developer.open()).embedded == 0
    strange = team.clone("strange", snapshotSource=f"{server.source}/{{repository}}")
    strange.git("remote", "set-url", "origin", "https://example.org/../../etc")
    assert "no remote called origin" in index(strange.open()).notice


def test_what_crosses_the_wire_holds_no_text_and_asks_for_nothing_but_the_list_and_the_file(
    team: Team, server: ShelfServer, pushed: str
) -> None:
    assert b"exponential backoff" not in b"".join(server.held.values())
    index(team.clone(snapshotSource=server.source).open())
    assert server.paths("GET")[-2:] == ["/team/heads.json", f"/team/{pushed}"]
    (_, _, headers) = server.asked[-1]
    assert sorted(headers) == ["Accept", "Accept-Encoding", "Connection", "Host", "User-Agent"]


@pytest.mark.parametrize(
    ("name", "fault", "reason"),
    [
        ("heads.json", says(500, b""), "answers 500"),
        ("heads.json", says(200, b"<html>Sign in</html>"), "no list of snapshots"),
        ("file", says(503, b""), "answers 503"),
        ("file", says(200, b"<html>Sign in</html>"), "ended after 20 of"),
        ("file", cut_off_after(100), "what has been downloaded is kept"),
    ],
)
def test_a_server_that_fails_costs_the_snapshot_and_not_the_index(
    team: Team, server: ShelfServer, pushed: str, name: str, fault: object, reason: str
) -> None:
    server.faults[pushed if name == "file" else name] = fault  # type: ignore[assignment]
    workspace = team.clone(snapshotSource=server.source).open()
    report = index(workspace)
    assert reason in report.notice
    assert report.notice.endswith("The index was made from nothing.")
    assert workspace.status().status == "ready"
    before = image(workspace)
    with pytest.raises(SnapshotUnusable, match=reason):
        get(workspace)
    assert image(workspace) == before


def test_a_server_with_the_certificate_of_another_name_is_told_nothing_and_nothing_is_taken(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.make()

    def shelf(_method: str, path: str, _headers: dict[str, str], _content: bytes) -> Answer:
        return 200, "application/octet-stream", (team.shelf / Path(path).name).read_bytes()

    for name, fits in (("localhost", True), ("other.example", False)):
        trusted = certificate(tmp_path, name)
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        with listening(shelf, trusted) as tls:
            workspace = team.clone(name, snapshotSource=f"https://localhost:{tls.port}/team").open()
            report = index(workspace)
            assert (bool(tls.heard), report.embedded == 0) == (fits, fits)
            assert ("Hostname mismatch, certificate is not valid for 'localhost'" in report.notice) is not fits
            if not fits:
                assert "so nothing was sent" in report.notice
                assert "Try again when the network works" not in report.notice
                assert report.notice.endswith("The index was made from nothing.")
                assert workspace.status().origin is None
                before = image(workspace)
                with pytest.raises(SnapshotUnusable, match="Hostname mismatch"):
                    get(workspace)
                assert image(workspace) == before


def test_nobody_at_the_address_is_said_and_the_index_is_made(team: Team) -> None:
    report = index(team.clone(snapshotSource="http://127.0.0.1:9/team").open())
    assert "http://127.0.0.1:9/team/heads.json" in report.notice
    assert report.embedded > 0


def test_a_download_that_is_cancelled_leaves_no_index_and_goes_on_later(
    team: Team, server: ShelfServer, pushed: str
) -> None:
    workspace = team.clone(snapshotSource=server.source).open()
    seen: list[str] = []
    with pytest.raises(Cancelled, match="continues from there"):
        workspace.refresh(lambda *now: seen.append(now[2]), lambda: bool(seen), True)
    assert workspace.status().status == "not_found"
    assert index(workspace).embedded == 0


def test_a_sign_in_goes_to_the_server_of_the_setting_and_no_other(
    team: Team, server: ShelfServer, pushed: str, tmp_path: Path
) -> None:
    sign_in = tmp_path / "sign-in"
    sign_in.write_text("Bearer of-mine\n")
    signed = team.clone("signed", snapshotSource=server.source, snapshotSignIn=str(sign_in))
    assert index(signed.open()).embedded == 0
    assert server.asked[-1][2]["Authorization"] == "Bearer of-mine"
    elsewhere = team.clone(
        "elsewhere", snapshotSource="https://example.org", snapshotSignIn=str(sign_in), offline=False
    )
    get(elsewhere.open(), server.source)
    assert "Authorization" not in server.asked[-1][2]
    sign_in.unlink()
    assert "which is missing" in index(team.clone("lost", **signed.flags).open()).notice


def test_a_server_that_wants_a_sign_in_which_is_for_another_one_is_said_to_have_got_none(
    team: Team, server: ShelfServer, pushed: str, tmp_path: Path
) -> None:
    sign_in = tmp_path / "sign-in"
    sign_in.write_text("Bearer of-mine\n")
    server.faults["heads.json"] = says(401, b"")
    elsewhere = Settings(snapshot_source="https://example.org/team", snapshot_sign_in=str(sign_in))
    not_sent = "snapshotSignIn was not sent: it is for the server of snapshotSource, which is"
    with pytest.raises(SnapshotUnusable, match=f"asks for a login. {not_sent} https://example.org/team"):
        push(team.shelf, server.source, elsewhere)
    nowhere = team.clone(snapshotSignIn=str(sign_in)).open()
    with pytest.raises(SnapshotUnusable, match=f"{not_sent} not set"):
        get(nowhere, server.source)


def test_a_file_that_was_damaged_since_it_was_made_is_not_sent(team: Team, server: ShelfServer) -> None:
    file = Path(team.make().path)
    file.write_bytes(file.read_bytes()[:-1])
    for said in ("is damaged, so nothing was sent", "is listed there, but missing"):
        with pytest.raises(SnapshotUnusable, match=said):
            push(team.shelf, server.source, Settings())
        file.unlink(missing_ok=True)
    assert server.paths("PUT") == []


def test_offline_sends_nothing(team: Team, server: ShelfServer) -> None:
    team.make()
    with pytest.raises(SnapshotUnusable, match="offline forbids"):
        push(team.shelf, server.source, Settings(offline=True))
    assert server.asked == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path, "200m") as folder:
        yield folder


def resized(disk: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", disk], check=True)


def many_files(team: Team) -> None:
    words = random.Random(5)
    for number in range(150):
        body = "\n".join(
            f"    {words.choice(WORDS)} = {words.choice(WORDS)}_{words.randrange(10**6)}" for _ in range(60)
        )
        team.ci.write(f"src/many/m{number}.py", f"def f{number}():\n{body}\n")
    team.commit("many")


def test_a_full_disk_at_each_step_leaves_the_index_as_it_was(team: Team, small_disk: Path) -> None:
    """Gives the disk more and more room beyond what the index takes, until a snapshot can be taken over."""
    many_files(team)
    team.make()
    developer = team.clone()
    developer.home = small_disk
    workspace = developer.open()
    index(workspace)
    before = image(workspace, store=False)
    used = sum(path.stat().st_blocks * 512 for path in small_disk.rglob("*"))
    refusals = []
    for room in range(100_000, 20_000_000, 400_000):
        resized(small_disk, str(used + room))
        try:
            report = get(workspace, team.shelf)
        except DiskFull as error:
            refusals.append(error.detail)
            assert find(workspace, "expire cookies")
            assert image(workspace, store=False) == before
            assert not (Path(workspace.status().index_path) / "download").exists()
        else:
            break
    assert len(refusals) > 2
    assert re.search(r"The snapshot has 0\.[1-9] MB and needs [1-9]\.\d MB", refusals[0])
    assert report.embedded == 0
    assert image(workspace, store=False) == before


def test_a_first_index_that_a_full_disk_left_empty_starts_from_the_snapshot_when_there_is_room(
    team: Team, small_disk: Path
) -> None:
    many_files(team)
    made = team.make()
    developer = team.clone(snapshotSource=str(team.shelf))
    developer.home = small_disk
    workspace = developer.open()
    resized(small_disk, "400k")
    with pytest.raises(DiskFull, match="Free some space"):
        index(workspace)
    assert (workspace.status().status, workspace.status().files) == ("failed", 0)
    resized(small_disk, "200m")
    report = index(workspace)
    assert (report.embedded, made.commit[:10] in report.notice) == (0, True)
    assert image(workspace) == image(team.nothing_like(developer).opened[0])


def test_a_disk_too_full_for_a_snapshot_and_for_an_index_from_nothing_is_told_with_both_reasons(
    team: Team, small_disk: Path
) -> None:
    many_files(team)
    team.make()
    developer = team.clone(snapshotSource=str(team.shelf))
    developer.home = small_disk
    workspace = developer.open()
    resized(small_disk, "400k")
    with pytest.raises(DiskFull, match=r"Free some space.* could not start from a snapshot: .*snapshot has 0\.\d MB"):
        index(workspace)
    developer.close()
    resized(small_disk, "480k")  # room for the lock, which would be the first that cannot be written
    developer.flags = {"snapshotSource": str(team.shelf.with_name("nowhere"))}
    with pytest.raises(DiskFull, match=r"Free some space.* could not start from a snapshot: .*nowhere"):
        index(developer.open())


def test_a_first_index_that_was_ended_after_its_first_files_goes_on_with_its_vectors(team: Team) -> None:
    """The second batch is read only when the first has its vectors, so that the third is not begun."""
    many_files(team)
    team.make()
    developer = team.clone()
    embedded, read = threading.Event(), list[str]()

    def before_reading(path: str) -> None:
        read.append(path)
        if len(read) > A_BATCH:
            assert embedded.wait(PATIENCE_S)

    def note(done: int, total: int, message: str) -> None:
        if done:
            embedded.set()

    developer.before_reading = before_reading
    with pytest.raises(Cancelled):
        developer.open().refresh(note, embedded.is_set, True)
    developer.close()
    developer.flags = {"snapshotSource": str(team.shelf)}
    report = index(developer.open())
    assert "snapshot" not in report.notice
    assert report.unchanged > 0
    assert report.embedded < report.code.chunks + report.docs.chunks


def test_a_full_disk_while_a_snapshot_is_made_leaves_the_folder_without_half_a_file(
    team: Team, small_disk: Path, project: Project
) -> None:
    many_files(team)
    team.shelf = small_disk
    resized(small_disk, "100k")
    with pytest.raises(DiskFull, match="Free some space"):
        team.make()
    assert [path.name for path in small_disk.iterdir()] == []
    resized(small_disk, "100m")
    assert team.make().files == len(FILES) + 150
