"""Reads git's ignore files and `.sidecarignore`, and finds the line that decides about a path.

The library pathspec turns the lines into regular expressions. Where it reads a line differently from git, the line is
rewritten first (`_as_pathspec_reads`); `_strict` makes the expressions match exactly one path and never backtrack,
because an ignore file may come from a stranger. Three differences from git remain: inside brackets a backslash stands
for itself, a `/` ends the bracket, and a line with a backward range (`[z-a]`) is ignored.

`deny` has the deny list; `walk` has the configuration's globs and the order of all rules.
"""

from __future__ import annotations

import os
import re
import unicodedata
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, overload

from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from sidecar.locks import Rank, make_lock
from sidecar.model.files import Decision, Rule
from sidecar.parts.git_places import info_exclude, repository_above, user_ignore_file
from sidecar.parts.pattern_index import MAX_RULES_BYTES, Glob, PatternIndex, TooManyRules, in_slices, piece_of
from sidecar.small_files import TooLarge, read_small_file, stat_if_there

GITIGNORE = ".gitignore"
SIDECARIGNORE = ".sidecarignore"
MAX_LINE = 4096
"""Lines with more characters are ignored."""
MAX_KEPT_BYTES = 1024 * 1024
"""The maximum total size in bytes of the texts whose parsed patterns are kept. A megabyte of lines takes about 35 MB of
memory."""
_LEAST_WEIGHT = 1024
"""The bytes that each text counts in addition to its size."""

# The classes leave out `/`, which no bracket matches. None begins with `!` or `^`, which would negate the bracket.
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \t",
    "cntrl": "\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "0-~!-.",
    "lower": "a-z",
    "print": "0-~ -.",
    "punct": ":-@!-.[-`{-~",
    "space": " \t\n\r\x0b\x0c",
    "upper": "A-Z",
    "xdigit": "a-fA-F0-9",
}


# ---------------------------------------------------------------- one file


class Pattern(NamedTuple):
    """One line of an ignore file that is a pattern. `line` is its number, 1-based."""

    line: int
    text: str

    @property
    def negated(self) -> bool:
        """Whether the pattern re-includes what it matches."""
        return self.text.startswith("!")

    @property
    def glob(self) -> Glob:
        """The pattern in the form that `PatternIndex` needs."""
        glob = self.text.removeprefix("!")
        body = glob.removesuffix("/")
        return Glob(piece_of(body), body != glob, self.text)


class Patterns(Sequence[Pattern]):
    """The patterns of one text, in order. Thread-safe. The constructor raises TooManyRules."""

    def __init__(self, found: Iterable[Pattern]) -> None:
        self._texts: list[str] = []
        self._lines = array("l")
        self._index = PatternIndex(self._kept(found), regex_of)

    def _kept(self, found: Iterable[Pattern]) -> Iterator[Glob]:
        for pattern in found:
            self._lines.append(pattern.line)
            self._texts.append(pattern.text)
            yield pattern.glob

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, at: int) -> Pattern: ...

    @overload
    def __getitem__(self, at: slice) -> list[Pattern]: ...

    def __getitem__(self, at: int | slice) -> Pattern | list[Pattern]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        return Pattern(self._lines[at], self._texts[at])

    def last_match(self, path: str, is_folder: bool) -> Pattern | None:
        """Returns the last pattern that matches exactly this path; None when no pattern matches."""
        index = self._index.last_match(path, is_folder)
        return None if index is None else self[index]


class RuleFile:
    """One ignore file and its place in relation to the root.

    `prefix` converts a path relative to the root into one relative to this file. It is cut off the front of the path (a
    file at or below the root) or, with `outer`, put in front of it (a file above the root).
    """

    def __init__(self, label: str, prefix: str, patterns: Patterns, outer: bool = False) -> None:
        self.label = label
        self.patterns = patterns
        self._prefix = prefix
        self._outer = outer

    def last_match(self, path: str, is_folder: bool) -> Pattern | None:
        """Returns the pattern that decides about a path relative to the root; None when no pattern matches."""
        return self.last_match_below(self._prefix + path if self._outer else path[len(self._prefix) :], is_folder)

    def last_match_below(self, local: str, is_folder: bool) -> Pattern | None:
        """Returns the last pattern that matches exactly this path, relative to the file; None when no pattern matches.

        The folders above the path have to be tested separately, first.
        """
        return self.patterns.last_match(local, is_folder)


def parse_patterns(text: str) -> Patterns:
    """Returns the patterns of an ignore file. A malformed pattern matches nothing and does not affect the others.

    Raises TooManyRules.
    """
    lines = unicodedata.normalize("NFC", text.removeprefix("\ufeff")).split("\n")
    numbered = enumerate(in_slices(lines), 1)
    return Patterns(Pattern(number, text) for number, line in numbered if (text := _pattern_of(line)))


