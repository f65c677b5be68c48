"""Finds the definition that a hit is about. Its name tells a person more than the hit's own lines, which may be the
middle of a function."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from sidecar.engine.search.source import SearchedSnapshot
from sidecar.model.answers import Hit, HitDefinition, MarkedLine
from sidecar.parts.lexical.definitions import find_definition_below, find_definitions_around, find_ends
from sidecar.parts.manifest import read_file_id


def with_definitions(snapshot: SearchedSnapshot, hits: Sequence[Hit]) -> list[Hit]:
    """Returns the hits with the definitions that they are about: the innermost one around the excerpt's line with the
    most hit words, or around the first line of a hit without an excerpt; if there is none, the first one below that
    line."""
    return [replace(hit, definition=_definition(snapshot.connection, hit)) for hit in hits]


def ends_of(snapshot: SearchedSnapshot, hit: Hit) -> list[int]:
    """Returns the lines of a hit on which a definition ends, 1-based and ascending."""
    return find_ends(snapshot.connection, read_file_id(snapshot.connection, hit.path), hit.start_line, hit.end_line)


def best_line(lines: Sequence[MarkedLine]) -> MarkedLine:
    """Returns the line with the most hit words; the first of them in a tie."""
    return max(lines, key=lambda line: len(line.pieces))


def _definition(connection: sqlite3.Connection, hit: Hit) -> HitDefinition | None:
    file_id = read_file_id(connection, hit.path)
    line = best_line(hit.excerpt).line if hit.excerpt else hit.start_line
    around = find_definitions_around(connection, file_id, line)
    row = around[-1] if around else find_definition_below(connection, file_id, line, hit.end_line)
    if row is None:
        return None
    return HitDefinition(row.name, row.kind, row.container, row.start_line, row.end_line)
