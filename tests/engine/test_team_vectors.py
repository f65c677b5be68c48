"""Vectors of a slow model are made once for a team. Whoever has the key and the text takes them from a server, which
cannot read them."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidecar.engine.models.loader import Models, make_embedder
from sidecar.errors import StoreFailed
from sidecar.model.terms import Embedder, Vectors
from sidecar.parts.shared_vectors.seal import Seal
from sidecar.parts.shared_vectors.sealed_vectors import SealedVectors
from sidecar.settings.load import Settings
from tests.chroma_server import Answer, Listener, listening, passed_on, real_server
from tests.engine.projects import FILES, SLOW, Project, find, image, index

pytestmark = pytest.mark.process

KEY = "c2VjcmV0IG9mIGEgdGVhbSBvZiBmb3Vy"


class Counted:
    """A real model that counts the texts that it is given to embed."""

    def __init__(self, embedder: Embedder, counts: list[int]) -> None:
        self._embedder = embedder
        self._counts = counts

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self._counts.append(len(texts))
        return self._embedder.embed_documents(texts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)


@dataclass
class Team:
    """Data folders whose model is slow. At `url` they share vectors."""

    folder: Path
    url: str
    projects: list[Project]
    model: Embedder

    def home(self, name: str, counts: list[int], **flags: object) -> Project:
        """Returns a new data folder with the same files. `counts` gets the number of texts in each call of the
        model."""

        def make(_: Settings) -> Embedder:
            return Counted(self.model, counts)

        shared = {"model": SLOW, "twoStage": False, "sharedVectors": self.url, "sharedVectorsKey": KEY}
        models = Models(make)
        project = Project(self.folder / name / "work", self.folder / name / "home", {**shared, **flags}, models, [])
        for path, text in FILES.items():
            project.write(path, text)
        self.projects.append(project)
        return project


def kept_files(kept: dict[str, bytes]) -> Callable[[str, str, dict[str, str], bytes], Answer]:
    """A plain server of files: GET and PUT."""

    def answer(method: str, path: str, _: dict[str, str], content: bytes) -> Answer:
        if method == "PUT":
            kept[path] = content
            return 201, "text/plain", b""
        return (200, "application/octet-stream", kept[path]) if path in kept else (404, "text/plain", b"no")

    return answer


@contextmanager
def team_over(folder: Path, url: str) -> Iterator[Team]:
    model = make_embedder(replace(Settings(), model=SLOW))
    team = Team(folder, url, [], model)
    try:
        yield team
    finally:
        for project in team.projects:
            project.close()
        model.close()


@pytest.fixture
def kept() -> dict[str, bytes]:
    return {}


@pytest.fixture
def wire(kept: dict[str, bytes]) -> Iterator[Listener]:
    with listening(kept_files(kept)) as listener:
        yield listener


@pytest.fixture
def team(tmp_path: Path, wire: Listener) -> Iterator[Team]:
    with team_over(tmp_path, wire.url) as made:
        yield made


def methods(wire: Listener) -> set[str]:
    return {method for method, *_ in wire.heard}


def check_that_nothing_readable_was_sent(wire: Listener, home: Path) -> None:
    """No word of a text, no path, none of the vectors that this home keeps, as numbers of any width or in base64."""
    for text in (b"retry", b"cookie", b"src/", b".py", b"README", b"def ", SLOW.encode(), KEY.encode()):
        assert text not in wire.sent, text
    with closing(sqlite3.connect(home / "vectors" / "vectors.sqlite")) as connection:
        kept = [np.frombuffer(blob, "<f2") for (blob,) in connection.execute("SELECT vector FROM vectors")]
    assert kept
    for vector in kept:
        integers = np.rint(127 * vector.astype(np.float32)).astype(np.int8)
        for numbers in (vector, vector.astype("<f4"), vector.astype("<f8"), integers):
            assert numbers[:12].tobytes() not in wire.sent
            assert base64.b64encode(numbers[:12].tobytes()) not in wire.sent


def test_what_one_home_has_made_another_takes_and_embeds_nothing(team: Team, wire: Listener) -> None:
    made: list[int] = []
    first = team.home("ci", made, sharedVectorsWrite=True).open()
    assert index(first).embedded > 0
    assert sum(made) > 0
    wire_before = len(wire.heard)
    taken: list[int] = []
    second = team.home("developer", taken).open()
    assert index(second).embedded == 0
    assert taken == []
    assert {method for method, *_ in wire.heard[wire_before:]} == {"GET"}, "who only reads sends nothing"
    assert image(second, store=False) == image(first, store=False)
    check_that_nothing_readable_was_sent(wire, team.projects[0].home)
    assert "src/cookies.py" in find(second, "how long do cookies live", mode="vector")
    assert second.status().warning == ""


def test_on_a_chroma_server_they_are_shared_as_well(tmp_path: Path) -> None:
    with (
        real_server(tmp_path / "chroma") as chroma,
        listening(passed_on(chroma.url)) as wire,
        team_over(tmp_path, f"chroma+{wire.url}") as team,
    ):
        made: list[int] = []
        assert index(team.home("ci", made, sharedVectorsWrite=True).open()).embedded > 0
        taken: list[int] = []
        assert index(team.home("developer", taken).open()).embedded == 0
        assert taken == []
        check_that_nothing_readable_was_sent(wire, team.projects[0].home)


def test_a_cache_that_was_emptied_gets_everything_again_from_who_writes_and_the_model_is_not_asked(
    team: Team, kept: dict[str, bytes]
) -> None:
    made: list[int] = []
    writer = team.home("ci", made, sharedVectorsWrite=True)
    index(writer.open())
    given = set(kept)
    kept.clear()
    made.clear()
    writer.close()
    index(writer.open())
    assert set(kept) == given
    assert made == []
    taken: list[int] = []
    assert index(team.home("developer", taken).open()).embedded == 0
    assert taken == []


def test_so_does_a_chroma_server_on_a_new_disk_also_beside_a_process_that_had_it_open(tmp_path: Path) -> None:
    with real_server(tmp_path / "chroma") as chroma, team_over(tmp_path, f"chroma+{chroma.url}") as team:
        made: list[int] = []
        writer = team.home("ci", made, sharedVectorsWrite=True)
        index(writer.open())
        made.clear()
        chroma.forget()
        index(writer.opened[0])
        assert made == []
        taken: list[int] = []
        assert index(team.home("developer", taken).open()).embedded == 0
        assert taken == []


def test_what_was_made_before_the_team_had_a_cache_is_given_by_the_next_pass(
    team: Team, kept: dict[str, bytes]
) -> None:
    made: list[int] = []
    writer = team.home("ci", made, sharedVectors="off")
    index(writer.open())
    writer.close()
    made.clear()
    writer.flags |= {"sharedVectors": team.url, "sharedVectorsWrite": True}
    index(writer.open())
    assert made == []
    assert index(team.home("developer", made).open()).embedded == 0
    assert made == []


def test_values_that_nobody_can_open_are_given_again(team: Team, kept: dict[str, bytes]) -> None:
    writer = team.home("ci", [], sharedVectorsWrite=True)
    index(writer.open())
    for path, value in kept.items():
        kept[path] = bytes(len(value))
    index(writer.opened[0])
    taken: list[int] = []
    assert index(team.home("developer", taken).open()).embedded == 0
    assert taken == []


def test_a_writer_that_finds_all_it_looks_for_asks_for_a_few_and_gives_nothing(
    team: Team, wire: Listener, kept: dict[str, bytes]
) -> None:
    writer = team.home("ci", [], sharedVectorsWrite=True)
    for number in range(300):
        writer.write(f"many/part_{number}.py", f"def part_{number}():\n    return {number}\n")
    workspace = writer.open()
    index(workspace)
    wire.heard.clear()
    index(workspace)
    assert methods(wire) == {"GET"}
    assert 50 <= len(wire.heard) <= 200 < len(kept)


def test_who_only_reads_does_not_look_for_what_was_lost(team: Team, wire: Listener, kept: dict[str, bytes]) -> None:
    index(team.home("ci", [], sharedVectorsWrite=True).open())
    reader = team.home("developer", []).open()
    index(reader)
    kept.clear()
    wire.heard.clear()
    index(reader)
    assert wire.heard == []


def test_a_server_that_fails_while_it_is_filled_again_gets_the_rest_at_the_next_pass(tmp_path: Path) -> None:
    kept: dict[str, bytes] = {}
    files, allowed = kept_files(kept), [10_000]

    def answer(method: str, path: str, headers: dict[str, str], content: bytes) -> Answer:
        if method == "PUT" and len(kept) >= allowed[0]:
            return 507, "text/html", b"<html>full</html>"
        return files(method, path, headers, content)

    with listening(answer) as wire, team_over(tmp_path, wire.url) as team:
        writer = team.home("ci", [], sharedVectorsWrite=True)
        index(writer.open())
        given = set(kept)
        kept.clear()
        allowed[0] = 3
        writer.close()
        workspace = writer.open()
        index(workspace)
        assert len(kept) < len(given)
        assert "disk is full" in workspace.status().warning
        assert workspace.status().status == "ready"
        allowed[0] = 10_000
        writer.close()
        index(writer.open())
        assert set(kept) == given


def test_the_second_stage_takes_them_too(team: Team) -> None:
    index(team.home("ci", [], sharedVectorsWrite=True).open())
    taken: list[int] = []
    project = team.home("developer", taken)
    assert index(project.open()).embedded == 0
    taken.clear()
    project.write("src/new.py", "def entirely_new():\n    return 'a text that nobody has seen'\n")
    assert index(project.opened[0]).embedded == 1
    assert sum(taken) == 2, "the body and the path of the new file"


def test_another_key_finds_and_reads_nothing(team: Team) -> None:
    made: list[int] = []
    index(team.home("ci", made, sharedVectorsWrite=True).open())
    others: list[int] = []
    stranger = team.home("stranger", others, sharedVectorsKey="another key of more than 22 characters")
    assert index(stranger.open()).embedded > 0
    assert sum(others) == sum(made)


@pytest.mark.parametrize("damage", [b"", b"x", b"\x00"])
def test_a_damaged_or_foreign_value_is_a_miss(damage: bytes, team: Team, kept: dict[str, bytes]) -> None:
    made: list[int] = []
    index(team.home("ci", made, sharedVectorsWrite=True).open())
    for path, value in kept.items():
        kept[path] = value[:-1] + bytes([value[-1] ^ 1]) if damage == b"x" else damage * len(value)
    again: list[int] = []
    developer = team.home("developer", again).open()
    assert index(developer).embedded > 0
    assert sum(again) == sum(made)
    assert developer.status().status == "ready"


def test_a_value_put_in_place_of_anothers_is_a_miss(team: Team, kept: dict[str, bytes]) -> None:
    made: list[int] = []
    index(team.home("ci", made, sharedVectorsWrite=True).open())
    values = list(kept.values())
    kept.update(zip(kept, [*values[1:], values[0]], strict=True))
    again: list[int] = []
    index(team.home("developer", again).open())
    assert sum(again) == sum(made)


def test_while_the_server_is_away_texts_are_embedded_here_and_one_line_says_so(tmp_path: Path) -> None:
    with listening(lambda *_: (500, "text/html", b"<html>no</html>")) as wrong, team_over(tmp_path, wrong.url) as team:
        counts: list[int] = []
        workspace = team.home("developer", counts, sharedVectorsWrite=True).open()
        assert index(workspace).embedded > 0
        assert sum(counts) > 0
        assert workspace.status().status == "ready"
        warning = workspace.status().warning
        assert warning.startswith("Vectors are made here, because those of the team cannot be had: ")
        assert "\n" not in warning


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"sharedVectors": "https://vectors.invalid", "offline": True}, "the setting offline forbids"),
        ({"sharedVectorsKey": ""}, "sharedVectorsKey is not set"),
    ],
)
def test_what_may_not_be_asked_is_not_asked(flags: dict[str, object], said: str, team: Team, wire: Listener) -> None:
    workspace = team.home("developer", [], **flags).open()
    assert index(workspace).embedded > 0
    assert said in workspace.status().warning
    assert wire.heard == []


def test_a_quick_model_asks_nobody(team: Team, wire: Listener) -> None:
    made = Project(team.folder / "q" / "work", team.folder / "q" / "home", {}, Models(make_embedder), [])
    made.flags = {"sharedVectors": team.url, "sharedVectorsKey": KEY, "sharedVectorsWrite": True}
    made.write("a.py", "def first():\n    pass\n")
    assert index(made.open()).embedded > 0
    made.close()
    made.models.close()
    assert wire.heard == []


class Failing:
    """A place that fails while `fails` is true, and counts how often it is asked."""

    def __init__(self) -> None:
        self.fails = True
        self.asked = 0

    def fetch(self, names: Sequence[bytes], size: int) -> dict[bytes, bytes]:
        self.asked += 1
        if self.fails:
            raise StoreFailed("It is not there.")
        return {}

    def keep(self, values: Mapping[bytes, bytes]) -> None:
        self.fetch([], 0)

    def close(self) -> None:
        pass


def test_a_place_that_fails_is_left_alone_for_longer_each_time_and_taken_up_again() -> None:
    place, clock = Failing(), [0.0]
    shared = SealedVectors(place, KEY, writes=True, now=lambda: clock[0])
    asked_at = []
    for second in range(80):
        clock[0], before = float(second), place.asked
        shared.find("model@1", 8, ["a text"])
        shared.offer("model@1", ["a text"], unit()[None])
        asked_at += [second] * (place.asked - before)
    assert asked_at == [0, 5, 15, 35, 75]
    assert shared.note.endswith("It is not there.")
    place.fails, clock[0] = False, 155.0
    shared.offer("model@1", ["a text"], unit()[None])
    assert place.asked == 6
    assert shared.note == ""


# ---------------------------------------------------------------- the seal


def unit() -> np.ndarray:
    vector = np.arange(1, 9, dtype=np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def test_only_the_same_key_model_and_text_open_what_was_sealed() -> None:
    seal = Seal(KEY, "model@1", 8)
    sealed = seal.close("a text", unit())
    assert len(sealed) == seal.size
    opened = seal.open("a text", sealed)
    assert opened is not None
    assert np.allclose(opened, unit(), atol=1e-3)
    assert seal.open("another text", sealed) is None
    assert Seal(KEY, "model@2", 8).open("a text", sealed) is None
    assert Seal(KEY[::-1], "model@1", 8).open("a text", sealed) is None
    assert seal.open("a text", sealed[:-1]) is None


def test_a_name_depends_on_key_model_and_text_and_a_value_is_sealed_anew_each_time() -> None:
    seal = Seal(KEY, "model@1", 8)
    others = (Seal(KEY[::-1], "model@1", 8), Seal(KEY, "model@2", 8))
    assert len({seal.name("a text"), seal.name("b text"), *(other.name("a text") for other in others)}) == 4
    assert seal.name("a text") == Seal(KEY, "model@1", 8).name("a text")
    assert seal.close("a text", unit()) != seal.close("a text", unit())


def test_what_is_no_unit_vector_is_a_miss() -> None:
    seal = Seal(KEY, "model@1", 8)
    for wrong in (unit() * 2, np.full(8, np.nan, np.float32), np.zeros(8, np.float32)):
        assert seal.open("a text", seal.close("a text", wrong)) is None
