"""The list of embedding models and the download of one, for surfaces; `engine/models` does the work."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sidecar.model import IsCancelled, Progress

if TYPE_CHECKING:
    from sidecar.engine.models.catalog import CatalogModel


class ModelList:
    """The models as JSON-ready values. `every` and `one` raise `ModelLoadFailed` when the catalog cannot be read."""

    def __init__(self, flags: Mapping[str, object], root: str, env: Mapping[str, str] | None = None) -> None:
        from sidecar.engine.models.catalog import ModelCatalog

        self._models = ModelCatalog(flags, os.environ if env is None else env, root)

    def every(self) -> list[dict[str, Any]]:
        """The models that ship, those that can be downloaded, and the folder in use if `model` names a folder."""
        return [_brief(model) for model in self._models.every()]

    def one(self, name: str) -> dict[str, Any]:
        """All that is known about one model. Raises `InvalidParams` when no model has this id."""
        return _whole(self._models.one(name))

    def download(self, name: str, progress: Progress, cancelled: IsCancelled) -> dict[str, Any]:
        """`{status: downloaded | present, model}`. Raises what `engine.models.catalog.ModelCatalog.download` raises."""
        model, new = self._models.download(name, progress, cancelled)
        return {"status": "downloaded" if new else "present", "model": _whole(model)}


def _brief(model: CatalogModel) -> dict[str, Any]:
    entry = model.entry
    return {
        "id": entry.id,
        "dimension": entry.dimension,
        "size": model.size,
        "licence": entry.licence,
        "source": entry.source,
        "inUse": model.in_use,
        "state": model.state,
        "about": entry.about,
    }


def _whole(model: CatalogModel) -> dict[str, Any]:
    entry = model.entry
    return {
        **_brief(model),
        "folder": model.folder,
        "repository": model.repository,
        "revision": model.revision,
        "kind": entry.kind,
        "pooling": entry.pooling,
        "queryPrefix": entry.query_prefix,
        "documentPrefix": entry.document_prefix,
        "maxTokens": entry.max_tokens,
        "splitIdentifiers": entry.split_identifiers,
        "files": {name: {"path": path, "sha256": sha256} for name, (path, sha256) in model.files.items()},
    }
