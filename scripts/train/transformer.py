"""Fine-tunes a sentence encoder by contrastive learning: a query's vector must find its own document's in the batch.

Loss and batches are those of `contrast`, whose texts are bags of tokens; here the order of tokens counts. The step
number seeds the choice of its pairs, so that an interrupted run continues as if it had not been interrupted. The result
lies between the weights at the start and those at the end (Wortsman et al. 2022, "Robust fine-tuning of zero-shot
models"): at the end, the model has forgotten part of what it knew about prose.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from . import contrast
from .contrast import Batches, among_batch
from .token_rows import PADDING, TokenRows

KINDS = (*contrast.KINDS, "body")
_SAVE_EVERY = 20
_LEAST_RATE = 0.01
_QUERY_PARTS, _DOCUMENT_PARTS = 4, 2


@dataclass(frozen=True)
class Tuning:
    """The parameters of a run. `weights` are the sampling weights of KINDS; documents are cut at one of `document_cuts`
    tokens; `share` is how far from the start to the end the weights of the result are."""

    steps: int = 2000
    batch: int = 1024
    group: int = 64
    rate: float = 2.5e-4
    warm_up: int = 100
    decay: float = 0.01
    scale: float = 20.0
    query_tokens: int = 160
    document_cuts: tuple[int, ...] = (96, 190, 190)
    share: float = 0.5
    weights: tuple[float, ...] = (1, 0.175, 2, 2, 1.5, 2, 3, 3)
    seed: int = 7


@dataclass(frozen=True)
class Texts:
    """`repository`, `kind` (an index into KINDS) and `query_key` as in `contrast.Pairs`."""

    queries: TokenRows
    documents: TokenRows
    repository: NDArray[np.int32]
    kind: NDArray[np.int8]
    query_key: NDArray[np.int64]


class Tuner:
    """A model, and the file in which its weights are saved. Continues from that file if it exists."""

    def __init__(self, model: nn.Module, tuning: Tuning, kept: Path, device: str) -> None:
        self._start = {name: value.detach().clone() for name, value in model.state_dict().items()}
        self._model = model.to(device).train()
        self._tuning = tuning
        self._kept = kept
        self._device = device
        kinds: list[list[nn.Parameter]] = [[], []]
        for parameter in model.parameters():
            kinds[parameter.ndim < 2].append(parameter)
        groups = [{"params": kinds[0], "weight_decay": tuning.decay}, {"params": kinds[1], "weight_decay": 0.0}]
        self._optimiser = torch.optim.AdamW(groups, lr=tuning.rate)
        self.step = 0
        if kept.exists():
            self._go_on()

    def train(self, texts: Texts) -> None:
        """Trains up to the last step and saves the state every few steps."""
        batches = Batches(texts.repository, texts.kind, self._tuning.weights)
        start, first, losses = time.monotonic(), self.step, []
        while self.step < self._tuning.steps:
            losses.append(self._one_step(texts, batches))
            self.step += 1
            if self.step % _SAVE_EVERY == 0 or self.step == self._tuning.steps:
                self._keep()
                took = (time.monotonic() - start) / (self.step - first)
                recent = float(np.mean(losses[-_SAVE_EVERY:]))
                print(f"step {self.step} loss {recent:.3f} {took:.2f} s a step", file=sys.stderr, flush=True)

    def result(self) -> nn.Module:
        """The model with weights between those at the start and the present ones, on the CPU, ready to be exported."""
        model = self._model.cpu().eval()
        now, share = model.state_dict(), self._tuning.share
        model.load_state_dict({name: torch.lerp(self._start[name], now[name], share) for name in now})
        return model

    def _one_step(self, texts: Texts, batches: Batches) -> float:
        tuning = self._tuning
        done = self.step / tuning.steps
        rising, falling = min(1.0, (self.step + 1) / tuning.warm_up), 0.5 * (1 + math.cos(math.pi * done))
        for group in self._optimiser.param_groups:
            group["lr"] = tuning.rate * rising * max(_LEAST_RATE, falling)
        chance = np.random.default_rng((tuning.seed, self.step))
        drawn = batches.draw(chance, tuning.batch, tuning.group)
        cut = int(chance.choice(tuning.document_cuts))
        with torch.autocast(self._device, torch.bfloat16, enabled=self._device == "cuda"):
            asked = self._vectors(texts.queries, drawn, tuning.query_tokens, _QUERY_PARTS)
            found = self._vectors(texts.documents, drawn, cut, _DOCUMENT_PARTS)
        loss = among_batch(asked.float() @ found.float().T * tuning.scale, texts.query_key[drawn])
        self._optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        self._optimiser.step()
        return float(loss.item())

    def _vectors(self, rows: TokenRows, drawn: NDArray[np.int64], most: int, count: int) -> Tensor:
        """Returns the vectors of the drawn rows, in their order."""
        parts = rows.parts(drawn, count)
        made = torch.cat([self._run(rows.padded(drawn[part], most)) for part in parts])
        return made[torch.from_numpy(np.argsort(np.concatenate(parts))).to(self._device)]

    def _run(self, padded: NDArray[np.int64]) -> Tensor:
        ids = torch.from_numpy(padded).to(self._device)
        vectors: Tensor = self._model(ids, (ids != PADDING).long(), torch.zeros_like(ids))
        return vectors

    def _keep(self) -> None:
        unfinished = self._kept.with_suffix(".part")
        state = {"model": self._model.state_dict(), "optimiser": self._optimiser.state_dict()}
        torch.save({"step": self.step, "tuning": self._settings(), **state}, unfinished)
        unfinished.replace(self._kept)

    def _go_on(self) -> None:
        state: dict[str, Any] = torch.load(self._kept, map_location=self._device, weights_only=True)
        if state["tuning"] != self._settings():
            sys.exit(
                f"{self._kept} was trained with other options ({state['tuning']}). Give the same ones, or another file."
            )
        self._model.load_state_dict(state["model"])
        self._optimiser.load_state_dict(state["optimiser"])
        self.step = int(state["step"])

    def _settings(self) -> dict[str, Any]:
        """Returns the options that a run cannot change; `share` is used after it."""
        return {name: value for name, value in asdict(self._tuning).items() if name != "share"}
