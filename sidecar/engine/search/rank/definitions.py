"""Finds the files and chunks that define the query's names, and the files that have such a name. The look-ups are
exact, and weighted by kind, position and length of the definition."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.search.query import Query
from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.rank.named_files import add_named_files
from sidecar.engine.search.rank.recent_terms import RecentTerms
from sidecar.engine.search.source import Rows, SearchedSnapshot
from sidecar.model.terms import Ids
from sidecar.parts.lexical.bm25 import Floats
from sidecar.parts.lexical.definitions import (
    DefinitionRow,
    find_definitions,
    find_places,
    find_stems,
    read_definitions,
)

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
"""How likely a definition of each kind is meant by a query with its name; other kinds have 1."""
_HEAVIEST = 3.0 * 1.2
_EXPORTED = 1.2
_NESTED = 0.8
_OTHER_SPELLING = 0.7
_LONG = 400
_ASIDE = 0.5
"""The factor for names that a long question has only below its title."""
_MOST_KEPT = 4 * 1024 * 1024
"""The maximum number of bytes of definitions that are kept."""
_BYTES_OF_NAME, _BYTES_OF_DEFINITION = 1024, 96


@dataclass(frozen=True, slots=True)
class _Definitions:
    """The definitions of one name, as parallel arrays of shape [n]: ids of files and of chunks, weights before a query
    is known, and indexes into `spellings`. `containers` are their names."""

    files: Ids
    chunks: Ids
    weights: NDArray[np.float64]
    spellings: tuple[str, ...]
    spelling: NDArray[np.int16]
    containers: list[str]

    @property
    def nbytes(self) -> int:
        """The bytes of all, roughly."""
        return _BYTES_OF_NAME + _BYTES_OF_DEFINITION * len(self.files)


_NO_IDS: Ids = np.zeros(0, np.int64)
_NOWHERE = _Definitions(_NO_IDS, _NO_IDS, np.zeros(0), (), np.zeros(0, np.int16), [])


class _Recent(RecentTerms[_Definitions]):
    """The names that recent searches of a revision have looked up."""

    def __init__(self) -> None:
        super().__init__(_MOST_KEPT)


@dataclass(frozen=True)
class DefinitionScores:
    """Results of exact look-ups of the query's names, each in 0-1. The `files_` arrays and `stems` have the shape
    [files], the `chunks_` arrays the shape [chunks].

    - `files_sought`: the file defines a name that the query contains as an identifier.
    - `files_plain`: the file defines a content word of the query, or two adjacent words joined. Known of the files
      given to `add_plain` only.
    - `stems`: the file itself has such a name.
    - `chunks_sought`, `chunks_plain`: the definition starts in this chunk.
    - `files_named`: a long question names the file by its path.
    """

    files_sought: Floats
    files_plain: Floats
    stems: Floats
    chunks_sought: Floats
    chunks_plain: Floats
    files_named: Floats

    @classmethod
    def nothing(cls, snapshot: SearchedSnapshot) -> DefinitionScores:
        """Returns scores of 0 for all rows of the snapshot."""
        files, chunks = len(snapshot.file_ids), len(snapshot.chunk_ids)
        return cls(*(np.zeros(n, np.float32) for n in (files, files, files, chunks, chunks, files)))


def look_up(snapshot: SearchedSnapshot, columns: IndexColumns, query: Query) -> DefinitionScores:
    """Looks up the query's names, and the files that have such a name."""
    symbols = DefinitionScores.nothing(snapshot)
    if query.files:
        add_named_files(symbols.files_named, snapshot, columns, query.files)
    found = _definitions_of(snapshot, query.names)
    _add_definitions(symbols.files_sought, symbols.chunks_sought, columns, found, query)
    stems = find_stems(snapshot.connection, (*query.names, *_plain(query)))
    files = columns.files.rows(np.array([file_id for _, file_id in stems], np.int64))
    for (name, _), file in zip(stems, files.tolist(), strict=True):
        if file >= 0:
            whole = name in query.joined or (name in query.names and name not in query.aside)
            weight = 1.0 if whole else _ASIDE if name in query.aside else 1.0 / max(1, len(query.plain))
            symbols.stems[file] = min(1.0, symbols.stems[file] + weight)
    return symbols


