"""Turns features into one score per file, by a weighted sum.

`scripts/train/train-ranker` learns the weights in `weights.json` with a listwise softmax loss over annotated queries.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sidecar import shown
from sidecar.engine.search.rank.features import FEATURES
from sidecar.errors import ConfigInvalid
from sidecar.parts.lexical.bm25 import Floats

_FAMILY_OF = [("word", "meaning", "prior").index(feature.family) for feature in FEATURES]
_EXTRA = np.array([feature.extra for feature in FEATURES])
_LEARNED = Path(__file__).with_name("weights.json")
_LOW = 0.05
_ALPHAS = 32
"""The number of alphas whose scaled weights are cached. It is limited because requests choose alpha freely."""


class Combiner(Protocol):
    """Scores candidates by their features. Arrays of features are float32 of shape [candidates, FEATURES], values in
    0-1; alpha is the weight of meaning, 0-1."""

    def needs(self, alpha: float) -> frozenset[str]:
        """Returns the names of the features that have a weight at this alpha; the values of all others may be left at
        0."""

    def suited_to(self, *, long: bool) -> Combiner:
        """Returns the combiner for a long question, or for any other query."""

    def score(self, features: Floats, alpha: float) -> Floats:
        """Returns one score per candidate, shape [candidates], above 0 and at most 1."""

    def contributions(self, features: Floats, alpha: float) -> dict[str, float]:
        """Returns what each feature adds to the score of one candidate, by name, without zeros. `features` has the
        shape [FEATURES]."""


@dataclass(frozen=True, slots=True)
class _Scaled:
    """The weights at one alpha, shape [FEATURES], and `base`, both divided by what makes the best score 1; and the
    names of the features whose weight is not 0."""

    weights: NDArray[np.float64]
    base: float
    needs: frozenset[str]


@dataclass(frozen=True)
class WeightedSum:
    """The weighted sum of features, divided by the sum of the positive weights in effect and `base`, so that 1 means
    best in every respect; extra features are not counted in that sum. Alpha scales the weights by family: words by 2 (1
    - alpha), meaning by 2 alpha, priors by 1.

    `base` is a constant that is added to the sum. Hits multiply a file's score by factors (`hits.py`), so `base`
    decides how much a difference between two files' features matters there.

    `long` has the weights for long questions; None if they use the same weights.
    """

    weights: Mapping[str, float]
    base: float = 0.0
    long: WeightedSum | None = None

    def suited_to(self, *, long: bool) -> WeightedSum:
        """Returns the weights for a long question, or for any other query."""
        return self.long if long and self.long is not None else self

    def score(self, features: Floats, alpha: float) -> Floats:
        """Returns one score per candidate, shape [candidates]. Sums below 0.05 are mapped into (0, 0.05)."""
        at = self._scaled(alpha)
        # Double precision, so that rounding does not depend on the number of candidates.
        return _positive(np.minimum(features.astype(np.float64) @ at.weights + at.base, 1))

    def contributions(self, features: Floats, alpha: float) -> dict[str, float]:
        """Returns what each feature adds, by name and rounded to four decimals. Zeros are left out, and `base` is
        listed if it is not 0."""
        at = self._scaled(alpha)
        values = (features * at.weights).tolist()
        parts = {f.name: round(p, 4) for f, p in zip(FEATURES, values, strict=True) if p}
        return {**parts, "base": round(at.base, 4)} if at.base else parts

    def needs(self, alpha: float) -> frozenset[str]:
        """Returns the names of the features whose weight at this alpha is not 0."""
        return self._scaled(alpha).needs

    def _scaled(self, alpha: float) -> _Scaled:
        known = self._by_alpha.get(alpha)
        if known is None:
            weights = self._given * np.array((2 * (1 - alpha), 2 * alpha, 1.0))[_FAMILY_OF]
            whole = max(float(weights[(weights > 0) & ~_EXTRA].sum()) + self.base, 1e-9)
            needs = frozenset(f.name for f, weight in zip(FEATURES, weights.tolist(), strict=True) if weight)
            known = _Scaled(weights / whole, self.base / whole, needs)
            if len(self._by_alpha) < _ALPHAS:
                self._by_alpha[alpha] = known
        return known

    @cached_property
    def _by_alpha(self) -> dict[float, _Scaled]:
        return {}

    @cached_property
    def _given(self) -> NDArray[np.float64]:
        return np.array([self.weights.get(f.name, 0.0) for f in FEATURES])


def learned(path: Path = _LEARNED) -> WeightedSum:
    """Reads the weights that `scripts/train/train-ranker` wrote to this file. Raises ConfigInvalid if the file cannot
    be read or weighs a feature that does not exist."""
    try:
        read = json.loads(path.read_text("utf-8"))
        long = _read(read["long"]) if "long" in read else None
        found = replace(_read(read), long=long)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigInvalid(
            f"{shown.place(path)} holds no ranking weights ({shown.reason(error)}). Write it with "
            f"scripts/train/train-ranker."
        ) from error
    named = {*found.weights, *(long.weights if long is not None else ())}
    unknown = named - {feature.name for feature in FEATURES}
    if unknown:
        raise ConfigInvalid(
            f"{shown.place(path)} has weights for unknown features ({', '.join(sorted(unknown))}); train the "
            f"ranker again."
        )
    return found


def _read(value: Mapping[str, Any]) -> WeightedSum:
    return WeightedSum({str(n): float(w) for n, w in value["weights"].items()}, float(value["base"]))


def choose(ranker: str) -> Combiner:
    """Returns the shipped weights if `ranker` is `learned` or empty, else those in the file with this path. Raises
    ConfigInvalid."""
    return learned() if ranker in ("", "learned") else learned(Path(ranker))


def _positive(scores: NDArray[np.float64]) -> Floats:
    """Maps sums below `_LOW` into (0, `_LOW`) and keeps their order, so that penalties never make scores equal."""
    low = _LOW * np.exp(np.minimum(scores - _LOW, 0) / _LOW)
    return np.where(scores < _LOW, low, scores).astype(np.float32)
