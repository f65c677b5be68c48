"""Which words of a result a person should see first. Light: a surface that shows colours imports it, no other."""

from __future__ import annotations

from collections.abc import Callable


def hit_words(query: str) -> Callable[[str], list[tuple[int, int]]]:
    """Finds the words of a text that the query's words find, each as start and end in characters."""
    from sidecar.engine.search.excerpt import hit_words as find

    return find(query)
