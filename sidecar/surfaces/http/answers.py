"""A person's answers, which the caller sends in a header, never in the body with a tool's parameters.

The caller gets each open question under an id that only this process can make. An answer therefore counts only for a
question that was asked here and shown to a caller, and only once. While an editor is attached, it is asked instead.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import cast

from sidecar.errors import InvalidParams
from sidecar.surfaces.http.faults import ANSWER_HEADER, unanswered
from sidecar.tools.spec import Answer, Question

NOBODY = "nobody"
_SAID = frozenset({"accept", "decline", NOBODY})


class Answers:
    """The questions that have been shown to callers, and the answers that they send in a header."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._shown: set[str] = set()

    def shown_id(self, question: Question) -> str:
        """Returns the id under which this question is shown to a caller."""
        return hmac.digest(self._key, question.id.encode(), "sha256").hex()[:32]

    def given(self, header: str) -> Mapping[str, Answer]:
        """Parses the header: `ID=accept, ID2=decline`, or `nobody`, which is returned under the empty id.

        Raises `InvalidParams` for any other form.
        """
        answers: dict[str, Answer] = {}
        for part in filter(None, (part.strip() for part in header.split(","))):
            shown, equals, said = part.rpartition("=")
            if said not in _SAID or bool(equals) is not bool(shown) or (not shown and said != NOBODY):
                raise InvalidParams(
                    f"The header {ANSWER_HEADER} is ID=accept or ID=decline with the id of a question, or {NOBODY}."
                )
            answers[shown] = cast(Answer, said)
        return answers

    def brought(self, question: Question, given: Mapping[str, Answer]) -> Answer | None:
        """Returns the caller's answer to this question; None if it has not answered, or was never shown the question.

        An answer counts once.
        """
        shown = self.shown_id(question)
        answer = given.get(shown)
        if answer is None or shown not in self._shown:
            return None
        self._shown.discard(shown)
        return answer

    def answer(self, question: Question, given: Mapping[str, Answer]) -> Answer:
        """Raises `RequestFault` 409 with the question.

        If the caller says that nobody can answer, returns `nobody` instead.
        """
        if "" in given:
            return given[""]
        shown = self.shown_id(question)
        self._shown.add(shown)
        raise unanswered(question, shown)
