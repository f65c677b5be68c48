"""What an editor learns about the team's snapshots before it offers an index, without anything being made or
fetched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.engine.team.push import push
from sidecar.errors import SnapshotUnusable
from sidecar.model.terms import never_cancelled, no_progress
from sidecar.settings.load import Settings
from tests.engine.teams import Team
from tests.shelf_server import ShelfServer, says

pytestmark = pytest.mark.process


@pytest.fixture
def server() -> Iterator[ShelfServer]:
    with ShelfServer().running() as running:
        yield running


def test_a_look_names_branch_age_and_size_and_leaves_everything_as_it_is(team: Team, server: ShelfServer) -> None:
    made = team.make()
    push(team.shelf, server.source, Settings())
    developer = team.clone(snapshotSource=server.source)
    developer.write("mine.py", "def mine():\n    return 1\n")
    developer.git("add", ".")
    developer.git("commit", "-m", "mine")
    workspace = developer.open()
    server.asked.clear()
    offer = workspace.find_snapshot()
    assert offer is not None
    assert (offer.branch, offer.commit, offer.ahead) == ("main", made.commit, 1)
    assert (offer.size, offer.files, offer.source) == (made.size, made.files, server.source)
    assert offer.made
    assert server.paths("GET") == ["/team/heads.json"]
    assert workspace.status().status == "not_found"
    assert not workspace.index.exists()


def test_a_commit_of_no_branch_that_origin_begins_with_is_given_no_branch(team: Team) -> None:
    team.ci.git("checkout", "-q", "-b", "release")
    team.ci.write("release.py", "def release():\n    return 2\n")
    team.commit("release")
    team.make()
    team.ci.git("checkout", "-q", "main")
    developer = team.clone(snapshotSource=str(team.shelf))
    developer.git("checkout", "-q", "release")
    offer = developer.open().find_snapshot()
    assert offer is not None
    assert (offer.branch, offer.ahead) == ("", 0)


def test_without_a_source_nobody_is_asked_and_nothing_is_offered(team: Team) -> None:
    team.make()
    assert team.clone().open().find_snapshot() is None


def test_offline_a_folder_is_looked_at_and_a_server_is_not(team: Team, server: ShelfServer) -> None:
    team.make()
    with pytest.raises(SnapshotUnusable, match="offline forbids"):
        team.clone("one", snapshotSource=server.source, offline=True).open().find_snapshot()
    assert server.asked == []
    offer = team.clone("two", snapshotSource=str(team.shelf), offline=True).open().find_snapshot()
    assert offer is not None


@pytest.mark.parametrize(
    ("status", "content", "reason"),
    [(404, b"", "no snapshots at"), (500, b"", "answers 500"), (200, b"<html>Sign in</html>", "no list of snapshots")],
)
def test_what_is_wrong_with_the_source_is_a_reason(
    team: Team, server: ShelfServer, status: int, content: bytes, reason: str
) -> None:
    server.faults["heads.json"] = says(status, content)
    with pytest.raises(SnapshotUnusable, match=reason):
        team.clone(snapshotSource=server.source).open().find_snapshot()


def test_a_workspace_cannot_have_anybody_asked(team: Team, server: ShelfServer, tmp_path: Path) -> None:
    developer = team.clone()
    workspace = developer.open()
    config = Path(workspace.config().config_path)
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'{{"snapshotSource": "{server.source}"}}')
    assert workspace.find_snapshot() is None
    assert server.asked == []


def test_a_download_is_counted_in_megabytes_wherever_its_progress_is_shown(team: Team, server: ShelfServer) -> None:
    size = team.make().size
    push(team.shelf, server.source, Settings())
    workspace = team.clone(snapshotSource=server.source).open()
    said: list[tuple[str, str]] = []

    def note(done: int, total: int, message: str) -> None:
        said.append((message, workspace.status().progress_says))

    workspace.create(note, never_cancelled)
    steps = [message.partition(":")[0] for message, _ in said]
    assert list(dict.fromkeys(steps))[:2] == ["Downloading the snapshot", "Taking over the snapshot"]
    whole = f"{size / 1e6:,.1f}"
    assert (
        said[steps.index("Taking over the snapshot") - 1] == (f"Downloading the snapshot: {whole} of {whole} MB",) * 2
    )
    assert all(message.endswith("files") for message, _ in said if not message.startswith("Downloading"))
    assert all(shown == message for message, shown in said)


def test_an_index_is_made_of_the_files_here_alone_where_a_person_wants_no_snapshot(
    team: Team, server: ShelfServer
) -> None:
    team.make()
    push(team.shelf, server.source, Settings())
    server.asked.clear()
    workspace = team.clone(snapshotSource=server.source).open()
    report = workspace.create(no_progress, never_cancelled, from_snapshot=False)
    assert server.asked == []
    assert report.embedded > 0
    assert not report.notice
    assert workspace.status().status == "ready"
