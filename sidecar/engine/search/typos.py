"""Names that were mistyped: what the index defines instead of a name that it does not contain."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from sidecar.engine.search.name_table import NameTable, name_table
from sidecar.engine.search.query import Query, understand
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.parts.lexical.definitions import (
    DefinitionRow,
    defined_names,
    find_definitions,
    newest_defining_file,
)
from sidecar.parts.lexical.postings import read_bodies
from sidecar.parts.lexical.tokens import fold_name, whole_term

_SHORTEST = 4
_LONG = 8
_LONGEST_QUERY = 200
_MOST = 20
_FEW = 10_000


@dataclass(frozen=True, slots=True)
class _Names:
    """The folded names that an index defines or has defined, from files up to the id `newest_file`. `read` of them were
    read at once, the others were added since."""

    table: NameTable
    newest_file: int
    read: int


def mistyped(snapshot: SearchedSnapshot, folded: str) -> list[str]:
    """The folded names closest to one that nothing defines, best first: those that one edit makes of it, of a name of
    eight or more letters two. An edit adds, drops or replaces a letter, or swaps two neighbours. Reads all names, and
    those of new files when the index has changed."""
    if len(folded) < _SHORTEST:
        return []
    # Here, because most searches need no look at all names, and starting must stay light.
    from sidecar.parts.fuzzy import closest

    edits = 1 if len(folded) < _LONG else 2
    names = snapshot.memo.carried(_Names, lambda known: _read_names(snapshot.connection, known))
    likely = names.table.near(folded, edits)
    near = closest(folded, likely, edits, len(likely))
    defined = frozenset(row.folded for row in find_definitions(snapshot.connection, near))
    return [name for name in near if name in defined][:_MOST]


def _read_names(connection: sqlite3.Connection, known: _Names | None) -> _Names:
    """The names of this commit. Those of removed files stay with what is `known`, and changed files add theirs again;
    when a third would be such, all are read anew."""
    newest = newest_defining_file(connection)
    if known is None or newest < known.newest_file:
        return _all_names(connection, newest)
    table = known.table.with_more(defined_names(connection, known.newest_file))
    if len(table) > known.read * 3 // 2 + _FEW:
        return _all_names(connection, newest)
    return _Names(table, newest, known.read)


def _all_names(connection: sqlite3.Connection, newest: int) -> _Names:
    table = name_table(defined_names(connection))
    return _Names(table, newest, len(table))


def corrected(snapshot: SearchedSnapshot, query: Query) -> tuple[Query, str]:
    """The query with names that exist in place of those that occur nowhere in the index, and a notice that says so;
    without such a name, the same query and an empty notice."""
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
    """The defined name that a name which occurs nowhere was probably meant to be; empty if there is none."""
    connection = snapshot.connection
    term, folded = whole_term(name), fold_name(name)
    if not term or find_definitions(connection, [folded]) or len(read_bodies(connection, [term]).ids):
        return ""
    near = mistyped(snapshot, folded)
    return _likeliest(find_definitions(connection, near[:1])).name if near else ""


def _likeliest(rows: Sequence[DefinitionRow]) -> DefinitionRow:
    return min(rows, key=lambda row: (not row.exported, row.depth, -(row.end_line - row.start_line)))
