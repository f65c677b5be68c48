"""The parts of scripts/train/train-ranker: examples taken from the product's own search, and the fitting of weights.

The product does the searching; scripts/bench/bench-quality defines NDCG.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import sidecar.no_telemetry  # noqa: F401

import numpy as np
from numpy.typing import NDArray

from scripts.suffixless import load_script
from sidecar.engine.models.loader import resolve_model
from sidecar.engine.search.hits import rank_spans
from sidecar.engine.search.rank.confidence import EVIDENCE
from sidecar.engine.search.rank.features import FEATURES
from sidecar.engine.search.rank.fingerprint import fingerprint
from sidecar.engine.search.rank.index_columns import columns_of
from sidecar.engine.search.rank.scorer import Combiner, WeightedSum, learned
from sidecar.engine.search.searcher import RankingInput, Searcher, Understood
from sidecar.engine.search.source import SearchedSnapshot, SearchSource
from sidecar.engine.wiring import real_parts
from sidecar.engine.workspaces import OpenWorkspaces
from sidecar.model.answers import SearchAnswer, SearchRequest
from sidecar.model.terms import IsCancelled, never_cancelled, no_progress
from sidecar.model.workspace import Workspace
from sidecar.parts.manifest import COLLECTIONS
from sidecar.settings.declare import DECLARATIONS
from sidecar.settings.load import data_home

Matrix = NDArray[np.float32]


def bench_quality() -> ModuleType:
    """scripts/bench/bench-quality as a module, so that training and the published tables use the same metric."""
    return load_script("bench/bench-quality")


# ---------------------------------------------------------------- the product, with a combiner that can be exchanged


NEUTRAL = WeightedSum({feature.name: 1.0 for feature in FEATURES if feature.family != "prior"})
"""Returns the ranking before any training: every feature of words and of meaning has the same weight, and priors have
none."""


_SHIPPED = learned()


class Exchangeable:
    """A combiner that delegates to `now`, which can be replaced at any time."""

    def __init__(self) -> None:
        self.now: Combiner = NEUTRAL

    def suited_to(self, *, long: bool) -> Combiner:
        return self.now.suited_to(long=long)

    def needs(self, alpha: float) -> frozenset[str]:
        return self.now.needs(alpha)

    def score(self, features: Matrix, alpha: float) -> Matrix:
        return self.now.score(features, alpha)

    def contributions(self, features: Matrix, alpha: float) -> dict[str, float]:
        return self.now.contributions(features, alpha)


@dataclass(frozen=True)
class Candidates:
    """The candidate files of one query: path and lines of the chunk that each would show, and their features; and the
    evidence that the first of them is an answer, by name.

    `spans` are all hits that a search may show: index of the file, first and last line, and the factor by which the
    file's score is reduced for it. Chunks that repeat one another are left out in the files that the shipped weights
    put first.
    """

    shown: list[dict[str, Any]]
    features: Matrix
    evidence: dict[str, float]
    spans: list[tuple[int, int, int, float]]


class Watched(Searcher):
    """The product's searcher; while `watching`, it keeps in `last` what the ranking saw of the last search, and in
    `also` what `look` found in the index that was searched."""

    def __init__(self, combiner: Combiner) -> None:
        super().__init__(combiner)
        self.watching = False
        self.last: Candidates | None = None
        self.look: Callable[[SearchSource, SearchRequest], Any] | None = None
        self.also: Any = None

    def search(
        self,
        source: SearchSource,
        request: SearchRequest,
        cancelled: IsCancelled,
        understood: Understood | None = None,
    ) -> SearchAnswer:
        if self.watching:
            self.last = _candidates(source.snapshot, self.examine(source, request, cancelled), self._combiner)
            self.also = self.look(source, request) if self.look else None
        return super().search(source, request, cancelled, understood)


def _candidates(snapshot: SearchedSnapshot, seen: RankingInput, combiner: Combiner) -> Candidates:
    shown = []
    places, _ = seen.groups.strongest(seen.shown, 1)
    for row in seen.groups.rows[places]:
        lines = {"startLine": int(snapshot.chunk_start[row]), "endLine": int(snapshot.chunk_end[row])}
        shown.append({"path": snapshot.paths[snapshot.chunk_file[row]], **lines})
    combiner = combiner.suited_to(long=seen.signals.query.is_long)
    ranked = seen.ranked(combiner.score(seen.features, seen.alpha)) if len(seen.features) else None
    evidence = {name: value(ranked) for name, value in EVIDENCE.items()} if ranked is not None else {}
    return Candidates(shown, seen.features, evidence, _spans(snapshot, seen))


def _spans(snapshot: SearchedSnapshot, seen: RankingInput) -> list[tuple[int, int, int, float]]:
    if not len(seen.features):
        return []
    columns = columns_of(snapshot, COLLECTIONS.index("code"))
    scores = _SHIPPED.suited_to(long=seen.signals.query.is_long).score(seen.features, seen.alpha)
    spans = rank_spans(snapshot, columns, seen.groups, scores, seen.shown)
    files = scores.tolist()
    return [(s.position, s.start_line, s.end_line, s.score / files[s.position]) for s in spans.page(0, len(spans))]


@dataclass
class Product:
    """The product's workspaces, over indexes that are kept between runs."""

    workspaces: OpenWorkspaces
    combiner: Exchangeable
    watched: list[Watched]

    @contextmanager
    def open(self, root: Path) -> Iterator[Workspace]:
        """An indexed workspace. Its index is created or brought up to date first."""
        workspace = self.workspaces.get(str(root.resolve()))
        build = workspace.create if workspace.status().status == "not_found" else workspace.refresh
        build(no_progress, never_cancelled)
        while workspace.status().status == "indexing":
            time.sleep(0.1)
        yield workspace


