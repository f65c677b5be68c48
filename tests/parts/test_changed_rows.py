"""Memories and documents that damage has changed without SQLite noticing: nothing false is shown, what can be restored
is restored, and what cannot is named."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sidecar.errors import IndexCorrupt
from sidecar.parts.documents import DocumentFile, KeptDocuments
from sidecar.parts.lexical.tfidf import count_words
from sidecar.parts.memories import MemoryFile

PAGE = 4096
TEXT = "Run the build with clang. "


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept.sqlite"


@pytest.fixture
def memories(path: Path) -> Iterator[MemoryFile]:
    """Yields a file of 60 short memories, many to a page, and a long one."""
    made = MemoryFile(path)
    for n in range(60):
        made.save(f"build/{n}", f"Summary {n}", TEXT + str(n), ["build", str(n)])
    made.save("long", "", TEXT * 600, [])
    made.close()
    change(path)
    yield made
    made.close()


@pytest.fixture
def documents(path: Path) -> Iterator[DocumentFile]:
    made = DocumentFile(path, count_words)
    made.create("kept", lowercase=False, min_length=4)
    for n in range(6):
        add(kept(made), f"doc-{n}", f"number{n} " + "Tokens in a bucket. " * 500)
    made.close()
    change(path)
    yield made
    made.close()


def kept(documents: DocumentFile) -> KeptDocuments:
    found = documents.find("kept")
    assert found is not None
    return found


def add(index: KeptDocuments, doc_id: str, content: str) -> None:
    index.put(doc_id, content, "{}", count_words(content, index.lowercase, index.min_length))


def change(path: Path, *statements: str) -> None:
    """Changes a file behind the back of the program, and leaves its log empty."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def pages_of(path: Path, what: str) -> list[int]:
    """Returns the numbers of the leaf pages of a table or index, from 0."""
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (what,)).fetchone()
    page = path.read_bytes()[(root - 1) * PAGE : root * PAGE]
    if page[0] in (10, 13):
        return [root - 1]
    cells = [int.from_bytes(page[at : at + 2]) for at in range(12, 12 + 2 * int.from_bytes(page[3:5]), 2)]
    return [int.from_bytes(page[cell : cell + 4]) - 1 for cell in cells]


def zero(path: Path, number: int) -> None:
    held = path.read_bytes()
    path.write_bytes(held[: number * PAGE] + bytes(PAGE) + held[(number + 1) * PAGE :])


def test_a_changed_text_of_a_memory_is_not_shown_and_is_restored_from_the_words(
    memories: MemoryFile, path: Path
) -> None:
    change(path, "UPDATE memories SET text = replace(text, 'clang', 'clanG') WHERE key = 'build/3'")
    with pytest.raises(IndexCorrupt, match="a memory is not what was stored") as raised:
        memories.page("build/", [], 100, 0)
    assert "61 of the memories have been rescued and are in use. Try again." in raised.value.detail
    found = memories.get("build/3")
    assert found is not None
    assert (found.text, found.tags) == (TEXT + "3", ("build", "3"))
    assert path.with_name("kept.damaged-1.sqlite").exists()


def test_a_memory_that_cannot_be_restored_is_kept_and_named(memories: MemoryFile, path: Path) -> None:
    change(path, "UPDATE memories SET text = 'x', tags = '[' WHERE key = 'build/3'")
    with pytest.raises(IndexCorrupt, match='Not certainly as they were: "build/3"'):
        memories.get("build/3")
    found = memories.get("build/3")
    assert found is not None
    assert found.text == "x"


def test_memories_on_a_lost_page_come_back_from_the_words_and_are_named(memories: MemoryFile, path: Path) -> None:
    leaf = pages_of(path, "memories")[0]
    zero(path, leaf)
    with pytest.raises(IndexCorrupt, match="61 of the memories have been rescued") as raised:
        memories.get("long")
    assert 'Not certainly as they were: "build/0", "build/1"' in raised.value.detail
    found = memories.get("build/0")
    assert found is not None
    assert (found.summary, found.text, found.tags) == ("Summary 0", TEXT + "0", ("build", "0"))
    assert memories.find_words(["clang"], "OR", "", 10)[1] == 61


