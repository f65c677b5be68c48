"""Long questions from histories: which commits become questions, and which parts of their messages are asked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sidecar.engine.search.rank.paths import path_facts
from sidecar.parts.classify import generated_reason, minified_reason
from sidecar.parts.languages import language_of

from .selection import LANGUAGES

Half = Literal["learn", "measure"]
LEAST_CHARS, MOST_CHARS = 200, 20_000
MOST_FILES = 5
_LEAST_ENGLISH = 0.1
"""Least share of `_ENGLISH`. English prose has 0.25 and more; program text and other languages have next to none."""
_ENGLISH = frozenset(
    "the of and to in is it that this for with when which are be was not but if an from as by on we so at than".split()
)
_FORMATTERS = "clang-format|prettier|gofmt|rustfmt|black|isort|ktlint|spotless|scalafmt|ormolu|fourmolu"
_KIND = r"(?:\w+(?:\([^)]*\))?:\s*)?"
_ROUTINE_TITLE = re.compile(
    "|".join(
        (
            r"revert\b|reapply\b",
            r"merge[ds]?\s+(?:branch|pull|remote|tag|commit|changes|from|')",
            r"(?:chore|build|fix)\(deps|deps?\b:|(?:\[?security\]?\s+)?bump(?:s|ed|ing)?\b",
            r"(?:update|upgrade)\s+(?:dependenc|(?:to\s+)?\S+\s+(?:from\s+\S+\s+)?to\s+(?:version\s+)?v?\d)",
            _KIND + r"(?:prepare|release|version|tag)\b[^a-z]*(?:for\b)?[^a-z]*(?:release\b)?[^a-z]*v?\d",
            _KIND + r"release$|\[(?:maven-release|gradle-release|release|ci\s+skip)|v?\d+(?:\.\d+)+\S*$",
            r"style\b[(:]|(?:re)?format(?:ting)?(?:\s+(?:the|all|code|with|using|files?)\b|$)",
            rf"(?:run|apply|use|fix)?\s*\b(?:{_FORMATTERS})$|(?:run\s+)?(?:cargo|go|mix|zig|dart)\s+fmt\b",
            r"(?:fix|address|resolve|clean\s*up)\s+(?:\w+\s+)?(?:lint(?:er|ing)?|typos?)\b",
            r"(?:fix|remove|clean\s*up|strip)\s+(?:\w+\s+)?whitespace\b",
            r"update\s+(?:the\s+)?(?:copyright|licen[cs]e|changelog|translations?)",
        )
    ),
    re.IGNORECASE,
)
_ROBOT = re.compile(
    r"\[bot\]|\b(?:dependabot|renovate|greenkeeper|snyk|weblate|scala[- ]steward)\b|-bot\b", re.IGNORECASE
)
_LEFT_OUT_BODY = re.compile(
    r"^\s*(?:this reverts commit\b|squashed commit of the following|commit [0-9a-f]{12,40}$"
    r"|bumps \[|sourced from \[|<details>|#+ *(?:what's changed|changelog\b|release notes\b))",
    re.IGNORECASE | re.MULTILINE,
)
_ISSUE = r"(?:(?:[\w.-]+/[\w.-]+)?(?:#|gh-)\d+|https?://\S+|[A-Z][A-Z0-9]+-\d+)"
_ABOUT_ISSUES = re.compile(
    r"(?:(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|references?|related(?: to)?|part of|addresses|see(?: also)?"
    r"|issues?|bugs?|links?|pr|backport of|follow[- ]up (?:to|of)|updates)\b\s*[:=]?\s*)?"
    rf"{_ISSUE}(?:(?:\s*,\s*|\s+|\s+and\s+)(?:\w+\s+)?{_ISSUE})*\s*\.?",
    re.IGNORECASE,
)
_TRAILER = re.compile(
    r"\(cherry[- ]picked from .*|git-svn-id:.*|[Cc][Cc]:.*|[A-Z][\w-]*-(?:[bB]y|[tT]o|[iI]d|[oO]f):.*"
    r"|(?:PiperOrigin-RevId|GitOrigin-RevId|Change-Id|Differential Revision|Pull Request|Original-Commit-Hash"
    r"|Message-Id|RELNOTES?|BUG|TEST|JIRA|CRs?-?\w*)\s*[:=].*"
    r"|(?:Fixes|Closes|Resolves|Refs|Link|Bug|Issue|See)\s*:\s*\S+|[\w.-]+:\s*#\d+",
)
_COMMIT_LISTED = re.compile(r"^\* \S.*$")
_LISTED = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+(.*)$")
_CHANGE_LISTED = re.compile(
    r"^(?:`?[0-9a-f]{7,40}`?\s|\[?#\d+)"
    r"|(?:\(#\d+\)|\[#?\d+\]\([^)]*\)|/pull/\d+|\(`?[0-9a-f]{7,40}`?\))\)?\.?$"
)
_NOT_OURS = re.compile(
    r"(?:^|/)(?:vendor(?:ed)?|node_modules|third[-_]?party|dist|generated|locales?|i18n)/", re.IGNORECASE
)
_PATH_ALONE = re.compile(r"\s*(?:[-*+]\s+)?`?(?=\S*[a-z])((?:[\w.@+-]+/)*[\w.@+-]+\.[A-Za-z]\w{0,9})`?\s*[:,;.]?\s*")
_BEFORE_TITLE = re.compile(r"^(?:\[[^\]]*\]\s*|[\w./,*+-]+(?:\([^)]*\))?!?:\s+)+")
_NUMBERS_OF_TITLE = re.compile(r"\s*[(\[]?(?:#|GH-)\d+[)\]]?")


@dataclass(frozen=True)
class Question:
    """A commit that is asked. `title` is as it was written, `body` is without the parts that are not asked, and
    `question` is the text that is asked. `files` are the code files that it changed, its answers; `tests` those tests
    that it changed."""

    title: str
    body: str
    question: str
    files: tuple[str, ...]
    tests: tuple[str, ...]


def half_of(name: str, measured: Collection[str]) -> Half:
    """Whether the repository `owner/name` is learnt from or measured on.

    Those in `measured` are measured on; of others a hash of the name decides.
    """
    if name.lower() in {other.lower() for other in measured}:
        return "measure"
    return "measure" if hashlib.sha256(name.lower().encode()).digest()[0] % 2 else "learn"


def question_of(message: str, changed: Sequence[tuple[str, str]], author: str) -> Question | None:
    """The question that a commit asks; None if it is left out.

    `changed` are its files with git's letter for what was done to each (`M`, `A`, `D`), `author` is a name.
    """
    files, tests = changed_code(changed)
    asked = asked_by(message, author) if files else None
    named = {part for _, path in changed for part in (path, path.rpartition("/")[2])}
    if asked is None or any(_tells_file(line, named) for line in _divided(message)[1].split("\n")):
        return None
    return replace(asked, files=files, tests=tests)


def asked_by(message: str, author: str) -> Question | None:
    """The question in a commit's message alone, without files; None if it is left out. `author` is a name."""
    title, rest = _divided(message)
    if is_routine(title, author) or is_generated(rest):
        return None
    body = cleaned(rest)
    if not LEAST_CHARS <= len(body) <= MOST_CHARS or not is_english(body):
        return None
    asked = _NUMBERS_OF_TITLE.sub("", _BEFORE_TITLE.sub("", title, count=1)).strip()
    return Question(title, body, f"{asked}\n\n{body}".strip(), (), ())


