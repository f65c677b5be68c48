"""Estimates how likely it is that a search has found an answer at all.

Scores order the results of one question. They do not say whether the first result is any good, because most features
are relative to the best candidate. `EVIDENCE` has values that are comparable between questions, and a logistic
regression turns them into the probability that the question belongs to the workspace. `scripts/train/train-confidence`
fits it to annotated questions, each asked in its own repository and in others, where it has no answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import exp
from pathlib import Path

import numpy as np

from sidecar import shown
from sidecar.engine.search.rank.signals import Signals
from sidecar.errors import ConfigInvalid
from sidecar.model.terms import Mode
from sidecar.parts.lexical.bm25 import Floats

_LEARNED = Path(__file__).with_name("confidence.json")
_NEAREST = 50


@dataclass(frozen=True)
class Ranked:
    """A ranked search with at least one candidate: its signals, the `cosines` of the closest chunks, best first (none
    if no vectors were compared), and the index of the `first` candidate."""

    signals: Signals
    cosines: Floats
    first: int


def _best_cover(e: Ranked) -> float:
    """Returns the highest share of the query's idf that any chunk of a candidate has, 0-1."""
    return float(e.signals.chunk_cover.max())


def _closest(e: Ranked) -> float:
    return float(e.cosines[0]) if len(e.cosines) else 0.0


def _lead(e: Ranked) -> float:
    """Returns how far the closest cosine is above the mean of the fifty closest: among chunks that do not answer, none
    stands out."""
    near = e.cosines[:_NEAREST]
    return float(near[0] - near.mean()) if len(near) else 0.0


def _defines_any(e: Ranked) -> float:
    """Returns the highest weight of a definition of a name from the query in any candidate, 0-1."""
    return float(e.signals.sought.max())


EVIDENCE: Mapping[str, Callable[[Ranked], float]] = {
    "best_cover": _best_cover,
    "chunk_cover": lambda e: float(e.signals.chunk_cover[e.first]),
    "body_cover": lambda e: float(e.signals.body_cover[e.first]),
    "defines_sought": lambda e: float(e.signals.sought[e.first]),
    "defines_word": lambda e: float(e.signals.plain[e.first]),
    "named_so": lambda e: float(e.signals.stems[e.first]),
    "is_symbol": lambda e: float(e.signals.query.is_symbol),
    "terms": lambda e: float(np.log1p(len(e.signals.query.terms))),
    "rarity": lambda e: e.signals.match.rarity,
    "spells_names": lambda e: float(bool(e.signals.query.names)),
    "defines_any": _defines_any,
    "closest": _closest,
    "lead": _lead,
    "similarity": lambda e: float(e.signals.similarity[e.first]),
}
"""The evidence for an answer, by name: from words, from the query itself, and from vectors."""
WORDS = ("best_cover", "chunk_cover", "body_cover", "defines_sought", "defines_word", "named_so", "is_symbol", "terms")
MEANING = ("is_symbol", "terms", "closest", "lead", "similarity")
USED: Mapping[Mode, tuple[str, ...]] = {"hybrid": tuple(EVIDENCE), "fts": WORDS, "vector": MEANING}
"""The evidence that is used in each mode. `rarity` and the two after it gain nothing by word alone."""


@dataclass(frozen=True)
class Calibration:
    """A logistic regression over some evidence. A probability below `weak_below` is called weak."""

    bias: float
    weights: Mapping[str, float]
    weak_below: float

    def probability(self, found: Ranked) -> float:
        """Returns the probability that the question has an answer, 0-1."""
        total = self.bias + sum(weight * EVIDENCE[name](found) for name, weight in self.weights.items())
        return 1 / (1 + exp(-total))


@dataclass(frozen=True)
class Confidence:
    """The calibrations by mode. Those that use cosines hold only for the vectors of one model, whose id is `model`."""

    model: str
    by_mode: Mapping[Mode, Calibration]

    def calibration(self, mode: Mode, model: str) -> Calibration | None:
        """Returns the calibration for a mode with the vectors of this model (empty: no vectors); None if there is
        none."""
        return self.by_mode.get(mode) if mode == "fts" or model == self.model else None


@lru_cache(maxsize=4)
def learned(path: Path = _LEARNED) -> Confidence:
    """Reads the calibrations that `scripts/train/train-confidence` wrote to this file. Raises ConfigInvalid if the file
    cannot be read or names unknown evidence."""
    try:
        read = json.loads(path.read_text("utf-8"))
        by_mode: dict[Mode, Calibration] = {
            mode: Calibration(
                float(read["modes"][mode]["bias"]),
                {str(name): float(weight) for name, weight in read["modes"][mode]["weights"].items()},
                float(read["modes"][mode]["weak_below"]),
            )
            for mode in USED
        }
        model = str(read["model"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigInvalid(
            f"{shown.place(path)} holds no calibration ({shown.reason(error)}). Write it with "
            f"scripts/train/train-confidence."
        ) from error
    unknown = {name for one in by_mode.values() for name in one.weights} - set(EVIDENCE)
    if unknown:
        raise ConfigInvalid(
            f"{shown.place(path)} weighs unknown evidence ({', '.join(sorted(unknown))}); train it again."
        )
    return Confidence(model, by_mode)
