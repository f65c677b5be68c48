"""Packs an index as a team snapshot: reads its rows, compares them with the files on disk, and writes the file.

Only files that may have changed since they were indexed are read, and those that have a chunk which is not a range of
whole lines. Of all others the stat is looked at.

Files that another checkout could not restore from its own copy are left out, and that checkout indexes them itself.
These are files with masked values, with unsaved text of an editor, changed since they were indexed, or with a control
character in a name; and, unless the snapshot contains the texts, files with a chunk whose text is not a range of the
file's lines.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sidecar.engine.ingest.prepare import ExpectedChunk, Recall, Recalled
from sidecar.engine.ports import EmbeddingCache
from sidecar.engine.team import rows
from sidecar.engine.team.blocks import RowsWriter, TextsWriter, write_line
from sidecar.errors import Cancelled, IndexCorrupt
from sidecar.model.files import Stat
from sidecar.model.terms import IsCancelled, Progress, Vectors
from sidecar.parts.data_folder import UNFINISHED
from sidecar.parts.database import connect, translated
from sidecar.parts.lexical.transfer import COLUMNS, NOTHING, Before, lengths_of, take_out
from sidecar.parts.manifest import unpack_names
from sidecar.parts.team.container import Packed, pack
from sidecar.shown import so_far

FILES_AT_ONCE = 64
_VECTORS_AT_ONCE = 8192
_NAMES_REMEMBERED = 50_000

_FILE_COLUMNS = ("path", "collection", "language", "parser", "blob", "size", "chunks")
_CHUNK_COLUMNS = ("start", "end", "kind", "names", "enclosing")
_DEFINITION_COLUMNS = ("chunk", "name", "kind", "start", "end", "depth", "exported", "container")

RecallAll = Callable[[Iterator[Sequence[Recall]]], Iterator[tuple[Sequence[Recall], Sequence[Recalled | None]]]]
"""Compares files with those on disk; see `ports.Preparers.recall_all`."""


@dataclass(frozen=True)
class BaseRows:
    """The content of a base, which a snapshot on it leaves out: the git blob id of each file by its path, the hashes of
    texts with a vector, and the numbers of chunks and files."""

    blobs: Mapping[str, str]
    vectors: frozenset[bytes]
    after: Before


@dataclass(frozen=True)
class Subject:
    """The index to pack: its workspace's folder (`root`), its manifest, its vectors (`kept`), and how files that may
    have changed are compared with the disk. With `texts`, the snapshot contains the texts of the chunks. The content of
    the `base` is left out."""

    root: str
    manifest: Path
    kept: EmbeddingCache
    dimension: int
    recall_all: RecallAll
    texts: bool
    base: BaseRows | None = None

    @property
    def before(self) -> Before:
        """The numbers of chunks and files of the base, after which those of the snapshot are numbered."""
        return NOTHING if self.base is None else self.base.after


@dataclass(frozen=True, slots=True)
class Gathered:
    """The result of packing: the file, the numbers of files and chunks of the commit in it and its base together, and
    how many files were left out."""

    packed: Packed
    files: int
    chunks: int
    left_out: int


@dataclass
class _Taken:
    """What the snapshot has so far: the files that its rows are written to, their ids in the index, and their
    hashes."""

    files: RowsWriter
    chunks: RowsWriter
    texts: TextsWriter | None
    file_ids: array[int] = field(default_factory=lambda: array("q"))
    chunk_ids: array[int] = field(default_factory=lambda: array("q"))
    path_hashes: bytearray = field(default_factory=bytearray)
    body_hashes: bytearray = field(default_factory=bytearray)
    vectors: dict[bytes, int] = field(default_factory=dict)
    left_out: int = 0
    base_files: int = 0
    base_chunks: int = 0


def gather(
    subject: Subject, facts: Mapping[str, Any], out: Path, progress: Progress, cancelled: IsCancelled
) -> Gathered:
    """Packs the index into one file in `out`. `facts` go into the header, together with the counts.

    Raises IndexCorrupt, Cancelled and OSError.
    """
    with (
        translated(subject.manifest),
        contextlib.closing(connect(subject.manifest, readonly=True)) as connection,
        tempfile.TemporaryDirectory(prefix=f"{UNFINISHED}making-", dir=out) as folder,
    ):
        connection.execute("BEGIN")  # all reads see one commit
        place = Path(folder)
        taken = _take(connection, subject, place, progress, cancelled)
        _write_definitions(connection, taken, place, subject.before)
        (place / "hashes").write_bytes(taken.path_hashes + taken.body_hashes)
        _write_postings(connection, taken, place, subject.before)
        vectors = _write_vectors(subject, taken, place)
        counts = {"files": len(taken.file_ids), "chunks": len(taken.chunk_ids), "vectors": vectors}
        files, chunks = counts["files"] + taken.base_files, counts["chunks"] + taken.base_chunks
        if subject.base is not None:
            counts |= {"allFiles": files, "allChunks": chunks}
        parts = {name: place / name for name, must in rows.PARTS.items() if must or (subject.texts and name == "texts")}
        progress(1, 1, "Packing the snapshot")
        packed = pack({**facts, **counts}, parts, out)
    return Gathered(packed, files, chunks, taken.left_out)


def _take(
    connection: sqlite3.Connection, subject: Subject, folder: Path, progress: Progress, cancelled: IsCancelled
) -> _Taken:
    """Writes the rows of the files that are the same on disk as in the index into `folder`."""
    with contextlib.ExitStack() as stack:
        files = stack.enter_context(RowsWriter(folder, "files", _FILE_COLUMNS))
        chunks = stack.enter_context(RowsWriter(folder, "chunks", _CHUNK_COLUMNS))
        texts = stack.enter_context(TextsWriter(folder, "texts")) if subject.texts else None
        taken = _Taken(files, chunks, texts)
        _take_all(connection, subject, taken, progress, cancelled)
    return taken


def _take_all(
    connection: sqlite3.Connection, subject: Subject, taken: _Taken, progress: Progress, cancelled: IsCancelled
) -> None:
    listed = connection.execute(
        "SELECT id, path, collection, language, parser, sha256, size, path_hash, path_vector, blob FROM files"
        " WHERE masked = 0 AND buffered = 0 ORDER BY id"
    ).fetchall()
    (every,) = connection.execute("SELECT count(*) FROM files").fetchone()
    taken.left_out = every - len(listed)
    strange = _with_strange_definitions(connection)
    sure = _unchanged(connection, subject.root) - (set() if subject.texts else _with_pieces(connection))
    doubtful = [file for file in listed if file[0] not in sure]
    blobs = _compared(connection, doubtful, subject, progress, cancelled)
    for number, file in enumerate(listed):
        if number % FILES_AT_ONCE == 0:
            _go_on(cancelled)
        own = _chunks_of(connection, file[0], subject.texts)
        blob = file[9].hex() if file[0] in sure else blobs.get(file[0], "")
        if blob and file[0] not in strange and rows.is_path(file[1]) and _is_embedded(file, own):
            _add(taken, file, own, blob, subject.base)
        else:
            taken.left_out += 1


def _go_on(cancelled: IsCancelled) -> None:
    if cancelled():
        raise Cancelled("No snapshot has been made.")


def _with_strange_definitions(connection: sqlite3.Connection) -> set[int]:
    """Returns the ids of the files with a definition whose texts cannot be in a snapshot."""
    is_plain = functools.lru_cache(_NAMES_REMEMBERED)(rows.is_plain)
    found = connection.execute("SELECT file_id, name, kind, container FROM definitions")
    return {file for file, *texts in found if not all(map(is_plain, texts))}


def _unchanged(connection: sqlite3.Connection, root: str) -> set[int]:
    """Returns the ids of the files whose stat on disk shows that they have not changed since they were read, and whose
    blob id is known."""
    noted = connection.execute(
        "SELECT id, path, size, mtime_ns, ctime_ns, inode FROM files WHERE settled = 1 AND blob != x''"
    )
    return {file for file, path, *stat in noted if _stat_of(root, path) == Stat(*stat)}


def _stat_of(root: str, path: str) -> Stat | None:
    with contextlib.suppress(OSError, ValueError):
        return Stat.of(os.lstat(f"{root}/{path}"))
    return None


def _with_pieces(connection: sqlite3.Connection) -> set[int]:
    """Returns the ids of the files with a chunk that is not a range of whole lines, as their rows show. A chunk that is
    a piece of a line shares that line with others."""
    found = {file for (file,) in connection.execute("SELECT id FROM files WHERE parser = 'notebook'")}
    before, last = 0, 0
    for file, start, end, breaks in connection.execute(
        "SELECT file_id, start_line, end_line, length(text) - length(replace(text, char(10), '')) FROM chunks"
        " ORDER BY id"
    ):
        if breaks != end - start or (file == before and start <= last):
            found.add(file)
        before, last = file, end
    return found


def _compared(
    connection: sqlite3.Connection,
    files: Sequence[Any],
    subject: Subject,
    progress: Progress,
    cancelled: IsCancelled,
) -> dict[int, str]:
    """Reads files, and returns the blob ids of those that are as they were indexed, by the id of the file."""
    blobs: dict[int, str] = {}
    chunks: dict[int, list[Any]] = {}

    def pieces() -> Iterator[Sequence[Recall]]:
        for start in range(0, len(files), FILES_AT_ONCE):
            _go_on(cancelled)
            some = files[start : start + FILES_AT_ONCE]
            for file in some:
                chunks[file[0]] = _chunks_of(connection, file[0], texts=True)
            yield [_recall(file, chunks[file[0]], subject.texts) for file in some]

    done = iter(files)
    for number, (_, answers) in enumerate(subject.recall_all(pieces())):
        for answer in answers:
            file = next(done)
            own = chunks.pop(file[0])
            # Equal hashes do not mean equal texts, because encoded data is not embedded.
            if answer is not None and (subject.texts or list(answer.texts) == [chunk[8] for chunk in own]):
                blobs[file[0]] = answer.blob
        seen = min((number + 1) * FILES_AT_ONCE, len(files))
        progress(seen, len(files), so_far("Comparing with the files", seen, len(files)))
    return blobs


def _chunks_of(connection: sqlite3.Connection, file_id: int, texts: bool) -> list[Any]:
    """Returns the rows of a file's chunks; the last column is "" without `texts`."""
    text = "text" if texts else "''"
    return connection.execute(
        f"SELECT id, start_line, end_line, kind, names, enclosing, body_hash, vector_id, {text} FROM chunks"
        " WHERE file_id = ? ORDER BY id",
        (file_id,),
    ).fetchall()


