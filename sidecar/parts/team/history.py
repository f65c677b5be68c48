"""Asks git about the history of a working tree: its commit, the nearest of some commits, where it was cloned from.

It runs git, but only to read: none of these commands starts a hook, a pager, a file monitor or a transfer, whatever the
repository's own configuration says.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Container

_COMMAND = ("git", "--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
_MOST_COMMITS = 20_000
_PATIENCE_S = 30
_NONE = subprocess.DEVNULL
_COMMIT = re.compile("[0-9a-f]{40}(?:[0-9a-f]{24})?")


class History:
    """The history of the repository that contains the folder `root`. All results are empty if git is not installed or
    there is no repository. `most` is the number of commits that are looked through."""

    def __init__(self, root: str, most: int = _MOST_COMMITS) -> None:
        self._root = root
        self._most = most

    def head(self) -> str:
        """Returns the commit that is checked out, in hex."""
        found = self._said("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return found if _COMMIT.fullmatch(found) else ""

    def folder(self) -> str:
        """Returns the path of the root in its repository, without a slash at the end; empty for the repository's own
        root."""
        return self._said("rev-parse", "--show-prefix").rstrip("/")

    def is_shallow(self) -> bool:
        """Whether the clone lacks older commits."""
        return self._said("rev-parse", "--is-shallow-repository") == "true"

    def repository(self) -> str:
        """Returns the path of the remote `origin` on its server, without `.git`: `group/name`. Empty if it has none, or
        one that could lead to another place when it becomes part of an address."""
        remote = self._said("config", "--get", "remote.origin.url").removesuffix("/").removesuffix(".git")
        path = re.sub(r"^(?:[a-z+]+://[^/]*/|[^/:]*:)", "", remote).strip("/")
        parts = path.split("/")
        return path if path and all(re.fullmatch(r"\w[\w.-]*", part, re.ASCII) for part in parts) else ""

    def branch_with(self, commit: str) -> str:
        """Returns the name of the default branch of `origin` if it contains this commit; else empty."""
        there = "refs/remotes/origin/HEAD"
        branch = self._said("symbolic-ref", "--quiet", "--short", there).removeprefix("origin/")
        return branch if branch and self._said("merge-base", commit, there) == commit else ""

    def nearest_of(self, commits: Container[str]) -> tuple[str, int]:
        """Returns that of these commits which is HEAD or an ancestor of it and has the fewest commits between it and
        HEAD, and their number. Empty if none is among the newest, by date or along first parents.

        Git lists ancestors by their dates, so the first one that it lists may be farther than others if clocks were
        wrong. Any nearer one is not among the ancestors of that one.
        """
        first = self._first_of(commits) or self._first_of(commits, "--first-parent")
        if not first:
            return "", 0
        between = self._between(first)
        ahead = {first: len(between)} | {other: len(self._between(other)) for other in between if other in commits}
        nearest = min(ahead, key=ahead.__getitem__)
        return nearest, ahead[nearest]

    def _between(self, commit: str) -> list[str]:
        """Returns the commits that HEAD comes from and this one does not."""
        return self._said("rev-list", f"{commit}..HEAD").split()

    def _first_of(self, commits: Container[str], *how: str) -> str:
        """Returns the first of these commits that git lists as HEAD or an ancestor of it; empty if there is none."""
        line = (*_COMMAND, "rev-list", *how, f"--max-count={self._most}", "HEAD")
        try:
            with subprocess.Popen(
                line, cwd=self._root, env=_environment(), stdin=_NONE, stdout=subprocess.PIPE, stderr=_NONE, text=True
            ) as git:
                assert git.stdout is not None
                try:
                    return next((listed for text in git.stdout if (listed := text.strip()) in commits), "")
                finally:
                    git.kill()
        except OSError:
            return ""

    def _said(self, *arguments: str) -> str:
        try:
            done = subprocess.run(
                [*_COMMAND, *arguments],
                cwd=self._root,
                env=_environment(),
                check=False,
                timeout=_PATIENCE_S,
                stdin=_NONE,
                stdout=subprocess.PIPE,
                stderr=_NONE,
                text=True,
                errors="replace",
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""


def _environment() -> dict[str, str]:
    # With variables such as GIT_DIR, git would use another repository than the folder's own.
    mine = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**mine, **_QUIET}
