"""Decides which segments of the lexical index are merged after a commit, and by the end of a run; `stepped_merge.py`
decides it for the time when the workspace is at rest. If most of the index is dead, all are merged (`alive.py`).

Tiered merging, as in Lucene: when eight segments are of a similar size, they are merged, so that there are few segments
and a posting is rarely rewritten. Sizes are given as (number of the segment, number of its postings).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate

MERGE_FACTOR = 8
MERGE_BUDGET = 3_000_000
"""The maximum number of postings that a merge may rewrite unless it is forced: about a second on one core."""
SMALL = 300_000
"""The number of postings that the end of any run may rewrite to leave fewer segments: a tenth of a second on one
core."""
MUCH = 1_500_000
"""The maximum number of postings that the end of a run may rewrite if it has written as many: half a second on one
core."""
FEW_SEGMENTS = 3


def due_segments(sizes: Sequence[tuple[int, int]], budget: int = MERGE_BUDGET) -> list[int]:
    """Returns the segments to merge: the smallest ones, within the budget, of the lowest tier that has at least
    `MERGE_FACTOR` segments.

    The sizes in a tier differ by less than a factor of 8. Empty if no tier has enough segments, or if not even two fit
    the budget.
    """
    tiers: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for segment, postings in sizes:
        tiers[max(postings, 1).bit_length() // 3].append((segment, postings))
    for _, group in sorted(tiers.items()):
        if len(group) >= MERGE_FACTOR:
            group.sort(key=lambda row: row[1])
            within = sum(total <= budget for total in accumulate(postings for _, postings in group))
            if within > 1:
                return [segment for segment, _ in group[:within]]
    return []


def due_at_end(sizes: Sequence[tuple[int, int]], written: int) -> list[int]:
    """Returns the smallest segments that together have at most `SMALL` postings; empty if these are only a few. After
    a run that has written more, they may have as many postings as it wrote, up to `MUCH`, and two are enough."""
    group = sorted(sizes, key=lambda row: row[1])
    most, few = (SMALL, FEW_SEGMENTS) if written <= SMALL else (min(written + SMALL, MUCH), 1)
    within = sum(total <= most for total in accumulate(postings for _, postings in group))
    return [segment for segment, _ in group[:within]] if within > few else []
