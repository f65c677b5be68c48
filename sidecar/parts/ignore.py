"""Ignore files as git reads them, and `.sidecarignore` above them: which rule, of which line, speaks about a path.

Patterns are matched here by git's own rules (`globs.wildmatch`). Not here: the deny list (`deny`), the configuration's
globs and the order of all of them (`walk`).
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sidecar.model import Decision, Rule
from sidecar.parts.globs import wildmatch

GITIGNORE = ".gitignore"
SIDECARIGNORE = ".sidecarignore"
MAX_IGNORE_FILE = 4 * 1024 * 1024


# ---------------------------------------------------------------- one file


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of an ignore file. `by_name`: it holds no slash and is tried on the last path segment alone."""

    line: int
    text: str
    negated: bool
    folders_only: bool
    by_name: bool
    body: str
    regex: re.Pattern[str]


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
        self._any_name = _union(pattern.body for pattern in patterns if pattern.by_name)
        self._any_path = _union(pattern.body for pattern in patterns if not pattern.by_name)

    def last_match(self, path: str, name: str, is_folder: bool) -> Pattern | None:
        """The pattern that decides: the last one that matches this very path (folders above it are asked before)."""
        local = self._prefix + path if self._outer else path[len(self._prefix) :]
        by_name = self._any_name is not None and self._any_name.fullmatch(name) is not None
        by_path = self._any_path is not None and self._any_path.fullmatch(local) is not None
        if not by_name and not by_path:
            return None
        for pattern in reversed(self.patterns):
            if pattern.folders_only and not is_folder:
                continue
            if pattern.regex.fullmatch(name if pattern.by_name else local):
                return pattern
        return None


def _union(bodies: Iterator[str]) -> re.Pattern[str] | None:
    joined = "|".join(f"(?:{body})" for body in dict.fromkeys(bodies))
    return re.compile(joined, re.DOTALL) if joined else None


def parse_patterns(text: str) -> tuple[Pattern, ...]:
    """Every usable line, numbered; one that can match nothing is left out and takes no other with it."""
    lines = unicodedata.normalize("NFC", text.removeprefix("\ufeff")).split("\n")
    parsed = (_parse_line(number, line.removesuffix("\r")) for number, line in enumerate(lines, 1))
    return tuple(pattern for pattern in parsed if pattern is not None)


def _parse_line(number: int, line: str) -> Pattern | None:
    text = _without_trailing_spaces(line)
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    glob = text[1:] if negated else text
    folders_only = glob.endswith("/")
    glob = glob.removesuffix("/")
    by_name = "/" not in glob
    glob = glob.removeprefix("/")
    body = wildmatch(glob if not by_name else re.sub(r"^\*\*$", "*", glob)) if glob else None
    if body is None:
        return None
    return Pattern(number, text, negated, folders_only, by_name, body, re.compile(body, re.DOTALL))


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


def sidecar_verdict(level: Level, path: str, name: str, is_folder: bool) -> Decision | None:
    """What `.sidecarignore` files say, innermost first: INDEXED when one takes the path back in, None for nothing."""
    at: Level | None = level
    while at is not None:
        match = at.sidecar.last_match(path, name, is_folder) if at.sidecar else None
        if match and at.sidecar:
            return _verdict(Rule.SIDECARIGNORE, at.sidecar, match)
        at = at.outer
    return None


def git_verdict(level: Level, path: str, name: str, is_folder: bool) -> Decision | None:
    """What git's ignore files say, innermost first; INDEXED when one takes the path back in, None for nothing."""
    at: Level | None = level
    while at is not None:
        for rules in at.git:
            match = rules.last_match(path, name, is_folder)
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
    return next((str(folder) for folder in (start, *start.parents) if (folder / ".git").exists()), "")


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
            local = RuleFile(rules.label, "", rules.patterns)
            match = local.last_match("/".join(path.split("/")[base:]), parts[depth - 1], True)
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
