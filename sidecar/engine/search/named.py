"""Finds the definition that a hit is about. Its name tells a person more than the hit's own lines, which may be the
middle of a function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sidecar.engine.search.source import SearchedSnapshot
from sidecar.model.answers import Hit, HitDefinition, MarkedLine
from sidecar.parts.lexical.definitions import find_definitions_at, find_ends
from sidecar.parts.manifest import read_file_id


def definitions_of(
    snapshot: SearchedSnapshot, passages: Iterable[tuple[int, int, Sequence[MarkedLine]]]
) -> list[HitDefinition | None]:
    """Returns the definition that each passage is about: the innermost one around the excerpt's line with the most hit
    words, or around the first line of a passage without an excerpt; if there is none, the first one below that line.

    A passage is the row of its first chunk, its last line and its excerpt."""
    places = []
    for row, end_line, excerpt in passages:
        line = best_line(excerpt).line if excerpt else int(snapshot.chunk_start[row])
        places.append((int(snapshot.file_ids[snapshot.chunk_file[row]]), line, end_line))
    found = find_definitions_at(snapshot.connection, places)
    return [d and HitDefinition(d.name, d.kind, d.container, d.start_line, d.end_line) for d in found]


def ends_of(snapshot: SearchedSnapshot, hit: Hit) -> list[int]:
    """Returns the lines of a hit on which a definition ends, 1-based and ascending."""
    return find_ends(snapshot.connection, read_file_id(snapshot.connection, hit.path), hit.start_line, hit.end_line)


def best_line(lines: Sequence[MarkedLine]) -> MarkedLine:
    """Returns the line with the most hit words; the first of them in a tie."""
    return max(lines, key=lambda line: len(line.pieces))
