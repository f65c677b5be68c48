"""Globs over relative paths: the limited ones from callers and configuration, and git's wildmatch.

Both become regular expressions without costly backtracking. What an ignore file does with a match is in `ignore`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from sidecar import errors, shown

MAX_GLOB_LENGTH = 200
MAX_GLOB_WILDCARDS = 10
MAX_GLOB_GROUPS = 5
MAX_GLOB_ITEMS = 20
MAX_GLOB_EXPANSIONS = 1000

_DRIVE = re.compile(r"^[A-Za-z]:")

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "\\x21-\\x7e",
    "lower": "a-z",
    "print": "\\x20-\\x7e",
    "punct": "\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e",
    "space": " \\t\\n\\r\\x0b\\x0c",
    "upper": "A-Z",
    "xdigit": "a-fA-F0-9",
}


@lru_cache(maxsize=512)
def compile_glob(pattern: str) -> Callable[[str], bool]:
    """Returns a predicate over relative paths.

    `*`, `?` and `[..]` stay within one folder, `**` crosses folders, `{a,b}` may be nested. Case-sensitive and anchored
    at the root; wildcards match dot-files. A match takes time proportional to the length of the path times that of the
    pattern: a star keeps its first match, which loses no match because only fixed-length pieces stand between stars.
    Raises InvalidPattern with the reason.
    """
    check_glob(pattern)
    expanded = list(_expand(pattern))
    if len(expanded) > MAX_GLOB_EXPANSIONS:
        raise errors.InvalidPattern(f"The braces stand for more than {MAX_GLOB_EXPANSIONS} patterns; use fewer.")
    bodies = [wildmatch(_whole(part)) for part in dict.fromkeys(expanded)]
    regex = re.compile("|".join(f"(?:{body})" for body in bodies if body is not None), re.DOTALL)

    def matches(path: str) -> bool:
        return regex.fullmatch(path) is not None

    return matches


def _whole(pattern: str) -> str:
    """Returns the pattern without a leading `./`. A trailing slash becomes `/**`: everything in the folder."""
    pattern = pattern.removeprefix("./")
    return f"{pattern}**" if pattern.endswith("/") else pattern


def check_glob(pattern: str) -> None:
    """Raises InvalidPattern unless the glob is well-formed and within its limits."""
    if not 1 <= len(pattern) <= MAX_GLOB_LENGTH:
        raise errors.InvalidPattern(f"A glob has 1 to {MAX_GLOB_LENGTH} characters; this one has {len(pattern)}.")
    if "\0" in pattern:
        raise errors.InvalidPattern("The glob contains a NUL character.")
    if pattern.startswith(("/", "\\\\")) or _DRIVE.match(pattern):
        raise errors.InvalidPattern("Globs are relative to the workspace; drop the leading slash or drive.")
    if ".." in pattern.split("/"):
        raise errors.InvalidPattern("A glob must not contain `..`.")
    _check_structure(pattern)


def _check_structure(pattern: str) -> None:
    tokens = list(_tokens(pattern))
    _check_braces(tokens)
    groups = tokens.count("{")
    if groups > MAX_GLOB_GROUPS:
        raise errors.InvalidPattern(f"A glob has at most {MAX_GLOB_GROUPS} brace groups; this one has {groups}.")
    wildcards = sum(token[0] in "*?" for token in tokens)
    if wildcards > MAX_GLOB_WILDCARDS:
        raise errors.InvalidPattern(f"A glob has at most {MAX_GLOB_WILDCARDS} wildcards; this one has {wildcards}.")


def _check_braces(tokens: list[str]) -> None:
    items: list[int] = []
    for token in tokens:
        if token == "{":
            items.append(1)
        elif token == "}":
            if not items:
                raise errors.InvalidPattern("Unbalanced braces: `}` without `{`.")
            items.pop()
        elif token == "," and items:
            items[-1] += 1
            if items[-1] > MAX_GLOB_ITEMS:
                raise errors.InvalidPattern(f"A brace group has at most {MAX_GLOB_ITEMS} items.")
    if items:
        raise errors.InvalidPattern("Unbalanced braces: `{` without `}`.")


def _tokens(pattern: str) -> Iterator[str]:
    r"""Yields the `\x` escapes, `[..]` sets, runs of stars, and single characters of a glob."""
    at = 0
    while at < len(pattern):
        end = _token_end(pattern, at)
        yield pattern[at:end]
        at = end


def _token_end(pattern: str, at: int) -> int:
    char = pattern[at]
    if char == "\\":
        if at + 1 == len(pattern):
            raise errors.InvalidPattern("The glob ends in a lone backslash.")
        return at + 2
    if char == "]":
        raise errors.InvalidPattern("Unbalanced brackets: `]` without `[`.")
    if char == "[":
        bracket = _bracket(pattern, at)
        if bracket is None:
            raise errors.InvalidPattern("Unbalanced brackets: `[` without `]`, or an empty or backward range.")
        return bracket[1]
    end = at + 1
    while char == "*" and pattern[end : end + 1] == "*":
        end += 1
    return end


def _expand(pattern: str) -> Iterator[str]:
    """Yields every brace-free pattern that a glob with braces stands for; stops just beyond the limit."""
    pending, done = [pattern], 0
    while pending and done <= MAX_GLOB_EXPANSIONS:
        current = pending.pop()
        group = _first_group(current)
        if group is None:
            done += 1
            yield current
        else:
            before, items, after = group
            pending.extend(f"{before}{item}{after}" for item in reversed(items))


def _first_group(pattern: str) -> tuple[str, list[str], str] | None:
    depth, before, items, at = 0, "", [""], 0
    for token in _tokens(pattern):
        at += len(token)
        if token == "{":
            depth += 1
            if depth == 1:
                continue
        elif token == "}":
            depth -= 1
            if depth == 0:
                return before, items, pattern[at:]
        if depth == 0:
            before += token
        elif depth == 1 and token == ",":
            items.append("")
        else:
            items[-1] += token
    return None


# ---------------------------------------------------------------- globs of the settings that are wrong


def glob_error(pattern: str) -> str:
    """Returns why a glob is wrong; empty if it is not."""
    try:
        compile_glob(pattern)
    except errors.InvalidPattern as error:
        return error.detail
    return ""


@lru_cache(maxsize=16)  # every question asks
def wrong_globs(include: tuple[str, ...], exclude: tuple[str, ...], documentation: tuple[str, ...] = ()) -> str:
    """Returns one sentence for each wrong glob of these settings, and what happens to the files that it may mean; empty
    if none is wrong. See `parts.walk` for the reason. A wrong glob of `docPatterns` only names no documentation."""
    chosen, docs = _wrong({"include": include, "exclude": exclude}), _wrong({"docPatterns": documentation})
    if chosen:
        chosen.append("Until that is mended, a file that it may mean is not added to the index.")
    return " ".join((*chosen, *docs))


def _wrong(settings: Mapping[str, Sequence[str]]) -> list[str]:
    return [
        f"The setting {setting} has {shown.quoted(pattern)}: {why}"
        for setting, patterns in settings.items()
        for pattern in patterns
        if (why := glob_error(pattern))
    ]


def literal_start(pattern: str) -> str:
    """Returns the text with which every path begins that a wrong glob may have been meant for."""
    plain = pattern.lstrip("./\\")
    if ".." in pattern.split("/") or _DRIVE.match(pattern) or "\0" in pattern:
        return ""
    return re.split(r"[*?\[\]{}\\]", plain, maxsplit=1)[0]


# ---------------------------------------------------------------- wildmatch, as git has it


def wildmatch(pattern: str) -> str | None:
    """Returns a regular expression (for `fullmatch` with DOTALL) that matches like git's wildmatch with WM_PATHNAME.

    None when the pattern can match nothing (an open bracket, a lone backslash at the end). Braces are ordinary
    characters. Source of the rules: git's wildmatch.c and gitignore(5). A star before another star is atomic, so the
    expression does not backtrack.
    """
    segments = _segments(pattern)
    groups: list[list[str]] = [[]]
    for segment in segments:
        if segment == "**":
            if len(groups) == 1 or groups[-1]:
                groups.append([])
            continue
        # No path has an empty segment, so such a pattern matches nothing.
        body = _segment(segment) if segment else None
        if body is None:
            return None
        groups[-1].append(body)
    return _join(["/".join(group) for group in groups])


def _join(groups: list[str]) -> str:
    first, rest = groups[0], groups[1:]
    if not rest:
        return first
    body = f"{first}/" if first else ""
    for group in rest[:-1]:
        body += f"(?>(?:[^/]+/)*?{group}/)" if group else ""
    return body + (f"(?:[^/]+/)*{rest[-1]}" if rest[-1] else ".+")


def _segments(pattern: str) -> list[str]:
    r"""Returns the pattern split at slashes (`\/` is one too) outside brackets.

    Segments of two or more stars become `**`, and adjacent ones are merged.
    """
    parts, start, at = [], 0, 0
    while at < len(pattern):
        end = _piece_end(pattern, at)
        if pattern[at:end] in ("/", "\\/"):
            parts.append(pattern[start:at])
            start = end
        at = end
    parts = ["**" if len(part) > 1 and not part.strip("*") else part for part in [*parts, pattern[start:]]]
    return [part for n, part in enumerate(parts) if part != "**" or n == 0 or parts[n - 1] != "**"]


def _piece_end(pattern: str, at: int) -> int:
    """Returns the end of the escape, set or character that starts at `at`."""
    if pattern[at] == "\\":
        return at + 2
    bracket = _bracket(pattern, at) if pattern[at] == "[" else None
    return bracket[1] if bracket else at + 1


def _segment(segment: str) -> str | None:
    """Returns the regular expression of one path segment; None if it matches nothing. It has fixed-length pieces
    between stars, of which all but the last are atomic."""
    pieces, at = [""], 0
    while at < len(segment):
        if segment[at] == "*":
            at += 1
            if pieces[-1] or len(pieces) == 1:
                pieces.append("")
            continue
        element = _element(segment, at)
        if element is None:
            return None
        pieces[-1] += element[0]
        at = element[1]
    if len(pieces) == 1:
        return pieces[0]
    middle = "".join(f"(?>[^/]*?{piece})" for piece in pieces[1:-1])
    return f"{'(?=[^/])' if not pieces[0] else ''}{pieces[0]}{middle}[^/]*{pieces[-1]}"


def _element(segment: str, at: int) -> tuple[str, int] | None:
    char = segment[at]
    if char == "\\":
        return (re.escape(segment[at + 1]), at + 2) if at + 1 < len(segment) else None
    if char == "[":
        return _bracket(segment, at)
    return ("[^/]" if char == "?" else re.escape(char)), at + 1


def _bracket(pattern: str, start: int) -> tuple[str, int] | None:
    """Returns the regular expression of the `[..]` that opens at `start`, and its end; None when it is malformed."""
    at = start + 1
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    body, first = "", True
    while at < len(pattern) and (first or pattern[at] != "]"):
        first = False
        member = _class_member(pattern, at) or _range_member(pattern, at)
        if member is None:
            return None
        body += member[0]
        at = member[1]
    if at >= len(pattern):
        return None
    if not body:
        return ("[^/]" if negated else "(?!)"), at + 1
    return (f"[^/{body}]" if negated else f"(?!/)[{body}]"), at + 1


def _class_member(pattern: str, at: int) -> tuple[str, int] | None:
    match = re.match(r"\[:([a-z]+):\]", pattern[at:])
    if not match or match[1] not in _CLASSES:
        return None
    return _CLASSES[match[1]], at + match.end()


def _range_member(pattern: str, at: int) -> tuple[str, int] | None:
    low, at = _member_char(pattern, at)
    if low is None:
        return None
    if pattern[at : at + 1] != "-" or pattern[at + 1 : at + 2] in ("", "]"):
        return re.escape(low), at
    high, at = _member_char(pattern, at + 1)
    if high is None:
        return None
    # In git, a backward range holds only its first character.
    return (f"{re.escape(low)}-{re.escape(high)}" if low <= high else re.escape(low)), at


def _member_char(pattern: str, at: int) -> tuple[str | None, int]:
    if pattern[at] == "\\":
        at += 1
    return (pattern[at], at + 1) if at < len(pattern) else (None, at)
