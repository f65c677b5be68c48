"""Computes the vectors that a generation lacks for another model, and puts them into the embedding cache. Searches have
priority.

Each batch is cached when it is complete, so an interrupted run continues where it stopped. `update/model_upgrade.py`
uses the vectors.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sidecar.engine.concurrency.fair_slots import FairSlots
from sidecar.engine.concurrency.usage import Usage
from sidecar.engine.index.snapshot import Snapshots
from sidecar.engine.ingest.team_vectors import TeamVectors
from sidecar.engine.ports import EmbeddingCache, Parts
from sidecar.errors import Cancelled
from sidecar.model.files import Chunk
from sidecar.model.terms import Embedder, IsCancelled, Vectors
from sidecar.parts.manifest import unpack_names

_BATCH = 32
# How long, in seconds, the processor stays free after a search for another one.
_CALM_S = 0.05
_LONGEST_WAIT_S = 0.25
_LOOK_S = 0.005

Report = Callable[[int, int], None]
"""Called with the number of chunks that have a vector, and the number of all chunks."""


class Pace:
    """Controls how a background job shares the machine: it embeds text by text between searches, or at full speed while
    `hurry` is set."""

    def __init__(self, usage: Usage, fair_slots: FairSlots) -> None:
        self._usage = usage
        self.fair_slots = fair_slots
        self.hurry = threading.Event()

    def give_way(self, stop: IsCancelled) -> None:
        """Waits until no search has run for a moment, or `hurry` is set.

        The wait is limited, so constant searching slows the job down but does not stop it.
        """
        deadline = time.monotonic() + _LONGEST_WAIT_S
        while not self.hurry.is_set() and time.monotonic() < deadline and not stop():
            if self._usage.calm(_CALM_S):
                return
            time.sleep(_LOOK_S)


@dataclass(frozen=True)
class _Lacking:
    """The texts without a vector, by hash.

    `bodies` has a chunk id for each body, `paths` a path for each path text. `weights` has the number of chunks for
    every body, embedded or not. `done` is the number of chunks with a vector, `total` that of all chunks.
    """

    bodies: dict[bytes, int]
    paths: dict[bytes, str]
    weights: Mapping[bytes, int]
    done: int
    total: int


class Backfill:
    """Fills the embedding cache of one model with the vectors that one generation lacks."""

    def __init__(
        self,
        snapshots: Snapshots,
        kept: EmbeddingCache,
        embedder: Callable[[], Embedder],
        parts: Parts,
        pace: Pace,
        team: TeamVectors,
    ) -> None:
        self._team = team
        self._snapshots = snapshots
        self._kept = kept
        self._embedder = embedder
        self._parts = parts
        self._pace = pace
        self._device = ""

    def run(self, stop: IsCancelled, report: Report) -> int:
        """Embeds the texts without a vector. Returns how many bodies were embedded.

        Texts that are added during the run are included, except those added during its last batch, so that constant
        saving cannot prevent its end. Raises Cancelled after the text in progress; the vectors of the unfinished batch
        are then lost.
        """
        embedded = 0
        while True:
            lacking = _look(self._snapshots, self._kept)
            report(lacking.done, lacking.total)
            if not lacking.bodies and not lacking.paths:
                return embedded
            embedded += self._embed_all(lacking, stop, report)
            if len(lacking.bodies) + len(lacking.paths) <= _BATCH:
                return embedded

    def _embed_all(self, lacking: _Lacking, stop: IsCancelled, report: Report) -> int:
        embedded, done = 0, lacking.done
        hashes = [*lacking.paths, *lacking.bodies]
        for start in range(0, len(hashes), _BATCH):
            some = hashes[start : start + _BATCH]
            with self._pace.fair_slots.taking(stop) as ask:
                texts = self._texts({h: lacking.bodies[h] for h in some if h in lacking.bodies})
                texts.update((h, self._parts.path_text(lacking.paths[h])) for h in some if h in lacking.paths)
                had = self._team.take(self._kept, texts)
                made = {digest: text for digest, text in texts.items() if digest not in had}
                vectors = self._embed(list(made.values()), ask) if made else None
                if vectors is not None:
                    self._kept.add(list(made), vectors)
                    self._team.give(list(made.values()), vectors)
            new = [digest for digest in texts if digest in lacking.bodies]
            embedded += sum(digest in made for digest in new)
            done += sum(lacking.weights[digest] for digest in new)
            report(done, lacking.total)
        return embedded

    def _texts(self, chunks: Mapping[bytes, int]) -> dict[bytes, str]:
        """Returns the texts to embed for these chunks, by body hash, without chunks that no longer exist."""
        marks = ",".join("?" * len(chunks))
        with self._snapshots.open() as snapshot:
            rows = snapshot.connection.execute(
                "SELECT body_hash, start_line, end_line, text, kind, names, enclosing FROM chunks"
                f" WHERE id IN ({marks})",
                list(chunks.values()),
            ).fetchall()
        return {
            digest: self._parts.body_text(Chunk(start, end, text, kind, unpack_names(names), unpack_names(enclosing)))
            for digest, start, end, text, kind, names, enclosing in rows
        }

    def _embed(self, texts: Sequence[str], stop: IsCancelled) -> Vectors:
        """Embeds the texts. Returns vectors of shape [n, dimension]. Raises Cancelled."""
        embedder = self._embedder()
        if stop():
            raise Cancelled
        # The embedder uses a GPU only for full batches, so the first of these shows which device it has.
        unknown = not self._device and len(texts) == _BATCH
        if self._pace.hurry.is_set() or self._device == "cuda" or unknown or not texts:
            vectors = embedder.embed_documents(texts)
            if unknown or self._device:
                self._device = embedder.device
            return vectors
        rows = []
        for text in texts:
            self._pace.give_way(stop)
            if stop():
                raise Cancelled
            rows.append(embedder.embed_documents([text]))
        return np.concatenate(rows)


def count_backfilled(snapshots: Snapshots, kept: EmbeddingCache) -> tuple[int, int]:
    """Returns how many chunks have a vector in `kept`, and how many chunks there are."""
    lacking = _look(snapshots, kept)
    return lacking.done, lacking.total


def _look(snapshots: Snapshots, kept: EmbeddingCache) -> _Lacking:
    with snapshots.open() as snapshot:
        read = snapshot.connection.execute
        bodies = read("SELECT body_hash, min(id), count(*) FROM chunks GROUP BY body_hash").fetchall()
        paths = dict(read("SELECT path_hash, min(path) FROM files GROUP BY path_hash").fetchall())
    there = kept.find([row[0] for row in bodies])
    paths_there = kept.find(list(paths))
    lacking = sorted((chunk, digest) for digest, chunk, _ in bodies if digest not in there)
    return _Lacking(
        bodies={digest: chunk for chunk, digest in lacking},
        paths={digest: path for digest, path in paths.items() if digest not in paths_there},
        weights={digest: count for digest, _, count in bodies},
        done=sum(count for digest, _, count in bodies if digest in there),
        total=sum(count for _, _, count in bodies),
    )
