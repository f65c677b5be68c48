r"""Makes foreign strings safe to show to a person, a terminal or a model: names, paths, queries, contents, clients.

Such strings are data. None may control a terminal, hide or reorder the text beside it, start a line of its own or
become a link. A character that cannot be seen is shown as its number, `\u{1b}`. Values that a program reads are JSON
and stay exact.
"""

from __future__ import annotations

import json
import re

LONGEST_QUOTE = 60
"""The maximum number of characters of a foreign string inside one of sidecar's sentences."""
LONGEST_PLACE = 240
"""The maximum number of characters of a path inside a sentence: enough to find the file."""
LONGEST_REASON = 400
"""The maximum number of characters, inside a sentence, of an error message from a library or the system."""

# Control characters, direction marks, zero-width characters, tags, surrogates, line ends other than \n. A variation
# selector is allowed after a symbol, whose look it chooses; elsewhere a run of selectors could carry hidden text.
_HIDDEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    r"\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\uffff"
    r"\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SYMBOLS = r"0-9#*\xa9\xae\u203c-\u3299\U0001f000-\U0001faff"
_SELECTOR = rf"(?<![{_SYMBOLS}])[\ufe0e\ufe0f]"
# A joiner is allowed where it shapes what can be seen: between two pictures, after an Arabic letter that joins the next
# one, and beside the sign that joins letters in the scripts of India. See RFC 5892, appendix A, for the letters.
_PICTURES = r"\u2190-\u2bff\U0001f000-\U0001faff"
_ARABIC = r"\u0620-\u064a\u066e-\u06d3\u06d5\u06fa-\u06ff\u0750-\u077f\u08a0-\u08c9"
_JOINING = (
    r"\u0620\u0626\u0628\u062a-\u062e\u0633-\u063f\u0641-\u0647\u0649\u064a\u066e\u066f\u0678-\u0687\u069a-\u06bf\u06c1\u06c2"
    r"\u06cc\u06ce\u06d0\u06d1\u06fa-\u06fc\u06ff\u0750-\u0758\u075c-\u076a"
)
_INDIC = r"\u0900-\u0dff"
_VIRAMA = r"\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
_SHAPING = rf"(?<=[{_JOINING}].)[{_ARABIC}]|(?<=[{_VIRAMA}].)[{_INDIC}]|(?<=[{_INDIC}].)[{_VIRAMA}]"
_JOINER = rf"\u200c(?!{_SHAPING})|\u200d(?!(?<=[{_PICTURES}\ufe0f].)[{_PICTURES}]|{_SHAPING})"
_IN_BLOCK = re.compile(rf"[{_HIDDEN}]|{_SELECTOR}|{_JOINER}")
_IN_ASCII_BLOCK = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
"""Finds the same in ASCII text in a tenth of the time, because it is one class of characters."""
_PLAIN_BLOCK = bytes(range(0x20, 0x7F)) + b"\t\n"
_IN_LINE = re.compile(rf"[{_HIDDEN}\n\t]|{_SELECTOR}|{_JOINER}")

# Places where text would become a link, a picture, HTML or code in Markdown, or a link in plain text.
_ACTIVE = re.compile(r"(?<=\])(?=[(\[:])|(?<=<)(?=[a-zA-Z/!?])|`|(?<=:)//")
# Characters that Markdown, or an editor's icons, treat as markup. A `_` inside a word is none.
_MARKS = re.compile(r"[*~`#|<>$\\!\[\]]+|(?<![^\W_])_+|_+(?![^\W_])|(?<=\bwww)\.|:(?=//)")
_LINK = re.compile(r"(?<=\])(?=\()")
_PLAIN_PATH = re.compile(r"[\w./@+~#%=,$&!^*{}()\[\]\\-]+")


