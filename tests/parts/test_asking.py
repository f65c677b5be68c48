"""A process asks another one through a folder: it gets an answer, or knows within a bounded time that it gets none."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from sidecar.parts.asking import Asking, WriterReply, asked_in, question_of
from tests.patience import PATIENCE_S


class Asker:
    """Asks one question on a new thread."""

    def __init__(self, folder: Path, heard_s: float = PATIENCE_S, answered_s: float = PATIENCE_S) -> None:
        self.answers: list[WriterReply | None] = []
        self._thread = threading.Thread(target=lambda: self.answers.append(Asking(folder).ask(heard_s, answered_s)))
        self._thread.start()

    def ended(self) -> WriterReply | None:
        self._thread.join(PATIENCE_S)
        return self.answers[0]


def questions(folder: Path, number: int = 1) -> set[str]:
    """Waits until so many questions are in the folder, and returns their names."""
    found: set[str] = set()
    waited = threading.Event()
    for _ in range(int(PATIENCE_S * 100)):
        found = asked_in(str(folder))
        if len(found) == number:
            break
        waited.wait(0.01)
    assert len(found) == number
    return found


@pytest.mark.parametrize("answer", [WriterReply(fresh=True), WriterReply(fresh=False, awaiting=("src/a b.py", "ü.py"))])
def test_a_reader_gets_the_reply_that_was_given(tmp_path: Path, answer: WriterReply) -> None:
    asker, other = Asker(tmp_path / "watch"), Asking(tmp_path / "watch")
    heard = other.hear(questions(tmp_path / "watch"))
    other.answer(heard, answer)
    assert asker.ended() == answer
    assert list((tmp_path / "watch").iterdir()) == []


def test_several_askers_are_answered_at_once(tmp_path: Path) -> None:
    askers, other = [Asker(tmp_path) for _ in range(3)], Asking(tmp_path)
    other.answer(other.hear(questions(tmp_path, 3)), WriterReply(fresh=True))
    assert [asker.ended() for asker in askers] == [WriterReply(fresh=True)] * 3


def test_where_nobody_hears_the_asker_knows_it_and_takes_its_question_back(tmp_path: Path) -> None:
    assert Asking(tmp_path).ask(0.0, PATIENCE_S) is None
    assert list(tmp_path.iterdir()) == []


def test_an_answer_that_comes_too_late_leaves_nothing_behind(tmp_path: Path) -> None:
    asker, other = Asker(tmp_path, answered_s=0.0), Asking(tmp_path)
    heard = other.hear(questions(tmp_path))
    assert asker.ended() is None
    other.answer(heard, WriterReply(fresh=True))
    assert list(tmp_path.iterdir()) == []


def test_a_question_is_heard_by_one_only_and_not_when_it_was_taken_back(tmp_path: Path) -> None:
    (tmp_path / "1-0.ask").touch()
    assert Asking(tmp_path).hear(["1-0", "1-1"]) == ["1-0"]
    assert Asking(tmp_path).hear(["1-0"]) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_where_no_question_can_be_written_there_is_no_answer(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert Asking(tmp_path).ask(PATIENCE_S, PATIENCE_S) is None
    tmp_path.chmod(0o700)


def test_where_a_file_is_in_the_way_there_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "watch").touch()
    assert Asking(tmp_path / "watch").ask(PATIENCE_S, PATIENCE_S) is None


def test_what_a_killed_asker_left_is_removed_and_its_question_still_waits(tmp_path: Path) -> None:
    for name in ("1-0.answered", "2-0.heard", "3-0.ask", "4-0"):
        (tmp_path / name).touch()
    assert asked_in(str(tmp_path)) == {"3-0"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3-0.ask", "4-0"]


def test_only_a_question_has_a_name() -> None:
    assert [question_of(path) for path in ("/i/watch/3-0.ask", "/i/watch/3-0", "/i/watch/3-0.answered")] == [
        "3-0",
        "",
        "",
    ]
