"""Takes the postings of chosen chunks and files out of an index, renumbered without gaps, and puts such postings into
an index as one more segment. Blobs have the format of `codec`. Postings from elsewhere are checked before they are
stored."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidecar.model.terms import Ids
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.codec import decode_all, encode_runs
from sidecar.parts.lexical.segments import insert_rows, insert_segment, next_segment, whole_rows
from sidecar.parts.lexical.values import Lengths

COLUMNS = ("bodies", "names", "fields")
MOST_TERMS = 20_000
"""The most terms in one block."""
_BLOB_BYTES = 4 * 1024**2
_HEADER = 8
_WIDTHS = (1, 2, 4, 8)
_LONGEST_TERM = 1_000


class WrongPostings(ValueError):
    """Postings from elsewhere are not valid."""


class Before(NamedTuple):
    """The numbers of chunks and files that the index already has; the new ones are numbered from there on."""

    chunks: int = 0
    files: int = 0


NOTHING = Before()


@dataclass(frozen=True, slots=True)
class TermBlock:
    """Some terms in ascending order, and for each of `COLUMNS` their blobs, parallel to the terms; b"" for none."""

    terms: list[str]
    columns: list[list[bytes]]


@dataclass(frozen=True, slots=True)
class WholeLengths:
    """Lengths in terms: `bodies` of chunk 1, 2, ..., `fields` of file 1, 2, ... with shape [files, FIELDS]."""

    bodies: NDArray[np.uint32]
    fields: NDArray[np.uint32]


def take_out(
    connection: sqlite3.Connection, chunk_ids: Ids, file_ids: Ids, before: Before = NOTHING
) -> Iterator[TermBlock]:
    """Yields the postings of these chunks and files, in blocks of bounded size. Both arrays must ascend. The id at
    position i becomes `before` + i + 1."""
    for some, rows in _term_blocks(connection):
        places = {term: place for place, term in enumerate(some)}
        columns = [
            _numbered(
                [(places[row[0]], blob) for row in rows if (blob := (row[2], row[3], row[4])[column])], ids, first, step
            )
            for column, (ids, first, step) in enumerate(
                (*((chunk_ids, before.chunks, 1),) * 2, (file_ids, before.files, FIELDS))
            )
        ]
        kept = [place for place in range(len(some)) if any(place in column for column in columns)]
        yield TermBlock([some[p] for p in kept], [[column.get(p, b"") for p in kept] for column in columns])


_Row = tuple[str, int, bytes | None, bytes | None, bytes | None]


def _term_blocks(connection: sqlite3.Connection) -> Iterator[tuple[list[str], list[_Row]]]:
    """Yields some terms at a time, in ascending order, each time with the rows that all segments have of them."""
    segments = [s for (s,) in connection.execute("SELECT segment FROM lexical_segments")]
    source = whole_rows(connection)
    query = f"SELECT term, segment, bodies, names, fields FROM {source} WHERE segment = ? ORDER BY term"
    terms: list[str] = []
    rows: list[_Row] = []
    size = 0
    for term, own in groupby(merge(*(connection.execute(query, (s,)) for s in segments)), itemgetter(0)):
        terms.append(term)
        for row in own:
            rows.append(row)
            size += sum(len(blob) for blob in row[2:] if blob)
        if len(terms) == MOST_TERMS or size > _BLOB_BYTES:
            yield terms, rows
            terms, rows, size = [], [], 0
    if terms:
        yield terms, rows


def _numbered(blobs: Sequence[tuple[int, bytes]], ids: Ids, first: int, step: int) -> dict[int, bytes]:
    """Returns the postings whose id (key // step) is in `ids`, renumbered, as one blob by the term's position."""
    if not blobs or not len(ids):
        return {}
    keys, tfs, sizes = decode_all([blob for _, blob in blobs])
    terms = np.repeat(np.array([place for place, _ in blobs], np.int64), sizes)
    at = np.minimum(np.searchsorted(ids, keys // step), len(ids) - 1)
    chosen = ids[at] == keys // step
    terms, tfs, fresh = terms[chosen], tfs[chosen], (first + at[chosen] + 1) * step + keys[chosen] % step
    if not len(terms):
        return {}
    order = np.lexsort((fresh, terms))
    terms = terms[order]
    starts = np.flatnonzero(np.diff(terms, prepend=-1))
    runs = encode_runs(fresh[order], tfs[order], np.append(starts, len(terms)))
    return dict(zip(terms[starts].tolist(), runs, strict=True))


def lengths_of(connection: sqlite3.Connection, chunk_ids: Ids, file_ids: Ids) -> WholeLengths:
    """Returns the lengths of these chunks and files, whose ids must ascend; 0 for a file without chunks."""
    bodies = np.zeros(len(chunk_ids), np.uint32)
    fields = np.zeros((len(file_ids), FIELDS), np.uint32)
    columns = "chunk_ids, chunk_lengths, file_ids, field_lengths"
    for chunks, lengths, files, more in connection.execute(f"SELECT {columns} FROM lexical_segments"):
        _fill(bodies, chunk_ids, np.frombuffer(chunks, "<i8"), np.frombuffer(lengths, "<u4"))
        _fill(fields, file_ids, np.frombuffer(files, "<i8"), np.frombuffer(more, "<u4").reshape(-1, FIELDS))
    return WholeLengths(bodies, fields)


def _fill(into: NDArray[np.uint32], wanted: Ids, ids: NDArray[np.int64], values: NDArray[np.uint32]) -> None:
    if not len(wanted):
        return
    at = np.minimum(np.searchsorted(wanted, ids), len(wanted) - 1)
    there = wanted[at] == ids
    into[at[there]] = values[there]


def put_in(
    connection: sqlite3.Connection,
    blocks: Iterable[TermBlock],
    lengths: WholeLengths,
    with_chunks: Ids,
    before: Before = NOTHING,
) -> None:
    """Writes the postings as one more segment of an index that has as many chunks and files as `before` says.
    `with_chunks` are the positions, from 0, of the new files that have chunks. Raises WrongPostings; the caller must
    then roll the transaction back."""
    bodies, files = (before.chunks, len(lengths.bodies)), (before.files, len(lengths.fields))
    last, postings = "", 0
    segment = next_segment(connection)
    for block in blocks:
        last = _check_terms(block.terms, last)
        for column, (first, many), step in zip(block.columns, (bodies, bodies, files), (1, 1, FIELDS), strict=True):
            postings += _check_blobs([blob for blob in column if blob], first, many, step)
        rows = zip(block.terms, *block.columns, strict=True)
        insert_rows(connection, segment, ((term, *(blob or None for blob in blobs)) for term, *blobs in rows))
    chunk_ids = np.arange(before.chunks + 1, before.chunks + len(lengths.bodies) + 1)
    file_ids = with_chunks + before.files + 1
    listed = Lengths(chunk_ids, lengths.bodies, file_ids, lengths.fields[with_chunks])
    insert_segment(connection, segment, postings, listed)


def _check_terms(terms: Sequence[str], last: str) -> str:
    for term in terms:
        if not last < term or len(term) > _LONGEST_TERM:
            raise WrongPostings("terms")
        last = term
    return last


def _check_blobs(blobs: Sequence[bytes], before: int, many: int, step: int) -> int:
    """Returns how many postings the blobs hold. Raises WrongPostings unless the keys of each blob ascend and belong to
    the `many` numbers after `before`."""
    if not blobs:
        return 0
    for blob in blobs:
        if len(blob) <= _HEADER or blob[0] not in _WIDTHS or (len(blob) - _HEADER) % (blob[0] + 1):
            raise WrongPostings("lengths")
    keys, tfs, sizes = decode_all(blobs)
    starts = np.cumsum(sizes) - sizes
    steps = np.diff(keys, prepend=0)
    steps[starts] = 1
    numbers = keys // step
    if numbers.min() <= before or numbers.max() > before + many or steps.min() < 1 or tfs.min() < 1:
        raise WrongPostings("keys")
    if any(int.from_bytes(blob[_HEADER : _HEADER + blob[0]], "little") for blob in blobs):
        raise WrongPostings("first difference")
    return len(keys)