def _recall(file: Sequence[Any], chunks: Sequence[Any], with_texts: bool) -> Recall:
    places = [] if with_texts else [ExpectedChunk(c[1], c[2], unpack_names(c[5]), c[6]) for c in chunks]
    return Recall(file[1], file[6], places, sha256=file[5])


def _is_embedded(file: Sequence[Any], chunks: Sequence[Any]) -> bool:
    return bool(file[8]) and all(chunk[7] for chunk in chunks)


def _add(taken: _Taken, file: Sequence[Any], chunks: Sequence[Any], blob: str, base: BaseRows | None) -> None:
    if base is not None and base.blobs.get(file[1]) == blob:
        taken.base_files += 1
        taken.base_chunks += len(chunks)
        return
    file_id, path, collection, language, parser, _, size, path_hash, path_vector, _ = file
    taken.files.add((path, collection, language, parser, blob, size, len(chunks)))
    taken.file_ids.append(file_id)
    taken.path_hashes += path_hash
    taken.vectors[path_hash] = path_vector
    for chunk_id, start, end, kind, names, enclosing, body_hash, vector_id, text in chunks:
        taken.chunks.add((start, end, kind, names, enclosing))
        if taken.texts is not None:
            taken.texts.add(text)
        taken.chunk_ids.append(chunk_id)
        taken.body_hashes += body_hash
        taken.vectors[body_hash] = vector_id


