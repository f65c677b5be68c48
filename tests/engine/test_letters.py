"""How paths are found by letters of them: the order that a person who types them expects."""

from __future__ import annotations

import re
from typing import Any, SupportsIndex

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sidecar.engine.search.letters import best_fits
from tests.examples import examples

PATHS = [
    "src/app.py",
    "src/middleware/gzip.py",
    "src/middleware/__init__.py",
    "src/staticfiles.py",
    "src/RoutingTable.py",
    "docs/routing-table.md",
    "tests/middleware/test_gzip.py",
    "services/billing/approve_billing_0.py",
    "a/very/long/path/to/some/app/thing.py",
]


def best(typed: str, limit: int = 10) -> list[str]:
    return [fit.path for fit in best_fits(PATHS, typed, limit)[0]]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("gzip", "src/middleware/gzip.py"),
        ("GZIP", "src/middleware/gzip.py"),
        ("mwgz", "src/middleware/gzip.py"),
        ("stfi", "src/staticfiles.py"),
        ("rt", "src/RoutingTable.py"),
        ("appbill", "services/billing/approve_billing_0.py"),
        ("billing/approve", "services/billing/approve_billing_0.py"),
        ("gzip test", "tests/middleware/test_gzip.py"),
        ("app.py", "src/app.py"),
        ("src\\app", "src/app.py"),
    ],
)
def test_letters_in_their_order_find_the_path_that_is_meant_first(typed: str, expected: str) -> None:
    assert best(typed)[0] == expected


def test_a_path_without_one_of_the_letters_does_not_fit() -> None:
    assert best("gzipx") == []
    assert best("zg") == []


def test_nothing_fits_where_nothing_is_typed() -> None:
    assert best_fits(PATHS, "  ", 5) == ([], 0)


def test_the_number_of_fitting_paths_is_before_the_limit() -> None:
    fits, total = best_fits(PATHS, "py", 2)
    assert (len(fits), total) == (2, 8)


def test_the_order_does_not_depend_on_the_order_of_the_paths() -> None:
    assert best_fits(reversed(PATHS), "md", 9) == best_fits(PATHS, "md", 9)


@pytest.mark.parametrize("typed", ["İ", "ß", "[*", "(?:", "\u200d"])
def test_any_text_may_be_typed(typed: str) -> None:
    paths = ["İstanbul.py", "straße.py", "a[*].py", "(?:x).py"]
    assert best_fits(paths, typed, 5)[1] <= len(paths)


class Watched(str):
    """A path that counts the letters that are looked at in it, whatever is made of it."""

    __slots__ = ()
    looked_at = 0

    def casefold(self) -> Watched:
        return Watched(super().casefold())

    def find(self, *wanted: Any) -> int:
        found = super().find(*wanted)
        Watched.looked_at += (found if found >= 0 else len(self)) - (wanted[1] if len(wanted) > 1 else 0) + 1
        return found

    def rfind(self, *wanted: Any) -> int:
        found = super().rfind(*wanted)
        Watched.looked_at += (wanted[2] if len(wanted) > 2 else len(self)) - max(found, 0) + 1
        return found

    def __getitem__(self, which: SupportsIndex | slice) -> str:
        Watched.looked_at += 1
        return super().__getitem__(which)


@pytest.mark.parametrize(
    ("letters", "path"),
    [
        ("a" * 20 + "z", "a" * 100),
        ("ab" * 500 + "z", "ab" * 2000),
        ("a" * 2000 + "b", "a" * 4000 + "b"),
        ("a" * 2000 + "b", "/a" * 2000 + "b"),
        ("a" * 2000 + "b", "/a" * 1000 + "/" + "a" * 2000 + "b"),
        ("ab" * 1000, "a/b" * 1300),
    ],
)
def test_letters_that_fit_in_countless_ways_take_as_many_steps_as_there_are_letters(letters: str, path: str) -> None:
    Watched.looked_at = 0
    fits, _ = best_fits([Watched(path)], letters, 5)
    assert bool(fits) == (letters[-1] in path)
    assert 0 < Watched.looked_at <= 10 * (len(letters) + len(path))


def fits_by_trying(path: str, typed: str) -> bool:
    """The definition: every word's letters are in the path in their order, with anything in between."""
    words = typed.replace("\\", "/").casefold().split()
    patterns = [re.compile(".*?".join(map(re.escape, word)), re.DOTALL) for word in words]
    return bool(words) and all(pattern.search(path.casefold()) for pattern in patterns)


_PATHS = st.lists(st.text("aAbB/_.ßİ0", min_size=1, max_size=12), min_size=1, max_size=8)


@given(paths=_PATHS, typed=st.text("aAbB/\\ .ßi", max_size=6))
@example(paths=["ab/b_Ab"], typed="abb")
@settings(max_examples=examples(400), deadline=None)
def test_those_paths_fit_in_which_any_choice_of_letters_fits(paths: list[str], typed: str) -> None:
    fits, total = best_fits(paths, typed, 100)
    assert sorted(fit.path for fit in fits) == sorted(path for path in paths if fits_by_trying(path, typed))
    assert total == len(fits)
