"""The inverted index on disk: segments of postings in the manifest's SQLite file, written in the manifest's
transactions.

Each commit writes one segment and never changes an older one. Ids of files and chunks are never used again, so to
remove a file it is enough to remove its ids from the tables `files` and `chunks`. Its postings are then dead: readers
mask them, and merges drop them (`merge_choice.py`). Every search seeks in each segment, so there should be few.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, count
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidecar.model.terms import Ids
from sidecar.parts.lexical.alive import contains, mostly_dead, still_in
from sidecar.parts.lexical.analyse import FIELDS, Counts, FileTerms
from sidecar.parts.lexical.bounds import BoundsMaker, BoundsReader, FileBounds
from sidecar.parts.lexical.codec import Tfs, decode_all, decode_few, encode_runs
from sidecar.parts.lexical.merge_choice import MERGE_BUDGET, due_at_end, due_segments
from sidecar.parts.lexical.segments import (
    COLUMNS,
    Row,
    delete_rows,
    insert_rows,
    insert_segment,
    lengths_in,
    lengths_of,
    next_segment,
    whole_rows,
)
from sidecar.parts.lexical.values import Flat, Lengths

MOST_TERMS = 96
_ASKED = 500
_PAUSE_EVERY = 2048
"""Rows between two pauses."""
_MERGED_AT_ONCE = 1 << 14
"""Rows that a merge holds in memory with their postings. All at once took six times the memory, and no less time."""
_HIGHEST = np.iinfo(np.int64).max

Entry = tuple[int, Sequence[int], FileTerms]
"""A file's id, the ids of its chunks in order, and the result of `analyse`."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The occurrences of some terms, as parallel arrays.

    `places` are positions in the list of terms, ascending; `ids` are ids of chunks (or file id * FIELDS + field); `tfs`
    are the numbers of occurrences there. The ids of one term are in no order, and some may be dead.
    """

    places: Ids
    ids: Ids
    tfs: Tfs


@dataclass(frozen=True, slots=True)
class PostingsByTerm:
    """The occurrences of some terms, by term: those of term i are `ids[bounds[i]:bounds[i+1]]` and the same slice of
    `tfs`.

    For `ids` and `tfs` see `Postings`. `bounds` has one item more than there are terms.
    """

    ids: Ids
    tfs: Tfs
    bounds: Ids

    def of_terms(self, terms: slice) -> PostingsByTerm:
        """Returns the occurrences of a range of the terms, without copying them."""
        bounds = self.bounds[terms.start : terms.stop + 1]
        part = slice(*bounds[[0, -1]].tolist())
        return PostingsByTerm(self.ids[part], self.tfs[part], bounds - bounds[0])


class FoundPostings:
    """The postings of some terms in all segments. Each column is decoded when it is first read."""

    def __init__(self, rows: Sequence[tuple[int, Sequence[bytes | None]]], terms: int) -> None:
        """`terms` is the number of terms; `rows` have the place of one of them and its postings in a segment."""
        self._rows = rows
        self.terms = terms

    @cached_property
    def bodies(self) -> Postings:
        """Occurrences in the bodies of chunks; ids are those of chunks."""
        return self._column(0)

    @cached_property
    def names(self) -> Postings:
        """Occurrences in the names that chunks define; ids are those of chunks."""
        return self._column(1)

    @cached_property
    def fields(self) -> Postings:
        """Occurrences in the fields of files; ids are file id * FIELDS + field."""
        return self._column(2)

    @cached_property
    def bodies_by_term(self) -> PostingsByTerm:
        """The same as `bodies`, by term."""
        return self._by_term(0)

    @cached_property
    def names_by_term(self) -> PostingsByTerm:
        """The same as `names`, by term."""
        return self._by_term(1)

    @cached_property
    def fields_by_term(self) -> PostingsByTerm:
        """The same as `fields`, by term."""
        return self._by_term(2)

    def together(self) -> tuple[Postings, Postings, Postings]:
        """Returns `bodies`, `names` and `fields`, decoded at once, which takes less time for short ones."""
        blobs = [
            (column * self.terms + place, blob)
            for column in range(COLUMNS)
            for place, blobs in self._rows
            if (blob := blobs[column]) is not None
        ]
        ids, tfs, sizes = decode_few([blob for _, blob in blobs])
        numbers = np.repeat(np.array([number for number, _ in blobs], np.int64), sizes)
        ends = np.searchsorted(numbers, [self.terms, 2 * self.terms]).tolist()
        bodies, names, fields = (
            Postings(numbers[part] - column * self.terms, ids[part], tfs[part])
            for column, part in enumerate((slice(ends[0]), slice(*ends), slice(ends[1], None)))
        )
        return bodies, names, fields

    def _column(self, column: int) -> Postings:
        """Decodes one column."""
        places, ids, tfs, sizes = self._decoded(column)
        return Postings(np.repeat(places, sizes), ids, tfs)

    def _by_term(self, column: int) -> PostingsByTerm:
        """Decodes one column, by term."""
        places, ids, tfs, sizes = self._decoded(column)
        of_terms = np.bincount(places, weights=sizes, minlength=self.terms).astype(np.int64)
        return PostingsByTerm(ids, tfs, np.concatenate([[0], np.cumsum(of_terms)]).astype(np.int64))

    def _decoded(self, column: int) -> tuple[Ids, Ids, Tfs, Ids]:
        """Returns, for the blobs of a column: the place of each in the list of terms, ascending; the ids and counts of
        all, one blob after the other; and how many postings each holds."""
        rows = [(place, blob) for place, blobs in self._rows if (blob := blobs[column]) is not None]
        return np.array([place for place, _ in rows], np.int64), *decode_few([blob for _, blob in rows])


def write_segment(
    connection: sqlite3.Connection, entries: Sequence[Entry], pause: Callable[[], object] = lambda: None
) -> None:
    """Adds one segment with these files, except those without chunks. Ids must be new. `pause` is called between parts
    of the work."""
    entries = [entry for entry in entries if len(entry[1])]
    if not entries:
        return
    terms: defaultdict[str, int] = defaultdict(count().__next__)
    columns: list[list[Flat]] = [[] for _ in range(COLUMNS)]
    for file_id, chunk_ids, analysed in entries:
        numbers = np.array(list(map(terms.__getitem__, analysed.vocabulary)), np.int64)
        chunks = np.asarray(chunk_ids, np.int64)
        columns[0].append(_flatten(analysed.bodies, numbers, chunks))
        columns[1].append(_flatten(analysed.names, numbers, chunks))
        columns[2].append(_flatten(analysed.fields, numbers, file_id * FIELDS + np.arange(FIELDS)))
    lengths = Lengths(
        np.concatenate([np.asarray(e[1], np.int64) for e in entries]),
        np.concatenate([e[2].body_lengths for e in entries]),
        np.array([e[0] for e in entries], np.int64),
        np.stack([e[2].field_lengths for e in entries]),
    )
    pause()
    flats = [_join(parts) for parts in columns]
    segment = next_segment(connection)
    insert_segment(connection, segment, sum(len(flat.keys) for flat in flats), lengths)
    bodies, names, fields = (_encoded(_in_order(flat), len(terms)) for flat in flats)
    sorted_terms = ((term, terms[term]) for term in sorted(terms))
    rows = ((term, bodies[number], names[number], fields[number]) for term, number in sorted_terms)
    insert_rows(connection, segment, _pausing(_not_empty(rows), pause))


def read_postings(connection: sqlite3.Connection, terms: Sequence[str]) -> FoundPostings:
    """Returns the postings of these terms, which must all be different. Only the first `MOST_TERMS` terms are looked
    up."""
    return _read(connection, terms, "bodies, names, fields")


def rows_of(connection: sqlite3.Connection, terms: Sequence[str], columns: str) -> list[tuple[Any, ...]]:
    """Returns a row for each of these terms and each segment that has it: the term, and the named columns of
    `whole_rows`."""
    rows: list[tuple[Any, ...]] = []
    source = whole_rows(connection)
    for start in range(0, len(terms), _ASKED):
        asked = terms[start : start + _ASKED]
        rows += connection.execute(
            f"SELECT term, {columns} FROM {source}"
            f" WHERE segment IN (SELECT segment FROM lexical_segments) AND term IN ({','.join('?' * len(asked))})",
            list(asked),
        )
    return rows


def found_in(rows: Iterable[tuple[Any, ...]], terms: Sequence[str]) -> FoundPostings:
    """Returns the postings of these terms among rows of all columns, or of the first of them."""
    places = {term: place for place, term in enumerate(terms)}
    found = ((places[term], blobs) for term, *blobs in rows if term in places)
    return FoundPostings(sorted(found, key=itemgetter(0)), len(places))


@dataclass(frozen=True, slots=True)
class WithBounds:
    """The postings of some terms in bodies, names and fields (`columns`), and by term the bounds that are stored; None
    if there are none. Postings that have bounds come first, in the order of these."""

    columns: tuple[PostingsByTerm, PostingsByTerm, PostingsByTerm]
    bounds: list[FileBounds | None]


def read_with_bounds(connection: sqlite3.Connection, terms: Sequence[str], reader: BoundsReader) -> WithBounds:
    """Returns the postings of these terms, which must all be different, and their bounds. Only the first `MOST_TERMS`
    terms are looked up."""
    asked = terms[:MOST_TERMS]
    places = {term: place for place, term in enumerate(asked)}
    blobs_of: list[list[bytes]] = [[] for _ in asked]
    rows: list[tuple[int, bool, list[bytes | None]]] = []
    for term, *blobs, blob in rows_of(connection, asked, "bodies, names, fields, bounds"):
        bounded = blob is not None and reader.can_read(blob)
        rows.append((places[term], not bounded, blobs))
        if bounded:
            blobs_of[places[term]].append(blob)
    rows.sort(key=itemgetter(0, 1))
    found = FoundPostings([(place, blobs) for place, _, blobs in rows], len(asked))
    bounds = [reader.read(some) if some else None for some in blobs_of]
    return WithBounds((found.bodies_by_term, found.names_by_term, found.fields_by_term), bounds)


def read_bodies(connection: sqlite3.Connection, terms: Sequence[str]) -> Postings:
    """Returns the same as `read_postings`, but only the postings in the bodies of chunks."""
    return _read(connection, terms, "bodies").bodies


def _read(connection: sqlite3.Connection, terms: Sequence[str], columns: str) -> FoundPostings:
    """Returns the postings of these terms in the columns named."""
    asked = terms[:MOST_TERMS]
    return found_in(rows_of(connection, asked, columns), asked)


def merge_segments(
    connection: sqlite3.Connection,
    *,
    alive: int | None = None,
    force: bool = False,
    since: int | None = None,
    budget: int = MERGE_BUDGET,
    pause: Callable[[], object] = lambda: None,
) -> int:
    """Merges the segments that are due, without their dead postings. Returns how many segments were merged into one.

    `force` merges all segments. `since` says that no more commits follow for now, and is what `newest_segment` returned
    before the first one: if no segments are due, the small ones are merged if there are more than a few, and after a
    run that has written more than that, about as many postings as it wrote. At most `budget` postings are rewritten,
    unless more than half of the index is dead. Then all of it is rewritten, which takes less time than the changes that
    caused this. `pause` is called between parts of the work, which take some ten milliseconds each.

    An id is alive if it is in the table `files` or `chunks` of the same transaction. `alive` is the number of such
    chunks, if the caller knows it; otherwise they are counted.
    """
    sizes = connection.execute("SELECT segment, postings FROM lexical_segments ORDER BY segment").fetchall()
    chosen = [s for s, _ in sizes] if force or mostly_dead(connection, alive) else due_segments(sizes, budget)
    if since is not None and not chosen:
        chosen = due_at_end(sizes, sum(postings for segment, postings in sizes if segment > since))
    if not chosen:
        return 0
    marks = ",".join(map(str, chosen))
    lengths = _alive_lengths(connection, chosen)
    segment, postings, after = next_segment(connection), 0, ""
    while rows := next_rows(connection, chosen, after, _MERGED_AT_ONCE):
        pause()
        after = rows[-1][0]
        delete_rows(connection, f"segment IN ({marks}) AND term <= ?", (after,))
        merged = merge_rows(rows, lengths.chunk_ids, lengths.file_ids)
        insert_rows(connection, segment, _pausing(merged.rows, pause))
        postings += merged.postings
    connection.execute(f"DELETE FROM lexical_segments WHERE segment IN ({marks})")
    if len(lengths.file_ids):
        insert_segment(connection, segment, postings, lengths)
    return len(chosen)


def next_rows(connection: sqlite3.Connection, segments: Sequence[int], after: str, most: int) -> list[Row]:
    """Returns the rows of the next terms above `after` in these segments, about `most`, sorted by term: all rows of
    each term, and at least one term; empty if there is none."""
    each = max(1, most // len(segments))
    source = whole_rows(connection)
    found: list[Row] = []
    ends: list[str] = []
    for segment in segments:
        rows = connection.execute(
            f"SELECT term, bodies, names, fields FROM {source} WHERE segment = ? AND term > ? ORDER BY term LIMIT ?",
            (segment, after, each),
        ).fetchall()
        found += rows
        if len(rows) == each:
            ends.append(rows[-1][0])
    end = min(ends, default=None)
    return sorted((row for row in found if end is None or row[0] <= end), key=itemgetter(0))


def _pausing(rows: Iterable[Row], pause: Callable[[], object]) -> Iterator[Row]:
    """Yields the rows, and calls `pause` now and then."""
    for number, row in enumerate(rows):
        if number % _PAUSE_EVERY == 0:
            pause()
        yield row


# ---------------------------------------------------------------- in memory


def _flatten(counts: Counts, numbers: Ids, keys: Ids) -> Flat:
    """Returns the postings of bags of terms. `numbers` has the new number of each term, `keys` the key of each bag."""
    return Flat(numbers[counts.terms], np.repeat(keys, counts.starts[1:] - counts.starts[:-1]), counts.tfs)


def _join(parts: Sequence[Flat]) -> Flat:
    """Joins several postings into one."""
    return Flat(
        np.concatenate([p.terms for p in parts]),
        np.concatenate([p.keys for p in parts]),
        np.concatenate([p.tfs for p in parts]),
    )


def _where(flat: Flat, mask: NDArray[np.bool_]) -> Flat:
    """Returns the postings where the mask is true."""
    return flat if mask.all() else Flat(flat.terms[mask], flat.keys[mask], flat.tfs[mask])


def _alive_in(column: int, flat: Flat, chunks: Ids, files: Ids) -> Flat:
    """Returns the postings of this column that belong to these chunks or, in the last column, to these files. Both
    arrays of ids must ascend."""
    in_files = column == COLUMNS - 1
    return _where(flat, contains(files, flat.keys // FIELDS) if in_files else contains(chunks, flat.keys))


@dataclass(frozen=True, slots=True)
class MergedRows:
    """The merged postings of some terms: a row for each term that has any, in order of terms; the number of these
    postings; and by term the bounds of those that have many, if they were asked for."""

    rows: Iterator[Row]
    postings: int
    bounds: dict[str, bytes]


def merge_rows(rows: Sequence[Row], chunks: Ids, files: Ids, maker: BoundsMaker | None = None) -> MergedRows:
    """Merges the postings of living chunks and files in these rows. `chunks` and `files` are the ids of those that are
    alive, ascending."""
    # In order of appearance, so that the terms consist of few ascending sequences, which are sorted fast.
    terms = sorted(dict.fromkeys(row[0] for row in rows))
    numbers = dict(zip(terms, range(len(terms)), strict=True))
    of_rows = [numbers[row[0]] for row in rows]
    encoded: list[list[bytes | None]] = []
    kept: list[Flat] = []
    postings = 0
    for column, blobs in enumerate(([row[1] for row in rows], [row[2] for row in rows], [row[3] for row in rows])):
        flat = _in_order(_alive_in(column, _unpack(of_rows, blobs), chunks, files))
        postings += len(flat.keys)
        encoded.append(_encoded(flat, len(terms)))
        if maker is not None:
            kept.append(flat)
    bounds = {} if maker is None else {terms[n]: blob for n, blob in maker.make(len(terms), *kept)}
    return MergedRows(_not_empty(zip(terms, *encoded, strict=True)), postings, bounds)


def _unpack(numbers: Sequence[int], blobs: Sequence[bytes | None]) -> Flat:
    """Decodes blobs, each given with its term's number."""
    held = [blob for blob in blobs if blob is not None]
    if not held:
        return Flat(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint8))
    keys, tfs, sizes = decode_all(held)
    of_held = np.fromiter(compress(numbers, map(_is_there, blobs)), np.int64, len(held))
    return Flat(np.repeat(of_held, sizes), keys, tfs)


