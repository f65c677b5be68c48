"""One Ctrl-C leaves a question, whenever it is pressed: before the question, while it is written, and after."""

from __future__ import annotations

import io
import os
from collections.abc import Callable

import pytest

from sidecar.errors import Cancelled
from sidecar.surfaces.cli.session import Interrupt
from sidecar.surfaces.cli.terminal import Asker
from sidecar.tools.spec import Question

QUESTION = Question("1", "delete_index", "?", "It is lost.", "Delete", "Keep", True, title="Delete it?")


class Person(io.StringIO):
    """A terminal whose user presses Ctrl-C when `at` has been shown."""

    def __init__(self, at: str, press: Callable[[], None]) -> None:
        super().__init__()
        self._at = at
        self._press = press

    def write(self, text: str) -> int:
        """Shows the text, and presses Ctrl-C if it is the right one."""
        written = super().write(text)
        if self._at and self._at in text:
            self._press()
        return written


@pytest.mark.parametrize("at", ["", QUESTION.title, QUESTION.detail, "Ctrl-C to leave"])
def test_one_ctrl_c_ends_the_waiting_whenever_it_is_pressed(at: str) -> None:
    interrupt = Interrupt()
    if not at:
        interrupt.take()
    person, there = os.openpty()
    os.write(person, b"y\n")  # what was typed ahead is no answer any more, and shows that nobody reads it
    other, daemon = os.pipe()
    try:
        with open(there, encoding="utf-8", closefd=False) as keyboard:
            asker = Asker(keyboard, Person(at, interrupt.take), False, interrupt.may_raise)
            with pytest.raises(Cancelled, match="The question is withdrawn"):
                asker.beside(QUESTION, ["Editor"], other)
    finally:
        for end in (person, there, other, daemon):
            os.close(end)


@pytest.mark.parametrize("at", ["", QUESTION.title, QUESTION.detail, "[y/N] "])
def test_one_ctrl_c_ends_a_question_of_the_terminal_alone_too(at: str) -> None:
    interrupt = Interrupt()
    if not at:
        interrupt.take()
    person, there = os.openpty()
    os.write(person, b"y\n")
    try:
        with open(there, encoding="utf-8", closefd=False) as keyboard:
            asker = Asker(keyboard, Person(at, interrupt.take), False, interrupt.may_raise)
            with pytest.raises(Cancelled, match="Nothing has changed"):
                asker(QUESTION)
    finally:
        os.close(person)
        os.close(there)
