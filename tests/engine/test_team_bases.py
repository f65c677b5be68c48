"""A team snapshot that adds to a base is small, needs both files, and gives an index equal to one made from nothing."""

from __future__ import annotations

import hashlib
import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.engine.team import rows
from sidecar.engine.team.bases import KeptBases
from sidecar.engine.team.blocks import HASH_BYTES
from sidecar.engine.team.push import push
from sidecar.errors import SnapshotUnusable
from sidecar.model.answers import SnapshotReport
from sidecar.parts.team import heads
from sidecar.parts.team.container import name_of, pack, unpack
from sidecar.parts.team.heads import Head
from sidecar.parts.team.places import FolderPlace
from sidecar.settings.load import Settings
from tests.engine.kills import WORDS
from tests.engine.projects import FILES, find, image, index
from tests.engine.teams import Team, get
from tests.engine.test_team_snapshots import answers, check_it_is_a_miss, key_pair
from tests.shelf_server import ShelfServer

pytestmark = pytest.mark.process

MANY = 80


def many_files(team: Team) -> None:
    """The number of files, so many that a change of a few is less than a quarter."""
    words = random.Random(5)
    for number in range(MANY):
        lines = (f"    {words.choice(WORDS)} = {words.choice(WORDS)}_{words.randrange(10**6)}" for _ in range(40))
        team.ci.write(f"src/many/m{number:03}.py", f"def f{number}():\n" + "\n".join(lines) + "\n")
    team.ci.write("src/gone.py", "def vanished_quagga():\n    return quagga()\n")
    team.commit("many")


def a_week(team: Team) -> None:
    """Changes a file, moves one, deletes one and adds one."""
    team.ci.write("src/cookies.py", "class CookieJar:\n    def bake(self, oven):\n        return oven.heat()\n")
    team.ci.git("mv", "src/parse.ts", "src/query.ts")
    (team.ci.root / "src/gone.py").unlink()
    team.ci.write("src/fresh.py", "def brand_new(thing):\n    return thing.shine()\n")
    team.commit("a week")


def on_base(team: Team, **more: Any) -> SnapshotReport:
    """Makes a whole snapshot, and a week later one that adds to it."""
    many_files(team)
    team.make(**more)
    a_week(team)
    return team.make(base=team.shelf, **more)


@pytest.fixture
def server() -> Iterator[ShelfServer]:
    with ShelfServer().running() as running:
        yield running


def listed(shelf: Path) -> tuple[Head, Head]:
    """Returns the newest snapshot, and the whole one to which it adds."""
    newest, whole = FolderPlace(shelf).heads()
    return newest, whole


# ---------------------------------------------------------------- both together: the index from nothing


@pytest.mark.parametrize("texts", [False, True])
def test_an_index_from_a_snapshot_and_its_base_is_the_index_from_nothing(team: Team, texts: bool) -> None:
    made = on_base(team, texts=texts)
    newest, whole = listed(team.shelf)
    assert (made.base, made.files, made.notice) == (whole.sha256, len(FILES) + MANY + 1, "")
    assert (newest.files, newest.chunks) == (made.files, made.chunks)
    assert newest.size < whole.size / 4
    developer = team.clone()
    workspace = developer.open()
    report = get(workspace, team.shelf)
    other = team.nothing_like(developer).opened[0]
    every = len(FILES) + MANY + 1
    assert report.embedded == 0
    assert f"{every} of {every} files were taken over" in report.notice
    assert image(workspace) == image(other)
    assert answers(workspace) == answers(other)
    assert find(workspace, "quagga", mode="fts") == []


def test_what_a_developer_has_changed_since_is_read_and_the_rest_is_taken_from_either_file(team: Team) -> None:
    on_base(team)
    developer = team.clone()
    developer.write("src/cookies.py", FILES["src/cookies.py"])  # as in the base
    developer.write("src/fresh.py", "def not_so_new(thing):\n    return thing.fade()\n")
    (developer.root / "src/many/m001.py").unlink()
    workspace = developer.open()
    assert get(workspace, team.shelf).embedded == 1
    other = team.nothing_like(developer).opened[0]
    assert image(workspace) == image(other)
    assert answers(workspace) == answers(other)


