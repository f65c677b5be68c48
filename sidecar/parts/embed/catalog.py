"""Which embedding models there are, where their files lie, and whether those are the right files.

Knows nothing of how a model runs (`onnx`) and never downloads anything: a model is in the models folder that
ships with the package, or in a folder that the user names. What can be downloaded is in `published`.
"""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from sidecar.errors import ModelLoadFailed

Kind: TypeAlias = Literal["static", "transformer"]
Pooling: TypeAlias = Literal["graph", "mean", "cls", ""]

MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
FOLDER_SETTINGS = "sidecar-model.json"
DEFAULT_PATH_WEIGHT = 0.35


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """What a model is and how to feed it. A zero or an empty word means: find out from the graph.

    `static`: the graph takes each text's distinct token ids, as mask their counts and, where it has that input, as
    token types 1 for a query and 0 for a document. `pooling` `graph`: the
    graph's own output is one vector per text. `max_tokens` 0: no limit (static) or the tokeniser's own.
    `texts_per_run` 1: a text's vector depends on what else is in its batch (dynamic int8 graphs take one scale per
    batch), so texts go one by one. `path_weight`: how much of a chunk's vector its path's words are. `graph`: the
    graph's file in the folder; two models may be graphs over the same file of weights. `about`: what it is for.
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


# What changes no vector stays out of the model id.
_NOT_IN_ID = ("id", "folder", "graph", "path_weight", "about", "licence", "source", "size", "files")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model's entry and the folder its files are in; nothing is checked until `verify`."""

    entry: ModelEntry
    folder: Path
    remedy: str = "Reinstall sidecar or put the right file there."

    @property
    def graph(self) -> Path:
        return self.folder / self.entry.graph

    def verify(self) -> str:
        """The model id, `<id>@<12 hex>` over files and feeding; raises ModelLoadFailed on a missing or wrong file."""
        digest = hashlib.sha256()
        for name in self._names():
            actual = self._sha256(name)
            expected = self.entry.files.get(name, actual)
            if actual != expected:
                raise ModelLoadFailed(
                    f"{self.folder / name} is not the file of model {self.entry.id}: its SHA-256 is {actual}, "
                    f"the catalog says {expected}. {self.remedy}"
                )
            digest.update(f"{name} {actual}\n".encode())
        feeding = {key: value for key, value in asdict(self.entry).items() if key not in _NOT_IN_ID}
        digest.update(json.dumps(feeding, sort_keys=True).encode())
        return f"{self.entry.id}@{digest.hexdigest()[:12]}"

    def _names(self) -> list[str]:
        # Big graphs keep their weights in a second file beside the first (model.onnx.data and the like).
        beside = {path.name for path in self.folder.glob(f"{glob.escape(self.entry.graph)}*") if path.is_file()}
        return sorted(beside | {self.entry.graph, TOKENIZER_FILE} | set(self.entry.files))

    def _sha256(self, name: str) -> str:
        try:
            with (self.folder / name).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ModelLoadFailed(
                f"Model {self.entry.id}: {self.folder / name} cannot be read ({error.strerror}). {self.remedy}"
            ) from error


@dataclass(frozen=True, slots=True)
class Catalog:
    """The models that ship, in the order of `catalog.json`, which also names the default."""

    folder: Path
    default: str
    models: tuple[ModelEntry, ...]

    def resolve(self, name_or_folder: str = "") -> ModelFiles:
        """By catalog id, else by folder; empty means the default. Raises ModelLoadFailed."""
        wanted = name_or_folder or self.default
        for entry in self.models:
            if entry.id == wanted:
                return ModelFiles(entry, self.folder / entry.folder)
        folder = Path(wanted).expanduser()
        if folder.is_dir():
            return ModelFiles(_folder_entry(folder), folder)
        known = ", ".join(entry.id for entry in self.models)
        raise ModelLoadFailed(
            f"There is no model {wanted!r}: name one of {known}, or a folder with {MODEL_FILE} and {TOKENIZER_FILE}."
        )


def models_folder() -> Path:
    """`_models` inside the installed package, else `models` beside it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    packed = package / "_models"
    return packed if packed.is_dir() else package.parent / "models"


def load_catalog(folder: Path | None = None) -> Catalog:
    """Reads `catalog.json` of `folder` (default: the one that ships). Raises ModelLoadFailed."""
    folder = folder or models_folder()
    path = folder / "catalog.json"
    content = read_object(path)
    models = content.get("models")
    if not isinstance(models, list):
        raise ModelLoadFailed(f"{path} has no list `models`.")
    entries = tuple(read_entry(item, path) for item in models)
    return Catalog(folder, str(content.get("default") or (entries[0].id if entries else "")), entries)


def resolve_model(name_or_folder: str = "", folder: Path | None = None) -> ModelFiles:
    """`load_catalog(folder).resolve(name_or_folder)`."""
    return load_catalog(folder).resolve(name_or_folder)


def _folder_entry(folder: Path) -> ModelEntry:
    path = folder / FOLDER_SETTINGS
    declared = read_object(path) if path.exists() else {}
    return read_entry({"id": folder.resolve().name, **declared, "folder": ""}, path)


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Raises ModelLoadFailed."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ModelLoadFailed(f"{path} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise ModelLoadFailed(f"{path} is not JSON: {error}.") from error
    if not isinstance(content, dict):
        raise ModelLoadFailed(f"{path} is not a JSON object.")
    return content


def read_entry(item: object, path: Path) -> ModelEntry:
    """A model as JSON has it; `path` is where it was read. Raises ModelLoadFailed on whatever is not as it must be."""
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        raise ModelLoadFailed(f"{path}: every model needs an `id`.")
    defaults = asdict(ModelEntry(id=""))
    for key, value in item.items():
        if key not in defaults:
            raise ModelLoadFailed(f"{path}: model {item['id']} has an unknown key {key!r}.")
        if not _same_type(value, defaults[key]):
            kind = type(defaults[key]).__name__
            raise ModelLoadFailed(f"{path}: model {item['id']}, {key} must be of type {kind}, not {value!r}.")
    for key, allowed in (("kind", get_args(Kind)), ("pooling", get_args(Pooling))):
        if item.get(key, defaults[key]) not in allowed:
            words = ", ".join(filter(None, allowed))
            raise ModelLoadFailed(f"{path}: model {item['id']}, {key} must be one of {words}, not {item[key]!r}.")
    return ModelEntry(**item)


def _same_type(value: object, default: object) -> bool:
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is type(default)
