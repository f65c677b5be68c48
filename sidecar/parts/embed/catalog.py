"""Describes the embedding models that ship with sidecar, finds their files and verifies these.

Downloads nothing: a model is in the models folder of the package, or in a folder that the user names. `published`
describes the models that can be downloaded, and `onnx` runs a model.
"""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from sidecar import shown
from sidecar.errors import ModelLoadFailed
from sidecar.small_files import open_to_read, parse_json

Kind: TypeAlias = Literal["static", "transformer"]
Pooling: TypeAlias = Literal["graph", "mean", "cls", ""]

MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
FOLDER_SETTINGS = "sidecar-model.json"
DEFAULT_PATH_WEIGHT = 0.35


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """The properties of a model and the form of its input. For a zero or an empty string, the graph or the tokeniser
    decides.

    - `kind`: a `static` graph takes the distinct token ids of each text, their counts as attention mask and, if it has
      that input, token type 1 for a query and 0 for a document. A `transformer` takes all token ids and a mask of ones;
    - `pooling`: `mean` or `cls` of the tokens' vectors, or `graph` if the graph's own output is one vector per text;
    - `max_tokens`: 0 means no limit for a static model, and the tokeniser's own limit for a transformer;
    - `texts_per_run`: 1 if a text's vector depends on the rest of its batch, so that texts have to run one by one.
      This holds for dynamic int8 graphs, which use one scale per batch;
    - `path_weight`: the weight of the path's vector when it is added to the body's (docs/decisions/0001);
    - `graph`: the graph's file in `folder`; two models may be graphs over the same file of weights;
    - `about`: what the model is for; `size`: bytes of all files; `files`: the SHA-256 of each file that is pinned.
    """

    id: str
    folder: str = ""
    graph: str = MODEL_FILE
    kind: Kind = "transformer"
    dimension: int = 0
    pooling: Pooling = ""
    query_prefix: str = ""
    document_prefix: str = ""
    max_tokens: int = 0
    split_identifiers: bool = True
    texts_per_run: int = 0
    path_weight: float = DEFAULT_PATH_WEIGHT
    about: str = ""
    licence: str = ""
    source: str = ""
    size: int = 0
    files: Mapping[str, str] = field(default_factory=dict)


# Fields that do not affect vectors are not part of the model id.
_NOT_IN_ID = ("id", "folder", "graph", "path_weight", "about", "licence", "source", "size", "files")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model's entry and the folder of its files, which only `verify` checks. Errors about the files end with
    `remedy`.
    """

    entry: ModelEntry
    folder: Path
    remedy: str = "Install sidecar again, or put the right file there."

    @property
    def graph(self) -> Path:
        """The path of the graph's file."""
        return self.folder / self.entry.graph

    def verify(self) -> str:
        """Checks the files and returns the model id, `<id>@<12 hex digits>`: a SHA-256 over the files and the fields
        that affect vectors.

        Raises ModelLoadFailed if a file is missing or unreadable, or is not the one that the entry pins.
        """
        digest = hashlib.sha256()
        for name in self._names():
            actual = self._sha256(name)
            expected = self.entry.files.get(name, actual)
            if actual != expected:
                raise ModelLoadFailed(
                    f"{shown.place(self.folder / name)} is not the file of model {self.entry.id}: its SHA-256 "
                    f"is {actual}, "
                    f"but the catalog says {expected}. {self.remedy}"
                )
            digest.update(f"{name} {actual}\n".encode())
        feeding = {key: value for key, value in asdict(self.entry).items() if key not in _NOT_IN_ID}
        digest.update(json.dumps(feeding, sort_keys=True).encode())
        return f"{self.entry.id}@{digest.hexdigest()[:12]}"

    def _names(self) -> list[str]:
        """Returns the files that make up the model: the graph, the tokeniser, and what the entry pins."""
        # Large graphs keep their weights in a second file beside the first (such as model.onnx.data).
        beside = {path.name for path in self.folder.glob(f"{glob.escape(self.entry.graph)}*") if path.is_file()}
        return sorted(beside | {self.entry.graph, TOKENIZER_FILE} | set(self.entry.files))

    def _sha256(self, name: str) -> str:
        """Returns the SHA-256 of a file, in hex. Raises ModelLoadFailed if it cannot be read."""
        try:
            with open_to_read(self.folder / name) as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ModelLoadFailed(
                f"Model {self.entry.id}: {shown.place(self.folder / name)} cannot be read ({error.strerror}). "
                f"{self.remedy}"
            ) from error


