"""The arrays of one revision of a manifest. They are read as a whole, or derived from those of an earlier revision."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import compress
from typing import Annotated, Any, Literal, get_type_hints

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.concurrency.memo import Memo
from sidecar.engine.concurrency.room import Rooms
from sidecar.model.terms import Ids
from sidecar.parts.one_step import as_numbers, numbers_in_one_step, packed_by_id, unpacked

Int32s = NDArray[np.int32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Column:
    """Marks an array of `Arrays` that holds one SQL column unchanged."""

    table: Literal["files", "chunks"]
    sql: str
    dtype: type[np.generic]


@dataclass(kw_only=True, eq=False)
class Arrays:
    """The arrays of one revision, with files and chunks in ascending order of their ids.

    `chunk_file` is the row of a chunk's file, `chunk_kind` an index into `kinds`. A vector id of 0 means that the text
    has no vector yet. Arrays with a `_Column` are loaded generically: a new one needs a line here, and a line in
    `search/source.py` if searches read it. `rooms` are shared by all revisions that were derived from one another.
    """

    revision: int
    file_ids: Annotated[Ids, _Column("files", "id", np.int64)]
    paths: list[str]
    languages: list[str]
    file_collection: Annotated[NDArray[np.int8], _Column("files", "collection", np.int8)]
    file_vector: Annotated[Ids, _Column("files", "path_vector", np.int64)]
    chunk_ids: Annotated[Ids, _Column("chunks", "id", np.int64)]
    chunk_file: Int32s
    chunk_start: Annotated[Int32s, _Column("chunks", "start_line", np.int32)]
    chunk_end: Annotated[Int32s, _Column("chunks", "end_line", np.int32)]
    chunk_kind: NDArray[np.int16]
    kinds: list[str]
    chunk_slot: Annotated[Ids, _Column("chunks", "slot", np.int64)]
    chunk_vector: Annotated[Ids, _Column("chunks", "vector_id", np.int64)]
    memo: Memo = field(default_factory=Memo)
    rooms: Rooms = field(default_factory=Rooms)


def _columns(table: Literal["files", "chunks"]) -> dict[str, _Column]:
    """Returns the arrays of this table that have a `_Column`, by name."""
    hints = get_type_hints(Arrays, include_extras=True)
    marked = ((name, mark) for name, hint in hints.items() for mark in getattr(hint, "__metadata__", ()))
    return {name: mark for name, mark in marked if isinstance(mark, _Column) and mark.table == table}


_MOST_STRETCHES = 100
_FEW = 4
"""Up to so many files are looked for one after the other, in a pass of compiled code for each."""
_DENSE = 8
"""Reading all rows of a range takes less time than looking some up if these are at least an eighth of them."""
_ASKED = 500
_FILE_COLUMNS, _CHUNK_COLUMNS = _columns("files"), _columns("chunks")


def array_names() -> tuple[str, ...]:
    """Returns the names of all numpy arrays of `Arrays`."""
    return (*_FILE_COLUMNS, *_CHUNK_COLUMNS, "chunk_file", "chunk_kind")


def load_arrays(connection: sqlite3.Connection, revision: int, known: Arrays | None) -> Arrays:
    """Returns the arrays of the transaction's revision, derived from `known` unless that is newer or None."""
    memo = known.memo.successor() if known is not None else Memo()
    if known is None or known.revision > revision:
        known = _nothing()
    gone, files = _load_files(connection, known)
    chunks = _load_chunks(connection, known, gone, files["file_ids"])
    # Rooms of arrays that have lost rows would only keep those arrays in memory.
    rooms = Rooms() if len(gone) else known.rooms
    return Arrays(revision=revision, memo=memo, rooms=rooms, **files, **chunks)


class Everything:
    """The rows of arrays that all stay, so that most arrays are lengthened where they are. Those in `changing` are
    copied."""

    def __init__(self, rooms: Rooms, changing: Collection[str]) -> None:
        self._rooms = rooms
        self._changing = changing

    def followed_by(self, name: str, values: NDArray[Any], added: NDArray[Any]) -> NDArray[Any]:
        """Returns the values, followed by the added ones."""
        rooms = self._rooms
        return (rooms.copied_anew if name in self._changing else rooms.followed_by)(name, values, added)


