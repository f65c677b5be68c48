"""A model that fails while files are indexed does not keep them from being found by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from sidecar.engine.models.loader import Models, make_embedder
from sidecar.errors import ModelLoadFailed
from sidecar.model.terms import Embedder, Vectors, never_cancelled, no_progress
from tests.engine.projects import QUICK, SLOW, Project, find, image, index

pytestmark = pytest.mark.process

FILES = 640
"""Ten batches, of which more than four wait nowhere."""


class FailsAfter:
    """A model that embeds so many texts, and then fails."""

    def __init__(self, embedder: Embedder, texts: int, asked: list[int]) -> None:
        self._embedder = embedder
        self._left = texts
        self._asked = asked

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self._asked.append(len(texts))
        self._left -= len(texts)
        if self._left < 0:
            raise ModelLoadFailed("The device is gone.")
        return self._embedder.embed_documents(texts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)


def failing(project: Project, texts: int, asked: list[int]) -> Models:
    """Models that fail after so many texts. They note the number of texts in each call."""
    return Models(lambda settings: FailsAfter(make_embedder(settings), texts, asked), project.home)


def brewing(number: int) -> str:
    return f"def brew_number_{number}(beans):\n    return beans.ground_{number}\n"


@pytest.mark.parametrize("model", [QUICK, SLOW])
@pytest.mark.parametrize("texts", [0, 100])
def test_all_new_files_are_found_by_word_if_the_model_fails(project: Project, model: str, texts: int) -> None:
    project.flags["model"] = model
    for number in range(FILES):
        project.write(f"src/brew/kind{number}.py", brewing(number))
    asked: list[int] = []
    workspace = project.open(models=failing(project, texts, asked))
    with pytest.raises(ModelLoadFailed, match="The device is gone"):
        index(workspace)
    assert sum(asked[:-1]) <= texts, "it is not asked again once it has failed"
    for number in (0, 70, 500, FILES - 1):
        assert find(workspace, f"brew_number_{number}", mode="fts")[0] == f"src/brew/kind{number}.py"


def test_what_failed_is_embedded_by_the_next_run(project: Project) -> None:
    for number in range(FILES):
        project.write(f"src/brew/kind{number}.py", brewing(number))
    with pytest.raises(ModelLoadFailed):
        index(project.open(models=failing(project, 100, [])))
    project.close()
    continued = project.open()
    index(continued)
    found = image(continued)
    project.close()
    rebuilt = project.open()
    rebuilt.rebuild(no_progress, never_cancelled)
    assert found == image(rebuilt)


def test_a_file_that_was_indexed_before_keeps_its_former_version_if_the_model_fails(project: Project) -> None:
    for number in range(FILES):
        project.write(f"src/brew/kind{number}.py", brewing(number))
    index(project.open())
    project.close()
    for number in range(0, FILES, 2):
        project.write(f"src/brew/kind{number}.py", brewing(1000 + number))
    project.write("src/brew/new.py", brewing(5000))
    workspace = project.open(models=failing(project, 0, []))
    with pytest.raises(ModelLoadFailed):
        index(workspace)
    assert find(workspace, "brew_number_5000", mode="fts")[0] == "src/brew/new.py"
    assert "src/brew/kind4.py" in find(workspace, "brew_number_4", mode="fts")
    assert "src/brew/kind4.py" not in find(workspace, "brew_number_1004", mode="fts")
