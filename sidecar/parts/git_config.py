"""Reads settings out of one of git's configuration files, without running git.

A working tree and its `.git/config` may come from strangers, so a file is read once from its beginning to its end:
nothing in it makes that take longer than its length does. `include` sections are not followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sidecar.small_files import read_small_file

_MAX_BYTES = 1024 * 1024
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def config_values(config: str | Path, key: str) -> list[str]:
    """Returns the values of a setting in their order in the file; none if the file is missing.

    `key` is written as git prints it: `core.excludesfile`, `remote.origin.url`. A line that git would refuse is
    skipped. Raises OSError, and TooLarge for a file of more than 1 MiB.
    """
    text = (read_small_file(config, _MAX_BYTES) or b"").decode("utf-8", "replace")
    return [value for name, value in _settings(text) if name == key]


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Yields each setting: its name with its section, and its value."""
    lines = iter(text.split("\n"))
    section = ""
    for line in lines:
        rest = line.strip()
        if rest.startswith("["):
            section, rest = _header(rest[1:])
        name, equals, value = rest.partition("=")
        name = name.strip().lower()
        if section and equals and not name.startswith(("#", ";")):
            yield f"{section}.{name}", _value(value, lines)


def _header(line: str) -> tuple[str, str]:
    """Returns the section that a line opens, and what follows on the line; no section if git would refuse it."""
    name, quote, rest = line.partition('"')
    if not quote or "]" in name:
        name, closed, rest = line.partition("]")
        return (name.strip().lower(), rest) if closed else ("", "")
    part: list[str] = []
    letters = iter(rest)
    for letter in letters:
        if letter == '"':
            break
        part.append(next(letters, "") if letter == "\\" else letter)
    between, closed, rest = "".join(letters).partition("]")
    return (f"{name.strip().lower()}.{''.join(part)}", rest) if closed and not between.strip() else ("", "")


def _value(first: str, lines: Iterator[str]) -> str:
    """Returns a value without its quotes, escapes and comment. A backslash at the end continues it on the next line."""
    found: list[str] = []
    kept, quoted = 0, False
    for letter, is_escaped in _letters(first.lstrip(), lines):
        if letter == '"' and not is_escaped:
            quoted = not quoted
            continue
        if letter in "#;" and not is_escaped and not quoted:
            break
        found.append(letter)
        if quoted or is_escaped or not letter.isspace():
            kept = len(found)
    return "".join(found[:kept])


def _letters(line: str, lines: Iterator[str]) -> Iterator[tuple[str, bool]]:
    """Yields the letters of a value, and whether each was written with a backslash before it."""
    goes_on = True
    while goes_on:
        letters = iter(line)
        goes_on = False
        for letter in letters:
            if letter != "\\":
                yield letter, False
            elif escaped := next(letters, ""):
                yield _ESCAPES.get(escaped, escaped), True
            else:
                goes_on = True
        if goes_on:
            line = next(lines, "").removesuffix("\r")
