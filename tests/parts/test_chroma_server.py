"""The vector store on a Chroma server: on a real one, which is shared, killed, emptied and damaged, and on faulty
ones."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sidecar.errors import StoreFailed
from sidecar.model.terms import Vectors
from sidecar.parts.vectors.chroma_server import MadeFor, ServerStore
from sidecar.parts.vectors.server_link import CLOUD_RESULTS, ChromaServer, ServerLimits
from sidecar.settings.address import ServerAddress, server_address
from tests.chroma_server import Answer, RealServer, listening, passed_on, real_server
from tests.parts.random_vectors import DIMENSION, ids, random_vectors
from tests.parts.server_kills import ServerKiller

pytestmark = pytest.mark.process

MADE_FOR = MadeFor("example.org/team/repository", "model@1", DIMENSION)
PATIENT = ServerLimits(search_s=120.0, call_s=120.0, open_s=300.0)


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with real_server(tmp_path_factory.mktemp("chroma") / "data") as server:
        yield server


class Checkouts:
    """Yields a function that opens stores of several checkouts; all are closed at the end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: list[ServerStore] = []

    def store(
        self, url: str, name: str = "one", *, of: MadeFor = MADE_FOR, limits: ServerLimits = PATIENT, **headers: str
    ) -> ServerStore:
        made = ServerStore(self._folder / name, of, ChromaServer(server_address(url), headers), limits)
        self._made.append(made)
        return made

    def close(self) -> None:
        for store in self._made:
            store.close()


@pytest.fixture
def checkouts(tmp_path: Path) -> Iterator[Checkouts]:
    made = Checkouts(tmp_path)
    yield made
    made.close()


def texts(*numbers: int) -> list[bytes]:
    return [b"text %d" % number for number in numbers]


def fill(store: ServerStore, vectors: Vectors, collection: str = "code") -> None:
    rows = np.arange(len(vectors), dtype=np.int64)
    store.add(collection, rows, vectors, texts(*rows.tolist()))  # type: ignore[arg-type]


def found(store: ServerStore, vector: np.ndarray, limit: int = 3) -> list[int]:
    return store.query("code", vector, limit)[0].tolist()  # type: ignore[no-any-return]


# ---------------------------------------------------------------- what a store does


def test_what_is_added_is_found_under_its_slots_in_its_own_collection(chroma: RealServer, checkouts: Checkouts) -> None:
    store, vectors = checkouts.store(chroma.url, of=replace(MADE_FOR, repository="plain")), random_vectors(40)
    assert store.is_fresh()
    assert store.count("code") == 0
    store.add("code", np.arange(100, 140), vectors, texts(*range(40)))
    store.add("docs", ids(7), vectors[3:4], texts(3))
    slots, cosines = store.query("code", vectors[5], 3)
    assert slots[0] == 105
    assert cosines[0] == pytest.approx(1.0, abs=1e-4)
    assert cosines.tolist() == sorted(cosines.tolist(), reverse=True)
    assert (store.count("code"), store.count("docs")) == (40, 1)
    assert store.ids("code").tolist() == list(range(100, 140))
    store.remove("code", ids(105, 999))
    assert 105 not in found(store, vectors[5])
    assert store.ids("code").tolist() == [*range(100, 105), *range(106, 140)]
    assert not store.is_fresh()


def test_equal_texts_have_one_row_and_all_their_slots(chroma: RealServer, checkouts: Checkouts) -> None:
    store, vectors = checkouts.store(chroma.url, of=replace(MADE_FOR, repository="equal")), random_vectors(2)
    store.add("code", ids(1, 2, 3), vectors[[0, 0, 1]], texts(0, 0, 1))
    assert found(store, vectors[0], 1) == [1, 2]
    store.add("code", ids(1), vectors[1:], texts(1))
    assert found(store, vectors[0], 1) == [2]
    assert found(store, vectors[1], 1) == [1, 3]


