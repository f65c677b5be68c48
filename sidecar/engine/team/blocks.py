"""Writes and reads a part of a team snapshot line by line. Each line is a block of rows as JSON, so that all rows are
never in memory at once. What is read comes from elsewhere: the length of a line and the number of its values are
limited before it is parsed, and the caller checks its content."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from sidecar.errors import SnapshotUnusable
from sidecar.parts.lexical.transfer import MOST_TERMS

HASH_BYTES = 16
_ROWS = 10_000
_TEXTS = 200
_MOST_LINE = 16 * 1024**2
"""The longest line that was measured has 6.8 MB, in an index of 837,000 chunks."""
_VALUE = rb'(?:"(?:[^"\\]++|\\.)*+"|-?\d{1,20}+(?:\.\d{1,20}+)?|null|true|false|\{\})'
_LIST = rb"\[(?:%b(?:, ?|(?=\]))){0,%d}+\]" % (_VALUE, max(_ROWS, MOST_TERMS))
_SHAPE = re.compile(rb'(?:%b|\{(?:"\w{1,20}": ?%b(?:, ?|(?=\}))){0,20}+\})\s*+' % (_LIST, _LIST), re.DOTALL)
"""A list of at most as many values as a block has rows or terms, or an object of such lists. What is parsed can take
many times the space of its text: an empty list has 2 bytes there and 64 in memory. Every repetition is possessive, so a
line is read once."""


class RowsWriter:
    """Writes rows as blocks of columns. To be used in a `with` block."""

    def __init__(self, folder: Path, part: str, columns: Sequence[str]) -> None:
        self._out = (folder / part).open("wb")
        self._columns = columns
        self._rows: list[Sequence[Any]] = []

    def __enter__(self) -> RowsWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._out:
            if kind is None:
                self._flush()

    def add(self, row: Sequence[Any]) -> None:
        """Writes a row, whose values are parallel to the columns."""
        self._rows.append(row)
        if len(self._rows) == _ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._write(self._rows)
            self._rows.clear()

    def _write(self, some: Sequence[Sequence[Any]]) -> None:
        """Writes these rows as one line, or as several if that would be too long to be read."""
        columns = zip(*some, strict=True)
        line = _line(dict(zip(self._columns, map(list, columns), strict=True)))
        if len(line) <= _MOST_LINE or len(some) == 1:
            self._out.write(line)
        else:
            half = len(some) // 2
            self._write(some[:half])
            self._write(some[half:])


class TextsWriter:
    """Writes texts in the form that `Texts` reads. To be used in a `with` block."""

    def __init__(self, folder: Path, part: str) -> None:
        self._out = (folder / part).open("wb")
        self._texts: list[str] = []

    def __enter__(self) -> TextsWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._out:
            if kind is None and self._texts:
                write_line(self._out, self._texts)

    def add(self, text: str) -> None:
        """Writes one text."""
        self._texts.append(text)
        if len(self._texts) == _TEXTS:
            write_line(self._out, self._texts)
            self._texts.clear()


def write_line(out: BinaryIO, value: object) -> None:
    """Writes one line of JSON."""
    out.write(_line(value))


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read_lines(folder: Path, part: str) -> Iterator[Any]:
    """Yields the value of each line of a part. Raises SnapshotUnusable."""
    with (folder / part).open("rb") as source:
        while line := source.readline(_MOST_LINE):
            yield _value(line, part)


def _value(line: bytes, part: str) -> Any:
    if not _SHAPE.fullmatch(line):
        raise wrong(part)
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise wrong(part) from error


class Texts:
    """The texts of a part, by number from 0. They stay on disk, except those of the line that was read last. The
    constructor raises SnapshotUnusable unless there are `count` texts."""

    def __init__(self, folder: Path, part: str, count: int) -> None:
        self._file, self._part = folder / part, part
        self._starts, self._line, self._texts = array("q", [0]), -1, list[str]()
        left = count
        with self._file.open("rb") as source:
            while line := source.readline(_MOST_LINE):
                texts = _value(line, part)
                if not isinstance(texts, list) or len(texts) != min(left, _TEXTS):
                    raise wrong(part)
                if not all(isinstance(text, str) for text in texts):
                    raise wrong(part)
                left -= len(texts)
                self._starts.append(self._starts[-1] + len(line))
        if left:
            raise wrong(part)

    def __getitem__(self, number: int) -> str:
        wanted, place = divmod(number, _TEXTS)
        if wanted != self._line:
            with self._file.open("rb") as source:
                source.seek(self._starts[wanted])
                self._texts = _value(source.readline(_MOST_LINE), self._part)
            self._line = wanted
        return self._texts[place]


class Hashes(Sequence[bytes]):
    """Hashes of `HASH_BYTES` each, packed one after the other."""

    def __init__(self, packed: bytes) -> None:
        self.packed = packed

    def __len__(self) -> int:
        return len(self.packed) // HASH_BYTES

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            return [self[place] for place in range(*which.indices(len(self)))]
        place = range(len(self))[which] * HASH_BYTES
        return self.packed[place : place + HASH_BYTES]

    def __add__(self, more: Hashes) -> Hashes:
        return Hashes(self.packed + more.packed)


def wrong(part: str) -> SnapshotUnusable:
    """The error about a part that is not valid."""
    return SnapshotUnusable(f"Its {part} are not as a snapshot has them.")
