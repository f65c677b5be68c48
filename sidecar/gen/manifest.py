"""Generates the editor extension's settings: a part of its `package.json`, and the table that its code reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from sidecar.gen.typescript import NOTICE
from sidecar.settings.declare import DECLARATIONS, Declaration

SECTION = "sidecar"
TITLE = "Search settings"
MODEL = f"{SECTION}.model"
NO_MODELS: Mapping[str, str] = MappingProxyType({})
_MODEL_WORDS = (
    "Embedding model. Those that do not ship have to be downloaded first, with `sidecar models download`. A folder with"
    " a model of your own is named in sidecar's own settings file, or with `SIDECAR_MODEL`."
)
_SIZE = r"^[1-9][0-9]*(KB|MB)$"
_TYPES = {"boolean": "boolean", "integer": "integer", "number": "number", "patterns": "array"}


def package_json(current: str, models: Mapping[str, str] = NO_MODELS) -> str:
    """The manifest `current` with sidecar's settings in `contributes.configuration`; the rest is written by hand and
    kept. `models` has what each model that can be chosen is for, by its name."""
    manifest = json.loads(current)
    pages = manifest["contributes"]["configuration"]
    properties = {f"{SECTION}.{one.key}": _property(one) for one in DECLARATIONS}
    if models:
        choice = {"enum": list(models), "enumDescriptions": list(models.values())}
        free = {"minLength", "maxLength"}
        kept = {key: value for key, value in properties[MODEL].items() if key not in free}
        properties[MODEL] = {**kept, "markdownDescription": _MODEL_WORDS, **choice}
    ours = {"title": TITLE, "properties": properties}
    manifest["contributes"]["configuration"] = [page for page in pages if page["title"] != TITLE] + [ours]
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def settings_table() -> str:
    """`settings.gen.ts`: key, environment variable and scope of each setting."""
    return "\n".join(_table()) + "\n"


def _table() -> Iterator[str]:
    yield from (NOTICE, "")
    yield "/** `user`: taken from nothing that the workspace's author may have written. */"
    yield from ("export interface SidecarSetting {", "  key: string;", "  environment: string;")
    yield from ('  scope: "workspace" | "user";', "}", "")
    yield "export const SIDECAR_SETTINGS: readonly SidecarSetting[] = ["
    for one in DECLARATIONS:
        yield f'  {{ key: "{one.key}", environment: "{one.environment}", scope: "{one.scope}" }},'
    yield "];"


def _property(one: Declaration) -> dict[str, Any]:
    """The setting as VS Code declares it. One of scope `user` gets the scope `machine`, so that no workspace can set
    it. The editor checks and shows the limits."""
    default = list(one.default) if isinstance(one.default, tuple) else one.default
    schema: dict[str, Any] = {
        "type": _TYPES.get(one.kind, "string"),
        "default": default,
        "markdownDescription": one.description,
        "scope": "machine" if one.scope == "user" else "window",
    }
    return schema | _limits(one)


def _limits(one: Declaration) -> dict[str, Any]:
    if one.kind == "choice":
        return {"enum": list(one.choices)}
    if one.kind == "patterns":
        return {"items": {"type": "string"}} | ({} if one.may_be_empty else {"minItems": 1})
    if one.kind in {"integer", "number"}:
        return {"minimum": one.low, "maximum": one.high}
    if one.kind == "text":
        return {"minLength": one.low, "maxLength": one.high}
    return {"pattern": _SIZE, "patternErrorMessage": f"Write {one.allowed}."} if one.kind == "size" else {}
