"""Splits texts and queries into the words and terms of the lexical index.

A *word* is a run of letters, digits and underscores as it is in the text. A search finds it by its *terms*: the whole
identifier (lower case, without underscores and accents) and its parts, stemmed. Counting and scoring happen elsewhere.

>>> terms_of("parse_HTTPRequests")
('parsehttprequests', 'pars', 'http', 'request')
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cached_property, lru_cache
from itertools import pairwise
from threading import local
from typing import Any

import snowballstemmer

TOKENS_VERSION = 2
"""Raise this when the same text gives other terms. An index of another version is rebuilt."""

MAX_WORD = 64
"""The maximum length of an ASCII word: longer ones are encoded bytes. It does not apply to other scripts, in which a
word without spaces may be a whole sentence."""
_MAX_NUMBER = 6

_ID = re.compile(r"(?=[0-9]*[a-fA-F])[0-9a-fA-F]+")
_ID_LENGTHS = frozenset((8, 12, 32, 40))
"""The lengths of the long parts of a UUID, of a UUID without dashes, and of a commit id."""

_STOP = """
    a an and are as at be been but by can could did do does for from get gets had has have how i if in into is it its
    me my no not of on or our should so than that the their them then there these they this those to us use used uses
    using via was we were what when where which while who why will with would you your between
"""
STOP_WORDS = frozenset(_STOP.split())
"""Words that are removed from queries only. Those that are keywords (`for`, `if`, `with`) are too frequent to
distinguish files anyway. """

_WORD = re.compile(r"\w+")
_SEPARATED = bytes(byte if _WORD.match(chr(byte)) else 32 for byte in range(128)) + bytes(128)
"""Turns every ASCII character outside words into a space, for `bytes.translate`."""
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LATIN_MARKS = re.compile("[\u0300-\u036f]+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Scripts written without spaces (Thai, Lao, Burmese, Khmer, kana, Han), and Hangul, whose words carry endings."""


def words(text: str) -> list[str]:
    """Returns the words of `text` in order, as written."""
    if not text.isascii():
        return _word_with_marks().findall(text)
    # A third of the time of an expression.
    return text.encode().translate(_SEPARATED).decode().split()


def places(text: str) -> list[tuple[int, int, str]]:
    """Returns the words of `text` as (start, end, word), with positions in characters."""
    pattern = _WORD if text.isascii() else _word_with_marks()
    return [(*match.span(), match.group()) for match in pattern.finditer(text)]


@lru_cache(maxsize=1)
def _word_with_marks() -> re.Pattern[str]:
    r"""Returns a pattern like `\w+` that does not break Indic, Arabic or Thai words at their vowel signs, as Python's
    `\w` does."""
    marks = [c for c in map(chr, range(0x300, 0x1200)) if unicodedata.category(c) in ("Mn", "Mc")]
    return re.compile(rf"[\w{''.join(marks)}\u3099\u309a]+")


# Four times as many take 20 MB, and save a hundredth of the time that a file takes.
@lru_cache(maxsize=1 << 14)
def terms_of(word: str) -> tuple[str, ...]:
    """Returns the distinct terms of one word, the whole identifier first; empty for a word that is not worth
    indexing."""
    if not word.isascii():
        return _terms_of_unicode(word)
    if len(word) > MAX_WORD:
        return ()
    if word[0] in "0123456789":
        # People search for dates, ports, `3d`, commit ids and parts of UUIDs, but not for hexadecimal tables and
        # digests.
        return (word.lower(),) if 1 < len(word) <= _MAX_NUMBER or _is_id(word) else ()
    if word.islower() and word.isalpha():
        return (stem(word),)
    parts = _PART.findall(word)
    if len(parts) == 1 and len(parts[0]) == len(word.strip("_")):
        return (_stem_of_part(parts[0]),)
    return _distinct(fold_name(word), *[_stem_of_part(part) for part in parts if len(part) > 1])


@lru_cache(maxsize=1 << 14)
def _stem_of_part(part: str) -> str:
    # Numbers are not stemmed: a table has thousands of them, and the stemmer would take longer than everything else.
    return part if part.isdigit() else stem(part.lower())


def _is_id(word: str) -> bool:
    return len(word) in _ID_LENGTHS and _ID.fullmatch(word) is not None


def whole_term(word: str) -> str:
    """Returns the first term of a word, which is the whole identifier; empty for a word that is not worth indexing.

    Faster than `terms_of`, because it does not stem the parts.
    """
    if word.isascii() and len(word) <= MAX_WORD and word[:1].isalpha() and len(_PART.findall(word)) > 1:
        return fold_name(word)
    terms = terms_of(word) if word else ()
    return terms[0] if terms else ""


def _terms_of_unicode(word: str) -> tuple[str, ...]:
    """Returns the terms of a word outside ASCII. A script without spaces gives overlapping pairs of characters
    (bigrams)."""
    folded = fold_accents(word)
    if folded.isascii():
        return terms_of(folded) if folded else ()
    terms: list[str] = []
    for piece in _UNSPACED.sub(lambda run: f" {run.group()} ", folded).replace("_", " ").split():
        if _UNSPACED.match(piece):
            terms += [piece[i : i + 2] for i in range(len(piece) - 1)] or [piece]
        elif piece.isascii():
            terms += terms_of(piece)
        else:
            terms += [stem(piece.casefold()), *_camel_parts(piece)]
    return _distinct(*terms)


def _camel_parts(word: str) -> list[str]:
    """Returns the parts of a camel-cased word in any script; empty if it has only one."""
    cuts = [i for i in range(1, len(word)) if word[i].isupper() and not word[i - 1].isupper()]
    bounds = [0, *cuts, len(word)]
    return [word[a:b].casefold() for a, b in pairwise(bounds)] if cuts else []


def _distinct(*terms: str) -> tuple[str, ...]:
    """Returns the terms in order, without empty and repeated ones."""
    return tuple(dict.fromkeys(filter(None, terms)))


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """Returns the Snowball English stem of a lower-case word (Porter2, https://snowballstem.org).

    Words of one or two letters and words outside ASCII stay as they are.
    """
    if len(word) < 3 or not word.isascii():
        return word
    return sys.intern(str(_STEMMER.english.stemWord(word)))


class _Stemmer(local):
    """A stemmer for each thread, because it keeps the word that it works on."""

    @cached_property
    def english(self) -> Any:
        # It stems in C if PyStemmer is installed, which would also remember words that `stem` remembers already.
        stemmer = snowballstemmer.stemmer("english")
        stemmer.maxCacheSize = 0
        return stemmer


_STEMMER = _Stemmer()


def fold_accents(text: str) -> str:
    """Unifies compatibility forms and removes Latin, Greek and Cyrillic accents (NFKD); kana and Hangul stay composed
    (NFC).
    """
    return unicodedata.normalize("NFC", _LATIN_MARKS.sub("", unicodedata.normalize("NFKD", text)))


def fold_name(name: str) -> str:
    """Returns the form that all spellings of one identifier share: `parserequest` for `parse_request`, `parseRequest`
    and `ParseRequest`."""
    folded = name if name.isascii() else fold_accents(name)
    return folded.replace("_", "").replace("-", "").casefold()


def query_terms(text: str) -> tuple[str, ...]:
    """Returns the distinct terms of a query in order, without stop words unless it has no other words."""
    found = words(text)
    content = [word for word in found if word.lower() not in STOP_WORDS] or found
    return tuple(dict.fromkeys(term for word in content for term in terms_of(word)))
