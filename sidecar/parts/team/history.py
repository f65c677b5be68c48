"""Asks git about the history of a working tree: its commit, the nearest of some commits, where it was cloned from.

It runs git, but only to read: none of these commands starts a hook, a pager, a file monitor or a transfer, whatever the
repository's own configuration says.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Container, Mapping, Sequence

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
        HEAD, and their number. Empty if none is among the newest, by date or along first parents, or if git fails.

        The commits are counted here, because `git rev-list COMMIT..HEAD` counts too many if one commit has an old date.
        """
        parents = self._parents()
        if len(parents) == self._most:
            parents = self._parents("--first-parent") | parents
        left = [commit for commit in parents if commit in commits]
        nearest, ahead = "", len(parents)
        while left:
            commit = left.pop(0)
            ancestors = _ancestors(commit, parents)
            if len(parents) - len(ancestors) < ahead:
                nearest, ahead = commit, len(parents) - len(ancestors)
            left = [other for other in left if other not in ancestors]
        return (nearest, ahead) if nearest else ("", 0)

    def _parents(self, *how: str) -> dict[str, list[str]]:
        """Returns the parents of HEAD and its ancestors, of at most `most` commits, the newest first; empty if git
        fails."""
        listed = self._said("rev-list", "--parents", *how, f"--max-count={self._most}", "HEAD")
        return {commit: parents for commit, *parents in map(str.split, listed.splitlines())}

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


def _ancestors(commit: str, parents: Mapping[str, Sequence[str]]) -> set[str]:
    """Returns the commit and its ancestors, of those whose parents are known."""
    found, left = {commit}, [commit]
    while left:
        new = {parent for parent in parents[left.pop()] if parent in parents} - found
        found |= new
        left += new
    return found


def _environment() -> dict[str, str]:
    # With variables such as GIT_DIR, git would use another repository than the folder's own.
    mine = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**mine, **_QUIET}
