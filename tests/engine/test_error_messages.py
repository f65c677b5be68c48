"""A pasted error message finds the line that builds it, whatever values stand in its gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.engine.search.messages import message_words, said_in
from sidecar.engine.search.query import understand
from tests.engine.search_index import small_index

MESSAGES = (
    "Unknown style 'google'. Expected one of: Scala.js, IntelliJ",
    "HikariPool-1 - Connection is not available, request timed out after 30001ms",
    "error: recipe `build` has circular dependency `build -> test`",
    "Path already exists, skipping view creation: src/app/cats.zig",
    "thread 'main' panicked: Percentages should be between 0 and 100",
    "Database methods are not reentrant.",
)
OTHERS = (
    "how does the pool say that a connection is not available",
    "where are unknown styles rejected",
    "Fix the crash when the style is unknown",
    "make the timeout error say how long was waited",
    "ConnectionPool",
    "timed out",
    "connection pool of the server",
)


@pytest.mark.parametrize("text", MESSAGES)
def test_an_error_message_is_known_by_how_it_reads(text: str) -> None:
    assert understand(text).message == message_words(text) != ()


@pytest.mark.parametrize("text", OTHERS)
def test_questions_names_and_requests_for_a_change_are_no_messages(text: str) -> None:
    assert understand(text).message == ()


def test_a_message_has_at_most_forty_words_and_a_long_question_is_none() -> None:
    text = "cannot open: " + "x " * 60
    assert len(message_words(text)) == 40
    assert understand("cannot open the file\n\n\n" + "x " * 200).message == ()


def test_the_fixed_words_of_a_literal_count_whatever_stands_in_its_gaps() -> None:
    message = message_words("cannot open /tmp/a.zip: not a zip archive")
    exact = said_in('raise ValueError(f"cannot open {path}: not a {kind} archive")', message)
    percent = said_in("fail('cannot open %s: not a %s archive', path, kind)", message)
    assert exact == percent == pytest.approx(3 / 7)


def test_a_literal_may_go_on_in_the_next_line() -> None:
    message = message_words("the index is locked by another process: stop that first")
    together = said_in('log("the index is locked"\n    " by another process: stop that first")', message)
    assert together == 1
    assert 0 < said_in('log("the index is locked"\n\n\n    " by another process")', message) < together


def test_words_outside_literals_or_in_another_order_say_nothing() -> None:
    message = message_words("cannot open archive: wrong header")
    assert said_in("cannot = open(archive, wrong, header)", message) == 0
    assert said_in('"header wrong archive open cannot"', message) == 0
    assert said_in('"open wrong"', message) == 0
    assert said_in("", message) == 0


WORDY = (
    "class Connection:\n    # A connection is not available before it is opened: the request timed out.\n"
    "    # After a request timed out, the connection is not available to another request.\n"
    "    def available(self, request, connection):\n        return request.connection.available\n"
)
POOL = (
    "class Pool:\n    def __init__(self, size):\n        self.size = size\n        self.connections = []\n\n"
    + "".join(
        f"    def connection_{n}(self, request):\n        # the connection of a request\n"
        + "".join(f"        self.connections[{n}].request(request, {k})\n" for k in range(12))
        + f"        return self.connections[{n}]\n\n"
        for n in range(4)
    )
    + "    def give_up(self, since):\n        waited = now() - since\n"
    '        raise Gone(f"{self.name} - Connection is not available, request timed out after {waited}ms")\n'
)


def test_the_file_and_the_passage_that_build_a_message_come_first(tmp_path: Path) -> None:
    files = {"net/connection.py": WORDY, "net/available.py": WORDY, "net/pool.py": POOL}
    with small_index(tmp_path, files) as index:
        hits = index.search("HikariPool-1 - Connection is not available, request timed out after 30001ms").hits
    assert hits[0].path == "net/pool.py"
    assert "def give_up" in hits[0].content
