"""Ignore files as git reads them, and `.sidecarignore` above them: which rule, of which line, speaks about a path.

pathspec compiles and matches the lines. Where it reads one otherwise than git, the line is reworded before
(`_as_pathspec_reads`); its expressions are made to match one very path and never to backtrack (`_strict`), because an
ignore file may come from a stranger. What stays different from git: inside brackets a backslash stands for itself and a
`/` ends the bracket, and a line with a range that runs backwards (`[z-a]`) is left out.

Not here: the deny list (`deny`), the configuration's globs and the order of all of them (`walk`).
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from sidecar.model import Decision, Rule

GITIGNORE = ".gitignore"
SIDECARIGNORE = ".sidecarignore"
MAX_IGNORE_FILE = 4 * 1024 * 1024
MAX_LINE = 4096

# Without `/`, which no bracket matches; no class begins with `!` or `^`.
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

_ANYWHERE = "^(?:.+/)?"  # how pathspec begins a pattern that may stand in any folder
_NEVER = "(?!)"


# ---------------------------------------------------------------- one file


@dataclass(frozen=True, slots=True)
class Pattern:
    """One usable line of an ignore file."""

    line: int
    text: str
    regex: str
    compiled: GitIgnoreSpecPattern

    @property
    def negated(self) -> bool:
        return self.compiled.include is False

    @property
    def by_name(self) -> bool:
        """Whether it is tried on the last path segment alone."""
        return "/" not in self.text.removeprefix("!").removesuffix("/")


class RuleFile:
    """The patterns of one ignore file.

    `prefix` turns a path relative to the root into one relative to this file: what to cut off its front (a file at or
    below the root) or, with `outer`, what to put there (a file above it).
    """

    def __init__(self, label: str, prefix: str, patterns: tuple[Pattern, ...], outer: bool = False) -> None:
        self.label = label
        self.patterns = patterns
        self._prefix = prefix
        self._outer = outer
        # Another backend, chosen by what happens to be installed, may not know atomic groups.
        self._spec = GitIgnoreSpec([pattern.compiled for pattern in patterns], backend="simple")
        # Most paths match nothing: two expressions tell that faster than one per line.
        names = [pattern.regex.removeprefix(_ANYWHERE) for pattern in patterns if pattern.by_name]
        paths = [pattern.regex for pattern in patterns if not pattern.by_name]
        self._any_name = re.compile("|".join(names) or _NEVER, re.DOTALL)
        self._any_path = re.compile("|".join(paths) or _NEVER, re.DOTALL)

    def last_match(self, path: str, is_folder: bool) -> Pattern | None:
        """The pattern that decides on a path relative to the root."""
        return self.last_match_below(self._prefix + path if self._outer else path[len(self._prefix) :], is_folder)

    def last_match_below(self, local: str, is_folder: bool) -> Pattern | None:
        """The last pattern that matches this very path, relative to the file (folders above it are asked before)."""
        path = f"{local}/" if is_folder else local
        name = path[local.rfind("/") + 1 :]
        if not self._any_name.match(name) and not self._any_path.match(path):
            return None
        index = self._spec.check_file(path).index
        return None if index is None else self.patterns[index]


def parse_patterns(text: str) -> tuple[Pattern, ...]:
    """Every usable line, numbered; one that can match nothing is left out and takes no other with it."""
    lines = unicodedata.normalize("NFC", text.removeprefix("\ufeff")).split("\n")
    parsed = (_parse_line(number, line.removesuffix("\r")) for number, line in enumerate(lines, 1))
    return tuple(pattern for pattern in parsed if pattern is not None)


def _parse_line(number: int, line: str) -> Pattern | None:
    text = _without_trailing_spaces(line)
    if not text.removeprefix("!").strip("/") or len(text) > MAX_LINE:
        return None
    try:
        found, include = GitIgnoreSpecPattern.pattern_to_regex(_as_pathspec_reads(text))
        regex = _strict(found) if found else ""
        compiled = GitIgnoreSpecPattern(re.compile(regex, re.DOTALL), include)
        return Pattern(number, text, regex, compiled) if regex else None
    except (GitIgnorePatternError, re.error):
        return None


def _as_pathspec_reads(text: str) -> str:
    """The line in words that pathspec 1.1 takes as git takes the original.

    `a/**` is what lies in `a`, not `a` itself; `[[:alpha:]]` is a class; `*` alone is one name; white space at the end
    that is no space belongs to the name.
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
    """A whole bracket expression with its named classes spelled out (an escaped character comes here too)."""
    whole = found[0]
    return re.sub(r"\[:([a-z]+):\]", lambda name: _CLASSES.get(name[1], name[0]), whole) if whole[0] == "[" else whole


