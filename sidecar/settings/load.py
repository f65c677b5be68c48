"""Merges the layers of settings into one frozen `Settings`: default < user file < index's config.json < environment <
editor < flag.

A wrong value is named in `problems` and skipped, so that the layer below applies; the rest of its layer still counts.
Nothing inside the workspace is read: neither of the two files is in it.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from sidecar import shown
from sidecar.small_files import read_small_file

from .declare import DECLARATIONS, ENVIRONMENT_PREFIX, INDEX_CONFIG_KEYS, Declaration, Kind, Value
from .home import data_home, own_home

__all__ = ["Settings", "data_home", "default_config_text", "load_settings", "parse_size", "user_config_file"]

Origin: TypeAlias = Literal["default", "user file", "index config", "environment", "editor", "flag"]

_MAX_FILE_BYTES = 1_000_000
_UNITS = {"KB": 1024, "MB": 1024**2}
_WORDS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
_BY_KEY: Mapping[str, Declaration] = {d.key: d for d in DECLARATIONS}
_GROUPS = frozenset(key.partition(".")[0] for key in _BY_KEY if "." in key)


@dataclass(frozen=True, slots=True)
class Settings:
    """The values in force.

    `origins` maps each key (as in config.json) to the layer that set it; `problems` has one sentence for each value
    that was skipped. `max_file_size` is in bytes; `threads` 0 means that sidecar chooses.
    """

    include: tuple[str, ...] = ("**/*",)
    exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    max_file_size: int = 1024**2
    max_files: int = 50_000
    doc_patterns: tuple[str, ...] = ("**/*.md", "**/*.txt")
    index_docs: bool = True
    indexing_strategy: Literal["realtime", "lazy", "git"] = "realtime"
    chunking_strategy: Literal["code-aware", "character"] = "code-aware"
    hybrid_enabled: bool = True
    default_alpha: float = 0.5
    model: str = "static-code-256"
    two_stage: bool = True
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int = 0
    confirm: Literal["auto", "always", "never"] = "auto"
    question_seconds: int = 120
    offline: bool = False
    models_source: str = "https://huggingface.co"
    toolsets: str = "code"
    idle_minutes: int = 15
    vectors_megabytes: int = 2048
    activity_log: int = 500
    origins: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(_BY_KEY, "default"))
    problems: tuple[str, ...] = ()

    def as_config(self) -> dict[str, object]:
        """The values in force under the keys of config.json, nested and JSON-ready, sizes as text."""
        return _nest({d.key: _written(d.kind, getattr(self, d.attribute)) for d in DECLARATIONS})


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
    loader = _Loader()
    loader.add("user file", str(user_file), loader.read(user_file))
    loader.add("index config", str(config_file), loader.read(config_file))
    loader.add("environment", "the environment", loader.from_environment(env))
    loader.add("editor", "the editor's settings", _given(editor))
    loader.add("flag", "the command line", _given(flags))
    return loader.settings()


def default_config_text() -> str:
    """The config.json written when a workspace is first indexed: the specification's keys with their defaults."""
    declared = {key: _BY_KEY[key] for key in INDEX_CONFIG_KEYS}
    content: dict[str, object] = {
        "_comment": "Settings of this index. Edits take effect at the next indexing. Keys that begin with _ are notes.",
        **_nest({key: _written("text", d.default) for key, d in declared.items()}),
        "_availableOptions": {key: f"{d.description} Allowed: {d.allowed}." for key, d in declared.items()},
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def user_config_file(env: Mapping[str, str]) -> Path:
    """The user's own settings file, which need not exist: config.json in SIDECAR_HOME, else in the user's configuration
    folder. Raises ConfigInvalid as `data_home` does."""
    home = own_home(env)
    if home is not None:
        return home / "config.json"
    from platformdirs import user_config_path

    return user_config_path("sidecar", appauthor=False) / "config.json"


def parse_size(text: str) -> int:
    """`"500KB"` -> 512000 bytes (1 KB = 1024). Raises ValueError for any other form."""
    match = re.fullmatch(r"([0-9]{1,9})(KB|MB)", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(text)
    return int(match[1]) * _UNITS[match[2].upper()]


class _Loader:
    """Collects values, origins and problems, layer by layer."""

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}
        self._origins: dict[str, str] = dict.fromkeys(_BY_KEY, "default")
        self._problems: list[str] = []

    def read(self, path: Path | None) -> Mapping[str, object]:
        """The JSON object in a file; empty when the file is missing, and empty with a problem when it cannot be
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
                f"{path} is not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}. It is not used."
            )
        except RecursionError:
            self._problems.append(f"{path} is nested too deeply. It is not used.")
        except (OSError, ValueError) as error:
            self._problems.append(f"{path} cannot be read: {error}. It is not used.")
        else:
            if isinstance(content, dict):
                return content
            self._problems.append(f"{path} must hold a JSON object ({{...}}). It is not used.")
        return {}

    def from_environment(self, env: Mapping[str, str]) -> Mapping[str, object]:
        """The values of declared variables, by key. An undeclared one is a problem only if it looks like a misspelt
        setting."""
        variables = {d.environment: d.key for d in DECLARATIONS}
        found: dict[str, object] = {}
        for name, text in env.items():
            if name in variables:
                found[variables[name]] = text
            elif name.startswith(ENVIRONMENT_PREFIX):
                near = difflib.get_close_matches(name, variables, 1, 0.9)
                if near:
                    self._problems.append(f"{name} is not a setting; did you mean {near[0]}?")
        return found

    def add(self, origin: Origin, source: str, layer: Mapping[str, object]) -> None:
        for key, value in self._flatten(layer, source):
            declaration = _BY_KEY[key]
            if declaration.scope == "user" and origin in ("index config", "editor"):
                self._problems.append(
                    f"{key} in {source} is ignored, because a workspace must not decide it. "
                    f"Set it in your own settings file, by {declaration.environment} or by a flag."
                )
                continue
            try:
                self._values[key] = _parsed(declaration, value, textual=origin in ("environment", "flag"))
                self._origins[key] = origin
            except ValueError:
                self._problems.append(f"{key} in {source} is {_shown(value)}; allowed: {declaration.allowed}.")

    def settings(self) -> Settings:
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
        self._problems.append(f"{key} in {source} is not a setting.{hint}")


def _given(layer: Mapping[str, object]) -> Mapping[str, object]:
    """Drops entries that are None, which callers pass for what is not given, also inside nested mappings."""
    inner = {k: _given(v) if isinstance(v, Mapping) else v for k, v in layer.items()}
    return {k: v for k, v in inner.items() if v is not None}


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 80 else text[:77] + "..."


def _written(kind: Kind, value: Value) -> object:
    """The value as config.json spells it."""
    if isinstance(value, tuple):
        return list(value)
    if kind == "size":
        size = cast(int, value)
        unit = "MB" if size % _UNITS["MB"] == 0 else "KB"
        return f"{size // _UNITS[unit]}{unit}"
    return value


def _nest(flat: Mapping[str, object]) -> dict[str, object]:
    nested: dict[str, object] = {}
    for key, value in flat.items():
        group, dot, inner = key.partition(".")
        if dot:
            cast(dict[str, object], nested.setdefault(group, {}))[inner] = value
        else:
            nested[key] = value
    return nested


# ---------------------------------------------------------------- one value; each raises ValueError


def _parsed(declaration: Declaration, value: object, textual: bool) -> Value:
    """With `textual`, numbers, booleans and lists may also be texts, because an environment variable holds nothing
    else."""
    if textual and isinstance(value, str):
        value = _from_text(declaration.kind, value.strip())
    parsers: dict[Kind, Callable[[Declaration, object], Value]] = {
        "boolean": _boolean,
        "integer": _number,
        "number": _number,
        "text": _text,
        "choice": _choice,
        "patterns": _patterns,
        "size": _size,
    }
    return parsers[declaration.kind](declaration, value)


def _from_text(kind: Kind, text: str) -> object:
    if kind == "boolean":
        return _WORDS.get(text.lower())
    if kind == "integer":
        return int(text)
    if kind == "number":
        return float(text)
    if kind == "patterns":
        return json.loads(text) if text.startswith("[") else [part.strip() for part in text.split(";") if part.strip()]
    return text


def _boolean(_: Declaration, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError


def _number(declaration: Declaration, value: object) -> int | float:
    whole = declaration.kind == "integer"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise ValueError
    if not declaration.low <= value <= declaration.high:
        raise ValueError
    return value if whole else float(value)


def _text(declaration: Declaration, value: object) -> str:
    if isinstance(value, str) and "\0" not in value and declaration.low <= len(value.strip()) <= declaration.high:
        return value.strip()
    raise ValueError


def _choice(declaration: Declaration, value: object) -> str:
    if isinstance(value, str) and value in declaration.choices:
        return value
    raise ValueError


def _patterns(declaration: Declaration, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not (value or declaration.may_be_empty):
        raise ValueError
    if not all(isinstance(pattern, str) and pattern.strip() and "\0" not in pattern for pattern in value):
        raise ValueError
    return tuple(value)


def _size(declaration: Declaration, value: object) -> int:
    if not isinstance(value, str):
        raise ValueError
    size = parse_size(value)
    if not declaration.low <= size <= declaration.high:
        raise ValueError
    return size
