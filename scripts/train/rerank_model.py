"""A cross-encoder that scores passages for a question, and its training.

It has the layers of all-MiniLM-L6-v2 and starts from the weights of minilm-code. The first of its two scores ranks the
passages alone. The second is added to sidecar's score, times a factor that is learned too, so it learns what sidecar's
score does not know. Both are trained by a listwise softmax (ListNet, Cao et al. 2007) over the passages of a list.
"""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from .rerank_lists import KINDS, LEFT_OUT, RIGHT
from .rerank_tokens import Batch, Listed, TokenLists, batch_of, training_batch
from .rerank_weights import WORDS, Tensors
from .token_rows import PADDING

_WIDTH, _HEADS, _LAYERS, _VOCABULARY, _PLACES = 384, 12, 6, 30522, 512
_LONG, _DOC = KINDS.index("long"), KINDS.index("doc")
_OWN = ("mix.", "score.", "offset")
"""The parts that minilm-code does not have."""
_NEVER = -1e4
_AHEAD, _THREADS = 12, 6
_GROUPS, _SCORED_GROUPS, _SCORED_AT_ONCE = 4, 6, 96
_REPORTED_EVERY = 100


@dataclass(frozen=True)
class Tuning:
    """The parameters of a run. `seconds` is how long it trains; the rate rises over `warm_up` steps, then falls along a
    cosine to 1 % at the end of that time. A batch has `batch` lists of at most `passages` passages. `shares` are those
    of KINDS in a batch. `offsets` are the factors of sidecar's score at the start, for short and long questions."""

    seconds: float = 280.0
    batch: int = 64
    passages: int = 16
    rate: float = 1.2e-4
    rate_of_heads: float = 6e-4
    rate_of_offsets: float = 0.02
    decay: float = 0.01
    warm_up: int = 120
    dropout: float = 0.1
    shares: tuple[float, ...] = (0.45, 0.25, 0.25, 0.05)
    offsets: tuple[float, float] = (35.0, 23.0)
    seed: int = 5


