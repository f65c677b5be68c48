"""Looks through a text for everything that the rules describe, in one pass per group of rules, in linear time.

The expressions run on RE2: no text can be made on which one takes long. A group's rules are joined into one expression
that says whether any of them is in a text; the few texts with one are looked through rule by rule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import re2

from sidecar.parts.secrets.judge import entropy, is_placeholder, looks_random
from sidecar.parts.secrets.places import NO_SECRET_NAME, RULES, TEST_PATH, Rule

_DFA_BYTES = 64 << 20
_JUDGED = 2000
_NAME_END = re.compile(r"[\w.-]*\Z")
_WORD = re.compile(r"[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Finding:
    """`start` and `end` are places in the text. `whole`: the file is to be withheld."""

    start: int
    end: int
    name: str
    whole: bool


@dataclass(frozen=True, slots=True)
class _Group:
    any: Any
    rules: tuple[tuple[Rule, Any], ...]


class Place:
    """A file's text as the rules look at it: one byte for each character, so that places are the same; what Latin-1
    lacks is in no secret's alphabet."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.raw = text.encode("latin-1", "replace")
        self.in_tests = bool(TEST_PATH.search(path))


def find(path: str, text: str) -> Iterator[Finding]:
    """Every secret in the text of a file, in no order; parts of one may be found by several rules."""
    place = Place(path, text)
    for group in _groups():
        if group.any.search(place.raw) is not None:
            for rule, regex in group.rules:
                yield from look_through(rule, regex, place)


def rules() -> Iterator[tuple[Rule, Any]]:
    """Every rule with its expression."""
    for group in _groups():
        yield from group.rules


def look_through(rule: Rule, regex: Any, place: Place) -> Iterator[Finding]:
    """What one rule finds, with each character looked at a few times at most."""
    if not _applies(rule, place):
        return
    at = 0
    while (match := regex.search(place.raw, at)) is not None:
        start, end = _span(match)
        if _is_secret(rule, place.text, match.start(), start, end):
            yield Finding(match.start() if rule.whole else start, end, rule.name, rule.whole)
            at = max(end, at + 1)
        else:
            # A value that is no secret may be the name of the next one: `"token": "password": "..."`.
            at = start if start > match.start() else match.end()


def _applies(rule: Rule, place: Place) -> bool:
    if (rule.made_up and place.in_tests) or (rule.paths is not None and not rule.paths.search(place.path)):
        return False
    return not rule.keywords or any(keyword in place.text.lower() for keyword in rule.keywords)


def _span(match: Any) -> tuple[int, int]:
    """Of the first group that took part, else of the whole match."""
    spans: list[tuple[int, int]] = [match.span(group) for group in range(1, match.re.groups + 1)]
    whole: tuple[int, int] = match.span()
    return next((span for span in spans if span[0] >= 0), whole)


def _is_secret(rule: Rule, text: str, begin: int, start: int, end: int) -> bool:
    value = text[start : min(end, start + _JUDGED)]
    if begin == start and begin > 0 and _WORD.match(text[begin - 1]) and _WORD.match(text[begin]):
        return False
    if rule.made_up and NO_SECRET_NAME.search(_name_before(text, begin) + text[begin:start]):
        return False
    return entropy(value) >= rule.least_entropy and rule.is_secret(value)


def _name_before(text: str, begin: int) -> str:
    """The part of a name that stands before the telling word, on which the match begins."""
    match = _NAME_END.search(text, max(0, begin - 40), begin)
    return match[0] if match else ""


@lru_cache(maxsize=1)
def _groups() -> tuple[_Group, ...]:
    """Compiled when the first file is looked at.

    Rules of one form share most of their states, so they stand together; of too many an automaton outgrows its memory.
    """
    published = list(_published())
    named = [rule for rule in published if rule.is_secret is looks_random]
    formed = [rule for rule in published if rule.is_secret is not looks_random]
    assigned = [rule for rule in RULES if rule.made_up]
    placed = [rule for rule in RULES if not rule.made_up]
    parts = (named, formed[::3], formed[1::3], formed[2::3], placed, assigned[::2], assigned[1::2])
    return tuple(_group(rules) for rules in parts)


def _group(rules: list[Rule]) -> _Group:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _DFA_BYTES
    options.log_errors = False
    each = tuple((rule, re2.compile(rule.regex.encode(), options)) for rule in rules)
    options.never_capture = True
    return _Group(re2.compile("|".join(f"(?:{rule.regex})" for rule in rules).encode(), options), each)


def _published() -> Iterator[Rule]:
    """The rules of gitleaks; scripts/make-secret-rules makes the file."""
    data = json.loads((files(__package__) / "data/gitleaks.json").read_text("utf-8"))
    for rule in data["rules"]:
        yield Rule(
            f"a secret ({rule['id']})",
            rule["regex"],
            is_secret=looks_random if rule.get("by_name") else _is_no_placeholder,
            paths=re.compile(rule["path"]) if "path" in rule else None,
            keywords=tuple(rule["keywords"]),
            least_entropy=rule.get("entropy", 0.0),
        )


def _is_no_placeholder(value: str) -> bool:
    return not is_placeholder(value)
