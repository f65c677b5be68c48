"""Takes a team snapshot over into an empty generation: every row is checked and written into a manifest of this
machine. A snapshot that adds to a base is taken over together with it, as one.

The git blob id of each file is compared with that of the file on disk, and the texts of its chunks are read from that
file. A file that differs is left to the pass over the workspace that follows. Some chunks are embedded again, and the
snapshot is refused if its vectors are not those that this machine computes.

All workspaces share the embedding cache, so a vector is put into it only after everything in the snapshot has been
checked, and only if it belongs to a text that this checkout has.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from sidecar import shown
from sidecar.engine.index.generation import Generation, Writer
from sidecar.engine.ingest.prepare import ExpectedChunk, Recall, Recalled, text_hash
from sidecar.engine.ingest.team_vectors import TextsOf
from sidecar.engine.team import rows
from sidecar.engine.team.gather import FILES_AT_ONCE, RecallAll
from sidecar.engine.team.held import Held, HeldFile, Unpacked
from sidecar.errors import Cancelled, SnapshotUnusable
from sidecar.model.files import Chunk
from sidecar.model.terms import IsCancelled, Progress
from sidecar.parts.lexical.analyse import file_stem
from sidecar.parts.lexical.tokens import fold_name
from sidecar.parts.lexical.transfer import WrongPostings, put_in
from sidecar.parts.manifest import Manifest, unpack_names

SPOT_CHECKED = 50
LEAST_COSINE = 0.97
"""The minimum cosine between a vector of the snapshot and the one that this machine computes. On another processor,
vectors of quantised models differ a little, those of tables not at all."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Adopted:
    """The number of files in the snapshot, and how many of them are the same on disk."""

    files: int
    taken: int


def adopt(
    sources: Sequence[Unpacked],
    generation: Generation,
    recall_all: RecallAll,
    texts: TextsOf,
    progress: Progress,
    cancelled: IsCancelled,
) -> Adopted:
    """Fills an empty generation that is open for writing. `sources` has the snapshot, after its base if it has one.
    Raises SnapshotUnusable, Cancelled and the errors of the parts; the caller then has to drop the generation."""
    held = Held(sources, generation.model.dimension)
    return _Adoption(held, generation, _Disk(recall_all, texts)).run(progress, cancelled)


@dataclass(frozen=True)
class _Disk:
    """Access to the files of this checkout."""

    recall_all: RecallAll
    texts: TextsOf


