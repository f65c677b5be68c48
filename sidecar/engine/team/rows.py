"""Writes and reads the parts of a team snapshot: rows as columns in lines of JSON, numbers as arrays. Everything that
is read is checked in detail, because it comes from elsewhere.

Files and chunks are numbered from 1 in the order of the rows, and the chunks of a file follow one another.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.models.facts import ModelFacts
from sidecar.engine.team.blocks import HASH_BYTES, Hashes, Texts, read_lines, wrong
from sidecar.errors import SnapshotUnusable
from sidecar.model.terms import Vectors
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.transfer import COLUMNS, TermBlock, WholeLengths
from sidecar.parts.manifest import unpack_names

FORMAT = 3
FORMAT_ON_BASE = 4
"""The format of a snapshot that adds to a base. For a version of sidecar without bases, such a snapshot does not
fit."""
PARTS: Mapping[str, bool] = {
    **dict.fromkeys(("files", "chunks", "definitions", "hashes", "terms", "lengths"), True),
    **dict.fromkeys((f"{kind}-{column}" for column in COLUMNS for kind in ("sizes", "blobs")), True),
    **dict.fromkeys(("vector-hashes", "vectors"), True),
    "texts": False,
}
"""The names of the parts, and whether a snapshot has to have them."""
_MOST_TEXT = 4096
_MOST_NAMES = 100_000
_MOST_NUMBER = 1 << 40
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_VECTORS_AT_ONCE = 4096
_LONGEST = 1.01
"""The maximum length of a vector: 1, and what rounding to float16 adds."""
_Rows = TypeVar("_Rows", bound="FileRows | ChunkRows")


def kind_of(versions: Mapping[str, int], chunking: str, model: ModelFacts) -> dict[str, str]:
    """Returns the kind of an index's rows: the facts that must be equal for the rows to be used in another index."""
    parts = {name: str(version) for name, version in versions.items()}
    return {"format": str(FORMAT), **parts, "chunking": chunking, "model": model.model_id}


def on_base(kind: Mapping[str, str]) -> dict[str, str]:
    """Returns the kind of a snapshot that adds to a base of this kind."""
    return {**kind, "format": str(FORMAT_ON_BASE)}