def test_a_second_checkout_sends_nothing_that_the_first_has_sent_and_removes_nothing_of_it(
    chroma: RealServer, checkouts: Checkouts
) -> None:
    made_for, vectors = replace(MADE_FOR, repository="shared"), random_vectors(30)
    first = checkouts.store(chroma.url, of=made_for)
    fill(first, vectors[:20])
    with listening(passed_on(chroma.url)) as wire:
        second = checkouts.store(wire.url, "two", of=made_for)
        second.add("code", np.arange(500, 530), vectors, texts(*range(30)))
        added = [content for method, path, _, content in wire.heard if path.endswith("/add")]
        assert [len(json.loads(content)["ids"]) for content in added] == [10]
        assert found(second, vectors[3], 1) == [503]
        second.remove("code", np.arange(500, 530))
        assert found(second, vectors[3], 30) == []
    assert found(first, vectors[3], 1) == [3], "rows of another checkout stay"
    assert found(first, vectors[25], 30), "and rows that only others have are left out"
    assert max(found(first, vectors[25], 30)) < 20


def test_nothing_readable_is_sent(chroma: RealServer, checkouts: Checkouts) -> None:
    with listening(passed_on(chroma.url)) as wire:
        store = checkouts.store(wire.url, Authorization="Bearer 3f9")
        fill(store, random_vectors(5))
        found(store, random_vectors(1)[0])
        assert {headers.get("authorization") for _, _, headers, _ in wire.heard} == {"Bearer 3f9"}
        for secret in (b"text 1", b"text", b"example.org", b"repository", b"model@1", b'metadatas":[{'):
            assert secret not in wire.sent.replace(b"text/", b"").replace(b"embedding_function", b""), secret


def test_a_call_never_exceeds_what_chroma_cloud_takes(chroma: RealServer, checkouts: Checkouts) -> None:
    assert ServerAddress("https://api.trychroma.com").is_cloud
    assert not ServerAddress("https://api.trychroma.com.example.org").is_cloud
    few = replace(PATIENT, results=CLOUD_RESULTS)
    with listening(passed_on(chroma.url)) as wire:
        store = checkouts.store(wire.url, of=replace(MADE_FOR, repository="limits"), limits=few)
        fill(store, random_vectors(700))
        assert len(found(store, random_vectors(1)[0], 1000)) <= CLOUD_RESULTS
        assert len(store.ids("code")) == 700
        heard = [content for _, path, _, content in wire.heard if path.endswith(("/add", "/get", "/query"))]
    for content in heard:
        asked = json.loads(content)
        assert len(asked.get("ids") or []) <= 300
        assert asked.get("n_results", 0) <= 300


# ---------------------------------------------------------------- bad luck


def lost(store: ServerStore) -> StoreFailed:
    with pytest.raises(StoreFailed) as caught:
        store.count("code")
    return caught.value


def test_a_server_that_is_killed_is_away_until_it_is_back(tmp_path: Path, checkouts: Checkouts) -> None:
    with real_server(tmp_path / "data") as server:
        store, vectors = checkouts.store(server.url), random_vectors(50)
        fill(store, vectors)
        server.kill()
        with pytest.raises(StoreFailed) as caught:
            found(store, vectors[1])
        assert caught.value.facts["away"]
        assert caught.value.detail.startswith(f"The Chroma server at {server.url} cannot be asked: ")
        with pytest.raises(StoreFailed, match="has not been reached"):
            found(store, vectors[1])
        assert lost(store).facts["away"]
        server.start()
        assert store.count("code") == 50
        assert found(store, vectors[1], 1) == [1]


def test_a_server_that_has_lost_everything_is_noticed_and_filled_again(tmp_path: Path, checkouts: Checkouts) -> None:
    with real_server(tmp_path / "data") as server:
        store, vectors = checkouts.store(server.url), random_vectors(20)
        fill(store, vectors)
        server.forget()
        with pytest.raises(StoreFailed):
            found(store, vectors[1])
        error = lost(store)
        assert error.facts["rebuild"]
        assert "has lost what it held" in error.detail
        store.discard()
        assert store.is_fresh()
        fill(store, vectors)
        assert found(store, vectors[1], 1) == [1]