def _strict(regex: str) -> str:
    """pathspec's expression, matching the very path and not what lies below it, and in bounded time.

    A star (or `**`) that another one follows commits to its first match: only pieces of fixed length stand between
    them, so nothing is lost. No bracket holds a `/` in pathspec's expressions; the pieces replaced here all do.
    """
    regex = regex.replace("(?:(?P<ps_d>/)|$)", "/?$").replace("(?P<ps_d>/)", "/$")
    regex = re.sub(r"\\.|\[(\^?)(\]?)([^\]]*)\]", _set, regex.removesuffix("$"), flags=re.DOTALL) + r"\Z"
    *groups, last = regex.split("(?:/.+)?")
    if groups:
        groups[0] = groups[0].replace("(?:.+/)?", "(?:[^/]+/)*?")
    groups = [f"(?>{'(?:/[^/]+)*?' if at else ''}{group}(?=/))" for at, group in enumerate(groups)]
    return _with_atomic_stars("".join(groups) + ("(?:/.+)?" if groups else "") + last)


def _set(found: re.Match[str]) -> str:
    """A set as git means it: no `/` in a negated one, and nothing that Python may one day read as set algebra."""
    if not found[0].startswith("[") or found[0] == "[^/]":
        return found[0]
    members = re.sub(r"([\[&~|])", r"\\\1", found[3])
    return f"[^{found[2]}/{members}]" if found[1] else f"[{found[2]}{members}]"


def _with_atomic_stars(regex: str) -> str:
    first, *pieces = regex.split("[^/]*")
    body = first
    for at, piece in enumerate(pieces, 1):
        before_a_star = at < len(pieces) and "/" not in piece.replace("[^/]", "")
        if not before_a_star:
            body += f"[^/]*{piece}"
        elif piece:
            body += f"(?>[^/]*?{piece})"
    return body


def _without_trailing_spaces(line: str) -> str:
    """Trailing spaces go, but for those that a backslash holds."""
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if backslashes % 2 and len(stripped) < len(line) else stripped


# ---------------------------------------------------------------- the files that speak about a folder


@dataclass(frozen=True, slots=True)
class Level:
    """The ignore files at or above one folder, linked outwards; a folder without any shares its parent's."""

    outer: Level | None
    git: tuple[RuleFile, ...]
    sidecar: RuleFile | None


