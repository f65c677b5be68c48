"""Vectors that a team has already made, used between the embedding cache and the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sidecar.engine.ports import EmbeddingCache, SharedVectors
from sidecar.model.terms import Vectors


@dataclass(frozen=True)
class TeamVectors:
    """What a generation asks the team for. Only vectors of a slow model are requested: a quick model makes them in less
    time than they take to arrive. `shared` is None if the user has named no server."""

    model_id: str
    dimension: int
    slow: bool
    shared: SharedVectors | None = None

    def take(self, kept: EmbeddingCache, texts: Mapping[bytes, str]) -> dict[bytes, int]:
        """Adds to `kept`, the embedding cache, the vectors that the team has for these texts, which are given by hash.
        Returns their ids by hash."""
        if self.shared is None or not self.slow or not texts:
            return {}
        hashes = list(texts)
        places, vectors = self.shared.find(self.model_id, self.dimension, list(texts.values()))
        found = [hashes[place] for place in places]
        return dict(zip(found, kept.add(found, vectors), strict=True)) if found else {}

    def give(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Offers the team the vectors, shape [n, dimension], that the model has made from these texts."""
        if self.shared is not None and self.slow:
            self.shared.offer(self.model_id, texts, vectors)