def test_rows_that_the_server_has_lost_are_noticed_when_it_is_opened(chroma: RealServer, checkouts: Checkouts) -> None:
    made_for, vectors = replace(MADE_FOR, repository="part"), random_vectors(20)
    store = checkouts.store(chroma.url, of=made_for)
    fill(store, vectors)
    store.close()
    held = client(chroma).get_collection(made_for.name("code"), embedding_function=None)
    held.delete(ids=held.get()["ids"][:5])
    again = checkouts.store(chroma.url, of=made_for)
    error = lost(again)
    assert error.facts["rebuild"]
    assert "has lost a part" in error.detail
    again.discard()
    fill(again, vectors)
    assert again.ids("code").tolist() == list(range(20))


def write_often(server: RealServer) -> None:
    """Makes the collection as a store would, but one that the server writes to disk after every ten rows."""
    client(server).create_collection(
        MADE_FOR.name("code"),
        metadata={"made_by": "sidecar", "schema": 1, "dimension": DIMENSION},
        configuration={"hnsw": {"space": "cosine", "sync_threshold": 10, "batch_size": 10}},
        embedding_function=None,
    )


@pytest.mark.parametrize("file", ["header.bin", "index_metadata.pickle", "data_level0.bin"])
def test_a_collection_that_can_no_longer_be_read_is_noticed_and_made_anew(
    file: str, tmp_path: Path, checkouts: Checkouts
) -> None:
    with real_server(tmp_path / "data") as server:
        write_often(server)
        store, vectors = checkouts.store(server.url, limits=replace(PATIENT, rows=10)), random_vectors(50)
        fill(store, vectors)
        assert found(store, vectors[1], 1) == [1]
        server.kill()
        (torn,) = server.folder.glob(f"*/{file}")
        torn.write_bytes(b"")
        server.start()
        with pytest.raises(StoreFailed) as caught:
            found(store, vectors[1])
        assert caught.value.facts["rebuild"]
        assert "can no longer read what it held for this index" in caught.value.detail
        store.discard()
        fill(store, vectors)
        assert found(store, vectors[1], 1) == [1]
        assert len(store.ids("code")) == 50


def test_a_collection_that_ends_the_server_whenever_it_is_read_is_noticed_and_made_anew(
    tmp_path: Path, checkouts: Checkouts
) -> None:
    with real_server(tmp_path / "data") as server:
        write_often(server)
        store, vectors = checkouts.store(server.url, limits=replace(PATIENT, rows=10)), random_vectors(300)
        fill(store, vectors)
        server.kill()
        (torn,) = server.folder.glob("*/link_lists.bin")
        torn.write_bytes(bytes(torn.stat().st_size))
        server.start()
        with pytest.raises(StoreFailed):
            found(store, vectors[1])
        assert server.start_if_it_ended(), "what was torn ends it"
        first = lost(store)
        assert first.facts.get("away"), first
        assert "ended the connection while it read what it holds for this index" in first.detail
        assert server.start_if_it_ended()
        second = lost(store)
        assert second.facts.get("rebuild"), second
        assert "ends whenever it reads what it held for this index; its collection is replaced" in second.detail
        assert server.start_if_it_ended()
        store.discard()
        fill(store, vectors)
        assert found(store, vectors[1], 1) == [1]
        assert len(store.ids("code")) == 300
        assert not server.start_if_it_ended()


@pytest.mark.parametrize("ends", ["breaks off", "502"])
def test_a_connection_that_ends_once_while_a_collection_is_read_costs_no_row(
    ends: str, chroma: RealServer, checkouts: Checkouts
) -> None:
    """A server that is being restarted does so too; behind a proxy, the answer is 502."""
    made_for, vectors = replace(MADE_FOR, repository=f"once {ends}"), random_vectors(20)
    fill(checkouts.store(chroma.url, of=made_for), vectors)
    passed, wrong = passed_on(chroma.url), threading.Event()

    def answer(method: str, path: str, headers: dict[str, str], content: bytes) -> Answer:
        if wrong.is_set() and path.endswith("/query"):
            wrong.clear()
            if ends == "502":
                return 502, "text/html", b"<html>Bad gateway</html>"
            raise ConnectionAbortedError
        return passed(method, path, headers, content)

    with listening(answer) as wire:
        store = checkouts.store(wire.url, "two", of=made_for)
        for _ in range(3):
            wrong.set()
            assert "ended the connection" in lost(store).detail
            store.add("code", np.arange(20), vectors, texts(*range(20)))
            assert store.ids("code").tolist() == list(range(20))
            with pytest.raises(StoreFailed):
                wrong.set()
                found(store, vectors[1])
        assert [path for method, path, _, _ in wire.heard if method == "DELETE"] == []


