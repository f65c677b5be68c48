"""Training pairs from a history: a commit's subject or whole message, and the lines of a file that it changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .long_questions import asked_by
from .pairs import Pair
from .prose import query_from_subject
from .selection import is_test, language_for_training

_MOST_FILES = 5
_FILES_TAKEN = 2
_FILES_OF_MESSAGE = 3
_MOST_QUESTION = 3000
_LONGEST_PATCH = 400_000
MESSAGE = "%an%x03%B"
"""The format of `Mirror.log` for `pairs_of_messages`: the author's name and the whole message."""


def pairs_of_log(log: str) -> Iterator[Pair]:
    """Pairs from the output of `Mirror.log`. Routine commits and those with many files are left out."""
    for commit in log.split("\x01")[1:]:
        subject, _, patch = commit.partition("\x02")
        if query := query_from_subject(subject):
            yield from _pairs("commit", query, patch, _FILES_TAKEN)


def pairs_of_messages(log: str) -> Iterator[Pair]:
    """Pairs from the output of `Mirror.log` with `MESSAGE`: messages with a long body, as in long_questions."""
    for commit in log.split("\x01")[1:]:
        head, _, patch = commit.partition("\x02")
        author, _, message = head.partition("\x03")
        if len(patch) <= _LONGEST_PATCH and (asked := asked_by(message, author)):
            yield from _pairs("body", asked.question[:_MOST_QUESTION], patch, _FILES_OF_MESSAGE)


def _pairs(kind: str, query: str, patch: str, taken: int) -> Iterator[Pair]:
    """Pairs of the query with the lines of the first `taken` changed files; none if the patch has many files."""
    files = list(_files(patch))
    if len(files) <= _MOST_FILES:
        for language, changed in files[:taken]:
            if len(changed) > 80:
                yield Pair(kind, query, changed[:1500], language)


def _files(patch: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"(?m)^diff --git ", patch)[1:]:
        named = re.match(r"a/(\S+)", part)
        language = language_for_training(named[1]) if named else ""
        # A subject describes the code that changed. Pairing it with tests would teach the model to look for tests.
        if named and language and language != "markdown" and not is_test(named[1]):
            yield language, _after(part)


def _after(part: str) -> str:
    """The first two hunks as they read after the commit."""
    hunks = re.split(r"(?m)^@@[^@\n]*@@ ?", part)[1:3]
    rows = [row for hunk in hunks for row in _rows(hunk)]
    return "\n".join(row for row in rows if row.strip())


def _rows(hunk: str) -> Iterator[str]:
    first, *rest = hunk.split("\n")
    yield first
    yield from (row[1:] for row in rest if row[:1] in ("+", " "))
