"""Facts that follow from a path alone about how likely its file is the answer. They do not depend on the query and are
computed once per path."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidecar.locks import Rank, make_lock
from sidecar.parts.lexical.analyse import file_stem, is_nameless

_TEST_FOLDER = re.compile(
    r"/(?i:tests?|__tests__|__mocks__|__snapshots__|testdata|e2e|[a-z0-9]+[-_.]tests?|test[-_][a-z]+)/"
    r"|/[A-Za-z0-9.]*[a-z0-9.]Tests?/"
)
_TEST_NAME = re.compile(
    r"tests\.(?:py|rs|rb|js|ts|zig|ml)$|test[-_].*\.(?:py|rb|php|c|cc|cpp|cxx|js|lua|r|R|jl|ml|nim|el)$|conftest\.py$|.*\.bats$"
    r"|.*(?:_test|_spec|\.test|\.spec|-test|\.stories)\..+$|.*Tests?\.[A-Za-z]+$"
    r"|.*Spec\.(?:scala|kt|swift|hs|groovy|java|cs|m|js|ts)$"
)
"""Names of tests. A `test_` prefix marks tests in languages whose usual runners look for it; in others it marks code
that tests use."""
_TEST_SUPPORT = re.compile(r"/(?i:testing|specs?|fixtures?|mocks?|stubs?)/")
"""Folders that contain helpers of tests, or the product itself if that is about tests, so they count as half a test."""
_EXAMPLE = re.compile(
    r"/(?i:_?examples?|samples?|demos?|tutorials?|docs?(?:_src)?|man|bench(?:es|mark(?:s|ing)?)?|perf"
    r"|(?:[^/]*\.)?playground)/"
)
_FOREIGN = (
    r"/(?i:_?compat|legacy|deprecated|vendor(?:ed)?|third[-_]?party|external|generated|polyfills?"
    r"|single[-_]?(?:include|header)s?|[a-z]*_?amalgam(?:ated|ation))"
)
_FOREIGN_FOLDER, _FOREIGN_NAME = re.compile(_FOREIGN + "/"), re.compile(_FOREIGN + r"\.[A-Za-z]+$")
_PLATFORM = r"/(?i:win|win32|os390|zos|aix|solaris|sunos|haiku)"
_PLATFORM_FOLDER = re.compile(_PLATFORM + "/")
_PLATFORM_NAME = re.compile(_PLATFORM + r"\.[A-Za-z]+$|[-_.](?i:windows|win32|plan9|solaris|aix)\.[A-Za-z]+$")
"""Code for rarer platforms. Most people mean its counterparts for common ones if they name no platform."""
_NAMES_PLATFORM = re.compile(r"\b(win(dows|32)?|iocp|plan9|solaris|sunos|aix|z/?os|os390|haiku)\b", re.IGNORECASE)
_CATALOGUE = (
    r"|/(?i:locales?|i18n|l10n|lang|translations?|lc_messages|[a-z-]+\.lproj)/(?:.*/)?(?:[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?"
    r"|[^/]*messages?[^/]*)\.\w+$"
)
_CHANGES = (
    r"|/(?i:(?:change(?:s|logs?)?|history|news|release[-_ ]?notes)(?:[-_.]?v?\d[\w.]*)?"
    r"(?:\.(?:md|rst|txt|adoc|rdoc))?)$"
)
_FIXTURE = r"|/(?i:fixtures?|__fixtures__|__snapshots__|testdata|test[-_]data|cassettes)/"
_RECORD = re.compile(
    r"\.(?i:pot?|mo|xlf|xliff|ftl|arb|resx|lock|snap|sum)$"
    r"|/(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml)$"
    rf"|/(?i:changelog\.d|newsfragments|\.changeset|changelogs?)/{_CATALOGUE}{_CHANGES}{_FIXTURE}"
)
"""Catalogues of translations, lists of changes, lock files and fixtures: they repeat the code's words, or contain
data."""


_PROSE = frozenset(
    "text markdown rst asciidoc latex notebook json yaml toml ini csv xml diff gitignore requirements".split()
)
_MOSTLY = 0.75
"""If more than this share of the files is prose, settings or data, the workspace is about these."""


_OF_TEST = re.compile(r"^(?:tests?|specs?)|(?:tests?|specs?)$")


class PathFacts(NamedTuple):
    """The facts of a path, each from 0 to 1: whether the file is a test, an example, vendored or old code, code for a
    rarer platform, or a record (translations, changes, locked versions, fixtures)."""

    test: float
    example: float
    foreign: float
    platform: float
    record: float


@lru_cache(maxsize=1 << 14)
def path_facts(path: str) -> PathFacts:
    """Returns the facts of one relative path."""
    folder, _, name = path.rpartition("/")
    test, example, foreign, platform = _folder_facts(folder)
    return PathFacts(
        test=1.0 if _TEST_NAME.match(name) else test,
        example=example,
        foreign=1.0 if _FOREIGN_NAME.match(f"/{name}") else foreign,
        platform=1.0 if _PLATFORM_NAME.search(f"/{name}") else platform,
        record=1.0 if _RECORD.search(f"/{path}") else 0.0,
    )


@lru_cache(maxsize=1 << 12)
def _folder_facts(folder: str) -> tuple[float, float, float, float]:
    """Returns the values of `test`, `example`, `foreign` and `platform` that a folder alone gives its files."""
    inside = f"/{folder}/"
    test = 1.0 if _TEST_FOLDER.search(inside) else 0.5 if _TEST_SUPPORT.search(inside) else 0.0
    return (
        test,
        1.0 if _EXAMPLE.search(inside) else 0.0,
        1.0 if _FOREIGN_FOLDER.search(inside) else 0.0,
        1.0 if _PLATFORM_FOLDER.search(inside) else 0.0,
    )


class PathTable:
    """The facts of paths, by file row of one revision. Thread-safe.

    `facts` has the shape [files, PathFacts]; the other arrays have the shape [files]. `stems` has equal numbers for
    equal file stems; `barrels` is 1 for names such as `index.js` that say nothing about the content. Rows of these
    three are valid once `look_at` has been called for them. `prose` is 1 for text, settings and data. `in_code` flags
    the files of the code collection.
    """

    def __init__(
        self,
        paths: Sequence[str],
        languages: Sequence[str],
        in_code: NDArray[np.bool_],
        known: PathTable | None = None,
        shared: Sequence[tuple[int, int, int]] = (),
    ) -> None:
        """`shared` are the ranges of rows that `known`, the table of another revision, has too: (first here, first
        there, length)."""
        self._paths = paths
        self._lock = make_lock(Rank.PATH_TABLE)
        self._known = np.zeros(len(paths), bool)
        self.facts = np.zeros((len(paths), len(PathFacts._fields)), np.float32)
        self.stems = np.zeros(len(paths), np.uint32)
        self.barrels = np.zeros(len(paths), np.float32)
        self._in_prose = np.full(len(paths), -1, np.float32)
        if known is not None:
            self._take_over(known, shared)
        new = np.flatnonzero(self._in_prose < 0)
        self._in_prose[new] = np.fromiter((languages[row] in _PROSE for row in new.tolist()), np.float32, len(new))
        mostly = bool(in_code.any()) and self._in_prose[in_code].mean() > _MOSTLY
        self.prose = np.zeros_like(self._in_prose) if mostly else self._in_prose

    def _take_over(self, known: PathTable, shared: Sequence[tuple[int, int, int]]) -> None:
        with known._lock:
            for begin, other, count in shared:
                here, there = slice(begin, begin + count), slice(other, other + count)
                for name in ("_known", "facts", "stems", "barrels", "_in_prose"):
                    getattr(self, name)[here] = getattr(known, name)[there]

    def look_at(self, files: NDArray[np.int32]) -> None:
        """Fills in the rows of these files, unless they are filled in already."""
        with self._lock:
            new = files[~self._known[files]]
            if not len(new):
                return
            paths = [self._paths[file] for file in new.tolist()]
            self.facts[new] = [path_facts(path) for path in paths]
            self.stems[new] = [zlib.crc32(file_stem(path).casefold().encode()) for path in paths]
            self.barrels[new] = [is_nameless(path) for path in paths]
            self._known[new] = True


@lru_cache(maxsize=1 << 14)
def name_under_test(path: str) -> str:
    """Returns the name that a file and its test share: `cart` for `cart.py`, `test_cart.py`, `CartTests.cs` and
    `cart.spec.ts`."""
    stem = file_stem(path).replace("_", "").replace("-", "").replace(".", "").casefold()
    return _OF_TEST.sub("", stem) or stem


def names_platform(query: str) -> bool:
    """Whether a query names one of the rarer platforms."""
    return _NAMES_PLATFORM.search(query) is not None
