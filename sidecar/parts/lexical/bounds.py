"""Upper bounds for what a term with many postings adds to the score of each file. With them, a search decides which
files can be among the best, and looks at the postings of these files only.

This is the idea of block-max indexes with files in place of blocks of postings: Ding and Suel, "Faster Top-k Document
Retrieval Using Block-Max Indexes" (2011). The bounds of a term are stored beside its postings in a segment, as one
blob. Scores depend on the average lengths of the collection, which change; a blob has those that its bounds were
computed with, and bounds are raised by as much as an average has grown.

Layout, little endian: `_HEADER` (version; three widths; number of files; first file id), averages as float32 of shape
[collections, AVERAGES], then arrays with these widths: for each file the difference to the id before it; how often its
bodies have the term; its postings of shape [3, files], in bodies, in names and in fields; and with a width of 1, of
shape [2, files], codes of the bounds for its best chunk and for BM25F. A code is the bound divided by `_BEST` or
`_WHOLE`, rounded up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from sidecar.model.terms import Collection, Ids
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.bm25 import Floats, length_norms, saturate
from sidecar.parts.lexical.curves import (
    CHUNK_CURVE,
    FIELD_CURVES,
    FIELD_K1,
    FIELD_WEIGHTS,
    FILE_CURVE,
    damped,
    score_fields,
    weighted_sums,
)
from sidecar.parts.lexical.values import Flat, Lengths

LONG = 1024
"""The number of postings of a term in a segment from which it has bounds."""
AVERAGES = 2 + FIELDS
"""The averages of a collection: the length of a chunk, of a file's body, and of each field of a file."""
VERSION = 2
"""Raise this when the layout or a curve changes. Bounds of another version are not used, and made anew at rest."""
_HEADER = Struct("<BBBBIQ")
_COLLECTIONS = len(get_args(Collection))
_REFERENCES = _HEADER.size + 4 * _COLLECTIONS * AVERAGES
_TYPES = {width: np.dtype(f"<u{width}") for width in (1, 2, 4)}
_ROWS = (1, 1, 3, 2)
"""How many numbers each of the four arrays has for a file."""
_BEST = (CHUNK_CURVE.k1 + 1) / 255
_WHOLE = damped(np.array(FILE_CURVE.k1 + 1 + float(((FIELD_K1 + 1) * FIELD_WEIGHTS).sum()))).item() / 255
"""Codes reach from 0 to the highest score that is possible."""
_ROUNDED = 1 + 1e-5
_DENSE = 16
"""A table of all values is used if it has at most this many times the values that there are: it takes less time than
sorting."""


@dataclass(frozen=True, slots=True)
class FileBounds:
    """The files that have a term, as parallel arrays: their ids, ascending; how many postings each has in bodies, in
    names and in fields, in this order of files (`sizes`, shape [3, files]); how often its bodies have the term
    (`counts`); and upper bounds for BM25 of its best chunk (`best`) and for BM25F (`whole`), before the weight of the
    term is applied."""

    files: Ids
    sizes: NDArray[np.int32]
    counts: NDArray[np.int32]
    best: Floats
    whole: Floats


