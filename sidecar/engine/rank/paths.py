"""What a path alone says about how likely its file is the answer. Query-independent, looked at once."""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidecar.parts.lexical.analyse import file_stem, is_nameless

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


class PathTable:
    """What paths say, by file row, of one revision: filled in when a file is first a candidate. Thread-safe.

    `facts` [files, PathFacts]; `stems`: equal numbers for equal names; `barrels`: names that say nothing.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._lock = threading.Lock()
        self._known = np.zeros(len(paths), bool)
        self.facts = np.zeros((len(paths), len(PathFacts._fields)), np.float32)
        self.stems = np.zeros(len(paths), np.uint32)
        self.barrels = np.zeros(len(paths), np.float32)

    def look_at(self, files: NDArray[np.int32]) -> None:
        with self._lock:
            for file in files[~self._known[files]].tolist():
                path = self._paths[file]
                self.facts[file] = path_facts(path)
                self.stems[file] = zlib.crc32(file_stem(path).casefold().encode())
                self.barrels[file] = is_nameless(path)
            self._known[files] = True


def names_platform(query: str) -> bool:
    """Whether a query asks for one of the platforms that are otherwise held to be the rarer twin."""
    return _NAMES_PLATFORM.search(query) is not None