def _pattern_of(line: str) -> str:
    """Returns the pattern of one line; empty when it has none."""
    text = _without_trailing_spaces(line.removesuffix("\r"))
    if text.startswith("#") or len(text) > MAX_LINE or not text.removeprefix("!").strip("/"):
        return ""
    return text


class ParsedPatterns:
    """Parses each text of patterns once for all callers and threads.

    Keeps the texts that were requested last, `MAX_KEPT_BYTES` in all, or one text that is larger.
    """

    def __init__(self, parse: Callable[[str], Patterns] = parse_patterns) -> None:
        self._parse = parse
        self._lock = make_lock(Rank.PARSED_PATTERNS)
        self._texts: OrderedDict[bytes, _Text] = OrderedDict()
        self._weight = 0

    def of(self, content: bytes) -> Patterns:
        """Returns the patterns of a file with this content. Raises TooManyRules."""
        key = sha256(content).digest()
        with self._lock:
            text = self._texts.get(key) or self._with(key, _Text(len(content)))
            self._texts.move_to_end(key)
        return text.parsed(content, self._parse)

    def _with(self, key: bytes, text: _Text) -> _Text:
        self._texts[key] = text
        self._weight += text.weight
        while self._weight > MAX_KEPT_BYTES and len(self._texts) > 1:
            self._weight -= self._texts.popitem(last=False)[1].weight
        return text


class _Text:
    """One text, parsed by the first thread that needs its patterns, while the others wait. `size` is in bytes."""

    def __init__(self, size: int) -> None:
        self.weight = size + _LEAST_WEIGHT
        self._lock = make_lock(Rank.PARSING_PATTERNS)
        self._result: Patterns | TooManyRules | None = None

    def parsed(self, content: bytes, parse: Callable[[str], Patterns]) -> Patterns:
        with self._lock:
            if self._result is None:
                try:
                    self._result = parse(content.decode("utf-8", "surrogateescape"))
                except TooManyRules as error:
                    self._result = TooManyRules(*error.args)
            if isinstance(self._result, TooManyRules):
                raise TooManyRules(*self._result.args)
            return self._result


def regex_of(text: str) -> str:
    """Returns the regular expression of one line. Raises ValueError when the line matches nothing."""
    found, _ = GitIgnoreSpecPattern.pattern_to_regex(_as_pathspec_reads(text))
    if not found:
        raise GitIgnorePatternError(text)
    return _strict(found)


def _as_pathspec_reads(text: str) -> str:
    """Returns the line rewritten so that pathspec 1.1 reads it as git reads the original.

    `a/**` matches what is in `a`, not `a` itself; `[[:alpha:]]` is a character class; `*` alone matches one name;
    trailing white space other than spaces is part of the name.
    """
    text = re.sub(r"(?<![^/!])\*{2,}(?![^/])", "**", text)
    text = re.sub(r"/\*\*(/?)$", r"/**/?*\1", text)
    text = re.sub(r"^(!?/?(?:\*\*/)*)\*+(/?)$", r"\1?*\2", text)
    if "[:" in text:
        text = re.sub(r"\\.|\[[!^]?\]?(?:\[:[a-z]+:\]|[^\]])*+\]|\[.*", _with_ranges, text, flags=re.DOTALL)
    if text[-1].isspace() and text[-1] != " " and "[" not in text:
        text = f"{text[:-1]}[{text[-1]}]"
    return text


def _with_ranges(found: re.Match[str]) -> str:
    """Returns a bracket expression with its named classes spelled out. An escaped character is returned unchanged."""
    whole = found[0]
    return re.sub(r"\[:([a-z]+):\]", lambda name: _CLASSES.get(name[1], name[0]), whole) if whole[0] == "[" else whole


def _strict(regex: str) -> str:
    """Returns pathspec's expression, changed to match exactly the path and nothing below it, in bounded time.

    A star (or `**`) before another one keeps its first match. Only fixed-length pieces stand between them, so no match
    is lost. Brackets stay as they are, because every piece replaced here has a `/` and no bracket of pathspec's
    expressions does.
    """
    regex = regex.replace("(?:(?P<ps_d>/)|$)", "/?$").replace("(?P<ps_d>/)", "/$")
    regex = re.sub(r"\\.|\[(\^?)(\]?)([^\]]*)\]|\[.*", _set, regex.removesuffix("$"), flags=re.DOTALL) + r"\Z"
    *groups, last = regex.split("(?:/.+)?")
    if groups:
        groups[0] = groups[0].replace("(?:.+/)?", "(?:[^/]+/)*?")
    groups = [f"(?>{'(?:/[^/]+)*?' if at else ''}{group}(?=/))" for at, group in enumerate(groups)]
    return _with_atomic_stars("".join(groups) + ("(?:/.+)?" if groups else "") + last)


