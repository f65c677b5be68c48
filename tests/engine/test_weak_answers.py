"""An answer that is probably wrong says so, in every mode, and a right answer does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sidecar.engine.search.rank.confidence import USED, learned
from sidecar.errors import ConfigInvalid
from sidecar.model.terms import Embedder, Mode
from tests.engine.search_index import SmallIndex, shipped_model, small_index

FILES = {
    "src/sessions.py": "def expire_sessions(now):\n    '''Removes sessions whose cookie has expired.'''\n",
    "src/retry.py": "def retry_with_backoff(call, attempts):\n    '''Repeats a failed request, waiting longer.'''\n",
    "src/upload.py": "class UploadHandler:\n    '''Stores an uploaded file in the media folder.'''\n",
    "src/render.py": "def render_template(name, context):\n    '''Fills a template with values and returns HTML.'''\n",
    "src/config.py": "def load_settings(path):\n    '''Reads the settings from a file and checks them.'''\n",
    "docs/guide.md": "# Guide\n\nInstall the package and start the server.\n",
}
ANSWERED = [
    "where are expired sessions removed",
    "retry a failed request with backoff",
    "UploadHandler",
    "render_template",
    "load the settings from a file",
]
NONSENSE = [
    "sourdough bread recipe with rye flour",
    "quantum chromodynamics lattice gauge",
    "penguin migration across antarctic glaciers",
    "TrombonePolisher",
    "chess endgame with rook and bishop",
]
ERRORS_OF_OTHERS = [
    "Cannot connect to the Docker daemon at unix:///var/run/docker.sock",
    "FATAL: password authentication failed for user postgres",
    "CUDA out of memory. Tried to allocate 2.00 GiB",
]
MODES: tuple[Mode, ...] = ("hybrid", "fts", "vector")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    with small_index(tmp_path_factory.mktemp("weak"), FILES) as made:
        yield made


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("question", ANSWERED)
def test_an_answer_that_was_found_is_not_weak(index: SmallIndex, question: str, mode: Mode) -> None:
    answer = index.search(question, mode=mode)
    assert answer.hits
    assert answer.confidence is not None
    assert not answer.weak


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("question", NONSENSE)
def test_a_question_that_nothing_answers_is_weak_or_finds_nothing(index: SmallIndex, question: str, mode: Mode) -> None:
    answer = index.search(question, mode=mode)
    assert answer.weak or not answer.hits


@pytest.mark.parametrize("message", ERRORS_OF_OTHERS)
def test_an_error_message_of_another_program_is_weak(index: SmallIndex, message: str) -> None:
    assert index.search(message).weak


def test_a_name_that_is_defined_makes_an_answer_surer_than_one_that_is_not(index: SmallIndex) -> None:
    defined, undefined = (
        index.search(f"where does {name} store a file").confidence for name in ("UploadHandler", "UploadKeeper")
    )
    assert defined is not None
    assert undefined is not None
    assert defined > undefined


def test_rare_words_that_the_workspace_lacks_make_an_answer_less_sure(index: SmallIndex) -> None:
    without, with_others = (
        index.search(f"retry a failed request{words}").confidence for words in ("", " of the walrus with a trombone")
    )
    assert without is not None
    assert with_others is not None
    assert with_others < without


def test_an_answer_among_other_languages_than_the_one_asked_for_is_weak(index: SmallIndex) -> None:
    with_others = {**FILES, "lib/colour.go": "package lib\n\nfunc Blend(a, b int) int { return a + b }\n"}
    index.put(with_others)
    assert index.search("where are expired sessions removed", languages=("go",)).weak
    assert not index.search("where are expired sessions removed", languages=("python",)).weak


def test_documentation_is_not_judged_because_it_was_not_measured(index: SmallIndex) -> None:
    answer = index.search(NONSENSE[0], collection="docs", mode="vector")
    assert (answer.confidence, answer.weak) == (None, False)


def test_an_answer_without_all_vectors_is_not_judged(tmp_path: Path) -> None:
    with small_index(tmp_path, FILES) as index:
        index.put({"src/late.py": "def late():\n    return 1\n"}, embed=False)
        answer = index.search(NONSENSE[0])
        assert "Partial" in answer.notice
        assert (answer.confidence, answer.weak) == (None, False)


@dataclass
class Renamed:
    """The shipped model under another id."""

    inner: Embedder
    model_id: str = "another@model"
    device: str = "cpu"
    device_note: str = ""

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.inner.embed_query(text)

    def close(self) -> None:
        self.inner.close()


def test_the_cosines_of_another_model_are_not_judged(index: SmallIndex) -> None:
    other = index.with_parts(lambda: Renamed(shipped_model()), index.store)
    assert [other.search(NONSENSE[0], mode=mode).confidence for mode in ("hybrid", "vector")] == [None, None]
    assert other.search(ANSWERED[0], mode="fts").confidence is not None


def test_the_calibration_was_learnt_with_the_model_that_ships() -> None:
    assert learned().model == shipped_model().model_id, "Run scripts/train/train-confidence."


def test_every_mode_weighs_the_evidence_that_it_has() -> None:
    assert {mode: tuple(one.weights) for mode, one in learned().by_mode.items()} == dict(USED)
    assert all(0 < one.weak_below < 1 for one in learned().by_mode.values())


def test_a_calibration_that_cannot_be_read_or_weighs_the_unknown_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "confidence.json"
    for text in ("[]", "{", '{"model": "m", "modes": {}}'):
        file.write_text(text)
        with pytest.raises(ConfigInvalid, match="train-confidence"):
            learned.__wrapped__(file)
    one = '{"bias": 0, "weights": {"luck": 1}, "weak_below": 0.1}'
    file.write_text(f'{{"model": "m", "modes": {{"hybrid": {one}, "fts": {one}, "vector": {one}}}}}')
    with pytest.raises(ConfigInvalid, match="luck"):
        learned.__wrapped__(file)
