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
_PLATFORM = re.compile(
    r"(^|/)(win|win32|os390|zos|aix|solaris|sunos|haiku)(/|\.[a-z]+$)"
    r"|[-_.](windows|win32|plan9|solaris|aix)\.[a-z]+$",
    re.IGNORECASE,
)
"""Twins of the code that most people run and mean when they name no platform."""
_NAMES_PLATFORM = re.compile(r"\b(win(dows|32)?|iocp|plan9|solaris|sunos|aix|z/?os|os390|haiku)\b", re.IGNORECASE)


class PathFacts(NamedTuple):
    """Each 1.0 or 0.0."""

    test: float
    example: float
    foreign: float
    declaration: float
    platform: float


@lru_cache(maxsize=1 << 14)
def path_facts(path: str) -> PathFacts:
    """Tests, examples, vendored or old code, declarations without code, code for one of the rarer platforms."""
    patterns = (_TEST, _EXAMPLE, _FOREIGN, _DECLARATION, _PLATFORM)
    return PathFacts(*(float(p.search(path) is not None) for p in patterns))


def names_platform(query: str) -> bool:
    """Whether a query asks for one of the platforms that are otherwise held to be the rarer twin."""
    return _NAMES_PLATFORM.search(query) is not None