class IgnoreRules:
    """All ignore files around one root. Files are parsed once and again when their stat changes.

    `global_ignore`: path of the user's ignore file, "" for none, None to look it up as git does.
    """

    def __init__(
        self,
        root: str,
        respect_gitignore: bool = True,
        global_ignore: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._root = root
        self._respect = respect_gitignore
        self._parsed: dict[str, tuple[tuple[int, int, int], RuleFile | None]] = {}
        self._global = user_ignore_file(os.environ if environment is None else environment)
        if global_ignore is not None:
            self._global = global_ignore

    def outermost(self) -> Level:
        """What speaks about the root's own entries from outside: folders above it, info/exclude, the global file.

        When those very rules ignore the root itself, whoever opened it meant it: the folders above do not count.
        """
        git: list[RuleFile] = []
        if self._respect:
            git = self._above()
            top = _repository_above(self._root)
            if top:
                prefix = _prefix_below(top, self._root)
                git.append(self._load(_info_exclude(top), ".git/info/exclude", prefix, outer=True) or _NOTHING)
            git.append(self._load(self._global, "global ignore file", "", outer=True) or _NOTHING)
        return Level(None, tuple(rules for rules in git if rules.patterns), None)

    def _above(self) -> list[RuleFile]:
        top = _repository_above(self._root)
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

    def level(self, folder: str, absolute: str, outer: Level) -> Level:
        """The level of a folder (relative, "" for the root) whose ignore files, if any, are on disk."""
        prefix = f"{folder}/" if folder else ""
        sidecar = self._load(f"{absolute}/{SIDECARIGNORE}", f"{prefix}{SIDECARIGNORE}", prefix)
        git: list[RuleFile] = []
        if self._respect:
            own = self._load(f"{absolute}/{GITIGNORE}", f"{prefix}{GITIGNORE}", prefix)
            git = [own] if own else []
            if folder and Path(absolute, ".git").exists():
                exclude = self._load(_info_exclude(absolute), f"{prefix}.git/info/exclude", prefix)
                git += [exclude] if exclude else []
        if not git and sidecar is None:
            return outer
        return Level(outer, tuple(git), sidecar)

    def _load(self, path: str, label: str, prefix: str, outer: bool = False) -> RuleFile | None:
        """The parsed file; None when there is none, or it is a link (git does not follow it either) or unreadable."""
        if not path:
            return None
        try:
            found = os.stat(path, follow_symlinks=outer)  # noqa: PTH116
            signature = (found.st_mtime_ns, found.st_size, found.st_ino)
            known = self._parsed.get(path)
            if known is not None and known[0] == signature:
                return known[1]
            flags = os.O_RDONLY | (0 if outer else getattr(os, "O_NOFOLLOW", 0)) | getattr(os, "O_NONBLOCK", 0)
            with os.fdopen(os.open(path, flags), "rb") as file:
                raw = file.read(MAX_IGNORE_FILE)
        except (OSError, ValueError):
            return None
        patterns = parse_patterns(raw.decode("utf-8", "surrogateescape"))
        rules = RuleFile(label, prefix, patterns, outer) if patterns else None
        self._parsed[path] = (signature, rules)
        return rules


_NOTHING = RuleFile("", "", ())


def sidecar_verdict(level: Level, path: str, is_folder: bool) -> Decision | None:
    """What `.sidecarignore` files say, innermost first: INDEXED when one takes the path back in, None for nothing."""
    at: Level | None = level
    while at is not None:
        match = at.sidecar.last_match(path, is_folder) if at.sidecar else None
        if match and at.sidecar:
            return _verdict(Rule.SIDECARIGNORE, at.sidecar, match)
        at = at.outer
    return None


def git_verdict(level: Level, path: str, is_folder: bool) -> Decision | None:
    """What git's ignore files say, innermost first; INDEXED when one takes the path back in, None for nothing."""
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


# ---------------------------------------------------------------- where git keeps things


def _repository_above(root: str) -> str:
    """The nearest folder at or above the root that holds `.git`; "" when there is none."""
    start = Path(root)
    # os.path.exists says no where a folder may not be looked into; Path.exists raises.
    return next((str(folder) for folder in (start, *start.parents) if os.path.exists(folder / ".git")), "")  # noqa: PTH110


def _prefix_below(folder: str, root: str) -> str:
    relative = Path(root).relative_to(folder).as_posix()
    return "" if relative == "." else unicodedata.normalize("NFC", relative) + "/"


def _root_is_ignored(files: list[RuleFile], root: str, top: str) -> bool:
    """Whether rules above the root ignore the root or a folder between it and the top."""
    parts = Path(root).relative_to(top).parts
    for depth in range(1, len(parts) + 1):
        path = unicodedata.normalize("NFC", "/".join(parts[:depth]))
        for offset, rules in enumerate(files):
            # files[0] is in the folder just above the root; a file below the tested folder says nothing about it.
            base = len(parts) - 1 - offset
            if base >= depth:
                continue
            match = rules.last_match_below("/".join(path.split("/")[base:]), True)
            if match:
                if not match.negated:
                    return True
                break
    return False


def _info_exclude(top: str) -> str:
    """Path of `info/exclude`, which worktrees share and submodules keep elsewhere."""
    marker = Path(top, ".git")
    if marker.is_dir():
        return str(marker / "info" / "exclude")
    try:
        directory = Path(top, marker.read_text("utf-8").removeprefix("gitdir:").strip())
        common = directory / "commondir"
        if common.is_file():
            directory = directory / common.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError, ValueError):
        return ""
    return str(directory / "info" / "exclude")


def user_ignore_file(environment: Mapping[str, str]) -> str:
    """The path of the user's global ignore file: `core.excludesFile`, else git's default place. Git is not run.

    `include` sections of git's configuration are not followed.
    """
    home = environment.get("HOME") or environment.get("USERPROFILE") or ""
    settings = environment.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    if "GIT_CONFIG_GLOBAL" in environment:
        places = [environment["GIT_CONFIG_GLOBAL"]]
    else:
        places = [f"{settings}/git/config" if settings else "", f"{home}/.gitconfig" if home else ""]
    system = [] if environment.get("GIT_CONFIG_NOSYSTEM") else ["/etc/gitconfig"]
    named = [value for place in (*system, *places) if place and (value := _excludes_file(place))]
    if named:
        return named[-1].replace("~", home, 1) if named[-1].startswith("~/") else named[-1]
    return f"{settings}/git/ignore" if settings else ""


def _excludes_file(config: str) -> str:
    """`core.excludesFile` of one git configuration file; "" when it has none."""
    try:
        lines = Path(config).read_text("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return ""
    section, value = "", ""
    for line in map(str.strip, lines):
        header = re.match(r"\[\s*([^\]]*?)\s*\](.*)$", line)
        if header:
            section, line = header[1].lower(), header[2].strip()  # noqa: PLW2901
        setting = re.match(r"excludesfile\s*=\s*(.*)$", line, re.IGNORECASE)
        if section == "core" and setting:
            value = setting[1].strip().strip('"')
    return value