def test_vectors_of_another_dimension_are_noticed_and_made_anew(chroma: RealServer, checkouts: Checkouts) -> None:
    made_for, vectors = replace(MADE_FOR, repository="dimension"), random_vectors(20)
    marks = {"made_by": "sidecar", "schema": 1, "dimension": DIMENSION}
    other = client(chroma).create_collection(made_for.name("code"), metadata=marks, embedding_function=None)
    other.add(["x"], embeddings=np.ones((1, DIMENSION + 1), np.float32))
    store = checkouts.store(chroma.url, of=made_for)
    error = lost(store)
    assert error.facts["rebuild"]
    assert "another dimension" in error.detail
    store.discard()
    fill(store, vectors)
    assert found(store, vectors[1], 1) == [1]


def test_a_collection_that_sidecar_did_not_make_is_left_alone(chroma: RealServer, checkouts: Checkouts) -> None:
    made_for = replace(MADE_FOR, repository="foreign")
    client(chroma).create_collection(made_for.name("code"), metadata={"of": "somebody"}, embedding_function=None)
    error = lost(checkouts.store(chroma.url, of=made_for))
    assert error.facts["away"]
    assert "that sidecar did not make" in error.detail
    assert client(chroma).get_collection(made_for.name("code"), embedding_function=None).metadata == {"of": "somebody"}


def client(server: RealServer):  # type: ignore[no-untyped-def]
    import chromadb

    return chromadb.HttpClient(host=server.url)


WRONG = {
    "a web page": ((200, "text/html", b"<html><body>Please sign in</body></html>"), "does not answer as Chroma does"),
    "a failure": ((500, "text/html", b"<!DOCTYPE html><html>Oops</html>"), "answers with a web page"),
    "no entry": ((401, "application/json", b'{"error": "no"}'), "answers 401: it wants other headers"),
    "no entry, as a page": ((403, "text/html", b"<html>Forbidden</html>"), "answers 403: it wants other headers"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_server_that_answers_wrongly_is_away_and_says_how(kind: str, checkouts: Checkouts) -> None:
    answer, said = WRONG[kind]
    with listening(lambda *_: answer) as wrong:
        error = lost(checkouts.store(wrong.url))
        assert error.facts["away"]
        assert said in error.detail
        assert "tried again by itself" in error.detail


def test_a_server_that_is_slow_is_given_up_after_its_time(checkouts: Checkouts) -> None:
    never = threading.Event()

    def answer(*_: object) -> tuple[int, str, bytes]:
        never.wait()
        return 500, "", b""

    with listening(answer) as slow:
        error = lost(checkouts.store(slow.url, limits=ServerLimits(open_s=3.0)))
        never.set()
    assert error.facts["away"]
    assert "did not answer within 3 s" in error.detail


def test_offline_and_headers_in_the_open_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    elsewhere = server_address("http://192.0.2.1:8000")
    for server, said in (
        (ChromaServer(elsewhere, {}, offline=True), "the setting offline forbids"),
        (ChromaServer(elsewhere, {"Authorization": "Bearer 1"}), "use https"),
    ):
        store = ServerStore(tmp_path, MADE_FOR, server)
        with pytest.raises(StoreFailed, match=said):
            store.count("code")
        assert store.worker_pid is None
        store.close()
    assert ChromaServer(server_address("http://localhost:8000"), {"A": "b"}, offline=True).forbidden == ""


def test_after_a_kill_in_the_middle_of_writing_all_rows_are_there_again(tmp_path: Path) -> None:
    outcome = ServerKiller(tmp_path, seed=3, sync_threshold=1000).run(2)
    assert outcome.kills == 2
