"""Files with data that nothing can make again: a damaged one is set aside, and what can be read is carried over."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sidecar.errors import IndexCorrupt
from sidecar.parts.database import readable_rows
from sidecar.parts.documents import DocumentFile
from sidecar.parts.lexical.tfidf import count_words
from sidecar.parts.memories import MemoryFile
from sidecar.parts.own_file import Content, OwnFile, Rescued

PAGE = 4096
POEMS = ("CREATE TABLE poems(id INTEGER PRIMARY KEY, text TEXT NOT NULL)", "PRAGMA user_version = 1")
LONG = "a line of a poem " * 400


def rescue(old: sqlite3.Connection, new: sqlite3.Connection) -> Rescued:
    rows = list(readable_rows(old, "poems", "id", "text"))
    new.executemany("INSERT INTO poems VALUES(?, ?)", rows)
    return Rescued(len(rows))


def poems_in(path: Path, schema: tuple[str, ...] = POEMS, version: int = 1) -> OwnFile:
    return OwnFile(path, Content("poems", schema, version, rescue))


def write_poems(path: Path, count: int = 20) -> None:
    poems = poems_in(path)
    with poems.writing() as connection:
        connection.executemany("INSERT INTO poems(text) VALUES(?)", [(f"{n} {LONG}",) for n in range(count)])
    poems.close()


def read_poems(poems: OwnFile) -> list[str]:
    with poems.reading() as connection:
        assert connection is not None
        return [text for (text,) in connection.execute("SELECT text FROM poems ORDER BY id")]


def zero_page(path: Path, number: int) -> None:
    held = path.read_bytes()
    path.write_bytes(held[: number * PAGE] + bytes(PAGE) + held[(number + 1) * PAGE :])


def test_of_a_damaged_file_what_can_be_read_goes_on_and_the_file_itself_stays_under_another_name(
    tmp_path: Path,
) -> None:
    path = tmp_path / "poems.sqlite"
    write_poems(path)
    zero_page(path, 9)
    damaged = path.read_bytes()
    poems = poems_in(path)
    with pytest.raises(IndexCorrupt, match=r"The poems in .*The file is now \"poems\.damaged-1\.sqlite") as raised:
        read_poems(poems)
    left = read_poems(poems)
    assert f"{len(left)} of the poems have been rescued" in raised.value.detail
    assert 15 <= len(left) < 20
    assert set(left) <= {f"{n} {LONG}" for n in range(20)}
    assert (tmp_path / "poems.damaged-1.sqlite").read_bytes() == damaged
    with poems.writing() as connection:
        connection.execute("INSERT INTO poems(text) VALUES('another one')")
    assert read_poems(poems)[-1] == "another one"


@pytest.mark.parametrize("content", [b"", b"no database at all " * 500], ids=["empty", "text"])
def test_what_is_no_file_of_poems_is_set_aside_even_where_nothing_can_be_rescued(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "poems.sqlite"
    path.write_bytes(content)
    poems = poems_in(path)
    with pytest.raises(IndexCorrupt, match="0 of the poems have been rescued"), poems.writing():
        pass
    assert read_poems(poems) == []
    assert (tmp_path / "poems.damaged-1.sqlite").read_bytes().startswith(content)


def test_a_folder_in_its_place_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "poems.sqlite" / "inside").mkdir(parents=True)
    poems = poems_in(tmp_path / "poems.sqlite")
    with pytest.raises(IndexCorrupt, match="it is a folder"), poems.reading():
        pass
    assert read_poems(poems) == []
    assert (tmp_path / "poems.damaged-1.sqlite" / "inside").is_dir()


def test_a_second_damage_does_not_take_the_name_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "poems.sqlite"
    for _ in range(2):
        path.write_bytes(b"rubbish " * 1000)
        with pytest.raises(IndexCorrupt), poems_in(path).writing():
            pass
    names = {path.name for path in tmp_path.iterdir() if "damaged" in path.name}
    assert names == {"poems.damaged-1.sqlite", "poems.damaged-2.sqlite"}


def test_damage_that_is_met_while_the_file_is_open_is_mended_too(tmp_path: Path) -> None:
    path = tmp_path / "poems.sqlite"
    write_poems(path, 200)
    poems = poems_in(path)
    with poems.reading():
        pass
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    with pytest.raises(IndexCorrupt, match="Try again"), poems.reading() as outer, poems.reading():
        assert outer is not None
        outer.execute("SELECT sum(length(text)) FROM poems").fetchone()
    assert read_poems(poems)


def test_a_file_of_a_newer_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "poems.sqlite"
    write_poems(path)
    before = path.read_bytes()
    newer = poems_in(path, (*POEMS[:1], "PRAGMA user_version = 2"), 2)
    with pytest.raises(IndexCorrupt, match="is now"):
        read_poems(newer)  # an older one is no file of this program's
    path.write_bytes(before)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(IndexCorrupt, match=r"written by a newer sidecar \(format 7"):
        read_poems(poems_in(path))
    assert path.exists()


def test_a_letter_that_is_damaged_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "poems.sqlite"
    poems = poems_in(path)
    with poems.writing() as connection:
        connection.execute("INSERT INTO poems(text) VALUES(CAST(X'61FF62' AS TEXT))")
    assert read_poems(poems) == ["a\ufffdb"]


def test_memories_are_found_by_their_words_after_a_rescue(tmp_path: Path) -> None:
    path = tmp_path / "memories.sqlite"
    memories = MemoryFile(path)
    for n in range(6):
        text = f"memory{n} " + "Run the build with clang. " * 600
        memories.save(f"build/{n}", f"Summary {n}", text, ["build", str(n)])
    memories.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'words_data'").fetchone()
    connection.close()
    zero_page(path, root - 1)
    with pytest.raises(IndexCorrupt, match="6 of the memories have been rescued"):
        memories.find_words(["clang"], "OR", "", 10)
    assert memories.find_words(["clang"], "OR", "", 10)[1] == 6
    kept = memories.get("build/3")
    assert kept is not None
    assert (kept.summary, kept.tags) == ("Summary 3", ("build", "3"))


def test_documents_are_found_by_their_words_after_a_rescue(tmp_path: Path) -> None:
    path = tmp_path / "documents.sqlite"
    documents = DocumentFile(path, count_words)
    documents.create("kept", True, 2)
    index = documents.find("kept")
    assert index is not None
    for n in range(6):
        content = f"document{n} " + "tokens in a bucket " * 500
        index.put(f"doc-{n}", content, "{}", count_words(content, True, 2))
    documents.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'postings'").fetchone()
    connection.close()
    zero_page(path, root - 1)
    with pytest.raises(IndexCorrupt, match="6 of the documents have been rescued"):
        index.of("bucket")
    again = documents.find("kept")
    assert again is not None
    assert len(again.of("bucket")) == again.size() == 6
