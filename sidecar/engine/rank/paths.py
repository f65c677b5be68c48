"""What a path alone says about how likely its file is the answer. Query-independent, cached by path."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_TEST = re.compile(
    r"(^|/)(tests?|specs?|testing|__tests__|__mocks__|testdata|fixtures?|mocks?|stubs?|[a-z]+[-_.]tests?|test[-_][a-z]+)/"
    r"|(^|/)(test_[^/]*|conftest\.py|[^/]*(_test|_spec|\.test|\.spec|-test|\.stories)\.[^/]+|[^/]*(Tests?|Spec)\.[A-Za-z]+)$"
)
_EXAMPLE = re.compile(
    r"(^|/)(_?examples?|samples?|demos?|tutorials?|docs?(_src)?|bench(mark(s|ing)?)?|perf|playground)/", re.IGNORECASE
)
_FOREIGN = re.compile(
    r"(^|/)(compat|_compat|legacy|deprecated|vendor(ed)?|third[-_]?party|external|generated|polyfills?)(/|\.[a-z]+$)",
    re.IGNORECASE,
)
_DECLARATION = re.compile(r"\.(d\.[cm]?ts|pyi)$")


class PathFacts(NamedTuple):
    """Each 1.0 or 0.0."""

    test: float
    example: float
    foreign: float
    declaration: float


@lru_cache(maxsize=1 << 14)
def path_facts(path: str) -> PathFacts:
    """Tests, examples, vendored or old code, declarations without code."""
    return PathFacts(*(float(p.search(path) is not None) for p in (_TEST, _EXAMPLE, _FOREIGN, _DECLARATION)))
