"""A team snapshot is made from one checkout's index, taken over in another, and gives an index equal to one from
nothing."""

from __future__ import annotations

import base64
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.ingest.prepare import Recall, Recalled
from sidecar.engine.ports import Parts
from sidecar.engine.team import rows
from sidecar.engine.wiring import real_parts
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import ConfigInvalid, IndexNotFound, SnapshotUnusable
from sidecar.model.answers import BuildReport, SnapshotRequest
from sidecar.model.terms import never_cancelled, no_progress
from sidecar.parts.team import heads
from sidecar.parts.team.container import name_of, pack, unpack
from sidecar.parts.team.places import FolderPlace
from sidecar.settings.load import Settings
from tests.engine.preparers_here import PreparersHere
from tests.engine.projects import FILES, Project, find, image, index
from tests.engine.teams import Team, get

pytestmark = pytest.mark.process

QUESTIONS = ("retry with backoff", "expire cookies", "listen and serve", "parse a query string", "CookieJar", "delay")


def answers(workspace: IndexedWorkspace) -> list[object]:
    return [find(workspace, question) for question in QUESTIONS]


def written_by(workspace: IndexedWorkspace) -> tuple[int, object]:
    """Returns what must not change when a snapshot is refused: the generation, and everything in it."""
    return workspace.status().generation, image(workspace)


def check_it_is_a_miss(team: Team, reason: str) -> None:
    """Checks that a developer refuses the snapshot on the shelf with this reason, keeps no vector of it, and has the
    same index as before."""
    developer = team.clone()
    workspace = developer.open()
    with pytest.raises(SnapshotUnusable, match=reason):
        get(workspace, team.shelf)
    assert kept(developer) == {}
    index(workspace)
    before = written_by(workspace)
    vectors = kept(developer)
    with pytest.raises(SnapshotUnusable, match=reason):
        get(workspace, team.shelf)
    assert written_by(workspace) == before
    assert kept(developer) == vectors
    assert not (Path(workspace.status().index_path) / "download").exists()


def kept(project: Project) -> dict[bytes, bytes]:
    """Returns the vectors that are kept for all workspaces of this user, by the hash of their text."""
    file = IndexLayout(project.home, str(project.root)).vectors
    if not file.exists():
        return {}
    with closing(sqlite3.connect(file)) as connection:
        return dict(connection.execute("SELECT hash, vector FROM vectors"))


def tampered(shelf: Path, part: str, change: Callable[[Any], Any]) -> None:
    """Makes the same snapshot with another part and right hashes, as anybody with write access could make it."""
    (head,) = FolderPlace(shelf).heads()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        header = unpack(shelf / name_of(head.sha256), place, rows.PARTS)
        raw = (place / part).read_bytes()
        if part in ("files", "chunks", "definitions", "terms"):
            (place / part).write_text(json.dumps(change(json.loads(raw))), "utf-8")
        else:
            (place / part).write_bytes(change(raw))
        parts = {one["name"]: place / one["name"] for one in header.pop("parts")}
        packed = pack(header, parts, shelf)
    (shelf / "heads.json").write_bytes(heads.written([replace(head, sha256=packed.sha256, size=packed.size)]))


def relisted(shelf: Path, **changes: Any) -> None:
    """Lists the same snapshot with another description."""
    (head,) = FolderPlace(shelf).heads()
    (shelf / "heads.json").write_bytes(heads.written([replace(head, **changes)]))


def of_kind(shelf: Path, **kind: str) -> None:
    """Makes the same snapshot as another version of sidecar would have made it."""
    (head,) = FolderPlace(shelf).heads()
    relisted(shelf, kind={**head.kind, **kind})


# ---------------------------------------------------------------- from nothing, from a snapshot: the same


@pytest.mark.parametrize("texts", [False, True])
def test_an_index_from_a_snapshot_is_the_index_from_nothing_and_embeds_nothing(team: Team, texts: bool) -> None:
    team.ci.prepares_here = False  # worker processes read the files
    made = team.make(texts=texts)
    developer = team.clone()
    developer.prepares_here = False
    workspace = developer.open()
    report = get(workspace, team.shelf)
    other = team.nothing_like(developer).opened[0]
    assert (report.embedded, made.files, made.left_out) == (0, len(FILES), 0)
    assert f"{len(FILES)} of {len(FILES)} files were taken over" in report.notice
    assert image(workspace) == image(other)
    assert answers(workspace) == answers(other)


