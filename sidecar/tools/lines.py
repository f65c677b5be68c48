"""The lines that a shell prints for a result. Made where the result is made, and coloured where they are printed.

A line is a text, or pieces of which each may have a role. Both are JSON-ready, because a shell gets them from the
daemon. Texts may still contain line breaks and control characters; the shell makes them visible. Cheap to import.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from sidecar import shown
from sidecar.shown import count

Piece: TypeAlias = str | tuple[str, str] | tuple[str, str, str, int]
"""A text, or its role and the text. A place in a file has also the file's path, which is absolute or relative to the
workspace, and the line, or 0."""
Line: TypeAlias = str | Sequence[Piece]

PLAIN, PLACE, STRONG, ASIDE, GOOD, BAD, FOUND = "", "place", "strong", "aside", "good", "bad", "found"


def file_place(path: str, first: int, last: int | str) -> Piece:
    """`path:first-last`, which a terminal may show as a link to the first of these lines."""
    return PLACE, f"{shown.path(path)}:{first}-{last}", path, first


def pairs(values: Iterable[tuple[str, object]]) -> Iterator[Line]:
    """A line `label value` for each pair."""
    for label, value in values:
        yield (ASIDE, f"{label:<10}"), f" {value}"


def upgrade_lines(chunks: int) -> Iterator[Line]:
    """A line about the chunks that a model upgrade embedded; none without chunks."""
    if chunks:
        yield f"{count(chunks, 'chunk')} embedded again with the better model, which answers from now on"


def marked(text: str, spans: Sequence[tuple[int, int]]) -> list[Piece]:
    """`text` with these spans as `FOUND`; they must be in order and not overlap."""
    pieces: list[Piece] = []
    at = 0
    for start, end in spans:
        pieces += [text[at:start], (FOUND, text[start:end])]
        at = end
    return [*pieces, text[at:]]
