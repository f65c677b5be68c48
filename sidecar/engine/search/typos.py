"""Corrects mistyped names: finds the defined names closest to one that the index does not contain."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from sidecar.engine.concurrency.right_of_way import after_questions
from sidecar.engine.concurrency.usage import give_memory_back
from sidecar.engine.search.name_table import NameTable, name_table
from sidecar.engine.search.query import Query, understand
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.parts.coverage import is_reading
from sidecar.parts.lexical.definitions import (
    DefinitionRow,
    defined_among,
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
_MOST_READ = 100
"""More than are returned, because some may have been removed from the index."""
_FEW = 10_000
_MANY = 200_000


@dataclass(frozen=True, slots=True)
class _Names:
    """The folded names that an index defines or has defined, from files up to the id `newest_file`. `read` of them were
    read at once; the others have been added since."""

    table: NameTable
    newest_file: int
    read: int


def mistyped(snapshot: SearchedSnapshot, folded: str) -> list[str]:
    """Returns the defined names, folded, that are closest to this one, best first: at most one edit away, or two for a
    name of eight or more letters. An edit adds, drops or replaces a letter, or swaps two adjacent ones. Reads all
    names, or those of new files if all have been read before.

    Nothing is close while files are being read for the first time: one of them may define the name as it was typed, and
    reading the names again and again takes longer than the rest of the search."""
    if len(folded) < _SHORTEST or is_reading(snapshot.connection):
        return []
    # Imported here, because most searches do not need it, and the start must stay fast.
    from sidecar.parts.fuzzy import closest

    edits = 1 if len(folded) < _LONG else 2
    names = snapshot.memo.carried(_Names, lambda known: _read_names(snapshot.connection, known))
    likely = names.table.near(folded, edits)
    near = closest(folded, likely, edits, _MOST_READ)
    defined = defined_among(snapshot.connection, near)
    return [name for name in near if name in defined][:_MOST]


def _read_names(connection: sqlite3.Connection, known: _Names | None) -> _Names:
    """Returns the names of this commit. The names of removed files stay in what is `known`, and changed files add
    theirs again; if more than a third are of that kind, all names are read anew."""
    newest = newest_defining_file(connection)
    if known is None or newest < known.newest_file:
        return _all_names(connection, newest)
    table = known.table.with_more(defined_names(connection, known.newest_file))
    if len(table) > known.read * 3 // 2 + _FEW:
        return _all_names(connection, newest)
    return _Names(table, newest, known.read)


def _all_names(connection: sqlite3.Connection, newest: int) -> _Names:
    table = name_table(defined_names(connection))
    if len(table) > _MANY:
        after_questions(give_memory_back)  # making the table takes more than twice its memory
    return _Names(table, newest, len(table))


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
