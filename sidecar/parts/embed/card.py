"""Whether bulk work runs on a CUDA card: tried once, compared with the CPU, and left for good when it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from sidecar.errors import ModelLoadFailed
from sidecar.locks import Rank, make_lock
from sidecar.model.terms import Vectors
from sidecar.parts.embed.batches import BatchLimits

LIMITS = (BatchLimits(tokens=65536, rows=512), BatchLimits(tokens=4096, rows=32))
"""Limits of a batch. If a card fails with the first ones, it may have little free memory, so the others are tried."""
_LEAST_COSINE = 0.999
_REASONS = (
    ("failed to allocate memory", "the card has too little free memory"),
    ("out of memory", "the card has too little free memory"),
    ("no cuda-capable device", "CUDA finds no card"),
)
"""Words in the library's messages, and what they mean. The messages themselves are about its source."""


class OnCard(Protocol):
    """A graph that was opened for the card. `runs_there` is false if the library chose another device."""

    @property
    def runs_there(self) -> bool:
        """Whether the graph runs on the card."""


GraphT = TypeVar("GraphT", bound=OnCard)


class Card(Generic[GraphT]):
    """The card for one model. Thread-safe.

    `start` opens the model's graph on the card, and `cosine_to_cpu` returns the smallest cosine between the vectors of
    that graph and of the CPU's; both may raise ModelLoadFailed. `refusal` says why no card is tried; None if it is.
    """

    def __init__(
        self, start: Callable[[], GraphT], cosine_to_cpu: Callable[[GraphT], float], refusal: str | None
    ) -> None:
        self._start = start
        self._cosine_to_cpu = cosine_to_cpu
        self._graph: GraphT | None = None
        self._limits = LIMITS[0]
        self._tried = refusal is not None
        self._note = refusal if refusal is not None else "CPU until the first bulk work, which tries the CUDA card."
        self._lock = make_lock(Rank.GPU)

    @property
    def in_use(self) -> bool:
        """Whether bulk work runs on the card."""
        return self._graph is not None

    @property
    def note(self) -> str:
        """One line on why bulk work does not run on the card; empty if it does or if none was wanted."""
        return self._note

    def run(self, work: Callable[[GraphT, BatchLimits], Vectors]) -> Vectors | None:
        """Returns what `work` makes with the graph and the limits of a batch; None if the card is not used, or not any
        more."""
        if not self._tried:
            with self._lock:
                if not self._tried:
                    self._try()
                    self._tried = True
        graph = self._graph
        if graph is None:
            return None
        reason = ""
        for limits in LIMITS[LIMITS.index(self._limits) :]:
            try:
                vectors = work(graph, limits)
            except ModelLoadFailed as error:
                reason = _reason(error)
            else:
                self._limits = limits
                return vectors
        self._give_up(f"the card failed ({reason}), so the CPU is used")
        return None

    def close(self) -> None:
        """Frees the graph."""
        self._graph = None

    def _try(self) -> None:
        """Uses the card from now on if its vectors agree with the CPU's."""
        try:
            graph = self._start()
            if not graph.runs_there:
                return self._give_up("onnxruntime could not start CUDA (driver, CUDA or cuDNN missing)")
            cosine = self._cosine_to_cpu(graph)
        except ModelLoadFailed as error:
            return self._give_up(f"CUDA failed ({_reason(error)})")
        if not cosine >= _LEAST_COSINE:
            return self._give_up(f"the card's vectors differ from the CPU's (cosine {cosine:.4f})")
        self._graph, self._note = graph, ""
        return None

    def _give_up(self, reason: str) -> None:
        """Continues without the card and notes the reason."""
        self._graph, self._note = None, f"CPU: {' '.join(reason.split())}."


def _reason(error: ModelLoadFailed) -> str:
    """Returns what the error means, if that is known, else its words without a full stop at their end."""
    told = error.detail.lower()
    known = next((meaning for words, meaning in _REASONS if words in told), None)
    return known or error.detail.rstrip(".")
