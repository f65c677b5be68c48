"""Finds definitions by name: by the whole name in any spelling, by its beginning, by the words that it consists of, or
in spite of a typo."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sidecar.engine.search.nothing import why_no_symbols
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.engine.search.texts import shown_chunks
from sidecar.engine.search.typos import mistyped
from sidecar.errors import InvalidQuery
from sidecar.model.answers import SymbolHit, SymbolsAnswer
from sidecar.model.terms import Ids
from sidecar.parts.lexical.definitions import (
    DefinitionRow,
    find_definitions,
    find_definitions_by_prefix,
    find_definitions_containing,
)
from sidecar.parts.lexical.tokens import fold_name, terms_of, words

Match = Literal["exact", "prefix", "typo", "words"]
_ORDER: dict[Match, int] = {"exact": 0, "prefix": 1, "typo": 2, "words": 3}
_FURTHER = 2000
"""The maximum number of definitions that are examined by prefix, and again by words."""
_SEPARATORS = ("::", "->", "#", "/", ".")


@dataclass(frozen=True)
class _Wanted:
    """The name that is looked for. `words` are the stemmed words that it consists of. For `Jar.expire`, `container` is
    `jar`, the folded name of the definition that must enclose it."""

    name: str
    folded: str
    container: str
    words: frozenset[str]


def find_symbols(snapshot: SearchedSnapshot, name: str, kinds: Sequence[str], limit: int) -> SymbolsAnswer:
    """Returns at most `limit` definitions that match a name. `kinds` restricts them unless it is empty.

    The order is: kind of match (exact, prefix, typo, words), fewer edits, code before headings, exact spelling, shorter
    names, exported names, outer definitions, path, line. A typo is assumed only if no name equals this one or begins
    with it. Raises InvalidQuery if the name has no letter or digit.
    """
    wanted = _understand(name)
    found = _found(snapshot, wanted, kinds)
    if not found:
        others = _found(snapshot, wanted, ()) if kinds else {}
        reason = why_no_symbols(snapshot, name, kinds, [row.kind for row, _ in others.values()])
        return SymbolsAnswer((), 0, reason=reason)
    near = list(dict.fromkeys(row.folded for row, match in found.values() if match == "typo"))
    files = snapshot.file_rows(_ids([row.file_id for row, _ in found.values()]))
    placed = [(row, match, snapshot.paths[file]) for (row, match), file in zip(found.values(), files, strict=True)]
    placed.sort(
        key=lambda p: (
            _ORDER[p[1]],
            near.index(p[0].folded) if p[1] == "typo" else 0,
            p[0].kind == "section",
            p[0].name != wanted.name,
            len(p[0].folded),
            not p[0].exported,
            p[0].depth,
            p[2],
            p[0].start_line,
        )
    )
    page = placed[:limit]
    lines = _first_lines(snapshot, [row for row, _, _ in page])
    return SymbolsAnswer(
        tuple(
            SymbolHit(path, row.name, row.kind, row.start_line, row.end_line, row.container, row.exported, match, *line)
            for (row, match, path), line in zip(page, lines, strict=True)
        ),
        len(placed),
    )


def _found(
    snapshot: SearchedSnapshot, wanted: _Wanted, kinds: Sequence[str]
) -> dict[tuple[int, int, str], tuple[DefinitionRow, Match]]:
    """Returns the definitions that match, by file, line and name, each with its best kind of match."""
    found: dict[tuple[int, int, str], tuple[DefinitionRow, Match]] = {}
    for match, rows in _candidates(snapshot, wanted):
        if match == "typo" and found:
            continue
        for row in rows:
            if _fits(row, wanted, kinds):
                found.setdefault((row.file_id, row.start_line, row.name), (row, match))
    return found


def _understand(name: str) -> _Wanted:
    text = name.strip()
    for separator in _SEPARATORS:
        text = text.replace(separator, ".")
    container, _, last = text.rstrip("().").rpartition(".")
    parts = words(last)
    # A phrase such as `parse request` is also folded into one name.
    folded = fold_name("".join(parts))
    if not folded:
        raise InvalidQuery("Give a name, or words that the name is made of.")
    terms = frozenset(term for part in parts for term in _parts_of(part))
    return _Wanted("".join(parts), folded, fold_name(container.replace(" ", "")), terms)


def _candidates(snapshot: SearchedSnapshot, wanted: _Wanted) -> Iterable[tuple[Match, Iterable[DefinitionRow]]]:
    connection = snapshot.connection
    yield "exact", find_definitions(connection, [wanted.folded])
    yield "prefix", find_definitions_by_prefix(connection, wanted.folded, _FURTHER)
    yield "typo", _despite_typos(snapshot, wanted)
    rows = find_definitions_containing(connection, [_piece(w) for w in wanted.words], _FURTHER) if wanted.words else []
    yield "words", (row for row in rows if wanted.words <= frozenset(_parts_of(row.name)))


def _despite_typos(snapshot: SearchedSnapshot, wanted: _Wanted) -> Iterable[DefinitionRow]:
    for name in mistyped(snapshot, wanted.folded):
        yield from find_definitions(snapshot.connection, [name])


def _parts_of(name: str) -> tuple[str, ...]:
    """Returns the stemmed words of a name, without the whole name if it has several words."""
    terms = terms_of(name)
    return terms[1:] if len(terms) > 1 else terms


def _piece(stem: str) -> str:
    """Returns the part that a stem and its word have in common: `retr` for `retri`, the stem of `retry`."""
    return stem.removesuffix("i") or stem


def _fits(row: DefinitionRow, wanted: _Wanted, kinds: Sequence[str]) -> bool:
    if kinds and row.kind not in kinds:
        return False
    return not wanted.container or fold_name(row.container).endswith(wanted.container)


def _first_lines(snapshot: SearchedSnapshot, rows: Sequence[DefinitionRow]) -> list[tuple[str, bool]]:
    """Returns for each definition the source line on which it starts, stripped, and whether a value in it is hidden.
    The line is empty if the definition's chunk does not contain it."""
    chunks = [int(row) for row in snapshot.chunk_rows(_ids([row.chunk_id for row in rows]))]
    lines = []
    for row, chunk, stored in zip(rows, chunks, shown_chunks(snapshot, chunks), strict=True):
        text = stored.text.split("\n")
        at = row.start_line - int(snapshot.chunk_start[chunk])
        line = text[at].strip() if 0 <= at < len(text) else ""
        lines.append((line, stored.hidden and "***" in line))
    return lines


def _ids(numbers: Sequence[int]) -> Ids:
    return np.array(numbers, np.int64)
