"""What an agent keeps about the workspace, found again by meaning and by word.

Not here: where memories lie (`parts/memories.py`), how a tool spells them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from sidecar.engine.ports import MemoryStore
from sidecar.engine.search.fusion import RRF_K
from sidecar.errors import Cancelled, InvalidParams, InvalidQuery, ModelLoadFailed
from sidecar.model import Embedder, IsCancelled, Memory, MemoryHit, MemoryPage
from sidecar.parts.lexical.tokens import STOP_WORDS, words

WORD_WEIGHT, MEANING_WEIGHT = 0.5, 0.5
DEPTH = 1000
"""Memories that each of the two searches contributes at most: more than any page can reach."""
SPAN = 0.35
"""Cosines this far below the closest memory's are as good as none."""
FLOOR = 0.15
"""A memory that is not this close in meaning has to be found by its words. (Both models: unrelated ones lie below.)"""
_PIECE, _STEP = 1200, 1000
_MOST_PIECES = 64
_BATCH = 64
_MOST_WORDS = 60
"""Of one question: FTS5 refuses expressions of more than 256 phrases, and nobody means the hundredth word."""
EXCERPT_CHARACTERS = 160


class WorkspaceMemories:
    """See `sidecar.model.Memories`. Saving loads no model: vectors are made by the first search that needs them."""

    def __init__(self, store: MemoryStore, embedder: Callable[[], Embedder]) -> None:
        self._store = store
        self._embedder = embedder

    def save(self, key: str, summary: str, text: str, tags: Sequence[str]) -> tuple[Memory, bool]:
        return self._store.save(key, summary, text, tags)

    def get(self, key: str) -> Memory | None:
        return self._store.get(key)

    def page(self, namespace: str, tags: Sequence[str], limit: int, offset: int) -> tuple[tuple[Memory, ...], int]:
        found, total = self._store.page(namespace, tags, limit, offset)
        return tuple(found), total

    def delete(self, key: str) -> bool:
        return self._store.delete(key)

    def search(self, query: str, limit: int, offset: int, namespace: str, cancelled: IsCancelled) -> MemoryPage:
        """Weighted reciprocal rank fusion of both searches; the relevance is the fused score, 1 for first in both.

        Raises InvalidQuery, Cancelled. Without a model it searches by word, and says so.
        """
        if not query.strip():
            raise InvalidQuery("Say in a few words what to look for.")
        asked = _content_words(query)
        by_word = self._store.find_words(asked, "OR", namespace, DEPTH)[0] if asked else ()
        try:
            by_meaning, notice = self._by_meaning(query, namespace, cancelled), ""
        except ModelLoadFailed as error:
            by_meaning, notice = [], f"Searched by word only: {error.message}"
        fused = _fuse([hit.id for hit in by_word], by_meaning)
        page = fused[offset : offset + limit]
        numbers = [number for number, _ in page]
        memories = self._store.by_id(numbers)
        excerpts = self._store.excerpts(asked, numbers) if asked else {}
        hits = [
            MemoryHit(memory, excerpts.get(number, memory.text[:EXCERPT_CHARACTERS]), round(score, 6))
            for number, score in page
            if (memory := memories.get(number)) is not None
        ]
        return MemoryPage(tuple(hits), len(fused), notice)

    def find_keywords(
        self, keywords: Sequence[str], operator: Literal["AND", "OR"], limit: int, offset: int, namespace: str
    ) -> MemoryPage:
        """The relevance is s / (1 + s) of the store's score s, six decimals."""
        phrases = [keyword for keyword in keywords if words(keyword)]
        if not phrases:
            raise InvalidParams("keywords must contain at least one non-empty value.")
        found, total = self._store.find_words(phrases, operator, namespace, limit, offset)
        numbers = [hit.id for hit in found]
        memories, excerpts = self._store.by_id(numbers), self._store.excerpts(phrases, numbers)
        return MemoryPage(
            tuple(
                MemoryHit(memories[hit.id], excerpts.get(hit.id, ""), round(hit.score / (1 + hit.score), 6))
                for hit in found
                if hit.id in memories
            ),
            total,
        )

    def close(self) -> None:
        self._store.close()

    # ------------------------------------------------------------ the two searches

    def _by_meaning(self, query: str, namespace: str, cancelled: IsCancelled) -> list[int]:
        ids = self._store.ids(namespace)
        if not ids:
            return []
        embedder = self._embedder()
        vectors = self._vectors(ids, embedder, cancelled)
        numbers = np.fromiter(vectors, np.int64, len(vectors))
        counts = np.fromiter((len(blob) for blob in vectors.values()), np.int64) // (4 * embedder.dimension)
        pieces = np.frombuffer(b"".join(vectors.values()), np.float32).reshape(-1, embedder.dimension)
        cosines = np.maximum.reduceat(pieces @ embedder.embed_query(query), np.cumsum(counts) - counts)
        close = cosines >= max(FLOOR, float(cosines.max(initial=0)) - SPAN)
        order = np.lexsort((numbers[close], -cosines[close]))[:DEPTH]
        return [int(number) for number in numbers[close][order]]

    def _vectors(self, ids: Sequence[int], embedder: Embedder, cancelled: IsCancelled) -> dict[int, bytes]:
        """Of each memory, float32 of shape [pieces, dimension]; those that are missing are made and kept."""
        kept = self._store.vectors(embedder.model_id, ids)
        missing = [number for number in ids if number not in kept]
        for start in range(0, len(missing), _BATCH):
            if cancelled():
                raise Cancelled
            kept.update(self._embed(missing[start : start + _BATCH], embedder))
        return kept

    def _embed(self, ids: Sequence[int], embedder: Embedder) -> dict[int, bytes]:
        # The times are read before the texts: a change in between makes the vectors old, never wrongly new.
        changed = self._store.changed_at(ids)
        memories = self._store.by_id(ids)
        pieces = {number: _pieces(memory) for number, memory in memories.items()}
        vectors = embedder.embed_documents([piece for some in pieces.values() for piece in some])
        made: dict[int, bytes] = {}
        at = 0
        for number, some in pieces.items():
            made[number] = np.ascontiguousarray(vectors[at : at + len(some)], np.float32).tobytes()
            at += len(some)
        self._store.keep_vectors(
            embedder.model_id, [(number, changed[number], blob) for number, blob in made.items() if number in changed]
        )
        return made


def _content_words(query: str) -> list[str]:
    all_words = list(dict.fromkeys(words(query)))
    return ([word for word in all_words if word.lower() not in STOP_WORDS] or all_words)[:_MOST_WORDS]


def _pieces(memory: Memory) -> list[str]:
    """What is embedded: the key's words, tags and summary with the text's beginning, then the text in windows."""
    head = "\n".join((memory.key, memory.summary, " ".join(memory.tags)))
    starts = range(0, max(1, len(memory.text)), _STEP)[:_MOST_PIECES]
    windows = [memory.text[start : start + _PIECE] for start in starts]
    return [f"{head}\n{windows[0]}", *windows[1:]]


def _fuse(by_word: Sequence[int], by_meaning: Sequence[int]) -> list[tuple[int, float]]:
    """Memory ids with their fused score, best first, ties by id."""
    scores: dict[int, float] = {}
    for ranked, weight in ((by_word, WORD_WEIGHT), (by_meaning, MEANING_WEIGHT)):
        for rank, number in enumerate(ranked, 1):
            scores[number] = scores.get(number, 0.0) + weight * (RRF_K + 1) / (RRF_K + rank)
    return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))