def is_routine(title: str, author: str) -> bool:
    """Whether a robot made the commit, or its title is that of a release, a merge, an update or the like."""
    return bool(_ROBOT.search(author) or _ROUTINE_TITLE.match(title.strip()))


def _divided(message: str) -> tuple[str, str]:
    """Returns the first line of a message and the others, with line ends of Unix."""
    title, _, rest = message.replace("\r\n", "\n").replace("\r", "\n").strip().partition("\n")
    return title, rest


def changed_code(changed: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the changed code files, none if there are more than `MOST_FILES`, and the changed tests. A new file is no
    answer, because the tree before the commit does not have it."""
    code = [(done, path) for done, path in changed if is_code(path) and not is_beside(path)]
    files = tuple(path for done, path in code if done == "M") if len(code) <= MOST_FILES else ()
    return files, tuple(path for done, path in changed if done == "M" and is_code(path) and path_facts(path).test)


def is_code(path: str) -> bool:
    """Returns whether the file is one that people write in a programming language; tests and examples are such
    files."""
    language = language_of(path)
    by_hand = not _NOT_OURS.search(path) and not generated_reason(path, "") and not minified_reason(path, "")
    return by_hand and language in LANGUAGES and language != "markdown"


def is_beside(path: str) -> bool:
    """Whether the path is that of a test or an example, beside the code that a question is about."""
    facts = path_facts(path)
    return bool(facts.test or facts.example)


def is_generated(body: str) -> bool:
    """Whether a program wrote the body: a revert, a list of squashed commits, a list of changes."""
    if _LEFT_OUT_BODY.search(body):
        return True
    paragraphs = re.split(r"\n\s*\n", body.strip())
    if sum(_COMMIT_LISTED.fullmatch(paragraph) is not None for paragraph in paragraphs) >= 2:
        return True
    rows = [row[1] for row in map(_LISTED.match, body.split("\n")) if row]
    changes = sum(_CHANGE_LISTED.search(row) is not None for row in rows)
    return changes >= 3 and changes * 2 >= len(rows)


def _tells_file(line: str, named: Collection[str]) -> bool:
    """Returns whether the line belongs to a list of changed files."""
    row = re.match(r"\s*[-*]\s+`?([\w./@+-]+)`?(?:\s*\([^)]*\))?\s*:(.*)", line)
    return row is not None and row[1] in named and bool(row[2].strip())


def cleaned(body: str) -> str:
    """The body without trailers, lines that only name issues, and lines that are a path alone."""
    lines = [line.rstrip() for line in body.split("\n")]
    kept = [line for line in lines if not _says_nothing(line.strip())]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")


def _says_nothing(line: str) -> bool:
    return any(pattern.fullmatch(line) for pattern in (_TRAILER, _ABOUT_ISSUES, _PATH_ALONE))


def is_english(text: str) -> bool:
    """Returns whether enough of the words are common English words."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    letters = sum(c.isalpha() for c in text)
    if not words or sum(c.isalpha() and c.isascii() for c in text) < 0.9 * letters:
        return False
    return sum(word in _ENGLISH for word in words) >= _LEAST_ENGLISH * len(words)
