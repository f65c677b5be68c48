"""Scores of each chunk of the candidate files by words, names and vectors. `ChunkGroups` defines local arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sidecar.engine.search.rank.chunk_groups import ChunkGroups, relative
from sidecar.engine.search.rank.definitions import DefinitionScores
from sidecar.engine.search.rank.word_scores import WordScores
from sidecar.engine.search.source import Flags, Rows
from sidecar.parts.lexical.bm25 import Floats

_SCORED = 3
"""The number of chunks of a candidate file whose cosines are computed even if the vector store did not return them."""


@dataclass(frozen=True)
class Similarities:
    """`of` returns the cosines of some chunk rows, NaN where unknown. `floor` stands for the unknown ones."""

    of: Callable[[Rows], Floats]
    floor: float


@dataclass(frozen=True)
class Closeness:
    """Local cosines, NaN where unknown. `floor` stands for the unknown ones."""

    cosines: Floats
    floor: float

    @classmethod
    def of(cls, groups: ChunkGroups, similarities: Similarities | None) -> Closeness:
        """Returns the similarities of these chunks; all unknown, with a floor of 0, if no vectors were compared."""
        if similarities is None:
            return cls(np.full(len(groups.rows), np.nan, np.float32), 0.0)
        return cls(similarities.of(groups.rows), similarities.floor)

    @cached_property
    def known(self) -> Floats:
        """The cosines, with `floor` in place of unknown and of lower ones. An unknown cosine is at most the lowest that
        the vector search returned, and lower cosines are treated alike, whether or not they happen to be known."""
        return np.fmax(self.cosines, np.float32(self.floor))

    @cached_property
    def scaled(self) -> Floats:
        """The cosines on a scale from 0.01 for the least close known chunk to 1 for the closest; 0 for unknown ones."""
        known = ~np.isnan(self.cosines)
        if not known.any():
            return np.zeros_like(self.cosines)
        low, high = float(self.cosines[known].min()), float(self.cosines[known].max())
        span = max(high - low, 1e-6)
        return np.where(known, 0.01 + 0.99 * (self.cosines - low) / span, 0).astype(np.float32)


@dataclass(frozen=True)
class ChunkScores:
    """Local arrays: BM25 of the chunk's text relative to the best (`words`), the shares of the query's idf that its
    text (`cover`) and the names defined in it (`names`) have, the weights of its definitions of sought names and of
    plain words (`sought`, `plain`), all in 0-1, and whether it may be shown (`allowed`)."""

    groups: ChunkGroups
    words: Floats
    cover: Floats
    names: Floats
    sought: Floats
    plain: Floats
    allowed: Flags

    @classmethod
    def of(cls, groups: ChunkGroups, match: WordScores, symbols: DefinitionScores, allowed: Flags) -> ChunkScores:
        """Returns the results of the word search for these chunks."""
        rows, words = groups.rows, match.of_chunks(groups)
        return cls(
            groups=groups,
            words=relative(words.bodies),
            cover=words.cover,
            names=words.names,
            sought=symbols.chunks_sought[rows],
            plain=symbols.chunks_plain[rows] * allowed[rows],
            allowed=allowed[rows],
        )

    def worth_comparing(self) -> Rows:
        """Returns the chunk rows whose cosines are worth computing: those whose words or names match the query, at most
        `_SCORED` of each file."""
        scores = self.words + self.names + self.sought
        places, _ = self.groups.strongest(scores, _SCORED)
        return self.groups.rows[places[scores[places] > 0]]