def test_a_snapshot_on_a_base_holds_only_files_and_vectors_that_the_base_lacks(team: Team, tmp_path: Path) -> None:
    on_base(team)
    newest, whole = listed(team.shelf)
    for head in (newest, whole):
        (tmp_path / head.sha256).mkdir()
        unpack(team.shelf / name_of(head.sha256), tmp_path / head.sha256, rows.PARTS)
    added_paths = json.loads((tmp_path / newest.sha256 / "files").read_text())["path"]
    assert sorted(added_paths) == ["src/cookies.py", "src/fresh.py", "src/query.ts"]
    added, there = (hashes_of(tmp_path / head.sha256) for head in (newest, whole))
    assert added
    assert not added & there


def hashes_of(folder: Path) -> set[bytes]:
    packed = (folder / "vector-hashes").read_bytes()
    return {packed[at : at + HASH_BYTES] for at in range(0, len(packed), HASH_BYTES)}


def test_a_commit_that_changes_no_indexed_file_makes_a_snapshot_without_rows(team: Team) -> None:
    many_files(team)
    team.make()
    team.ci.git("commit", "--allow-empty", "-m", "nothing")
    made = team.make(base=team.shelf)
    newest, whole = listed(team.shelf)
    assert (newest.base, made.files) == (whole.needs[0], whole.files)
    developer = team.clone()
    workspace = developer.open()
    assert get(workspace, team.shelf).embedded == 0
    assert image(workspace) == image(team.nothing_like(developer).opened[0])


def test_work_goes_on_from_both_as_from_any_index(team: Team) -> None:
    on_base(team)
    developer = team.clone()
    workspace = developer.open()
    get(workspace, team.shelf)
    developer.write("src/late.py", "def arrives_late(train):\n    return train.delay\n")
    assert index(workspace).embedded == 1
    assert find(workspace, "arrives_late", mode="fts") == ["src/late.py"]
    assert image(workspace) == image(team.nothing_like(developer).opened[0])


# ---------------------------------------------------------------- when a base is used, and when not


def test_each_snapshot_adds_to_the_last_whole_one_and_not_to_another_that_adds(team: Team) -> None:
    first = on_base(team)
    size = listed(team.shelf)[0].size
    team.ci.write("src/more.py", "def more():\n    return 1\n")
    team.commit("more")
    second = team.make(base=team.shelf)
    assert second.base == first.base
    assert second.size > size
    assert get(team.clone().open(), team.shelf).embedded == 0


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (lambda team: None, "There are no snapshots at"),
        (lambda team: rewritten(team, team.make()), "more than 25% of the base"),
        (lambda team: rewritten(team, team.make(texts=True), 1), "made with other settings"),
        (lambda team: team.make(), "There is one of this commit"),
    ],
)
def test_without_a_fitting_base_or_with_too_many_changes_the_snapshot_is_whole_and_says_why(
    team: Team, prepare: Callable[[Team], object], reason: str
) -> None:
    many_files(team)
    prepare(team)
    made = team.make(base=team.shelf)
    assert reason in made.notice
    assert made.base == ""
    assert FolderPlace(team.shelf).heads()[0].base is None
    assert [path for path in team.shelf.iterdir() if path.name.startswith((".base", ".making"))] == []
    assert get(team.clone().open(), team.shelf).embedded == 0


def rewritten(team: Team, made: SnapshotReport, number: int = 60) -> None:
    """Changes so many files after the snapshot that was made."""
    assert made.path
    for path in sorted((team.ci.root / "src/many").iterdir())[:number]:
        path.write_text(path.read_text().replace("=", "+="))
    team.commit("rewritten")


def test_one_file_can_be_named_as_the_base(team: Team) -> None:
    many_files(team)
    old = team.make()
    a_week(team)
    team.make()
    team.ci.write("src/more.py", "def more():\n    return 1\n")
    team.commit("more")
    assert team.make(base=old.path).base == Path(old.path).stem


