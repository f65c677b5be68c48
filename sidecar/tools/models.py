"""The list of embedding models, and the download of one, for surfaces; `engine/models` does the work."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sidecar.model.terms import IsCancelled, Progress
from sidecar.tools.assemble import own_environment
from sidecar.tools.lines import GOOD, Line, pairs

if TYPE_CHECKING:
    from sidecar.engine.models.catalog import CatalogModel


class ModelList:
    """The known models. `every` and `one` raise `ModelLoadFailed` if the catalog cannot be read."""

    def __init__(self, flags: Mapping[str, object], root: str, env: Mapping[str, str] | None = None) -> None:
        from sidecar.engine.models.catalog import ModelCatalog

        self._models = ModelCatalog(flags, own_environment() if env is None else env, root)

    def every(self) -> Listed:
        """Returns the models that ship, those that can be downloaded, and the folder in use if `model` names a
        folder."""
        return Listed(tuple(map(ModelCard, self._models.every())))

    def one(self, name: str) -> ModelCard:
        """Returns all that is known about one model. Raises `InvalidParams` if no model has this id."""
        return ModelCard(self._models.one(name))

    def download(self, name: str, progress: Progress, cancelled: IsCancelled) -> Downloaded:
        """Downloads a model if it is missing. Raises the errors of `engine.models.catalog.ModelCatalog.download`."""
        model, new = self._models.download(name, progress, cancelled)
        return Downloaded("downloaded" if new else "present", ModelCard(model))


@dataclass(frozen=True, slots=True)
class ModelCard:
    """All that is known about one model."""

    model: CatalogModel

    @property
    def brief(self) -> dict[str, Any]:
        """The facts in the list of models, as JSON-ready values."""
        entry = self.model.entry
        return {
            "id": entry.id,
            "dimension": entry.dimension,
            "size": self.model.size,
            "licence": entry.licence,
            "source": entry.source,
            "inUse": self.model.in_use,
            "state": self.model.state,
            "about": entry.about,
        }

    @property
    def value(self) -> dict[str, Any]:
        """All facts, as JSON-ready values."""
        model, entry = self.model, self.model.entry
        return {
            **self.brief,
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

    def as_lines(self) -> Iterator[Line]:
        """Yields a line for each fact."""
        yield from pairs((label, value) for label, value in self._facts() if value)
        for name, (path, sha256) in self.model.files.items():
            yield f"  {name}: {path}  sha256 {sha256 or 'as the hub states it'}"
        if self.model.state == "published":
            yield f"Download it with: sidecar models download {self.model.entry.id}"

    def _facts(self) -> Iterator[tuple[str, object]]:
        model, entry = self.model, self.model.entry
        yield "model", entry.id
        yield "for", entry.about
        yield "state", model.state
        yield "folder", model.folder
        yield "dimension", entry.dimension
        yield "size", megabytes(model.size) if model.size else ""
        yield "tokens", entry.max_tokens
        yield "pooling", entry.pooling
        yield "query", json.dumps(entry.query_prefix) if entry.query_prefix else ""
        yield "document", json.dumps(entry.document_prefix) if entry.document_prefix else ""
        yield "licence", entry.licence
        yield "source", entry.source
        yield "repository", model.repository
        yield "revision", model.revision

    def row(self, width: int) -> Line:
        """Returns the line in the list of models, with the id padded to `width`."""
        entry = self.model.entry
        rest = (
            f" {entry.id:<{width}}  {entry.dimension:>4} dim  {megabytes(self.model.size):>9}  "
            f"{self.model.state:<10}  {entry.licence}"
        ).rstrip()
        return (GOOD, "*") if self.model.in_use else " ", rest


@dataclass(frozen=True, slots=True)
class Listed:
    """The list that `sidecar models` shows."""

    models: tuple[ModelCard, ...]

    @property
    def value(self) -> dict[str, Any]:
        """The list as JSON-ready values."""
        return {"models": [card.brief for card in self.models]}

    def as_lines(self) -> Iterator[Line]:
        """Yields a line for each model."""
        width = max((len(card.model.entry.id) for card in self.models), default=0)
        yield from (card.row(width) for card in self.models)


@dataclass(frozen=True, slots=True)
class Downloaded:
    """The outcome of a download."""

    status: Literal["downloaded", "present"]
    card: ModelCard

    @property
    def value(self) -> dict[str, Any]:
        """The outcome and the model as JSON-ready values."""
        return {"status": self.status, "model": self.card.value}

    def as_lines(self) -> Iterator[Line]:
        """Yields what was done, and how to use the model."""
        model, name = self.card.model, self.card.model.entry.id
        if model.state == "ships":
            yield f"{name} ships with sidecar: there is nothing to download"
        elif self.status == "present":
            yield f"{name} is already there, and its files are intact: {model.folder}"
        else:
            yield f"{name} is in {model.folder} ({megabytes(model.size)}); it was tried and works"
        yield f"Use it with: sidecar index --model {name}"


def megabytes(size: int) -> str:
    """Formats a number of bytes for a person, in kB if it is small; `?` if it is 0, which means unknown."""
    if 0 < size < 100_000:
        return f"{size / 1e3:.1f} kB"
    return f"{size / 1e6:.1f} MB" if size else "?"
