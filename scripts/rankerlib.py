"""What scripts/train-ranker is made of: examples taken from the product's own search, and how weights are fitted.

Not here: what is searched (the product), how NDCG is judged (scripts/bench-quality).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import sidecar.no_telemetry  # noqa: F401

import numpy as np
from numpy.typing import NDArray
from suffixless import load_script

sys.path.insert(0, str(Path(__file__).parents[1]))

from sidecar.engine.models.loader import resolve_model
from sidecar.engine.search.rank.features import FEATURES
from sidecar.engine.search.rank.fingerprint import fingerprint
from sidecar.engine.search.rank.scorer import Combiner, HandSet, WeightedSum
from sidecar.engine.search.searcher import Examined, Searcher
from sidecar.engine.search.source import SearchSource
from sidecar.engine.wiring import real_parts
from sidecar.engine.workspaces import OpenWorkspaces
from sidecar.model import IsCancelled, SearchAnswer, SearchRequest, Workspace, never_cancelled, no_progress
from sidecar.settings.declare import DECLARATIONS
from sidecar.settings.load import data_home

Matrix = NDArray[np.float32]


def bench_quality() -> ModuleType:
    """The script that judges, as a module: one metric for training and for the tables."""
    return load_script("bench-quality")


# ---------------------------------------------------------------- the product, with a combiner that can be exchanged


class Exchangeable:
    """A combiner that passes on to whichever is in place."""

    def __init__(self) -> None:
        self.now: Combiner = HandSet()

    def needs(self, alpha: float) -> frozenset[str]:
        return self.now.needs(alpha)

    def score(self, features: Matrix, alpha: float) -> Matrix:
        return self.now.score(features, alpha)

    def contributions(self, features: Matrix, alpha: float) -> dict[str, float]:
        return self.now.contributions(features, alpha)


@dataclass(frozen=True)
class Candidates:
    """One query's candidate files: path and lines of the chunk that each would show, and its features."""

    shown: list[dict[str, Any]]
    features: Matrix