def _set(found: re.Match[str]) -> str:
    """Returns a set with git's meaning: a negated one excludes `/`, and characters that later versions of Python may
    read as set operations are escaped.
    """
    if found[3] is None or found[0] == "[^/]":
        return found[0]
    members = re.sub(r"([\[&~|])", r"\\\1", found[3])
    return f"[^{found[2]}/{members}]" if found[1] else f"[{found[2]}{members}]"


_ESCAPE_OR_SET = re.compile(r"\\.|\[\^?\]?[^\]]*+(?:\]|\Z)", re.DOTALL)


def _with_atomic_stars(regex: str) -> str:
    first, *pieces = regex.split("[^/]*")
    body = first
    for at, piece in enumerate(pieces, 1):
        before_a_star = at < len(pieces) and "/" not in _ESCAPE_OR_SET.sub("", piece)
        if not before_a_star:
            body += f"[^/]*{piece}"
        elif piece:
            body += f"(?>[^/]*?{piece})"
    return body


def _without_trailing_spaces(line: str) -> str:
    """Removes trailing spaces, except one that a backslash escapes."""
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if backslashes % 2 and len(stripped) < len(line) else stripped


# ---------------------------------------------------------------- the ignore files that apply to a folder


@dataclass(frozen=True, slots=True)
class Level:
    """The ignore files of one folder, linked to the levels of the folders above.

    A folder without any shares its parent's level.
    """

    outer: Level | None
    git: tuple[RuleFile, ...]
    sidecar: RuleFile | None


class IgnoreRules:
    """All ignore files that apply below one root. Reads each file once, and again when its stat changes.

    `global_ignore`: the path of the user's ignore file, "" for none, None to find it as git does. `patterns` parses the
    files' contents.

    A file that cannot be read does not count as empty: `outermost` and `level` raise OSError, which names the file, or
    TooManyRules. A path that is not a regular file, or is a link inside the tree, counts as missing; git does not
    follow such links either.
    """

    def __init__(
        self,
        root: str,
        respect_gitignore: bool = True,
        global_ignore: str | None = None,
        environment: Mapping[str, str] | None = None,
        patterns: ParsedPatterns | None = None,
    ) -> None:
        self._patterns = patterns or ParsedPatterns()
        self._root = root
        self._respect = respect_gitignore
        self._parsed: dict[str, tuple[tuple[int, int, int], RuleFile | TooManyRules | None]] = {}
        self._global = global_ignore
        self._environment = os.environ if environment is None else environment

    def outermost(self) -> Level:
        """Returns the rules from outside the root that apply to its entries: those of the folders above it, of
        info/exclude and of the global ignore file.

        If the rules of the folders above ignore the root itself, they do not count: the user has opened it on purpose.
        """
        git: list[RuleFile] = []
        if self._respect:
            git = self._above()
            top = repository_above(self._root)
            if top:
                prefix = _prefix_below(top, self._root)
                git.append(self._load(_exclude_of(top), ".git/info/exclude", prefix, outer=True) or _NOTHING)
            git.append(self._users() or _NOTHING)
        return Level(None, tuple(rules for rules in git if rules.patterns), None)

    def _users(self) -> RuleFile | None:
        try:
            place = user_ignore_file(self._environment) if self._global is None else self._global
            return self._load(place, "global ignore file", "", outer=True)
        except PermissionError:  # git ignores a global file that this user may not read
            return None
        except TooLarge as error:
            raise TooManyRules(f"the git configuration file of this user is not applied: {error}") from error

    def _above(self) -> list[RuleFile]:
        top = repository_above(self._root)
        if not top or top == self._root:
            return []
        files, folder = [], Path(self._root).parent
        while True:
            steps = "../" * (len(Path(self._root).parts) - len(folder.parts))
            prefix = _prefix_below(str(folder), self._root)
            loaded = self._load(str(folder / GITIGNORE), f"{steps}{GITIGNORE}", prefix, outer=True)
            files.append(loaded or _NOTHING)
            if str(folder) == top:
                break
            folder = folder.parent
        return [] if _root_is_ignored(files, self._root, top) else files

    def level(self, folder: str, absolute: str, outer: Level, names: Iterable[str] | None = None) -> Level:
        """Returns the level of a folder on disk.

        `folder` is its path relative to the root, "" for the root; `outer` is its parent's level. `names` are those in
        the folder, if the caller has just listed them: most folders have none that matters.
        """
        # A file system may tell names apart that it does not open apart.
        if names is not None and not any(name.startswith(".") and name.lower() in _OF_RULES for name in names):
            return outer
        prefix = f"{folder}/" if folder else ""
        sidecar = self._load(f"{absolute}/{SIDECARIGNORE}", f"{prefix}{SIDECARIGNORE}", prefix)
        git: list[RuleFile] = []
        if self._respect:
            own = self._load(f"{absolute}/{GITIGNORE}", f"{prefix}{GITIGNORE}", prefix)
            git = [own] if own else []
            if folder:
                exclude = self._load(_exclude_of(absolute), f"{prefix}.git/info/exclude", prefix)
                git += [exclude] if exclude else []
        if not git and sidecar is None:
            return outer
        return Level(outer, tuple(git), sidecar)

    def _load(self, path: str, label: str, prefix: str, outer: bool = False) -> RuleFile | None:
        """Returns the parsed file; None when the file does not exist or has no patterns."""
        if not path:
            return None
        try:
            signature = _signature(path, follow_links=outer)
            if signature is None:
                return None
            known = self._parsed.get(path)
            if known is None or known[0] != signature:
                known = self._parsed[path] = signature, self._read(path, label, prefix, outer)
        except OSError as error:
            raise _about(error, label) from error
        if isinstance(known[1], TooManyRules):
            raise known[1]
        return known[1]

    def _read(self, path: str, label: str, prefix: str, outer: bool) -> RuleFile | TooManyRules | None:
        try:
            content = read_small_file(path, MAX_RULES_BYTES, follow_links=outer)
            patterns = self._patterns.of(content) if content else None
            return RuleFile(label, prefix, patterns, outer) if patterns else None
        except (TooLarge, TooManyRules) as error:
            return TooManyRules(f"{label} is not applied: {error}")


