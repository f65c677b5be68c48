"""How the Chroma store handles failures of its process, files and surroundings. test_vector_stores.py tests every
store."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from sidecar.errors import PermissionDenied, SidecarError, StoreFailed
from sidecar.parts.blocks import FrameError
from sidecar.parts.vectors.chroma import ChromaStore
from sidecar.parts.vectors.frames import read_frame, write_frame
from sidecar.parts.vectors.health import find_damage, find_waste
from sidecar.parts.vectors.in_memory import InMemoryStore
from tests.parts.random_vectors import DIMENSION, ids, random_vectors
from tests.patience import until

pytestmark = pytest.mark.process

ROWS = 20_000
PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store of 20,000 rows (ids 0 to 19,999), enough for Chroma to have written its HNSW files. Tests use
    copies of it."""
    directory = tmp_path_factory.mktemp("filled") / "chroma"
    store = ChromaStore(directory, DIMENSION, "model")
    store.add("code", np.arange(ROWS), random_vectors(ROWS))
    store.close()
    return directory


@pytest.fixture
def copy(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "chroma"))


@pytest.fixture
def chroma(tmp_path: Path) -> Iterator[ChromaStore]:
    store = ChromaStore(tmp_path / "chroma", DIMENSION, "model")
    yield store
    store.close()


def test_chroma_finds_nearly_all_that_comparing_with_every_vector_finds(copy: Path) -> None:
    exact = InMemoryStore(DIMENSION)
    exact.add("code", np.arange(ROWS), random_vectors(ROWS))
    store = ChromaStore(copy, DIMENSION, "model")
    queries = random_vectors(50, seed=1)
    shared = [np.intersect1d(store.query("code", q, 10)[0], exact.query("code", q, 10)[0]).size for q in queries]
    store.close()
    assert sum(shared) / 500 > 0.95


def test_every_id_of_twenty_thousand_is_listed(copy: Path) -> None:
    store = ChromaStore(copy, DIMENSION, "model")
    store.remove("code", ids(0))
    assert np.array_equal(store.ids("code"), np.arange(1, ROWS))
    assert store.ids("docs").tolist() == []
    store.close()


def test_what_was_stored_is_there_after_closing_and_opening_again(chroma: ChromaStore, tmp_path: Path) -> None:
    chroma.add("code", ids(1, 2), random_vectors(2))
    chroma.close()
    again = ChromaStore(tmp_path / "chroma", DIMENSION, "model")
    assert again.query("code", random_vectors(2)[1], 1)[0].tolist() == [2]
    again.close()


def test_a_search_does_not_wait_for_a_long_upsert_and_a_killed_worker_is_replaced(chroma: ChromaStore) -> None:
    vectors = random_vectors(ROWS)
    failures: list[SidecarError] = []

    def fill() -> None:
        try:
            chroma.add("code", np.arange(ROWS), vectors)
        except SidecarError as error:
            failures.append(error)

    chroma.add("docs", ids(1), vectors[:1])
    filling = threading.Thread(target=fill)
    filling.start()

    def search() -> None:
        assert chroma.query("docs", vectors[0], 1)[0].tolist() == [1]

    until(lambda: chroma.count("code") > 0, search)
    assert filling.is_alive()
    first = chroma.worker_pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    filling.join()
    # A kill between two frames interrupts no call: the next frame starts another worker, and nothing is lost.
    assert len(failures) <= 1
    for failure in failures:
        assert isinstance(failure, StoreFailed)
        assert "rebuild" not in failure.facts

    kept = chroma.ids("code")
    assert chroma.worker_pid not in (None, first)
    assert 0 < len(kept) < ROWS if failures else len(kept) == ROWS
    chroma.add("code", np.arange(1000), vectors[:1000])
    assert chroma.count("code") == len(np.union1d(kept, np.arange(1000)))
    assert chroma.query("code", vectors[999], 1)[0].tolist() == [999]


def test_what_takes_the_place_of_a_discarded_store_lies_in_another_folder(copy: Path) -> None:
    store = ChromaStore(copy, DIMENSION, "model")
    before = store.directory
    worker = store.count("code") and store.worker_pid
    assert worker is not None
    store.discard()
    assert not before.exists()
    assert not Path(f"/proc/{worker}").exists()
    store.add("code", ids(1), random_vectors(1))
    assert store.directory != before
    store.close()
    again = ChromaStore(copy, DIMENSION, "model")
    assert not again.is_fresh()
    assert again.ids("code").tolist() == [1]
    again.close()


