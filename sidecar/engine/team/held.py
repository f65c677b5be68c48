"""Reads and checks all rows of a team snapshot: those of one file, or those of a base and then those of the file that
adds to it.

The numbers of the files and chunks in the second file continue those of its base. So a file of which both have a
version is two files here, of which a checkout has at most one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidecar.engine.team import rows
from sidecar.engine.team.blocks import Texts
from sidecar.engine.team.rows import ChunkRows, DefinitionRows, FileRows, VectorRows
from sidecar.errors import SnapshotUnusable
from sidecar.model.terms import Vectors
from sidecar.parts.lexical.transfer import Before, WholeLengths


@dataclass(frozen=True)
class Unpacked:
    """An unpacked file of a snapshot: the folder of its parts, and its header."""

    folder: Path
    header: Mapping[str, Any]

    def count(self, name: str) -> int:
        """Returns a count that the header states. Raises SnapshotUnusable if it states none."""
        value = self.header.get(name)
        if type(value) is int and value >= 0:
            return value
        raise SnapshotUnusable("Its header does not say how much it holds.")


@dataclass(frozen=True)
class HeldFile:
    """The rows of one file of a snapshot; its definitions, postings and lengths are read from `folder` when they are
    asked for. `before` has the numbers of chunks and files of its base."""

    folder: Path
    files: FileRows
    chunks: ChunkRows
    texts: Texts | None
    before: Before

    @property
    def after(self) -> Before:
        """The numbers of chunks and files up to the end of this piece."""
        return Before(self.before.chunks + len(self.chunks.kinds), self.before.files + len(self.files.paths))

    def definitions(self) -> Iterator[DefinitionRows]:
        """Yields its definitions in blocks. Raises SnapshotUnusable."""
        return rows.read_definitions(self.folder, len(self.chunks.kinds), self.before.chunks)

    def check_definitions(self) -> None:
        """Reads all definitions. Raises SnapshotUnusable if one is not valid."""
        for _ in self.definitions():
            pass

    def lengths(self) -> WholeLengths:
        """Returns the lengths of its chunks and files. Raises SnapshotUnusable."""
        return rows.read_lengths(self.folder, len(self.files.paths), len(self.chunks.kinds))


def read_piece(source: Unpacked, before: Before) -> HeldFile:
    """Reads and checks the rows of one file. Raises SnapshotUnusable."""
    count = source.count("chunks")
    files = rows.read_files(source.folder, count)
    chunks = rows.read_chunks(source.folder, len(files.paths))
    if (len(files.paths), len(chunks.kinds)) != (source.count("files"), count):
        raise SnapshotUnusable("It does not hold as many files and chunks as its header says.")
    return HeldFile(source.folder, files, chunks, rows.read_texts(source.folder, count), before)


class Held:
    """The rows of all files of a snapshot together, in `files` and `chunks`. `has_texts` says whether the snapshot has
    the texts of the chunks. `whole` is the number of the commit's files in the snapshot and its base."""

    def __init__(self, sources: Sequence[Unpacked], dimension: int) -> None:
        """Reads the rows. If there are two sources, the first is the base. Raises SnapshotUnusable."""
        self.pieces = [read_piece(sources[0], Before())]
        for source in sources[1:]:
            self.pieces.append(read_piece(source, self.pieces[-1].after))
        self.files, self.chunks = self.pieces[0].files, self.pieces[0].chunks
        self.has_texts = self.pieces[0].texts is not None
        for piece in self.pieces[1:]:
            self.files = self.files.followed_by(piece.files)
            self.chunks = self.chunks.followed_by(piece.chunks)
            if self.has_texts is not (piece.texts is not None):
                raise SnapshotUnusable("Either it or its base holds texts, and the other one does not.")
        self.vectors = [VectorRows(piece.folder, dimension) for piece in self.pieces]
        self.whole = sources[-1].count("allFiles") if len(sources) > 1 else len(self.files.paths)

    def text(self, chunk: int) -> str:
        """Returns the text of the chunk with this number, from 0, of a snapshot that has texts."""
        piece = next(piece for piece in self.pieces if chunk < piece.after.chunks)
        assert piece.texts is not None
        return piece.texts[chunk - piece.before.chunks]

    def vector_of(self, key: bytes) -> Vectors | None:
        """Returns the vector of the text with this hash, shape [1, dimension]; None if there is none. Raises
        SnapshotUnusable if it is not valid."""
        return next((found for vectors in self.vectors if (found := vectors.of(key)) is not None), None)
