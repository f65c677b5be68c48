"""The lines that a shell prints for a result. They are made with the result, and coloured where they are printed.

A line is a text, or a sequence of pieces that may each have a role. Both are JSON-ready, because a shell gets them from
the daemon. Texts may still contain line breaks and control characters; the shell makes those visible. The module is
cheap to import.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from sidecar import shown
from sidecar.shown import count

Piece: TypeAlias = str | tuple[str, str] | tuple[str, str, str, int]
"""A text, or its role and the text. A place in a file also has the file's path (absolute, or relative to the workspace)
and the line, or 0."""
Line: TypeAlias = str | Sequence[Piece]

PLAIN, PLACE, STRONG, ASIDE, GOOD, BAD, FOUND = "", "place", "strong", "aside", "good", "bad", "found"


def file_place(path: str, first: int, last: int | str) -> Piece:
    """Returns `path:first-last`, which a terminal may show as a link to the first of these lines."""
    return PLACE, f"{shown.path(path)}:{first}-{last}", path, first


def pairs(values: Iterable[tuple[str, object]]) -> Iterator[Line]:
    """Yields a line `label value` for each pair."""
    for label, value in values:
        yield (ASIDE, f"{label:<10}"), f" {value}"


def upgrade_lines(chunks: int) -> Iterator[Line]:
    """Yields a line about the chunks that a model upgrade embedded; none for 0 chunks."""
    if chunks:
        yield f"{count(chunks, 'chunk')} embedded again with the better model, which answers from now on"


def marked(text: str, spans: Sequence[tuple[int, int]]) -> list[Piece]:
    """Splits `text` into pieces, with these spans as `FOUND`; the spans must be in order and must not overlap."""
    pieces: list[Piece] = []
    at = 0
    for start, end in spans:
        pieces += [text[at:start], (FOUND, text[start:end])]
        at = end
    return [*pieces, text[at:]]
