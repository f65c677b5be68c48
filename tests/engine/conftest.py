"""Fixtures of the engine's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.engine.models.loader import Models, make_embedder
from tests.engine.projects import FILES, Project
from tests.engine.teams import Team


@pytest.fixture(scope="session")
def models() -> Iterator[Models]:
    """The shipped model, loaded once."""
    loaded = Models(make_embedder)
    yield loaded
    loaded.close()


@pytest.fixture
def project(tmp_path: Path, models: Models) -> Iterator[Project]:
    """A small workspace of code and documents that is not indexed yet."""
    made = Project(tmp_path / "work", tmp_path / "home", {}, models, [])
    made.root.mkdir()
    for path, text in FILES.items():
        made.write(path, text)
    yield made
    made.close()


@pytest.fixture
def team(tmp_path: Path, models: Models) -> Iterator[Team]:
    made = Team(tmp_path, models)
    yield made
    made.close()
