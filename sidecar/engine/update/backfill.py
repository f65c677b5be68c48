"""Embeds what the texts of a generation lack of another model's vectors, and keeps them: batch by batch, giving way.

What is kept is not embedded again, whoever goes on. Not here: what becomes of them (successor, refining).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sidecar.engine.concurrency.fair_slots import FairSlots
from sidecar.engine.concurrency.usage import Usage
from sidecar.engine.index.snapshot import Snapshots
from sidecar.engine.ports import Kept, Parts
from sidecar.errors import Cancelled
from sidecar.model import Chunk, Embedder, IsCancelled, Vectors
from sidecar.parts.manifest import unpack_names

_BATCH = 32
# A search that follows another one finds the processor free.
_CALM_S = 0.05
_LONGEST_WAIT_S = 0.25
_LOOK_S = 0.005

Told = Callable[[int, int], None]
"""How many chunks have their vector, of how many."""


class Pace:
    """How a background job shares the machine: text by text and searches first, or `hurry`, as quick as it can."""

    def __init__(self, usage: Usage, fair_slots: FairSlots) -> None:
        self._idleness = usage
        self.fair_slots = fair_slots
        self.hurry = threading.Event()

    def give_way(self, stop: IsCancelled) -> None:
        """Returns when nobody searches, or after a while: whoever searches all the time slows it down, no more."""
        deadline = time.monotonic() + _LONGEST_WAIT_S
        while not self.hurry.is_set() and time.monotonic() < deadline and not stop():
            if self._idleness.calm(_CALM_S):
                return
            time.sleep(_LOOK_S)

    def step_back(self) -> None:
        """The calling thread yields to every other one of the machine, where the system can do that for a thread."""
        if sys.platform == "linux":
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


@dataclass(frozen=True)
class _Lacking:
    """Texts without a vector: a chunk that has each body, a path for each path's hash. `weights`: chunks by body."""

    bodies: dict[bytes, int]
    paths: dict[bytes, str]
    weights: Mapping[bytes, int]
    done: int
    total: int


class Backfill:
    """Of one generation, into the kept vectors of one model."""

    def __init__(
        self, snapshots: Snapshots, kept: Kept, embedder: Callable[[], Embedder], parts: Parts, pace: Pace
    ) -> None:
        self._snapshots = snapshots
        self._kept = kept
        self._embedder = embedder
        self._parts = parts
        self._pace = pace
        self._device = ""

    def run(self, stop: IsCancelled, told: Told) -> int:
        """Until nothing is lacking, files that change meanwhile included. Returns how many bodies were embedded.

        Raises Cancelled after the text in flight; what the last batch was about to keep is then lost.
        """
        embedded = 0
        while True:
            lacking = _look(self._snapshots, self._kept)
            told(lacking.done, lacking.total)
            if not lacking.bodies and not lacking.paths:
                return embedded
            embedded += self._embed_all(lacking, stop, told)

    def _embed_all(self, lacking: _Lacking, stop: IsCancelled, told: Told) -> int:
        embedded, done = 0, lacking.done
        hashes = [*lacking.paths, *lacking.bodies]
        for start in range(0, len(hashes), _BATCH):
            some = hashes[start : start + _BATCH]
            with self._pace.fair_slots.taking(stop) as ask:
                texts = self._texts({h: lacking.bodies[h] for h in some if h in lacking.bodies})
                texts.update((h, self._parts.path_text(lacking.paths[h])) for h in some if h in lacking.paths)
                self._kept.add(list(texts), self._embed(list(texts.values()), ask))
            new = [digest for digest in texts if digest in lacking.bodies]
            embedded += len(new)
            done += sum(lacking.weights[digest] for digest in new)
            told(done, lacking.total)
        return embedded

    def _texts(self, chunks: Mapping[bytes, int]) -> dict[bytes, str]:
        """What is embedded of these chunks, by hash; those that are gone are left out."""
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
        """Raises Cancelled."""
        embedder = self._embedder()
        if stop():
            raise Cancelled
        # What bulk work runs on is known after the first full batch: a card is not woken for fewer.
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


def count_gathered(snapshots: Snapshots, kept: Kept) -> tuple[int, int]:
    """How many chunks have their vector, of how many."""
    lacking = _look(snapshots, kept)
    return lacking.done, lacking.total


def _look(snapshots: Snapshots, kept: Kept) -> _Lacking:
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
