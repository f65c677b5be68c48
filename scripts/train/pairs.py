"""Training pairs from one file: a text that a person might search with, and code or prose that answers it.

The product's own parser finds definitions, comments and chunks, so that training texts look like searched ones.
Repositories are read in `repositories`; scripts/train/make-pairs limits the number of pairs.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from sidecar.engine.ingest.embedding_text import body_text
from sidecar.model.files import Chunk, Comment, Definition, ParsedFile
from sidecar.parts.chunk import parse_file

from .prose import query_from_comment

MOST_DOCUMENT = 2200
_LEAST_DOCUMENT = 40
NAMED = frozenset({"class", "type", "function", "method", "constructor", "macro", "module", "namespace"})
_PROSE = frozenset({"markdown", "restructuredtext", "asciidoc"})
_DOCSTRING = re.compile(r"[rRuUbBfF]*(?:\"\"\"|'''|\"|')")


@dataclass(frozen=True)
class Pair:
    """`kind`: doc, name, comment, file, path, commit, body or section."""

    kind: str
    query: str
    document: str
    language: str


def pairs_of(path: str, text: str, language: str, chance: random.Random) -> Iterator[Pair]:
    """All pairs of one file, without those whose query or document is too short."""
    parsed = parse_file(path, text, language)
    found = _of_prose(parsed) if language in _PROSE else _of_code(path, text, parsed, chance)
    for kind, query, answer in found:
        document = answer.strip("\n")[:MOST_DOCUMENT]
        if len(query.strip()) >= 3 and len(document) >= _LEAST_DOCUMENT:
            yield Pair(kind, query.strip(), document, "markdown" if language in _PROSE else language)


def _of_prose(parsed: ParsedFile) -> Iterator[tuple[str, str, str]]:
    for chunk in parsed.chunks[:12]:
        heading, _, body = chunk.text.partition("\n")
        title = re.sub(r"[`*#]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip()
        if chunk.names and len(body) > 150 and not re.match(r"v?\d", title):
            yield "section", " ".join((*chunk.enclosing[-1:], title)), body


def _of_code(path: str, text: str, parsed: ParsedFile, chance: random.Random) -> Iterator[tuple[str, str, str]]:
    lines = text.split("\n")
    places = Comments(parsed)
    for definition in parsed.definitions:
        if definition.kind in NAMED:
            yield from _of_definition(definition, lines, places, chance)
    for chunk in parsed.chunks:
        yield from _of_chunk(chunk, places, chance)
    chunks = [chunk for chunk in parsed.chunks if len(chunk.text) > 200]
    if not chunks:
        return
    pure = PurePosixPath(path)
    asked = pure.stem if chance.random() < 0.5 else " ".join((*pure.parts[-3:-1], pure.stem))
    yield "path", asked, body_text(chance.choice(chunks))
    if parsed.comments and parsed.comments[0].line <= 30 and (query := query_from_comment(parsed.comments[0].text)):
        chosen = chance.choice(chunks)
        yield "file", query, _without(body_text(chosen), parsed.comments[0])


def _of_definition(
    definition: Definition, lines: list[str], places: Comments, chance: random.Random
) -> Iterator[tuple[str, str, str]]:
    body = "\n".join(lines[definition.start_line - 1 : definition.end_line])
    comment = places.about(definition)
    bare = _without(body, comment) if comment else body
    if len(bare.split("\n")) >= 2:
        hidden = chance.random() < 0.5
        # In half of the bodies the name is removed, because otherwise the model would learn to match only the name.
        yield "name", definition.name, bare.replace(definition.name, " ") if hidden else bare
    if comment and (query := query_from_comment(comment.text)):
        yield "doc", query, f"{definition.container.replace('.', ' ')}\n{bare}" if definition.container else bare


def _of_chunk(chunk: Chunk, places: Comments, chance: random.Random) -> Iterator[tuple[str, str, str]]:
    """At most one pair per chunk: a comment inside it is the query, and the chunk as the product embeds it, without
    that comment, the document."""
    inside = places.within(chunk.start_line, chunk.end_line)
    chance.shuffle(inside)
    for comment in inside[:3]:
        if query := query_from_comment(comment.text):
            yield "comment", query, _without(body_text(chunk), comment)
            return


def _without(text: str, comment: Comment) -> str:
    """Returns the text without the lines of the comment, whatever their indentation."""
    gone = {line.strip() for line in comment.text.split("\n") if line.strip()}
    return "\n".join(line for line in text.split("\n") if line.strip() not in gone)


class Comments:
    """A file's comments, found by line."""

    def __init__(self, parsed: ParsedFile) -> None:
        self._all = parsed.comments
        self._ending = {comment.line + comment.text.count("\n"): comment for comment in parsed.comments}
        self._starts = sorted({definition.start_line for definition in parsed.definitions})

    def about(self, definition: Definition) -> Comment | None:
        """The comment directly above the definition, else the docstring at the top of its body before any inner
        definition; None without either."""
        if above := self._ending.get(definition.start_line - 1):
            return above
        after = bisect_right(self._starts, definition.start_line)
        end = self._starts[after] - 1 if after < len(self._starts) else definition.end_line
        for comment in self.within(definition.start_line, min(end, definition.end_line, definition.start_line + 15)):
            if _DOCSTRING.match(comment.text):
                return comment
        return None

    def within(self, first: int, last: int) -> list[Comment]:
        return [comment for comment in self._all if first <= comment.line <= last]
