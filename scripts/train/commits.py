"""Training pairs from a history: a commit's subject, and the lines of a file that it changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .pairs import Pair
from .prose import query_from_subject
from .selection import is_test, language_for_training

_MOST_FILES = 5
_FILES_TAKEN = 2


def pairs_of_log(log: str) -> Iterator[Pair]:
    """Pairs from the output of `Mirror.log`. Routine commits and those with many files are left out."""
    for commit in log.split("\x01")[1:]:
        subject, _, patch = commit.partition("\x02")
        query = query_from_subject(subject)
        files = list(_files(patch)) if query else []
        if not 0 < len(files) <= _MOST_FILES:
            continue
        for language, changed in files[:_FILES_TAKEN]:
            if len(changed) > 80:
                yield Pair("commit", query, changed[:1500], language)


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
