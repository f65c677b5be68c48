"""From features to one score per file, and which chunk of a file is shown.

The weights are those of a listwise softmax over the 29 development repositories, rounded by hand. Fitted on four fifths
of the repositories and tried on the others the same features reach 0.907 (mean of three foldings); rounded and tried
on all, 0.909. A learned combiner takes the place of `HandSet` by the same two methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sidecar.engine.rank.features import FEATURES
from sidecar.parts.lexical.bm25 import Floats

WEIGHTS: Mapping[str, float] = {
    "fused_ranks": 2.0,
    "best_chunk": 0.5,
    "file_fields": 2.0,
    "stem_words": 0.5,
    "path_words": 0.5,
    "defined_words": 0.5,
    "defines_sought": 1.0,
    "defines_symbol": 3.0,
    "defines_word": 1.0,
    "named_so": 0.5,
    "similarity": 1.0,
    "top_similarities": 2.0,
    "is_test": -2.0,
    "is_example": -1.5,
    "is_foreign": -0.5,
    "is_declaration": -0.5,
}


_LOW = 0.05


class Combiner(Protocol):
    def score(self, features: Floats, alpha: float) -> Floats:
        """One score in 0-1 per row of `features` [candidates, FEATURES]."""

    def contributions(self, features: Floats, alpha: float) -> dict[str, float]:
        """What each feature added to the score of one candidate, by name."""


@dataclass(frozen=True)
class HandSet:
    """A weighted sum. Divided by the weights in force, so that 1 means best in every respect."""

    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)

    def score(self, features: Floats, alpha: float) -> Floats:
        weights = self._scaled(alpha)
        return _positive(np.minimum(features @ weights, 1))

    def contributions(self, features: Floats, alpha: float) -> dict[str, float]:
        parts = features * self._scaled(alpha)
        return {f.name: round(float(p), 4) for f, p in zip(FEATURES, parts, strict=True) if p}

    def _scaled(self, alpha: float) -> Floats:
        share = {"word": 2 * (1 - alpha), "meaning": 2 * alpha, "prior": 1.0}
        weights = np.array([self.weights.get(f.name, 0.0) * share[f.family] for f in FEATURES], np.float32)
        return np.asarray(weights / max(float(weights[weights > 0].sum()), 1e-9), np.float32)


def _positive(scores: Floats) -> Floats:
    """Low and negative sums squeezed into what is left above 0: penalties never make scores equal."""
    low = _LOW * np.exp(np.minimum(scores - _LOW, 0) / _LOW)
    return np.where(scores < _LOW, low, scores).astype(np.float32)
