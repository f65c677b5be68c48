"""The query language of document indexes: `word`, `+word`, `-word` and `"several words"`.

It only parses: `tfidf.Tokenizer` defines the words of an index, and the caller matches documents.

>>> parse_query('+python "machine learning" -java guide')
ParsedQuery(terms=('guide',), must=('python',), must_not=('java',), phrases=('machine learning',))
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sidecar.parts.lexical.tokens import words

# Phrases match first: a word ends where a closed pair of quotes begins. A single quote mark is an ordinary character.
_PIECE = re.compile(r'(?<!\S)([+-])"([^"]*)"|"([^"]*)"|((?:(?!"[^"]*")\S)+)')


@dataclass(frozen=True, slots=True)
class Clause:
    """One word, or several in a row, to be found in a document. A document without a `required` clause does not match;
    the other clauses only raise the score.
    """

    text: str
    required: bool


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The parts of a query as typed, without their operators.

    `wanted` has terms, must and phrases together, in the order of the query. A part of `must_not` may be several words
    in a row (`-"old draft"`).
    """

    terms: tuple[str, ...] = ()
    must: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    wanted: tuple[Clause, ...] = field(default=(), repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether the query contains no words."""
        return not self.wanted and not self.must_not


def parse_query(text: str) -> ParsedQuery:
    """Parses a query. Every text is a valid query: an operator without a word is ignored."""
    found: dict[str, list[str]] = {"terms": [], "must": [], "must_not": [], "phrases": []}
    wanted: list[Clause] = []
    for sign, signed, quoted, word in _PIECE.findall(text):
        kind, piece = _kind_of(sign, signed or quoted, word)
        if not words(piece):
            continue
        found[kind].append(piece)
        if kind != "must_not":
            wanted.append(Clause(piece, required=kind != "terms"))
    return ParsedQuery(**{kind: tuple(pieces) for kind, pieces in found.items()}, wanted=tuple(wanted))


def _kind_of(sign: str, phrase: str, word: str) -> tuple[str, str]:
    """Returns the field of `ParsedQuery` to which a piece belongs, and its text without operator."""
    if not word:
        return ("must_not" if sign == "-" else "phrases"), phrase.strip()
    if word[0] not in "+-":
        return "terms", word
    return ("must" if word[0] == "+" else "must_not"), word.lstrip("+-")
