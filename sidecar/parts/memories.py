"""The memories of one workspace in a SQLite file of their own, with an FTS5 index of their words and with their
vectors.

Ranking is in `engine/extras/memory.py`.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from sidecar.model.answers import Memory
from sidecar.parts.database import readable_names, readable_rows
from sidecar.parts.own_file import Content, DamagedRow, OwnFile, Rescued, seal, stored_seal

SCHEMA_VERSION = 2
_SCHEMA = (
    (
        "CREATE TABLE memories(id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, summary TEXT NOT NULL,"
        " text TEXT NOT NULL, tags TEXT NOT NULL, created REAL NOT NULL, updated REAL NOT NULL, seal INTEGER)"
    ),
    (
        "CREATE TABLE vectors(memory_id INTEGER NOT NULL, model TEXT NOT NULL, pieces BLOB NOT NULL,"
        " PRIMARY KEY(memory_id, model)) WITHOUT ROWID"
    ),
    "CREATE VIRTUAL TABLE words USING fts5(key, summary, text, tags, tokenize = 'porter unicode61')",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)
_VALUES = "key, summary, text, tags, created, updated"
_UPGRADE = (
    "ALTER TABLE memories ADD COLUMN seal INTEGER",
    f"UPDATE memories SET seal = seal({_VALUES})",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)
_COLUMNS = "m.key, m.summary, m.text, m.tags, m.created, m.updated, m.seal"
_BM25 = "bm25(words, 4.0, 3.0, 1.0, 2.0)"
"""A memory's key, tags and summary weigh more than its text. FTS5: the more negative, the better."""
EXCERPT_TOKENS = 18
"""The maximum number of tokens of an excerpt around a keyword."""
EXCERPT_CHARACTERS = 160
"""The number of characters of an excerpt that is the beginning of the text."""
# Private-use characters, because a text may itself contain `<mark>`.
_OPEN, _CLOSE = "\ue000", "\ue001"
_TEXT_COLUMN, _ANY_COLUMN = 2, -1

_UNSPACED = re.compile(
    "(?<=[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af])"
    "(?=[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af])"
)
_GAP = "\u200b"
"""Separates the characters of scripts without spaces, so that a phrase matches any run of them. Removed from
excerpts."""

Operator = Literal["AND", "OR"]


@dataclass(frozen=True, slots=True)
class WordHit:
    """A memory that contains keywords. `share` is the part of the phrases that it contains, above 0 and at most 1.

    `score` is above 0; higher is better. It is FTS5's bm25 with its sign changed, plus the share. (bm25 alone is close
    to 0 when most memories contain a word.)
    """

    id: int
    score: float
    share: float


