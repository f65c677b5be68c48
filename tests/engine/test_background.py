"""Work beside a caller: on a thread of its own, and without one where the system allows no further thread."""

from __future__ import annotations

import logging
import threading

import numpy as np
import pytest

from sidecar.engine.concurrency.background import beside
from sidecar.engine.concurrency.right_of_way import after_questions
from sidecar.engine.index.vector_cache import VectorCache
from sidecar.engine.ports import Floats
from tests.patience import PATIENCE_S, until


def refuse(_: threading.Thread) -> None:
    """Raises what Python raises where the system allows no further thread, as in a container at its limit."""
    raise RuntimeError("can't start new thread")


def fail() -> None:
    """Raises KeyError."""
    raise KeyError("nothing")


@pytest.fixture
def no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system allows no further thread."""
    monkeypatch.setattr(threading.Thread, "start", refuse)


def test_the_caller_gets_the_result_or_the_error_of_what_ran_beside_it() -> None:
    assert beside(threading.get_ident).result(PATIENCE_S) != threading.get_ident()
    with pytest.raises(KeyError):
        beside(fail).result(PATIENCE_S)


@pytest.mark.usefixtures("no_thread")
def test_without_a_further_thread_the_caller_does_the_work_itself() -> None:
    assert beside(threading.get_ident).result(0) == threading.get_ident()
    with pytest.raises(KeyError):
        beside(fail).result(0)


@pytest.mark.usefixtures("no_thread")
def test_without_a_further_thread_what_no_question_should_wait_for_is_left_out_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    after_questions(lambda: pytest.fail("a question would wait for it"))
    assert "no further thread" in caplog.text


def test_many_blocks_are_compared_without_a_second_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(2).standard_normal((160, 16)).astype(np.float32)
    cache = VectorCache(150 * 64, block=16)

    def products() -> Floats:
        compared = cache.compare(
            np.arange(1, 161), vectors[9], lambda at: (vectors[at], np.ones(len(at), bool)), rough=True
        )
        return compared.closer(np.arange(160))

    products()
    with_another = products()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    np.testing.assert_array_equal(products(), with_another)


def test_what_fails_after_questions_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        after_questions(fail)
        until(lambda: "background work failed" in caplog.text)
    assert "KeyError" in caplog.text