@pytest.mark.parametrize("texts", [False, True])
def test_a_snapshot_holds_the_texts_only_if_asked(team: Team, tmp_path: Path, texts: bool) -> None:
    made = team.make(texts=texts)
    (tmp_path / "out").mkdir()
    unpack(Path(made.path), tmp_path / "out", rows.PARTS)
    everything = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert (b"Call again with exponential backoff" in everything) is texts


def test_only_what_differs_is_read_and_nothing_of_the_other_version_stays(team: Team) -> None:
    team.ci.write("src/gone.py", "def vanished_quagga():\n    return quagga()\n")
    team.commit("two")
    team.make()
    developer = team.clone()
    (developer.root / "src/gone.py").unlink()
    developer.write("src/cookies.py", "class CookieJar:\n    def bake(self, oven):\n        return oven.heat()\n")
    developer.write("src/fresh.py", "def brand_new(thing):\n    return thing.shine()\n")
    workspace = developer.open()
    report = get(workspace, team.shelf)
    other = team.nothing_like(developer).opened[0]
    assert report.embedded == 2
    assert f"{len(FILES) - 1} of {len(FILES) + 1} files were taken over" in report.notice
    assert image(workspace) == image(other)
    assert answers(workspace) == answers(other)
    assert find(workspace, "quagga", mode="fts") == []
    assert find(workspace, "expire", mode="fts", collection="code") == []


def test_work_goes_on_from_a_snapshot_as_from_any_index(team: Team) -> None:
    team.make()
    developer = team.clone()
    (developer.root / "src/parse.ts").unlink()
    workspace = developer.open()
    get(workspace, team.shelf)
    developer.write("src/late.py", "def arrives_late(train):\n    return train.delay\n")
    assert index(workspace).embedded == 1
    assert find(workspace, "arrives_late", mode="fts") == ["src/late.py"]
    developer.close()
    again = developer.open()
    assert (index(again).embedded, again.status().status) == (0, "ready")
    assert image(again) == image(team.nothing_like(developer).opened[0])


def test_a_folder_of_snapshots_in_the_workspace_is_none_of_its_text(team: Team) -> None:
    """Neither the snapshot nor its list, nor what is there only while it is made."""
    shelf = team.ci.root / "snapshots"
    workspace = team.ci.open()
    index(workspace)
    before, seen = image(workspace), list[BuildReport]()

    def look(done: int, total: int, message: str) -> None:
        seen.append(index(workspace))

    workspace.make_snapshot(SnapshotRequest(shelf), look, never_cancelled)
    seen.append(index(workspace))
    assert {(report.embedded, report.code.files + report.docs.files) for report in seen} == {(0, len(FILES))}
    assert len(seen) > 1
    assert image(workspace) == before


def test_a_file_with_masked_values_is_left_to_each_checkout(team: Team) -> None:
    team.ci.write("src/keys.py", f'PASSWORD = "{"hunter2" * 3}"\nTOKEN = "ghp_{"a1B2" * 9}"\n\ndef use():\n    pass\n')
    team.commit("two")
    made = team.make()
    developer = team.clone()
    workspace = developer.open()
    get(workspace, team.shelf)
    assert (made.files, made.left_out) == (len(FILES), 1)
    assert workspace.status().masked == (("src/keys.py", 1),)
    assert image(workspace) == image(team.nothing_like(developer).opened[0])


def test_a_chunk_that_is_a_part_of_a_line_is_left_to_each_checkout_unless_the_texts_are_there(team: Team) -> None:
    """Its text is encoded data, which is not embedded, so its hash does not tell where it begins and ends."""
    team.ci.write("fixtures/boundary", f"--AaB03x\nContent-Type: text/plain\n\nfile\n{'b' * 20_000}\n--AaB03x\n")
    team.commit("two")
    for texts in (False, True):
        made = team.make(texts=texts)
        developer = team.clone(f"developer-{texts}")
        workspace = developer.open()
        get(workspace, team.shelf)
        assert made.left_out == (not texts)
        assert image(workspace) == image(team.nothing_like(developer).opened[0])
        team.close()


