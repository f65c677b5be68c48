"""Fixtures of the parts' tests."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from tests.parts.lexical_tables import prepare


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    """A database in memory with an empty lexical index."""
    connection = sqlite3.connect(":memory:")
    prepare(connection)
    yield connection
    connection.close()