def _is_there(blob: bytes | None) -> bool:
    return blob is not None


def _in_order(flat: Flat) -> Flat:
    """Returns the postings in order of terms and keys."""
    if not len(flat.terms):
        return flat
    order = _order(flat)
    return Flat(flat.terms[order], flat.keys[order], flat.tfs[order])


def _encoded(flat: Flat, terms: int) -> list[bytes | None]:
    """Returns the encoded postings of each of so many terms; None for a term without any. The postings must be in
    order."""
    found: list[bytes | None] = [None] * terms
    if not len(flat.terms):
        return found
    starts = np.flatnonzero(np.diff(flat.terms, prepend=-1))
    blobs = encode_runs(flat.keys, flat.tfs, np.append(starts, len(flat.terms)), compact=True)
    for number, blob in zip(flat.terms[starts].tolist(), blobs, strict=True):
        found[number] = blob
    return found


def _order(flat: Flat) -> Ids:
    """Returns the order of postings by term and key. Sorting one number is faster than sorting by two."""
    span = int(flat.keys.max()) + 1
    if int(flat.terms.max()) + 1 > _HIGHEST // span:
        return np.lexsort((flat.keys, flat.terms))
    return np.argsort(flat.terms * span + flat.keys, kind="stable")


def _not_empty(rows: Iterable[Row]) -> Iterator[Row]:
    return (row for row in rows if row[1] or row[2] or row[3])


def _alive_lengths(connection: sqlite3.Connection, segments: Sequence[int]) -> Lengths:
    """Returns the lengths of the chunks and files in these segments that are alive."""
    lengths = lengths_in(connection, segments)
    return lengths_of(
        lengths, still_in(connection, "chunks", lengths.chunk_ids), still_in(connection, "files", lengths.file_ids)
    )
