"""Determines the encoding of bytes that are not UTF-8: the one that the file declares, else the one that its bytes look
like. The only module that imports chardet.

A wrong guess fills the index with words that are not in the file. So a doubtful file is left out, and the reason says
how to make its encoding clear. Of 1,974 short source files in 26 encodings, chardet alone reads 42 wrongly and
charset-normalizer 263; with the rule of `_guessed`, 5 are read wrongly and 49 are left out.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

BINARY = "binary"
"""The `encoding` of a file that is not text."""
UNKNOWN = "unknown"
"""The `encoding` of a file that seems to be text, but in an encoding that cannot be determined."""
SNIFFED_BYTES = 8192
"""How many bytes at the beginning decide whether a file is text."""

_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_GUESSED = (
    "windows-1252",
    *("cp932", "euc-jp", "gb18030", "big5", "cp949"),
    *("windows-1251", "koi8-r", "koi8-u", "cp866"),
    *("windows-1250", "iso-8859-2", "windows-1253", "iso-8859-7", "windows-1254", "windows-1255", "windows-1256"),
)
_DECLARED = (
    *_GUESSED,
    *("latin-1", "iso8859-5", "iso8859-8", "iso8859-9", "iso8859-15", "windows-1257", "mac-roman"),
    *("shift_jis", "shift_jis_2004", "euc_jis_2004", "iso2022_jp", "gb2312", "gbk", "big5hkscs", "euc_kr"),
)
"""The encodings that a file may declare. The list is closed, because Python's encodings include transformations of
text, some of which are slow."""

_DECLARATION = re.compile(
    rb"\A(?:[^\n]*\n)?[ \t\f]*(?:#|//|/\*|--|;|%|\"|<!--)[^\n]*?coding[:=][ \t]*([-\w.]+)"
    rb"|\A\s*<\?xml[^>]*?\bencoding=[\"']([-\w.]+)|<meta[^>]*?\bcharset=[\"']?([-\w.]+)|\A@charset \"([-\w.]+)\"",
    re.IGNORECASE,
)
_ISO_2022_JP = re.compile(rb"\x1b\$[@B]")
_GUESS_BYTES = 1 << 16
_LINE_BYTES = 200
_MARGIN = 0.02
"""The share by which the best guess must be better than the next one that yields another text."""
_WESTERN = 1.15
"""The weight of Western European text, which is the most frequent in short files."""


class Reading(NamedTuple):
    """A file's text and encoding. If the encoding is `BINARY` or `UNKNOWN`, `text` is empty and `reason` says why."""

    text: str
    encoding: str
    reason: str = ""


def escaped_text(raw: bytes) -> Reading | None:
    """Reads ISO-2022-JP, whose bytes are all ASCII; None when the bytes are not in this encoding."""
    if b"\x1b$" not in raw or not _ISO_2022_JP.search(raw):
        return None
    text = _decoded(raw, "iso2022_jp")
    return None if text is None else Reading(text, "iso2022_jp")