@contextmanager
def open_product(home: Path) -> Iterator[Product]:
    """The product with its indexes in `home`, a replaceable combiner and watched searchers."""
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
    """One query: the features of its candidates, and a label for each: 1 if the chunk that it shows is a target, else
    0."""

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
"""This part of the sum of the positive weights is added to every score, so that a file's second chunk ranks below other
files' first."""


@dataclass(frozen=True)
class Recipe:
    """`decay` is AdamW's weight decay (on inputs scaled to deviation 1), `lasso` the weight of the L1 penalty; scaled
    inputs beyond `clip` count as that."""

    steps: int = 250
    rate: float = 0.01
    decay: float = 1.0
    lasso: float = 1e-4
    batch: int = 128
    clip: float = CLIP


def fit(examples: Sequence[Example], recipe: Recipe, seed: int, used: Sequence[int]) -> Matrix:
    """Weights of the raw features; 0 for those not in `used`.

    Listwise softmax with an equal share for each target file (ListNet, Cao et al. 2007), AdamW, one cycle of the
    learning rate.
    """
    rng = np.random.default_rng(seed)
    usable = [e for e in examples if e.labels.sum() > 0]
    rows = np.concatenate([e.features for e in usable])[:, used]
    mean, deviation = rows.mean(0), rows.std(0) + np.float32(1e-3)
    inputs = [np.clip((e.features[:, used] - mean) / deviation, -recipe.clip, recipe.clip) for e in usable]
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


KINDS = ("is_test", "is_example", "is_prose", "is_record")
"""Features of the kind of file. They are learned from whole repositories, since clean folders have few such files."""
HOLD = 3e-3
"""Weight of the L2 penalty on moving these weights. With a third of it NDCG is 0.002 higher, but no search would ever
find a test."""


HISTORY = ("named_in_text", "tests_others")
"""Features that are learned from histories alone: short questions name no files by their paths, and annotated answers
are hardly ever tests. The weight that `tests_others` takes is given back to `is_test`, so the scores of other tests do
not change."""
HISTORY_HOLD = 5e-3
"""`HOLD` of these. With half of it, commits gain 0.002 more where tests are answers, and whole trees lose that."""


def fit_kinds(examples: Sequence[Example], weights: Matrix, used: Sequence[int]) -> Matrix:
    """Moves the weights of `KINDS` that are in `used` to fit these examples; all other weights stay as they are.

    The others stay because in whole repositories files of other packages answer queries too but are not annotated:
    fitted to them, the weights of right evidence would become too low.
    """
    return _moved(examples, weights, [_unit(i) for i in used if FEATURES[i].name in KINDS], HOLD)


