"""Asks a team's server for vectors of texts before a model computes them, and offers those that the model has computed.

A failure costs only time. If a value is missing, damaged or foreign, the text is embedded on this machine. A server
that fails is not asked for a while, which gets longer with each failure.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

import numpy as np

from sidecar.errors import StoreFailed
from sidecar.model.terms import Vectors

from .places import VectorPlace
from .seal import Seal

_LOG = logging.getLogger(__name__)
_AGAIN_S, _LONGEST_AGAIN_S = 5.0, 300.0


class SealedVectors:
    """A `ports.SharedVectors` in one place, with vectors named and sealed by a team's key. With `writes`, it also
    stores vectors.

    `now` returns seconds of a monotonic clock.
    """

    def __init__(
        self, place: VectorPlace, team_key: str, *, writes: bool = False, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._place = place
        self._team_key = team_key
        self._writes = writes
        self._now = now
        self._failures = 0
        self._again_at = 0.0
        self._note = ""

    @property
    def note(self) -> str:
        """One line on why the server is not asked at the moment; empty if it is."""
        return self._note

    @property
    def writes(self) -> bool:
        """Whether this machine may write there."""
        return self._writes

    def find(self, model_id: str, dimension: int, texts: Sequence[str]) -> tuple[list[int], Vectors]:
        """Returns the positions of the texts whose vectors the team has, ascending, and these vectors, shape [n,
        dimension]. Raises nothing."""
        seal = Seal(self._team_key, model_id, dimension)
        names = [seal.name(text) for text in texts]
        values: dict[bytes, bytes] = {}

        def fetch() -> None:
            values.update(self._place.fetch(list(dict.fromkeys(names)), seal.size))

        self._try(fetch, bool(texts))
        opened = [
            (at, vector)
            for at, (name, text) in enumerate(zip(names, texts, strict=True))
            if name in values and (vector := seal.open(text, values[name])) is not None
        ]
        vectors = np.array([vector for _, vector in opened], np.float32).reshape(-1, dimension)
        return [at for at, _ in opened], vectors

    def offer(self, model_id: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Stores the vectors of these texts, shape [n, dimension], if this machine may write. Raises nothing."""
        seal = Seal(self._team_key, model_id, vectors.shape[1])

        def keep() -> None:
            self._place.keep({seal.name(t): seal.close(t, v) for t, v in zip(texts, vectors, strict=True)})

        self._try(keep, self._writes and bool(texts))

    def close(self) -> None:
        """Ends the connections and processes of the place."""
        self._place.close()

    def _try(self, work: Callable[[], None], wanted: bool) -> None:
        if not wanted or self._now() < self._again_at:
            return
        try:
            work()
        except StoreFailed as error:
            self._failures += 1
            wait = min(_LONGEST_AGAIN_S, _AGAIN_S * 2.0 ** min(self._failures - 1, 10))
            self._again_at = self._now() + wait
            self._note = f"Vectors are made here, because those of the team cannot be had: {error.detail}"
            _LOG.warning("%s", self._note)
        else:
            self._failures, self._note = 0, ""
