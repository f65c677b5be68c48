"""Lists the models that can be chosen and downloads published ones, which is sidecar's only use of the network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from sidecar import shown
from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.models.loader import fetch_model, make_embedder, model_shelf
from sidecar.errors import InvalidParams, ModelDownloadFailed, ModelLoadFailed
from sidecar.model.terms import IsCancelled, Progress
from sidecar.settings.load import Settings, data_home, load_settings, user_config_file
from sidecar.settings.values import DEFAULTS

if TYPE_CHECKING:
    from sidecar.parts.embed.catalog import ModelEntry
    from sidecar.parts.embed.published import Published, Shelf

State: TypeAlias = Literal["ships", "downloaded", "published", "folder"]


@dataclass(frozen=True, slots=True)
class CatalogModel:
    """A model that can be chosen. If `state` is `published`, it has to be downloaded first.

    `size` is in bytes, 0 if unknown. `folder` is the folder that holds the model's files, empty if they are not here.
    `files` maps each file's name to its path in the repository and its SHA-256, which is empty if only the hub states
    it.
    """

    entry: ModelEntry
    state: State
    in_use: bool
    size: int
    repository: str = ""
    revision: str = ""
    folder: str = ""
    files: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class ModelCatalog:
    """What `sidecar models` lists and downloads, under the settings that apply to the workspace at `root`."""

    def __init__(self, flags: Mapping[str, object], env: Mapping[str, str], root: str) -> None:
        self._home = data_home(env)
        config = IndexLayout(self._home, root).config
        self._settings: Settings = load_settings(config, user_config_file(env), env, {}, flags)
        self._shelf: Shelf = model_shelf(self._home)

    def every(self) -> list[CatalogModel]:
        """The models that ship, the published ones, and the one in use if it is neither. Raises ModelLoadFailed if the
        one in use is a folder without a usable model."""
        catalog, used = self._shelf.catalog, self._settings.model
        models = [self._shipped(entry) for entry in catalog.models]
        models += [self._published(model) for model in self._shelf.published]
        if not any(model.in_use for model in models):
            files = self._shelf.resolve(used)
            models.append(CatalogModel(files.entry, "folder", True, files.entry.size, folder=str(files.folder)))
        return models

    def one(self, name: str) -> CatalogModel:
        """The model that ships or is published under this id. Raises InvalidParams if there is no such model."""
        for entry in self._shelf.catalog.models:
            if entry.id == name:
                return self._shipped(entry)
        if (found := self._shelf.find(name)) is not None:
            return self._published(found)
        raise InvalidParams(self._shelf.unknown(name))

    def download(self, name: str, progress: Progress, cancelled: IsCancelled) -> tuple[CatalogModel, bool]:
        """Downloads a published model if it is not complete on disk, then loads it once to prove that it runs.

        Returns the model and whether anything had to be downloaded. A model that ships is returned as it is. Raises
        InvalidParams, ModelDownloadFailed, DiskFull, PermissionDenied and Cancelled, and ModelLoadFailed if the
        downloaded model does not run as its entry says.
        """
        known, found = self.one(name), self._shelf.find(name)
        if known.state == "ships" or found is None:
            return known, False
        new = not self._is_whole(found)
        if new:
            self._forbid_offline(found)
            fetch_model(self._found_at(found), self._home, self._settings.models_source, progress, cancelled)
        self._try(found)
        return self._published(found), new

    def _found_at(self, model: Published) -> Published:
        """Returns the model with the address to ask: its own only if the user has named no server for models. Raises
        ModelDownloadFailed if neither is known."""
        if not model.released:
            return model
        if self._settings.models_source != DEFAULTS["modelsSource"]:
            return replace(model, address="")
        if model.address:
            return model
        files = ", ".join(model.files)
        raise ModelDownloadFailed(
            f"This build is no release, so it does not know where {model.entry.id} is published. In "
            f"sidecar's source, {shown.place(Path('models', model.entry.folder))} has {files}: copy them into "
            f"{shown.place(self._shelf.folder_of(model))}, or name a server that has them in the setting modelsSource "
            "(docs/models.md).",
            reason="no address",
        )

    def _is_whole(self, model: Published) -> bool:
        if not self._shelf.is_here(model):
            return False
        try:
            self._shelf.downloaded(model).verify()
        except ModelLoadFailed:
            return False
        return True

    def _forbid_offline(self, model: Published) -> None:
        if self._settings.offline:
            origin = self._settings.origins.get("offline", "")
            raise ModelDownloadFailed(
                f"The setting offline (set by: {origin}) forbids every network call, so {model.entry.id} was not asked "
                f"for. A copy of its files in a folder can be named instead: --model FOLDER.",
                reason="offline",
            )

    def _try(self, model: Published) -> None:
        try:
            make_embedder(_with_model(self._settings, model.entry.id), self._home).close()
        except ModelLoadFailed as error:
            folder = self._shelf.folder_of(model)
            raise ModelLoadFailed(
                f"{shown.reason(error.detail)} The files are as published, in {shown.place(folder)}."
            ) from error

    def _shipped(self, entry: ModelEntry) -> CatalogModel:
        folder = str(self._shelf.catalog.folder / entry.folder)
        used = (self._settings.model or self._shelf.catalog.default) == entry.id
        return CatalogModel(
            entry, "ships", used, entry.size, folder=folder, files={n: (n, h) for n, h in entry.files.items()}
        )

    def _published(self, model: Published) -> CatalogModel:
        folder = self._shelf.place_of(model)
        return CatalogModel(
            model.entry,
            "published" if folder is None else "downloaded",
            self._settings.model == model.entry.id,
            model.size or _bytes_in(folder),
            model.repository,
            model.revision,
            "" if folder is None else str(folder),
            {name: (file.path, file.sha256) for name, file in model.files.items()},
        )


def _with_model(settings: Settings, name: str) -> Settings:
    return replace(settings, model=name, device="cpu")


def _bytes_in(folder: Path | None) -> int:
    return 0 if folder is None else sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
