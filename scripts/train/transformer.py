"""Fine-tunes a sentence encoder by contrastive learning: a query's vector must find its own document's in the batch.

Loss and batches are those of `contrast`, whose texts are bags of tokens; here the order of tokens counts. The step
number seeds the choice of its pairs, so that an interrupted run continues as if it had not been interrupted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from sidecar.parts.embed.tokens import split_identifiers

from .contrast import Batches, among_batch

_SAVE_EVERY = 20


@dataclass(frozen=True)
class Tuning:
    """The parameters of a run. `weights` are the sampling weights of KINDS; `average` is how slowly the average of the
    model's weights follows them."""

    batch: int = 64
    group: int = 32
    rate: float = 8e-5
    warm_up: int = 15
    decay: float = 0.01
    scale: float = 20.0
    query_tokens: int = 32
    document_tokens: int = 96
    average: float = 0.98
    weights: tuple[float, ...] = (1, 0.3, 2, 3, 2, 2, 3)
    seed: int = 0


@dataclass(frozen=True)
class Texts:
    """`repository`, `kind` and `query_key` as in `contrast.Pairs`."""

    queries: Sequence[str]
    documents: Sequence[str]
    repository: NDArray[np.int32]
    kind: NDArray[np.int8]
    query_key: NDArray[np.int64]


class Tuner:
    """A model, the running average of its weights, and the file in which both are saved. Continues from that file if it
    exists."""

    def __init__(self, model: nn.Module, tokenizer: Path, tuning: Tuning, kept: Path, device: str) -> None:
        self._model = model.to(device).train()
        self._tuning = tuning
        self._kept = kept
        self._device = device
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._average = {name: value.detach().clone() for name, value in model.state_dict().items()}
        self._optimiser = torch.optim.AdamW(model.parameters(), lr=tuning.rate, weight_decay=tuning.decay)
        self.step = 0
        if kept.exists():
            self._go_on()

    def train(self, texts: Texts, steps: int) -> None:
        """Trains up to step number `steps` and saves the state every few steps."""
        batches = Batches(texts.repository, texts.kind, self._tuning.weights)
        start, first, losses = time.monotonic(), self.step, []
        while self.step < steps:
            losses.append(self._one_step(texts, batches))
            self.step += 1
            if self.step % _SAVE_EVERY == 0 or self.step == steps:
                self._keep()
                took = (time.monotonic() - start) / (self.step - first)
                recent = float(np.mean(losses[-_SAVE_EVERY:]))
                print(f"step {self.step} loss {recent:.3f} {took:.1f} s a step", file=sys.stderr, flush=True)

    def averaged(self) -> nn.Module:
        """The model with the averaged weights, on the CPU, ready to be exported."""
        self._model.load_state_dict(self._average)
        return self._model.cpu().eval()

    def _one_step(self, texts: Texts, batches: Batches) -> float:
        tuning = self._tuning
        for group in self._optimiser.param_groups:
            group["lr"] = tuning.rate * min(1.0, (self.step + 1) / tuning.warm_up)
        drawn = batches.draw(np.random.default_rng((tuning.seed, self.step)), tuning.batch, tuning.group)
        with torch.autocast(self._device, torch.bfloat16, enabled=self._device == "cuda"):
            asked = self._vectors([texts.queries[i] for i in drawn], tuning.query_tokens)
            found = self._vectors([texts.documents[i] for i in drawn], tuning.document_tokens)
        loss = among_batch(asked.float() @ found.float().T * tuning.scale, texts.query_key[drawn])
        self._optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        self._optimiser.step()
        self._follow()
        return float(loss.item())

    def _vectors(self, texts: list[str], most: int) -> Tensor:
        self._tokenizer.enable_truncation(most)
        rows = [e.ids for e in self._tokenizer.encode_batch_fast([split_identifiers(text) for text in texts])]
        ids = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True).to(self._device)
        vectors: Tensor = self._model(ids, (ids > 0).long(), torch.zeros_like(ids))
        return vectors

    def _follow(self) -> None:
        share = 1 - min(self._tuning.average, (self.step + 1) / (self.step + 10))
        with torch.no_grad():
            for name, value in self._model.state_dict().items():
                self._average[name].lerp_(value, share)

    def _keep(self) -> None:
        unfinished = self._kept.with_suffix(".part")
        state = {"model": self._model.state_dict(), "average": self._average, "optimiser": self._optimiser.state_dict()}
        torch.save({"step": self.step, "tuning": asdict(self._tuning), **state}, unfinished)
        unfinished.replace(self._kept)

    def _go_on(self) -> None:
        state: dict[str, Any] = torch.load(self._kept, map_location=self._device, weights_only=True)
        if state["tuning"] != asdict(self._tuning):
            sys.exit(
                f"{self._kept} was trained with other options ({state['tuning']}). Give the same ones, or another file."
            )
        self._model.load_state_dict(state["model"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._average, self.step = state["average"], int(state["step"])
