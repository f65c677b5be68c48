"""Describes models that can be downloaded, and finds those that have been downloaded.

They are on the Hugging Face hub, or are our own and attached to each release. It only reads files; `fetch` uses the
network. An entry names a revision, and the size and SHA-256 of each file if these are known. For the other files
`fetch` checks the hashes that the hub states for that revision, and records them in a lock file beside the files. In
either case a downloaded file that changes later is refused.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sidecar import shown
from sidecar.errors import ModelLoadFailed
from sidecar.parts.embed.catalog import Catalog, ModelEntry, ModelFiles, load_catalog, read_entry, read_object
from sidecar.small_files import open_to_read

PUBLISHED_FILE = "published.json"
ADDRESS_FILE = "released-at"
"""In the models folder of a released package: the address of the files that are attached to that release."""

LOCK_FILE = "sidecar-download.json"
UNFINISHED = ".unfinished"
"""The name of the folder of downloads that are in progress or were interrupted."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_SHA256 = re.compile(r"([0-9a-f]{64})?")


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a repository. `size` is in bytes, 0 if unknown. If `sha256` is empty, the hub has to state a hash."""

    path: str
    size: int = 0
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """A published model. `files` has the repository's file for each local file name; `revision` is a commit, a tag or a
    branch.

    `released` means that the model is our own: its files are attached to a release of sidecar, at `address`, which is
    empty in a build that is no release. A checkout has them in the folder of its models that the entry names.
    """

    entry: ModelEntry
    repository: str
    revision: str
    files: Mapping[str, RemoteFile]
    released: bool = False
    address: str = ""

    @property
    def size(self) -> int:
        """Bytes to download; 0 if the size of a file is unknown."""
        sizes = [file.size for file in self.files.values()]
        return sum(sizes) if all(sizes) else 0


class Shelf:
    """All models that can be named: those that ship, the published ones, and any folder.

    `downloads` holds one folder for each downloaded model; None if there is no place for downloads.
    """

    def __init__(self, downloads: Path | None, folder: Path | None = None) -> None:
        self._downloads = downloads
        self.catalog: Catalog = load_catalog(folder)
        self.published = load_published(self.catalog.folder)

    def resolve(self, name_or_folder: str = "") -> ModelFiles:
        """Returns the model with this id, else the model in this folder; for an empty string, the default model.

        Raises ModelLoadFailed if there is no such model. For a published model that is not downloaded, the error names
        the command that downloads it.
        """
        known = {entry.id for entry in self.catalog.models}
        found = self.find(name_or_folder)
        if found is None or found.entry.id in known:
            if name_or_folder and name_or_folder not in known and not Path(name_or_folder).is_dir():
                raise ModelLoadFailed(self.unknown(name_or_folder))
            return self.catalog.resolve(name_or_folder)
        return self.downloaded(found)

    def find(self, name: str) -> Published | None:
        """Returns the published model with this id, or None."""
        return next((model for model in self.published if model.entry.id == name), None)

    def unknown(self, name: str) -> str:
        """Returns the message that there is no such model, with the ids that were probably meant.

        It does not list all models, because it stands beside results too."""
        ids = [entry.id for entry in self.catalog.models] + [model.entry.id for model in self.published]
        near = difflib.get_close_matches(name, ids, 3, 0.5) or [known for known in ids if name and name in known]
        hint = f"did you mean {' or '.join(near)}?" if near else "`sidecar models list` names all models."
        folder = "You can also name a folder with model.onnx and tokenizer.json."
        return f"There is no model {shown.quoted(name)}: {hint} {folder}"

    def folder_of(self, model: Published) -> Path | None:
        """Returns the folder of the model's download, whether or not it exists; None if there is no place for
        downloads."""
        return None if self._downloads is None else self._downloads / model.entry.id

    def place_of(self, model: Published) -> Path | None:
        """Returns the folder in which exactly this revision is, or seems to be: hashes are not checked. None if it is
        not here."""
        if (beside := self._beside(model)) is not None:
            return beside
        folder = self.folder_of(model)
        return folder if folder is not None and self._is_downloaded(model, folder) else None

    def is_here(self, model: Published) -> bool:
        """Whether exactly this revision is on this machine. Does not read the files."""
        return self.place_of(model) is not None

    def _beside(self, model: Published) -> Path | None:
        """Returns the folder of a checkout that has the model's files, or None."""
        folder = self.catalog.folder / model.entry.folder
        return folder if model.released and model.entry.folder and (folder / model.entry.graph).is_file() else None

    def _is_downloaded(self, model: Published, folder: Path) -> bool:
        if not (folder / LOCK_FILE).is_file():
            return _is_copied(model, folder)
        try:
            return _is_lock_of(model, read_object(folder / LOCK_FILE))
        except ModelLoadFailed:
            return False

    def downloaded(self, model: Published) -> ModelFiles:
        """Returns the downloaded files, not yet verified. Raises ModelLoadFailed if they are missing or of another
        revision."""
        folder, again = self.folder_of(model), f"Download it with: sidecar models download {model.entry.id}"
        if (beside := self._beside(model)) is not None:
            return ModelFiles(model.entry, beside, "Check the file out again.")
        if folder is None or not folder.is_dir():
            size = f" ({model.size / 1e6:.0f} MB)" if model.size else ""
            why = ": it no longer ships with sidecar" if model.released else ""
            raise ModelLoadFailed(f"Model {model.entry.id} is not on this machine{why}. {again}{size}.")
        if _is_copied(model, folder):
            return ModelFiles(model.entry, folder, again + ".")
        lock = read_object(folder / LOCK_FILE)
        if not _is_lock_of(model, lock):
            raise ModelLoadFailed(f"{shown.place(folder)} holds another revision of model {model.entry.id}. {again}.")
        pinned = {name: file.sha256 for name, file in model.files.items() if file.sha256}
        return ModelFiles(
            replace(model.entry, files={**_locked(lock, folder / LOCK_FILE), **pinned}), folder, again + "."
        )


