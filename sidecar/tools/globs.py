"""Limits on a caller's glob, checked before the engine sees it. Matching is the engine's."""

from __future__ import annotations

from sidecar.errors import InvalidPattern

MAX_LENGTH = 200
MAX_WILDCARDS = 10
MAX_BRACE_GROUPS = 5
MAX_BRACE_ITEMS = 20
_CLOSES = {"]": "[", "}": "{"}


def check_glob(pattern: str) -> None:
    """Raises `InvalidPattern` for a glob that is malformed or could cost more than it is worth."""
    if not pattern.strip():
        raise InvalidPattern('It is empty; an example is "**/*.py".')
    if "\0" in pattern:
        raise InvalidPattern("It contains a NUL character.")
    plain = _without_escapes(pattern)
    _check_brackets(pattern, plain)
    wildcards = plain.replace("**", "*").count("*") + plain.count("?")
    if wildcards > MAX_WILDCARDS:
        raise InvalidPattern(f"It has {wildcards} wildcards; at most {MAX_WILDCARDS} are allowed.")
    _check_braces(plain)


def _without_escapes(pattern: str) -> str:
    plain: list[str] = []
    skip = False
    for letter in pattern:
        if skip:
            skip = False
        elif letter == "\\":
            skip = True
        else:
            plain.append(letter)
    if skip:
        raise InvalidPattern(f'"{pattern}" ends in a backslash that escapes nothing; path separators are "/".')
    return "".join(plain)


def _check_brackets(pattern: str, plain: str) -> None:
    """Every `[` and `{` is closed; inside `[...]` braces are letters."""
    open_brackets: list[str] = []
    for letter in plain:
        inside_set = open_brackets[-1:] == ["["]
        if inside_set and letter != "]":
            continue
        if letter in "[{":
            open_brackets.append(letter)
        elif letter in _CLOSES:
            _close(pattern, letter, open_brackets)
    if open_brackets:
        raise InvalidPattern(f'"{pattern}" opens a "{open_brackets[-1]}" that is never closed.')


def _close(pattern: str, letter: str, open_brackets: list[str]) -> None:
    if open_brackets[-1:] != [_CLOSES[letter]]:
        raise InvalidPattern(f'"{pattern}" closes a "{letter}" that was never opened.')
    open_brackets.pop()


def _check_braces(plain: str) -> None:
    groups = plain.count("{")
    if groups > MAX_BRACE_GROUPS:
        raise InvalidPattern(f"It has {groups} brace groups; at most {MAX_BRACE_GROUPS} are allowed.")
    if groups and plain.count(",") + groups > MAX_BRACE_ITEMS * groups:
        raise InvalidPattern(f"A brace group may list at most {MAX_BRACE_ITEMS} items.")
