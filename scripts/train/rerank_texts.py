"""The texts that a reranker reads: a chunk below the words of its path, with or without comments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sidecar.engine.ingest.embedding_text import path_text
from sidecar.parts.chunk import parse_file
from sidecar.parts.embed.tokens import split_identifiers
from sidecar.parts.languages import language_of

MOST_LINES = 70
_MOST_CHARS, _MOST_PATH = 2600, 160
_BLANKS, _RULE = re.compile(r"[ \t]+"), re.compile(r"([=\-*#/_~.])\1{3,}")
_COMMENT = re.compile(r"^\s*(//|#|/\*|\*|--|\"\"\"|'''|;|%|\"|'|@doc|@moduledoc|\{-|[A-Za-z(`\-<*])")
_AFTER_CODE = re.compile(r"[;{}()=]\s*(//|#|/\*|--)")
_TRAILING = re.compile(r"\s(?://|#|/\*|--)")


def passage_of(path: str, chunk: str) -> str:
    """The text of a chunk as a reranker reads it. Identifiers of the chunk are split later, with its tokens."""
    short = _RULE.sub(r"\1\1\1", _BLANKS.sub(" ", chunk[:_MOST_CHARS]))
    return f"{split_identifiers(path_text(path))[:_MOST_PATH]} : {short}"


class TreeTexts:
    """The lines of a tree's files. `read` returns the text of a path; empty if there is none."""

    def __init__(self, read: Callable[[str], str]) -> None:
        self._read = read
        self._lines: dict[str, list[str]] = {}
        self._commented: dict[str, frozenset[int]] = {}

    def lines(self, path: str) -> list[str]:
        """The lines of a file, without their ends."""
        if path not in self._lines:
            self._lines[path] = self._read(path).split("\n")
        return self._lines[path]

    def passage(self, path: str, first: int, last: int, *, bare: bool = False) -> str:
        """The passage of these lines, counted from 1; `bare` leaves out comments."""
        rows = self._bare(path, first, last) if bare else self.lines(path)[first - 1 : last]
        return passage_of(path, "\n".join(rows[:MOST_LINES]))

    def _bare(self, path: str, first: int, last: int) -> list[str]:
        commented = self._commented_lines(path)
        rows = enumerate(self.lines(path)[first - 1 : last], first)
        return [row for number, line in rows for row in (_without_comment(line) if number in commented else (line,))]

    def _commented_lines(self, path: str) -> frozenset[int]:
        """The numbers of the lines that hold a part of a comment."""
        if path not in self._commented:
            self._commented[path] = frozenset(_lines_of_comments(path, "\n".join(self.lines(path))))
        return self._commented[path]


def _lines_of_comments(path: str, text: str) -> Iterator[int]:
    for comment in parse_file(path, text, language_of(path) or "").comments:
        yield from range(comment.line, comment.line + comment.text.count("\n") + 1)


def _without_comment(line: str) -> tuple[str, ...]:
    """The code before a comment at the end of the line; nothing if the line is a comment alone."""
    if _COMMENT.match(line) and not _AFTER_CODE.search(line):
        return ()
    return (_TRAILING.split(line)[0],)