def add_plain(
    symbols: DefinitionScores, snapshot: SearchedSnapshot, columns: IndexColumns, query: Query, files: Rows
) -> None:
    """Adds what these files define of the query's plain and joined words. Words are often defined in hundreds of files,
    and no file is a candidate because of them."""
    names = frozenset(query.names)
    defining, numbers = find_places(snapshot.connection, [name for name in _plain(query) if name not in names])
    chosen = np.zeros(len(symbols.files_plain) + 1, bool)
    chosen[files] = True  # the last one, with index -1, stands for files that are not in the collection
    found = _by_name(read_definitions(snapshot.connection, numbers[chosen[columns.files.rows(defining)]].tolist()))
    _add_definitions(symbols.files_plain, symbols.chunks_plain, columns, found, query)


def _plain(query: Query) -> tuple[str, ...]:
    """Returns the words of a query, folded, that may be names, too; none if the query is a symbol."""
    return () if query.is_symbol else (*query.plain, *query.joined)


def _definitions_of(snapshot: SearchedSnapshot, names: Sequence[str]) -> dict[str, _Definitions]:
    """Returns the definitions of each of these names. Long questions share the names that are defined most often."""

    def read(unknown: Sequence[str]) -> list[_Definitions]:
        found = _by_name(find_definitions(snapshot.connection, unknown))
        return [found.get(name, _NOWHERE) for name in unknown]

    return snapshot.memo.get(_Recent, _Recent).get(names, read)


def _by_name(rows: Iterable[DefinitionRow]) -> dict[str, _Definitions]:
    """Returns these definitions by their folded name."""
    rows = sorted(rows, key=attrgetter("folded"))
    if not rows:
        return {}
    files, chunks = np.array([(row.file_id, row.chunk_id) for row in rows], np.int64).T
    weights = _weights(rows)
    found, start = {}, 0
    for name, group in groupby(rows, attrgetter("folded")):
        of_name = list(group)
        part = slice(start, start + len(of_name))
        spellings = {spelling: number for number, spelling in enumerate(dict.fromkeys(row.name for row in of_name))}
        spelling = np.array([spellings[row.name] for row in of_name], np.int16)
        found[name] = _Definitions(
            files[part].copy(),
            chunks[part].copy(),
            weights[part].copy(),
            tuple(spellings),
            spelling,
            [row.container for row in of_name],
        )
        start = part.stop
    return found


def _add_definitions(
    by_file: Floats, by_chunk: Floats, columns: IndexColumns, found: Mapping[str, _Definitions], query: Query
) -> None:
    """Gives each file and chunk row the weight of its weightiest definition, in place."""
    defined = [(name, each) for name, each in found.items() if len(each.files)]
    if not defined:
        return
    files = columns.files.rows(np.concatenate([each.files for _, each in defined]))
    chunks = columns.chunks.rows(np.concatenate([each.chunks for _, each in defined]))
    weights = np.concatenate([_weights_for(query, name, each) for name, each in defined]).astype(np.float32)
    here = (files >= 0) & (chunks >= 0)
    np.maximum.at(by_file, files[here], weights[here])
    np.maximum.at(by_chunk, chunks[here], weights[here])


def _weights(rows: Sequence[DefinitionRow]) -> NDArray[np.float64]:
    """Returns the weight of each definition by kind, export, nesting and length, 0-1."""
    weights = np.array([KIND_WEIGHTS.get(row.kind, 1.0) for row in rows])
    weights *= np.array([_EXPORTED if row.exported else 1.0 for row in rows])
    weights *= _NESTED ** np.array([row.depth for row in rows], np.int64) / _HEAVIEST
    # Among the parts of a class, forward declarations and overloads, the longest is the most useful.
    further_lines = np.array([row.end_line - row.start_line for row in rows], np.int64)
    weights *= 0.7 + 0.3 * np.minimum(1.0, np.log1p(further_lines) / math.log1p(_LONG))
    return weights


def _weights_for(query: Query, name: str, found: _Definitions) -> NDArray[np.float64]:
    """Returns the weight of each definition of a name for this query: by its spelling and container too."""
    weights = found.weights.copy()
    if name in query.names:
        factors = np.array([1.0 if each in query.spelled else _OTHER_SPELLING for each in found.spellings])
        weights *= factors[found.spelling]
    if name in query.aside:
        weights *= _ASIDE
    if query.container:
        inside = np.array([query.container in _containers(container) for container in found.containers], bool)
        weights = np.where(inside, np.minimum(1.0, weights * 3), weights * 0.5)
    return weights


def _containers(name: str) -> list[str]:
    return name.replace("_", "").casefold().split(".")