def _exclude_of(tree: str) -> str:
    try:
        return info_exclude(tree)
    except OSError as error:
        raise _about(error, ".git") from error


def _about(error: OSError, label: str) -> OSError:
    """Returns the same error with the file's name in front of its message."""
    return OSError(error.errno, f"{label.rpartition('/')[2] or label} cannot be read: {error.strerror or error}")


def _signature(path: str, *, follow_links: bool) -> tuple[int, int, int] | None:
    found = stat_if_there(path, follow_links=follow_links)
    return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)


_OF_RULES = frozenset({SIDECARIGNORE, GITIGNORE, ".git"})
"""The names in a folder by which it can have rules of its own."""
_NOTHING = RuleFile("", "", Patterns(()))


def sidecar_verdict(level: Level, path: str, is_folder: bool) -> Decision | None:
    """Returns the decision of the `.sidecarignore` files, innermost first.

    INDEXED when a pattern re-includes the path, None when no pattern matches.
    """
    at: Level | None = level
    while at is not None:
        match = at.sidecar.last_match(path, is_folder) if at.sidecar else None
        if match and at.sidecar:
            return _verdict(Rule.SIDECARIGNORE, at.sidecar, match)
        at = at.outer
    return None


def git_verdict(level: Level, path: str, is_folder: bool) -> Decision | None:
    """Returns the decision of git's ignore files, innermost first.

    INDEXED when a pattern re-includes the path, None when no pattern matches.
    """
    at: Level | None = level
    while at is not None:
        for rules in at.git:
            match = rules.last_match(path, is_folder)
            if match:
                return _verdict(Rule.GITIGNORE, rules, match)
        at = at.outer
    return None


def _verdict(rule: Rule, rules: RuleFile, match: Pattern) -> Decision:
    text = match.text.encode("utf-8", "backslashreplace").decode()
    return Decision(Rule.INDEXED if match.negated else rule, f"{rules.label}:{match.line}: {text}")


# ---------------------------------------------------------------- rules above the root


def _prefix_below(folder: str, root: str) -> str:
    relative = Path(root).relative_to(folder).as_posix()
    return "" if relative == "." else unicodedata.normalize("NFC", relative) + "/"


def _root_is_ignored(files: list[RuleFile], root: str, top: str) -> bool:
    """Whether rules above the root ignore the root or a folder between it and the top of the repository."""
    parts = Path(root).relative_to(top).parts
    for depth in range(1, len(parts) + 1):
        path = unicodedata.normalize("NFC", "/".join(parts[:depth]))
        for offset, rules in enumerate(files):
            # files[0] is in the folder just above the root. A file at or below the tested folder does not apply to it.
            base = len(parts) - 1 - offset
            if base >= depth:
                continue
            match = rules.last_match_below("/".join(path.split("/")[base:]), True)
            if match:
                if not match.negated:
                    return True
                break
    return False