def _write_definitions(connection: sqlite3.Connection, taken: _Taken, folder: Path, before: Before) -> None:
    found = connection.execute(
        "SELECT chunk_id, name, kind, start_line, end_line, depth, exported, container FROM definitions ORDER BY rowid"
    )
    ids, many = taken.chunk_ids, len(taken.chunk_ids)
    with RowsWriter(folder, "definitions", _DEFINITION_COLUMNS) as out:
        for chunk_id, *rest in found:
            place = bisect_left(ids, chunk_id)
            if place < many and ids[place] == chunk_id:
                out.add((before.chunks + place + 1, *rest))


def _write_postings(connection: sqlite3.Connection, taken: _Taken, folder: Path, before: Before) -> None:
    chunk_ids, file_ids = np.array(taken.chunk_ids, np.int64), np.array(taken.file_ids, np.int64)
    order = np.argsort(chunk_ids, kind="stable")
    assert (order == np.arange(len(order))).all()  # a file's chunks get consecutive ids above all others
    with contextlib.ExitStack() as stack:
        terms, *outs = (
            stack.enter_context((folder / name).open("wb"))
            for name in ("terms", *(f"{kind}-{column}" for kind in ("sizes", "blobs") for column in COLUMNS))
        )
        for block in take_out(connection, chunk_ids, file_ids, before):
            write_line(terms, block.terms)
            for column, sizes, blobs in zip(block.columns, outs, outs[len(COLUMNS) :], strict=False):
                sizes.write(np.array([len(blob) for blob in column], "<u4").tobytes())
                blobs.write(b"".join(column))
    lengths = lengths_of(connection, chunk_ids, file_ids)
    packed = lengths.bodies.astype("<u4").tobytes() + lengths.fields.astype("<u4").tobytes()
    (folder / "lengths").write_bytes(packed)


def _write_vectors(subject: Subject, taken: _Taken, folder: Path) -> int:
    """Writes the vectors that the base lacks. Returns how many these are."""
    hashes = sorted(taken.vectors.keys() - (subject.base.vectors if subject.base else frozenset()))
    ids = np.array([taken.vectors[key] for key in hashes], np.int64)

    def blocks() -> Iterator[Vectors]:
        for start in range(0, len(ids), _VECTORS_AT_ONCE):
            vectors, there = subject.kept.get(ids[start : start + _VECTORS_AT_ONCE])
            if not there.all():
                raise IndexCorrupt("Some of its vectors are missing. Run `reindex_project`, then make the snapshot.")
            yield vectors

    rows.write_vectors(folder, hashes, blocks())
    return len(hashes)
