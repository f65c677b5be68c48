"""Which model an index is to have, which one it gets first, and which one answers meanwhile.

Not here: how one takes the other's place (refining).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sidecar.engine.models.facts import ModelFacts
from sidecar.errors import IndexCorrupt, ModelLoadFailed
from sidecar.model import Embedder
from sidecar.settings.load import Settings

_DEFAULT = Settings().model


class ModelChoice:
    """By the settings in force. Every method may raise ModelLoadFailed."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        embedder: Callable[[Settings], Embedder],
        facts: Callable[[Settings], ModelFacts],
    ) -> None:
        self._settings = settings
        self._embedder = embedder
        self._facts = facts

    @property
    def name(self) -> str:
        """As the settings have it."""
        return self._settings().model

    def wanted(self, own: ModelFacts | None = None) -> ModelFacts:
        """What the settings name. Where nobody has named any, an index keeps its `own` as long as it can be had."""
        settings = self._settings()
        unnamed = settings.model == _DEFAULT and settings.origins.get("model", "default") == "default"
        if unnamed and own is not None and self._is_here(own):
            return own
        return self._facts(settings)

    def first(self, own: ModelFacts | None = None) -> ModelFacts:
        """What a new generation is made with: the quick model where the wanted one is slow, unless it has answered
        already."""
        settings = self._settings()
        wanted = self._facts(settings)
        answered = own is not None and own.model_id == wanted.model_id
        if answered or not wanted.slow or not settings.two_stage:
            return wanted
        quick = self._facts(replace(settings, model=""))
        return wanted if quick.slow else quick

    def next(self, own: ModelFacts) -> ModelFacts | None:
        """The model that is to take the place of an index's own in the background."""
        if not self._settings().two_stage:
            return None
        wanted = self.wanted(own)
        return wanted if wanted.model_id != own.model_id else None

    def check(self, own: ModelFacts) -> None:
        """Raises IndexCorrupt where an index's own model is not the wanted one and will not be replaced by it."""
        wanted = self.wanted(own)
        if wanted.model_id != own.model_id and not self._settings().two_stage:
            raise IndexCorrupt(
                f"It was made with the model {own.model_id}, the settings say {wanted.model_id}."
                " Run reindex_project, or set the model back."
            )

    def embedder(self, model: ModelFacts) -> Embedder:
        """The model that an index was made with, whatever the settings say now."""
        settings = self.settings_for(model)
        if self._facts(settings).model_id != model.model_id:
            raise ModelLoadFailed(f"The index was made with {model.model_id}, which is not here any more.")
        return self._embedder(settings)

    def settings_for(self, model: ModelFacts) -> Settings:
        """Those in force, naming this model."""
        return replace(self._settings(), model=model.name)

    def _is_here(self, model: ModelFacts) -> bool:
        try:
            return self._facts(self.settings_for(model)).model_id == model.model_id
        except ModelLoadFailed:
            return False
