"""The lists that a reranker learns from and is judged on: a question, and the passages of the files that sidecar finds
first.

A file holds the lists of one repository as compressed JSON. Passages are stored once, because questions of one
repository find the same files again and again.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

KINDS = ("subject", "long", "doc", "name")
"""The kinds of training questions: the subject of a commit, its long message, a comment, the name of a definition."""
WRONG, RIGHT, LEFT_OUT = 0, 1, 2
"""The labels of passages. A test that the commit changed is left out: it is neither an answer nor a mistake."""
SUFFIX = ".json.gz"


@dataclass(frozen=True)
class RerankList:
    """A question and its passages, best first by sidecar's score.

    `passages` are places in the passages of the file, `scores` sidecar's scores. `labels` are empty in lists for
    evaluation; these have `candidates` instead, the places of the passages' files among all that the ranking saw.
    """

    kind: str
    question: str
    passages: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    candidates: list[int] = field(default_factory=list)

    @property
    def can_teach(self) -> bool:
        """Whether there is both a right and a wrong passage."""
        return RIGHT in self.labels and WRONG in self.labels


@dataclass(frozen=True)
class ListFile:
    """The lists of one repository. `about` says what was read: repository, revision, licence."""

    about: dict[str, Any]
    passages: list[str]
    lists: list[RerankList]

    def head(self) -> dict[str, Any]:
        """The repository's entry in training-data.json: `about`, and the number of lists of each kind."""
        counts = Counter(one.kind for one in self.lists)
        return {**self.about, "lists": {kind: counts[kind] for kind in KINDS if counts[kind]}}


class Passages:
    """Passages in the order in which they were added, each of them once."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def add(self, texts: Sequence[str]) -> list[int]:
        """The place of each text."""
        return [self._places.setdefault(text, len(self._places)) for text in texts]

    def all(self) -> list[str]:
        """Every passage, by place."""
        return list(self._places)


def save(path: Path, made: ListFile) -> None:
    """Writes the file in one step, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    value = {"about": made.about, "passages": made.passages, "lists": [asdict(one) for one in made.lists]}
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(gzip.compress(json.dumps(value).encode(), 6, mtime=0))
    unfinished.replace(path)


def load(path: Path) -> ListFile:
    """Returns what `save` wrote."""
    value = json.loads(gzip.decompress(path.read_bytes()))
    return ListFile(value["about"], value["passages"], [RerankList(**one) for one in value["lists"]])


def files_in(folder: Path) -> list[Path]:
    """The files of lists in a folder, in the order of their names."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def repository_of(path: Path) -> str:
    """The name that `path_for` was given."""
    return path.name.removesuffix(SUFFIX)


def path_for(folder: Path, name: str) -> Path:
    """The file of the repository `owner/name`, or of a benchmark's `name`."""
    return folder / f"{name.replace('/', '+')}{SUFFIX}"
