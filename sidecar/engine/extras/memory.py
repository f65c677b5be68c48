"""Notes that agents store about a workspace, found again by meaning and by word.

`parts/memories.py` stores them; `tools/memory.py` has the tools' parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal

import numpy as np

from sidecar.engine.ports import MemoryStore
from sidecar.errors import (
    Cancelled,
    DiskFull,
    IndexLocked,
    InvalidParams,
    InvalidQuery,
    ModelLoadFailed,
    PermissionDenied,
)
from sidecar.model.answers import Memory, MemoryHit, MemoryPage
from sidecar.model.terms import Embedder, IsCancelled
from sidecar.parts.lexical.tokens import STOP_WORDS, words

WORD_WEIGHT, MEANING_WEIGHT = 0.5, 0.5
DEPTH = 1000
"""The maximum number of memories that each of the two searches contributes, more than any page can reach."""
SPAN = 0.35
"""A memory whose cosine is lower than the best one by more than this does not count as close."""
FLOOR = 0.15
"""The lowest cosine of a memory that is found by meaning alone. Unrelated memories lie below it, with static models and
with transformers."""
CLOSE_FROM, CLOSE_AT = 0.1, 0.5
"""Between these cosines a memory counts as closer and closer. With the shipped model, the closest of 15 memories was at
most at 0.21 for 28 of 30 questions about something else, and the right one at 0.21 or more for 21 of 26 questions."""
WEAK_BELOW = 0.2
"""If no memory on any page is as relevant as this, the answer says that it is weak."""
NO_STRONG_MATCH = "No strong match: these memories are the closest, but probably not what was asked for."
_PIECE, _STEP = 1200, 1000
_MOST_PIECES = 64
_BATCH = 64
_MOST_WORDS = 60
"""The number of a query's words that are searched: FTS5 refuses expressions of more than 256 phrases."""
EXCERPT_CHARACTERS = 160
_RRF_K = 60
"""The constant k of reciprocal rank fusion (Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms
Condorcet", SIGIR 2009)."""


