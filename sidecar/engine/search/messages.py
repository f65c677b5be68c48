"""Recognises error messages among queries, and measures how much of a message a passage of code contains.

A program builds its messages from literals with gaps for values. So most words of a message are in a literal, in order,
and the rest are nowhere. Reads only texts, never the index.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from sidecar.parts.lexical.tokens import words

_LEAST_WORDS = 4
_MOST_WORDS = 40
_LEAST_SAID = 3
"""The minimum number of words in order; fewer words may be in order by chance."""
_SHORTEST = 4
_LINES = 2
"""The number of adjacent lines that are examined together, because a long literal continues on the next line."""
_ASKS = re.compile(
    r"(?i)(?:how|where|what|which|why|when|who|does|do|is|are|can|find|show|list|i want|change|make|let|add|support"
    r"|allow|fix(?:e[sd])?|remove|update|avoid|handle|improve|ensure|prevent|move|rename|refactor|implement|don't)\b"
)
"""Matches the beginnings of questions and of requests for a change."""
_FAILS = re.compile(
    r"(?i)\b(?:error|exception|warning|fatal|panic(?:ked)?|can(?:no|')t|could(?: not|n't)|failed|failure|unable|invalid"
    r"|unknown|unexpected|expected|missing|must|unsupported|already|do(?:es)?(?: not|n't)|no such|undefined|deprecated"
    r"|too (?:many|few|long|large|short|small)|timed out|out of|is not"
    r"|not (?:found|allowed|supported|available|exist))\b"
)
_PRINTED = re.compile(r"\w: \S|['\"`].+['\"`]|[a-z]\.$")


def message_words(text: str) -> tuple[str, ...]:
    """Returns the words of an error message in order, in lower case, at most 40; empty if the text is not an error
    message.

    >>> message_words("Unknown style 'google'. Expected one of: Scala.js")
    ('unknown', 'style', 'google', 'expected', 'one', 'of', 'scala', 'js')
    >>> message_words("where are unknown styles rejected")
    ()
    """
    found = words(text)
    is_one = len(found) >= _LEAST_WORDS and not _ASKS.match(text) and bool(_FAILS.search(text) or _PRINTED.search(text))
    return tuple(word.lower() for word in found[:_MOST_WORDS]) if is_one else ()


def said_in(code: str, message: Sequence[str]) -> float:
    """Returns how much of the message two adjacent lines with literals contain in the message's order, 0-1; 0 if they
    contain fewer than `_LEAST_SAID` of its words."""
    told_in = _finder(tuple(message)).findall
    lines = [
        told_in(line) if '"' in line or "'" in line or "`" in line else []  # a third of the time of a pattern
        for line in code.lower().split("\n")
    ]
    most = 0
    for first, line in enumerate(lines):
        if line:
            told = [word for one in lines[first : first + _LINES] for word in one]
            if len(told) > most and len(told) >= _LEAST_SAID:
                most = max(most, _in_order(told, message))
    return max(0, most - _LEAST_SAID + 1) / (max(len(message), _SHORTEST) - _LEAST_SAID + 1)


@lru_cache(maxsize=8)
def _finder(message: tuple[str, ...]) -> re.Pattern[str]:
    """Returns a pattern that finds the words of a message in a text in lower case. Cached, because all passages of a
    search share it."""
    longest_first = sorted(set(message), key=lambda word: (-len(word), word))
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b")


def _in_order(one: Sequence[str], other: Sequence[str]) -> int:
    """Returns the length of the longest common subsequence (by dynamic programming)."""
    row = [0] * (len(other) + 1)
    for word in one:
        before = row
        row = [0]
        for place, wanted in enumerate(other):
            row.append(before[place] + 1 if word == wanted else max(before[place + 1], row[-1]))
    return row[-1]
