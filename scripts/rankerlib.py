"""What scripts/train-ranker is made of: examples taken from the product's own search, a small network, its training.

Not here: what is searched (the product), how NDCG is judged (scripts/bench-quality).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

from sidecar.engine.rank.combine import Combiner, HandSet
from sidecar.engine.search import Examined, Searcher
from sidecar.engine.wiring import OpenWorkspaces, real_parts
from sidecar.model import IsCancelled, SearchAnswer, SearchRequest, Workspace, never_cancelled, no_progress
from sidecar.settings.load import data_home

Matrix = NDArray[np.float32]


def bench_quality() -> ModuleType:
    """The script that judges, as a module: one metric for training and for the tables."""
    loader = SourceFileLoader("bench_quality", str(Path(__file__).with_name("bench-quality")))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


# ---------------------------------------------------------------- the product, with a combiner that can be exchanged


class Exchangeable:
    """A combiner that passes on to whichever is in place."""

    def __init__(self) -> None:
        self.now: Combiner = HandSet()

    def score(self, features: Matrix, alpha: float) -> Matrix:
        return self.now.score(features, alpha)

    def contributions(self, features: Matrix, alpha: float) -> dict[str, float]:
        return self.now.contributions(features, alpha)


@dataclass(frozen=True)
class Candidates:
    """One query's candidate files: path and lines of the chunk that each would show, and its features."""

    shown: list[dict[str, Any]]
    features: Matrix