class _Noting(PreparersHere):
    """Notes the paths that are compared with the disk."""

    def __init__(self, parts: Parts, read: list[str]) -> None:
        super().__init__(parts)
        self._read = read

    def recall_all(
        self, root: str, settings: Settings, pieces: Iterable[Sequence[Recall]]
    ) -> Iterator[tuple[Sequence[Recall], Sequence[Recalled | None]]]:
        def noted() -> Iterator[Sequence[Recall]]:
            for piece in pieces:
                self._read.extend(recall.path for recall in piece)
                yield piece

        return super().recall_all(root, settings, noted())


def test_a_snapshot_is_made_without_reading_a_file_that_is_as_it_was_indexed(team: Team) -> None:
    """What is read: a file saved since (even one with its former time), one indexed within a tick of its clock, and
    those with a chunk that is not whole lines."""
    notebook = {"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "code", "source": ["x = 1\n", "y = 2"]}]}
    team.ci.write("study.ipynb", json.dumps(notebook))
    team.ci.write("fixtures/one_line", f"{'word ' * 4_000}\n")
    team.commit("two")
    for path in (*FILES, "study.ipynb", "fixtures/one_line"):
        os.utime(team.ci.root / path, (10, 10))
    os.utime(team.ci.root / "src/parse.ts")
    read: list[str] = []
    team.ci.preparers = _Noting(real_parts({}, {}, {"SIDECAR_HOME": str(team.ci.home)}), read)
    workspace = team.ci.open()
    index(workspace)
    team.ci.write("src/cookies.py", FILES["src/cookies.py"].replace("expire", "outlive"))
    os.utime(team.ci.root / "src/cookies.py", (10, 10))
    made = workspace.make_snapshot(SnapshotRequest(team.shelf), no_progress, never_cancelled)
    assert sorted(read) == ["fixtures/one_line", "src/cookies.py", "src/parse.ts", "study.ipynb"]
    assert (made.files, made.left_out) == (len(FILES) - 1, 3)
    developer = team.clone()
    get(developer.open(), team.shelf)
    assert image(developer.opened[-1]) == image(team.nothing_like(developer).opened[0])


def test_line_ends_that_a_checkout_changes_make_no_difference(team: Team) -> None:
    team.make()
    developer = team.clone()
    for path in FILES:
        (developer.root / path).write_bytes(FILES[path].replace("\n", "\r\n").encode())
    assert f"{len(FILES)} of {len(FILES)} files" in get(developer.open(), team.shelf).notice


# ---------------------------------------------------------------- which one is taken, and when


def test_the_nearest_ancestor_of_the_checked_out_commit_is_taken(team: Team) -> None:
    commits = [team.make().commit]
    for number in (1, 2):
        team.ci.write(f"src/more{number}.py", f"def more{number}():\n    return {number}\n")
        team.commit(f"more {number}")
        commits.append(team.make().commit)
    team.ci.git("checkout", "-q", "-b", "side", commits[1])
    team.ci.write("src/side.py", "def on_the_side():\n    return 5\n")
    team.commit("side")
    developer = team.clone()  # of the branch that is checked out
    workspace = developer.open()
    report = get(workspace, team.shelf)
    assert f"commit {commits[1][:10]}, 1 commit before this one" in report.notice
    assert report.embedded == 1
    origin = workspace.status().origin
    assert origin is not None
    assert (origin.commit, origin.files, origin.taken) == (commits[1], len(FILES) + 1, len(FILES) + 1)
    assert origin.source == str(team.shelf)


def test_a_new_index_starts_from_a_snapshot_by_itself_where_a_source_is_set(team: Team) -> None:
    made = team.make()
    workspace = team.clone(snapshotSource=str(team.shelf)).open()
    report = workspace.create(no_progress, never_cancelled)
    assert (report.embedded, made.commit[:10] in report.notice) == (0, True)
    assert "snapshot" not in index(workspace).notice  # there is an index now
    plain = team.clone("plain").open()
    assert plain.create(no_progress, never_cancelled).embedded > 0


def test_a_workspace_cannot_choose_the_source(team: Team) -> None:
    team.make()
    developer = team.clone()
    workspace = developer.open()
    config = Path(workspace.config().config_path)
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"snapshotSource": str(team.shelf)}), "utf-8")
    assert index(workspace).embedded > 0
    assert any("snapshotSource" in problem and "only you" in problem for problem in workspace.config().problems)


