"""Judges vectors on annotated repositories: cosine similarity alone over the product's chunks, one hit per file.

The walk, the chunks, the embedded text and the metric are those of the product and scripts/bench/bench-quality; the
ranking is left out.
"""

from __future__ import annotations

import json
import math
import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.ingest.embedding_text import body_text, path_text
from sidecar.parts.chunk import parse_file
from sidecar.parts.classify import generated_reason, minified_reason
from sidecar.parts.languages import language_of
from sidecar.parts.read import read_file
from sidecar.parts.walk import DiskWalker

from .bags import BagMaker, Bags, pooled

T = TypeVar("T")

DEPTH = 10


@dataclass(frozen=True)
class Workspace:
    """One repository's chunks and queries. `file_of` gives each chunk's index in `paths`, `lines` its first and last
    line."""

    name: str
    paths: list[str]
    file_of: NDArray[np.int64]
    lines: NDArray[np.int64]
    queries: list[dict[str, Any]]


class Parts(NamedTuple, Generic[T]):
    """What is embedded of a workspace: its chunks, paths and queries."""

    bodies: T
    paths: T
    queries: T


Texts = Parts[list[str]]
Embedded = Parts[NDArray[np.float32]]
"""Unit vectors [texts, dimension]; `paths` has one row per chunk, not per path."""
Bagged = tuple[Workspace, Parts[Bags]]


def load_bagged(bench: Path, repos: Path, tokenizer: Path, kept: Path) -> list[Bagged]:
    """Returns the workspaces. They are chunked and tokenised once, and then read from the file `kept`."""
    if kept.exists():
        with kept.open("rb") as file:
            return list(pickle.load(file))
    maker = BagMaker(tokenizer)
    spaces = [(space, Parts(*map(maker.bags, texts))) for space, texts in load_workspaces(bench, repos)]
    with kept.open("wb") as file:
        pickle.dump(spaces, file)
    return spaces


def load_workspaces(bench: Path, repos: Path) -> Iterator[tuple[Workspace, Texts]]:
    """Each annotated repository and its texts, cut as the product cuts them."""
    for repo in json.loads((bench / "repos.json").read_text("utf-8")):
        root = (repos / repo["name"] / (repo.get("benchmark_root") or "")).resolve()
        queries = json.loads((bench / "annotations" / f"{repo['name']}.json").read_text("utf-8"))
        yield _load(repo["name"], root, queries)


def _load(name: str, root: Path, queries: list[dict[str, Any]]) -> tuple[Workspace, Texts]:
    paths: list[str] = []
    file_of, lines, bodies = [], [], []
    for found in DiskWalker(str(root)).walk().files:
        if found.collection != "code":
            continue
        text = read_file(str(root), found.path, 1_000_000).text
        if generated_reason(found.path, text) or minified_reason(found.path, text):
            continue
        for chunk in parse_file(found.path, text, language_of(found.path, text[:200].split("\n", 1)[0])).chunks:
            file_of.append(len(paths))
            lines.append((chunk.start_line, chunk.end_line))
            bodies.append(body_text(chunk))
        paths.append(found.path)
    texts = Texts(bodies, [path_text(path) for path in paths], [query["query"] for query in queries])
    return Workspace(name, paths, np.array(file_of), np.array(lines), queries), texts


@dataclass(frozen=True)
class Judgement:
    """NDCG@10 of every query, with its repository and category."""

    ndcg: list[float]
    repositories: list[str]
    categories: list[str]

    def mean(self) -> float:
        return float(np.mean(self.ndcg))

    def by_category(self) -> dict[str, float]:
        """Mean NDCG@10 of each category, rounded to four digits."""
        groups = defaultdict(list)
        for value, category in zip(self.ndcg, self.categories, strict=True):
            groups[category].append(value)
        return {name: round(float(np.mean(values)), 4) for name, values in sorted(groups.items())}

    def fold_means(self, folds: int = 5) -> list[float]:
        """The mean of each fold. Repositories are dealt to folds by name, so that two runs can be compared fold by
        fold."""
        names = sorted(set(self.repositories))
        fold_of = {name: place % folds for place, name in enumerate(names)}
        values = [
            [v for v, r in zip(self.ndcg, self.repositories, strict=True) if fold_of[r] == f] for f in range(folds)
        ]
        return [round(float(np.mean(some)), 4) for some in values]


class Judge:
    """Judges token tables on the workspaces. Each call embeds them once for all path weights."""

    def __init__(self, spaces: Sequence[Bagged]) -> None:
        self._spaces = spaces

    def judge(
        self,
        table: NDArray[np.float32],
        query_table: NDArray[np.float32],
        exponent: float,
        path_weights: Sequence[float],
    ) -> dict[float, Judgement]:
        """The judgement for each path weight. `exponent` damps the counts of tokens."""

        def embedded(space: Workspace, bags: Parts[Bags]) -> Embedded:
            return Embedded(
                pooled(bags.bodies, table, exponent),
                pooled(bags.paths, table, exponent)[space.file_of],
                pooled(bags.queries, query_table, exponent),
            )

        return judge_vectors([(space, embedded(space, bags)) for space, bags in self._spaces], path_weights)


def judge_vectors(
    embedded: Iterable[tuple[Workspace, Embedded]], path_weights: Sequence[float]
) -> dict[float, Judgement]:
    """The judgement for each path weight: the weight of a path's vector beside that of its chunk's."""
    parts = [
        (space, of.queries @ of.bodies.T, of.queries @ of.paths.T, (of.bodies * of.paths).sum(1))
        for space, of in embedded
    ]
    return {weight: _judged(parts, weight) for weight in path_weights}


JudgedTarget: TypeAlias = "str | dict[str, Any]"


def _judged(parts: Sequence[tuple[Workspace, NDArray[Any], NDArray[Any], NDArray[Any]]], weight: float) -> Judgement:
    ndcg, repositories, categories = [], [], []
    for space, body, words, between in parts:
        length = np.sqrt(1 + weight * weight + 2 * weight * between)
        for query, scores in zip(space.queries, (body + weight * words) / length, strict=True):
            ndcg.append(_ndcg(space, scores, [*query["relevant"], *query["secondary"]]))
            repositories.append(space.name)
            categories.append(query["category"])
    return Judgement(ndcg, repositories, categories)


def _ndcg(space: Workspace, scores: NDArray[np.float32], targets: Sequence[JudgedTarget]) -> float:
    hits: list[int] = []
    seen: set[int] = set()
    for chunk in np.argsort(-scores, kind="stable"):
        if space.file_of[chunk] not in seen:
            seen.add(space.file_of[chunk])
            hits.append(int(chunk))
        if len(hits) == DEPTH:
            break
    ranks = [rank for target in targets if (rank := _first(space, hits, target))]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(DEPTH, len(targets)) + 1))
    return sum(1 / math.log2(rank + 1) for rank in ranks) / ideal if ideal else 0.0


def _first(space: Workspace, hits: Sequence[int], target: JudgedTarget) -> int:
    wanted = target if isinstance(target, dict) else {"path": target}
    for rank, chunk in enumerate(hits, 1):
        path, (first, last) = space.paths[space.file_of[chunk]], space.lines[chunk]
        same = path == wanted["path"] or path.endswith("/" + wanted["path"]) or wanted["path"].endswith("/" + path)
        if same and ("start_line" not in wanted or (first <= wanted["end_line"] and wanted["start_line"] <= last)):
            return rank
    return 0