class Watched(Searcher):
    """The product's searcher; says of the last search what its ranking saw."""

    def __init__(self, combiner: Combiner) -> None:
        super().__init__(combiner)
        self.watching = False
        self.last: Candidates | None = None

    def search(self, source: SearchSource, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        if self.watching:
            self.last = _candidates(source.snapshot, self.examine(source, request, cancelled))
        return super().search(source, request, cancelled)


def _candidates(snapshot: Any, seen: Examined) -> Candidates:
    shown = []
    places, _ = seen.groups.strongest(seen.shown, 1)
    for row in seen.groups.rows[places]:
        lines = {"startLine": int(snapshot.chunk_start[row]), "endLine": int(snapshot.chunk_end[row])}
        shown.append({"path": snapshot.paths[snapshot.chunk_file[row]], **lines})
    return Candidates(shown, seen.features)


@dataclass
class Product:
    """The product's workspaces over indexes that are kept in `home` between runs."""

    workspaces: OpenWorkspaces
    combiner: Exchangeable
    watched: list[Watched]

    @contextmanager
    def open(self, root: Path) -> Iterator[Workspace]:
        """An indexed workspace; brought up to date when the index is missing or of other versions."""
        workspace = self.workspaces.get(str(root.resolve()))
        build = workspace.create if workspace.status().status == "not_found" else workspace.refresh
        build(no_progress, never_cancelled)
        while workspace.status().status == "indexing":
            time.sleep(0.1)
        yield workspace


@contextmanager
def open_product(home: Path) -> Iterator[Product]:
    env = {**os.environ, "SIDECAR_HOME": str(home), "SIDECAR_TWO_STAGE": "0"}
    combiner, watched = Exchangeable(), []

    def make_searcher() -> Watched:
        watched.append(Watched(combiner))
        return watched[-1]

    parts = replace(real_parts({"confirm": "never"}, {}, env), make_searcher=make_searcher)
    workspaces = OpenWorkspaces(data_home(env), parts)
    try:
        yield Product(workspaces, combiner, watched)
    finally:
        workspaces.close()


# ---------------------------------------------------------------- examples


@dataclass(frozen=True)
class Example:
    """One query: features of its candidates, and which of them are meant (1) by the chunk that they show."""

    repository: str
    language: str
    category: str
    query: str
    targets: list[Any]
    features: Matrix
    labels: Matrix


# ---------------------------------------------------------------- fitting


CLIP = 5.0
BASE = 0.5
"""Of the sum of the positive weights, added to every score: a file's second chunk stands behind other files' first."""


@dataclass(frozen=True)
class Recipe:
    """`decay` is AdamW's (on weights of inputs scaled to deviation 1), `lasso` the weight of their absolute sum."""

    steps: int = 250
    rate: float = 0.01
    decay: float = 1.0
    lasso: float = 1e-4
    batch: int = 128


def fit(examples: Sequence[Example], recipe: Recipe, seed: int, used: Sequence[int]) -> Matrix:
    """Weights of the raw features; 0 for those not in `used`.

    Listwise softmax whose target is an equal share for each file that is meant (ListNet, Cao et al. 2007), AdamW, one
    cycle of the learning rate.
    """
    rng = np.random.default_rng(seed)
    usable = [e for e in examples if e.labels.sum() > 0]
    rows = np.concatenate([e.features for e in usable])[:, used]
    mean, deviation = rows.mean(0), rows.std(0) + np.float32(1e-3)
    inputs = [np.clip((e.features[:, used] - mean) / deviation, -CLIP, CLIP) for e in usable]
    targets = [e.labels / e.labels.sum() for e in usable]
    weights, first, second = (np.zeros(len(used), np.float32) for _ in range(3))
    for step in range(1, recipe.steps + 1):
        chosen = rng.integers(0, len(usable), recipe.batch)
        gradient = _gradient(weights, [inputs[i] for i in chosen], [targets[i] for i in chosen])
        gradient = np.asarray(gradient + recipe.lasso * np.sign(weights), np.float32)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient * gradient
        move = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        rate = recipe.rate * _cycle(step / recipe.steps)
        weights = (weights * (1 - rate * recipe.decay) - rate * move).astype(np.float32)
    raw = np.zeros(examples[0].features.shape[1], np.float32)
    raw[list(used)] = weights / deviation
    return raw


KINDS = ("is_test", "is_example", "is_prose")
"""What kind of file it is, which whole repositories teach: in clean folders there are few of them."""
HOLD = 3e-3
"""Weight of the squares of what they move: a third of it brings two thousandths more, and tests nobody ever finds."""


def fit_kinds(
    examples: Sequence[Example], weights: Matrix, used: Sequence[int], steps: int = 150, rate: float = 0.05
) -> Matrix:
    """Weights where those of `KINDS`, as far as they are in `used`, are moved to fit these examples; all others stay.

    In whole repositories files of other packages answer as well and are not annotated: fitted to them, evidence would
    learn to distrust itself. Listwise softmax as in `fit`, Adam, all examples in each step, squares held against
    moving.
    """
    columns = [i for i in used if FEATURES[i].name in KINDS]
    usable = [e for e in examples if e.labels.sum() > 0]
    fixed = np.concatenate([e.features @ weights for e in usable])
    rows = np.concatenate([e.features[:, columns] for e in usable])
    targets = np.concatenate([e.labels / e.labels.sum() for e in usable])
    sizes = [len(e.labels) for e in usable]
    moved, first, second = (np.zeros(len(columns)) for _ in range(3))
    for step in range(1, steps + 1):
        gradient = rows.T @ (_shares(fixed + rows @ moved, sizes) - targets) / len(usable) + HOLD * moved
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient * gradient
        moved -= rate * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    found = weights.copy()
    found[columns] += moved
    return found


def _cycle(t: float) -> float:
    return t / 0.3 if t < 0.3 else 0.5 * (1 + float(np.cos(np.pi * (t - 0.3) / 0.7)))


def _gradient(weights: Matrix, inputs: Sequence[Matrix], targets: Sequence[Matrix]) -> Matrix:
    z, y = np.concatenate(inputs), np.concatenate(targets)
    return np.asarray(z.T @ (_shares(z @ weights, [len(rows) for rows in inputs]) - y) / len(inputs), np.float32)


def _shares(scores: NDArray[np.floating[Any]], sizes: Sequence[int]) -> NDArray[np.floating[Any]]:
    """Softmax within each run of `sizes` scores."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    shares = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
    return np.asarray(shares / np.repeat(np.add.reduceat(shares, starts), sizes))


def named(raw: Matrix) -> WeightedSum:
    """The combiner of these raw weights."""
    weights = {f.name: round(float(w), 4) for f, w in zip(FEATURES, raw, strict=True) if abs(w) >= 5e-5}
    return WeightedSum(weights, round(BASE * sum(w for w in weights.values() if w > 0), 4))


def write_weights(path: Path, combiner: WeightedSum, facts: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    value = {**facts, "base": combiner.base, "weights": dict(combiner.weights)}
    path.write_text(json.dumps(value, indent=1) + "\n", "utf-8")


def current_fingerprint() -> dict[str, object]:
    """Of the code as it stands and the default model."""
    parts = real_parts({}, {}, {})
    (model,) = (str(d.default) for d in DECLARATIONS if d.key == "model")
    return fingerprint(parts.versions, resolve_model(model).verify())


def folds(repositories: Sequence[str], count: int, seed: int) -> list[set[str]]:
    names = sorted(set(repositories))
    order = np.random.default_rng(seed).permutation(len(names))
    return [{names[i] for i in order[part::count]} for part in range(count)]