class Watched:
    """The product's searcher; says of the last search what its ranking saw."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self.watching = False
        self.last: Candidates | None = None

    def search(self, snapshot: Any, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        if self.watching:
            self.last = _candidates(snapshot, self._searcher.examine(snapshot, request, cancelled))
        return self._searcher.search(snapshot, request, cancelled)


def _candidates(snapshot: Any, seen: Examined) -> Candidates:
    shown = []
    for file in seen.files:
        rows = np.flatnonzero(snapshot.chunk_file == file)
        row = rows[np.argmax(seen.shown[rows])]
        lines = {"startLine": int(snapshot.chunk_start[row]), "endLine": int(snapshot.chunk_end[row])}
        shown.append({"path": snapshot.paths[file], **lines})
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
        workspace.create(no_progress, never_cancelled)
        while workspace.status().status == "indexing":
            time.sleep(0.1)
        yield workspace


@contextmanager
def open_product(home: Path) -> Iterator[Product]:
    env = {**os.environ, "SIDECAR_HOME": str(home)}
    combiner, watched = Exchangeable(), []

    def make_searcher(embedder: Any, store: Any) -> Watched:
        watched.append(Watched(Searcher(embedder, store, combiner)))
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
    """One query: features of its candidates and which of them are meant. `alpha` 0.5, 0 or 1."""

    repository: str
    language: str
    category: str
    query: str
    targets: list[Any]
    features: Matrix
    labels: Matrix
    alpha: float = 0.5


# ---------------------------------------------------------------- the network


@dataclass
class Net:
    """score = z @ linear + relu(z @ inner + bias) @ outer, z the features scaled and clipped."""

    mean: Matrix
    deviation: Matrix
    linear: Matrix
    inner: Matrix
    bias: Matrix
    outer: Matrix

    def score(self, features: Matrix) -> Matrix:
        z = np.clip((features - self.mean) / self.deviation, -CLIP, CLIP)
        return np.asarray(z @ self.linear + np.maximum(z @ self.inner + self.bias, 0) @ self.outer, np.float32)


CLIP = 5.0


@dataclass(frozen=True)
class Recipe:
    hidden: int = 8
    steps: int = 400
    rate: float = 0.01
    decay: float = 0.05
    lasso: float = 1e-4
    dropout: float = 0.2
    input_dropout: float = 0.1
    batch: int = 128


def scaling(examples: Sequence[Example]) -> tuple[Matrix, Matrix]:
    rows = np.concatenate([e.features for e in examples])
    return rows.mean(0), rows.std(0) + np.float32(1e-3)


def fit(examples: Sequence[Example], recipe: Recipe, seed: int) -> Net:
    """Listwise softmax (ListNet with the labels' shares as target), AdamW, one cycle of the learning rate."""
    rng = np.random.default_rng(seed)
    usable = [e for e in examples if e.labels.sum() > 0]
    mean, deviation = scaling(usable)
    inputs = [np.clip((e.features - mean) / deviation, -CLIP, CLIP) for e in usable]
    targets = [e.labels / e.labels.sum() for e in usable]
    width = len(mean)
    h = recipe.hidden
    net = {
        "linear": np.zeros(width, np.float32),
        "inner": rng.normal(0, (2 / width) ** 0.5, (width, h)).astype(np.float32),
        "bias": np.zeros(h, np.float32),
        "outer": np.zeros(h, np.float32) if h == 0 else rng.normal(0, 0.1, h).astype(np.float32),
    }
    first = {k: np.zeros_like(v) for k, v in net.items()}
    second = {k: np.zeros_like(v) for k, v in net.items()}
    for step in range(1, recipe.steps + 1):
        chosen = rng.integers(0, len(usable), recipe.batch)
        z = np.concatenate([inputs[i] for i in chosen])
        y = np.concatenate([targets[i] for i in chosen])
        sizes = np.array([len(inputs[i]) for i in chosen])
        grads = _gradients(net, z, y, sizes, recipe, rng)
        rate = recipe.rate * _cycle(step / recipe.steps)
        for k, g in grads.items():
            g = g + np.float32(recipe.lasso) * np.sign(net[k])
            first[k] = 0.9 * first[k] + 0.1 * g
            second[k] = 0.999 * second[k] + 0.001 * g * g
            move = first[k] / (1 - 0.9**step) / (np.sqrt(second[k] / (1 - 0.999**step)) + 1e-8)
            net[k] = (net[k] * (1 - rate * recipe.decay) - rate * move).astype(np.float32)
    return Net(mean, deviation, **net)


def _cycle(t: float) -> float:
    return t / 0.3 if t < 0.3 else 0.5 * (1 + float(np.cos(np.pi * (t - 0.3) / 0.7)))


def _gradients(
    net: dict[str, Matrix], z: Matrix, y: Matrix, sizes: NDArray[np.int64], recipe: Recipe, rng: np.random.Generator
) -> dict[str, Matrix]:
    keep = np.float32(1 - recipe.dropout)
    x = z
    if recipe.hidden:
        x = z * (rng.random(z.shape, np.float32) >= recipe.input_dropout) / np.float32(1 - recipe.input_dropout)
    pre = x @ net["inner"] + net["bias"]
    mask = (rng.random(pre.shape, np.float32) < keep) / keep
    hidden = np.maximum(pre, 0) * mask
    scores = z @ net["linear"] + hidden @ net["outer"]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    top = np.repeat(np.maximum.reduceat(scores, starts), sizes)
    weights = np.exp(scores - top)
    delta = (weights / np.repeat(np.add.reduceat(weights, starts), sizes) - y) / np.float32(len(sizes))
    back = (delta[:, None] * net["outer"]) * (pre > 0) * mask
    return {
        "linear": z.T @ delta,
        "inner": x.T @ back,
        "bias": back.sum(0),
        "outer": hidden.T @ delta,
    }


def join(nets: Sequence[Net]) -> Net:
    """One network that gives the mean of several that share their scaling."""
    share = np.float32(1 / len(nets))
    return Net(
        nets[0].mean,
        nets[0].deviation,
        sum((n.linear for n in nets), np.zeros_like(nets[0].linear)) * share,
        np.concatenate([n.inner for n in nets], axis=1),
        np.concatenate([n.bias for n in nets]),
        np.concatenate([n.outer for n in nets]) * share,
    )


def folds(repositories: Sequence[str], count: int, seed: int) -> list[set[str]]:
    names = sorted(set(repositories))
    order = np.random.default_rng(seed).permutation(len(names))
    return [{names[i] for i in order[part::count]} for part in range(count)]