@dataclass(frozen=True, slots=True)
class Catalog:
    """The models that ship, in the order of `catalog.json`, and the id of the default model."""

    folder: Path
    default: str
    models: tuple[ModelEntry, ...]

    def resolve(self, name_or_folder: str = "") -> ModelFiles:
        """Returns the model with this catalog id, else the model in this folder, an absolute path; for an empty string,
        the default model.

        Raises ModelLoadFailed if there is neither, or if the settings in the folder are invalid.
        """
        wanted = name_or_folder or self.default
        for entry in self.models:
            if entry.id == wanted:
                return ModelFiles(entry, self.folder / entry.folder)
        folder = Path(wanted)
        if folder.is_absolute() and folder.is_dir():
            return ModelFiles(_folder_entry(folder), folder)
        known = ", ".join(entry.id for entry in self.models)
        raise ModelLoadFailed(
            f"There is no model {shown.quoted(wanted)}: name one of {known}, or a folder with {MODEL_FILE} and "
            f"{TOKENIZER_FILE}."
        )


def models_folder() -> Path:
    """Returns the folder of the models that ship: `_models` in the installed package, else `models` beside the package
    in a checkout."""
    package = Path(__file__).resolve().parents[2]
    packed = package / "_models"
    return packed if packed.is_dir() else package.parent / "models"


def load_catalog(folder: Path | None = None) -> Catalog:
    """Reads `catalog.json` in `folder`, by default the one that ships. Raises ModelLoadFailed if it is missing or
    invalid.
    """
    folder = folder or models_folder()
    path = folder / "catalog.json"
    content = read_object(path)
    models = content.get("models")
    if not isinstance(models, list):
        raise ModelLoadFailed(f"{shown.place(path)} has no list `models`.")
    entries = tuple(read_entry(item, path) for item in models)
    return Catalog(folder, str(content.get("default") or (entries[0].id if entries else "")), entries)


def resolve_model(name_or_folder: str = "", folder: Path | None = None) -> ModelFiles:
    """Returns `load_catalog(folder).resolve(name_or_folder)`."""
    return load_catalog(folder).resolve(name_or_folder)


def _folder_entry(folder: Path) -> ModelEntry:
    """Returns the entry of a model in a folder of the user's, with the settings of its `sidecar-model.json` if it has
    one."""
    path = folder / FOLDER_SETTINGS
    declared = read_object(path) if path.exists() else {}
    return read_entry({"id": folder.resolve().name, **declared, "folder": ""}, path)


def read_object(path: Path) -> dict[str, Any]:
    """Returns the JSON object in a file. Raises ModelLoadFailed if the file cannot be read or holds anything else."""
    try:
        with open_to_read(path) as file:
            content = parse_json(file.read())
    except OSError as error:
        raise ModelLoadFailed(f"{shown.place(path)} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise ModelLoadFailed(f"{shown.place(path)} is not JSON: {shown.reason(error)}.") from error
    if not isinstance(content, dict):
        raise ModelLoadFailed(f"{shown.place(path)} is not a JSON object.")
    return content


def read_entry(item: object, path: Path) -> ModelEntry:
    """Returns a model entry from its JSON object, which was read from `path`.

    Raises ModelLoadFailed if the id is missing, a key is unknown, or a value has a wrong type or is not allowed.
    """
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        raise ModelLoadFailed(f"{shown.place(path)}: every model needs an `id`.")
    defaults = asdict(ModelEntry(id=""))
    for key, value in item.items():
        if key not in defaults:
            raise ModelLoadFailed(
                f"{shown.place(path)}: model {shown.quoted(str(item['id']))} has an unknown key {shown.quoted(key)}."
            )
        if not _same_type(value, defaults[key]):
            kind = type(defaults[key]).__name__
            raise ModelLoadFailed(
                f"{shown.place(path)}: model {shown.quoted(str(item['id']))}, {key} must be of type {kind}, not "
                f"{shown.quoted(repr(value))}."
            )
    for key, allowed in (("kind", get_args(Kind)), ("pooling", get_args(Pooling))):
        if item.get(key, defaults[key]) not in allowed:
            words = ", ".join(filter(None, allowed))
            raise ModelLoadFailed(
                f"{shown.place(path)}: model {shown.quoted(str(item['id']))}, {key} must be one of {words}, not "
                f"{shown.quoted(repr(item[key]))}."
            )
    return ModelEntry(**item)


def _same_type(value: object, default: object) -> bool:
    """Whether a JSON value has the type of the default; an integer may stand for a float."""
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is type(default)
