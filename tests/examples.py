"""How many examples a property test tries."""

from __future__ import annotations

from hypothesis import settings

_WHOLE = 100


def examples(count: int) -> int:
    """Returns `count`, or a quarter of it, at least 5, in the inner loop (hypothesis's profile `inner-loop`)."""
    return max(5, count * settings().max_examples // _WHOLE)