class BoundsMaker:
    """Computes the bounds in one segment."""

    def __init__(self, lengths: Lengths, holders: Ids, collections: Ids, long: int = LONG) -> None:
        """`lengths` are those of all chunks and files of the segment, and parallel to them are `holders`, the ids of
        the files that the chunks are in, and `collections`, the numbers of the collections that the files are in. For
        `long` see `LONG`."""
        self._long = long
        bodies, file_ids = lengths.bodies, lengths.file_ids
        self._chunk_ids, self._file_ids = lengths.chunk_ids, file_ids
        self._holders = file_ids.searchsorted(holders)
        # In any other order, a file's postings could not be found by their number.
        self._in_order = bool((self._holders[1:] >= self._holders[:-1]).all())
        of_files = np.bincount(self._holders, weights=bodies, minlength=len(file_ids)).astype(np.float32)
        of_fields = np.column_stack([of_files, lengths.fields.astype(np.float32)])
        of_chunks = collections[self._holders]
        self._averages = np.ones((_COLLECTIONS, AVERAGES), np.float32)
        self._chunk_norms = np.ones(len(bodies), np.float32)
        self._norms = np.ones((len(file_ids), 1 + FIELDS), np.float32)
        for collection in range(_COLLECTIONS):
            here, files = of_chunks == collection, collections == collection
            if not here.any():
                continue
            averages = np.append(bodies[here].mean(), of_fields[files].mean(axis=0, dtype=np.float64))
            self._averages[collection] = averages
            self._chunk_norms[here] = length_norms(bodies[here], averages[0], CHUNK_CURVE)
            for column, curve in enumerate((FILE_CURVE, *FIELD_CURVES)):
                self._norms[files, column] = length_norms(of_fields[files, column], averages[1 + column], curve)

    def make(self, terms: int, bodies: Flat, names: Flat, fields: Flat) -> Iterator[tuple[int, bytes]]:
        """Yields the number of each term that has many postings, ascending, and its bounds. `terms` is the number of
        terms. The postings must be in order of terms and keys, and be those of the segment's chunks and files."""
        postings = np.bincount(bodies.terms, minlength=terms) + np.bincount(fields.terms, minlength=terms)
        many = postings >= self._long
        if not (many.any() and self._in_order):
            return
        span = len(self._file_ids)
        in_bodies, body_sizes, body_counts, best = self._in_bodies(_of_terms(bodies, many), span)
        in_names, name_sizes = self._in_names(_of_terms(names, many), span)
        in_fields, field_sizes, sums = self._in_fields(_of_terms(fields, many), span)
        found, places = together([in_bodies, in_names, in_fields], terms * span)
        whole, highest = np.zeros((2, len(found)))
        counts = np.zeros(len(found), np.int64)
        counts[places[0]], highest[places[0]] = body_counts, best
        whole[places[0]] = saturate(body_counts, self._norms[in_bodies % span, 0], FILE_CURVE.k1)
        whole[places[2]] += sums
        sizes = np.zeros((3, len(found)), np.int64)
        for row, at, of_cells in zip(sizes, places, (body_sizes, name_sizes, field_sizes), strict=True):
            row[at] = of_cells
        ends = found.searchsorted(np.arange(terms + 1) * span)
        codes = np.ceil([highest / _BEST, damped(whole) / _WHOLE]).astype(np.uint8)
        for term in many.nonzero()[0].tolist():
            part = slice(ends[term], ends[term + 1])
            ids = self._file_ids[found[part] - term * span]
            yield term, self._encode(ids, sizes[:, part], counts[part], codes[:, part])

    def _in_bodies(self, flat: Flat, span: int) -> tuple[Ids, Ids, Ids, Floats]:
        """Returns the cells (term * span + file) that have postings, their numbers, how often the bodies of the file
        have the term, and BM25 of its best chunk."""
        at = self._chunk_ids.searchsorted(flat.keys)
        cells, starts, sizes = _runs(flat.terms * span + self._holders[at])
        if not len(starts):
            return cells, sizes, sizes, np.zeros(0, np.float32)
        counts = np.add.reduceat(flat.tfs, starts, dtype=np.int64)
        of_chunks = saturate(flat.tfs, self._chunk_norms[at], CHUNK_CURVE.k1)
        return cells, sizes, counts, np.maximum.reduceat(of_chunks, starts)

    def _in_names(self, flat: Flat, span: int) -> tuple[Ids, Ids]:
        """Returns the cells that have postings, and their numbers."""
        cells, _, sizes = _runs(flat.terms * span + self._holders[self._chunk_ids.searchsorted(flat.keys)])
        return cells, sizes

    def _in_fields(self, flat: Flat, span: int) -> tuple[Ids, Ids, Floats]:
        """Returns the cells that have postings, their numbers, and the weighted sum of BM25 of the file's fields."""
        ids = flat.keys // FIELDS
        files, fields = self._file_ids.searchsorted(ids), flat.keys - ids * FIELDS
        cells, starts, sizes = _runs(flat.terms * span + files)
        scores = score_fields(fields, flat.tfs, self._norms[files, 1 + fields])
        return cells, sizes, weighted_sums(fields, scores, np.arange(len(starts)).repeat(sizes), len(starts))

    def _encode(self, files: Ids, sizes: Ids, counts: Ids, codes: NDArray[np.uint8]) -> bytes:
        """`sizes` has the shape [3, files], and `codes` [2, files]."""
        columns = (np.diff(files, prepend=files[:1]), counts, sizes)
        widths = [next(width for width in _TYPES if values.max() < 1 << 8 * width) for values in columns]
        narrow = [values.astype(_TYPES[width]).tobytes() for values, width in zip(columns, widths, strict=True)]
        head = _HEADER.pack(VERSION, *widths, len(files), int(files[0]))
        return b"".join((head, self._averages.astype("<f4").tobytes(), *narrow, codes.tobytes()))


