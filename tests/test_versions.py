"""The version stands in `sidecar/__init__.py`; what cannot read it from there says the same."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import sidecar

ROOT = Path(__file__).resolve().parents[1]


def test_the_extension_and_the_openapi_document_have_the_packages_version() -> None:
    assert json.loads((ROOT / "extension/package.json").read_text("utf-8"))["version"] == sidecar.__version__
    assert json.loads((ROOT / "docs/openapi.json").read_text("utf-8"))["info"]["version"] == sidecar.__version__


def test_the_plugin_for_agents_has_the_packages_version() -> None:
    assert json.loads((ROOT / "plugin/.claude-plugin/plugin.json").read_text("utf-8"))["version"] == sidecar.__version__


def test_the_package_reads_its_version_from_the_module() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "sidecar/__init__.py"