class _Adoption:
    """Takes one snapshot over into one generation."""

    def __init__(self, held: Held, generation: Generation, disk: _Disk) -> None:
        assert generation.writer is not None
        self._held = held
        self._generation = generation
        self._writer: Writer = generation.writer
        self._files = held.files
        self._chunks = held.chunks
        self._disk = disk

    def run(self, progress: Progress, cancelled: IsCancelled) -> Adopted:
        """Checks everything that is in the snapshot, then takes over the words, and the files with their chunks and
        vectors."""
        self._check()
        self._spot_check(cancelled)
        self._write_words()
        taken = np.zeros(len(self._files.paths), bool)
        written = set[str]()
        for number, (some, answers) in enumerate(self._recalled(range(len(self._files.paths)), cancelled)):
            same = list(self._matching(some, answers))
            known = self._keep([place for place, _, _ in same])
            with self._manifest.transaction() as connection:
                for place, texts, answer in same:
                    # Both versions of a file can match, if the file was written between the comparisons.
                    if self._files.paths[place] not in written:
                        self._write_file(connection, place, answer, texts, known)
                        written.add(self._files.paths[place])
                        taken[place] = True
            looked = min((number + 1) * FILES_AT_ONCE, len(taken))
            progress(looked, len(taken), shown.so_far("Taking over the snapshot", looked, len(taken)))
        self._finish(taken)
        return Adopted(self._held.whole, len(written))

    @property
    def _manifest(self) -> Manifest:
        return self._writer.manifest

    # ------------------------------------------------------------ what needs no file on disk

    def _check(self) -> None:
        """Reads what is otherwise read only when it is written. Raises SnapshotUnusable if anything is not valid."""
        for path, stated in zip(self._files.paths, self._files.hashes, strict=True):
            if text_hash(self._disk.texts.path(path)) != stated:
                raise SnapshotUnusable("Its hashes of paths are not those of its paths.")
        for vectors in self._held.vectors:
            vectors.check()
        for piece in self._held.pieces:
            piece.check_definitions()
        if self._held.has_texts:
            for place in range(len(self._files.paths)):
                self._own_texts(place)

    # ------------------------------------------------------------ the files on disk

    def _recalled(
        self, places: Sequence[int], cancelled: IsCancelled
    ) -> Iterator[tuple[Sequence[int], Sequence[Recalled | None]]]:
        """Yields the files at these places, some at a time, each with the result of the comparison with the disk."""

        def pieces() -> Iterator[Sequence[Recall]]:
            for some in _pieces(places):
                if cancelled():
                    raise Cancelled("The index is as it was. What has been downloaded is kept.")
                yield [self._recall(place) for place in some]

        answers = self._disk.recall_all(pieces())
        for some, (_, found) in zip(_pieces(places), answers, strict=True):
            yield some, found

    def _recall(self, place: int) -> Recall:
        files, chunks = self._files, self._chunks
        wanted = () if self._held.has_texts else range(files.starts[place], files.starts[place + 1])
        spans = [
            ExpectedChunk(chunks.starts[c], chunks.ends[c], unpack_names(chunks.enclosing[c]), chunks.hashes[c])
            for c in wanted
        ]
        return Recall(files.paths[place], files.sizes[place], spans, blob=files.blobs[place])

    def _matching(
        self, places: Sequence[int], answers: Sequence[Recalled | None]
    ) -> Iterator[tuple[int, Sequence[str], Recalled]]:
        """Yields those of these files that are the same on disk as in the snapshot: the place, the texts of the chunks,
        and the result of the comparison."""
        for place, answer in zip(places, answers, strict=True):
            if answer is not None:
                yield place, self._own_texts(place) if self._held.has_texts else answer.texts, answer

    def _own_texts(self, place: int) -> Sequence[str]:
        """Returns a file's texts from the snapshot. Raises SnapshotUnusable unless their hashes are those of the
        chunks."""
        span = range(self._files.starts[place], self._files.starts[place + 1])
        texts = [self._held.text(number) for number in span]
        for number, text in zip(span, texts, strict=True):
            try:
                same = text_hash(self._body(number, text)) == self._chunks.hashes[number]
            except UnicodeEncodeError:
                same = False
            if not same:
                raise SnapshotUnusable("Its texts are not those of its chunks.")
        return texts

    def _body(self, number: int, text: str) -> str:
        enclosing = unpack_names(self._chunks.enclosing[number])
        return self._disk.texts.body(Chunk(1, 1, text, "", (), enclosing))

    # ------------------------------------------------------------ vectors

    def _chosen(self) -> list[int]:
        """Returns some chunks of each piece, picked at random, in ascending order."""
        spans = [range(piece.before.chunks, piece.after.chunks) for piece in self._held.pieces]
        return [c for span in spans for c in sorted(random.SystemRandom().sample(span, min(len(span), SPOT_CHECKED)))]

    def _spot_check(self, cancelled: IsCancelled) -> None:
        """Embeds some chunks, and raises SnapshotUnusable if the snapshot has other vectors for them."""
        chosen = self._chosen()
        file_of = np.searchsorted(np.array(self._files.starts), np.array(chosen, np.int64), side="right") - 1
        texts: dict[int, str] = {}
        for some, answers in self._recalled(sorted(set(file_of.tolist())), cancelled):
            for place, own, _ in self._matching(some, answers):
                first = self._files.starts[place]
                texts |= {first + i: text for i, text in enumerate(own)}
        bodies = {number: self._body(number, texts[number]) for number in chosen if number in texts}
        stated = {number: self._held.vector_of(self._chunks.hashes[number]) for number in bodies}
        if not bodies:
            return
        made = self._generation.embedder().embed_documents(list(bodies.values()))
        for number, own in zip(bodies, made, strict=True):
            theirs = stated[number]
            if theirs is None or float(own @ theirs[0]) < LEAST_COSINE * float(own @ own):
                path = self._files.paths[int(file_of[chosen.index(number)])]
                raise SnapshotUnusable(
                    f"Its vector of a chunk of {shown.place(path)} is not the one that the model makes here."
                )

    def _keep(self, places: Sequence[int]) -> dict[bytes, int]:
        """Puts the vectors of these files into the embedding cache. They are the same on disk, so their hashes are
        those of texts that this checkout has. Returns the ids of the vectors by hash."""
        files, chunks = self._files, self._chunks
        hashes = {files.hashes[place] for place in places}
        for place in places:
            hashes.update(chunks.hashes[files.starts[place] : files.starts[place + 1]])
        wanted = sorted(hashes)
        for vectors in self._held.vectors:
            self._generation.kept.add(*vectors.found(wanted))
        return self._generation.kept.find(wanted)

    # ------------------------------------------------------------ tables

    def _write_file(
        self,
        connection: sqlite3.Connection,
        place: int,
        found: Recalled,
        texts: Sequence[str],
        known: Mapping[bytes, int],
    ) -> None:
        files, chunks, now = self._files, self._chunks, time.time()
        stat = found.stat
        path_hash = files.hashes[place]
        connection.execute(
            "INSERT INTO files(id, path, collection, language, parser, sha256, size, mtime_ns, ctime_ns, inode,"
            " settled, buffered, path_hash, path_vector, indexed_at, masked, blob)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, 0, ?)",
            (
                *(place + 1, files.paths[place], files.collections[place], files.languages[place]),
                *(files.parsers[place], found.sha256, stat.size, stat.mtime_ns, stat.ctime_ns, stat.inode),
                *(int(found.settled), path_hash, known.get(path_hash, 0), now, bytes.fromhex(found.blob)),
            ),
        )
        span = range(files.starts[place], files.starts[place + 1])
        connection.executemany(
            "INSERT INTO chunks VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    *(c + 1, place + 1, chunks.starts[c], chunks.ends[c], chunks.kinds[c], chunks.names[c]),
                    *(chunks.enclosing[c], text, chunks.hashes[c], known.get(chunks.hashes[c], 0), c + 1),
                )
                for c, text in zip(span, texts, strict=True)
            ),
        )
        connection.executemany(
            "INSERT INTO pending_slots VALUES(?, ?)", ((c + 1, files.collections[place]) for c in span)
        )

    def _write_words(self) -> None:
        """Writes the postings. Those of files that are not taken over stay without an owner until a merge."""
        with self._manifest.transaction() as connection:
            for piece in self._held.pieces:
                with_chunks = np.flatnonzero(np.diff(np.array(piece.files.starts, np.int64)))
                try:
                    put_in(connection, rows.read_postings(piece.folder), piece.lengths(), with_chunks, piece.before)
                except WrongPostings as error:
                    raise SnapshotUnusable("Its postings are not as a snapshot has them.") from error

    def _finish(self, taken: np.typing.NDArray[np.bool_]) -> None:
        """Writes the names of the files that were taken over. Ids of the other files and their chunks stay unused,
        because the index has postings for them."""
        with self._manifest.transaction() as connection:
            self._write_stems(connection, taken)
            for piece in self._held.pieces:
                self._write_definitions(connection, piece, taken)
            connection.execute("DELETE FROM sqlite_sequence WHERE name IN ('files', 'chunks')")
            connection.executemany(
                "INSERT INTO sqlite_sequence(name, seq) VALUES(?, ?)",
                [("files", len(taken)), ("chunks", len(self._chunks.kinds))],
            )
            self._manifest.set_meta(next_slot=len(self._chunks.kinds) + 1)
            self._manifest.forget_count()

    def _write_definitions(
        self, connection: sqlite3.Connection, piece: HeldFile, taken: np.typing.NDArray[np.bool_]
    ) -> None:
        starts = np.array(self._files.starts, np.int64)
        for d in piece.definitions():
            file_of = np.searchsorted(starts, np.array(d.chunks, np.int64) - 1, side="right") - 1
            folded = {name: fold_name(name) for name in set(d.names)}
            connection.executemany(
                "INSERT INTO definitions VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (file + 1, chunk, name, folded[name], kind, start, end, depth, exported, container)
                    for file, chunk, name, kind, start, end, depth, exported, container in zip(
                        file_of.tolist(),
                        *(d.chunks, d.names, d.kinds, d.starts, d.ends, d.depths, d.exported, d.containers),
                        strict=True,
                    )
                    if taken[file]
                ),
            )

    def _write_stems(self, connection: sqlite3.Connection, taken: np.typing.NDArray[np.bool_]) -> None:
        connection.executemany(
            "INSERT OR IGNORE INTO file_stems VALUES(?, ?)",
            ((fold_name(file_stem(self._files.paths[p])), p + 1) for p in np.flatnonzero(taken).tolist()),
        )


def _pieces(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), FILES_AT_ONCE):
        yield items[start : start + FILES_AT_ONCE]