class Kept:
    """The rows of an array that stay, as stretches: if few files are gone, copying stretches is several times as fast
    as choosing row by row."""

    def __init__(self, gone: Ids, count: int) -> None:
        """`gone`: which of `count` rows do not stay, ascending."""
        breaks = np.flatnonzero(np.diff(gone) > 1)
        self._mask: Flags | None = None
        self._stretches: list[slice] = []
        if len(breaks) >= _MOST_STRETCHES:
            self._mask = np.ones(count, bool)
            self._mask[gone] = False
        else:
            begins = [0, *(gone[[*breaks.tolist(), -1]] + 1).tolist()] if len(gone) else [0]
            ends = [*gone[[0, *(breaks + 1).tolist()]].tolist(), count] if len(gone) else [count]
            self._stretches = [slice(begin, end) for begin, end in zip(begins, ends, strict=True)]

    def followed_by(self, _name: str, values: NDArray[Any], added: NDArray[Any]) -> NDArray[Any]:
        """Returns the values of the rows that stay, followed by the added ones."""
        if self._mask is not None:
            return np.concatenate([values[self._mask], added])
        return np.concatenate([*(values[some] for some in self._stretches), added])

    def listed(self, values: list[str], added: Iterable[str]) -> list[str]:
        """Returns the items of the rows that stay, followed by the added ones."""
        if self._mask is not None:
            return [*compress(values, self._mask.tolist()), *added]
        stay: list[str] = []
        for some in self._stretches:
            stay += values[some]
        stay += added
        return stay


def _nothing() -> Arrays:
    empty: dict[str, Any] = {name: np.zeros(0, c.dtype) for name, c in (_FILE_COLUMNS | _CHUNK_COLUMNS).items()}
    return Arrays(
        revision=-1,
        paths=[],
        languages=[],
        kinds=[],
        chunk_file=np.zeros(0, np.int32),
        chunk_kind=np.zeros(0, np.int16),
        **empty,
    )


def _load_files(connection: sqlite3.Connection, known: Arrays) -> tuple[Ids, dict[str, Any]]:
    """Returns the rows of the known files that no longer exist, ascending, and the file columns of this revision by
    name."""
    last = int(known.file_ids[-1]) if len(known.file_ids) else 0
    (paths, languages), new = _new_rows(connection, "files", ("path", "language"), _sql_of(_FILE_COLUMNS), last)
    gone = _gone_files(connection, known, paths)
    keep = Kept(gone, len(known.paths))
    loaded: dict[str, Any] = {
        "paths": keep.listed(known.paths, paths),
        "languages": keep.listed(known.languages, languages),
    }
    for (name, column), added in zip(_FILE_COLUMNS.items(), new, strict=True):
        loaded[name] = keep.followed_by(name, getattr(known, name), added.astype(column.dtype))
    before = slice(0, len(loaded["file_ids"]) - len(paths))
    _refresh(connection, "files", "path_vector", loaded["file_ids"][before], loaded["file_vector"][before])
    return gone, loaded


def _gone_files(connection: sqlite3.Connection, known: Arrays, new_paths: Sequence[str]) -> Ids:
    """Returns the rows of the known files that no longer exist, ascending.

    The number of rows shows whether any is gone. A changed file gets a new id, so a known path among the new ones is
    gone, and usually no other file is. If one is, all ids are read.
    """
    (count,) = connection.execute("SELECT count(*) FROM files").fetchone()
    missing = len(known.paths) + len(new_paths) - count
    if not missing:
        return np.zeros(0, np.int64)
    replaced = _rows_with(known.paths, new_paths)
    if len(replaced) == missing:
        return replaced
    last = int(known.file_ids[-1])
    (ids,) = numbers_in_one_step(connection, ("id",), "FROM (SELECT id FROM files WHERE id <= ? ORDER BY id)", (last,))
    return np.flatnonzero(rows_of(ids, known.file_ids) < 0)


def _rows_with(paths: list[str], wanted: Sequence[str]) -> Ids:
    """Returns the rows of those of the wanted paths that are there, ascending."""
    if len(wanted) <= _FEW:
        found: list[int] = []
        for path in wanted:
            with suppress(ValueError):
                found.append(paths.index(path))
        return np.array(sorted(found), np.int64)
    return np.flatnonzero(np.fromiter(map(set(wanted).__contains__, paths), bool, len(paths)))


def _load_chunks(connection: sqlite3.Connection, known: Arrays, gone: Ids, file_ids: Ids) -> dict[str, Any]:
    """Returns the chunk columns of this revision by name. `gone` are the rows of the known files that no longer exist,
    `file_ids` the ids of the present ones."""
    last = int(known.chunk_ids[-1]) if len(known.chunk_ids) else 0
    columns = ("file_id", *_sql_of(_CHUNK_COLUMNS))
    (kind_names,), (new_files, *new) = _new_rows(connection, "chunks", ("kind",), columns, last)
    kinds = [*known.kinds, *sorted(set(kind_names) - set(known.kinds))]
    codes = {kind: number for number, kind in enumerate(kinds)}
    # Missing vector ids are filled in below, and former revisions see the same arrays.
    changing = frozenset[str]() if known.chunk_vector.all() else frozenset(["chunk_vector"])
    keep: Everything | Kept = Everything(known.rooms, changing)
    held = known.chunk_file
    if len(gone):
        without, held = _without(known.chunk_file, gone, len(known.file_ids))
        keep = Kept(without, len(held))
    added_kinds = np.fromiter((codes[name] for name in kind_names), np.int16, len(kind_names))
    loaded: dict[str, Any] = {
        "chunk_file": keep.followed_by("chunk_file", held, rows_of(file_ids, new_files)),
        "chunk_kind": keep.followed_by("chunk_kind", known.chunk_kind, added_kinds),
        "kinds": kinds,
    }
    for (name, column), added in zip(_CHUNK_COLUMNS.items(), new, strict=True):
        loaded[name] = keep.followed_by(name, getattr(known, name), added.astype(column.dtype))
    before = slice(0, len(loaded["chunk_ids"]) - len(kind_names))
    _refresh(connection, "chunks", "vector_id", loaded["chunk_ids"][before], loaded["chunk_vector"][before])
    return loaded


