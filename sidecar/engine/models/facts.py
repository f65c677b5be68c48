"""What the engine knows of a model without loading it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What an index must remember of its model. `name` is what settings call it, `slow` whether embedding a workspace
    takes minutes."""

    model_id: str
    dimension: int
    path_weight: float
    name: str = ""
    slow: bool = False
