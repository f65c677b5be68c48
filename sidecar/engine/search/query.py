"""Analyses what a query asks for: a symbol by its name, or something described in words. Reads only the query, never
the index.

>>> understand("how does HTTPAdapter retry").names
('httpadapter',)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from sidecar.engine.search.intents import intents_of, intents_of_prose
from sidecar.engine.search.long_text import FileMention, LongText, is_long, parts_of
from sidecar.engine.search.messages import message_words
from sidecar.engine.search.rank.paths import names_platform
from sidecar.parts.lexical.tokens import STOP_WORDS, fold_name, query_terms, words

_SYMBOL = re.compile(r"[@$#]?\w+(?:(?:::|\.|->|#|/|\\)[@$]?\w+)*[!?]?(?:\(\))?")
_SEPARATOR = re.compile(r"::|\.|->|#|/|\\")
_INNER = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_+[A-Za-z0-9]|[A-Z]{2}[a-z]|[A-Za-z]\d")


@dataclass(frozen=True, slots=True)
class Query:
    """A query and what it asks for. All names but `spelled` are folded (see `tokens.fold_name`).

    - `terms`: the distinct terms to search for.
    - `is_symbol`: whether the query is just one name, possibly qualified.
    - `names`: the words that are spelled like identifiers; if the query is a symbol, only its last part.
    - `spelled`: the same names in their original spelling.
    - `container`: the qualifier of the symbol (`Foo` in `Foo::bar`); empty if there is none.
    - `plain`: the content words, which may be names too.
    - `joined`: each pair of adjacent content words as one name.
    - `wants_tests`, `wants_examples`, `wants_prose`, `wants_records`, `wants_platform` (one of the rarer platforms):
      whether the query asks for files that otherwise rank lower (see `intents`). A long question asks for no platform.

    A long question (see `long_text`) is searched twice: by its title and by the whole text. `title_terms` are then the
    terms of the title, `aside` the names that only the rest has, `meaning` is its prose, and `files` are the files that
    it names. `plain` and `joined` come from the title. For other queries these are empty, and `meaning` is the text.

    `message` are the words of a short query that reads like an error message, in order; otherwise it is empty.
    """

    text: str
    terms: tuple[str, ...]
    is_symbol: bool
    names: tuple[str, ...]
    spelled: frozenset[str]
    container: str
    plain: tuple[str, ...]
    joined: tuple[str, ...]
    wants_tests: bool
    wants_examples: bool
    wants_prose: bool
    wants_records: bool
    wants_platform: bool
    meaning: str
    title_terms: tuple[str, ...] = ()
    aside: frozenset[str] = frozenset()
    files: tuple[FileMention, ...] = ()
    is_long: bool = False
    message: tuple[str, ...] = ()


def understand(text: str) -> Query:
    """Analyses a query. A blank query has no terms and no names."""
    stripped = text.strip()
    return _understand_long(parts_of(stripped)) if is_long(stripped) else _understand_short(stripped)


def _understand_short(stripped: str) -> Query:
    is_symbol = _SYMBOL.fullmatch(stripped) is not None
    path = [part for part in _SEPARATOR.split(stripped.strip("@$#!?()")) if part] if is_symbol else []
    content = _content(stripped)
    wanted = intents_of(stripped)
    names = path[-1:] if path else _identifiers(stripped)
    return Query(
        text=stripped,
        terms=query_terms(stripped),
        is_symbol=bool(path),
        names=_folded(names),
        spelled=frozenset(names),
        container=fold_name(path[-2]) if len(path) > 1 else "",
        plain=_folded(content),
        joined=_folded(a + b for a, b in pairwise(content)),
        wants_tests=wanted.tests,
        wants_examples=wanted.examples,
        wants_prose=wanted.prose,
        wants_records=wanted.records,
        wants_platform=names_platform(stripped),
        meaning=stripped,
        message=message_words(stripped),
    )


def _understand_long(parts: LongText) -> Query:
    title = parts.title.of(parts.text)
    content = _content(title)
    names = _folded(parts.names)
    first = {*_folded(content), *_folded(a + b for a, b in pairwise(content))}
    prose = parts.prose.strip()
    wanted = intents_of_prose(prose)
    return Query(
        text=parts.text,
        terms=query_terms(parts.text),
        is_symbol=False,
        names=names,
        spelled=frozenset(parts.names),
        container="",
        plain=_folded(content),
        joined=_folded(a + b for a, b in pairwise(content)),
        wants_tests=wanted.tests,
        wants_examples=wanted.examples,
        wants_prose=wanted.prose,
        wants_records=wanted.records,
        wants_platform=False,
        meaning=prose or parts.text,
        title_terms=query_terms(title),
        aside=frozenset(names) - first,
        files=parts.files,
        is_long=True,
    )


def _content(text: str) -> list[str]:
    """Returns the words that are not stop words, at most 64."""
    return [word for word in words(text) if word.lower() not in STOP_WORDS][:64]


def _identifiers(text: str) -> list[str]:
    """Returns at most 16 words that are written as identifiers are: with inner capitals, underscores or digits,
    capitalised within the query, called, quoted or qualified."""
    found = []
    for match in re.finditer(r"\w+", text):
        word = match.group()
        before, after = text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 1]
        capital = word[0].isupper() and match.start() > 0
        if word.lower() not in STOP_WORDS and (
            _INNER.search(word) or capital or after == "(" or (before and before in "@$`:.") or after == "`"
        ):
            found.append(word)
    return found[:16]


def _folded(names: Iterable[str]) -> tuple[str, ...]:
    folded = (fold_name(name) for name in names)
    return tuple(dict.fromkeys(name for name in folded if name))