def _runs(cells: Ids) -> tuple[Ids, Ids, Ids]:
    """Returns the distinct cells, which must ascend, and of each the first place and the number of places."""
    starts = np.diff(cells, prepend=-1).nonzero()[0]
    return cells[starts], starts, np.diff(starts, append=len(cells))


def together(lists: Sequence[Ids], span: int) -> tuple[Ids, list[Ids]]:
    """Returns the distinct values of some lists, ascending, and for each list the places of its values. All values are
    less than `span`."""
    every = np.concatenate(lists)
    ends = np.cumsum([len(values) for values in lists[:-1]])
    if len(every) * _DENSE > span:
        there = np.zeros(span, bool)
        there[every] = True
        found = there.nonzero()[0]
        place = np.empty(span, np.int64)
        place[found] = np.arange(len(found))
        return found, np.split(place[every], ends)
    order = every.argsort(kind="stable")
    is_first = np.diff(every[order], prepend=-1) > 0
    place = np.empty(len(every), np.int64)
    place[order] = is_first.cumsum() - 1
    return every[order][is_first], np.split(place, ends)


def _of_terms(flat: Flat, chosen: NDArray[np.bool_]) -> Flat:
    mask = chosen[flat.terms]
    return Flat(flat.terms[mask], flat.keys[mask], flat.tfs[mask])


def _multiples(step: float) -> Floats:
    return (step * np.arange(256)).astype(np.float32)


class BoundsReader:
    """Reads bounds for a collection as it is now."""

    def __init__(self, collection: int, averages: Floats) -> None:
        """`averages` are those of the collection, shape [AVERAGES]."""
        self._collection, self._averages = collection, averages
        self._known: dict[bytes, tuple[Floats, Floats]] = {}

    def can_read(self, blob: bytes) -> bool:
        """Whether the blob is of this version."""
        return blob[0] == VERSION

    def read(self, blobs: Sequence[bytes]) -> FileBounds:
        """Decodes the bounds of a term in several segments, one after the other. At least one must be given."""
        heads = [_HEADER.unpack_from(blob) for blob in blobs]
        count = sum(head[-2] for head in heads)
        files, sizes, counts = np.empty(count, np.int64), np.empty((3, count), np.int32), np.empty(count, np.int32)
        best, whole = np.empty((2, count), np.float32)
        begin = 0
        for blob, (_, *widths, each, first) in zip(blobs, heads, strict=True):
            here, at, parts = slice(begin, begin + each), _REFERENCES, []
            for width, rows in zip((*widths, 1), _ROWS, strict=True):
                parts.append(np.frombuffer(blob, _TYPES[width], rows * each, at).reshape(rows, each))
                at += width * rows * each
            parts[0][0].cumsum(dtype=np.int64, out=files[here])
            files[here] += first
            counts[here], sizes[:, here] = parts[1][0], parts[2]
            of_best, of_whole = self._values(blob[_HEADER.size : _REFERENCES])
            best[here], whole[here] = of_best.take(parts[3][0]), of_whole.take(parts[3][1])
            begin += each
        return FileBounds(files, sizes, counts, best, whole)

    def _values(self, references: bytes) -> tuple[Floats, Floats]:
        """Returns what the codes of both kinds stand for now. BM25 grows at most by the factor by which an average
        length grows."""
        known = self._known.get(references)
        if known is None:
            then = np.frombuffer(references, "<f4").reshape(_COLLECTIONS, AVERAGES)[self._collection]
            growth = np.maximum(self._averages / np.maximum(then, 1e-9), 1) * _ROUNDED
            of_best, of_whole = growth[0] * _BEST, growth[1:].max() * _WHOLE
            self._known[references] = known = _multiples(of_best), _multiples(of_whole)
        return known