class MemoryFile:
    """The memories of one workspace. Thread-safe. The file and its folder are created with the first memory; until then
    all results are empty."""

    def __init__(self, path: Path) -> None:
        self._file = OwnFile(path, Content("memories", _SCHEMA, SCHEMA_VERSION, _rescue, _UPGRADE))

    # ------------------------------------------------------------ keeping

    def save(self, key: str, summary: str, text: str, tags: Sequence[str]) -> tuple[Memory, bool]:
        """Stores a memory, replacing the one with the same key. Returns it, and whether the key is new."""
        now = time.time()
        with self._file.writing() as connection:
            old = connection.execute("SELECT id, created FROM memories WHERE key = ?", (key,)).fetchone()
            if old is not None:
                _forget_words(connection, old[0])
            row = (key, summary, text, json.dumps(list(tags), ensure_ascii=False), old[1] if old else now, now)
            number = connection.execute(
                f"INSERT INTO memories(id, {_VALUES}, seal) VALUES(?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT(id) DO UPDATE SET summary = excluded.summary, text = excluded.text, tags = excluded.tags,"
                " created = excluded.created, updated = excluded.updated, seal = excluded.seal RETURNING id",
                (old[0] if old else None, *row, seal(*row)),
            ).fetchone()[0]
            _note_words(connection, number, key, summary, text, tags)
        return _memory((*row, None)), old is None

    def delete(self, key: str) -> bool:
        """Deletes a memory. Returns False when no memory has this key."""
        if self.get(key) is None:
            return False
        with self._file.writing() as connection:
            row = connection.execute("SELECT id FROM memories WHERE key = ?", (key,)).fetchone()
            if row is not None:
                _forget_words(connection, row[0])
                connection.execute("DELETE FROM memories WHERE id = ?", row)
        return row is not None

    # ------------------------------------------------------------ reading

    def get(self, key: str) -> Memory | None:
        """Returns the memory with this key; None when no memory has it."""
        with self._reading() as connection:
            row = connection.execute(f"SELECT {_COLUMNS} FROM memories m WHERE key = ?", (key,)).fetchone()
            return _memory(row) if row else None

    def page(self, namespace: str, tags: Sequence[str], limit: int, offset: int) -> tuple[list[Memory], int]:
        """Returns one page of the memories whose key begins with `namespace` and that have all `tags`, and the number
        on all pages.

        The most recently changed come first.
        """
        where, values = _in_namespace(namespace)
        for tag in tags:
            where += " AND EXISTS(SELECT 1 FROM json_each(m.tags) WHERE value = ?)"
            values.append(tag)
        with self._reading() as connection:
            total = connection.execute(f"SELECT count(*) FROM memories m WHERE {where}", values).fetchone()[0]
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM memories m WHERE {where} ORDER BY m.updated DESC, m.id DESC LIMIT ? OFFSET ?",
                (*values, limit, offset),
            ).fetchall()
            return [_memory(row) for row in rows], total

    def ids(self, namespace: str) -> list[int]:
        """Returns the ids of the memories in a namespace, ascending."""
        where, values = _in_namespace(namespace)
        with self._reading() as connection:
            return [i for (i,) in connection.execute(f"SELECT m.id FROM memories m WHERE {where} ORDER BY 1", values)]

    def by_id(self, ids: Sequence[int]) -> dict[int, Memory]:
        """Returns the memories with these ids; ids that do not exist are missing from the result."""
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT m.id, {_COLUMNS} FROM memories m WHERE m.id IN (SELECT value FROM json_each(?))",
                (json.dumps(list(ids)),),
            ).fetchall()
            return {row[0]: _memory(row[1:]) for row in rows}

    def find_words(
        self, phrases: Sequence[str], operator: Operator, namespace: str, limit: int, offset: int = 0
    ) -> tuple[list[WordHit], int]:
        """Returns one page of the memories that contain all (AND) or any (OR) of the phrases, best first, and the
        number on all pages.
        """
        where, values = _in_namespace(namespace)
        distinct = list(dict.fromkeys(phrases))
        holding = " UNION ALL ".join(["SELECT rowid AS id FROM words WHERE words MATCH ?"] * len(distinct))
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT m.id, {_BM25} AS rank FROM words JOIN memories m ON m.id = words.rowid"
                f" WHERE words MATCH ? AND {where}",
                (_expression(distinct, operator), *values),
            ).fetchall()
            shares = Counter(
                number for (number,) in connection.execute(holding, [_expression([p], "OR") for p in distinct])
            )
        hits = [
            WordHit(number, share - rank, share) for number, rank in rows if (share := shares[number] / len(distinct))
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.id))
        return hits[offset : offset + limit], len(hits)

    def excerpts(self, phrases: Sequence[str], ids: Sequence[int]) -> dict[int, str]:
        """Returns, by id, a part of each of these memories that contains any of the phrases, with the phrases in
        `<mark>`.

        The part comes from the text or, when no phrase is in the text, from another column.
        """
        with self._reading() as connection:
            rows = connection.execute(
                f"SELECT m.id, {_snippet(_TEXT_COLUMN)}, {_snippet(_ANY_COLUMN)}, substr(m.text, 1, ?)"
                " FROM words JOIN memories m ON m.id = words.rowid"
                " WHERE words MATCH ? AND m.id IN (SELECT value FROM json_each(?))",
                (EXCERPT_CHARACTERS, _expression(phrases, "OR"), json.dumps(list(ids))),
            ).fetchall()
        return {number: _excerpt(*parts) for number, *parts in rows}

    # ------------------------------------------------------------ vectors

    def vectors(self, model: str, ids: Sequence[int]) -> dict[int, bytes]:
        """Returns the stored vectors of these memories for a model; memories without vectors are missing from the
        result."""
        with self._reading() as connection:
            return dict(
                connection.execute(
                    "SELECT memory_id, pieces FROM vectors WHERE model = ?"
                    " AND memory_id IN (SELECT value FROM json_each(?))",
                    (model, json.dumps(list(ids))),
                ).fetchall()
            )

    def keep_vectors(self, model: str, made: Sequence[tuple[int, float, bytes]]) -> None:
        """Stores (memory id, time of its last change when it was read, packed vectors), except for memories that have
        been changed or deleted since.
        """
        with self._file.writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO vectors SELECT id, ?, ? FROM memories WHERE id = ? AND updated = ?",
                [(model, pieces, number, updated) for number, updated, pieces in made],
            )

    def changed_at(self, ids: Sequence[int]) -> dict[int, float]:
        """Returns the times of the last change of these memories, in seconds since the epoch."""
        with self._reading() as connection:
            return dict(
                connection.execute(
                    "SELECT id, updated FROM memories WHERE id IN (SELECT value FROM json_each(?))",
                    (json.dumps(list(ids)),),
                ).fetchall()
            )

    def close(self) -> None:
        """Closes the file; it is opened again when needed."""
        self._file.close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._file.reading() as connection:
            if connection is not None:
                yield connection
                return
            empty = sqlite3.connect(":memory:", isolation_level=None)
            try:
                for statement in _SCHEMA:
                    empty.execute(statement)
                yield empty
            finally:
                empty.close()