def without_base(kind: Mapping[str, str]) -> dict[str, str]:
    """Returns the kind of the base of a snapshot of this kind. If this is not the kind of a snapshot on a base, the
    result is one that no index has."""
    return {**kind, "format": str(FORMAT) if kind.get("format") == str(FORMAT_ON_BASE) else "?"}


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of files, as parallel columns. `starts` has one item more: the chunks of file i are those from
    `starts[i]` to `starts[i+1]`, counted from 0. A path occurs twice if a base has another version of the file."""

    paths: list[str]
    collections: list[int]
    languages: list[str]
    parsers: list[str]
    blobs: list[str]
    sizes: list[int]
    starts: list[int]
    hashes: Hashes

    def followed_by(self, more: FileRows) -> FileRows:
        """Returns these rows followed by the others, whose chunks follow these chunks."""
        starts = [*self.starts, *(self.starts[-1] + start for start in more.starts[1:])]
        return replace(_joined(self, more), starts=starts)


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """The rows of chunks, as parallel columns. `names` and `enclosing` are packed as in the manifest; lines are
    1-based."""

    starts: array[int]
    ends: array[int]
    kinds: list[str]
    names: list[str]
    enclosing: list[str]
    hashes: Hashes

    def followed_by(self, more: ChunkRows) -> ChunkRows:
        """These rows and then the others."""
        return _joined(self, more)


@dataclass(frozen=True, slots=True)
class DefinitionRows:
    """Some rows of definitions, as parallel columns. `chunks` are numbers of chunks; those of a base come first."""

    chunks: list[int]
    names: list[str]
    kinds: list[str]
    starts: list[int]
    ends: list[int]
    depths: list[int]
    exported: list[int]
    containers: list[str]


def _joined(first: _Rows, more: _Rows) -> _Rows:
    """Returns rows whose columns are those of the first followed by those of the other."""
    columns = [column.name for column in fields(first)]
    joined: dict[str, Any] = {column: getattr(first, column) + getattr(more, column) for column in columns}
    return type(first)(**joined)


def read_files(folder: Path, chunks: int) -> FileRows:
    """Reads the rows of files, which must have `chunks` chunks in all. Raises SnapshotUnusable."""
    names = ("path", "collection", "language", "parser", "blob", "size", "chunks")
    read: dict[str, list[Any]] = {name: [] for name in names}
    for block in _blocks(folder, "files", names):
        for name in names:
            read[name] += block[name]
    count = len(read["path"])
    counts = _numbers(read["chunks"], 0, chunks)
    if sum(counts) != chunks:
        raise wrong("files")
    paths = _texts(read["path"])
    if len(set(paths)) != count or not all(map(_is_inside, paths)):
        raise SnapshotUnusable("It names paths that no index of this workspace can have.")
    blobs = _texts(read["blob"])
    if not all(re.fullmatch("[0-9a-f]{40}", blob) for blob in blobs):
        raise wrong("files")
    return FileRows(
        paths=paths,
        collections=_numbers(read["collection"], 0, 1),
        languages=_texts(read["language"]),
        parsers=_texts(read["parser"]),
        blobs=blobs,
        sizes=_numbers(read["size"], 0, _MOST_NUMBER),
        starts=[0, *np.cumsum(counts, dtype=np.int64).tolist()],
        hashes=_hashes(folder, 0, count, count + chunks),
    )


def _is_inside(path: str) -> bool:
    """Whether this is a relative path in normal form, which stays inside the workspace on every system."""
    parts = path.split("/")
    return all(part not in ("", ".", "..") for part in parts) and "\\" not in path and not re.match("[A-Za-z]:", path)


def is_plain(text: str) -> bool:
    """Whether a column of texts may contain this text."""
    return len(text) <= _MOST_TEXT and not _CONTROL.search(text)


def is_path(path: str) -> bool:
    """Whether a file with this path can be in a snapshot."""
    return is_plain(path) and _is_inside(path)


def read_chunks(folder: Path, files: int) -> ChunkRows:
    """Reads the rows of chunks. `files` is the number of files. Raises SnapshotUnusable."""
    rows = ChunkRows(array("q"), array("q"), [], [], [], Hashes(b""))
    known: dict[str, str] = {}  # most texts occur many times, and each is kept once
    for read in _blocks(folder, "chunks", ("start", "end", "kind", "names", "enclosing")):
        starts, ends = _numbers(read["start"], 1, _MOST_NUMBER), _numbers(read["end"], 1, _MOST_NUMBER)
        if any(start > end for start, end in zip(starts, ends, strict=True)):
            raise wrong("chunks")
        rows.starts.extend(starts)
        rows.ends.extend(ends)
        for column, texts in (
            (rows.kinds, _texts(read["kind"])),
            (rows.names, _packed(read["names"])),
            (rows.enclosing, _packed(read["enclosing"])),
        ):
            column.extend(known.setdefault(text, text) for text in texts)
    return replace(rows, hashes=_hashes(folder, files, len(rows.kinds), files + len(rows.kinds)))


def read_definitions(folder: Path, chunks: int, before: int = 0) -> Iterator[DefinitionRows]:
    """Yields the rows of definitions in blocks. `chunks` is the number of chunks, `before` that of the base. Raises
    SnapshotUnusable."""
    names = ("chunk", "name", "kind", "start", "end", "depth", "exported", "container")
    for read in _blocks(folder, "definitions", names):
        yield DefinitionRows(
            chunks=_numbers(read["chunk"], before + 1, before + chunks),
            names=_texts(read["name"]),
            kinds=_texts(read["kind"]),
            starts=_numbers(read["start"], 1, _MOST_NUMBER),
            ends=_numbers(read["end"], 1, _MOST_NUMBER),
            depths=_numbers(read["depth"], 0, 10_000),
            exported=_numbers(read["exported"], 0, 1),
            containers=_texts(read["container"]),
        )


def read_texts(folder: Path, chunks: int) -> Texts | None:
    """Returns the texts of the chunks; None if the snapshot has none. Raises SnapshotUnusable."""
    return Texts(folder, "texts", chunks) if (folder / "texts").exists() else None


def read_postings(folder: Path) -> Iterator[TermBlock]:
    """Yields the postings in blocks. `transfer.put_in` checks their content. Raises SnapshotUnusable."""
    count = (folder / f"sizes-{COLUMNS[0]}").stat().st_size // 4
    sizes = [_array(folder, f"sizes-{column}", "<u4", count) for column in COLUMNS]
    for column, each in zip(COLUMNS, sizes, strict=True):
        if (folder / f"blobs-{column}").stat().st_size != int(each.sum(dtype=np.int64)):
            raise wrong(f"blobs-{column}")
    sources = [(folder / f"blobs-{column}").open("rb") for column in COLUMNS]
    done = 0
    try:
        for terms in read_lines(folder, "terms"):
            if not isinstance(terms, list) or done + len(terms) > count:
                raise wrong("terms")
            some = slice(done, done + len(terms))
            columns = [
                [source.read(size) for size in each[some].tolist()] for source, each in zip(sources, sizes, strict=True)
            ]
            yield TermBlock(_texts(terms), columns)
            done += len(terms)
    finally:
        for source in sources:
            source.close()
    if done != count:
        raise wrong("terms")


def read_lengths(folder: Path, files: int, chunks: int) -> WholeLengths:
    """Reads the lengths of chunks and files. Raises SnapshotUnusable."""
    numbers = _array(folder, "lengths", "<u4", chunks + files * FIELDS)
    return WholeLengths(numbers[:chunks].astype(np.uint32), numbers[chunks:].astype(np.uint32).reshape(-1, FIELDS))


class VectorRows:
    """The vectors of one file of a snapshot, by the hash of their text. They stay on disk until they are read. The
    constructor raises SnapshotUnusable, and so does whatever reads a vector that is not valid."""

    def __init__(self, folder: Path, dimension: int) -> None:
        size = (folder / "vector-hashes").stat().st_size
        count = size // HASH_BYTES
        if size % HASH_BYTES or (folder / "vectors").stat().st_size != count * dimension * 2:
            raise wrong("vectors")
        self.hashes = Hashes((folder / "vector-hashes").read_bytes())
        if not _ascend(self.hashes.packed):
            raise wrong("vector-hashes")
        shape = (count, dimension)
        # The low bytes of all numbers come first, then the high ones, which compress well.
        self._planes = np.memmap(folder / "vectors", np.uint8, "r").reshape(2, *shape) if count else None
        self._dimension = dimension

    def check(self) -> None:
        """Reads all vectors. Raises SnapshotUnusable if one is not valid."""
        for start in range(0, len(self.hashes), _VECTORS_AT_ONCE):
            self._joined(slice(start, start + _VECTORS_AT_ONCE))

    def of(self, key: bytes) -> Vectors | None:
        """Returns the vector of the text with this hash, shape [1, dimension]; None if there is none."""
        place = bisect_left(self.hashes, key)
        there = place < len(self.hashes) and self.hashes[place] == key
        return self._joined(slice(place, place + 1)) if there else None

    def found(self, keys: Sequence[bytes]) -> tuple[list[bytes], Vectors]:
        """Returns those of these hashes that have a vector, and the vectors, shape [n, dimension]."""
        every = np.frombuffer(self.hashes.packed, f"S{HASH_BYTES}")
        wanted = np.array(keys, every.dtype)
        places = np.searchsorted(every, wanted)
        places[places == len(every)] = 0
        there = every[places] == wanted if len(every) else np.zeros(len(keys), bool)
        return [key for key, is_there in zip(keys, there.tolist(), strict=True) if is_there], self._joined(
            places[there]
        )

    def _joined(self, which: slice | NDArray[np.intp]) -> Vectors:
        if self._planes is None:
            return np.zeros((0, self._dimension), np.float32)
        low, high = (np.asarray(plane[which], np.uint16) for plane in self._planes)
        vectors: Vectors = (low | high << np.uint16(8)).astype("<u2").view("<f2").astype(np.float32)
        with np.errstate(invalid="ignore", over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1)
        if not np.isfinite(lengths).all() or (len(lengths) and lengths.max() > _LONGEST):
            raise wrong("vectors")
        return vectors


def _ascend(packed: bytes) -> bool:
    """Whether each of these hashes is greater than the one before."""
    high, low = np.frombuffer(packed, ">u8").reshape(-1, 2).astype(np.uint64).T
    more = (high[1:] > high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] > low[:-1]))
    return bool(more.all())


def write_vectors(folder: Path, hashes: Sequence[bytes], blocks: Iterator[Vectors]) -> None:
    """Writes vectors in the form that `VectorRows` reads. `blocks` are float32, shape [n, dimension], and parallel to
    `hashes` together, which ascend."""
    (folder / "vector-hashes").write_bytes(b"".join(hashes))
    rest = folder / "vectors.high"
    with (folder / "vectors").open("wb") as low, rest.open("wb") as high:
        for block in blocks:
            numbers = block.astype("<f2").view("<u2")
            low.write((numbers & np.uint16(255)).astype(np.uint8).tobytes())
            high.write((numbers >> np.uint16(8)).astype(np.uint8).tobytes())
    with (folder / "vectors").open("ab") as out, rest.open("rb") as high:
        while some := high.read(1 << 20):
            out.write(some)
    rest.unlink()


def _blocks(folder: Path, part: str, names: Sequence[str]) -> Iterator[dict[str, list[Any]]]:
    for read in read_lines(folder, part):
        if not isinstance(read, dict) or sorted(read) != sorted(names):
            raise wrong(part)
        columns = list(read.values())
        if not all(isinstance(column, list) for column in columns):
            raise wrong(part)
        if any(len(a) != len(b) for a, b in pairwise(columns)):
            raise wrong(part)
        yield read


def _array(folder: Path, part: str, kind: str, count: int) -> NDArray[Any]:
    found = np.fromfile(folder / part, kind) if (folder / part).stat().st_size % 4 == 0 else np.zeros(0)
    if len(found) != count:
        raise wrong(part)
    return found


def _hashes(folder: Path, start: int, count: int, total: int) -> Hashes:
    packed = (folder / "hashes").read_bytes()
    if len(packed) != total * HASH_BYTES:
        raise wrong("hashes")
    return Hashes(packed[start * HASH_BYTES : (start + count) * HASH_BYTES])


def _numbers(values: list[Any], low: int, high: int) -> list[int]:
    if not all(type(value) is int and low <= value <= high for value in values):
        raise wrong("numbers")
    return values


def _texts(values: list[Any]) -> list[str]:
    if not all(isinstance(value, str) and len(value) <= _MOST_TEXT for value in values):
        raise wrong("texts")
    if _CONTROL.search("".join(set(values))):
        raise SnapshotUnusable("It holds control characters in names or paths.")
    return values


def _packed(values: list[Any]) -> list[str]:
    """Returns packed lists of names, unchanged. Raises SnapshotUnusable if one is not valid."""
    try:
        for value in set(values):
            if len(value) > _MOST_NAMES or not all(isinstance(name, str) for name in unpack_names(value)):
                raise wrong("chunks")
            value.encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise wrong("chunks") from error
    return values
