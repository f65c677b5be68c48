"""Chooses which chunks of a file are shown, by a weighted sum of named features of chunks.

The sums are comparable only between chunks of one file. `scripts/train/train-chunks` fits the weights to the annotated
lines of short questions and to the lines that commits changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from sidecar.engine.search.rank.chunk_groups import ChunkGroups
from sidecar.engine.search.rank.signals import Signals
from sidecar.engine.search.source import Flags
from sidecar.parts.lexical.bm25 import Floats

_FUNCTIONS = ("function", "method", "constructor", "macro")
_TYPES = ("class", "type", "namespace")
_LONG = 4.0
"""The length norm of a chunk that counts as entirely long."""
_BEST, _WORST = 4.0, -2.0
_SPREAD = 0.01
_SHARPNESS = 0.1
"""How fast the value falls with the sum: a chunk whose sum is 1 below its file's best has exp(-0.1) of the best's
value."""
_MESSAGE = 6.0
"""The weight of an error message that a chunk contains. It was set by hand; 4 and 8 are as good."""

WORDS: Mapping[str, Callable[[Signals], Floats]] = {
    "words": lambda e: e.passages.words,
    "cover": lambda e: e.passages.cover,
    "cover_in_file": lambda e: _within(e.groups, e.passages.cover),
    "names": lambda e: e.passages.names,
    "names_in_file": lambda e: _within(e.groups, e.passages.names),
    "sought": lambda e: e.passages.sought,
}
"""BM25 of the chunk; the share of the query's idf in the chunk, and in the names that are defined in it (because a
definition is read from its start), each as it is and relative to the file's best; the weight of a sought definition."""
MEANING: Mapping[str, Callable[[Signals], Floats]] = {
    "closeness": lambda e: e.closeness.scaled,
    "lead": lambda e: _lead(e.groups, e.closeness.known),
}
"""The cosine, scaled between the lowest and the highest of all candidates, and in standard deviations above the file's
mean."""
PRIOR: Mapping[str, Callable[[Signals], Floats]] = {
    "is_first": lambda e: _first(e.groups),
    "is_function": lambda e: _of_kind(e, _FUNCTIONS),
    "is_type": lambda e: _of_kind(e, _TYPES),
    "length": lambda e: np.minimum(e.columns.chunk_norms[e.groups.rows] / np.float32(_LONG), 1),
}
"""Facts that do not depend on the query: the beginning of a file has imports and explanations, a function does
something, and of a type a chunk often has only the beginning."""
FEATURES: tuple[str, ...] = (*WORDS, *MEANING, *PRIOR)
WEIGHTS: Mapping[str, float] = {
    "words": 0.81,
    "cover": 1.04,
    "cover_in_file": 0.6,
    "names": 1.06,
    "names_in_file": 0.33,
    "sought": 1.53,
    "closeness": 0.94,
    "lead": 1.57,
    "is_first": -0.19,
    "is_function": 0.3,
    "is_type": -0.26,
    "length": 0.46,
}


def shown(signals: Signals, alpha: float) -> Floats:
    """Returns how well each chunk answers, relative to the best of its file: a local array with 1 for the best, less
    for others, and 0 if neither words nor vectors support the chunk or it is not allowed. Alpha is the weight of
    meaning, 0-1."""
    total = features_of(signals) @ _scaled(alpha)
    if signals.query.message:
        total = total + np.float32(_MESSAGE * 2 * (1 - alpha)) * signals.message
    supported = _supported(signals, alpha)
    # Rounded, so that equal chunks stay equal in whatever order they are summed.
    total = np.where(supported, np.round(total, 4), -np.inf).astype(np.float32)
    if not len(total):
        return total
    best = signals.groups.best(total)[signals.groups.position]
    behind = np.where(supported, total - np.where(supported, best, 0), -np.inf)
    return np.asarray(np.exp(np.float32(_SHARPNESS) * behind), np.float32)


def features_of(signals: Signals) -> Floats:
    """Returns the features of the candidates' chunks, shape [chunks, FEATURES]."""
    table = np.empty((len(FEATURES), len(signals.groups.rows)), np.float32)
    for row, make in enumerate((*WORDS.values(), *MEANING.values(), *PRIOR.values())):
        table[row] = make(signals)
    return table.T


@lru_cache(maxsize=32)
def _scaled(alpha: float) -> Floats:
    """Returns the weights at this alpha, shape [FEATURES]. Cached, because most questions have the same alpha."""
    scales = [2 * (1 - alpha)] * len(WORDS) + [2 * alpha] * len(MEANING) + [1.0] * len(PRIOR)
    return np.array([WEIGHTS[name] * scale for name, scale in zip(FEATURES, scales, strict=True)], np.float32)


def _supported(e: Signals, alpha: float) -> Flags:
    p = e.passages
    by_word = (p.words > 0) | (p.names > 0) | (p.sought > 0) | (p.plain > 0)
    by_meaning = e.closeness.scaled > 0
    return np.asarray(p.allowed & ((by_word & (alpha < 1)) | (by_meaning & (alpha > 0))))


def _within(groups: ChunkGroups, values: Floats) -> Floats:
    """Returns the values relative to the best of each file, 0-1."""
    best = groups.best(values)[groups.position]
    return np.divide(values, best, out=np.zeros_like(values), where=best > 0)


def _lead(groups: ChunkGroups, values: Floats) -> Floats:
    """Returns how far each value is above the mean of its file, in standard deviations; -2 to 4 are mapped to 0-1."""
    away = values - groups.mean(values)[groups.position]
    spread = np.sqrt(groups.mean(away * away))[groups.position] + np.float32(_SPREAD)
    return np.asarray((np.clip(away / spread, _WORST, _BEST) - _WORST) / (_BEST - _WORST), np.float32)


def _first(groups: ChunkGroups) -> Floats:
    first = np.zeros(len(groups.rows), np.float32)
    first[groups.starts] = 1
    return first


@dataclass(frozen=True, slots=True)
class _KindFlags:
    """1 for each of the snapshot's kinds that is one of some kinds, else 0, shape [kinds], by these kinds."""

    of: dict[tuple[str, ...], Floats] = field(default_factory=dict)


def _of_kind(e: Signals, kinds: tuple[str, ...]) -> Floats:
    known = e.snapshot.memo.get(_KindFlags, _KindFlags).of
    wanted = known.get(kinds)
    if wanted is None:
        wanted = known.setdefault(kinds, np.array([kind in kinds for kind in e.snapshot.kinds], np.float32))
    return wanted[e.snapshot.chunk_kind[e.groups.rows]]