def _rescue(old: sqlite3.Connection, new: sqlite3.Connection) -> Rescued:
    """Copies the memories, without their vectors, and indexes their words anew.

    The word index has a copy of the texts. It replaces what is lost or has been changed.
    """
    rescued, kept = Rescued(), set[int]()
    copied = readable_rows(old, "words_content", "id", "c0, c1, c2, c3")
    copies = {number: texts for number, *texts in copied if None not in texts}

    def keep(number: int, values: Sequence[object], *, certain: bool) -> None:
        key, summary, text, tags = map(_text, values[:4])
        row = (key, summary, text, tags, *map(_moment, values[4:]))
        with contextlib.suppress(sqlite3.IntegrityError):  # a repeated key
            new.execute(
                f"INSERT INTO memories(id, {_VALUES}, seal) VALUES(?, ?, ?, ?, ?, ?, ?, ?)", (number, *row, seal(*row))
            )
            _note_words(new, number, key, summary, text, _tags(tags))
            rescued.count += 1
            kept.add(number)
            if not certain:
                rescued.doubtful.append(key)

    columns = f"{_VALUES}, {stored_seal(old, 'memories')}"
    for number, *values, sealed in readable_rows(old, "memories", "id", columns):
        restored = [*_unspaced(copies.pop(number, ()))[:3], *values[3:]]
        if sealed in (None, seal(*values)):
            keep(number, values, certain=True)
        elif sealed == seal(*restored):
            keep(number, restored, certain=True)
        else:
            keep(number, values, certain=False)
    now = time.time()
    for number, texts in copies.items():
        key, summary, text, tags = _unspaced(texts)
        keep(number, (key, summary, text, json.dumps(tags.split(), ensure_ascii=False), now, now), certain=False)
    rescued.lost = [_text(key) for key, number in readable_names(old, "memories", "key, id") if number not in kept]
    return rescued


def _unspaced(texts: Sequence[object]) -> list[str]:
    """Returns texts as they were before the word index had them; see `_spaced`."""
    return [_text(text).replace(_GAP, "") for text in texts]


def _note_words(
    connection: sqlite3.Connection, number: int, key: str, summary: str, text: str, tags: Sequence[str]
) -> None:
    connection.execute(
        "INSERT INTO words(rowid, key, summary, text, tags) VALUES(?, ?, ?, ?, ?)",
        (number, *map(_spaced, (key, summary, text, " ".join(tags)))),
    )


def _forget_words(connection: sqlite3.Connection, number: int) -> None:
    connection.execute("DELETE FROM words WHERE rowid = ?", (number,))
    connection.execute("DELETE FROM vectors WHERE memory_id = ?", (number,))


def _in_namespace(namespace: str) -> tuple[str, list[object]]:
    """Returns an SQL condition for keys that begin with the namespace, and its values. It compares text, so `%` and `_`
    are literal."""
    return "substr(m.key, 1, ?) = ?", [len(namespace), namespace]


def _spaced(text: str) -> str:
    return text if text.isascii() else _UNSPACED.sub(_GAP, text)


def _quoted(phrase: str) -> str:
    return _spaced(phrase).replace('"', '""').replace("\0", " ")


def _expression(phrases: Sequence[str], operator: Operator) -> str:
    return f" {operator} ".join(f'"{_quoted(phrase)}"' for phrase in phrases)


def _snippet(column: int) -> str:
    return f"snippet(words, {column}, '{_OPEN}', '{_CLOSE}', '...', {EXCERPT_TOKENS})"


def _excerpt(in_text: str, anywhere: str, beginning: str) -> str:
    chosen = next((excerpt for excerpt in (in_text, anywhere) if excerpt and _OPEN in excerpt), beginning)
    return chosen.replace(_GAP, "").replace(_OPEN, "<mark>").replace(_CLOSE, "</mark>")


def _memory(row: Sequence[object]) -> Memory:
    """Returns the memory in a row of `_COLUMNS`. Raises DamagedRow if it is not what was stored."""
    *values, sealed = row
    if sealed not in (None, seal(*values)):
        raise DamagedRow("a memory is not what was stored")
    key, summary, text, tags, created, updated = values
    return Memory(str(key), str(summary), str(text), _tags(str(tags)), _iso(created), _iso(updated))


def _text(stored: object) -> str:
    return stored.decode("utf-8", "replace") if isinstance(stored, bytes) else str(stored)


def _moment(stored: object) -> float:
    return stored if isinstance(stored, float) else 0.0


def _tags(packed: str) -> tuple[str, ...]:
    """Returns the tags of a memory; empty when they are damaged, so that the text can still be used."""
    with contextlib.suppress(ValueError, TypeError):
        return tuple(map(str, json.loads(packed)))
    return ()


def _iso(moment: object) -> str:
    """Returns a time (seconds since the epoch) as ISO 8601 in UTC; a damaged one counts as the epoch."""
    try:
        at = datetime.fromtimestamp(float(str(moment)), UTC)
    except (ValueError, OverflowError, OSError):
        at = datetime.fromtimestamp(0, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
