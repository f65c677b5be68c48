"""What a search loads once, separately for each collection, and loads again after an interruption."""

from __future__ import annotations

import pytest

from sidecar.engine.models.loader import Models
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import Cancelled, ModelLoadFailed
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import Embedder, never_cancelled
from sidecar.settings.load import Settings

from .projects import FILES, Project, find, index

pytestmark = pytest.mark.process


@pytest.fixture
def workspace(project: Project) -> IndexedWorkspace:
    for path, text in FILES.items():
        project.write(path, text)
    index(project.open())
    project.close()
    return project.open()


def preloaded(workspace: IndexedWorkspace) -> set[str]:
    generation = workspace.index.generation
    return set() if generation is None else set(generation.preloaded)


def test_each_collection_is_loaded_by_the_first_search_of_it(workspace: IndexedWorkspace) -> None:
    find(workspace, "cookies", collection="docs")
    assert preloaded(workspace) == {"docs"}
    find(workspace, "cookies")
    assert preloaded(workspace) == {"docs", "code"}


def test_a_search_by_words_loads_no_vectors(workspace: IndexedWorkspace) -> None:
    find(workspace, "cookies", mode="fts")
    assert preloaded(workspace) == set()


def test_what_a_cancelled_search_has_not_loaded_is_loaded_by_the_next(workspace: IndexedWorkspace) -> None:
    with pytest.raises(Cancelled):
        workspace.search(SearchRequest("cookies"), lambda: True)
    assert preloaded(workspace) == set()
    workspace.search(SearchRequest("cookies"), never_cancelled)
    assert preloaded(workspace) == {"code"}


def test_an_index_that_was_asleep_loads_again(workspace: IndexedWorkspace) -> None:
    find(workspace, "cookies")
    assert workspace.rest(0)
    assert preloaded(workspace) == set()
    assert find(workspace, "cookies")
    assert preloaded(workspace) == {"code"}


class Unloadable:
    """Models that are known and that nobody can load; `attempts` counts."""

    def __init__(self, known: Models) -> None:
        self.facts = known.facts
        self.attempts = 0

    def embedder(self, settings: Settings) -> Embedder:
        self.attempts += 1
        raise ModelLoadFailed("The model's file is missing.")

    def loaded(self, settings: Settings) -> None:
        """Answers that no model is loaded."""


def test_a_search_tries_once_to_load_a_model_that_cannot_be_loaded(
    project: Project, workspace: IndexedWorkspace
) -> None:
    workspace.close()
    models = Unloadable(project.models)
    unloadable = project.open(models=models)
    answer = unloadable.search(SearchRequest("cookies"), never_cancelled)
    assert (answer.mode, models.attempts) == ("fts", 1)
    assert "The model's file is missing" in answer.notice
    with pytest.raises(ModelLoadFailed):
        unloadable.search(SearchRequest("cookies", mode="vector"), never_cancelled)
    assert models.attempts == 2, "each search tries again"
