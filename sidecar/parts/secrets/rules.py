"""Searches a text for all secrets that the rules describe, in linear time, with one pass for each group of rules.

The expressions run on RE2, so no text can make one of them slow. The rules of a group are also joined into one
expression, which matches whatever one of them does. Only the few texts that it matches are searched rule by rule. It
sets no upper limits to repetitions: counting to them would take many more states of the automaton, and with them a
fifth more of the time and seven times the memory.

Rules about passwords have large expressions, so they see only the lines around the words that they need (`Family`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

import re2

from sidecar.parts.secrets.forms import FORMS
from sidecar.parts.secrets.judge import entropy, looks_random
from sidecar.parts.secrets.lines import KEYED, LINES
from sidecar.parts.secrets.logins import LOGINS
from sidecar.parts.secrets.places import RULES
from sidecar.parts.secrets.rule import NO_SECRET_NAME, TEST_PATH, Family, SecretRule, is_form
from sidecar.parts.secrets.tables import secrets_in_tables

_DFA_BYTES = 16 << 20
_GROUP = 8
_BEFORE, _AFTER, _LINES_AFTER = 300, 700, 4
"""How much of the text around a word a family's rules see, in characters and lines."""
_DIGIT = re.compile(r"\d")
_JUDGED = 2000
_LIMITED = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(?P<least>\d+),\d+\}")
"""A limited repetition; or an escaped character or a class, which must be left alone."""
_NAME_END = re.compile(r"[\w.-]*\Z")
_WORD = re.compile(r"[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret. `start` and `end` are positions in the text, `name` says what it looks like, and `whole` whether the
    file is withheld.
    """

    start: int
    end: int
    name: str
    whole: bool


@dataclass(frozen=True, slots=True)
class _Nearby:
    """A family with its compiled words and groups."""

    words: Any
    family: Family
    groups: tuple[_Group, ...]


@dataclass(frozen=True, slots=True)
class _Group:
    """Rules with their compiled expressions, and `any`, an expression that matches wherever one of them does, and
    rarely elsewhere. `needs`: what a passage must contain for that, if all rules need the same."""

    any: Any
    rules: tuple[tuple[SecretRule, Any], ...]
    needs: Any = None


class Place:
    """A file's text in the form that the rules search.

    `raw` has one byte for each character, so that positions are the same as in `text`. Characters outside Latin-1
    become `?`; secrets do not contain them.
    """

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.raw = text.encode("latin-1", "replace")
        self.in_tests = bool(TEST_PATH.search(path))

    @cached_property
    def lowered(self) -> str:
        """The text in lower case."""
        return self.text.lower()


def find(path: str, text: str) -> Iterator[Finding]:
    """Yields every secret in the text of a file, in no particular order. Several rules may find parts of the same
    secret."""
    place = Place(path, text)
    for group in _groups():
        if group.any.search(place.raw) is not None:
            for rule, regex in group.rules:
                yield from look_through(rule, regex, place)
    if place.in_tests:
        return
    for rule, regex in _keyed():
        yield from look_through(rule, regex, place)
    for nearby in _families():
        yield from _look_nearby(nearby, place)
    for start, end, name in secrets_in_tables(path, text):
        yield Finding(start, end, name, whole=False)


def compile_all() -> None:
    """Compiles all rules, which takes a fifth of a second. Without this, the first file that is searched waits for
    that."""
    _groups()
    _families()
    _keyed()


def _look_nearby(nearby: _Nearby, place: Place) -> Iterator[Finding]:
    """Yields what a family's rules find near its words."""
    family = nearby.family
    if family.paths is not None and not family.paths.search(place.path):
        return
    for start, end in _passages(nearby.words, place):
        if _DIGIT.search(place.text, start, end) is None:
            continue
        for group in nearby.groups:
            if group.needs is not None and group.needs.search(place.raw, start, end) is None:
                continue
            if group.any.search(place.raw, start, end) is not None:
                for rule, regex in group.rules:
                    yield from look_through(rule, regex, place, start, end)


def _passages(words: Any, place: Place) -> Iterator[tuple[int, int]]:
    """Yields start and end of the passages around the words; no two overlap."""
    raw, begin, end = place.raw, 0, 0
    at = 0
    while (match := words.search(raw, at)) is not None:
        at = max(match.end(), at + 1)
        start = max(raw.rfind(b"\n", 0, match.start()) + 1, match.start() - _BEFORE)
        if start > end:
            if end:
                yield begin, end
            begin = start
        end = max(end, _passage_end(raw, match.end()))
    if end:
        yield begin, end


def _passage_end(raw: bytes, at: int) -> int:
    """Returns the end of the passage after a word that ends at `at`."""
    last, end = min(len(raw), at + _AFTER), at
    for _ in range(_LINES_AFTER):
        end = raw.find(b"\n", end, last)
        if end < 0:
            return last
        end += 1
    return end


def rules() -> Iterator[tuple[SecretRule, Any]]:
    """Yields every rule with its compiled expression."""
    for group in (*_groups(), *(group for nearby in _families() for group in nearby.groups)):
        yield from group.rules
    yield from _keyed()


def look_through(
    rule: SecretRule, regex: Any, place: Place, begin: int = 0, stop: int | None = None
) -> Iterator[Finding]:
    """Yields the secrets that one rule finds between two positions. Reads each character a few times at most."""
    if not _applies(rule, place):
        return
    at, stop = begin, len(place.raw) if stop is None else stop
    while at <= stop and (match := regex.search(place.raw, at, stop)) is not None:
        start, end = _span(match)
        if _is_secret(rule, place.text, match.start(), start, end):
            yield Finding(match.start() if rule.whole else start, end, rule.name, rule.whole)
            at = max(end, at + 1)
        else:
            # A value that is not a secret may be the name of the next one: `"token": "password": "..."`.
            at = start if start > match.start() else match.end()


def _applies(rule: SecretRule, place: Place) -> bool:
    """Whether the rule applies to this file, by its path and its keywords."""
    if (rule.made_up and place.in_tests) or (rule.paths is not None and not rule.paths.search(place.path)):
        return False
    return not rule.keywords or any(keyword in place.lowered for keyword in rule.keywords)


def _span(match: Any) -> tuple[int, int]:
    """Returns the span of the first group that took part in the match, else of the whole match."""
    spans: list[tuple[int, int]] = [match.span(group) for group in range(1, match.re.groups + 1)]
    whole: tuple[int, int] = match.span()
    return next((span for span in spans if span[0] >= 0), whole)


def _is_secret(rule: SecretRule, text: str, begin: int, start: int, end: int) -> bool:
    """Whether the rule considers the value from `start` to `end` a secret; `begin` is where the match begins."""
    value = text[start : min(end, start + _JUDGED)]
    if begin == start and begin > 0 and _WORD.match(text[begin - 1]) and _WORD.match(text[begin]):
        return False
    if rule.made_up and NO_SECRET_NAME.search(_name_before(text, begin) + text[begin:start]):
        return False
    return entropy(value) >= rule.least_entropy and rule.is_secret(value)


def _name_before(text: str, begin: int) -> str:
    """Returns the part of a name before the word with which the match begins."""
    match = _NAME_END.search(text, max(0, begin - 40), begin)
    return match[0] if match else ""


@lru_cache(maxsize=1)
def _groups() -> tuple[_Group, ...]:
    """Returns all rules in groups, compiled at the first call.

    Rules of a similar form share most states of the automaton and are in one group. With too many rules in a group, the
    automaton would exceed its memory limit.
    """
    published = list(_published())
    named = [rule for rule in published if rule.is_secret is looks_random]
    formed = [rule for rule in published if rule.is_secret is not looks_random]
    assigned = [rule for rule in RULES if rule.made_up]
    placed = [rule for rule in RULES if not rule.made_up]
    parts = ([*named, *formed[::3]], [*formed[1::3], *formed[2::3]], [*placed, *FORMS], assigned)
    return tuple(_group(rules) for rules in parts)


@lru_cache(maxsize=1)
def _families() -> tuple[_Nearby, ...]:
    """Returns the families of rules, compiled at the first call."""
    return tuple(
        _Nearby(
            re2.compile(family.words.encode(), _options()),
            family,
            tuple(_groups_of(family)),
        )
        for family in (*LINES, *LOGINS)
    )


@lru_cache(maxsize=1)
def _keyed() -> tuple[tuple[SecretRule, Any], ...]:
    """Returns the rules that are only for texts with a certain word, compiled at the first call."""
    return _each(list(KEYED), _options())


def _groups_of(family: Family) -> Iterator[_Group]:
    """Yields the rules of a family in groups, those together that need the same."""
    for needs in dict.fromkeys(rule.needs for rule in family.rules):
        alike = [rule for rule in family.rules if rule.needs == needs]
        for at in range(0, len(alike), _GROUP):
            yield _group(alike[at : at + _GROUP])


def _group(rules: list[SecretRule]) -> _Group:
    """Compiles rules as a group. All must need the same."""
    options = _options()
    needs = re2.compile(rules[0].needs.encode(), options) if rules[0].needs else None
    each = _each(rules, options)
    options.never_capture = True
    joined = "|".join(f"(?:{without_limits(rule.regex)})" for rule in rules)
    return _Group(re2.compile(joined.encode(), options), each, needs)


def without_limits(regex: str) -> str:
    """Returns an expression that matches whatever this one does, without upper limits to repetitions: `a{2,}` in place
    of `a{2,5}`."""
    return _LIMITED.sub(lambda found: f"{{{found['least']},}}" if found["least"] else found[0], regex)


def _each(rules: list[SecretRule], options: Any) -> tuple[tuple[SecretRule, Any], ...]:
    """Compiles each rule by itself."""
    return tuple((rule, re2.compile(rule.regex.encode(), options)) for rule in rules)


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _DFA_BYTES
    options.log_errors = False
    return options


def _published() -> Iterator[SecretRule]:
    """Yields the rules of gitleaks, from the file that scripts/dev/make-secret-rules writes."""
    data = json.loads((files(__package__) / "data/gitleaks.json").read_text("utf-8"))
    for rule in data["rules"]:
        yield SecretRule(
            f"a secret ({rule['id']})",
            rule["regex"],
            is_secret=looks_random if rule.get("by_name") else is_form,
            paths=re.compile(rule["path"]) if "path" in rule else None,
            keywords=tuple(rule["keywords"]),
            least_entropy=rule.get("entropy", 0.0),
        )
