"""What a person, a terminal or a model is shown of strings that are not ours: names, paths, queries, contents, clients.

They are data. None may command a terminal, hide or reorder what stands beside it, begin a line of its own, or become a
link. What cannot be seen is shown as its number, `\\u{1b}`; a value that a program reads is JSON and stays exact.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

LONGEST_QUOTE = 60
"""Characters of a foreign string inside one of our sentences."""

# Control characters, marks that reorder, what has no width, tags, halves of characters, line ends other than \n. A
# variation selector may follow a symbol, where it chooses how the symbol looks; rows of them can carry text.
_HIDDEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    r"\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\uffff"
    r"\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SYMBOLS = r"0-9#*\xa9\xae\u203c-\u3299\U0001f000-\U0001faff"
_SELECTOR = rf"(?<![{_SYMBOLS}])[\ufe0e\ufe0f]"
_IN_BLOCK = re.compile(rf"[{_HIDDEN}]|{_SELECTOR}")
_IN_LINE = re.compile(rf"[{_HIDDEN}\n\t]|{_SELECTOR}")

# What makes a link, a picture, HTML or code of text where it is taken for Markdown, and a link where it is not.
_ACTIVE = re.compile(r"(?<=\])(?=[(\[:])|(?<=<)(?=[a-zA-Z/!?])|`|(?<=:)//")
_LINK = re.compile(r"(?<=\])(?=\()")
_PLAIN_PATH = re.compile(r"[\w./@+~#%=,$&!^*{}()\[\]\\-]+")


def visible(text: str) -> str:
    """`text` with its line ends and tabs, everything else that cannot be seen as its number: for contents."""
    return _IN_BLOCK.sub(_number, text.replace("\r\n", "\n"))


def line(text: str) -> str:
    """As `visible`, on one line: line ends and tabs are numbers too."""
    return _IN_LINE.sub(_number, text)


def sentence(text: str) -> str:
    """One of our sentences with foreign strings in it: one line, in which nothing became a link."""
    return _LINK.sub(" ", line(text))


def quoted(text: str, most: int = LONGEST_QUOTE) -> str:
    """A foreign string inside a sentence: one line between quotation marks, without Markdown and links, the middle of
    it left out where it has more than `most` characters."""
    return '"' + short(_ACTIVE.sub(_broken, line(text)).replace('"', "'"), most) + '"'


def short(text: str, most: int = LONGEST_QUOTE) -> str:
    """A foreign string that is shown by itself, such as a client's name: a `sentence` of at most `most` characters."""
    safe = sentence(text)
    end = most // 2
    return safe if len(safe) <= most else f"{safe[: most - end - 1]}…{safe[-end:]}"


def path(text: str) -> str:
    """A path at the beginning of a line, whole: bare where it is made of what paths are made of, else quoted."""
    return text if _PLAIN_PATH.fullmatch(text) and "](" not in text else '"' + line(text).replace('"', "\\u{22}") + '"'


def numbered(text: str, first: int) -> Iterator[str]:
    """The lines of a content, each behind its number and a bar: no line of it can pass for one of ours."""
    for number, shown in enumerate(visible(text).split("\n"), first):
        yield f"{number}| {shown}".rstrip(" \t")


def as_json(value: object, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """JSON in which everything can be seen and which reads back as it was. Without `indent` it is compact."""
    separators = None if indent else (",", ":")
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=separators)
    return _IN_BLOCK.sub(_escape, text)


def _number(match: re.Match[str]) -> str:
    return f"\\u{{{ord(match[0]):x}}}"


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"


def _broken(match: re.Match[str]) -> str:
    return {"`": "'", "//": "\\u{2f}/"}.get(match[0], " ")
