"""How paths are found by letters of them: the order that a person who types them expects."""

from __future__ import annotations

import pytest

from sidecar.engine.search.letters import best_fits

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