def load_published(folder: Path) -> tuple[Published, ...]:
    """Returns the models in `published.json`; empty if the file does not exist. Raises ModelLoadFailed if it is
    invalid."""
    path = folder / PUBLISHED_FILE
    if not path.exists():
        return ()
    models = read_object(path).get("models")
    if not isinstance(models, list):
        raise ModelLoadFailed(f"{shown.place(path)} has no list `models`.")
    return tuple(_published(item, path, _address(folder)) for item in models)


def _address(folder: Path) -> str:
    """Returns the address that the build of a release noted in the models folder; empty if it noted none."""
    try:
        with open_to_read(folder / ADDRESS_FILE) as file:
            return file.read().decode("ascii").strip()
    except (OSError, ValueError):
        return ""


def _is_copied(model: Published, folder: Path) -> bool:
    """Whether somebody has copied all files there, without a lock file; possible if every hash is pinned."""
    pinned = all(file.sha256 for file in model.files.values())
    return pinned and not (folder / LOCK_FILE).exists() and all((folder / name).is_file() for name in model.files)


def _published(item: object, path: Path, address: str) -> Published:
    """Returns a published model from its JSON object. Raises ModelLoadFailed if the object is invalid."""
    if not isinstance(item, dict):
        raise ModelLoadFailed(f"{shown.place(path)}: every model must be an object.")
    own = {key: item.get(key, "") for key in ("repository", "revision")}
    released = item.get("released", False) is True
    about_files = (*own, "download", "released")
    entry = read_entry({key: value for key, value in item.items() if key not in about_files}, path)
    for key, form in (("repository", _PLAIN_PATH), ("revision", _PLAIN_PATH)):
        if not isinstance(own[key], str) or not form.fullmatch(own[key]):
            raise ModelLoadFailed(f"{shown.place(path)}: model {entry.id} needs a {key}, not {own[key]!r}.")
    files = item.get("download")
    if not _PLAIN_NAME.fullmatch(entry.id) or not isinstance(files, dict):
        raise ModelLoadFailed(f"{shown.place(path)}: model {entry.id!r} needs a plain id and an object `download`.")
    remote = {name: _remote_file(name, file, entry.id, path) for name, file in files.items()}
    pinned = {name: file.sha256 for name, file in remote.items() if file.sha256}
    model = Published(entry, own["repository"], own["revision"], remote, released, address if released else "")
    source = entry.source or f"{model.repository} on the Hugging Face hub, revision {model.revision}"
    return replace(model, entry=replace(entry, files=pinned, size=model.size, source=source))


def _remote_file(name: str, item: Any, model: str, path: Path) -> RemoteFile:
    """Returns a file from its JSON object. Raises ModelLoadFailed if the object or the local name is invalid."""
    try:
        file = RemoteFile(**item)
        fine = file.size >= 0 and _PLAIN_NAME.fullmatch(name) and _PLAIN_PATH.fullmatch(file.path)
        if fine and _SHA256.fullmatch(file.sha256) and name != LOCK_FILE:
            return file
    except TypeError:
        pass
    raise ModelLoadFailed(
        f"{shown.place(path)}: model {model}, file {name}: {item!r} is not a path, a size and a SHA-256."
    )


def _is_lock_of(model: Published, lock: Mapping[str, Any]) -> bool:
    """Whether a lock file belongs to this model's repository and revision."""
    return (lock.get("repository"), lock.get("revision")) == (model.repository, model.revision)


def _locked(lock: Mapping[str, Any], path: Path) -> dict[str, str]:
    """Returns the SHA-256 of each downloaded file, by name. Raises ModelLoadFailed if the lock file does not say
    them."""
    try:
        return {name: str(file["sha256"]) for name, file in lock["files"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelLoadFailed(f"{shown.place(path)} does not say which files were downloaded.") from error
