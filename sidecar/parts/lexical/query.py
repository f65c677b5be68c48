"""The query language of document indexes: `word`, `+word`, `-word`, `"several words"`. Text in, structure out.

Not here: what a word is to an index (`tfidf.Tokenizer`), or whether a document matches.

>>> parse_query('+python "machine learning" -java guide')
ParsedQuery(terms=('guide',), must=('python',), must_not=('java',), phrases=('machine learning',))
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sidecar.parts.lexical.tokens import words

# Phrases go first: a word ends where a closed pair of quotes begins. A quote without its pair is an ordinary character.
_PIECE = re.compile(r'(?<!\S)([+-])"([^"]*)"|"([^"]*)"|((?:(?!"[^"]*")\S)+)')


@dataclass(frozen=True, slots=True)
class Clause:
    """What a document must hold to match: one word or several in a row. `required` False: it only counts for more."""

    text: str
    required: bool


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The parts of a query as they were typed, without their operators.

    `wanted` has terms, must and phrases together, in the order of the query. `must_not` may hold several words in a
    row (`-"old draft"`).
    """

    terms: tuple[str, ...] = ()
    must: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    wanted: tuple[Clause, ...] = field(default=(), repr=False)

    @property
    def is_empty(self) -> bool:
        return not self.wanted and not self.must_not


def parse_query(text: str) -> ParsedQuery:
    """Whatever the text is, it has a meaning: an operator without a word is left out."""
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
    if not word:
        return ("must_not" if sign == "-" else "phrases"), phrase.strip()
    if word[0] not in "+-":
        return "terms", word
    return ("must" if word[0] == "+" else "must_not"), word.lstrip("+-")
