"""Whether bulk work runs on a card, with graphs that fail as a real card was seen to fail (an H200 with onnxruntime-gpu
1.31)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sidecar.errors import ModelLoadFailed
from sidecar.model.terms import Vectors
from sidecar.parts.embed.batches import BatchLimits
from sidecar.parts.embed.card import LIMITS, Card

FULL = (
    "Model minilm-code-fp16 failed while running: [ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while "
    "running Add node. Name:'/layers.0/Add' Status Message: /onnxruntime_src/onnxruntime/core/framework/bfc_arena.cc:"
    "360 void* onnxruntime::BFCArena::AllocateRawInternal(size_t, bool, onnxruntime::Stream*) Failed to allocate "
    "memory for requested buffer of size 293739776"
)
NO_CARD = (
    'Model minilm-code-fp16: "fp16.onnx" cannot be run: /onnxruntime_src/onnxruntime/core/providers/cuda/cuda_call.cc'
    ":154 CUDA failure 100: no CUDA-capable device is detected ; GPU=-1"
)


@dataclass
class Graph:
    """A graph with room for `most` tokens in a batch."""

    most: int = 10**9
    runs_there: bool = True
    message: str = FULL
    asked: list[int] = field(default_factory=list)

    def work(self, limits: BatchLimits) -> Vectors:
        self.asked.append(limits.tokens)
        if limits.tokens > self.most:
            raise ModelLoadFailed(self.message)
        return np.ones((1, 2), np.float32)


def card_of(graph: Graph, cosine: float = 1.0) -> Card[Graph]:
    return Card(lambda: graph, lambda _: cosine, None)


def failing(message: str) -> Callable[[], Graph]:
    def start() -> Graph:
        raise ModelLoadFailed(message)

    return start


def run(card: Card[Graph]) -> Vectors | None:
    return card.run(lambda graph, limits: graph.work(limits))


def test_a_card_that_agrees_with_the_cpu_is_used_and_nothing_is_noted() -> None:
    card = card_of(Graph())
    assert "tries the CUDA card" in card.note
    assert run(card) is not None
    assert card.in_use
    assert card.note == ""


def test_a_card_with_little_free_memory_gets_smaller_batches_from_then_on() -> None:
    graph = Graph(most=LIMITS[-1].tokens)
    card = card_of(graph)
    assert run(card) is not None
    assert run(card) is not None
    assert graph.asked == [LIMITS[0].tokens, LIMITS[-1].tokens, LIMITS[-1].tokens]
    assert card.in_use
    assert card.note == ""


def test_a_card_too_full_for_the_smallest_batches_is_given_up_and_the_note_says_so_in_plain_words() -> None:
    graph = Graph(most=0)
    card = card_of(graph)
    assert run(card) is None
    assert not card.in_use
    assert card.note == "CPU: the card failed (the card has too little free memory), so the CPU is used."
    assert run(card) is None
    assert graph.asked == [limits.tokens for limits in LIMITS]


def test_a_machine_without_a_card_is_told_so_and_not_where_in_the_library_it_was_seen() -> None:
    card: Card[Graph] = Card(failing(NO_CARD), lambda _: 1.0, None)
    assert run(card) is None
    assert card.note == "CPU: CUDA failed (CUDA finds no card)."


def test_a_failure_that_is_not_known_is_told_in_the_words_of_the_library() -> None:
    card: Card[Graph] = Card(failing("Model x: the driver is too old."), lambda _: 1.0, None)
    assert run(card) is None
    assert card.note == "CPU: CUDA failed (Model x: the driver is too old)."


def test_a_card_whose_vectors_differ_is_not_used() -> None:
    for cosine in (0.99, float("nan")):
        card = card_of(Graph(), cosine)
        assert run(card) is None
        assert "differ from the CPU's" in card.note


def test_a_library_that_starts_on_the_cpu_instead_is_noticed() -> None:
    card = card_of(Graph(runs_there=False))
    assert run(card) is None
    assert "could not start CUDA" in card.note


def test_a_refused_card_is_never_started() -> None:
    card: Card[Graph] = Card(failing("must not be started"), lambda _: 1.0, "CPU: a reason.")
    assert run(card) is None
    assert card.note == "CPU: a reason."
