"""Who defines what the query names, and which file bears the name: exact look-ups, weighed by kind and place."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sidecar.engine.intent import Query
from sidecar.engine.rank.columns import Columns, SearchedSnapshot
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
            if file >= 0 and chunk >= 0:
                _add_definition(symbols, row, file, chunk, row.folded in sought, query)
    for name, file_id in find_stems(snapshot.connection, (*query.names, *plain)):
        file = int(columns.files.rows(np.array([file_id], np.int64))[0])
        if file >= 0:
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
