"""The manifest and its slots, on real SQLite: what is stored where, what the vector store still lacks, and what
survives."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.errors import IndexCorrupt
from sidecar.model.files import Chunk, Decision, Rule, SkippedPath, Stat
from sidecar.model.terms import Collection
from sidecar.parts.manifest import Manifest, NewFile
from sidecar.parts.manifest_reads import read_skips
from sidecar.parts.slots import Slots

CODE, DOCS = 0, 1


@pytest.fixture
def manifest(tmp_path: Path) -> Iterator[Manifest]:
    made = Manifest.make(tmp_path / "manifest.sqlite", {"model_id": "model@1"})
    yield made
    made.close()


@pytest.fixture
def slots(manifest: Manifest) -> Slots:
    return Slots(manifest)


def new_file(path: str, texts: Sequence[str], collection: Collection = "code") -> NewFile:
    chunks = [Chunk(n, n, text, "code", names=(text,)) for n, text in enumerate(texts, 1)]
    hashes = [text.encode() for text in texts]
    stat = Stat(len(texts), 1, 1, 1)
    return NewFile(path, collection, "python", "syntax", b"sha", stat, True, False, path.encode(), chunks, hashes)


def put(
    manifest: Manifest,
    path: str,
    vectors: Sequence[int],
    *,
    path_vector: int = 1,
    collection: Collection = "code",
) -> tuple[int, list[int], int | None]:
    """Writes a file with one chunk for each vector id, in one transaction."""
    with manifest.transaction():
        texts = [f"{path} {n}" for n in range(len(vectors))]
        return manifest.put_file(new_file(path, texts, collection), vectors, path_vector)


def slots_of(manifest: Manifest, path: str) -> list[int]:
    rows = manifest.connection.execute(
        "SELECT slot FROM chunks c JOIN files f ON f.id = c.file_id WHERE path = ? ORDER BY c.id", (path,)
    )
    return [row[0] for row in rows]


def pending(slots: Slots) -> list[tuple[int, int, int, int]]:
    """Returns slot, collection, vector and path vector of each pending slot."""
    return [row[:4] for row in slots.take_pending(slots.pending())]


def settle_all(slots: Slots) -> None:
    slots.settle_pending(slots.take_pending(slots.pending()))
    assert not len(slots.pending())


def everything(manifest: Manifest) -> list[str]:
    return list(manifest.connection.iterdump())


# ---------------------------------------------------------------- slots


def test_a_replaced_files_chunks_take_over_its_slots(manifest: Manifest, slots: Slots) -> None:
    put(manifest, "a.py", [11, 12])
    put(manifest, "b.py", [13])
    before = slots_of(manifest, "a.py")
    settle_all(slots)
    put(manifest, "a.py", [21, 22, 23])
    after = slots_of(manifest, "a.py")
    assert after[:2] == before
    assert after[2] not in [*before, *slots_of(manifest, "b.py")]
    assert pending(slots) == [(after[0], CODE, 21, 1), (after[1], CODE, 22, 1), (after[2], CODE, 23, 1)]


def test_slots_that_a_shorter_file_leaves_over_are_to_be_deleted_and_are_free(manifest: Manifest, slots: Slots) -> None:
    put(manifest, "a.py", [11, 12, 13])
    first, second, third = slots_of(manifest, "a.py")
    settle_all(slots)
    put(manifest, "a.py", [21])
    assert pending(slots) == [(first, CODE, 21, 1), (second, CODE, 0, 0), (third, CODE, 0, 0)]
    settle_all(slots)
    assert slots.slots_in_store(CODE) == [first]
    put(manifest, "b.py", [31, 32, 33])
    assert slots_of(manifest, "b.py") == [second, third, third + 1]


def test_a_removed_files_slots_are_to_be_deleted_and_the_next_file_takes_them(manifest: Manifest, slots: Slots) -> None:
    file_id, _, _ = put(manifest, "a.py", [11, 12])
    freed = slots_of(manifest, "a.py")
    settle_all(slots)
    with manifest.transaction():
        assert manifest.remove_files(["a.py", "never.py"]) == [file_id]
    assert pending(slots) == [(slot, CODE, 0, 0) for slot in freed]
    put(manifest, "b.py", [21, 22])
    assert slots_of(manifest, "b.py") == freed
    assert pending(slots) == [(freed[0], CODE, 21, 1), (freed[1], CODE, 22, 1)]


def test_a_code_file_that_becomes_docs_changes_its_slots_collection(manifest: Manifest, slots: Slots) -> None:
    put(manifest, "a.txt", [11, 12])
    in_code = slots_of(manifest, "a.txt")
    settle_all(slots)
    put(manifest, "a.txt", [11, 12], collection="docs")
    in_docs = slots_of(manifest, "a.txt")
    assert not set(in_code) & set(in_docs)
    assert pending(slots) == [
        *((slot, CODE, 0, 0) for slot in in_code),
        (in_docs[0], DOCS, 11, 1),
        (in_docs[1], DOCS, 12, 1),
    ]
    settle_all(slots)
    assert (slots.slots_in_store(CODE), slots.slots_in_store(DOCS)) == ([], in_docs)
    put(manifest, "b.md", [21], collection="docs")
    assert not set(slots_of(manifest, "b.md")) & set(in_code)
    put(manifest, "b.py", [22])
    assert set(slots_of(manifest, "b.py")) <= set(in_code)


def test_a_new_chunk_without_a_vector_is_pending_only_when_it_gets_one(manifest: Manifest, slots: Slots) -> None:
    file_id, (first, second), _ = put(manifest, "a.py", [0, 0], path_vector=0)
    assert pending(slots) == []
    assert [chunk.chunk_id for chunk in manifest.without_vector(10)] == [first, second]
    with manifest.transaction():
        manifest.set_vectors([(first, 11), (second + 100, 12)], [(file_id, 5)])
    assert pending(slots) == [(slots_of(manifest, "a.py")[0], CODE, 11, 5)]
    assert [chunk.chunk_id for chunk in manifest.without_vector(10)] == [second]


def test_a_replaced_chunk_without_a_vector_leaves_the_store_at_once(manifest: Manifest, slots: Slots) -> None:
    put(manifest, "a.py", [11])
    settle_all(slots)
    put(manifest, "a.py", [0])
    assert pending(slots) == [(slots_of(manifest, "a.py")[0], CODE, 0, 1)]


# ---------------------------------------------------------------- settling


def test_settling_keeps_the_slots_that_changed_in_between(manifest: Manifest, slots: Slots) -> None:
    for path, vector in (("a.py", 11), ("b.py", 12), ("c.py", 13)):
        put(manifest, path, [vector])
    written = slots.take_pending(slots.pending())
    put(manifest, "a.py", [21])
    with manifest.transaction():
        manifest.remove_files(["b.py"])
    slots.settle_pending(written)
    a, b, _ = (row.slot for row in written)
    assert pending(slots) == [(a, CODE, 21, 1), (b, CODE, 0, 0)]


def test_settling_keeps_a_slot_whose_text_went_to_a_file_of_another_path(manifest: Manifest, slots: Slots) -> None:
    put(manifest, "a.py", [11], path_vector=1)
    written = slots.take_pending(slots.pending())
    with manifest.transaction():
        manifest.remove_files(["a.py"])
        manifest.put_file(new_file("b.py", ["same text"]), [11], 2)
    slots.settle_pending(written)
    assert pending(slots) == [(written[0][0], CODE, 11, 2)]


def test_pending_slots_come_in_portions(manifest: Manifest, slots: Slots) -> None:
    put(manifest, "a.py", [11, 12, 13])
    all_of_them = slots.pending()
    first = slots.take_pending(all_of_them[[2, 0]])
    slots.settle_pending(first)
    assert [row[2] for row in first] == [11, 13]
    assert [row[2] for row in slots.take_pending(all_of_them)] == [12]


def test_a_store_begun_anew_is_given_every_slot_with_a_vector_and_no_deletion(manifest: Manifest, slots: Slots) -> None:
    put(manifest, "a.py", [11, 0])
    put(manifest, "b.md", [12], collection="docs")
    put(manifest, "gone.py", [13])
    settle_all(slots)
    with manifest.transaction():
        manifest.remove_files(["gone.py"])
    slots.refill_pending()
    assert [row[1:3] for row in slots.take_pending(slots.pending())] == [(CODE, 11), (DOCS, 12)]


def test_a_marked_slot_is_written_or_deleted_as_the_tables_say(manifest: Manifest, slots: Slots) -> None:
    put(manifest, "a.py", [11])
    settle_all(slots)
    (held,) = slots_of(manifest, "a.py")
    slots.mark_pending([held, 900], CODE)
    assert slots.slots_in_store(CODE) == []
    assert pending(slots) == [(held, CODE, 11, 1), (900, CODE, 0, 0)]


# ---------------------------------------------------------------- transactions and ids


class Interrupted(Exception):
    pass


def test_a_transaction_that_fails_leaves_nothing(manifest: Manifest, slots: Slots) -> None:
    put(manifest, "a.py", [11, 12])
    settle_all(slots)
    before = everything(manifest)
    with pytest.raises(Interrupted), manifest.transaction():
        manifest.put_file(new_file("a.py", ["x"]), [21], 2)
        manifest.put_file(new_file("b.py", ["y", "z"]), [22, 23], 3)
        manifest.forget(["a.py"])
        manifest.put_failure("c.py", "broken")
        manifest.put_skip(SkippedPath("d.py", Decision(Rule.BINARY, "")), Stat(1, 1, 1, 1), True)
        manifest.set_meta(complete=1)
        raise Interrupted
    assert everything(manifest) == before
    assert not manifest.connection.in_transaction


def test_chunks_are_counted_once_and_again_after_a_transaction_that_failed(manifest: Manifest) -> None:
    asked: list[str] = []
    put(manifest, "a.py", [1, 2])
    assert manifest.count_chunks() == 2
    manifest.connection.set_trace_callback(asked.append)
    put(manifest, "b.py", [1, 2, 3])
    put(manifest, "a.py", [1])
    assert manifest.count_chunks() == 4
    assert not any("count(" in one for one in asked)
    with pytest.raises(ZeroDivisionError), manifest.transaction():
        manifest.forget(["b.py"])
        assert manifest.count_chunks() == 1
        raise ZeroDivisionError
    assert manifest.count_chunks() == 4


def test_chunks_are_counted_first_within_a_transaction_that_has_added_some(manifest: Manifest) -> None:
    put(manifest, "a.py", [1, 2])
    with manifest.transaction():
        manifest.put_file(new_file("b.py", ["y", "z", "w"]), [22, 23, 24], 3)
        assert manifest.count_chunks() == 5
    assert manifest.count_chunks() == 5


def test_a_database_error_inside_leaves_nothing_either_and_is_raised(manifest: Manifest) -> None:
    before = everything(manifest)
    with pytest.raises(IndexCorrupt), manifest.transaction() as connection:
        manifest.put_file(new_file("a.py", ["x"]), [11], 1)
        connection.execute("INSERT INTO no_such_table VALUES(1)")
    assert everything(manifest) == before


def test_a_reader_sees_all_of_a_transaction_or_nothing(manifest: Manifest) -> None:
    reader = sqlite3.connect(manifest.path)
    try:
        with manifest.transaction():
            manifest.put_file(new_file("a.py", ["x"]), [11], 1)
            assert reader.execute("SELECT count(*) FROM files").fetchone() == (0,)
        assert reader.execute("SELECT count(*) FROM files").fetchone() == (1,)
    finally:
        reader.close()


def revision_of(manifest: Manifest) -> int:
    (revision,) = manifest.connection.execute("SELECT value FROM meta WHERE key = 'revision'").fetchone()
    return int(revision)


def test_every_transaction_raises_the_revision_by_one(manifest: Manifest) -> None:
    before = revision_of(manifest)
    put(manifest, "a.py", [11])
    assert revision_of(manifest) == before + 1
    with pytest.raises(Interrupted), manifest.transaction():
        raise Interrupted
    assert revision_of(manifest) == before + 1


def test_ids_only_grow(manifest: Manifest) -> None:
    """Ids only grow: through replacement, through removal of everything, and in a manifest that is opened again."""
    files, chunks, replaced = [], [], []
    for number in range(3):
        written = put(manifest, "a.py", [11, 12])
        files.append(written[0])
        chunks += written[1]
        replaced.append(written[2])
        if number == 1:
            with manifest.transaction():
                manifest.remove_files(["a.py"])
    again = Manifest(manifest.path)
    try:
        with again.transaction():
            again.remove_files(["a.py"])
        written = put(again, "b.py", [13])
    finally:
        again.close()
    assert replaced == [None, files[0], None]
    assert sorted(set(files)) == files
    assert sorted(set(chunks)) == chunks
    assert written[0] > files[-1]
    assert written[1][0] > chunks[-1]


# ---------------------------------------------------------------- what is known


def test_a_stored_chunk_comes_back_as_it_was(manifest: Manifest) -> None:
    chunk = Chunk(3, 9, "text\u2028with é", "function", ("f", "g"), ("Outer", "Inner"))
    with manifest.transaction():
        manifest.put_file(replace(new_file("a.py", ["x"]), chunks=[chunk]), [0], 0)
    (waiting,) = manifest.without_vector(10)
    assert waiting.chunk == chunk
    assert (waiting.path, waiting.body_hash, waiting.path_hash) == ("a.py", b"x", b"a.py")


def test_a_file_is_either_indexed_or_skipped_or_failed(manifest: Manifest) -> None:
    put(manifest, "a.py", [11])
    skipped = SkippedPath("a.py", Decision(Rule.BINARY, "NUL bytes"))
    with manifest.transaction():
        manifest.put_skip(skipped, Stat(5, 6, 7, 8), True)
    assert manifest.known_file("a.py") is None
    assert manifest.known_skips() == {"a.py": (Stat(5, 6, 7, 8), True)}
    assert read_skips(manifest.connection) == [skipped]
    with manifest.transaction():
        manifest.put_failure("a.py", "broken")
    put(manifest, "a.py", [12])
    assert list(manifest.known_files()) == ["a.py"]
    assert manifest.known_skips() == {}
    assert manifest.failures() == {}


def test_a_touched_file_keeps_its_id_and_chunks(manifest: Manifest) -> None:
    file_id, _, _ = put(manifest, "a.py", [11])
    before = slots_of(manifest, "a.py")
    with manifest.transaction():
        manifest.touch("a.py", Stat(1, 99, 99, 4), False, b"blob")
    known = manifest.known_file("a.py")
    assert known is not None
    assert (known.id, known.stat, known.settled) == (file_id, Stat(1, 99, 99, 4), False)
    assert slots_of(manifest, "a.py") == before


def test_files_below_a_folder_are_found_at_any_depth_and_no_others(manifest: Manifest) -> None:
    for number, path in enumerate(("a/b.py", "a/c/d.py", "a0.py", "a.py", "a-b/c.py", "b/a/c.py")):
        put(manifest, path, [10 + number])
    assert manifest.known_below("a") == ["a/b.py", "a/c/d.py"]
    assert manifest.known_below("a/b.py") == []


def test_commits_of_saved_files_leave_writing_the_file_to_another_thread(manifest: Manifest, tmp_path: Path) -> None:
    """With SQLite's default, the file itself is written by some commit before the journal has 2000 pages."""
    manifest.write_back()
    before, number = (tmp_path / "manifest.sqlite").read_bytes(), 0
    while not manifest.journal_is_long or (tmp_path / "manifest.sqlite-wal").stat().st_size < 2000 * 4096:
        number += 1
        put(manifest, f"src/{number}.py", [number] * 40)
    assert (tmp_path / "manifest.sqlite").read_bytes() == before
    with manifest.transaction():  # which does not keep it from being written
        manifest.write_back()
    assert (tmp_path / "manifest.sqlite").read_bytes() != before
    assert not manifest.journal_is_long


def test_writing_a_manifest_back_that_is_gone_makes_no_new_one(tmp_path: Path) -> None:
    manifest = Manifest.make(tmp_path / "manifest.sqlite", {})
    manifest.close()
    (tmp_path / "manifest.sqlite").unlink()
    with pytest.raises(IndexCorrupt):
        manifest.write_back()
    assert not (tmp_path / "manifest.sqlite").exists()
