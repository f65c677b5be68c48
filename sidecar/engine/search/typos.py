"""Corrects mistyped names: finds the defined names closest to one that the index does not contain."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sidecar.engine.search.query import Query, understand
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.parts.lexical.definitions import DefinitionRow, defined_names, find_definitions
from sidecar.parts.lexical.postings import read_bodies
from sidecar.parts.lexical.tokens import fold_name, whole_term

_SHORTEST = 4
_LONG = 8
_LONGEST_QUERY = 200
_MOST = 20


class _Names(tuple[str, ...]):
    """The distinct folded names that an index defines."""

    __slots__ = ()


def mistyped(snapshot: SearchedSnapshot, folded: str) -> list[str]:
    """Returns the defined names, folded, that are closest to this one, best first: at most one edit away, or two for a
    name of eight or more letters. An edit adds, drops or replaces a letter, or swaps two adjacent ones. Reads all
    names."""
    if len(folded) < _SHORTEST:
        return []
    # Imported here, because most searches do not need it, and the start must stay fast.
    from sidecar.parts.fuzzy import closest

    names = snapshot.memo.get(_Names, lambda: _Names(defined_names(snapshot.connection)))
    return closest(folded, names, 1 if len(folded) < _LONG else 2, _MOST)


def corrected(snapshot: SearchedSnapshot, query: Query) -> tuple[Query, str]:
    """Returns the query with existing names in place of those that occur nowhere in the index, and a notice that says
    so; without such a name, the same query and an empty notice."""
    if not query.names or len(query.text) > _LONGEST_QUERY:
        return query, ""
    text, said = query.text, []
    for name in sorted(query.spelled):
        meant = _meant(snapshot, name)
        if meant:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", meant, text)
            said.append(f"Nothing is called {name}; searched for {meant}.")
    return (understand(text), " ".join(said)) if said else (query, "")


def _meant(snapshot: SearchedSnapshot, name: str) -> str:
    """Returns the defined name that a person probably meant by a name that occurs nowhere; empty if the name occurs or
    none is close."""
    connection = snapshot.connection
    term, folded = whole_term(name), fold_name(name)
    if not term or find_definitions(connection, [folded]) or len(read_bodies(connection, [term]).ids):
        return ""
    near = mistyped(snapshot, folded)
    return _likeliest(find_definitions(connection, near[:1])).name if near else ""


def _likeliest(rows: Sequence[DefinitionRow]) -> DefinitionRow:
    return min(rows, key=lambda row: (not row.exported, row.depth, -(row.end_line - row.start_line)))