def _without(chunk_file: Int32s, gone: Ids, files: int) -> tuple[Ids, Int32s]:
    """Returns the rows of the chunks in files that are gone, ascending, and for each chunk the row that its file has
    once those are left out; any row for chunks in files that are gone. There are so many `files`."""
    if len(gone) > _FEW:
        alive = np.ones(files, bool)
        alive[gone] = False
        rows = np.cumsum(alive, dtype=np.int32) - np.int32(1)
        return np.flatnonzero(~alive[chunk_file]), rows[chunk_file]
    lost: list[Ids] = []
    held = chunk_file.copy()
    for row in gone.tolist():
        lost.append(np.flatnonzero(chunk_file == row))
        held -= chunk_file > row
    return np.sort(np.concatenate(lost)), held


def _sql_of(columns: dict[str, _Column]) -> tuple[str, ...]:
    return tuple(column.sql for column in columns.values())


def _new_rows(
    connection: sqlite3.Connection, table: str, texts: Sequence[str], numbers: Sequence[str], last: int
) -> tuple[list[list[str]], list[Ids]]:
    """Returns columns of texts and columns of numbers, each of shape [n], of the rows with an id above `last`."""
    packed = ", ".join([*(f"json_group_array({text})" for text in texts), *(f"group_concat({n})" for n in numbers)])
    found_texts: list[list[str]] = [[] for _ in texts]
    found_numbers: list[list[Ids]] = [[np.zeros(0, np.int64)] for _ in numbers]
    for columns in packed_by_id(connection, packed, ", ".join((*texts, *numbers)), table, last):
        for found, one in zip(found_texts, columns, strict=False):
            found.extend(unpacked(one))
        for blocks, one in zip(found_numbers, columns[len(texts) :], strict=True):
            blocks.append(as_numbers(one))
    return found_texts, [np.concatenate(blocks) for blocks in found_numbers]


def _refresh(connection: sqlite3.Connection, table: str, column: str, ids: Ids, values: Ids) -> None:
    """Reads the vector ids again that were 0, and writes them into `values` in place."""
    missing = ids[values == 0]
    if _is_dense(missing):
        # Chunks without a vector have an index of their own. Their rows have their texts, and take long to read.
        still = f"FROM {table} WHERE {column} = 0 AND id BETWEEN ? AND ?"
        (without,) = numbers_in_one_step(connection, ("id",), still, _ends(missing))
        missing = np.setdiff1d(missing, without, assume_unique=True)
    wanted: list[tuple[str, Sequence[int]]] = []
    if _is_dense(missing):
        wanted = [("BETWEEN ? AND ?", _ends(missing))]
    else:
        for start in range(0, len(missing), _ASKED):
            some = missing[start : start + _ASKED].tolist()
            wanted.append((f"IN ({','.join('?' * len(some))})", some))
    for which, asked in wanted:
        found, vectors = numbers_in_one_step(connection, ("id", column), f"FROM {table} WHERE id {which}", asked)
        at = rows_of(ids, found)
        values[at[at >= 0]] = vectors[at >= 0]


def _is_dense(ids: Ids) -> bool:
    """Whether all rows between these ids should be read. An interrupted run leaves some that are far apart."""
    return len(ids) > 0 and int(ids[-1]) - int(ids[0]) < _DENSE * len(ids)


def _ends(ids: Ids) -> tuple[int, int]:
    return int(ids[0]), int(ids[-1])


def rows_of(sorted_ids: Ids, ids: Ids) -> Int32s:
    """Returns the position of each id in `sorted_ids`, shape [n]; -1 if it is absent."""
    if len(sorted_ids) == 0:
        return np.full(len(ids), -1, np.int32)
    at = np.minimum(np.searchsorted(sorted_ids, ids), len(sorted_ids) - 1)
    return np.where(sorted_ids[at] == ids, at, -1).astype(np.int32)
