"""The version is defined in `sidecar/__init__.py`; files that cannot read it from there have the same version."""

from __future__ import annotations

import tomllib
from pathlib import Path

import sidecar
from scripts.suffixless import load_script

ROOT = Path(__file__).resolve().parents[1]


def test_every_file_that_repeats_the_version_has_that_of_the_package() -> None:
    assert load_script("dev/prepare-release").agreed_version(ROOT) == sidecar.__version__


def test_the_package_reads_its_version_from_the_module() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "sidecar/__init__.py"
