"""Cuts Jupyter notebooks by cell. Only the sources of the cells count, not their outputs. Line numbers are those of the
`.ipynb` file.

JSON parsers do not report the position of a value, so one scan of the text finds the spans of the cells' `source`
values, which are then parsed as JSON. A text that is not a notebook of format 4 is cut into windows of lines.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeVar

from sidecar.model.files import Chunk, Comment, Definition, ParsedFile
from sidecar.parts.paths import storable

from .code import lines_only, parse_code
from .lines import MAX_CHUNKS, Lines
from .prose import parse_prose

# A string that does not end goes to the end of the text: it is read once, and not again from each quote in it.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)')
_TOKEN = re.compile(_STRING.pattern + r'|[{}\[\]:,]|[^\s"{}\[\]:,]+')
_OPEN, _CLOSE = frozenset("{["), frozenset("}]")
_KERNELS = {"ipython": "python", "python3": "python", "c++": "cpp", "c++17": "cpp", "ir": "r", "c#": "csharp"}


_Placed = TypeVar("_Placed", Chunk, Definition)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value in the JSON text. `path` holds the keys and indices that lead to it; `start` and `end` are its span in
    characters.
    """

    path: tuple[str | int, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. `kind` is its `cell_type`; `lines[i]` is the line of the file (1-based) that holds the i-th line of
    `source`.
    """

    kind: str
    source: str
    lines: tuple[int, ...]


def parse_notebook(text: str) -> ParsedFile:
    """Returns the chunks (of kind `cell`), definitions and comments of one notebook. Broken JSON is cut into windows of
    lines.
    """
    try:
        language, cells = read_cells(text)
    except (ValueError, TypeError, LookupError, RecursionError, AttributeError):
        return lines_only(Lines(text), "notebook")
    chunks: list[Chunk] = []
    definitions: list[Definition] = []
    comments: list[Comment] = []
    for cell in cells:
        parsed = _parse_cell(cell, language)
        chunks.extend(_move(chunk, cell) for chunk in parsed.chunks)
        definitions.extend(_move(item, cell) for item in parsed.definitions)
        comments.extend(replace(item, line=cell.lines[item.line - 1]) for item in parsed.comments)
    if len(chunks) > MAX_CHUNKS:
        chunks = _fewer(chunks)
    return ParsedFile("notebook", "notebook", tuple(chunks), tuple(definitions), tuple(comments))


def _parse_cell(cell: Cell, language: str) -> ParsedFile:
    """Parses a code cell in the kernel's language, and any other cell as Markdown."""
    parsed = parse_code(cell.source, language) if cell.kind == "code" else parse_prose(cell.source, "markdown")
    return replace(parsed, chunks=tuple(replace(chunk, kind="cell") for chunk in parsed.chunks))


def _move(item: _Placed, cell: Cell) -> _Placed:
    """Replaces line numbers within the cell by those of the file."""
    return replace(item, start_line=cell.lines[item.start_line - 1], end_line=cell.lines[item.end_line - 1])


def _fewer(chunks: list[Chunk]) -> list[Chunk]:
    """Joins neighbouring chunks until there are at most MAX_CHUNKS."""
    step = -(-len(chunks) // MAX_CHUNKS)
    return [_joined(chunks[at : at + step]) for at in range(0, len(chunks), step)]


def _joined(chunks: list[Chunk]) -> Chunk:
    """Returns one chunk with the text and names of several neighbours."""
    names = tuple(dict.fromkeys(name for chunk in chunks for name in chunk.names))
    return replace(
        chunks[0], end_line=chunks[-1].end_line, text="\n\n".join(chunk.text for chunk in chunks), names=names
    )


def read_cells(text: str) -> tuple[str, list[Cell]]:
    """Returns the kernel's language and the cells whose source is not blank.

    Raises ValueError if the text has no list of cells. Malformed JSON may also raise TypeError, LookupError,
    AttributeError or RecursionError.
    """
    starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))[:-1]
    kinds: dict[int, str] = {}
    sources: dict[int, _Value] = {}
    metadata: object = {}
    seen = False
    for value in _values(text):
        match value.path:
            case ("metadata",):
                metadata = json.loads(text[value.start : value.end])
            case ("cells",):
                seen = True
            case ("cells", int(number), "cell_type"):
                kinds[number] = str(json.loads(text[value.start : value.end]))
            case ("cells", int(number), "source"):
                sources[number] = value
    if not seen:
        raise ValueError("no list of cells")
    cells = [_cell(text, starts, kinds.get(number, "code"), sources[number]) for number in sorted(sources)]
    return _kernel_language(metadata), [cell for cell in cells if cell.source.strip()]


def _kernel_language(metadata: object) -> str:
    """Returns the language that the metadata names, by sidecar's name for it; `python` if it names none."""
    if not isinstance(metadata, dict):
        return "python"
    found = (metadata.get("language_info") or {}).get("name") or (metadata.get("kernelspec") or {}).get("language")
    name = str(found or "python").lower()
    return _KERNELS.get(name, name)


def _cell(text: str, starts: list[int], kind: str, value: _Value) -> Cell:
    """Returns a cell from the value of its source: one string, or a list of strings, each usually on a line of its own
    in the file.
    """
    parts: list[str] = []
    lines = [bisect_right(starts, value.start)]
    for match in _STRING.finditer(text, value.start, value.end):
        # JSON can spell a lone surrogate, which cannot be stored as UTF-8.
        part = storable(str(json.loads(match.group()))).replace("\r\n", "\n").replace("\r", "\n")
        line = bisect_right(starts, match.start())
        if not parts or parts[-1].endswith("\n"):
            lines[-1] = line
        lines.extend([line] * part.count("\n"))
        parts.append(part)
    return Cell(kind, "".join(parts), tuple(lines))


@dataclass(slots=True)
class _Container:
    """An object or array that the scan has entered. `at` is the key or index of the current member; `wants_key`: a key
    comes next.
    """

    start: int
    is_object: bool
    at: str | int
    wants_key: bool


def _values(text: str) -> Iterator[_Value]:
    """Yields every value of the JSON text that is at most three levels deep, in the order in which the values end."""
    opened: list[_Container] = []
    for token in _TOKEN.finditer(text):
        word, start = token.group(), token.start()
        if word in _OPEN:
            opened.append(_Container(start, word == "{", "" if word == "{" else 0, word == "{"))
            continue
        if word == ":":
            continue
        if word == ",":
            _next_member(opened[-1])
            continue
        if word in _CLOSE:
            start = opened.pop().start
        elif opened and opened[-1].wants_key:
            opened[-1].at, opened[-1].wants_key = (json.loads(word) if len(opened) <= 3 else ""), False
            continue
        if 0 < len(opened) <= 3:
            yield _Value(tuple(container.at for container in opened), start, token.end())


def _next_member(container: _Container) -> None:
    """Moves on to the next index of an array, or to the next key of an object."""
    if isinstance(container.at, int):
        container.at += 1
    else:
        container.wants_key = True
