"""What words, names and vectors say of each chunk of the candidate files (see `ChunkGroups` for what local means)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sidecar.engine.search.rank.chunk_groups import ChunkGroups, relative
from sidecar.engine.search.rank.definitions import DefinitionScores
from sidecar.engine.search.rank.lexical_scores import LexicalScores
from sidecar.engine.search.source import Flags, Rows
from sidecar.parts.lexical.bm25 import Floats

_SCORED = 3
"""Chunks of a candidate whose cosine is looked up when the vector search did not return it."""
_WORDS = 1.0
_NAMES = 0.5
_SOUGHT = 1.0
_PLAIN = 0.3
_CLOSENESS = 1.0


@dataclass(frozen=True)
class Similarities:
    """Cosines over all chunk rows; NaN where not known. `floor` is what unknown ones are taken for."""

    chunks: Floats
    floor: float


@dataclass(frozen=True)
class Closeness:
    """Local. `cosines` are NaN where not known."""

    cosines: Floats
    floor: float

    @classmethod
    def of(cls, groups: ChunkGroups, similarities: Similarities | None) -> Closeness:
        if similarities is None:
            return cls(np.full(len(groups.rows), np.nan, np.float32), 0.0)
        return cls(similarities.chunks[groups.rows], similarities.floor)

    @cached_property
    def known(self) -> Floats:
        """Unknown ones are at most as close as the last that the search returned; so are all that are less close,
        whether they happen to be known or not."""
        return np.fmax(self.cosines, np.float32(self.floor))

    @cached_property
    def scaled(self) -> Floats:
        """From just above 0 for the least close known chunk to 1 for the closest; 0 for unknown ones."""
        known = ~np.isnan(self.cosines)
        if not known.any():
            return np.zeros_like(self.cosines)
        low, high = float(self.cosines[known].min()), float(self.cosines[known].max())
        span = max(high - low, 1e-6)
        return np.where(known, 0.01 + 0.99 * (self.cosines - low) / span, 0).astype(np.float32)


@dataclass(frozen=True)
class ChunkScores:
    """Local arrays: BM25 relative to the best, shares of the query's idf, names defined there, what may be shown."""

    groups: ChunkGroups
    words: Floats
    cover: Floats
    names: Floats
    sought: Floats
    plain: Floats
    allowed: Flags

    @classmethod
    def of(cls, groups: ChunkGroups, match: LexicalScores, symbols: DefinitionScores, allowed: Flags) -> ChunkScores:
        rows = groups.rows
        return cls(
            groups=groups,
            words=relative(match.chunks[rows]),
            cover=match.chunk_cover[rows],
            names=match.chunk_names[rows],
            sought=symbols.chunks_sought[rows],
            plain=symbols.chunks_plain[rows],
            allowed=allowed[rows],
        )

    def worth_comparing(self) -> Rows:
        """The chunk rows whose closeness matters because their words or names match."""
        scores = self.words + self.names + self.sought
        places, _ = self.groups.strongest(scores, _SCORED)
        return self.groups.rows[places[scores[places] > 0]]

    def shown(self, closeness: Closeness, alpha: float) -> Floats:
        """How well each chunk answers, to choose among chunks of one file; 0 where nothing speaks for it.

        Words, the names that start in it (a definition is read from its start), and closeness.
        """
        words = _WORDS * self.words + _NAMES * self.names + _SOUGHT * self.sought + _PLAIN * self.plain
        scores = (1 - alpha) * words
        if alpha > 0:
            scores = scores + np.float32(alpha * _CLOSENESS) * closeness.scaled
        return np.asarray(np.where(self.allowed, scores, 0), np.float32)
