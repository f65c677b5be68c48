"""Keeps the hits of a page within a token budget. The hit that exceeds it is cut where a definition or a line ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sidecar.model.answers import Hit
from sidecar.model.files import CHARS_PER_TOKEN

LEAST_LINES = 3
"""A hit after the first is cut only if at least this many of its lines fit; fewer would be useless. Else it is left
out."""
Ends = Callable[[Hit], Sequence[int]]
"""The lines of a hit on which a definition ends, ascending."""


def within_budget(hits: Sequence[Hit], token_budget: int, ends: Ends) -> tuple[Hit, ...]:
    """Returns the leading hits that fit into `token_budget` tokens of CHARS_PER_TOKEN characters; the last of them is
    cut if it does not fit whole. The result always has at least one line of the first hit. A budget of 0 means no
    limit."""
    if token_budget <= 0:
        return tuple(hits)
    kept: list[Hit] = []
    left = token_budget * CHARS_PER_TOKEN
    for hit in hits:
        if len(hit.content) <= left:
            kept.append(hit)
            left -= len(hit.content)
            continue
        lines = _lines_within(hit.content, left)
        if lines >= LEAST_LINES or not kept:
            kept.append(_cut(hit, max(1, lines), ends(hit)))
        break
    return tuple(kept)


def _lines_within(content: str, room: int) -> int:
    """Returns how many whole lines of `content`, with their line ends, fit into `room` characters."""
    count = 0
    for line in content.split("\n"):
        room -= len(line) + 1
        if room < -1:  # the last line that is shown needs no line end
            break
        count += 1
    return count


def _cut(hit: Hit, room: int, ends: Sequence[int]) -> Hit:
    """Returns the hit cut to its first `room` lines. If a definition ends in the second half of these, the cut is after
    the last one that does. A hit that does not have more lines stays as it is."""
    lines = hit.content.split("\n")
    if room >= len(lines):
        return hit
    whole = [end - hit.start_line + 1 for end in ends if room < 2 * (end - hit.start_line + 1) <= 2 * room]
    kept = max(whole, default=room)
    last = hit.start_line + kept - 1
    if last >= hit.end_line:
        return hit
    return replace(hit, content="\n".join(lines[:kept]), end_line=last, left_out=(last + 1, hit.end_line))
