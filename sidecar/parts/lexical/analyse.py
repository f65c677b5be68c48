"""Computes what one parsed file contributes to the lexical index: terms and their counts, without ids and without a
database.

The functions are pure and the results picklable, so that this can run in another process. Chunk bodies and file fields
are kept apart, because ranking weighs them as BM25F does (Robertson, Zaragoza and Taylor, "Simple BM25 Extension to
Multiple Weighted Fields", 2004). A file's body is not a field: it is the sum of its chunks' bodies.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from itertools import chain, count
from pathlib import PurePosixPath
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sidecar.model.files import Chunk, Comment, Definition, ParsedFile
from sidecar.model.quick_pickle import quickly_pickled
from sidecar.parts.bags import Bags, counted, in_groups, joined, occurrences
from sidecar.parts.encoded import without_encoded, without_encoded_once
from sidecar.parts.lexical.tokens import terms_of, words

LEXICAL_VERSION = 2
"""Raise this when the same file gives other terms, or when the tables change. An index of another version is rebuilt.
"""

_Text = TypeVar("_Text", Chunk, Comment)

_HEAD_CHARS = 1500
_SIGNATURE_CHARS = 20_000
_COMMENT_CHARS = 100_000
_DIRECTORIES = 3
_MOST_COUNTED = 255
_WORDS_AT_ONCE = 1 << 17
"""About a megabyte of text: a file that settings allow to be a hundred times as long must not take all memory."""
_SIGNED_KINDS = frozenset(("class", "type", "function", "method", "constructor", "macro"))
_NAMELESS_STEMS = frozenset(("index", "__init__", "mod", "lib", "init", "main", "default", "package"))
"""Stems that say what role a file has in its folder and not what is in it. The name of the folder serves as the name of
such a file. """


class Field(IntEnum):
    """The fields of a file, in the order in which they are stored."""

    PATH = 0
    STEM = 1
    DIRECTORIES = 2
    NAMES = 3
    SIGNATURES = 4
    COMMENTS = 5
    HEAD = 6


FIELDS = len(Field)


@dataclass(frozen=True, slots=True)
class Counts:
    """Bags of terms, one after the other. Bag i is `terms[starts[i]:starts[i+1]]`, and the same slice of `tfs` has
    their counts, at most 255. `starts` has one item more than there are bags.
    """

    terms: NDArray[np.uint32]
    tfs: NDArray[np.uint8]
    starts: NDArray[np.uint32]


@quickly_pickled
@dataclass(frozen=True, slots=True)
class DefinitionEntry:
    """A definition and the position, among the file's chunks, of the chunk where it starts."""

    definition: Definition
    chunk: int


@dataclass(frozen=True, slots=True)
class FileTerms:
    """The terms and definitions of one file. The term numbers in `Counts` are positions in `vocabulary`.

    `bodies` and `names` have one bag per chunk, `fields` has one per `Field`. `body_lengths` [chunks] and
    `field_lengths` [FIELDS] are lengths in terms, before counts are clipped.
    """

    path: str
    vocabulary: tuple[str, ...]
    bodies: Counts
    names: Counts
    fields: Counts
    body_lengths: NDArray[np.uint32]
    field_lengths: NDArray[np.uint32]
    definitions: tuple[DefinitionEntry, ...]


def analyse(path: str, parsed: ParsedFile) -> FileTerms:
    """Returns the terms of every chunk and every field of one file."""
    parsed = _without_encoded(parsed)
    context = words(path_context(path))
    bodies = (_body_words(chunk) + context for chunk in parsed.chunks)
    names = (words(" ".join(chunk.names)) for chunk in parsed.chunks)
    fields = (words(text) for text in _field_texts(path, parsed))
    chunks = len(parsed.chunks)
    bags, vocabulary = _count_terms(chain(bodies, names, fields))
    lengths = bags.lengths.astype(np.uint32)
    return FileTerms(
        path=path,
        vocabulary=vocabulary,
        bodies=_counts(bags, 0, chunks),
        names=_counts(bags, chunks, 2 * chunks),
        fields=_counts(bags, 2 * chunks, 2 * chunks + FIELDS),
        body_lengths=lengths[:chunks],
        field_lengths=lengths[2 * chunks :],
        definitions=tuple(_place(parsed.definitions, parsed.chunks)),
    )