def test_offline_forbids_a_server_and_not_a_folder(team: Team) -> None:
    team.make()
    workspace = team.clone(snapshotSource="https://127.0.0.1:9/team", offline=True).open()
    report = index(workspace)
    assert "offline forbids" in report.notice
    assert report.embedded > 0
    assert index(team.clone("other", snapshotSource=str(team.shelf), offline=True).open()).embedded == 0


def test_a_snapshot_replaces_an_index_that_is_there_when_asked(team: Team) -> None:
    made = team.make()
    workspace = team.clone().open()
    index(workspace)
    before = image(workspace)
    report = get(workspace, team.shelf)
    assert (report.embedded, workspace.status().generation) == (0, 2)
    origin = workspace.status().origin
    assert origin is not None
    assert origin.commit == made.commit
    assert image(workspace) == before


# ---------------------------------------------------------------- what does not fit


def another_repository(team: Team) -> None:
    shutil.rmtree(team.ci.root / ".git")
    team.ci.git("init", "-b", "main")
    team.commit("another beginning")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda shelf: of_kind(shelf, model="other@0"), "made with the model other@0, and this sidecar would use"),
        (lambda shelf: of_kind(shelf, chunker="999"), "made with the chunker version 999"),
        (lambda shelf: of_kind(shelf, lexical="999"), "made with the lexical version 999"),
        (lambda shelf: of_kind(shelf, format="2"), "^The only snapshot does not fit: it was made with the format 2"),
        (lambda shelf: of_kind(shelf, chunking="character"), "setting chunkingStrategy character"),
        (
            lambda shelf: relisted(shelf, folder="packages/one"),
            "^The only snapshot is not of this folder of the repository",
        ),
        (
            lambda shelf: relisted(shelf, commit="0" * 40),
            "^The only snapshot at .* is not of a commit that HEAD comes from",
        ),
        (lambda shelf: relisted(shelf, files=1), "header states something else"),
        (lambda shelf: relisted(shelf, sha256="0" * 64), "is listed there, but missing"),
        (lambda shelf: (shelf / "heads.json").unlink(), "There are no snapshots at"),
        (lambda shelf: (shelf / "heads.json").write_text("<html>"), "no list of snapshots"),
        (lambda shelf: [path.write_bytes(path.read_bytes()[:-9]) for path in shelf.glob("*.zst")], "is damaged"),
        (lambda shelf: [path.write_bytes(path.read_bytes() + b"x") for path in shelf.glob("*.zst")], "is damaged"),
    ],
)
def test_what_does_not_fit_is_a_miss_with_a_reason_and_the_index_stays(
    team: Team, change: Callable[[Path], object], reason: str
) -> None:
    team.make()
    change(team.shelf)
    check_it_is_a_miss(team, reason)
    by_itself = index(team.clone("other", snapshotSource=str(team.shelf)).open())
    assert by_itself.embedded > 0
    assert by_itself.notice.endswith("The index was made from nothing.")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": {}}, r"None of the 2 snapshots fits: the newest was made with the chunker version \?"),
        ({"folder": "packages/one"}, "None of the 2 snapshots is of this folder of the repository."),
        ({}, "None of the 2 snapshots at .* is of a commit that HEAD comes from."),
    ],
)
def test_of_several_snapshots_none_fits(team: Team, changes: dict[str, Any], reason: str) -> None:
    team.make()
    (head,) = FolderPlace(team.shelf).heads()
    listed = [replace(head, commit=digit * 40, **changes) for digit in "01"]
    (team.shelf / "heads.json").write_bytes(heads.written(listed))
    with pytest.raises(SnapshotUnusable, match=reason):
        get(team.clone().open(), team.shelf)


def test_a_snapshot_of_another_repository_is_not_taken(team: Team) -> None:
    team.make()
    another_repository(team)
    with pytest.raises(SnapshotUnusable, match="of a commit that HEAD comes from"):
        get(team.clone().open(), team.shelf)


def every(column: str, value: Any) -> Callable[[Any], Any]:
    return lambda read: {**read, column: [value, *read[column][1:]]}