def test_a_file_in_the_place_of_the_stores_folder_is_damage_that_a_discard_mends(tmp_path: Path) -> None:
    (tmp_path / "chroma").write_text("x")
    store = ChromaStore(tmp_path / "chroma", DIMENSION, "model")
    with pytest.raises(StoreFailed) as caught:
        store.count("code")
    assert caught.value.facts["rebuild"] is True
    store.discard()
    assert store.is_fresh()
    assert store.count("code") == 0
    store.close()


def test_a_worker_that_hangs_is_stopped_and_replaced(tmp_path: Path) -> None:
    store = ChromaStore(tmp_path / "chroma", DIMENSION, "model", call_timeout=0.5)
    store.count("code")
    assert store.worker_pid is not None
    os.kill(store.worker_pid, signal.SIGSTOP)
    with pytest.raises(StoreFailed, match="longer than"):
        store.count("code")
    patient = ChromaStore(tmp_path / "chroma", DIMENSION, "model")
    assert patient.count("code") == 0
    patient.close()
    store.close()


def test_closing_ends_the_worker_and_later_calls_say_so(chroma: ChromaStore) -> None:
    chroma.count("code")
    assert chroma.worker_pid is not None
    chroma.close()
    assert chroma.worker_pid is None
    with pytest.raises(StoreFailed, match="closed"):
        chroma.count("code")
    chroma.close()


def grown(path: Path) -> None:
    os.truncate(path, 2_000_000)


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def halved(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def scrambled(path: Path) -> None:
    path.write_bytes(b"\x13" * path.stat().st_size)


@pytest.mark.parametrize(
    ("name", "harm", "seen_from_outside"),
    [
        ("length.bin", halved, True),
        ("data_level0.bin", halved, True),
        ("link_lists.bin", grown, True),
        ("header.bin", Path.unlink, True),
        ("index_metadata.pickle", Path.unlink, True),
        ("index_metadata.pickle", halved, False),
        ("chroma.sqlite3", Path.unlink, True),
        ("chroma.sqlite3", scrambled, False),
        ("chroma.sqlite3", piped, True),
        ("header.bin", piped, True),
    ],
)
def test_torn_files_are_detected_at_open(
    copy: Path, name: str, harm: Callable[[Path], None], seen_from_outside: bool
) -> None:
    store = ChromaStore(copy, DIMENSION, "model")
    assert find_damage(store.directory, DIMENSION) == ""
    (path,) = copy.rglob(name)
    harm(path)
    assert bool(find_damage(store.directory, DIMENSION)) is seen_from_outside
    with pytest.raises(StoreFailed, match="damaged") as caught:
        store.count("code")
    assert caught.value.facts["rebuild"] is True
    assert store.worker_pid is None
    store.discard()
    assert store.count("code") == 0
    store.close()


def test_files_that_hold_mostly_deleted_vectors_are_said_to_need_a_rebuild(filled: Path) -> None:
    directory = ChromaStore(filled, DIMENSION, "model").directory
    assert find_waste(directory, DIMENSION, ROWS) == ""
    assert find_waste(directory, DIMENSION, 5_000) == "20,000 vectors, 15,000 of them deleted"


def test_a_store_of_mostly_deleted_vectors_says_so_and_is_not_called_damaged(copy: Path) -> None:
    store = ChromaStore(copy, DIMENSION, "model")
    store.remove("code", np.arange(15_000))
    store.close()
    again = ChromaStore(copy, DIMENSION, "model")
    with pytest.raises(StoreFailed, match="files hold 20,000 vectors, 15,000 of them deleted") as caught:
        again.count("code")
    assert caught.value.facts["rebuild"] is True
    assert "damaged" not in caught.value.message
    again.close()


@pytest.mark.parametrize(
    ("dimension", "model", "why"), [(DIMENSION, "other", "made for"), (DIMENSION * 2, "model", "for dimension 32")]
)
def test_a_store_made_for_another_model_or_dimension_asks_to_be_rebuilt(
    chroma: ChromaStore, tmp_path: Path, dimension: int, model: str, why: str
) -> None:
    chroma.add("code", ids(1), random_vectors(1))
    chroma.close()
    with pytest.raises(StoreFailed, match=why) as caught:
        ChromaStore(tmp_path / "chroma", dimension, model).count("code")
    assert caught.value.facts["rebuild"] is True


def test_the_file_of_another_store_in_place_of_its_own_asks_to_be_rebuilt(chroma: ChromaStore, tmp_path: Path) -> None:
    other = ChromaStore(tmp_path / "other", DIMENSION, "model")
    for store, seed in ((chroma, 0), (other, 1)):
        store.add("code", np.arange(10), random_vectors(10, seed=seed))
        store.close()
    shutil.copy(other.directory / "chroma.sqlite3", chroma.directory / "chroma.sqlite3")
    again = ChromaStore(tmp_path / "chroma", DIMENSION, "model")
    with pytest.raises(StoreFailed, match="made for"):
        again.count("code")
    again.close()


def test_a_python_that_is_not_there_and_a_folder_that_may_not_be_made_are_named(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match="did not start"):
        ChromaStore(tmp_path / "chroma", DIMENSION, "model", python=str(tmp_path / "no-python")).count("code")
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreFailed, match="is no longer what it was"):
        ChromaStore(tmp_path / "file" / "chroma", DIMENSION, "model").count("code")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions do not bind root")
