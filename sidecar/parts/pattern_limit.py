"""The patterns that an index is limited to: globs, and paths of files or folders, relative to the root."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from functools import lru_cache

from sidecar import shown
from sidecar.errors import InvalidParams, PathTraversal
from sidecar.parts.globs import compile_glob
from sidecar.parts.paths import normalise_root, relative_path, storable
from sidecar.small_files import parse_json

MAX_GLOBS = 1_000
"""The maximum number of globs of one index: each pass over the workspace tries them on every file."""
_GLOB = re.compile(r"[*?\[{]")
_NAMED = 3


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A glob, or the path of a file or of a folder with everything in it."""

    text: str
    is_glob: bool

    def matcher(self) -> Callable[[str], bool]:
        """Returns a predicate over paths: whether the pattern names the file. A glob also names the file whose path it
        equals.

        Raises InvalidPattern for a malformed glob.
        """
        text = self.text
        if self.is_glob:
            matches = compile_glob(text)
            return lambda path: path == text or matches(path)
        return lambda path: not text or path == text or path.startswith(f"{text}/")


@dataclass(frozen=True, slots=True)
class PatternLimit:
    """The limit of an index: it holds only files that one of the patterns names."""

    patterns: tuple[PathPattern, ...]

    @classmethod
    def parsed(cls, text: str) -> PatternLimit:
        """Reads the output of `written`. Raises ValueError for anything else."""
        try:
            stored = parse_json(text)["patterns"]
            patterns = tuple(PathPattern(storable(one["text"]), bool(one["glob"])) for one in stored)
            for pattern in patterns:
                pattern.matcher()
        except (KeyError, TypeError, AttributeError, InvalidParams) as error:
            raise ValueError(str(error)) from error
        return cls(patterns)

    def written(self) -> str:
        """Returns the patterns as JSON."""
        patterns = [{"text": one.text, "glob": one.is_glob} for one in self.patterns]
        return json.dumps({"patterns": patterns}, indent=1) + "\n"

    def with_more(self, patterns: Iterable[PathPattern]) -> PatternLimit:
        """Returns a limit with these patterns and `patterns`, each once. Raises InvalidParams if there are too many
        globs."""
        together = tuple(dict.fromkeys((*self.patterns, *patterns)))
        globs = sum(pattern.is_glob for pattern in together)
        if globs > MAX_GLOBS:
            raise InvalidParams(
                f"These are {globs:,} globs; an index by patterns has at most {MAX_GLOBS:,}. Use fewer and wider"
                " ones, or `create_index` for the whole workspace."
            )
        return PatternLimit(together)

    def with_paths(self, files: Container[str]) -> PatternLimit:
        """Returns the same limit, except that a glob that equals the path of one of these files names only that
        file."""
        patterns = (PathPattern(one.text, False) if one.text in files else one for one in self.patterns)
        return PatternLimit(tuple(dict.fromkeys(patterns)))

    def names(self, path: str) -> bool:
        """Whether a file belongs to the index, as far as the patterns decide."""
        return _matcher(self)(path)

    @property
    def texts(self) -> tuple[str, ...]:
        """The patterns for display; the whole workspace is `.`."""
        return tuple(pattern.text or "." for pattern in self.patterns)

    @property
    def summary(self) -> str:
        """The first patterns, and how many more there are, on one line."""
        more = len(self.patterns) - _NAMED
        return ", ".join(map(shown.path, self.texts[:_NAMED])) + (f" and {more:,} more" if more > 0 else "")

    @property
    def verb(self) -> str:
        """The verb of a sentence whose subject is `summary`."""
        return "is" if len(self.patterns) == 1 else "are"


@lru_cache(maxsize=64)
def _matcher(limit: PatternLimit) -> Callable[[str], bool]:
    globs = [pattern.matcher() for pattern in limit.patterns if pattern.is_glob]
    places = {pattern.text for pattern in limit.patterns if not pattern.is_glob}

    def names(path: str) -> bool:
        return _is_at_or_below(path, places) or any(matches(path) for matches in globs)

    return names


def _is_at_or_below(path: str, places: set[str]) -> bool:
    if not places:
        return False
    if path in places or "" in places:
        return True
    end = path.rfind("/")
    while end > 0:
        if path[:end] in places:
            return True
        end = path.rfind("/", 0, end)
    return False


def read_pattern(root: str, text: str) -> PathPattern:
    """Returns the pattern that a caller has written, relative to the root and spelled like the paths of the index.

    Raises InvalidPattern if it is a malformed glob, and PathTraversal if it leads out of the workspace.
    """
    if not _GLOB.search(text):
        return PathPattern(relative_path(root, text), False)
    base = normalise_root(root).rstrip("/") + "/"
    relative = text.removeprefix(base)
    if relative.startswith("/") or ".." in relative.split("/"):
        raise PathTraversal(f"{shown.quoted(text)} leaves the workspace {shown.place(root)}.")
    pattern = PathPattern(relative, True)
    pattern.matcher()
    return pattern