def test_a_list_of_whole_snapshots_is_as_it_was_and_one_that_adds_is_of_another_format(team: Team) -> None:
    """So an older sidecar, which knows no bases, skips snapshots that add to one, and takes the last whole one."""
    on_base(team)
    newest, whole = json.loads((team.shelf / "heads.json").read_text())["heads"]
    assert "base" not in whole
    assert (whole["kind"]["format"], newest["kind"]["format"]) == ("3", "4")
    assert newest["base"] == {"sha256": whole["sha256"], "size": whole["size"], "signature": ""}


# ---------------------------------------------------------------- what is fetched


def test_a_base_that_is_kept_is_not_fetched_again_and_a_damaged_one_is(team: Team, server: ShelfServer) -> None:
    on_base(team)
    push(team.shelf, server.source, Settings())
    newest, whole = (f"/team/{name_of(head.sha256)}" for head in listed(team.shelf))
    assert server.paths("PUT") == [whole, *["/team/heads.json"] * 2, newest, *["/team/heads.json"] * 2]
    developer = team.clone(snapshotSource=server.source)
    workspace = developer.open()
    for expected in ([whole, newest], [newest]):
        server.asked.clear()
        assert get(workspace).embedded == 0
        assert server.paths("GET") == ["/team/heads.json", *expected]
    (kept,) = (developer.home / "bases").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1] + b"?")
    server.asked.clear()
    assert get(workspace).embedded == 0
    assert server.paths("GET") == ["/team/heads.json", whole, newest]


def base_file(folder: Path, content: bytes) -> Path:
    file = folder / name_of(hashlib.sha256(content).hexdigest())
    file.write_bytes(content)
    return file


def test_the_bases_used_last_are_kept_although_the_clock_was_ahead_when_others_were_used(tmp_path: Path) -> None:
    shelf, kept = tmp_path / "shelf", KeptBases(tmp_path / "kept")
    shelf.mkdir()
    former = [base_file(shelf, b"former %d" % number) for number in range(3)]
    for number, file in enumerate(former):
        kept.keep(file)
        ahead = (4_000_000_000 + number) * 10**9
        os.utime(tmp_path / "kept" / file.name, ns=(ahead, ahead))
    one, two, three = (base_file(shelf, name) for name in (b"one", b"two", b"three"))
    for file in (one, two):
        kept.keep(file)
    assert [kept.has(file.stem) for file in (*former, one, two)] == [False, False, True, True, True]
    assert kept.bring(former[2].stem, tmp_path / "brought")
    kept.keep(three)
    assert [kept.has(file.stem) for file in (former[2], one, two, three)] == [True, False, True, True]


class EmptiesWhenRead(type(Path())):  # type: ignore[misc]
    """The path of a file. When it is opened, the folder `emptied` loses its files."""

    emptied: Path

    def __fspath__(self) -> str:
        if os.path.lexists(str(self)):
            for file in self.emptied.iterdir():
                file.unlink()
        return str(self)


def test_a_base_is_brought_although_the_folder_of_bases_is_emptied_meanwhile(tmp_path: Path) -> None:
    kept, file = KeptBases(tmp_path / "kept"), base_file(tmp_path, b"one")
    kept.keep(file)
    target = EmptiesWhenRead(tmp_path / "brought")
    target.emptied = tmp_path / "kept"
    assert kept.bring(file.stem, target)
    assert ((tmp_path / "brought").read_bytes(), kept.has(file.stem)) == (b"one", False)


def test_a_base_stays_whatever_has_become_of_another_one(tmp_path: Path) -> None:
    """A link to nothing is listed but has no time, like a file that another process has just removed."""
    kept, file = KeptBases(tmp_path / "kept"), base_file(tmp_path, b"one")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "gone.zst").symlink_to(tmp_path / "nowhere")
    kept.keep(file)
    assert kept.bring(file.stem, tmp_path / "brought")
    assert kept.has(file.stem)
    for number in range(3):
        kept.keep(base_file(tmp_path, b"%d" % number))
    assert len(list((tmp_path / "kept").iterdir())) == 3


