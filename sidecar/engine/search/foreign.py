"""Translates the words of programming in German and Japanese questions into English.

Code is written in English, and so are the texts from which the shipped models learnt. `languages/*.txt` translate a few
hundred words. A word that the index contains is kept beside its translation, because comments and documents may be in
the language of the question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sidecar.engine.search.query import Query, understand
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.parts.lexical.postings import read_bodies
from sidecar.parts.lexical.tokens import fold_accents, terms_of, words

_FOLDER = Path(__file__).with_name("languages")
_GRAMMAR = frozenset(
    fold_accents(word)
    for word in """aber als am an auch auf aus bei beim bis da damit dann das dass dazu dem den denn der des die dies
    diese diesem diesen dieser dieses doch durch ein eine einem einen einer eines er es etwas für gegen habe haben hat
    ich ihr im in ist jede jedem jeden jeder jedes kann kein keine können mit muss müssen nach nicht nie noch nur ob
    oder ohne schon sein seine sich sie sind so soll sollen sollte statt um und uns unter vom von vor wann war warum was
    weil welche welchem welchen welcher welches wenn wer werden weshalb wie wieso wir wird wo wobei wodurch wofür woher
    womit woran wurde wurden zu zum zur zwischen über""".split()
)
"""German words of grammar, which say nothing about the subject of a question."""
_ALSO_ENGLISH = frozenset("als am an da dem den des die ein er es hat im in ist man so um was war".split())
_UMLAUT = re.compile("[äöüÄÖÜß]")
_WORD = re.compile(r"(?<![\w.:/])(?<!\w\()[^\W\d_]+(?![\w(:/]|\.\w)")
"""A word of prose: not a part of an identifier, a path, a call or an address."""
_JAPANESE = re.compile("[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")
_HIRAGANA = re.compile("[\u3040-\u309f]+")
_ENDINGS = "ungen ung eten ern end ten ter tes te et en em er es e n s t".split()
_PARTICIPLE = re.compile(
    "((?:zuruck|herunter|zusammen|wieder|weiter|hinzu|durch|nach|auf|aus|ein|mit|vor|weg|los|hoch|fest|her|um|ab|an|zu)?)"
    "(?:ge|zu)(.{3,}(?:en|t))(?:e[mnrs]?)?"
)
"""Matches forms such as `gespeichert`, `aufgerufen` and `aufzurufen`, with `ge` or `zu` at the beginning or in the
middle."""
_DISTINCTIVE = 12
"""In a German question, more than one word in this many is recognisably German."""
_SHORTEST_KEY = 4
_SHORTEST_PART = 3
_LONGEST_WORD = 64
_MOST_SAID = 8


@dataclass(frozen=True)
class _Dictionary:
    """English words by a foreign one, folded. `distinctive` has the folded foreign words that are not English words
    too; `longest` is the length of the longest foreign word."""

    english: Mapping[str, str]
    distinctive: frozenset[str]
    longest: int


def in_english(snapshot: SearchedSnapshot, query: Query) -> tuple[Query, str]:
    """Returns the query with English words for the known German or Japanese ones, and a notice that names them; the
    same query and an empty notice if there are none."""
    words = _Words(snapshot)
    text = query.text
    if _JAPANESE.search(text):
        text = _JAPANESE.sub(lambda run: f" {' '.join(words.of_japanese(run.group()))} ", text)
    if _is_german(text):
        text = _WORD.sub(lambda word: words.of_german(word.group()), text)
    if not words.said:
        return query, ""
    said = ", ".join(list(dict.fromkeys(words.said))[:_MOST_SAID])
    return understand(" ".join(text.split())), f"Also searched in English: {said}."


class _Words:
    """Translates words for one index. `said` collects the English words."""

    def __init__(self, snapshot: SearchedSnapshot) -> None:
        self._snapshot = snapshot
        self.said: list[str] = []

    def of_german(self, word: str) -> str:
        """Returns the replacement of a German word: nothing for a word of grammar, its translation for a known one,
        else the word itself. A capitalised word is put into lower case, because every German noun has a capital, which
        elsewhere marks a name."""
        if fold_accents(word).casefold() in _GRAMMAR:
            return ""
        english = _from_german(word)
        own = word.lower() if word.istitle() else word
        return self._beside(own, english) if english else own

    def of_japanese(self, run: str) -> Iterator[str]:
        """Yields the replacements of characters without a space between them: the translations of known words, the
        longest possible ones first, and the characters between them, except for single runs of hiragana, which are
        grammar."""
        known = _dictionary("japanese")
        at = unknown = 0
        while at < len(run):
            longest = min(known.longest, len(run) - at)
            length = next((size for size in range(longest, 0, -1) if run[at : at + size] in known.english), 0)
            if length:
                yield _between(run[unknown:at])
                piece = run[at : at + length]
                yield self._beside(piece, known.english[piece])
                unknown = at + length
            at += length or 1
        yield _between(run[unknown:])

    def _beside(self, word: str, english: str) -> str:
        """Returns the English words, after the foreign one if the index contains it."""
        self.said.extend(english.split())
        terms = terms_of(word)[:1]
        occurs = terms and len(read_bodies(self._snapshot.connection, terms).ids) > 0
        return f"{word} {english}" if occurs else english


def _between(rest: str) -> str:
    return "" if _HIRAGANA.fullmatch(rest) else rest


def _is_german(text: str) -> bool:
    """Whether more than one word in `_DISTINCTIVE` has an umlaut or is a word that only German has."""
    # A look at each word once is a fraction of the time of finding out which of them are prose.
    if text.isascii() and not any(map(_is_distinctive, set(words(text)))):
        return False
    found = _WORD.findall(text)
    return sum(times for word, times in Counter(found).items() if _is_distinctive(word)) > len(found) / _DISTINCTIVE


@lru_cache(maxsize=4096)
def _is_distinctive(word: str) -> bool:
    if _UMLAUT.search(word):
        return True
    folded = word.casefold()
    if folded in _GRAMMAR:
        return folded not in _ALSO_ENGLISH
    return folded in _dictionary("german").distinctive or _is_compound(folded)


@lru_cache(maxsize=4096)
def _is_compound(folded: str) -> bool:
    """Whether a word consists of two German ones, the second of which may have an ending. English words do not."""
    return any(
        folded[:cut].removesuffix("s") in _dictionary("german").distinctive and _known(folded[cut:])
        for cut in range(_SHORTEST_KEY, min(len(folded), _LONGEST_WORD) - _SHORTEST_PART + 1)
    )


@lru_cache(maxsize=4096)
def _from_german(word: str) -> str:
    """Returns the English words for a German word, or for the parts of a compound; empty if they are unknown."""
    if len(word) > _LONGEST_WORD:
        return ""
    folded = fold_accents(word).casefold()
    return _known(folded) or " ".join(_from_parts(folded))


def _from_parts(folded: str) -> list[str]:
    """Returns the English words for each part of a compound, with the first part as long as possible; empty if a part
    is unknown."""
    for cut in range(len(folded) - _SHORTEST_PART, _SHORTEST_PART - 1, -1):
        first, last = _known(folded[:cut]), _known(folded[cut:])
        others = [last] if last else _from_parts(folded[cut:]) if first else []
        if first and others:
            return [first, *others]
    return []


def _german_key(folded: str) -> str:
    """Returns a key that the forms of a German word share, such as `speichern`, `speichert` and `gespeichert`."""
    participle = _PARTICIPLE.fullmatch(folded)
    key = "".join(participle.groups()) if participle else folded
    while ending := next((e for e in _ENDINGS if key.endswith(e) and len(key) - len(e) >= _SHORTEST_KEY), ""):
        key = key.removesuffix(ending)
    return key


def _known(german: str) -> str:
    """Returns the English words for a German word without diacritics, in its listed form or another one; empty if it is
    unknown."""
    forms = _german_forms()
    return forms.get(german) or forms.get(_german_key(german), "")


@lru_cache(maxsize=1)
def _german_forms() -> Mapping[str, str]:
    """Returns English words by German ones and by the keys of these. English questions do not need them, and making the
    keys takes longer than reading the dictionary."""
    english = _dictionary("german").english
    keys: dict[str, str] = {}
    for word, meaning in english.items():
        keys.setdefault(_german_key(word), meaning)
    return {**keys, **english}


@lru_cache(maxsize=2)
def _dictionary(language: str) -> _Dictionary:
    english: dict[str, str] = {}
    distinctive = set()
    for line in _FOLDER.joinpath(f"{language}.txt").read_text("utf-8").splitlines():
        foreign, _, meaning = line.partition(": ")
        if line.startswith("#") or not meaning:
            continue
        for word in foreign.split(", "):
            folded = fold_accents(word.rstrip("?")).casefold()
            english[folded] = meaning
            if not word.endswith("?") and folded not in meaning.split():
                distinctive.add(folded)
    return _Dictionary(english, frozenset(distinctive), max(map(len, english)))
