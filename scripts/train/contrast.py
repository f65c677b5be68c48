"""Trains a token table by contrastive learning: a query's bag must find its own document's bag among those of the
batch.

Symmetric InfoNCE (van den Oord et al. 2018). Batches hold groups of pairs from the same repository, so that most hard
negatives come from the same code. A part of another document's sum is added to a document's own, because a real chunk
contains several functions.
"""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from .bags import Bags

KINDS = ("doc", "name", "comment", "file", "path", "section", "commit")


@dataclass(frozen=True)
class Pairs:
    """`repository`, `kind` (an index into KINDS) and `query_key` (equal for equal queries) have one number per pair."""

    queries: Bags
    documents: Bags
    repository: NDArray[np.int32]
    kind: NDArray[np.int8]
    query_key: NDArray[np.int64]


def query_key(query: str) -> int:
    """A hash of the query that ignores case."""
    return zlib.crc32(query.lower().encode("utf-8", "replace"))


@dataclass(frozen=True)
class Recipe:
    """The parameters of a run. `weights` are the sampling weights of KINDS; `mix` is the probability that part of
    another document is added to a document."""

    dimension: int = 256
    steps: int = 220
    batch: int = 2048
    group: int = 64
    rate: float = 4e-3
    weight_rate: float = 2e-2
    exponent: float = 0.4
    mix: float = 0.6
    scale: float = 20.0
    two_weights: bool = True
    weights: tuple[float, ...] = (1, 0.5, 2, 3, 2, 2, 2)
    seed: int = 0


@dataclass(frozen=True)
class Tables:
    """Rows shared by documents and queries, and each token's weight for either; the two are equal when one weight is
    learned."""

    rows: NDArray[np.float32]
    document_weights: NDArray[np.float32]
    query_weights: NDArray[np.float32]

    @property
    def documents(self) -> NDArray[np.float32]:
        """The rows times the document weights; shape [vocabulary, dimension]."""
        return self.rows * self.document_weights[:, None]

    @property
    def queries(self) -> NDArray[np.float32]:
        """The rows times the query weights; shape [vocabulary, dimension]."""
        return self.rows * self.query_weights[:, None]


def averaged(tables: list[Tables]) -> Tables:
    """The average of runs that started with the same rows: the mean of rows, the geometric mean of weights."""
    logs = [
        np.mean([np.log(w) for w in some], 0)
        for some in zip(*((t.document_weights, t.query_weights) for t in tables), strict=True)
    ]
    return Tables(np.mean([t.rows for t in tables], 0), np.exp(logs[0]), np.exp(logs[1]))


class Batches:
    """Draws indices of pairs: repositories with probability proportional to their weight^0.75, pairs within one by the
    weights of their kinds."""

    def __init__(self, repository: NDArray[np.int32], kind: NDArray[np.int8], weights: Sequence[float]) -> None:
        weight = np.array(weights)[kind]
        self._members = [np.flatnonzero(repository == r) for r in np.unique(repository)]
        self._sums = [np.cumsum(weight[members]) for members in self._members]
        share = np.array([sums[-1] for sums in self._sums]) ** 0.75
        self._share = share / share.sum()

    def draw(self, chance: np.random.Generator, batch: int, group: int) -> NDArray[np.int64]:
        """At most `batch` indices, `group` drawn from each repository; each index only once."""
        drawn = []
        for repository in chance.choice(len(self._members), batch // group, p=self._share):
            sums = self._sums[repository]
            places = np.searchsorted(sums, chance.random(group) * sums[-1])
            drawn.append(self._members[repository][places])
        return np.unique(np.concatenate(drawn))


def train(pairs: Pairs, rows: NDArray[np.float32], log_weights: NDArray[np.float32], recipe: Recipe) -> Tables:
    """The trained rows and their learned weights. The same seed and library versions give the same table."""
    torch.manual_seed(recipe.seed)
    table = torch.nn.Parameter(torch.tensor(rows))
    documents = torch.nn.Parameter(torch.tensor(log_weights))
    queries = torch.nn.Parameter(torch.tensor(log_weights)) if recipe.two_weights else documents
    weights = [documents, queries] if recipe.two_weights else [documents]
    rates = [recipe.rate, recipe.weight_rate]
    groups = [{"params": [table], "lr": rates[0]}, {"params": weights, "lr": rates[1]}]
    optimiser = torch.optim.Adam(groups, betas=(0.9, 0.99))
    batches, chance = Batches(pairs.repository, pairs.kind, recipe.weights), np.random.default_rng(recipe.seed)
    start, losses = time.monotonic(), []
    for step in range(recipe.steps):
        share = min(1.0, (step + 1) / 20) * max(0.02, 1 - step / recipe.steps)
        for group, rate in zip(optimiser.param_groups, rates, strict=True):
            group["lr"] = rate * share
        drawn = batches.draw(chance, recipe.batch, recipe.group)
        loss = _loss(pairs, drawn, table, documents, queries, recipe)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if step % 100 == 99:
            took = time.monotonic() - start
            print(f"step {step + 1} loss {np.mean(losses[-100:]):.3f} {took:.0f} s", file=sys.stderr, flush=True)
    with torch.no_grad():
        return Tables(table.detach().numpy(), documents.exp().numpy(), queries.exp().numpy())


def _loss(
    pairs: Pairs, drawn: NDArray[np.int64], table: Tensor, documents: Tensor, queries: Tensor, recipe: Recipe
) -> Tensor:
    asked = _sums(pairs.queries.take(drawn), table, queries, recipe.exponent)
    found = _sums(pairs.documents.take(drawn), table, documents, recipe.exponent)
    if recipe.mix:
        taken = (torch.rand(len(drawn), 1) < recipe.mix) * torch.rand(len(drawn), 1)
        found = found + taken * found.roll(1, 0).detach()
    scores = functional.normalize(asked) @ functional.normalize(found).T * recipe.scale
    return among_batch(scores, pairs.query_key[drawn])


def among_batch(scores: Tensor, query_keys: NDArray[np.int64]) -> Tensor:
    """The loss of scores [queries, documents] whose diagonal is right. Documents of an equal query do not count as
    wrong answers."""
    keys = torch.from_numpy(query_keys).to(scores.device)
    same = (keys[:, None] == keys[None]).fill_diagonal_(False)
    scores = scores.masked_fill(same, -1e4)
    right = torch.arange(len(keys), device=scores.device)
    return (functional.cross_entropy(scores, right) + functional.cross_entropy(scores.T, right)) / 2


def _sums(bags: Bags, table: Tensor, log_weights: Tensor, exponent: float) -> Tensor:
    ids = torch.from_numpy(bags.ids.astype(np.int64))
    weights = torch.from_numpy(bags.counts**exponent) * log_weights.exp()[ids]
    starts = torch.from_numpy(bags.starts[:-1])
    return functional.embedding_bag(ids, table, starts, mode="sum", per_sample_weights=weights)
