"""A setting's default is defined once: if the declaration changes, every other place does too."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from sidecar.settings.declare import DECLARATIONS, INDEX_CONFIG_KEYS
from sidecar.settings.load import Settings

PACKAGE = Path(__file__).resolve().parents[1] / "sidecar"

OTHER_DEFAULTS = """

def _other(one: Declaration) -> Value:
    changed = {
        "boolean": lambda: not one.default,
        "integer": lambda: one.default + 1,
        "number": lambda: one.default / 2,
        "text": lambda: "documents" if one.key == "toolsets" else "https://another.example",
        "choice": lambda: next(choice for choice in one.choices if choice != one.default),
        "patterns": lambda: ("Name: other",) if one.secret else ("*.other",),
        "size": lambda: "7MB",
    }
    return changed[one.kind]()


from dataclasses import replace as _replace

DECLARATIONS = tuple(_replace(one, default=_other(one)) for one in DECLARATIONS)
"""
PROBE = """
import dataclasses, json
from sidecar.gen.manifest import package_json
from sidecar.gen.markdown import settings_page
from sidecar.model.answers import SearchRequest
from sidecar.parts.walk import WalkOptions
from sidecar.settings.load import Settings, default_config_text
from sidecar.tools.code_search import SearchCodeParams
from sidecar.tools.registry import DEFAULT_TOOLS, tools_of
from sidecar.tools.service import QUESTION_SECONDS
from sidecar.tools.sessions import Sessions

page = json.loads(package_json(json.dumps({"contributes": {"configuration": []}})))["contributes"]["configuration"][0]
settings = Settings()
print(json.dumps({
    "settings": settings.as_config(),
    "walk": dataclasses.asdict(WalkOptions()),
    "attributes": {one.name: getattr(settings, one.name) for one in dataclasses.fields(settings)},
    "config.json": json.loads(default_config_text()),
    "package.json": {key.removeprefix("sidecar."): one["default"] for key, one in page["properties"].items()},
    "settings page": settings_page(),
    "alpha": [SearchRequest("x").alpha, SearchCodeParams(query="x").alpha],
    "question": QUESTION_SECONDS,
    "capacity": Sessions().log.capacity,
    "tools": [tool.name for tool in DEFAULT_TOOLS] == [tool.name for tool in tools_of(settings.toolsets)],
}))
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Returns the output of a copy of the package in which every declared default is different."""
    folder = tmp_path_factory.mktemp("changed")
    shutil.copytree(PACKAGE, folder / "sidecar", ignore=shutil.ignore_patterns("*.bin", "*.onnx", "__pycache__"))
    declare = folder / "sidecar" / "settings" / "declare.py"
    declare.write_text(declare.read_text(encoding="utf-8") + OTHER_DEFAULTS, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    defaults: dict[str, Any] = json.loads(done.stdout)
    return defaults


def flat(values: dict[str, Any]) -> dict[str, Any]:
    nested = {key: value for key, value in values.items() if isinstance(value, dict)}
    return {key: value for key, value in values.items() if key not in nested} | {
        f"{key}.{inner}": value for key, values_of in nested.items() for inner, value in values_of.items()
    }


@pytest.mark.process
def test_a_changed_default_holds_in_the_settings_the_files_and_the_documentation(changed: dict[str, Any]) -> None:
    before = flat(Settings().as_config())
    held = flat(changed["settings"])
    assert held.keys() == before.keys()
    assert [key for key in before if held[key] == before[key]] == []
    secret = {one.key for one in DECLARATIONS if one.secret}
    assert {key: value for key, value in changed["package.json"].items() if key not in secret} == {
        key: value for key, value in held.items() if key not in secret
    }
    assert {held[key] for key in secret} == {"(hidden)"}
    written = flat(changed["config.json"])
    assert {key: written[key] for key in INDEX_CONFIG_KEYS} == {key: held[key] for key in INDEX_CONFIG_KEYS}
    for key, value in changed["package.json"].items():
        (row,) = [line for line in changed["settings page"].split("\n") if line.startswith(f"| `{key}` |")]
        assert f"`{json.dumps(value)}`" in row


@pytest.mark.process
def test_a_changed_default_holds_where_a_part_or_a_tool_has_one_of_its_own(changed: dict[str, Any]) -> None:
    attributes = changed["attributes"]
    walk = {name: value for name, value in changed["walk"].items() if name in attributes}
    assert walk == {name: attributes[name] for name in walk}
    assert changed["alpha"] == [attributes["default_alpha"]] * 2
    assert changed["question"] == attributes["question_seconds"]
    assert changed["capacity"] == attributes["activity_log"]
    assert changed["tools"] is True


def test_the_types_of_the_settings_allow_the_declared_choices_and_no_others() -> None:
    types = get_type_hints(Settings)
    for one in DECLARATIONS:
        if one.kind == "choice":
            assert get_args(types[one.attribute]) == one.choices
