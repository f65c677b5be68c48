"""Which definition a hit is about: what a person calls the place, where the hit's own lines may be the middle of a
function."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from sidecar.engine.search.hits import HitSpan
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.model import Hit, HitDefinition, MarkedLine
from sidecar.parts.lexical.definitions import find_definition_below, find_definitions_around


def with_definitions(snapshot: SearchedSnapshot, spans: Sequence[HitSpan], hits: Sequence[Hit]) -> list[Hit]:
    """The hits, each made from the span at the same place, with the definitions that they are about. A hit without an
    excerpt stays as it is."""
    return [
        replace(hit, definition=_definition(snapshot.connection, _file_id(snapshot, span), hit)) if hit.excerpt else hit
        for span, hit in zip(spans, hits, strict=True)
    ]


def _file_id(snapshot: SearchedSnapshot, span: HitSpan) -> int:
    return int(snapshot.file_ids[snapshot.chunk_file[span.rows[0]]])


def _definition(connection: sqlite3.Connection, file_id: int, hit: Hit) -> HitDefinition | None:
    line = _telling(hit.excerpt).line
    around = find_definitions_around(connection, file_id, line)
    row = around[-1] if around else find_definition_below(connection, file_id, line, hit.end_line)
    if row is None:
        return None
    return HitDefinition(row.name, row.kind, row.container, row.start_line, row.end_line)


def _telling(lines: Sequence[MarkedLine]) -> MarkedLine:
    """The line with the most hit words, else the first."""
    return max(lines, key=lambda line: len(line.pieces))
