"""Which repositories training may read: the list, the exclusions, and each repository's licence.

What is extracted from a repository is in `pairs` and `commits`.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ALLOWED = ("MIT", "BSD", "Apache-2.0", "ISC", "Unlicense")
UNSEEN = frozenset(
    "astropy django flask matplotlib pylint pytest requests scikit-learn seaborn sphinx sympy xarray".split()
)
"""The projects of SWE-bench Lite. Others check with them how well the product does on what it has not seen, so nothing
may be fitted to them; they may be measured."""

_LICENCE_FILE = re.compile(r"[^/]*(licen[sc]e|copying)[^/]*", re.IGNORECASE)
_SIGNS = (
    ("Apache-2.0", "apache license version 2.0"),
    ("MIT", "permission is hereby granted, free of charge, to any person obtaining"),
    ("BSD", "redistribution and use in source and binary forms"),
    ("ISC", "permission to use, copy, modify, and/or distribute this software for any"),
    ("ISC", "permission to use, copy, modify, and distribute this software for any"),
    ("Unlicense", "this is free and unencumbered software released into the public domain"),
)
_MOST_BYTES = 200_000


class Excluded(Exception):
    """The list contains a repository that must not be trained on."""


@dataclass(frozen=True)
class Blob:
    """A file of HEAD. `size` is in bytes."""

    path: str
    object_id: str
    size: int


class Mirror:
    """A bare clone, read with git and never checked out. Missing blobs are skipped; nothing is fetched."""

    def __init__(self, name: str, git_dir: Path) -> None:
        self.name = name
        self._git = ["git", f"--git-dir={git_dir}"]
        self._env = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}

    def revision(self) -> str:
        """The commit id of HEAD."""
        return self._text("rev-parse", "HEAD").strip()

    def blobs(self) -> list[Blob]:
        """Regular files of HEAD, in path order."""
        found = []
        for row in self._text("ls-tree", "-r", "-l", "-z", "HEAD").split("\0"):
            meta, _, path = row.partition("\t")
            fields = meta.split()
            if len(fields) == 4 and fields[0].startswith("100") and fields[3].isdigit():
                found.append(Blob(path, fields[2], int(fields[3])))
        return found

    def read(self, blobs: Iterable[Blob]) -> Iterator[tuple[Blob, str]]:
        r"""The blobs that are present and hold no NUL byte, with their text: bytes that are not UTF-8 are replaced, and
        lines end with `\n`."""
        wanted = list(blobs)
        asked = "".join(f"{blob.object_id}\n" for blob in wanted).encode()
        command = [*self._git, "cat-file", "--batch"]
        done = subprocess.run(command, input=asked, stdout=subprocess.PIPE, env=self._env, check=True)
        at = 0
        for blob in wanted:
            end = done.stdout.find(b"\n", at)
            if end < 0:
                return
            header, at = done.stdout[at:end].split(), end + 1
            if header[-1] == b"missing":
                continue
            content = done.stdout[at : at + int(header[2])]
            at += int(header[2]) + 1
            if b"\0" not in content:
                yield blob, content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")

    def log(self, commits: int, seconds: float, message: str = "%s") -> str:
        r"""Messages and patches of the last commits as `\x01message\x02patch`; only a part of them when `seconds` run
        out or a blob is missing. `message` is git's format of a message: subjects, or more."""
        command = [*self._git, "log", "--no-merges", f"-n{commits}", "-p", "-U4", "--no-color", "--no-renames"]
        command += [f"--format=%x01{message}%x02", "HEAD"]
        try:
            # Without `check`: a missing blob ends the log with an error, but the output until then is good.
            run = subprocess.run(command, capture_output=True, env=self._env, timeout=seconds, check=False)
            return run.stdout.decode("utf-8", "replace")
        except subprocess.TimeoutExpired as stopped:
            return (stopped.stdout or b"").decode("utf-8", "replace")

    def licence(self) -> str:
        """One of ALLOWED, from the licence files at the root; empty when none of them contains one."""
        files = [b for b in self.blobs() if "/" not in b.path and _LICENCE_FILE.fullmatch(b.path)]
        for _, text in self.read(b for b in files if b.size <= _MOST_BYTES):
            if found := licence_of(text):
                return found
        return ""

    def _text(self, *arguments: str) -> str:
        run = subprocess.run([*self._git, *arguments], capture_output=True, check=True, env=self._env)
        return run.stdout.decode("utf-8", "replace")


def licence_of(text: str) -> str:
    """The licence whose wording is in the text; empty when it is none of ALLOWED."""
    plain = re.sub(r"[\s*#,>]+", " ", text.lower())
    for name, sign in _SIGNS:
        if sign.replace(",", "") in plain:
            return name
    return ""


def read_list(path: Path) -> list[str]:
    """Returns the `owner/name` of every line; `#` starts a comment."""
    lines = (line.partition("#")[0].strip() for line in path.read_text("utf-8").splitlines())
    return [line for line in lines if line]


def check_none_excluded(names: Iterable[str], excluded: Iterable[str]) -> None:
    """Raises Excluded when a name, without its owner, is that of an excluded repository or of one of `UNSEEN`: it may
    be a fork or a mirror."""
    bare = UNSEEN | {name.rpartition("/")[2].lower() for name in excluded}
    if bad := [name for name in names if name.rpartition("/")[2].lower() in bare]:
        raise Excluded(f"must not be trained on: {', '.join(bad)}")


def find_mirror(mirrors: Path, name: str) -> Mirror | None:
    """The mirror of `owner/name` in a folder of mirrors; None when it is missing."""
    base = mirrors / name.replace("/", "+")
    for candidate in (base / "repo/.git", base / "repo", base / ".git", base):
        if (candidate / "HEAD").is_file():
            return Mirror(name, candidate)
    return None