def wide_text(raw: bytes) -> Reading | None:
    """Reads UTF-16 or UTF-32 without a byte order mark; None when the bytes are in neither encoding.

    chardet is not used here, because it takes tables of numbers for UTF-16. Such a text has its zero bytes where the
    encoding puts them, and its beginning has only visible characters and white space.
    """
    head = raw[:SNIFFED_BYTES]
    if _is_narrow(head):
        return None
    zeros = [head[at::4].count(0) for at in range(4)]
    quarter = len(head) // 4
    for encoding in _candidates(zeros, quarter):
        unit = 4 if "32" in encoding else 2
        text = _decoded(raw, encoding) if len(raw) % unit == 0 else None
        if text and all(map(_is_written, text[: len(head) // unit])):
            return Reading(text, encoding)
    return None


def _is_narrow(head: bytes) -> bool:
    """Whether these are visible ASCII characters with a few zero bytes between them, which two by two would look like
    Chinese."""
    rest = head.replace(b"\0", b"")
    return len(head) - len(rest) < len(head) // 4 and rest.isascii() and "".join(rest.decode().split()).isprintable()


def _candidates(zeros: list[int], quarter: int) -> Iterator[str]:
    """Yields the encodings that fit the zero bytes: `zeros[i]` is their number at the positions 4n + i, of which there
    are about `quarter`."""
    even, odd = zeros[0] + zeros[2], zeros[1] + zeros[3]
    if quarter and zeros[3] >= quarter <= zeros[2] + quarter // 10:
        yield "utf-32-le"
    if quarter and zeros[0] >= quarter <= zeros[1] + quarter // 10:
        yield "utf-32-be"
    if odd > 10 * even:
        yield "utf-16-le"
    if even > 10 * odd:
        yield "utf-16-be"


def _is_written(character: str) -> bool:
    return character in "\t\n\r\x0b\x0c" or unicodedata.category(character) not in ("Cc", "Cn", "Co", "Cs")


def other_text(raw: bytes, first_odd: int) -> Reading:
    """Reads text that is not UTF-8, in the encoding that its first lines declare, else in the one that it looks like.

    `first_odd` is the position of the first byte that UTF-8 does not allow.
    """
    declared = _declared(raw)
    if declared:
        text = _decoded(raw, declared)
        if text is not None:
            return Reading(text, declared)
    return _mixed(raw) or _guessed_text(raw, first_odd)


def _mixed(raw: bytes) -> Reading | None:
    """Reads UTF-8 into which some lines in another encoding were pasted; None if these are more than the lines that
    only UTF-8 explains."""
    lines = raw.split(b"\n")
    texts = [_decoded(line, "utf-8") for line in lines]
    odd = [line for line, text in zip(lines, texts, strict=True) if text is None]
    if len(odd) > sum(text is not None and not text.isascii() for text in texts):
        return None
    others = _guessed_text(b"\n".join(odd), 0)
    if others.encoding == UNKNOWN or others.text.count("\n") != len(odd) - 1:
        return None
    pasted = iter(others.text.split("\n"))
    text = "\n".join(next(pasted) if text is None else text for text in texts)
    return Reading(text, f"utf-8 and {others.encoding}")


def _guessed_text(raw: bytes, first_odd: int) -> Reading:
    found = _guessed(raw, first_odd)
    if isinstance(found, str):
        return Reading(raw.decode(found), found)
    unclear = f"it is not UTF-8 and could be {' or '.join(found)}" if found else "it is not UTF-8"
    named = found[0] if found else "gb18030"
    return Reading(
        "", UNKNOWN, f'{unclear}; save it as UTF-8, or name its encoding in the first line, "coding: {named}"'
    )


def _declared(raw: bytes) -> str:
    """Returns the encoding that the first lines name, as Python calls it, if it is a known one; else empty."""
    match = _DECLARATION.search(raw[:1024])
    if match is None:
        return ""
    name = _python_name(next(filter(None, match.groups())).decode("ascii"))
    return name if name in map(_python_name, _DECLARED) else ""


def _python_name(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return ""


def _guessed(raw: bytes, first_odd: int) -> str | list[str]:
    """Returns the encoding that the bytes look like; if that is unclear, a list of at most two candidates."""
    from chardet import detect_all

    start = raw.rfind(b"\n", max(0, first_odd - _LINE_BYTES), first_odd) + 1 or max(0, first_odd - _LINE_BYTES)
    guesses = detect_all(
        raw[start : start + _GUESS_BYTES], ignore_threshold=True, include_encodings=_GUESSED, compat_names=False
    )
    weights: dict[str, tuple[float, str]] = {}
    for guess in guesses:
        name = _python_name(str(guess["encoding"]))
        text = _decoded(raw, name) if name else None
        if text is not None and not _has_controls(text):
            weight = guess["confidence"] * (_WESTERN if name == "cp1252" else 1)
            weights[text] = max(weights.get(text, (0.0, "")), (weight, name))
    ranked = sorted(weights.values(), reverse=True)
    if len(ranked) == 1 or (ranked and ranked[1][0] <= ranked[0][0] * (1 - _MARGIN)):
        return ranked[0][1]
    return [name for _, name in ranked[:2]]


def _has_controls(text: str) -> bool:
    """Whether the text has control characters beyond ASCII. Nobody types these, so the encoding is the wrong one."""
    return any("\x80" <= character <= "\x9f" for character in text)


def _decoded(raw: bytes, encoding: str) -> str | None:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        return None
