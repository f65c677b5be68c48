"""Kills a real Chroma server while vectors are sent to it, and lets a store recover as the engine does."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sidecar.errors import StoreFailed
from sidecar.model.terms import Vectors
from sidecar.parts.vectors.chroma_server import MadeFor, ServerStore
from sidecar.parts.vectors.server_link import ChromaServer, ServerLimits
from sidecar.settings.address import server_address
from tests.chroma_server import RealServer
from tests.parts.random_vectors import DIMENSION, random_vectors
from tests.patience import PATIENCE_S

_ROWS = 300
_LATEST_S = 3.0


@dataclass
class Outcome:
    """The number of kills; how many of them were in the middle of a call; how often the server had lost its rows or
    could no longer read them; and how often it ended by itself while it tried to."""

    kills: int = 0
    in_a_call: int = 0
    made_anew: int = 0
    ended: int = 0


class ServerKiller:
    """Kills the server at random moments. After each kill, every row sent so far must be there again."""

    def __init__(self, folder: Path, seed: int, sync_threshold: int) -> None:
        self._random = random.Random(seed)
        self._server = RealServer(folder / "chroma")
        self._made_for = MadeFor("kills", "model@1", DIMENSION)
        self._sync_threshold = sync_threshold
        limits = ServerLimits(search_s=60.0, call_s=60.0, open_s=120.0)
        server = ChromaServer(server_address(self._server.url))
        self._store = ServerStore(folder / "store", self._made_for, server, limits)
        self._rows = 0

    def run(self, kills: int) -> Outcome:
        outcome = Outcome()
        self._server.start()
        try:
            self._make_collection()
            for _ in range(kills):
                self._kill_once(outcome)
        finally:
            self._store.close()
            self._server.kill()
        return outcome

    def _make_collection(self) -> None:
        """Makes the collection as the store would, but one that is written to disk more often, because a kill does most
        harm then."""
        import chromadb

        chromadb.HttpClient(host=self._server.url).create_collection(
            self._made_for.name("code"),
            metadata={"made_by": "sidecar", "schema": 1, "dimension": DIMENSION},
            configuration={"hnsw": {"space": "cosine", "sync_threshold": self._sync_threshold, "batch_size": 10}},
            embedding_function=None,
        )

    def _kill_once(self, outcome: Outcome) -> None:
        timer = threading.Timer(self._random.uniform(0.0, _LATEST_S), self._server.kill)
        timer.start()
        try:
            while timer.is_alive():
                self._send(self._rows, self._rows + _ROWS)
                self._rows += _ROWS
        except StoreFailed as error:
            assert error.facts.get("away") or error.facts.get("rebuild"), error
            outcome.in_a_call += 1
        timer.join()
        self._server.start()
        outcome.kills += 1
        self._recover(outcome)
        vectors = self._vectors(0, self._rows)
        row = self._random.randrange(self._rows) if self._rows else 0
        if self._rows:
            assert self._store.ids("code").tolist() == list(range(self._rows))
            assert len(self._store.query("code", vectors[row], 10)[0])

    def _recover(self, outcome: Outcome) -> None:
        """Does what the engine does, and restarts a server that has ended, as a service manager does."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            assert time.monotonic() < deadline
            try:
                if self._store.is_fresh():
                    self._send(0, self._rows)
                held = set(self._store.ids("code").tolist())
                lacking = [row for row in range(self._rows) if row not in held]
                if lacking:
                    self._send(lacking[0], self._rows)
                if self._rows:
                    self._store.query("code", self._vectors(0, 1)[0], 10)
                return
            except StoreFailed as error:
                if error.facts.get("rebuild"):
                    outcome.made_anew += 1
                    self._store.discard()
                outcome.ended += self._server.start_if_it_ended()

    def _send(self, start: int, end: int) -> None:
        if end > start:
            texts = [b"%d" % row for row in range(start, end)]
            self._store.add("code", np.arange(start, end, dtype=np.int64), self._vectors(start, end), texts)

    def _vectors(self, start: int, end: int) -> Vectors:
        return random_vectors(max(end, 1), seed=7)[start:end]