def test_a_whole_snapshot_is_kept_where_others_add_to_it(team: Team, server: ShelfServer) -> None:
    on_base(team)
    push(team.shelf, server.source, Settings())
    newest = f"/team/{name_of(listed(team.shelf)[0].sha256)}"
    developer = team.clone(snapshotSource=server.source)
    developer.git("reset", "-q", "--hard", "HEAD~1")
    workspace = developer.open()
    get(workspace)
    developer.git("reset", "-q", "--hard", "origin/main")
    server.asked.clear()
    assert get(workspace).embedded == 0
    assert server.paths("GET") == ["/team/heads.json", newest]


def test_the_base_is_pushed_too_where_it_is_missing_and_asked_for_where_it_is_not_here(
    team: Team, server: ShelfServer, tmp_path: Path
) -> None:
    many_files(team)
    team.make()
    a_week(team)
    team.make(base=team.shelf, shelf=tmp_path / "out")
    with pytest.raises(SnapshotUnusable, match=r"which http://.* does not have. Push to where --base took it from"):
        push(tmp_path / "out", server.source, Settings())
    push(team.shelf, server.source, Settings())
    push(tmp_path / "out", server.source, Settings())
    assert get(team.clone(snapshotSource=server.source).open()).embedded == 0


def test_what_a_killed_process_has_left_of_a_download_is_in_nobodys_way(team: Team) -> None:
    on_base(team)
    workspace = team.clone().open()
    index(workspace)
    left = Path(workspace.status().index_path) / "download" / "parts" / "0"
    left.mkdir(parents=True)
    (left / "files").write_text("half")
    assert get(workspace, team.shelf).embedded == 0


# ---------------------------------------------------------------- what does not fit


def relisted(shelf: Path, **changes: Any) -> None:
    newest, whole = listed(shelf)
    (shelf / "heads.json").write_bytes(heads.written([replace(newest, **changes), whole]))


