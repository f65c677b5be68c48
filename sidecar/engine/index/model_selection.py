"""Decides which model a new generation gets, which model is wanted, and which one answers until that is ready.

`update/model_upgrade.py` replaces one model by another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sidecar.engine.models.facts import ModelFacts
from sidecar.errors import IndexCorrupt, ModelLoadFailed
from sidecar.model.terms import Embedder
from sidecar.settings.load import Settings

_DEFAULT = Settings().model


class ModelChoice:
    """Chooses models by the current settings. Every method may raise ModelLoadFailed."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        embedder: Callable[[Settings], Embedder],
        facts: Callable[[Settings], ModelFacts],
    ) -> None:
        self._settings = settings
        self._embedder = embedder
        self._facts = facts
        self._failures: dict[str, ModelLoadFailed] = {}
        self._named: tuple[Settings, Settings] | None = None
        """The settings that `settings_for` was last made from, and what it made of them."""

    @property
    def name(self) -> str:
        """The model's name as the settings spell it."""
        return self._settings().model

    def wanted(self, own: ModelFacts | None = None) -> ModelFacts:
        """Returns the model that the settings ask for.

        If the user has set no model, an index keeps its `own` one for as long as that is available.
        """
        return self._wanted(self._settings(), own)

    def _wanted(self, settings: Settings, own: ModelFacts | None) -> ModelFacts:
        unnamed = settings.model == _DEFAULT and settings.origins.get("model", "default") == "default"
        if unnamed and own is not None and self._is_here(settings, own):
            return own
        return self._facts(settings)

    def first(self, own: ModelFacts | None = None) -> ModelFacts:
        """Returns the model for a new generation.

        This is the default model, which is quick, if the wanted one is slow and has not answered for this index before.
        """
        settings = self._settings()
        wanted = self._facts(settings)
        answered = own is not None and own.model_id == wanted.model_id
        if answered or not wanted.slow or not settings.two_stage:
            return wanted
        quick = self._facts(replace(settings, model=""))
        return wanted if quick.slow else quick

    def next(self, own: ModelFacts) -> ModelFacts | None:
        """Returns the model that will replace an index's own one in the background; None if nothing is to be
        replaced."""
        settings = self._settings()
        if not settings.two_stage:
            return None
        wanted = self._wanted(settings, own)
        return wanted if wanted.model_id != own.model_id else None

    def check(self, own: ModelFacts) -> None:
        """Raises IndexCorrupt if an index's own model is not the wanted one and no upgrade will replace it."""
        settings = self._settings()
        wanted = self._wanted(settings, own)
        if wanted.model_id != own.model_id and not settings.two_stage:
            raise IndexCorrupt(
                f"It was made with the model {own.model_id}, but the settings name {wanted.model_id}."
                " Run `reindex_project`, or change the setting back."
            )

    def embedder(self, model: ModelFacts) -> Embedder:
        """Loads the model that an index was made with, whatever the settings ask for now.

        Raises ModelLoadFailed if that model is no longer available.
        """
        try:
            embedder = self._load(model)
        except ModelLoadFailed as error:
            self._failures[model.model_id] = ModelLoadFailed(error.detail)  # without the frames of its traceback
            raise
        self._failures.pop(model.model_id, None)
        return embedder

    def failure(self, model: ModelFacts) -> ModelLoadFailed | None:
        """Returns the error of the last attempt to load a model with `embedder`; None if it succeeded or there was no
        attempt."""
        return self._failures.get(model.model_id)

    def _load(self, model: ModelFacts) -> Embedder:
        settings = self.settings_for(model)
        if self._facts(settings).model_id != model.model_id:
            raise ModelLoadFailed(
                f"The index was made with {model.model_id}, which is no longer there. Run `reindex_project`."
            )
        return self._embedder(settings)

    def settings_for(self, model: ModelFacts) -> Settings:
        """Returns the current settings with this model in place of the one they name."""
        return self._with_model(self._settings(), model)

    def _with_model(self, settings: Settings, model: ModelFacts) -> Settings:
        known = self._named
        if known is None or known[0] is not settings or known[1].model != model.name:
            # Kept, because every search comes here, and copying all settings takes as long as ranking a file.
            self._named = known = settings, replace(settings, model=model.name)
        return known[1]

    def _is_here(self, settings: Settings, model: ModelFacts) -> bool:
        try:
            return self._facts(self._with_model(settings, model)).model_id == model.model_id
        except ModelLoadFailed:
            return False
