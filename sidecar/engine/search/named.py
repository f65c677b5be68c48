"""Finds the definition that a hit is about. Its name tells a person more than the hit's own lines, which may be the
middle of a function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sidecar.engine.search.source import SearchedSnapshot
from sidecar.model.answers import Hit, HitDefinition, MarkedLine
from sidecar.parts.lexical.definitions import find_definitions_at, find_ends
from sidecar.parts.manifest_reads import read_file_id

_REMEMBERED = 10_000
"""The number of places whose definitions a revision remembers, about three megabytes."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The definitions at places (file id, line, last line) of a revision that have been looked up."""

    by_place: dict[tuple[int, int, int], HitDefinition | None] = field(default_factory=dict)


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
    known = snapshot.memo.get(_Known, _Known).by_place
    unknown = [place for place in places if place not in known]
    rows = find_definitions_at(snapshot.connection, unknown) if unknown else []
    found = {
        place: d and HitDefinition(d.name, d.kind, d.container, d.start_line, d.end_line)
        for place, d in zip(unknown, rows, strict=True)
    }
    if len(known) < _REMEMBERED:
        known.update(found)
    return [found[place] if place in found else known[place] for place in places]


def ends_of(snapshot: SearchedSnapshot, hit: Hit) -> list[int]:
    """Returns the lines of a hit on which a definition ends, 1-based and ascending."""
    return find_ends(snapshot.connection, read_file_id(snapshot.connection, hit.path), hit.start_line, hit.end_line)


def best_line(lines: Sequence[MarkedLine]) -> MarkedLine:
    """Returns the line with the most hit words; the first of them in a tie."""
    return max(lines, key=lambda line: len(line.pieces))