class Layer(nn.Module):
    """A layer of BERT (Devlin et al. 2019), with the names of scripts/train/build-model."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(_WIDTH, _WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(_WIDTH, 4 * _WIDTH), nn.Linear(4 * _WIDTH, _WIDTH)
        self.norm_attention, self.norm_out = (nn.LayerNorm(_WIDTH, eps=1e-12) for _ in range(2))
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """`x` is [pairs, tokens, width], `bias` what is added to every token's attention to each token."""
        query, key, value = (
            part(x).view(*x.shape[:2], _HEADS, _WIDTH // _HEADS).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        x = self.norm_attention(x + self.drop(self.out(mixed.transpose(1, 2).reshape(x.shape))))
        changed: Tensor = self.norm_out(x + self.drop(self.down(functional.gelu(self.up(x)))))
        return changed


class CrossEncoder(nn.Module):
    """Scores pairs of a question and a passage from the vector of `[CLS]` and the mean vector of the passage."""

    def __init__(self, tuning: Tuning) -> None:
        super().__init__()
        self.words, self.places, self.types = (nn.Embedding(n, _WIDTH) for n in (_VOCABULARY, _PLACES, 2))
        self.norm = nn.LayerNorm(_WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer(tuning.dropout) for _ in range(_LAYERS))
        self.mix, self.score = nn.Linear(2 * _WIDTH, _WIDTH), nn.Linear(_WIDTH, 2)
        self.offset = nn.Parameter(torch.tensor(tuning.offsets))
        nn.init.normal_(self.score.weight, std=0.01)
        nn.init.zeros_(self.score.bias)

    def forward(self, ids: Tensor, types: Tensor) -> Tensor:
        """Both scores of each pair, [pairs, 2]."""
        there = ids != PADDING
        x = self.norm(self.words(ids) + self.places.weight[: ids.shape[1]] + self.types(types))
        kind = torch.bfloat16 if ids.is_cuda else x.dtype
        bias = torch.zeros(there.shape, dtype=kind, device=ids.device).masked_fill(~there, _NEVER)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, bias.expand(-1, 1, ids.shape[1], -1))
        passage = ((types == 1) & there).to(x.dtype)[:, :, None]
        mean = (x * passage).sum(1) / passage.sum(1).clamp(min=1)
        scores: Tensor = self.score(functional.gelu(self.mix(torch.cat([x[:, 0], mean], 1)))).float()
        return scores

    def load(self, *sources: Mapping[str, NDArray[np.float32]]) -> CrossEncoder:
        """Takes the tensors of all sources, later ones in place of earlier ones. Those of `_OWN` may be missing. Raises
        KeyError when another is."""
        given = {name: value for source in sources for name, value in source.items()}
        state = self.state_dict()
        if missing := [name for name in state if name not in given and not name.startswith(_OWN)]:
            raise KeyError(f"no weights for {', '.join(missing)}")
        state.update({name: torch.from_numpy(given[name].copy()) for name in state if name in given})
        self.load_state_dict(state)
        return self

    def tensors(self) -> Tensors:
        """All weights but `WORDS`, which stay as they are."""
        return {name: value.float().cpu().numpy() for name, value in self.state_dict().items() if name != WORDS}

    def run(self, batch: Batch) -> Tensor:
        """Both scores of each pair, in the order of the pairs."""
        device = self.offset.device
        made = [torch.zeros((0, 2), device=device)]
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            for group in batch.groups:
                made.append(self(*(torch.from_numpy(part).to(device, non_blocking=True) for part in group)))
        scores: Tensor = torch.cat(made)[torch.from_numpy(batch.back).to(device)]
        return scores


def train(model: CrossEncoder, tokens: TokenLists, lists: Sequence[Listed], tuning: Tuning) -> int:
    """Trains for `tuning.seconds` on these lists and returns the number of steps."""
    model.words.weight.requires_grad_(False)
    model.train()
    optimiser = torch.optim.AdamW(_groups(model, tuning), betas=(0.9, 0.98))
    rates = [group["lr"] for group in optimiser.param_groups]
    losses: list[Tensor] = []
    begun = time.monotonic()
    with ThreadPoolExecutor(_THREADS) as pool:
        batches = _batches(pool, tokens, lists, tuning)
        while (done := (time.monotonic() - begun) / tuning.seconds) < 1:
            step = len(losses)
            share = min(1.0, (step + 1) / tuning.warm_up) * max(0.01, 0.5 * (1 + math.cos(math.pi * done)))
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * share
            alone, added, loss = _losses(model, next(batches))
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
            optimiser.step()
            losses.append(torch.stack([alone, added]).detach())
            if len(losses) % _REPORTED_EVERY == 0:
                means = torch.stack(losses[-_REPORTED_EVERY:]).mean(0).tolist()
                print(f"step {len(losses)}, {done:.0%} of the time, loss alone {means[0]:.3f}, added {means[1]:.3f}",
                      file=sys.stderr, flush=True)  # fmt: skip
    return len(losses)


def _groups(model: CrossEncoder, tuning: Tuning) -> list[dict[str, object]]:
    """Parameters with their rates; only matrices decay."""
    named = [(name, value) for name, value in model.named_parameters() if value.requires_grad]
    shared = [value for name, value in named if not name.startswith(_OWN)]
    heads = [value for name, value in named if name.startswith(_OWN) and value is not model.offset]
    return [
        {"params": [p for p in shared if p.ndim > 1], "lr": tuning.rate, "weight_decay": tuning.decay},
        {"params": [p for p in shared if p.ndim < 2], "lr": tuning.rate, "weight_decay": 0.0},
        {"params": heads, "lr": tuning.rate_of_heads, "weight_decay": tuning.decay},
        {"params": [model.offset], "lr": tuning.rate_of_offsets, "weight_decay": 0.0},
    ]


def _batches(pool: ThreadPoolExecutor, tokens: TokenLists, lists: Sequence[Listed], tuning: Tuning) -> Iterator[Batch]:
    """Batches without end, made ahead in threads. Every list of a kind comes once before one comes again."""
    chance = np.random.default_rng(tuning.seed)
    by_kind = [[one for one in lists if one.kind == kind] for kind in range(len(KINDS))]
    shares = np.array(tuning.shares) * [len(some) > 0 for some in by_kind]
    waiting: list[list[Listed]] = [[] for _ in KINDS]
    ready: deque[Future[Batch]] = deque()
    while True:
        while len(ready) < _AHEAD:
            drawn = []
            for kind in chance.choice(len(KINDS), tuning.batch, p=shares / shares.sum()):
                if not waiting[kind]:
                    waiting[kind] = [by_kind[kind][place] for place in chance.permutation(len(by_kind[kind]))]
                drawn.append(waiting[kind].pop())
            own = np.random.default_rng(int(chance.integers(1 << 60)))
            ready.append(pool.submit(training_batch, tokens, drawn, _GROUPS, tuning.passages, own))
        yield ready.popleft().result()


def _losses(model: CrossEncoder, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """The mean losses of the first score alone and of the second added to sidecar's, and the one that is minimised.

    Comments teach the first score only: sidecar's score was made with the comment that the passages lack.
    """
    scores = model.run(batch)
    owner, labels, ours, kinds = (
        torch.from_numpy(part).to(scores.device) for part in (batch.owner, batch.labels, batch.scores, batch.kinds)
    )
    factors = model.offset[(kinds == _LONG).long()][owner]
    alone = _listwise(scores[:, 0], owner, labels, len(kinds))
    added = _listwise(scores[:, 1] + factors * ours, owner, labels, len(kinds))
    loss = torch.where(kinds == _DOC, alone, 0.5 * alone + added).mean()
    return alone.mean(), added.mean(), loss


def _listwise(scores: Tensor, owner: Tensor, labels: Tensor, count: int) -> Tensor:
    """The cross-entropy of each list, in which every right passage has an equal share; shape [count]."""
    scores = scores.masked_fill(labels == LEFT_OUT, _NEVER)
    zeros = torch.zeros(count, device=scores.device)
    top = zeros.new_full((count,), -math.inf).scatter_reduce(0, owner, scores, "amax").detach()
    total = torch.log(zeros.scatter_add(0, owner, torch.exp(scores - top[owner]))) + top
    right = (labels == RIGHT).float()
    return total - zeros.scatter_add(0, owner, right * scores) / zeros.scatter_add(0, owner, right).clamp(min=1)


def scores_of(model: CrossEncoder, tokens: TokenLists, lists: Sequence[Listed]) -> list[NDArray[np.float32]]:
    """Both scores of each list's passages, [passages, 2]."""
    model.eval()
    found: list[NDArray[np.float32]] = []
    for first in range(0, len(lists), _SCORED_AT_ONCE):
        some = lists[first : first + _SCORED_AT_ONCE]
        with torch.no_grad():
            made = model.run(batch_of(tokens, some, _SCORED_GROUPS)).float().cpu().numpy()
        found += np.split(made, np.cumsum([len(one.passages) for one in some])[:-1])
    return found
