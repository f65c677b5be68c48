"""Which words of a result to highlight. Cheap to import; only surfaces that show colours need it."""

from __future__ import annotations

from collections.abc import Callable


def hit_words(query: str) -> Callable[[str], list[tuple[int, int]]]:
    """Returns a function that finds the words of a text that match the query, as pairs of start and end in
    characters."""
    from sidecar.engine.search.excerpt import hit_words as find

    return find(query)