def _without_encoded(parsed: ParsedFile) -> ParsedFile:
    """Returns the same chunks and comments without encoded data in their texts."""
    chunks = tuple(_with_text(chunk, without_encoded(chunk.text)) for chunk in parsed.chunks)
    comments = tuple(_with_text(comment, without_encoded_once(comment.text)) for comment in parsed.comments)
    return replace(parsed, chunks=chunks, comments=comments)


def _with_text(item: _Text, text: str) -> _Text:
    return item if text is item.text else replace(item, text=text)


def _body_words(chunk: Chunk) -> list[str]:
    """Returns the words of a chunk's text and of the names around it."""
    return words(f"{' '.join(chunk.enclosing)} {chunk.text}" if chunk.enclosing else chunk.text)


def _count_terms(bags: Iterable[Sequence[str]]) -> tuple[Bags, tuple[str, ...]]:
    """Counts the terms of each bag of words. Returns the bags with the numbers of their terms, which are the positions
    of these in the vocabulary, and the vocabulary."""
    vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
    parts = []
    for group in in_groups(bags, _WORDS_AT_ONCE):
        found = occurrences(group)
        terms = list(map(terms_of, found.words))
        numbers = np.fromiter(map(vocabulary.__getitem__, chain.from_iterable(terms)), np.int64)
        sizes = np.fromiter(map(len, terms), np.int64, len(terms))
        parts.append(counted(found.word, found.bag, len(group), numbers, sizes))
    return joined(parts), tuple(vocabulary)


def _counts(bags: Bags, first: int, end: int) -> Counts:
    """Returns the bags from `first` to before `end`."""
    here = slice(bags.starts[first], bags.starts[end])
    return Counts(
        bags.items[here].astype(np.uint32),
        np.minimum(bags.counts[here], _MOST_COUNTED).astype(np.uint8),
        (bags.starts[first : end + 1] - bags.starts[first]).astype(np.uint32),
    )


@lru_cache(maxsize=1 << 15)
def is_nameless(path: str) -> bool:
    """Whether a file's name says what role it has in its folder and not what is in it: `index.js`, `mod.rs`,
    `__init__.py`."""
    return path.rpartition("/")[2].partition(".")[0].casefold() in _NAMELESS_STEMS


@lru_cache(maxsize=1 << 15)
def file_stem(path: str) -> str:
    """Returns the name by which people look for a file: its name up to the first dot, or for `mod.rs`, `index.js` and
    the like the folder's name.
    """
    folders, _, name = path.rpartition("/")
    stem = name.partition(".")[0] or name
    return folders.rpartition("/")[2] or stem if stem.casefold() in _NAMELESS_STEMS else stem


def path_context(path: str) -> str:
    """Returns the words that every chunk of a file gets from its path: the stem twice and the last three folders
    once."""
    stem = file_stem(path)
    return f"{stem} {stem} {_directories(path)}"


def _directories(path: str) -> str:
    """Returns the names of the file's last three folders, outermost first."""
    return " ".join(PurePosixPath(path).parts[:-1][-_DIRECTORIES:])


def _field_texts(path: str, parsed: ParsedFile) -> tuple[str, ...]:
    """Returns the text of each field, in the order of `Field`."""
    name = PurePosixPath(path).name
    signatures = (d.signature for d in parsed.definitions if d.kind in _SIGNED_KINDS)
    return (
        path,
        f"{file_stem(path)} {re.sub(r'[.][^.]*$', '', name)}" if file_stem(path) not in name else file_stem(path),
        _directories(path),
        " ".join(d.name for d in parsed.definitions),
        _joined(signatures, _SIGNATURE_CHARS),
        _joined((comment.text for comment in parsed.comments), _COMMENT_CHARS),
        f"{path} {_joined((chunk.text for chunk in parsed.chunks), _HEAD_CHARS)}",
    )


def _joined(texts: Iterable[str], limit: int) -> str:
    """Returns the first `limit` characters of the texts, one text per line."""
    kept: list[str] = []
    room = limit
    for text in texts:
        kept.append(text[:room])
        room -= len(text) + 1
        if room <= 0:
            break
    return "\n".join(kept)


def _place(definitions: Sequence[Definition], chunks: Sequence[Chunk]) -> Iterable[DefinitionEntry]:
    """Yields each definition with the chunk that contains its second line, or its only line.

    A chunk that ends with the first line of a definition therefore does not count as its place.
    """
    ends = [chunk.end_line for chunk in chunks]
    for definition in definitions:
        line = definition.start_line + (definition.end_line > definition.start_line)
        if chunks:
            yield DefinitionEntry(definition, min(bisect_left(ends, line), len(chunks) - 1))
