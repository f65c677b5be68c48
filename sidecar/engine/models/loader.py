"""Finds a model's files, downloads published models, and loads each model once per process.

Importing this module is cheap: onnxruntime is imported only when the first model is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar.engine.models.facts import ModelFacts
from sidecar.errors import IndexLocked, ModelDownloadFailed
from sidecar.locks import Rank, make_lock
from sidecar.model.terms import Embedder, IsCancelled, Progress
from sidecar.parts.lease import Lease
from sidecar.settings.load import Settings

if TYPE_CHECKING:
    from sidecar.parts.embed.catalog import ModelFiles
    from sidecar.parts.embed.published import Published, Shelf


class Models:
    """Loads each model once per process, at its first use. Without a `home`, only models that ship with sidecar and
    folders can be named. Thread-safe."""

    def __init__(self, make: Callable[[Settings], Embedder], home: Path | None = None) -> None:
        self._make = make
        self._home = home
        self._loaded: dict[tuple[str, str, int], Embedder] = {}
        self._facts: dict[str, ModelFacts] = {}
        self._lock = make_lock(Rank.MODELS)

    def embedder(self, settings: Settings) -> Embedder:
        """The model that the settings name, loaded if necessary. Raises ModelLoadFailed."""
        key = (settings.model, settings.device, settings.threads)
        with self._lock:
            if key not in self._loaded:
                self._loaded[key] = self._make(settings)
            return self._loaded[key]

    def loaded(self, settings: Settings) -> Embedder | None:
        """The model that the settings name if it is already in memory, else None."""
        return self._loaded.get((settings.model, settings.device, settings.threads))

    def facts(self, settings: Settings) -> ModelFacts:
        """What an index records about the model that the settings name. Loads the model only if the catalog does not
        state its dimension. Raises ModelLoadFailed."""
        with self._lock:
            known = self._facts.get(settings.model)
        if known is not None:
            return known
        files = resolve_model(settings.model, self._home)
        dimension = files.entry.dimension or self.embedder(settings).dimension
        entry = files.entry
        name = entry.id if settings.model in ("", entry.id) else str(files.folder.resolve())
        facts = ModelFacts(files.verify(), dimension, entry.path_weight, name, slow=entry.kind != "static")
        with self._lock:
            self._facts[settings.model] = facts
        return facts

    def unload(self) -> None:
        """Drops all models. A caller that still uses one can finish with it."""
        with self._lock:
            self._loaded.clear()

    def close(self) -> None:
        """Closes all loaded models and drops them."""
        with self._lock:
            for embedder in self._loaded.values():
                embedder.close()
            self._loaded.clear()


def resolve_model(name: str, home: Path | None = None) -> ModelFiles:
    """The files of a model, found by id or by folder. A published model is found only if it has been downloaded into
    `home`. Raises ModelLoadFailed."""
    return model_shelf(home).resolve(name)


def model_shelf(home: Path | None) -> Shelf:
    """The models that can be named; downloads are looked for in `home`/models, and nowhere if `home` is None."""
    from sidecar.parts.embed.published import Shelf as RealShelf

    return RealShelf(None if home is None else home / "models")


def fetch_model(model: Published, home: Path, source: str, progress: Progress, cancelled: IsCancelled) -> Path:
    """Downloads a published model and returns the folder that holds it.

    Raises ModelDownloadFailed (also while another process downloads a model), DiskFull, PermissionDenied and Cancelled.
    """
    from sidecar.parts.embed.fetch import fetch_model as fetch
    from sidecar.parts.embed.published import UNFINISHED

    try:
        with Lease(home / "models" / UNFINISHED):
            return fetch(model, home / "models", source, progress, cancelled)
    except IndexLocked as busy:
        raise ModelDownloadFailed(
            f"Process {busy.facts.get('pid', '?')} is downloading a model. Try again when it has finished."
        ) from busy


def make_embedder(settings: Settings, home: Path | None = None) -> Embedder:
    """Loads the model that the settings name, on the device that they name. Raises ModelLoadFailed."""
    from sidecar.parts.embed.onnx import OnnxEmbedder

    return OnnxEmbedder(resolve_model(settings.model, home), settings.device, settings.threads)