class WorkspaceMemories:
    """The memories of one workspace; see `sidecar.model.workspace.Memories`. Saving loads no model: a memory's vectors
    are made by the first search that needs them."""

    def __init__(self, store: MemoryStore, embedder: Callable[[], Embedder]) -> None:
        self._store = store
        self._embedder = embedder

    def save(self, key: str, summary: str, text: str, tags: Sequence[str]) -> tuple[Memory, bool]:
        """Stores a memory, replacing any with the same key. Returns the memory and True if the key is new."""
        return self._store.save(key, summary, text, tags)

    def get(self, key: str) -> Memory | None:
        """Returns the memory with this key, or None."""
        return self._store.get(key)

    def page(self, namespace: str, tags: Sequence[str], limit: int, offset: int) -> tuple[tuple[Memory, ...], int]:
        """Returns one page of the memories of a namespace that have the tags, most recently changed first, and the
        number on all pages."""
        found, total = self._store.page(namespace, tags, limit, offset)
        return tuple(found), total

    def delete(self, key: str) -> bool:
        """Deletes the memory with this key; returns whether it existed."""
        return self._store.delete(key)

    def search(self, query: str, limit: int, offset: int, namespace: str, cancelled: IsCancelled) -> MemoryPage:
        """Searches by meaning and by word, and combines the two by weighted reciprocal rank fusion. A hit's relevance
        is the fused score: 1 for a memory that is first in both, holds all the words and is close in meaning.

        The notice says if the answer is weak, or if the model cannot be loaded and it searched by word alone. Raises
        InvalidQuery if the query is blank, and Cancelled.
        """
        if not query.strip():
            raise InvalidQuery("Say in a few words what to look for.")
        asked = _content_words(query)
        by_word = self._store.find_words(asked, "OR", namespace, DEPTH)[0] if asked else ()
        try:
            by_meaning, notice = self._by_meaning(query, namespace, cancelled), ""
        except ModelLoadFailed as error:
            by_meaning, notice = [], f"Searched by word only: {error.message}"
        fused = _fuse([(hit.id, hit.share) for hit in by_word], by_meaning)
        if fused and not notice and fused[0][1] < WEAK_BELOW:
            notice = NO_STRONG_MATCH
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
        """Searches by word alone, for all (AND) or any (OR) of the keywords. A hit's relevance is s / (1 + s) of the
        store's score s, rounded to six decimals. Raises InvalidParams if no keyword has a letter or digit."""
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
        """Closes the store."""
        self._store.close()

    # ------------------------------------------------------------ the two searches

    def _by_meaning(self, query: str, namespace: str, cancelled: IsCancelled) -> list[tuple[int, float]]:
        """Returns the memories whose closest piece is close to the query, best first: the id and how close it is, 0-1.
        Raises ModelLoadFailed and Cancelled."""
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
        closeness = np.clip((cosines - CLOSE_FROM) / (CLOSE_AT - CLOSE_FROM), 0, 1)
        return list(zip(numbers[close][order].tolist(), closeness[close][order].tolist(), strict=True))

    def _vectors(self, ids: Sequence[int], embedder: Embedder, cancelled: IsCancelled) -> dict[int, bytes]:
        """Returns the vectors of each memory by id, as bytes of a float32 array of shape [pieces, dimension]. Missing
        vectors are made, and stored if the file can be written."""
        stored = self._store.vectors(embedder.model_id, ids)
        kept = {number: blob for number, blob in stored.items() if _is_whole(blob, embedder.dimension)}
        missing = [number for number in ids if number not in kept]
        for start in range(0, len(missing), _BATCH):
            if cancelled():
                raise Cancelled
            kept.update(self._embed(missing[start : start + _BATCH], embedder))
        return kept

    def _embed(self, ids: Sequence[int], embedder: Embedder) -> dict[int, bytes]:
        # Times are read before texts: if a memory changes in between, its vectors count as outdated, not as current.
        changed = self._store.changed_at(ids)
        memories = self._store.by_id(ids)
        pieces = {number: _pieces(memory) for number, memory in memories.items()}
        vectors = embedder.embed_documents([piece for some in pieces.values() for piece in some])
        made: dict[int, bytes] = {}
        at = 0
        for number, some in pieces.items():
            made[number] = np.ascontiguousarray(vectors[at : at + len(some)], np.float32).tobytes()
            at += len(some)
        rows = [(number, changed[number], blob) for number, blob in made.items() if number in changed]
        with suppress(DiskFull, PermissionDenied, IndexLocked):  # they are made again by the next search
            self._store.keep_vectors(embedder.model_id, rows)
        return made


def _is_whole(blob: bytes, dimension: int) -> bool:
    """Whether bytes are vectors: a damaged file can have others in their place."""
    return len(blob) > 0 and len(blob) % (4 * dimension) == 0 and bool(np.isfinite(np.frombuffer(blob, "<f4")).all())


def _content_words(query: str) -> list[str]:
    """Returns the distinct words of a query without stop words, or with them if it has no others."""
    all_words = list(dict.fromkeys(words(query)))
    return ([word for word in all_words if word.lower() not in STOP_WORDS] or all_words)[:_MOST_WORDS]


def _pieces(memory: Memory) -> list[str]:
    """Returns the texts that are embedded for a memory: overlapping windows of its text, the first of which begins with
    the memory's key, summary and tags."""
    head = "\n".join((memory.key, memory.summary, " ".join(memory.tags)))
    starts = range(0, max(1, len(memory.text)), _STEP)[:_MOST_PIECES]
    windows = [memory.text[start : start + _PIECE] for start in starts]
    return [f"{head}\n{windows[0]}", *windows[1:]]


def _fuse(by_word: Sequence[tuple[int, float]], by_meaning: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Fuses two rankings of memories, each an id and how well it matches (0-1), best first.

    Returns ids with their fused scores, best first, ties by id. The ranks alone would give the first of unrelated
    memories half of the highest score.
    """
    scores: dict[int, float] = {}
    for ranked, weight in ((by_word, WORD_WEIGHT), (by_meaning, MEANING_WEIGHT)):
        for rank, (number, match) in enumerate(ranked, 1):
            scores[number] = scores.get(number, 0.0) + weight * match * (_RRF_K + 1) / (_RRF_K + rank)
    return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))