def count(number: int, one: str, many: str = "") -> str:
    """Returns a number and its noun: `1 file`, `1,204 chunks`. `many` is the plural if it is not `one` and an s.

    This is the only function that turns a count into words; `tests/test_counts.py` finds others.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def only(number: int, one: str, many: str = "") -> str:
    """Returns a sentence on how few there are, such as `There is only 1 file.`, with a full stop."""
    return f"There {'is' if number == 1 else 'are'} only {count(number, one, many)}."


def so_far(step: str, done: int, total: int, unit: str = "file") -> str:
    """Returns how far a step has come: `Indexing: 1,204 of 4,312 files`."""
    return f"{step}: {done:,} of {count(total, unit)}"


def so_far_in_megabytes(step: str, done: int, total: int) -> str:
    """Returns how much of a download is there, from bytes: `Downloading the snapshot: 1.2 of 17.4 MB`."""
    return f"{step}: {done / 1e6:,.1f} of {total / 1e6:,.1f} MB"


def visible(text: str) -> str:
    """Returns `text` with every hidden character as its number; line ends and tabs stay. For contents."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return text if _is_plain_block(text) else _in_block(text).sub(_number, text)


def line(text: str) -> str:
    """Like `visible`, but on one line: line ends and tabs become numbers too."""
    return _IN_LINE.sub(_number, text)


def sentence(text: str) -> str:
    """Returns one of sidecar's sentences, which may contain foreign strings, as one line in which none of them becomes
    a link."""
    return _LINK.sub(" ", line(text))


def quoted(text: str, most: int = LONGEST_QUOTE) -> str:
    """Returns a foreign string for use inside a sentence: one line between quotation marks, without Markdown and links.

    If the string has more than `most` characters, its middle is left out.
    """
    return '"' + short(_ACTIVE.sub(_broken, line(text)).replace('"', "'"), most) + '"'


def named(text: str) -> str:
    """Returns a foreign string for a question: `quoted`, and without Markdown's marks, which some surfaces render."""
    plain = re.sub(" +", " ", _MARKS.sub(" ", text)).strip(" ")
    return quoted(plain or text)


def place(path: object) -> str:
    """Returns a path or the name of a file for use inside a sentence: quoted, and whole unless it is very long."""
    return quoted(str(path), LONGEST_PLACE)


def reason(said: object) -> str:
    """Returns an error message from a library or the system for use inside a sentence: one line of limited length."""
    return short(str(said), LONGEST_REASON)


def short(text: str, most: int = LONGEST_QUOTE) -> str:
    """Returns a foreign string to be shown on its own, such as a client's name: a `sentence` of at most `most`
    characters."""
    safe = sentence(text)
    end = most // 2
    return safe if len(safe) <= most else f"{safe[: most - end - 1]}…{safe[-end:]}"


def path(text: str) -> str:
    """Returns a whole path for the beginning of a line: bare if it has only ordinary path characters, otherwise
    quoted."""
    return text if _PLAIN_PATH.fullmatch(text) and "](" not in text else '"' + line(text).replace('"', "\\u{22}") + '"'


def numbered(text: str, first: int) -> list[str]:
    """Returns the lines of a file's content that are not blank, each after its line number and a space, so that none
    can pass for a line of sidecar's.

    `first` is the number of the first line. A language model pays a token for a bar after the number, and up to three
    for a blank line.
    """
    lines = enumerate(visible(text).split("\n"), first)
    return [f"{number} {kept}" for number, shown in lines if (kept := shown.rstrip(" \t"))]


def as_json(value: object, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """Returns JSON without hidden characters that parses back to the same value. It is compact unless `indent` is
    given."""
    separators = None if indent else (",", ":")
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=separators)
    return _in_block(text).sub(_escape, text)


def _is_plain_block(text: str) -> bool:
    """Whether a text is ASCII and has nothing to hide, found in a tenth of the time that the expression takes."""
    return text.isascii() and not text.encode("ascii").translate(None, _PLAIN_BLOCK)


def _in_block(text: str) -> re.Pattern[str]:
    return _IN_ASCII_BLOCK if text.isascii() else _IN_BLOCK


def _number(match: re.Match[str]) -> str:
    return f"\\u{{{ord(match[0]):x}}}"


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"


def _broken(match: re.Match[str]) -> str:
    return {"`": "'", "//": "\\u{2f}/"}.get(match[0], " ")