@pytest.mark.parametrize(
    ("part", "change", "reason"),
    [
        ("files", every("path", "../outside.py"), "paths that no index"),
        ("files", every("path", "/etc/passwd"), "paths that no index"),
        ("files", every("path", "a/./b"), "paths that no index"),
        ("files", every("path", "C:/b"), "paths that no index"),
        ("files", every("path", "a\\..\\..\\b"), "paths that no index"),
        ("files", every("path", "README.md"), "paths that no index"),  # twice
        ("files", every("path", "a\x1b[31m"), "control characters"),
        ("files", every("path", "a\ud800"), "control characters"),
        ("files", every("path", 7), "are not as a snapshot"),
        ("files", every("collection", 5), "are not as a snapshot"),
        ("files", every("chunks", 10**9), "are not as a snapshot"),
        ("files", every("chunks", -1), "are not as a snapshot"),
        ("files", every("blob", "x"), "are not as a snapshot"),
        ("files", lambda read: [read], "are not as a snapshot"),
        ("files", lambda read: {**read, "more": read["path"]}, "are not as a snapshot"),
        ("files", lambda read: {**read, "blob": []}, "are not as a snapshot"),
        ("chunks", every("start", 0), "are not as a snapshot"),
        ("chunks", every("start", 1.5), "are not as a snapshot"),
        ("chunks", every("end", True), "are not as a snapshot"),
        ("chunks", every("names", "[1]"), "are not as a snapshot"),
        ("chunks", every("names", "["), "are not as a snapshot"),
        ("chunks", every("enclosing", {}), "are not as a snapshot"),
        ("chunks", every("kind", "x" * 10_000), "are not as a snapshot"),
        ("definitions", every("chunk", 10**6), "are not as a snapshot"),
        ("definitions", every("name", "a\nb"), "control characters"),
        ("terms", lambda read: read[::-1], "postings are not"),
        ("terms", lambda read: read[1:], "are not as a snapshot"),
        ("blobs-bodies", lambda raw: b"\x03" + raw[1:], "postings are not"),
        ("blobs-bodies", lambda raw: raw[:1] + b"\xff" * 7 + raw[8:], "postings are not"),
        ("blobs-fields", lambda raw: raw[:1] + b"\0" * 7 + raw[8:], "postings are not"),
        ("blobs-names", lambda raw: raw[:-1], "are not as a snapshot"),
        ("sizes-bodies", lambda raw: b"\xff" * len(raw), "are not as a snapshot"),
        ("lengths", lambda raw: raw[:-4], "are not as a snapshot"),
        ("hashes", lambda raw: raw + b"x", "are not as a snapshot"),
        ("vectors", lambda raw: b"\xff" * len(raw), "are not as a snapshot"),
        ("vectors", lambda raw: raw[:-1], "are not as a snapshot"),
        ("vectors", lambda raw: b"\0" * len(raw), "not the one that the model makes here"),
        ("vector-hashes", lambda raw: raw[-16:] + raw[:-16], "are not as a snapshot"),
    ],
)
def test_rows_that_no_index_has_are_refused_and_the_index_stays(
    team: Team, part: str, change: Callable[[Any], Any], reason: str
) -> None:
    team.make()
    tampered(team.shelf, part, change)
    check_it_is_a_miss(team, reason)


def test_a_text_that_is_not_that_of_its_hash_is_refused(team: Team) -> None:
    team.make(texts=True)
    tampered(team.shelf, "texts", lambda raw: raw.replace(b"exponential", b"quadratic  "))
    with pytest.raises(SnapshotUnusable, match="texts are not those of its chunks"):
        get(team.clone().open(), team.shelf)


def test_lines_that_are_not_those_of_the_chunk_are_read_anew(team: Team) -> None:
    """Wrong line numbers cannot put other text into the index: the file is then read like one that differs."""
    team.make()
    tampered(team.shelf, "chunks", lambda read: {**read, "end": [end + 1 for end in read["end"]]})
    developer = team.clone()
    workspace = developer.open()
    get(workspace, team.shelf)
    assert image(workspace) == image(team.nothing_like(developer).opened[0])