def test_a_folder_without_permission_is_permission_denied(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(PermissionDenied):
        ChromaStore(tmp_path / "locked" / "chroma", DIMENSION, "model").count("code")


ROUND_TRIP = """
import sys
from pathlib import Path
import numpy as np
from sidecar.parts.vectors.chroma import ChromaStore
store = ChromaStore(Path(sys.argv[1]), 4, "model")
store.add("code", np.arange(4), np.eye(4, dtype=np.float32))
print(store.query("code", np.eye(4, dtype=np.float32)[2], 1)[0].tolist(), flush=True)
if sys.argv[2] == "stay":
    sys.stdin.read()
store.close()
"""


def test_nothing_in_the_working_directory_or_the_environment_configures_chroma(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "chromadb").mkdir(parents=True)
    (workspace / "chromadb" / "__init__.py").write_text("raise SystemExit('the workspace was imported')")
    attack = {
        "CHROMA_API_IMPL": "chromadb.api.fastapi.FastAPI",
        "CHROMA_SERVER_HOST": "attacker.invalid",
        "CHROMA_SERVER_HTTP_PORT": "abc",
        "CHROMA_OTEL_COLLECTION_ENDPOINT": "http://attacker.invalid",
        "OTEL_SDK_DISABLED": "nonsense",
    }
    (workspace / ".env").write_text("".join(f"{key}={value}\n" for key, value in attack.items()))
    python_path = os.pathsep.join([str(PROJECT), str(workspace)])
    done = subprocess.run(
        [sys.executable, "-c", ROUND_TRIP, str(tmp_path / "chroma"), "leave"],
        cwd=workspace,
        env={**os.environ, **attack, "PYTHONPATH": python_path, "PYTHONSTARTUP": "x", "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("[2]\n", 0), done.stderr
    assert list((tmp_path / "chroma").rglob("chroma.sqlite3"))


def test_the_worker_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", ROUND_TRIP, str(tmp_path / "chroma"), "stay"],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdin is not None and parent.stdout is not None
    assert parent.stdout.readline() == b"[2]\n"
    parent.kill()
    parent.wait()
    parent.stdin.close()
    parent.stdout.close()
    store = ChromaStore(tmp_path / "chroma", 4, "model")  # the lock is free only if the other worker is dead
    assert store.count("code") == 4
    store.close()


# ---------------------------------------------------------------- frames


def framed(header: dict[str, object], *arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    write_frame(stream, header, arrays)
    return stream.getvalue()


def test_a_frame_comes_back_as_it_was_written() -> None:
    vectors = random_vectors(3)
    stream = io.BytesIO(framed({"call": "ü"}, ids(1, -2), vectors[:, ::2]) + framed({}))
    frame = read_frame(stream)
    assert frame is not None
    header, arrays = frame
    assert header == {"call": "ü"}
    assert arrays[0].tolist() == [1, -2]
    assert np.array_equal(arrays[1], vectors[:, ::2])
    assert read_frame(stream) == ({}, [])
    assert read_frame(stream) is None


@pytest.mark.parametrize(
    "content",
    [
        framed({}, ids(1))[:-1],
        framed({})[:3],
        b"\xff" * 8,
        b"\x02\0\0\0\0\0\0\0{}",
        b"\x01\0\0\0\0\0\0\0{",
        framed({}, ids(1)).replace(b"[1]", b"[9]"),
        framed({}, ids(1)).replace(b"<i8", b"|O8"),
    ],
)
def test_bytes_that_are_no_frame_are_refused(content: bytes) -> None:
    with pytest.raises(FrameError):
        read_frame(io.BytesIO(content))


def test_an_array_of_another_type_is_not_sent() -> None:
    with pytest.raises(FrameError):
        framed({}, np.zeros(3))
