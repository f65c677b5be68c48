"""Finds a model's files, downloads them, loads a model once per process.

Light to import: onnxruntime waits for the first model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar.engine.models.facts import ModelFacts
from sidecar.errors import IndexLocked, ModelDownloadFailed
from sidecar.locks import Rank, make_lock
from sidecar.model import Embedder, IsCancelled, Progress
from sidecar.parts.lease import Lease
from sidecar.settings.load import Settings

if TYPE_CHECKING:
    from sidecar.parts.embed.catalog import ModelFiles
    from sidecar.parts.embed.published import Published, Shelf


class Models:
    """Loads each model once per process, at first use. Without a `home` only those that ship are known."""

    def __init__(self, make: Callable[[Settings], Embedder], home: Path | None = None) -> None:
        self._make = make
        self._home = home
        self._loaded: dict[tuple[str, str], Embedder] = {}
        self._facts: dict[str, ModelFacts] = {}
        self._lock = make_lock(Rank.MODELS)

    def embedder(self, settings: Settings) -> Embedder:
        """Raises ModelLoadFailed."""
        key = (settings.model, settings.device)
        with self._lock:
            if key not in self._loaded:
                self._loaded[key] = self._make(settings)
            return self._loaded[key]

    def loaded(self, settings: Settings) -> Embedder | None:
        """The model where it is in memory already."""
        return self._loaded.get((settings.model, settings.device))

    def facts(self, settings: Settings) -> ModelFacts:
        """Id, dimension and path weight, without loading the model where the catalog tells them."""
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
        """Whoever still uses a model keeps it until it is done."""
        with self._lock:
            self._loaded.clear()

    def close(self) -> None:
        with self._lock:
            for embedder in self._loaded.values():
                embedder.close()
            self._loaded.clear()


def resolve_model(name: str, home: Path | None = None) -> ModelFiles:
    """By id or folder; of the published models those that were downloaded into `home`. Raises ModelLoadFailed."""
    return model_shelf(home).resolve(name)


def model_shelf(home: Path | None) -> Shelf:
    from sidecar.parts.embed.published import Shelf as RealShelf

    return RealShelf(None if home is None else home / "models")


def fetch_model(model: Published, home: Path, source: str, progress: Progress, cancelled: IsCancelled) -> Path:
    """The folder that then has it. Raises ModelDownloadFailed, DiskFull, PermissionDenied and Cancelled."""
    from sidecar.parts.embed.fetch import fetch_model as fetch
    from sidecar.parts.embed.published import UNFINISHED

    try:
        with Lease(home / "models" / UNFINISHED):
            return fetch(model, home / "models", source, progress, cancelled)
    except IndexLocked as busy:
        raise ModelDownloadFailed(f"Process {busy.facts.get('pid', '?')} downloads a model; wait for it.") from busy


def make_embedder(settings: Settings, home: Path | None = None) -> Embedder:
    from sidecar.parts.embed.onnx import OnnxEmbedder

    return OnnxEmbedder(resolve_model(settings.model, home), settings.device, settings.threads)
