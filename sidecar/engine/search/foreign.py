"""Questions in German and Japanese: the words of programming among them, in English.

Code is written in English, and so is what the shipped models learnt from. `languages/*.txt` translate a few hundred
words. A word that the index contains stays beside its translation, because comments and documents may be in the
language of the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sidecar.engine.search.query import Query, understand
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.parts.lexical.postings import read_bodies
from sidecar.parts.lexical.tokens import fold_accents, terms_of

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
"""German words that say nothing of what is looked for."""
_ALSO_ENGLISH = frozenset("als am an da dem den des die ein er es hat im in ist man so um was war".split())
_UMLAUT = re.compile("[äöüÄÖÜß]")
_WORD = re.compile(r"(?<![\w.:/])(?<!\w\()[^\W\d_]+(?![\w(:/]|\.\w)")
"""A word of prose: no part of an identifier, a path, a call or an address."""
_JAPANESE = re.compile("[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")
_HIRAGANA = re.compile("[\u3040-\u309f]+")
_ENDINGS = "ungen ung eten ern end ten ter tes te et en em er es e n s t".split()
_PARTICIPLE = re.compile(
    "((?:zuruck|herunter|zusammen|wieder|weiter|hinzu|durch|nach|auf|aus|ein|mit|vor|weg|los|hoch|fest|her|um|ab|an|zu)?)"
    "(?:ge|zu)(.{3,}(?:en|t))(?:e[mnrs]?)?"
)
"""`gespeichert`, `aufgerufen` and `aufzurufen`, which have their `ge` or `zu` at the beginning or in the middle."""
_TELLING = 12
"""A question in German has a word that tells so among this many."""
_SHORTEST_KEY = 4
_SHORTEST_PART = 3
_LONGEST_WORD = 64
_MOST_SAID = 8


@dataclass(frozen=True)
class _Dictionary:
    """English words by the key of a foreign one; `telling` are the foreign words that are no English ones, folded."""

    english: Mapping[str, str]
    telling: frozenset[str]
    longest: int


def in_english(snapshot: SearchedSnapshot, query: Query) -> tuple[Query, str]:
    """The query with English words for the German or Japanese ones that are known, and a notice that names them; the
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
    """Translates words for one index. `said` collects what they became."""

    def __init__(self, snapshot: SearchedSnapshot) -> None:
        self._snapshot = snapshot
        self.said: list[str] = []

    def of_german(self, word: str) -> str:
        """What stands for a German word: nothing for one of grammar, itself for an unknown one. In lower case, because
        every German noun has a capital, which elsewhere is the sign of a name."""
        if fold_accents(word).casefold() in _GRAMMAR:
            return ""
        english = _from_german(word)
        own = word.lower() if word.istitle() else word
        return self._beside(own, english) if english else own

    def of_japanese(self, run: str) -> Iterator[str]:
        """What stands for characters without a space between them: the known words, longest first, and what is between
        them, except lone hiragana, which is grammar."""
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
        """The English words, after the foreign one if the index contains that."""
        self.said.extend(english.split())
        terms = terms_of(word)[:1]
        occurs = terms and len(read_bodies(self._snapshot.connection, terms).ids) > 0
        return f"{word} {english}" if occurs else english


def _between(rest: str) -> str:
    return "" if _HIRAGANA.fullmatch(rest) else rest


def _is_german(text: str) -> bool:
    """Whether at least one word in twelve has an umlaut or is a word that only German has."""
    found = _WORD.findall(text)
    return sum(map(_is_telling, found)) > len(found) / _TELLING


def _is_telling(word: str) -> bool:
    if _UMLAUT.search(word):
        return True
    folded = word.casefold()
    if folded in _GRAMMAR:
        return folded not in _ALSO_ENGLISH
    return folded in _dictionary("german").telling or _is_compound(folded)


@lru_cache(maxsize=4096)
def _is_compound(folded: str) -> bool:
    """Whether a word is made of two German ones, of which the second may have an ending: no English word is."""
    return any(
        folded[:cut].removesuffix("s") in _dictionary("german").telling and _known(folded[cut:])
        for cut in range(_SHORTEST_KEY, min(len(folded), _LONGEST_WORD) - _SHORTEST_PART + 1)
    )


@lru_cache(maxsize=4096)
def _from_german(word: str) -> str:
    """The English words for a German word, or for the words that a compound consists of; empty if unknown."""
    if len(word) > _LONGEST_WORD:
        return ""
    folded = fold_accents(word).casefold()
    return _known(folded) or " ".join(_from_parts(folded))


def _from_parts(folded: str) -> list[str]:
    """English words for each part of a compound, the first part as long as possible; empty if one is unknown."""
    for cut in range(len(folded) - _SHORTEST_PART, _SHORTEST_PART - 1, -1):
        first, last = _known(folded[:cut]), _known(folded[cut:])
        others = [last] if last else _from_parts(folded[cut:]) if first else []
        if first and others:
            return [first, *others]
    return []


def _german_key(folded: str) -> str:
    """What the forms of a German word have in common: `speichern`, `speichert`, `gespeichert`."""
    participle = _PARTICIPLE.fullmatch(folded)
    key = "".join(participle.groups()) if participle else folded
    while ending := next((e for e in _ENDINGS if key.endswith(e) and len(key) - len(e) >= _SHORTEST_KEY), ""):
        key = key.removesuffix(ending)
    return key


def _known(german: str) -> str:
    """The English words for a German word without diacritics, in its listed form or another one; empty if unknown."""
    english = _dictionary("german").english
    return english.get(german) or english.get(_german_key(german), "")


@lru_cache(maxsize=2)
def _dictionary(language: str) -> _Dictionary:
    english: dict[str, str] = {}
    keys: dict[str, str] = {}
    telling = set()
    for line in _FOLDER.joinpath(f"{language}.txt").read_text("utf-8").splitlines():
        foreign, _, meaning = line.partition(": ")
        if line.startswith("#") or not meaning:
            continue
        for word in foreign.split(", "):
            folded = fold_accents(word.rstrip("?")).casefold()
            english[folded] = meaning
            if language == "german":
                keys.setdefault(_german_key(folded), meaning)
            if not word.endswith("?") and folded not in meaning.split():
                telling.add(folded)
    return _Dictionary(keys | english, frozenset(telling), max(map(len, english)))
