r"""Makes foreign strings safe to show to a person, a terminal or a model: names, paths, queries, contents, clients.

Such strings are data. None may command a terminal, hide or reorder the text beside it, start a line of its own or
become a link. A character that cannot be seen is shown as its number, `\u{1b}`. Values that a program reads are JSON
and stay exact.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

LONGEST_QUOTE = 60
"""The maximum number of characters of a foreign string inside a sentence of sidecar's."""
LONGEST_PLACE = 240
"""The maximum number of characters of a path inside a sentence: enough to find it again."""
LONGEST_REASON = 400
"""The maximum number of characters that a library or the system says inside a sentence."""

# Control characters, direction marks, zero-width characters, tags, surrogates, line ends other than \n. A variation
# selector is allowed after a symbol, whose look it chooses; elsewhere a run of selectors could carry hidden text.
_HIDDEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    r"\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\uffff"
    r"\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SYMBOLS = r"0-9#*\xa9\xae\u203c-\u3299\U0001f000-\U0001faff"
_SELECTOR = rf"(?<![{_SYMBOLS}])[\ufe0e\ufe0f]"
_IN_BLOCK = re.compile(rf"[{_HIDDEN}]|{_SELECTOR}")
_IN_LINE = re.compile(rf"[{_HIDDEN}\n\t]|{_SELECTOR}")

# Where text would become a link, a picture, HTML or code in Markdown, or a link in plain text.
_ACTIVE = re.compile(r"(?<=\])(?=[(\[:])|(?<=<)(?=[a-zA-Z/!?])|`|(?<=:)//")
# What Markdown, or an editor's icons, take for markup. A `_` inside a word is none.
_MARKS = re.compile(r"[*~`#|<>$\\!\[\]]+|(?<![^\W_])_+|_+(?![^\W_])|(?<=\bwww)\.|:(?=//)")
_LINK = re.compile(r"(?<=\])(?=\()")
_PLAIN_PATH = re.compile(r"[\w./@+~#%=,$&!^*{}()\[\]\\-]+")


def count(number: int, one: str, many: str = "") -> str:
    """A number and what it counts: `1 file`, `1,204 chunks`. `many` is the plural if it is not `one` and an s.

    The only place where a count becomes words; `tests/test_counts.py` finds others.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def visible(text: str) -> str:
    """`text` with every hidden character as its number; line ends and tabs stay. For contents."""
    return _IN_BLOCK.sub(_number, text.replace("\r\n", "\n"))


def line(text: str) -> str:
    """Like `visible`, but on one line: line ends and tabs become numbers too."""
    return _IN_LINE.sub(_number, text)


def sentence(text: str) -> str:
    """A sentence of sidecar's that contains foreign strings: one line, in which none of them becomes a link."""
    return _LINK.sub(" ", line(text))


def quoted(text: str, most: int = LONGEST_QUOTE) -> str:
    """A foreign string for use inside a sentence: one line between quotation marks, without Markdown and links.

    The middle is left out when the string has more than `most` characters.
    """
    return '"' + short(_ACTIVE.sub(_broken, line(text)).replace('"', "'"), most) + '"'


def named(text: str) -> str:
    """A foreign string in a question: `quoted`, and without the marks of Markdown, which some surfaces render."""
    plain = re.sub(" +", " ", _MARKS.sub(" ", text)).strip(" ")
    return quoted(plain or text)


def place(path: object) -> str:
    """A path or the name of a file inside a sentence: quoted, and whole unless it is very long."""
    return quoted(str(path), LONGEST_PLACE)


def reason(said: object) -> str:
    """What a library or the system says about a failure, inside a sentence: one line that is not very long."""
    return short(str(said), LONGEST_REASON)


def short(text: str, most: int = LONGEST_QUOTE) -> str:
    """A foreign string shown on its own, such as a client's name: a `sentence` of at most `most` characters."""
    safe = sentence(text)
    end = most // 2
    return safe if len(safe) <= most else f"{safe[: most - end - 1]}…{safe[-end:]}"


def path(text: str) -> str:
    """A whole path at the beginning of a line: bare when it has only ordinary path characters, else quoted."""
    return text if _PLAIN_PATH.fullmatch(text) and "](" not in text else '"' + line(text).replace('"', "\\u{22}") + '"'


def numbered(text: str, first: int) -> Iterator[str]:
    """The lines of a file's content, each after its line number and a bar, so that none can pass for a line of
    sidecar's.

    `first` is the number of the first line.
    """
    for number, shown in enumerate(visible(text).split("\n"), first):
        yield f"{number}| {shown}".rstrip(" \t")


def as_json(value: object, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """JSON without hidden characters that parses back to the same value. Compact unless `indent` is given."""
    separators = None if indent else (",", ":")
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=separators)
    return _IN_BLOCK.sub(_escape, text)


def _number(match: re.Match[str]) -> str:
    return f"\\u{{{ord(match[0]):x}}}"


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"


def _broken(match: re.Match[str]) -> str:
    return {"`": "'", "//": "\\u{2f}/"}.get(match[0], " ")