def fit_history(examples: Sequence[Example], weights: Matrix, used: Sequence[int]) -> Matrix:
    """Moves the weights of `HISTORY` that are in `used` to fit these examples; all other weights stay as they are, so
    that no other kind of question gets worse."""
    names = [feature.name for feature in FEATURES]
    moves = [_unit(i) for i in used if names[i] in HISTORY]
    for move in moves:
        if move[names.index("tests_others")]:
            move[names.index("is_test")] = -1
    return _moved(examples, weights, moves, HISTORY_HOLD)


MESSAGE = "says_message"
"""This feature is learned only from error messages: for other questions it is 0 in every file."""
MESSAGE_HOLD = 1e-2
LONG_HOLD = 3e-2
"""`HOLD` of the weights of long questions, on inputs scaled to deviation 1."""


def fit_message(examples: Sequence[Example], weights: Matrix) -> Matrix:
    """Moves the weight of `MESSAGE` to fit those examples in which a file has it; all other weights stay."""
    column = [feature.name for feature in FEATURES].index(MESSAGE)
    found = [e for e in examples if e.features[:, column].any()]
    return _moved(found, weights, [_unit(column)], MESSAGE_HOLD) if found else weights


def fit_long(examples: Sequence[Example], weights: Matrix) -> Matrix:
    """Returns the weights for long questions: those of all other questions, moved to fit these examples."""
    deviations = np.concatenate([e.features for e in examples]).std(0) + np.float32(1e-3)
    moves = [_unit(i) / deviation for i, deviation in enumerate(deviations)]
    return _moved(examples, weights, moves, LONG_HOLD, steps=300, rate=0.02)


def _unit(column: int) -> Matrix:
    return np.asarray(np.arange(len(FEATURES)) == column, np.float32)


def _moved(
    examples: Sequence[Example],
    weights: Matrix,
    moves: Sequence[Matrix],
    hold: float,
    steps: int = 150,
    rate: float = 0.05,
) -> Matrix:
    """The weights, moved along some directions of shape [FEATURES] to fit the examples: listwise softmax as in `fit`,
    Adam, all examples in each step, and an L2 penalty on the move."""
    along = np.stack(moves, 1)
    usable = [e for e in examples if e.labels.sum() > 0]
    fixed = np.concatenate([e.features @ weights for e in usable])
    rows = np.concatenate([e.features @ along for e in usable])
    targets = np.concatenate([e.labels / e.labels.sum() for e in usable])
    sizes = [len(e.labels) for e in usable]
    moved, first, second = (np.zeros(len(moves)) for _ in range(3))
    for step in range(1, steps + 1):
        gradient = rows.T @ (_shares(fixed + rows @ moved, sizes) - targets) / len(usable) + hold * moved
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient * gradient
        moved -= rate * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return np.asarray(weights + along @ moved, np.float32)


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
    """The combiner with these raw weights, rounded to four digits."""
    weights = {f.name: round(float(w), 4) for f, w in zip(FEATURES, raw, strict=True) if abs(w) >= 5e-5}
    positive = [weights.get(feature.name, 0.0) for feature in FEATURES if not feature.extra]
    return WeightedSum(weights, round(BASE * sum(w for w in positive if w > 0), 4))


def write_weights(path: Path, combiner: WeightedSum, facts: dict[str, Any]) -> None:
    """Writes a ranker file: `facts`, the base and the weights by feature."""
    path.parent.mkdir(parents=True, exist_ok=True)
    value = {**facts, **_as_json(combiner)}
    if combiner.long is not None:
        value["long"] = _as_json(combiner.long)
    path.write_text(json.dumps(value, indent=1) + "\n", "utf-8")


def _as_json(combiner: WeightedSum) -> dict[str, Any]:
    return {"base": combiner.base, "weights": dict(combiner.weights)}


def current_fingerprint() -> dict[str, object]:
    """The ranking's fingerprint of the current code with the default model."""
    parts = real_parts({}, {}, {})
    (model,) = (str(d.default) for d in DECLARATIONS if d.key == "model")
    return fingerprint(parts.versions, resolve_model(model).verify())


def folds(repositories: Sequence[str], count: int, seed: int) -> list[set[str]]:
    """The repositories dealt at random into `count` sets."""
    names = sorted(set(repositories))
    order = np.random.default_rng(seed).permutation(len(names))
    return [{names[i] for i in order[part::count]} for part in range(count)]
