"""Everything that is known about each candidate file and chunk before features weigh it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.intent import Query
from sidecar.engine.rank.columns import Columns, Rows, SearchedSnapshot
from sidecar.engine.rank.graph import mentions_of
from sidecar.engine.rank.match import LexicalMatch
from sidecar.engine.rank.paths import PathFacts, path_facts
from sidecar.parts.lexical.bm25 import Floats
from sidecar.parts.lexical.definitions import DefinitionRow, find_definitions, find_stems

KIND_WEIGHTS = {
    "class": 3.0,
    "type": 2.0,
    "function": 1.6,
    "module": 1.5,
    "macro": 1.3,
    "method": 1.0,
    "section": 1.0,
    "variable": 0.7,
    "constant": 0.7,
    "constructor": 0.5,
    "namespace": 0.5,
    "field": 0.4,
}
"""How much a definition of this kind is what somebody who names it means."""
_HEAVIEST = 3.0 * 1.2
_EXPORTED = 1.2
_NESTED = 0.8
_DOCUMENTATION = 1
_OTHER_SPELLING = 0.7
_LONG = 400


@dataclass(frozen=True)
class Symbols:
    """Exact look-ups of the query's names, 0-1 each.

    `files_sought`: a definition of a name that stands in the query as an identifier; `files_plain`: one of a plain
    content word or of two neighbouring words; `stems`: the file bears such a name; `chunks_sought`, `chunks_plain`:
    the same, where the definition starts.
    """

    files_sought: Floats
    files_plain: Floats
    stems: Floats
    chunks_sought: Floats
    chunks_plain: Floats

    @classmethod
    def nothing(cls, snapshot: SearchedSnapshot) -> Symbols:
        files, chunks = len(snapshot.file_ids), len(snapshot.chunk_ids)
        return cls(*(np.zeros(n, np.float32) for n in (files, files, files, chunks, chunks)))


def look_up(snapshot: SearchedSnapshot, columns: Columns, query: Query) -> Symbols:
    symbols = Symbols.nothing(snapshot)
    plain = () if query.is_symbol else (*query.plain, *query.joined)
    sought = frozenset(query.names)
    rows = find_definitions(snapshot.connection, (*query.names, *plain))
    if rows:
        file_rows = columns.files.rows(np.array([r.file_id for r in rows], np.int64))
        chunk_rows = columns.chunks.rows(np.array([r.chunk_id for r in rows], np.int64))
        for row, file, chunk in zip(rows, file_rows.tolist(), chunk_rows.tolist(), strict=True):
            if file >= 0 and chunk >= 0 and columns.file_in_collection[file]:
                _add_definition(symbols, row, file, chunk, row.folded in sought, query)
    for name, file_id in find_stems(snapshot.connection, (*query.names, *plain)):
        file = int(columns.files.rows(np.array([file_id], np.int64))[0])
        if file >= 0 and columns.file_in_collection[file]:
            weight = 1.0 if name in sought or name in query.joined else 1.0 / max(1, len(query.plain))
            symbols.stems[file] = min(1.0, symbols.stems[file] + weight)
    return symbols


def _add_definition(symbols: Symbols, row: DefinitionRow, file: int, chunk: int, sought: bool, query: Query) -> None:
    weight = KIND_WEIGHTS.get(row.kind, 1.0) * (_EXPORTED if row.exported else 1.0) * _NESTED**row.depth / _HEAVIEST
    # Among parts of one class, forward declarations and overloads, the long one has the substance.
    weight *= 0.7 + 0.3 * min(1.0, math.log1p(row.end_line - row.start_line) / math.log1p(_LONG))
    if sought and row.name not in query.spelled:
        weight *= _OTHER_SPELLING
    if query.container:
        outer = row.container.replace("_", "").casefold().split(".")
        weight = min(1.0, weight * 3) if query.container in outer else weight * 0.5
    by_file, by_chunk = (
        (symbols.files_sought, symbols.chunks_sought) if sought else (symbols.files_plain, symbols.chunks_plain)
    )
    by_file[file] = max(by_file[file], weight)
    by_chunk[chunk] = max(by_chunk[chunk], weight)


@dataclass(frozen=True)
class Similarities:
    """Cosines by chunk row; NaN where not known. `floor` is what unknown ones are taken for."""

    chunks: Floats
    floor: float

    @property
    def known(self) -> Floats:
        """Unknown ones are at most as close as the last that the search returned; so are all that are less close,
        whether they happen to be known or not."""
        return np.fmax(self.chunks, np.float32(self.floor))

    @property
    def scaled(self) -> Floats:
        """From just above 0 for the least close known chunk to 1 for the closest; 0 for unknown ones."""
        known = ~np.isnan(self.chunks)
        if not known.any():
            return np.zeros_like(self.chunks)
        low, high = float(self.chunks[known].min()), float(self.chunks[known].max())
        span = max(high - low, 1e-6)
        return np.where(known, 0.01 + 0.99 * (self.chunks - low) / span, 0).astype(np.float32)


@dataclass(frozen=True)
class Evidence:
    """Parallel arrays over candidate files, each in 0-1. Lexical ones are 0 without lexical search, and so on.

    Shares (`fields`, `..._cover`) are of the query's idf. `best_body`, `bodies`, `all_fields` and `field_scores` are
    relative to the best; `fields_found` is the absolute BM25F. Lengths count terms. `names` are paths; `mentions` are
    rows of files that hold the candidate's name (see `graph`), and `all_files` is BM25F of every file row, relative.
    """

    files: Rows
    query: Query
    fused: Floats
    best_body: Floats
    all_fields: Floats
    fields: NDArray[np.float32]
    sought: Floats
    plain: Floats
    stems: Floats
    similarity: Floats
    top_similarity: Floats
    mean_similarity: Floats
    resemblance: Floats
    paths: NDArray[np.float32]
    names: Sequence[str]
    body_lengths: Floats
    name_lengths: Floats
    file_count: int
    field_scores: NDArray[np.float32]
    bodies: Floats
    fields_found: Floats
    chunk_cover: Floats
    body_cover: Floats
    mentions: Sequence[Rows]
    all_files: Floats


def gather(
    snapshot: SearchedSnapshot,
    columns: Columns,
    query: Query,
    files: Rows,
    match: LexicalMatch,
    symbols: Symbols,
    similarities: Similarities,
    fused: Floats,
    resemblance: Floats,
    groups: Groups,
) -> Evidence:
    known = similarities.known
    return Evidence(
        files=files,
        query=query,
        fused=groups.best(fused),
        best_body=relative(groups.best(match.chunks)),
        all_fields=relative(match.files[files]),
        fields=match.fields[:, files],
        sought=symbols.files_sought[files],
        plain=symbols.files_plain[files],
        stems=symbols.stems[files],
        similarity=np.clip(groups.best(known), 0, 1),
        top_similarity=np.clip(groups.top_mean(known), 0, 1),
        mean_similarity=np.clip(groups.mean(known), 0, 1),
        resemblance=resemblance,
        paths=_path_facts(snapshot, columns, files),
        names=[snapshot.paths[file] for file in files],
        body_lengths=columns.body_lengths[files],
        name_lengths=columns.name_lengths[files],
        file_count=columns.file_count,
        field_scores=np.stack([relative(scores) for scores in match.field_scores[:, files]]),
        bodies=relative(match.bodies[files]),
        fields_found=match.files[files],
        chunk_cover=groups.best(match.chunk_cover),
        body_cover=match.body_cover[files],
        mentions=mentions_of(snapshot, columns, files),
        all_files=relative(match.files),
    )


def _path_facts(snapshot: SearchedSnapshot, columns: Columns, files: Rows) -> NDArray[np.float32]:
    facts = np.array([path_facts(snapshot.paths[f]) for f in files], np.float32).reshape(-1, len(PathFacts._fields))
    if columns.collection == _DOCUMENTATION:
        facts[:, PathFacts._fields.index("example")] = 0  # a tutorial under docs/ is what documentation is
    return facts


class Groups:
    """The chunk rows of the candidate files, file after file."""

    def __init__(self, columns: Columns, files: Rows, count: int) -> None:
        group_of = np.full(count, -1, np.int64)
        group_of[columns.group_file] = np.arange(len(columns.group_file))
        ends = np.append(columns.group_start[1:], len(columns.in_collection))
        groups = group_of[files]
        self.lengths = np.asarray(ends[groups] - columns.group_start[groups])
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).astype(np.int64)[: len(files)]
        total = int(self.lengths.sum())
        self.position = np.repeat(np.arange(len(files)), self.lengths)
        offset = np.repeat(columns.group_start[groups] - self.starts, self.lengths)
        self.rows = (np.arange(total) + offset).astype(np.int32)

    def best(self, scores: Floats) -> Floats:
        if not len(self.starts):
            return np.zeros(0, np.float32)
        return np.asarray(np.maximum.reduceat(scores[self.rows], self.starts), np.float32)

    def mean(self, scores: Floats) -> Floats:
        sums = np.bincount(self.position, weights=scores[self.rows], minlength=len(self.starts))
        return np.asarray(sums / np.maximum(self.lengths, 1), np.float32)

    def top_mean(self, scores: Floats, limit: int = 3) -> Floats:
        """Mean of the best `limit` scores of each file, fewer where it has fewer chunks."""
        if not len(self.starts):
            return np.zeros(0, np.float32)
        values = scores[self.rows]
        order = np.lexsort((-values, self.position))
        rank = np.arange(len(order)) - np.repeat(self.starts, self.lengths)
        kept = order[rank < limit]
        sums = np.bincount(self.position[kept], weights=values[kept], minlength=len(self.starts))
        return np.asarray(sums / np.minimum(self.lengths, limit), np.float32)


def relative(values: Floats) -> Floats:
    best = values.max(initial=0)
    return values / best if best > 0 else values