def replanted(shelf: Path, planted: bytes, *also: tuple[str, Callable[[Any], Any]]) -> None:
    """Makes the same snapshot with one more vector, under a hash that is greater than all others."""

    def longer(raw: bytes) -> bytes:
        half = len(raw) // 2
        dimension = half // count
        return raw[:half] + raw[:dimension] + raw[half:] + raw[half : half + dimension]

    (head,) = FolderPlace(shelf).heads()
    with tempfile.TemporaryDirectory() as folder:
        unpack(shelf / name_of(head.sha256), Path(folder), rows.PARTS)
        count = len((Path(folder) / "vector-hashes").read_bytes()) // 16
    tampered(shelf, "vector-hashes", lambda raw: raw + planted)
    tampered(shelf, "vectors", longer)
    for part, change in also:
        tampered(shelf, part, change)


ELSEWHERE = b"\xff" * 16
"""The hash of a text of another repository."""


def test_a_snapshot_plants_no_vector_of_a_text_that_the_checkout_does_not_have(team: Team) -> None:
    team.make()
    honest = team.clone("honest")
    get(honest.open(), team.shelf)
    replanted(team.shelf, ELSEWHERE)
    developer = team.clone()
    assert get(developer.open(), team.shelf).embedded == 0
    assert kept(developer) == kept(honest)


def test_a_path_does_not_stand_for_another_text(team: Team) -> None:
    team.make()
    replanted(team.shelf, ELSEWHERE, ("hashes", lambda raw: ELSEWHERE + raw[16:]))
    check_it_is_a_miss(team, "hashes of paths are not those of its paths")


# ---------------------------------------------------------------- signatures, and what needs an index


def key_pair(folder: Path) -> tuple[Path, str]:
    key = Ed25519PrivateKey.generate()
    file = folder / f"key-{len(list(folder.glob('key-*')))}.pem"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return file, base64.b64encode(public).decode()


def test_where_a_key_is_set_only_its_signature_counts(team: Team, tmp_path: Path) -> None:
    (key, public), (_, other) = key_pair(tmp_path), key_pair(tmp_path)
    team.make(key=key)
    assert get(team.clone("a", snapshotKey=public).open(), team.shelf).embedded == 0
    with pytest.raises(SnapshotUnusable, match="signature is not that of the key"):
        get(team.clone("b", snapshotKey=other).open(), team.shelf)
    relisted(team.shelf, signature="")
    with pytest.raises(SnapshotUnusable, match="not signed"):
        get(team.clone("c", snapshotKey=public).open(), team.shelf)
    with pytest.raises(ConfigInvalid, match="openssl genpkey"):
        get(team.clone("d", snapshotKey="nonsense").open(), team.shelf)


def test_a_snapshot_is_made_only_of_a_complete_index_in_a_repository(team: Team, tmp_path: Path) -> None:
    workspace = team.ci.open()
    with pytest.raises(IndexNotFound):
        workspace.make_snapshot(SnapshotRequest(tmp_path / "x"), no_progress, never_cancelled)
    index(workspace)
    (team.ci.root / "wrong.pem").write_text("no key")
    with pytest.raises(ConfigInvalid, match="holds no Ed25519 key"):
        workspace.make_snapshot(
            SnapshotRequest(tmp_path / "x", key=team.ci.root / "wrong.pem"), no_progress, never_cancelled
        )
    shutil.rmtree(team.ci.root / ".git")
    with pytest.raises(SnapshotUnusable, match="no git repository"):
        workspace.make_snapshot(SnapshotRequest(tmp_path / "x"), no_progress, never_cancelled)


@pytest.mark.parametrize(
    "made", ["2099-01-01T00:00:00+00:00", "1970-01-01T00:00:00+00:00", "9999-12-31T23:59:59-12:00", "yesterday"]
)
def test_a_snapshot_is_chosen_by_its_commit_whatever_the_clock_of_its_maker_said(team: Team, made: str) -> None:
    team.make()
    listed = team.shelf / "heads.json"
    heads = json.loads(listed.read_text())
    heads["heads"][0]["made"] = made
    listed.write_text(json.dumps(heads))
    workspace = team.clone(snapshotSource=str(team.shelf)).open()
    offer = workspace.find_snapshot()
    assert offer is not None
    assert offer.made == made
    assert index(workspace).embedded == 0
    origin = workspace.status().origin
    assert origin is not None
    assert (origin.made, origin.taken) == (made, origin.files)