def remade(shelf: Path, head: Head, part: str, change: Callable[[Any], Any], **header: Any) -> Head:
    """Makes the same file with another part or header and right hashes, as anybody with write access could. Returns
    its entry in the list."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        read = unpack(shelf / name_of(head.sha256), place, rows.PARTS) | header
        raw = (place / part).read_bytes()
        (place / part).write_bytes(change(raw))
        packed = pack(read, {one["name"]: place / one["name"] for one in read.pop("parts")}, shelf)
    return replace(head, sha256=packed.sha256, size=packed.size)


def same(raw: bytes) -> bytes:
    return raw


def another_base(shelf: Path, **header: Any) -> None:
    """The list names another base than the one on which the snapshot was made."""
    _, whole = listed(shelf)
    relisted(shelf, base=remade(shelf, whole, "files", same, **{"by": "somebody else", **header}).needs[0])


def other_base_in_both(shelf: Path, **header: Any) -> None:
    """The snapshot names a base on which it was not made."""
    newest, whole = listed(shelf)
    base = remade(shelf, whole, "files", same, **header).needs[0]
    changed = remade(shelf, newest, "files", same, base=base.sha256)
    (shelf / "heads.json").write_bytes(heads.written([replace(changed, base=base), whole]))


def altered(shelf: Path, which: int) -> None:
    path = shelf / name_of(listed(shelf)[which].sha256)
    path.write_bytes(path.read_bytes()[:-9] + b"different")


def with_part(part: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """Gives the newest snapshot another part."""

    def changed(shelf: Path) -> None:
        newest, whole = listed(shelf)
        made = remade(shelf, newest, part, lambda raw: json.dumps(change(json.loads(raw))).encode())
        (shelf / "heads.json").write_bytes(heads.written([made, whole]))

    return changed


def of_the_base(read: Any) -> Any:
    return {**read, "chunk": [1, *read["chunk"][1:]]}


def without_its_base(shelf: Path) -> None:
    (shelf / name_of(listed(shelf)[1].sha256)).unlink()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without_its_base, "is listed there, but missing"),
        (lambda shelf: altered(shelf, 1), "is damaged: it is not the file that its name says"),
        (lambda shelf: altered(shelf, 0), "is damaged: it is not the file that its name says"),
        (another_base, "made on another base than the list says"),
        (lambda shelf: relisted(shelf, base=None), "made with the format 4"),
        (
            lambda shelf: relisted(shelf, base=None, kind=listed(shelf)[1].kind),
            "header states something else",
        ),
        (lambda shelf: relisted(shelf, base=listed(shelf)[0].needs[1]), "made on another base"),
        (lambda shelf: other_base_in_both(shelf, folder="elsewhere"), "Its base is no whole snapshot"),
        (lambda shelf: other_base_in_both(shelf, kind={"format": "3"}), "Its base is no whole snapshot"),
        (lambda shelf: other_base_in_both(shelf, base="0" * 64), "Its base is no whole snapshot"),
        (lambda shelf: other_base_in_both(shelf, chunks=1), "are not as a snapshot"),
        (with_part("definitions", of_the_base), "are not as a snapshot"),
    ],
)
def test_what_does_not_fit_its_base_is_a_miss_with_a_reason_and_the_index_stays(
    team: Team, change: Callable[[Path], object], reason: str
) -> None:
    on_base(team)
    change(team.shelf)
    if "format 4" in reason:  # otherwise the whole snapshot of an earlier commit would be used
        (newest, _) = listed(team.shelf)
        (team.shelf / "heads.json").write_bytes(heads.written([newest]))
    check_it_is_a_miss(team, reason)


def test_words_on_the_numbers_of_another_base_are_refused(team: Team) -> None:
    """The base has the right number of files but more chunks: no word may be assigned to a chunk that does not contain
    it."""
    on_base(team)
    newest, whole = listed(team.shelf)
    team.ci.git("checkout", "-q", "HEAD~1")
    team.ci.write(
        "src/cookies.py", FILES["src/cookies.py"] + "\n\nclass Other:\n    def one(self):\n        pass\n" * 30
    )
    team.commit("elsewhere")
    team.shelf = team.shelf.with_name("other-shelf")
    team.make()
    (other,) = FolderPlace(team.shelf).heads()
    assert (other.files, other.chunks > whole.chunks) == (whole.files, True)
    team.ci.git("checkout", "-q", "main")
    (team.shelf / name_of(newest.sha256)).write_bytes(
        (team.shelf.with_name("shelf") / name_of(newest.sha256)).read_bytes()
    )
    made = remade(team.shelf, newest, "files", same, base=other.sha256)
    (team.shelf / "heads.json").write_bytes(heads.written([replace(made, base=other.needs[0]), other]))
    with pytest.raises(SnapshotUnusable, match="are not as a snapshot has them"):
        get(team.clone().open(), team.shelf)


def test_where_a_key_is_set_the_base_needs_its_signature_too(team: Team, tmp_path: Path) -> None:
    key, public = key_pair(tmp_path)
    on_base(team, key=key)
    assert get(team.clone("a", snapshotKey=public).open(), team.shelf).embedded == 0
    newest, _ = listed(team.shelf)
    assert newest.base is not None
    relisted(team.shelf, base=replace(newest.base, signature=""))
    with pytest.raises(SnapshotUnusable, match="Its base cannot be used: It is not signed"):
        get(team.clone("b", snapshotKey=public).open(), team.shelf)
    relisted(team.shelf, signature="", base=newest.base)
    with pytest.raises(SnapshotUnusable, match="It is not signed"):
        get(team.clone("c", snapshotKey=public).open(), team.shelf)


def test_a_signed_snapshot_is_not_made_on_a_base_that_nobody_has_signed(team: Team, tmp_path: Path) -> None:
    key, _ = key_pair(tmp_path)
    many_files(team)
    team.make()
    a_week(team)
    made = team.make(base=team.shelf, key=key)
    assert (made.base, "is not signed" in made.notice) == ("", True)
