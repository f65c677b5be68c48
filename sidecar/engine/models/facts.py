"""What the engine knows of a model without loading it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The properties of a model that an index records.

    `model_id` identifies the model's exact files, `dimension` is the length of its vectors, `path_weight` the weight of
    a path's vector in a chunk's vector, and `name` what the settings call the model. `slow` is true for a model that
    needs minutes to embed a workspace.
    """

    model_id: str
    dimension: int
    path_weight: float
    name: str = ""
    slow: bool = False
