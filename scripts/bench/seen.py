"""What a ranking saw of each question's candidates, kept in files, so that another ranking is judged in seconds.

One file has the questions of one repository. Its `key` identifies the code and the questions from which it was made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scripts.bench.anchors import Place
from sidecar.engine.search.rank.features import FEATURES

_SIDECAR = Path(__file__).resolve().parents[2] / "sidecar"
_MATTERS = ("engine/search", "engine/ingest", "parts/lexical", "parts/chunk", "parts/embed")
"""Folders of `sidecar` with the code on which candidates and features depend."""


Span = tuple[int, int, int, float]
"""The columns of a span: index of the candidate, first and last line, and the factor of the file's score."""


@dataclass(frozen=True)
class Asked:
    """A question. `targets` are its answers as in an annotation: paths, or objects with path and lines. `tests` are
    changed tests, which are answers too if tests count. `title` is another, shorter text for it, or empty."""

    query: str
    category: str
    targets: Sequence[Any]
    tests: Sequence[str] = ()
    title: str = ""
    revision: str = ""


@dataclass(frozen=True)
class Seen:
    """Candidates of one text: the place that each file shows, their features [files, FEATURES], plain rankings, and
    the spans of rankerlib's `Candidates`."""

    places: list[Place]
    features: NDArray[np.float32]
    anchors: dict[str, list[Place]]
    spans: list[Span]


@dataclass(frozen=True)
class Answered:
    """A question and what was seen of it; `by_title` is None if it has no other text."""

    asked: Asked
    seen: Seen
    by_title: Seen | None


def code_key() -> str:
    """Returns a key that changes with every change of the files on which candidates and features depend."""
    files = [file for folder in _MATTERS for file in sorted((_SIDECAR / folder).rglob("*.py"))]
    return _hash(file.read_bytes() for file in files)


def questions_key(questions: Sequence[Asked]) -> str:
    """Returns a key that changes with the questions."""
    return _hash(json.dumps(vars(question), sort_keys=True).encode() for question in questions)


def _hash(parts: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:12]


def save(path: Path, answered: Sequence[Answered], key: str) -> None:
    """Writes the file in one step, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [part for one in answered for part in (one.seen, one.by_title) if part is not None]
    rows = [{**vars(one.asked), "has_title": one.by_title is not None} for one in answered]
    parts = [{"places": part.places, "anchors": part.anchors, "spans": part.spans} for part in texts]
    about = {"key": key, "features": [f.name for f in FEATURES], "asked": rows, "seen": parts}
    stacked = np.concatenate([part.features for part in texts]) if texts else np.zeros((0, len(FEATURES)), np.float32)
    part_file = path.with_suffix(".part")
    with part_file.open("wb") as file:
        np.savez_compressed(file, features=stacked, about=np.frombuffer(json.dumps(about).encode(), np.uint8))
    part_file.replace(path)


def load(path: Path, key: str | None) -> list[Answered] | None:
    """Returns what `save` wrote; None if there is no such file, or if it has another key or other features."""
    if not path.is_file():
        return None
    with np.load(path) as stored:
        about, features = json.loads(stored["about"].tobytes()), stored["features"]
    if key not in (None, about["key"]) or about["features"] != [f.name for f in FEATURES]:
        return None
    if any("spans" not in part for part in about["seen"]):
        return None
    parts = []
    for part in about["seen"]:
        taken, features = features[: len(part["places"])], features[len(part["places"]) :]
        anchors = {name: [tuple(place) for place in places] for name, places in part["anchors"].items()}
        spans = [tuple(span) for span in part["spans"]]
        parts.append(Seen([tuple(place) for place in part["places"]], taken, anchors, spans))
    answered = []
    for row in about["asked"]:
        has_title = row.pop("has_title")
        answered.append(Answered(Asked(**row), parts.pop(0), parts.pop(0) if has_title else None))
    return answered