def test_what_is_lost_is_named(memories: MemoryFile, path: Path) -> None:
    change(path, "DELETE FROM words WHERE key = 'build/0'")
    zero(path, pages_of(path, "memories")[0])
    with pytest.raises(IndexCorrupt, match=r'60 of the memories .* Lost: "build/0"\.'):
        memories.get("long")


def test_a_changed_key_of_an_index_hides_no_memory(memories: MemoryFile, path: Path) -> None:
    (leaf, *_) = pages_of(path, "sqlite_autoindex_memories_1")
    held = path.read_bytes()
    at = held.index(b"build/1", leaf * PAGE)
    path.write_bytes(held[:at] + b"b" + b"t" + held[at + 2 :])
    with pytest.raises(IndexCorrupt, match=r"61 of the memories have been rescued and are in use\. Try again"):
        memories.get("build/1")
    assert memories.get("build/1") is not None


def test_a_changed_text_of_a_document_is_not_shown_and_is_named(documents: DocumentFile, path: Path) -> None:
    change(path, "UPDATE documents SET content = replace(content, 'bucket', 'bucker') WHERE doc_id = 'doc-3'")
    index = kept(documents)
    number = index.number_of("doc-3")
    assert number is not None
    with pytest.raises(IndexCorrupt, match=r'6 of the documents .* Not certainly as they were: "kept/doc-3"'):
        index.content(number)
    assert "bucker" in kept(documents).content(number)
    assert len(kept(documents).of("bucket")) == 5


def test_lost_documents_are_named(documents: DocumentFile, path: Path) -> None:
    zero(path, pages_of(path, "documents")[0])
    with pytest.raises(IndexCorrupt, match='Lost: "kept/doc-'):
        documents.names()
    assert kept(documents).size() < 6


def test_documents_whose_index_has_lost_its_rules_are_kept(documents: DocumentFile, path: Path) -> None:
    zero(path, pages_of(path, "indexes")[0])
    with pytest.raises(IndexCorrupt, match=r'6 of the documents .* Not certainly as they were: "the rules of kept"'):
        documents.names()
    assert kept(documents).size() == 6
    assert (kept(documents).lowercase, kept(documents).min_length) == (True, 2)


def test_a_file_of_the_format_before_goes_on(memories: MemoryFile, path: Path) -> None:
    change(path, "ALTER TABLE memories DROP COLUMN seal", "PRAGMA user_version = 1")
    found = memories.get("build/3")
    assert found is not None
    assert found.text == TEXT + "3"
    memories.save("new", "", "text", [])
    memories.close()
    change(path, "UPDATE memories SET created = 1 WHERE key = 'build/4'")
    with pytest.raises(IndexCorrupt, match="not what was stored"):
        memories.get("build/4")
    assert sorted(p.name for p in path.parent.iterdir() if "damaged" in p.name and p.suffix == ".sqlite") == [
        "kept.damaged-1.sqlite"
    ]


def test_of_a_damaged_file_of_the_format_before_everything_is_rescued(memories: MemoryFile, path: Path) -> None:
    change(path, "ALTER TABLE memories DROP COLUMN seal", "PRAGMA user_version = 1")
    zero(path, pages_of(path, "words_data")[0])
    with pytest.raises(IndexCorrupt, match=r"61 of the memories have been rescued and are in use\. Try again"):
        memories.get("build/3")
    assert memories.find_words(["clang"], "OR", "", 10)[1] == 61


def test_documents_of_the_format_before_go_on(documents: DocumentFile, path: Path) -> None:
    change(path, "ALTER TABLE documents DROP COLUMN seal", "PRAGMA user_version = 1")
    index = kept(documents)
    assert index.content(1).startswith("number0 ")
    add(index, "doc-0", "other")
    assert kept(documents).content(1) == "other"
