"""Vectors that a team has already made, used between the embedding cache and the model; and what the team has lost,
given again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sidecar.engine.ports import EmbeddingCache, SharedVectors
from sidecar.errors import Cancelled
from sidecar.model.files import Chunk
from sidecar.model.terms import IsCancelled, Vectors
from sidecar.parts.manifest import ChunkToEmbed, Manifest
from sidecar.shown import count

_LOG = logging.getLogger(__name__)
_SAMPLE = 64
_BLOCK = 256


@dataclass(frozen=True)
class TeamVectors:
    """What a generation asks the team for. Only vectors of a slow model are requested: a quick model makes them in less
    time than they take to arrive. `shared` is None if the user has named no server."""

    model_id: str
    dimension: int
    slow: bool
    shared: SharedVectors | None = None

    @property
    def gives(self) -> bool:
        """Whether vectors that are made here are given to the team."""
        return self.slow and self.shared is not None and self.shared.writes

    @property
    def fails(self) -> bool:
        """Whether the team's server failed when it was last asked."""
        return self.shared is not None and bool(self.shared.note)

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

    def lost(self, texts: Mapping[bytes, str]) -> dict[bytes, str]:
        """Those of the texts, by hash, whose vectors the team does not have, or has and cannot read. None while its
        server fails: what it has is then unknown."""
        if self.shared is None or not texts:
            return {}
        there, _ = self.shared.find(self.model_id, self.dimension, list(texts.values()))
        have = set(there)
        return {} if self.fails else {h: text for at, (h, text) in enumerate(texts.items()) if at not in have}


@dataclass(frozen=True)
class TextsOf:
    """The texts that are embedded: of a chunk, and of the path of a file."""

    body: Callable[[Chunk], str]
    path: Callable[[str], str]

    def by_hash(self, chunks: Sequence[ChunkToEmbed]) -> dict[bytes, str]:
        """The texts of the chunks and of their files' paths, each once."""
        paths = {c.path_hash: self.path(c.path) for c in chunks}
        return {**paths, **{c.body_hash: self.body(c.chunk) for c in chunks}}


def give_what_was_lost(
    manifest: Manifest, kept: EmbeddingCache, team: TeamVectors, texts: TextsOf, cancelled: IsCancelled
) -> int:
    """Gives the team the kept vectors of this index that its server no longer has, or never had, and returns how many.

    Some chunks are looked for; only if vectors of them are missing, all are. Does nothing where this machine only
    reads, and ends when the server fails: the next call goes on. Raises Cancelled.
    """
    if not team.gives or not team.lost(texts.by_hash(manifest.some_chunks(_SAMPLE))):
        return 0
    given, last, seen = 0, 0, set[bytes]()
    while not team.fails and (chunks := manifest.chunks_after(last, _BLOCK)):
        if cancelled():
            raise Cancelled
        last = chunks[-1].chunk_id
        lost = team.lost({h: text for h, text in texts.by_hash(chunks).items() if h not in seen})
        seen.update(h for c in chunks for h in (c.path_hash, c.body_hash))
        given += _give_kept(kept, team, lost)
    _LOG.info("The team's server lacked vectors of this index: %s given again.", count(given, "vector"))
    return given


def _give_kept(kept: EmbeddingCache, team: TeamVectors, texts: Mapping[bytes, str]) -> int:
    """Offers the kept vectors of these texts. Returns how many there are; 0 if the server fails."""
    ids = kept.find(list(texts))
    if not ids:
        return 0
    vectors, there = kept.get(np.array(list(ids.values()), np.int64))
    offered = [texts[h] for h, is_there in zip(ids, there.tolist(), strict=True) if is_there]
    team.give(offered, vectors[there])
    return 0 if team.fails else len(offered)
