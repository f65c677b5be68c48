"""Merges the layers of settings into one frozen `Settings`: default < user file < index's config.json < environment <
editor < flag.

An invalid value is named in `problems` and skipped, so that the layer below applies; the other values of its layer
still count. A default in the index's config.json overrides nothing: sidecar writes them all there, for a person to see.
Nothing inside the workspace is read: neither of the two files is in it.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from sidecar import shown
from sidecar.small_files import read_small_file

from .declare import DECLARATIONS, ENVIRONMENT_PREFIX, INDEX_CONFIG_KEYS, Declaration, Value
from .home import absolute, data_home, model_seen_from, own_home
from .values import DEFAULTS, parse_size, parsed, written

__all__ = ["Settings", "data_home", "default_config_text", "load_settings", "parse_size", "user_config_file"]

Origin: TypeAlias = Literal["default", "user file", "index config", "environment", "editor", "flag"]

SET_IN_EDITOR = "SIDECAR_SET_IN_EDITOR"
"""The variable in which an editor lists, with commas between them, the variables that it has set from its own settings:
a person who has set a value there knows nothing of a variable."""

_EDITORS = "the editor's settings"
_MAX_FILE_BYTES = 1_000_000
_BY_KEY: Mapping[str, Declaration] = {d.key: d for d in DECLARATIONS}
_HIDDEN = "(hidden)"
_GROUPS = frozenset(key.partition(".")[0] for key in _BY_KEY if "." in key)


@dataclass(frozen=True, slots=True)
class Settings:
    """The values in force.

    `origins` maps each key (as in config.json) to the layer that set it; `problems` has one sentence for each value
    that was skipped. `max_file_size` is in bytes; if `threads` is 0, sidecar chooses.
    """

    include: tuple[str, ...] = DEFAULTS["include"]
    exclude: tuple[str, ...] = DEFAULTS["exclude"]
    respect_gitignore: bool = DEFAULTS["respectGitignore"]
    max_file_size: int = DEFAULTS["maxFileSize"]
    max_files: int = DEFAULTS["maxFiles"]
    doc_patterns: tuple[str, ...] = DEFAULTS["docPatterns"]
    index_docs: bool = DEFAULTS["indexDocs"]
    indexing_strategy: Literal["realtime", "lazy", "git"] = DEFAULTS["indexingStrategy"]
    chunking_strategy: Literal["code-aware", "character"] = DEFAULTS["chunkingStrategy"]
    hybrid_enabled: bool = DEFAULTS["hybridSearch.enabled"]
    default_alpha: float = DEFAULTS["hybridSearch.defaultAlpha"]
    model: str = DEFAULTS["model"]
    two_stage: bool = DEFAULTS["twoStage"]
    device: Literal["auto", "cpu", "cuda"] = DEFAULTS["device"]
    threads: int = DEFAULTS["threads"]
    confirm: Literal["auto", "always", "never"] = DEFAULTS["confirm"]
    question_seconds: int = DEFAULTS["questionSeconds"]
    offline: bool = DEFAULTS["offline"]
    models_source: str = DEFAULTS["modelsSource"]
    snapshot_source: str = DEFAULTS["snapshotSource"]
    snapshot_key: str = DEFAULTS["snapshotKey"]
    snapshot_sign_in: str = DEFAULTS["snapshotSignIn"]
    toolsets: str = DEFAULTS["toolsets"]
    idle_minutes: int = DEFAULTS["idleMinutes"]
    vectors_megabytes: int = DEFAULTS["vectorsMegabytes"]
    activity_log: int = DEFAULTS["activityLog"]
    vector_store: str = DEFAULTS["vectorStore"]
    vector_store_headers: tuple[str, ...] = DEFAULTS["vectorStoreHeaders"]
    vector_memory_megabytes: int = DEFAULTS["vectorMemoryMegabytes"]
    shared_vectors: str = DEFAULTS["sharedVectors"]
    shared_vectors_key: str = DEFAULTS["sharedVectorsKey"]
    shared_vectors_headers: tuple[str, ...] = DEFAULTS["sharedVectorsHeaders"]
    shared_vectors_write: bool = DEFAULTS["sharedVectorsWrite"]
    origins: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(_BY_KEY, "default"))
    problems: tuple[str, ...] = ()

    def as_config(self) -> dict[str, object]:
        """Returns the values in force under the keys of config.json, nested and JSON-ready, sizes as text. A secret
        value is replaced by a text that only says that it is set."""
        values = {d: getattr(self, d.attribute) for d in DECLARATIONS}
        return _nest({d.key: _HIDDEN if d.secret and value else written(d.kind, value) for d, value in values.items()})


def load_settings(
    config_file: Path | None,
    user_file: Path | None,
    env: Mapping[str, str],
    editor: Mapping[str, object],
    flags: Mapping[str, object],
) -> Settings:
    """Merges the layers. Never raises.

    `config_file` is the index's config.json. Keys of `editor` and `flags` are as in config.json, nested or dotted; a
    value of None means not given. A missing file counts as empty.
    """
    loader = _Loader(frozenset(env.get(SET_IN_EDITOR, "").split(",")))
    loader.add("user file", shown.place(user_file), _with_model_of(user_file, loader.read(user_file)))
    loader.add("index config", shown.place(config_file), loader.read(config_file))
    loader.add("environment", "the environment", loader.from_environment(env))
    loader.add("editor", _EDITORS, _given(editor))
    loader.add("flag", "the command line", _given(flags))
    return loader.settings()


def default_config_text() -> str:
    """Returns the config.json that is written when a workspace is first indexed: the specification's keys with their
    defaults."""
    declared = {key: _BY_KEY[key] for key in INDEX_CONFIG_KEYS}
    content: dict[str, object] = {
        "_comment": "Settings of this index. Edits take effect in an open index. Keys that begin with _ are notes.",
        **_nest({key: written("text", d.default) for key, d in declared.items()}),
        "_availableOptions": {key: f"{d.description} Allowed: {d.allowed}." for key, d in declared.items()},
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def user_config_file(env: Mapping[str, str]) -> Path:
    """Returns the user's own settings file, which need not exist: config.json in SIDECAR_HOME, otherwise in the user's
    configuration folder. Raises ConfigInvalid as `data_home` does."""
    home = own_home(env)
    if home is not None:
        return home / "config.json"
    from platformdirs import user_config_path

    folder = user_config_path("sidecar", appauthor=False)
    return absolute(folder, "The user's configuration folder (XDG_CONFIG_HOME)") / "config.json"


class _Loader:
    """Collects values, origins and problems, layer by layer."""

    def __init__(self, set_in_editor: frozenset[str]) -> None:
        """`set_in_editor`: the environment variables that an editor has set."""
        self._set_in_editor = set_in_editor
        self._values: dict[str, Value] = {}
        self._origins: dict[str, str] = dict.fromkeys(_BY_KEY, "default")
        self._problems: list[str] = []
        self._floors: list[tuple[Declaration, Origin, str, object]] = []

    def read(self, path: Path | None) -> Mapping[str, object]:
        """Returns the JSON object in a file; empty if the file is missing, and empty with a problem if it cannot be
        used."""
        try:
            raw = None if path is None else read_small_file(path, _MAX_FILE_BYTES)
            if raw is None:
                if path is not None and path.exists():
                    raise ValueError("it is not a regular file")
                return {}
            content = json.loads(raw.decode("utf-8-sig"))
        except json.JSONDecodeError as error:
            self._problems.append(
                f"{shown.place(path)} is not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}."
                " It is ignored."
            )
        except RecursionError:
            self._problems.append(f"{shown.place(path)} is nested too deeply. It is ignored.")
        except (OSError, ValueError) as error:
            self._problems.append(f"{shown.place(path)} cannot be read: {shown.reason(error)}. It is ignored.")
        else:
            if isinstance(content, dict):
                return content
            self._problems.append(f"{shown.place(path)} must hold a JSON object ({{...}}). It is ignored.")
        return {}

    def from_environment(self, env: Mapping[str, str]) -> Mapping[str, object]:
        """Returns the values of declared variables, by key. An undeclared variable is a problem only if it looks like a
        misspelt setting."""
        variables = {d.environment: d.key for d in DECLARATIONS}
        found: dict[str, object] = {}
        for name, text in env.items():
            if name in variables:
                found[variables[name]] = text
            elif name.startswith(ENVIRONMENT_PREFIX):
                near = difflib.get_close_matches(name, variables, 1, 0.9)
                if near:
                    self._problems.append(f"{shown.quoted(name)} is not a setting; did you mean {near[0]}?")
        return found

    def add(self, origin: Origin, source: str, layer: Mapping[str, object]) -> None:
        for key, value in self._flatten(layer, source):
            declaration = _BY_KEY[key]
            if declaration.scope == "user" and origin in ("index config", "editor"):
                self._floors.append((declaration, origin, source, value))
                continue
            try:
                read = parsed(declaration, value, textual=origin in ("environment", "flag"))
            except ValueError:
                place = self._place(declaration, source) if origin == "environment" else source
                stated = _HIDDEN if declaration.secret else _shown(value)
                self._problems.append(f"{key} in {place} is {stated}; allowed: {declaration.allowed}.")
                continue
            # The file of a new index lists every default, which must not hide the value in the user's own file.
            if origin != "index config" or read != DEFAULTS[key]:
                self._values[key], self._origins[key] = read, origin

    def _place(self, declaration: Declaration, source: str) -> str:
        """Returns where a value from the environment can be corrected."""
        name = declaration.environment
        return _EDITORS if name in self._set_in_editor else f"{source} ({name})"

    def _raise_to_floors(self) -> None:
        """Applies a workspace's values for the user's settings, but only those that make a setting stricter."""
        for declaration, origin, source, value in self._floors:
            key, order = declaration.key, declaration.strictness
            present = self._values.get(key, declaration.default)
            if value in order and order.index(str(value)) > order.index(str(present)):
                self._values[key], self._origins[key] = str(value), origin
            elif value not in order or value != present:
                self._problems.append(
                    f"{key} in {source} is ignored, because only you may set it, not a workspace"
                    f"{', which may only make it stricter' if order else ''}. "
                    f"Set it in your own settings file, with {declaration.environment} or with a flag."
                )

    def settings(self) -> Settings:
        self._raise_to_floors()
        values: dict[str, Any] = {_BY_KEY[key].attribute: value for key, value in self._values.items()}
        return Settings(**values, origins=dict(self._origins), problems=tuple(map(shown.sentence, self._problems)))

    def _flatten(self, layer: Mapping[str, object], source: str) -> Iterator[tuple[str, object]]:
        for key, value in layer.items():
            if key.startswith("_"):
                continue
            if key not in _GROUPS:
                yield from self._known(key, value, source)
            elif isinstance(value, Mapping):
                for inner, inner_value in value.items():
                    if not str(inner).startswith("_"):
                        yield from self._known(f"{key}.{inner}", inner_value, source)
            else:
                names = ", ".join(k.partition(".")[2] for k in _BY_KEY if k.startswith(key + "."))
                self._problems.append(f"{key} in {source} is {_shown(value)}; allowed: an object with {names}.")

    def _known(self, key: str, value: object, source: str) -> Iterator[tuple[str, object]]:
        if key in _BY_KEY:
            yield key, value
            return
        known = [k for k in (*_BY_KEY, *_GROUPS) if "." not in key or "." in k]
        near = difflib.get_close_matches(key, known, 1, 0.6)
        hint = f" Did you mean {near[0]}?" if near else f" Known keys: {', '.join(_BY_KEY)}."
        self._problems.append(f"{shown.quoted(key)} in {source} is not a setting.{hint}")


def _with_model_of(file: Path | None, layer: Mapping[str, object]) -> Mapping[str, object]:
    """Makes the folder of a model in a settings file relative to that file, not to the process that reads it."""
    model = layer.get("model")
    if file is None or not isinstance(model, str):
        return layer
    return {**layer, "model": model_seen_from(str(file.parent), model)}


def _given(layer: Mapping[str, object]) -> Mapping[str, object]:
    """Drops entries that are None, also inside nested mappings: callers pass None for a value that is not given."""
    inner = {k: _given(v) if isinstance(v, Mapping) else v for k, v in layer.items()}
    return {k: v for k, v in inner.items() if v is not None}


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 80 else text[:77] + "..."


def _nest(flat: Mapping[str, object]) -> dict[str, object]:
    nested: dict[str, object] = {}
    for key, value in flat.items():
        group, dot, inner = key.partition(".")
        if dot:
            cast(dict[str, object], nested.setdefault(group, {}))[inner] = value
        else:
            nested[key] = value
    return nested
